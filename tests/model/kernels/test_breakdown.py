"""A product term by term: the terms add up to the latency, and the longest of them is what binds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import constants_file
from rooflint.kernels.dispatch import RESOURCES, KernelTimes, with_more
from rooflint.kernels.products import Gemm

from .conftest import CHIPS

CONSTANTS = constants_file(Registry()).constants
SIZES = st.integers(1, 2**16)


def case(device, m, n, k, copies=np.inf):
    return KernelTimes(Gemm(), Gemm().work(m, n, k, copies=copies), CHIPS[device], CONSTANTS)


def breakdowns(one):
    return one.kernel.apart(one.work, one.chip, one.constants)


@given(st.sampled_from(sorted(CHIPS)), SIZES, SIZES, SIZES, st.sampled_from([1.0, np.inf]))
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


def test_twice_of_what_binds_helps_most():
    one = case("nvidia/h100-sxm5-80gb", 8, 16384, 16384)
    found = dict(with_more(one, 2.0))
    assert set(found) == set(RESOURCES)
    assert min(found, key=found.get) == "bandwidth_bytes_per_s"
    assert found["bandwidth_bytes_per_s"] < 0.6 * one.seconds.item()
