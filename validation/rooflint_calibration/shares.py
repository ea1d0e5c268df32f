"""Shares: the predicted time of each row, divided among the terms of its formula so that they add up to it.

Of two that run beside each other the longer one is counted whole, and the shorter one for what it adds.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from rooflint.kernels import decode, pointwise, prefill, quantised, stream
from rooflint.kernels.attention import Attention
from rooflint.kernels.breakdown import Breakdown, Case, breakdowns
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants
from rooflint.kernels.quantised import NARROW_BYTES, WIDE_BYTES, Scale
from rooflint.kernels.shapes import Numbers, overlapped, shapes
from rooflint_calibration.fp8_products import COPIES
from rooflint_calibration.ops import WITH_CACHE
from rooflint_calibration.products import ELEMENT_BYTES

Shares = Mapping[str, Numbers]
"""Seconds of each row by term."""

LOOP = {"arithmetic": "main loop", "feed": "feed", "steps": "step"}
"""What the main loop is counted as, by what binds it."""


def shares_s(topic: str, sizes: Numbers, chip: Chip, constants: Constants) -> Shares:
    """Time of each row of a topic by term; the terms of a row add up to what is predicted of it. [s]"""
    return _SHARES[topic](sizes, chip, constants)


def beside(one: Shares, other: Shares, together_s: Numbers) -> Shares:
    """Terms of two that run beside each other and take so long together. [s]"""
    first, second = (np.sum(list(terms.values()), axis=0) for terms in (one, other))
    longer = first >= second
    rest = together_s - np.maximum(first, second)
    return {
        **{name: np.where(longer, seconds, _part(seconds, first, rest)) for name, seconds in one.items()},
        **{name: np.where(longer, _part(seconds, second, rest), seconds) for name, seconds in other.items()},
    }


def _part(seconds: Numbers, whole: Numbers, rest: Numbers) -> Numbers:
    """The same part of what is left over. [s]"""
    return np.divide(seconds, whole, out=np.zeros_like(seconds), where=whole > 0) * rest


# ------------------------------------------------------------------------------------------------------------ products


def _gemm(sizes: Numbers, chip: Chip, constants: Constants) -> Shares:
    return _stacked(
        _product(breakdowns(Case(shapes(m, n, k), chip, constants.products, ELEMENT_BYTES, copies))[0])
        for m, n, k, copies in sizes
    )


def _stacked(ones: Iterable[Shares]) -> Shares:
    """Of each row by itself, all rows together; a term that a row lacks is zero."""
    rows = list(ones)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([float(np.sum(row.get(name, 0.0))) for row in rows]) for name in names}


def _product(one: Breakdown) -> Shares:
    compute = {"power": np.array([one.power_s])} if one.power_s >= one.kernel_s else _kernel(one)
    overlapped = beside(compute, {"memory": np.array([one.memory_s])}, np.array([one.overlapped_s]))
    return {**overlapped, "reduction": np.array([one.reduction_s]), "launch": np.array([one.launch_s])}


def _kernel(one: Breakdown) -> Shares:
    """Main loop and store, which follow each other or overlap."""
    per_k = {
        "arithmetic": one.waves * one.arithmetic_clocks_per_k,
        "feed": one.waves * one.feed_clocks_per_k,
        "steps": one.latency_clocks_per_k,
    }
    loop = LOOP[max(per_k, key=lambda name: per_k[name])]
    return beside({loop: np.array([one.main_s])}, {"store": np.array([one.store_s])}, np.array([one.kernel_s]))


def _fp8(scale: Scale) -> Callable[[Numbers, Chip, Constants], Shares]:
    def found(sizes: Numbers, chip: Chip, constants: Constants) -> Shares:
        rows = [_fp8_product(size, chip, constants, scale) for size in sizes]
        before = quantised.quantise_s(shapes(*sizes.T), chip, constants.stream, warm=True)
        return {**_stacked(rows), "quantise": before}

    return found


def _fp8_product(size: Numbers, chip: Chip, constants: Constants, scale: Scale) -> Shares:
    """The fastest of the kernels that there are in FP8, whose result is wider than its operands."""
    here, one = quantised.here(constants), shapes(*size)
    there = quantised.kernels(scale, one.m.item(), chip)
    memory = quantised.memory_s(one, chip, here, COPIES).item()
    ways = [
        replace(way, memory_s=memory, overlapped_s=float(overlapped(way.compute_s, memory, here.overlap)))
        for way in breakdowns(Case(one, chip, here, NARROW_BYTES, COPIES))
        if way.tile in there.tiles and way.split in there.splits
    ]
    return _product(min(ways, key=lambda way: way.latency_s))


# ---------------------------------------------------------------------------------------------------------- other ops


def _quantise(sizes: Numbers, chip: Chip, constants: Constants) -> Shares:
    moved = pointwise.bytes_moved(pointwise.KERNELS["quantise"], sizes.prod(axis=1), WIDE_BYTES, NARROW_BYTES)
    seconds = stream.bytes_s(moved, chip, constants.stream, warm=True)
    return {"memory": seconds, "launch": np.full(len(sizes), stream.launch_s(chip, constants.stream))}


def _prefill(*, causal: bool, append_bytes: float) -> Callable[[Numbers, Chip, Constants], Shares]:
    def found(sizes: Numbers, chip: Chip, constants: Constants) -> Shares:
        some, own = Attention(*sizes.T), constants.prefill
        unfilled = replace(own, block_clocks=0.0)
        given = ((chip, own), (chip, unfilled), (_at_once(chip), unfilled))
        whole, loop, matrix = (prefill.blocks_s(some, on, one, causal=causal) for on, one in given)
        within = {"main loop": matrix, "softmax": loop - matrix, "fill": whole - loop}
        computed = prefill.computed_s(some, chip, constants, causal=causal)
        compute = beside(within, {"power": prefill.power_s(some, chip, constants, causal=causal)}, computed)
        moved = prefill.bytes_moved(some, element_bytes=WIDE_BYTES, append_bytes=append_bytes)
        memory = stream.bytes_s(moved, chip, constants.stream, warm=True)
        overlapped = beside(compute, {"memory": memory}, np.hypot(computed, memory))
        return {**overlapped, "launch": np.full(len(sizes), prefill.launch_s(chip, own))}

    return found


def _at_once(chip: Chip) -> Chip:
    """With exponentials for nothing."""
    return replace(chip, special_functions=np.inf)


def _decode(cache_bytes: float) -> Callable[[Numbers, Chip, Constants], Shares]:
    def found(sizes: Numbers, chip: Chip, constants: Constants) -> Shares:
        some, ops = Attention(*sizes.T), constants
        moved = decode.bytes_moved(some, cache_bytes=cache_bytes)
        memory = stream.bytes_s(moved, chip, ops.stream, warm=True)
        unfilled = replace(ops, decode=replace(ops.decode, block_clocks=0.0))
        parts = np.array([decode.part_s(some, split, chip, ops) for split in decode.SPLITS])
        loops = np.array([decode.part_s(some, split, chip, unfilled) for split in decode.SPLITS])
        sums = np.array([decode.reduction_s(some, split, chip, ops) for split in decode.SPLITS])
        best = np.argmin(np.hypot(parts, memory) + sums, axis=0), np.arange(len(sizes))
        compute = {"main loop": loops[best], "fill": parts[best] - loops[best]}
        overlapped = beside(compute, {"memory": memory}, np.hypot(parts[best], memory))
        launch = np.full(len(sizes), decode.launch_s(chip, ops.decode))
        return {**overlapped, "reduction": sums[best], "launch": launch}

    return found


_SHARES: Mapping[str, Callable[[Numbers, Chip, Constants], Shares]] = MappingProxyType(
    {
        "gemm": _gemm,
        "fp8_tensor": _fp8("tensor"),
        "fp8_block": _fp8("block"),
        "quantise": _quantise,
        "prefill": _prefill(causal=True, append_bytes=WITH_CACHE),
        "encoder": _prefill(causal=False, append_bytes=0.0),
        "decode": _decode(2.0),
        "decode_fp8": _decode(1.0),
    }
)
