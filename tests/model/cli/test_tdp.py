"""`rooflint tdp estimate`: what it prints, in every format, and what it refuses."""

import csv
import io
import json

import pytest
import typer
from typer.testing import CliRunner

from rooflint.answers.tdp_estimate import LISTING, TdpEstimateRecord
from rooflint.answers.tdp_registry import LISTING as REGISTRY_LISTING
from rooflint.answers.tdp_registry import TdpRegistryRecord
from rooflint.base.errors import RooflintError
from rooflint.base.precision import UnknownPrecisionError
from rooflint.cli.tdp import app, registry_command
from rooflint.hardware.registry import Registry
from rooflint.output.answer import UnknownFormatError

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


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_text_fits_eighty_columns(question):
    text = run(*question)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_json_has_its_schema_and_csv_has_the_same_rows(question):
    found = asked(*question)
    TdpEstimateRecord.model_validate_json(json.dumps(found))
    assert found["schema"] == "rooflint.energy.tdp/2"
    rows = list(csv.DictReader(io.StringIO(run(*question, "-f", "csv"))))
    assert tuple(rows[0]) == LISTING
    powers = [row["power_w"] for row in found["estimates"]]
    powers += [row["power_w"] for one in found["comparisons"] for row in one["estimates"]]
    assert [float(row["power_w"]) for row in rows] == powers


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("word", ["precisions", "circuits", "processes"])
def test_the_spellings_of_the_document_mean_the_same(word):
    assert run(f"--compare-{word}") == run("--compare", word)


def test_what_was_asked_for_stands_out_in_a_comparison():
    assert "▸ int8" in run("-p", "int8", "--compare", "precisions")


def test_a_range_gives_a_curve_for_each_clock_and_a_comparison_one_for_each_name():
    text = run("--alus", "1024:65536", "--clock", "1GHz:2GHz:0.5GHz")
    assert "A 1 GHz" in text
    assert "C 2 GHz" in text
    text = run("--clock", "1GHz:2GHz:0.5GHz", "--compare", "precisions")
    assert "A fp64" in text
    assert "H int4" in text


def test_more_lines_than_a_drawing_holds_are_left_to_tables():
    assert "40 lines are too many to draw; all figures are in -f csv" in run(*QUESTIONS[-1])  # 8 precisions × 5 clocks


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
    ("arguments", "message"),
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
def test_what_cannot_be_read_is_one_sentence(arguments, message):
    with pytest.raises(RooflintError) as caught:
        run(*arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


# ---- `rooflint tdp registry`: what it prints in every format, and what it refuses

APP = typer.Typer()
APP.command("registry")(registry_command)
QUESTIONS_COMMANDS_TDP_REGISTRY = [
    (),
    ("--modes",),
    ("nvidia/t4",),
    ("apple/m1",),
    ("nvidia/*h100*", "-p", "FP16"),
    ("-p", "fp4"),
    ("orin", "--at", "30w", "--unit", "tensor_core"),
    ("kpu", "--modes", "-p", "int8"),
]
SPEC = """\
name: Acme One
kind: gpu
sources: {wp: {document: White paper, grade: quoted}}
process: [7 nm, wp, p. 1]
units:
  tensor_core:
    group: SM
    circuit: tensor_core
    groups: [10, wp, p. 1]
    per_group: [4, wp, p. 1]
    clock: [1 GHz, wp, p. 1]
    macs_per_clock: {fp16: [256 MAC, wp, p. 1]}
memories:
  hbm2: {capacity: [8 GB, wp, p. 1], bandwidth: [500 GB/s, wp, p. 1]}
"""


def run_of_commands_tdp_registry(*arguments):
    result = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(APP, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def asked_of_commands_tdp_registry(*arguments):
    return json.loads(run_of_commands_tdp_registry(*arguments, "-f", "json"))


# ---- every question in every format


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS_COMMANDS_TDP_REGISTRY, ids=" ".join)
def test_text_fits_eighty_columns_and_has_no_escape(question):
    text = run_of_commands_tdp_registry(*question)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS_COMMANDS_TDP_REGISTRY, ids=" ".join)
def test_json_is_what_its_schema_says(question):
    text = run_of_commands_tdp_registry(*question, "-f", "json")
    assert "NaN" not in text
    assert "Infinity" not in text
    found = TdpRegistryRecord.model_validate_json(text)
    assert found.schema_ == "rooflint.tdp.registry/2"
    assert sum(found.verdicts.values()) == len(found.loads)


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS_COMMANDS_TDP_REGISTRY, ids=" ".join)
def test_csv_has_a_row_for_every_load(question):
    rows = list(csv.DictReader(io.StringIO(run_of_commands_tdp_registry(*question, "-f", "csv"))))
    found = asked_of_commands_tdp_registry(*question)
    assert list(rows[0]) == list(REGISTRY_LISTING)
    assert len(rows) == len(found["loads"]) + len(found["not_known"])
    assert [float(row["ratio"]) for row in rows if row["ratio"]] == [load["ratio"] for load in found["loads"]]


