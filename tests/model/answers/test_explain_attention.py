"""Attention explained: its terms, the error to expect, what the model assumes, and the record of all of it."""

from functools import cache

import pytest

from rooflint.answers.explain_attention import LISTING, WAITS, AttentionRecord, answer, options_of
from rooflint.api.kernels import kernel
from rooflint.base.units import SECONDS, format_quantity
from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import constants_file

QUESTIONS = {
    "long": ("h100-sxm5", "bf16", "prefill", "", (1, 32, 8, 4096, 128)),
    "short": ("t4", "fp16", "encoder", "", (1, 12, 12, 128, 72)),
    "powered": ("l40s", "bf16", "encoder", "", (8, 32, 32, 8192, 128)),
    "read": ("h100-sxm5", "bf16", "decode", "", (64, 32, 8, 4096, 128)),
    "split": ("h100-sxm5", "bf16", "decode", "", (1, 8, 1, 131072, 128)),
    "narrow": ("l40s", "bf16", "decode", "fp8", (1, 32, 32, 4096, 128)),
    "unmeasured": ("l40s", "bf16", "prefill", "fp8", (1, 32, 32, 4096, 128)),
}
"""Device, precision, phase, cache; samples, heads, heads of keys, tokens, elements of a head."""


@cache
def asked(name):
    device, precision, phase, stored, sizes = QUESTIONS[name]
    op, options = options_of(phase, stored, precision)
    named = dict(zip(("batch", "heads", "kv_heads", "tokens", "width"), sizes, strict=True))
    return kernel(op, device, precision=precision, **named, **options)


@cache
def answered(name):
    return answer(asked(name))


def section(name, heading):
    (found,) = [one for one in answered(name).sections if one.heading == heading]
    return found


def rungs(name):
    return {row[0]: row[1:] for row in section(name, "Terms").table.rows}


def seconds(value):
    return format_quantity(value, SECONDS)


# ---- the whole


@pytest.mark.parametrize(
    ("name", "title", "subtitle"),
    [
        ("long", "Prefill: 1 × 4096 tokens, 32 heads of 128 on 8 of keys, on NVIDIA H100 SXM5 80GB",
         "nvidia/h100-sxm5-80gb, bf16, 2 B per element of the cache"),
        ("short", "Encoder: 1 × 128 tokens, 12 heads of 72, on NVIDIA T4", "nvidia/t4, fp16, no cache"),
        ("narrow", "Decode: 1 × 4096 tokens, 32 heads of 128, on NVIDIA L40S",
         "nvidia/l40s, bf16, 1 B per element of the cache"),
    ],
)  # fmt: skip
def test_an_answer_is_headed_by_what_was_asked(name, title, subtitle):
    assert (answered(name).title, answered(name).subtitle) == (title, subtitle)


def test_sections_begin_with_the_latency_and_end_with_limitations():
    assert [one.heading for one in answered("long").sections] == [
        "Latency", "Terms", "Latency by term", "Sensitivity to resources", "Assumptions", "Facts", "Limitations",
    ]  # fmt: skip


def test_a_phase_is_an_op_with_its_options():
    assert options_of("prefill", "", "bf16") == ("attention", {"causal": True, "append_bytes": 2.0})
    assert options_of("prefill", "fp8", "bf16") == ("attention", {"causal": True, "append_bytes": 1.0})
    assert options_of("encoder", "", "bf16") == ("attention", {"causal": False, "append_bytes": 0.0})
    assert options_of("decode", "", "fp32") == ("decode", {"cache_bytes": 4.0})
    assert options_of("decode", "fp8", "bf16") == ("decode", {"cache_bytes": 1.0})


# ---- the time and what limits it


@pytest.mark.parametrize("name", QUESTIONS)
def test_terms_add_up_to_what_networks_predict_of_the_same_op(name):
    record = answered(name).record
    assert sum(one.seconds for one in record.terms) == pytest.approx(record.latency_s)
    assert record.latency_s == pytest.approx(asked(name).seconds.item())
    assert record.latency_low_s <= record.latency_high_s
    assert rungs(name)["= latency"] == (seconds(record.latency_s), f"most of it: {record.bound}")


@pytest.mark.parametrize(
    ("name", "bound"), [("long", "main loop"), ("short", "launch"), ("powered", "power"), ("read", "memory")]
)
def test_what_limits_attention_is_its_largest_term(name, bound):
    record = answered(name).record
    assert record.bound == bound
    assert section(name, "Latency").sentences[2] == f"mostly limited by {WAITS[bound]}"


def test_the_rate_is_of_the_macs_that_count():
    # causal: 2 products · 32 heads · 4096² / 2 pairs · 128 elements, two ops each
    ops, latency_s = 2 * 2 * 32 * 4096**2 / 2 * 128, answered("long").record.latency_s
    assert section("long", "Latency").sentences[0] == f"{seconds(latency_s)}, {ops / latency_s / 1e12:.4g} TFLOP/s"


