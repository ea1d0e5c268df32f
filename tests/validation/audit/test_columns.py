"""Tables as people write them: cells with two figures, remarks and footnotes, columns of other things, odd names."""

import math

import pytest

from pytest_rooflint.audit.cells import NumberError, parts, printed
from pytest_rooflint.audit.columns import ColumnError, columns, guessed, mapped, said_precision, said_sparsity
from rooflint.hardware.registry import Registry

REGISTRY = Registry()


def only(findings):
    (finding,) = findings
    return finding


def statuses(findings):
    return [one.status for one in findings if one.device]


# ---- cells


@pytest.mark.parametrize(
    "text",
    [
        "989 / 1979",
        "1979 / 989",
        "989 (1979)",
        "989 | 1979",
        "989 (1979 with sparsity)",
        "989 TFLOPS (1979 TFLOPS sparse)",
    ],
)
def test_a_cell_with_a_figure_and_its_double_is_dense_and_sparse(audited, text):
    dense, sparse = sorted(audited(f"device,bf16_tflops\nH100 SXM5,{text}\n"), key=lambda one: one.printed)
    assert (dense.status, sparse.status) == ("right", "right")
    assert {dense.quantity, sparse.quantity} == {"bf16 peak", "sparse bf16 peak"}


@pytest.mark.parametrize(
    "text", ["1979 (sparse)", "1979 sparse", "1979 TFLOPS sparse", "1979 w/ sparsity", "1,979* sparse"]
)
def test_a_cell_may_say_that_it_is_sparse(audited, text):
    assert statuses(audited(f'device,bf16_tflops\nH100 SXM5,"{text}"\n')) == ["right"]


@pytest.mark.parametrize(
    "text",
    ["989*", "up to 989", "989†", "989 TF", "989 TFLOPS (BF16)", "989 (4th gen)", "989.4 (dense)", "~989", "989[1]"],
)
def test_marks_and_remarks_around_a_number_are_passed_over(audited, text):
    assert statuses(audited(f'device,bf16\nH100 SXM5,"{text}"\n')) == ["right"]


def test_a_memory_may_be_named_with_its_kind(audited):
    assert statuses(audited("device,memory\nL40S,48GB GDDR6\nH100 SXM5,80 GB HBM3\n")) == ["right", "right"]


def test_a_decimal_comma_is_not_taken_for_a_thousand(audited):
    findings = audited("device;bf16_pflops;mem_bw_tbps\nH100 SXM5;0,989;3,35\n")
    assert statuses(findings) == ["right", "right"]


def test_zeros_behind_one_or_two_digits_are_digits():
    # 2.0 TB/s is 1.95 to 2.05 and not the PCIe board's 1.935; 989.0 is a float's 989
    assert printed("2.0", guessed("bandwidth_tbps"))[0].step == pytest.approx(0.1e12)
    assert printed("989.0", guessed("bf16_tflops"))[0].step == pytest.approx(1e12)


def test_a_figure_is_divided_by_small_numbers_only():
    assert printed("1979e12 / 2", guessed("bf16"))[0].value == 989.5e12
    with pytest.raises(NumberError, match="has more than one figure"):
        printed("142 / 312", guessed("bf16"))
    assert parts("142 / 312", guessed("bf16")) == [("142 / 312", None)]


def test_a_number_of_base_units_is_one_whatever_its_column_says(audited):
    assert statuses(audited("device,bf16_tflops\nH100 SXM5,989e12\n")) == ["right"]


def test_a_capacity_in_bytes_is_one_whatever_its_column_says(audited):
    assert statuses(audited(f"device,memory_gb\nH100 SXM5,{80 * 2**30}\nL40S,{47 * 2**30}\n")) == ["right", "wrong"]


@pytest.mark.parametrize(
    ("mebibytes", "status"),
    # 48 GiB are 49 152 MiB, of which error correction takes 1/16 and the driver a little
    [(49152, "right"), (46068, "disputed"), (48600, "disputed"), (44000, "wrong"), (46080, "wrong")],
)
def test_what_a_driver_leaves_of_a_memory_with_error_correction_is_disputed(audited, mebibytes, status):
    assert statuses(audited(f"device,memory\nA40,{mebibytes} MiB\n")) == [status]


@pytest.mark.parametrize("text", ["1e308", "1e-323", "9" * 400])
def test_a_number_beyond_all_bounds_ends_in_a_finding(audited, text):
    (finding,) = audited(f"device,bf16\nH100 SXM5,{text}\n")
    assert finding.status in ("wrong", "not checked")
    assert finding.ratio is None or math.isfinite(finding.ratio)


# ---- columns


@pytest.mark.parametrize("name", ["GFLOPS32/W", "TFLOPS/W", "TFLOPS/$", "SIMDs per CU", "bytes_per_cycle"])
def test_efficiencies_prices_and_shares_are_no_peaks(name):
    assert guessed(name) is None


