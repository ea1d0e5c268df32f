"""Fits: steps, folds, scores and files, and whether the three fits find the constants that made the times."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rooflint.base.errors import RooflintError
from rooflint.base.shards import Workers
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import OPS_GROUPS, CoreConstants, constants_file, names, read
from rooflint.kernels.kernel import Regimes
from rooflint_calibration import fits, package, published
from rooflint_calibration.evaluation import score
from rooflint_calibration.fits import (
    Calibration,
    Fit,
    Fold,
    Sample,
    Step,
    alpha_beta_scores,
    calibrate,
    fitted,
    format_constant,
    relative_changes,
    rewritten,
    scores,
)
from rooflint_calibration.package import FAMILIES, NotInstalledError
from rooflint_calibration.rows import Rows
from rooflint_calibration.topics import BESIDE_PRODUCTS, TOPICS

FILE = constants_file(Registry())
START = FILE.constants
WORK = np.array([1.0, 2.0, 4.0])


def sample(clocks, family="ada", subject="gemm"):
    """Rows that take WORK times so many clocks of a launch."""
    parts = {"all": np.full(3, True), "long": np.array([False, True, True]), "none": np.full(3, False)}
    return Sample(subject, family, clocks * WORK, lambda one: one.products.start_clocks * WORK, WORK, parts)


def with_launch(clocks):
    return replace(START, products=replace(START.products, start_clocks=clocks))


@pytest.fixture
def solver(monkeypatch):
    """Gauss and Newton's method in the place of scipy's, and the options that it was called with."""
    called = SimpleNamespace(options=None)

    def least_squares(residuals, start, **options):
        called.options, x = options, start
        for _ in range(8):
            here = residuals(x)
            slopes = [(residuals(x + 1e-6 * one) - here) / 1e-6 for one in np.eye(len(x))]
            x = x - np.linalg.lstsq(np.transpose(slopes), here, rcond=None)[0]
        return SimpleNamespace(x=x)

    module = SimpleNamespace(least_squares=least_squares)
    monkeypatch.setitem(sys.modules, "scipy", SimpleNamespace(optimize=module))
    monkeypatch.setitem(sys.modules, "scipy.optimize", module)
    monkeypatch.setattr(package, "find_spec", lambda name: module)
    return called


def test_a_fit_finds_the_constant_and_leaves_all_others(solver):
    found = fitted([Step("products", ["start_clocks"], [sample(1234.0)], {})], START)
    assert found.products.start_clocks == pytest.approx(1234, rel=1e-3)
    assert replace(found, products=START.products) == START


def test_two_constants_of_a_step_are_found_together(solver):
    def predict(one):
        return one.products.start_clocks * WORK + one.products.step_clocks

    ten = Sample("gemm", "ada", 100.0 * WORK + 7.0, predict)
    found = fitted([Step("products", ["start_clocks", "step_clocks"], [ten], {})], START)
    assert (found.products.start_clocks, found.products.step_clocks) == (pytest.approx(100), pytest.approx(7))


def test_errors_beyond_a_tenth_count_linearly_and_a_step_has_options_of_its_own(solver):
    fitted([Step("products", ["start_clocks"], [sample(1234.0)], {"max_nfev": 3})], START)
    assert solver.options == {"loss": "soft_l1", "f_scale": 0.1, "max_nfev": 3}


def test_scipy_finds_what_the_stand_in_finds():
    pytest.importorskip("scipy")
    found = fitted([Step("products", ["start_clocks"], [sample(1234.0)], {})], START)
    assert found.products.start_clocks == pytest.approx(1234, rel=1e-3)


def test_a_fit_without_the_library_that_solves_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(package, "find_spec", lambda name: None)
    with pytest.raises(
        NotInstalledError,
        match=r"^scipy is not installed; in the clone of rooflint: ",
    ):
        fitted([Step("products", ["start_clocks"], [sample(1234.0)], {})], START)


def test_a_step_without_samples_changes_nothing():
    assert fitted([Step("products", ["start_clocks"], [], {})], START) == START


def test_a_fold_does_not_see_its_family(solver):
    samples = [sample(1000.0, "ada"), sample(4000.0, "hopper")]
    starts = {"ada": START, "hopper": START}
    found = calibrate(Fit([Step("products", ["start_clocks"], samples, {})], samples, START, starts))
    assert found.folds["ada"].constants.products.start_clocks == pytest.approx(4000, rel=1e-3)
    # four times as long as measured
    assert found.scores["gemm", "ada", "all"][0].mape == pytest.approx(3, rel=1e-2)
    assert found.folds["hopper"].scores["gemm", "all"][0].bias == pytest.approx(-3 / 4, rel=1e-2)
    assert 1000 < found.constants.products.start_clocks < 4000


def test_latency_and_bandwidth_alone_are_scored_where_something_is_sent():
    twice = replace(sample(1000.0), alpha_beta=lambda constants: 2 * sample(1000.0).seconds)
    nothing = replace(sample(1000.0, subject="decode"), alpha_beta=lambda constants: None)
    assert {key: one.mape for key, one in alpha_beta_scores([twice, nothing], START).items()} == {
        ("gemm", "all"): pytest.approx(1),  # twice as long as measured
        ("gemm", "long"): pytest.approx(1),
    }


def test_a_fold_starts_where_it_is_told():
    samples = [sample(1000.0)]
    found = calibrate(Fit([Step("products", ["start_clocks"], [], {})], samples, START, {"ada": with_launch(7.0)}))
    assert found.constants == START
    assert found.folds["ada"].constants == with_launch(7.0)


def test_folds_on_two_processes_are_those_of_one():
    fit = Fit(
        [Step("products", ["start_clocks"], [], {})],
        [sample(1000.0), sample(4000.0, "hopper")],
        START,
        {"ada": with_launch(2000.0), "hopper": with_launch(7.0)},
    )
    done = []
    found = calibrate(fit, done.append, Workers(2))
    assert found == calibrate(fit)
    assert found.scores["gemm", "ada", "all"][0].mape == pytest.approx(1)  # twice as long as measured
    assert done == ["fitted all families", "left out ada", "left out hopper"]


def test_scores_join_the_samples_of_a_subject_and_skip_empty_parts():
    found = scores([sample(1000.0), sample(2000.0), sample(1000.0, subject="decode")], with_launch(1000.0))
    assert set(found) == {(subject, part) for subject in ("gemm", "decode") for part in ("all", "long")}
    model, roofline = found["gemm", "all"]
    # three rows are exact, three half of their time: 25 %
    assert (model.rows, model.mape) == (6, pytest.approx(0.25))
    assert roofline.bias == pytest.approx(1 / np.sqrt(2e6) - 1)
    assert found["gemm", "long"][0].rows == 4


def test_held_out_scores_are_those_of_all_folds_by_subject_family_and_part():
    ada, hopper = (score(np.array([ratio]), np.ones(1)) for ratio in (1.1, 1.3))
    folds = {
        "ada": Fold(START, {("gemm", "all"): (ada, hopper)}),
        "hopper": Fold(START, {("decode", "large"): (hopper, ada)}),
    }
    assert Calibration(START, folds).scores == {
        ("gemm", "ada", "all"): (ada, hopper),
        ("decode", "hopper", "large"): (hopper, ada),
    }


def test_a_weight_scales_the_errors():
    one = replace(sample(1000.0), weight=10.0)
    assert one.log_ratios(with_launch(2000.0)) == pytest.approx(np.full(3, 10 * np.log(2)))


# ---- Writing


@pytest.mark.slow
def test_values_folds_and_facts_are_rewritten_and_all_else_stays():
    new, fold = with_launch(2125.0), Fold(with_launch(2000.0), {})
    text = FILE.file("products").path.read_text(encoding="utf-8")
    facts = {"package": "aiconfigurator-core 0.12.9", "day": "2027-01-31"}
    found = Calibration(new, dict.fromkeys(FAMILIES, fold))
    fresh = rewritten(text, found, {"products": ["start_clocks"]}, facts)
    changed = [new for old, new in zip(text.splitlines(), fresh.splitlines(), strict=True) if old != new]
    assert len(changed) == 4  # package, day, value, folds
    assert changed[2].strip().startswith("value: [2125, fit, ")
    assert changed[3].strip() == "folds: {ampere: 2000, hopper: 2000, ada: 2000, blackwell: 2000, rtx_pro: 2000}"


@pytest.mark.slow
def test_groups_of_other_files_are_rewritten_in_the_same_way():
    text = FILE.file("stream").path.read_text(encoding="utf-8")
    changed = replace(START, stream=replace(START.stream, l2_bytes=21.0))
    found = Calibration(changed, {"hopper": Fold(changed, {}), "volta": Fold(changed, {})})
    after = read(FILE.file("stream").path, rewritten(text, found, {"stream": ["l2_bytes"]}, {})).spec.stream["l2_bytes"]
    before = FILE.specs("stream")["l2_bytes"]
    assert after.folds == before.folds | {"hopper": 21.0}  # a family without a fold in the file gets none


def test_held_out_errors_of_products_are_written():
    off = score(np.array([1.25, 0.75]), np.array([1.0, 1.0]))
    found = Calibration(START, {"ada": Fold(START, {("gemm", "all"): (off, off)}), "hopper": Fold(START, {})})
    text = rewritten(FILE.file("products").path.read_text(encoding="utf-8"), found, {}, {})
    errors = read(FILE.file("products").path, text).spec.fit.errors
    assert errors == {"gemm": FILE.fit().errors["gemm"] | {"ada": 25.0}}
    assert set(errors["gemm"]) == set(FAMILIES)


@pytest.mark.slow
def test_held_out_errors_are_found_by_the_title_of_their_topic():
    fold = Fold(START, {("decode, fp8 cache", "all"): (score(np.array([1.123]), np.array([1.0])),) * 2})
    text = FILE.file("decode").path.read_text(encoding="utf-8")
    written = rewritten(text, Calibration(START, {"ada": fold}), {}, {})
    errors = read(FILE.file("decode").path, written).spec.fit.errors
    assert errors["decode_fp8"] == FILE.fit("decode").errors["decode_fp8"] | {"ada": 12.3}


@pytest.mark.slow
def test_errors_by_regime_are_written():
    few = {"compute": [None, 1.25, 3.0, 4.0], "memory": [5.0] * 4, "launch": [6.0] * 4}
    found = Calibration(START, {"ada": Fold(START, {}, {"gemm": few}), "volta": Fold(START, {}, {"gemm": few})})
    text = rewritten(FILE.file("products").path.read_text(encoding="utf-8"), found, {}, {})
    after = read(FILE.file("products").path, text).spec.fit.regimes["gemm"]
    assert after["ada"].compute == ["unknown", 1.2, 3.0, 4.0]  # as errors have it, with one decimal
    assert np.isnan(after["ada"].in_percent()[0, 0])
    assert {name: one for name, one in after.items() if name != "ada"} == {
        name: one for name, one in FILE.regimes("gemm").items() if name != "ada"
    }


def test_errors_by_regime_are_means_over_enough_rows_of_all_samples_of_a_topic():
    few, many = fits.LEAST_ROWS - 1, fits.LEAST_ROWS

    def regimes(limit, band, rows):
        return lambda constants: Regimes(np.full(rows, limit), np.full(rows, band))

    def rows(ratio, count, limit, band):
        every = {"all": np.full(count, True)}
        return Sample(
            "a", "ada", np.ones(count), lambda one: np.full(count, ratio), None, every, 1.0, "gemm",
            regimes(limit, band, count),
        )  # fmt: skip

    ones = [rows(1.5, many, 1, 3), rows(0.8, many, 1, 3), rows(1.1, few, 0, 0), rows(1.1, many, 2, 1)]
    found = fits.regime_errors(ones, START)
    # as many rows are 50 and 20 % off; 19 are too few
    assert found["gemm"]["memory"] == [None, None, None, pytest.approx(35)]
    assert found["gemm"]["launch"] == [None, pytest.approx(10), None, None]
    assert found["gemm"]["compute"] == [None] * 4


def test_constants_are_written_with_four_digits_and_compared_as_shares():
    assert [format_constant(value) for value in (0.853149, 3911.77, 12345.6)] == ["0.8531", "3912", "12346"]
    changes = relative_changes(with_launch(1.5 * START.products.start_clocks), START, {"products": ["start_clocks"]})
    assert changes == {"products.start_clocks": pytest.approx(0.5)}


def test_a_score_is_an_error_and_a_bias():
    # |1.2 − 1|, |0.9 − 1|: mean 15 %; √(1.2 × 0.9) = 1.039
    found = score(np.array([1.2, 0.9]), np.array([1.0, 1.0]))
    assert (found.rows, found.mape, found.bias) == (2, pytest.approx(0.15), pytest.approx(0.0392, abs=1e-4))
    assert str(found) == "15.0 % (+3.9)"


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


def test_all_rows_of_a_topic_are_read_on_the_devices_that_have_it(monkeypatch, tmp_path):
    def read(data, device, on):
        assert (data, on) == (tmp_path, chip(device, "fp8"))
        return Rows(device, ("m", "n", "k"), np.ones((1, 3)), np.ones(1))

    monkeypatch.setattr(fits, "TOPICS", {"fp8_tensor": replace(TOPICS["fp8_tensor"], read=read)})
    told = []
    found = fits.measured(["fp8_tensor"], tmp_path, REGISTRY, told.append)
    devices = [device for family in FAMILIES for device in package.devices(family) if "a100" not in device]
    assert list(found["fp8_tensor"]) == devices
    assert all(rows.device == device for device, (rows, _) in found["fp8_tensor"].items())
    assert told == [f"read fp8_tensor of {device}" for device in devices]


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
    if TOPICS[op].op == "collective":
        sizes = 2.0 ** np.stack([random.integers(8, 31, 300), random.integers(1, 4, 300)], axis=1)
    elif TOPICS[op].op == "expert_exchange":
        tokens, hidden, count, sms = (random.integers(*ends, 300) for ends in ((0, 11), (10, 13), (3, 9), (2, 13)))
        sizes = np.stack(
            [2.0**tokens, 2.0**hidden, np.full(300, 2.0), 2.0**count, np.full(300, 8.0), 2.0 * sms], axis=1
        )
    elif TOPICS[op].op == "expert_layer":
        tokens, width, count = (2.0 ** random.integers(*ends, 300) for ends in ((0, 14), (9, 13), (3, 9)))
        sizes = np.stack([tokens, np.full(300, 4096.0), width, count, np.full(300, 2.0), np.ones(300)], axis=1)
    elif TOPICS[op].op.startswith("latent"):
        sizes = 2.0 ** np.stack([random.integers(0, high, 300) for high in (7, 8, 14)], axis=1)
    elif op.startswith("fp8"):
        sizes = np.column_stack([2.0 ** random.integers(4, 14, (300, 3)), random.integers(1, 7, 300)])
    elif TOPICS[op].op != "quantise":
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
        experts=replace(right.experts, launch_clocks=30000.0, row_clocks=300.0),
        latent=replace(right.latent, launch_clocks=5000.0),
        latent_parts=replace(right.latent_parts, read_clocks=400.0),
        scales=replace(right.scales, row_launch_clocks=6000.0, row_sm_clocks=0.1, tensor_launch_us=5.0),
        collectives=replace(right.collectives, step_clocks=3000.0, copy_share=0.6, chunk_clocks=2000.0),
    )
    few = {op: {name: (one.picked(150), on) for name, (one, on) in ones.items()} for op, ones in recorded.items()}
    fit = fits.ops_fit(few, FILE)
    found = relative_changes(fitted(fit.steps, wrong), right, fit.names)
    assert set(fit.names) == {group for group in OPS_GROUPS if FILE.fitted(group)}
    assert found == pytest.approx(dict.fromkeys(found, 0), abs=2e-3)


def test_topics_of_one_group_are_fitted_together_and_not_to_families_that_are_only_scored(recorded):
    fit = fits.ops_fit(recorded, FILE)
    (step,) = (step for step in fit.steps if step.group == "collectives")
    assert {one.subject for one in step.samples} == {
        TOPICS[name].title for name in TOPICS if TOPICS[name].group == "collectives"
    }
    assert {one.family for one in step.samples} == {"hopper"}  # boxes of L40S have no NVLink
    assert {one.family for one in fit.scored if one.subject == "all-reduce"} == {"hopper", "ada"}


def test_a_family_with_few_rows_weighs_as_much_as_one_with_many():
    few, many = sample(1.0, "ada"), sample(1.0, "hopper")
    found = fits._balanced([[few], [many, many, many], []])
    # 3 rows, and 9 in three samples: a third of the weight of squares each
    assert [one.weight**2 for one in found] == pytest.approx([1, 1 / 3, 1 / 3, 1 / 3])


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

OTHER = CoreConstants(other_instructions=0.2, energy_pj=22.0, transform_bytes=0.6)
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
    assert {*CORES.names["cores"]} == {*names("cores")}
    assert all(step.samples for step in CORES.steps)


def test_a_folder_without_tables_is_an_error(tmp_path):
    with pytest.raises(RooflintError, match=r"^no table of products or convolutions in fp32 in .*published$"):
        fits.cores_fit([tmp_path], REGISTRY)


def test_every_table_weighs_as_if_it_had_a_hundred_rows():
    weights = [one.weight**2 * len(one.seconds) for step in CORES.steps for one in step.samples]
    assert weights == pytest.approx([100] * len(weights))


def test_rows_that_ran_transforms_are_predicted_so_even_where_another_algorithm_takes_less():
    assert len(CORES.steps[1].samples) > 1
    as_fast = 0
    for one in CORES.steps[1].samples:
        table = published.find(one.subject, [GOLDEN])
        rows = (table.sizes["winograd"] == 4) & (table.seconds >= table.spec.from_us * 1e-6)
        assert one.seconds.tolist() == table.seconds[rows].tolist()
        least = published.predicted_s(table, published.given_of(table, REGISTRY)._replace(constants=CORES.start))[rows]
        transformed = one.predict(CORES.start)
        assert (transformed >= least * (1 - 1e-9)).all()
        as_fast += np.isclose(transformed, least, rtol=1e-9).sum()
    assert as_fast > 0


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


@pytest.mark.parametrize("family", ["pascal", "ada"])
def test_errors_by_regime_of_cores_are_those_of_their_tables(family):
    found = fits.regime_errors(of(CORES.scored, family), FILE.without(family, ["cores"]))
    assert set(found) == {topic for topic in ("fp32", "winograd") if family in FILE.regimes(topic)}
    for topic, errors in found.items():
        written = FILE.regimes(topic)[family]
        for limit, bands in errors.items():
            wanted = ["unknown" if error is None else pytest.approx(error, abs=0.051) for error in bands]
            assert getattr(written, limit) == wanted


def test_without_convolutions_transforms_stay():
    pytest.importorskip("scipy")
    products = took(CORES).steps[:1]
    found = fitted([*products, replace(CORES.steps[1], samples=[])], CORES.start)
    assert found.cores.transform_bytes == CORES.start.cores.transform_bytes
