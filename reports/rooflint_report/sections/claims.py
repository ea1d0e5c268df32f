"""Claims: one table of all, which the page's script draws, searches, filters and sorts."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rooflint.base.text import some
from rooflint_report.sections.section import WORST_FIRST, Page, claimed, ratio_text, tally
from rooflint_report.verdicts import Cause, Verdict

FLAGS: Mapping[str, Callable[[Verdict], bool]] = {
    "uncorroborated": lambda v: v.uncorroborated,
    "loose": lambda v: bool(v.tolerance and v.tolerance.loose),
    "replay": lambda v: v.replay,
}
"""What a claim can be beside its outcome."""


@dataclass(frozen=True)
class Claims:
    """What the tools above the table offer, and what the table is drawn from."""

    count: int
    outcomes: list[tuple[str, int]]
    """With how many claims have it, worst first."""
    flags: list[tuple[str, int]]
    kinds: list[str]
    precisions: list[str]
    data: dict[str, Any]
    """`columns` has the values of all claims by name: they pack better than rows. `names` are of devices, by id."""


def view(page: Page) -> Claims | None:
    """None where no claim was checked."""
    verdicts = sorted(page.evidence.verdicts, key=lambda v: WORST_FIRST.index(v.outcome))
    fails = {verdict.nodeid: (anchor, verdict) for anchor, verdict in page.fails}  # with changed lines as causes
    rows = [_row(verdict, page, *fails.get(verdict.nodeid, ("", None))) for verdict in verdicts]
    if not rows:
        return None
    flags = [(name, sum(map(has, verdicts))) for name, has in FLAGS.items()]
    return Claims(
        len(rows),
        tally(verdicts),
        [(name, count) for name, count in flags if count],
        _distinct(v.kind for v in verdicts),
        _distinct(v.precision for v in verdicts if v.precision),
        {
            "columns": {name: [row[name] for row in rows] for name in rows[0]},
            "names": {device.id: device.name for device in page.evidence.devices},
        },
    )


def _row(verdict: Verdict, page: Page, card: str, failing: Verdict | None) -> dict[str, Any]:
    """What the table, its search and an opened row show; empty text for what a claim does not have."""
    expected, obtained, tolerance = verdict.expected, verdict.obtained, verdict.tolerance
    source = expected.source if expected else None
    display = expected.display if expected else ""
    hosting, about = page.evidence.run.hosting, _about(verdict)
    return {
        "outcome": verdict.outcome,
        "claim": claimed(verdict),
        "device": some(about),
        "sheet": page.devices.get(about[0], "") if len(about) == 1 else "",
        "card": card,
        "kind": verdict.kind,
        "precision": verdict.precision or "",
        "expected": _beyond(verdict.subject, display),
        "printed": expected.text if expected and expected.text != display else "",
        "obtained": obtained.display if obtained else "",
        "formula": (obtained.formula or "") if obtained else "",
        "ratio": _finite(verdict.ratio),
        "ratioText": verdict.ratio_text if verdict.ratio_text not in (None, "1") else ratio_text(verdict.ratio),
        "slack": _finite(verdict.slack) if verdict.outcome == "pass" else None,
        "document": source.document if source else "",
        "where": (source.where or "") if source else "",
        "grade": (source.grade or "") if source else "",
        "tolerance": f"{tolerance.text}, {tolerance.kind}" if tolerance else "",
        "why": (tolerance.why or "") if tolerance else "",
        "reason": verdict.reason or "",
        "note": verdict.note or "",
        "until": verdict.until or "",
        "flags": [name for name, has in FLAGS.items() if has(verdict)],
        "about": " ".join(dict.fromkeys(f"{one.file}:{one.line} {one.path}" for one in _accused(failing))),
        "file": verdict.file,
        "line": verdict.line,
        "blob": (hosting.blob(verdict.file, verdict.line) or "") if hosting else "",
        "rerun": verdict.rerun.removeprefix("pytest ").removeprefix(verdict.file),
    }


def _about(verdict: Verdict) -> list[str]:
    """Its device or architecture; else what its kind says, or the devices that were judged."""
    if verdict.of:
        return [verdict.of]
    return verdict.about or list(dict.fromkeys(name.partition("@")[0] for name in verdict.others))


def _beyond(subject: str, expected: str) -> str:
    """What is expected; of an order, what it says beside the subject: `in this order, each at most 2 times …`."""
    return "" if expected == subject else expected.removeprefix(f"{subject}, ")


def _accused(failing: Verdict | None) -> list[Cause]:
    """Facts that may make a claim fail, so that a search for one finds its claims."""
    return [one for one in failing.causes if one.file] if failing else []


def _finite(value: float | None) -> float | None:
    """A number as JSON can carry it, in six digits; infinite ratios stand at the end of what a double can hold."""
    if value is None or math.isnan(value):
        return None
    return float(f"{min(max(value, -1e300), 1e300):.6g}")


def _distinct(words: Iterable[str]) -> list[str]:
    return sorted(set(words))
