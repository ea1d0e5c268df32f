"""Comparison: who wins, and that one device never stops the others."""

from itertools import pairwise

import pytest

from rooflint.answers.compare import Question, answer
from rooflint.answers.insights import caveats, insights
from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import FREE, Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Registry
from rooflint.prediction.comparison import (
    CRITERIA,
    WINS,
    Comparison,
    CriterionError,
    compare,
    flips,
    requirements,
    score_of,
)
from rooflint.prediction.predict import SILICON, Setting, predict
from rooflint.workloads.tables import load_workload

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
RESNET = load_workload("torchvision/resnet18")
FOUR = ("intel/xeon-8490h", "nvidia/h100-sxm5-80gb", "google/tpu-v4", "stillwater/kpu-t256")


def comparison(*devices, compute="bf16", **setting):
    return compare([REGISTRY.get(device) for device in devices], RESNET, ENERGIES, Setting(compute, **setting))


def test_contenders_keep_the_order_in_which_they_were_asked_for():
    assert [one.label for one in comparison(*FOUR).contenders] == list(FOUR)


def test_a_winner_has_the_least_of_all():
    found = comparison(*FOUR)
    for by in WINS:
        least = min(score_of(one.prediction, by) for one in found.able)
        assert found.leaders(by)
        assert all(score_of(one.prediction, by) == least for one in found.leaders(by))


def test_a_device_whose_launches_are_not_counted_does_not_beat_those_that_pay_theirs():
    # the KPU would take 24 µs and 0.8 mJ with its launches for nothing, and the H100 pays 160 µs and 28 mJ
    found = comparison("nvidia/h100-sxm5-80gb", "intel/xeon-8490h", "stillwater/kpu-t768")
    h100, xeon, kpu = found.able
    assert (h100.pays, xeon.pays, kpu.pays) == (True, False, False)
    assert kpu.prediction.latency_s < h100.prediction.latency_s
    assert found.winner("latency") is found.winner("throughput") is found.winner("balance") is h100
    assert found.leaders("memory") == found.able
    free = comparison("nvidia/h100-sxm5-80gb", "stillwater/kpu-t768", launch=FREE)
    assert free.winner("latency") is min(free.able, key=lambda one: one.prediction.latency_s)
    unpaid = comparison("intel/xeon-8490h", "stillwater/kpu-t768")
    assert unpaid.winner("latency") is unpaid.able[1]


def test_a_lower_bound_does_not_win_against_calibrated_times():
    found = comparison("nvidia/h100-sxm5-80gb", "google/tpu-v4", fidelity=SILICON)
    h100, tpu = found.able
    assert tpu.prediction.latency_s < h100.prediction.latency_s
    assert (h100.prediction.silicon is not None, tpu.prediction.silicon) == (True, None)
    assert found.winner("latency") is found.winner("throughput") is found.winner("energy") is h100
    assert found.leaders("memory") == found.able
    assert not any("leads tpu-v4" in line for line in insights(found))


def test_a_precision_that_a_device_lacks_comes_with_the_nearest_one():
    (t4,) = comparison("nvidia/t4").contenders
    assert (t4.found, t4.instead) == (None, "fp16")
    says = "nvidia/t4 does not support bf16 (has: fp16, fp32, fp64, int4, int8); try -p fp16"
    assert caveats([t4]) == (says,)


def test_most_throughput_wins():
    found = comparison(*FOUR)
    most = max(found.able, key=lambda one: one.prediction.throughput_per_s)
    assert found.winner("throughput") is most


def test_balance_is_the_energy_delay_product():
    found = comparison(*FOUR).able[0].prediction
    assert score_of(found, "balance") == found.energy_per_sample_j * found.latency_s


def test_memory_is_a_tie_because_the_network_decides():
    found = comparison(*FOUR)
    assert found.leaders("memory") == found.able
    assert found.winner("memory") is None


