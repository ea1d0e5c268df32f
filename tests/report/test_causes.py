"""Failing claims by cause, and the messages of annotations and SARIF: one a cause, at the line that mends it."""

import json
import math
from types import SimpleNamespace

import pytest
from tests.report.test_comment import CLAIM, SPEC, cause, claim_changes

from rooflint_report.causes import (
    NAMED,
    RULES,
    Culprit,
    as_code_quality,
    as_sarif,
    by_cause,
    culprits,
    likely,
    messages,
    of_evidence,
)
from rooflint_report.evidence import Evidence, Problem
from rooflint_report.sections.section import Page, worst_first

BLANK = {"factor": None, "factor_text": None, "file": None, "line": None, "path": None, "current": None}


def because(text="half of it", **more):
    return BLANK | {"repair": None, "fixes": None, "breaks": None, "text": text} | more


def row(ratio=0.5, line=4, **more):
    """A failing verdict of which a message reads this much."""
    found = {
        "outcome": "fail",
        "id": f"peak-{line}",
        "nodeid": f"golden/x.yaml::peak-{line}",
        "ratio": ratio,
        "ratio_text": None if ratio is None else f"{ratio:g}",
        "file": "golden/x.yaml",
        "line": line,
        "headline": "peak a int8 of acme/x1",
        "expected": {"display": "2 TOP/s"},
        "obtained": {"display": "1 TOP/s"},
        "causes": [],
        "facts": [],
        "hardware": "acme/x1",
        "at": None,
        "reason": None,
        **more,
    }
    return json.loads(json.dumps(found), object_hook=lambda data: SimpleNamespace(**data))


def place(line, ids, fixed=(), fixes=2, breaks=0):
    found = {"file": "specs/x1.yaml", "line": line, "path": "units.a.clock", "to": "2 GHz"}
    return SimpleNamespace(**found, ids=ids, fixed=list(fixed), fixes=fixes, breaks=breaks)


def annotations(rows, problems=(), places=()):
    return [one.annotation for one in messages(worst_first(rows), [Problem(**one) for one in problems], places)]


# ---- groups


@pytest.fixture
def fails(evidence):
    """The farthest is of the Orin; two of the MI250X name its 220 CU."""
    return [verdict for _, verdict in Page.of(Evidence.model_validate(evidence)).fails]


def test_failing_claims_with_one_cause_stand_together_the_farthest_first(fails):
    assert [[one.hardware for one in group] for group in by_cause(fails)] == [
        ["nvidia/jetson-agx-orin-64gb"],
        ["amd/mi250x", "amd/mi250x"],
    ]


def test_a_claim_without_a_cause_is_a_group_of_its_own():
    assert [len(group) for group in by_cause([row(line=1), row(line=2), row(line=3)])] == [1, 1, 1]


def test_with_a_base_the_cause_is_the_changed_fact_that_makes_a_claim_fail(fails):
    # the diagnosis of each claim names another line than the one that changed, which explains the first and the last
    first, second, third = (f"{one.file}::{one.id}" for one in fails)
    changes = SimpleNamespace(changes=[SimpleNamespace(claims=[]), SimpleNamespace(claims=[third, first])])
    groups = by_cause(fails, (), changes)
    assert [[f"{one.file}::{one.id}" for one in group] for group in groups] == [
        [third, first],
        [second],
    ]  # of fewer facts


def test_what_one_repair_was_seen_to_fix_is_one_group_also_where_it_is_not_named():
    rows = [row(line=number) for number in (1, 2, 3)]
    mends = place(14, [rows[1].nodeid], fixed=["golden/x.yaml::peak-1", "golden/x.yaml::peak-2"])
    groups = by_cause(rows, [mends])
    assert [[one.line for one in group] for group in groups] == [[2, 1], [3]]  # what names it stands first


