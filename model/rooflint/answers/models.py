"""The answer to `rooflint models`: many networks on one device."""

from collections.abc import Iterator, Sequence

from rooflint.answers.insights import caveats
from rooflint.answers.record import LISTING, listed, record, run_record, said_of_run
from rooflint.base.text import UNKNOWN
from rooflint.base.units import percent
from rooflint.output.answer import Answer
from rooflint.output.sections import Grid, Point, Prose, Roof, Rooflines, Section
from rooflint.output.table import Table
from rooflint.prediction.comparison import Contender, shown
from rooflint.prediction.metrics import red_flags
from rooflint.prediction.predict import Setting

SCHEMA = "rooflint.models/1"

COLUMNS = ("network", "Gop", "latency", "energy", "memory", "units", "peak %", "waits for")


def answer(found: Sequence[tuple[str, Contender]], setting: Setting, batch: int, refused: Sequence[str]) -> Answer:
    """Networks with what the device makes of them, and those that cannot be captured, with reasons."""
    label = found[0][1].label
    able = [(name, one) for name, one in found if one.found]
    told, doubts = tuple(_insights(able)) if able else (), caveats(one for _, one in found)
    rows = tuple((name, *listed(one.label, one.found, batch, setting, one.refused)) for name, one in found)
    return Answer(
        title=f"{len(able)} network{'' if len(able) == 1 else 's'} on {label}",
        subtitle=said_of_run(batch, setting),
        sections=tuple(_sections(able, told, (*doubts, *refused))),
        record={
            "schema": SCHEMA,
            "device": label,
            **run_record(batch, setting),
            "networks": [{"network": name, **record(one.label, one.found, one.refused)} for name, one in found],
            "not_captured": list(refused),
            "insights": list(told),
            "caveats": list(doubts),
        },
        listing=Table(("network", *LISTING), rows),
    )


def _sections(
    able: Sequence[tuple[str, Contender]], told: tuple[str, ...], doubts: tuple[str, ...]
) -> Iterator[Section]:
    if able:
        rows = sorted(able, key=lambda pair: pair[1].prediction.latency_s)
        yield Grid("Networks", Table(COLUMNS, tuple(_row(name, one) for name, one in rows)), "energy per inference")
        yield Prose("Insights", told)
        yield _rooflines(able)
    if doubts:
        yield Prose("Not compared, not known", doubts)


def _row(name: str, one: Contender) -> tuple[str, ...]:
    found = one.prediction
    memory = shown(found, "memory") + (" ✗" if found.fits is False else "")
    return (
        name,
        f"{found.times.ops.sum() / found.batch / 1e9:.4g}",
        shown(found, "latency"),
        shown(found, "energy"),
        memory,
        found.units if found.has("allocation") else UNKNOWN,
        f"{100 * found.compute_efficiency:.3g}",
        found.bound,
    )


def _insights(able: Sequence[tuple[str, Contender]]) -> Iterator[str]:
    best, best_one = max(able, key=lambda pair: pair[1].prediction.compute_efficiency)
    worst, worst_one = min(able, key=lambda pair: pair[1].prediction.compute_efficiency)
    yield f"{best} attains most of the peak: {percent(best_one.prediction.compute_efficiency)}"
    if worst != best:
        waits = worst_one.prediction.bound
        yield f"{worst} attains least: {percent(worst_one.prediction.compute_efficiency)}; it waits for {waits}"
    for name, said in FLAGGED.items():
        flagged = [network for network, one in able if any(flag.name == name for flag in red_flags(one.prediction))]
        if flagged:
            yield f"{len(flagged)} of {len(able)} {said}: {', '.join(flagged)}"


FLAGGED = {
    "compute": "attain less than 20 % of the peak",
    "memory": "do not fit the memory",
    "power": "would take more than the power limit",
    "padding": "would take half as long again with idle slots and padding paid for",
}


def _rooflines(able: Sequence[tuple[str, Contender]]) -> Rooflines:
    first = able[0][1]
    roof = Roof(first.short, first.prediction.peak_ops_per_s, first.prediction.bandwidth_bytes_per_s)
    points = tuple(
        Point(name, first.short, one.prediction.intensity_ops_per_byte, one.prediction.attained_ops_per_s)
        for name, one in able
    )
    return Rooflines("Roofline", (roof,), points, "one point a network")
