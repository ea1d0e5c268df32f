"""Answers at a terminal: 80 columns are enough, figures stay whole, and colour only repeats what signs say."""

import io
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from rooflint.output.answer import Answer
from rooflint.output.sections import (
    Bar,
    Bars,
    Curve,
    Curves,
    Grid,
    Heat,
    Part,
    Point,
    Prose,
    Roof,
    Rooflines,
    Section,
    Table,
)
from rooflint.output.text import as_text

DEVICES = [f"acme/accelerator-{number}-sxm5-{8 * number}gb" for number in range(1, 11)]


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def answer(*sections: Section) -> Answer:
    return Answer("Title", "subtitle", sections, {"schema": "x/1"}, Table((), ()))


def lines(*sections: Section) -> list[str]:
    """What stands under the title."""
    return as_text(answer(*sections)).splitlines()[3:]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


# -------------------------------------------------------------------------------------------------------------- sample


def test_the_sample_fits_80_columns_and_has_no_escapes(resnet18):
    text = as_text(resnet18)
    assert max(map(cell_len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_every_section_of_the_sample_is_headed(resnet18):
    text = as_text(resnet18)
    for section in resnet18.sections:
        assert re.search(rf"^{section.heading} ─+$", text, re.MULTILINE)


@pytest.mark.slow
def test_a_terminal_gets_colour_and_the_same_signs(resnet18, monkeypatch):
    without = as_text(resnet18)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stdout", Terminal())
    coloured = as_text(resnet18)
    assert "\x1b[1;32m" in coloured
    uncoloured = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert [line.rstrip() for line in uncoloured.splitlines()] == without.splitlines()


def test_no_color_is_heard(resnet18, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", Terminal())
    colours = re.findall(r"\x1b\[([\d;]*)m", as_text(resnet18))
    assert set(colours) <= {"0", "1", "2"}  # bold and dim are no colours


@pytest.mark.slow
def test_a_wide_terminal_is_used_up_to_120_columns(resnet18, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")
    assert max(map(cell_len, as_text(resnet18).splitlines())) == 120
    monkeypatch.setenv("COLUMNS", "20")
    assert max(map(cell_len, as_text(resnet18).splitlines())) == 80


# --------------------------------------------------------------------------------------------------------------- grids


def test_ten_devices_stand_in_blocks_that_repeat_the_first_column():
    table = Table(("op", *DEVICES), (("conv1", *["123.4 µs"] * 10), ("fc", *["9.87 µs"] * 10)))
    found = lines(Grid("Ops", table))
    assert sum(line.startswith("conv1") for line in found) == 3  # four devices beside it
    assert sum(line.count("123.4 µs") for line in found) == 10
    assert "accelerator-1-" in "".join(found)
    assert "acme" not in "".join(found)


def test_ids_that_would_be_the_same_without_their_vendor_keep_it():
    table = Table(("device", "note"), (("acme/x1", "n" * 70), ("other/x1", "n" * 70)))
    text = "\n".join(lines(Grid("Devices", table)))
    assert "acme/x1" in text
    assert "other/x1" in text


def test_seventy_rows_are_all_there():
    table = Table(("op", "time"), tuple((f"layer{number}", f"{number} us") for number in range(70)))
    assert len(lines(Grid("Ops", table))) == 1 + 1 + 70


def test_what_stands_out_does_so_without_colour():
    found = lines(Grid("Devices", Table(("device", "time"), (("a", "1 µs"), ("b", "2 µs"))), strong=(1,)))
    assert found[1:] == ["  device  time", "  a       1 µs", "▸ b       2 µs"]


def test_nothing_is_blank_in_a_grid():
    assert lines(Grid("One", Table(("a", "b"), ((None, 1.5), ("x", None)))))[2:] == ["   1.5", "x"]


def test_an_escape_in_a_name_is_no_escape():
    text = as_text(answer(Grid("One", Table(("a",), (("\x1b[31mred\x07\nline",),)))))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert r"\u001b[31mred\u0007 line" in text


# ------------------------------------------------------------------------------------------------------------ pictures


def bars(*values: float) -> Bars:
    return Bars("Energy", (Bar("acme/x1", tuple(Part(f"p{n}", v, f"{v} J") for n, v in enumerate(values)), "whole"),))


def test_parts_of_a_bar_add_up_and_are_told_apart():
    # 80 − label 7 − "whole" 5 − 4 blanks = 64 columns; 1/4 and 3/4 of them
    assert lines(bars(1, 3))[1] == f"acme/x1  {'█' * 16}{'▓' * 48}  whole"


def test_a_single_bar_lists_its_parts_with_shares():
    assert lines(bars(1, 3))[3:] == [
        "acme/x1         share",
        "█ p0     1 J     25 %",
        "▓ p1     3 J     75 %",
        "total    whole",
    ]


def test_a_bar_of_nothing_is_empty_and_a_very_short_one_is_not():
    tiny = Bars("E", tuple(Bar(f"d{v}", (Part("p", v, f"{v} J"),), f"{v} J") for v in (0.0, 1e-9, 1.0)))
    nothing, little, most = lines(tiny)[1:4]
    assert nothing.split() == ["d0.0", "0.0", "J"]
    assert "▏" in little
    assert "█" * 50 in most


def test_the_best_of_a_row_is_marked_and_nothing_is_a_dash():
    heat = Heat("Map", ("conv", "fc"), ("a1", "b2"), ((1e-9, 1.0), (None, 0.0)), (("1 ns", "1 s"), ("", "0 s")))
    found = lines(heat)
    assert found[1:4] == ["           a1      b2", "conv    *1 ns   1 s █", "fc          —    *0 s"]


def test_a_map_of_one_device_has_no_shades():
    assert "█" not in "".join(lines(Heat("Map", ("conv",), ("a1",), ((1.0,),), (("1 s",),)))[:-1])


def test_a_point_below_its_roof_is_drawn_below_it():
    chart = lines(Rooflines("Roofline", (Roof("r", 1e12, 1e10),), (Point("p", "r", 1000.0, 1e11),)))
    rows = [line for line in chart if "┤" in line or "│" in line]
    (point,) = [number for number, line in enumerate(rows) if "a" in line.partition("│")[2] + line.partition("┤")[2]]
    column = max(line.find("a") for line in rows)
    roof = [number for number, line in enumerate(rows) if len(line) > column and "\u2800" < line[column] < "\u28ff"]
    assert roof
    assert max(roof) < point


def test_points_at_one_place_stand_side_by_side():
    chart = "\n".join(lines(Rooflines("R", (Roof("r", 1e12, 1e10),), (Point("p", "r", 1.0, 1e9),) * 3)))
    assert "cab" in chart


def test_more_points_than_letters_are_counted():
    points = tuple(Point(f"p{n}", "r", 1.0 + n, 1e9, 1 / 20) for n in range(20))
    found = lines(Rooflines("R", (Roof("r", 1e12, 1e10),), points))
    assert "4 more points, together 20 % of the latency; other formats list them all" in found


def test_a_point_at_zero_is_said_to_be_missing():
    found = lines(Rooflines("R", (Roof("r", 1e12, 1e10),), (Point("p", "r", 0.0, 0.0), Point("q", "r", 1.0, 1e9))))
    assert "1 of 2 points are zero, and have no place on these axes" in found


def test_time_begins_at_zero_on_a_linear_axis():
    curve = Curve("a", (0.0, 1.0), (90.0, 80.0))
    text = "\n".join(lines(Curves("C", "time", "power", (curve,), "", "s", "W", linear=True)))
    drawing = text[: text.index("time")]
    assert drawing.count("A") == 2
    assert "0 s" in drawing


def test_axes_of_a_chart_are_labelled_with_their_unit():
    text = "\n".join(lines(Curves("C", "batch", "latency", (Curve("a", (1.0, 100.0), (1e-3, 1e-1)),), y_unit="s")))
    for label in ("latency\n", "1 ms ┤", "100 ms ┤", "   batch\n"):
        assert label in text


def test_curves_have_a_letter_in_drawing_and_table():
    found = lines(Curves("C", "batch", "rate", (Curve("one", (1.0,), (5.0,)), Curve("two", (1.0, 2.0), (7.0, 9.0)))))
    assert found[-3:] == ["batch  A one  B two", "    1      5      7", "    2             9"]


def test_curves_whose_figures_stand_elsewhere_have_their_letters_below():
    section = Curves(
        "C", "x", "y", (Curve("one", (1.0, 9.0), (5.0, 6.0)), Curve("the base", (2.0,), (7.0,))), listed=False
    )
    found = lines(section)
    assert found[-1] == "A one   B the base"
    assert not any("  9 " in line for line in found[-3:])


def test_points_that_are_not_joined_have_no_line():
    def dots(joined):
        section = Curves("C", "x", "y", (Curve("one", (1.0, 9.0), (1.0, 9.0), joined),), linear=True, listed=False)
        return sum(0x2800 < ord(letter) < 0x2900 for line in lines(section) for letter in line)

    assert dots(False) == 0 < dots(True)


# ------------------------------------------------------------------------------------------------------------ property

NAMES = st.text(st.characters(exclude_categories=("Cs",)), max_size=60) | st.sampled_from(DEVICES)
FIGURES = st.builds("{} {}".format, st.integers(0, 99_999), st.sampled_from(["us", "TOP/s", "op/B", "%", "mJ"]))
VALUES = st.just(0.0) | st.floats(1e-12, 1e18)
CELLS = st.none() | FIGURES | NAMES | st.integers(-(10**9), 10**9)


def grids(width: int) -> st.SearchStrategy[Grid]:
    rows = st.lists(st.tuples(*[CELLS] * width), max_size=5)
    return st.builds(
        lambda heads, rows, strong: Grid("G", Table(tuple(heads), tuple(rows)), strong=strong),
        st.lists(NAMES, min_size=width, max_size=width),
        rows,
        st.sampled_from([(), (0,)]),
    )


def heats(size: tuple[int, int]) -> st.SearchStrategy[Heat]:
    high, wide = size
    return st.builds(
        lambda rows, columns, values, shown: Heat("H", tuple(rows), tuple(columns), tuple(values), tuple(shown)),
        st.lists(NAMES, min_size=high, max_size=high),
        st.lists(NAMES, min_size=wide, max_size=wide),
        st.lists(st.tuples(*[st.none() | VALUES] * wide), min_size=high, max_size=high),
        st.lists(st.tuples(*[FIGURES] * wide), min_size=high, max_size=high),
    )


PARTS = st.lists(st.builds(Part, NAMES, VALUES, FIGURES), max_size=6).map(tuple)
ROOFS = st.lists(st.builds(Roof, NAMES, VALUES, VALUES), max_size=4).map(tuple)
POINTS = st.lists(st.builds(Point, NAMES, NAMES, VALUES, VALUES, st.floats(0, 1)), max_size=30).map(tuple)
CURVE = st.lists(st.tuples(VALUES, VALUES), max_size=6).map(lambda places: tuple(zip(*places, strict=True)) or ((), ()))
SECTIONS = st.one_of(
    st.builds(Prose, NAMES, st.lists(NAMES, max_size=3).map(tuple)),
    st.integers(1, 12).flatmap(grids),
    st.builds(Bars, NAMES, st.lists(st.builds(Bar, NAMES, PARTS, FIGURES), max_size=4).map(tuple), NAMES),
    st.tuples(st.integers(0, 4), st.integers(1, 11)).flatmap(heats),
    st.builds(Rooflines, NAMES, ROOFS, POINTS),
    st.builds(
        Curves,
        NAMES,
        NAMES,
        NAMES,
        st.lists(st.builds(lambda name, places: Curve(name, *places), NAMES, CURVE), max_size=4).map(tuple),
        y_unit=st.sampled_from(["", "s", "/s"]),
    ),
)


@pytest.mark.slow
@given(SECTIONS)
def test_no_line_is_wider_than_80_columns(section):
    text = as_text(answer(section))
    assert max(map(cell_len, text.split("\n"))) <= 80
    assert "".join(text.split("\n")).isprintable()


@pytest.mark.slow
@given(st.integers(1, 12).flatmap(grids) | st.tuples(st.integers(0, 4), st.integers(1, 11)).flatmap(heats))
def test_no_figure_is_cut_or_folded(section):
    text = as_text(answer(section))
    shown = section.table.rows if isinstance(section, Grid) else _known(section)
    for row in shown:
        for cell in row:
            if isinstance(cell, int) or (isinstance(cell, str) and re.fullmatch(r"\d+ (us|TOP/s|op/B|%|mJ)", cell)):
                assert str(cell) in text


def _known(heat: Heat) -> list[list[str]]:
    return [
        [text for value, text in zip(values, texts, strict=True) if value is not None]
        for values, texts in zip(heat.values, heat.shown, strict=True)
    ]
