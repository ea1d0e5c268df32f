"""`rooflint explain`: what it prints, in every format, and what it refuses."""

import csv
import io
import json

import pytest
from typer.testing import CliRunner

import rooflint as rl
from rooflint.answers import explain_attention, explain_collective, explain_layer
from rooflint.answers.explain_gemm import LISTING, WAITS, GemmRecord
from rooflint.base.errors import RooflintError
from rooflint.cli.explain import app
from rooflint.hardware.device import UnsupportedError

QUESTIONS = [
    ("4096", "4096", "4096", "-d", "h100-sxm5"),
    ("1", "1", "1", "-d", "t4", "-p", "FP16"),
    ("8", "16384", "16384", "-d", "l40s", "--copies", "1"),
    ("65536", "65536", "65536", "--hardware", "rtx-pro-6000-blackwell-server", "-b", "64", "--copies", "6"),
    ("64", "64", "65536", "-d", "jetson-agx-orin-64gb", "--at", "30w"),
    ("128", "512", "128", "-d", "b200-sxm", "-p", "fp8"),
    ("4096", "4096", "4096", "-d", "p100-pcie-16gb", "-p", "fp32"),
]


SEQUENCES = [
    ("32", "4096", "128", "-d", "h100-sxm5", "--kv-heads", "8"),
    ("12", "384", "72", "-d", "t4", "-p", "FP16", "--phase", "Encoder", "-b", "32"),
    ("32", "4096", "128", "-d", "l40s", "--phase", "decode", "--cache", "FP8"),
    ("8", "131072", "128", "-d", "b200-sxm", "--kv-heads", "1", "--phase", "decode"),
    ("8", "512", "64", "-d", "p100-pcie-16gb", "-p", "fp32"),
]


def run(*arguments, op="gemm"):
    result = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(app, [op, *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_text_fits_eighty_columns(question):
    text = run(*question)
    assert max(map(len, text.splitlines())) <= 80
    for heading in ("Latency", "Ladder", "Sensitivity to resources", "Tiles and splits", "Facts"):
        assert f"\n{heading} ─" in text


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_json_has_its_schema_and_csv_has_the_same_kernels(question):
    found = json.loads(run(*question, "-f", "json"))
    GemmRecord.model_validate_json(json.dumps(found))
    assert found["latency_low_s"] <= found["latency_high_s"]
    kernel = found["kernel"]
    assert kernel["bound"] in WAITS
    assert kernel["overlapped_s"] + kernel["reduction_s"] + kernel["launch_s"] + kernel["quantise_s"] == pytest.approx(
        found["latency_s"]
    )
    rows = list(csv.DictReader(io.StringIO(run(*question, "-f", "csv"))))
    assert tuple(rows[0]) == LISTING
    assert [float(row["latency_s"]) for row in rows] == [one["latency_s"] for one in (kernel, *found["alternatives"])]


def test_markdown_has_the_ladder():
    text = run(*QUESTIONS[0], "-f", "md")
    assert "| = latency |" in text.replace("**", "")


@pytest.mark.parametrize("op, sizes", [("gemm", ("4096", "4096", "4096")), ("attention", ("32", "4096", "128"))])
def test_in_a_run_of_minutes_power_holds_coarse_processes_alone(op, sizes):
    def seconds(device, *more):
        found = json.loads(run(*sizes, "-d", device, "-p", "fp16", *more, "-f", "json", op=op))
        assert found["sustained"] == bool(more)
        return found["latency_s"]

    # 12 nm: an op of a T4 takes up to √(12 / 5) = 1.55 times the energy; an L4 is made in TSMC's 4N, which counts as 5
    assert 1.3 < seconds("t4", "--sustained") / seconds("t4") < 1.55
    assert seconds("l4", "--sustained") == seconds("l4")


def test_a_run_of_minutes_is_told_beside_the_precision():
    assert "nvidia/t4, fp16, operands in memory, in a run of minutes\n" in run(*QUESTIONS[1], "--sustained")


def test_a_device_that_lacks_a_fact_is_told_which():
    with pytest.raises(UnsupportedError, match=r"amd/mi300x lacks the facts 'units\.matrix_core\.issue_threads'"):
        run("8", "8", "8", "-d", "mi300x")


def test_what_does_not_exist_is_refused():
    with pytest.raises(RooflintError, match="unknown device 'h1000'"):
        run("8", "8", "8", "-d", "h1000")
    with pytest.raises(RooflintError, match="nvidia/t4 does not support bf16"):
        run("8", "8", "8", "-d", "t4")


def test_options_are_passed_on():
    asked = ("8", "512", "128", "-d", "h100-sxm5", "-p", "FP8", "--scale", "BLOCK", "-b", "4", "--copies", "3")
    found = json.loads(run(*asked, "-f", "json"))
    assert {name: found[name] for name in ("m", "n", "k", "batch", "copies", "precision")} == {
        "m": 8, "n": 512, "k": 128, "batch": 4, "copies": 3, "precision": "fp8",
    }  # fmt: skip
    assert "fp8 with one scale per block, 3 sets of weights" in run(*asked)
    with pytest.raises(RooflintError, match="gemm in bf16 has no option 'scale'"):
        run("8", "8", "8", "-d", "h100-sxm5", "--scale", "block")


# ---- attention


@pytest.mark.parametrize("question", SEQUENCES, ids=" ".join)
def test_attention_fits_eighty_columns_and_its_formats_agree(question):
    text = run(*question, op="attention")
    assert max(map(len, text.splitlines())) <= 80
    for heading in ("Latency", "Terms", "Sensitivity to resources", "Assumptions", "Facts"):
        assert f"\n{heading} ─" in text
    found = explain_attention.AttentionRecord.model_validate_json(run(*question, "-f", "json", op="attention"))
    rows = list(csv.DictReader(io.StringIO(run(*question, "-f", "csv", op="attention"))))
    assert tuple(rows[0]) == explain_attention.LISTING
    assert [(row["term"], float(row["seconds"])) for row in rows] == [(one.term, one.seconds) for one in found.terms]


def test_options_of_attention_are_passed_on():
    found = json.loads(run(*SEQUENCES[2], "--kv-heads", "4", "-b", "16", "-f", "json", op="attention"))
    wanted = {
        "phase": "decode", "cache_bytes": 1.0, "batch": 16, "heads": 32, "kv_heads": 4, "tokens": 4096, "width": 128,
    }  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--phase", "train"), r"--phase: want prefill, encoder, decode, found 'train'"),
        (("--kv-heads", "3"), r"heads: want a multiple of the 3 heads of keys and values, found 8"),
        (("--cache", "fp7"), r"fp7"),
    ],
)
def test_attention_that_does_not_exist_is_refused(words, message):
    with pytest.raises(RooflintError, match=message):
        run("8", "64", "64", "-d", "h100-sxm5", *words, op="attention")


