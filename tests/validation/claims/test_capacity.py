"""`capacity`: the size of a memory or a cache."""

import pytest


@pytest.mark.parametrize(
    ("claim", "value", "fact"),
    [
        ("capacity: hbm, expect: 16 GiB", 16 * 2**30, "memories.hbm.capacity"),
        # 16 GiB are 17.18 GB
        ("capacity: hbm, expect: 17.18 GB", 16 * 2**30, "memories.hbm.capacity"),
        # one of two parts
        ("capacity: hbm, per: gcd, expect: 8.00 GiB", 8 * 2**30, "parts.gcd"),
        ("capacity: l2, expect: 4.00 MiB", 4 * 2**20, "caches.l2.capacity"),
    ],
)
def test_a_capacity_is_that_of_the_memory_or_cache(one, paths, claim, value, fact):
    verdict = one(claim)
    assert (verdict.outcome, verdict.corroborated, verdict.obtained.value) == ("pass", True, value)
    assert fact in paths(verdict)


def test_gib_for_gb_is_named(one):
    # 2^30 / 10^9 = 1.0737
    verdict = one("capacity: hbm, expect: 16.0 GB")
    assert (verdict.outcome, round(verdict.ratio, 4)) == ("fail", 1.0737)
    assert "GB" in verdict.causes[0].text and "GiB" in verdict.causes[0].text


def test_what_is_neither_memory_nor_cache_is_told(one, refusal):
    assert "acme/k1 has no memory 'l3'" in one("capacity: l3, expect: 1.00 MiB").reason
    assert "a capacity is in B" in refusal("capacity: hbm, expect: 1.00 GB/s")