@pytest.mark.parametrize("name", ["Max SMs / GPC", "SMEM/SM", "Memory/node", "Memory controllers", "L2 cache slices"])
def test_figures_of_parts_are_none_of_the_device(name):
    assert guessed(name) is None


@pytest.mark.parametrize("name", ["L2 memory (GB)", "LLC capacity (GB)", "SRAM capacity GB", "Smem capacity (GB)"])
def test_the_size_of_a_cache_is_not_the_capacity_of_the_memory(name):
    assert guessed(name) is None


@pytest.mark.parametrize("name", ["NetBW (GB/s)", "MemSize MemBW", "Compute MemBW", "NetBW MemBW", "Flops / bandwidth"])
def test_bandwidths_of_networks_and_ratios_are_no_bandwidth_of_a_memory(name):
    assert guessed(name) is None


@pytest.mark.parametrize(
    ("name", "role", "unit"),
    [
        ("_GPU_TYPE_TO_MEMORY_GB", "capacity", "GB"),
        ("NAME_TO_TFLOPS", "peak", "TFLOP/s"),
        ("WATTS_PER_GPU", "tdp", "W"),
        ("tflops per device", "peak", "TFLOP/s"),
        ("理论带宽", "bandwidth", None),
        ("HBM 頻寬", "bandwidth", None),
        ("HBM 容量", "capacity", None),
        ("BF16 峰值", "peak", None),
        ("代表型号", "device", None),
        ("peak memory bandwidth", "bandwidth", None),
    ],
)
def test_a_name_says_what_its_values_are(name, role, unit):
    found = guessed(name)
    assert (found.role, found.unit) == (role, unit)


@pytest.mark.parametrize("name", ["GPU 架构", "实际利用率", "实测带宽"])
def test_an_architecture_and_what_is_measured_are_no_figures_in_chinese_either(name):
    assert guessed(name) is None


def test_two_precisions_in_one_column_mean_either(audited):
    findings = audited("device,FP16/BF16 TFLOPS\nTPU v5p,459\nH100 SXM5,989\n")
    assert statuses(findings) == ["right", "right"]


def test_a_plain_column_beside_one_of_tensor_cores_is_of_vector_lanes(audited):
    # L4: 30.3 TFLOP/s on CUDA cores, 121 on tensor cores; T4's row has no tensor figure, so its 65 may be that
    table = "device,FP16 (TFLOPS),FP16 Tensor Core (TFLOPS)\nL4,30.3,121\nT4,65,\n"
    assert statuses(audited(table)) == ["right", "right", "right"]


def test_a_precision_may_stand_behind_the_unit(audited):
    assert statuses(audited("device,TFLOPS32\nA100,19.5\n")) == ["right"]


def test_what_is_not_looked_at_is_said(audited):
    findings = audited("device,bf16_tflops,Dense Throughput,year\nH100 SXM5,989,1979,2022\n")
    assert [(one.status, one.note) for one in findings if not one.device] == [
        (
            "not checked",
            "unknown column 'Dense Throughput'; give its meaning with --map, or map it to 'ignore'",
        )
    ]


def test_a_unit_in_bytes_per_second_is_read(audited):
    assert statuses(audited("device,peak_mem_bw_bytes_sec\nH100 SXM5,3.35e12\n")) == ["right"]


# ---- names


def test_a_name_may_say_that_its_row_is_sparse(audited):
    assert statuses(audited("device,bf16_tflops\nH100 SXM5 sparse,1979\nH100 SXM5 (dense),989\n")) == ["right", "right"]


def test_a_node_that_nobody_names_is_known_by_all_of_its_figures(audited):
    node = audited("device,memory_gb,bandwidth,bf16_tflops,tdp_watts\nB200,1440,64 TB/s,36000,8000\n")
    assert [one.explanations[0].error for one in node[:2]] == ["several devices"] * 2
    assert node[2].explanations[0].error == "sparse for dense + several devices"
    assert node[3].explanations[0].error == "several devices"


def test_figures_of_a_board_of_four_are_known_however_few_their_digits(audited):
    board = audited("device,memory_gb,bandwidth,bf16_tflops\nTPUv3,128,3600,490\n")  # 4 × 32 GiB, printed as GB
    assert {one.explanations[0].error for one in board} == {"several devices"}


def test_sizes_that_are_eight_times_as_large_may_be_in_bits(audited):
    sizes = audited("device,memory_gb,bandwidth\nB200,1440,64 TB/s\n")
    assert {one.explanations[0].error for one in sizes} == {"bits for bytes"}


def test_a_system_has_the_figures_of_one_device_or_of_all(audited):
    # 8 × 989.4 TFLOP/s = 7915; 8 × 80 GB = 640; 8 × 3.352 TB/s = 26.8
    for name in ("8x H100 SXM", "DGX H100", "H100 SXM5 (8 GPUs)"):
        table = f"device,bf16_tflops,memory_gb,mem_bw_tbps\n{name},7915,640,26.8\n{name},989,80,3.35\n"
        assert statuses(audited(table)) == ["right"] * 6
    assert statuses(audited("device,bf16_tflops\nHGX H100 4-GPU,7915\nH100 SXM,7915\n")) == ["wrong"] * 2


