"""The length of samples: from the clock upward, and from the load downward."""

from itertools import count, repeat

import pytest

from rooflint_measure.stopwatches.length import LONGEST_S, SampleLength, shortest_s


def test_the_shortest_sample_takes_a_thousand_times_as_long_as_reading_the_clock():
    # 50 ns from one reading to the next × 1000 = 50 µs
    assert shortest_s(count(0, 50).__next__) == pytest.approx(50e-6, rel=1e-12)


def test_a_clock_with_long_steps_is_read_once_in_a_long_sample():
    # steps of 15.6 ms would ask for 15.6 s
    assert shortest_s(count(0, 15_600_000).__next__) == LONGEST_S
    assert shortest_s(repeat(7).__next__) == LONGEST_S


def test_readings_that_do_not_move_are_not_steps():
    # 0 0 100 100 200 200: steps of 100 ns
    assert shortest_s((tick for ns in count(0, 100) for tick in (ns, ns)).__next__) == pytest.approx(1e-4, rel=1e-12)


def test_a_length_is_halved_at_the_third_sample_that_loses_its_core():
    length = SampleLength(0.02, 1e-4)
    assert [length.halved(switches) for switches in (1, 0, 5, 0)] == [False] * 4
    assert length.halved(1)
    assert length.seconds == 0.01
    assert [length.halved(1) for _ in range(3)] == [False, False, True]  # counted from the beginning
    assert length.seconds == 0.005


def test_a_length_is_settled_after_eight_samples_with_at_most_two_that_lose_their_core():
    length = SampleLength(0.02, 1e-4)
    assert not any(length.halved(switches) or length.is_settled for switches in (1, 1, 0, 0, 0, 0, 0))
    assert not length.halved(0)
    assert length.is_settled
    assert length.seconds == 0.02


def test_rare_losses_of_the_core_do_not_add_up():
    length = SampleLength(0.02, 1e-4)
    assert not any(length.halved(switches) for switches in 20 * [1, 0, 0, 1, 0, 0, 0, 0])
    assert length.is_settled
    assert length.seconds == 0.02


def test_a_length_that_was_settled_is_halved_where_the_load_comes_later():
    length = SampleLength(0.02, 1e-4)
    assert [length.halved(switches) for switches in (*[0] * 8, 1, 1, 1)][-1]
    assert not length.is_settled


def test_a_length_is_not_halved_below_what_the_clock_can_tell():
    length = SampleLength(0.02, 0.01)
    assert [length.halved(1) for _ in range(9)] == [False, False, True, *[False] * 6]
    assert length.seconds == 0.01
    assert length.is_settled


def test_where_switches_are_not_counted_the_length_stays():
    length = SampleLength(0.02, 1e-4)
    assert not any(length.halved(None) for _ in range(20))
    assert length.is_settled


def test_a_fixed_length_is_settled_at_once_and_stays():
    length = SampleLength.fixed(0.003)
    assert length.is_settled
    assert not any(length.halved(1) for _ in range(9))
    assert length.seconds == 0.003
