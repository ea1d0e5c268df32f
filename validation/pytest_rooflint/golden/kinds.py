"""Kinds of claims: what each needs, how it obtains a value from the model, how it explains it.

A kind is one small module that defines `KIND`; the entry-point group `rooflint.claims` names it by the key that stands
in golden files. Other packages add theirs the same way.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_rooflint.golden.claim import Claim, slug
from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact, Ladder
from rooflint.base.precision import PRECISIONS, UnknownPrecisionError, precision, rate_unit
from rooflint.base.units import OPS_PER_S, Dimension, format_quantity
from rooflint.coefficients.launch_overheads import FREE, MODES
from rooflint.devices.hardware import Hardware
from rooflint.devices.registry import Registry
from rooflint.diagnosis.causes import Case, Cause, Span

if TYPE_CHECKING:
    from pytest_rooflint.golden.replay import Assumed
    from rooflint.networks.workload import Workload  # NumPy, which most kinds do without
    from rooflint_report.verdicts import Prediction

DIVISOR = "divisor"
"""Name of the term that stands below the line of a quotient."""


class ClaimError(ValueError):
    """A claim that cannot mean anything, said in one sentence; found when its file is read."""


class ContradictionError(RooflintError):
    """Facts that contradict one another, so that there is no figure to compare; says which of them is the odd one."""

    def __init__(self, message: str, causes: Iterable[Cause]) -> None:
        super().__init__(message)
        self.causes = tuple(causes)


class UnavailableError(RooflintError):
    """What a claim is held against is not here: a package of measurements, a machine; the message says what to do."""


class Context(Protocol):
    """What a kind may ask for while it obtains its value."""

    @property
    def registry(self) -> Registry:
        """Devices and architectures."""

    @property
    def golden_roots(self) -> tuple[Path, ...]:
        """Folders of golden files."""

    def devices(self) -> list[str]:
        """Ids of the devices that the suite is about."""

    def device(self, claim: Claim, name: str | None = None) -> Hardware:
        """The device of a claim, or another one that it names, at the claim's operating point."""

    def workload(self, claim: Claim) -> "Workload":
        """The workload of a claim."""

    def assumed(self, claim: Claim) -> "Mapping[str, Assumed]":
        """The assumptions of a replayed claim, by label."""


@dataclass(frozen=True)
class Obtained:
    """What the model says about a claim's subject."""

    value: float
    dimension: Dimension
    formula: str
    facts: tuple[Fact, ...] = ()
    display: str = ""
    holds: bool | None = None
    """For claims without an expectation, such as orderings: whether what they say is so."""
    expected: str = ""
    """For those: what they say, in words."""
    ladder: Ladder | None = None
    """Where the value is one product."""
    divisor: Ladder | None = None
    """Where it is one product over another."""
    higher: Ladder | None = None
    """Where it is the lower of two products: the other one."""
    terms: tuple[tuple[Ladder, str, str], ...] = ()
    """Where it is a sum of products: (ladder, unit, precision) each."""
    hardware: Hardware | None = None
    unit: str | None = None
    precision: str | None = None
    sparse: bool = False
    others: tuple[str, ...] = ()
    """Further devices that the claim speaks of."""
    details: str = ""
    """Whole lines that a red verdict shows below what was obtained: the findings of an audit."""
    doubt: str = ""
    """Why a measured value may be too low: then only what lies above its expectation, or breaks a law, is decided."""
    causes: tuple[Cause, ...] = ()
    """Of a red one, those that its ladders do not show."""
    written: Callable[[float], str] | None = None
    """How a value is shown, where its dimension does not say it: `12 %`, `900 inferences/s`."""
    prediction: "Prediction | None" = None
    """Of a claim about calibrated kernel times: on what it was decided, with the errors."""

    def shown(self, value: float | None = None, digits: int = 4) -> str:
        """A value of this kind for a reader."""
        if value is None and self.display:
            return self.display
        wanted = self.value if value is None else value
        if self.written:
            return self.written(wanted)
        return format_quantity(wanted, self.dimension, digits=digits, unit=self.rate_unit)

    @property
    def rate_unit(self) -> str | None:
        """FLOP/s for floating-point rates."""
        if self.dimension == OPS_PER_S and self.precision in PRECISIONS:
            return rate_unit(self.precision)
        return None

    def cases(self, low: float, high: float, registry: Registry) -> Iterator[tuple[str, Case]]:
        """What a diagnosis needs to know, by term: the whole, or each term as if the others were right."""
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


def _nothing(claim: Claim) -> None:
    """No further check."""


def article(name: str) -> str:
    """`a peak`, `an intensity`."""
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