@pytest.mark.parametrize("other", [{"breaks": 1}, {"fixes": 1}])
def test_a_repair_that_breaks_others_or_fixes_a_single_claim_makes_no_group(other):
    rows = [row(line=1), row(line=2)]
    assert len(by_cause(rows, [place(14, [one.nodeid for one in rows], **other)])) == 2


# ---- messages


def test_a_message_names_file_line_what_was_claimed_and_the_factor():
    assert annotations([row()]) == [
        "::error file=golden/x.yaml,line=4,title=peak a int8 of acme/x1::expected 2 TOP/s, obtained 1 TOP/s, ratio 0.5"
    ]


def test_the_likeliest_cause_is_said_too():
    (line,) = annotations([row(causes=[because("a MAC is counted as one op"), because("something else")])])
    assert line.endswith("ratio 0.5; a MAC is counted as one op")


def test_claims_with_one_cause_are_one_message_at_the_line_of_the_fact_with_its_repair():
    named = because(file="specs/x1.yaml", line=14, path="units.a.clock", repair="4096 MAC", fixes=4, breaks=0)
    (line,) = annotations([row(line=number, causes=[named], headline=f"claim {number}") for number in (1, 2)])
    assert line.startswith("::error file=specs/x1.yaml,line=14,title=2 failing claims::claim 1: expected 2 TOP/s")
    assert line.endswith("half of it (specs/x1.yaml:14: write 4096 MAC). For the same cause: claim 2")


def test_a_long_list_of_claims_is_cut():
    named = because(file="specs/x1.yaml", line=14, fixes=9, breaks=0)
    (line,) = annotations([row(line=n, causes=[named], headline=f"claim {n}.") for n in range(1, NAMED + 4)])
    assert line.endswith(f"claim {NAMED + 1}., and 2 more")


@pytest.mark.parametrize(
    "named",
    [
        {"file": "/usr/lib/rooflint/specs/t4.yaml", "fixes": 2, "breaks": 0},
        {"file": "specs/x1.yaml", "fixes": 2, "breaks": 5},
        {"file": "specs/x1.yaml", "fixes": None, "breaks": None},
    ],
)
def test_what_is_not_settled_by_a_fact_of_the_project_is_said_at_the_claim(named):
    (line,) = annotations([row(causes=[because(line=9, **named)])])
    assert line.startswith("::error file=golden/x.yaml,line=4,")


def test_claims_that_would_have_a_fact_otherwise_each_are_apart():
    rows = [row(line=n, causes=[because(file="specs/x1.yaml", line=9, repair=f"{n}")]) for n in (5, 6)]
    assert len(annotations(rows)) == 2


def test_a_claim_without_a_figure_gives_its_reason():
    (line,) = annotations([row(None, obtained=None, reason="acme/x1 has no unit 'b'")])
    assert line.endswith("::expected 2 TOP/s; acme/x1 has no unit 'b'")


def test_a_problem_may_have_no_file_and_comes_before_claims():
    empty = {"what": "is empty", "file": "golden/y.yaml", "line": 1}
    lines = annotations([row(1e6)], [{"what": "nothing was validated", "file": None, "line": None}, empty])
    assert lines[0] == "::error title=rooflint::nothing was validated"
    assert lines[1] == "::error file=golden/y.yaml,line=1,title=rooflint::is empty"
    assert len(lines) == 3


def test_far_above_is_as_bad_as_far_below():
    # |log 4| > |log 1/3| > |log 2| > |log 0.9|
    lines = annotations([row(ratio, line) for line, ratio in enumerate((0.9, 2, 1 / 3, 4))])
    assert [line.rpartition("ratio ")[2] for line in lines] == ["4", "0.333333", "2", "0.9"]


@pytest.mark.parametrize("ratio", [math.inf, 0.0, -1.0])
def test_an_impossible_factor_is_worse_than_any(ratio):
    lines = annotations([row(1e6, line=1), row(ratio, line=2)])
    assert [line.split("line=")[1][0] for line in lines] == ["2", "1"]


