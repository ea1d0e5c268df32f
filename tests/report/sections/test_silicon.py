"""Silicon: how true latencies are, drawn from bins; also where nobody could decide it. Figures are synthetic."""

import copy
import json
import math
import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.report.pages import render_html

from rooflint_report.evidence import Evidence, EvidenceError, load_evidence
from rooflint_report.findings import SiliconBins, SiliconDensity, SiliconScore
from rooflint_report.report import render_summary
from rooflint_report.sections.section import Page
from rooflint_report.sections.silicon import BIN, GROWTH, STEPS, frame_of, picture, step, steps, topics, view

BINS = {"per_decade": 20, "ratio_per_decade": 40, "under_per_decade": 10, "farthest": 4.0, "near": 0.2}
HOW = "tox run -e silicon decides these claims."


def column(x, y, *counts):
    return {"x": x, "y": y, "counts": list(counts)}


def density(device="nvidia/t4", times=None, ratios=None, **more):
    """Five shapes near 10 µs, one near 1 ms."""
    return {
        **{"device": device, "name": "NVIDIA T4", "family": "Turing", "rows": 6, "near_display": "83 %"},
        **{"times": times or [column(-100, -101, 1, 4), column(-60, -58, 1)]},
        **{"ratios": ratios or [column(-50, -1, 1, 4), column(-30, 3, 1)], **more},
    }


def score(family="Turing", regime="all", error=0.094, **more):
    return {
        **{"topic": "matrix products", "precision": "bf16", "family": family, "devices": ["nvidia/t4"]},
        **{"regime": regime, "rows": 1000, "error": error, "error_display": f"{100 * error:.1f} %"},
        **{"bias_display": "−3.7 %", "roofline_display": "49.8 %", "roofline_bias_display": "−61.9 %"},
        **{"bound_display": "≤ 10 %, ± 5 %", "outcome": "pass", "file": "golden/silicon/gemm.yaml", "line": 11},
        **more,
    }


def shape(**more):
    return {
        **{"family": "Turing", "device": "nvidia/t4", "shape": "2 × 64 × 8192", "measured_display": "35.6 µs"},
        **{"predicted_display": "4.68 µs", "ratio": 0.13, "ratio_display": "0.13", "bound": "reduction"},
        **{"kernel": "tile 16×64, k in 32", "around": 288, "around_display": "42 %"},
        **{"like": "as if k were whole (26.1 µs); try an algorithm that cuts k in 32"},
        **{"try": "rooflint explain gemm 2 64 8192 -d t4 --copies 5", **more},
    }


def silicon_evidence(**more):
    """What a run says that decided two regimes of one family."""
    return {
        **{"schema": "rooflint-silicon/2", "sentences": ["2 of 2 claims hold"], "how": HOW, "why_not": []},
        **{"claimed": [claim("gemm turing all"), claim("gemm turing large"), claim("gemm peak", bound="")]},
        **{"measurements": "some package 1.0", "scores": [score(), score(regime="> 20 GFLOP", error=0.073)]},
        **{"published": [], "whole": [whole()], "bins": dict(BINS), "densities": [density()], "worst": [shape()]},
        **{"waits": {"reduction": "adding up the parts of k", "fill": "the pipeline"}, "left_out": []},
        **{"not_known": not_known(), "caveats": ["constants are left out, structure is not"], **more},
    }


def claim(subject, bound="error up to 10 %, bias up to 5 %"):
    about, _, regime = subject.rpartition(" ")
    parts = {"about": about, "regime": regime} if " " in about else {"about": subject, "regime": None}
    return {"subject": subject, **parts, "bound": bound, "file": "golden/silicon/gemm.yaml", "line": 11}


def whole(**more):
    return {
        **{"subject": "gemm peak", "outcome": "fail", "obtained": "3 shapes are faster", "expected": "no shape faster"},
        **{"formula": "6 shapes", **more},
    }


def published(table="vidur-a40", regime="all", error=0.101, **more):
    return {
        **{"table": table, "title": f"Products of {table}", "device": "nvidia/t4", "op": "gemm", "precision": "fp16"},
        **{"document": "Some paper", "timing": "kernel"},
        **{key: value for key, value in score(regime=regime, error=error).items() if key not in SCORED},
        **more,
    }


SCORED = ("topic", "family", "devices", "precision")


def not_known():
    return {
        "ops": [{"what": "convolution", "why": "takes the constants of matrix products"}],
        "gpus": [{"why": "lacks the fact 'tdp': rated power", "devices": ["nvidia/t4", "acme/x1"]}],
        **{"of": 9, "others": 4, "tables": [{"what": "b60", "why": "no spec here"}]},
    }


