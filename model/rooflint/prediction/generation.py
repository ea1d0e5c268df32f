"""Generation: a language model that reads prompts and then writes tokens one by one, on one device or several.

All prompts of a batch are read at once (prefill), which gives the first token of each; then every pass writes one more
token of each (decode), on a cache that grows. docs/method-networks.md has the definitions.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from rooflint.base.precision import tensor_bytes
from rooflint.energy.model import Energies
from rooflint.prediction.comparison import Contender, contend
from rooflint.prediction.parallel import Phase, Place, Split, kept_wide, message_bytes, passes, sent_bytes
from rooflint.prediction.predict import Setting
from rooflint.workloads.configuration import Transformer
from rooflint.workloads.footprint import Footprint, footprint
from rooflint.workloads.networks import Network
from rooflint.workloads.parallelism import Parallelism, shard, stage
from rooflint.workloads.transformer import Step, decode_steps, table
from rooflint.workloads.workload import Workload, WorkloadError


@dataclass(frozen=True)
class Run:
    """What is generated."""

    network: Network
    batch: int
    prompt: int
    """Tokens of each prompt."""
    generate: int
    """Tokens that are written for each."""

    def __post_init__(self) -> None:
        """Raises WorkloadError for less than one token or sequence, and for more tokens than the context."""
        for name in ("batch", "prompt", "generate"):
            if getattr(self, name) < 1:
                raise WorkloadError(f"{name}: want 1 or more, found {getattr(self, name)}")
        if self.network.transformer.encoder:
            raise WorkloadError(f"{self.network.name}: is an encoder, which writes no tokens; want no --generate")
        context = self.network.transformer.context
        if self.prompt + self.generate > context:
            raise WorkloadError(
                f"{self.network.name}: want a prompt and new tokens within its context of {context}, "
                f"found {self.prompt} + {self.generate}"
            )

    @cached_property
    def prefill(self) -> Workload:
        """All prompts."""
        return table(self.network.transformer, self.batch, self.prompt)

    @cached_property
    def decode(self) -> Workload | None:
        """All passes after the first token; None where no other is written."""
        if self.generate == 1:
            return None
        return table(self.network.transformer, self.batch, 1, decode_steps(self.prompt, self.generate - 1))

    @cached_property
    def _footprints(self) -> tuple[Footprint, ...]:
        """Of the prompts and of the last pass, each of one sequence."""
        return self._footprints_of(self.network.transformer)

    def _footprints_of(self, net: Transformer) -> tuple[Footprint, ...]:
        last = self.prompt + self.generate - 2
        passes = [table(net, 1, self.prompt)]
        passes += [table(net, 1, 1, [Step(last)])] if self.generate > 1 else []
        return tuple(map(footprint, passes))

    def memory(self, storage: str, how: Parallelism | None = None) -> "Memory":
        """What must be there at once, on each of the devices."""
        how = how or Parallelism()
        groups, net = how.groups, self.network.transformer
        alone = how.devices == 1
        found = self._footprints if alone else self._footprints_of(stage(shard(net, how), how))
        activations = max(one.peak_activation_bytes(storage) for one in found)
        cache = max(one.cache_bytes(storage) for one in found)
        weights = found[0].weight_bytes(storage)
        if how.pp > 1 and not net.tied:  # the first stage has the embedding, the last one the head
            weights -= float(tensor_bytes(-(-net.embedding_parameters // how.tp), kept_wide(storage)))
        of_group = -(-self.batch // groups)
        return Memory(weights, cache, activations / min(of_group, how.pp), of_group, groups)


@dataclass(frozen=True)
class Memory:
    """Bytes that a run needs: weights once, the rest for each sequence."""

    weight_bytes: float
    cache_of_one_bytes: float
    activations_of_one_bytes: float
    batch: int
    """Of the devices that have the same sequences."""
    groups: int = 1
    """Groups of devices, each with sequences of its own."""

    @property
    def cache_bytes(self) -> float:
        """Keys and values of all tokens but the last one, of all sequences. [B]"""
        return self.batch * self.cache_of_one_bytes

    @property
    def activation_bytes(self) -> float:
        """The most activations at once. [B]"""
        return self.batch * self.activations_of_one_bytes

    @property
    def total_bytes(self) -> float:
        """All of it. [B]"""
        return self.weight_bytes + self.cache_bytes + self.activation_bytes

    def largest_batch(self, capacity_bytes: float) -> int:
        """Sequences for which there is room; 0 where there is none for one."""
        each = self.cache_of_one_bytes + self.activations_of_one_bytes
        return self.groups * max(int((capacity_bytes - self.weight_bytes) // each), 0)


@dataclass(frozen=True)
class Generation:
    """A run on one device, or on several that share the network."""

    run: Run
    prefill: Phase
    decode: Phase | None
    memory: Memory

    @property
    def short(self) -> str:
        """The device without its vendor, and how many there are."""
        return self.place.short

    @property
    def place(self) -> Place:
        """Where it runs."""
        return self.prefill.place

    @property
    def first_token_s(self) -> float:
        """Time to first token: all prompts are read. [s]"""
        return self.prefill.latency_s

    @property
    def steps(self) -> int:
        """Passes of decode."""
        return self.run.generate - 1

    @property
    def token_s(self) -> float | None:
        """Time per output token: the mean pass of decode; None where there is none. [s]"""
        return self.decode.latency_s / self.steps if self.decode else None

    @property
    def total_s(self) -> float:
        """Until the last token. [s]"""
        return self.first_token_s + (self.decode.latency_s if self.decode else 0.0)

    @property
    def tokens_per_s(self) -> float:
        """Tokens written over the whole time, of all sequences. [1/s]"""
        return self.run.batch * self.run.generate / self.total_s

    @property
    def tokens_per_s_of_device(self) -> float:
        """The same over the number of devices. [1/s]"""
        return self.tokens_per_s / self.place.how.devices

    @property
    def tokens_per_s_of_user(self) -> float | None:
        """Tokens that a sequence gets once the first is there; None where no other is written. [1/s]"""
        return 1 / self.token_s if self.token_s else None

    @property
    def energy_j(self) -> float | None:
        """Of the whole run and of all devices; None where it is not known of a phase, or a term is missing. [J]"""
        phases = [one for one in (self.prefill, self.decode) if one]
        return sum(one.energy_j for one in phases) if all(one.complete for one in phases) else None

    @property
    def token_j(self) -> float | None:
        """Energy of a token that is written, its share of the prompt included. [J]"""
        energy = self.energy_j
        return None if energy is None else energy / (self.run.batch * self.run.generate)

    @property
    def capacity_bytes(self) -> float | None:
        """Of the main memory; None where it is not known. [B]"""
        memory = self.prefill.hardware.main_memory()
        return memory.capacity_bytes if "capacity" in memory.facts else None

    @property
    def fits(self) -> bool | None:
        """Whether the memory has room for weights, cache and activations; None where its capacity is not known."""
        capacity = self.capacity_bytes
        return None if capacity is None else self.memory.total_bytes <= capacity

    @property
    def largest_batch(self) -> int | None:
        """The most sequences for which there is room; None where the capacity is not known."""
        capacity = self.capacity_bytes
        return None if capacity is None else self.memory.largest_batch(capacity)


@dataclass(frozen=True)
class Candidate:
    """A device with its run, or with the reason why it cannot run it."""

    prefill: Contender
    found: Generation | None
    place: Place

    @property
    def label(self) -> str:
        """`nvidia/t4`, `8 × nvidia/h100-sxm5-80gb`"""
        return self.place.label

    @property
    def short(self) -> str:
        """The label without its vendor."""
        return self.place.short


def generate(places: Iterable[Place], run: Run, energies: Energies, setting: Setting) -> tuple[Candidate, ...]:
    """The run on each place. A device that cannot compute in that precision is kept with its reason.

    Raises WorkloadError for what cannot be divided.
    """
    return tuple(_on(place, run, energies, setting) for place in places)


class Sent(NamedTuple):
    """What each device sends to others, of one part of a batch, in one pass over all layers."""

    name: str
    kind: str
    members: int
    prefill_times: int
    prefill_message_bytes: float
    prefill_sent_bytes: float
    decode_times: int
    decode_message_bytes: float
    decode_sent_bytes: float


def exchanged(run: Run, how: Parallelism, setting: Setting) -> Iterator[Sent]:
    """Of all collectives, in prefill and in a pass of decode. Raises WorkloadError for what cannot be divided."""
    net = run.network.transformer
    if how.devices == 1:
        return
    for first, then in zip(*(passes(net, how, run.batch, new) for new in (run.prompt, 1)), strict=True):
        prefill, decode = ((one.times, message_bytes(one, setting), sent_bytes(one, setting)) for one in (first, then))
        yield Sent(first.name, first.kind, first.members, *prefill, *decode)


def _on(place: Place, run: Run, energies: Energies, setting: Setting) -> Candidate:
    split = Split(run.network.transformer, place, energies, setting)
    alone = place.how.devices == 1
    prompts = run.prefill if alone else split.table(run.batch, run.prompt, [Step(0)])
    prefill = contend(place.hardware, prompts, energies, setting)
    if prefill.found is None:
        return Candidate(prefill, None, place)
    first, decode = split.phase(run.batch, run.prompt, [Step(0)], prefill.found), None
    if run.generate > 1:
        steps = decode_steps(run.prompt, run.generate - 1)
        found = contend(place.hardware, run.decode, energies, setting).found if alone and run.decode else None
        decode = split.phase(run.batch, 1, steps, found)
    memory = run.memory(setting.storage or setting.compute, place.how)
    return Candidate(prefill, Generation(run, first, decode, memory), place)
