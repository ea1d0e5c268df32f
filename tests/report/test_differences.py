"""Differences: how a mutation score is printed."""

import pytest

from rooflint_report.differences import score_percent


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (None, "none"),
        (1.0, "100 %"),
        (0.999, "99.9 %"),
        (0.999999, "99.9 %"),  # one survivor in a million is no full score
        (2 / 3, "66.6 %"),
        (0.29, "29 %"),  # and not 28.9, which binary digits would make of it
    ],
)
def test_a_score_is_never_rounded_up(share, text):
    assert score_percent(share) == text
