"""The command: what it writes, where, and how it refuses."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from rooflint_report.cli import report


@pytest.fixture
def run(tmp_path):
    program = typer.Typer()
    program.command()(report)
    return lambda *arguments: CliRunner().invoke(program, [str(argument) for argument in arguments])


@pytest.fixture
def file(tmp_path, evidence):
    path = tmp_path / "out" / "evidence.json"
    path.parent.mkdir()
    path.write_text(json.dumps(evidence), encoding="utf-8")
    return path


def test_red_evidence_renders_with_status_0_beside_itself(run, file):
    done = run(file)
    assert done.exit_code == 0
    assert sorted(path.name for path in file.parent.iterdir()) == ["evidence.json", "report.html", "summary.md"]
    assert str(file.with_name("report.html")) in done.output
    assert str(file.with_name("summary.md")) in done.output


def test_a_short_file_is_told_in_bytes(run, file, green):
    file.write_text(json.dumps(green), encoding="utf-8")
    length = len(file.with_name("summary.md").read_bytes()) if run(file).exit_code == 0 else 0
    assert 0 < length < 1000
    assert run(file).output.splitlines()[1] == f"{file.with_name('summary.md')}  {length} B"
    assert run(file).output.splitlines()[0].endswith(" kB")


def test_both_files_can_be_put_elsewhere(run, file, tmp_path):
    page, summary = tmp_path / "new" / "p.html", tmp_path / "other" / "s.md"
    assert run(file, "--html", page, "--summary", summary).exit_code == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert summary.read_text(encoding="utf-8").startswith("## Red")


def test_the_default_is_where_the_suite_writes(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run()
    assert done.exit_code == 2
    assert done.output.startswith(str(Path("reports/out/evidence.json")))


@pytest.mark.parametrize("text", ["{", "{}", '{"schema": "rooflint-evidence/9"}'])
def test_bad_evidence_is_one_sentence_and_status_2(run, file, text):
    file.write_text(text, encoding="utf-8")
    done = run(file)
    assert done.exit_code == 2
    assert done.output.count("\n") == 1
    assert done.output.startswith(f"{file}: ")
    assert not file.with_name("report.html").exists()


def test_a_place_that_cannot_be_written_is_one_sentence_and_status_2(run, file):
    blocked = file.parent / "evidence.json" / "report.html"
    done = run(file, "--html", blocked)
    assert done.exit_code == 2
    assert "cannot be written" in done.output
    assert done.output.count("\n") == 1


def test_the_report_knows_evidence_and_nothing_of_devices_or_harness(file):
    program = (
        "import sys; from pathlib import Path; from rooflint_report.cli import render; "
        f"p = Path({str(file)!r}); render(p, p.with_name('a.html'), p.with_name('a.md')); "
        "print(*sorted(m for m in sys.modules if m.partition('.')[0] in ('pytest_rooflint', 'pytest', 'numpy') "
        "or m.startswith('rooflint.') and not m.startswith('rooflint.base')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, encoding="utf-8")
    assert done.stdout.strip() == ""
