"""Expectations: a printed value, or an expression of printed values, with the tolerance that its digits allow.

`170 TOP/s / 2 / 204.8 GB/s` is a quotient of printed values: operators have spaces around them, the slash of a unit
does not. Every value with a unit or a decimal point is uncertain by half a unit of its last digit; a bare integer is
exact. `± 1 %` or `± 0.3 GB/s` states the tolerance instead. The second half judges tolerances: *loose* is wider than
the printed digits justify, *stale* is loose and wider than the obtained value needs.
"""

import math
import re
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal

from rooflint.base.facts import leading_number
from rooflint.base.units import RANGE, Dimension, UnitError, format_number, in_range, parse_quantity

ROUNDING_ERROR = 1e-12
"""Relative error allowed for floating-point arithmetic; there is no absolute tolerance."""

FEWEST_STEPS = 25
"""A whole number with zeros at its end may be rounded to as many steps, to 2 % of it; in coarser ones all agrees."""

LONGEST = 200
"""Maximum characters of an expectation; also limits how deep brackets nest."""

_TOKEN = re.compile(
    r"\s*(?:(?P<open>\()|(?P<close>\))"
    r"|(?P<value>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?:\s+(?:[A-Za-zµ%][A-Za-zµ%]*)(?:/[A-Za-zµ]+)*)?)"
    r"|(?P<operator>[-+*/]))"
)


class ExpectationError(ValueError):
    """A text that is not an expectation; the message is one sentence without file and line."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with the interval that its printed digits allow, in base units."""

    value: float
    low: float
    high: float
    dimension: Dimension

    def __add__(self, other: "Interval") -> "Interval":
        """Sum; the dimensions must agree."""
        _same(self, other)
        return Interval(self.value + other.value, self.low + other.low, self.high + other.high, self.dimension)

    def __sub__(self, other: "Interval") -> "Interval":
        """Difference; the dimensions must agree."""
        _same(self, other)
        return Interval(self.value - other.value, self.low - other.high, self.high - other.low, self.dimension)

    def __mul__(self, other: "Interval") -> "Interval":
        """Product of positive values."""
        dimension = tuple(a + b for a, b in zip(self.dimension, other.dimension, strict=True))
        return Interval(self.value * other.value, self.low * other.low, self.high * other.high, dimension)  # type: ignore[arg-type]

    def __truediv__(self, other: "Interval") -> "Interval":
        """Quotient of positive values."""
        if other.low <= 0:
            raise ExpectationError("divides by a value that may be zero within its printed digits")
        dimension = tuple(a - b for a, b in zip(self.dimension, other.dimension, strict=True))
        return Interval(self.value / other.value, self.low / other.high, self.high / other.low, dimension)  # type: ignore[arg-type]


def _same(one: Interval, two: Interval) -> None:
    if one.dimension != two.dimension:
        raise ExpectationError("adds or subtracts values of different units")


@dataclass(frozen=True, slots=True)
class Expectation:
    """The value that a claim expects, and the interval that still agrees with it."""

    text: str
    """As the golden file writes it, without a stated tolerance."""
    value: float
    low: float
    high: float
    dimension: Dimension
    tolerance: str
    """Where the tolerance comes from: `printed digits`, `truncated`, `stated` or `exact`."""
    stated: str | None = None
    """The tolerance as written, where it is stated."""
    digits: "Expectation | None" = None
    """Where the tolerance is stated: the expectation by the printed digits alone."""

    def holds(self, obtained: float) -> bool:
        """Whether a value agrees. NaN and infinities never do."""
        if not math.isfinite(obtained):
            return False
        slack = ROUNDING_ERROR * abs(self.value)
        if self.tolerance == "truncated":  # the next digit up would have been printed
            return self.low - slack <= obtained < self.high - slack
        return self.low - slack <= obtained <= self.high + slack

    def slack(self, obtained: float) -> float:
        """Distance from failing: 1 in the middle, 0 at the edge, negative outside. [1]"""
        if obtained >= self.value and self.high > self.value:
            return (self.high - obtained) / (self.high - self.value)
        if self.value > self.low:
            return (obtained - self.low) / (self.value - self.low)
        return float(self.holds(obtained))

    @property
    def rounding(self) -> float:
        """Half a step of the last digit but zeros, as a share, where a whole number may be rounded; else 0. [1]"""
        number = re.match(r"(\d+?)0+(?= \S+$)", self.text)
        return 0.5 / int(number[1]) if number and int(number[1]) >= FEWEST_STEPS else 0.0

    @property
    def width(self) -> float:
        """Distance of the farther edge from the value, as a share of the value. [1]"""
        return max(self.high / self.value - 1, 1 - self.low / self.value)

    @property
    def justified(self) -> bool:
        """Whether the tolerance is no wider than the printed digits allow."""
        return self.digits is None or (self.low >= self.digits.low and self.high <= self.digits.high)

    @property
    def tolerance_text(self) -> str:
        """`±0.29 %`, `+0.6 %` for a truncated figure, `exact`."""
        if self.high == self.low:
            return "exact"
        below, above = 100 * (1 - self.low / self.value), 100 * (self.high / self.value - 1)
        if below < 1e-9:
            return f"+{format_number(above, 2)} %"
        return f"±{format_number(max(below, above), 2)} %"


