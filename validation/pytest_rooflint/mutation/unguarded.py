"""Unguarded figures: those in which no planted error turns a claim red, counted by kind of fact and by file.

A figure is *unguarded* if no claim catches any of its mutants, and *repeated* if only claims without an independent
source do: those that quote the document of the spec, compare estimates, or are orders.
"""

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath

from pytest_rooflint.suite.suite import Suite
from rooflint.output.sections import Table
from rooflint_report import differences as records

#: Subject and path of a fact, with its operating point: `nvidia/t4`, `tdp at 30w`.
Name = tuple[str, str]

# ---- Reasons, and the counts


def reasons_of(suite: Suite) -> Mapping[Name, str]:
    """Why no second document guards a figure, from `unguarded:` of the golden files.

    A file about a device names `tdp at 30w`; any other names the file of the figure, too: `events/cpu events.retired…`.
    """
    found: dict[Name, str] = {}
    for golden in suite.goldens():
        about = golden.spec.hardware or golden.spec.architecture
        for key, reason in golden.spec.unguarded.items():
            subject, path = (about, key) if about else key.split(" ", 1) if " " in key else (key, "")
            found[subject, path] = reason
    return found


def name_of(fact: records.MutatedFact) -> Name:
    """The name under which a reason for a fact is stated."""
    return fact.subject, f"{fact.path} at {fact.at}" if fact.at else fact.path


def guards(facts: Sequence[records.MutatedFact], ceiling: int | None = None) -> records.Guards:
    """Figures by whether claims guard them; of facts with which nothing is computed there are none."""
    figures = [one for one in facts if one.mutants > one.equivalent]
    return records.Guards(
        ceiling=ceiling,
        kinds=list(_parts(figures, lambda one: one.kind)),
        files=list(_parts(figures, lambda one: one.file)),
        **dict(_count(figures)),
    )


def too_many(found: records.Guards) -> bool:
    """Whether more figures without a reason are unguarded than the project allows."""
    return found.ceiling is not None and found.unguarded - found.reasoned > found.ceiling


def _count(figures: Sequence[records.MutatedFact]) -> records.GuardCounts:
    silent = [one for one in figures if not one.killed]
    return records.GuardCounts(
        figures=len(figures),
        unguarded=len(silent),
        reasoned=sum(one.reason is not None for one in silent),
        repeated=sum(bool(one.killed) and not one.killed_independently for one in figures),
    )


def _parts(
    figures: Sequence[records.MutatedFact], key: Callable[[records.MutatedFact], str]
) -> Iterator[records.GuardedPart]:
    """Parts with an unguarded figure, those with most first."""
    parts: dict[str, list[records.MutatedFact]] = {}
    for one in figures:
        parts.setdefault(key(one), []).append(one)
    counted = Counter({name: _count(some).unguarded for name, some in parts.items()})
    for name, unguarded in counted.most_common():
        if unguarded:
            yield records.GuardedPart(name=name, **dict(_count(parts[name])))


# ---- As text


def sentence(found: records.Guards) -> str:
    """How many figures are unguarded, and how many are held by repetitions only."""
    without, most = found.unguarded - found.reasoned, ""
    if found.ceiling is not None:
        most = f" (at most {found.ceiling} may be)"
    reasons = f", {without} without a reason{most}" if most else ""
    if found.reasoned:
        reasons = f", {found.reasoned} with a reason and {without} without one{most}"
    text = f"{found.unguarded} of {found.figures} figures are unguarded{reasons}: no error in them turns a claim red"
    return f"{text}; {found.repeated} more are held only by claims without an independent source"


def as_lines(found: records.Guards, width: int, files: int) -> Iterator[str]:
    """The sentence, the kinds of facts, and the first files; nothing where claims guard every figure."""
    if not (found.unguarded or found.repeated):
        return
    yield from textwrap.wrap(sentence(found), width)
    if found.unguarded:
        yield ""
        yield from _grid(found, files)


def _grid(found: records.Guards, files: int) -> Iterator[str]:
    yield f"{'unguarded figures':<20}  figures  unguarded  repeated"
    for one in found.kinds:
        yield f"{one.name:<20}{one.figures:>9}{one.unguarded:>11}{one.repeated:>10}"
    for one in found.files[:files]:
        name = "/".join(PurePath(one.name).with_suffix("").parts[-2:])
        yield f"  {name:<40} {one.unguarded:>4} of {one.figures:>4} figures"


def as_table(found: records.Guards) -> Table:
    """The kinds of facts with an unguarded figure."""
    rows = ((one.name, one.figures, one.unguarded, one.reasoned, one.repeated) for one in found.kinds)
    return Table(("unguarded figures", "figures", "unguarded", "with a reason", "repeated"), tuple(rows))
