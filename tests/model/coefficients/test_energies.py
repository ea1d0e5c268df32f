"""Energies of a node and of a memory, asked for by exact names."""

import pytest

from rooflint.base.units import DIMENSIONLESS, JOULES, JOULES_PER_BYTE, JOULES_PER_BYTE_M, JOULES_PER_OP
from rooflint.coefficients.ranges import UnknownCoefficientError


@pytest.fixture
def node(energies):
    return energies.read().process("45 nm")


@pytest.mark.parametrize(
    ("kind", "of", "value", "dimension"),
    [
        ("multiply", "fp16", 1.1e-12, JOULES_PER_OP),
        ("add", "int8", 0.03e-12, JOULES_PER_OP),
        ("sram", "kib8", 1.25e-12, JOULES_PER_BYTE),  # 10 pJ for 64 bit
        ("wire", "transition", 1.92e-9, JOULES_PER_BYTE_M),  # 0.24 pJ × 8 bit/B × 1000 mm/m
    ],
)
def test_an_energy_is_in_base_units(node, kind, of, value, dimension):
    found = node.energy(kind, of)
    assert found.typical == pytest.approx(value)
    assert found.dimension == dimension
    (fact,) = found.best.facts
    assert fact.source.document == "Paper A"


def test_a_node_says_what_it_has(node):
    assert node.energies() == {
        "add fp16",
        "add int8",
        "multiply fp16",
        "sram kib8",
        "wire random_bit",
        "wire transition",
    }
    with pytest.raises(UnknownCoefficientError, match=r"45nm has no energy 'multiply fp32' \(has: add fp16, add int8,"):
        node.energy("multiply", "fp32")
    with pytest.raises(UnknownCoefficientError):
        node.energy("relative_power", "fp16")


def test_a_memory_says_which_scopes_it_has(energies):
    memory = energies.read().memory("hbm9")
    with pytest.raises(UnknownCoefficientError, match=r"no energy of scope 'path' \(has: device, activation, movement"):
        memory.energy("path")
    with pytest.raises(UnknownCoefficientError, match=r"unknown scope 'devices' \(known: activation, movement, core"):
        memory.energy("devices")


# ---- Energies of events and shares of idle power, asked for by exact names, one node and one state at a time


@pytest.fixture
def events(energies):
    return energies.read().events("gpu")


def test_an_event_is_in_joules_at_the_node_of_its_best_reading(events):
    spread = events.energy("instruction")
    assert (spread.low, spread.typical, spread.high) == pytest.approx((20e-12, 30e-12, 40e-12), rel=1e-9, abs=0)
    assert spread.dimension == JOULES
    assert events.node("instruction") == "45nm"


def test_figures_of_several_nodes_are_never_in_one_spread(events):
    assert {one.node for one in events.spec.events["instruction"].readings.values()} == {"45nm", "7nm", None}
    names = {one.name for one in events.energy("instruction").readings}
    assert {events.spec.events["instruction"].readings[name].node for name in names} == {"45nm"}


def test_an_event_of_no_stated_node_says_so(events):
    assert events.node("hop") is None
    assert events.energy("hop").typical == pytest.approx(3e-12, rel=1e-9, abs=0)


def test_the_facts_of_an_event_are_in_reach(events):
    (fact,) = events.energy("fetch").best.facts
    assert (fact.source.document, fact.where, fact.display) == ("Paper A", "p. 1", "12 pJ")
    assert fact.path == "events.fetch.readings.paper.typical"


def test_idle_power_is_a_share_of_tdp_in_a_state(events, energies):
    # 50 and 60 W of 300 with a context, 30 W without
    spread = energies.read().idle_share("gpu", "context")
    assert (spread.low, spread.typical, spread.high) == pytest.approx((1 / 6, 11 / 60, 0.2))
    assert spread.dimension == DIMENSIONLESS
    assert events.idle_share().low == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda events: events.energy("fetsch"),
            r"gpu has no event 'fetsch' \(has: instruction, fetch, operands, hop\)",
        ),
        (
            lambda events: events.idle_share("no_load"),
            r"no idle power of the kind gpu is known in state 'no_load' \(has: context, no_context\)",
        ),
        (lambda events: events.node("hup"), "gpu has no event 'hup'"),
    ],
)
def test_what_there_is_not_is_refused_with_what_there_is(events, ask, message):
    with pytest.raises(UnknownCoefficientError, match=message):
        ask(events)


def test_an_unknown_kind_of_processor_is_told_those_that_there_are(energies):
    with pytest.raises(UnknownCoefficientError, match="unknown kind of processor 'dpu'; nearest: gpu"):
        energies.read().events("dpu")
