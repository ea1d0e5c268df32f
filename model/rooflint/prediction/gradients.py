"""What devices that train together exchange, and what of it a step waits for.

- Tensor-parallel devices add up the results of attention and feed-forward in the forward pass, and the gradients of
  their inputs in the backward pass; products wait for each sum. Shoeybi et al., "Megatron-LM", 2019. arXiv:1909.08053
- Data-parallel devices add up gradients, in buckets of 25 MB, each as soon as the backward pass has made it. Li et al.,
  "PyTorch Distributed", VLDB 2020. arXiv:2006.15704
- Or they share states, gradients and weights, stage by stage of ZeRO. Rajbhandari et al., SC 2020. arXiv:1910.02054

docs/method-parallelism.md has the formulas.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rooflint.base.errors import RooflintError
from rooflint.kernels.chip import Link
from rooflint.kernels.collectives import Kind, Messages, bound_s, ring_bytes
from rooflint.prediction.parallel import Place
from rooflint.workloads.configuration import Transformer
from rooflint.workloads.parallelism import Exchange, Parallelism, exchanges, titled

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


def sums(net: Transformer, own: Transformer, how: Parallelism, batch: int, length: int, again: bool) -> list[Exchange]:
    """Of a tensor-parallel group, whose sequences those are: in all layers forward, backward, and where they run again.

    Of the logits each token needs three numbers: their maximum, the sum of exponentials, and that of the right word.
    """
    forward = [one for one in exchanges(net, own, how, batch, length) if one.kind == "all_reduce"]
    in_layers = [one for one in forward if one.name != "embedding"]
    found = [*forward, *(_named(one, f"{one.name} backward") for one in in_layers)]
    found += [_named(one, f"{one.name} again") for one in in_layers if again]
    if forward and not net.encoder:
        found.append(Exchange("loss", "all_reduce", batch * length, how.tp, 3))
        found.append(Exchange("head backward", "all_reduce", batch * length * net.hidden, how.tp, 1))
    return found


def _named(one: Exchange, name: str) -> Exchange:
    return Exchange(name, one.kind, one.elements, one.members, one.times)


def group(place: Place) -> tuple[int, int]:
    """Data-parallel devices with the same part of the network: in a system, and systems.

    Raises RooflintError where systems would have unequal numbers of them.
    """
    how, system = place.how, place.system
    if system is None or how.devices <= system.count:
        return how.dp, 1
    if system.count % how.tp or how.devices % system.count:
        most = f"the {system.count} devices of {system.id}"
        raise RooflintError(f"--tp, --dp: want a --tp that divides {most}, and a multiple of them in all")
    inside = system.count // how.tp
    return inside, how.dp // inside


def over_all_s(kind: Kind, message_bytes: float, place: Place) -> float:
    """A collective of a data-parallel group at full bandwidth, the longer of its ways within and between systems. [s]

    Within a system each device ends with its part of the sum, which it adds up with those of other systems.
    """
    inside, systems = group(place)
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


@dataclass(frozen=True)
class Shared:
    """What a data-parallel group exchanges in a step."""

    place: Place
    zero: Zero
    weight_bytes: float
    """That are gathered, of a device. [B]"""
    gradient_bytes: float
    layers: int
    micro_batches: int
    overhead_s: float
    """Of each launch. [s]"""

    def all(self, forward_s: float, backward_s: float) -> Iterator[Sent]:
        """Beside the passes of a micro-batch, of which the backward one has what runs again.

        Gradients are added up after the last micro-batch, or after each where a device keeps a share of them alone.
        """
        buckets = max(math.ceil(self.gradient_bytes / BUCKET_BYTES), 1)
        weights = Message("all_gather", "weights", self.weight_bytes, self.layers)
        if self.zero == STAGES[-1]:
            gradients = Message("reduce_scatter", "gradients", self.gradient_bytes, self.layers)
            yield from self._beside(forward_s, self.layers, self.micro_batches, weights)
            again = weights._replace(name="weights backward")
            yield from self._beside(backward_s, self.layers, self.micro_batches, again, gradients)
            return
        gradients = Message("reduce_scatter" if self.zero else "all_reduce", "gradients", self.gradient_bytes, buckets)
        runs = self.micro_batches if self.zero == STAGES[2] else 1
        yield from self._beside(backward_s, buckets, runs, gradients)
        if self.zero:  # for the next step, when the optimizer has made them
            yield from self._beside(0.0, 1, 1, weights)

    def _beside(self, pass_s: float, parts: int, runs: int, *messages: Message) -> Iterator[Sent]:
        """Collectives beside a pass, which share the links and what is waited for."""
        each = [over_all_s(one.kind, one.all_bytes, self.place) + one.times * self.overhead_s for one in messages]
        left = waited_s(sum(each), pass_s, parts) / sum(each)
        members = np.array([float(self.place.how.dp)])
        for one, seconds in zip(messages, each, strict=True):
            by_ring = float(np.sum(ring_bytes(one.kind, Messages(np.array([one.all_bytes]), members))))
            title = titled(one.kind, one.name)
            yield Sent(title, runs * one.times, runs * by_ring, runs * seconds, runs * seconds * left)
