"""What `rooflint calibrate device` says: figures of a GPU, its products before and after, and the benefit.

The GPU is invented: it took a tenth longer than predicted.
"""

from dataclasses import replace

import numpy as np
import pytest

from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import constants_file
from rooflint.kernels.device_calibration import Own
from rooflint.kernels.gemm import launch_s
from rooflint.output.sections import Grid, Prose
from rooflint_calibration.anchors import COLUMNS, DEVIATIONS, RECORD, Setting
from rooflint_calibration.device_answer import CAVEATS, EXAMPLES, QUANTITIES, Found, answer, published_answer
from rooflint_calibration.evaluation import Score
from rooflint_calibration.rows import Rows
from rooflint_measure.stopwatches.anchors import ANCHORS

REGISTRY = Registry()
L40S = REGISTRY.get("nvidia/l40s")
SHARED = Setting(chip_of(L40S, "bf16", Coefficients(REGISTRY).launches()), constants_file(REGISTRY).constants, "bf16")
OWN = Own(launch_s=4e-6, matrix_factor=0.9)
PEAK, NULL = ANCHORS["peak"][0], ANCHORS["null"][0]
BENEFIT = {
    regime: (Score(rows, 0.09, 0.05), Score(rows, after, -0.01))
    for regime, rows, after in (("all", 100, 0.08), ("large", 40, 0.095), ("small", 30, 0.06), ("narrow", 20, 0.09))
}


def rows(*shapes):
    sizes = np.array([(*one, 6.0) for one in shapes])
    some = Rows("nvidia/l40s", COLUMNS, sizes, np.ones(len(shapes)))
    return replace(some, seconds=1.1 * SHARED.predicted_s(some))


def found(**changed):
    one = Found(L40S, "bf16", rows(PEAK, NULL), SHARED, OWN, [("streaming", "not recorded")], [], BENEFIT, "")
    return replace(one, **changed)


def sections(one):
    return {section.heading: section for section in one.sections}


def test_each_figure_stands_beside_the_shared_one_with_the_weight_of_its_products():
    own = {one.quantity: one for one in answer(found()).record.own}
    assert list(own) == ["launch_s", "matrix_factor", "dram_efficiency"]
    assert [one.shared for one in own.values()] == [
        launch_s(SHARED.chip, SHARED.constants.products),
        1.0,
        SHARED.constants.products.dram_efficiency,
    ]
    assert [one.own for one in own.values()] == [4e-6, 0.9, None]
    assert [one.products for one in own.values()] == [1, 1, 0]
    weights = [DEVIATIONS["null"].weight(1), DEVIATIONS["peak"].weight(1), 0.0]
    assert [one.weight for one in own.values()] == weights


def test_figures_are_shown_with_their_unit_and_what_was_not_measured_as_shared():
    launch, matrix, dram = sections(answer(found()))["Own figures"].table.rows
    assert launch[0] == "launch, kernel to kernel"
    assert launch[2:] == ("4 µs", 1, f"{DEVIATIONS['null'].weight(1):.0%}")
    assert launch[1].endswith(" µs")
    assert matrix[:4] == ("factor on matrix units and power", "1.000", "0.900", 1)
    assert dram == (
        "share of the bandwidth",
        f"{SHARED.constants.products.dram_efficiency:.3f}",
        "as shared",
        0,
        "0%",
    )


def test_measured_products_come_first_and_examples_after_them():
    products = answer(found()).record.products
    assert [(one.m, one.n, one.k) for one in products] == [PEAK, NULL, *(one for one in EXAMPLES if one != PEAK)]
    assert [one.measured_s is None for one in products] == [False] * 2 + [True] * (len(products) - 2)
    peak, null, *_ = products
    assert peak.measured_s == pytest.approx(1.1 * peak.before_s)
    assert peak.after_s > peak.before_s  # slower matrix units
    assert null.after_s > null.before_s  # longer launches


def test_an_example_that_was_measured_is_not_shown_again():
    products = answer(found(anchors=rows(EXAMPLES[0]))).record.products
    assert [(one.m, one.n, one.k) for one in products] == list(EXAMPLES)
    assert products[0].measured_s is not None


