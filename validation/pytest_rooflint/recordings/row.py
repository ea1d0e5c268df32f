"""Row: one measurement of a recording, with its place in a file, and doubts about its time.

Noise only ever adds to a time, so a disturbed measurement may be too slow and never too fast.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_rooflint.golden.kinds import Claim, ClaimError
from rooflint.base.errors import shown
from rooflint.base.text import counted
from rooflint_measure.record import PREEMPTED, QUEUED, STOLEN, Measurement, Samples, Unavailable
from rooflint_measure.recording import Machine, Recording

MODES = ("power_mode", "power mode")
"""Facts of a machine that name its operating point; the first that is there counts."""


def mode_of(machine: Machine) -> str | None:
    """The operating point of a machine in our spelling: `30w` for nvpmodel's `MODE_30W`; None where it has none."""
    named = next((str(machine.facts[name]) for name in MODES if name in machine.facts), None)
    return named.lower().replace(" ", "_").removeprefix("mode_") if named else None


@dataclass(frozen=True)
class RecordedFile:
    """A recording with its file."""

    file: Path
    recording: Recording
    lines: tuple[int, ...]
    """Line of each measurement; 1 where the file is not laid out by line."""

    @property
    def mode(self) -> str | None:
        """The operating point that the machine was in, in our spelling."""
        return mode_of(self.recording.machine)

    def rows(self) -> Iterator["Row"]:
        """Every measurement with its place."""
        for number in range(len(self.recording.measurements)):
            yield Row(self, number)


@dataclass(frozen=True)
class Row:
    """One measurement of a recording."""

    recorded: RecordedFile
    number: int

    @property
    def measurement(self) -> Measurement:
        """What the stopwatch returned."""
        return self.recorded.recording.measurements[self.number]

    @property
    def subject(self) -> Any:
        """What was timed."""
        return self.measurement.subject

    @property
    def precision(self) -> str | None:
        """The precision that it computes in; None for what does not compute."""
        return getattr(self.subject, "precision", None)

    @property
    def line(self) -> int:
        """Line in the file."""
        return self.recorded.lines[self.number]

    @property
    def place(self) -> str:
        """`golden/measured/acme/k1/….json:12`."""
        return f"{shown(self.recorded.file)}:{self.line}"

    @property
    def states(self) -> Iterator[Any]:
        """What the machine was doing before, during and after."""
        conditions = self.measurement.conditions
        yield from (conditions.before, *conditions.during, conditions.after)

    def readings(self, name: str) -> list[float]:
        """Recorded values of a quantity."""
        found = (getattr(state, name) for state in self.states)
        return [float(value) for value in found if not isinstance(value, Unavailable)]


# ---- Selection: which measurements a subject such as `gemm fp32 2048x2048x2048` means, by the words of their names

KINDS = ("gemm", "stream", "network")


def words(subject: str) -> tuple[str, ...]:
    """Words of a subject. Raises ClaimError if it does not begin with a kind of measurement."""
    first, *rest = subject.split()
    if first not in KINDS:
        raise ClaimError(f"want {', '.join(KINDS)}, and more words of the names of measurements; found '{subject}'")
    return (first, *rest)


def selected(rows: Iterable[Row], subject: str) -> list[Row]:
    """Rows whose name has every word. Raises ClaimError with the existing names if there is none."""
    several, wanted = list(rows), set(words(subject))
    found = [row for row in several if wanted <= set(row.measurement.name.split("-"))]
    if not found:
        names = ", ".join(dict.fromkeys(row.measurement.name for row in several)) or "none"
        raise ClaimError(f"no measurement is called '{subject}' (recorded: {names})")
    return found


# ---- Doubts: samples that were disturbed, and machines that were busy

BUSY = "busy"
"""More runnable tasks than cores; used where the time that threads waited for a core is not known."""

NEIGHBOURS = "neighbours"
"""Other processes on a GPU."""

OWN = 0.5
"""Runnable tasks that a quiet system has besides those that fill its cores, averaged over a minute."""

DESPITE: dict[str, dict[str, Any]] = {
    "despite": {
        "type": "array",
        "items": {"type": "string"},
        "description": (
            f"what may slow it down: throttle reasons as recorded, {STOLEN}, {QUEUED}, {PREEMPTED}, {BUSY}, "
            f"{NEIGHBOURS}; needs a why"
        ),
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
    """Why a time may be too long: others ran, or half of the samples are disturbed. Empty if it can be trusted."""
    load, cores = max(row.readings("load"), default=0.0), row.recorded.recording.machine.count
    blind = row.measurement.samples.queued_s is None and row.recorded.recording.machine.kind == "cpu"
    if blind and BUSY not in despite and load > cores + OWN:
        return f"other processes ran: {load:.3g} runnable tasks on {counted(cores, 'core')} ({BUSY})"
    if (others := row.measurement.conditions.others) and NEIGHBOURS not in despite:
        return f"{others} ({NEIGHBOURS})"
    samples = row.measurement.samples
    found = reasons(samples, despite)
    if 2 * len(found) < len(samples.seconds):
        return ""
    counts = Counter(reason for several in found.values() for reason in several)
    text = ", ".join(f"{reason} {count}" for reason, count in counts.most_common())
    return f"{len(found)} of {len(samples.seconds)} samples are disturbed ({text})"
