"""Worst: one shape of each neighbourhood, the farthest first, and what its time is like."""

from dataclasses import replace

import numpy as np
import pytest

from rooflint.coefficients.library import Coefficients
from rooflint.devices.registry import Registry
from rooflint.kernels.breakdown import Case, breakdowns
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import constants_file
from rooflint.kernels.shapes import shapes
from rooflint_calibration.held import Held
from rooflint_calibration.products import ELEMENT_BYTES, Measured
from rooflint_calibration.score import predicted_s
from rooflint_calibration.worst import NEAR, likeness, worst

REGISTRY = Registry()
CONSTANTS = constants_file(REGISTRY).constants.products


def chip(device):
    return chip_of(REGISTRY.get(device), "bf16", Coefficients(REGISTRY).launches())


def held(factors, device="nvidia/l40s", seed=1):
    """Random shapes of which each takes so many times what is predicted."""
    sizes = 2.0 ** np.random.default_rng(seed).integers(4, 14, (3, len(factors)))
    blank = Measured(device, shapes(*sizes), np.ones(len(factors)), np.full(len(factors), 6.0), {})
    predicted = predicted_s(blank, chip(device), CONSTANTS)
    return Held(replace(blank, seconds=predicted * factors), chip(device), CONSTANTS, predicted)


def far_apart(one, two):
    a, b = one.case.shape, two.case.shape
    return any(max(x / y, y / x).item() >= NEAR for x, y in zip(a[:3], b[:3], strict=True))


def test_the_farthest_come_first_and_are_no_neighbours():
    factors = 2.0 ** np.random.default_rng(3).normal(0, 1, 300)
    one = held(factors)
    found = worst([one], 6)
    off = [abs(np.log(each.ratio)) for each in found]
    assert off == sorted(off, reverse=True)
    assert off[0] == pytest.approx(np.abs(np.log(factors)).max())
    assert all(far_apart(a, b) for number, a in enumerate(found) for b in found[:number])


def test_all_devices_of_a_family_are_one_crowd():
    found = worst([held(np.full(50, 1.5)), held(np.full(50, 3.0), "nvidia/h100-sxm5-80gb", seed=2)], 1)
    assert [(each.device, round(each.ratio, 6)) for each in found] == [("nvidia/h100-sxm5-80gb", round(1 / 3, 6))]


def test_what_is_around_a_shape_says_whether_it_stands_alone():
    one = held(np.ones(3))
    near = shapes([64.0, 128.0, 64.0], [64.0, 64.0, 64.0], [64.0, 64.0, 64 * NEAR])
    measured = replace(one.measured, shapes=near)
    predicted = predicted_s(measured, one.chip, CONSTANTS)
    measured = replace(measured, seconds=predicted / [2.0, 1.0, 1.0])
    (found, *rest) = worst([replace(one, measured=measured, predicted_s=predicted)], 5)
    # itself, predicted twice as long, and its neighbour, predicted as it is: (1 + 0) / 2
    assert (found.around, found.around_error) == (2, pytest.approx(0.5))
    assert rest == []  # nothing else is off


def test_what_is_predicted_as_it_was_measured_is_not_among_the_worst():
    assert worst([held(np.ones(20))], 3) == []


def case(m, n, k, device="nvidia/l40s", copies=6.0):
    return Case(shapes(m, n, k), chip(device), CONSTANTS, ELEMENT_BYTES, copies)


def test_a_library_that_leaves_k_whole_is_recognised():
    one = case(2, 64, 8192)
    ones = breakdowns(one)
    whole = next(each for each in ones if each.split == 1)
    found = likeness(one, ones, whole.latency_s * 1.1)
    assert (found.what, found.seconds) == ("k were whole", whole.latency_s)
    assert found.advice == f"an algorithm that cuts k in {ones[0].split}"


def test_a_kernel_whose_warps_wait_is_recognised_on_an_asynchronous_chip():
    one = case(1, 1024, 2560, "nvidia/h200-sxm-141gb")
    waiting = breakdowns(replace(one, chip=replace(one.chip, asynchronous=False)))
    seconds = next(each for each in waiting if each.split == 1).latency_s
    assert likeness(one, breakdowns(one), seconds).what == "its warps waited for each step, and k were whole"


def test_bytes_that_took_no_time_are_recognised():
    one = case(4096, 32, 4096, "nvidia/h100-sxm5-80gb")
    free = replace(one, chip=replace(one.chip, bandwidth_bytes_per_s=1e30)).latency_s()
    assert likeness(one, breakdowns(one), free).what == "its bytes took no time"


def test_half_of_a_resource_is_recognised_by_what_is_slower_and_twice_of_it_by_what_is_faster():
    one = case(8192, 8192, 8192)  # its power binds
    for factor, what in ((0.5, "it had half the rated power"), (2.0, "it had twice the rated power")):
        other = replace(one, chip=replace(one.chip, tdp_w=factor * one.chip.tdp_w)).latency_s()
        assert likeness(one, breakdowns(one), other).what == what


def test_what_nothing_explains_has_no_likeness():
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
