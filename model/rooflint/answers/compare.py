"""The answer to `rooflint compare`: winners, figures, insights, explanations, kernels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field

from rooflint.answers import insights
from rooflint.answers.insights import Explanation, Metric
from rooflint.answers.record import (
    DeviceRecord,
    RefusedRecord,
    RunRecord,
    TokensRecord,
    basis_text,
    device_record,
    listing,
    run_fields,
    run_text,
    tokens_fields,
    tokens_text,
)
from rooflint.base.text import UNKNOWN, counted
from rooflint.base.units import BYTES, JOULES, SECONDS, format_quantity, percent
from rooflint.hardware.schema import Strict
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Bars, Grid, Heat, Prose, Rooflines, Section, Table
from rooflint.prediction.comparison import BALANCE, CRITERIA, WINS, Comparison, Contender, Requirement, flips, shown

DRAWN = 24
"""Devices at most whose charts a summary has."""


def breakdown(able: Sequence[Contender]) -> Iterator[Section]:
    """Of all devices that can run the network."""
    known = tuple(one for one in able if one.prediction.has("energy"))
    if known:
        note = "per inference; the parts add up to the whole"
        yield Bars("Energy by cause", tuple(insights.energy_bar(one) for one in known), note)
    yield _latencies(able)
    yield _memory(able)
    yield _bottlenecks(able)
    yield _rooflines(able)


def _latencies(able: Sequence[Contender]) -> Bars:
    return Bars("Latency by bottleneck", tuple(insights.latency_bar(one) for one in able))


def _memory(able: Sequence[Contender]) -> Grid:
    rows = []
    for one in able:
        found = one.prediction
        if found.has("footprint"):
            sizes = (found.peak_bytes, found.activation_bytes, found.weight_bytes)
            fits = {True: "fits", False: "does NOT fit", None: "capacity not known"}[found.fits]
            rows.append((one.short, *(format_quantity(size, BYTES) for size in sizes), found.footprint.peak_op, fits))
    return Grid("Memory", Table(("device", "peak", "activations", "weights", "at", ""), tuple(rows)))


def _bottlenecks(able: Sequence[Contender]) -> Grid:
    rows = []
    for one in able:
        found = one.prediction
        counts = (found.launches_bound_by(name) for name in ("compute", "memory", "launch"))
        text = [f"{count} ({percent(count / found.launches)})" for count in counts]
        rows.append((one.short, *text, str(found.launches)))
    columns = ("device", "compute-bound", "memory-bound", "launch-bound", "kernels")
    return Grid("Bottlenecks", Table(columns, tuple(rows)), "each kernel is bound by the longest of its three times")


def _rooflines(able: Sequence[Contender]) -> Rooflines:
    """Each device's roof, and the network below it."""
    roofs, points = tuple(map(insights.roof_of, able)), tuple(insights.point_of(one.short, one) for one in able)
    note = "the whole network; launch overhead and mixed bounds keep it below its roof"
    return Rooflines("Roofline", roofs, points, note)


# ---- the kernel map: the time or energy of each kernel on each device

MAPPED = ("energy", "latency")
"""Metrics that have a figure for each kernel."""


def kernel_map(able: Sequence[Contender], metric: str) -> Heat | None:
    """Energy per inference or latency per batch, kernel by kernel; None where no energy is known."""
    by_time = metric == "latency"
    shown = tuple(one for one in able if by_time or one.prediction.has("energy"))
    if not shown:
        return None
    tables = [
        (found.times.kernel_s if by_time else found.energy.energy_j / found.batch).tolist()
        for found in (one.prediction for one in shown)
    ]
    run = shown[0].prediction.run
    rows = tuple(f"{name} ({kind})" for name, kind in zip(run.op_names.tolist(), run.kinds.tolist(), strict=True))
    values = tuple(zip(*tables, strict=True))
    dimension = SECONDS if by_time else JOULES
    cells = tuple(tuple(format_quantity(value, dimension) for value in row) for row in values)
    return Heat(f"Kernels by {metric}", rows, tuple(one.short for one in shown), values, cells, "lower is better")


