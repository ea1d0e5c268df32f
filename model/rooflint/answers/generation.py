"""The answer to `--generate N`: time to first token, time per output token, what fits, and what it costs."""

import datetime
from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from rooflint.answers.exchanges import SENT, ExchangeRecord, exchanged, row_of
from rooflint.answers.insights import caveats
from rooflint.answers.record import (
    Bound,
    RefusedRecord,
    RunRecord,
    WaitsRecord,
    basis_text,
    policy_text,
    run_fields,
    run_text,
)
from rooflint.base.errors import RooflintError
from rooflint.base.text import UNKNOWN, counted
from rooflint.base.units import BYTES, JOULES, SECONDS, format_quantity, percent
from rooflint.hardware.schema import Strict
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Bar, Bars, Grid, Part, Prose, Section, Table
from rooflint.prediction.comparison import Requirement, per_second
from rooflint.prediction.generation import Candidate, Generation, Phase, competing, kernel_times
from rooflint.prediction.parallel import sequences as sequences_of
from rooflint.prediction.predict import Setting
from rooflint.prediction.run import ALONE, Run
from rooflint.workloads.parallelism import Parallelism

RunBound = Bound | Literal["network"]


class PhaseWaitsRecord(WaitsRecord):
    """Latency by bottleneck; the parts add up to it."""

    network: float
    """For other devices."""


class PhaseRecord(Strict):
    """Prefill or decode: all of its passes, on all devices together."""

    latency_s: float
    waits_s: PhaseWaitsRecord
    bound: RunBound
    energy_j: float | None
    ops: float
    bytes_moved: float
    compute_efficiency: float
    bandwidth_efficiency: float
    not_known: dict[str, str]


class NeededRecord(Strict):
    """Memory that the run needs on each device."""

    weight_bytes: float
    cache_bytes: float
    activation_bytes: float
    total_bytes: float


class FiguresRecord(Strict):
    """What a run takes."""

    first_token_s: float
    token_s: float | None
    """The mean pass of decode; null where one token is generated."""
    total_s: float
    tokens_per_s: float
    """Of all sequences, over the whole run."""
    tokens_per_s_of_device: float
    """The same for each device."""
    tokens_per_s_of_user: float | None
    """Of one sequence, once its first token is there; null where one token is generated."""
    energy_per_token_j: float | None
    usd_per_million_tokens: float | None
    bound: RunBound
    fits: bool | None


class GenerationRecord(FiguresRecord):
    """The run on one device, or on several that share the network."""

    device: str
    """`8 × nvidia/h100-sxm5-80gb` of several."""
    members: int
    """Devices."""
    system: str | None
    """What they are part of."""
    systems: int
    """How many of it; 1 of one device."""
    capacity_bytes: float | None
    """As far as the run may use it."""
    largest_batch: int | None
    cost_basis: str | None
    meets_all: bool | None = None
    """Whether it fits and keeps all requirements; null without any."""
    prefill: PhaseRecord
    decode: PhaseRecord | None


class GenerateRecord(RunRecord, Record):
    """`rooflint compare NETWORK --generate N -f json`, and `analyze`."""

    schema_: Annotated[Literal["rooflint.generate/1"], Field(alias="schema")]
    network: str
    parameters: int
    prompt: int
    generate: int
    tp: int
    pp: int
    ep: int
    cp: int
    requirements: list[str]
    memory: NeededRecord
    """Of each device."""
    exchanges: list[ExchangeRecord]
    devices: list[GenerationRecord | RefusedRecord]
    does_not_fit: list[str]
    caveats: list[str]


