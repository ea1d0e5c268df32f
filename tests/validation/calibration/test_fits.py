"""The three fits find the constants that made the times."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import OPS_GROUPS, CoreConstants, constants_file, names
from rooflint_calibration import fits
from rooflint_calibration.fit import calibrate, fitted, relative_changes, scores
from rooflint_calibration.package import FAMILIES
from rooflint_calibration.rows import Rows
from rooflint_calibration.topics import BESIDE_PRODUCTS, TOPICS

REGISTRY = Registry()
FILE = constants_file(REGISTRY)
GOLDEN = Path(__file__).parents[3] / "golden"
DEVICES = ("nvidia/l40s", "nvidia/h100-sxm5-80gb", "nvidia/h200-sxm-141gb")
LAUNCHES = Coefficients(REGISTRY).launches()


def chip(device, precision="bf16"):
    return chip_of(REGISTRY.get(device), precision, LAUNCHES)


def of(samples, family):
    return [one for one in samples if one.family == family]


# ---- Matrix products


@pytest.fixture
def products():
    """What the shipped constants would have measured, of 300 shapes a device."""
    gemm, found = TOPICS["gemm"], {}
    sizes = np.column_stack([*2.0 ** np.random.default_rng(1).integers(4, 14, (3, 300)), np.full(300, 6.0)])
    for device in DEVICES:
        seconds = gemm.predict(sizes, chip(device), FILE.constants)
        found[device] = Rows(device, gemm.columns, sizes, seconds, {"slow": 3}), chip(device)
    return {"gemm": found}


def test_constants_of_products_are_found_again(products):
    pytest.importorskip("scipy")
    wrong = replace(FILE.constants.products, dram_efficiency=0.7, start_clocks=1000.0, sync_feed_bytes=0.7)
    fit = fits.gemm_fit(
        products,
        replace(FILE.constants, products=wrong),
        ["dram_efficiency", "start_clocks", "sync_feed_bytes"],
        600,
    )
    found = relative_changes(fitted(fit.steps, fit.start), FILE.constants, fit.names)
    assert found == pytest.approx(dict.fromkeys(found, 0), abs=1e-3)


def test_families_weigh_alike_however_many_devices_they_have(products):
    fit = fits.gemm_fit(products, FILE.constants, ["overlap"], 100)
    samples = [(one.family, len(one.seconds)) for one in fit.steps[0].samples]
    assert samples == [("hopper", 50), ("hopper", 50), ("ada", 100)]
    assert [len(one.seconds) for one in fit.scored] == [300, 300, 300]
    assert fit.notes[0] == "gemm: 900 rows; left out: {'slow': 9}"


def test_the_baseline_of_products_is_the_roofline(products):
    fit = fits.gemm_fit(products, FILE.constants, ["overlap"], 100)
    model, baseline = scores(of(fit.scored, "ada"), FILE.constants)["gemm", "all"]
    assert model.mape == pytest.approx(0, abs=1e-9)
    assert baseline.bias < -0.2  # the roofline has no launch


# ---- Streams, attention and FP8


def made(op, device):
    """What the shipped constants would have measured, of 300 shapes."""
    random = np.random.default_rng(1)
    sizes = 2.0 ** random.integers(0, 14, (300, 2))
    if op.startswith("fp8"):
        sizes = 2.0 ** random.integers(4, 14, (300, 3))
    elif op != "quantise":
        heads = 2.0 ** random.integers(0, 5, 300)
        group = 1.0 if op == "encoder" else 2.0 ** random.integers(0, 4, 300)
        batch, tokens = 2.0 ** random.integers(0, 7, 300), sizes[:, 0]
        sizes = np.stack([batch, heads * group, heads, tokens, np.full(300, 128.0)], axis=1)
    topic, on = TOPICS[op], chip(device, TOPICS[op].precision)
    return Rows(device, topic.columns, sizes, topic.predict(sizes, on, FILE.constants)), on


@pytest.fixture(scope="module")
def recorded():
    return {op: {device: made(op, device) for device in DEVICES} for op in BESIDE_PRODUCTS}


def test_constants_of_other_ops_are_found_again(recorded):
    pytest.importorskip("scipy")
    right = FILE.constants
    wrong = replace(
        right,
        stream=replace(right.stream, launch_clocks=3000.0, dram_efficiency=0.7),
        prefill=replace(right.prefill, block_clocks=5000.0),
        decode=replace(right.decode, launch_clocks=9000.0),
        quantised=replace(right.quantised, energy_share=0.8),
    )
    few = {op: {name: (one.picked(150), on) for name, (one, on) in ones.items()} for op, ones in recorded.items()}
    fit = fits.ops_fit(few, FILE)
    found = relative_changes(fitted(fit.steps, wrong), right, fit.names)
    assert set(fit.names) == set(OPS_GROUPS)
    assert found == pytest.approx(dict.fromkeys(found, 0), abs=2e-3)


def test_other_ops_are_scored_part_by_part(recorded):
    fit = fits.ops_fit(recorded, FILE)
    found = scores(of(fit.scored, "hopper"), FILE.constants)
    for (op, part), (model, baseline) in found.items():
        assert model.mape == pytest.approx(0, abs=1e-9), (op, part)
        assert baseline.mape > 0.1
    assert next(iter(found.values()))[0].rows == 600
    assert {op for op, _ in found} == {TOPICS[op].title for op in BESIDE_PRODUCTS}


def test_a_family_without_measurements_of_an_op_has_no_score(recorded):
    fit = fits.ops_fit(recorded | {"encoder": {}}, FILE)
    assert not any(op == "encoder" for op, _ in scores(of(fit.scored, "hopper"), FILE.constants))


def test_a_fold_of_other_ops_takes_the_constants_of_products_without_the_family(recorded):
    fit = fits.ops_fit(recorded, FILE)
    assert {family: one.products for family, one in fit.starts.items()} == {
        family: FILE.without(family).products for family in FAMILIES
    }
    assert all(one.stream == FILE.constants.stream for one in fit.starts.values())


# ---- FP32 on CUDA cores

OTHER = CoreConstants(fma_efficiency=0.95, other_instructions=0.2, energy_pj_per_nm=2.2, transform_efficiency=0.6)
CORES = fits.cores_fit([GOLDEN], REGISTRY)


def took(fit, factor=lambda family: 1.0):
    """The same fit on GPUs that take what OTHER predicts, times a factor by family."""
    constants = replace(FILE.constants, cores=OTHER)

    def on(one):
        return replace(one, seconds=factor(one.family) * one.predict(constants))

    steps = [replace(step, samples=[on(one) for one in step.samples]) for step in fit.steps]
    return replace(fit, steps=steps, scored=[on(one) for one in fit.scored])


def test_tables_of_six_families_and_all_constants_of_cores_are_there():
    assert set(CORES.starts) == {"ampere", "hopper", "ada", "turing", "volta", "pascal"}
    assert {*CORES.names["cores"]} == set(names("cores"))
    assert all(step.samples for step in CORES.steps)


def test_a_folder_without_tables_is_an_error(tmp_path):
    with pytest.raises(RooflintError, match=r"^no table of products or convolutions in fp32 in .*published$"):
        fits.cores_fit([tmp_path], REGISTRY)


def test_every_table_weighs_as_if_it_had_a_hundred_rows():
    weights = [one.weight**2 * len(one.seconds) for step in CORES.steps for one in step.samples]
    assert weights == pytest.approx([100] * len(weights))


def test_constants_of_cores_are_found_again_and_a_fold_does_not_see_its_family():
    pytest.importorskip("scipy")
    made, slow = took(CORES), took(CORES, lambda family: 2.0 if family == "turing" else 1.0)
    few = {"turing": CORES.start}
    found, with_turing = calibrate(replace(made, starts=few)), calibrate(replace(slow, starts=few))
    right = replace(FILE.constants, cores=OTHER)
    assert all(abs(share) < 0.01 for share in relative_changes(found.constants, right, CORES.names).values())
    assert with_turing.folds["turing"].constants == found.folds["turing"].constants
    # twice as slow as predicted
    assert with_turing.scores["neusight-t4-linear", "turing", "all"][0].bias == pytest.approx(-0.5, abs=0.02)
    assert with_turing.constants != found.constants


def test_without_convolutions_transforms_stay():
    pytest.importorskip("scipy")
    products = took(CORES).steps[:1]
    found = fitted([*products, replace(CORES.steps[1], samples=[])], CORES.start)
    assert found.cores.transform_efficiency == CORES.start.cores.transform_efficiency
