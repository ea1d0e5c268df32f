"""Measured: the section about recordings, in three colours, also where nothing was recorded. Figures are synthetic."""

import json
import re
from html import unescape

import pytest
from tests.report.pages import render_html

from rooflint_report.evidence import EvidenceError, load_evidence
from rooflint_report.findings import Measured
from rooflint_report.log_chart import SHAPES
from rooflint_report.report import render_summary
from rooflint_report.sections.measured import IN_SIGHT, _best_of_each, benches_of

HOW = "rooflint measure record writes a recording of this machine."


def row(what, best_s, predicted_s, outcome="pass", **more):
    """A row as the run writes it."""
    return {
        **{"device": "nvidia/t4", "at": None, "file": "golden/measured/nvidia/t4/r.json", "line": 7, "name": "n"},
        **{"what": what, "precision": "fp16", "library": "cublas", "size": 1024.0, "outcome": outcome, "why": ""},
        **{"best_s": best_s, "best_display": f"{best_s} s", "median_display": "2 s", "spread_display": "1 %"},
        **{"samples": 25, "disturbed": 0, "conditions": "1.59 GHz", "bound": "compute"},
        **{"rate_display": "40 TFLOP/s", "efficiency": predicted_s / best_s, "efficiency_display": "61.4 %"},
        **{"predicted_s": predicted_s, "predicted_display": f"{predicted_s} s", "ratio_display": "0.61"},
        **{"power_w": 65.0, "idle_w": 9.0, "power_display": "65 W", "idle_display": "9 W"},
        **{"kind": "gemm", "median_s": 2.0, "ratio": 0.61},
        **{"energy_display": "3 J", "per_w_display": "0.6 TOP/s/W", **more},
    }


def recording(**more):
    return {
        **{"device": "nvidia/t4", "at": None, "file": "golden/measured/nvidia/t4/r.json", "machine": "Tesla T4"},
        **{"taken": "2026-11-20T14:32+00:00", "command": "rooflint measure record", "conditions": "1.59 GHz, 61 °C"},
        **{"facts": [{"name": "ecc", "display": "True"}], "software": [{"name": "torch", "display": "2.13.0"}]},
        **{"left_out": [{"what": "gemm fp8", "why": "not native"}], **more},
    }


def measured_of(*rows, **more):
    """What a run says of these rows."""
    return {
        **{"schema": "rooflint-measured/2", "rows": list(rows), "how": HOW},
        **{
            "sentences": ["3 measurements of 1 device"] if rows else [],
            "recordings": [recording()] if rows else [],
            **more,
        },
    }


@pytest.fixture
def measured():
    """One of each outcome, a stream among them."""
    return measured_of(
        row("product 1024³", 2.0, 1.0),
        row("product 4096³", 1.0, 1.5, "fail", why="97 TFLOP/s of a peak of 65 TFLOP/s", size=4096.0),
        row("copy of 1 GB", 4.0, 3.0, "undecided", precision=None, size=None, disturbed=13, power_w=None, idle_w=None)
        | {"power_display": "not available: no counter"},
    )


def section(record):
    """The words of the section, spaces made one, and its markup."""
    found = re.search(r'<section id="measured".*?</section>', render_html(record), re.DOTALL)[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found)).replace("\u00a0", " ").split()), found


@pytest.mark.slow
def test_evidence_of_an_older_run_has_no_section(green):
    assert "measured" not in green
    assert 'id="measured"' not in render_html(green)
    assert 'href="#measured"' not in render_html(green)


@pytest.mark.slow
def test_without_recordings_one_sentence_says_how_to_make_one(green):
    words, markup = section(green | {"measured": measured_of()})
    assert words == f"Measured No recording was found. {HOW}"
    assert "<svg" not in markup


def test_the_section_stands_in_the_navigation(green, measured):
    assert render_html(green | {"measured": measured}).count('<a href="#measured">Measured</a>') == 1


def test_a_row_has_all_that_was_measured(green, measured):
    words, _ = section(green | {"measured": measured})
    assert "product 1024³ fp16 cublas 2.0 s median 2 s, spread 1 % 1.0 s compute 0.61 40 TFLOP/s 61.4 %" in words
    assert "65 W idle 9 W 3 J 0.6 TOP/s/W ✓ pass r.json:7" in words


@pytest.mark.slow
def test_what_is_red_comes_first_with_its_reason(green, measured):
    words, markup = section(green | {"measured": measured})
    body = markup[markup.index("<tbody>") :]
    assert body.index("product 4096³") < body.index("copy of 1 GB") < body.index("product 1024³")
    assert "✗ fail 97 TFLOP/s of a peak of 65 TFLOP/s" in words
    assert "? undecided 13 of 25 samples disturbed" in words


