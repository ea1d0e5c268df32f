"""Products in FP8: against their slow twin, by hand, and the laws that they keep on every GPU that has FP8."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.hardware.registry import Registry
from rooflint.kernels import gemm
from rooflint.kernels.constants import constants_file
from rooflint.kernels.convolution import Convolution
from rooflint.kernels.products import Fp8Gemm, Gemm, constants_in_fp8
from rooflint.kernels.shapes import overlapped, shapes
from rooflint.kernels.stream import Given, Quantise

from .conftest import chips
from .slow_fp8 import slow_fp8_s, slow_quantise_s

CONSTANTS = constants_file(Registry()).constants
CHIPS = chips("fp8")
H100 = CHIPS["nvidia/h100-sxm5-80gb"]
ROUNDING = 1e-12  # of sums and powers taken in another order
ANY_CHIP = st.sampled_from(sorted(CHIPS)).map(CHIPS.get)
SIZE = st.integers(1, 2**14) | st.sampled_from([2**power for power in range(15)])
SIZES = st.tuples(SIZE, SIZE, SIZE)
SCALE = st.sampled_from(["tensor", "block"])
RESOURCES = ("sms", "macs_per_clock", "clock_hz", "l2_bytes", "bandwidth_bytes_per_s", "tdp_w")


def seconds(sizes, chip, *, scale="tensor", copies=np.inf):
    kernel = Fp8Gemm(scale=scale)
    (found,) = kernel.predict(kernel.work(*sizes, copies=copies), chip, CONSTANTS)
    return found


# -------------------------------------------------------------------------------------------------------------- by hand


def test_an_op_in_fp8_draws_its_share_of_one_in_bf16():
    # the same SM does half the MACs a clock in bf16
    in_bf16 = gemm.energy_j_per_op(replace(H100, macs_per_clock=H100.macs_per_clock / 2), CONSTANTS.products)
    in_fp8 = gemm.energy_j_per_op(H100, constants_in_fp8(CONSTANTS))
    assert in_fp8 == pytest.approx(CONSTANTS.quantised.energy_share * in_bf16)
    assert CONSTANTS.quantised.energy_share < 1


def test_an_op_in_int8_draws_a_published_share_of_one_in_fp8():
    # 50 % less efficient, the least of what is published: 1 / 1.5
    assert CONSTANTS.quantised.int8_energy_share == pytest.approx(1 / 1.5, rel=1e-3)
    products, narrow = Gemm("int8").products(H100, CONSTANTS), constants_in_fp8(CONSTANTS)
    share = gemm.energy_j_per_op(H100, products) / gemm.energy_j_per_op(H100, narrow)
    assert share == pytest.approx(CONSTANTS.quantised.int8_energy_share)
    # a result of one byte, where that in FP8 has two
    assert products.store_bytes == pytest.approx(2 * narrow.store_bytes)
    assert Convolution("int8").products(H100, CONSTANTS) == products


def test_operands_are_narrow_and_the_result_is_wide():
    # 8192 · 128 + 128 · 8192 operands of 1 B and 8192² results of 2 B, all from memory
    kernel, products = Fp8Gemm(), constants_in_fp8(CONSTANTS)
    best, *_ = kernel.apart(kernel.work(8192, 8192, 128), H100, CONSTANTS)
    moved = 2 * 8192 * 128 + 2 * 8192**2
    assert best.memory_s == pytest.approx(moved / (products.dram_efficiency * H100.bandwidth_bytes_per_s))


def menus(rows, scale="tensor", chip=H100, **options):
    """Tiles and splits of each path for a number of rows."""
    found = [path.menus(shapes(rows, 1, 1), chip) for path in Fp8Gemm(scale=scale, **options).paths]
    return [menu for ones in found for of, menu in ones if of.any()]


def test_libraries_have_large_tiles_alone_for_many_rows():
    by_rows, by_tensor = zip(*(menus(rows) for rows in (64, 65, 256, 257)), strict=True)
    assert [len(menu.tiles) for menu in by_rows] == [10, 10, 10, 3]
    assert [len(menu.tiles) for menu in by_tensor] == [10, 3, 3, 3]
    assert {str(tile) for tile in by_rows[-1].tiles} == {"256×128", "128×256", "128×128"}


def test_only_products_with_one_scale_of_the_tensor_are_split_along_k():
    by_rows, by_tensor = menus(4096)
    assert (by_rows.splits, by_tensor.splits) == ((1,), (1, 4, 16))
    (fused,) = menus(4096, quantises=False)  # as an engine of TensorRT computes it
    assert fused == by_tensor


def test_blocks_with_scales_of_their_own_are_added_up_by_one_tile():
    (by_block,), (of_warps,) = menus(4096, "block"), menus(4096, "block", CHIPS["nvidia/l40s"])
    assert by_block.splits == of_warps.splits == (1,)
    assert len(by_block.tiles) == 10
    assert [str(tile) for tile in of_warps.tiles] == ["32×128"]


def test_workstation_blackwell_finds_scales_of_blocks_one_after_the_other():
    # 64 warps share 4096 rows: each waits 4 times for 64 of them, however many elements a row has
    turns = 64 * 4 * CONSTANTS.latent_parts.read_clocks
    for device, some in (("rtx-pro-6000-blackwell-server", 1), ("l40s", 0), ("h100-sxm5-80gb", 0)):
        chip = CHIPS[f"nvidia/{device}"]
        found, known = (
            Quantise(given=one).time(Quantise().work(4096, 512), chip, CONSTANTS) for one in ("block", "known")
        )
        together = overlapped(known.together_s, some * turns * chip.clock_s, CONSTANTS.products.overlap)
        assert found.together_s == pytest.approx(together)
        assert found.launch_s() == known.launch_s()


def test_a_step_whose_sums_are_scaled_takes_two():
    # one tile and a long k, after which nothing else is left
    (path,) = Fp8Gemm(scale="block").paths
    products, plain = path.products(H100, CONSTANTS), constants_in_fp8(CONSTANTS)
    assert products == replace(plain, step_clocks=2 * plain.step_clocks)
    assert path.products(CHIPS["nvidia/l40s"], CONSTANTS) == plain


def test_small_tiles_take_their_operands_from_l2():
    # 4096 / 32 · 4096 / 128 tiles of 32 + 128 B a step, by 142 SMs, where warps copy them
    work, of = Fp8Gemm().work(4096, 4096, 4096), CONSTANTS.products
    l40s, rtx = (CHIPS[f"nvidia/{name}"] for name in ("l40s", "rtx-pro-6000-blackwell-server"))
    moved, each = (3 + 1) * 4096**2, 128 * 32 * 4096 * (32 + 128)
    cold = moved / (of.dram_efficiency * l40s.bandwidth_bytes_per_s)
    copied = each / (of.l2_bytes * 142 * l40s.clock_hz)
    by_block, *_ = Fp8Gemm(scale="block").apart(work, l40s, CONSTANTS)
    assert by_block.memory_s == pytest.approx(overlapped(cold, copied, of.overlap))
    by_tensor, *_ = Fp8Gemm().apart(work, l40s, CONSTANTS)
    assert by_tensor.memory_s == pytest.approx(cold)
    by_tma, *_ = Fp8Gemm(scale="block").apart(work, rtx, CONSTANTS)
    assert by_tma.memory_s == pytest.approx(moved / (of.dram_efficiency * rtx.bandwidth_bytes_per_s))


def test_a_product_waits_for_its_quantise_kernel():
    # 512 · 2048 activations, 2 B read and 1 B written, beside 512 blocks of 2048 elements, and a launch
    kernel, stream, of = Fp8Gemm(), CONSTANTS.stream, CONSTANTS.scales
    work = kernel.work(512, 1024, 2048)
    moved = 3 * 512 * 2048 / (stream.dram_efficiency * H100.bandwidth_bytes_per_s)
    blocks = 512 * (of.row_clocks + 2048 * of.row_sm_clocks / H100.sms) * H100.clock_s
    assert blocks > 2048 * of.row_element_clocks * H100.clock_s
    together = overlapped(moved, blocks, CONSTANTS.products.overlap)
    first = together + of.row_launch_clocks * H100.clock_s
    best, *_ = kernel.apart(work, H100, CONSTANTS)
    assert best.quantise_s == pytest.approx(first)
    assert best.latency_s == pytest.approx(seconds((512, 1024, 2048), H100))
    assert best.latency_s == pytest.approx(best.overlapped_s + best.reduction_s + best.launch_s + first)
    assert kernel.terms(work, H100, CONSTANTS)["quantise"] == pytest.approx(first)
    assert kernel.before(work, H100, CONSTANTS).seconds == pytest.approx(first)


def test_the_faster_of_the_ways_of_libraries_is_predicted():
    # few columns and a long k: three kernels before it are worth it where k can be split
    kernel, chip = Fp8Gemm(), CHIPS["nvidia/l40s"]
    work = kernel.work(np.array([512, 512]), np.array([64, 4096]), np.array([65536, 512]))
    by_rows, by_tensor = (path.time(work, chip, CONSTANTS).seconds for path in kernel.paths)
    assert list(by_tensor < by_rows) == [True, False]
    assert kernel.predict(work, chip, CONSTANTS) == pytest.approx([by_tensor[0], by_rows[1]])
    first = [path.before(work, chip, CONSTANTS).seconds for path in kernel.paths]
    assert kernel.before(work, chip, CONSTANTS).seconds == pytest.approx([first[1][0], first[0][1]])


def test_a_bias_is_read_beside_the_product_as_wide_as_it_is_stored():
    kernel, m, n, k = Fp8Gemm(), 512.0, 1024.0, 2048.0
    bare = kernel.work(m, n, k)
    stored = replace(bare, bytes_moved=2 * np.array([m * k + n * k + m * n + n]), stored_bytes=2.0)
    assert kernel.bytes_moved(stored) == kernel.bytes_moved(bare) + 2 * n


def test_many_shapes_are_timed_as_each_by_itself():
    rows, kernel = np.array([1, 64, 65, 4096]), Fp8Gemm()
    together = kernel.predict(kernel.work(rows, 4096, 512), H100, CONSTANTS)
    assert together == pytest.approx([seconds((one, 4096, 512), H100) for one in rows])


# ------------------------------------------------------------------------------------------------------------ slow twin


@given(SIZES, ANY_CHIP, SCALE, st.sampled_from([1.0, 6.0]))
def test_a_product_equals_its_slow_twin(sizes, chip, scale, copies):
    slow = slow_fp8_s(*sizes, chip, CONSTANTS, scale, copies)
    assert seconds(sizes, chip, scale=scale, copies=copies) == pytest.approx(slow, rel=1e-9)


@given(SIZE, SIZE, ANY_CHIP, st.sampled_from(get_args(Given)))
def test_a_quantise_kernel_equals_its_slow_twin(rows, elements, chip, given_scale):
    kernel = Quantise(given=given_scale)
    (found,) = kernel.predict(kernel.work(rows, elements, copies=1.0), chip, CONSTANTS)
    assert found == pytest.approx(slow_quantise_s(rows, elements, chip, CONSTANTS, given_scale), rel=1e-9)


# ----------------------------------------------------------------------------------------------------------------- laws


@given(SIZES, st.integers(0, 2), st.integers(1, 4096), ANY_CHIP, SCALE)
def test_more_rows_columns_or_depth_take_no_less(sizes, which, more, chip, scale):
    larger = list(sizes)
    larger[which] += more
    assert seconds(larger, chip, scale=scale) >= seconds(sizes, chip, scale=scale) * (1 - ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("resource", RESOURCES)
@given(sizes=SIZES, chip=ANY_CHIP, scale=SCALE, factor=st.floats(1.0, 4.0))
def test_more_of_a_resource_takes_no_longer(resource, sizes, chip, scale, factor):
    better = replace(chip, **{resource: getattr(chip, resource) * factor})
    assert seconds(sizes, better, scale=scale) <= seconds(sizes, chip, scale=scale) * (1 + ROUNDING)


@given(SIZES, ANY_CHIP, SCALE)
def test_no_product_beats_the_roofline(sizes, chip, scale):
    m, n, k = sizes
    compute = m * n * k / (chip.sms * chip.macs_per_clock * chip.clock_hz)
    assert seconds(sizes, chip, scale=scale) >= max(compute, (m * k + n * k + 2 * m * n) / chip.bandwidth_bytes_per_s)
