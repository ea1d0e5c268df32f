"""Findings of an audit: their status, and the account of them as text, table, JSON and SARIF."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rooflint.base.errors import shown, shown_short
from rooflint.base.facts import Fact
from rooflint.base.text import counted, terminal_width
from rooflint.base.text import row as line_of
from rooflint.diagnosis.causes import UNKNOWN
from rooflint.diagnosis.explanations import ERRORS, Explanation
from rooflint.diagnosis.figures import Figure
from rooflint.output import sarif
from rooflint.output.sections import Table

Status = Literal["right", "rounded", "disputed", "ambiguous", "wrong", "unsupported", "unknown device", "not checked"]

#: Meaning of each status, worst first.
STATUSES: dict[Status, str] = {
    "wrong": "no variant of the device has that figure",
    "unsupported": "the spec of the device has no rate in that precision",
    "ambiguous": "right for one variant, unit or part of the device, and the table does not tell which",
    "disputed": "a vendor or a driver gives this figure, but the facts of the device give another",
    "rounded": "right in two significant digits, or within 1 %",
    "unknown device": "no spec with that name",
    "not checked": "nothing to compare it with",
    "right": "right within its printed digits",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One figure of a table with the result of its check."""

    file: Path
    line: int
    column: str
    device: str
    """The device as the table names it."""
    quantity: str
    """The quantity by name and column: `bf16 peak`, `bandwidth`."""
    printed: str
    """The figure as the table prints it, with its unit."""
    status: Status
    hardware: tuple[str, ...] = ()
    """Ids that the name may mean."""
    expected: Figure | None = None
    """The right figure, of the likeliest device."""
    ratio: float | None = None
    """Printed over expected."""
    ratio_text: str = ""
    """The ratio as a small fraction, where the printed digits allow one."""
    explanations: tuple[Explanation, ...] = ()
    """Candidate explanations of a wrong figure, likeliest first."""
    note: str = ""
    shared: str = ""
    """What the figure has in common with others of its column or row that are wrong for the same cause."""

    @property
    def is_wrong(self) -> bool:
        """Whether the figure is wrong."""
        return self.status == "wrong"

    @property
    def is_checked(self) -> bool:
        """Whether there was something to compare it with."""
        return self.status not in ("unknown device", "not checked")

    def fails(self, *, strict: bool = False) -> bool:
        """Whether it fails a run; a strict run also fails on figures that could not be checked."""
        return self.is_wrong or (strict and self.status not in ("right", "rounded", "disputed"))

    @property
    def place(self) -> str:
        """File and line: `gpus.csv:4`."""
        return f"{shown(self.file)}:{self.line}"

    @property
    def headline(self) -> str:
        """Device, quantity and figure: `H100: bf16 peak 312 TFLOP/s`."""
        return f"{self.device}: {self.quantity} {self.printed}"

    @property
    def cause(self) -> str:
        """The likeliest explanation in words, or that there is none; the note of a figure that is not wrong."""
        if self.explanations:
            return self.explanations[0].text
        return UNKNOWN if self.is_wrong else self.note


# ---- counts

SCHEMA = "rooflint-audit/1"
_SHOWN = ("wrong", "unsupported", "ambiguous", "disputed")
_LEVELS: dict[str, Literal["error", "warning"]] = {"wrong": "error", "unsupported": "warning", "ambiguous": "warning"}


def counts(findings: Sequence[Finding]) -> dict[str, int]:
    """Number of findings by status, worst first."""
    found = Counter(finding.status for finding in findings)
    return {status: found[status] for status in STATUSES}


def sentence(findings: Sequence[Finding]) -> str:
    """The totals: `44 figures of 13 devices: 3 wrong, 1 disputed, 2 rounded, 38 right`."""
    findings = [finding for finding in findings if finding.device]
    devices = len({finding.device for finding in findings})
    tally = ", ".join(f"{number} {status}" for status, number in counts(findings).items() if number)
    return f"{counted(len(findings), 'figure')} of {counted(devices, 'device')}: {tally or 'nothing'}"


def _worst_first(findings: Sequence[Finding]) -> list[Finding]:
    order = list(STATUSES)
    return sorted(findings, key=lambda one: order.index(one.status))


# ---- for a terminal


def as_text(findings: Sequence[Finding], *, everything: bool = False) -> str:
    """Wrong and unsettled figures, one paragraph each, and the totals."""
    wanted = STATUSES if everything else _SHOWN
    listed = [one for one in _worst_first(findings) if one.status in wanted]
    width = terminal_width()
    blocks = ["\n".join(_paragraph(finding, width)) for finding in listed]
    open_ends = [*filter(None, [_unknown(findings)]), *_unchecked(findings)] if not everything else []
    blocks += ["\n".join(open_ends)] if open_ends else []
    shared = list(dict.fromkeys(finding.shared for finding in listed if finding.shared))
    blocks += (
        ["\n".join(line_of("together" if not place else "", text) for place, text in enumerate(shared))]
        if shared
        else []
    )
    return "\n\n".join([*blocks, sentence(findings)]) + "\n"


