"""Scaling: two captures of one network at two batches prove what a batch multiplies, and what it does not."""

from collections.abc import Iterator

from rooflint.workload import Op, Workload, WorkloadError


def fitted(small: Workload, large: Workload) -> Workload:
    """`small`, such that its `at_batch` gives `large`.

    A constant that is as long as the batch (a grid of positions for each sample) is not read once like a weight: it is
    moved among the activations, with which it grows. Raises WorkloadError, naming the first op, where no such table is.
    """
    if [(row.name, row.kind) for row in small.rows()] != [(row.name, row.kind) for row in large.rows()]:
        raise WorkloadError(f"other ops run at batch {large.batch} than at batch {small.batch}")
    one = _moved(small, small, large)
    two = _moved(large, small, large)
    for mine, theirs in zip(one.at_batch(large.batch).rows(), two.rows(), strict=True):
        if mine != theirs:
            raise WorkloadError(f"{mine.name}: batch {large.batch} is not batch {small.batch} scaled")
    return one


def _moved(workload: Workload, small: Workload, large: Workload) -> Workload:
    return Workload.from_ops(workload.name, _rows(workload, small, large), workload.batch)


def _rows(workload: Workload, small: Workload, large: Workload) -> Iterator[Op]:
    for row, less, more in zip(workload.rows(), small.rows(), large.rows(), strict=True):
        growth, rest = divmod(more.elements_weight - less.elements_weight, large.batch - small.batch)
        grown = growth * workload.batch
        if rest or not 0 <= grown <= row.elements_weight:
            raise WorkloadError(f"{row.name}: its constants do not grow with the batch evenly")
        yield row._replace(elements_in=row.elements_in + grown, elements_weight=row.elements_weight - grown)
