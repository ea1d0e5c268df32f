"""Two versions timed in turn, in blocks: commands (wall time, CPU time or printed times) or calls."""

import json
import math
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial, reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rooflint.base.errors import RooflintError
from rooflint_measure.compare.blocks import (
    BLOCKS,
    DIFFERING,
    THRESHOLD,
    Blocks,
    Outcome,
    blocks,
    least,
    median_ratio,
    outcomes,
    reason,
    together,
)
from rooflint_measure.record import Frozen, Samples, Unavailable
from rooflint_measure.sensors.counters import Counter, own_instructions, program_instructions
from rooflint_measure.sensors.host import Watch
from rooflint_measure.stopwatches.clocks import Call, Clock, HostClock
from rooflint_measure.stopwatches.timing import LEAST_S, Column

if sys.platform == "win32":  # which counts no CPU time of children
    resource = None
else:
    import resource


class ProcessError(RooflintError):
    """A command that does not run, fails, or prints no times."""


class Timing(StrEnum):
    """Which time of a process counts."""

    WALL = "wall"
    CPU = "cpu"
    """Of all its threads and children; time that it waits does not count, so a busy neighbour adds little."""
    PRINTED = "printed"
    """The last line of its standard output, as JSON: seconds, a list of them, or either under `seconds`."""


class Sample(NamedTuple):
    """One run of a version; None for what was not counted beside its time."""

    seconds: float
    cpu_s: float | None = None
    """CPU time of all threads and children. [s]"""
    instructions: float | None = None
    """Retired in user mode."""


@cache
def instructions() -> Counter | None:
    """Counts the instructions of the processes that this thread starts; None where nothing counts them."""
    found = program_instructions()
    return None if isinstance(found, Unavailable) else found


@dataclass(frozen=True)
class Command:
    """A program with its arguments, in a folder."""

    label: str
    words: tuple[str, ...]
    folder: Path
    timing: Timing = Timing.WALL

    def sample(self) -> "Sample":
        """Run it once: the time that counts, and what is counted beside a wall time. Raises ProcessError."""
        if self.timing is Timing.PRINTED:
            return Sample(self._least(self._run()))
        counter = instructions() if self.timing is Timing.WALL else None
        before = _cpu_s() if self.timing is Timing.CPU or resource else None
        counted = None if counter is None else counter.read()
        began = time.perf_counter_ns()
        self._run()
        wall_s = (time.perf_counter_ns() - began) / 1e9
        cpu_s = None if before is None else _cpu_s() - before
        retired = None if counter is None or counted is None else counter.read() - counted
        return Sample(wall_s, cpu_s, retired) if self.timing is Timing.WALL else Sample(cpu_s or 0.0)

    def _run(self) -> str:
        try:
            done = subprocess.run(
                self.words, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, check=False
            )
        except OSError as error:
            raise ProcessError(f"{self.label}: {self.words[0]} cannot be run ({error.strerror})") from None
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            why = f": {lines[-1]}" if lines else ""
            raise ProcessError(f"{self.label}: {' '.join(self.words)} ended with status {done.returncode}{why}")
        return done.stdout.decode("utf-8", "replace")

    def _least(self, printed: str) -> float:
        """The least of what was printed. [s]"""
        lines = printed.strip().splitlines() or [""]
        try:
            found = json.loads(lines[-1])
        except json.JSONDecodeError:
            found = None
        found = found.get("seconds") if isinstance(found, dict) else found
        values = found if isinstance(found, list) else [found]
        if not values or not all(_is_time(value) for value in values):
            wanted = "want seconds on the last line of what it prints, as JSON"
            raise ProcessError(f"{self.label}: {wanted}, found '{lines[-1][:80]}'")
        return float(min(values))


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0


def _cpu_s() -> float:
    """CPU time of all children that have ended, in user and in kernel mode. Raises ProcessError. [s]"""
    if resource is None:
        raise ProcessError("CPU times of processes are not available: this system does not count them")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# ---- Two versions timed in turn, A B B A, in blocks; once more where the first measurement is undecided

MOST_CALLS = 1_000_000
"""In a sample, however little a call takes."""

Advance = Callable[[], None]


