"""Causes of measurements that contradict a spec, and by how much a faster clock explains them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pytest_rooflint.recordings.bounds import Bounds
from pytest_rooflint.recordings.row import Row
from rooflint.base.facts import Fact, Ladder
from rooflint.base.units import HERTZ, format_number, format_quantity
from rooflint.diagnosis.candidate_causes import REASON
from rooflint.diagnosis.causes import Case, Cause, Span
from rooflint.diagnosis.diagnose import candidates
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Registry

MOST = 0.1
"""No boost adds more to a documented clock; on a device that runs faster still, the clock of the spec is wrong. [1]"""


@dataclass(frozen=True)
class ClockRatio:
    """The fastest clock that was recorded during a measurement, and the fact."""

    recorded_hz: float
    fact: Fact
    source: str

    @property
    def ratio(self) -> float:
        """Recorded over documented. [1]"""
        return self.recorded_hz / self.fact.value

    @property
    def uncertainty(self) -> float:
        """Allowed excess over the peak because the device ran faster than documented. [1]"""
        return min(max(self.ratio - 1, 0.0), MOST)

    def __str__(self) -> str:
        """`recorded at 1.98 GHz (nvml), the spec has 1830 MHz`."""
        source = f" ({self.source})" if self.source else ""
        return f"recorded at {format_quantity(self.recorded_hz, HERTZ)}{source}, the spec has {self.fact.display}"


def clock_ratio(row: Row, ladder: Ladder) -> ClockRatio | None:
    """Of the unit whose peak a ladder derives; None where no clock was read."""
    facts = [factor.fact for factor in ladder.factors if factor.name == "clock" and factor.fact]
    seen = row.readings("clock_hz")
    if not facts or not seen:
        return None
    sources = dict.fromkeys(state.clock_source for state in row.states if state.clock_source)
    return ClockRatio(max(seen), facts[0], ", ".join(sources))


def uncertainty(row: Row, ladders: tuple[Ladder, ...]) -> float:
    """The largest of the units that compute. [1]"""
    return max((one.uncertainty for ladder in ladders if (one := clock_ratio(row, ladder))), default=0.0)


# ---- Causes of an impossible measurement: a clock, a count, or what a diagnosis finds in the factors of a peak

WORST, BEST = 0.6, 1.0
"""Efficiency of a kernel that beat a peak: above its rate the true peak is sought, and not far above."""


def causes(row: Row, found: Bounds, beaten: float, hardware: Hardware, registry: Registry) -> Iterator[Cause]:
    """Causes of a time that is shorter than its lower bound by a factor `beaten` > 1."""
    for ladder in found.binding:
        yield from of_ladder(row, ladder, beaten, hardware, registry, found.unit)
    what, work = ("peak", "ops") if found.bound == "compute" else ("bandwidth", "bytes")
    yield Cause(f"no known error: a factor of the {what} is too low, or too many {work} are counted", 1 / beaten, 3.0)


def of_ladder(
    row: Row, ladder: Ladder, beaten: float, hardware: Hardware, registry: Registry, unit: str | None = None
) -> Iterator[Cause]:
    """Causes of a rate that exceeds a derived one by a factor > 1."""
    cause = _clock(row, ladder, beaten)
    yield from [cause] if cause else []
    yield from _diagnosed(row, ladder, beaten, hardware, registry, unit)


def _clock(row: Row, ladder: Ladder, beaten: float) -> Cause | None:
    """The clock of the spec is too low, if the recorded clock explains the whole factor."""
    one = clock_ratio(row, ladder)
    if one is None or one.ratio < beaten * (1 - 1e-9):
        return None
    repaired = one.fact.with_value(one.recorded_hz)
    return Cause(f"the clock is too low: {one}", 1 / one.ratio, 0.2, one.fact, repaired)


def _diagnosed(
    row: Row, ladder: Ladder, beaten: float, hardware: Hardware, registry: Registry, unit: str | None
) -> Iterator[Cause]:
    """Known errors that make a peak too low; the factor is too uncertain to suggest a value."""
    span = Span(WORST / beaten, BEST / beaten)
    precision = row.precision if unit else None
    for one in candidates(Case(ladder, span, hardware, registry, unit, precision)):
        guessed = "would have to be" in one.text and REASON not in one.text
        if one.fact and not one.parts and not guessed:
            text = one.text.replace("the expectation", "what was measured")
            yield replace(one, text=text, cost=one.cost + 0.3)


def miscounted(row: Row, table_macs: int) -> Cause | None:
    """Causes of a difference between the recorded work and the op table."""
    share = row.subject.macs / table_macs
    if abs(share - 1) < 1e-3:
        return None
    half = ", as if a MAC were one op" if abs(share - 0.5) < 1e-3 else ""
    counted, there = (f"{format_number(macs / 1e9)} GMAC" for macs in (row.subject.macs, table_macs))
    return Cause(f"the recording counts {counted}, the op table has {there}{half}", share, 0.1)
