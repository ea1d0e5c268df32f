"""The precision of a column of peaks that names none."""

import pytest

PEAKS = "device,{column}\nA100,{a100}\nH100 SXM5,{h100}\n"


@pytest.mark.parametrize(
    ("column", "a100", "h100", "quantities", "statuses"),
    [
        ("peak_tflops", 312, 989, ["bf16 peak"] * 2, ["right", "right"]),
        ("peak_tflops", 19.5, 67, ["fp32 peak"] * 2, ["right", "right"]),
        ("peak_tops", 624, 1979, ["int8 peak"] * 2, ["right", "right"]),
        ("peak_tflops", 624, 1979, ["bf16 peak"] * 2, ["wrong", "wrong"]),  # the sparse ones; FLOPS are no integers
        ("peak_tflops", 312, 312, ["bf16 peak"] * 2, ["right", "wrong"]),
    ],
)
def test_the_precision_of_most_figures_counts(column, a100, h100, quantities, statuses, audited):
    findings = audited(PEAKS.format(column=column, a100=a100, h100=h100))
    assert [one.quantity for one in findings] == quantities
    assert [one.status for one in findings] == statuses
    assert all(f"no precision given; taken as {quantities[0][:4]}" in one.note for one in findings)


def test_a_single_figure_that_is_right_in_another_precision_is_left_open(audited):
    [finding] = audited("device,peak_tflops\nH100 SXM5,1979\n")
    assert (finding.status, finding.note) == ("not checked", "no column gives its precision")


def test_a_single_figure_that_is_right_in_none_is_wrong(audited):
    [finding] = audited("device,peak_tflops\nH100 SXM5,312\n")
    assert (finding.status, finding.explanations[0].error) == ("wrong", "another device")


def test_devices_without_bf16_are_held_against_fp16(audited):
    [finding] = audited("device,peak_tflops\nV100 SXM2 16GB,125\n")
    assert (finding.status, finding.quantity) == ("right", "fp16 peak")


def test_vector_lanes_are_held_against_fp32(audited):
    # 256 CU × 128 lanes × 2.2 GHz = 72.1, which is also the FP64 peak of an MI350X: the factor of two is missing
    findings = audited("device,peak_valu_tflops\nMI300X,163.4\nMI350X,72.1\n")
    assert [(one.quantity, one.status) for one in findings] == [
        ("vector fp32 peak", "right"),
        ("vector fp32 peak", "wrong"),
    ]
    assert findings[1].explanations[0].error == "MAC for op"


def test_what_vendors_advertise_is_right_in_one_precision_or_not_read(audited):
    found = audited("gpu,AI TOPS\nRTX 3090,285\nRTX 4090,1321\nRTX 5090,3352\nRTX 4080,1234\n")
    assert [one.status for one in found] == ["right", "right", "right", "not checked"]
    assert [one.quantity for one in found[:3]] == ["int8 peak", "sparse fp8 peak", "sparse fp4 peak"]


@pytest.mark.parametrize(
    ("field", "status"),
    [
        ("'peak': 989000,  # GFLOP/s", "right"),
        ("'peak': 0.989,  # dense BF16, in PFLOP/s", "right"),
        ("'memory': 81920,  # MiB", "right"),
        ("'memory_bandwidth': 3350,  # GB/s of 80 GB", "right"),
        ("'memory': 80,  # MiB", "wrong"),
        ("'peak_tflops': 7.5,  # TFLOPS/SM", "not checked"),
        ("'peak': 1.87,  # TFLOP/s per core", "not checked"),
    ],
)
def test_a_remark_gives_the_unit_of_a_number(audited, field, status):
    source = f"GPUS = {{\n  'h100 sxm': {{\n    {field}\n  }},\n}}\n"
    [finding] = audited(source, "gpus.py")
    assert finding.status == status


def test_a_unit_in_the_remark_of_one_number_is_not_that_of_others(audited):
    source = "PEAK = {\n  'a100 sxm': 312000,  # GFLOP/s\n  'h100 sxm': 989,  # TFLOP/s\n}\n"
    assert [one.status for one in audited(source, "gpus.py")] == ["right", "right"]