@dataclass(frozen=True)
class Side:
    """A version: what takes a sample of it, and how many calls in a row that is."""

    sample: Callable[[], "float | Sample"]
    """Time of one call, or that and what was counted beside it. [s]"""
    calls: int = 1

    def seconds(self, kept: "list[Sample]") -> float:
        """Time of one call, as far as a clock can see it; the whole sample is added to a list."""
        found = self.sample()
        kept.append(found if isinstance(found, Sample) else Sample(found))
        return max(kept[-1].seconds, LEAST_S)


@dataclass(frozen=True)
class Turns:
    """How long to measure."""

    pairs: int = 32
    """Samples of each version in a block, an even number."""
    sample_s: float = 1e-3
    """Of calls in a row: shorter than the slice of time that a scheduler gives to others, long enough for the clock."""
    warm_up_s: float = 0.1
    """Of each version, before the first block."""


BESIDE = {"cpu": "CPU time", "instructions": "instructions"}
"""What decides where the time of a process does not, in this order."""

Pair = tuple[tuple[float, ...], tuple[float, ...]]
"""A value for each sample of the base, and of the head."""


class Block(Frozen):
    """Samples of both versions, taken in turn."""

    base: Samples
    head: Samples
    cpu_s: Pair | None = None
    """CPU time of each sample; None where it was not read, or is the time itself. [s]"""
    instructions: Pair | None = None
    """Retired by each sample; None where nothing counts them."""


class Comparison(Frozen):
    """Every raw value, and the outcome."""

    threshold: float = THRESHOLD
    attempts: tuple[tuple[Block, ...], ...]
    """Six blocks; six more where they were undecided, and once more six. All of them decide."""

    @property
    def _timed(self) -> Blocks:
        """All blocks by their time."""
        return together([as_blocks(attempt) for attempt in self.attempts])

    @property
    def beside(self) -> str:
        """What decides in place of the time, which all attempts leave undecided; empty where the time does.

        `cpu` or `instructions`.
        """
        if len(self.attempts) < len(DIFFERING) or self._judged(self._timed) < Outcome.NOISY:
            return ""
        able = (name for name in BESIDE if (found := self._counted(name)) and self._judged(found) < Outcome.NOISY)
        return next(able, "")

    @property
    def deciding(self) -> Blocks:
        """The blocks that decide."""
        found = self._counted(self.beside) if self.beside else None
        return found or self._timed

    def _counted(self, name: str) -> Blocks | None:
        """All measurements as one, by what was counted beside the time."""
        several = [counted_blocks(attempt, name) for attempt in self.attempts]
        known = [one for one in several if one is not None]
        return reduce(least, known) if len(known) == len(several) else None

    def _judged(self, found: Blocks) -> int:
        return int(outcomes(found, self.threshold))

    @property
    def outcome(self) -> Outcome:
        """What the blocks that decide show."""
        return Outcome(self._judged(self.deciding))

    @property
    def ratio(self) -> float:
        """Time of the head over time of the base: median over blocks of the ratio of least times. [1]"""
        return float(median_ratio(self.deciding))

    @property
    def reason(self) -> str:
        """Why, in a sentence."""
        again = ("", "; measured twice", "; measured three times")[len(self.attempts) - 1]
        by = f" by {BESIDE[self.beside]}, where the time is undecided" if self.beside else ""
        return reason(self.deciding, self.threshold) + by + again


def as_blocks(attempt: Sequence[Block]) -> Blocks:
    """Raw samples as arrays."""
    sides = [[block.base for block in attempt], [block.head for block in attempt]]
    times = [np.array([samples.seconds for samples in side]) for side in sides]
    return blocks(*times, *(_marks(side) for side in sides))


def counted_blocks(attempt: Sequence[Block], name: str) -> Blocks | None:
    """Blocks by what was counted beside the time; None where it is not known. Nothing that delays disturbs it."""
    pairs = [block.cpu_s if name == "cpu" else block.instructions for block in attempt]
    if any(pair is None or len(pair[0]) != len(pair[1]) or len(pair[0]) < 2 for pair in pairs):
        return None
    base, head = zip(*(pair for pair in pairs if pair), strict=True)
    return blocks(np.array(base), np.array(head))


def beside(attempt: Sequence[Block]) -> list[Blocks]:
    """All that was counted beside the time, in the order in which it decides."""
    return [found for name in BESIDE if (found := counted_blocks(attempt, name))]


