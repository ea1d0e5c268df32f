"""The answer to `rooflint compare NETWORK --generate N`: time to first token, time per output token, and what fits."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from rooflint.answers.insights import caveats
from rooflint.answers.record import Bound, RefusedRecord, RunRecord, WaitsRecord, basis_text, run_fields, run_text
from rooflint.base.text import UNKNOWN, counted
from rooflint.base.units import BYTES, JOULES, SECONDS, format_quantity, percent
from rooflint.hardware.schema import Strict
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Bar, Bars, Grid, Part, Prose, Section, Table
from rooflint.prediction.comparison import per_second
from rooflint.prediction.generation import Candidate, Generation, Run, exchanged
from rooflint.prediction.parallel import Phase
from rooflint.prediction.predict import Setting
from rooflint.workloads.parallelism import Parallelism


class PhaseWaitsRecord(WaitsRecord):
    """Latency by bottleneck; the parts add up to it."""

    network: float
    """For other devices."""


class PhaseRecord(Strict):
    """Prefill or decode: all of its passes, on all devices together."""

    latency_s: float
    waits_s: PhaseWaitsRecord
    bound: Bound | Literal["network"]
    ops: float
    bytes_moved: float
    compute_efficiency: float
    bandwidth_efficiency: float
    not_known: dict[str, str]


class NeededRecord(Strict):
    """Memory that the run needs."""

    weight_bytes: float
    cache_bytes: float
    activation_bytes: float
    total_bytes: float


class ExchangeRecord(Strict):
    """What each device sends to others, of one part of a batch."""

    name: str
    kind: str
    members: int
    prefill_times: int
    prefill_message_bytes: float
    prefill_sent_bytes: float
    """In one direction, by a ring."""
    decode_times: int
    decode_message_bytes: float
    decode_sent_bytes: float


class GenerationRecord(Strict):
    """The run on one device, or on several that share the network."""

    device: str
    """`8 × nvidia/h100-sxm5-80gb` of several."""
    members: int
    """Devices."""
    system: str | None
    """What they are part of."""
    systems: int
    """How many of it; 1 of one device."""
    first_token_s: float
    token_s: float | None
    """The mean pass of decode; null where one token is generated."""
    total_s: float
    tokens_per_s: float
    """Of all sequences, over the whole run."""
    tokens_per_s_of_device: float
    tokens_per_s_of_user: float | None
    """Of one sequence, once its first token is there; null where one token is generated."""
    energy_per_token_j: float | None
    fits: bool | None
    capacity_bytes: float | None
    largest_batch: int | None
    prefill: PhaseRecord
    decode: PhaseRecord | None


class GenerateRecord(RunRecord, Record):
    """`rooflint compare NETWORK --generate N -f json`."""

    schema_: Annotated[Literal["rooflint.generate/1"], Field(alias="schema")]
    network: str
    parameters: int
    prompt: int
    generate: int
    tp: int
    pp: int
    ep: int
    memory: NeededRecord
    """Of each device."""
    exchanges: list[ExchangeRecord]
    devices: list[GenerationRecord | RefusedRecord]
    does_not_fit: list[str]
    caveats: list[str]


COLUMNS = ("device", "first token", "per token", "tokens/s", "energy/token", "memory", "largest batch")
PHASES = ("device", "phase", "time", "compute", "memory", "launch", "of peak", "of bandwidth")
SHARED = ("devices", "of", "tokens/s each", "per user", "prefill", "decode")
SENT = ("collective", "devices", "prefill", "sent by each", "decode", "sent by each")
LISTING = (
    *("device", "members", "system", "first_token_s", "token_s", "total_s", "tokens_per_s", "tokens_per_s_of_device"),
    *("tokens_per_s_of_user", "energy_per_token_j", "fits", "largest_batch", "not_supported"),
)


def answer(run: Run, found: Sequence[Candidate], setting: Setting) -> Answer:
    """For one device or several."""
    able = [one.found for one in found if one.found]
    how = found[0].place.how if found else Parallelism()
    memory = run.memory(setting.storage or setting.compute, how)
    fields = ("weight_bytes", "cache_bytes", "activation_bytes", "total_bytes")
    record = GenerateRecord.build(
        network=run.network.name,
        parameters=run.network.transformer.parameters,
        prompt=run.prompt,
        generate=run.generate,
        **run_fields(run.batch, setting),
        tp=how.tp,
        pp=how.pp,
        ep=how.ep,
        exchanges=[ExchangeRecord(**one._asdict()) for one in exchanged(run, how, setting)],
        memory=NeededRecord(**{name: getattr(memory, name) for name in fields}),
        devices=[_record(one) for one in found],
        does_not_fit=[_too_large(one) for one in able if one.fits is False],
        caveats=[*caveats(tuple(one.prefill for one in found)), *(SHARED_CAVEATS if how.devices > 1 else ())],
    )
    return Answer(
        title=f"{run.network.name}: {run.generate} tokens after a prompt of {run.prompt}",
        subtitle=f"{run_text(run.batch, setting)}{', ' if how.devices > 1 else ''}{how}; {basis_text(setting)}",
        sections=tuple(_sections(run, record, able)),
        record=record,
        listing=Table(LISTING, tuple(_listed(one) for one in record.devices)),
    )


def _record(one: Candidate) -> GenerationRecord | RefusedRecord:
    found = one.found
    if found is None:
        return RefusedRecord(device=one.label, not_supported=one.prefill.refused)
    names = (
        *("first_token_s", "token_s", "total_s", "tokens_per_s", "tokens_per_s_of_device", "tokens_per_s_of_user"),
        *("fits", "capacity_bytes", "largest_batch"),
    )
    place = found.place
    return GenerationRecord(
        device=one.label,
        members=place.how.devices,
        system=place.system.id if place.system else None,
        systems=place.boxes,
        energy_per_token_j=found.token_j,
        prefill=_phase(found.prefill),
        decode=_phase(found.decode) if found.decode else None,
        **{name: getattr(found, name) for name in names},
    )


def _phase(found: Phase) -> PhaseRecord:
    names = ("latency_s", "bound", "ops", "bytes_moved", "compute_efficiency", "bandwidth_efficiency")
    return PhaseRecord(
        waits_s=PhaseWaitsRecord(**found.shares),
        not_known=dict(found.reasons),
        **{name: getattr(found, name) for name in names},
    )


def _listed(one: GenerationRecord | RefusedRecord) -> tuple[str | float | bool | None, ...]:
    return tuple(getattr(one, column, None) for column in LISTING)


def _too_large(one: Generation) -> str:
    """A sentence that says what is missing, and what would fit."""
    memory, capacity, device = one.memory, one.capacity_bytes, one.prefill.hardware
    assert capacity is not None
    room = device.main_memory().fact("capacity").display
    need = f"needs {format_quantity(memory.total_bytes, BYTES)}, {memory.total_bytes / capacity:.3g} × the {room}"
    if memory.weight_bytes > capacity:
        why = f"the weights alone take {format_quantity(memory.weight_bytes, BYTES)}"
    else:
        why = f"a batch of {one.largest_batch} fits" if one.largest_batch else "not even a batch of 1 fits"
    return f"{one.run.network.name} does not fit {one.short}: it {need}; {why}"


def _sections(run: Run, record: GenerateRecord, able: Sequence[Generation]) -> Iterator[Section]:
    if record.does_not_fit:
        yield Prose("Does not fit", tuple(record.does_not_fit))
    if able:
        fitting = [one for one in able if one.fits is not False]
        best = max((one.tokens_per_s for one in fitting), default=None)
        strong = tuple(place for place, one in enumerate(able) if one in fitting and one.tokens_per_s == best)
        note = "per token: the mean pass of decode; tokens/s: of all sequences, prompt included; ✗ does not fit"
        yield Grid("Generation", Table(COLUMNS, tuple(map(_row, able))), note, strong)
        if record.exchanges:
            note = "tokens/s of a device, and of a user after the first token; what most of a phase waits for"
            yield Grid("Devices together", Table(SHARED, tuple(map(_shared, able))), note)
        yield Bars("Time by phase", tuple(map(_bar, able)), "of the whole run")
        note = "share of the time of the phase, and of what the device could do in it"
        columns = (*PHASES[:6], "network", *PHASES[6:]) if record.exchanges else PHASES
        yield Grid("Phases", Table(columns, tuple(row for one in able for row in _phases(one))), note)
    if record.exchanges:
        note = "of a part of the batch, in all layers; sent in one direction, by a ring"
        yield Grid("Exchanged in a pass", Table(SENT, tuple(map(_sent, record.exchanges))), note)
    yield Grid(
        "Memory", Table(("", "", ""), tuple(_memory(run, record))), f"stored as {record.storage}{_of_each(record)}"
    )
    if record.caveats:
        yield Prose("Limitations", tuple(record.caveats))


SHARED_CAVEATS = (
    "devices wait for collectives: nothing is computed meanwhile",
    "energy of links and switches is not counted",
)


def _of_each(record: GenerateRecord) -> str:
    return ", on each device" if record.exchanges else ""


def _shared(one: Generation) -> tuple[str, ...]:
    place = one.place
    boxes = f"{place.boxes} × " if place.boxes > 1 else ""
    user = one.tokens_per_s_of_user
    return (
        one.short,
        f"{boxes}{place.system.short}" if place.system else UNKNOWN,
        per_second(one.tokens_per_s_of_device).removesuffix("/s"),
        UNKNOWN if user is None else per_second(user).removesuffix("/s"),
        *(UNKNOWN if phase is None else _waits(phase) for phase in (one.prefill, one.decode)),
    )


def _waits(phase: Phase) -> str:
    return f"{phase.bound} {percent(phase.shares[phase.bound] / phase.latency_s)}"


def _sent(one: ExchangeRecord) -> tuple[str, ...]:
    def shown(size: float, times: int) -> str:
        return f"{times} × {format_quantity(size, BYTES, digits=3)}"

    return (
        f"{one.kind.replace('_', '-')}, {one.name}",
        str(one.members),
        shown(one.prefill_message_bytes, one.prefill_times),
        format_quantity(one.prefill_sent_bytes * one.prefill_times, BYTES, digits=3),
        shown(one.decode_message_bytes, one.decode_times),
        format_quantity(one.decode_sent_bytes * one.decode_times, BYTES, digits=3),
    )


def _row(one: Generation) -> tuple[str, ...]:
    largest = UNKNOWN if one.largest_batch is None else str(one.largest_batch)
    needed = format_quantity(one.memory.total_bytes, BYTES) + (" ✗" if one.fits is False else "")
    return (
        one.short,
        format_quantity(one.first_token_s, SECONDS),
        UNKNOWN if one.token_s is None else format_quantity(one.token_s, SECONDS),
        per_second(one.tokens_per_s).removesuffix("/s"),
        UNKNOWN if one.token_j is None else format_quantity(one.token_j, JOULES),
        needed,
        largest,
    )


def _bar(one: Generation) -> Bar:
    """The time of both phases. [s]"""
    phases = {"prefill": one.first_token_s, "decode": one.total_s - one.first_token_s}
    parts = tuple(Part(name, seconds, format_quantity(seconds, SECONDS)) for name, seconds in phases.items())
    return Bar(one.short, parts, format_quantity(one.total_s, SECONDS))


def _phases(one: Generation) -> Iterator[tuple[str, ...]]:
    for name, found in (("prefill", one.prefill), ("decode", one.decode)):
        if found:
            kinds = found.shares if one.place.how.devices > 1 else ("compute", "memory", "launch")
            shares = (percent(found.shares[by] / found.latency_s) for by in kinds)
            seconds, efficiency = format_quantity(found.latency_s, SECONDS), percent(found.compute_efficiency)
            yield one.short, name, seconds, *shares, efficiency, percent(found.bandwidth_efficiency)


def _memory(run: Run, record: GenerateRecord) -> Iterator[tuple[str, str, str]]:
    needed, tokens, how = record.memory, run.prompt + run.generate - 1, Parallelism(record.tp, record.pp, record.ep)
    part = f"a part of {record.parameters:,} parameters" if how.devices > 1 else f"{record.parameters:,} parameters"
    yield "weights", format_quantity(needed.weight_bytes, BYTES), part
    sequences = -(-run.batch // how.groups)
    cached = f"keys and values of {tokens} tokens of {counted(sequences, 'sequence')}"
    yield "cache", format_quantity(needed.cache_bytes, BYTES), cached
    yield "activations", format_quantity(needed.activation_bytes, BYTES), "at most, with all prompts read at once"
    yield "needed", format_quantity(needed.total_bytes, BYTES), ""
