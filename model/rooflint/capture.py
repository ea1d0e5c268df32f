"""Capture: a PyTorch module becomes a Workload. Needs torch; `import rooflint` does not import this module.

`torch.export(strict=False)` traces the module before dispatch, where convolutions, linear layers and attention are
still whole ops that know their module path. Nothing is computed, so a network may live on the meta device.

    python -m rooflint.capture resnet18 …     # writes specs/workloads/torchvision/resnet18.yaml
    python -m rooflint.capture                # writes every committed table again
"""

import argparse
import inspect
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from rooflint.aten import CONSTANT, Tensor, UnknownOpError, cost, is_free
from rooflint.errors import RooflintError
from rooflint.torchvision_import import import_torchvision
from rooflint.workload import Op, Workload
from rooflint.workload_tables import ROOT, Captured, workload_ids, write_table

METHOD = "torch.export(strict=False) on the meta device, pre-dispatch ATen"
INPUT_SHAPE = (1, 3, 224, 224)


class CaptureError(RooflintError):
    """A module that cannot be captured, and why."""


def capture(module: torch.nn.Module, input_shape: Sequence[int], name: str | None = None) -> Workload:
    """The ops that `module` runs for one input of that shape, whose first axis is the batch.

    The module must be in evaluation mode; it may live on any device, the meta device included, and stays as it is.
    Raises CaptureError where torch.export cannot follow it, UnknownOpError for an op that we cannot count.
    """
    if any(part.training for part in module.modules()):
        raise CaptureError("a workload describes inference; call module.eval() first")
    program = _export(module, tuple(input_shape))
    return Workload.from_ops(name or type(module).__name__, _ops(module, program), input_shape[0])


def capture_torchvision(network: str, input_shape: Sequence[int] = INPUT_SHAPE) -> Workload:
    """The ops of a torchvision network, built without weights."""
    return capture(_build(network), input_shape, f"torchvision/{network}")


