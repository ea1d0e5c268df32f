"""Units: text with units is parsed to plain SI floats, and floats are formatted as text.

The base units are op, B (byte), s, J, m, USD and g; every other unit is a product of powers of them. 1 MAC = 2 op,
1 GB = 1e9 B, 1 GiB = 2**30 B. Spelling is exact: "TOPS", "Gbps", "GHZ" and "mb" are refused, because their readers
disagree about them.
"""

import math
import re
from dataclasses import dataclass, field
from functools import cache

OPS_PER_MAC = 2  # one multiply and one add; the only place the project says so

SECONDS_PER_HOUR = 3600
JOULES_PER_KWH = 3.6e6

SI_PREFIXES = {"p": -12, "n": -9, "u": -6, "µ": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
IEC_PREFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50}

#: Powers of the base units op, B, s, J, m, USD, g.
Dimension = tuple[int, int, int, int, int, int, int]

DIMENSIONLESS: Dimension = (0, 0, 0, 0, 0, 0, 0)
OPS: Dimension = (1, 0, 0, 0, 0, 0, 0)
BYTES: Dimension = (0, 1, 0, 0, 0, 0, 0)
SECONDS: Dimension = (0, 0, 1, 0, 0, 0, 0)
JOULES: Dimension = (0, 0, 0, 1, 0, 0, 0)
METRES: Dimension = (0, 0, 0, 0, 1, 0, 0)
HERTZ: Dimension = (0, 0, -1, 0, 0, 0, 0)
WATTS: Dimension = (0, 0, -1, 1, 0, 0, 0)
OPS_PER_S: Dimension = (1, 0, -1, 0, 0, 0, 0)
BYTES_PER_S: Dimension = (0, 1, -1, 0, 0, 0, 0)
OPS_PER_BYTE: Dimension = (1, -1, 0, 0, 0, 0, 0)
OPS_PER_J: Dimension = (1, 0, 0, -1, 0, 0, 0)
JOULES_PER_OP: Dimension = (-1, 0, 0, 1, 0, 0, 0)
JOULES_PER_BYTE: Dimension = (0, -1, 0, 1, 0, 0, 0)
JOULES_PER_BYTE_M: Dimension = (0, -1, 0, 1, -1, 0, 0)
DOLLARS: Dimension = (0, 0, 0, 0, 0, 1, 0)
DOLLARS_PER_S: Dimension = (0, 0, -1, 0, 0, 1, 0)
DOLLARS_PER_J: Dimension = (0, 0, 0, -1, 0, 1, 0)
GRAMS: Dimension = (0, 0, 0, 0, 0, 0, 1)
GRAMS_PER_J: Dimension = (0, 0, 0, -1, 0, 0, 1)

#: symbol → (factor to base units, dimension, may it take prefixes)
_SYMBOLS: dict[str, tuple[float, Dimension, str]] = {
    "op": (1, OPS, "si"),
    "OP": (1, OPS, "si"),
    "FLOP": (1, OPS, "si"),
    "MAC": (OPS_PER_MAC, OPS, "si"),
    "B": (1, BYTES, "si+iec"),
    "bit": (1 / 8, BYTES, "si+iec"),
    "s": (1, SECONDS, "si"),
    "Hz": (1, HERTZ, "si"),
    "W": (1, WATTS, "si"),
    "J": (1, JOULES, "si"),
    "m": (1, METRES, "si"),
    "h": (SECONDS_PER_HOUR, SECONDS, ""),
    "Wh": (SECONDS_PER_HOUR, JOULES, "si"),
    "USD": (1, DOLLARS, ""),
    "g": (1, GRAMS, "si"),
    "inferences": (1, DIMENSIONLESS, ""),
    "%": (0.01, DIMENSIONLESS, ""),
}

