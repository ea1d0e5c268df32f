"""A phase of a run on several devices: what each computes, what they exchange, and what all take together.

Nothing overlaps: a collective waits for the products before it, and those after it wait for the collective.
docs/method-parallelism.md has the formulas.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from rooflint.base.errors import RooflintError
from rooflint.base.precision import POLICIES, WIDE, tensor_bytes
from rooflint.energy.model import Energies, idle_w
from rooflint.hardware.device import Hardware
from rooflint.hardware.names import systems_of
from rooflint.hardware.registry import Registry
from rooflint.hardware.system import System
from rooflint.kernels.chip import Chip, Link, chip_of
from rooflint.kernels.collectives import Collective, Messages, bound_s, ring_bytes
from rooflint.kernels.routing import ExpertExchange
from rooflint.prediction.predict import Prediction, Setting, predict
from rooflint.workloads.configuration import Transformer
from rooflint.workloads.multimodal import VisionLanguage
from rooflint.workloads.parallelism import Exchange, Parallelism, Routed, context_share, exchanges, hop, shard, stage
from rooflint.workloads.transformer import Step, table
from rooflint.workloads.workload import Workload

NETWORK = "network"
"""What a device waits for where it waits for others."""


@dataclass(frozen=True)
class Place:
    """Devices that run a network together."""

    hardware: Hardware
    """One of them."""
    how: Parallelism = field(default_factory=Parallelism)
    system: System | None = None
    """What they are part of; several of it where it has fewer devices. None of one device."""

    def __post_init__(self) -> None:
        """Raises RooflintError where a stage is larger than the system, and where no cards join several systems."""
        if self.system is None:
            if self.how.devices > 1:
                raise RooflintError(f"{self.hardware.label}: {self.how}: want a system of such devices, found none")
            return
        if self.how.of_stage > self.system.count:
            option = "--cp" if self.how.cp > 1 else "--ep" if self.how.ep > self.how.tp else "--tp"
            several = "--pp takes several systems, and so does --dp of training"
            most = f"the {self.system.count} devices of {self.system.id}"
            raise RooflintError(f"{option}: want at most {most}, found {self.how.of_stage}; {several}")
        if self.boxes > 1:
            self.system.outside()  # raises where there are no cards

    @property
    def label(self) -> str:
        """`nvidia/t4`, `8 × nvidia/h100-sxm5-80gb`"""
        return self._counted(self.hardware.label)

    @property
    def short(self) -> str:
        """The label without its vendor."""
        return self._counted(self.hardware.label.rpartition("/")[2])

    def _counted(self, name: str) -> str:
        return f"{self.how.devices} × {name}" if self.how.devices > 1 else name

    @property
    def boxes(self) -> int:
        """Systems that it takes."""
        return -(-self.how.devices // self.system.count) if self.system else 1

    def link(self, members: int) -> Link:
        """From one device to the others of a collective."""
        assert self.system
        switched = self.system.joined.topology == "switch"
        return Link.of(self.hardware, self.system.among(members), switched=switched)

    @property
    def next_stage(self) -> Link:
        """From a stage to the next one, the slowest of all."""
        assert self.system
        if self.boxes > 1:
            return Link(self.system.outside())
        return Link.of(self.hardware, self.system.among(2), switched=False)


def place(hardware: Hardware, how: Parallelism, registry: Registry, system: System | None = None) -> Place:
    """Where a device runs with others: in the system that is given, else in the one that has such devices.

    Raises RooflintError where no system or several have such devices.
    """
    if how.devices == 1 or system:
        return Place(hardware, how, system)
    found = systems_of(registry, hardware)
    if len(found) > 1:
        names = ", ".join(one.short for one in found)
        raise RooflintError(f"{hardware.label} is in several systems; want one of them instead: {names}")
    return Place(hardware, how, found[0] if found else None)


def kept_wide(storage: str) -> str:
    """The precision of what a policy keeps wide; the precision itself where it is none."""
    return WIDE[0] if storage in POLICIES else storage


@dataclass(frozen=True, eq=False)
class Pass:
    """Passes over prompts, or of tokens, on all devices; of one device its prediction."""

    prediction: Prediction
    """One device with all layers and a part of the batch."""
    place: Place
    parts: int
    """Of the batch of a group, one after the other through the stages."""
    waits_s: Mapping[str, float]
    """What one part waits for others in all layers, and between stages, by collective. [s]"""
    slowest_s: float
    """The slowest stage with one part. [s]"""
    filled: bool
    """Whether the first part comes again as soon as the last one has left the first stage, as tokens do."""
    idle_each_w: float | None
    """Of a device that waits; None where it is not known. [W]"""

    @property
    def hardware(self) -> Hardware:
        """One of the devices."""
        return self.prediction.hardware

    @property
    def reasons(self) -> Mapping[str, str]:
        """What is not known, and why."""
        return self.prediction.reasons

    @property
    def network_s(self) -> float:
        """All that one part waits for others. [s]"""
        return sum(self.waits_s.values())

    @property
    def _once_s(self) -> float:
        """One part through all stages. [s]"""
        return self.prediction.latency_s + self.network_s

    @cached_property
    def latency_s(self) -> float:
        """Of the whole phase. [s]

        Of prompts each part follows the one before through the stages. Of tokens, all stages work where there are as
        many parts as stages, at the pace of the slowest.
        """
        stages = self.place.how.pp
        if not self.filled:
            return self._once_s + (self.parts - 1) * self.slowest_s
        return max(self._once_s, stages * self.slowest_s) if self.parts == stages else self._once_s

    @property
    def shares(self) -> Mapping[str, float]:
        """Seconds that the latency waits for compute, memory, launches and others; they add up to it. [s]"""
        scale = self.latency_s / self._once_s
        own = {name: scale * waited for name, waited in self.prediction.shares.items()}
        return {**own, NETWORK: scale * self.network_s}

    @property
    def kernels_s(self) -> Mapping[str, float]:
        """The latency by kernel, of all layers, and by collective. [s]"""
        scale = self.latency_s / self._once_s
        names, seconds = self.prediction.run.op_names.tolist(), self.prediction.times.kernel_s.tolist()
        found: dict[str, float] = {}
        for name, each in (*zip(names, seconds, strict=True), *self.waits_s.items()):
            plain = str(name).partition("@")[0]
            found[plain] = found.get(plain, 0.0) + scale * each
        return {name: each for name, each in found.items() if each}

    @property
    def bound(self) -> str:
        """What most of the latency waits for: compute, memory, launch or network."""
        return max(self.shares, key=lambda name: self.shares[name])

    @property
    def _busy(self) -> float:
        """Share of the latency that a device computes or moves data, over that of its prediction. [1]"""
        return self.parts * self.prediction.latency_s / self.place.how.pp / self.latency_s

    @property
    def compute_efficiency(self) -> float:
        """Attained over peak rate of all devices. [1]"""
        return self.prediction.compute_efficiency * self._busy

    @property
    def bandwidth_efficiency(self) -> float:
        """Attained over peak bandwidth of all devices. [1]"""
        return self.prediction.bandwidth_efficiency * self._busy

    @property
    def _runs(self) -> int:
        """How often the prediction's work is done, by all groups of all parts."""
        return self.parts * self.place.how.of_stage

    @property
    def ops(self) -> float:
        """Of all devices."""
        return self._runs * float(self.prediction.times.ops.sum())

    @property
    def bytes_moved(self) -> float:
        """By the memories of all devices. [B]"""
        return self._runs * float(self.prediction.times.bytes_moved.sum())

    @property
    def complete(self) -> bool:
        """Whether the energy is known and no term is left out of it but that of links."""
        return self.prediction.complete and (self.place.how.devices == 1 or self.idle_each_w is not None)

    @property
    def energy_j(self) -> float:
        """Of all devices; while they wait for others, they take their idle power. [J]. Raises NotKnownError."""
        work = self._runs * self.prediction.energy_j
        if self.place.how.devices == 1:
            return work
        waited = self.place.how.devices * self.latency_s - self._runs * self.prediction.latency_s
        return work + waited * (self.idle_each_w or 0.0)