# ---- collectives

MESSAGES = [
    ("all-reduce", "64MiB", "8", "-d", "h100-sxm5"),
    ("all_gather", "1 GB", "4", "-d", "a100-sxm4-80gb", "--library", "nccl"),
    ("point-to-point", "8kB", "2", "-d", "b200-sxm"),
]


@pytest.mark.parametrize("question", MESSAGES, ids=" ".join)
def test_a_collective_fits_eighty_columns_beside_both_baselines_and_its_formats_agree(question):
    text = run(*question, op="collective")
    assert max(map(len, text.splitlines())) <= 80
    for heading in ("Latency", "Terms", "Sensitivity to resources", "Facts", "Limitations"):
        assert f"\n{heading} ─" in text
    assert "of latency and bandwidth alone (α–β)" in text
    assert "of the plain roofline" in text
    found = explain_collective.CollectiveRecord.model_validate_json(run(*question, "-f", "json", op="collective"))
    assert found.roofline_s < found.alpha_beta_s < found.latency_s
    rows = list(csv.DictReader(io.StringIO(run(*question, "-f", "csv", op="collective"))))
    assert tuple(rows[0]) == explain_collective.LISTING
    assert [(row["term"], float(row["seconds"])) for row in rows] == [(one.term, one.seconds) for one in found.terms]
    assert sum(one.seconds for one in found.terms) == pytest.approx(found.latency_s)
    assert [fact.path for fact in found.facts] == [
        "links.nvlink.count", "links.nvlink.rate", "units.tensor_core.clock",
    ]  # fmt: skip


def test_alpha_and_beta_of_a_collective_by_hand():
    # 8 A100, 1 GB to all of them: 7 steps and a launch, and 875 MB over 12 links of 25 GB/s
    asked = ("all-gather", "1GB", "8", "-d", "a100-sxm4-80gb")
    found = json.loads(run(*asked, "-f", "json", op="collective"))
    latencies = {one["term"]: one["seconds"] for one in found["terms"]}
    assert found["alpha_beta_s"] == pytest.approx(875e6 / 300e9 + latencies["steps"] + latencies["launch"])
    assert found["roofline_s"] == pytest.approx(875e6 / 300e9)
    assert found["algorithm"] == "ring"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("all-reduce", "64", "8", "-d", "h100-sxm5"), "SIZE: want bytes, such as 64MiB, found '64'"),
        (("all-reduce", "64 GB/s", "8", "-d", "h100-sxm5"), "SIZE: want bytes, such as 64MiB, found '64 GB/s'"),
        (("broadcast", "1MB", "8", "-d", "h100-sxm5"), "kind: want one of all_reduce, .* found 'broadcast'"),
        (("all-reduce", "1MB", "8", "-d", "a2"), "the device lacks the facts 'links'"),
    ],
)
def test_a_collective_that_cannot_be_is_refused(words, message):
    with pytest.raises(RooflintError, match=message):
        run(*words, op="collective")


# ---- layers of large models

