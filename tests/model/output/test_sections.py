"""Tables: the same rows in every format, and nothing lost on the way; and logarithmic axes."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.text import visible
from rooflint.output.answer import UnknownFormatError, as_csv, as_json, as_markdown, write
from rooflint.output.sections import Table
from rooflint.output.text import table_text

TABLE = Table(("device", "peak", "note"), (("nvidia/t4", 65.13, "a|b"), ("hailo/hailo-8", None, "two\nlines")), "Peaks")

CELLS = st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=12)
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.builds(
        Table,
        st.just(tuple(f"column{number}" for number in range(width))),
        st.lists(st.tuples(*[CELLS | TEXTS] * width), max_size=5).map(tuple),
    )
)


@pytest.fixture(autouse=True)
def wide_plain_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


def test_records_are_rows_with_names():
    assert TABLE.records()[0] == {"device": "nvidia/t4", "peak": 65.13, "note": "a|b"}


def test_a_row_of_another_length_is_no_row():
    with pytest.raises(ValueError, match="shorter"):
        Table(("a", "b"), ((1,),)).records()


def test_json_is_a_list_of_objects_for_people_too():
    assert as_json(Table(("a", "b"), ((1, "½"),))) == '[\n  {\n    "a": 1,\n    "b": "½"\n  }\n]\n'


def test_csv_has_a_header_and_quotes_what_needs_it():
    assert as_csv(TABLE) == 'device,peak,note\nnvidia/t4,65.13,a|b\nhailo/hailo-8,,"two\nlines"\n'


def test_markdown_escapes_what_would_break_a_row():
    assert as_markdown(TABLE) == (
        "| device | peak | note |\n"
        "| --- | --- | --- |\n"
        "| nvidia/t4 | 65.13 | a\\|b |\n"
        "| hailo/hailo-8 |  | two lines |\n"
    )


def test_text_is_for_people():
    assert table_text(TABLE).splitlines() == [
        "Peaks",
        "device         peak   note",
        "nvidia/t4      65.13  a|b",
        "hailo/hailo-8         two lines",
    ]


def test_columns_of_numbers_stand_right():
    assert table_text(Table(("n", "name"), ((1, "x"), (100, "y")))).splitlines() == ["  n  name", "  1  x", "100  y"]


def test_brackets_are_text_and_no_markup():
    lines = table_text(Table(("a",), (("[red]not a colour[/red]",),))).splitlines()
    assert lines[1] == "[red]not a colour[/red]"


def test_text_has_no_trailing_blanks_and_no_escapes():
    text = table_text(TABLE)
    assert all(line == line.rstrip() for line in text.splitlines())
    assert "\x1b" not in text


def test_a_table_that_is_too_wide_stands_closer_together_before_it_is_folded(monkeypatch):
    table = Table(("device", "peak", "note"), (("nvidia/t4", "65.13", "8 words"),))
    for columns, lines in {
        25: ["device     peak   note", "nvidia/t4  65.13  8 words"],  # 9 + 2 + 5 + 2 + 7
        24: ["device    peak  note", "nvidia/t4 65.13 8 words"],
        23: ["device    peak  note", "nvidia/t4 65.13 8 words"],
    }.items():
        monkeypatch.setenv("COLUMNS", str(columns))
        assert table_text(table).splitlines() == lines


def test_a_narrow_terminal_folds_and_loses_nothing(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    text = table_text(Table(("fact",), (("units.tensor_core.macs_per_clock.int8",),)))
    assert "".join(text.split()) == "factunits.tensor_core.macs_per_clock.int8"


def test_an_empty_table_has_its_header_in_every_format():
    empty = Table(("a", "b"), ())
    assert as_json(empty) == "[]\n"
    assert as_csv(empty) == "a,b\n"
    assert as_markdown(empty) == "| a | b |\n| --- | --- |\n"
    assert table_text(empty) == "a  b\n"


@pytest.mark.parametrize(
    ("form", "writer"), [("json", as_json), ("csv", as_csv), ("md", as_markdown), ("text", table_text)]
)
def test_a_format_is_found_by_its_name(form, writer):
    assert write(TABLE, form) == writer(TABLE)


def test_an_unknown_format_is_refused_with_those_that_are_known():
    with pytest.raises(UnknownFormatError) as caught:
        write(TABLE, "yaml")
    assert str(caught.value) == "unknown format 'yaml' (known: csv, html, json, md, text)"


def test_html_without_the_reports_is_refused(monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    with pytest.raises(UnknownFormatError, match=r"^format 'html' needs the package rooflint_report, which is not"):
        write(TABLE, "html")


@pytest.mark.slow
@given(TABLES)
def test_json_is_read_back_as_it_was(table):
    assert json.loads(as_json(table)) == table.records()


@given(TABLES)
def test_csv_is_read_back_as_text_of_what_it_was(table):
    header, *rows = csv.reader(io.StringIO(as_csv(table), newline=""))
    assert tuple(header) == table.columns
    if len(table.columns) > 1:  # a lone empty cell is quoted by the writer, and read back as one
        assert rows == [["" if cell is None else str(cell) for cell in row] for row in table.rows]


@pytest.mark.slow
@given(TABLES)
def test_every_markdown_row_has_as_many_cells_as_columns(table):
    lines = as_markdown(table).splitlines()
    assert len(lines) == len(table.rows) + 2
    for line in lines:
        assert line.replace("\\|", "").count("|") == len(table.columns) + 1


@pytest.mark.slow
@given(TABLES)
def test_every_cell_is_in_the_text(table):
    text = "".join(table_text(table).split())
    for row in table.rows:
        for cell in row:
            assert cell is None or "".join(visible(str(cell)).split()) in text