def test_several_devices_with_another_error_are_named_first(audited):
    (finding,) = audited("device,bf16_tflops\n8x H100 SXM,15830\n")
    assert finding.explanations[0].error == "sparse for dense + several devices"


def test_the_power_of_a_system_is_not_that_of_its_devices(audited):
    # a DGX H100 is rated 10.2 kW, and its eight GPUs 5.6 kW
    found = audited("device,TDP (W),bf16_tflops\nDGX H100,10200,989\nHGX H100,5600,989\nDGX H100,700,989\n")
    assert [one.status for one in found if one.quantity == "tdp"] == ["not checked", "right", "right"]


def test_a_series_is_judged_by_the_figures_of_all_its_devices(audited):
    found = audited("device,fp16_tflops\nMI300,1307\nMI300,980.6\nMI300,1500\n")
    assert [one.status for one in found] == ["right", "ambiguous", "wrong"]
    assert set(found[0].hardware) <= {"amd/mi300x", "amd/mi300a"}


def test_a_plain_bandwidth_beside_one_of_memory_is_of_something_else(audited):
    # 450 GB/s are the NVLinks of an H100 in one direction, and no part of its 3350 GB/s
    found = audited("device,memory_bandwidth_GBps,gpu_bandwidth_GBps\nH100 SXM,3350,450\nA100 80GB,,2039\n")
    assert [one.status for one in found] == ["right", "not checked", "right"]
    assert found[1].note.startswith("beside 'memory_bandwidth_GBps' it is of something else")


def test_a_name_of_any_length_ends_in_a_finding(audited):
    names = ("x" + "1" * 5000, "1" * 5000 + "gb", " ".join(["word"] * 3000))
    table = "device,bf16\n" + "".join(f"{name},1\n" for name in names)
    assert statuses(audited(table)) == ["unknown device"] * 3


def test_what_a_vendor_does_not_disclose_is_said(audited):
    (finding,) = audited("device,fp64_tflops\nH20,1\n")  # no document prints FP64 of the H20
    assert finding.status == "not checked"
    assert "148 TFLOP/s" in finding.note


def test_figures_that_cannot_be_derived_are_compared_with_those_in_print(audited):
    # an H20 has 148 TFLOP/s in BF16 and 296 TOP/s in INT8; a TPU v7 2307 TFLOP/s in BF16, 4614 are its FP8
    right = audited("device,bf16_tflops,int8_tops\nH20,148,296\nTrainium 1,190,380\nTPU v7,2307,\n")
    assert statuses(right) == ["right"] * 5
    swapped = audited("device,bf16_tflops,int8_tops\nH20,296,148\n")
    assert statuses(swapped) == ["wrong", "wrong"]
    (fp8,) = audited("device,bf16_tflops\nTPU v7,4614\n")
    assert fp8.status == "wrong"
    assert fp8.explanations[0].error == "another precision"


# ---- variants


def test_figures_that_no_single_variant_has_are_not_all_right(audited):
    # 1555 GB/s is the 40 GB board's, 80 GB the other's
    findings = audited("device,bf16_tflops,mem_bw_gbps,mem_gb\nA100,312,1555,80\n")
    assert sorted(statuses(findings)) == ["right", "right", "wrong"]


def test_rows_of_one_name_that_differ_are_variants_of_it(audited):
    table = "device,mem_bw_gbps,mem_gb\nA100,1555,40\nA100,2039,80\n"
    assert statuses(audited(table)) == ["right"] * 4


def test_gibibytes_are_gigabytes_on_the_label(audited):
    assert statuses(audited("device,Memory (GiB)\nH100 SXM5,80\n")) == ["right"]


def test_a_derived_figure_that_its_vendor_contradicts_is_disputed(audited):
    # Huawei prints 280, of cubes and vectors at another clock
    assert statuses(audited("device,fp16_tflops\nAscend 910B4,280\nAscend 910B4,245.8\n")) == ["disputed", "disputed"]


def test_half_of_what_google_prints_for_the_v6e_is_wrong(audited):
    (wrong,) = audited("device,bf16_tflops\nTPU v6e,459\n")
    assert (wrong.status, wrong.explanations[0].error) == ("wrong", "MAC for op")


def test_figures_of_founders_editions_and_of_announcements_are_disputed(audited):
    # 4352 × 2 × 1635 MHz = 14.23 TFLOP/s, the reference board has 1545 MHz; 8192 bit × 3.2 Gbit/s = 3276.8 GB/s
    text = "device,fp32_tflops,bandwidth_gbs,tdp_w\nRTX 2080 Ti,14.2,616,260\nMI250X,47.9,3200,560\n"
    disputed = {(one.device, one.quantity) for one in audited(text) if one.status == "disputed"}
    assert disputed == {("RTX 2080 Ti", "fp32 peak"), ("RTX 2080 Ti", "tdp"), ("MI250X", "bandwidth")}
    assert sorted(statuses(audited(text))) == ["disputed"] * 3 + ["right"] * 3
    # 2304 × 2 × 1710 MHz = 7.88 TFLOP/s, the reference board has 1620 MHz and 175 W
    assert statuses(audited("device,fp32_tflops,tdp_w,boost_mhz\nRTX 2070,7.9,185,1710\n")) == ["disputed"] * 3


