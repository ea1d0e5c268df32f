"""Charts on logarithmic axes: figures of axes are those of the model, and labels do not touch."""

import math
import re
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint_report import log_chart
from rooflint_report.log_chart import (
    LETTER_WIDTH,
    LINE_HEIGHT,
    Label,
    Line,
    Mark,
    PixelAxis,
    Scale,
    drawings,
    ending,
    pixel_axis,
    shape,
    shortest,
    spread,
)


@pytest.mark.parametrize(
    ("scale", "text"), [(Scale("t", "s"), "1.5 ms"), (Scale("x", "%", prefixed=False), "0.0015 %")]
)
def test_a_figure_of_an_axis_has_its_unit_with_a_prefix_where_it_takes_one(scale, text):
    assert scale.text(0.0015) == text


@given(st.lists(st.floats(0, 300), max_size=12))
def test_labels_of_lines_keep_their_distance_and_their_order(wanted):
    placed = spread(wanted, 15, 0, 300)
    order = [place for _, place in sorted(zip(wanted, placed, strict=True))]
    assert all(later - earlier >= 15 - 1e-9 for earlier, later in pairwise(sorted(order)))
    assert all(-1e-9 <= place <= 300 + 1e-9 for place in placed)
    if len(wanted) == 1:
        assert placed == wanted


@given(st.lists(st.tuples(st.floats(0.1, 1000), st.floats(1e9, 1e15), st.floats(0, 1)), max_size=40))
def test_labels_of_points_do_not_touch(places):
    marks = [Mark(x, y, 0, "", f"layer{n}.conv{n}", size) for n, (x, y, size) in enumerate(places)]
    for drawing in drawings([], marks, Scale("x"), Scale("y")):
        boxes = [_box(label) for label in drawing.labels]
        assert not any(_overlap(one, other) for one, other in combinations(boxes, 2))
        assert all(box[0] >= 0 and box[2] <= drawing.width for box in boxes)


def _box(label: Label) -> tuple[float, float, float, float]:
    width = LETTER_WIDTH * len(label.text)
    left = label.x - {"start": 0, "middle": width / 2, "end": width}[label.anchor]
    return left, label.y - 10, left + width, label.y + 3


def _overlap(one, other) -> bool:
    slack = 0.2  # coordinates are rounded to tenths
    return (
        one[0] < other[2] - slack
        and other[0] < one[2] - slack
        and one[1] < other[3] - slack
        and other[1] < one[3] - slack
    )


def test_a_lone_point_has_its_name():
    wide, narrow = drawings([], [Mark(1.0, 1e12, 0, "", "conv1", 1.0)], Scale("x"), Scale("y"))
    assert [label.text for label in wide.labels] == [label.text for label in narrow.labels] == ["conv1"]


def test_a_narrow_chart_has_letters_where_a_wide_one_has_names():
    wide, narrow = drawings([Line("acme/x1", "A", [(1.0, 1.0), (2.0, 2.0)], "")], [], Scale("x"), Scale("y"))
    assert [label.text for label in wide.labels] == ["x1"]
    assert [label.text for label in narrow.labels] == ["A"]


@pytest.mark.parametrize("series", range(1, 5))
def test_shapes_have_the_area_of_the_circle_and_stand_around_their_point(series):
    (_, left, top), *steps = re.findall(r"([Mlhv])(-?[\d.]+)(?: (-?[\d.]+))?", shape(series, 100.0, 200.0, 50.0))
    corners = [(float(left), float(top))]
    for letter, first, second in steps:
        across, down = (0.0, float(first)) if letter == "v" else (float(first), float(second or 0))
        corners.append((corners[-1][0] + across, corners[-1][1] + down))
    area = sum(a[0] * b[1] - b[0] * a[1] for a, b in pairwise([*corners, corners[0]])) / 2
    assert abs(area) == pytest.approx(math.pi * 50**2, rel=1e-2)
    assert [sum(axis) / len(corners) for axis in zip(*corners, strict=True)] == pytest.approx([100, 200], abs=0.2)


