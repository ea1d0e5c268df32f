"""The mutation score for a terminal of 80 columns, and for a page of Markdown."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from pytest_rooflint.mutation import unguarded
from rooflint.output.answer import as_markdown
from rooflint.output.sections import Table
from rooflint_report import differences as records

WIDTH = 80
WORST = 5
"""Files that are named."""

#: Heading and key of the columns of counts.
_COLUMNS = {
    "mutants": "mutants",
    "equivalent": "equivalent",
    "killed": "killed",
    "independently": "killed_independently",
    "unseen": "unseen",
    "survived": "survived",
}
_NARROW = {"equivalent": "equiv.", "independently": "independ."}


def as_text(summary: records.Mutation, most: int | None = 10) -> str:
    """Score first, then counts, then what is not caught; `most` survivors and unseen facts, None for all.

    With 0 the score alone.
    """
    sentences = [line for sentence in _sentences(summary) for line in textwrap.wrap(sentence, WIDTH)]
    if most == 0:
        guarded = textwrap.wrap(unguarded.sentence(summary.guards), WIDTH) if summary.guards.unguarded else []
        return "\n".join([*sentences[:3], *guarded, "`rooflint mutate` lists what is not caught"]) + "\n"
    lines = [*sentences, "", *_grid("kind of fact", _kind_rows(summary)), ""]
    lines += [
        *_grid("operator", _rows(summary)),
        "",
        *unguarded.as_lines(summary.guards, WIDTH, WORST),
        "",
        *_worst(summary),
    ]
    lines += [*_section(list(_survivors(summary)), most), *_section(list(_unseen(summary)), most, by="fact")]
    return "\n".join(lines).rstrip() + "\n"


def _sentences(summary: records.Mutation) -> Iterator[str]:
    counts, gross = summary.counts, summary.gross
    every = counts.mutants - counts.equivalent
    floor, other = (
        "" if least is None else f" (floor {records.score_percent(least)})"
        for least in (summary.floor, summary.independent_floor)
    )
    yield f"mutation score {records.score_percent(summary.score)}{floor}: {counts.killed} of {every} mutants killed"
    share_of = f"{records.score_percent(summary.independent)}{other}"
    recalled = f", {counts.killed_by_recalled} by documents that are only recalled" if counts.killed_by_recalled else ""
    yield f"killed by an independent source {share_of}: {counts.killed_independently} of {every}{recalled}"
    yield f"×2 and more on corroborated peaks and bandwidths: {gross.killed} of {gross.mutants} killed"
    total = counts.mutants or 1
    share = {key: f"{number / total:.1%}".replace("%", " %") for key, number in counts}
    yield (
        f"of {counts.mutants} mutants {share['killable']} are killable, {share['within_digits']} within the printed "
        f"digits, {share['uncorroborated']} uncorroborated, {share['equivalent']} equivalent; "
        f"{share['unseen']} are not caught; {counts.refused} more mutations are refused by the schema"
    )


def _grid(heading: str, rows: Iterable[tuple[str | int, ...]]) -> Iterator[str]:
    names = [_NARROW.get(name, name) for name in _COLUMNS]
    yield f"{heading:<20}" + "".join(f"{name:>{len(name) + 2}}" for name in names)
    for title, *numbers in rows:
        cells = zip(names, numbers, strict=True)
        yield f"{title:<20}" + "".join(f"{number:>{len(name) + 2}}" for name, number in cells)


def _rows(summary: records.Mutation) -> Iterator[tuple[str | int, ...]]:
    for title, counts in (*((one.name, one) for one in summary.classes), ("all", summary.counts)):
        yield title, *(getattr(counts, key) for key in _COLUMNS.values())


def _kind_rows(summary: records.Mutation) -> Iterator[tuple[str | int, ...]]:
    for one in summary.kinds:
        yield one.name, *(getattr(one, key) for key in _COLUMNS.values())


def _worst(summary: records.Mutation) -> Iterator[str]:
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


def _survivors(summary: records.Mutation) -> Iterator[list[str]]:
    for one in summary.survivors:
        yield _entry("survivor", one, f"{one.display} → {one.mutated} ({one.class_}: {one.text})")


def _unseen(summary: records.Mutation) -> Iterator[list[str]]:
    """Facts with mutants that are not caught, besides survivors."""
    facts = [one for one in summary.facts if one.unseen > one.survived]
    for one in sorted(facts, key=lambda one: (-one.unseen, one.file, one.line)):
        yield _entry("unseen", one, f"{one.display}, {one.unseen} of {one.mutants} mutants not caught")


def _entry(kind: str, one: records.Survivor | records.MutatedFact, text: str) -> list[str]:
    at = f" at {one.at}" if one.at else ""
    sentences = (f"{one.path}{at}: {text}", f"would be killed by: {one.would_kill}")
    return [f"{kind:<10}{one.file}:{one.line}", *(line for sentence in sentences for line in _wrapped(sentence))]


def _wrapped(text: str) -> Iterable[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=" " * 10,
        subsequent_indent=" " * 10,
        break_long_words=False,
        break_on_hyphens=False,
    )


def as_md(summary: records.Mutation, most: int | None = 10) -> str:
    """A heading with the score, the tables of kinds and operators, the survivors."""
    parts = [
        "## Mutation score",
        "\n".join(f"- {line}" for line in _sentences(summary)),
        as_markdown(Table(("kind of fact", *_COLUMNS), tuple(_kind_rows(summary)))),
        as_markdown(Table(("operator", *_COLUMNS), tuple(_rows(summary)))),
        unguarded.sentence(summary.guards),
    ]
    if summary.guards.kinds:
        parts.append(as_markdown(unguarded.as_table(summary.guards)))
    if survivors := summary.survivors[:most]:
        columns = ("survivor", "fact", "from", "to", "operator", "would be killed by")
        rows = (
            (f"{one.file}:{one.line}", one.path, one.display, one.mutated, one.class_, one.would_kill)
            for one in survivors
        )
        parts.append(as_markdown(Table(columns, tuple(rows))))
    return "\n\n".join(parts)
