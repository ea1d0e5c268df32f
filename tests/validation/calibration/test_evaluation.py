"""Evaluation: scores of held-out rows, the order of devices, bins that lose no row, and what has no calibrated time."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import constants_file
from rooflint.kernels.network import CALIBRATED, MODELS
from rooflint_calibration import evaluation
from rooflint_calibration.evaluation import HeldOut, uncalibrated_gpus, uncalibrated_ops
from rooflint_calibration.rows import Rows
from rooflint_calibration.topics import TOPICS

REGISTRY = Registry()
FILE = constants_file(REGISTRY)
GEMM = TOPICS["gemm"]
L40S, H100 = "nvidia/l40s", "nvidia/h100-sxm5-80gb"

seconds = st.floats(1e-7, 10)
rows = st.lists(st.tuples(seconds, seconds), min_size=1, max_size=50)


def test_a_score_is_the_mean_error_and_the_geometric_mean_of_predicted_over_measured():
    # twice and half as long: errors of 100 % and 50 %, and no bias
    found = evaluation.score(np.array([2.0, 1.0]), np.array([1.0, 2.0]))
    assert (found.rows, found.mape) == (2, 0.75)
    assert abs(found.bias) < 1e-12
    assert str(evaluation.Score(7, 0.1011, 0.0042)) == "10.1 % (+0.4)"


def cells(columns):
    return {(one.x, one.y + number): count for one in columns for number, count in enumerate(one.counts) if count}


@given(rows)
def test_bins_sum_to_the_rows(pairs):
    measured_s, predicted_s = np.array(pairs).T
    for found in (evaluation.time_density(measured_s, predicted_s), evaluation.ratio_density(measured_s, predicted_s)):
        assert sum(sum(one.counts) for one in found) == len(pairs)
        assert [one.x for one in found] == sorted({one.x for one in found})
        assert all(one.counts[0] and one.counts[-1] for one in found)


@given(rows)
def test_bins_are_those_of_each_row_by_itself(pairs):
    measured_s, predicted_s = np.array(pairs).T
    alone = Counter(
        (math.floor(np.log10(x) * evaluation.PER_DECADE), math.floor(np.log10(y) * evaluation.PER_DECADE))
        for x, y in pairs
    )
    assert cells(evaluation.time_density(measured_s, predicted_s)) == alone


def test_a_ratio_beyond_the_farthest_is_counted_at_the_edge():
    measured_s = np.full(4, 2e-5)
    found = cells(evaluation.ratio_density(measured_s, measured_s * [1 / 100, 1.01, 3.99, 100]))
    # log10(4) × 40 = 24.08: bins from −24 to 23; 2e-5 s lies in bin −47 of ten a decade
    assert found == {(-47, -24): 1, (-47, 0): 1, (-47, 23): 2}


# ---- Held-out rows


def rows_of(device, *shapes, seconds=None, copies=6.0):
    sizes = np.array([(*shape, copies) for shape in shapes], float)
    return Rows(device, GEMM.columns, sizes, np.ones(len(shapes)) if seconds is None else np.array(seconds))


def held(device, *shapes, seconds=None):
    return HeldOut("gemm", rows_of(device, *shapes, seconds=seconds), GEMM.chip(REGISTRY, device), FILE.constants)


def test_predictions_of_held_out_rows_are_those_of_the_kernel_model_and_ratios_are_over_measured():
    shapes = ((16, 4096, 4096), (8192, 8192, 8192))
    one = held(L40S, *shapes, seconds=[1e-4, 5e-3])
    kernel = GEMM.kernel(one.chip)
    alone = [kernel.predict(kernel.work(*shape, copies=6.0), one.chip, one.constants).item() for shape in shapes]
    assert one.predicted_s() == pytest.approx(alone)
    assert sum(one.terms_s().values()) == pytest.approx(alone)
    assert one.ratio() == pytest.approx([alone[0] / 1e-4, alone[1] / 5e-3])
    # 8192³ MAC / (142 SMs · 512 MAC · 2.52 GHz)
    assert one.roofline_s()[1] == pytest.approx(3.0006e-3, rel=1e-3)
    assert one.only(np.array([False, True])).ratio() == pytest.approx([alone[1] / 5e-3])


def test_held_out_rows_are_those_of_each_device_of_a_family_with_constants_that_have_not_seen_it(monkeypatch):
    def sample(registry, topic, device, regime, count):
        assert (registry, topic, regime, count) == (REGISTRY, "gemm", "large", 7)
        return rows_of(device, (16, 64, 64)), GEMM.chip(registry, device)

    monkeypatch.setattr(evaluation, "sample", sample)
    found = evaluation.held_out(REGISTRY, "gemm", "hopper", "large", 7)
    assert [one.rows.device for one in found] == [H100, "nvidia/h200-sxm-141gb"]
    assert [one.chip.bandwidth_bytes_per_s for one in found] == pytest.approx([3.35e12, 4.9e12], rel=0.01)
    assert all(one.constants == FILE.without("hopper") for one in found)


def test_a_score_of_several_devices_weighs_all_rows_alike():
    few, many = held(L40S, (16, 4096, 4096)), held(H100, *((m, 4096, 4096) for m in (16, 64, 256)))
    one = held(L40S, (16, 4096, 4096), seconds=few.predicted_s() / 2)
    three = held(H100, *((m, 4096, 4096) for m in (16, 64, 256)), seconds=many.predicted_s())
    found = evaluation.score_of([one, three])
    # one row of four is predicted at twice its time: 100 % / 4, and 2^(1/4) − 1
    assert (found.rows, found.mape, found.bias) == (4, pytest.approx(0.25), pytest.approx(2**0.25 - 1))
    three = held(H100, *((m, 4096, 4096) for m in (16, 64, 256)), seconds=many.roofline_s() * 2)
    found = evaluation.baseline_of([held(L40S, (16, 4096, 4096), seconds=few.roofline_s()), three])
    assert (found.rows, found.mape) == (4, pytest.approx(3 / 4 * 0.5))


def test_products_below_the_roofline_are_those_that_l2_cannot_hold():
    # 6 sets of 2 B · 8192² weights: 0.8 GB; 2 sets: 268 MB, below 3.5 times the 96 MiB of L2, as is one small product
    chip = GEMM.chip(REGISTRY, L40S)
    wide = (16, 8192, 8192)
    two = rows_of(L40S, wide, copies=2.0).sizes
    sizes = np.concatenate([rows_of(L40S, wide, wide, (16, 512, 512)).sizes, two])
    factors = np.array([0.9, 1.1, 0.9, 0.9])
    rows = Rows(L40S, GEMM.columns, sizes, GEMM.roofline(sizes, chip) * factors)
    assert evaluation.below_roofline(rows, chip).sizes.tolist() == [[*wide, 6.0]]


def test_every_two_devices_of_different_families_are_a_pair_once():
    found = evaluation.pairs()
    assert len(found) == len(set(map(frozenset, found))) == 29  # 9 · 8 / 2 pairs, less 1 of Hopper and 6 of Blackwell
    assert (H100, L40S) in found
    assert (H100, "nvidia/h200-sxm-141gb") not in found


def test_the_order_of_two_devices_is_compared_shape_by_shape():
    shapes = [(4096, 4096, 4096), (8192, 8192, 8192), (16384, 8192, 8192)]
    # an H100 is predicted to be faster at all; the L40S was faster at the first, which is the last on the other list
    one = held(L40S, *shapes, (64, 64, 64), seconds=[1.0, 5.0, 5.0, 1e-9])
    two = held(H100, (32, 32, 32), *reversed(shapes), seconds=[9.0, 4.0, 4.0, 2.0])
    assert evaluation.ordered(one, two, 10) == (2, 3)
    assert evaluation.ordered(two, one, 10) == (2, 3)
    assert evaluation.ordered(one, two, 1)[1] == 1


# ---- Ops and GPUs without calibrated kernel times


def test_ops_whose_constants_were_fitted_to_others_are_named():
    found = uncalibrated_ops()
    assert len(found) == len(set(MODELS) - set(CALIBRATED))
    assert found["convolution"] == "takes the constants of matrix products"
    assert found["any other op"] == "the plain roofline, with the launch of a stream"
    assert not set(found) & {"gemm", "attention", "stream", "roofline"}


def test_a_gpu_is_named_with_the_fact_that_it_lacks():
    found = uncalibrated_gpus(REGISTRY.readable(), REGISTRY)
    assert "nvidia/gh200-144gb" in found["lacks the fact 'tdp': rated power"]
    assert "nvidia/h20-96gb" in next(names for why, names in found.items() if "NVIDIA does not say what is cut" in why)


def test_the_reason_that_most_gpus_share_comes_first_and_devices_without_kernel_models_have_none():
    found = uncalibrated_gpus(REGISTRY.readable(), REGISTRY)
    counts = [len(names) for names in found.values()]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]
    assert not any("without it" in why or why.startswith("amd/") for why in found)
    assert uncalibrated_gpus([REGISTRY.get("google/tpu-v4"), REGISTRY.get(L40S)], REGISTRY) == {}


def test_the_reason_of_a_gpu_is_about_bf16_or_else_the_precision_that_it_has():
    old, apple = REGISTRY.get("nvidia/p40"), REGISTRY.get("apple/m1")
    (fp16,) = uncalibrated_gpus([old], REGISTRY)
    assert fp16.startswith("computes fp16 on its cuda_core, measured only in fp32")
    assert list(uncalibrated_gpus([apple], REGISTRY)) == ["does not support bf16 (has: fp32)"]


def test_a_gpu_is_either_known_or_named():
    named = [name for names in uncalibrated_gpus(REGISTRY.readable(), REGISTRY).values() for name in names]
    assert len(named) == len(set(named))
    launches = Coefficients(REGISTRY).launches()
    gpus = [device for device in REGISTRY.readable() if device.kind == "gpu"]
    for device in gpus:
        if device.id not in named:
            precision = "bf16" if any("bf16" in unit.precisions for unit in device.units.values()) else "fp16"
            assert chip_of(device, precision, launches).sms > 0
    assert set(named) < {device.id for device in gpus}
