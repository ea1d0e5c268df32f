"""What changes as typed records: mutants that no claim notices, and what moved between two states of the specs."""

import math
from typing import Literal

from pydantic import Field

from rooflint_report.findings import PowerLimit, Sustains
from rooflint_report.verdicts import Record

# ---- mutation score


def score_percent(share: float | None) -> str:
    """`99.9 %`, never rounded up to a full score; `none` where there is nothing to score."""
    return "none" if share is None else f"{math.floor(share * 1000 + 1e-9) / 10:g} %"


class MutantCounts(Record):
    """Mutants by outcome; docs/mutation.md defines the words."""

    mutants: int
    equivalent: int
    killed: int
    killed_independently: int
    """Killed by a claim whose document is none of those that its facts were read in."""
    killed_by_recalled: int = 0
    """Of these, those that no claim kills whose document was opened: all of them quote from memory."""
    unseen: int
    """Neither equivalent nor killed."""
    killable: int
    survived: int
    """Killable and not killed."""
    within_digits: int
    uncorroborated: int


class AllMutants(MutantCounts):
    """All mutants of the run."""

    refused: int
    """Errors that the schema refuses."""


class MutantClass(AllMutants):
    """Mutants of one mutation operator."""

    name: str
    says: str


class MutantScores(MutantCounts):
    """Mutants with the two shares of those that are not equivalent; null without any."""

    score: float | None
    """Killed."""
    independent: float | None
    """Killed by an independent source."""


class MutatedKind(MutantScores):
    """Mutants of one kind of fact."""

    name: str


class MutatedSubject(MutantScores):
    """Mutants of one spec file."""

    id: str
    architecture: bool
    file: str


class MutatedPlace(Record):
    """The fact that was mutated."""

    subject: str
    at: str | None
    path: str
    file: str
    line: int
    display: str


class MutatedFact(MutantCounts, MutatedPlace):
    """Mutants of one fact."""

    kind: str
    """What it states, such as `clock`."""
    unseen_classes: list[str]
    would_kill: str | None
    """The claim that would notice."""
    reason: str | None
    """Why no second document guards it, if a golden file states it."""


class GuardCounts(Record):
    """Figures by whether claims guard them."""

    figures: int
    """Facts with which something is computed."""
    unguarded: int
    """Of which no mutant is killed."""
    reasoned: int
    """Of these, those for which a golden file states the reason."""
    repeated: int
    """Of which mutants are killed, and none by an independent source."""


class GuardedPart(GuardCounts):
    """Figures of one kind of fact, or of one file."""

    name: str


class Guards(GuardCounts):
    """All figures."""

    ceiling: int | None
    """How many may be unguarded without a reason."""
    kinds: list[GuardedPart]
    """Those with most unguarded figures first; the others are left out, here and in files."""
    files: list[GuardedPart]


class Survivor(MutatedPlace):
    """A killable mutant that no claim notices."""

    class_: str
    text: str
    mutated: str
    ratio: float | None
    """null if the fact is removed."""
    would_kill: str


class Gross(Record):
    """Mutants of a factor of 2 or more on facts that corroborated peaks and bandwidths rest on."""

    mutants: int
    killed: int


class Mutation(Record):
    """The mutation score of the specs."""

    score: float | None
    """Killed over all mutants that are not equivalent; null without any."""
    independent: float | None
    """Killed by an independent source, over the same."""
    floor: float | None
    """The least score that the project asks for."""
    independent_floor: float | None
    """The least share killed by an independent source that it asks for."""
    holds: bool | None
    """Whether both are on their floors, no gross mutant survives and no more figures are unguarded than may be; null
    without any of these."""
    definitions: dict[str, str]
    counts: AllMutants
    gross: Gross
    equivalents: dict[str, int]
    """Equivalent mutants by why they are."""
    kinds: list[MutatedKind]
    """Those with the least share killed by an independent source first."""
    classes: list[MutantClass]
    subjects: list[MutatedSubject]
    """Those with most unseen mutants first."""
    guards: Guards
    facts: list[MutatedFact]
    survivors: list[Survivor]
    """Farthest off first."""


# ---- what moved


class Compared(Record):
    """One side of the comparison."""

    label: str
    commit: str | None
    """null for what is not a revision."""


class Combination(Record):
    """A setting that all predictions were made at."""

    batch: int
    fused: bool


class Matrix(Record):
    """The predictions that both sides have, supported or not."""

    predictions: int
    devices: int
    networks: list[str]
    precisions: list[str]
    runs: list[Combination]


class MovedCounts(Record):
    """How much moved."""

    predictions: int
    devices: int


class BothWays(Record):
    """Names that only one side has."""

    appeared: list[str]
    vanished: list[str]


class LeftOut(Record):
    """A device that cannot be read on one side."""

    side: Literal["old", "new"]
    text: str


class StatedValue(Record):
    """A fact on one side."""

    text: str
    file: str | None
    line: int | None
    document: str | None
    where: str | None
    grade: str | None


WAITS = frozenset({"compute_wait_s", "memory_wait_s", "launch_wait_s"})
"""Quantities that only divide a latency up."""


