"""The shape of spec files: what may stand in them, with which unit, and in which window.

Files are checked against these models when they are read; JSON Schemas for editors are exported from them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

from rooflint.base import units
from rooflint.base.facts import Grade
from rooflint.base.precision import PRECISIONS
from rooflint.base.records import FromObject
from rooflint.base.units import Quantity, UnitError, format_quantity, parse_quantity
from rooflint.hardware.device import KINDS

CIRCUITS = Literal[
    "x86_performance",
    "x86_efficiency",
    "arm_performance",
    "arm_efficiency",
    "standard_cell",
    "cuda_core",
    "simd_packed",
    "tensor_core",
    "systolic_mac",
    "domain_flow",
]


@dataclass(frozen=True, slots=True)
class RawFact:
    """`[value, source, where]` with the value read."""

    quantity: Quantity
    source: str
    where: str


@dataclass(frozen=True, slots=True)
class FactKind:
    """Unit and window of a kind of fact."""

    what: str
    dimension: units.Dimension
    low: float
    high: float
    example: str
    whole: bool = False
    unit: str | None = None
    """What its unit must end with, where another unit of its dimension would be misread: MAC, not op; bit, not B."""
    shown: float | None = None
    """One of that unit in base units, where a prefix is part of it: 8e-12 for pJ/bit."""

    def read(self, raw: Any) -> RawFact:
        """Turn the YAML value into a RawFact. Raises PydanticCustomError with what was expected."""
        if not (isinstance(raw, list) and len(raw) == 3):
            raise self._error(f"want [value, source, where], found {_found(raw)}")
        value, source, where = raw
        if (
            not isinstance(source, str)
            or not isinstance(where, str | int | float)
            or isinstance(where, bool)
            or where == ""
        ):
            raise self._error(f"want [value, source, where] with a source key and a place, found {_found(raw)}")
        return RawFact(self.quantity(value), source, str(where))

    def quantity(self, value: Any) -> Quantity:
        """The value of such a fact. Raises PydanticCustomError with what was expected."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self._error(f"want {self._expected()}, found {_found(value)}")
        try:
            quantity = parse_quantity(value)
        except UnitError as error:
            raise self._error(f"{error}; want {self._expected()}") from error
        return self._checked(quantity)

    def _checked(self, quantity: Quantity) -> Quantity:
        text = quantity.text
        bare = self.dimension == units.DIMENSIONLESS and " " in text
        if quantity.dimension != self.dimension or bare or (self.unit and not self._spelt(text)):
            raise self._error(f"want {self._expected()}, found '{text}'")
        if quantity.value <= 0:
            raise self._error(f"want a value above zero, found '{text}'")
        scale = units.OPS_PER_MAC if self.unit == "MAC" else 1.0
        value = quantity.value / scale
        if self.whole and value != int(value):
            raise self._error(f"want a whole number, found '{text}'")
        if not self.low <= value <= self.high:
            raise self._error(
                f"'{text}' is {self.show(value)}, outside {self.show(self.low)} … {self.show(self.high)};"
                " wrong unit or prefix?"
            )
        return Quantity(value, units.DIMENSIONLESS if scale != 1 else quantity.dimension, text, quantity.step / scale)

    def _spelt(self, text: str) -> bool:
        """MAC and bit take no prefix here, nor does pJ/bit; bit/s does."""
        unit = str(self.unit)
        return text.endswith(unit if "/" in unit and not self.shown else f" {unit}")

    def _expected(self) -> str:
        if self.dimension == units.DIMENSIONLESS:
            return f"{self.what} such as {self.example}"
        return f"{self.what} in {self.unit or units.NAMES[self.dimension]} such as {self.example}"

    def show(self, value: float) -> str:
        """A value for a reader, in the unit that its facts are written in."""
        if self.unit == "MAC":
            return f"{value:g} MAC"
        if self.shown:
            return f"{value / self.shown:.10g} {self.unit}"
        if self.unit == "bit":
            return f"{value * 8:.10g} bit"
        if self.unit:  # bit/s
            return format_quantity(value * 8, self.dimension, unit=self.unit)
        return format_quantity(value, self.dimension)

    @staticmethod
    def _error(message: str) -> PydanticCustomError:
        return PydanticCustomError("fact", "{message}", {"message": message})

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """`read` alone: what it returns needs no validation, and a schema of RawFact for each fact costs time."""
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """For editors: a list of three, described as errors describe it."""
        return {
            "type": "array",
            "description": f"{self.what}: [value, source, where]",
            "prefixItems": [
                {"type": ["string", "number"], "description": f"{self.what}, such as {self.example}"},
                {"type": "string", "description": "key in this file's sources"},
                {"type": ["string", "number"], "description": "page, table or row in the source"},
            ],
            "minItems": 3,
            "maxItems": 3,
            "examples": [[self.example, "wp", "table 3"]],
        }


