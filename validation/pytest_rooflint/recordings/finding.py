"""Disturbance: samples that others had a part of or that were throttled, a busy machine, and what it leaves open.

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
from rooflint.devices.hardware import Hardware
from rooflint.devices.registry import Registry
from rooflint.diagnosis.causes import Cause
from rooflint_measure.record.measurement import QUEUED, STOLEN, Samples

BUSY = "busy"
"""More tasks could run than there are cores; asked where nobody says how long threads waited for one."""

OWN = 0.5
"""Runnable tasks that a quiet system has besides those that fill its cores, averaged over a minute."""

DESPITE: dict[str, dict[str, Any]] = {
    "despite": {
        "type": "array",
        "items": {"type": "string"},
        "description": f"what may hold it back: throttle reasons as recorded, {STOLEN}, {QUEUED}, {BUSY}; needs a why",
    }
}


def check_despite(claim: Claim) -> None:
    """Refuse what is no list of reasons, and one without a sentence. Raises ClaimError."""
    despite = claim.option("despite", [])
    if not isinstance(despite, list) or not all(isinstance(reason, str) and reason for reason in despite):
        raise ClaimError(
            f"despite: want the reasons that count as normal here, such as [sw_power_cap], found {despite}"
        )
    if despite and not claim.why:
        raise ClaimError("despite: say 'why:' a device that is held back is measured as it should be")


def reasons(samples: Samples, despite: Collection[str] = ()) -> dict[int, tuple[str, ...]]:
    """What disturbed each sample that was, apart from what counts as normal."""
    found: dict[int, tuple[str, ...]] = {}
    for number in range(len(samples.seconds)):
        if left := tuple(reason for reason in samples.disturbance(number) if reason not in despite):
            found[number] = left
    return found


@dataclass(frozen=True)
class Told:
    """A figure of a measurement, with why it may be too low."""

    row: Row
    value: float
    doubt: str


def farthest(claim: Claim, figures: Iterable[tuple[Row, float]]) -> Told:
    """The one that disagrees most with what is expected, among those that decide something; else among all.

    What is in doubt decides by being too high alone, so it hides no other that is in no doubt.
    """
    despite = claim.option("despite", ())
    several = [Told(row, value, doubt(row, despite)) for row, value in figures]
    expected, high = (claim.expectation.value, claim.expectation.high) if claim.expectation else (1.0, math.inf)
    deciding = [one for one in several if not one.doubt or one.value > high]
    return max(deciding or several, key=lambda one: abs(math.log(one.value / expected)))


def doubt(row: Row, despite: Collection[str] = ()) -> str:
    """Why its time may be too long: half of its samples or more are disturbed. Empty where it can be trusted."""
    load, cores = max(row.readings("load"), default=0.0), row.taken.recording.machine.count
    blind = row.measurement.samples.queued_s is None and row.taken.recording.machine.kind == "cpu"
    if blind and BUSY not in despite and load > cores + OWN:
        return f"others were at work: {load:.3g} runnable tasks on {counted(cores, 'core')} ({BUSY})"
    samples = row.measurement.samples
    found = reasons(samples, despite)
    if 2 * len(found) < len(samples.seconds):
        return ""
    counts = Counter(reason for several in found.values() for reason in several)
    said = ", ".join(f"{reason} {count}" for reason, count in counts.most_common())
    return f"{len(found)} of {len(samples.seconds)} samples are disturbed ({said})"


# ---- Finding: what a law says of one measurement

State = Literal["keeps", "breaks", "exempt", "disturbed", "silent"]


@dataclass(frozen=True)
class Asked:
    """What a law may know besides the measurement."""

    hardware: Hardware
    registry: Registry
    networks: Networks
    within: float = 0.0
    """By how much two figures may differ. [1]"""
    despite: tuple[str, ...] = ()
    """What holds the device back and counts as normal."""


@dataclass(frozen=True)
class Finding:
    """What a law found on a measurement."""

    row: Row
    state: State
    said: str
    """The numbers, or why there are none."""
    facts: tuple[Fact, ...] = ()
    causes: tuple[Cause, ...] = ()


Look = Callable[[Row, Asked], Finding | None]
"""None for a measurement that a law does not speak of."""


def kept(row: Row, asked: Asked, said: str, facts: tuple[Fact, ...]) -> Finding:
    """Kept, unless it was too disturbed to tell what an undisturbed one would say."""
    why = doubt(row, asked.despite)
    return Finding(row, "disturbed", f"{said}; {why}", facts) if why else Finding(row, "keeps", said, facts)
