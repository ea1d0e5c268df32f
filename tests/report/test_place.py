"""Places: what a repair that was tried out did, in words, and who names the place."""

import pytest

from rooflint_report.place import Witness, broken, mended, tried, witnesses


@pytest.mark.parametrize(
    ("mends", "reds", "text"),
    [
        (25, 27, "25 of 27 reds turn green"),
        (1, 27, "1 of 27 reds turns green"),
        (27, 27, "all 27 reds turn green"),
        (1, 1, "the one red turns green"),
        (0, 27, "no red turns green"),
        (25, None, "25 reds turn green"),
        (1, None, "1 red turns green"),
    ],
)
def test_what_turns_green(mends, reds, text):
    assert mended(mends, reds) == text


@pytest.mark.parametrize(
    ("breaks", "mends", "text"),
    [
        (0, 25, "and nothing turns red"),
        (1, 25, "but 1 green turns red"),
        (3, 25, "but 3 greens turn red"),
        (3, 0, "and 3 greens turn red"),
    ],
)
def test_what_turns_red(breaks, mends, text):
    assert broken(breaks, mends) == text


@pytest.mark.parametrize(
    ("mends", "breaks", "text"),
    [
        (None, None, ""),
        (None, 0, ""),
        (2, None, "2 reds turn green"),
        (2, 1, "2 reds turn green but 1 green turns red"),
    ],
)
def test_a_repair_that_was_not_tried_out_says_nothing(mends, breaks, text):
    assert tried(mends, breaks) == text


def test_devices_name_a_place_and_claims_without_one_by_their_file():
    def red(nodeid, hardware):
        return f"#{nodeid}", {"nodeid": nodeid, "hardware": hardware, "file": nodeid.partition("::")[0]}

    fails = [red("a.yaml::x", None), red("b.yaml::x", "nvidia/t4"), red("b.yaml::y", "nvidia/t4"), red("c::z", "e/f")]
    place = {"ids": ["b.yaml::y", "b.yaml::x", "a.yaml::x", "gone::x"]}
    assert witnesses(place, fails) == [
        Witness("nvidia/t4", "#b.yaml::x", 2),
        Witness("a.yaml", "#a.yaml::x", 1),
        Witness("gone::x", None, 1),
    ]