def _marks(side: Sequence[Samples]) -> list[list[bool]]:
    return [[bool(samples.disturbance(number)) for number in range(len(samples.seconds))] for samples in side]


def compare(
    base: Side,
    head: Side,
    *,
    pairs: int,
    watch: Watch | None = None,
    threshold: float = THRESHOLD,
    advance: Advance = lambda: None,
) -> Comparison:
    """Six blocks, and up to twice six more while it is undecided; then what was counted beside the time decides.

    `advance` is called after each block.
    """
    attempts: list[tuple[Block, ...]] = []
    while len(attempts) < len(DIFFERING):
        attempts.append(tuple(take_blocks(base, head, count=BLOCKS, pairs=pairs, watch=watch, advance=advance)))
        found = Comparison(threshold=threshold, attempts=tuple(attempts))
        if found.outcome < Outcome.NOISY:
            break
    return found


def take_blocks(
    base: Side, head: Side, *, count: int, pairs: int, watch: Watch | None = None, advance: Advance = lambda: None
) -> Iterator[Block]:
    """Blocks of pairs, A B B A …; every other block begins with B, so that a drift favours each version equally."""
    for number in range(count):
        yield _block(base, head, pairs, watch or Watch(), head_first=number % 2 == 1)
        advance()


def _block(base: Side, head: Side, pairs: int, watch: Watch, *, head_first: bool) -> Block:
    of_base, of_head = Column(), Column()
    kept: tuple[list[Sample], list[Sample]] = ([], [])
    order = [(base, of_base, kept[0]), (head, of_head, kept[1])]
    for number in range(pairs):
        for side, column, several in order if number % 2 == head_first else reversed(order):
            column.take(partial(side.seconds, several), watch)
    return Block(
        base=of_base.samples(base.calls),
        head=of_head.samples(head.calls),
        cpu_s=_pair([[one.cpu_s for one in several] for several in kept]),
        instructions=_pair([[one.instructions for one in several] for several in kept]),
    )


def _pair(sides: Sequence[Sequence[float | None]]) -> Pair | None:
    """What was counted of both; None unless it was counted of every sample."""
    base, head = (tuple(max(one, LEAST_S) for one in side if one is not None) for side in sides)
    return (base, head) if len(base) == len(sides[0]) and len(head) == len(sides[1]) else None


def compare_calls(
    base: Call,
    head: Call,
    *,
    turns: Turns | None = None,
    clock: Clock | None = None,
    watch: Watch | None = None,
    threshold: float = THRESHOLD,
) -> Comparison:
    """Two calls of this process, with as many calls to a sample of one as of the other."""
    turns = turns or Turns()
    sides = sides_of(base, head, turns, clock or HostClock())
    return compare(*sides, pairs=turns.pairs, watch=watch, threshold=threshold)


def sides_of(base: Call, head: Call, turns: Turns, clock: Clock) -> tuple[Side, Side]:
    """Both warm, with calls enough for a sample of the faster one."""
    calls = max(_warm(call, turns, clock) for call in (base, head))
    return _side(base, calls, clock), _side(head, calls, clock)


def _side(call: Call, calls: int, clock: Clock) -> Side:
    if not isinstance(clock, HostClock):  # what runs on a device is not in the time of the CPU
        return Side(lambda: clock.seconds(call, calls) / calls, calls)
    found = own_instructions()
    counter = None if isinstance(found, Unavailable) else found

    def sample() -> Sample:
        counted, before_s = None if counter is None else counter.read(), time.process_time()
        took_s = clock.seconds(call, calls)
        cpu_s = time.process_time() - before_s
        retired = None if counter is None or counted is None else (counter.read() - counted) / calls
        return Sample(took_s / calls, cpu_s / calls, retired)

    if counter:
        weakref.finalize(sample, counter.close)
    return Side(sample, calls)


def _warm(call: Call, turns: Turns, clock: Clock) -> int:
    """Calls that make a sample, found while the machine warms up."""
    calls, spent_s, least_s = 1, 0.0, float("inf")
    while True:
        took_s = max(clock.seconds(call, calls), LEAST_S)
        spent_s, least_s = spent_s + took_s, min(least_s, took_s / calls)
        wanted = min(math.ceil(turns.sample_s / least_s), MOST_CALLS)
        if calls >= wanted and spent_s >= turns.warm_up_s:
            return calls
        calls = max(calls, min(2 * calls, wanted))
