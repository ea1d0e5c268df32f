"""The answer to `rooflint explore`: the Pareto set of variants of a device, and which fact buys most."""

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rooflint.answers.explore_sentences import change_text, cost_basis, insights, limitations
from rooflint.answers.record import Bound, FidelityName, run_text
from rooflint.base import units
from rooflint.base.text import UNKNOWN, counted
from rooflint.base.units import percent
from rooflint.hardware.schema import Strict
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Curve, Curves, Grid, Prose, Section, Table
from rooflint.prediction.explore import (
    NUDGE,
    OBJECTIVES,
    Exploration,
    Figures,
    Objective,
    Sensitivity,
)
from rooflint.prediction.predict import ROOFLINE
from rooflint.prediction.space import Parameter

SHOWN = 16
"""Variants of the Pareto set in a table, spread over its length; JSON and CSV have all of them."""

MOST_CELLS = 6
"""Parameters, figures and their factors over the base that fit a terminal; with more, factors are left out."""

CLOUD = 400
"""Other variants in the drawing, drawn by lot."""

COLUMNS = {
    "latency": "latency_s",
    "throughput": "throughput_per_s",
    "energy": "energy_per_inference_j",
    "power": "power_w",
    "memory": "peak_memory_bytes",
    "utilization": "utilization",
    "balance": "energy_latency_product_js",
    "cost": "usd_per_million_inferences",
}
"""Key of each figure in JSON and CSV."""


class ParameterRecord(Strict):
    """A fact that varies."""

    name: str
    facts: list[str]
    """Paths of the facts that it moves; none for a price."""
    base: float
    low: float
    high: float
    text: str
    """Its range for a reader."""


class ObjectiveRecord(Strict):
    """What variants are judged by: a figure or a parameter."""

    name: str
    better: Literal["less", "more"]


class RunOfDesignRecord(Strict):
    """A network that every variant runs."""

    network: str
    batch: int
    compute: str


class VariantRecord(Strict):
    """One variant; figures of several runs are geometric means, the memory is the most of any run."""

    variant: int | None
    """Its number, which `--save` takes; null for the base."""
    parameters: dict[str, float]
    latency_s: float
    throughput_per_s: float
    energy_per_inference_j: float | None
    power_w: float | None
    peak_memory_bytes: float | None
    utilization: float | None
    energy_latency_product_js: float | None
    usd_per_million_inferences: float | None
    bound: Bound
    alike: int
    """Variants that have the same objectives, itself counted."""


class AloneRecord(Strict):
    """The best of an objective while all other facts stay."""

    value: float
    figure: float
    ratio_to_base: float


class TurnRecord(Strict):
    """From this value on the latency waits for something."""

    value: float
    bound: Bound


class SensitivityRecord(Strict):
    """What one fact does at the base."""

    parameter: str
    elasticities: dict[str, float | None]
    """Change of a figure in per cent for one per cent more."""
    alone: dict[str, AloneRecord]
    bounds: list[TurnRecord]


class ExploreRecord(Record):
    """`rooflint explore BASE -f json`."""

    schema_: Annotated[Literal["rooflint.explore/1"], Field(alias="schema")]
    base: str
    hypothetical: Literal[True]
    runs: list[RunOfDesignRecord]
    storage: str | None
    fused: bool
    launch: str
    fidelity: FidelityName
    cached: bool
    parameters: list[ParameterRecord]
    space: str
    variants: int
    objectives: list[ObjectiveRecord]
    requirements: list[str]
    left_out: dict[str, int]
    """Why variants cannot be in the Pareto set, and how many."""
    cost_basis: str | None
    reference: VariantRecord
    """The device as it is."""
    pareto: list[VariantRecord]
    sensitivities: list[SensitivityRecord]
    insights: list[str]
    caveats: list[str]


def explore_answer(found: Exploration, plotted: Sequence[Objective] = ()) -> Answer:
    """What was found, for people and for programs; `plotted` are the two quantities of the chart."""
    design, record = found.design, _record(found, plotted)
    names = ", ".join(dict.fromkeys(run.work.name.removeprefix("torchvision/") for run in design.runs))
    return Answer(
        title=f"Hypothetical variants of {design.base.label} on {names}",
        subtitle=_subtitle(found),
        sections=tuple(_sections(found, record, plotted or design.objectives[:2])),
        record=record,
        listing=_listing(found),
    )


