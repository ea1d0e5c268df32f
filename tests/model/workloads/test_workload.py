"""Workloads: hand counts first, then the shapes that hold for every workload."""

import pickle
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.precision import PRECISIONS, UnknownPrecisionError
from rooflint.workloads.builders import conv2d, gemm, mlp
from rooflint.workloads.footprint import footprint
from rooflint.workloads.ops import QUANTITIES, Op, Window
from rooflint.workloads.tables import load_workload, workload_ids
from rooflint.workloads.workload import LARGEST, MOST, Workload, WorkloadError

SEED_MLP = mlp([1024, 1024, 1024], batch=16, bias=True)


# ---------------------------------------------------------------------------------------------------------- hand counts


def test_the_mlp_multiplies_and_accumulates_once_for_each_weight_and_sample():
    # 2 layers × 16 samples × 1024 × 1024 = 33 554 432 MAC
    assert SEED_MLP.total_macs == 33_554_432


def test_a_bias_is_no_op_because_it_rides_in_the_accumulator():
    # 2 op/MAC × 33 554 432 MAC, and nothing for 2 × 16 × 1024 bias additions
    assert SEED_MLP.total_ops == 67_108_864
    assert mlp([1024, 1024, 1024], batch=16, bias=False).total_ops == 67_108_864


def test_a_bias_is_read():
    # 2 layers × 1024 biases × 4 B
    without = mlp([1024, 1024, 1024], batch=16, bias=False)
    assert SEED_MLP.total_bytes("fp32") - without.total_bytes("fp32") == 8192


def test_bytes_of_the_mlp_are_weights_and_biases_and_what_goes_in_and_out_of_each_layer():
    # 2 × 1024² × 4 + 2 × 1024 × 4 + 4 × 16 × 1024 × 4 = 8 658 944 B
    assert SEED_MLP.total_bytes("fp32") == 8_658_944
    # half of it a layer
    assert SEED_MLP.bytes_moved("fp32").tolist() == [4_329_472, 4_329_472]


def test_bytes_shrink_with_storage_precision():
    # 2 layers × (1024² + 1024) weights × 1 B + 4 × 16 × 1024 activations × 1 B = 2 164 736 B
    assert SEED_MLP.total_bytes("int8") == 2_164_736


def test_each_tensor_pays_for_the_scales_of_the_blocks_that_it_begins():
    # in 2 × 40 elements × 0.75 B + 3 scales; weights 40 × 3 × 0.75 B + 4 scales; out 2 × 3 × 0.75 B + 1 scale
    assert gemm(2, 3, 40).total_bytes("mxfp6") == (60 + 3) + (90 + 4) + (4.5 + 1)
    assert footprint(gemm(2, 3, 40)).weight_bytes("mxfp6") == 94


def test_intensity_is_ops_over_bytes():
    # 67 108 864 op / 8 658 944 B = 7.75 op/B, four times that where an element is one byte
    assert SEED_MLP.intensity_ops_per_byte("fp32") == pytest.approx(7.75, rel=1e-4, abs=0)
    assert SEED_MLP.intensity_ops_per_byte("int8") == pytest.approx(31.00, rel=1e-4, abs=0)


def test_gemm_moves_each_matrix_once():
    # 2 × 3 × 5 = 30 MAC; 2 × 5 in, 5 × 3 weights, 2 × 3 out
    (row,) = gemm(2, 3, 5).rows()
    assert row == Op("gemm", "gemm", 30, 0, 10, 15, 6, m=2, n=3, k=5, groups=1)


def test_resnets_first_convolution():
    # 112 × 112 positions × 64 channels × (3 × 7 × 7) = 118 013 952 MAC; 3 × 224² in, 64 × 147 weights, 64 × 112² out
    (row,) = conv2d(c_in=3, h=224, w=224, c_out=64, kernel=7, stride=2, padding=3, bias=False).rows()
    product, window = (12_544, 64, 147, 1), Window(7, 7, stride=2, dilation=1, height=112, width=112)
    assert row == Op("conv2d", "conv2d", 118_013_952, 0, 150_528, 9_408, 802_816, *product, window)


def test_a_depthwise_convolution_has_one_group_a_channel():
    # 32 channels × 112² positions × 9 = 3 612 672 MAC
    (row,) = conv2d(c_in=32, h=112, w=112, c_out=32, kernel=3, padding=1, groups=32, bias=False).rows()
    assert (row.macs, row.m, row.n, row.k, row.groups) == (3_612_672, 12_544, 1, 9, 32)
    assert row.elements_weight == 32 * 9


