"""Allocations: products and other ops side by side, how each is shown, and what stands behind it."""

import numpy as np
import pytest

from rooflint.hardware.registry import Registry
from rooflint.mapping.allocate import allocate
from rooflint.workloads.ops import Op
from rooflint.workloads.workload import Workload

#: A product of 300 × 128 and an addition of 3000 on a TPU v4: 8 MXUs of 128 × 128 in 2 cores.
TWO = Workload.from_ops(
    "two",
    [
        Op("fc", "linear", 300 * 128 * 128, 0, 300 * 128, 128 * 128, 300 * 128, 300, 128, 128, 1),
        Op("add", "add", 0, 3000, 6000, 0, 3000),
    ],
)
LAID = allocate(Registry().get("google/tpu-v4"), TWO, compute="bf16")


def test_each_op_counts_the_units_that_it_lies_on():
    # ⌈300 / 128⌉ = 3 tiles on 8 MXUs; 3000 / 1024 = 3 registers on 2 cores, the third in a second wave
    assert [LAID.display(op) for op in (0, 1)] == ["3/8 MXU", "2/2 core"]
    assert LAID.utilization.tolist() == [3 / 8, 1]
    assert LAID.waves.tolist() == [1, 2]
    assert LAID.last_units.tolist() == [3, 1]
    assert LAID.total.tolist() == [8, 2]


def test_the_reason_names_the_quantity_that_decides():
    assert LAID.reason(0) == "3 output tiles of 128 × 128"
    assert LAID.reason(1) == "3 registers of 1024 outputs in 2 waves of 2, 1 core in the last"


def test_what_stays_empty_is_told_apart():
    # wave quantization: 3 of 8 slots, 3 of 4; padding: 300 of 384 rows, 3000 of 3072 outputs
    assert LAID.idle_slots.tolist() == [5 / 8, 1 / 4]
    assert LAID.padding == pytest.approx([1 - 300 / 384, 1 - 3000 / 3072])


def test_only_arrays_fill_and_drain():
    assert LAID.fill_drain_clocks.tolist() == [382, 0]


def test_columns_are_as_long_as_the_workload():
    assert len(LAID) == 2
    assert all(len(column) == 2 for column in (LAID.blocks, LAID.slots, LAID.units))
    assert np.array_equal(LAID.unit_names, ["MXU", "core"])
