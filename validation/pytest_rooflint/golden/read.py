"""Read golden files strictly: one claim per entry, every problem with its line."""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.expect import WIDE, WIDEST, Expectation, ExpectationError, is_wide, parse_expectation
from pytest_rooflint.golden.kinds import Claim, ClaimError, ClaimSource, Golden, Kind, Xfail, slug
from pytest_rooflint.golden.schema import CommonSpec, GoldenSpec
from rooflint.base import strict_yaml
from rooflint.base.errors import InputError, Problem, RooflintError, refuse
from rooflint.base.strict_yaml import Document
from rooflint.base.text import article
from rooflint.base.units import DIMENSIONLESS, measure
from rooflint.hardware.spec_files import problems_of, refuse_empty

_OURSELVES = re.compile(r"\brooflint\b", re.IGNORECASE)
_RATIO = re.compile(r"\d+(\.\d+)?|\d+\s*/\s*\d+")


def load(file: Path, text: str | None = None) -> Golden:
    """Read a golden file, or `text` in its place. Raises InputError with every problem in it."""
    document = strict_yaml.load(file) if text is None else strict_yaml.parse(text, file)
    if not isinstance(document.data, dict):
        raise refuse(file, 1, "want a mapping with the key 'claims', found something else")
    try:
        spec = GoldenSpec.model_validate(document.data)
    except ValidationError as error:
        raise InputError(problems_of(error, document, GoldenSpec)) from error
    refuse_empty(document)
    reader = _Reader(spec, document)
    claims = tuple(reader.claims())
    reader.problems += [*_twice(claims), *_still_claimed(claims, document), *_underived(spec, document)]
    if reader.problems:
        raise InputError(reader.problems)
    return Golden(file, spec.title, spec, document, claims)


def is_valid(golden: Golden) -> bool:
    """Whether the kinds of its claims still accept them: a kind may look at other files, such as tables."""
    try:
        for claim in golden.claims:
            kinds.kind(claim.kind).check(claim)
    except (ClaimError, RooflintError):
        return False
    return True


def _twice(claims: tuple[Claim, ...]) -> Iterator[Problem]:
    first: dict[object, Claim] = {}
    for claim in claims:
        by = f"-by-{claim.source.key}" if claim.source else ""
        same = (claim.id.removesuffix(by), claim.source.document if claim.source else None)
        other = first.get(claim.id) or first.get(same)
        if other:
            yield Problem(
                claim.file,
                claim.line,
                f"'{claim.id}' is claimed twice (first in line {other.line}); "
                "keep one, or name its document under 'sources' and add 'source: <key>'",
            )
        first.setdefault(claim.id, claim)
        first.setdefault(same, claim)


def _still_claimed(claims: tuple[Claim, ...], document: Document) -> Iterator[Problem]:
    ids = {claim.id for claim in claims}
    for key in document.data.get("removed", {}):
        if key in ids:
            message = f"'{key}' is claimed in this file; remove it from 'removed', or the claim"
            yield document.problem(("removed", key), message)


def _underived(spec: GoldenSpec, document: Document) -> Iterator[Problem]:
    if spec.underived and not spec.given:
        yield document.problem(("underived",), "'underived' is for replays; add 'given:', or remove it")
    for position, one in enumerate(spec.underived):
        if one.source is not None and one.source not in spec.sources:
            listed = ", ".join(spec.sources) or "none"
            yield document.problem(
                ("underived", position), f"underived: unknown source '{one.source}' (listed: {listed})"
            )


