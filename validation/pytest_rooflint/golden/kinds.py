"""Claims and their kinds: what a line of a golden file states, how its kind obtains a value, and what kinds share.

A kind is a value of `Kind`, registered in the entry-point group `rooflint.claims` under the key that golden files use.
Other packages add kinds in the same way.
"""

import datetime
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_rooflint.golden.expect import Expectation
from pytest_rooflint.golden.schema import GoldenSpec
from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact, Grade, Ladder
from rooflint.base.precision import PRECISIONS, UnknownPrecisionError, format_rate, precision
from rooflint.base.strict_yaml import Document
from rooflint.base.units import OPS_PER_S, Dimension, format_quantity
from rooflint.diagnosis.causes import Case, Cause, Span
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Registry

if TYPE_CHECKING:
    from rooflint.workloads.workload import Workload  # NumPy, which most kinds do without
    from rooflint_report.verdicts import Prediction

MEASURED = "measured"
"""The folder of a golden root that holds recordings."""

_COMPARED = re.compile(r" <=? | / | \+ ")

_ORDER = re.compile(r"( *[<>]=? *)")
_BEGUN = re.compile(r"[^ /@]*[ /@]")
_UNSAFE = re.compile(r"[^A-Za-z0-9._/-]+")

DIVISOR = "divisor"
"""Name of the divisor among the terms of a quotient."""


@dataclass(frozen=True, slots=True)
class ClaimSource:
    """The document that a claim cites."""

    key: str | None
    """Its key in the file's `sources`; None for the file's own `source` or one written in the claim."""
    document: str
    grade: Grade
    where: str | None = None
    url: str | None = None

    def __str__(self) -> str:
        """`document, where (grade)`."""
        place = f", {self.where}" if self.where else ""
        return f"{self.document}{place} ({self.grade})"


@dataclass(frozen=True, slots=True)
class Xfail:
    """A known disagreement: the claim must fail until a date, and is then reviewed."""

    reason: str
    until: datetime.date
    ratio: Expectation | None = None
    """Obtained over expected, where the claim has an expectation: only this disagreement is excused."""
    open: bool = False
    """Whether it is not known that the claim's figure is the wrong one: the facts or the model may be."""


