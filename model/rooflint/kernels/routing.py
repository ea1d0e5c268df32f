"""Routing: tokens go to the devices of their experts (dispatch), and what these make of them comes back (combine).

DeepEP has two kinds of kernels for it, of which the one that takes least is taken:

- `normal`: a few SMs carry each token once to every device that has experts of it,

    launch + max(wire, carried),    carried = (tokens · clocks of a token + copies · bytes / bytes of a clock) / SMs

- `low_latency`, of few tokens: each token goes to each of its experts, with as many SMs as experts or a part of them;
  in dispatch an SM prepares one token after the other,

    latency + experts · latency of an expert + tokens of an SM · time of a token + wire / efficiency

`wire` is what leaves a device, over the rate that NCCL counts on. DeepEP, csrc/kernels/intranode.cu and
internode_ll.cu at 04b06f7a. docs/method-silicon-layers.md has the measurements.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from rooflint.base.errors import RooflintError
from rooflint.kernels.chip import Chip
from rooflint.kernels.collectives import US, link_of
from rooflint.kernels.constants import Constants
from rooflint.kernels.kernel import Kernel, Terms, Times, Work, least
from rooflint.kernels.shapes import Numbers, columns_of
from rooflint.workloads.parallelism import Way, devices_of

Kernels = Literal["normal", "low_latency"]

SMS = 20
"""That carry tokens, unless a caller says otherwise: deep_ep/buffer.py, num_sms."""

MOST_TOKENS = 1024
"""Of a device, that low-latency kernels were measured with; their buffers grow with tokens × experts."""

SCALED = 128
"""Elements of one byte or less that share a scale of 4 B."""

HEADER_BYTES = 16
"""Before each token that a low-latency kernel sends: where it comes from."""


class Tokens(NamedTuple):
    """One entry each; whole numbers, kept as floats."""

    tokens: Numbers
    """Of each device."""
    hidden: Numbers
    top_k: Numbers
    """Experts that a token chooses, all with the same chance."""
    experts: Numbers
    """Of all devices together."""
    members: Numbers
    """Devices that share the experts evenly."""
    sms: Numbers
    """That carry tokens in normal kernels."""

    @property
    def abroad(self) -> Numbers:
        """Share of what is sent that goes to other devices. [1]"""
        return 1 - 1 / self.members

    @property
    def copies(self) -> Numbers:
        """One for each device that has experts of a token. [1]"""
        return self.tokens * devices_of(self.experts, self.top_k, self.members)


@dataclass(frozen=True)
class ExpertExchange(Kernel):
    """Dispatch or combine within a box; nothing else uses the links at the time."""

    way: Way = "dispatch"
    kernels: Kernels | None = None
    """None: those that take least."""

    op = "expert_exchange"
    columns = Tokens._fields
    counted = "tokens"
    only_term = "exchange"
    measured_on = ("nvidia/hopper-gh100", "nvidia/blackwell-gb100", "nvidia/blackwell-gb110")
    rests_on = "calibrated on DeepEP within a box"

    def __post_init__(self) -> None:
        for name, known in (("way", get_args(Way)), ("kernels", get_args(Kernels))):
            given = getattr(self, name)
            if given not in known and not (name == "kernels" and given is None):
                raise RooflintError(f"{name}: want one of {', '.join(known)}, found '{given}'")

    @property
    def topic(self) -> str | None:
        """By way and kernels, in the precision in which each was measured: dispatch in FP8, combine in bf16."""
        measured = {"dispatch": "fp8", "combine": "bf16"}
        return f"{self.way}_{self.kernels}" if self.kernels and self.precision == measured[self.way] else None

    @property
    def caveats(self) -> tuple[str, ...]:
        """What was not measured."""
        return ("links within a box: between boxes DeepEP uses network cards, which are not calibrated",)

    def sizes(self, *sizes: ArrayLike, **named: ArrayLike) -> Tokens:
        """`sms` is DeepEP's default unless given. Raises RooflintError as ExpertLayer does."""
        alone: dict[str, ArrayLike] = {"sms": SMS} if len(sizes) < len(self.columns) else {}
        found = Tokens(*columns_of(self.columns, *sizes, **(alone | named)))
        if (found.experts % found.members).any():
            raise RooflintError("experts: want a multiple of the members")
        if (found.top_k > found.experts).any():
            raise RooflintError("top_k: want no more than there are experts")
        return found

    def row_bytes(self, work: Work) -> Numbers:
        """Of a token, with its scales where it is narrow. [B]"""
        scales = 4 / SCALED if work.element_bytes < 2 else 0.0
        moved: Numbers = work.sizes.hidden * (work.element_bytes + scales)
        return moved

    def tensor_bytes(self, work: Work) -> Numbers:
        """What each device must send to others: each token once to each device that has experts of it. [B]"""
        sizes = work.sizes
        moved: Numbers = sizes.copies * sizes.abroad * sizes.hidden * work.element_bytes
        return moved

    def floor_s(self, work: Work, chip: Chip) -> Numbers:
        """The same at full bandwidth. [s]"""
        return np.asarray(self.tensor_bytes(work) / link_of(chip).bandwidth_bytes_per_s)

    def time(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> Times:
        """By the kernels that take least; one device takes no time. Raises MissingFactError without links."""
        found = least(list(self._ways(work, chip, constants).values()))
        alone = work.sizes.members == 1
        return Times(*(np.where(alone, 0.0, one) for one in found))

    def alpha_beta_s(self, work: Work, chip: Chip, constants: Constants) -> Numbers:
        """Latencies of the kernels, and what must be sent at the bandwidth of the data sheet. [s]"""
        launches = [one.launch_s() for one in self._ways(work, chip, constants).values()]
        return np.where(work.sizes.members > 1, np.min(launches, axis=0) + self.floor_s(work, chip), 0.0)

    def terms(self, work: Work, chip: Chip, constants: Constants) -> Terms:
        """What SMs and links do, of which the shorter is 0 where both run beside each other, and the launch."""
        found = self.time(work, chip, constants)
        wire = np.where(found.memory_s >= found.compute_s, found.memory_s, found.together_s - found.compute_s)
        return {"SMs": found.together_s - wire, "wire": wire, "launch": found.launch_s()}

    def taken(self, work: Work, chip: Chip, constants: Constants) -> list[Kernels]:
        """The kernels that take least, of each op."""
        ways = self._ways(work, chip, constants)
        best = np.argmin([one.seconds for one in ways.values()], axis=0)
        return [list(ways)[place] for place in best]

    def _ways(self, work: Work, chip: Chip, constants: Constants) -> dict[Kernels, Times]:
        """By each of the kernels that may be taken."""
        ways: dict[Kernels, Callable[[Work, Chip, Constants], Times]]
        ways = {"normal": self._normal, "low_latency": self._low_latency}
        return {name: of(work, chip, constants) for name, of in ways.items() if self.kernels in (None, name)}

    def _normal(self, work: Work, chip: Chip, constants: Constants) -> Times:
        sizes, own, row = work.sizes, constants.routing, self.row_bytes(work)
        wire = sizes.copies * sizes.abroad * row / link_of(chip).attained_bytes_per_s
        clocks = sizes.tokens * own.token_clocks + sizes.copies * row / own.sm_bytes
        carried = clocks / sizes.sms * chip.clock_s
        launch = US * (own.launch_us if self.way == "dispatch" else own.combine_launch_us)
        return Times(carried, wire, np.maximum(carried, wire), np.full((1, len(wire)), launch))

    def _low_latency(self, work: Work, chip: Chip, constants: Constants) -> Times:
        sizes, own = work.sizes, constants.routing
        row = self.row_bytes(work) + (HEADER_BYTES if self.way == "dispatch" else 0)
        sent = sizes.tokens * sizes.top_k * sizes.abroad * row
        wire = sent / (own.low_latency_efficiency * link_of(chip).attained_bytes_per_s)
        busy = np.ceil(sizes.experts / np.ceil(sizes.experts / chip.sms))
        prepared = np.ceil(sizes.tokens / busy) * own.prepare_us * US if self.way == "dispatch" else np.zeros_like(wire)
        latency = (own.latency_us + sizes.experts * own.expert_ns / 1000) * US
        together = np.where((sizes.tokens <= MOST_TOKENS) | (self.kernels is not None), prepared + wire, np.inf)
        return Times(prepared, wire, together, latency[None])
