"""Data flow: what a table says of it, and what is refused."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.hardware.registry import Registry
from rooflint.roofline import estimate
from rooflint.workloads.builders import conv2d, gemm, matrix_op, mlp
from rooflint.workloads.flow import INPUT, Flow
from rooflint.workloads.ops import ALIASES, ELEMENTWISE, FUSES, ROWWISE, Op
from rooflint.workloads.tables import load_workload
from rooflint.workloads.workload import Workload, WorkloadError

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
    ("reads", "returns", "elements", "message", "row"),
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
def test_a_flow_that_no_table_has_is_refused(reads, returns, elements, message, row):
    with pytest.raises(WorkloadError) as refused:
        Workload.from_ops("net", ROWS, 2, flow=Flow(reads, returns, elements))
    assert str(refused.value).startswith(message)
    assert refused.value.row == row


def flows(ops: int) -> st.SearchStrategy[Flow]:
    """Any data flow of so many rows."""
    reads = st.tuples(*(st.sets(st.integers(INPUT, row - 1)).map(sorted).map(tuple) for row in range(ops)))
    returns = st.sets(st.integers(INPUT, ops - 1)).map(sorted).map(tuple)
    return st.builds(Flow, reads, returns, st.just(7))


@pytest.mark.slow
@given(st.integers(1, 12).flatmap(flows))
def test_last_readers_are_those_that_a_walk_over_all_reads_finds(flow):
    end = len(flow.reads) - 1

    def last(source: int, unread: int) -> int:
        readers = [row for row, read in enumerate(flow.reads) if source in read]
        return end if source in flow.returns else max(readers, default=unread)

    assert flow.until == tuple(last(row, row) for row in range(end + 1))
    assert flow.input_until == last(INPUT, INPUT)


# ---- Fusion: which ops run in one kernel, by hand and by law

#   input ── conv1 ── bn1 ── relu1 ──┬── conv2 ── bn2 ── add ── relu2 ── pool ── fc
#                                    └────────────────────┘
RESIDUAL = Workload.from_ops(
    "residual",
    [
        matrix_op("conv1", "conv2d", (4, 4, 2, 1), (8, 8, 16)),
        Op("bn1", "batch_norm", 0, 80, 16, 16, 16),
        Op("relu1", "relu", 0, 16, 16, 0, 16),
        matrix_op("conv2", "conv2d", (4, 4, 4, 1), (16, 16, 16)),
        Op("bn2", "batch_norm", 0, 80, 16, 16, 16),
        Op("add", "add", 0, 16, 32, 0, 16),
        Op("relu2", "relu", 0, 16, 16, 0, 16),
        Op("pool", "avg_pool", 0, 0, 16, 0, 4),
        matrix_op("fc", "linear", (1, 2, 4, 1), (4, 10, 2)),
    ],
    flow=Flow(((INPUT,), (0,), (1,), (2,), (3,), (2, 4), (5,), (6,), (7,)), (8,), 8),
)


# ---------------------------------------------------------------------------------------------------------- hand counts


def test_a_residual_network_is_four_kernels():
    # bn1 and relu1 ride on conv1; relu1's result is wanted twice, so it is written; bn2, add and relu2 ride on conv2,
    # whose kernel reads relu1's 16 elements for the convolution and 16 more for the addition
    assert list(RESIDUAL.fused().rows()) == [
        Op("conv1 + batch_norm + relu", "conv2d", 32, 96, 8, 24, 16, 4, 4, 2, 1),
        Op("conv2 + batch_norm + add + relu", "conv2d", 64, 112, 32, 32, 16, 4, 4, 4, 1),
        Op("pool", "avg_pool", 0, 0, 16, 0, 4),
        Op("fc", "linear", 8, 0, 4, 10, 2, 1, 2, 4, 1),
    ]
    assert RESIDUAL.fused().flow == Flow(((INPUT,), (0,), (1,), (2,)), (3,), 8)


def test_linear_layers_without_activations_have_nothing_to_fuse():
    assert mlp([8, 4, 2], batch=3).fused() == mlp([8, 4, 2], batch=3)


def test_resnet18_is_23_kernels():
    # 20 convolutions, each with its norm; 17 ReLUs and 8 additions ride on the convolution before them (in a block with
    # a downsample that is the downsample's, which runs last); two pools, one linear layer
    table = load_workload("torchvision/resnet18").fused()
    assert Counter(table.kinds.tolist()) == {"conv2d": 20, "max_pool": 1, "avg_pool": 1, "linear": 1}
    names = Counter(name.partition(" + ")[2] for name in table.op_names.tolist())
    # first convolutions of 8 blocks and conv1; second ones of 5 blocks and 3 downsamples; 3 second ones
    assert names == {"batch_norm + relu": 9, "batch_norm + add + relu": 8, "batch_norm": 3, "": 3}


def test_vgg16_is_22_kernels():
    # 13 convolutions and 3 linear layers with their 15 ReLUs, 5 pools and the one that adapts: 37 ops, 22 kernels
    table = load_workload("torchvision/vgg16").fused()
    assert Counter(table.kinds.tolist()) == {"conv2d": 13, "linear": 3, "max_pool": 5, "avg_pool": 1}


#: Three ops; `first`'s result goes to the second, and what the case says decides whether the second rides on it.
FIRST, SECOND, THIRD = (Op(name, kind, 0, 6, 6, 0, 6) for name, kind in (("a", "conv2d"), ("b", "relu"), ("c", "cat")))


@pytest.mark.parametrize(
    ("rows", "reads", "returns", "names"),
    [
        ([FIRST, SECOND, THIRD], ((INPUT,), (0,), (1,)), (2,), ["a + relu", "c"]),
        ([FIRST, SECOND, THIRD], ((INPUT,), (0,), (0, 1)), (2,), ["a", "b", "c"]),  # another reader
        ([FIRST, SECOND, THIRD], ((INPUT,), (0,), (1,)), (0, 2), ["a", "b", "c"]),  # returned
        ([FIRST._replace(elements_out=7), SECOND, THIRD], ((INPUT,), (0,), (1,)), (2,), ["a", "b", "c"]),  # a slice
        ([FIRST, SECOND._replace(elements_in=3), THIRD], ((INPUT,), (0,), (1,)), (2,), ["a", "b", "c"]),  # stretched
        ([FIRST, SECOND, THIRD], ((INPUT,), (INPUT,), (0, 1)), (2,), ["a", "b", "c"]),  # nothing but the input
        ([FIRST, SECOND._replace(kind="softmax"), THIRD], ((INPUT,), (0,), (1,)), (2,), ["a", "b", "c"]),
        ([FIRST._replace(kind="softmax"), SECOND, THIRD], ((INPUT,), (0,), (1,)), (2,), ["a + relu", "c"]),
    ],
)
def test_an_elementwise_op_joins_the_last_result_that_it_alone_wants_whole(rows, reads, returns, names):
    table = Workload.from_ops("three", rows, flow=Flow(reads, returns, 6)).fused()
    assert table.op_names.tolist() == names


def test_a_kernel_stands_where_its_last_op_stood():
    #   input ── a ── c = relu(a) ──┬── cat        b runs between a and c
    #         └── b ────────────────┘
    rows = [FIRST, FIRST._replace(name="b"), SECOND._replace(name="c"), THIRD._replace(name="d", elements_in=12)]
    table = Workload.from_ops("two branches", rows, flow=Flow(((INPUT,), (INPUT,), (0,), (1, 2)), (3,), 6)).fused()
    assert table.op_names.tolist() == ["b", "a + relu", "d"]
    assert table.flow.reads == ((INPUT,), (INPUT,), (0, 1))


def test_an_activation_of_two_ops_is_one_with_its_convolution():
    #   a ──┬── sigmoid ── mul        SiLU: mul rides on sigmoid, both want a, and then nobody else does
    #       └────────────────┘        6 elements in, 6 out; neither a's result nor sigmoid's reaches memory
    rows = [FIRST, Op("s", "sigmoid", 0, 24, 6, 0, 6), Op("p", "mul", 0, 6, 12, 0, 6)]
    table = Workload.from_ops("silu", rows, flow=Flow(((INPUT,), (0,), (0, 1)), (2,), 6)).fused()
    assert list(table.rows()) == [Op("a + sigmoid + mul", "conv2d", 0, 36, 6, 0, 6)]


def test_an_operand_that_two_elementwise_ops_of_a_kernel_want_is_read_once():
    #   x·sigmoid(x) of the input: 6 elements in
    rows = [Op("s", "sigmoid", 0, 24, 6, 0, 6), Op("p", "mul", 0, 6, 12, 0, 6)]
    table = Workload.from_ops("silu", rows, flow=Flow(((INPUT,), (INPUT, 0)), (1,), 6)).fused()
    assert list(table.rows()) == [Op("s + mul", "sigmoid", 0, 30, 6, 0, 6)]


def test_a_product_between_activations_gets_groups_although_a_bias_rides_on_it():
    # scores of 2 samples, 3 × 3 each, and a bias that all samples share: at 4 samples 4 products, not 6 rows
    rows = [matrix_op("scores", "matmul", (3, 3, 5, 2), (60, 0, 18)), Op("bias", "add", 0, 18, 18, 9, 18)]
    table = Workload.from_ops("scores", rows, 2, flow=Flow.chain(2, 60)).fused()
    (row,) = table.at_batch(4).rows()
    assert (row.m, row.groups, row.elements_weight) == (3, 4, 9)


def test_a_table_without_its_data_flow_cannot_be_fused():
    with pytest.raises(WorkloadError) as refused:
        Workload.from_ops("net", [FIRST]).fused()
    assert str(refused.value) == "net cannot be fused: its table does not say which op reads which result"


#: What we count by the element of its result, and is no element-wise op.
STARTS_A_KERNEL = {
    "softmax": "a sum over a line",
    "log_softmax": "a sum over a line",
    "layer_norm": "mean and variance of a line",
    "group_norm": "mean and variance of a group",
    "instance_norm": "mean and variance of a channel",
    "rms_norm": "the mean square of a line",
    "glu": "two halves of a line",
    "cumsum": "all elements before it",
    "rope": "the partner in the other half of a head",
    "upsample_bilinear2d": "four neighbours",
    "upsample_trilinear3d": "eight neighbours",
    "upsample_bicubic2d": "sixteen neighbours",
}


def test_every_op_that_is_counted_by_element_is_elementwise_or_says_why_not():
    assert set(STARTS_A_KERNEL) == {ALIASES.get(op, op) for op in ROWWISE}
    assert {ALIASES.get(op, op) for op in ELEMENTWISE} | {"gelu"} == FUSES
    assert not FUSES & set(STARTS_A_KERNEL)


# ----------------------------------------------------------------------------------------------------------------- laws

H100 = Registry().get("nvidia/h100-sxm5-80gb")
KINDS = ["relu", "add", "mul", "batch_norm", "add", "softmax", "max_pool", "cat", "conv2d", "matmul"]


@st.composite
def graphs(draw):
    """Any table with a data flow: few sizes, so that much can be fused; operands read whole, or a slice of one."""
    batch, rows, reads = draw(st.integers(1, 3)), [], []
    elements_input = 6 * batch
    for position in range(draw(st.integers(1, 12))):
        sources = draw(st.sets(st.integers(max(INPUT, position - 4), position - 1), max_size=3))
        sizes = [elements_input if source == INPUT else rows[source].elements_out for source in sources]
        kind, size = draw(st.sampled_from(KINDS)), batch * draw(st.sampled_from([6, 6, 6, 2]))
        read = max(0, sum(sizes) - batch * draw(st.sampled_from([0, 0, 0, 4])))
        constants = draw(st.sampled_from([0, 3]))
        shape = (0, 0, 0, 0)
        if kind in ("conv2d", "matmul"):
            shape = (batch, 2, 3, 2) if constants else (2, 2, 3, batch)
        macs = shape[0] * shape[1] * shape[2] * shape[3]
        rows.append(Op(f"op{position}", kind, macs, size, read, constants, size, *shape))
        reads.append(tuple(sorted(sources)))
    returns = draw(st.sets(st.integers(INPUT, len(rows) - 1), max_size=2))
    return Workload.from_ops("net", rows, batch, flow=Flow(tuple(reads), tuple(sorted(returns)), elements_input))


@pytest.mark.slow
@given(graphs())
def test_fusing_conserves_arithmetic_and_weights(graph):
    for quantity in ("macs", "other_ops", "ops", "elements_weight"):
        assert getattr(graph.fused(), quantity).sum() == getattr(graph, quantity).sum()


@given(graphs())
def test_fusing_never_moves_more(graph):
    for quantity in ("elements_in", "elements_out"):
        assert getattr(graph.fused(), quantity).sum() <= getattr(graph, quantity).sum()


@given(graphs())
def test_fusing_writes_less_by_the_results_that_stay_inside(graph):
    # each op that joins leaves one result of its own size unwritten
    inside = {name.partition(" + ")[0]: name.count(" + ") for name in graph.fused().op_names.tolist()}
    assert sum(inside.values()) == len(graph) - len(graph.fused())
    sizes = dict(zip(graph.op_names.tolist(), graph.elements_out.tolist(), strict=True))
    saved = sum(count * sizes[head] for head, count in inside.items())
    assert graph.elements_out.sum() - graph.fused().elements_out.sum() == saved


@given(graphs())
def test_fusing_twice_is_fusing_once(graph):
    assert graph.fused().fused() == graph.fused()


@pytest.mark.slow
@given(graphs(), st.integers(1, 7))
def test_fusing_commutes_with_the_batch(graph, batch):
    assert graph.at_batch(batch).fused() == graph.fused().at_batch(batch)


@given(graphs())
def test_a_fused_network_is_never_slower_on_the_roofline(graph):
    # max(a, b) + max(c, d) ≥ max(a + c, b + d − what stays inside)
    fused, whole = (estimate(H100, table, compute="fp16").latency_s for table in (graph.fused(), graph))
    assert fused <= whole * (1 + 1e-12)


@pytest.mark.slow
@given(graphs())
def test_a_result_that_is_returned_is_still_written(graph):
    fused = graph.fused()
    sizes = [sum(int(table.elements_out[row]) for row in table.flow.returns if row >= 0) for table in (graph, fused)]
    assert sizes[0] == sizes[1]


@given(graphs())
def test_what_could_join_has_joined(graph):
    rows, flow = list(graph.fused().rows()), graph.fused().flow
    readers = flow.readers()
    for row, read in zip(rows, flow.reads, strict=True):
        last = max(read, default=INPUT)
        if row.kind in FUSES and last != INPUT and row.elements_in >= row.elements_out:
            same_size = rows[last].elements_out == row.elements_out
            assert len(readers[last]) > 1 or last in flow.returns or not same_size
