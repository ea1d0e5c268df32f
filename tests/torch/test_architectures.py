"""Op tables of encoder–decoders and the like against captures of what `transformers` builds, on the meta device.

Each captured row belongs to a row of ours (`OURS` of its architecture) and nothing is left over. Where the two count
differently, the reason stands beside the number:

- Queries, keys and values are one product here and three there; an RMS norm is one row here and six there.
- Causal attention counts the scores that are needed here; there it is the whole square.
- A mask, and T5's bias of relative positions, are added to scores there: an op more for each.
"""

import re
import warnings
from collections import defaultdict
from dataclasses import replace
from functools import cache

import pytest

torch = pytest.importorskip("torch")
from rooflint.workloads.capture.torchvision_networks import import_torchvision  # noqa: E402

import_torchvision()  # transformers imports it, and fails where its operators do not load
transformers = pytest.importorskip("transformers")

from tests.torch.conftest import captures  # noqa: E402

from rooflint.workloads.capture.trace import Example, capture  # noqa: E402
from rooflint.workloads.networks import find_network  # noqa: E402

BATCH = 2


def built(network, configuration):
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        configuration._attn_implementation = "sdpa"
        return getattr(transformers, network)(configuration).eval().to(torch.bfloat16)


def traced(network, *inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(capture(network.eval(), Example(inputs, BATCH), "theirs", "unproved").rows())


def tokens(count):
    return torch.zeros(BATCH, count, dtype=torch.long, device="meta")


def summed(rows, name_of):
    """Rows added up by group: macs, other_ops, elements_weight, elements_out."""
    found = defaultdict(lambda: [0, 0, 0, 0])
    for row in rows:
        for column, value in enumerate((row.macs, row.other_ops, row.elements_weight, row.elements_out)):
            found[name_of(row)][column] += value
    return found


# ---- encoder–decoders

SOURCE, NEW = 10, 4


class Written(torch.nn.Module):
    """Logits of the last of some tokens after a text or a recording."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, heard, written):
        name = "input_features" if heard.dim() == 3 else "input_ids"
        found = self.network(**{name: heard}, decoder_input_ids=written, use_cache=False)
        return found.logits


WIDTHS = {"hidden": 64, "heads": 4, "head_size": 16, "feed_forward": 96, "encoder_layers": 2, "decoder_layers": 3,
          "vocabulary": 200, "source": SOURCE, "context": 20}  # fmt: skip


@cache
def read_and_written(name):
    """(our network, our rows, captured rows, parameters of theirs)."""
    net = replace(find_network(name).configuration, **WIDTHS, **({"mels": 8} if name.startswith("whisper") else {}))
    if name.startswith("whisper"):
        sizes = {
            "d_model": 64,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 96,
            "decoder_ffn_dim": 96,
            "num_mel_bins": 8,
            "max_source_positions": SOURCE,
            "max_target_positions": 20,
        }
        whole = sizes | {"encoder_layers": 2, "decoder_layers": 3, "vocab_size": 200, "pad_token_id": 0}
        network = built("WhisperForConditionalGeneration", transformers.WhisperConfig(**whole))
        heard = torch.zeros(BATCH, 8, 2 * SOURCE, dtype=torch.bfloat16, device="meta")
    else:
        sizes = {"d_model": 64, "num_heads": 4, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_decoder_layers": 3}
        network = built("T5ForConditionalGeneration", transformers.T5Config(**sizes, vocab_size=200))
        heard = tokens(SOURCE)
    theirs = traced(Written(network), heard, tokens(NEW))
    return net, list(net.first(BATCH, SOURCE, NEW).rows()), theirs, sum(one.numel() for one in network.parameters())


#: A pattern of a captured name, and the row of ours that it belongs to; the first that fits counts.
OF_WHISPER = [
    (r"encoder\.conv1", "encoder_conv1"),
    (r"encoder\.gelu$", "encoder_conv1_gelu"),
    (r"encoder\.conv2", "encoder_conv2"),
    (r"encoder\.gelu@2", "encoder_conv2_gelu"),
    (r"\.embed_tokens", "{}embedding"),
    (r"coder\.add$", "{}positions_add"),
    (r"attn\.mul", "queries, scaled"),
    (r"encoder_attn_layer_norm", "{}cross_norm"),
    (r"self_attn_layer_norm", "{}attention_norm"),
    (r"final_layer_norm", "{}feed_forward_norm"),
    (r"\.layer_norm", "{}norm"),
    (r"encoder_attn\.q_proj", "{}cross_query"),
    (r"encoder_attn\.(k|v)_proj", "{}cross_kv"),
    (r"encoder_attn\.out_proj", "{}cross_out"),
    (r"encoder_attn\.attention", "{}cross_attention"),
    (r"self_attn\.(q|k|v)_proj", "{}qkv"),
    (r"self_attn\.out_proj", "{}attention_out"),
    (r"self_attn\.attention", "{}attention"),
    (r"fc1", "{}up"),
    (r"activation_fn", "{}activation"),
    (r"fc2", "{}down"),
    (r"decoder\.layers\.\d\.add@2", "{}cross_add"),
    (r"decoder\.layers\.\d\.add@3|encoder\.layers\.\d\.add@2", "{}feed_forward_add"),
    (r"layers\.\d\.add$", "{}attention_add"),
    (r"proj_out", "head"),
]
OF_T5 = [
    (r"\.embed_tokens", "{}embedding"),
    (r"final_layer_norm", "{}norm"),
    (r"layer\.0\.layer_norm", "{}attention_norm"),
    (r"layer\.0\.SelfAttention\.(q|k|v)", "{}qkv"),
    (r"layer\.0\.SelfAttention\.o", "{}attention_out"),
    (r"layer\.0\.SelfAttention\.attention", "{}attention"),
    (r"layer\.0\.add", "{}attention_add"),
    (r"layer\.1\.EncDecAttention\.q", "{}cross_query"),
    (r"layer\.1\.EncDecAttention\.(k|v)", "{}cross_kv"),
    (r"layer\.1\.EncDecAttention\.o", "{}cross_out"),
    (r"layer\.1\.EncDecAttention\.attention", "{}cross_attention"),
    (r"decoder\.block\.\d\.layer\.1\.layer_norm", "{}cross_norm"),
    (r"decoder\.block\.\d\.layer\.1\.add", "{}cross_add"),
    (r"layer_norm", "{}feed_forward_norm"),
    (r"DenseReluDense\.wi", "{}up"),
    (r"DenseReluDense\.act", "{}activation"),
    (r"DenseReluDense\.wo", "{}down"),
    (r"layer\.\d\.add", "{}feed_forward_add"),
    (r"network\.mul", "result, scaled"),
    (r"lm_head", "head"),
]
PATTERNS = {"t5-base": OF_T5, "whisper-base": OF_WHISPER}
CAPTURED = captures(PATTERNS, quick=())
NOT_OURS = {"queries, scaled", "result, scaled"}  # Whisper scales queries, not scores; T5 what its tied head reads
NOT_THEIRS = {"cache", "cross_cache"}  # the captured pass keeps none


def place(name, row):
    ours = next(ours for pattern, ours in PATTERNS[name] if re.search(pattern, row.name))
    return ours.format("encoder_" if ".encoder." in row.name else "")


@pytest.mark.parametrize("name", CAPTURED)
def test_encoder_decoders_have_the_parameters_that_transformers_makes(name):
    net, _, _, parameters = read_and_written(name)
    assert net.parameters == parameters


@pytest.mark.parametrize("name", CAPTURED)
def test_every_row_of_encoder_decoders_has_its_counterpart(name):
    _, ours, theirs, _ = read_and_written(name)
    assert {place(name, row) for row in theirs} - NOT_OURS == {row.name for row in ours} - NOT_THEIRS


@pytest.mark.parametrize("name", CAPTURED)
def test_rows_of_encoder_decoders_agree(name):
    net, ours, theirs, _ = read_and_written(name)
    there, here = summed(theirs, lambda row: place(name, row)), summed(ours, lambda row: row.name)
    for row in ours:
        mine, other = here[row.name], there[row.name]
        if row.name == "head":  # of the last token alone
            assert [NEW * mine[0], mine[2], NEW * mine[3]] == [other[0], other[2], other[3]]
        elif row.kind in ("attention", "causal_attention"):
            # NEW tokens see 1 to NEW keys: 2.5 on average, so 3
            square = NEW if row.kind == "causal_attention" else 1
            assert square * mine[0] == (3 if square > 1 else 1) * other[0]
            # six op a score, and one more for a mask or for a bias beside the scale
            masked = 7 if name == "t5-base" or square > 1 else 6
            assert masked * square * mine[1] == 6 * (3 if square > 1 else 1) * other[1]
        elif row.kind == "rms_norm":
            # square, times the root, times the weight; epsilon and root of each line; the mean rides along
            lines = row.elements_out // net.hidden
            assert [mine[1], other[1]] == [5 * row.elements_out, 3 * row.elements_out + 2 * lines]
            assert mine[2] == other[2]
        elif row.name == "positions_add":  # theirs reads the positions for each sample
            assert [*mine[:2], BATCH * mine[2], mine[3]] == other
        elif row.name not in NOT_THEIRS:
            assert mine == other
