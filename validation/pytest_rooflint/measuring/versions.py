"""The shape of what `rooflint measure compare --format json` writes; seconds and ratios, every raw value."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from rooflint.base.units import SECONDS, format_number, format_quantity, percent
from rooflint.devices.schema import Strict
from rooflint.output.answer import Answer
from rooflint.output.sections import Grid, Prose
from rooflint.output.table import Table
from rooflint_measure.compare import ab
from rooflint_measure.compare.ab import Block, Command, Comparison
from rooflint_measure.compare.blocks import Outcome, votes
from rooflint_measure.compare.calibration import Calibration
from rooflint_measure.identity.machine import fingerprint

COMPARE: Literal["rooflint.measure.compare/1"] = "rooflint.measure.compare/1"
CALIBRATE: Literal["rooflint.measure.calibrate/1"] = "rooflint.measure.calibrate/1"

Machine = dict[str, Any]
Time = Literal["wall", "cpu", "printed"]


class SideRecord(Strict):
    """What one side ran."""

    label: str
    commit: str | None
    command: list[str]


class BlockRecord(Strict):
    """Least times of a block, and its vote."""

    base_s: float
    head_s: float
    ratio: float
    vote: Literal["slower", "faster", "same"]
    disturbed: bool


class VersionsRecord(Strict):
    """Two versions beside each other."""

    schema_: Annotated[Literal["rooflint.measure.compare/1"], Field(alias="schema")]
    base: SideRecord
    head: SideRecord
    timing: Time
    verdict: Literal["faster", "slower", "same", "undecided"]
    outcome: Literal["faster", "slower", "same", "noisy", "disturbed", "split"]
    reason: str
    ratio: float
    threshold: float
    pairs: int
    blocks: list[BlockRecord]
    """Those that decide."""
    takes: list[list[Block]]
    """Raw samples of all measurements, in the order in which they were taken."""
    machine: Machine


class WorthRecord(Strict):
    """One version beside itself."""

    schema_: Annotated[Literal["rooflint.measure.calibrate/1"], Field(alias="schema")]
    side: SideRecord
    timing: Time
    pairs: int
    seconds: float
    """All of it took. [s]"""
    calibration: Calibration
    takes: list[Block]
    machine: Machine


# ---- A side of a comparison: the command that stands for a version, and the commit that it runs in, if there is one


@dataclass(frozen=True)
class Side:
    """`HEAD~1 (3fa94c0d1b22)`, or the command itself."""

    command: Command
    commit: str | None = None

    @property
    def stopwatch(self) -> ab.Side:
        """What takes a sample of it."""
        return ab.Side(self.command.seconds)

    @property
    def record(self) -> Mapping[str, Any]:
        """For programs."""
        return {"label": self.command.label, "commit": self.commit, "command": list(self.command.words)}


# ---- The answer to `rooflint measure compare`: a verdict, its reason, and the six blocks that it rests on

WORDS = {-1: "faster", 0: "same", 1: "slower"}
LISTING = ("block", "base_s", "head_s", "ratio", "vote", "disturbed")
COLUMNS = ("block", "base", "head", "head / base", "vote", "")
NOTE = "least time of a block; head / base above 1: the head takes longer"


def answer(found: Comparison, base: Side, head: Side) -> Answer:
    """What was found of two versions."""
    rows = [*_rows(found)]
    return Answer(
        title=f"{head.command.label} against {base.command.label}: {said(found)}",
        subtitle=_subtitle(found, base),
        sections=(
            Prose("Verdict", (*_sentences(found),)),
            Grid("Blocks", Table(COLUMNS, tuple(_shown(row) for row in rows)), NOTE),
        ),
        record={
            "schema": COMPARE,
            "base": base.record,
            "head": head.record,
            "timing": base.command.timing.value,
            "verdict": found.outcome.verdict,
            "outcome": found.outcome.name.lower(),
            "reason": found.reason,
            "ratio": found.ratio,
            "threshold": found.threshold,
            "pairs": _pairs(found),
            "blocks": [{name: row[name] for name in LISTING[1:]} for row in rows],
            "takes": [dumped(take) for take in found.takes],
            "machine": fingerprint(),
        },
        listing=Table(LISTING, tuple(tuple(row[name] for name in LISTING) for row in rows)),
    )


def dumped(take: Sequence[Block]) -> list[dict[str, Any]]:
    """Raw samples as JSON values."""
    return [block.model_dump(mode="json") for block in take]


def said(found: Comparison) -> str:
    """`slower, 1.08 ×`; where it is undecided no ratio stands beside it, for none was established."""
    verdict = found.outcome.verdict
    return verdict if found.outcome >= Outcome.NOISY else f"{verdict}, {format_number(found.ratio, 4)} ×"


def _subtitle(found: Comparison, base: Side) -> str:
    turns = f"{len(found.takes[-1])} blocks of {_pairs(found)} pairs in turn"
    return f"{turns}, {base.command.timing} time, threshold {percent(found.threshold)}"


def _pairs(found: Comparison) -> int:
    return len(found.takes[-1][0].base.seconds)


def _sentences(found: Comparison) -> Iterator[str]:
    yield f"{found.outcome.verdict}: {found.reason}"
    yield f"Median over blocks of the ratio of least times: {format_number(found.ratio, 4)}"
    if found.outcome >= Outcome.NOISY:
        yield "More --pairs, a quieter hour, or --calibrate, which says what could be found here"


def _rows(found: Comparison) -> Iterator[dict[str, Any]]:
    blocks = found.last
    base_s, head_s = (side.min(axis=0) for side in (blocks.base_s, blocks.head_s))
    for number, vote in enumerate(votes(blocks, found.threshold)):
        yield {
            "block": number + 1,
            "base_s": float(base_s[number]),
            "head_s": float(head_s[number]),
            "ratio": float(head_s[number] / base_s[number]),
            "vote": WORDS[int(vote)],
            "disturbed": bool(blocks.disturbed[number]),
        }


def _shown(row: Mapping[str, Any]) -> tuple[str | int, ...]:
    times = (format_quantity(row[name], SECONDS) for name in ("base_s", "head_s"))
    return row["block"], *times, format_number(row["ratio"], 4), row["vote"], "disturbed" if row["disturbed"] else ""
