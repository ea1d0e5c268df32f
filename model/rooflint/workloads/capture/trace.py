"""Trace: a PyTorch module and example inputs become a Workload; a second trace proves how it scales. Needs torch."""

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from io import StringIO
from typing import Any

import torch
from torch.utils import _pytree as pytree

from rooflint.base.errors import RooflintError
from rooflint.workloads.capture.graph import CaptureError, ops, parts_of, unbatched
from rooflint.workloads.scaling import UNPROVED, fitted
from rooflint.workloads.workload import Workload


@dataclass(frozen=True)
class Example:
    """What a module is called with; only shapes and types matter."""

    arguments: tuple[Any, ...]
    batch: int
    """How many samples that is."""
    named: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shapes(self) -> list[list[int]]:
        """Shape of every tensor, in the order of the arguments."""
        leaves = pytree.tree_leaves((self.arguments, dict(self.named)))
        return [list(leaf.shape) for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def at_batch(self, batch: int) -> "Example":
        """The same with another number of samples: every tensor whose first axis is the batch gets a longer one."""

        def grown(leaf: Any) -> Any:
            if isinstance(leaf, torch.Tensor) and leaf.dim() and leaf.shape[0] == self.batch:
                return leaf.new_empty((batch, *leaf.shape[1:]))
            return leaf

        arguments, named = pytree.tree_map(grown, (self.arguments, dict(self.named)))
        return Example(arguments, batch, named)


def capture(
    module: torch.nn.Module, inputs: Sequence[int] | Example, name: str | None = None, fixed_batch: str = ""
) -> Workload:
    """The ops that `module` runs for one input of that shape, whose first axis is the batch, or for that example.

    The module must be in evaluation mode; it may live on any device, the meta device included, and stays as it is.
    Raises CaptureError where torch.export cannot follow it and for an input without a batch, UnknownOpError for an op
    that we cannot count.
    """
    if any(part.training for part in module.modules()):
        raise CaptureError("a workload describes inference; call module.eval() first")
    example = inputs if isinstance(inputs, Example) else of_shape(module, inputs)
    title, program = name or type(module).__name__, export(module, example)
    if axes := unbatched(program):
        raise no_batch(title, axes, example.shapes[0])
    rows, flow = ops(program, parts_of(module))
    return Workload.from_ops(title, rows, example.batch, fixed_batch, flow)


def no_batch(name: str, axes: str, shape: Sequence[int]) -> CaptureError:
    """What to say of an input of one sample, which would count as a batch of as many as it has channels."""
    given = ",".join(map(str, shape))
    return CaptureError(f"{name}: want {axes}, such as --input 1,{given}; found {given}, which has no batch")


def capture_scaled(module: torch.nn.Module, example: Example, name: str) -> Workload:
    """A capture that was proved to scale by a second one at three times the batch, or that says why it does not."""
    one = capture(module, example, name, UNPROVED)
    try:
        return fitted(one, capture(module, example.at_batch(3 * example.batch), name, UNPROVED))
    except RooflintError as error:
        return replace(one, fixed_batch=f"its ops do not grow with the batch ({error})")


def of_shape(module: torch.nn.Module, shape: Sequence[int]) -> Example:
    """One tensor of that shape, on the device and of the type of the module's parameters."""
    parameter = next(module.parameters(), torch.empty(0))
    return Example((torch.empty(tuple(shape), device=parameter.device, dtype=parameter.dtype),), shape[0])


def export(module: torch.nn.Module, example: Example) -> Any:
    """The program of a module. Raises CaptureError, in one line, where torch.export cannot follow."""
    try:
        with torch.no_grad(), _whole_attention(), quiet():
            return torch.export.export(module, example.arguments, dict(example.named), strict=False)
    except Exception as error:  # torch.export documents no common base of what it raises
        raise CaptureError(f"torch.export cannot follow {type(module).__name__}: {_reason(error)}") from error


@contextmanager
def quiet() -> Iterator[None]:
    """Keep torch's advice, its logs and the graphs that it prints when it fails from the reader of our one line."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@contextmanager
def _whole_attention() -> Iterator[None]:
    """Keep MultiheadAttention off its fast path, one opaque op in which a third of the arithmetic disappears."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def _reason(error: Exception) -> str:
    """The first line of what torch says; what it calls data-dependent is said in our words."""
    first = next(iter(str(error).splitlines()), "") or type(error).__name__
    if "data-dependent" in first or "DataDependent" in type(error).__name__:
        return f"which ops run depends on the data ({first})"
    return first
