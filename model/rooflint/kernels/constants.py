"""The shape of specs/silicon.yaml: the constants of the latency model of silicon, and what they were fitted on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from rooflint.base.errors import RooflintError, refuse, shown
from rooflint.base.facts import Fact
from rooflint.base.strict_yaml import Document
from rooflint.base.units import DIMENSIONLESS
from rooflint.devices.registry import Registry
from rooflint.devices.schema import SourcedSpec, Strict, Text, Wish, Word, fact_of
from rooflint.devices.spec_files import flatten, read_spec

Number = fact_of(Wish("a number without a unit", DIMENSIONLESS, 1e-6, 1e9, "0.84"))


class SiliconConstantSpec(Strict):
    """One constant: what it means, and its value; of a fitted one also the value where a family was left out."""

    meaning: Text
    unit: Text
    """As a reader wants to see it: clock, B/clock/SM; values are in it."""
    value: Number  # type: ignore[valid-type]
    found: Literal["fitted", "chosen"]
    folds: dict[Word, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)


class SiliconFitSpec(Strict):
    """What the fitted constants were fitted on, so that they can be fitted again."""

    package: Text
    day: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
    rows_per_family: Annotated[int, Field(gt=0)]
    loss: Text
    errors: dict[Word, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    """Mean absolute error on each family, by constants that were fitted without it. [%]"""


class SiliconSpec(SourcedSpec):
    """specs/silicon.yaml: constants of the latency of a matrix product on a GPU."""

    fit: SiliconFitSpec
    constants: Annotated[dict[Word, SiliconConstantSpec], Field(min_length=1)]


# ---- The constants that all GPUs share, read from specs/silicon.yaml

FILE = "silicon.yaml"


@dataclass(frozen=True)
class Constants:
    """Values by name; specs/silicon.yaml says what each means and how it was found."""

    matrix_efficiency: float
    """Share of its rate that the unit attains in the main loop: 1 where feed, steps and power explain the rest. [1]"""
    dram_efficiency: float
    """Share of the bandwidth that a stream attains. [1]"""
    graph_launch_us: float
    """What a launch costs in a CUDA graph, where no document says it of the architecture. [us]"""
    start_clocks: float
    """To start, fill and drain a kernel on all SMs, beside the launch and its own work. [clock]"""
    step_clocks: float
    """Latency of a step along k, whoever waits for it. [clock]"""
    sync_feed_bytes: float
    """Operands that an SM takes in where warps load them, per `tile.path_width`. [B/clock/SM]"""
    async_feed_bytes: float
    """The same where the matrix unit reads them itself. [B/clock/SM]"""
    store_bytes: float
    """Output that an SM writes, per `tile.path_width`. [B/clock/SM]"""
    reduction_clocks: float
    """To add up what parts of k found, beside the bytes. [clock]"""
    reduction_bytes: float
    """Parts that an SM writes and reads to add them up. [B/clock/SM]"""
    l2_bytes: float
    """What an SM takes from L2, however wide that is. [B/clock/SM]"""
    l2_ratio: float
    """What L2 gives over what memory gives, however many SMs ask. [1]"""
    l2_reach: float
    """Working set over L2 capacity at which half of the reads miss. [1]"""
    energy_pj: float
    """Of one op, all included, where an SM does ENERGY_MACS a clock. [pJ]"""
    overlap: float
    """Exponent p of (one^p + other^p)^(1/p), of what overlaps: 1 is one after the other, ∞ side by side. [1]"""
    l2_sharpness: float
    """How suddenly L2 overflows. [1]"""
    energy_exponent: float
    """How the energy of an op falls with the MACs that an SM does in a clock. [1]"""
    sync_step_bytes: float
    """Operand bytes along k of a step where a warp waits. [B]"""
    async_step_bytes: float
    """The same where the matrix unit runs beside the warps. [B]"""


NAMES = tuple(field.name for field in fields(Constants))


@dataclass(frozen=True)
class SiliconFile:
    """The file, read and checked."""

    spec: SiliconSpec
    file: Path
    facts: Mapping[str, Fact]

    @property
    def constants(self) -> Constants:
        """The values."""
        return Constants(**{name: self.fact(name).value for name in NAMES})

    @property
    def families(self) -> tuple[str, ...]:
        """Families of GPUs that the fit was repeated without."""
        return tuple(dict.fromkeys(family for one in self.spec.constants.values() for family in one.folds))

    def without(self, family: str) -> Constants:
        """The values as they were fitted without a family, which they have not seen."""
        folds = {name: one.folds[family] for name, one in self.spec.constants.items() if one.folds}
        return replace(self.constants, **folds)

    def fact(self, name: str) -> Fact:
        """The value of a constant with its source and line."""
        return self.facts[f"constants.{name}.value"]


def silicon_file(registry: Registry) -> SiliconFile:
    """The file of the first root that has one. Raises InputError, or RooflintError where no root has one."""
    return read(*found(registry, FILE))


def found(registry: Registry, name: str) -> tuple[Path, str | None]:
    """The file of that name of the first root that has one, and what it would say instead, if anything is tried.

    Raises RooflintError where no root has one.
    """
    for root in registry.roots:
        if (root / name).is_file():
            return root / name, registry.texts.get(root / name)
    raise RooflintError(f"no {name} in {', '.join(map(shown, registry.roots))}")


def check_names(document: Document, group: str, there: Iterable[str], known: Sequence[str]) -> None:
    """Refuse constants that are missing and those that nobody knows, at the line of their group. Raises InputError."""
    named = list(there)
    wrong = [f"{group}.{name}: is missing" for name in known if name not in named]
    wrong += [f"unknown constant '{name}' (known: {', '.join(known)})" for name in named if name not in known]
    if wrong:
        raise refuse(document.file, document.line((group,)), "; ".join(wrong))


def read(file: Path, text: str | None = None) -> SiliconFile:
    """A file of constants, or a text in its place. Raises InputError."""
    document, spec = read_spec(file, SiliconSpec, text)
    check_names(document, "constants", spec.constants, NAMES)
    return SiliconFile(spec, file, flatten(spec, document))