def undecided(**more):
    """The same claims where the measurements are not installed."""
    nothing = {
        "sentences": [],
        "measurements": None,
        "scores": [],
        "published": [],
        "whole": [],
        "densities": [],
        "worst": [],
    }
    return silicon_evidence(**nothing, why_not=["pyarrow is not installed"], **more)


def section(record):
    """The words of the section, spaces made one, and its markup."""
    found = re.search(r'<section id="silicon".*?</section>', render_html(record), re.DOTALL)[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found)).replace("\u00a0", " ").split()), found


# ---- tables of others


@pytest.mark.slow
def test_a_table_of_others_has_its_errors_its_device_and_what_its_clock_saw(green):
    told = [published(), published(regime="> 20 GFLOP", error=0.123, outcome="fail"), published("b", error=0.05)]
    words, markup = section(green | {"silicon": silicon_evidence(published=told)})
    assert "Measured by others" in words
    assert "matrix products, fp16: 5.0 % to 10.1 % off" in words
    assert "Products of vidur-a40 nvidia/t4 Some paper; timed: one kernel" in words
    assert "✗ 12.3 %" in words
    assert words.count("Products of b") == 1
    assert "</small>—</td>" in markup  # nothing is claimed of the large ones of b


def test_a_run_without_the_package_still_shows_the_tables_of_others_and_says_what_is_missing(green):
    words, _ = section(green | {"silicon": undecided() | {"published": [published()]}})
    assert "10.1 %" in words
    assert f"Not decided: pyarrow is not installed. {HOW}" in words
    assert "Predicted against measured" not in words


def test_ops_of_others_stand_apart_and_the_first_is_open(green):
    told = [
        published("a", op="convolution", error=0.2),
        published("b", op="tanh", error=0.2),
        published("c", precision="fp32"),
        published("d"),
        published("e", op="add", precision="fp32"),
    ]
    _, markup = section(green | {"silicon": silicon_evidence(published=told)})
    heads = re.findall(r'<details class="rest"( open)?><summary>(.*?): ', markup)[:5]
    assert heads == [
        (" open", "matrix products, fp16"),
        ("", "matrix products, fp32"),
        ("", "convolutions, fp16"),
        ("", "additions, fp32"),
        ("", "tanh, fp16"),
    ]


def test_the_summary_has_products_of_others_and_no_other_op(green):
    told = [published(), published("c", op="softmax", error=0.2)]
    text = render_summary(green | {"silicon": undecided() | {"published": told}})
    assert "Error (bias) of matrix products, fp16, on published tables" in text
    assert "10.1 %" in text
    assert "softmax" not in text


# ---- whether there is a section


def test_a_run_of_which_nothing_is_claimed_has_no_section(green):
    for record in (green, green | {"silicon": undecided(claimed=[])}):
        page = render_html(record)
        assert 'id="silicon"' not in page
        assert 'href="#silicon"' not in page


@pytest.mark.slow
def test_where_nothing_was_decided_two_sentences_say_what_would_show_it(green):
    words, markup = section(green | {"silicon": undecided()})
    assert words.startswith(
        "Silicon 3 claims say how far calibrated kernel times are from measurements, and none was decided in this run "
        f"(pyarrow is not installed). {HOW} the claims gemm turing all: error up to 10 %, bias up to 5 % large: "
    )
    assert "gemm peak no exception" in words
    assert "<svg" not in markup
    assert "Silicon" not in render_summary(green | {"silicon": undecided()})


def test_the_section_stands_in_the_navigation(green):
    assert render_html(green | {"silicon": undecided()}).count('<a href="#silicon">Silicon</a>') == 1


# ---- what it says


@pytest.mark.slow
def test_a_family_has_its_error_its_lean_and_the_rooflines_in_each_regime(green):
    words, markup = section(green | {"silicon": silicon_evidence()})
    assert "9.4 % (−3.7 %) roofline 49.8 % (−61.9 %) claimed ≤ 10 %, ± 5 %" in words
    assert "7.3 % (−3.7 %)" in words
    assert "✗ gemm peak : 3 shapes are faster claimed: no shape faster; 6 shapes" in words
    assert '<a href="#device-nvidia-t4">nvidia/t4</a>' in markup


