"""Blocks, arrays of units, and what an allocation says of each op."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.hardware.registry import Registry
from rooflint.mapping.allocate import allocate
from rooflint.mapping.allocation import Pool, UnitArray, ceil_div, chosen_tiles, lines, output_tiles, products
from rooflint.workloads.ops import Op
from rooflint.workloads.workload import Workload

MENU = ((256, 128), (128, 128), (128, 64), (64, 64))
sizes = st.integers(1, 5000)


def product(kind, m, n, k, groups):
    op = Op("op", kind, m * n * k * groups, 0, 1, 0, m * n * groups, m, n, k, groups)
    return products(Workload.from_ops("one", [op]), np.array([0]))


def gemm(m, n, k):
    return product("gemm", m, n, k, 1)


def cut(blocks):
    """(count, rows, columns) of the only op."""
    return int(blocks.count[0]), int(blocks.rows[0]), int(blocks.columns[0])


def test_tiles_cover_the_result():
    # ⌈257 / 128⌉ × ⌈256 / 128⌉ = 3 × 2, NVIDIA's example of tile quantization; 257 of 384 rows are real
    blocks = output_tiles(gemm(257, 256, 64), 128, 128)
    assert cut(blocks) == (6, 128, 128)
    assert blocks.padding[0] == pytest.approx(1 - 257 / 384)


def test_each_group_has_its_own_tiles():
    # 4 groups of 10 × 10 on tiles of 16 × 16: 4 tiles, 400 of 1024 outputs
    blocks = output_tiles(product("conv2d", 10, 10, 9, 4), 16, 16)
    assert cut(blocks) == (4, 16, 16)
    assert blocks.padding[0] == pytest.approx(1 - 400 / 1024)


def test_depth_is_padded_where_a_tile_has_one():
    # m, n and k of 100 on 128: (100 / 128)³ of the work is real
    assert output_tiles(gemm(100, 100, 100), 128, 128, 128).padding[0] == pytest.approx(1 - (100 / 128) ** 3)


@pytest.mark.parametrize(
    ("shape", "units", "tile"),
    [
        # 32 × 64 tiles of 256 × 128 on 108 units: 19 waves × 32 768; 128 × 128: 38 × 16 384, as long: the larger one
        ((8192, 8192), 108, (2048, 256, 128)),
        # 8 × 16 of 256 × 128 are 128, in 2 waves: 65 536 outputs; 128 × 128: 256 in 3, 49 152; 128 × 64: 512 in 5,
        # 40 960; 64 × 64: 1024 in 10, 40 960: the larger of the two
        ((2048, 2048), 108, (512, 128, 64)),
        # even 64 × 64 is only 16 tiles: the smallest
        ((16, 1024), 108, (16, 64, 64)),
        # the long side of the tile lies along that of the result. 16 units: 64 × 256 is only 8 tiles; 128 × 128 is 16
        # in a wave of 16 384; 64 × 128 is 16 in a wave of 8192; 64 × 64 is 32 in two of 4096, as long: the larger one
        ((64, 2048), 16, (16, 64, 128)),
        ((2048, 64), 16, (16, 128, 64)),
    ],
)
def test_the_tile_is_the_one_that_is_done_first(shape, units, tile):
    assert cut(chosen_tiles(gemm(*shape, 64), MENU, units)) == tile


def test_attention_is_cut_along_its_queries():
    # 12 heads of 197 queries, 8 units. Rows 256: 12 blocks in 2 waves of 256 rows; 128: 24 in 3; 64: 48 in 6, 384 rows
    blocks = chosen_tiles(product("attention", 197, 197, 128, 12), MENU, 8)
    assert cut(blocks) == (24, 128, 197)
    assert blocks.padding[0] == pytest.approx(1 - 197 / 256)


@given(sizes, sizes, st.integers(1, 50), st.integers(1, 200), st.booleans())
def test_the_chosen_tile_is_what_trying_each_one_gives(m, n, groups, units, fused):
    best = None
    for long, short in MENU:
        if fused:
            count, rows, columns = groups * len(range(0, m, long)), long, n
        else:
            rows, columns = (short, long) if n > m else (long, short)
            count = groups * len(range(0, m, rows)) * len(range(0, n, columns))
        done = -(-count // units) * rows * columns
        if count >= units and (best is None or done < best[0]):
            best = (done, count, rows, columns)
    smallest = (count, rows, columns)
    blocks = chosen_tiles(product("attention" if fused else "matmul", m, n, 7, groups), MENU, units)
    assert cut(blocks) == (best[1:] if best else smallest)
    assert blocks.padding[0] == pytest.approx(1 - m * n * groups / np.prod(cut(blocks), dtype=float))


@given(sizes, sizes, st.integers(1, 50), st.integers(1, 200))
def test_a_choice_of_tiles_leaves_no_unit_empty_that_the_smallest_tile_would_fill(m, n, groups, units):
    chosen, smallest = (chosen_tiles(gemm(m, n, 8), menu, units) for menu in (MENU, MENU[-1:]))
    assert min(int(chosen.count[0]), units) == min(int(smallest.count[0]), units)


def test_lines_are_cut_in_memory_order():
    blocks = lines(np.array([1, 512, 513]), 512, "thread block")
    assert blocks.count.tolist() == [1, 1, 2]
    assert blocks.padding.tolist() == [511 / 512, 0, 1 - 513 / 1024]


def test_an_op_that_writes_nothing_is_one_block():
    assert lines(np.array([0]), 512, "thread block").count.tolist() == [1]


def test_blocks_are_said_in_words():
    assert chosen_tiles(gemm(64, 200, 8), MENU, 132).text(0) == "4 output tiles of 64 × 64"
    assert output_tiles(gemm(8, 8, 8), 16, 16).text(0) == "1 output tile of 16 × 16"
    assert [lines(np.array([3]), length, "warp").text(0) for length in (1, 32)] == [
        "3 warps of 1 output",
        "1 warp of 32 outputs",
    ]


def test_some_rows_of_a_workload_are_taken_as_products():
    rows = [Op("a", "relu", 0, 1, 1, 0, 1), Op("b", "attention", 24, 0, 1, 0, 1, 1, 2, 3, 4)]
    one = products(Workload.from_ops("two", rows), np.array([1]))
    assert [column.tolist() for column in one] == [[1], [2], [3], [4], [True]]
    assert one.outputs.tolist() == [8]


# ---- Unit arrays: dealing blocks in turn, filling units one after the other, waves and what is left of the last


def counts(*numbers):
    return np.array(numbers, dtype=np.int64)


pools = st.lists(st.builds(Pool, st.integers(1, 30), st.integers(1, 20)), min_size=1, max_size=3).map(tuple)
arrays = st.builds(UnitArray, st.just("tile"), pools, st.booleans())


def test_blocks_are_dealt_to_every_unit_before_any_gets_a_second():
    # 8 SMs that hold 12 thread blocks each: 5 blocks lie on 5 of them, 9 on all, and 96 are a wave
    array = UnitArray("SM", (Pool(8, 12),))
    assert array.active(counts(5, 9, 96, 97)).tolist() == [5, 8, 8, 8]
    assert array.waves(counts(5, 9, 96, 97)).tolist() == [1, 1, 1, 2]
    assert array.tail(counts(5, 96, 97)).tolist() == [5, 96, 1]
    assert (array.total, array.slots) == (8, 96)


def test_a_deep_array_fills_a_unit_before_the_next():
    # 512 warps, 48 to an SM: ⌈512 / 48⌉ = 11 of 16
    array = UnitArray("SM", (Pool(16, 48),), deep=True)
    assert array.active(counts(1, 48, 49, 512, 768, 5000)).tolist() == [1, 1, 2, 11, 16, 16]


def test_of_several_sizes_the_first_pool_is_filled_first():
    # 2 tiles of 16 blocks, then 5 of one: 33 blocks are 2 + 1 tiles; 37 fill all 7
    array = UnitArray("tile", (Pool(2, 16), Pool(5, 1)), deep=True)
    assert array.active(counts(1, 16, 17, 33, 37, 400)).tolist() == [1, 1, 2, 3, 7, 7]
    assert (array.total, array.slots) == (7, 37)


@given(st.integers(0, 10**15), st.integers(1, 10**6))
def test_a_quotient_is_rounded_up(above, below):
    assert ceil_div(counts(above), below).tolist() == [above // below + (above % below > 0)]


@given(arrays, st.integers(1, 3000))
def test_the_closed_form_is_what_laying_block_by_block_gives(array, blocks):
    # one unit after the other in the order of the pools; dealing goes round and round, filling stays until full
    room = [pool.depth for pool in array.pools for _ in range(pool.units)]
    first = min(blocks, sum(room))
    active = [0] * len(room)
    position = 0
    for _ in range(first):
        while active[position] == room[position]:
            position = (position + 1) % len(room)
        active[position] += 1
        if not array.deep:
            position = (position + 1) % len(room)
    assert array.active(counts(blocks)).tolist() == [sum(number > 0 for number in active)]


@given(arrays, st.integers(1, 10**9))
def test_waves_hold_all_blocks_and_one_wave_less_does_not(array, blocks):
    waves = int(array.waves(counts(blocks))[0])
    assert waves * array.slots >= blocks > (waves - 1) * array.slots
    assert int(array.tail(counts(blocks))[0]) == blocks - (waves - 1) * array.slots


@given(arrays, st.integers(1, 10**6), st.integers(0, 10**6))
def test_more_blocks_never_lie_on_fewer_units(array, blocks, more):
    few, many = array.active(counts(blocks, blocks + more)).tolist()
    assert 1 <= few <= many <= array.total


#: A product of 300 × 128 and an addition of 3000 on a TPU v4: 8 MXUs of 128 × 128 in 2 cores.
TWO = Workload.from_ops(
    "two",
    [
        Op("fc", "linear", 300 * 128 * 128, 0, 300 * 128, 128 * 128, 300 * 128, 300, 128, 128, 1),
        Op("add", "add", 0, 3000, 6000, 0, 3000),
    ],
)
LAID = allocate(Registry().get("google/tpu-v4"), TWO, compute="bf16")


def test_each_op_counts_the_units_that_it_lies_on():
    # ⌈300 / 128⌉ = 3 tiles on 8 MXUs; 3000 / 1024 = 3 registers on 2 cores, the third in a second wave
    assert [LAID.display(op) for op in (0, 1)] == ["3/8 MXU", "2/2 core"]
    assert LAID.utilization.tolist() == [3 / 8, 1]
    assert LAID.waves.tolist() == [1, 2]
    assert LAID.last_units.tolist() == [3, 1]
    assert LAID.total.tolist() == [8, 2]


def test_the_reason_names_the_quantity_that_decides():
    assert LAID.reason(0) == "3 output tiles of 128 × 128"
    assert LAID.reason(1) == "3 registers of 1024 outputs in 2 waves of 2, 1 core in the last"


def test_what_stays_empty_is_told_apart():
    # wave quantization: 3 of 8 slots, 3 of 4; padding: 300 of 384 rows, 3000 of 3072 outputs
    assert LAID.idle_slots.tolist() == [5 / 8, 1 / 4]
    assert LAID.padding == pytest.approx([1 - 300 / 384, 1 - 3000 / 3072])


def test_only_arrays_fill_and_drain():
    assert LAID.fill_drain_clocks.tolist() == [382, 0]


def test_columns_are_as_long_as_the_workload():
    assert len(LAID) == 2
    assert all(len(column) == 2 for column in (LAID.blocks, LAID.slots, LAID.units))
    assert np.array_equal(LAID.unit_names, ["MXU", "core"])
