"""Values that kinds obtain alike, from facts made up here: products, quotients, parts of a device, orders."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_rooflint.claims import obtained
from pytest_rooflint.golden.expect import parse_expectation
from pytest_rooflint.golden.kinds import Claim, ClaimError, ClaimSource
from rooflint.base.facts import Factor, Ladder
from rooflint.base.units import BYTES_PER_S, OPS_PER_BYTE
from rooflint.hardware.device import UnsupportedError


def fact(value, display):
    return SimpleNamespace(value=value, display=display)


def claim(expect=None, **options):
    return Claim(
        "made_up",
        "a < b",
        "made_up-a",
        Path("x.yaml"),
        3,
        ClaimSource(None, "A data sheet", "read", "p. 1"),
        parse_expectation(expect) if expect else None,
        options=options,
    )


BUS, RATE, DIES = fact(1024.0, "1024 bit"), fact(2e9, "2 Gbit/s"), fact(2.0, "2 gcd")
LADDER = Ladder((Factor("bus", BUS.value, BUS.display, BUS), Factor("pin_rate", RATE.value, RATE.display, RATE)))
K1 = SimpleNamespace(
    id="acme/k1", facts={"parts.gcd": DIES, "parts.tile": fact(8.0, "8 tile"), "tdp": fact(20.0, "20 W")}
)


def test_one_fact_is_its_own_derivation():
    ladder = obtained.one_fact("bus", BUS)
    assert (ladder.result, ladder.formula, ladder.facts) == (1024.0, "1024 bit", (BUS,))
    assert ladder.factors[0].name == "bus"
    assert obtained.one_fact("bus", BUS, "a wide bus").formula == "a wide bus"


def test_without_per_a_derivation_is_of_the_whole_device():
    assert obtained.per_part(LADDER, claim(), K1) is LADDER


def test_one_part_is_a_share_of_the_device_and_rests_on_the_number_of_parts():
    found = obtained.per_part(LADDER, claim(per="gcd"), K1)
    assert found.result == LADDER.result / 2
    assert found.formula == "1024 bit × 2 Gbit/s × 1/2 gcd (gcd)"
    assert found.facts == (BUS, RATE, DIES)
    assert [factor.inverse for factor in found.factors] == [False, False, True]
    assert found.factors[-1].name == "parts"


def test_a_part_that_the_device_lacks_is_refused_with_those_it_has():
    with pytest.raises(UnsupportedError, match=r"^acme/k1 has no parts named 'die' \(has: gcd, tile\)$"):
        obtained.per_part(LADDER, claim(per="die"), K1)
    whole = SimpleNamespace(id="acme/x1", facts={"tdp": fact(20.0, "20 W")})
    with pytest.raises(UnsupportedError, match=r"^acme/x1 has no parts named 'die' \(has: none\)$"):
        obtained.per_part(LADDER, claim(per="die"), whole)


def test_a_product_has_the_value_the_formula_and_the_facts_of_its_derivation():
    found = obtained.product(LADDER, BYTES_PER_S, K1, "hbm", "int8")
    assert (found.value, found.dimension, found.formula) == (2048e9, BYTES_PER_S, "1024 bit × 2 Gbit/s")
    assert (found.facts, found.ladder, found.divisor) == ((BUS, RATE), LADDER, None)
    assert (found.hardware, found.unit, found.precision) == (K1, "hbm", "int8")
    assert found.holds is None


def test_a_quotient_has_both_derivations_with_the_facts_of_both():
    below = obtained.one_fact("parts", DIES)
    found = obtained.quotient(7.0, LADDER, below, OPS_PER_BYTE, K1, "mac_array", "int8")
    assert (found.value, found.dimension) == (7.0, OPS_PER_BYTE)
    assert found.formula == "(1024 bit × 2 Gbit/s) / (2 gcd)"
    assert found.facts == (BUS, RATE, DIES)
    assert (found.ladder, found.divisor) == (LADDER, below)
    assert (found.hardware, found.unit, found.precision) == (K1, "mac_array", "int8")


@pytest.mark.parametrize(
    ("rising", "refuted", "holds", "expects"),
    [
        (True, False, True, "a < b"),
        (False, False, False, "a < b"),
        (True, True, False, "not a < b"),
        (False, True, True, "not a < b"),
    ],
)
def test_an_order_holds_as_claimed_or_not_at_all_where_it_is_refuted(rising, refuted, holds, expects):
    one = claim(refuted=True) if refuted else claim()
    assert obtained.order(one, rising) == (holds, expects)


def test_a_claim_with_an_expectation_is_not_decided_by_the_order():
    assert obtained.order(claim("2.0 op/B"), rising=True) == (None, "a < b")


def test_only_an_order_can_be_refuted():
    obtained.check_refuted(claim(refuted=True))
    obtained.check_refuted(claim(refuted=False))
    obtained.check_refuted(claim("2.0 op/B"))
    with pytest.raises(ClaimError, match=r"^refuted: only an order can be refuted$"):
        obtained.check_refuted(claim("2.0 op/B", refuted=True))
    with pytest.raises(ClaimError, match="refuted"):
        obtained.check_refuted(claim(refuted="yes"))
