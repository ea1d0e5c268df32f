"""Some names, and how many more."""

import pytest

from rooflint.base.text import some


@pytest.mark.parametrize(
    ("names", "said"),
    [("", ""), ("a", "a"), ("abc", "a, b, c"), ("abcd", "a, b, c and 1 more"), ("abcabcde", "a, b, c and 2 more")],
)
def test_three_names_are_said_and_the_others_counted(names, said):
    assert some(names) == said
