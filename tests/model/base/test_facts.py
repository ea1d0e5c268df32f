"""Facts, what-if values, and ladders."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.facts import GRADES, Fact, Factor, Ladder, Source, weakest
from rooflint.base.units import DIMENSIONLESS, WATTS, Quantity, parse_quantity
from rooflint.hardware.registry import Registry

PAPER = Source("wp", "White paper", "quoted")


def fact(text, path="tdp", source=PAPER):
    return Fact(path, parse_quantity(text), source, "table 3", Path("one.yaml"), 9)


def graded(grade):
    return fact("1 W", source=replace(PAPER, grade=grade))


def test_a_fact_has_its_value_in_base_units_and_shows_what_the_file_says():
    assert fact("1830 MHz").value == 1.83e9
    assert fact("1830 MHz").display == "1830 MHz"


def test_mac_counts_are_counted_in_mac():
    # 512 MAC are 1024 op, and the spec's fact is 512
    rate = Registry().get("nvidia/h100-sxm5-80gb").facts["units.tensor_core.macs_per_clock.fp16"]
    assert (rate.value, rate.display) == (512, "512 MAC")


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("1830 MHz", 1.98e9, "1980 MHz"),
        ("1.83 GHz", 1.98e9, "1.98 GHz"),
        ("132", 108, "108"),
        ("700 W", 350, "350 W"),
        ("5.24 Gbit/s", 6.55e8 * 2, "10.48 Gbit/s"),  # twice 5.24e9 / 8 B/s
        ("1/4 W", 0.125, "0.125 W"),
        ("50 MiB", 2**20, "1 MiB"),
    ],
)
def test_another_value_is_shown_in_the_unit_of_the_fact(text, value, shown):
    other = fact(text).with_value(value)
    assert other.value == value
    assert other.display == shown


def test_another_value_keeps_place_and_source_and_leaves_the_fact_alone():
    original = fact("700 W")
    other = original.with_value(350)
    assert (other.source, other.where, other.file, other.line) == (PAPER, "table 3", Path("one.yaml"), 9)
    assert other.path == "tdp"
    assert (original.value, original.display) == (700, "700 W")


@pytest.mark.parametrize("space", ["\t", "\u00a0", "\u2009", "   "])
def test_whatever_space_the_door_accepts_a_fact_can_be_given_another_value(space):
    # a non-breaking or thin space is what copying from a PDF brings
    try:
        original = fact(f"700{space}W")
    except ValueError:
        return  # refused at the door is as good
    other = original.with_value(350)
    assert parse_quantity(other.display).value == pytest.approx(350)


@pytest.mark.parametrize("text", ["1.5/2 W", "3/4 W", "1e3 W", "+5 W", ".5 W", "5. W"])
def test_however_a_number_is_written_a_fact_can_be_given_another_value(text):
    other = fact(text).with_value(2.5)
    assert other.display == "2.5 W"


UNITS = ("W", "kW", "MHz", "GB", "GiB", "Gbit/s", "nm", "us", "bit")


@given(st.integers(1, 10**6), st.sampled_from(UNITS), st.floats(1e-3, 1e3))
def test_what_another_value_shows_is_read_back_as_that_value(number, unit, factor):
    original = fact(f"{number} {unit}")
    other = original.with_value(original.value * factor)
    again = parse_quantity(other.display)
    assert again.dimension == original.quantity.dimension
    assert again.value == pytest.approx(other.value, rel=1e-5, abs=1e-9 * parse_quantity(f"1 {unit}").value)


def test_grades_go_from_read_to_estimate():
    assert GRADES == ("read", "device", "quoted", "recalled", "estimate")


@given(st.lists(st.sampled_from(GRADES), min_size=1), st.randoms(use_true_random=False))
def test_a_derivation_is_as_good_as_its_weakest_fact_in_any_order(grades, random):
    facts = [graded(grade) for grade in grades]
    worst = weakest(tuple(facts))
    assert worst in grades
    assert all(GRADES.index(grade) <= GRADES.index(worst) for grade in grades)
    random.shuffle(facts)
    assert weakest(tuple(facts)) == worst


def test_a_count_is_a_bare_number():
    assert parse_quantity("132").dimension == DIMENSIONLESS
    assert parse_quantity("700 W").dimension == WATTS


# -------------------------------------------------------------------------------------------------------------- ladders

GROUPS, RATE = fact("16", "groups"), fact("512", "rate")
LADDER = Ladder(
    (Factor("groups", 16, "16 SM", GROUPS), Factor("rate", 512, "512 MAC/clock", RATE), Factor("ops", 2, "2 op/MAC"))
)


def test_a_ladder_is_its_product():
    # 16 × 512 × 2 = 16 384
    assert LADDER.result == 16_384
    assert LADDER.formula == "16 SM × 512 MAC/clock × 2 op/MAC"


def test_conventions_are_no_facts():
    assert LADDER.facts == (GROUPS, RATE)


def test_a_longer_ladder_leaves_the_shorter_alone():
    longer = LADDER.times(Factor("share", 0.5, "1/2"), Factor("sparsity", 4, "4 (sparse)"))
    assert longer.result == LADDER.result * 2
    assert longer.formula == f"{LADDER.formula} × 1/2 × 4 (sparse)"
    assert LADDER.result == 16_384
    assert len(LADDER.factors) == 3


@given(st.lists(st.floats(1e-6, 1e6), max_size=8))
def test_a_ladder_is_the_product_of_its_factors(values):
    ladder = Ladder(tuple(Factor("x", value, str(value)) for value in values))
    assert ladder.result == pytest.approx(math.prod(values), rel=1e-12, abs=0)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=8), st.floats(1e-3, 1e3))
def test_a_ladder_grows_with_each_of_its_factors(values, by):
    factors = tuple(Factor("x", value, str(value)) for value in values)
    scaled = (replace(factors[0], value=factors[0].value * by), *factors[1:])
    assert Ladder(scaled).result == pytest.approx(Ladder(factors).result * by, rel=1e-9, abs=0)


def test_facts_are_frozen():
    with pytest.raises(AttributeError):
        GROUPS.line = 1
    with pytest.raises(AttributeError):
        GROUPS.quantity.value = 1.0
    assert GROUPS.quantity == Quantity(16.0, DIMENSIONLESS, "16", 0.0)
