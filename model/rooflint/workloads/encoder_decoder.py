"""Encoder–decoders: T5 and Whisper. The encoder reads a text or a recording once; the decoder writes tokens.

EncoderDecoder(…).table(batch=8, new=512)            # a text of 512 tokens, and the first token that is written
EncoderDecoder(…).table(batch=8, past=100)           # the token after 100, on the caches of both attentions
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from rooflint.workloads.configuration import Activation, Norm, keys_seen
from rooflint.workloads.families import Family, polynomials, symbols
from rooflint.workloads.flow import INPUT
from rooflint.workloads.layers import Architecture, Layers
from rooflint.workloads.ops import GELU_OPS, Tokens
from rooflint.workloads.transformer import ACTIVATION_OPS
from rooflint.workloads.workload import Workload, WorkloadError

Biases = Literal["none", "all", "all but keys"]


class _Pass(NamedTuple):
    """The amounts that rows are counted with."""

    batch: int
    source: int
    """Tokens that the encoder reads."""
    heard: int
    """The same, as keys of each other."""
    new: int
    """Tokens that the decoder writes."""
    keys: int
    """Tokens before them, and they themselves."""
    seen: int
    """Of these, what one of them sees on average, rounded up."""

    @classmethod
    def of(cls, batch: int, source: int, new: int, past: int) -> "_Pass":
        """With the amounts that follow."""
        return cls(batch, source, source, new, past + new, -(-keys_seen(new, past) // new))


@dataclass(frozen=True)
class EncoderDecoder(Architecture):
    """The facts of an encoder and a decoder of one width, with norms before attention and feed-forward."""

    hidden: int
    heads: int
    head_size: int
    feed_forward: int
    encoder_layers: int
    decoder_layers: int
    vocabulary: int
    source: int
    """The most tokens that the encoder reads; of audio, those that it always reads."""
    context: int
    """The most tokens that the decoder writes."""
    activation: Activation
    gated: bool
    norm: Norm
    bias: Biases
    tied: bool
    buckets: int = 0
    """Of relative positions, whose bias is added to the scores; positions are learned and added to tokens if 0."""
    mels: int = 0
    """Channels of a spectrogram, of which two frames become a token; tokens are those of a text if 0."""

    def table(self, batch: int = 1, new: int | None = None, past: int = 0) -> Workload:
        """The encoder on `new` tokens and the first token that is written; with a past, a step of the decoder."""
        if past:
            return self.step(batch, 1 if new is None else new, past)
        source = self.source if new is None else new
        if self.mels and source != self.source:
            raise WorkloadError(f"{self.name}: reads the {self.source} tokens of a recording; want no --prompt")
        if source > self.source:
            raise WorkloadError(f"{self.name}: want at most {self.source} tokens of a text, found {source}")
        return self.first(batch, source)

    def first(self, batch: int, source: int, new: int = 1) -> Workload:
        """The encoder on so many tokens, and the first tokens of the decoder."""
        given = batch * (2 * source * self.mels or source) + batch * new
        return self._table(_Pass.of(batch, source, new, 0), given, Tokens(source, 0), encodes=True)

    def step(self, batch: int, new: int, past: int) -> Workload:
        """New tokens of the decoder after others, with the keys and values of all that the encoder reads."""
        if past + new > self.context:
            raise WorkloadError(f"{self.name}: want at most {self.context} tokens, its context; found {past + new}")
        return self._table(_Pass.of(batch, self.source, new, past), batch * new, Tokens(new, past), encodes=False)

    def _table(self, run: _Pass, given: int, tokens: Tokens, *, encodes: bool) -> Workload:
        cache = run.batch * self._cache(run.keys, run.source)
        found = None
        if min(run) > 0 and type(run.batch) is int:
            found = _family(self, encodes, run.new == 1).table(run.batch, [0], [run], given, cache, tokens=tokens)
        return self._made(run, given, cache, tokens, encodes=encodes) if found is None else found

    def _made(self, run: _Pass, given: int, cache: int, tokens: Tokens, *, encodes: bool) -> Workload:
        layers = self._rows(run, encodes=encodes, one=run.new == 1)
        return self.finished(layers, run.batch, given, cache=cache, tokens=tokens)

    def _rows(self, run: _Pass, *, encodes: bool, one: bool) -> Layers:
        layers = Layers()
        encoded = self._encode(layers, run) if encodes else None
        self._decode(layers, run, encoded, "attention" if one else "causal_attention")
        return layers

    def _cache(self, kept: int, source: int) -> int:
        """Keys and values of a sample: of tokens that were written, and of those that the encoder read."""
        return 2 * self._width * self.decoder_layers * (kept + source)

    def layers(self) -> Layers:
        """Encoder and decoder."""
        return self._rows(_Pass.of(1, self.source, 1, 0), encodes=True, one=True)

    @property
    def embedding_parameters(self) -> int:
        """Of the embedding that both share, where the head does not read it."""
        return 0 if self.tied else self.vocabulary * self.hidden

    @property
    def _width(self) -> int:
        return self.heads * self.head_size

    @property
    def _key_biases(self) -> int:
        return self._width if self.bias == "all" else 0

    @property
    def _other_biases(self) -> int:
        """Of queries, or of values."""
        return self._width if self.bias != "none" else 0

    # ---- Encoder

    def _encode(self, layers: Layers, run: _Pass) -> int:
        layers.prefix, source = "encoder_", run.source
        rows, count = run.batch * source, self.encoder_layers
        last = (
            self._heard(layers, run.batch, source)
            if self.mels
            else self._read(layers, INPUT, rows, vocabulary=self.vocabulary)
        )
        if not self.buckets:
            added = (rows * self.hidden, source * self.hidden, rows * self.hidden)
            kept = self.source * self.hidden
            last = layers.add("positions_add", "add", [last], added, other_ops=added[0], parameters=kept)
        encoder = run._replace(new=source, keys=run.heard, seen=run.heard)
        attended = self._self_attention(layers, last, encoder, count, "attention", cached=False)
        last = self._feed_forward(layers, attended, rows, count)
        last = layers.norm("norm", self.norm, last, rows=rows, width=self.hidden)
        layers.prefix = ""
        return last

    def _read(self, layers: Layers, read: int, rows: int, vocabulary: int) -> int:
        return layers.embedding("embedding", read, rows=rows, width=self.hidden, vocabulary=vocabulary)

    def _heard(self, layers: Layers, batch: int, source: int) -> int:
        """Two convolutions over time, of which the second halves the frames."""
        hidden = self.hidden
        last = layers.conv("conv1", INPUT, batch=batch, c_in=self.mels, c_out=hidden, kernel=3, out=(2 * source,))
        last = layers.each("conv1_gelu", "gelu", [last], batch * 2 * source * hidden, GELU_OPS["none"])
        last = layers.conv("conv2", last, batch=batch, c_in=hidden, c_out=hidden, kernel=3, out=(source,), stride=2)
        return layers.each("conv2_gelu", "gelu", [last], batch * source * hidden, GELU_OPS["none"])

    # ---- Decoder

    def _decode(self, layers: Layers, run: _Pass, encoded: int | None, kind: str) -> None:
        """Without what was encoded, its keys and values are in the cache."""
        new, rows, hidden = run.new, run.batch * run.new, self.hidden
        # the table of a text is that of the encoder
        last = self._read(
            layers, INPUT, rows, vocabulary=0 if encoded is not None and not self.mels else self.vocabulary
        )
        if not self.buckets:
            added = (rows * hidden, new * hidden, rows * hidden)
            last = layers.add(
                "positions_add", "add", [last], added, other_ops=added[0], parameters=self.context * hidden
            )
        last = self._self_attention(layers, last, run, self.decoder_layers, kind, cached=True)
        last = self._cross_attention(layers, last, run, encoded)
        last = self._feed_forward(layers, last, rows, self.decoder_layers)
        last = layers.norm("norm", self.norm, last, rows=rows, width=hidden)
        layers.head(last, rows=run.batch, n=self.vocabulary, k=hidden, tied=self.tied)

    def _cross_attention(self, layers: Layers, read: int, run: _Pass, encoded: int | None) -> int:
        batch, source, new = run.batch, run.source, run.new
        rows, hidden, width, count = batch * new, self.hidden, self._width, self.decoder_layers
        normed = layers.norm("cross_norm", self.norm, read, rows=rows, width=hidden, layers=count)
        asked = layers.linear(
            "cross_query", normed, rows=rows, n=width, k=hidden, layers=count, bias=self._other_biases
        )
        reads = [asked]
        if encoded is not None:
            made = layers.linear(
                "cross_kv",
                encoded,
                rows=batch * source,
                n=2 * width,
                k=hidden,
                layers=count,
                bias=self._key_biases + self._other_biases,
            )
            reads.append(made)
            layers.cached("cross_cache", made, batch * source * 2 * width, count)
        attended = layers.attention(
            "cross_attention", reads, heads=batch * self.heads, queries=new, keys=source, size=self.head_size,
            layers=count, cached=True,
        )  # fmt: skip
        return self._added(layers, "cross", attended, read, rows, width, count)

    # ---- What both have

    def _self_attention(self, layers: Layers, read: int, run: _Pass, count: int, kind: str, *, cached: bool) -> int:
        batch, new, keys = run.batch, run.new, run.keys
        rows, hidden, width = batch * new, self.hidden, self._width
        normed = layers.norm("attention_norm", self.norm, read, rows=rows, width=hidden, layers=count)
        qkv = layers.linear(
            "qkv",
            normed,
            rows=rows,
            n=3 * width,
            k=hidden,
            layers=count,
            bias=2 * self._other_biases + self._key_biases,
        )
        if cached:
            layers.cached("cache", qkv, rows * 2 * width, count)
        heads = batch * self.heads
        # a constant that is made once of its table; it is added where others scale the scores
        bias = self.heads * new * keys if self.buckets else 0
        layers.parameters += self.buckets * self.heads
        attended = layers.attention(
            "attention", [qkv], heads=heads, queries=new, keys=keys, size=self.head_size, layers=count, kind=kind,
            seen=run.seen, more=batch * bias, cached=cached,
        )  # fmt: skip
        return self._added(layers, "attention", attended, read, rows, width, count)

    def _added(self, layers: Layers, name: str, read: int, beside: int, rows: int, width: int, count: int) -> int:
        hidden = self.hidden
        bias = hidden if self.bias != "none" else 0
        out = layers.linear(f"{name}_out", read, rows=rows, n=hidden, k=width, layers=count, bias=bias)
        return layers.each(f"{name}_add", "add", [beside, out], rows * hidden, 1, count)

    def _feed_forward(self, layers: Layers, read: int, rows: int, count: int) -> int:
        hidden, inner, both = self.hidden, self.feed_forward, 1 + self.gated
        biased = self.bias != "none"
        normed = layers.norm("feed_forward_norm", self.norm, read, rows=rows, width=hidden, layers=count)
        up = layers.linear(
            "gate_up" if self.gated else "up", normed, rows=rows, n=both * inner, k=hidden, layers=count,
            bias=both * inner * biased,
        )  # fmt: skip
        ops = ACTIVATION_OPS[self.activation] + self.gated
        elements = (both * rows * inner, 0, rows * inner)
        kind = "glu" if self.gated else self.activation.removesuffix("_tanh")
        active = layers.add("activation", kind, [up], elements, count, other_ops=ops * rows * inner)
        down = layers.linear("down", active, rows=rows, n=hidden, k=inner, layers=count, bias=hidden * biased)
        return layers.each("feed_forward_add", "add", [read, down], rows * hidden, 1, count)


@lru_cache(maxsize=32)
def _family(net: EncoderDecoder, encodes: bool, one: bool) -> Family:
    """The tables of a network that writes one token, or several, after what it encodes or with that in its cache."""
    run = _Pass.of(1, net.source, 1 if one else 2, 0)
    member = net._made(run, 1, 0, Tokens(1, 0), encodes=encodes)
    rows = net._rows(_Pass(*symbols(len(run))), encodes=encodes, one=one)
    return Family(member, polynomials(rows.ops, rows.roles, len(run)), (0,) * len(rows.ops))
