"""Findings of laws on measurements, and doubts about them: disturbed samples and busy machines.

Noise only ever adds to a time, so a disturbed measurement may be too slow and never too fast.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import ClaimError
from pytest_rooflint.recordings.bounds import Networks
from pytest_rooflint.recordings.row import Row
from rooflint.base.facts import Fact
from rooflint.base.text import counted
from rooflint.diagnosis.causes import Cause
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Registry
from rooflint_measure.record import QUEUED, STOLEN, Samples

BUSY = "busy"
"""More runnable tasks than cores; used where the time that threads waited for a core is not known."""

OWN = 0.5
"""Runnable tasks that a quiet system has besides those that fill its cores, averaged over a minute."""

DESPITE: dict[str, dict[str, Any]] = {
    "despite": {
        "type": "array",
        "items": {"type": "string"},
        "description": f"what may slow it down: throttle reasons as recorded, {STOLEN}, {QUEUED}, {BUSY}; needs a why",
    }
}


def check_despite(claim: Claim) -> None:
    """Require a list of reasons, and a 'why' for it. Raises ClaimError."""
    despite = claim.option("despite", [])
    if not isinstance(despite, list) or not all(isinstance(reason, str) and reason for reason in despite):
        raise ClaimError(
            f"despite: want the reasons that count as normal here, such as [sw_power_cap], found {despite}"
        )
    if despite and not claim.why:
        raise ClaimError("despite: add 'why:', the reason why a throttled device is measured as it should be")


def reasons(samples: Samples, despite: Collection[str] = ()) -> dict[int, tuple[str, ...]]:
    """What disturbed each disturbed sample, except for what counts as normal."""
    found: dict[int, tuple[str, ...]] = {}
    for number in range(len(samples.seconds)):
        if left := tuple(reason for reason in samples.disturbance(number) if reason not in despite):
            found[number] = left
    return found


@dataclass(frozen=True)
class Figure:
    """A figure of a measurement, with the reason why it may be too low."""

    row: Row
    value: float
    doubt: str


def farthest(claim: Claim, figures: Iterable[tuple[Row, float]]) -> Figure:
    """The figure that disagrees most with the expectation, among the decisive ones if there are any.

    A doubtful figure decides only by being too high, so it never hides a certain one.
    """
    despite = claim.option("despite", ())
    several = [Figure(row, value, doubt(row, despite)) for row, value in figures]
    expected, high = (claim.expectation.value, claim.expectation.high) if claim.expectation else (1.0, math.inf)
    deciding = [one for one in several if not one.doubt or one.value > high]
    return max(deciding or several, key=lambda one: abs(math.log(one.value / expected)))


def doubt(row: Row, despite: Collection[str] = ()) -> str:
    """Why a time may be too long: at least half of the samples are disturbed. Empty if it can be trusted."""
    load, cores = max(row.readings("load"), default=0.0), row.recorded.recording.machine.count
    blind = row.measurement.samples.queued_s is None and row.recorded.recording.machine.kind == "cpu"
    if blind and BUSY not in despite and load > cores + OWN:
        return f"other processes ran: {load:.3g} runnable tasks on {counted(cores, 'core')} ({BUSY})"
    samples = row.measurement.samples
    found = reasons(samples, despite)
    if 2 * len(found) < len(samples.seconds):
        return ""
    counts = Counter(reason for several in found.values() for reason in several)
    text = ", ".join(f"{reason} {count}" for reason, count in counts.most_common())
    return f"{len(found)} of {len(samples.seconds)} samples are disturbed ({text})"


# ---- Findings

State = Literal["keeps", "breaks", "exempt", "disturbed", "silent"]


@dataclass(frozen=True)
class LawContext:
    """What a law knows besides the measurement."""

    hardware: Hardware
    registry: Registry
    networks: Networks
    within: float = 0.0
    """By how much two figures may differ. [1]"""
    despite: tuple[str, ...] = ()
    """Throttle reasons that count as normal."""


@dataclass(frozen=True)
class Finding:
    """The result of a law for a measurement."""

    row: Row
    state: State
    text: str
    """The numbers, or why there are none."""
    facts: tuple[Fact, ...] = ()
    causes: tuple[Cause, ...] = ()


Look = Callable[[Row, LawContext], Finding | None]
"""Returns None for a measurement that the law is not about."""


def kept(row: Row, context: LawContext, text: str, facts: tuple[Fact, ...]) -> Finding:
    """The law holds, or it is undecided because the measurement was disturbed."""
    why = doubt(row, context.despite)
    return Finding(row, "disturbed", f"{text}; {why}", facts) if why else Finding(row, "keeps", text, facts)
