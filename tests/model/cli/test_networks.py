"""`rooflint compare`, `analyze`, `models` and `sweep`: what they print, in every format, and what they refuse."""

import csv
import io
import json
import re

import pytest
from typer.testing import CliRunner

from rooflint.answers.analyze import AnalyzeRecord
from rooflint.answers.compare import CompareRecord
from rooflint.answers.record import LISTING
from rooflint.answers.sweep import ModelsRecord, SweepRecord
from rooflint.api.predictions import networks
from rooflint.base.errors import RooflintError
from rooflint.cli.networks import app
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.output.answer import UnknownFormatError
from rooflint.prediction.predict import Setting, predict
from rooflint.workloads.tables import load_workload

SHAPES = {"compare": CompareRecord, "analyze": AnalyzeRecord, "models": ModelsRecord, "sweep": SweepRecord}
REGISTRY = Registry()
QUESTIONS = [
    ("compare", "resnet18"),
    ("compare", "resnet18", "--level", "detailed", "--baseline", "gpu"),
    ("compare", "resnet18", "--level", "subgraph", "--fuse"),
    ("compare", "resnet18", "--explain", "gpu", "tpu"),
    ("compare", "resnet18", "-d", "t4,nvidia/l*", "-p", "INT8", "--require", "latency<1ms,power<100W"),
    ("analyze", "resnet18", "nvidia/t4", "-b", "8", "-p", "fp16"),
    ("analyze", "vit_b_16", "jetson-agx-orin-64gb@30w", "-p", "int8", "--fuse"),
    ("models", "gpu"),
    ("sweep", "resnet18", "-d", "gpu,tpu", "-p", "bf16,int8", "--batches", "1,8"),
    ("compare", "resnet18", "--fidelity", "silicon", "--fuse", "--level", "detailed"),
    ("compare", "resnet18", "-d", "gpu,t4,tpu", "-p", "int8", "--explain", "gpu", "t4", "--metric", "latency",
     "--fidelity", "silicon"),
    ("analyze", "vit_b_16", "nvidia/t4", "-b", "8", "-p", "fp16", "--fidelity", "silicon"),
    ("models", "tpu", "--fidelity", "silicon"),
    ("sweep", "vit_b_16", "-d", "gpu", "--batches", "1,8", "--fidelity", "silicon", "--launch", "graph"),
]  # fmt: skip


