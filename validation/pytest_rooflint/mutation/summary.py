"""The mutation score as plain data: what the evidence holds, and what every rendering of it is made from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pytest_rooflint.mutation.baseline import Baseline
from pytest_rooflint.mutation.mutants import Subject
from pytest_rooflint.mutation.score import Result, Row, Tally, tally
from pytest_rooflint.mutation.wishes import wanted, wish
from rooflint.errors import shown
from rooflint.facts import Fact
from rooflint.slips import CLASSES

#: Every word of the counts, as the documents say it.
DEFINITIONS = {
    "mutant": "one fact set wrong in one way that the schema lets in",
    "equivalent": "moves no figure that the model takes from facts, by 1e-9 of it or more",
    "uncorroborated": "no independently sourced claim speaks of a figure that it moves",
    "within digits": "an independently sourced claim speaks of it, but its source printed too few digits to tell",
    "killable": "moves the figure of an independently sourced claim beyond its printed digits",
    "killed": "a claim that is no replay turns red",
    "score": "killed over killable",
    "unseen": "moves a figure, and no claim turns red",
    "gross": "a factor of two or more on a fact that a corroborated peak or bandwidth rests on",
    "refused": "what the schema refuses at the door; no mutant",
}


def summary(result: Result, baseline: Baseline, floor: float | None = None) -> dict[str, Any]:
    """The document. `floor` and `score` are shares, 1 is all."""
    return {
        "score": result.tally.score,
        "floor": floor,
        "holds": holds(result, floor),
        "definitions": DEFINITIONS,
        "counts": {**_counts(result.tally), "refused": sum(result.refused.values())},
        "gross": {"mutants": len(result.gross), "killed": len(result.gross) - len(result.gross_survivors)},
        "classes": list(_classes(result)),
        "subjects": list(_subjects(result)),
        "facts": [_fact(subject, fact, rows) for subject, fact, rows in result.by_fact()],
        "survivors": [_survivor(row, baseline) for row in _listed(result)],
    }


def holds(result: Result, floor: float | None) -> bool | None:
    """Whether the score is on its floor and no gross mutant survives; None where nobody set a floor."""
    if floor is None:
        return None
    score = result.tally.score
    return score is not None and score >= floor and not result.gross_survivors


def _listed(result: Result) -> list[Row]:
    """Survivors, before them the gross ones that are not even killable."""
    return [*(row for row in result.gross_survivors if not row.survived), *result.survivors]


def _counts(tally: Tally) -> dict[str, Any]:
    return {**asdict(tally), "survived": tally.survived}


def _classes(result: Result) -> Iterator[dict[str, Any]]:
    found = result.by(lambda row: row.mutant.slip.name)
    for name, says in CLASSES.items():
        if name in found or result.refused.get(name):
            counted = found.get(name, Tally())
            yield {"name": name, "says": says, **_counts(counted), "refused": result.refused.get(name, 0)}


def _subjects(result: Result) -> Iterator[dict[str, Any]]:
    """Devices and architectures, those first in which most goes unseen."""
    found = result.by(lambda row: shown(row.subject.hardware.file))
    ids = {shown(row.subject.hardware.file): row.subject for row in result.rows}
    for file, counted in sorted(found.items(), key=lambda item: (-item[1].unseen / item[1].mutants, item[0])):
        yield {
            "id": ids[file].id,
            "architecture": ids[file].is_architecture,
            "file": file,
            **_counts(counted),
            "score": counted.score,
        }


def _fact(subject: Subject, fact: Fact, rows: Sequence[Row]) -> dict[str, Any]:
    counted = tally(rows)
    unseen = [row for row in rows if row.unseen]
    return {
        **_place(subject, fact),
        **_counts(counted),
        "unseen_classes": list(dict.fromkeys(row.mutant.slip.name for row in unseen)),
        "would_kill": wanted(subject, fact) if unseen else None,
    }


def _place(subject: Subject, fact: Fact) -> dict[str, Any]:
    return {
        "subject": subject.id,
        "at": subject.mode(fact),
        "path": fact.path,
        "file": shown(fact.file),
        "line": fact.line,
        "display": fact.display,
    }


def _survivor(row: Row, baseline: Baseline) -> Mapping[str, Any]:
    slip = row.mutant.slip
    return {
        **_place(row.subject, row.mutant.fact),
        "class": slip.name,
        "text": slip.text,
        "mutated": slip.fact.display,
        "ratio": row.mutant.ratio,
        "would_kill": wish(row, baseline),
    }
