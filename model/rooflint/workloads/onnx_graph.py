"""ONNX: the graph of a `.onnx` file becomes rows of a workload, node by node. Needs onnx; no weights are read.

    read_onnx(Path("resnet50.onnx"))                     # inputs whose batch is not fixed get a batch of 1
    read_onnx(Path("bert.onnx"), [[1, 128]])             # names of sizes hold for all inputs: one shape may be enough

Shapes are inferred by onnx, one node after the other, so that sizes which the graph computes are known when they are
needed. A node computes what the op of PyTorch does that `rooflint.workloads.onnx_ops` names; `ops` has its cost.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from onnx.inliner import inline_local_functions
from onnx.reference import ReferenceEvaluator
from onnx.shape_inference import infer_node_outputs

from rooflint.base.errors import RooflintError
from rooflint.base.text import visible
from rooflint.workloads.flow import INPUT, Flow
from rooflint.workloads.onnx_ops import VIEWS, Node, call, is_view, operands
from rooflint.workloads.ops import PICKS, Op, Tensor, UnknownOpError, cost, is_free
from rooflint.workloads.scaling import UNPROVED, fitted
from rooflint.workloads.workload import Workload

KEPT = 4096
"""Elements of a constant whose values are looked at: sizes, axes and the like, but no weights."""

FIXED = "it was exported for this batch alone; export it with a batch that may vary"

Shape = tuple[int, ...]

Array = NDArray[Any]


@dataclass(frozen=True)
class Value:
    """What a name in the graph stands for."""

    shape: Shape
    elements: int
    """Those that exist: an expanded axis is one element long."""
    is_data: bool
    """Whether it depends on the input."""
    rows: frozenset[int] = frozenset()
    """Whose results stand in it; INPUT for the input."""
    of: frozenset[tuple[str, int]] = frozenset()
    """Of a constant: those that it is made of, with their elements."""


def read_onnx(file: Path, shapes: Sequence[Sequence[int]] = ()) -> Workload:
    """The ops of a file, for inputs of those shapes, one for each in its order; the first axis is the batch.

    A size without a number may be left out where it is the batch, or where another input names it. Raises
    UnknownOpError for an op that is not known, with its node, and RooflintError for a file that is not in ONNX, for
    shapes that do not fit and for sizes that are missing, with the line to type.
    """
    model = _loaded(file)
    inputs = _inputs(file, model)
    one = _sizes(file, inputs, shapes)
    batch = one[0][0] if one[0] else 1
    small = _table(file, model, inputs, one, batch)
    try:
        return fitted(small, _table(file, model, inputs, _at_batch(inputs, one, 3 * batch), 3 * batch))
    except RooflintError as error:
        if any(isinstance(axes[0], int) and axes[0] != sizes[0] for (_, axes), sizes in zip(inputs, one, strict=True)):
            raise RooflintError(f"{file}: has batch {inputs[0][1][0]} and no other: {FIXED}") from error
        return replace(small, fixed_batch=FIXED)


# ---- Inputs and their sizes

Axes = tuple[int | str, ...]
"""Sizes of an input as a file gives them: a number, or a name where any will do."""


def _loaded(file: Path) -> onnx.ModelProto:
    if not file.is_file():
        raise RooflintError(f"{file}: no such file")
    try:
        model = onnx.load(str(file), load_external_data=False)
        if not all(isinstance(text, str) for node in model.graph.node for text in _texts(node)):
            raise ValueError("names that are no text")
        return inline_local_functions(model) if model.functions else model
    except Exception as error:  # protobuf and onnx have no common base of what they raise
        raise RooflintError(f"{file}: want a model in ONNX, found something else ({_first_line(error)})") from error


def _texts(node: onnx.NodeProto) -> Iterator[object]:
    yield from (node.op_type, node.name, node.domain, *node.input, *node.output)


def _inputs(file: Path, model: onnx.ModelProto) -> list[tuple[str, Axes]]:
    weights = {tensor.name for tensor in model.graph.initializer}
    found = []
    for one in model.graph.input:
        if one.name in weights:
            continue
        if not one.type.HasField("tensor_type") or not one.type.tensor_type.HasField("shape"):
            raise RooflintError(f"{file}: its input '{one.name}' has no shape, and the work depends on it")
        axes = one.type.tensor_type.shape.dim
        found.append((one.name, tuple(_axis(axis, f"{one.name}.{place}") for place, axis in enumerate(axes))))
    if not found:
        raise RooflintError(f"{file}: has no inputs, so that nothing is left to compute")
    return found


def _axis(axis: Any, otherwise: str) -> int | str:
    return int(axis.dim_value) if axis.dim_value > 0 else str(axis.dim_param or otherwise)


def _sizes(file: Path, inputs: Sequence[tuple[str, Axes]], shapes: Sequence[Sequence[int]]) -> list[Shape]:
    """A shape for each input. Raises RooflintError with the line to type."""
    if len(shapes) > len(inputs):
        raise RooflintError(f"{file}: has {_listed(inputs)}; found {len(shapes)} shapes")
    known: dict[str, int] = {}
    for (name, axes), shape in zip(inputs, shapes, strict=False):
        _check(file, name, axes, shape)
        for axis, size in zip(axes, shape, strict=True):
            if isinstance(axis, str) and known.setdefault(axis, size) != size:
                raise RooflintError(f"{file}: {axis}: is {known[axis]} in one input and {size} in '{name}'")
    if not shapes:
        known.update({axes[0]: 1 for _, axes in inputs if axes and isinstance(axes[0], str)})
    missing = [axis for _, axes in inputs[len(shapes) :] for axis in axes if isinstance(axis, str)]
    missing = [axis for axis in dict.fromkeys(missing) if axis not in known]
    if missing:
        typed = " ".join(f"--input {_example(axes, known)}" for _, axes in inputs)
        raise RooflintError(f"{file}: {_listed(inputs)}: want a number for {', '.join(missing)}, such as {typed}")
    rest = [tuple(_size(axis, known) for axis in axes) for _, axes in inputs[len(shapes) :]]
    return [*map(tuple, shapes), *_with_batch(inputs, shapes, rest)]


def _size(axis: int | str, known: Mapping[str, int]) -> int:
    return axis if isinstance(axis, int) else known[axis]


def _with_batch(inputs: Sequence[tuple[str, Axes]], shapes: Sequence[Sequence[int]], rest: list[Shape]) -> list[Shape]:
    """Inputs that were not given, with the batch of the first one where they had the same."""
    was = inputs[0][1][0] if inputs[0][1] else None
    if not shapes or not isinstance(was, int):
        return rest
    return [(shapes[0][0], *shape[1:]) if shape and shape[0] == was else shape for shape in rest]


def _check(file: Path, name: str, axes: Axes, shape: Sequence[int]) -> None:
    fits = len(axes) == len(shape) and all(
        isinstance(axis, str) or axis == size for axis, size in list(zip(axes, shape, strict=True))[1:]
    )
    if not fits:
        found = ", ".join(map(str, shape))
        raise RooflintError(
            f"{file}: want {_text(axes)} for its input '{name}', where names are any size; found {found}"
        )


def _listed(inputs: Iterable[tuple[str, Axes]]) -> str:
    return "; ".join(f"input '{name}' of {_text(axes)}" for name, axes in inputs)


def _text(axes: Axes) -> str:
    return " × ".join(map(str, axes)) or "one number"


def _example(axes: Axes, known: Mapping[str, int]) -> str:
    usual = 224 if len(axes) == 4 else 128
    first = [1] if axes and isinstance(axes[0], str) else []
    sizes = [axis if isinstance(axis, int) else known.get(axis, usual) for axis in axes]
    return ",".join(map(str, [*first, *sizes[len(first) :]]))


def _at_batch(inputs: Sequence[tuple[str, Axes]], sizes: Sequence[Shape], batch: int) -> list[Shape]:
    """Each input that has the batch of the first one, by name or by size, for another."""
    label, first = inputs[0][1][:1], sizes[0][:1]
    return [
        (batch, *shape[1:]) if shape and (axes[:1] == label or shape[:1] == first) else shape
        for (_, axes), shape in zip(inputs, sizes, strict=True)
    ]


# ---- The graph


def _table(
    file: Path, model: onnx.ModelProto, inputs: Sequence[tuple[str, Axes]], sizes: Sequence[Shape], batch: int
) -> Workload:
    graph = _Graph(file, model, {name: shape for (name, _), shape in zip(inputs, sizes, strict=True)})
    for position, node in enumerate(model.graph.node):
        graph.visit(node, position)
    returns = [graph.values[one.name].rows for one in model.graph.output if one.name in graph.values]
    elements_input = sum(int(np.prod(shape)) for shape in sizes)
    flow = Flow(
        tuple(tuple(sorted(read)) for read in graph.reads),
        tuple(sorted(frozenset().union(*returns))),
        elements_input,
        sum(dict(graph.constants).values()),
    )
    return Workload.from_ops(str(file), graph.rows, batch, UNPROVED, flow)


class _Graph:
    """What is known of each name so far, and the rows so far."""

    def __init__(self, file: Path, model: onnx.ModelProto, inputs: Mapping[str, Shape]) -> None:
        self.file = file
        self.opsets = {one.domain: one.version for one in model.opset_import}
        self.imports = list(model.opset_import)
        self.rows: list[Op] = []
        self.reads: list[frozenset[int]] = []
        self.constants: set[tuple[str, int]] = set()
        self.weights = {tensor.name: tensor for tensor in model.graph.initializer}
        self.looked_at: dict[str, Array | None] = {}
        self.types: dict[str, onnx.TypeProto] = {one.name: one.type for one in model.graph.input}
        self.values: dict[str, Value] = {}
        for name, shape in inputs.items():
            kind = self.types[name].tensor_type.elem_type
            self.types[name] = helper.make_tensor_type_proto(kind, shape)
            self.values[name] = Value(shape, int(np.prod(shape)), True, frozenset({INPUT}))
        for name, tensor in self.weights.items():
            self._constant(name, tensor.data_type, tuple(tensor.dims))
        used = Counter(name for node in model.graph.node for name in node.input)
        self.readers = used + Counter(one.name for one in model.graph.output)
        self.calls: Counter[str] = Counter()

    def visit(self, node: onnx.NodeProto, position: int) -> None:
        """Shapes of its results, and its row where it computes something of the input."""
        where = _plain(node.name or f"{node.op_type}_{position}")
        missing = [name for name in node.input if name and name not in self.values]
        if missing:
            raise RooflintError(
                f"{self.file}: node '{where}': reads '{_plain(missing[0])}', which no node before it makes"
            )
        if node.op_type == "Constant":
            return self._number(node)
        given = [self.values.get(name) for name in node.input]
        self._infer(node, where)
        results = [name for name in node.output if name]
        if not any(value.is_data for value in given if value) or node.op_type in ("Shape", "Size"):
            return self._compute(node, given)
        seen = Node(
            node.op_type,
            [Tensor(value.shape, value.is_data) if value else None for value in given],
            [self._known(name) for name in node.input],
            {one.name: helper.get_attribute_value(one) for one in node.attribute},
            Tensor(self._shape(results[0], node, where)),
        )
        self._row(node, where, seen, given, results)
        return None

    def _row(
        self, node: onnx.NodeProto, where: str, seen: Node, given: Sequence[Value | None], results: Sequence[str]
    ) -> None:
        first = next(value for value in given if value)
        if is_view(seen):
            for name in results:
                shape = self._shape(name, node, where)
                exist = min(int(np.prod(shape)), first.elements)
                self.values[name] = replace(first, shape=shape, elements=exist)
            return
        if self._is_bias(node, seen):
            return
        try:
            op, arguments = call(seen)
            if is_free(op, arguments, seen.out):
                self.values[results[0]] = replace(first, shape=seen.out.shape)
                return
            price = cost(op, arguments, seen.out)
        except UnknownOpError as error:
            domain = f"{node.domain}." if node.domain else ""
            raise UnknownOpError(f"{self.file}: node '{where}' ({domain}{node.op_type}): {error}") from None
        by_name = {node.input[place]: value for place in operands(seen) if (value := given[place]) is not None}
        read = [*by_name.values()]  # a tensor that is used twice is read once
        data = [value for value in read if value.is_data]
        constants = [value for value in read if not value.is_data]
        # a number is no weight, nor is one that was expanded; the bias of a layer with one channel is
        weights = [value for value in constants if value.elements > 1 or (price.groups and value.shape == (1,))]
        out = sum(int(np.prod(self._shape(name, node, where))) for name in results if self.readers[name])
        elements_in, elements_weight = (sum(value.elements for value in some) for some in (data, weights))
        if op in PICKS:  # it reads what it picks, not the whole table
            elements_in, elements_weight = out + sum(value.elements for value in read[1:]), 0
        self.constants.update(pair for value in weights for pair in value.of)
        macs = price.m * price.n * price.k * price.groups
        name = self._name(where)
        self.rows.append(Op(name, price.kind, macs, price.other_ops, elements_in, elements_weight, out, *price[2:]))
        self.reads.append(frozenset().union(*(value.rows for value in data)))
        for result in results:
            shape = self._shape(result, node, where)
            self.values[result] = Value(shape, int(np.prod(shape)), True, frozenset({len(self.rows) - 1}))

    def _is_bias(self, node: onnx.NodeProto, seen: Node) -> bool:
        """Whether a node adds a vector of weights to a product with weights, which then has it as its bias."""
        if seen.op != "Add":
            return False
        product, vector = sorted(node.input, key=lambda name: not self.values[name].is_data)
        value, bias = self.values[product], self.values[vector]
        if bias.is_data or len(value.rows) != 1 or self.readers[product] != 1 or INPUT in value.rows:
            return False
        (place,) = value.rows
        row = self.rows[place]
        width = (row.n,)
        if row.kind != "linear" or row.elements_weight != row.n * row.k or bias.shape != width:
            return False
        if value.shape[-1:] != width or value.elements != row.elements_out:
            return False
        self.rows[place] = row._replace(elements_weight=row.elements_weight + row.n)
        self.constants.update(bias.of)
        self.values[node.output[0]] = replace(value, shape=seen.out.shape)
        return True

    def _name(self, where: str) -> str:
        """A row under its own name: `relu@2` where a name is used twice."""
        self.calls[where] += 1
        return where if self.calls[where] == 1 else f"{where}@{self.calls[where]}"

    # ---- Constants

    def _constant(self, name: str, kind: int, shape: Shape) -> None:
        count = int(np.prod(shape))
        self.types[name] = helper.make_tensor_type_proto(kind, shape)
        self.values[name] = Value(shape, count, False, of=frozenset({(name, count)}))

    def _number(self, node: onnx.NodeProto) -> None:
        """A constant that is written in the graph."""
        value = helper.get_attribute_value(node.attribute[0])
        known = numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)
        if known.dtype == np.float64 and not isinstance(value, onnx.TensorProto):
            known = known.astype(np.float32)
        self._keep(node.output[0], known)

    def _keep(self, name: str, known: Array) -> None:
        self.looked_at[name] = known
        self._constant(name, helper.np_dtype_to_tensor_dtype(known.dtype), known.shape)

    def _compute(self, node: onnx.NodeProto, given: Sequence[Value | None]) -> None:
        """What does not depend on the input is computed once, here only where others need to know its value."""
        where = node.name or node.op_type
        for name in [name for name in node.output if name]:
            shape = self._shape(name, node, where)
            count = int(np.prod(shape))
            value = Value(shape, count, False, of=frozenset({(name, count)}))
            if node.op_type in VIEWS and (looked_at := given[0]):
                value = replace(value, elements=min(count, looked_at.elements), of=looked_at.of)
            self.values[name] = value

    def _known(self, name: str) -> Array | None:
        """The value of a constant, if it is short enough to be a size, an axis or the like."""
        if name not in self.looked_at:
            tensor = self.weights.get(name)
            short = tensor is not None and int(np.prod(tensor.dims)) <= KEPT
            self.looked_at[name] = self._read(tensor) if tensor is not None and short else None
        return self.looked_at[name]

    def _read(self, tensor: onnx.TensorProto) -> Array | None:
        """The values of a tensor, which may stand in a file beside; None where that is not there."""
        try:
            values: Array = numpy_helper.to_array(tensor, str(self.file.parent))
        except Exception:  # onnx has no common base of what it raises
            return None
        return values

    # ---- Shapes

    def _infer(self, node: onnx.NodeProto, where: str) -> None:
        """Types of the results, and values where all arguments have known ones."""
        try:
            schema = onnx.defs.get_schema(node.op_type, self.opsets.get(node.domain, 1), node.domain)
        except onnx.defs.SchemaError:
            domain = f"{node.domain}." if node.domain else ""
            raise UnknownOpError(f"{self.file}: node '{where}': unknown op {_plain(domain + node.op_type)}") from None
        names = [name for name in node.input if name]
        if node.op_type in ("Shape", "Size"):
            return self._keep(node.output[0], self._size(node))
        known = {name: value for name in names if (value := self._known(name)) is not None}
        if names and len(known) == len(set(names)) and not any(self.values[name].is_data for name in names):
            for name, value in self._evaluated(node, known):
                self._keep(name, value)
            if all(name in self.looked_at for name in node.output if name):
                return None
        given = {name: numpy_helper.from_array(value, name) for name, value in known.items()}
        types = {name: self.types[name] for name in names}
        try:
            self.types.update(infer_node_outputs(schema, node, types, given, None, self.imports))
        except Exception as error:  # onnx has no common base of what it raises
            raise RooflintError(
                f"{self.file}: node '{where}' ({node.op_type}): does not fit its inputs: {_first_line(error)}"
            ) from error
        return None

    def _size(self, node: onnx.NodeProto) -> Array:
        shape = self.values[node.input[0]].shape
        if node.op_type == "Size":
            return np.array(int(np.prod(shape)), np.int64)
        limits = {one.name: one.i for one in node.attribute}
        return np.array(shape[limits.get("start", 0) : limits.get("end", len(shape))], np.int64)

    def _evaluated(self, node: onnx.NodeProto, known: Mapping[str, Array]) -> Iterator[tuple[str, Array]]:
        try:
            found = ReferenceEvaluator(node, opsets=self.opsets).run(None, dict(known))
        except Exception:  # then its shape alone is inferred
            return
        for name, value in zip([name for name in node.output if name], found, strict=False):
            if isinstance(value, np.ndarray | np.generic) and value.size <= KEPT:
                yield name, np.asarray(value)

    def _shape(self, name: str, node: onnx.NodeProto, where: str) -> Shape:
        """Raises RooflintError for a result whose size is not known before the network runs."""
        shape = _known_shape(self.types[name]) if name in self.types else None
        if shape is None:
            raise RooflintError(
                f"{self.file}: node '{where}' ({node.op_type}): its size depends on the data, or is not known"
            )
        return shape


def _known_shape(kind: onnx.TypeProto) -> Shape | None:
    """The sizes of a tensor; None where one is not a number, and for what is no tensor."""
    tensor = kind.tensor_type
    if not kind.HasField("tensor_type") or not tensor.HasField("shape"):
        return None
    sizes = [axis.dim_value if axis.HasField("dim_value") else None for axis in tensor.shape.dim]
    return None if None in sizes else tuple(size for size in sizes if size is not None)


def _plain(name: str) -> str:
    """A name on one line."""
    return visible(name).replace("\n", "\\n")


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__
