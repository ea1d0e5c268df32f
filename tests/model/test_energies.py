"""Energies of a node and of a memory, asked for by exact names."""

import pytest

from rooflint.spread import UnknownCoefficientError
from rooflint.units import JOULES_PER_BYTE, JOULES_PER_BYTE_M, JOULES_PER_OP


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
