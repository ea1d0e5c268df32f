"""Op tables of configurations against captures of what `transformers` builds from the same ones, on the meta device.

A captured row belongs to one of ours (`OURS`) and nothing is left over. Products, weights and results are equal; where
the two count differently, the difference is computed here from the configuration, with its reason:

- Queries, keys and values are one product here and three there; gate and up are one and two.
- A norm is one op of NORM_OPS an element here, and six rows there.
- Rotating counts 3 op an element here; there the half that changes its sign is one more op for every second element.
- Causal attention counts the scores that are needed here; there it is the whole square, with a mask for each score.
- Heads that share keys read them once here; there they are repeated before.
- Experts that no token hits are not read here; the grouped product there has the weights of all. Dealing rows to
  experts is not among the rows, and how scores become experts is not compared: each model has its own way, of few ops.
- Appending to the cache writes the new tokens here; there the whole cache is copied.
- Llama 4 sends every token through every expert there, most of them times zero, and scales queries of layers that do
  not rotate; its norms of queries and keys have no weights.
- Gemma scales its embedding; gpt-oss clamps what it activates, adds one, and adds biases to rows of experts; its sinks
  are one score and one parameter a head more.
"""

import re
import warnings
from collections import defaultdict
from functools import cache

import pytest

torch = pytest.importorskip("torch")
from rooflint.workloads.capture.torchvision_networks import import_torchvision  # noqa: E402

import_torchvision()  # transformers imports it, and fails where its operators do not load
transformers = pytest.importorskip("transformers")

from tests.torch.conftest import captures  # noqa: E402

from rooflint.workloads.capture.trace import Example, capture  # noqa: E402
from rooflint.workloads.configuration import keys_seen  # noqa: E402
from rooflint.workloads.huggingface import transformer_of  # noqa: E402
from rooflint.workloads.ops import NORM_OPS  # noqa: E402
from rooflint.workloads.transformer import Step, hit_experts, table  # noqa: E402

BATCH, NEW, PAST = 2, 6, 7
LAYERS = 4

SIZES = {
    "hidden_size": 64, "num_hidden_layers": LAYERS, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 96, "vocab_size": 256, "max_position_embeddings": 128,
}  # fmt: skip
LATENT = {
    "num_key_value_heads": 4, "q_lora_rank": 24, "kv_lora_rank": 20, "qk_nope_head_dim": 12, "qk_rope_head_dim": 8,
    "v_head_dim": 16, "first_k_dense_replace": 1, "n_routed_experts": 8, "n_group": 2, "topk_group": 1,
    "n_shared_experts": 1,
}  # fmt: skip
SLIDING = {"sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"] * 2}
ROUTED = {"num_local_experts": 8, "num_experts_per_tok": 2}

CONFIGURATIONS = {
    "LlamaConfig": {},
    "MistralConfig": {"sliding_window": None},
    "Qwen2Config": {},
    "Qwen3Config": {"head_dim": 32},
    "Phi3Config": {"pad_token_id": 0, "sliding_window": None},
    "Gemma3TextConfig": SLIDING | {"head_dim": 32},
    "MixtralConfig": ROUTED | {"sliding_window": None},
    "Qwen3MoeConfig": {"head_dim": 32, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 48},
    "Llama4TextConfig": ROUTED | {
        "intermediate_size_mlp": 160, "head_dim": 32, "interleave_moe_layer_step": 2, "num_experts_per_tok": 1,
        "attention_chunk_size": 4, "pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0,
    },
    "GptOssConfig": ROUTED | SLIDING | {"head_dim": 32},
    "DeepseekV3Config": LATENT | {"num_experts_per_tok": 2, "moe_intermediate_size": 48},
}  # fmt: skip
QUICK = ("LlamaConfig", "DeepseekV3Config")
CAPTURED = captures(CONFIGURATIONS, QUICK)

