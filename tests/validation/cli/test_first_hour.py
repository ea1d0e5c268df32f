"""`rooflint measure first-hour`: what it writes, where it stops, and what it refuses; nothing is measured here."""

import pytest
from typer.testing import CliRunner

from pytest_rooflint.cli import recorder
from pytest_rooflint.cli.measure import app
from pytest_rooflint.recordings import first_hour, runs
from rooflint.base.errors import RooflintError
from rooflint_measure.record import Gemm
from rooflint_measure.recording import read
from rooflint_measure.stopwatches.timing import Plan, measure

PLAN = Plan(sample_s=0.02, samples=3, warm_up_s=0.02, limit_s=100.0)


class FakeClock:
    def seconds(self, call, calls):
        return 0.05 * calls


@pytest.fixture
def steps(monkeypatch, stand_in):
    """`steps("gemm", …)`: figures that the run brings; one that is called `stop` ends it."""
    names = []

    def everything(request, results, networks):
        for name in names:
            results.add(name, lambda name=name: figure(name, results))

    def figure(name, results):
        if name == "stop":
            raise KeyboardInterrupt
        product = Gemm(precision="fp32", library=name, m=1000, n=1000, k=1000)
        return measure(product, lambda: None, observer=results.observer, plan=PLAN, clock=FakeClock())

    monkeypatch.setattr(first_hour, "everything", everything)
    monkeypatch.setattr(first_hour, "watched", lambda observer, tell: lambda _: None)
    seen = stand_in()
    seen.others = lambda: "3 runnable tasks on 2 CPUs"
    monkeypatch.setattr(recorder, "observer", lambda device: seen)
    monkeypatch.setattr(runs, "prepare", lambda request: None)
    return lambda *wanted: names.__setitem__(slice(None), wanted)


def run(tmp_path, *words, status=0):
    (tmp_path / "golden").mkdir(exist_ok=True)
    fixed = ["--device", "cpu", "--golden", str(tmp_path / "golden"), "--journal", str(tmp_path / "j.jsonl")]
    found = CliRunner().invoke(app, ["first-hour", *fixed, *words], env={"COLUMNS": "80"})
    if isinstance(found.exception, RooflintError):
        raise found.exception
    assert found.exit_code == status, found.output
    return found


def test_a_rehearsal_on_a_cpu_says_that_it_is_one_and_leaves_a_recording_and_no_journal(tmp_path, steps):
    steps("a", "b")
    found = run(tmp_path)
    assert "(a rehearsal on a CPU)" in " ".join(found.stdout.split())
    assert max(map(len, found.stdout.splitlines())) <= 80
    (file,) = (tmp_path / "golden/measured/unknown").iterdir()
    assert [one.subject.library for one in read(file).measurements] == ["a", "b"]
    assert not (tmp_path / "j.jsonl").exists()
    assert "look: neighbours: 3 runnable tasks on 2 CPUs" in found.stderr


def test_a_run_that_was_cut_is_status_3_and_the_same_command_goes_on(tmp_path, steps):
    steps("a", "stop", "b")
    assert "interrupted; 1 figure is kept in" in run(tmp_path, status=3).stderr
    assert not (tmp_path / "golden/measured/unknown").exists()
    steps("a", "c", "b")
    run(tmp_path)
    (file,) = (tmp_path / "golden/measured/unknown").iterdir()
    assert [one.subject.library for one in read(file).measurements] == ["a", "c", "b"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--budget", "2h"], "--budget: want 60m at most, found '2h'"),
        (["--budget", "soon"], "--budget: want a time such as 90s, 10m or 1h, up to 24h, found 'soon'"),
        (["--hardware", "h100"], "want the exact id"),
        (["-p", "fp31"], "unknown precision 'fp31'"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_measured(tmp_path, steps, words, message):
    steps("stop")
    with pytest.raises(RooflintError, match=message):
        run(tmp_path, *words)
    assert not (tmp_path / "j.jsonl").exists()
