"""What devices that train together exchange, and what of it a step waits for.

- Tensor-parallel devices add up the results of attention and feed-forward in the forward pass, and the gradients of
  their inputs in the backward pass; products wait for each sum. Shoeybi et al., "Megatron-LM", 2019. arXiv:1909.08053
- With sequence parallelism each of these sums is scattered, and what was scattered is gathered before products.
  Korthikanti et al., 2022. arXiv:2205.05198
- Stages of a pipeline send activations forward and their gradients backward. Narayanan et al., SC 2021,
  arXiv:2104.04473.
- Data-parallel devices add up gradients, in buckets of 25 MB, each as soon as the backward pass has made it. Li et al.,
  "PyTorch Distributed", VLDB 2020. arXiv:2006.15704
- Or they share states, gradients and weights, stage by stage of ZeRO. Rajbhandari et al., SC 2020. arXiv:1910.02054

docs/method-parallelism.md has the formulas.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rooflint.base.errors import RooflintError
from rooflint.kernels.chip import Link
from rooflint.kernels.collectives import Kind, Messages, bound_s, ring_bytes
from rooflint.prediction.parallel import Place
from rooflint.workloads.configuration import Transformer
from rooflint.workloads.parallelism import Exchange, Parallelism, exchanges, hop, titled

BUCKET_BYTES = 25 * 2**20
"""Gradients that are sent together. [B]"""

Zero = int
"""What data-parallel devices share: nothing (0), states of the optimizer (1), and gradients (2), and weights (3)."""
STAGES = range(4)


@dataclass(frozen=True)
class Sent:
    """A collective of a step, in all of its runs."""

    title: str
    """`all-reduce, gradients`"""
    times: int
    sent_bytes: float
    """By each device in one direction, by a ring. [B]"""
    seconds: float
    """What it takes. [s]"""
    waited_s: float
    """What the step waits for it. [s]"""


def shared(
    net: Transformer, own: Transformer, how: Parallelism, batch: int, length: int, again: bool
) -> list[Exchange]:
    """Of a tensor- and expert-parallel stage in a micro-batch: forward, backward, and where layers run again.

    `own` has the layers of the stage; sequences are those of a tensor-parallel group. Of the logits each token needs
    three numbers: their maximum, the sum of exponentials, and that of the right word.
    """
    forward = [one for one in exchanges(net, own, how, batch, length) if one.kind != "all_gather"]
    in_layers = [one for one in forward if one.name != "embedding"]
    found = [*forward, *(replace(one, name=f"{one.name} backward") for one in in_layers)]
    found += [replace(one, name=f"{one.name} again") for one in in_layers if again]
    if how.tp > 1 and not net.encoder:
        whole = Exchange("head backward", "all_reduce", batch * length * net.hidden, how.tp, 1)
        found += [Exchange("loss", "all_reduce", batch * length, how.tp, 3), whole]
    return [part for one in found for part in _scattered(one)] if how.sequence else found


AGAIN = ", inputs"
"""Behind the name of a gathering of what a product has read, for the gradient of its weights."""


def _scattered(one: Exchange) -> Iterator[Exchange]:
    """The same with sequence parallelism: a sum is a reduce-scatter, and what it has scattered is gathered.

    Of what products read a device keeps its tokens, so that these are gathered for the gradients of weights once more.
    """
    gathered, summed = replace(one, kind="all_gather"), replace(one, kind="reduce_scatter")
    if one.kind != "all_reduce" or one.name == "loss":
        yield one
    elif one.name == "embedding":  # whose gradients all devices need, each for its words
        yield from (summed, replace(gathered, name="embedding backward"))
    elif one.name == "head backward":
        yield from (replace(gathered, name="head"), summed, replace(gathered, name=f"{one.name}{AGAIN}"))
    else:
        yield from (gathered, summed)
        if one.name.endswith("backward"):
            yield replace(gathered, name=f"{one.name}{AGAIN}")


def hops(net: Transformer, how: Parallelism, batch: int, length: int) -> list[Exchange]:
    """What a micro-batch has sent to a stage and by it: activations from the one before, gradients from the one behind.

    Each device of a tensor-parallel group sends its part, which they gather unless tokens are divided among them.
    Narayanan et al., section 4.1.
    """
    whole = hop(net, how, batch, length)
    each = replace(whole, elements=-(-whole.elements // how.tp), times=2 * how.virtual)
    if how.tp == 1 or how.sequence:
        return [each]
    return [each, replace(whole, kind="all_gather", members=how.tp, times=each.times)]


def group(place: Place, *, experts: bool = False) -> tuple[int, int]:
    """Devices of a stage with the same weights but different sequences: in a system, and systems.

    Raises RooflintError where systems would have unequal numbers of them.
    """
    how, system = place.how, place.system
    apart, members = (how.of_stage, how.dp) if experts else (how.tp, how.copies)
    of_stage = how.of_stage * how.dp
    if system is None or (of_stage <= system.count and not (place.boxes > 1 and system.count % of_stage)):
        return members, 1
    if system.count % how.of_stage or of_stage % system.count:
        most = f"the {system.count} devices of {system.id}"
        option = "--ep" if how.ep > how.tp else "--tp"
        raise RooflintError(f"{option}, --dp: want a {option} that divides {most}, and a multiple of them in all")
    inside = system.count // apart
    return inside, members // inside


def over_all_s(kind: Kind, message_bytes: float, place: Place, *, experts: bool = False) -> float:
    """A collective of a data-parallel group at full bandwidth, the longer of its ways within and between systems. [s]

    Within a system each device ends with its part of the sum, which it adds up with those of other systems.
    """
    inside, systems = group(place, experts=experts)
    found = 0.0
    if inside > 1:
        found = float(np.sum(bound_s(kind, message_bytes, inside, place.link(inside))))
    if systems > 1:
        assert place.system
        cards = Link(place.system.outside())
        found = max(found, float(np.sum(bound_s(kind, message_bytes / inside, systems, cards))))
    return found


def waited_s(sent_s: float, beside_s: float, parts: int) -> float:
    """What is left of collectives that run beside a pass, in so many parts that it makes evenly. [s]

    They begin with the first part and end with the last at the earliest: max(sent + pass / parts, pass + sent / parts)
    less the pass.
    """
    return max(sent_s - beside_s * (1 - 1 / parts), sent_s / parts)


class Message(NamedTuple):
    """What a data-parallel group exchanges in a pass, in so many collectives."""

    kind: Kind
    name: str
    all_bytes: float
    times: int
    experts: bool = False
    """Whether it is of experts, which fewer devices share."""


@dataclass(frozen=True)
class Shared:
    """What a data-parallel group exchanges in a step."""

    place: Place
    zero: Zero
    weight_bytes: float
    """That are gathered, of a device. [B]"""
    gradient_bytes: float
    experts: float
    """Share of these bytes that are of experts, which fewer devices share. [1]"""
    layers: int
    micro_batches: int
    overhead_s: float
    """Of each launch. [s]"""

    def all(self, forward_s: float, backward_s: float) -> Iterator[Sent]:
        """Beside the passes of a micro-batch, of which the backward one has what runs again.

        Gradients are added up after the last micro-batch, or after each where a device keeps a share of them alone.
        """
        layers, runs = self.layers, self.micro_batches
        weights = self._parts("all_gather", "weights", self.weight_bytes, [layers, layers])
        if self.zero == STAGES[-1]:
            gradients = self._parts("reduce_scatter", "gradients", self.gradient_bytes, [layers, layers])
            yield from self._beside(forward_s, layers, runs, weights)
            again = [one._replace(name=f"{one.name} backward") for one in weights]
            yield from self._beside(backward_s, layers, runs, [*again, *gradients])
            return
        buckets = [max(math.ceil(part * self.gradient_bytes / BUCKET_BYTES), 1) for part in self._shares]
        kind: Kind = "reduce_scatter" if self.zero else "all_reduce"
        gradients = self._parts(kind, "gradients", self.gradient_bytes, buckets)
        runs = self.micro_batches if self.zero == STAGES[2] else 1
        yield from self._beside(backward_s, sum(one.times for one in gradients), runs, gradients)
        if self.zero:  # for the next step, when the optimizer has made them
            yield from self._beside(0.0, 1, 1, weights)

    @property
    def _shares(self) -> tuple[float, float]:
        """Of all but experts, and of experts. [1]"""
        return 1 - self.experts, self.experts

    def _parts(self, kind: Kind, name: str, all_bytes: float, times: Sequence[int]) -> list[Message]:
        """A message of all but experts, and one of experts where other devices share them; without those of one."""
        names, how = (name, f"{name} of experts"), self.place.how
        members = (how.copies, how.dp)
        found = zip(names, self._shares, times, members, strict=True)
        return [
            Message(kind, name, share * all_bytes, count, experts=name is names[1])
            for name, share, count, devices in found
            if share and devices > 1
        ]

    def _beside(self, pass_s: float, parts: int, runs: int, messages: Sequence[Message]) -> Iterator[Sent]:
        """Collectives beside a pass, which share the links and what is waited for."""
        each = [
            over_all_s(one.kind, one.all_bytes, self.place, experts=one.experts) + one.times * self.overhead_s
            for one in messages
        ]
        left = waited_s(sum(each), pass_s, parts) / sum(each)
        for one, seconds in zip(messages, each, strict=True):
            members = np.array([float(self.place.how.dp if one.experts else self.place.how.copies)])
            by_ring = float(np.sum(ring_bytes(one.kind, Messages(np.array([one.all_bytes]), members))))
            title = titled(one.kind, one.name)
            yield Sent(title, runs * one.times, runs * by_ring, runs * seconds, runs * seconds * left)
