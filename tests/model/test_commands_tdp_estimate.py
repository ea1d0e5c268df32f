"""`rooflint tdp estimate`: what it prints, in every format, and what it refuses."""

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from rooflint.answers.tdp_estimate import LISTING
from rooflint.answers.tdp_schema import TdpEstimateRecord
from rooflint.commands.tdp import app
from rooflint.errors import RooflintError

H100 = ("--alus", "528", "--macs-per-clock", "256", "--clock", "1.98GHz", "--circuit", "systolic_mac")
QUESTIONS = [
    (),
    H100,
    (*H100, "--compare", "precisions", "--compare", "circuits", "--compare", "processes"),
    ("--compare", "precisions", "--hold", "width", "-p", "INT8"),
    ("--alus", "1024:65536", "--clock", "1GHz:2GHz:0.25GHz"),
    ("--clock", "1GHz:2GHz:0.25GHz", "--compare-processes", "--process", "12 nm"),
    ("--alus", "1024:65536", "--clock", "1GHz:2GHz:0.25GHz", "--compare-precisions"),
]


def run(*arguments):
    result = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(
        app, ["estimate", *arguments], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    return result.stdout


def asked(*arguments):
    return json.loads(run(*arguments, "-f", "json"))


# ---- every question in every format


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_text_fits_eighty_columns(question):
    text = run(*question)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_json_has_its_schema_and_csv_has_the_same_rows(question):
    found = asked(*question)
    TdpEstimateRecord.model_validate_json(json.dumps(found))
    assert found["schema"] == "rooflint.tdp.estimate/1"
    rows = list(csv.DictReader(io.StringIO(run(*question, "-f", "csv"))))
    assert tuple(rows[0]) == LISTING
    powers = [row["power_w"] for row in found["estimates"]]
    powers += [row["power_w"] for one in found["comparisons"] for row in one["estimates"]]
    assert [float(row["power_w"]) for row in rows] == powers


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_markdown_and_html_show_the_ladder(question):
    assert "| × 1.4 datapath | estimate |" in run(*question, "-f", "md")
    page = run(*question, "-f", "html")
    assert page.startswith("<!doctype html>")
    assert "× 1.4 datapath" in page


@pytest.mark.parametrize("suffix", ["txt", "json", "csv", "md", "html"])
def test_a_file_is_written_as_its_suffix_says(tmp_path, suffix):
    file = tmp_path / f"tdp.{suffix}"
    assert run(*H100, "-o", str(file)) == ""
    assert "389" in file.read_text(encoding="utf-8")


# ---- what it says


def test_an_h100_draws_what_the_document_printed():
    assert "389.7 W" in run(*H100)
    (row,) = asked(*H100)["estimates"]
    # 528 × 256 × 1.98 GHz × 2 op = 535.3 TOP/s; 1.3 × 0.8 × 0.5 × 2 × 1.4 = 1.456 pJ/MAC
    assert row["ops_per_s"] == pytest.approx(528 * 256 * 1.98e9 * 2)
    assert row["energy_j_per_mac"] == pytest.approx(1.456e-12, rel=1e-9, abs=0)


def test_a_reader_can_multiply_the_ladder():
    found = asked(*H100)
    product = 1.0
    for factor in (*found["ladder"]["energy_per_mac"], *found["ladder"]["macs_per_s"]):
        product *= factor["value"]
    assert product == pytest.approx(found["estimates"][0]["power_w"], rel=1e-12)
    assert [factor["grade"] for factor in found["ladder"]["energy_per_mac"]] == [*["estimate"] * 3, None, "estimate"]


@pytest.mark.parametrize("word", ["precisions", "circuits", "processes"])
def test_the_spellings_of_the_document_mean_the_same(word):
    assert run(f"--compare-{word}") == run("--compare", word)


def test_what_was_asked_for_stands_out_in_a_comparison():
    assert "▸ int8" in run("-p", "int8", "--compare", "precisions")


def test_a_held_width_says_that_power_is_the_same_by_construction():
    assert "by construction" in " ".join(asked("--hold", "width", "--compare", "precisions")["caveats"])
    assert "by construction" not in " ".join(asked("--compare", "precisions")["caveats"])


def test_a_range_gives_a_curve_for_each_clock_and_a_comparison_one_for_each_name():
    text = run("--alus", "1024:65536", "--clock", "1GHz:2GHz:0.5GHz")
    assert "A 1 GHz" in text
    assert "C 2 GHz" in text
    text = run("--clock", "1GHz:2GHz:0.5GHz", "--compare", "precisions")
    assert "A fp64" in text
    assert "H int4" in text


def test_more_lines_than_a_drawing_holds_are_left_to_tables():
    assert "40 lines are no drawing; all figures are in -f csv" in run(*QUESTIONS[-1])  # 8 precisions × 5 clocks


def test_a_range_says_of_which_point_a_ladder_and_a_comparison_are():
    text = run("--clock", "1GHz:2GHz", "--compare", "precisions")
    assert "Power at 1024 ALUs, 1 GHz" in text
    assert "All precisions at 1024 ALUs, 1 GHz" in text


def test_a_node_of_ones_own_goes_before_the_shipped_ones(tmp_path):
    own = """\
name: 4 nm
sources: {us: {document: Our measurement, grade: read}}
readings: {base: {conditions: ours, op: {fp32: [2.6 pJ/op, us, table 1]}}}
"""
    (tmp_path / "process").mkdir()
    (tmp_path / "process" / "4nm.yaml").write_text(own, encoding="utf-8")
    mine, theirs = asked("--specs", str(tmp_path)), asked()
    # 2.6 pJ/op over 1.3
    assert mine["estimates"][0]["power_w"] == pytest.approx(2 * theirs["estimates"][0]["power_w"], rel=1e-12)
    assert mine["ladder"]["energy_per_mac"][0]["grade"] == "read"
    assert mine["ladder"]["grade"] == "estimate"


# ---- refusals


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--process", "9nm"), "nearest: 8nm, 10nm"),
        (("--circuit", "tensor"), "unknown circuit 'tensor'"),
        (("-p", "fp6"), "no factor of precision 'fp6' is known"),
        (("--clock", "1.83"), "want a clock with its unit, such as 1.83GHz"),
        (("--alus", "65536:1024"), "want a range from low to high"),
        (("--macs-per-clock", "0"), "--macs-per-clock: want a number above 0"),
        (("--macs-per-clock", "nan"), "found 'nan'"),
        (("-o", "tdp.docx"), "want a suffix that names a format"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(arguments, said):
    with pytest.raises(RooflintError) as caught:
        run(*arguments)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
