"""What changed, in words: factors, counts and knowledge."""

import pytest

from pytest_rooflint.history.summary import counted, knowledge, span


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.5, 0.5, "×0.5"),
        (0.92, 1.07, "×0.92 … ×1.07"),
        (1.0001, 1.0001, "×1.0001"),  # as many digits as it takes to differ from 1
        (1.00004, 2.0, "×1.00004 … ×2"),
        (None, 2.0, ""),
        (None, None, ""),
    ],
)
def test_factors_have_three_digits_or_as_many_as_differ_from_1(low, high, text):
    assert span(low, high) == text


def test_counts_are_grouped_and_plural():
    assert (counted(1, "device"), counted(0, "device"), counted(18480, "row")) == (
        "1 device",
        "0 devices",
        "18 480 rows",
    )


def test_knowledge_names_only_what_changed():
    assert knowledge(0, 0) == []
    assert knowledge(2, 3) == ["3 no longer known", "2 newly known"]
