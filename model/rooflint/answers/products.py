"""The matrix products of a network on silicon that take longest: tile, split, and the term that each waits for."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rooflint.precision import bytes_per_element
from rooflint.silicon.breakdown import Breakdown, Case, breakdowns
from rooflint.silicon.gemm import overlapped_s
from rooflint.silicon.network import SiliconEstimate
from rooflint.silicon.shapes import shapes
from rooflint.units import SECONDS, format_quantity

COLUMNS = ("kernel", "m × n × k", "time", "tile", "most of it")
NOTE = "alike ones together; a convolution is one implicitly; rooflint explain gemm M N K has the ladder of one"
PRODUCTS = ("product", "convolution")
"""Ways of timing an op that cut it into tiles."""
MOST = 8


def longest(times: SiliconEstimate) -> Iterator[tuple[str, ...]]:
    """A row for each shape, the one whose kernels take longest together first."""
    alike: dict[tuple[float, ...], list[int]] = {}
    for op in np.flatnonzero(np.isin(times.ways, PRODUCTS)).tolist():
        alike.setdefault((*_sizes(times, op), float(times.kernel_s[op])), []).append(op)
    slowest = sorted(alike.values(), key=lambda ops: -float(times.kernel_s[ops].sum()))
    yield from (_row(times, ops) for ops in slowest[:MOST])


def taken_apart(times: SiliconEstimate, op: int) -> Breakdown:
    """One product with the bytes that its kernel moves, which may be others than those of a bare product."""
    element_bytes = max(bytes_per_element(times.compute), bytes_per_element(times.storage))
    here = times.shared.on(times.chip).products
    case = Case(shapes(*_sizes(times, op)), times.chip, here, element_bytes)
    memory_s = float(times.memory_s[op])
    ones = (_with_bytes(one, memory_s, float(times.launch_s[op]), case) for one in breakdowns(case))
    return min(ones, key=lambda one: one.latency_s)


def _with_bytes(one: Breakdown, memory_s: float, launch_s: float, case: Case) -> Breakdown:
    together = overlapped_s(np.array(one.compute_s), np.array(memory_s), case.constants)
    return replace(one, memory_s=memory_s, overlapped_s=float(together), launch_s=launch_s)


def _sizes(times: SiliconEstimate, op: int) -> tuple[float, ...]:
    """m, n, k, products of that shape."""
    run = times.run
    return tuple(float(column[op]) for column in (run.m, run.n, run.k, run.groups))


def _row(times: SiliconEstimate, ops: list[int]) -> tuple[str, ...]:
    one, (m, n, k, groups) = taken_apart(times, ops[0]), _sizes(times, ops[0])
    others = f" and {len(ops) - 1} alike" if len(ops) > 1 else ""
    return (
        f"{times.run.op_names[ops[0]]}{others}",
        f"{m:.0f} × {n:.0f} × {k:.0f}{f', {groups:.0f} times' if groups > 1 else ''}",
        format_quantity(float(times.kernel_s[ops[0]]), SECONDS),
        f"{one.tile}{f', k in {one.split}' if one.split > 1 else ''}",
        one.bound,
    )