def test_a_dilated_kernel_reaches_further():
    # (10 + 0 − 2 × (3 − 1) − 1) // 1 + 1 = 6 high; (12 + 0 − 3 × (2 − 1) − 1) // 2 + 1 = 5 wide
    (row,) = conv2d(c_in=1, h=10, w=12, c_out=1, kernel=(3, 2), stride=(1, 2), dilation=(2, 3)).rows()
    assert row.elements_out == 30
    assert row.window == Window(3, 2, stride=2, dilation=3, height=6, width=5)


# ------------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: gemm(0, 1, 1), "m: want a whole number of at least 1, found 0"),
        (lambda: gemm(1, 1.5, 1), "n: want a whole number of at least 1, found 1.5"),
        (lambda: gemm(1, 1, True), "k: want a whole number of at least 1, found True"),
        (lambda: gemm(1, 1, 1, batch=-3), "batch: want a whole number of at least 1, found -3"),
        (lambda: mlp([1024]), "widths: want at least two, found [1024]"),
        (lambda: mlp([8, 0]), "widths: want a whole number of at least 1, found 0"),
        (lambda: mlp([8, "8"]), "widths: want a whole number of at least 1, found 8"),
        (lambda: _conv(c_in=3, groups=2), "groups: want a divisor of 3 and 4 channels, found 2"),
        (lambda: _conv(kernel=7), "kernel: want one that fits the padded input (5, 5), found (7, 7), dilation (1, 1)"),
        (lambda: _conv(stride=0), "stride: want a whole number of at least 1, found 0"),
        (lambda: _conv(padding=-1), "padding: want a whole number of at least 0, found -1"),
        (lambda: _conv(kernel=(1, 2, 3)), "kernel: want a whole number of at least 1, found (1, 2, 3)"),
        (lambda: SEED_MLP.at_batch(0), "batch: want a whole number of at least 1, found 0"),
        (lambda: gemm(2**30, 2**30, 2**30), "macs: want a column of whole numbers no larger than 2^53"),
        (lambda: gemm(2**20, 2**20, 2**20), "gemm: want numbers no larger than 2^53"),
        (lambda: Workload.from_ops("nothing", []), "nothing has no ops"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(build, message):
    with pytest.raises(WorkloadError) as refused:
        build()
    assert str(refused.value) == message
    assert isinstance(refused.value, ValueError)


@pytest.mark.parametrize("beyond", [1, 10**6, 2**40, 2**70])
def test_a_batch_that_is_too_large_is_refused_as_such(beyond):
    # 3 × 64 MAC a sample: 2^53 / 192 = 46 912 496 118 442.7 samples
    most = 46_912_496_118_442
    network = gemm(64, 3, 1, batch=2)
    assert network.at_batch(most).total_macs <= LARGEST
    with pytest.raises(WorkloadError) as refused:
        network.at_batch(most + beyond)
    assert str(refused.value) == f"gemm-64x3x1: want a batch of at most {most}, beyond which counts pass 2^53"


def test_repeats_of_a_row_may_add_up_to_more_than_one_of_them():
    # 2^10 products of 2^40 MAC a sample: a run of 2^13 samples is 2^53, but all runs of 2^9 samples are 2^59
    row = Op("a", "linear", 2**50, 0, 2**30, 2**40, 2**30, 2**10, 2**10, 2**20, 1, (), 2**10)
    network = Workload.from_ops("deep", [row])
    assert network.at_batch(2**9).total_macs == MOST
    with pytest.raises(WorkloadError, match="want a batch of at most 512"):
        network.at_batch(2**9 + 1)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (Op("a", "add", other_ops=-1), "a: want no negative numbers"),
        (Op("a", "add", elements_in=LARGEST + 1), "a: want numbers no larger than 2^53"),
        (Op("a", "linear", macs=7, m=2, n=2, k=2, groups=1), "a: want macs = m·n·k·groups·repeats"),
        (Op("a", "add", elements_in=4, repeats=3), "a: want amounts that are a multiple of its repeats"),
        (Op("a", "add", repeats=0), "a: want it to run once at least"),
        (Op("a", "add", elements_in=3), "a: want multiples of the batch"),
        (Op("ok", "add"), "ok: want a name that no op above has"),
    ],
)
def test_a_row_that_no_network_can_have_is_refused_and_numbered(row, message):
    with pytest.raises(WorkloadError) as refused:
        Workload.from_ops("net", [Op("ok", "add", elements_in=4), row], batch=2)
    assert str(refused.value) == message
    assert refused.value.row == 1


def test_an_unknown_precision_is_refused():
    with pytest.raises(UnknownPrecisionError):
        SEED_MLP.bytes_moved("fp33")


def test_columns_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        SEED_MLP.macs[0] = 0


