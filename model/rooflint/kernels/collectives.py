"""Collectives: how long devices take to exchange a message over their links.

Each algorithm sends so many bytes from a device, in so many steps that wait for each other:

    launch + steps · latency + wire + 2 · √(chunk · wire),    wire = (bytes sent + copy · bytes kept) / rate

The rate is what NCCL counts on, a share of the bandwidth of a data sheet that depends on the generation. What a device
keeps is copied within it by the SMs that send, in a share of the time that sending takes.

The root is what a pipeline loses to its chunks where they have the best size: with k chunks it takes k times the
latency of a chunk, and one chunk more than the message, which together are least at twice the root. Latencies of
steps and chunks are clocks of SMs, which pass chunks on; those of shots and launches are not.

- Ring: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", J. Parallel Distrib.
  Comput. 69(2), 2009. doi:10.1016/j.jpdc.2008.09.002
- Double tree, and chunks of a pipeline: Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth broadcast,
  reduction and scan", Parallel Computing 35(12), 2009. doi:10.1016/j.parco.2009.09.001
- One and two shots are the custom all-reduce of serving frameworks: each device reads what its peers have written,
  all of it, or its own part, which is then read by the others.
- The switch adds up what all devices send (NVLink SHARP, NVLS) and sends the sum to all of them.

docs/method-silicon-layers.md has the measurements.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rooflint.base.errors import RooflintError
from rooflint.kernels.chip import Chip, Link, MissingFactError
from rooflint.kernels.constants import Collectives, Constants
from rooflint.kernels.kernel import GA100, Kernel, Terms, Times, Work
from rooflint.kernels.shapes import Numbers, columns_of

Kind = Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "point_to_point"]
Library = Literal["framework", "nccl"]

PASSES: Mapping[Kind, int] = MappingProxyType({"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1})
"""How often a ring takes each part of a message to all devices: to add it up, and to hand out the sum."""

SHOT_BYTES = 16 * 2**20
"""Longest message that frameworks do not leave to NCCL: 8 to 16 MiB by framework and device. [B]"""

SWITCHED_FROM = 8
"""Devices from which on NCCL lets switches add up."""

SWITCH_EFFICIENCY = 0.85
"""Share of the rate that NCCL counts on where switches of Hopper add up: src/graph/tuning.cc, nvlsEfficiency. [1]"""

BOX = 8
"""Devices from which on NCCL takes a tree; up to as many are in one box, where its times are those of a ring."""

US = 1e-6


class Messages(NamedTuple):
    """One entry a collective."""

    message_bytes: Numbers
    """What all-reduce adds up and all-gather ends with; what reduce-scatter and all-to-all begin with. [B]"""
    members: Numbers
    """Devices that take part."""

    @property
    def part_bytes(self) -> Numbers:
        """Of one device. [B]"""
        return self.message_bytes / self.members

    @property
    def others(self) -> Numbers:
        """Devices besides one's own."""
        return self.members - 1


class Exchange(NamedTuple):
    """An algorithm on some messages; shape (collectives,) each."""

    sent_bytes: Numbers
    """By each device, in one direction, with what a copy within it counts for. [B]"""
    latency_s: Numbers
    """Of all steps; infinite where libraries do not take the algorithm. [s]"""
    chunk_s: float
    """Latency of a chunk where the message is cut into a pipeline of chunks, else 0. [s]"""
    efficiency: float = 1.0
    """Share of the rate. [1]"""

    def wire_s(self, link: Link) -> Numbers:
        """To send. [s]"""
        return self.sent_bytes / (self.efficiency * link.attained_bytes_per_s)

    def pipeline_s(self, link: Link) -> Numbers:
        """What is lost to chunks. [s]"""
        return 2 * np.sqrt(self.chunk_s * self.wire_s(link))

    def seconds(self, link: Link) -> Numbers:
        """All but the launch. [s]"""
        return self.wire_s(link) + self.pipeline_s(link) + self.latency_s


class Latencies(NamedTuple):
    """Of one chip, between steps of an algorithm. [s]"""

    step: float
    exchange: float
    chunk: float

    @classmethod
    def of(cls, chip: Chip, own: Collectives) -> Self:
        """On its links at its clock."""
        link = link_of(chip).latency_s
        step, exchange = own.step_clocks * chip.clock_s, own.exchange_us * US
        return cls(step + link, exchange + link, own.chunk_clocks * chip.clock_s)


