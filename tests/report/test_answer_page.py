"""An answer as a page: self-contained, complete without pictures, and nothing that it says becomes markup."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from rooflint_report import answer_page
from rooflint_report.answer_page import as_html
from rooflint_report.log_chart import Mark

HOSTILE = "</title></style><script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{ 7 * 7 }}"
DEVICES = tuple(f"acme/accelerator-{number}-sxm5-{8 * number}gb" for number in range(1, 11))
VOID = {"meta", "link", "input", "wbr", "br", "img"}


class Page(HTMLParser):
    """Checks that tags close, and collects ids, text and attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.ids: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.text += data


def page(*sections: Section, title: str = "Title") -> str:
    return as_html(Answer(title, "subtitle", sections, {}, Table((), ())))


def marks(html: str) -> int:
    return len(re.findall(r'class="mark ', html))


def test_the_page_fetches_nothing_and_runs_only_what_sorts_its_tables(resnet18):
    html = as_html(resnet18)
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}';" in html
    assert "data-sortable" in html
    for word in ("<script ", "http:", "https:", "src=", "url(", "@import"):
        assert word not in html
    Page(html)


def test_every_section_is_headed_and_linked(resnet18):
    parsed = Page(as_html(resnet18))
    assert len(parsed.ids) == len(set(parsed.ids))
    links = [attributes["href"] for tag, attributes in parsed.tags if tag == "a"]
    assert {link.removeprefix("#") for link in links} <= set(parsed.ids)
    for section in resnet18.sections:
        assert section.heading in parsed.text


def test_every_figure_is_text(resnet18):
    text = Page(as_html(resnet18)).text.replace("\N{NO-BREAK SPACE}", " ")
    for section in resnet18.sections:
        shown = {
            "grid": lambda s: [str(cell) for row in s.table.rows for cell in row],
            "bars": lambda s: [part.shown for bar in s.bars for part in bar.parts] + [bar.shown for bar in s.bars],
            "heat": lambda s: [text for row in s.shown for text in row],
            "rooflines": lambda s: [point.label for point in s.points] + [roof.name for roof in s.roofs],
            "curves": lambda s: [curve.name for curve in s.curves],
            "prose": lambda s: s.sentences,
        }[section.kind](section)
        for figure in shown:
            assert figure in text


def test_two_sections_of_the_same_name_have_two_anchors():
    assert 'id="section-Same-2"' in page(Prose("Same", ("a",)), Prose("Same", ("b",)))


def test_hostile_text_stays_text():
    html = page(
        Prose(HOSTILE, (HOSTILE,)),
        Grid(HOSTILE, Table((HOSTILE, "b"), ((HOSTILE, 1),)), HOSTILE),
        Bars(HOSTILE, (Bar(HOSTILE, (Part(HOSTILE, 1.0, HOSTILE),), HOSTILE),), HOSTILE),
        Heat(HOSTILE, (HOSTILE,), (HOSTILE,), ((1.0,),), ((HOSTILE,),), HOSTILE),
        Rooflines(HOSTILE, (Roof(HOSTILE, 1e12, 1e9),), (Point(HOSTILE, HOSTILE, 1.0, 1e9),), HOSTILE),
        Curves(HOSTILE, HOSTILE, HOSTILE, (Curve(HOSTILE, (1.0,), (1.0,)),), HOSTILE, HOSTILE, HOSTILE),
        title=HOSTILE,
    )
    parsed = Page(html)
    assert [tag for tag, _ in parsed.tags if tag in ("script", "img")] == ["script"]  # its own
    assert not [name for _, attributes in parsed.tags for name in attributes if name.startswith("on")]
    assert "49" not in re.sub(r"\d{3,}", "", parsed.text.partition("rooflint")[2])


def test_what_stands_out_and_what_is_missing_in_a_grid():
    html = page(Grid("G", Table(("a", "b"), (("x", None), ("y", "1 µs"))), strong=(1,)))
    assert '<tr class="gutter strong"><th scope="row">y</th><td class="f">1 µs</td></tr>' in html
    assert '<th scope="row">x</th><td class="f"></td>' in html


def test_the_best_of_a_row_is_marked_by_more_than_colour():
    html = page(Heat("H", ("op",), ("a", "b", "c"), ((2.0, 1.0, None),), (("2 s", "1 s", ""),)))
    assert '<td class="best" style="--h:0%"><span role="img" aria-label="best">★</span> 1 s</td>' in html
    assert '<td style="--h:100%">2 s</td>' in html
    assert '<td class="none">–</td>' in html


