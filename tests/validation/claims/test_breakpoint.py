"""`breakpoint`: peak over bandwidth, by hand."""

import pytest


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        # 32.768 TOP/s / 256 GB/s
        ("breakpoint: mac_array int8 / hbm, expect: 128 op/B", 128),
        ("breakpoint: mac_array int8 / hbm, at: low, expect: 64 op/B", 64),
        # 14.7456 TFLOP/s / 25.6 GB/s
        ("breakpoint: mac_array fp16 / ddr, expect: 14.75 TFLOP/s / 25.6 GB/s", 576),
    ],
)
def test_a_breakpoint_is_peak_over_bandwidth(one, claim, value):
    verdict = one(claim)
    assert (verdict.outcome, verdict.corroborated) == ("pass", True)
    assert verdict.obtained.value == pytest.approx(value, rel=1e-12)


def test_a_breakpoint_has_the_facts_of_both_sides(one, paths):
    verdict = one("breakpoint: mac_array int8 / hbm, expect: 128 op/B")
    assert {"units.mac_array.clock", "memories.hbm.bus", "memories.hbm.pin_rate"} <= paths(verdict)
    assert (verdict.obtained.unit, verdict.obtained.precision) == ("mac_array", "int8")
    assert verdict.obtained.formula.startswith("(8 tile × ") and ") / (1024 bit" in verdict.obtained.formula


def test_both_a_doubled_peak_and_a_halved_bandwidth_explain_twice_the_breakpoint(one):
    verdict = one("breakpoint: mac_array int8 / hbm, expect: 64 op/B")
    repairs = {(cause.fact.path, cause.repair) for cause in verdict.causes if cause.fact}
    assert (verdict.outcome, verdict.ratio_text) == ("fail", "2")
    assert {("memories.hbm.pin_rate", "4 Gbit/s"), ("units.mac_array.macs_per_clock.int8", "512 MAC")} <= repairs


def test_invalid_breakpoints(one, refusal):
    assert "no memory 'hbm3'" in one("breakpoint: mac_array int8 / hbm3, expect: 1.00 op/B").reason
    assert one("breakpoint: secret int8 / nowhere, expect: 1.00 op/B, undisclosed: true").outcome == "fail"
    assert "want two operands with '/'" in refusal("breakpoint: mac_array int8, expect: 1.00 op/B")
    assert "want a unit and a precision" in refusal("breakpoint: int8 / hbm, expect: 1.00 op/B")
    assert "a breakpoint is in op/B" in refusal("breakpoint: mac_array int8 / hbm, expect: 1.00 op/s")
