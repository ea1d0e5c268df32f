"""Devices: ladders share their rungs, registers cite documents by short keys, and like facts are one row."""

import math

import pytest

from rooflint_report.differences import Roof, Watched
from rooflint_report.evidence import Device, Evidence, Fact, Peak
from rooflint_report.sections.devices import Register, decade_axis, ladders, roofline, rows, view
from rooflint_report.sections.section import Page
from rooflint_report.verdicts import Verdict

H100, A100 = "nvidia/h100-sxm5-80gb", "nvidia/a100-sxm4-80gb"


def test_rungs_that_all_precisions_share_are_written_once(evidence):
    tensor, cuda, fp64 = ladders(Device(**evidence["devices"][0]).peaks)
    assert [f.name for f in tensor.shared] == ["groups", "per_group", "ops_per_mac", "clock"]
    assert {tuple(f.name for f in step.own) for step in tensor.steps} == {("macs_per_clock",)}
    assert len(cuda.steps) == 4
    assert [f.name for f in fp64.steps[0].own] == ["macs_per_clock"]


def test_a_precision_with_its_own_clock_keeps_it_and_the_others_share_theirs(evidence):
    peaks = evidence["devices"][0]["peaks"]
    own = next(f for f in peaks[0]["factors"] if f["name"] == "clock") | {"display": "1.98 GHz"}
    peaks[0]["factors"] = [own if f["name"] == "clock" else f for f in peaks[0]["factors"]]
    tensor = ladders([Peak(**peak) for peak in peaks])[0]
    assert [f.display for f in tensor.shared] == ["132 SM", "4 tensor_core", "2 op/MAC", "1.83 GHz"]
    assert [f.display for f in tensor.steps[0].own] == ["32 MAC/clock", "1.98 GHz"]
    assert [f.display for f in tensor.steps[1].own] == ["256 MAC/clock"]


def test_every_factor_of_a_peak_is_shared_or_own(evidence):
    for device in evidence["devices"]:
        for ladder in ladders(Device(**device).peaks):
            for step in ladder.steps:
                assert {f.name for f in (*ladder.shared, *step.own)} == {f.name for f in step.peak.factors}


def test_an_operating_point_is_a_ladder_of_its_own(evidence):
    peaks = evidence["devices"][0]["peaks"]
    assert [(one.unit, one.at) for one in ladders([Peak(**peak) for peak in (*peaks, peaks[0] | {"at": "30w"})])][
        -1
    ] == ("tensor_core", "30w")


def test_claimed_documents_join_the_register_under_keys_of_their_own(evidence):
    device = evidence["devices"][0]
    mine = [v for v in evidence["verdicts"] if v["hardware"] == device["id"]]
    mine[0]["expected"]["source"]["document"] = "Another document"
    device["sources"]["c1"] = {"document": "taken", "grade": "read", "url": None}
    register = Register(Device(**device), [Verdict(**verdict) for verdict in mine])
    assert list(register.entries) == ["wp", "ds", "c1", "c2"]
    assert register.of_document("Another document").key == "c2"
    assert not register.of_document("Another document").fact
    assert register.of_key(None) is None


def test_the_same_fact_of_several_precisions_is_one_row():
    fact = {"display": "2", "source": "wp", "grade": "quoted", "where": "table 2", "file": "a.yaml"}
    paths = ["units.t.sparsity.bf16", "units.t.sparsity.fp16", "tdp", "launched"]
    merged = rows([Fact(**fact, path=path, line=20 + line) for line, path in enumerate(paths)])
    assert [(row.path, row.span) for row in merged] == [
        ("units.t.sparsity. bf16, fp16", "20–21"),
        ("tdp", "22"),
        ("launched", "23"),
    ]


def test_lines_that_do_not_follow_each_other_are_listed():
    fact = {"display": "2", "source": "wp", "grade": "quoted", "where": "table 2", "file": "a.yaml"}
    assert rows([Fact(**fact, path=f"a.{n}", line=n) for n in (3, 5, 9)])[0].span == "3, 5, 9"
    assert rows([Fact(**fact, path="a.b", line=None)])[0].span == ""


def test_the_axis_spans_whole_decades():
    # 5.3e12 … 1.979e15: from 10¹² to 10¹⁶; 10¹⁴ is half way
    axis = decade_axis([5.3e12, 1.979e15, None, 0.0, math.inf])
    assert (axis.low, axis.high) == (12, 16)
    assert axis.x(1e14) == axis.width / 2
    assert axis.x(None) is None
    assert axis.x(-1.0) is None


def test_an_axis_without_values_still_has_a_width():
    assert decade_axis([]).high > decade_axis([]).low
    assert decade_axis([1e12]).high > decade_axis([1e12]).low