@pytest.mark.parametrize("series", range(5))
def test_neighbouring_series_differ_in_shape(series):
    assert shape(series, 0, 0, 5) != shape(series + 1, 0, 0, 5)
    assert shape(series, 0, 0, 5) == shape(series + 5, 0, 0, 5)


def test_lines_that_end_together_are_told_apart():
    lines = [Line(f"acme/x{n}", "A", [(1.0, 1.0), (2.0, 2.0)], "") for n in range(3)]
    heights = sorted(label.y for label in drawings(lines, [], Scale("x"), Scale("y"))[0].labels)
    assert heights[1] - heights[0] >= LINE_HEIGHT


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("layer4.1.conv2", "layer4.1.conv2"),
        ("torchvision/resnet18", "resnet18"),
        ("features.denseblock0.denselayer5.conv2", "…denselayer5.conv2"),
        ("x" * 30, "…" + "x" * 23),
    ],
)
def test_a_long_op_is_known_by_its_end(name, want):
    assert ending(name, 24) == want


def test_an_axis_may_run_upwards():
    axis = pixel_axis([10.0, 1000.0], 300, 0)
    assert axis.at(100.0) == 150
    assert axis.at(10.0) > axis.at(1000.0)


def test_a_linear_axis_has_equal_steps_in_pixels():
    # from 2 to 8 with 4 % of 6 on either side
    axis = pixel_axis([2.0, 8.0], 0, 648, linear=True)
    assert (axis.at(2.0), axis.at(5.0), axis.at(8.0)) == (24.0, 324.0, 624.0)


def test_a_long_name_of_a_line_is_known_by_its_beginning():
    assert shortest("nvidia/h100-sxm5-80gb", 26) == "h100-sxm5-80gb"
    assert shortest("x" * 26, 26) == "x" * 26
    assert shortest("ab" * 14, 26) == "ab" * 12 + "a…"
    assert shortest("acme/", 26) == "acme/"
    assert ending("acme/", 24) == "acme/"
    assert ending("y" * 24, 24) == "y" * 24


# ---- Geometry on a frame of round numbers: 100 px a decade, from 1 to 100 and from 1e9 to 1e12

FRAME = log_chart._Frame(PixelAxis(0, 2, 100, 300), PixelAxis(9, 12, 400, 100), 12.0)
KNEE = Line("r", "A", [], "", (10.0, 1e11, "bends 10"))


def marked(x, y, label="conv1", size=0.0):
    return Mark(x, y, 0, "", label, size)


@pytest.mark.parametrize(
    ("place", "pixels"),
    [
        ((10.0, 1e10), (200, 300)),
        ((0.1, 1e10), (100, 300)),
        ((1e5, 1e10), (300, 300)),
        ((10.0, 1e7), (200, 400)),
        ((10.0, 1e15), (200, 100)),
    ],
)
def test_what_lies_outside_of_a_chart_is_put_on_its_edge(place, pixels):
    assert FRAME.at(place) == pixels


@pytest.mark.parametrize(
    ("knee", "path"),
    [
        ((10.0, 1e11, ""), "M100 300.0L200.0 200.0L300 200.0"),  # at x = 1 it is at a tenth of its peak
        ((100.0, 1e10, ""), "M200.0 400L300.0 300.0L300 300.0"),  # at x = 10 it is at 1e9, the lower edge
    ],
)
def test_a_roof_goes_from_where_it_enters_over_its_knee_to_the_right(knee, path):
    numbers = [float(one) for one in re.findall(r"[\d.]+", FRAME.path(Line("r", "A", [], "", knee)))]
    assert numbers == [float(one) for one in re.findall(r"[\d.]+", path)]


def test_a_line_is_drawn_through_its_positive_places():
    line = Line("c", "A", [(0.0, 1e10), (1.0, 0.0), (1.0, 1e10), (10.0, 1e11)], "")
    assert FRAME.path(line) == "M100.0 300.0L200.0 200.0"
    assert FRAME.drop((10.0, 1e11, "")) == "M200.0 200.0V400"


