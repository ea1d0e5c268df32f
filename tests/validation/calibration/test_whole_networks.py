"""Errors of whole networks: each row without the family of its GPU, and written where predictions quote them."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pytest_rooflint.cli.calibrate import app
from pytest_rooflint.golden.workloads import build
from rooflint.base.errors import RooflintError
from rooflint.base.strict_yaml import with_value
from rooflint.energy.model import Energies
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint.kernels.constants import PRODUCTS, constants_file, read
from rooflint.prediction.predict import SILICON
from rooflint_calibration import networks, whole_networks
from rooflint_calibration.whole_networks import Held, rewritten

REGISTRY = Registry()
GOLDEN = Path(__file__).parents[3] / "golden"
SHIPPED = (PACKAGED / PRODUCTS).read_text(encoding="utf-8")

TABLE = """\
title: A layer on two GPUs
workload: {mlp: [4096, 4096]}
precision: int8
fuse: true
source: {document: Some paper, where: table 3, grade: read}
why: two rows, and one of a device without kernel models
rows:
  - {device: nvidia/t4, per_s: 2000, accelerators: 1, batch: 8, launch: graph, round: v0, submitter: A, system: a}
  - {device: nvidia/l4, per_s: 4000, accelerators: 1, batch: 8, launch: stream, round: v0, submitter: B, system: b}
  - {device: amd/mi300x, per_s: 4000, accelerators: 1, batch: 8, launch: stream, round: v0, submitter: B, system: b}
"""

HELD = Held(
    "net",
    "A net: of two",
    "int8",
    False,
    ["ada", "hopper", "ada"],
    np.array([1.2, 2.0, 1.0]),
    np.array([1.0, 4.0, 1.0]),
)


def test_errors_are_of_all_rows_and_of_each_family():
    found = HELD.errors("Net")
    # |1.2 − 1|, |0.5 − 1| and 0: mean 23.3 %; (1.2 · 0.5)^(1/3) − 1
    assert (found.rows, found.error, found.bias) == (3, 23.3, round(100 * (0.6 ** (1 / 3) - 1), 1))
    assert {name: (one.rows, one.error) for name, one in found.families.items()} == {
        "ada": (2, 10.0),
        "hopper": (1, 50.0),
    }
    assert (found.name, found.precision, found.writes) == ("Net", "int8", False)


def test_each_row_is_predicted_without_the_family_of_its_device():
    of, shared = networks.held_out(REGISTRY), Energies.of(REGISTRY)
    ada = of(REGISTRY.get("nvidia/l4")).silicon
    assert ada == constants_file(REGISTRY).without("ada")
    assert ada != shared.silicon
    assert of(REGISTRY.get("nvidia/t4")).silicon.products == shared.silicon.products  # Turing is in no fit of products
    assert Energies.of(REGISTRY).silicon is shared.silicon


def test_rows_without_kernel_models_are_left_out(write_table, tmp_path):
    write_table(networks.FOLDER, TABLE, "layer")
    (found,) = whole_networks.held_out([tmp_path], REGISTRY, build)
    assert (found.slug, found.families, len(found.seconds)) == ("layer", ["turing", "ada"], 2)
    table = networks.read(tmp_path / networks.FOLDER / "layer.yaml")
    rows = table.spec.model_copy(update={"rows": table.spec.rows[:2]})
    alone = networks.NetworkTable(table.file, rows, table.lines)
    unseen = networks.held_out(REGISTRY)
    wanted = networks.predicted_s(alone, build(rows.workload), REGISTRY, SILICON, energies=unseen)
    assert found.predicted_s.tolist() == wanted.tolist()


def test_folders_without_a_table_are_refused(tmp_path):
    with pytest.raises(RooflintError, match="no table of networks in "):
        whole_networks.held_out([tmp_path], REGISTRY, build)


def test_the_errors_of_a_file_are_replaced_and_all_else_stays(tmp_path):
    file = tmp_path / PRODUCTS
    file.write_text(rewritten(SHIPPED, {"net": HELD.errors(HELD.title)}), encoding="utf-8")
    found, shipped = read(file).spec, read(PACKAGED / PRODUCTS).spec
    assert found.fit.networks == {"net": HELD.errors("A net: of two")}
    assert found.constants == shipped.constants
    assert found.fit.model_copy(update={"networks": {}}) == shipped.fit.model_copy(update={"networks": {}})
    assert rewritten(file.read_text(encoding="utf-8"), shipped.fit.networks) == SHIPPED


def test_a_file_without_a_place_for_them_is_refused():
    with pytest.raises(RooflintError, match="has no 'networks:' below 'fit:'"):
        rewritten("fit:\n  day: x\n", {})


def calibrated(*words):
    return CliRunner().invoke(app, ["networks", "--golden", str(GOLDEN), *words])


@pytest.mark.slow
def test_the_shipped_errors_are_those_of_the_shipped_constants():
    found = calibrated("--check")
    assert found.exit_code == 0, found.output


@pytest.mark.slow
def test_a_check_names_a_table_whose_errors_changed_and_a_run_mends_them(tmp_path):
    file = tmp_path / PRODUCTS
    file.write_text(with_value(SHIPPED, ("fit", "networks", "mlperf-bert", "error"), "1.0"), encoding="utf-8")
    options = ("--specs", str(tmp_path), "--specs", str(PACKAGED))
    checked = calibrated("--check", *options)
    assert checked.exit_code == 1
    assert "mlperf-bert: the errors in " in checked.output
    assert "mlperf-resnet50: the errors" not in checked.output
    assert calibrated(*options).exit_code == 0
    assert file.read_text(encoding="utf-8") == SHIPPED
