"""The answer to `rooflint models`: many networks on one device."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from rooflint.answers.insights import caveats
from rooflint.answers.record import (
    DeviceRecord,
    RefusedRecord,
    RunRecord,
    device_fields,
    listing,
    run_fields,
    run_text,
)
from rooflint.base.text import UNKNOWN, counted
from rooflint.base.units import percent
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Grid, Point, Prose, Roof, Rooflines, Section, Table
from rooflint.prediction.comparison import Contender, shown
from rooflint.prediction.metrics import red_flags
from rooflint.prediction.predict import Setting

COLUMNS = ("network", "Gop", "latency", "energy", "memory", "units", "peak %", "bound by")


class NetworkRecord(DeviceRecord):
    """One network on the device."""

    network: str


class RefusedNetworkRecord(RefusedRecord):
    """A network that the device cannot run."""

    network: str


class ModelsRecord(RunRecord, Record):
    """`rooflint models DEVICE NETWORK… -f json`."""

    schema_: Annotated[Literal["rooflint.models/1"], Field(alias="schema")]
    device: str
    networks: list[NetworkRecord | RefusedNetworkRecord]
    not_captured: list[str]
    insights: list[str]
    caveats: list[str]


def answer(found: Sequence[tuple[str, Contender]], setting: Setting, batch: int, refused: Sequence[str]) -> Answer:
    """The answer for networks that run on the device; those that cannot be captured are listed with reasons."""
    able = [(name, one) for name, one in found if one.found]
    record = ModelsRecord.build(
        device=found[0][1].label,
        **run_fields(batch, setting),
        networks=[_network(name, one) for name, one in found],
        not_captured=list(refused),
        insights=list(_insights(able)) if able else [],
        caveats=list(caveats(one for _, one in found)),
    )
    return Answer(
        title=f"{counted(len(able), 'network')} on {record.device}",
        subtitle=run_text(batch, setting),
        sections=tuple(_sections(able, record)),
        record=record,
        listing=listing(((record, one) for one in record.networks), network=[name for name, _ in found]),
    )


def _network(name: str, one: Contender) -> NetworkRecord | RefusedNetworkRecord:
    if one.found is None:
        return RefusedNetworkRecord(network=name, device=one.label, not_supported=one.refused)
    return NetworkRecord(network=name, **device_fields(one.label, one.found))


def _sections(able: Sequence[tuple[str, Contender]], record: ModelsRecord) -> Iterator[Section]:
    if able:
        rows = sorted(able, key=lambda pair: pair[1].prediction.latency_s)
        yield Grid("Networks", Table(COLUMNS, tuple(_row(name, one) for name, one in rows)), "energy per inference")
        yield Prose("Insights", tuple(record.insights))
        yield _rooflines(able)
    if doubts := (*record.caveats, *record.not_captured):
        yield Prose("Limitations", doubts)


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
    yield f"{best} attains the highest share of the peak: {percent(best_one.prediction.compute_efficiency)}"
    if worst != best:
        share, bound = worst_one.prediction.compute_efficiency, worst_one.prediction.bound
        yield f"{worst} attains the lowest: {percent(share)}; it is {bound}-bound"
    for name, said in FLAGGED.items():
        flagged = [network for network, one in able if any(flag.name == name for flag in red_flags(one.prediction))]
        if flagged:
            yield f"{len(flagged)} of {len(able)} {said}: {', '.join(flagged)}"


FLAGGED = {
    "compute": "attain less than 20 % of the peak",
    "memory": "do not fit the memory",
    "power": "would exceed the power limit",
    "padding": "would take half as long again with idle slots and padding counted",
}


def _rooflines(able: Sequence[tuple[str, Contender]]) -> Rooflines:
    first = able[0][1]
    roof = Roof(first.short, first.prediction.peak_ops_per_s, first.prediction.bandwidth_bytes_per_s)
    points = tuple(
        Point(name, first.short, one.prediction.intensity_ops_per_byte, one.prediction.attained_ops_per_s)
        for name, one in able
    )
    return Rooflines("Roofline", (roof,), points, "one point per network")
