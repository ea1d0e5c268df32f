"""The coverage matrix: devices down, kinds of claims and precisions across."""

from dataclasses import dataclass
from itertools import groupby

from rooflint_report.evidence import Cell, Device, Evidence
from rooflint_report.sections.section import Page, tally

KINDS = ("peak", "bandwidth", "capacity", "breakpoint", "attainable", "count", "ratio", "sparsity", "clocks", "tdp")
PRECISIONS = (
    *("fp64", "fp32", "tf32", "bf16", "fp16", "fp16_acc16", "fp8", "fp8_acc16", "fp6", "fp4"),
    *("int32", "int16", "int8", "int4", "int1"),
)


@dataclass(frozen=True)
class Row:
    """One device: a cell per column, None where the device has nothing to claim."""

    id: str
    device: Device | None
    cells: list[Cell | None]

    @property
    def runs(self) -> list[tuple[Cell | None, int]]:
        """Cells with their widths: neighbours with nothing to claim are one blank, as most of the matrix is."""
        found: list[tuple[Cell | None, int]] = []
        for blank, run in groupby(self.cells, key=lambda cell: cell is None):
            cells = list(run)
            found += [(None, len(cells))] if blank else [(cell, 1) for cell in cells]
        return found


@dataclass(frozen=True)
class Vendor:
    """The matrix of one vendor: columns as (kind, its precisions), and a row for each device."""

    name: str
    columns: list[tuple[str, list[str]]]
    rows: list[Row]

    @property
    def claimed(self) -> list[Cell]:
        """Cells with claims."""
        return [cell for row in self.rows for cell in row.cells if cell and not is_blind(cell)]

    @property
    def tally(self) -> list[tuple[str, int]]:
        """(outcome, how many cells), worst first."""
        return tally(self.claimed)

    @property
    def fails(self) -> bool:
        """Whether a claim fails."""
        return any(cell.outcome == "fail" for cell in self.claimed)

    @property
    def uncorroborated(self) -> int:
        """Cells that pass with no second document in agreement."""
        return sum(cell.outcome == "pass" and not cell.corroborated for cell in self.claimed)

    @property
    def blind(self) -> int:
        """Cells without a claim."""
        return sum(is_blind(cell) for row in self.rows for cell in row.cells if cell)


@dataclass(frozen=True)
class Coverage:
    """The matrix by vendor, with links to failing claims."""

    vendors: list[Vendor]
    fails: dict[tuple[str, str, str], str]
    """Anchor of the farthest failing claim by device, kind and precision."""


def is_blind(cell: Cell) -> bool:
    """Whether no published figure is compared with it."""
    return cell.outcome == "none" or not cell.claims


def view(page: Page) -> Coverage:
    """The matrix is always there; rows follow the order of the devices, then whatever else has claims."""
    evidence = page.evidence
    devices = {device.id: device for device in evidence.devices}
    cells = {(c.hardware, c.kind, c.precision): c for c in evidence.coverage}
    for device in evidence.devices:
        for kind, precision in blind_spots(device):
            unclaimed = Cell(
                hardware=device.id, kind=kind, precision=precision, claims=0, corroborated=0, outcome="none"
            )
            cells.setdefault((device.id, kind, precision), unclaimed)
    names = [*devices, *sorted({hardware for hardware, _, _ in cells} - set(devices))]
    vendors = dict[str, list[str]]()
    for name in names:
        vendors.setdefault(name.partition("/")[0], []).append(name)
    return Coverage(
        vendors=[_vendor(vendor, ids, devices, cells) for vendor, ids in vendors.items()],
        fails={(v.hardware or "", v.kind, v.precision or "—"): anchor for anchor, v in reversed(page.fails)},
    )


def _vendor(name: str, ids: list[str], devices: dict[str, Device], cells: dict[tuple[str, str, str], Cell]) -> Vendor:
    """Only the columns in which the vendor has a cell."""
    pairs = sorted({(kind, precision) for device, kind, precision in cells if device in ids}, key=_column_order)
    return Vendor(
        name,
        [(kind, [p for _, p in group]) for kind, group in groupby(pairs, key=lambda pair: pair[0])],
        [Row(device, devices.get(device), [cells.get((device, *pair)) for pair in pairs]) for device in ids],
    )


def blind(evidence: Evidence) -> int:
    """How many derived quantities have no claim."""
    return sum(len(blind_spots(device)) for device in evidence.devices)


def blind_spots(device: Device) -> list[tuple[str, str]]:
    """List derived quantities without a claim, as (kind, precision)."""
    peaks = [("peak", p.precision) for p in device.peaks if not p.published and not p.at]
    unclaimed = (m for m in device.memories if not any(p.kind == "bandwidth" for p in m.published))
    return peaks + [("bandwidth", "—") for m in unclaimed if m.bandwidth_display]


def _column_order(pair: tuple[str, str]) -> tuple[int, str, int, str]:
    kind, precision = pair
    return _rank(kind, KINDS), kind, _rank(precision, PRECISIONS), precision


def _rank(name: str, order: tuple[str, ...]) -> int:
    return order.index(name) if name in order else len(order)