@pytest.mark.parametrize("form", ["md", "html"])
def test_other_formats_hold_the_verdict(form):
    assert "cannot sustain" in run_of_commands_tdp_registry("nvidia/t4", "-f", form)


def test_the_suffix_of_a_file_names_the_format(tmp_path):
    file = tmp_path / "t4.json"
    run_of_commands_tdp_registry("nvidia/t4", "-o", str(file))
    assert json.loads(file.read_text(encoding="utf-8"))["schema"] == "rooflint.tdp.registry/2"


# ---- what is said


def test_one_device_is_shown_with_what_its_verdict_rests_on():
    text = " ".join(run_of_commands_tdp_registry("nvidia/t4").split())
    # 65.13 TFLOP/s × 0.347 pJ/op, 320 GB/s × 60 pJ/B, and what it takes idle
    assert (
        "Lowest power 77.8 W: arithmetic 22.6 W (estimate), gddr6 19.2 W (quoted), idle power 36 W (recalled)" in text
    )
    # 70 W / 65.13 TFLOP/s
    assert "Compute alone reaches 70 W at 1.07 pJ/op, 2.15 pJ/MAC" in text
    assert "The typical power equals the limit at 243 MHz, 0.15 of its clock of 1.59 GHz" in text


@pytest.mark.slow
def test_every_device_is_in_the_table_or_named_with_a_reason():
    text = run_of_commands_tdp_registry("-f", "md")
    assert [name for name in Registry().ids() if name not in text] == []


def test_a_device_stands_for_itself_and_all_its_modes():
    devices = {load["device"] for load in asked_of_commands_tdp_registry("kpu-t64", "--modes")["loads"]}
    assert devices == {"stillwater/kpu-t64", *(f"stillwater/kpu-t64 at {mode}" for mode in ("3w", "6w", "10w"))}


def test_another_processor_of_a_module_is_named_in_the_table():
    # the DLAs of an Orin take more than its tensor cores; a network runs on the GPU
    assert "int8 dla" in run_of_commands_tdp_registry("orin", "-p", "int8", "--modes")
    assert "tensor_core" not in run_of_commands_tdp_registry("h100", "-p", "int8")
    # no GPU, and still judged: every unit alone on every device
    assert "fp32 cpu_simd" in run_of_commands_tdp_registry("orin", "--modes", "--unit", "cpu_simd", "-p", "fp32")


def test_a_mode_is_judged_by_its_own_limit():
    limits = {load["limit_w"] for load in asked_of_commands_tdp_registry("orin", "--at", "30w")["loads"]}
    assert limits == {30}


def test_a_project_may_add_a_device(tmp_path):
    file = tmp_path / "hardware" / "acme" / "one.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(SPEC, encoding="utf-8")
    found = asked_of_commands_tdp_registry("acme/one", "--specs", str(tmp_path))
    assert found["not_known"] == [
        {"device": "acme/one", "unit": None, "precision": None, "reason": "no power limit is known"}
    ]
    file.write_text(SPEC + "tdp: [100 W, wp, p. 1]\n", encoding="utf-8")
    (load,) = asked_of_commands_tdp_registry("acme/one", "--specs", str(tmp_path))["loads"]
    # 10 × 4 × 256 × 2 × 1 GHz = 20.48 TOP/s × 0.25 pJ of published arithmetic
    assert load["powers"][0]["typical_w"] == pytest.approx(5.12)


# ---- what is refused


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nonsense",), r"no device matches 'nonsense' \(\d+ are known; 'rooflint hardware' lists them\)"),
        (("t4", "--unit", "mxu"), r"--unit: want one of cuda_core, fp64_core, tensor_core, found 'mxu'"),
        (("kpu-t64", "--at", "30w"), r"--at: want one of 10w, 3w, 6w, found '30w'"),
        (("t4", "--at", "30w"), r"--at: no device asked for has an operating point, found '30w'"),
        (("--at", "30w", "--modes"), r"--at names one operating point and --modes asks for all; want one of the two"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_wrong_input_is_told_in_one_sentence(arguments, sentence):
    with pytest.raises(RooflintError, match=f"^{sentence}$"):
        run_of_commands_tdp_registry(*arguments)


def test_a_precision_and_a_format_that_there_are_not_are_refused():
    with pytest.raises(UnknownPrecisionError, match="unknown precision 'fp17'"):
        run_of_commands_tdp_registry("t4", "-p", "fp17")
    with pytest.raises(UnknownFormatError, match="unknown format 'yaml'"):
        run_of_commands_tdp_registry("t4", "-f", "yaml")
