"""`rooflint calibrate gemm`: what it prints and writes, and when a check is red."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from pytest_rooflint.commands.calibrate import app
from pytest_rooflint.silicon import leave_out, package
from pytest_rooflint.silicon.fit import Data
from pytest_rooflint.silicon.measured import Measured
from pytest_rooflint.silicon.sample import REGIMES
from pytest_rooflint.silicon.score import predicted_s
from pytest_rooflint.silicon.systems import FAMILIES, devices
from rooflint.coefficients import Coefficients
from rooflint.silicon.chip import chip_of
from rooflint.silicon.constants import FILE, read, silicon_file
from rooflint.silicon.shapes import shapes
from rooflint.specs import PACKAGED, Registry

SHIPPED = silicon_file(Registry())
FEW = ("dram_efficiency", "start_clocks")


@pytest.fixture
def specs(tmp_path):
    """A specs root with the shipped constants, of which two are fitted."""
    text = (PACKAGED / FILE).read_text(encoding="utf-8")
    lines, name = [], ""
    for line in text.splitlines():
        name = line.strip().removesuffix(":") if line.startswith("  ") and line.endswith(":") else name
        chosen = line == "    found: fitted" and name not in FEW
        lines.append("    found: chosen" if chosen else line)
    (tmp_path / FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(monkeypatch, specs):
    """The command on machines that took what the shipped constants say, times a factor."""

    def ran(*arguments, factor=1.0):
        def load(data, registry, progress=None):
            sizes = 2.0 ** np.random.default_rng(3).integers(0, 15, (3, 200))
            launches, measured, chips = Coefficients(registry).launches(), {}, {}
            for device in (name for family in FAMILIES for name in devices(family)):
                chips[device] = chip_of(registry.get(device), "bf16", launches)
                one = Measured(device, shapes(*sizes), np.ones(200), np.full(200, 6.0), {"faster than light": 0})
                seconds = factor * predicted_s(one, chips[device], SHIPPED.constants)
                measured[device] = replace(one, seconds=seconds)
            return Data(measured, chips)

        monkeypatch.setattr(leave_out, "load", load)
        monkeypatch.setattr(package, "data_folder", lambda: specs)
        monkeypatch.setattr(package, "label", lambda: "aiconfigurator-core 0.12.9")
        return CliRunner().invoke(app, ["gemm", "--specs", str(specs), *arguments], catch_exceptions=False)

    return ran


def test_what_made_the_times_is_reproduced_and_nothing_is_written(run, specs):
    pytest.importorskip("scipy")
    before = (specs / FILE).read_text(encoding="utf-8")
    result = run("--check", "-f", "csv")
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (0, "2 of 2 constants are reproduced within 2%")
    assert "nvidia/l40s: 200 shapes; left out: none" in result.stderr
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(row["left out"], row["regime"]) for row in rows] == [
        (family, regime) for family in FAMILIES for regime in REGIMES
    ]
    assert {row["error %"] for row in rows} == {"0.0"}
    assert (specs / FILE).read_text(encoding="utf-8") == before


def test_a_check_is_red_where_the_fit_moves(run):
    pytest.importorskip("scipy")
    result = run("--check", factor=1.3)
    assert result.exit_code == 1
    assert "start_clocks: the fit is +" in result.stderr
    assert result.stderr.splitlines()[-1] == "0 of 2 constants are reproduced within 2%"


def test_the_constants_and_their_folds_are_written(run, specs):
    pytest.importorskip("scipy")
    result = run(factor=1.1)
    assert result.exit_code == 0
    assert result.stderr.splitlines()[-1] == f"wrote 2 constants to {specs / FILE}"
    found = read(specs / FILE)
    assert found.constants.dram_efficiency < SHIPPED.constants.dram_efficiency
    assert found.constants.overlap == SHIPPED.constants.overlap
    assert found.spec.constants["start_clocks"].folds["ada"] > SHIPPED.spec.constants["start_clocks"].folds["ada"]
    assert found.spec.fit.package == "aiconfigurator-core 0.12.9"
    assert [file.name for file in specs.iterdir()] == [FILE]  # nothing half-written beside it


def test_the_help_needs_no_measurements():
    result = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(app, ["gemm", "--help"])
    assert "score each on the one it has not seen" in result.stdout
