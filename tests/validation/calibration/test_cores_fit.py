"""The fit of CUDA cores: that it finds what tables were made of, and never looks at the family it scores on."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rooflint.base.errors import RooflintError
from rooflint.devices.registry import Registry
from rooflint.kernels import winograd
from rooflint.kernels.constants import CoreConstants, constants_file, names, read
from rooflint_calibration import against_published, cores_fit
from rooflint_calibration.cores_fit import PRODUCTS, TRANSFORMED, TRANSFORMS, calibrate, fitted, load
from rooflint_calibration.cores_text import moved, rewritten

REGISTRY = Registry()
FILE = constants_file(REGISTRY)
GOLDEN = Path(__file__).parents[3] / "golden"
TABLES = load([GOLDEN], REGISTRY)
OTHER = CoreConstants(fma_efficiency=0.95, other_instructions=0.2, energy_pj_per_nm=2.2, transform_efficiency=0.6)


def took(table, cores):
    """The same table on a machine that takes what the constants say, with the algorithm that each row ran."""
    on = table.on(cores)
    seconds = against_published.predicted_s(on.rows, on.given)
    if on.rows.spec.op == "convolution":
        sizes, given = against_published.convolutions(on.rows), on.given
        ways = winograd.ways_s(sizes, given.chip, given.products, given.ops.stream, cores, element_bytes=4)
        beside = against_published.beside_s(on.rows, given) - against_published.gap_s(given)
        ran = on.rows.sizes[against_published.RAN] == TRANSFORMED
        seconds = np.where(ran, ways["transformed"] + beside, seconds)
    return replace(table, rows=replace(table.rows, seconds=seconds))


MADE = [took(table, OTHER) for table in TABLES]


def test_tables_of_both_kinds_and_of_six_families_are_there():
    families = {table.family for table in TABLES}
    assert families == {"ampere", "hopper", "ada", "turing", "volta", "pascal"}
    assert {table.rows.spec.op for table in TABLES} == {"gemm", "convolution"}
    assert {*PRODUCTS, *TRANSFORMS} == set(names("cores"))


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(RooflintError, match=r"^no table of products or convolutions in fp32 in .*published$"):
        load([tmp_path], REGISTRY)


def test_it_finds_the_constants_that_tables_were_made_of():
    pytest.importorskip("scipy")
    found = fitted(MADE, FILE.constants.cores)
    assert all(abs(share) < 0.01 for share in moved(found, OTHER).values())


@pytest.mark.parametrize("rows", [1, 20, 300])
def test_each_table_counts_alike_however_long_it_is(rows):
    assert np.square(cores_fit._alike(np.full(rows, 0.1))).sum() == pytest.approx(100 * 0.1**2)


def test_a_family_that_is_left_out_does_not_move_its_own_constants():
    pytest.importorskip("scipy")
    slow = [
        replace(table, rows=replace(table.rows, seconds=table.rows.seconds * 2)) if table.family == "turing" else table
        for table in MADE
    ]
    with_turing, made = calibrate(slow, FILE.constants.cores), calibrate(MADE, FILE.constants.cores)
    assert with_turing.folds["turing"].constants == made.folds["turing"].constants
    # twice as slow as the constants say: half is predicted
    assert with_turing.folds["turing"].scores["neusight-t4-linear"][0].bias == pytest.approx(-0.5, abs=0.02)
    assert with_turing.constants != made.constants


def test_without_convolutions_transforms_stay():
    pytest.importorskip("scipy")
    products = [table for table in MADE if table.rows.spec.op == "gemm"]
    assert fitted(products, FILE.constants.cores).transform_efficiency == FILE.constants.cores.transform_efficiency


def test_the_committed_constants_are_what_the_tables_say():
    pytest.importorskip("scipy")
    found = cores_fit.fitted(TABLES, FILE.constants.cores)
    assert all(abs(share) < 0.02 for share in moved(found, FILE.constants.cores).values())


def test_a_calibration_is_written_where_the_values_stand():
    pytest.importorskip("scipy")
    text = FILE.file("cores").path.read_text(encoding="utf-8")
    made = calibrate(MADE, FILE.constants.cores)
    after = read(FILE.file("cores").path, rewritten(text, made, "2027-01-31"))
    found = after.spec.constants["energy_pj_per_nm"]
    assert after.facts["constants.energy_pj_per_nm.value"].value == pytest.approx(2.2, rel=0.01)
    assert found.folds["ada"] == pytest.approx(2.2, rel=0.01)
    assert after.spec.fit.day == "2027-01-31"
    assert after.spec.constants["fma_efficiency"].meaning == FILE.specs("cores")["fma_efficiency"].meaning