def test_the_peak_power_that_a_vendor_prints_beside_the_rated_one_is_not_wrong(audited):
    # the CDNA 2 whitepaper: 500 W TDP, 560 W peak
    assert statuses(audited("device,tdp_w\nMI250,560\nMI250,500\nMI250,520\n")) == ["right", "right", "wrong"]


def test_other_variants_of_a_rate_are_named(audited):
    (finding,) = audited("device,fp16_tflops\nRTX 4090,330.3\n")
    assert (finding.status, finding.note) == ("right", "the fp16_acc16 rate")


# ---- full dies


@pytest.mark.parametrize(
    ("device", "figure", "whole", "enabled"),
    [("MI300X", 1307.4, 320, 304), ("A100 80GB PCIe", 311.9, 128, 108), ("H100 SXM5", 989.4, 144, 132)],
)
def test_the_units_of_all_dies_are_the_full_die(audited, device, figure, whole, enabled):
    (finding,) = audited(f"device,bf16_tflops\n{device},{figure * whole / enabled:.1f}\n")
    assert finding.explanations[0].error == "full die"
    assert f"with the {whole}" in finding.explanations[0].text


# ---- errors that explain several figures


def test_what_explains_all_figures_of_a_device_goes_before_what_explains_one(audited):
    # a DGX: eight devices, peaks sparse, too
    table = "device,fp16_tflops,fp8_tflops,fp4_tflops,mem_bw_tbps\nB200,36000,72000,144000,64\n"
    assert all("several devices" in one.explanations[0].error for one in audited(table))


def test_a_factor_that_several_figures_share_is_said_where_nothing_explains_it(audited):
    # 2.61 is no known factor
    peaks = ("bf16,2582", "fp8,5165", "tf32,1291")
    findings = audited("device,precision,peak_tflops\n" + "".join(f"H100 SXM5,{peak}\n" for peak in peaks))
    assert all("3 figures of this device are off by the same factor" in one.note for one in findings)


def test_exchanged_digits_are_named(audited):
    (finding,) = audited("device,bf16_tflops\nA30,156\n")
    (explanation,) = finding.explanations[:1]
    assert (explanation.error, explanation.text) == ("digits", "is 165 with two digits exchanged")


# ---- columns and numbers


@pytest.mark.parametrize(
    ("name", "role", "precision", "unit"),
    [
        ("GPU", "device", None, None),
        ("peak_tflops", "peak", None, "TFLOP/s"),
        ("FP16 Tensor (TFLOPS)", "peak", "fp16", "TFLOP/s"),
        ("int8_tops", "peak", "int8", "TOP/s"),
        ("peakFp32", "peak", "fp32", None),
        ("bfloat16", "peak", "bf16", None),
        ("mem_bw_gbps", "bandwidth", None, "GB/s"),
        ("Memory Bandwidth (TB/s)", "bandwidth", None, "TB/s"),
        ("mem_gb", "capacity", None, "GB"),
        ("Memory Size", "capacity", None, None),
        ("TDP (W)", "tdp", None, "W"),
        ("Board Power", "tdp", None, None),
        ("sm_count", "count", None, None),
        ("CUDA cores", "count", None, None),
        ("bus_width_bits", "bus", None, "bit"),
        ("boost_clock_mhz", "clock", None, "MHz"),
        ("NVLink (GB/s)", "link", None, "GB/s"),
        ("nvlink_bw_tb_s", "link", None, "TB/s"),
        ("memory bandwidth (TB/s)", "bandwidth", None, "TB/s"),
        ("flops_per_clk_per_sm", "rate", None, None),
        ("hbm_bytes_per_s", "bandwidth", None, "B/s"),
        ("hbm_bytes", "capacity", None, "B"),
        ("stream_processors", "count", None, None),
    ],
)
def test_a_column_is_what_its_name_says(name, role, precision, unit):
    column = guessed(name)
    assert (column.role, column.precision, column.unit) == (role, precision, unit)


@pytest.mark.parametrize(
    "name",
    [
        "note",
        "source_file",
        "commit",
        "Year",
        *("l2_bandwidth_gbps", "L2 slices", "l2_line_bytes", "L1/L2 cache", "l1_kb", "l2_per_sm_kb"),
        "pcie_gbps",
        "nvlink_links",
        "gflops_per_watt",
        "price",
        *("memory clock ratio", "mem_clock_offset", "Memory Speed (GB/s)"),
        *("NVLink unidirectional (GB/s)", "NVLink BW per direction", "NVLink"),
        *("compute_cap", "Compute capacity", "stream_bandwidth_gbps", "max_grid_fp64", "cpu.base_clock_ghz"),
        *("compute.core.sublanes", "fp16.vector_width", "train_power_w", "stream_gbs"),
    ],
)
def test_a_column_of_something_else_is_left_alone(name):
    assert guessed(name) is None


