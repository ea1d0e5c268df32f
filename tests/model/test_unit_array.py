"""Unit arrays: dealing blocks in turn, filling units one after the other, waves and what is left of the last."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rooflint.unit_array import Pool, UnitArray, ceil_div


def counts(*numbers):
    return np.array(numbers, dtype=np.int64)


pools = st.lists(st.builds(Pool, st.integers(1, 30), st.integers(1, 20)), min_size=1, max_size=3).map(tuple)
arrays = st.builds(UnitArray, st.just("tile"), pools, st.booleans())


def test_blocks_are_dealt_to_every_unit_before_any_gets_a_second():
    # 8 SMs that hold 12 thread blocks each: 5 blocks lie on 5 of them, 9 on all, and 96 are a wave
    array = UnitArray("SM", (Pool(8, 12),))
    assert array.held(counts(5, 9, 96, 97)).tolist() == [5, 8, 8, 8]
    assert array.waves(counts(5, 9, 96, 97)).tolist() == [1, 1, 1, 2]
    assert array.tail(counts(5, 96, 97)).tolist() == [5, 96, 1]
    assert (array.total, array.slots) == (8, 96)


def test_a_deep_array_fills_a_unit_before_the_next():
    # 512 warps, 48 to an SM: ⌈512 / 48⌉ = 11 of 16
    array = UnitArray("SM", (Pool(16, 48),), deep=True)
    assert array.held(counts(1, 48, 49, 512, 768, 5000)).tolist() == [1, 1, 2, 11, 16, 16]


def test_of_several_sizes_the_first_pool_is_filled_first():
    # 2 tiles of 16 blocks, then 5 of one: 33 blocks are 2 + 1 tiles; 37 fill all 7
    array = UnitArray("tile", (Pool(2, 16), Pool(5, 1)), deep=True)
    assert array.held(counts(1, 16, 17, 33, 37, 400)).tolist() == [1, 1, 2, 3, 7, 7]
    assert (array.total, array.slots) == (7, 37)


@given(st.integers(0, 10**15), st.integers(1, 10**6))
def test_a_quotient_is_rounded_up(above, below):
    assert ceil_div(counts(above), below).tolist() == [above // below + (above % below > 0)]


@given(arrays, st.integers(1, 3000))
def test_the_closed_form_is_what_laying_block_by_block_gives(array, blocks):
    # one unit after the other in the order of the pools; dealing goes round and round, filling stays until full
    room = [pool.depth for pool in array.pools for _ in range(pool.units)]
    first = min(blocks, sum(room))
    held = [0] * len(room)
    position = 0
    for _ in range(first):
        while held[position] == room[position]:
            position = (position + 1) % len(room)
        held[position] += 1
        if not array.deep:
            position = (position + 1) % len(room)
    assert array.held(counts(blocks)).tolist() == [sum(number > 0 for number in held)]


@given(arrays, st.integers(1, 10**9))
def test_waves_hold_all_blocks_and_one_wave_less_does_not(array, blocks):
    waves = int(array.waves(counts(blocks))[0])
    assert waves * array.slots >= blocks > (waves - 1) * array.slots
    assert int(array.tail(counts(blocks))[0]) == blocks - (waves - 1) * array.slots


@given(arrays, st.integers(1, 10**6), st.integers(0, 10**6))
def test_more_blocks_never_lie_on_fewer_units(array, blocks, more):
    few, many = array.held(counts(blocks, blocks + more)).tolist()
    assert 1 <= few <= many <= array.total
