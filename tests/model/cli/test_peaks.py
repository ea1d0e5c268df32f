"""`rooflint peaks`: what a reader multiplies, with what it rests on."""

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from rooflint.base.errors import RooflintError, shown
from rooflint.cli.hardware import app
from rooflint.hardware.device import UndisclosedError, UnsupportedError
from rooflint.hardware.registry import Registry

REGISTRY = Registry()


def invoke(*arguments):
    return CliRunner().invoke(app, ["peaks", *map(str, arguments)], catch_exceptions=False)


def run(*arguments):
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def records(*arguments):
    return json.loads(run(*arguments, "-f", "json"))


def test_a_peak_is_a_ladder_that_can_be_multiplied_by_hand():
    # 40 × 8 × 128 × 2 × 1.59 GHz = 130.25 TOP/s
    assert run("T4", "-p", "INT8").splitlines()[:12] == [
        "NVIDIA T4  (nvidia/t4)",
        f"facts of {shown(REGISTRY.get('nvidia/t4').file)}",
        "",
        "tensor_core int8       130.3 TOP/s",
        "    40 SM                  quoted    [1] Tesla T4, 2560 CUDA cores",
        "  × 8 tensor_core          quoted    [1] Turing SM",
        "  × 128 MAC/clock          quoted    [1] Turing Tensor Cores",
        "  × 2 op/MAC               convention",
        "  × 1590 MHz               device    [2] Max Clocks",
        "",
        "[1] NVIDIA Turing GPU Architecture, whitepaper WP-09183-001, 2018 (quoted)",
        "[2] nvidia-smi -q of a T4, NVIDIA/nvidia-docker issue 1628 (device)",
    ]


def test_floating_peaks_are_flops_and_sparse_ones_are_said_beside_the_dense():
    text = run("h100-sxm5-80gb")
    # 132 × 4 × 512 × 2 × 1.83 GHz = 989.4 TFLOP/s, × 2
    assert "tensor_core fp16       989.4 TFLOP/s dense, 1.979 PFLOP/s sparse\n" in text
    assert "tensor_core int8       1.979 POP/s dense, 3.958 POP/s sparse\n" in text
    assert "cuda_core fp32         66.91 TFLOP/s\n" in text
    # 5120 / 8 × 5.238 Gbit/s = 3.352 TB/s
    assert "hbm3                   3.352 TB/s\n" in text
    assert "  × 5.238 Gbit/s           quoted" in text


def test_a_precision_leaves_bandwidths_and_other_precisions_out():
    assert {row["subject"] for row in records("nvidia/t4", "-p", "fp16")} == {"tensor_core fp16", "cuda_core fp16"}


def test_an_operating_point_is_said_in_the_head_and_in_the_ladder():
    text = run("jetson-agx-orin-64gb", "--at", "30w", "-p", "int8")
    assert text.startswith("NVIDIA Jetson AGX Orin 64GB  (nvidia/jetson-agx-orin-64gb at 30w)\n")
    # 8 × 4 × 512 × 2 × 612 MHz = 20.05 TOP/s, twice that sparse
    assert "tensor_core int8       20.05 TOP/s dense, 40.11 TOP/s sparse\n" in text
    assert "  × 612 MHz                device" in text


def test_what_is_undisclosed_is_said_and_not_derived():
    assert run("hailo-8").splitlines()[:4] == [
        "Hailo-8  (hailo/hailo-8)",
        f"facts of {shown(REGISTRY.get('hailo/hailo-8').file)}",
        "",
        "undisclosed: units.nn_core: Hailo publishes neither MAC count nor clock; its 26 TOP/s cannot be derived",
    ]


def test_a_precision_that_nobody_can_tell_is_an_error_that_says_so():
    with pytest.raises(UndisclosedError, match=r"nn_core\.macs_per_clock\.int8 is undisclosed"):
        invoke("hailo-8", "-p", "int8")


@pytest.mark.parametrize("form", ["text", "json", "csv", "md"])
def test_a_precision_that_no_unit_has_is_an_error_in_every_format(form):
    with pytest.raises(UnsupportedError) as caught:
        invoke("nvidia/t4", "-p", "fp8", "-f", form)
    assert str(caught.value) == "nvidia/t4 does not support fp8 (has: fp16, fp32, fp64, int4, int8)"


def test_a_precision_that_does_not_exist_is_an_error_that_a_user_can_mend():
    with pytest.raises(RooflintError, match="unknown precision 'fp17'"):
        invoke("nvidia/t4", "-p", "fp17")


def test_json_has_an_object_a_figure_with_its_factors_inside():
    (row,) = [row for row in records("nvidia/t4") if row["subject"] == "tensor_core int8"]
    factors = row.pop("factors")
    assert row == {
        "subject": "tensor_core int8",
        "value": 130.2528e12,
        "unit": "op/s",
        "sparse_value": None,
        "formula": "40 SM × 8 tensor_core × 128 MAC/clock × 2 op/MAC × 1590 MHz",
        "weakest_grade": "quoted",  # weaker than device
    }
    assert [factor["factor"] for factor in factors] == row["formula"].split(" × ")
    fact = REGISTRY.get("nvidia/t4").facts["units.tensor_core.groups"]
    assert factors[0] == {
        "factor": "40 SM",
        "fact": fact.path,
        "document": fact.source.document,
        "where": fact.where,
        "grade": "quoted",
        "line": f"{shown(fact.file)}:{fact.line}",
    }
    assert (factors[3]["fact"], factors[3]["document"], factors[3]["line"]) == ("convention", "", "")


