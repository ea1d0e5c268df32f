"""User models: `package.module:factory`, `file.py:factory`, or a program saved by `torch.export.save`. Needs torch.

Both are code: naming a module here imports it, and torch unpickles what a saved program holds.
"""

import importlib
import inspect
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Self
from zipfile import is_zipfile

import torch
from torch.utils import _pytree as pytree

from rooflint.base.errors import RooflintError
from rooflint.workloads.capture.graph import CaptureError, op_name, ops, parts_seen
from rooflint.workloads.capture.torchvision_networks import import_torchvision, lacks_operators
from rooflint.workloads.capture.trace import Example, capture, capture_scaled, of_shape, quiet
from rooflint.workloads.scaling import UNPROVED, fitted
from rooflint.workloads.workload import Workload

TRAINING = {"dropout": "train", "feature_dropout": "train", "batch_norm": "training"}
"""Ops that say whether a graph was exported in training, and in which argument."""


def capture_factory(target: str, shapes: Sequence[Sequence[int]] = ()) -> Workload:
    """The ops of the module that `package.module:factory` or `file.py:factory` makes.

    The factory is called without arguments and returns a module, or a module and what to call it with; it may be a
    module itself. `shapes`, one for each input, replace its example; the first axis of the first one is the batch.
    Raises CaptureError, in one sentence, for anything that is not so.
    """
    module, example = made(target, shapes)
    return capture_scaled(module, example, target)


def made(target: str, shapes: Sequence[Sequence[int]] = ()) -> tuple[torch.nn.Module, Example]:
    """The module of a factory, in evaluation mode, and what to call it with. Raises CaptureError as above."""
    module, given = _made(target)
    return module.eval(), _example(target, module, given, shapes)


def capture_module(module: Any, inputs: Any = None, shapes: Sequence[Sequence[int]] = ()) -> Workload:
    """The ops of a module in evaluation mode, called with those inputs or with tensors of those shapes.

    Raises CaptureError, in one sentence, for anything that is not so.
    """
    if not isinstance(module, torch.nn.Module):
        raise CaptureError(f"want a name, a file or a torch.nn.Module, found {type(module).__name__}")
    name = type(module).__name__
    if inputs is None and not shapes:
        raise CaptureError(f"{name}: want its inputs, or their shape")
    return capture_scaled(module, _example(name, module, inputs, shapes), name)


def _made(target: str) -> tuple[torch.nn.Module, Any]:
    """The module of a factory, and its example inputs or None."""
    try:
        return _made_once(target)
    except CaptureError as error:
        if not lacks_operators(error):
            raise
    import_torchvision()  # transformers imports it, and fails where its operators do not load
    return _made_once(target)


def _made_once(target: str) -> tuple[torch.nn.Module, Any]:
    made = _looked_up(target)
    if not isinstance(made, torch.nn.Module):
        if not callable(made):
            raise CaptureError(f"{target}: want a factory or a module, found {type(made).__name__}")
        try:
            made = made()
        except Exception as error:
            raise CaptureError(f"{target}: calling it failed: {first_line(error)}") from error
    module, given = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if not isinstance(module, torch.nn.Module):
        raise CaptureError(f"{target}: want a torch.nn.Module from it, found {type(module).__name__}")
    return module, given


