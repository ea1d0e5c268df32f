"""The answers to `rooflint models` and `rooflint sweep`: networks on one device, and batches of one network."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from rooflint.answers.insights import caveats, point_of, roof_of
from rooflint.answers.record import (
    DeviceRecord,
    FidelityName,
    RefusedRecord,
    RunRecord,
    device_fields,
    listing,
    run_fields,
    run_text,
    settings_text,
)
from rooflint.base.text import UNKNOWN, counted
from rooflint.base.units import BYTES, format_quantity, percent
from rooflint.hardware.schema import Strict
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Curve, Curves, Grid, Prose, Rooflines, Section, Table
from rooflint.prediction.comparison import BALANCE, Contender, Requirement, score_of, shown
from rooflint.prediction.metrics import red_flags
from rooflint.prediction.predict import Prediction, Setting
from rooflint.prediction.sweep import BatchSweep, Crossover, crossovers, leader
from rooflint.roofline import cache_bytes
from rooflint.workloads.workload import Workload

NETWORKS = ("network", "Gop", "latency", "energy", "memory", "units", "peak %", "bound by")


class NetworkRecord(DeviceRecord):
    """One network on the device."""

    network: str


class RefusedNetworkRecord(RefusedRecord):
    """A network that the device cannot run."""

    network: str


class ModelsRecord(RunRecord, Record):
    """`rooflint models DEVICE NETWORK… -f json`."""

    schema_: Annotated[Literal["rooflint.models/2"], Field(alias="schema")]
    device: str
    networks: list[NetworkRecord | RefusedNetworkRecord]
    not_captured: list[str]
    insights: list[str]
    caveats: list[str]


def models_answer(
    found: Sequence[tuple[str, Contender]], setting: Setting, batch: int, refused: Sequence[str]
) -> Answer:
    """The answer for networks that run on the device; those that cannot be captured are listed with reasons."""
    able = [(name, one) for name, one in found if one.found]
    record = ModelsRecord.build(
        device=found[0][1].label,
        **run_fields(batch, setting),
        networks=[_network(name, one) for name, one in found],
        not_captured=list(refused),
        insights=list(_models_insights(able)) if able else [],
        caveats=list(caveats(one for _, one in found)),
    )
    return Answer(
        title=f"{counted(len(able), 'network')} on {record.device}",
        subtitle=run_text(batch, setting),
        sections=tuple(_models_sections(able, record)),
        record=record,
        listing=listing(((record, one) for one in record.networks), network=[name for name, _ in found]),
    )


def _network(name: str, one: Contender) -> NetworkRecord | RefusedNetworkRecord:
    if one.found is None:
        return RefusedNetworkRecord(network=name, device=one.label, not_supported=one.refused)
    return NetworkRecord(network=name, **device_fields(one.label, one.found))


def _models_sections(able: Sequence[tuple[str, Contender]], record: ModelsRecord) -> Iterator[Section]:
    if able:
        rows = sorted(able, key=lambda pair: pair[1].prediction.latency_s)
        yield Grid(
            "Networks", Table(NETWORKS, tuple(_network_row(name, one) for name, one in rows)), "energy per inference"
        )
        yield Prose("Insights", tuple(record.insights))
        yield _rooflines(able)
    if doubts := (*record.caveats, *record.not_captured):
        yield Prose("Limitations", doubts)


def _network_row(name: str, one: Contender) -> tuple[str, ...]:
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


def _models_insights(able: Sequence[tuple[str, Contender]]) -> Iterator[str]:
    best, best_one = max(able, key=lambda pair: pair[1].prediction.compute_efficiency)
    worst, worst_one = min(able, key=lambda pair: pair[1].prediction.compute_efficiency)
    yield f"{best} attains the highest share of the peak: {percent(best_one.prediction.compute_efficiency)}"
    if worst != best:
        share, bound = worst_one.prediction.compute_efficiency, worst_one.prediction.bound
        yield f"{worst} attains the lowest: {percent(share)}; it is {bound}-bound"
    for name, text in FLAGGED.items():
        flagged = [network for network, one in able if any(flag.name == name for flag in red_flags(one.prediction))]
        if flagged:
            yield f"{len(flagged)} of {len(able)} {text}: {', '.join(flagged)}"


FLAGGED = {
    "compute": "attain less than 20 % of the peak",
    "memory": "do not fit the memory",
    "power": "would exceed the power limit",
    "padding": "would take half as long again with idle slots and padding counted",
}


def _rooflines(able: Sequence[tuple[str, Contender]]) -> Rooflines:
    points = tuple(point_of(name, one) for name, one in able)
    return Rooflines("Roofline", (roof_of(able[0][1]),), points, "one point per network")


PAIRS = ("latency", "energy", BALANCE)
BATCHES = ("batch", "latency", "throughput", "energy", "batch eff.", "peak %", "bound by")


class BatchRecord(DeviceRecord):
    """One batch on a device."""

    batch: int
    batch_efficiency: float


class DeviceSweepRecord(Strict):
    """A device in a precision over batches."""

    device: str
    compute: str
    best_batch: int | None
    least_energy_batch: int | None
    batches: list[BatchRecord]


class RefusedSweepRecord(RefusedRecord):
    """A device that cannot run the network in that precision."""

    compute: str


class LeaderRecord(Strict):
    """A combination of device and precision."""

    device: str
    compute: str


class PairRecord(Strict):
    """The combination that leads at a batch; null in a tie, and where the figure is not known."""

    batch: int
    latency: LeaderRecord | None
    energy: LeaderRecord | None
    balance: LeaderRecord | None


class SweepRecord(Record):
    """`rooflint sweep NETWORK -f json`."""

    schema_: Annotated[Literal["rooflint.sweep/2"], Field(alias="schema")]
    network: str
    storage: str | None
    """Null where it is the precision of the arithmetic."""
    fused: bool
    launch: str
    fidelity: FidelityName
    cached: bool
    requirements: list[str]
    sweeps: list[DeviceSweepRecord | RefusedSweepRecord]
    pairing: list[PairRecord]
    insights: list[str]
    caveats: list[str]


def sweep_answer(work: Workload, sweeps: Sequence[BatchSweep], wanted: Sequence[Requirement]) -> Answer:
    """What was found, for people and for programs."""
    record = _record(work, sweeps, wanted)
    return Answer(
        title=f"{work.name} over batches",
        subtitle=settings_text([one.setting for one in sweeps]),
        sections=tuple(_sections(sweeps, wanted, record)),
        record=record,
        listing=listing(_listed(sweeps, record)),
    )


def _record(work: Workload, sweeps: Sequence[BatchSweep], wanted: Sequence[Requirement]) -> SweepRecord:
    able, setting = _able(sweeps), sweeps[0].setting
    return SweepRecord.build(
        network=work.name,
        storage=setting.storage,
        fused=setting.fuse,
        launch=setting.launch,
        fidelity=setting.fidelity,
        cached=setting.cached,
        requirements=[one.text for one in wanted],
        sweeps=[_swept(one, wanted) for one in sweeps],
        pairing=[_paired(able, found.batch) for found in (able[0].predictions if able else ())],
        insights=list(_told(able)),
        caveats=list(caveats(one.contender for one in sweeps)),
    )


def _paired(able: Sequence[BatchSweep], batch: int) -> PairRecord:
    leaders = {by: leader(able, batch, by) for by in PAIRS}
    return PairRecord.model_validate(
        {"batch": batch}
        | {
            by: {"device": one.contender.label, "compute": one.setting.compute} if one else None
            for by, one in leaders.items()
        }
    )


def _swept(one: BatchSweep, wanted: Sequence[Requirement]) -> DeviceSweepRecord | RefusedSweepRecord:
    label, compute = one.contender.label, one.setting.compute
    if not one.predictions:
        return RefusedSweepRecord(device=label, compute=compute, not_supported=one.contender.refused)
    best, frugal = one.best(wanted), one.most_frugal()
    return DeviceSweepRecord(
        device=label,
        compute=compute,
        best_batch=best.batch if best else None,
        least_energy_batch=frugal.batch if frugal else None,
        batches=[
            BatchRecord(
                **device_fields(label, found) | {"batch": found.batch, "batch_efficiency": one.efficiency(found)}
            )
            for found in one.predictions
        ],
    )


def _listed(
    sweeps: Sequence[BatchSweep], record: SweepRecord
) -> Iterator[tuple[RunRecord, DeviceRecord | RefusedRecord]]:
    for one, swept in zip(sweeps, record.sweeps, strict=True):
        if isinstance(swept, RefusedRecord):
            yield RunRecord(**run_fields(0, one.setting)), swept
            continue
        yield from ((RunRecord(**run_fields(found.batch, one.setting)), found) for found in swept.batches)


def _able(sweeps: Sequence[BatchSweep]) -> list[BatchSweep]:
    return [one for one in sweeps if one.predictions]


def _sections(sweeps: Sequence[BatchSweep], wanted: Sequence[Requirement], record: SweepRecord) -> Iterator[Section]:
    able = _able(sweeps)
    if able:
        yield _best(able, wanted)
    if len(able) > 1:
        yield _pairing(able)
    if record.caveats:
        yield Prose("Limitations", tuple(record.caveats))
    if record.insights:
        yield Prose("Insights", tuple(record.insights))
    for one in able:
        yield Grid(one.label, Table(BATCHES, tuple(_rows(one))), _note(one))
    if able:
        yield _curves("Throughput", "inferences/s", able, lambda found: found.throughput_per_s)
        yield _curves("Latency of a batch", "latency", able, lambda found: found.latency_s, "s")


def _best(able: Sequence[BatchSweep], wanted: Sequence[Requirement]) -> Grid:
    rows = []
    for one in able:
        best, frugal = one.best(wanted), one.most_frugal()
        least = UNKNOWN if frugal is None else f"{frugal.batch} ({shown(frugal, 'energy')})"
        if best is None:
            rows.append((one.label, "none", UNKNOWN, UNKNOWN, least))
            continue
        last = best is one.predictions[-1] and len(one.predictions) > 1
        size = f"{best.batch} or more" if last else str(best.batch)
        rows.append((one.label, size, shown(best, "throughput"), shown(best, "latency"), least))
    note = "best: the smallest batch that fits and has 95 % of the highest throughput"
    if wanted:
        note += f" within {', '.join(one.text for one in wanted)}"
    columns = ("device", "best batch", "throughput", "latency", "least energy at")
    return Grid("Best batch", Table(columns, tuple(rows)), note)


def _pairing(able: Sequence[BatchSweep]) -> Grid:
    batches = [found.batch for found in able[0].predictions]
    rows = tuple((str(batch), *(_lead(able, batch, by) for by in PAIRS)) for batch in batches)
    note = "×: lead over the next; balance: energy × latency"
    return Grid("Best device by batch", Table(("batch", *PAIRS), rows), note)


def _lead(able: Sequence[BatchSweep], batch: int, by: str) -> str:
    """The leader, and by what factor; a tie where several lead."""
    first = leader(able, batch, by)
    if first is None:
        return "tie" if any(one.at(batch) for one in able) else UNKNOWN
    second = leader([one for one in able if one is not first], batch, by)
    scores = [score_of(found, by) for one in (first, second) if one and (found := one.at(batch))]
    mine, theirs = (*scores, None)[:2]
    return f"{first.label} {theirs / mine:.3g}×" if mine and theirs else first.label


def _rows(one: BatchSweep) -> Iterator[tuple[str, ...]]:
    for found in one.predictions:
        efficiency = one.efficiency(found)
        yield (
            f"{found.batch} ✗" if found.fits is False else str(found.batch),
            shown(found, "latency"),
            shown(found, "throughput"),
            shown(found, "energy"),
            UNKNOWN if efficiency is None else percent(efficiency),
            f"{100 * found.compute_efficiency:.3g}",
            found.bound,
        )


def _note(one: BatchSweep) -> str:
    small = [str(found.batch) for found in one.predictions if found.fits is False]
    hot = [found for found in one.predictions if any(flag.name == "power" for flag in red_flags(found))]
    notes = [f"✗ does not fit in memory: batch {', '.join(small)}"] if small else []
    if hot:
        worst = max(hot, key=lambda found: found.over_limit or 0.0)
        notes.append(f"power exceeds its limit from batch {hot[0].batch} on, up to {worst.over_limit:.3g} × the limit")
    notes.append("batch eff.: throughput over batch × that of batch 1")
    return "; ".join(notes)


FALL = 0.9
"""Of the throughput of the batch before, below which the cause is told. [1]"""


def _falls(one: BatchSweep) -> Iterator[str]:
    """At which batches throughput is less than before because a tensor outgrows the cache."""
    room = cache_bytes(one.contender.hardware) if one.setting.cached else 0.0
    pairs = pairwise(one.predictions) if room else ()
    falls = [
        f"{after.batch}"
        for before, after in pairs
        if after.throughput_per_s < FALL * before.throughput_per_s and _moved(after) > _moved(before)
    ]
    if falls:
        yield (
            f"{one.label}: throughput falls at batch {', '.join(falls)}, where tensors no longer fit the "
            f"{format_quantity(room, BYTES)} of its largest cache (the model caches a tensor whole or not at all)"
        )


def _moved(found: Prediction) -> float:
    """Bytes of an inference to and from memory. [B]"""
    return float(found.times.bytes_moved.sum()) / found.batch


def _told(able: Sequence[BatchSweep]) -> Iterator[str]:
    for one in able:
        for before, after in one.turns():
            intensity = f"{before.intensity_ops_per_byte:.3g} → {after.intensity_ops_per_byte:.3g} op/B"
            yield (
                f"{one.label}: {before.bound}-bound up to batch {before.batch}, {after.bound}-bound from batch "
                f"{after.batch} on ({intensity}, breakpoint {after.breakpoint_ops_per_byte:.3g})"
            )
        yield from _falls(one)
    for by in ("latency", "energy"):
        for cross in crossovers(able, by):
            yield from _crossed(cross, by)


def _crossed(cross: Crossover, by: str) -> Iterator[str]:
    loser, winner = cross.winner_before.at(cross.after), cross.winner_after.at(cross.after)
    if loser and winner:
        mine, theirs = (f"{shown(one, by)} ({_most(one, by)})" for one in (winner, loser))
        yield (
            f"{cross.winner_after.label} overtakes {cross.winner_before.label} in {by} between batch "
            f"{cross.before} and {cross.after}: {mine} vs {theirs} at {cross.after}"
        )


def _most(found: Prediction, by: str) -> str:
    """The largest part of a latency or an energy, with its share."""
    if by == "latency":
        return f"{percent(found.shares[found.bound] / found.latency_s)} {found.bound}"
    largest = max(found.energy.terms, key=lambda term: term.total_j)
    return f"{percent(largest.total_j / found.energy_j)} {largest.name}"


def _curves(
    heading: str, y: str, able: Sequence[BatchSweep], value: Callable[[Prediction], float], unit: str = ""
) -> Curves:
    curves = tuple(
        Curve(one.label, tuple(float(found.batch) for found in one.predictions), tuple(map(value, one.predictions)))
        for one in able
    )
    return Curves(heading, "batch", y, curves, y_unit=unit)
