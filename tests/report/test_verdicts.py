"""A verdict as a record: its keys, whether a second document backs it, and which devices it is about."""

import pytest
from pydantic import ValidationError

from rooflint_report.verdicts import Place, Record, Verdict, described


@pytest.fixture
def verdict(evidence):
    """A passing claim of the evidence, with other values."""
    return lambda **more: Verdict.model_validate(evidence["verdicts"][0] | more)


@pytest.mark.parametrize(
    ("outcome", "corroborated", "replay", "alone"),
    [
        ("pass", False, False, True),
        ("pass", True, False, False),
        ("pass", False, True, False),
        ("fail", False, False, False),
        ("xfail", False, False, False),
        ("not validated here", False, False, False),
    ],
)
def test_uncorroborated_is_what_passes_without_a_second_document(verdict, outcome, corroborated, replay, alone):
    found = verdict(outcome=outcome, corroborated=corroborated, replay=replay)
    assert found.uncorroborated is alone


def test_a_claim_about_one_device_is_about_that_alone(verdict):
    assert verdict(hardware="nvidia/t4", others=["nvidia/l4"]).devices == ["nvidia/t4"]


def test_a_claim_about_several_names_each_once_without_its_operating_point(verdict):
    found = verdict(hardware=None, others=["nvidia/t4@low", "nvidia/l4", "nvidia/t4", "a table"])
    assert found.devices == ["nvidia/l4", "nvidia/t4"]
    assert verdict(hardware=None, others=[]).devices == []


def test_a_key_that_is_a_word_of_python_has_no_underscore_in_json():
    keys = {
        "file": None,
        "line": None,
        "path": None,
        "to": "2",
        "fixes": 1,
        "breaks": 0,
        "failing": 1,
        "ids": [],
        "fixed": [],
    }
    place = Place.model_validate(keys | {"from": "1"})
    assert place.from_ == "1"
    assert place.model_dump(by_alias=True) == keys | {"from": "1"}
    assert Place(**keys, from_="1") == place


def test_a_record_cannot_be_changed(verdict):
    with pytest.raises(ValidationError, match="frozen"):
        verdict().outcome = "fail"


def test_an_outcome_is_one_of_five(verdict):
    with pytest.raises(ValidationError, match="outcome"):
        verdict(outcome="maybe")


class Below(Record):
    """A record."""

    from_: int
    """Where it
    begins."""
    bare: int
    last: int


class Deeper(Below):
    """Another."""

    last: int
    """Said here."""


def test_the_text_below_a_field_describes_it():
    assert described(Below) == {"from_": "Where it\nbegins."}
    assert described(Deeper) == {**described(Below), "last": "Said here."}
    properties = Deeper.model_json_schema()["properties"]
    assert {name: one.get("description") for name, one in properties.items()} == {
        "from": "Where it\nbegins.",
        "bare": None,
        "last": "Said here.",
    }
