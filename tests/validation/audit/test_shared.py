"""Causes that wrong figures of a column or a row share, and what is too little for one."""

import json

import pytest

from pytest_rooflint.audit import account
from pytest_rooflint.audit.sparse import fields_with_sparsity

SPARSE = "device,fp16_tflops\nH100 SXM5,1979\nA100 SXM4 80GB,624\nA30,330\n"


def shared(findings):
    return {one.device: one.shared for one in findings if one.shared}


# ---- a column that is sparse throughout


def test_a_column_that_is_sparse_throughout_is_said_to_be_so_once(audited, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    findings = audited(SPARSE + "V100 SXM2 16GB,125\n")  # which has no sparsity, and speaks neither for nor against it
    text = "column 'fp16_tflops': all 3 figures of devices with sparsity are sparse, and none is dense"
    assert shared(findings) == dict.fromkeys(["H100 SXM5", "A100 SXM4 80GB", "A30"], text)
    assert [one.cause for one in findings][:1] == ["is the sparse FP16 peak (tensor_core), 1.979 PFLOP/s"]
    assert account.as_text(findings).count(text) == 1
    records = json.loads(account.as_json(findings))["findings"]
    assert [one["shared"] for one in records] == [text, text, text, None]


@pytest.mark.parametrize(
    "table",
    [
        SPARSE + "L4,121\n",  # a dense figure
        "device,fp16_tflops\nH100 SXM5,1979\nA100 SXM4 80GB,624\n",  # two are few
        "device,sparse_fp16_tflops\nH100 SXM5,1979\nA100 SXM4 80GB,624\nA30,330\n",  # said to be sparse
        SPARSE + "L4,77\nL40S,88\nH200,99\n",  # as many are something else
    ],
)
def test_a_column_of_some_sparse_figures_is_not_sparse_throughout(audited, table):
    assert shared(audited(table)) == {}


def test_what_is_not_sparse_in_a_sparse_column_has_its_own_cause(audited):
    findings = audited(SPARSE + "L4,77\n")
    assert "L4" not in shared(findings)
    assert shared(findings)["A30"].startswith("column 'fp16_tflops': 3 of 4 figures")


# ---- a name that is sparse throughout


NAMED = "device,fp64_tflops,fp32_tflops,fp16_tflops,bf16_tflops,fp8_tflops,int8_tops\n"
DENSE = "MI300X,163.4,163.4,1307.4,1307.4,2614.9,2614.9\n"


def test_a_name_whose_peaks_are_all_sparse_has_that_as_the_first_cause(audited):
    findings = [one for one in audited(f"{NAMED}H100 SXM5,67,989,1979,1979,3958,3958\n{DENSE}") if one.is_wrong]
    assert [one.explanations[0].error for one in findings] == [
        "another precision + sparse for dense",
        *["sparse for dense"] * 4,
    ]
    assert findings[0].cause == (
        "is the sparse TF32 peak (tensor_core), 989.4 TFLOP/s, as the other peaks of this name are sparse"
    )


def test_a_name_with_a_dense_peak_is_not_sparse_throughout(audited):
    findings = [one for one in audited(f"{NAMED}H100 SXM5,67,989,989,1979,3958,3958\n{DENSE}") if one.is_wrong]
    assert findings[0].explanations[0].error == "another precision"
    assert not any("sparse TF32 peak" in one.explanations[0].text[:22] for one in findings)


# ---- a row that is copied from another


HEADER = "device,bf16_tflops,mem_bw_gbps,tdp_w,mem_gb\n"
A10 = "A10,125,600,150,24\n"


def test_figures_of_another_row_are_said_to_be_copied_from_it(audited, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    findings = audited(f"{HEADER}{A10}L40S,125,600,150,48\n")
    text = "L40S: 3 figures are copied from A10 in line 2"
    copied = [one for one in findings if one.shared]
    assert [(one.line, one.quantity, one.shared) for one in copied] == [
        (3, "bf16 peak", text),
        (3, "bandwidth", text),
        (3, "tdp", text),
    ]
    assert {one.cause for one in copied} == {"is that of A10 in line 2, as are 3 figures of L40S"}
    assert account.as_text(findings).count(text) == 1


@pytest.mark.parametrize(
    "table",
    [
        f"{HEADER}{A10}L40S,125,600,350,48\n",  # two figures are few
        f"{HEADER}L40S,125,600,150,48\n",  # the row that has them is not in the table
        f"{HEADER}A10,124,601,150,24\nL40S,133,622,133,48\n",  # wrong, but not those of the other row
    ],
)
def test_fewer_figures_of_another_row_are_no_copy(audited, table):
    assert shared(audited(table)) == {}


# ---- sparse or half rate


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fp16", "error"),
    [
        ("330.3", "half-rate accumulation"),  # right for FP16 that accumulates in FP16, and BF16 repeats it
        ("165.2", "sparse for dense"),  # right, and BF16 is twice it
        ("777", "sparse for dense"),  # wrong itself: tells nothing
    ],
)
def test_fp16_beside_bf16_tells_half_rate_from_sparse(audited, fp16, error):
    findings = audited(f"device,fp16_tflops,bf16_tflops\nRTX 4090,{fp16},330.3\n")
    (bf16,) = [one for one in findings if one.quantity == "bf16 peak"]
    assert {one.error for one in bf16.explanations} >= {"half-rate accumulation", "sparse for dense"}
    assert bf16.explanations[0].error == error


# ---- digits of a column


@pytest.mark.parametrize(
    ("others", "status"),
    [
        (["10.0", "5.0"], "right"),  # 7.8 and 9.7 and 5.3 by a program that writes whole numbers with .0
        (["9.7", "5.0"], "wrong"),  # here .0 is a digit
        (["10.0"], "wrong"),  # two numbers are too few to tell
    ],
)
def test_a_trailing_zero_counts_where_other_figures_of_the_column_have_decimals(audited, others, status):
    names = ["A100 SXM4 80GB", "P100 SXM2 16GB"]
    rows = "".join(f"{name},{text}\n" for name, text in zip(names, others, strict=False))
    findings = audited(f"device,vector_fp64_tflops\nV100 SXM2 16GB,8.0\n{rows}")
    assert findings[0].status == status


def test_what_may_be_sparse_is_not_called_doubled_because_other_figures_are(audited):
    # 1979 is the sparse peak; 133.8 and 267.6 are 66.9 and 133.8 of the vector lanes, which have no sparsity, doubled
    table = "device,fp16 tensor tflops,fp32 cuda tflops,fp16 cuda tflops\n"
    findings = audited(f"{table}H100 SXM5,1979,133.8,267.6\n")
    assert [one.explanations[0].error for one in findings] == ["sparse for dense", *["op counted twice"] * 2]


# ---- figures of something else


def test_many_figures_of_one_device_in_a_column_are_measurements(audited):
    runs = "".join(f"H100 SXM5,{tflops}\n" for tflops in (101, 202, 404, 606))
    findings = audited("device,bf16_tflops\n" + runs + "A100 SXM4 80GB,156\n")
    assert [one.status for one in findings] == ["not checked"] * 4 + ["wrong"]
    assert findings[0].note == "4 figures of one device in this column; taken for measurements"


def test_a_column_of_totals_may_hold_those_of_several_devices(audited):
    findings = audited("device,total_vram_gb\nA100 SXM4 80GB,640\nH100 SXM5,81\nH100 NVL,94\n")
    assert [(one.status, one.note) for one in findings][:1] == [("not checked", "a total of 8 devices")]
    assert [one.status for one in findings][1:] == ["wrong", "right"]


def test_a_figure_without_a_unit_that_is_far_from_the_devices_own_is_of_something_else(audited):
    findings = audited("device,bandwidth\nA100 SXM4 80GB,48.6\n")
    assert [one.status for one in findings] == ["not checked"]
    assert findings[0].note.endswith("of the device's figure for no known cause; taken for a figure of something else")
    assert [one.status for one in audited("device,bandwidth (GB/s)\nA100 SXM4 80GB,48.6\n")] == ["wrong"]


def test_a_column_of_peaks_without_a_unit_is_in_giga_where_its_figures_are(audited):
    findings = audited("device,fp32_flops\nA100 SXM4 80GB,19490\nT4,8141\nH100 SXM5,6691\n")
    assert [one.status for one in findings] == ["right", "right", "wrong"]
    assert findings[2].printed == "6.691 TFLOP/s"


def test_a_plain_peak_that_repeats_that_of_tensor_cores_in_its_row_is_theirs(audited):
    header = "device,peak_fp16_tflops,peak_fp16_tensor_tflops\n"
    assert [one.status for one in audited(header + "T4,65,65\n")] == ["right", "right"]
    assert [one.status for one in audited(header + "T4,16.3,65\nL4,60,121\n")] == ["right", "right", "wrong", "right"]


def test_the_type_of_a_gpu_is_its_name_where_no_other_column_is(audited):
    assert [one.device for one in audited("GPU Type,vram_gb\nT4,16\n")] == ["T4"]
    assert [one.device for one in audited("device_type,gpu,vram_gb\ncuda,T4,16\n")] == ["T4"]


def test_megabytes_that_a_driver_reports_in_binary_are_disputed(audited):
    findings = audited("device,Memory size (MB)\nT4,15110\nTitan RTX,24220\nH100 SXM5,70000\n")
    assert [one.status for one in findings] == ["disputed", "disputed", "wrong"]


MEASURED = "NVIDIA H200 SXM,4028,59.5,686\nH100 SXM5,2958,59.0,495\nRTX 5090,1503,95.8,247\n"


def test_a_table_whose_figures_are_all_short_of_the_spec_holds_measurements(audited):
    header = "device,HBM BW (GB/s),FP32 (TFLOPS),FP16 Tensor (TFLOPS)\n"
    found = audited(header + MEASURED)
    assert {one.status for one in found} == {"not checked"}
    assert found[0].note == "no figure of this table is of a spec, and most are below it; taken for measurements"
    with_a_right_one = audited(header + MEASURED + "L4,300,30.3,121\n")
    assert sum(one.is_wrong for one in with_a_right_one) == 9


def test_a_table_that_is_halved_throughout_is_not_taken_for_measurements(audited):
    rows = "A100 SXM4 80GB,156,312\nH100 SXM5,494.7,989.5\nL4,60.6,121.2\n"
    found = audited("device,bf16_tflops,int8_tops\n" + rows)
    assert [one.status for one in found] == ["wrong"] * 6


def test_links_do_not_tell_a_board_from_a_module(audited):
    # the PCIe board of 40 GB has a base clock of 765 MHz, and by a bridge the 600 GB/s of a module
    found = audited("device,base_clock,mem_bw,nvlink_bw\nA100-40,765,1555,600\n")
    assert not any(one.is_wrong for one in found)


@pytest.mark.parametrize("device", ["Apple M1", "Jetson AGX Orin 64GB"])
def test_a_clock_of_a_chip_with_cpu_cores_is_wrong_only_where_it_is_said_to_be_of_the_gpu(audited, device):
    plain, core, gpu = audited(f"device,Clock (GHz),P-core clock (GHz),GPU clock (GHz)\n{device},3.2,3.2,3.2\n")
    assert [plain.status, core.status, gpu.status] == ["not checked", "not checked", "wrong"]
    assert "CPU cores" in plain.note


# ---- a column of vector units, and parts of a device


VECTOR = "device,fp32_tflops,fp16_tflops\nRTX 3080,29.77,29.77\nRTX A6000,38.71,38.71\nTitan V,14.9,29.8\n"


def statuses(findings, column):
    return {one.device: one.status for one in findings if one.column == column}


@pytest.mark.parametrize("more", ["", "A100 SXM4 80GB,19.5,312\nH100 SXM5,67,989\n"])
def test_a_plain_rate_of_cuda_cores_is_ambiguous_and_says_what_tensor_cores_reach(audited, more):
    findings = audited(VECTOR + more)
    found = {one.device: one for one in findings if one.column == "fp16_tflops"}
    assert {one: found[one].status for one in ("RTX 3080", "RTX A6000", "Titan V")} == dict.fromkeys(
        ("RTX 3080", "RTX A6000", "Titan V"), "ambiguous"
    )
    assert found["RTX 3080"].note == (
        "right for cuda_core, but tensor_core reaches 119.1 TFLOP/s; the table does not say which"
    )


@pytest.mark.parametrize("column", ["fp16_tensor_tflops", "tflops"])
def test_a_rate_of_cuda_cores_is_wrong_as_one_of_tensor_cores_and_where_no_precision_is_given(audited, column):
    [*_, last] = audited(f"device,{column}\nA100 SXM4 80GB,312\nH100 SXM5,989\nRTX 3080,29.77\n")
    assert last.status == "wrong"


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        ("device,bf16_tflops\nMI250X,191.5\n", {"MI250X": "ambiguous"}),
        ("device,mem_gb,bandwidth_gbps\nK80,12,240\n", {"K80": "ambiguous"}),
        ("device,mem_gb,bandwidth_gbps\nK80,24,240\n", {"K80": "wrong"}),  # the whole of the one, a half of the other
        ("device,bandwidth_gbps\nA100 SXM4 80GB,1020\n", {"A100 SXM4 80GB": "wrong"}),  # which has no parts
    ],
)
def test_figures_of_a_part_that_drivers_list_are_right_for_it_unless_another_is_of_the_whole(audited, table, wanted):
    findings = audited(table)
    last = findings[-1].column
    assert statuses(findings, last) == wanted