def test_bars_say_their_parts_without_the_picture():
    html = page(Bars("B", (Bar("x", (Part("p", 1, "1 J"), Part("q", 3, "3 J")), "4 J"),)))
    assert 'aria-label="x: p 1 J, q 3 J, together 4 J"' in html
    assert re.findall(r'x="([\d.]+)" width="([\d.]+)"', html) == [("0.0", "250.0"), ("250.0", "750.0")]


def test_charts_come_wide_and_narrow_with_all_their_points(resnet18):
    html = as_html(Answer("T", "", [s for s in resnet18.sections if s.kind == "curves"], {}, Table((), ())))
    (curves,) = [s for s in resnet18.sections if s.kind == "curves"]
    assert html.count('class="chart wide"') == html.count('class="chart narrow"') == 1
    assert marks(html) == 2 * sum(len(curve.x) for curve in curves.curves)


def test_a_point_at_zero_is_said_to_be_missing():
    html = page(Rooflines("R", (Roof("r", 1e12, 1e10),), (Point("p", "r", 0.0, 0.0), Point("q", "r", 1.0, 1e9))))
    assert "1 of 2 points is zero and has no place on these axes." in html
    assert marks(html) == 2  # the other one, wide and narrow


def test_time_begins_at_zero_on_a_linear_axis():
    html = page(
        Curves("C", "time", "power", (Curve("a", (0.0, 1.0, 2.0), (90.0, 80.0, 90.0)),), "", "s", "W", linear=True)
    )
    assert "has no place on these axes" not in html
    assert ">0 s<" in html
    assert marks(html) == 2 * 3  # wide and narrow


def test_a_roof_bends_at_its_breakpoint():
    html = page(Rooflines("R", (Roof("r", 2e12, 1e10),), ()))
    assert "breakpoint 200 op/B" in html
    (path, *_) = re.findall(r'class="line" d="M[\d.]+ ([\d.]+)L[\d.]+ ([\d.]+)L[\d.]+ ([\d.]+)"', html)
    entry, knee, end = map(float, path)
    assert entry > knee == end


@pytest.mark.parametrize(
    "section",
    [
        Prose("P", ()),
        Grid("G", Table(("a",), ())),
        Grid("G", Table(("op", *DEVICES), tuple((f"layer{n}", *["1 µs"] * 10) for n in range(70)))),
        Bars("B", ()),
        Bars("B", (Bar("zero", (Part("p", 0.0, "0 J"),), "0 J"), Bar("none", (), "–"))),
        Bars("B", tuple(Bar(d, tuple(Part(f"p{n}", 10.0**n, "x") for n in range(-9, 1)), "y") for d in DEVICES)),
        Heat("H", (), DEVICES, (), ()),
        Heat("H", ("op",), ("a",), ((None,),), (("",),)),
        Heat("H", ("op",), ("a", "b"), ((0.0, 1e-9),), (("0 s", "1 ns"),)),
        Rooflines("R", (), ()),
        Rooflines("R", (Roof("r", 0.0, 0.0),), (Point("p", "elsewhere", 1.0, 1.0),)),
        Rooflines("R", tuple(Roof(d, 10.0 ** (n + 6), 1e9) for n, d in enumerate(DEVICES)), ()),
        Curves("C", "x", "y", ()),
        Curves("C", "x", "日本語", (Curve("é<b>", (1.0,), (0.0,)), Curve("one", (5.0,), (7.0,)))),
    ],
    ids=lambda section: section.kind,
)
def test_what_is_empty_zero_single_many_or_wide_is_still_a_page(section):
    assert Page(page(section)).stack == []  # all tags are closed


VALUES = st.just(0.0) | st.floats(1e-12, 1e18)


@pytest.mark.slow
@given(
    st.lists(st.builds(Roof, st.text(max_size=30), VALUES, VALUES), max_size=6),
    st.lists(st.builds(Point, st.text(max_size=30), st.text(max_size=5), VALUES, VALUES, st.floats(0, 1)), max_size=20),
)
def test_everything_of_a_chart_lies_inside_it(roofs, points):
    html = page(Rooflines("R", tuple(roofs), tuple(points)))
    Page(html)
    for width, body in re.findall(r'viewBox="0 0 (\d+) \d+" role.*?>(.*?)</svg>', html, re.DOTALL):
        for x in re.findall(r'd="M(-?[\d.]+)', body):
            assert -15 <= float(x) <= int(width)


def test_any_object_of_the_right_shape_becomes_a_page():
    section = SimpleNamespace(kind="prose", heading="Other", sentences=["Made elsewhere."])
    assert "Made elsewhere." in as_html(SimpleNamespace(title="T", subtitle="", sections=[section]))


# ---- Cells


