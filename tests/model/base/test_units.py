"""Units: what the door reads and refuses, what the exit prints, and that the two undo each other."""

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rooflint.base.units import (
    BYTES,
    BYTES_PER_S,
    DIMENSIONLESS,
    DOLLARS,
    DOLLARS_PER_J,
    DOLLARS_PER_S,
    GRAMS,
    GRAMS_PER_J,
    HERTZ,
    IEC_PREFIXES,
    JOULES,
    METRES,
    OPS,
    OPS_PER_BYTE,
    OPS_PER_J,
    OPS_PER_MAC,
    OPS_PER_S,
    SECONDS,
    SI_PREFIXES,
    WATTS,
    UnitError,
    format_number,
    format_quantity,
    last_digit,
    parse_quantity,
    parse_unit,
    percent,
)

DIMENSIONS = (
    *(OPS, BYTES, SECONDS, JOULES, METRES, HERTZ, WATTS),
    *(OPS_PER_S, BYTES_PER_S, OPS_PER_BYTE, OPS_PER_J),
    *(DOLLARS, DOLLARS_PER_S, DOLLARS_PER_J, GRAMS, GRAMS_PER_J),
)
SI_SYMBOLS = ("op", "OP", "FLOP", "MAC", "B", "bit", "s", "Hz", "W", "J", "m", "g")


# ------------------------------------------------------------------------------------------------------------- the door


@pytest.mark.parametrize(
    ("text", "value", "dimension"),
    [
        ("132", 132, DIMENSIONLESS),
        ("50 %", 0.5, DIMENSIONLESS),
        ("1830 MHz", 1.83e9, HERTZ),
        ("85 TOP/s", 85e12, OPS_PER_S),
        ("989.4 TFLOP/s", 989.4e12, OPS_PER_S),
        ("512 MAC", 1024, OPS),  # 1 MAC = 2 op
        ("1/32 MAC", 0.0625, OPS),  # 2 / 32
        ("80 GB", 80e9, BYTES),
        ("50 MiB", 52_428_800, BYTES),  # 50 × 2²⁰
        ("6144 KiB", 6_291_456, BYTES),  # 6144 × 2¹⁰
        ("5120 bit", 640, BYTES),  # 5120 / 8
        ("5.24 Gbit/s", 0.655e9, BYTES_PER_S),  # 5.24e9 / 8
        ("3.35 TB/s", 3.35e12, BYTES_PER_S),
        ("4 nm", 4e-9, METRES),
        ("5 us", 5e-6, SECONDS),
        ("5 µs", 5e-6, SECONDS),
        ("2 h", 7200, SECONDS),
        ("700 W", 700, WATTS),
        ("1.5 pJ", 1.5e-12, JOULES),
        ("4 pJ/bit", 32e-12, (0, -1, 0, 1, 0, 0, 0)),  # 8 bit in a byte
        ("75 op/B", 75, OPS_PER_BYTE),
        ("2 TOP/s/W", 2e12, OPS_PER_J),  # op/s over J/s
        ("1 kWh", 3.6e6, JOULES),  # 1000 W for 3600 s
        ("0.0892 USD/kWh", 0.0892 / 3.6e6, DOLLARS_PER_J),
        ("3.6 USD/h", 1e-3, DOLLARS_PER_S),
        ("21.50/16 USD/h", 21.50 / 16 / 3600, DOLLARS_PER_S),  # sixteen chips in an instance
        ("360 g/kWh", 1e-4, GRAMS_PER_J),
        ("164 kg", 164_000, GRAMS),
    ],
)
def test_text_becomes_base_units(text, value, dimension):
    quantity = parse_quantity(text)
    assert quantity.value == pytest.approx(value, rel=1e-15, abs=0)
    assert quantity.dimension == dimension
    assert quantity.text == text


def test_a_mac_is_two_ops_whatever_an_op_is_called():
    assert OPS_PER_MAC == 2
    assert parse_unit("MAC")[0] == 2 * parse_unit("op")[0] == 2 * parse_unit("OP")[0] == 2 * parse_unit("FLOP")[0]


def test_numbers_that_yaml_read_already_are_taken_as_they_are():
    assert parse_quantity(132).value == 132
    assert parse_quantity(2.5).value == 2.5


@pytest.mark.parametrize(
    ("unit", "wish"),
    [
        ("TOPS", "TOP/s"),
        ("tops", "TOP/s"),
        ("TFLOPS", "TFLOP/s"),
        ("Gbps", "GB/s or Gbit/s"),
        ("GT/s", "Gbit/s (per pin)"),
        ("MHZ", "MHz"),
        ("Ghz", "GHz"),
        ("mb", "MB"),
        ("KB", "kB or KiB"),
        ("w", "W"),
        ("bits", "bit"),
        ("MACs", "MAC"),
        ("MAC/clock", "MAC (the key says that it is per clock)"),
        ("$/h", "USD/h"),
        ("usd", "USD"),
        ("kwh", "kWh"),
        ("gCO2/kWh", "g/kWh"),
    ],
)
def test_a_misspelt_unit_is_refused_with_the_spelling(unit, wish):
    with pytest.raises(UnitError) as caught:
        parse_quantity(f"5 {unit}")
    assert str(caught.value) == f"unknown unit '{unit}'; write {wish}"