def test_doubled_peaks_of_a_name_stay_sparse_where_one_more_is_of_another_rate(audited):
    header = "device,fp64_tflops,bf16_tflops,fp16_tflops,int8_tops\n"
    findings = audited(f"{header}L4,15.1,242,242,485\n")
    assert [one.explanations[0].error for one in findings] == ["another rate", *["sparse for dense"] * 3]


@pytest.mark.parametrize(
    ("printed", "status"), [("121.6", "rounded"), ("122.2", "rounded"), ("123.2", "wrong"), ("119.4", "wrong")]
)
def test_a_peak_within_a_hundredth_is_not_accused_without_a_cause(audited, printed, status):
    (found,) = audited(f"device,bf16_tflops\nL4,{printed}\n")
    assert (found.status, bool(found.explanations) and status == "rounded") == (status, False)


def test_doubled_peaks_beside_a_doubled_memory_are_of_a_pair(audited):
    header = "device,mem_gb,bf16_tflops,fp16_tflops,fp8_tflops\n"
    findings = audited(f"{header}GB200,384,4500,4500,9000\n")
    assert all("several devices" in one.explanations[0].error for one in findings)
    findings = audited(f"{header}GB200,186,4500,4500,9000\n")
    assert all("several devices" not in one.explanations[0].error for one in findings if one.is_wrong)