COLUMNS = ("device", "first token", "per token", "tokens/s", "energy/token", "USD/10⁶", "waits for")
ROOM = ("device", "memory", "needed", "of it", "largest batch")
SHARED = ("system", "devices", "tokens/s each", "per user", "prefill", "decode")
PHASES = ("device", "phase", "time", "compute", "memory", "launch", "of peak", "of bandwidth")
LISTING = (
    *("device", "members", "system", "compute", "storage", "batch", "first_token_s", "token_s", "total_s"),
    *(
        "tokens_per_s",
        "tokens_per_s_of_device",
        "tokens_per_s_of_user",
        "energy_per_token_j",
        "usd_per_million_tokens",
        "bound",
        "fits",
    ),
    *("largest_batch", "not_supported"),
)


def answer(
    run: Run,
    found: Sequence[Candidate],
    setting: Setting,
    wanted: Sequence[Requirement] = (),
    *,
    kernels: bool = False,
    phase: str = "",
) -> Answer:
    """For one device or several, or for one place; with the times of kernels for the first.

    With a phase alone where one is named, and then with all of its kernels. Raises RooflintError for a phase that the
    run does not have.
    """
    if phase and phase not in (having := ("prefill", "decode")[: 1 + (run.steps > 0)]):
        raise RooflintError(f"--phase: want {' or '.join(having)}, found '{phase}'")
    able = [one.found for one in found if one.found]
    how = found[0].place.how if found else ALONE
    memory = run.memory(setting.storage or setting.compute, how)
    fields = ("weight_bytes", "cache_bytes", "activation_bytes", "total_bytes")
    record = GenerateRecord.build(
        network=run.network.name,
        parameters=run.network.configuration.parameters,
        prompt=run.prompt,
        generate=run.generate,
        tp=how.tp,
        pp=how.pp,
        ep=how.ep,
        cp=how.cp,
        exchanges=[*exchanged(run, how, setting)],
        requirements=[each.text for each in wanted],
        **run_fields(run.batch, setting),
        memory=NeededRecord(**{name: getattr(memory, name) for name in fields}),
        devices=[_record(one, wanted) for one in found],
        does_not_fit=[too_large(one) for one in able if one.fits is False],
        caveats=[
            *caveats(one.contender for one in found),
            *(SHARED_CAVEATS if how.devices > 1 else ()),
            *unlike_practice(able),
        ],
    )
    sections = [*_sections(run, record, able, wanted, phase)]
    if kernels and found[0].found:
        sections.append(_kernels(found[0], run, phase))
    return Answer(
        title=f"{run.network.name}: {counted(run.generate, 'token')} after a prompt of {run.prompt}",
        subtitle=f"{run_text(run.batch, setting)}{', ' if how.devices > 1 else ''}{how}; {basis_text(setting)}",
        sections=(*sections, *limitations(record.caveats)),
        record=record,
        listing=Table(LISTING, tuple(listed(one) for one in found)),
    )


def _record(one: Candidate, wanted: Sequence[Requirement]) -> GenerationRecord | RefusedRecord:
    found = one.found
    if found is None:
        return RefusedRecord(device=one.label, not_supported=one.contender.refused)
    reasons = dict(one.contender.prediction.reasons)
    return GenerationRecord(
        **figures_of(found),
        device=one.label,
        members=found.place.how.devices,
        system=found.place.system.id if found.place.system else None,
        systems=found.place.boxes,
        capacity_bytes=found.capacity_bytes,
        largest_batch=found.largest_batch,
        cost_basis=found.tariff.basis if found.tariff else None,
        meets_all=found in one.able(wanted) if wanted else None,
        prefill=_phase(found.prefill, reasons),
        decode=_phase(found.decode, reasons) if found.decode else None,
    )


def figures_of(found: Generation) -> dict[str, Any]:
    """Values of a FiguresRecord."""
    other = {"energy_per_token_j": found.token_j, "usd_per_million_tokens": found.usd_per_million}
    return {name: getattr(found, name) for name in FiguresRecord.model_fields if name not in other} | other


def _phase(found: Phase, reasons: dict[str, str]) -> PhaseRecord:
    return PhaseRecord.from_object(found, waits_s=PhaseWaitsRecord(**found.waits_s), not_known=reasons)


