"""The kernel map of a comparison: what each kernel takes on each device, and who wins it."""

from collections.abc import Iterator, Sequence

from rooflint.answer import Heat
from rooflint.comparison import Contender
from rooflint.prediction import Prediction
from rooflint.table import Table
from rooflint.units import JOULES, SECONDS, format_quantity

MAPPED = ("energy", "latency")
"""Metrics that have a figure for each kernel."""


def kernel_map(able: Sequence[Contender], metric: str) -> Heat | None:
    """Energy of an inference or latency of a batch, kernel by kernel; None where no energy is known."""
    by_time = metric == "latency"
    shown = tuple(one for one in able if by_time or one.prediction.has("energy"))
    if not shown:
        return None
    tables = [_per_kernel(one.prediction, by_time) for one in shown]
    run = shown[0].prediction.run
    rows = tuple(f"{name} ({kind})" for name, kind in zip(run.op_names.tolist(), run.kinds.tolist(), strict=True))
    values = tuple(zip(*tables, strict=True))
    dimension = SECONDS if by_time else JOULES
    cells = tuple(tuple(format_quantity(value, dimension) for value in row) for row in values)
    return Heat(f"Kernels by {metric}", rows, tuple(one.short for one in shown), values, cells, "least is best")


def _per_kernel(found: Prediction, by_time: bool) -> list[float]:
    """Of a batch, [s]; of one inference, [J]."""
    if by_time:
        return [float(value) for value in found.times.kernel_s]
    return [float(value) / found.batch for value in found.energy.energy_j]


def wins(heat: Heat, kinds: Sequence[str]) -> Iterator[str]:
    """Which kinds of kernel each device wins; what two share is a tie."""
    best = [_alone(row) for row in heat.values]
    for place, name in enumerate(heat.columns):
        won = [kinds[row] for row, column in enumerate(best) if column == place]
        ordered = sorted(set(won), key=lambda kind: (-won.count(kind), kind))
        of = ", ".join(f"{won.count(kind)} {kind}" for kind in ordered)
        yield f"{name}: {len(won)} of {len(heat.rows)}{f' ({of})' if of else ''}"
    if ties := best.count(None):
        yield f"tie: {ties} of {len(heat.rows)}"


def _alone(row: Sequence[float | None]) -> int | None:
    """The column with the least value, where no other equals it."""
    known = sorted((value, column) for column, value in enumerate(row) if value is not None)
    if len(known) > 1 and known[0][0] == known[1][0]:
        return None
    return known[0][1] if known else None


def listing(heat: Heat, metric: str) -> Table:
    """The map for a spreadsheet: a row a kernel, a column a device, in base units."""
    unit = "s" if metric == "latency" else "j_per_inference"
    rows = ((row, *values) for row, values in zip(heat.rows, heat.values, strict=True))
    return Table(("kernel", *(f"{name} {metric}_{unit}" for name in heat.columns)), tuple(rows))