@pytest.mark.parametrize("unit", ["foo", "GB/", "W ± 5", "kh", "KiHz", "Mi%", "kinferences", "1/s"])
def test_a_unit_that_is_none_is_refused(unit):
    with pytest.raises(UnitError) as caught:
        parse_quantity(f"5 {unit}")
    assert str(caught.value) == f"unknown unit '{unit}'"


@pytest.mark.parametrize(("unit", "meant"), [("Gb", "Gbit"), ("Mb", "Mbit"), ("Gb/s", "Gbit/s"), ("Tb/s", "Tbit/s")])
def test_a_small_b_is_never_said_to_be_a_byte(unit, meant):
    # Gb is a gigabit to most who write it: a wish that names GB alone makes a fact eight times too large
    with pytest.raises(UnitError) as caught:
        parse_quantity(f"5 {unit}")
    message = str(caught.value)
    assert message == f"unknown unit '{unit}'" or meant in message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("80GB", "; put a space between number and unit"),
        ("1,979 TFLOP/s", "; write digits without separators"),
        ("1_979 TFLOP/s", "; write digits without separators"),
        ("nan", ""),
        ("inf W", ""),
        ("W", ""),
        ("", ""),
        ("5 - 6", None),
        ("1/2/3 W", ""),
        ("--5 W", ""),
    ],
)
def test_what_is_no_quantity_is_refused_with_a_hint(text, hint):
    with pytest.raises(UnitError) as caught:
        parse_quantity(text)
    if hint is not None:
        assert str(caught.value) == f"'{text}' is not a number with a unit{hint}"


def test_nan_infinities_and_booleans_are_no_numbers():
    for value in (math.nan, math.inf, -math.inf, True, False):
        with pytest.raises(UnitError, match="is not a number with a unit"):
            parse_quantity(value)


def test_a_number_beyond_floats_is_refused():
    with pytest.raises(UnitError) as caught:
        parse_quantity("1e400 W")
    assert str(caught.value) == "'1e400 W' is out of range, 1e-40 to 1e+40 in base units"
    with pytest.raises(UnitError, match="is out of range"):
        parse_quantity("1e308 TB")  # finite as a number, not in bytes


@pytest.mark.parametrize("zeros", [400, 5000])
def test_a_giant_divisor_is_refused_in_a_sentence(zeros):
    # beyond floats, and beyond the digits that int() reads
    with pytest.raises(UnitError):
        parse_quantity(f"1/1{'0' * zeros} W")


def test_division_by_zero_is_refused():
    with pytest.raises(UnitError) as caught:
        parse_quantity("1/0 W")
    assert str(caught.value) == "'1/0 W' divides by zero"


def test_digits_of_other_scripts_are_refused():
    # ARABIC-INDIC DIGIT ONE, TWO: float() reads them, a reviewer does not
    with pytest.raises(UnitError):
        parse_quantity("\u0661\u0662 W")


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("3.35 TB/s", 1e10),
        ("170 TOP/s", 1e12),
        ("2.0 TB/s", 1e11),
        ("1.3e9 Hz", 1e8),
        ("1e3 W", 1e3),
        ("5. W", 1),
        ("512 MAC", 2),  # 1 MAC = 2 op
        ("2.5", 0.1),
        ("132", 0),
        ("1/32 MAC", 0),
    ],
)
def test_the_last_printed_digit_is_kept_and_bare_integers_and_fractions_are_exact(text, step):
    assert parse_quantity(text).step == pytest.approx(step, rel=1e-12, abs=0)


def test_last_digit_of_a_number():
    assert [last_digit(text) for text in ("3.35", "170", "1.3e9", "1E-3", ".5")] == [0.01, 1, 1e8, 1e-3, 0.1]


@given(
    st.decimals(min_value="0.001", max_value=10**6, places=3),
    st.sampled_from(sorted(SI_PREFIXES)),
    st.sampled_from(SI_SYMBOLS),
)
def test_a_prefixed_unit_is_exact_arithmetic_rounded_once_or_twice(number, prefix, symbol):
    # the slow twin: the same product in rational numbers
    exact = Fraction(number) * Fraction(10) ** SI_PREFIXES[prefix]
    exact *= {"MAC": 2, "bit": Fraction(1, 8)}.get(symbol, 1)
    assert parse_quantity(f"{number} {prefix}{symbol}").value == pytest.approx(float(exact), rel=1e-15, abs=0)


@given(st.sampled_from(sorted(IEC_PREFIXES)), st.sampled_from(["B", "bit"]), st.integers(1, 10**6))
def test_binary_prefixes_are_powers_of_two(prefix, symbol, number):
    bits = number * 2 ** IEC_PREFIXES[prefix] * (8 if symbol == "B" else 1)
    assert parse_quantity(f"{number} {prefix}{symbol}").value * 8 == bits


