"""Causes whose factor is known beforehand: op and MAC, dense and sparse, prefixes, bits and bytes, double data rate."""

import math
from collections.abc import Iterator

from rooflint.causes import Case, Cause
from rooflint.facts import Factor
from rooflint.units import OPS_PER_MAC

PREFIX = "a prefix is off by a thousand"


def conventions(case: Case) -> list[Cause]:
    """Those that the ladder of a case could have broken."""
    names = {factor.name for factor in case.ladder.factors}
    causes: list[Cause] = []
    if "macs_per_clock" in names:
        causes += [
            Cause("a MAC is counted as one op", 1 / OPS_PER_MAC, 1.0, carried=True),
            Cause("the rate is in op already, and counted × 2 again as if it were MAC", OPS_PER_MAC, 1.2, carried=True),
            *_sparsities(case),
            Cause("tera is taken as 2⁴⁰ by one side", 1e12 / 2**40, 2.5),
            Cause("tera is taken as 2⁴⁰ by one side", 2**40 / 1e12, 2.5),
            Cause(PREFIX, 1e3, 2.0),
            Cause(PREFIX, 1e-3, 2.0),
        ]
    memory = [factor for factor in case.ladder.factors if factor.name in ("bus", "bandwidth", "capacity")]
    if memory:
        of_bytes = _byte_conventions(case.ladder.result, double_rate="pin_rate" in names)
        causes += of_bytes
    return causes


def _sparsities(case: Case) -> Iterator[Cause]:
    if case.unit is None or case.hardware is None or case.unit not in case.hardware.units:
        return
    fact = case.hardware.units[case.unit].facts.get(f"sparsity.{case.precision}")
    if fact is None:
        return
    if case.sparse:
        yield Cause("the expectation is a dense figure taken for a sparse one", fact.value, 1.1)
    else:
        yield Cause("the expectation is a figure with structured sparsity, the peak is dense", 1 / fact.value, 1.1)
        yield Cause("structured sparsity is in the rate already", fact.value, 1.1, carried=True)


def _byte_conventions(size: float, *, double_rate: bool) -> Iterator[Cause]:
    """Prefixes of the figure's own size, bits and bytes, and the double in double data rate."""
    power = max(1, min(4, int(math.log10(max(size, 1e3)) / 3)))
    binary, decimal = ("KiB", "MiB", "GiB", "TiB")[power - 1], ("kB", "MB", "GB", "TB")[power - 1]
    factor = 10 ** (3 * power) / 2 ** (10 * power)
    why = f"10^{3 * power} / 2^{10 * power}"
    yield Cause(f"the expectation counts in {binary}, the figure is in {decimal} ({why})", factor, 1.0)
    yield Cause(f"the expectation counts in {decimal}, the figure is in {binary} (1 / ({why}))", 1 / factor, 1.0)
    yield Cause("bits are taken for bytes", 8, 1.0)
    yield Cause("bytes are taken for bits", 1 / 8, 1.0)
    yield Cause(PREFIX, 1e3, 2.0)
    yield Cause(PREFIX, 1e-3, 2.0)
    if double_rate:
        yield Cause("the memory clock is used as the data rate: double data rate is missing", 1 / 2, 1.3, carried=True)
        yield Cause("double data rate is applied twice", 2, 1.3, carried=True)


def counted_twice(factor: Factor) -> Iterator[Cause]:
    """The rate holds a whole group, or the whole device, and is multiplied by their number again."""
    if factor.value > 1:
        text = f"{factor.display} are multiplied in twice: the rate holds them already"
        yield Cause(text, factor.value, 1.4, carried=True)
