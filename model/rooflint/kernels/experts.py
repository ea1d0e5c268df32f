"""Experts: products of tokens with the weights of the experts that each of them chose, and the layer around them.

A grouped product is one kernel: for each expert that is hit a product of its tokens with its weights. Its tiles are
dealt to the SMs together, so that it is timed as a batch of as many products of the mean number of rows. Libraries put
rows in the order of experts before it, and take longer to launch. A layer is two of these with an activation between
them and a sum after.

How tokens are spread over experts decides how many weights are read: an input, as nothing else of the layer says it.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rooflint.base.errors import RooflintError
from rooflint.kernels import stream
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants
from rooflint.kernels.kernel import FITTED_IN, GA100, WITH_FP8, Kernel, Terms, Times, Work
from rooflint.kernels.products import Gemm
from rooflint.kernels.shapes import Numbers, Shapes, columns_of, miss_share
from rooflint.kernels.stream import Stream


@dataclass(frozen=True)
class Experts(Gemm):
    """A grouped product: `batch` experts with m rows each, in one kernel."""

    op = "experts"
    rests_on = "the constants of products; its launch is calibrated on layers of experts"

    @property
    def topic(self) -> str | None:
        """Measured as a part of a layer."""
        return None

    def time(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> Times:
        """As a batch of products, with a launch of its own."""
        found = super().time(work, chip, constants, gap_s)
        grouped = stream.work_bytes_s(self.grouped_bytes(work), work, chip, constants.stream)
        launch = np.full((1, len(grouped)), constants.experts.launch_clocks * chip.clock_s)
        return Times(found.compute_s, found.memory_s + grouped, found.together_s + grouped, launch)

    def grouped_bytes(self, work: Work) -> Numbers:
        """Rows that are read and written before the product, in the order of experts. [B]"""
        sizes = work.sizes
        moved: Numbers = 2 * work.element_bytes * sizes.batch * sizes.m * sizes.k
        return moved

    def terms(self, work: Work, chip: Chip, constants: Constants) -> Terms:
        """Work and launch."""
        found = self.time(work, chip, constants)
        return {"main loop": found.together_s, "launch": found.launch_s()}


class Layers(NamedTuple):
    """One entry each; whole numbers, kept as floats."""

    tokens: Numbers
    """Of all ranks together."""
    hidden: Numbers
    width: Numbers
    """Of the feed-forward layer of an expert, or of the part of it that a device has."""
    experts: Numbers
    """Of all ranks together."""
    top_k: Numbers
    """Experts that a token chooses."""
    ranks: Numbers
    """Devices that share the experts evenly."""


class Load(NamedTuple):
    """What one rank has to do."""

    hit: Numbers
    """Experts that a token has chosen."""
    rows: Numbers
    """Pairs of a token and one of its experts."""


def load(sizes: Layers, skew: float) -> Load:
    """Of the rank with most to do.

    `skew` is the exponent of the power law that loads of experts follow; 0: all have the same. Loads are those at the
    middle of as many equal parts of the distribution as there are experts, from the largest dealt to the ranks in turn.
    """
    columns = np.array([sizes.tokens, sizes.experts, sizes.top_k, sizes.ranks]).T.astype(int)
    found = np.array([_of_one(*map(int, row), skew) for row in columns], float).reshape(len(columns), 2)
    return Load(found[:, 0], found[:, 1])


@lru_cache(maxsize=100_000)
def _of_one(tokens: int, experts: int, top_k: int, ranks: int, skew: float) -> tuple[float, float]:
    pairs, mine = tokens * top_k, experts // ranks
    if not skew:
        hit = min(mine, max(round(pairs / ranks), 1))
        return float(hit), max(pairs / ranks, hit)
    each = power_law(pairs, tokens, experts, skew)[::ranks]
    return float(max((each > 0).sum(), 1)), float(max(each.sum(), 1))


FEWEST, MOST = (0.01, 2.0), (1.0, 0.8)
"""Ends of the power law, before it is scaled: of few tokens for each expert; of many, the second a share of the tokens.