@given(st.lists(st.sampled_from(("TOP", "B", "Gbit", "s", "W", "pJ", "MHz", "nm")), min_size=2, max_size=4))
def test_a_quotient_of_units_is_the_quotient_of_their_factors(units):
    factor, dimension = parse_unit("/".join(units))
    first, *others = map(parse_unit, units)
    assert factor == pytest.approx(first[0] / math.prod(other[0] for other in others), rel=1e-12, abs=0)
    below = [sum(powers) for powers in zip(*(other[1] for other in others), strict=True)]
    assert dimension == tuple(above - under for above, under in zip(first[1], below, strict=True))


@given(st.text(max_size=20))
@example("1e5")
@example("5\u00a0GB")
def test_any_text_is_a_finite_quantity_or_a_unit_error(text):
    try:
        quantity = parse_quantity(text)
    except UnitError:
        return
    assert math.isfinite(quantity.value)
    assert quantity.step >= 0


# ------------------------------------------------------------------------------------------------------------- the exit


@pytest.mark.parametrize(
    ("value", "dimension", "text"),
    [
        (85.23e12, OPS_PER_S, "85.23 TOP/s"),
        (989.42976e12, OPS_PER_S, "989.4 TOP/s"),
        (999.96e9, OPS_PER_S, "1 TOP/s"),  # rounded first, then prefixed
        (999.94e9, OPS_PER_S, "999.9 GOP/s"),
        (3.3523e12, BYTES_PER_S, "3.352 TB/s"),
        (6.7648e-6, SECONDS, "6.765 µs"),
        (1250, WATTS, "1250 W"),  # nobody writes kW on a data sheet of a chip
        (0, WATTS, "0 W"),
        (31.0, OPS_PER_BYTE, "31 op/B"),
        (132, DIMENSIONLESS, "132"),
        (2e12, OPS_PER_J, "2 TOP/s/W"),
        (-3.5e9, HERTZ, "-3.5 GHz"),
        (math.inf, SECONDS, "inf s"),
        (math.nan, DIMENSIONLESS, "nan"),
        (5, (1, 1, 1, 1, 1), "5"),  # a dimension without a name
    ],
)
def test_a_value_is_printed_with_a_prefix_where_the_field_uses_one(value, dimension, text):
    assert format_quantity(value, dimension) == text


def test_floating_rates_can_be_printed_as_flops():
    assert format_quantity(989.42976e12, OPS_PER_S, unit="FLOP/s") == "989.4 TFLOP/s"


def test_digits_count_significant_ones():
    assert format_quantity(989.42976e12, OPS_PER_S, digits=6) == "989.43 TOP/s"
    assert format_quantity(989.42976e12, OPS_PER_S, digits=2) == "990 TOP/s"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (85.2296, "85.23"),
        (1300, "1300"),
        (1300.5, "1300"),
        (0.08, "0.08"),
        (1234567.8, "1235000"),
        (2.0, "2"),
        (0.000012345, "0.00001234"),  # 0.000012345 is below its decimal as a float
        (-0.5, "-0.5"),
        (math.inf, "inf"),
    ],
)
def test_numbers_are_printed_without_exponent_and_trailing_zeros(value, text):
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.2341, "23.4 %"), (0.0, "0 %"), (1.07e-5, "0.00107 %"), (3.13e-7, "< 0.001 %"), (1.5, "150 %"), (-0.02, "-2 %")],
)
def test_a_share_has_three_digits_and_no_exponent(share, text):
    assert percent(share) == text


def test_a_tiny_number_keeps_its_significant_digits():
    assert format_number(1.234e-11) == "0.00000000001234"
    assert format_number(2.5e-13) == "0.00000000000025"  # and is not printed as 0


@given(st.floats(1e-11, 1e17), st.sampled_from(DIMENSIONS), st.integers(3, 9))
def test_what_the_exit_prints_the_door_reads_back(value, dimension, digits):
    again = parse_quantity(format_quantity(value, dimension, digits=digits))
    assert again.dimension == dimension
    # half a unit of the last significant digit, or of the twelfth decimal where a value has no prefix to shift it
    slack = 1e-12 if dimension in (WATTS, OPS_PER_BYTE) else 0
    assert again.value == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits), abs=slack)


@given(st.floats(1e-8, 1e14), st.integers(1, 15))
def test_a_printed_number_is_the_rounded_number(value, digits):
    text = format_number(value, digits)
    assert "e" not in text
    assert not ("." in text and text.endswith(("0", ".")))
    assert float(text) in (float(f"{value:.{digits}g}"), float(f"{float(f'{value:.{digits}g}'):.12f}"), value)


@given(st.floats(1e-11, 1e17), st.floats(1e-11, 1e17), st.sampled_from((OPS_PER_S, BYTES_PER_S, SECONDS)))
def test_printing_keeps_the_order(one, other, dimension):
    small, large = sorted((one, other))
    read = [parse_quantity(format_quantity(value, dimension)).value for value in (small, large)]
    assert read[0] <= read[1] * (1 + 1e-12)
