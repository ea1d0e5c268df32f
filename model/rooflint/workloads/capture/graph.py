"""Graphs: an exported program becomes rows of a workload, op by op in the order of execution. Needs torch.

With the rows comes their data flow: what each reads after looking through the ops that are free.
"""

from collections.abc import Callable
from typing import Any

import torch

from rooflint.base.errors import RooflintError
from rooflint.workloads.flow import INPUT, Flow
from rooflint.workloads.ops import CONSTANT, FREE, PICKS, REMEDY, Cost, Op, Tensor, UnknownOpError, cost, is_free

WRITES = frozenset({"copy", "fill", "index_put"})
"""Ops that write into their first argument without reading it."""

COPIES = frozenset({"clone", "_to_copy", "lift_fresh_copy"})
"""Free ops whose result is a tensor of its own: a write into it does not show in what it was taken from."""

CONVERSIONS = frozenset({"to", "type_as"})
"""Free ops that copy where the type changes, and else do nothing."""

CONVOLUTIONS = frozenset({"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"})

COMPLEX = {"mul": 6, "add": 2, "sub": 2}
"""Ops an element of a complex result: four products and two sums, or two sums."""

HasParts = Callable[[str], bool]
"""Whether the module of that path has children of its own."""


class CaptureError(RooflintError):
    """A module that cannot be captured, and why."""


def ops(program: Any, has_parts: HasParts) -> tuple[list[Op], Flow]:
    """The rows of a graph. What does not depend on the input is a constant: computed once, then read like a weight."""
    rows, reads, constants = list[Op](), list[tuple[int, ...]](), set[Any]()
    inputs = [node for node in program.graph.nodes if node.name in program.graph_signature.user_inputs]
    data: set[Any] = set(inputs)
    contents = _Contents(inputs)
    calls: dict[str, int] = {}
    for node in program.graph.nodes:
        if node.op != "call_function" or data.isdisjoint(node.all_input_nodes) or op_name(node) in CONSTANT:
            continue
        where = _module_path(node)
        _spread_write(node, data, where)
        data.add(node)
        row = _row(node, data, where, has_parts)
        if row is None:
            contents.look(node)
            continue
        reads.append(contents.of(_operands(node)))
        constants.update(source for source in _operands(node) if source not in data)
        contents.write(node, len(rows))
        rows.append(_numbered(row, calls))
    elements_input = sum(_elements(node) for node in inputs if _tensors(node))
    return rows, Flow(tuple(reads), contents.of(_returned(program)), elements_input, _kept_elements(constants))


AXES = {1: "batch,channels,length", 2: "batch,channels,height,width", 3: "batch,channels,depth,height,width"}
"""Of the input of a convolution, by the axes that its kernel slides along."""


def unbatched(program: Any) -> str:
    """The axes of which the input of a program lacks the first; empty where it has a batch.

    A convolution takes such an input for one sample. Other layers do not know how many axes there should be.
    """
    for node in program.graph.nodes:
        if node.op == "call_function" and op_name(node) in CONVOLUTIONS:
            given, weight = _shape(node.args[0]), _shape(node.args[1])
            inputs = [one for one in program.graph.nodes if one.name in program.graph_signature.user_inputs]
            short = [one for one in inputs if _tensors(one) and len(_shape(one)) == len(given)]
            if len(given) < len(weight) and short:
                return AXES[len(weight) - 2]
    return ""


def _numbered(row: Op, calls: dict[str, int]) -> Op:
    """A row under its own name: `relu@2` for the second call."""
    calls[row.name] = calls.get(row.name, 0) + 1
    return row if calls[row.name] == 1 else row._replace(name=f"{row.name}@{calls[row.name]}")


def parts_of(module: torch.nn.Module) -> HasParts:
    """Whether a path of this module has children."""

    def has_parts(where: str) -> bool:
        return next(module.get_submodule(where).children(), None) is not None

    return has_parts


def parts_seen(program: Any) -> HasParts:
    """The same for a program whose module is gone: whether the graph knows a path below."""
    paths = {_module_path(node) for node in program.graph.nodes}

    def has_parts(where: str) -> bool:
        return any(path.startswith(f"{where}.") for path in paths)

    return has_parts


