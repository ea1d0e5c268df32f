"""`tdp`: power figures of a spec."""

import pytest


@pytest.mark.parametrize(
    ("claim", "value", "fact"),
    [
        ("tdp: rated, expect: 20 W", 20, "tdp"),
        ("tdp: typical, expect: 12 W", 12, "powers.typical"),
        ("tdp: rated, at: low, expect: 10 W", 10, "tdp"),
    ],
)
def test_a_power_is_the_fact_of_that_name(one, paths, claim, value, fact):
    verdict = one(claim)
    assert (verdict.outcome, verdict.obtained.value, verdict.corroborated) == ("pass", value, True)
    assert paths(verdict) == {fact}


def test_a_wrong_power_names_the_repair(one):
    verdict = one("tdp: rated, expect: 40 W")
    assert (verdict.outcome, verdict.ratio_text) == ("fail", "1/2")
    assert [cause.repair for cause in verdict.causes if cause.fact] == ["40 W"]


def test_an_unknown_power_is_told(one, refusal):
    assert one("tdp: idle, expect: 1.00 W").reason == "acme/k1 has no idle power"
    assert "want one of rated, " in refusal("tdp: mean, expect: 1.00 W")
    assert "a tdp is in W" in refusal("tdp: rated, expect: 1.00 J")
