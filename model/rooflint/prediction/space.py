"""Design spaces: which facts of a device vary, over which values, and the variants of a grid or of a sample.

parameter(device, "memory.bandwidth")                # the fact behind a name
axis(parameter, "2:8TB/s")                           # its values
grid([axis, …])  or  latin_hypercube([axis, …], 1000, seed=1)
"""

import difflib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint.base.errors import RooflintError
from rooflint.base.units import DIMENSIONLESS, format_number
from rooflint.hardware.device import Hardware, Memory, UnsupportedError
from rooflint.hardware.schema import FactKind, kind_of

STEPS = 7
"""Values of a range that names no number of steps."""

MOST = 200_000
"""Variants of a grid; larger spaces are sampled."""

DIGITS = 6
"""Significant digits of sampled and of geometric values: a fact has no more."""

EXAMPLE = "memory.bandwidth=2:8TB/s, units.tensor_core.groups=64,128,256 or memory.bandwidth=x0.5:x2"


class VaryError(RooflintError):
    """A fact that cannot vary, or values that it cannot take; the message says what was expected."""


@dataclass(frozen=True)
class Parameter:
    """What varies: one fact, or several in proportion."""

    name: str
    """`memory.bandwidth`, as the user typed it."""
    kind: FactKind
    base: float
    """Of the base device. In the base units of the kind."""
    shares: Mapping[str, float]
    """Path of each fact that changes → its value over that of the parameter."""
    note: str = ""
    """What a reader must know of it."""

    @property
    def short(self) -> str:
        """Its name in a table: `tensor_core.groups`."""
        return ".".join(self.name.split(".")[-2:])

    def show(self, value: float) -> str:
        """A value for a reader: `3.352 TB/s`."""
        if self.kind.shown:
            return f"{format_number(value / self.kind.shown)} {self.kind.unit}"
        return self.kind.show(value)

    def rounded(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values in as many digits as a fact has in its unit; whole numbers where it counts."""
        unit = self.kind.shown or 1.0
        return np.round(values) if self.kind.whole else significant(values / unit, DIGITS) * unit

    def facts(self, values: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """The facts for some values, by path, of the same shape; whole numbers where they count."""
        found = {path: values * share for path, share in self.shares.items()}
        return {path: np.round(fact) if _is_whole(path) else fact for path, fact in found.items()}

    def around(self, share: float) -> tuple[float, float]:
        """A value below that of the base and one above it, by that share; whole numbers where it counts."""
        step = max(1.0, round(share * self.base)) if self.kind.whole else share * self.base
        low = self.base - step
        return (low if low >= self.kind.low else self.base), self.base + step


def _is_whole(path: str) -> bool:
    kind = kind_of(path)
    return kind is not None and kind.whole


@dataclass(frozen=True)
class Axis:
    """The values that a parameter takes."""

    parameter: Parameter
    values: NDArray[np.float64]
    """Ascending, in base units."""
    steady: bool = False
    """Whether a sample is drawn between the ends: of a range, and not of a list."""
    geometric: bool = False
    """Whether equal steps are equal ratios: of factors."""

    def drawn(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """A value for each share of the way from one end to the other, [0, 1)."""
        low, high = self.values[0], self.values[-1]
        if not self.steady:
            return np.asarray(self.values[(shares * len(self.values)).astype(int)])
        if self.parameter.kind.whole:
            return np.asarray(np.floor(low + shares * (high - low + 1)))
        return self.parameter.rounded(low * (high / low) ** shares if self.geometric else low + shares * (high - low))


@dataclass(frozen=True)
class Space:
    """Axes, and a variant in each column of the values."""

    axes: tuple[Axis, ...]
    values: NDArray[np.float64]
    """(axes, variants), in base units."""
    how: str
    """`grid`, `Latin hypercube, seed 1`"""

    def __len__(self) -> int:
        return int(self.values.shape[1])


def grid(axes: Sequence[Axis]) -> Space:
    """Every value with every value of the others, the last axis first. Raises VaryError for more than MOST variants."""
    count = math.prod(len(axis.values) for axis in axes)
    if count > MOST:
        raise VaryError(f"the grid has {count} variants, more than {MOST}: want fewer values, or a number of samples")
    found = np.meshgrid(*(axis.values for axis in axes), indexing="ij")
    return Space(tuple(axes), np.stack([column.ravel() for column in found]), "grid")


def latin_hypercube(axes: Sequence[Axis], samples: int, seed: int = 0) -> Space:
    """A sample in which each of so many equal parts of each axis is drawn from once.

    M. D. McKay, R. J. Beckman, W. J. Conover, Technometrics 21(2), 1979, doi:10.1080/00401706.1979.10489755. Raises
    VaryError for less than one sample and more than MOST.
    """
    if not 1 <= samples <= MOST:
        raise VaryError(f"want between 1 and {MOST} samples, found {samples}")
    draw = np.random.default_rng(seed)
    parts = [(draw.permutation(samples) + draw.random(samples)) / samples for _ in axes]
    values = np.stack([axis.drawn(part) for axis, part in zip(axes, parts, strict=True)])
    return Space(tuple(axes), values, f"Latin hypercube, seed {seed}")


def significant(values: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """Values rounded to so many significant digits; zero, NaN and infinities stay."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (digits - 1 - np.floor(np.log10(np.abs(values))))
        rounded = np.round(values * scale) / scale
    return np.where(np.isfinite(rounded), rounded, values)


# ---- names of parameters


def parameter(base: Hardware, name: str) -> Parameter:
    """The parameter of a name: the path of a fact, a part of one path alone, or a short form.

    `memory.X` is X of the main memory, and its bandwidth where that follows from bus and pin rate moves the pin rate;
    `SM.groups` and `SM.clock` move all units that are grouped in an SM. Raises VaryError with what there is.
    """
    if name in base.facts and (kind := kind_of(name)):
        return Parameter(name, kind, base.facts[name].value, {name: 1.0})
    found = _of_memory(base, name) or _of_group(base, name)
    if found:
        return found
    paths = [path for path in base.facts if f".{path}".endswith(f".{name}") and kind_of(path)]
    if len(paths) == 1:
        return replace(parameter(base, paths[0]), name=name, note=f"{name} is {paths[0]}")
    if paths:
        raise VaryError(f"'{name}' is ambiguous: {', '.join(paths)}{_together(base, paths)}")
    raise VaryError(_unknown(base, name))


def _together(base: Hardware, paths: Sequence[str]) -> str:
    """A hint at the short form that moves all of some facts."""
    for group in dict.fromkeys(base.unit_groups.values()):
        for key in ("groups", "clock"):
            found = _of_group(base, f"{group}.{key}")
            if found and len(set(paths) & set(found.shares)) > 1:
                return f"; {group}.{key} moves those of the {group}"
    return ""


def _of_memory(base: Hardware, name: str) -> Parameter | None:
    """`memory.capacity`, `memory.bandwidth`, `memories.hbm3.bandwidth`."""
    words = name.split(".")
    if words[0] == "memory" and len(words) == 2:
        try:
            memory = base.main_memory()
        except UnsupportedError as error:
            raise VaryError(f"{name}: {error}") from error
    elif words[0] == "memories" and len(words) == 3 and words[1] in base.memories:
        memory = base.memories[words[1]]
    else:
        return None
    path = f"memories.{memory.name}.{words[-1]}"
    if path in base.facts and (kind := kind_of(path)):
        return Parameter(name, kind, base.facts[path].value, {path: 1.0}, f"{name} is {path}")
    if words[-1] == "bandwidth" and memory.has_bandwidth:
        return _derived_bandwidth(memory, name)
    having = dict.fromkeys([*memory.facts, *["bandwidth"] * memory.has_bandwidth])
    near = difflib.get_close_matches(words[-1], having, n=1, cutoff=0.6)
    hint = f"; did you mean {'.'.join([*words[:-1], *near])}?" if near else ""
    raise VaryError(f"{base.label} states no {path}{hint} (memories.{memory.name} has: {', '.join(having)})")


def _derived_bandwidth(memory: Memory, name: str) -> Parameter:
    """The bandwidth of a bus, which is as wide as it was: the rate per pin moves."""
    path, bandwidth = f"memories.{memory.name}.pin_rate", memory.bandwidth_bytes_per_s
    kind = kind_of(f"memories.{memory.name}.bandwidth")
    assert kind is not None  # a bandwidth may stand in every memory
    share = memory.fact("pin_rate").value / bandwidth
    note = f"{name} moves {path}; the bus stays {memory.fact('bus').display}"
    return Parameter(name, kind, bandwidth, {path: share}, note)


def _of_group(base: Hardware, name: str) -> Parameter | None:
    """`SM.groups`, `SM.clock`: the facts of all units in a kind of group."""
    group, _, key = name.rpartition(".")
    units = [unit for unit, its in base.unit_groups.items() if its.lower() == group.lower()]
    heads = {"groups": ("groups",), "clock": ("clock", "clock_of")}.get(key, ())
    paths = [
        path
        for path in base.facts
        if any(
            path == f"units.{unit}.{head}" or path.startswith(f"units.{unit}.{head}.")
            for unit in units
            for head in heads
        )
    ]
    if not paths or not (kind := kind_of(paths[0])):
        return None
    first = base.facts[paths[0]].value
    shares = {path: base.facts[path].value / first for path in paths}
    alike = all(share == 1 for share in shares.values())
    others = ", ".join(paths[1:])
    note = f"moves {', '.join(paths)}" if alike else f"stands for {paths[0]}; {others} move in proportion"
    return Parameter(name, kind, first, shares, f"{name} {note}")


def _unknown(base: Hardware, name: str) -> str:
    for path, reason in base.undisclosed.items():
        if f"{name}.".startswith(f"{path}."):
            return f"{name} is undisclosed: {reason}"
    if re.search(r"peak|tops|flops|ops_per", name, re.IGNORECASE):
        unit = next(iter(base.units), "UNIT")
        return (
            f"'{name}': a peak is derived, and follows from facts: vary units.{unit}.groups, units.{unit}.clock or "
            f"units.{unit}.macs_per_clock.PRECISION"
        )
    near = difflib.get_close_matches(name, list(_names(base)), n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"{base.label} states no '{name}'{hint} (rooflint hardware show {base.id} lists its facts)"


def _names(base: Hardware) -> Iterator[str]:
    """Paths of facts, and short forms."""
    yield from (path for path in base.facts if kind_of(path))
    yield from ("memory.bandwidth", "memory.capacity", "price", "launch_overhead")
    yield from (f"{group}.{key}" for group in dict.fromkeys(base.unit_groups.values()) for key in ("groups", "clock"))


# ---- values

_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?:/[0-9]+)?"
_VALUE = re.compile(rf"(?P<factor>[x×])?\s*(?P<number>{_NUMBER})\s*(?P<unit>[^\s0-9].*)?")


def axis(of: Parameter, text: str) -> Axis:
    """The values of a text.

    `2:8TB/s` and `2:8TB/s:4` are ranges in equal steps, `2,4,8TB/s` is a list; a unit holds for what stands before it.
    `x0.5:x2` and `x0.5,x1,x2` are factors of the base's value, those of a range in equal ratios. Raises VaryError.
    """
    ends = text.split(":")
    words = ends[:2] if len(ends) > 1 else text.split(",")
    if len(ends) > 3 or not all(word.strip() for word in words):
        raise VaryError(f"{of.name}: want a range or a list, such as {EXAMPLE}; found '{text}'")
    found = [match for word in words if (match := _VALUE.fullmatch(word.strip()))]
    if len(found) < len(words):
        raise VaryError(f"{of.name}: want numbers with a unit, such as {EXAMPLE}; found '{text}'")
    factors = {bool(match["factor"]) for match in found}
    if len(factors) > 1:
        raise VaryError(f"{of.name}: want values or factors, and not both; found '{text}'")
    unit = next((match["unit"] for match in reversed(found) if match["unit"]), "")
    values = [_value(of, match, unit) for match in found]
    if len(ends) == 1:
        return Axis(of, np.unique(values))
    geometric, steps = factors == {True}, _steps(of, ends[2:])
    low, high = values
    spaced = np.geomspace(low, high, steps) if geometric else np.linspace(low, high, steps)
    return Axis(of, np.unique(of.rounded(spaced)), steady=True, geometric=geometric)


def _steps(of: Parameter, words: Sequence[str]) -> int:
    if not words:
        return STEPS
    if not re.fullmatch(r"\s*[0-9]{1,6}\s*", words[0]) or int(words[0]) < 2:
        raise VaryError(f"{of.name}: want at least 2 steps after the second colon, found '{words[0]}'")
    return int(words[0])


def _value(of: Parameter, match: re.Match[str], unit: str) -> float:
    """A value in base units."""
    if match["factor"]:
        return _scaled(of, match)
    own = match["unit"] or unit
    try:
        return of.kind.quantity(f"{match['number']} {own}".strip()).value
    except ValueError as error:
        lacking = of.kind.dimension != DIMENSIONLESS and not own
        hint = "; give a unit, or factors such as x0.5:x2" if lacking else ""
        raise VaryError(f"{of.name}: {error}{hint}") from error


def _scaled(of: Parameter, match: Any) -> float:
    if match["unit"]:
        raise VaryError(f"{of.name}: a factor has no unit, found '{match[0].strip()}'")
    above, _, below = match["number"].partition("/")
    if below and not int(below):
        raise VaryError(f"{of.name}: '{match[0].strip()}' divides by zero")
    value = float(above) / int(below or 1) * of.base
    if of.kind.whole:
        value = float(round(value))
    if not of.kind.low <= value <= of.kind.high:
        window = f"{of.show(of.kind.low)} … {of.show(of.kind.high)}"
        raise VaryError(f"{of.name}: {match[0].strip()} of {of.show(of.base)} is {of.show(value)}, outside {window}")
    return value