def test_workloads_with_the_same_rows_are_equal_and_hash_alike():
    twin = mlp([1024, 1024, 1024], batch=16)
    assert twin == SEED_MLP
    assert hash(twin) == hash(SEED_MLP)
    assert SEED_MLP not in (mlp([1024, 1024, 1024], batch=8), mlp([1024, 1024], batch=16), "mlp")


@pytest.mark.slow
def test_torch_is_not_imported():
    code = "import sys, rooflint.workloads.workload, rooflint.workloads.tables; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --------------------------------------------------------------------------------------------------------------- shapes


def _conv(**changes: Any) -> Workload:
    return conv2d(**{"c_in": 4, "h": 5, "w": 5, "c_out": 4, "kernel": 3, **changes})


SIZES = st.integers(1, 64)


@st.composite
def convolutions(draw):
    """Parameters of a convolution that fits."""
    groups, kernel, dilation = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    reach = dilation * (kernel - 1) + 1
    return {
        "n": draw(st.integers(1, 4)),
        "c_in": groups * draw(st.integers(1, 4)),
        "c_out": groups * draw(st.integers(1, 4)),
        "h": draw(st.integers(reach, reach + 8)),
        "w": draw(st.integers(reach, reach + 8)),
        "kernel": kernel,
        "dilation": dilation,
        "stride": draw(st.integers(1, 3)),
        "padding": draw(st.integers(0, 3)),
        "groups": groups,
        "bias": draw(st.booleans()),
    }


@st.composite
def workloads(draw):
    """Any table: products with weights, products between activations, and other arithmetic."""
    batch, rows = draw(st.integers(1, 8)), []
    for position in range(draw(st.integers(1, 6))):
        m, n, k, groups = (draw(st.integers(0, 9)) for _ in range(4))
        weights = draw(st.sampled_from([0, 5]))
        m, groups = (m * batch, groups) if weights else (m, groups * batch)
        other, read, written = (batch * draw(st.integers(0, 10**9)) for _ in range(3))
        rows.append(Op(f"op{position}", "kind", m * n * k * groups, other, read, weights, written, m, n, k, groups))
    return Workload.from_ops("net", rows, batch)


@given(workloads(), st.integers(1, 100), st.integers(1, 100))
def test_at_batch_is_linear_and_weights_do_not_scale(workload, first, second):
    one, many = workload.at_batch(1), workload.at_batch(first)
    assert many.batch == first
    for column in ("macs", "other_ops", "ops", "elements_in", "elements_out"):
        assert np.array_equal(getattr(many, column), first * getattr(one, column))
    assert np.array_equal(many.elements_weight, workload.elements_weight)
    assert many.at_batch(second) == workload.at_batch(second)


@given(workloads())
def test_at_its_own_batch_a_workload_is_itself(workload):
    assert workload.at_batch(workload.batch) == workload


@given(workloads())
def test_ops_are_never_fewer_than_two_a_multiply_accumulate(workload):
    # 1 MAC = 1 multiply + 1 add
    assert (workload.ops >= 2 * workload.macs).all()
    assert workload.total_ops == workload.ops.sum()


PLAIN = sorted(name for name, one in PRECISIONS.items() if not one.scale_bits)


@given(workloads(), st.sampled_from(PLAIN), st.sampled_from(PLAIN))
def test_bytes_follow_the_bits_of_the_storage_precision(workload, one, other):
    ratio = PRECISIONS[one].bits / PRECISIONS[other].bits
    assert workload.bytes_moved(one) == pytest.approx(ratio * workload.bytes_moved(other), rel=1e-12, abs=0)


@given(workloads())
def test_a_larger_batch_never_lowers_intensity(workload):
    if workload.total_bytes("fp32"):
        more = workload.at_batch(2 * workload.batch)
        assert more.intensity_ops_per_byte("fp32") >= workload.intensity_ops_per_byte("fp32") * (1 - 1e-12)


@given(SIZES, SIZES, SIZES, st.integers(1, 8))
def test_a_gemm_built_at_a_batch_is_the_gemm_scaled_to_it(m, n, k, batch):
    assert gemm(m, n, k, batch) == gemm(m, n, k).at_batch(batch)


@given(st.lists(SIZES, min_size=2, max_size=5), st.integers(1, 8), st.booleans())
def test_an_mlp_built_at_a_batch_is_the_mlp_scaled_to_it(widths, batch, bias):
    assert mlp(widths, batch, bias) == mlp(widths, 1, bias).at_batch(batch)


@given(convolutions())
def test_a_convolution_built_at_a_batch_is_the_convolution_scaled_to_it(parameters):
    assert conv2d(**parameters) == conv2d(**{**parameters, "n": 1}).at_batch(parameters["n"])