def sequences(how: Parallelism, batch: int, together: int | None = None) -> tuple[int, int]:
    """Parts into which a group cuts its sequences, and the sequences of a part.

    There are as many as stages, or as sequences if those are fewer; more where a part has no more than `together`.
    """
    of_group = -(-batch // how.groups)
    parts = max(min(of_group, how.pp), -(-of_group // together) if together else 1)
    return parts, -(-of_group // parts)


def passes(net: Transformer, how: Parallelism, batch: int, new: int, together: int | None = None) -> list[Exchange]:
    """What a device exchanges in a pass of a part of a batch over all layers. Raises WorkloadError as `shard`."""
    _, part = sequences(how, batch, together)
    found = [*exchanges(net, shard(net, how), how, part, new)]
    return [*found, replace(hop(net, how, part, new), times=how.pp - 1)] if how.pp > 1 else found


def message_bytes(one: Exchange, setting: Setting) -> float:
    """Activations are wide under a policy. [B]"""
    return float(tensor_bytes(one.elements, kept_wide(setting.storage or setting.compute)))


def sent_bytes(one: Exchange, setting: Setting) -> float:
    """By each device in one direction, by a ring. [B]"""
    sizes = (np.array([float(size)]) for size in (message_bytes(one, setting), one.members))
    return float(np.sum(ring_bytes(one.kind, Messages(*sizes))))


@dataclass(frozen=True)
class Split:
    """A network on a place."""

    net: Transformer
    place: Place
    energies: Energies
    setting: Setting
    sees: VisionLanguage | None = None
    """The network with its encoder of images, which every device has whole."""

    @property
    def how(self) -> Parallelism:
        """How many devices share what."""
        return self.place.how

    @cached_property
    def own(self) -> Transformer:
        """What one device has, with the layers of all stages."""
        return shard(self.net, self.how)

    @cached_property
    def own_stage(self) -> Transformer:
        """The same with the layers of the largest stage."""
        return stage(self.own, self.how)

    @property
    def step(self) -> Workload:
        """A pass of decode on one device."""
        return table(self.own)

    def phase(self, batch: int, new: int, steps: Sequence[Step], together: int | None = None) -> Pass:
        """So many tokens of each sequence, in each of the steps, in parts of no more than `together` sequences.

        Raises as `predict`, and WorkloadError for what cannot be divided.
        """
        (parts, part), times = sequences(self.how, batch, together), sum(step.times for step in steps)
        found = self._predicted(self.own, part, new, steps)
        waits = {name: times * each for name, each in self._waits(self.own, part, new, found).items()}
        slowest = found.latency_s + sum(waits.values())
        if self.how.pp > 1:
            between = times * self._each(hop(self.net, self.how, part, new), self.place.next_stage, found)
            largest = self._predicted(self.own_stage, part, new, steps)
            own = sum(self._waits(self.own_stage, part, new, largest).values())
            slowest = largest.latency_s + times * own + between
            waits[hop(self.net, self.how, part, new).title] = (self.how.pp - 1) * between
        return Pass(found, self.place, parts, waits, slowest, new == 1, self._idle_w())

    def _predicted(self, net: Transformer, batch: int, new: int, steps: Sequence[Step]) -> Prediction:
        images = self.sees if tuple(steps) == (Step(0),) else None  # they are among the prompts alone
        batch, new, steps = self._in_parts(batch, new, steps)
        work = images.written_by(net).table(batch, new) if images else table(net, batch, new, steps)
        return predict(self.place.hardware, work, self.energies, self.setting)

    def _in_parts(self, batch: int, new: int, steps: Sequence[Step]) -> tuple[int, int, Sequence[Step]]:
        """What one device has of sequences that are divided; caches that become as long are one step."""
        if self.how.cp == 1:
            return batch, new, steps
        times: dict[int, int] = {}
        for step in steps:
            _, _, past = context_share(self.how, batch, new, step.past)
            times[past] = times.get(past, 0) + step.times
        own, each, _ = context_share(self.how, batch, new)
        return own, each, [*map(Step, times, times.values())]

    def _idle_w(self) -> float | None:
        try:
            return idle_w(self.place.hardware, self.energies.coefficients).typical
        except RooflintError:
            return None

    def _waits(self, layers: Transformer, batch: int, new: int, found: Prediction) -> dict[str, float]:
        """All collectives of a pass, each in all of its layers. [s]"""
        among = exchanges(self.net, layers, self.how, batch, new)
        return {one.title: one.times * self._each(one, self.place.link(one.members), found) for one in among}

    def _each(self, one: Exchange, link: Link, found: Prediction) -> float:
        """One collective: what must be sent at full bandwidth and a launch, or its calibrated time. [s]"""
        size = message_bytes(one, self.setting)
        if not found.silicon:
            return float(np.sum(bound_s(one.kind, size, one.members, link))) + found.times.overhead_s
        chip = replace(
            chip_of(self.place.hardware, self.setting.compute, self.energies.coefficients.launches()), link=link
        )
        if one.routed:
            return self._routed(one.routed, one.members, chip)
        kernel = Collective(kind=one.kind)
        return kernel.predict(kernel.work(size, one.members), chip, self.energies.silicon).item()

    def _routed(self, one: Routed, members: int, chip: Chip) -> float:
        """Tokens to their experts or back, by their calibrated kernels. [s]"""
        storage = kept_wide(self.setting.storage or self.setting.compute)
        kernel = ExpertExchange(storage, way=one.way)
        work = kernel.work(one.tokens, one.hidden, one.per_token, one.experts, members)
        return kernel.predict(work, chip, self.energies.silicon).item()
