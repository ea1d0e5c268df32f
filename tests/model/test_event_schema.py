"""The shape of events and launches: units as they are spelt, windows, exact words."""

from typing import get_args

import pytest

from rooflint.event_schema import WINDOWS, Per


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("events/gpu", "[12 pJ,", "[12 nJ,", "want an energy in pJ such as 70 pJ, found '12 nJ'"),
        ("events/gpu", "[12 pJ,", "[12 pJ/bit,", "want an energy in pJ such as 70 pJ"),
        ("events/gpu", "[12 pJ,", "[12,", "want an energy in pJ such as 70 pJ"),
        ("events/gpu", "[30/300,", "[30 W,", "want idle power over TDP such as 53/300"),
        ("events/gpu", "[30/300,", "[300/30,", "outside 0.01 … 1"),  # over TDP, and upside down
        ("launches", "[2.5 us,", "[2.5 ms,", "outside 1 ns … 100 us; wrong unit or prefix?"),
        ("launches", "[2.5 us,", "[2.5,", "want a launch overhead in s such as 2.1 us"),
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
