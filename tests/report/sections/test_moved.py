"""What moved: the delta on the page and in the summary, also where nothing did and where nobody asked."""

import json
import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint_report.differences import MovedCounts, Shift
from rooflint_report.evidence import Evidence, EvidenceError, load_evidence
from rooflint_report.report import render_html, render_summary
from rooflint_report.sections.moved import FARTHEST, MOST, WIDTH, View, view
from rooflint_report.sections.section import Page

NOTHING = "nothing moved between revision main (0123456789ab) and the working tree: of 18 480 predictions, none"
SOME = "165 of 18 480 predictions moved between revision main (0123456789ab) and the working tree, on 2 devices"


def shift(device, word, low, high, **more):
    ends = " … ".join(dict.fromkeys(f"×{end:.3g}" for end in (low, high) if end is not None))
    plain = {"device": device, "word": word, "rows": 45, "of": 120, "low": low, "high": high, "factor": ends}
    rest = {"quantity": f"{word}_s", "known": 0, "unknown": 0, "alone": [], "knowledge": [], "together": ""}
    return {**plain, **rest, **more}


def change(text, **more):
    return {
        **{"what": "fact", "text": text, "file": "specs/hardware/nvidia/t4.yaml", "line": 18},
        **{"source": "T4 data sheet, p. 1 (read)", "alone": "alone moves 45 predictions of nvidia/t4: latency ×0.5"},
        **{"devices": ["nvidia/t4"], "moves": [], "path": "a.b", "at": None, "old": None, "new": None},
        **{"predictions": 45, "untried": None, "powers": 0, **more},
    }


@pytest.fixture
def still():
    """Nothing moved."""
    return {
        **{"schema": "rooflint-delta/2", "text": NOTHING, "also": [], "changes": [], "moves": []},
        **{"moved": {"predictions": 0, "devices": 0}, "new": {"label": "the working tree", "commit": None}},
        "old": {"label": "revision main (0123456789ab)", "commit": "0123456789abcdef"},
        "matrix": {"predictions": 18_480, "devices": 2, "networks": [], "precisions": [], "runs": []},
        **{name: {"appeared": [], "vanished": []} for name in ("devices", "points", "networks")},
        **{"citations_changed": 0, "left_out": []},
    }


@pytest.fixture
def delta(still):
    """Two facts and a file, three moves."""
    file = change("workloads/layer.yaml changed", what="file", line=None, source="", alone="alone moves no prediction")
    moves = [
        shift("nvidia/t4", "latency", 0.25, 1.0, together="together ×0.25 … ×1, alone ×0.5 (bus) and ×0.5 (clock)"),
        shift("nvidia/t4", "energy", None, None, knowledge=["3 no longer known", "2 newly known"]),
        shift("acme/unheard-of", "power", 1.01, 1.01),
    ]
    facts = [change("memories.gddr6.bus 256 bit → 512 bit"), change("units.a.clock 1 GHz → 2 GHz")]
    also = ["1 device appeared: nvidia/t5"]
    return still | {"text": SOME, "also": also, "changes": [*facts, file], "moves": moves}


def section(record):
    """The words of the section, spaces made one, and its markup."""
    found = re.search(r'<section id="moved".*?</section>', render_html(record), re.DOTALL)[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found)).replace("\u00a0", " ").split()), found


def test_a_run_that_nobody_held_against_anything_says_so(green):
    words, _ = section(green)
    assert words.startswith("What moved Not run: this evidence was not compared with an earlier state.")
    assert "rooflint check --against REVISION" in words
    assert "moved" not in render_summary(green)


def test_nothing_moved_is_said_in_one_line(green, still):
    words, _ = section(green | {"delta": still})
    assert words == f"What moved since revision main (0123456789ab) {NOTHING}."
    assert f"**{NOTHING}**" in render_summary(green | {"delta": still}).replace("\\", "")


def test_facts_stand_with_line_source_and_what_they_move_alone(green, delta):
    words, _ = section(green | {"delta": delta})
    assert f"{SOME}. 1 device appeared: nvidia/t5" in words
    assert "Facts that changed 2" in words
    fact = "memories.gddr6.bus 256 bit → 512 bit specs/hardware/nvidia/t4.yaml:18"
    assert f"{fact} alone moves 45 predictions of nvidia/t4: latency ×0.5 T4 data sheet, p. 1 (read)" in words
    assert "Files that all devices may depend on 1 workloads/layer.yaml changed alone moves no prediction" in words


def test_moves_stand_in_a_table_with_factor_and_interplay(green, delta):
    words, markup = section(green | {"delta": delta})
    assert "Moves, farthest first 3" in words
    assert "nvidia/t4 latency 45 of 120 ×0.25 … ×1 together ×0.25 … ×1, alone ×0.5 (bus)" in words
    assert "energy 45 of 120 3 no longer known, 2 newly known" in words
    assert markup.count('class="range"') == 2  # what has no factor has no place on the scale


def test_a_device_leads_to_its_sheet_where_it_has_one(green, delta):
    _, markup = section(green | {"delta": delta})
    anchor = re.search(r'<a href="#([^"]+)">nvidia/t4</a>', markup)[1]
    assert f'id="{anchor}"' in render_html(green | {"delta": delta})
    assert "acme/unheard-of</a>" not in markup


