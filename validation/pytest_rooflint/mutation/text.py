"""The mutation score for a terminal of 80 columns, and for a page of Markdown."""

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rooflint.output.answer import as_markdown
from rooflint.output.sections import Table
from rooflint_report.differences import AllMutants, Mutation

WIDTH = 80
WORST = 5
"""Devices and architectures that are named."""

#: Heading and key of the columns of counts.
_COLUMNS = {
    "mutants": "mutants",
    "killable": "killable",
    "killed": "killed",
    "survived": "survived",
    "within digits": "within_digits",
    "uncorroborated": "uncorroborated",
    "equivalent": "equivalent",
}
_NARROW = {"within digits": "digits", "uncorroborated": "uncorr.", "equivalent": "equiv."}


def percent(share: float | None) -> str:
    """`99.9 %`, never rounded up to a full score; `none` where there is nothing to score."""
    if share is None:
        return "none"
    return f"{math.floor(share * 1000 + 1e-9) / 10:g} %"


def as_text(summary: Mutation, most: int | None = 10) -> str:
    """Score first, then counts, then what is not caught; `most` survivors and unseen facts, None for all."""
    lines = [*headline(summary), "", *_grid(summary), "", *_worst(summary)]
    lines += [*_section(list(_survivors(summary)), most), *_section(list(_unseen(summary)), most, by="fact")]
    return "\n".join(lines).rstrip() + "\n"


def headline(summary: Mutation) -> Iterator[str]:
    """The score, its floor, and the shares of all mutants."""
    counts, gross = summary.counts, summary.gross
    floor = "" if summary.floor is None else f" (floor {percent(summary.floor)})"
    killed = f"{counts.killed} of {counts.killable} killable mutants killed"
    yield f"mutation score {percent(summary.score)}{floor}: {killed}"
    yield f"×2 and more on corroborated peaks and bandwidths: {gross.killed} of {gross.mutants} killed"
    yield from textwrap.wrap(_shares(counts), WIDTH)


def _shares(counts: AllMutants) -> str:
    total = counts.mutants or 1
    share = {key: f"{number / total:.1%}".replace("%", " %") for key, number in counts}
    return (
        f"of {counts.mutants} mutants {share['killable']} are killable, {share['within_digits']} within the printed "
        f"digits, {share['uncorroborated']} uncorroborated, {share['equivalent']} equivalent; "
        f"{share['killed_besides']} are killed by uncorroborated claims only, {share['unseen']} are not caught; "
        f"{counts.refused} more mutations are refused by the schema"
    )


def _grid(summary: Mutation) -> Iterator[str]:
    names = [_NARROW.get(name, name) for name in _COLUMNS]
    yield f"{'operator':<18}" + "".join(f"{name:>{len(name) + 2}}" for name in names)
    for title, *numbers in _rows(summary):
        cells = zip(names, numbers, strict=True)
        yield f"{title:<18}" + "".join(f"{number:>{len(name) + 2}}" for name, number in cells)


def _rows(summary: Mutation) -> Iterator[tuple[str | int, ...]]:
    """The counts of each operator, and of all."""
    for title, counts in (*((one.name, one) for one in summary.classes), ("all", summary.counts)):
        yield title, *(getattr(counts, key) for key in _COLUMNS.values())


def _worst(summary: Mutation) -> Iterator[str]:
    """Files with the most mutants that are not caught."""
    found = [one for one in summary.subjects if one.unseen][:WORST]
    if found:
        yield "most mutants not caught"
    for one in found:
        yield f"  {one.id:<40} {one.unseen:>4} of {one.mutants:>4} mutants, {one.survived} survivors"


def _section(entries: Sequence[Sequence[str]], most: int | None, by: str = "survivor") -> Iterator[str]:
    shown = entries if most is None else entries[:most]
    for entry in shown:
        yield from ("", *entry)
    if len(entries) > len(shown):
        yield from ("", f"… and {len(entries) - len(shown)} more {by}s (--survivors all)")


def _survivors(summary: Mutation) -> Iterator[list[str]]:
    for one in summary.survivors:
        at = f" at {one.at}" if one.at else ""
        yield [
            f"survivor  {one.file}:{one.line}",
            *_wrapped(f"{one.path}{at}: {one.display} → {one.mutated} ({one.class_}: {one.text})"),
            *_wrapped(f"would be killed by: {one.would_kill}"),
        ]


def _unseen(summary: Mutation) -> Iterator[list[str]]:
    """Facts with mutants that are not caught, besides survivors."""
    facts = [one for one in summary.facts if one.unseen > one.survived]
    for one in sorted(facts, key=lambda one: (-one.unseen, one.file, one.line)):
        at = f" at {one.at}" if one.at else ""
        yield [
            f"unseen    {one.file}:{one.line}",
            *_wrapped(f"{one.path}{at}: {one.display}, {one.unseen} of {one.mutants} mutants not caught"),
            *_wrapped(f"would be killed by: {one.would_kill}"),
        ]


def _wrapped(text: str) -> Iterable[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=" " * 10, subsequent_indent=" " * 10, break_long_words=False, break_on_hyphens=False
    )


def as_md(summary: Mutation, most: int | None = 10) -> str:
    """A heading with the score, the table of operators, the survivors."""
    head = "\n".join(f"- {line}" for line in _sentences(summary))
    columns = ("operator", *_COLUMNS)
    survivors = summary.survivors if most is None else summary.survivors[:most]
    listed = Table(
        ("survivor", "fact", "from", "to", "operator", "would be killed by"),
        tuple(
            (
                f"{one.file}:{one.line}",
                one.path,
                one.display,
                one.mutated,
                one.class_,
                one.would_kill,
            )
            for one in survivors
        ),
    )
    parts = ["## Mutation score", head, as_markdown(Table(columns, tuple(_rows(summary))))]
    return "\n\n".join([*parts, as_markdown(listed)] if survivors else parts)


def _sentences(summary: Mutation) -> Iterator[str]:
    score, gross, *_ = headline(summary)
    yield from (score, gross, _shares(summary.counts))
