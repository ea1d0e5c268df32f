"""Power: the section about printed peaks within printed powers, also where nothing or one device is known."""

import json
import re
from html import unescape
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.pages import render_html

from rooflint_report.evidence import EvidenceError, load_evidence
from rooflint_report.findings import Power
from rooflint_report.sections.power import IN_SIGHT, MARKS, MOST, WIDTH, view

RATIOS = st.floats(1e-6, 1e6)


def load(device, low, typical, high, verdict, **more):
    """A row as the run writes it."""
    return {
        **{"device": device, "at": None, "unit": "tensor_core", "precision": "fp16", "verdict": verdict},
        **{"limit": {"path": "tdp", "value": 70.0, "display": "70 W"}, "left_out": [], "unknown": 0},
        **{"low_ratio": low, "ratio": typical, "high_ratio": high},
        **{"ratio_display": f"{typical:.2f}", "ends_display": f"{low:.2f} … {high:.2f}"},
        **{"exhausting_display": "1.07", "fitting_clock_display": "243 MHz", "typical_display": "9 W"},
        **{"exhausting_j_per_op": 1e-12, "fitting_clock_hz": 243e6, "known": 1, **more},
    }


def power_of(*loads, **more):
    """What a run says of these loads."""
    return {
        **{"schema": "rooflint-power/2", "loads": list(loads), "not_known": [], "caveats": ["voltage is not modelled"]},
        "verdicts": {},
        **{"sentences": ["Of the hardest loads of 3 devices and modes: sustains 1"] if loads else [], **more},
    }


def arranged(power):
    return view(SimpleNamespace(evidence=SimpleNamespace(power=Power.model_validate(power), delta=None)))


@pytest.fixture
def power():
    """One load of each verdict, and points without an answer."""
    left = "idle power is not counted"
    return power_of(
        load("nvidia/t4", 1.11, 2.17, 2.17, "cannot sustain"),
        load("acme/x", 0.5, 1.2, 1.5, "undecided", at="30w", left_out=[left], fitting_clock_display="—", unknown=3),
        load("nvidia/h100-sxm5-80gb", 0.2, 0.4, 0.6, "sustains", limit={"path": "powers.limit"} | TDP),
        not_known=[
            {"device": "apple/m2", "at": None, "reason": "no power limit is known"},
            {"device": "acme/y", "at": None, "reason": "no process node is known"},
            {"device": "acme/y", "at": "low", "reason": "no process node is known"},
        ],
    )


TDP = {"value": 700.0, "display": "700 W"}


def section(record):
    """The words of the section, spaces made one, and its markup."""
    found = re.search(r'<section id="power".*?</section>', render_html(record), re.DOTALL)[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found)).replace("\u00a0", " ").split()), found


def test_evidence_of_an_older_run_has_no_section(green):
    assert "power" not in green
    assert 'id="power"' not in render_html(green)
    assert 'href="#power"' not in render_html(green)


def test_the_section_stands_after_the_slack_and_in_the_navigation(green, power):
    page = render_html(green | {"power": power})
    assert page.count('<a href="#power">Power</a>') == 1
    sections = re.findall(r'<section id="(\w+)"', page)
    assert sections[sections.index("slack") :][:3] == ["slack", "moved", "power"]  # no base: watched predictions


def test_nothing_known_is_said_without_a_chart(green):
    words, markup = section(green | {"power": power_of()})
    assert words.endswith("within its printed power? It is not known for any device.")
    assert "<svg" not in markup


def test_one_device_is_one_row_beside_its_interval(green):
    words, markup = section(green | {"power": power_of(load("nvidia/t4", 1.11, 2.17, 2.17, "cannot sustain"))})
    assert "Of the hardest loads of 3 devices and modes: sustains 1." in words
    assert "nvidia/t4 tensor_core fp16 2.17 1.11 … 2.17 ◆ cannot sustain 70 W 1.07 243 MHz" in words
    assert markup.count('<path class="not"') == 1
    assert "without an answer" not in words


def test_a_verdict_has_a_word_and_a_shape_of_its_own(green, power):
    words, markup = section(green | {"power": power})
    assert all(f"{mark} {verdict}" in words for verdict, mark in MARKS.items())
    assert len(set(MARKS.values())) == len(MARKS)
    assert re.findall(r'<path class="(\w+)"', markup) == ["not", "may", "can"]


