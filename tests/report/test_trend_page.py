"""The trend page: a chart a series, each step with its facts, and text that stays text."""

import re
from html import unescape

from rooflint_report.history import HistoryLine
from rooflint_report.trend_page import STEPS, Trend, TrendStep, computed, render

BAD = "<script>alert(1)</script>"
ONE = "resnet50 int8 b1 @ acme/x1"


def history(*rows):
    """Lines of commits, each compared with the one before."""
    return [
        HistoryLine(
            sha=f"{number:07x}",
            **{"date": f"2026-11-{number + 1:02}T00:00:00+00:00", "counts": {"fail": 0}}
            | {"base": f"{number - 1:07x}" if number else None}
            | row,
        )
        for number, row in enumerate(rows)
    ]


def words(page):
    body = page[page.index("<body>") :]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def named(trends, name):
    (found,) = [one for one in trends if one.name == name]
    return found


def test_a_step_is_the_commit_that_moved_it_with_its_facts():
    lines = history(
        {"watched": {ONE: 8.902e-4}},
        {"watched": {ONE: 8.902e-4}},
        {"watched": {ONE: 1.432e-3}, "facts": ["a.yaml:3 b"]},
    )
    (step,) = named(computed(lines), ONE).steps
    assert (step.at, step.text, step.causes) == (2, "890.2 µs → 1.432 ms, ×1.61", ["a.yaml:3 b"])
    assert named(computed(lines), "fail").steps == []
    text = words(render(lines, computed(lines)))
    assert f"{ONE} 1.432 ms 890.2 µs … 1.432 ms" in text
    assert "0000002 2026-11-03 890.2 µs → 1.432 ms, ×1.61 a.yaml:3 b" in text


def test_a_step_without_a_fact_says_why():
    lines = history(
        {"unguarded": 5}, {"unguarded": 4}, {"unguarded": 3, "base": None}, {"unguarded": 2, "base": "0" * 7}
    )
    causes = [one.causes for one in named(computed(lines), "unguarded").steps]
    assert causes == [
        ["no fact changed: the model or the claims did"],
        ["its facts were not compared with an earlier commit"],
        ["no fact changed: the model or the claims did", "facts compared with 0000000, not with the commit before"],
    ]


def test_the_largest_value_is_at_the_top_and_commits_go_to_the_right():
    lines = history(*({"watched": {ONE: value}} for value in (1.0, 4.0, 2.0)))
    (path,) = re.findall(r'<path d="([^"]+)"/>', render(lines, [named(computed(lines), ONE)]))
    places = [tuple(map(float, pair)) for pair in re.findall(r"([\d.]+) ([\d.]+)", path)]
    assert [x for x, _ in places] == [6.0, 180.0, 354.0]
    low, high, middle = (y for _, y in places)
    assert high < middle < low


def test_many_steps_are_counted():
    lines = history(*({"counts": {"fail": number}} for number in range(STEPS + 5)))
    page = render(lines, computed(lines))
    assert page.count("<li>") == STEPS
    assert "and 4 earlier steps" in words(page)


def test_commits_are_links_where_the_repository_is_known():
    lines = history({"unguarded": 5}, {"unguarded": 4})
    assert 'href="https://example.org/a/b/commit/0000001"' in render(lines, computed(lines), "https://example.org/a/b")
    for address in ("", "javascript:alert(1)", "http://example.org"):
        assert "<a " not in render(lines, computed(lines), address)


def test_text_of_the_history_stays_text():
    lines = history({"watched": {BAD: 1.0}, "date": BAD}, {"watched": {BAD: 2.0}, "date": BAD, "facts": [BAD]})
    noisy = Trend(BAD, {0: 1.0, 1: 2.0}, [TrendStep(1, BAD, [BAD])], is_time=True, notes=[BAD], is_measured=True)
    page = render(lines, [*computed(lines), noisy], f'https://"{BAD}')
    assert BAD not in page
    assert "default-src 'none'" in page and "script-src" not in page


def test_values_of_zero_and_one_commit_have_a_chart():
    for rows in ([{"watched": {ONE: 0.0}}, {"watched": {ONE: 1.0}}], [{"watched": {ONE: 1.0}}], [{}]):
        lines = history(*rows)
        assert render(lines, computed(lines)).count("<svg") == len(computed(lines))


def test_without_a_commit_the_page_says_how_one_is_added():
    assert "rooflint history add" in words(render([], []))
