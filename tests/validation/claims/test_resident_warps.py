"""`resident_warps`: warps that one group holds."""


def test_the_number_is_that_of_the_spec(one, paths):
    # Hopper tuning guide: 64 warps per SM
    for head in ("hardware: nvidia/h100-sxm5-80gb\n", "architecture: nvidia/hopper-gh100\n"):
        verdict = one("resident_warps: SM, expect: 64", head=head)
        assert (verdict.outcome, verdict.obtained.value, verdict.corroborated) == ("pass", 64, True)
        assert paths(verdict) == {"resident_warps.SM"}
        assert verdict.obtained.formula == "64 warps"


def test_a_wrong_number_names_the_repair(one):
    verdict = one("resident_warps: SM, expect: 32", head="hardware: nvidia/h100-sxm5-80gb\n")
    assert (verdict.outcome, verdict.ratio_text) == ("fail", "2")
    assert [cause.repair for cause in verdict.causes if cause.fact] == ["32"]


def test_a_spec_without_the_number_and_an_operating_point_are_refused(one, refusal):
    missing = "the spec of acme/k1 does not give the number of warps in a 'CU'"
    assert one("resident_warps: CU, expect: 8").reason == missing
    assert "takes no operating point here" in refusal("resident_warps: SM, at: low, expect: 8")
    assert "a resident_warps is a bare number" in refusal("resident_warps: SM, expect: 8 W")
