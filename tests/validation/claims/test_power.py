"""`power`: a measured power within the calculated range at its rate."""

import pytest

from rooflint.base.errors import InputError

PRODUCT = "product: [4096, 4096, 4096]"


def test_a_slip_of_the_circuits_factor_turns_a_measured_power_red(shipped, said):
    # a T4 drew 70 W; 8 times the factor of its tensor cores is above the law's window, half of it leaves 70 W within
    claim = f"power: tensor_core fp16, hardware: nvidia/t4, rate: 24 TFLOP/s, expect: 70 W, {PRODUCT}"
    assert shipped.judge(claim).outcome == "pass"
    shipped.edit("specs/circuits.yaml", "tensor_core: [0.85", "tensor_core: [0.10")
    verdict = shipped.judge(claim)
    assert verdict.outcome == "fail"
    assert "70 W is above the range" in said(verdict)


def test_a_power_below_the_lowest_is_red_with_the_lowest(shipped, said):
    verdict = shipped.judge("power: tensor_core fp16, hardware: nvidia/t4, rate: 24 TFLOP/s, expect: 30 W")
    assert verdict.outcome == "fail"
    # 36 W idle power + 24 TFLOP/s × 0.25 pJ × 2.5 / 1.8 = 44.3 W
    assert verdict.obtained.value == pytest.approx(36 + 24 * 0.25 * 2.5 / 1.8)
    assert "30 W is below the range" in said(verdict)


def test_a_memory_alone_draws_its_bytes_and_idle_power(shipped, said):
    verdict = shipped.judge("power: hbm3, hardware: nvidia/h100-sxm5-80gb, rate: 3 TB/s, expect: 225 W")
    # 145 W + 3 TB/s × 8 bit/B × 3.0 … 3.5 pJ/bit = 217 … 229 W
    assert verdict.outcome == "pass"
    assert verdict.obtained.formula.startswith("217 W … 229 W")


def test_a_memory_that_is_not_the_fastest_is_told(shipped, said):
    verdict = shipped.judge("power: hbm3, hardware: nvidia/t4, rate: 1 GB/s, expect: 70 W")
    assert verdict.outcome == "fail"
    assert "want the fastest memory of nvidia/t4, gddr6; found 'hbm3'" in said(verdict)


def test_the_range_is_shown_and_a_power_within_it_is_obtained(shipped):
    verdict = shipped.judge("power: tensor_core fp16, hardware: nvidia/t4, rate: 24 TFLOP/s, expect: 60 W")
    assert (verdict.outcome, verdict.obtained.value, verdict.obtained.details) == ("pass", 60.0, "")
    assert verdict.obtained.formula.startswith("44.3 W … ") and ", typically " in verdict.obtained.formula
    assert (verdict.obtained.unit, verdict.obtained.precision) == ("tensor_core", "fp16")
    assert verdict.facts and not verdict.corroborated


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("power: gddr6, hardware: nvidia/t4, expect: 70 W", "want the rate at which the power was measured"),
        ("power: gddr6, hardware: nvidia/t4, rate: 24 TFLOP/s, expect: 70 W", "rate: want a value in B/s"),
        (f"power: gddr6, hardware: nvidia/t4, rate: 1 GB/s, expect: 70 W, {PRODUCT}", "is a memory"),
        ("power: tensor_core, hardware: nvidia/t4, rate: 24 TFLOP/s, expect: 70 W", "rate: want a value in B/s"),
        ("power: tensor_core fp16, rate: 24 TFLOP/s, expect: 70 W", "want the device that was measured"),
        ("power: tensor_core fp16, hardware: nvidia/t4, rate: 1 TB/s, expect: 70 W", "rate: want a value in op/s"),
    ],
)
def test_an_invalid_power_is_refused_with_its_line(shipped, claim, says):
    with pytest.raises(InputError, match=r"measured\.yaml:3") as refused:
        shipped.judge(claim)
    assert says in str(refused.value)
