"""Diffusion: one step of denoising, by a transformer on patches (DiT) or by a U-Net with attention (Stable Diffusion).

    DiffusionTransformer(…).table(batch=8)               # 8 latents, a time step and a class of each
    UNet(…).table(batch=2)                               # two latents and their texts: one image under guidance

A picture takes as many steps as its sampler has, each of them this table.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rooflint.workloads.flow import INPUT
from rooflint.workloads.layers import Architecture, Layers
from rooflint.workloads.ops import ELEMENTWISE, GELU_OPS, NORM_OPS
from rooflint.workloads.workload import Workload

SILU_OPS = ELEMENTWISE["silu"]


def _waves(layers: Layers, name: str, rows: int, width: int) -> int:
    """Sines and cosines of a number: half the width of frequencies, times the number, and both functions of each."""
    return layers.add(name, "sin", [INPUT], (rows, width // 2, rows * width), other_ops=rows * (width // 2) * 3,
                      parameters=0)  # fmt: skip


def _two_products(layers: Layers, name: str, read: int, rows: int, widths: Sequence[int]) -> int:
    """Linear, SiLU, linear."""
    given, inner, out = widths
    last = layers.linear(f"{name}_1", read, rows=rows, n=inner, k=given, bias=inner)
    last = layers.each(f"{name}_silu", "silu", [last], rows * inner, SILU_OPS)
    return layers.linear(f"{name}_2", last, rows=rows, n=out, k=inner, bias=out)


@dataclass(frozen=True)
class DiffusionTransformer(Architecture):
    """A transformer whose norms are scaled and shifted by time and class. Peebles and Xie, 2022. arXiv:2212.09748"""

    depth: int
    hidden: int
    heads: int
    feed_forward: int
    side: int
    """Of the latent."""
    channels: int
    """Of the latent."""
    out_channels: int
    """Noise, and its variance."""
    patch: int
    classes: int
    """With the one that stands for none."""
    frequencies: int
    """Width of the sines and cosines of a time step."""

    def fits(self) -> Iterator[tuple[bool, str]]:
        """Heads and patches that go into their wholes."""
        yield self.hidden % self.heads == 0, "heads that divide hidden"
        yield self.side % self.patch == 0, "a patch that divides side"

    def table(self, batch: int = 1, new: int | None = None, past: int = 0) -> Workload:
        """One step for some latents. Raises WorkloadError for tokens."""
        self.refuse_tokens(new, past)
        layers = self._rows(batch)
        given = batch * (self.channels * self.side**2 + 2)
        return self.finished(layers, batch, given)

    def layers(self) -> Layers:
        """Of one latent."""
        return self._rows(1)

    @property
    def embedding_parameters(self) -> int:
        """Of the classes."""
        return self.classes * self.hidden

    @property
    def tokens(self) -> int:
        """Patches of a latent."""
        return (self.side // self.patch) ** 2

    def _rows(self, batch: int) -> Layers:
        layers, hidden, rows, edge = Layers(), self.hidden, batch * self.tokens, self.side // self.patch
        last = layers.conv(
            "patches", INPUT, batch=batch, c_in=self.channels, c_out=hidden, kernel=self.patch, out=(edge, edge),
            stride=self.patch,
        )  # fmt: skip
        count = rows * hidden
        last = layers.add("positions_add", "add", [last], (count, self.tokens * hidden, count), other_ops=count)
        condition = self._condition(layers, batch)
        last = self._blocks(layers, last, condition, batch)
        shifts = self._modulation(layers, "last_", condition, batch, 2, 1)
        last = self._modulated(layers, "last_", last, shifts, rows, 1)
        pixels = self.patch**2 * self.out_channels
        layers.linear("head", last, rows=rows, n=pixels, k=hidden, bias=pixels)
        return layers

    def _condition(self, layers: Layers, batch: int) -> int:
        hidden = self.hidden
        waves = _waves(layers, "time_waves", batch, self.frequencies)
        time = _two_products(layers, "time", waves, batch, (self.frequencies, hidden, hidden))
        kind = layers.embedding("class", INPUT, rows=batch, width=hidden, vocabulary=self.classes)
        return layers.each("condition_add", "add", [time, kind], batch * hidden, 1)

    def _modulation(self, layers: Layers, name: str, read: int, batch: int, parts: int, count: int) -> int:
        """Shifts, scales and gates of a latent."""
        active = layers.each(f"{name}silu", "silu", [read], batch * self.hidden, SILU_OPS, count)
        n = parts * self.hidden
        return layers.linear(f"{name}modulation", active, rows=batch, n=n, k=self.hidden, bias=n, layers=count)

    def _modulated(self, layers: Layers, name: str, read: int, shifts: int, rows: int, count: int) -> int:
        """A norm without weights, scaled by one more than its scale, and shifted."""
        size, samples = rows * self.hidden, rows // self.tokens
        normed = layers.add(f"{name}norm", "layer_norm", [read], (size, 0, size), count, other_ops=NORM_OPS * size)
        both = (size + 2 * samples * self.hidden, 0, size)
        ops = 2 * size + samples * self.hidden
        return layers.add(f"{name}modulated", "addcmul", [normed, shifts], both, count, other_ops=ops)

    def _gated(self, layers: Layers, name: str, reads: Sequence[int], rows: int) -> int:
        size, samples = rows * self.hidden, rows // self.tokens
        amounts = (2 * size + samples * self.hidden, 0, size)
        return layers.add(f"{name}add", "addcmul", reads, amounts, self.depth, other_ops=2 * size)

    def _blocks(self, layers: Layers, last: int, condition: int, batch: int) -> int:
        hidden, rows, depth, inner = self.hidden, batch * self.tokens, self.depth, self.feed_forward
        shifts = self._modulation(layers, "", condition, batch, 6, depth)
        read = self._modulated(layers, "attention_", last, shifts, rows, depth)
        qkv = layers.linear("qkv", read, rows=rows, n=3 * hidden, k=hidden, layers=depth, bias=3 * hidden)
        attended = layers.attention(
            "attention", [qkv], heads=batch * self.heads, queries=self.tokens, keys=self.tokens,
            size=hidden // self.heads, layers=depth,
        )  # fmt: skip
        out = layers.linear("attention_out", attended, rows=rows, n=hidden, k=hidden, layers=depth, bias=hidden)
        last = self._gated(layers, "attention_", [last, out, shifts], rows)
        read = self._modulated(layers, "feed_forward_", last, shifts, rows, depth)
        up = layers.linear("up", read, rows=rows, n=inner, k=hidden, layers=depth, bias=inner)
        active = layers.each("activation", "gelu", [up], rows * inner, GELU_OPS["tanh"], depth)
        down = layers.linear("down", active, rows=rows, n=hidden, k=inner, layers=depth, bias=hidden)
        return self._gated(layers, "feed_forward_", [last, down, shifts], rows)


@dataclass(frozen=True)
class UNet(Architecture):
    """A U-Net of which some levels attend to themselves and to a text.

    Rombach et al., 2022. arXiv:2112.10752. Podell et al., SDXL, 2023. arXiv:2307.01952
    """

    channels: int
    """Of the first level."""
    multipliers: tuple[int, ...]
    """Of the channels, level by level; each level halves the sides of the one above it."""
    blocks: int
    """Of a level on its way down; it has one more on its way up."""
    depths: tuple[int, ...]
    """Transformer blocks behind each of these, in the levels that attend; those above them do not."""
    latent: int
    """Channels of the latent."""
    side: int
    """Of the latent."""
    text: int
    """Width of a token of the text."""
    text_tokens: int
    head_size: int = 0
    """Of all levels, unless they have as many heads."""
    heads: int = 0
    """Of each level, where their sizes differ."""
    lowest: int = 0
    """Levels below those that attend."""
    middle: int = 0
    """Transformer blocks of the middle; as many as the last of those levels has if 0."""
    linear: bool = True
    """Whether products are around transformer blocks, and not convolutions of 1 × 1."""
    vector: int = 0
    """Width of what describes the image as a whole: its pooled text, and sines and cosines of sizes; none if 0."""
    sizes: int = 0
    """Numbers of which it has sines and cosines."""
    frequencies: int = 0
    """Width of the sines and cosines of each."""

    def fits(self) -> Iterator[tuple[bool, str]]:
        """Levels that halve, and heads that go into those with attention."""
        count = len(self.multipliers)
        yield 0 < len(self.depths) <= count - self.lowest, "no more depths than multipliers, and one at least"
        yield self.side % 2 ** (count - 1) == 0, "a side that each level can halve"
        yield (self.head_size > 0) != (self.heads > 0), "a head_size or heads, and not both"
        by, name = (self.head_size, "a head_size that divides") if self.head_size else (self.heads, "heads that divide")
        attending = [*filter(self.depth, range(count)), count - 1]
        divided = by > 0 and all(self.channels * self.multipliers[level] % by == 0 for level in attending)
        yield divided, f"{name} channels with attention"
        yield self.vector >= self.sizes * self.frequencies, "a vector with room for all sizes"

    def table(self, batch: int = 1, new: int | None = None, past: int = 0) -> Workload:
        """One step for some latents, each with a text. Raises WorkloadError for tokens."""
        self.refuse_tokens(new, past)
        layers = self._rows(batch)
        pooled = self.vector - self.sizes * self.frequencies
        given = self.latent * self.side**2 + self.text * self.text_tokens + pooled + self.sizes + 1
        return self.finished(layers, batch, batch * given)

    def layers(self) -> Layers:
        """Of one latent."""
        return self._rows(1)

    @property
    def said(self) -> int:
        """Width of what time and image say to each block."""
        return 4 * self.channels

    def depth(self, level: int) -> int:
        """Transformer blocks behind each block of a level."""
        place = level - (len(self.multipliers) - self.lowest - len(self.depths))
        return self.depths[place] if 0 <= place < len(self.depths) else 0

    @property
    def middle_depth(self) -> int:
        """Transformer blocks of the middle."""
        return self.middle or self.depths[-1]

    def size_of_head(self, width: int) -> int:
        """In a level of so many channels."""
        return self.head_size or width // self.heads

    def _rows(self, batch: int) -> Layers:
        layers, width, side = Layers(), self.channels, self.side
        at = _At(self, layers, batch, self._said(layers, batch))
        last = at.conv("conv_in", INPUT, self.latent, width, side)
        kept, top = [(last, width)], len(self.multipliers) - 1
        for level, times in enumerate(self.multipliers):
            for place in range(self.blocks):
                layers.prefix = f"down{level}_{place}_"
                last = at.block(last, width, times * self.channels, side, self.depth(level))
                width = times * self.channels
                kept.append((last, width))
            if level < top:
                layers.prefix = f"down{level}_"
                last, side = at.conv("halved", last, width, width, side // 2, stride=2), side // 2
                kept.append((last, width))
        layers.prefix = "middle_0_"
        last = at.block(last, width, width, side, self.middle_depth)
        layers.prefix = "middle_1_"
        last = at.block(last, width, width, side, 0)
        for level, times in reversed([*enumerate(self.multipliers)]):
            for place in range(self.blocks + 1):
                layers.prefix = f"up{level}_{place}_"
                beside, more = kept.pop()
                count = batch * side**2 * (width + more)
                last = layers.add("joined", "cat", [last, beside], (count, 0, count))
                last = at.block(last, width + more, times * self.channels, side, self.depth(level))
                width = times * self.channels
            if level:
                layers.prefix, side = f"up{level}_", 2 * side
                count = batch * side**2 * width
                last = layers.add("doubled", "upsample_nearest2d", [last], (count // 4, 0, count))
                last = at.conv("doubled_conv", last, width, width, side)
        layers.prefix = ""
        last = at.active("out", last, width, side)
        at.conv("conv_out", last, width, self.latent, side)
        return layers

    def _said(self, layers: Layers, batch: int) -> int:
        """What a time step, a pooled text and sizes say to each block."""
        time = self.said
        waves = _waves(layers, "time_waves", batch, self.channels)
        when = _two_products(layers, "time", waves, batch, (self.channels, time, time))
        if not self.vector:
            return when
        waves = _waves(layers, "size_waves", batch * self.sizes, self.frequencies)
        count = batch * self.vector
        vector = layers.add("vector", "cat", [INPUT, waves], (count, 0, count))
        what = _two_products(layers, "vector", vector, batch, (self.vector, time, time))
        return layers.each("time_add", "add", [when, what], batch * time, 1)


@dataclass(frozen=True)
class _At:
    """Rows of a U-Net while they are collected."""

    net: UNet
    layers: Layers
    batch: int
    said: int

    def conv(self, name: str, read: int, c_in: int, c_out: int, side: int, *, kernel: int = 3, stride: int = 1) -> int:
        """A convolution with a result of those sides."""
        return self.layers.conv(
            name, read, batch=self.batch, c_in=c_in, c_out=c_out, kernel=kernel, out=(side, side), stride=stride
        )

    def active(self, name: str, read: int, width: int, side: int) -> int:
        """A group norm and a SiLU."""
        rows = self.batch * side**2
        normed = self.layers.norm(f"{name}_norm", "group_norm", read, rows=rows, width=width)
        return self.layers.each(f"{name}_silu", "silu", [normed], rows * width, SILU_OPS)

    def block(self, read: int, c_in: int, c_out: int, side: int, depth: int) -> int:
        """Two convolutions with what was said between them, and transformer blocks behind them."""
        layers, count, time = self.layers, self.batch * side**2 * c_out, self.net.said
        last = self.conv("conv1", self.active("1", read, c_in, side), c_in, c_out, side)
        said = layers.each("said_silu", "silu", [self.said], self.batch * time, SILU_OPS)
        said = layers.linear("said", said, rows=self.batch, n=c_out, k=time, bias=c_out)
        last = layers.add("said_add", "add", [last, said], (count + self.batch * c_out, 0, count), other_ops=count)
        last = self.conv("conv2", self.active("2", last, c_out, side), c_out, c_out, side)
        beside = read if c_in == c_out else self.conv("shortcut", read, c_in, c_out, side, kernel=1)
        last = layers.each("add", "add", [beside, last], count, 1)
        return self.transformer(last, c_out, side**2, depth) if depth else last

    def transformer(self, read: int, width: int, tokens: int, depth: int) -> int:
        """Blocks that attend to the image and to the text, between two products."""
        layers, rows = self.layers, self.batch * tokens
        normed = layers.norm("in_norm", "group_norm", read, rows=rows, width=width)
        last = self.around("in", normed, width, tokens)
        for name, keys in (("self", tokens), ("text", self.net.text_tokens)):
            normed = layers.norm(f"{name}_norm", "layer_norm", last, rows=rows, width=width, layers=depth)
            last = self.attended(name, normed, last, width, tokens, keys, depth)
        normed = layers.norm("feed_forward_norm", "layer_norm", last, rows=rows, width=width, layers=depth)
        inner = 4 * width
        up = layers.linear("gate_up", normed, rows=rows, n=2 * inner, k=width, layers=depth, bias=2 * inner)
        count = rows * inner
        ops = (GELU_OPS["none"] + 1) * count
        active = layers.add("activation", "glu", [up], (2 * count, 0, count), depth, other_ops=ops)
        down = layers.linear("down", active, rows=rows, n=width, k=inner, layers=depth, bias=width)
        last = layers.each("feed_forward_add", "add", [last, down], rows * width, 1, depth)
        out = self.around("out", last, width, tokens)
        return layers.each("out_add", "add", [read, out], rows * width, 1)

    def around(self, name: str, read: int, width: int, tokens: int) -> int:
        """A product before or behind transformer blocks, or a convolution of 1 × 1."""
        if not self.net.linear:
            return self.conv(name, read, width, width, math.isqrt(tokens), kernel=1)
        return self.layers.linear(name, read, rows=self.batch * tokens, n=width, k=width, bias=width)

    def attended(self, name: str, read: int, beside: int, width: int, tokens: int, keys: int, depth: int) -> int:
        """Attention to the image itself, or to the text, whose keys and values are made anew."""
        layers, rows, net = self.layers, self.batch * tokens, self.net
        size = net.size_of_head(width)
        if name == "self":
            reads = [layers.linear("qkv", read, rows=rows, n=3 * width, k=width, layers=depth)]
        else:
            asked = layers.linear("text_query", read, rows=rows, n=width, k=width, layers=depth)
            told = layers.linear("text_kv", INPUT, rows=self.batch * keys, n=2 * width, k=net.text, layers=depth)
            reads = [asked, told]
        attended = layers.attention(
            f"{name}_attention", reads, heads=self.batch * width // size, queries=tokens, keys=keys, size=size,
            layers=depth,
        )  # fmt: skip
        out = layers.linear(f"{name}_out", attended, rows=rows, n=width, k=width, layers=depth, bias=width)
        return layers.each(f"{name}_add", "add", [beside, out], rows * width, 1, depth)