def parse_expectation(text: str | float, *, truncated: bool = False) -> Expectation:
    """Read an expectation. Raises ExpectationError for anything else, such as NaN or a value that is not positive."""
    written = str(text).strip()
    if len(written) > LONGEST:
        raise ExpectationError(f"want at most {LONGEST} characters, found {len(written)}")
    if isinstance(text, bool) or not written:
        raise ExpectationError(f"'{written}' is not a value with a unit")
    body, sign, margin = written.partition("±")
    if sign and not margin.strip():
        raise ExpectationError("'±' without a tolerance; write one such as '± 1 %'")
    interval = _Parser(body.strip(), truncated=truncated).parse()
    if interval.value <= 0:
        raise ExpectationError(f"want a value above zero, found '{body.strip()}'")
    if not in_range(interval.value):
        raise ExpectationError(f"'{body.strip()}' is out of range, {RANGE}")
    kind = "exact" if interval.low == interval.high else "truncated" if truncated else "printed digits"
    printed = Expectation(body.strip(), interval.value, interval.low, interval.high, interval.dimension, kind)
    return _stated(printed, margin.strip()) if margin else printed


def _stated(printed: Expectation, margin: str) -> Expectation:
    try:
        quantity = parse_quantity(margin)
    except UnitError as error:
        raise ExpectationError(f"after '±': {error}") from error
    if margin.endswith("%"):
        width = printed.value * quantity.value
    elif quantity.dimension == printed.dimension:
        width = quantity.value
    else:
        raise ExpectationError(f"'± {margin}' has another unit than '{printed.text}'")
    if not 0 < width < printed.value:
        raise ExpectationError(f"'± {margin}' is not a tolerance between 0 and 100 %")
    low, high = printed.value - width, printed.value + width
    return replace(printed, low=low, high=high, tolerance="stated", stated=f"± {margin}", digits=printed)


