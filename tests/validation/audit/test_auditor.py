"""Figures become findings, and nothing right is accused."""

import csv
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_rooflint.audit.account import as_text
from pytest_rooflint.audit.auditor import Auditor
from rooflint.base.errors import InputError
from rooflint.diagnosis.explanations import ERRORS
from rooflint.diagnosis.figures import figures
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


def test_a_precision_that_only_a_remark_gives_is_said(audited):
    source = "PEAK = {\n    'h100 pcie': 1513e12,  # dense BF16\n}\nBF16_PEAK = {'t4': 65e12}\n"
    remarked, plain = audited(source, "mfu.py")
    assert (remarked.status, remarked.note) == ("wrong", "bf16 is taken from the remark 'dense BF16'")
    assert "remark" not in plain.note


def test_a_row_of_two_devices_may_hold_the_figure_of_either(audited):
    table = "device,bf16_tflops\nA100/A800,312\nA100/H100 SXM5,312\nA100/A800,400\n"
    assert [one.status for one in audited(table)] == ["right", "ambiguous", "wrong"]


def test_a_figure_that_all_variants_share_is_right(audited):
    assert only(audited("device,bf16_tflops\nA100,312\n")).status == "right"


def test_a_variant_that_the_table_names_apart_is_not_meant_by_the_plain_name(audited):
    # the PCIe board has a row of its own, with another figure, so that 756 under the plain name is not it
    table = "device,bf16_tflops,mem_bw_gbps\nH100,756,\nH100 PCIe,,2000\nH100 NVL,835,\n"
    plain, *named = audited(table)
    assert [one.status for one in named] == ["right", "right"]
    assert plain.status == "wrong"
    assert plain.explanations[0].error == "another device"


def test_a_plain_name_means_the_usual_variant_where_a_table_gives_another_figure_of_it(audited):
    table = "device,bf16_tflops,mem_bw_gbps\nH100,989,\nH100 SXM,,3350\n"
    assert [one.status for one in audited(table)] == ["right", "right"]


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


# ---- from cells to figures


def brief(findings):
    """Line, quantity, status, and the likeliest error or else the note."""
    return [
        (one.line, one.quantity, one.status, one.explanations[0].error if one.explanations else one.note)
        for one in findings
    ]


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        (  # what a row says holds for its figures, and a row without a device has none
            "device,precision,sparsity,peak_tflops\nH100 SXM5,bf16,sparse,1979\nH100 SXM5,BF16 dense,,989\n,bf16,,99\n",
            [(2, "sparse bf16 peak", "right", ""), (3, "bf16 peak", "right", "")],
        ),
        (
            "device,bf16_tflops,tdp_w\nH100 SXM5 (sparse),1979,700\nH100 SXM5 dense,1979,700\n",
            [
                (2, "sparse bf16 peak", "right", ""),
                (2, "tdp", "right", ""),
                (3, "bf16 peak", "wrong", "sparse for dense"),
                (3, "tdp", "right", ""),
            ],
        ),
        (  # 47.9 of lanes and 95.7 of matrix cores, each right in its own column
            "device,fp32_tflops,fp32 tensor tflops\nMI250X,47.9,95.7\n",
            [(2, "vector fp32 peak", "right", ""), (2, "fp32 peak", "right", "")],
        ),
        ("device,peak_tflops\nH100 SXM5,989\n", [(2, "bf16 peak", "right", "no precision given; taken as bf16")]),
        (
            "device,precision,peak_tflops\nH100 SXM5,int32,33\n",
            [(2, "int32 peak", "not checked", "specs have no int32 rates")],
        ),
        (  # a column for either format is read as the one that the device has
            "device,bf16/fp16 tflops\nV100 SXM2 16GB,125\ngoogle/tpu-v4,275\n",
            [(2, "fp16 peak", "right", ""), (3, "bf16 peak", "right", "")],
        ),
        (
            "device,fp64\nA100,9.7 / 19.5\n",
            [(2, "fp64 peak", "not checked", "not read: '9.7 / 19.5' has more than one figure; write one per cell")],
        ),
        (  # a sum of the parts: 191.5 for each die
            "device,bf16_tflops\nMI250X,191.5\nMI250X GCD,191.5\nMI250X,383\n",
            [
                (2, "bf16 peak", "wrong", "part for whole"),
                (3, "bf16 peak per gcd", "right", ""),
                (4, "bf16 peak", "right", ""),
            ],
        ),
    ],
)
def test_a_figure_is_what_its_column_its_row_and_its_name_say(audited, table, wanted):
    assert brief(audited(table)) == wanted


def test_a_column_of_numbers_that_nobody_knows_is_said_to_be_unchecked_once(audited):
    # two of three are numbers; a price is about something else, and one number of two cells is no majority
    table = "device,int8_tops,score,price,mixed\nT4,130,5,7,9\nA10,250,6,8,fast\nL4,242,good,8,\n"
    ignored = [one for one in audited(table) if one.quantity == "column"]
    assert [(one.line, one.column, one.device) for one in ignored] == [(2, "score", "")]
    assert ignored[0].note == "unknown column 'score'; give its meaning with --map, or map it to 'ignore'"
    assert not [one for one in audited(table, score="ignore") if one.quantity == "column"]


