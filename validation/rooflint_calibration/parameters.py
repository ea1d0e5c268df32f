"""Parameters: the constants and device facts of a prediction, each with its line, and predictions with one changed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rooflint.base.facts import Fact, leading_number
from rooflint.base.strict_yaml import Document
from rooflint.base.units import format_number
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import GROUPS, OPS_GROUPS, constants_file
from rooflint_calibration.evaluation import HeldOut

OF_CHIP = {
    "bandwidth_bytes_per_s": ("bandwidth", ("pin_rate", "bandwidth")),
    "l2_bytes": ("L2 capacity", ("caches.l2.capacity",)),
    "sms": ("number of SMs", ("groups",)),
    "macs_per_clock": ("MAC/clock", ("macs_per_clock", "per_group")),
    "clock_hz": ("clock", ("clock", "clock_of")),
    "tdp_w": ("rated power", ("tdp",)),
    "special_functions": ("special function units", ("special_function_units",)),
    "graph_launch_s": ("launch in a graph", ("graph",)),
}
"""Inputs of a chip: the label of each, and words in the path of the fact that it follows from."""

FACTORS = (0.5, 2.0)
"""Factors that show whether a prediction depends on a parameter: far enough to cross from L2 to memory."""


@dataclass(frozen=True)
class Parameter:
    """A constant, or an input of one device."""

    name: str
    """`l2_reach`, `bandwidth of nvidia/l40s`."""
    fact: Fact
    """The value in its file, with the line."""
    scaled: Callable[[HeldOut, float], HeldOut]
    """The same rows with the parameter multiplied by a factor."""

    def at(self, factor: float) -> str:
        """Its value multiplied by a factor: `1.05`, `28 Gbit/s`."""
        unit = self.fact.display.partition(" ")[2]
        return f"{format_number(leading_number(self.fact.display) * factor, 3)} {unit}".strip()


def parameters(registry: Registry, family: str, ones: Sequence[HeldOut]) -> Iterator[Parameter]:
    """The constants fitted without a family, and the inputs of its devices. Raises RooflintError."""
    yield from _of_constants(registry, family)
    for one in ones:
        yield from _of_chip(one)


def _of_constants(registry: Registry, family: str) -> Iterator[Parameter]:
    file = constants_file(registry)
    for group in ("products", *OPS_GROUPS):
        key, document = GROUPS[group].key, file.file(group).document
        for name, spec in file.specs(group).items():
            fact = _unseen(file.fact(group, name), spec.folds, family, document, (key, name))
            said = name if group == "products" else f"{group}.{name}"
            yield Parameter(said, fact, _scaler(group, name))


def _unseen(fact: Fact, folds: Any, family: str, document: Document, path: tuple[str, ...]) -> Fact:
    """The value fitted without a family, at its own line; a chosen value as it is."""
    if family not in folds:
        return fact
    number = format_number(folds[family], 4)
    quantity = replace(fact.quantity, value=folds[family], text=number)
    where = (*path, "folds", family)
    return replace(fact, path=".".join(where), quantity=quantity, line=document.line(where))


def _scaler(group: str, name: str) -> Callable[[HeldOut, float], HeldOut]:
    path = [*group.split("."), name]
    return lambda one, factor: replace(one, constants=_times(one.constants, path, factor))


def _times(whole: Any, path: Sequence[str], factor: float) -> Any:
    """Nested frozen values with one number multiplied."""
    first, *rest = path
    inner = getattr(whole, first)
    return replace(whole, **{first: _times(inner, rest, factor) if rest else inner * factor})


def _of_chip(one: HeldOut) -> Iterator[Parameter]:
    device = one.rows.device
    for field, (said, words) in OF_CHIP.items():
        fact = _fact(one.chip, words)
        if fact is not None and getattr(one.chip, field) is not None:
            yield Parameter(f"{said} of {device}", fact, _of_device(device, field))


def _of_device(device: str, field: str) -> Callable[[HeldOut, float], HeldOut]:
    def scaled(one: HeldOut, factor: float) -> HeldOut:
        if one.rows.device != device:
            return one
        more: dict[str, Any] = {field: getattr(one.chip, field) * factor}
        return replace(one, chip=replace(one.chip, **more))

    return scaled


def _fact(chip: Chip, words: Sequence[str]) -> Fact | None:
    """The first fact whose path has one of the words, in their order."""
    return next((fact for word in words for fact in chip.facts if word in (fact.path, *fact.path.split("."))), None)
