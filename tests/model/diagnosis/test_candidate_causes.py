"""Candidate causes: which fact would have to be what, how likely that is, and what a reader is told."""

from dataclasses import replace

import pytest

from rooflint.diagnosis.candidate_causes import (
    FEWEST,
    _needed_rate,
    candidate_causes,
    contradictions,
    is_outlier,
    other_clocks,
    other_precisions,
    rates,
    readable,
    short,
    substitutions,
)
from rooflint.diagnosis.causes import Span
from rooflint.diagnosis.figures import figures

INT8 = "units.tensor_core.macs_per_clock.int8"
CLOCK, GROUPS, CORES = "units.tensor_core.clock", "units.tensor_core.groups", "units.tensor_core.per_group"
BUS, PIN_RATE = "memories.hbm.bus", "memories.hbm.pin_rate"


def told(causes):
    """Each cause as its rank, its factor, what is said, and the value that repairs it."""
    return [(round(cause.cost, 3), cause.factor_text, cause.text, cause.repair) for cause in causes]


def factor(case, name):
    (one,) = [one for one in case.ladder.factors if one.name == name]
    return one


# ---- facts of a peak: 16 SM × 4 tensor cores × 512 MAC × 2 op/MAC × 1500 MHz = 98.3 TOP/s


@pytest.mark.parametrize(
    ("path", "wrong", "wanted"),
    [
        (INT8, 64, [  # against its own architecture: first, and the others that much later
            (0.5, "1/8", "macs_per_clock 64 is 1/8 of new's 512; it is the FP16 rate of old", "512 MAC"),
            (3.3, "1/8", "groups 16 would have to be 128", "128"),
            (3.3, "1/8", "per_group 4 would have to be 32", "32"),
        ]),
        (INT8, 256, [  # no clock is half as fast again, and a unit may have as many cores as another architecture's
            (0.4, "1/2", "macs_per_clock 256 is 1/2 of new's 512; it is the FP16 rate of new", "512 MAC"),
            (3.3, "1/2", "groups 16 would have to be 32", "32"),
            (2.2, "1/2", "per_group 4 would have to be 8", "8"),
        ]),
        (INT8, 1024, [
            (0.5, "2", "macs_per_clock 1024 is 2 × new's 512; it is the FP16 rate of far", "512 MAC"),
            (3.3, "2", "groups 16 would have to be 8", "8"),
            (3.3, "2", "per_group 4 would have to be 2", "2"),
            (1.7, "2", "clock 1500 MHz would have to be 750 MHz; 1500 MHz is that of the boost clock", "750 MHz"),
        ]),
        (INT8, 96, [  # 16/3 as many SM or tensor cores are no whole numbers
            (0.4, "0.1875", "macs_per_clock 96 is 0.1875 of new's 512; it is the INT8 rate of far", "512 MAC"),
        ]),
        (CLOCK, 1.6e9, [
            (2.8, "1.067", "groups 16 would have to be 15", "15"),
            (1.2, "1.067", "clock 1600 MHz would have to be 1500 MHz; 1600 MHz is that of the clock of cuda_core",
             "1500 MHz"),
        ]),
        (CLOCK, 1e9, [
            (2.8, "2/3", "groups 16 would have to be 24", "24"),
            (2.8, "2/3", "per_group 4 would have to be 6", "6"),
            (1.2, "2/3", "clock 1000 MHz would have to be 1500 MHz; 1000 MHz is that of the base clock", "1500 MHz"),
        ]),
        (CLOCK, 1.3e9, [  # the right one is that of other units
            (1.7, "0.8667", "clock 1300 MHz would have to be 1500 MHz", "1500 MHz"),
        ]),
        (CLOCK, 0.75e9, [
            (2.2, "1/2", "macs_per_clock 512 is 1/2 of the 1024 that this peak needs", "1024 MAC"),
            (2.8, "1/2", "groups 16 would have to be 32", "32"),
            (1.7, "1/2", "per_group 4 would have to be 8", "8"),
            (1.2, "1/2", "clock 750 MHz would have to be 1500 MHz; 750 MHz is that of the clock of tensor_core",
             "1500 MHz"),
        ]),
        (CLOCK, 15e9, [(1.7, "10", "clock 15000 MHz would have to be 1500 MHz", "1500 MHz")]),
        (GROUPS, 20, [
            (2.2, "5/4", "groups 20 would have to be 16", "16"),
            (0.6, "5/4", "groups 20 is not the 16 SM that cuda_core has", "16"),
            (0.7, "5/4", "groups 20 is the number of the full die; 16 SM would have to be enabled", "16"),
            (1.2, "5/4", "clock 1500 MHz would have to be 1200 MHz; 1500 MHz is that of the boost clock", "1200 MHz"),
        ]),
        (GROUPS, 10, [  # 1500 × 10 / 16 = 937.5 MHz would do, but a fast clock is not taken for a slow one
            (2.2, "5/8", "groups 10 would have to be 16", "16"),
            (0.6, "5/8", "groups 10 is not the 16 SM that cuda_core has", "16"),
        ]),
        (GROUPS, 8, [  # a power of two is no more likely than another
            (2.2, "1/2", "macs_per_clock 512 is 1/2 of the 1024 that this peak needs", "1024 MAC"),
            (2.8, "1/2", "groups 8 would have to be 16", "16"),
            (0.6, "1/2", "groups 8 is not the 16 SM that cuda_core has", "16"),
            (1.7, "1/2", "per_group 4 would have to be 8", "8"),
        ]),
        (CORES, 8, [
            (2.2, "2", "macs_per_clock 512 is 2 × the 256 that this peak needs", "256 MAC"),
            (2.8, "2", "groups 16 would have to be 8", "8"),
            (0.8, "2", "per_group 8 is 2 × the 4 of new", "4"),
            (1.2, "2", "clock 1500 MHz would have to be 750 MHz; 1500 MHz is that of the boost clock", "750 MHz"),
        ]),
        (CORES, 2, [
            (2.2, "1/2", "macs_per_clock 512 is 1/2 of the 1024 that this peak needs", "1024 MAC"),
            (2.8, "1/2", "groups 16 would have to be 32", "32"),
            (0.8, "1/2", "per_group 2 is 1/2 of the 4 of new", "4"),
        ]),
    ],
)  # fmt: skip
def test_a_wrong_fact_of_a_peak_is_among_those_that_would_have_to_be_another(family, path, wrong, wanted):
    case = family.peak(family.planted(path, wrong))
    assert told(candidate_causes(case, case.span)) == wanted


