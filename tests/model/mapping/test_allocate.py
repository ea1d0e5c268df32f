"""Mapping: its laws on every device of the registry, and its slow twin, which lays out one op after the other."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rooflint.base.errors import RooflintError
from rooflint.base.precision import PRECISIONS, bytes_per_element
from rooflint.hardware.device import UndisclosedError, UnsupportedError, working_units
from rooflint.hardware.registry import Registry
from rooflint.mapping.allocate import allocate, chip_bytes, issued, operand_bytes, operands_per_mac, tile_menu
from rooflint.mapping.allocation import Allocation, Part, Pool, UnitArray, lines, output_tiles
from rooflint.mapping.allocation import products as blocks_products
from rooflint.workloads.builders import gemm, matrix_op, mlp
from rooflint.workloads.ops import Op
from rooflint.workloads.tables import load_workload
from rooflint.workloads.workload import Workload

REGISTRY = Registry()
DEVICES = [
    REGISTRY.get(name).at(mode) if mode else REGISTRY.get(name)
    for name in REGISTRY.ids()
    for mode in (None, *REGISTRY.get(name).operating_points)
]


def supported(hardware, compute):
    try:
        return bool(working_units(hardware, compute)[0])
    except RooflintError:
        return False


PAIRS = [(hardware, compute) for hardware in DEVICES for compute in PRECISIONS if supported(hardware, compute)]
pairs = st.sampled_from(PAIRS)
sizes = st.integers(1, 4000)


@st.composite
def products(draw):
    m, n, k = draw(sizes), draw(st.one_of(st.just(1), sizes)), draw(sizes)
    kind = draw(st.sampled_from(("linear", "conv2d", "conv_transpose2d", "matmul", "attention")))
    groups = 1 if kind == "linear" else draw(st.integers(1, 300))
    weights = n * k * groups if kind in ("linear", "conv2d", "conv_transpose2d") else 0
    return Op("op", kind, m * n * k * groups, 0, m * k * groups, weights, m * n * groups, m, n, k, groups)


@st.composite
def others(draw):
    kind, ratio = draw(
        st.sampled_from((("relu", 1), ("add", 2), ("batch_norm", 1), ("max_pool", 4), ("avg_pool", 49), ("cat", 1)))
    )
    outputs = draw(st.integers(1, 10**7))
    return Op("op", kind, 0, outputs, ratio * outputs, 0, outputs)


ops = st.one_of(products(), others())


def workload(*rows):
    return Workload.from_ops("drawn", [row._replace(name=f"op{place}") for place, row in enumerate(rows)])


# ---- laws


@given(pairs, st.lists(ops, min_size=1, max_size=6))
def test_an_op_holds_at_least_one_unit_and_no_more_than_there_are(pair, rows):
    hardware, compute = pair
    laid = allocate(hardware, workload(*rows), compute=compute)
    assert (laid.units >= 1).all()
    assert (laid.units <= laid.total).all()
    assert (laid.last_units >= 1).all()
    assert (laid.last_units <= laid.units).all()
    assert ((laid.utilization > 0) & (laid.utilization <= 1)).all()
    assert ((laid.padding >= 0) & (laid.padding < 1)).all()
    assert ((laid.idle_slots >= 0) & (laid.idle_slots < 1)).all()


@given(pairs, st.lists(ops, min_size=1, max_size=6))
def test_the_waves_have_room_for_all_blocks_and_one_wave_less_has_not(pair, rows):
    hardware, compute = pair
    laid = allocate(hardware, workload(*rows), compute=compute)
    assert (laid.waves * laid.slots >= laid.blocks).all()
    assert ((laid.waves - 1) * laid.slots < laid.blocks).all()


@given(pairs, ops, st.integers(1, 7))
def test_a_larger_batch_never_lies_on_fewer_units(pair, row, batch):
    hardware, compute = pair
    few, many = (allocate(hardware, workload(row).at_batch(samples), compute=compute) for samples in (batch, batch + 1))
    assert few.units[0] <= many.units[0]


@given(pairs, products(), st.sampled_from("mn"), st.integers(0, 4000))
def test_a_longer_result_never_lies_on_fewer_units(pair, row, side, more):
    hardware, compute = pair
    longer = row._replace(**{side: getattr(row, side) + more})
    longer = longer._replace(
        macs=longer.m * longer.n * longer.k * longer.groups, elements_out=longer.m * longer.n * longer.groups
    )
    assume(longer.macs < 2**53)
    few, many = (allocate(hardware, workload(one), compute=compute) for one in (row, longer))
    assert few.units[0] <= many.units[0]


@given(pairs)
def test_work_that_fills_a_wave_just_so_leaves_nothing_idle(pair):
    hardware, compute = pair
    probe = allocate(hardware, workload(Op("op", "relu", 0, 1, 1, 0, 1)), compute=compute)
    (part,) = (part for part in probe.parts if len(part.ops))
    outputs = int(probe.slots[0] * part.blocks.rows[0])
    full, over = (
        allocate(hardware, workload(Op("op", "relu", 0, number, number, 0, number)), compute=compute)
        for number in (outputs, outputs + 1)
    )
    assert (full.utilization[0], full.waves[0], full.idle_slots[0], full.padding[0]) == (1, 1, 0, 0)
    assert (over.utilization[0], over.waves[0], over.last_units[0]) == (1, 2, 1)


@given(pairs)
def test_products_that_fill_a_wave_just_so_leave_nothing_idle(pair):
    # one column of tiles, as many below one another as a wave has slots; a GPU is given the tile
    hardware, compute = pair
    tile = (64, 64) if f"resident_warps.{working_units(hardware, compute)[0].group}" in hardware.facts else None
    probe = allocate(hardware, workload(square(1, 1, 1)), compute=compute, tile=tile)
    (part,) = (part for part in probe.parts if len(part.ops))
    rows, columns, depth = int(part.blocks.rows[0]), int(part.blocks.columns[0]), 2048
    full, over = (
        allocate(hardware, workload(square(m, columns, depth)), compute=compute, tile=tile)
        for m in (int(probe.slots[0]) * rows, int(probe.slots[0]) * rows + 1)
    )
    assert (full.utilization[0], full.waves[0], full.idle_slots[0], full.padding[0]) == (1, 1, 0, 0)
    assert (over.utilization[0], over.waves[0]) == (1, 2)


def square(m, n, k):
    return Op("op", "linear", m * n * k, 0, m * k, n * k, m * n, m, n, k, 1)


@pytest.mark.slow
@pytest.mark.parametrize("hardware", DEVICES, ids=lambda hardware: f"{hardware.id}@{hardware.mode}")
def test_a_precision_that_no_unit_has_is_refused_and_no_other(hardware):
    unknown = [
        name for name in PRECISIONS if name not in {p for unit in hardware.units.values() for p in unit.precisions}
    ]
    for compute in unknown:
        with pytest.raises((UnsupportedError, UndisclosedError)):
            allocate(hardware, mlp([8, 8]), compute=compute)
    for unit in hardware.units.values():
        for compute in unit.precisions:
            if supported(hardware, compute):
                assert allocate(hardware, mlp([8, 8]), compute=compute).compute == compute


def test_what_is_not_supported_is_said_with_what_is():
    with pytest.raises(UnsupportedError, match=r"nvidia/t4 does not support bf16 \(has: fp16,"):
        allocate(REGISTRY.get("nvidia/t4"), mlp([8, 8]), compute="bf16")
    with pytest.raises(UnsupportedError, match=r"google/tpu-v4 does not support fp32 \(has: bf16, int8\)"):
        allocate(REGISTRY.get("google/tpu-v4"), mlp([8, 8]), compute="fp32")


def test_a_module_s_other_processors_are_not_used_in_place_of_its_gpu():
    # at 30 W two DLAs peak at 22.4 TOP/s each, more than the GPU's 20.05; the ops of a GPU lie on its SMs
    orin = REGISTRY.get("nvidia/jetson-agx-orin-64gb").at("30w")
    assert orin.best_unit("int8").name == "dla"
    assert working_units(orin, "int8")[0].name == "tensor_core"
    assert allocate(orin, mlp([1024, 1024], batch=16), compute="int8").display(0) == "8/8 SM"
    with pytest.raises(UnsupportedError, match=r"does not support int4 \(has: bf16, fp16, fp32, fp64, int8\)"):
        allocate(orin, mlp([8, 8]), compute="int4")


def test_the_facts_of_an_allocation_are_those_that_decide():
    laid = allocate(REGISTRY.get("nvidia/h100-sxm5-80gb"), mlp([8, 8]), compute="fp16")
    assert {fact.path for fact in laid.facts} == {
        "units.tensor_core.groups",
        "resident_warps.SM",
        "warp_threads.SM",
    }


# ---- the twin


def twin(hardware, op, compute):
    """(units, total, waves) of one op, written as the documentation says it, with loops."""
    unit = working_units(hardware, compute)[0]
    product, circuit = op.macs > 0, unit.circuit
    if f"resident_warps.{unit.group}" in hardware.facts:
        groups, width = unit.groups, int(hardware.facts[f"warp_threads.{unit.group}"].value)
        if product and not (op.kind.startswith("conv") and op.n == 1):
            return even(tiles_of_a_gpu(op, circuit, compute, groups), groups, 1)
        outputs_of_a_block = 4 if not product and op.elements_in >= width * op.elements_out else 4 * width * 4
        blocks = math.ceil(op.elements_out / outputs_of_a_block)
        return even(blocks, groups, int(hardware.facts[f"resident_warps.{unit.group}"].value) // 4)
    if circuit == "domain_flow":
        return of_several_sizes(hardware, op, compute)
    if circuit == "systolic_mac" and hardware.kind != "cpu":
        if not product:
            return even(math.ceil(op.elements_out / 1024), unit.groups, 1)
        side = round(min(unit.macs_per_clock(precision) for precision in unit.precisions) ** 0.5)
        return even(grid(op, side, side), unit.groups * unit.per_group, 1)
    return even(math.ceil(op.elements_out / (unit.per_group * unit.macs_per_clock(compute))), unit.groups, 1)


def grid(op, rows, columns):
    return op.groups * len(range(0, op.m, rows)) * len(range(0, op.n, columns))


def even(blocks, units, depth):
    return min(blocks, units), units, math.ceil(blocks / (units * depth))


def tiles_of_a_gpu(op, circuit, compute, groups):
    small = (64, 64) if circuit == "tensor_core" else (64, 32)
    menu = (
        [(256, 128), (128, 128), (128, 64), (64, 64)]
        if circuit == "tensor_core"
        else [(128, 128), (128, 64), (64, 64), small]
    )
    found = []
    for long, short in menu:
        if long * short * max(4, bytes_per_element(compute)) > 128 * 1024:
            continue
        if op.kind == "attention":
            count, area = op.groups * math.ceil(op.m / long), long * op.n
        else:
            rows, columns = (short, long) if op.n > op.m else (long, short)
            count, area = grid(op, rows, columns), long * short
        found.append((math.ceil(count / groups) * area, -area, count))
    busy = [entry for entry in found if entry[2] >= groups]
    return min(busy)[2] if busy else found[-1][2]


def of_several_sizes(hardware, op, compute):
    tiles = sorted(
        (unit for unit in hardware.units.values() if compute in unit.precisions),
        key=lambda unit: -unit.macs_per_clock(compute),
    )
    least = int(tiles[-1].macs_per_clock(compute))
    rows, columns = min(
        ((least // side, side) for side in range(1, least + 1) if least % side == 0 and side * side <= least), key=sum
    )
    blocks = grid(op, rows, columns) if op.macs else math.ceil(op.elements_out / least)
    room = [int(unit.macs_per_clock(compute)) // least for unit in tiles for _ in range(unit.groups)]
    left, active = blocks, 0
    for slots in room:
        active += left > 0
        left -= slots
    return active, len(room), math.ceil(blocks / sum(room))


@pytest.mark.slow
@settings(max_examples=3 * settings.default.max_examples)
@given(pairs, st.lists(ops, min_size=1, max_size=5))
def test_the_table_is_what_one_op_after_the_other_gives(pair, rows):
    hardware, compute = pair
    laid = allocate(hardware, workload(*rows), compute=compute)
    assert list(zip(laid.units.tolist(), laid.total.tolist(), laid.waves.tolist(), strict=True)) == [
        twin(hardware, row, compute) for row in rows
    ]


@pytest.mark.parametrize("network", ["resnet18", "mobilenet_v2", "vit_b_16", "swin_t", "convnext_tiny"])
def test_networks_lie_as_the_twin_says(network):
    table = load_workload(f"torchvision/{network}")
    for device, compute in (
        ("nvidia/h100-sxm5-80gb", "fp16"),
        ("google/tpu-v5e", "int8"),
        ("stillwater/kpu-t256", "bf16"),
        ("intel/xeon-8490h", "fp32"),
    ):
        hardware = REGISTRY.get(device)
        units = allocate(hardware, table, compute=compute).units
        assert np.array_equal(units, [twin(hardware, row, compute)[0] for row in table.rows()])


# ---- Traffic on the chip: its slow twins walk tile after tile and op after op


def near(value):
    """Energies of single events are far below the absolute tolerance that approx has by default."""
    return pytest.approx(value, rel=1e-9, abs=0)


ARRAY = UnitArray("SM", (Pool(4),))
sizes_of_traffic = st.integers(1, 40)
tiles = st.integers(1, 16)


def laid(work, rows, columns, *, systolic=False, noun="output tile"):
    """All ops of a workload in tiles of one size."""
    ops = np.arange(len(work))
    blocks = output_tiles(blocks_products(work, ops), rows, columns)
    if noun != "output tile":
        blocks = lines(work.elements_out, rows * columns, noun)
    part = Part(ops, blocks, ARRAY, fill_drain_clocks=3 * rows - 2 if systolic else 0)
    return Allocation("one", work.name, "fp16", work.op_names, (part,))


def product(m, n, k, groups=1):
    return Workload.from_ops(
        "one", [matrix_op("one", "matmul", (m, n, k, groups), (groups * m * k, groups * n * k, groups * m * n))]
    )


def walked(m, n, k, groups, rows, columns, systolic):
    """Slow twin: every tile reads the rows and columns that it covers; a systolic array keeps the columns it has."""
    read = 0
    for _ in range(groups):
        active = set()
        for top in range(0, m, rows):
            for left in range(0, n, columns):
                read += k * len(range(top, min(top + rows, m)))
                if not systolic or left not in active:
                    read += k * len(range(left, min(left + columns, n)))
                active.add(left)
    return read + groups * m * n


# ---- tiles


@given(sizes_of_traffic, sizes_of_traffic, sizes_of_traffic, st.integers(1, 3), tiles, tiles, st.booleans())
def test_every_tile_reads_its_rows_and_columns(m, n, k, groups, rows, columns, systolic):
    work = product(m, n, k, groups)
    found = chip_bytes(laid(work, rows, columns, systolic=systolic), work, "fp16")
    assert found.tolist() == [2 * walked(m, n, k, groups, rows, columns, systolic)]


def test_a_large_product_reads_each_operand_once_for_each_tile_along_it():
    # 8192 / 256 = 32 tiles down and 8192 / 128 = 64 across: (32 + 64 + 1) × 8192² × 2 B
    work = gemm(8192, 8192, 8192)
    allocation = allocate(REGISTRY.get("nvidia/a100-sxm4-80gb"), work, compute="fp16", tile=(256, 128))
    assert chip_bytes(allocation, work, "fp16").tolist() == [(32 + 64 + 1) * 8192**2 * 2]


def test_one_row_is_read_as_one_row_however_high_the_tile():
    # 1 × 4096 by 4096 × 4096 in tiles of 64 columns: 64 times the row, once the weights, once the result
    work = gemm(1, 4096, 4096)
    assert chip_bytes(laid(work, 64, 64), work, "int8").tolist() == [64 * 4096 + 4096 * 4096 + 4096]


def test_a_systolic_array_reads_its_weights_once_and_the_rows_for_each_of_its_columns():
    # TPU v4, 128 × 128: 8192 / 128 = 64 times the rows, once the weights and the result: (64 + 1 + 1) × 8192² × 2 B
    work = gemm(8192, 8192, 8192)
    allocation = allocate(REGISTRY.get("google/tpu-v4"), work, compute="bf16")
    assert chip_bytes(allocation, work, "bf16").tolist() == [66 * 8192**2 * 2]


def test_what_is_no_product_is_read_and_written_once():
    # 1000 in, 1000 out, 2 B each
    work = Workload.from_ops("one", [Op("relu", "relu", 0, 1000, 1000, 0, 1000)])
    assert chip_bytes(laid(work, 16, 1, noun="thread block"), work, "fp16").tolist() == [4000]


@given(sizes_of_traffic, sizes_of_traffic, sizes_of_traffic, tiles, tiles)
def test_no_less_goes_over_the_chip_than_comes_from_outside(m, n, k, rows, columns):
    work = product(m, n, k)
    assert (chip_bytes(laid(work, rows, columns), work, "fp16") >= work.bytes_moved("fp16")).all()


@given(sizes_of_traffic, sizes_of_traffic, sizes_of_traffic, tiles, st.integers(2, 4))
def test_larger_tiles_never_read_more(m, n, k, side, factor):
    work = product(m, n, k)
    small, large = (chip_bytes(laid(work, edge, edge), work, "fp16") for edge in (side, side * factor))
    assert (large <= small).all()


@given(sizes_of_traffic, sizes_of_traffic, sizes_of_traffic, tiles, tiles)
def test_bytes_follow_the_precision_in_storage(m, n, k, rows, columns):
    work = product(m, n, k)
    one, two, half = (chip_bytes(laid(work, rows, columns), work, name) for name in ("int8", "fp16", "int4"))
    assert (two == 2 * one).all()
    assert (half == one / 2).all()


# ---- operands and instructions


def test_a_core_reads_an_operand_for_each_mac_of_a_lane():
    # 6 MAC and 10 other ops, 4 B each
    work = Workload.from_ops("one", [Op("one", "linear", 6, 10, 3, 2, 6, 1, 2, 3, 1)])
    assert operand_bytes(work, "fp32", 1.0).tolist() == [64]
    assert operand_bytes(work, "fp32", 0.5).tolist() == [52]


def test_a_matrix_unit_reads_the_rows_and_columns_of_a_square():
    # AMX: 512 MAC of BF16 a clock, 2 · √512 = 45.3 operands
    xeon = REGISTRY.get("intel/xeon-8490h")
    assert operands_per_mac(xeon.units["amx"], "bf16") == near(2 / math.sqrt(512))
    assert operands_per_mac(xeon.units["simd"], "fp32") == 1


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 1000)), min_size=1, max_size=4),
    st.sampled_from((1, 4, 16)),
    st.sampled_from((1, 8)),
)
def test_an_op_takes_whole_instructions(rows, macs, others):
    ops = [
        Op(f"{place}", "any", side**3, other, 0, 0, 0, side, side, side, 1) for place, (side, other) in enumerate(rows)
    ]
    found = issued(Workload.from_ops("one", ops), macs, others)
    assert found.tolist() == [math.ceil(side**3 / macs) + math.ceil(other / others) for side, other in rows]


def test_accumulators_of_a_tile_have_four_bytes_and_eight_in_fp64():
    # 256 × 128 of 4 B are the 128 KiB that a tile may take
    assert tile_menu("tensor_core", "int8")[0] == tile_menu("tensor_core", "fp32")[0] == (256, 128)
    assert tile_menu("tensor_core", "fp64")[0] == tile_menu("simd", "fp64")[0] == (128, 128)