def test_words_beside_a_precision_say_lanes_and_sparsity():
    assert said_precision("fp16_vector") == ("fp16", True, None)
    assert said_precision("BF16 Tensor sparse") == ("bf16", False, True)
    assert said_precision("fp64") == ("fp64", None, None)
    assert (said_sparsity("with sparsity"), said_sparsity("dense (w/o sparsity)"), said_sparsity("unstated")) == (
        True,
        False,
        None,
    )


def test_a_mapping_says_what_a_name_does_not():
    column = mapped("Dense", "peak bf16 sparse TFLOP/s")
    assert (column.role, column.precision, column.sparse, column.unit) == ("peak", "bf16", True, "TFLOP/s")
    assert mapped("Lanes", "count cuda_core", {"cuda_core"}).subject == "cuda_core"
    with pytest.raises(ColumnError, match="want a group or unit that specs have, such as SM or cuda_core, found 'foo'"):
        mapped("Lanes", "count foo", {"cuda_core"})
    with pytest.raises(ColumnError, match="want a precision or a unit such as bf16 or TFLOP/s, found 'bf61'"):
        mapped("Dense", "peak bf61")
    assert mapped("Dense", "peak bf16 tflops").unit == "TFLOP/s"
    with pytest.raises(ColumnError, match="want one of device, number, precision"):
        mapped("Dense", "speed")
    with pytest.raises(ColumnError, match="want a precision or a unit"):
        mapped("Dense", "bandwidth gallons")
    with pytest.raises(ColumnError, match="the table has no such column"):
        columns(["device"], {"Dense": "peak"})


@pytest.mark.parametrize(
    ("text", "value", "step"),
    [
        ("989", 989e12, 1e12),
        ("989.0", 989e12, 1e12),
        ("989.4", 989.4e12, 0.1e12),
        ("1,979", 1979e12, 1e12),
        ("~312 TFLOPS", 312e12, 1e12),
        ("0.989 PFLOP/s", 989e12, 1e12),
        ("312e12", 312e12, 1e12),
        ("1979e12 / 2", 989.5e12, 0.5e12),
        ("989 (dense)", 989e12, 1e12),
    ],
)
def test_a_number_is_read_with_its_digits(text, value, step):
    found, _ = printed(text, guessed("bf16"))
    assert found.value == pytest.approx(value)
    assert found.step == pytest.approx(step)


def test_a_unit_that_nobody_says_is_assumed_and_said(audited):
    finding = only(audited("device,bf16\nH100 SXM5,989\n"))
    assert (finding.status, finding.note) == ("right", "no unit given; taken as TFLOP/s")


def test_a_bare_rate_of_integers_is_taken_to_be_in_ops(audited):
    for table in ("device,int8\nT4,130\n", "device,precision,peak\nT4,int8,130\n"):
        assert only(audited(table)).note == "no unit given; taken as TOP/s"


@pytest.mark.parametrize("text", ["inf", "0", "-5", "989 bananas", "312 W", "1e999"])
def test_what_is_no_number_of_the_quantity_is_not_checked_and_says_why(audited, text):
    with pytest.raises(NumberError):
        printed(text, guessed("bf16"))
    finding = only(audited(f'device,bf16\nH100 SXM5,"{text}"\n'))
    assert finding.status == "not checked"
    assert finding.note


# ---- around a device


@pytest.mark.parametrize(
    "name",
    [
        *("System Memory (GiB)", "CPU RAM (GB)", "host_mem_gb", "host_memory_bandwidth_gbps"),  # of the machine
        *("usable_gb", "min_vram_gb", "free memory (GB)"),  # a part of it
        *("peak_salu_gops", "RT Core TFLOPS", "sm_ver", "96GB"),
    ],
)
def test_what_is_beside_a_device_or_a_part_of_it_is_not_its_figure(name):
    assert guessed(name) is None


@pytest.mark.parametrize("name", ["Num GPUs", "gpu_count", "Number of GPUs", "num devices"])
def test_the_number_of_devices_of_a_row_is_known(name, audited):
    # an instance with 4 L4 of 24 GB each; tables give the memory of one or of all
    table = f"instance,gpu,{name},GPU memory (GB)\n"
    assert statuses(audited(f"{table}a,L4,4,96\nb,L4,4,24\nc,L4,1,24\n")) == ["right", "right", "right"]
    assert statuses(audited(f"{table}a,L4,4,97\nb,L4,1,96\n")) == ["wrong", "wrong"]


def test_a_clock_without_a_further_word_may_be_the_base_or_the_boost_clock(audited):
    assert statuses(audited("device,gpuClock\nH100 SXM5,1590 MHz\nA10,1695 MHz\n")) == ["right", "right"]
    assert statuses(audited("device,boost clock\nH100 SXM5,1590 MHz\n")) == ["wrong"]


