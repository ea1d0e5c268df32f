"""Known disagreements: their order, what is in sight, and what is said once."""

import pytest

from rooflint_report.evidence import Evidence
from rooflint_report.sections.section import Page
from rooflint_report.sections.unsettled import disagreements, view


@pytest.fixture
def known(objects):
    """`known(ratio, …)`: claims that are known to disagree by these ratios."""

    def make(*ratios, until="2027-11-30", document="A"):
        source = {"document": document, "where": None, "grade": "read"}
        return [objects({"ratio": ratio, "until": until, "expected": {"source": source}}) for ratio in ratios]

    return make


def test_the_farthest_come_first_and_those_without_ratio_last(known):
    found = disagreements(known(1.1, None, 1 / 8, 4.0))
    assert [v.ratio for v in found.shown] == [1 / 8, 4.0, 1.1, None]
    assert found.more == 0


def test_a_dozen_is_in_sight(known):
    found = disagreements(known(*range(1, 31)))
    assert [v.ratio for v in found.shown] == list(range(30, 18, -1))
    assert found.more == 18
    assert len(found) == 30


def test_a_day_that_all_share_is_said_once(known, objects):
    assert disagreements(known(2.0, 3.0)).until == "2027-11-30"
    assert disagreements(known(2.0) + known(3.0, until="2028-01-01")).until is None
    assert disagreements([objects({"ratio": 2.0, "until": None, "expected": None})]).until is None


def test_documents_that_disagree_more_than_once_are_named(known):
    claims = known(2.0, document="B") + known(2.0, 3.0) + known(*range(2, 5), document="C")
    assert disagreements(claims).frequent == [("C", 3), ("A", 2)]


def test_nothing_known_is_nothing():
    assert not disagreements([])


@pytest.fixture
def opened(evidence):
    """`opened((outcome, reason), …)`: the section of a run with these claims."""

    def of(*claims):
        verdict = evidence["verdicts"][0]
        verdicts = [
            verdict | {"outcome": outcome, "reason": reason, "line": line}
            for line, (outcome, reason) in enumerate(claims)
        ]
        return view(Page.of(Evidence.model_validate(evidence | {"verdicts": verdicts})))

    return of


def test_open_claims_stand_apart_by_outcome(opened):
    found = opened(("pass", None), ("undecided", None), ("xfail", None), ("fail", None), ("not validated here", "no"))
    assert [one.line for one in found.undecided] == [1]
    assert [one.line for one in found.xfails.shown] == [2]
    assert found.unvalidated == [("no", 1)]


def test_the_most_frequent_reason_comes_first(opened):
    found = opened(*(("not validated here", why) for why in ("a", "b", None, "b", None, None)))
    assert found.unvalidated == [("no reason given", 3), ("b", 2), ("a", 1)]


@pytest.mark.parametrize("outcome", ["undecided", "xfail", "not validated here"])
def test_one_open_claim_is_enough_for_a_section(opened, outcome):
    assert opened((outcome, None)) is not None
    assert opened(("pass", None), ("fail", None)) is None
