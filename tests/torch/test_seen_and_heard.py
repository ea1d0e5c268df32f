"""Op tables of networks for images, speech and diffusion against captures of what `transformers` and `diffusers` build.

Each captured row belongs to a row of ours (`PATTERNS`) and nothing is left over. Arithmetic, weights and results are
equal; where the two count differently, the reason stands here and the number in the test:

- Queries, keys and values are one product here and three there.
- A quick GELU, a GELU with its gate, the length of a vector, and a scale with its shift are one row here and two or
  three there: the arithmetic is the same, results in between are not.
- Causal attention counts the scores that are needed here; there it is the whole square, with a mask for each score.
  wav2vec 2.0 is given a mask that hides nothing.
- Sines and cosines: diffusers multiplies the angles by one once more.
- DiT of diffusers embeds time and class again in each block; that of its authors, as here, once.
- diffusers divides by a scale of one, and CLIP looks for the end of each text: few ops that no row here stands for.
- LLaVA checks that images fit the text, which a capture cannot follow, and scatters patches among words, which are one
  embedding here. Of its decoder the products are compared; the rest is `LlamaConfig` in `test_transformers.py`.

DLRM-v2 is in neither library.
"""

import json
import re
import warnings
from collections import defaultdict
from dataclasses import replace
from functools import cache, partial

import pytest

torch = pytest.importorskip("torch")
from rooflint.workloads.capture.torchvision_networks import import_torchvision  # noqa: E402

import_torchvision()  # transformers imports it, and fails where its operators do not load
transformers = pytest.importorskip("transformers")

from tests.torch.conftest import captures  # noqa: E402

from rooflint.workloads.capture.trace import Example, capture  # noqa: E402
from rooflint.workloads.huggingface import Config, transformer_of  # noqa: E402
from rooflint.workloads.huggingface_networks import ARCHITECTURES  # noqa: E402
from rooflint.workloads.networks import find_network  # noqa: E402

BATCH, NEW, DEPTH = 2, 6, 2
SEEN = {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 96, "image_size": 64,
        "patch_size": 16, "projection_dim": 24}  # fmt: skip
READ = {"hidden_size": 32, "num_hidden_layers": DEPTH, "num_attention_heads": 4, "intermediate_size": 48,
        "vocab_size": 256, "max_position_embeddings": 12, "projection_dim": 24, "bos_token_id": 0,
        "eos_token_id": 1}  # fmt: skip
WRITES = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 48,
          "vocab_size": 256, "max_position_embeddings": 64}  # fmt: skip


class Called(torch.nn.Module):
    """A network by what is done with it."""

    def __init__(self, network, call):
        super().__init__()
        self.network, self.call = network, call

    def forward(self, *given):
        return self.call(self.network, *given)


def built(make):
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        return make().eval().to(torch.bfloat16)


def ids(count):
    return torch.zeros(BATCH, count, dtype=torch.long, device="meta")


def numbers(*shape):
    return torch.zeros(BATCH, *shape, dtype=torch.bfloat16, device="meta")


def sdpa(configuration):
    configuration._attn_implementation = "sdpa"
    return configuration


# ---- (ours, its table, theirs, what is called, with what) of each


def clip():
    whole = sdpa(transformers.CLIPConfig(vision_config=SEEN, text_config=READ, projection_dim=24))
    shipped = find_network("clip").configuration
    seen = transformer_of("seen", whole.vision_config.to_dict())
    amounts = {"layers": DEPTH, "hidden": 32, "heads": 4, "kv_heads": 4, "head_size": 8, "feed_forward": 48}
    text = replace(
        shipped.text, **amounts, vocabulary=256, context=12, encoder=replace(shipped.text.encoder, pooled=24)
    )
    ours = replace(shipped, image=seen, text=text)
    call = lambda net, tokens, image: net(input_ids=tokens, pixel_values=image).logits_per_image  # noqa: E731
    return (
        ours,
        ours.table(BATCH, NEW),
        built(lambda: transformers.CLIPModel(whole)),
        call,
        (ids(NEW), numbers(3, 64, 64)),
    )


