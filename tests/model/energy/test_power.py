"""Power at a measured rate and at the peak: by hand, and as laws over rates and devices."""

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.precision import PRECISIONS
from rooflint.coefficients.library import Coefficients
from rooflint.coefficients.ranges import UnknownCoefficientError
from rooflint.energy.model import Energies, EnergyError, power_limit
from rooflint.energy.power import (
    MISSING,
    VERDICTS,
    Cause,
    Load,
    PowerCheck,
    UnknownPower,
    Work,
    check_load,
    loads,
    power_of,
    survey,
)
from rooflint.hardware.registry import Registry

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
DEVICES = ("nvidia/h100-sxm5-80gb", "nvidia/t4", "amd/mi300x", "intel/gaudi-2", "google/tpu-v4")
FOUND = [
    one
    for name in DEVICES
    for one in survey(REGISTRY.get(name), ENERGIES)
    if isinstance(one, PowerCheck) and len(one.load.units) == 1
]
RATES = st.floats(1e9, 1e15)


def at_rate(one, ops_per_s, **moved):
    work = Work(one.load.units[0].name, one.load.precision, ops_per_s, **moved)
    return power_of(one.load.hardware, work, ENERGIES)


def test_a_t4_at_the_rate_that_was_measured_takes_what_was_measured():
    # 36 W idle + 24 TFLOP/s × (2.5 pJ × 0.5 × 0.85 × 1.4 = 1.4875 pJ/op) = 71.7 W; with the 17.6 GB/s of 4096³ 72.8 W
    found = power_of(REGISTRY.get("nvidia/t4"), Work("tensor_core", "fp16", 24e12, 17.578e9), ENERGIES)
    assert found.typical_w == pytest.approx(36 + 24 * 1.4875 + 17.578e9 * 60e-12)
    # the arithmetic alone is 24 × 0.25 × 2.5 / 1.8 = 8.33 W
    assert found.low_w == pytest.approx(36 + 24 * 0.25 * 2.5 / 1.8 + 17.578e9 * 60e-12)


def test_bytes_alone_take_idle_power_and_accesses():
    # 3 TB/s × 8 bit/B × 3.0 … 3.5 pJ/bit
    found = power_of(REGISTRY.get("nvidia/h100-sxm5-80gb"), Work("", "", 0.0, 3e12, 3e12), ENERGIES)
    assert (found.low_w, found.high_w) == (pytest.approx(145 + 72), pytest.approx(145 + 84))


def test_traffic_that_nobody_says_is_between_nothing_and_all():
    h100 = REGISTRY.get("nvidia/h100-sxm5-80gb")
    omitted = power_of(h100, Work("tensor_core", "fp16", 600e12), ENERGIES)
    none = power_of(h100, Work("tensor_core", "fp16", 600e12, 0.0, 0.0), ENERGIES)
    full = h100.main_memory().bandwidth_bytes_per_s
    every = power_of(h100, Work("tensor_core", "fp16", 600e12, full, full), ENERGIES)
    assert (omitted.low_w, omitted.typical_w) == (none.low_w, none.typical_w)
    assert omitted.high_w == every.high_w > none.high_w


def test_a_datapath_that_nobody_knows_is_left_out_in_words():
    # nobody estimates an FP32 op at 45 nm; its arithmetic is printed: 600 TFLOP/s × (1.1 + 0.4) / 2 pJ
    h100 = REGISTRY.get("nvidia/h100-sxm5-80gb")
    process = h100.facts["process"]
    old = replace(process, quantity=replace(process.quantity, value=45e-9, text="45 nm"))
    found = power_of(replace(h100, facts={**h100.facts, "process": old}), Work("tensor_core", "fp16", 600e12), ENERGIES)
    assert found.low_w == pytest.approx(145 + 450)
    assert any("the datapath is not counted" in message for message in found.left_out)


def test_arithmetic_that_nobody_knows_is_an_error():
    with pytest.raises(UnknownCoefficientError, match="fp4"):
        power_of(REGISTRY.get("nvidia/b200-sxm"), Work("tensor_core", "fp4", 1e15), ENERGIES)


@given(st.sampled_from(FOUND), RATES, st.floats(0, 1e12))
def test_the_ends_enclose_the_typical_power(one, ops_per_s, moved):
    found = at_rate(one, ops_per_s, least_bytes_per_s=moved)
    assert 0 <= found.low_w <= found.typical_w * (1 + 1e-12)
    full = one.load.hardware.main_memory().bandwidth_bytes_per_s
    assert moved > full or found.typical_w <= found.high_w * (1 + 1e-12)


