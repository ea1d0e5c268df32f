"""`rooflint calibrate gemm`, `attention`, `cores`: what they print and write, and when a check fails."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pytest_rooflint.cli import calibrate
from pytest_rooflint.cli.calibrate import app
from rooflint.base.strict_yaml import with_value
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint.kernels.constants import CORES as CORES_FILE
from rooflint.kernels.constants import PRODUCTS as FILE
from rooflint.kernels.constants import constants_file, read
from rooflint_calibration import fits, package
from rooflint_calibration.evaluation import Score
from rooflint_calibration.fits import Calibration, Fold
from rooflint_calibration.package import FAMILIES, NotInstalledError, devices
from rooflint_calibration.rows import Rows
from rooflint_calibration.topics import BESIDE_PRODUCTS, TOPICS

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
    """The command on GPUs that took what the shipped constants predict, times a factor."""

    def ran(*arguments, factor=1.0):
        def measured(topics, data, registry, progress=None):
            sizes = np.column_stack([*2.0 ** np.random.default_rng(3).integers(0, 15, (3, 200)), np.full(200, 6.0)])
            gemm, found = TOPICS["gemm"], {}
            for device in (name for family in FAMILIES for name in devices(family)):
                chip = gemm.chip(registry, device)
                seconds = factor * gemm.predict(sizes, chip, SHIPPED.constants)
                found[device] = Rows(device, gemm.columns, sizes, seconds, {"faster than light": 0}), chip
            return {"gemm": found}

        monkeypatch.setattr(fits, "measured", measured)
        monkeypatch.setattr(package, "data_folder", lambda: specs)
        monkeypatch.setattr(package, "label", lambda: "aiconfigurator-core 0.12.9")
        return CliRunner().invoke(app, ["gemm", "--specs", str(specs), *arguments], catch_exceptions=False)

    return ran


def test_a_check_reproduces_the_constants_and_writes_nothing(run, specs):
    pytest.importorskip("scipy")
    before = (specs / FILE).read_text(encoding="utf-8")
    result = run("--check", "-f", "csv")
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (0, "2 of 2 constants are reproduced within 2%")
    assert "gemm: 1800 rows; left out: none" in result.stderr
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(row["left out"], row["regime"]) for row in rows] == [
        (family, regime) for family in FAMILIES for regime in TOPICS["gemm"].regimes
    ]
    assert {row["error %"] for row in rows} == {"0.0"}
    assert (specs / FILE).read_text(encoding="utf-8") == before


def test_a_check_fails_if_a_constant_changes(run):
    pytest.importorskip("scipy")
    result = run("--check", factor=1.3)
    assert result.exit_code == 1
    assert "products.start_clocks: the fit is +" in result.stderr
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
    assert "score each fold on its family" in result.stdout


# ---- `rooflint calibrate cores`

GOLDEN = Path(__file__).parents[3] / "golden"


@pytest.fixture
def slow_specs(tmp_path):
    """A specs root whose lanes attain less than the shipped ones."""
    text = (PACKAGED / CORES_FILE).read_text(encoding="utf-8")
    changed = with_value(text, ("constants", "fma_efficiency", "value", 0), "0.5")
    (tmp_path / CORES_FILE).write_text(changed, encoding="utf-8")
    return tmp_path


def run_cores(*arguments):
    pytest.importorskip("scipy")
    return CliRunner(env={"COLUMNS": "120"}).invoke(
        app, ["cores", "--golden", str(GOLDEN), *arguments], catch_exceptions=False
    )


def test_the_shipped_constants_of_cores_are_reproduced():
    result = run_cores("--check", "-f", "csv")
    assert result.exit_code == 0, result.output
    assert "4 of 4 constants are reproduced within 2%" in result.output
    assert "volta,neusight-v100-linear,78," in result.output


def test_a_check_of_cores_names_the_constant_that_changes_and_writes_nothing(slow_specs):
    before = (slow_specs / CORES_FILE).read_text(encoding="utf-8")
    result = run_cores("--check", "--specs", str(slow_specs))
    assert result.exit_code == 1
    assert "cores.fma_efficiency: the fit is +80" in result.output
    assert (slow_specs / CORES_FILE).read_text(encoding="utf-8") == before


def test_without_a_check_the_file_of_cores_is_written(slow_specs):
    result = run_cores("--specs", str(slow_specs))
    assert result.exit_code == 0, result.output
    assert f"wrote 4 constants to {slow_specs / CORES_FILE}" in result.output.replace("\n", "")
    found, shipped = (read(root / CORES_FILE).spec.constants["fma_efficiency"] for root in (slow_specs, PACKAGED))
    assert found.folds.keys() == shipped.folds.keys()
    assert constants_file(Registry([slow_specs, PACKAGED])).constants.cores.fma_efficiency == pytest.approx(
        SHIPPED.constants.cores.fma_efficiency, rel=0.02
    )


def test_without_the_library_that_fits_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setattr(package, "find_spec", lambda name: None)
    with pytest.raises(NotInstalledError, match=r"^scipy is not installed; pip install 'rooflint\[silicon\]'$"):
        CliRunner().invoke(app, ["cores", "--golden", str(GOLDEN), "--check"], catch_exceptions=False)


# ---- `rooflint calibrate attention`


@pytest.fixture
def run_attention(monkeypatch, tmp_path):
    """`run_attention(share, *arguments)`: the command, with a fit that finds longer launches by that share."""
    file = SHIPPED.file("stream").path
    (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")

    def command(share, *arguments):
        launch = SHIPPED.constants.stream.launch_clocks * (1 + share)
        constants = replace(SHIPPED.constants, stream=replace(SHIPPED.constants.stream, launch_clocks=launch))
        pair = Score(7, 0.236, -0.128), Score(7, 0.594, -0.574)
        found = Calibration(constants, {"ada": Fold(constants, {("prefill", "all"): pair})})
        monkeypatch.setattr(fits, "measured", lambda topics, *_: {topic: {} for topic in BESIDE_PRODUCTS})
        monkeypatch.setattr(calibrate, "calibrate", lambda *_: found)
        monkeypatch.setattr(package, "data_folder", lambda: tmp_path)
        monkeypatch.setattr(package, "label", lambda: "aiconfigurator-core 0.12.9")
        return CliRunner().invoke(app, ["attention", *arguments, "--specs", str(tmp_path)], catch_exceptions=False)

    return command


def test_the_same_constants_are_reproduced_and_their_scores_printed(run_attention):
    found = run_attention(0.001, "--check", "-f", "csv")
    assert found.exit_code == 0
    assert "prefill,ada,all,7,23.6,-12.8,59.4,-57.4" in found.stdout
    assert "quantise: 0 rows; left out: none" in found.stderr
    assert "11 of 11 constants are reproduced within 2%" in found.stderr


def test_a_constant_of_a_stream_that_changes_is_named(run_attention):
    found = run_attention(0.1, "--check")
    assert found.exit_code == 1
    assert "stream.launch_clocks: the fit is +10.0% from the committed one" in found.stderr


def test_the_file_is_written_only_from_the_package(run_attention, tmp_path):
    file = SHIPPED.file("stream").path
    assert run_attention(0.1, "--data", str(tmp_path)).exit_code == 0
    assert (tmp_path / file.name).read_text(encoding="utf-8") == file.read_text(encoding="utf-8")
    assert "wrote 11 constants" in run_attention(0.1).stderr
    assert "package: aiconfigurator-core 0.12.9" in (tmp_path / file.name).read_text(encoding="utf-8")
