"""Slack: how near claims are to failing, the loose ones in order, and what to write for the stale ones."""

import re

import pytest
from tests.report.pages import render_html

from rooflint_report.evidence import Evidence
from rooflint_report.report import render_summary
from rooflint_report.sections.slack import slack_of, width


@pytest.fixture
def claims(objects):
    """`claims((slack, kind, percent, loose, stale), …)`: passing claims around 100."""

    def make(*rows, outcome="pass"):
        return [
            objects(
                {
                    "outcome": outcome,
                    "slack": slack,
                    "expected": {"value": 100.0, "low": 100.0 - percent, "high": 100.0 + percent},
                    "tolerance": {"kind": kind, "text": f"±{percent} %", "why": None, "loose": loose, "stale": stale},
                }
            )
            for slack, kind, percent, loose, stale in rows
        ]

    return make


STALE = {"text": "± 2 % bridges a gap of 0.3 %", "write": "± 0.3 %"}


def test_claims_are_counted_by_tenths_of_their_slack(claims):
    found = slack_of(claims(*((slack, "printed digits", 1, False, None) for slack in (0.0, 0.05, 0.1, 0.95, 1.0))))
    assert [bar.claims for bar in found.bars] == [2, 1, 0, 0, 0, 0, 0, 0, 0, 2]
    assert [bar.edge for bar in found.bars[:2]] == ["0", "0.1"]
    assert (found.bars[0].height, found.bars[1].height) == (1.0, 0.5)
    assert found.measured == 5


def test_exact_claims_and_failing_ones_have_no_slack_to_show(claims):
    red = claims((-3.0, "printed digits", 1, False, None), outcome="fail")
    found = slack_of(claims((1.0, "exact", 0, False, None)) + red)
    assert found.measured == 0


def test_stale_claims_come_before_loose_ones_and_those_by_width(claims):
    rows = [(0.5, "stated", 1, True, None), (0.5, "stated", 12, True, None), (0.8, "stated", 2, True, STALE)]
    found = slack_of(claims(*rows, (0.5, "printed digits", 1, False, None)))
    assert [width(v) for v in found.shown] == pytest.approx([0.02, 0.12, 0.01])
    assert (found.loose, found.stale) == (3, 1)


def test_a_dozen_loose_claims_is_in_sight(claims):
    found = slack_of(claims(*((0.5, "stated", n, True, None) for n in range(1, 31))))
    assert (len(found.shown), found.loose) == (12, 30)


def test_evidence_that_knows_nothing_of_slack_shows_what_it_has(green):
    for verdict in green["verdicts"]:
        verdict["tolerance"] = verdict["slack"] = None
    assert slack_of(Evidence.model_validate(green).verdicts).loose == 0


@pytest.mark.slow
def test_the_page_says_what_to_write_instead_of_a_stale_tolerance(evidence):
    row = next(v for v in evidence["verdicts"] if v["outcome"] == "pass")
    row["tolerance"] = {"kind": "stated", "text": "±2 %", "why": "they round", "printed": "±0.05 %"}
    row["tolerance"] |= {"loose": True, "stale": STALE}
    evidence["counts"] |= {"loose": 1, "stale": 1}
    section = re.search(r'<section id="slack".*?</section>', render_html(evidence), re.DOTALL)[0]
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", section))
    assert "stale: ± 2 % bridges a gap of 0.3 %; write ± 0.3 %" in text
    assert "±2 %, stated; the printed digits allow ±0.05 %" in text and "they round" in text
    assert "1 of 1 loose tolerances is wider than needed" in render_summary(evidence)


def test_a_tolerance_that_can_go_is_said_so(evidence):
    row = next(v for v in evidence["verdicts"] if v["outcome"] == "pass")
    stale = {"text": "the printed digits suffice (±0.3 %)", "write": ""}
    row["tolerance"] = {"kind": "stated", "text": "±2 %", "why": "x", "loose": True, "stale": stale}
    assert "the printed digits suffice (±0.3 %); remove it" in render_html(evidence)


def test_a_run_without_any_tolerance_has_no_such_section(empty):
    assert 'id="slack"' not in render_html(empty)
    assert "wider than needed" not in render_summary(empty)
