"""Encoders with a shape of their own: windows of an image (SAM), and the samples of a recording (wav2vec 2.0).

ImageEncoder(…).table(batch=8)                       # 8 images
Recording(…).table(batch=8)                          # 8 recordings of the length that the file gives
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rooflint.workloads.flow import INPUT
from rooflint.workloads.layers import Architecture, Layers
from rooflint.workloads.ops import GELU_OPS
from rooflint.workloads.workload import Workload


def _fed_forward(layers: Layers, name: str, read: int, rows: int, hidden: int, inner: int, count: int) -> int:
    """Linear, GELU, linear."""
    up = layers.linear(f"{name}up", read, rows=rows, n=inner, k=hidden, layers=count, bias=inner)
    active = layers.each(f"{name}activation", "gelu", [up], rows * inner, GELU_OPS["none"], count)
    return layers.linear(f"{name}down", active, rows=rows, n=hidden, k=inner, layers=count, bias=hidden)


@dataclass(frozen=True)
class ImageEncoder(Architecture):
    """A vision transformer of which most layers attend within windows. Kirillov et al., SAM, 2023. arXiv:2304.02643"""

    depth: int
    hidden: int
    heads: int
    feed_forward: int
    size: int
    """Of each side of an image. [pixel]"""
    patch: int
    """Of each side. [pixel]"""
    channels: int
    window: int
    """Of each side. [patch]"""
    global_layers: int
    """Layers that attend to the whole image."""
    out_channels: int

    def fits(self) -> Iterator[tuple[bool, str]]:
        """Heads, patches and layers that go into their wholes."""
        yield self.hidden % self.heads == 0, "heads that divide hidden"
        yield self.size % self.patch == 0, "a patch that divides size"
        yield self.global_layers < self.depth, "fewer global_layers than depth"

    def table(self, batch: int = 1, new: int | None = None, past: int = 0) -> Workload:
        """Some images. Raises WorkloadError for tokens."""
        self.refuse_tokens(new, past)
        given = batch * self.channels * self.size**2
        return self.finished(self._rows(batch), batch, given)

    def layers(self) -> Layers:
        """Of one image."""
        return self._rows(1)

    @property
    def side(self) -> int:
        """Of an image. [patch]"""
        return self.size // self.patch

    def _rows(self, batch: int) -> Layers:
        layers, hidden, side = Layers(), self.hidden, self.side
        rows = batch * side**2
        last = layers.conv(
            "patches", INPUT, batch=batch, c_in=self.channels, c_out=hidden, kernel=self.patch, out=(side, side),
            stride=self.patch,
        )  # fmt: skip
        count = rows * hidden
        last = layers.add("positions_add", "add", [last], (count, side**2 * hidden, count), other_ops=count)
        last = self._blocks(layers, "window_", last, batch, self.window, self.depth - self.global_layers)
        last = self._blocks(layers, "global_", last, batch, side, self.global_layers)
        out = self.out_channels
        for name, kernel, c_in in (("neck1", 1, hidden), ("neck2", 3, out)):
            last = layers.conv(
                name, last, batch=batch, c_in=c_in, c_out=out, kernel=kernel, out=(side, side), bias=False
            )
            last = layers.norm(f"{name}_norm", "layer_norm", last, rows=rows, width=out)
        return layers

    def _blocks(self, layers: Layers, name: str, last: int, batch: int, side: int, count: int) -> int:
        """Layers whose windows have so many patches a side; images are padded to a multiple of it."""
        hidden, rows = self.hidden, batch * self.side**2
        layers.prefix = name
        read = layers.norm("attention_norm", "layer_norm", last, rows=rows, width=hidden, layers=count)
        windows = batch * (-(-self.side // side)) ** 2
        padded = windows * side**2
        if padded > rows:
            read = layers.add("pad", "pad", [read], (rows * hidden, 0, padded * hidden), count)
        out = self._attended(layers, read, windows, side, count)
        last = layers.each("attention_add", "add", [last, out], rows * hidden, 1, count)
        read = layers.norm("feed_forward_norm", "layer_norm", last, rows=rows, width=hidden, layers=count)
        down = _fed_forward(layers, "", read, rows, hidden, self.feed_forward, count)
        last = layers.each("feed_forward_add", "add", [last, down], rows * hidden, 1, count)
        layers.prefix = ""
        return last

    def _attended(self, layers: Layers, read: int, windows: int, side: int, count: int) -> int:
        """Attention with a bias for the distance of two patches along each axis, made of queries and two tables."""
        hidden, tokens, size = self.hidden, side**2, self.hidden // self.heads
        rows, heads = windows * tokens, windows * self.heads
        qkv = layers.linear("qkv", read, rows=rows, n=3 * hidden, k=hidden, layers=count, bias=3 * hidden)
        biases = []
        for axis in ("height", "width"):
            amounts = (rows * hidden, side**2 * size, heads * tokens * side)
            biases.append(
                layers.add(
                    f"distance_{axis}",
                    "matmul",
                    [qkv],
                    amounts,
                    count,
                    shape=(heads * side, side, size, side),
                    parameters=(2 * side - 1) * size,
                )
            )
        scores = heads * tokens**2
        amounts = (2 * heads * tokens * side, 0, scores)
        bias = layers.add("distance_add", "add", biases, amounts, count, other_ops=scores)
        attended = layers.attention(
            "attention", [qkv, bias], heads=heads, queries=tokens, keys=tokens, size=size, layers=count, more=scores,
            more_ops=1,
        )  # fmt: skip
        return layers.linear("attention_out", attended, rows=rows, n=hidden, k=hidden, layers=count, bias=hidden)


@dataclass(frozen=True)
class Recording(Architecture):
    """Convolutions over samples, and an encoder behind them. Baevski et al., wav2vec 2.0, 2020. arXiv:2006.11477"""

    samples: int
    """Of a recording, 16 000 a second."""
    conv_width: int
    conv_kernels: tuple[int, ...]
    conv_strides: tuple[int, ...]
    depth: int
    hidden: int
    heads: int
    feed_forward: int
    position_kernel: int
    """Of the convolution that stands for positions."""
    position_groups: int

    def fits(self) -> Iterator[tuple[bool, str]]:
        """A stride for each kernel, and samples for a frame at least."""
        yield len(self.conv_kernels) == len(self.conv_strides), "as many conv_strides as conv_kernels"
        yield self.hidden % self.heads == 0, "heads that divide hidden"
        yield self.hidden % self.position_groups == 0, "position_groups that divide hidden"
        yield self.lengths[-1] >= 1, "samples for one frame at least"

    @property
    def lengths(self) -> list[int]:
        """Samples, and frames behind each convolution."""
        found = [self.samples]
        for kernel, stride in zip(self.conv_kernels, self.conv_strides, strict=True):
            found.append((found[-1] - kernel) // stride + 1)
        return found

    def table(self, batch: int = 1, new: int | None = None, past: int = 0) -> Workload:
        """Some recordings. Raises WorkloadError for tokens."""
        self.refuse_tokens(new, past, "reads a recording")
        return self.finished(self._rows(batch), batch, batch * self.samples)

    def layers(self) -> Layers:
        """Of one recording, and the vector that stands for masked frames in training."""
        layers = self._rows(1)
        layers.parameters += self.hidden
        return layers

    def _rows(self, batch: int) -> Layers:
        layers, hidden, count = Layers(), self.hidden, self.depth
        last, frames = self._heard(layers, batch)
        rows, wide = batch * frames, self.conv_width
        last = layers.norm("features_norm", "layer_norm", last, rows=rows, width=wide)
        last = layers.linear("features", last, rows=rows, n=hidden, k=wide, bias=hidden)
        where = self._positions(layers, last, batch, frames)
        last = layers.each("positions_add", "add", [last, where], rows * hidden, 1)
        last = layers.norm("norm", "layer_norm", last, rows=rows, width=hidden)
        qkv = layers.linear("qkv", last, rows=rows, n=3 * hidden, k=hidden, layers=count, bias=3 * hidden)
        attended = layers.attention(
            "attention", [qkv], heads=batch * self.heads, queries=frames, keys=frames, size=hidden // self.heads,
            layers=count,
        )  # fmt: skip
        out = layers.linear("attention_out", attended, rows=rows, n=hidden, k=hidden, layers=count, bias=hidden)
        last = layers.each("attention_add", "add", [last, out], rows * hidden, 1, count)
        last = layers.norm("attention_norm", "layer_norm", last, rows=rows, width=hidden, layers=count)
        down = _fed_forward(layers, "", last, rows, hidden, self.feed_forward, count)
        last = layers.each("feed_forward_add", "add", [last, down], rows * hidden, 1, count)
        layers.norm("feed_forward_norm", "layer_norm", last, rows=rows, width=hidden, layers=count)
        return layers

    def _heard(self, layers: Layers, batch: int) -> tuple[int, int]:
        """Convolutions, the first of which has a norm behind it: the last row, and its frames."""
        last, c_in, wide, lengths = INPUT, 1, self.conv_width, self.lengths
        for place, (kernel, stride) in enumerate(zip(self.conv_kernels, self.conv_strides, strict=True)):
            read, length = batch * lengths[place] * c_in, lengths[place + 1]
            last = layers.conv(
                f"conv{place}", last, batch=batch, c_in=c_in, c_out=wide, kernel=kernel, out=(length,), stride=stride,
                bias=False, elements_in=read,
            )  # fmt: skip
            if not place:
                last = layers.norm("conv0_norm", "group_norm", last, rows=batch * length, width=wide)
            last = layers.each(f"conv{place}_gelu", "gelu", [last], batch * length * wide, GELU_OPS["none"])
            c_in = wide
        return last, lengths[-1]

    def _positions(self, layers: Layers, read: int, batch: int, frames: int) -> int:
        """A grouped convolution, padded on both sides by half a window; an even one has a frame more, which is cut off.

        Its weights are normalised: they have a length for each place of the window.
        """
        hidden, kernel, count = self.hidden, self.position_kernel, batch * frames * self.hidden
        longer = frames + (kernel % 2 == 0)
        last = layers.conv(
            "positions", read, batch=batch, c_in=hidden, c_out=hidden, kernel=kernel, out=(longer,),
            groups=self.position_groups, elements_in=count,
        )  # fmt: skip
        layers.parameters += kernel
        return layers.each("positions_gelu", "gelu", [last], count, GELU_OPS["none"])