class Shift(Record):
    """By what factor a quantity moved."""

    quantity: str
    word: str
    """The quantity, for a reader."""
    rows: int
    """Predictions that moved."""
    low: float | None
    """Least factor; null if one side is zero or unknown."""
    high: float | None
    factor: str
    knowledge: list[str]
    """How many predictions only one side knows."""


class Change(Record):
    """A fact, a trait or a file that differs on the new side, and what it moves alone."""

    what: Literal["fact", "trait", "file"]
    path: str
    at: str | None
    old: StatedValue | None
    new: StatedValue | None
    file: str | None
    line: int | None
    text: str
    devices: list[str]
    predictions: int | None
    """Predictions that it moves alone; null if that was not tried."""
    untried: str | None
    """Why it was not tried alone."""
    moves: list[Shift]
    """What it moves alone, over all its devices."""
    powers: int
    """Points whose power over the limit it moves alone."""
    source: str
    alone: str
    """What it moves alone, in a sentence."""


class Share(Record):
    """What one change makes of a move alone."""

    change: int
    """Position in `changes`."""
    low: float | None
    high: float | None


class Moved(Shift):
    """By what factor a quantity of one device moved."""

    device: str
    of: int
    """Predictions of the device."""
    known: int
    """Predictions that only the new side knows."""
    unknown: int
    """Predictions that only the old side knows."""
    alone: list[Share]
    together: str
    """How several changes act together."""


class PowerThen(Record):
    """The load of a point that is hardest to sustain, on one side."""

    unit: str
    precision: str
    limit: PowerLimit
    verdict: Sustains
    ratio: float
    ratio_display: str
    ends_display: str


class PowerAlone(Record):
    """What one change makes of that load alone."""

    change: int
    """Position in `changes`."""
    new: PowerThen | None


class PowerMoved(Record):
    """A point whose power over its limit moved."""

    device: str
    at: str | None
    old: PowerThen | None
    """null where this side has no answer."""
    new: PowerThen | None
    alone: list[PowerAlone]
    text: str


class Roof(Record):
    """A dense peak of the base and the bandwidth of the main memory then; one of them is another now."""

    device: str
    unit: str
    precision: str
    peak: float
    """[op/s]"""
    bandwidth: float
    """[B/s]"""


class Delta(Record):
    """What moved between two states of the specs."""

    schema_: Literal["rooflint-delta/2"] = "rooflint-delta/2"
    old: Compared
    new: Compared
    matrix: Matrix
    moved: MovedCounts
    devices: BothWays
    points: BothWays
    """Operating points of devices that both sides have."""
    networks: BothWays
    citations_changed: int
    """Facts with the same value from another place."""
    left_out: list[LeftOut]
    changes: list[Change]
    moves: list[Moved]
    """Farthest first."""
    power: list[PowerMoved] | None = None
    """Another verdict first, then the farthest; null in older evidence."""
    roofs: list[Roof] = Field(default_factory=list)
    """Those that moved, as they were in the base."""
    text: str
    """The whole in a sentence."""
    also: list[str]
    """What appeared, vanished or was left out."""


class Watched(Record):
    """A prediction that the project asks for in `rooflint_watch`: its latency in the head and in the base."""

    watch: str
    """`resnet50 int8 b1 @ nvidia/jetson-agx-orin-64gb`, with the ids of the specs."""
    network: str
    precision: str
    batch: int
    device: str
    at: str | None
    """The operating point; null for the device's own."""
    base: float | None
    """[s]; null without a base, and where the base does not know it."""
    base_display: str | None
    """null without a base."""
    head: float | None
    """[s]"""
    head_display: str
    ratio: float | None
    """Head over base."""
    factor: str
    """The ratio as text; empty where there is none."""
    intensity: float | None = None
    """Of the whole network, in the head. [op/B]"""
    attained: float | None = None
    """Ops of the network over its latency, in the head. [op/s]"""
    why: str | None
    """Why the head does not know it."""

    @property
    def has_moved(self) -> bool:
        """Whether it differs from that of the base, or only one side knows it; not without a base."""
        if self.base_display is None:
            return False
        if self.base is None or self.head is None:
            return self.base is not self.head
        return not math.isclose(self.base, self.head, rel_tol=SAME)

    @property
    def distance(self) -> float:
        """How far it moved, in octaves; infinite where only one side knows it."""
        if not self.has_moved:
            return 0.0
        return abs(math.log2(self.ratio)) if self.ratio else math.inf

    @property
    def text(self) -> str:
        """`watched: resnet50 int8 b1 @ nvidia/t4 1.02 ms → 14.9 ms, ×14.6`."""
        then = f"{self.base_display} → " if self.has_moved else ""
        same = ", as in the base" if self.base_display and not self.has_moved else ""
        moved = f", {self.factor}" if self.has_moved and self.factor else ""
        why = f" ({self.why})" if self.why else ""
        return f"watched: {self.watch} {then}{self.head_display}{moved}{same}{why}"


SAME = 1e-9
"""Relative difference up to which two predictions are the same: another order of summation is not a change."""