@pytest.mark.parametrize(("size", "radius"), [(1.0, 12.0), (0.25, 6.0), (0.01, 3.5), (0.0, 3.5)])
def test_the_area_of_a_point_is_its_weight_and_the_lightest_can_still_be_seen(size, radius):
    assert FRAME.radius(marked(1.0, 1e9, size=size)) == radius


def test_the_first_shape_is_a_circle_around_its_point():
    assert shape(0, 100.0, 200.0, 5.0) == "M95.0 200.0a5.0 5.0 0 1 0 10.0 0a5.0 5.0 0 1 0 -10.0 0z"


@pytest.mark.parametrize(
    ("wanted", "placed"),
    [
        ([200.0, 0.0, 5.0], [200, 0, 15]),
        ([290.0, 300.0], [285, 300]),
        ([-50.0, 100.0], [0, 100]),
        ([400.0], [300]),
        ([], []),
    ],
)
def test_a_label_is_moved_no_further_than_it_must(wanted, placed):
    assert spread(wanted, 15, 0, 300) == placed


def test_the_name_of_a_line_stands_right_of_its_end():
    lines = [Line("gone", "A", [(0.0, 1.0)], ""), Line("c", "B", [(1.0, 1e10), (10.0, 1e11)], "")]
    assert log_chart._line_labels(FRAME, lines, ["gone", "c"]) == [Label(308, 204, "c", series=1)]


def test_a_lone_roof_has_its_breakpoint_at_the_foot_of_its_drop():
    assert log_chart._inner_labels(FRAME, [KNEE], [], 5) == [Label(195, 393, "bends 10", "end")]
    assert log_chart._inner_labels(FRAME, [KNEE, KNEE], [], 5) == []
    # names keep clear of it: a point at (120, 390), left of its 52.8 px, has its own above
    _, label = log_chart._inner_labels(FRAME, [KNEE], [marked(10**0.2, 10**9.1)], 5)
    assert label == Label(120, 382.5, "conv1", "middle")


def test_only_so_many_points_are_named_the_heaviest_first():
    marks = [marked(10.0, 10.0**decade, f"op{decade}", size) for decade, size in ((9.5, 0.1), (10.5, 1.0), (11.5, 0.5))]
    assert [one.text for one in log_chart._inner_labels(FRAME, [], marks, 2)] == ["op10.5", "op11.5"]
    unnamed = [marked(10.0, 1e10, "", 1.0)]
    assert log_chart._inner_labels(FRAME, [], unnamed, 2) == []


def test_a_name_that_finds_no_room_leaves_its_place_to_the_next():
    crowd = [marked(10.0, 1e10, "a" * 30, 1.0), *[marked(10.0 * 1.1**n, 1e10, "", 0.0) for n in range(-12, 13)]]
    crowd += [marked(10.0 * 1.1**n, 10**10.2, "", 1.0) for n in range(-12, 13)]
    crowd += [marked(10.0 * 1.1**n, 10**9.8, "", 1.0) for n in range(-12, 13)]
    found = log_chart._inner_labels(FRAME, [], [*crowd, marked(10.0, 1e11, "free", 0.5)], 1)
    assert [one.text for one in found] == ["free"]