AT = r"layers\.\d+\.self_attn\."
FED = r"layers\.\d+\.mlp\."
DEALT = ("sort", "floor_divide", "index", "histc", "cumsum", "index_put")
#: A pattern of a captured name, and the row of ours that it belongs to; the first that fits counts.
OURS = [
    (r"embed_tokens$", "embedding"),
    (r"embed_tokens@2", "scaled embedding"),
    (r"lm_head", "head"),
    (AT + r"(q_proj|k_proj|v_proj|qkv_proj)", "qkv"),
    (AT + r"(q_a_proj|kv_a_proj_with_mqa)", "qkv_down"),
    (AT + r"q_b_proj", "query_up"),
    (AT + r"kv_b_proj", "kv_up"),
    (AT + r"(q_norm|q_a_layernorm)", "query_norm"),
    (AT + r"k_norm", "key_norm"),
    (AT + r"kv_a_layernorm", "kv_norm"),
    (AT + r"o_proj", "attention_out"),
    (AT + r"(attention|matmul|softmax|max)", "attention"),
    (AT + r"(copy|cat)", "moved"),
    (AT, "rope"),
    (r"layers\.\d+\.add$", "attention_add"),
    (r"layers\.\d+\.add@2$", "feed_forward_add"),
    (r"layers\.\d+\.input_layernorm", "attention_norm"),
    (r"layers\.\d+\.pre_feedforward_layernorm", "feed_forward_norm"),
    (r"layers\.\d+\.post_feedforward_layernorm", "feed_forward_post_norm"),
    (FED + r"(gate|router)$", "router"),
    (FED + r"(gate|router)@", "scores of experts"),
    (FED + r"(gate_proj|up_proj|gate_up_proj)", "gate_up"),
    (FED + r"(act_fn|activation_fn|mul)", "activation"),
    (FED + r"down_proj", "down"),
    (FED + r"add$", "shared_add"),
    (FED + r"shared_experts\.(gate_proj|up_proj)", "shared_gate_up"),
    (FED + r"shared_experts\.(act_fn|activation_fn|mul)", "shared_activation"),
    (FED + r"shared_experts\.down_proj", "shared_down"),
    (r"\.norm(@\d)?$", "norm"),
]
NOT_OURS = {"scaled embedding", "scaled queries", "moved", "scores of experts", "dealt", "repeat"}
"""Groups that no row of ours stands for; the reasons are above."""
NOT_THEIRS = {"cache", "router_softmax", "router_topk"}