def _row(node: Any, data: set[Any], where: str, has_parts: HasParts) -> Op | None:
    if not _tensors(node):
        _refuse_number(node, where)
        return None
    op, arguments, out = op_name(node), _arguments(node, data), Tensor(_shape(node))
    if is_free(op, arguments, out):
        return None
    try:
        price = _complex_cost(op, out) if _tensors(node)[0].is_complex() else cost(op, arguments, out)
    except UnknownOpError as error:
        raise UnknownOpError(f"{_place(where)}: {error} ({node.target})") from None
    inside = where == "" or has_parts(where)
    elements_in, elements_weight = _read(node, data, op)
    return Op(
        name=f"{where}.{price.kind}".lstrip(".") if inside else where,
        kind=price.kind,
        macs=price.m * price.n * price.k * price.groups,
        other_ops=price.other_ops,
        elements_in=elements_in,
        elements_weight=elements_weight,
        elements_out=_written(node, op),
        m=price.m,
        n=price.n,
        k=price.k,
        groups=price.groups,
        window=price.window,
    )


def _complex_cost(op: str, out: Tensor) -> Cost:
    if op not in COMPLEX:
        raise UnknownOpError(f"unknown op {op} of complex numbers: {REMEDY}")
    return Cost(op, COMPLEX[op] * out.numel)


def _refuse_number(node: Any, where: str) -> None:
    """An assertion has no result. A number taken out of a tensor steers what follows, so it is refused."""
    if node.meta.get("val") is not None:
        raise CaptureError(f"{_place(where)}: {node.target} takes a number out of the data, on which the rest depends")


def _read(node: Any, data: set[Any], op: str) -> tuple[int, int]:
    """Elements read of activations and of weights. A picking op reads what it picks, which grows with the batch."""
    sources = _operands(node)
    if op in PICKS:
        return _elements(node) + sum(map(_elements, sources[1:])), 0  # all but the table
    read = [(source in data, _elements(source)) for source in sources]
    return sum(count for is_data, count in read if is_data), sum(count for is_data, count in read if not is_data)


def _operands(node: Any) -> list[Any]:
    written = _written_into(node)
    unread = written if op_name(node) in WRITES or written in node.kwargs.values() else None
    return [source for source in node.all_input_nodes if source is not unread]


def _kept_elements(constants: set[Any]) -> int:
    """Elements of all these constants; of one that several look at, no more than there are."""
    looked_at: dict[Any, int] = {}
    for node in constants:
        looked_at[_base(node)] = looked_at.get(_base(node), 0) + _elements(node)
    return sum(min(count, _elements(base)) for base, count in looked_at.items())


def _returned(program: Any) -> list[Any]:
    names = set(program.graph_signature.user_outputs)
    return [node for node in program.graph.output_node().all_input_nodes if node.name in names]


def _written(node: Any, op: str) -> int:
    """Elements written; scattered writes touch only the places of their values."""
    return _elements(node.args[2]) if op == "index_put" else _elements(node)


def op_name(node: Any) -> str:
    """`conv2d` for aten.conv2d.default, `relu` for aten.relu_.default, `and` for aten.__and__.Tensor.

    Our own ops lose their namespace as well; ops of others keep it.
    """
    schema = getattr(node.target, "_schema", None)
    name = str(schema.name if schema else getattr(node.target, "__name__", node.target))
    name = name.removeprefix("aten::").removeprefix("rooflint::")
    return name.strip("_") if name.startswith("__") else name.rstrip("_")


def _module_path(node: Any) -> str:
    stack = list(node.meta.get("nn_module_stack", {}).values())
    return str(stack[-1][0]) if stack else ""


def _place(where: str) -> str:
    return where or "the network itself"


def _arguments(node: Any, data: set[Any]) -> dict[str, Any]:
    """Arguments by their names in the op's schema, tensors as shapes."""
    schema = getattr(node.target, "_schema", None)
    names = [argument.name for argument in schema.arguments] if schema else []
    given = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
    return {name: _translated(value, data) for name, value in given.items()}


