"""`sparsity`: the factor of structured sparsity."""

import pytest


@pytest.mark.parametrize("head", ["hardware: acme/k1\n", "architecture: acme/a1\n"])
def test_the_factor_is_that_of_the_spec(one, paths, head):
    verdict = one("sparsity: mac_array int8, expect: 2", head=head)
    assert (verdict.outcome, verdict.obtained.value, verdict.corroborated) == ("pass", 2, True)
    assert paths(verdict) == {"units.mac_array.sparsity.int8"}
    assert (verdict.obtained.unit, verdict.obtained.precision) == ("mac_array", "int8")


def test_a_wrong_factor_names_the_repair(one):
    verdict = one("sparsity: mac_array int8, expect: 4")
    assert (verdict.outcome, verdict.ratio_text) == ("fail", "1/2")
    assert [cause.repair for cause in verdict.causes if cause.fact] == ["4"]


def test_a_unit_without_sparsity_and_invalid_subjects(one, refusal):
    assert "no structured sparsity in fp16" in one("sparsity: mac_array fp16, expect: 2").reason
    assert "want a unit and a precision" in refusal("sparsity: mac_array, expect: 2")
    assert "a sparsity is a bare number" in refusal("sparsity: mac_array int8, expect: 2 W")