# ---- Sheets


@pytest.fixture
def shown(evidence):
    """`shown(verdict, …)`: the view of an H100 and an A100 with these claims, each said by what it changes."""
    pattern = next(one for one in evidence["verdicts"] if one["hardware"] == H100) | {"outcome": "pass"}

    def of(*claims):
        defaults = {"hardware": H100, "file": "golden/a.yaml", "replay": False, "corroborated": True}
        verdicts = [pattern | defaults | {"line": 1000 + line} | one for line, one in enumerate(claims)]
        record = evidence | {"devices": evidence["devices"][:2], "verdicts": verdicts}
        return view(Page.of(Evidence.model_validate(record)))

    return of


def test_a_sheet_has_the_claims_on_its_device_and_replays_have_none(shown):
    claims = [{}, {"hardware": A100, "file": "golden/b.yaml"}, {"replay": True}, {"hardware": None}, {"line": 7}]
    first, second = shown(*claims).sheets
    assert (first.device.id, first.anchor) == (H100, "device-nvidia-h100-sxm5-80gb")
    assert [one.line for one in first.others] == [1000, 7]
    assert [one.line for one in second.others] == [1001]
    assert (first.golden, second.golden) == (["golden/a.yaml"], ["golden/b.yaml"])


def test_a_sheet_counts_outcomes_and_passes_that_no_second_document_supports(shown):
    outcomes = [
        {},
        {"corroborated": False},
        {"outcome": "fail", "corroborated": False},
        {"outcome": "not validated here"},
    ]
    first, second = shown(*outcomes).sheets
    assert first.tally == [("fail", 1), ("not validated here", 1), ("pass", 2)]
    assert first.uncorroborated == 1
    assert (first.blind, first.traits) == (2, ["fail", "not-validated-here", "blind"])
    assert (second.tally, second.uncorroborated) == ([], 0)


def test_claims_beside_a_peak_or_a_memory_are_not_listed_again(shown, evidence):
    device = evidence["devices"][0]
    peak = next(one["published"][0] for one in device["peaks"] if one["published"])
    memory = next(one["published"][0] for one in device["memories"] if one["published"])
    beside = [{"file": one["file"], "line": one["line"]} for one in (peak, memory)]
    elsewhere = {"file": "golden/other.yaml", "line": peak["line"]}
    (first, _) = shown(*beside, elsewhere).sheets
    assert [one.file for one in first.others] == ["golden/other.yaml"]


def test_all_sheets_share_one_axis_of_peaks(shown, evidence):
    values = [peak["value"] for device in evidence["devices"][:2] for peak in device["peaks"]]
    axis = shown().decades
    assert 10**axis.low <= min(values) < 10 ** (axis.low + 1)
    assert 10 ** (axis.high - 1) < max(values) <= 10**axis.high


def test_a_row_has_a_dot_for_each_peak_that_differs_by_a_pixel_at_least(evidence):
    device = evidence["devices"][0]
    first = next(one for one in device["peaks"] if not one["at"])
    device["peaks"] = [first | {"value": value} for value in (1e12, 1.001e12, 1e14, None)]
    device["peaks"].append(first | {"value": 1e13, "at": "30w"})  # of another operating point
    found = view(Page.of(Evidence.model_validate(evidence | {"devices": [device]})))
    assert found.dots(found.sheets[0].device) == [0, 120]  # from 10¹² to 10¹⁴
    assert found.most_dots == 2


def test_a_place_is_named_by_its_line_in_the_own_spec_and_by_its_file_elsewhere(shown):
    (sheet, _) = shown().sheets
    other = "model/rooflint/specs/architectures/nvidia/hopper-gh100.yaml"
    assert sheet.place(sheet.device.file, 14) == ":14"
    assert sheet.place(other, 23) == "hopper-gh100:23"
    assert sheet.place(other, None) == "hopper-gh100"
    assert sheet.place(None, 14) == ""


def test_the_generation_is_the_architecture_without_its_vendor(evidence):
    sheets = view(Page.of(Evidence.model_validate(evidence))).sheets
    found = {sheet.device.id: sheet.generation for sheet in sheets}
    assert (found[H100], found["google/tpu-v4"]) == ("hopper-gh100", None)


def test_other_files_are_those_of_facts_and_factors_once_each(evidence):
    device = evidence["devices"][0]
    for part, name in ((device["facts"][0], "a"), (device["facts"][1], "b"), (device["peaks"][0]["factors"][0], "c")):
        part["file"] = name
    device["memories"][0]["factors"][0]["file"] = "a"
    device["facts"][2]["file"] = None
    (sheet, *_) = view(Page.of(Evidence.model_validate(evidence))).sheets
    assert {"a", "b", "c"} <= set(sheet.other_files())
    assert len(sheet.other_files()) == len(set(sheet.other_files()))
    assert not {None, device["file"]} & set(sheet.other_files())