def test_fp32_of_tensor_cores_is_tf32_where_they_have_no_fp32(audited):
    # 132 SM × 4 × 256 MAC × 2 × 1.83 GHz = 494.7 TFLOP/s; a matrix core of an MI300X has FP32 itself
    findings = audited("device,FP32 Tensor Core\nH100 SXM5,494.7\nMI300X,163.4\n")
    assert [(one.quantity, one.status) for one in findings] == [("tf32 peak", "right"), ("fp32 peak", "right")]


def test_a_plain_precision_beside_rows_of_tensor_cores_is_of_vector_lanes(audited):
    long = "device,precision,peak_tflops\nA100,FP16 Tensor,312\nRTX 3090,FP16/FP32,71\n"
    findings = audited(f"{long}A100,FP16,78\nRTX 3090,FP16,35.6\n")
    assert statuses(findings) == ["right"] * 4
    assert [one.quantity for one in findings][2:] == ["vector fp16 peak"] * 2


def test_a_row_may_name_its_device_in_another_column_than_the_first(tmp_path, audited):
    table = "device,name,memory (GB)\nold,,1\n,H100 SXM5,80\n"
    assert statuses(audited(table)) == ["unknown device", "right"]


def test_what_one_multiprocessor_holds_is_no_count_of_them(audited):
    found = audited("device,max_warps_sm,reg_size_sm,shmem_sm,num_sm\nA100 SXM,64,256,164,108\n")
    assert [(one.column, one.status) for one in found if one.is_checked] == [("num_sm", "right")]


def test_a_bandwidth_of_links_is_no_capacity(audited):
    found = audited("device,interconnect_bandwidth_gb_per_sec,ib_gbps,bf16_tflops\nA100 SXM4 40GB,600,50,312\n")
    assert {one.column: (one.quantity, one.status) for one in found if one.is_checked} == {
        "interconnect_bandwidth_gb_per_sec": ("link", "right"),
        "bf16_tflops": ("bf16 peak", "right"),
    }


def test_a_plain_precision_beside_its_tensor_one_is_of_lanes(audited):
    # of an A100: 78 TFLOP/s in FP16 lanes, 312 in tensor cores; people write TF16 and TF64 for the latter
    found = audited("device,fp64,tf64,fp16,tf16\nA100 SXM,9.7,19.5,78,312\nA100 PCIe,9.7,19.5,312,312\n")
    assert [one.status for one in found] == ["right"] * 8


def test_two_columns_with_one_figure_are_two_findings(audited):
    found = audited("device,FP8_E4M3,FP8_E5M2\nH100 SXM,3958,3958\n")
    assert [(one.column, one.status) for one in found] == [("FP8_E4M3", "wrong"), ("FP8_E5M2", "wrong")]


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        # 864 Gb/s = 108 GB/s, and an L40S has 864 GB/s
        ("device,memory bandwidth\nL40S,864 Gb/s\n", [("wrong", "864 Gb/s is 108 GB/s")]),
        ("device,bandwidth (Gb/s)\nL40S,864\nL4,2400\n", [("wrong", "864 Gbit/s is 108 GB/s"), ("right", "")]),
        ("device,bandwidth_gb/s\nL40S,864\n", [("right", "")]),
        ("device,memory bandwidth\nL40S,864 Gbps\n", [("right", "")]),  # most who write it mean bytes
    ],
)
def test_a_bandwidth_in_bits_is_told_from_one_in_bytes(audited, table, wanted):
    found = audited(table)
    assert [(one.status, one.note if one.is_wrong else "") for one in found] == wanted
    assert all(one.explanations[0].error == "bits for bytes" for one in found if one.is_wrong)


def test_the_peak_power_of_an_apu_is_a_figure_of_its_own(audited):
    assert statuses(audited("device,tdp (W)\nMI300A,550\nMI300A,760\n")) == ["right", "right"]


@pytest.mark.parametrize("name", ["t_compute_cycles", "compute_occupancy", "compute mode", "compute_nodes"])
def test_compute_beside_other_words_is_no_peak(name):
    assert guessed(name) is None


@pytest.mark.parametrize("name", ["compute", "Peak Compute", "Compute (TFLOPS)", "bf16_compute", "compute performance"])
def test_compute_by_itself_is_a_peak(name):
    assert guessed(name).role == "peak"


@pytest.mark.parametrize("name", ["Memory speed", "Memory Speed (Gbps)", "mem_speed_gbps", "pin_rate_gbps"])
def test_the_speed_of_a_memory_is_that_of_a_pin(audited, name):
    right, wrong = audited(f"gpu,{name}\nRTX 3090,19.5\nRTX 4090,19.5\n")  # 21 Gbit/s
    assert (right.quantity, right.status, wrong.status) == ("memory clock", "right", "wrong")
    assert "of nvidia/rtx-3090, 19.5 GHz" in wrong.cause