@given(st.sampled_from(FOUND), RATES, st.floats(1, 10))
def test_more_ops_never_take_less(one, ops_per_s, factor):
    less, more = at_rate(one, ops_per_s), at_rate(one, ops_per_s * factor)
    assert less.low_w <= more.low_w
    assert less.typical_w <= more.typical_w
    assert less.high_w <= more.high_w


@pytest.mark.parametrize("one", FOUND, ids=lambda one: f"{one.load.device}-{one.load.unit}-{one.load.precision}")
def test_at_the_peak_and_all_of_the_bandwidth_it_is_the_registrys_power(one):
    try:
        full = one.load.hardware.main_memory().bandwidth_bytes_per_s
    except MISSING:
        full = 0.0
    found = at_rate(one, one.load.peak_ops_per_s, least_bytes_per_s=full, most_bytes_per_s=full)
    for end in ("low_w", "typical_w", "high_w"):
        assert getattr(found, end) == pytest.approx(getattr(one, end))


# ---- peak and power limit: by hand, and on every device of the registry at every operating point

POINTS = [
    point
    for hardware in map(REGISTRY.get, REGISTRY.ids())
    for point in (hardware, *map(hardware.at, hardware.operating_points))
]
ALL = [one for point in POINTS for one in survey(point, ENERGIES)]
CHECKED = [one for one in ALL if isinstance(one, PowerCheck)]
EVERY = st.sampled_from(CHECKED)


def near(value, rel=1e-9):
    return pytest.approx(value, rel=rel, abs=0)


def load_of(device, unit, precision):
    (one,) = survey(REGISTRY.get(device), ENERGIES, precision, unit)
    return one


def again(one, hardware, energies=ENERGIES):
    """The same load of a device that differs."""
    units = tuple(hardware.units[unit.name] for unit in one.load.units)
    return check_load(Load(hardware, units, one.load.precision), energies)


def scaled(hardware, paths, factor):
    facts = {path: hardware.facts[path] for path in paths if path in hardware.facts}
    return hardware.with_facts({path: fact.with_value(fact.value * factor) for path, fact in facts.items()})


def clocks(one):
    """Paths of the clocks of its units, also where the precision has its own."""
    names = ("clock", f"clock_of.{one.load.precision}")
    return [f"units.{unit.name}.{name}" for unit in one.load.units for name in names]


def rates(one):
    return [f"units.{unit.name}.macs_per_clock.{one.load.precision}" for unit in one.load.units]


def watts(one):
    return {power.name: (power.low_w, power.typical_w, power.high_w) for power in one.powers}


# ---- by hand


def test_an_a100_takes_more_than_its_tdp_where_the_whole_datapath_is_paid_for():
    # 108 SM × 4 × 256 MAC × 2 × 1.41 GHz = 311.87 TFLOP/s; arithmetic (0.34 + 0.16) / 2 = 0.25 pJ/op → 77.97 W
    # op in a tensor core 1.8 × 0.5 × 0.85 × 1.4 = 1.071 pJ/op, less 0.25 → datapath 0.821 pJ/op → 256.0 W
    one = load_of("nvidia/a100-sxm4-80gb", "tensor_core", "fp16")
    assert one.load.peak_ops_per_s == near(108 * 4 * 256 * 2 * 1.41e9)
    assert watts(one)["arithmetic"] == near((77.97,) * 3, 1e-3)
    assert watts(one)["datapath"] == (0, near(256.0, 1e-3), near(256.0, 1e-3))
    # HBM2E 2039 GB/s × 4.3 pJ/bit × 8 = 70.1 W, at 6.0 pJ/bit 97.9 W
    assert watts(one)["hbm2e"] == near((70.1, 70.1, 97.9), 2e-3)
    assert one.limit_w == 400
    assert one.typical_w == near(77.97 + 256.0 + 70.1 + watts(one)["idle power"][1], 1e-3)
    assert one.verdict == "undecided"


