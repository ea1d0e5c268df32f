"""An answer as a page: self-contained, complete without pictures, and nothing that it says becomes markup."""

import re
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
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
from rooflint_report.answer_page import as_html

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


def test_the_page_fetches_nothing_and_runs_nothing(resnet18):
    html = as_html(resnet18)
    assert "default-src 'none'" in html
    for word in ("<script", "http:", "https:", "src=", "url(", "@import"):
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
    assert not {"script", "img"} & {tag for tag, _ in parsed.tags}
    assert not [name for _, attributes in parsed.tags for name in attributes if name.startswith("on")]
    assert "49" not in re.sub(r"\d{3,}", "", parsed.text.partition("rooflint")[2])


def test_what_stands_out_and_what_is_missing_in_a_grid():
    html = page(Grid("G", Table(("a", "b"), (("x", None), ("y", "1 us"))), strong=(1,)))
    assert '<tr class="gutter strong"><th scope="row">y</th><td class="f">1 us</td></tr>' in html
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


def test_a_roof_bends_at_its_ridge():
    html = page(Rooflines("R", (Roof("r", 2e12, 1e10),), ()))
    assert "ridge 200 op/B" in html
    (path, *_) = re.findall(r'class="line" d="M[\d.]+ ([\d.]+)L[\d.]+ ([\d.]+)L[\d.]+ ([\d.]+)"', html)
    entry, knee, end = map(float, path)
    assert entry > knee == end


@pytest.mark.parametrize(
    "section",
    [
        Prose("P", ()),
        Grid("G", Table(("a",), ())),
        Grid("G", Table(("op", *DEVICES), tuple((f"layer{n}", *["1 us"] * 10) for n in range(70)))),
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


@given(
    st.lists(st.builds(Roof, st.text(max_size=30), VALUES, VALUES), max_size=6),
    st.lists(st.builds(Point, st.text(max_size=30), st.text(max_size=5), VALUES, VALUES, st.floats(0, 1)), max_size=20),
)
@settings(deadline=None, max_examples=50)
def test_everything_of_a_chart_lies_inside_it(roofs, points):
    html = page(Rooflines("R", tuple(roofs), tuple(points)))
    Page(html)
    for width, body in re.findall(r'viewBox="0 0 (\d+) \d+" role.*?>(.*?)</svg>', html, re.DOTALL):
        for x in re.findall(r'd="M(-?[\d.]+)', body):
            assert -15 <= float(x) <= int(width)


def test_any_object_of_the_right_shape_becomes_a_page():
    section = SimpleNamespace(kind="prose", heading="Other", sentences=["Made elsewhere."])
    assert "Made elsewhere." in as_html(SimpleNamespace(title="T", subtitle="", sections=[section]))
