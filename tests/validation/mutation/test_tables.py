"""Mutations of coefficients, prices and places: which are made, which a file refuses, and what a claim then reads."""

import pytest

from pytest_rooflint.mutation import tables
from pytest_rooflint.suite.dependencies import tracked
from pytest_rooflint.suite.suite import Suite
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import PACKAGED, Registry

PROCESS = """\
name: 9 nm
sources: {first: {document: First table, grade: read}, second: {document: Second table, grade: read}}
readings:
  first:
    op: {fp32: [1.5 pJ/op, first, p. 1], fp16: [0.5 pJ/op, first, p. 1]}
    sram: {kib8: {capacity: [8 KiB, first, p. 2], read: [10/8 pJ/B, first, p. 2]}}
  second:
    op: {fp32: [2 pJ/op, second, p. 1]}
"""
PRICES = """\
name: A list
sources: {list: {document: A price list, grade: read}}
products:
  acme card:
    purchase:
      - {date: 2025-01-01, includes: device, price: [1000 USD, list, row 1]}
"""
FP32, FP16 = "readings.first.op.fp32", "readings.first.op.fp16"


@pytest.fixture
def shelf(tmp_path):
    """A root with a node and a list of prices."""
    for name, text in (("process/9nm", PROCESS), ("prices/list", PRICES)):
        file = tmp_path / f"{name}.yaml"
        file.parent.mkdir()
        file.write_text(text, encoding="utf-8")
    return Suite.of([], [tmp_path])


def made(shelf, path, section="coefficients", name="process/9nm"):
    file = tables.files(shelf)[section, name]
    fact = tables.facts_of(section, file, shelf.registry)[path]
    return tables.mutations(fact, section, shelf.registry)


def test_every_kind_of_file_of_the_configured_root_is_found(shelf):
    assert set(tables.files(shelf)) == {("coefficients", "process/9nm"), ("prices", "prices/list")}


def test_a_shipped_file_of_each_section_has_facts():
    found = tables.files(Suite.of([], [PACKAGED]))
    for section, name in (("coefficients", "events/gpu"), ("coefficients", "launches"), ("grid", "grid/usa")):
        assert tables.facts_of(section, found[section, name], Registry())


def test_factors_are_planted_unless_readings_then_lie_too_far_apart(shelf):
    # 1.5 and 2 pJ/op: of 1/8, 0.09375 and 2 are refused (21 times), 6 pJ/op is 3 times 2, 24 is outside any window
    values = {one.display for one in made(shelf, FP32).accepted}
    assert {"2.25 pJ/op", "3 pJ/op", "6 pJ/op", "0.75 pJ/op", "0.375 pJ/op", "nothing"} == values
    assert made(shelf, FP32).refused == ("prefix", "prefix", "factor-16", "factor-16")


def test_an_energy_per_bit_is_confused_with_that_per_byte(shelf):
    # 1.25 pJ/B; an eighth is 0.15625, eight times is 10
    found = {one.display: one.operator for one in made(shelf, "readings.first.sram.kib8.read").accepted}
    assert found["10 pJ/B"] == found["0.15625 pJ/B"] == "bits-bytes"


def test_a_reading_that_loses_its_last_fact_goes_with_it(shelf):
    registry = shelf.registry
    fact = Coefficients(registry).facts(tables.files(shelf)["coefficients", "process/9nm"])["readings.second.op.fp32"]
    without = Coefficients.of(tables.registry_with(fact, None, registry)).process("9nm")
    assert [one.name for one in without.energy("op", "fp32").readings] == ["first"]
    assert list(without.spec.readings) == ["first"]


def test_a_file_that_needs_a_fact_refuses_its_removal(shelf):
    # an array without the energy of a read is no array
    assert "removed" in made(shelf, "readings.first.sram.kib8.read").refused


def test_the_other_coefficient_is_what_energies_are_worked_out_from(shelf):
    registry, file = shelf.registry, tables.files(shelf)["coefficients", "process/9nm"]
    fact = Coefficients(registry).facts(file)[FP16]
    wrong = tables.registry_with(fact, fact.with_value(8e-12), registry)
    found = [Energies.of(one).coefficients.process("9nm").energy("op", "fp16").typical for one in (wrong, registry)]
    assert found == [8e-12, 0.5e-12]


def test_a_coefficient_that_is_looked_up_is_noted_and_no_other(shelf):
    context = tracked(shelf)
    Energies.of(context.registry).coefficients.process("9nm").energy("op", "fp16")
    assert {place[1] for place in context.dependencies.places} == {FP16}


def test_a_price_is_planted_by_factors_and_removed(shelf):
    found = made(shelf, "products.acme card.purchase.0.price", "prices", "prices/list")
    assert {one.display for one in found.accepted} >= {"16000 USD", "62.5 USD", "1500 USD", "nothing"}


def test_nothing_is_computed_with_the_size_of_an_array(shelf):
    facts = Coefficients(shelf.registry).facts(tables.files(shelf)["coefficients", "process/9nm"])
    assert not tables.matters(facts["readings.first.sram.kib8.capacity"])
    assert tables.matters(facts[FP32])