# ---- Bytes and steps by algorithm


def ring_bytes(kind: Kind, messages: Messages) -> Numbers:
    """What each device sends in one direction: all parts but one in each pass; a message to one device whole. [B]"""
    if kind == "point_to_point":
        return np.where(messages.members > 1, messages.message_bytes, 0.0)
    return PASSES.get(kind, 1) * messages.others * messages.part_bytes


def _sent_and_kept(kind: Kind, messages: Messages, own: Collectives) -> Numbers:
    kept = 0.0 if kind == "point_to_point" else own.copy_share * messages.part_bytes
    found: Numbers = ring_bytes(kind, messages) + kept
    return found


def _ring(kind: Kind, messages: Messages, waits: Latencies, own: Collectives) -> Exchange:
    steps = PASSES[kind] * messages.others if kind in PASSES else np.ones_like(messages.members)
    return Exchange(_sent_and_kept(kind, messages, own), steps * waits.step, waits.chunk)


def _tree(messages: Messages, waits: Latencies, own: Collectives) -> Exchange:
    steps = 2 * np.ceil(np.log2(messages.members))
    latency = np.where(messages.members > BOX, steps * waits.step, np.inf)
    return Exchange(_sent_and_kept("all_reduce", messages, own), latency, waits.chunk)


def _switch(messages: Messages, waits: Latencies, link: Link) -> Exchange:
    taken = (messages.members >= SWITCHED_FROM) & link.reduces
    latency = np.where(taken, 2 * waits.exchange, np.inf)
    return Exchange(messages.message_bytes + messages.part_bytes, latency, waits.chunk, SWITCH_EFFICIENCY)


def _shots(shots: int, messages: Messages, waits: Latencies) -> Exchange:
    latency = shots * waits.exchange + np.zeros_like(messages.members)
    latency[messages.message_bytes > SHOT_BYTES] = np.inf
    if shots == 1:
        return Exchange(messages.others * messages.message_bytes, latency, 0.0)
    return Exchange(ring_bytes("all_reduce", messages), latency, 0.0)


def exchanges(
    kind: Kind, messages: Messages, chip: Chip, own: Collectives, library: Library = "framework"
) -> dict[str, Exchange]:
    """The algorithms that a library has for a collective, by name."""
    waits = Latencies.of(chip, own)
    found = {"ring": _ring(kind, messages, waits, own)}
    if kind == "all_reduce":
        found |= {"tree": _tree(messages, waits, own), "switch": _switch(messages, waits, link_of(chip))}
        if library == "framework":
            found |= {f"{shots} shot": _shots(shots, messages, waits) for shots in (1, 2)}
    return found


def bound_s(kind: Kind, message_bytes: ArrayLike, members: ArrayLike, link: Link) -> Numbers:
    """What must be sent at full bandwidth: the roofline of a collective. [s]

    A switch that adds up is sent each message once, and sends the sum once.
    """
    messages = Messages(*columns_of(Messages._fields, message_bytes, members))
    sent = ring_bytes(kind, messages)
    if kind == "all_reduce" and link.reduces:
        sent = np.minimum(sent, messages.message_bytes)
    return sent / link.bandwidth_bytes_per_s