def wins(heat: Heat, kinds: Sequence[str]) -> Iterator[str]:
    """The kinds of kernel that each device wins; equal values are a tie."""
    best = [_alone(row) for row in heat.values]
    for place, name in enumerate(heat.columns):
        won = [kinds[row] for row, column in enumerate(best) if column == place]
        ordered = sorted(set(won), key=lambda kind: (-won.count(kind), kind))
        of = ", ".join(f"{won.count(kind)} {kind}" for kind in ordered)
        yield f"{name}: {len(won)} of {len(heat.rows)}{f' ({of})' if of else ''}"
    if ties := best.count(None):
        yield f"tie: {ties} of {len(heat.rows)}"


def _alone(row: Sequence[float | None]) -> int | None:
    """The column with the least value, where no other equals it."""
    known = sorted((value, column) for column, value in enumerate(row) if value is not None)
    if len(known) > 1 and known[0][0] == known[1][0]:
        return None
    return known[0][1] if known else None


def kernel_listing(heat: Heat, metric: str) -> Table:
    """The map for a spreadsheet: a row a kernel, a column a device, in base units."""
    unit = "s" if metric == "latency" else "j_per_inference"
    rows = ((row, *values) for row, values in zip(heat.rows, heat.values, strict=True))
    return Table(("kernel", *(f"{name} {metric}_{unit}" for name in heat.columns)), tuple(rows))


# ---- the overview: winners, figures of each device, requirements

PLAIN = ("energy", "latency", "memory", "power")
AGAINST = ("device", "energy", "×", "latency", "×", "memory", "×", "units")


def winners(found: Comparison, note: str = "") -> Grid:
    """The best by each criterion."""
    rows = tuple((f"best for {by}", *_best(found, by)) for by in WINS)
    if free := flips(found, found.without_launches):
        others = ", ".join(f"{by} {one.short}" for by, one in free.items())
        note = f"{note}; with free launches: {others}" if note else f"with free launches: {others}"
    return Grid("Winners", Table(("", "device", "figure"), rows), note)


def _best(found: Comparison, by: str) -> tuple[str, str]:
    first = found.leaders(by)
    if not first:
        return UNKNOWN, f"{by} is not known for any device that fits the network"
    figure = _figure(first[0], by)
    if len(first) == 1:
        return first[0].short, figure
    if by == "memory" and len(first) == len(found.able):
        return "all", f"{figure}: depends on the network and its storage precision only"
    return f"tie of {len(first)}", f"{figure}: {', '.join(one.short for one in first)}"


def _figure(one: Contender, by: str) -> str:
    if by == BALANCE:
        return " × ".join(shown(one.prediction, name) for name in ("energy", "latency"))
    return shown(one.prediction, by)


def overview(found: Comparison, baseline: Contender | None) -> Grid:
    """The figures of each device, beside those of a baseline where there is one."""
    first = found.leaders(BALANCE)
    strong = tuple(place for place, one in enumerate(found.able) if one in first)
    note = "energy per inference; units: time-averaged active units; ▸ least energy × latency"
    if any((one.prediction.over_limit or 0) > 1 for one in found.able):
        note += "; power: the sum of the terms, which for some is above their rated power (see Insights)"
    if any(one.estimated for one in found.able):
        note += "; ≈ peak is an estimate"
    if any(one.prediction.has("energy") and not one.prediction.complete for one in found.able):
        note += "; ≥ an energy term is missing, so the device cannot win on energy"
    if any("fidelity" in one.prediction.reasons for one in found.able):
        note += "; ≥ roofline latency, a lower bound, not ranked against calibrated times"
    if baseline:
        table = Table(AGAINST, tuple(_row_against(one, baseline) for one in found.able))
        return Grid("Comparison", table, f"{note}; ×: relative to {baseline.short}", strong)
    rows = tuple((marked(one), *(_cell(one, by) for by in PLAIN), *_use(one)) for one in found.able)
    note += "; peak %: attained over dense peak"
    return Grid("Comparison", Table(("device", *PLAIN, "units", "peak %"), rows), note, strong)


def marked(one: Contender) -> str:
    """A device, with a sign where its peak is an estimate."""
    return f"≈ {one.short}" if one.estimated else one.short


def _cell(one: Contender, by: str) -> str:
    """A figure with its caveat: `≥ 14 mJ` is incomplete, `26 MB ✗` does not fit."""
    text = shown(one.prediction, by)
    floor = by == "latency" and "fidelity" in one.prediction.reasons
    if floor or (by in ("energy", "power") and text != UNKNOWN and not one.prediction.complete):
        return f"≥ {text}"
    if by == "memory" and one.prediction.fits is False:
        return f"{text} ✗"
    return text


