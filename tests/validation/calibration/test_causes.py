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
from rooflint_calibration.causes import NEAR, likeness, parameters, worst
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


@pytest.mark.slow
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


# ---- Parameters


def named(*ones):
    return {one.name: one for one in parameters(REGISTRY, "ada", ones)}


def test_a_constant_has_the_value_and_the_line_of_the_fit_without_the_family():
    found = named()
    spec = FILE.specs("products")["overlap"]
    overlap = found["overlap"].fact
    assert overlap.path == "constants.overlap.folds.ada"
    assert overlap.value == spec.folds["ada"] != CONSTANTS.products.overlap
    line = FILE.file("products").path.read_text(encoding="utf-8").splitlines()[overlap.line - 1]
    assert f"ada: {overlap.display}" in line
    assert found["l2_sharpness"].fact.path == "constants.l2_sharpness.value"  # chosen, so the same for all families
    assert {"stream.l2_bytes", "l2_bytes", "decode.reduction_clocks", "quantised.energy_share"} < set(found)
    assert not any(name.startswith("products.") or " of " in name for name in found)


def test_inputs_of_a_chip_have_the_fact_that_they_follow_from():
    found = named(held_out(np.ones(1)))
    shown = {name: one.fact.display for name, one in found.items() if name.endswith(" of nvidia/l40s")}
    assert shown == {
        "bandwidth of nvidia/l40s": "18 Gbit/s",
        "L2 capacity of nvidia/l40s": "96 MiB",
        "number of SMs of nvidia/l40s": "142",
        "MAC/clock of nvidia/l40s": "128 MAC",
        "clock of nvidia/l40s": "2520 MHz",
        "rated power of nvidia/l40s": "350 W",
        "special function units of nvidia/l40s": "16",
    }  # no document gives its launch in a graph


def test_a_parameter_is_shown_with_its_unit_at_a_factor():
    found = named(held_out(np.ones(1)))
    assert found["bandwidth of nvidia/l40s"].at(0.5) == "9 Gbit/s"
    assert found["number of SMs of nvidia/l40s"].at(2.0) == "284"
    assert found["rated power of nvidia/l40s"].at(1 / 3) == "117 W"


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("bandwidth", "bandwidth_bytes_per_s", 432e9),  # half of 864 GB/s
        ("L2 capacity", "l2_bytes", 48 * 2**20),
        ("number of SMs", "sms", 71),
        ("MAC/clock", "macs_per_clock", 256),  # 4 tensor cores of 128, halved
        ("rated power", "tdp_w", 175),
    ],
)
def test_a_scaled_input_changes_its_device_and_no_other(name, field, value):
    one, other = held_out(np.ones(1)), held_out(np.ones(1), "nvidia/a100-sxm4-80gb")
    scaled = named(one, other)[f"{name} of nvidia/l40s"].scaled
    assert scaled(one, 0.5).chip == replace(one.chip, **{field: pytest.approx(value)})
    assert scaled(other, 0.5) is other


def test_a_scaled_constant_changes_the_rows_of_all_devices():
    found = named()
    for one in (held_out(np.ones(1)), held_out(np.ones(1), "nvidia/h100-sxm5-80gb")):
        products = one.constants.products
        assert found["overlap"].scaled(one, 2.0).constants.products == replace(products, overlap=2 * products.overlap)
        stream = one.constants.stream
        assert found["stream.l2_bytes"].scaled(one, 0.5).constants == replace(
            one.constants, stream=replace(stream, l2_bytes=stream.l2_bytes / 2)
        )
