"""Guards against false passes: ignored folders, claims skipped from outside, failures that pytest did not count."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_rooflint.session import Guard


@pytest.fixture
def guard(tmp_path):
    (tmp_path / "checks/golden").mkdir(parents=True)
    return Guard(SimpleNamespace(golden_roots=(tmp_path / "checks/golden", Path("/elsewhere/golden"))))


def report(outcome="passed", **notes):
    return SimpleNamespace(outcome=outcome, **{f"rooflint_{name}": value for name, value in notes.items()})


def test_a_golden_folder_below_an_ignored_path_is_named(guard, tmp_path):
    guard.saw(tmp_path / "checks", ignored=None)
    guard.saw(tmp_path / "other", ignored=True)
    assert list(guard.sentences()) == []
    guard.saw(tmp_path / "checks", ignored=True)
    (sentence,) = guard.sentences()
    assert "checks/golden was ignored (by --ignore, norecursedirs or a conftest?)" in sentence


def test_claims_skipped_from_outside_are_counted(guard):
    guard.gather(report(skipped=["golden/a.yaml::one"]))
    assert next(guard.sentences()).startswith("golden/a.yaml::one was skipped by a mark or a hook; excuse a claim in")
    guard.gather(report(skipped=["golden/a.yaml::two"]))
    assert next(guard.sentences()).startswith("golden/a.yaml::one and 1 more were skipped")


def test_a_broken_file_that_pytest_counts_as_passed_is_hidden(guard):
    guard.gather(report("failed", problems=[{"what": "broken"}]))
    assert list(guard.sentences()) == []
    guard.gather(report("skipped", problems=[{"what": "broken"}]))
    assert list(guard.sentences()) == ["1 failure was hidden by a mark or a hook (of a conftest?); remove it"]
    guard.gather(report("passed", problems=[{"what": "broken"}]))
    assert list(guard.sentences()) == ["2 failures were hidden by a mark or a hook (of a conftest?); remove it"]


def test_what_passes_is_not_noted(guard):
    guard.gather(report())
    assert (guard.skipped, guard.hidden) == ([], 0)


def test_the_closed_world_stands_last_in_its_folder(tiny):
    lines = [line for line in tiny.run("--collect-only", "-q").outlines if "::" in line]
    assert lines[-1] == "golden::closed-world" or lines[-1].endswith("closed-world")
    assert lines[0].startswith("golden/x1.yaml::peak-mac_array-int8")
