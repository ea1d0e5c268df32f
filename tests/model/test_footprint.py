"""Footprint: what lives at once, by hand and against an obvious twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.flow import INPUT, Flow
from rooflint.footprint import footprint, live_elements
from rooflint.workload import Op, Workload, WorkloadError, mlp
from rooflint.workload_tables import load_workload, workload_ids

#   input ── conv1 ── bn1 ── relu1 ──┬── conv2 ── bn2 ── add ── relu2 ── pool ── fc
#     8       16       16      16    │     16      16     16      16       4      2
#                                    └────────────────────┘
NAMES = {
    "conv1": "conv2d", "bn1": "batch_norm", "relu1": "relu", "conv2": "conv2d", "bn2": "batch_norm", "add": "add",
    "relu2": "relu", "pool": "avg_pool", "fc": "linear",
}  # fmt: skip
READ, WRITTEN = (8, 16, 16, 16, 16, 32, 16, 16, 4), (16, 16, 16, 16, 16, 16, 16, 4, 2)
RESIDUAL = Workload.from_ops(
    "residual",
    [
        Op(name, kind, elements_in=read, elements_weight=3, elements_out=written)
        for (name, kind), read, written in zip(NAMES.items(), READ, WRITTEN, strict=True)
    ],
    flow=Flow(((INPUT,), (0,), (1,), (2,), (3,), (2, 4), (5,), (6,), (7,)), (8,), 8),
)


def test_a_residual_network_holds_three_results_where_its_branches_meet():
    # conv1 8 + 16; bn1, relu1 16 + 16; conv2 relu1 + conv2; bn2 relu1 + conv2 + bn2; add relu1 + bn2 + add; …
    found = footprint(RESIDUAL)
    assert found.activation_elements.tolist() == [24, 32, 32, 32, 48, 48, 32, 20, 6]
    assert (found.peak_activation_elements, found.peak_op) == (48, "bn2")
    assert found.weight_elements == 9 * 3
    assert (found.peak_activation_bytes("fp16"), found.weight_bytes("int8")) == (96, 27)


def test_fused_it_holds_two():
    # conv1 8 + 16; conv2 relu1 + relu2; pool 16 + 4; fc 4 + 2
    found = footprint(RESIDUAL.fused())
    assert found.activation_elements.tolist() == [24, 32, 20, 6]
    assert found.peak_op == "conv2 + batch_norm + add + relu"
    assert found.weight_elements == 27


def test_an_mlp_holds_what_a_layer_reads_and_writes():
    # 16 × (1024 + 512) in fc1, 16 × (512 + 256) in fc2; 1024·512 + 512 + 512·256 + 256 weights
    found = footprint(mlp([1024, 512, 256], batch=16))
    assert found.activation_elements.tolist() == [24_576, 12_288]
    assert found.weight_elements == 656_128


def test_resnet18_peaks_at_its_first_norm_and_fused_at_its_first_pool():
    # 64 × 112² = 802 816 elements before and after bn1; fused 802 816 and a quarter of it after the pool
    # every parameter once: 11 689 512 (torchvision's weights.meta) and 2 × 4800 running means and variances
    resnet18 = load_workload("torchvision/resnet18")
    whole, fused = footprint(resnet18), footprint(resnet18.fused())
    assert (whole.peak_activation_elements, whole.peak_op) == (1_605_632, "bn1")
    assert (fused.peak_activation_elements, fused.peak_op) == (1_003_520, "maxpool")
    assert whole.weight_elements == fused.weight_elements == 11_689_512 + 9_600


def test_weights_that_two_rows_share_are_kept_once():
    # two calls of one layer of 20 weights: read twice, kept once, where the table knows it
    rows = [Op(name, "linear", elements_weight=20, elements_in=4, elements_out=4) for name in ("fc", "fc@2")]
    tables = [Workload.from_ops("net", rows, flow=Flow.chain(2, 4, constants)) for constants in (20, None)]
    assert [footprint(table).weight_elements for table in tables] == [20, 40]
    assert [footprint(table.fused()).weight_elements for table in tables] == [20, 40]


def test_what_is_returned_stays_to_the_end_and_what_nobody_reads_goes_at_once():
    # a 2 and b 3 from an input of 5; b is returned, c 4 is read by nobody, d 1 reads a
    rows = [Op(name, "add", elements_out=size) for name, size in zip("abcd", (2, 3, 4, 1), strict=True)]
    table = Workload.from_ops("net", rows, flow=Flow(((INPUT,), (INPUT,), (0,), (0,)), (1, 3), 5))
    assert footprint(table).activation_elements.tolist() == [5 + 2, 5 + 2 + 3, 2 + 3 + 4, 2 + 3 + 1]


@pytest.mark.parametrize("workload_id", workload_ids())
def test_a_committed_network_never_holds_less_than_an_op_writes_nor_more_fused_than_not(workload_id):
    table = load_workload(workload_id)
    whole, fused = footprint(table), footprint(table.fused())
    assert (whole.activation_elements >= table.elements_out).all()
    assert fused.peak_activation_elements <= whole.peak_activation_elements


def test_a_table_without_its_data_flow_has_no_footprint():
    with pytest.raises(WorkloadError) as refused:
        footprint(Workload.from_ops("net", [Op("a", "add")]))
    assert str(refused.value) == "net has no footprint: its table does not say which op reads which result"


# ----------------------------------------------------------------------------------------------------------------- laws


@st.composite
def flows(draw):
    """Sizes of results, and any flow among them."""
    sizes = draw(st.lists(st.integers(0, 99), min_size=1, max_size=12))
    reads = [draw(st.sets(st.integers(INPUT, row - 1), max_size=3)) for row in range(len(sizes))]
    returns = draw(st.sets(st.integers(INPUT, len(sizes) - 1), max_size=3))
    flow = Flow(tuple(tuple(sorted(read)) for read in reads), tuple(sorted(returns)), draw(st.integers(0, 99)))
    return np.array(sizes), flow


def twin(sizes, flow):
    """For each op, ask of each result whether anybody wants it now or later."""
    ops, live = range(len(sizes)), []
    for now in ops:

        def wanted(result, now=now):
            return result in flow.returns or any(result in flow.reads[later] for later in ops if later >= now)

        results = sum(int(sizes[result]) for result in ops if result == now or (result < now and wanted(result)))
        live.append(results + (flow.elements_input if wanted(INPUT) else 0))
    return live


@given(flows())
def test_what_lives_is_what_somebody_still_wants(drawn):
    assert live_elements(*drawn).tolist() == twin(*drawn)


@given(flows(), st.integers(1, 50))
def test_activations_grow_with_the_batch_and_weights_do_not(drawn, batch):
    sizes, flow = drawn
    rows = [Op(f"op{row}", "add", elements_weight=2, elements_out=int(size)) for row, size in enumerate(sizes)]
    one = footprint(Workload.from_ops("net", rows, flow=flow))
    many = footprint(Workload.from_ops("net", rows, flow=flow).at_batch(batch))
    assert many.peak_activation_elements == batch * one.peak_activation_elements
    assert many.weight_elements == one.weight_elements == 2 * len(rows)