def test_a_point_has_the_colour_of_its_outcome_and_the_shape_of_its_precision(green, measured):
    bench = benches_of(Measured.model_validate(measured))[0]
    against, over_size, power = bench.plots
    assert against.outcomes == ["pass", "fail", "undecided"]
    assert [series for _, series, _ in against.drawing.marks] == [0, 0, 1]
    assert [name for _, name in against.keys] == ["fp16", "streams"]
    assert over_size.outcomes == power.outcomes == ["pass", "fail"]
    _, markup = section(green | {"measured": measured})
    found = re.findall(r'<path class="mark (\w+)"', markup)
    assert found[:3] == ["ok", "no", "un"]


@pytest.mark.slow
def test_more_precisions_than_shapes_are_hollow(green):
    rows = [row("product 1024³", 2.0, 1.0, precision=f"p{number}") for number in range(SHAPES + 1)]
    _, markup = section(green | {"measured": measured_of(*rows)})
    assert markup.count('<path class="mark ok hollow"') == 3  # once in each of three charts
    assert markup.count('<path class="hollow"') == 3  # in their legends


def test_two_libraries_are_two_lines(green):
    rows = [
        row("p", 2.0 + size / 1e4, 1.0, size=size, library=library)
        for size in (512.0, 1024.0)
        for library in ("mkl", "openblas")
    ]
    over_size = benches_of(Measured.model_validate(measured_of(*rows)))[0].plots[1]
    assert [name for _, name in over_size.keys] == ["fp16 mkl", "fp16 openblas"]
    assert len(over_size.drawing.lines) == 3  # and the peak


def test_a_library_with_one_size_has_no_line_and_no_name_at_the_edge():
    sizes = ((512.0, "mkl"), (1024.0, "mkl"), (2048.0, "onednn"))
    rows = [row("p", 2.0, 1.0, size=size, library=library) for size, library in sizes]
    over_size = benches_of(Measured.model_validate(measured_of(*rows)))[0].plots[1]
    assert [label.text for label in over_size.drawing.labels] == ["fp16 mkl", "peak"]
    assert [name for _, name in over_size.keys] == ["fp16 mkl", "fp16 onednn"]


def test_the_conditions_stand_below(green, measured):
    words, _ = section(green | {"measured": measured})
    assert "2026-11-20 14:32 UTC golden/measured/nvidia/t4/r.json Tesla T4 ecc True 1.59 GHz, 61 °C" in words
    assert "torch 2.13.0" in words
    assert "1 could not be measured gemm fp8 not native" in words
    assert "Power of the others: not available: no counter." in words


def test_power_that_nobody_measured_has_no_column_and_one_reason(green):
    silent = {"power_w": None, "idle_w": None, "power_display": "not available: a virtual machine"}
    words, markup = section(
        green | {"measured": measured_of(row("a", 2.0, 1.0, **silent), row("b", 2.0, 1.0, **silent))}
    )
    assert words.count("not available: a virtual machine") == 1
    assert '<th scope="col">power</th>' not in markup
    assert "Power over efficiency" not in words


def test_operating_points_are_told_apart(green):
    low = row("a", 2.0, 1.0, at="low")
    found = benches_of(Measured.model_validate(measured_of(row("a", 2.0, 1.0), low)))
    assert [bench.name for bench in found] == ["nvidia/t4", "nvidia/t4 at low"]


def test_what_is_green_is_folded_beyond_a_dozen(green):
    rows = [row("a", 2.0, 1.0)] * (IN_SIGHT + 5)
    words, _ = section(green | {"measured": measured_of(*rows)})
    assert "the other 5, all within their bounds" in words


def test_everything_that_is_not_green_is_in_sight(green):
    rows = [row("a", 2.0, 1.0, "undecided")] * (IN_SIGHT + 5)
    assert len(benches_of(Measured.model_validate(measured_of(*rows)))[0].in_sight) == IN_SIGHT + 5


def test_a_measurement_without_prediction_has_no_point(green):
    unknown = {"predicted_s": None, "efficiency": None, "bound": None, "predicted_display": "—", "ratio_display": "—"}
    (bench,) = benches_of(Measured.model_validate(measured_of(row("a", 2.0, 1.0) | unknown)))
    assert bench.plots == []


