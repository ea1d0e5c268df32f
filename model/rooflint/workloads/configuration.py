"""Configurations: the facts of a transformer that decide what it computes, reads and keeps, and its parameters."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rooflint.base.precision import Part
from rooflint.workloads.flow import Share

Activation = Literal["silu", "gelu", "gelu_tanh", "relu", "quick_gelu"]
Norm = Literal["rms_norm", "layer_norm"]
Positions = Literal["rope", "learned", "none"]
Normed = Literal["none", "all", "first"]
Biased = Literal["none", "qkv", "attention", "feed_forward", "all"]


@dataclass(frozen=True)
class Experts:
    """Feed-forward layers of which each token goes through some."""

    count: int
    per_token: int
    feed_forward: int
    """Width of one expert."""
    layers: int
    """Layers that have experts; the others are dense."""
    shared: int = 0
    """Width of what every token goes through beside its experts."""
    bias: bool = False
    """Whether the router and the experts have biases."""
    ways: int = 1
    """Devices that share them, of which this is what one has."""
    copies: int = 1
    """Devices among these that have the same tokens."""

    @property
    def held(self) -> int:
        """Experts of one device."""
        return self.count // self.ways


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention: keys and values are kept as one short vector. arXiv:2405.04434"""

    query_rank: int
    kv_rank: int
    nope_size: int
    """Of a head of queries and keys, the part without positions."""
    rope_size: int
    """The part with positions, which all heads of keys share."""
    value_size: int


