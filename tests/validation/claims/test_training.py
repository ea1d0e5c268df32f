"""Claims about training: what follows from a printed throughput, what is refused, and how else people count."""

import pytest

from pytest_rooflint.golden import read
from pytest_rooflint.suite.judge import judge

LLAMA = "mfu: llama-3.1-8b, precision: fp16, length: 4096, tokens_per_s: 100"
PEAK = 14.7456e12  # 8 × 2 mac_array × 512 MAC × 2 × 900 MHz
N, ATTENTION = 8_030_261_248, 12 * 32 * 4096 * 4096


def percent(ops, tokens_per_s=100.0):
    return f"{100 * tokens_per_s * ops / PEAK:.4g} %"


def test_utilization_is_operations_of_the_model_over_the_peak(one, paths):
    verdict = one(f"{LLAMA}, expect: {percent(6 * N + ATTENTION)}")
    assert verdict.outcome == "pass"
    assert verdict.obtained.value == pytest.approx(100 * (6 * N + ATTENTION) / PEAK, rel=1e-12)
    assert paths(verdict)  # of the peak


def test_devices_and_seconds_share_the_tokens(one):
    given = "mfu: llama-3.1-8b, precision: fp16, length: 4096, tokens: 8000, seconds: 10, devices: 8"
    assert one(f"{given}, expect: {percent(6 * N + ATTENTION)}").outcome == "pass"


def test_a_rate_needs_no_network(one):
    assert one("mfu: secret-model, rate: 7.3728 TFLOP/s, precision: fp16, expect: 50.00 %").outcome == "pass"
    (cause,) = [
        cause
        for cause in one("mfu: secret-model, rate: 7.3728 TFLOP/s, precision: fp16, expect: 25.00 %").causes
        if "sparsity" in cause.text
    ]
    assert cause.of_claim


def test_a_rate_of_one_device_is_expected_in_its_unit(one):
    rate = f"{100 * (6 * N + ATTENTION) / 1e12:.5g}"
    assert one(f"{LLAMA}, expect: {rate} TFLOP/s").outcome == "pass"


@pytest.mark.parametrize(
    ("ops", "words"),
    [
        ((6 * N + ATTENTION) / 2, "structured sparsity"),
        ((6 * N + ATTENTION) * 4 / 3, "8 N for 6 N"),
        (6 * N + ATTENTION * 4 / 3, "of attention runs again"),
        (6 * N, "attention: none"),
        (6 * N + ATTENTION * 4097 / 8192, "attention: causal"),
        (6 * (N - 128256 * 4096) + ATTENTION, "counted: products"),
        ((6 * N + ATTENTION) / 3, "2 N was counted"),
        ((6 * N + ATTENTION) * 8, "of a node of 8 devices"),
        ((6 * N + ATTENTION) / 8, "divided by the 8 of a node"),
    ],
)
def test_another_way_to_count_is_named(one, ops, words):
    verdict = one(f"{LLAMA}, expect: {percent(ops)}")
    assert verdict.outcome == "fail"
    assert any(words in cause.text for cause in verdict.causes), [cause.text for cause in verdict.causes]


def test_all_experts_are_named_where_those_of_a_token_count(one):
    mixtral = "mfu: mixtral-8x7b, precision: fp16, length: 4096, tokens_per_s: 100"
    ops = 6 * 46_702_792_704 + 12 * 32 * 4096 * 4096
    verdict = one(f"{mixtral}, expect: {percent(ops)}")
    assert verdict.outcome == "fail"
    assert any("of all experts; write 'counted: experts'" in cause.text for cause in verdict.causes)
    assert one(f"{mixtral}, counted: experts, expect: {percent(ops)}").outcome == "pass"


def test_what_runs_again_counts_for_the_hardware(one):
    given = "hfu: llama-3.1-8b, precision: fp16, length: 4096, tokens_per_s: 100"
    whole = 6 * N + ATTENTION
    assert one(f"{given}, expect: {percent(whole * 4 / 3)}").outcome == "pass"
    assert one(f"{given}, recompute: selective, expect: {percent(whole + ATTENTION / 3)}").outcome == "pass"
    verdict = one(f"{given}, expect: {percent(whole)}")
    assert any("what runs again was left out" in cause.text for cause in verdict.causes)


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("mfu: llama-3.1-8b, length: 8, expect: 10 %", "want one of tokens_per_s, tokens (with seconds) and rate"),
        ("mfu: llama-3.1-8b, length: 8, tokens: 8, expect: 10 %", "want tokens and seconds together"),
        ("mfu: llama-3.1-8b, tokens_per_s: 8, expect: 10 %", "length: is missing"),
        ("mfu: llama-3.1-8b, rate: 9 TFLOP/s, length: 8, expect: 10 %", "length: unknown option beside rate"),
        ("mfu: llama-3.1-8b, rate: 9 TFLOP/s, devices: 8, expect: 10 %", "devices: unknown option beside rate"),
        ("hfu: llama-3.1-8b, rate: 9 TFLOP/s, recompute: full, expect: 10 %", "recompute: unknown option beside rate"),
        ("mfu: llama-3.1-8b, rate: 9 TFLOP/s, expect: 10 TFLOP/s", "want a share beside rate"),
        ("mfu: llama-3.1-8b, rate: 9 GB/s, expect: 10 %", "rate: want a value in op/s"),
        (f"{LLAMA}, expect: 10 GB/s", "want a share such as 46.2 % or a rate such as 389 TFLOP/s"),
        (f"{LLAMA}, recompute: full, expect: 10 %", "recompute: unknown option for 'mfu'"),
    ],
)
def test_a_claim_that_cannot_be_computed_is_refused(refusal, claim, words):
    assert words in refusal(claim)


def test_an_unknown_network_is_told_with_the_nearest(one):
    verdict = one("mfu: llama-3.1-9b, precision: fp16, length: 8, tokens_per_s: 8, expect: 10 %")
    assert verdict.reason.startswith("unknown network 'llama-3.1-9b'; did you mean llama-3.1-8b")


def test_a_claim_divides_by_the_peak_of_all_units_that_work_together(tmp_path, shipped_suite):
    # a KPU computes in BF16 on two kinds of tiles side by side: 149.0944 + 18.2784 TFLOP/s; 16.73728 are a tenth of it
    file = tmp_path / "kpu.yaml"
    file.write_text(
        "hardware: stillwater/kpu-t256\nsource: {document: Somebody, where: p. 1, grade: read}\n"
        "claims:\n  - {mfu: any, rate: 16.73728 TFLOP/s, expect: 10.00 %}\n",
        encoding="utf-8",
    )
    (claim,) = read.load(file).claims
    assert judge(claim, "", shipped_suite).outcome == "pass"
