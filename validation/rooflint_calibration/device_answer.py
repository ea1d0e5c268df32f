"""The shape of what `rooflint calibrate device -f json` writes, exported as JSON Schema for other programs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from rooflint.base.units import SECONDS, format_quantity
from rooflint.devices.hardware import Hardware
from rooflint.devices.schema import Strict
from rooflint.kernels.device_calibration import Own
from rooflint.kernels.gemm import launch_s
from rooflint.kernels.residency import COLD
from rooflint.kernels.shapes import shapes
from rooflint.output.answer import Answer
from rooflint.output.sections import Grid, Prose, Section
from rooflint.output.table import Cell, Table
from rooflint_calibration import gain
from rooflint_calibration.anchored import SPREADS, Anchors, Setting
from rooflint_calibration.gain import Gains
from rooflint_calibration.recorded_anchors import HOW
from rooflint_measure.stopwatches.anchors import Kind

Positive = Annotated[float, Field(gt=0)]
Regime = Literal["all", "large", "small", "narrow"]


class OwnRecord(Strict):
    """One quantity: what all GPUs share, and what the products of this machine say; null where none was measured."""

    quantity: Literal["launch_s", "matrix_factor", "dram_efficiency"]
    shared: Positive
    own: Positive | None
    products: int
    weight: Annotated[float, Field(ge=0, le=1)]
    """Share of what the products say that is taken for the machine's."""


class ProductRecord(Strict):
    """One product, predicted before and after."""

    m: int
    n: int
    k: int
    measured_s: Positive | None
    """Of the recording; null where it only is an example."""
    before_s: Positive
    after_s: Positive


class GainRecord(Strict):
    """Errors on published rows, by constants that have not seen the family; shares."""

    device: str
    regime: Regime
    rows: int
    error_before: Annotated[float, Field(ge=0)]
    error_after: Annotated[float, Field(ge=0)]
    bias_before: float
    bias_after: float


class DeviceCalibrationRecord(Strict):
    """`rooflint calibrate device -f json`; with `--published` there is no device, and gains alone."""

    schema_: Annotated[Literal["rooflint.calibrate.device/1"], Field(alias="schema")]
    hardware: str | None
    precision: str | None
    own: list[OwnRecord]
    products: list[ProductRecord]
    gains: list[GainRecord]
    caveats: list[str]


# ---- The answers to `rooflint calibrate device`: a machine's own figures, and what they buy

SCHEMA = "rooflint.calibrate.device/1"

EXAMPLES = ((1, 4096, 4096), (64, 1024, 1024), (256, 16384, 8192), (2048, 8192, 8192), (8192, 8192, 28672))
"""Products that are predicted before and after: narrow and small, memory and arithmetic."""

QUANTITIES: Mapping[Kind, tuple[str, str]] = {
    "null": ("launch_s", "launch, kernel to kernel"),
    "peak": ("matrix_factor", "factor on matrix units and power"),
    "streaming": ("dram_efficiency", "share of the bandwidth"),
}
"""What each kind of product tells: as a program and as a reader calls it."""

LISTING = ("device", "regime", "rows", "error_before", "error_after", "bias_before", "bias_after")

CAVEATS = (
    "a figure is moved only as far as its products can tell a machine from a shape: their weight is the spread of "
    "machines over that of shapes, both of the nine published GPUs",
    "errors are on published rows, by constants that have not seen the family; they are of another machine of the kind",
    "matrix units never exceed their rate: a factor above 1 is of what their power allows",
)


@dataclass(frozen=True)
class Found:
    """What the products of one machine say."""

    hardware: Hardware
    precision: str
    anchors: Anchors
    shared: Setting
    own: Own
    missing: Sequence[tuple[Kind, str]]
    """Kinds that were not measured, with the reason."""
    disturbed: Sequence[str]
    """Products all samples of which were disturbed."""
    gains: Gains | None
    """On published rows of the same device, where there are any."""
    no_gains: str
    """Why there are none."""


def answer(found: Found) -> Answer:
    """One machine."""
    label = found.hardware.label
    rows = _gain_rows({label: found.gains}) if found.gains else ()
    return Answer(
        title=f"{found.hardware.name}, calibrated",
        subtitle=f"{label}, {found.precision}, {len(found.anchors)} products of a recording",
        sections=tuple(_sections(found)),
        record={
            "schema": SCHEMA,
            "hardware": label,
            "precision": found.precision,
            "own": [_own_record(found, kind) for kind in QUANTITIES],
            "products": _products(found),
            "gains": [dict(zip(LISTING, row, strict=True)) for row in rows],
            "caveats": [*_said(found), *_bought(found), *CAVEATS],
        },
        listing=Table(LISTING, rows),
    )


