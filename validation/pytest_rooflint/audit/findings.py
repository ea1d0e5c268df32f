"""One figure of a table, and the finding that an audit makes of it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_rooflint.audit.account import Finding
from pytest_rooflint.audit.cells import BASE, LONGEST
from pytest_rooflint.audit.columns import Column, is_about_nothing
from pytest_rooflint.audit.rows import NAME, UNNAMED, Cell, Row
from pytest_rooflint.audit.tables import PYTHON
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
    def key(self) -> tuple[str, str, Asked, float]:
        """Identity of a figure that the rows of a long table repeat."""
        return (self.name, self.column, self.asked, self.number.value)


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


def unnamed(rows: Sequence[Row], file: Path) -> Iterator[Finding]:
    """Findings for tuples of source code whose numbers are of several quantities that nothing names."""
    for row in rows:
        if UNNAMED in row:
            cell, note = row[UNNAMED], "not read: numbers of several quantities; name their places in a comment above"
            note += ", such as '# (bf16_tflops, bandwidth_gbps)'"
            yield Finding(file, cell.line, UNNAMED, row[NAME].text, "tuple", cell.text, "not checked", note=note)


def ignored(names: Sequence[str], rows: Sequence[Row], file: Path) -> Iterator[Finding]:
    """Findings for columns of numbers with an unknown meaning, which were not checked."""
    for name in names:
        cells = [row[name] for row in rows if name in row]
        numbers = [cell for cell in cells if re.search(r"\d", cell.text) and len(cell.text) <= LONGEST]
        if file.suffix == PYTHON:  # code has numbers of every kind; only those in op/s and B/s look like figures
            numbers = [cell for cell in cells if _is_rate(cell.text)]
            numbers = cells if numbers else []  # beside a rate they are figures of the device, too
        if 2 * len(numbers) > len(cells) and not is_about_nothing(name):
            note = f"unknown column '{name}'; give its meaning with --map, or map it to 'ignore'"
            yield Finding(file, cells[0].line, name, "", "column", name, "not checked", note=note)


def _is_rate(text: str) -> bool:
    try:
        return float(text) >= BASE
    except ValueError:
        return False
