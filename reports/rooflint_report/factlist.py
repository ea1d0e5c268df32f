"""The facts of a device that no ladder shows; the same thing said of several precisions is one row."""

from dataclasses import dataclass
from itertools import groupby

from rooflint_report.evidence import Fact


@dataclass(frozen=True)
class Row:
    """Facts that differ in the last step of their path only: `units.tensor_core.sparsity. bf16, fp16`."""

    path: str
    fact: Fact
    lines: list[int]

    @property
    def span(self) -> str:
        """Lines as a reader looks them up: 24, 24-29, or 24, 27."""
        if not self.lines:
            return ""
        first, last = self.lines[0], self.lines[-1]
        if last - first == len(self.lines) - 1:
            return str(first) if first == last else f"{first}–{last}"
        return ", ".join(map(str, self.lines))


def rows(facts: list[Fact]) -> list[Row]:
    """Merge neighbours that agree in all but the last step of their path and the line."""
    return [_row(list(group)) for _, group in groupby(facts, key=_likeness)]


def _likeness(fact: Fact) -> tuple[str | None, ...]:
    parent = fact["path"].rpartition(".")[0] or fact["path"]
    return parent, fact["display"], fact["source"], fact["grade"], fact["where"], fact["file"]


def _row(facts: list[Fact]) -> Row:
    parent = facts[0]["path"].rpartition(".")[0]
    steps = [fact["path"].rpartition(".")[2] for fact in facts]
    path = facts[0]["path"] if len(facts) == 1 else f"{parent}. {', '.join(steps)}"
    return Row(path, facts[0], sorted({fact["line"] for fact in facts if fact["line"]}))
