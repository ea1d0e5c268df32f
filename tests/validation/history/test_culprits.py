"""Causes of failures against a base: changes of facts and of claims planted in a tiny repository.

The last test draws pull requests on the shipped specs and golden files.
"""

import random
import re
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_rooflint.history import culprits
from pytest_rooflint.history.claim_sides import ClaimSide
from pytest_rooflint.history.culprits import causes
from pytest_rooflint.history.side import Specs
from pytest_rooflint.mutation import tables
from pytest_rooflint.mutation.baseline import checking
from pytest_rooflint.mutation.outcome import group_of, subjects
from pytest_rooflint.repair.spec_repair import place_of
from rooflint.base import strict_yaml
from rooflint.base.errors import InputError, shown
from rooflint.base.strict_yaml import PlaceError

GOLDEN = "golden/x1.yaml"
MORE = "golden/more.yaml"
X1, X2 = "specs/hardware/acme/x1.yaml", "specs/hardware/acme/x2.yaml"
A1 = "specs/architectures/acme/a1.yaml"


def lines(found):
    """File and line of each change that makes a claim fail, in their order."""
    return [(one.file, one.line) for one in found.causes.changes if one.claims]


def test_nothing_fails_and_there_is_no_cause(guarded, against):
    assert against(guarded).causes is None
    guarded.edit(MORE, "± 3 %", "± 4 %")
    assert against(guarded).causes is None


def test_one_wrong_fact_is_the_cause_of_all_that_fail(guarded, against):
    line = guarded.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = against(guarded).causes
    (cause,) = found.changes
    assert (cause.file, cause.line, cause.path) == (X1, line, "memories.lpddr5.pin_rate")
    assert (cause.base, cause.head) == ("6.4 Gbit/s", "12.8 Gbit/s")
    assert set(cause.claims) == set(cause.fixes) == set(found.failing) == set(found.all_.fixes)
    assert (cause.breaks, found.pairs, found.unexplained, found.untried) == ([], [], [], 0)
    assert found.text == f"1 changed line makes {len(found.failing)} claims fail"


BOX = """\
name: Acme box
device: acme/x1
link: ring
topology: host
sources: {brief: {document: Acme box brief, grade: read}}
devices: [4, brief, p. 1]
"""
BOXED = """\
hardware: acme/box
source: {document: Acme box data sheet, where: p. 1, grade: read}
claims:
  - {link: ring, expect: 1200 GB/s}
"""


def test_a_wrong_fact_of_a_system_is_the_cause(guarded, git, against):
    guarded.edit(X1, "memories:", "links: {ring: {count: [6, brief, p. 4], rate: [25 GB/s, brief, p. 4]}}\nmemories:")
    guarded.write("specs/systems/acme/box.yaml", BOX)
    guarded.write("golden/box.yaml", BOXED)
    git(guarded.root, "add", "-A")
    git(guarded.root, "commit", "-qm", "Join four")
    line = guarded.edit("specs/systems/acme/box.yaml", "devices: [4", "devices: [8")
    found = against(guarded).causes
    assert [(one.file, one.line, one.path, one.base) for one in found.changes] == [
        ("specs/systems/acme/box.yaml", line, "devices", "4"),
    ]
    assert found.changes[0].fixes == ["golden/box.yaml::link-ring"]


def test_a_removed_value_is_the_cause_though_the_architecture_states_another(family, git, against):
    family.edit(A1, "6.4 Gbit/s", "3.2 Gbit/s")
    for device in (X1, X2):
        family.edit(device, "bus: [", "pin_rate: [6.4 Gbit/s, brief, p. 3], bus: [")
    git(family.root, "commit", "-qam", "Faster memory")
    line = family.edit(X1, "pin_rate: [6.4 Gbit/s, brief, p. 3], ", "")
    found = against(family)
    assert lines(found) == [(X1, line)]
    assert [(one.base, one.head) for one in found.causes.changes] == [("6.4 Gbit/s", "3.2 Gbit/s")]


def test_a_changed_expectation_is_the_cause_at_its_line(guarded, against):
    line = guarded.edit(GOLDEN, "count: core, expect: 4", "count: core, expect: 5")
    found = against(guarded).causes
    (cause,) = found.changes
    assert lines(against(guarded)) == [(GOLDEN, line)]
    assert (cause.path, cause.base, cause.head) == ("count-core", "4", "5")
    assert cause.fixes == found.failing == [f"{GOLDEN}::count-core"]


def test_a_harmless_change_beside_a_wrong_one_is_no_cause(guarded, against):
    guarded.edit(MORE, "102 GB/s ± 3 %", "102.4 GB/s ± 3 %")
    line = guarded.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = against(guarded)
    assert lines(found) == [(X1, line)]
    assert [one.path for one in found.causes.changes if not one.claims] == ["bandwidth-lpddr5"]


def test_two_wrong_facts_of_one_product_are_both_needed(guarded, against):
    rate = guarded.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    cores = guarded.edit(X1, "groups: [4,", "groups: [8,")
    found = against(guarded)
    assert sorted(lines(found)) == sorted([(X1, rate), (X1, cores)])
    (pair,) = found.causes.pairs
    assert set(pair.fixes) | {name for one in found.causes.changes for name in one.fixes} == set(found.causes.failing)


