"""Towers that meet and images among tokens: products by hand, a step of decode without images, and what is refused."""

from dataclasses import replace

import pytest

from rooflint.base.errors import RooflintError
from rooflint.workloads.configuration import Encoder, Image, Transformer
from rooflint.workloads.multimodal import TwoTowers, VisionLanguage
from rooflint.workloads.networks import network_named, read_network
from rooflint.workloads.transformer import Step, table

PLAIN = {"gated": False, "norm": "layer_norm", "positions": "learned", "bias": "all", "activation": "gelu"}
SEEN = Transformer(
    "seen", 2, 8, 2, 2, 4, 16, 0, 5, **PLAIN,
    encoder=Encoder(True, True, "first", 6, False, False, image=Image(4, 2, 3, patch_bias=False)),
)  # fmt: skip
READ = Transformer(
    "read", 1, 8, 2, 2, 4, 16, 50, 7, **PLAIN, encoder=Encoder(True, False, "all", 6, False, False, causal=True)
)
WRITES = Transformer("writes", 3, 12, 2, 2, 6, 20, 50, 64)
BOTH, ASKED = TwoTowers("both", SEEN, READ), VisionLanguage("asked", SEEN, WRITES, 52)


def rows(work):
    return {row.name: row for row in work.rows()}


def test_each_image_is_compared_with_each_text():
    found = rows(BOTH.table(3))
    assert found["similarity"].macs == 3 * 3 * 6
    assert found["scaled"].elements_out == 9
    assert (found["image_head"].m, found["text_head"].m) == (3, 3)


def test_a_text_is_read_at_once_and_each_token_sees_those_before_it():
    attention = rows(BOTH.table(3))["text_attention"]
    assert (attention.kind, attention.m, attention.n) == ("causal_attention", 7, 4)  # 1 to 7 keys, 4 on average


def test_parameters_are_those_of_the_parts():
    assert BOTH.parameters == SEEN.parameters + READ.parameters + 1
    # the encoder without its projection of 8 × 6; products of 8 × 12 and 12 × 12 with biases; 2 words more, twice
    assert ASKED.parameters == SEEN.parameters - 48 + (96 + 12) + (144 + 12) + WRITES.parameters + 2 * 2 * 12


def test_patches_stand_among_the_tokens():
    work = ASKED.table(2, 10)
    found = rows(work)
    assert ASKED.patches == 4
    assert (found["projector_1"].m, found["qkv"].m) == (2 * 4, 2 * 10)
    names = work.op_names.tolist()
    assert work.flow.reads[names.index("embedding")] == (-1, names.index("projector_2"))
    # what leaves the last layer but one goes on, and not the norm of the class token behind the last
    assert work.flow.reads[names.index("projector_1")] == (names.index("image_feed_forward_add"),)
    assert work.flow.elements_input == 2 * (10 + 3 * 16)


def test_a_step_of_decode_is_that_of_the_decoder():
    alone = table(ASKED.decoder, 2, 1, [Step(9)])
    assert list(ASKED.table(2, past=9).rows()) == list(alone.rows())
    assert ASKED.table(2, past=9).flow.elements_cache == alone.flow.elements_cache


@pytest.mark.parametrize("net", [BOTH, ASKED])
def test_another_batch_is_the_same_as_one_made_for_it(net):
    assert net.table(2, 6).at_batch(6) == net.table(6, 6)


@pytest.mark.parametrize(
    ("net", "new", "past", "says"),
    [
        (BOTH, None, 3, "both: has encoders, which keep no cache; want no --past"),
        (ASKED, 4, 0, "asked: want a --prompt of more than the 4 tokens of its image"),
        (ASKED, 65, 0, "asked: want at most 64 tokens, its context; found 65"),
    ],
)
def test_tokens_that_it_cannot_have_are_refused(net, new, past, says):
    with pytest.raises(RooflintError) as refused:
        net.table(1, new, past)
    assert str(refused.value) == says


def test_shipped_ones_have_the_parameters_of_their_checkpoints():
    assert network_named("clip").configuration.parameters == 151_277_313
    assert network_named("llava-1.5-7b").configuration.parameters == 7_063_427_072


def test_a_part_that_is_not_there_is_named(tmp_path):
    file = tmp_path / "networks" / "own" / "pair.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(
        "name: Pair\narchitecture: two-towers\nsources:\n  code: {document: a, grade: read, url: 'https://example.org'}\n"
        "image: openai/clip-vit-b-32\ntext: openai/clip-vit-b-32-txt\n",
        encoding="utf-8",
    )
    with pytest.raises(RooflintError, match=r"pair.yaml:\d+  ?.*unknown network 'openai/clip-vit-b-32-txt'"):
        read_network(file)


@pytest.mark.parametrize(
    ("net", "other", "says"),
    [
        (BOTH, {"image": READ}, "both: want an image that is a vision transformer"),
        (BOTH, {"text": WRITES}, "both: want a text that is an encoder of words"),
        (
            BOTH,
            {"text": replace(READ, encoder=replace(READ.encoder, pooled=5))},
            "both: want parts with results of one width",
        ),
        (ASKED, {"image": WRITES}, "asked: want an image that is a vision transformer"),
        (ASKED, {"language": READ}, "asked: want a language that is a decoder"),
    ],
)
def test_parts_that_do_not_fit_are_refused(net, other, says):
    with pytest.raises(RooflintError) as refused:
        replace(net, **other)
    assert str(refused.value) == says