def _translated(value: Any, data: set[Any]) -> Any:
    if isinstance(value, torch.fx.Node):
        return Tensor(_shape(value), value in data) if _tensors(value) else value
    return [_translated(item, data) for item in value] if isinstance(value, list | tuple) else value


class _Contents:
    """Whose results stand in each tensor: of which rows, or of the input. Views stand for what they look at."""

    def __init__(self, inputs: list[Any]) -> None:
        self.writers: dict[Any, set[int]] = {node: {INPUT} for node in inputs}

    def of(self, nodes: list[Any]) -> tuple[int, ...]:
        """Rows whose results stand in these tensors."""
        return tuple(sorted(set[int]().union(*(self.writers.get(_base(node), ()) for node in nodes))))

    def look(self, node: Any) -> None:
        """A free op; what it copies goes its own way from here."""
        if _base(node) is node and node.all_input_nodes:
            self.writers[node] = set(self.of(node.all_input_nodes[:1]))

    def write(self, node: Any, row: int) -> None:
        """A row writes its result: all of a tensor, or into a part of what others have written."""
        base = _base(node)
        whole = base is node or _written(node, op_name(node)) == _elements(base)
        self.writers[base] = {row} if whole else {*self.writers.get(base, ()), row}


def _spread_write(node: Any, data: set[Any], where: str) -> None:
    """Data written in place into a constant makes that constant, and every view of it, data from here on.

    Raises CaptureError where the constant is a parameter or buffer: what reads it in the next run would differ.
    """
    written = _written_into(node)
    if written is None or written in data:
        return
    base = _base(written)
    if base.op != "call_function":
        raise CaptureError(f"{_place(where)}: {node.target} writes data into a parameter or buffer")
    data.update(_views(base))


def _written_into(node: Any) -> Any:
    """The tensor that an op writes in place, or into which it was told to write (`out=`); None where its own is new."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.is_mutable:
        return None
    place = next(at for at, argument in enumerate(schema.arguments) if _is_written(argument))
    return node.args[place] if place < len(node.args) else node.kwargs.get(schema.arguments[place].name)


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and bool(argument.alias_info.is_write)


def _looks_at(node: Any) -> Any:
    """What the result is another look at: the tensor behind a view, or the one just written; None where it is new."""
    if node.op != "call_function":
        return None
    if op_name(node) == "index_put":  # also where it is not in place: what it does not write stays what it was
        return node.args[0]
    if op_name(node) in FREE:
        return None if _is_copy(node) else node.args[0]
    return _written_into(node)


def _is_copy(node: Any) -> bool:
    """Whether a free op makes a tensor of its own; a conversion does where the type is another."""
    if op_name(node) in CONVERSIONS:
        return bool(_tensors(node)[0].dtype != _tensors(node.args[0])[0].dtype)
    return op_name(node) in COPIES


def _base(node: Any) -> Any:
    """What a view looks at, through all that lies between."""
    while (below := _looks_at(node)) is not None:
        node = below
    return node


def _views(base: Any) -> set[Any]:
    found, new = {base}, [base]
    while new:
        looking = new.pop()
        users = [user for user in looking.users if _looks_at(user) is looking and user not in found]
        found.update(users)
        new.extend(users)
    return found


def _tensors(node: Any) -> list[torch.Tensor]:
    """The result of a node, as the tensors that it consists of; none where it is a number or nothing."""
    value = node.meta.get("val")
    if value is None and node.op == "get_attr":
        value = getattr(node.graph.owning_module, node.target)
    several = value if isinstance(value, list | tuple) else [value]
    return [item for item in several if isinstance(item, torch.Tensor)]


def _shape(node: Any) -> tuple[int, ...]:
    """Shape of a tensor; of the first one where an op returns several."""
    return tuple(int(size) for size in _tensors(node)[0].shape)


def _elements(node: Any) -> int:
    """Elements that exist in memory; an expanded axis (stride 0) is one element long."""
    return sum(_existing(tensor) for tensor in _tensors(node))


def _existing(tensor: torch.Tensor) -> int:
    count = 2 if tensor.is_complex() else 1
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        count *= int(size) if stride else 1
    return count