@pytest.mark.parametrize(
    "text", ["1219 MHz", "9750 MHz", "9751000 kHz", "19500 MHz", "19.5 Gbps", "2438 MHz", "4.875 GHz"]
)
def test_a_memory_clock_is_printed_in_several_ways(audited, text):
    [finding] = audited(f"gpu,Memory clock\nRTX 3090,{text}\n")  # 19.5 Gbit/s over 1, 2, 4, 8 and 16
    assert finding.status == "right"


@pytest.mark.parametrize(
    ("name", "text"), [("mem_clock_mhz", "1313"), ("memory.clock", "1.313 GHz"), ("Effective memory clock", "21 GHz")]
)
def test_a_memory_clock_of_another_device_is_wrong(audited, name, text):
    [finding] = audited(f"gpu,{name}\nRTX 3090,{text}\n")
    assert finding.is_wrong
    assert finding.explanations[0].error == "another device"


def test_a_memory_clock_that_is_rounded_otherwise_is_not_accused(audited):
    [finding] = audited("gpu,mem_clock_mhz\nH100 SXM5,1313\n")  # 2 % above a quarter of 5.238 Gbit/s
    assert finding.status in ("right", "rounded")
    assert not audited("gpu,clock_mhz,mem_clock_mhz\nRTX 3090,1695,1219\n")[0].is_wrong


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("L2 cache (MB)", "6"),
        ("l2_cache_kb", "6144"),
        ("cache.l2", "6 MB"),
        ("l2_size_bytes", "6291456"),
        ("L2", "6144 KB"),
    ],
)
def test_the_size_of_a_cache_is_checked(audited, name, text):
    [finding] = audited(f"gpu,{name}\nRTX 3090,{text}\n")
    assert (finding.quantity, finding.status) == ("cache (l2)", "right")


def test_a_cache_of_another_device_is_wrong(audited):
    right, wrong = audited("gpu,L2 cache\nH100 SXM5,50 MB\nA100 SXM4 80GB,50 MB\n")
    assert (right.status, wrong.status, wrong.printed) == ("right", "wrong", "50 MiB")
    assert "of nvidia/" in wrong.cause


def test_a_board_may_have_less_of_a_cache_than_its_die(audited):
    # the 6 MiB of an RTX 3080 are those of GA102, of which it has 320 of 384 bits of the bus
    assert statuses(audited("gpu,L2 cache\nRTX 3080 10GB,5 MB\nRTX 3080 10GB,8 MB\n")) == ["not checked", "wrong"]
    assert statuses(audited("gpu,L2 cache\nRTX 4090,48 MB\nK80,1.5 MB\n")) == ["wrong", "ambiguous"]


def test_a_cache_that_the_spec_lacks_is_not_checked(audited):
    assert statuses(audited("gpu,L2 cache\nMI300X,4 MB\n")) == ["not checked"]
    assert statuses(audited("cpu,L2 cache\nXeon 8490H,2 MB\n")) == ["not checked"]


@pytest.mark.parametrize("name", ["FP16 (non-Tensor)", "fp16_nontensor", "FP16 w/o tensor cores", "fp16_no_tensor"])
def test_a_rate_without_tensor_cores_is_that_of_vector_lanes(audited, name):
    assert statuses(audited(f"gpu,{name}\nH100 SXM,133.8\n")) == ["right"]


def test_cores_of_a_precision_are_a_count(audited):
    assert statuses(audited("gpu,FP32 Cores / GPU\nH100 SXM,16896\nA100 SXM,6912\n")) == ["right", "right"]


@pytest.mark.parametrize("name", ["INT32 Cores / GPU", "FP64 cores", "FP16 Tensor Cores"])
def test_cores_of_which_specs_have_no_number_and_those_that_may_be_a_rate_are_not_read(name):
    assert guessed(name) is None


def test_ram_is_of_the_host_unless_it_is_said_to_be_of_the_device():
    assert guessed("ram_gb") is None
    assert guessed("gpu_ram_gb").role == "capacity"


@pytest.mark.parametrize("name", ["FA3 FP16", "FlashAttention-2 BF16", "cuBLAS BF16 TFLOPS", "GEMM fp16 (TFLOPS)"])
def test_what_a_kernel_reached_is_no_spec(name):
    assert guessed(name) is None


@pytest.mark.parametrize("name", ["L1 cache (KB)", "Caches (GB)", "SLC (GB)", "on-chip memory (MB)"])
def test_caches_are_not_the_memory(name):
    assert guessed(name) is None


@pytest.mark.parametrize(
    "name",
    [
        *("Peak FP32 / Peak FP64", "Peak FP32 / DRAM BW [flop/byte]", "Peak Tensor / Peak FP32", "peak_gips"),
        *("hbm_gtxn", "uni_cache_sm", "l1_cache_per_sm"),
    ],
)
def test_quotients_other_units_and_caches_of_a_multiprocessor_are_no_figures_of_the_device(name):
    assert guessed(name) is None


def test_a_precision_below_a_name_that_ends_in_by_precision_is_that_of_the_figure():
    found = guessed("peak_tflops_by_precision.int8")
    assert (found.role, found.precision, found.unit) == ("peak", "int8", "TFLOP/s")


