"""Failures: what a repair that was tried did, in words, and which devices name it."""

import math
from itertools import pairwise
from types import SimpleNamespace

import pytest

from rooflint_report.evidence import Evidence
from rooflint_report.sections.failures import (
    RULER_WIDTH,
    Witness,
    broken,
    fixed,
    octave_ticks,
    ruler_x,
    tried,
    view,
    witnesses,
)
from rooflint_report.sections.section import Page


@pytest.mark.parametrize(
    ("fixes", "failing", "text"),
    [
        (25, 27, "25 of 27 failing claims pass"),
        (1, 27, "1 of 27 failing claims passes"),
        (27, 27, "all 27 failing claims pass"),
        (1, 1, "the one failing claim passes"),
        (0, 27, "no failing claim passes"),
        (25, None, "25 failing claims pass"),
        (1, None, "1 failing claim passes"),
    ],
)
def test_what_turns_green(fixes, failing, text):
    assert fixed(fixes, failing) == text


@pytest.mark.parametrize(
    ("breaks", "fixes", "text"),
    [
        (0, 25, "and no other claim fails"),
        (1, 25, "but 1 passing claim fails"),
        (3, 25, "but 3 passing claims fail"),
        (3, 0, "and 3 passing claims fail"),
    ],
)
def test_what_turns_red(breaks, fixes, text):
    assert broken(breaks, fixes) == text


@pytest.mark.parametrize(
    ("fixes", "breaks", "text"),
    [
        (None, None, ""),
        (None, 0, ""),
        (2, None, "2 failing claims pass"),
        (2, 1, "2 failing claims pass but 1 passing claim fails"),
    ],
)
def test_a_repair_that_was_not_tried_out_says_nothing(fixes, breaks, text):
    assert tried(fixes, breaks) == text


def test_devices_name_a_place_and_claims_without_one_by_their_file():
    def red(nodeid, hardware):
        return f"#{nodeid}", SimpleNamespace(nodeid=nodeid, hardware=hardware, file=nodeid.partition("::")[0])

    fails = [red("a.yaml::x", None), red("b.yaml::x", "nvidia/t4"), red("b.yaml::y", "nvidia/t4"), red("c::z", "e/f")]
    place = SimpleNamespace(ids=["b.yaml::y", "b.yaml::x", "a.yaml::x", "gone::x"])
    assert witnesses(place, fails) == [
        Witness("nvidia/t4", "#b.yaml::x", 2),
        Witness("a.yaml", "#a.yaml::x", 1),
        Witness("gone::x", None, 1),
    ]


@pytest.mark.parametrize(("ratio", "side"), [(1, 0), (1 / 8, -1), (8, 1), (0, -1), (math.inf, 1)])
def test_a_ratio_lies_on_its_side_of_one(ratio, side):
    x = ruler_x(ratio)
    assert 0 <= x <= RULER_WIDTH
    assert (x > RULER_WIDTH / 2) - (x < RULER_WIDTH / 2) == side


def test_octaves_are_equally_long():
    ticks = octave_ticks()
    assert len(ticks) == 13
    assert {19 <= b - a <= 20 for a, b in pairwise(ticks)} == {True}
    assert ruler_x(None) is None
    assert ruler_x(math.nan) is None


def test_failures_are_claims_and_problems_and_without_either_there_is_no_section(evidence, green):
    red = view(Page.of(Evidence.model_validate(evidence)))
    fails = sum(verdict["outcome"] == "fail" for verdict in evidence["verdicts"])
    assert (len(red.fails), len(red.problems)) == (fails, len(evidence["problems"]))
    assert red.count == fails + len(evidence["problems"])
    assert [place.path for place, _ in red.places] == [place["path"] for place in evidence["places"]]
    assert any(witnesses for _, witnesses in red.places)
    assert view(Page.of(Evidence.model_validate(green))) is None
    assert view(Page.of(Evidence.model_validate(green | {"problems": evidence["problems"]}))).fails == []
    assert view(Page.of(Evidence.model_validate(evidence | {"problems": []}))).count == fails
