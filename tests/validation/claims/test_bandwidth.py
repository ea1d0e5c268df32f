"""`bandwidth`: bus × pin rate, by hand."""

import pytest

HBM = {"memories.hbm.bus", "memories.hbm.pin_rate"}


@pytest.mark.parametrize(
    ("claim", "value", "facts"),
    [
        # 1024 bit / 8 × 2 Gbit/s
        ("bandwidth: hbm, expect: 256 GB/s", 256e9, HBM),
        # one of two parts
        ("bandwidth: hbm, per: gcd, expect: 128 GB/s", 128e9, {*HBM, "parts.gcd"}),
        ("bandwidth: ddr, expect: 25.6 GB/s", 25.6e9, {"memories.ddr.bandwidth"}),
    ],
)  # fmt: skip
def test_a_bandwidth_is_bus_times_pin_rate(one, paths, claim, value, facts):
    verdict = one(claim)
    assert (verdict.outcome, verdict.corroborated) == ("pass", True)
    assert verdict.obtained.value == pytest.approx(value, rel=1e-12)
    assert paths(verdict) == facts


def test_a_wrong_pin_rate_is_named_with_its_repair(acme, one):
    # 1024 bit / 8 × 3 Gbit/s = 384 GB/s are 3/2 of the printed 256
    acme.edit("specs/hardware/acme/k1.yaml", "pin_rate: [2 Gbit/s", "pin_rate: [3 Gbit/s")
    verdict = one("bandwidth: hbm, expect: 256 GB/s")
    assert (verdict.outcome, verdict.ratio_text) == ("fail", "3/2")
    assert ("memories.hbm.pin_rate", "2 Gbit/s") in {(c.fact.path, c.repair) for c in verdict.causes if c.fact}


def test_an_unknown_memory_or_unit_is_told(one, refusal):
    assert one("bandwidth: hbm3, expect: 1.00 GB/s").reason == "acme/k1 has no memory 'hbm3' (has: hbm, ddr)"
    assert "a bandwidth is in B/s" in refusal("bandwidth: hbm, expect: 1.00 GB")