@dataclass(frozen=True)
class Claim:
    """One line of a golden file."""

    kind: str
    subject: str
    id: str
    file: Path
    line: int
    source: ClaimSource | None
    expectation: Expectation | None = None
    hardware: str | None = None
    architecture: str | None = None
    at: str | Mapping[str, str] | None = None
    """One operating point for all devices of the claim, or one for each."""
    workload: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of this kind of claim."""
    note: str | None = None
    why: str | None = None
    xfail: Xfail | None = None
    undisclosed: bool = False
    """Whether it cannot be validated, because the vendor does not disclose the facts behind it."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """Assumptions by label; only for replays."""
    title: str | None = None

    @property
    def is_replay(self) -> bool:
        """Whether it replays assumed facts instead of the sourced ones."""
        return bool(self.given)

    @property
    def network(self) -> str:
        """The name of its workload: `torchvision/resnet18`, `mlp 1024 × 1024 × 1024`; empty without one."""
        if not isinstance(self.workload, Mapping):
            return str(self.workload or "")
        if "network" in self.workload:
            return str(self.workload["network"])
        kind, shape = next(iter(self.workload.items()), ("", ""))
        sizes = shape.values() if isinstance(shape, Mapping) else shape if isinstance(shape, list | tuple) else [shape]
        return f"{kind} {' × '.join(map(str, sizes))}".strip()

    def mode_of(self, device: str) -> str | None:
        """The operating point that the claim names for a device."""
        return self.at.get(device) if isinstance(self.at, Mapping) else self.at

    def option(self, name: str, default: Any = None) -> Any:
        """The value of an option of this kind."""
        return self.options.get(name, default)


@dataclass(frozen=True)
class Golden:
    """A valid golden file."""

    file: Path
    title: str | None
    spec: GoldenSpec
    document: Document
    claims: tuple[Claim, ...]


def slug(text: str) -> str:
    """A text as part of an item id: `tensor_core int8 / lpddr5` → `tensor_core-int8-per-lpddr5`.

    Only `[A-Za-z0-9._/-]` is left, so that ids need no quoting in a shell. Of three and more sides, what all begin with
    is said once: `7nm add int8 <= 7nm add fp16 <= 7nm add fp32` → `7nm-add-int8-le-fp16-le-fp32`.
    """
    first, *others = _ORDER.split(text)  # sides, with what stands between them
    if len(others) > 3:
        words_of = (_BEGUN.findall(side) for side in (first, *others[1::2]))
        shared = takewhile(lambda words: len(set(words)) == 1, zip(*words_of, strict=False))
        known = sum(len(words[0]) for words in shared)
        others[1::2] = [side[known:] for side in others[1::2]]
    words = "".join((first, *others))
    words = words.replace(" / ", " per ").replace(" + ", " and ").replace("<=", " le ").replace(">=", " ge ")
    words = words.replace("<", " lt ").replace(">", " gt ").replace("=", " eq ")
    return _UNSAFE.sub("-", words.strip()).strip("-")


def slug_of(claim: Claim, *options: str) -> str:
    """The subject and the values of the options that are given, as part of an item id."""
    given = (str(claim.option(name)) for name in options if claim.option(name) is not None)
    return slug("-".join((claim.subject, *given)))


# ---- what a kind defines


class ClaimError(ValueError):
    """An invalid claim; the message is one sentence. Raised when its file is read."""


class ContradictionError(RooflintError):
    """Facts that contradict one another, so that there is no figure to compare; with the facts that may be wrong."""

    def __init__(self, message: str, causes: Iterable[Cause]) -> None:
        super().__init__(message)
        self.causes = tuple(causes)


class UnavailableError(RooflintError):
    """What a claim is compared with is not installed or not here; the message says what to do."""


class Context(Protocol):
    """What a kind may ask for to obtain its value."""

    @property
    def registry(self) -> Registry:
        """Registry of devices and architectures."""

    @property
    def golden_roots(self) -> tuple[Path, ...]:
        """Folders that hold golden files."""

    def is_own(self, file: Path) -> bool:
        """Whether a spec file lies in the configured folders, where the user can change it."""

    def readable(self) -> Iterator[Hardware]:
        """The devices in the configured specs that can be read; all where none are configured."""

    def device(self, claim: Claim, name: str | None = None) -> Hardware:
        """The device of a claim, or another that it names, at the claim's operating point."""

    def workload(self, claim: Claim) -> "Workload":
        """The workload of a claim."""

    def read(self, file: Path) -> Golden:
        """A golden file. Raises InputError."""


