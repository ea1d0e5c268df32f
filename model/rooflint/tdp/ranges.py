"""Ranges that people type: `1024`, `1024:65536` by doubling, `1GHz:2GHz:0.25GHz` in steps."""

import math
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from rooflint.errors import RooflintError
from rooflint.units import HERTZ, UnitError, format_quantity, parse_quantity

MOST = 64
"""Values of one range; more are no table that anybody reads."""
MOST_ALUS = 10**9
SLOWEST_HZ, FASTEST_HZ = 1e6, 20e9
"""Outside of these a clock has a wrong prefix."""

N = TypeVar("N", int, float)


class RangeError(RooflintError):
    """A number or a range that cannot be read; the message shows one that can."""


def alus_of(text: str) -> list[int]:
    """Counts of ALUs. Raises RangeError."""
    return _values(text, _count, "--alus")


def clocks_of(text: str) -> list[float]:
    """Clocks. [Hz]. Raises RangeError."""
    found = _values(text, _hertz, "--clock")
    for clock_hz in found:
        if not SLOWEST_HZ <= clock_hz <= FASTEST_HZ:
            ends = " … ".join(format_quantity(end, HERTZ) for end in (SLOWEST_HZ, FASTEST_HZ))
            shown = format_quantity(clock_hz, HERTZ)
            raise RangeError(f"--clock: {shown} is outside {ends}; wrong unit or prefix?")
    return found


def _values(text: str, read: Callable[[str], N], option: str) -> list[N]:
    words = text.split(":")
    if len(words) > 3:
        raise RangeError(f"{option}: want low:high or low:high:step, found '{text}'")
    numbers = [read(word.strip()) for word in words]
    low, high, step = numbers[0], numbers[min(1, len(words) - 1)], numbers[2:]
    if high < low:
        raise RangeError(f"{option}: want a range from low to high, found '{text}'")
    count = _steps(low, high, step)
    if count > MOST:
        raise RangeError(f"{option}: want at most {MOST} values, found '{text}', which has {count}")
    return [low + number * step[0] if step else low * 2**number for number in range(count)]


def _steps(low: float, high: float, step: Sequence[float]) -> int:
    """Values from low to high, which is one of them if a step ends there to a millionth."""
    steps = (high - low) / step[0] if step else math.log2(high / low)
    return math.floor(steps + 1e-6) + 1


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", text) or not 1 <= int(text) <= MOST_ALUS:
        raise RangeError(
            f"--alus: want a whole number from 1 to {MOST_ALUS} or a range such as 1024:65536, found '{text}'"
        )
    return int(text)


def _hertz(text: str) -> float:
    spaced = re.sub(r"(?<=[0-9.])(?=[A-Za-z])", " ", text, count=1)
    wish = "--clock: want a clock with its unit, such as 1.83GHz, or a range such as 1GHz:2GHz:0.25GHz"
    try:
        quantity = parse_quantity(spaced)
    except UnitError as error:
        raise RangeError(f"{wish}: {error}") from error
    if quantity.dimension != HERTZ or quantity.value <= 0:
        raise RangeError(f"{wish}, found '{text}'")
    return quantity.value
