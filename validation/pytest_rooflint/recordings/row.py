"""Row: one measurement of a recording, with its place in a file."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_rooflint.golden.kinds import ClaimError
from rooflint.base.errors import shown
from rooflint_measure.record import Measurement, Recording, Unavailable

MODES = ("power_mode", "power mode")
"""Facts of a machine that name its operating point; the first that is there counts."""


@dataclass(frozen=True)
class RecordedFile:
    """A recording with its file."""

    file: Path
    recording: Recording
    lines: tuple[int, ...]
    """Of each measurement; 1 where the file is not laid out by line."""

    @property
    def mode(self) -> str | None:
        """The operating point that the machine was in, in our spelling."""
        facts = self.recording.machine.facts
        return next((str(facts[name]).lower().replace(" ", "_") for name in MODES if name in facts), None)

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
        """That it computes in; None for what does not compute."""
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