def llava():
    vision = {"model_type": "clip_vision_model", **SEEN}
    whole = sdpa(
        transformers.LlavaConfig(
            vision_config=vision, text_config={"model_type": "llama", **WRITES}, image_token_index=9
        )
    )
    seen = transformer_of("seen", whole.vision_config.to_dict())
    language = transformer_of("writes", whole.text_config.to_dict())
    ours = replace(find_network("llava-1.5-7b").configuration, image=seen, language=language, vocabulary=256)

    def call(net, tokens, image):
        return net(input_ids=tokens, pixel_values=image, use_cache=False, logits_to_keep=1).logits

    network = built(lambda: transformers.LlavaForConditionalGeneration(whole))
    return ours, ours.table(BATCH, 20), network, call, (ids(20), numbers(3, 64, 64))


def sam():
    sizes = {"hidden_size": 64, "num_hidden_layers": DEPTH, "num_attention_heads": 4, "mlp_dim": 96, "image_size": 96,
             "output_channels": 24, "window_size": 4, "global_attn_indexes": [1]}  # fmt: skip
    ours = replace(
        find_network("sam-vit-h").configuration, depth=DEPTH, hidden=64, heads=4, feed_forward=96, size=96, window=4,
        global_layers=1, out_channels=24,
    )  # fmt: skip
    network = built(lambda: transformers.SamVisionModel(sdpa(transformers.SamVisionConfig(**sizes))))
    return ours, ours.table(BATCH), network, lambda net, image: net(image)[0], (numbers(3, 96, 96),)


