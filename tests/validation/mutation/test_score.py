"""The mutation score: counts, missing claims, and the record as text and Markdown; all from outcomes set by hand."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_rooflint.golden.expect import parse_expectation
from pytest_rooflint.mutation.operators import Mutation
from pytest_rooflint.mutation.outcome import Group, Mutant, Outcome, Subject
from pytest_rooflint.mutation.printed import as_md, as_text
from pytest_rooflint.mutation.score import Result, missing_claim, score_of, tally, total

BODY = """\
    tdp: [20 W, wp, p. 1]
    powers: {typical: [12 W, wp, p. 1]}
    parts: {gcd: [2, wp, p. 1]}
    clocks: {base: [800 MHz, wp, p. 2]}
    full_die: {SM: [10, wp, p. 2]}
    units:
      cores:
        group: SM
        groups: [8, wp, p. 2]
        per_group: [16, wp, p. 2]
        clock: [1200 MHz, wp, p. 2]
        macs_per_clock: {fp32: [2 MAC, wp, p. 3], int8: [8 MAC, wp, p. 3]}
        sparsity: {int8: [2, wp, p. 4]}
        circuit: simd_packed
    memories:
      hbm: {capacity: [16 GiB, wp, p. 5], bandwidth: [256 GB/s, wp, p. 5]}
    caches: {l2: {capacity: [4 MiB, wp, p. 5]}}
    operating_points:
      low: {tdp: [10 W, wp, p. 7]}
