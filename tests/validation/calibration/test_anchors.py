"""Anchors: own figures of invented GPUs, whose products take as long as known figures predict, and their benefit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import constants_file
from rooflint.kernels.device_calibration import Own
from rooflint.kernels.gemm import launch_s
from rooflint_calibration import anchors
from rooflint_calibration.anchors import COLUMNS, DEVIATIONS, LEAST_LAUNCH_S, Deviation, Setting, of_kind, own_figures
from rooflint_calibration.evaluation import Score
from rooflint_calibration.rows import Rows
from rooflint_measure.stopwatches.anchors import ANCHORS

REGISTRY = Registry()
CONSTANTS = constants_file(REGISTRY).constants
EVERY = [shape for of_kind in ANCHORS.values() for shape in of_kind]


def shared(device="nvidia/h100-sxm5-80gb"):
    return Setting(chip_of(REGISTRY.get(device), "bf16", Coefficients(REGISTRY).launches()), CONSTANTS, "bf16")


def taken(truth: Own, setting, sizes=tuple(EVERY)):
    """Anchors of a machine that is just as its own figures say."""
    all_sizes = np.column_stack([np.array(sizes, float), np.full(len(sizes), 6.0)])
    some = Rows("a GPU", COLUMNS, all_sizes, np.ones(len(sizes)))
    return replace(some, seconds=setting.with_(truth).predicted_s(some))


def test_a_machine_like_all_others_keeps_what_they_share():
    setting = shared()
    found = own_figures(taken(Own(), setting), setting)
    assert found.launch_s == pytest.approx(launch_s(setting.chip, CONSTANTS.products))
    assert found.matrix_factor == pytest.approx(1)
    assert found.dram_efficiency == pytest.approx(CONSTANTS.products.dram_efficiency)


@settings(max_examples=25)
@given(
    st.sampled_from(["nvidia/h100-sxm5-80gb", "nvidia/l40s"]),
    st.floats(0.8, 1.1),
    st.floats(0.8, 1.1),
    st.floats(0.6, 1.6),
)
def test_each_figure_moves_towards_the_truth_and_not_beyond(device, matrix, dram, launch):
    setting = shared(device)
    usual = launch_s(setting.chip, CONSTANTS.products)
    truth = Own(launch * usual, matrix, dram * CONSTANTS.products.dram_efficiency)
    found = own_figures(taken(truth, setting), setting)
    for was, own, true in (
        (1.0, found.matrix_factor, truth.matrix_factor),
        (CONSTANTS.products.dram_efficiency, found.dram_efficiency, truth.dram_efficiency),
    ):
        assert min(was, true) * 0.99 <= own <= max(was, true) * 1.01


def test_a_kind_that_was_not_measured_has_no_figure():
    setting = shared()
    found = own_figures(taken(Own(1e-6, 0.7, 0.7), setting, ANCHORS["streaming"]), setting)
    assert (found.launch_s, found.matrix_factor) == (None, None)
    assert found.dram_efficiency < CONSTANTS.products.dram_efficiency


def test_more_products_weigh_more_and_less_than_one():
    # one product: 0.04² / (0.04² + 0.04²) = 1/2; four: 0.04² / (0.04² + 0.04² / 4) = 4/5
    deviation = Deviation(0.04, 0.04)
    assert deviation.weight(1) == pytest.approx(1 / 2)
    assert deviation.weight(4) == pytest.approx(4 / 5)
    assert all(0 < one.weight(1) < one.weight(9) < 1 for one in DEVIATIONS.values())


def test_an_absurdly_fast_null_product_leaves_a_launch_above_zero():
    setting = shared()
    one = taken(Own(), setting, ANCHORS["null"])
    assert own_figures(replace(one, seconds=one.seconds * 1e-6), setting).launch_s > 0
    # where the work of a null product is longer than its launch, what is beyond would be less than none
    short = replace(
        setting,
        chip=replace(setting.chip, graph_launch_s=1e-9),
        constants=replace(CONSTANTS, products=replace(CONSTANTS.products, start_clocks=0)),
    )
    assert own_figures(replace(one, seconds=one.seconds * 1e-6), short).launch_s == LEAST_LAUNCH_S


def test_matrix_units_are_fitted_with_the_memory_figure_found_before():
    setting = shared()
    anchors = taken(Own(dram_efficiency=0.2), setting)
    found = own_figures(anchors, setting)
    after = setting.with_(Own(dram_efficiency=found.dram_efficiency))
    assert found.matrix_factor == own_figures(of_kind(anchors, "peak"), after).matrix_factor
    assert found.matrix_factor > own_figures(of_kind(anchors, "peak"), setting).matrix_factor


def test_no_share_of_the_bandwidth_rises_above_the_whole():
    setting = shared()
    one = taken(Own(), setting)
    found = own_figures(replace(one, seconds=one.seconds / 10), setting)
    assert found.dram_efficiency == 1.0
    assert found.matrix_factor > 1  # no share: what the power allows beyond what it allows all others


def test_peak_products_move_the_factor_by_their_weight():
    # all three 10 % faster than predicted: 1.1^0.44, as 0.037² / (0.037² + 0.072² / 3) = 0.44
    setting = shared()
    one = taken(Own(), setting, ANCHORS["peak"])
    assert own_figures(replace(one, seconds=one.seconds / 1.1), setting).matrix_factor == pytest.approx(
        1.1**0.442, rel=1e-3
    )


def errors(**percents):
    """Errors before and after by regime, in percent; 10 → 10 by default."""
    pairs = {regime: percents.get(regime, (10, 10)) for regime in anchors.REGIME_LABELS}
    return {regime: tuple(Score(100, one / 100, 0.0) for one in pair) for regime, pair in pairs.items()}


def test_the_summary_lists_falling_and_rising_errors_in_points():
    message = list(anchors.summary(errors(all=(9.0, 8.7), large=(7.0, 6.0), narrow=(9.0, 9.4))))
    assert message == ["error falls: on all rows by 0.3 points, above 20 GFLOP by 1.0 points; "
                    "rises: for m up to 16 by 0.4 points"]  # fmt: skip


@pytest.mark.parametrize("after", [9.0, 9.3])
def test_a_calibration_without_benefit_over_all_rows_is_called_so(after):
    first, second = anchors.summary(errors(all=(9.0, after), small=(9.0, 8.0)))
    assert "falls: " in first
    assert second == "no benefit over all rows: predictions without the calibration are no worse"


def test_a_change_below_the_printed_digits_is_none():
    first, second = anchors.summary(errors(all=(9.02, 8.98)))
    assert first == "error falls: nowhere; rises: nowhere"
    assert "no benefit" in second


def test_families_weigh_alike_however_many_machines_they_have():
    # Hopper (8 + 6) / 2 = 7 and Ada 11 before: 9; (6 + 6) / 2 = 6 and 12 after: 9
    three = {
        "nvidia/h100-sxm5-80gb": errors(all=(8, 6)),
        "nvidia/h200-sxm-141gb": errors(all=(6, 6)),
        "nvidia/l40s": errors(all=(11, 12)),
    }
    assert anchors.mean_of_families(three)["all"] == pytest.approx((0.09, 0.09))
    means, of_all, *others = anchors.summary_of_many(three)
    assert means == "mean of the families, by regime: 9.0, 10.0, 10.0, 10.0 % before, 9.0, 10.0, 10.0, 10.0 % after"
    assert of_all == "error rises on all rows: l40s"
    assert all(one.endswith(": nowhere") for one in others)
