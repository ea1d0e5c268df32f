"""`rooflint measure compare`: two revisions or two commands in turn; or one beside itself, to know what it is worth."""

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rooflint.base.errors import RooflintError
from rooflint_measure.compare.ab import Command, Timing

if TYPE_CHECKING:
    from pytest_rooflint.measuring.versions import Side
    from rooflint_measure.compare.ab import Advance
    from rooflint_measure.stopwatches.timing import Watch

SLOWER, UNDECIDED = 1, 3
"""Statuses; 2 is that of whatever a user can mend."""

WISH = "want BASE HEAD -- COMMAND…, or --base-command and --head-command"


class ComparingError(RooflintError):
    """What was asked for cannot be compared."""


def compare_command(
    base: Annotated[str | None, typer.Argument(help="Revision to compare with.")] = None,
    head: Annotated[str | None, typer.Argument(help="Revision that may be slower.")] = None,
    command: Annotated[
        list[str] | None, typer.Argument(help="After --: what to run in a checkout of each, and to time.")
    ] = None,
    base_command: Annotated[str, typer.Option(help="A command instead of a revision, run here.")] = "",
    head_command: Annotated[str, typer.Option(help="The other one.")] = "",
    timing: Annotated[
        Timing,
        typer.Option(
            "--time", help="From start to end, CPU time, or seconds that the last line of output says (JSON)."
        ),
    ] = Timing.WALL,
    pairs: Annotated[int, typer.Option(help="Runs of each in a block, an even number; there are 6 blocks.", min=2)] = 8,
    threshold: Annotated[float, typer.Option(help="Per cent that two versions must differ by.", min=0.1, max=50)] = 2.0,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="One command beside itself: what would be found here, how surely?")
    ] = False,
    blocks: Annotated[int, typer.Option(help="Blocks to calibrate from.", min=6)] = 60,
    form: Annotated[str, typer.Option("--format", "-f", help="text, json, csv, md or html.")] = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File; its suffix names the format.")] = None,
) -> None:
    """Say whether HEAD is slower than BASE: `compare main HEAD -- python bench.py`, in turn, in blocks.

    `--calibrate -- COMMAND…` runs one command beside itself. Status 0: the same or faster. 1: slower. 3: undecided.
    """
    if pairs % 2:
        raise ComparingError(f"--pairs: want an even number, found {pairs}")
    words = [word for word in (base, head, *(command or ())) if word is not None]
    if calibrate:
        _calibrate(_single(words, base_command, head_command, timing), pairs, threshold / 100, blocks, form, output)
        return
    with _sides(words, base_command, head_command, timing) as (before, after):
        status = _compare(before, after, pairs, threshold / 100, form, output)
    raise typer.Exit(status)


def _compare(base: "Side", head: "Side", pairs: int, threshold: float, form: str, output: Path | None) -> int:
    from pytest_rooflint.measuring.versions import answer  # noqa: PLC0415  # `rooflint --help` does without
    from rooflint.output.deliver import deliver  # noqa: PLC0415
    from rooflint_measure.compare import ab  # noqa: PLC0415
    from rooflint_measure.compare.blocks import (  # noqa: PLC0415
        BLOCKS,
        Outcome,
    )

    _warm(base, head)
    with _progress(BLOCKS) as advance:
        found = ab.compare(
            base.stopwatch, head.stopwatch, pairs=pairs, watch=_watch(), threshold=threshold, advance=advance
        )
    deliver(answer(found, base, head), form, output)
    return {Outcome.FASTER: 0, Outcome.SAME: 0, Outcome.SLOWER: SLOWER}.get(found.outcome, UNDECIDED)


def _calibrate(side: "Side", pairs: int, threshold: float, count: int, form: str, output: Path | None) -> None:
    from pytest_rooflint.measuring.worth import answer  # noqa: PLC0415
    from rooflint.output.deliver import deliver  # noqa: PLC0415
    from rooflint_measure.compare import ab  # noqa: PLC0415
    from rooflint_measure.compare.calibration import calibrated  # noqa: PLC0415

    _warm(side)
    began = time.perf_counter()
    with _progress(count) as advance:
        watch = side.stopwatch
        taken = list(ab.take(watch, watch, count=count, pairs=pairs, watch=_watch(), advance=advance))
    took_s = time.perf_counter() - began
    deliver(answer(calibrated(ab.as_blocks(taken), threshold), side, taken, took_s), form, output)


def _warm(*sides: "Side") -> None:
    """One run each that does not count: caches, bytecode, and what a user typed wrong."""
    for side in sides:
        side.command.seconds()


def _watch() -> "Watch":
    """Who sees stolen time and throttling."""
    from rooflint_measure.stopwatches.conditions import observer  # noqa: PLC0415

    return observer().watch()


def _single(words: list[str], base_command: str, head_command: str, timing: Timing) -> "Side":
    given = [_split(text) for text in (base_command, head_command) if text] + ([words] if words else [])
    if len(given) != 1:
        raise ComparingError(f"--calibrate: want one command, after -- or as --base-command, found {len(given)}")
    return _here(given[0], timing)


@contextmanager
def _sides(words: list[str], base_command: str, head_command: str, timing: Timing) -> Iterator[tuple["Side", "Side"]]:
    """Two commands here, or one in two checkouts."""
    if base_command or head_command:
        if words or not (base_command and head_command):
            raise ComparingError(WISH)
        yield _here(_split(base_command), timing), _here(_split(head_command), timing)
        return
    if len(words) < 3:
        raise ComparingError(WISH)
    from pytest_rooflint.measuring.checkouts import checkouts  # noqa: PLC0415
    from pytest_rooflint.measuring.versions import Side  # noqa: PLC0415

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
        raise ComparingError(f"want a command, found '{text}' ({error})") from None


def _here(words: list[str], timing: Timing) -> "Side":
    from pytest_rooflint.measuring.versions import Side  # noqa: PLC0415

    if not words:
        raise ComparingError(WISH)
    return Side(Command(shlex.join(words), tuple(words), Path.cwd(), timing))


@contextmanager
def _progress(total: int) -> Iterator["Advance"]:
    """A bar on stderr, where that is a terminal."""
    from rich.console import Console  # noqa: PLC0415  # only for people
    from rich.progress import Progress  # noqa: PLC0415

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda: None
        return
    with Progress(console=console, transient=True, auto_refresh=False) as bar:  # no thread beside what is timed
        task = bar.add_task("blocks", total=total)
        yield lambda: bar.update(task, advance=1, refresh=True)
