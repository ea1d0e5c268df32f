"""`rooflint tdp registry`: what it prints in every format, and what it refuses."""

import csv
import io
import json

import pytest
import typer
from typer.testing import CliRunner

from rooflint.answers.tdp_registry_record import LISTING
from rooflint.answers.tdp_registry_schema import TdpRegistryRecord
from rooflint.commands.tdp_registry import registry_command
from rooflint.errors import RooflintError
from rooflint.precision import UnknownPrecisionError
from rooflint.specs import Registry
from rooflint.table import UnknownFormatError

APP = typer.Typer()
APP.command("registry")(registry_command)
QUESTIONS = [
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


def run(*arguments):
    result = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(APP, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def asked(*arguments):
    return json.loads(run(*arguments, "-f", "json"))


# ---- every question in every format


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_text_fits_eighty_columns_and_has_no_escape(question):
    text = run(*question)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_json_is_what_its_schema_says(question):
    text = run(*question, "-f", "json")
    assert "NaN" not in text
    assert "Infinity" not in text
    found = TdpRegistryRecord.model_validate_json(text)
    assert found.schema_ == "rooflint.tdp.registry/1"
    assert sum(found.verdicts.values()) == len(found.loads)


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_csv_has_a_row_for_every_load(question):
    rows = list(csv.DictReader(io.StringIO(run(*question, "-f", "csv"))))
    found = asked(*question)
    assert list(rows[0]) == list(LISTING)
    assert len(rows) == len(found["loads"]) + len(found["not_known"])
    assert [float(row["ratio"]) for row in rows if row["ratio"]] == [load["ratio"] for load in found["loads"]]


@pytest.mark.parametrize("form", ["md", "html"])
def test_other_formats_hold_the_verdict(form):
    assert "cannot sustain" in run("nvidia/t4", "-f", form)


def test_the_suffix_of_a_file_names_the_format(tmp_path):
    file = tmp_path / "t4.json"
    run("nvidia/t4", "-o", str(file))
    assert json.loads(file.read_text(encoding="utf-8"))["schema"] == "rooflint.tdp.registry/1"


# ---- what is said


def test_one_device_is_shown_with_what_its_verdict_rests_on():
    text = " ".join(run("nvidia/t4").split())
    # 65.13 TFLOP/s × 0.347 pJ/op, 320 GB/s × 60 pJ/B, and what it takes idle
    assert (
        "At the least 77.8 W: arithmetic 22.6 W (estimate), gddr6 19.2 W (quoted), idle power 36 W (recalled)" in text
    )
    # 70 W / 65.13 TFLOP/s
    assert "Compute alone takes all of 70 W at 1.07 pJ/op, 2.15 pJ/MAC" in text
    assert "The typical power is the limit at 243 MHz, 0.15 of its clock of 1.59 GHz" in text


def test_every_device_is_in_the_table_or_named_with_a_reason():
    text = run("-f", "md")
    assert [name for name in Registry().ids() if name not in text] == []


def test_a_device_stands_for_itself_and_all_its_modes():
    devices = {load["device"] for load in asked("kpu-t64", "--modes")["loads"]}
    assert devices == {"stillwater/kpu-t64", *(f"stillwater/kpu-t64 at {mode}" for mode in ("3w", "6w", "10w"))}


def test_another_processor_of_a_module_is_named_in_the_table():
    # the DLAs of an Orin take more than its tensor cores; a network runs on the GPU
    assert "int8 dla" in run("orin", "-p", "int8", "--modes")
    assert "tensor_core" not in run("h100", "-p", "int8")
    # no GPU, and still judged: every unit alone on every device
    assert "fp32 cpu_simd" in run("orin", "--modes", "--unit", "cpu_simd", "-p", "fp32")


def test_a_mode_is_judged_by_its_own_limit():
    limits = {load["limit_w"] for load in asked("orin", "--at", "30w")["loads"]}
    assert limits == {30}


def test_a_project_may_add_a_device(tmp_path):
    file = tmp_path / "hardware" / "acme" / "one.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(SPEC, encoding="utf-8")
    found = asked("acme/one", "--specs", str(tmp_path))
    assert found["not_known"] == [
        {"device": "acme/one", "unit": None, "precision": None, "reason": "no power limit is known"}
    ]
    file.write_text(SPEC + "tdp: [100 W, wp, p. 1]\n", encoding="utf-8")
    (load,) = asked("acme/one", "--specs", str(tmp_path))["loads"]
    # 10 × 4 × 256 × 2 × 1 GHz = 20.48 TOP/s × 0.25 pJ of published arithmetic
    assert load["powers"][0]["typical_w"] == pytest.approx(5.12)


# ---- what is refused


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nonsense",), r"no device matches 'nonsense' \(\d+ are known\)"),
        (("t4", "--unit", "mxu"), r"--unit: want one of cuda_core, fp64_core, tensor_core, found 'mxu'"),
        (("kpu-t64", "--at", "30w"), r"--at: want one of 10w, 3w, 6w, found '30w'"),
        (("t4", "--at", "30w"), r"--at: no device asked for has an operating point, found '30w'"),
        (("--at", "30w", "--modes"), r"--at names one operating point and --modes asks for all; want one of the two"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_wrong_input_is_told_in_one_sentence(arguments, sentence):
    with pytest.raises(RooflintError, match=f"^{sentence}$"):
        run(*arguments)


def test_a_precision_and_a_format_that_there_are_not_are_refused():
    with pytest.raises(UnknownPrecisionError, match="unknown precision 'fp17'"):
        run("t4", "-p", "fp17")
    with pytest.raises(UnknownFormatError, match="unknown format 'yaml'"):
        run("t4", "-f", "yaml")
