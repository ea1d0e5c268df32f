"""Numbers in cells: `1,979`, `989.4 TFLOPS`, `312e12`, `1979e12 / 2`, with the digits that they were printed in."""

import math
import re

from pytest_rooflint.audit.columns import UNIT_WORDS, Column
from rooflint.figures import QUANTITIES
from rooflint.readings import Printed
from rooflint.units import UnitError, last_digit, parse_unit

_NUMBER = r"[0-9]+(?:[.][0-9]*)?(?:[eE][-+]?[0-9]+)?"
_CELL = re.compile(rf"({_NUMBER})((?:\s*[*/]\s*{_NUMBER})*)\s*([A-Za-z/µ]*)")
_PAIR = re.compile(rf"({_NUMBER})\s*([A-Za-z/µ]*)\s*[/|(]\s*({_NUMBER})\s*\)?\s*([A-Za-z/µ]*)\s*\)?")
_THOUSANDS = re.compile(r"(?<![\d.,])([1-9]\d{0,2})((?:[,_']\d{3})+)(?!\d)")
_AROUND = re.compile(
    r"^(?:[~≈<>]|up to|ca\.?)\s*|[*†‡§¹²³]+|\[\d\]$|\bpeak\b|\b(?:HBM|GDDR|LPDDR|DDR)\w*", re.IGNORECASE
)
_REMARK = re.compile(r"\((?!\s*\d+(?:[.]\d+)?\s*\))[^()]*\)")
_SPARSITY = re.compile(r"\(?\b(?:(with(?:out)?|w/o?)\s+)?(sparse|sparsity|dense)\b\)?", re.IGNORECASE)
TWICE = (1.9, 2.1)
"""What the sparse figure of a pair is of the dense one."""
_BASES = frozenset({"peak", "bandwidth"})
SMALL = 64
"""Whole numbers by which people divide a figure in a cell; what is larger is another figure."""
BASE = 1e9
"""A bare number above this is in op/s or B/s, whatever its column says."""

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


def parts(text: str) -> list[tuple[str, bool | None]]:
    """The numbers of a cell, each with whether it is said to be sparse: `989 / 1979` are dense and sparse."""
    bare = _AROUND.sub("", _SPARSITY.sub("", _joined(text))).strip()
    if pair := _PAIR.fullmatch(bare):
        low, high = sorted((float(pair[1]), float(pair[3])))
        if low > 0 and TWICE[0] <= high / low <= TWICE[1] and high > SMALL:
            unit = pair[4] or pair[2]
            return [(f"{number} {unit}".strip(), float(number) == high) for number in (pair[1], pair[3])]
    return [_plain(text)]


def _joined(text: str) -> str:
    """`1,979` → 1979; `0,989` is a decimal comma, and stays."""
    return _THOUSANDS.sub(lambda match: match[1] + re.sub(r"\D", "", match[2]), text.strip())


def _plain(text: str) -> tuple[str, bool | None]:
    """A cell without thousands separators, footnote marks and remarks, and whether it says that it is sparse."""
    plain = _joined(text)
    said = _SPARSITY.search(plain)
    sparse = None
    if said:
        without = (said[1] or "").lower() in ("without", "w/o")
        sparse = said[2].lower() != "dense" and not without
        plain = _SPARSITY.sub("", plain)
    return _AROUND.sub("", _REMARK.sub("", plain).strip()).strip(), sparse


def printed(text: str, column: Column, unit: str | None = None) -> tuple[Printed, str | None]:
    """The number of a cell in base units, and the unit that had to be assumed, if nobody says it.

    Raises NumberError.
    """
    match = _CELL.fullmatch(_plain(text)[0])
    if not match:
        comma = "; write a decimal point" if re.fullmatch(r"\d+,\d+", text.strip()) else ""
        raise NumberError(f"'{text}' is not a number{comma}")
    number, more, own = match.groups()
    value, step = float(number), _step(number)
    for sign, factor in re.findall(rf"([*/])\s*({_NUMBER})", more):
        if "e" not in factor.lower() and not (factor.isdigit() and int(factor) <= SMALL):
            raise NumberError(f"'{text}' holds more than one figure; write one a cell")
        times = float(factor) if sign == "*" else 1 / (float(factor) or math.nan)
        value, step = value * times, step * times
    if not (math.isfinite(value) and value > 0):
        raise NumberError(f"'{text}' is not a finite number above zero")
    said = _spelt(own) or (None if column.role in _BASES and value >= BASE else column.unit or unit)
    assumed = None if said or column.role == "count" else _assumed(column.role, value)
    factor = _factor(said or assumed or "", column)
    return Printed(value * factor, step * factor, text), assumed


def _step(number: str) -> float:
    """One unit of the last digit; behind three digits a zero is a float's, not a person's: `989.0`, but `2.0`."""
    mantissa, exponent_sign, exponent = number.lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    kept = "" if len(whole) > 2 and not decimals.strip("0") else decimals
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
