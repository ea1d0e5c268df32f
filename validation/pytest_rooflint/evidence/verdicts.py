"""A verdict in the evidence: the claim, what was expected and obtained, the facts it rests on, candidate causes."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from pytest_rooflint.golden import kinds
from pytest_rooflint.suite.verdict import Repair, Verdict
from rooflint.base.errors import shown
from rooflint.base.facts import Fact
from rooflint.base.text import counted, some
from rooflint.diagnosis.causes import UNKNOWN, Cause
from rooflint_report import verdicts


def record(verdict: Verdict, duration_s: float | None = None) -> verdicts.Verdict:
    """The verdict as a typed record."""
    claim, obtained = verdict.claim, verdict.obtained
    return verdicts.Verdict.from_object(
        verdict,
        id=claim.id,
        kind=claim.kind,
        subject=claim.subject,
        hardware=claim.hardware,
        architecture=claim.architecture,
        others=list(obtained.others) if obtained else [],
        about=[*kinds.kind(claim.kind).about(claim)],
        unit=obtained.unit if obtained else None,
        precision=obtained.precision if obtained else None,
        sparse=bool(claim.option("sparse")),
        sum=bool(obtained and len(obtained.terms) > 1),
        per=claim.option("per"),
        at=claim.mode_of(claim.hardware or ""),
        file=shown(claim.file),
        line=claim.line,
        note=claim.note,
        until=claim.xfail.until.isoformat() if claim.xfail else None,
        replay=claim.is_replay,
        expected=_expected(verdict),
        tolerance=_tolerance(verdict),
        obtained=_obtained(verdict),
        prediction=obtained.prediction if obtained else None,
        facts=[_fact(fact) for fact in dict.fromkeys(verdict.facts)],
        causes=[_cause(cause) for cause in verdict.causes],
        duration_s=duration_s,
    )


def _expected(verdict: Verdict) -> verdicts.Expected:
    expectation, source = verdict.claim.expectation, verdict.claim.source
    return verdicts.Expected(
        text=expectation.text if expectation else verdict.expected_display,
        value=expectation.value if expectation else None,
        low=expectation.low if expectation else None,
        high=expectation.high if expectation else None,
        display=verdict.expected_display,
        source=verdicts.Source.from_object(source) if source else None,
    )


def _tolerance(verdict: Verdict) -> verdicts.Tolerance | None:
    expectation, stale = verdict.claim.expectation, verdict.stale
    if expectation is None:
        return None
    return verdicts.Tolerance(
        kind=expectation.tolerance,
        text=expectation.tolerance_text,
        why=verdict.claim.why,
        printed=(expectation.digits or expectation).tolerance_text,
        loose=verdict.loose,
        stale=verdicts.Stale.from_object(stale) if stale else None,
    )


def _obtained(verdict: Verdict) -> verdicts.Obtained | None:
    obtained = verdict.obtained
    if obtained is None:
        return None
    return verdicts.Obtained(
        value=obtained.value if math.isfinite(obtained.value) else None,
        display=verdict.obtained_display,
        formula=obtained.formula,
        details=[line.strip() for line in obtained.details.splitlines()],
    )


def _fact(fact: Fact) -> verdicts.Involved:
    source = fact.source
    return verdicts.Involved.from_object(fact, grade=source.grade, document=source.document, file=shown(fact.file))


def _cause(cause: Cause) -> verdicts.Cause:
    fact = cause.fact
    return verdicts.Cause.from_object(
        cause,
        file=shown(fact.file) if fact else None,
        line=fact.line if fact else None,
        path=fact.path if fact else None,
        current=fact.display if fact else None,
    )


# ---- Repairs that several failing claims ask for


def places(
    found: Iterable[verdicts.Verdict], fixed: Mapping[Repair, Sequence[str]] = MappingProxyType({})
) -> list[verdicts.Place]:
    """Repairs that the causes of failing claims ask for, best first: most fixed, nothing broken.

    `fixed` has the claims that a repair was seen to fix, also those that do not name it as a cause.
    """
    fails = [verdict for verdict in found if verdict.outcome == "fail"]
    causes: dict[tuple[str | int | None, ...], verdicts.Cause] = {}
    ids: dict[tuple[str | int | None, ...], list[str]] = {}
    for verdict in fails:
        for cause in verdict.causes:
            if cause.repair is not None and cause.fixes is not None:
                key = (cause.file, cause.line, cause.path, cause.repair)
                causes.setdefault(key, cause)
                ids.setdefault(key, []).append(verdict.nodeid)
    listed = [
        verdicts.Place(
            file=cause.file,
            line=cause.line,
            path=cause.path,
            from_=cause.current,
            to=cause.repair,
            fixes=cause.fixes or 0,
            breaks=cause.breaks or 0,
            failing=len(fails),
            ids=ids[key],
            fixed=list(fixed.get((str(cause.file), cause.line or 0, str(cause.path), str(cause.repair)), ())),
        )
        for key, cause in causes.items()
    ]
    return sorted(listed, key=lambda place: (place.breaks > 0, -place.fixes, -len(place.ids)))


def sentences(
    found: Sequence[verdicts.Verdict], fixed: Mapping[Repair, Sequence[str]] = MappingProxyType({}), most: int = 3
) -> Iterator[str]:
    """The best repairs, one line each; only those that fix several claims and break none.

    Repairs that fix the same claims share a line, because the figures do not decide between them. The failures that are
    left have a line, so that the numbers add up. `fixed` is as for `places`.
    """
    groups: dict[tuple[int | str, ...], list[verdicts.Place]] = {}
    failing = {one.nodeid for one in found if one.outcome == "fail"}
    for place in places(found, fixed):
        if place.fixes > 1 and not place.breaks:
            groups.setdefault((place.fixes, *sorted(place.ids)), []).append(place)
    left = sorted(failing)
    for group in list(groups.values())[:most]:
        place = group[0]
        left = [name for name in left if not any(name in (*one.ids, *one.fixed) for one in group)]
        # a repair is tried on all claims, so it may fix some that this run did not judge
        here = min(len(failing.intersection(place.fixed)) or len(place.ids), place.fixes)
        of = f"{place.fixes} of {place.failing} failures"
        if (place.fixed and here < place.fixes) or place.fixes > place.failing:
            of = f"{here} of {place.failing} failures here (at least {place.fixes} among all claims)"
        changes = ", or ".join(
            f"{place.to} instead of {place.from_} at {place.file}:{place.line}  {place.path}" for place in group
        )
        yield f"A single change fixes {of} and breaks nothing: write {changes}"
    if groups and left:
        have = "has another cause" if len(left) == 1 else "have other causes"
        yield f"{len(left)} of {counted(len(failing), 'failure')} {have}: {some(left)}"


def likeliest(verdict: verdicts.Verdict) -> str:
    """The first candidate cause of a failing claim in one line, or its reason."""
    first = verdict.causes[0] if verdict.causes else None
    if first and first.file:
        change = f": write {first.repair} instead of {first.current}" if first.repair else ""
        return f"Likeliest cause: {first.file}:{first.line}  {first.path}{change}"
    said = first.text if first else verdict.reason or UNKNOWN
    return (
        f"Likeliest cause: {verdict.file}:{verdict.line}  {said}" if first else f"{verdict.file}:{verdict.line}  {said}"
    )