As aiconfigurator's collector draws them (collector/helper.py, power_law_logits_v3).
"""


def power_law(pairs: int, tokens: int, experts: int, skew: float) -> Numbers:
    """Pairs of each expert, the most loaded first: whole numbers that add up to `pairs`."""
    low, high = (MOST[0], MOST[1] * tokens) if pairs > experts else FEWEST
    place = (np.arange(experts) + 0.5) / experts
    ends = np.array([low, high]) ** (1 - skew)
    share = np.sort((ends[0] + (ends[1] - ends[0]) * place) ** (1 / (1 - skew)))[::-1]
    each = np.round(share / share.sum() * pairs)
    left = int(pairs - each.sum())
    if left > 0:  # one more for each, the most loaded first, as often as needed
        each += left // experts
        each[: left % experts] += 1
    while left < 0:  # one less for as many of the least loaded that have any
        some = np.flatnonzero(each > 0)[::-1][:-left]
        each[some] -= 1
        left += len(some)
    return np.asarray(np.sort(each)[::-1])


@dataclass(frozen=True)
class ExpertLayer(Kernel):
    """Two grouped products, a gated activation between them, and the weighted sum of each token's experts after them.

    The product that chooses experts is apart, and so is what shared experts do.
    """

    skew: float = 0.0
    """Exponent of the power law of loads, other than 1; 0: balanced."""

    op = "expert_layer"
    columns = Layers._fields
    counted = "tokens"
    measured_on = (GA100, *WITH_FP8)
    rests_on = "calibrated on layers of experts in bf16"

    def __post_init__(self) -> None:
        if not (self.skew >= 0 and self.skew != 1):
            raise RooflintError(f"skew: want 0 or more, but not 1; found {self.skew:g}")

    @property
    def topic(self) -> str | None:
        """By how tokens are spread."""
        measured = {0.0: "moe_balanced", 1.01: "moe_skewed", 1.2: "moe_very_skewed"}
        return measured.get(self.skew) if self.precision == FITTED_IN else None

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is carried over."""
        return (
            () if self.precision == FITTED_IN else (f"experts were measured in {FITTED_IN}, not in {self.precision}",)
        )

    def sizes(self, *sizes: ArrayLike, **named: ArrayLike) -> Layers:
        """Raises RooflintError for experts that ranks cannot share evenly, or fewer than a token chooses."""
        found = Layers(*columns_of(self.columns, *sizes, **named))
        if (found.experts % found.ranks).any():
            raise RooflintError("experts: want a multiple of the ranks")
        if (found.top_k > found.experts).any():
            raise RooflintError("top_k: want no more than there are experts")
        return found

    def macs(self, work: Work) -> Numbers:
        """Three weights of each expert for each of its rows. [MAC]"""
        found: Numbers = 3 * load(work.sizes, self.skew).rows * work.sizes.hidden * work.sizes.width
        return found

    def tensor_bytes(self, work: Work) -> Numbers:
        """The weights of the experts that are hit, the tokens, and their sums. [B]"""
        sizes = work.sizes
        weights = 3 * load(sizes, self.skew).hit * sizes.hidden * sizes.width
        tokens = 2 * np.minimum(sizes.tokens, load(sizes, self.skew).rows) * sizes.hidden
        moved: Numbers = work.element_bytes * (weights + tokens)
        return moved

    def parts(self, work: Work, chip: Chip, constants: Constants) -> list[tuple[str, Kernel, Work]]:
        """The kernels of the layer, by name, and what each is asked."""
        sizes, width = work.sizes, work.element_bytes
        hit, rows = load(sizes, self.skew)
        mean = rows / hit
        up, down = Shapes(mean, 2 * sizes.width, sizes.hidden, hit), Shapes(mean, sizes.hidden, sizes.width, hit)
        tokens = np.minimum(sizes.tokens, rows)
        moved = {
            "activation": width * 3 * rows * sizes.width,  # both halves in, one out
            "sum": width * (rows + tokens) * sizes.hidden,
        }
        # a benchmark that repeats the layer touches all of it before a weight again
        touched = 3 * width * hit * sizes.hidden * sizes.width + moved["activation"] + moved["sum"]
        missed = miss_share(touched, chip, constants.products) if work.warm else np.ones_like(touched)
        product, ramp = Experts(self.precision), Stream(self.precision)
        up_work, down_work = (Work(one, width, missed=missed) for one in (up, down))
        first, last = (Work(None, width, bytes_moved=each, missed=missed) for each in moved.values())
        return [
            ("up", product, up_work),
            ("activation", ramp, first),
            ("down", product, down_work),
            ("sum", ramp, last),
        ]

    def time(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> Times:
        """One kernel after the other."""
        each = [kernel.time(one, chip, constants, gap_s) for _, kernel, one in self.parts(work, chip, constants)]
        compute, memory, together = (np.sum([one[place] for one in each], axis=0) for place in range(3))
        return Times(compute, memory, together, np.concatenate([one.floors_s for one in each]))

    def terms(self, work: Work, chip: Chip, constants: Constants) -> Terms:
        """Of each kernel, and all launches."""
        each = {name: kernel.time(one, chip, constants) for name, kernel, one in self.parts(work, chip, constants)}
        launches: Numbers = np.sum([one.launch_s() for one in each.values()], axis=0)
        return {**{name: one.together_s for name, one in each.items()}, "launch": launches}


def of_table(rows: Numbers, n: Numbers, k: Numbers, weights: Numbers) -> Shapes:
    """Grouped products of which the elements of all weights that are read are known; biases are too few to matter."""
    hit = np.clip(np.floor(weights / (n * k)), 1.0, rows)
    return Shapes(rows / hit, n, k, hit)
