"""What moved: the delta on the page and in the summary, also where nothing did and where nobody asked."""

import json
import math
import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.pages import render_html

from rooflint_report.differences import Moved, MovedCounts, Shift
from rooflint_report.evidence import Evidence, EvidenceError, load_evidence
from rooflint_report.report import render_summary
from rooflint_report.sections.moved import FARTHEST, MOST, WATCHED_WIDTH, WIDTH, Scaled, end, view
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
    assert words.startswith("Watched predictions This run was not compared with a base.")
    assert "rooflint check --against REVISION" in words
    assert "moved" not in render_summary(green)


def bare(text):
    """Markdown without its escapes and code spans."""
    return text.replace("\\", "").replace("`", "")


def test_nothing_moved_is_said_in_one_line(green, still):
    words, _ = section(green | {"delta": still})
    assert words == f"What moved since revision main (0123456789ab) {NOTHING}."
    assert f"**{NOTHING}**" in bare(render_summary(green | {"delta": still}))


def test_facts_stand_with_line_source_and_what_they_move_alone(green, delta):
    words, _ = section(green | {"delta": delta})
    assert f"{SOME}. 1 device appeared: nvidia/t5" in words
    assert "Facts that changed 2" in words
    fact = "memories.gddr6.bus 256 bit → 512 bit specs/hardware/nvidia/t4.yaml:18"
    assert f"{fact} alone moves 45 predictions of nvidia/t4: latency ×0.5 T4 data sheet, p. 1 (read)" in words
    assert "Files that all devices may depend on 1 workloads/layer.yaml changed alone moves no prediction" in words


def test_moves_stand_in_a_table_with_factor_and_interplay(green, delta):
    words, markup = section(green | {"delta": delta})
    assert "Moves, latencies first 3" in words
    assert "nvidia/t4 latency 45 of 120 ×0.25 … ×1 together ×0.25 … ×1, alone ×0.5 (bus)" in words
    assert "energy 45 of 120 3 no longer known, 2 newly known" in words
    assert markup.count('class="range"') == 2  # what has no factor has no place on the scale


def test_what_latencies_wait_for_is_folded_and_does_not_shorten_their_marks(green, delta):
    # the latency is 15.8 times longer and fits 1/16 … 16; what its kernels compute at grows by 380, beyond 256
    latency = shift("nvidia/t4", "latency", 1.18, 15.8)
    wait = shift("nvidia/t4", "compute-bound time", 16.0, 380.0, quantity="compute_wait_s")
    record = green | {"delta": delta | {"moves": [latency, wait]}}
    found = view(Page.of(Evidence.model_validate(record)))
    assert [one.word for one in found.moves.rows] == ["latency"]
    assert (found.moves.end, found.waits.end) == (16.0, 512.0)
    words, _ = section(record)
    assert "Moves, latencies first 1" in words
    assert words.index("×1.18") < words.index("what the latencies wait for, 1 move") < words.index("compute-bound time")


@pytest.mark.slow
def test_a_device_leads_to_its_sheet_where_it_has_one(green, delta):
    _, markup = section(green | {"delta": delta})
    anchor = re.search(r'<a href="#([^"]+)">nvidia/t4</a>', markup)[1]
    assert f'id="{anchor}"' in render_html(green | {"delta": delta})
    assert "acme/unheard-of</a>" not in markup


def test_far_moves_are_in_sight_and_the_rest_is_folded(green, delta):
    many = delta | {"moves": [shift("nvidia/t4", "latency", 2.0, 3.0)] * (MOST + 5)}
    found = view(Page.of(Evidence.model_validate(green | {"delta": many})))
    assert (len(found.moves.farthest), len(found.moves.others), found.hidden) == (FARTHEST, MOST - FARTHEST, 5)
    words, _ = section(green | {"delta": many})
    assert f"the other {MOST - FARTHEST}, less far" in words
    assert "and 5 more in the evidence." in words


def test_the_summary_names_the_changes(green, delta):
    text = bare(render_summary(green | {"delta": delta}))
    assert f"Since revision main (0123456789ab): **{SOME}**." in text
    assert "- **memories.gddr6.bus 256 bit → 512 bit** specs/hardware/nvidia/t4.yaml:18: alone moves 45" in text
    many = delta | {"changes": delta["changes"] * 30}
    assert "and 50 more changes" in render_summary(green | {"delta": many})


@pytest.mark.slow
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
        **{
            "schema": "rooflint-claims/1",
            "text": "2 checks removed or weakened without a stated reason; 10 claims in main, 9 now",
        },
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
    assert (
        "2 checks removed or weakened without a stated reason; 10 claims in main, 9 now. 8 unchanged, 0 new, 1 removed"
        in words
    )
    assert "write in golden/x1.yaml: removed: {count-core: REASON}" in words
    assert "reason: the sheet rounds" in words
    assert "units.a.groups 4 → 8" in words
    places = [
        words.index(text) for text in ("removed: count core", "is removed golden/measured/r.json", "loosened: tdp")
    ]
    assert places == sorted(places)


def test_the_summary_says_what_to_write_for_each_loss(green, still, counted):
    text = render_summary(green | {"delta": still, "claim_changes": counted}).replace("\\", "")
    assert "**2 checks removed or weakened without a stated reason; 10 claims in main, 9 now**" in text
    assert "- **count core of acme/x1** `golden/x1.yaml`: write in" in text
    assert "tdp rated" not in text


