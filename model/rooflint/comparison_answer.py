"""The answer to `rooflint compare`: tables, winners, insights and explanations, out of the predictions' own terms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rooflint.answer import Answer, Bars, Grid, Heat, Point, Prose, Roof, Rooflines, Section
from rooflint.comparison import WINS, Comparison, Contender
from rooflint.criteria import CRITERIA, Requirement
from rooflint.explanation import energy_bar, explain, latency_bar
from rooflint.metrics import red_flags
from rooflint.prediction import Prediction
from rooflint.prediction_record import LISTING, listed, record
from rooflint.table import Table
from rooflint.units import BYTES, JOULES, SECONDS, format_quantity

SCHEMA = "rooflint.compare/1"

UNKNOWN = "—"


@dataclass(frozen=True)
class Question:
    """What a user wants to know of a comparison."""

    level: str = "summary"
    baseline: Contender | None = None
    wanted: tuple[Requirement, ...] = ()
    explained: tuple[Contender, Contender] | None = None
    metric: str = "energy"


def answer(found: Comparison, question: Question) -> Answer:
    """Everything that was asked, for people and for programs."""
    work, setting = found.network, found.setting
    how = "fused" if setting.fuse else "not fused"
    about = f"batch {work.batch}, {setting.compute}{f' on {setting.storage}' if setting.storage else ''}, {how}"
    return Answer(
        title=f"{work.name} on {len(found.contenders)} devices",
        subtitle=f"{about}, launches by {setting.launch}; by the roofline and its energy terms",
        sections=tuple(_sections(found, question)),
        record=_record(found, question),
        listing=Table(LISTING, tuple(listed(one.label, one.found, one.refused) for one in found.contenders)),
    )


def _sections(found: Comparison, question: Question) -> Iterator[Section]:
    if question.explained:
        yield from _explained(*question.explained, question.metric)
        return
    if found.able:
        yield _winners(found)
        yield _overview(found, question.baseline)
    yield from _refused(found)
    yield from _required(found, question.wanted)
    if len(found.able) > 1:
        yield Prose("Insights", tuple(insights(found)))
    if question.level == "summary" and found.able:
        yield _next(found)
    if question.level == "detailed":
        yield from _detailed(found)
    if question.level == "subgraph" and found.able:
        yield from _subgraph(found, question.metric)


# ---- summary


def _winners(found: Comparison) -> Grid:
    rows = []
    for by in WINS:
        best = found.winner(by)
        if best is None:
            rows.append((f"best for {by}", UNKNOWN, f"{by} is known of no device"))
        elif found.tied(by):
            rows.append((f"best for {by}", "all", f"{_figure(best, by)}: the network and its storage decide"))
        else:
            rows.append((f"best for {by}", best.short, _figure(best, by)))
    return Grid("Winners", Table(("", "device", "figure"), tuple(rows)))


def _figure(one: Contender, by: str) -> str:
    """What a device wins with."""
    if by == "balance":
        energy, latency = (CRITERIA[name].of(one.prediction) or 0.0 for name in ("energy", "latency"))
        return f"{format_quantity(energy, JOULES)} × {format_quantity(latency, SECONDS)}"
    return _shown(one, by)


def _shown(one: Contender, by: str) -> str:
    value = CRITERIA[by].of(one.prediction)
    return UNKNOWN if value is None else CRITERIA[by].shown(value)


def _overview(found: Comparison, baseline: Contender | None) -> Grid:
    winner = found.winner("balance")
    strong = tuple(place for place, one in enumerate(found.able) if one is winner)
    note = "energy per inference; units that hold work over the latency"
    if baseline:
        table = Table(AGAINST, tuple(_row_against(one, baseline) for one in found.able))
        return Grid("Comparison", table, f"{note}; ×: as multiples of {baseline.short}", strong)
    rows = tuple((one.short, *(_shown(one, by) for by in PLAIN), *_use(one)) for one in found.able)
    table = Table(("device", *PLAIN, "units", "peak %"), rows)
    return Grid("Comparison", table, f"{note}; peak %: attained over dense peak", strong)


PLAIN = ("energy", "latency", "memory", "power")
AGAINST = ("device", "energy", "×", "latency", "×", "memory", "×", "units")


def _row_against(one: Contender, baseline: Contender) -> tuple[str, ...]:
    pairs = (cell for by in PLAIN[:3] for cell in (_shown(one, by), _against(one, baseline, by)))
    return one.short, *pairs, _use(one)[0]


def _use(one: Contender) -> tuple[str, str]:
    prediction = one.prediction
    units = prediction.units if prediction.has("allocation") else UNKNOWN
    return units, f"{100 * prediction.compute_efficiency:.3g}"


def _against(one: Contender, baseline: Contender, by: str) -> str:
    """A figure as a multiple of the baseline's."""
    if baseline.found is None:
        return UNKNOWN
    mine, theirs = (CRITERIA[by].of(each.prediction) for each in (one, baseline))
    return UNKNOWN if mine is None or not theirs else f"{mine / theirs:.3g}"


