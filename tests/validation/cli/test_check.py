"""`rooflint check`: the suite as pytest runs it, with an exit status that a gate can rely on."""

import json
import os
import signal
import subprocess
import sys
from threading import Timer
from types import SimpleNamespace

import pytest

from pytest_rooflint.cli import check as module
from rooflint.base.errors import RooflintError


@pytest.fixture
def pytest_calls(monkeypatch):
    """What `rooflint check` would start, instead of starting it; every process ends with `status`."""
    calls = []

    def run(command, check=False, **_):
        calls.append([str(word) for word in command[1:]])
        return type("Done", (), {"returncode": run.status})()

    run.status = 0
    monkeypatch.setattr(module, "subprocess", SimpleNamespace(run=run))
    return calls, run


@pytest.fixture
def check(pytest_calls):
    """`rooflint check ARGUMENTS` in this process: its exit status and the processes that it started."""
    from typer.testing import CliRunner  # noqa: PLC0415

    def called(*arguments, status=0):
        calls, run = pytest_calls
        calls.clear()
        run.status = status
        result = CliRunner().invoke(module.app, list(arguments))
        return result.exit_code, calls, result

    return called


@pytest.mark.slow
def test_a_green_suite_ends_with_zero_and_leaves_its_evidence(tiny):
    result = tiny.script("rooflint", "check")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("judging 8 claims, and the suite as a whole in 1 test\n")
    assert "%]" not in result.stdout
    document = json.loads(tiny.read("reports/out/evidence.json"))
    assert (document["counts"]["claims"], document["counts"]["fail"], document["run"]["exit_status"]) == (8, 0, 0)
    assert document["problems"] == []


@pytest.mark.slow
def test_a_red_suite_ends_with_one_and_is_rendered_too(tiny, red):
    tiny.edit("specs/hardware/acme/x1.yaml", "int8: [4096 MAC", "int8: [2048 MAC")
    result = tiny.script("rooflint", "check", "--report")
    assert result.returncode == 1
    assert len(red(result)) == 4
    assert "specs/hardware/acme/x1.yaml:14" in result.stdout
    out = tiny.root / "reports" / "out"
    assert {file.name for file in out.iterdir()} == {".gitignore", "evidence.json", "report.html", "summary.md"}
    assert "peak-mac_array-int8" in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_folders_of_another_project_are_checked_from_here(tiny, tmp_path_factory, red):
    tiny.edit("golden/x1.yaml", "count: core, expect: 4", "count: core, expect: 5")
    here = tmp_path_factory.mktemp("here")
    elsewhere = type(tiny)(here)
    result = elsewhere.script(
        "rooflint", "check", f"--golden={tiny.root / 'golden'}", f"--specs={tiny.root / 'specs'}", "--evidence=e.json"
    )
    assert result.returncode == 1
    assert red(result) == {"count-core"}
    assert json.loads(elsewhere.read("e.json"))["counts"]["claims"] == 8


# ---- how it asks pytest


def test_the_score_is_asked_for_after_a_green_run_with_the_same_folders(tiny, check):
    status, calls, _ = check("--mutate", "--golden=golden", "--specs=specs", "-k", "int8")
    assert status == 0
    assert [call[1] for call in calls] == ["pytest", "rooflint"]
    wanted = ["mutate", "--evidence=reports/out/evidence.json", "--survivors=0", "--golden=golden", "--specs=specs"]
    assert calls[1][2:] == wanted


def test_the_score_is_asked_for_where_shards_are_to_run(tiny, check):
    _, calls, _ = check("--mutate", "--jobs=2", "--dask=tcp://here:8786")
    assert calls[1][-2:] == ["--jobs=2", "--dask=tcp://here:8786"]


@pytest.mark.parametrize("option", ["--jobs", "--dask", "--ray"])
def test_shards_without_a_score_are_refused(check, option):
    _, calls, result = check(f"{option}=2")
    assert str(result.exception) == f"{option} needs --mutate; for the suite itself use -n (pytest-xdist)"
    assert calls == []