LAYERS = {
    "moe": ("moe", "4096", "7168", "2048", "256", "8", "-d", "h100-sxm5", "--ranks", "8"),
    "moe in place": ("moe", "16", "4096", "1536", "128", "8", "-d", "b200-sxm", "--skew", "1.01"),
    "mla decode": ("mla", "128", "4096", "-d", "h100-sxm5", "-b", "16", "--cache", "FP8"),
    "mla whole": ("mla", "16", "8192", "-d", "l40s", "--no-split"),
    "mla prefill": ("mla", "128", "1024", "-d", "b200-sxm", "--phase", "Prefill"),
    "dispatch": ("routing", "dispatch", "4096", "7168", "256", "8", "8", "-d", "h100-sxm5"),
    "combine": ("routing", "Combine", "16", "7168", "256", "8", "8", "-d", "b200-sxm", "--kernels", "low-latency"),
}
ASKED = {
    "moe": ("expert_layer", {"tokens": 4096, "hidden": 7168, "width": 2048, "experts": 256, "top_k": 8, "ranks": 8}),
    "mla decode": ("latent_decode", {"batch": 16, "heads": 128, "tokens": 4096, "cache_bytes": 1.0}),
    "mla whole": ("latent_decode", {"batch": 1, "heads": 16, "tokens": 8192, "split": False}),
    "mla prefill": ("latent_attention", {"batch": 1, "heads": 128, "tokens": 1024}),
    "dispatch": (
        "expert_exchange",
        {"tokens": 4096, "hidden": 7168, "experts": 256, "top_k": 8, "members": 8, "precision": "fp8"},
    ),
}


@pytest.mark.parametrize(
    "case", ["moe", *(pytest.param(one, marks=pytest.mark.slow) for one in LAYERS if one != "moe")]
)
def test_layers_fit_eighty_columns_and_their_formats_agree(case):
    op, *question = LAYERS[case]
    text = run(*question, op=op)
    assert max(map(len, text.splitlines())) <= 80
    for heading in ("Latency", "Terms", "Sensitivity to resources", "Facts", "Limitations"):
        assert f"\n{heading} ─" in text
    assert "of the plain roofline" in text
    assert ("of latency and bandwidth alone (α–β)" in text) == (op == "routing")
    found = explain_layer.LayerRecord.model_validate_json(run(*question, "-f", "json", op=op))
    assert found.roofline_s < found.latency_s
    assert found.errors
    assert found.regime
    assert found.alpha_beta_s is None or found.roofline_s < found.alpha_beta_s < found.latency_s
    assert sum(one.seconds for one in found.terms) == pytest.approx(found.latency_s)
    assert {one.term for one in found.terms} <= set(explain_layer.HOW)
    rows = list(csv.DictReader(io.StringIO(run(*question, "-f", "csv", op=op))))
    assert tuple(rows[0]) == explain_layer.LISTING
    assert [(row["term"], float(row["seconds"])) for row in rows] == [(one.term, one.seconds) for one in found.terms]


@pytest.mark.parametrize("case", ["moe", *(pytest.param(one, marks=pytest.mark.slow) for one in ASKED if one != "moe")])
def test_a_layer_takes_as_long_by_command_as_in_python(case):
    op, *question = LAYERS[case]
    device = question[question.index("-d") + 1]
    name, sizes = ASKED[case]
    found = json.loads(run(*question, "-f", "json", op=op))
    assert found["latency_s"] == pytest.approx(rl.kernel(name, device, **sizes).seconds[0], rel=1e-12)


@pytest.mark.slow
def test_words_of_layers():
    assert explain_layer.HOW.keys() == explain_layer.WAITS.keys()
    found = json.loads(run(*LAYERS["moe in place"][1:], "-f", "json", op="moe"))
    assert (found["kind"], found["way"]) == ("moe", "rows where they lie")
    assert found["sizes"] == {"tokens": 16, "hidden": 4096, "width": 1536, "experts": 128, "top_k": 8, "ranks": 1}
    by_all = json.loads(run(*LAYERS["moe in place"][1:], "--sorted", "-f", "json", op="moe"))
    assert by_all["way"] == "rows in the order of experts"
    assert by_all["latency_s"] > found["latency_s"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("moe", "8", "64", "64", "8", "9", "-d", "h100-sxm5"), "top_k: want no more than there are experts"),
        (
            ("moe", "8", "64", "64", "8", "2", "-d", "h100-sxm5", "--ranks", "3"),
            "experts: want a multiple of the ranks",
        ),
        (
            ("mla", "8", "64", "-d", "h100-sxm5", "--phase", "encoder"),
            "--phase: want decode or prefill, found 'encoder'",
        ),
        (("routing", "send", "8", "64", "8", "2", "2", "-d", "h100-sxm5"), "way: want one of dispatch, combine, found"),
        (("routing", "combine", "8", "64", "8", "2", "2", "-d", "a2"), "the device lacks the facts 'links'"),
    ],
)
def test_a_layer_that_cannot_be_is_refused(words, message):
    with pytest.raises(RooflintError, match=message):
        run(*words[1:], op=words[0])
