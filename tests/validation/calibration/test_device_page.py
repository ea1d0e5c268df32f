"""docs/calibration-device.md prints what the published rows say, and anchors weigh what they say."""

import re
from pathlib import Path

import pytest

from rooflint.devices.registry import Registry
from rooflint.kernels.constants import constants_file
from rooflint_calibration import gain, package
from rooflint_calibration import gain as gain_said
from rooflint_calibration.anchored import SPREADS
from rooflint_calibration.leave_out import load
from rooflint_calibration.package import FAMILIES, NotInstalledError, devices
from rooflint_calibration.spreads import spreads
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
    return {device: gain.simulated(device, data, REGISTRY, FILE, kind) for device in DEVICES}


@pytest.fixture(scope="module")
def gains(data):
    return simulated(data)


NAMES = {"launch": "null", "matrix units, power": "peak", "bandwidth": "streaming"}
"""What the page calls that which a kind of anchors tells."""


def printed(heading, mark):
    """Rows with a mark in the tables below a heading: numbers of each."""
    _, _, rest = PAGE.partition(heading)
    rows = re.findall(rf"^\| ([^|]+) \| (.*{mark}.*) \|$", rest.split("\n## ")[0], re.M)
    return {name: [float(one) for one in re.findall(r"\d+(?:\.\d+)?", cells)] for name, cells in rows}


def test_the_spreads_are_those_of_the_published_rows(data):
    for kind, found in spreads(load(data, REGISTRY), FILE).items():
        assert SPREADS[kind] == pytest.approx(found, rel=0.02)


def test_the_page_prints_the_spreads_and_their_weights():
    rows = printed("## Weight of a measurement", "product")
    for name, kind in NAMES.items():
        spread, products = SPREADS[kind], len(ANCHORS[kind])
        said = [100 * spread.machines, 100 * spread.shapes, products, round(100 * spread.weight(products))]
        assert rows[name] == pytest.approx(said)


def test_the_page_prints_what_anchors_buy_on_each_published_gpu(gains):
    *rows, _ = printed("## Benefit", "→").values()
    for row, found in zip(rows, gains.values(), strict=True):
        said = [100 * one.mape for regime in gain_said.WHERE for one in found[regime]]
        assert row == pytest.approx(said, abs=0.06)


def test_the_page_prints_the_mean_of_the_families(gains):
    said = [100 * one for pair in gain_said.mean_of_families(gains).values() for one in pair]
    assert printed("## Benefit", "→")["mean of the families"] == pytest.approx(said, abs=0.06)


def test_the_page_prints_what_each_figure_buys_by_itself(data, gains):
    rows = printed("Each figure by itself", r"\.\d\d ")
    before = [100 * old for old, _ in gain_said.mean_of_families(gains).values()]
    after = {"all three": gains} | {name: simulated(data, kind) for name, kind in NAMES.items()}
    assert rows["nothing"] == pytest.approx(before, abs=0.02)
    for name, found in after.items():
        said = [100 * new for _, new in gain_said.mean_of_families(found).values()]
        assert rows[name][:4] == pytest.approx(said, abs=0.02)