def _found(raw: Any) -> str:
    return "nothing" if raw is None else f"'{raw}'" if isinstance(raw, str) else str(raw)


def fact_of(kind: FactKind) -> Any:
    """The annotated type of a fact of a kind."""
    return Annotated[RawFact, kind]


Count = fact_of(FactKind("a count", units.DIMENSIONLESS, 1, 1e7, "132", whole=True))
Year = fact_of(FactKind("a year", units.DIMENSIONLESS, 1990, 2100, "2022", whole=True))
SparsityFactor = fact_of(FactKind("a factor", units.DIMENSIONLESS, 1, 16, "2"))
Clock = fact_of(FactKind("a clock", units.HERTZ, 1e6, 2e10, "1830 MHz"))
Macs = fact_of(FactKind("MAC per clock of one unit", units.OPS, 1e-3, 1e7, "512 MAC", unit="MAC"))
Power = fact_of(FactKind("a power", units.WATTS, 1e-2, 1e5, "700 W"))
Length = fact_of(FactKind("a process node", units.METRES, 1e-10, 1e-6, "4 nm"))
Capacity = fact_of(FactKind("a capacity", units.BYTES, 1e3, 1e14, "80 GB"))
Redundancy = fact_of(FactKind("a share of a memory", units.DIMENSIONLESS, 0, 0.5, "1/16"))
Width = fact_of(FactKind("a bus width", units.BYTES, 1, 1e5, "5120 bit", unit="bit"))
PinRate = fact_of(FactKind("a rate per pin", units.BYTES_PER_S, 1e7 / 8, 1e12 / 8, "5.24 Gbit/s", unit="bit/s"))
LinkRate = fact_of(FactKind("a rate of one link in one direction", units.BYTES_PER_S, 1e7, 1e12, "25 GB/s"))
Bandwidth = fact_of(FactKind("a bandwidth", units.BYTES_PER_S, 1e8, 1e15, "3.35 TB/s"))
Duration = fact_of(FactKind("a duration", units.SECONDS, 1e-10, 1, "5 µs"))


def _precision(name: str) -> str:
    if name not in PRECISIONS:
        raise PydanticCustomError(
            "precision", "{message}", {"message": f"unknown precision '{name}' (known: {', '.join(PRECISIONS)})"}
        )
    return name


PrecisionName = Annotated[str, AfterValidator(_precision), WithJsonSchema({"type": "string", "enum": list(PRECISIONS)})]
Id = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9./-]*$", description="vendor/name, as its spec file is called")]
Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Group = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$", max_length=40)]
Text = Annotated[str, Field(min_length=1, max_length=4000)]