def _looked_up(target: str) -> Any:
    name, _, attribute = target.rpartition(":")
    if not name or not attribute:
        raise CaptureError(f"{target}: want package.module:factory or file.py:factory")
    file = Path(name).resolve() if name.endswith(".py") else None
    if file and not file.is_file():
        raise CaptureError(f"{target}: {name}: no such file")
    try:
        with _folder_first(file.parent if file else Path.cwd()):
            found: Any = _loaded_file(file) if file else importlib.import_module(name)
    except Exception as error:  # the user's code may raise anything
        raise CaptureError(f"{target}: cannot import {name}: {first_line(error)}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise CaptureError(f"{target}: {name} has no attribute '{attribute}'")
        found = getattr(found, part)
    return found


def _loaded_file(file: Path) -> ModuleType:
    """The module of a file, under a name that hides no installed one; captures are kept as long as it is the same."""
    spec = spec_from_file_location(f"rooflint_factory_{file.stem}", file)
    assert spec and spec.loader
    module = sys.modules[spec.name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


@contextmanager
def _folder_first(folder: Path) -> Iterator[None]:
    """Find modules there first: where the user stands, as `python -m` does, or beside a file, as `python FILE` does."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _example(target: str, module: torch.nn.Module, given: Any, shapes: Sequence[Sequence[int]]) -> Example:
    if shapes:
        if len(shapes) < len(names := _required(module)):
            typed = " ".join(f"--input {','.join(map(str, shape))}" for shape in shapes)
            raise CaptureError(
                f"{target}: takes {len(names)} inputs ({', '.join(names)}); want the shape of each, such as {typed}"
                + " --input 1,128" * (len(names) - len(shapes))
            )
        inputs = tuple(of_shape(module, shape).arguments[0] for shape in shapes)
        return Example(inputs, int(shapes[0][0]))
    if given is None:
        raise CaptureError(
            f"{target}: want the shape of its input, such as --input 1,3,224,224, "
            "or a factory that returns (module, inputs)"
        )
    batch = _leading(target, given)
    if isinstance(given, dict):
        return Example((), batch, given)
    return Example(given if isinstance(given, tuple) else (given,), batch)


def _required(module: torch.nn.Module) -> list[str]:
    """Names of the inputs that a module must be called with."""
    given = inspect.signature(module.forward).parameters.values()
    return [one.name for one in given if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]


def _leading(target: str, inputs: Any) -> int:
    """First axis of the first tensor: the batch."""
    for leaf in pytree.tree_leaves(inputs):
        if isinstance(leaf, torch.Tensor) and leaf.dim() and leaf.shape[0] > 0:
            return int(leaf.shape[0])
    raise CaptureError(f"{target}: want inputs with a tensor whose first axis is the batch")


def capture_program(file: Path) -> Workload:
    """The ops of a program that `torch.export.save` wrote.

    It scales with the batch where it was exported with a batch that may vary (`dynamic_shapes`); else it has the batch
    of its example. Raises CaptureError, in one sentence, for a file that is no such program.
    """
    program = _loaded(file)
    _refuse_training(file, program)
    example = _example_of(file, program)
    rows, flow = ops(program, parts_seen(program))
    workload = Workload.from_ops(str(file), rows, example.batch, UNPROVED, flow)
    try:
        small, large = (_again(program, example, batch) for batch in (example.batch, 3 * example.batch))
        fitted(small, large)
        return fitted(workload, _renamed(large, workload))
    except RooflintError:
        reason = "it was exported for this batch alone; export it with dynamic_shapes to let the batch vary"
        return replace(workload, fixed_batch=reason)


def program(file: Path) -> tuple[torch.nn.Module, Example]:
    """The module of a saved program, and the example that it was exported with. Raises CaptureError as above."""
    found = _loaded(file)
    _refuse_training(file, found)
    return _Evaluated(found.module()), _example_of(file, found)


def _loaded(file: Path) -> Any:
    if not file.is_file():
        raise CaptureError(f"{file}: no such file")
    if not is_zipfile(file):
        raise CaptureError(f"{file}: want a program saved by torch.export.save, found no archive")
    try:
        with quiet():
            return torch.export.load(file)
    except Exception as error:  # torch documents no common base of what it raises
        raise CaptureError(f"{file}: want a program saved by torch.export.save, found {first_line(error)}") from error


def _refuse_training(file: Path, program: Any) -> None:
    for node in program.graph.nodes:
        argument = TRAINING.get(op_name(node)) if node.op == "call_function" else None
        names = [known.name for known in node.target._schema.arguments] if argument else []
        given = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
        if argument and given.get(argument):
            raise CaptureError(f"{file}: was exported in training; call module.eval() before exporting it")


def _example_of(file: Path, program: Any) -> Example:
    if program.example_inputs is None:
        raise CaptureError(f"{file}: has no example inputs; export it with them")
    arguments, named = program.example_inputs
    return Example(arguments, _leading(str(file), (arguments, named)), named)


def _again(program: Any, example: Example, batch: int) -> Workload:
    """A capture of the program as a module, at that batch; only its counts are meant."""
    module = program.module()
    return capture(_Evaluated(module), example.at_batch(batch), "again", UNPROVED)


class _Evaluated(torch.nn.Module):
    """A loaded program knows no eval(); its graph is the one that it was exported with."""

    def __init__(self, program: torch.nn.Module) -> None:
        super().__init__()
        self.program = program
        for part in self.modules():
            part.training = False

    def train(self, mode: bool = True) -> Self:  # noqa: ARG002
        """Stay as it was exported: a loaded program refuses to be told."""
        return self

    def forward(self, *arguments: Any, **named: Any) -> Any:
        return self.program(*arguments, **named)


def _renamed(counts: Workload, names: Workload) -> Workload:
    return replace(counts, name=names.name, op_names=names.op_names)


def first_line(error: BaseException) -> str:
    """The first line of an error, with its type where it says little."""
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
