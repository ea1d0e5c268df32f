"""Known disagreements: their order, what is in sight, and what is said once."""

import pytest

from rooflint_report.sections.unsettled import disagreements


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
    assert found.folded == []


def test_a_dozen_is_in_sight(known):
    found = disagreements(known(*range(1, 31)))
    assert [v.ratio for v in found.shown] == list(range(30, 18, -1))
    assert [v.ratio for v in found.folded] == list(range(18, 0, -1))
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
