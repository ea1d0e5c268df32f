"""Experts: products of tokens with the weights of the experts that each of them chose, and the layer around them.

A grouped product is one kernel: for each expert that is hit a product of its tokens with its weights. Its tiles are
dealt to the SMs together, each with all of k, so that it is timed as a batch of as many products of the mean number of
rows. Libraries find the places of rows and put them in the order of experts before it, and take longer to launch. A
layer is two of these with an activation between them and a sum after.

For data-center Blackwell FlashInfer has kernels of TensorRT-LLM's that read rows where they lie. Where these take less,
they are taken. csrc/trtllm_fused_moe_runner.cu at 0242a1f: routeAct

How tokens are spread over experts decides how many weights are read: an input, as nothing else of the layer says it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rooflint.base.errors import RooflintError
from rooflint.kernels import stream
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants
from rooflint.kernels.kernel import FITTED_IN, GA100, WITH_FP8, Kernel, Terms, Times, Work, least
from rooflint.kernels.products import WHOLE, Gemm
from rooflint.kernels.shapes import Numbers, Shapes, columns_of, miss_share
from rooflint.kernels.stream import Stream
from rooflint.kernels.tile import TILES, Menu, Tile

SORTED = Menu(TILES, WHOLE)
"""Of kernels whose rows are in the order of experts."""

IN_PLACE = Menu(tuple(Tile(rows, 128) for rows in (8, 16, 32, 64, 128)), WHOLE)
"""Of FlashInfer's: mSupportedTileNums of Bf16MoeLauncher in csrc/trtllm_fused_moe_kernel_launcher.cu."""

IN_PLACE_LAUNCHES = 2
"""Kernels of FlashInfer's for a product. A layer of many tokens has six, and an activation is counted apart.

Scores with a histogram, counts, offsets, two products, and the sum: csrc/fused_moe/trtllm_backend,
trtllm_fused_moe_routing_custom.cu. Up to 256 tokens one kernel does what the first three do.
"""


