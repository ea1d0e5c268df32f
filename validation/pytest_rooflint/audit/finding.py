"""Findings: what the audit says of one figure of a table."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rooflint.errors import shown
from rooflint.figures import Figure
from rooflint.readings import Reading

Status = Literal["right", "rounded", "disputed", "ambiguous", "wrong", "unsupported", "unknown device", "not checked"]

#: Worst first, with what each means.
STATUSES: dict[Status, str] = {
    "wrong": "no variant of the device has that figure",
    "unsupported": "the spec of the device has no rate in that precision",
    "ambiguous": "right for one variant of the device, and the name does not say which",
    "disputed": "the vendor prints it, and the facts derive another",
    "rounded": "right in two significant digits",
    "unknown device": "no spec of that name",
    "not checked": "nothing to hold it against",
    "right": "within its printed digits",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One figure of a table, and what is known about it."""

    file: Path
    line: int
    column: str
    device: str
    """As the table names it."""
    quantity: str
    """What the number is said to be: `bf16 peak`, `bandwidth`."""
    printed: str
    """As the table prints it, with its unit."""
    status: Status
    hardware: tuple[str, ...] = ()
    """Ids that the name may mean."""
    expected: Figure | None = None
    """The figure that should stand there, of the likeliest device."""
    ratio: float | None = None
    """Printed over expected."""
    ratio_text: str = ""
    """The same as a small fraction, where the printed digits allow for one."""
    readings: tuple[Reading, ...] = ()
    """What the number is instead, likeliest first."""
    note: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether it fails a run."""
        return self.status == "wrong"

    @property
    def is_checked(self) -> bool:
        """Whether there was something to hold it against."""
        return self.status not in ("unknown device", "not checked")

    def fails(self, *, strict: bool = False) -> bool:
        """Whether it fails a run; a strict one fails on whatever could not be settled."""
        return self.is_wrong or (strict and self.status not in ("right", "rounded", "disputed"))

    @property
    def place(self) -> str:
        """`gpus.csv:4`."""
        return f"{shown(self.file)}:{self.line}"

    @property
    def headline(self) -> str:
        """`H100: bf16 peak 312 TFLOP/s`."""
        return f"{self.device}: {self.quantity} {self.printed}"

    @property
    def cause(self) -> str:
        """The likeliest reading in words, or what else there is to say."""
        if self.readings:
            return self.readings[0].text
        return self.note or ("unexplained by any known figure or convention" if self.is_wrong else "")
