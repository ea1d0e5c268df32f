"""`rooflint calibrate gemm`: what it prints and writes, and when a check is red."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pytest_rooflint.cli.calibrate import app
from rooflint.base.strict_yaml import with_value
from rooflint.coefficients.library import Coefficients
from rooflint.devices.registry import PACKAGED, Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import CORES as CORES_FILE
from rooflint.kernels.constants import PRODUCTS as FILE
from rooflint.kernels.constants import constants_file, read
from rooflint.kernels.shapes import shapes
from rooflint_calibration import leave_out, package
from rooflint_calibration.fit import Data
from rooflint_calibration.package import FAMILIES, devices
from rooflint_calibration.products import Measured
from rooflint_calibration.sample import REGIMES
from rooflint_calibration.score import predicted_s

SHIPPED = constants_file(Registry())
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
                seconds = factor * predicted_s(one, chips[device], SHIPPED.constants.products)
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
    values = {name: fact.value for name, fact in found.facts.items()}
    assert values["constants.dram_efficiency.value"] < SHIPPED.constants.products.dram_efficiency
    assert values["constants.overlap.value"] == SHIPPED.constants.products.overlap
    assert found.spec.constants["start_clocks"].folds["ada"] > SHIPPED.specs("products")["start_clocks"].folds["ada"]
    assert found.spec.fit.package == "aiconfigurator-core 0.12.9"
    assert [file.name for file in specs.iterdir()] == [FILE]  # nothing half-written beside it


def test_the_help_needs_no_measurements():
    result = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(app, ["gemm", "--help"])
    assert "score each on the one it has not seen" in result.stdout


# ---- `rooflint calibrate cores`: what it prints and writes, and when a check is red

GOLDEN = Path(__file__).parents[3] / "golden"


@pytest.fixture
def slow_cores(tmp_path):
    """A specs root whose lanes attain less than the shipped ones."""
    text = (PACKAGED / CORES_FILE).read_text(encoding="utf-8")
    changed = with_value(text, ("constants", "fma_efficiency", "value", 0), "0.5")
    (tmp_path / CORES_FILE).write_text(changed, encoding="utf-8")
    return tmp_path


def run_of_commands_calibrate_cores(*arguments):
    pytest.importorskip("scipy")
    return CliRunner(env={"COLUMNS": "120"}).invoke(
        app, ["cores", "--golden", str(GOLDEN), *arguments], catch_exceptions=False
    )


def test_the_shipped_constants_are_reproduced():
    result = run_of_commands_calibrate_cores("--check", "-f", "csv")
    assert result.exit_code == 0, result.output
    assert "4 of 4 constants are reproduced within 2%" in result.output
    assert "volta,neusight-v100-linear,78," in result.output


def test_a_check_names_the_constant_that_moves_and_writes_nothing(slow_cores):
    before = (slow_cores / CORES_FILE).read_text(encoding="utf-8")
    result = run_of_commands_calibrate_cores("--check", "--specs", str(slow_cores))
    assert result.exit_code == 1
    assert "fma_efficiency: the fit is +80" in result.output
    assert (slow_cores / CORES_FILE).read_text(encoding="utf-8") == before


def test_without_a_check_the_file_is_written(slow_cores):
    result = run_of_commands_calibrate_cores("--specs", str(slow_cores))
    assert result.exit_code == 0, result.output
    assert f"wrote 4 constants to {slow_cores / CORES_FILE}" in result.output.replace("\n", "")
    fact = "constants.fma_efficiency.value"
    shipped, written = (read(folder / CORES_FILE).facts[fact].value for folder in (PACKAGED, slow_cores))
    assert written == pytest.approx(shipped, rel=0.02)