def _subtitle(found: Exploration) -> str:
    runs = found.design.runs
    batches = ", ".join(map(str, dict.fromkeys(run.work.batch for run in runs)))
    computes = ", ".join(dict.fromkeys(run.setting.compute for run in runs))
    first = run_text(None, runs[0].setting).replace(runs[0].setting.compute, computes, 1)
    basis = "; roofline latency" if runs[0].setting.fidelity == ROOFLINE else ""
    means = f"; geometric means over {len(runs)} runs" if len(runs) > 1 else ""
    space = f"{counted(len(found.design.space), 'variant')} ({found.design.space.how})"
    return f"{space}, batch {batches}, {first}{basis}{means}"


# ---- the record


def _record(found: Exploration, plotted: Sequence[Objective]) -> ExploreRecord:
    design, setting = found.design, found.design.runs[0].setting
    base = np.array([one.base for one in design.parameters])
    rows = zip(found.front.tolist(), found.alike, strict=True)
    return ExploreRecord.build(
        base=design.base.label,
        hypothetical=True,
        runs=[
            RunOfDesignRecord(network=run.work.name, batch=run.work.batch, compute=run.setting.compute)
            for run in design.runs
        ],
        storage=setting.storage,
        fused=setting.fuse,
        launch=setting.launch,
        fidelity=setting.fidelity,
        cached=setting.cached,
        parameters=[_parameter(one.parameter, one.values) for one in design.space.axes],
        space=design.space.how,
        variants=len(design.space),
        objectives=[
            ObjectiveRecord(name=one.name, better="less" if one.less_is_better else "more") for one in design.objectives
        ],
        requirements=[one.text for one in design.wanted],
        left_out=dict(found.excluded),
        cost_basis=cost_basis(design),
        reference=_variant(found, found.base, 0, base, None, 1),
        pareto=[_variant(found, found.figures, at, design.space.values[:, at], at + 1, alike) for at, alike in rows],
        sensitivities=[_sensitivity(one) for one in found.sensitivities],
        insights=list(insights(found)),
        caveats=list(limitations(found, plotted)),
    )


def _parameter(one: Parameter, values: NDArray[np.float64]) -> ParameterRecord:
    low, high = float(values[0]), float(values[-1])
    return ParameterRecord(
        name=one.name,
        facts=list(one.shares),
        base=one.base,
        low=low,
        high=high,
        text=f"{one.show(low)} … {one.show(high)}",
    )


def _variant(
    found: Exploration, figures: Figures, at: int, values: NDArray[np.float64], number: int | None, alike: int
) -> VariantRecord:
    known = {key: float(figures.of(name)[at]) for name, key in COLUMNS.items()}
    return VariantRecord.model_validate(
        {
            "variant": number,
            "parameters": {one.name: float(value) for one, value in zip(found.design.parameters, values, strict=True)},
            **{key: None if math.isnan(value) else value for key, value in known.items()},
            "bound": figures.bounds[at],
            "alike": alike,
        }
    )


def _sensitivity(one: Sensitivity) -> SensitivityRecord:
    return SensitivityRecord(
        parameter=one.axis.parameter.name,
        elasticities={name: None if math.isnan(slope) else slope for name, slope in one.elasticities.items()},
        alone={
            name: AloneRecord(value=best.value, figure=best.figure, ratio_to_base=best.ratio)
            for name, best in one.alone.items()
        },
        bounds=[TurnRecord.model_validate({"value": value, "bound": bound}) for value, bound in one.turns],
    )


