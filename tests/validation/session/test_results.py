"""What a run leaves behind: JUnit, annotations on GitHub, ten at most and one a cause, and the evidence."""

import json
import re
from xml.etree import ElementTree

import pytest

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


@pytest.mark.slow
def test_a_cause_is_annotated_once_at_its_line_on_github(halved, monkeypatch):
    assert annotated(halved.run()) == []
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (line,) = annotated(halved.run())
    assert line.startswith("::error file=specs/hardware/acme/x1.yaml,line=")
    assert ",title=4 failing claims::" in line
    assert annotated(halved.run("--rooflint-compared")) == []


@pytest.mark.slow
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


@pytest.mark.slow
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