def test_a_fact_and_the_expectation_that_follows_it_to_another_value_are_both_named(guarded, against):
    # 4 cores, claimed as 4, are now 8, claimed as 5: neither alone is right again
    fact = guarded.edit(X1, "groups: [4,", "groups: [8,")
    claim = guarded.edit(GOLDEN, "count: core, expect: 4", "count: core, expect: 5")
    found = against(guarded)
    assert sorted(lines(found)) == sorted([(X1, fact), (GOLDEN, claim)])
    pair = found.causes.pairs[0]
    assert pair.fixes == [f"{GOLDEN}::count-core"]


def test_a_new_claim_fails_because_of_the_fact_that_it_finds_wrong(guarded, against):
    line = guarded.edit(X1, "groups: [4,", "groups: [8,")
    guarded.edit(MORE, "8.0 GB}\n", "8.0 GB}\n  - {count: core, expect: 4}\n")
    found = against(guarded)
    assert lines(found) == [(X1, line)]
    guarded.edit(X1, "groups: [8,", "groups: [4,")
    new = guarded.edit(MORE, "count: core, expect: 4", "count: core, expect: 5")
    found = against(guarded)
    assert lines(found) == [(MORE, new)]
    assert (found.causes.changes[0].base, found.causes.changes[0].head) == (None, "5")


LOW = "low: {tdp: [7 W, brief, p. 4], units.mac_array.clock: [500 MHz, brief, p. 4]}"
NO_CLOCK = "low: {tdp: [7 W, brief, p. 4]}"


def test_a_removed_fact_of_an_operating_point_is_the_cause(guarded, against):
    guarded.edit(X1, LOW, NO_CLOCK)
    (cause,) = against(guarded).causes.changes
    assert (cause.path, cause.at, cause.base, cause.head) == ("units.mac_array.clock", "low", "500 MHz", None)
    assert cause.fixes == [f"{GOLDEN}::peak-mac_array-int8-at-low"]


def test_an_added_fact_of_an_operating_point_is_the_cause(guarded, against, git):
    guarded.edit(X1, LOW, NO_CLOCK)
    guarded.edit(GOLDEN, "at: low, expect: 16.4 TOP/s", "at: low, expect: 32.8 TOP/s")
    git(guarded.root, "commit", "-qam", "No clock")
    line = guarded.edit(X1, NO_CLOCK, LOW)
    found = against(guarded)
    assert lines(found) == [(X1, line)]
    assert found.causes.changes[0].base is None


def test_reverting_a_right_fact_that_its_claims_follow_breaks_them(guarded, against):
    # 8 cores on both sides are right together; the rate is wrong
    guarded.edit(X1, "groups: [4,", "groups: [8,")
    for old, new in (("32.8 TOP/s}", "65.5 TOP/s}"), ("16.4 TOP", "32.8 TOP"), ("8.19 TFLOP", "16.4 TFLOP")):
        guarded.edit(GOLDEN, old, new)
    guarded.edit(GOLDEN, "32.8 TOP/s / 102.4", "65.5 TOP/s / 102.4")
    guarded.edit(GOLDEN, "count: core, expect: 4", "count: core, expect: 8")
    line = guarded.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = against(guarded)
    assert lines(found) == [(X1, line)]
    assert [one.path for one in found.causes.changes if one.breaks]  # the cores


@pytest.mark.slow
def test_laws_that_too_many_changes_concern_are_judged_without_all_of_them_only(guarded, against, monkeypatch):
    source = 'source: {document: "A book of laws", where: p. 1, grade: read}\n'
    guarded.write("golden/laws.yaml", f"{source}claims:\n  - {{monotone: peak width}}\n")
    guarded.edit(X1, "int8: [4096 MAC", "int8: [512 MAC")  # below the 1024 MAC of fp16
    law = "golden/laws.yaml::monotone-peak-width"
    for most, is_tried in ((2, True), (1, False)):
        monkeypatch.setattr(culprits, "OF_LAWS", most)
        found = against(guarded).causes
        (change,) = (one for one in found.changes if one.path.endswith("int8"))
        assert law in change.claims
        assert law in found.all_.fixes
        assert (law in change.fixes) == is_tried


# ---- random pull requests on the shipped specs, with the mutation operators

REQUESTS = 60
FACTORS = (0.25, 0.5, 0.9, 1.25, 2, 16, 1000)