@dataclass(frozen=True)
class Kind:
    """One kind of claim."""

    name: str
    says: str
    """What it claims, in one sentence, for the schema and the docs."""
    obtain: Callable[[Claim, Context], Obtained]
    dimension: Dimension | None = None
    """Of its expectation; None where the kind checks it itself."""
    expects: Callable[[str], bool] = lambda subject: True
    """Whether a subject needs an `expect`; orderings say all themselves."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Keys that only this kind understands, each with its JSON Schema."""
    check: Callable[[Claim], None] = _nothing
    """Refuse a subject or option that cannot mean anything. Raises ClaimError."""
    modes: bool = True
    """Whether an operating point means something to it."""
    inferred: bool = False
    """Whether what it claims was concluded from what a source printed; such claims corroborate nothing."""
    foreign: bool = False
    """Whether it says nothing of the facts themselves: it judges somebody else's figures by them, or is a law."""
    scopes: tuple[str, ...] = ("hardware",)
    """What must stand above it in the file: `hardware`, `architecture`, or neither."""
    slug: Callable[[Claim], str] = lambda claim: slug(claim.subject)


@cache
def _entries() -> Mapping[str, Any]:
    return {entry.name: entry for entry in entry_points(group="rooflint.claims")}


def names() -> list[str]:
    """Names of all installed kinds."""
    return sorted(_entries())


@cache
def kind(name: str) -> Kind:
    """The kind of that name; its module is imported when it is first asked for.

    Raises KeyError for a name that nobody has, ClaimError where the module of it cannot be loaded or has no kind.
    """
    entry = _entries()[name]
    try:
        loaded = entry.load()
    except Exception as error:
        raise ClaimError(f"the kind '{name}' cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(loaded, Kind):
        raise ClaimError(f"the kind '{name}' cannot be loaded: its entry point is {type(loaded).__name__}, no Kind")
    return loaded


# ---- What several kinds have in common: reading `unit precision`, summing ladders, options

SPARSE = {"sparse": {"type": "boolean", "description": "with structured sparsity: the dense figure times its factor"}}
PER = {"per": {"type": "string", "description": "of one of the equal parts of the device: gcd, core"}}
STORED = {"storage": {"type": "string", "description": "precision of what is moved; by default the same"}}
STORAGE = {"compute": {"type": "string", "description": "precision of the arithmetic"}, **STORED}
FIDELITY: dict[str, dict[str, Any]] = {
    "fidelity": {"enum": ["roofline", "silicon"], "description": "whose times: the plain roofline's unless said"},
    "launch": {
        "type": "string",
        "description": "with fidelity: silicon; stream unless said, or graph, free, framework",
    },
}
WORKLOAD = {
    "workload": {"type": ["string", "object"], "description": "a network, or gemm / conv2d / mlp with parameters"}
}


def unit_precision(text: str) -> tuple[str, str]:
    """`tensor_core int8` → unit and precision. Raises ClaimError."""
    words = text.split()
    if len(words) != 2:
        raise ClaimError(f"want a unit and a precision such as 'tensor_core int8', found '{text}'")
    try:
        return words[0], precision(words[1]).name
    except UnknownPrecisionError as error:
        raise ClaimError(str(error)) from error


def terms(text: str) -> list[tuple[str, str]]:
    """`tensor_core int8 + dla int8` → its terms. Raises ClaimError."""
    return [unit_precision(term) for term in text.split(" + ")]


def halves(text: str, sign: str = " / ") -> tuple[str, str]:
    """`a / b` → a and b. Raises ClaimError."""
    parts = text.split(sign)
    if len(parts) != 2:
        raise ClaimError(f"want two things with '{sign.strip()}' between them, found '{text}'")
    return parts[0].strip(), parts[1].strip()


def check_flag(claim: Claim, name: str) -> None:
    """An option that is yes or no. Raises ClaimError."""
    if not isinstance(claim.option(name, False), bool):
        raise ClaimError(f"{name}: want true or false, found '{claim.option(name)}'")


def check_fidelity(claim: Claim) -> None:
    """Silicon is of devices as they are documented, and a way of launching is silicon's. Raises ClaimError."""
    fidelity = claim.option("fidelity", "roofline")
    if fidelity not in FIDELITY["fidelity"]["enum"]:
        raise ClaimError(f"fidelity: want roofline or silicon, found '{fidelity}'")
    if fidelity == "silicon" and claim.given:
        raise ClaimError("fidelity: silicon is of documented devices; what is replayed under 'given:' is a roofline")
    if fidelity != "silicon" and claim.option("launch") is not None:
        raise ClaimError("launch: the plain roofline has its launches from the device; say fidelity: silicon")
    ways = (*MODES, FREE)
    if claim.option("launch", FREE) not in ways:
        raise ClaimError(f"launch: want one of {', '.join(ways)}; found '{claim.option('launch')}'")


def check_precisions(claim: Claim) -> None:
    """Options that name a precision name one that exists. Raises ClaimError."""
    for option in ("compute", "storage"):
        try:
            precision(str(claim.option(option, "int8")))
        except UnknownPrecisionError as error:
            raise ClaimError(f"{option}: {error}") from error
