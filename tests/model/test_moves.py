"""Moves: what counts as one, by what factor, and which comes first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.basis import Energies
from rooflint.coefficients import Coefficients
from rooflint.ledger import QUANTITIES, Key, Ledger, Row, record, tables
from rooflint.moves import Difference
from rooflint.specs import Registry
from rooflint.workload import mlp

nan = float("nan")


def row(device="acme/x1", at="", network="mlp", precision="int8", batch=1, fused=False, latency=1.0, **more) -> Row:
    values = tuple(more.pop(name, latency) for name in QUANTITIES)
    return Row(Key(device, at, network, precision, batch, fused), values, **more)


def moved(old: list[Row], new: list[Row]) -> dict[str, tuple[object, ...]]:
    found = Difference.of(Ledger.of(old), Ledger.of(new)).moves()
    return {one.quantity: (one.rows, one.of, one.low, one.high, one.known, one.unknown) for one in found}


def test_equal_ledgers_have_no_moves():
    whole = Ledger.of([row(), row(batch=2, energy_j=nan)])
    difference = Difference.of(whole, whole)
    assert difference.moves() == []
    assert difference.predictions == 0
    assert (difference.factors == 1).all()


def test_a_move_is_counted_with_its_least_and_its_greatest_factor():
    old = [row(batch=batch) for batch in (1, 2, 4)]
    # ×2 and ×1/2 of three; the third moves by less than the sum of floats may
    new = [row(batch=1, latency_s=2.0), row(batch=2, latency_s=0.5), row(batch=4, latency_s=1 + 1e-12)]
    assert moved(old, new) == {"latency_s": (2, 3, 0.5, 2.0, 0, 0)}


def test_what_becomes_known_or_unknown_has_no_factor():
    old = [row(energy_j=nan), row(batch=2)]
    new = [row(), row(batch=2, energy_j=nan)]
    assert moved(old, new) == {"energy_j": (2, 2, None, None, 1, 1)}


def test_what_rises_from_zero_has_no_factor_and_is_counted():
    assert moved([row(launch_wait_s=0.0)], [row()]) == {"launch_wait_s": (1, 1, None, None, 0, 0)}


def test_only_what_both_have_is_compared():
    assert moved([row(), row(device="acme/x2")], [row(latency=3.0), row(device="acme/x3")]).keys() == set(QUANTITIES)


@given(st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)), min_size=1, max_size=6))
def test_moves_back_are_the_inverse_of_moves(pairs):
    old = Ledger.of(row(batch=position, latency=pair[0]) for position, pair in enumerate(pairs, 1))
    new = Ledger.of(row(batch=position, latency=pair[1]) for position, pair in enumerate(pairs, 1))
    there, back = Difference.of(old, new), Difference.of(new, old)
    assert (there.moved == back.moved).all()
    np.testing.assert_allclose(there.factors * back.factors, 1)
    for one, other in zip(there.moves(), back.moves(), strict=True):
        assert one.low == pytest.approx(1 / other.high)


def test_the_farthest_move_comes_first():
    old = [row(), row(device="acme/a")]
    new = [row(latency_s=1.5, power_w=0.1), row(device="acme/a", latency_s=3.0)]
    found = Difference.of(Ledger.of(old), Ledger.of(new)).moves()
    assert [(one.device, one.quantity) for one in found] == [
        ("acme/x1", "power_w"),
        ("acme/a", "latency_s"),
        ("acme/x1", "latency_s"),
    ]


def test_twice_the_bandwidth_halves_what_only_waits_for_memory():
    # 1024 × 1024 in int8 at batch 1: 2 op/B, far left of every breakpoint
    registry = Registry()
    device, works = registry.get("nvidia/t4"), tables([mlp([1024, 1024])], ((1, False),))
    bus = next(fact for path, fact in device.facts.items() if path.endswith(".bus"))
    energies = Energies(Coefficients(registry))
    old = record([device], works, energies, ["int8"])
    new = record([device.with_facts({bus.path: bus.with_value(bus.value * 2)})], works, energies, ["int8"])
    (wait,) = [one for one in Difference.of(old, new).moves() if one.quantity == "memory_wait_s"]
    assert (wait.rows, wait.low, wait.high) == (1, pytest.approx(0.5), pytest.approx(0.5))