def test_json_says_the_sparse_figure_beside_the_dense_one():
    (row,) = [row for row in records("h100-sxm5-80gb", "-p", "fp16") if row["subject"] == "tensor_core fp16"]
    assert row["sparse_value"] == pytest.approx(2 * row["value"])


def test_csv_has_a_row_a_factor_with_its_citation():
    rows = [row for row in csv.DictReader(io.StringIO(run("nvidia/t4", "-f", "csv"))) if row["subject"] == "gddr6"]
    assert [row["factor"] for row in rows] == ["256 bit", "10.0 Gbit/s", "1/8 B/bit"]
    assert [row["grade"] for row in rows] == ["read", "read", ""]
    assert {(float(row["value"]), row["unit"]) for row in rows} == {(320e9, "B/s")}


def test_a_peak_that_rests_on_an_estimate_says_so():
    rows = records("jetson-agx-orin-64gb", "-p", "int8")
    assert {row["weakest_grade"] for row in rows if row["subject"] == "tensor_core int8"} == {"estimate"}


def test_another_specs_folder_stands_in_front(specs):
    specs.device(
        "units: {tc: {group: SM, groups: [2, wp, p], per_group: [4, wp, p], clock: [1 GHz, wp, p],"
        " macs_per_clock: {fp16: [8 MAC, wp, p]}}}\n"
    )
    # 2 × 4 × 8 × 2 × 1 GHz = 128 GFLOP/s
    assert "tc fp16                128 GFLOP/s\n" in run("acme/one", "--specs", specs.root)


@pytest.mark.slow
@pytest.mark.parametrize("device", REGISTRY.ids())
def test_every_peak_and_bandwidth_of_every_device_is_there(device):
    hardware = REGISTRY.get(device)
    hidden = set(hardware.undisclosed)
    units = [one for one in hardware.units.values() if f"units.{one.name}.clock" not in hidden]
    derivable = {f"{unit.name} {name}" for unit in units for name in unit.precisions}
    others = [memory for memory in hardware.memories.values() if memory.has_bandwidth] + [*hardware.links.values()]
    bandwidths = {one.name: one.bandwidth_bytes_per_s for one in others}
    derivable |= bandwidths.keys()
    rows = records(device)
    assert {row["subject"] for row in rows} == derivable
    for subject in derivable:
        unit, _, precision = subject.partition(" ")
        value = hardware.unit(unit).peak_ops_per_s(precision) if precision else bandwidths[unit]
        assert {row["value"] for row in rows if row["subject"] == subject} == {value}


@pytest.mark.slow
@pytest.mark.parametrize("device", REGISTRY.ids())
def test_every_citation_of_the_text_is_listed_below(device):
    text = run(device)
    used = {word for line in text.splitlines() if line.startswith("  ") for word in line.split() if word[:1] == "["}
    listed = {line.split()[0] for line in text.splitlines() if line.startswith("[")}
    assert {word for word in used if word.strip("[]").isdigit()} == listed


# ---- systems


def test_the_links_of_a_system_are_derived_as_peaks_are():
    found = {one["subject"]: one for one in records("hgx-h100")}
    assert found["nvlink one-way, per device"]["value"] == 18 * 25e9
    assert found["nvlink"]["value"] == 8 * 18 * 25e9 * 2
    assert found["nvlink bisection"]["formula"] == "8 devices × 18 nvlink × 25 GB/s × 2 directions × 1/2"
    assert found["connectx7, per device"]["value"] == 2 * 400e9 / 8
    text = run("DGX H100")
    assert "NVIDIA HGX H100 8-GPU  (nvidia/hgx-h100)" in text and "64 ports" in text


def test_what_is_not_known_of_a_host_is_left_out():
    assert [one["subject"] for one in records("pcie-l40s-8")] == [
        *("pcie, per device", "pcie one-way, per device", "pcie", "pcie pair"),
    ]


def test_systems_are_listed_with_what_a_device_can_send():
    listed = CliRunner().invoke(app, ["hardware", "systems", "-f", "csv"], catch_exceptions=False).stdout
    rows = {row["system"]: row for row in csv.DictReader(io.StringIO(listed))}
    assert rows.keys() == {name.rpartition("/")[2] for name in REGISTRY.system_files}
    mi300x, l40s = rows["mi300x-platform"], rows["pcie-l40s-8"]
    assert (mi300x["devices"], mi300x["one-way"], mi300x["pair"]) == ("8 × mi300x", "448 GB/s", "64 GB/s")
    assert (l40s["bisection"], l40s["cards"]) == ("—", "—")
    shown_facts = CliRunner().invoke(app, ["hardware", "show", "hgx-h100"], catch_exceptions=False).stdout
    assert "400 Gbit/s" in shown_facts
