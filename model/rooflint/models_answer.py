"""The answer to `rooflint models`: many networks on one device."""

from collections.abc import Iterator, Sequence

from rooflint.answer import Answer, Grid, Point, Prose, Roof, Rooflines, Section
from rooflint.comparison import Contender
from rooflint.criteria import CRITERIA
from rooflint.metrics import red_flags
from rooflint.prediction_record import LISTING, listed, record
from rooflint.table import Table

SCHEMA = "rooflint.models/1"

COLUMNS = ("network", "Gop", "latency", "energy", "memory", "units", "peak %", "waits for")


def answer(found: Sequence[tuple[str, Contender]], refused: Sequence[str]) -> Answer:
    """Networks with what the device makes of them, and those that cannot be captured, with reasons."""
    device = found[0][1] if found else None
    able = [(name, one) for name, one in found if one.found]
    label = device.label if device else "no device"
    return Answer(
        title=f"{len(able)} networks on {label}",
        subtitle=_about(able),
        sections=tuple(_sections(able, found, refused)),
        record={
            "schema": SCHEMA,
            "device": label,
            "networks": [{"network": name, **record(one.label, one.found, one.refused)} for name, one in found],
            "not_captured": list(refused),
        },
        listing=Table(
            ("network", *LISTING), tuple((name, *listed(one.label, one.found, one.refused)) for name, one in found)
        ),
    )


def _about(able: Sequence[tuple[str, Contender]]) -> str:
    if not able:
        return "nothing to compare"
    first = able[0][1].prediction
    precision = first.compute if first.compute == first.storage else f"{first.compute} on {first.storage}"
    return f"batch {first.batch}, {precision}"


def _sections(
    able: Sequence[tuple[str, Contender]], found: Sequence[tuple[str, Contender]], refused: Sequence[str]
) -> Iterator[Section]:
    if able:
        rows = sorted(able, key=lambda pair: pair[1].prediction.latency_s)
        yield Grid("Networks", Table(COLUMNS, tuple(_row(name, one) for name, one in rows)), "energy per inference")
        yield Prose("Insights", tuple(_insights(able)))
        yield _rooflines(able)
    missing = (*dict.fromkeys(one.refused for _, one in found if not one.found), *refused)
    if missing:
        yield Prose("Not compared", missing)


def _row(name: str, one: Contender) -> tuple[str, ...]:
    found = one.prediction
    figures = (_shown(one, by) for by in ("latency", "energy", "memory"))
    units = found.units if found.has("allocation") else "—"
    return (
        name,
        f"{found.times.ops.sum() / found.batch / 1e9:.4g}",
        *figures,
        units,
        f"{100 * found.compute_efficiency:.3g}",
        found.bound,
    )


def _shown(one: Contender, by: str) -> str:
    value = CRITERIA[by].of(one.prediction)
    return "—" if value is None else CRITERIA[by].shown(value)


def _insights(able: Sequence[tuple[str, Contender]]) -> Iterator[str]:
    best, best_one = max(able, key=lambda pair: pair[1].prediction.compute_efficiency)
    worst, worst_one = min(able, key=lambda pair: pair[1].prediction.compute_efficiency)
    yield f"{best} attains most of the peak: {100 * best_one.prediction.compute_efficiency:.3g} %"
    if worst != best:
        waits = worst_one.prediction.bound
        yield f"{worst} attains least: {100 * worst_one.prediction.compute_efficiency:.3g} %; it waits for {waits}"
    flagged = [name for name, one in able if any(flag.name == "compute" for flag in red_flags(one.prediction))]
    if flagged:
        yield f"{len(flagged)} of {len(able)} attain less than 20 % of the peak: {', '.join(flagged)}"


def _rooflines(able: Sequence[tuple[str, Contender]]) -> Rooflines:
    first = able[0][1]
    roof = Roof(first.short, first.prediction.peak_ops_per_s, first.prediction.bandwidth_bytes_per_s)
    points = tuple(
        Point(name, first.short, one.prediction.intensity_ops_per_byte, one.prediction.attained_ops_per_s)
        for name, one in able
    )
    return Rooflines("Roofline", (roof,), points, "one point a network")