def test_a_row_says_its_mode_what_is_left_out_and_what_limits_it(green, power):
    words, _ = section(green | {"power": power})
    assert "acme/x at 30w tensor_core fp16 1.20 0.50 … 1.50 ○ undecided idle power is not counted 70 W 1.07 —" in words
    assert "● sustains 700 W powers.limit 1.07 243 MHz" in words
    assert "1 of them have further loads without an answer" in words


def test_what_has_no_answer_is_folded_by_its_reason_the_most_frequent_first(green, power):
    words, _ = section(green | {"power": power})
    assert (
        "3 without an answer no process node is known 2 acme/y acme/y at low no power limit is known 1 apple/m2"
    ) in words


def test_a_device_leads_to_its_sheet_where_it_has_one(green, power):
    _, markup = section(green | {"power": power})
    anchor = re.search(r'<a href="#([^"]+)">nvidia/t4</a>', markup)[1]
    assert f'id="{anchor}"' in render_html(green | {"power": power})
    assert "acme/x</a>" not in markup


def test_the_highest_are_in_sight_and_the_rest_is_folded(green):
    many = power_of(*[load("nvidia/t4", 0.5, 1.5, 2.0, "undecided")] * (IN_SIGHT + 7))
    words, markup = section(green | {"power": many})
    assert "the other 7, typically lower" in words
    assert markup.count('<path class="may"') == IN_SIGHT + 7


def test_the_limit_is_one_line_at_one_on_the_same_axis_for_every_table(green):
    many = power_of(*[load("nvidia/t4", 0.1, 1.0, 10.0, "undecided")] * (IN_SIGHT + 1))
    found = arranged(many)
    assert found.limit_x == pytest.approx(WIDTH / 2)  # 0.1 and 10 are as far from it
    _, markup = section(green | {"power": many})
    assert markup.count(f"--limit: {found.limit_x}px") == 2
    assert '<text x="120.0" y="13" class="one">1</text>' in markup


def test_text_of_the_power_stays_text(green):
    bad = "<script>alert(1)</script>"
    texts = dict.fromkeys(("unit", "precision", "ratio_display", "ends_display", "exhausting_display"), bad)
    row = load(bad, 0.5, 1.2, 1.5, "undecided", at=bad, left_out=[bad], fitting_clock_display=bad, **texts)
    row["limit"] = {"path": bad, "value": 1.0, "display": bad}
    nasty = power_of(row, sentences=[bad], caveats=[bad], not_known=[{"device": bad, "at": bad, "reason": bad}])
    page = render_html(green | {"power": nasty})
    assert bad not in page
    assert page.count("&lt;script&gt;alert(1)") > 10


def test_a_power_of_another_schema_or_verdict_is_refused(tmp_path, green, power):
    file = tmp_path / "evidence.json"
    file.write_text(json.dumps(green | {"power": power}), encoding="utf-8")
    assert len(load_evidence(file).power.loads) == 3
    file.write_text(json.dumps(green | {"power": power | {"schema": "rooflint-power/9"}}), encoding="utf-8")
    with pytest.raises(EvidenceError, match=r"power\.schema"):
        load_evidence(file)
    power["loads"][0]["verdict"] = "maybe"
    file.write_text(json.dumps(green | {"power": power}), encoding="utf-8")
    with pytest.raises(EvidenceError, match=r"power\.loads\[0\]\.verdict"):
        load_evidence(file)


def then(ratio_display, verdict, **more):
    """A load on one side of a comparison."""
    plain = {"unit": "tensor_core", "precision": "fp16", "limit": {"path": "tdp"} | TDP, "verdict": verdict}
    return {**plain, "ratio": 1.0, "ratio_display": ratio_display, "ends_display": "0.50 … 2.00", **more}


REST = {"path": "tdp", "at": None, "old": None, "new": None, "predictions": 0, "untried": None, "powers": 1}


