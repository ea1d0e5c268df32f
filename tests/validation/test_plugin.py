"""The plugin: what it collects, where it sleeps, and which folders it is about."""

import re

import pytest

IDS = [
    "peak-mac_array-int8",
    "peak-mac_array-int8-at-low",
    "peak-mac_array-fp16",
    "bandwidth-lpddr5",
    "breakpoint-mac_array-int8-per-lpddr5",
    "count-core",
    "ratio-mac_array-int8-per-mac_array-fp16",
    "bound-acme/x1-of-mlp-1024-1024-1024-batch-16-in-int8",
]


def test_collect_only_lists_readable_shell_safe_ids_in_the_order_of_the_file(tiny):
    result = tiny.run("--collect-only", "-q")
    listed = [line for line in result.outlines if "::" in line]
    assert listed == [*(f"golden/x1.yaml::{id}" for id in IDS), "golden::closed-world"]
    assert all(re.fullmatch(r"[A-Za-z0-9._/:-]+", line) for line in listed)
    assert result.ret == 0


def test_every_claim_is_an_item_and_one_more_watches_the_world(tiny):
    result = tiny.run()
    result.assert_outcomes(passed=len(IDS) + 1)
    assert result.ret == 0


def test_it_sleeps_where_nobody_asked_for_it(tiny):
    tiny.write("pyproject.toml", "[tool.pytest.ini_options]\n")
    tiny.write("test_own.py", "def test_own():\n    pass\n")
    tiny.run().assert_outcomes(passed=1)


def test_evidence_is_not_written_by_a_sleeping_plugin(tiny):
    tiny.write("pyproject.toml", "[tool.pytest.ini_options]\n")
    tiny.write("test_own.py", "def test_own():\n    pass\n")
    tiny.run("--rooflint-evidence=evidence.json")
    assert not (tiny.root / "evidence.json").exists()


def test_a_file_that_is_not_evidence_is_not_replaced(tiny):
    tiny.write("notes.json", "{}")
    result = tiny.run("--rooflint-evidence=notes.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("*notes.json is not evidence and is not replaced; name another file*")
    assert (tiny.root / "notes.json").read_text(encoding="utf-8") == "{}"
    tiny.write("notes.json", '{"schema": "rooflint-evidence/1"}')
    assert tiny.run("--rooflint-evidence=notes.json").ret == 0


def test_folders_of_the_command_line_come_before_those_of_the_project(tiny):
    source = "source: {document: Another page, where: here, grade: read}"
    head = f"hardware: acme/x1\n{source}\nunguarded: {{tdp: one sheet}}\nclaims:\n"
    tiny.write("other/y.yaml", head + "  - {count: core, expect: 4}\n")
    result = tiny.run("other", "--rooflint-golden=other")
    result.assert_outcomes(passed=2)


def test_a_run_from_a_folder_below_finds_the_same_claims(tiny, monkeypatch):
    monkeypatch.chdir(tiny.root / "golden")
    tiny.run().assert_outcomes(passed=len(IDS) + 1)
