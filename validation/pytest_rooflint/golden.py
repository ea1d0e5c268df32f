"""Golden files: read strictly, one claim a line, every problem with its line."""

import datetime
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from pytest_rooflint import kinds
from pytest_rooflint.claim import Claim, ClaimSource, Xfail, slug
from pytest_rooflint.expect import Expectation, ExpectationError, parse_expectation
from pytest_rooflint.kinds import ClaimError, Kind
from rooflint import strict_yaml
from rooflint.errors import InputError, Problem, refuse
from rooflint.schema import SourceSpec, Strict, Text, Word
from rooflint.specs import problems_of
from rooflint.strict_yaml import Document
from rooflint.units import measure


def _date(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return datetime.date.fromisoformat(value)
        except ValueError:
            raise PydanticCustomError(
                "claim", "{m}", {"m": f"want a day such as 2027-06-30, found '{value}'"}
            ) from None
    return value


class XfailSpec(Strict):
    """A known disagreement with its reason, and the day when it must be looked at again."""

    reason: Text
    until: Annotated[datetime.date, BeforeValidator(_date, json_schema_input_type=str)]


class InlineSourceSpec(SourceSpec):
    """A document written where it is used."""

    where: Text


class CommonSpec(Strict):
    """Keys that every claim understands."""

    expect: str | int | float | None = None
    at: Word | dict[str, str] | Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$")] | None = None
    source: Word | InlineSourceSpec | None = None
    where: str | int | None = None
    rounding: Literal["half", "truncated"] = "half"
    note: Text | None = None
    why: Text | None = None
    xfail: XfailSpec | None = None


class GivenSpec(Strict):
    """Another person's assumptions about one device, under a label that the claims use."""

    hardware: Text
    at: Text | None = None
    unit: Text
    memory: Word | None = None
    peak: list[Any] | None = None
    facts: dict[str, list[Any]] = Field(default_factory=dict)
    conventions: dict[str, Any] = Field(default_factory=dict)
    why: dict[str, Text] = Field(default_factory=dict)


class GoldenSpec(Strict):
    """golden/**/*.yaml: what others publish or measured about one subject."""

    title: Text | None = None
    hardware: Text | None = None
    architecture: Text | None = None
    workload: Any = None
    compute: Word | None = None
    storage: Word | None = None
    source: SourceSpec | None = None
    sources: dict[Word, SourceSpec] = Field(default_factory=dict)
    why: Text | None = None
    given: dict[Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")], GivenSpec] = Field(default_factory=dict)
    claims: Annotated[list[dict[str, Any]], Field(min_length=1)]


@dataclass(frozen=True)
class Golden:
    """A golden file that could be read."""

    file: Path
    title: str | None
    spec: GoldenSpec
    document: Document
    claims: tuple[Claim, ...]


def load(file: Path) -> Golden:
    """Read a golden file. Raises InputError with every problem in it."""
    document = strict_yaml.load(file)
    if not isinstance(document.data, dict):
        raise refuse(file, 1, "want a mapping with the key 'claims', found something else")
    try:
        spec = GoldenSpec.model_validate(document.data)
    except ValidationError as error:
        raise InputError(problems_of(error, document, GoldenSpec)) from error
    reader = _Reader(spec, document)
    claims = tuple(reader.claims())
    reader.problems += _twice(claims)
    if reader.problems:
        raise InputError(reader.problems)
    return Golden(file, spec.title, spec, document, claims)


def _twice(claims: tuple[Claim, ...]) -> Iterator[Problem]:
    first: dict[str, Claim] = {}
    for claim in claims:
        if claim.id in first:
            yield Problem(
                claim.file,
                claim.line,
                f"'{claim.id}' is claimed twice (first in line {first[claim.id].line}); "
                "keep one, or name its document under 'sources' and add 'source: <key>'",
            )
        first.setdefault(claim.id, claim)


class _Reader:
    """Turns the entries of `claims` into Claims, and notes problems on the way."""

    def __init__(self, spec: GoldenSpec, document: Document) -> None:
        self.spec = spec
        self.document = document
        self.problems: list[Problem] = []

    def claims(self) -> Iterator[Claim]:
        for position, entry in enumerate(self.spec.claims):
            try:
                yield self._claim(entry, ("claims", position))
            except ClaimError as error:
                self._add(("claims", position), str(error))
            except InputError as error:
                self.problems += error.problems

    def _add(self, path: strict_yaml.Path, message: str) -> None:
        self.problems.append(self.document.problem(path, message))

    def _claim(self, entry: Mapping[str, Any], path: strict_yaml.Path) -> Claim:
        kind = self._kind(entry)
        common = self._common({key: value for key, value in entry.items() if key in CommonSpec.model_fields}, path)
        options = {
            key: value for key, value in entry.items() if key not in CommonSpec.model_fields and key != kind.name
        }
        self._known(kind, options)
        subject = " ".join(str(entry[kind.name]).split())
        expectation = self._expectation(kind, subject, common)
        claim = Claim(
            kind=kind.name,
            subject=subject,
            id="",
            file=self.document.file,
            line=self.document.line(path),
            source=self._source(common),
            expectation=expectation,
            hardware=self.spec.hardware,
            architecture=self.spec.architecture,
            at=common.at,
            workload=options.pop("workload", self.spec.workload),
            options={**self._inherited_options(kind), **options},
            note=common.note,
            why=common.why or self.spec.why,
            xfail=Xfail(common.xfail.reason, common.xfail.until) if common.xfail else None,
            given=self.spec.given,
            title=self.spec.title,
        )
        self._placed(kind, claim)
        kind.check(claim)
        return replace(claim, id=_id(kind, claim, own_workload="workload" in entry))

    def _kind(self, entry: Mapping[str, Any]) -> Kind:
        found = [key for key in entry if key in kinds.names()]
        if len(found) != 1:
            what = f"two kinds ({', '.join(found)})" if found else f"the keys {', '.join(map(str, entry)) or 'none'}"
            raise ClaimError(f"want one kind of claim out of {', '.join(kinds.names())}; found {what}")
        return kinds.kind(found[0])

    def _common(self, entry: dict[str, Any], path: strict_yaml.Path) -> CommonSpec:
        try:
            return CommonSpec.model_validate(entry)
        except ValidationError as error:
            found = problems_of(error, self.document, CommonSpec)
            raise InputError([Problem(p.file, self.document.line(path), p.message) for p in found]) from error

    @staticmethod
    def _known(kind: Kind, options: Mapping[str, Any]) -> None:
        for key in options:
            if key not in kind.options:
                known = ", ".join((*CommonSpec.model_fields, *kind.options))
                raise ClaimError(f"'{key}' means nothing to a {kind.name} claim (it knows: {known})")

    def _inherited_options(self, kind: Kind) -> dict[str, Any]:
        above = {"compute": self.spec.compute, "storage": self.spec.storage}
        return {key: value for key, value in above.items() if value and key in kind.options}

    def _placed(self, kind: Kind, claim: Claim) -> None:
        if self.spec.given or not kind.scopes:
            return
        if not any(getattr(claim, scope) for scope in kind.scopes):
            raise ClaimError(f"a {kind.name} claim needs '{' or '.join(kind.scopes)}:' at the top of the file")

    @staticmethod
    def _expectation(kind: Kind, subject: str, common: CommonSpec) -> Expectation | None:
        if not kind.expects(subject):
            if common.expect is not None:
                raise ClaimError(f"a {kind.name} claim says all in its subject; remove 'expect'")
            return None
        if common.expect is None:
            raise ClaimError(f"a {kind.name} claim needs 'expect': what the source printed")
        try:
            expectation = parse_expectation(common.expect, truncated=common.rounding == "truncated")
        except ExpectationError as error:
            raise ClaimError(f"expect: {error}") from error
        if kind.dimension is not None and expectation.dimension != kind.dimension:
            found = measure(expectation.dimension)
            raise ClaimError(f"expect: a {kind.name} is {measure(kind.dimension)}, '{expectation.text}' is {found}")
        if expectation.tolerance == "stated" and not expectation.justified and not common.why:
            raise ClaimError(f"'{expectation.stated}' is wider than the printed digits; say 'why:'")
        return expectation

    def _source(self, common: CommonSpec) -> ClaimSource | None:
        where = None if common.where is None else str(common.where)
        if isinstance(common.source, str):
            named = self.spec.sources.get(common.source)
            if named is None:
                listed = ", ".join(self.spec.sources) or "none"
                raise ClaimError(f"unknown source '{common.source}' (listed: {listed})")
            return ClaimSource(common.source, named.document, named.grade, where or named.where, named.url)
        chosen = common.source or self.spec.source
        if chosen is None:
            raise ClaimError("nobody is quoted; add 'source:' to the claim or to the file")
        return ClaimSource(None, chosen.document, chosen.grade, where or chosen.where, chosen.url)


def _id(kind: Kind, claim: Claim, *, own_workload: bool) -> str:
    parts = [kind.name, kind.slug(claim)]
    parts += [f"of-{slug(json.dumps(claim.workload))}"] if own_workload else []
    parts += ["sparse"] if claim.option("sparse") else []
    parts += [f"per-{claim.option('per')}"] if claim.option("per") else []
    parts += ["refuted"] if claim.option("refuted") else []
    parts += [f"at-{claim.at}"] if isinstance(claim.at, str) else []
    parts += [f"at-{slug('-'.join(claim.at.values()))}"] if isinstance(claim.at, Mapping) else []
    parts += [f"by-{claim.source.key}"] if claim.source and claim.source.key else []
    return "-".join(parts)
