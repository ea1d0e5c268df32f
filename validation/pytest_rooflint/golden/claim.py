"""A claim: what one line of a golden file states, before anything is computed."""

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_rooflint.golden.expect import Expectation
from rooflint.base.facts import Grade

MEASURED = "measured"
"""The folder of a golden root that holds recordings."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._/-]+")


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

    def mode_of(self, device: str) -> str | None:
        """The operating point that the claim names for a device."""
        return self.at.get(device) if isinstance(self.at, Mapping) else self.at

    def option(self, name: str, default: Any = None) -> Any:
        """The value of an option of this kind."""
        return self.options.get(name, default)


def slug(text: str) -> str:
    """A text as part of an item id: `tensor_core int8 / lpddr5` → `tensor_core-int8-per-lpddr5`.

    Only `[A-Za-z0-9._/-]` is left, so that ids need no quoting in a shell.
    """
    words = text.replace(" / ", " per ").replace(" + ", " and ").replace("<=", " le ").replace(">=", " ge ")
    words = words.replace("<", " lt ").replace(">", " gt ").replace("=", " eq ")
    return _UNSAFE.sub("-", words.strip()).strip("-")
