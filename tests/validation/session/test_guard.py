"""What makes a run pass without judging every claim is noticed, and what the user selects is not held against it."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_rooflint.session.guard import Guard

IDS = ("golden/x1.yaml::peak-mac_array-int8", "golden/x1.yaml::count-core")
BRIEF = {"outcome": "pass", "corroborated": True, "replay": False, "loose": False, "stale": False}
FAIL = {**BRIEF, "outcome": "fail"}


@pytest.fixture
def guard(tmp_path):
    (tmp_path / "checks/golden").mkdir(parents=True)
    return Guard(SimpleNamespace(golden_roots=(tmp_path / "checks/golden", Path("/elsewhere/golden"))))


def report(outcome="passed", nodeid=IDS[0], when="call", **notes):
    named = {f"rooflint_{name}": value for name, value in notes.items()}
    return SimpleNamespace(outcome=outcome, nodeid=nodeid, when=when, **named)


# ---- what is ignored, skipped or hidden from outside


def test_a_golden_folder_below_an_ignored_path_is_named(guard, tmp_path):
    guard.saw(tmp_path / "checks", ignored=None)
    guard.saw(tmp_path / "other", ignored=True)
    assert list(guard.sentences()) == []
    guard.saw(tmp_path / "checks", ignored=True)
    (sentence,) = guard.sentences()
    assert "checks/golden was ignored (by --ignore, norecursedirs or a conftest?)" in sentence


def test_claims_skipped_from_outside_are_counted(guard):
    guard.gather(report(nodeid="golden/a.yaml::one", skipped=True))
    assert next(guard.sentences()).startswith("golden/a.yaml::one was skipped by a mark or a hook; excuse a claim in")
    guard.gather(report(nodeid="golden/a.yaml::two", skipped=True))
    assert next(guard.sentences()).startswith("golden/a.yaml::one and 1 more were skipped")


def test_a_broken_file_that_pytest_counts_as_passed_is_hidden(guard):
    guard.gather(report("failed", "a", problems=[{"what": "broken"}]))
    assert list(guard.sentences()) == []
    guard.gather(report("skipped", "b", problems=[{"what": "broken"}]))
    assert list(guard.sentences()) == ["1 failure was hidden by a mark or a hook (of a conftest?); remove it"]
    guard.gather(report("passed", "c", problems=[{"what": "broken"}]))
    assert list(guard.sentences()) == ["2 failures were hidden by a mark or a hook (of a conftest?); remove it"]


def test_what_passes_is_not_noted(guard):
    guard.gather(report())
    assert guard.attempts == {}


# ---- run again


def test_the_last_attempt_counts(guard):
    for outcome, brief in (("rerun", FAIL), ("rerun", FAIL), ("passed", BRIEF)):
        guard.gather(report(when="setup"))
        guard.gather(report(outcome, brief=brief, problems=[{"what": "wrong"}] if brief is FAIL else []))
        guard.gather(report(when="teardown"))
    assert [one.outcome for one in guard.briefs] == ["pass"]
    assert (guard.problems, list(guard.sentences())) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_reruns_count_a_failing_claim_once(halved, workers):
    pytest.importorskip("pytest_rerunfailures")
    found = halved.evidence(*workers, "--reruns=2")
    once = halved.evidence(*workers)
    assert [one["id"] for one in found["verdicts"]] == [one["id"] for one in once["verdicts"]]
    assert sum(one["outcome"] == "fail" for one in found["verdicts"]) == 4
    assert found["problems"] == once["problems"] == []


# ---- collected and not judged

DROPS = """
def pytest_collection_modifyitems(config, items):
    items[:] = [item for item in items if "int8" not in item.name]
"""
DESELECTS = """
def pytest_collection_modifyitems(config, items):
    gone = [item for item in items if "int8" in item.name]
    items[:] = [item for item in items if "int8" not in item.name]
    config.hook.pytest_deselected(items=gone)
"""
WITHHOLDS = """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    if collector.nodeid == "golden/x1.yaml":
        report.result = [item for item in report.result if "int8" not in item.name]
    return report
"""
REMOVES = """
def pytest_collection_finish(session):
    session.items[:] = [item for item in session.items if "int8" not in item.name]
