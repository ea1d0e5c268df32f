"""`clocks`: an order, neighbour by neighbour."""

import pytest


@pytest.mark.parametrize(
    ("order", "outcome"),
    [
        # base 800, mac_array 1000, its FP16 900, vector and boost 1200 MHz
        ("base <= mac_array <= boost", "pass"),
        ("base < mac_array FP16 < mac_array", "pass"),
        ("vector <= boost", "pass"),
        ("vector < boost", "fail"),
        ("mac_array <= mac_array fp16", "fail"),
        ("mac_array int8 <= mac_array fp16", "fail"),  # INT8 has the clock of the unit
        ("boost <= base", "fail"),
        ("base <= boost <= mac_array", "fail"),
        ("boost <= base <= mac_array", "fail"),
    ],
)
def test_each_clock_is_compared_with_the_next(one, order, outcome):
    verdict = one(f"clocks: {order}")
    assert (verdict.outcome, verdict.expected_display, verdict.corroborated) == (outcome, order, False)


def test_an_order_shows_its_clocks_and_their_facts(one, paths):
    verdict = one("clocks: base <= mac_array fp16 <= boost, at: low")
    assert verdict.outcome == "fail"
    assert verdict.obtained.shown() == "base 800 MHz, mac_array fp16 450 MHz, boost 1200 MHz"
    assert paths(verdict) == {"clocks.base", "units.mac_array.clock_of.fp16", "clocks.boost"}
    assert verdict.obtained.value == 1200e6


def test_invalid_orders(one, refusal):
    assert one("clocks: base <= tensor_core").reason.startswith(
        "acme/k1 has no clock 'tensor_core' (has: base, boost, mac_array, vector"
    )
    assert "compares a clock with itself" in one("clocks: mac_array <= mac_array int8").reason
    assert "want clocks with '<=' or '<' between them" in refusal("clocks: base")
    assert "want a clock on each side" in refusal("clocks: base <=")
    assert "takes no expectation here" in refusal("clocks: base <= boost, expect: 1.00 GHz")
    assert "a clocks claim needs 'hardware:'" in refusal("clocks: base <= boost", head="")
