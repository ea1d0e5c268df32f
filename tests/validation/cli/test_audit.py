"""`rooflint audit`: an exit status for a gate, every format, and the page about it tells the truth."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pytest_rooflint.cli import audit as module
from rooflint.base.errors import RooflintError

ROOT = Path(__file__).parents[3]
RIGHT = "device,bf16_tflops\nH100 SXM5,989\n"
WRONG = "device,bf16_tflops\nH100 SXM5,1979\n"


@pytest.fixture
def audit(tmp_path, monkeypatch):
    """`rooflint audit` on a table beside us: what it ends with and what it says."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")  # whatever stands above it
    monkeypatch.chdir(tmp_path)

    def called(text, *arguments):
        Path("t.csv").write_text(text, encoding="utf-8")
        return CliRunner().invoke(module.app, ["t.csv", *arguments])

    return called


@pytest.mark.slow
def test_a_table_without_an_error_ends_with_zero(audit):
    result = audit(RIGHT)
    assert (result.exit_code, result.stdout) == (0, "1 figure of 1 device: 1 right\n")


@pytest.mark.slow
def test_a_wrong_figure_ends_with_one_and_says_what_it_is(audit):
    result = audit(WRONG)
    assert result.exit_code == 1
    assert "sparse for dense: is the sparse BF16 peak (tensor_core), 1.979 PFLOP/s" in " ".join(result.stdout.split())


@pytest.mark.slow
def test_a_file_that_cannot_be_read_does_not_hide_the_findings_of_the_others(audit):
    Path("broken.py").write_text("peak = (", encoding="utf-8")
    result = audit(WRONG, "broken.py")
    assert result.exit_code == 2
    assert "sparse for dense" in result.stdout
    assert "not read: broken.py:1  is not valid Python" in result.stderr


@pytest.mark.slow
def test_what_is_open_fails_only_a_strict_run(audit):
    for row in ("H100,756,", "Frob,1,", "V100 SXM2,,1", "T4,56 / 60,"):
        text = f"device,bf16_tflops,int4_tops\nA100,312,\n{row}\n"
        assert audit(text).exit_code == 0
        assert audit(text, "--strict").exit_code == 1


@pytest.mark.slow
def test_a_cell_without_a_value_fails_no_run(audit):
    for row in ("T4,n/a,", "T4,—,X", "T4,NaN,"):
        assert audit(f"device,bf16_tflops,int4_tops\nA100,312,\n{row}\n", "--strict").exit_code == 0


@pytest.mark.slow
def test_links_that_are_counted_in_one_direction_are_found(audit):
    result = audit("device,NVLink (GB/s)\nA100 SXM4 80GB,300\nH100 SXM5,900\nL40S,\n")
    assert result.exit_code == 1
    assert "A100 SXM4 80GB: link 300 GB/s: wrong" in result.stdout
    assert "one direction: counts one direction of the links, where both are printed" in " ".join(result.stdout.split())
    assert result.stdout.endswith("2 figures of 2 devices: 1 wrong, 1 right\n")


@pytest.mark.slow
def test_all_lists_what_is_right_too(audit):
    assert "t.csv:2  H100 SXM5: bf16 peak 989 TFLOP/s: right" in audit(RIGHT, "--all").stdout


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_broken_table_ends_with_two_as_a_user_starts_it(tiny):
    tiny.write("t.csv", "chip_code,bf16\nX-17,989\n")
    result = tiny.script("rooflint", "audit", "t.csv")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("t.csv:1  no column names a device; name it with --map COLUMN=device")


def test_the_page_about_it_shows_the_table_that_it_audits():
    page = (ROOT / "docs" / "auditing.md").read_text(encoding="utf-8")
    assert f"```text\n{(ROOT / 'docs/examples/gpus.csv').read_text(encoding='utf-8')}```" in page


@pytest.mark.slow
def test_a_run_in_which_nothing_was_checked_is_no_success(audit):
    result = audit("device,bf16_tflops\nFrobnicator,989\n")
    assert result.exit_code == 1
    assert "no figure could be checked" in result.output


@pytest.mark.slow
def test_an_output_that_cannot_be_written_is_said(audit):
    Path("out.json").mkdir()
    result = audit(RIGHT, "-o", "out.json")
    assert isinstance(result.exception, RooflintError)
    assert str(result.exception).startswith("cannot write out.json: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("role", "message"),
    [
        ("peak bf61", "want a precision or a unit such as bf16 or TFLOP/s, found 'bf61'"),
        ("peak bf16 GB/s", "'GB/s' is not a unit of a peak"),
        ("count foo", "want a group or unit that specs have, such as SM or cuda_core, found 'foo'"),
        (" ", "want one of device, number, precision"),
    ],
)
def test_a_mapping_that_means_nothing_does_not_switch_the_check_off(audit, role, message):
    result = audit(RIGHT, "--map", f"bf16_tflops={role}")
    assert isinstance(result.exception, RooflintError)
    assert message in str(result.exception)