def test_bytes_are_those_of_the_phase():
    # Q and output of 32 heads, K and V of 8, and K and V again in and out: (2·32 + 2·8 + 2·2·8) · 4096 · 128 · 2 B
    assert rungs("long")["memory"][1].startswith("117.4 MB at ")
    # K and V of 32 heads in 1 B, Q and output of one token in 2 B: 2·32·4096·128 + 2·32·128·2 B
    assert rungs("narrow")["memory"][1].startswith("33.57 MB at ")


def test_blocks_and_parts_are_those_that_take_least():
    # 8 heads of keys · 4 of queries · 4096 tokens / 128 queries / 132 SMs
    assert rungs("long")["main loop"][1] == "blocks of 128 queries, 7.76 for each SM"
    # 12 heads · 128 tokens / 64 queries / 40 SMs
    assert rungs("short")["main loop"][1] == "blocks of 64 queries, 0.6 for each SM"
    assert rungs("split")["main loop"][1] == "each cache in 64 parts, 0.485 for each SM"  # 64 / 132
    assert "reduction" in rungs("split")
    assert rungs("read")["main loop"][1] == "each cache in 1 part, 3.88 for each SM"  # 64 · 8 / 132
    assert "reduction" not in rungs("read")


def test_more_exponentials_help_a_softmax_and_more_capacity_does_nothing_cold():
    twice = {one.resource: one.latency_s for one in answered("long").record.twice}
    latency_s = answered("long").record.latency_s
    assert twice["special_functions"] < 0.98 * latency_s
    assert twice["l2_bytes"] == latency_s
    shown = {row[0]: row[2] for row in section("long", "Sensitivity to resources").table.rows}
    assert shown["L2 capacity"] == "no change"
    assert shown["exponentials/clock of an SM"] == "-4%"


# ---- the error to expect


@pytest.mark.parametrize(
    ("name", "topic", "family", "said"),
    [
        ("long", "prefill", "hopper", "bf16 prefill kernels"),
        ("powered", "encoder", "ada", "bf16 encoder kernels"),
        ("read", "decode", "hopper", "bf16 decode kernels"),
        ("narrow", "decode_fp8", "ada", "decode kernels with an fp8 cache"),
    ],
)
def test_the_error_is_that_of_the_phase_on_the_family_and_in_the_regime(name, topic, family, said):
    errors = constants_file(Registry()).errors(topic)
    record, sentence = answered(name).record, section(name, "Latency").sentences[3]
    assert record.errors == errors
    assert sentence.startswith(f"mean error of {said} on GPU families left out of the fit: {errors[family]:g} % on ")
    assert f"({min(errors.values()):g} to {max(errors.values()):g} % on all); " in sentence
    (regime,) = record.regime
    assert sentence.endswith(regime)
    assert "with more than 1024 tokens" in regime


def test_an_error_that_was_not_measured_is_not_known():
    assert (
        section("short", "Latency").sentences[3] == "error not known: no attention of an encoder in fp16 was measured"
    )
    unmeasured = "error not known: no prefill in bf16 with 1 B per element of the cache was measured"
    assert section("unmeasured", "Latency").sentences[3] == unmeasured
    assert answered("unmeasured").record.errors == {}


# ---- what the model assumes


def test_assumptions_are_of_the_phase_and_the_shape():
    long, short = (" · ".join(section(name, "Assumptions").sentences) for name in ("long", "short"))
    assert "half of the scores are computed (causal)" in long
    assert "appended to a cache of 2 B per element" in long
    assert "all scores are computed" in short
    assert "appended" not in short
    assert "heads of 72 elements are padded to 80" in short
    assert "padded" not in long
    assert "beside the matrix instructions" in long
    assert "before or after matrix instructions" in short
    read = section("read", "Assumptions").sentences
    assert "heads that share keys are padded to 16 rows of a matrix instruction; steps of 64 keys" in read
    assert read[-1] == "constants: calibrated on decode"


# ---- the record and its rows


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_record_holds_what_was_asked(name):
    record, (_, precision, phase, _, sizes) = answered(name).record, QUESTIONS[name]
    assert (record.precision, record.phase) == (precision, phase)
    assert (record.batch, record.heads, record.kv_heads, record.tokens, record.width) == sizes
    assert record.assumptions == list(section(name, "Assumptions").sentences)
    assert AttentionRecord.model_validate_json(record.model_dump_json(by_alias=True)) == record


def test_the_listing_has_a_row_for_each_term():
    table, record = answered("split").listing, answered("split").record
    assert table.columns == LISTING
    assert [row[-2:] for row in table.rows] == [(one.term, one.seconds) for one in record.terms]
    assert table.rows[0][:8] == ("nvidia/h100-sxm5-80gb", "bf16", "decode", 1, 8, 1, 131072, 128)
