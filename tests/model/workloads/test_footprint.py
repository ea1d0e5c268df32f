"""Footprint: what lives at once, by hand and against an obvious twin; weights, cache and activations under policies."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.precision import POLICIES
from rooflint.workloads.builders import mlp
from rooflint.workloads.configuration import Experts, Latent, Transformer
from rooflint.workloads.flow import INPUT, Flow
from rooflint.workloads.footprint import footprint, live_elements
from rooflint.workloads.networks import network_named
from rooflint.workloads.ops import Op
from rooflint.workloads.tables import load_workload, workload_ids
from rooflint.workloads.transformer import Step, table
from rooflint.workloads.workload import Workload, WorkloadError

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


def test_what_is_returned_stays_to_the_end_and_what_is_not_read_goes_at_once():
    # a 2 and b 3 from an input of 5; b is returned, c 4 is not read, d 1 reads a
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


# ---------------------------------------------------------------------------------------------------- under a policy

# 2 heads of queries share one head of keys; a head has 4 elements
TINY = Transformer(
    "tiny", layers=3, hidden=8, heads=2, kv_heads=1, head_size=4, feed_forward=16, vocabulary=32, context=64
)
ROUTED = replace(TINY, bias="all", experts=Experts(count=4, per_token=2, feed_forward=16, layers=2, bias=True))
LATENT = replace(TINY, latent=Latent(query_rank=6, kv_rank=5, nope_size=3, rope_size=2, value_size=4))
# of a layer: qkv 8 × 16, out 8 × 8, gate and up 8 × 32, down 16 × 8
LINEAR = 3 * (128 + 64 + 256 + 128)


def test_a_policy_narrows_the_products_of_the_blocks_and_nothing_else():
    found, rest = footprint(table(TINY)), TINY.parameters - LINEAR
    # embedding and head 2 × 32 × 8, two norms of 8 a layer and one at the end
    assert rest == 512 + 3 * 16 + 8
    # 1728 / 128 is 13.5 groups of 128, so 14 scales of 2 B
    assert found.weight_bytes("w4a16") == LINEAR / 2 + 14 * 2 + rest * 2
    assert found.weight_bytes("fp8-kv16") == LINEAR + rest * 2
    # a scale of 2 B for each of 16 + 8 + 32 + 8 output channels of 3 layers
    assert found.weight_bytes("w8a8") == LINEAR + 3 * 64 * 2 + rest * 2
    # 54 blocks of 32
    assert found.weight_bytes("mxfp4") == LINEAR / 2 + 54 + rest * 2


def test_mxfp4_narrows_experts_alone_where_there_are_some_and_leaves_their_biases():
    # 2 layers × 4 experts × (8 × 32 + 16 × 8)
    narrow = 2 * 4 * 384
    found = footprint(table(ROUTED)).weight_bytes("mxfp4")
    assert found == narrow / 2 + narrow / 32 + (ROUTED.parameters - narrow) * 2
    assert footprint(table(ROUTED)).weight_bytes("fp8-kv8") < 2 * ROUTED.parameters - narrow


def test_the_cache_has_a_precision_of_its_own():
    # 5 tokens × 3 layers × 2 × 4 elements
    found = footprint(table(TINY, 1, 5))
    assert [found.cache_bytes(name) for name in ("bf16", "w4a16", "w4a16-kv8", "fp8-kv8", "fp8")] == [
        240, 240, 120, 120, 120,
    ]  # fmt: skip
    assert found.peak_activation_bytes("w8a8") == found.peak_activation_bytes("bf16")


def test_bytes_of_a_step_by_hand():
    work = table(TINY, 2, 1, [Step(9)])
    moved = dict(zip(work.op_names.tolist(), work.bytes_moved("w8a8-kv8").tolist(), strict=True))
    # qkv of 2 tokens in 3 layers: 8 in of 1 B, 8 × 16 weights of 1 B and 16 scales of 2 B, 16 out of 2 B
    assert moved["qkv"] == 3 * (2 * 8 + 128 + 32 + 2 * 16 * 2)
    # attention: 2 × 8 of queries of 2 B, 2 × 10 tokens × 8 of keys and values of 1 B, 2 × 8 out of 2 B
    assert moved["attention"] == 3 * (32 + 160 + 32)
    # cache: 2 × 8 in of 2 B, out of 1 B
    assert moved["cache"] == 3 * (32 + 16)
    # the head stays wide: 2 × 8 in, 32 × 8 weights, 2 × 32 out
    assert moved["head"] == 2 * (16 + 256 + 64)


@pytest.mark.parametrize("net", [TINY, ROUTED, LATENT], ids=["dense", "experts", "latent"])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_network_reads_the_weights_that_it_keeps(net, policy):
    # a prompt that hits all experts reads everything but the embedding, of which it picks rows
    work = table(net, 1, 60)
    embedding = 2 * net.embedding_parameters
    read = work.weight_bytes(policy).sum()
    # scales of blocks that are begun in each row, and not once for all rows
    assert read + embedding == pytest.approx(footprint(work).weight_bytes(policy), rel=0.02)
    assert (work.weight_bytes(policy) <= work.weight_bytes("bf16")).all()


@pytest.mark.parametrize("policy", POLICIES)
def test_fusion_keeps_weights_and_cache(policy):
    work = table(ROUTED, 2, 1, [Step(9)])
    fused = work.fused()
    assert len(fused) < len(work)
    assert fused.weight_bytes(policy).sum() == work.weight_bytes(policy).sum()
    assert fused.bytes_moved(policy).sum() < work.bytes_moved(policy).sum()
    assert fused.narrow(policy).sum() == work.narrow(policy).sum()
    assert footprint(fused).weight_bytes(policy) == footprint(work).weight_bytes(policy)


def test_deepseek_v3_takes_what_its_files_take():
    # 688 586 727 753 B of safetensors files on the Hub. They hold a 62nd layer that predicts a second token, with
    # copies of embedding and head, a product of 2 × 7168 to 7168 and three norms, all but its experts counted here.
    net = network_named("deepseek-v3").transformer
    whole = replace(net, layers=62, experts=replace(net.experts, layers=59))
    beside = 2 * (2 * net.vocabulary * net.hidden + 2 * net.hidden**2 + 3 * net.hidden)
    found = footprint(table(whole)).weight_bytes("fp8-block") + beside
    # headers of the files and biases of the router are left
    assert found == pytest.approx(688_586_727_753, rel=2e-5)