@pytest.mark.parametrize(
    ("taken", "label"),
    [
        # "conv1" is 33 px wide; the point at (200, 300) has a radius of 3.5 px, and 4 px are left free around it
        ([], Label(207.5, 304, "conv1", "start")),
        ([(239, 300, 300, 301)], Label(192.5, 304, "conv1", "end")),
        ([(239, 300, 300, 301), (100, 300, 161, 301)], Label(200, 292.5, "conv1", "middle")),
        ([(239, 300, 300, 301), (100, 300, 161, 301), (190, 288, 210, 290)], Label(200, 317.5, "conv1", "middle")),
        ([(100, 100, 300, 400)], None),
        # boxes that only touch do not overlap: the name ends at 240.5 px, 3 px below and 10 above its base
        ([(240.5, 300, 300, 301), (100, 307, 300, 320), (100, 200, 300, 294)], Label(207.5, 304, "conv1", "start")),
    ],
)
def test_a_name_stands_beside_its_point_else_above_or_below_it(taken, label):
    before = list(taken)
    assert log_chart._free_label(FRAME, marked(10.0, 1e10), taken) == label
    assert len(taken) == len(before) + (label is not None)


@pytest.mark.parametrize(
    ("x", "y", "anchor"),
    [(100.0, 1e10, "end"), (1.0, 1e10, "start"), (80.0, 1e10, "end"), (50.0, 1e10, "end"), (2.0, 1e10, "start")],
)
def test_a_name_stays_inside_of_the_axes(x, y, anchor):
    assert log_chart._free_label(FRAME, marked(x, y), []).anchor == anchor


@pytest.mark.parametrize(
    ("box", "inside"),
    [
        ((100, 100, 300, 400), True),
        ((99, 100, 300, 400), False),
        ((100, 99, 300, 400), False),
        ((100, 100, 301, 400), False),
        ((100, 100, 300, 401), False),
    ],
)
def test_a_box_is_inside_up_to_the_axes(box, inside):
    assert log_chart._inside(FRAME, box) is inside


@pytest.mark.parametrize(
    ("other", "overlaps"),
    [
        ((9, 9, 20, 20), True),
        ((10, 0, 20, 10), False),
        ((0, 10, 10, 20), False),
        ((-10, 0, 0, 10), False),
        ((0, -10, 10, 0), False),
        ((2, 2, 3, 3), True),
    ],
)
def test_boxes_that_touch_do_not_overlap(other, overlaps):
    assert log_chart._overlap((0, 0, 10, 10), other) is overlaps
    assert log_chart._overlap(other, (0, 0, 10, 10)) is overlaps


def test_a_line_is_a_chain_of_boxes_of_four_pixels_eight_apart():
    assert list(log_chart._along([(0, 0), (16, 0)])) == [(-2, -2, 2, 2), (6, -2, 10, 2), (14, -2, 18, 2)]
    assert list(log_chart._along([(0, 50), (0, 34)])) == [(-2, 48, 2, 52), (-2, 40, 2, 44), (-2, 32, 2, 36)]
    assert list(log_chart._along([(10, 10), (11, 10)])) == [(8, 8, 12, 12), (9, 8, 13, 12)]
    # 6 and 8 px aside are 10 px
    assert len(list(log_chart._along([(5, 5), (11, 13)]))) == 2


def test_a_point_takes_the_square_around_it():
    assert log_chart._around(FRAME, marked(10.0, 1e10, size=0.25)) == (194, 294, 206, 306)


# ---- The whole chart


def test_the_axes_leave_room_for_figures_and_names():
    line = Line("acme/x1", "A", [(1.0, 1.0), (100.0, 100.0)], "the title", (10.0, 10.0, "breakpoint"))
    wide, narrow = drawings([line], [Mark(10.0, 10.0, 3, "a point")], Scale("x", "s"), Scale("y"))
    # figures of up to 3 letters of 6.6 px, 14 px aside; a name of two letters of 7.4 px, 16 px aside; one in the narrow
    assert (wide.x.start, wide.x.end) == pytest.approx((33.8, 760 - 30.8))
    assert (narrow.x.start, narrow.x.end) == pytest.approx((33.8, 340 - 23.4))
    assert (wide.y.start, wide.y.end) == (394, 24)
    assert (narrow.y.start, narrow.y.end) == (294, 24)
    assert (wide.kind, wide.width, wide.height) == ("wide", 760, 440)
    assert [text for _, text in wide.y_ticks] == ["1", "2", "5", "10", "20", "50", "100"]
    assert dict(map(reversed, wide.y_ticks))["10"] == 209  # halfway
    assert [text for _, text in wide.x_ticks] == ["1 s", "2 s", "5 s", "10 s", "20 s", "50 s", "100 s"]
    assert [text for _, text in narrow.x_ticks] == ["1 s", "10 s", "100 s"]  # 340 px have room for four
    assert [(number, title) for _, number, title in wide.lines] == [(0, "the title")]
    assert [(number, title) for _, number, title in wide.knees] == [(0, "breakpoint")]
    assert [(number, title) for _, number, title in wide.marks] == [(3, "a point")]


