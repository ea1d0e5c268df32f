"""`full_die`: groups on the die, enabled or not."""

import pytest


@pytest.mark.parametrize(
    ("head", "claim", "outcome"),
    [
        ("architecture: nvidia/hopper-gh100", "full_die: SM, expect: 144", "pass"),
        ("architecture: nvidia/hopper-gh100", "full_die: SM, expect: 132", "fail"),
        ("hardware: nvidia/h100-sxm5-80gb", "full_die: SM, expect: 144", "pass"),
        # two dies of 112
        ("hardware: amd/mi250x", "full_die: CU, expect: 224", "pass"),
        ("hardware: amd/mi250x", "full_die: CU, expect: 112", "fail"),
    ],
)
def test_the_groups_of_all_dies_are_counted(one, head, claim, outcome):
    verdict = one(claim, head=f"{head}\n")
    assert verdict.outcome == outcome
    assert verdict.corroborated is (outcome == "pass")
    assert verdict.obtained.hardware is not None and verdict.facts


def test_a_spec_without_the_number_and_an_operating_point_are_refused(one, refusal):
    missing = "the spec of acme/k1 does not give the number of 'tile' on the die"
    assert one("full_die: tile, expect: 8").reason == missing
    assert "takes no operating point here" in refusal("full_die: tile, at: low, expect: 8")
    assert "a full_die is a bare number" in refusal("full_die: tile, expect: 8 W")
    assert "needs 'hardware or architecture:'" in refusal("full_die: tile, expect: 8", head="")
