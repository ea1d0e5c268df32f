"""`rooflint calibrate cores`: what it prints and writes, and when a check is red."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pytest_rooflint.commands.calibrate import app
from rooflint.silicon.cuda_cores import FILE, read
from rooflint.specs import PACKAGED
from rooflint.yaml_text import with_value

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture
def specs(tmp_path):
    """A specs root whose lanes attain less than the shipped ones."""
    text = (PACKAGED / FILE).read_text(encoding="utf-8")
    changed = with_value(text, ("constants", "fma_efficiency", "value", 0), "0.5")
    (tmp_path / FILE).write_text(changed, encoding="utf-8")
    return tmp_path


def run(*arguments):
    pytest.importorskip("scipy")
    return CliRunner(env={"COLUMNS": "120"}).invoke(
        app, ["cores", "--golden", str(GOLDEN), *arguments], catch_exceptions=False
    )


def test_the_shipped_constants_are_reproduced():
    result = run("--check", "-f", "csv")
    assert result.exit_code == 0, result.output
    assert "4 of 4 constants are reproduced within 2%" in result.output
    assert "volta,neusight-v100-linear,78," in result.output


def test_a_check_names_the_constant_that_moves_and_writes_nothing(specs):
    before = (specs / FILE).read_text(encoding="utf-8")
    result = run("--check", "--specs", str(specs))
    assert result.exit_code == 1
    assert "fma_efficiency: the fit is +80" in result.output
    assert (specs / FILE).read_text(encoding="utf-8") == before


def test_without_a_check_the_file_is_written(specs):
    result = run("--specs", str(specs))
    assert result.exit_code == 0, result.output
    assert f"wrote 4 constants to {specs / FILE}" in result.output.replace("\n", "")
    shipped = read(PACKAGED / FILE).constants
    assert read(specs / FILE).constants.fma_efficiency == pytest.approx(shipped.fma_efficiency, rel=0.02)