def listed(one: Candidate, found: Generation | None = None) -> tuple[str | float | bool | None, ...]:
    """A row of a spreadsheet: of one run, or of the reason why there is none."""
    run, setting = found or one.found, one.setting
    row: dict[str, Any] = {
        "device": one.label,
        "compute": setting.compute,
        "storage": setting.storage or setting.compute,
    }
    if run is None:
        row["not_supported"] = one.contender.refused
    else:
        system = one.place.system.id if one.place.system else None
        row |= figures_of(run) | {"members": one.place.how.devices, "system": system}
        row |= {"batch": run.run.batch, "largest_batch": run.largest_batch}
    return tuple(row.get(column) for column in LISTING)


def too_large(one: Generation) -> str:
    """A sentence that says what is missing, and what would fit."""
    memory, capacity = one.memory, one.capacity_bytes
    assert capacity is not None
    room = format_quantity(capacity, BYTES)
    need = f"needs {format_quantity(memory.total_bytes, BYTES)}, {memory.total_bytes / capacity:.3g} × the {room}"
    if memory.weight_bytes > capacity:
        why = f"the weights alone take {format_quantity(memory.weight_bytes, BYTES)}"
    else:
        why = f"a batch of {one.largest_batch} fits" if one.largest_batch else "not even a batch of 1 fits"
    return f"{one.run.network.name} does not fit {one.short}: it {need}; {why}"


def _sections(
    run: Run, record: GenerateRecord, able: Sequence[Generation], wanted: Sequence[Requirement], phase: str
) -> Iterator[Section]:
    if record.does_not_fit:
        yield Prose("Does not fit", tuple(record.does_not_fit))
    if able:
        fitting = [one for one in able if one.fits is not False]
        able_to_win = competing(fitting)
        best = max((one.tokens_per_s for one in able_to_win), default=None)
        strong = tuple(place for place, one in enumerate(able) if one in able_to_win and one.tokens_per_s == best)
        note = "per token: the mean pass of decode; tokens/s: of all sequences, prompt included"
        note += f"; {FLOOR}" if any(one.is_floor for one in able) else ""
        note += "; ✗ does not fit" if len(fitting) < len(able) else ""
        yield Grid("Generation", Table(COLUMNS, tuple(map(_row, able))), f"{note}; USD/10⁶: of tokens", strong)
        if record.exchanges:
            note = "tokens/s of a device, and of a user after the first token; what most of a phase waits for"
            yield Grid("Devices together", Table(SHARED, tuple(map(_shared, able))), note)
        if wanted:
            yield _required(able, wanted)
        yield Bars("Time by phase", tuple(map(_bar, able)), "of the whole run")
        note = "share of the time of the phase, and of what the device could do in it"
        columns = (*PHASES[:6], "network", *PHASES[6:]) if record.exchanges else PHASES
        rows = (row for one in able for row in _phases(one) if phase in ("", row[1]))
        yield Grid("Phases", Table(columns, tuple(rows)), note)
        yield Grid("Room", Table(ROOM, tuple(map(_room, able))), "largest batch: the most sequences that fit")
        if priced := [one for one in able if one.tariff]:
            yield Prose("Cost", tuple(f"{one.short}: {_price(one)}" for one in priced))
    if record.exchanges:
        note = "of a part of the batch, in all layers; sent in one direction, by a ring"
        yield Grid("Exchanged in a pass", Table(SENT, tuple(map(row_of, record.exchanges))), note)
    stored = (
        record.storage if record.policy is None else f"{record.storage}: {policy_text(record.policy)}, all else 16 bit"
    )
    yield Grid(
        "Memory",
        Table(("", "", ""), tuple(_memory(run, record))),
        f"stored as {stored}{', on each device' if record.exchanges else ''}",
    )


def limitations(sentences: Sequence[str]) -> Iterator[Section]:
    """The section of caveats, where there are some."""
    if sentences:
        yield Prose("Limitations", tuple(sentences))