@pytest.mark.parametrize(
    ("device", "memory_gb", "status"),
    [
        ("Apple M4 Max", 64, "not checked"),
        ("Apple M4 Max", 256, "wrong"),  # more than there is
        ("Jetson AGX Orin 64GB", 32, "wrong"),  # whose name says how much there is
        ("RTX 4090", 16, "wrong"),  # which is no chip with CPU cores
    ],
)
def test_a_smaller_memory_of_a_chip_that_is_sold_with_several_is_not_wrong(audited, device, memory_gb, status):
    (found,) = audited(f"device,mem_gb\n{device},{memory_gb}\n")
    assert found.status == status


def test_what_leaves_a_device_or_a_node_is_no_bandwidth_of_its_memory(audited):
    table = "node type,gpu egress bandwidth (GB/s),node egress bandwidth (GB/s),mem_gb\nH100 SXM5,450,400,80\n"
    assert [one.status for one in audited(table) if one.column == "mem_gb"] == ["right"]
    assert not any(one.is_wrong for one in audited(table))


def test_a_column_with_several_peaks_at_base_clocks_is_ambiguous_and_one_is_wrong(audited):
    table = "device,fp32_tflops\nRTX 3060 Ti,13.7\nRTX 3070 Ti,19.4\nGTX 1080,8.23\n"
    several, one = audited(table), audited("device,fp32_tflops\nGTX 1080,8.23\n")
    assert [finding.status for finding in several] == ["ambiguous"] * 3
    assert several[0].note.endswith("name the clock")
    assert (one[0].status, one[0].explanations[0].error) == ("wrong", "another clock")


