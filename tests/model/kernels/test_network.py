"""Networks on silicon: against a slow twin, by hand, and the laws that they keep on every GPU."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import FREE, Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.kernels import gemm
from rooflint.kernels.attention import Attention
from rooflint.kernels.constants import constants_file
from rooflint.kernels.dispatch import OPS
from rooflint.kernels.kernel import peak_ops_per_s
from rooflint.kernels.network import MODELS, OP_OF, models_of, on_silicon
from rooflint.kernels.products import Fp8Gemm, Gemm, constants_in_int8
from rooflint.kernels.stream import Stream
from rooflint.prediction.predict import Setting, predict
from rooflint.roofline import Estimate
from rooflint.workloads.builders import conv2d, matrix_op, mlp
from rooflint.workloads.ops import Op
from rooflint.workloads.stack import stacked
from rooflint.workloads.tables import load_workload, workload_ids
from rooflint.workloads.workload import Workload

from .conftest import CHIPS, ON_CORES, chips
from .slow_network import slow_network_s

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
SHARED = constants_file(REGISTRY).constants
H100 = "nvidia/h100-sxm5-80gb"
ROUNDING = 1e-12  # of sums and powers taken in another order
RESOURCES = ("sms", "macs_per_clock", "clock_hz", "l2_bytes", "bandwidth_bytes_per_s", "tdp_w")
ANY_CHIP = st.sampled_from(sorted(CHIPS)).map(CHIPS.get)
SIZES = st.integers(1, 4096)
GROUPS = st.sampled_from([1, 2, 12, 96])
ELEMENTS = st.integers(0, 2**26)
GAPS = st.sampled_from([None, 0.0, 0.8e-6, 2.1e-6, 25e-6])


@st.composite
def ops(draw):
    """An op of any way, with what joined its kernel."""
    kind = draw(st.sampled_from(["linear", "matmul", "conv2d", "depthwise", "attention", "decode", "relu", "sort"]))
    elements, others = tuple(draw(ELEMENTS) for _ in range(3)), draw(ELEMENTS)
    if kind in ("relu", "sort"):
        return Op(kind, draw(st.sampled_from(["layer_norm", "avg_pool", "cat", kind])), 0, others, *elements)
    m, n, k, groups = draw(SIZES), draw(SIZES), draw(SIZES), draw(GROUPS)
    if kind == "depthwise":
        kind, n, groups = "conv2d", 1, 64
    if kind in ("attention", "decode"):
        m, kind = (draw(st.sampled_from([n, 7])) if kind == "attention" else 1), "attention"
    return matrix_op(kind, kind, (m, n, k, groups), elements)._replace(other_ops=others)


TABLES = st.lists(ops(), min_size=1, max_size=8).map(lambda rows: table(*rows))


def table(*rows):
    return Workload.from_ops("any", [op._replace(name=f"op{place}") for place, op in enumerate(rows)])


def silicon(work, chip, gap_s=0.0, compute="bf16", storage="bf16"):
    peak, moved = peak_ops_per_s(chip), np.asarray(work.bytes_moved(storage), dtype=float)
    counted = work.ops.astype(float)
    plain = Estimate(
        "any",
        work.name,
        compute,
        storage,
        peak,
        chip.bandwidth_bytes_per_s,
        counted,
        moved,
        gap_s or 0.0,
        np.ones(len(counted)),
    )
    return plain, on_silicon(plain, work, chip, SHARED, gap_s, cached=False)


def prediction(device=H100, work="torchvision/resnet18", batch=1, **setting):
    rows = load_workload(work).at_batch(batch) if isinstance(work, str) else work
    chosen = Setting(**{"compute": "bf16", "fidelity": "silicon", "cached": False, **setting})
    return predict(REGISTRY.get(device), rows, ENERGIES, chosen)


# ----------------------------------------------------------------------------------------------------------------- ways


def test_each_op_of_a_transformer_has_its_own_formula():
    work = load_workload("torchvision/vit_b_16")
    by_kind = {str(kind): str(model) for kind, model in zip(work.kinds, models_of(work), strict=True)}
    assert by_kind["conv2d"] == "convolution"
    assert by_kind["linear"] == "product"
    assert by_kind["attention"] == "attention"
    assert {by_kind[kind] for kind in ("layer_norm", "gelu", "add", "cat")} == {"stream"}


def test_a_depthwise_convolution_is_no_product():
    work = conv2d(c_in=32, h=56, w=56, c_out=32, kernel=3, groups=32)
    assert models_of(work).tolist() == ["stream"]
    assert models_of(conv2d(c_in=32, h=56, w=56, c_out=32, kernel=3)).tolist() == ["convolution"]


def test_one_query_on_a_cache_is_decode_and_what_nobody_measured_stays_at_the_roofline():
    rows = [matrix_op("a", "attention", (m, 512, 128, 8), (1, 0, 1)) for m in (512, 1, 77)]
    found = models_of(table(*rows, Op("b", "sort", other_ops=1), Op("c", "upsample_bilinear2d")))
    assert found.tolist() == ["attention", "decode", "roofline", "roofline", "roofline"]


def test_every_kernel_model_says_what_it_rests_on():
    assert all(OPS[OP_OF.get(model, model)].rests_on for model in MODELS)


# -------------------------------------------------------------------------------------------------------------- by hand


def test_a_layer_without_bias_is_its_product():
    work = mlp([1024, 4096], batch=512, bias=False)
    alone = Gemm().predict(Gemm().work(512, 4096, 1024), CHIPS[H100], SHARED)
    assert prediction(work=work, launch="graph").latency_s == pytest.approx(float(alone[0]), rel=1e-12)


def test_a_layer_in_fp8_waits_for_its_activations_whatever_they_are_stored_in():
    work, kernel = mlp([1024, 4096], batch=512, bias=False), Fp8Gemm()
    (alone,) = kernel.predict(kernel.work(512, 4096, 1024), chips("fp8")[H100], SHARED)
    for storage in ("fp8", "bf16"):
        found = prediction(work=work, compute="fp8", storage=storage, launch="graph")
        assert found.latency_s == pytest.approx(float(alone), rel=1e-12)


def test_in_a_fused_network_producers_make_activations_fp8():
    work, kernel = mlp([1024, 4096], batch=512, bias=False), Fp8Gemm(quantises=False)
    (alone,) = kernel.predict(kernel.work(512, 4096, 1024), chips("fp8")[H100], SHARED)
    apart, fused = (prediction(work=work, compute="fp8", launch="graph", fuse=fuse) for fuse in (False, True))
    assert fused.latency_s == pytest.approx(float(alone), rel=1e-12)
    assert fused.times.quantise_s == 0
    assert 0 < apart.times.quantise_s < apart.latency_s - fused.latency_s  # k is whole after a scale of each row
    (rows,) = fused.times.rows
    assert rows.kernel.topic is None  # measured with the quantise kernel alone


def test_in_a_stack_each_table_is_quantised_as_by_itself():
    work = mlp([1024, 4096], batch=512, bias=False)
    tables = (work, work.fused(), work)
    found = prediction(work=stacked(tables).work, compute="fp8", launch="graph").times.kernel_s
    alone = [prediction(work=one, compute="fp8", launch="graph").latency_s for one in tables]
    assert found == pytest.approx(alone, rel=1e-12)
    assert alone[0] > alone[1]


def test_what_a_product_of_activations_reads_is_not_made_fp8_before():
    scores = matrix_op("a", "matmul", (197, 197, 64, 12), (2 * 12 * 197 * 64, 0, 12 * 197**2))
    (rows,) = prediction(work=table(scores), compute="fp8").times.rows
    assert rows.kernel == Gemm("fp8")


def test_an_encoder_is_its_attention_and_a_relu_its_stream():
    # 12 heads of 197 tokens of width 64; Q, K, V and the output are 4 · 12 · 197 · 64 elements
    heads = Op("a", "attention", 12 * 197**2 * 128, 0, 3 * 12 * 197 * 64, 0, 12 * 197 * 64, 197, 197, 128, 12)
    work = Workload.from_ops("any", [heads, Op("b", "relu", 0, 10**6, 10**6, 0, 10**6)])
    attended = Attention().predict(Attention().work(1, 12, 12, 197, 64), CHIPS[H100], SHARED)
    streamed = Stream().predict(Stream().work(1000, 1000), CHIPS[H100], SHARED)
    found = prediction(work=work, launch="graph").times.kernel_s
    assert found == pytest.approx([attended[0], streamed[0]], rel=1e-12)


def test_the_longer_of_floor_and_gap_is_paid_and_never_both():
    # a launch on a stream is published as 2.1 µs and one that is waited for as 6.7 µs; the floor of a product is
    # 1.3 µs + some 2100 clocks of 1.83 GHz, 2.5 µs
    names = ("graph", "stream", "synchronous", FREE)
    *launched, free = (prediction(work=mlp([64, 64]), launch=name) for name in names)
    floor = gemm.launch_s(CHIPS[H100], SHARED.products)
    assert [one.latency_s - free.latency_s for one in launched] == pytest.approx([floor, floor, 6.7e-6], rel=1e-9)
    assert free.shares["launch"] == 0


def test_wide_storage_makes_wide_operands():
    narrow, wide = (prediction(work=mlp([4096, 4096], batch=4096), storage=name) for name in (None, "fp32"))
    assert wide.latency_s > narrow.latency_s


# ------------------------------------------------------------------------------------------- convolutions on CUDA cores

V100 = ON_CORES["nvidia/v100-pcie-32gb"]
PADDED = {"n": 8, "c_in": 256, "h": 28, "w": 28, "c_out": 256, "kernel": 3, "padding": 1}


def on_cores(gap_s=0.0, windows=None, **changed):
    """One convolution in FP32 on a V100, with what its table says of windows."""
    work = conv2d(**{**PADDED, **changed})
    _, found = silicon(work if windows is None else replace(work, windows=windows), V100, gap_s, "fp32", "fp32")
    return found


def test_a_dense_convolution_is_computed_with_fewer_multiplications_than_counted():
    found = on_cores()
    assert found.algorithms.tolist() == ["transformed"]
    assert found.work_s < found.ops / peak_ops_per_s(V100)
    assert found.calibrated.tolist() == [True]
    assert found.without_window == 0


@pytest.mark.parametrize("other", [{"stride": 2}, {"stride": (1, 2)}, {"dilation": 2}, {"groups": 2}, {"kernel": 5}])
def test_other_convolutions_are_computed_directly(other):
    found = on_cores(**other)
    assert found.algorithms.tolist() == ["direct"]
    assert found.calibrated.tolist() == [False]
    assert found.without_window == 0


def test_slow_launches_are_not_worth_fewer_multiplications():
    # two launches and four instead of one
    assert on_cores(gap_s=1e-3).algorithms.tolist() == ["direct"]


def test_a_table_without_windows_is_timed_directly_and_says_so():
    found, known = on_cores(windows=()), on_cores()
    assert found.algorithms.tolist() == ["direct"]
    assert found.without_window == 1
    assert found.kernel_s > known.kernel_s
    kernel, work = known.asked(0)
    direct = kernel.algorithms(work, V100, SHARED)["direct"]
    assert found.kernel_s == pytest.approx(direct.seconds, rel=1e-12)


@given(ANY_CHIP, GAPS)
def test_matrix_units_need_no_windows(chip, gap_s):
    work = conv2d(**PADDED)
    known, unknown = (silicon(one, chip, gap_s)[1] for one in (work, replace(work, windows=())))
    assert known.kernel_s.tolist() == unknown.kernel_s.tolist()
    assert (known.algorithms.tolist(), unknown.without_window) == (["direct"], 0)


# ----------------------------------------------------------------------------------------------------------- slow twins


@pytest.mark.slow
@given(TABLES, ANY_CHIP, GAPS, st.sampled_from([("bf16", "bf16", 2), ("int8", "fp32", 4), ("bf16", "int8", 2)]))
def test_a_table_is_timed_as_its_slow_twin(work, chip, gap_s, precisions):
    compute, storage, element_bytes = precisions
    _, found = silicon(work, chip, gap_s, compute, storage)
    products = constants_in_int8(SHARED) if compute == "int8" else SHARED.products
    slow = slow_network_s(work, chip, SHARED, products, storage, element_bytes, gap_s)
    assert found.work_s == pytest.approx([one for one, _ in slow], rel=1e-10)
    assert found.launch_s == pytest.approx([one for _, one in slow], rel=1e-12)


# ----------------------------------------------------------------------------------------------------------------- laws


@pytest.mark.slow
@given(TABLES, ANY_CHIP, GAPS)
def test_no_op_beats_the_roofline(work, chip, gap_s):
    plain, found = silicon(work, chip, gap_s)
    assert (found.work_s >= plain.work_s).all()
    assert (found.kernel_s >= plain.kernel_s * (1 - ROUNDING)).all()
    assert found.roofline_s == pytest.approx(plain.work_s, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("resource", RESOURCES)
@given(work=TABLES, chip=ANY_CHIP, factor=st.floats(1.0, 4.0), gap_s=GAPS)
def test_more_of_a_resource_takes_no_longer(resource, work, chip, factor, gap_s):
    _, found = silicon(work, chip, gap_s)
    better = found.on(replace(chip, **{resource: getattr(chip, resource) * factor}))
    assert (better.kernel_s <= found.kernel_s * (1 + ROUNDING)).all()


@given(TABLES, ANY_CHIP, GAPS)
def test_latency_is_the_sum_over_ops_and_launches(work, chip, gap_s):
    _, found = silicon(work, chip, gap_s)
    assert found.latency_s == pytest.approx(found.work_s.sum() + found.launch_s.sum(), rel=1e-12)
    assert sum(found.waits_s.values()) == pytest.approx(found.latency_s, rel=1e-12)


@pytest.mark.slow
@given(TABLES, ANY_CHIP, GAPS)
def test_work_is_no_less_than_each_of_its_parts_and_no_more_than_both(work, chip, gap_s):
    _, found = silicon(work, chip, gap_s)
    assert (found.work_s >= np.maximum(found.compute_s, found.memory_s) * (1 - ROUNDING)).all()
    assert (found.work_s <= (found.compute_s + found.memory_s) * (1 + 1e-6)).all()


@pytest.mark.slow
@given(TABLES, ANY_CHIP)
def test_the_same_chip_takes_the_same(work, chip):
    _, found = silicon(work, chip, 2.1e-6)
    assert found.on(chip).kernel_s.tolist() == found.kernel_s.tolist()


# ---------------------------------------------------------------------------------------------------------- predictions


def test_only_idle_power_lasts_longer():
    plain, found = (prediction(fidelity=name, batch=8) for name in ("roofline", "silicon"))
    mine, theirs = ({term.name: term.total_j for term in one.energy.terms} for one in (plain, found))
    assert {name for name in mine if mine[name] != theirs[name]} == {"idle power"}
    assert theirs["idle power"] / mine["idle power"] == pytest.approx(found.latency_s / plain.latency_s, rel=1e-12)


@pytest.mark.parametrize("device", ["intel/xeon-8490h", "google/tpu-v4", "stillwater/kpu-t256"])
def test_what_is_no_gpu_stays_at_the_roofline_and_says_so(device):
    found, plain = (prediction(device, fidelity=name) for name in ("silicon", "roofline"))
    assert (found.fidelity, found.latency_s) == ("roofline", plain.latency_s)
    assert (
        f"{device} is a {found.hardware.kind}, and kernel times are calibrated for GPUs only"
        in found.reasons["fidelity"]
    )
    assert "fidelity" not in plain.reasons


def test_a_gpu_that_lacks_a_fact_names_it():
    found = prediction("amd/mi300x")
    assert found.fidelity == "roofline"
    assert found.reasons["fidelity"].startswith("amd/mi300x lacks the facts 'units.matrix_core.issue_threads': ")


def test_fp32_runs_on_cuda_cores():
    found = prediction("nvidia/t4", compute="fp32")
    assert found.fidelity == "silicon"
    assert found.times.chip.cores.issued == 4


@pytest.mark.slow
def test_every_gpu_is_on_silicon_or_says_what_it_lacks():
    for device in REGISTRY.readable():
        if device.kind != "gpu":
            continue
        try:
            found = prediction(device.id, compute="fp16")
        except RooflintError:
            continue
        reason = found.reasons.get("fidelity", "")
        lacks = "lacks the fact" in reason or "measured only in fp32" in reason
        assert (found.fidelity == "silicon") != lacks, device.id


@pytest.mark.slow
@pytest.mark.parametrize("launch", ["stream", "graph", FREE])
@pytest.mark.parametrize("fuse", [False, True])
def test_no_network_on_a_gpu_beats_its_roofline(launch, fuse):
    for device in sorted(CHIPS):
        plain, found = (
            prediction(device, compute="fp16", launch=launch, fuse=fuse, fidelity=name)
            for name in ("roofline", "silicon")
        )
        assert (found.times.kernel_s >= plain.times.kernel_s * (1 - ROUNDING)).all(), device
        assert found.latency_of_active_units_s == found.latency_s
        # its chip is the device: one unit, all of its groups, one memory
        assert peak_ops_per_s(found.silicon.chip) == pytest.approx(plain.peak_ops_per_s, rel=1e-12)
        assert found.silicon.chip.bandwidth_bytes_per_s == plain.bandwidth_bytes_per_s


@pytest.mark.slow
@pytest.mark.parametrize("device", ["nvidia/t4", "nvidia/l40s", H100, "nvidia/b200-sxm"])
@pytest.mark.parametrize("work", workload_ids())
def test_fusion_and_a_smaller_batch_take_no_longer(device, work):
    large, small, fused = (
        prediction(device, work, compute="fp16", batch=batch, fuse=fuse, launch="graph")
        for batch, fuse in ((8, False), (4, False), (8, True))
    )
    assert (small.times.kernel_s <= large.times.kernel_s * (1 + ROUNDING)).all()
    assert fused.latency_s <= large.latency_s
    assert large.throughput_per_s >= small.throughput_per_s * (1 - ROUNDING)
