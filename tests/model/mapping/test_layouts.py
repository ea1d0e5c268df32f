"""Layouts by hand: on lanes, on thread groups, on systolic arrays, on tiles of several sizes; and what is refused."""

import pytest

from rooflint.hardware.registry import Registry
from rooflint.mapping.allocate import (
    ACCUMULATOR_BYTES,
    MappingError,
    allocate,
    array_geometry,
    fill_drain_clocks,
    nearly_square,
    tile_menu,
)
from rooflint.workloads.builders import conv2d, gemm
from rooflint.workloads.ops import Op
from rooflint.workloads.workload import Workload

REGISTRY = Registry()
XEON, H100, ORIN = (
    REGISTRY.get(name) for name in ("intel/xeon-8490h", "nvidia/h100-sxm5-80gb", "nvidia/jetson-agx-orin-64gb")
)
TPU, KPU = REGISTRY.get("google/tpu-v4"), REGISTRY.get("stillwater/kpu-t256")


def op(kind, elements_in, elements_out):
    return Workload.from_ops("one", [Op("op", kind, 0, 0, elements_in, 0, elements_out)])


# ---- lanes


def test_a_core_takes_as_many_outputs_as_it_has_lanes():
    # 2 ports × 16 FP32 lanes = 32 outputs a core: 1000 outputs are ⌈1000 / 32⌉ = 32 of 60 cores
    assert allocate(XEON, gemm(1, 1000, 512), compute="fp32").display(0) == "32/60 core"
    # 1921 = 60 · 32 + 1: all 60, and one vector of one output in a second wave
    more = allocate(XEON, op("relu", 1921, 1921), compute="fp32")
    assert (more.display(0), int(more.waves[0]), int(more.last_units[0])) == ("60/60 core", 2, 1)
    assert more.reason(0) == "61 vectors of 32 outputs in 2 waves of 60, 1 core in the last"


def test_a_narrower_precision_has_more_lanes_on_fewer_cores():
    # VNNI on simd: 2 × 64 = 128 lanes: 1000 outputs are 8 cores
    simd = XEON.unit("simd")
    assert allocate(XEON, gemm(1, 1000, 512), compute="int8", unit=simd).display(0) == "8/60 core"


def test_the_matrix_unit_of_a_core_counts_by_its_macs():
    # AMX, BF16: 512 MAC a core: 1000 outputs are 2 cores
    assert allocate(XEON, gemm(1, 1000, 512), compute="bf16").display(0) == "2/60 core"


# ---- threads


def test_a_product_lies_in_output_tiles_one_to_an_sm():
    # a 64 × 256 result, k 512: 4 tiles of 64 × 64
    assert allocate(H100, gemm(64, 256, 512), compute="fp16").display(0) == "4/132 SM"
    # 1536 × 1024: 64 × 64 is 24 × 16 = 384 tiles, 3 waves of 4096 = 12 288 outputs; 128 × 64 is 192, 2 waves of 8192
    many = allocate(H100, gemm(1536, 1024, 512), compute="fp16")
    assert many.reason(0) == "384 output tiles of 64 × 64 in 3 waves of 132, 120 SM in the last"
    # 396 slots, 384 tiles
    assert many.idle_slots[0] == pytest.approx(1 - 384 / 396)


def test_an_element_wise_op_lies_in_thread_blocks():
    # 4 warps × 32 threads × 4 outputs = 512: ⌈10 000 / 512⌉ = 20 blocks on 20 SMs; an SM holds 64 / 4 = 16 of them
    few = allocate(H100, op("relu", 10_000, 10_000), compute="fp16")
    assert (few.display(0), few.reason(0), int(few.slots[0])) == ("20/132 SM", "20 thread blocks of 512 outputs", 2112)
    # Orin holds 48 / 4 = 12 on each of 16 SMs
    assert int(allocate(ORIN, op("relu", 9, 9), compute="fp16").slots[0]) == 192


def test_a_wavefront_of_64_makes_larger_blocks():
    # CDNA: 4 × 64 × 4 = 1024 outputs: 10 000 are 10 blocks
    assert allocate(REGISTRY.get("amd/mi210"), op("relu", 10_000, 10_000), compute="fp16").display(0) == "10/104 CU"


def test_a_wide_reduction_gives_each_output_a_warp():
    # 7 × 7 = 49 inputs an output, more than 32: 512 outputs in blocks of 4 are 128; a 2 × 2 pool is element-wise: 1
    wide = op("avg_pool", 512 * 49, 512)
    assert allocate(H100, wide, compute="fp16").reason(0) == "128 thread blocks of 4 outputs"
    assert allocate(H100, op("max_pool", 2048, 512), compute="fp16").reason(0) == "1 thread block of 512 outputs"


