"""`rooflint measure compare`: revisions side by side as git worktrees, and the answers with the verdict.

A verdict rests on six, twelve or eighteen blocks. A comparison of a command with itself shows how often equal versions
would be called different and a slowdown of 5 % would be found. The records below are the JSON that both write, with
every raw value.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

from pydantic import Field

from rooflint.base.errors import RooflintError
from rooflint.base.git import RevisionError, commit_of, git, top_of
from rooflint.base.units import SECONDS, format_number, format_quantity, percent
from rooflint.hardware.schema import Strict
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Cell, Grid, Prose, Table
from rooflint_measure.compare import ab
from rooflint_measure.compare.ab import Block, Command, Comparison
from rooflint_measure.compare.blocks import BLOCKS, DETECTION, FALSE_POSITIVES, SLOWDOWN, Calibration, Outcome, votes
from rooflint_measure.identity import fingerprint

NAMES = ("base", "head")
"""Folder names of equal length: a longer path moves the stack of a process, which alone can change its time."""


@dataclass(frozen=True)
class Checkout:
    """A revision as files."""

    revision: str
    commit: str
    folder: Path
    """The current folder, within the checkout."""


@contextmanager
def checkouts(here: Path, revisions: tuple[str, str]) -> Iterator[tuple[Checkout, Checkout]]:
    """Both revisions of the repository around a folder. Raises RooflintError."""
    top = top_of(here)
    commits = [commit_of(top, revision) for revision in revisions]
    within = here.resolve().relative_to(top)
    with TemporaryDirectory(prefix="rooflint-", ignore_cleanup_errors=True) as home:
        folders = [Path(home).resolve() / name for name in NAMES]
        try:
            for folder, commit in zip(folders, commits, strict=True):
                git(top, "worktree", "add", "--quiet", "--detach", str(folder), commit)
            places = [_place(folder, within, revision) for folder, revision in zip(folders, revisions, strict=True)]
            base, head = (Checkout(*found) for found in zip(revisions, commits, places, strict=True))
            yield base, head
        finally:
            for folder in folders:
                with suppress(RevisionError):  # one that was not added yet
                    git(top, "worktree", "remove", "--force", str(folder))


def _place(folder: Path, within: Path, revision: str) -> Path:
    place = folder / within
    if not place.is_dir():
        raise RooflintError(f"{revision} has no folder {within.as_posix()}; run this from one that both revisions have")
    return place


# ---- The records of the answers


Machine = dict[str, Any]
Time = Literal["wall", "cpu", "printed"]


class SideRecord(Strict):
    """The command of one side."""

    label: str
    commit: str | None
    command: list[str]


class BlockRecord(Strict):
    """What decides of a block, the least of each version, and its vote."""

    base: float
    """Seconds, or instructions where those decide."""
    head: float
    ratio: float
    vote: Literal["slower", "faster", "same"]
    disturbed: bool


class ComparisonRecord(Record):
    """Two versions beside each other."""

    schema_: Annotated[Literal["rooflint.measure.compare/4"], Field(alias="schema")]
    base: SideRecord
    head: SideRecord
    timing: Time
    verdict: Literal["faster", "slower", "same", "undecided"]
    outcome: Literal["faster", "slower", "same", "noisy", "disturbed", "split"]
    decided_by: Time | Literal["instructions"]
    """`cpu` or `instructions` where wall time is undecided and they are not."""
    reason: str
    ratio: float
    threshold: float
    pairs: int
    blocks: list[BlockRecord]
    """Those that decide."""
    attempts: list[list[Block]]
    """Raw samples: six blocks, six more if they were undecided, and once more six."""
    machine: Machine


class CalibrationRecord(Record):
    """One version compared with itself."""

    schema_: Annotated[Literal["rooflint.measure.calibrate/3"], Field(alias="schema")]
    side: SideRecord
    timing: Time
    pairs: int
    seconds: float
    """Of the whole measurement. [s]"""
    calibration: Calibration
    samples: list[Block]
    """Raw samples, in the order of measurement."""
    machine: Machine


# ---- A side of a comparison


@dataclass(frozen=True)
class Side:
    """The command that represents a version, and the commit that it runs in, if there is one."""

    command: Command
    commit: str | None = None

    @property
    def stopwatch(self) -> ab.Side:
        """Takes samples of it."""
        return ab.Side(self.command.sample)

    @property
    def record(self) -> SideRecord:
        """For programs."""
        return SideRecord(label=self.command.label, commit=self.commit, command=list(self.command.words))


# ---- Two versions

WORDS = {-1: "faster", 0: "same", 1: "slower"}
LISTING = ("block", "base", "head", "ratio", "vote", "disturbed")
COLUMNS = ("block", "base", "head", "head / base", "vote", "")
NOTE = "least {what} of a block; head / base above 1: the head takes more"


def compared(found: Comparison, base: Side, head: Side) -> Answer:
    """The verdict on two versions, its reason, and the blocks that it rests on."""
    rows = [*_rows(found)]
    note = NOTE.format(what=ab.BESIDE.get(found.beside, "time"))
    return Answer(
        title=f"{head.command.label} against {base.command.label}: {headline(found)}",
        subtitle=f"{len(rows)} blocks of {_pairs(found.attempts[-1])} pairs in turn, "
        f"{base.command.timing} time, threshold {percent(found.threshold)}",
        sections=(
            Prose("Verdict", (*_sentences(found),)),
            Grid("Blocks", Table(COLUMNS, tuple(_shown(row, found.beside) for row in rows)), note),
        ),
        record=ComparisonRecord.build(
            base=base.record,
            head=head.record,
            timing=base.command.timing.value,
            verdict=found.outcome.verdict,
            outcome=found.outcome.name.lower(),
            decided_by=found.beside or base.command.timing.value,
            reason=found.reason,
            ratio=found.ratio,
            threshold=found.threshold,
            pairs=_pairs(found.attempts[-1]),
            blocks=[{name: row[name] for name in LISTING[1:]} for row in rows],
            attempts=[list(blocks) for blocks in found.attempts],
            machine=fingerprint(),
        ),
        listing=Table.of(LISTING, rows),
    )


def headline(found: Comparison) -> str:
    """`slower, 1.08 ×`; an undecided verdict has no ratio, because none was established."""
    verdict = found.outcome.verdict
    return verdict if found.outcome >= Outcome.NOISY else f"{verdict}, {format_number(found.ratio, 4)} ×"


def _pairs(blocks: Sequence[Block]) -> int:
    return len(blocks[0].base.seconds)


def _sentences(found: Comparison) -> Iterator[str]:
    yield f"{found.outcome.verdict}: {found.reason}"
    yield f"Median over blocks of the ratio of least times: {format_number(found.ratio, 4)}"
    if found.beside == "cpu":
        yield "CPU time does not count waiting: for a core, which others cause, nor for files, locks and sleep"
    if found.beside == "instructions":
        yield (
            "Instructions count neither waiting nor cache misses: a version that only misses the cache more often "
            "looks the same"
        )
    if found.outcome >= Outcome.NOISY:
        yield "Try more --pairs or a quieter machine; --calibrate tells which slowdowns can be detected here"


def _rows(found: Comparison) -> Iterator[dict[str, Any]]:
    blocks = found.deciding
    base, head = (side.min(axis=0) for side in (blocks.base_s, blocks.head_s))
    for number, vote in enumerate(votes(blocks, found.threshold)):
        yield {
            "block": number + 1,
            "base": float(base[number]),
            "head": float(head[number]),
            "ratio": float(head[number] / base[number]),
            "vote": WORDS[int(vote)],
            "disturbed": bool(blocks.disturbed[number]),
        }


def _shown(row: Mapping[str, Any], beside: str) -> tuple[str | int, ...]:
    least = (row["base"], row["head"])
    shown = (f"{one:.0f}" if beside == "instructions" else format_quantity(one, SECONDS) for one in least)
    return row["block"], *shown, format_number(row["ratio"], 4), row["vote"], "disturbed" if row["disturbed"] else ""


# ---- One command compared with itself

RATE_COLUMNS = ("comparisons", "share", "bound", "aim")
RATE_LISTING = ("quantity", "share", "bound")
RATE_NOTE = "resampled from the blocks, six at a time; bounds have 95 % confidence if blocks are independent"


def calibrated(found: Calibration, side: Side, blocks: Sequence[Block], took_s: float) -> Answer:
    """The error rates of one version compared with itself."""
    return Answer(
        title=f"{side.command.label} compared with itself: the aim is {'reached' if found.holds else 'missed'}",
        subtitle=f"{found.blocks} blocks of {_pairs(blocks)} pairs in {format_quantity(took_s, SECONDS, digits=3)}, "
        f"{side.command.timing} time, threshold {percent(found.threshold)}",
        sections=(
            Prose("Smallest detectable slowdown", tuple(_smallest(found))),
            Grid("Error rates", Table(RATE_COLUMNS, tuple(_rates(found))), RATE_NOTE),
            Prose("Blocks in the order of measurement", tuple(_in_order(found))),
        ),
        record=CalibrationRecord.build(
            side=side.record,
            timing=side.command.timing.value,
            pairs=_pairs(blocks),
            seconds=took_s,
            calibration=found,
            samples=list(blocks),
            machine=fingerprint(),
        ),
        listing=Table(RATE_LISTING, tuple(_listed(found))),
    )


def _smallest(found: Calibration) -> Iterator[str]:
    wanted = percent(DETECTION)
    if found.smallest_detected is None:
        yield f"No slowdown up to 10 % is detected in {wanted} of comparisons"
    else:
        yield f"The smallest slowdown that is detected in {wanted} of comparisons is {percent(found.smallest_detected)}"
    yield f"Least times of equal versions differ by {percent(found.spread)} from block to block (standard deviation)"


def _rates(found: Calibration) -> Iterator[tuple[str, ...]]:
    bound = found.false_positives.bound
    yield (
        "equal, called different (false positives)",
        percent(found.false_positives.share),
        f"≤ {percent(bound)}",
        f"≤ {percent(FALSE_POSITIVES)}",
    )
    yield "equal, left undecided", percent(found.undecided), "", ""
    slower = f"{percent(SLOWDOWN)} slower"
    detections = found.detections
    yield f"{slower}, detected", percent(detections.share), f"≥ {percent(detections.bound)}", f"≥ {percent(DETECTION)}"
    yield f"{slower}, called the same", percent(found.missed), "", ""


def _in_order(found: Calibration) -> Iterator[str]:
    rows = found.in_order
    yield (
        f"{rows.false_positives} false positives and {rows.undecided} undecided in {rows.comparisons} A/A comparisons "
        f"of {BLOCKS} blocks in a row, measured once; "
        f"{rows.detections} detections of a slowdown of {percent(SLOWDOWN)}"
    )
    yield f"Assuming nothing, the false-positive rate is at most {percent(rows.false_positive_bound)} (95 % confidence)"


def _listed(found: Calibration) -> Iterator[tuple[Cell, ...]]:
    yield "false_positives", found.false_positives.share, found.false_positives.bound
    yield "undecided", found.undecided, None
    yield "detections", found.detections.share, found.detections.bound
    yield "missed", found.missed, None
    yield "smallest_detected", found.smallest_detected, None
