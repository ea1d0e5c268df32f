"""The account of an audit: text, table, JSON and SARIF."""

import json
from pathlib import Path

import pytest

from pytest_rooflint.audit import account
from pytest_rooflint.audit.account import STATUSES
from pytest_rooflint.audit.auditor import Auditor
from rooflint.diagnosis.figures import ERRORS
from rooflint.hardware.registry import Registry

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "typical-errors.csv"
REGISTRY = Registry()
AUDITOR = Auditor(REGISTRY)


@pytest.fixture
def findings():
    return AUDITOR.audit(EXAMPLE)


def test_the_account_counts_every_figure_once(findings):
    assert sum(account.counts(findings).values()) == len(findings)
    assert set(account.counts(findings)) == set(STATUSES)
    assert account.sentence(findings).startswith(f"{len(findings)} figures of ")


def test_the_text_fits_a_terminal_and_ends_with_the_sentence(findings, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = account.as_text(findings).splitlines()
    assert lines[-1] == account.sentence(findings)
    assert all(len(line) <= 80 or line.lstrip().startswith(("docs/", "model/", "/")) for line in lines)


def test_json_carries_facts_with_their_lines(findings):
    document = json.loads(account.as_json(findings))
    assert document["schema"] == account.SCHEMA
    wrong = [one for one in document["findings"] if one["status"] == "wrong"]
    assert all(one["causes"] for one in wrong)
    derived = next(one for one in wrong if one["expected"] and one["expected"]["facts"])
    assert all(fact["line"] >= 1 and fact["file"].endswith(".yaml") for fact in derived["expected"]["facts"])


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
