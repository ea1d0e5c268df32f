"""The shape of energy files: units are demanded as they are spelt, and figures of another order are refused."""

from typing import get_args

import pytest

from rooflint.coefficients.schema import PARTS, WINDOWS, Per


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        # 8 bit to a byte: the slip that no reader sees
        (
            "memory/hbm9",
            "typical: [4 pJ/bit",
            "typical: [4 pJ/B",
            "want an energy per bit in pJ/bit such as 3.97 pJ/bit",
        ),
        ("memory/hbm9", "typical: [4 pJ/bit", "typical: [4", "want an energy per bit in pJ/bit"),
        ("process/45nm", "[10/8 pJ/B", "[10/8 pJ/bit", "want an energy per byte in pJ/B such as 10/8 pJ/B"),
        ("process/45nm", "[1.1 pJ/op", "[1.1 pJ/MAC", "want an energy per operation in pJ/op such as 3.7 pJ/op"),
        ("process/45nm", "[1.1 pJ/op", "[1.1 nJ/op", "want an energy per operation in pJ/op"),
        ("process/45nm", "[0.24 pJ/bit/mm", "[0.24 pJ/bit", "want an energy per bit and length in pJ/bit/mm"),
    ],
)
def test_an_energy_has_the_unit_of_its_kind(energies, file, old, new, sentence):
    assert sentence in energies.refused(file, old, new)


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        # 4 × 8 and 4 / 64: one slip up, two down
        (
            "memory/hbm9",
            "typical: [4 pJ/bit",
            "typical: [32 pJ/bit",
            "'32 pJ/bit' is 32 pJ/bit, outside 0.1 pJ/bit … 30 pJ/bit",
        ),
        ("memory/hbm9", "typical: [4 pJ/bit", "typical: [0.0625 pJ/bit", "outside 0.1 pJ/bit … 30 pJ/bit"),
        ("process/45nm", "[1.1 pJ/op", "[1100 pJ/op", "outside 0.001 pJ/op … 20 pJ/op; wrong unit or prefix?"),
        ("process/45nm", "[10/8 pJ/B", "[1000/8 pJ/B", "outside 0.05 pJ/B … 20 pJ/B"),
        ("process/45nm", "[0.24 pJ/bit/mm", "[240 pJ/bit/mm", "outside 0.005 pJ/bit/mm … 1 pJ/bit/mm"),
        ("process/45nm", "28nm: [0.9,", "28nm: [9,", "outside 0.2 … 1"),
        ("circuits", "[0.85,", "[85,", "outside 0.05 … 5"),
    ],
)
def test_an_energy_of_another_order_is_refused(energies, file, old, new, sentence):
    assert sentence in energies.refused(file, old, new)


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        (
            "memory/hbm9",
            "scope: device, typical",
            "scope: divice, typical",
            "readings.paper.scope: want 'activation', 'movement'",
        ),
        (
            "memory/hbm9",
            "typical: [4 pJ/bit",
            "tipical: [4 pJ/bit",
            "unknown key 'readings.paper.tipical'; did you mean 'typical'?",
        ),
        ("process/45nm", "multiply: {fp16:", "multiply: {fp17:", "unknown precision 'fp17'"),
        ("process/45nm", "{28nm:", "{28: ", "readings.one.relative_power.28"),
        ("process/45nm", "0.4 pJ/op, a,", "0.4 pJ/op, c,", "unknown source 'c' (listed: a, b)"),
        ("circuits", "tensor_core:", "tensor_cores:", "factors.tensor_cores"),
    ],
)
def test_what_no_file_may_say_is_refused(energies, file, old, new, sentence):
    assert sentence in energies.refused(file, old, new)


def test_a_scope_says_what_an_access_consists_of():
    # array and pins are the device, which is less than the access, which is less than the way to a core
    assert PARTS["core"] | PARTS["io"] == PARTS["device"]
    assert PARTS["io"] | PARTS["phy"] == PARTS["interface"]
    assert PARTS["device"] | PARTS["interface"] < PARTS["access"] < PARTS["path"]
    assert PARTS["unstated"] == frozenset()


# ---- The shape of events and launches: units as they are spelt, windows, exact words


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("events/gpu", "[12 pJ,", "[12 nJ,", "want an energy in pJ such as 70 pJ, found '12 nJ'"),
        ("events/gpu", "[12 pJ,", "[12 pJ/bit,", "want an energy in pJ such as 70 pJ"),
        ("events/gpu", "[12 pJ,", "[12,", "want an energy in pJ such as 70 pJ"),
        ("events/gpu", "[30/300,", "[30 W,", "want idle power over TDP such as 53/300"),
        ("events/gpu", "[30/300,", "[300/30,", "outside 0.01 … 1"),  # over TDP, and upside down
        ("launches", "[2.5 µs,", "[2.5 ms,", "outside 1 ns … 100 µs; wrong unit or prefix?"),
        ("launches", "[2.5 µs,", "[2.5,", "want a launch overhead in s such as 2.1 µs"),
        ("events/gpu", "[fetch]", "[fetsch]", "events.fetch.covers.0: want 'fetch', 'decode'"),
        ("events/gpu", "state: context", "state: kontext", "idle.busy.state: want 'no_context', 'context'"),
        ("events/gpu", "per: hop", "per: hopp", "events.hop.per: want 'instruction', 'lane_instruction'"),
        ("events/gpu", "node: 7nm", "node: 7 nm", "events.instruction.readings.young.node"),
        ("launches", "stream:", "streem:", "launches.gpu.acme.streem"),
        ("events/gpu", "[12 pJ, a,", "[12 pJ, c,", "unknown source 'c' (listed: a, b)"),
    ],
)
def test_what_no_file_may_say_is_refused_with_its_line(energies, file, old, new, sentence):
    assert sentence in energies.refused(file, old, new)


def test_every_count_has_a_window_that_a_thousandfold_slip_leaves():
    assert set(WINDOWS) == set(get_args(Per))
    assert all(0 < low < high for low, high in WINDOWS.values())