def test_a_mapped_column_of_units_holds_for_its_row(audited):
    table = "device,precision,peak,in\nH100 SXM5,bf16,0.989,PFLOP/s\nA100,bf16,312,TFLOP/s\n"
    assert [one.status for one in audited(table, **{"in": "unit"})] == ["right", "right"]


def test_a_column_called_unit_is_one_of_units_in_any_usual_spelling(audited):
    table = "device,peak,precision,unit\nH100 SXM5,989,bf16,tflops\nT4,130,int8,TOPS\nA100,0.312,bf16,PFLOP/s\n"
    findings = audited(table)
    assert [(one.status, one.note) for one in findings] == [("right", "")] * 3


def test_an_unknown_unit_of_a_row_is_said_with_what_was_expected(audited):
    table = "device,peak,precision,u\nH100 SXM5,989,bf16,bananas\nT4,130,int8,GB/s\nA100,312 TFLOP/s,bf16,bananas\n"
    findings = audited(table, u="unit")
    assert [(one.line, one.status, one.note) for one in findings] == [
        (2, "not checked", "not read: '989': unknown unit 'bananas'; want a unit such as TFLOP/s"),
        (3, "not checked", "not read: '130': 'GB/s' is not a unit of a peak; want a unit such as TOP/s"),
        (4, "right", ""),  # the cell has its own
    ]


def test_the_unit_of_a_row_holds_for_the_columns_of_its_quantity(audited):
    # 989 TFLOP/s and 80 GB, for which the unit of a rate is none, and 132 SM, which have none
    table = "device,bf16,memory,sm_count,unit\nH100 SXM5,0.989,80,132,PFLOP/s\n"
    assert [one.status for one in audited(table)] == ["right", "right", "right"]


# ---- from figures to findings


def test_totals_of_a_node_are_named_where_they_explain_all_figures(audited):
    # 8 × 989, 3352 and 700
    table = "device,bf16_tflops,mem_bw_gbps,tdp_w\nH100 SXM5,7915,26816,5600\n"
    assert [one.cause for one in audited(table)] == ["counts 8 devices"] * 3
    # 4 × 989 alone is the sparse FP8 peak, but 4 × 700 W is a board of four
    table = "device,bf16_tflops,tdp_w,sm\nH100 SXM5,3958,2800,132\n"
    assert [one.cause for one in audited(table)] == ["counts 4 devices"] * 2 + [""]


def test_eight_times_the_bytes_of_a_bandwidth_and_a_bus_are_bits(audited):
    findings = audited("device,mem_bw_gbps,bus_bits\nA100 PCIE 40GB,12440,40960\n")
    assert [one.explanations[0].error for one in findings] == ["bits for bytes", "bits for bytes"]
    # one wrong quantity alone does not make a node
    (peak, _) = audited("device,bf16_tflops,tdp_w\nH100 SXM5,3958,700\n")
    assert peak.explanations[0].error == "another precision"


def test_a_spec_that_lacks_the_figure_is_no_reason_to_accuse(audited):
    (power,) = audited("device,tdp_w\napple/m2,20\n")
    assert (power.status, power.note) == ("not checked", "the spec of apple/m2 does not give this figure")
    (matrix,) = audited("device,fp32 tensor tflops\nV100 SXM2 16GB,156\n")
    assert (matrix.status, matrix.expected) == ("not checked", None)
    (hidden,) = audited("device,fp8_tflops\nnvidia/jetson-agx-xavier-32gb,99\n")
    assert (hidden.status, hidden.note.partition(":")[0]) == ("not checked", "nvidia/jetson-agx-xavier-32gb")


def test_fp16_in_the_place_of_bf16_is_another_precision(audited):
    # no wider format, and a V100 has no BF16; FP32 at 15.7 TFLOP/s may emulate it
    findings = audited("device,bf16_tflops\nV100 SXM2 16GB,125\nV100 SXM2 32GB,15.7\n")
    assert brief(findings)[0][2:] == ("wrong", "another precision")
    assert findings[1].status == "unsupported"


def test_a_power_is_not_rounded(audited):
    [finding] = audited("device,tdp_w\nRTX 4060 Ti 16GB,160\n")
    assert (finding.status, finding.explanations[0].error) == ("wrong", "another device")


def test_a_name_may_say_the_announced_memory_or_begin_those_of_its_variants(audited):
    announced = audited("device,cuda_cores\nNVIDIA B200 192 GB,18432\nNVIDIA B200 256 GB,18432\n")
    assert [one.status for one in announced] == ["wrong", "unknown device"]
    begun = audited("device,bf16_tflops\nRTX PRO 6000,503.8\nRTX PRO,503.8\nOrin,100\n")
    assert [one.status for one in begun] == ["right", "unknown device", "unknown device"]


