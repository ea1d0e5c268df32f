"""Changes of claims in text: what was lost, where, what to write to justify it; the decisive line last."""

from collections.abc import Container, Iterable, Iterator

from rooflint.base.text import NAMED, counted, fail_text, sanitized, some
from rooflint_report.claim_changes import Cause, Causes, ClaimChange, ClaimChanges, Loss, effect

MOST = 5
"""Losses that are printed in full."""


def as_text(found: ClaimChanges) -> str:
    """A dozen lines at most where little changed: losses without a reason, all changes by number, and the outcome."""
    red = [*_losses(found, {claim for one in _blamed(found.causes) for claim in one.claims})]
    lines = [*found.unreadable[:MOST], *(line for block in red[:MOST] for line in block)]
    lines += [f"… and {len(red) - MOST} more (in the evidence)"] if len(red) > MOST else []
    lines += _causes(found.causes) if found.causes else []
    lines += _counted(found)
    verdict = f"failed: {found.text}" if found.unstated else found.text
    return "\n".join(map(sanitized, (*lines, verdict))) + "\n"


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
        f"  write in {write}",
    ]


def _block(one: Loss, text: str, because: str = "") -> list[str]:
    place = f"{one.file}:{one.line}" if one.line else one.file
    lines = [f"{place}  {text}"]
    lines += [f"  {because}"] if because else []
    return [*lines, f"  write in {one.write}"] if one.write else lines


def _because(one: ClaimChange) -> str:
    """The changed facts that a claim depends on."""
    return some(f"{fact.change} ({fact.file}:{fact.line})" for fact in one.facts)


def _causes(found: Causes) -> Iterator[str]:
    """The changes that make claims fail, each with what reverting it does."""
    blamed = _blamed(found)
    for one in blamed[:NAMED]:
        yield f"{one.file}:{one.line}  {one.change}: {fail_text(len(one.claims))} because of it"
        yield from (f"  {claim}" for claim in one.claims[:MOST])
        yield from [f"  … and {len(one.claims) - MOST} more (in the evidence)"] if len(one.claims) > MOST else []
        yield f"  reverted alone: {effect(one)}"
    more = [f"… and {counted(len(blamed) - NAMED, 'more change')}"] if len(blamed) > NAMED else []
    more += [f"reverted together: {effect(found.all_)}"] if len(blamed) > 1 else []
    yield from (*more, found.text)


def _blamed(found: Causes | None) -> list[Cause]:
    """The changes that make claims fail."""
    return [one for one in found.changes if one.claims] if found else []


def _counted(found: ClaimChanges) -> Iterable[str]:
    """`claims: 2 new, 1 removed`, and the reasons that are stated."""
    numbers = found.counts.model_dump(exclude={"base", "head", "unchanged"})
    named = [f"{number} {name.replace('_', ' ')}" for name, number in numbers.items() if number]
    if named:
        yield f"claims: {', '.join(named)}, {found.counts.unchanged} unchanged"
    every: tuple[Loss, ...] = (*found.changes, *found.recordings, *found.facts)
    reasons = dict.fromkeys(one.reason for one in every if one.reason)
    yield from (f"  stated: {reason}" for reason in list(reasons)[:3])
