"""`intensity`: ops over bytes, by hand."""

import pytest

MLP = "workload: {mlp: [64, 64], batch: 2}\n"


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        # INT8: 2·64 in + 64·64 weights + 64 biases + 2·64 out = 4416 B for 2 · 2 · 64 · 64 op
        ("intensity: int8, expect: 16384 op / 4416 B", 16384 / 4416),
        ("intensity: fp32, expect: 16384 op / 17664 B", 16384 / 17664),
    ],
)
def test_intensity_is_ops_over_bytes(one, claim, value):
    verdict = one(claim, head=MLP)
    assert (verdict.outcome, verdict.corroborated) == ("pass", True)
    assert verdict.obtained.value == pytest.approx(value, rel=1e-12)


def test_the_formula_has_ops_and_bytes(one):
    assert one("intensity: fp32, expect: 1.00 op/B", head=MLP).obtained.formula == "16384 op / 17664 B"


def test_invalid_subjects(refusal):
    assert "unknown precision 'int9'" in refusal("intensity: int9, expect: 1.00 op/B", head=MLP)
    assert "takes no operating point" in refusal("intensity: int8, at: low, expect: 1.00 op/B", head=MLP)
    assert "an intensity is in op/B" in refusal("intensity: int8, expect: 1.00 B", head=MLP)
