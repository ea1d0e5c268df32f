"""The answer to `rooflint calibrate device`: own figures of a GPU, products before and after, and the benefit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, cast

import numpy as np
from pydantic import Field

from rooflint.base.units import SECONDS, format_quantity
from rooflint.hardware.device import Hardware
from rooflint.hardware.schema import Strict
from rooflint.kernels.device_calibration import Own
from rooflint.kernels.gemm import launch_s
from rooflint.kernels.shapes import COLD
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Grid, Prose, Section, Table
from rooflint_calibration import anchors
from rooflint_calibration.anchors import COLUMNS, DEVIATIONS, RECORD, Benefit, Setting, of_kind, shapes_of
from rooflint_calibration.rows import Rows
from rooflint_measure.stopwatches.anchors import Kind

Positive = Annotated[float, Field(gt=0)]
Regime = Literal["all", "large", "small", "narrow"]
Quantity = Literal["launch_s", "matrix_factor", "dram_efficiency"]


class OwnRecord(Strict):
    """One figure: shared by all GPUs, and measured on this one; null if it was not measured."""

    quantity: Quantity
    shared: Positive
    own: Positive | None
    products: int
    weight: Annotated[float, Field(ge=0, le=1)]
    """Share of the products' mean error that is taken to be the GPU's."""


class ProductRecord(Strict):
    """One product, predicted before and after."""

    m: int
    n: int
    k: int
    measured_s: Positive | None
    """From the recording; null for an example."""
    before_s: Positive
    after_s: Positive


class BenefitRecord(Strict):
    """Errors on published rows, by constants fitted without the family; shares."""

    device: str
    regime: Regime
    rows: int
    error_before: Annotated[float, Field(ge=0)]
    error_after: Annotated[float, Field(ge=0)]
    bias_before: float
    bias_after: float


class DeviceCalibrationRecord(Record):
    """`rooflint calibrate device -f json`; with `--published` there is no device, only benefits."""

    schema_: Annotated[Literal["rooflint.calibrate.device/2"], Field(alias="schema")]
    hardware: str | None
    precision: str | None
    own: list[OwnRecord]
    products: list[ProductRecord]
    benefits: list[BenefitRecord]
    caveats: list[str]


EXAMPLES = ((1, 4096, 4096), (64, 1024, 1024), (256, 16384, 8192), (2048, 8192, 8192), (8192, 8192, 28672))
"""Products that are predicted before and after: narrow and small, bound by memory and by arithmetic."""

QUANTITIES: Mapping[Kind, tuple[Quantity, str]] = {
    "null": ("launch_s", "launch, kernel to kernel"),
    "peak": ("matrix_factor", "factor on matrix units and power"),
    "streaming": ("dram_efficiency", "share of the bandwidth"),
}
"""The figure that each kind of anchor gives: its key and its label."""

CAVEATS = (
    "each figure lies between the shared value and the one measured; its weight follows from the variance between "
    "GPUs and between shapes on the nine published GPUs",
    "errors are on published rows, by constants fitted without the family, from another card of the same model",
    "matrix units never exceed their rate: a factor above 1 goes to the power limit",
)


@dataclass(frozen=True)
class Found:
    """The figures of one GPU, and what they follow from."""

    hardware: Hardware
    precision: str
    anchors: Rows
    shared: Setting
    own: Own
    missing: Sequence[tuple[Kind, str]]
    """Kinds that were not measured, with the reason."""
    disturbed: Sequence[str]
    """Products with something else at work in every sample."""
    benefit: Benefit | None
    """On published rows of the same device, if there are any."""
    no_benefit: str
    """Why there is none."""


def answer(found: Found) -> Answer:
    """The answer for one GPU."""
    label = found.hardware.label
    benefits = _benefits({label: found.benefit}) if found.benefit else []
    summary = tuple(anchors.summary(found.benefit)) if found.benefit else ()
    record = DeviceCalibrationRecord.build(
        hardware=label,
        precision=found.precision,
        own=[_own(found, kind) for kind in QUANTITIES],
        products=list(_products(found)),
        benefits=benefits,
        caveats=[*_gaps(found), *summary, *CAVEATS],
    )
    return Answer(
        title=f"{found.hardware.name}, calibrated",
        subtitle=f"{label}, {found.precision}, {len(found.anchors)} products of a recording",
        sections=tuple(_sections(found, record, summary)),
        record=record,
        listing=_listing(benefits),
    )


def published_answer(found: Mapping[str, Benefit]) -> Answer:
    """The answer for all published devices, each with anchors from its own rows."""
    benefits, summary = _benefits(found), tuple(anchors.summary_of_many(found))
    record = DeviceCalibrationRecord.build(
        hardware=None, precision=None, own=[], products=[], benefits=benefits, caveats=[*summary, *CAVEATS]
    )
    return Answer(
        title=f"{len(found)} published GPUs, calibrated by their own anchors",
        subtitle="errors on all rows of each, by constants fitted without its family",
        sections=(_benefit_grid(found), Prose("Summary", summary), Prose("How to read it", CAVEATS[:1])),
        record=record,
        listing=_listing(benefits),
    )


def _sections(found: Found, record: DeviceCalibrationRecord, summary: tuple[str, ...]) -> Iterator[Section]:
    rows = tuple(_shown(kind, one) for kind, one in zip(QUANTITIES, record.own, strict=True))
    yield Grid("Own figures", Table(("figure", "shared", "own", "products", "weight"), rows))
    if gaps := tuple(_gaps(found)):
        yield Prose("Not measured, or disturbed", gaps)
    products = tuple(map(_shown_product, record.products))
    yield Grid("Products", Table(("m × n × k", "measured", "before", "after", "change"), products))
    if found.benefit:
        yield _benefit_grid({found.hardware.label: found.benefit})
        yield Prose("Summary", summary)
    else:
        yield Prose("Benefit", (found.no_benefit,))
    yield Prose("How to read it", CAVEATS)


def _own(found: Found, kind: Kind) -> OwnRecord:
    quantity, products = QUANTITIES[kind][0], len(of_kind(found.anchors, kind))
    setting = found.shared
    shared = {
        "launch_s": launch_s(setting.chip, setting.constants.products),
        "matrix_factor": 1.0,
        "dram_efficiency": setting.constants.products.dram_efficiency,
    }
    return OwnRecord(
        quantity=quantity,
        shared=shared[quantity],
        own=getattr(found.own, quantity),
        products=products,
        weight=DEVIATIONS[kind].weight(products) if products else 0.0,
    )


def _shown(kind: Kind, one: OwnRecord) -> tuple[str | int, ...]:
    def shown(value: float) -> str:
        return _time(value) if kind == "null" else f"{value:.3f}"

    own = "as shared" if one.own is None else shown(one.own)
    return QUANTITIES[kind][1], shown(one.shared), own, one.products, f"{one.weight:.0%}"


def _gaps(found: Found) -> Iterator[str]:
    """Kinds that are missing, and products that were disturbed."""
    for kind, why in found.missing:
        yield f"{kind}: {why}; {QUANTITIES[kind][1]} keeps the shared value ({RECORD})"
    yield from (f"{name}: every sample was disturbed, so it may be too slow" for name in found.disturbed)


def _products(found: Found) -> Iterator[ProductRecord]:
    """The measured products, then the examples, with operands in memory."""
    examples = [one for one in EXAMPLES if one not in shapes_of(found.anchors)]
    sizes, nothing = np.array([(*one, COLD) for one in examples], float), np.full(len(examples), np.nan)
    cold = Rows("", COLUMNS, sizes, nothing)
    for some in (found.anchors, cold):
        before, after = (one.predicted_s(some) for one in (found.shared, found.shared.with_(found.own)))
        for (m, n, k), measured, old, new in zip(shapes_of(some), some.seconds, before, after, strict=True):
            known = None if np.isnan(measured) else float(measured)
            yield ProductRecord(m=m, n=n, k=k, measured_s=known, before_s=float(old), after_s=float(new))


def _shown_product(one: ProductRecord) -> tuple[str, ...]:
    measured = "" if one.measured_s is None else _time(one.measured_s)
    change = f"{one.after_s / one.before_s - 1:+.1%}"
    return f"{one.m} × {one.n} × {one.k}", measured, _time(one.before_s), _time(one.after_s), change


def _time(seconds: float) -> str:
    return format_quantity(seconds, SECONDS)


def _benefits(found: Mapping[str, Benefit]) -> list[BenefitRecord]:
    return [
        BenefitRecord(
            device=device,
            regime=cast("Regime", regime),
            rows=old.rows,
            error_before=old.mape,
            error_after=new.mape,
            bias_before=old.bias,
            bias_after=new.bias,
        )
        for device, by_regime in found.items()
        for regime, (old, new) in by_regime.items()
    ]


def _listing(benefits: Sequence[BenefitRecord]) -> Table:
    names = tuple(BenefitRecord.model_fields)
    return Table(names, tuple(tuple(getattr(one, name) for name in names) for one in benefits))


def _benefit_grid(found: Mapping[str, Benefit]) -> Section:
    rows = tuple(
        (device.rpartition("/")[2], *(f"{100 * old.mape:.1f} → {100 * new.mape:.1f}" for old, new in one.values()))
        for device, one in found.items()
    )
    columns = ("error %: before → after", "all", "> 20 GFLOP", "< 1 GFLOP", "m ≤ 16")
    return Grid("Benefit", Table(columns, rows), "mean of |predicted / measured − 1| on published rows")
