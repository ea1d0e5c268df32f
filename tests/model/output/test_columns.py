"""Tables fitted to a width: where text breaks, which names shorten, how wide columns become, and what stands out."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from rooflint.output.columns import (
    GLUE,
    LONGEST_FIGURE,
    LONGEST_PIECE,
    SENTENCE,
    Column,
    blocks,
    broken,
    columns,
    fitted,
    paragraph,
    plain,
    shortened,
    widths,
)
from rooflint.output.sections import Table

# ---- words


@pytest.mark.parametrize(
    ("text", "width", "want"),
    [
        ("reaches 12.5 TOP/s here", 12, ["reaches", "12.5 TOP/s", "here"]),
        ("≈ jetson-agx-orin-64gb", 20, ["≈ jetson-agx-orin-", "64gb"]),
        ("an engine ≥ the model's", 12, ["an engine", "≥ the", "model's"]),
        ("nvidia/jetson-agx-orin-64gb", 12, ["nvidia/", "jetson-agx-", "orin-64gb"]),
        ("features.denselayer24.conv1", 16, ["features.", "denselayer24.", "conv1"]),
        ("tpu-v4 and hailo-8", 8, ["tpu-v4", "and", "hailo-8"]),
        ("", 5, [""]),
        ("日本語の名前", 5, ["日本", "語の", "名前"]),
    ],
)
def test_text_breaks_where_a_reader_would(text, width, want):
    assert broken(text, width) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("nvidia/h100-sxm5-80gb at 30w", "h100-sxm5-80gb at 30w"),
        ("stillwater/kpu-t256", "kpu-t256"),
        ("apple/m1", "m1"),
        ("TOP/s", "TOP/s"),
        ("op/B", "op/B"),
        ("images/s", "images/s"),
        ("170 TOP/s / 2", "170 TOP/s / 2"),
    ],
)
def test_ids_shorten_and_units_do_not(text, want):
    assert shortened(text) == want


@pytest.mark.parametrize(
    ("text", "width", "want"),
    [
        ("a b", 3, ["a b"]),  # as wide as there is room
        ("ab cd", 4, ["ab", "cd"]),
        ("abcd", 4, ["abcd"]),
        ("a-bcde", 5, ["a-", "bcde"]),
        ("1234567", 4, ["1234", "567"]),  # a figure has no better place to break
        ("conv-2-wide", 6, ["conv-2", "-wide"]),
        ("a 5 W", 3, ["a", "5 W"]),  # a number stays with its unit
        ("v5 W", 3, ["v5", "W"]),  # and a name is no number
        ("≥ 14 mJ of it", 7, ["≥ 14 mJ", "of it"]),
    ],
)
def test_lines_are_as_long_as_there_is_room(text, width, want):
    assert broken(text, width) == want


@given(st.text(max_size=80), st.integers(2, 40))
def test_no_line_is_wider_than_asked_and_nothing_is_lost(text, width):
    found = broken(text, width)
    assert max(map(cell_len, found)) <= width
    assert "".join("".join(found).split()) == "".join(plain(text).replace(GLUE, " ").split())


def test_what_moves_a_cursor_becomes_a_blank():
    assert plain("a\tb\x1b[1mc\n") == r"a b\u001b[1mc "
    assert plain(f"14{GLUE}mJ") == f"14{GLUE}mJ"


def test_a_paragraph_has_its_style():
    found = paragraph("one two", 4, "dim")
    assert (found.plain, found.style) == ("one\ntwo", "dim")


# ---- columns


def column(*cells, head="head"):
    return Column(0, head, cells)


@pytest.mark.parametrize("cells", [("1 µs", "≥ 14 mJ", "—"), ("*1 ns", "+3 %"), ("-.5",), ("9" * LONGEST_FIGURE,)])
def test_a_column_of_numbers_is_one_of_figures(cells):
    assert column(*cells).figures


@pytest.mark.parametrize("cells", [(), ("",), ("—", ""), ("1 µs", "none"), ("9" * (LONGEST_FIGURE + 1),)])
def test_a_column_with_a_word_or_without_anything_known_is_not(cells):
    assert not column(*cells).figures


def test_a_column_has_a_width_without_breaks_and_a_least_one():
    figures, words = column("1 µs", "12.5 µs", head="a"), column("nvidia/h100-sxm5", head="a very wide head")
    assert (figures.body, figures.natural, figures.least) == (7, 7, 7)
    assert (words.body, words.natural, words.least) == (16, 16, len("nvidia/"))
    assert column("1 µs", head="dataflow x").least == len("dataflow")  # the longest piece of its head
    assert (column().body, column().natural) == (0, 4)


def test_long_words_are_cut_and_sentences_get_room():
    assert column("x" * 50).least == LONGEST_PIECE == 20
    assert column("ab " * 21 + "c").least == 2 * 2  # 64 columns: no sentence yet; "head" is the longest piece
    assert column("ab " * 21 + "cd").least == SENTENCE == 32


def test_figures_stay_on_one_line():
    assert column("1 µs").lines(0, 2) == ["1 µs"]
    assert column("one two").lines(0, 3) == ["one", "two"]


def test_names_shorten_where_they_still_tell_rows_apart():
    short = column("nvidia/a100-x", "amd/mi300", head="nvidia/h100").short()
    assert (short.head, short.cells) == ("h100", ("a100-x", "mi300"))
    assert column("nvidia/x1", "amd/x1").short().cells == ("nvidia/x1", "amd/x1")
    assert column("nvidia/x1", "nvidia/x1").short().cells == ("x1", "x1")


def test_cells_of_a_table_are_text_on_one_line():
    first, second = columns(Table(("name ", "n\tm"), (("a\nb", None), (" c ", 1.5))))
    assert (first.position, first.head, first.cells) == (0, "name", ("a b", "c"))
    assert (second.position, second.head, second.cells) == (1, "n m", ("", "1.5"))


# ---- blocks


def heads(table, width):
    return [[one.head for one in block] for block in blocks(columns(table), width)]


TEN = Table(("op", *(f"h{number}" for number in range(10))), (("conv1", *["123.4 µs"] * 10),))


def test_columns_that_fit_stand_side_by_side_and_the_first_is_repeated():
    # "conv1" 5, and 8 + 2 for each figure: 25 hold two of them, 24 one
    assert heads(TEN, 25)[:2] == [["op", "h0", "h1"], ["op", "h2", "h3"]]
    assert heads(TEN, 24)[:2] == [["op", "h0"], ["op", "h1"]]
    assert heads(TEN, 105) == [["op", *(f"h{number}" for number in range(10))]]
    assert len(heads(TEN, 104)) == 2
    assert len(heads(TEN, 5)) == 10  # one at a time, even where there is no room


def test_names_take_a_third_of_the_width_before_they_fold():
    # "convolution of layer" has 20 columns, a third of 48 are 16: 16 + 3 × 10 fit into 48, and into 46 not 4
    table = Table(TEN.columns, (("convolution of layer", *["123.4 µs"] * 10),))
    assert heads(table, 48)[0] == ["op", "h0", "h1", "h2"]
    assert heads(table, 45)[0] == ["op", "h0", "h1", "h2"]
    assert heads(table, 39)[0] == ["op", "h0", "h1"]


def test_names_shorten_only_where_there_is_no_room():
    table = Table(("device", "nvidia/h100-x"), (("nvidia/a100-x", "1 µs"),))
    assert next(iter(blocks(columns(table), 40)))[0].cells == ("nvidia/a100-x",)
    short = next(iter(blocks(columns(table), 27)))
    assert ([one.head for one in short], short[0].cells) == (["device", "h100-x"], ("a100-x",))


def test_no_two_columns_shorten_to_the_same_name():
    table = Table(("device", "nvidia/x1", "amd/x1"), (("nvidia/a100-x", "1 µs", "2 µs"),))
    block = next(iter(blocks(columns(table), 20)))
    assert block[0].cells == ("a100-x",)
    assert block[1].head == "nvidia/x1"


def test_what_is_left_over_goes_to_cells_first_and_to_those_that_lack_little():
    # least 4 + 4 + 2 of gap; "head" 4, "one two" 7 lacks 3, "one two three" 13 lacks 8 of its least 5
    block = [column("one two"), column("one two three"), column("1", head="a b c d e f")]
    assert [(one.least, one.body, one.natural) for one in block] == [(4, 7, 7), (5, 13, 13), (1, 1, 11)]
    assert widths(block, 10) == [4, 5, 1]  # no room for more
    assert widths(block, 16) == [6, 5, 1]  # 10 + 2 gaps of 2 are the least: 2 left over
    assert widths(block, 20) == [7, 8, 1]
    assert widths(block, 27) == [7, 13, 3]  # heads come last
    assert widths(block, 99) == [7, 13, 11]


# ---- what is printed


def printed(table, width, strong=(), styles=None):
    console = Console(width=width, file=io.StringIO(), color_system=None)
    for one in fitted(table, width, strong, styles):
        console.print(one)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_figures_stand_right_and_names_left():
    table = Table(("device", "time"), (("a1", "1 µs"), ("longer", "12.5 µs")))
    assert printed(table, 40) == ["device     time", "a1         1 µs", "longer  12.5 µs"]


def test_rows_that_stand_out_are_marked_on_their_first_line():
    table = Table(("device name", "time"), (("one two", "1 µs"), ("three four", "2 µs")))
    assert printed(table, 14, strong=(1,)) == [
        "  device",
        "  name    time",
        "  one     1 µs",
        "  two",
        "▸ three   2 µs",
        "  four",
    ]


def test_blocks_are_set_apart_by_an_empty_line():
    assert printed(TEN, 25)[:5] == [
        "op           h0        h1",
        "conv1  123.4 µs  123.4 µs",
        "",
        "op           h2        h3",
        "conv1  123.4 µs  123.4 µs",
    ]


def test_a_table_without_heads_has_no_line_for_them():
    assert printed(Table(("", ""), (("a", "1 µs"),)), 40) == ["a  1 µs"]


def test_cells_have_the_style_of_their_row_and_column():
    table = Table(("a", "b"), (("x", "y"), ("z", "w")))
    asked = []
    (grid,) = fitted(table, 40, (1,), lambda row, place: asked.append((row, place)) or f"color({10 * row + place})")
    cells = [[cell.style for cell in one.cells] for one in grid.columns]
    assert [str(style) for style in cells[1]] == ["color(1)", "bold"]  # rows that stand out are bold
    assert asked == [(0, 0), (0, 1)]
    (grid,) = fitted(table, 40)
    assert [str(cell.style) for cell in grid.columns[1].cells] == ["", ""]


def test_counted_names_are_text_and_counted_amounts_are_figures():
    assert not Column(0, "device", ("8 × h100-sxm5-80gb", "▸ 4 × mi300x")).figures
    assert Column(0, "sent", ("80 × 134 MB", "1 × 1.03 MB")).figures
