"""`peak`: counts × rate × clock, by hand."""

import pytest

OF_INT8 = {f"units.mac_array.{name}" for name in ("groups", "per_group", "macs_per_clock.int8", "clock")}


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        # 8 tiles × 2 arrays × 1024 MAC × 2 op × 1 GHz
        ("peak: mac_array int8, expect: 32.77 TOP/s", 32.768e12),
        ("peak: mac_array INT8, expect: 32.77 TOP/s", 32.768e12),
        # FP16 has its own clock: 8 × 2 × 512 × 2 × 0.9 GHz
        ("peak: mac_array fp16, expect: 14.75 TFLOP/s", 14.7456e12),
        # × 2 for structured sparsity
        ("peak: mac_array int8, sparse: true, expect: 65.54 TOP/s", 65.536e12),
        # the low point halves the clock
        ("peak: mac_array int8, at: low, expect: 16.38 TOP/s", 16.384e12),
        ("peak: mac_array int8, at: {acme/k1: low}, expect: 16.38 TOP/s", 16.384e12),
        # one of two parts
        ("peak: mac_array int8, per: gcd, expect: 16.38 TOP/s", 16.384e12),
        # 8 × 16 × 8 × 2 × 1.2 GHz = 2.4576 on top of 32.768
        ("peak: mac_array int8 + vector int8, expect: 35.23 TOP/s", 35.2256e12),
    ],
)
def test_a_peak_is_the_product_of_its_facts(one, claim, value):
    verdict = one(claim)
    assert verdict.outcome == "pass"
    assert verdict.obtained.value == pytest.approx(value, rel=1e-12)


def test_a_peak_of_one_unit_is_one_ladder_and_of_two_units_two_terms(one, paths):
    single = one("peak: mac_array int8, expect: 32.77 TOP/s")
    assert single.obtained.formula == "8 tile × 2 mac_array × 1024 MAC/clock × 2 op/MAC × 1000 MHz"
    assert (paths(single), single.corroborated) == (OF_INT8, True)
    assert (single.obtained.unit, single.obtained.precision, single.obtained.sparse) == ("mac_array", "int8", False)
    assert single.obtained.ladder.result == single.obtained.value and single.obtained.terms == ()
    both = one("peak: mac_array int8 + vector int8, expect: 35.23 TOP/s").obtained
    assert both.ladder is None
    assert [term[1:] for term in both.terms] == [("mac_array", "int8"), ("vector", "int8")]
    assert len(both.facts) == 8 and " + " in both.formula


def test_fp16_uses_its_own_clock(one, paths):
    verdict = one("peak: mac_array fp16, expect: 14.75 TFLOP/s")
    assert "units.mac_array.clock_of.fp16" in paths(verdict)
    assert "units.mac_array.clock" not in paths(verdict)
    assert verdict.obtained.shown() == "14.75 TFLOP/s"


def test_sparsity_and_parts_are_factors_of_the_ladder(one, paths):
    verdict = one("peak: mac_array int8, sparse: true, per: gcd, expect: 32.77 TOP/s")
    assert verdict.obtained.formula.endswith("× 2 (sparse) × 1/2 (gcd)")
    assert verdict.obtained.sparse and paths(verdict) == {*OF_INT8, "units.mac_array.sparsity.int8", "parts.gcd"}


def test_the_number_of_parts_divides(one):
    # 16.384 of 10.92 TOP/s are 3/2, so 3 parts instead of 2 would do
    verdict = one("peak: mac_array int8, per: gcd, expect: 10.92 TOP/s")
    assert ("parts.gcd", "3") in {(cause.fact.path, cause.repair) for cause in verdict.causes if cause.fact}


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("peak: tensor_core int8, expect: 1.00 TOP/s", "no unit 'tensor_core' (has: mac_array, vector, secret)"),
        ("peak: mac_array int4, expect: 1.00 TOP/s", "mac_array does not support int4 (has: int8, fp16)"),
        ("peak: mac_array fp16, sparse: true, expect: 1.00 TFLOP/s", "no structured sparsity in fp16 (has: int8)"),
        ("peak: mac_array int8, per: core, expect: 1.00 TOP/s", "acme/k1 has no parts named 'core' (has: gcd)"),
        ("peak: mac_array int8, at: 30w, expect: 1.00 TOP/s", "acme/k1 has no operating point '30w' (has: low)"),
        ("peak: mac_array int8 + dla int8, expect: 1.00 TOP/s", "acme/k1 has no unit 'dla'"),
    ],
)
def test_a_peak_of_what_the_device_lacks_fails(one, claim, says):
    verdict = one(claim)
    assert (verdict.outcome, verdict.obtained) == ("fail", None)
    assert says in verdict.reason


def test_a_device_without_parts_says_so(one):
    assert one("peak: tensor_core int8, per: gcd, expect: 130 TOP/s", head="hardware: nvidia/t4\n").reason.endswith(
        "nvidia/t4 has no parts named 'gcd' (has: none)"
    )


def test_an_undisclosed_rate_is_not_validated_and_hides_no_unknown_unit(one):
    verdict = one("peak: secret int8, expect: 1.00 TOP/s, undisclosed: true")
    assert (verdict.outcome, "Acme does not publish it" in verdict.reason) == ("not validated here", True)
    assert one("peak: secret int8 + dla int8, expect: 1.00 TOP/s, undisclosed: true").outcome == "fail"


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("peak: mac_array, expect: 1.00 TOP/s", "want a unit and a precision such as"),
        ("peak: mac_array int9, expect: 1.00 TOP/s", "unknown precision 'int9'"),
        ("peak: mac_array int8, sparse: 1, expect: 1.00 TOP/s", "sparse: want true or false"),
        ("peak: mac_array int8, expect: 1.00 GB/s", "expect: a peak is in op/s"),
    ],
)
def test_an_invalid_peak_is_refused(refusal, claim, says):
    assert says in refusal(claim)
