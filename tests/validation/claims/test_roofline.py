"""Claims about the terms of the roofline, by hand: ops, intensity, breakpoint, attainable rate."""

import pytest

from rooflint.base.errors import InputError

# ---- `flops`


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


def test_what_flops_cannot_count_is_told(one, refusal):
    assert "has no ops of kind conv2d (has: linear)" in one("flops: conv2d, expect: 1.00 op", head=MLP).reason
    assert "unknown workload" in one("flops: all, expect: 1.00 op, workload: torchvision/resnet19").reason
    assert "at least 1" in one("flops: all, expect: 1.00 op, workload: {mlp: [0, 1]}").reason
    assert "a flops claim takes no operating point here" in refusal("flops: all, at: low, expect: 1.00 op", head=MLP)
    assert "a flops is in op" in refusal("flops: all, expect: 1.00 B", head=MLP)


# ---- `intensity`


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


def test_an_invalid_intensity_is_refused(refusal):
    assert "unknown precision 'int9'" in refusal("intensity: int9, expect: 1.00 op/B", head=MLP)
    assert "takes no operating point" in refusal("intensity: int8, at: low, expect: 1.00 op/B", head=MLP)
    assert "an intensity is in op/B" in refusal("intensity: int8, expect: 1.00 B", head=MLP)


# ---- `breakpoint`


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        # 32.768 TOP/s / 256 GB/s
        ("breakpoint: mac_array int8 / hbm, expect: 128 op/B", 128),
        ("breakpoint: mac_array int8 / hbm, at: low, expect: 64 op/B", 64),
        # 14.7456 TFLOP/s / 25.6 GB/s
        ("breakpoint: mac_array fp16 / ddr, expect: 14.75 TFLOP/s / 25.6 GB/s", 576),
    ],
)
def test_a_breakpoint_is_peak_over_bandwidth(one, claim, value):
    verdict = one(claim)
    assert (verdict.outcome, verdict.corroborated) == ("pass", True)
    assert verdict.obtained.value == pytest.approx(value, rel=1e-12)


def test_a_breakpoint_has_the_facts_of_both_sides(one, paths):
    verdict = one("breakpoint: mac_array int8 / hbm, expect: 128 op/B")
    assert {"units.mac_array.clock", "memories.hbm.bus", "memories.hbm.pin_rate"} <= paths(verdict)
    assert (verdict.obtained.unit, verdict.obtained.precision) == ("mac_array", "int8")
    assert verdict.obtained.formula.startswith("(8 tile × ") and ") / (1024 bit" in verdict.obtained.formula


def test_both_a_doubled_peak_and_a_halved_bandwidth_explain_twice_the_breakpoint(one):
    verdict = one("breakpoint: mac_array int8 / hbm, expect: 64 op/B")
    repairs = {(cause.fact.path, cause.repair) for cause in verdict.causes if cause.fact}
    assert (verdict.outcome, verdict.ratio_text) == ("fail", "2")
    assert {("memories.hbm.pin_rate", "4 Gbit/s"), ("units.mac_array.macs_per_clock.int8", "512 MAC")} <= repairs


def test_invalid_breakpoints(one, refusal):
    assert "no memory 'hbm3'" in one("breakpoint: mac_array int8 / hbm3, expect: 1.00 op/B").reason
    assert one("breakpoint: secret int8 / nowhere, expect: 1.00 op/B, undisclosed: true").outcome == "fail"
    assert "want two operands with '/'" in refusal("breakpoint: mac_array int8, expect: 1.00 op/B")
    assert "want a unit and a precision" in refusal("breakpoint: int8 / hbm, expect: 1.00 op/B")
    assert "a breakpoint is in op/B" in refusal("breakpoint: mac_array int8 / hbm, expect: 1.00 op/s")


# ---- `attainable`


SMALL = "attainable: mac_array int8 / hbm, expect: 10.92 TOP/s, workload: {gemm: [64, 64, 64]}"


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        # in INT8 a 1024³ product has 2 · 1024 / 3 = 682.7 op/B; × 256 GB/s is above the peak of 32.768 TOP/s
        ("attainable: mac_array int8 / hbm, expect: 32.77 TOP/s, workload: {gemm: [1024, 1024, 1024]}", 32.768e12),
        # stored in FP32 a quarter of it: 170.7 op/B × 256 GB/s = 43.7 TOP/s, still above
        ("attainable: mac_array int8 / hbm, expect: 32.77 TOP/s, workload: {gemm: [1024, 1024, 1024]}, storage: fp32",
         32.768e12),
        # 2 · 64³ op over 3 · 64² B = 42.67 op/B, left of the breakpoint of 128
        (SMALL, 256e9 * 128 / 3),
        (SMALL.replace("10.92", "2.731") + ", storage: fp32", 256e9 * 32 / 3),
        ("attainable: mac_array int8 / hbm, at: low, expect: 16.38 TOP/s, workload: {gemm: [1024, 1024, 1024]}",
         16.384e12),
    ],
)  # fmt: skip
def test_attainable_is_the_lower_of_the_two_roofs(one, claim, value):
    verdict = one(claim)
    assert (verdict.outcome, verdict.corroborated) == ("pass", True), verdict.text()
    assert verdict.obtained.value == pytest.approx(value, rel=1e-12)