def test_a_t4_exceeds_its_tdp_even_where_only_published_arithmetic_is_counted():
    # 40 SM × 8 × 64 MAC × 2 × 1.59 GHz = 65.13 TFLOP/s; 0.25 pJ × 2.5 / 1.8 = 0.347 pJ/op → 22.6 W
    # GDDR6 320 GB/s × 7.5 pJ/bit × 8 = 19.2 W; idle 36 W: 77.8 of 70 W
    one = load_of("nvidia/t4", "tensor_core", "fp16")
    assert one.low_w == near(22.61 + 19.2 + 36, 1e-3)
    assert one.low_ratio == near(77.81 / 70, 1e-3)
    assert one.verdict == "cannot sustain"
    # 2.5 × 0.5 × 0.85 × 1.4 = 1.4875 pJ/op: 96.9 W for compute alone, of 70
    assert one.cause_w("compute") == near(96.87, 1e-3)
    # 70 W / 65.13 TFLOP/s
    assert one.exhausting_j_per_op == near(1.0748e-12, 1e-3)
    assert one.exhausting_j_per_mac == near(2.1496e-12, 1e-3)
    # (70 − 19.2 − 36) / 96.87 of 1.59 GHz
    assert one.fitting_clock_hz == near(14.8 / 96.87 * 1.59e9, 1e-3)


def test_no_clock_fits_where_memory_and_idle_power_alone_take_the_limit():
    # 19.2 W of memory and 36 W idle of a T4 that is rated for 50
    one = load_of("nvidia/t4", "tensor_core", "fp16")
    poor = again(one, scaled(one.load.hardware, ["tdp"], 50 / 70))
    assert (poor.clock_share, poor.fitting_clock_hz) == (None, None)


def test_an_h100_is_undecided_with_a_typical_power_above_its_tdp():
    # 132 SM × 4 × 512 MAC × 2 × 1.83 GHz = 989.4 TFLOP/s × 1.3 × 0.5 × 0.85 × 1.4 = 0.7735 pJ/op = 765.3 W of 700
    one = load_of("nvidia/h100-sxm5-80gb", "tensor_core", "fp16")
    assert one.load.peak_ops_per_s == near(989.43e12, 1e-4)
    assert one.cause_w("compute") == near(765.3, 1e-3)
    assert one.ratio > 1 > one.low_ratio
    assert one.verdict == "undecided"


def test_lanes_with_their_own_instructions_are_never_said_to_sustain():
    one = load_of("nvidia/h100-sxm5-80gb", "cuda_core", "fp32")
    assert one.high_ratio < 1
    assert one.verdict == "undecided"
    assert one.left_out == ("the instructions of each lane of cuda_core are not counted",)


def test_tiles_of_one_array_work_together():
    one = load_of("stillwater/kpu-t64", "int8_tile", "int8")
    assert one.load.unit == "int8_tile + matrix_tile"
    hardware = REGISTRY.get("stillwater/kpu-t64")
    assert one.load.peak_ops_per_s == near(
        hardware.unit("int8_tile").peak_ops_per_s("int8") + hardware.unit("matrix_tile").peak_ops_per_s("int8")
    )


# ---- what is not known


def test_every_device_at_every_point_is_listed_with_figures_or_a_reason():
    told = {one.load.device if isinstance(one, PowerCheck) else one.device for one in ALL}
    assert len(told) == len(POINTS)


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        ("google/tpu-v5e", "no process node is known"),
        ("apple/m1", "no power limit is known"),
        ("aws/trainium2", "no process node is known"),
    ],
)
def test_a_device_without_node_or_limit_has_that_as_its_reason(device, reason):
    hardware = REGISTRY.get(device)
    assert survey(hardware, ENERGIES) == [UnknownPower(hardware, reason)]


def test_a_precision_whose_energy_nobody_knows_is_listed():
    (one,) = survey(REGISTRY.get("nvidia/b200-sxm"), ENERGIES, "fp4")
    assert (one.reason, one.load.unit) == ("no energy of fp4 arithmetic is known at any node", "tensor_core")


def test_a_precision_that_a_device_does_not_compute_in_is_a_reason():
    (one,) = survey(REGISTRY.get("nvidia/t4"), ENERGIES, "fp8", "tensor_core")
    assert one.reason == "it does not compute in fp8 on a tensor_core"


def test_what_is_left_out_keeps_a_device_from_sustaining():
    one = load_of("intel/gaudi-2", "mme", "fp8")
    assert one.high_ratio < 1
    assert one.left_out == ("idle power is not counted: no idle power of the kind npu is known in any state",)
    assert one.verdict == "undecided"


def test_without_a_limit_nothing_is_judged():
    load = next(loads(REGISTRY.get("apple/m1")))
    with pytest.raises(EnergyError, match="apple/m1: no power limit is known"):
        check_load(load, ENERGIES)


def test_the_limit_is_the_tdp_before_any_other():
    hardware = REGISTRY.get("nvidia/t4")
    other = replace(hardware.facts["tdp"], path="powers.limit")
    assert power_limit(hardware.with_facts({"powers.limit": other})).path == "tdp"


