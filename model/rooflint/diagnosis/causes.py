"""Causes of a wrong figure: ratios, causes, and conventions whose factor is known beforehand."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from rooflint.base.facts import Fact, Factor, Ladder
from rooflint.base.units import OPS_PER_MAC, format_number
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Registry

_ROUND = 1e-9
UNKNOWN = "no known cause"
"""What is said of a ratio that nothing explains."""
AS_SPARSE = "add 'sparse: true'"
ONE_WAY = "add 'one-way' behind the name of the link"


@dataclass(frozen=True, slots=True)
class Span:
    """The ratios obtained / expected that are within the tolerance of the expectation."""

    low: float
    high: float

    def holds(self, factor: float) -> bool:
        """Whether a factor explains the ratio within the tolerance."""
        return self.low * (1 - _ROUND) <= factor <= self.high * (1 + _ROUND)

    @property
    def middle(self) -> float:
        """The ratio itself, as a single number."""
        return math.sqrt(self.low * self.high)

    @property
    def factor(self) -> float:
        """The small fraction that the ratio is within its tolerance, or the ratio itself."""
        near = _small_fraction(self.middle, self)
        return self.middle if near is None else float(near)

    def inverted(self) -> "Span":
        """The span of 1 / ratio."""
        return Span(1 / self.high, 1 / self.low)

    def without(self, factor: float) -> "Span":
        """What is left to explain once a factor is."""
        return Span(self.low / factor, self.high / factor)


@dataclass(frozen=True, slots=True)
class Cause:
    """One explanation of a ratio."""

    text: str
    factor: float
    cost: float
    """Lower is simpler; causes are ranked by it."""
    fact: Fact | None = None
    """The fact that would repair it."""
    repaired: Fact | None = None
    """That fact with the value that it should have."""
    parts: tuple["Cause", ...] = ()
    carried: bool = False
    """Whether the convention was broken in the fact of the rate, so that another rate repairs it."""

    of_claim: bool = False
    """Whether it is the expectation that is wrong, and not a fact."""
    remedy: str = ""
    """What to write in the claim, where it is the claim that is wrong and that is known."""

    needs: int = 0
    """Failed claims that must ask for the repair before it is worth showing."""
    fixes: int | None = None
    """Failed claims that the repair makes pass, where it was tried."""
    breaks: int | None = None
    """Passing claims that it makes fail."""

    @property
    def repair(self) -> str | None:
        """The value that the fact should have, as it would be written."""
        return self.repaired.display if self.repaired else None

    @property
    def factor_text(self) -> str:
        """`1/8`, or `1/16 = 1/8 × 1/2` for a product."""
        if not self.parts:
            return ratio_text(self.factor)
        return f"{ratio_text(self.factor)} = {' × '.join(ratio_text(part.factor) for part in self.parts)}"


@dataclass(frozen=True, slots=True)
class Case:
    """What is known about a wrong figure."""

    ladder: Ladder
    span: Span
    hardware: Hardware | None = None
    registry: Registry | None = None
    unit: str | None = None
    precision: str | None = None
    sparse: bool = False
    given: Callable[[Fact], bool] | None = None
    """Whether a fact is given: others have checked it, so that the expectation is wrong rather than the fact."""

    def is_given(self, fact: Fact) -> bool:
        """Whether the fact is not the user's to doubt first."""
        return self.given is not None and self.given(fact)


def ratio_text(ratio: float, span: Span | None = None) -> str:
    """A ratio as a small fraction where it is one within its tolerance: `1/8`, `2`, `3/4`; otherwise `1.082`."""
    if not math.isfinite(ratio) or ratio <= 0:
        return str(ratio)
    small = _small_fraction(ratio, span or Span(ratio * (1 - 1e-6), ratio * (1 + 1e-6)))
    return format_number(ratio, 4) if small is None else str(small)


def _small_fraction(ratio: float, span: Span) -> Fraction | None:
    """A power of a thousand, `n` or `1/n`, or a fraction of numbers up to 8, that lies in the span."""
    for prefix in (Fraction(1000), Fraction(1, 1000)):
        if span.holds(float(prefix)):
            return prefix
    for bottom in (*range(1, 9), 16, 32, 64, 128, 256):
        top = round(ratio * bottom)
        small = max(top, bottom) <= 8 or min(top, bottom) == 1
        if 0 < top <= 4096 and small and span.holds(top / bottom):
            return Fraction(top, bottom)
    return None


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
    if "directions" in names:
        causes += [
            Cause("both directions are in the rate already, and counted × 2 again", 2.0, 1.0, carried=True),
            Cause("the expectation is of one direction, the link of both", 2.0, 1.1, of_claim=True, remedy=ONE_WAY),
            Cause("the rate of a link is halved, as if it were of both directions", 0.5, 1.1, carried=True),
        ]
    if "devices" in names:
        devices = math.prod(factor.value for factor in case.ladder.factors if factor.name == "devices")
        causes.append(
            Cause(
                "one device is expected, all of the system are counted ('per: device' is one)",
                devices,
                1.1,
                of_claim=True,
            )
        )
    if "per_device" in names:
        devices = math.prod(factor.value for factor in case.ladder.factors if factor.name == "per_device")
        causes.append(Cause("all devices of the system are expected, one is counted", devices, 1.1, of_claim=True))
    if names & {"bus", "bandwidth", "capacity", "link_rate"}:
        causes += _byte_conventions(case.ladder.result, double_rate="pin_rate" in names)
    return causes


def _sparsities(case: Case) -> Iterator[Cause]:
    if case.unit is None or case.hardware is None or case.unit not in case.hardware.units:
        return
    fact = case.hardware.units[case.unit].facts.get(f"sparsity.{case.precision}")
    if fact is None:
        return
    if case.sparse:
        yield Cause("the expectation is a dense figure taken for a sparse one", fact.value, 1.1, of_claim=True)
    else:
        text = "the expectation is a figure with structured sparsity, the peak is dense"
        yield Cause(text, 1 / fact.value, 1.1, of_claim=True, remedy=AS_SPARSE)
    cost = 1.2 if case.is_given(fact) else 0.9  # a rate that others have checked is doubted last
    yield Cause("sparse for dense: structured sparsity is in the rate already", fact.value, cost, carried=True)


def _byte_conventions(size: float, *, double_rate: bool) -> Iterator[Cause]:
    """Prefixes of the figure's own size, bits and bytes, and the double in double data rate."""
    power = max(1, min(4, int(math.log10(max(size, 1e3)) / 3)))
    binary, decimal = ("KiB", "MiB", "GiB", "TiB")[power - 1], ("kB", "MB", "GB", "TB")[power - 1]
    factor = 10 ** (3 * power) / 2 ** (10 * power)
    why = f"10^{3 * power} / 2^{10 * power}"
    text = "the expectation counts in {}, the figure is in {} ({})"
    yield Cause(text.format(binary, decimal, why), factor, 1.0, of_claim=True)
    yield Cause(text.format(decimal, binary, f"1 / ({why})"), 1 / factor, 1.0, of_claim=True)
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
