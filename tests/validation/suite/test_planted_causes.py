"""The law of diagnosis: whatever single error is planted in whatever device, the first three causes hold it."""

import math
import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from pytest_rooflint.mutation.operators import OPERATORS, mutations
from pytest_rooflint.suite.judge import Trial, judge, outcome_of
from pytest_rooflint.suite.suite import Suite

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SUITE = Suite.of([ROOT / "golden"], [ROOT / "model/rooflint/specs"])
REGISTRY = SUITE.registry
EACH = 3
"""Errors that are planted in each device."""
LAW = 0.96
"""Share of them that must be named. What is left is ambiguous by nature: groups or units per group, say.

Which errors are drawn changes with every fact that is added: of 424, three draws missed 8, 16 and 11.
"""


@cache
def green():
    """Claims that pass, but for replays."""
    asked = (claim for claim in SUITE.claims() if claim.expectation and not claim.xfail and not claim.is_replay)
    return [claim for claim in asked if outcome_of(claim, SUITE) == "pass"]


def planted(device, seed):
    """Mutations of a device that some claims catch: (fact, mutation, mutated suite, the claims that fail)."""
    hardware = REGISTRY.get(device)
    lot = random.Random(f"{device} {seed}")
    facts = sorted(hardware.facts.values(), key=lambda fact: fact.path)
    lot.shuffle(facts)
    found = 0
    for fact in facts:
        # a mistyped digit leaves no trace but the figure: the value that it needs is found, its history is not
        # where a fact is missing, a claim says which
        known = [
            slip for slip in mutations(fact, hardware, REGISTRY).accepted if slip.operator not in ("digit", "removed")
        ]
        if not known:
            continue
        slip = lot.choice(known)
        suite = replace(SUITE, registry=REGISTRY.with_fact(fact, slip.fact))
        failing = reddened(fact, suite)
        if failing:
            found += 1
            yield fact, slip, suite, failing
        if found == EACH:
            return


def reddened(fact, suite):
    held = set(REGISTRY.holders(fact))
    own = [claim for claim in green() if claim.hardware in held or claim.architecture]
    return [claim for claim in own if outcome_of(claim, suite) == "fail"]


def is_named(fact, claim, suite):
    """Whether the first three causes of a red claim hold the planted fact and the value that stood there."""
    causes = judge(claim, "", suite, trial=Trial(suite)).causes
    assert len(causes) <= 3
    return any(
        cause.fact
        and (cause.fact.file, cause.fact.line, cause.fact.path) == (fact.file, fact.line, fact.path)
        and cause.repaired
        and math.isclose(cause.repaired.value, fact.value, rel_tol=1e-6)
        for cause in causes
    )


@pytest.fixture(scope="module")
def named():
    """(device, fact, slip, whether it is named) of every planted error."""
    return [
        (device, fact.path, f"{fact.display} → {slip.fact.display}", slip.operator, is_named(fact, failing[0], suite))
        for device in REGISTRY.ids()
        for fact, slip, suite, failing in planted(device, 0)
    ]


def test_a_planted_error_is_among_the_first_three_causes(named):
    missed = [one[:-1] for one in named if not one[-1]]
    assert len(named) > 2 * len(REGISTRY.ids())
    assert len(missed) <= (1 - LAW) * len(named), missed


def test_errors_of_every_class_are_planted_and_named(named):
    by_class = {}
    for *_, name, found in named:
        by_class.setdefault(name, []).append(found)
    assert len(by_class) >= 14  # of 18, one of which, digits, is not planted
    assert set(by_class) < set(OPERATORS)
    assert all(sum(found) >= 0.75 * len(found) for found in by_class.values()), by_class
