"""Ladders, registers, anchors and axes: each on its own."""

import math
from itertools import pairwise

import pytest

from rooflint_report.axis import RULER_WIDTH, decade_axis, ruler_ticks, ruler_x
from rooflint_report.html import Anchors, code, escaped
from rooflint_report.sheet import Register, ladders, rows


def test_rungs_that_all_precisions_share_are_written_once(evidence):
    tensor, cuda, fp64 = ladders(evidence["devices"][0]["peaks"])
    assert [f["name"] for f in tensor.shared] == ["groups", "per_group", "ops_per_mac", "clock"]
    assert {tuple(f["name"] for f in step.own) for step in tensor.steps} == {("macs_per_clock",)}
    assert len(cuda.steps) == 4
    assert [f["name"] for f in fp64.steps[0].own] == ["macs_per_clock"]


def test_a_precision_with_its_own_clock_keeps_it_and_the_others_share_theirs(evidence):
    peaks = evidence["devices"][0]["peaks"]
    own = next(f for f in peaks[0]["factors"] if f["name"] == "clock") | {"display": "1.98 GHz"}
    peaks[0]["factors"] = [own if f["name"] == "clock" else f for f in peaks[0]["factors"]]
    tensor = ladders(peaks)[0]
    assert [f["display"] for f in tensor.shared] == ["132 SM", "4 tensor_core", "2 op/MAC", "1.83 GHz"]
    assert [f["display"] for f in tensor.steps[0].own] == ["32 MAC/clock", "1.98 GHz"]
    assert [f["display"] for f in tensor.steps[1].own] == ["256 MAC/clock"]


def test_every_factor_of_a_peak_is_shared_or_own(evidence):
    for device in evidence["devices"]:
        for ladder in ladders(device["peaks"]):
            for step in ladder.steps:
                assert {f["name"] for f in (*ladder.shared, *step.own)} == {f["name"] for f in step.peak["factors"]}


def test_an_operating_point_is_a_ladder_of_its_own(evidence):
    peaks = evidence["devices"][0]["peaks"]
    assert [(one.unit, one.at) for one in ladders([*peaks, peaks[0] | {"at": "30w"}])][-1] == ("tensor_core", "30w")


def test_claimed_documents_join_the_register_under_keys_of_their_own(evidence):
    device = evidence["devices"][0]
    mine = [v for v in evidence["verdicts"] if v["hardware"] == device["id"]]
    mine[0]["expected"]["source"]["document"] = "Another document"
    device["sources"]["c1"] = {"document": "taken", "grade": "read", "url": None}
    register = Register(device, mine)
    assert list(register.entries) == ["wp", "ds", "c1", "c2"]
    assert register.of_document("Another document").key == "c2"
    assert not register.of_document("Another document").fact
    assert register.of_key(None) is None


def test_the_same_fact_of_several_precisions_is_one_row():
    fact = {"display": "2", "source": "wp", "grade": "quoted", "where": "table 2", "file": "a.yaml"}
    paths = ["units.t.sparsity.bf16", "units.t.sparsity.fp16", "tdp", "launched"]
    merged = rows([fact | {"path": path, "line": 20 + line} for line, path in enumerate(paths)])
    assert [(row.path, row.span) for row in merged] == [
        ("units.t.sparsity. bf16, fp16", "20–21"),
        ("tdp", "22"),
        ("launched", "23"),
    ]


def test_lines_that_do_not_follow_each_other_are_listed():
    fact = {"display": "2", "source": "wp", "grade": "quoted", "where": "table 2", "file": "a.yaml"}
    assert rows([fact | {"path": f"a.{n}", "line": n} for n in (3, 5, 9)])[0].span == "3, 5, 9"
    assert rows([fact | {"path": "a.b", "line": None}])[0].span == ""


def test_anchors_are_safe_and_never_twice():
    anchors = Anchors()
    assert anchors.new("device", "nvidia/h100 <b>×") == "device-nvidia-h100-b"
    assert anchors.new("device", "nvidia/h100-b") == "device-nvidia-h100-b-2"
    assert anchors.new("device", "×") == "device-"
    assert len(anchors.new("fail", "very-" * 100)) < 120


@pytest.mark.parametrize(("ratio", "side"), [(1, 0), (1 / 8, -1), (8, 1), (0, -1), (math.inf, 1)])
def test_a_ratio_lies_on_its_side_of_one(ratio, side):
    x = ruler_x(ratio)
    assert 0 <= x <= RULER_WIDTH
    assert (x > RULER_WIDTH / 2) - (x < RULER_WIDTH / 2) == side


def test_octaves_are_equally_long():
    ticks = ruler_ticks()
    assert len(ticks) == 13
    assert {19 <= b - a <= 20 for a, b in pairwise(ticks)} == {True}
    assert ruler_x(None) is None
    assert ruler_x(math.nan) is None


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


@pytest.mark.parametrize("text", ["a", "`", "``a`", "a|b", "`a``"])
def test_a_code_span_outlasts_the_backticks_in_it(text):
    span = code(text)
    fence = span[: len(span) - len(span.lstrip("`"))]
    assert span.endswith(fence)
    assert fence not in text or len(fence) > max(map(len, text.split("`")[0:1]))
    assert text in span


def test_markdown_stays_on_one_line_and_short():
    assert escaped("a\nb\r\n\tc") == "a b c"
    assert len(escaped("x" * 10_000)) <= 300
    assert escaped(escaped("*")) == r"\*"