def test_a_grouped_convolution_has_tiles_for_each_group_and_a_depthwise_one_none():
    # 28 × 28 = 784 positions, 4 groups of 32 channels: ⌈784 / 64⌉ = 13 tiles a group, 52
    shape = {"c_in": 128, "h": 28, "w": 28, "c_out": 128, "kernel": 3, "padding": 1}
    grouped = allocate(H100, conv2d(**shape, groups=4), compute="fp16")
    assert grouped.reason(0) == "52 output tiles of 64 × 64"
    # 128 groups of one channel: a thread an output, 100 352 / 512 = 196 blocks
    depthwise = allocate(H100, conv2d(**shape, groups=128), compute="fp16")
    assert (depthwise.reason(0), depthwise.display(0)) == ("196 thread blocks of 512 outputs", "132/132 SM")


def test_a_tile_may_be_asked_for():
    # Horace He: 1792² on 256 × 128 is 7 × 14 = 98 tiles on an A100's 108 SMs
    a100 = REGISTRY.get("nvidia/a100-sxm4-80gb")
    assert allocate(a100, gemm(1792, 1792, 64), compute="fp16", tile=(256, 128)).display(0) == "98/108 SM"


def test_accumulators_of_eight_bytes_leave_out_the_largest_tile():
    # 256 × 128 × 4 B is 128 KiB, in FP64 twice that
    assert tile_menu("tensor_core", "fp16")[0] == (256, 128)
    assert tile_menu("tensor_core", "fp64")[0] == (128, 128)
    assert tile_menu("cuda_core", "fp32")[0] == (128, 128)
    assert ACCUMULATOR_BYTES == 256 * 128 * 4


def test_packed_warps_are_the_fewest_groups_that_hold_the_work():
    # 16 × 1024 = 16 384 outputs / 32 = 512 warps / 48 = 10.67: 11 of 16 SMs
    packed = allocate(ORIN, gemm(16, 1024, 1024), compute="fp32", layout="packed")
    assert (packed.display(0), packed.reason(0)) == ("11/16 SM", "512 warps of 32 outputs")
    assert packed.utilization[0] == 0.6875
    # a convolution with as many outputs: 64 channels × 16 × 16
    like = conv2d(c_in=64, h=16, w=16, c_out=64, kernel=3, padding=1)
    assert allocate(ORIN, like, compute="fp32", layout="packed").display(0) == "11/16 SM"


# ---- systolic arrays


def test_a_product_is_padded_to_the_array():
    # 200 × 300 on 128 × 128: 2 × 3 tiles; k 100 of 128: 6 MXUs of 8
    laid = allocate(TPU, gemm(200, 300, 100), compute="bf16")
    assert laid.display(0) == "6/8 MXU"
    assert laid.padding[0] == pytest.approx(1 - 200 * 300 * 100 / (256 * 384 * 128))
    assert laid.fill_drain_clocks[0] == 382


def test_one_small_product_holds_one_array():
    assert allocate(TPU, gemm(16, 100, 1024), compute="bf16").display(0) == "1/8 MXU"
    # TPU v1 has one of 256 × 256
    assert allocate(REGISTRY.get("google/tpu-v1"), gemm(16, 1024, 1024), compute="int8").display(0) == "1/1 MXU"


def test_other_ops_lie_on_the_vector_unit_of_each_core():
    # 8 × 128 outputs a register: 1000 are one, on one of two cores; no array fills
    laid = allocate(TPU, op("relu", 1000, 1000), compute="bf16")
    assert (laid.display(0), laid.fill_drain_clocks[0]) == ("1/2 core", 0)


@pytest.mark.parametrize(
    ("device", "compute", "geometry"),
    [
        ("google/tpu-v1", "int8", (256, 1)),  # 65 536
        ("google/tpu-v4", "int8", (128, 1)),  # 16 384, no faster than BF16
        ("google/tpu-v5e", "int8", (128, 2)),  # 32 768 on the 16 384 cells of BF16
        ("google/tpu-v6e", "bf16", (256, 1)),
        ("google/coral-edge-tpu", "int8", (64, 1)),  # 4096
        ("intel/gaudi-2", "fp8", (256, 2)),
    ],
)
def test_the_side_of_an_array_is_the_root_of_its_slowest_rate(device, compute, geometry):
    hardware = REGISTRY.get(device)
    assert array_geometry(hardware, hardware.best_unit(compute), compute) == geometry