def test_memory_beside_an_instance_is_not_checked_unless_it_is_a_devices(audited):
    table = "gpu,instance_type,memory_gb,gpu_memory_gb\nV100 SXM2 16GB,n1,30,30\n"
    assert [one.status for one in audited(table)] == ["not checked", "wrong"]
    assert only(audited("gpu,memory_gb\nV100 SXM2 16GB,30\n")).status == "wrong"


def test_tops_of_no_one_precision_are_not_checked(audited):
    # INT8, INT8 with sparsity, and FP4 with sparsity
    table = "GPU,TOPS\nRTX 3090,285\nRTX 4090,1321\nRTX 5090,3352\n"
    assert [one.note for one in audited(table)] == ["no column gives its precision"] * 3


def test_peaks_of_devices_without_matrix_units_are_fp32(audited):
    # 8.87 and 5.44 TFLOP/s; FP16 runs at 1/64 of that
    findings = audited("GPU,Compute\nGTX 1080,9 TFLOPS\nP4,5.5 TFLOPS\nGTX 1080 Ti,12.1 TFLOPS\n")
    assert [(one.quantity, one.status) for one in findings] == [
        ("fp32 peak", "right"),
        ("fp32 peak", "right"),
        ("fp32 peak", "wrong"),
    ]


def test_cores_are_cuda_cores_where_most_of_a_column_are(audited):
    found = audited("GPU,cores\nT4,40\nV100 SXM2,5120\nP100 PCIe,3584\n")
    assert [(one.quantity, one.status) for one in found] == [
        ("count (cuda_core)", "wrong"),  # 40 SM
        ("count (cuda_core)", "right"),
        ("count (cuda_core)", "right"),
    ]
    with pytest.raises(InputError, match="no column holds a figure"):
        audited("GPU,cores\nT4,40\nL4,58\n")


def test_totals_of_a_rack_are_told_of_one_of_its_devices(audited):
    findings = audited("GPU,BF16 (PFLOPS),Memory (TB)\nGB200,360,13.5\nB200,180,\n")
    assert findings[0].explanations[0].error == "sparse for dense + several devices"
    assert "counts the 72 devices of a NVIDIA GB200 NVL72" in findings[0].cause
    assert findings[1].cause == "counts the 72 devices of a NVIDIA GB200 NVL72"
    assert findings[2].explanations == ()


P4_AND_P40 = """| | GTX 1080 | Tesla P4 | Tesla P4 |
|---|---|---|---|
| Memory | 8 GB | 24 GB | 8 GB |
| SMs | 20 | 30 | 20 |
| Memory bus | 256 bit | 384 bit | 256 bit |
| Compute | 9 TFLOPS (8873 GFLOPS) | 9 TFLOPS (11,758 GFLOPS) | 5.5 TFLOPS |
"""


def test_a_column_with_the_figures_of_another_device_is_told_from_a_right_one_of_its_name(audited):
    wrong = {one.printed: one for one in audited(P4_AND_P40, "t.md") if one.is_wrong}
    assert {*wrong} == {"24 GB", "30", "384 bit", "9 TFLOP/s", "11.76 TFLOP/s"}
    others = [one for printed, one in wrong.items() if printed != "9 TFLOP/s"]
    assert {one.shared for one in others} == {"Tesla P4: 4 figures are those of nvidia/p40"}
    assert others[0].cause == "is the capacity (gddr5) of nvidia/p40, 24 GB, as are 4 figures of this name"


def test_a_format_that_a_wider_one_may_emulate_is_unsupported_rather_than_wrong(audited):
    # a V100 has 125 TFLOP/s in FP16, in which FP8 may run, but INT8 does not
    findings = audited("device,precision,peak_tflops\nV100 SXM2 16GB,fp8,125\nV100 SXM2 16GB,int8,125\n")
    assert brief(findings)[0][2:] == (
        "unsupported",
        "the spec of nvidia/v100-sxm2-16gb has no fp8 rate (has: fp16, fp32, fp64, int8)",
    )
    assert brief(findings)[1][2:] == ("wrong", "another precision")


def test_int8_of_a_v100_is_dp4a_on_its_cuda_cores(audited):
    # 80 SM × 64 × 4 MAC × 2 × 1530 MHz = 62.7 TOP/s
    assert only(audited("device,int8_tops\nV100 SXM2 16GB,62.7\n")).status == "right"


def test_a_vendors_rounding_to_two_digits_goes_before_its_explanations(audited):
    finding = only(audited("device,bf16_tflops\nH100 SXM5,990\n"))
    assert (finding.status, finding.ratio_text) == ("right", "1")


def test_variants_are_told_with_the_largest_first_and_two_at_the_most(audited):
    (bandwidth,) = audited("device,mem_bw_gbps\nA100,1555\n")
    others = "nvidia/a100-sxm4-80gb has 2.039 TB/s, nvidia/a100-pcie-80gb has 1.935 TB/s"
    assert bandwidth.note == f"right for nvidia/a100-pcie-40gb, but {others}; name the variant"
    assert only(audited("device,mem_bw_gbps\nA100,2039\n")).status == "right"  # the largest is meant


