"""`rooflint audit`: an exit status for a gate, every format, and the page about it tells the truth."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pytest_rooflint.commands import audit as module
from rooflint.errors import RooflintError

ROOT = Path(__file__).parents[2]
RIGHT = "device,bf16_tflops\nH100 SXM5,989\n"
WRONG = "device,bf16_tflops\nH100 SXM5,1979\n"


@pytest.fixture
def audit(tmp_path, monkeypatch):
    """`rooflint audit` on a table beside us: what it ends with and what it says."""
    monkeypatch.chdir(tmp_path)

    def called(text, *arguments):
        Path("t.csv").write_text(text, encoding="utf-8")
        return CliRunner().invoke(module.app, ["t.csv", *arguments])

    return called


def test_a_table_without_an_error_ends_with_zero(audit):
    result = audit(RIGHT)
    assert (result.exit_code, result.stdout) == (0, "1 figure of 1 device: 1 right\n")


def test_a_wrong_figure_ends_with_one_and_says_what_it_is(audit):
    result = audit(WRONG)
    assert result.exit_code == 1
    assert "sparse for dense: is the sparse BF16 peak (tensor_core), 1.979 PFLOP/s" in " ".join(result.stdout.split())


def test_what_is_open_fails_only_a_strict_run(audit):
    for text in ("device,bf16_tflops\nH100,756\n", "device,bf16_tflops\nFrob,1\n", "device,int4_tops\nV100 SXM2,1\n"):
        assert audit(text).exit_code == 0
        assert audit(text, "--strict").exit_code == 1


def test_all_lists_what_is_right_too(audit):
    assert "t.csv:2  H100 SXM5: bf16 peak 989 TFLOP/s: right" in audit(RIGHT, "--all").stdout


@pytest.mark.parametrize(
    ("suffix", "piece"),
    [
        ("json", '"error": "sparse for dense"'),
        ("sarif", '"ruleId": "sparse-for-dense"'),
        ("csv", "t.csv:2,H100 SXM5,bf16 peak,1.979 PFLOP/s,989.4 TFLOP/s,2,wrong,sparse for dense"),
        ("md", "| t.csv:2 | H100 SXM5 |"),
        ("html", '<td data-column="status" class="b no">wrong</td>'),
        ("txt", "1 figure of 1 device: 1 wrong"),
    ],
)
def test_a_format_follows_from_the_suffix_of_the_output(audit, suffix, piece):
    result = audit(WRONG, "-o", f"out.{suffix}")
    assert piece in Path(f"out.{suffix}").read_text(encoding="utf-8")
    assert result.stdout == f"1 figure of 1 device: 1 wrong; written to out.{suffix}\n"
    assert result.exit_code == 1


def test_json_goes_to_the_terminal_too(audit):
    assert json.loads(audit(WRONG, "--format", "json").stdout)["counts"]["wrong"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--map", "foo"), "--map: want COLUMN=QUANTITY, found 'foo'"),
        (("--map", "bf16_tflops=speed"), "--map bf16_tflops=speed: want one of device"),
        (("--map", "no=peak"), "--map no: the table has no such column (has: device, bf16_tflops)"),
        (("--format", "xml"), "unknown format 'xml' (known: csv, html, json, md, sarif, text)"),
        (("-o", "out.xml"), "unknown format 'xml'"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(audit, arguments, message):
    result = audit(RIGHT, *arguments)
    assert isinstance(result.exception, RooflintError)
    assert message in str(result.exception)
    assert not Path("out.xml").exists()


def test_a_broken_table_ends_with_two_as_a_user_starts_it(tiny):
    tiny.write("t.csv", "chip_code,bf16\nH100,989\n")
    result = tiny.script("rooflint", "audit", "t.csv")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("t.csv:1  no column names a device; say which with --map COLUMN=device")


def test_the_page_about_it_shows_what_it_prints(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    page = (ROOT / "docs" / "auditing.md").read_text(encoding="utf-8")
    table, printed = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    assert table == Path("docs/examples/gpus.csv").read_text(encoding="utf-8")
    result = CliRunner().invoke(module.app, ["docs/examples/gpus.csv"])
    assert printed == "$ rooflint audit docs/examples/gpus.csv\n" + result.stdout


def test_the_readme_shows_what_it_prints(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    result = CliRunner().invoke(module.app, ["docs/examples/found.csv"])
    assert f"```text\n$ rooflint audit docs/examples/found.csv\n{result.stdout}```" in readme
    assert result.stdout.count(": wrong") == 3
