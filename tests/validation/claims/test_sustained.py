"""`sustained` and `power`: what was measured bounds energies from above, and a slip in a copy of a device shows."""

import shutil

import pytest

from rooflint.base.errors import InputError
from rooflint.devices.registry import PACKAGED

H100 = "specs/hardware/nvidia/h100-sxm5-80gb.yaml"
T4 = "specs/hardware/nvidia/t4.yaml"
GH100 = "specs/architectures/nvidia/hopper-gh100.yaml"
SEVEN, FOUR, TWELVE = "specs/process/7nm.yaml", "specs/process/4nm.yaml", "specs/process/12nm.yaml"
SOURCE = "source: {document: Somebody's stopwatch, where: p. 1, grade: read}\n"
ON_H100 = "sustained: tensor_core fp16, hardware: nvidia/h100-sxm5-80gb"
ON_T4 = "sustained: tensor_core fp16, hardware: nvidia/t4"
PRODUCT = "product: [4096, 4096, 4096]"


@pytest.fixture
def judged(repository):
    """Verdicts on claims about copies of the shipped devices and coefficients."""
    for folder in ("hardware/nvidia", "architectures/nvidia", "process", "memory", "events"):
        shutil.copytree(PACKAGED / folder, repository.root / "specs" / folder)
    shutil.copy(PACKAGED / "circuits.yaml", repository.root / "specs" / "circuits.yaml")

    def verdict(line):
        repository.write("golden/measured.yaml", f"{SOURCE}claims:\n  - {{{line}}}\n")
        (found,) = repository.verdicts("golden/measured.yaml").values()
        return found

    repository.judge = verdict
    return repository


def words(verdict):
    return " ".join(verdict.text().split())


def test_a_rate_within_peak_and_power_is_all_that_was_measured(judged):
    # 145 W idle power + 658.7 TFLOP/s × 0.25 pJ × 0.65 = 214 of 700 W
    verdict = judged.judge(f"{ON_H100}, expect: 658.7 TFLOP/s")
    assert verdict.outcome == "pass"
    assert verdict.obtained.value == 658.7e12
    assert "min(658.7 TFLOP/s measured, 989.4 TFLOP/s dense peak" in verdict.obtained.formula


def test_the_rate_that_the_power_allows_is_limit_less_idle_power_over_the_lowest_op(judged):
    # an op costs 0.25 pJ × 0.65 (a foundry's N4 over N7) at the least: (157 − 145) W / 0.1625 pJ = 73.8 TFLOP/s
    verdict = judged.judge(f"{ON_H100}, expect: 658.7 TFLOP/s, within: 157 W")
    assert verdict.obtained.value == pytest.approx(12 / 0.1625e-12)
    assert verdict.outcome == "fail"


def test_what_a_product_moves_at_the_least_is_in_the_power(judged):
    # 3 × 4096² × 2 B for 2 × 4096³ op; with HBM3 at 3.0 pJ/bit that is 0.0176 pJ/op more
    bare = judged.judge(f"{ON_H100}, expect: 658.7 TFLOP/s, within: 157 W").obtained.value
    moved = judged.judge(f"{ON_H100}, expect: 658.7 TFLOP/s, within: 157 W, {PRODUCT}").obtained.value
    assert bare / moved == pytest.approx((0.1625 + 3 / 4096 * 24) / 0.1625)
    # and as much as the source says where it says it: 1 TB/s are 24 W for 658.7 TFLOP/s
    said = judged.judge(f"{ON_H100}, expect: 658.7 TFLOP/s, within: 157 W, traffic: 1 TB/s").obtained.value
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
def test_a_slip_turns_a_measured_rate_red_and_is_named_with_its_place(judged, file, old, new, named):
    line = judged.edit(file, old, new)
    verdict = judged.judge(f"{ON_H100}, expect: 794.5 TFLOP/s")
    assert verdict.outcome == "fail"
    said = words(verdict)
    assert "the rate" in said
    assert named in said
    assert f"{file}:{line}" in said or named == "add.fp16"
    assert said.startswith("golden/measured.yaml:3")


def test_a_slip_of_the_circuits_factor_turns_a_measured_power_red(judged):
    # a T4 drew 70 W; 8 times the factor of its tensor cores is above the law's window, half of it leaves 70 W within
    claim = f"power: tensor_core fp16, hardware: nvidia/t4, rate: 24 TFLOP/s, expect: 70 W, {PRODUCT}"
    assert judged.judge(claim).outcome == "pass"
    judged.edit("specs/circuits.yaml", "tensor_core: [0.85", "tensor_core: [0.10")
    verdict = judged.judge(claim)
    assert verdict.outcome == "fail"
    assert "70 W is above the range" in words(verdict)


def test_a_power_below_the_lowest_is_red_with_the_lowest(judged):
    verdict = judged.judge("power: tensor_core fp16, hardware: nvidia/t4, rate: 24 TFLOP/s, expect: 30 W")
    assert verdict.outcome == "fail"
    # 36 W idle power + 24 TFLOP/s × 0.25 pJ × 2.5 / 1.8 = 44.3 W
    assert verdict.obtained.value == pytest.approx(36 + 24 * 0.25 * 2.5 / 1.8)
    assert "30 W is below the range" in words(verdict)


def test_a_memory_alone_draws_its_bytes_and_idle_power(judged):
    verdict = judged.judge("power: hbm3, hardware: nvidia/h100-sxm5-80gb, rate: 3 TB/s, expect: 225 W")
    # 145 W + 3 TB/s × 8 bit/B × 3.0 … 3.5 pJ/bit = 217 … 229 W
    assert verdict.outcome == "pass"
    assert verdict.obtained.formula.startswith("217 W … 229 W")


def test_a_bound_backs_nothing(judged):
    assert not judged.judge(f"{ON_H100}, expect: 658.7 TFLOP/s").corroborated


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
        ("power: gddr6, hardware: nvidia/t4, expect: 70 W", "want the rate at which the power was measured"),
        ("power: gddr6, hardware: nvidia/t4, rate: 24 TFLOP/s, expect: 70 W", "rate: want a value in B/s"),
        (f"power: gddr6, hardware: nvidia/t4, rate: 1 GB/s, expect: 70 W, {PRODUCT}", "is a memory"),
        ("power: tensor_core, hardware: nvidia/t4, rate: 24 TFLOP/s, expect: 70 W", "rate: want a value in B/s"),
    ],
)
def test_what_a_measurement_cannot_mean_is_refused_with_its_line(judged, claim, says):
    with pytest.raises(InputError, match=r"measured\.yaml:3") as refused:
        judged.judge(claim)
    assert says in str(refused.value)


def test_a_memory_that_is_not_the_fastest_is_told(judged):
    verdict = judged.judge("power: hbm3, hardware: nvidia/t4, rate: 1 GB/s, expect: 70 W")
    assert verdict.outcome == "fail"
    assert "want the fastest memory of nvidia/t4, gddr6; found 'hbm3'" in words(verdict)
