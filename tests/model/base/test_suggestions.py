"""Suggestions: what is spelt most like a word comes first, and far words are not named."""

import pytest

from rooflint.base.suggestions import did_you_mean, edits, nearest


@pytest.mark.parametrize(
    ("word", "known", "near"),
    [
        ("peak", ["peaks", "check", "sweep"], ["peaks"]),
        ("4009", ["4060", "4080", "4090"], ["4090", "4060", "4080"]),  # two digits exchanged
        ("ab", ["abcd", "abc", "abcdefgh"], ["abc", "abcd"]),
        ("zzz", ["abc"], []),
    ],
)
def test_the_nearest_word_comes_first(word, known, near):
    assert nearest(word, known, cutoff=0.5) == near


def test_a_thing_with_several_spellings_is_as_near_as_the_nearest():
    assert nearest("h1000", {"long": ("h100-sxm5-80gb", "h100"), "mi100": ("mi100",)}) == ["long", "mi100"]


def test_a_message_names_three_at_most():
    assert did_you_mean([]) == ""
    assert did_you_mean(["a"]) == "; did you mean a?"
    assert did_you_mean(["a", "b"]) == "; did you mean a or b?"
    assert did_you_mean(["a", "b", "c", "d"]) == "; did you mean a, b or c?"


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [("", "", 0), ("", "t4", 2), ("4009", "4090", 1), ("orn", "orin", 1), ("h1000", "h100", 1), ("m3", "mi300a", 4)],
)
def test_edits_are_letters_to_insert_drop_replace_or_exchange(one, other, count):
    assert edits(one, other) == edits(other, one) == count