def test_attainable_has_the_facts_of_both_roofs(one, paths):
    verdict = one(SMALL)
    assert {"units.mac_array.clock", "memories.hbm.pin_rate"} <= paths(verdict)
    assert (verdict.obtained.unit, verdict.obtained.precision) == ("mac_array", "int8")
    assert verdict.obtained.formula.startswith("min(8 tile × ") and verdict.obtained.formula.endswith("42.67 op/B)")


def test_a_bandwidth_above_the_peak_is_still_a_cause(acme, one):
    # 42.67 op/B × 256 GB/s = 10.92; with 32 Gbit/s per pin the roof is the peak, 32.77
    acme.edit("specs/hardware/acme/k1.yaml", "pin_rate: [2 Gbit/s", "pin_rate: [32 Gbit/s")
    verdict = one(SMALL)
    assert verdict.outcome == "fail"
    assert any(cause.fact.path.startswith("memories.hbm.") for cause in verdict.causes if cause.fact)


def test_only_the_lower_roof_is_repaired_where_the_value_is_too_low(acme, one):
    acme.edit("specs/hardware/acme/k1.yaml", "pin_rate: [2 Gbit/s", "pin_rate: [1 Gbit/s")
    verdict = one(SMALL)
    assert (verdict.outcome, verdict.ratio_text) == ("fail", "1/2")
    assert {cause.fact.path for cause in verdict.causes if cause.fact} == {"memories.hbm.pin_rate", "memories.hbm.bus"}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (" / hbm", "", "want two operands with '/'"),
        ("mac_array int8", "int8", "want a unit and a precision"),
        ("64]}", "64]}, storage: int9", "storage: unknown precision 'int9'"),
        ("TOP/s", "GB/s", "an attainable is in op/s"),
    ],
)
def test_an_invalid_attainable_is_refused(refusal, old, new, says):
    assert says in refusal(SMALL.replace(old, new))


# ---- `weights`


def test_weights_are_those_of_a_precision_or_of_a_policy(one):
    # 70 553 706 496 × 2 B
    assert one("weights: bf16, workload: llama-3.1-70b, expect: 141107412992 B").outcome == "pass"
    # 80 layers × (8192 × 10240 + 8192² + 3 × 8192 × 28672) = 68 451 041 280 of 4.125 bit, the others of 16
    narrow = 68_451_041_280
    found = one("weights: W4A16, workload: llama-3.1-70b, expect: 39.5 GB").obtained
    assert found.value == narrow * 4.125 / 8 + (70_553_706_496 - narrow) * 2
    assert "68,451,041,280 of them in 4.125 bit" in found.formula


def test_a_cache_keeps_keys_and_values_of_all_tokens(one):
    # 2 × 32 layers × 8 heads × 128 × 8192 tokens; 61 layers × (512 + 64) × 8192 of a latent
    llama = "cache: {}, workload: {{network: llama-3.1-8b, prompt: 1, past: 8191}}, expect: {} B"
    assert one(llama.format("bf16", 2 * 32 * 8 * 128 * 8192 * 2)).outcome == "pass"
    assert one(llama.format("fp8-kv8", 2 * 32 * 8 * 128 * 8192)).outcome == "pass"
    latent = "cache: bf16, workload: {network: deepseek-v3, prompt: 8192}"
    assert one(f"{latent}, expect: {61 * 576 * 8192 * 2} B").outcome == "pass"


def test_weights_of_an_unknown_policy_and_of_a_capture_are_refused(one):
    with pytest.raises(InputError, match="unknown precision 'w5a5'"):
        one("weights: w5a5, workload: llama-3.1-70b, expect: 1.00 GB")
    refused = one("weights: int8, workload: torchvision/resnet18, expect: 1.00 GB")
    assert refused.outcome != "pass"
    assert "resnet18 is not a network that is given by its configuration" in str(refused)
