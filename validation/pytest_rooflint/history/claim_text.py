"""Changes of claims in text: what was lost, where, what to write to justify it; the decisive line last."""

from collections.abc import Container, Iterable, Iterator

from rooflint.base.text import NAMED, counted, fail_text, row, sanitized, short_id, some, terminal_width, wrapped
from rooflint_report.causes import Culprit, Message, culprits, name, of_evidence, problems
from rooflint_report.claim_changes import Cause, Causes, ClaimChange, ClaimChanges, Loss, effect
from rooflint_report.evidence import Evidence
from rooflint_report.sections.section import worst_first
from rooflint_report.verdicts import Verdict

MOST = 5
"""Losses that are printed in full, and claims of a cause that are listed."""


FAILED = "failed: "
"""How the last line begins where something fails."""


def lines(found: ClaimChanges, run: Evidence | None = None) -> list[str]:
    """A dozen at most where little changed: losses without a reason, all changes by number, and last the outcome.

    With the run that the comparison was added to: why its claims fail.
    """
    explained = {claim for one in _blamed(found.causes) for claim in one.claims}
    failing = {name(one) for one in run.verdicts if one.outcome == "fail"} if run else set[str]()
    red = [*_losses(found, explained | failing)]
    said = [*(problems(run) if run else found.unreadable)[:MOST], *(line for block in red[:MOST] for line in block)]
    said += [f"… and {len(red) - MOST} more (in the evidence)"] if len(red) > MOST else []
    said += _others(run) if run else []
    said += _causes(found.causes, culprits(run) if run else ()) if found.causes else []
    said += _counted(found)
    return [*map(sanitized, (*said, _verdict(found, run)))]


def _verdict(found: ClaimChanges, run: Evidence | None) -> str:
    """The decisive line: a run may fail for what no comparison of claims finds, such as a device without any."""
    parts = [] if found.unstated else [*_red(found, run)]
    return f"{FAILED}{'; '.join([*parts, found.text])}" if found.unstated or parts else found.text


def _red(found: ClaimChanges, run: Evidence | None) -> Iterator[str]:
    if run and run.problems:
        yield f"{counted(len(run.problems), 'problem')} in the files"
    if still := found.counts.still_failing:
        yield f"{counted(still, 'claim')} still {'fails' if still == 1 else 'fail'}"


def _losses(found: ClaimChanges, explained: Container[str]) -> Iterator[list[str]]:
    """A block for each loss: what, and what to write; claims that went with their file are one.

    Those that a changed line explains are listed with it.
    """
    files: dict[str, list[ClaimChange]] = {}
    for one in found.changes:
        if one.write and one.change == "removed":
            files.setdefault(one.file, []).append(one)
    yield from (_block(one, f"recording {one.text}") for one in found.recordings if one.write)
    yield from map(_removed, files.values())
    for one in found.changes:
        fails = one.head == "fail" and one.base != "fail" and f"{one.file}::{one.id}" not in explained
        if one.change != "removed" and (one.write or fails):
            yield _block(one, f"{one.change}: {one.headline} {one.text}".rstrip(), _because(one))
    yield from (_block(one, one.text) for one in found.facts if one.write)


def _removed(several: list[ClaimChange]) -> list[str]:
    """Claims of one file."""
    first = several[0]
    if len(several) == 1:
        return _block(first, f"{first.headline} {first.text}")
    where, braced, _ = str(first.write).partition("{")
    keys = dict.fromkeys(str(one.write).partition("{")[2].removesuffix("}") for one in several)
    more = ", …" if len(keys) > NAMED else ""
    write = f"{where}{braced}{', '.join([*keys][:NAMED])}{more}}}"
    return [
        f"{first.file}:{first.line}  {len(several)} claims {first.text.replace('is ', 'are ', 1)}",
        f"  {some(one.headline for one in several)}",
        f"  restore them, or write in {write}",
    ]


def _block(one: Loss, text: str, because: str = "") -> list[str]:
    place = f"{one.file}:{one.line}" if one.line else one.file
    lines = [f"{place}  {text}"]
    lines += [f"  {because}"] if because else []
    return [*lines, f"  restore it, or write in {one.write}"] if one.write else lines