def test_a_run_without_a_base_shows_no_claims_of_one(green, still):
    assert "Claims counted against" not in section(green | {"delta": still})[0]


FACTORS = st.floats(1e-6, 1e6)


def scaled(*shifts):
    """A scale that holds these moves, and where each of them lies in its drawing."""
    found = Scaled.of([Moved(**one) for one in shifts])
    return found, [found.extent(one) for one in found.rows]


@given(st.lists(st.tuples(FACTORS, FACTORS), min_size=1, max_size=6))
def test_a_farther_move_is_never_a_shorter_mark(pairs):
    shifts = [shift("a", "latency", min(pair), max(pair)) for pair in pairs]
    _, places = scaled(*shifts)
    for one, (left, width, near) in zip(shifts, places, strict=True):
        assert -2 <= left <= left + width <= WIDTH + 2
        assert width >= 2.9
        assert -0.1 <= near <= WIDTH + 0.1
        assert left == pytest.approx(WIDTH / 2, abs=0.1) or left + width == pytest.approx(WIDTH / 2, abs=0.1), one
    far = [max(abs(math.log2(end)) for end in (one["low"], one["high"])) for one in shifts]
    for one, length in zip(far, places, strict=True):
        assert all(length[1] >= other[1] - 0.11 for than, other in zip(far, places, strict=True) if one >= than)


def test_sixteen_times_is_the_longest_mark_and_reaches_the_end():
    # 16 times is 4 octaves of the 4 to the end, 60 of 60 px; twice is 15 px; 1.1 times 0.1375 octaves, 2 px, drawn as 3
    found, places = scaled(*(shift("a", "latency", factor, factor) for factor in (16.0, 2.0, 1.1, 1 / 16)))
    assert (found.end, found.ends) == (16.0, ("1/16", "16"))
    assert [place[:2] for place in places] == [(60.0, 60.0), (60.0, 15.0), (60.0, 3.0), (0.0, 60.0)]


@pytest.mark.parametrize(
    ("factor", "wanted"), [(1.05, 1.1), (1.1, 1.1), (1 / 1.2, 1.25), (1.3, 1.5), (2.0, 2.0), (2.1, 4.0), (14.9, 16.0)]
)
def test_the_scale_fits_the_farthest_move(factor, wanted):
    assert end([Shift(**shift("a", "latency", factor, 1.0))]) == wanted


def test_a_range_shows_its_nearer_end():
    # from half to four times: the mark reaches from 1 to 4, and a stroke is at a half
    _, ((left, width, near),) = scaled(shift("a", "latency", 0.5, 4.0))
    assert (left, width, near) == (60.0, 60.0, 30.0)


def test_what_has_no_factor_has_no_place_on_the_scale():
    _, places = scaled(shift("a", "latency", None, None), shift("a", "latency", 0.0, 2.0))
    assert places == [None, None]


# ---- watched predictions


def prediction(name, base, head, **more):
    ratio = head / base if base and head else None
    shown = {"base_display": f"{base} s" if base else None, "head_display": f"{head} s" if head else "not known"}
    return {
        **{"watch": name, "network": "a", "precision": "int8", "batch": 1, "device": "nvidia/t4", "at": None},
        **{"base": base, "head": head, "ratio": ratio, "factor": f"×{ratio:.3g}" if ratio else "", "why": None},
        **shown,
        **more,
    }


def test_watched_predictions_are_dumbbells_whose_length_is_the_factor(green, still):
    rows = [prediction("small", 1e-3, 1.1e-3), prediction("large", 1e-2, 1.6e-1), prediction("same", 1.0, 1.0)]
    found = view(Page.of(Evidence.model_validate(green | {"delta": still, "watched": rows}))).watched
    assert [one.one.watch for one in found] == ["large", "small", "same"]
    lengths = [one.head - one.base for one in found]
    # on one logarithmic axis: log 16 / log 1.1 = 29.1; the ends are rounded to a tenth of a pixel
    assert lengths[0] == pytest.approx(lengths[1] * math.log(16) / math.log(1.1), rel=0.03)
    assert lengths[2] == 0
    assert all(0 <= place <= WATCHED_WIDTH for one in found for place in (one.base, one.head))
    words, markup = section(green | {"delta": still, "watched": rows})
    assert "large 0.01 s 0.16 s ×16" in words
    assert "same 1.0 s 1.0 s as in the base" in words
    assert markup.count('class="dumbbell"') == 3


def test_without_a_base_the_figure_of_the_head_stands_alone(green):
    record = green | {"watched": [prediction("one", None, 2e-3)]}
    words, markup = section(record)
    assert "one no base 0.002 s" in words
    assert markup.count("<circle") == 1
    assert "- watched: one 0.002 s\n" in render_summary(record)


@pytest.mark.slow
def test_what_the_head_does_not_know_has_a_reason_and_no_mark(green, still):
    gone = prediction("one", 1e-3, None, why="no int8 <b>")
    words, markup = section(green | {"delta": still, "watched": [gone]})
    assert "not known no int8 <b>" in words
    assert "no int8 &lt;b&gt;" in markup
    assert (markup.count("<circle"), markup.count('<path d="M')) == (1, 0)
