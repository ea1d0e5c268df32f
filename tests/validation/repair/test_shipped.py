"""Proposals on the shipped suite: one slip planted in the text of a spec, and the plan that puts the fact back."""

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rooflint.repair.plan import plan
from pytest_rooflint.repair.proposal import State
from pytest_rooflint.repair.spec_repair import place_of
from pytest_rooflint.suite.suite import Suite
from rooflint.base import strict_yaml

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SUITE = Suite.of([ROOT / "golden"], [ROOT / "model/rooflint/specs"])


@cache
def green():
    """The state of the suite as it is."""
    return State.of(SUITE, excuses=True)


def planted(fact, text):
    """The suite with another text for a fact, and its red claims."""
    before = SUITE.text(fact.file)
    suite = SUITE.with_text(fact.file, strict_yaml.with_value(before, place_of(before, fact), text))
    return suite, green().after(SUITE, suite, fact.file, excuses=True)


def planned(suite, state):
    """The plan for every red claim, and the suite with all of it."""
    found = plan(suite, {(key[0].resolve(), name): f"{key[0]}::{name}" for key, name in state.failures.items()}, ROOT)
    assert found.failures == len(state.failures)  # as it is where every claim is judged
    for one in found.proposals:
        suite = suite.with_text(one.file, one.after)
    return found, suite


def test_the_shipped_suite_has_nothing_to_propose():
    assert green().failures == {}
    assert green().problems == frozenset()


@pytest.mark.parametrize(
    ("device", "path", "text"),
    [
        ("nvidia/jetson-agx-orin-64gb", "units.tensor_core.macs_per_clock.int8", "32 MAC"),  # op for MAC, Volta's rate
        ("nvidia/h100-sxm5-80gb", "units.tensor_core.groups", "144"),  # the full die
        ("amd/mi300x", "memories.hbm3.pin_rate", "1.3 Gbit/s"),  # a quarter; no bus has 32768 bit
        ("nvidia/t4", "memories.gddr6.bus", "512 bit"),
    ],
)
def test_a_slip_in_a_shipped_spec_is_put_back_by_one_hunk(device, path, text):
    fact = SUITE.registry.get(device).facts[path]
    suite, state = planted(fact, text)
    assert state.failures
    found, fixed = planned(suite, state)
    (one,) = found.proposals
    assert (one.file, one.line, one.what, one.old) == (fact.file, fact.line, path, text)
    assert one.new == fact.display
    assert state.after(suite, fixed, one.file, excuses=True) == green()


def facts():
    """Facts of the shipped devices that peaks, bandwidths and powers rest on."""
    devices = map(SUITE.registry.get, SUITE.devices())
    found = (fact for device in devices for fact in device.facts.values())
    chosen = (fact for fact in found if fact.path.split(".")[0] in ("units", "memories", "tdp"))
    return sorted(set(chosen), key=lambda fact: (fact.path, fact.display, str(fact.file), fact.line))


@given(st.deferred(lambda: st.sampled_from(facts())), st.sampled_from([2, 0.5, 4, 16, 1 / 16, 1.1]))
@settings(max_examples=6, deadline=None)
def test_no_plan_makes_anything_worse_and_no_two_hunks_are_for_one_claim(fact, factor):
    suite, state = planted(fact, fact.with_value(fact.value * factor).display)
    if state.problems != green().problems:  # the spec itself is refused
        return
    found, fixed = planned(suite, state)
    assert State.of(fixed, excuses=True).objection(state) is None
    named_once = [name for one in found.proposals for name in one.fixes]
    assert len(named_once) == len(set(named_once))
    assert set(named_once).isdisjoint(name for name, _ in found.refusals)
    assert len(named_once) + len(found.refusals) == found.failures