def _export(module: torch.nn.Module, input_shape: tuple[int, ...]) -> Any:
    parameter = next(module.parameters(), torch.empty(0))
    example = torch.empty(input_shape, device=parameter.device, dtype=parameter.dtype)
    try:
        with torch.no_grad(), _whole_attention(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # advice on dynamic shapes and on torch's own internals
            return torch.export.export(module, (example,), strict=False)
    except Exception as error:  # torch.export documents no common base of what it raises
        raise CaptureError(f"torch.export cannot follow {type(module).__name__}: {_first_line(error)}") from error


@contextmanager
def _whole_attention() -> Iterator[None]:
    """Keep MultiheadAttention off its fast path, one opaque op in which a third of the arithmetic disappears."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def _ops(module: torch.nn.Module, program: Any) -> Iterator[Op]:
    """Walk the graph. What does not depend on the input is a constant: computed once, and then read like a weight."""
    inputs = set(program.graph_signature.user_inputs)
    data: set[Any] = set()
    calls: dict[str, int] = {}
    for node in program.graph.nodes:
        if node.name in inputs:
            data.add(node)
        if node.op != "call_function" or data.isdisjoint(node.all_input_nodes):
            continue
        op, where = _op(node), _module_path(node)
        if op in CONSTANT:
            continue
        _refuse_hidden_write(node, data, where)
        data.add(node)
        row = _row(module, node, data, op, where)
        if row is not None:
            calls[row.name] = calls.get(row.name, 0) + 1
            yield row if calls[row.name] == 1 else row._replace(name=f"{row.name}@{calls[row.name]}")


def _row(module: torch.nn.Module, node: Any, data: set[Any], op: str, where: str) -> Op | None:
    arguments, out = _arguments(node, data), Tensor(_shape(node))
    if is_free(op, arguments, out):
        return None
    try:
        price = cost(op, arguments, out)
    except UnknownOpError as error:
        raise UnknownOpError(f"{where or 'the network itself'}: {error} ({node.target})") from None
    read = [(source in data, _elements(source)) for source in node.all_input_nodes]
    return Op(
        name=_name(module, where, price.kind),
        kind=price.kind,
        macs=price.m * price.n * price.k * price.groups,
        other_ops=price.other_ops,
        elements_in=sum(elements for is_data, elements in read if is_data),
        elements_weight=sum(elements for is_data, elements in read if not is_data),
        elements_out=_elements(node),
        m=price.m,
        n=price.n,
        k=price.k,
        groups=price.groups,
    )


def _op(node: Any) -> str:
    """`conv2d` for aten.conv2d.default, `relu` for aten.relu_.default; ops of others keep their namespace."""
    schema = getattr(node.target, "_schema", None)
    name = schema.name if schema else getattr(node.target, "__name__", str(node.target))
    return name.removeprefix("aten::").rstrip("_")


def _module_path(node: Any) -> str:
    stack = list(node.meta.get("nn_module_stack", {}).values())
    return stack[-1][0] if stack else ""


def _name(module: torch.nn.Module, where: str, kind: str) -> str:
    """The path of the module that is this op; path and kind where a module that has parts computes by itself."""
    has_parts = where == "" or next(module.get_submodule(where).children(), None) is not None
    return f"{where}.{kind}".lstrip(".") if has_parts else where


def _arguments(node: Any, data: set[Any]) -> dict[str, Any]:
    """Arguments by their names in the op's schema, tensors as shapes."""
    schema = getattr(node.target, "_schema", None)
    names = [argument.name for argument in schema.arguments] if schema else []
    given = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
    return {name: _translated(value, data) for name, value in given.items()}


def _translated(value: Any, data: set[Any]) -> Any:
    if isinstance(value, torch.fx.Node):
        return Tensor(_shape(value), value in data)
    return [_translated(item, data) for item in value] if isinstance(value, list | tuple) else value


def _refuse_hidden_write(node: Any, data: set[Any], where: str) -> None:
    """Refuse data written in place into a constant: what reads that constant later would count as constant, too."""
    schema = getattr(node.target, "_schema", None)
    if schema and schema.name.endswith("_") and node.args[0] not in data:
        raise CaptureError(f"{where or 'the network itself'}: {node.target} writes data into a constant")


def _shape(node: Any) -> tuple[int, ...]:
    """Shape of a tensor; of the first one where an op returns several."""
    value = node.meta["val"]
    return tuple(value.shape if isinstance(value, torch.Tensor) else value[0].shape)


def _elements(node: Any) -> int:
    """Elements that exist in memory; an expanded axis (stride 0) is one element long."""
    value = node.meta["val"]
    tensors = [value] if isinstance(value, torch.Tensor) else value
    return sum(_existing(tensor) for tensor in tensors)


def _existing(tensor: torch.Tensor) -> int:
    count = 1
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        count *= int(size) if stride else 1
    return count


def _build(network: str) -> torch.nn.Module:
    """The network in evaluation mode, on the meta device where it can be built there."""
    models = import_torchvision().models
    if network not in models.list_models():
        raise CaptureError(f"torchvision has no network '{network}'")
    options = {"weights": None}
    if "weights_backbone" in inspect.signature(models.get_model_builder(network)).parameters:
        options["weights_backbone"] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # news of torchvision about its initialisations, which do not matter here
        try:
            with torch.device("meta"):
                module: torch.nn.Module = models.get_model(network, **options)
        except NotImplementedError:  # RegNet computes its widths with tensors
            module = models.get_model(network, **options)
    return module.eval()


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def write_torchvision(network: str, root: Path = ROOT) -> Workload:
    """Capture a torchvision network and write its table."""
    workload = capture_torchvision(network)
    origin = Captured(_version(torch), _version(import_torchvision()), METHOD, INPUT_SHAPE)
    write_table(workload, origin, root / f"{workload.name}.yaml")
    return workload


def _version(package: Any) -> str:
    """`2.13.0` for 2.13.0+cpu: the build does not change the graph."""
    return str(package.__version__).partition("+")[0]


def main(arguments: Sequence[str] | None = None) -> None:
    """`python -m rooflint.capture [network …]`."""
    parser = argparse.ArgumentParser("python -m rooflint.capture", description="Write op tables of networks.")
    parser.add_argument("networks", nargs="*", help="names in torchvision; all committed ones if none is given")
    committed = [name.removeprefix("torchvision/") for name in workload_ids() if name.startswith("torchvision/")]
    for network in parser.parse_args(arguments).networks or committed:
        try:
            workload = write_torchvision(network)
        except RooflintError as error:
            parser.exit(1, f"{network}: {error}\n")
        print(f"{workload.name}: {len(workload)} ops, {workload.total_macs} MAC")


if __name__ == "__main__":
    main()
