"""Numbers in cells: `1,979`, `989.4 TFLOPS`, `312e12`, `1979e12 / 2`, with the digits that they were printed in."""

import math
import re

from pytest_rooflint.audit.columns import UNIT_WORDS, Column
from rooflint.figures import QUANTITIES
from rooflint.readings import Printed
from rooflint.units import UnitError, last_digit, parse_unit

_NUMBER = r"[0-9]+(?:[.][0-9]*)?(?:[eE][-+]?[0-9]+)?"
_CELL = re.compile(rf"[~≈<>]?\s*({_NUMBER})((?:\s*[*/]\s*{_NUMBER})*)\s*([A-Za-z/µ]*)(?:\s*\(?(?:dense|peak)\)?)?")
_THOUSANDS = re.compile(r"(?<=\d)[,_'](?=\d{3}(\D|$))")

#: (largest number, unit) a quantity: what a bare number of that size is in.
_BARE: dict[str, tuple[tuple[float, str], ...]] = {
    "peak": ((1e8, "TFLOP/s"), (math.inf, "FLOP/s")),
    "bandwidth": ((20, "TB/s"), (1e8, "GB/s"), (math.inf, "B/s")),
    "capacity": ((1e5, "GB"), (math.inf, "B")),
    "tdp": ((math.inf, "W"),),
    "clock": ((20, "GHz"), (1e5, "MHz"), (math.inf, "Hz")),
    "bus": ((math.inf, "bit"),),
    "rate": ((math.inf, "op"),),
    "count": ((math.inf, ""),),
}


class NumberError(ValueError):
    """A cell that holds no number of its column's quantity, said in one sentence."""


def printed(text: str, column: Column, unit: str | None = None) -> tuple[Printed, str | None]:
    """The number of a cell in base units, and the unit that had to be assumed, if nobody says it.

    Raises NumberError.
    """
    match = _CELL.fullmatch(_THOUSANDS.sub("", text.strip()))
    if not match:
        raise NumberError(f"'{text}' is not a number")
    number, more, own = match.groups()
    value, step = float(number), _step(number)
    for sign, factor in re.findall(rf"([*/])\s*({_NUMBER})", more):
        times = float(factor) if sign == "*" else 1 / (float(factor) or math.nan)
        value, step = value * times, step * times
    if not (math.isfinite(value) and value > 0):
        raise NumberError(f"'{text}' is not a finite number above zero")
    said = _spelt(own) or column.unit or unit
    assumed = None if said or column.role == "count" else _assumed(column.role, value)
    factor = _factor(said or assumed or "", column)
    return Printed(value * factor, step * factor, text), assumed


def _step(number: str) -> float:
    """One unit of the last digit; zeros after the point are a float's, not a person's: `989.0` is 989."""
    mantissa, exponent_sign, exponent = number.lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    kept = decimals.rstrip("0")
    return last_digit(f"{whole}.{kept}{exponent_sign}{exponent}" if kept else f"{whole}{exponent_sign}{exponent}")


def _spelt(text: str) -> str | None:
    if not text:
        return None
    if text.lower() in UNIT_WORDS:
        return UNIT_WORDS[text.lower()]
    try:
        parse_unit(text)
    except UnitError as error:
        raise NumberError(str(error)) from error
    return text


def _assumed(role: str, value: float) -> str:
    return next(unit for largest, unit in _BARE[role] if value < largest)


def _factor(unit: str, column: Column) -> float:
    factor, dimension = parse_unit(unit) if unit else (1.0, QUANTITIES["count"])
    if dimension != QUANTITIES[column.role]:
        raise NumberError(f"'{unit}' is no unit of a {column.role}")
    return factor
