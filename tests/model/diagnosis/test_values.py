"""Values that are built, and figures as documents print them."""

import pytest

from rooflint.diagnosis.causes import Span
from rooflint.diagnosis.values import _is_bus, exchanged, is_built, is_plain, round_value
from rooflint.hardware.registry import Registry

REGISTRY = Registry()
FACTS = REGISTRY.get("nvidia/h100-sxm5-80gb").facts
CLOCK, GROUPS, INT8 = (f"units.tensor_core.{name}" for name in ("clock", "groups", "macs_per_clock.int8"))
BUS, PIN_RATE = "memories.hbm.bus", "memories.hbm.pin_rate"


@pytest.mark.parametrize(
    ("bits", "is_built"),
    [(64, True), (352, True), (1008, False), (1024, True), (1056, False), (7680, True), (16384, True), (16320, False)],
)
def test_a_bus_is_of_channels_up_to_1024_bit_and_of_stacks_beyond(bits, is_built):
    assert _is_bus(bits) is is_built


@pytest.mark.parametrize(("bits", "is_built"), [(512, True), (384, True), (400, False), (1024, False), (2048, False)])
def test_a_bus_of_gddr_has_at_most_512_bit(bits, is_built):
    assert _is_bus(bits, "gddr6x") is is_built


@pytest.mark.parametrize(
    ("path", "value", "built"),
    [
        ("units.tensor_core.groups", 132, True),
        ("units.tensor_core.groups", 0, False),
        ("units.tensor_core.groups", 17.5, False),
        ("units.tensor_core.clock", 50e6, True),
        ("units.tensor_core.clock", 49e6, False),
        ("units.tensor_core.clock", 10e9, True),
        ("units.tensor_core.clock", 11e9, False),
        ("memories.hbm3.pin_rate", 9.2e9 / 8, True),
        ("memories.hbm3.pin_rate", 64e9 / 8, True),
        ("memories.hbm3.pin_rate", 65e9 / 8, False),
        ("units.tensor_core.macs_per_clock.fp8", 1536, True),  # 3 × 2⁹
        ("units.tensor_core.macs_per_clock.fp8", 1 / 64, True),  # of gaming cards in FP16
        ("units.tensor_core.macs_per_clock.fp8", 1024 / 132, False),
        ("units.tensor_core.macs_per_clock.fp8", 2**21, False),
    ],
)
def test_a_fact_is_proposed_only_a_value_that_is_built(path, value, built):
    assert is_built(FACTS[path], value) is built


def test_a_rate_per_pin_is_proposed_as_documents_print_it():
    # 256 bit × 14 Gbit/s: of three quarters of it, 18.67 Gbit/s are missing, and of a half 28
    pin = REGISTRY.get("nvidia/rtx-3070").facts["memories.gddr6.pin_rate"]
    assert round_value(pin, Span(0.7495, 0.7505)) is None
    assert round_value(pin, Span(0.4998, 0.5002)) == 28e9 / 8
    assert is_plain(6.398e9 / 8) and not is_plain(18.6667e9 / 8)


def narrow(ratio):
    return Span(ratio * (1 - 1e-6), ratio * (1 + 1e-6))


@pytest.mark.parametrize(
    ("path", "ratio", "wanted"),
    [
        (CLOCK, 1500 / 1230, 1.23e9),
        (CLOCK, 1500 / 1234, 1.234e9),
        (CLOCK, 1500 / 1234.5, None),  # clocks are printed with four digits
        (PIN_RATE, 8 / 6.25, 6.25e9 / 8),
        (PIN_RATE, 8 / 6.254, None),  # and everything else with three
        (GROUPS, 16 / 15, 15.0),
        (GROUPS, 16 / 15.5, None),  # counts are whole
        (GROUPS, 16 / 132, 132.0),
        (BUS, 256 / 224, 224 / 8),  # buses come in 32 bit
        (BUS, 256 / 225, None),
        (INT8, 1024, 0.5),  # a rate may be less than a MAC if it is a power of two
        (INT8, 2048 / 3, None),
    ],
)
def test_a_value_that_is_needed_is_one_that_would_be_printed(family, path, ratio, wanted):
    found = round_value(family.big.facts[path], narrow(ratio))
    assert found == (wanted if wanted is None else pytest.approx(wanted, rel=1e-9))


def test_a_wide_tolerance_leaves_the_roundest_value(family):
    # 1500 MHz / 1.2 to 1.3 are 1154 to 1250 MHz, whose middle is 1201; of 8/2.9 to 8/3.1 Gbit/s, 8/3 is not printed
    assert round_value(family.big.facts[CLOCK], Span(1.21, 1.29)) == pytest.approx(1.2e9)
    assert round_value(family.big.facts[PIN_RATE], Span(2.9, 3.1)) == pytest.approx(2.7e9 / 8)


def test_neighbouring_digits_are_exchanged_within_a_range():
    fact = Registry().get("nvidia/t4").facts["tdp"]
    found = [exchanged(fact.with_value(wrong), 74.0, 76.0) for wrong in (57.0, 75.0, 70.0)]
    assert found == [75.0, None, None]


def test_digits_of_a_fraction_are_exchanged_below_the_line():
    fact = Registry().get("amd/rx-6800").facts["units.stream_processor.macs_per_clock.fp64"]
    assert fact.quantity.text == "1/16 MAC"
    assert exchanged(fact, 1 / 62, 1 / 60) == 1 / 61
