"""Unguarded figures: counted by hand, with their reasons."""

import pytest

from pytest_rooflint.mutation.unguarded import as_lines, as_table, guards, reasons_of, sentence, too_many
from rooflint_report.differences import MutatedFact

COUNTS = {"unseen": 0, "killable": 0, "survived": 0, "within_digits": 0, "uncorroborated": 0}
PLACE = {"subject": "acme/one", "at": None, "path": "tdp", "line": 1, "display": "20 W"}


def fact(killed, independently=0, *, mutants=4, equivalent=0, kind="power", file="specs/prices/one.yaml", reason=None):
    seen = {"mutants": mutants, "equivalent": equivalent, "killed": killed, "killed_independently": independently}
    rest = {"unseen_classes": [], "would_kill": None, "kind": kind, "file": file, "reason": reason}
    return MutatedFact(**COUNTS, **PLACE, **seen, **rest)


FACTS = [
    fact(0),
    fact(0, reason="one document says it"),
    fact(0, kind="clock", file="specs/two.yaml"),
    fact(3),
    fact(3, 1),
    fact(0, equivalent=4, kind="year of launch"),  # nothing is computed with it
]


def test_a_figure_is_unguarded_where_no_mutant_is_caught_and_repeated_where_none_is_independently():
    found = guards(FACTS)
    assert (found.figures, found.unguarded, found.reasoned, found.repeated) == (5, 3, 1, 1)


def test_kinds_and_files_with_most_unguarded_figures_come_first():
    found = guards(FACTS)
    assert [(one.name, one.figures, one.unguarded, one.repeated) for one in found.kinds] == [
        ("power", 4, 2, 1),
        ("clock", 1, 1, 0),
    ]
    assert [(one.name, one.unguarded) for one in found.files] == [("specs/prices/one.yaml", 2), ("specs/two.yaml", 1)]
    assert as_table(found).rows == (("power", 4, 2, 1, 1), ("clock", 1, 1, 0, 0))


@pytest.mark.parametrize(("ceiling", "over"), [(None, False), (3, False), (2, False), (1, True), (0, True)])
def test_figures_without_a_reason_may_not_exceed_the_ceiling(ceiling, over):
    # three are unguarded, and one of them states why
    assert too_many(guards(FACTS, ceiling)) is over


def test_the_text_has_the_counts_the_kinds_and_the_files():
    assert list(as_lines(guards(FACTS, 2), 80, 5)) == [
        "3 of 5 figures are unguarded, 1 with a reason and 2 without one (at most 2 may",
        "be): no error in them turns a claim red; 1 more are held only by claims without",
        "an independent source",
        "",
        "unguarded figures     figures  unguarded  repeated",
        "power                       4          2         1",
        "clock                       1          1         0",
        "  prices/one                                  2 of    4 figures",
        "  specs/two                                   1 of    1 figures",
    ]


def test_nothing_is_said_where_every_figure_is_guarded():
    assert list(as_lines(guards([fact(3, 1)]), 80, 5)) == []
    assert sentence(guards([fact(3, 1)])).startswith("0 of 1 figures are unguarded: no error in ")
    lacking = "1 of 1 figures are unguarded, 1 without a reason (at most 3 may be): "
    assert sentence(guards([fact(0)], 3)).startswith(lacking)


def test_reasons_name_a_fact_of_the_device_or_of_a_file(repository):
    source = "source: {document: A sheet, where: p. 1, grade: read}\nclaims: [{bits: fp16, expect: 16 bit}]\n"
    repository.write("golden/k1.yaml", f"hardware: acme/k1\nunguarded: {{tdp at low: one sheet}}\n{source}")
    repository.write("golden/all.yaml", f"unguarded: {{events/gpu idle.k1.high: one log}}\n{source}")
    assert reasons_of(repository.suite()) == {
        ("acme/k1", "tdp at low"): "one sheet",
        ("events/gpu", "idle.k1.high"): "one log",
    }