def test_a_red_run_is_not_asked_for_a_score(tiny, check):
    status, calls, result = check("--mutate", status=1)
    assert status == 1
    assert [call[1] for call in calls] == ["pytest"]
    assert result.stdout == "mutation testing skipped: the suite has failures\n"


def committed(tiny):
    who = ["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "Acme X1"]):
        subprocess.run(["git", *who, *words], cwd=tiny.root, check=True, capture_output=True)


@pytest.mark.parametrize("revision", ["nowhere", "--help"])
def test_what_is_no_revision_is_refused_before_the_suite_runs(revision, tiny, check):
    committed(tiny)
    _, calls, result = check(f"--against={revision}")
    assert str(result.exception) == f"--against: '{revision}' is not a revision"
    assert calls == []


def test_claims_are_counted_against_a_revision_with_the_same_folders(tiny, check):
    committed(tiny)
    evidence = tiny.root / "reports/out/evidence.json"
    evidence.parent.mkdir(parents=True)
    evidence.touch()
    _, calls, _ = check("--against=main", "--golden=golden", "--specs=specs")
    assert len(calls) == 1  # nothing left evidence here
    assert not evidence.exists()


@pytest.mark.slow
def test_against_a_base_failures_are_printed_once_below_the_changed_line(tiny):
    committed(tiny)
    assert tiny.script("rooflint", "check").returncode == 0
    tiny.edit("specs/hardware/acme/x1.yaml", "int8: [4096 MAC", "int8: [2048 MAC")
    result = tiny.script("rooflint", "check", "--against=HEAD")
    assert result.returncode == 1
    at = result.stdout.index("specs/hardware/acme/x1.yaml:14  units.mac_array.macs_per_clock.int8 4096 MAC → 2048 MAC")
    before, after = result.stdout[:at], result.stdout[at:]
    assert "FAILURES" not in before and "FAILED" not in before and "\n4 failed, 5 passed in " in before
    assert "  4 claims fail because of it; reverted alone: 4 claims stop failing, no other fails\n" in after
    assert after.count("expected") == after.count("  rerun     pytest golden/x1.yaml::") == 1
    last = after.splitlines()[-1]
    assert last.startswith("failed: 4 claims fail that did not before; 8 claims in revision HEAD (")
    assert after.index("4 claims fail because of it") < after.index(" predictions moved between ") < after.index(last)
    every = tiny.script("rooflint", "check", "--against=HEAD", "-v").stdout
    assert every.count("\n  rerun ") == 5


@pytest.mark.slow
def test_what_no_changed_line_explains_is_printed_with_its_likely_cause(tiny):
    tiny.edit("golden/x1.yaml", "count: core, expect: 4", "count: core, expect: 5")
    committed(tiny)
    result = tiny.script("rooflint", "check", "--against=HEAD")
    assert result.returncode == 1
    assert "count core of acme/x1\n  expected 5, obtained 4, ratio 4/5" in result.stdout
    assert "  rerun     pytest golden/x1.yaml::count-core\n" in result.stdout


@pytest.mark.slow
def test_a_new_device_without_claims_is_named_against_a_base_too(tiny):
    committed(tiny)
    spec = tiny.read("specs/hardware/acme/x1.yaml")
    tiny.write("specs/hardware/acme/x9.yaml", spec.replace("Acme X1", "Acme X9"))
    result = tiny.script("rooflint", "check", "--against=HEAD")
    assert result.returncode == 1
    (problem,) = [line for line in result.stdout.splitlines() if line.startswith("specs/hardware/acme/x9.yaml")]
    assert "acme/x9 has no claim" in problem
    assert "\nfailed: 1 problem in the files; nothing was lost without a reason; 8 claims in" in result.stdout


def test_a_comparison_that_fails_does_not_hide_what_the_suite_found(tiny, check, monkeypatch):
    committed(tiny)
    evidence = tiny.root / "reports/out/evidence.json"

    def run(command, **_):
        if command[2] == "pytest":
            evidence.parent.mkdir(parents=True, exist_ok=True)
            evidence.touch()
        return subprocess.CompletedProcess(command, 1 if command[2] == "pytest" else 2)

    monkeypatch.setattr(module, "subprocess", SimpleNamespace(run=run))
    status, _, result = check("--against=main")
    assert status == 2
    assert result.stdout == "the comparison failed; 'rooflint check' without --against shows the failing claims\n"


@pytest.mark.slow
def test_a_claim_that_was_deleted_since_the_revision_ends_with_one(tiny):
    committed(tiny)
    lines = tiny.read("golden/x1.yaml").splitlines(keepends=True)
    tiny.write("golden/x1.yaml", "".join(lines[:5]))  # one claim of eight is left, and passes
    result = tiny.script("rooflint", "check", "--against=HEAD")
    assert result.returncode == 1, result.stdout + result.stderr
    assert result.stdout.splitlines()[-1].endswith("), 1 now")
    document = json.loads(tiny.read("reports/out/evidence.json"))
    assert document["counts"]["fail"] == 0
    assert document["claim_changes"]["counts"]["removed"] == 7
    assert document["claim_changes"]["unstated"] >= 7


def test_it_asks_pytest_for_the_golden_claims_alone(tiny, check):
    status, (call,), _ = check()
    assert status == 0
    kept = ["--rooflint-evidence=reports/out/evidence.json", "--rooflint-store=.rooflint"]
    assert call == ["-m", "pytest", "-q", "--override-ini=console_output_style=classic", "--rooflint-only", *kept]


def test_further_arguments_reach_pytest(tiny, check):
    _, (call,), _ = check("--", "-k", "int8", "-x")
    assert call[-3:] == ["-k", "int8", "-x"]


def test_a_word_to_select_by_is_no_folder_although_one_is_called_so(tiny, check):
    _, (call,), _ = check("--", "-k", "golden")
    assert call[-2:] == ["-k", "golden"]


def test_an_id_is_run_instead_of_the_folders(tiny, check):
    _, (call,), _ = check("golden/x1.yaml::count-core")
    assert call[-1] == "golden/x1.yaml::count-core"
    assert "golden" not in call


def test_given_folders_come_instead_of_the_configured_ones(tiny, check):
    for folder in ("other", "more", "theirs"):
        (tiny.root / folder).mkdir()
    _, (call,), _ = check("--golden", "other", "--golden", "more", "--specs", "theirs")
    assert call[-3:] == ["--rooflint-golden=other", "--rooflint-golden=more", "--rooflint-specs=theirs"]


def test_a_folder_that_does_not_exist_is_refused_before_pytest_runs(tiny, check):
    status, calls, result = check("--golden", "nowhere")
    assert (status, calls) == (2, [])
    assert "'nowhere' does not exist" in result.stderr


def test_a_file_that_is_not_evidence_is_not_replaced(tiny, check):
    before = (tiny.root / "pyproject.toml").read_bytes()
    _, calls, result = check("--evidence", "pyproject.toml")
    assert isinstance(result.exception, RooflintError)
    assert str(result.exception) == "pyproject.toml: is not evidence and is not replaced; name another file"
    assert not calls
    assert (tiny.root / "pyproject.toml").read_bytes() == before


@pytest.mark.parametrize("status", [1, 2, 3, 4, 5])
def test_the_status_is_pytests(tiny, check, status):
    assert check(status=status)[0] == status


def test_evidence_of_an_earlier_run_is_not_rendered_as_if_it_were_this_ones(tiny, check):
    tiny.write("reports/out/evidence.json", '{"schema": "rooflint-evidence/1"}')
    status, calls, _ = check("--report", status=3)
    assert status == 3
    assert len(calls) == 1
    assert not (tiny.root / "reports/out/evidence.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "project",
    [
        "",
        "[project]\nname = 'x'\n",
        "[tool.pytest.ini_options]\naddopts = '-q'\n",
        "[tool.pytest.ini_options]\nrooflint_golden = []\n",
    ],
)
def test_a_project_without_golden_folders_is_told_so_and_nothing_is_run(tiny, project):
    # a test that passes must not pass for a golden suite
    tiny.write("pyproject.toml", project)
    tiny.write("test_own.py", "def test_own():\n    pass\n")
    result = tiny.script("rooflint", "check")
    assert result.returncode not in (0, 5)
    assert "rooflint_golden" in result.stderr
    # a file that does not configure pytest leaves it to one above, which names golden folders or does not
    assert "--golden" in result.stderr or "ini_options" not in project
    assert "Traceback" not in result.stderr
    assert "passed" not in result.stdout


@pytest.mark.slow
def test_folders_may_be_written_as_one_text_as_pytest_allows(tiny):
    tiny.write("pyproject.toml", "[tool.pytest.ini_options]\nrooflint_golden = 'golden'\nrooflint_specs = 'specs'\n")
    tiny.run().assert_outcomes(passed=9)
    result = tiny.script("rooflint", "check")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "9 passed" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool.pytest]\nrooflint_golden = ['golden']\nrooflint_specs = ['specs']\n"),
        ("pytest.ini", "[pytest]\nrooflint_golden = golden\nrooflint_specs = specs\n"),
        ("tox.ini", "[pytest]\nrooflint_golden = golden\nrooflint_specs = specs\n"),
    ],
    ids=["native", "pytest.ini", "tox.ini"],
)
def test_options_are_found_wherever_pytest_finds_them(tiny, script, name, text):
    (tiny.root / "pyproject.toml").unlink()
    tiny.write(name, text)
    (tiny.root / "golden/deeper").mkdir()
    for below in (".", "golden/deeper"):
        result = script(tiny.root / below, "rooflint", "check")
        assert result.returncode == 0, result.stdout + result.stderr
        assert "9 passed" in result.stdout


