"""Encoder–decoders: products by hand, the step of decode beside the pass that fills its caches, and what is refused."""

import pytest

from rooflint.base.errors import RooflintError
from rooflint.workloads.encoder_decoder import EncoderDecoder
from rooflint.workloads.networks import network_named

NET = EncoderDecoder(
    "net", hidden=8, heads=2, head_size=4, feed_forward=16, encoder_layers=2, decoder_layers=3, vocabulary=50,
    source=10, context=20, activation="relu", gated=False, norm="rms_norm", bias="none", tied=True, buckets=4,
)  # fmt: skip
HEARD = EncoderDecoder(
    "heard", hidden=8, heads=2, head_size=4, feed_forward=16, encoder_layers=2, decoder_layers=3, vocabulary=50,
    source=10, context=20, activation="gelu", gated=False, norm="layer_norm", bias="all but keys", tied=True, mels=6,
)  # fmt: skip


def rows(work):
    return {row.name: row for row in work.rows()}


def test_parameters_are_those_of_each_part():
    # a layer of attention 4·8·8, of feed-forward 2·8·16, norms of 8; decoder layers have a second attention and norm
    encoder, decoder = 2 * (256 + 256 + 16) + 8, 3 * (2 * 256 + 256 + 24) + 8
    assert NET.parameters == 50 * 8 + encoder + decoder + 2 * 4 * 2


def test_the_first_pass_reads_the_source_once_and_writes_one_token():
    found = rows(NET.table(3, 7))
    assert (found["encoder_qkv"].m, found["qkv"].m, found["cross_kv"].m) == (21, 3, 21)
    assert found["cross_attention"][7:11] == (1, 7, 8, 6)  # a query, 7 keys, twice 4, for 2 heads of 3 samples
    assert found["encoder_attention"].repeats == 2
    # bias of the scores of each head: 2 × 7 × 7 for each of 3 samples, in 2 layers, beside queries, keys and values
    assert found["encoder_attention"].elements_in == 2 * (3 * 3 * 7 * 8 + 3 * 2 * 7 * 7)


def test_a_step_of_decode_has_no_encoder_and_reads_both_caches():
    found = rows(NET.table(3, past=5))
    assert not [name for name in found if name.startswith("encoder") or name in ("cross_kv", "cross_cache")]
    assert found["attention"][7:11] == (1, 6, 8, 6)
    assert found["cross_attention"].n == 10
    # keys and values of 6 tokens and of the source, in 3 layers, for 3 samples
    assert NET.table(3, past=5).flow.elements_cache == 3 * 2 * 8 * 3 * (6 + 10)


def test_a_recording_has_two_frames_for_each_token():
    found = rows(HEARD.table(2))
    # 20 frames of 2 samples, 8 channels, windows of 3 × 6; then 10 places of 3 × 8
    assert (found["encoder_conv1"].macs, found["encoder_conv2"].macs) == (40 * 8 * 18, 20 * 8 * 24)
    assert HEARD.table(2).flow.elements_input == 2 * 20 * 6 + 2
    assert found["encoder_qkv"].elements_weight == 2 * (24 * 8 + 16)  # no biases of keys


@pytest.mark.parametrize("net", [NET, HEARD])
@pytest.mark.parametrize("past", [0, 5])
def test_another_batch_is_the_same_as_one_made_for_it(net, past):
    assert net.table(2, past=past).at_batch(6) == net.table(6, past=past)


@pytest.mark.parametrize(
    ("net", "new", "past", "says"),
    [
        (NET, 11, 0, "net: want at most 10 tokens of a text, found 11"),
        (NET, 1, 20, "net: want at most 20 tokens, its context; found 21"),
        (HEARD, 5, 0, "heard: reads the 10 tokens of a recording; want no --prompt"),
    ],
)
def test_tokens_beyond_what_it_was_made_for_are_refused(net, new, past, says):
    with pytest.raises(RooflintError) as refused:
        net.table(1, new, past)
    assert str(refused.value) == says


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("t5-base", 222_903_552),
        ("t5-large", 737_668_096),
        ("whisper-base", 72_593_920),
        ("whisper-large-v3", 1_543_490_560),
    ],
)
def test_shipped_ones_have_the_parameters_of_their_checkpoints(name, parameters):
    assert network_named(name).configuration.parameters == parameters
    assert network_named(name).workload(2).total_macs > 0


def test_policies_know_products_and_caches():
    work = NET.table(3, past=5)
    assert work.bytes_moved("w4a16").sum() < work.bytes_moved("bf16").sum()


def test_a_decoder_is_asked_for():
    with pytest.raises(RooflintError) as refused:
        network_named("t5-base").transformer  # noqa: B018
    assert (
        str(refused.value)
        == "t5-base: --generate, --train and --tp need a single decoder or encoder; predict it without them"
    )
