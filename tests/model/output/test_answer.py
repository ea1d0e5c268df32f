"""Answers for programs, spreadsheets, pull requests and notebooks."""

import csv
import io
import json
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from rooflint.output.answer import Answer, Record, UnknownFormatError, as_csv, as_fragment, as_json, as_markdown, write
from rooflint.output.sections import Bar, Bars, Curve, Curves, Grid, Heat, Part, Point, Prose, Roof, Rooflines, Table

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def answer(*sections, record=None) -> Answer:
    return Answer("Title", "", sections, record or {}, Table((), ()))


def markdown(*sections) -> str:
    return as_markdown(answer(*sections)).removeprefix("# Title\n\n")


@given(st.dictionaries(st.text(st.characters(exclude_categories=("Cs",))), JSON, max_size=4))
def test_json_is_the_record(record):
    assert json.loads(as_json(answer(record=record))) == record


class Sample(Record):
    schema_: Annotated[Literal["rooflint.sample/1"], Field(alias="schema")]
    latency_s: float | None
    baseline: str | None = None
    devices: list[str]


def test_a_record_names_its_schema_and_has_optional_keys_only_where_they_are_given():
    plain = Sample.build(latency_s=None, devices=[])
    assert json.loads(as_json(answer(record=plain))) == {
        "schema": "rooflint.sample/1",
        "latency_s": None,
        "devices": [],
    }
    assert Sample.build(latency_s=1.5, devices=["a"], baseline="b").dump()["baseline"] == "b"


@pytest.mark.parametrize("wrong", [{"latency_s": "1"}, {"unknown": 1}])
def test_a_record_refuses_what_is_not_of_its_shape(wrong):
    with pytest.raises(ValidationError):
        Sample.build(**({"latency_s": 1.0, "devices": []} | wrong))


def test_json_is_for_people_too():
    assert as_json(answer(record={"device": "½"})) == '{\n  "device": "½"\n}\n'


def test_json_never_holds_what_is_no_json():
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json(answer(record={"latency_s": float("nan")}))


def test_csv_is_the_listing_in_si_units(resnet18):
    header, first, *_ = csv.reader(io.StringIO(as_csv(resnet18)))
    assert header == ["device", "latency_s", "attained_ops_per_s"]
    assert first[0] == "nvidia/h100-sxm5-80gb"
    assert 1e-4 < float(first[1]) < 1e-3
    assert [float(cell) for cell in first[1:]] == list(resnet18.listing.rows[0][1:])


def test_every_section_of_the_sample_is_a_heading_with_a_table(resnet18):
    text = as_markdown(resnet18)
    assert text.startswith("# ResNet-18 on five devices\n\nbatch 1")
    for section in resnet18.sections:
        assert f"\n## {section.heading}\n\n" in text
    assert text.count("\n| --- |") == 1 + 1 + 1 + 2 + 2 + 1  # grid, bars, heat, two rooflines, curves
    assert "\n\n\n" not in text


def test_prose_is_bullets():
    assert markdown(Prose("Findings", ("One.", "a*b <i> | c"))) == "## Findings\n\n- One.\n- a\\*b &lt;i&gt; \\| c\n"


def test_rows_that_stand_out_are_bold():
    text = markdown(Grid("G", Table(("a", "b"), (("x", None), ("y|z", 2))), "note", strong=(1,)))
    assert text == "## G\n\n| a | b |\n| --- | --- |\n| x |  |\n| **y\\|z** | **2** |\n\nnote\n"


def test_bars_are_a_table_with_their_whole():
    bars = (Bar("x", (Part("p", 1, "1 J"),), "1 J"), Bar("y", (Part("q", 2, "2 J"), Part("p", 1, "1 J")), "3 J"))
    assert markdown(Bars("B", bars)).splitlines()[2:] == [
        "|  | p | q | total |",
        "| --- | --- | --- | --- |",
        "| x | 1 J |  | 1 J |",
        "| y | 1 J | 2 J | 3 J |",
    ]


def test_the_best_of_a_row_is_bold():
    heat = Heat("H", ("op",), ("a", "b", "c"), ((2.0, 1.0, None),), (("2 s", "1 s", ""),))
    assert markdown(heat).splitlines()[-1] == "| op | 2 s | **1 s** | — |"


def test_charts_are_tables_of_their_figures():
    roofline = Rooflines(
        "R", (Roof("r", 2e12, 1e12),), (Point("p", "r", 0.5, 4e11, 0.25), Point("q", "r", 2, 1e12, 0.75))
    )
    assert markdown(roofline).splitlines()[2:] == [
        "| roof | peak | bandwidth | breakpoint |",
        "| --- | --- | --- | --- |",
        "| r | 2 TOP/s | 1 TB/s | 2 op/B |",
        "",
        "| point | intensity | attained | share |",
        "| --- | --- | --- | --- |",
        "| q | 2 op/B | 1 TOP/s | 75 % |",
        "| p | 0.5 op/B | 400 GOP/s | 25 % |",
    ]
    curves = Curves("C", "batch", "latency", (Curve("a", (1.0, 2.0), (1e-3, 0.0)),), y_unit="s")
    assert markdown(curves).splitlines()[4:] == ["| 1 | 1 ms |", "| 2 | 0 s |"]


@pytest.mark.parametrize("form", ["text", "json", "csv", "md", "html"])
def test_every_format_is_found_by_its_name(resnet18, form):
    assert write(resnet18, form)


def test_an_unknown_format_is_refused_with_those_that_are_known(resnet18):
    with pytest.raises(UnknownFormatError, match=r"^unknown format 'pdf' \(known: csv, html, json, md, text\)$"):
        write(resnet18, "pdf")


def test_a_notebook_shows_headings_and_tables_with_what_stands_out():
    heat = Heat("H <b>", ("op",), ("a", "b"), ((2.0, 1.0),), (("2 s", "1 s"),), "least & best")
    text = as_fragment(answer(heat, Prose("P", ("x < y",)), record={}))
    assert "<h4>H &lt;b&gt;</h4>" in text
    assert "<tr><td>op</td><td>2 s</td><td><b>1 s</b></td></tr>" in text
    assert "<p><small>least &amp; best</small></p>" in text
    assert "<ul><li>x &lt; y</li></ul>" in text


def test_an_answer_prints_as_the_command_does(resnet18):
    assert f"{resnet18}\n" == write(resnet18, "text")
    assert resnet18._repr_html_() == as_fragment(resnet18)


def test_a_record_given_as_a_function_is_made_once_and_only_when_asked_for():
    calls = []

    def record():
        calls.append(1)
        return {"a": 1}

    found = Answer("Title", "", (Prose("Said", ("It is.",)),), record, lambda: Table(("a",), ((2,),)))
    assert "It is." in write(found, "text") + write(found, "md")
    assert calls == []
    assert json.loads(as_json(found)) == {"a": 1}
    assert found.record == {"a": 1}
    assert calls == [1]
    assert as_csv(found) == "a\n2\n"
    with pytest.raises(AttributeError):
        Answer.record  # noqa: B018  # no default
