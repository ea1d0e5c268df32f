"""Anchors, and text as Markdown."""

import pytest

from rooflint_report.html import Anchors, code, escaped


def test_anchors_are_safe_and_never_twice():
    anchors = Anchors()
    assert anchors.new("device", "nvidia/h100 <b>×") == "device-nvidia-h100-b"
    assert anchors.new("device", "nvidia/h100-b") == "device-nvidia-h100-b-2"
    assert anchors.new("device", "×") == "device-"
    assert len(anchors.new("fail", "very-" * 100)) < 120


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
