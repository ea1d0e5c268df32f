"""Devices: ladders share their rungs, registers cite documents by short keys, and like facts are one row."""

import math

from rooflint_report.evidence import Device, Fact, Peak
from rooflint_report.sections.devices import Register, decade_axis, ladders, rows
from rooflint_report.verdicts import Verdict


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
