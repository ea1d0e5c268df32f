"""Tile: the part of the result that an SM computes at a time, and what one costs in clocks."""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Products
from rooflint.kernels.shapes import Numbers, Shapes, overlapped


class Tile(NamedTuple):
    """Rows × columns of the result."""

    m: int
    n: int

    def __str__(self) -> str:
        """`256×128`."""
        return f"{self.m}×{self.n}"


SIZES = ((256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64), (32, 64), (64, 32), (16, 64), (64, 16))
TILES = tuple(Tile(*size) for size in SIZES)
"""Those that libraries choose from, thinned until fewer fit worse; each with its transpose, as (A·B)ᵀ = Bᵀ·Aᵀ."""

PATH_BYTES = 2.0
"""Of an element of the products that the constants were fitted on. [B]"""

Split = int | NDArray[np.int_]
"""In how many parts k is cut; several ways are an axis of their own."""

SYNC_SPLITS = (1, 2, 3, 4, 6, 8, 16, 32)
ASYNC_SPLITS = (1, 4, 16)
"""In how many parts k is cut, each with its own tiles."""


def splits(chip: Chip) -> tuple[int, ...]:
    """Ways to cut k that kernels of a chip are built for."""
    return ASYNC_SPLITS if chip.asynchronous else SYNC_SPLITS


def load(shapes: Shapes, tile: Tile, chip: Chip) -> Numbers:
    """Tiles for each SM, the last of them in part. [1]"""
    m, n, _, batch = shapes
    return batch * np.ceil(m / tile.m) * np.ceil(n / tile.n) / chip.sms


@cache
def alike(tiles: tuple[Tile, ...]) -> list[list[Tile]]:
    """Tiles of the same sides together: a tile and its transpose cost the same."""
    found: dict[frozenset[int], list[Tile]] = {}
    for tile in tiles:
        found.setdefault(frozenset(tile), []).append(tile)
    return list(found.values())


def loads(shapes: Shapes, tiles: tuple[Tile, ...], chip: Chip) -> Numbers:
    """`load` by several tiles, of those that are alike the one with the least. Shape (alike, 1, shapes). [1]"""
    m, n, _, batch = shapes
    rows = {side: batch * np.ceil(m / side) for side in {tile.m for tile in tiles}}
    columns = {side: np.ceil(n / side) for side in {tile.n for tile in tiles}}
    groups = alike(tiles)
    found = np.empty((len(groups), 1, len(m)))
    for (first, *others), least in zip(groups, found[:, 0], strict=True):
        np.multiply(rows[first.m], columns[first.n], out=least)
        for tile in others:
            np.minimum(least, rows[tile.m] * columns[tile.n], out=least)
    found /= chip.sms
    return found


def waves(load: Numbers, chip: Chip) -> Numbers:
    """Tiles that the busiest SM computes one after the other. [1]

    Where warps wait for their instructions, a grid of tiles runs in whole waves. Kernels for asynchronous units stay
    on their SMs and share out what is left over, so that a tenth of a wave costs a tenth.
    """
    return np.maximum(load, 1.0) if chip.asynchronous else np.ceil(load)


def path_width(element_bytes: float, chip: Chip) -> float:
    """√(MAC/clock of 2 B): how wide the ways into and out of an SM are, in units that the constants know. [√MAC]

    A matrix unit that does R MACs a clock needs √R operands of each side, as each meets √R others. A narrower
    precision does more MACs of fewer bytes, by the same ways.
    """
    return math.sqrt(chip.macs_per_clock * element_bytes / PATH_BYTES)


def feed_bytes(element_bytes: float, chip: Chip, constants: Products) -> float:
    """Operands that an SM takes in. [B/clock]"""
    each = constants.async_feed_bytes if chip.asynchronous else constants.sync_feed_bytes
    return each * path_width(element_bytes, chip)


def clocks_per_k(tile: Tile, element_bytes: float, chip: Chip, constants: Products) -> tuple[float, float]:
    """Clocks that the matrix units need for one step of 1 along k, and that the operands need. [clock]"""
    arithmetic = tile.m * tile.n / (chip.macs_per_clock * constants.matrix_efficiency)
    return arithmetic, element_bytes * (tile.m + tile.n) / feed_bytes(element_bytes, chip, constants)