@pytest.mark.parametrize(
    ("path", "wrong", "wanted"),
    [
        (INT8, 64, [
            (1.1, "1/8", "macs_per_clock 64 is 1/8 of the 512 that this peak needs; it is the FP16 rate of old",
             "512 MAC"),
            (2.8, "1/8", "groups 16 would have to be 128", "128"),
            (2.8, "1/8", "per_group 4 would have to be 32", "32"),
        ]),
        (CORES, 5, [  # a power of two is likelier than a five
            (2.2, "5/4", "per_group 5 would have to be 4", "4"),
            (1.2, "5/4", "clock 1500 MHz would have to be 1200 MHz; 1500 MHz is that of the boost clock", "1200 MHz"),
        ]),
    ],
)  # fmt: skip
def test_a_fact_that_is_wrong_in_the_architecture_is_measured_by_what_the_peak_needs(family, path, wrong, wanted):
    case = family.peak(family.planted(path, wrong, above=True))
    assert told(candidate_causes(case, case.span)) == wanted


def test_a_fact_that_contradicts_the_architecture_is_repaired_by_the_line_of_the_architecture(family):
    for path, wrong in ((INT8, 64), (CORES, 8)):
        case = family.peak(family.planted(path, wrong))
        repairs = [one.repaired for one in candidate_causes(case, case.span) if one.fact.path == path]
        assert [(fact.file.stem, fact.line) for fact in repairs] == [("new", family.big.facts[path].line)]


def test_a_clock_that_nothing_supports_needs_two_claims(family):
    # 1234 MHz is no other clock of the device, and neither is 1313
    clocks = {path: family.big.facts[path].with_value(1e9) for path in ("clocks.boost", "units.cuda_core.clock")}
    wrong = family.planted(CLOCK, 1.234e9).with_facts(clocks)
    case = family.peak(wrong, 98.304e12 * 1313 / 1500)
    (clock,) = [one for one in candidate_causes(case, case.span) if one.fact.path == CLOCK]
    # the clock needed is more than a quarter faster than any that the device has
    assert (clock.cost, clock.needs, clock.text) == (4.0, 2, "clock 1234 MHz would have to be 1313 MHz")


# ---- facts of a bandwidth: 256 bit / 8 × 8 Gbit/s = 256 GB/s