def test_far_moves_are_in_sight_and_the_rest_is_folded(green, delta):
    many = delta | {"moves": [shift("nvidia/t4", "latency", 2.0, 3.0)] * (MOST + 5)}
    found = view(Page.of(Evidence.model_validate(green | {"delta": many})))
    assert (len(found.farthest), len(found.others), found.hidden) == (FARTHEST, MOST - FARTHEST, 5)
    words, _ = section(green | {"delta": many})
    assert f"the other {MOST - FARTHEST}, less far" in words
    assert "and 5 more in the evidence." in words


def test_the_summary_names_the_changes(green, delta):
    text = render_summary(green | {"delta": delta}).replace("\\", "")
    assert f"Since revision main (0123456789ab): **{SOME}**." in text
    assert "- **memories.gddr6.bus 256 bit → 512 bit** `specs/hardware/nvidia/t4.yaml:18`: alone moves 45" in text
    many = delta | {"changes": delta["changes"] * 30}
    assert "and 50 more changes" in render_summary(green | {"delta": many})


def test_text_of_the_delta_stays_text(green, delta):
    bad = "<script>alert(1)</script>"
    nasty = delta | {"text": bad, "also": [bad], "old": {"label": bad, "commit": None}}
    nasty["changes"] = [change(bad, source=bad, alone=bad)]
    nasty["moves"] = [shift(bad, bad, 0.5, 2.0, factor=bad, knowledge=[bad], together=bad)]
    record = green | {"delta": nasty}
    assert bad not in render_html(record)
    assert bad not in render_summary(record)


def test_a_delta_of_another_schema_is_refused(tmp_path, green, delta):
    file = tmp_path / "evidence.json"
    file.write_text(json.dumps(green | {"delta": delta}), encoding="utf-8")
    assert load_evidence(file).delta.moved == MovedCounts(predictions=0, devices=0)
    file.write_text(json.dumps(green | {"delta": delta | {"schema": "rooflint-delta/9"}}), encoding="utf-8")
    with pytest.raises(EvidenceError, match=r"delta\.schema"):
        load_evidence(file)


# ---- claims


@pytest.fixture
def counted():
    """One removed claim without a reason, one loosened with one, and a changed recording."""
    place = {"file": "golden/x1.yaml", "line": 7}
    claim = {"id": "count-core", "device": "acme/x1", "moved_from": None, "independent": True, "facts": []}
    fact = {"file": "s.yaml", "line": 3, "path": "units.a.groups", "at": None, "base": "4", "head": "8"}
    removed = {"change": "removed", "headline": "count core of acme/x1", "base": "pass", "head": None, "reason": None}
    loosened = {"change": "loosened", "headline": "tdp rated of acme/x1", "base": "pass", "head": "pass"}
    said = {"text": "expects 15 W instead of 15.0 W", "reason": "the sheet rounds", "write": None}
    numbers = dict.fromkeys(("new", "newly_excused", "newly_failing", "fixed", "still_failing"), 0)
    return {
        **{"schema": "rooflint-claims/1", "text": "10 claims in main, 9 now: 2 losses without a stated reason"},
        **{"base": {"label": "main", "commit": None}, "head": {"label": "the working tree", "commit": None}},
        "counts": {"base": 10, "head": 9, "unchanged": 8, "removed": 1, "loosened": 1, **numbers},
        "changes": [
            {**claim, **place, **loosened, **said, "facts": [fact]},
            {
                **claim,
                **place,
                **removed,
                "text": "is removed",
                "write": "golden/x1.yaml: removed: {count-core: REASON}",
            },
        ],
        "recordings": [
            {"file": "golden/measured/r.json", "line": None, "text": "is removed", "reason": None}
            | {"write": "golden/x1.yaml: removed: {r.json: REASON}", "change": "removed"}
        ],
        **{"facts": [], "unreadable": [], "unstated": 2},
    }


def test_losses_without_a_reason_stand_first_with_what_to_write(green, still, counted):
    words, _ = section(green | {"delta": still, "claim_changes": counted})
    assert "10 claims in main, 9 now: 2 losses without a stated reason. 8 unchanged, 0 new, 1 removed" in words
    assert "write in golden/x1.yaml: removed: {count-core: REASON}" in words
    assert "reason: the sheet rounds" in words
    assert "units.a.groups 4 → 8" in words
    places = [
        words.index(text) for text in ("removed: count core", "is removed golden/measured/r.json", "loosened: tdp")
    ]
    assert places == sorted(places)


def test_the_summary_says_what_to_write_for_each_loss(green, still, counted):
    text = render_summary(green | {"delta": still, "claim_changes": counted}).replace("\\", "")
    assert "**10 claims in main, 9 now: 2 losses without a stated reason**" in text
    assert "- **count core of acme/x1** `golden/x1.yaml`: write in" in text
    assert "tdp rated" not in text


def test_a_run_without_a_base_shows_no_claims_of_one(green, still):
    assert "Claims counted against" not in section(green | {"delta": still})[0]


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_a_range_lies_within_its_scale(one, other):
    low, high = sorted((one, other))
    left, width = View.extent(Shift(**shift("a", "latency", low, high)))
    assert -2 <= left <= left + width <= WIDTH + 2
    assert width >= 2.9
    # what halves lies left of the middle
    assert (left + width / 2 < WIDTH / 2) == (low * high < 1) or min(low, 1 / high) < 0.25 or abs(low * high - 1) < 0.1


def test_what_has_no_factor_has_no_place_on_the_scale():
    assert View.extent(Shift(**shift("a", "latency", None, None))) is None
    assert View.extent(Shift(**shift("a", "latency", 0.0, 2.0))) is None
