"""Claims about power: rated figures, measured work, and errors in a copy of a device that show."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_rooflint.claims.power import check_work, least_bytes_per_s, quantity, slug_of_work
from pytest_rooflint.golden.kinds import Claim, ClaimError
from pytest_rooflint.suite.judge import outcome_of
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError
from rooflint.base.facts import Fact
from rooflint.base.units import BYTES_PER_S

# ---- `tdp`


@pytest.mark.parametrize(
    ("claim", "value", "fact"),
    [
        ("tdp: rated, expect: 20 W", 20, "tdp"),
        ("tdp: typical, expect: 12 W", 12, "powers.typical"),
        ("tdp: rated, at: low, expect: 10 W", 10, "tdp"),
    ],
)
def test_a_power_is_the_fact_of_that_name(one, paths, claim, value, fact):
    verdict = one(claim)
    assert (verdict.outcome, verdict.obtained.value, verdict.corroborated) == ("pass", value, True)
    assert paths(verdict) == {fact}


def test_a_wrong_power_names_the_repair(one):
    verdict = one("tdp: rated, expect: 40 W")
    assert (verdict.outcome, verdict.ratio_text) == ("fail", "1/2")
    assert [cause.repair for cause in verdict.causes if cause.fact] == ["40 W"]


def test_an_unknown_power_is_told(one, refusal):
    assert one("tdp: idle, expect: 1.00 W").reason == "acme/k1 has no idle power"
    assert "want one of rated, " in refusal("tdp: mean, expect: 1.00 W")
    assert "a tdp is in W" in refusal("tdp: rated, expect: 1.00 J")


ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_a_wrong_rated_power_of_any_shipped_device_turns_a_claim_red_or_has_a_reason():
    # A10G 300 -> 150 W, Gaudi 3 900 -> 600 W, GB200 1200 -> 2700 W and L40S 350 -> 300 W once passed
    suite = Suite.of([ROOT / "golden/peaks"], [ROOT / "model/rooflint/specs"])
    reasons = {one.spec.hardware for one in suite.goldens() if "tdp" in one.spec.unguarded}
    rated: dict[str | None, list[Claim]] = defaultdict(list)
    for claim in suite.claims():
        if claim.kind == "tdp" and claim.subject == "rated":
            rated[claim.hardware].append(claim)
    silent = {
        (device.id, factor)
        for device in suite.readable()
        if (fact := device.facts.get("tdp"))
        for factor in (1 / 2, 2 / 3, 1.5, 2.25, 16)
        if not _is_red(rated[device.id], device.id, fact, factor, suite)
    }
    assert {device for device, _ in silent} <= reasons
    assert len(reasons) == 6  # each has one document, or none but estimates


@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "wrong"),
    [("nvidia/a10g", 150), ("intel/gaudi-3", 600), ("nvidia/gb200-gpu", 2700), ("nvidia/l40s", 300)],
)
def test_rated_powers_that_once_passed_are_red(device, wrong):
    suite = Suite.of([ROOT / f"golden/peaks/{device}.yaml".rpartition("/")[0]], [ROOT / "model/rooflint/specs"])
    fact = suite.registry.get(device).facts["tdp"]
    claims = [claim for claim in suite.claims() if claim.hardware == device and claim.kind == "tdp"]
    assert _is_red(claims, device, fact, wrong / fact.value, suite)


def _is_red(claims: list[Claim], device: str, fact: Fact, factor: float, suite: Suite) -> bool:
    registry = suite.registry.with_fact(fact, fact.with_value(fact.value * factor))
    assert registry.get(device).facts["tdp"].value != fact.value
    return any(outcome_of(claim, replace(suite, registry=registry)) == "fail" for claim in claims)


# ---- `peak_per_w`


@pytest.fixture
def pair(acme, one):
    """A claim about k1 and k2, a K1 of 40 W instead of 20: twice the peak per watt."""
    acme.write("specs/hardware/acme/k2.yaml", acme.read("specs/hardware/acme/k1.yaml").replace("20 W", "40 W"))
    return lambda text: one(text, head="")


def test_peak_per_watt_is_compared_between_two_devices(pair, paths):
    # 8 tiles x 2 x 1024 MAC x 2 x 1 GHz = 32.77 TOP/s with 20 and with 40 W
    verdict = pair(
        "peak_per_w: acme/k1 / acme/k2, of: mac_array int8, expect: 32.77 TOP/s / 20 W / (32.77 TOP/s / 40 W)"
    )
    assert (verdict.outcome, verdict.obtained.value, verdict.corroborated) == ("pass", 2, False)
    assert {"tdp", "units.mac_array.groups", "units.mac_array.clock"} <= paths(verdict)


def test_rates_of_two_units_are_compared(pair):
    # 8 tiles x 2 x 512 MAC x 2 x 0.9 GHz = 14.75 TFLOP/s of K2
    verdict = pair("peak_per_w: acme/k1 / acme/k2, of: mac_array int8 / mac_array fp16, expect: 32.77 / 14.75 * 2")
    assert verdict.outcome == "pass"
    assert verdict.obtained.value == pytest.approx(2 * 1024 / 512 / 0.9)


def test_both_powers_are_named_where_a_quotient_is_off(pair):
    verdict = pair("peak_per_w: acme/k1 / acme/k2, of: mac_array int8, expect: 1.000 * 4")
    assert (verdict.outcome, verdict.ratio_text) == ("fail", "1/2")
    assert {fact.display for fact in verdict.facts if fact.path == "tdp"} == {"20 W", "40 W"}


def test_a_wrong_comparison_is_told(pair, refusal):
    assert "compares a device with itself" in refusal("peak_per_w: acme/k1 / acme/k1, of: mac_array int8, expect: 1.0")
    assert "want two operands with '/'" in refusal("peak_per_w: acme/k1, of: mac_array int8, expect: 1.0")
    assert "want the rate that is compared" in refusal("peak_per_w: acme/k1 / acme/k2, expect: 1.0")
    assert "want a unit and a precision" in refusal("peak_per_w: acme/k1 / acme/k2, of: int8, expect: 1.0")
    verdict = pair("peak_per_w: acme/k1 / hailo/hailo-8, of: mac_array int8, expect: 1.0")
    assert verdict.reason == "hailo/hailo-8 has no rated power"


# ---- measured work


def work(hardware="nvidia/t4", subject="tensor_core fp16", **options):
    return SimpleNamespace(hardware=hardware, subject=subject, option=options.get)


def test_a_product_moves_each_matrix_once():
    # m·k = 2·5, k·n = 5·3, m·n = 2·3: 31 elements of 2 B for 2·2·3·5 = 60 op
    assert least_bytes_per_s(work(product=[2, 3, 5]), "fp16", 120.0) == pytest.approx(120 * 31 * 2 / 60)
    assert least_bytes_per_s(work(), "fp16", 120.0) == 0


def test_a_quantity_is_read_in_base_units_and_of_the_wanted_dimension():
    assert quantity(work(traffic="1.2 TB/s"), "traffic", BYTES_PER_S) == 1.2e12
    assert quantity(work(), "traffic", BYTES_PER_S) is None
    with pytest.raises(ClaimError, match="traffic: want a value in B/s, '3 W' is in W"):
        quantity(work(traffic="3 W"), "traffic", BYTES_PER_S)
    with pytest.raises(ClaimError, match="traffic: "):
        quantity(work(traffic="much"), "traffic", BYTES_PER_S)


@pytest.mark.parametrize("product", [[1, 2], [1, 2, 0], [1, 2, True], [1, 2, 3.0], "8192", [1, 2, 3, 4]])
def test_sizes_are_three_positive_integers(product):
    with pytest.raises(ClaimError, match="product: want m, n and k"):
        check_work(work(product=product))


def test_a_product_or_a_traffic_but_not_both():
    check_work(work(product=[1, 1, 1]))
    check_work(work(traffic="1 GB/s"))
    with pytest.raises(ClaimError, match="keep one of the two"):
        check_work(work(product=[1, 1, 1], traffic="1 GB/s"))


def test_one_device_was_measured():
    check_work(work())
    for hardware in (None, ["nvidia/t4"]):
        with pytest.raises(ClaimError, match="want the device that was measured"):
            check_work(work(hardware=hardware))


def test_an_id_has_device_subject_rate_and_limit():
    assert slug_of_work(work()) == "nvidia/t4-tensor_core-fp16"
    assert slug_of_work(work(rate="24 TFLOP/s", within="50 W")) == "nvidia/t4-tensor_core-fp16-24-TFLOP/s-50-W"


# ---- `sustained`


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
    message = shipped.judge(f"{ON_H100}, expect: 658.7 TFLOP/s, within: 157 W, traffic: 1 TB/s").obtained.value
    assert bare / message == pytest.approx((0.1625 + 24 / 658.7) / 0.1625)


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
def test_a_slip_turns_a_measured_rate_red_and_is_named_with_its_place(shipped, message, file, old, new, named):
    line = shipped.edit(file, old, new)
    verdict = shipped.judge(f"{ON_H100}, expect: 794.5 TFLOP/s")
    assert verdict.outcome == "fail"
    text = message(verdict)
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


# ---- `power`


def test_a_slip_of_the_circuits_factor_turns_a_measured_power_red(shipped, message):
    # a T4 drew 70 W; 8 times the factor of its tensor cores is above the law's window, half of it leaves 70 W within
    claim = f"power: tensor_core fp16, hardware: nvidia/t4, rate: 24 TFLOP/s, expect: 70 W, {PRODUCT}"
    assert shipped.judge(claim).outcome == "pass"
    shipped.edit("specs/circuits.yaml", "tensor_core: [0.85", "tensor_core: [0.10")
    verdict = shipped.judge(claim)
    assert verdict.outcome == "fail"
    assert "70 W is above the range" in message(verdict)


def test_a_power_below_the_lowest_is_red_with_the_lowest(shipped, message):
    verdict = shipped.judge("power: tensor_core fp16, hardware: nvidia/t4, rate: 24 TFLOP/s, expect: 30 W")
    assert verdict.outcome == "fail"
    # 36 W idle power + 24 TFLOP/s × 0.25 pJ × 2.5 / 1.8 = 44.3 W
    assert verdict.obtained.value == pytest.approx(36 + 24 * 0.25 * 2.5 / 1.8)
    assert "30 W is below the range" in message(verdict)


def test_a_memory_alone_draws_its_bytes_and_idle_power(shipped, message):
    verdict = shipped.judge("power: hbm3, hardware: nvidia/h100-sxm5-80gb, rate: 3 TB/s, expect: 225 W")
    # 145 W + 3 TB/s × 8 bit/B × 3.0 … 3.5 pJ/bit = 217 … 229 W
    assert verdict.outcome == "pass"
    assert verdict.obtained.formula.startswith("217 W … 229 W")


def test_a_memory_that_is_not_the_fastest_is_told(shipped, message):
    verdict = shipped.judge("power: hbm3, hardware: nvidia/t4, rate: 1 GB/s, expect: 70 W")
    assert verdict.outcome == "fail"
    assert "want the fastest memory of nvidia/t4, gddr6; found 'hbm3'" in message(verdict)


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