class _Reader:
    """Turns the entries of `claims` into Claims and collects the problems."""

    def __init__(self, spec: GoldenSpec, document: Document) -> None:
        self.spec = spec
        self.document = document
        self.problems: list[Problem] = []

    def claims(self) -> Iterator[Claim]:
        for position, entry in enumerate(self.spec.claims):
            try:
                yield self._claim(entry, ("claims", position))
            except InputError as error:
                self.problems += error.problems
            except (ClaimError, RooflintError) as error:
                self.problems.append(self.document.problem(("claims", position), str(error)))

    def _claim(self, entry: Mapping[str, Any], path: strict_yaml.Path) -> Claim:
        kind = self._kind(entry)
        common = self._common(entry, path)
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
            source=_independent(self._source(common)),
            expectation=expectation,
            hardware=options.pop("hardware", self.spec.hardware),
            architecture=self.spec.architecture,
            at=common.at,
            workload=options.pop("workload", self.spec.workload),
            options={**self._inherited_options(kind), **options},
            note=common.note,
            why=common.why or self.spec.why,
            xfail=_xfail(common, expectation, self.document.texts.get((*path, "xfail", "ratio"))),
            undisclosed=common.undisclosed,
            given=self.spec.given,
            title=self.spec.title,
        )
        self._placed(kind, claim)
        _check_modes(kind, claim)
        kind.check(claim)
        return replace(claim, id=_id(kind, claim, entry))

    def _kind(self, entry: Mapping[str, Any]) -> Kind:
        found = [key for key in entry if key in kinds.names()]
        if len(found) != 1:
            what = f"two kinds ({', '.join(found)})" if found else f"the keys {', '.join(map(str, entry)) or 'none'}"
            meant = "" if found else _meant((key for key in entry if key not in CommonSpec.model_fields), kinds.names())
            raise ClaimError(f"want one kind of claim out of {', '.join(kinds.names())}; found {what}{meant}")
        return kinds.kind(found[0])

    def _common(self, entry: Mapping[str, Any], path: strict_yaml.Path) -> CommonSpec:
        common = {key: value for key, value in entry.items() if key in CommonSpec.model_fields}
        for key in ("expect", "where"):  # as written: 2.00 is more precise than 2
            if (*path, key) in self.document.texts:
                common[key] = self.document.texts[(*path, key)]
        try:
            return CommonSpec.model_validate(common)
        except ValidationError as error:
            found = problems_of(error, self.document, CommonSpec)
            raise InputError([Problem(p.file, self.document.line(path), p.message) for p in found]) from error

    @staticmethod
    def _known(kind: Kind, options: Mapping[str, Any]) -> None:
        for key in options:
            if key not in kind.options:
                known = (*CommonSpec.model_fields, *kind.options)
                meant = _meant([key], known) or f" (known: {', '.join(known)})"
                raise ClaimError(f"'{key}' is an unknown option for {article(kind.name)} claim{meant}")

    def _inherited_options(self, kind: Kind) -> dict[str, Any]:
        above = {"compute": self.spec.compute, "storage": self.spec.storage, "machine": self.spec.machine}
        return {key: value for key, value in above.items() if value and key in kind.options}

    def _placed(self, kind: Kind, claim: Claim) -> None:
        if self.spec.given or not kind.scopes:
            return
        if not any(getattr(claim, scope) for scope in kind.scopes):
            raise ClaimError(f"{article(kind.name)} claim needs '{' or '.join(kind.scopes)}:' at the top of the file")

    @staticmethod
    def _expectation(kind: Kind, subject: str, common: CommonSpec) -> Expectation | None:
        if not kind.expects(subject):
            if common.expect is not None:
                raise ClaimError(f"{article(kind.name)} claim takes no expectation here; remove 'expect'")
            return None
        if common.expect is None:
            raise ClaimError(f"{article(kind.name)} claim needs 'expect': what the source printed")
        try:
            expectation = parse_expectation(common.expect, truncated=common.rounding == "truncated")
        except ExpectationError as error:
            raise ClaimError(f"expect: {error}") from error
        if kind.dimension is not None and expectation.dimension != kind.dimension:
            found = measure(expectation.dimension)
            bare = "; add its unit" if expectation.dimension == DIMENSIONLESS else ""
            raise ClaimError(
                f"expect: {article(kind.name)} is {measure(kind.dimension)}, '{expectation.text}' is {found}{bare}"
            )
        if expectation.tolerance == "stated" and not expectation.justified and not common.why:
            printed = expectation.digits.tolerance_text if expectation.digits else ""
            raise ClaimError(
                f"tolerance '{expectation.stated}' exceeds the printed precision, {printed}; remove it or add 'why:'"
            )
        _not_too_wide(expectation, common)
        return expectation

    def _source(self, common: CommonSpec) -> ClaimSource:
        where = None if common.where is None else str(common.where)
        if isinstance(common.source, str):
            named = self.spec.sources.get(common.source)
            if named is None:
                listed = ", ".join(self.spec.sources) or "none"
                raise ClaimError(f"unknown source '{common.source}' (listed: {listed})")
            return ClaimSource(common.source, named.document, named.grade, where or named.where, named.url)
        chosen = common.source or self.spec.source
        if chosen is None:
            raise ClaimError("no source given; add 'source:' to the claim or to the file")
        return ClaimSource(None, chosen.document, chosen.grade, where or chosen.where, chosen.url)


def _independent(source: ClaimSource) -> ClaimSource:
    """The source, unless it is the model's own output. Raises ClaimError."""
    if _OURSELVES.search(source.document):
        raise ClaimError(f"cites rooflint itself ('{source.document}'); cite an independent source")
    return source