def test_equal_devices_tie_whoever_was_named_first():
    # a China variant differs in its links, which no term knows
    pair = ("nvidia/a100-sxm4-80gb", "nvidia/a800-sxm4-80gb")
    for order in (pair, pair[::-1]):
        found = comparison(*order)
        assert {one.label for one in found.leaders("latency")} == set(pair)
        assert found.winner("latency") is None


def test_an_energy_with_a_term_left_out_wins_nothing():
    found = comparison("intel/gaudi-2", "nvidia/h100-sxm5-80gb")
    gaudi, h100 = found.able
    assert not gaudi.prediction.complete
    assert gaudi.prediction.energy_per_sample_j < h100.prediction.energy_per_sample_j
    assert found.winner("energy") is h100
    assert found.winner("balance") is h100


def test_what_does_not_fit_wins_nothing():
    work = load_workload("torchvision/vgg16").at_batch(4096)
    devices = [REGISTRY.get(name) for name in ("nvidia/l4", "nvidia/h200-sxm-141gb")]
    found = compare(devices, work, ENERGIES, Setting("fp32"))
    small, large = found.able
    assert (small.prediction.fits, large.prediction.fits) == (False, True)
    assert all(found.winner(by) is large for by in WINS)


@pytest.mark.parametrize("compute", ["bf16", "int8"])
def test_the_order_of_asking_changes_no_winner(compute):
    devices = [device for device in REGISTRY.readable() if device.kind != "npu"][::5]
    forth = compare(devices, RESNET, ENERGIES, Setting(compute))
    back = compare(devices[::-1], RESNET, ENERGIES, Setting(compute))
    for by in WINS:
        assert {one.label for one in forth.leaders(by)} == {one.label for one in back.leaders(by)}


def test_launches_that_decide_are_told():
    found = comparison(*FOUR, fuse=True)
    assert found.winner("latency").label == "google/tpu-v4"
    assert flips(found, found.without_launches)["latency"].label == "nvidia/h100-sxm5-80gb"
    assert any(message.startswith("launch overhead decides latency") for message in insights(found))
    assert flips(comparison(*FOUR, fuse=True, launch=FREE), None) == {}


def test_a_range_that_leaves_the_order_open_is_told():
    found = comparison("nvidia/h100-sxm5-80gb", "nvidia/h200-sxm-141gb")
    assert any("their published ranges overlap" in message for message in insights(found))


@pytest.mark.slow
@pytest.mark.parametrize("compute", ["bf16", "int8"])
def test_any_two_devices_have_an_answer(compute):
    for one, two in pairwise(compare(REGISTRY.readable(), RESNET, ENERGIES, Setting(compute)).able):
        pair = Comparison(RESNET, Setting(compute), (one, two))
        assert answer(pair, Question()).sections


@pytest.mark.slow
def test_more_devices_than_a_reader_follows_are_counted():
    found = compare(REGISTRY.readable(), RESNET, ENERGIES, Setting("fp16"))
    assert len(insights(found)) < 20
    assert any("devices have the red flag" in message for message in insights(found))


def test_a_device_that_cannot_run_it_keeps_its_reason_and_stops_nobody():
    found = comparison("nvidia/t4", *FOUR)
    assert [one.label for one in found.able] == list(FOUR)
    refused = found.contenders[0]
    assert refused.refused.startswith("nvidia/t4 does not support bf16 (has: ")
    with pytest.raises(RooflintError, match="does not support bf16"):
        _ = refused.prediction


def test_nobody_wins_where_nobody_runs():
    found = comparison("nvidia/t4")
    assert found.able == ()
    assert all(found.leaders(by) == () for by in WINS)


def test_every_device_of_the_registry_is_compared_or_has_a_reason():
    found = compare(list(REGISTRY.readable()), RESNET, ENERGIES, Setting("fp8"))
    assert len(found.contenders) == len(REGISTRY.ids())
    assert found.able
    for one in found.contenders:
        assert one.found or one.refused


def test_requirements_leave_those_that_meet_all():
    found = comparison(*FOUR)
    fastest = found.winner("latency")
    limit = fastest.prediction.latency_s * 1.001e6
    assert found.meets(requirements(f"latency<{limit}us")) == (fastest,)
    assert found.meets(requirements(f"latency<{limit}us,power<1W")) == ()