def _row_against(one: Contender, baseline: Contender) -> tuple[str, ...]:
    pairs = (cell for by in PLAIN[:3] for cell in (_cell(one, by), _multiple(one, baseline, by)))
    return marked(one), *pairs, _use(one)[0]


def _multiple(one: Contender, baseline: Contender, by: str) -> str:
    """A figure as a multiple of the baseline's."""
    if baseline.found is None:
        return UNKNOWN
    mine, theirs = (CRITERIA[by].of(each.prediction) for each in (one, baseline))
    return UNKNOWN if mine is None or not theirs else f"{mine / theirs:.3g}"


def _use(one: Contender) -> tuple[str, str]:
    prediction = one.prediction
    units = prediction.units if prediction.has("allocation") else UNKNOWN
    return units, f"{100 * prediction.compute_efficiency:.3g}"


def required(found: Comparison, wanted: Sequence[Requirement]) -> Grid:
    """Each device against each requirement."""
    meeting = found.meets(wanted)
    rows = [(one.short, *(_met(each, one) for each in wanted), "yes" if one in meeting else "no") for one in found.able]
    table = Table(("device", *(each.text for each in wanted), "all"), tuple(rows))
    strong = tuple(place for place, one in enumerate(found.able) if one in meeting)
    text = ", ".join(one.short for one in meeting) or "no device"
    return Grid("Requirements", table, f"{text} {'meet' if len(meeting) > 1 else 'meets'} all of them", strong)


def _met(wanted: Requirement, one: Contender) -> str:
    sign = {True: "✓", False: "✗", None: "?"}[wanted.met(one.prediction)]
    return f"{sign} {shown(one.prediction, wanted.criterion.name)}"


# ---- the answer


class ExplanationRecord(Strict):
    """Why two devices differ."""

    metric: Metric
    of: Annotated[list[str], Field(min_length=2, max_length=2)]
    sentences: list[str]


class KernelValuesRecord(Strict):
    """What a kernel takes on each device: J of an inference, or s of a batch."""

    kernel: str
    values: dict[str, float | None]


class CompareRecord(RunRecord, Record):
    """`rooflint compare NETWORK -f json`."""

    schema_: Annotated[Literal["rooflint.compare/2"], Field(alias="schema")]
    network: str
    devices: list[DeviceRecord | RefusedRecord]
    winners: dict[Literal["energy", "latency", "throughput", "memory", "balance"], list[str]]
    winners_without_launches: dict[Literal["energy", "latency"], str]
    winners_at_roofline: dict[Literal["energy", "latency"], str]
    """Where silicon decides: the winner at the roofline."""
    insights: list[str]
    caveats: list[str]
    baseline: str | None = None
    requirements: list[str] | None = None
    meeting_all: list[str] | None = None
    explanation: ExplanationRecord | None = None
    kernels: list[KernelValuesRecord] | None = None
    tokens: TokensRecord | None = None


@dataclass(frozen=True)
class Question:
    """What a user wants to know of a comparison."""

    level: str = "summary"
    baseline: Contender | None = None
    wanted: tuple[Requirement, ...] = ()
    explained: tuple[Contender, Contender] | None = None
    metric: str = "energy"
    options: str = ""
    """Those that a command needs to ask of the same run: ` -p int8 --fuse`."""


def answer(found: Comparison, question: Question) -> Answer:
    """The answer to all options of the command."""
    told = insights.explain(*question.explained, question.metric) if question.explained else None
    heat = kernel_map(found.able, question.metric) if question.level == "subgraph" else None
    said = list(insights.insights(found)) if len(found.contenders) > 1 or found.able else []
    caveats = insights.caveats(found.contenders)
    if question.explained and told:
        sections = _explained(*question.explained, told)
    else:
        sections = _compared(found, question, said, caveats, heat)

    @cache
    def record() -> CompareRecord:
        return _record(found, question, said, caveats, told, heat)

    return Answer(
        title=f"{found.network.name} on {_devices(found)}",
        subtitle=f"{tokens_text(found.network)}{run_text(found.network.batch, found.setting)}; "
        f"{basis_text(found.setting)}",
        sections=tuple(sections),
        record=record,
        listing=lambda: _listing(question, record(), told, heat),
    )