def _because(one: ClaimChange) -> str:
    """The changed facts that a claim depends on."""
    return some(f"{fact.change} ({fact.file}:{fact.line})" for fact in one.facts)


def _causes(found: Causes, known: Iterable[Culprit]) -> Iterator[str]:
    """The changes that make claims fail, each with what reverting it does."""
    blamed, judged = _blamed(found), {_place(one.cause): one for one in known}
    for one in blamed[:NAMED]:
        yield from _culprit(judged[_place(one)]) if _place(one) in judged else _cause(one)
    more = [f"… and {counted(len(blamed) - NAMED, 'more change')}"] if len(blamed) > NAMED else []
    more += [f"reverted together: {effect(found.all_)}"] if len(blamed) > 1 else []
    yield from (*more, found.text)


def _place(one: Cause) -> tuple[object, ...]:
    return one.file, one.line, one.path, one.at


def _cause(one: Cause) -> Iterator[str]:
    """With the ids of its claims."""
    yield f"{one.file}:{one.line}  {one.change}: {fail_text(len(one.claims))} because of it"
    yield from (f"  {claim}" for claim in one.claims[:MOST])
    yield from [f"  … and {len(one.claims) - MOST} more (in the evidence)"] if len(one.claims) > MOST else []
    yield f"  reverted alone: {effect(one)}"


def _culprit(one: Culprit) -> Iterator[str]:
    """With its clearest claim in full, and a line for each of the next."""
    factor = f" ({one.factor})" if one.factor else ""
    yield f"{one.place}  {one.cause.change}{factor}"
    yield f"  {fail_text(len(one.cause.claims))} because of it; reverted alone: {effect(one.cause)}"
    yield from [wrapped(some(map(short_id, one.cause.breaks)), "  then fail: ", 2)] if one.cause.breaks else []
    yield from [wrapped(one.words, "  likely: ", 2)] if one.words else []
    for number, verdict in enumerate(one.verdicts[:MOST]):
        yield f"  {verdict.file}:{verdict.line}  {verdict.headline}"
        yield from [] if number else (f"  {line}" for text in _figures(verdict) for line in text.splitlines())
    left = len(one.verdicts) - MOST
    yield from [f"  … and {counted(left, 'more claim')}"] if left > 0 else []
    yield from [f"  rerun     {one.verdicts[0].rerun}"] if one.verdicts else []


def _figures(one: Verdict) -> Iterator[str]:
    width = terminal_width() - 2
    if expected := one.expected:
        source = expected.source
        where = f", {source.where}" if source and source.where else ""
        yield row("expected", expected.display, f"{source.document}{where}" if source else "", width)
    if obtained := one.obtained:
        yield row("obtained", obtained.display, obtained.formula or "", width)
    if one.ratio_text:
        yield row("ratio", one.ratio_text, "", width)


def _others(run: Evidence) -> Iterator[str]:
    """The causes of failures that no changed line explains."""
    fails = worst_first(one for one in run.verdicts if one.outcome == "fail")
    found: list[Message] = [one for one in of_evidence(run, fails) if one.rule == "claim"]
    for one in found[:MOST]:
        first = one.claims[0]
        yield f"{first.file}:{first.line}  {first.headline}"
        yield wrapped(one.text.removeprefix(f"{first.headline}: "), "  ", 2)
        yield f"  rerun     {first.rerun}"
    yield from [f"… and {counted(len(found) - MOST, 'more cause')} of failures"] if len(found) > MOST else []


def _blamed(found: Causes | None) -> list[Cause]:
    """The changes that make claims fail."""
    return [one for one in found.changes if one.claims] if found else []


def _counted(found: ClaimChanges) -> Iterable[str]:
    """`claims: 2 new, 1 removed`, and the reasons that are stated."""
    if changes := found.counts.changes:
        yield f"claims: {', '.join(changes)}, {found.counts.unchanged} unchanged"
    every: tuple[Loss, ...] = (*found.changes, *found.recordings, *found.facts)
    reasons = dict.fromkeys(one.reason for one in every if one.reason)
    yield from (f"  stated: {reason}" for reason in list(reasons)[:3])
