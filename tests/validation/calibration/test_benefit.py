"""The summary of a calibration benefit. The errors are invented."""

import pytest

from rooflint_calibration import benefit
from rooflint_calibration.evaluation import Score


def errors(**percents):
    """Errors before and after by regime, in percent; 10 → 10 by default."""
    pairs = {regime: percents.get(regime, (10, 10)) for regime in benefit.REGIME_LABELS}
    return {regime: tuple(Score(100, one / 100, 0.0) for one in pair) for regime, pair in pairs.items()}


def test_the_summary_lists_falling_and_rising_errors_in_points():
    said = list(benefit.summary(errors(all=(9.0, 8.7), large=(7.0, 6.0), narrow=(9.0, 9.4))))
    assert said == ["error falls: on all rows by 0.3 points, above 20 GFLOP by 1.0 points; "
                    "rises: for m up to 16 by 0.4 points"]  # fmt: skip


@pytest.mark.parametrize("after", [9.0, 9.3])
def test_a_calibration_without_benefit_over_all_rows_is_called_so(after):
    first, second = benefit.summary(errors(all=(9.0, after), small=(9.0, 8.0)))
    assert "falls: " in first
    assert second == "no benefit over all rows: predictions without the calibration are no worse"


def test_a_change_below_the_printed_digits_is_none():
    first, second = benefit.summary(errors(all=(9.02, 8.98)))
    assert first == "error falls: nowhere; rises: nowhere"
    assert "no benefit" in second


def test_families_weigh_alike_however_many_machines_they_have():
    # Hopper (8 + 6) / 2 = 7 and Ada 11 before: 9; (6 + 6) / 2 = 6 and 12 after: 9
    three = {
        "nvidia/h100-sxm5-80gb": errors(all=(8, 6)),
        "nvidia/h200-sxm-141gb": errors(all=(6, 6)),
        "nvidia/l40s": errors(all=(11, 12)),
    }
    assert benefit.mean_of_families(three)["all"] == pytest.approx((0.09, 0.09))
    means, of_all, *others = benefit.summary_of_many(three)
    assert means == "mean of the families, by regime: 9.0, 10.0, 10.0, 10.0 % before, 9.0, 10.0, 10.0, 10.0 % after"
    assert of_all == "error rises on all rows: l40s"
    assert all(one.endswith(": nowhere") for one in others)