def test_an_operating_point_is_in_the_label():
    orin: Hardware = REGISTRY.get("nvidia/jetson-agx-orin-64gb")
    (one,) = compare([orin.at("30w")], RESNET, ENERGIES, Setting("int8")).contenders
    assert one.label == "nvidia/jetson-agx-orin-64gb at 30w"
    assert one.short == "jetson-agx-orin-64gb at 30w"


# ---- Criteria: requirements as users type them

FOUND = predict(
    REGISTRY.get("nvidia/t4"),
    load_workload("torchvision/resnet18"),
    Energies(Coefficients(REGISTRY)),
    Setting("fp16"),
)


def test_the_decision_criteria_of_an_edge_device_are_read():
    energy, latency, memory, power = requirements("energy<100mJ,latency<50ms,memory<512MB,power<15W")
    assert (energy.limit, latency.limit, memory.limit, power.limit) == (0.1, 0.05, 512e6, 15)
    assert {each.sign for each in (energy, latency, memory, power)} == {"<"}


@pytest.mark.parametrize("text", ["throughput>10000", "throughput>10000/s", "throughput > 10 kHz", " throughput>=1e4 "])
def test_a_throughput_is_read_with_and_without_its_unit(text):
    (wanted,) = requirements(text)
    assert wanted.limit == pytest.approx(1e4)
    assert wanted.sign.startswith(">")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("speed<3", "'speed<3': want energy, latency, throughput"),
        ("energy=3", "'energy=3': want energy"),
        ("energy<100ms", "'100ms' is not a bound on energy"),
        ("latency<50", "'50' is not a bound on latency"),
        ("latency<-5ms", "'-5ms' is not a bound on latency"),
        ("memory<512mb", "memory<512mb"),
        ("energy<", "'energy<': want"),
    ],
)
def test_what_nobody_can_check_is_refused_in_one_sentence(text, message):
    with pytest.raises(CriterionError) as refused:
        requirements(text)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_no_requirement_is_none():
    assert requirements("") == () == requirements(" , ")


def test_a_bound_holds_or_does_not():
    latency = FOUND.latency_s
    (met,) = requirements(f"latency<{2e6 * latency}us")
    (missed,) = requirements(f"latency<{0.5e6 * latency}us")
    assert (met.met(FOUND), missed.met(FOUND)) == (True, False)


def test_a_bound_with_an_equals_sign_includes_its_limit():
    size = int(FOUND.peak_bytes)
    strict, at_most, at_least = requirements(f"memory<{size}B,memory<={size}B,memory>={size}B")
    assert (strict.met(FOUND), at_most.met(FOUND), at_least.met(FOUND)) == (False, True, True)


@pytest.mark.parametrize(
    ("value", "shown"), [(9999.6, "10,000/s"), (87394.2, "87,394/s"), (12.34, "12.34/s"), (999.96, "1,000/s")]
)
def test_a_throughput_never_has_an_exponent(value, shown):
    assert CRITERIA["throughput"].shown(value) == shown


def test_what_is_not_known_is_neither_met_nor_missed():
    unknown = next(device for device in REGISTRY.readable() if "process" not in device.facts and able(device))
    found = predict(
        unknown,
        load_workload("torchvision/resnet18"),
        Energies(Coefficients(REGISTRY)),
        Setting(first_of(unknown)),
    )
    (wanted,) = requirements("energy<1J")
    assert wanted.met(found) is None


def first_of(hardware):
    return next(name for unit in hardware.units.values() for name in unit.precisions)


def able(hardware):
    return bool(hardware.memories) and any(unit.precisions for unit in hardware.units.values())


def test_every_criterion_has_a_value_and_is_shown_with_its_unit():
    for criterion in CRITERIA.values():
        value = criterion.of(FOUND)
        assert value is not None
        assert criterion.shown(value).strip()
        assert not criterion.shown(value)[-1].isdigit()