def _listing(found: Exploration) -> Table:
    """Every variant, one row each, in the order of its number; the base first, without one."""
    design, figures = found.design, found.figures
    front, bounds = set(found.front.tolist()), figures.bounds
    base = [one.base for one in design.parameters]
    rows = [(None, *base, *(_cell(found.base.of(name)[0]) for name in COLUMNS), found.base.bounds[0], None, None)]
    columns = [design.space.values.T.tolist(), *(figures.of(name).tolist() for name in COLUMNS)]
    for at, (values, *known) in enumerate(zip(*columns, strict=True)):
        state = (bool(found.eligible[at]), at in front)
        rows.append((at + 1, *values, *map(_cell, known), bounds[at], *state))
    names = [one.name for one in design.parameters]
    return Table(("variant", *names, *COLUMNS.values(), "bound", "eligible", "pareto"), tuple(rows))


def _cell(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


# ---- sections


def _sections(found: Exploration, record: ExploreRecord, plotted: Sequence[Objective]) -> Iterator[Section]:
    yield _pareto(found)
    if record.insights:
        yield Prose("Insights", tuple(record.insights))
    yield _elasticities(found)
    yield _alone(found)
    yield Prose("Limitations", tuple(record.caveats))
    if len(plotted) == 2 and len(found.front):
        yield _chart(found, *plotted)
    yield _one_at_a_time(found)


def _pareto(found: Exploration) -> Grid:
    """The base, then the Pareto set by the first objective."""
    design = found.design
    several = any(alike > 1 for alike in found.alike)
    base = np.array([one.base for one in design.parameters])
    rows = [("base", *_row(found, found.base, 0, base), *["1"] * several)]
    chosen = np.unique(np.linspace(0, len(found.front) - 1, min(SHOWN, len(found.front))).round().astype(int))
    for at in chosen.tolist():
        place = int(found.front[at])
        cells = _row(found, found.figures, place, design.space.values[:, place])
        rows.append((str(place + 1), *cells, *[str(found.alike[at])] * several))
    factors = _has_factors(found)
    quantities = [head for one in design.figures for head in (one.name, *["×"] * factors)]
    columns = ("variant", *(one.short for one in design.parameters), *quantities, "bound by", *["alike"] * several)
    return Grid(
        "Pareto set", Table(columns, tuple(rows)), "; ".join(_of_front(found, len(chosen), several)), strong=(0,)
    )


def _has_factors(found: Exploration) -> bool:
    return len(found.design.parameters) + 2 * len(found.design.figures) <= MOST_CELLS


def _row(found: Exploration, figures: Figures, at: int, values: NDArray[np.float64]) -> Iterator[str]:
    yield from (one.show(value) for one, value in zip(found.design.parameters, values.tolist(), strict=True))
    for one in found.design.figures:
        figure, base = figures.of(one.name)[at], found.base.of(one.name)[0]
        yield one.shown(figure)
        if _has_factors(found):
            yield f"{figure / base:.3g}"
    yield figures.bounds[at]


def _of_front(found: Exploration, shown: int, several: bool) -> Iterator[str]:
    if not len(found.front):
        yield "no variant is eligible; Limitations has the reasons"
        return
    for does, less in (("minimised", True), ("maximised", False)):
        if names := [one.name for one in found.design.objectives if one.less_is_better is less]:
            yield f"{does}: {', '.join(names)}"
    if _has_factors(found):
        yield "×: relative to the base"
    if shown < len(found.front):
        yield f"{shown} of {len(found.front)} are shown, spread over the set; -f csv and -f json have all"
    if several:
        yield "alike: variants with the same objectives, of which the one closest to the base is shown"
    if found.design.wanted:
        yield f"required: {', '.join(one.text for one in found.design.wanted)}"


def _elasticities(found: Exploration) -> Grid:
    names = [one.name for one in found.design.figures]
    rows = [
        (
            one.axis.parameter.short,
            one.axis.parameter.show(one.axis.parameter.base),
            *(_slope(one.elasticities[name]) for name in names),
        )
        for one in found.sensitivities
    ]
    note = (
        f"change of a figure where a fact of the base grows by 1 %; from ±{percent(NUDGE)}, of counts from ±1 at least"
    )
    return Grid("Which fact buys most", Table(("1 % more of", "base", *names), tuple(rows)), note)


def _slope(slope: float) -> str:
    return UNKNOWN if math.isnan(slope) else change_text(slope)


def _alone(found: Exploration) -> Grid:
    figures = found.design.figures
    rows = []
    for one in found.sensitivities:
        cells = [cell for each in figures for cell in _best(one, each.name)]
        low, high = (one.axis.parameter.show(float(value)) for value in (one.axis.values[0], one.axis.values[-1]))
        rows.append((one.axis.parameter.short, f"{low} … {high}", *cells))
    heads = [head for one in figures for head in (one.name, "at")]
    note = "best figure relative to the base while one fact moves over its range and the others stay"
    return Grid("One fact alone", Table(("fact", "range", *heads), tuple(rows)), note)


def _best(one: Sensitivity, name: str) -> tuple[str, str]:
    best = one.alone.get(name)
    if best is None:
        return UNKNOWN, UNKNOWN
    ratio = f"{best.ratio:.3g}"
    return f"{ratio} ×", UNKNOWN if ratio == "1" else one.axis.parameter.show(best.value)


# ---- charts


def _chart(found: Exploration, x: Objective, y: Objective) -> Curves:
    """The Pareto set among the other variants, in two quantities."""
    design, front = found.design, found.front
    others = np.setdiff1d(np.flatnonzero(found.eligible), front)
    note = ""
    if len(others) > CLOUD:
        note = f"{CLOUD} of {len(others)} other variants, drawn by lot"
        others = np.sort(np.random.default_rng(0).choice(others, CLOUD, replace=False))
    joined = {one.name for one in design.objectives} == {x.name, y.name}
    (x_label, x_unit, x_scale), (y_label, y_unit, y_scale) = _scale(x), _scale(y)

    def curve(name: str, figures: Figures, places: NDArray[np.intp], line: bool = False) -> Curve:
        xs, ys = (figures.of(one.name)[places] * by for one, by in ((x, x_scale), (y, y_scale)))
        return Curve(name, tuple(xs.tolist()), tuple(ys.tolist()), line)

    curves = (
        curve("Pareto set", found.figures, front[np.argsort(found.figures.of(x.name)[front])], joined),
        curve("base", found.base, np.array([0])),
        *([curve("other variants", found.figures, others)] if len(others) else []),
    )
    heading, linear = f"Pareto set: {y.name} over {x.name}", _narrow(curves)
    return Curves(heading, x_label, y_label, curves, note, x_unit, y_unit, linear, listed=False)


def _scale(one: Objective) -> tuple[str, str, float]:
    """Label, unit and factor of an axis."""
    if one.parameter and one.parameter.kind.shown:
        return f"{one.name} [{one.parameter.kind.unit}]", "", 1 / one.parameter.kind.shown
    if one.dimension == units.DOLLARS:
        return f"{one.name} of 10⁶ inferences [USD]", "", 1.0
    if one.name in OBJECTIVES and one.dimension == units.DIMENSIONLESS:
        return f"{one.name} [%]", "", 100.0
    unit = {units.SECONDS: "s", units.JOULES: "J", units.WATTS: "W", units.BYTES: "B", units.BYTES_PER_S: "B/s"}
    per_s = "Hz" if one.parameter else "/s"
    return (
        one.name,
        "J·s" if one.name == "balance" else unit.get(one.dimension, per_s if one.dimension == units.HERTZ else ""),
        1.0,
    )


def _one_at_a_time(found: Exploration) -> Curves:
    """The first figure as each fact moves alone, both relative to the base."""
    name = found.design.figures[0].name
    curves = tuple(
        Curve(
            one.axis.parameter.name,
            tuple((one.axis.values / one.axis.parameter.base).tolist()),
            tuple(one.along[name].tolist()),
        )
        for one in found.sensitivities
    )
    heading, linear = f"{name.capitalize()} as one fact moves", _narrow(curves)
    labels = ("fact over that of the base", f"{name} over that of the base")
    return Curves(heading, *labels, curves, "the other facts stay", linear=linear, listed=False)


def _narrow(curves: Sequence[Curve]) -> bool:
    """Whether neither axis spans a decade, so that both are linear."""
    xs, ys = [value for curve in curves for value in curve.x], [value for curve in curves for value in curve.y]
    return all(0 < max(values) < 10 * min(values) for values in (xs, ys))
