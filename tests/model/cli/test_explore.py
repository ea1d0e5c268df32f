"""`rooflint explore`: what it prints in every format, what it saves and what it refuses."""

import csv
import io
import json
import re

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import rooflint as rl
from rooflint.answers.explore import ExploreRecord
from rooflint.base.errors import RooflintError
from rooflint.cli.explore import app

ARGUMENTS = ("--vary", "memory.bandwidth=2:8TB/s", "--vary", "SM.groups=64:192:3", "-n", "resnet18", "-p", "fp16")
QUESTIONS = [
    ARGUMENTS,
    (*ARGUMENTS, "--minimise", "latency,energy,cost", "--plot", "latency,cost"),
    (*ARGUMENTS, "--minimise", "latency,memory.bandwidth,SM.groups", "--require", "power<400W"),
    (*ARGUMENTS, "--maximise", "throughput", "--minimise", "price", "--vary", "price=x0.5,x2", "-b", "1,64", "--fuse"),
    (*ARGUMENTS, "--samples", "12", "--seed", "2", "-n", "mobilenet_v2,vgg16", "--minimise", "balance"),
    (*ARGUMENTS, "--require", "latency<1ns"),
    (*ARGUMENTS, "--fidelity", "silicon", "--vary", "launch_overhead=x1,x2"),
]  # fmt: skip


def run(*arguments, base="h100-sxm5"):
    runner = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"})
    result = runner.invoke(app, [base, *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def asked(*arguments):
    return json.loads(run(*arguments, "-f", "json").stdout)


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: " ".join(question[len(ARGUMENTS) :]))
def test_text_fits_eighty_columns(question):
    text = run(*question).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith("Hypothetical variants of nvidia/h100-sxm5-80gb on ")


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: " ".join(question[len(ARGUMENTS) :]))
def test_json_has_its_schema(question):
    found = asked(*question)
    assert found["schema"] == "rooflint.explore/1"
    ExploreRecord.model_validate_json(json.dumps(found, allow_nan=False))


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS[:3], ids=lambda question: " ".join(question[len(ARGUMENTS) :]))
def test_csv_has_a_row_for_each_variant_and_the_base(question):
    rows = list(csv.reader(io.StringIO(run(*question, "-f", "csv").stdout)))
    assert len(rows) == 1 + 1 + 21
    assert len({len(row) for row in rows}) == 1
    assert run(*question, "-f", "md").stdout.startswith("# Hypothetical")


def test_how_many_there_are_is_said_before_they_are_predicted():
    result = run(*ARGUMENTS, "-b", "1,8")
    assert result.stderr == "21 variants (grid) × 2 runs\n"


def test_the_command_and_the_function_find_the_same():
    found = rl.explore(
        "h100-sxm5", {"memory.bandwidth": "2:8TB/s", "SM.groups": "64:192:3"}, "resnet18", precision="fp16"
    )
    assert asked(*ARGUMENTS)["pareto"] == json.loads(json.dumps(found.answer().record.dump()["pareto"]))


def test_variants_are_saved_with_the_command_that_shows_them(tmp_path):
    file = tmp_path / "hardware/acme/big.yaml"
    result = run(*ARGUMENTS, "--save", f"21={file}", "--save", f"latency={tmp_path}/hardware/acme/fast.yaml")
    assert f"{file}: variant 21, a hypothetical device; rooflint peaks acme/big --specs {tmp_path}" in result.stderr
    # 192 SM × 4 tensor cores × 512 MAC × 2 × 1.83 GHz = 1439 TFLOP/s
    assert str(rl.device("acme/big", specs=[tmp_path]).peak("fp16")) == "1.439 PFLOP/s"
    assert rl.device("acme/fast", specs=[tmp_path]).units["cuda_core"].groups == 192


