"""Causes of errors: the products with the largest errors and what may explain them, and parameters of a prediction.

A parameter is a constant or a fact of a device, with its line; a prediction can be repeated with one of them changed.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rooflint.base.facts import Fact, leading_number
from rooflint.base.strict_yaml import Document
from rooflint.base.units import format_number
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import GROUPS, OPS_GROUPS, constants_file
from rooflint.kernels.dispatch import RESOURCES, KernelTimes, with_more
from rooflint.kernels.gemm import Breakdown
from rooflint.kernels.products import Gemm
from rooflint.kernels.shapes import COLD, Numbers
from rooflint_calibration.evaluation import HeldOut
from rooflint_calibration.topics import TOPICS

NEAR = 4.0
"""Shapes within this factor in m, n and k are neighbours, and tend to share an error."""

EXPLAINS = 0.5
"""A change that leaves at most this share of the logarithmic error explains it."""

ASYNCHRONOUS = "a kernel that uses the asynchronous matrix instructions"

TRIED = tuple(name for name in RESOURCES if name != "clock_hz")
"""Resources that may explain an error if halved or doubled; a clock is excluded because it changes every time."""


@dataclass(frozen=True)
class Worst:
    """A shape on a device."""

    device: str
    case: KernelTimes
    measured_s: float
    breakdown: Breakdown
    """The predicted one."""
    around: int
    """Shapes in its neighbourhood, on all devices of the family."""
    around_error: float
    """Their mean error. [1]"""
    likeness: "Likeness | None"

    @property
    def ratio(self) -> float:
        """Predicted over measured. [1]"""
        return self.breakdown.latency_s / self.measured_s


@dataclass(frozen=True)
class Likeness:
    """A change of the model whose prediction resembles the measured time."""

    what: str
    seconds: float
    advice: str = ""


def worst(ones: Sequence[HeldOut], most: int) -> list[Worst]:
    """Up to `most` products of a family, largest error first; none is a neighbour of an earlier one."""
    owner = np.repeat(np.arange(len(ones)), [len(one.rows) for one in ones])
    row = np.concatenate([np.arange(len(one.rows)) for one in ones])
    ratio = np.concatenate([one.ratio() for one in ones])
    sizes = np.concatenate([np.log(one.rows.sizes[:, :3]) for one in ones])
    left, found = np.abs(np.log(ratio)), list[Worst]()
    while len(found) < most and left.max(initial=0.0) > 0:
        first = int(left.argmax())
        near = np.all(np.abs(sizes - sizes[first]) < math.log(NEAR), axis=1)
        found.append(_worst(ones[owner[first]], int(row[first]), ratio[near]))
        left = np.where(near, 0.0, left)
    return found


def _worst(one: HeldOut, row: int, around: Numbers) -> Worst:
    model = TOPICS["gemm"].kernel(one.chip)
    m, n, k, copies = one.rows.sizes[row]
    case = KernelTimes(model, model.work(m, n, k, copies=float(copies)), one.chip, one.constants)
    measured_s = float(one.rows.seconds[row])
    ones = _apart(case)
    error = float(np.abs(around - 1).mean())
    return Worst(one.rows.device, case, measured_s, ones[0], len(around), error, likeness(case, ones, measured_s))


def likeness(case: KernelTimes, ones: Sequence[Breakdown], measured_s: float) -> Likeness | None:
    """The change of the model that comes nearest, if it explains the error; `ones`: breakdowns, fastest first."""

    def off(seconds: float) -> float:
        return abs(math.log(seconds / measured_s))

    tried = list(_changes(case, ones, slower=measured_s > ones[0].latency_s))
    nearest = min(tried, key=lambda one: off(one.seconds), default=None)
    if nearest is None or off(nearest.seconds) > EXPLAINS * off(ones[0].latency_s):
        return None
    return nearest


def _changes(case: KernelTimes, ones: Sequence[Breakdown], *, slower: bool) -> Iterator[Likeness]:
    yield from _slower(case, ones) if slower else _faster(case)
    for name, seconds in with_more(case, 0.5 if slower else 2.0):
        if name in TRIED:
            yield Likeness(f"it had {'half' if slower else 'twice'} the {RESOURCES[name]}", seconds)


def _slower(case: KernelTimes, ones: Sequence[Breakdown]) -> Iterator[Likeness]:
    if ones[0].split > 1:
        yield Likeness("k were whole", _whole(ones).latency_s, f"an algorithm that cuts k in {ones[0].split}")
    if case.chip.asynchronous:
        waiting = _apart(replace(case, chip=replace(case.chip, asynchronous=False)))
        yield Likeness("its warps waited for each step, and k were whole", _whole(waiting).latency_s, ASYNCHRONOUS)
    cold = _with_copies(case, COLD)
    yield Likeness("nothing were left in L2", cold, "operands that stay in L2 from one call to the next")


def _faster(case: KernelTimes) -> Iterator[Likeness]:
    warm = _with_copies(case, 1.0)
    yield Likeness("L2 held the weights", warm, "to say so with --copies 1")
    free = replace(case, chip=replace(case.chip, bandwidth_bytes_per_s=math.inf)).seconds.item()
    yield Likeness("its bytes took no time", free)


def _whole(ones: Sequence[Breakdown]) -> Breakdown:
    """The fastest without a split of k."""
    return next(one for one in ones if one.split == 1)


def _apart(case: KernelTimes) -> list[Breakdown]:
    assert isinstance(case.kernel, Gemm)
    return case.kernel.apart(case.work, case.chip, case.constants)


def _with_copies(case: KernelTimes, copies: float) -> float:
    """Time with so many sets of weights in rotation. [s]"""
    return float(replace(case, work=replace(case.work, copies=copies)).seconds.item())


# ---- Parameters

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
            label = name if group == "products" else f"{group}.{name}"
            yield Parameter(label, fact, _scaler(group, name))


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
    for field, (label, words) in OF_CHIP.items():
        fact = _fact(one.chip, words)
        if fact is not None and getattr(one.chip, field) is not None:
            yield Parameter(f"{label} of {device}", fact, _of_device(device, field))


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
