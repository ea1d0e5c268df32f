"""`rooflint explain gemm`: what it prints, in every format, and what it refuses."""

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from rooflint.answers.explain_gemm import LISTING, WAITS, GemmRecord
from rooflint.base.errors import RooflintError
from rooflint.cli.explain import app
from rooflint.hardware.device import UnsupportedError
from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import constants_file

QUESTIONS = [
    ("4096", "4096", "4096", "-d", "h100-sxm5"),
    ("1", "1", "1", "-d", "t4", "-p", "FP16"),
    ("8", "16384", "16384", "-d", "l40s", "--copies", "1"),
    ("65536", "65536", "65536", "--hardware", "rtx-pro-6000-blackwell-server", "-b", "64", "--copies", "6"),
    ("64", "64", "65536", "-d", "jetson-agx-orin-64gb", "--at", "30w"),
    ("128", "512", "128", "-d", "b200-sxm", "-p", "fp8"),
    ("4096", "4096", "4096", "-d", "p100-pcie-16gb", "-p", "fp32"),
]


def run(*arguments):
    result = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(app, ["gemm", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_text_fits_eighty_columns(question):
    text = run(*question)
    assert max(map(len, text.splitlines())) <= 80
    for heading in ("Latency", "Ladder", "Sensitivity to resources", "Tiles and splits", "Facts"):
        assert f"\n{heading} ─" in text


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


def test_weights_that_come_again_are_found_in_l2():
    cold, warm = (
        json.loads(run("8", "4096", "4096", "-d", "l40s", "-f", "json", "--copies", copies)) for copies in ("0", "1")
    )
    assert (cold["copies"], warm["copies"]) == (None, 1)
    assert warm["latency_s"] < cold["latency_s"]
    assert warm["kernel"]["l2_miss_share"] < 0.01
    assert cold["kernel"]["l2_miss_share"] > 0.99


def test_a_device_that_lacks_a_fact_is_told_which():
    with pytest.raises(UnsupportedError, match=r"amd/mi300x lacks the fact 'units\.matrix_core\.issue_threads'"):
        run("8", "8", "8", "-d", "mi300x")


def test_what_does_not_exist_is_refused():
    with pytest.raises(RooflintError, match="unknown device 'h1000'"):
        run("8", "8", "8", "-d", "h1000")
    with pytest.raises(RooflintError, match="nvidia/t4 does not support bf16"):
        run("8", "8", "8", "-d", "t4")


def test_ends_of_constants_are_no_error_bar_and_the_errors_stand_beside_them():
    file = constants_file(Registry())
    errors = file.errors("gemm").values()
    ends = (
        f"(not a confidence interval); mean error of bf16 products on families left out of the fit: "
        f"{min(errors):g} to {max(errors):g} %"
    )
    assert ends in " ".join(run("64", "64", "64", "-d", "h100-sxm5").split())
    assert "(not a confidence interval) •" in " ".join(run("64", "64", "64", "-d", "t4", "-p", "fp16").split())


def test_a_product_in_fp8_has_errors_and_a_caveat_of_its_own():
    text = " ".join(run("64", "1024", "1024", "-d", "h100-sxm5", "-p", "fp8").split())
    errors = constants_file(Registry()).errors("fp8_tensor").values()
    assert f"quantise kernel included, on families left out of the fit: {min(errors):g} to {max(errors):g} %" in text
    assert "a separate kernel quantises the activations to FP8 before the product" in text
    assert "small products are slower in fp8 than in bf16" in text
    assert "+ quantise" in text
    assert "+ quantise" not in run("64", "1024", "1024", "-d", "h100-sxm5")


def test_scales_of_blocks_are_asked_for_and_only_in_fp8():
    by_block = json.loads(run("8192", "8192", "8192", "-d", "h100-sxm5", "-p", "fp8", "--scale", "block", "-f", "json"))
    assert {one["split"] for one in (by_block["kernel"], *by_block["alternatives"])} == {1}  # k is left whole
    with pytest.raises(RooflintError, match="gemm in bf16 has no option 'scale'"):
        run("8", "8", "8", "-d", "h100-sxm5", "--scale", "block")


def test_a_large_product_in_fp8_on_an_h100_is_the_calibrated_one():
    # a quantise kernel of 73.9 us, and the product of 895.8 us; constants of bf16 would say 1046 us
    found = json.loads(run("8192", "8192", "8192", "-d", "h100-sxm5", "-p", "fp8", "-f", "json"))
    assert found["latency_s"] == pytest.approx(969.6e-6, rel=1e-4)
    assert found["kernel"]["quantise_s"] == pytest.approx(73.9e-6, rel=1e-3)


def test_an_architecture_that_nobody_measured_is_said_to_be_one():
    unseen = "no GPU of nvidia/turing-tu104 is among the measurements"
    assert unseen in " ".join(run("64", "64", "64", "-d", "t4", "-p", "fp16").split())
    assert "among the measurements" not in run("64", "64", "64", "-d", "h100-sxm5")


def test_where_cuda_cores_compute_it_says_so():
    text = " ".join(run("8192", "8192", "8192", "-d", "h100-sxm5", "-p", "fp32").split())
    assert "mostly limited by the CUDA cores" in text
    assert "warp_schedulers.SM 4" in text
    assert "fitted to linear layers in fp32; other constants are those of bf16" in text
    assert "no GPU of" not in text
    found = json.loads(run("8192", "8192", "8192", "-d", "h100-sxm5", "-p", "fp32", "-f", "json"))
    low, high = found["latency_low_s"], found["latency_high_s"]
    # other_instructions, which the time of an H100 is proportional to, is 1.265 to 1.296 with a family left out
    assert high / low > 1.02
