"""`rooflint calibrate attention`: fit streams, attention and FP8 again, leaving each family out in turn."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from pytest_rooflint.commands import refit
from rooflint.commands.options import Specs, registry
from rooflint.table import Cell, Table, write

if TYPE_CHECKING:
    from pytest_rooflint.silicon.recorded import Recorded
    from pytest_rooflint.silicon.score import Score

    Scores = Mapping[tuple[str, str, str], tuple[Score, Score]]


def attention(
    check: refit.Check = False,
    data: refit.Data = None,
    form: refit.Form = "text",
    specs: Specs = None,
) -> None:
    """Fit streams, attention and FP8 without each family, score all ops on it, and write specs/silicon_ops.yaml."""
    from pytest_rooflint.silicon import package  # noqa: PLC0415  # `rooflint --help` does without
    from pytest_rooflint.silicon.ops_fit import calibrate, load  # noqa: PLC0415
    from pytest_rooflint.silicon.ops_text import moved, rewritten  # noqa: PLC0415
    from rooflint.silicon.op_constants import GROUPS, ops_file  # noqa: PLC0415

    known = registry(specs)
    file = ops_file(known)
    folder = data or package.data_folder()
    names = {group: file.fitted(group) for group in GROUPS}
    recorded, chips = load(folder, known)
    found = calibrate(recorded, chips, file)
    scores = {(family, *key): pair for family, fold in found.folds.items() for key, pair in fold.scores.items()}
    typer.echo(write(table(scores), form), nl=False)
    for line in left_out(recorded):
        typer.echo(line, err=True)
    if check:
        refit.judge(moved(found.constants, file.constants, names))
    elif data is None:
        count = sum(map(len, names.values()))
        refit.save(file.file, lambda text, said: rewritten(text, found, names, said), package.label(), count)


def table(scores: "Scores") -> Table:
    """The errors on families that were left out, beside the plain roofline's."""
    columns = ("op", "left out", "part", "rows", "error %", "bias %", "roofline error %", "roofline bias %")
    rows: list[tuple[Cell, ...]] = []
    for (family, op, part), (one, plain) in sorted(scores.items(), key=lambda entry: entry[0][1]):
        shares = (one.mape, one.bias, plain.mape, plain.bias)
        rows.append((op, family, part, one.rows, *(f"{100 * share:.1f}" for share in shares)))
    return Table(columns, tuple(rows))


def left_out(recorded: "Mapping[str, Mapping[str, Recorded]]") -> list[str]:
    """A sentence for each op: its rows, and what was left out and why."""
    from pytest_rooflint.silicon.recorded import together  # noqa: PLC0415

    sentences = []
    for op, ones in recorded.items():
        why = together(one.dropped for one in ones.values())
        sentences.append(f"{op}: {sum(map(len, ones.values()))} rows; left out: {why or 'none'}")
    return sentences
