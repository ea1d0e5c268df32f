"""`ratio`: MAC per clock over MAC per clock."""

import pytest


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        # 1024 / 512 MAC, whatever the clocks and counts
        ("ratio: mac_array int8 / mac_array fp16, expect: 2", 2),
        ("ratio: mac_array fp16 / mac_array int8, expect: 1 / 2", 0.5),
        # per tile: (1024 × 2) / (2 × 16)
        ("ratio: mac_array int8 / vector fp32, expect: 64", 64),
    ],
)
def test_a_ratio_is_of_rates_per_clock(one, claim, value):
    verdict = one(claim)
    assert (verdict.outcome, verdict.obtained.value, verdict.corroborated) == ("pass", value, True)


def test_the_facts_of_both_sides_count_and_those_of_the_group_where_units_differ(one, paths):
    rates = {"units.mac_array.macs_per_clock.int8", "units.mac_array.macs_per_clock.fp16"}
    assert paths(one("ratio: mac_array int8 / mac_array fp16, expect: 2")) == rates
    other = one("ratio: mac_array int8 / vector fp32, expect: 64")
    assert other.obtained.formula == "(1024 MAC/clock × 2 mac_array) / (2 MAC/clock × 16 vector)"
    assert {"units.mac_array.per_group", "units.vector.per_group"} < paths(other)


def test_a_wrong_ratio_may_be_due_to_either_side(one):
    verdict = one("ratio: mac_array int8 / mac_array fp16, expect: 4")
    repairs = {cause.fact.path: cause.repair for cause in verdict.causes if cause.fact}
    assert (verdict.outcome, verdict.ratio_text) == ("fail", "1/2")
    assert repairs["units.mac_array.macs_per_clock.int8"] == "2048 MAC"
    assert repairs["units.mac_array.macs_per_clock.fp16"] == "256 MAC"
    assert (verdict.obtained.unit, verdict.obtained.precision) == ("mac_array", "int8")


def test_an_architecture_has_ratios_too(one):
    verdict = one("ratio: mac_array int8 / mac_array fp16, expect: 2", head="architecture: acme/a1\n")
    assert verdict.outcome == "pass"


def test_invalid_ratios(one, refusal):
    assert "does not support int4" in one("ratio: mac_array int4 / mac_array int8, expect: 2").reason
    assert one("ratio: secret int8 / secret fp16, expect: 2, undisclosed: true").outcome == "not validated here"
    assert one("ratio: secret int8 / tensor_core int8, expect: 2, undisclosed: true").outcome == "fail"
    assert "compares a rate with itself" in refusal("ratio: mac_array int8 / mac_array INT8, expect: 1")
    assert "want two operands with '/'" in refusal("ratio: mac_array int8, expect: 2")
    assert "a ratio is a bare number" in refusal("ratio: mac_array int8 / mac_array fp16, expect: 2 W")
