"""Op: one row of a workload's table, and what one ATen op costs, from the shapes of its arguments.

A new op is one line here: a name in one of the sets and tables, or a function under `@_formula`. Whether it joins the
kernel of the op that it reads from follows from the same table (`FUSES`).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from rooflint.base.errors import RooflintError
from rooflint.base.text import counted


class Window(NamedTuple):
    """What a 2-D convolution slides over its input; where its two axes differ, the larger stride and dilation."""

    kernel_height: int
    kernel_width: int
    stride: int
    dilation: int
    height: int
    """Of the output."""
    width: int
    """Of the output."""


class Op(NamedTuple):
    """One row of the table; its fields are the columns. Counts are for the whole batch.

    Layers of one shape are one row that `repeats`: its amounts (macs, other_ops, elements) are of all of them, its
    shape (m, n, k, groups, window) is of one.
    """

    name: str
    """Where it is: the module path (`layer1.0.conv1`)."""
    kind: str
    """What it is: conv2d, linear, attention, batch_norm, relu, add, …"""
    macs: int = 0
    """Multiply-accumulates = m·n·k·groups·repeats. [MAC]"""
    other_ops: int = 0
    """Arithmetic that is not part of a multiply-accumulate. [op]"""
    elements_in: int = 0
    """Activations read."""
    elements_weight: int = 0
    """Parameters and other constants read: they do not grow with the batch."""
    elements_out: int = 0
    """Activations written."""
    m: int = 0
    """As a matrix product: rows of the result, that is positions (times batch where weights are shared)."""
    n: int = 0
    """Columns of the result, that is output channels of one group."""
    k: int = 0
    """Length of the sum of products."""
    groups: int = 0
    """Independent products of that shape; 0 where the op is no matrix product."""
    window: tuple[int, ...] = ()
    """`Window` of a 2-D convolution; empty for other ops, and where a table does not say it."""
    repeats: int = 1
    """How often it runs, one after the other."""


COLUMNS = Op._fields
QUANTITIES = (*COLUMNS[2:-2], "repeats")
TABLE = ("op_names", "kinds", *COLUMNS[2:-2], "windows", "repeats")
"""The same as they are called in a Workload."""


class Tokens(NamedTuple):
    """The tokens of each sequence that a table is for."""

    new: int
    """Worked on at once."""
    past: int
    """In the cache, before the first step."""
    steps: int = 1
    """Passes one after the other, of which each adds its new tokens to the cache."""

    def __str__(self) -> str:
        """`2048 new tokens`, `1 new token after 2048`, `255 steps of 1 new token after 2048`."""
        steps = f"{self.steps} steps of " if self.steps > 1 else ""
        after = f" after {self.past}" if self.past else ""
        return f"{steps}{counted(self.new, 'new token')}{after}"


class UnknownOpError(RooflintError):
    """An op that computes and whose cost is not known here."""


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
    window: tuple[int, ...] = ()


Arguments = Mapping[str, Any]
"""By name in the op's schema; tensors are `Tensor`s, everything else is as in the graph."""

#: Another look at the same elements, or bookkeeping: no arithmetic and, in a sensible compiler, no traffic.
FREE = frozenset({
    "view", "reshape", "_unsafe_view", "flatten", "unflatten", "squeeze", "unsqueeze", "view_as", "reshape_as", "ravel",
    "view_as_complex", "view_as_real",
    "permute", "transpose", "swapaxes", "t", "numpy_T", "movedim", "expand", "expand_as", "broadcast_to", "unfold",
    "select", "slice", "narrow", "chunk", "split", "split_with_sizes", "tensor_split", "unbind", "getitem", "diagonal",
    "contiguous", "clone", "alias", "detach", "to", "_to_copy", "type_as", "lift_fresh_copy",
    "dropout", "feature_dropout", "alpha_dropout", "_assert_tensor_metadata",
})  # fmt: skip

#: Make a constant whose values do not depend on the argument that lends its device, type or shape.
CONSTANT = frozenset({
    "new_zeros", "new_ones", "new_full", "new_empty", "zeros_like", "ones_like", "full_like", "empty_like",
    "sym_size", "sym_numel",
})  # fmt: skip

#: Moves elements and computes nothing.
MOVES = frozenset({
    "cat", "concat", "concatenate", "stack", "hstack", "vstack", "index_put", "scatter", "pad",
    "masked_scatter", "constant_pad_nd",
    "reflection_pad2d", "replication_pad2d", "roll", "flip", "copy", "repeat", "tile", "repeat_interleave", "im2col",
    "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "upsample_nearest1d", "upsample_nearest2d",
    "upsample_nearest3d",
})  # fmt: skip

