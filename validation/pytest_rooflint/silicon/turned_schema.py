"""The shape of what `rooflint calibrate moved -f json` writes; seconds, and rows by the count."""

from typing import Annotated, Literal

from pydantic import Field

from rooflint.schema import Strict

Count = Annotated[int, Field(ge=0)]


class MovedRowRecord(Strict):
    """A row that went from good to bad."""

    device: str
    sizes: dict[str, float]
    measured_s: float
    old_s: float
    new_s: float
    terms_s: dict[str, float]
    """New less old, by term."""


class FamilyRecord(Strict):
    """One op on one family, by both states of the model."""

    topic: str
    family: str
    rows: Count
    good_before: Count
    good_now: Count
    went_bad: Count
    went_good: Count
    red: bool
    regime: str | None
    """Of those that went bad; null where none did."""
    terms: dict[str, float]
    """Part of each term in the change of those that moved the farthest, the largest first."""
    worst: list[MovedRowRecord]


class ChangedRecord(Strict):
    """A constant that the two states say differently; null where one does not have it."""

    name: str
    old: float | None
    new: float | None
    folds: Count
    place: str


class TurnedRecord(Strict):
    """`rooflint calibrate moved -f json`."""

    schema_: Annotated[Literal["rooflint.calibrate.moved/1"], Field(alias="schema")]
    base: str
    good: float
    bad: float
    """Factors between prediction and measurement."""
    tolerance: float
    red: bool
    families: list[FamilyRecord]
    changed: list[ChangedRecord]
    left_out: list[str]