def _record(
    found: Comparison,
    question: Question,
    said: Sequence[str],
    caveats: Sequence[str],
    told: Explanation | None,
    heat: Heat | None,
) -> CompareRecord:
    meeting = found.meets(question.wanted)
    asked: dict[str, Any] = {}
    if question.baseline:
        asked["baseline"] = question.baseline.label
    if question.wanted:
        asked["requirements"] = [each.text for each in question.wanted]
        asked["meeting_all"] = [one.label for one in meeting]
    if question.explained and told:
        labels = [one.label for one in question.explained]
        asked["explanation"] = ExplanationRecord(metric=told.metric, of=labels, sentences=list(told.sentences))
    if heat:
        asked["kernels"] = [
            KernelValuesRecord(kernel=row, values=dict(zip(heat.columns, values, strict=True)))
            for row, values in zip(heat.rows, heat.values, strict=True)
        ]
    return CompareRecord.build(
        network=found.network.name,
        **tokens_fields(found.network),
        **run_fields(found.network.batch, found.setting),
        devices=[device_record(one.label, one.found, one.refused) for one in found.contenders],
        winners={by: [one.label for one in found.among(meeting).leaders(by)] for by in WINS},
        winners_without_launches={by: one.label for by, one in flips(found, found.without_launches).items()},
        winners_at_roofline={by: one.label for by, one in flips(found, found.at_roofline).items()},
        insights=list(said),
        caveats=list(caveats),
        **asked,
    )


def _listing(question: Question, record: CompareRecord, told: Explanation | None, heat: Heat | None) -> Table:
    if told and told.bars:
        parts = tuple((bar.label, part.name, part.value) for bar in told.bars for part in bar.parts)
        return Table(("device", "part", "j_per_inference" if told.metric == "energy" else "s"), parts)
    if heat:
        return kernel_listing(heat, question.metric)
    return listing((record, one) for one in record.devices)


def _devices(found: Comparison) -> str:
    """`1 device`, `8 of 141 devices`; those without a prediction are not counted."""
    count, of = len(found.able), max(found.chosen_of, len(found.contenders))
    return f"{count} of {of} devices" if of > count else counted(count, "device")


def _compared(
    found: Comparison, question: Question, said: Sequence[str], caveats: Sequence[str], heat: Heat | None
) -> Iterator[Section]:
    if (meeting := found.meets(question.wanted)) and (question.wanted or len(found.able) > 1):
        yield winners(found.among(meeting), "among devices that meet all requirements" if question.wanted else "")
    if found.able:
        yield overview(found, question.baseline)
    if question.level == "summary" and 0 < len(found.able) <= DRAWN:
        yield replace(_latencies(found.able), drawn_only=True)
        yield replace(_rooflines(found.able), drawn_only=True)
    if caveats:
        yield Prose("Limitations", tuple(caveats))
    if question.wanted:
        yield required(found, question.wanted)
    if said:
        yield Prose("Insights", tuple(said))
    if question.level == "summary" and found.able:
        yield _next(found, question)
    if question.level == "detailed" and found.able:
        yield from breakdown(found.able)
    if heat:
        yield heat
        yield Prose("Kernel wins by device", tuple(wins(heat, found.able[0].prediction.run.kinds.tolist())))


def _next(found: Comparison, question: Question) -> Prose:
    """Commands that look closer at the same run: at the fastest and the most frugal, or at the first two."""
    network = found.network.name.removeprefix("torchvision/")
    first = [one for by in ("latency", "energy") for one in found.leaders(by)[:1]]
    pair = list(dict.fromkeys(one.typed for one in (*first, *found.able)))[:2]
    steps = [f"rooflint analyze {network} {pair[0]}{question.options}"]
    if len(pair) == 2:
        named = f"-d {','.join(one.typed for one in found.contenders)}" if len(found.contenders) <= 6 else ""
        metric = f" --metric {question.metric}" if question.metric != Question.metric else ""
        steps.insert(0, f"rooflint compare {network} --explain {' '.join(pair)}{metric}{question.options}")
        steps.append(f"rooflint compare {network} {named} --level subgraph{question.options}".replace("  ", " "))
    return Prose("Next steps", tuple(steps))


def _explained(one: Contender, two: Contender, told: Explanation) -> Iterator[Section]:
    yield Prose(f"Why {two.short} differs from {one.short} in {told.metric}", told.sentences)
    if told.bars:
        yield Bars("Side by side", told.bars)
    if doubts := insights.caveats((one, two)):
        yield Prose("Limitations", doubts)