def run(name, *arguments):
    result = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(app, [name, *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def asked(name, *arguments):
    return json.loads(run(name, *arguments, "-f", "json"))


def prediction(device, compute="bf16", batch=1, **setting):
    work = load_workload("torchvision/resnet18").at_batch(batch)
    return predict(REGISTRY.get(device), work, Energies(Coefficients(REGISTRY)), Setting(compute, **setting))


# ---- every question in every format


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_text_fits_eighty_columns_and_has_no_escape(question):
    text = run(*question)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_json_names_its_schema_and_holds_plain_values(question):
    found = asked(*question)
    assert found["schema"] == f"rooflint.{question[0]}/2"
    assert "NaN" not in json.dumps(found)
    assert "Infinity" not in json.dumps(found)
    SHAPES[question[0]].model_validate_json(json.dumps(found))


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_csv_has_one_width(question):
    rows = list(csv.reader(io.StringIO(run(*question, "-f", "csv"))))
    assert len({len(row) for row in rows}) == 1
    assert len(rows) > 1


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_markdown_has_a_title_and_tables(question):
    text = run(*question, "-f", "md")
    assert text.startswith("# ")
    assert "| --- |" in text or "- " in text


# ---- compare


def test_without_devices_one_of_each_kind_is_compared():
    found = asked("compare", "resnet18")
    assert [row["kind"] for row in found["devices"]] == ["cpu", "gpu", "tpu", "kpu"]


@pytest.mark.parametrize("spelling", ["INT8", "Int8", "int8"])
def test_a_precision_is_read_in_any_case(spelling):
    assert asked("compare", "resnet18", "-p", spelling)["compute"] == "int8"


def test_devices_are_ids_parts_globs_kinds_and_modes_each_once():
    found = asked(
        "compare", "resnet18", "-d", "h100-sxm5,gpu", "-d", "nvidia/h100-*", "-d", "agx-orin-64@30w", "-p", "int8"
    )
    assert [row["device"] for row in found["devices"]] == [
        "nvidia/h100-sxm5-80gb",
        "nvidia/h100-nvl-94gb",
        "nvidia/h100-pcie-80gb",
        "nvidia/jetson-agx-orin-64gb at 30w",
    ]


def test_an_operating_point_holds_for_all():
    (row,) = asked("compare", "resnet18", "-d", "agx-orin-64", "--at", "30w", "-p", "int8")["devices"]
    assert row["operating_point"] == "30w"


def test_a_device_that_cannot_is_listed_with_its_reason():
    found = asked("compare", "resnet18", "-d", "t4,gpu")
    assert found["devices"][0]["not_supported"].startswith("nvidia/t4 does not support bf16 (has: ")
    assert found["devices"][1]["latency_s"] > 0
    assert "nvidia/t4 does not support bf16" in run("compare", "resnet18", "-d", "t4,gpu")


def test_a_baseline_is_a_kind_or_a_part():
    text = run("compare", "resnet18", "--baseline", "gpu")
    assert "relative to h100-sxm5-80gb" in re.sub(r"\s+", " ", text)
    mine, theirs = (prediction(device).energy_j for device in ("google/tpu-v4", "nvidia/h100-sxm5-80gb"))
    (line,) = [line for line in text.splitlines() if re.match(r"\W*tpu-v4 +[\d.]+ mJ +[\d.]+ +[\d.]+ µs", line)]
    assert line.split()[4 if line.startswith("▸") else 3] == f"{mine / theirs:.3g}"
    assert asked("compare", "resnet18", "--baseline", "h100-sxm5")["baseline"] == "nvidia/h100-sxm5-80gb"


def test_requirements_name_who_meets_them():
    found = asked("compare", "resnet18", "--require", "latency<100us")
    able = [row["device"] for row in found["devices"] if row["latency_s"] < 100e-6]
    assert found["meeting_all"] == able


def test_winners_are_of_those_that_meet_the_requirements():
    free = asked("compare", "resnet18", "-d", "t4,l4,gpu", "-p", "fp16")
    bound = asked("compare", "resnet18", "-d", "t4,l4,gpu", "-p", "fp16", "--require", "power<60W")
    assert free["winners"]["latency"] == ["nvidia/h100-sxm5-80gb"]
    assert bound["winners"]["latency"] == bound["meeting_all"] == ["nvidia/l4"]
    none = asked("compare", "resnet18", "--require", "power<1W")
    assert set(map(tuple, none["winners"].values())) == {()}


@pytest.mark.slow
def test_many_devices_are_sorted_and_cut():
    found = asked("compare", "resnet18", "-d", "nvidia/*", "-p", "fp16", "--sort", "latency", "--top", "5")
    times = [row["latency_s"] for row in found["devices"]]
    assert len(times) == 5
    assert times == sorted(times)
    everything = asked("compare", "resnet18", "-d", "nvidia/*", "-p", "fp16")["devices"]
    assert times[0] == min(row["latency_s"] for row in everything if "latency_s" in row)


def test_a_heat_map_has_all_kernels_and_their_winners():
    text = run("compare", "resnet18", "--level", "subgraph", "--fuse", "--metric", "latency")
    assert "Kernels by latency" in text
    assert "of 23" in text


def test_an_explanation_compares_the_two_even_if_no_device_was_asked_for():
    found = asked("compare", "resnet18", "--explain", "nvidia/l4", "tpu", "--metric", "latency")
    assert found["explanation"]["of"] == ["nvidia/l4", "google/tpu-v4"]
    assert len(found["devices"]) == 2


def test_the_listing_is_for_spreadsheets():
    rows = list(csv.DictReader(io.StringIO(run("compare", "resnet18", "-d", "t4,gpu", "-f", "csv"))))
    assert list(rows[0]) == list(LISTING)
    assert rows[0]["latency_s"] == ""
    assert float(rows[1]["latency_s"]) == prediction("nvidia/h100-sxm5-80gb").latency_s


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compare", "resnet18", "-d", "nosuch"), "unknown device 'nosuch'"),
        (("compare", "nosuch.json"), "nosuch.json: no such file"),
        (("compare", "resnet18", "-d", "nosuch*"), "no device matches 'nosuch*'"),
        (
            ("compare", "resnet18", "-d", "rtx-3080"),
            "'rtx-3080' is ambiguous: nvidia/rtx-3080-10gb, nvidia/rtx-3080-12gb",
        ),
        (("compare", "resnet18", "-d", "rtx-30"), "unknown device 'rtx-30'; did you mean nvidia/rtx-30"),
        (("compare", "resnet18", "-p", "fp7"), "unknown precision 'fp7'"),
        (("compare", "resnet18", "--at", "30w"), "has no operating point '30w'"),
        (("compare", "resnet18", "--sort", "joy"), "--sort: want one of energy"),
        (("compare", "resnet18", "--metric", "joy"), "--metric: want one of energy"),
        (("compare", "resnet18", "--require", "joy<3"), "'joy<3': want energy"),
        (("compare", "resnet18", "--baseline", "t4"), "'t4' is not compared (compared: xeon-8490h"),
        (("compare", "resnet18", "--level", "subgraph", "--metric", "memory"), "kernels have energy and latency"),
        (("compare", "resnet18", "--launch", "rocket"), "unknown launch mode 'rocket'"),
        (("compare", "resnet18", "--input", "1,3,x"), "--input: want sizes with commas"),
        (("analyze", "resnet18", "l4", "-i", "1,3,x"), "--input: want sizes with commas"),
        (("sweep", "resnet18", "--input", "8,3,64,64"), "--input: want a first size of 1 beside --batches, found 8"),
        (("compare", "resnet18", "--format", "pdf"), "unknown format 'pdf'"),
        (("analyze", "resnet18", "nvidia/t4"), "nvidia/t4 does not support bf16 (has: "),
        (("analyze", "resnet18", "nvidia/*"), "devices; want one"),
        (("sweep", "resnet18", "--batches", "1,two"), "--batches: want whole numbers"),
        (("sweep", "resnet18", "--batches", "0"), "--batches: want whole numbers"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_one_sentence(arguments, message):
    with pytest.raises((RooflintError, UnknownFormatError)) as refused:
        run(*arguments)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


# ---- the others


def test_an_analysis_has_every_kernel():
    found = asked("analyze", "resnet18", "nvidia/t4", "-p", "fp16", "-b", "4")
    assert found["kernels"] == len(found["per_kernel"]) == 68
    assert sum(kernel["energy_j"] for kernel in found["per_kernel"]) == pytest.approx(
        found["energy"]["batch_j"], rel=1e-9
    )
    single, many = (prediction("nvidia/t4", "fp16", batch) for batch in (1, 4))
    assert found["batch_efficiency"] == pytest.approx(many.throughput_per_s / (4 * single.throughput_per_s), rel=1e-12)
    assert {row["name"] for row in found["money_and_carbon"]} >= {"carbon of 10⁶ inferences"}


@pytest.mark.slow
def test_models_takes_all_committed_networks_or_those_that_are_named():
    assert len(asked("models", "gpu")["networks"]) == len(networks())
    assert [row["network"] for row in asked("models", "gpu", "vgg16", "resnet50")["networks"]] == ["vgg16", "resnet50"]


def test_models_reads_as_many_tokens_as_are_wanted():
    read = asked("models", "h100-sxm5", "llama-3.1-8b", "resnet18", "--prompt", "1", "--past", "1000")
    assert [row["network"] for row in read["networks"]] == ["llama-3.1-8b"]
    alone = asked("analyze", "llama-3.1-8b", "h100-sxm5", "--prompt", "1", "--past", "1000")
    assert read["networks"][0]["latency_s"] == alone["latency_s"]
    assert "resnet18: is not a language model, which --prompt and --past are for" in str(read)
    with pytest.raises(RooflintError, match="--prompt and --past: want names of language models behind the device"):
        asked("models", "h100-sxm5", "--prompt", "1")


def test_models_goes_on_where_one_network_cannot_be_had():
    found = asked("models", "gpu", "resnet18", "no_such_network")
    assert [row["network"] for row in found["networks"]] == ["resnet18"]
    assert len(found["not_captured"]) == 1


def test_a_sweep_has_every_combination_and_its_best_batch():
    found = asked("sweep", "resnet18", "-d", "gpu,t4", "-p", "bf16,int8", "--batches", "1,32")
    assert [(row["device"], row["compute"]) for row in found["sweeps"]] == [
        ("nvidia/h100-sxm5-80gb", "bf16"),
        ("nvidia/h100-sxm5-80gb", "int8"),
        ("nvidia/t4", "bf16"),
        ("nvidia/t4", "int8"),
    ]
    assert [len(row.get("batches", [])) for row in found["sweeps"]] == [2, 2, 0, 2]
    assert found["sweeps"][0]["best_batch"] == 32
    assert [row["batch"] for row in found["pairing"]] == [1, 32]


def test_output_goes_to_a_file_by_its_suffix(tmp_path):
    for suffix, begins in ((".json", "{"), (".csv", "device,"), (".md", "# "), (".txt", "torchvision/resnet18")):
        file = tmp_path / f"out{suffix}"
        assert run("compare", "resnet18", "-o", str(file)) == ""
        assert file.read_text(encoding="utf-8").startswith(begins)


# ---- fidelity


def test_a_record_says_which_fidelity_was_asked_for_and_which_each_device_has():
    found = asked("compare", "resnet18", "--fidelity", "silicon")
    assert found["fidelity"] == "silicon"
    assert {one["kind"]: one["fidelity"] for one in found["devices"]} == {
        "cpu": "roofline", "gpu": "silicon", "tpu": "roofline", "kpu": "roofline",
    }  # fmt: skip
    assert {one["fidelity"] for one in asked("compare", "resnet18")["devices"]} == {"roofline"}


@pytest.mark.slow
def test_kernels_on_silicon_say_by_which_formula_and_add_up():
    found = asked("analyze", "vit_b_16", "gpu", "--fidelity", "silicon", "--launch", "graph")
    assert {one["model"] for one in found["per_kernel"]} == {"product", "convolution", "attention", "stream"}
    launches = sum(one["launch_s"] for one in found["per_kernel"])
    assert found["waits_s"]["launch"] == pytest.approx(launches, rel=1e-12)
    assert {one["model"] for one in asked("analyze", "vit_b_16", "gpu")["per_kernel"]} == {"roofline"}


def test_a_list_has_the_fidelity_that_a_device_has():
    rows = csv.DictReader(
        io.StringIO(run("compare", "resnet18", "-d", "gpu,cpu", "--fidelity", "silicon", "-f", "csv"))
    )
    assert [row["fidelity"] for row in rows] == ["silicon", "roofline"]


def test_commands_that_look_closer_ask_in_the_same_fidelity():
    text = " ".join(run("compare", "resnet18", "--fidelity", "silicon").split())
    assert "rooflint analyze resnet18 h100-sxm5-80gb --fidelity silicon" in text


def test_commands_that_look_closer_ask_in_the_same_specs(tmp_path):
    (tmp_path / "hardware").mkdir()
    text = "".join(run("compare", "resnet18", "-d", "l4", "-p", "fp16", "--specs", str(tmp_path)).split())
    assert f"rooflintanalyzeresnet18l4-pfp16--specs{tmp_path}" in text


@pytest.mark.parametrize("question", ["compare resnet18", "analyze resnet18 gpu", "models gpu", "sweep resnet18"])
def test_a_fidelity_that_there_is_not_is_refused(question):
    with pytest.raises(RooflintError, match=r"^unknown fidelity 'gold' \(known: roofline, silicon\)$"):
        run(*question.split(), "--fidelity", "gold")


# ---- `rooflint networks`


def test_networks_are_listed_with_what_they_have():
    out = run("networks")
    assert re.search(r"^llama-3.1-70b +70\.55 B +69\.5 B +Llama 3\.1 70B$", out, re.MULTILINE)
    assert re.search(r"^torchvision/resnet18 +— +— +captured from torchvision$", out, re.MULTILINE)
    assert "active: " in out
    assert set(networks()) == {line.split()[0] for line in out.splitlines()[1:-1] if line[0] != " "}


def test_programs_get_whole_numbers():
    assert run("networks", "LLAMA-3.1-8B", "-f", "csv").splitlines() == [
        "network,parameters,active,title",
        "llama-3.1-8b,8030261248,7504924672,Llama 3.1 8B",  # 8.03 B, and less by the embedding of 128 256 × 4096
    ]


def test_a_part_that_no_network_has_is_refused():
    with pytest.raises(RooflintError, match="no network matches 'zzz'; a torchvision"):
        run("networks", "zzz")