#: Moves the elements that an index names: it reads as many as it writes, not the whole table.
PICKS = frozenset({"index", "index_select", "gather", "take_along_dim", "embedding"})

#: Pools and means: the reduction rides with reading the window.
POOLS = {
    **dict.fromkeys((f"{way}max_pool{axes}d" for way in ("", "adaptive_") for axes in (1, 2, 3)), "max_pool"),
    **dict.fromkeys(("max_pool2d_with_indices", "max_pool3d_with_indices"), "max_pool"),
    **dict.fromkeys((f"{way}avg_pool{axes}d" for way in ("", "adaptive_") for axes in (1, 2, 3)), "avg_pool"),
    **dict.fromkeys(("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "mean"), "avg_pool"),
}

#: Reductions that are no pools: an addition or a comparison for each element of the argument.
REDUCTIONS = frozenset({"sum", "max", "min", "amax", "amin", "argmax", "argmin", "any", "all"})

SOFTMAX_OPS = 5
"""An element: compare for the maximum, subtract, exponential, add to the sum, divide."""

NORM_OPS = 5
"""An element: subtract the mean, take the root of the variance, divide by it, scale, shift."""

GELU_OPS = {"none": 5, "tanh": 9}
"""An element. Exact: scale, erf, add, two products. By tanh: cube (2), scale, add, scale, tanh, add, two products."""

BILINEAR_OPS = 7
"""An element: four products, three additions."""

IOU_OPS = 13
"""Two boxes: four extremes, two differences, two clamps, a product, two sums of areas, a division, a comparison."""

NMS_RIVALS = 1000
"""Boxes of its own class that a box is compared with at most: what the detectors of torchvision cut their lists to."""

#: Ops an element of the result, which needs only the elements of its own place, as with batch norm at inference, whose
#: mean and variance are constants. Exponential, logarithm, error function and tangents are one op each.
ELEMENTWISE = {
    **dict.fromkeys(("add", "sub", "rsub", "mul", "div", "neg", "reciprocal", "pow", "abs", "sign", "remainder"), 1),
    **dict.fromkeys(("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tan", "atan", "tanh", "erf"), 1),
    **dict.fromkeys(("relu", "clamp_min", "clamp_max", "maximum", "minimum", "masked_fill", "where"), 1),
    **dict.fromkeys(("floor", "ceil", "round", "trunc", "floor_divide", "isnan"), 1),
    **dict.fromkeys(("eq", "ne", "gt", "ge", "lt", "le"), 1),
    **dict.fromkeys(("and", "or", "xor"), 1),
    **dict.fromkeys((f"{how}_{word}" for how in ("logical", "bitwise") for word in ("and", "or", "xor", "not")), 1),
    **dict.fromkeys(("hardtanh", "relu6", "clamp", "leaky_relu", "prelu"), 2),  # ReLU6: two comparisons
    **dict.fromkeys(("addcmul", "addcdiv", "lerp"), 3),
    "sigmoid": 4,  # negate, exponential, add, divide
    **dict.fromkeys(("silu", "elu", "mish"), 5),  # SiLU: sigmoid, multiply
    "softplus": 3,  # exponential, add, logarithm
    "hardsigmoid": 4,  # add, clamp (2), divide
    "hardswish": 5,  # hardsigmoid, multiply
    **dict.fromkeys(("batch_norm", "_native_batch_norm_legit_no_training"), NORM_OPS),
    "quantize": 5,  # scale, round, shift, clamp (2)
    "dequantize": 2,  # shift, scale
}

#: Ops an element of the result, which needs elements of other places: a row, a channel, neighbours.
ROWWISE = {
    **dict.fromkeys(("softmax", "_softmax", "log_softmax", "_log_softmax"), SOFTMAX_OPS),
    **dict.fromkeys(("layer_norm", "group_norm", "instance_norm", "rms_norm"), NORM_OPS),
    **dict.fromkeys(("native_layer_norm", "native_group_norm"), NORM_OPS),
    "cumsum": 1,
    "glu": 5,  # sigmoid of one half, multiply by the other half
    "rope": 3,  # times the cosine, its partner times the sine, their sum. Su et al., 2021. arXiv:2104.09864
    "upsample_bilinear2d": BILINEAR_OPS,
    "upsample_trilinear3d": 15,  # eight products, seven additions
    "upsample_bicubic2d": 35,  # five rows of four products and three additions
}

#: Ops that go by another name where a graph was decomposed.
ALIASES = {
    "_softmax": "softmax", "_log_softmax": "log_softmax", "native_layer_norm": "layer_norm",
    "native_group_norm": "group_norm", "_native_batch_norm_legit_no_training": "batch_norm",
    "concat": "cat", "concatenate": "cat", "constant_pad_nd": "pad",
}  # fmt: skip


ATTENTIONS = frozenset({"attention", "causal_attention", "latent_attention"})
"""Kinds of attention, each two products with a softmax between them in one kernel: on all keys; of each token on those
before it, with as many keys as a token sees on average; and of all heads on one short vector for each token."""

FUSES = frozenset({ALIASES.get(op, op) for op in ELEMENTWISE} | {"gelu"})
"""Kinds that run in the kernel of the op whose result they read. All others start a kernel: norms, softmax and
reductions need elements of other places, pools a window, cat and pad change places."""


def is_free(op: str, arguments: Arguments, out: Tensor) -> bool:
    """Whether an op costs nothing at all, and so gets no row; a pad by nothing is one."""
    return op in FREE or (op == "pad" and arguments["self"].shape == out.shape)


def cost(op: str, arguments: Arguments, out: Tensor) -> Cost:
    """What the ATen op of that name costs (`conv2d`; in-place names without their underscore).

    Raises UnknownOpError for an op that no table has.
    """
    kind = ALIASES.get(op, op)
    if op in _FORMULAS:
        return _FORMULAS[op](arguments, out)
    if op in ELEMENTWISE or op in ROWWISE:
        return Cost(kind, (ELEMENTWISE | ROWWISE)[op] * out.numel)
    if op in MOVES or op in PICKS:
        return Cost(kind)
    if op in POOLS:
        return Cost(POOLS[op])
    if op in REDUCTIONS:
        return Cost(op, out.numel if "other" in arguments else arguments["self"].numel)
    raise UnknownOpError(f"unknown op {op}: {REMEDY}")


REMEDY = (
    "its cost is not known, and an op is never counted as zero; write it with ops that are counted, such as linear "
    "layers, or add its cost (docs/growing.md, An op)"
)

Formula = Callable[[Arguments, Tensor], Cost]
_FORMULAS: dict[str, Formula] = {}


def _formula(*ops: str) -> Callable[[Formula], Formula]:
    """The cost of ops that no table can hold, by their arguments and their result."""

    def enter(formula: Formula) -> Formula:
        _FORMULAS.update(dict.fromkeys(ops, formula))
        return formula

    return enter


@_formula("gelu")
def _gelu(arguments: Arguments, out: Tensor) -> Cost:
    """By its form; `GELU_OPS` says what that is."""
    return Cost("gelu", GELU_OPS[arguments.get("approximate") or "none"] * out.numel)


@_formula("linalg_vector_norm")
def _vector_norm(arguments: Arguments, _out: Tensor) -> Cost:
    """Square and add for each element of the argument."""
    return Cost("vector_norm", 2 * arguments["self"].numel)


@_formula("histc")
def _histogram(arguments: Arguments, _out: Tensor) -> Cost:
    """For each element of the argument: its bin, and one more in it."""
    return Cost("histc", 2 * arguments["self"].numel)


@_formula("_grouped_mm")
def _grouped(arguments: Arguments, out: Tensor) -> Cost:
    """Rows of tokens, each times the weights (k, n) of its expert: how they are dealt changes no arithmetic."""
    rows, k = arguments["self"].shape
    if len(arguments["mat2"].shape) != 3:
        raise UnknownOpError("unknown form of _grouped_mm: want rows and the weights of each group")
    return Cost("experts", m=rows, n=out.shape[-1], k=k, groups=1)


@_formula("var")
def _variance(arguments: Arguments, _out: Tensor) -> Cost:
    """For each element of the argument: add to the mean; subtract it, square, add."""
    return Cost("var", 4 * arguments["self"].numel)


@_formula("sort", "argsort", "topk")
def _sort(arguments: Arguments, _out: Tensor) -> Cost:
    """A comparison for each level of a merge or of a heap; `topk` keeps a heap of k."""
    whole = arguments["self"]
    length = whole.shape[arguments.get("dim", -1)] if whole.shape else 1
    kept = arguments.get("k", length)
    return Cost("topk" if "k" in arguments else "sort", whole.numel * max(kept - 1, 0).bit_length())


@_formula("grid_sampler", "grid_sampler_2d")
def _grid_sampler(arguments: Arguments, out: Tensor) -> Cost:
    """Bilinear for each element; for each position the scaled coordinates (6), their floors (2) and weights (4)."""
    if arguments.get("interpolation_mode"):
        raise UnknownOpError("unknown form of grid_sampler: want the bilinear one")
    return Cost("grid_sample", BILINEAR_OPS * out.numel + 12 * (out.numel // out.shape[1]))


@_formula("roi_align")
def _roi_align(arguments: Arguments, out: Tensor) -> Cost:
    """The mean of sampling² bilinear samples for each element."""
    return Cost("roi_align", arguments["sampling"] ** 2 * (BILINEAR_OPS + 1) * out.numel)


@_formula("batched_nms")
def _nms(arguments: Arguments, _out: Tensor) -> Cost:
    """A sort by score, then every pair of boxes; a box has NMS_RIVALS of its own class at most."""
    boxes = arguments["boxes"].shape[0]
    pairs = boxes * min(boxes, NMS_RIVALS) // 2
    return Cost("nms", IOU_OPS * pairs + boxes * max(boxes - 1, 0).bit_length())


@_formula("every")
def _filter(_arguments: Arguments, _out: Tensor) -> Cost:
    """Rows that pass a threshold; the comparison is an op of its own."""
    return Cost("filter")


@_formula("linear")
def _linear(arguments: Arguments, out: Tensor) -> Cost:
    n, k = arguments["weight"].shape
    return Cost("linear", 0, out.numel // n, n, k, 1)


@_formula("conv1d", "conv2d", "conv3d")
def _conv(arguments: Arguments, out: Tensor) -> Cost:
    """Output positions × channels of a group × window of a group; weight (c_out, c_in / groups, *window)."""
    c_out, *window = arguments["weight"].shape
    groups = arguments.get("groups", 1)
    kind = f"conv{len(window) - 1}d"
    product = (out.numel // c_out, c_out // groups, math.prod(window), groups)
    return Cost(kind, 0, *product, _window(arguments, out) if kind == "conv2d" else ())


def _window(arguments: Arguments, out: Tensor) -> Window:
    """A graph has a stride or a dilation for both axes, or one for each."""
    stride, dilation = (
        max(value) if isinstance(value := arguments.get(name, 1), list) else value for name in ("stride", "dilation")
    )
    kernel_height, kernel_width = arguments["weight"].shape[-2:]
    height, width = out.shape[-2:]
    return Window(kernel_height, kernel_width, stride, dilation, height, width)


@_formula("convolution")
def _convolution(arguments: Arguments, out: Tensor) -> Cost:
    """Either kind, as a decomposed graph has it."""
    return _conv_transpose(arguments, out) if arguments.get("transposed") else _conv(arguments, out)


@_formula("addmm", "baddbmm")
def _addmm(arguments: Arguments, out: Tensor) -> Cost:
    """One product (mat1, mat2) or a stack of them (batch1, batch2) that starts at a bias."""
    operand = "batch" if "batch1" in arguments else "mat"
    return _matmul({"self": arguments[f"{operand}1"], "mat2": arguments[f"{operand}2"]}, out)


@_formula("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _conv_transpose(arguments: Arguments, _out: Tensor) -> Cost:
    """Every input position feeds a whole window; weight (c_in, c_out / groups, *window)."""
    c_in, *window = arguments["weight"].shape
    groups = arguments.get("groups", 1)
    kind = f"conv_transpose{len(window) - 1}d"
    return Cost(kind, 0, arguments["input"].numel // c_in, math.prod(window), c_in // groups, groups)


@_formula("scaled_dot_product_attention")
def _attention(arguments: Arguments, _out: Tensor) -> Cost:
    """Q·Kᵀ and P·V as one product of depth E + E_v; scores are scaled, masked where there is a mask, and softmaxed.

    A causal mask halves nothing: skipping what it hides is an optimisation of some kernels, not the definition.
    """
    query, key, value = arguments["query"].shape, arguments["key"].shape, arguments["value"].shape
    heads, length, source = math.prod(query[:-2]), query[-2], key[-2]
    ops_per_score = 1 + SOFTMAX_OPS + (arguments.get("attn_mask") is not None)
    return Cost("attention", heads * length * source * ops_per_score, length, source, query[-1] + value[-1], heads)


@_formula("matmul", "mm", "bmm")
def _matmul(arguments: Arguments, _out: Tensor) -> Cost:
    """(stack, m, k)·(stack, k, n) with axes named …ax and …xb; a vector has the axis x alone."""
    left, right = arguments["self"], arguments.get("other", arguments.get("mat2"))
    stack = "cdefghij"[: max(len(left.shape), len(right.shape), 2) - 2]
    left_axes = (stack + "ax")[-len(left.shape) :] if len(left.shape) > 1 else "x"
    right_axes = (stack + "xb")[-len(right.shape) :] if len(right.shape) > 1 else "x"
    return _contraction(left, left_axes, right, right_axes, stack + "ab")


@_formula("einsum")
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
