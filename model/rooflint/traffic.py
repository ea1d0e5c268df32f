"""Traffic on the chip: what the units read from the memory next to them, which is more than what comes from outside.

An operand that several tiles need is read once from outside and once for each of them from the chip's own memory. The
tile sizes are those of the allocation. docs/method-energy.md has the formulas.
"""

import math

import numpy as np
from numpy.typing import NDArray

from rooflint.allocation import Allocation, Part
from rooflint.hardware import ComputeUnit
from rooflint.layouts import is_product
from rooflint.precision import bytes_per_element
from rooflint.workload import Workload


def chip_bytes(allocation: Allocation, work: Workload, storage: str) -> NDArray[np.float64]:
    """Bytes that go between the units and the large memory of the chip. [B], shape (ops,)"""
    elements = np.asarray(work.elements_in + work.elements_weight + work.elements_out, dtype=np.float64)
    for part in allocation.parts:
        if part.blocks.noun == "output tile":
            read = _read(part, work) + work.elements_out[part.ops]
            elements[part.ops] = np.maximum(elements[part.ops], read)
    return elements * bytes_per_element(storage)


def _read(part: Part, work: Workload) -> NDArray[np.float64]:
    """Elements that tiles read: each its own rows and columns, over the whole sum; nothing lies beyond an edge.

    All rows once for each tile across, all columns once for each tile down. A systolic array holds its weights, so it
    reads the columns once.
    """
    m, n, k, groups = (column[part.ops].astype(np.float64) for column in (work.m, work.n, work.k, work.groups))
    across = np.ceil(n / part.blocks.columns)
    down = 1.0 if part.fill_drain_clocks else np.ceil(m / part.blocks.rows)
    return np.asarray(groups * k * (m * across + n * down))


def operand_bytes(work: Workload, storage: str, operands_per_mac: float) -> NDArray[np.float64]:
    """Operands of the multiply-accumulates, and one for each other op, from the nearest memory. [B], shape (ops,)"""
    return np.asarray((work.macs * operands_per_mac + work.other_ops) * bytes_per_element(storage), dtype=np.float64)


def operands_per_mac(unit: ComputeUnit, compute: str) -> float:
    """What a unit reads for a multiply-accumulate, the other operand staying in a register. [1]

    One for each MAC of a lane; of a matrix unit the rows and the columns of a square: 2·√rate for rate MACs a clock.
    """
    if unit.circuit != "systolic_mac":
        return 1.0
    return min(1.0, 2 / math.sqrt(unit.macs_per_clock(compute)))


def issued(work: Workload, macs_per_issue: float, ops_per_issue: float) -> NDArray[np.float64]:
    """Instructions of single units: MACs / those of one issue, and other ops / lanes. [1], shape (ops,)"""
    whole = np.where(is_product(work), np.ceil(work.macs / macs_per_issue), 0.0)
    return np.asarray(whole + np.ceil(work.other_ops / ops_per_issue))
