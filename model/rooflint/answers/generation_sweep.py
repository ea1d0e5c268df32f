"""The answer to `rooflint sweep NETWORK --generate N`: the best batch by device and precision, and the Pareto line."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from rooflint.answers.generation import (
    FLOOR,
    LISTING,
    FiguresRecord,
    dollars_text,
    figures_of,
    floor_sign,
    joules_text,
    limitations,
    listed,
    rate_text,
    seconds_text,
    too_large,
    unlike_practice,
)
from rooflint.answers.insights import caveats
from rooflint.answers.record import PolicyRecord, RefusedRecord, basis_text, policy_record, policy_text, settings_text
from rooflint.base.text import UNKNOWN, counted
from rooflint.base.units import BYTES, SECONDS, format_quantity
from rooflint.hardware.schema import Strict
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Curve, Curves, Grid, Prose, Section, Table
from rooflint.prediction.comparison import Requirement
from rooflint.prediction.generation import Candidate, Generation, pareto
from rooflint.prediction.run import Run


class PointRecord(FiguresRecord):
    """One batch."""

    batch: int


class GenerationSweepRecord(Strict):
    """A device in a precision or under a policy, over batches."""

    device: str
    """`8 × nvidia/h100-sxm5-80gb` of several."""
    members: int
    """Devices."""
    system: str | None
    """What they are part of."""
    compute: str
    policy: PolicyRecord | None
    largest_batch: int | None
    best_batch: int | None
    """With the most tokens/s of those that fit and keep all requirements."""
    cost_basis: str | None
    points: list[PointRecord]


class RefusedGenerationRecord(RefusedRecord):
    """A device that cannot run the network in that precision."""

    compute: str


class ParetoRecord(Strict):
    """A run that no other beats in both figures."""

    device: str
    compute: str
    batch: int
    tokens_per_s_of_device: float
    tokens_per_s_of_user: float


class GenerateSweepRecord(Record):
    """`rooflint sweep NETWORK --generate N -f json`."""

    schema_: Annotated[Literal["rooflint.generate-sweep/1"], Field(alias="schema")]
    network: str
    parameters: int
    prompt: int
    generate: int
    batches: list[int]
    requirements: list[str]
    fused: bool
    launch: str
    fidelity: str
    cached: bool
    sweeps: list[GenerationSweepRecord | RefusedGenerationRecord]
    pareto: list[ParetoRecord]
    caveats: list[str]


BEST = ("device", "precision", "batch", "first token", "per token", "tokens/s", "user", "USD/10⁶", "J/token")
FRONT = ("device", "precision", "batch", "tokens/s", "per user", "first token", "USD/10⁶")
OVER = ("batch", "first token", "per token", "tokens/s", "per user", "USD/10⁶", "energy/token", "memory", "waits for")
MOST_ROWS, MOST_GRIDS, MOST_CURVES = 20, 4, 8


def answer(runs: Sequence[Run], found: Sequence[Candidate], wanted: Sequence[Requirement] = ()) -> Answer:
    """The best batch of each device and precision, and the Pareto line over all of them."""
    first = runs[0]
    front = pareto(run for one in found for run in one.able(wanted))
    unlike = unlike_practice([run for one in found for run in one.runs])
    sentences, tokens = (*caveats(one.contender for one in found), *unlike), counted(first.generate, "token")
    return Answer(
        title=f"{first.network.name}: {tokens} after a prompt of {first.prompt}, over batches",
        subtitle=f"{settings_text([one.setting for one in found])}; {basis_text(found[0].setting)}",
        sections=tuple(_swept(found, wanted, front, sentences)),
        record=lambda: _sweep_record(runs, found, wanted, front, sentences),
        listing=lambda: Table(LISTING, tuple(row for one in found for row in _points(one))),
    )


def _points(one: Candidate) -> Iterator[tuple[str | float | bool | None, ...]]:
    if not one.runs:
        yield listed(one)
    yield from (listed(one, run) for run in one.runs)


def _sweep_record(
    runs: Sequence[Run],
    found: Sequence[Candidate],
    wanted: Sequence[Requirement],
    front: Sequence[Generation],
    sentences: Sequence[str],
) -> GenerateSweepRecord:
    setting = found[0].setting
    return GenerateSweepRecord.build(
        network=runs[0].network.name,
        parameters=runs[0].network.configuration.parameters,
        prompt=runs[0].prompt,
        generate=runs[0].generate,
        batches=[run.batch for run in runs],
        requirements=[each.text for each in wanted],
        fused=setting.fuse,
        launch=setting.launch,
        fidelity=setting.fidelity,
        cached=setting.cached,
        sweeps=[_sweep(one, wanted) for one in found],
        pareto=[
            ParetoRecord.from_object(one, device=one.label, compute=one.setting.compute, batch=one.run.batch)
            for one in front
        ],
        caveats=list(sentences),
    )


def _sweep(one: Candidate, wanted: Sequence[Requirement]) -> GenerationSweepRecord | RefusedGenerationRecord:
    compute, policy = one.setting.compute, one.setting.policy
    if one.found is None:
        return RefusedGenerationRecord(device=one.label, compute=compute, not_supported=one.contender.refused)
    best, price = one.best(wanted), one.found.tariff
    return GenerationSweepRecord(
        device=one.label,
        members=one.place.how.devices,
        system=one.place.system.id if one.place.system else None,
        compute=compute,
        policy=policy_record(policy) if policy else None,
        largest_batch=one.found.largest_batch,
        best_batch=best.run.batch if best else None,
        cost_basis=price.basis if price else None,
        points=[PointRecord(**figures_of(run), batch=run.run.batch) for run in one.runs],
    )


def _swept(
    found: Sequence[Candidate], wanted: Sequence[Requirement], front: Sequence[Generation], sentences: Sequence[str]
) -> Iterator[Section]:
    able = [one for one in found if one.runs]
    bests = [best for one in able if (best := one.best(wanted))]
    bests.sort(key=lambda one: (one.is_floor, -one.tokens_per_s_of_device))
    within = f" within {', '.join(each.text for each in wanted)}" if wanted else ""
    if without := len(able) - len(bests):
        text = f"{without} of {len(able)} combinations of device and precision have no batch that fits{within}"
        yield Prose("Does not fit", (text, *_largest(able, bests)))
    if bests:
        note = f"most tokens/s of the batches that fit{within}; user: tokens/s of a sequence"
        note += f"; {FLOOR}" if any(one.is_floor for one in bests) else ""
        yield Grid("Best batch", *_cut(BEST, [_best_row(one) for one in bests], note))
    if front:  # empty where only first tokens are written, which have no rate for a user
        note = "no other run has more tokens/s for a device and as many for a user"
        yield Grid("Pareto line", *_cut(FRONT, [_front_row(one) for one in front], note))
        yield _chart(able, wanted, front)
    for one in able if len(able) <= MOST_GRIDS else ():
        yield Grid(_name(one), Table(OVER, tuple(map(_over_row, one.runs))), _over_note(one))
    if len(found) <= MOST_ROWS:
        yield from limitations(sentences)
    elif sentences:
        text = f"{len(sentences)} sentences on what is refused, not known or estimated stand in -f json"
        yield Prose("Limitations", (text,))


def _largest(able: Sequence[Candidate], bests: Sequence[Generation]) -> Iterator[str]:
    """Of few that have none: what fits of each."""
    having = {best.name for best in bests}
    lacking = [one for one in able if one.found and one.found.name not in having]
    for one in lacking if len(lacking) <= MOST_GRIDS else ():
        if one.found and one.found.fits is False:
            yield f"{one.setting.compute}: {too_large(one.found)}"


def _cut(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], note: str) -> tuple[Table, str]:
    """The first rows, and how many there are."""
    more = f"; the first {MOST_ROWS} of {len(rows)}, all with -f csv" if len(rows) > MOST_ROWS else ""
    return Table(columns, tuple(rows[:MOST_ROWS])), note + more


def _name(one: Candidate) -> str:
    return one.found.name if one.found else one.label


def _best_row(one: Generation) -> tuple[str, ...]:
    return (
        one.short,
        one.setting.compute,
        str(one.run.batch),
        f"{floor_sign(one)}{format_quantity(one.first_token_s, SECONDS, digits=3)}",
        UNKNOWN if one.token_s is None else f"{floor_sign(one)}{format_quantity(one.token_s, SECONDS, digits=3)}",
        rate_text(one.tokens_per_s_of_device),
        _user(one),
        dollars_text(one),
        UNKNOWN if one.token_j is None else f"{one.token_j:.3g}",
    )


def _front_row(one: Generation) -> tuple[str, ...]:
    rates = rate_text(one.tokens_per_s_of_device), rate_text(one.tokens_per_s_of_user)
    return (
        one.short,
        one.setting.compute,
        str(one.run.batch),
        *rates,
        seconds_text(one.first_token_s),
        dollars_text(one),
    )


def _over_row(one: Generation) -> tuple[str, ...]:
    return (
        f"{one.run.batch} ✗" if one.fits is False else str(one.run.batch),
        format_quantity(one.first_token_s, SECONDS, digits=3),
        UNKNOWN if one.token_s is None else format_quantity(one.token_s, SECONDS, digits=3),
        rate_text(one.tokens_per_s_of_device),
        _user(one),
        dollars_text(one),
        joules_text(one),
        format_quantity(one.memory.total_bytes, BYTES, digits=3),
        one.bound,
    )


def _over_note(one: Candidate) -> str:
    assert one.found is not None
    policy, largest = one.setting.policy, one.found.largest_batch
    parts = [policy_text(policy_record(policy))] if policy else []
    parts += [f"the largest batch that fits is {largest}"] if largest is not None else []
    parts += ["✗ does not fit"] if any(run.fits is False for run in one.runs) else []
    return "; ".join(parts)


def _chart(able: Sequence[Candidate], wanted: Sequence[Requirement], front: Sequence[Generation]) -> Curves:
    """Tokens/s of a device over those of a user; of many combinations those with the most, and the Pareto line."""
    runs = {_name(one): one.able(wanted) for one in able}
    most = sorted(
        (name for name in runs if runs[name]), key=lambda name: -max(r.tokens_per_s_of_device for r in runs[name])
    )
    curves = [_curve(name, runs[name]) for name in most[:MOST_CURVES]]
    if len(most) > 1:
        curves.append(_curve("Pareto line", front))
    note = "a point for each batch; up and to the right is better"
    if len(most) > MOST_CURVES:
        note += f"; {MOST_CURVES} of {len(most)} combinations, and the Pareto line of all"
    return Curves(
        "Throughput over speed", "tokens/s of a user", "tokens/s of a device", tuple(curves), note, listed=False
    )


def _curve(name: str, runs: Sequence[Generation]) -> Curve:
    points = sorted((one.tokens_per_s_of_user, one.tokens_per_s_of_device) for one in runs if one.tokens_per_s_of_user)
    return Curve(name, tuple(x for x, _ in points), tuple(y for _, y in points))


def _user(one: Generation) -> str:
    user = one.tokens_per_s_of_user
    return UNKNOWN if user is None else f"{user:.3g}"