# ---- --watch


@pytest.mark.slow
def test_a_save_is_judged_at_once_until_ctrl_c(tiny):
    # where the tests run in the background, SIGINT is ignored, and a child inherits that
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import rooflint.cli.main as cli"
    command = [sys.executable, "-c", f"{start}; cli.main()", "check", "--watch"]
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "GITHUB_"))}
    with subprocess.Popen(command, cwd=tiny.root, env=kept, stdout=subprocess.PIPE, encoding="utf-8") as process:
        lines = iter(process.stdout.readline, "")

        def until(text):
            """The lines up to one with a text; an alarm ends a wait for one that never comes."""
            found = []
            while not found or text not in found[-1]:
                found.append(next(lines))
            return "".join(found)

        alarm = Timer(120, process.kill)
        alarm.start()
        try:
            assert until("watching golden, specs").startswith("8 pass (")
            tiny.edit("specs/hardware/acme/x1.yaml", "int8: [4096 MAC", "int8: [2048 MAC")
            text = until("red now: ")
            assert "specs/hardware/acme/x1.yaml: 8 of 8 claims judged in " in text
            assert "golden/x1.yaml:5  peak mac_array int8 of acme/x1" in text
            assert text.endswith("4 turned red, 0 green; red now: 4\n")
            tiny.edit("specs/hardware/acme/x1.yaml", "int8: [2048 MAC", "int8: [4096 MAC")
            assert until("red now: ").endswith("0 turned red, 4 green; red now: none\n")
            process.send_signal(signal.SIGINT)
            assert process.wait() == 0
        finally:
            alarm.cancel()
            process.kill()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--mutate"], "--mutate"),
        (["--report", "--propose"], "--report, --propose"),
        (["--against=HEAD"], "--against"),
        (["--evidence=e.json"], "--evidence"),
        (["-k", "int8"], "-k, int8"),
        (["--jobs=2"], "--jobs"),
    ],
)
def test_a_watch_takes_no_option_that_writes_or_selects(check, arguments, named):
    _, calls, result = check("--watch", *arguments)
    assert str(result.exception) == f"--watch judges all claims and writes nothing; remove {named}"
    assert calls == []


def test_git_ignores_what_a_check_leaves_in_the_project_and_a_file_of_the_user_stays(tiny, check):
    check()
    ignored = tiny.root / "reports/out/.gitignore"
    assert ignored.read_text(encoding="utf-8") == "*\n"
    ignored.write_text("report.html\n", encoding="utf-8")
    check()
    assert ignored.read_text(encoding="utf-8") == "report.html\n"
