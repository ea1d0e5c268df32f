"""Figures become findings, and nothing right is accused."""

import csv
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_rooflint.audit.auditor import Auditor
from rooflint.diagnosis.figures import ERRORS, figures
from rooflint.hardware.registry import Registry

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "typical-errors.csv"
REGISTRY = Registry()
AUDITOR = Auditor(REGISTRY)


def only(findings):
    (finding,) = findings
    return finding


# ---- findings


def test_a_name_without_its_variant_is_right_for_one_of_them_and_said_to_be_ambiguous(audited):
    finding = only(audited("device,bf16_tflops\nH100,756\n"))
    assert finding.status == "ambiguous"
    assert "nvidia/h100-pcie-80gb" in finding.note
    assert "989.4 TFLOP/s" in finding.note or "835.3 TFLOP/s" in finding.note


def test_a_figure_that_all_variants_share_is_right(audited):
    assert only(audited("device,bf16_tflops\nA100,312\n")).status == "right"


def test_a_variant_that_the_table_names_apart_is_not_meant_by_the_plain_name(audited):
    # the PCIe board has a row of its own, with another figure, so that 756 under the plain name is not it
    table = "device,bf16_tflops,mem_bw_gbps\nH100,756,\nH100 PCIe,,2000\nH100 NVL,835,\n"
    plain, *named = audited(table)
    assert [one.status for one in named] == ["right", "right"]
    assert plain.status == "wrong"
    assert plain.explanations[0].error == "another device"


def test_a_plain_name_may_repeat_a_variant_that_the_table_names_too(audited):
    table = "device,bf16_tflops\nH100,989\nH100 SXM,989\nH100 PCIe,756\n"
    assert [one.status for one in audited(table)] == ["right", "right", "right"]


def test_figures_of_one_name_must_be_of_one_variant(audited):
    findings = audited("device,bf16_tflops,mem_bw_gbps,tdp_w\nH100,989,2039,700\n")
    assert {one.quantity: one.status for one in findings} == {
        "bf16 peak": "right",
        "bandwidth": "wrong",
        "tdp": "right",
    }
    wrong = next(one for one in findings if one.status == "wrong")
    assert "nvidia/h100-pcie-80gb" in wrong.cause


def test_a_vendors_own_disagreement_is_disputed_and_no_error(audited):
    finding = only(audited("device,bf16_tflops\nL40S,362.05\n"))
    assert (finding.status, finding.is_wrong) == ("disputed", False)
    assert "2490 MHz" in finding.note


def test_a_known_error_of_others_is_wrong_with_its_reason(audited):
    finding = only(audited("device,mem_gb\nMI325X,288\n"))
    assert finding.is_wrong
    assert "shipped with 256" in finding.cause


def test_a_round_figure_is_said_to_be_rounded(audited):
    finding = only(audited("device,bf16_tflops\nMI300X,1300\n"))
    assert (finding.status, finding.note) == ("rounded", "1.307 PFLOP/s rounded to two digits")


def test_an_unknown_device_is_said_to_be_unknown_and_what_is_near(audited):
    finding = only(audited("device,bf16_tflops\nH100 Ultra,989\n"))
    assert finding.status == "unknown device"
    assert "nvidia/h100-sxm5-80gb" in finding.note


def test_a_precision_that_the_device_lacks_is_unsupported_or_another_ones_figure(audited):
    findings = audited("device,precision,peak_tflops\nV100 SXM2 16GB,int8,125\nV100 SXM2 16GB,int4,333\n")
    assert [one.status for one in findings] == ["wrong", "unsupported"]
    assert "dense FP16 peak" in findings[0].cause
    assert "has: fp16, fp32, fp64" in findings[1].note


def test_a_repeated_figure_of_a_long_table_is_found_once(audited):
    table = "device,precision,peak_tflops,tdp_w\nT4,int8,130,70\nT4,fp16,65,70\n"
    assert len([one for one in audited(table) if one.quantity == "tdp"]) == 1


def test_the_same_number_of_two_devices_is_judged_for_each(audited):
    findings = audited("device,bf16_tflops\nH100 SXM5,312\nA100,312\n")
    assert [one.status for one in findings] == ["wrong", "right"]


# ---- the labelled table


def labelled():
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    return dict(enumerate(csv.DictReader(lines[1:]), 3))


def test_the_labelled_table_is_found_out_cell_by_cell():
    rows, findings = labelled(), AUDITOR.audit(EXAMPLE)
    found = {one.line: one for one in findings}
    assert set(found) == set(rows)
    causes = {
        line: (one.is_wrong and one.explanations and one.explanations[0].error) or "" for line, one in found.items()
    }
    message = {line: (one.is_wrong, causes[line]) for line, one in found.items()}
    assert message == {line: (row["label"] == "wrong", row["cause"]) for line, row in rows.items()}


#: Classes that no public table has shown us yet, or that only a last resort names; they are tested on their own.
RARE = {
    *("dense for sparse", "another mode", "another count", "platform total"),
    *("op counted twice", "decimal point", "power of two"),
}


def test_the_labelled_table_has_every_class_of_error_that_was_met_and_as_many_right_figures():
    causes = {part for row in labelled().values() for part in row["cause"].split(" + ") if part}
    assert set(ERRORS) - causes == RARE
    right = sum(row["label"] == "right" for row in labelled().values())
    assert 0.4 < right / len(labelled()) < 0.6


def test_a_labelled_row_is_right_only_where_a_sourced_figure_has_its_digits():
    findings = {one.line: one for one in AUDITOR.audit(EXAMPLE)}
    for line, row in labelled().items():
        if row["label"] == "right":
            assert findings[line].status in ("right", "disputed"), row
            assert 0.97 < findings[line].ratio < 1.03, row


# ---- laws


PEAKS = [
    (device, figure)
    for device in REGISTRY.ids()
    for figure in figures(REGISTRY.get(device))
    if figure.quantity == "peak" and not (figure.mode or figure.part or figure.sparse) and " + " not in figure.unit
]


@settings(max_examples=150, deadline=None)  # a slow runner is no bug
@given(st.sampled_from(PEAKS), st.sampled_from([1 / 16, 1 / 8, 1.0995, 2.5, 8.0, 1e3, 1e-3, 1 / 1.31]))
def test_no_right_peak_is_accused_and_no_wild_one_gets_away(peak, factor):
    device, figure = peak
    asked = AUDITOR.identifier
    columns_ = f"device,precision,peak_tflops\n{device},{figure.precision}{'' if figure.is_matrix else '_vector'},"
    right = f"{float(f'{figure.value / 1e12:.4g}'):.10g}"
    wrong = f"{float(f'{figure.value / 1e12 * factor:.4g}'):.10g}"
    value = float(wrong) * 1e12
    others = [one.value for one in asked.of(device) if one.quantity == "peak" and one.precision == figure.precision]
    assume(not any(0.94 < value / other < 1.06 for other in others))
    assert _status(f"{columns_}{right}\n") != "wrong"
    assert _status(f"{columns_}{wrong}\n") == "wrong"


def _status(text):
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "t.csv")
        file.write_text(text, encoding="utf-8")
        return only(AUDITOR.audit(file)).status