@dataclass(frozen=True)
class Experts(Gemm):
    """A grouped product: `batch` experts with m rows each, in one kernel."""

    in_place: bool = True
    """Whether a library may have kernels that read rows where they lie, as FlashInfer has for data-center Blackwell."""

    op = "experts"
    rests_on = "the constants of products; its launch is calibrated on layers of experts"

    @property
    def topic(self) -> str | None:
        """Measured as a part of a layer."""
        return None

    def time(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> Times:
        """As a batch of products with all of k each, with a launch of its own; of two ways the one that takes least."""
        found = [self._sorted(work, chip, constants)]
        if self.in_place and chip.reads_in_place:
            found.append(self._in_place(work, chip, constants))
        return found[0] if len(found) == 1 else least(found)

    def reads_in_place(self, work: Work, chip: Chip, constants: Constants) -> NDArray[np.bool_]:
        """Which products take least by kernels that read rows where they lie."""
        fastest = self.time(work, chip, constants).seconds
        return np.asarray(fastest < self._sorted(work, chip, constants).seconds)

    def _sorted(self, work: Work, chip: Chip, constants: Constants) -> Times:
        grouped = stream.work_bytes_s(self.grouped_bytes(work), work, chip, constants.stream)
        found = self._batch(work, chip, constants, SORTED)
        launch = np.full((1, len(grouped)), constants.experts.launch_clocks * chip.clock_s)
        return Times(found.compute_s, found.memory_s + grouped, found.together_s + grouped, launch)

    def _in_place(self, work: Work, chip: Chip, constants: Constants) -> Times:
        found = self._batch(work, chip, constants, IN_PLACE)
        launches = np.full((IN_PLACE_LAUNCHES, found.floors_s.shape[1]), stream.launch_s(chip, constants.stream))
        return found._replace(floors_s=launches)

    def _batch(self, work: Work, chip: Chip, constants: Constants, menu: Menu) -> Times:
        """The products, after SMs have found the places of their rows."""
        found = OfMenu(self.precision, menu).time(work, chip, constants)
        found_s = place_s(work.sizes.batch * work.sizes.m, chip, constants)
        return found._replace(compute_s=found.compute_s + found_s, together_s=found.together_s + found_s)

    def grouped_bytes(self, work: Work) -> Numbers:
        """Rows that are read and written before the product, in the order of experts. [B]"""
        sizes = work.sizes
        moved: Numbers = 2 * work.element_bytes * sizes.batch * sizes.m * sizes.k
        return moved

    def terms(self, work: Work, chip: Chip, constants: Constants) -> Terms:
        """Work and launch."""
        found = self.time(work, chip, constants)
        return {"main loop": found.together_s, "launch": found.launch_s()}


@dataclass(frozen=True)
class OfMenu(Gemm):
    """A batch of products by some of the tiles."""

    menu: Menu = SORTED

    def menus(self, sizes: Shapes, chip: Chip) -> Sequence[tuple[NDArray[np.bool_], Menu]]:
        """The same for all."""
        return [(np.ones(len(sizes), bool), self.menu)]


def place_s(rows: Numbers, chip: Chip, constants: Constants) -> Numbers:
    """SMs find the places of so many rows of one grouped product. [s]"""
    return rows * constants.experts.row_clocks / chip.sms * chip.clock_s


class Layers(NamedTuple):
    """One entry each; whole numbers, kept as floats."""

    tokens: Numbers
    """Of all ranks together; each rank has all of them, and stores a sum for each."""
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

    The product that scores experts is apart, and so is what shared experts do.
    """

    skew: float = 0.0
    """Exponent of the power law of loads, other than 1; 0: balanced."""
    in_place: bool = True
    """Whether a library may have kernels that only data-center Blackwell has."""

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
        return measured.get(self.skew) if self.precision == FITTED_IN and self.in_place else None

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
        """The weights of the experts that are hit, their tokens, and a sum for each token. [B]"""
        sizes, (hit, rows) = work.sizes, load(work.sizes, self.skew)
        weights = 3 * hit * sizes.hidden * sizes.width
        tokens = (np.minimum(sizes.tokens, rows) + sizes.tokens) * sizes.hidden
        moved: Numbers = work.element_bytes * (weights + tokens)
        return moved

    def products(self, work: Work) -> tuple[Shapes, Shapes]:
        """Both grouped products, each of as many rows for every expert."""
        sizes, (hit, rows) = work.sizes, load(work.sizes, self.skew)
        up = Shapes(rows / hit, 2 * sizes.width, sizes.hidden, hit)
        return up, Shapes(rows / hit, sizes.hidden, sizes.width, hit)

    def parts(self, work: Work, chip: Chip, constants: Constants) -> list[tuple[str, Kernel, Work]]:
        """The kernels of the layer, by name, and what each is asked."""
        sizes, width = work.sizes, work.element_bytes
        hit, rows = load(sizes, self.skew)
        up, down = self.products(work)
        moved = {
            "activation": width * 3 * rows * sizes.width,  # both halves in, one out
            "sum": width * (rows + sizes.tokens) * sizes.hidden,
        }
        # a benchmark that repeats the layer touches all of it before a weight again
        touched = 3 * width * hit * sizes.hidden * sizes.width + moved["activation"] + moved["sum"]
        missed = miss_share(touched, chip, constants.products) if work.warm else np.ones_like(touched)
        product, ramp = Experts(self.precision, in_place=self.in_place), Stream(self.precision)
        up_work, down_work = (Work(one, width, missed=missed) for one in (up, down))
        first, last = (Work(None, width, bytes_moved=each, missed=missed) for each in moved.values())
        return [
            ("up", product, up_work),
            ("activation", ramp, first),
            ("down", product, down_work),
            ("sum", ramp, last),
        ]

    def others_s(self, work: Work, chip: Chip, constants: Constants) -> Numbers:
        """All ranks find places for the rows of all ranks, before both products. [s]"""
        sizes = work.sizes
        elsewhere = np.maximum(sizes.tokens * sizes.top_k - load(sizes, self.skew).rows, 0.0)
        return 2 * place_s(elsewhere, chip, constants)

    def time(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> Times:
        """One kernel after the other."""
        each = [kernel.time(one, chip, constants, gap_s) for _, kernel, one in self.parts(work, chip, constants)]
        compute, memory, together = (np.sum([one[place] for one in each], axis=0) for place in range(3))
        others = self.others_s(work, chip, constants)
        return Times(compute + others, memory, together + others, np.concatenate([one.floors_s for one in each]))

    def terms(self, work: Work, chip: Chip, constants: Constants) -> Terms:
        """Of each kernel, of rows of other ranks, and all launches."""
        each = {name: kernel.time(one, chip, constants) for name, kernel, one in self.parts(work, chip, constants)}
        launches: Numbers = np.sum([one.launch_s() for one in each.values()], axis=0)
        others = self.others_s(work, chip, constants)
        return {**{name: one.together_s for name, one in each.items()}, "other ranks": others, "launch": launches}


def of_table(rows: Numbers, n: Numbers, k: Numbers, weights: Numbers) -> Shapes:
    """Grouped products of which the elements of all weights that are read are known; biases are too few to matter."""
    hit = np.clip(np.floor(weights / (n * k)), 1.0, rows)
    return Shapes(rows / hit, n, k, hit)
