"""The latency of matrix products: against its slow twin, and the laws that it keeps on every GPU."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import Registry
from rooflint.kernels import gemm
from rooflint.kernels.constants import constants_file
from rooflint.kernels.dispatch import KernelTimes, kernel_for
from rooflint.kernels.gemm import launch_s
from rooflint.kernels.products import Gemm
from rooflint.kernels.shapes import miss_share, shapes, touched_bytes
from rooflint.kernels.tile import cost, kernel_clocks, load, menu, waves

from .conftest import CHIPS, ON_CORES, chips
from .conftest import products_s as latency_s
from .slow_twin import slow_latency_s

ALL = constants_file(Registry()).constants
CONSTANTS = ALL.products
ROUNDING = 1e-12  # of sums and powers taken in another order
SIZES = st.integers(1, 2**17) | st.sampled_from([2**power for power in range(18)])
ANY_CHIP = st.sampled_from(sorted(CHIPS)).map(CHIPS.get)
MODEST = st.integers(1, 2**16)
SHAPE = st.tuples(SIZES, SIZES, SIZES)
COPIES = st.sampled_from([1.0, 2.0, 6.0, np.inf])


def seconds(m, n, k, chip, *, batch=1, copies=np.inf):
    (found,) = latency_s(shapes(m, n, k, batch), chip, CONSTANTS, element_bytes=2, copies=copies)
    return found


def test_there_are_gpus_of_every_generation_to_try():
    assert len(CHIPS) > 70
    assert {"nvidia/t4", "nvidia/a100-sxm4-80gb", "nvidia/l40s", "nvidia/h100-sxm5-80gb", "nvidia/b200-sxm"} < {*CHIPS}


@given(SHAPE, ANY_CHIP, COPIES, st.sampled_from([1, 7, 64]), st.sampled_from([1.0, 2.0]), st.booleans())
def test_the_fast_function_equals_its_slow_twin(shape, chip, copies, batch, element_bytes, sustained):
    chip = replace(chip, sustained=sustained)
    fast = latency_s(shapes(*shape, batch), chip, CONSTANTS, element_bytes=element_bytes, copies=copies)
    assert fast[0] == pytest.approx(slow_latency_s(*shape, batch, chip, CONSTANTS, element_bytes, copies), rel=1e-10)


def test_in_a_run_of_minutes_an_op_draws_more_the_coarser_the_process_is():
    # a T4 of 12 nm has 70 W: 70 W / (1.53 pJ · √(12 / 5)) = 29.6 TFLOP/s, and 24 were measured (golden/energy)
    t4, size = CHIPS["nvidia/t4"], 4096
    burst, held = (seconds(size, size, size, replace(t4, sustained=one)) for one in (False, True))
    assert 2 * size**3 / held == pytest.approx(29.6e12, rel=0.02)
    assert held / burst == pytest.approx((12 / 5) ** 0.5, rel=0.02)
    # Hopper and Ada are made in 4N, whatever number a database has for it
    for name in ("nvidia/h100-pcie-80gb", "nvidia/l4"):
        assert seconds(size, size, size, replace(CHIPS[name], sustained=True)) == seconds(size, size, size, CHIPS[name])


@given(SHAPE, ANY_CHIP)
def test_a_run_of_minutes_is_no_faster_than_a_burst(shape, chip):
    assert seconds(*shape, replace(chip, sustained=True)) >= seconds(*shape, chip) * (1 - ROUNDING)


def test_many_shapes_are_timed_as_each_by_itself():
    chip = CHIPS["nvidia/a100-sxm4-80gb"]
    m = np.arange(1, 20_000)  # more than one block
    together = latency_s(shapes(m, 512, 768), chip, CONSTANTS, element_bytes=2)
    apart = [seconds(int(size), 512, 768, chip) for size in m[::997]]
    assert together[::997] == pytest.approx(apart, rel=1e-12)


@pytest.mark.parametrize("chip", [CHIPS["nvidia/h100-sxm5-80gb"], CHIPS["nvidia/l4"], ON_CORES["nvidia/t4"]])
def test_no_tile_and_no_split_that_was_left_out_takes_less(chip):
    draw = np.random.default_rng(1)
    m, n, k = np.round(2 ** draw.uniform(0, 16, (3, 9_000)))
    some, every = shapes(m, n, k, np.round(2 ** draw.uniform(0, 4, len(m)))), menu(chip)
    here = gemm.constants_on(chip, CONSTANTS, ALL.cores)
    moving = gemm.memory(touched_bytes(some, 2.0), touched_bytes(some, 2.0), chip, here).seconds
    found = gemm.work_s(some, moving, chip, here, 2.0, every)
    least = np.full(len(m), np.inf)
    for tile, split in itertools.product(every.tiles, every.splits):
        each, one = load(some, tile, chip), cost(tile, 2.0, chip, here)
        kernel_s = kernel_clocks(some.k, waves(each * split, chip), one, split, chip) * chip.clock_s
        power_s = gemm.power_s(some, chip, here)
        if chip.cores:
            power_s = gemm.issued_power_s(some.k, each, one, kernel_s, chip, here)
        taken = gemm.overlapped_s(np.maximum(kernel_s, power_s), moving, here)
        reduction = gemm.reduction_s(some, split, chip, here) if split > 1 else 0.0
        np.minimum(least, taken + reduction, out=least)
    assert found == pytest.approx(least, rel=1e-14)


@given(SHAPE, st.integers(0, 2), st.integers(1, 4096), ANY_CHIP, COPIES)
def test_a_larger_product_takes_no_less(shape, which, more, chip, copies):
    larger = list(shape)
    larger[which] += more
    assert seconds(*larger, chip, copies=copies) >= seconds(*shape, chip, copies=copies) * (1 - ROUNDING)


@pytest.mark.slow
@given(SHAPE, ANY_CHIP, st.floats(1.0, 4.0), COPIES)
@pytest.mark.parametrize(
    "resource", ["sms", "macs_per_clock", "clock_hz", "l2_bytes", "bandwidth_bytes_per_s", "tdp_w"]
)
def test_more_of_a_resource_takes_no_longer(resource, shape, chip, factor, copies):
    better = replace(chip, **{resource: getattr(chip, resource) * factor})
    assert seconds(*shape, better, copies=copies) <= seconds(*shape, chip, copies=copies) * (1 + ROUNDING)


@given(SHAPE, ANY_CHIP)
def test_nothing_beats_the_roofline(shape, chip):
    m, n, k = shape
    compute = m * n * k / (chip.sms * chip.macs_per_clock * chip.clock_hz)
    memory = 2 * (m * n + n * k + m * k) / chip.bandwidth_bytes_per_s
    assert seconds(m, n, k, chip) >= max(compute, memory)


@given(SHAPE, ANY_CHIP)
def test_weights_that_come_again_soon_take_no_longer(shape, chip):
    warm, turns, cold = (seconds(*shape, chip, copies=copies) for copies in (1, 6, np.inf))
    assert warm <= turns * (1 + ROUNDING)
    assert turns <= cold * (1 + ROUNDING)


@given(SHAPE, ANY_CHIP, st.integers(2, 64))
def test_a_batch_takes_no_less_than_one_and_no_more_than_one_by_one(shape, chip, batch):
    one, all_of_them = seconds(*shape, chip), seconds(*shape, chip, batch=batch)
    assert one * (1 - ROUNDING) <= all_of_them
    # one after the other each would be launched by itself; a wave rounded up is the most that a batch can add
    assert all_of_them <= batch * one * (1 + ROUNDING)


def test_a_large_product_nears_the_peak_as_far_as_its_power_lets_it():
    # 16384³ × 2 / (132 × 2048 × 2 × 1.83e9) = 8.9 ms at the peak of an H100
    chip = CHIPS["nvidia/h100-sxm5-80gb"]
    share = 2 * 16384**3 / (2 * chip.sms * chip.macs_per_clock * chip.clock_hz) / seconds(16384, 16384, 16384, chip)
    # 1.53 pJ × (2048 / 512)^-0.4 = 0.88 pJ an op: 700 W / 0.88 pJ = 797 of 990 TFLOP/s
    assert share == pytest.approx(0.80, abs=0.01)


def test_an_l2_that_overflows_more_suddenly_than_a_float_can_count_is_a_step():
    chip, step = CHIPS["nvidia/l40s"], replace(CONSTANTS, l2_sharpness=1e4)
    half = step.l2_reach * chip.l2_bytes / 2
    assert miss_share(np.array([half, 4 * half]), chip, step).tolist() == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "int4"])
def test_a_product_and_its_transpose_take_the_same_time(precision):
    # in FP8 of the product alone: the kernel before it quantises one operand
    drawn = np.exp2(np.random.default_rng(19).uniform(0, 15, (3, 200))).astype(int)
    m, n, k = np.column_stack([drawn, (512, 8, 500_000), (4096, 16, 4096), (8192, 24, 64)])
    having = chips(precision)
    assert having
    for name, chip in having.items():
        kernel = kernel_for("gemm", precision, chip, carried=True)
        one, other = (kernel.predict(kernel.work(*sizes, k), chip, ALL) for sizes in ((m, n), (n, m)))
        assert other == pytest.approx(one, rel=ROUNDING), name


def test_nothing_takes_less_than_a_launch():
    chip = CHIPS["nvidia/l40s"]
    assert seconds(1, 1, 1, chip) > launch_s(chip, CONSTANTS) > 1e-7


def test_a_size_below_one_is_refused():
    with pytest.raises(RooflintError, match="k: want 1 or more, found 0"):
        shapes(1, 1, 0)


# ---- term by term: the terms add up to the latency, and the longest of them is what binds


def case(device, m, n, k, copies=np.inf):
    return KernelTimes(Gemm(), Gemm().work(m, n, k, copies=copies), CHIPS[device], ALL)


def breakdowns(one):
    return one.kernel.apart(one.work, one.chip, one.constants)


@pytest.mark.slow
@given(st.sampled_from(sorted(CHIPS)), MODEST, MODEST, MODEST, st.sampled_from([1.0, np.inf]))
def test_the_fastest_tile_and_split_are_the_latency(device, m, n, k, copies):
    one = case(device, m, n, k, copies)
    best, *others = breakdowns(one)
    assert best.latency_s == pytest.approx(one.seconds.item(), rel=1e-9)
    assert all(best.latency_s <= other.latency_s for other in others)
    assert best.overlapped_s >= max(best.memory_s, best.kernel_s, best.power_s) * (1 - 1e-12)


@pytest.mark.parametrize(
    ("device", "shape", "bound"),
    [
        ("nvidia/h100-sxm5-80gb", (1, 1, 1), "launch"),
        ("nvidia/h100-sxm5-80gb", (8, 16384, 16384), "memory"),
        ("nvidia/h100-sxm5-80gb", (16384, 16384, 16384), "power"),
        ("nvidia/a100-sxm4-80gb", (16384, 16384, 16384), "arithmetic"),
        ("nvidia/a100-sxm4-80gb", (4096, 4096, 64), "store"),
        ("nvidia/a100-sxm4-80gb", (64, 64, 1024), "reduction"),
        ("nvidia/a100-sxm4-80gb", (128, 128, 512), "steps"),
        ("nvidia/h100-sxm5-80gb", (128, 128, 2048), "feed"),
    ],
)
def test_what_binds_is_what_a_performance_engineer_would_say(device, shape, bound):
    best, *_ = breakdowns(case(device, *shape))
    assert best.bound == bound


def test_waves_are_whole_where_warps_wait():
    # 4096 / 256 × 4096 / 128 = 512 tiles of 256×128: 4.74 an SM of 108, 3.88 of 132
    (sync,) = (
        one
        for one in breakdowns(case("nvidia/a100-sxm4-80gb", 4096, 4096, 4096))
        if (one.tile.m, one.split) == (256, 1)
    )
    (beside,) = (
        one
        for one in breakdowns(case("nvidia/h100-sxm5-80gb", 4096, 4096, 4096))
        if (one.tile.m, one.split) == (256, 1)
    )
    assert (sync.load, sync.waves) == (pytest.approx(512 / 108), 5)
    assert beside.load == beside.waves == pytest.approx(512 / 132)


def test_a_small_grid_with_a_long_k_is_cut():
    best, *_ = breakdowns(case("nvidia/a100-sxm4-80gb", 64, 64, 65536))
    assert best.split > 1
    assert best.reduction_s > 0