@given(c_in=SIZES, c_out=SIZES, h=SIZES, w=SIZES, n=st.integers(1, 8))
def test_a_convolution_with_a_1x1_kernel_is_a_gemm_over_positions(c_in, c_out, h, w, n):
    (convolution,) = conv2d(n=n, c_in=c_in, h=h, w=w, c_out=c_out, kernel=1, bias=False).rows()
    (product,) = gemm(h * w, c_out, c_in, batch=n).rows()
    assert convolution._replace(name="", kind="", window=()) == product._replace(name="", kind="")


@given(convolutions())
def test_a_convolution_counts_what_its_loops_would(parameters):
    macs, written = convolution_by_loops(**parameters)
    (row,) = conv2d(**parameters).rows()
    assert (row.macs, row.elements_out) == (macs, written)


def convolution_by_loops(*, n, c_in, c_out, h, w, kernel, dilation, stride, padding, groups, bias):
    """The slow twin: count the places where the window fits, then the products in each."""
    reach = dilation * (kernel - 1) + 1
    down = range(0, h + 2 * padding - reach + 1, stride)
    across = range(0, w + 2 * padding - reach + 1, stride)
    written = sum(1 for _ in range(n * c_out) for _ in down for _ in across)
    return written * sum(1 for _ in range(c_in // groups) for _ in range(kernel) for _ in range(kernel)), written


def test_a_workload_whose_batch_is_fixed_says_why_it_has_no_other():
    table = Workload.from_ops("gram", [Op("x", "matmul", 9 * 5, m=3, n=3, k=5, groups=1)], 3, "it mixes its samples")
    assert table.at_batch(3) == table
    with pytest.raises(WorkloadError, match=r"^gram has batch 3 and no other: it mixes its samples$"):
        table.at_batch(6)


# ---- what follows from checked columns is not checked again, and would pass


@pytest.mark.slow
@pytest.mark.parametrize("workload_id", workload_ids())
def test_a_scaled_network_passes_the_checks_of_a_new_one(workload_id):
    for table in (load_workload(workload_id), load_workload(workload_id).fused()):
        scaled = table.at_batch(24)
        assert replace(scaled) == scaled  # checks it, as every new table
        assert scaled.at_batch(1) == table
        assert not any(getattr(scaled, name).flags.writeable for name in QUANTITIES)


def test_the_window_of_a_table_fits_one_sample():
    # two samples of 2 × 2 outputs have m = 8; with m = 4 a sample would have half an image
    rows = conv2d(n=2, c_in=3, h=4, w=4, c_out=1, kernel=3).rows()
    (row,) = rows
    assert row.m == 8
    halved = row._replace(m=4, macs=row.macs // 2)
    with pytest.raises(WorkloadError, match="want a window"):
        Workload.from_ops("halved", [halved], batch=2)


def test_columns_as_floats_and_masks_say_what_the_rows_say():
    table = load_workload("torchvision/mobilenet_v2")
    rows = list(table.rows())
    assert table.column("ops").tolist() == [2.0 * row.macs + row.other_ops for row in rows]
    assert table.column("elements_out").dtype == np.float64
    assert table.is_product.tolist() == [row.macs > 0 for row in rows]
    assert table.is_depthwise.tolist() == [row.n == 1 and row.kind.startswith("conv") for row in rows]
    assert 0 < table.is_depthwise.sum() < table.is_product.sum()
    moved = [2 * (row.elements_in + row.elements_weight + row.elements_out) for row in rows]
    assert table.bytes_moved("fp16").tolist() == moved


def test_a_table_is_pickled_without_what_is_kept_beside_it():
    table = load_workload("torchvision/resnet18")
    size = len(pickle.dumps(table))
    _ = table.column("ops"), table.bytes_moved("fp16"), table.is_depthwise, table.gets_rows
    assert len(pickle.dumps(table)) == size
    assert pickle.loads(pickle.dumps(table)) == table
    assert pickle.loads(pickle.dumps(table)).at_batch(8) == table.at_batch(8)


def test_attention_with_a_mask_gets_heads_and_not_rows_from_more_samples():
    # 2 samples of 3 heads, 4 queries and 5 keys of 8; a mask of 20 elements is read once
    row = Op("attention", "attention", 6 * 4 * 5 * 16, 12, 10, 20, 30, 4, 5, 16, 6)
    work = Workload.from_ops("net", [row], 2)
    (more,) = work.at_batch(6).rows()
    assert (more.m, more.groups, more.elements_in, more.elements_weight) == (4, 18, 30, 20)
