"""`prediction`: measurements of a family that was left out, and what is said where nothing is installed."""

import numpy as np
import pytest

from pytest_rooflint.golden import read
from pytest_rooflint.suite.judge import judge
from rooflint.base.errors import InputError
from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import constants_file
from rooflint_calibration import evaluation, package, topics
from rooflint_calibration.package import NotInstalledError, family_of
from rooflint_calibration.rows import Rows
from rooflint_calibration.topics import TOPICS

SOURCE = "source: {document: Some tables, where: all, grade: read}\nclaims:\n"
FILE = constants_file(Registry())


@pytest.fixture
def verdict(tmp_path, shipped_suite):
    """The verdict on one claim of the shipped devices."""

    def judged(line):
        file = tmp_path / "silicon.yaml"
        file.write_text(f"{SOURCE}  - {{{line}}}\n", encoding="utf-8")
        (claim,) = read.load(file).claims
        return judge(claim, "", shipped_suite)

    return judged


@pytest.fixture
def machines(monkeypatch):
    """`machines(factor)`: every device took so many times what the constants predict that have not seen it."""

    def take(factor):
        def measured(topic, device, chip):
            sizes = np.column_stack([*2.0 ** np.random.default_rng(2).integers(2, 15, (3, 400)), np.full(400, 6.0)])
            seconds = factor * TOPICS[topic].predict(sizes, chip, FILE.without(family_of(device)))
            return Rows(device, TOPICS[topic].columns, sizes, seconds, {"faster than the dense peak": 0})

        monkeypatch.setattr(topics, "measured", measured)

    return take


def test_where_the_measurements_are_not_installed_nothing_is_validated(monkeypatch, verdict):
    def absent():
        raise NotInstalledError("pyarrow is not installed; pip install 'rooflint[silicon]'")

    monkeypatch.setattr(package, "data_folder", absent)
    topics.measured.cache_clear()
    bounds = "error: 10 %, bias: 5 %"
    others = (f"{name} ada all, {bounds}" for name in TOPICS)
    for line in (*others, "gemm order, right: 90 %", "gemm peak", "gemm roofline"):
        found = verdict(f"prediction: {line}")
        assert (found.outcome, found.obtained) == ("not validated here", None)
        assert found.reason == "pyarrow is not installed; pip install 'rooflint[silicon]'"


def test_an_error_within_its_bounds_passes_and_one_beyond_them_fails(machines, verdict):
    machines(1 / 1.08)  # predicted 8 % too long, all alike
    found = verdict("prediction: gemm hopper all, error: 8.1 %, bias: 8.1 %")
    assert (found.outcome, found.obtained_display) == ("pass", "error 8.0%, bias +8.0%")
    assert "800 shapes of nvidia/h100-sxm5-80gb, nvidia/h200-sxm-141gb" in found.obtained.formula
    assert verdict("prediction: gemm hopper all, error: 7.9 %, bias: 8.1 %").outcome == "fail"
    assert verdict("prediction: gemm hopper all, error: 8.1 %, bias: 7.9 %").outcome == "fail"
    assert verdict("prediction: gemm hopper narrow, error: 8.1 %, bias: 8.1 %, rows: 10").obtained.value > 0


def test_an_order_that_is_predicted_passes(machines, verdict):
    machines(1.0)
    found = verdict("prediction: gemm order, right: 95 %, rows: 50")
    assert found.outcome == "pass"
    assert (
        "on 29 pairs of devices of different families" in found.obtained.formula
    )  # 36 less 1 of Hopper, 6 of Blackwell


def test_an_order_that_is_predicted_less_often_than_claimed_is_red(machines, verdict, monkeypatch):
    machines(1.0)
    monkeypatch.setattr(evaluation, "ordered", lambda one, two, rows: (9, 10))
    assert verdict("prediction: gemm order, right: 90 %").outcome == "pass"
    found = verdict("prediction: gemm order, right: 90.1 %")
    assert found.outcome == "fail"
    assert "90.0% of the faster devices predicted" in " ".join(found.text().split())


def test_measurements_that_beat_the_roofline_are_red_with_their_device(machines, verdict):
    machines(1.0)
    assert verdict("prediction: gemm roofline").outcome == "pass"
    assert verdict("prediction: gemm peak").outcome == "pass"
    machines(0.3)
    found = verdict("prediction: gemm roofline")
    assert found.outcome == "fail"
    assert "  nvidia/l40s  " in found.text()
    assert "exempt: working sets up to 3.5 times L2" in " ".join(found.text().split())  # wherever the line ends


@pytest.mark.parametrize(
    ("line", "wish"),
    [
        ("conv ada all, error: 1 %, bias: 1 %", "want a subject that begins with one of gemm, fp8_tensor, fp8_block, "),
        ("gemm volta all, error: 1 %, bias: 1 %", "want gemm and one of order, peak, roofline, or a family (ampere, "),
        ("gemm volta all, error: 1 %, bias: 1 %", "found 'gemm volta all'"),
        ("gemm ada short, error: 1 %, bias: 1 %", "large: > 20 GFLOP, small: < 1 GFLOP, narrow: m ≤ 16); found"),
        (
            "decode ada short, error: 1 %, bias: 1 %",
            "a regime (all, large: > 300 MB, small: < 10 MB); found 'decode ada",
        ),
        (
            "encoder ampere all, error: 1 %, bias: 1 %",
            "want encoder and a family (hopper, ada, blackwell, rtx_pro) and",
        ),
        ("gemm ada all, error: 1 %", "bias: is missing; want a share such as 12 %"),
        ("gemm ada all, error: 1, bias: 1 %", "error: want a share such as 12 %, found '1'"),
        ("gemm order", "right: is missing"),
        ("gemm peak, right: 9 %", "right: unknown option for 'gemm peak'"),
        ("gemm ada all, error: 1 %, bias: 1 %, rows: 0", "rows: want a whole number of at least 1, found '0'"),
        ("gemm ada all, error: 1 %, bias: 1 %, rows: many", "rows: want a whole number of at least 1, found 'many'"),
        ("gemm peak, rows: 9", "rows: unknown option for 'gemm peak', which uses all rows"),
        ("published some, error: 1 %, bias: 1 %, rows: 9", "rows: unknown option for 'published some'"),
        ("gemm peak, expect: 9 %", "a prediction claim takes no expectation here; remove 'expect'"),
    ],
)
def test_unknown_words_and_bounds_are_refused(verdict, line, wish):
    with pytest.raises(InputError) as caught:
        verdict(f"prediction: {line}")
    assert wish in str(caught.value)