@pytest.mark.parametrize(
    ("path", "wrong", "wanted"),
    [
        (BUS, 512 / 8, [
            (0.9, "2", "bus 512 bit would have to be 256 bit, as in small", "256 bit"),
            (1.7, "2", "pin_rate 8 Gbit/s would have to be 4 Gbit/s", "4 Gbit/s"),  # as elder has it
        ]),
        (BUS, 384 / 8, [  # nobody prints 5.33333 Gbit/s
            (0.9, "3/2", "bus 384 bit would have to be 256 bit, as in small", "256 bit"),
        ]),
        (PIN_RATE, 6e9 / 8, [  # 341.3 bit are no multiple of 32; small has 6 Gbit/s, not 8
            (3.2, "3/4", "pin_rate 6 Gbit/s would have to be 8 Gbit/s", "8 Gbit/s"),
        ]),
        (PIN_RATE, 4e9 / 8, [
            (3.2, "1/2", "bus 256 bit would have to be 512 bit", "512 bit"),  # no device has that
            (3.2, "1/2", "pin_rate 4 Gbit/s would have to be 8 Gbit/s", "8 Gbit/s"),
        ]),
    ],
)  # fmt: skip
def test_a_wrong_fact_of_a_bandwidth_is_among_those_that_would_have_to_be_another(family, path, wrong, wanted):
    case = family.bandwidth(family.planted(path, wrong))
    assert told(candidate_causes(case, case.span)) == wanted


def test_a_value_that_a_sibling_has_costs_less_than_one_that_nothing_supports(family):
    # small has 6 Gbit/s on 256 bit as well; 8 are 4/3 of it
    case = family.bandwidth(family.big, 192e9)
    assert told(candidate_causes(case, case.span)) == [
        (1.2, "4/3", "bus 256 bit would have to be 192 bit; 256 bit is that of small", "192 bit"),
        (0.9, "4/3", "pin_rate 8 Gbit/s would have to be 6 Gbit/s, as in small", "6 Gbit/s"),
    ]


# ---- rates, once a convention is taken out


def test_a_rate_is_sought_once_the_convention_is_taken_out(family):
    # 64 are the 128 MAC of old, half of which were lost because a MAC was counted as one op
    case = family.peak(family.planted(INT8, 64))
    assert told(rates(case, case.span, 0.5)) == [
        (0.4, "1/4", "128 MAC/clock is 1/4 of new's 512; it is the INT8 rate of old", "512 MAC")
    ]


def test_a_rate_that_is_of_no_architecture_explains_nothing_together_with_a_convention(family):
    case = family.peak(family.planted(INT8, 16))
    assert [cause.repair for cause in rates(case, case.span, 1.0)] == ["512 MAC"]
    assert rates(case, case.span, 0.5) == []


def test_a_rate_that_is_right_once_the_convention_is_taken_out_is_no_cause(family):
    case = family.peak(family.planted(INT8, 256))
    assert rates(case, case.span, 0.5) == []


def test_a_rate_of_several_architectures_names_them_and_their_precisions(family):
    # 64 is the FP16 rate of old, and 1024 that of far; both are named in the order of the registry
    twice = family.planted(INT8, 64)
    case = family.peak(twice)
    other = family.registry.architecture("rival/far").facts["units.tensor_core.macs_per_clock.fp16"]
    registry = family.registry.with_fact(other, other.with_value(64))
    (cause,) = rates(replace(case, registry=registry), case.span, 1.0)
    assert cause.text.endswith("; it is the FP16 rate of old, far")


def test_a_unit_that_would_do_less_than_a_mac_in_a_clock_is_not_suspected(family):
    case = family.peak(family.planted(INT8, 512), 98.304e12 / 1024)  # 512 / 1024 = 1/2 MAC
    assert rates(case, case.span, 1.0) == []


def test_a_bandwidth_has_no_rate(family):
    case = family.bandwidth(family.big, 128e9)
    assert rates(case, case.span, 1.0) == []


# ---- other clocks and precisions of the same device


def test_the_other_clocks_of_a_device_are_named_by_what_runs_at_them(family):
    case = family.peak(family.big)
    assert told(other_clocks(case, factor(case, "clock"))) == [
        (1.5, "3/2", "clock 1500 MHz is used instead of the base clock 1000 MHz", "1000 MHz"),
        (1.5, "0.9375", "clock 1500 MHz is used instead of the clock of cuda_core 1600 MHz", "1600 MHz"),
    ]


