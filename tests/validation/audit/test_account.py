"""The account of an audit: text, table, JSON and SARIF."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rooflint.audit import account
from pytest_rooflint.audit.account import STATUSES, Finding
from pytest_rooflint.audit.auditor import Auditor
from rooflint.diagnosis.explanations import ERRORS, Explanation
from rooflint.diagnosis.figures import figures
from rooflint.hardware.registry import Registry

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "typical-errors.csv"
REGISTRY = Registry()
AUDITOR = Auditor(REGISTRY)


@pytest.fixture(scope="module")
def findings():
    return AUDITOR.audit(EXAMPLE)


# ---- findings made by hand: the dense BF16 peak of an H100 SXM, 989.4 TFLOP/s

(PEAK,) = [one for one in figures(REGISTRY.get("nvidia/h100-sxm5-80gb")) if one.says == "dense BF16 peak (tensor_core)"]
CLOCK = REGISTRY.get("nvidia/h100-sxm5-80gb").facts["clocks.boost"]
RIGHT = Finding(Path("gpus.csv"), 3, "bf16", "H100", "bf16 peak", "989 TFLOP/s", "right", ("a", "b"), PEAK, 0.9996, "1")
WRONG = replace(
    RIGHT,
    line=2,
    status="wrong",
    printed="1979 TFLOP/s",
    ratio=2.0,
    ratio_text="2",
    explanations=(
        Explanation("sparse for dense", "is the sparse peak", 1979e12, 1.0),
        Explanation("another clock", "is of another clock", 1979e12, 1.2, None, CLOCK),
        Explanation("op counted twice", "is doubled", 1979e12, 1.5),
        Explanation("power of two", "is twice it", 1979e12, 1.9),
    ),
)
UNKNOWN = replace(
    RIGHT, line=4, device="H9", status="unknown device", note="no spec named 'H9'; near: a, b", expected=None
)
UNREAD = replace(RIGHT, line=5, status="not checked", note="'?' is not a number", expected=None)


def test_a_strict_run_also_fails_on_what_could_not_be_settled():
    failing = {status: replace(RIGHT, status=status).fails() for status in STATUSES}
    assert [status for status, fails in failing.items() if fails] == ["wrong"]
    strict = {status for status in STATUSES if not replace(RIGHT, status=status).fails(strict=True)}
    assert strict == {"right", "rounded", "disputed"}
    assert {status for status in STATUSES if not replace(RIGHT, status=status).is_checked} == {
        "unknown device",
        "not checked",
    }


def test_a_finding_is_told_by_its_place_its_headline_and_its_likeliest_cause():
    assert (WRONG.place, WRONG.headline) == ("gpus.csv:2", "H100: bf16 peak 1979 TFLOP/s")
    assert WRONG.cause == "is the sparse peak"
    assert replace(WRONG, explanations=(), note="off by a clock").cause == "no known cause"
    assert replace(WRONG, explanations=()).cause == "no known cause"
    assert RIGHT.cause == ""


def test_the_totals_count_figures_of_devices_only():
    column = replace(RIGHT, device="", status="not checked")
    assert account.sentence([RIGHT, WRONG, UNKNOWN, column]) == (
        "3 figures of 2 devices: 1 wrong, 1 unknown device, 1 right"
    )
    assert account.sentence([]) == "0 figures of 0 devices: nothing"
    assert list(account.counts([RIGHT, WRONG])) == list(STATUSES)


def test_a_wrong_figure_is_a_paragraph_with_two_further_explanations_at_the_most(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    paragraph, totals = account.as_text([RIGHT, WRONG]).split("\n\n")
    words = [" ".join(line.split()) for line in paragraph.splitlines()]
    assert words[0] == "gpus.csv:2 H100: bf16 peak 1979 TFLOP/s: wrong"
    assert words[1].startswith("expected 989.4 TFLOP/s 132 SM × 4 tensor_core × 512 MAC/clock")
    assert words[2:4] == ["ratio 2 sparse for dense: is the sparse peak", "or another clock: is of another clock"]
    assert words[4].endswith(f":{CLOCK.line} clocks.boost")
    assert words[5:] == ["or op counted twice: is doubled"]
    assert totals == "2 figures of 1 device: 1 wrong, 1 right\n"


def test_a_figure_without_a_right_one_says_why_it_is_wrong(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    lone = replace(WRONG, expected=None, ratio=None, ratio_text="", note="a remark")
    lines = [" ".join(line.split()) for line in account.as_text([lone]).splitlines()]
    assert lines[1:3] == ["because is the sparse peak", "note a remark"]
    printed = replace(PEAK, printed="a data sheet")
    disputed = replace(RIGHT, status="disputed", expected=printed)
    assert "printed by a data sheet" in account.as_text([disputed])


def test_what_was_not_checked_is_one_line_for_each_reason(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    other = replace(UNREAD, note="no column gives its precision")
    text = account.as_text([UNREAD, UNKNOWN, replace(UNKNOWN, line=9), other, replace(UNREAD, line=8)])
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[:3] == [
        "unknown 'H9'",
        "unchecked gpus.csv:5 '?' is not a number (2)",
        "gpus.csv:5 no column gives its precision",
    ]
    everything = account.as_text([RIGHT, UNREAD], everything=True)
    assert everything.index("gpus.csv:5") < everything.index("gpus.csv:3")  # worst first
    assert "unchecked" not in everything
    assert "expected" not in everything.partition("gpus.csv:3")[2]  # a right figure needs no derivation


def test_the_table_has_a_row_for_each_finding_worst_first():
    rows = account.as_table([RIGHT, UNREAD, WRONG], everything=True).rows
    assert rows[0] == (
        *("gpus.csv:2", "H100", "bf16 peak", "1979 TFLOP/s", "989.4 TFLOP/s", "2"),
        *("wrong", "sparse for dense", "is the sparse peak"),
    )
    assert rows[1][4:] == ("", "1", "not checked", "", "'?' is not a number")
    assert rows[2][6:] == ("right", "", "")


def test_json_tells_derived_figures_from_printed_ones():
    wrong, printed, unread = json.loads(
        account.as_json([WRONG, replace(RIGHT, expected=replace(PEAK, printed="a data sheet")), UNREAD])
    )["findings"]
    assert wrong["expected"]["document"] is None
    assert wrong["expected"]["formula"].startswith("132 SM × 4 tensor_core")
    assert wrong["causes"][1]["fact"]["line"] == CLOCK.line
    assert (wrong["causes"][0]["fact"], wrong["causes"][0]["value"], wrong["note"]) == (None, 1979e12, None)
    assert (printed["expected"]["document"], printed["expected"]["formula"]) == ("a data sheet", None)
    assert (unread["expected"], unread["note"], unread["hardware"]) == (None, "'?' is not a number", ["a", "b"])


def test_sarif_has_no_result_for_what_is_right_or_was_not_read():
    joint = replace(WRONG, explanations=(Explanation("another clock + MAC for op", "is both", 1.0, 2.0),))
    disputed = replace(RIGHT, status="disputed", note="printed otherwise")
    (run,) = json.loads(account.as_sarif([RIGHT, WRONG, joint, UNKNOWN, UNREAD, disputed]))["runs"]
    results = [(one["ruleId"], one["level"], one["message"]["text"]) for one in run["results"]]
    headline = "H100: bf16 peak 1979 TFLOP/s; expected 989.4 TFLOP/s."
    assert results == [
        ("sparse-for-dense", "error", f"{headline} is the sparse peak"),
        ("another-clock-and-MAC-for-op", "error", f"{headline} is both"),
        ("unknown-device", "note", "H9: bf16 peak 989 TFLOP/s. no spec named 'H9'; near: a, b"),
        ("disputed", "note", "H100: bf16 peak 989 TFLOP/s. printed otherwise"),
    ]
    texts = {rule["id"]: rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"]}
    assert texts["another-clock-and-MAC-for-op"] == f"{ERRORS['another clock']}; and {ERRORS['MAC for op']}"


# ---- a whole table


@pytest.mark.slow
def test_the_account_counts_every_figure_once(findings):
    assert sum(account.counts(findings).values()) == len(findings)
    assert set(account.counts(findings)) == set(STATUSES)
    assert account.sentence(findings).startswith(f"{len(findings)} figures of ")


@pytest.mark.slow
def test_the_text_fits_a_terminal_and_ends_with_the_sentence(findings, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = account.as_text(findings).splitlines()
    assert lines[-1] == account.sentence(findings)
    assert all(len(line) <= 80 or line.lstrip().startswith(("docs/", "model/", "/")) for line in lines)


@pytest.mark.slow
def test_json_carries_facts_with_their_lines(findings):
    document = json.loads(account.as_json(findings))
    assert document["schema"] == account.SCHEMA
    wrong = [one for one in document["findings"] if one["status"] == "wrong"]
    assert all(one["causes"] for one in wrong)
    derived = next(one for one in wrong if one["expected"] and one["expected"]["facts"])
    assert all(fact["line"] >= 1 and fact["file"].endswith(".yaml") for fact in derived["expected"]["facts"])


@pytest.mark.slow
def test_sarif_names_a_rule_a_place_and_a_level_for_each_result(findings):
    document = json.loads(account.as_sarif(findings))
    (run,) = document["runs"]
    rules = {rule["id"]: rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"]}
    assert document["version"] == "2.1.0"
    assert {result["ruleId"] for result in run["results"]} == set(rules)
    assert rules["sparse-for-dense"] == ERRORS["sparse for dense"]
    assert rules["MAC-for-op"] == ERRORS["MAC for op"]
    errors = [result for result in run["results"] if result["level"] == "error"]
    assert len(errors) == account.counts(findings)["wrong"]
    assert all(result["locations"][0]["physicalLocation"]["region"]["startLine"] >= 3 for result in run["results"])


def test_the_table_leaves_out_what_is_right_unless_everything_is_wanted(findings):
    assert len(account.as_table(findings, everything=True).rows) == len(findings)
    assert {row[6] for row in account.as_table(findings).rows} == {one.status for one in findings} - {"right"}