def delta_of(*moved, **more):
    """What moved, with one fact that did it."""
    text = "tdp 70 W → 60 W"
    change = {"what": "fact", "text": text, "file": "specs/hardware/nvidia/t4.yaml", "line": 16, "source": ""}
    return {
        **{"schema": "rooflint-delta/2", "text": "nothing moved", "also": [], "moves": [], "power": list(moved)},
        **{"moved": {"predictions": 0, "devices": 0}, "new": {"label": "the working tree", "commit": None}},
        **{"old": {"label": "revision main", "commit": "0123"}},
        "changes": [change | {"alone": "", "devices": [], "moves": [], **REST}],
        "matrix": {"predictions": 0, "devices": 0, "networks": [], "precisions": [], "runs": []},
        **{name: {"appeared": [], "vanished": []} for name in ("devices", "points", "networks")},
        **{"citations_changed": 0, "left_out": []},
        **more,
    }


def moved_power(old, new, device="nvidia/t4", at=None, alone=()):
    return {"device": device, "at": at, "old": old, "new": new, "alone": list(alone), "text": ""}


def test_a_moved_power_stands_beside_what_each_change_makes_of_it_alone(green, power):
    one = {"change": 0, "new": then("1.20", "undecided")}
    row = moved_power(then("1.03", "undecided"), then("1.46", "cannot sustain"), alone=[one])
    words, markup = section(green | {"power": power, "delta": delta_of(row)})
    assert "What moved since revision main 1 For each device" in words
    assert (
        "nvidia/t4 tensor_core fp16 1.03 → 1.46 0.50 … 2.00 0.50 … 2.00 undecided → cannot sustain 700 W "
        "tdp 70 W → 60 W specs/hardware/nvidia/t4.yaml:16 : 1.20, undecided"
    ) in words
    assert markup.index("What moved since") < markup.index("<summary>Notes")


def test_a_power_that_one_side_does_not_know_and_no_change_alone_moves(green, power):
    row = moved_power(None, then("1.46", "undecided", precision="int8"), "acme/x", "low")
    words, _ = section(green | {"power": power, "delta": delta_of(row)})
    assert "acme/x at low tensor_core int8 not known → 1.46 0.50 … 2.00 not known → undecided" in words
    assert "not known → 700 W none" in words


@pytest.mark.slow
def test_no_moved_power_is_said_and_one_that_nobody_looked_for_is_not(green, power):
    words, _ = section(green | {"power": power, "delta": delta_of()})
    assert "What moved since revision main 0 No device and mode has another power over its limit." in words
    older = delta_of()
    del older["power"]
    assert "What moved" not in section(green | {"power": power, "delta": older})[0]
    assert "What moved" not in section(green | {"power": power})[0]


def test_a_page_shows_so_many_moved_powers_and_says_how_many_more_there_are(green, power):
    row = moved_power(then("1.03", "undecided"), then("1.46", "undecided"), alone=[{"change": 0, "new": None}] * 6)
    words, _ = section(green | {"power": power, "delta": delta_of(*[row] * (MOST + 3))})
    assert words.count("1.03 → 1.46") == MOST
    assert "and 3 more in the evidence." in words
    assert words.count("and 2 more") == MOST


def test_text_of_moved_powers_stays_text(green, power):
    bad = "<script>alert(1)</script>"
    row = moved_power(then(bad, "undecided", unit=bad, precision=bad, ends_display=bad), None, bad, bad)
    page = render_html(green | {"power": power, "delta": delta_of(row)})
    assert bad not in page


@given(st.lists(st.tuples(RATIOS, RATIOS, RATIOS).map(sorted), min_size=1, max_size=5))
def test_an_interval_lies_in_its_drawing_with_its_mark_between_its_ends(intervals):
    found = arranged(power_of(*(load("a", *ends, "sustains") for ends in intervals)))
    assert 0 <= found.limit_x <= WIDTH
    for one in found.in_sight:
        left, right = map(float, re.fullmatch(r"M([\d.]+) 9H([\d.]+)", found.line(one)).groups())
        middle = float(re.match(r"M([\d.]+) 9m", found.mark(one))[1])
        assert 0 <= left <= middle <= right <= WIDTH
        # what is surely above the limit stands right of it
        assert right >= found.limit_x or one.high_ratio < 1


def test_no_power_at_all_stands_at_the_left_end(green):
    found = arranged(power_of(load("a", 0.0, 0.5, 2.0, "undecided")))
    assert found.line(found.in_sight[0]).startswith("M0 9H")
