"""The answer to `rooflint analyze NETWORK DEVICE --train`: time, memory and utilization of one training step."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from rooflint.answers.record import RunRecord, basis_text, run_fields, run_text
from rooflint.base.precision import format_rate
from rooflint.base.units import BYTES, SECONDS, format_quantity, percent
from rooflint.hardware.schema import Strict
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Bar, Bars, Grid, Part, Prose, Section, Table
from rooflint.prediction.comparison import per_second
from rooflint.prediction.predict import Prediction, Setting
from rooflint.prediction.training import MOMENTS_BYTES, Training


class TrainingMemoryRecord(Strict):
    """What must be there at once, nothing of it sharded."""

    weight_bytes: float
    gradient_bytes: float
    optimizer_bytes: float
    """Moments, and a master copy of narrower weights, in FP32."""
    activation_bytes: float
    """What the forward pass keeps, and the logits."""
    total_bytes: float


class TrainRecord(RunRecord, Record):
    """`rooflint analyze NETWORK DEVICE --train -f json`."""

    schema_: Annotated[Literal["rooflint.train/1"], Field(alias="schema")]
    network: str
    device: str
    parameters: int
    length: int
    """Tokens of each sequence."""
    recompute: str
    step_s: float
    parts_s: dict[str, float]
    tokens_per_s: float
    bytes_moved: float
    model_ops_per_token: float
    """6 N without an embedding that is only looked up, and attention to the tokens before each."""
    peak_ops_per_s: float
    mfu: float
    hfu: float
    memory: TrainingMemoryRecord
    capacity_bytes: float | None
    fits: bool | None


PARTS = ("part", "time", "compute", "memory", "launch", "of peak")
LISTING = ("network", "device", "batch", "length", "recompute", "step_s", "tokens_per_s", "mfu", "hfu", "fits")


def answer(found: Training, setting: Setting) -> Answer:
    """For one device."""
    run, device = found.run, found.forward.hardware
    memory = ("weight_bytes", "gradient_bytes", "optimizer_bytes", "activation_bytes", "total_bytes")
    names = ("step_s", "parts_s", "tokens_per_s", "bytes_moved", "peak_ops_per_s", "mfu", "hfu", "fits")
    record = TrainRecord.build(
        network=run.network.name,
        device=device.label,
        parameters=found.memory.parameters,
        length=run.length,
        recompute=run.recompute,
        model_ops_per_token=run.token_ops().model,
        capacity_bytes=found.capacity_bytes,
        memory=TrainingMemoryRecord(**{name: getattr(found.memory, name) for name in memory}),
        **run_fields(run.batch, setting),
        **{name: getattr(found, name) for name in names},
    )
    return Answer(
        title=f"{run.network.name}: a training step of {run.batch} × {run.length} tokens on {device.id}",
        subtitle=f"{run_text(run.batch, setting)}, {run.recompute} recomputation, Adam; {basis_text(setting)}",
        sections=tuple(_sections(found, record)),
        record=record,
        listing=Table(LISTING, (tuple(getattr(record, name) for name in LISTING),)),
    )


def _sections(found: Training, record: TrainRecord) -> Iterator[Section]:
    if found.fits is False:
        need = format_quantity(found.memory.total_bytes, BYTES)
        room = format_quantity(record.capacity_bytes or 0.0, BYTES)
        yield Prose("Does not fit", (f"it needs {need} of {room} unless states and activations are sharded",))
    yield Grid("Step", Table(("", "", ""), tuple(_summary(found, record))))
    parts = tuple(Part(name, seconds, format_quantity(seconds, SECONDS)) for name, seconds in found.parts_s.items())
    yield Bars("Time", (Bar("step", parts, format_quantity(found.step_s, SECONDS)),))
    yield Grid("Parts", Table(PARTS, tuple(_parts(found))), "share of the time of the part; of peak: of its own ops")
    yield Grid("Memory", Table(("", "", ""), tuple(_memory(record))), "nothing is sharded")


def _summary(found: Training, record: TrainRecord) -> Iterator[tuple[str, str, str]]:
    peak = format_rate(found.peak_ops_per_s, record.compute)
    yield (
        "step",
        format_quantity(found.step_s, SECONDS),
        f"{per_second(found.tokens_per_s).removesuffix('/s')} tokens/s",
    )
    yield "MFU", percent(found.mfu), f"{record.model_ops_per_token / 1e9:.4g} GFLOP a token, peak {peak}"
    yield "HFU", percent(found.hfu), "with what is computed again"
    yield "moved", format_quantity(found.bytes_moved, BYTES), "to and from memory"


def _parts(found: Training) -> Iterator[tuple[str, ...]]:
    passes: dict[str, Prediction | None] = {
        "forward": found.forward,
        "recompute": found.again,
        "backward": found.backward,
    }
    for name, seconds in found.parts_s.items():
        one = passes.get(name)
        if one is None:
            yield name, format_quantity(seconds, SECONDS), percent(0.0), percent(1.0), percent(0.0), percent(0.0)
        else:
            shares = (percent(one.shares[by] / one.latency_s) for by in ("compute", "memory", "launch"))
            yield name, format_quantity(seconds, SECONDS), *shares, percent(one.compute_efficiency)


def _memory(record: TrainRecord) -> Iterator[tuple[str, str, str]]:
    needed = record.memory
    yield "weights", format_quantity(needed.weight_bytes, BYTES), f"{record.parameters:,} parameters"
    yield "gradients", format_quantity(needed.gradient_bytes, BYTES), ""
    copy = "master copy and " if needed.optimizer_bytes > MOMENTS_BYTES * record.parameters else ""
    yield "optimizer", format_quantity(needed.optimizer_bytes, BYTES), f"{copy}two moments in FP32"
    yield "activations", format_quantity(needed.activation_bytes, BYTES), f"{record.recompute} recomputation"
    yield "needed", format_quantity(needed.total_bytes, BYTES), ""
