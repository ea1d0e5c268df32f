"""`sustained`: a measured rate bounds energies from above, and an error in a copy of a device shows."""

import pytest

from rooflint.base.errors import InputError

H100 = "specs/hardware/nvidia/h100-sxm5-80gb.yaml"
T4 = "specs/hardware/nvidia/t4.yaml"
GH100 = "specs/architectures/nvidia/hopper-gh100.yaml"
SEVEN, FOUR, TWELVE = "specs/process/7nm.yaml", "specs/process/4nm.yaml", "specs/process/12nm.yaml"
ON_H100 = "sustained: tensor_core fp16, hardware: nvidia/h100-sxm5-80gb"
ON_T4 = "sustained: tensor_core fp16, hardware: nvidia/t4"
PRODUCT = "product: [4096, 4096, 4096]"


def test_a_rate_within_peak_and_power_is_all_that_was_measured(shipped):
    # 145 W idle power + 658.7 TFLOP/s × 0.25 pJ × 0.65 = 214 of 700 W
    verdict = shipped.judge(f"{ON_H100}, expect: 658.7 TFLOP/s")
    assert verdict.outcome == "pass"
    assert verdict.obtained.value == 658.7e12
    assert "min(658.7 TFLOP/s measured, 989.4 TFLOP/s dense peak" in verdict.obtained.formula


def test_the_rate_that_the_power_allows_is_limit_less_idle_power_over_the_lowest_op(shipped):
    # an op costs 0.25 pJ × 0.65 (a foundry's N4 over N7) at the least: (157 − 145) W / 0.1625 pJ = 73.8 TFLOP/s
    verdict = shipped.judge(f"{ON_H100}, expect: 658.7 TFLOP/s, within: 157 W")
    assert verdict.obtained.value == pytest.approx(12 / 0.1625e-12)
    assert verdict.outcome == "fail"


def test_what_a_product_moves_at_the_least_is_in_the_power(shipped):
    # 3 × 4096² × 2 B for 2 × 4096³ op; with HBM3 at 3.0 pJ/bit that is 0.0176 pJ/op more
    bare = shipped.judge(f"{ON_H100}, expect: 658.7 TFLOP/s, within: 157 W").obtained.value
    moved = shipped.judge(f"{ON_H100}, expect: 658.7 TFLOP/s, within: 157 W, {PRODUCT}").obtained.value
    assert bare / moved == pytest.approx((0.1625 + 3 / 4096 * 24) / 0.1625)
    # and as much as the source says where it says it: 1 TB/s are 24 W for 658.7 TFLOP/s
    said = shipped.judge(f"{ON_H100}, expect: 658.7 TFLOP/s, within: 157 W, traffic: 1 TB/s").obtained.value
    assert bare / said == pytest.approx((0.1625 + 24 / 658.7) / 0.1625)


@pytest.mark.parametrize(
    ("file", "old", "new", "named"),
    [
        (H100, "tdp: [700 W", "tdp: [170 W", "tdp"),
        (H100, "process: [4 nm", "process: [45 nm", "add.fp16"),  # 145 W + 0.75 pJ × 794.5 TFLOP/s = 741 W
        (SEVEN, "fp16: [0.34 pJ/op", "fp16: [5.4 pJ/op", "multiply.fp16"),
        (GH100, "fp16: [512 MAC, wp, fourth", "fp16: [256 MAC, wp, fourth", "macs_per_clock.fp16"),
        (H100, "idle: [145 W", "idle: [680 W", "powers.idle"),
    ],
    ids=["tdp", "node", "energy", "rate", "idle"],
)  # fmt: skip
def test_a_slip_turns_a_measured_rate_red_and_is_named_with_its_place(shipped, said, file, old, new, named):
    line = shipped.edit(file, old, new)
    verdict = shipped.judge(f"{ON_H100}, expect: 794.5 TFLOP/s")
    assert verdict.outcome == "fail"
    text = said(verdict)
    assert "the rate" in text
    assert named in text
    assert f"{file}:{line}" in text or named == "add.fp16"
    assert text.startswith("golden/measured.yaml:3")


def test_a_bound_backs_nothing(shipped):
    assert not shipped.judge(f"{ON_H100}, expect: 658.7 TFLOP/s").corroborated


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("sustained: tensor_core fp16, expect: 24 TFLOP/s", "want the device that was measured"),
        ("sustained: tensor_core fp16, hardware: [nvidia/t4], expect: 24 TFLOP/s", "want the device that was measured"),
        (f"{ON_T4}, expect: 24 W", "expect: a sustained is"),
        (f"{ON_T4}, expect: 24 TFLOP/s, product: [4096, 4096]", "product: want m, n and k"),
        (f"{ON_T4}, expect: 24 TFLOP/s, product: [4096, 4096, 0]", "product: want m, n and k"),
        (f"{ON_T4}, expect: 24 TFLOP/s, {PRODUCT}, traffic: 1 GB/s", "keep one of the two"),
        (f"{ON_T4}, expect: 24 TFLOP/s, traffic: 1 GB", "traffic: want a value in B/s"),
        (f"{ON_T4}, expect: 24 TFLOP/s, within: much", "within: "),
    ],
)
def test_what_a_measurement_cannot_mean_is_refused_with_its_line(shipped, claim, says):
    with pytest.raises(InputError, match=r"measured\.yaml:3") as refused:
        shipped.judge(claim)
    assert says in str(refused.value)
