"""The answer to `rooflint sweep`: batches × precisions × devices, and the batch that suits each."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rooflint.answer import Answer, Curve, Curves, Grid, Prose, Section
from rooflint.batch_sweep import BatchSweep, crossovers, leader
from rooflint.comparison import BALANCE
from rooflint.criteria import CRITERIA, Requirement
from rooflint.prediction import Prediction
from rooflint.prediction_record import LISTING, listed, record
from rooflint.table import Table
from rooflint.units import SECONDS, format_quantity
from rooflint.workload import Workload

SCHEMA = "rooflint.sweep/1"


def answer(work: Workload, sweeps: Sequence[BatchSweep], wanted: Sequence[Requirement]) -> Answer:
    """What was found, for people and for programs."""
    able = [one for one in sweeps if one.predictions]
    rows = [listed(one.contender.label, found) for one in able for found in one.predictions]
    rows += [listed(one.contender.label, None, one.contender.refused) for one in sweeps if not one.predictions]
    return Answer(
        title=f"{work.name} over batches",
        subtitle=_about(sweeps),
        sections=tuple(_sections(sweeps, able, wanted)),
        record=_record(work, sweeps, wanted),
        listing=Table(LISTING, tuple(rows)),
    )


def _about(sweeps: Sequence[BatchSweep]) -> str:
    """How it was run, in what all have in common."""
    setting = sweeps[0].setting
    precisions = ", ".join(dict.fromkeys(one.setting.compute for one in sweeps))
    stored = f" on {setting.storage}" if setting.storage else ""
    return f"{precisions}{stored}, {'fused' if setting.fuse else 'not fused'}, launches by {setting.launch}"


def _sections(
    sweeps: Sequence[BatchSweep], able: Sequence[BatchSweep], wanted: Sequence[Requirement]
) -> Iterator[Section]:
    if able:
        yield _best(able, wanted)
    if len(able) > 1:
        yield _pairing(able)
    refused = tuple(one.contender.refused for one in sweeps if not one.predictions)
    if refused:
        yield Prose("Not compared", tuple(dict.fromkeys(refused)))
    told = tuple(_told(able))
    if told:
        yield Prose("Insights", told)
    for one in able:
        yield Grid(one.label, Table(COLUMNS, tuple(_rows(one))))
    if able:
        yield _curves("Throughput", "batch", "inferences/s", able, lambda found: found.throughput_per_s)
        yield _curves("Latency of a batch", "batch", "latency", able, lambda found: found.latency_s, "s")


def _best(able: Sequence[BatchSweep], wanted: Sequence[Requirement]) -> Grid:
    rows = []
    for one in able:
        best, frugal = one.best(wanted), one.most_frugal()
        if best is None:
            rows.append((one.label, "none", "no batch meets the requirements", "", ""))
            continue
        throughput = CRITERIA["throughput"].shown(best.throughput_per_s)
        least = "—" if frugal is None else f"{frugal.batch} ({CRITERIA['energy'].shown(frugal.energy_per_sample_j)})"
        rows.append((one.label, str(best.batch), throughput, format_quantity(best.latency_s, SECONDS), least))
    columns = ("device", "best batch", "throughput", "latency", "least energy at")
    note = "best: the smallest batch with 95 % of the highest throughput"
    return Grid(
        "Best batch",
        Table(columns, tuple(rows)),
        f"{note} that meets {', '.join(one.text for one in wanted)}" if wanted else note,
    )


PAIRS = ("latency", "energy", BALANCE)


def _pairing(able: Sequence[BatchSweep]) -> Grid:
    """Which combination for which batch, by the figures of that batch."""
    batches = [found.batch for found in able[0].predictions]
    rows = tuple((str(batch), *(_pair(able, batch, by) for by in PAIRS), _because(able, batch)) for batch in batches)
    return Grid("Which for which batch", Table(("batch", *PAIRS, "because"), rows), "because: of the balanced one")


def _pair(able: Sequence[BatchSweep], batch: int, by: str) -> str:
    best = leader(able, batch, by)
    return best.label if best else "—"


def _because(able: Sequence[BatchSweep], batch: int) -> str:
    """What the balanced one makes of its peak, and what it waits for."""
    best = leader(able, batch, BALANCE) or leader(able, batch, "latency")
    found = best.at(batch) if best else None
    if found is None:
        return ""
    return f"{100 * found.compute_efficiency:.3g} % of its peak, waits for {found.bound}"


COLUMNS = ("batch", "latency", "throughput", "energy", "batch eff.", "peak %", "waits for")


def _rows(one: BatchSweep) -> Iterator[tuple[str, ...]]:
    for found, efficiency in zip(one.predictions, one.efficiencies(), strict=True):
        energy = CRITERIA["energy"].of(found)
        yield (
            str(found.batch),
            format_quantity(found.latency_s, SECONDS),
            CRITERIA["throughput"].shown(found.throughput_per_s),
            "—" if energy is None else CRITERIA["energy"].shown(energy),
            f"{100 * efficiency:.3g} %",
            f"{100 * found.compute_efficiency:.3g}",
            found.bound,
        )


def _told(able: Sequence[BatchSweep]) -> Iterator[str]:
    for one in able:
        for before, after in one.turns():
            intensity = f"{before.intensity_ops_per_byte:.3g} → {after.intensity_ops_per_byte:.3g} op/B"
            yield (
                f"{one.label}: waits for {before.bound} up to batch {before.batch}, for {after.bound} from batch "
                f"{after.batch} on ({intensity}, breakpoint {after.breakpoint_ops_per_byte:.3g})"
            )
    for by in ("latency", "energy"):
        for cross in crossovers(able, by):
            mine, theirs = cross.winner_before.at(cross.after), cross.winner_after.at(cross.after)
            if mine is None or theirs is None:
                continue
            yield (
                f"{cross.winner_after.label} overtakes {cross.winner_before.label} in {by} between batch "
                f"{cross.before} and {cross.after}: there {_why(mine, theirs, by)}"
            )


def _why(loser: Prediction, winner: Prediction, by: str) -> str:
    """What the overtaken one waits for or spends on at the batch where it falls behind."""
    figures = " against ".join(CRITERIA[by].shown(CRITERIA[by].value(one)) for one in (winner, loser))
    if by == "latency":
        return f"{figures}; the overtaken one waits for {loser.bound}, the other for {winner.bound}"
    terms = (max(one.energy.terms, key=lambda term: term.total_j).name for one in (winner, loser))
    return f"{figures}; most of it {' and '.join(terms)}"


def _curves(
    heading: str, x: str, y: str, able: Sequence[BatchSweep], value: Callable[[Prediction], float], unit: str = ""
) -> Curves:
    curves = tuple(
        Curve(one.label, tuple(float(found.batch) for found in one.predictions), tuple(map(value, one.predictions)))
        for one in able
    )
    return Curves(heading, x, y, curves, y_unit=unit)


def _record(work: Workload, sweeps: Sequence[BatchSweep], wanted: Sequence[Requirement]) -> dict[str, Any]:
    able = [one for one in sweeps if one.predictions]
    return {
        "schema": SCHEMA,
        "network": work.name,
        "requirements": [one.text for one in wanted],
        "sweeps": [_swept(one, wanted) for one in sweeps],
        "pairing": [
            {"batch": batch, **{by: best.label if (best := leader(able, batch, by)) else None for by in PAIRS}}
            for batch in (found.batch for found in able[0].predictions)
        ]
        if able
        else [],
        "insights": list(_told(able)),
    }


def _swept(one: BatchSweep, wanted: Sequence[Requirement]) -> dict[str, Any]:
    if not one.predictions:
        return {**record(one.contender.label, None, one.contender.refused), "compute": one.setting.compute}
    best, frugal = one.best(wanted), one.most_frugal()
    return {
        "device": one.contender.label,
        "compute": one.setting.compute,
        "best_batch": best.batch if best else None,
        "least_energy_batch": frugal.batch if frugal else None,
        "batches": [
            {"batch": found.batch, "batch_efficiency": efficiency, **record(one.contender.label, found)}
            for found, efficiency in zip(one.predictions, one.efficiencies(), strict=True)
        ],
    }