@dataclass(frozen=True)
class Collective(Kernel):
    """A collective over the links of a device; nothing else uses them at the time."""

    kind: Kind = "all_reduce"
    library: Library = "framework"
    """`framework`: in a graph, with the one and two shots of serving frameworks. `nccl`: NCCL alone, launched one by
    one from the host, as nccl-tests does."""

    op = "collective"
    columns = Messages._fields
    counted = "KiB"
    measured_on = (GA100, *(f"nvidia/{name}" for name in ("hopper-gh100", "blackwell-gb100", "blackwell-gb110")))
    rests_on = "calibrated on all-reduce of serving frameworks and on NCCL over NVLink"

    def __post_init__(self) -> None:
        for name, known in (("kind", get_args(Kind)), ("library", get_args(Library))):
            if getattr(self, name) not in known:
                raise RooflintError(f"{name}: want one of {', '.join(known)}, found '{getattr(self, name)}'")

    @property
    def topic(self) -> str | None:
        """Frameworks were measured with all-reduce alone, NCCL with all but one device to another."""
        if self.library == "framework":
            return "all_reduce" if self.kind == "all_reduce" else None
        return None if self.kind == "point_to_point" else f"nccl_{self.kind}"

    @property
    def caveats(self) -> tuple[str, ...]:
        """What was not measured."""
        found = ["links within a box: across boxes NCCL's tree and the latency of a network card are not calibrated"]
        if self.kind == "point_to_point":
            found.append("a message to one other device was not measured: it takes the constants of a ring")
        return tuple(found)

    def sizes(self, *sizes: ArrayLike, **named: ArrayLike) -> Messages:
        """Of messages, and the devices that take part."""
        return Messages(*columns_of(self.columns, *sizes, **named))

    def tensor_bytes(self, work: Work) -> Numbers:
        """What each device sends in one direction, by a ring. [B]"""
        return ring_bytes(self.kind, work.sizes)

    def floor_s(self, work: Work, chip: Chip) -> Numbers:
        """What must be sent, at full bandwidth. [s]"""
        return bound_s(self.kind, work.sizes.message_bytes, work.sizes.members, link_of(chip))

    def launch_s(self, own: Collectives) -> float:
        """To start and end its kernel. [s]"""
        return US * (own.host_launch_us if self.library == "nccl" else own.launch_us)

    def time(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> Times:
        """By the algorithm that takes least; 0 of one device. Raises MissingFactError for a chip without links."""
        terms = self.terms(work, chip, constants)
        moved = terms["wire"]
        floors = np.array([terms["steps"] + terms["launch"]])
        return Times(np.zeros_like(moved), moved, moved + terms["pipeline"], floors)

    def terms(self, work: Work, chip: Chip, constants: Constants) -> Terms:
        """Bytes on the wire, what is lost to chunks, steps and the launch."""
        messages, link, own = work.sizes, link_of(chip), constants.collectives
        found = exchanges(self.kind, messages, chip, own, self.library)
        best, shared = _best(found, link), messages.members > 1

        def chosen(part: Callable[[Exchange], Numbers]) -> Numbers:
            each = np.array([part(one) for one in found.values()])
            return np.where(shared, each[best, np.arange(len(best))], 0.0)

        return {
            "wire": chosen(lambda one: one.wire_s(link)),
            "pipeline": chosen(lambda one: one.pipeline_s(link)),
            "steps": chosen(lambda one: one.latency_s),
            "launch": np.where(shared, self.launch_s(own), 0.0),
        }

    def algorithms(self, work: Work, chip: Chip, constants: Constants) -> list[str]:
        """The name of the algorithm of each collective."""
        found = exchanges(self.kind, work.sizes, chip, constants.collectives, self.library)
        names, best = list(found), _best(found, link_of(chip))
        return [names[one] for one in best]

    def alpha_beta_s(self, work: Work, chip: Chip, constants: Constants) -> Numbers:
        """By the algorithm that takes least, without chunks and copies, at the bandwidth of the data sheet. [s]

        Hockney, "The communication challenge for MPP", Parallel Computing 20(3), 1994.
        doi:10.1016/S0167-8191(06)80021-9
        """
        own = replace(constants.collectives, copy_share=0.0)
        found = exchanges(self.kind, work.sizes, chip, own, self.library)
        full = link_of(chip).bandwidth_bytes_per_s
        least_s = np.min([one.latency_s + one.sent_bytes / full for one in found.values()], axis=0)
        return np.where(work.sizes.members > 1, self.launch_s(own) + least_s, 0.0)

    def rows(self, work: Work) -> Numbers:
        """KiB of the message."""
        return np.asarray(work.sizes.message_bytes / 1024)


def _best(found: Mapping[str, Exchange], link: Link) -> NDArray[np.int_]:
    """Position of the algorithm that takes least, of each collective."""
    return np.asarray(np.argmin([one.seconds(link) for one in found.values()], axis=0))


def link_of(chip: Chip) -> Link:
    """The links of a chip. Raises MissingFactError where its spec has none."""
    if chip.link is None:
        raise MissingFactError("the device lacks the facts 'links': their count and rate; without them no collective")
    return chip.link
