"""The pipeline of a fit: steps, folds and scores, and how constants are written."""

from dataclasses import replace

import numpy as np
import pytest

from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import constants_file, read
from rooflint_calibration.evaluation import score
from rooflint_calibration.fit import (
    Calibration,
    Fit,
    Fold,
    Sample,
    Step,
    calibrate,
    fitted,
    format_constant,
    relative_changes,
    rewritten,
    scores,
)
from rooflint_calibration.package import FAMILIES

FILE = constants_file(Registry())
START = FILE.constants
WORK = np.array([1.0, 2.0, 4.0])


def sample(clocks, family="ada", subject="gemm"):
    """Rows that take WORK times so many clocks of a launch."""
    parts = {"all": np.full(3, True), "long": np.array([False, True, True]), "none": np.full(3, False)}
    return Sample(subject, family, clocks * WORK, lambda one: one.products.start_clocks * WORK, WORK, parts)


def with_launch(clocks):
    return replace(START, products=replace(START.products, start_clocks=clocks))


def test_a_fit_finds_the_constant_and_leaves_all_others():
    pytest.importorskip("scipy")
    found = fitted([Step("products", ["start_clocks"], [sample(1234.0)], {})], START)
    assert found.products.start_clocks == pytest.approx(1234, rel=1e-3)
    assert replace(found, products=START.products) == START


def test_a_share_never_exceeds_one():
    pytest.importorskip("scipy")
    fast = Sample("gemm", "ada", np.ones(3), lambda one: 0.5 * WORK / WORK * one.cores.fma_efficiency)
    found = fitted([Step("cores", ["fma_efficiency"], [fast], {}, ["fma_efficiency"])], START)
    assert 0.99 < found.cores.fma_efficiency <= 1


def test_a_step_without_samples_changes_nothing():
    assert fitted([Step("products", ["start_clocks"], [], {})], START) == START


def test_a_fold_does_not_see_its_family():
    pytest.importorskip("scipy")
    samples = [sample(1000.0, "ada"), sample(4000.0, "hopper")]
    starts = {"ada": START, "hopper": START}
    found = calibrate(Fit([Step("products", ["start_clocks"], samples, {})], samples, START, starts))
    assert found.folds["ada"].constants.products.start_clocks == pytest.approx(4000, rel=1e-3)
    # four times as long as measured
    assert found.scores["gemm", "ada", "all"][0].mape == pytest.approx(3, rel=1e-2)
    assert found.folds["hopper"].scores["gemm", "all"][0].bias == pytest.approx(-3 / 4, rel=1e-2)
    assert 1000 < found.constants.products.start_clocks < 4000


def test_a_fold_starts_where_it_is_told():
    samples = [sample(1000.0)]
    found = calibrate(Fit([Step("products", ["start_clocks"], [], {})], samples, START, {"ada": with_launch(7.0)}))
    assert found.constants == START
    assert found.folds["ada"].constants == with_launch(7.0)


def test_scores_join_the_samples_of_a_subject_and_skip_empty_parts():
    found = scores([sample(1000.0), sample(2000.0), sample(1000.0, subject="decode")], with_launch(1000.0))
    assert set(found) == {(subject, part) for subject in ("gemm", "decode") for part in ("all", "long")}
    model, roofline = found["gemm", "all"]
    # three rows are exact, three half of their time: 25 %
    assert (model.rows, model.mape) == (6, pytest.approx(0.25))
    assert roofline.bias == pytest.approx(1 / np.sqrt(2e6) - 1)
    assert found["gemm", "long"][0].rows == 4


def test_a_weight_scales_the_errors():
    one = replace(sample(1000.0), weight=10.0)
    assert one.log_ratios(with_launch(2000.0)) == pytest.approx(np.full(3, 10 * np.log(2)))


# ---- Writing


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


def test_constants_are_written_with_four_digits_and_compared_as_shares():
    assert [format_constant(value) for value in (0.853149, 3911.77, 12345.6)] == ["0.8531", "3912", "12346"]
    changes = relative_changes(with_launch(1.5 * START.products.start_clocks), START, {"products": ["start_clocks"]})
    assert changes == {"products.start_clocks": pytest.approx(0.5)}


def test_a_score_is_an_error_and_a_bias():
    # |1.2 − 1|, |0.9 − 1|: mean 15 %; √(1.2 × 0.9) = 1.039
    found = score(np.array([1.2, 0.9]), np.array([1.0, 1.0]))
    assert (found.rows, found.mape, found.bias) == (2, pytest.approx(0.15), pytest.approx(0.0392, abs=1e-4))
    assert str(found) == "15.0 % (+3.9)"
