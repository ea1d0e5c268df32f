"""Which claim is which, and what counts as weaker: hand-made intervals and bounds."""

from pathlib import Path

import pytest

from pytest_rooflint.golden.expect import parse_expectation
from pytest_rooflint.golden.kinds import Claim
from pytest_rooflint.history.claim_matches import looser, pairs, renames
from pytest_rooflint.history.claim_sides import Judged
from pytest_rooflint.suite.dependencies import Dependencies


@pytest.fixture
def one():
    """`one("golden/a.yaml", "peak-int8", "4 TOP/s")`: a judged claim."""

    def make(
        file="golden/a.yaml", name="peak-int8", expect=None, *, backed=True, outcome="pass", about="acme/x1", **options
    ):
        expectation = parse_expectation(expect) if expect else None
        claim = Claim("peak", name, name, Path(file), 3, None, expectation, about, options=options)
        return Judged(claim, file, outcome, backed, name, (), Dependencies())

    return make


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("100 GB/s ± 1 %", "100 GB/s ± 1 %", None),
        ("100 GB/s ± 1 %", "100 GB/s ± 1.1 %", "expects 100 GB/s (±1.1 %) instead of 100 GB/s (±1 %)"),
        ("100 GB/s ± 1 %", "100 GB/s ± 0.9 %", None),
        ("100.0 GB/s", "100.04 GB/s", None),  # 100.035 … 100.045 lies within 99.95 … 100.05
        ("100.04 GB/s", "100.0 GB/s", "expects 100.0 GB/s (±0.05 %) instead of 100.04 GB/s (±0.005 %)"),
        ("100.0 GB/s", "101.0 GB/s", "expects 101.0 GB/s (±0.05 %) instead of 100.0 GB/s (±0.05 %)"),
        ("100.0 GB/s", None, "expects nothing instead of 100.0 GB/s (±0.05 %)"),
        (None, "100.0 GB/s", None),
    ],
)
def test_an_expectation_is_weaker_unless_its_interval_lies_within_the_old_one(old, new, text, one):
    assert looser(one(expect=old), one(expect=new)) == text


@pytest.mark.parametrize(
    ("option", "old", "new", "weaker"),
    [
        ("error", "10 %", "12 %", True),
        ("error", "12 %", "10 %", False),
        ("right", "80 %", "70 %", True),
        ("right", "70 %", "80 %", False),
        ("rows", 1000, 100, True),
        ("rows", 100, 1000, False),
        ("strict", True, False, True),
        ("strict", False, True, False),
        ("error", "10 %", None, True),
        ("devices", "nvidia/*", "nvidia/t4", True),
        ("except", None, {"nvidia/t4": "slow"}, True),
    ],
)
def test_a_bound_is_weaker_by_its_direction_and_any_other_option_by_being_another(option, old, new, weaker, one):
    before, after = ({option: value} if value is not None else {} for value in (old, new))
    assert (looser(one(**before), one(**after)) is not None) == weaker


def test_a_claim_without_its_second_source_is_weaker_but_a_failing_one_is_failing():
    def judged(outcome, backed):
        return Judged(
            Claim("tdp", "rated", "tdp-rated", Path("a.yaml"), 1, None),
            "a.yaml",
            outcome,
            backed,
            "",
            (),
            Dependencies(),
        )

    assert "no second source" in str(looser(judged("pass", True), judged("pass", False)))
    assert looser(judged("pass", True), judged("fail", False)) is None
    assert looser(judged("pass", False), judged("pass", True)) is None


def test_another_device_under_the_same_id_is_another_claim(one):
    assert looser(one(about="acme/x1"), one(about="acme/x2")) == "is about hardware acme/x2 instead of acme/x1"


def test_a_file_is_renamed_where_half_of_its_claims_are_in_a_new_one(one):
    old = [one("a.yaml", f"claim-{number}") for number in range(4)]
    half = [one("b.yaml", f"claim-{number}") for number in range(2)]
    assert renames(old, half, {"a.yaml"}, {"b.yaml"}) == {"a.yaml": "b.yaml"}
    assert renames(old, half[:1], {"a.yaml"}, {"b.yaml"}) == {}
    assert renames(old, half, {"a.yaml", "b.yaml"}, {"b.yaml"}) == {}  # b was there before
    assert renames(old, half, {"a.yaml"}, {"a.yaml", "b.yaml"}) == {}  # a is still there


def test_two_files_that_are_gone_do_not_become_the_same_new_one(one):
    old = [one(file, name) for file in ("a.yaml", "b.yaml") for name in ("peak", "count")]
    new = [one("c.yaml", name) for name in ("peak", "count")]
    assert renames(old, new, {"a.yaml", "b.yaml"}, {"c.yaml"}) == {"a.yaml": "c.yaml"}
    found = pairs(old, new, {"a.yaml", "b.yaml"}, {"c.yaml"})
    assert sum(before is not None and after is not None for before, after in found) == 2
    assert [before.file for before, after in found if before and after is None] == ["b.yaml", "b.yaml"]


def test_equal_claims_are_paired_one_to_one(one):
    old = [one("a.yaml", "peak", "4.0 TOP/s"), one("b.yaml", "peak", "4.0 TOP/s")]
    new = [one("a.yaml", "other", "5.0 TOP/s"), one("c.yaml", "peak", "4.0 TOP/s")]
    found = pairs(old, new, {"a.yaml", "b.yaml"}, {"a.yaml", "b.yaml", "c.yaml"})
    assert sum(before is not None and after is not None for before, after in found) == 1
    assert len(found) == 3
