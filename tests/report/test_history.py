"""history.jsonl: a line a commit of at most 2 kB, once each, and what is no such file."""

import json
import re

import pytest

from rooflint.base.errors import InputError, RooflintError
from rooflint_report.evidence import Evidence
from rooflint_report.findings import Benchmarks, MeasuredTimes
from rooflint_report.history import (
    LONGEST_LINE,
    HistoryLine,
    add,
    as_line,
    line_of,
    measured_series,
    read,
    series_of,
    times_of,
)

SHA = "0123456789abcdef0123456789abcdef01234567"


def commit(number, **more):
    return HistoryLine(sha=f"{number:040x}", date="2026-11-23T09:00:00+00:00", counts={"fail": 0, "xfail": 3}, **more)


@pytest.fixture
def clean(green):
    """Evidence of a commit without changes."""
    run = green["run"] | {"git": {"commit": SHA, "branch": "main", "dirty": False}}
    return Evidence.model_validate(green | {"run": run})


def test_a_line_has_the_counts_of_the_run(clean):
    found = line_of([clean])
    assert (found.sha, found.date, found.base) == (SHA, clean.run.started, None)
    assert found.counts["pass"] == clean.counts.pass_
    assert found.counts["devices"] == clean.counts.devices
    assert json.loads(as_line(found))["schema"] == "rooflint-history/1"


@pytest.mark.parametrize(
    ("git", "message"),
    [(None, "outside of a git checkout"), ({"commit": SHA, "branch": None, "dirty": True}, "had uncommitted changes")],
)
def test_what_is_no_commit_is_refused(green, git, message):
    found = Evidence.model_validate(green | {"run": green["run"] | {"git": git}})
    with pytest.raises(RooflintError, match=message):
        line_of([found])


def test_a_commit_stands_once_at_its_place(tmp_path):
    file = tmp_path / "history.jsonl"
    assert add(file, commit(1))
    assert add(file, commit(2))
    before = file.read_bytes()
    assert not add(file, commit(2))
    assert file.read_bytes() == before
    assert not add(file, commit(1, unguarded=7))
    assert [(one.sha[-1], one.unguarded) for one in read(file)] == [("1", 7), ("2", None)]
    assert [one.name for one in tmp_path.iterdir()] == ["history.jsonl"]  # nothing is left beside it


def test_what_was_written_is_read_back(tmp_path):
    whole = commit(
        1,
        base="a" * 40,
        facts=["specs/x.yaml:3 tdp 40 W → 4 W", "½ × \u2028"],
        mutation={"score": 0.766},
        kernel_errors={"gemm fp16 hopper": 0.1234},
        watched={"resnet50 int8 b1 @ acme/x1": 8.9e-4, "lost": None},
        measured=MeasuredTimes(machine="AMD EPYC", canary="canary", seconds={"canary": 1e-3, "b": 0.25}),
    )
    add(tmp_path / "h.jsonl", whole)
    assert read(tmp_path / "h.jsonl") == [whole]


def test_a_line_is_two_kilobytes_at_most_and_counts_what_it_drops():
    seconds = {f"test_a_network[resnet{number}-b1]": 0.0123 for number in range(100)}
    whole = commit(
        1,
        facts=["x" * 160] * 3,
        kernel_errors={f"gemm fp16 family {number}": 0.1 for number in range(100)},
        watched={f"resnet50 int8 b{number} @ acme/x1": 1e-3 for number in range(3)},
        measured=MeasuredTimes(machine="m", canary="canary", seconds=seconds | {"canary": 1e-3}),
    )
    text = as_line(whole)
    assert LONGEST_LINE - 100 < len(text.encode()) <= LONGEST_LINE
    found = HistoryLine.model_validate_json(text)
    left = len(found.measured.seconds) + len(found.kernel_errors)
    assert found.dropped == 201 - left
    assert "canary" in found.measured.seconds
    assert (found.watched, found.facts) == (whole.watched, whole.facts)


