"""What one ATen op costs, from the shapes of its arguments.

Needs no torch: `rooflint.capture` translates the graph. An op that is in no table here is an error, never a zero.
docs/method-workloads.md gives the reason of each convention.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from rooflint.errors import RooflintError


class UnknownOpError(RooflintError):
    """An op that computes, but that nobody has taught us to count."""


@dataclass(frozen=True)
class Tensor:
    """Shape of an argument, and whether it depends on the network's input (activations) or not (weights)."""

    shape: tuple[int, ...]
    is_data: bool = True

    @property
    def numel(self) -> int:
        """Elements."""
        return math.prod(self.shape)


class Cost(NamedTuple):
    """Arithmetic of one op; its multiply-accumulates are m·n·k·groups."""

    kind: str
    other_ops: int = 0
    m: int = 0
    n: int = 0
    k: int = 0
    groups: int = 0


Arguments = Mapping[str, Any]
"""By name in the op's schema; tensors are `Tensor`s, everything else is as in the graph."""

#: Another look at the same elements, or bookkeeping: no arithmetic and, in a sensible compiler, no traffic.
FREE = frozenset({
    "view", "reshape", "_unsafe_view", "flatten", "unflatten", "squeeze", "unsqueeze",
    "permute", "transpose", "swapaxes", "t", "movedim", "expand", "expand_as",
    "select", "slice", "narrow", "chunk", "split", "split_with_sizes", "tensor_split", "unbind", "getitem",
    "contiguous", "clone", "alias", "detach", "to", "dropout", "feature_dropout",
})  # fmt: skip

#: Make a constant whose values do not depend on the argument that lends its device and type.
CONSTANT = frozenset({"new_zeros", "new_ones", "new_full"})

#: Moves elements and computes nothing.
MOVES = frozenset({"cat", "stack", "pad", "constant_pad_nd", "roll", "flip", "index", "copy", "upsample_nearest2d"})

#: Pools and means: the reduction rides with reading the window.
POOLS = {
    "max_pool2d": "max_pool",
    "max_pool3d": "max_pool",
    "adaptive_max_pool2d": "max_pool",
    "avg_pool2d": "avg_pool",
    "avg_pool3d": "avg_pool",
    "adaptive_avg_pool2d": "avg_pool",
    "adaptive_avg_pool3d": "avg_pool",
    "mean": "avg_pool",
}

SOFTMAX_OPS = 5
"""An element: compare for the maximum, subtract, exponential, add to the sum, divide."""

NORM_OPS = 5
"""An element: subtract the mean, take the root of the variance, divide by it, scale, shift."""

#: Ops an element of the result; exponential, error function and hyperbolic tangent are one op each.
ELEMENTWISE = {
    **dict.fromkeys(("add", "sub", "mul", "div", "neg", "exp", "sqrt", "rsqrt", "pow", "abs", "tanh"), 1),
    **dict.fromkeys(("relu", "clamp_min", "clamp_max", "maximum", "minimum", "masked_fill", "where"), 1),
    **dict.fromkeys(("hardtanh", "clamp", "leaky_relu"), 2),  # ReLU6 is a hardtanh: two comparisons
    "sigmoid": 4,  # negate, exponential, add, divide
    "silu": 5,  # sigmoid, multiply
    "hardsigmoid": 4,  # add, clamp (2), divide
    "hardswish": 5,  # hardsigmoid, multiply
    "softmax": SOFTMAX_OPS,
    **dict.fromkeys(("batch_norm", "layer_norm", "group_norm", "instance_norm"), NORM_OPS),
    "upsample_bilinear2d": 7,  # four products, three additions
}


def is_free(op: str, arguments: Arguments, out: Tensor) -> bool:
    """Whether an op costs nothing at all, and so gets no row; a pad by nothing is one."""
    return op in FREE or (op == "pad" and arguments["self"].shape == out.shape)


def cost(op: str, arguments: Arguments, out: Tensor) -> Cost:
    """The price of the ATen op of that name (`conv2d`; in-place names without their underscore).

    Raises UnknownOpError for an op that no table has.
    """
    if op in _PRODUCTS:
        return _PRODUCTS[op](arguments, out)
    if op in ELEMENTWISE:
        return Cost(op, ELEMENTWISE[op] * out.numel)
    if op in MOVES:
        return Cost(op)
    if op in POOLS:
        return Cost(POOLS[op])
    raise UnknownOpError(f"unknown op {op}: teach rooflint.aten what it costs; an op is never counted as zero")


def _gelu(arguments: Arguments, out: Tensor) -> Cost:
    """Exact: scale, erf, add, two products. In its tanh form: cube (2), scale, add, scale, tanh, add, two products."""
    return Cost("gelu", (9 if arguments.get("approximate") == "tanh" else 5) * out.numel)