def busy_clocks(tile: Tile, element_bytes: float, chip: Chip, constants: Products) -> float:
    """What both take together for one step of 1 along k. [clock]

    Warps that wait for their instructions load the operands in between, and the two are never quite side by side;
    asynchronous units read them on their own.
    """
    arithmetic, feed = clocks_per_k(tile, element_bytes, chip, constants)
    return max(arithmetic, feed) if chip.asynchronous else float(overlapped(arithmetic, feed, constants.overlap))


def latency_per_k(element_bytes: float, chip: Chip, constants: Products) -> float:
    """The least that 1 along k takes, however small the tile: steps follow one another. [clock]

    A step is as long everywhere; a unit that reads its operands itself takes in four times as many bytes with one.
    """
    step = constants.async_step_bytes if chip.asynchronous else constants.sync_step_bytes
    return constants.step_clocks * element_bytes / step


def store_clocks(tile: Tile, element_bytes: float, chip: Chip, constants: Products) -> float:
    """To write one tile, by a way out that is as wide as the ways in. [clock]"""
    return tile.m * tile.n * element_bytes / (constants.store_bytes * path_width(element_bytes, chip))


class TileCost(NamedTuple):
    """What a tile costs; of several tiles along the first of three axes, before splits of k and shapes."""

    results: Numbers | float
    """Elements of the result. [1]"""
    busy: Numbers | float
    """One step of 1 along k. [clock]"""
    least: float
    """The least that such a step takes. [clock]"""
    store: Numbers | float
    """To write all of it. [clock]"""

    def part(self, some: slice) -> "TileCost":
        """Of some of several tiles."""
        results, busy, store = (np.asarray(each)[some] for each in (self.results, self.busy, self.store))
        return TileCost(results, busy, self.least, store)


def cost(tile: Tile, element_bytes: float, chip: Chip, constants: Products) -> TileCost:
    """Of one tile."""
    busy = busy_clocks(tile, element_bytes, chip, constants)
    store = store_clocks(tile, element_bytes, chip, constants)
    return TileCost(tile.m * tile.n, busy, latency_per_k(element_bytes, chip, constants), store)


def costs(tiles: tuple[Tile, ...], element_bytes: float, chip: Chip, constants: Products) -> TileCost:
    """Of several tiles, once of those that are alike. Shape (alike, 1, 1)"""
    each = [cost(one[0], element_bytes, chip, constants) for one in alike(tiles)]
    results, busy, _, store = np.array(each).T[:, :, None, None]
    return TileCost(results, busy, each[0].least, store)


def main_clocks(k: Numbers, waves: Numbers, tile: TileCost, split: Split) -> Numbers:
    """The main loop of the busiest SM. [clock]"""
    found: Numbers = waves * (tile.busy / split)
    np.maximum(found, tile.least / split, out=found)
    found *= k
    return found


def kernel_clocks(k: Numbers, waves: Numbers, tile: TileCost, split: Split, chip: Chip) -> Numbers:
    """Main loop and the store of what it found. [clock]

    Where warps wait, a tile is stored and then the next begun; beside asynchronous units most of one is stored while
    the next is computed.
    """
    found, store = main_clocks(k, waves, tile, split), waves * tile.store
    return np.sqrt(_squares(found, store)) if chip.asynchronous else np.add(found, store, out=found)


def least_clocks(k: Numbers, waves: Numbers, tiles: TileCost, split: Split, chip: Chip) -> Numbers:
    """`kernel_clocks` of the tile that takes least. Shape without that of tiles. [clock]"""
    if not chip.asynchronous:
        return np.asarray(kernel_clocks(k, waves, tiles, split, chip).min(axis=0))
    return np.asarray(np.sqrt(_squares(main_clocks(k, waves, tiles, split), waves * tiles.store).min(axis=0)))


def _squares(main: Numbers, store: Numbers) -> Numbers:
    """The square of a hypotenuse, in place of `main`: `np.hypot` takes three times as long, for its last digit."""
    main *= main
    store *= store
    main += store
    return main


class Menu(NamedTuple):
    """What a library can compute a product by."""

    tiles: tuple[Tile, ...]
    splits: tuple[int, ...]
    """In how many parts k is cut, 1 first."""


def menu(chip: Chip) -> Menu:
    """Every tile with every way to cut k."""
    return Menu(TILES, splits(chip))
