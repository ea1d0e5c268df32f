"""What a gain comes to, in sentences. The errors are invented."""

import pytest

from rooflint_calibration import gain
from rooflint_calibration.score import Score


def gains(**percents):
    """Errors before and after by regime, in percent; 10 → 10 where nothing is said."""
    pairs = {regime: percents.get(regime, (10, 10)) for regime in gain.WHERE}
    return {regime: tuple(Score(100, one / 100, 0.0) for one in pair) for regime, pair in pairs.items()}


def test_what_is_better_and_what_is_worse_is_said_with_its_points():
    said = list(gain.of_one(gains(all=(9.0, 8.7), large=(7.0, 6.0), narrow=(9.0, 9.4))))
    assert said == ["errors are less: on all rows by 0.3 points, above 20 GFLOP by 1.0 points; "
                    "more: for m up to 16 by 0.4 points"]  # fmt: skip


@pytest.mark.parametrize("after", [9.0, 9.3])
def test_a_calibration_that_betters_nothing_on_the_whole_says_so(after):
    first, second = gain.of_one(gains(all=(9.0, after), small=(9.0, 8.0)))
    assert "less: " in first
    assert second == ("on the whole its own figures buy nothing here: predictions without the calibration are no worse")


def test_a_move_that_no_printed_digit_shows_is_none():
    first, second = gain.of_one(gains(all=(9.02, 8.98)))
    assert first == "errors are less: nowhere; more: nowhere"
    assert "buy nothing" in second


def test_families_weigh_alike_however_many_machines_they_have():
    # Hopper (8 + 6) / 2 = 7 and Ada 11 before: 9; (6 + 6) / 2 = 6 and 12 after: 9
    three = {
        "nvidia/h100-sxm5-80gb": gains(all=(8, 6)),
        "nvidia/h200-sxm-141gb": gains(all=(6, 6)),
        "nvidia/l40s": gains(all=(11, 12)),
    }
    assert gain.mean_of_families(three)["all"] == pytest.approx((0.09, 0.09))
    means, of_all, *others = gain.of_many(three)
    assert means == "mean of the families, by regime: 9.0, 10.0, 10.0, 10.0 % before, 9.0, 10.0, 10.0, 10.0 % after"
    assert of_all == "errors are more on all rows on: l40s"
    assert all(one.endswith("on: none") for one in others)
