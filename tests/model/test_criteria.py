"""Criteria: requirements as users type them."""

import pytest

from rooflint.basis import Energies
from rooflint.coefficients import Coefficients
from rooflint.criteria import CRITERIA, CriterionError, requirements
from rooflint.prediction import Setting, predict
from rooflint.specs import Registry
from rooflint.workload_tables import load_workload

REGISTRY = Registry()
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
        ("energy<100ms", "'100ms' is no energy"),
        ("latency<50", "'50' is no latency"),
        ("latency<-5ms", "'-5ms' is no latency"),
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
        unknown, load_workload("torchvision/resnet18"), Energies(Coefficients(REGISTRY)), Setting(first_of(unknown))
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
