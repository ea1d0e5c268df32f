"""The answer to `rooflint analyze NETWORK DEVICE --train`: time, memory and utilization of one training step."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from rooflint.answers.generation import limitations
from rooflint.answers.record import RunRecord, basis_text, run_fields, run_text
from rooflint.base.precision import format_rate
from rooflint.base.units import BYTES, SECONDS, format_quantity, percent
from rooflint.hardware.schema import Strict
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Bar, Bars, Grid, Part, Prose, Section, Table
from rooflint.prediction.comparison import per_second
from rooflint.prediction.parallel import NETWORK
from rooflint.prediction.predict import Prediction, Setting
from rooflint.prediction.training import BUBBLE, Training
from rooflint.prediction.training_memory import MOMENTS_BYTES
from rooflint.prediction.training_run import token_ops


class TrainingMemoryRecord(Strict):
    """What a device must have room for at once."""

    weight_bytes: float
    gradient_bytes: float
    optimizer_bytes: float
    """Moments, and a master copy of narrower weights, in FP32."""
    activation_bytes: float
    """What the forward pass keeps, and the logits."""
    total_bytes: float


class SentRecord(Strict):
    """A collective of a step, in all of its runs."""

    title: str
    times: int
    sent_bytes: float
    """By each device in one direction, by a ring."""
    seconds: float
    waited_s: float
    """What of it no other work hides."""


class TrainRecord(RunRecord, Record):
    """`rooflint analyze NETWORK DEVICE --train -f json`."""

    schema_: Annotated[Literal["rooflint.train/1"], Field(alias="schema")]
    network: str
    device: str
    members: int
    """Devices."""
    system: str | None
    """What several devices are part of."""
    tp: int
    pp: int
    ep: int
    dp: int
    virtual_stages: int
    """Parts of the layers of a stage that take turns."""
    sp: bool
    zero: int
    """What data-parallel devices share, as a stage of ZeRO."""
    micro_batch: int
    """Sequences that a device computes at once."""
    lora: int
    """Rank of the adapters that are trained alone; 0 where all is trained."""
    parameters: int
    """Of the part of a device."""
    trained_parameters: int
    """Those that are not frozen."""
    length: int
    """Tokens of each sequence."""
    recompute: str
    step_s: float
    parts_s: dict[str, float]
    tokens_per_s: float
    bytes_moved: float
    """To and from the memory of a device."""
    sent: list[SentRecord]
    model_ops_per_token: float
    """6 N without an embedding that is only looked up, and attention to the tokens before each."""
    peak_ops_per_s: float
    mfu: float
    hfu: float
    memory: TrainingMemoryRecord
    capacity_bytes: float | None
    fits: bool | None


EXCHANGED = ("collective", "times", "sent", "takes", "waited for")
EXCHANGED_NOTE = "sent by each device; waited for: what the backward pass does not hide"
PARTS = ("part", "time", "compute", "memory", "launch", "of peak")
LISTING = (
    "network",
    "device",
    "members",
    "tp",
    "pp",
    "ep",
    "dp",
    "zero",
    "batch",
    "length",
    "recompute",
    "step_s",
    "tokens_per_s",
    "mfu",
    "hfu",
    "fits",
)


def answer(found: Training, setting: Setting) -> Answer:
    """For one device or several."""
    run, device, how = found.run, found.place.hardware, found.place.how
    memory = ("weight_bytes", "gradient_bytes", "optimizer_bytes", "activation_bytes", "total_bytes")
    names = ("step_s", "parts_s", "tokens_per_s", "bytes_moved", "peak_ops_per_s", "mfu", "hfu", "fits")
    record = TrainRecord.build(
        network=run.network.name,
        device=device.label,
        members=how.devices,
        system=found.place.system.id if found.place.system and how.devices > 1 else None,
        tp=how.tp,
        pp=how.pp,
        ep=how.ep,
        dp=how.dp,
        virtual_stages=how.virtual,
        sp=how.sequence,
        zero=run.zero,
        micro_batch=run.at_once,
        lora=run.lora,
        sent=[SentRecord(**vars(one)) for one in found.sent],
        parameters=found.memory.parameters,
        trained_parameters=found.memory.trained,
        length=run.length,
        recompute=run.recompute,
        model_ops_per_token=run.token_ops().model,
        capacity_bytes=found.capacity_bytes,
        memory=TrainingMemoryRecord(**{name: getattr(found.memory, name) for name in memory}),
        **run_fields(run.batch, setting),
        **{name: getattr(found, name) for name in names},
    )
    return Answer(
        title=f"{run.network.name}: a training step of {run.batch} × {run.length} tokens on {found.place.label}",
        subtitle=f"{run_text(run.batch, setting)}, {_ways(found)}, Adam; {basis_text(setting)}",
        sections=tuple(_sections(found, record)),
        record=record,
        listing=Table(LISTING, (tuple(getattr(record, name) for name in LISTING),)),
    )


def _ways(found: Training) -> str:
    """`tp 8, dp 16, ZeRO 1, 4 micro-batches of 2, full recomputation`"""
    run, how = found.run, found.place.how
    words = [str(how)] if how.devices > 1 else []
    words += [f"ZeRO {run.zero}"] if run.zero else []
    words += [f"tower {run.tower}"] if run.network.sees else []
    words += [f"LoRA of rank {run.lora}"] if run.lora else []
    words += [f"{run.micro_batches} micro-batches of {run.at_once}"] if run.micro_batches > 1 else []
    return ", ".join([*words, f"{run.recompute} recomputation"])


def _sections(found: Training, record: TrainRecord) -> Iterator[Section]:
    if found.fits is False:
        need = format_quantity(found.memory.total_bytes, BYTES)
        room = format_quantity(record.capacity_bytes or 0.0, BYTES)
        each = "each device" if record.members > 1 else "it"
        yield Prose("Does not fit", (f"{each} needs {need} of {room}; --tp, --pp, --dp, --zero and --recompute help",))
    yield Grid("Step", Table(("", "", ""), tuple(_summary(found, record))))
    parts = tuple(Part(name, seconds, format_quantity(seconds, SECONDS)) for name, seconds in found.parts_s.items())
    yield Bars("Time", (Bar("step", parts, format_quantity(found.step_s, SECONDS)),))
    note = "share of the time of the part; of peak: of its own ops"
    note += "; of the stage that takes longest" if record.pp > 1 else ""
    yield Grid("Parts", Table(PARTS, tuple(_parts(found))), note)
    if found.sent:
        yield Grid("Exchanged", Table(EXCHANGED, tuple(_exchanged(found))), EXCHANGED_NOTE)
    yield Grid("Memory", Table(("", "", ""), tuple(_memory(record))), _memory_note(record))
    yield from limitations([LOWER_BOUND])


LOWER_BOUND = (
    "the step is a lower bound: published steps in BF16 and FP8 took 1.5 to 3.2 times as long on average of a table, "
    "one of them 7 times (docs/method-networks.md#training)"
)


def _exchanged(found: Training) -> Iterator[tuple[str, ...]]:
    for one in found.sent:
        size = format_quantity(one.sent_bytes, BYTES)
        times = (format_quantity(one.seconds, SECONDS), format_quantity(one.waited_s, SECONDS))
        yield one.title, f"{one.times:,}", size, *times


SHARED = ("", "optimizer", "optimizer and gradients", "optimizer, gradients and weights")


def _memory_note(record: TrainRecord) -> str:
    if record.members == 1:
        return "nothing is sharded"
    words = ["products are divided by tp"] if record.tp > 1 else []
    words += ["layers by pp"] if record.pp > 1 else []
    words += ["experts by ep"] if record.ep > 1 else []
    words += [f"{SHARED[record.zero]} by {'dp and ep' if record.ep > record.tp else 'dp'}"] if record.zero else []
    words += ["a layer that is gathered is not counted"] if record.zero == len(SHARED) - 1 else []
    return "; ".join(["of a device", *words])


def _summary(found: Training, record: TrainRecord) -> Iterator[tuple[str, str, str]]:
    peak = format_rate(found.peak_ops_per_s, record.compute)
    yield (
        "step",
        format_quantity(found.step_s, SECONDS),
        f"{per_second(found.tokens_per_s).removesuffix('/s')} tokens/s",
    )
    run, net = found.run, found.run.network.writer
    of_all = bool(net.encoder)  # keys: no mask hides any
    how = "" if of_all else ": causal attention, embedding not counted"
    yield "MFU", percent(found.mfu), f"{record.model_ops_per_token / 1e9:.4g} GFLOP per token{how}; peak {peak}"
    if not of_all and not run.network.sees:
        usual = token_ops(net, run.length).model
        share = percent(found.mfu * usual / record.model_ops_per_token)
        yield "", share, f"{usual / 1e9:.4g} GFLOP per token: full attention and embedding counted (PaLM, appendix B)"
    yield "HFU", percent(found.hfu), "with what is computed again"
    where = "to and from the memory of a device" if record.members > 1 else "to and from memory"
    yield "moved", format_quantity(found.bytes_moved, BYTES), where


def _parts(found: Training) -> Iterator[tuple[str, ...]]:
    passes: dict[str, Prediction | None] = {
        "forward": found.stage.forward,
        "recompute": found.stage.again,
        "backward": found.stage.backward,
    }
    for name, seconds in found.parts_s.items():
        one = passes.get(name)
        if name in (NETWORK, BUBBLE):
            yield name, format_quantity(seconds, SECONDS), *(percent(0.0) for _ in range(4))
        elif one is None:
            yield name, format_quantity(seconds, SECONDS), percent(0.0), percent(1.0), percent(0.0), percent(0.0)
        else:
            shares = (percent(one.shares[by] / one.latency_s) for by in ("compute", "memory", "launch"))
            yield name, format_quantity(seconds, SECONDS), *shares, percent(one.compute_efficiency)


def _memory(record: TrainRecord) -> Iterator[tuple[str, str, str]]:
    needed = record.memory
    yield "weights", format_quantity(needed.weight_bytes, BYTES), f"{record.parameters:,} parameters"
    some = f"of {record.trained_parameters:,} that are trained"
    yield (
        "gradients",
        format_quantity(needed.gradient_bytes, BYTES),
        some * (record.trained_parameters < record.parameters),
    )
    shares = record.dp if record.zero else 1
    copy = "master copy and " if needed.optimizer_bytes * shares > MOMENTS_BYTES * record.trained_parameters else ""
    yield "optimizer", format_quantity(needed.optimizer_bytes, BYTES), f"{copy}two moments in FP32"
    yield "activations", format_quantity(needed.activation_bytes, BYTES), f"{record.recompute} recomputation"
    yield "needed", format_quantity(needed.total_bytes, BYTES), ""
