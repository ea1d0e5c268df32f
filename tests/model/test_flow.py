"""Data flow: what a table says of it, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.flow import INPUT, Flow
from rooflint.workload import Op, Workload, WorkloadError, conv2d, gemm, mlp

#   input ── a ──┬── b ── d ──        a's result is read by b and c, the input by a and d
#     │          └── c ─────
#     └──────────────── d
FORK = Flow(((INPUT,), (0,), (0,), (INPUT, 1)), (2, 3), 6)
ROWS = [Op(name, "add", elements_in=6, elements_out=6) for name in "abcd"]


def test_the_readers_of_a_result_are_the_rows_that_read_it():
    assert FORK.readers() == [{1, 2}, {3}, set(), set()]


def test_in_a_chain_each_op_reads_the_one_above_it():
    assert Flow.chain(3, 5) == Flow(((INPUT,), (0,), (1,)), (2,), 5)


@pytest.mark.parametrize(
    ("built", "elements"),
    [
        (mlp([8, 4, 2], batch=3), 3 * 8),
        (gemm(2, 3, 5, batch=4), 4 * 2 * 5),
        (conv2d(c_in=3, h=5, w=5, c_out=2, kernel=3), 3 * 5 * 5),
    ],
)
def test_the_builders_know_their_flow(built, elements):
    assert built.flow == Flow.chain(len(built), elements, built.elements_weight.sum())
    assert built.at_batch(12).flow.elements_input == 12 * elements // built.batch


def test_two_tables_that_read_otherwise_are_two():
    tables = {Workload.from_ops("net", ROWS, flow=flow) for flow in (FORK, Flow.chain(4, 6), None, Flow.chain(4, 6))}
    assert len(tables) == 3


def test_a_flow_grows_with_the_batch():
    # twice the input, the same constants
    flow = Flow(FORK.reads, FORK.returns, 6, 100)
    assert Workload.from_ops("net", ROWS, 2, flow=flow).at_batch(4).flow == Flow(FORK.reads, FORK.returns, 12, 100)


@pytest.mark.parametrize(
    ("reads", "returns", "elements", "said", "row"),
    [
        (((INPUT,), (0,), (0,)), (2,), 6, "net: want what each of 4 ops reads, found 3", None),
        (((INPUT,), (1,), (0,), (0,)), (3,), 6, "b: want to read results of ops above it, in their order", 1),
        (((INPUT,), (0,), (3,), (0,)), (3,), 6, "c: want to read results of ops above it, in their order", 2),
        (((INPUT,), (0, INPUT), (0,), (0,)), (3,), 6, "b: want to read results of ops above it, in their order", 1),
        (((INPUT,), (0, 0), (0,), (0,)), (3,), 6, "b: want to read results of ops above it, in their order, each", 1),
        (((-2,), (0,), (0,), (0,)), (3,), 6, "a: want to read results of ops above it", 0),
        (FORK.reads, (4,), 6, "net: want to return results of its ops, in their order, each once", None),
        (FORK.reads, (3, 2), 6, "net: want to return results of its ops, in their order, each once", None),
        (FORK.reads, (3,), -6, "net: want no negative number of elements in its input", None),
        (FORK.reads, (3,), 2**53 + 2, "net: want numbers no larger than 2^53", None),
        (FORK.reads, (3,), 5, "net: want an input whose elements are a multiple of the batch", None),
    ],
)
def test_a_flow_that_no_table_has_is_refused(reads, returns, elements, said, row):
    with pytest.raises(WorkloadError) as refused:
        Workload.from_ops("net", ROWS, 2, flow=Flow(reads, returns, elements))
    assert str(refused.value).startswith(said)
    assert refused.value.row == row


def flows(ops: int) -> st.SearchStrategy[Flow]:
    """Any data flow of so many rows."""
    reads = st.tuples(*(st.sets(st.integers(INPUT, row - 1)).map(sorted).map(tuple) for row in range(ops)))
    returns = st.sets(st.integers(INPUT, ops - 1)).map(sorted).map(tuple)
    return st.builds(Flow, reads, returns, st.just(7))


@given(st.integers(1, 12).flatmap(flows))
def test_last_readers_are_those_that_a_walk_over_all_reads_finds(flow):
    end = len(flow.reads) - 1

    def last(source: int, unread: int) -> int:
        readers = [row for row, read in enumerate(flow.reads) if source in read]
        return end if source in flow.returns else max(readers, default=unread)

    assert flow.until == tuple(last(row, row) for row in range(end + 1))
    assert flow.input_until == last(INPUT, INPUT)