_MISSPELT = {
    "tops": "TOP/s",
    "gops": "GOP/s",
    "pops": "POP/s",
    "tflops": "TFLOP/s",
    "gflops": "GFLOP/s",
    "pflops": "PFLOP/s",
    "gbps": "GB/s or Gbit/s",
    "tbps": "TB/s or Tbit/s",
    "gb/s": "GB/s",
    "gt/s": "Gbit/s (per pin)",
    "mhz": "MHz",
    "ghz": "GHz",
    "gb": "GB",
    "mb": "MB",
    "kb": "kB or KiB",
    "w": "W",
    "bits": "bit",
    "bytes": "B",
    "mac/clock": "MAC (the key says that it is per clock)",
    "macs": "MAC",
    "kwh": "kWh",
    "$": "USD",
    "usd": "USD",
    "$/h": "USD/h",
    "usd/h": "USD/h",
    "usd/hour": "USD/h",
    "$/kwh": "USD/kWh",
    "usd/kwh": "USD/kWh",
    "gco2/kwh": "g/kWh",
    "gco2e/kwh": "g/kWh",
    "gco2eq/kwh": "g/kWh",
    "kgco2e": "kg",
}

_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_QUANTITY = re.compile(rf"(?P<number>{_NUMBER})(?:/(?P<divisor>[0-9]{{1,9}}))?(?:\s+(?P<unit>\S.*))?")

#: A small b may be a bit or a byte; the writer has to choose.
_MISSPELT_BITS = {f"{p}b{rest}": f"{p}bit{rest} or {p}B{rest}" for p in ("k", "M", "G", "T", "") for rest in ("", "/s")}


class UnitError(ValueError):
    """A text that is not a quantity, said in one sentence without a place (the caller adds it)."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its dimension, and how it was printed."""

    value: float = field(hash=False)  # a column of variants has no hash
    """In the base units of its dimension: op, B, s, J, m, USD, g."""
    dimension: Dimension
    text: str
    """As it was written."""
    step: float = 0.0
    """One unit of the last printed digit, in base units; 0 for a bare integer or a fraction, which are exact."""


SMALLEST, LARGEST = 1e-40, 1e40
"""Of a quantity, in base units: products and quotients of several such numbers stay finite."""

RANGE = f"{SMALLEST:.0e} to {LARGEST:.0e} in base units"

LONGEST = 100
"""Characters of a quantity."""


@cache
def parse_unit(text: str) -> tuple[float, Dimension]:
    """Factor to base units and dimension of a unit such as `TOP/s`, `Gbit/s`, `pJ/bit`.

    Raises UnitError for a spelling that is not exactly one of ours.
    """
    factor, powers = 1.0, [0, 0, 0, 0, 0, 0, 0]
    for position, atom in enumerate(text.split("/")):
        sign = -1 if position else 1
        atom_factor, dimension = _parse_atom(atom, text)
        factor *= atom_factor**sign
        powers = [power + sign * more for power, more in zip(powers, dimension, strict=True)]
    op, byte, second, joule, metre, dollar, gram = powers
    return factor, (op, byte, second, joule, metre, dollar, gram)


def _parse_atom(atom: str, whole: str) -> tuple[float, Dimension]:
    for symbol, (factor, dimension, prefixes) in _SYMBOLS.items():
        if not atom.endswith(symbol):
            continue
        prefix = atom[: -len(symbol)]
        if not prefix:
            return factor, dimension
        if "si" in prefixes and prefix in SI_PREFIXES:
            return _exact(factor, SI_PREFIXES[prefix]), dimension
        if "iec" in prefixes and prefix in IEC_PREFIXES:
            return factor * 2 ** IEC_PREFIXES[prefix], dimension
    meant = _MISSPELT_BITS.get(whole) or _MISSPELT.get(whole.lower(), _MISSPELT.get(atom.lower()))
    raise UnitError(f"unknown unit '{whole}'" + (f"; write {meant}" if meant else ""))


def _exact(factor: float, exponent: int) -> float:
    """factor · 10^exponent, rounded once: `1e-9` and not `0.1 ** 9`."""
    return factor * float(f"1e{exponent}")


def parse_quantity(text: str | float) -> Quantity:
    """Read `5.24 Gbit/s`, `132` or `1/32 MAC`.

    Raises UnitError for anything else, NaN, infinities and magnitudes out of range included.
    """
    written = " ".join(str(text).split())
    if len(written) > LONGEST:
        raise UnitError(f"want a number of at most {LONGEST} characters, found {len(written)}")
    match = _QUANTITY.fullmatch(written)
    if not match or isinstance(text, bool):
        raise UnitError(f"'{written}' is not a number with a unit" + _hint(written))
    number, divisor, unit = match["number"], match["divisor"], match["unit"]
    factor, dimension = parse_unit(unit) if unit else (1.0, DIMENSIONLESS)
    if divisor and not int(divisor):
        raise UnitError(f"'{written}' divides by zero")
    value = float(number) / int(divisor or 1) * factor
    if not in_range(value):
        raise UnitError(f"'{written}' is out of range, {RANGE}")
    exact = divisor or (not unit and number.lstrip("+-").isdigit())
    return Quantity(value, dimension, written, 0.0 if exact else last_digit(number) * factor)