def published_answer(gains: Mapping[str, Gains]) -> Answer:
    """All published devices, each as if its user had measured the anchors."""
    rows = _gain_rows(gains)
    return Answer(
        title=f"{len(gains)} published GPUs, calibrated by their own anchors",
        subtitle="errors on all rows of each, by constants that have not seen its family",
        sections=(
            _gain_grid(gains),
            Prose("What it comes to", tuple(gain.of_many(gains))),
            Prose("How to read it", CAVEATS[:1]),
        ),
        record={
            "schema": SCHEMA,
            "hardware": None,
            "precision": None,
            "own": [],
            "products": [],
            "gains": [dict(zip(LISTING, row, strict=True)) for row in rows],
            "caveats": [*gain.of_many(gains), *CAVEATS],
        },
        listing=Table(LISTING, rows),
    )


def _sections(found: Found) -> Iterator[Section]:
    rows = tuple(_own_row(found, kind) for kind in QUANTITIES)
    yield Grid("Own figures", Table(("of the machine", "shared", "own", "products", "weight"), rows))
    if said := tuple(_said(found)):
        yield Prose("Not measured, or not undisturbed", said)
    yield _products_grid(found)
    if found.gains:
        yield _gain_grid({found.hardware.label: found.gains})
        yield Prose("What it comes to", tuple(_bought(found)))
    else:
        yield Prose("What it buys", (found.no_gains,))
    yield Prose("How to read it", CAVEATS)


def _bought(found: Found) -> Iterator[str]:
    return gain.of_one(found.gains) if found.gains else iter(())


def _shared(found: Found, kind: Kind) -> float:
    if kind == "null":
        return launch_s(found.shared.chip, found.shared.constants)
    return 1.0 if kind == "peak" else found.shared.constants.dram_efficiency


def _weight(found: Found, kind: Kind) -> tuple[int, float]:
    """How many products of a kind there are, and what they weigh. [1]"""
    products = len(found.anchors.of(kind))
    return products, SPREADS[kind].weight(products) if products else 0.0


def _own_row(found: Found, kind: Kind) -> tuple[Cell, ...]:
    name, reads = QUANTITIES[kind]
    own, (products, weight) = getattr(found.own, name), _weight(found, kind)

    def shown(value: float) -> str:
        return format_quantity(value, SECONDS) if kind == "null" else f"{value:.3f}"

    return reads, shown(_shared(found, kind)), "as shared" if own is None else shown(own), products, f"{weight:.0%}"


def _own_record(found: Found, kind: Kind) -> dict[str, Any]:
    name, (products, weight) = QUANTITIES[kind][0], _weight(found, kind)
    return {
        "quantity": name,
        "shared": _shared(found, kind),
        "own": getattr(found.own, name),
        "products": products,
        "weight": weight,
    }


def _said(found: Found) -> Iterator[str]:
    """What a reader must know of the recording."""
    for kind, why in found.missing:
        yield f"{kind}: {why}; {QUANTITIES[kind][1]} stays what all GPUs share ({HOW})"
    yield from (
        f"{name}: something else was at work in every sample, so it may be too slow" for name in found.disturbed
    )


def _products(found: Found) -> list[dict[str, Any]]:
    """The measured ones, then the examples, whose operands come from memory."""
    examples = [one for one in EXAMPLES if one not in found.anchors.sizes]
    anchors, nothing = found.anchors, np.full(len(examples), np.nan)
    cold = Anchors(shapes(*np.array(examples, float).T), nothing, np.full(len(examples), COLD))
    rows = []
    for some in (anchors, cold):
        before, after = (one.predicted_s(some) for one in (found.shared, found.shared.with_(found.own)))
        for size, measured, old, new in zip(some.sizes, some.seconds, before, after, strict=True):
            sizes = dict(zip("mnk", size, strict=True))
            known = None if np.isnan(measured) else float(measured)
            rows.append({**sizes, "measured_s": known, "before_s": float(old), "after_s": float(new)})
    return rows


def _products_grid(found: Found) -> Section:
    def shown(seconds: float | None) -> str:
        return "" if seconds is None else format_quantity(seconds, SECONDS)

    rows = tuple(
        (
            f"{row['m']} × {row['n']} × {row['k']}",
            shown(row["measured_s"]),
            shown(row["before_s"]),
            shown(row["after_s"]),
            f"{row['after_s'] / row['before_s'] - 1:+.1%}",
        )
        for row in _products(found)
    )
    return Grid("Products", Table(("m × n × k", "measured", "before", "after", "moved"), rows))


def _gain_rows(gains: Mapping[str, Gains]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        (device, regime, old.rows, old.mape, new.mape, old.bias, new.bias)
        for device, by_regime in gains.items()
        for regime, (old, new) in by_regime.items()
    )


def _gain_grid(gains: Mapping[str, Gains]) -> Section:
    rows = [(device.rpartition("/")[2], *_cells(found.values())) for device, found in gains.items()]
    columns = ("error %: before → after", "all", "> 20 GFLOP", "< 1 GFLOP", "m ≤ 16")
    return Grid("What it buys", Table(columns, tuple(rows)), "mean of |predicted / measured − 1| on published rows")


def _cells(pairs: Iterable[Any]) -> Iterator[str]:
    return (f"{100 * old.mape:.1f} → {100 * new.mape:.1f}" for old, new in pairs)
