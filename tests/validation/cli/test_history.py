"""`rooflint history`: commits are added once; series have steps, causes, and what would be seen."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from pytest_rooflint.cli.history import app, trends
from rooflint.base.errors import RooflintError
from rooflint_report.findings import MeasuredTimes
from rooflint_report.history import HistoryLine, as_line, read


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    if isinstance(result.exception, RooflintError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def measured():
    """Eighty commits: the 51st makes the program slower, the 71st the machine."""
    random = np.random.default_rng(1)

    def line(number):
        program, machine = 1.2 if number >= 50 else 1.0, 1.3 if number >= 70 else 1.0
        seconds = {"canary": machine * np.exp(random.normal(0, 0.005)), "b": program * machine}
        seconds["b"] *= np.exp(random.normal(0, 0.01))
        times = MeasuredTimes(machine="EPYC", canary="canary", seconds={one: float(seconds[one]) for one in seconds})
        facts = ["a.yaml:3 clock 2 GHz → 1 GHz"] if number == 50 else []
        base = f"{number - 1:07x}" if number else None
        return HistoryLine(sha=f"{number:07x}", date="2026", base=base, facts=facts, counts={"fail": 0}, measured=times)

    return [line(number) for number in range(80)]


def test_steps_of_measured_series_have_their_fact_or_the_machine(measured):
    (one,) = [one for one in trends(measured) if one.is_measured]
    assert one.name == "b on EPYC"
    program, machine = one.steps
    assert (program.at, program.causes) == (50, ["a.yaml:3 clock 2 GHz → 1 GHz"])
    assert re.fullmatch(r"×1\.(19|2|21), seen 4 commits in", program.text)
    assert (machine.at, machine.causes) == (70, ["the machine: the canary moved alike"])
    (note,) = one.notes
    assert re.match(r"noise (1|1\.\d|0\.[789]\d?) %: a slowdown of [234](\.\d)? % is found", note)
    assert note.endswith(" is found within 6 commits in 95 % of cases")


def test_a_short_series_says_what_it_waits_for(measured):
    (one,) = [one for one in trends(measured[:4]) if one.is_measured]
    assert one.notes == ["steps are looked for from 10 commits on; there are 4"]


@pytest.mark.slow
def test_a_run_is_added_once_and_shown(tiny, green_evidence, measured):
    file = green_evidence(tiny)
    assert run("add", file) == f"history.jsonl: {'1' * 12} added, 1 commit\n"
    first = tiny.read("history.jsonl")
    assert "written anew" in run("add", file)
    assert tiny.read("history.jsonl") == first
    tiny.write("history.jsonl", "".join(f"{as_line(one)}\n" for one in measured))
    text = run("show")
    assert "fail: 0\n" in text
    assert "  0000046 ×1.3" in text and "the machine: the canary moved alike" in text
    assert run("page") == "trend.html: 80 commits\n"
    assert tiny.read("trend.html").count("<svg") == 2


@pytest.mark.slow
def test_benchmarks_come_with_the_commit(tiny, green_evidence):
    stats = [{"name": "test_canary", "stats": {"min": 0.5}}, {"name": "test_b", "stats": {"min": 0.25}}]
    tiny.write("b.json", json.dumps({"machine_info": {"machine": "x86_64"}, "benchmarks": stats}))
    run("add", green_evidence(tiny), "--benchmark-json", "b.json", "--file", "h.jsonl")
    (one,) = read(tiny.root / "h.jsonl")
    assert one.measured == MeasuredTimes(
        machine="x86_64, 1 × x86_64", canary="test_canary", seconds={"test_canary": 0.5, "test_b": 0.25}
    )


@pytest.mark.slow
def test_what_cannot_be_is_one_sentence(tiny, green_evidence):
    with pytest.raises(RooflintError, match=r"nowhere\.jsonl:1  cannot be read: No such file"):
        run("show", "--file", "nowhere.jsonl")
    file = green_evidence(tiny, dirty=True)
    with pytest.raises(RooflintError, match=r"want the evidence of a commit; 111111111111 had uncommitted changes"):
        run("add", file)
    with pytest.raises(RooflintError, match=r"specs: (cannot be written|cannot be read)|specs:1  cannot be read"):
        run("add", green_evidence(tiny), "--file", "specs")


@pytest.fixture
def green_evidence():
    """`green_evidence(repository)`: the name of the evidence of a run of that repository, as of a commit."""

    def write(repository, *, dirty=False):
        found = repository.evidence()
        found["run"]["git"] = {"commit": "1" * 40, "branch": "main", "dirty": dirty}
        repository.write("evidence.json", json.dumps(found))
        return "evidence.json"

    return write
