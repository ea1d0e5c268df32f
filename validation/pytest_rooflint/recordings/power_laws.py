"""Laws of power: an energy counter beside the power that was read, and beside what the device may draw."""

from collections.abc import Iterator

from pytest_rooflint.recordings.finding import Asked, Finding
from pytest_rooflint.recordings.row import Row
from rooflint.base.facts import Fact
from rooflint.base.units import JOULES, SECONDS, WATTS, format_quantity
from rooflint.diagnosis.causes import Cause
from rooflint_measure.record.measurement import Energy

LIMITS = ("powers.limit", "tdp")
"""Facts that say what a device may draw."""

SLIPS = (
    (1e3, "mJ are taken for J"),
    (1e-3, "J are taken for mJ"),
    (1e6, "µJ are taken for J"),
    (2.0, "energy is counted twice, of two packages or of two runs"),
    (0.5, "half of the energy is missing: one of two packages, or a counter that wrapped"),
)
"""What a counter of energy gets wrong, by the ratio to the truth."""


def energy(row: Row, asked: Asked) -> Finding:
    """Joules of a metered run are the mean of the power that was read between the samples before it, times the time."""
    counted = row.measurement.energy
    if not isinstance(counted, Energy):
        return Finding(row, "silent", str(counted))
    if counted.idle_w > counted.mean_w * (1 + asked.within) + counted.resolution_j / counted.seconds:
        said = f"{_watts(counted.mean_w)} at work, below {_watts(counted.idle_w)} idle"
        cause = Cause("the idle power was read while something ran", counted.mean_w / counted.idle_w, 1.0)
        return Finding(row, "breaks", said, causes=(cause,))
    during = [state.power_w for state in row.measurement.conditions.during if isinstance(state.power_w, float)]
    if not during:
        return Finding(row, "silent", "no power was read while it ran")
    mean_w = sum(during) / len(during)
    expected_j = mean_w * counted.seconds
    product = f"{_watts(mean_w)} × {format_quantity(counted.seconds, SECONDS)}"
    said = f"{format_quantity(counted.joules, JOULES)}, {product} are {format_quantity(expected_j, JOULES)}"
    if abs(counted.joules - expected_j) <= asked.within * expected_j + counted.resolution_j:
        return Finding(row, "keeps", said)
    return Finding(row, "breaks", said, causes=tuple(_slips(counted, mean_w, asked.within)))


def _slips(counted: Energy, mean_w: float, within: float) -> Iterator[Cause]:
    """Those that the ratio fits, as near as it has to."""
    ratio = counted.mean_w / mean_w
    yield from (Cause(text, factor, 1.0) for factor, text in SLIPS if abs(ratio / factor - 1) <= within)
    if counted.idle_w and abs((counted.mean_w + counted.idle_w) / mean_w - 1) <= within:
        yield Cause("the idle power is subtracted already", ratio, 0.8)


def power(row: Row, asked: Asked) -> Finding:
    """The mean stays within what the driver and the spec allow."""
    counted = row.measurement.energy
    if not isinstance(counted, Energy):
        return Finding(row, "silent", str(counted))
    driver_w = max(row.readings("power_limit_w"), default=None)
    fact = next((asked.hardware.facts[path] for path in LIMITS if path in asked.hardware.facts), None)
    limits = [(driver_w, "the driver's limit")] if driver_w else []
    limits += [(fact.value, f"{fact.path} of the spec")] if fact else []
    if not limits:
        return Finding(row, "silent", "neither the driver nor the spec says a limit")
    limit_w, whose = min(limits)
    said = f"{_watts(counted.mean_w)} on average, {whose} is {_watts(limit_w)}"
    facts = (fact,) if fact else ()
    if counted.mean_w <= limit_w * (1 + asked.within) + counted.resolution_j / counted.seconds:
        return Finding(row, "keeps", said, facts)
    return Finding(row, "breaks", said, facts, tuple(_over(counted.mean_w, driver_w, fact)))


def _over(mean_w: float, driver_w: float | None, fact: Fact | None) -> Iterator[Cause]:
    """Whose limit is wrong, where it is the spec's."""
    if fact is None or mean_w <= fact.value:
        yield Cause("the counter sees more than the device that the driver limits", mean_w / (driver_w or mean_w), 1.0)
    elif driver_w and driver_w > fact.value:
        text = f"the driver allows {_watts(driver_w)}: another board, or another mode, than the spec's"
        yield Cause(text, mean_w / fact.value, 0.5, fact, fact.with_value(driver_w))
    else:
        yield Cause("the limit is too low, or the counter sees more than the device", mean_w / fact.value, 1.0, fact)


def _watts(power_w: float) -> str:
    return format_quantity(power_w, WATTS)