"""
SAYS = (
    "5 items of the golden suite were collected and not judged (dropped by a hook of a conftest or a plugin?): "
    "golden/x1.yaml::bound-acme/x1-of-mlp-1024-1024-1024-batch-16-in-int8, "
    "golden/x1.yaml::breakpoint-mac_array-int8-per-lpddr5, golden/x1.yaml::peak-mac_array-int8 and 2 more"
)


@pytest.mark.slow
@pytest.mark.parametrize("hook", [DROPS, DESELECTS, WITHHOLDS, REMOVES], ids=["drop", "deselect", "withhold", "remove"])
def test_claims_that_a_conftest_drops_fail_the_run(halved, hook):
    halved.write("conftest.py", hook)
    result = halved.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=4, deselected=5 if hook == DESELECTS else 0)
    assert SAYS in result.stdout.str()


@pytest.mark.slow
def test_claims_that_a_conftest_drops_in_workers_fail_the_run(halved):
    halved.write("conftest.py", DROPS)
    result = halved.run("-n", "2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert SAYS in result.stdout.str()


def test_a_claim_that_was_named_and_dropped_fails_the_run(halved):
    halved.write("conftest.py", DROPS)
    result = halved.run(*IDS)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "1 item of the golden suite was collected and not judged" in result.stdout.str()
    assert IDS[0] in result.stdout.str()


def test_a_dropped_closed_world_fails_the_run(tiny):
    tiny.write("conftest.py", DROPS.replace("int8", "closed-world"))
    result = tiny.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "1 item of the golden suite was collected and not judged" in result.stdout.str()
    assert "golden::closed-world" in result.stdout.str()


@pytest.mark.slow
@pytest.mark.parametrize(
    "selection",
    [
        ("-k", "fp16"),
        ("-m", "not slow"),
        ("--deselect", IDS[0]),
        (IDS[1],),
        ("golden/x1.yaml",),
        ("-x",),
        ("--collect-only",),
        ("-n", "2", "-k", "fp16"),
    ],
    ids=" ".join,
)
def test_selections_of_the_user_are_not_held_against_a_run(tiny, selection):
    result = tiny.run(*selection)
    assert result.ret == pytest.ExitCode.OK
    assert "not judged" not in result.stdout.str()


def test_a_run_that_stops_at_the_first_failure_is_not_told_of_the_others(halved):
    assert "not judged" not in halved.run("-x").stdout.str()


@pytest.mark.slow
def test_failures_alone_may_be_run_again(halved):
    # 4 of 8 claims fail; they are run again, the 4 others and the closed world are not
    halved.run()
    printed = halved.run("--lf").stdout.str()
    assert "not judged" not in printed
    assert "deselected: 5 of 9 items of the golden suite; this is not a full check" in printed


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_selection_is_counted_and_is_not_a_full_check(tiny, workers):
    # 8 claims and the closed world; 2 claims name fp16
    result = tiny.run("-k", "fp16", *workers)
    assert "deselected: 7 of 9 items of the golden suite; this is not a full check" in result.stdout.str()
    assert tiny.evidence("-k", "fp16", *workers)["counts"]["deselected"] == 7
    assert tiny.evidence(*workers)["counts"]["deselected"] == 0


def test_what_a_plugin_announces_as_left_out_is_a_selection(tiny, monkeypatch):
    monkeypatch.syspath_prepend(tiny.root)
    tiny.write("deselects.py", DESELECTS)
    result = tiny.run("-p", "deselects")
    assert result.ret == pytest.ExitCode.OK
    assert "deselected: 5 of 9 items of the golden suite; this is not a full check" in result.stdout.str()


def test_a_plugin_that_drops_claims_and_says_nothing_fails_the_run(tiny, monkeypatch):
    monkeypatch.syspath_prepend(tiny.root)
    tiny.write("drops.py", DROPS)
    result = tiny.run("-p", "drops")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert SAYS in result.stdout.str()


def test_a_conftest_cannot_drop_claims_beside_a_selection_of_the_user(tiny):
    tiny.write("conftest.py", DROPS)
    result = tiny.run("-k", "int8 or fp16")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert SAYS in result.stdout.str()


TESTMON = """
def pytest_addoption(parser):
    parser.addoption("--testmon", action="store_true")
"""


def test_claims_are_not_selected_by_the_python_files_that_changed(tiny, monkeypatch):
    monkeypatch.syspath_prepend(tiny.root)
    tiny.write("follows.py", TESTMON)
    result = tiny.run("-p", "follows", "--testmon")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "pytest-testmon follows Python files only" in result.stderr.str()


def test_a_claim_that_is_selected_and_then_not_run_is_noticed_too(tiny):
    tiny.write("conftest.py", REMOVES)
    result = tiny.run("-k", "int8 or fp16")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "5 items of the golden suite were collected and not judged" in result.stdout.str()