def test_a_roofline_has_a_roof_for_each_unit_and_distinct_peak_the_highest_first(evidence):
    found = roofline(Device(**evidence["devices"][0]), [])
    assert [title.partition(":")[0] for _, title in found.legend] == [
        "tensor_core fp8, fp8_acc16, int8",
        "tensor_core bf16, fp16",
        "tensor_core tf32",
        "cuda_core fp16, bf16",
        "cuda_core fp32",
        "tensor_core fp64",
        "cuda_core int32",
        "fp64_core fp64",
    ]
    # 132 SM * 4 * 512 MAC * 2 * 1830 MHz = 989.4 TOP/s over 5120 bit * 5.24 Gbit/s / 8 = 3.354 TB/s
    assert found.legend[1] == ("B", "tensor_core bf16, fp16: 989.4 TOP/s, 3.354 TB/s, breakpoint 295 op/B")
    assert found.memory == "hbm3"
    assert [chart.kind for chart in found.charts] == ["wide", "narrow"]


def test_printed_peaks_are_marks_on_the_roof_of_their_precision(evidence):
    device = Device(**evidence["devices"][0])
    first = next(v for v in evidence["verdicts"] if v["hardware"] == H100 and v["subject"] == "tensor_core fp16")
    high = first | {"expected": first["expected"] | {"value": 1978.9e12, "display": "1979 TFLOP/s"}, "outcome": "fail"}
    left_out = [first | change for change in ({"at": "low"}, {"sum": True}, {"sparse": True}, {"expected": None})]
    chart, _ = roofline(device, [Verdict(**one) for one in (high, *left_out)]).charts
    ((_, series, title),) = chart.marks
    assert series == 1
    assert title == "✗ peak tensor_core fp16: 1979 TFLOP/s"


def test_a_roof_that_moved_is_drawn_as_in_the_base_too(evidence):
    device = Device(**evidence["devices"][0])
    base = {"device": device.id, "unit": "tensor_core", "peak": 1979e12, "bandwidth": 3.354e12}
    bases = [Roof(**base, precision=precision) for precision in ("bf16", "fp16")]
    others = [
        Roof(**base | {"device": "nvidia/t4"}, precision="fp16"),
        Roof(**base | {"unit": "gone"}, precision="fp16"),
    ]
    found = roofline(device, [], [*bases, *others])
    for chart in found.charts:
        ((path, series, title),) = chart.bases  # the two precisions share a roof
        assert series == 1
        assert title.startswith("in the base, tensor_core bf16: 1.979 POP/s, 3.354 TB/s")
        assert float(path.rpartition(" ")[2]) < float(
            chart.lines[1][0].rpartition(" ")[2]
        )  # higher, so less from the top
    assert found.has_base
    assert not roofline(device, []).has_base


def test_watched_predictions_of_the_device_are_named_points(evidence):
    device = Device(**evidence["devices"][0])
    one = {
        "watch": "w",
        "network": "torchvision/resnet50",
        "precision": "fp16",
        "batch": 8,
        "device": device.id,
        "at": None,
    }
    one |= {"base": None, "base_display": None, "head": 1e-3, "head_display": "1 ms", "ratio": None, "factor": ""}
    one |= {"intensity": 100.0, "attained": 3e14, "why": None}
    left_out = [one | more for more in ({"device": "nvidia/t4"}, {"at": "low"}, {"intensity": None, "attained": None})]
    found = roofline(device, [], (), [Watched(**each) for each in (one, *left_out)])
    assert found.networks == 1
    chart, _ = found.charts
    ((_, series, title),) = chart.marks
    assert (series, title) == (len(chart.lines), "resnet50 fp16 b8: 1 ms")
    assert "resnet50 fp16 b8" in [label.text for label in chart.labels]


def test_without_a_bandwidth_or_a_peak_there_is_no_roofline(evidence, without):
    device = evidence["devices"][0]
    assert roofline(Device(**device | {"peaks": []}), []) is None
    assert roofline(Device(**device | {"memories": []}), []) is None
    assert roofline(Device(**without(device, "memories.0.bandwidth")), []) is None
    assert roofline(Device(**device | {"main_memory": None}), []) is None


def test_a_device_with_many_peaks_shows_the_eight_highest(evidence):
    device = evidence["devices"][0]
    device["peaks"] = [device["peaks"][0] | {"value": number * 1e12, "precision": f"p{number}"} for number in range(12)]
    found = roofline(Device(**device), [])
    assert [title.partition(":")[0] for _, title in found.legend] == [f"tensor_core p{n}" for n in range(11, 3, -1)]