def test_rows_of_one_name_that_disagree_are_variants(audited):
    findings = audited("device,tdp_w,bf16_tflops\nA100,300,312\nA100,400,312\n")
    assert [(one.line, one.quantity, one.status) for one in findings] == [
        (2, "tdp", "ambiguous"),
        (2, "bf16 peak", "right"),
        (3, "tdp", "right"),
    ]


def test_the_ratio_is_a_fraction_where_the_digits_allow_one(audited):
    findings = audited("device,bf16_tflops,mem_gb\nA100 SXM4 80GB,156,48\nH100 SXM5,1058,80\n")
    assert [(one.ratio_text, round(one.ratio, 3)) for one in findings] == [
        ("1/2", 0.5),
        ("3/5", 0.6),
        ("1.069", 1.069),
        ("1", 1.0),
    ]


# ---- the labelled table


def labelled():
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    return dict(enumerate(csv.DictReader(lines[1:]), 3))


@pytest.mark.slow
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
    *("op counted twice", "decimal point", "power of two", "halved twice", "peak for bandwidth"),
    *("one direction", "direction counted twice"),
    *("recomputation counted", "recomputation left out", "forward alone", "all experts", "above the peak"),
}


def test_the_labelled_table_has_every_class_of_error_that_was_met_and_as_many_right_figures():
    causes = {part for row in labelled().values() for part in row["cause"].split(" + ") if part}
    assert set(ERRORS) - causes == RARE
    right = sum(row["label"] == "right" for row in labelled().values())
    assert 0.4 < right / len(labelled()) < 0.6


@pytest.mark.slow
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


@pytest.mark.slow
@given(st.sampled_from(PEAKS), st.sampled_from([1 / 16, 1 / 8, 1.0995, 2.5, 8.0, 1e3, 1e-3, 1 / 1.31]))
def test_no_right_peak_is_accused_and_no_wild_one_gets_away(peak, factor):
    device, figure = peak
    asked = AUDITOR.identifier
    columns_ = f"device,precision,peak_tflops\n{device},{figure.precision}{'' if figure.is_matrix else '_vector'},"
    right = f"{float(f'{figure.value / 1e12:.4g}'):.10g}"
    wrong = f"{float(f'{figure.value / 1e12 * factor:.4g}'):.10g}"
    value = float(wrong) * 1e12
    alike = {figure.precision, figure.precision.removesuffix("_acc16")}  # both are printed as FP16
    others = [one.value for one in asked.of(device) if one.quantity == "peak" and one.precision in alike]
    assume(not any(0.94 < value / other < 1.06 for other in others))
    assert _status(f"{columns_}{right}\n") != "wrong"
    assert _status(f"{columns_}{wrong}\n") == "wrong"


def _status(text):
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "t.csv")
        file.write_text(text, encoding="utf-8")
        return only(AUDITOR.audit(file)).status


def test_a_table_without_a_column_of_devices_is_refused(audited):
    with pytest.raises(
        InputError, match=r"no column names a device; name it with --map COLUMN=device \(columns: bf16,"
    ):
        audited("bf16,H100 SXM5\n989,312\n")


def test_a_capacity_that_a_driver_reports_is_disputed_and_a_round_one_is_wrong(audited):
    table = "device,memory (GiB),memory_gb\nA100 SXM4 80GB,79.25,\nRTX 4090,,23.65\nH100 SXM5,,79\n"
    assert [(one.line, one.status) for one in audited(table)] == [(2, "disputed"), (3, "disputed"), (4, "wrong")]


def test_a_rounded_bandwidth_times_1024_is_told(audited):
    rounded, wrong = audited("device,mem_bw_gbps\nA100 SXM4 80GB,2048\nH100 SXM5,3072\n")
    assert (rounded.status, wrong.status) == ("rounded", "wrong")  # 0.4 % and 8 % off
    assert rounded.note == "is 2 TB/s, which is 2.039 TB/s rounded, with 2^10 for 10^3"
    assert wrong.explanations[0].error == "tebi for tera"
    assert wrong.cause == "is 3 TB/s, which is 3.352 TB/s rounded, with 2^10 for 10^3"


def test_a_rounded_bandwidth_in_binary_units_is_told(audited):
    [finding] = audited("device,mem_bw\nA100 SXM4 80GB,2147483648000\n")  # 2000 × 2^30
    assert finding.cause == "is 2 TB/s, which is 2.039 TB/s rounded, with 2^30 for 10^9"


def test_a_row_of_two_of_another_device_is_told(audited):
    # two B200 of 192 GB: 2 × 2250, 2 × 4500 TFLOP/s, 384 GB
    table = "device,bf16_tflops,fp8_tflops,memory_gb,bandwidth_tbs\nGB300,4500,9000,384,8\n"
    causes = [one.explanations[0] for one in audited(table) if one.is_wrong]
    assert [one.error for one in causes] == ["another device + several devices"] * 3
    assert causes[0].text.startswith("is twice the dense BF16 peak (tensor_core) of nvidia/b200-sxm, 2.25 PFLOP/s")


