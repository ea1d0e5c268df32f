"""GitHub annotations: workflow commands that GitHub reads as they were meant, the worst ten first."""

import json
import math
from types import SimpleNamespace

import pytest

from pytest_rooflint.session.results import LIMIT, Results


def row(ratio=0.5, **more):
    """A verdict of which an annotation reads this much."""
    found = {
        "outcome": "fail",
        "ratio": ratio,
        "ratio_text": None if ratio is None else f"{ratio:g}",
        "file": "golden/x.yaml",
        "line": 4,
        "headline": "peak a int8 of acme/x1",
        "expected": {"display": "2 TOP/s"},
        "obtained": {"display": "1 TOP/s"},
        "causes": [],
        "reason": None,
        **more,
    }
    return json.loads(json.dumps(found), object_hook=lambda data: SimpleNamespace(**data))


def annotations(rows, problems):
    results = Results(None, None, ())
    results.verdicts = rows
    return list(results.annotations(problems))


def test_an_annotation_names_file_line_what_was_claimed_and_the_factor():
    assert annotations([row()], []) == [
        "::error file=golden/x.yaml,line=4,title=peak a int8 of acme/x1::expected 2 TOP/s, obtained 1 TOP/s, ratio 0.5"
    ]


def test_the_first_cause_is_said_too():
    cause = {"factor": 0.5, "factor_text": "1/2", "file": None, "line": None, "path": None, "current": None}
    cause |= {"repair": None, "fixes": None, "breaks": None}
    causes = [{**cause, "text": "a MAC is counted as one op"}, {**cause, "text": "something else"}]
    (line,) = annotations([row(causes=causes)], [])
    assert line.endswith("ratio 0.5; a MAC is counted as one op")


def test_the_repair_of_the_first_cause_is_said_with_its_place():
    cause = {"text": "half of it", "file": "specs/x1.yaml", "line": 14, "repair": "4096 MAC", "fixes": 4, "breaks": 0}
    (line,) = annotations([row(causes=[cause])], [])
    assert "half of it" in line
    assert "specs/x1.yaml:14" in line and "4096 MAC" in line


def test_a_claim_without_a_figure_gives_its_reason():
    (line,) = annotations([row(None, obtained=None, reason="acme/x1 has no unit 'b'")], [])
    assert line.endswith("::expected 2 TOP/s; acme/x1 has no unit 'b'")


def test_a_problem_of_the_world_may_have_no_file():
    assert annotations([], [{"what": "nothing was validated", "file": None, "line": None}]) == [
        "::error title=rooflint::nothing was validated"
    ]


@pytest.mark.parametrize("outcome", ["pass", "xfail", "not validated here", "undecided"])
def test_only_red_claims_are_annotated(outcome):
    assert annotations([row(outcome=outcome)], []) == []


def test_far_above_is_as_bad_as_far_below():
    # |log 4| > |log 1/3| > |log 2| > |log 0.9|
    lines = annotations([row(0.9), row(2), row(1 / 3), row(4)], [])
    assert [line.rpartition("ratio ")[2] for line in lines] == ["4", "0.333333", "2", "0.9"]


@pytest.mark.parametrize("ratio", [None, math.nan, math.inf, 0.0, -1.0])
def test_what_has_no_factor_is_worse_than_any(ratio):
    lines = annotations([row(1e6, line=1), row(ratio, line=2)], [])
    assert [line.split("line=")[1][0] for line in lines] == ["2", "1"]


def test_a_file_that_cannot_be_read_comes_before_claims():
    lines = annotations([row(1e6)], [{"what": "is empty", "file": "golden/y.yaml", "line": 1}])
    assert lines[0] == "::error file=golden/y.yaml,line=1,title=rooflint::is empty"


def test_ten_are_all_that_github_shows():
    lines = annotations([row(2.0 + n, line=n) for n in range(30)], [])
    assert len(lines) == LIMIT == 10
    assert "line=29," in lines[0]


def test_signs_that_github_reads_are_escaped():
    (line,) = annotations(
        [
            row(
                file="golden/a,b:c%.yaml",
                headline="latency a: b, c",
                reason="first\nsecond\r100 %::set-output name=x::y",
            )
        ],
        [],
    )
    assert line.count("\n") == line.count("\r") == 0
    assert line.startswith("::error file=golden/a%2Cb%3Ac%25.yaml,line=4,title=latency a%3A b%2C c::")
    assert "first%0Asecond%0D100 %25" in line