class Prompt(torch.nn.Module):
    """Logits of the last of some tokens."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, tokens):
        return self.network(input_ids=tokens, use_cache=False, logits_to_keep=1).logits


class NextToken(Prompt):
    """Logits of one token after those in a cache: keys and values of each layer in turn."""

    def forward(self, tokens, *cached):
        pairs = list(zip(cached[::2], cached[1::2], strict=True))
        kept = transformers.DynamicCache(pairs)
        return self.network(input_ids=tokens, past_key_values=kept, use_cache=True, logits_to_keep=1).logits


def built(name, **more):
    """The configuration as `transformers` has it, and its network on the meta device."""
    configuration = getattr(transformers, name)(**(SIZES | CONFIGURATIONS[name] | more))
    kind = "eager" if name == "GptOssConfig" else "sdpa"  # its sinks have no other form
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        network = transformers.AutoModelForCausalLM.from_config(
            configuration, dtype=torch.bfloat16, attn_implementation=kind
        )
    return configuration, network.eval()


def traced(wrapped, *inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(capture(wrapped.eval(), Example(inputs, BATCH), "theirs", "unproved").rows())


@cache
def captured(name):
    """(the configuration as ours, captured rows, parameters) of a prompt."""
    configuration, network = built(name)
    rows = traced(Prompt(network), torch.zeros(BATCH, NEW, dtype=torch.long, device="meta"))
    parameters = sum(one.numel() for one in network.parameters())
    return transformer_of(name, configuration.to_dict()), rows, parameters


def place(row, net):  # noqa: PLR0911
    """The row of ours that a captured row belongs to."""
    if net.chunked:
        row = row._replace(name=row.name.replace("feed_forward.", "mlp.").replace("shared_expert.", "shared_experts."))
        if special := of_llama4(row, net):
            return special
    if ".mlp.experts" in row.name:
        if row.kind == "experts":
            return "experts_gate_up" if row.k == net.hidden else "experts_down"
        if row.kind in DEALT or (row.kind == "add" and row.elements_in == 2 * row.elements_out):
            return "dealt"
        results = BATCH * NEW * net.hidden
        summed_up = row.elements_out in (results, results * net.experts.per_token)
        return "experts_sum" if summed_up else "experts_activation"
    if "post_attention_layernorm" in row.name:
        return "attention_post_norm" if net.post_norms else "feed_forward_norm"
    if net.experts and re.search(AT + r"(mul@9|add@3|cat@3|sub@3)$", row.name) and net.experts.bias:
        return "attention"  # scale, mask, sink and maximum of gpt-oss
    return next(ours for pattern, ours in OURS if re.search(pattern, row.name))


def of_llama4(row, net):
    """The row of ours, where no pattern says it."""
    all_experts = BATCH * NEW * net.hidden * net.experts.count
    if ".mlp.experts.matmul" in row.name:
        return "experts_gate_up" if row.k == net.hidden else "experts_down"
    if ".mlp.experts" in row.name:
        return "experts_activation"
    if row.kind in ("repeat", "sum") or (row.kind == "mul" and row.elements_out == all_experts):
        return "experts_sum" if row.kind == "sum" else "dealt"
    if ".qk_norm" in row.name:
        return "query_norm" if row.name[-2:] in ("rm", "@2", "@3", "@4", "@5") else "key_norm"
    return "scaled queries" if row.name.endswith("layers.3.self_attn.mul") else None


def summed(rows, name_of):
    """Rows added up by group: macs, other_ops, elements_weight, elements_out."""
    found = defaultdict(lambda: [0, 0, 0, 0])
    for row in rows:
        group = found[name_of(row)]
        for column, value in enumerate((row.macs, row.other_ops, row.elements_weight, row.elements_out)):
            group[column] += value
    return found


@pytest.mark.parametrize("name", CAPTURED)
def test_parameters_are_those_that_transformers_makes(name):
    net, _, parameters = captured(name)
    sinks = LAYERS * net.heads if name == "GptOssConfig" else 0
    assert net.parameters + sinks == parameters


@pytest.mark.parametrize("name", CAPTURED)
def test_every_row_has_its_counterpart(name):
    net, theirs, _ = captured(name)
    groups = {place(row, net) for row in theirs} - NOT_OURS
    rows = {row.name.replace("window_attention", "attention") for row in table(net, BATCH, NEW).rows()} - NOT_THEIRS
    assert groups == rows


@pytest.mark.parametrize("name", CAPTURED)
def test_products_have_the_same_arithmetic_weights_and_results(name):
    net, theirs, _ = captured(name)
    there = summed(theirs, lambda row: place(row, net))
    here = summed(table(net, BATCH, NEW).rows(), lambda row: row.name)
    products = [row.name for row in table(net, BATCH, NEW).rows() if row.kind == "linear"]
    assert {"attention_out", "head"} < set(products)
    for product in products:
        assert [here[product][column] for column in (0, 2, 3)] == [there[product][column] for column in (0, 2, 3)]


@pytest.mark.parametrize("name", CAPTURED)
def test_causal_attention_is_the_part_of_the_square_that_is_seen(name):
    net, theirs, _ = captured(name)
    there = summed(theirs, lambda row: place(row, net))["attention"][0]
    here = sum(row.macs for row in table(net, BATCH, NEW).rows() if row.kind == "causal_attention")
    depth = net.latent.nope_size + net.latent.rope_size + net.latent.value_size if net.latent else 2 * net.head_size
    heads, full = BATCH * net.heads, LAYERS - net.window_layers
    in_window = keys_seen(NEW, 0, net.window, chunked=net.chunked)
    seen = full * -(-keys_seen(NEW, 0) // NEW) + net.window_layers * -(-in_window // NEW)
    assert there == LAYERS * heads * depth * NEW * NEW
    assert here == heads * depth * NEW * seen


@pytest.mark.parametrize("name", CAPTURED)
def test_other_arithmetic_is_the_same_or_differs_as_told(name):
    net, theirs, _ = captured(name)
    there, here = summed(theirs, lambda row: place(row, net)), table(net, BATCH, NEW).rows()
    for row in here:
        if row.kind == "rms_norm":
            lines = row.elements_out // (row.elements_weight // row.repeats or net.head_size)
            assert row.other_ops == NORM_OPS * row.elements_out
            # square, times the root, times the weight; epsilon and root of each line; the mean rides along
            weighted = row.elements_weight > 0
            assert there[row.name][1] == (2 + weighted) * row.elements_out + 2 * lines
            assert there[row.name][2] == row.elements_weight
        elif row.kind == "rope":
            halves = there["rope"][1] / row.elements_out  # by halves with a change of sign, or in pairs without
            assert (row.other_ops, halves) in {(3 * row.elements_out, 3.5), (3 * row.elements_out, 3.0)}
        elif net.chunked and row.name == "experts_activation":
            assert there[row.name][1] * net.experts.per_token == row.other_ops * net.experts.count
        elif (
            net.chunked and row.name == "experts_sum"
        ):  # scaled before the experts there, and added up over all of them
            assert there[row.name][1] * 2 * net.experts.per_token == row.other_ops * net.experts.count
        elif row.kind in ("add", "glu", "sum"):
            clamps = 5 * row.elements_out if name == "GptOssConfig" and row.kind == "glu" else 0
            assert there[row.name][1] == row.other_ops + clamps


@pytest.mark.parametrize(
    "name",
    captures((name for name in CONFIGURATIONS if "Mo" in name or "Mix" in name or "Os" in name or "4" in name), QUICK),
)
def test_grouped_products_are_tokens_times_experts_of_a_token(name):
    net, theirs, _ = captured(name)
    there, here = (
        summed(theirs, lambda row: place(row, net)),
        summed(table(net, BATCH, NEW).rows(), lambda row: row.name),
    )
    hit = hit_experts(BATCH * NEW, net.experts)
    for product in ("experts_gate_up", "experts_down"):
        dealt = net.experts.count // net.experts.per_token if net.chunked else 1
        assert here[product][0] * dealt == there[product][0]
        biases = net.experts.bias * net.experts.count * (here[product][3] // (BATCH * NEW * net.experts.per_token))
        # theirs reads all experts, and adds biases in rows of their own; one a layer
        assert here[product][2] * net.experts.count == (there[product][2] + biases) * hit


def test_a_step_of_decode_attends_to_the_same_cache():
    configuration, network = built("LlamaConfig")
    net = transformer_of("llama", configuration.to_dict())
    sizes = (BATCH, net.kv_heads, PAST, net.head_size)
    cached = [torch.empty(sizes, dtype=torch.bfloat16, device="meta") for _ in range(2 * LAYERS)]
    tokens = torch.zeros(BATCH, 1, dtype=torch.long, device="meta")
    theirs = [row for row in traced(NextToken(network), tokens, *cached) if row.kind == "attention"]
    (ours,) = (row for row in table(net, BATCH, 1, [Step(PAST)]).rows() if row.name == "attention")
    assert len(theirs) == ours.repeats == LAYERS
    one = theirs[0]
    assert (one.m, one.n, one.k, one.groups) == (ours.m, ours.n, ours.k, ours.groups)
    # six ops a score, and one for its mask
    assert 6 * sum(row.other_ops for row in theirs) == 7 * ours.other_ops
    # each head of keys is read by two of queries: here once, there twice
    queries = BATCH * net.heads * net.head_size
    keys = 2 * BATCH * net.kv_heads * net.head_size * (PAST + 1)
    assert ours.elements_in == LAYERS * (queries + keys)
    assert one.elements_in == queries + 2 * keys


# ---- encoders

IMAGE = {"image_size": 64, "patch_size": 16, "projection_dim": 24, "hidden_act": "quick_gelu"}
ENCODERS = {
    "BertModel": ("BertConfig", SIZES, (BATCH, NEW)),
    "CLIPVisionModelWithProjection": ("CLIPVisionConfig", SIZES | IMAGE, (BATCH, 3, 64, 64)),
}


@cache
def encoded(name):
    """(the configuration as ours, our rows, captured rows, parameters) of an encoder."""
    kind, sizes, shape = ENCODERS[name]
    configuration = getattr(transformers, kind)(**sizes)
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        configuration._attn_implementation = "sdpa"
        network = getattr(transformers, name)(configuration).eval().to(torch.bfloat16)
        given = torch.zeros(shape, dtype=torch.long if len(shape) == 2 else torch.bfloat16)
    net = transformer_of(name, configuration.to_dict())
    rows = traced(First(network), given)
    ours = list(table(net, BATCH, net.context if net.encoder.image else NEW).rows())
    return net, ours, rows, sum(one.numel() for one in network.parameters())


class First(Prompt):
    """What an encoder makes of the first token."""

    def forward(self, given):
        found = self.network(given)
        return found.image_embeds if hasattr(found, "image_embeds") else found.pooler_output


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_have_the_parameters_that_transformers_makes(name):
    net, _, _, parameters = encoded(name)
    assert net.parameters == parameters


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_compute_the_same_by_kind_of_op(name):
    _, ours, theirs, _ = encoded(name)
    here, there = (summed(rows, lambda row: row.kind) for rows in (ours, theirs))
    for kind in ("linear", "layer_norm", "conv2d"):
        assert here[kind] == there[kind]
    # BERT is given a mask that hides nothing: one more op a score
    masked = 7 if name == "BertModel" else 6
    assert here["attention"][0] == there["attention"][0]
    assert masked * here["attention"][1] == 6 * there["attention"][1]
    # quick GELU is three rows there: times 1.702, sigmoid, times x
    activations = ("gelu", "sigmoid", "mul") if name.startswith("CLIP") else ("gelu",)
    assert here["gelu"][1] == sum(there[kind][1] for kind in activations)
    assert here["tanh"] == there["tanh"]


@pytest.mark.parametrize("name", ENCODERS)
def test_what_encoders_add_differs_in_constants_alone(name):
    net, ours, theirs, _ = encoded(name)
    here, there = (summed(rows, lambda row: row.kind)["add"][1] for rows in (ours, theirs))
    assert here == there
    assert {row.kind for row in theirs} - {row.kind for row in ours} <= {"mul", "sigmoid", "index", "gather"}
    assert net.encoder is not None