SHARED_CAVEATS = (
    "devices wait for collectives: nothing is computed meanwhile",
    "energy of links and switches is not counted",
)


FLOOR = "≥ roofline time, a lower bound, not ranked against calibrated times"
"""What the sign before a time means."""

LAUNCH_BOUND = 0.1
"""Share of a pass of decode in launches from which on it is said that engines record them. [1]"""

APART = datetime.timedelta(days=180)
"""Between the dates of prices from which on it is said that they do not compare."""


def unlike_practice(found: Collection[Generation]) -> Iterator[str]:
    """Where these runs differ from those of engines, and their prices from one another."""
    shares = {
        one.short: one.decode.waits_s["launch"] / one.decode.latency_s
        for one in found
        if one.decode and not one.borrows_launch
    }
    if shares and max(shares.values()) > LAUNCH_BOUND and any(one.setting.launch == "stream" for one in found):
        most = max(shares, key=shares.__getitem__)
        yield (
            f"launches take {percent(shares[most])} of a decode step on {most}; serving engines replay decode as a "
            "graph: --launch graph"
        )
    dated = {one.tariff.date: one for one in found if one.tariff and one.tariff.date}
    if not dated:
        return
    first, last = min(dated), max(dated)
    if datetime.date.fromisoformat(last) - datetime.date.fromisoformat(first) > APART:
        yield (
            f"prices date from {first} ({dated[first].short}) to {last} ({dated[last].short}), so costs may differ by "
            "date and provider rather than by device; put your own in specs/prices"
        )


def _shared(one: Generation) -> tuple[str, ...]:
    place = one.place
    boxes = f"{place.boxes} × " if place.boxes > 1 else ""
    return (
        f"{boxes}{place.system.short}" if place.system else UNKNOWN,
        str(place.how.devices),
        rate_text(one.tokens_per_s_of_device),
        rate_text(one.tokens_per_s_of_user),
        *(UNKNOWN if phase is None else _waits(phase) for phase in (one.prefill, one.decode)),
    )


def _waits(phase: Phase) -> str:
    return f"{phase.bound} {percent(phase.waits_s[phase.bound] / phase.latency_s)}"


def _row(one: Generation) -> tuple[str, ...]:
    return (
        one.short + (" ✗" if one.fits is False else ""),
        f"{floor_sign(one)}{format_quantity(one.first_token_s, SECONDS)}",
        f"{floor_sign(one) if one.token_s is not None else ''}{seconds_text(one.token_s)}",
        rate_text(one.tokens_per_s),
        joules_text(one),
        dollars_text(one),
        one.bound,
    )


def floor_sign(one: Generation) -> str:
    """A sign before times that are only bounds."""
    return "≥ " if one.is_floor else ""


def seconds_text(seconds: float | None) -> str:
    """A time for a reader, or a dash."""
    return UNKNOWN if seconds is None else format_quantity(seconds, SECONDS)


def rate_text(tokens_per_s: float | None) -> str:
    """Tokens a second for a reader, without the unit, or a dash."""
    return UNKNOWN if tokens_per_s is None else per_second(tokens_per_s).removesuffix("/s")


def joules_text(one: Generation) -> str:
    """Energy of a token for a reader, or a dash."""
    return UNKNOWN if one.token_j is None else format_quantity(one.token_j, JOULES)


def dollars_text(one: Generation) -> str:
    """Cost of a million tokens for a reader, or a dash."""
    return UNKNOWN if one.usd_per_million is None else f"{one.usd_per_million:.3g}"


def _price(one: Generation) -> str:
    """What a million tokens cost, and by which price."""
    assert one.tariff is not None
    what = "rent" if not one.tariff.pays_power else f"ownership over {one.tariff.years:g} years at full load"
    price = one.tariff.kind.show(one.tariff.price)
    return f"{dollars_text(one)} USD for 10⁶ tokens by {what} at {price}; {one.tariff.basis}"


