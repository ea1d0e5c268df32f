"""Recognition: a right number agrees, a wrong one is named by what it is instead, and coincidences are not shown."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rooflint.base.units import last_digit
from rooflint.diagnosis.figures import DISTORTIONS, ERRORS, Printed, figures
from rooflint.diagnosis.identify import MOST, UNLIKELY, Asked, Identifier
from rooflint.hardware.registry import Registry

REGISTRY = Registry()
IDENTIFIER = Identifier(REGISTRY)
UNITS = {
    "peak": 1e12,
    "bandwidth": 1e9,
    "capacity": 1e9,
    "tdp": 1.0,
    "count": 1.0,
    "bus": 1 / 8,
    "clock": 1e6,
    "rate": 1.0,
}


def number(text, quantity="peak"):
    """What a table prints, in TFLOP/s, GB/s, GB, W, bit, MHz or op."""
    unit = UNITS[quantity]
    return Printed(float(text) * unit, last_digit(text) * unit, text)


def slips(device, text, precision=None, quantity="peak", **asked):
    """The explanations of a number, likeliest first."""
    explanations = IDENTIFIER.explanations(number(text, quantity), Asked(quantity, precision, **asked), [device])
    return [explanation.error for explanation in explanations]


def agrees(device, text, precision=None, quantity="peak", **asked):
    return IDENTIFIER.agreeing(number(text, quantity), Asked(quantity, precision, **asked), device) is not None


@pytest.mark.parametrize(
    ("device", "precision", "text"),
    [
        ("nvidia/h100-sxm5-80gb", "bf16", "989"),
        ("nvidia/h100-sxm5-80gb", "bf16", "989.4"),
        ("nvidia/h100-sxm5-80gb", "bf16", "990"),
        ("nvidia/a100-sxm4-40gb", "fp64", "9.7"),
        ("nvidia/a100-sxm4-40gb", "fp64", "19.5"),
        ("nvidia/a100-sxm4-40gb", "fp16", "312"),
        ("amd/mi250x", "fp32", "47.9"),
        ("amd/mi250x", "fp32", "95.7"),
    ],
)
def test_a_right_figure_agrees_within_its_digits(device, precision, text):
    assert agrees(device, text, precision)


def test_vector_and_matrix_figures_agree_only_where_they_are_said_to_be_such():
    # RTX 4090: 82.6 TFLOP/s on CUDA cores, 165.2 on tensor cores
    assert agrees("nvidia/rtx-4090", "82.6", "fp16", vector=True)
    assert not agrees("nvidia/rtx-4090", "82.6", "fp16")
    assert not agrees("nvidia/rtx-4090", "165.2", "fp16", vector=True)


def test_sparse_figures_agree_only_where_sparsity_is_said():
    assert agrees("nvidia/h100-sxm5-80gb", "1979", "bf16", sparse=True)
    assert not agrees("nvidia/h100-sxm5-80gb", "1979", "bf16")
    assert slips("nvidia/h100-sxm5-80gb", "989", "bf16", sparse=True)[0] == "dense for sparse"


def test_gibibytes_that_are_printed_as_gigabytes_agree():
    # TPU v4 has 32 GiB, and everybody prints 32 GB
    assert agrees("google/tpu-v4", "32", quantity="capacity")


@pytest.mark.parametrize(
    ("device", "text", "precision", "slip"),
    [
        ("nvidia/h100-sxm5-80gb", "1979", "bf16", "sparse for dense"),
        ("nvidia/jetson-agx-orin-64gb", "42.6", "int8", "MAC for op"),
        ("nvidia/a100-sxm4-80gb", "343", "fp16", "tebi for tera"),
        ("nvidia/h100-sxm5-80gb", "0.989", "fp16", "prefix"),
        ("nvidia/h100-pcie-80gb", "989", "fp16", "another device"),
        ("nvidia/h100-sxm5-80gb", "312", "bf16", "another device"),
        ("nvidia/v100-sxm2-16gb", "15.7", "fp64", "another precision"),
        ("nvidia/rtx-a6000", "77.4", "bf16", "half-rate accumulation"),
        ("nvidia/a10", "65.3", "fp16", "another clock"),
        ("nvidia/rtx-4090", "82.6", "bf16", "another unit"),
        ("nvidia/l4", "15.1", "fp64", "another rate"),
        ("amd/mi250x", "191.5", "fp16", "part for whole"),
        ("nvidia/jetson-agx-orin-64gb", "275", "int8", "sparse for dense"),
        ("nvidia/jetson-agx-orin-64gb", "20.05", "int8", "another mode"),
    ],
)
def test_a_wrong_peak_is_named_by_the_slip_that_gives_it(device, text, precision, slip):
    assert slips(device, text, precision)[0] == slip


@pytest.mark.parametrize(
    ("device", "text", "quantity", "slip"),
    [
        ("google/tpu-v4", "9600", "bandwidth", "bits for bytes"),
        ("nvidia/h100-sxm5-80gb", "1676", "bandwidth", "data rate"),
        ("nvidia/rtx-5090", "1792000", "bandwidth", "prefix"),
        ("nvidia/a100-pcie-40gb", "1935", "bandwidth", "another device"),
        ("nvidia/h100-pcie-80gb", "700", "tdp", "another device"),
        ("nvidia/a10", "885", "clock", "another clock"),
        ("nvidia/jetson-thor-t5000", "512", "bus", "several devices"),
        ("google/tpu-v2", "64", "capacity", "several devices"),  # 4 × 16 GiB, printed as GB
        ("nvidia/b200-sxm", "296", "rate", "count for rate"),
    ],
)
def test_a_wrong_figure_of_another_kind_is_named_too(device, text, quantity, slip):
    asked = {"precision": "fp32"} if quantity == "rate" else {"subject": "boost"} if quantity == "clock" else {}
    assert slips(device, text, quantity=quantity, **asked)[0] == slip


def test_two_slips_at_once_are_found_and_named_together():
    # Orin Nano: 8 SM × 4 × 256 MAC × 2 × 918 MHz, the clock of the NX and half its rate
    assert slips("nvidia/jetson-orin-nano-8gb", "15.04", "int8")[0] == "another device + MAC for op"
    # 64 MAC, Volta's FP16 rate, and a MAC as one op: 16 × 4 × 64 × 1.3005 GHz = 5.327 TOP/s
    assert "another rate + MAC for op" in slips("nvidia/jetson-agx-orin-64gb", "5.327", "int8")


def test_what_two_figures_share_is_said_to_be_either():
    # 989 on an H100 is dense BF16 and sparse TF32
    explanations = IDENTIFIER.explanations(number("989"), Asked("peak", "fp32"), ["nvidia/h100-sxm5-80gb"])
    assert "dense BF16" in explanations[0].text
    assert "sparse TF32" in explanations[0].text


def test_a_number_that_nothing_gives_has_no_reading():
    assert slips("nvidia/h100-sxm5-80gb", "711.7", "bf16") == []
    assert slips("nvidia/h100-sxm5-80gb", "1011", "bf16") == []


def test_a_number_is_rounded_where_two_digits_of_the_figure_give_it():
    assert number("1300").is_rounded(1307.4e12)
    assert not number("1310").is_rounded(1296e12)
    assert number("2000", "bandwidth").is_rounded(2039e9)


def test_digits_decide_how_near_is_near():
    assert number("15.7").is_near(15.67e12)  # rounded
    assert number("494").is_near(494.7e12)  # cut
    assert not number("15.70").is_near(15.5e12)
    assert not number("3").is_near(2.5e12)  # one digit hides no fifth


def test_every_slip_that_can_be_found_has_a_meaning():
    known = {distortion.name for quantity in UNITS for distortion in DISTORTIONS[quantity]}
    assert known <= set(ERRORS)


PEAKS = [
    (device, figure)
    for device in REGISTRY.ids()
    for figure in figures(REGISTRY.get(device))
    if figure.quantity == "peak" and not (figure.mode or figure.part or figure.sparse)
]


@given(st.sampled_from(PEAKS), st.integers(3, 5))
def test_every_derived_peak_agrees_with_itself_in_any_digits(peak, digits):
    device, figure = peak
    text = f"{float(f'{figure.value / 1e12:.{digits}g}'):.10g}"
    asked = Asked("peak", figure.precision, subject=figure.unit if "+" not in str(figure.unit) else None)
    assume(figure in IDENTIFIER.fitting(asked, device))
    assert IDENTIFIER.agreeing(number(text), asked, device) is not None


@given(st.sampled_from(PEAKS), st.floats(0.01, 100))
def test_readings_are_ranked_few_and_give_the_number_that_they_explain(peak, factor):
    device, figure = peak
    printed = number(f"{figure.value / 1e12 * factor:.4g}" if figure.value * factor > 1e8 else "1")
    explanations = IDENTIFIER.explanations(printed, Asked("peak", figure.precision), [device])
    costs = [explanation.cost for explanation in explanations]
    assert costs == sorted(costs)
    assert len(explanations) <= MOST
    assert all(cost <= UNLIKELY for cost in costs)
    near = max(0.05, printed.step / printed.value / 2)  # a single digit hides as much
    assert all(printed.off_by(explanation.target) <= near * 1.1 for explanation in explanations)
    assert len({explanation.error for explanation in explanations}) == len(explanations)
    assert all(part in ERRORS for explanation in explanations for part in explanation.error.split(" + "))
