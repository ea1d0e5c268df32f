"""The mutation score on the page and in the summary, also where it was not computed."""

import json
import re
from html import unescape

import pytest
from tests.report.pages import render_html

from rooflint_report.differences import Mutation
from rooflint_report.evidence import EvidenceError, load_evidence
from rooflint_report.report import render_summary
from rooflint_report.sections.mutation import View, share_of


def section(record):
    """The words of the section, spaces made one."""
    page = render_html(record)
    found = re.search(r'<section id="mutation".*?</section>', page, re.DOTALL)[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found)).split()), found


def test_the_score_its_floor_and_the_shares_are_said(mutated):
    words, _ = section(mutated)
    # 7 and 4 of 11: 63.6 and 36.3 %, rounded down
    assert "Of 11 mutants that are not equivalent, 7 make a claim fail: a score of 63.6 %" in words
    assert (
        "of them, 36.3 % of all, make one fail that quotes another document than the spec. Both are at their floors"
        in words
    )
    assert (
        "Of 3 errors of ×2 and more on facts that corroborated peaks and bandwidths rest on, 3 make a claim fail."
        in words
    )
    # of 12: 5 killable, 2 within digits, 4 uncorroborated, 1 equivalent; 4 + 3 killed and 1 equivalent leave 4 unseen
    shares = "41.7 % are killable, 16.7 % lie within the printed digits, 33.3 % are uncorroborated and 8.3 % equivalent"
    assert f"{shares} (1: nothing is computed with the fact); 33.3 % move a figure and no claim notices" in words


@pytest.mark.slow
def test_kinds_of_facts_have_both_shares(mutated):
    words, _ = section(mutated)
    # of 4 that are not equivalent 3 killed, none of them by an independent source; of 7 the same 4
    assert "power 5 75.0 % 0.0 % 1 bandwidth 7 57.1 % 57.1 % 3" in words


@pytest.mark.slow
def test_a_score_below_its_floor_is_said_loudly(mutated):
    mutated["mutation"] |= {"holds": False, "floor": 0.9}
    assert "✗ below the floor (90 % and 35 %)" in section(mutated)[0]
    assert "✗ below the floor" in render_summary(mutated)


def test_unguarded_figures_are_counted_by_kind(mutated):
    words, _ = section(mutated)
    assert "Unguarded figures 1 No error in 1 of 2 figures turns a claim red" in words
    assert "Golden files state why for 1 of them. At most 5 may lack a reason." in words
    assert "kind of fact figures unguarded repeated power 1 1" in words


def test_without_a_floor_none_is_named(mutated):
    mutated["mutation"] |= {"holds": None, "floor": None, "independent_floor": None}
    assert "floor" not in section(mutated)[0]


def test_a_survivor_shows_both_values_its_line_and_what_would_kill_it(mutated):
    words, _ = section(mutated)
    assert "256\u00a0bit → 265\u00a0bit" in unescape(render_html(mutated))
    assert "memories.gddr6.bus of nvidia/t4: digit, 5 and 6 are exchanged" in words
    assert "model/rooflint/specs/hardware/nvidia/t4.yaml:21" in words
    assert (
        "would be killed by bandwidth: gddr6 at golden/peaks/nvidia/t4.yaml:12, if it allowed ±0.2 % and not ±5 %"
        in words
    )


def test_facts_of_which_something_goes_unseen_are_listed_with_their_mode(mutated):
    words, _ = section(mutated)
    assert "the 2 facts with unseen mutants" in words
    assert "tdp at low 70 W , 1 of 5" in words
    assert "tdp: rated at low, from elsewhere" in words


def test_a_bar_has_a_part_for_each_fate_and_says_so_in_words(mutated):
    _, markup = section(mutated)
    # 7 of the bus: 4 killed, 1 survived, the 2 within digits unseen; 5 of the TDP: 3 besides, 1 unseen, 1 equivalent
    assert 'aria-label="4 killed by an independent source, 1 survived, 2 unseen"' in markup
    assert 'aria-label="3 killed by other claims only, 1 unseen, 1 equivalent"' in markup
    # of 7, ends after 4, 4, 5 and 7
    assert (
        ' title="4 killed by an independent source, 1 survived, 2 unseen"'
        ' style="--1:57.1%;--2:57.1%;--3:71.4%;--4:100%;"' in markup
    )


def test_parts_of_a_bar_add_up(mutated):
    found = Mutation.model_validate(mutated["mutation"])
    for row in (*found.classes, *found.facts, found.counts):
        assert sum(View.parts(row).values()) == row.mutants


def test_a_run_without_a_score_says_that_it_was_not_run(green):
    words, _ = section(green)
    assert words == (
        "Mutation score Not run: this evidence has no mutation score. rooflint check --mutate injects common errors "
        "into the specs and counts which claims catch them."
    )
    assert "Mutation score: not run." in render_summary(green)


def test_the_summary_has_one_line(mutated):
    (line,) = [line for line in render_summary(mutated).splitlines() if "utation" in line]
    assert line == "Mutation score **63.6 %**: 7 of 11 mutants are killed, **36.3 %** by an independent source."


def test_a_score_of_nothing_is_none(mutated):
    mutated["mutation"]["score"] = None
    assert "a score of none" in section(mutated)[0]
    assert share_of(0, 0) == "0 %"


def test_many_subjects_and_survivors_are_folded_or_cut(mutated):
    mutation = mutated["mutation"]
    mutation["subjects"] = [mutation["subjects"][0] | {"id": f"acme/x{number}"} for number in range(20)]
    mutation["survivors"] *= 30
    mutation["facts"] *= 80
    words, markup = section(mutated)
    assert "8 more files with unseen mutants" in words
    assert words.count("would be killed by") == 20
    assert "and 10 more in the evidence." in words
    assert "and 60 more in the evidence." in words
    assert markup.count("<li>") == 20 + 100


def test_subjects_in_which_nothing_goes_unseen_are_left_out(mutated):
    mutated["mutation"]["subjects"][0]["unseen"] = 0
    assert "Files with most unseen mutants" not in section(mutated)[0]


def test_hostile_text_stays_text(mutated):
    nasty = "<script>alert('x')</script>{{ 7 * 7 }}"
    mutated["mutation"]["survivors"][0] |= dict.fromkeys(("path", "text", "mutated", "would_kill", "file"), nasty)
    page = render_html(mutated)
    assert "<script>alert" not in page
    assert "{{ 7 * 7 }}" in unescape(page)


def test_a_score_of_another_shape_is_refused_in_one_sentence(mutated, tmp_path):
    del mutated["mutation"]["counts"]["killable"]
    file = tmp_path / "evidence.json"
    file.write_text(json.dumps(mutated), encoding="utf-8")
    with pytest.raises(EvidenceError, match=r"mutation\.counts\.killable is missing$"):
        load_evidence(file)


def test_evidence_with_a_score_is_read_as_written(mutated, tmp_path):
    file = tmp_path / "evidence.json"
    file.write_text(json.dumps(mutated), encoding="utf-8")
    found = load_evidence(file).mutation
    assert [one.model_dump(by_alias=True) for one in found.survivors] == mutated["mutation"]["survivors"]
    assert found.counts.unseen == 4
