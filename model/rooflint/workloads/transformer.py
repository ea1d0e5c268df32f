"""Transformers: the op table of a configuration for any batch, new tokens and past tokens, without a capture.

    table(llama, batch=8, new=2048)                      # prefill: a prompt of 2048 tokens for each of 8 sequences
    table(llama, batch=8, new=1, steps=[Step(2048)])     # one step of decode, on a cache of 2048 tokens each

Layers of one shape are one row that repeats, so that 126 layers cost no more than 16. Rows are the kernels of an
inference engine: queries, keys and values are one product, and so are gate and up; the head sees the last new token of
each sequence. docs/method-networks.md has the formulas.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from rooflint.workloads.configuration import Encoder, Experts, Image, Latent, Transformer, keys_seen
from rooflint.workloads.flow import INPUT, Flow, Role, Roles, Share
from rooflint.workloads.ops import ELEMENTWISE, GELU_OPS, NORM_OPS, ROWWISE, SOFTMAX_OPS, Op, Tokens, Window
from rooflint.workloads.workload import Workload, WorkloadError

ACTIVATION_OPS = {
    **{name: ELEMENTWISE[name] for name in ("silu", "relu")},
    "gelu": GELU_OPS["none"],
    "gelu_tanh": GELU_OPS["tanh"],
    "quick_gelu": 1 + ELEMENTWISE["sigmoid"] + 1,  # x · sigmoid(1.702 x)
}
"""An element."""

ROPE_OPS = ROWWISE["rope"]


class Step(NamedTuple):
    """A pass through the network."""

    past: int
    """Tokens of each sequence in the cache."""
    times: int = 1
    """How often it runs."""


MOST_STEPS = 32
"""Lengths of the cache for which decode has a row of its own; a longer run takes the mean of neighbours, rounded up."""


def decode_steps(past: int, count: int) -> list[Step]:
    """As many tokens one by one, the first of them on a cache of that length."""
    parts = min(count, MOST_STEPS)
    edges = [past + place * count // parts for place in range(parts + 1)]
    return [Step(-(-(first + last - 1) // 2), last - first) for first, last in pairwise(edges)]


def table(
    net: Transformer, batch: int = 1, new: int = 1, steps: Sequence[Step] = (Step(0),), *, every: bool = False
) -> Workload:
    """The ops of `new` tokens for each of `batch` sequences, in each of the steps; counts are of all steps.

    With `every` the head sees every new token, as in training; otherwise the last one of each sequence.
    Raises WorkloadError for more tokens than the network has a context for.
    """
    if net.encoder:
        return _encoder_table(net, net.encoder, batch, new, steps)
    most = max(step.past for step in steps) + new
    if most > net.context:
        raise WorkloadError(f"{net.name}: want at most {net.context} tokens, its context; found {most}")
    rows = _Rows(batch * new, sum(step.times for step in steps))
    last = _embedding(rows, net)
    last = _layers(rows, net, last, _Pass(batch, new, steps))
    last = _normed(rows, net, "norm", last, 1)
    _head(rows, net, last, batch * new if every else batch)
    cache = batch * net.cache_elements(most)
    roles = Roles(tuple(rows.roles), net.shares)
    flow = Flow(tuple(rows.reads), (len(rows.ops) - 1,), batch * new, net.parameters, cache, roles)
    tokens = Tokens(new, steps[0].past, rows.times)
    remake = partial(_at_batch, net, new, tuple(steps), every)
    return Workload.from_ops(net.name, rows.ops, batch, flow=flow, tokens=tokens, remake=remake)


def _at_batch(net: Transformer, new: int, steps: Sequence[Step], every: bool, batch: int) -> Workload:
    return table(net, batch, new, steps, every=every)


def _encoder_table(net: Transformer, encoder: Encoder, batch: int, new: int, steps: Sequence[Step]) -> Workload:
    """The ops of whole sequences, or of whole images."""
    if tuple(steps) != (Step(0),):
        raise WorkloadError(f"{net.name}: is an encoder, which keeps no cache; want no --past")
    if encoder.image and new != net.context:
        raise WorkloadError(f"{net.name}: has the {net.context} tokens of an image; want no --prompt")
    if new > net.context:
        raise WorkloadError(f"{net.name}: want at most {net.context} tokens, its context; found {new}")
    rows = _Rows(batch * new, 1)
    image = encoder.image
    last = _patches(rows, net, image, batch) if image else _words(rows, net, encoder)
    count = rows.tokens * net.hidden
    last = rows.add("positions_add", "add", [last], (count, new * net.hidden, count), 1, other_ops=count)
    if encoder.embedding_norm:
        last = _normed(rows, net, "embedding_norm", last, 1)
    last = _encoder_layers(rows, net, encoder, last, _Pass(batch, new, steps))
    _pooled(rows, net, encoder, last, batch)
    elements_input = batch * (image.channels * image.size**2 if image else new)
    roles = Roles(tuple(rows.roles), net.shares)
    flow = Flow(tuple(rows.reads), (len(rows.ops) - 1,), elements_input, net.parameters, roles=roles)
    remake, tokens = partial(_at_batch, net, new, tuple(steps), False), None if image else Tokens(new, 0)
    return Workload.from_ops(net.name, rows.ops, batch, flow=flow, tokens=tokens, remake=remake)


def hit_experts(tokens: int, experts: Experts) -> int:
    """Experts that are read for so many tokens, if each token chooses its own evenly: E · (1 − (1 − k/E)^tokens)."""
    missed = (1 - experts.per_token / experts.count) ** tokens
    most = min(experts.count, tokens * experts.per_token)
    return max(min(round(experts.count * (1 - missed)), most), experts.per_token)


# ---- Rows


class _Pass(NamedTuple):
    batch: int
    new: int
    steps: Sequence[Step]


WIDE_PRODUCTS = ("head", "router")
"""Products whose weights are in no part of a policy: checkpoints leave them in 16 bits."""


class _Rows:
    """Rows while they are collected; amounts are given of one run."""

    def __init__(self, tokens: int, times: int) -> None:
        self.tokens = tokens
        """New tokens of all sequences in a step."""
        self.times = times
        """Steps: each row runs once in each."""
        self.ops: list[Op] = []
        self.reads: list[tuple[int, ...]] = []
        self.roles: list[Role] = []

    def add(
        self,
        name: str,
        kind: str,
        reads: Sequence[int],
        elements: tuple[int, int, int],
        layers: int,
        *,
        other_ops: int = 0,
        shape: tuple[int, int, int, int] = (0, 0, 0, 0),
        times: int | None = None,
        window: tuple[int, ...] = (),
        role: Role | None = None,
    ) -> int:
        """A row that each of some layers has, `elements` (in, weight, out); returns its position."""
        runs = layers * (self.times if times is None else times)
        read, weights, written = (runs * count for count in elements)
        macs = runs * math.prod(shape)
        self.ops.append(Op(name, kind, macs, runs * other_ops, read, weights, written, *shape, window, runs))
        self.reads.append(tuple(sorted(reads)))
        self.roles.append(role.times(runs) if role else Role())
        return len(self.ops) - 1

    def linear(
        self, name: str, read: int, n: int, k: int, layers: int, *, bias: bool = False, rows: int | None = None
    ) -> int:
        """A product of each token with weights n × k."""
        m = self.tokens if rows is None else rows
        role = Role(Share("linear", n * k, n)) if name not in WIDE_PRODUCTS else None
        elements = (m * k, n * k + bias * n, m * n)
        return self.add(name, "linear", [read], elements, layers, shape=(m, n, k, 1), role=role)

    def each(
        self, name: str, kind: str, reads: Sequence[int], width: int, layers: int, ops: int, *, operands: int = 1
    ) -> int:
        """Arithmetic of so many ops an element on `width` elements of each token."""
        count = self.tokens * width
        return self.add(name, kind, reads, (operands * count, 0, count), layers, other_ops=ops * count)


def _embedding(rows: _Rows, net: Transformer) -> int:
    count = rows.tokens * net.hidden
    last = rows.add("embedding", "embedding", [INPUT], (count + rows.tokens, 0, count), 1)
    if net.positions == "learned" and not net.encoder:
        where = rows.add("positions", "embedding", [INPUT], (count + rows.tokens, 0, count), 1)
        last = rows.each("positions_add", "add", [last, where], net.hidden, 1, 1, operands=2)
    return last


def _layers(rows: _Rows, net: Transformer, last: int, run: _Pass) -> int:
    """All layers, as one that repeats: the residual stream between them has the size of what goes in here."""
    normed = _normed(rows, net, "attention_norm", last, net.layers)
    attended = _latent_attention(rows, net, normed, run) if net.latent else _attention(rows, net, normed, run)
    if net.post_norms:
        attended = _normed(rows, net, "attention_post_norm", attended, net.layers)
    if net.parallel:
        fed = _feed_forward(rows, net, normed)
        both = rows.each("parallel_add", "add", [attended, fed], net.hidden, net.layers, 1, operands=2)
        return rows.each("residual_add", "add", [last, both], net.hidden, net.layers, 1, operands=2)
    last = rows.each("attention_add", "add", [last, attended], net.hidden, net.layers, 1, operands=2)
    fed = _feed_forward(rows, net, _normed(rows, net, "feed_forward_norm", last, net.layers))
    if net.post_norms:
        fed = _normed(rows, net, "feed_forward_post_norm", fed, net.layers)
    return rows.each("feed_forward_add", "add", [last, fed], net.hidden, net.layers, 1, operands=2)


def _normed(
    rows: _Rows, net: Transformer, name: str, read: int, layers: int, width: int = 0, heads: int = 1, *,
    scaled: bool = True,
) -> int:  # fmt: skip
    """A norm over the hidden size, or over the width of each head, whose weights all heads share."""
    count = rows.tokens * (width := width or net.hidden) * heads
    weights = width * (2 if net.norm == "layer_norm" else 1) * scaled
    return rows.add(name, net.norm, [read], (count, weights, count), layers, other_ops=NORM_OPS * count)


def _head(rows: _Rows, net: Transformer, read: int, tokens: int) -> None:
    """Logits of some tokens."""
    rows.linear("head", read, net.vocabulary, net.hidden, 1, bias=net.head_bias, rows=tokens)


# ---- Encoders


def _words(rows: _Rows, net: Transformer, encoder: Encoder) -> int:
    last = _embedding(rows, net)
    if not encoder.token_types:
        return last
    count = rows.tokens * net.hidden
    kinds = rows.add("token_types", "embedding", [INPUT], (count + rows.tokens, 0, count), 1)
    return rows.each("token_types_add", "add", [last, kinds], net.hidden, 1, 1, operands=2)


def _patches(rows: _Rows, net: Transformer, image: Image, batch: int) -> int:
    """A convolution whose windows do not overlap, and the class token in front."""
    m, n, k = batch * image.patches, net.hidden, image.channels * image.patch**2
    side = image.size // image.patch
    elements = (batch * image.channels * image.size**2, n * k + image.patch_bias * n, m * n)
    window = Window(image.patch, image.patch, image.patch, 1, side, side)
    last = rows.add("patches", "conv2d", [INPUT], elements, 1, shape=(m, n, k, 1), window=window)
    return rows.add("class_token", "cat", [last], (m * n, n, rows.tokens * n), 1)


def _encoder_layers(rows: _Rows, net: Transformer, encoder: Encoder, last: int, run: _Pass) -> int:
    layers, before = net.layers, encoder.norm_first
    read = _normed(rows, net, "attention_norm", last, layers) if before else last
    biased = net.bias in ("attention", "all")
    whole = net.heads * net.head_size
    qkv = rows.linear("qkv", read, 3 * whole, net.hidden, layers, bias=biased or net.bias == "qkv")
    heads = run.batch * net.heads
    queries = rows.tokens * whole
    seen = -(-keys_seen(run.new, 0) // run.new) if encoder.causal else run.new
    attended = rows.add(
        "attention",
        "causal_attention" if encoder.causal else "attention",
        [qkv],
        (3 * queries, 0, queries),
        layers,
        other_ops=heads * run.new * seen * (1 + SOFTMAX_OPS),
        shape=(run.new, seen, 2 * net.head_size, heads),
    )
    out = rows.linear("attention_out", attended, net.hidden, whole, layers, bias=biased)
    last = rows.each("attention_add", "add", [last, out], net.hidden, layers, 1, operands=2)
    read = _normed(rows, net, "feed_forward_norm" if before else "attention_norm", last, layers)
    last, fed = (last if before else read), _feed_forward(rows, net, read)
    last = rows.each("feed_forward_add", "add", [last, fed], net.hidden, layers, 1, operands=2)
    return last if before else _normed(rows, net, "feed_forward_norm", last, layers)


def _pooled(rows: _Rows, net: Transformer, encoder: Encoder, last: int, batch: int) -> None:
    """What is made of one token of each sequence."""
    if encoder.last_norm == "all":
        last = _normed(rows, net, "norm", last, 1)
    if encoder.last_norm == "first":
        count = batch * net.hidden
        last = rows.add("norm", net.norm, [last], (count, 2 * net.hidden, count), 1, other_ops=NORM_OPS * count)
    if not encoder.pooled:
        return
    last = rows.linear("head", last, encoder.pooled, net.hidden, 1, bias=encoder.pooled_bias, rows=batch)
    if encoder.pooled_tanh:
        count = batch * encoder.pooled
        rows.add("head_activation", "tanh", [last], (count, 0, count), 1, other_ops=ELEMENTWISE["tanh"] * count)


# ---- Attention


def _attention(rows: _Rows, net: Transformer, read: int, run: _Pass) -> int:
    queries, keys = net.heads * net.head_size, net.kv_heads * net.head_size
    biased = net.bias in ("qkv", "attention", "all")
    last = rows.linear("qkv", read, queries + 2 * keys, net.hidden, net.layers, bias=biased)
    turned, scaled = net.rope_layers or net.layers, not net.rope_layers
    if net.query_key_norm:
        last = _normed(rows, net, "query_norm", last, turned, net.head_size, net.heads, scaled=scaled)
        last = _normed(rows, net, "key_norm", last, turned, net.head_size, net.kv_heads, scaled=scaled)
    if net.positions == "rope":
        width = (net.rotary or net.head_size) * (net.heads + net.kv_heads)
        last = rows.each("rope", "rope", [last], width, turned, ROPE_OPS)
    _cached(rows, net, last, 2 * keys)
    for kind, layers, window in _kinds_of_layers(net):
        attended = _attended(rows, net, last, run, kind, layers, window)
    return rows.linear(
        "attention_out", attended, net.hidden, queries, net.layers, bias=net.bias in ("attention", "all")
    )


def _cached(rows: _Rows, net: Transformer, read: int, width: int) -> None:
    """Keys and values of the new tokens, in the cache."""
    count = rows.tokens * width
    rows.add("cache", "copy", [read], (count, 0, count), net.layers, role=Role(cache_out=count))


def _kinds_of_layers(net: Transformer) -> Iterator[tuple[str, int, int]]:
    """(name, layers, window) of those that see everything, and of those that see a window."""
    if net.layers > net.window_layers:
        yield "attention", net.layers - net.window_layers, 0
    if net.window_layers:
        yield "window_attention", net.window_layers, net.window


def _attended(rows: _Rows, net: Transformer, read: int, run: _Pass, name: str, layers: int, window: int) -> int:
    """A row for each length of the cache; a layer reads keys and values once, however many tokens see them."""
    width, heads = 2 * net.head_size, run.batch * net.heads
    for step in run.steps:
        seen = keys_seen(run.new, step.past, window, chunked=net.chunked)
        held = step.past + run.new  # keys that some of the new tokens see
        if window:
            held = min(held, (step.past % window + 1 if net.chunked else window) + run.new - 1)
        mean = -(-seen // run.new)
        keys = run.batch * net.kv_heads * width * held
        queries = run.new * heads * net.head_size
        last = rows.add(
            _numbered(name, step, run),
            "attention" if run.new == 1 else "causal_attention",
            [read],
            (queries + keys, 0, queries),
            layers,
            other_ops=heads * run.new * mean * (1 + SOFTMAX_OPS),
            shape=(run.new, mean, width, heads),
            times=step.times,
            role=Role(cache_in=keys),
        )
    return last


def _numbered(name: str, step: Step, run: _Pass) -> str:
    return name if len(run.steps) == 1 else f"{name}@{step.past}"


def _latent_attention(rows: _Rows, net: Transformer, read: int, run: _Pass) -> int:
    """Of many new tokens with keys and values of each head; of one by one, on the short vectors themselves."""
    latent = net.latent
    assert latent is not None
    size, layers = latent.nope_size + latent.rope_size, net.layers
    down = rows.linear("qkv_down", read, latent.query_rank + latent.kv_rank + latent.rope_size, net.hidden, layers)
    normed = _normed(rows, net, "query_norm", down, layers, latent.query_rank)
    kept = _normed(rows, net, "kv_norm", normed, layers, latent.kv_rank)
    queries = rows.linear("query_up", normed, net.heads * size, latent.query_rank, layers)
    turned = rows.each("rope", "rope", [queries], latent.rope_size * (net.heads + 1), layers, ROPE_OPS)
    _cached(rows, net, kept, latent.kv_rank + latent.rope_size)
    attended = _absorbed(rows, net, latent, turned, run) if run.new == 1 else _expanded(rows, net, latent, turned, run)
    return rows.linear("attention_out", attended, net.hidden, net.heads * latent.value_size, layers)


def _expanded(rows: _Rows, net: Transformer, latent: Latent, read: int, run: _Pass) -> int:
    """Keys and values of each head are made of all short vectors, old ones too, and then attended to as others are."""
    size, heads = latent.nope_size + latent.rope_size, run.batch * net.heads
    for step in run.steps:
        held = step.past + run.new
        mean = -(-keys_seen(run.new, step.past) // run.new)
        n, k, m = net.heads * (latent.nope_size + latent.value_size), latent.kv_rank, run.batch * held
        name = _numbered("kv_up", step, run)
        role = Role(Share("linear", n * k, n), cache_in=m * k)
        elements = (m * k, n * k, m * n)
        made = rows.add(name, "linear", [read], elements, net.layers, shape=(m, n, k, 1), times=step.times, role=role)
        queries, keys = run.new * heads * size, held * heads * (size + latent.value_size)
        last = rows.add(
            _numbered("attention", step, run),
            "causal_attention",
            [read, made],
            (queries + keys, 0, run.new * heads * latent.value_size),
            net.layers,
            other_ops=heads * run.new * mean * (1 + SOFTMAX_OPS),
            shape=(run.new, mean, size + latent.value_size, heads),
            times=step.times,
        )
    return last


def _absorbed(rows: _Rows, net: Transformer, latent: Latent, read: int, run: _Pass) -> int:
    """W_UK joins the queries and W_UV the result, so that all heads read one short vector for each token.

    DeepSeek-AI, "DeepSeek-V2", 2024, section 2.1.2: "we can absorb". arXiv:2405.04434
    """
    layers, short, heads = net.layers, latent.kv_rank + latent.rope_size, run.batch * net.heads
    last = _of_heads(rows, net, "query_absorb", read, latent.kv_rank, latent.nope_size)
    for step in run.steps:
        held = step.past + 1
        attended = rows.add(
            _numbered("attention", step, run),
            "latent_attention",
            [last],
            (heads * short + run.batch * held * short, 0, heads * latent.kv_rank),
            layers,
            other_ops=heads * held * (1 + SOFTMAX_OPS),
            shape=(1, held, short + latent.kv_rank, heads),
            times=step.times,
            role=Role(cache_in=run.batch * held * short),
        )
    return _of_heads(rows, net, "value_up", attended, latent.value_size, latent.kv_rank)


def _of_heads(rows: _Rows, net: Transformer, name: str, read: int, n: int, k: int) -> int:
    """A product of each token with weights n × k of each head."""
    m, heads = rows.tokens, net.heads
    elements = (heads * m * k, heads * n * k, heads * m * n)
    role = Role(Share("linear", heads * n * k, heads * n))
    return rows.add(name, "matmul", [read], elements, net.layers, shape=(m, n, k, heads), role=role)


# ---- Feed-forward


def _feed_forward(rows: _Rows, net: Transformer, read: int) -> int:
    experts = net.experts
    dense = net.layers - (experts.layers if experts else 0)
    last = read
    if dense:
        last = _dense(rows, net, "", read, net.feed_forward, dense, bias=net.bias in ("feed_forward", "all"))
    return _routed(rows, net, experts, read) if experts else last


def _dense(rows: _Rows, net: Transformer, name: str, read: int, width: int, layers: int, *, bias: bool = False) -> int:
    both = 2 if net.gated else 1
    up = rows.linear(f"{name}gate_up" if net.gated else f"{name}up", read, both * width, net.hidden, layers, bias=bias)
    active = _activated(rows, net, name, up, width, layers)
    return rows.linear(f"{name}down", active, net.hidden, width, layers, bias=bias)


def _activated(rows: _Rows, net: Transformer, name: str, read: int, width: int, layers: int) -> int:
    """The activation, times the other half where it is gated."""
    ops = ACTIVATION_OPS[net.activation]
    kind = net.activation.removesuffix("_tanh").removeprefix("quick_")
    if not net.gated:
        return rows.each(f"{name}activation", kind, [read], width, layers, ops)
    return rows.each(f"{name}activation", "glu", [read], width, layers, ops + 1, operands=2)


def _routed(rows: _Rows, net: Transformer, experts: Experts, read: int) -> int:
    """Products of tokens × experts of a token, on the weights of the experts that are hit."""
    layers, width = experts.layers, experts.feed_forward
    chosen = -(-rows.tokens * experts.per_token // experts.copies)
    router = rows.linear("router", read, experts.count, net.hidden, layers, bias=experts.bias)
    scores = rows.each("router_softmax", "softmax", [router], experts.count, layers, SOFTMAX_OPS)
    picked = _picked(rows, experts, scores)
    both, everywhere = 2 if net.gated else 1, rows.tokens * experts.ways // experts.copies
    hit = -(-hit_experts(everywhere, experts) // experts.ways)
    up = _grouped(rows, "experts_gate_up", [read, picked], (chosen, both * width, net.hidden), hit, experts)
    count = chosen * width
    active = rows.add(
        "experts_activation",
        "glu" if net.gated else net.activation,
        [up],
        (both * count, 0, count),
        layers,
        other_ops=(ACTIVATION_OPS[net.activation] + net.gated) * count,
    )
    down = _grouped(rows, "experts_down", [active], (chosen, net.hidden, width), hit, experts)
    out = rows.tokens * net.hidden
    returned = chosen * net.hidden
    elements = (returned + chosen, 0, out)
    last = rows.add("experts_sum", "sum", [picked, down], elements, layers, other_ops=2 * returned)
    if experts.shared:
        beside = _dense(rows, net, "shared_", read, experts.shared, layers)
        last = rows.each("shared_add", "add", [last, beside], net.hidden, layers, 1, operands=2)
    return last


def _picked(rows: _Rows, experts: Experts, read: int) -> int:
    """The best experts of each token: a comparison for each level of a heap."""
    levels = max(experts.per_token - 1, 0).bit_length()
    elements = (rows.tokens * experts.count, 0, 2 * rows.tokens * experts.per_token)
    return rows.add("router_topk", "topk", [read], elements, experts.layers, other_ops=elements[0] * levels)


def _grouped(
    rows: _Rows, name: str, reads: Sequence[int], shape: tuple[int, int, int], hit: int, experts: Experts
) -> int:
    m, n, k = shape
    elements = (m * k, hit * (n * k + experts.bias * n), m * n)
    role = Role(Share("experts", hit * n * k, hit * n))
    return rows.add(name, "experts", reads, elements, experts.layers, shape=(m, n, k, 1), role=role)