def _meant(words: Iterable[str], known: Iterable[str]) -> str:
    near = [match for word in words for match in difflib.get_close_matches(str(word), known, n=1, cutoff=0.6)]
    return f"; did you mean '{near[0]}'?" if near else ""


def _not_too_wide(expectation: Expectation, common: CommonSpec) -> None:
    """Refuse a tolerance that would hide a wrong fact, or that has no reason. Raises ClaimError."""
    if expectation.width > WIDEST * (1 + 1e-9) and expectation.tolerance == "stated":
        raise ClaimError(
            f"expect: tolerance {expectation.tolerance_text} is wider than ±{WIDEST:.0%}; such a claim tests nothing"
        )
    if is_wide(expectation) and not common.why:
        tolerance, wide = expectation.tolerance_text, f"wider than ±{WIDE:.0%}"
        if expectation.tolerance == "stated":
            raise ClaimError(f"expect: tolerance {tolerance} is {wide}; add 'why:'")
        raise ClaimError(
            f"expect: '{expectation.text}' implies {tolerance}, {wide}; write "
            f"'{expectation.text} ± 1 %' if the figure is exact, more digits if they are printed, or add 'why:'"
        )


def _xfail(common: CommonSpec, expectation: Expectation | None, written: str | None) -> Xfail | None:
    """The known disagreement with its ratio. Raises ClaimError where it would excuse other ones, too."""
    if common.xfail is None:
        return None
    ratio = common.xfail.ratio
    if expectation is None and ratio is not None:
        raise ClaimError("xfail: 'ratio:' needs an 'expect'; remove it")
    if expectation is None:
        return Xfail(common.xfail.reason, common.xfail.until)
    if ratio is None:
        raise ClaimError("xfail: add 'ratio:', obtained over expected, so that only this disagreement is excused")
    return Xfail(common.xfail.reason, common.xfail.until, _excused_ratio(written or str(ratio)), common.xfail.open)


def _excused_ratio(text: str) -> Expectation:
    """The ratio of an xfail: a number or a fraction, precise to 5 %. Raises ClaimError."""
    if not _RATIO.fullmatch(text):
        raise ClaimError(f"xfail: ratio: want a number or a fraction such as 1.016 or 1/2, found '{text}'")
    try:
        ratio = parse_expectation(text)
    except ExpectationError as error:
        raise ClaimError(f"xfail: ratio: {error}") from error
    if ratio.high > ratio.value * (1 + WIDE):
        raise ClaimError(f"xfail: ratio: {text} is {ratio.tolerance_text}; add a digit")
    return ratio


def _check_modes(kind: Kind, claim: Claim) -> None:
    """Refuse operating points of a kind without any, or of a device that the claim is not about. Raises ClaimError."""
    if claim.at is not None and (not kind.modes or (claim.architecture and not claim.hardware)):
        raise ClaimError(f"at: {article(kind.name)} claim takes no operating point here")
    if claim.at is not None and "@" in claim.subject:
        raise ClaimError("at: the subject already names operating points; keep one of the two")
    if not isinstance(claim.at, Mapping):
        return
    about = {claim.hardware, *claim.subject.replace("<", " ").split()}
    for device in claim.at:
        if device not in about:
            raise ClaimError(f"at: the claim is not about '{device}'")


def _id(kind: Kind, claim: Claim, entry: Mapping[str, Any]) -> str:
    """Id: kind, subject, and whatever else tells this claim from others; needs no quotes in a shell."""
    parts = [kind.name, kind.slug(claim)]
    parts += [f"of-{slug(json.dumps(claim.workload))}"] if "workload" in entry else []
    parts += [f"in-{entry['compute']}"] if "compute" in entry else []
    parts += [f"stored-{entry['storage']}"] if "storage" in entry else []
    parts += ["on-silicon"] if claim.option("fidelity") == "silicon" else []
    parts += [f"launched-{slug(str(claim.option('launch')))}"] if claim.option("launch") else []
    parts += ["sparse"] if claim.option("sparse") else []
    parts += [f"per-{slug(str(claim.option('per')))}"] if claim.option("per") else []
    parts += ["refuted"] if claim.option("refuted") else []
    parts += [f"at-{claim.at}"] if isinstance(claim.at, str) else []
    parts += [f"at-{slug('-'.join(claim.at.values()))}"] if isinstance(claim.at, Mapping) else []
    parts += [f"by-{claim.source.key}"] if claim.source and claim.source.key else []
    return slug("-".join(parts))
