"""`count`: groups, or groups × units per group."""

import pytest

TILE = "groups: [8, brief, p. 2]\n    per_group: [16"


@pytest.mark.parametrize(
    ("claim", "value", "facts"),
    [
        ("count: tile, expect: 8", 8, {"units.mac_array.groups"}),
        ("count: mac_array, expect: 16", 16, {"units.mac_array.groups", "units.mac_array.per_group"}),  # 8 × 2
        ("count: vector, expect: 128", 128, {"units.vector.groups", "units.vector.per_group"}),  # 8 × 16
        ("count: vector, per: gcd, expect: 64", 64, {"units.vector.groups", "units.vector.per_group", "parts.gcd"}),
    ],
)
def test_a_count_is_groups_or_groups_times_units(one, paths, claim, value, facts):
    verdict = one(claim)
    assert (verdict.outcome, verdict.obtained.value, verdict.corroborated) == ("pass", value, True)
    assert paths(verdict) == facts


def test_a_wrong_count_names_the_repair(one):
    verdict = one("count: tile, expect: 4")
    assert (verdict.outcome, verdict.ratio_text, verdict.obtained.formula) == ("fail", "2", "8 tile")
    assert ("units.mac_array.groups", "4") in {
        (cause.fact.path, cause.repair) for cause in verdict.causes if cause.fact
    }


def test_units_that_disagree_on_their_groups_have_no_count(acme, one):
    acme.edit("specs/hardware/acme/k1.yaml", TILE, TILE.replace("8", "9"))
    verdict = one("count: tile, expect: 8")
    assert (verdict.outcome, verdict.obtained) == ("fail", None)
    assert "disagree on the number of 'tile': mac_array 8, vector 9; claim the count of a unit" in verdict.reason


def test_an_unknown_group_is_told(one, refusal):
    reason = one("count: SM, expect: 8").reason
    assert reason == "acme/k1 has no units or groups named 'SM' (has: mac_array, vector, secret, tile, island)"
    assert "a count is a bare number" in refusal("count: tile, expect: 8 W")
