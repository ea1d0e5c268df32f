"""One figure of a table, and the finding that an audit makes of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_rooflint.audit.account import Finding
from pytest_rooflint.audit.columns import Column
from pytest_rooflint.audit.rows import Cell
from rooflint.diagnosis.causes import Span, ratio_text
from rooflint.diagnosis.figures import FLOOR, Figure, Printed, show
from rooflint.diagnosis.labels import Asked
from rooflint.hardware.names import Meaning


@dataclass(frozen=True, slots=True)
class FigureOfTable:
    """One number of a table with its device and quantity."""

    name: str
    meaning: Meaning
    asked: Asked
    number: Printed
    cell: Cell
    column: str
    note: str = ""
    """What the table does not say and was assumed."""

    @property
    def key(self) -> tuple[str, Asked, float]:
        """Identity of a figure that a long table repeats."""
        return (self.name, self.asked, self.number.value)


def said(asked: Asked) -> str:
    """The quantity in words: `sparse bf16 peak`, `count (SM)`, `bandwidth per gcd`."""
    words = [asked.precision or "", asked.quantity, f"({asked.subject})" if asked.subject else ""]
    words = ["sparse" if asked.sparse else "", "vector" if asked.vector else "", *words]
    words += [f"per {asked.part}"] if asked.part else []
    return " ".join(word for word in words if word)


def finding_of(one: FigureOfTable, file: Path, devices: Sequence[str], expected: Figure | None) -> Finding:
    """The finding of a right figure, to be changed where it is not, with what was expected."""
    return Finding(
        file,
        one.cell.line,
        one.column,
        one.name,
        said(one.asked),
        show(one.asked.quantity, one.number.value, one.asked.precision),
        "right",
        tuple(devices),
        expected,
        one.number.value / expected.value if expected else None,
        _ratio(one.number, expected) if expected else "",
        note=one.note,
    )


def _ratio(number: Printed, expected: Figure) -> str:
    """Printed over expected, as a fraction where the digits of the table or the rounding of clocks allow it."""
    width = max(number.step / 2, FLOOR / 2 * number.value)
    span = Span((number.value - width) / expected.value, (number.value + width) / expected.value)
    return ratio_text(number.value / expected.value, span)


def unknown(one: FigureOfTable, file: Path) -> Finding:
    """The finding of a figure whose device has no spec."""
    near = f"; near: {', '.join(one.meaning.near[:3])}" if one.meaning.near else ""
    note = f"no spec named '{one.name}'{near}"
    return replace(finding_of(one, file, (), None), status="unknown device", note=note)


def unread(cell: Cell, column: Column, name: str, asked: Asked, why: str, file: Path) -> Finding:
    """The finding of a cell that cannot be compared, with the reason."""
    return Finding(file, cell.line, column.name, name, said(asked), cell.text, "not checked", note=why)