@dataclass(frozen=True)
class Obtained:
    """The model's value for the subject of a claim, with its derivation."""

    value: float
    dimension: Dimension
    formula: str
    facts: tuple[Fact, ...] = ()
    display: str = ""
    holds: bool | None = None
    """Whether a claim without an expectation holds, such as an order."""
    expected: str = ""
    """What such a claim states, in words."""
    ladder: Ladder | None = None
    """Where the value is one product."""
    divisor: Ladder | None = None
    """Where it is one product over another."""
    higher: Ladder | None = None
    """Where it is the lower of two products: the higher one."""
    terms: tuple[tuple[Ladder, str, str], ...] = ()
    """Where it is a sum of products: (ladder, unit, precision) of each."""
    hardware: Hardware | None = None
    unit: str | None = None
    precision: str | None = None
    sparse: bool = False
    others: tuple[str, ...] = ()
    """Further devices that the claim is about."""
    details: str = ""
    """Whole lines that a failure shows below the obtained value, such as the findings of an audit."""
    doubt: str = ""
    """Why a measured value may be too low; then only a value above its expectation, or a broken law, is decided."""
    causes: tuple[Cause, ...] = ()
    """Causes of a failure that do not follow from the ladders."""
    written: Callable[[float], str] | None = None
    """Formats a value where its dimension does not tell how: `12 %`, `900 inferences/s`."""
    prediction: "Prediction | None" = None
    """For a claim about calibrated kernel times: the rows it was decided on, with the errors."""

    def shown(self, value: float | None = None, digits: int = 4) -> str:
        """The obtained value, or another of the same kind, as text."""
        if value is None and self.display:
            return self.display
        wanted = self.value if value is None else value
        if self.written:
            return self.written(wanted)
        if self.dimension == OPS_PER_S and self.precision in PRECISIONS:
            return format_rate(wanted, self.precision, digits=digits)
        return format_quantity(wanted, self.dimension, digits=digits)

    def cases(self, low: float, high: float, registry: Registry) -> Iterator[tuple[str, Case]]:
        """(term, case) for a diagnosis: the whole value, then each term as if the others were right."""
        if self.ladder is not None:
            below = self.divisor.result if self.divisor else 1.0
            yield "", self._case(self.ladder, low * below, high * below, registry, self.unit, self.precision)
        if self.ladder is not None and self.divisor is not None and low > 0:
            above = self.ladder.result
            yield DIVISOR, self._case(self.divisor, above / high, above / low, registry, None, None)
        if self.higher is not None and high < self.value:
            yield "", self._case(self.higher, low, high, registry, self.unit, self.precision)
        for ladder, unit, name in self.terms:
            rest = self.value - ladder.result
            if low > rest:
                yield f"{unit} {name}", self._case(ladder, low - rest, high - rest, registry, unit, name)

    def _case(
        self, ladder: Ladder, low: float, high: float, registry: Registry, unit: str | None, precision: str | None
    ) -> Case:
        span = Span(ladder.result / high, ladder.result / low if low > 0 else math.inf)
        return Case(ladder, span, self.hardware, registry, unit, precision, self.sparse)


@dataclass(frozen=True)
class Kind:
    """One kind of claim."""

    name: str
    says: str
    """What it claims, in one phrase, for the schema and the docs."""
    obtain: Callable[[Claim, Context], Obtained]
    dimension: Dimension | None = None
    """Dimension of its expectation; None where `check` compares it."""
    expects: Callable[[str], bool] = lambda subject: True
    """Whether a subject needs an `expect`; an order does not."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Keys of this kind alone, each with its JSON Schema."""
    check: Callable[[Claim], None] = lambda claim: None
    """Refuses an invalid subject or option. Raises ClaimError, or a RooflintError of the model."""
    modes: bool = True
    """Whether it accepts an operating point (`at:`)."""
    inferred: bool = False
    """Whether the claim is a conclusion from what the source printed; such claims corroborate nothing."""
    foreign: bool = False
    """Whether it does not test the facts: it judges other people's figures by them, or is a law."""
    scopes: tuple[str, ...] = ("hardware",)
    """Which of `hardware` and `architecture` the file may be about; empty if it needs neither."""
    rows_alone: bool = False
    """Whether it asks for the golden folders because of the tables and recordings below, not of golden files."""
    slug: Callable[[Claim], str] = lambda claim: slug(claim.subject)
    headline: Callable[[Claim], str] | None = None
    """The claim in one line, where its kind and its subject would not say what it is."""
    about: Callable[[Claim], Sequence[str]] = lambda claim: ()
    """What it is about, where that is neither a device nor an architecture of its file: devices that it compares, the
    nodes or memories of energies."""


@cache
def _entries() -> Mapping[str, Any]:
    return {entry.name: entry for entry in entry_points(group="rooflint.claims")}


def names() -> list[str]:
    """Sorted names of all installed kinds."""
    return sorted(_entries())