def test_a_pair_is_told_by_its_memory(audited):
    table = "device,bf16_tflops,memory_gb,bandwidth_tbs,tdp_w\nGB300,5000,576,16,2800\n"
    assert {one.explanations[0].error for one in audited(table)} == {"several devices"}


def test_what_a_database_prints_wrongly_of_one_die_is_told(audited):
    [finding] = audited("device,fp32_tflops\nTesla K80,4.113\n")
    assert finding.explanations[0].error == "part for whole"
    assert "prints per gpu: at the 824 MHz" in finding.cause


@pytest.mark.parametrize("remark", ["GB/s unidirectional", "per direction", "one-way", ""])
def test_one_direction_of_links_is_right_where_a_comment_says_so(audited, remark):
    text = f'H100_SXM = {{\n    "nvlink_bw_gbs": 450,  # {remark}\n    "tdp_w": 700,\n}}\n'
    found = {one.quantity: one.status for one in audited(text, "a.py")}
    assert found == {"link": "not checked" if remark else "wrong", "tdp": "right"}
    [link] = audited(f"gpu,NVLink (GB/s)\nH100 SXM,450 GB/s ({remark or 'total'})\n")
    assert link.status == found["link"]


def test_a_plain_name_in_code_means_any_variant_that_another_table_gives_other_figures_of(audited):
    text = 'VRAM = {"RTX 3080 10GB": {"memory_gb": 10}}\ndef tdp(name):\n    if "3080" in name:\n        return 320\n'
    assert not any(one.is_wrong for one in audited(text, "a.py"))


def test_a_digit_is_no_rounding_where_it_is_far_from_the_figure(audited):
    [finding] = audited("device,mem_bw_gbps\nA100 PCIe 40GB,1024\n")  # 1 TB/s is not 1.555 rounded
    assert finding.is_wrong
    assert "rounded" not in finding.cause


def test_peaks_of_variants_that_differ_by_their_clock_are_ambiguous_in_one_row(audited):
    mixed = audited("device,mem_bw_gbps,fp32_tflops,fp16_tflops\nV100,900,15.7,112\n")
    assert [one.status for one in mixed] == ["right", "right", "ambiguous"]
    assert mixed[2].note.startswith("right for nvidia/v100-pcie-16gb, while the other figures of this name are of")
    told = audited("device,mem_bw_gbps,fp32_tflops,fp16_tflops\nV100 SXM2 16GB,900,15.7,112\n")
    assert told[2].is_wrong  # the name says which
    boards = audited("device,mem_bw_gbps,fp32_tflops,bf16_tflops\nH100,3350,67,756\n")
    assert boards[2].is_wrong  # too far for a clock


def test_a_name_run_together_and_one_said_to_be_real_are_found(audited):
    table = "device,memory_gb,tdp_w\nRTXPro6000,96,600\nA6000_real,48,350\nRTXPro6001,96,600\n"
    found = {(one.device, one.status) for one in audited(table)}
    assert found >= {("RTXPro6000", "right"), ("A6000_real", "right"), ("A6000_real", "wrong")}
    assert {status for device, status in found if device == "RTXPro6001"} == {"unknown device"}


LINKS = """name,nvlink_bandwidth_gb_s
H100 SXM5,900
H100 SXM5,450
H100 SXM5,7200
H200 SXM,3600
MI300X,128
MI300X,64
HGX H100 8-GPU,7200
HGX H100 8-GPU,900
HGX H100 8-GPU,3600
GB200 NVL72,130000
"""


INTERCONNECTS = """| GPU | Memory | Interconnect | GPU-GPU | Links |
|---|---|---|---|---|
| H100 SXM5 | 80 GB | NVLink 4: 900 GB/s | 900 GB/s | NVLink 4 |
| H200 SXM | 141 GB | 450 GB/s | 450 GB/s | NVLink 4 |
| MI300X | 192 GB | 448 GB/s | PCIe 5.0 | xGMI |
| B200 | 180 GB | 400 GB/s | 900 GB/s | NVLink 5 |
"""


def test_a_column_of_any_links_is_checked_against_those_between_devices(tmp_path):
    file = tmp_path / "links.md"
    file.write_text(INTERCONNECTS, encoding="utf-8")
    found = {(one.line, one.column): one for one in AUDITOR.audit(file) if one.quantity == "link"}
    assert {place: one.status for place, one in found.items()} == {
        (3, "Interconnect"): "right",
        (4, "Interconnect"): "wrong",  # one direction, beside both in the line above
        (5, "Interconnect"): "not checked",  # no other device with these links: it may be meant so
        (6, "Interconnect"): "not checked",  # of a network, say
        (3, "GPU-GPU"): "right",
        (4, "GPU-GPU"): "wrong",
        (5, "GPU-GPU"): "not checked",
        (6, "GPU-GPU"): "wrong",
    }
    assert found[4, "Interconnect"].cause == "counts one direction of the links, where both are printed"