def test_a_header_may_say_how_many_devices_its_figures_are_of(audited):
    findings = audited("GPU,HGX 8x GPU Memory\nH100 SXM5,640GB Total\nH200 SXM,1.1TB Total\nA100 SXM4 80GB,320GB\n")
    assert [one.status for one in findings] == ["right", "right", "wrong"]


def test_a_memory_beside_measurements_is_that_of_a_program_unless_it_is_the_device_s(audited):
    findings = audited("GPU,GPU Memory (MB),Latency (ms)\nT4,124.47,82.4\nL4,24000,41.9\n")
    used, own = [one for one in findings if one.quantity == "capacity"]
    assert (used.status, used.note) == (
        "not checked",
        "beside 'Latency (ms)' it may be the memory that a program used",
    )
    assert own.status == "right"
    [wrong] = [
        one
        for one in audited("GPU,Memory (GB),fp16_tflops,Latency (ms)\nT4,24,65,82.4\n")
        if one.quantity == "capacity"
    ]
    assert wrong.status == "wrong"


def test_a_figure_with_a_mark_of_doubt_and_one_with_a_mistyped_unit_are_read(audited):
    findings = audited("device,CUDA cores,fp16 tensor\nRTX 4090,16_384?,330 TFOPS\nRTX 4080,18_432?,190 MFLOPS\n")
    assert statuses(findings) == ["right", "right", "wrong", "not checked"]


@pytest.mark.parametrize(
    ("name", "role"), [("memsize", "capacity"), ("membw", "bandwidth"), ("peakflops", "peak"), ("tensorcores", "count")]
)
def test_two_words_may_be_run_together(name, role):
    assert guessed(name).role == role


@pytest.mark.parametrize("name", ["Ext Mem Power (W)", "On-Chip Mem Power", "cooling_power_w"])
def test_the_power_of_a_part_is_not_that_of_the_device(name):
    assert guessed(name) is None


@pytest.mark.parametrize("name", ["Computing power", "compute_power_tflops", "processPower.fp16"])
def test_computing_power_is_a_rate(audited, name):
    [finding] = audited(f"gpu,{name}\nH20,148\n")
    assert (finding.quantity.split()[-1], finding.status) == ("peak", "right")


def test_links_in_binary_units_are_wrong_whosever_they_are(audited):
    # 600 GB/s × 2^30 / 10^9 = 644.2 GB/s; 300 GB/s in one direction are 322.1 GB/s
    table = "gpu,memory_bandwidth,interconnect_bandwidth\nA100 SXM4 80GB,2039e9,644245094400\n"
    assert audited(table)[1].explanations[0].error == "tebi for tera"
    [_, other] = audited(table.replace("644245094400", "322122547200"))
    assert other.explanations[0].error == "tebi for tera"
    assert "one direction" in other.cause


def test_links_of_an_older_device_are_told_by_the_column(audited):
    table = "gpu,interconnect_gbs\nA100 SXM4 80GB,600\nH100 SXM5,600\n"
    right, wrong = audited(table)
    assert (right.status, wrong.status, wrong.explanations[0].error) == ("right", "wrong", "another device")
    assert statuses(audited("gpu,interconnect_gbs\nH100 SXM5,600\nH100 PCIe,128\n")) == ["not checked", "not checked"]


@pytest.mark.parametrize("name", ["p2p_gbs", "peer_bandwidth_gbs"])
def test_a_bandwidth_between_peers_is_not_that_of_the_memory(audited, name):
    assert "bandwidth" not in [one.quantity for one in audited(f"gpu,tdp,{name}\nH100 SXM5,700,450\n")]


# four links of 50 GB/s in either direction; 1600 Gbps are one direction in bits, and programs reach a tenth less
@pytest.mark.parametrize(
    ("printed", "is_wrong"), [(400, False), (200, False), (50, False), (45, False), (1600, False), (300, True)]
)
def test_links_of_tpus_are_printed_in_many_ways(audited, printed, is_wrong):
    [finding] = audited(f"tpu,ici_bandwidth_gbps\nTPU v5e,{printed}\n")
    assert finding.is_wrong == is_wrong


def test_links_of_tpus_in_bits_are_wrong_where_their_number_is_in_bytes(audited):
    [finding] = audited("tpu,ici_bandwidth\nTPU v5e,1.6e12\n")
    assert finding.explanations[0].error == "bits for bytes"


def test_a_column_of_peaks_without_a_precision_may_be_of_fp32(audited):
    # most are right in FP32, none in 16 bits
    table = "gpu,tf\nRTX 3090,35.6\nRTX 3070,20.3\nRTX 4090,82.6\nRTX 4060,15.1\n"
    table += "RTX 5080,70\nRTX 5070,50\nMI300X,98\nH100 SXM,513\n"
    found = {one.device: one for one in audited(table)}
    assert found["RTX 3090"].status == "right"
    assert found["H100 SXM"].is_wrong