def test_a_line_that_can_not_be_shortened_is_refused():
    huge = HistoryLine(sha=SHA, date="x" * 2 * LONGEST_LINE, counts={})
    with pytest.raises(RooflintError, match=r"the line of 0123456789ab is longer than 2000 bytes"):
        as_line(huge)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no json", "want a line of history: "),
        ("[1]", "want a line of history: "),
        ('{"sha": "../../x", "date": "", "counts": {}}', "sha: String should match pattern"),
        ('{"schema": "rooflint-history/9", "sha": "0123456", "date": "", "counts": {}}', "schema: Input should be"),
        ('{"sha": "0123456", "date": "", "counts": {"fail": NaN}}', "want a line of history: "),
        ("[" * 100_000, "want a line of history: "),
    ],
)
def test_what_is_no_line_is_refused_with_its_number(tmp_path, text, message):
    file = tmp_path / "h.jsonl"
    file.write_text(f"{as_line(commit(1))}\n\n{text}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read(file)
    (problem,) = caught.value.problems
    assert problem.line == 3
    assert re.search(re.escape(message), problem.message)
    with pytest.raises(InputError):
        add(file, commit(2))
    assert file.read_text(encoding="utf-8").endswith(f"{text}\n")  # it is not replaced


# ---- benchmarks


def test_least_times_are_taken_with_the_machine_and_the_canary(tmp_path):
    file = tmp_path / "b.json"
    rows = [("test_canary", 0.0010004), ("test_a_network[resnet18-b1]", 0.25)]
    stats = [{"name": name, "stats": {"min": least, "median": 9.0}} for name, least in rows]
    content = {"machine_info": {"cpu": {"brand_raw": "AMD  EPYC"}, "machine": "x86_64"}, "benchmarks": stats}
    file.write_text(json.dumps(content), encoding="utf-8")
    found = times_of(file, "canary")
    assert (found.machine, found.canary) == ("AMD EPYC, 1 × x86_64", "test_canary")
    assert found.seconds == {"test_canary": 0.001, "test_a_network[resnet18-b1]": 0.25}
    assert times_of(file, "nothing").canary is None
    file.write_text(json.dumps(content | {"machine_info": {"machine": "x86_64"}}), encoding="utf-8")
    assert times_of(file, "").machine == "x86_64, 1 × x86_64"


@pytest.mark.parametrize(
    "content",
    [
        {},
        [],
        {"benchmarks": 7, "machine_info": {}},
        {"benchmarks": [{"name": "a", "stats": {"min": 0}}], "machine_info": {"machine": "m"}},
        {"benchmarks": [{"name": "a", "stats": {"min": "1"}}], "machine_info": {"machine": "m"}},
        {"benchmarks": [{"name": "a", "stats": {"min": True}}], "machine_info": {"machine": "m"}},
    ],
)
def test_other_json_is_refused(tmp_path, content):
    file = tmp_path / "b.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match="want what --benchmark-json writes"):
        times_of(file, "canary")


def test_the_times_of_a_comparison_with_the_baseline_are_those_of_the_commit(clean):
    times = MeasuredTimes(machine="m", canary=None, seconds={"b": 2.0})
    compared = Benchmarks(times=times, baseline=None, canary=None, threshold=1.25, rows=[], gone=[], text="")
    found = clean.model_copy(update={"benchmarks": compared})
    assert line_of([found]).measured == times
    other = times.model_copy(update={"machine": "n"})
    assert line_of([found], other).measured == other
    assert line_of([clean]).measured is None


# ---- series


def test_series_have_a_value_for_each_commit_that_has_one():
    lines = [commit(1, watched={"a": 1.0}), commit(2, unguarded=5), commit(3, watched={"a": 2.0, "b": None})]
    assert series_of(lines) == {
        **{"fail": [0.0] * 3, "xfail": [3.0] * 3},
        **{"a": [1.0, None, 2.0], "unguarded": [None, 5.0, None]},
    }


def test_times_of_two_machines_are_two_series_and_the_canary_is_none():
    def times(machine, **seconds):
        return MeasuredTimes(machine=machine, canary="canary", seconds=seconds)

    lines = [
        commit(1, measured=times("one", canary=1.0, b=2.0)),
        commit(2, measured=times("two", b=3.0)),
        commit(3),
        commit(4, measured=times("one", canary=1.5, b=4.0)),
    ]
    assert measured_series(lines) == {("one", "b"): [(0, 2.0, 1.0), (3, 4.0, 1.5)], ("two", "b"): [(1, 3.0, None)]}
