"""Fitting: constants are found again from times that they made; scores are what their names say."""

from dataclasses import replace

import numpy as np
import pytest

from rooflint.coefficients.library import Coefficients
from rooflint.devices.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import constants_file, read
from rooflint.kernels.shapes import shapes
from rooflint_calibration.constants_text import moved, rewritten, shown
from rooflint_calibration.fit import Data, fitted
from rooflint_calibration.leave_out import Calibration, Fold, by_regime
from rooflint_calibration.package import FAMILIES
from rooflint_calibration.products import Measured
from rooflint_calibration.score import predicted_s, roofline_s, score

REGISTRY = Registry()
LAUNCHES = Coefficients(REGISTRY).launches()
FILE = constants_file(REGISTRY)
SHARED = FILE.constants.products
DEVICES = ("nvidia/l40s", "nvidia/h100-sxm5-80gb", "nvidia/h200-sxm-141gb")
CHIPS = {device: chip_of(REGISTRY.get(device), "bf16", LAUNCHES) for device in DEVICES}


@pytest.fixture
def data():
    """What the shipped constants would have measured, of 300 shapes a device."""
    sizes = 2.0 ** np.random.default_rng(1).integers(4, 14, (3, 300))
    found = {}
    for device, chip in CHIPS.items():
        one = Measured(device, shapes(*sizes), np.ones(300), np.full(300, 6.0), {})
        found[device] = replace(one, seconds=predicted_s(one, chip, SHARED))
    return Data(found, CHIPS)


def test_constants_are_found_again_from_the_times_that_they_made(data):
    pytest.importorskip("scipy")
    names = ["dram_efficiency", "start_clocks", "sync_feed_bytes"]
    wrong = replace(SHARED, dram_efficiency=0.7, start_clocks=1000.0, sync_feed_bytes=0.7)
    found = fitted(data, wrong, names)
    assert [getattr(found, name) for name in names] == pytest.approx(
        [getattr(SHARED, name) for name in names], rel=1e-3
    )


def test_families_weigh_alike_however_many_machines_they_have(data):
    few = data.thinned(100)
    assert [len(one) for one in few.measured.values()] == [100, 50, 50]
    assert list(data.without("ada").measured) == ["nvidia/h100-sxm5-80gb", "nvidia/h200-sxm-141gb"]
    assert list(data.of(["ada"]).measured) == ["nvidia/l40s"]


def test_a_score_is_an_error_and_a_lean():
    # |1.2 − 1|, |0.9 − 1|: mean 15 %; √(1.2 × 0.9) = 1.039
    found = score(np.array([1.2, 0.9]), np.array([1.0, 1.0]))
    assert (found.rows, found.mape, found.bias) == (2, pytest.approx(0.15), pytest.approx(0.0392, abs=1e-4))
    assert str(found) == "15.0 % (+3.9)"


def test_regimes_are_scored_over_all_machines_of_a_family(data):
    found = by_regime(data, "hopper", lambda one, chip: one.seconds * 1.1)
    assert found["all"].rows == 600
    assert found["all"].mape == pytest.approx(0.1)
    assert found["small"].rows + found["large"].rows < 600
    assert by_regime(data, "ada", roofline_s)["all"].bias < -0.2  # the roofline knows no launch


def test_the_file_keeps_what_people_wrote(data):
    names = ["overlap"]
    new = replace(SHARED, overlap=2.125)
    fold = Fold(replace(new, overlap=2.0), {}, {})
    text = FILE.file("products").path.read_text(encoding="utf-8")
    fit = {"package": "aiconfigurator-core 0.12.9", "day": "2027-01-31"}
    fresh = rewritten(text, Calibration(new, dict.fromkeys(FAMILIES, fold)), names, fit)
    before, after = text.splitlines(), fresh.splitlines()
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) == 4  # package, day, value, folds
    assert changed[2].strip().startswith("value: [2.125, fit, ")
    assert changed[3].strip() == "folds: {ampere: 2, hopper: 2, ada: 2, blackwell: 2, rtx_pro: 2}"


def test_the_file_says_how_far_off_each_family_is_that_was_left_out(data):
    off = {"all": score(np.array([1.25, 0.75]), np.array([1.0, 1.0]))}
    found = Calibration(
        SHARED,
        {"ada": Fold(SHARED, off, {}), "hopper": Fold(SHARED, {}, {})},
    )
    text = rewritten(FILE.file("products").path.read_text(encoding="utf-8"), found, [], {})
    errors = read(FILE.file("products").path, text).spec.fit.errors
    assert errors == FILE.fit().errors | {"ada": 25.0}
    assert set(errors) == set(FAMILIES)


def test_values_are_written_with_the_digits_that_they_have():
    assert [shown(value) for value in (0.853149, 3911.77, 12345.6)] == ["0.8531", "3912", "12346"]
    assert moved(
        replace(SHARED, overlap=SHARED.overlap * 1.5),
        SHARED,
        ["overlap"],
    ) == {"overlap": pytest.approx(0.5)}