def test_the_examples_of_the_help_can_be_typed():
    (vary,) = (one for one in get_command(app).params if one.name == "vary")
    examples = re.findall(r"\S+=[^\s,;]+", vary.help)
    assert len(examples) == 3
    for example in examples:
        assert len(asked("--vary", example, "-n", "resnet18")["pareto"]) >= 1


@pytest.mark.slow
def test_a_drawing_is_written(tmp_path):
    pytest.importorskip("matplotlib")
    run(*ARGUMENTS, "-o", str(tmp_path / "a.svg"))
    assert b"<svg" in (tmp_path / "a.svg").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--vary", "memory.bandwidth", "-n", "resnet18"), "--vary: want a pair such as memory.bandwidth=2:8TB/s"),
        (("--vary", "=2", "-n", "resnet18"), "--vary: want a pair"),
        (("--vary", "tdp=x1", "--vary", "tdp=x2", "-n", "resnet18"), "'tdp' stands twice"),
        (("--vary", "memory.bandwith=2:8TB/s", "-n", "resnet18"), "did you mean memory.bandwidth"),
        ((*ARGUMENTS, "--save", "latency"), "--save: want a pair such as 37=specs/hardware/acme/one.yaml"),
        ((*ARGUMENTS, "--save", "latency=one.yaml"), "one.yaml: want a file below a folder hardware"),
        (("--vary", "tdp=x1", "-n", ","), "want at least one fact to vary, one network"),
        ((*ARGUMENTS, "--batch", "none"), "--batch: want whole numbers with commas"),
        ((*ARGUMENTS, "--minimise", "speed"), "'speed': want latency"),
        ((*ARGUMENTS, "--minimise", "SM.groups", "--maximise", "SM.groups"),
         "SM.groups: minimise or maximise it, and not both"),
        ((*ARGUMENTS, "--require", "efficiency>50%"),
         "variants have no efficiency; want latency, energy, memory, power, throughput, utilization"),
        ((*ARGUMENTS, "-p", "int3"), "unknown precision"),
        ((*ARGUMENTS, "-p", "int4"), "does not support int4"),
    ],
)  # fmt: skip
def test_what_cannot_be_explored_is_refused_in_one_sentence(arguments, message):
    with pytest.raises(RooflintError) as caught:
        run(*arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-o", "variants.parquet"), "variants.parquet: want a suffix that names a format"),
        (("--save", "1=specs/hardware/a/b.yaml", "--save", "2=specs/hardware/a/b.yaml"), "--save: two variants would"),
    ],
)
def test_places_are_refused_before_anything_is_predicted(tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rooflint.cli.explore.explore", lambda *_, **__: pytest.fail("predicted"))
    with pytest.raises(RooflintError, match=f"^{sentence}"):
        run(*ARGUMENTS, *arguments)


@pytest.mark.parametrize(
    ("varied", "launch", "sentence"),
    [
        ("price=x1,x2", "stream", "variant 1: only its price differs, and a spec of a device has no price"),
        ("launch_overhead=x0.5,x1", "graph", "variant 1: a spec states one launch_overhead for all launch modes"),
    ],
)
def test_what_a_spec_cannot_hold_is_not_saved(tmp_path, varied, launch, sentence):
    file = tmp_path / "specs/hardware/acme/one.yaml"
    with pytest.raises(RooflintError, match=f"^{sentence}"):
        run("--vary", varied, "-n", "resnet18", "--minimise", "cost", "--launch", launch, "--save", f"1={file}")
    assert not file.exists()


def test_a_language_model_reads_as_many_tokens_as_are_wanted():
    vary = ("--vary", "memory.bandwidth=x1,x2", "-n", "llama-3.1-8b")
    short, long, token = (
        asked(*vary, *more) for more in (("--prompt", "64"), ("--prompt", "512"), ("--prompt", "1", "--past", "512"))
    )
    base = [one["reference"]["latency_s"] for one in (short, long, token)]
    assert base[0] < base[1]
    assert base[2] not in base[:2]