def _room(one: Generation) -> tuple[str, ...]:
    capacity, needed = one.capacity_bytes, one.memory.total_bytes
    return (
        one.short,
        UNKNOWN if capacity is None else format_quantity(capacity, BYTES),
        format_quantity(needed, BYTES) + (" ✗" if one.fits is False else ""),
        UNKNOWN if capacity is None else percent(needed / capacity),
        UNKNOWN if one.largest_batch is None else str(one.largest_batch),
    )


def _required(able: Sequence[Generation], wanted: Sequence[Requirement]) -> Grid:
    """Each device against each requirement; one that lacks room meets none of them."""
    rows, strong = [], []
    for place, one in enumerate(able):
        met = [each.met(one) for each in wanted]
        signs = ({True: "✓", False: "✗", None: "?"}[found] for found in met)
        values = (each.criterion.of(one) for each in wanted)
        texts = (
            UNKNOWN if value is None else each.criterion.shown(value)
            for each, value in zip(wanted, values, strict=True)
        )
        meets = all(met) and one.fits is not False
        strong += [place] * meets
        cells = (f"{sign} {text}" for sign, text in zip(signs, texts, strict=True))
        rows.append((one.short, *cells, "yes" if meets else "no, it does not fit" if one.fits is False else "no"))
    return Grid(
        "Requirements", Table(("device", *(each.text for each in wanted), "all"), tuple(rows)), "", tuple(strong)
    )


def _bar(one: Generation) -> Bar:
    """The time of both phases. [s]"""
    parts = tuple(Part(name, phase.latency_s, seconds_text(phase.latency_s)) for name, phase in one.phases)
    return Bar(one.short, parts, format_quantity(one.total_s, SECONDS))


def _phases(one: Generation) -> Iterator[tuple[str, ...]]:
    for name, found in one.phases:
        kinds = found.waits_s if one.place.how.devices > 1 else ("compute", "memory", "launch")
        shares = (percent(found.waits_s[by] / found.latency_s) for by in kinds)
        efficiency = percent(found.compute_efficiency)
        yield one.short, name, seconds_text(found.latency_s), *shares, efficiency, percent(found.bandwidth_efficiency)


def _memory(run: Run, record: GenerateRecord) -> Iterator[tuple[str, str, str]]:
    how = Parallelism(record.tp, record.pp, record.ep, cp=record.cp)
    needed, tokens = record.memory, -(-(run.prompt + run.generate - 1) // how.cp)
    part = f"a part of {record.parameters:,} parameters" if how.devices > 1 else f"{record.parameters:,} parameters"
    yield "weights", format_quantity(needed.weight_bytes, BYTES), part
    sequences = -(-run.batch // how.groups)
    cached = f"keys and values of {counted(tokens, 'token')} of {counted(sequences, 'sequence')}"
    yield "cache", format_quantity(needed.cache_bytes, BYTES), cached
    prompts = counted(sequences_of(how, run.batch, run.together)[1], "prompt")
    yield "activations", format_quantity(needed.activation_bytes, BYTES), f"at most, in a pass over {prompts}"
    yield "needed", format_quantity(needed.total_bytes, BYTES), ""


MOST_KERNELS = 8
"""Of each phase that are listed."""


def _kernels(one: Candidate, run: Run, only: str) -> Grid:
    rows = []
    for phase, kernels in kernel_times(one, run).items():
        if only and phase != only:
            continue
        whole = sum(kernels.values())
        first = sorted(kernels.items(), key=lambda pair: -pair[1])
        most = len(first) if only else MOST_KERNELS
        rows += [(phase, name, seconds_text(seconds), percent(seconds / whole)) for name, seconds in first[:most]]
        if rest := sum(seconds for _, seconds in first[most:]):
            rows.append((phase, f"{len(first) - most} others", seconds_text(rest), percent(rest / whole)))
    return Grid("Kernels", Table(("phase", "kernel", "time", "of the phase"), tuple(rows)), "of all layers and passes")
