"""Charts on logarithmic axes: figures of axes are those of the model, and labels do not touch."""

import math
import re
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflint_report.log_chart import (
    LETTER_WIDTH,
    LINE_HEIGHT,
    Label,
    Line,
    Mark,
    Scale,
    drawings,
    ending,
    pixel_axis,
    shape,
    spread,
)


@pytest.mark.parametrize(
    ("scale", "text"), [(Scale("t", "s"), "1.5 ms"), (Scale("x", "%", prefixed=False), "0.0015 %")]
)
def test_a_figure_of_an_axis_has_its_unit_with_a_prefix_where_it_takes_one(scale, text):
    assert scale.text(0.0015) == text


@given(st.lists(st.floats(0, 300), max_size=12))
@settings(deadline=None)
def test_labels_of_lines_keep_their_distance_and_their_order(wanted):
    placed = spread(wanted, 15, 0, 300)
    order = [place for _, place in sorted(zip(wanted, placed, strict=True))]
    assert all(later - earlier >= 15 - 1e-9 for earlier, later in pairwise(sorted(order)))
    assert all(-1e-9 <= place <= 300 + 1e-9 for place in placed)
    if len(wanted) == 1:
        assert placed == wanted


@given(st.lists(st.tuples(st.floats(0.1, 1000), st.floats(1e9, 1e15), st.floats(0, 1)), max_size=40))
@settings(deadline=None, max_examples=50)
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
