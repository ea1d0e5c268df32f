"""docs/calibration-device.md prints the benefit on published rows and the weights of anchors."""

import re
from pathlib import Path

import numpy as np
import pytest

from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import constants_file
from rooflint.kernels.gemm import launch_s
from rooflint_calibration import anchors, package
from rooflint_calibration.anchors import DEVIATIONS, Deviation, Setting, of_kind, of_published
from rooflint_calibration.fits import measured
from rooflint_calibration.package import FAMILY_OF, NotInstalledError, family_of
from rooflint_calibration.rows import ELEMENT_BYTES
from rooflint_calibration.topics import TOPICS
from rooflint_measure.stopwatches.anchors import ANCHORS

PAGE = (Path(__file__).parents[3] / "docs" / "calibration-device.md").read_text(encoding="utf-8")
REGISTRY = Registry()
FILE = constants_file(REGISTRY)


@pytest.fixture(scope="module")
def data():
    try:
        return package.data_folder()
    except NotInstalledError as error:
        pytest.skip(str(error))


def simulated(data, kind=None):
    """The benefit with anchors, or those of a kind, taken from the published rows themselves."""

    def chosen(device):
        topic = TOPICS["gemm"]
        taken = of_published(topic.read(data, device, topic.chip(REGISTRY, device)))
        return of_kind(taken, kind) if kind else taken

    return {device: anchors.benefit(device, data, REGISTRY, FILE, chosen(device)) for device in FAMILY_OF}


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


MIDDLE = (0.16, 0.84)
"""Quantiles two standard deviations apart if errors are normal."""

STREAMS_OVER_L2 = 4
"""Weights of so many times L2 come from memory."""


def deviations(products):
    """How much predictions without the family deviate between GPUs and between shapes, by kind of anchor."""
    inside = TOPICS["gemm"].inside
    known = [(rows, Setting(chip, FILE.without(family_of(name)), "bf16")) for name, (rows, chip) in products.items()]

    def deviation(error, which):
        errors = [error(rows.only(which(rows, setting.chip)), setting) for rows, setting in known]
        machines = np.std([np.median(some) for some in errors], ddof=1)
        return Deviation(machines, np.mean([np.diff(np.quantile(some, MIDDLE)) / 2 for some in errors]))

    launches = [launch_errors(of_kind(of_published(rows), "null"), setting) for rows, setting in known]
    small = deviation(launch_errors, lambda rows, chip: inside("small", rows.sizes))
    return {
        "null": Deviation(small.machines, np.sqrt(np.mean([some.var(ddof=1) for some in launches]))),
        "peak": deviation(log_errors, lambda rows, chip: inside("large", rows.sizes)),
        "streaming": deviation(log_errors, lambda rows, chip: inside("narrow", rows.sizes) & streams(rows, chip)),
    }


def streams(rows, chip):
    return ELEMENT_BYTES * rows["n"] * rows["k"] > STREAMS_OVER_L2 * chip.l2_bytes


def log_errors(rows, setting):
    """ln(predicted / measured). [1]"""
    return np.log(setting.predicted_s(rows) / rows.seconds)


def launch_errors(rows, setting):
    """Measured less predicted, in launches. [1]"""
    return (rows.seconds - setting.predicted_s(rows)) / launch_s(setting.chip, setting.constants.products)


def test_the_deviations_are_those_of_the_published_rows(data):
    for kind, found in deviations(measured(["gemm"], data, REGISTRY)["gemm"]).items():
        assert DEVIATIONS[kind] == pytest.approx(found, rel=0.02)


def test_the_page_prints_the_deviations_and_their_weights():
    rows = printed("## Weight of a measurement", "product")
    for name, kind in NAMES.items():
        deviation, products = DEVIATIONS[kind], len(ANCHORS[kind])
        message = [100 * deviation.machines, 100 * deviation.shapes, products, round(100 * deviation.weight(products))]
        assert rows[name] == pytest.approx(message)


def test_the_page_prints_the_benefit_on_each_published_gpu(benefits):
    *rows, _ = printed("## Benefit", "→").values()
    for row, found in zip(rows, benefits.values(), strict=True):
        message = [100 * one.mape for regime in anchors.REGIME_LABELS for one in found[regime]]
        assert row == pytest.approx(message, abs=0.06)


def test_the_page_prints_the_mean_of_the_families(benefits):
    message = [100 * one for pair in anchors.mean_of_families(benefits).values() for one in pair]
    assert printed("## Benefit", "→")["mean of the families"] == pytest.approx(message, abs=0.06)


def test_the_page_prints_the_benefit_of_each_figure_by_itself(data, benefits):
    rows = printed("Each figure by itself", r"\.\d\d ")
    before = [100 * old for old, _ in anchors.mean_of_families(benefits).values()]
    after = {"all three": benefits} | {name: simulated(data, kind) for name, kind in NAMES.items()}
    assert rows["nothing"] == pytest.approx(before, abs=0.02)
    for name, found in after.items():
        message = [100 * new for _, new in anchors.mean_of_families(found).values()]
        assert rows[name][:4] == pytest.approx(message, abs=0.02)