# ---- laws


@given(EVERY)
def test_parts_add_up_to_the_whole(one):
    assert sum(map(one.cause_w, get_args(Cause))) == near(one.typical_w)
    assert sum(low for low, _, _ in watts(one).values()) == near(one.low_w)
    assert sum(high for _, _, high in watts(one).values()) == near(one.high_w)
    assert len(watts(one)) == len(one.powers)


@given(EVERY)
def test_typical_lies_between_the_ends(one):
    assert 0 < one.low_w <= one.typical_w <= one.high_w
    assert all(power.low_w <= power.typical_w <= power.high_w for power in one.powers)


@given(EVERY)
def test_the_verdict_is_that_of_the_whole_interval(one):
    assert one.verdict in VERDICTS
    assert (one.verdict == "cannot sustain") == (one.low_w > one.limit_w)
    assert (one.verdict == "sustains") == (one.high_w <= one.limit_w and not one.left_out)


@given(EVERY)
def test_twice_the_clock_is_twice_the_compute_power_and_nothing_else(one):
    fast = again(one, scaled(one.load.hardware, clocks(one), 2))
    assert fast.cause_w("compute") == near(2 * one.cause_w("compute"))
    assert fast.typical_w - one.typical_w == near(one.cause_w("compute"))


@given(EVERY, st.floats(1, 10))
def test_more_bandwidth_never_takes_less_power(one, factor):
    paths = [f"memories.{name}.{what}" for name in one.load.hardware.memories for what in ("bandwidth", "pin_rate")]
    wide = again(one, scaled(one.load.hardware, paths, factor))
    assert wide.cause_w("memory") == near(factor * one.cause_w("memory"))
    assert wide.high_w >= one.high_w
    assert wide.low_w >= one.low_w


@given(EVERY)
def test_at_the_energy_that_exhausts_it_compute_takes_the_limit(one):
    assert one.exhausting_j_per_op * one.load.peak_ops_per_s == near(one.limit_w)
    assert one.exhausting_j_per_mac * one.load.peak_ops_per_s / 2 == near(one.limit_w)


@given(EVERY)
def test_at_the_clock_that_fits_the_typical_power_is_the_limit(one):
    if one.clock_share is None:
        assert one.cause_w("memory") + one.cause_w("static") >= one.limit_w
        return
    fit = again(one, scaled(one.load.hardware, clocks(one), one.clock_share))
    assert fit.ratio == near(1)
    assert fit.load.units[0].clock_hz(fit.load.precision) == near(one.fitting_clock_hz)


@given(EVERY)
def test_twice_the_rate_is_twice_the_compute_power(one):
    assert again(one, scaled(one.load.hardware, rates(one), 2)).cause_w("compute") == near(2 * one.cause_w("compute"))


@given(EVERY)
def test_twice_the_limit_is_less_of_it(one):
    double = again(one, scaled(one.load.hardware, [one.limit.path], 2))
    assert double.ratio < one.ratio
    # memory and compute are half of it; idle power may be a share of the limit, and then stays one
    assert double.cause_w("compute") / double.limit_w == near(one.cause_w("compute") / one.limit_w / 2)


@given(EVERY)
def test_an_older_node_takes_more(one):
    facts = one.load.hardware.facts
    old = replace(facts["process"], quantity=replace(facts["process"].quantity, value=28e-9, text="28 nm"))
    if facts["process"].value < old.value:
        assert again(one, one.load.hardware.with_facts({"process": old})).ratio > one.ratio


def test_another_circuit_takes_another_power():
    one = load_of("nvidia/a100-sxm4-80gb", "tensor_core", "fp16")
    hardware = one.load.hardware
    other = replace(hardware, circuits={**hardware.circuits, "tensor_core": "systolic_mac"})
    # 0.80 / 0.85 of all that compute takes
    assert again(one, other).cause_w("compute") == near(one.cause_w("compute") * 0.80 / 0.85)


@given(st.sampled_from(POINTS), st.sampled_from(sorted(PRECISIONS)))
def test_a_precision_alone_says_what_the_whole_survey_says_of_it(point, precision):
    alone = [one for one in survey(point, ENERGIES, precision) if isinstance(one, PowerCheck)]
    whole = [one for one in survey(point, ENERGIES) if isinstance(one, PowerCheck) and one.load.precision == precision]
    assert [(one.load.unit, one.typical_w) for one in alone] == [(one.load.unit, one.typical_w) for one in whole]
