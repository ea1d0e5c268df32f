"""The schema of golden files: what the common keys accept, and what their messages say."""

import datetime

import pytest
from pydantic import ValidationError

from pytest_rooflint.golden.schema import CommonSpec, GivenSpec, GoldenSpec

XFAIL = {"ratio": "1/2", "reason": "two sheets differ", "until": "2027-06-30"}


def test_values_are_kept_as_they_are_printed():
    spec = CommonSpec(expect="2.00 TB/s", where=7, at="30w", xfail=XFAIL)
    assert (spec.expect, spec.where, spec.at, spec.rounding, spec.undisclosed) == (
        "2.00 TB/s",
        "7",
        "30w",
        "half",
        False,
    )
    assert (spec.xfail.ratio, spec.xfail.until) == ("1/2", datetime.date(2027, 6, 30))
    assert CommonSpec().where is None and CommonSpec(at={"nvidia/t4": "30w"}).at == {"nvidia/t4": "30w"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"expect": True}, "want what the source printed, such as 989.4 TFLOP/s, found True"),
        ({"expect": [3]}, "want what the source printed"),
        ({"where": False}, "want a page, table or row, found False"),
        ({"at": {}}, "want an operating point such as 30w, or one for each device, found {}"),
        ({"at": {"nvidia/t4": 30}}, "want an operating point such as 30w"),
        ({"at": 30}, "want an operating point such as 30w"),
        ({"xfail": {**XFAIL, "until": "soon"}}, "want a date such as 2027-06-30, found 'soon'"),
        ({"xfail": {**XFAIL, "until": 2027}}, "want a date such as 2027-06-30, found '2027'"),
        ({"source": {"document": "a sheet"}}, "want a key of 'sources', or {document, where, grade}: "),
        ({"rounding": "up"}, "Input should be 'half' or 'truncated'"),
        ({"tolerance": 3}, "Extra inputs are not permitted"),
    ],
)
def test_an_invalid_key_is_told(given, says):
    with pytest.raises(ValidationError) as caught:
        CommonSpec(**given)
    assert says in str(caught.value)


def test_a_source_is_a_key_or_a_document_with_its_place():
    assert CommonSpec(source="db").source == "db"
    inline = CommonSpec(source={"document": "a sheet", "where": "p. 1", "grade": "read"}).source
    assert (inline.document, inline.where, inline.grade) == ("a sheet", "p. 1", "read")


def test_a_file_has_claims_and_labels_are_words():
    claims = [{"count": "SM", "expect": 40}]
    assert GoldenSpec(claims=claims).sources == {}
    with pytest.raises(ValidationError):
        GoldenSpec(claims=[])
    given = {"hardware": "nvidia/t4", "unit": "tensor_core"}
    assert GoldenSpec(claims=claims, given={"GPU": given}).given["GPU"] == GivenSpec(**given)
    with pytest.raises(ValidationError):
        GoldenSpec(claims=claims, given={"1 GPU": given})