def _refused(found: Comparison) -> Iterator[Prose]:
    refused = tuple(one.refused for one in found.contenders if not one.found)
    if refused:
        yield Prose("Not compared", refused)
    reasons = dict.fromkeys(
        reason for one in found.able for reason in (*one.prediction.reasons.values(), *_left_out(one))
    )
    if reasons:
        yield Prose("Not known", tuple(reasons))


def _left_out(one: Contender) -> tuple[str, ...]:
    if not one.prediction.has("energy"):
        return ()
    return tuple(f"{one.short}: {said}" for said in one.prediction.energy.left_out)


def _required(found: Comparison, wanted: Sequence[Requirement]) -> Iterator[Section]:
    if not wanted:
        return
    rows = [
        (one.short, *(_met(each, one) for each in wanted), "yes" if one in found.meets(wanted) else "no")
        for one in found.able
    ]
    table = Table(("device", *(each.text for each in wanted), "all"), tuple(rows))
    meeting = found.meets(wanted)
    strong = tuple(place for place, one in enumerate(found.able) if one in meeting)
    said = ", ".join(one.short for one in meeting) or "no device"
    yield Grid("Requirements", table, f"{said} {'meet' if len(meeting) > 1 else 'meets'} all of them", strong)


def _met(wanted: Requirement, one: Contender) -> str:
    sign = {True: "✓", False: "✗", None: "?"}[wanted.met(one.prediction)]
    return f"{sign} {_shown(one, wanted.criterion.name)}"


def insights(found: Comparison) -> Iterator[str]:
    """What the figures say, each with its number; nothing that is not in them."""
    yield from _uneven(found)
    yield from _leads(found)
    for one in found.able:
        prediction = one.prediction
        for flag in red_flags(prediction):
            yield f"{one.short}: {flag.said}"
        if prediction.over_tdp and prediction.over_tdp > 1:
            yield (
                f"{one.short}: {prediction.power_w:.4g} W by these terms is {prediction.over_tdp:.3g} times its TDP; "
                "it could not hold this rate"
            )
        if prediction.has("energy"):
            yield _largest_term(one)


def _leads(found: Comparison) -> Iterator[str]:
    """By how much the winners lead, and whether one device wins both."""
    best = {by: found.winner(by) for by in ("energy", "latency")}
    frugal, fast = best["energy"], best["latency"]
    if frugal and fast and frugal is fast:
        yield f"{fast.short} wins both energy and latency: no trade-off between these devices"
    elif frugal and fast:
        energy, latency = (
            CRITERIA[by].value(loser.prediction) / CRITERIA[by].value(winner.prediction)
            for by, winner, loser in (("energy", frugal, fast), ("latency", fast, frugal))
        )
        yield (
            f"trade-off: {frugal.short} takes 1/{energy:.3g} of the energy of {fast.short}, "
            f"which is {latency:.3g} × as fast"
        )
    for by, winner in best.items():
        others = [CRITERIA[by].of(one.prediction) for one in found.able if one is not winner]
        known = [value for value in others if value is not None]
        if winner and known:
            lead = min(known) / CRITERIA[by].value(winner.prediction)
            yield f"{winner.short} leads the next by {lead:.3g} × in {by}"


def _uneven(found: Comparison) -> Iterator[str]:
    """Launches that are known of some devices and not of others make a race unfair."""
    without = [one.short for one in found.able if one.prediction.launch is None]
    if without and len(without) < len(found.able):
        yield (
            f"{', '.join(without)}: no launch overhead is known, so none is counted, while others pay for theirs; "
            "--launch free leaves it out of all"
        )


def _largest_term(one: Contender) -> str:
    terms = one.prediction.energy.terms
    largest = max(terms, key=lambda term: term.total_j)
    share = largest.total_j / one.prediction.energy_j
    return f"{one.short}: {largest.name} takes {100 * share:.3g} % of its energy ({largest.each.grade})"


def _next(found: Comparison) -> Prose:
    network, pair = found.network.name.rpartition("/")[2], found.able[:2]
    names = " ".join(one.short.replace(" at ", "@") for one in pair)
    steps = [f"rooflint compare {network} --level subgraph", f"rooflint analyze {network} {pair[0].short}"]
    if len(pair) == 2:
        steps.insert(0, f"rooflint compare {network} --explain {names} --metric energy")
    return Prose("Look closer", tuple(steps))


# ---- detailed


def _detailed(found: Comparison) -> Iterator[Section]:
    known = tuple(one for one in found.able if one.prediction.has("energy"))
    if known:
        note = "per inference; the parts add up to the whole"
        yield Bars("Energy by cause", tuple(energy_bar(one) for one in known), note)
    yield Bars("What the latency waits for", tuple(latency_bar(one) for one in found.able))
    yield _memory(found)
    yield _bottlenecks(found)
    yield rooflines(found.able)