def test_a_regime_that_a_family_lacks_is_a_dash(green):
    scores = [score(), score("Ampere", regime="m ≤ 16", error=0.2)]
    (topic,) = topics([SiliconScore(**one) for one in scores])
    assert topic.regimes == ["all", "m ≤ 16"]
    assert [[one and one.error for one in family.scores] for family in topic.families] == [
        [0.094, None],
        [None, 0.2],
    ]
    assert "—" in section(green | {"silicon": silicon_evidence(scores=scores)})[0]


def test_other_ops_are_folded_behind_their_errors(green):
    more = [score("Ampere", topic="prefill", error=0.102), score(topic="prefill", error=0.238)]
    words, markup = section(green | {"silicon": silicon_evidence(scores=[score(), *more])})
    assert "<summary>prefill, bf16: 10.2 % to 23.8 % off</summary>" in markup
    assert "Of matrix products, bf16: the mean of" in words


def test_the_summary_has_the_errors_as_a_table(green):
    text = render_summary(green | {"silicon": silicon_evidence()})
    assert "Silicon: 2 of 2 claims hold." in text
    assert "| left out | all | &gt; 20 GFLOP |\n|---|---|---|\n| Turing | ✓ 9.4 % (−3.7 %), 49.8 % | ✓ 7.3 %" in text


@pytest.mark.slow
def test_a_worst_shape_says_what_it_is_like_and_how_to_look_closer(green):
    words, _ = section(green | {"silicon": silicon_evidence()})
    assert (
        "2 × 64 × 8192 nvidia/t4 35.6 µs 4.68 µs 0.13 reduction tile 16×64, k in 32 42 % off 288 shapes as if k were "
        "whole (26.1 µs); try an algorithm that cuts k in 32 rooflint explain gemm 2 64 8192 -d t4 --copies 5"
    ) in words
    assert "reduction adding up the parts of k" in words
    assert "the pipeline" not in words  # no shape waits for it


def test_what_is_not_known_stands_there_with_its_reason(green):
    for record in (silicon_evidence(), undecided()):
        words, _ = section(green | {"silicon": record})
        assert "convolution not calibrated: takes the constants of matrix products" in words
        assert "table b60 left out: no spec here" in words
        assert (
            "2 of 9 GPUs have no calibrated kernel times and use the roofline, as do all 4 CPUs, TPUs, KPUs and NPUs."
            in words
        )
        assert "lacks the fact 'tdp': rated power 2 nvidia/t4 acme/x1" in words


def test_a_family_that_could_not_be_read_again_is_named(green):
    record = silicon_evidence(left_out=[{"what": "Ada", "why": "l40s: want tables"}], why_not=["no package"])
    words, _ = section(green | {"silicon": record})
    assert "Ada: l40s: want tables" in words
    assert "Not decided: no package." in words


@pytest.mark.slow
def test_text_that_means_no_good_is_text(green):
    bad = "<script>alert(1)</script>"
    record = silicon_evidence(
        sentences=[bad],
        densities=[density(name=bad, near_display=bad, device=bad)],
        scores=[score(family=bad, regime=bad, topic=bad, devices=[bad], error_display=bad, bound_display=bad)],
        whole=[whole(obtained=bad, subject=bad)],
        worst=[shape(family=bad, shape=bad, like=bad, device=bad, bound=bad) | {"try": bad}],
        waits={bad: bad},
        caveats=[bad],
        not_known=not_known() | {"gpus": [{"why": bad, "devices": [bad]}], "ops": [{"what": bad, "why": bad}]},
    )
    page = render_html(green | {"silicon": record})
    assert "alert(1)" in page
    assert bad not in page
    assert bad not in render_html(green | {"silicon": undecided(how=bad) | {"claimed": [claim(f"{bad} a b", bad)]}})
    assert bad not in render_summary(green | {"silicon": record})


# ---- the pictures


@pytest.mark.slow
def test_each_picture_says_in_words_what_it_shows(green):
    words, markup = section(green | {"silicon": silicon_evidence()})
    assert (
        'role="img" aria-label="NVIDIA T4: predicted over measured time of 6 shapes, both logarithmic, and below their '
        'ratio; 83 % lie within 20 % of each other"'
    ) in markup
    assert "6 shapes, 83 % within 20 %" in words
    assert "1–3 4–15 16–63 64–255 256 and more shapes in a bin" in words


def test_all_pictures_share_their_axes(green):
    densities = [density(), density("acme/x1", times=[column(-30, -20, 7)], ratios=[column(-15, 16, 7)])]
    frame = frame_of([SiliconDensity(**one) for one in densities], SiliconBins(**BINS))
    # from bin −101 to bin −20 and its end, two to spare, in whole bins of the plane below
    assert (frame.low, frame.high, frame.side) == (-104, -16, 2 * 88)
    _, markup = section(green | {"silicon": silicon_evidence(densities=densities)})
    assert markup.count("<g id=") == 2
    assert markup.count('<use href="#silicon-frame"/>') == 2


