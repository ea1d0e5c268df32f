"""Ranges that people type: single values, doubling, steps, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.tdp.ranges import MOST, RangeError, alus_of, clocks_of


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1024", [1024]),
        ("1024:1024", [1024]),
        ("1024:65536", [1024, 2048, 4096, 8192, 16384, 32768, 65536]),
        ("1000:5000", [1000, 2000, 4000]),
        ("1000:2000:500", [1000, 1500, 2000]),
        (" 1 : 8 ", [1, 2, 4, 8]),
    ],
)
def test_alus_double_or_take_steps(text, found):
    assert alus_of(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1.83GHz", [1.83e9]),
        ("1.83 GHz", [1.83e9]),
        ("612 MHz", [612e6]),
        ("1GHz:2GHz:0.25GHz", [1e9, 1.25e9, 1.5e9, 1.75e9, 2e9]),
        ("1GHz:1.3GHz:100MHz", [1e9, 1.1e9, 1.2e9, 1.3e9]),
        ("500MHz:2GHz", [0.5e9, 1e9, 2e9]),
    ],
)
def test_clocks_double_or_take_steps(text, found):
    assert clocks_of(text) == pytest.approx(found, rel=1e-12, abs=0)


@given(st.integers(1, 10**6), st.integers(1, 1000), st.integers(0, MOST - 1))
def test_steps_end_where_they_are_told_to(low, step, steps):
    high = low + step * steps
    assert alus_of(f"{low}:{high}:{step}") == list(range(low, high + 1, step))


@given(st.integers(1, 1000), st.integers(0, 19))
def test_doublings_end_where_they_are_told_to(low, doublings):
    assert alus_of(f"{low}:{low * 2**doublings}") == [low * 2**number for number in range(doublings + 1)]


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (alus_of, "65536:1024", "--alus: want a range from low to high, found '65536:1024'"),
        (alus_of, "0", "--alus: want a whole number from 1 to 1000000000"),
        (alus_of, "1.5", "found '1.5'"),
        (alus_of, "", "found ''"),
        (alus_of, "1:10:0", "found '0'"),
        (alus_of, "1:2:3:4", "--alus: want low:high or low:high:step, found '1:2:3:4'"),
        (alus_of, "1:1000000:1", "--alus: want at most 64 values, found '1:1000000:1', which has 1000000"),
        (clocks_of, "1.83", "--clock: want a clock with its unit, such as 1.83GHz"),
        (clocks_of, "1.83ghz", "write GHz"),
        (clocks_of, "5 W", "found '5 W'"),
        (clocks_of, "0 GHz", "found '0 GHz'"),
        (clocks_of, "2GHz:1GHz", "--clock: want a range from low to high, found '2GHz:1GHz'"),
        (clocks_of, "1 THz", "--clock: 1 THz is outside 1 MHz … 20 GHz; wrong unit or prefix?"),
        (clocks_of, "nanGHz", "--clock: want a clock"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(read, text, said):
    with pytest.raises(RangeError) as caught:
        read(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