def test_the_other_precisions_of_a_unit_have_no_repair(family):
    case = family.peak(family.big)
    assert told(other_precisions(case, factor(case, "macs_per_clock"))) == [
        (1.8, "2", "the expectation is the fp16 figure (256 MAC/clock)", None)
    ]
    assert list(other_precisions(replace(case, unit=None), factor(case, "macs_per_clock"))) == []


# ---- counts that contradict one another


def test_groups_that_the_other_units_agree_on_are_the_right_ones(family):
    wrong = family.planted(GROUPS, 20)
    assert told(contradictions(wrong, wrong.facts[GROUPS])) == [
        (0.6, "5/4", "groups 20 is not the 16 SM that cuda_core has", "16")
    ]
    assert contradictions(family.big, family.big.facts[GROUPS]) == []


def test_a_contradiction_must_explain_the_ratio(family):
    wrong = family.planted(GROUPS, 20)
    assert contradictions(wrong, wrong.facts[GROUPS], Span(1.9, 2.1)) == []
    assert len(contradictions(wrong, wrong.facts[GROUPS], Span(1.2, 1.3))) == 1


# ---- outliers


def test_a_value_that_no_other_device_comes_near_is_an_outlier(family):
    # the others have 10, 12, 6 and 40 SM: 6 / 1.25 to 40 × 1.25 is usual
    case, fact = family.peak(family.big), family.big.facts[GROUPS]
    assert [is_outlier(case, fact, value) for value in (4.7, 4.9, 6, 40, 49.9, 50.1)] == [
        True, False, False, False, False, True,
    ]  # fmt: skip


def test_with_fewer_than_four_other_devices_nothing_is_an_outlier(family):
    case = family.peak(family.big)
    lone = replace(family.big.facts[GROUPS], path="units.dla.groups")
    assert not is_outlier(case, lone, 1e6)
    assert not is_outlier(replace(case, registry=None), family.big.facts[GROUPS], 1e6)


# ---- names


def test_a_fact_is_named_by_what_stands_below_its_unit(family):
    assert short(family.big.facts[INT8]) == "macs_per_clock.int8"
    assert short(family.big.facts[BUS]) == "bus"
    assert short(family.registry.architecture("acme/new").facts["full_die.SM"]) == "full_die.SM"


def test_names_of_a_registry_that_cannot_be_listed_are_none(specs):
    specs.write("acme/Not An Id", "name: One\n", "architectures")
    assert readable(lambda: specs.registry().architecture_files) == []
    assert readable(lambda: ["a", "b"]) == ["a", "b"]


# ---- figures computed with one wrong factor


def said(family, device, says):
    (figure,) = [one for one in figures(device) if one.says == says]
    return [
        (one.error, one.text, pytest.approx(one.target, rel=1e-9), round(one.cost, 3))
        for one in substitutions(family.registry, figure)
    ]


def test_a_peak_with_another_factor_is_named_by_whose_it_is(family):
    # 98.304 TOP/s with 20 or 10 of 16 SM, 64 or 128 of 512 MAC, 1600, 1000 or 1300 of 1500 MHz
    right, instead = 98.304e12, "of the full die instead of the 16 enabled"
    assert said(family, family.big, "dense INT8 peak (tensor_core)") == [
        ("full die", f"is computed with the 20 SM {instead}", right * 20 / 16, 1.4),
        ("another count", "is computed with the 10 SM of acme/small instead of 16", right * 10 / 16, 2.0),
        ("another rate", "is computed with the FP16 rate of old, 64 MAC/clock, instead of 512 MAC/clock", right / 8,
         1.9),
        ("another rate", "is computed with the INT8 rate of old, 128 MAC/clock, instead of 512 MAC/clock", right / 4,
         1.8),
        ("another clock", "is computed with the cuda_core clock, 1.6 GHz, instead of 1500 MHz", right * 16 / 15, 1.5),
        ("another clock", "is computed with the base clock, 1 GHz, instead of 1500 MHz", right * 10 / 15, 1.35),
        ("another clock", "is computed with the clock of acme/small, 1300 MHz, instead of 1500 MHz", right * 13 / 15,
         2.1),
    ]  # fmt: skip


