"""Parallelism: what one of several devices has of a language model, and what they exchange.

- Tensor (`tp`): heads, and the columns and rows of products, are divided; sums of all devices follow attention and
  feed-forward. Shoeybi et al., "Megatron-LM", 2019. arXiv:1909.08053
- Expert (`ep`): experts are divided; where groups of devices have sequences of their own, tokens go to their experts
  and back. Lepikhin et al., "GShard", 2020. arXiv:2006.16668
- Pipeline (`pp`): layers are divided, and batches are cut so that all stages work. In training a device may have
  several parts of the layers that take turns (`virtual`). Narayanan et al., SC 2021. arXiv:2104.04473
- Context (`cp`): the tokens of each sequence are divided, and its cache with them. Keys and values are gathered before
  the attention of prompts: Dubey et al., "The Llama 3 Herd of Models", 2024, section 3.3.2. arXiv:2407.21783. In decode
  queries go to all parts of the cache: Yang et al., 2024, section 3.6. arXiv:2411.01783
- Sequence (`sequence`): in training, tensor-parallel devices also divide the tokens of what they do not divide
  otherwise. Korthikanti et al., 2022. arXiv:2205.05198
- Data (`dp`): in training, each has the whole network and some of the sequences; `rooflint.prediction.gradients`.

A device's part of a transformer is a transformer with fewer heads, columns, experts and layers, so that the same
formulas count its ops and bytes. docs/method-parallelism.md has the rest.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rooflint.workloads.configuration import Experts, Transformer
from rooflint.workloads.workload import WorkloadError

Collective = Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "point_to_point"]

Way = Literal["dispatch", "combine"]
"""Of tokens: to their experts, or back from them."""


@dataclass(frozen=True)
class Parallelism:
    """How many devices share what."""

    tp: int = 1
    """Devices that share each product."""
    pp: int = 1
    """Stages, each with some of the layers."""
    ep: int = 1
    """Devices that share the experts; those of one `tp` are among them."""
    dp: int = 1
    """Copies of all that, each with sequences of its own: of training."""
    virtual: int = 1
    """Parts of the layers that each device of a pipeline has, which take turns: of training."""
    sequence: bool = False
    """Whether devices of a `tp` divide tokens where they do not divide products: of training."""
    cp: int = 1
    """Parts of each sequence, each with a `tp` of devices and its own part of the cache."""

    def __post_init__(self) -> None:
        """Raises WorkloadError for less than one, for what needs others, and for experts of a part of a group."""
        for name in ("tp", "pp", "cp", "ep", "dp"):
            if getattr(self, name) < 1:
                raise WorkloadError(f"--{name}: want 1 or more, found {getattr(self, name)}")
        if self.virtual < 1 or (self.virtual > 1 and self.pp == 1):
            raise WorkloadError(f"--virtual-stages: want 1, or more beside --pp of 2 or more; found {self.virtual}")
        if self.sequence and self.tp == 1:
            raise WorkloadError("--sp needs --tp 2 or more")
        if self.ep > 1 and self.ep % self.tp:
            raise WorkloadError(f"--ep: want a multiple of --tp, {self.tp}, found {self.ep}")
        if self.cp > 1 and self.ep > 1:
            raise WorkloadError(f"--cp beside --ep is not modelled: want one of them, found {self.cp} and {self.ep}")

    @property
    def of_stage(self) -> int:
        """Devices of a stage."""
        return max(self.tp, self.ep) * self.cp

    @property
    def devices(self) -> int:
        """All of them."""
        return self.of_stage * self.pp * self.dp

    @property
    def groups(self) -> int:
        """Groups of a stage that each have sequences of their own."""
        return self.of_stage // (self.tp * self.cp)

    @property
    def copies(self) -> int:
        """Groups with sequences of their own, each with all that is not an expert."""
        return self.groups * self.dp

    def __str__(self) -> str:
        """`tp 8, pp 2`; empty for one device."""
        given = {name: getattr(self, name) for name in ("tp", "pp", "cp", "ep", "dp")}
        words = [f"{name} {count}" for name, count in given.items() if count > 1]
        words += [f"{self.virtual} virtual stages"] if self.virtual > 1 else []
        words += ["sequence parallel"] if self.sequence else []
        return ", ".join(words)


@dataclass(frozen=True)
class Routed:
    """Tokens that an all-to-all takes to their experts or back."""

    way: Way
    tokens: int
    """Of each device."""
    hidden: int
    per_token: int
    experts: int
    """Of all devices."""


@dataclass(frozen=True)
class Exchange:
    """What devices send one another in a pass, each time it runs."""

    name: str
    kind: Collective
    elements: int
    """Of the message: what is added up, what a gathering ends with, what each device of an all-to-all begins with: its
    tokens, once for each device that has experts of them."""
    members: int
    times: int
    routed: Routed | None = None
    """Of an all-to-all to or from experts."""

    @property
    def title(self) -> str:
        """`all-reduce, attention`"""
        return titled(self.kind, self.name)


def titled(kind: str, name: str) -> str:
    """What an exchange is called where its kind must be told, too."""
    return f"{kind.replace('_', '-')}, {name}"


def shard(net: Transformer, how: Parallelism) -> Transformer:
    """What one device has of all layers, with the layers of all stages.

    Keys and values are replicated where there are fewer heads of them than devices; norms, routers and the short
    vectors of MLA are everywhere. Raises WorkloadError for what cannot be divided evenly.
    """
    tp = how.tp
    if how.cp > 1:
        _refuse_context(net)
    _divides(net, "heads", net.heads, tp)
    if net.feed_forward:
        _divides(net, "columns of the feed-forward", net.feed_forward, tp)
    if net.kv_heads % tp and tp % net.kv_heads:
        heads = f"its {net.kv_heads} heads of keys and values"
        raise WorkloadError(f"{net.name}: --tp: want a divisor or a multiple of {heads}, found {tp}")
    if net.experts is None and how.ep > 1:
        raise WorkloadError(f"{net.name}: has no experts; want no --ep")
    return replace(
        net,
        heads=net.heads // tp,
        kv_heads=max(net.kv_heads // tp, 1),
        feed_forward=net.feed_forward // tp,
        vocabulary=-(-net.vocabulary // tp),
        experts=_experts(net, net.experts, how) if net.experts else None,
    )


def _refuse_context(net: Transformer) -> None:
    """Raises WorkloadError where parts of a sequence do not need all of its keys and values as they are kept."""
    if net.latent:
        raise WorkloadError(f"{net.name}: --cp is not modelled for multi-head latent attention; want no --cp")
    if net.window_layers:
        raise WorkloadError(f"{net.name}: --cp is not modelled for layers with a window; want no --cp")


def context_share(how: Parallelism, batch: int, new: int, past: int = 0) -> tuple[int, int, int]:
    """Sequences, new and past tokens of a pass in which one device does as much as its share of a whole one.

    Each of `cp` devices has the c-th and the c-th last of 2 · cp parts of a prompt of T tokens. Its T / cp tokens see
    T / cp · (T + 1) / 2 keys, as if they came behind (T − T / cp) / 2 others. A token to write has a device of its own
    for products; the cache of each sequence is on all devices.
    """
    if how.cp == 1:
        return batch, new, past
    if new > 1:
        each = -(-new // how.cp)
        return batch, each, (new - each) // 2
    own = -(-batch // how.cp)
    return own, 1, -(-batch * past // (own * how.cp))


def _experts(net: Transformer, experts: Experts, how: Parallelism) -> Experts:
    if experts.shared:
        _divides(net, "columns of its shared experts", experts.shared, how.tp)
    shared = experts.shared // how.tp
    if how.ep > 1:
        _divides(net, "experts", experts.count, how.ep, "--ep")
        return replace(experts, shared=shared, ways=how.ep, copies=how.tp)
    _divides(net, "columns of an expert", experts.feed_forward, how.tp)
    return replace(experts, shared=shared, feed_forward=experts.feed_forward // how.tp)


def _divides(net: Transformer, what: str, count: int, by: int, option: str = "--tp") -> None:
    if count % by:
        raise WorkloadError(f"{net.name}: {option}: want a divisor of its {count} {what}, found {by}")


def stage(net: Transformer, how: Parallelism) -> Transformer:
    """The stage that takes longest: as many layers as any has, those with experts first, and the head."""
    if how.pp > net.layers:
        raise WorkloadError(f"{net.name}: --pp: want at most its {net.layers} layers, found {how.pp}")
    if how.pp * how.virtual > net.layers:
        most = net.layers // how.pp
        raise WorkloadError(
            f"{net.name}: --virtual-stages: want at most {most} with --pp {how.pp}, found {how.virtual}"
        )
    layers = how.virtual * -(-net.layers // (how.pp * how.virtual))
    experts = net.experts
    return replace(
        net,
        layers=layers,
        window_layers=min(-(-net.window_layers // how.pp), layers),
        rope_layers=min(-(-net.rope_layers // how.pp), layers),
        experts=replace(experts, layers=min(experts.layers, layers)) if experts else None,
    )


def exchanges(whole: Transformer, layers: Transformer, how: Parallelism, batch: int, new: int) -> Iterator[Exchange]:
    """What a device of a group exchanges in one pass over `layers`, which are all or those of a stage.

    `whole` is the network as it is. A group reads `new` tokens of each of `batch` sequences.
    """
    yield from _of_context(layers, how, batch, new)
    batch, new, _ = context_share(how, batch, new)
    width, count = batch * new * whole.hidden, layers.layers
    experts = layers.experts.layers if layers.experts else 0
    if how.tp > 1:
        yield Exchange("embedding", "all_reduce", width, how.tp, 1)
        if not whole.parallel:
            yield Exchange("attention", "all_reduce", width, how.tp, count)
        yield Exchange("feed-forward", "all_reduce", width, how.tp, count)
        yield Exchange("head", "all_gather", batch * whole.vocabulary, how.tp, 1)
    if how.groups > 1 and whole.experts and experts:
        tokens, per_token = -(-batch * new // how.tp), whole.experts.per_token
        copies = math.ceil(tokens * devices_of(whole.experts.count, per_token, how.ep).item())
        ways: tuple[tuple[str, Way], ...] = (("to experts", "dispatch"), ("from experts", "combine"))
        for name, way in ways:
            routed = Routed(way, tokens, whole.hidden, per_token, whole.experts.count)
            yield Exchange(name, "all_to_all", copies * whole.hidden, how.ep, experts, routed)


def _of_context(layers: Transformer, how: Parallelism, batch: int, new: int) -> Iterator[Exchange]:
    """Keys and values of prompts; of tokens the queries, and a result and its sum of exponents from each of `cp`.

    `layers` has the heads that a device of a `tp` has. Fewer sequences than devices are sent as if there were as many.
    """
    if how.cp == 1:
        return
    if new > 1:
        width = 2 * layers.kv_heads * layers.head_size
        yield Exchange("keys and values", "all_gather", batch * new * width, how.cp, layers.layers)
        return
    padded = how.cp * -(-batch // how.cp)
    yield Exchange("queries", "all_gather", padded * layers.heads * layers.head_size, how.cp, layers.layers)
    yield Exchange("results", "all_to_all", padded * layers.heads * (layers.head_size + 1), how.cp, layers.layers)


def devices_of(experts: ArrayLike, per_token: ArrayLike, members: ArrayLike) -> NDArray[np.float64]:
    """Devices that have experts of a token, on the mean where all choices are as likely: members · (1 − none). [1]

    A device has `experts / members` of them; that a token chooses none of these is the product of
    (experts of others − i) / (experts − i) over its choices.
    """
    count, chosen, shared = np.broadcast_arrays(*(np.asarray(one, float) for one in (experts, per_token, members)))
    none, others = np.ones(count.shape), count - count / shared
    for choice in range(int(chosen.max(initial=0))):
        share = np.maximum(others - choice, 0.0) / np.maximum(count - choice, 1.0)
        none = np.where(choice < chosen, none * share, none)
    return np.asarray(shared * (1 - none))


def hop(net: Transformer, how: Parallelism, batch: int, new: int) -> Exchange:
    """What goes from a stage to the next one."""
    batch, new, _ = context_share(how, batch, new)
    return Exchange("next stage", "point_to_point", batch * new * net.hidden, 2, 1)