# ---- fields that are declared with sparsity

DECLARED = """\
struct Gpu {{
    pub name: String,
    // Peaks (TFLOPS, {said})
    pub fp32_tflops: Option<f64>,
    pub fp16_tflops: Option<f64>,
    pub int8_tops: Option<f64>, // DP4A before Turing
}}
fn h100() -> Gpu {{ Gpu {{ name: "H100 SXM5", fp32_tflops: Some(66.9), fp16_tflops: Some({h100}), int8_tops: None }} }}
fn a100() -> Gpu {{ Gpu {{ name: "A100 SXM4 80GB", fp32_tflops: None, fp16_tflops: Some(312.0), int8_tops: Some(1248.0),
}} }}
fn v100() -> Gpu {{ Gpu {{ name: "V100 SXM2 16GB", fp32_tflops: None, fp16_tflops: Some(125.0), int8_tops: None }} }}
"""


def test_fields_that_a_comment_declares_with_sparsity_hold_sparse_peaks_where_a_device_has_them(audited):
    findings = audited(DECLARED.format(said="with sparsity where applicable", h100=1979.0), name="gpus.rs")
    assert {(one.device, one.quantity): one.status for one in findings} == {
        ("H100 SXM5", "fp32 peak"): "right",
        ("H100 SXM5", "sparse fp16 peak"): "right",
        ("A100 SXM4 80GB", "sparse fp16 peak"): "wrong",
        ("A100 SXM4 80GB", "sparse int8 peak"): "right",
        ("V100 SXM2 16GB", "fp16 peak"): "right",
    }
    (wrong,) = [one for one in findings if one.is_wrong]
    assert (wrong.cause, wrong.note) == (
        "is the dense FP16 peak (tensor_core), 311.9 TFLOP/s",
        "declared with sparsity in line 3",
    )


@pytest.mark.parametrize(("said", "h100"), [("without sparsity", 1979.0), ("with sparsity", 989.0)])
def test_a_comment_on_sparsity_counts_only_where_most_figures_agree_with_it(audited, said, h100):
    # in the second case two figures are dense and one is sparse
    findings = audited(DECLARED.format(said=said, h100=h100), name="gpus.rs")
    assert "sparse" not in "".join(one.quantity for one in findings)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (
            "interface G {\n  /* w/ sparsity */\n  fp16Tflops?: number;\n  readonly tf32: number;\n}",
            ["fp16Tflops", "tf32"],
        ),
        ("@dataclass\nclass G:\n    # TFLOPS with 2:4 sparsity\n    fp16: float = 0.0\n\n    tdp: float", ["fp16"]),
        ("struct G {\n  // with sparsity\n  double fp16;\n  // dense\n  double fp32;\n};", ["fp16"]),
        ("x = {\n  # with sparsity\n  fp16: Some(1979.0),\n}", []),
        ("# w/o sparsity\nfp16: float", []),
    ],
)
def test_a_comment_declares_the_fields_up_to_the_next_comment_or_gap(text, fields):
    assert [*fields_with_sparsity(text)] == fields