def test_equal_times_lie_on_the_line():
    frame = frame_of([SiliconDensity(**density())], SiliconBins(**BINS))
    x, y = map(float, re.match(r"M([\d.]+) ([\d.]+)l", frame.equal).groups())
    assert (x, y) == (frame.left, frame.bottom)  # 10^(low / 20) against the same
    above, below = frame.near
    # 1.2 times as long: 2 px × 20 × log10(1.2) = 3.17 px up; 0.8: 3.88 px to the right
    assert above.startswith(f"M{frame.left}.0 {frame.bottom - 3.17:.1f}l")
    assert below.startswith(f"M{frame.left + 3.88:.1f} {frame.bottom}.0l")


def test_the_two_planes_have_room_for_their_bins_and_figures():
    # bins of times from −101 to −57 with two to spare, in pairs: −104 to −54, 2 px each
    frame = frame_of([SiliconDensity(**density())], SiliconBins(**BINS))
    assert (frame.low, frame.high, frame.side) == (-104, -54, 100)
    assert (frame.left, frame.right, frame.width) == (46, 146, 158)
    # ratios up to 4: 24 bins of 2 px either way of the middle
    assert (frame.top, frame.bottom, frame.reach) == (20, 120, 48)
    assert (frame.middle, frame.height, frame.under) == (120 + 30 + 48, 198 + 48 + 34, 4)
    # 40 px a decade, from 10^-5.2 s
    assert frame.ticks == [(8, "10 µs"), (48, "100 µs"), (88, "1 ms")]
    # 80 px a decade of ratios: 24.1 px for a factor of 2
    assert frame.ratio_ticks == [(222.1, "½"), (198, "1"), (173.9, "2")]


def test_lines_of_a_ratio_end_at_the_edges_of_the_planes():
    frame = frame_of([SiliconDensity(**density())], SiliconBins(**BINS))
    assert frame.equal == "M46.0 120.0l100.0 -100.0M46 198.0h100"
    # 80 px × log10(1.2) = 6.3 px up, 80 px × log10(0.8) = 7.8 px down
    assert frame.near == ["M46.0 116.8l96.8 -96.8M46 191.7h100", "M49.9 120.0l96.1 -96.1M46 205.8h100"]


def test_without_any_density_there_is_still_a_plane():
    frame = frame_of([], SiliconBins(**BINS))
    assert (frame.low, frame.high) == (-2, 2)


def test_neighbouring_bins_of_a_shade_are_one_stroke():
    one = SiliconDensity(**density(times=[column(-100, -100, 1, 3, 0, 4, 300)], ratios=[column(-50, -1, 5)]))
    drawn = picture(one, frame_of([one], SiliconBins(**BINS)))
    assert [re.findall(r"v(-\d+)", path) for path in drawn.above] == [["-4"], ["-2"], [], [], ["-2"]]
    assert [bool(path) for path in drawn.below] == [False, True, False, False, False]


@pytest.mark.parametrize(("count", "shade"), [(1, 0), (3, 0), (4, 1), (63, 2), (64, 3), (255, 3), (256, 4), (10**6, 4)])
def test_a_shade_stands_for_four_times_the_rows_of_the_one_before(count, shade):
    assert step(count) == shade


def test_the_legend_names_each_shade():
    assert steps() == ["1–3", "4–15", "16–63", "64–255", "256 and more"]


# ---- The view


def viewed(green, **more):
    return view(Page.of(Evidence.model_validate(green | {"silicon": silicon_evidence(**more)})))


def test_bounds_stand_together_by_topic_and_family(green):
    assert viewed(green).claimed == [
        (
            "gemm turing",
            ["all: error up to 10 %, bias up to 5 %", "large: error up to 10 %, bias up to 5 %"],
        ),
        ("gemm peak", ["no exception"]),
    ]


def test_the_worst_shapes_stand_together_by_family_and_only_what_binds_them_is_explained(green):
    found = viewed(green, worst=[shape(), shape(family="Ada", bound="launch"), shape(shape="1 × 1 × 1")])
    assert [(name, [one.shape for one in ones]) for name, ones in found.worst] == [
        ("Turing", ["2 × 64 × 8192", "1 × 1 × 1"]),
        ("Ada", ["2 × 64 × 8192"]),
    ]
    assert found.waits == [("reduction", "adding up the parts of k")]


