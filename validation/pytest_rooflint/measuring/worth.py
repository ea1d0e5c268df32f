"""The answer to `rooflint measure compare --calibrate`: what a verdict is worth on this machine, of this command."""

from collections.abc import Iterator, Sequence

from pytest_rooflint.measuring.versions import CALIBRATE, Side, dumped
from rooflint.base.units import SECONDS, format_quantity, percent
from rooflint.output.answer import Answer
from rooflint.output.sections import Grid, Prose
from rooflint.output.table import Cell, Table
from rooflint_measure.compare.ab import Block
from rooflint_measure.compare.blocks import BLOCKS
from rooflint_measure.compare.calibration import ALARMS, FOUND, SLOWDOWN, Calibration
from rooflint_measure.identity.machine import fingerprint

COLUMNS = ("of comparisons", "here", "at the worst", "aim")
LISTING = ("quantity", "share", "bound")
NOTE = "drawn from the blocks, six at a time; at the worst: with 95 % confidence, if blocks are independent"


def answer(found: Calibration, side: Side, blocks: Sequence[Block], took_s: float) -> Answer:
    """What was found of one version beside itself."""
    return Answer(
        title=f"{side.command.label} beside itself: {'the aim is reached' if found.holds else 'the aim is missed'}",
        subtitle=f"{found.blocks} blocks of {_pairs(blocks)} pairs in {format_quantity(took_s, SECONDS, digits=3)}, "
        f"{side.command.timing} time, threshold {percent(found.threshold)}",
        sections=(
            Prose("What it would find", tuple(_sentences(found))),
            Grid("How often", Table(COLUMNS, tuple(_rows(found))), NOTE),
            Prose("As they were taken", tuple(_taken(found))),
        ),
        record={
            "schema": CALIBRATE,
            "side": side.record,
            "timing": side.command.timing.value,
            "pairs": _pairs(blocks),
            "seconds": took_s,
            "calibration": found.model_dump(mode="json"),
            "takes": dumped(blocks),
            "machine": fingerprint(),
        },
        listing=Table(LISTING, tuple(_listed(found))),
    )


def _pairs(blocks: Sequence[Block]) -> int:
    return len(blocks[0].base.seconds)


def _sentences(found: Calibration) -> Iterator[str]:
    wanted = percent(FOUND)
    if found.smallest is None:
        yield f"No slowdown up to 10 % is found in {wanted} of comparisons"
    else:
        yield f"The smallest slowdown that is found in {wanted} of comparisons is {percent(found.smallest)}"
    yield f"Least times of equal versions differ by {percent(found.spread)} from block to block (standard deviation)"


def _rows(found: Calibration) -> Iterator[tuple[str, ...]]:
    bound = found.alarms.bound
    yield "equal, called different", percent(found.alarms.share), f"≤ {percent(bound)}", f"≤ {percent(ALARMS)}"
    yield "equal, left undecided", percent(found.undecided), "", ""
    slower = f"{percent(SLOWDOWN)} slower"
    yield f"{slower}, found", percent(found.found.share), f"≥ {percent(found.found.bound)}", f"≥ {percent(FOUND)}"
    yield f"{slower}, called the same", percent(found.missed), "", ""


def _taken(found: Calibration) -> Iterator[str]:
    taken = found.taken
    yield (
        f"Of {taken.comparisons} comparisons of {BLOCKS} blocks in a row, measured once, {taken.alarms} called equal "
        f"versions different and {taken.undecided} were undecided; with {percent(SLOWDOWN)} put in, {taken.found} "
        f"were found"
    )
    yield f"Assuming nothing, the rate of false alarms is at most {percent(taken.alarms_bound)} (95 % confidence)"


def _listed(found: Calibration) -> Iterator[tuple[Cell, ...]]:
    yield "equal_called_different", found.alarms.share, found.alarms.bound
    yield "equal_undecided", found.undecided, None
    yield "slower_found", found.found.share, found.found.bound
    yield "slower_called_same", found.missed, None
    yield "smallest_slowdown", found.smallest, None
