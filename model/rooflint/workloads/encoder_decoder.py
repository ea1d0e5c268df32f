"""Encoder–decoders: T5 and Whisper. The encoder reads a text or a recording once; the decoder writes tokens.

EncoderDecoder(…).table(batch=8, new=512)            # a text of 512 tokens, and the first token that is written
EncoderDecoder(…).table(batch=8, past=100)           # the token after 100, on the caches of both attentions
"""

from dataclasses import dataclass
from typing import Literal

from rooflint.workloads.configuration import Activation, Norm
from rooflint.workloads.flow import INPUT
from rooflint.workloads.layers import Architecture, Layers
from rooflint.workloads.ops import GELU_OPS, Tokens
from rooflint.workloads.transformer import ACTIVATION_OPS
from rooflint.workloads.workload import Workload, WorkloadError

Biases = Literal["none", "all", "all but keys"]


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
        layers = Layers()
        encoded = self._encode(layers, batch, source)
        self._decode(layers, batch, new, 0, source, encoded)
        elements = batch * (2 * source * self.mels or source) + batch * new
        cache = batch * self._cache(new, source)
        return self.finished(layers, batch, elements, cache=cache, tokens=Tokens(source, 0))

    def step(self, batch: int, new: int, past: int) -> Workload:
        """New tokens of the decoder after others, with the keys and values of all that the encoder reads."""
        if past + new > self.context:
            raise WorkloadError(f"{self.name}: want at most {self.context} tokens, its context; found {past + new}")
        layers = Layers()
        self._decode(layers, batch, new, past, self.source, None)
        cache = batch * self._cache(past + new, self.source)
        return self.finished(layers, batch, batch * new, cache=cache, tokens=Tokens(new, past))

    def _cache(self, kept: int, source: int) -> int:
        """Keys and values of a sample: of tokens that were written, and of those that the encoder read."""
        return 2 * self._width * self.decoder_layers * (kept + source)

    def layers(self) -> Layers:
        """Encoder and decoder."""
        layers = Layers()
        self._decode(layers, 1, 1, 0, self.source, self._encode(layers, 1, self.source))
        return layers

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

    def _encode(self, layers: Layers, batch: int, source: int) -> int:
        layers.prefix = "encoder_"
        rows, count = batch * source, self.encoder_layers
        last = (
            self._heard(layers, batch, source)
            if self.mels
            else self._read(layers, INPUT, rows, vocabulary=self.vocabulary)
        )
        if not self.buckets:
            added = (rows * self.hidden, source * self.hidden, rows * self.hidden)
            kept = self.source * self.hidden
            last = layers.add("positions_add", "add", [last], added, other_ops=added[0], parameters=kept)
        attended = self._self_attention(layers, last, batch, source, 0, count, causal=False)
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

    def _decode(self, layers: Layers, batch: int, new: int, past: int, source: int, encoded: int | None) -> None:
        """Without what was encoded, its keys and values are in the cache."""
        rows, hidden = batch * new, self.hidden
        # the table of a text is that of the encoder
        last = self._read(
            layers, INPUT, rows, vocabulary=0 if encoded is not None and not self.mels else self.vocabulary
        )
        if not self.buckets:
            added = (rows * hidden, new * hidden, rows * hidden)
            last = layers.add(
                "positions_add", "add", [last], added, other_ops=added[0], parameters=self.context * hidden
            )
        last = self._self_attention(layers, last, batch, new, past, self.decoder_layers, causal=True)
        last = self._cross_attention(layers, last, batch, new, source, encoded)
        last = self._feed_forward(layers, last, rows, self.decoder_layers)
        last = layers.norm("norm", self.norm, last, rows=rows, width=hidden)
        layers.head(last, rows=batch, n=self.vocabulary, k=hidden, tied=self.tied)

    def _cross_attention(
        self, layers: Layers, read: int, batch: int, new: int, source: int, encoded: int | None
    ) -> int:
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

    def _self_attention(
        self, layers: Layers, read: int, batch: int, new: int, past: int, count: int, *, causal: bool
    ) -> int:
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
        if causal:
            layers.cached("cache", qkv, rows * 2 * width, count)
        heads, keys = batch * self.heads, past + new
        # a constant that is made once of its table; it is added where others scale the scores
        bias = self.heads * new * keys if self.buckets else 0
        layers.parameters += self.buckets * self.heads
        attended = layers.attention(
            "attention", [qkv], heads=heads, queries=new, keys=keys, size=self.head_size, layers=count, causal=causal,
            more=batch * bias, cached=causal,
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
