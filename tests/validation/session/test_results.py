"""GitHub annotations as workflow commands, the worst ten first; and what else a run writes."""

import json
import math
import re
from types import SimpleNamespace
from xml.etree import ElementTree

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
    return list(Given(None, None, rows).annotations(problems))


class Given(Results):
    """Results of rows instead of JSON."""

    verdicts = property(lambda self: self.found)


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
    assert "first%0Asecond\\u000d100 %25" in line


# ---- in a run


def test_junit_carries_expected_obtained_ratio_unit_and_source(halved):
    halved.run("--junitxml=junit.xml")
    cases = {case.get("name"): case for case in ElementTree.parse(halved.root / "junit.xml").iter("testcase")}
    properties = {
        name: {entry.get("name"): entry.get("value") for entry in case.iter("property")} for name, case in cases.items()
    }
    assert properties["peak-mac_array-int8"] == {
        "expected": "32.8 TOP/s",
        "obtained": "16.38 TOP/s",
        "ratio": "0.499512",  # 16.384 / 32.8
        "unit": "TOP/s",
        "source": "Acme X1 product page, 2025, specifications (read)",
        "corroborated": "false",
    }
    assert properties["bandwidth-lpddr5"]["ratio"] == "1"
    assert "ratio     1/2" in cases["peak-mac_array-int8"].find("failure").text
    assert cases["bandwidth-lpddr5"].find("failure") is None
    assert len(cases) == 9 and "closed-world" in cases


def annotated(result):
    return [line for line in result.outlines if line.startswith("::error")]


def test_red_claims_annotate_their_yaml_lines_on_github(halved, monkeypatch):
    assert annotated(halved.run()) == []
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    lines = annotated(halved.run())
    assert len(lines) == 4
    place = "::error file=golden/x1.yaml,line=5,title=peak mac_array int8 of acme/x1::expected 32.8 TOP/s"
    assert any(line.startswith(place) for line in lines)


def test_the_worst_ten_come_first_on_github(tiny, monkeypatch):
    # 4 cores claimed as 5, 6, … 16 by as many documents: the farther from 4 the worse
    sources = "".join(f"  s{n}: {{document: Sheet {n}, grade: read}}\n" for n in range(5, 17))
    claims = "".join(f"  - {{count: core, expect: {n}, source: s{n}}}\n" for n in range(5, 17))
    tiny.write("golden/y.yaml", f"hardware: acme/x1\nsources:\n{sources}claims:\n{claims}")
    tiny.write("golden/z.yaml", "claims: [\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    lines = annotated(tiny.run())
    assert len(lines) == 10
    assert lines[0].startswith("::error file=golden/z.yaml,line=2,")
    # claims begin in line 16 with 5 cores, so 16 cores stand in line 27
    assert [int(re.search(r"line=(\d+)", line)[1]) for line in lines[1:]] == list(range(27, 18, -1))


def test_a_green_run_annotates_nothing(tiny, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert annotated(tiny.run()) == []


def test_watched_predictions_stand_in_the_evidence_and_in_the_last_lines(tiny):
    tiny.write("pyproject.toml", tiny.read("pyproject.toml") + 'rooflint_watch = ["vgg16 int8 b1 @ acme/x1"]\n')
    result = tiny.run("--rooflint-evidence=evidence.json")
    (one,) = json.loads(tiny.read("evidence.json"))["watched"]
    assert (one["watch"], one["base"], one["base_display"]) == ("vgg16 int8 b1 @ acme/x1", None, None)
    result.stdout.fnmatch_lines([f"watched: vgg16 int8 b1 @ acme/x1 {one['head_display']}"])
    result.assert_outcomes(passed=result.parseoutcomes()["passed"])
    assert "watched:" not in tiny.run().stdout.str()


def test_a_watched_prediction_that_cannot_be_fails_the_run_with_its_line(tiny):
    tiny.write("pyproject.toml", tiny.read("pyproject.toml") + 'rooflint_watch = ["vgg16 int9 b1 @ acme/x1"]\n')
    result = tiny.run("--rooflint-evidence=evidence.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["pyproject.toml:4  rooflint_watch: unknown precision 'int9' (known: fp64, *"])
    (problem,) = json.loads(tiny.read("evidence.json"))["problems"]
    assert (problem["file"], problem["line"]) == ("pyproject.toml", 4)


def test_a_place_where_evidence_cannot_be_written_is_named_without_a_traceback(tiny):
    (tiny.root / "evidence.json").mkdir()
    result = tiny.run("--rooflint-evidence=evidence.json")
    message = result.stdout.str() + result.stderr.str()
    assert result.ret != 0
    assert "evidence.json" in message
    assert "Traceback" not in message and "INTERNALERROR" not in message