def test_an_array_that_is_no_square_is_refused_with_its_rate():
    with pytest.raises(MappingError, match=r"dla is not a square array: its slowest rate is 8192 MAC a clock") as error:
        allocate(ORIN, gemm(8, 8, 8), compute="int8", unit=ORIN.unit("dla"))
    rate = ORIN.facts["units.dla.macs_per_clock.int8"]
    assert "a square such as 4096 or 16384 in its slowest" in str(error.value)
    assert f"{rate.file.name}:{rate.line}; a unit that is built otherwise has another 'circuit:'" in str(error.value)


def test_filling_and_draining_takes_three_sides_less_two():
    # load 128 rows, then a skew of 127 in each direction: 2 · 128 + 128 − 2
    assert fill_drain_clocks(128) == 382


# ---- tiles of several sizes


def test_tiles_that_compute_in_the_precision_are_filled_from_the_largest():
    # INT8: 26 matrix tiles of 4096 MAC = 16 blocks of 16 × 16, 179 small ones of one block. 100 × 160 outputs: 7 × 10
    # blocks = 70: ⌈70 / 16⌉ = 5 matrix tiles
    assert allocate(KPU, gemm(100, 160, 64), compute="int8").display(0) == "5/205 tile"
    # 32 × 15 = 480 blocks: 26 · 16 = 416, and 64 small ones: 90 tiles
    assert allocate(KPU, gemm(512, 240, 64), compute="int8").display(0) == "90/205 tile"


def test_tiles_of_another_precision_hold_nothing():
    # BF16: 51 tiles of 128 and 26 of 2048 MAC; INT8 tiles do not compute in it
    assert allocate(KPU, gemm(8, 8, 8), compute="bf16").total[0] == 77
    # FP32 only the 51
    assert allocate(KPU, gemm(8, 8, 8), compute="fp32").total[0] == 51
    # one kind of tile alone, where it is asked for
    assert allocate(KPU, gemm(8, 8, 8), compute="int8", unit=KPU.unit("int8_tile")).total[0] == 179


def test_a_tile_is_as_square_as_its_area_allows():
    assert [nearly_square(area) for area in (256, 128, 64, 2048, 7, 1)] == [
        (16, 16), (16, 8), (8, 8), (64, 32), (7, 1), (1, 1),
    ]  # fmt: skip


# ---- refusals


def test_a_gpu_that_does_not_say_its_warps_is_told_what_is_missing(specs):
    device = specs.device("""\
        units:
          cuda_core:
            group: SM
            groups: [4, wp, p. 1]
            per_group: [64, wp, p. 1]
            clock: [1 GHz, wp, p. 1]
            macs_per_clock: {fp32: [1 MAC, wp, p. 1]}
            circuit: cuda_core
        """)
    with pytest.raises(
        MappingError,
        match=r"yaml:\d+  acme/one: want 'resident_warps: \{SM: \[value, source, where\]\}' to lay ops out in warps",
    ):
        allocate(device, gemm(8, 8, 8), compute="fp32")


def test_a_unit_without_a_circuit_is_told_so(specs):
    device = specs.device("""\
        units:
          engine:
            group: core
            groups: [4, wp, p. 1]
            per_group: [64, wp, p. 1]
            clock: [1 GHz, wp, p. 1]
            macs_per_clock: {fp32: [1 MAC, wp, p. 1]}
        """)
    with pytest.raises(MappingError, match=r"does not say units\.engine\.circuit, such as tensor_core or systolic_mac"):
        allocate(device, gemm(8, 8, 8), compute="fp32")


def test_only_thread_groups_have_a_choice_of_tiles_and_packed_warps():
    with pytest.raises(MappingError, match="mxu has no choice of output tiles"):
        allocate(TPU, gemm(8, 8, 8), compute="bf16", tile=(64, 64))
    with pytest.raises(MappingError, match="they have no output tiles"):
        allocate(H100, gemm(8, 8, 8), compute="fp16", layout="packed", tile=(64, 64))
    with pytest.raises(MappingError, match="want 'resident_warps:"):
        allocate(XEON, gemm(8, 8, 8), compute="fp32", layout="packed")


def test_a_layout_that_does_not_exist_is_refused():
    with pytest.raises(MappingError, match=r"unknown layout 'full' \(known: spread, packed\)"):
        allocate(H100, gemm(8, 8, 8), compute="fp16", layout="full")


def test_warps_of_a_group_that_no_unit_is_in_are_refused(refused):
    assert refused("""\
        resident_warps: {SMs: [64, wp, p. 1]}  # here
        units:
          cuda_core:
            group: SM
            groups: [4, wp, p. 1]
            per_group: [64, wp, p. 1]
            clock: [1 GHz, wp, p. 1]
            macs_per_clock: {fp32: [1 MAC, wp, p. 1]}
        """) == ["resident_warps.SMs: no unit is grouped in 'SMs' (groups: SM)"]
