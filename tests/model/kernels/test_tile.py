"""What a tile costs in clocks: the ways into and out of an SM, and what of arithmetic and feed is beside the other."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import constants_file
from rooflint.kernels.tile import TILES, Tile, busy_clocks, clocks_per_k, latency_per_k, path_width, store_clocks

from .conftest import CHIPS

CONSTANTS = constants_file(Registry()).constants.products
ANY_CHIP = st.sampled_from(sorted(CHIPS)).map(CHIPS.get)
A100, H100 = CHIPS["nvidia/a100-sxm4-80gb"], CHIPS["nvidia/h100-sxm5-80gb"]


def test_four_times_the_macs_have_twice_as_wide_ways():
    # √1024 = 32
    assert path_width(2.0, A100) == 32
    assert path_width(2.0, replace(A100, macs_per_clock=4096)) == 64


def test_a_narrower_precision_takes_the_same_ways():
    # half the bytes of twice as many MACs
    fp8 = replace(H100, macs_per_clock=2 * H100.macs_per_clock)
    assert path_width(1.0, fp8) == path_width(2.0, H100)
    assert store_clocks(Tile(128, 128), 1.0, fp8, CONSTANTS) == store_clocks(Tile(128, 128), 2.0, H100, CONSTANTS) / 2


@given(ANY_CHIP, st.sampled_from(TILES), st.sampled_from([1.0, 2.0]))
def test_arithmetic_and_feed_overlap_and_are_side_by_side_only_where_units_are_asynchronous(chip, tile, width):
    both, busy = clocks_per_k(tile, width, chip, CONSTANTS), busy_clocks(tile, width, chip, CONSTANTS)
    if chip.asynchronous:
        assert busy == max(both)
    else:
        assert max(both) < busy < sum(both)


def test_a_step_of_a_unit_that_runs_by_itself_takes_in_four_times_the_bytes():
    # 32 B of a step are 16 elements of bf16, 128 B are 64
    assert latency_per_k(2.0, A100, CONSTANTS) == pytest.approx(CONSTANTS.step_clocks / 16)
    assert latency_per_k(2.0, H100, CONSTANTS) == pytest.approx(CONSTANTS.step_clocks / 64)
