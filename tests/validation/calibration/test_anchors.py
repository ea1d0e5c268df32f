"""Anchors: own figures of invented GPUs, whose products take as long as known figures predict, and their benefit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import constants_file
from rooflint.kernels.device_calibration import Own, calibration
from rooflint.kernels.gemm import launch_s
from rooflint_calibration import anchors
from rooflint_calibration.anchors import COLUMNS, DEVIATIONS, LEAST_LAUNCH_S, Deviation, Setting, of_kind, own_figures
from rooflint_calibration.evaluation import Score
from rooflint_calibration.rows import Rows
from rooflint_calibration.topics import TOPICS
from rooflint_measure.record import Gemm, Stream
from rooflint_measure.stopwatches.anchors import ANCHORS, GRAPH

REGISTRY = Registry()
FILE = constants_file(REGISTRY)
CONSTANTS = FILE.constants
EVERY = [shape for of_kind in ANCHORS.values() for shape in of_kind]


def shared(device="nvidia/h100-sxm5-80gb"):
    return Setting(chip_of(REGISTRY.get(device), "bf16", Coefficients(REGISTRY).launches()), CONSTANTS, "bf16")


def taken(truth: Own, setting, sizes=tuple(EVERY)):
    """Anchors of a machine that is just as its own figures say."""
    all_sizes = np.column_stack([np.array(sizes, float), np.full(len(sizes), 6.0)])
    some = Rows("a GPU", COLUMNS, all_sizes, np.ones(len(sizes)))
    return replace(some, seconds=setting.with_(truth).predicted_s(some))


def test_a_machine_like_all_others_keeps_what_they_share():
    setting = shared()
    found = own_figures(taken(Own(), setting), setting)
    assert found.launch_s == pytest.approx(launch_s(setting.chip, CONSTANTS.products))
    assert found.matrix_factor == pytest.approx(1)
    assert found.dram_efficiency == pytest.approx(CONSTANTS.products.dram_efficiency)


@given(
    st.sampled_from(["nvidia/h100-sxm5-80gb", "nvidia/l40s"]),
    st.floats(0.8, 1.1),
    st.floats(0.8, 1.1),
    st.floats(0.6, 1.6),
)
def test_each_figure_moves_towards_the_truth_and_not_beyond(device, matrix, dram, launch):
    setting = shared(device)
    usual = launch_s(setting.chip, CONSTANTS.products)
    truth = Own(launch * usual, matrix, dram * CONSTANTS.products.dram_efficiency)
    found = own_figures(taken(truth, setting), setting)
    for was, own, true in (
        (1.0, found.matrix_factor, truth.matrix_factor),
        (CONSTANTS.products.dram_efficiency, found.dram_efficiency, truth.dram_efficiency),
    ):
        assert min(was, true) * 0.99 <= own <= max(was, true) * 1.01


def test_a_kind_that_was_not_measured_has_no_figure():
    setting = shared()
    found = own_figures(taken(Own(1e-6, 0.7, 0.7), setting, ANCHORS["streaming"]), setting)
    assert (found.launch_s, found.matrix_factor) == (None, None)
    assert found.dram_efficiency < CONSTANTS.products.dram_efficiency


def test_more_products_weigh_more_and_less_than_one():
    # one product: 0.04² / (0.04² + 0.04²) = 1/2; four: 0.04² / (0.04² + 0.04² / 4) = 4/5
    deviation = Deviation(0.04, 0.04)
    assert deviation.weight(1) == pytest.approx(1 / 2)
    assert deviation.weight(4) == pytest.approx(4 / 5)
    assert all(0 < one.weight(1) < one.weight(9) < 1 for one in DEVIATIONS.values())


def test_an_absurdly_fast_null_product_leaves_a_launch_above_zero():
    setting = shared()
    one = taken(Own(), setting, ANCHORS["null"])
    assert own_figures(replace(one, seconds=one.seconds * 1e-6), setting).launch_s > 0
    # where the work of a null product is longer than its launch, what is beyond would be less than none
    short = replace(
        setting,
        chip=replace(setting.chip, graph_launch_s=1e-9),
        constants=replace(CONSTANTS, products=replace(CONSTANTS.products, start_clocks=0)),
    )
    assert own_figures(replace(one, seconds=one.seconds * 1e-6), short).launch_s == LEAST_LAUNCH_S


def test_matrix_units_are_fitted_with_the_memory_figure_found_before():
    setting = shared()
    anchors = taken(Own(dram_efficiency=0.2), setting)
    found = own_figures(anchors, setting)
    after = setting.with_(Own(dram_efficiency=found.dram_efficiency))
    assert found.matrix_factor == own_figures(of_kind(anchors, "peak"), after).matrix_factor
    assert found.matrix_factor > own_figures(of_kind(anchors, "peak"), setting).matrix_factor


def test_no_share_of_the_bandwidth_rises_above_the_whole():
    setting = shared()
    one = taken(Own(), setting)
    found = own_figures(replace(one, seconds=one.seconds / 10), setting)
    assert found.dram_efficiency == 1.0
    assert found.matrix_factor > 1  # no share: what the power allows beyond what it allows all others


def test_peak_products_move_the_factor_by_their_weight():
    # all three 10 % faster than predicted: 1.1^0.44, as 0.037² / (0.037² + 0.072² / 3) = 0.44
    setting = shared()
    one = taken(Own(), setting, ANCHORS["peak"])
    assert own_figures(replace(one, seconds=one.seconds / 1.1), setting).matrix_factor == pytest.approx(
        1.1**0.442, rel=1e-3
    )


def errors(**percents):
    """Errors before and after by regime, in percent; 10 → 10 by default."""
    pairs = {regime: percents.get(regime, (10, 10)) for regime in anchors.REGIME_LABELS}
    return {regime: tuple(Score(100, one / 100, 0.0) for one in pair) for regime, pair in pairs.items()}


def test_the_summary_lists_falling_and_rising_errors_in_points():
    message = list(anchors.summary(errors(all=(9.0, 8.7), large=(7.0, 6.0), narrow=(9.0, 9.4))))
    assert message == ["error falls: on all rows by 0.3 points, above 20 GFLOP by 1.0 points; "
                    "rises: for m up to 16 by 0.4 points"]  # fmt: skip


@pytest.mark.parametrize("after", [9.0, 9.3])
def test_a_calibration_without_benefit_over_all_rows_is_called_so(after):
    first, second = anchors.summary(errors(all=(9.0, after), small=(9.0, 8.0)))
    assert "falls: " in first
    assert second == "no benefit over all rows: predictions without the calibration are no worse"


def test_a_change_below_the_printed_digits_is_none():
    first, second = anchors.summary(errors(all=(9.02, 8.98)))
    assert first == "error falls: nowhere; rises: nowhere"
    assert "no benefit" in second


def test_families_weigh_alike_however_many_machines_they_have():
    # Hopper (8 + 6) / 2 = 7 and Ada 11 before: 9; (6 + 6) / 2 = 6 and 12 after: 9
    three = {
        "nvidia/h100-sxm5-80gb": errors(all=(8, 6)),
        "nvidia/h200-sxm-141gb": errors(all=(6, 6)),
        "nvidia/l40s": errors(all=(11, 12)),
    }
    assert anchors.mean_of_families(three)["all"] == pytest.approx((0.09, 0.09))
    means, of_all, *others = anchors.summary_of_many(three)
    assert means == "mean of the families, by regime: 9.0, 10.0, 10.0, 10.0 % before, 9.0, 10.0, 10.0, 10.0 % after"
    assert of_all == "error rises on all rows: l40s"
    assert all(one.endswith(": nowhere") for one in others)


# ---- Anchors of a recording, or among published rows


@pytest.fixture
def anchor(make):
    """`anchor((m, n, k), seconds)`: a product of a graph with six sets of weights."""

    def of(shape, best_s, precision="bf16", details=(GRAPH,), **subject):
        m, n, k = shape
        one = Gemm(precision=precision, library="cublas", m=m, n=n, k=k, weight_copies=6, **subject)
        return make.timed(one, best_s, details=dict.fromkeys(details, 6))

    return of


def test_anchors_of_a_recording_are_products_of_a_graph_in_their_precision_and_shapes(anchor, make):
    null, peak = ANCHORS["null"][0], ANCHORS["peak"][0]
    others = [
        anchor(peak, 1e-3, details=()),  # launched by itself
        anchor(peak, 1e-3, precision="fp16"),
        anchor(peak, 1e-3, batch=2),
        anchor((4096, 4096, 4097), 1e-3),
        make.timed(Stream(kernel="copy", library="cublas", array_bytes=10**8), 1e-3, details={GRAPH: 6}),
    ]
    recording = make.recorded(anchor(null, 5e-6), *others, anchor(peak, 2e-3), device="a GPU")
    assert [one.subject.m for one in anchors.recorded(recording, "bf16")] == [256, 4096]
    found = anchors.of_recording(recording, "bf16")
    assert (found.device, found.columns) == ("a GPU", ("m", "n", "k", "copies"))
    assert found.sizes.tolist() == [[*null, 6], [*peak, 6]]
    assert found.seconds.tolist() == [5e-6, 2e-3]  # the least of five samples
    assert anchors.of_recording(recording, "fp32").sizes.shape == (0, 4)


def test_published_rows_of_the_same_shapes_are_anchors_too():
    sizes = np.array([(*EVERY[0], 5), (256, 256, 257, 5), (*EVERY[-1], 6)], float)
    found = anchors.of_published(Rows("nvidia/l40s", COLUMNS, sizes, np.array([1.0, 2.0, 3.0])))
    assert found.seconds.tolist() == [1.0, 3.0]


def test_without_a_wish_the_precision_is_the_first_with_anchors(anchor, make, tmp_path):
    fp16 = make.recorded(anchor(EVERY[0], 5e-6, "fp16"))
    both = make.recorded(anchor(EVERY[0], 5e-6, "fp16"), anchor(EVERY[0], 5e-6))
    file = tmp_path / "mine.json"
    assert anchors.precision_of(file, fp16, "") == "fp16"
    assert anchors.precision_of(file, both, "") == "bf16"
    assert anchors.precision_of(file, both, "fp16") == "fp16"
    wish = r"mine\.json: want null, peak, streaming products in bf16, each a kernel of a graph, found none; "
    with pytest.raises(RooflintError, match=wish + "rooflint measure anchors"):
        anchors.precision_of(file, fp16, "bf16")
    with pytest.raises(RooflintError, match=r"products in bf16 or fp16, each"):
        anchors.precision_of(file, make.recorded(anchor((1, 1, 1), 1e-6)), "")


def test_a_missing_kind_has_the_reasons_of_the_recording(anchor, make):
    reasons = {
        "peak bf16 8192x8192x8192": "out of memory",
        "peak bf16 16384x16384x16384": "a lost device",
        "peak fp16 4096x4096x4096": "of another precision",
        "null bf16 512x512x512": "one null product was measured",
    }
    recording = make.recorded(anchor(EVERY[0], 5e-6)).model_copy(update={"left_out": reasons})
    assert list(anchors.missing(recording, "bf16")) == [
        ("peak", "a lost device; out of memory"),
        ("streaming", "not recorded"),
    ]


# ---- The file


def text_of(recording, own):
    rows = taken(Own(), shared(), [*ANCHORS["null"], ANCHORS["peak"][0]])
    return anchors.calibration_text(own, rows, "nvidia/h100-sxm5-80gb", "bf16", recording, FILE)


def test_the_file_has_a_line_for_each_figure_with_its_products_and_their_weight(anchor, make, tmp_path):
    recording = make.recorded(anchor(EVERY[0], 5e-6), device='a "fast" GPU')
    text = text_of(recording, Own(1.23456e-6, 0.987654, None))
    lines = text.splitlines()
    # 0.071² / (0.071² + 0.069² / 2) = 68 %, 0.037² / (0.037² + 0.072²) = 21 %
    assert lines[1:4] == ["name: \"a 'fast' GPU\"", "hardware: nvidia/h100-sxm5-80gb", "precision: bf16"]
    assert lines[5].startswith("  recording: {document: \"recording of a 'fast' GPU, 2026-11-20T000000-")
    assert lines[-2:] == [
        'launch: [1.235 µs, recording, "256×256×256, 512×512×512; weight 68%"]',
        'matrix_factor: [0.9877, recording, "4096×4096×4096; weight 21%"]',
    ]
    file = tmp_path / "mine.yaml"
    anchors.check_calibration(file, text)
    file.write_text(text, encoding="utf-8")
    found = calibration(file, "nvidia/h100-sxm5-80gb", shared().chip, FILE)
    assert found.own == Own(pytest.approx(1.235e-6), 0.9877, None)


def test_each_figure_is_written_or_left_out_by_itself(anchor, make):
    recording = make.recorded(anchor(EVERY[0], 5e-6))
    rows = taken(Own(), shared(), ANCHORS["streaming"])
    text = anchors.calibration_text(Own(dram_efficiency=0.87654), rows, "acme/k1", "fp16", recording, FILE)
    # 0.038² / (0.038² + 0.040²) = 47 %
    assert text.splitlines()[6:] == [
        f'corrects: {{package: "{FILE.fit().package}", day: "{FILE.fit().day}"}}',
        'dram_efficiency: [0.8765, recording, "8×16384×16384; weight 47%"]',
    ]
    assert text.endswith("]\n")


def test_figures_that_no_gpu_can_have_are_not_written(anchor, make, tmp_path):
    text = text_of(make.recorded(anchor(EVERY[0], 5e-6)), Own(matrix_factor=1e6))
    with pytest.raises(RooflintError, match=r"mine\.yaml: not written, because the figures are impossible for a GPU: "):
        anchors.check_calibration(tmp_path / "mine.yaml", text)


# ---- Benefit


def test_the_benefit_is_scored_on_all_published_rows_by_regime(monkeypatch, tmp_path):
    # an L40S that takes a quarter longer for all anchors than predicted without Ada, and for no other product
    before = Setting(TOPICS["gemm"].chip(REGISTRY, "nvidia/l40s"), FILE.without("ada"), "bf16")
    usual = taken(Own(), before, [*EVERY, (1024, 8192, 1024)])
    measured = replace(usual, seconds=usual.seconds * [*[1.25] * len(EVERY), 1.0])

    def read(data, device, chip):
        assert (data, device, chip) == (tmp_path, "nvidia/l40s", before.chip)
        return measured

    monkeypatch.setattr(anchors, "TOPICS", {"gemm": replace(TOPICS["gemm"], read=read)})
    found = anchors.benefit("nvidia/l40s", tmp_path, REGISTRY, FILE)
    # 1 / 1.25 is 20 % off; 2 null products, 3 above 20 GFLOP, 1 of m = 8, and 17 GFLOP for all to share
    assert {regime: old.rows for regime, (old, _) in found.items()} == {"all": 7, "large": 3, "small": 2, "narrow": 1}
    assert found["all"][0].mape == pytest.approx(0.2 * 6 / 7)
    assert [found[regime][0].mape for regime in ("large", "small", "narrow")] == pytest.approx([0.2] * 3)
    assert all(new.mape < old.mape for old, new in found.values())
    # anchors that were measured elsewhere, as fast as predicted, change nothing
    same = anchors.benefit("nvidia/l40s", tmp_path, REGISTRY, FILE, taken(Own(), before))
    assert all(new.mape == pytest.approx(old.mape, rel=1e-3) for old, new in same.values())