def test_weights_of_examples_are_in_memory():
    example = next(one for one in answer(found()).record.products if (one.m, one.n, one.k) == EXAMPLES[0])
    warm = SHARED.predicted_s(rows(EXAMPLES[0])).item()
    assert example.before_s > warm


def test_products_are_shown_with_their_change():
    one = answer(found())
    shown, example = sections(one)["Products"].table.rows[0], sections(one)["Products"].table.rows[-1]
    product = one.record.products[0]
    assert shown[0] == "{} × {} × {}".format(*PEAK)
    assert all(cell.endswith(" µs") for cell in shown[1:4])
    assert shown[4] == f"{100 * (product.after_s / product.before_s - 1):+.1f}%"
    assert example[1] == ""


def test_a_kind_that_is_missing_and_a_product_that_was_disturbed_are_told():
    one = answer(found(disturbed=["gemm-8"]))
    gaps = (
        f"streaming: not recorded; share of the bandwidth keeps the shared value ({RECORD})",
        "gemm-8: every sample was disturbed, so it may be too slow",
    )
    assert sections(one)["Not measured, or disturbed"] == Prose("Not measured, or disturbed", gaps)
    assert one.record.caveats[:2] == list(gaps)
    assert one.record.caveats[-3:] == list(CAVEATS)
    assert "Not measured, or disturbed" not in sections(answer(found(missing=[])))


def test_the_benefit_is_the_error_before_and_after_by_regime():
    one = answer(found())
    first, second, *_ = one.record.benefits
    assert (first.device, first.regime, first.rows) == ("nvidia/l40s", "all", 100)
    assert (first.error_before, first.error_after, first.bias_before, first.bias_after) == (0.09, 0.08, 0.05, -0.01)
    assert (second.regime, second.error_after) == ("large", 0.095)
    grid = sections(one)["Benefit"]
    assert isinstance(grid, Grid)
    assert grid.table.rows == (("l40s", "9.0 → 8.0", "9.0 → 9.5", "9.0 → 6.0", "9.0 → 9.0"),)
    assert one.listing.columns[:4] == ("device", "regime", "rows", "error_before")
    assert one.listing.rows[0] == ("nvidia/l40s", "all", 100, 0.09, 0.08, 0.05, -0.01)
    (said,) = sections(one)["Summary"].sentences
    assert said in one.record.caveats
    assert said.startswith("error falls: on all rows by 1.0 points")


def test_without_published_rows_it_is_said_why_there_is_no_benefit():
    one = answer(found(benefit=None, no_benefit="no rows"))
    assert sections(one)["Benefit"] == Prose("Benefit", ("no rows",))
    assert (one.record.benefits, one.listing.rows, "Summary" in sections(one)) == ([], (), False)


def test_the_title_names_the_gpu_and_how_many_products_it_rests_on():
    one = answer(found())
    assert one.title == f"{L40S.name}, calibrated"
    assert one.subtitle == "nvidia/l40s, bf16, 2 products of a recording"
    assert (one.record.hardware, one.record.precision) == ("nvidia/l40s", "bf16")


def test_published_gpus_have_benefits_and_no_figures():
    one = published_answer({"nvidia/l40s": BENEFIT, "nvidia/h100-sxm5-80gb": BENEFIT})
    assert one.title == "2 published GPUs, calibrated by their own anchors"
    assert (one.record.hardware, one.record.own, one.record.products) == (None, [], [])
    assert [each.device for each in one.record.benefits] == ["nvidia/l40s"] * 4 + ["nvidia/h100-sxm5-80gb"] * 4
    assert [row[0] for row in sections(one)["Benefit"].table.rows] == ["l40s", "h100-sxm5-80gb"]
    assert len(one.listing.rows) == 8
    assert sections(one)["How to read it"] == Prose("How to read it", CAVEATS[:1])
    assert one.record.caveats == [*sections(one)["Summary"].sentences, *CAVEATS]


def test_every_kind_of_anchor_gives_one_figure():
    assert QUANTITIES.keys() == ANCHORS.keys()