@pytest.mark.parametrize(
    ("cells", "figures"),
    [
        (["1.5 µs", "≈ 3", "−2", ".5", None, "", "—"], True),
        (["1.5 µs", "layer1"], False),
        ([None, "", "—"], False),
        ([], False),
        (["1" * 24], True),
        (["1" * 25], False),
    ],
)
def test_a_column_is_of_figures_if_all_that_it_has_begin_with_one_and_are_short(cells, figures):
    assert answer_page._are_figures(cells) is figures


def test_a_long_word_may_wrap_behind_its_marks_and_a_number_may_not():
    assert answer_page._breakable("acme/x-1b.conv <b>") == "acme/x-<wbr>1b.<wbr>conv &lt;b&gt;"
    assert answer_page._breakable("acme/x10") == "acme/<wbr>x10"
    assert answer_page._breakable("1.50") == "1.50"
    assert answer_page._breakable(None) == ""
    assert answer_page._breakable(0) == "0"


def test_a_number_stays_with_its_unit():
    assert answer_page._glued("3 of 12 GB/s, 4 µs.") == "3\u00a0of 12\u00a0GB/s, 4\u00a0µs."
    assert answer_page._glued("2 3") == "2 3"


def test_a_table_knows_its_figures_its_sentences_and_whether_it_is_short():
    rows = [("acme/x10", "1 µs", "a" * 40), ("b", "2 µs", "")]
    found = answer_page._table(("name", "time", "why"), rows, (1,))
    assert (found["figures"], found["sentences"]) == ([False, True, False], [False, False, False])
    assert found["rows"] == [["acme/<wbr>x10", "1 µs", "a" * 40], ["b", "2 µs", ""]]
    assert (found["strong"], found["open"]) == ((1,), True)
    assert answer_page._table(("why",), [("a" * 41,)])["sentences"] == [True]
    assert [answer_page._table(("a",), [("b",)] * count)["open"] for count in (8, 9)] == [True, False]


# ---- Bars and heat


def test_parts_of_a_bar_follow_each_other_and_what_is_not_nothing_can_be_seen():
    hair, zero, less, large = (
        Part(name, value, "") for name, value in (("a", 0.001), ("b", 0.0), ("c", -1.0), ("d", 4))
    )
    names = ["a", "b", "c", "d"]
    # 1000 px for 8: 0.125 px become 1.5, and the next part starts where the first truly ends
    assert answer_page._stacked(Bar("x", (hair, zero, less, large), ""), names, 8.0) == [
        (0.0, 1.5, 0, hair),
        (0.12, 500.0, 3, large),
    ]
    assert answer_page._stacked(Bar("x", (large,), ""), names, 0.0) == []


def test_bars_have_a_table_with_a_column_for_each_part():
    bars = (
        Bar("x", (Part("p", 1, "1 J"), Part("q", 3, "3 J"), Part("p", 2, "2 J")), "6 J"),
        Bar("y", (Part("q", 12, "12 J"),), "12 J"),
    )
    found = answer_page._bars(Bars("B", bars))
    assert found["names"] == ["p", "q"]
    assert found["table"]["columns"] == ["", "p", "q", "total"]
    assert found["table"]["rows"] == [["x", "1 J + 2 J", "3 J", "6 J"], ["y", "", "12 J", "12 J"]]
    widths = [[(start, width) for start, width, *_ in pieces] for _, _, pieces in found["bars"]]
    assert widths == [[(0, 83.33), (83.33, 250), (333.33, 166.67)], [(0, 1000)]]


@pytest.mark.parametrize(
    ("value", "share"), [(1.0, 0), (10.0, 50), (100.0, 100), (2.0, 15), (None, 0), (0.0, 0), (float("inf"), 0)]
)
def test_heat_is_on_a_logarithmic_scale(value, share):
    assert answer_page._share(value, 1.0, 100.0) == share  # log10(2) / 2 = 15 %
    assert answer_page._share(value, 10.0, 10.0) == 0


def test_the_ends_of_heat_are_its_least_and_greatest_figures_above_zero():
    heat = Heat("H", ("a", "b" * 22), ("x", "y"), ((0.0, 2.0), (8.0, None)), (("0 s", "2 s"), ("8 s", "")))
    found = answer_page._heat(heat)
    assert (found["ends"], found["long"]) == (["2 s", "8 s"], False)
    assert [[cell["share"] for cell in cells] for _, cells in found["rows"]] == [[0, 0], [100, 0]]
    assert [[cell["none"] for cell in cells] for _, cells in found["rows"]] == [[False, False], [False, True]]
    same = Heat("H", ("b" * 23,), ("x", "y"), ((2.0, 2.0),), (("2 s", "2 s"),))
    assert (answer_page._heat(same)["ends"], answer_page._heat(same)["long"]) == ([], True)


# ---- Charts