def home(name: str) -> str:
    """The module that defines a kind. Raises KeyError for an unknown name."""
    return str(_entries()[name].module)


def packages() -> tuple[str, ...]:
    """Packages that define kinds, and those that read what they rest on: specs and published tables."""
    homes = (entry.module.partition(".")[0] for entry in _entries().values())
    return tuple(sorted({"rooflint", "rooflint_calibration", *homes}))


def compared(claim: Claim) -> list[str]:
    """What each part of a comparison begins with, without its operating point: `nvidia/t4`, `45nm`."""
    parts = (part.split() for part in _COMPARED.split(claim.subject))
    return list(dict.fromkeys(words[0].partition("@")[0] for words in parts if words))


@cache
def kind(name: str) -> Kind:
    """The kind with that name; its module is imported on first use.

    Raises KeyError for an unknown name, ClaimError where its module cannot be loaded or defines no kind.
    """
    entry = _entries()[name]
    try:
        loaded = entry.load()
    except Exception as error:
        raise ClaimError(f"the kind '{name}' cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(loaded, Kind):
        raise ClaimError(
            f"the kind '{name}' cannot be loaded: its entry point is a {type(loaded).__name__}, not a Kind"
        )
    return loaded


# ---- options and subjects that several kinds share

SPARSE = {"sparse": {"type": "boolean", "description": "with structured sparsity: the dense peak times its factor"}}
PER = {"per": {"type": "string", "description": "one of the device's equal parts: gcd, core"}}
STORED = {"storage": {"type": "string", "description": "precision of the data; that of the arithmetic by default"}}
STORAGE = {"compute": {"type": "string", "description": "precision of the arithmetic"}, **STORED}
FIDELITY: dict[str, dict[str, Any]] = {
    "fidelity": {"enum": ["roofline", "silicon"], "description": "which model: the plain roofline by default"},
    "launch": {
        "type": "string",
        "description": "with fidelity: silicon; stream by default, or graph, free, framework",
    },
}
WORKLOAD = {
    "workload": {"type": ["string", "object"], "description": "a network, or gemm / conv2d / mlp with parameters"}
}


def unit_precision(text: str) -> tuple[str, str]:
    """Parse `tensor_core int8` into unit and precision. Raises ClaimError."""
    words = text.split()
    if len(words) != 2:
        sparse = "; the peak with sparsity is asked for by 'sparse: true'" if "sparse" in words else ""
        raise ClaimError(f"want a unit and a precision such as 'tensor_core int8', found '{text}'{sparse}")
    try:
        return words[0], precision(words[1]).name
    except UnknownPrecisionError as error:
        raise ClaimError(str(error)) from error


def terms(text: str) -> list[tuple[str, str]]:
    """Parse `tensor_core int8 + dla int8` into its terms. Raises ClaimError."""
    return [unit_precision(term) for term in text.split(" + ")]


def halves(text: str) -> tuple[str, str]:
    """Split `a / b` into a and b. Raises ClaimError."""
    parts = text.split(" / ")
    if len(parts) != 2:
        raise ClaimError(f"want two operands with '/' between them, found '{text}'")
    return parts[0].strip(), parts[1].strip()


def check_flag(claim: Claim, name: str) -> None:
    """Refuse an option that is not a boolean. Raises ClaimError."""
    if not isinstance(claim.option(name, False), bool):
        raise ClaimError(f"{name}: want true or false, found '{claim.option(name)}'")


def check_precision(claim: Claim) -> None:
    """Refuse a subject that is not a precision. Raises UnknownPrecisionError."""
    precision(claim.subject)


def check_precisions(claim: Claim) -> None:
    """Refuse an unknown precision in `compute` or `storage`. Raises ClaimError."""
    for option in ("compute", "storage"):
        try:
            precision(str(claim.option(option, "int8")))
        except UnknownPrecisionError as error:
            raise ClaimError(f"{option}: {error}") from error