def test_doubled_peaks_of_a_row_are_sparse_where_one_of_them_is(audited):
    # by itself 5000 is the FP8 peak as AMD prints it, which the sparse FP8 peak beside it rules out
    [alone] = audited("device,bf16 dense (TFLOPS)\nMI355X,5000\n")
    assert alone.explanations[0].error == "another precision"
    both = audited("device,bf16 dense (TFLOPS),fp8 dense (TFLOPS)\nMI355X,5000,10100\n")
    assert [one.explanations[0].error for one in both] == ["sparse for dense", "sparse for dense"]


def test_the_digits_of_a_document_say_more_than_a_ratio_of_two(audited):
    [finding] = audited("device,fp32 (TFLOPS)\nMI300X,81.7\n")
    assert [one.error for one in finding.explanations[:2]] == ["known error", "MAC for op"]


def test_facts_of_shipped_devices_are_shown_from_the_package_on(audited, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = as_text(audited("device,bf16 (TFLOPS)\nTPU v5e,394\n"))
    assert " rooflint/specs/architectures/google/tpu-v5p.yaml:13\n" in text


def test_figures_that_a_vendor_announced_are_disputed(audited):
    table = "device,fp32 (TFLOPS),bandwidth (GB/s)\nB200 SXM,80,\nP100 SXM2 16GB,,720\nP100 PCIe 16GB,,720\n"
    assert [one.status for one in audited(table)] == ["disputed"] * 3


def test_a_disputed_figure_of_a_part_is_disputed_of_the_whole_board(audited):
    # Wikipedia has 4 × 4.608 TFLOP/s for an A16, whose clock is open
    [finding] = audited("device,fp32 (TFLOPS)\nA16,18.43\n")
    assert finding.status == "disputed"
    assert finding.expected.printed.endswith("(per gpu)")


def test_errors_of_links_are_named_of_a_device_and_of_a_system(tmp_path):
    file = tmp_path / "links.csv"
    file.write_text(LINKS, encoding="utf-8")
    found = {one.line: one for one in AUDITOR.audit(file)}
    first = {line: one.explanations[0].text if one.is_wrong else one.status for line, one in found.items()}
    assert first == {
        2: "right",
        3: "counts one direction of the links, where both are printed",
        4: "is in bits: eight times the bytes",
        5: "is in bits, of one direction",
        6: "is that of one link",
        7: "is that of one link in one direction",
        8: "right",  # 8 × 900 GB/s: a system has as much as its devices
        9: "right",  # of a GPU
        10: "is the bisection of the system, or one direction of its devices",
        11: "right",  # 72 × 1.8 TB/s, rounded
    }
    also = [one.text for one in found[5].explanations]
    assert "counts one direction of the eight devices of a node, or their bisection" in also
    assert "counts the eight devices of a node" in [one.text for one in found[4].explanations]


def test_a_link_more_than_join_devices_is_the_one_to_the_host(audited):
    # 8 × 128 GB/s, where seven links join a device to its peers
    finding = only(audited("device,nvlink_bandwidth_gb_s\nMI300X,1024\n"))
    assert (finding.explanations[0].error, finding.explanations[0].text) == (
        "full die",
        "has one link more, such as that to the host",
    )


def test_each_place_of_source_code_with_a_wrong_figure_is_reported(tmp_path):
    file = tmp_path / "peaks.py"
    file.write_text('PEAK_BF16 = {"h100 sxm": 1979e12}\n\nFLOPS_BF16 = {"h100 sxm": 1979e12}\n', encoding="utf-8")
    assert [(one.line, one.status) for one in AUDITOR.audit(file)] == [(1, "wrong"), (3, "wrong")]


def test_what_is_expected_is_of_the_variant_that_the_cause_explains(audited):
    # 1555 GB/s of the 40 GB board in GiB: expecting 2039 GB/s of the larger one would not fit that cause
    finding = only(audited("device,mem_bw_gbps\nA100,1669.7\n"))
    assert finding.explanations[0].error == "tebi for tera"
    assert finding.expected.value == pytest.approx(1555e9, rel=1e-3)


# ---- devices under any header


@pytest.mark.parametrize("header", ["Part", "SKU", "Accel", "", "Board used"])
def test_the_column_of_devices_is_known_by_its_cells(audited, header):
    table = f"{header},Arch,BF16 TFLOPS\nA100 SXM4 80GB,Ampere,312\nH100 PCIe,Hopper,989\n"
    assert [(one.device, one.status) for one in audited(table)] == [("A100 SXM4 80GB", "right"), ("H100 PCIe", "wrong")]


def test_a_header_that_names_devices_comes_first_and_holds_them(audited):
    table = "GPU,Successor,BF16 TFLOPS\nA100,H100 SXM5,312\nT17,H100 SXM5,312\n"
    assert {one.device for one in audited(table)} == {"A100", "T17"}
    hosts = "Name,Node,BF16 TFLOPS\nlab,H100 SXM5,989\noffice,A100,312\n"
    assert [(one.device, one.status) for one in audited(hosts)] == [("H100 SXM5", "right"), ("A100", "right")]


def test_devices_that_others_are_compared_with_are_not_those_of_the_rows(audited):
    with pytest.raises(InputError, match="no column names a device"):
        audited("Chip code,Successor,BF16 TFLOPS\nX-17,H100 SXM5,312\n")


@pytest.mark.parametrize(
    ("header", "instead"),
    [
        ("Bandwidht", "'bandwidth' would be read; "),
        ("ram_gb", "'vram_gb' would be read; "),
        ("Measured TFLOPS", ""),
        ("Rank number", ""),
    ],
)
def test_an_unread_column_says_what_would_be_read_instead(audited, header, instead):
    found = audited(f"GPU,BF16 TFLOPS,{header}\nH100 SXM5,989,3000\n")
    note = f"unknown column '{header}'; {instead}give its meaning with --map, or map it to 'ignore'"
    assert [one.note for one in found if not one.device] == ([] if header.startswith("Rank") else [note])


@pytest.mark.parametrize("header", ["Price ($)", "$/h", "Released", "Qty"])
def test_columns_about_no_figure_of_a_spec_are_not_listed(audited, header):
    assert len(audited(f"GPU,BF16 TFLOPS,{header}\nH100 SXM5,989,2022\n")) == 1


# ---- records of machines


@pytest.mark.parametrize(
    "record",
    [
        '{"A100 SXM 80GB": {"memory_gb": 512}}',  # more than a device may have, for no known cause
        '{"A100 SXM 80GB": {"memory_gb": 64, "cpus": 32}}',
        '{"node1": {"gpu": "A100 SXM 80GB", "memory_gb": 64, "cpu_cores": 32}}',
        '[{"gpu": "A100 SXM 80GB", "memory_gb": 64, "nvme_tb": 4}]',
        '[{"gpu": "A100 SXM 80GB", "bandwidth": 25e9}]',
    ],
)
def test_what_a_machine_has_is_not_held_against_its_device(audited, record):
    assert {one.status for one in audited(record, "hosts.json")} == {"not checked"}


def test_the_memory_of_a_device_is_judged_in_the_record_of_a_machine(audited):
    found = audited('[{"gpu": "A100 SXM 80GB", "vram_gb": 64, "cpus": 64}]', "hosts.json")
    assert [one.status for one in found if one.column == "vram_gb"] == ["wrong"]


def test_a_plain_name_is_the_variant_that_most_figures_fit(audited):
    # 132 SM and 989 TFLOP/s are those of the SXM board, although its FP8 differs from a row of its own
    source = """
SMS = {"h100": 132}
PEAK_TFLOPS = {("h100", "bf16"): 989, ("h100", "fp8"): 3958, ("h100 sxm5", "fp8"): 1979, ("h100 pcie", "bf16"): 756}
"""
    wrong = [one for one in audited(source, "peaks.py") if one.is_wrong]
    assert [(one.device, one.printed, one.explanations[0].error) for one in wrong] == [
        ("h100", "3.958 PFLOP/s", "sparse for dense")
    ]


# ---- names and figures that are not what they seem


def causes(findings):
    return [(one.status, one.explanations[0].error if one.explanations else "") for one in findings]


@pytest.mark.parametrize("name", ["RTX 3090/Ti", "RTX 3090 (Ti)"])
def test_a_name_with_an_alternative_is_either(audited, name):
    # 936 GB/s are those of an RTX 3090, 1008 those of an RTX 3090 Ti
    table = f"device,mem_bw_gbps\n{name},936\n"
    assert only(audited(table)).status in ("right", "ambiguous")
    assert only(audited(table.replace("936", "1008"))).status == "right"
    assert only(audited(table.replace("936", "800"))).status == "wrong"


def test_a_device_of_a_rack_is_that_of_the_rack(audited):
    # 186 GB and 2.5 PFLOP/s are those of one GPU of a GB200, not of a B200 on its own board
    assert causes(audited("device,mem_gb,bf16_tflops\nB200 (NVL72),186,2500\n")) == [("right", ""), ("right", "")]


def test_a_round_number_near_the_figure_is_rounded(audited):
    assert only(audited("device,bf16_tflops\nH100 SXM5,1000\n")).status == "rounded"
    assert only(audited("device,bf16_tflops\nH100 SXM5,1010\n")).status == "wrong"


def test_one_core_of_an_accelerator_is_part_of_it(audited):
    # 190 TFLOP/s / 2 NeuronCores = 95, 123 TFLOP/s / 2 cores = 61.5
    findings = audited("device,bf16_tflops\nTrainium1,95\nTPU v3,61.5\n")
    assert causes(findings) == [("wrong", "part for whole")] * 2
    assert findings[0].explanations[0].text.startswith("is that of one of its 2 NeuronCores")


def test_integers_with_the_figure_of_16_bits_were_not_doubled(audited):
    findings = audited("device,fp16_tflops,int8_tops,int4_tops\nT4,65,65,130\n")
    assert causes(findings) == [("right", ""), ("wrong", "another precision"), ("wrong", "another precision")]
    assert causes(audited("device,int8_tops\nT4,65\n")) == [("wrong", "MAC for op")]  # nothing tells


def test_integers_are_halved_as_the_figures_beside_them(audited):
    table = "device,fp16_tflops,bf16_tflops,int8_tops,int4_tops\nRTX A6000,77.4,77.4,154.8,309.6\n"
    assert causes(audited(table)) == [("wrong", "halved twice")] * 4


def test_full_rates_of_the_newest_boards_are_those_of_others(audited):
    # an RTX 5090 accumulates in FP32 at half speed: BF16 209.5, TF32 104.8 TFLOP/s
    findings = audited("device,tf32_tflops,bf16_tflops,fp16_tflops\nRTX 5090,210,419,419\n")
    assert [one.status for one in findings] == ["wrong", "wrong", "right"]
    assert findings[1].explanations[0].error == "half-rate accumulation"


def test_a_column_in_which_nothing_is_a_devices_is_of_something_else(audited):
    table = "GPU,GBps\nMI300X,448\nMI325X,449\nGaudi2,301\n"
    assert [one.status for one in audited(table)] == ["not checked"] * 3
    assert "links or caches" in audited(table)[0].note


def test_a_few_megabytes_are_no_memory(audited):
    finding = only(audited("GPU,Distributed capacity\nA100 SXM4 80GB,20.25MiB\n"))
    assert (finding.status, "taken for a cache" in finding.note) == ("not checked", True)


def test_the_memory_below_a_bandwidth_is_a_memory(audited):
    findings = audited("X = {'rtx 4090': {'bandwidth': {'vram_gb': 24, 'peak_gbps': 1008}}}\n", "x.py")
    assert [(one.quantity, one.status) for one in findings] == [("capacity", "right"), ("bandwidth", "right")]


def test_an_announced_memory_may_be_counted_in_binary(audited):
    # the announced 192 GB as 192 × 2³⁰ B
    assert only(audited("X = {'B200': {'vram': 192 * 2**30}}\n", "x.py")).status == "disputed"


def test_a_power_limit_and_the_clock_of_the_peaks_are_ambiguous(audited):
    # 900 W as rated, 1000 W at most; an H100 boosts to 1980 MHz, its peaks are printed at 1830 MHz
    findings = audited("device,tdp_w,boost_clock_mhz\nGH200 96GB,1000,\nH100 SXM5,600,1830\n")
    assert [one.status for one in findings] == ["ambiguous", "wrong", "ambiguous"]


def test_the_memory_that_a_model_takes_is_no_devices(audited):
    assert audited("device,tdp_w,Total VRAM (8k context)\nRTX 4090,450,18\n")[0].status == "right"
    assert all(not one.is_wrong for one in audited("device,tdp_w,Total VRAM (8k context)\nRTX 4090,450,18\n"))


def test_a_figure_of_16_bits_is_that_of_bf16_where_the_device_has_no_other(audited):
    right, wrong = audited("device,fp16_tflops\nTPU v3,123\nTPU v4,300\n")
    assert (right.status, right.note) == ("ambiguous", "right for bf16, 123.2 TFLOP/s; google/tpu-v3 has no fp16 rate")
    assert wrong.status == "unsupported"


def test_a_superchip_of_two_gpus_may_have_the_figures_of_both(audited):
    findings = audited("device,bandwidth_gbps,bf16_tflops,tdp_w\nGB200 Superchip,16000,5000,2700\n")
    assert [one.status for one in findings] == ["right", "right", "not checked"]


@pytest.mark.parametrize("number", ["800", "8"])
def test_a_round_number_is_no_chance_match(audited, number):
    [*_, finding] = audited(f"device,mem_bw_gbps,fp32_tflops\nApple M3 Ultra,{number}00,{number}\n")
    assert "tebi for tera" not in {one.error for one in finding.explanations}


def test_a_founders_edition_is_disputed_in_all_precisions(audited):
    findings = audited("device,fp16_tflops,int8_tops,int4_tops\nRTX 2080 Ti,28.5,227.7,455.4\n")
    assert [one.status for one in findings] == ["ambiguous", "disputed", "disputed"]  # 28.5 of the CUDA cores


def test_a_row_that_says_so_holds_measured_figures(audited):
    measured, peak = audited("device,label,bf16_tflops\nH100 SXM5,Achievable,795\nH100 SXM5,Peak,796\n")
    assert (measured.status, measured.note) == ("not checked", "its row is called 'Achievable'; taken for measured")
    assert peak.status == "wrong"


def test_a_peak_of_16_bits_among_others_of_fp32_is_ambiguous_where_no_precision_is_given(audited):
    rows = "RTX 4090,82.6\nRTX 3090,35.6\nRTX 3080,29.8\n"
    assert [one.status for one in audited(f"device,tflops\n{rows}A100 SXM4 80GB,312\n")] == ["right"] * 3 + [
        "ambiguous"
    ]
