"""A step of training on a device or several: its time, its parts, MFU and HFU.

    train(Place(h100), Run(network, batch=1, length=4096), energies, Setting("bf16")).mfu

Stages of a pipeline do one forward pass after one backward pass: Narayanan et al., "Efficient Large-Scale Language
Model Training on GPU Clusters Using Megatron-LM", SC 2021, section 2.2. arXiv:2104.04473. docs/method-parallelism.md
has the formulas.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from rooflint.base.precision import precision
from rooflint.base.units import OPS_PER_MAC
from rooflint.energy.model import Energies
from rooflint.hardware.device import working_peak_ops_per_s
from rooflint.kernels.collectives import bound_s
from rooflint.prediction.gradients import AGAIN, STAGES, Sent, Shared, hops, shared
from rooflint.prediction.parallel import NETWORK, Place, message_bytes, sent_bytes
from rooflint.prediction.predict import ROOFLINE, Prediction, Setting, predict
from rooflint.prediction.training_memory import Memory
from rooflint.prediction.training_run import SPREAD, Run
from rooflint.workloads.parallelism import Exchange
from rooflint.workloads.workload import WorkloadError


@dataclass(frozen=True)
class Passes:
    """Predictions of a micro-batch on a device."""

    forward: Prediction
    backward: Prediction
    again: Prediction | None

    @property
    def all(self) -> tuple[Prediction, ...]:
        """Forward, what runs again, and backward."""
        return tuple(one for one in (self.forward, self.again, self.backward) if one)

    @property
    def seconds(self) -> float:
        """Without what devices exchange. [s]"""
        return sum(one.latency_s for one in self.all)

    @property
    def backward_s(self) -> float:
        """The backward pass, with what runs again. [s]"""
        return self.seconds - self.forward.latency_s


BUBBLE = "bubble"
"""What stages of a pipeline wait for the first and the last micro-batches."""


@dataclass(frozen=True)
class Training:
    """A step."""

    run: Run
    place: Place
    whole: Passes
    """A micro-batch through all layers."""
    stage: Passes
    """The same through the stage that takes longest: all layers, without a pipeline."""
    memory: Memory
    optimizer_s: float
    """Of Adam, which is memory-bound. [s]"""
    sent: tuple[Sent, ...] = ()
    """What devices exchange."""
    bubble_s: float = 0.0
    """What a stage waits for others at the ends of a step. [s]"""

    @property
    def step_s(self) -> float:
        """Forward, backward, what runs again, the optimizer, and what waits for other devices. [s]"""
        return sum(self.parts_s.values())

    @property
    def network_s(self) -> float:
        """What waits for other devices. [s]"""
        return sum(one.waited_s for one in self.sent)

    @property
    def parts_s(self) -> dict[str, float]:
        """Time of each part, on the stage that takes longest. [s]"""
        times, stage = self.run.micro_batches, self.stage
        again = {"recompute": times * stage.again.latency_s} if stage.again else {}
        return {
            "forward": times * stage.forward.latency_s,
            **again,
            "backward": times * stage.backward.latency_s,
            "optimizer": self.optimizer_s,
            **({NETWORK: self.network_s} if self.sent else {}),
            **({BUBBLE: self.bubble_s} if self.run.how.pp > 1 else {}),
        }

    @property
    def tokens_per_s(self) -> float:
        """Of all sequences. [1/s]"""
        return self.run.tokens / self.step_s

    @property
    def peak_ops_per_s(self) -> float:
        """Dense peak. [op/s]"""
        return working_peak_ops_per_s(self.place.hardware, self.whole.forward.compute)

    @property
    def _tokens_of_peak(self) -> float:
        """Tokens of a device a second, over its peak. [1/op]"""
        return self.tokens_per_s / self.place.how.devices / self.peak_ops_per_s

    @property
    def mfu(self) -> float:
        """Operations of the model over those of the peak of all devices in that time. [1]"""
        return self._tokens_of_peak * self.run.token_ops().model

    @property
    def hfu(self) -> float:
        """The same with the operations of the products that run again, which are not those of the head. [1]"""
        again = OPS_PER_MAC * float(self.run.again.macs.sum()) if self.run.again else 0.0
        of_token = again * self.place.how.tp / (self.run.at_once * self.run.length)
        return self._tokens_of_peak * (self.run.token_ops().model + of_token)

    @property
    def bytes_moved(self) -> float:
        """To and from the memory of a device, of which all stages have as much. [B]"""
        of_one = sum(float(one.times.bytes_moved.sum()) for one in self.whole.all)
        return self.run.micro_batches * of_one / self.run.how.pp + self.memory.moved_by_optimizer_bytes

    @property
    def capacity_bytes(self) -> float | None:
        """Of the main memory; None where it is not known. [B]"""
        memory = self.place.hardware.main_memory()
        return memory.capacity_bytes if "capacity" in memory.facts else None

    @property
    def fits(self) -> bool | None:
        """Whether a device has room for all of it; None where its capacity is not known."""
        return None if self.capacity_bytes is None else self.memory.total_bytes <= self.capacity_bytes


def train(place: Place, run: Run, energies: Energies, setting: Setting) -> Training:
    """One step by the roofline: no kernel of a backward pass was calibrated.

    Every byte comes from memory, because the backward pass needs the activations of all layers. Raises WorkloadError
    for a policy, for whole numbers, which have no gradients, for calibrated times, and for what cannot be divided.
    Raises UnsupportedError where the device does not compute in that precision.
    """
    named = [setting.compute, *([setting.storage] if setting.storage else [])]
    refused = [name for name in named if setting.policy or not precision(name).floating]
    refused += [setting.fidelity] if setting.fidelity != ROOFLINE else []
    if refused:
        raise WorkloadError(f"training: want a precision such as bf16 and the fidelity roofline, found {refused[0]}")
    plain = replace(setting, cached=False)
    memory = run.memory(setting.storage or setting.compute)
    whole = _passes(place, run, energies, plain)
    stage = _passes(place, run.in_stage, energies, plain) if run.how.pp > 1 else whole
    optimizer_s = memory.moved_by_optimizer_bytes / place.hardware.main_memory().bandwidth_bytes_per_s
    found = Training(run, place, whole, stage, memory, optimizer_s)
    return replace(found, sent=tuple(_sent(found, plain)), bubble_s=_bubble_s(found, plain))


def _passes(place: Place, run: Run, energies: Energies, setting: Setting) -> Passes:
    forward, backward, again = (
        predict(place.hardware, one, energies, setting) if one else None
        for one in (run.forward, run.backward, run.again)
    )
    assert forward and backward
    return Passes(forward, backward, again)


# ---- What devices exchange


def _bubble_s(found: Training, setting: Setting) -> float:
    """What a stage waits until the first micro-batch reaches it and after the last one has left it. [s]

    All other stages once forward and once backward, of several virtual stages one part of theirs, and all sends between
    them: Narayanan et al., section 2.2, (pp - 1) (t_f + t_b) / virtual.
    """
    how = found.run.how
    if how.pp == 1:
        return 0.0
    through = found.whole.seconds + _waited_s(_in_layers(found, found.run, setting, found.whole))
    own = found.stage.seconds + _waited_s(_in_layers(found, found.run.in_stage, setting, found.stage))
    once = _waited_s(_between(found, setting)) / how.virtual
    return (through - own) / how.virtual + (how.pp - 1) * once


def _waited_s(sent: Iterable[Sent]) -> float:
    return sum(one.waited_s for one in sent)


def _sent(found: Training, setting: Setting) -> Iterator[Sent]:
    """All of a step."""
    run, how, many = found.run, found.place.how, found.run.micro_batches
    for one in (*_in_layers(found, run.in_stage, setting, found.stage), *_between(found, setting)):
        times, sent_each, seconds, waited = one.times, one.sent_bytes, one.seconds, one.waited_s
        yield Sent(one.title, many * times, many * sent_each, many * seconds, many * waited)
    if how.pp > 1 and run.own.tied:  # the first and the last stage both have the embedding
        words = Exchange("gradients of the embedding", "all_reduce", run.own.embedding_parameters, 2, 1)
        yield _one(found, words, setting)
    if how.copies > 1:
        memory, overhead = found.memory, found.whole.forward.times.overhead_s
        weights = memory.parameters * memory.width_bytes if run.zero == STAGES[-1] else memory.whole_bytes
        experts, layers = memory.experts / memory.parameters, run.in_stage.own.layers
        both = Shared(found.place, run.zero, weights, memory.whole_bytes, experts, layers, many, overhead)
        yield from both.all(found.stage.forward.latency_s, found.stage.backward_s)


def _in_layers(found: Training, run: Run, setting: Setting, passes: Passes) -> Iterator[Sent]:
    """Of a micro-batch within a stage, or in all layers. What is gathered again goes beside products for inputs."""
    own, how = run.own, found.run.how
    several = shared(found.run.network.writer, own, how, run.at_once, run.length, again=run.recompute == "full")
    each = [_one(found, one, setting) for one in several]
    again = sum(one.seconds for one in each if one.title.endswith(AGAIN))
    left = max(1 - _beside_gathering_s(run, passes) / again, 0.0) if again else 0.0
    for one in each:
        yield replace(one, waited_s=left * one.seconds) if one.title.endswith(AGAIN) else one


def _beside_gathering_s(run: Run, passes: Passes) -> float:
    """The backward products for inputs that were gathered. [s]"""
    flow, names = run.base.flow, run.base.op_names.tolist()
    assert flow is not None
    pairs = zip(names, flow.reads, run.base.kinds, strict=True)
    wanted = {f"d({name}).input" for name, read, kind in pairs if kind == "linear" and names[read[0]] in SPREAD}
    backward = passes.backward
    times = zip(backward.run.op_names.tolist(), backward.times.kernel_s.tolist(), strict=True)
    return float(sum(seconds for name, seconds in times if name in wanted))


def _between(found: Training, setting: Setting) -> Iterator[Sent]:
    """Of a micro-batch between stages."""
    run = found.run
    if run.how.pp > 1:
        yield from (_one(found, one, setting) for one in hops(run.network.writer, run.how, run.at_once, run.length))


def _one(found: Training, one: Exchange, setting: Setting) -> Sent:
    """What nothing is beside: products wait for it."""
    size, overhead = message_bytes(one, setting), found.whole.forward.times.overhead_s
    between = one.kind == "point_to_point" or one.name == "gradients of the embedding"
    link = found.place.next_stage if between else found.place.link(one.members)
    seconds = one.times * (float(np.sum(bound_s(one.kind, size, one.members, link))) + overhead)
    return Sent(one.title, one.times, one.times * sent_bytes(one, setting), seconds, seconds)