@dataclass(frozen=True)
class Image:
    """What a vision transformer makes its tokens of."""

    size: int
    """Of each side. [pixel]"""
    patch: int
    """Of each side; a patch is a token. [pixel]"""
    channels: int
    patch_bias: bool = True

    @property
    def patches(self) -> int:
        """Of an image."""
        return (self.size // self.patch) ** 2


@dataclass(frozen=True)
class Encoder:
    """What a network has whose tokens see all others; it keeps no cache and writes no tokens."""

    norm_first: bool
    """Whether norms stand before attention and feed-forward, or after what is added."""
    embedding_norm: bool
    """Whether the embedded tokens are normalised."""
    last_norm: Normed
    """Whether the result of all layers is normalised, or only that of the first token."""
    pooled: int
    """Width of the product on one token, the first or the last one: a pooler, classes, a projection; none if 0."""
    pooled_bias: bool
    pooled_tanh: bool
    token_types: int = 0
    image: Image | None = None
    causal: bool = False
    """Whether a token sees those before it alone, though all are read at once."""


@dataclass(frozen=True)
class Transformer:
    """The facts of a transformer that decide what it computes, reads and keeps."""

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    feed_forward: int
    vocabulary: int
    context: int
    """The most tokens of a sequence."""
    activation: Activation = "silu"
    gated: bool = True
    """Whether a second product scales what the first one activates."""
    norm: Norm = "rms_norm"
    positions: Positions = "rope"
    rotary: int = 0
    """Elements of a head that rotate; all of them if 0."""
    bias: Biased = "none"
    head_bias: bool = False
    query_key_norm: bool = False
    post_norms: bool = False
    """Whether the results of attention and feed-forward are normalised, too."""
    parallel: bool = False
    """Whether attention and feed-forward read the same normalised input."""
    tied: bool = False
    """Whether the head reads the embedding."""
    window: int = 0
    """Tokens that a layer with a sliding window sees."""
    window_layers: int = 0
    chunked: bool = False
    """Whether windows do not slide: a text is cut into them, and a token sees those before it in its own."""
    rope_layers: int = 0
    """Layers that rotate; all of them if 0. Where some do, they alone normalise queries and keys, without weights."""
    experts: Experts | None = None
    latent: Latent | None = None
    encoder: Encoder | None = None
    """None for a decoder, whose tokens see those before them."""

    @property
    def parameters(self) -> int:
        """All weights, biases and norms."""
        return sum(_parameters(self))

    @property
    def embedding_parameters(self) -> int:
        """Of the embedding, which are those of the head as well where they are tied."""
        return self.vocabulary * self.hidden

    @property
    def first_parameters(self) -> int:
        """Before the layers, and not in the head: an embedding, unless the head reads it, and learned positions."""
        positions = self.context * self.hidden if self.positions == "learned" else 0
        return positions + (0 if self.tied else self.embedding_parameters)

    @property
    def last_parameters(self) -> int:
        """Behind the layers of a decoder: the last norm, and the head, unless it is the embedding."""
        norm = (2 if self.norm == "layer_norm" else 1) * self.hidden
        return norm + self.head_bias * self.vocabulary + (0 if self.tied else self.embedding_parameters)

    @property
    def expert_parameters(self) -> int:
        """Of the experts that a device has, without routers and what all tokens meet."""
        return self.experts.layers * self.experts.held * _expert(self, self.experts) if self.experts else 0

    @property
    def active_parameters(self) -> int:
        """Those that a token is multiplied with: of the experts its own; the embedding only where the head is tied."""
        idle = 0 if self.tied else self.embedding_parameters
        if self.experts:
            idle += (self.experts.count - self.experts.per_token) * self.experts.layers * _expert(self, self.experts)
        return self.parameters - idle

    @property
    def shares(self) -> tuple[Share, ...]:
        """The weights of its blocks that policies tell apart, without biases and norms."""
        experts = self.experts
        dense = self.layers - (experts.layers if experts else 0)
        products = [(self.layers, _products_of_attention(self)), (dense, _products_of_dense(self, self.feed_forward))]
        routed: list[tuple[int, Products]] = []
        if experts:
            products.append((experts.layers, _products_of_dense(self, experts.shared)))
            routed.append((experts.layers * experts.held, _products_of_dense(self, experts.feed_forward)))
        return (_share("linear", products), *([_share("experts", routed)] if routed else []))

    def cache_elements(self, tokens: int) -> int:
        """Keys and values of a sequence in all layers; a layer with a window keeps no more than that."""
        if self.encoder:
            return 0
        if self.latent:
            return self.layers * tokens * (self.latent.kv_rank + self.latent.rope_size)
        seen = min(tokens, self.window) if self.window else tokens
        kept = (self.layers - self.window_layers) * tokens + self.window_layers * seen
        return 2 * self.kv_heads * self.head_size * kept


# ---- What tokens see


def keys_seen(new: int, past: int, window: int = 0, *, chunked: bool = False) -> int:
    """Keys that all new tokens of a sequence see together: each those before it and itself, within the window."""
    if chunked and window:
        return _in_chunks(past + new, window) - _in_chunks(past, window)
    if not window or past + new <= window:
        return new * past + new * (new + 1) // 2
    short = max(min(window - past, new), 0)  # tokens that still see all that came before
    return short * past + short * (short + 1) // 2 + (new - short) * window


def _in_chunks(tokens: int, chunk: int) -> int:
    """Keys that tokens from the first on see, each those of its own chunk up to itself."""
    whole, rest = divmod(tokens, chunk)
    return whole * (chunk * (chunk + 1) // 2) + rest * (rest + 1) // 2


# ---- Parameters

Products = tuple[tuple[int, int], ...]
"""(output channels, inputs) of each product."""


def _share(part: Part, products: list[tuple[int, Products]]) -> Share:
    """Of products, each so many times."""
    elements = sum(times * n * k for times, each in products for n, k in each)
    return Share(part, elements, sum(times * n for times, each in products for n, k in each if k))


def _products_of_attention(net: Transformer) -> Products:
    heads, latent = net.heads, net.latent
    if latent is None:
        queries = heads * net.head_size
        return (queries + 2 * net.kv_heads * net.head_size, net.hidden), (net.hidden, queries)
    return (
        (latent.query_rank + latent.kv_rank + latent.rope_size, net.hidden),
        (heads * (latent.nope_size + latent.rope_size), latent.query_rank),
        (heads * (latent.nope_size + latent.value_size), latent.kv_rank),
        (net.hidden, heads * latent.value_size),
    )


def _products_of_dense(net: Transformer, width: int) -> Products:
    return ((2 if net.gated else 1) * width, net.hidden), (net.hidden, width)


def _parameters(net: Transformer) -> Iterator[int]:
    """Of the embedding, the head, the norms, and each part of all layers."""
    norm = 2 if net.norm == "layer_norm" else 1
    each = (1 if net.parallel else 2) + 2 * net.post_norms
    yield norm * net.hidden * each * net.layers
    yield net.context * net.hidden if net.positions == "learned" else 0
    if net.encoder:
        yield _around_encoder(net, net.encoder, norm)
    else:
        yield net.embedding_parameters * (1 if net.tied else 2) + net.head_bias * net.vocabulary + norm * net.hidden
    yield net.layers * (_of_latent(net, net.latent) if net.latent else _of_attention(net))
    experts = net.experts
    dense = net.layers - (experts.layers if experts else 0)
    yield dense * _of_dense(net, net.feed_forward, bias=net.bias in ("feed_forward", "all"))
    if experts:
        router = experts.count * (net.hidden + experts.bias)
        yield experts.layers * (router + experts.held * _expert(net, experts) + _of_dense(net, experts.shared))


def _around_encoder(net: Transformer, encoder: Encoder, norm: int) -> int:
    """Of what makes tokens and of what is made of them."""
    norms = norm * net.hidden * (encoder.embedding_norm + (encoder.last_norm != "none"))
    pooled = encoder.pooled * (net.hidden + encoder.pooled_bias)
    if image := encoder.image:
        patches = net.hidden * (image.channels * image.patch**2 + image.patch_bias)
        return patches + net.hidden + norms + pooled  # and the class token
    return (net.vocabulary + encoder.token_types) * net.hidden + norms + pooled


def _of_attention(net: Transformer) -> int:
    queries, both = net.heads * net.head_size, 2 * net.kv_heads * net.head_size
    products = _elements(_products_of_attention(net))
    biases = (queries + both) * (net.bias in ("qkv", "attention", "all")) + net.hidden * (
        net.bias in ("attention", "all")
    )
    norms = 2 * net.head_size * (net.query_key_norm and not net.rope_layers)
    return products + biases + norms


def _of_latent(net: Transformer, latent: Latent) -> int:
    return _elements(_products_of_attention(net)) + latent.query_rank + latent.kv_rank  # and two norms


def _elements(products: Products) -> int:
    return sum(n * k for n, k in products)


def _of_dense(net: Transformer, width: int, *, bias: bool = False) -> int:
    products = _products_of_dense(net, width)
    return _elements(products) + bias * sum(n for n, _ in products)


def _expert(net: Transformer, experts: Experts) -> int:
    return _of_dense(net, experts.feed_forward, bias=experts.bias)
