"""`rooflint measure compare`: two revisions or commands in turn, or a command with itself for its error rates."""

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from pytest_rooflint.cli import progress
from pytest_rooflint.recordings.comparison import Side, calibrated, checkouts, compared
from rooflint.base.errors import RooflintError
from rooflint.output.deliver import deliver
from rooflint_measure.compare import ab
from rooflint_measure.compare.ab import Command, Timing
from rooflint_measure.compare.blocks import BLOCKS, Outcome
from rooflint_measure.compare.blocks import calibrate as error_rates
from rooflint_measure.sensors.observer import observer

SLOWER, UNDECIDED = 1, 3
"""Exit statuses; 2 is that of a usage error."""

USAGE = "want BASE HEAD -- COMMAND…, or --base-command and --head-command"


def compare_command(
    base: Annotated[str | None, typer.Argument(help="Revision to compare with.")] = None,
    head: Annotated[str | None, typer.Argument(help="Revision that may be slower.")] = None,
    command: Annotated[
        list[str] | None, typer.Argument(help="After --: the command to time in a checkout of each.")
    ] = None,
    base_command: Annotated[str, typer.Option(help="A command instead of a revision, run here.")] = "",
    head_command: Annotated[str, typer.Option(help="The other command.")] = "",
    timing: Annotated[
        Timing,
        typer.Option("--time", help="Wall time, CPU time, or the seconds on the last line of output (JSON)."),
    ] = Timing.WALL,
    pairs: Annotated[int, typer.Option(help="Runs of each in a block, an even number; there are 6 blocks.", min=2)] = 8,
    threshold: Annotated[
        float, typer.Option(help="Per cent by which two versions must differ.", min=0.1, max=50)
    ] = 2.0,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Compare a command with itself: false-positive and detection rates.")
    ] = False,
    blocks: Annotated[int, typer.Option(help="Blocks of --calibrate.", min=6)] = 60,
    form: Annotated[str, typer.Option("--format", "-f", help="text, json, csv, md or html.")] = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File; its suffix names the format.")] = None,
) -> None:
    """Say whether HEAD is slower than BASE: `compare main HEAD -- python bench.py`, in turn, in blocks.

    `--calibrate -- COMMAND…` compares one command with itself. Status 0: the same or faster. 1: slower. 3: undecided.
    """
    if pairs % 2:
        raise RooflintError(f"--pairs: want an even number, found {pairs}")
    words = [word for word in (base, head, *(command or ())) if word is not None]
    if calibrate:
        _calibrate(_single(words, base_command, head_command, timing), pairs, threshold / 100, blocks, form, output)
        return
    with _sides(words, base_command, head_command, timing) as (before, after):
        status = _compare(before, after, pairs, threshold / 100, form, output)
    raise typer.Exit(status)


def _compare(base: Side, head: Side, pairs: int, threshold: float, form: str, output: Path | None) -> int:
    _warm(base, head)
    with progress.bar("blocks", BLOCKS) as advance:
        found = ab.compare(
            base.stopwatch, head.stopwatch, pairs=pairs, watch=observer().watch(), threshold=threshold, advance=advance
        )
    deliver(compared(found, base, head), form, output)
    return {Outcome.FASTER: 0, Outcome.SAME: 0, Outcome.SLOWER: SLOWER}.get(found.outcome, UNDECIDED)


def _calibrate(side: Side, pairs: int, threshold: float, count: int, form: str, output: Path | None) -> None:
    _warm(side)
    began = time.perf_counter()
    with progress.bar("blocks", count) as advance:
        stopwatch = side.stopwatch
        blocks = list(
            ab.take_blocks(stopwatch, stopwatch, count=count, pairs=pairs, watch=observer().watch(), advance=advance)
        )
    took_s = time.perf_counter() - began
    deliver(
        calibrated(error_rates(ab.as_blocks(blocks), threshold, beside=ab.beside(blocks)), side, blocks, took_s),
        form,
        output,
    )


def _warm(*sides: Side) -> None:
    """One run each that does not count, for caches and bytecode; it also finds a wrong command."""
    for side in sides:
        side.command.sample()


def _single(words: list[str], base_command: str, head_command: str, timing: Timing) -> Side:
    given = [_split(text) for text in (base_command, head_command) if text] + ([words] if words else [])
    if len(given) != 1:
        raise RooflintError(f"--calibrate: want one command, after -- or as --base-command, found {len(given)}")
    return _here(given[0], timing)


@contextmanager
def _sides(words: list[str], base_command: str, head_command: str, timing: Timing) -> Iterator[tuple[Side, Side]]:
    """Two commands here, or one in two checkouts."""
    if base_command or head_command:
        if words or not (base_command and head_command):
            raise RooflintError(USAGE)
        yield _here(_split(base_command), timing), _here(_split(head_command), timing)
        return
    if len(words) < 3:
        raise RooflintError(USAGE)

    base, head, *command = words
    with checkouts(Path.cwd(), (base, head)) as found:
        before, after = (
            Side(Command(f"{one.revision} ({one.commit[:12]})", tuple(command), one.folder, timing), one.commit)
            for one in found
        )
        yield before, after


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise RooflintError(f"want a command, found '{text}' ({error})") from None


def _here(words: list[str], timing: Timing) -> Side:
    if not words:
        raise RooflintError(USAGE)
    return Side(Command(shlex.join(words), tuple(words), Path.cwd(), timing))
