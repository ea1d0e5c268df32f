"""The worst products: one of each neighbourhood, the largest error first, and what may explain it."""

from dataclasses import replace

import numpy as np
import pytest

from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import constants_file
from rooflint.kernels.dispatch import KernelTimes
from rooflint.kernels.products import Gemm
from rooflint_calibration.causes import NEAR, likeness, worst
from rooflint_calibration.evaluation import HeldOut
from rooflint_calibration.rows import Rows
from rooflint_calibration.topics import TOPICS

REGISTRY = Registry()
GEMM = Gemm()
FILE = constants_file(REGISTRY)
CONSTANTS = FILE.constants


def chip(device):
    return chip_of(REGISTRY.get(device), "bf16", Coefficients(REGISTRY).launches())


def held_out(factors, device="nvidia/l40s", seed=1, sizes=None):
    """Random shapes, each predicted at that factor of its time."""
    if sizes is None:
        sizes = 2.0 ** np.random.default_rng(seed).integers(4, 14, (3, len(factors)))
    sizes = np.stack([*sizes, np.full(len(factors), 6.0)], axis=1)
    rows = Rows(device, TOPICS["gemm"].columns, sizes, np.ones(len(factors)))
    one = HeldOut("gemm", rows, chip(device), FILE.constants)
    return replace(one, rows=replace(rows, seconds=one.predicted_s() / factors))


def far_apart(one, two):
    a, b = one.case.work.sizes, two.case.work.sizes
    return any(max(x / y, y / x).item() >= NEAR for x, y in zip(a[:3], b[:3], strict=True))


def test_the_largest_errors_come_first_and_are_not_neighbours():
    factors = 2.0 ** np.random.default_rng(3).normal(0, 1, 300)
    one = held_out(factors)
    found = worst([one], 6)
    off = [abs(np.log(each.ratio)) for each in found]
    assert off == sorted(off, reverse=True)
    assert off[0] == pytest.approx(np.abs(np.log(factors)).max())
    assert all(far_apart(a, b) for number, a in enumerate(found) for b in found[:number])


def test_all_devices_of_a_family_are_searched_together():
    found = worst([held_out(np.full(50, 1.5)), held_out(np.full(50, 3.0), "nvidia/h100-sxm5-80gb", seed=2)], 1)
    assert [(each.device, round(each.ratio, 6)) for each in found] == [("nvidia/h100-sxm5-80gb", 3.0)]


def test_the_error_of_the_neighbourhood_tells_a_single_shape_from_many():
    near = np.array([[64.0, 128.0, 64.0], [64.0, 64.0, 64.0], [64.0, 64.0, 64 * NEAR]])
    (found, *rest) = worst([held_out(np.array([2.0, 1.0, 1.0]), sizes=near)], 5)
    # itself, predicted at twice its time, and its neighbour, predicted exactly: (1 + 0) / 2
    assert (found.around, found.around_error) == (2, pytest.approx(0.5))
    assert rest == []  # nothing else is off


def test_exact_predictions_are_not_among_the_worst():
    assert worst([held_out(np.ones(20))], 3) == []


def case(m, n, k, device="nvidia/l40s", copies=6.0):
    return KernelTimes(GEMM, GEMM.work(m, n, k, copies=copies), chip(device), CONSTANTS)


def breakdowns(one):
    return one.kernel.apart(one.work, one.chip, one.constants)


def test_a_library_that_does_not_split_k_is_identified():
    one = case(2, 64, 8192)
    ones = breakdowns(one)
    whole = next(each for each in ones if each.split == 1)
    found = likeness(one, ones, whole.latency_s * 1.1)
    assert (found.what, found.seconds) == ("k were whole", whole.latency_s)
    assert found.advice == f"an algorithm that cuts k in {ones[0].split}"


def test_a_kernel_with_waiting_warps_is_identified_on_an_asynchronous_chip():
    one = case(1, 1024, 2560, "nvidia/h200-sxm-141gb")
    waiting = breakdowns(replace(one, chip=replace(one.chip, asynchronous=False)))
    seconds = next(each for each in waiting if each.split == 1).latency_s
    assert likeness(one, breakdowns(one), seconds).what == "its warps waited for each step, and k were whole"


def test_bytes_that_took_no_time_are_identified():
    one = case(4096, 32, 4096, "nvidia/h100-sxm5-80gb")
    free = replace(one, chip=replace(one.chip, bandwidth_bytes_per_s=1e30)).seconds.item()
    assert likeness(one, breakdowns(one), free).what == "its bytes took no time"


def test_half_of_a_resource_explains_a_slower_kernel_and_twice_a_faster_one():
    one = case(8192, 8192, 8192)  # its power binds
    for factor, what in ((0.5, "it had half the rated power"), (2.0, "it had twice the rated power")):
        other = replace(one, chip=replace(one.chip, tdp_w=factor * one.chip.tdp_w)).seconds.item()
        assert likeness(one, breakdowns(one), other).what == what


def test_an_error_that_nothing_explains_has_no_likeness():
    one = case(4096, 4096, 4096)
    assert likeness(one, breakdowns(one), breakdowns(one)[0].latency_s * 50) is None
    assert likeness(one, breakdowns(one), breakdowns(one)[0].latency_s / 50) is None


def test_a_likeness_leaves_at_most_half_of_the_error():
    rng = np.random.default_rng(5)
    for device in ("nvidia/l40s", "nvidia/b200-sxm"):
        for m, n, k in 2.0 ** rng.integers(0, 15, (20, 3)):
            one = case(m, n, k, device)
            ones = breakdowns(one)
            measured_s = ones[0].latency_s * 2 ** rng.normal(0, 2)
            if found := likeness(one, ones, measured_s):
                left = abs(np.log(found.seconds / measured_s))
                assert left <= 0.5 * abs(np.log(ones[0].latency_s / measured_s))
