"""Constants of kernel times that all GPUs share, read from specs/silicon.yaml, silicon_ops.yaml and silicon_cores.yaml.

constants_file(registry).constants.products.dram_efficiency
constants_file(registry).without("ada")       as they were fitted without measurements of that family
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rooflint.base.errors import RooflintError, refuse, shown
from rooflint.base.facts import Fact
from rooflint.base.strict_yaml import Document
from rooflint.base.units import DIMENSIONLESS
from rooflint.hardware.registry import Registry
from rooflint.hardware.schema import FactKind, SourcedSpec, Strict, Text, Word, fact_of
from rooflint.hardware.schema import Group as Slug
from rooflint.hardware.spec_files import flatten, read_spec

Number = fact_of(FactKind("a number without a unit", DIMENSIONLESS, 1e-6, 1e9, "0.84"))


class SiliconConstantSpec(Strict):
    """One constant: what it means, and its value; of a fitted one also the value where a family was left out."""

    meaning: Text
    unit: Text
    """As a reader wants to see it: clock, B/clock/SM; values are in it."""
    value: Number  # type: ignore[valid-type]
    found: Literal["fitted", "chosen"]
    folds: dict[Word, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)


LIMITS = ("compute", "memory", "launch")
"""What may take longest in a prediction by itself."""

BANDS = (16, 128, 1024)
"""Most rows of each band; the last band has no end."""

LEAST_ROWS = 20
"""Measurements below which the error of a regime says little, so that none is given."""

UNKNOWN = "unknown"
"""In the place of an error, where fewer were made."""

BandErrors = Annotated[
    list[Annotated[float, Field(ge=0)] | Literal["unknown"]],
    Field(min_length=len(BANDS) + 1, max_length=len(BANDS) + 1),
]
"""Mean absolute error in each band. [%]"""


class LimitsSpec(Strict):
    """Errors of predictions by what takes longest in them, with one for each band of rows."""

    compute: BandErrors
    memory: BandErrors
    launch: BandErrors

    def in_percent(self) -> NDArray[np.float64]:
        """As an array, NaN where unknown. Shape (limits, bands)"""
        rows = [[np.nan if error == UNKNOWN else error for error in getattr(self, limit)] for limit in LIMITS]
        return np.array(rows, float)


Percent = Annotated[float, Field(ge=0)]


class FamilyErrorSpec(Strict):
    """Of the rows of one family in a table of whole networks."""

    rows: Annotated[int, Field(gt=0)]
    error: Percent
    """Mean absolute error. [%]"""


class NetworkErrorsSpec(Strict):
    """How far predictions of whole networks are from a published table, to which nothing was fitted."""

    name: Text
    """Of the network, or of what was run."""
    precision: Word
    writes: bool
    """Whether the rates are of tokens that a language model writes; otherwise of samples that a network reads."""
    rows: Annotated[int, Field(gt=0)]
    error: Percent
    """Mean absolute error of all rows. [%]"""
    bias: float
    """Geometric mean of predicted over measured, less 1. [%]"""
    families: dict[Word, FamilyErrorSpec]


class SiliconFitSpec(Strict):
    """What the fitted constants were fitted on, so that they can be fitted again."""

    package: Text
    day: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
    rows_per_family: Annotated[int, Field(gt=0)]
    loss: Text
    errors: dict[Word, dict[Word, Annotated[float, Field(ge=0)]]] = Field(default_factory=dict)
    """Of each topic: mean absolute error on each family, by constants that were fitted without it. [%]"""
    regimes: dict[Word, dict[Word, LimitsSpec]] = Field(default_factory=dict)
    """The same by what limits a prediction and by its rows."""
    networks: dict[Slug, NetworkErrorsSpec] = Field(default_factory=dict)
    """Of each table of whole networks: each row by constants that were fitted without the family of its GPU."""


GroupSpec = Annotated[dict[Word, SiliconConstantSpec], Field(min_length=1)]


class SiliconSpec(SourcedSpec):
    """specs/silicon.yaml and specs/silicon_cores.yaml: constants of matrix products on a GPU."""

    fit: SiliconFitSpec
    constants: GroupSpec


class SiliconOpsSpec(SourcedSpec):
    """specs/silicon_ops.yaml: constants of latencies on a GPU beyond those of a matrix product."""

    fit: SiliconFitSpec
    stream: GroupSpec
    scales: GroupSpec
    prefill: GroupSpec
    decode: GroupSpec
    latent: GroupSpec
    latent_parts: GroupSpec
    quantised: GroupSpec
    experts: GroupSpec
    collectives: GroupSpec
    routing: GroupSpec


# ---- Values by group


@dataclass(frozen=True)
class Products:
    """Of a matrix product on matrix units."""

    matrix_efficiency: float
    """Share of its rate that the unit attains in the main loop: 1 where feed, steps and power explain the rest. [1]"""
    dram_efficiency: float
    """Share of the bandwidth that a stream attains. [1]"""
    graph_launch_us: float
    """What a launch costs in a CUDA graph, where no document says it of the architecture. [us]"""
    start_clocks: float
    """To start, fill and drain a kernel on all SMs, beside the launch and its own work. [clock]"""
    step_clocks: float
    """Latency of a step along k. [clock]"""
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
    """Of one op, all included, where an SM does ENERGY_MACS a clock, on a process of 5 nm. [pJ]"""
    overlap: float
    """Exponent p of (one^p + other^p)^(1/p), of what overlaps: 1 is one after the other, ∞ side by side. [1]"""
    l2_sharpness: float
    """How suddenly L2 overflows. [1]"""
    energy_exponent: float
    """How the energy of an op falls with the MACs that an SM does in a clock. [1]"""
    process_exponent: float
    """How it grows with the size that the process is named after. [1]"""
    sync_step_bytes: float
    """Operand bytes along k of a step where a warp waits. [B]"""
    async_step_bytes: float
    """The same where the matrix unit runs beside the warps. [B]"""


@dataclass(frozen=True)
class Stream:
    """Of a kernel that moves bytes."""

    launch_clocks: float
    """From one kernel of a graph to the next, beside its own work. [clock]"""
    dram_efficiency: float
    """Share of the bandwidth that a stream attains. [1]"""
    l2_bytes: float
    """What an SM reads and writes where L2 holds all of it. [B/clock/SM]"""
    l2_reach: float
    """Bytes over L2 capacity at which half of them miss. [1]"""
    l2_sharpness: float
    """How suddenly L2 overflows. [1]"""
    ecc_left: float
    """What is left of the bandwidth where the memory holds its own error correction. [1]"""


@dataclass(frozen=True)
class Scales:
    """Of quantise kernels that find their scales, where they differ from those that are told."""

    row_launch_clocks: float
    """From one kernel of a graph to the next, where each row has a scale. [clock]"""
    row_clocks: float
    """Of the whole GPU, to hand a row to an SM, as a block of threads. [clock]"""
    row_element_clocks: float
    """Of such a block, for each element of its row, which it reads twice. [clock]"""
    row_sm_clocks: float
    """Of an SM, for each element of all its rows. [clock]"""
    tensor_launch_us: float
    """Of the kernels that find one scale of a whole tensor and use it. [us]"""


@dataclass(frozen=True)
class Prefill:
    """Of attention over a whole sequence."""

    matrix_efficiency: float
    """Share of its rate that a matrix unit attains. [1]"""
    launch_clocks: float
    """Of the op, beside its work. [clock]"""
    block_clocks: float
    """To fill and empty a block of queries. [clock]"""
    sync_block: float
    """Share of block_clocks that is seen where warps wait, as two blocks share such an SM. [1]"""


@dataclass(frozen=True)
class Decode:
    """Of attention of one new token over a cache."""

    launch_clocks: float
    """Of the op, beside its work. [clock]"""
    block_clocks: float
    """To fill and empty a block of keys. [clock]"""
    reduction_clocks: float
    """To combine what parts of a cache found, beside the bytes. [clock]"""


@dataclass(frozen=True)
class LatentParts:
    """Of kernels that split caches of latents where warps wait for their matrix instruction."""

    read_clocks: float
    """Of a read for which all warps of a block wait. [clock]"""


@dataclass(frozen=True)
class Quantised:
    """Of a matrix product in FP8 or INT8, where it differs from one in bf16."""

    energy_share: float
    """Energy of one op in FP8 over that of one in bf16. [1]"""
    int8_energy_share: float
    """Energy of one op in INT8 over that of one in FP8. [1]"""


@dataclass(frozen=True)
class Experts:
    """Of a grouped product of experts, where it differs from one product."""

    launch_clocks: float
    """Of the product with the kernels that group its rows, beside its work. [clock]"""
    row_clocks: float
    """Of an SM, to find the place of a row before the product. [clock]"""


@dataclass(frozen=True)
class Collectives:
    """Of collectives over the links of a box."""

    copy_share: float
    """Time to copy a byte that a device keeps, over that to send one. [1]"""
    chunk_clocks: float
    """Latency of a chunk in a pipeline. [clock]"""
    step_clocks: float
    """Latency of a step of NCCL. [clock]"""
    exchange_us: float
    """Latency of a shot: all devices wait for each other and read what their peers have written. [us]"""
    launch_us: float
    """To start and end the kernel of a graph on all devices. [us]"""
    host_launch_us: float
    """The same of NCCL that a host launches. [us]"""


@dataclass(frozen=True)
class Routing:
    """Of tokens on their way to experts on other devices and back."""

    launch_us: float
    """To start and end a normal kernel of dispatch on all devices. [us]"""
    combine_launch_us: float
    """The same of combine. [us]"""
    token_clocks: float
    """Of an SM that carries tokens: to find where one goes, or what comes back of it. [clock]"""
    sm_bytes: float
    """Of copies of tokens that such an SM moves. [B/clock]"""
    latency_us: float
    """Of a low-latency kernel that sends next to nothing. [us]"""
    expert_ns: float
    """What each expert adds to it. [ns]"""
    prepare_us: float
    """Of a token that an SM converts and sends in low-latency dispatch. [us]"""
    low_latency_efficiency: float
    """Share of the rate that NCCL counts on of a link that low-latency kernels attain. [1]"""


@dataclass(frozen=True)
class CoreConstants:
    """Of products and convolutions on CUDA cores, where they differ from those on matrix units."""

    other_instructions: float
    """Instructions of the main loop that are no multiply-add, for each that is: loads, addresses, branches. [1]"""
    energy_pj: float
    """Of one op, all included, on a process that is named after 10 nm. [pJ]"""
    transform_bytes: float
    """What an SM reads and writes to transform for a Winograd convolution, per `tile.path_width`. [B/clock/SM]"""


@dataclass(frozen=True)
class Constants:
    """All of them, by group; the spec files say what each means and how it was found."""

    products: Products
    stream: Stream
    scales: Scales
    prefill: Prefill
    decode: Decode
    latent: Decode
    """Of decode on latents that all heads share."""
    latent_parts: LatentParts
    quantised: Quantised
    experts: Experts
    collectives: Collectives
    routing: Routing
    cores: CoreConstants
    networks: tuple[NetworkErrorsSpec, ...] = ()
    """How far sums of these kernels are from published times of whole networks."""


class Group(NamedTuple):
    """Where the constants of a group are written."""

    values: type[Any]
    file: str
    key: str


PRODUCTS, OPS, CORES = "silicon.yaml", "silicon_ops.yaml", "silicon_cores.yaml"
"""The files: of matrix products, of all other ops, and of CUDA cores."""

SPECS: Mapping[str, type[SiliconSpec] | type[SiliconOpsSpec]] = MappingProxyType(
    {PRODUCTS: SiliconSpec, OPS: SiliconOpsSpec, CORES: SiliconSpec}
)
FILES = tuple(SPECS)

GROUPS: Mapping[str, Group] = MappingProxyType(
    {
        "products": Group(Products, PRODUCTS, "constants"),
        "stream": Group(Stream, OPS, "stream"),
        "scales": Group(Scales, OPS, "scales"),
        "prefill": Group(Prefill, OPS, "prefill"),
        "decode": Group(Decode, OPS, "decode"),
        "latent": Group(Decode, OPS, "latent"),
        "latent_parts": Group(LatentParts, OPS, "latent_parts"),
        "quantised": Group(Quantised, OPS, "quantised"),
        "experts": Group(Experts, OPS, "experts"),
        "collectives": Group(Collectives, OPS, "collectives"),
        "routing": Group(Routing, OPS, "routing"),
        "cores": Group(CoreConstants, CORES, "constants"),
    }
)
OPS_GROUPS = tuple(name for name, group in GROUPS.items() if group.file == OPS)
"""The groups of silicon_ops.yaml."""


def names(group: str) -> tuple[str, ...]:
    """The constants of a group."""
    return tuple(field.name for field in fields(GROUPS[group].values))


# ---- The files


@dataclass(frozen=True)
class SpecFile:
    """One of the files, read and checked."""

    spec: SiliconSpec | SiliconOpsSpec
    path: Path
    facts: Mapping[str, Fact]
    document: Document
    """With the line of each key."""


@dataclass(frozen=True)
class ConstantsFile:
    """The three files as one."""

    files: Mapping[str, SpecFile]
    """By name."""

    @cached_property
    def constants(self) -> Constants:
        """The values."""
        return Constants(
            **{
                group: kind.values(**{name: self.fact(group, name).value for name in names(group)})
                for group, kind in GROUPS.items()
            },
            networks=tuple(self.fit().networks.values()),
        )

    def without(self, family: str, groups: Collection[str] = tuple(GROUPS)) -> Constants:
        """The values as they were fitted without a family; those of all families where a group has not seen it."""
        found = self.constants
        unseen = {
            group: replace(
                getattr(found, group),
                **{name: one.folds[family] for name, one in self.specs(group).items() if family in one.folds},
            )
            for group in groups
        }
        return replace(found, **unseen)

    def families(self, group: str = "products") -> tuple[str, ...]:
        """Families of GPUs that the fit of a group was repeated without."""
        return tuple(dict.fromkeys(family for one in self.specs(group).values() for family in one.folds))

    def file(self, group: str) -> SpecFile:
        """The file that has a group."""
        return self.files[GROUPS[group].file]

    def specs(self, group: str) -> Mapping[str, SiliconConstantSpec]:
        """What its file says of each constant of a group."""
        found: Mapping[str, SiliconConstantSpec] = getattr(self.file(group).spec, GROUPS[group].key)
        return found

    def fact(self, group: str, name: str) -> Fact:
        """The value of a constant with its source and line."""
        return self.file(group).facts[f"{GROUPS[group].key}.{name}.value"]

    def fitted(self, group: str) -> tuple[str, ...]:
        """Names of the constants of a group that a fit finds."""
        return tuple(name for name, one in self.specs(group).items() if one.found == "fitted")

    def errors(self, topic: str | None) -> Mapping[str, float]:
        """Mean absolute error of a topic on each family, by constants without it; empty of what has none. [%]"""
        return {
            name: one for file in self.files.values() for name, one in file.spec.fit.errors.get(topic or "", {}).items()
        }

    def regimes(self, topic: str | None) -> Mapping[str, LimitsSpec]:
        """The same on each family by what limits a prediction and by its rows; empty of what has none. [%]"""
        return {
            name: one
            for file in self.files.values()
            for name, one in file.spec.fit.regimes.get(topic or "", {}).items()
        }

    def fit(self, group: str = "products") -> SiliconFitSpec:
        """What a group was fitted on."""
        return self.file(group).spec.fit


def constants_file(registry: Registry) -> ConstantsFile:
    """Each file of the first root that has it. Raises InputError, or RooflintError where no root has one."""
    if "constants" not in registry.others:
        registry.others["constants"] = ConstantsFile({name: read(*found(registry, name)) for name in FILES})
    file: ConstantsFile = registry.others["constants"]
    return file


def found(registry: Registry, name: str) -> tuple[Path, str | None]:
    """The file of that name of the first root that has one, and what it would say instead, if anything is tried.

    Raises RooflintError where no root has one.
    """
    for root in registry.roots:
        if (root / name).is_file():
            return root / name, registry.texts.get(root / name)
    raise RooflintError(f"no {name} in {', '.join(map(shown, registry.roots))}")


def read(path: Path, text: str | None = None) -> SpecFile:
    """One of the files, told by its name, or a text in its place. Raises InputError."""
    document, spec = read_spec(path, SPECS[path.name], text)
    for name, group in GROUPS.items():
        if group.file == path.name:
            _check_names(document, group.key, getattr(spec, group.key), names(name))
    return SpecFile(spec, path, flatten(spec, document), document)


def _check_names(document: Document, group: str, there: Iterable[str], known: Sequence[str]) -> None:
    """Refuse constants that are missing and those that are unknown, at the line of their group. Raises InputError."""
    named = list(there)
    wrong = [f"{group}.{name}: is missing" for name in known if name not in named]
    wrong += [f"unknown constant '{name}' (known: {', '.join(known)})" for name in named if name not in known]
    if wrong:
        raise refuse(document.file, document.line((group,)), "; ".join(wrong))