"""
CLOCK, TDP = "units.cores.clock", "tdp"
KILLED, SURVIVED = Outcome("killable", "a", "a"), Outcome("killable", None, "a")
DIGITS, BESIDE = Outcome("within-digits"), Outcome("uncorroborated", "b")
FINER = ", with more digits than those of the claims that are there"
UNSEEN, SAME = Outcome("uncorroborated"), Outcome("equivalent")


@pytest.fixture
def subject(specs):
    return Subject(specs.device(BODY), is_architecture=False)


@pytest.fixture
def mutant(subject):
    """`mutant(CLOCK, 2)`: that fact times a factor."""

    def made(path, factor, operator="factor-2"):
        fact = subject.hardware.facts[path]
        wrong = fact.with_value(fact.value * factor)
        return Mutant(fact, Mutation(operator, f"{factor} times the value", wrong))

    return made


def backing(*places):
    """A baseline in which the claim `a` is corroborated, and peaks rest on these lines."""
    return SimpleNamespace(backed=frozenset(places), independent=frozenset({"a", "r"}), recalled=frozenset({"r"}))


@pytest.fixture
def result(subject, mutant):
    """Of 7 mutants 1 is equivalent and 3 are killed, two of the clock by `a` and one of the TDP by another claim."""
    clock = [mutant(CLOCK, 2), mutant(CLOCK, 0.5), mutant(CLOCK, 1.5, "digit"), mutant(CLOCK, 1.001, "digit")]
    power = [mutant(TDP, 2), mutant(TDP, 1.1, "digit"), mutant(TDP, 0.9, "digit")]
    group = Group(subject, (*clock, *power), ("prefix", "digit", "prefix"))
    outcomes = (KILLED, KILLED, SURVIVED, DIGITS, BESIDE, UNSEEN, SAME)
    return lambda only=None: Result.of(group, outcomes, backing(clock[0].fact.place), only)


@pytest.fixture
def baseline():
    """One claim of ± 4 % although four digits are printed."""
    expectation = parse_expectation("102.4 GB/s ± 4 %")
    claim = SimpleNamespace(
        kind="bandwidth", subject="hbm", file=Path("golden/one.yaml"), line=7, expectation=expectation
    )
    return SimpleNamespace(by_id={"a": SimpleNamespace(claim=claim, printed=parse_expectation("102.4 GB/s"))})


# ---- counts


def test_mutants_are_counted_by_outcome(result):
    counts = tally(result().rows)
    assert dict(counts) == {
        "mutants": 7,
        "equivalent": 1,
        "killed": 3,
        "killed_independently": 2,
        "killed_by_recalled": 0,
        "unseen": 3,  # one survivor, one within digits, one uncorroborated
        "killable": 3,
        "survived": 1,
        "within_digits": 1,
        "uncorroborated": 2,
    }


def test_gross_mutants_are_a_factor_of_two_on_a_backed_fact(result, subject, mutant):
    assert [row.mutant.ratio for row in result().gross] == [2, 0.5]
    assert [row.mutant.ratio for row in result().survivors] == [1.5]  # no gross one
    group = Group(subject, (mutant(CLOCK, 2), mutant(CLOCK, 1.9)), ())
    missed = Result.of(group, (UNSEEN, SURVIVED), backing(group.mutants[0].fact.place))
    assert [row.mutant.ratio for row in missed.survivors] == [2, 1.9]


def test_one_operator_is_scored_alone(result):
    assert [row.mutant.ratio for row in result("digit").rows] == pytest.approx([1.5, 1.001, 1.1, 0.9])
    assert result("digit").refused == {"digit": 1}
    assert result().refused == {"prefix": 2, "digit": 1}


@pytest.fixture
def held(baseline):
    """`held(result, floor, independent_floor)`: whether the score of one file holds."""
    return lambda result, *floors: total([score_of(result, baseline)], *floors).holds


@pytest.mark.parametrize(("floor", "expected"), [(None, None), (0.4, True), (0.5, True), (0.51, False)])
def test_a_score_holds_on_its_floor(result, held, floor, expected):
    assert held(result(), floor) is expected


@pytest.mark.parametrize(("floor", "expected"), [(0.3, True), (2 / 6, True), (0.34, False)])
def test_the_share_of_independent_sources_holds_on_its_own_floor(result, held, floor, expected):
    assert held(result(), 0.5, floor) is expected
    assert held(result(), None, floor) is expected


def test_no_floor_holds_with_a_gross_survivor_or_without_a_score(subject, mutant, held):
    twice = mutant(CLOCK, 2)
    group = Group(subject, (mutant(CLOCK, 1.5), twice), ())
    assert held(Result.of(group, (KILLED, UNSEEN), backing(twice.fact.place)), 0.5) is False
    assert held(Result.of(group, (KILLED, UNSEEN), backing()), 0.5) is True
    assert held(Result.of(group, (SAME, SAME), backing()), 0.0) is False


# ---- missing claims


@pytest.mark.parametrize(
    ("path", "claim"),
    [
        ("units.cores.groups", "count: SM of acme/one"),
        ("units.cores.per_group", "count: cores of acme/one"),
        ("units.cores.clock", "clock: cores of acme/one"),
        ("clocks.base", "clock: base of acme/one"),
        ("units.cores.macs_per_clock.int8", "peak: cores int8 of acme/one"),
        ("units.cores.sparsity.int8", "sparsity: cores int8 of acme/one"),
        ("memories.hbm.capacity", "capacity: hbm of acme/one"),
        ("memories.hbm.bandwidth", "bandwidth: hbm of acme/one"),
        ("caches.l2.capacity", "capacity: l2 of acme/one"),
        ("tdp", "tdp: rated of acme/one"),
        ("powers.typical", "tdp: typical of acme/one"),
        ("full_die.SM", "full_die: SM of acme/one"),
        ("parts.gcd", "a peak, count or capacity per gcd of acme/one"),
    ],
)
def test_a_mutant_that_no_claim_is_about_asks_for_one_about_its_figure(subject, mutant, result, baseline, path, claim):
    row = Result.of(Group(subject, (mutant(path, 2),), ()), (UNSEEN,), backing()).rows[0]
    assert missing_claim(row, baseline) == f"{claim}, from a document other than 'White paper'"
    whole = Subject(subject.hardware, is_architecture=True)
    row = Result.of(Group(whole, (mutant(path, 2),), ()), (DIGITS,), backing()).rows[0]
    whose = "acme/one" if claim.startswith("sparsity") else "a device with acme/one"
    about = claim.replace("acme/one", whose)
    assert missing_claim(row, baseline) == f"{about}, from a document other than 'White paper'{FINER}"


def test_a_fact_whose_claims_leave_room_is_told_that_they_are_there(subject, mutant, baseline):
    group = Group(subject, (mutant(TDP, 1.01), mutant(TDP, 1.02)), ())
    for second, more in ((DIGITS, FINER), (UNSEEN, "")):
        (found,) = score_of(Result.of(group, (DIGITS, second), backing()), baseline).facts
        assert found.would_kill == f"tdp: rated of acme/one, from a document other than 'White paper'{more}"


def test_a_survivor_asks_for_the_printed_digits_of_its_witness(result, baseline):
    # 102.4 has four digits: 0.05 / 102.4 = 0.049 %
    (survivor,) = result().survivors
    assert missing_claim(survivor, baseline) == (
        "bandwidth: hbm at golden/one.yaml:7, if it allowed the ±0.049 % of its printed digits and not ±4 %"
    )


def test_a_fact_of_an_operating_point_names_it(subject, mutant, baseline):
    low = subject.hardware.operating_points["low"]["tdp"]
    group = Group(subject, (Mutant(low, Mutation("factor-2", "twice", low.with_value(20.0))),), ())
    row = Result.of(group, (UNSEEN,), backing()).rows[0]
    assert missing_claim(row, baseline).startswith("tdp: rated at low of acme/one, from")


# ---- the record


def test_the_record_counts_by_operator_file_and_fact(result, baseline, subject):
    found = total([score_of(result(), baseline)], 0.9)
    assert (found.score, found.floor, found.holds, found.counts.refused) == (3 / 6, 0.9, False, 3)
    assert (found.gross.mutants, found.gross.killed) == (2, 2)
    classes = {one.name: (one.mutants, one.killed, one.unseen, one.refused) for one in found.classes}
    assert classes == {"prefix": (0, 0, 0, 2), "factor-2": (3, 3, 0, 0), "digit": (4, 0, 3, 1)}
    (one,) = found.subjects
    assert (one.id, one.architecture, one.mutants, one.score) == ("acme/one", False, 7, 3 / 6)
    kinds = {one.name: (one.mutants, one.score, one.independent) for one in found.kinds}
    assert kinds == {"power": (3, 1 / 2, 0), "clock": (4, 2 / 4, 2 / 4)}
    assert found.equivalents == {"what the fact gives way to is the same": 1}
    clock, power = found.facts
    assert (clock.path, clock.display, clock.mutants, clock.unseen_classes) == (CLOCK, "1200 MHz", 4, ["digit"])
    assert clock.line == subject.hardware.facts[CLOCK].line
    assert power.would_kill == "tdp: rated of acme/one, from a document other than 'White paper'"
    (survivor,) = found.survivors
    assert (survivor.class_, survivor.mutated, survivor.ratio, survivor.at) == ("digit", "1800 MHz", 1.5, None)


def test_the_score_of_all_files_is_the_sum_of_theirs(result, baseline, subject, mutant):
    every, digits = score_of(result(), baseline), score_of(result("digit"), baseline)
    found = total([every, digits], 0.3)
    # 7 and 4 mutants, of which 3 and 0 are killed; one equivalent in each
    assert (found.counts.mutants, found.counts.killed, found.counts.equivalent, found.counts.refused) == (11, 3, 2, 4)
    assert (found.score, found.holds) == (3 / 9, True)
    assert (found.gross.mutants, found.gross.killed) == (2, 2)
    assert [(one.name, one.mutants, one.refused) for one in found.classes] == [
        ("prefix", 0, 2),
        ("factor-2", 3, 0),
        ("digit", 8, 2),
    ]
    assert {one.name: one.mutants for one in found.kinds} == {"power": 5, "clock": 6}
    assert found.equivalents == {"what the fact gives way to is the same": 2}
    assert found.facts == [*every.facts, *digits.facts]
    assert total([]).score is None


def test_a_reason_is_that_of_its_fact(result, baseline):
    found = total([score_of(result(), baseline)], reasons={("acme/one", TDP): "one document", ("acme/two", CLOCK): "x"})
    assert [fact.reason for fact in found.facts] == [None, "one document"]


def test_survivors_are_listed_farthest_off_first(subject, mutant, baseline):
    mutants = [mutant(CLOCK, 1.1), mutant(TDP, 1.1), mutant(CLOCK, 0.25), mutant(CLOCK, 3)]
    found = total(
        [score_of(Result.of(Group(subject, (one,), ()), (SURVIVED,), backing()), baseline) for one in mutants]
    )
    # 1/0.25 is 4; the TDP stands above the clock in the file
    expected = [(CLOCK, 0.25), (CLOCK, 3), (TDP, 1.1), (CLOCK, 1.1)]
    assert [(one.path, pytest.approx(one.ratio)) for one in found.survivors] == expected


def test_files_in_which_most_goes_unseen_come_first(subject, mutant, baseline):
    rest = Subject(replace(subject.hardware, id="acme/two", file=Path("two.yaml")), is_architecture=True)
    groups = [Group(subject, (mutant(CLOCK, 2), mutant(CLOCK, 3)), ()), Group(rest, (mutant(CLOCK, 2),), ())]

    def scored(*outcomes):
        pairs = zip(groups, outcomes, strict=True)
        return total([score_of(Result.of(group, some, backing()), baseline) for group, some in pairs])

    assert [
        (one.id, one.architecture, one.unseen, one.mutants) for one in scored((KILLED, UNSEEN), (SAME,)).subjects
    ] == [
        ("acme/one", False, 1, 2),
        ("acme/two", True, 0, 1),
    ]
    assert [one.id for one in scored((KILLED, UNSEEN), (UNSEEN,)).subjects] == ["acme/two", "acme/one"]


def test_a_gross_mutant_that_is_missed_is_listed_with_the_survivors(subject, mutant, baseline):
    twice, more = mutant(CLOCK, 2), mutant(CLOCK, 1.5)
    group = Group(subject, (more, twice), ())
    found = total([score_of(Result.of(group, (SURVIVED, UNSEEN), backing(twice.fact.place)), baseline)])
    assert [one.ratio for one in found.survivors] == [2, 1.5]
    assert (found.gross.mutants, found.gross.killed) == (1, 0)


# ---- text and Markdown


def test_the_text_has_the_score_the_counts_and_what_is_missed(result, baseline, specs):
    file = specs.root / "hardware/acme/one.yaml"
    found = total([score_of(result(), baseline)], 0.9)
    place = found.survivors[0].file
    lines = as_text(found).replace(place, "one.yaml").splitlines()
    assert place.endswith(file.name)
    assert lines[:3] == [
        "mutation score 50 % (floor 90 %): 3 of 6 mutants killed",
        "killed by an independent source 33.3 %: 2 of 6",
        "×2 and more on corroborated peaks and bandwidths: 2 of 2 killed",
    ]
    # 3, 1, 2 and 1 of 7; one is killed besides, three are not caught
    assert " ".join(lines[3 : lines.index("")]) == (
        "of 7 mutants 42.9 % are killable, 14.3 % within the printed digits, 28.6 % uncorroborated, 14.3 % equivalent; "
        "42.9 % are not caught; 3 more mutations are refused by the schema"
    )
    assert lines[lines.index("") :] == [
        "",
        "kind of fact          mutants  equiv.  killed  independ.  unseen  survived",
        "power                       3       1       1          0       1         0",
        "clock                       4       0       2          2       2         1",
        "",
        "operator              mutants  equiv.  killed  independ.  unseen  survived",
        "prefix                      0       0       0          0       0         0",
        "factor-2                    3       0       3          2       0         0",
        "digit                       4       1       0          0       3         1",
        "all                         7       1       3          2       3         1",
        "",
        "0 of 2 figures are unguarded: no error in them turns a claim red; 1 more are",
        "held only by claims without an independent source",
        "",
        "most mutants not caught",
        "  acme/one                                    3 of    7 mutants, 1 survivors",
        "",
        "survivor  one.yaml:14",
        "          units.cores.clock: 1200 MHz → 1800 MHz (digit: 1.5 times the value)",
        "          would be killed by: bandwidth: hbm at golden/one.yaml:7, if it allowed",
        "          the ±0.049 % of its printed digits and not ±4 %",
        "",
        "unseen    one.yaml:14",
        "          units.cores.clock: 1200 MHz, 2 of 4 mutants not caught",
        "          would be killed by: clock: cores of acme/one, from a document other",
        "          than 'White paper'",
        "",
        "unseen    one.yaml:4",
        "          tdp: 20 W, 1 of 3 mutants not caught",
        "          would be killed by: tdp: rated of acme/one, from a document other than",
        "          'White paper'",
    ]


def test_kills_by_recalled_documents_alone_are_said(subject, mutant, baseline):
    group = Group(subject, (mutant(CLOCK, 2), mutant(CLOCK, 3), mutant(TDP, 2)), ())
    remembered = Outcome("killable", "r", "r")
    found = total([score_of(Result.of(group, (KILLED, remembered, BESIDE), backing()), baseline)])
    assert found.counts.killed_by_recalled == 1
    said = "killed by an independent source 66.6 %: 2 of 3, 1 by documents that are only recalled"
    assert f" {said} " in " ".join(as_text(found).split())


def test_lists_are_cut_to_as_many_as_asked_for(result, baseline):
    found = total([score_of(result(), baseline)])
    alone = as_text(found, 0).splitlines()
    assert (len(alone), alone[-1]) == (4, "`rooflint mutate` lists what is not caught")
    assert "… and 1 more facts (--survivors all)" in as_text(found, 1)
    assert "more" not in as_text(found, None).partition("survivor ")[2]


def test_nothing_is_said_of_what_is_all_caught(subject, mutant, baseline):
    found = total([score_of(Result.of(Group(subject, (mutant(CLOCK, 2),), ()), (KILLED,), backing()), baseline)])
    text = as_text(found)
    assert text.startswith("mutation score 100 %: 1 of 1 mutants killed\n")
    assert "most mutants" not in text
    assert text.endswith("all                         1       0       1          1       0         0\n")


def test_markdown_has_the_same_as_tables(result, baseline):
    found = total([score_of(result(), baseline)])
    place = found.survivors[0].file
    assert as_md(found).replace(place, "one.yaml").split("\n\n") == [
        "## Mutation score",
        "- mutation score 50 %: 3 of 6 mutants killed\n"
        "- killed by an independent source 33.3 %: 2 of 6\n"
        "- ×2 and more on corroborated peaks and bandwidths: 2 of 2 killed\n"
        "- of 7 mutants 42.9 % are killable, 14.3 % within the printed digits, 28.6 % uncorroborated, "
        "14.3 % equivalent; 42.9 % are not caught; "
        "3 more mutations are refused by the schema",
        "| kind of fact | mutants | equivalent | killed | independently | unseen | survived |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n"
        "| power | 3 | 1 | 1 | 0 | 1 | 0 |\n"
        "| clock | 4 | 0 | 2 | 2 | 2 | 1 |",
        "\n| operator | mutants | equivalent | killed | independently | unseen | survived |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n"
        "| prefix | 0 | 0 | 0 | 0 | 0 | 0 |\n"
        "| factor-2 | 3 | 0 | 3 | 2 | 0 | 0 |\n"
        "| digit | 4 | 1 | 0 | 0 | 3 | 1 |\n"
        "| all | 7 | 1 | 3 | 2 | 3 | 1 |",
        "\n0 of 2 figures are unguarded: no error in them turns a claim red; 1 more are held only by claims without "
        "an independent source",
        "| survivor | fact | from | to | operator | would be killed by |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| one.yaml:14 | units.cores.clock | 1200 MHz | 1800 MHz | digit | bandwidth: hbm at golden/one.yaml:7, "
        "if it allowed the ±0.049 % of its printed digits and not ±4 % |\n",
    ]
    assert "| survivor |" not in as_md(found, 0)