def wav2vec2():
    sizes = {"hidden_size": 64, "num_hidden_layers": DEPTH, "num_attention_heads": 4, "intermediate_size": 96,
             "conv_dim": [32] * 7, "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4}  # fmt: skip
    ours = replace(
        find_network("wav2vec2-base").configuration, samples=4000, conv_width=32, depth=DEPTH, hidden=64, heads=4,
        feed_forward=96, position_kernel=8, position_groups=4,
    )  # fmt: skip
    network = built(lambda: transformers.Wav2Vec2Model(sdpa(transformers.Wav2Vec2Config(**sizes))))
    return ours, ours.table(BATCH), network, lambda net, heard: net(heard)[0], (numbers(4000),)


def dit():
    diffusers = pytest.importorskip("diffusers")
    sizes = {"num_attention_heads": 4, "attention_head_dim": 16, "in_channels": 4, "out_channels": 8, "sample_size": 8,
             "patch_size": 2, "num_layers": DEPTH, "num_embeds_ada_norm": 10}  # fmt: skip
    ours = replace(
        find_network("dit-xl-2").configuration, depth=DEPTH, hidden=64, heads=4, feed_forward=256, side=8, classes=11
    )
    call = lambda net, latent, step, kind: net(latent, timestep=step, class_labels=kind).sample  # noqa: E731
    given = (numbers(4, 8, 8), ids(1)[:, 0], ids(1)[:, 0])
    return ours, ours.table(BATCH), built(lambda: diffusers.DiTTransformer2DModel(**sizes)), call, given


def sdxl():
    diffusers = pytest.importorskip("diffusers")
    attends = {"addition_embed_type": "text_time", "addition_time_embed_dim": 8, "use_linear_projection": True}
    sizes = attends | {
        "sample_size": 16, "block_out_channels": (32, 64, 96), "layers_per_block": 2, "cross_attention_dim": 48,
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        "up_block_types": ("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"), "norm_num_groups": 8,
        "transformer_layers_per_block": (1, 1, 2), "attention_head_dim": (2, 4, 6),
        "projection_class_embeddings_input_dim": 6 * 8 + 40,
    }  # fmt: skip
    ours = replace(
        find_network("sdxl-unet").configuration, channels=32, multipliers=(1, 2, 3), depths=(1, 2), head_size=16,
        side=16, text=48, text_tokens=7, vector=88, frequencies=8,
    )  # fmt: skip

    def call(net, latent, step, text, pooled, sizes):
        return net(latent, step, text, added_cond_kwargs={"text_embeds": pooled, "time_ids": sizes}).sample

    given = (numbers(4, 16, 16), numbers(), numbers(7, 48), numbers(40), numbers(6))
    return ours, ours.table(BATCH), built(lambda: diffusers.UNet2DConditionModel(**sizes)), call, given


def stable_diffusion(more, **ours):
    """Of versions 1 and 2: the last of four levels does not attend, and nothing is told but time and text."""
    diffusers = pytest.importorskip("diffusers")
    attends = ("CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D")
    sizes = {
        "sample_size": 16, "block_out_channels": (32, 64, 96, 96), "layers_per_block": 2, "cross_attention_dim": 48,
        "down_block_types": attends, "norm_num_groups": 8,
        "up_block_types": tuple(one.replace("Down", "Up") for one in reversed(attends)),
    } | more  # fmt: skip
    told = {"vector": 0, "sizes": 0, "frequencies": 0, "text": 48, "text_tokens": 7}
    levels = {"multipliers": (1, 2, 3, 3), "depths": (1, 1, 1), "lowest": 1, "middle": 1}
    net = replace(find_network("sdxl-unet").configuration, channels=32, side=16, **levels, **told, **ours)
    saved = json.loads(diffusers.UNet2DConditionModel(**sizes).to_json_string())
    read = ARCHITECTURES["UNet2DConditionModel"](Config(net.name, saved))
    assert replace(read, text_tokens=7) == net
    given = (numbers(4, 16, 16), numbers(), numbers(7, 48))
    call = lambda net, latent, step, text: net(latent, step, text).sample  # noqa: E731
    return net, net.table(BATCH), built(lambda: diffusers.UNet2DConditionModel(**sizes)), call, given


def sd1():
    return stable_diffusion({"attention_head_dim": 4}, head_size=0, heads=4, linear=False)


def sd2():
    more = {"attention_head_dim": (2, 4, 6, 6), "use_linear_projection": True}
    return stable_diffusion(more, head_size=16)


MADE = {one.__name__: one for one in (clip, llava, sam, wav2vec2, dit, sdxl, sd1, sd2)}

# ---- captured names, and the rows of ours that they belong to; the first that fits counts

LAYER = [
    (r"layer_norm1$", "attention_norm"),
    (r"(q|k|v)_proj$|attn\.qkv$", "qkv"),
    (r"attn\.attention$|attention\.attention$", "attention"),
    (r"attn\.proj$|out_proj$", "attention_out"),
    (r"layers\.\d\.add$", "attention_add"),
    (r"layer_norm2$", "feed_forward_norm"),
    (r"fc1$|lin1$|intermediate_dense$", "up"),
    (r"activation_fn|mlp\.act$|intermediate_act_fn$", "activation"),
    (r"fc2$|lin2$|output_dense$", "down"),
    (r"layers\.\d\.add@2$", "feed_forward_add"),
]
TOWER = [
    (r"patch_embedding$", "patches"),
    (r"embeddings\.cat$", "class_token"),
    (r"token_embedding$", "embedding"),
    (r"embeddings\.add$", "positions_add"),
    (r"pre_layrnorm$", "embedding_norm"),
    *LAYER,
    (r"post_layernorm$|final_layer_norm$", "norm"),
    (r"(visual|text)_projection$", "head"),
]
NOTHING = ""
"""Of rows that no row here stands for; the reasons are above."""


def of_clip(name):
    beside = {
        "image_length": r"network\.(pow|sum|pow@2)$", "image_unit": r"network\.div$", "text_unit": r"network\.div@2$",
        "text_length": r"network\.(pow@[34]|sum@2)$", "similarity": r"network\.matmul$", "scaled": r"network\.mul$",
        NOTHING: r"text_model\.(eq|argmax|index)$",
    }  # fmt: skip
    found = next((ours for ours, pattern in beside.items() if re.search(pattern, name)), None)
    return found if found is not None else ("text_" if "text" in name else "image_") + first(TOWER, name)


def of_llava(name):
    if "vision_tower" in name:
        return "image_" + first(TOWER, name)
    if "projector" in name:
        return first([("linear_1", "projector_1"), ("act", "projector_gelu"), ("linear_2", "projector_2")], name)
    products = [("(q|k|v)_proj$", "qkv"), ("o_proj$", "attention_out"), ("(gate|up)_proj$", "gate_up"),
                ("down_proj$", "down"), ("lm_head$", "head"), ("", NOTHING)]  # fmt: skip
    return first(products, name)


def of_sam(name):
    found = [
        (r"patch_embed", "patches"), (r"encoder\.add$", "positions_add"), (r"neck\.conv1", "neck1"),
        (r"neck\.layer_norm1", "neck1_norm"), (r"neck\.conv2", "neck2"), (r"neck\.layer_norm2", "neck2_norm"),
        (r"\.pad$", "pad"), (r"matmul$", "distance_height"), (r"matmul@2$", "distance_width"),
        (r"attn\.add$", "distance_add"), *LAYER,
    ]  # fmt: skip
    return {"0": "window_", "1": "global_"}.get("".join(re.findall(r"layers\.(\d)", name)), "") + first(found, name)


def of_wav2vec2(name):
    if place := re.search(r"conv_layers\.(\d)\.(\w+)", name):
        return f"conv{place[1]}" + {"conv": "", "layer_norm": "_norm", "activation": "_gelu"}[place[2]]
    found = [
        (r"projection\.layer_norm", "features_norm"), (r"projection\.projection", "features"),
        (r"conv1d", "positions"), (r"embed\.activation", "positions_gelu"), (r"encoder\.add$", "positions_add"),
        (r"encoder\.layer_norm", "norm"), (r"final_layer_norm", "feed_forward_norm"),
        (r"\d\.layer_norm", "attention_norm"), *LAYER,
    ]  # fmt: skip
    return first(found, name)


def of_dit(name):
    return first([
        (r"pos_embed\.proj", "patches"), (r"pos_embed\.add", "positions_add"), (r"time_proj", "time_waves"),
        (r"linear_1", "time_1"), (r"embedder\.act", "time_silu"), (r"linear_2", "time_2"),
        (r"embedding_table", "class"), (r"emb\.add", "condition_add"), (r"norm1\.silu", "silu"),
        (r"norm1\.linear", "modulation"), (r"norm1\.norm", "attention_norm"), (r"norm1\.", "attention_modulated"),
        (r"to_(q|k|v)", "qkv"), (r"attn1\.attention", "attention"), (r"to_out", "attention_out"), (r"div", NOTHING),
        (r"\d\.(mul|add)$", "attention_add"), (r"norm3", "feed_forward_norm"),
        (r"\d\.(add@2|mul@2|add@3)$", "feed_forward_modulated"), (r"\d\.(mul@3|add@4)$", "feed_forward_add"),
        (r"net\.0\.proj", "up"), (r"net\.0\.gelu", "activation"), (r"net\.2", "down"), (r"network\.silu", "last_silu"),
        (r"proj_out_1", "last_modulation"), (r"norm_out", "last_norm"), (r"proj_out_2", "head"),
        (r"network\.(add|mul|add@2)$", "last_modulated"),
    ], name)  # fmt: skip


def of_unet(name, top=2):
    where = re.search(r"(down|mid|up)_blocks?\.((\d)\.)?((resnets|attentions)\.(\d))?", name)
    if where is None:
        return first(AROUND, name)
    level = {"down": f"down{where[3]}_", "mid": "middle_", "up": f"up{top - int(where[3] or 0)}_"}[where[1]]
    joined = re.search(r"\.cat(?:@(\d))?$", name)
    place = f"{int(joined[1] or 1) - 1}_" if joined else f"{where[6]}_" if where[6] else ""
    rows = {"resnets": OF_BLOCK, "attentions": OF_TRANSFORMER, None: OF_LEVEL}[where[5]]
    found = first([(r"\.div$", NOTHING), *rows], name)
    return found and f"{level}{place}{found}"


AROUND = [
    (r"add_time_proj", "size_waves"), (r"time_proj", "time_waves"), (r"time_embedding\.linear_1", "time_1"),
    (r"time_embedding\.act", "time_silu"), (r"time_embedding\.linear_2", "time_2"), (r"network\.cat", "vector"),
    (r"add_embedding\.linear_1", "vector_1"), (r"add_embedding\.act", "vector_silu"),
    (r"add_embedding\.linear_2", "vector_2"), (r"network\.add", "time_add"), (r"conv_in", "conv_in"),
    (r"conv_norm_out", "out_norm"), (r"conv_act", "out_silu"), (r"conv_out", "conv_out"),
]  # fmt: skip
OF_LEVEL = [(r"cat", "joined"), (r"downsamplers", "halved"), (r"upsample_nearest", "doubled"), (r"", "doubled_conv")]
OF_BLOCK = [
    (r"norm1$", "1_norm"), (r"nonlinearity$", "1_silu"), (r"conv1$", "conv1"), (r"nonlinearity@2$", "said_silu"),
    (r"time_emb_proj$", "said"), (r"\.add$", "said_add"), (r"norm2$", "2_norm"), (r"nonlinearity@3$", "2_silu"),
    (r"conv2$", "conv2"), (r"conv_shortcut$", "shortcut"), (r"\.add@2$", "add"),
]  # fmt: skip
OF_TRANSFORMER = [
    (r"attentions\.\d\.norm$", "in_norm"), (r"proj_in$", "in"), (r"blocks\.\d\.norm1$", "self_norm"),
    (r"attn1\.to_(q|k|v)$", "qkv"), (r"attn1\.attention$", "self_attention"), (r"attn1\.to_out", "self_out"),
    (r"blocks\.\d\.add$", "self_add"), (r"norm2$", "text_norm"), (r"attn2\.to_q$", "text_query"),
    (r"attn2\.to_(k|v)$", "text_kv"), (r"attn2\.attention$", "text_attention"), (r"attn2\.to_out", "text_out"),
    (r"blocks\.\d\.add@2$", "text_add"), (r"norm3$", "feed_forward_norm"), (r"net\.0\.proj$", "gate_up"),
    (r"net\.0\.(gelu|mul)$", "activation"), (r"net\.2$", "down"), (r"blocks\.\d\.add@3$", "feed_forward_add"),
    (r"proj_out$", "out"), (r"attentions\.\d\.add$", "out_add"),
]  # fmt: skip
PATTERNS = {"clip": of_clip, "llava": of_llava, "sam": of_sam, "wav2vec2": of_wav2vec2, "dit": of_dit, "sdxl": of_unet,
            "sd1": partial(of_unet, top=3), "sd2": partial(of_unet, top=3)}  # fmt: skip
CAPTURED = captures(PATTERNS, quick=("wav2vec2",))


def first(patterns, name):
    return next(ours for pattern, ours in patterns if re.search(pattern, name))


@cache
def captured(name):
    """(ours, our rows by name, sums of theirs by our names, their parameters)."""
    ours, work, network, call, given = MADE[name]()
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        if name == "llava":  # what it checks depends on the data
            patch.setattr("transformers.models.llava.modeling_llava.torch_compilable_check", lambda *_args: None)
        if name == "dit":  # an einsum of one operand changes the order of axes
            patch.setattr("torch.einsum", lambda _equation, patches: patches.permute(0, 5, 1, 3, 2, 4))
        theirs = list(capture(Called(network, call).eval(), Example(given, BATCH), "theirs", "unproved").rows())
    sums = defaultdict(lambda: [0, 0, 0, 0])
    for row in theirs:
        for column, value in enumerate((row.macs, row.other_ops, row.elements_weight, row.elements_out)):
            sums[PATTERNS[name](row.name)][column] += value
    return ours, {row.name: row for row in work.rows()}, sums, sum(one.numel() for one in network.parameters())


@pytest.mark.parametrize("name", CAPTURED)
def test_parameters_are_those_that_the_libraries_make(name):
    ours, _, _, parameters = captured(name)
    more = 0
    if name == "dit":  # an embedder of time and class in each block; positions are not among its parameters
        products = ours.frequencies * ours.hidden + ours.hidden**2 + 2 * ours.hidden
        more = (DEPTH - 1) * (products + ours.classes * ours.hidden) - ours.tokens * ours.hidden
    assert ours.parameters + more == parameters


@pytest.mark.parametrize("name", CAPTURED)
def test_every_row_has_its_counterpart(name):
    _, ours, theirs, _ = captured(name)
    if name == "llava":  # of its decoder the products
        ours = {key for key, row in ours.items() if key.startswith(("image_", "projector_")) or row.kind == "linear"}
    assert set(theirs) - {NOTHING} == set(ours)


@pytest.mark.parametrize("name", CAPTURED)
def test_rows_agree_or_differ_as_told(name):
    net, ours, theirs, _ = captured(name)
    for key, row in ours.items():
        mine, other = [row.macs, row.other_ops, row.elements_weight, row.elements_out], theirs.get(key)
        if other is None:
            continue
        if row.kind == "causal_attention":  # 1 to 6 keys of 6, 3.5 on average, so 4; a mask for each score
            assert [mine[0] * NEW, mine[1] * NEW * 7] == [other[0] * 4, other[1] * 4 * 6]
        elif row.kind == "attention" and name == "wav2vec2":
            assert [mine[0], mine[1] * 7, mine[3]] == [other[0], other[1] * 6, other[3]]
        elif row.kind == "sin":
            times = DEPTH + 1 if name == "dit" else 1
            assert mine[1] * times * 4 == other[1] * 3
        elif name == "dit" and key in ("time_1", "time_silu", "time_2", "class", "condition_add"):
            assert [value * (DEPTH + 1) for value in mine] == other
        elif row.kind in ("addcmul", "vector_norm", "glu") or (
            key.endswith("activation") and name in ("clip", "llava")
        ):
            assert mine[:3] == other[:3]
        else:
            assert mine == other, key
    assert net.parameters > 0
