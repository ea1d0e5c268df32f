"""Transformers: the op table of a configuration for any batch, new tokens and past tokens, without a capture.

    table(llama, batch=8, new=2048)                      # prefill: a prompt of 2048 tokens for each of 8 sequences
    table(llama, batch=8, new=1, steps=[Step(2048)])     # one step of decode, on a cache of 2048 tokens each

Layers of one shape are one row that repeats, so that 126 layers cost no more than 16. Rows are the kernels of an
inference engine: queries, keys and values are one product, and so are gate and up; the head sees the last new token of
each sequence. docs/method-networks.md has the formulas.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

from rooflint.workloads.configuration import Encoder, Experts, Image, Latent, Transformer, keys_seen
from rooflint.workloads.families import Family, polynomials, symbols
from rooflint.workloads.flow import INPUT, Flow, Role, Roles, Share
from rooflint.workloads.ops import ELEMENTWISE, GELU_OPS, NORM_OPS, ROWWISE, SOFTMAX_OPS, Tokens, Window
from rooflint.workloads.rows import AMOUNTS, Pass, Rows, Seen
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
    steps = tuple(steps)
    most = max(step.past for step in steps) + new
    _refuse(net, new, most, steps)
    run, image = pass_of(net, batch, new, steps), net.encoder.image if net.encoder else None
    around: dict[str, Any] = {
        "given": batch * (image.channels * image.size**2 if image else new),
        "cache": batch * net.cache_elements(most),
        "tokens": None if image else Tokens(new, steps[0].past, run.times),
        "remake": partial(_at_batch, net, new, steps, every),
    }
    if _of_family(run):
        past = [step.past for step in steps]
        found = family_of(net, every, run.one, len(steps)).table(batch, past, run.amounts, **around)
        if found is not None:
            return found
    return _row_by_row(net, run, every, **around)


def _at_batch(net: Transformer, new: int, steps: Sequence[Step], every: bool, batch: int) -> Workload:
    return table(net, batch, new, steps, every=every)


def _row_by_row(net: Transformer, run: Pass, every: bool, given: int, cache: int, **more: Any) -> Workload:
    rows = _rows(net, run, every=every)
    roles = Roles.of(rows.roles, net.shares)
    flow = Flow(tuple(rows.reads), (len(rows.ops) - 1,), given, net.parameters, cache, roles)
    return Workload.from_ops(net.name, rows.ops, run.batch, flow=flow, **more)


def _of_family(run: Pass) -> bool:
    """Whether these are amounts that tables of a family have; of others a table is checked row by row."""
    past = {seen.past for seen in run.steps}
    whole = type(run.batch) is int and run.batch > 0 and min(past) >= 0 and min(one.times for one in run.steps) > 0
    return whole and len(past) == len(run.steps)


@lru_cache(maxsize=128)
def family_of(net: Transformer, every: bool, one: bool, steps: int) -> Family:
    """The tables of a network for one new token of a sequence, or for several, in so many steps."""
    new = net.context if net.encoder and net.encoder.image else 1 if one else 2
    member = _row_by_row(net, pass_of(net, 1, new, [*map(Step, range(steps))]), every, 1, 0)
    batch, new, chosen, hit, times, held, mean = symbols(len(AMOUNTS))
    everything, windows = (
        tuple(Seen(place, past, times, held, mean) for past, place in enumerate(places))
        for places in _places(net, steps)
    )
    run = Pass(one, batch, new, times, everything, windows, chosen, hit)
    rows = _rows(net, run, every=every)
    return Family(member, polynomials(rows.ops, rows.roles, len(AMOUNTS)), tuple(rows.places))


def _places(net: Transformer, steps: int) -> tuple[Sequence[int], Sequence[int]]:
    """Of the amounts of each step among those of a pass, in layers that see everything and in those that do not."""
    first = 1 if steps > 1 else 0
    return range(first, first + steps), range(first + steps, first + 2 * steps if net.window_layers else 0)


def pass_of(net: Transformer, batch: int, new: int, steps: Sequence[Step]) -> Pass:
    """What goes through a network."""
    chosen = hit = 0
    if experts := net.experts:
        tokens = batch * new
        chosen = -(-tokens * experts.per_token // experts.copies)
        hit = -(-hit_experts(tokens * experts.ways // experts.copies, experts) // experts.ways)
    everything, windows = _places(net, len(steps))
    seen = tuple(map(partial(_seen, net, new, 0), everything, steps))
    in_window = tuple(map(partial(_seen, net, new, net.window), windows, steps))
    return Pass(new == 1, batch, new, sum(step.times for step in steps), seen, in_window, chosen, hit)


def _seen(net: Transformer, new: int, window: int, place: int, step: Step) -> Seen:
    past, times = step
    if net.encoder and not net.encoder.causal:
        return Seen(place, past, times, new, new)
    held = past + new
    if window:
        held = min(held, (past % window + 1 if net.chunked else window) + new - 1)
    return Seen(place, past, times, held, -(-keys_seen(new, past, window, chunked=net.chunked) // new))


def _refuse(net: Transformer, new: int, most: int, steps: Sequence[Step]) -> None:
    """Raises WorkloadError for tokens that the network cannot have."""
    if net.encoder and tuple(steps) != (Step(0),):
        raise WorkloadError(f"{net.name}: is an encoder, which keeps no cache; want no --past")
    if net.encoder and net.encoder.image and new != net.context:
        raise WorkloadError(f"{net.name}: has the {net.context} tokens of an image; want no --prompt")
    if most > net.context:
        raise WorkloadError(f"{net.name}: want at most {net.context} tokens, its context; found {most}")


def _rows(net: Transformer, run: Pass, *, every: bool) -> Rows:
    rows = Rows(run)
    if net.encoder:
        _around_encoder(rows, net, net.encoder)
        return rows
    last = _layers(rows, net, _embedding(rows, net))
    _head(rows, net, _normed(rows, net, "norm", last, 1), run.tokens if every else rows.run.batch)
    return rows


def _around_encoder(rows: Rows, net: Transformer, encoder: Encoder) -> None:
    image = encoder.image
    last = _patches(rows, net, image) if image else _words(rows, net, encoder)
    count = rows.run.tokens * net.hidden
    last = rows.add("positions_add", "add", [last], (count, rows.run.new * net.hidden, count), 1, other_ops=count)
    if encoder.embedding_norm:
        last = _normed(rows, net, "embedding_norm", last, 1)
    _pooled(rows, net, encoder, _encoder_layers(rows, net, encoder, last))


def hit_experts(tokens: int, experts: Experts) -> int:
    """Experts that are read for so many tokens, if each token chooses its own evenly: E · (1 − (1 − k/E)^tokens)."""
    missed = (1 - experts.per_token / experts.count) ** tokens
    most = min(experts.count, tokens * experts.per_token)
    return max(min(round(experts.count * (1 - missed)), most), experts.per_token)


# ---- Rows


def _embedding(rows: Rows, net: Transformer) -> int:
    count = rows.run.tokens * net.hidden
    last = rows.add("embedding", "embedding", [INPUT], (count + rows.run.tokens, 0, count), 1)
    if net.positions == "learned" and not net.encoder:
        where = rows.add("positions", "embedding", [INPUT], (count + rows.run.tokens, 0, count), 1)
        last = rows.each("positions_add", "add", [last, where], net.hidden, 1, 1, operands=2)
    return last


def _layers(rows: Rows, net: Transformer, last: int) -> int:
    """All layers, as one that repeats: the residual stream between them has the size of what goes in here."""
    normed = _normed(rows, net, "attention_norm", last, net.layers)
    attended = _latent_attention(rows, net, normed) if net.latent else _attention(rows, net, normed)
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
    rows: Rows, net: Transformer, name: str, read: int, layers: int, width: int = 0, heads: int = 1, *,
    scaled: bool = True,
) -> int:  # fmt: skip
    """A norm over the hidden size, or over the width of each head, whose weights all heads share."""
    count = rows.run.tokens * (width := width or net.hidden) * heads
    weights = width * (2 if net.norm == "layer_norm" else 1) * scaled
    return rows.add(name, net.norm, [read], (count, weights, count), layers, other_ops=NORM_OPS * count)


def _head(rows: Rows, net: Transformer, read: int, tokens: int) -> None:
    """Logits of some tokens."""
    rows.linear("head", read, net.vocabulary, net.hidden, 1, bias=net.head_bias, rows=tokens)


# ---- Encoders


def _words(rows: Rows, net: Transformer, encoder: Encoder) -> int:
    last = _embedding(rows, net)
    if not encoder.token_types:
        return last
    count = rows.run.tokens * net.hidden
    kinds = rows.add("token_types", "embedding", [INPUT], (count + rows.run.tokens, 0, count), 1)
    return rows.each("token_types_add", "add", [last, kinds], net.hidden, 1, 1, operands=2)


def _patches(rows: Rows, net: Transformer, image: Image) -> int:
    """A convolution whose windows do not overlap, and the class token in front."""
    batch = rows.run.batch
    m, n, k = batch * image.patches, net.hidden, image.channels * image.patch**2
    side = image.size // image.patch
    elements = (batch * image.channels * image.size**2, n * k + image.patch_bias * n, m * n)
    window = Window(image.patch, image.patch, image.patch, 1, side, side)
    last = rows.add("patches", "conv2d", [INPUT], elements, 1, shape=(m, n, k, 1), window=window)
    return rows.add("class_token", "cat", [last], (m * n, n, rows.run.tokens * n), 1)


def _encoder_layers(rows: Rows, net: Transformer, encoder: Encoder, last: int) -> int:
    layers, before = net.layers, encoder.norm_first
    read = _normed(rows, net, "attention_norm", last, layers) if before else last
    biased = net.bias in ("attention", "all")
    whole = net.heads * net.head_size
    qkv = rows.linear("qkv", read, 3 * whole, net.hidden, layers, bias=biased or net.bias == "qkv")
    run, heads = rows.run, rows.run.batch * net.heads
    queries = run.tokens * whole
    (seen,) = run.steps
    attended = rows.add(
        "attention",
        "causal_attention" if encoder.causal else "attention",
        [qkv],
        (3 * queries, 0, queries),
        layers,
        other_ops=heads * run.new * seen.mean * (1 + SOFTMAX_OPS),
        shape=(run.new, seen.mean, 2 * net.head_size, heads),
    )
    out = rows.linear("attention_out", attended, net.hidden, whole, layers, bias=biased)
    last = rows.each("attention_add", "add", [last, out], net.hidden, layers, 1, operands=2)
    read = _normed(rows, net, "feed_forward_norm" if before else "attention_norm", last, layers)
    last, fed = (last if before else read), _feed_forward(rows, net, read)
    last = rows.each("feed_forward_add", "add", [last, fed], net.hidden, layers, 1, operands=2)
    return last if before else _normed(rows, net, "feed_forward_norm", last, layers)


def _pooled(rows: Rows, net: Transformer, encoder: Encoder, last: int) -> None:
    """What is made of one token of each sequence."""
    if encoder.last_norm == "all":
        last = _normed(rows, net, "norm", last, 1)
    if encoder.last_norm == "first":
        count = rows.run.batch * net.hidden
        last = rows.add("norm", net.norm, [last], (count, 2 * net.hidden, count), 1, other_ops=NORM_OPS * count)
    if not encoder.pooled:
        return
    last = rows.linear("head", last, encoder.pooled, net.hidden, 1, bias=encoder.pooled_bias, rows=rows.run.batch)
    if encoder.pooled_tanh:
        count = rows.run.batch * encoder.pooled
        rows.add("head_activation", "tanh", [last], (count, 0, count), 1, other_ops=ELEMENTWISE["tanh"] * count)


# ---- Attention


def _attention(rows: Rows, net: Transformer, read: int) -> int:
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
    if net.layers > net.window_layers:
        attended = _attended(rows, net, last, "attention", net.layers - net.window_layers, rows.run.steps)
    if net.window_layers:
        attended = _attended(rows, net, last, "window_attention", net.window_layers, rows.run.windows)
    return rows.linear(
        "attention_out", attended, net.hidden, queries, net.layers, bias=net.bias in ("attention", "all")
    )


def _cached(rows: Rows, net: Transformer, read: int, width: int) -> None:
    """Keys and values of the new tokens, in the cache."""
    count = rows.run.tokens * width
    rows.add("cache", "copy", [read], (count, 0, count), net.layers, role=Role(cache_out=count))


def _attended(rows: Rows, net: Transformer, read: int, name: str, layers: int, steps: Sequence[Seen]) -> int:
    """A row for each length of the cache; a layer reads keys and values once, however many tokens see them."""
    run, width, heads = rows.run, 2 * net.head_size, rows.run.batch * net.heads
    for seen in steps:
        keys = run.batch * net.kv_heads * width * seen.held
        queries = run.new * heads * net.head_size
        last = rows.add(
            name,
            "attention" if run.one else "causal_attention",
            [read],
            (queries + keys, 0, queries),
            layers,
            other_ops=heads * run.new * seen.mean * (1 + SOFTMAX_OPS),
            shape=(run.new, seen.mean, width, heads),
            seen=seen,
            role=Role(cache_in=keys),
        )
    return last


def _latent_attention(rows: Rows, net: Transformer, read: int) -> int:
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
    attended = _absorbed(rows, net, latent, turned) if rows.run.one else _expanded(rows, net, latent, turned)
    return rows.linear("attention_out", attended, net.hidden, net.heads * latent.value_size, layers)


def _expanded(rows: Rows, net: Transformer, latent: Latent, read: int) -> int:
    """Keys and values of each head are made of all short vectors, old ones too, and then attended to as others are."""
    run, size, heads = rows.run, latent.nope_size + latent.rope_size, rows.run.batch * net.heads
    for seen in run.steps:
        n, k, m = net.heads * (latent.nope_size + latent.value_size), latent.kv_rank, run.batch * seen.held
        role = Role(Share("linear", n * k, n), cache_in=m * k)
        elements = (m * k, n * k, m * n)
        made = rows.add("kv_up", "linear", [read], elements, net.layers, shape=(m, n, k, 1), seen=seen, role=role)
        queries, keys = run.new * heads * size, seen.held * heads * (size + latent.value_size)
        last = rows.add(
            "attention",
            "causal_attention",
            [read, made],
            (queries + keys, 0, run.new * heads * latent.value_size),
            net.layers,
            other_ops=heads * run.new * seen.mean * (1 + SOFTMAX_OPS),
            shape=(run.new, seen.mean, size + latent.value_size, heads),
            seen=seen,
        )
    return last


def _absorbed(rows: Rows, net: Transformer, latent: Latent, read: int) -> int:
    """W_UK joins the queries and W_UV the result, so that all heads read one short vector for each token.

    DeepSeek-AI, "DeepSeek-V2", 2024, section 2.1.2: "we can absorb". arXiv:2405.04434
    """
    layers, short, heads = net.layers, latent.kv_rank + latent.rope_size, rows.run.batch * net.heads
    last = _of_heads(rows, net, "query_absorb", read, latent.kv_rank, latent.nope_size)
    for seen in rows.run.steps:
        held = seen.held
        attended = rows.add(
            "attention",
            "latent_attention",
            [last],
            (heads * short + rows.run.batch * held * short, 0, heads * latent.kv_rank),
            layers,
            other_ops=heads * held * (1 + SOFTMAX_OPS),
            shape=(1, held, short + latent.kv_rank, heads),
            seen=seen,
            role=Role(cache_in=rows.run.batch * held * short),
        )
    return _of_heads(rows, net, "value_up", attended, latent.value_size, latent.kv_rank)


def _of_heads(rows: Rows, net: Transformer, name: str, read: int, n: int, k: int) -> int:
    """A product of each token with weights n × k of each head."""
    m, heads = rows.run.tokens, net.heads
    elements = (heads * m * k, heads * n * k, heads * m * n)
    role = Role(Share("linear", heads * n * k, heads * n))
    return rows.add(name, "matmul", [read], elements, net.layers, shape=(m, n, k, heads), role=role)


# ---- Feed-forward


def _feed_forward(rows: Rows, net: Transformer, read: int) -> int:
    experts = net.experts
    dense = net.layers - (experts.layers if experts else 0)
    last = read
    if dense:
        last = _dense(rows, net, "", read, net.feed_forward, dense, bias=net.bias in ("feed_forward", "all"))
    return _routed(rows, net, experts, read) if experts else last


def _dense(rows: Rows, net: Transformer, name: str, read: int, width: int, layers: int, *, bias: bool = False) -> int:
    both = 2 if net.gated else 1
    up = rows.linear(f"{name}gate_up" if net.gated else f"{name}up", read, both * width, net.hidden, layers, bias=bias)
    active = _activated(rows, net, name, up, width, layers)
    return rows.linear(f"{name}down", active, net.hidden, width, layers, bias=bias)


def _activated(rows: Rows, net: Transformer, name: str, read: int, width: int, layers: int) -> int:
    """The activation, times the other half where it is gated."""
    ops = ACTIVATION_OPS[net.activation]
    kind = net.activation.removesuffix("_tanh").removeprefix("quick_")
    if not net.gated:
        return rows.each(f"{name}activation", kind, [read], width, layers, ops)
    return rows.each(f"{name}activation", "glu", [read], width, layers, ops + 1, operands=2)


def _routed(rows: Rows, net: Transformer, experts: Experts, read: int) -> int:
    """Products of tokens × experts of a token, on the weights of the experts that are hit."""
    layers, width = experts.layers, experts.feed_forward
    router = rows.linear("router", read, experts.count, net.hidden, layers, bias=experts.bias)
    scores = rows.each("router_softmax", "softmax", [router], experts.count, layers, SOFTMAX_OPS)
    picked = _picked(rows, experts, scores)
    both, chosen, hit = 2 if net.gated else 1, rows.run.chosen, rows.run.hit
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
    out = rows.run.tokens * net.hidden
    returned = chosen * net.hidden
    elements = (returned + chosen, 0, out)
    last = rows.add("experts_sum", "sum", [picked, down], elements, layers, other_ops=2 * returned)
    if experts.shared:
        beside = _dense(rows, net, "shared_", read, experts.shared, layers)
        last = rows.each("shared_add", "add", [last, beside], net.hidden, layers, 1, operands=2)
    return last


def _picked(rows: Rows, experts: Experts, read: int) -> int:
    """The best experts of each token: a comparison for each level of a heap."""
    levels = max(experts.per_token - 1, 0).bit_length()
    elements = (rows.run.tokens * experts.count, 0, 2 * rows.run.tokens * experts.per_token)
    return rows.add("router_topk", "topk", [read], elements, experts.layers, other_ops=elements[0] * levels)


def _grouped(
    rows: Rows, name: str, reads: Sequence[int], shape: tuple[int, int, int], hit: int, experts: Experts
) -> int:
    m, n, k = shape
    elements = (m * k, hit * (n * k + experts.bias * n), m * n)
    role = Role(Share("experts", hit * n * k, hit * n))
    return rows.add(name, "experts", reads, elements, experts.layers, shape=(m, n, k, 1), role=role)