class PullRequests:
    """Draws changes of spec and golden files, each of which makes a claim fail alone, other than a law."""

    def __init__(self, suite, seed):
        self.suite, self.draw = suite, random.Random(seed)
        self.before = self.side(suite)
        self.judged = [self.before.judge(claim) for claim in checking(suite)]
        self.subjects = list(subjects(suite))
        self.quoting = [one for one in self.judged if one.outcome == "pass" and one.claim.expectation]

    def side(self, suite):
        top = suite.golden_roots[0].parent
        return ClaimSide(suite, Specs("specs", suite.spec_roots, suite.registry), top, top)

    def of(self, number):
        """Text of each changed file by path, and the changed lines; about half of them concern one device."""
        texts, lines, device = {}, [], None
        while len(lines) < number:
            near = device if self.draw.random() < 0.6 else None
            with suppress(PlaceError, InputError, LookupError, ValueError):
                file, line, change, name = self.golden(near) if self.draw.random() < 0.35 else self.spec(near)
                changed = change(texts.get(file, self.suite.text(file)))
                if (file, line) not in lines and self.fails({file: change(self.suite.text(file))}):
                    texts[file], device = changed, device or name
                    lines.append((file, line))
        return texts, lines

    def spec(self, device):
        subject = self.draw.choice([one for one in self.subjects if device in (None, one.id)])
        mutant = self.draw.choice(group_of(subject, self.suite).mutants)
        fact, wrong = mutant.fact, mutant.mutation.fact

        def change(text):
            path = place_of(text, fact)
            if wrong:
                return strict_yaml.with_value(text, path, wrong.display)
            rows = text.splitlines(keepends=True)
            key = re.escape(str(path[-2]))
            rows[fact.line - 1] = re.sub(rf"\b{key}: \[[^]\n]*\](, )?", "", rows[fact.line - 1], count=1)
            return "".join(rows)

        return fact.file, fact.line, change, subject.id

    def golden(self, device):
        one = self.draw.choice([one for one in self.quoting if device in (None, one.claim.hardware)])
        golden = self.suite.read(one.claim.file)
        path = ("claims", golden.claims.index(one.claim), "expect")
        factor = self.draw.choice(FACTORS)

        def change(text):
            old = strict_yaml.value_at(text, path)
            number = re.match(r"[0-9.]+", old)[0]
            return strict_yaml.with_value(text, path, f"{float(number) * factor:.10g}{old[len(number) :]}")

        return golden.file, golden.document.line(path), change, one.claim.hardware

    def head(self, texts):
        """The sides of a request with the pairs of its claims; a claim that reads nothing of it is not judged again."""
        suite = self.suite
        for file, text in texts.items():
            suite = suite.with_text(file, text)
        after, found = self.side(suite), []
        names = {one.key for one in self.subjects if one.hardware.file in texts}
        names |= {
            ("device", one.id) for one in suite.registry.readable() if ("architecture", one.architecture) in names
        }
        for old, claim in zip(self.judged, checking(suite), strict=True):
            read = old.read
            touched = {claim.file, *read.goldens, *(Path(place[0]) for place in read.places)} & texts.keys()
            goldens = any(map(suite.owns, texts)) and read.any_golden(claim)
            found.append((old, after.judge(claim) if touched or goldens or names & read.names else old))
        return after, found

    def fails(self, texts):
        after, found = self.head(texts)
        for file in filter(after.suite.owns, texts):  # each raises where a file cannot be read
            after.suite.read(file)
        for one in self.subjects:
            if one.table and one.hardware.file in texts:
                tables.facts_of(one.table, one.hardware.file, after.suite.registry)
        if set(self.suite.devices()) != {one.id for one in after.suite.readable()}:
            return False
        return any(new.outcome == "fail" and old.outcome != "fail" for old, new in found)


@pytest.mark.slow
def test_of_random_pull_requests_exactly_the_changed_lines_are_named(shipped_suite):
    requests, right, strangers = PullRequests(shipped_suite, 18), 0, []
    for number in range(REQUESTS):
        texts, lines = requests.of(1 + number % 3)
        changed = {(shown(file), line) for file, line in lines}
        found = causes(requests.before, *requests.head(texts))
        named = {(one.file, one.line) for one in found.changes if one.claims} if found else set()
        right += named == changed
        strangers += [one for one in (found.changes if found else ()) if (one.file, one.line) not in changed]
    assert strangers == []  # so that an unchanged line never is the first
    assert right >= 0.98 * REQUESTS


def test_what_no_change_explains_is_counted_with_the_changes_that_were_not_tried():
    assert culprits._sentence(34, 1, 0, 0) == "1 changed line makes 34 claims fail"
    assert (
        culprits._sentence(3, 2, 1, 0)
        == "2 changed lines make 2 claims fail; no changed line explains why 1 claim fails"
    )
    assert culprits._sentence(2, 0, 2, 5) == "no changed line explains why 2 claims fail (5 changes not tried)"


@pytest.mark.parametrize(
    ("base", "head", "factor"),
    [
        *[("512 MAC", "32 MAC", "1/16"), ("6.4 Gbit/s", "12.8 Gbit/s", "2"), ("4", "5", "5/4"), ("5 W", "5 GB", None)],
        *[(None, "5 W", None), ("memory", "compute", None), ("1000 MHz", "1001 MHz", "1.001"), ("10 W", "3 W", "0.3")],
    ],
)
def test_the_factor_of_a_change_is_head_over_base(base, head, factor):
    assert culprits._factor(base, head) == factor