def _vector_norm(arguments: Arguments, _out: Tensor) -> Cost:
    """Square and add for each element of the argument."""
    return Cost("vector_norm", 2 * arguments["self"].numel)


def _linear(arguments: Arguments, out: Tensor) -> Cost:
    n, k = arguments["weight"].shape
    return Cost("linear", 0, out.numel // n, n, k, 1)


def _conv(arguments: Arguments, out: Tensor) -> Cost:
    """Output positions × channels of a group × window of a group; weight (c_out, c_in / groups, *window)."""
    c_out, *window = arguments["weight"].shape
    groups = arguments.get("groups", 1)
    kind = f"conv{len(window) - 1}d"
    return Cost(kind, 0, out.numel // c_out, c_out // groups, math.prod(window), groups)


def _conv_transpose(arguments: Arguments, _out: Tensor) -> Cost:
    """Every input position feeds a whole window; weight (c_in, c_out / groups, *window)."""
    c_in, *window = arguments["weight"].shape
    groups = arguments.get("groups", 1)
    kind = f"conv_transpose{len(window) - 1}d"
    return Cost(kind, 0, arguments["input"].numel // c_in, math.prod(window), c_in // groups, groups)


def _attention(arguments: Arguments, _out: Tensor) -> Cost:
    """Q·Kᵀ and P·V as one product of depth E + E_v; scores are scaled, masked where there is a mask, and softmaxed.

    A causal mask halves nothing: skipping what it hides is an optimisation of some kernels, not the definition.
    """
    query, key, value = arguments["query"].shape, arguments["key"].shape, arguments["value"].shape
    heads, length, source = math.prod(query[:-2]), query[-2], key[-2]
    ops_per_score = 1 + SOFTMAX_OPS + (arguments.get("attn_mask") is not None)
    return Cost("attention", heads * length * source * ops_per_score, length, source, query[-1] + value[-1], heads)


def _matmul(arguments: Arguments, _out: Tensor) -> Cost:
    """(stack, m, k)·(stack, k, n) with axes named …ax and …xb; a vector has the axis x alone."""
    left, right = arguments["self"], arguments.get("other", arguments.get("mat2"))
    stack = "cdefghij"[: max(len(left.shape), len(right.shape), 2) - 2]
    left_axes = (stack + "ax")[-len(left.shape) :] if len(left.shape) > 1 else "x"
    right_axes = (stack + "xb")[-len(right.shape) :] if len(right.shape) > 1 else "x"
    return _contraction(left, left_axes, right, right_axes, stack + "ab")


def _einsum(arguments: Arguments, _out: Tensor) -> Cost:
    tensors, equation = arguments["tensors"], arguments["equation"].replace(" ", "")
    inputs, _, result = equation.partition("->")
    axes = inputs.split(",")
    whole = len(axes) == 2 and "->" in equation and "." not in equation
    if not whole or any(len(set(labels)) != len(labels) for labels in axes):
        raise UnknownOpError(f"unknown form einsum '{equation}': want two operands, named axes and '->'")
    if any(axis not in result for axis in set(axes[0]) ^ set(axes[1])):
        raise UnknownOpError(f"unknown form einsum '{equation}': it sums over an axis of one operand")
    return _contraction(tensors[0], axes[0], tensors[1], axes[1], result)


def _contraction(left: Tensor, left_axes: str, right: Tensor, right_axes: str, kept: str) -> Cost:
    """The matrix product behind two operands with named axes.

    Axes of both that are kept are groups, axes of both that are summed are k, the others are m and n. An operand that
    is a weight stands on the right, so that m grows with the batch. An axis of size 1 is as good as none.
    """
    if not left.is_data and right.is_data:
        left, left_axes, right, right_axes = right, right_axes, left, left_axes
    lhs = {axis: size for axis, size in zip(left_axes, left.shape, strict=True) if size > 1}
    rhs = {axis: size for axis, size in zip(right_axes, right.shape, strict=True) if size > 1}
    shared = lhs.keys() & rhs.keys()
    return Cost(
        "matmul",
        m=math.prod(size for axis, size in lhs.items() if axis not in shared),
        n=math.prod(size for axis, size in rhs.items() if axis not in shared),
        k=math.prod(lhs[axis] for axis in shared if axis not in kept),
        groups=math.prod(lhs[axis] for axis in shared if axis in kept),
    )


_PRODUCTS: dict[str, Callable[[Arguments, Tensor], Cost]] = {
    "linear": _linear,
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _conv),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _conv_transpose),
    **dict.fromkeys(("matmul", "mm", "bmm"), _matmul),
    "einsum": _einsum,
    "scaled_dot_product_attention": _attention,
    "gelu": _gelu,
    "linalg_vector_norm": _vector_norm,
}
