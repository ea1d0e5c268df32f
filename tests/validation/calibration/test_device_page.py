"""docs/calibration-device.md prints the benefit on published rows and the weights of anchors."""

import re
from pathlib import Path

import pytest

from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import constants_file
from rooflint_calibration import benefit, package
from rooflint_calibration.anchors import DEVIATIONS, deviations
from rooflint_calibration.fits import measured
from rooflint_calibration.package import FAMILIES, NotInstalledError, devices
from rooflint_measure.stopwatches.anchors import ANCHORS

PAGE = (Path(__file__).parents[3] / "docs" / "calibration-device.md").read_text(encoding="utf-8")
REGISTRY = Registry()
FILE = constants_file(REGISTRY)
DEVICES = [device for family in FAMILIES for device in devices(family)]


@pytest.fixture(scope="module")
def data():
    try:
        return package.data_folder()
    except NotInstalledError as error:
        pytest.skip(str(error))


def simulated(data, kind=None):
    return {device: benefit.simulated(device, data, REGISTRY, FILE, kind) for device in DEVICES}


@pytest.fixture(scope="module")
def benefits(data):
    return simulated(data)


NAMES = {"launch": "null", "matrix units, power": "peak", "bandwidth": "streaming"}
"""The label of each kind of anchors on the page."""


def printed(heading, mark):
    """Rows with a mark in the tables below a heading: numbers of each."""
    _, _, rest = PAGE.partition(heading)
    rows = re.findall(rf"^\| ([^|]+) \| (.*{mark}.*) \|$", rest.split("\n## ")[0], re.M)
    return {name: [float(one) for one in re.findall(r"\d+(?:\.\d+)?", cells)] for name, cells in rows}


def test_the_deviations_are_those_of_the_published_rows(data):
    for kind, found in deviations(measured(["gemm"], data, REGISTRY)["gemm"], FILE).items():
        assert DEVIATIONS[kind] == pytest.approx(found, rel=0.02)


def test_the_page_prints_the_deviations_and_their_weights():
    rows = printed("## Weight of a measurement", "product")
    for name, kind in NAMES.items():
        deviation, products = DEVIATIONS[kind], len(ANCHORS[kind])
        said = [100 * deviation.machines, 100 * deviation.shapes, products, round(100 * deviation.weight(products))]
        assert rows[name] == pytest.approx(said)


def test_the_page_prints_the_benefit_on_each_published_gpu(benefits):
    *rows, _ = printed("## Benefit", "→").values()
    for row, found in zip(rows, benefits.values(), strict=True):
        said = [100 * one.mape for regime in benefit.REGIME_LABELS for one in found[regime]]
        assert row == pytest.approx(said, abs=0.06)


def test_the_page_prints_the_mean_of_the_families(benefits):
    said = [100 * one for pair in benefit.mean_of_families(benefits).values() for one in pair]
    assert printed("## Benefit", "→")["mean of the families"] == pytest.approx(said, abs=0.06)


def test_the_page_prints_the_benefit_of_each_figure_by_itself(data, benefits):
    rows = printed("Each figure by itself", r"\.\d\d ")
    before = [100 * old for old, _ in benefit.mean_of_families(benefits).values()]
    after = {"all three": benefits} | {name: simulated(data, kind) for name, kind in NAMES.items()}
    assert rows["nothing"] == pytest.approx(before, abs=0.02)
    for name, found in after.items():
        said = [100 * new for _, new in benefit.mean_of_families(found).values()]
        assert rows[name][:4] == pytest.approx(said, abs=0.02)