def test_a_rate_that_is_much_larger_is_less_likely(family):
    # the elder's FP16: 8 × 64 × 2 = 1024 op a clock; new's rates are 4 and 8 times that, 0.4 for each doubling past two
    assert said(family, family.registry.get("acme/elder"), "rate (tensor_core fp16)") == [
        ("another rate", "is computed with the FP16 rate of new, 256 MAC/clock, instead of 64 MAC/clock", 4096, 2.2),
        ("another rate", "is computed with the INT8 rate of new, 512 MAC/clock, instead of 64 MAC/clock", 8192, 2.7),
    ]


def test_a_rate_of_vector_lanes_may_be_the_number_of_their_groups(family):
    # 2 × 40 SM for the 64 lanes × 2 op of each: 7.168 × 80 / 128 TFLOP/s; 40 alone is below the least rate
    one = family.registry.get("rival/one")
    assert FEWEST == 64
    assert said(family, one, "dense FP32 peak (cuda_core)") == [
        ("count for rate", "takes 80, 2 × the number of SMs, for the 128 op that each does in a clock", 4.48e12, 1.6),
        ("another clock", "is computed with the base clock, 1.2 GHz, instead of 1400 MHz", 6.144e12, 1.35),
    ]


def test_counts_and_clocks_have_substitutes_and_sizes_have_none(family):
    instead = "of the full die instead of the 16 enabled"
    assert said(family, family.big, "count (SM)") == [
        ("full die", f"is computed with the 20 SM {instead}", 20, 1.4),
        ("another count", "is computed with the 10 SM of acme/small instead of 16", 10, 2.0),
    ]
    assert said(family, family.big, "clock (base)") == [
        ("another clock", "is computed with the tensor_core clock, 1.5 GHz, instead of 1000 MHz", 1.5e9, 1.5),
        ("another clock", "is computed with the cuda_core clock, 1.6 GHz, instead of 1000 MHz", 1.6e9, 1.5),
        ("another clock", "is computed with the boost clock, 1.5 GHz, instead of 1000 MHz", 1.5e9, 1.35),
        ("another clock", "is computed with the clock of acme/small, 900 MHz, instead of 1000 MHz", 0.9e9, 2.1),
    ]
    assert said(family, family.big, "bandwidth (hbm)") == []


# ---- what is not plausible, and what is not known


@pytest.mark.parametrize(("wrong_hz", "right_hz", "named"), [(1e9, 2.9e9, True), (1e9, 3.2e9, False),
                                                            (1.5e9, 0.6e9, True), (1.5e9, 0.45e9, False)])  # fmt: skip
def test_a_clock_is_not_taken_for_one_of_another_size(family, wrong_hz, right_hz, named):
    # a slow clock may stand for one that is up to three times as fast, and a fast one for a third of it
    case = family.peak(family.planted(CLOCK, wrong_hz), 98.304e12 * right_hz / 1.5e9)
    assert any(cause.fact.path == CLOCK for cause in candidate_causes(case, case.span)) is named


def test_without_a_registry_a_rate_is_nobodys(family):
    case = replace(family.peak(family.planted(INT8, 64)), registry=None)
    assert told(rates(case, case.span, 1.0)) == [
        (2.2, "1/8", "macs_per_clock 64 is 1/8 of the 512 that this peak needs", "512 MAC")
    ]


def test_without_a_device_a_clock_of_any_size_is_plausible(family):
    # 3.5 times the peak would take 5250 MHz, which no clock of the device comes near
    case = family.peak(family.big, 98.304e12 * 3.5)
    assert CLOCK not in [one.fact.path for one in candidate_causes(case, case.span)]
    lone = replace(case, hardware=None, registry=None)
    assert told(candidate_causes(lone, lone.span)) == [
        (2.8, "2/7", "groups 16 would have to be 56", "56"),
        (2.8, "2/7", "per_group 4 would have to be 14", "14"),
        (4.0, "2/7", "clock 1500 MHz would have to be 5250 MHz", "5250 MHz"),
    ]


def test_the_rate_that_a_peak_needs_is_the_architectures_own_or_a_power_of_two(family):
    def needed(wrong, ratio, *, above=False):
        case = family.peak(family.planted(INT8, wrong, above=above))
        return _needed_rate(case, case.hardware.facts[INT8], Span(ratio * 0.999, ratio * 1.001))

    assert needed(96, 96 / 512) == 512  # new's own
    assert needed(96, 3 / 4, above=True) == 128
    assert needed(96, 96 / 100, above=True) is None  # no power of two is near
    assert needed(64, 128.0, above=True) is None  # half a MAC
    assert needed(0.5, 2.0, above=True) == 0.25  # unless it does less than one already
