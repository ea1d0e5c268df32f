"""Verdicts as typed records, and what all records of the evidence share."""

import ast
import inspect
from collections.abc import Callable, Sequence
from itertools import pairwise
from textwrap import dedent
from typing import Any, Literal, TypeVar, overload

from pydantic import ConfigDict, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from rooflint.base.records import FromObject

Outcome = Literal["pass", "fail", "xfail", "not validated here", "undecided"]


class Record(FromObject):
    """Immutable; a key that is a word of Python has an underscore behind it here, and none in JSON."""

    model_config = ConfigDict(
        frozen=True,
        populate_by_name=True,
        defer_build=True,
        alias_generator=lambda name: name.removesuffix("_"),
    )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """With what stands below each field."""
        found = handler(schema)
        properties = handler.resolve_ref_schema(found)["properties"]
        for name, text in described(cls).items():
            properties[cls.model_fields[name].alias or name]["description"] = text
        return found


R = TypeVar("R", bound=Record)


def described(record: type[Record]) -> dict[str, str]:
    """The text below each field of a record that has one.

    Pydantic can find them itself (`use_attribute_docstrings`), but reads the source of every record at each start.
    """
    found = {}
    for one in reversed(record.__mro__):
        if issubclass(one, Record):
            (defined,) = ast.parse(dedent(inspect.getsource(one))).body
            for field, below in pairwise(getattr(defined, "body", ())):
                match field, below:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                        found[name] = inspect.cleandoc(text)
    return found


class Each(Sequence[R]):
    """Records that are made each time they are asked for, because all of them together take much memory."""

    def __init__(self, number: int, make: Callable[[int], R]) -> None:
        self._number = number
        self._make = make

    def __len__(self) -> int:
        """Number of records."""
        return self._number

    @overload
    def __getitem__(self, position: int) -> R: ...
    @overload
    def __getitem__(self, position: slice) -> list[R]: ...
    def __getitem__(self, position: int | slice) -> R | list[R]:
        """One of them, made now. Raises IndexError."""
        found = range(self._number)[position]
        return self._make(found) if isinstance(found, int) else [self._make(one) for one in found]

    def __eq__(self, other: object) -> bool:
        """Whether they are the same records in the same order."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # it would make every record


class Source(Record):
    """The document that printed a figure."""

    document: str
    where: str | None
    """Page, table or section."""
    grade: str | None
    """How it was read: read, device, quoted, recalled, estimate."""


class Why(Record):
    """Something that is missing, and the reason."""

    what: str
    why: str


class Expected(Record):
    """What the source printed."""

    text: str
    """As the golden file has it."""
    value: float | None
    low: float | None
    """Lower edge of the tolerance."""
    high: float | None
    """Upper edge of the tolerance."""
    display: str
    source: Source | None


class Stale(Record):
    """Why a tolerance is wider than it has to be."""

    text: str
    write: str
    """What to write instead; empty where the tolerance can go."""


class Tolerance(Record):
    """How far from the printed figure still agrees."""

    kind: str
    """printed digits, truncated, stated or exact."""
    text: str
    why: str | None
    """The stated reason."""
    printed: str = ""
    """What the printed digits alone allow."""
    loose: bool = False
    """Whether it is wider than printed digits justify."""
    stale: Stale | None = None


class Obtained(Record):
    """What the model derives."""

    value: float | None
    display: str
    formula: str | None
    """The product that yields it."""
    details: list[str] = Field(default_factory=list)
    """Further lines of a failing verdict."""


class Involved(Record):
    """A fact that a verdict rests on."""

    path: str
    display: str
    grade: str | None
    document: str | None
    where: str | None
    file: str | None
    line: int | None
    at: str = ""
    """The operating point that sets it; empty for the device's own."""


class Cause(Record):
    """A candidate cause of a ratio, with its repair."""

    text: str
    factor: float | None
    factor_text: str | None
    file: str | None
    line: int | None
    path: str | None = None
    """The fact."""
    current: str | None = None
    """The fact as it is."""
    repair: str | None
    """What to write instead."""
    fixes: int | None = None
    """Claims that pass once the repair is applied in memory; null if it was not tried."""
    breaks: int | None = None
    """Claims that fail once the repair is applied."""


class Place(Record):
    """A repair that was tried, with the failing claims that name it."""

    file: str | None
    line: int | None
    path: str | None
    from_: str | None
    to: str | None
    fixes: int
    """Failing claims that pass with the repair."""
    breaks: int
    """Passing claims that fail with the repair."""
    failing: int
    """All failing claims of the run."""
    ids: list[str]
    """Node ids of the claims that name it."""
    fixed: list[str] = Field(default_factory=list)
    """Claims that pass with it, as `file::id`; those of the likeliest cause of a claim alone."""


class Prediction(Record):
    """What a `prediction` claim was decided on: errors of calibrated kernel times beside measured ones."""

    topic: str
    """Kind of op, by its key."""
    family: str | None
    """The devices that the constants were fitted without; null for a published table."""
    table: str | None
    """The published table; null for measurements of a package."""
    regime: str
    devices: list[str]
    rows: int
    error: float
    """Mean of |predicted / measured - 1|."""
    bias: float
    """Geometric mean of predicted / measured, less 1."""
    roofline_error: float
    """The same of the plain roofline, on the same rows."""
    roofline_bias: float
    error_bound: str
    """The error that the claim allows."""
    bias_bound: str


class Verdict(Record):
    """One claim and what the model says about it."""

    id: str
    nodeid: str
    outcome: Outcome
    kind: str
    subject: str
    hardware: str | None
    architecture: str | None = None
    others: list[str]
    """Further devices that the claim is about, with their operating points."""
    about: list[str] = Field(default_factory=list)
    """What it is about without a device or an architecture of its own: devices that it compares, nodes, memories."""
    unit: str | None
    precision: str | None
    sparse: bool = False
    sum: bool = False
    """Whether it adds up several units; `unit` is then the first."""
    per: str | None = None
    """A part of the device, such as one of two dies."""
    at: str | None
    """Operating point."""
    headline: str
    """What is claimed, in one line."""
    file: str
    line: int
    note: str | None
    reason: str | None
    """Why it failed without a figure, is expected to fail, or was not validated here."""
    until: str | None = None
    """The day on which an expected failure expires."""
    corroborated: bool
    """Whether a second, independent document agrees."""
    replay: bool
    """Whether it replays the assumptions of a document instead of sourced facts."""
    expected: Expected | None
    tolerance: Tolerance | None
    obtained: Obtained | None
    prediction: Prediction | None = None
    ratio: float | None
    """Obtained over expected."""
    ratio_text: str | None
    slack: float | None
    """1 in the middle of the tolerance, 0 at its edge, below 0 outside."""
    facts: list[Involved]
    causes: list[Cause]
    """Likeliest first."""
    rerun: str
    """The command that runs just this claim again."""
    duration_s: float | None = None

    @property
    def of(self) -> str:
        """Its device or its architecture; empty without one."""
        return self.hardware or self.architecture or ""

    @property
    def uncorroborated(self) -> bool:
        """Whether it passes, no second document agrees, and it is not a replay."""
        return self.outcome == "pass" and not self.corroborated and not self.replay

    @property
    def devices(self) -> list[str]:
        """Ids of the devices that it is about."""
        if self.hardware:
            return [self.hardware]
        return sorted({other.partition("@")[0] for other in self.others if "/" in other})