def in_range(value: float) -> bool:
    """Whether a value is zero, or of a magnitude that computers and their parts have."""
    return value == 0 or SMALLEST <= abs(value) <= LARGEST


def _hint(written: str) -> str:
    if re.match(r"[-+]?\d{1,3}([,_]\d{3})+", written):
        return "; write digits without separators"
    if re.match(rf"{_NUMBER}[A-Za-zµ]", written):
        return "; put a space between number and unit"
    return ""


def last_digit(number: str) -> float:
    """One unit of the last digit that is printed: `3.35` → 0.01, `170` → 1, `1.3e9` → 1e8."""
    mantissa, _, exponent = number.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(f"1e{int(exponent or 0) - decimals}")


_SHOWN: dict[Dimension, tuple[str, str]] = {
    OPS: ("op", "si"),
    BYTES: ("B", "si"),
    SECONDS: ("s", "si"),
    JOULES: ("J", "si"),
    METRES: ("m", "si"),
    HERTZ: ("Hz", "si"),
    WATTS: ("W", "none"),
    OPS_PER_S: ("OP/s", "si"),
    BYTES_PER_S: ("B/s", "si"),
    OPS_PER_BYTE: ("op/B", "none"),
    OPS_PER_J: ("OP/s/W", "si"),
    JOULES_PER_OP: ("J/op", "si"),
    JOULES_PER_BYTE: ("J/B", "si"),
    JOULES_PER_BYTE_M: ("J/B/m", "si"),
    DOLLARS: ("USD", "none"),
    DOLLARS_PER_S: ("USD/s", "none"),
    DOLLARS_PER_J: ("USD/J", "none"),
    GRAMS: ("g", "si"),
    GRAMS_PER_J: ("g/J", "si"),
}


#: What a dimension is called in a message.
NAMES: dict[Dimension, str] = {
    DIMENSIONLESS: "a bare number",
    **{dimension: symbol.replace("OP", "op") for dimension, (symbol, _) in _SHOWN.items()},
}


def measure(dimension: Dimension) -> str:
    """`in op/s`, `a bare number`: what a quantity of a dimension is, for a message."""
    if dimension == DIMENSIONLESS:
        return "a bare number"
    return f"in {NAMES.get(dimension, 'another unit')}"


def format_quantity(value: float, dimension: Dimension, *, digits: int = 4, unit: str | None = None) -> str:
    """`85.23 TOP/s`: a value in base units, for a reader.

    `unit` names another unit without its prefix (`FLOP/s` for floating-point rates); `digits` counts significant ones.
    """
    symbol, style = _SHOWN.get(dimension, ("", "none"))
    symbol = unit or symbol
    if not math.isfinite(value):
        return f"{value} {symbol}".strip()
    if style == "none" or value == 0:
        return f"{format_number(value, digits)} {symbol}".strip()
    exponent = _engineering(value, digits)
    prefix = next(name for name, power in SI_PREFIXES.items() if power == exponent and name != "u")
    return f"{format_number(value / float(f'1e{exponent}'), digits)} {prefix}{symbol}"


def _engineering(value: float, digits: int) -> int:
    rounded = float(f"{abs(value):.{digits - 1}e}")
    return min(15, max(-12, 3 * math.floor(math.log10(rounded) / 3)))


def format_number(value: float, digits: int = 4) -> str:
    """Significant digits without an exponent and without trailing zeros after the point: `85.23`, `1300`, `0.08`."""
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    text = f"{value:.{digits}g}"
    if "e" in text:
        decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        text = f"{float(text):.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float) -> str:
    """`23.4 %`: a share in three digits; below 0.001 % only that it is."""
    if 0 < abs(share) < 1e-5:
        return "< 0.001 %"
    return f"{100 * share:.3g} %"
