"""Ops of ONNX: which op of PyTorch computes the same, with which arguments; `rooflint.workloads.ops` has the costs.

A new op is one line here: a name in one of the tables, or a function under `@_translates`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from rooflint.workloads.ops import REMEDY, Tensor, UnknownOpError


@dataclass(frozen=True)
class Node:
    """A node whose shapes are known."""

    op: str
    inputs: Sequence[Tensor | None]
    values: Sequence[NDArray[Any] | None]
    """Of inputs that are short constants: sizes, axes and the like."""
    attributes: Mapping[str, Any]
    out: Tensor
    """The first result."""

    def tensor(self, place: int) -> Tensor:
        """An input that the op must have."""
        found = self.inputs[place]
        assert found is not None
        return found

    def has(self, place: int) -> bool:
        """Whether an optional input is given."""
        return len(self.inputs) > place and self.inputs[place] is not None

    def text(self, name: str, otherwise: str) -> str:
        """An attribute that is a word."""
        found = self.attributes.get(name, otherwise)
        return found.decode() if isinstance(found, bytes) else str(found)


#: Another look at the same elements, or bookkeeping.
VIEWS = frozenset({
    "Identity", "Cast", "CastLike", "BitCast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Expand",
    "Slice", "Split", "Dropout",
})  # fmt: skip

#: Computes for each element of the result what the op of PyTorch does.
SAME = {
    "Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Neg": "neg", "Reciprocal": "reciprocal", "Pow": "pow",
    "Abs": "abs", "Sign": "sign", "Mod": "remainder", "Exp": "exp", "Log": "log", "Sqrt": "sqrt", "Sin": "sin",
    "Cos": "cos", "Tan": "tan", "Atan": "atan", "Tanh": "tanh", "Erf": "erf", "Relu": "relu", "Where": "where",
    "Floor": "floor", "Ceil": "ceil", "Round": "round", "IsNaN": "isnan", "Equal": "eq", "Greater": "gt", "Less": "lt",
    "GreaterOrEqual": "ge", "LessOrEqual": "le", "And": "logical_and", "Or": "logical_or", "Xor": "logical_xor",
    "Not": "logical_not", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor",
    "BitwiseNot": "bitwise_not", "LeakyRelu": "leaky_relu", "PRelu": "prelu", "Sigmoid": "sigmoid", "Elu": "elu",
    "Mish": "mish", "Swish": "silu", "Softplus": "softplus", "HardSigmoid": "hardsigmoid", "HardSwish": "hardswish",
    "BatchNormalization": "batch_norm", "QuantizeLinear": "quantize", "DequantizeLinear": "dequantize",
    "Softmax": "softmax", "LogSoftmax": "log_softmax", "LayerNormalization": "layer_norm",
    "GroupNormalization": "group_norm", "InstanceNormalization": "instance_norm", "RMSNormalization": "rms_norm",
    "CumSum": "cumsum", "RotaryEmbedding": "rope", "Concat": "cat", "Tile": "repeat", "DepthToSpace": "pixel_shuffle",
    "SpaceToDepth": "pixel_unshuffle", "ScatterND": "scatter", "ScatterElements": "scatter",
    "GatherElements": "gather", "GatherND": "index", "MaxPool": "max_pool2d", "GlobalMaxPool": "adaptive_max_pool2d",
    "AveragePool": "avg_pool2d", "GlobalAveragePool": "adaptive_avg_pool2d", "ReduceMean": "mean",
}  # fmt: skip

#: Reductions: an op for each element of the argument.
OF_ARGUMENT = {
    "ReduceSum": "sum", "ReduceMax": "amax", "ReduceMin": "amin", "ArgMax": "argmax", "ArgMin": "argmin",
    "ReduceL2": "linalg_vector_norm",
}  # fmt: skip

#: Inputs that are tensors; what follows are sizes, axes and limits. All inputs of an op that is not here.
FIRST_ONLY = frozenset({
    "Resize", "Upsample", "Pad", "Clip", "TopK", "Tile", "CumSum", "QuantizeLinear", "DequantizeLinear",
    "DynamicQuantizeLinear",
}) | set(OF_ARGUMENT) | {"ReduceMean"}  # fmt: skip
OPERANDS = {"QLinearConv": (0, 3, 8), "QLinearMatMul": (0, 3), "MatMulInteger": (0, 1), "ConvInteger": (0, 1)}

Call = tuple[str, dict[str, Any]]
"""The name of an op of PyTorch and its arguments."""


def is_view(node: Node) -> bool:
    """Whether it looks at elements that are there already; picking one place of an axis is such a look."""
    if node.op == "Gather":
        at = node.values[1]
        return at is not None and at.size == 1 and node.tensor(0).is_data
    return node.op in VIEWS


def operands(node: Node) -> tuple[int, ...]:
    """Places of the inputs that are read as tensors, those alone that are given."""
    places = OPERANDS.get(node.op, (0,) if node.op in FIRST_ONLY else tuple(range(len(node.inputs))))
    return tuple(place for place in places if node.has(place))


def call(node: Node) -> Call:
    """The op of PyTorch that computes the same. Raises UnknownOpError for one that has none here."""
    if node.op in _TRANSLATIONS:
        return _TRANSLATIONS[node.op](node)
    if node.op in SAME:
        return SAME[node.op], {}
    if node.op in OF_ARGUMENT:
        return OF_ARGUMENT[node.op], {"self": node.tensor(0)}
    raise UnknownOpError(f"unknown op {node.op}: {REMEDY}")


Translation = Callable[[Node], Call]
_TRANSLATIONS: dict[str, Translation] = {}


def _translates(*ops: str) -> Callable[[Translation], Translation]:
    def enter(translation: Translation) -> Translation:
        _TRANSLATIONS.update(dict.fromkeys(ops, translation))
        return translation

    return enter


@_translates("Conv", "ConvInteger", "QLinearConv")
def _conv(node: Node) -> Call:
    """What becomes of sums in integers is not counted: it rides with writing them."""
    weight = node.tensor(OPERANDS.get(node.op, (0, 1))[1])
    sizes = {name: list(node.attributes.get(f"{name}s", [1])) for name in ("stride", "dilation")}
    return f"conv{len(weight.shape) - 2}d", {"weight": weight, "groups": node.attributes.get("group", 1), **sizes}


@_translates("ConvTranspose")
def _conv_transpose(node: Node) -> Call:
    weight, groups = node.tensor(1), node.attributes.get("group", 1)
    return f"conv_transpose{len(weight.shape) - 2}d", {"input": node.tensor(0), "weight": weight, "groups": groups}


@_translates("Gemm")
def _gemm(node: Node) -> Call:
    """A linear layer where the second operand is a constant."""
    left, right = (
        _turned(node.tensor(place), node.attributes.get(name)) for place, name in ((0, "transA"), (1, "transB"))
    )
    if right.is_data or not left.is_data:
        return "addmm", {"mat1": left, "mat2": right}
    return "linear", {"weight": _turned(right, 1)}


def _turned(tensor: Tensor, turn: int | None) -> Tensor:
    return Tensor(tensor.shape[::-1], tensor.is_data) if turn else tensor


@_translates("MatMul", "MatMulInteger", "QLinearMatMul")
def _matmul(node: Node) -> Call:
    """A linear layer where the second operand is a constant of two axes."""
    left, right = (node.tensor(place) for place in OPERANDS.get(node.op, (0, 1)))
    if len(right.shape) == 2 and len(left.shape) > 1 and left.is_data and not right.is_data:
        return "linear", {"weight": _turned(right, 1)}
    return "matmul", {"self": left, "other": right}


@_translates("Einsum")
def _einsum(node: Node) -> Call:
    return "einsum", {"tensors": [one for one in node.inputs if one], "equation": node.text("equation", "")}


@_translates("Attention")
def _attention(node: Node) -> Call:
    """Heads stand on an axis of their own, or in the last one; keys of a cache stand before the new ones."""
    counts = [node.attributes.get(f"{name}_num_heads", 1) for name in ("q", "kv", "kv")]
    query, key, value = (_by_head(node.tensor(place), count) for place, count in enumerate(counts))
    if node.has(4):
        key = Tensor((*key.shape[:-2], key.shape[-2] + node.tensor(4).shape[-2], key.shape[-1]))
    mask = node.inputs[3] if node.has(3) else None
    return "scaled_dot_product_attention", {"query": query, "key": key, "value": value, "attn_mask": mask}


def _by_head(tensor: Tensor, heads: int) -> Tensor:
    if len(tensor.shape) == 4:
        return tensor
    batch, length, width = tensor.shape
    return Tensor((batch, heads, length, width // heads), tensor.is_data)


@_translates("Gather")
def _gather(node: Node) -> Call:
    return "index_select" if node.tensor(0).is_data else "embedding", {}


@_translates("Gelu")
def _gelu(node: Node) -> Call:
    return "gelu", {"approximate": node.text("approximate", "none")}


@_translates("Clip")
def _clip(node: Node) -> Call:
    """Two comparisons, or one where it has one limit alone."""
    limits = [
        *(name for name in ("min", "max") if name in node.attributes),
        *(place for place in (1, 2) if node.has(place)),
    ]
    return ("clamp" if len(limits) > 1 else "clamp_min"), {}


@_translates("Max", "Min", "Sum")
def _of_several(node: Node) -> Call:
    if len(node.inputs) != 2:
        raise UnknownOpError(f"unknown form of {node.op}: want two inputs, found {len(node.inputs)}")
    return {"Max": "maximum", "Min": "minimum", "Sum": "add"}[node.op], {}


@_translates("Pad")
def _pad(node: Node) -> Call:
    return "pad", {"self": node.tensor(0)}


@_translates("TopK")
def _topk(node: Node) -> Call:
    axis = node.attributes.get("axis", -1)
    return "topk", {"self": node.tensor(0), "dim": axis, "k": node.out.shape[axis]}


@_translates("Resize", "Upsample")
def _resize(node: Node) -> Call:
    """By its interpolation; axes that stay as they are, batch and channels, have none."""
    axes = len(node.out.shape) - 2
    names = {"nearest": f"upsample_nearest{axes}d", "linear2": "upsample_bilinear2d", "linear3": "upsample_trilinear3d",
             "cubic2": "upsample_bicubic2d"}  # fmt: skip
    mode = node.text("mode", "nearest")
    found = names.get(mode if mode == "nearest" else f"{mode}{axes}")
    if found is None:
        raise UnknownOpError(f"unknown form of {node.op}: {mode} on {axes} axes")
    return found, {}


@_translates("GridSample")
def _grid_sample(node: Node) -> Call:
    linear = node.text("mode", "linear") in ("linear", "bilinear")
    return "grid_sampler", {"interpolation_mode": 0 if linear else 1}


@_translates("DynamicQuantizeLinear")
def _dynamic(_node: Node) -> Call:
    return "quantize", {}