def _memory(found: Comparison) -> Grid:
    rows = []
    for one in found.able:
        prediction = one.prediction
        if prediction.has("footprint"):
            sizes = (prediction.peak_bytes, prediction.activation_bytes, prediction.weight_bytes)
            rows.append((one.short, *(format_quantity(size, BYTES) for size in sizes), prediction.footprint.peak_op))
    return Grid("Memory", Table(("device", "peak", "activations", "weights", "at"), tuple(rows)))


def _bottlenecks(found: Comparison) -> Grid:
    rows = []
    for one in found.able:
        prediction = one.prediction
        bounds = [prediction.bound_of(op) for op in range(len(prediction.run))]
        counts = (bounds.count(name) for name in ("compute", "memory", "launch"))
        said = [f"{count} ({100 * count / len(bounds):.3g} %)" for count in counts]
        rows.append((one.short, *said, str(len(bounds))))
    columns = ("device", "compute-bound", "memory-bound", "launch-bound", "kernels")
    return Grid("Bottlenecks", Table(columns, tuple(rows)), "each kernel is bound by the longest of its three times")


def rooflines(contenders: Sequence[Contender]) -> Rooflines:
    """Each device's roof, and the network below it."""
    roofs = tuple(
        Roof(one.short, one.prediction.peak_ops_per_s, one.prediction.bandwidth_bytes_per_s) for one in contenders
    )
    points = tuple(
        Point(one.short, one.short, one.prediction.intensity_ops_per_byte, one.prediction.attained_ops_per_s)
        for one in contenders
    )
    return Rooflines("Roofline", roofs, points, "the network as a whole; below its roof by launches and mixed bounds")


# ---- subgraph


def _subgraph(found: Comparison, metric: str) -> Iterator[Section]:
    by_time = metric == "latency"
    shown = tuple(one for one in found.able if by_time or one.prediction.has("energy"))
    if not shown:
        return
    tables = [_per_kernel(one.prediction, by_time) for one in shown]
    names = [str(name) for name in shown[0].prediction.run.op_names]
    kinds = [str(kind) for kind in shown[0].prediction.run.kinds]
    values = tuple(tuple(table[row] for table in tables) for row in range(len(names)))
    dimension = SECONDS if by_time else JOULES
    cells = tuple(tuple(format_quantity(value, dimension) for value in row) for row in values)
    rows = tuple(f"{name} ({kind})" for name, kind in zip(names, kinds, strict=True))
    what = "latency" if by_time else "energy"
    heat = Heat(f"Kernels by {what}", rows, tuple(one.short for one in shown), values, cells, "least is best")
    yield heat
    yield Prose("Who wins which kernels", tuple(_wins(heat, kinds)))


def _per_kernel(prediction: Prediction, by_time: bool) -> list[float]:
    """Of one inference. [s or J]"""
    column = prediction.times.kernel_s if by_time else prediction.energy.energy_j
    return [float(value) / (1 if by_time else prediction.batch) for value in column]


def _wins(heat: Heat, kinds: Sequence[str]) -> Iterator[str]:
    best = [heat.best(row) for row in range(len(heat.rows))]
    for place, name in enumerate(heat.columns):
        won = [kinds[row] for row, column in enumerate(best) if column == place]
        kinds_won = sorted(set(won), key=lambda kind: (-won.count(kind), kind))
        of = ", ".join(f"{won.count(kind)} {kind}" for kind in kinds_won)
        yield f"{name}: {len(won)} of {len(heat.rows)}{f' ({of})' if of else ''}"


# ---- explanation


def _explained(one: Contender, two: Contender, metric: str) -> Iterator[Section]:
    told = explain(one, two, metric)
    yield Prose(f"Why {two.short} differs from {one.short} in {metric}", told.sentences)
    if told.bars:
        yield Bars("Side by side", told.bars)


# ---- for programs


def _record(found: Comparison, question: Question) -> dict[str, Any]:
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "network": found.network.name,
        "batch": found.network.batch,
        "compute": found.setting.compute,
        "storage": found.setting.storage or found.setting.compute,
        "fused": found.setting.fuse,
        "launch": found.setting.launch,
        "devices": [record(one.label, one.found, one.refused) for one in found.contenders],
        "winners": {by: best.label if (best := found.winner(by)) else None for by in WINS},
        "insights": list(insights(found)) if len(found.able) > 1 else [],
    }
    if question.baseline:
        body["baseline"] = question.baseline.label
    if question.wanted:
        body["requirements"] = [each.text for each in question.wanted]
        body["meeting_all"] = [one.label for one in found.meets(question.wanted)]
    if question.explained:
        one, two = question.explained
        told = explain(one, two, question.metric)
        body["explanation"] = {"metric": told.metric, "of": [one.label, two.label], "sentences": list(told.sentences)}
    return body
