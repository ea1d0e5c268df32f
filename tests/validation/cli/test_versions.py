"""`rooflint measure compare`: times are printed by what is compared, not measured."""

import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest
import typer
from typer.testing import CliRunner

from pytest_rooflint.cli.versions import compare_command
from pytest_rooflint.recordings.comparison import CalibrationRecord, ComparisonRecord
from rooflint.base.errors import RooflintError
from rooflint_measure.compare.ab import Command, Sample
from rooflint_measure.sensors.host import Watch

compare_app = typer.Typer(add_completion=False)
compare_app.command("compare")(compare_command)
compare_app.command("other")(lambda: None)  # a group, as in `rooflint measure`

PRINT_FILE = ["cat", "time.txt"]


def printing(*seconds: float) -> str:
    return shlex.join(["echo", str(list(seconds))])


def git(root, *arguments: str) -> str:
    command = ["git", "-C", str(root), "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    return subprocess.run([*command, *arguments], capture_output=True, encoding="utf-8", check=True).stdout.strip()


@pytest.fixture
def versions(repository):
    """A repository whose second commit is 10 % slower."""
    git(repository.root, "init", "-q", "-b", "main")
    for seconds in ("1.0", "1.1"):
        repository.write("time.txt", seconds)
        git(repository.root, "add", "-A")
        git(repository.root, "commit", "-q", "-m", seconds)
    return repository


@pytest.fixture(autouse=True)
def unwatched(monkeypatch):
    """Comparisons see nothing of the machine: what else runs on it would leave a verdict undecided."""
    monkeypatch.setattr("rooflint_measure.sensors.observer.CpuObserver.watch", lambda observer: Watch())
    monkeypatch.setattr("rooflint_measure.stopwatches.timing.involuntary_switches", lambda: None)


def compare(*arguments: str, status: int = 0) -> str:
    result = CliRunner().invoke(compare_app, ["compare", "--pairs", "2", "--time", "printed", *arguments])
    if isinstance(result.exception, RooflintError):
        raise result.exception
    assert result.exit_code == status, result.output
    return result.stdout


# ---------------------------------------------------------------------------------------------------------- revisions


def test_a_slower_head_is_status_1_with_verdict_ratio_and_blocks(versions):
    commits = [git(versions.root, "rev-parse", name)[:12] for name in ("HEAD~1", "HEAD")]
    text = " ".join(compare("HEAD~1", "HEAD", "--", *PRINT_FILE, status=1).split())
    assert text.startswith(f"HEAD ({commits[1]}) against HEAD~1 ({commits[0]}): slower, 1.1 ×")
    assert "6 blocks of 2 pairs in turn, printed time, threshold 2 %" in text
    assert "slower: 6 of 6 blocks are slower by more than 2 %" in text
    assert "6 1 s 1.1 s 1.1 slower" in text


def test_a_faster_head_is_status_0(versions):
    assert "faster, 0.9091 ×" in compare("HEAD", "HEAD~1", "--", *PRINT_FILE)


def test_nothing_stays_of_the_checkouts(versions):
    compare("HEAD", "HEAD", "--", *PRINT_FILE)
    assert git(versions.root, "worktree", "list").count("\n") == 0


def test_options_of_the_command_are_its_own(versions):
    assert "same, 1 ×" in compare("HEAD", "HEAD", "--", "sh", "-c", "cat time.txt", "--help", "-f", "md")


@pytest.mark.slow
def test_interrupted_it_leaves_no_checkout(versions):
    # a shell that runs tests in the background lets them, and all that they start, ignore Ctrl-C
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from test_app import app; app()"
    versions.write(
        "test_app.py",
        "import typer\nfrom pytest_rooflint.cli.versions import compare_command\n"
        "app = typer.Typer()\napp.command('compare')(compare_command)\napp.command('other')(lambda: None)\n",
    )
    words = ["compare", "HEAD", "HEAD~1", "--", "sleep", "60"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", code, *words], stderr=subprocess.DEVNULL, env=environment)
    try:
        administered = versions.root / ".git" / "worktrees"  # 'git worktree list' fails while one is being added
        while len(list(administered.glob("*/gitdir"))) < 2 and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    finally:
        process.kill()
        process.wait()
    assert git(versions.root, "worktree", "list").count("\n") == 0


# ----------------------------------------------------------------------------------------------------------- commands


def test_two_commands_are_compared_here(repository):
    assert "same" in compare("--base-command", printing(1.0), "--head-command", printing(1.01))


def test_the_threshold_is_in_per_cent(repository):
    commands = ["--base-command", printing(1.0), "--head-command", printing(1.04)]
    assert "slower" in compare(*commands, status=1)
    assert "6 of 6 blocks are within 5 %" in compare(*commands, "--threshold", "5")


def test_undecided_is_status_3_and_says_why_and_what_to_do(repository):
    # a counter n in a file: 1.0, 1.7, 1.4, 1.1, 1.8, 1.5, … s, so that hardly any two runs are alike
    counting = "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; echo 1.$((n * 7 % 10))"
    command = shlex.join(["sh", "-c", counting])
    text = compare("--base-command", command, "--head-command", command, status=3)
    assert ": undecided\n" in text
    assert "undecided: noise: " in text
    assert "measured three times" in text
    assert "--calibrate" in text


def test_the_record_has_every_raw_value_and_fits_its_schema(repository):
    text = compare("--base-command", printing(1.0), "--head-command", printing(2.0), "-f", "json", status=1)
    found = ComparisonRecord.model_validate_json(text)
    assert (found.verdict, found.ratio, found.pairs) == ("slower", pytest.approx(2), 2)
    assert found.attempts[0][5].head.seconds == (2.0, 2.0)
    assert [block.vote for block in found.blocks] == ["slower"] * 6
    assert json.loads(text)["schema"] == "rooflint.measure.compare/4"


def test_a_verdict_by_cpu_time_says_so_in_words_and_in_json(repository, monkeypatch):
    # wall times agree in nothing, CPU times in all
    walls = itertools.cycle([1.0, 1.9, 1.4, 2.7, 1.2, 3.1, 1.7, 1.1, 2.2, 1.3, 2.9])
    cpu_s = {"old": 1.0, "new": 1.1}
    monkeypatch.setattr(Command, "sample", lambda one: Sample(next(walls), cpu_s[one.words[0]]))
    words = ["--base-command", "old", "--head-command", "new", "--time", "wall"]
    text = " ".join(compare(*words, status=1).split())
    assert "by CPU time, where the time is undecided; measured three times" in text
    assert "CPU time does not count waiting" in text
    found = json.loads(compare(*words, "-f", "json", status=1))
    assert (found["verdict"], found["decided_by"], found["timing"]) == ("slower", "cpu", "wall")
    ComparisonRecord.model_validate(found)


def test_markdown_goes_into_a_file_by_its_suffix(repository):
    compare("--base-command", printing(1.0), "--head-command", printing(1.0), "-o", "found.md")
    assert "| 1 | 1 s | 1 s | 1 | same |  |" in repository.read("found.md")


# -------------------------------------------------------------------------------------------------------- calibration


@pytest.mark.slow
def test_a_command_compared_with_itself_tells_its_error_rates(repository):
    text = compare("--calibrate", "--blocks", "12", "--threshold", "2.2", "--", *shlex.split(printing(1.0)))
    flat = " ".join(text.split())
    assert "compared with itself: the aim is reached" in flat
    assert "12 blocks of 2 pairs" in flat
    assert "The smallest slowdown that is detected in 95 % of comparisons is 2.5 %" in flat
    assert "0 false positives and 0 undecided in 2 A/A comparisons of 6 blocks in a row, measured once" in flat
    # 1 - 0.05^(1/2)
    assert "at most 77.6 % (95 % confidence)" in flat


@pytest.mark.slow
def test_a_calibration_fits_its_schema(repository):
    text = compare("--calibrate", "--blocks", "6", "--base-command", printing(1.0), "-f", "json")
    found = CalibrationRecord.model_validate_json(text)
    assert found.calibration.holds
    assert len(found.samples) == 6


# ------------------------------------------------------------------------------------------------------------ refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "want BASE HEAD -- COMMAND…, or --base-command and --head-command"),
        (["HEAD", "HEAD"], "want BASE HEAD -- COMMAND…"),
        (["--base-command", "true"], "want BASE HEAD -- COMMAND…"),
        (["HEAD", "HEAD", "true", "--base-command", "true", "--head-command", "true"], "want BASE HEAD"),
        (["--base-command", "'", "--head-command", "true"], r"want a command, found ''' \(No closing quotation\)"),
        (["--base-command", " ", "--head-command", "true"], "want BASE HEAD"),
        (["--calibrate"], "--calibrate: want one command, after -- or as --base-command, found 0"),
        (["--calibrate", "--base-command", "true", "--head-command", "true"], "--calibrate: want one command"),
        (["--pairs", "3", "--calibrate", "true"], "--pairs: want an even number, found 3"),
        (["HEAD", "HEAD", "--", "true"], "git rev-parse|rev-parse"),
        (["--base-command", "false", "--head-command", "true"], "false: false ended with status 1"),
        (["--base-command", "true", "--head-command", "true"], "true: want seconds on the last line"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(repository, arguments, message):
    with pytest.raises(RooflintError, match=message) as caught:
        compare(*arguments)
    assert "\n" not in str(caught.value)
