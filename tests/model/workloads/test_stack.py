"""Stacks: rows of several tables under one another, and sums over the ops of each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.workloads.builders import gemm, mlp
from rooflint.workloads.ops import QUANTITIES
from rooflint.workloads.stack import stacked, stacks, whole
from rooflint.workloads.tables import load_workload
from rooflint.workloads.workload import Workload, WorkloadError

ONE, TWO, THREE = mlp([4, 4], batch=2), mlp([8, 8, 8], bias=False), gemm(2, 3, 5)


def test_the_rows_of_a_stack_are_those_of_its_tables():
    stack = stacked([ONE, TWO, THREE])
    assert list(stack.work.rows()) == [*ONE.rows(), *TWO.rows(), *THREE.rows()]
    assert stack.starts.tolist() == [0, 1, 3]


def test_sums_are_of_each_table():
    # ops 0 | 1, 2 | 3
    stack = stacked([ONE, TWO, THREE])
    values = np.array([1.0, 10.0, 100.0, 1000.0])
    assert stack.sums(values).tolist() == [1, 110, 1000]
    assert stack.sums(np.stack([values, 2 * values])).tolist() == [[1, 110, 1000], [2, 220, 2000]]
    assert whole(values) == 1111


def test_sums_of_some_ops_are_zero_where_a_table_has_none():
    stack, values = stacked([ONE, TWO, THREE]), np.array([1.0, 10.0, 100.0, 1000.0])
    which = np.array([False, True, False, False])
    assert stack.sums(values, which).tolist() == [0, 10, 0]
    assert stack.sums(values, ~which).tolist() == [1, 100, 1000]
    assert stack.sums(values, which & ~which).tolist() == [0, 0, 0]
    assert stack.sums(values[None], which[None]).tolist() == [[0, 10, 0]]
    assert whole(values, which) == 10


@pytest.mark.slow
@given(st.lists(st.integers(1, 300), min_size=1, max_size=5), st.integers(0, 2**32 - 1))
def test_a_sum_in_a_stack_is_to_the_bit_that_of_the_table_alone(lengths, seed):
    draw = np.random.default_rng(seed)
    rows = list(gemm(2, 3, 5).rows())
    tables = [Workload.from_ops("one", [rows[0]._replace(name=f"op{n}") for n in range(length)]) for length in lengths]
    stack, values = stacked(tables), draw.lognormal(0, 9, sum(lengths))
    which, ends = draw.random(len(values)) < 0.5, np.cumsum(lengths)
    for total, some, begin, end in zip(
        stack.sums(values), stack.sums(values, which), ends - lengths, ends, strict=True
    ):
        assert total == whole(values[begin:end])
        assert some == whole(values[begin:end], which[begin:end])


def test_sums_that_are_kept_are_those_of_their_own_arrays():
    stack = stacked([ONE, TWO])
    for number in range(100):
        values = np.full(3, float(number))
        values.setflags(write=False)
        assert stack.sums(values).tolist() == stack.sums(values).tolist() == [number, 2 * number]


def test_sums_of_an_array_that_changes_are_not_kept():
    stack, values = stacked([ONE, TWO]), np.ones(3)
    assert stack.sums(values).tolist() == [1, 2]
    values[0] = 5
    assert stack.sums(values).tolist() == [5, 2]


def test_the_memory_of_each_table_is_that_of_its_footprint():
    # in FP16: input and output 2 × 4, weights 16 + 4: 36 elements × 2 B; input and output 8, weights 2 × 64: 144 × 2 B
    unknown = Workload.from_ops("unknown", list(THREE.rows()))
    stack = stacked([ONE, TWO, unknown])
    assert stack.peak_bytes("fp16")[:2].tolist() == [72, 288]
    assert np.isnan(stack.peak_bytes("fp16")[2])
    assert stack.peak_bytes("int8")[:2].tolist() == [36, 144]
    assert stack.without_footprint[:2] == ("", "")
    assert stack.without_footprint[2].startswith("unknown has no footprint")


def test_a_stack_keeps_windows_and_what_gets_rows():
    table = load_workload("torchvision/resnet18")
    work = stacked([table.fused(), table.at_batch(8)]).work
    assert work.windows == (*table.fused().windows, *table.windows)
    assert work.gets_rows.tolist() == [*table.fused().gets_rows.tolist(), *table.gets_rows.tolist()]
    for quantity in QUANTITIES:
        assert not getattr(work, quantity).flags.writeable


def test_a_stack_has_no_other_batch():
    with pytest.raises(WorkloadError, match="it is a stack of tables"):
        _ = stacked([ONE, TWO]).work.at_batch(7)


def test_stacks_hold_so_many_ops_at_most_in_the_order_of_tables():
    found = list(stacks([ONE, TWO, THREE, TWO], most_ops=3))
    assert [[len(table) for table in stack.tables] for stack in found] == [[1, 2], [1, 2]]
    assert [len(stack.work) for stack in stacks([TWO, ONE], most_ops=1)] == [2, 1]
    assert list(stacks([])) == []
