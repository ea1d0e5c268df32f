"""Products: the kernel models of a matrix product: on matrix units, on CUDA cores, and in FP8.

A product in FP8 is what a framework runs for a linear layer: weights were made FP8 once and for all, activations are
made FP8 by kernels of their own just before, which find the scale, and the result is bf16. The product takes the
constants of bf16 products, as the chip in FP8 has its own MAC/clock, apart from the energy of an op and the kernels
that libraries have in FP8. docs/method-silicon-ops.md says how well that does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rooflint.base.precision import bytes_per_element
from rooflint.kernels import gemm
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants, Products
from rooflint.kernels.gemm import Breakdown, breakdowns
from rooflint.kernels.kernel import FITTED_IN, GA100, WITH_FP8, Kernel, Terms, Times, Work, beside
from rooflint.kernels.shapes import Numbers, Shapes, overlapped, shapes, touched_bytes, working_set_bytes
from rooflint.kernels.stream import QUANTISE_BLOCKS, QUANTISE_ROWS, QUANTISE_TENSOR, Quantise
from rooflint.kernels.tile import PATH_BYTES, TILES, Menu, Tile, load
from rooflint.kernels.tile import menu as every_kernel

Menus = Sequence[tuple[NDArray[np.bool_], Menu]]
"""Which ops have which kernels to choose from."""

LOOP = {"arithmetic": "main loop", "feed": "feed", "steps": "step"}
"""What the main loop is counted as, by what binds it."""


INT8 = "int8"
"""Measured in no table that constants are fitted to; its ops are taken to draw a published share of those in FP8."""


@dataclass(frozen=True)
class Gemm(Kernel):
    """A product on matrix units; in a precision other than bf16 by the constants of bf16."""

    op: ClassVar[str] = "gemm"
    columns: ClassVar[tuple[str, ...]] = ("m", "n", "k", "batch")
    measured_on = (GA100, *WITH_FP8)
    rests_on = "calibrated on bf16 products of one matrix by another"

    @property
    def topic(self) -> str | None:
        """Measured in bf16 alone."""
        return "gemm" if self.precision == FITTED_IN else None

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is carried over."""
        if self.topic:
            return ()
        if self.precision == INT8:
            return (
                f"constants are fitted to {FITTED_IN} products; an op takes a published share of the energy in fp8",
            )
        return (f"constants are fitted to {FITTED_IN} products and used unchanged in {self.precision}",)

    def sizes(self, *sizes: ArrayLike, **named: ArrayLike) -> Any:
        """As `shapes`."""
        return shapes(*sizes, **named)

    def product(self, work: Work) -> Shapes:
        """The matrix products that the ops are."""
        found: Shapes = work.sizes
        return found

    def products(self, chip: Chip, constants: Constants) -> Products:
        """The constants of products as they hold here."""
        if self.precision == INT8 and chip.cores is None:
            return constants_in_int8(constants)
        return gemm.constants_on(chip, constants.products, constants.cores)

    def menus(self, sizes: Shapes, chip: Chip) -> Menus:
        """Which ops have which kernels to choose from."""
        return [(np.ones(len(sizes), bool), every_kernel(chip))]

    def rows(self, work: Work) -> Numbers:
        """Of the product. [1]"""
        return self.product(work).m

    def macs(self, work: Work) -> Numbers:
        """Of the product. [MAC]"""
        return self.product(work).macs

    def tensor_bytes(self, work: Work) -> Numbers:
        """Both operands and the result. [B]"""
        return touched_bytes(work.sizes, work.element_bytes)

    def working_set_bytes(self, work: Work) -> Numbers:
        """What is touched before the same weights come again. [B]"""
        return working_set_bytes(work.sizes, work.element_bytes, work.copies)

    def before(self, work: Work, chip: Chip, constants: Constants) -> Times | None:
        """The kernel that must run first."""
        return None

    def time(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> Times:
        """The tile and the split of k that take least."""
        here, sizes = self.products(chip, constants), self.product(work)
        memory = self._memory(work, chip, here)
        together = np.empty(len(sizes))
        for chosen, menu in self.menus(sizes, chip):
            rows = slice(None) if chosen.all() else chosen  # which copies nothing
            together[rows] = gemm.work_s(sizes.part(rows), memory.seconds[rows], chip, here, work.element_bytes, menu)
        launch = np.full((1, len(sizes)), gemm.launch_s(chip, here))
        found = Times(gemm.alone_s(together, memory.seconds, here), memory.seconds, together, launch)
        first = self.before(work, chip, constants)
        return _one_after_the_other(first, found) if first else found

    def apart(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> list[Breakdown]:
        """One product, every tile with every split, the fastest first."""
        here = self.products(chip, constants)
        first = self.before(work, chip, constants)
        sizes = self.product(work)
        ((_, menu),) = [one for one in self.menus(sizes, chip) if one[0].any()]
        ones = breakdowns(sizes, chip, here, work.element_bytes, menu, self._memory(work, chip, here))
        if first:
            moved, launched = first.together_s.item(), first.launch_s(gap_s).item()
            ones = [replace(one, quantise_s=moved + launched) for one in ones]
        floor = 0.0 if gap_s is None else max(gemm.launch_s(chip, here), gap_s)
        return sorted((replace(one, launch_s=floor) for one in ones), key=lambda one: one.latency_s)

    def terms(self, work: Work, chip: Chip, constants: Constants) -> Terms:
        """Tile by tile, so slowly."""
        ones = (self.apart(work.part(np.array([row])), chip, constants)[0] for row in range(len(self.product(work))))
        rows = [_terms(one) for one in ones]
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: np.array([float(np.sum(row.get(name, 0.0))) for row in rows]) for name in names}

    def _memory(self, work: Work, chip: Chip, here: Products) -> gemm.Memory:
        return gemm.memory(self.bytes_moved(work), self.working_set_bytes(work), chip, here, work.missed)


def both_ways(*sizes: tuple[int, int]) -> tuple[Tile, ...]:
    """Tiles of those sizes and their transposes."""
    return tuple(dict.fromkeys(Tile(*side) for m, n in sizes for side in ((m, n), (n, m))))


WHOLE = (1,)
"""Ways to cut k where libraries do not."""

FROM_64 = both_ways((256, 128), (128, 128), (128, 64), (64, 64), (128, 32))
"""Tiles of batched products in FP32 on an H100, but for the rare ones of 32 × 32 and of 256 × 64."""

BATCHED: Mapping[str, tuple[Tile, ...]] = MappingProxyType(
    {
        "pascal": both_ways((128, 64)),
        "volta": both_ways((64, 64), (128, 32)),
        "turing": both_ways((128, 64), (64, 64), (128, 32)),
        "ampere": both_ways((128, 128)),
        "ada": both_ways((128, 128)),
    }
)
"""By generation: those that the names of cuBLAS' kernels say in NeuSight's tables, as in volta_sgemm_128x64_nn."""


def batch_menu(chip: Chip) -> Menu:
    """Of a batch on CUDA cores: the few large tiles that libraries have, and k whole."""
    assert chip.cores
    return Menu(BATCHED.get(chip.cores.generation, FROM_64), WHOLE)


@dataclass(frozen=True)
class CoresGemm(Gemm):
    """A product on CUDA cores, which were measured in FP32 alone."""

    precision: str = "fp32"

    measured_on = tuple(
        f"nvidia/{name}"
        for name in ("ampere-ga100", "hopper-gh100", "ada-ad104", "turing-tu104", "volta-gv100", "pascal-gp100")
    )
    rests_on = "issue slots and energy calibrated on linear layers in fp32"

    @property
    def topic(self) -> str | None:
        """Of published tables."""
        return "fp32"

    def menus(self, sizes: Shapes, chip: Chip) -> Menus:
        """Of a batch few tiles, of one product every tile."""
        several = sizes.batch > 1
        return [(~several, every_kernel(chip)), (several, batch_menu(chip))]

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is carried over."""
        return (
            "issue slots and energy are fitted to linear layers in fp32; other constants are those of bf16 products",
        )


# ---- FP8

WIDE_BYTES = 2.0
"""Of an element of the activations before they are made FP8, and of the result. [B]"""

Scale = Literal["tensor", "block"]
"""What shares one: a whole tensor, or 128 elements along k."""

FEW_ROWS, FEW_SCALED_ROWS = 64, 256
"""Up to so many rows kernels come in every size, with one scale of a tensor and with one of each row."""

LARGE = tuple(tile for tile in TILES if tile.m * tile.n >= 128 * 128)
"""Tiles for more rows: libraries have fewer kernels in FP8 than in bf16."""

SCALED_STEPS = 2
"""Steps that one along k takes where its sums are scaled before the next: they have to be complete for that."""

OF_WARPS = (Tile(32, 128),)
"""Of kernels with scales of blocks, where warps issue matrix instructions."""


def tensor_menus(sizes: Shapes, chip: Chip) -> Menus:
    """Of cuBLAS, which TensorRT-LLM calls."""
    few, every = sizes.m <= FEW_ROWS, every_kernel(chip)
    return [(few, every), (~few, Menu(LARGE, every.splits))]


def row_menus(sizes: Shapes, chip: Chip) -> Menus:  # noqa: ARG001  # all menus are asked alike
    """Of CUTLASS as vLLM builds it, csrc/quantization/w8a8/cutlass: 128 × 128 or 256 × 128 where rows are not few."""
    few = sizes.m <= FEW_SCALED_ROWS
    return [(few, Menu(TILES, WHOLE)), (~few, Menu(LARGE, WHOLE))]


def block_menus(sizes: Shapes, chip: Chip) -> Menus:
    """Of DeepGEMM, which compiles the tile that suits a shape; k is whole, as a tile adds up what it has scaled.

    It needs asynchronous units. Others have kernels of TensorRT-LLM, with one tile: kernels/cutlass_kernels/
    fp8_blockscale_gemm/fp8_blockscale_gemm_kernel.cuh, gemm_dispatch_sm89 and gemm_dispatch_sm120.
    """
    return [(np.ones(len(sizes), bool), Menu(TILES if chip.asynchronous else OF_WARPS, WHOLE))]


class Path(NamedTuple):
    """A way in which a library computes a product in FP8."""

    menus: Callable[[Shapes, Chip], Menus]
    quantise: Quantise | None
    """What makes the activations FP8; None where the kernels that produce them do."""
    by_block: bool = False
    """Whether the sums of each step along k are scaled."""


PATHS: Mapping[Scale, tuple[Path, ...]] = MappingProxyType(
    {
        "tensor": (Path(row_menus, QUANTISE_ROWS), Path(tensor_menus, QUANTISE_TENSOR)),
        "block": (Path(block_menus, QUANTISE_BLOCKS, by_block=True),),
    }
)
"""vLLM and SGLang find a scale of each row in one kernel, TensorRT-LLM one of the tensor in three."""

BARE = Path(tensor_menus, None)


def constants_in_fp8(constants: Constants, *, result_bytes: float = WIDE_BYTES) -> Products:
    """Constants of products as they hold in FP8: an op draws its share of one in bf16, and the result has its width."""
    products, narrow = constants.products, bytes_per_element("fp8")
    as_wide = (narrow / PATH_BYTES) ** -products.energy_exponent  # of a unit that does half the MACs, of 2 B
    return replace(
        products,
        energy_pj=products.energy_pj * as_wide * constants.quantised.energy_share,
        store_bytes=products.store_bytes * narrow / result_bytes,
    )


def constants_in_int8(constants: Constants) -> Products:
    """The same in INT8, where an op draws less and the result is as narrow as the operands."""
    found = constants_in_fp8(constants, result_bytes=bytes_per_element(INT8))
    return replace(found, energy_pj=found.energy_pj * constants.quantised.int8_energy_share)


class _Narrow(Gemm):
    """What all products in FP8 have in common: operands of one byte and a wider result."""

    def products(self, chip: Chip, constants: Constants) -> Products:
        """The constants of products, adjusted for FP8."""
        return constants_in_fp8(constants)

    def bytes_moved(self, work: Work) -> Numbers:
        """Operands in FP8, the result in bf16, and what else a table's row moves, as wide as that is stored. [B]"""
        touched = touched_bytes(work.sizes, work.element_bytes) + self._wider(work)
        if work.bytes_moved is None:
            return touched
        stored = work.element_bytes if work.stored_bytes is None else work.stored_bytes
        return touched + np.maximum(work.bytes_moved - touched_bytes(work.sizes, stored), 0.0)

    def working_set_bytes(self, work: Work) -> Numbers:
        """With a result that is wider. [B]"""
        return super().working_set_bytes(work) + self._wider(work)

    def _wider(self, work: Work) -> Numbers:
        m, n, _, batch = work.sizes
        wider: Numbers = (WIDE_BYTES - work.element_bytes) * batch * m * n
        return wider


@dataclass(frozen=True)
class _OnePath(_Narrow):
    """A quantise kernel, if any, then a product of those that one library has."""

    path: Path = BARE

    def menus(self, sizes: Shapes, chip: Chip) -> Menus:
        """Those of the path."""
        return self.path.menus(sizes, chip)

    def products(self, chip: Chip, constants: Constants) -> Products:
        """With longer steps where sums are scaled; warps that wait for their instructions wait for them anyway."""
        here = super().products(chip, constants)
        if not (self.path.by_block and chip.asynchronous):
            return here
        return replace(here, step_clocks=SCALED_STEPS * here.step_clocks)

    def before(self, work: Work, chip: Chip, constants: Constants) -> Times | None:
        """The quantise kernel."""
        if self.path.quantise is None:
            return None
        activations = self.path.quantise.work(work.sizes.batch * work.sizes.m, work.sizes.k, copies=work.copies)
        return self.path.quantise.time(activations, chip, constants)

    def bound_s(self, work: Work, chip: Chip, constants: Constants) -> Numbers:
        """What it takes at least: its quantise kernel, its launch, and all MACs at the peak or all bytes. [s]"""
        here, first = self.products(chip, constants), self.before(work, chip, constants)
        least = np.maximum(self.macs(work) / chip.macs_per_s, self._memory(work, chip, here).seconds)
        return np.asarray(gemm.launch_s(chip, here) + least + (first.seconds if first else 0.0))

    def _memory(self, work: Work, chip: Chip, here: Products) -> gemm.Memory:
        """With what L2 takes to give small tiles their operands, where warps copy them."""
        found = super()._memory(work, chip, here)
        if not self.path.by_block or chip.asynchronous or chip.tma:
            return found
        copied = copied_s(self.product(work), chip, here)
        return found._replace(seconds=overlapped(found.seconds, copied, here.overlap))


def copied_s(sizes: Shapes, chip: Chip, constants: Products) -> Numbers:
    """What it takes to copy the operands of all tiles of warps from L2. [s]"""
    (tile,) = OF_WARPS
    step_bytes = (tile.m + tile.n) * bytes_per_element("fp8")
    return load(sizes, tile, chip) * sizes.k * (step_bytes / constants.l2_bytes * chip.clock_s)


@dataclass(frozen=True)
class Fp8Gemm(_Narrow):
    """Quantise kernels, then the product: operands in FP8, the result in bf16; the chip is the GPU in FP8."""

    precision: str = "fp8"
    scale: Scale = "tensor"
    quantises: bool = True
    """Whether kernels of their own make the activations FP8; otherwise the kernels that produce them do."""

    measured_on = WITH_FP8
    rests_on = "calibrated on FP8 products with the kernels that quantise their activations"

    @property
    def topic(self) -> str | None:
        """`fp8_tensor` or `fp8_block`, by what shares a scale; a product alone was not measured."""
        return f"fp8_{self.scale}" if self.quantises else None

    @property
    def caveats(self) -> tuple[str, ...]:
        """That quantising is included, and that small products are slower in FP8."""
        if not self.quantises:
            return ("products in FP8 were measured with a kernel that quantises their activations, and not without",)
        return (
            "as in frameworks, a separate kernel quantises the activations to FP8 before the product, so that small "
            "products are slower in fp8 than in bf16; fusing it into the producer saves most of that time",
        )

    @property
    def paths(self) -> tuple[_OnePath, ...]:
        """All ways in which libraries compute it, of which the one that takes least is predicted."""
        given = PATHS[self.scale] if self.quantises else (PATHS[self.scale][-1]._replace(quantise=None),)
        return tuple(_OnePath(self.precision, path) for path in given)

    def time(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> Times:
        """By the path that takes least."""
        first, *others = self.paths
        best = first.time(work, chip, constants, gap_s)
        for path in others:
            worth = np.flatnonzero(path.bound_s(work, chip, constants) < best.seconds)
            if worth.size:
                few = [Times(*(column[..., worth] for column in best)), path.time(work.part(worth), chip, constants)]
                for column, chosen in zip(best, _chosen(few, few), strict=True):
                    column[..., worth] = chosen
        return best

    def apart(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> list[Breakdown]:
        """One product by every path, every tile and every split, the fastest first."""
        found = [one for path in self.paths for one in path.apart(work, chip, constants, gap_s)]
        return sorted(found, key=lambda one: one.latency_s)

    def before(self, work: Work, chip: Chip, constants: Constants) -> Times | None:
        """The quantise kernels of the path that takes least."""
        first = [one for path in self.paths if (one := path.before(work, chip, constants))]
        return _chosen(first, [path.time(work, chip, constants) for path in self.paths]) if first else None


def _chosen(parts: Sequence[Times], whole: Sequence[Times]) -> Times:
    """A part of each op by the path whose whole takes least; all paths have as many launches."""
    best = np.argmin([one.seconds for one in whole], axis=0)
    return Times(*(np.choose(best, column) for column in zip(*parts, strict=True)))


def _one_after_the_other(first: Times, then: Times) -> Times:
    compute, memory, together = (one + other for one, other in zip(first[:3], then[:3], strict=True))
    return Times(compute, memory, together, np.concatenate([first.floors_s, then.floors_s]))


def _terms(one: Breakdown) -> Terms:
    compute: Terms = {"power": np.array([one.power_s])} if one.power_s >= one.kernel_s else _kernel_terms(one)
    overlapped = beside(compute, {"memory": np.array([one.memory_s])}, np.array([one.overlapped_s]))
    found = {**overlapped, "reduction": np.array([one.reduction_s]), "launch": np.array([one.launch_s])}
    return {**found, "quantise": np.array([one.quantise_s])} if one.quantise_s else found


def _kernel_terms(one: Breakdown) -> Terms:
    """Main loop and store, which follow each other or overlap."""
    loop = LOOP[max(one.clocks_per_k, key=lambda name: one.clocks_per_k[name])]
    return beside({loop: np.array([one.main_s])}, {"store": np.array([one.store_s])}, np.array([one.kernel_s]))
