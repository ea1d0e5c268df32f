"""`flops`: ops of a workload, by hand."""

import pytest

MLP = "workload: {mlp: [64, 64], batch: 2}\n"


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        # 2 × 64 × 64 MAC, 2 op each
        ("flops: macs, expect: 16384 op", 16384),
        ("flops: all, expect: 16384 op", 16384),
        ("flops: linear, expect: 8192 MAC", 16384),
    ],
)
def test_ops_of_a_layer(one, claim, value):
    verdict = one(claim, head=MLP)
    assert (verdict.outcome, verdict.obtained.value, verdict.corroborated) == ("pass", value, True)


def test_kinds_of_kernels_add_up_to_all_and_macs_are_fewer(one):
    def ops(subject):
        return one(f"flops: {subject}, expect: 1.00 op, workload: torchvision/resnet18").obtained.value

    # ResNet-18: 1.814 GMAC and their sums elsewhere
    assert ops("macs") == pytest.approx(2 * 1.814e9, rel=1e-3)
    assert ops("linear") == pytest.approx(2 * 512 * 1000, rel=1e-3)  # with or without the biases
    assert ops("conv2d") < ops("conv2d + linear") < ops("all")
    assert ops("conv2d + linear") == ops("conv2d") + ops("linear")


def test_the_number_of_kernels_is_told(one):
    found = one("flops: linear, expect: 1.00 op, workload: {mlp: [8, 8, 8]}").obtained
    assert "of 2 kernels of" in found.formula
    assert "2 × 128 MAC" in one("flops: macs, expect: 1.00 op, workload: {mlp: [8, 8, 8]}").obtained.formula


def test_invalid_subjects(one, refusal):
    assert "has no ops of kind conv2d (has: linear)" in one("flops: conv2d, expect: 1.00 op", head=MLP).reason
    assert "unknown workload" in one("flops: all, expect: 1.00 op, workload: torchvision/resnet19").reason
    assert "at least 1" in one("flops: all, expect: 1.00 op, workload: {mlp: [0, 1]}").reason
    assert "a flops claim takes no operating point here" in refusal("flops: all, at: low, expect: 1.00 op", head=MLP)
    assert "a flops is in op" in refusal("flops: all, expect: 1.00 B", head=MLP)