def test_text_of_a_recording_stays_text(green):
    bad = "<script>alert(1)</script>"
    texts = dict.fromkeys(("what", "library", "precision", "why", "rate_display", "best_display", "file"), bad)
    one = row("a", 2.0, 1.0, device=bad, **{key: value for key, value in texts.items() if key != "what"}) | {
        "what": bad
    }
    taken = recording(device=bad, machine=bad, command=bad, facts=[{"name": bad, "display": bad}], conditions=bad)
    page = render_html(green | {"measured": measured_of(one, sentences=[bad], recordings=[taken])})
    assert bad not in page
    assert page.count("&lt;script&gt;alert(1)") > 10


@pytest.mark.slow
def test_a_red_card_says_which_measurement_it_was(evidence):
    fail = next(verdict for verdict in evidence["verdicts"] if verdict["outcome"] == "fail")
    fail["obtained"]["details"] = ["golden/measured/nvidia/t4/r.json:7  gemm-fp16", *map(str, range(30))]
    page = " ".join(unescape(re.sub(r"<[^>]+>", " ", render_html(evidence))).split())
    assert "where golden/measured/nvidia/t4/r.json:7 gemm-fp16 0 1 2" in page
    assert "and 15 more lines in the run" in page
    assert "golden/measured/nvidia/t4/r.json:7 gemm-fp16`\n" in render_summary(evidence)


def test_the_summary_has_one_sentence(green, measured):
    assert "Measured: 3 measurements of 1 device." in render_summary(green | {"measured": measured})
    assert "Measured:" not in render_summary(green | {"measured": measured_of()})
    assert "Measured:" not in render_summary(green)


def test_another_schema_is_refused(tmp_path, green, measured):
    file = tmp_path / "evidence.json"
    file.write_text(json.dumps(green | {"measured": measured | {"schema": "rooflint-measured/3"}}), encoding="utf-8")
    with pytest.raises(EvidenceError, match=r"measured\.schema"):
        load_evidence(file)


def test_what_the_roofline_has_lies_along_and_what_was_measured_up(green):
    # both are predicted to take 1 s; the second took ten times as long
    rows = [row("product 1024³", 1.0, 1.0), row("product 512³", 10.0, 1.0)]
    against = benches_of(Measured.model_validate(measured_of(*rows)))[0].plots[0]
    (x, y), (same_x, above_y) = (
        re.match(r"[Mm]\s*(-?[\d.]+)[ ,]?(-?[\d.]+)", path).groups() for path, _, _ in against.drawing.marks
    )
    assert x == same_x
    assert float(above_y) < float(y)  # a drawing counts from the top


def test_the_line_of_a_size_joins_the_best_of_it():
    assert _best_of_each([(64.0, 50.0), (32.0, 20.0), (64.0, 80.0), (64.0, 60.0)]) == [(32.0, 20.0), (64.0, 80.0)]


# ---- benchmarks beside the baseline


def benchmarks(text="1 of 2 benchmarks slower than the baseline of AMD EPYC: b ×1.3"):
    row = {"base_display": "1 s", "now_display": "1.3 s", "factor": 1.3, "factor_text": "×1.3", "outcome": "slower"}
    new = {"base_display": None, "now_display": "2 s", "factor": None, "factor_text": "", "outcome": "new"}
    times = {"machine": "AMD EPYC", "canary": None, "seconds": {"b": 1.3}}
    found = {"times": times, "baseline": "validation/baselines/a.json", "canary": None, "threshold": 1.25, "gone": []}
    return found | {"rows": [{"name": "b", **row}, {"name": "c", **new}], "text": text}


@pytest.mark.slow
def test_benchmarks_are_a_table_on_the_page_and_a_sentence_in_the_summary(green, measured):
    green = green | {"measured": measured}
    page = render_html(green | {"benchmarks": benchmarks()})
    words = " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).replace("\u00a0", " ").split())
    assert "Benchmarks beside the baseline 2 1 of 2 benchmarks slower than the baseline of AMD EPYC: b ×1.3." in words
    assert "b 1 s 1.3 s ×1.3 slower c none 2 s new" in words
    assert "Benchmarks: 1 of 2 benchmarks slower" in render_summary(green | {"benchmarks": benchmarks()})
    assert "Benchmarks beside" not in render_html(green)


def test_text_of_benchmarks_stays_text(green, measured):
    bad = "<script>alert(1)</script>"
    found = benchmarks(bad)
    found["rows"][0] |= dict.fromkeys(("name", "base_display", "now_display", "factor_text"), bad)
    record = green | {"measured": measured, "benchmarks": found}
    assert bad not in render_html(record)
    assert bad not in render_summary(record)