@pytest.mark.parametrize("count", [2, 25, 60])
def test_a_chart_has_a_place_for_the_name_of_each_line(count):
    lines = [Line(f"acme/x{number}", "A", [(1.0, 1.0), (2.0, 2.0)], "") for number in range(count)]
    lines.append(Line("not drawn", "B", [], ""))
    for drawing in drawings(lines, [], Scale("x"), Scale("y")):
        heights = sorted(label.y - 4 for label in drawing.labels)  # of the middle of the text
        assert len(heights) == count
        assert all(after - before >= LINE_HEIGHT - 0.1 for before, after in pairwise(heights))
        assert drawing.y.end - 0.1 <= heights[0] <= heights[-1] <= drawing.y.start + 0.1
        assert drawing.y.start == drawing.height - 46


def test_axes_hold_lines_and_points():
    lines, marks = [Line("a", "A", [(1.0, 10.0), (2.0, 20.0)], "")], [Mark(1000.0, 1.0, 0, "")]
    wide, _ = drawings(lines, marks, Scale("x"), Scale("y"))
    assert wide.x_ticks[0][1] == "1"
    assert wide.x.at(1000.0) < wide.x.end
    assert wide.y.at(20.0) > wide.y.end
    assert wide.y.at(1.0) < wide.y.start


@pytest.mark.parametrize(("count", "radius"), [(23, "a12.0"), (24, "a8.0")])
def test_many_points_are_drawn_smaller(count, radius):
    wide, _ = drawings([], [Mark(1.0, 1.0, 0, "", size=1.0)] * count, Scale("x"), Scale("y"))
    assert all(radius in path for path, _, _ in wide.marks)


@pytest.mark.parametrize(("x", "y"), [(0.0, 1.0), (1.0, 0.0)])
def test_a_point_without_a_place_is_not_drawn(x, y):
    wide, _ = drawings([], [Mark(x, y, 0, ""), Mark(1.0, 1.0, 0, "there")], Scale("x"), Scale("y"))
    assert [title for _, _, title in wide.marks] == ["there"]


def test_letters_begin_again_after_z():
    assert log_chart.letters(28)[24:] == ["Y", "Z", "A", "B"]


def test_a_roof_has_a_bit_of_its_slope_and_of_its_plateau_and_its_rates():
    line = log_chart.roof_line("r", "A", 2e12, 1e10)
    assert line.places == [(50, 5e11), (200, 2e12), (400, 2e12)]
    assert line.knee == (200, 2e12, "breakpoint 200 op/B")
    assert line.title == "r: 2 TOP/s, 10 GB/s, breakpoint 200 op/B"
    without = log_chart.roof_line("r", "A", 2e12, 0.0)
    assert (without.places, without.knee, without.title) == ([], None, "r: 2 TOP/s, 0 B/s")


def test_a_unit_that_would_crowd_an_axis_stands_in_its_name():
    intensity, share, time = (
        Scale("intensity", "op/B", prefixed=False),
        Scale("of peak", "%", prefixed=False),
        Scale("t", "s"),
    )
    assert [one.title for one in (intensity, share, time)] == ["intensity, op/B", "of peak", "t"]
    assert [intensity.tick(100.0), share.tick(50.0), time.tick(0.001)] == ["100", "50 %", "1 ms"]
    assert intensity.text(100.0) == "100 op/B"
