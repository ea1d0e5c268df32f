"""`attainable`: the lower of the peak and of intensity × bandwidth, by hand."""

import pytest

SMALL = "attainable: mac_array int8 / hbm, expect: 10.92 TOP/s, workload: {gemm: [64, 64, 64]}"


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        # in INT8 a 1024³ product has 2 · 1024 / 3 = 682.7 op/B; × 256 GB/s is above the peak of 32.768 TOP/s
        ("attainable: mac_array int8 / hbm, expect: 32.77 TOP/s, workload: {gemm: [1024, 1024, 1024]}", 32.768e12),
        # stored in FP32 a quarter of it: 170.7 op/B × 256 GB/s = 43.7 TOP/s, still above
        ("attainable: mac_array int8 / hbm, expect: 32.77 TOP/s, workload: {gemm: [1024, 1024, 1024]}, storage: fp32",
         32.768e12),
        # 2 · 64³ op over 3 · 64² B = 42.67 op/B, left of the breakpoint of 128
        (SMALL, 256e9 * 128 / 3),
        (SMALL.replace("10.92", "2.731") + ", storage: fp32", 256e9 * 32 / 3),
        ("attainable: mac_array int8 / hbm, at: low, expect: 16.38 TOP/s, workload: {gemm: [1024, 1024, 1024]}",
         16.384e12),
    ],
)  # fmt: skip
def test_attainable_is_the_lower_of_the_two_roofs(one, claim, value):
    verdict = one(claim)
    assert (verdict.outcome, verdict.corroborated) == ("pass", True), verdict.text()
    assert verdict.obtained.value == pytest.approx(value, rel=1e-12)


def test_attainable_has_the_facts_of_both_roofs(one, paths):
    verdict = one(SMALL)
    assert {"units.mac_array.clock", "memories.hbm.pin_rate"} <= paths(verdict)
    assert (verdict.obtained.unit, verdict.obtained.precision) == ("mac_array", "int8")
    assert verdict.obtained.formula.startswith("min(8 tile × ") and verdict.obtained.formula.endswith("42.67 op/B)")


def test_a_bandwidth_above_the_peak_is_still_a_cause(acme, one):
    # 42.67 op/B × 256 GB/s = 10.92; with 32 Gbit/s per pin the roof is the peak, 32.77
    acme.edit("specs/hardware/acme/k1.yaml", "pin_rate: [2 Gbit/s", "pin_rate: [32 Gbit/s")
    verdict = one(SMALL)
    assert verdict.outcome == "fail"
    assert any(cause.fact.path.startswith("memories.hbm.") for cause in verdict.causes if cause.fact)


def test_only_the_lower_roof_is_repaired_where_the_value_is_too_low(acme, one):
    acme.edit("specs/hardware/acme/k1.yaml", "pin_rate: [2 Gbit/s", "pin_rate: [1 Gbit/s")
    verdict = one(SMALL)
    assert (verdict.outcome, verdict.ratio_text) == ("fail", "1/2")
    assert {cause.fact.path for cause in verdict.causes if cause.fact} == {"memories.hbm.pin_rate", "memories.hbm.bus"}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (" / hbm", "", "want two operands with '/'"),
        ("mac_array int8", "int8", "want a unit and a precision"),
        ("64]}", "64]}, storage: int9", "storage: unknown precision 'int9'"),
        ("TOP/s", "GB/s", "an attainable is in op/s"),
    ],
)
def test_an_invalid_attainable_is_refused(refusal, old, new, says):
    assert says in refusal(SMALL.replace(old, new))
