"""Diagnosis: an error is planted in a real device, and the cause must name it."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.facts import Factor, Ladder
from rooflint.base.units import parse_quantity
from rooflint.diagnosis import values
from rooflint.diagnosis.candidate_causes import can_have
from rooflint.diagnosis.causes import Case, Cause, Span
from rooflint.diagnosis.diagnose import CANDIDATES, MAX_CAUSES, candidates, diagnose, shortlist
from rooflint.hardware.registry import Registry

REGISTRY = Registry()
ORIN, H100 = REGISTRY.get("nvidia/jetson-agx-orin-64gb"), REGISTRY.get("nvidia/h100-sxm5-80gb")
KPU = REGISTRY.get("stillwater/kpu-t768")
A100, T4 = REGISTRY.get("nvidia/a100-sxm4-80gb"), REGISTRY.get("nvidia/t4")
#: (device, unit, precision) of every peak that can be derived.
RATES = [
    (device, name, precision)
    for device in REGISTRY.ids()
    for name, unit in REGISTRY.get(device).units.items()
    for precision in unit.precisions
    if not unit.undisclosed
]


def found(rate):
    """The device, unit and precision of one of RATES."""
    device, unit, precision = rate
    return REGISTRY.get(device), REGISTRY.get(device).unit(unit), precision


def planted(device, path, value):
    """The device with another value of a fact, as if its own file said so."""
    return device.with_facts({path: replace(device.facts[path].with_value(value), file=device.file)})


def span(obtained, expected, half_a_digit):
    """Ratios that an expectation, printed with so many digits, allows for."""
    return Span(obtained / (expected + half_a_digit), obtained / (expected - half_a_digit))


def peak(device, unit, precision, expected, half_a_digit, *, sparse=False, registry=REGISTRY):
    ladder = device.unit(unit).derivation(precision, sparse=sparse)
    allowed = span(ladder.result, expected, half_a_digit)
    return Case(ladder, allowed, device, registry, unit, precision, sparse)


def bandwidth(device, memory, expected, half_a_digit):
    ladder = device.memory(memory).derivation()
    return Case(ladder, span(ladder.result, expected, half_a_digit), device, REGISTRY)


def capacity(device, memory, expected, half_a_digit):
    fact = device.memory(memory).fact("capacity")
    ladder = Ladder((Factor("capacity", fact.value, fact.display, fact),))
    return Case(ladder, span(ladder.result, expected, half_a_digit), device, REGISTRY)


# ------------------------------------------------------------------------------------------------------- planted errors

INT8 = "units.tensor_core.macs_per_clock.int8"


def test_orins_int8_rate_at_64_is_an_eighth_and_voltas_fp16_rate():
    # 16 × 4 × 64 × 2 × 1.3005 GHz = 10.65 TOP/s, and 85 ± 0.25 is what 170 sparse means
    cause = diagnose(peak(planted(ORIN, INT8, 64), "tensor_core", "int8", 85e12, 0.25e12))[0]
    assert cause.factor_text == "1/8"
    assert "64" in cause.text
    assert "1/8 of ampere-ga10b's 512" in cause.text
    assert "FP16 rate" in cause.text
    assert "volta-gv100" in cause.text
    assert cause.repair == "512 MAC"
    assert (cause.fact.path, cause.fact.file, cause.fact.line) == (INT8, ORIN.file, ORIN.facts[INT8].line)


def test_orins_int8_rate_at_32_is_an_eighth_and_a_mac_counted_as_one_op():
    # 32 op a clock are 16 MAC: 5.33 "TOP/s" are 1/16 of 85, that is 1/8 by the rate and 1/2 by the convention
    cause = diagnose(peak(planted(ORIN, INT8, 32), "tensor_core", "int8", 85e12, 0.25e12))[0]
    assert cause.factor_text == "1/16 = 1/8 × 1/2"
    assert "1/8 of ampere-ga10b's 512" in cause.text
    assert "FP16 rate" in cause.text
    assert "a MAC is counted as one op" in cause.text
    assert cause.repair == "512 MAC"


def test_a_wrong_rate_in_the_architecture_itself_is_measured_by_what_the_peak_needs():
    wrong = ORIN.with_facts({INT8: ORIN.facts[INT8].with_value(64)})
    cause = diagnose(peak(wrong, "tensor_core", "int8", 85e12, 0.25e12))[0]
    assert (cause.factor_text, cause.repair) == ("1/8", "512 MAC")
    assert cause.fact.file.stem == "ampere-ga10b"
    assert "volta-gv100" in cause.text


def test_h100s_tensor_cores_at_the_clock_of_its_cuda_cores():
    # 132 × 4 × 512 × 2 × 1.98 GHz = 1070.5 against 989.4 TFLOP/s, 1.98 / 1.83 = 1.082
    wrong = planted(H100, "units.tensor_core.clock", 1.98e9)
    cause = diagnose(peak(wrong, "tensor_core", "fp16", 989.4e12, 0.05e12))[0]
    assert cause.factor_text == "1.082"
    assert "1980 MHz" in cause.text
    assert "the clock of cuda_core" in cause.text
    assert "the boost clock" in cause.text
    assert cause.repair == "1830 MHz"
    assert cause.fact.path == "units.tensor_core.clock"


def test_a100_with_the_lanes_of_another_ampere():
    # GA102 has 128 FP32 lanes in an SM, GA100 64: 38.98 against 19.5 TFLOP/s
    wrong = planted(A100, "units.cuda_core.per_group", 128)
    cause = diagnose(peak(wrong, "cuda_core", "fp32", 19.5e12, 0.05e12))[0]
    assert cause.factor_text == "2"
    assert (cause.fact.path, cause.repair) == ("units.cuda_core.per_group", "64")
    assert "per_group 128" in cause.text
    assert "ampere-ga100" in cause.text


def test_a100s_lanes_wrong_in_the_architecture_are_among_the_causes():
    wrong = A100.with_facts({"units.cuda_core.per_group": A100.facts["units.cuda_core.per_group"].with_value(128)})
    causes = diagnose(peak(wrong, "cuda_core", "fp32", 19.5e12, 0.05e12))
    assert ("units.cuda_core.per_group", "64") in [(cause.fact.path, cause.repair) for cause in causes]
    assert {cause.factor_text for cause in causes} == {"2"}


T4_WIDE = planted(T4, "memories.gddr6.bus", 64)  # 512 bit are 64 B


def test_t4_with_a_bus_twice_as_wide():
    # 512 / 8 × 10 Gbit/s = 640 against 320.0 GB/s
    causes = diagnose(bandwidth(T4_WIDE, "gddr6", 320e9, 0.05e9))
    assert causes[0].factor_text == "2"


def test_the_bus_that_is_wrong_is_among_the_causes():
    # the figures do not decide between a bus of 512 bit and a data rate doubled twice: both must be said
    causes = diagnose(bandwidth(T4_WIDE, "gddr6", 320e9, 0.05e9))
    assert ("memories.gddr6.bus", "256 bit") in [(cause.fact.path, cause.repair) for cause in causes if cause.fact]


@pytest.mark.parametrize(
    ("device", "path", "value", "expected", "sentence"),
    [
        # 40 960 bit / 8 × 5.238 Gbit/s = 26.8 TB/s, eight times the 3.352 TB/s of 5120 bit
        (
            H100,
            "memories.hbm3.bus",
            40960 / 8,
            3.352e12,
            "bus 40960 bit would have to be 5120 bit: bits were taken for bytes",
        ),
        # 256 bit are 32 B: somebody wrote the bytes
        (T4, "memories.gddr6.bus", 32 / 8, 320e9, "bus 32 bit would have to be 256 bit: bytes were taken for bits"),
    ],
)
def test_a_bus_in_the_other_of_bits_and_bytes(device, path, value, expected, sentence):
    causes = candidates(bandwidth(planted(device, path, value), path.split(".")[1], expected, expected * 1e-4))
    assert sentence in [cause.text for cause in causes]


def test_a_bandwidth_in_bits_keeps_its_digits():
    fact = KPU.facts["memories.hbm3.bandwidth"]
    wrong = KPU.with_facts({fact.path: replace(fact, quantity=parse_quantity("1638 Gbit/s"))})
    found = {cause.text: cause for cause in candidates(bandwidth(wrong, "hbm3", 1638e9, 0.5e9))}
    cause = found["bandwidth 1638 Gbit/s would have to be 1638 GB/s: bytes were taken for bits"]
    assert (cause.repair, cause.repaired.value) == ("1638 GB/s", 1638e9)


def test_a_memory_clock_used_as_a_data_rate():
    # A100's 1593 MHz is half of its 3.186 Gbit/s
    wrong = planted(A100, "memories.hbm2e.pin_rate", 1.593e9 / 8)
    causes = diagnose(bandwidth(wrong, "hbm2e", 2039e9, 0.5e9))
    assert causes[0].factor_text == "1/2"
    assert "double data rate is missing" in causes[0].text
    assert causes[0].fact.path == "memories.hbm2e.pin_rate"
    assert parse_quantity(causes[0].repair).value == pytest.approx(3.186e9 / 8)


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        (80 * 2**30, "the expectation counts in GiB, the figure is in GB"),
        (80e9 * 1e9 / 2**30, "the expectation counts in GB, the figure is in GiB"),
        (80e9 / 8, "bits are taken for bytes"),
        (80e9 * 8, "bytes are taken for bits"),
        (80e12, "a prefix is off by a thousand"),
    ],
)
def test_gib_for_gb_bits_for_bytes_and_a_prefix(expected, sentence):
    cause = diagnose(capacity(H100, "hbm3", expected, expected * 1e-4))[0]
    assert cause.text.startswith(sentence)
    assert cause.parts == ()


def test_a_sparse_figure_expected_of_a_dense_peak():
    # the whitepaper's table prints 1979, with sparsity; the dense peak is 989.43
    causes = diagnose(peak(H100, "tensor_core", "fp16", 1979e12, 0.5e12))
    (sparse,) = [cause for cause in causes if "structured sparsity" in cause.text]
    assert sparse.factor_text == "1/2"
    assert sparse.text == "the expectation is a figure with structured sparsity, the peak is dense"


def test_a_dense_figure_expected_of_a_sparse_peak():
    causes = diagnose(peak(H100, "tensor_core", "fp16", 989.4e12, 0.05e12, sparse=True))
    assert "the expectation is a dense figure taken for a sparse one" in [cause.text for cause in causes]


def test_sparsity_is_no_cause_where_the_unit_has_none():
    causes = diagnose(peak(T4, "tensor_core", "fp16", 2 * 65.1264e12, 1e10))
    assert causes
    assert not any("sparsity" in cause.text for cause in causes)


def test_a_mac_counted_as_one_op():
    # 64 of T4's 128 MAC a clock, because somebody halved what was printed in op: 65.13 against 130.25 TOP/s
    path = "units.tensor_core.macs_per_clock.int8"
    wrong = T4.with_facts({path: T4.facts[path].with_value(64)})
    causes = diagnose(peak(wrong, "tensor_core", "int8", 130.25e12, 0.005e12))
    assert causes[0].repair == "128 MAC"
    assert any("a MAC is counted as one op" in cause.text for cause in causes)


def test_a_terahertz_is_a_prefix():
    causes = diagnose(peak(T4, "tensor_core", "int8", 130.2528e9, 1e7))
    assert (causes[0].factor_text, causes[0].text) == ("1000", "a prefix is off by a thousand")


@pytest.mark.parametrize(
    "case",
    [
        peak(H100, "tensor_core", "fp16", 989.42976e12 / 1.2345, 1e9),
        bandwidth(H100, "hbm3", 3352.32e9 / 1.2345, 1e7),
        capacity(H100, "hbm3", 80e9 / 1.2345, 1e5),
    ],
    ids=["peak", "bandwidth", "capacity"],
)
def test_what_nothing_explains_stays_unexplained(case):
    # 1.2345 is no convention, no other clock of this device, and no value that a source would print
    assert case.span.middle == pytest.approx(1.2345)
    assert [cause.text for cause in diagnose(case)] == []


def test_a_fact_that_divides_is_mended_the_other_way_round():
    # a third of the MI250X's 128 GB where a half is meant: 42.67 against 64 GB a GCD, 2/3
    wrong = planted(REGISTRY.get("amd/mi250x"), "parts.gcd", 3)
    whole = capacity(wrong, "hbm2e", 64e9, 0.05e9).ladder
    ladder = whole.times(Factor("parts", 1 / 3, "1/3 (gcd)", wrong.facts["parts.gcd"], inverse=True))
    causes = diagnose(Case(ladder, span(ladder.result, 64e9, 0.05e9), wrong, REGISTRY))
    assert {cause.factor_text for cause in causes} == {"2/3"}
    # what stands above the line would have to be larger, what stands below it smaller
    repairs = {cause.fact.path: cause.repair for cause in causes if cause.fact}
    assert repairs["parts.gcd"] == "2"
    assert repairs.get("memories.hbm2e.capacity", "192 GB") == "192 GB"


# --------------------------------------------------------------------------------------------------- what can go wrong


@pytest.mark.parametrize("low", [0.0, -1.0, math.nan, math.inf])
def test_no_ratio_no_cause(low):
    assert diagnose(Case(H100.unit("tensor_core").derivation("fp16"), Span(low, 1.0), H100, REGISTRY)) == []


def test_a_tolerance_of_a_hundred_percent_leaves_no_upper_end():
    # expected 5 ± 5 and obtained 20: between 2 and infinitely many times too much
    ladder = H100.unit("tensor_core").derivation("fp16")
    case = Case(ladder, Span(2.0, math.inf), H100, REGISTRY, "tensor_core", "fp16")
    assert all(case.span.holds(cause.factor) for cause in diagnose(case))


def test_a_fact_printed_as_a_fraction_of_a_decimal_can_be_diagnosed(specs):
    device = specs.device("memories: {m: {bus: [256 bit, wp, p], pin_rate: [6.4/2 Gbit/s, wp, p]}}\n")
    # 256 / 8 × 3.2 Gbit/s = 102.4 against 204.8 GB/s
    ladder = device.memory("m").derivation()
    causes = diagnose(Case(ladder, span(ladder.result, 204.8e9, 0.05e9), device, specs.registry()))
    assert causes[0].factor_text == "1/2"


def test_a_broken_architecture_next_door_does_not_keep_a_figure_from_being_explained(specs):
    specs.write("acme/broken", "name: [\n", "architectures")
    registry = Registry.of([specs.root])
    case = peak(planted(ORIN, INT8, 64), "tensor_core", "int8", 85e12, 0.25e12, registry=registry)
    assert diagnose(case)[0].factor_text == "1/8"


def test_conventions_are_known_without_device_and_registry():
    ladder = H100.unit("tensor_core").derivation("fp16")
    causes = diagnose(Case(ladder, Span(0.4999, 0.5001)))
    assert any("a MAC is counted as one op" in cause.text for cause in causes)


# --------------------------------------------------------------------------------------------------------------- shapes


@pytest.mark.slow
@given(st.sampled_from(RATES), st.data(), st.sampled_from([1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.082, 2, 3, 4, 8, 16, 1000]))
def test_every_cause_explains_the_ratio_and_every_repair_repairs_it(rate, data, factor):
    device, unit, precision = found(rate)
    right = unit.peak_ops_per_s(precision)
    fact = data.draw(st.sampled_from(unit.derivation(precision).facts))
    wrong = planted(device, fact.path, fact.value * factor)
    case = peak(wrong, unit.name, precision, right, right * 5e-4)
    causes = diagnose(case)
    for cause in causes:
        assert case.span.holds(cause.factor)
        if cause.parts:
            assert cause.factor == pytest.approx(math.prod(part.factor for part in cause.parts), rel=1e-9)
        elif cause.fact and cause.repair:
            # a repair is shown with six digits
            fixed = cause.fact.with_value(cause.fact.value * _shown(cause.repair) / _shown(cause.fact.display))
            again = wrong.with_facts({cause.fact.path: fixed}).unit(unit.name).peak_ops_per_s(precision)
            assert again == pytest.approx(right, rel=1e-3)


def _shown(text):
    return parse_quantity(text).value


@pytest.mark.slow
@given(st.sampled_from(RATES), st.sampled_from([1 / 16, 1 / 8, 1 / 4, 1 / 2, 2, 4, 8]))
def test_causes_are_few_ranked_distinct_and_the_same_each_time(rate, factor):
    device, unit, precision = found(rate)
    right = unit.peak_ops_per_s(precision)
    case = peak(device, unit.name, precision, right / factor, right / factor * 5e-4)
    causes = diagnose(case)
    assert len(causes) <= CANDIDATES
    assert len(shortlist(causes)) <= MAX_CAUSES
    assert [cause.cost for cause in causes] == sorted(cause.cost for cause in causes)
    assert shortlist(causes) == causes[: len(shortlist(causes))]  # untried, the simplest are shown
    assert len({(cause.text, cause.repair) for cause in causes}) == len(causes)
    assert diagnose(case) == causes


@pytest.mark.slow
@given(st.sampled_from(RATES), st.floats(-6, 6), st.floats(1, 1.5), st.booleans())
def test_whatever_the_ratio_a_cause_lies_within_it_or_there_is_none(rate, decades, width, in_memory):
    device, unit, precision = found(rate)
    allowed = Span(10**decades, 10**decades * width)
    case = Case(unit.derivation(precision), allowed, device, REGISTRY, unit.name, precision)
    if in_memory:
        case = Case(T4.memory("gddr6").derivation(), allowed, T4, REGISTRY)
    for cause in diagnose(case):
        assert allowed.holds(cause.factor)
        assert cause.text


INHERITED = [rate for rate in RATES if found(rate)[1].fact(f"macs_per_clock.{rate[2]}").file != REGISTRY.files[rate[0]]]


@pytest.mark.slow
@given(st.sampled_from(INHERITED))
def test_a_rate_in_the_device_that_contradicts_its_architecture_is_the_first_cause(rate):
    device, unit, precision = found(rate)
    path = f"units.{unit.name}.macs_per_clock.{precision}"
    right = unit.peak_ops_per_s(precision)
    wrong = planted(device, path, device.facts[path].value / 8)
    first = diagnose(peak(wrong, unit.name, precision, right, right * 5e-4))[0]
    assert first.factor_text.startswith("1/8")
    assert (first.fact.path, first.repair) == (path, device.facts[path].display)


def test_what_dies_of_one_generation_share_is_no_better_suspect_than_a_rate_that_the_architecture_denies():
    # GP104 has four FP64 lanes as GP102 has, and GP100 has 32: no reason to suspect the lanes of a P40
    device = REGISTRY.get("nvidia/p40")
    path = "units.fp64_core.macs_per_clock.fp64"
    right = device.unit("fp64_core").peak_ops_per_s("fp64")
    first = diagnose(peak(planted(device, path, 1 / 8), "fp64_core", "fp64", right, right * 5e-4))[0]
    assert (first.fact.path, first.repair) == (path, "1 MAC")


def alone(device, path, written, expected, **more):
    """The first cause where a fact of a device, which is the figure, has another value than a document prints."""
    fact = replace(device.facts[path], quantity=parse_quantity(written))
    ladder = Ladder((Factor(path.rpartition(".")[2], fact.value, fact.display, fact),))
    ratio = fact.value / expected
    return diagnose(Case(ladder, Span(0.999 * ratio, 1.001 * ratio), device, REGISTRY, **more))[0]


def test_two_digits_that_were_exchanged_are_put_back():
    first = alone(REGISTRY.get("amd/mi300x"), "tdp", "570 W", 750.0)
    assert (first.text, first.repair) == ("tdp 570 W would have to be 750 W: two digits are exchanged", "750 W")


def test_a_wrong_prefix_keeps_the_digits():
    first = alone(REGISTRY.get("nvidia/l40s"), "memories.gddr6.capacity", "48 MB", 48e9)
    assert (first.fact.display, first.repair) == ("48 MB", "48 GB")


def test_a_unit_that_begins_like_a_prefix_has_none():
    first = alone(REGISTRY.get("amd/epyc-7763"), "units.simd.macs_per_clock.fp64", "8000 MAC", 16.0)
    assert first.repair == "8 MAC"


def test_a_power_that_documents_print_of_another_device_is_named_where_the_spec_is_given():
    first = alone(A100, "tdp", "400 W", 300.0, given=lambda fact: True)
    assert first.of_claim
    assert first.text.startswith("the expectation is the tdp of nvidia/a100-pcie-80gb, 300 W")


def test_the_figure_of_another_precision_is_what_the_claim_quotes():
    right = H100.unit("tensor_core").peak_ops_per_s("bf16")
    found = candidates(peak(H100, "tensor_core", "bf16", right / 2, right / 2000))
    assert {cause.text: cause.of_claim for cause in found}["the expectation is the tf32 figure (256 MAC/clock)"]


# ------------------------------------------------------------------------------------------------- what a trial tells


def tried(text, cost, fixes=None, breaks=None):
    return Cause(text, 0.5, cost, fixes=fixes, breaks=breaks)


def test_a_repair_that_mends_more_goes_before_a_simpler_one():
    found = shortlist([tried("simple", 1.0, fixes=1, breaks=0), tried("fixes", 1.2, fixes=4, breaks=0)])
    assert found[0].text == "fixes"


def test_a_repair_that_breaks_what_is_green_comes_after_one_that_does_not():
    found = shortlist([tried("breaks", 1.0, fixes=9, breaks=1), tried("clean", 1.5, fixes=1, breaks=0)])
    assert found[0].text == "clean"


def test_an_expectation_is_doubted_before_a_fact_that_mends_no_other_claim_and_is_much_less_simple():
    claim = replace(tried("claim", 1.1), of_claim=True)
    for cost, fixes, first in [(2.0, 1, "claim"), (1.5, 1, "fact"), (2.0, 2, "fact")]:
        assert shortlist([tried("fact", cost, fixes=fixes, breaks=0), claim])[0].text == first


def test_a_cause_that_is_much_less_simple_is_left_out():
    assert [cause.text for cause in shortlist([tried("far", 3.0), tried("near", 1.0)])] == ["near"]
    assert shortlist([]) == []


def test_at_most_three_causes_are_shown():
    assert len(shortlist([tried(str(number), 1.0) for number in range(9)])) == MAX_CAUSES == 3


# ---- the expectation is somebody else's figure


def texts(device, unit, precision, expected, half_a_digit):
    return [cause.text for cause in candidates(peak(REGISTRY.get(device), unit, precision, expected, half_a_digit))]


def test_an_expectation_that_is_another_devices_figure_is_named_as_that():
    assert any(
        text.startswith("the expectation is the dense BF16 peak (tensor_core) of nvidia/a100-")
        for text in texts("nvidia/h200-sxm-141gb", "tensor_core", "bf16", 312e12, 0.5e12)
    )


def test_an_expectation_that_is_another_devices_sparse_figure_is_named_as_that():
    # 1979 is the sparse BF16 of the SXM5 board; the PCIe board's is 1513
    assert any(
        text.startswith("the expectation is the sparse BF16 peak (tensor_core) of nvidia/h100-sxm5-80gb")
        for text in texts("nvidia/h100-pcie-80gb", "tensor_core", "bf16", 1979e12, 0.5e12)
    )


def test_a_figure_that_is_two_things_is_said_to_be_both():
    # 989 on an H100 is dense BF16 and sparse TF32
    message = texts("nvidia/h100-sxm5-80gb", "tensor_core", "tf32", 989e12, 0.5e12)
    assert "the expectation is a figure with structured sparsity, the peak is dense" in message
    assert any(
        text.startswith("the expectation is the dense BF16 peak (tensor_core), 989.4 TFLOP/s") for text in message
    )


def test_groups_that_contradict_those_of_the_other_units_are_the_first_cause():
    # 82 SM × 2 FP64 cores × 2 op × 1.695 GHz = 0.556 TFLOP/s; with 41 SM half of it
    device = REGISTRY.get("nvidia/rtx-3090")
    device = planted(device, "units.fp64_core.groups", 41)
    first = diagnose(peak(device, "fp64_core", "fp64", 0.556e12, 0.0005e12))[0]
    assert "groups 41 is not the 82 SM that" in first.text
    assert first.repair == "82"


def test_a_prefix_that_a_size_was_written_with_is_mended_in_the_fact():
    device = planted(H100, "memories.hbm3.capacity", 80 * 2**30)
    gib = replace(device.facts["memories.hbm3.capacity"], quantity=parse_quantity("80 GiB"))
    first = diagnose(capacity(device.with_facts({"memories.hbm3.capacity": gib}), "hbm3", 80e9, 0.5e9))[0]
    assert first.text == "capacity 80 GiB is written instead of 80 GB"
    assert first.repair == "80 GB"


def test_a_clock_in_khz_is_a_prefix_that_is_off():
    device = planted(T4, "units.tensor_core.clock", 1.59e6)
    causes = diagnose(peak(device, "tensor_core", "int8", 130e12, 0.5e12))
    assert any(cause.fact and cause.fact.path.endswith(".clock") and cause.repair == "1590 MHz" for cause in causes)


# ------------------------------------------------------------------------------------------------ facts that are given


def given(case):
    """The case where all facts come with the package, so that the expectation is wrong."""
    return replace(case, given=lambda fact: True)


def test_a_sparse_figure_is_a_cause_in_the_claim_where_the_facts_are_given():
    # 132 × 4 × 1024 × 2 × 1.83 GHz = 1979 TFLOP/s, and twice that with sparsity
    (cause,) = diagnose(given(peak(H100, "tensor_core", "fp8", 3958e12, 0.5e12)))
    assert cause.text.startswith("the expectation is the sparse FP8 peak")
    assert cause.text.endswith("with structured sparsity")
    assert (cause.of_claim, cause.fact, cause.remedy) == (True, None, "add 'sparse: true'")


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (495e12, "the expectation is half the dense peak, as if that were the sparse one"),
        (312e12, "the expectation is the dense BF16 peak (tensor_core) of nvidia/a100"),
        (7915e12, "the expectation counts the eight devices of a node"),
        (989.4e9, "the expectation"),
    ],
)
def test_errors_of_the_claim_are_told_as_an_audit_tells_them(expected, text):
    causes = diagnose(given(peak(H100, "tensor_core", "bf16", expected, expected * 1e-3)))
    assert causes[0].text.startswith(text)
    assert all(cause.of_claim and cause.fact is None for cause in causes)


def test_a_given_fact_is_not_made_up_anew():
    # 141 SM would give 1057 TFLOP/s, and no H100 has 141
    case = peak(H100, "tensor_core", "bf16", 1057e12, 0.5e12)
    assert [cause.repair for cause in diagnose(case)] == ["141"]
    assert diagnose(given(case)) == []


def test_a_given_fact_beside_own_ones_is_doubted_last_and_not_repaired():
    wrong = planted(H100, "units.tensor_core.clock", 1.98e9)
    case = peak(wrong, "tensor_core", "fp16", 989.4e12, 0.05e12)
    mixed = replace(case, given=lambda fact: fact.path != "units.tensor_core.clock")
    causes = diagnose(mixed)
    assert causes[0].fact.path == "units.tensor_core.clock"
    assert all(cause.repaired is None for cause in causes if cause.fact.path != "units.tensor_core.clock")


@pytest.mark.parametrize("sparse", [False, True])
def test_a_sparse_rate_in_an_architecture_is_called_sparse_for_dense(sparse):
    # 2048 MAC stand where 1024 are dense: 3958 TFLOP/s instead of 1979, and 7916 instead of 3958 with sparsity
    rate = "units.tensor_core.macs_per_clock.fp8"
    wrong = H100.with_facts({rate: H100.facts[rate].with_value(2048)})
    cause = diagnose(peak(wrong, "tensor_core", "fp8", 3958e12 if sparse else 1979e12, 0.5e12, sparse=sparse))[0]
    assert "sparse for dense: structured sparsity is in the rate already" in cause.text
    assert (cause.fact.file.stem, cause.repair) == ("hopper-gh100", "1024 MAC")


def test_bus_widths_that_are_not_built_are_not_proposed():
    # 3352 GB/s of 5120 bit; 10.68 TB/s would need 16 320 bit
    causes = diagnose(bandwidth(H100, "hbm3", 10.68e12, 0.005e12))
    assert not any(cause.fact and cause.fact.path.endswith(".bus") for cause in causes)


def test_no_more_groups_are_proposed_than_the_die_has():
    # GH100 has 144 SMs, 132 of which an H100 SXM5 enables
    fact = H100.facts["units.tensor_core.groups"]
    case = peak(H100, "tensor_core", "fp8", 1979e12, 0.5e12)
    assert can_have(case, fact, 144) and not can_have(case, fact, 145)


def test_a_width_that_another_device_has_is_proposed_although_it_is_odd():
    # 6016 bit: the H100 NVL with 94 GB, as its driver prints it
    bus = H100.facts["memories.hbm3.bus"]
    case = bandwidth(H100, "hbm3", 3.35e12, 0.005e12)
    assert can_have(case, bus, 6016 / 8) and not values.is_built(bus, 6016 / 8)
    assert not can_have(case, bus, 6048 / 8)


RTX_3070, V100 = REGISTRY.get("nvidia/rtx-3070"), REGISTRY.get("nvidia/v100-sxm2-16gb")


@pytest.mark.parametrize(
    ("path", "wrong", "right"),
    [
        ("memories.gddr6.bus", 192 / 8, "256 bit"),  # a rate of 18.6667 Gbit/s per pin would do, too: nobody prints it
        ("memories.gddr6.bus", 128 / 8, "256 bit"),
        ("memories.gddr6.pin_rate", 16e9 / 8, "14 Gbit/s"),  # a bus of 224 bit would do, too: no device has it
        ("memories.gddr6.pin_rate", 14e9 / 8 / 8, "14 Gbit/s"),  # eight transfers a clock; or a GDDR bus of 2048 bit
    ],
)
def test_of_a_bus_and_its_rate_that_is_doubted_whose_right_value_other_devices_have(path, wrong, right):
    causes = diagnose(bandwidth(planted(RTX_3070, path, wrong), "gddr6", 448e9, 0.5e9))
    assert (causes[0].fact.path, causes[0].repair) == (path, right)
    assert not any(cause.repair in ("18.6667 Gbit/s", "224 bit", "2048 bit") for cause in causes)


@pytest.mark.parametrize(("device", "wrong", "right"), [(V100, 12, 6), (A100, 6, 12), (H100, 12, 18)])
def test_a_wrong_number_of_links_is_doubted_before_a_rate_that_all_links_have(device, wrong, right):
    other = planted(device, "links.nvlink.count", wrong)
    link = other.links["nvlink"]
    expected = device.links["nvlink"].derivation().result
    allowed = span(link.derivation().result, expected, 0.5e9)
    cause = diagnose(Case(link.derivation(), allowed, other, REGISTRY))[0]
    assert (cause.fact.path, cause.repaired.value) == ("links.nvlink.count", right)