class Strict(FromObject, BaseModel):  # named twice, as ruff follows base classes within one file only
    """A model that refuses unknown keys and converts no values."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class SourceSpec(Strict):
    """A document that facts cite by its key."""

    document: Text
    grade: Grade
    url: Text | None = None
    where: Text | None = None


class SourcedSpec(Strict):
    """What spec files other than those of devices have in common."""

    name: Text
    sources: dict[Word, SourceSpec]
    notes: Text | None = None


class UnitSpec(Strict):
    """A kind of compute unit: tensor cores, CUDA cores, an MXU, AVX-512 ports."""

    group: (
        Annotated[
            str, Field(min_length=1, max_length=40, description="what the units are grouped in: SM, CU, core, chip")
        ]
        | None
    ) = None
    groups: Count | None = None  # type: ignore[valid-type]
    per_group: Count | None = None  # type: ignore[valid-type]
    issue_threads: Count | None = None  # type: ignore[valid-type]
    clock: Clock | None = None  # type: ignore[valid-type]
    clock_of: dict[PrecisionName, Clock] = {}  # type: ignore[valid-type]
    macs_per_clock: dict[PrecisionName, Macs] = {}  # type: ignore[valid-type]
    sparsity: dict[PrecisionName, SparsityFactor] = {}  # type: ignore[valid-type]
    circuit: CIRCUITS | None = None


class MemorySpec(Strict):
    """A memory: bus × rate per pin, or a bandwidth where those are not known."""

    capacity: Capacity | None = None  # type: ignore[valid-type]
    bus: Width | None = None  # type: ignore[valid-type]
    pin_rate: PinRate | None = None  # type: ignore[valid-type]
    bandwidth: Bandwidth | None = None  # type: ignore[valid-type]
    ecc: Redundancy | None = None  # type: ignore[valid-type]


class CacheSpec(Strict):
    """A cache or on-chip memory."""

    capacity: Capacity | None = None  # type: ignore[valid-type]


class LinkSpec(Strict):
    """A kind of link to other devices: so many links, each at a rate in either direction."""

    count: Count | None = None  # type: ignore[valid-type]
    rate: LinkRate | None = None  # type: ignore[valid-type]


class ClocksSpec(Strict):
    """Clocks of the device as a whole."""

    base: Clock | None = None  # type: ignore[valid-type]
    boost: Clock | None = None  # type: ignore[valid-type]


class PowersSpec(Strict):
    """Power figures that are not a TDP."""

    typical: Power | None = None  # type: ignore[valid-type]
    measured_max: Power | None = None  # type: ignore[valid-type]
    measured_mean: Power | None = None  # type: ignore[valid-type]
    idle: Power | None = None  # type: ignore[valid-type]
    limit: Power | None = None  # type: ignore[valid-type]
    peak: Power | None = None  # type: ignore[valid-type]


def _kind(name: str) -> str:
    if name not in KINDS:
        *first, last = map(repr, KINDS)
        raise PydanticKnownError("literal_error", {"expected": f"{', '.join(first)} or {last}"})
    return name


Kind = Annotated[str, AfterValidator(_kind), WithJsonSchema({"enum": [*KINDS], "type": "string"})]


class SharedSpec(Strict):
    """What a device and an architecture have in common."""

    name: Text
    kind: Kind
    sources: dict[Word, SourceSpec] = {}
    die: Text | None = None
    full_die: dict[Group, Count] = {}  # type: ignore[valid-type]
    dies: Count | None = None  # type: ignore[valid-type]
    resident_warps: dict[Group, Count] = {}  # type: ignore[valid-type]
    warp_threads: dict[Group, Count] = {}  # type: ignore[valid-type]
    warp_schedulers: dict[Group, Count] = {}  # type: ignore[valid-type]
    dispatch_units: dict[Group, Count] = {}  # type: ignore[valid-type]
    special_function_units: dict[Group, Count] = {}  # type: ignore[valid-type]
    compute_capability: Text | None = None
    process: Length | None = None  # type: ignore[valid-type]
    clocks: ClocksSpec = Field(default_factory=ClocksSpec)
    units: dict[Word, UnitSpec] = {}
    memories: dict[Word, MemorySpec] = {}
    caches: dict[Word, CacheSpec] = {}
    links: dict[Word, LinkSpec] = {}
    launch_overhead: Duration | None = None  # type: ignore[valid-type]
    undisclosed: dict[str, Text] = {}
    notes: Text | None = None


class ArchitectureSpec(SharedSpec):
    """specs/architectures/<vendor>/<name>.yaml: what devices of one die or generation share."""


class HardwareSpec(SharedSpec):
    """specs/hardware/<vendor>/<device>.yaml: one device. Peaks are never written; they are derived."""

    architecture: Text | None = None
    aliases: list[Text] = []
    scope: Literal["core", "die", "package", "module", "chip", "board"] = "package"
    parts: dict[Word, Count] = {}  # type: ignore[valid-type]
    launched: Year | None = None  # type: ignore[valid-type]
    tdp: Power | None = None  # type: ignore[valid-type]
    powers: PowersSpec = Field(default_factory=PowersSpec)
    operating_points: dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$")], dict[str, Any]] = {}


class SwitchesSpec(Strict):
    """Switches that join the devices of a system: so many, each with so many ports for links of the device."""

    count: Count  # type: ignore[valid-type]
    ports: Count  # type: ignore[valid-type]


class CardSpec(Strict):
    """Network cards of a system that join it to others: so many in all, each at a rate in either direction."""

    count: Count  # type: ignore[valid-type]
    rate: LinkRate  # type: ignore[valid-type]


class SystemSpec(SourcedSpec):
    """specs/systems/<vendor>/<name>.yaml: devices of one kind and how they are joined. Bandwidths are derived."""

    aliases: list[Text] = []
    device: Id
    link: Word
    topology: Literal["switch", "mesh", "torus", "host"]
    devices: Count | None = None  # type: ignore[valid-type]
    axes: dict[Word, Count] = {}  # type: ignore[valid-type]
    switches: SwitchesSpec | None = None
    nics: dict[Word, CardSpec] = {}


#: Dotted path of a fact, with `*` for a free word, → its kind. One table for overrides, replays and variants.
READERS: dict[str, FactKind] = {}


def readers(model: type[BaseModel]) -> dict[str, FactKind]:
    """Dotted paths of the facts of a model, with `*` for a free word or a position, → their kinds."""
    return dict(_collected(model, ""))


def _collected(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, FactKind]]:
    for name, info in model.model_fields.items():
        yield from _annotated(info.annotation, list(info.metadata), f"{prefix}{name}")


def _annotated(annotation: Any, metadata: list[Any], path: str) -> Iterator[tuple[str, FactKind]]:
    yield from ((path, entry) for entry in metadata if isinstance(entry, FactKind))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from _collected(annotation, f"{path}.")
        return
    inner = getattr(annotation, "__metadata__", None)
    if inner is not None:
        yield from _annotated(annotation.__origin__, list(inner), path)
        return
    arguments: tuple[Any, ...] = getattr(annotation, "__args__", ())
    if getattr(annotation, "__origin__", None) in (dict, list):
        yield from _annotated(arguments[-1], [], f"{path}.*")
        return
    for argument in arguments:
        if argument is not type(None):
            yield from _annotated(argument, [], path)


READERS.update(readers(HardwareSpec))

SYSTEM_READERS: Mapping[str, FactKind] = readers(SystemSpec)
"""The same of systems, which have no operating points and no variants."""


def kind_of(path: str, among: Mapping[str, FactKind] = READERS) -> FactKind | None:
    """The kind of the fact at a dotted path; None if no fact can stand there."""
    words = path.split(".")
    for pattern, kind in among.items():
        parts = pattern.split(".")
        if len(parts) == len(words) and all(part in ("*", word) for part, word in zip(parts, words, strict=True)):
            by_precision = len(words) == 4 and words[2] in ("clock_of", "macs_per_clock", "sparsity")
            return kind if not by_precision or words[3] in PRECISIONS else None
    return None


def reader_of(path: str) -> Callable[[Any], RawFact] | None:
    """How the fact at a dotted path is read; None if no fact can stand there."""
    kind = kind_of(path)
    return kind.read if kind else None