def _paragraph(finding: Finding, width: int) -> Iterator[str]:
    yield f"{finding.place}  {finding.headline}: {finding.status}"
    if finding.expected and finding.status not in ("right", "unknown device"):
        yield line_of("expected", finding.expected.shown(), _derived(finding), width)
    if finding.is_wrong and finding.ratio:
        error = f"{finding.explanations[0].error}: " if finding.explanations else ""
        yield line_of("ratio", finding.ratio_text, f"{error}{finding.cause}", width)
        yield from _fact_lines(finding.explanations[:1], width)
        for explanation in finding.explanations[1:3]:
            yield line_of("or", f"{explanation.error}: {explanation.text}", "", width)
            yield from _fact_lines((explanation,), width)
    elif finding.is_wrong and finding.explanations:
        yield line_of("because", finding.explanations[0].text, "", width)
    if finding.note:
        yield line_of("note", finding.note, "", width)


def _derived(finding: Finding) -> str:
    figure = finding.expected
    assert figure is not None
    return f"printed by {figure.printed}" if figure.printed else f"{figure.formula}  ({figure.hardware.id})"


def _fact_lines(explanations: Sequence[Explanation], width: int) -> Iterator[str]:
    for explanation in explanations:
        if fact := explanation.fact:
            yield line_of("", "", f"{shown_short(fact.file)}:{fact.line}  {fact.path}", width)


def _unknown(findings: Sequence[Finding]) -> str:
    notes = dict.fromkeys(finding.note for finding in findings if finding.status == "unknown device")
    names = ", ".join(note.removeprefix("no spec named ").partition(";")[0] for note in notes)
    return line_of("unknown", names) if names else ""


def _unchecked(findings: Sequence[Finding]) -> Iterator[str]:
    unchecked = [finding for finding in findings if finding.status == "not checked"]
    notes = Counter(finding.note for finding in unchecked)
    places = {finding.note: finding.place for finding in reversed(unchecked)}
    for position, (note, number) in enumerate(notes.items()):
        text = f"{places[note]}  {note}"
        yield line_of("unchecked" if not position else "", f"{text} ({number})" if number > 1 else text)


# ---- for programs


def as_table(findings: Sequence[Finding], *, everything: bool = False) -> Table:
    """One row per finding."""
    columns = ("place", "device", "quantity", "printed", "expected", "ratio", "status", "error", "explanation")
    listed = [one for one in _worst_first(findings) if everything or one.status != "right"]
    return Table(columns, tuple(_cells(one) for one in listed), title=sentence(findings))


def _cells(finding: Finding) -> tuple[str, ...]:
    return (
        finding.place,
        finding.device,
        finding.quantity,
        finding.printed,
        finding.expected.shown() if finding.expected else "",
        finding.ratio_text,
        finding.status,
        finding.explanations[0].error if finding.explanations else "",
        "; ".join(dict.fromkeys(filter(None, (finding.cause, finding.note)))),
    )


def as_json(findings: Sequence[Finding]) -> str:
    """All findings as JSON, with a schema version."""
    document = {"schema": SCHEMA, "counts": counts(findings), "findings": [_record(one) for one in findings]}
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _record(finding: Finding) -> dict[str, Any]:
    expected = finding.expected
    return {
        "file": shown(finding.file),
        "line": finding.line,
        "column": finding.column,
        "device": finding.device,
        "hardware": list(finding.hardware),
        "quantity": finding.quantity,
        "printed": finding.printed,
        "status": finding.status,
        "ratio": finding.ratio,
        "expected": None
        if expected is None
        else {
            "value": expected.value,
            "display": expected.shown(),
            "hardware": expected.hardware.id,
            "formula": None if expected.printed else expected.formula,
            "document": expected.printed,
            "facts": [_fact(fact) for fact in dict.fromkeys(expected.facts)],
        },
        "causes": [_cause(explanation) for explanation in finding.explanations],
        "note": finding.note or None,
        "shared": finding.shared or None,
    }


def _fact(fact: Fact) -> dict[str, Any]:
    return {"path": fact.path, "display": fact.display, "file": shown(fact.file), "line": fact.line}


def _cause(explanation: Explanation) -> dict[str, Any]:
    return {
        "error": explanation.error,
        "text": explanation.text,
        "value": explanation.target,
        "fact": _fact(explanation.fact) if explanation.fact else None,
    }


def as_sarif(findings: Sequence[Finding]) -> str:
    """SARIF 2.1.0 for code scanning: one result per finding that is not right, one rule per class of error."""
    results = [_result(one) for one in findings if one.status in (*_SHOWN, "unknown device")]
    return sarif.as_sarif({one.rule: _meaning(one.rule) for one in results}, results)


def _rule(finding: Finding) -> str:
    return finding.explanations[0].error if finding.is_wrong and finding.explanations else finding.status


def _meaning(rule: str) -> str:
    known = {**ERRORS, **{str(status): text for status, text in STATUSES.items()}}
    return "; and ".join(known[part] for part in rule.split(" + "))


def _result(finding: Finding) -> sarif.Result:
    expected = f"; expected {finding.expected.shown()}" if finding.expected and finding.is_wrong else ""
    return sarif.Result(
        _rule(finding),
        _LEVELS.get(finding.status, "note"),
        f"{finding.headline}{expected}. {finding.cause}".strip(),
        sarif.Place(shown(finding.file), finding.line),
    )