class _Parser:
    """Recursive descent over sums of products of printed values; Interval does the arithmetic."""

    def __init__(self, text: str, *, truncated: bool) -> None:
        self.text = text
        self.truncated = truncated
        self.tokens = list(self._tokens())
        self.position = 0

    def _tokens(self) -> "list[tuple[str, str]]":
        found, at = list[tuple[str, str]](), 0
        while self.text[at:].strip():
            match = _TOKEN.match(self.text, at)
            if not match:
                if found and found[-1][0] == "value" and not self.text[at].isspace():  # a unit behind its number
                    self._interval(f"{found[-1][1]}{self.text[at:].split()[0]}")
                raise ExpectationError(f"cannot read '{self.text[at:].strip()}' in '{self.text}'")
            found.append((str(match.lastgroup), match[str(match.lastgroup)]))
            at = match.end()
        return found

    def parse(self) -> Interval:
        if not self.tokens:
            raise ExpectationError("want a value with a unit, found nothing")
        total = self._sum()
        if self.position < len(self.tokens):
            raise ExpectationError(f"cannot read '{self.tokens[self.position][1]}' in '{self.text}'")
        return total

    def _take(self, *operators: str) -> str | None:
        if self.position < len(self.tokens) and self.tokens[self.position][1] in operators:
            self.position += 1
            return self.tokens[self.position - 1][1]
        return None

    def _sum(self) -> Interval:
        total = self._product()
        while operator := self._take("+", "-"):
            total = total + self._product() if operator == "+" else total - self._product()
        return total

    def _product(self) -> Interval:
        total = self._value()
        while operator := self._take("*", "/"):
            total = total * self._value() if operator == "*" else total / self._value()
        return total

    def _value(self) -> Interval:
        if self._take("("):
            inner = self._sum()
            if not self._take(")"):
                raise ExpectationError(f"a bracket is not closed in '{self.text}'")
            return inner
        if self.position >= len(self.tokens) or self.tokens[self.position][0] != "value":
            raise ExpectationError(f"want a value in '{self.text}'")
        self.position += 1
        return self._interval(self.tokens[self.position - 1][1])

    def _interval(self, text: str) -> Interval:
        try:
            quantity = parse_quantity(text)
        except ValueError as error:  # UnitError is one
            raise ExpectationError(str(error)) from error
        below = 0.0 if self.truncated else quantity.step / 2
        above = quantity.step if self.truncated else quantity.step / 2
        return Interval(quantity.value, quantity.value - below, quantity.value + above, quantity.dimension)


# ---- loose and stale tolerances

WIDE, WIDEST = 0.05, 0.30
"""A tolerance above the first needs a reason, whatever its origin; a stated one above the second is refused."""

ROUNDED_UP = 2.0
"""How much a gap may grow when it is rounded up to one digit: 0.101 to 0.2. Anything wider was guessed."""


@dataclass(frozen=True, slots=True)
class Stale:
    """A stated tolerance that is wider than the claim needs, and what would suffice."""

    text: str
    write: str
    """What to write instead; empty where the printed digits suffice."""


def is_wide(expectation: Expectation) -> bool:
    """Whether a tolerance, whatever its origin, is above WIDE."""
    return expectation.width > WIDE * (1 + 1e-9)


def is_loose(expectation: Expectation) -> bool:
    """Whether a tolerance is wider than digits justify: stated wider, or printed with too few digits."""
    return not expectation.justified or is_wide(expectation)


def stale(expectation: Expectation, obtained: float) -> Stale | None:
    """Why a stated tolerance is wider than a value needs; None where it is not, or where the value fails.

    A tolerance narrower than the printed digits is never stale: it makes the claim sharper.
    """
    printed = expectation.digits
    if printed is None or expectation.justified or not expectation.holds(obtained):
        return None
    if printed.holds(obtained):
        return Stale(f"the printed digits suffice ({printed.tolerance_text})", "")
    gap = abs(obtained - expectation.value)
    if expectation.high - expectation.value <= ROUNDED_UP * gap:
        return None
    share = f"{format_number(100 * gap / expectation.value, 2)} %"
    return Stale(f"{expectation.stated} bridges a gap of {share}", f"± {_tight(expectation, gap)}")


def _tight(expectation: Expectation, gap: float) -> str:
    """The gap rounded up to one digit, in the unit of the stated tolerance: `0.2 %`, `3 GB/s`."""
    stated = str(expectation.stated).removeprefix("± ")
    needed = (gap - ROUNDING_ERROR * expectation.value) / (expectation.high - expectation.value)
    return f"{_rounded_up(needed * leading_number(stated))} {stated.partition(' ')[2]}".strip()


def _rounded_up(value: float) -> str:
    """To one digit, without an exponent."""
    exact = Decimal(value)
    return f"{exact.quantize(Decimal(1).scaleb(exact.adjusted()), ROUND_CEILING).normalize():f}"


def loose_summary(loose: int, stale: int) -> str | None:
    """One line about the loose tolerances of a run; None where there are none."""
    if not loose:
        return None
    claims = f"{loose} claims have tolerances" if loose > 1 else "1 claim has a tolerance"
    return f"{claims} wider than the digits justify" + (f", {stale} of them wider than needed" if stale else "")
