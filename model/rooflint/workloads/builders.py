"""Builders: a matrix product, a chain of linear layers or one convolution as a workload."""

import math
from collections.abc import Sequence
from itertools import pairwise

from rooflint.workloads.flow import Flow
from rooflint.workloads.ops import Op, Window
from rooflint.workloads.workload import Workload, WorkloadError, whole_number


def gemm(m: int, n: int, k: int, batch: int = 1) -> Workload:
    """One matrix product (m × k)·(k × n). The second operand is a weight, so a batch stacks rows: (batch·m × k)."""
    return _chain(f"gemm-{m}x{n}x{k}", [_product("gemm", "gemm", (m, n, k), batch)], batch)


def mlp(widths: Sequence[int], batch: int = 1, bias: bool = True) -> Workload:
    """Linear layers between consecutive widths. The bias is read but costs no op: it rides in the accumulator."""
    if len(widths) < 2:
        raise WorkloadError(f"widths: want at least two, found {list(widths)}")
    whole = [whole_number("widths", width) for width in widths]
    layers = [
        _product(f"fc{position}", "linear", (1, wide_out, wide_in), batch, bias)
        for position, (wide_in, wide_out) in enumerate(pairwise(whole), start=1)
    ]
    return _chain("mlp-" + "-".join(map(str, whole)), layers, batch)


def _chain(name: str, ops: Sequence[Op], batch: int) -> Workload:
    """Ops each of which reads all that the one before it writes, and weights of its own."""
    flow = Flow.chain(len(ops), ops[0].elements_in, sum(op.elements_weight for op in ops))
    return Workload.from_ops(name, ops, batch, flow=flow)


def _product(name: str, kind: str, shape: tuple[int, int, int], batch: int, bias: bool = False) -> Op:
    m, n, k = (whole_number(axis, size) for axis, size in zip("mnk", shape, strict=True))
    rows = whole_number("batch", batch) * m
    return matrix_op(name, kind, (rows, n, k, 1), (rows * k, n * k + bool(bias) * n, rows * n))


def matrix_op(name: str, kind: str, shape: tuple[int, int, int, int], elements: tuple[int, int, int]) -> Op:
    """An op that is a matrix product of shape (m, n, k, groups) on elements (in, weight, out)."""
    return Op(name, kind, math.prod(shape), 0, *elements, *shape)


def conv2d(
    *,
    n: int = 1,
    c_in: int,
    h: int,
    w: int,
    c_out: int,
    kernel: int | tuple[int, int],
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] = 0,
    groups: int = 1,
    dilation: int | tuple[int, int] = 1,
    bias: bool = True,
) -> Workload:
    """One convolution of n images c_in × h × w, as the matrix product that it is.

    A product with a zero of the padding counts like any other: the usual kernels compute it. Pairs are (vertical,
    horizontal).
    """
    n, c_in, c_out, groups = (
        whole_number("n", n),
        whole_number("c_in", c_in),
        whole_number("c_out", c_out),
        whole_number("groups", groups),
    )
    if c_in % groups or c_out % groups:
        raise WorkloadError(f"groups: want a divisor of {c_in} and {c_out} channels, found {groups}")
    size, window = (whole_number("h", h), whole_number("w", w)), _pair("kernel", kernel)
    out = _conv_out(size, window, _pair("stride", stride), _pair("padding", padding, 0), _pair("dilation", dilation))
    positions, depth = n * math.prod(out), c_in // groups * math.prod(window)
    elements = (n * c_in * math.prod(size), c_out * depth + bool(bias) * c_out, positions * c_out)
    op = matrix_op("conv2d", "conv2d", (positions, c_out // groups, depth, groups), elements)
    slid = Window(*window, max(_pair("stride", stride)), max(_pair("dilation", dilation)), *out)
    return _chain(f"conv2d-{c_in}x{h}x{w}-{c_out}", [op._replace(window=slid)], n)


def _conv_out(
    size: tuple[int, int],
    window: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
) -> tuple[int, int]:
    """Output size (size + 2·padding − dilation·(kernel − 1) − 1) / stride + 1, rounded down."""
    spans = zip(size, window, stride, padding, dilation, strict=True)
    high, wide = ((long + 2 * pad - gap * (taps - 1) - 1) // step + 1 for long, taps, step, pad, gap in spans)
    if high < 1 or wide < 1:
        raise WorkloadError(f"kernel: want one that fits the padded input {size}, found {window}, dilation {dilation}")
    return high, wide


def _pair(what: str, value: int | tuple[int, int], least: int = 1) -> tuple[int, int]:
    first, second = value if isinstance(value, tuple | list) and len(value) == 2 else (value, value)
    return whole_number(what, first, least), whole_number(what, second, least)