@pytest.mark.parametrize("decided", ["scores", "published", "whole"])
def test_one_kind_of_claim_is_enough_to_be_decided(green, decided):
    nothing = {"scores": [], "published": [], "whole": []}
    one = {"scores": score(), "published": published(), "whole": whole()}[decided]
    assert viewed(green, **nothing | {decided: [one]}).decided
    assert not viewed(green, **nothing).decided


def test_the_ends_of_a_topic_are_the_least_and_the_greatest_error_of_its_first_regime():
    def ends(*scores):
        return [one.ends for one in topics([SiliconScore(**one) for one in scores])]

    three = (score("a", error=0.2), score("b", error=0.1), score("c", error=0.15), score("c", "large", error=0.9))
    assert ends(*three) == ["10.0 % to 20.0 %"]
    assert ends(score("a", error=0.2)) == ["20.0 %"]


def test_a_bin_stands_where_its_times_are():
    frame = frame_of([SiliconDensity(**density())], SiliconBins(**BINS))
    drawn = picture(SiliconDensity(**density()), frame)
    # the bins of 10^-5 s against 10^-5 s: 100 bins below 1 s, their lower end on the line
    at = frame.left + BIN * (-100 - frame.low)
    assert drawn.above[1].startswith(f"M{at + 1} {frame.bottom - BIN * (-100 - frame.low)}v-2")
    # the ratio's bin above 1, in a bin twice as wide
    assert f"M{at + 2} {frame.middle}v-2" in drawn.below[1]


def area(path, width):
    """Bins that a path covers."""
    return sum(int(length) for length in re.findall(r"v-(\d+)", path)) / width


counts = st.lists(st.integers(0, 2000), min_size=1, max_size=9).filter(any)


@given(st.lists(st.tuples(st.integers(-120, 20), st.integers(-120, 20), counts), min_size=1, max_size=9))
def test_every_bin_with_a_row_is_drawn_once_in_its_shade(found):
    several = [column(x, y, *some) for x, y, some in found]
    one = SiliconDensity(**density(times=several))
    drawn = picture(one, frame_of([one], SiliconBins(**BINS)))
    for number in range(STEPS):
        wanted = sum(step(count) == number for _, _, some in found for count in some)
        assert area(drawn.above[number], BIN) == wanted


@given(st.integers(1, 10**7))
def test_a_shade_stands_for_counts_that_the_legend_names(count):
    number = step(count)
    assert number == min(math.floor(math.log(count, GROWTH) + 1e-9), STEPS - 1)
    text = steps()[number]
    low = int(re.match(r"\d+", text)[0])
    assert low <= count
    assert text.endswith("more") or count <= int(text.rpartition("–")[2])


def test_an_empty_bin_has_no_shade():
    assert step(0) is None
    assert GROWTH ** (STEPS - 1) == 256


# ---- the door


def test_the_evidence_is_read_strictly(tmp_path, green):
    file = tmp_path / "evidence.json"
    record = green | {"silicon": silicon_evidence()}
    file.write_text(json.dumps(record), encoding="utf-8")
    assert view(Page.of(load_evidence(file))).decided
    wrong = copy.deepcopy(record)
    del wrong["silicon"]["densities"][0]["times"][0]["counts"]
    for broken, message in (
        (wrong, "silicon.densities[0].times[0].counts is missing"),
        (record | {"silicon": silicon_evidence(schema="rooflint-silicon/9")}, "silicon.schema"),
        (record | {"silicon": silicon_evidence(bins=BINS | {"per_decade": 0})}, "silicon.bins.per_decade"),
        (record | {"silicon": silicon_evidence(densities=[density(times=[column(10**9, 0, 1)])])}, "times[0].x"),
    ):
        file.write_text(json.dumps(broken), encoding="utf-8")
        with pytest.raises(EvidenceError, match=re.escape(message)):
            load_evidence(file)


def test_the_tables_of_the_summary_are_tables_to_a_renderer(green):
    families = [score(family="A"), score(family="B"), score(regime="> 20 GFLOP", error=0.073)]
    told = [published(), published("b", error=0.05), published("c", device="acme|x1")]
    found = silicon_evidence(published=told) | {"scores": families}
    tokens = MarkdownIt("gfm-like").parse(render_summary(green | {"silicon": found}))
    sizes, rows = [], 0
    for one in tokens:
        rows = 0 if one.type == "table_open" else rows + (one.type == "tr_open")
        sizes += [rows] if one.type == "table_close" else []
    # the families of one kind of op, the tables of others, the counts of the run: each with its head
    assert sizes == [1 + 3, 1 + 3, 2]