def test_signs_that_github_reads_are_escaped():
    nasty = {"file": "golden/a,b:c%.yaml", "headline": "latency a: b, c"}
    (line,) = annotations([row(**nasty, reason="first\nsecond\r100 %::set-output name=x::y")])
    assert line.count("\n") == line.count("\r") == 0
    assert line.startswith("::error file=golden/a%2Cb%3Ac%25.yaml,line=4,title=latency a%3A b%2C c::")
    assert "first%0Asecond\\u000d100 %25" in line


# ---- with a base


def test_a_changed_line_is_one_message_at_that_line_and_explains_its_claims(evidence):
    found = Evidence.model_validate(evidence | {"claim_changes": claim_changes([cause([CLAIM])])})
    fails = [verdict for _, verdict in Page.of(found).fails]
    problem, other, changed, rest = of_evidence(found, fails)
    assert (problem.rule, other.rule, changed.rule, rest.rule) == ("problem", "problem", "change", "claim")
    assert (changed.file, changed.line, changed.title) == (SPEC, 23, "1 failing claim")
    assert changed.text.startswith("units.tensor_core.macs_per_clock.int8 512 MAC → 64 MAC (1/8): 1 claim fails")
    assert changed.text.endswith("Reverting it alone: 1 claim stops failing, no other fails.")
    assert [one.hardware for one in rest.claims] == ["amd/mi250x", "amd/mi250x"]
    assert [f"{one.file}::{one.id}" for one in changed.claims] == [CLAIM]


@pytest.mark.parametrize(
    ("factor", "shown", "ratio"),
    [("1/16", "1/16", 1 / 16), ("16", "×16", 16), ("7/5", "×1.4", 1.4), ("2.75", "×2.75", 2.75), (None, "", None)],
)
def test_a_factor_is_a_unit_fraction_or_a_decimal_number(evidence, factor, shown, ratio):
    changes = claim_changes([cause([CLAIM], factor=factor)])
    (found,) = culprits(Evidence.model_validate(evidence | {"claim_changes": changes}))
    assert (found.factor, found.ratio) == (shown, ratio)


def test_a_change_that_no_claim_minds_is_no_culprit(evidence):
    changes = claim_changes([cause([CLAIM]), cause([], line=99)])
    found = culprits(Evidence.model_validate(evidence | {"claim_changes": changes}))
    assert [one.place for one in found] == [f"{SPEC}:23"]
    assert culprits(Evidence.model_validate(evidence)) == []


def test_the_diagnosis_of_a_changed_line_is_what_most_of_its_claims_say_of_it():
    at = {"file": "specs/x1.yaml", "line": 14, "repair": "2 GHz"}
    rows = [row(causes=[because("twice", **at)]), row(causes=[because("elsewhere")])]
    rows += [row(causes=[because("half", **at)]) for _ in range(2)]
    change = SimpleNamespace(file="specs/x1.yaml", line=14, path="units.a.clock", base="2.0 GHz")
    assert Culprit(change, rows).words == "half"
    assert Culprit(change, rows[1:2]).words == ""


@pytest.mark.parametrize(
    ("repair", "base", "asks"),
    [
        ("10 Gbit/s", "10.0 Gbit/s", True),
        ("10 Gbit/s", "20.0 Gbit/s", False),
        ("10 Gbit/s", "10.0 GHz", False),
        ("scatter", "scatter", True),
        ("scatter", "gather", False),
        (None, "10.0 Gbit/s", False),
        ("10 Gbit/s", None, False),
    ],
)
def test_a_diagnosis_is_kept_beside_a_changed_line_where_it_asks_for_the_value_of_the_base(repair, base, asks):
    change = SimpleNamespace(file="specs/x1.yaml", line=14, base=base)
    assert bool(likely(row(causes=[because(file="specs/x1.yaml", line=14, repair=repair)]), change)) is asks
    assert not likely(row(causes=[because(file="specs/x1.yaml", line=15, repair=repair)]), change)


