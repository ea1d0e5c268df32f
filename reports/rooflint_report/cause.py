"""Root causes: one wrong fact can turn many claims red."""

from dataclasses import dataclass

from rooflint_report.evidence import Cause, Verdict


@dataclass(frozen=True)
class RootCause:
    """A place in a file that several failing verdicts name among their causes."""

    cause: Cause
    verdicts: list[Verdict]


def root_causes(fails: list[Verdict]) -> list[RootCause]:
    """Places that explain more than one failure; each explains most of what those before it leave."""
    named, left, found = _named(fails), set(range(len(fails))), []
    while named:
        place = max(named, key=lambda place: len(named[place][1] & left))
        cause, members = named.pop(place)
        explained = sorted(members & left)
        if len(explained) < 2:
            break
        found.append(RootCause(cause, [fails[number] for number in explained]))
        left -= members
    return found


def _named(fails: list[Verdict]) -> dict[tuple[str, int | None], tuple[Cause, set[int]]]:
    """Every place that is named, as the worst failure words it, with the numbers of the failures that name it."""
    named: dict[tuple[str, int | None], tuple[Cause, set[int]]] = {}
    for number, verdict in enumerate(fails):
        for cause in verdict["causes"]:
            if cause["file"]:
                named.setdefault((cause["file"], cause["line"]), (cause, set()))[1].add(number)
    return named