def test_a_point_is_as_large_as_its_weight_where_weights_differ():
    points = [Point("a", "r", 1.0, 1e9, 0.5), Point("b", "s", 2.0, 2e9, 0.25)]
    first, second = (answer_page._mark(point, points, {"r": 0, "s": 1}, several=True) for point in points)
    assert first == Mark(1.0, 1e9, 0, "a, r, 1 op/B, 1 GOP/s, 50 %", "a", 1.0)
    assert second == Mark(2.0, 2e9, 1, "b, s, 2 op/B, 2 GOP/s, 25 %", "b", 0.5)
    (alone,) = [answer_page._mark(points[0], points[:1], {}, several=False)]
    assert alone == Mark(1.0, 1e9, 0, "a, 1 op/B, 1 GOP/s, 50 %", "a", 0.3)
    weightless = [Point("a", "r", 1.0, 1e9, 0.0)]
    assert answer_page._mark(weightless[0], weightless, {}, several=False).size == 0.3


def test_points_of_one_name_on_several_roofs_are_not_named():
    points = [Point("net", "r", 1.0, 1e9), Point("net", "s", 2.0, 2e9)]
    assert answer_page._mark(points[1], points, {"r": 0, "s": 1}, several=True).label == ""
    assert answer_page._mark(points[1], points, {"r": 0, "s": 1}, several=False).label == "net"


def test_a_table_of_points_has_roofs_and_shares_where_they_differ():
    one, two = Point("a", "r", 1.0, 1e9), Point("b", "s", 2.0, 2e9, 0.25)
    assert answer_page._points_table([one], several=False)["columns"] == ["point", "intensity", "attained"]
    assert answer_page._points_table([one], several=True)["rows"] == [["a", "r", "1 op/B", "1 GOP/s"]]
    assert answer_page._points_table([one, two], several=False)["columns"][-1] == "share"
    assert answer_page._points_table([two], several=False)["rows"] == [["b", "2 op/B", "2 GOP/s", "25 %"]]
    assert answer_page._points_table([one, two], several=False)["rows"][0][-1] == "100 %"


def test_rooflines_list_the_heaviest_point_first_and_count_those_without_a_place():
    points = (Point("a", "r", 0.0, 1e9, 0.25), Point("b", "r", 1.0, 1e9, 0.5), Point("c", "r", 1.0, 0.0, 0.1))
    found = answer_page._rooflines(Rooflines("R", (Roof("r", 2e12, 1e10),), points))
    assert [row[0] for row in found["table"]["rows"]] == ["b", "a", "c"]
    assert (found["hidden"], found["count"], found["named"]) == (2, 3, False)
    assert found["legend"] == [("A", "r: 2\u00a0TOP/s, 10\u00a0GB/s, breakpoint 200\u00a0op/B")]


def test_curves_are_sorted_and_their_table_has_a_gap_where_one_has_no_value():
    curves = (Curve("r", (4.0, 1.0), (8.0, 2.0)), Curve("s", (2.0, 0.0), (3.0, 1.0)))
    found = answer_page._curves(Curves("C", "batch", "rate", curves, y_unit="/s"))
    assert found["table"]["columns"] == ["batch", "r", "s"]
    assert found["table"]["rows"] == [
        ["0", "", "1 /s"],
        ["1", "2 /s", ""],
        ["2", "", "3 /s"],
        ["4", "8 /s", ""],
    ]
    assert (found["hidden"], found["count"], found["named"]) == (1, 4, True)
    assert found["legend"] == [("A", "r"), ("B", "s")]
    titles = [(number, title) for _, number, title in found["charts"][0].marks]
    assert titles == [(0, "r: 1, 2 /s"), (0, "r: 4, 8 /s"), (1, "s: 2, 3 /s")]


def test_points_that_are_not_joined_are_marks_alone_and_one_of_them_has_its_name_beside_it():
    curves = (Curve("set", (1.0, 3.0), (3.0, 1.0)), Curve("base", (1.4,), (1.4,), joined=False))
    cloud = Curve("others", (2.0, 3.0), (3.0, 3.0), joined=False)
    section = Curves("C", "x", "y", (*curves, cloud), linear=True, listed=False)
    found = answer_page._curves(section)
    wide = found["charts"][0]
    assert [path.count("L") for path, _, _ in wide.lines] == [1, 0, 0]
    assert sorted(label.text for label in wide.labels) == ["base", "others", "set"]
    # the first is drawn last, so that a cloud hides nothing
    assert [series for _, series, _ in wide.marks] == [2, 2, 1, 0, 0]
    # equal steps: 2 lies half-way between 1 and 3
    assert wide.x.at(2.0) == pytest.approx((wide.x.at(1.0) + wide.x.at(3.0)) / 2, abs=0.1)
    assert found["table"] is None
    html = as_html(Answer("T", "", (section,), {}, Table((), ())))
    assert "both linear" in html
    assert "<details" not in html