def test_where_the_claim_was_changed_a_diagnosis_is_kept_that_accuses_no_fact():
    verdict = row(causes=[because("the clock is half", file="specs/x1.yaml", line=14), because("it is the int8 peak")])
    change = SimpleNamespace(file=verdict.file, line=4, base="1 TOP/s", path="peak-4")
    assert [one.text for one in likely(verdict, change)] == ["it is the int8 peak"]
    assert Culprit(change, [verdict]).words == "it is the int8 peak"


def test_the_clearest_claim_of_a_changed_line_comes_first(evidence):
    figures = [one for one in evidence["verdicts"] if one["outcome"] == "fail"][:1]
    broad, plain, law = (
        figures[0] | {"id": name, "nodeid": f"golden/x.yaml::{name}", "file": "golden/x.yaml", **more}
        for name, more in (
            ("broad", {"facts": figures[0]["facts"] * 2}),
            ("plain", {"facts": figures[0]["facts"][:1]}),
            ("law", {"facts": [], "ratio": None}),
        )
    )
    names = [f"golden/x.yaml::{name}" for name in ("law", "broad", "plain")]
    changes = claim_changes([cause(names), cause(names[2:], line=99)])
    found = Evidence.model_validate(evidence | {"verdicts": [law, broad, plain], "claim_changes": changes})
    # plain has another cause, too
    assert [one.id for one in culprits(found)[0].verdicts] == ["broad", "law", "plain"]
    groups = by_cause(found.verdicts, (), found.claim_changes.causes)
    assert [one.id for one in groups[0]] == ["broad", "law", "plain"]
    assert [one.id for one in by_cause(found.verdicts, (), None)[0]] == ["plain", "broad", "law"]


# ---- SARIF


def test_sarif_has_a_result_for_each_cause_with_the_places_of_its_claims():
    named = because(file="specs/x 1.yaml", line=14, fixes=2, breaks=0)
    rows = [row(line=number, causes=[named]) for number in (1, 2)]
    unread = Problem(what="nothing was validated", file=None, line=None)
    (run,) = json.loads(as_sarif([*messages(rows, [unread])]))["runs"]
    problem, claim = run["results"]
    assert "locations" not in problem
    assert claim["locations"] == [
        {"physicalLocation": {"artifactLocation": {"uri": "specs/x%201.yaml"}, "region": {"startLine": 14}}}
    ]
    assert [one["physicalLocation"]["region"]["startLine"] for one in claim["relatedLocations"]] == [1, 2]
    assert {one["id"]: one["shortDescription"]["text"] for one in run["tool"]["driver"]["rules"]} == {
        name: RULES[name] for name in ("claim", "problem")
    }


def test_sarif_of_a_green_run_has_no_result():
    (run,) = json.loads(as_sarif([]))["runs"]
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])


# ---- Code Quality


def test_code_quality_has_the_fields_that_gitlab_asks_for():
    unread = Problem(what="nothing was validated", file=None, line=None)
    problem, claim = json.loads(as_code_quality([*messages([row()], [unread])]))
    assert problem["location"] == {"path": ".", "lines": {"begin": 1}}
    assert (problem["severity"], problem["check_name"]) == ("blocker", "rooflint-problem")
    assert claim.pop("fingerprint") != problem["fingerprint"]
    assert claim == {
        "description": "expected 2 TOP/s, obtained 1 TOP/s, ratio 0.5",
        "check_name": "rooflint-claim",
        "severity": "major",
        "location": {"path": "golden/x.yaml", "lines": {"begin": 4}},
    }


def test_a_fingerprint_survives_moved_lines_and_new_ratios_and_differs_between_causes():
    def prints(*rows):
        return [one["fingerprint"] for one in json.loads(as_code_quality([*messages(rows, [])]))]

    (first,) = prints(row(id="peak-a"))
    assert prints(row(0.25, line=40, id="peak-a")) == [first]
    assert first not in prints(row(id="peak-b"))
    assert len(set(prints(row(id="peak-a"), row(id="peak-a", nodeid="golden/x.yaml::again")))) == 2
