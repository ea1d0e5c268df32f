"""`rooflint calibrate moved`: measured rows that went from well to badly predicted since a revision."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rooflint.commands import asked
from rooflint.errors import RooflintError
from rooflint.output import deliver
from rooflint.units import percent

if TYPE_CHECKING:
    from pytest_rooflint.silicon.base import Ask
    from pytest_rooflint.silicon.turned import Turned

TOLERANCE = 0.01
"""Share of a family's rows that may go bad though fewer go good: constants that are fitted again turn a few."""
ROWS = 500
"""Rows of each regime of each device."""


class TopicError(RooflintError):
    """An op that nobody measured."""


def moved_command(
    base: Annotated[
        str | None, typer.Option(help="Revision to hold this tree against; where HEAD left the default branch.")
    ] = None,
    topics: Annotated[
        list[str] | None, typer.Option("--op", help="gemm, prefill, decode, …; repeated. All that are measured.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(help="Share of the rows of a family that may go bad.", min=0, max=1)
    ] = TOLERANCE,
    rows: Annotated[int, typer.Option(help="Rows of each regime of each device.", min=1)] = ROWS,
    form: asked.Form = "",
    output: asked.Output = None,
) -> None:
    """Count measured rows that this tree predicts badly and a revision predicted well; status 1 where a family lost.

    A family is red where more of its rows went bad than is tolerated, and more than went good. Averages decide nothing.
    """
    from pytest_rooflint.silicon.base import NoSiliconError, model_at  # noqa: PLC0415  # `rooflint --help` does without
    from pytest_rooflint.silicon.changed import changed  # noqa: PLC0415
    from pytest_rooflint.silicon.turned_answer import answer  # noqa: PLC0415

    try:
        with model_at(base, Path.cwd()) as old:
            label, found, between = old.label, _found(topics, rows, old.ask), changed(old.specs)
    except NoSiliconError as error:
        typer.echo(str(error))
        return
    deliver(answer(found, label, tolerance, between), form, output)
    red = [f"{one.topic} {one.family}" for one in found.families if one.is_red(tolerance)]
    if red:
        typer.echo(f"red: over {percent(tolerance)} of the rows went bad of {', '.join(red)}", err=True)
        raise typer.Exit(1)


def _found(topics: list[str] | None, rows: int, ask: "Ask") -> "Turned":
    """Raises TopicError for an op that there is not."""
    from pytest_rooflint.silicon.foretell import answered  # noqa: PLC0415
    from pytest_rooflint.silicon.topics import TOPICS  # noqa: PLC0415
    from pytest_rooflint.silicon.turned import turned  # noqa: PLC0415
    from rooflint.specs import Registry  # noqa: PLC0415

    for name in topics or ():
        if name not in TOPICS:
            raise TopicError(f"--op: want one of {', '.join(TOPICS)}, found '{name}'")
    registry = Registry()
    return turned(registry, topics or list(TOPICS), rows, ask, lambda request: answered(request, registry))
