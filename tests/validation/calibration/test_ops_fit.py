"""Fitting streams and attention: constants are found again from times that they made; the command says what it did."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from pytest_rooflint.cli import calibrate
from rooflint.coefficients.library import Coefficients
from rooflint.devices.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import OPS_GROUPS, constants_file
from rooflint_calibration import ops_fit, package
from rooflint_calibration.ops import OPS
from rooflint_calibration.ops_fit import Fold, OpsCalibration, fitted, scores
from rooflint_calibration.ops_text import moved, rewritten
from rooflint_calibration.rows import Recorded
from rooflint_calibration.score import Score

REGISTRY = Registry()
FILE = constants_file(REGISTRY)
PATH = FILE.file("stream").path
NAMES = {group: FILE.fitted(group) for group in OPS_GROUPS}
DEVICES = ("nvidia/l40s", "nvidia/h100-sxm5-80gb", "nvidia/h200-sxm-141gb")
LAUNCHES = Coefficients(REGISTRY).launches()
CHIPS = {(op, device): chip_of(REGISTRY.get(device), OPS[op].precision, LAUNCHES) for op in OPS for device in DEVICES}


def made(op, device):
    """What the shipped constants would have measured, of 300 shapes."""
    draw = np.random.default_rng(1)
    sizes = 2.0 ** draw.integers(0, 14, (300, 2))
    if op.startswith("fp8"):
        sizes = 2.0 ** draw.integers(4, 14, (300, 3))
    elif op != "quantise":
        heads = 2.0 ** draw.integers(0, 5, 300)
        group = 1.0 if op == "encoder" else 2.0 ** draw.integers(0, 4, 300)
        batch, tokens = 2.0 ** draw.integers(0, 7, 300), sizes[:, 0]
        sizes = np.stack([batch, heads * group, heads, tokens, np.full(300, 128.0)], axis=1)
    one = Recorded(device, sizes, np.ones(300), {})
    return replace(one, seconds=OPS[op].predict(one, CHIPS[op, device], FILE.constants))


@pytest.fixture(scope="module")
def data():
    return {op: {device: made(op, device) for device in DEVICES} for op in OPS}


def test_constants_are_found_again_from_the_times_that_they_made(data):
    pytest.importorskip("scipy")
    right = FILE.constants
    wrong = replace(
        right,
        stream=replace(right.stream, launch_clocks=3000.0, dram_efficiency=0.7),
        prefill=replace(right.prefill, block_clocks=5000.0),
        decode=replace(right.decode, launch_clocks=9000.0),
        quantised=replace(right.quantised, energy_share=0.8),
    )
    found = fitted(data, CHIPS, wrong, NAMES, 300, ["hopper", "ada"])
    assert moved(found, FILE.constants, NAMES) == pytest.approx(dict.fromkeys(moved(found, found, NAMES), 0), abs=2e-3)


def test_what_was_made_by_the_constants_is_predicted_by_them(data):
    found = scores(data, CHIPS, FILE.constants, "hopper")
    for (op, part), (model, plain) in found.items():
        assert model.mape == pytest.approx(0, abs=1e-9), (op, part)
        assert plain.mape > 0.1
    assert found["prefill", "all"][0].rows == 600
    assert {op for op, _ in found} == set(OPS)


def test_a_family_without_a_table_has_no_score(data):
    assert scores(data | {"encoder": {}}, CHIPS, FILE.constants, "hopper").keys().isdisjoint({("encoder", "all")})


def test_the_file_is_rewritten_with_all_that_people_wrote_in_it():
    text = PATH.read_text(encoding="utf-8")
    changed = replace(FILE.constants, stream=replace(FILE.constants.stream, l2_bytes=21.0))
    folds = {family: Fold(changed, {}) for family in FILE.specs("stream")["l2_bytes"].folds}
    found = rewritten(text, OpsCalibration(changed, folds), {"stream": ("l2_bytes",)}, {"day": "2030-01-02"})
    old, new = text.splitlines(), found.splitlines()
    differing = [after for before, after in zip(old, new, strict=True) if before != after]
    assert differing == [
        '  day: "2030-01-02"',
        "    value: [21, fit, least soft L1 loss over all families]",
        "    folds: {ampere: 21, hopper: 21, ada: 21, blackwell: 21, rtx_pro: 21}",
    ]


# ------------------------------------------------------------------------------------------------------------- command


@pytest.fixture
def run(monkeypatch, tmp_path, data):
    """`run(share, *arguments)`: the command, where a fit finds launches that much longer than the shipped file says."""
    (tmp_path / PATH.name).write_text(PATH.read_text(encoding="utf-8"), encoding="utf-8")

    def command(share, *arguments):
        stream = replace(FILE.constants.stream, launch_clocks=FILE.constants.stream.launch_clocks * (1 + share))
        found = replace(FILE.constants, stream=stream)
        folds = {family: Fold(found, {("prefill", "all"): PAIR}) for family in ("ada",)}
        monkeypatch.setattr(ops_fit, "load", lambda *_: (data, CHIPS))
        monkeypatch.setattr(ops_fit, "calibrate", lambda *_: OpsCalibration(found, folds))
        monkeypatch.setattr(package, "data_folder", lambda: tmp_path)
        monkeypatch.setattr(package, "label", lambda: "aiconfigurator-core 0.12.9")
        return CliRunner().invoke(calibrate.app, ["attention", *arguments, "--specs", str(tmp_path)])

    return command


PAIR = (Score(7, 0.236, -0.128), Score(7, 0.594, -0.574))


def test_the_same_constants_are_reproduced_and_nothing_is_written(run):
    found = run(0.001, "--check", "-f", "csv")
    assert found.exit_code == 0
    assert "prefill,ada,all,7,23.6,-12.8,59.4,-57.4" in found.stdout
    assert "11 of 11 constants are reproduced within 2%" in found.stderr


def test_a_constant_that_moves_is_named(run):
    found = run(0.1, "--check")
    assert found.exit_code == 1
    assert "stream.launch_clocks: the fit is +10.0% from the committed one" in found.stderr


def test_the_file_is_written_from_the_package_only(run, tmp_path):
    assert run(0.1, "--data", str(tmp_path)).exit_code == 0
    assert (tmp_path / PATH.name).read_text(encoding="utf-8") == PATH.read_text(encoding="utf-8")
    assert "wrote 11 constants" in run(0.1).stderr
    assert "package: aiconfigurator-core 0.12.9" in (tmp_path / PATH.name).read_text(encoding="utf-8")


# ----------------------------------------------------------------------------------------------------------------- fp8


def test_products_in_fp8_are_scored_on_the_chip_in_fp8(data):
    found = scores(data, CHIPS, FILE.constants, "ada")
    assert found["fp8 by tensor", "all"][0].mape == pytest.approx(0, abs=1e-9)
    assert found["fp8 by block", "m ≤ 16"][1].bias < -0.3


def test_a_device_without_fp8_has_no_score(data):
    assert not any(op.startswith("fp8") for op, _ in scores({op: {} for op in data}, CHIPS, FILE.constants, "ampere"))


def test_a_fold_takes_the_constants_of_products_that_have_not_seen_its_family(data, monkeypatch):
    monkeypatch.setattr(ops_fit, "fitted", lambda data, chips, start, *_: start)
    found = ops_fit.calibrate(data, CHIPS, FILE)
    assert found.constants.products == FILE.constants.products
    assert {family: fold.constants.products for family, fold in found.folds.items()} == {
        family: FILE.without(family).products for family in found.folds
    }
