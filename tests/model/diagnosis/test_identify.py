"""Recognition: a right number agrees, a wrong one is named by what it is instead, and coincidences are not shown."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rooflint.base.facts import Factor, Ladder
from rooflint.base.units import last_digit
from rooflint.diagnosis.explanations import DISTORTIONS, ERRORS
from rooflint.diagnosis.figures import Printed, figures
from rooflint.diagnosis.identify import MOST, UNLIKELY, Identifier, _Candidates
from rooflint.diagnosis.labels import Asked
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
        ("nvidia/rtx-5090", "838", "bf16", "sparse for dense + half-rate accumulation"),
        ("nvidia/a10", "65.3", "fp16", "another clock"),
        ("nvidia/rtx-4090", "82.6", "bf16", "another unit"),
        ("nvidia/h100-sxm5-80gb", "494.7", "bf16", "halved twice"),
        ("google/tpu-v5e", "98.3", "bf16", "MAC for op"),  # has no sparsity that someone may have removed twice
        ("nvidia/l4", "15.1", "fp64", "another rate"),
        ("amd/mi250x", "191.5", "fp16", "part for whole"),
        ("nvidia/jetson-agx-orin-64gb", "275", "int8", "sparse for dense"),
        ("nvidia/jetson-agx-orin-64gb", "20.05", "int8", "another mode"),
    ],
)
def test_a_wrong_peak_is_named_by_the_slip_that_gives_it(device, text, precision, slip):
    assert slips(device, text, precision)[0] == slip


def test_one_or_two_digits_are_no_evidence_of_a_slight_error():
    # 7.834 in tebi is 7.125 and at the base clock 6.72; Titan V has 7.45: each would be 7 or 7.5 by chance
    assert slips("nvidia/v100-sxm2-16gb", "7", "fp64") == ["another device"]  # the V100 PCIe, 7.066
    assert slips("nvidia/v100-sxm2-16gb", "7.5", "fp64") == []
    assert slips("nvidia/v100-sxm2-16gb", "7.45", "fp64")[0] == "another device"


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


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("989", True),  # dense BF16: 989.4 TFLOP/s
        ("1979", True),  # sparse
        ("989.4", True),
        ("994", False),  # half a hundredth off
        ("990.9", False),  # its four digits tell it apart
        ("99", False),  # too few digits
    ],
)
def test_a_peak_in_the_place_of_a_bandwidth_is_told_by_its_digits(text, wanted):
    found = slips("nvidia/h100-sxm5-80gb", text, quantity="bandwidth")
    assert ("peak for bandwidth" in found) == wanted
    assert "peak for bandwidth" not in slips("nvidia/h100-sxm5-80gb", text, quantity="tdp")


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (204 * 2**30, True),  # of 204.8 GB/s, cut
        (205 * 2**30, True),  # rounded
        (2.19043e11, True),  # 204 × 2^30 in six digits
        (2.19046e11, False),  # these are another number
        (219e9, False),  # 203.96 × 2^30
        (203 * 2**30, False),  # no digits of it
        (203.7 * 2**30, False),
    ],
)
def test_a_figure_in_three_digits_with_a_binary_prefix_is_told_by_them(value, wanted):
    printed = Printed(value, 1.0, str(value))
    found = IDENTIFIER.explanations(printed, Asked("bandwidth"), ["nvidia/jetson-agx-orin-64gb"])
    assert ("tebi for tera" in [one.error for one in found]) == wanted


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


@pytest.mark.slow
@given(st.sampled_from(PEAKS), st.floats(0.01, 100), st.integers(1, 5))
def test_looking_candidates_up_by_value_finds_what_trying_all_finds(peak, factor, digits):
    device, figure = peak
    value = float(f"{figure.value / 1e12 * factor:.{digits - 1}e}")
    printed = Printed(value * 1e12, last_digit(f"{value:.10g}") * 1e12, f"{value:.10g}")
    asked = Asked("peak", figure.precision)
    found = IDENTIFIER.explanations(printed, asked, [device])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Candidates, "between", lambda self, low, high: list(range(len(self.explanations))))
        assert IDENTIFIER.explanations(printed, asked, [device]) == found


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


# ---- the largest of the family: 98.3 TOP/s INT8, 49.15 FP16, 6.554 FP32 on lanes, 256 GB/s, 16 of 20 SM at 1.5 GHz


def told(family, text, quantity="peak", precision=None, device="acme/big", **asked):
    """The error and the cost of each explanation, likeliest first."""
    label = Asked(quantity, precision, **asked)
    found = Identifier(family.registry).explanations(number(text, quantity), label, [device])
    return [(one.error, round(one.cost, 2)) for one in found]


PAIR, NODE = ("several devices", 1.9), ("several devices", 2.2)


@pytest.mark.parametrize(
    ("text", "precision", "wanted"),
    [
        ("196.6", "int8", [("sparse for dense", 1.0), ("op counted twice", 1.7), PAIR]),
        ("98.30", "fp16", [("sparse for dense", 1.0), ("another precision", 1.5), ("op counted twice", 1.7), PAIR]),
        ("49.15", "int8", [("MAC for op", 1.3), ("halved twice", 1.35), ("another precision", 1.5),
                           ("another mode", 1.6)]),
        ("6.554", "fp16", [("another precision", 1.6)]),  # of lanes, which costs a little more
        ("61.44", "fp16", [("full die", 1.4)]),  # 20/16
        ("65.54", "int8", [("another clock", 1.35)]),  # 1000/1500, the base clock
        ("104.9", "int8", [("another clock", 1.5)]),  # 1600/1500
        ("108.1", "int8", [("tebi for tera", 1.2)]),
        ("89.4", "int8", [("tebi for tera", 1.5)]),
        ("108.6", "int8", []),  # a binary prefix is told by its digits
        ("98304", "int8", [("prefix", 1.2)]),
        ("983", "int8", [("decimal point", 1.7)]),
        ("3.277", "fp64", [("another rate", 1.6)]),  # half of FP32
        ("12.29", "int8", [("another rate", 1.9), ("power of two", 3.2)]),  # 64 of 512 MAC, FP16 of old
        ("24.6", "int8", [("another rate", 1.8), ("another precision + MAC for op", 3.05), ("power of two", 3.2)]),
        ("93.8", "int8", [("digits", 1.75)]),  # exchanged neighbours
        ("38.9", "int8", [("digits", 2.3)]),  # exchanged, but far apart
        ("97.3", "int8", [("digits", 2.1)]),
        ("97", "int8", []),  # two digits are too few to be mistyped
        ("0", "int8", []),
        # two errors at once cost their sum and 0.25
        ("131.1", "int8", [("another clock + op counted twice", 3.3), ("another clock + several devices", 3.5)]),
        ("8.192", "fp32", [("full die", 1.4), ("another clock + op counted twice", 3.3),
                           ("another clock + several devices", 3.5)]),
        # small: 10 × 4 × 512 × 2 × 1.3 GHz, of the same architecture; elder: 12 × 8 × 128 × 2 × 1.1, of the same vendor
        ("53.25", "int8", [("another device", 1.35)]),
        ("27.03", "int8", [("another device", 1.6)]),
        ("27.1", "int8", [("another device", 1.62)]),  # 40 × the difference beyond half a digit
        ("27.3", "int8", []),
        ("26.62", "int8", [("another device + MAC for op", 2.9), ("another device + another precision", 3.1)]),
        ("106.5", "int8", [("another device + sparse for dense", 2.6), ("another device + op counted twice", 3.3),
                           ("another device + several devices", 3.5)]),
        # one: 40 × 8 × 96 × 2 × 1.4 GHz, of another vendor; 13/15 of 98.3 is the clock of small
        ("86.02", "int8", [("another device", 2.2), ("another clock", 2.48)]),
        ("86.1", "int8", [("another clock", 2.5)]),
    ],
)  # fmt: skip
def test_a_wrong_peak_of_the_family_costs_what_its_errors_cost(family, text, precision, wanted):
    assert told(family, text, "peak", precision) == wanted


@pytest.mark.parametrize(
    ("text", "quantity", "asked", "wanted"),
    [
        ("128", "bandwidth", {}, [("data rate", 1.3)]),
        ("512", "bandwidth", {}, [("data rate", 1.6), ("several devices", 1.9)]),
        ("2048", "bandwidth", {}, [("bits for bytes", 1.1), NODE]),
        ("192", "bandwidth", {}, [("another device", 1.35)]),
        ("64", "bandwidth", {}, [("another device", 1.6), ("power of two", 3.2)]),
        ("168", "bandwidth", {}, []),  # of another vendor, which is too far
        ("32", "bus", {}, [("bits for bytes", 1.2)]),
        ("2048", "bus", {}, [("bits for bytes", 1.1), NODE]),
        ("128", "capacity", {}, [("bits for bytes", 1.1), NODE]),
        ("1.6", "clock", {"subject": "cuda_core"}, [("prefix", 1.2)]),
        ("3000", "clock", {"subject": "boost"}, [("data rate", 1.9)]),
        ("10", "count", {"subject": "SM"}, [("another device", 1.35), ("another count", 2.0)]),
        ("20", "count", {"subject": "SM"}, [("full die", 1.4)]),
        ("2048", "count", {"subject": "SM"}, [("another unit", 1.6)]),
        ("16", "rate", {"precision": "fp16"}, [("count for rate", 1.45)]),
        ("32", "rate", {"precision": "fp32"}, [("count for rate", 1.45), ("power of two", 3.2)]),
        ("1024", "rate", {"precision": "fp16"}, [("MAC for op", 1.3), ("another rate", 1.9)]),
        ("300", "tdp", {}, []),
    ],
)
def test_a_wrong_figure_of_the_family_costs_what_its_errors_cost(family, text, quantity, asked, wanted):
    assert told(family, text, quantity, **asked) == wanted


def test_a_label_decides_what_a_figure_is_taken_for(family):
    # a table with a column for sparsity distinguishes them
    assert told(family, "196.6", "peak", "int8", sparse=False)[0] == ("sparse for dense", 1.25)
    assert told(family, "98.3", "peak", "int8", sparse=True)[0] == ("dense for sparse", 1.0)
    assert told(family, "1000", "clock", subject="boost")[0] == ("another clock", 1.2)
    # 4 × 98.3, and 4 × 196.6: the number of devices is known where the table says it
    assert told(family, "393.2", "peak", "int8", times=4)[0] == ("several devices", 0.9)
    assert told(family, "786.4", "peak", "int8", times=4)[0] == ("sparse for dense + several devices", 2.15)
    assert PAIR not in told(family, "196.6", "peak", "int8", times=4)


def test_only_a_number_with_three_digits_is_explained_by_two_errors(family):
    # 130 differs from 131.07 by less than a hundredth, but its last digit may be 7 of it
    assert told(family, "131", "peak", "int8") == []
    assert told(family, "1.3e2", "peak", "int8") == []


def test_what_is_meant_is_no_other_device(family):
    found = Identifier(family.registry).explanations(number("53.25"), Asked("peak", "int8"), ["acme/big", "acme/small"])
    assert "another device" not in [one.error for one in found]


def test_figures_of_documents_are_known_errors_or_disputed(family):
    (peak,) = [one for one in figures(family.big) if one.says == "dense INT8 peak (tensor_core)"]
    wrong = replace(
        peak, ladders=(Ladder((Factor("printed", 77e12, "77 TOP/s"),)),), printed="a blog", dispute="a slip"
    )
    refuting = Identifier(family.registry, refuted={"acme/big": [wrong]})
    (found,) = refuting.explanations(number("77.0"), Asked("peak", "int8"), ["acme/big"])
    assert (found.error, found.cost, found.text) == ("known error", 1.65, "is what a blog prints: a slip")
    assert refuting.explanations(number("77.0"), Asked("peak", "fp16"), ["acme/big"]) == []
    assert refuting.explanations(number("77.0"), Asked("peak", "int8", sparse=True), ["acme/big"]) == []
    # 76.7 is within 0.4 %: a known error must be met exactly
    assert refuting.explanations(number("76.70"), Asked("peak", "int8"), ["acme/big"]) == []
    # what the vendor prints agrees, and so does what is derived, which comes first
    printing = Identifier(family.registry, printed={"acme/big": [wrong]})
    assert printing.agreeing(number("77.0"), Asked("peak", "int8"), "acme/big") is wrong
    assert printing.agreeing(number("98.3"), Asked("peak", "int8"), "acme/big").printed is None
    # of another precision it costs 0.9 more: 1.5 + 0.9
    (other,) = printing.explanations(number("77.0"), Asked("peak", "fp16"), ["acme/big"])
    assert (other.error, other.cost) == ("another precision", pytest.approx(2.4))


def test_a_text_names_the_figure_and_its_device(family):
    def texts(text, quantity="peak", precision="int8", **asked):
        found = Identifier(family.registry).explanations(
            number(text, quantity), Asked(quantity, precision, **asked), ["acme/big"]
        )
        return [one.text for one in found]

    assert texts("27.03") == ["is the dense INT8 peak (tensor_core) of acme/elder, 27.03 TOP/s"]
    assert texts("64", "bandwidth", None)[0] == "is the bandwidth (hbm) of acme/elder, 64 GB/s (and of 1 more)"
    # 1 GHz is the base clock; that it is also what the boost clock would be with another factor is no other name
    assert texts("1000", "clock", None, subject="boost")[0] == "is the clock (base), 1 GHz"
    assert texts("16", "rate")[0] == "is the number of its SMs, 16"
    assert texts("32", "rate")[0] == "is 2 × the number of its SMs, 16"
    assert texts("38.9") == ["is 98.3 with two digits exchanged"]
    both = "is computed with the base clock, 1 GHz, instead of 1500 MHz, and counts a pair of devices"
    assert texts("131.1")[1] == both


def test_the_rated_and_the_peak_power_are_the_tdp(specs):
    power = "tdp: [30 W, wp, p]\npowers: {peak: [40 W, wp, p], typical: [20 W, wp, p]}\n"
    specs.device(power)
    identifier = Identifier(specs.registry())
    agreeing = [identifier.agreeing(number(text, "tdp"), Asked("tdp"), "acme/one") for text in ("30", "40", "20")]
    assert [one and one.subject for one in agreeing] == ["rated", "peak", None]
    (typical,) = identifier.explanations(number("20", "tdp"), Asked("tdp"), ["acme/one"])
    assert (typical.error, typical.cost) == ("another mode", 1.5)


def test_the_share_of_a_part_that_is_no_half_is_named(specs):
    body = "parts: {die: [3, wp, p]}\nmemories: {hbm: {bandwidth: [300 GB/s, wp, p], capacity: [24 GiB, wp, p]}}\n"
    specs.device(body)
    identifier = Identifier(specs.registry())

    def found(text, quantity="bandwidth", part=None):
        told = identifier.explanations(number(text, quantity), Asked(quantity, part=part), ["acme/one"])
        return [(one.error, round(one.cost, 2)) for one in told]

    assert found("100")[0] == ("part for whole", 1.2)
    assert found("300", part="die")[0] == ("whole for part", 1.2)
    # 24 GiB are printed as 24 GB, and 2 × 24 as 48
    assert identifier.agreeing(number("24", "capacity"), Asked("capacity"), "acme/one")
    assert found("48", "capacity") == [PAIR]
