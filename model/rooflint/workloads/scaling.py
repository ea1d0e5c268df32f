"""Scaling: tables of one network at two batches prove that it grows with the batch, or say where it does not."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from rooflint.workloads.flow import Flow
from rooflint.workloads.ops import QUANTITIES, Op
from rooflint.workloads.workload import Workload, WorkloadError

UNPROVED = "not known to scale with the batch"


def fitted(small: Workload, large: Workload) -> Workload:
    """`small`, such that its `at_batch` gives `large`.

    A constant that is as long as the batch (a grid of positions for each sample) is not read once like a weight: it is
    moved among the activations, with which it grows. Raises WorkloadError, naming the first op, where no such table is.
    """
    if [(row.name, row.kind) for row in small.rows()] != [(row.name, row.kind) for row in large.rows()]:
        raise WorkloadError(f"other ops run at batch {large.batch} than at batch {small.batch}")
    one = replace(_moved(small, small, large), flow=_flow(small, large))
    two = _moved(large, small, large)
    for mine, theirs in zip(one.at_batch(large.batch).rows(), two.rows(), strict=True):
        if mine != theirs:
            raise WorkloadError(f"{mine.name}: batch {large.batch} is not batch {small.batch} scaled")
    return one


def _flow(small: Workload, large: Workload) -> Flow | None:
    """The data flow, if it is that of both; constants that grow with the batch are none, as in the rows."""
    less, more = small.flow, large.flow
    if less is None or more is None or less.elements_input % small.batch:
        return None
    if replace(less.scaled(large.batch, small.batch), elements_constant=more.elements_constant) != more:
        return None
    if less.elements_constant is None or more.elements_constant is None:
        return replace(less, elements_constant=None)
    growth = (more.elements_constant - less.elements_constant) // (large.batch - small.batch)
    return replace(less, elements_constant=less.elements_constant - growth * small.batch)


def _moved(workload: Workload, small: Workload, large: Workload) -> Workload:
    return Workload.from_ops(workload.name, _rows(workload, small, large), workload.batch)


def _rows(workload: Workload, small: Workload, large: Workload) -> Iterator[Op]:
    for row, less, more in zip(workload.rows(), small.rows(), large.rows(), strict=True):
        growth, rest = divmod(more.elements_weight - less.elements_weight, large.batch - small.batch)
        grown = growth * workload.batch
        if rest or not 0 <= grown <= row.elements_weight:
            raise WorkloadError(f"{row.name}: its constants do not grow with the batch evenly")
        yield row._replace(elements_in=row.elements_in + grown, elements_weight=row.elements_weight - grown)


def sample_by_sample(one: Workload, several: Workload) -> Workload:
    """`one`, captured at batch 1, such that its `at_batch` gives what `several` adds up to.

    For networks that go through part of their work sample by sample: those rows stand in `several` once for each
    sample. Their constants are read as often, so they are moved among the activations. Raises WorkloadError where a
    row neither repeats nor grows with the batch. The data flow is that of one sample: at a larger batch a row stands
    for all samples at once.
    """
    there = Counter(map(_content, several.rows()))
    here = Counter(map(_content, one.rows()))
    rows = []
    for row, scaled in zip(one.rows(), one.at_batch(several.batch).rows(), strict=True):
        longer = scaled._replace(elements_weight=scaled.elements_weight * several.batch)
        if there[_content(row)] >= several.batch * here[_content(row)]:
            rows.append(_all_activations(row))
        elif there[_content(scaled)]:
            rows.append(row)
        elif there[_content(longer)]:  # constants as long as the batch
            rows.append(_all_activations(row))
        else:
            raise WorkloadError(f"{row.name}: batch {several.batch} is neither batch 1 scaled nor repeated")
    table = Workload.from_ops(one.name, rows, flow=one.flow)
    if _totals(table.at_batch(several.batch)) != _totals(several):
        raise WorkloadError(f"{one.name}: batch {several.batch} has ops that batch 1 has not")
    return table


def _content(row: Op) -> tuple[object, ...]:
    """A row whatever its turn."""
    return (row.name.partition("@")[0], *row[1:])


def _all_activations(row: Op) -> Op:
    return row._replace(elements_in=row.elements_in + row.elements_weight, elements_weight=0)


def _totals(workload: Workload) -> tuple[int, ...]:
    """Arithmetic, elements read and elements written of the whole network."""
    macs, other_ops, elements_in, weights, out = (int(getattr(workload, name).sum()) for name in QUANTITIES[:5])
    return macs, other_ops, elements_in + weights, out
