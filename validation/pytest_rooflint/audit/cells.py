"""Numbers in the cells of a table: read as they were meant, or refused with the cell.

`1,979`, `16 896`, `989.4 TFLOPS`, `1979e12 / 2`, `2 x 24 GB` and `3,35` are one number each; `989 / 1979` is a dense
peak and its sparse one. `56 / 60` and `16/32 GB` are two numbers, either of which may be meant.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import replace

from pytest_rooflint.audit.columns import Column, Commas
from pytest_rooflint.audit.spelling import unit_mistyped, unit_spelt
from rooflint.base.precision import PRECISIONS, rate_unit
from rooflint.base.units import UnitError, last_digit, parse_unit
from rooflint.diagnosis.figures import COARSE, QUANTITIES, Printed, show

_NUMBER = r"[0-9]+(?:[.][0-9]*)?(?:[eE][-+]?[0-9]+)?"
_CELL = re.compile(rf"({_NUMBER})((?:\s*[*/]\s*{_NUMBER})*)\s*([A-Za-z/µ]*)")
_PAIR = re.compile(rf"({_NUMBER})\s*([A-Za-z/µ]*)\s*[/|(]\s*({_NUMBER})\s*\)?\s*([A-Za-z/µ]*)\s*\)?")
_TWICE = re.compile(rf"({_NUMBER})\s*([A-Za-z/]+)\s*\(\s*({_NUMBER})\s*([A-Za-z/]+)\s*\)")
_RANGE = re.compile(rf"{_NUMBER}\s*[A-Za-z/]*\s*(?:-|–|—|\.\.|…|to|bis)\s*{_NUMBER}\s*[A-Za-z/]*", re.IGNORECASE)
_BLANKS = re.compile(r"\s+")
_THOUSANDS = re.compile(r"(?<![\d.,])([1-9]\d{0,2})((?:[,_'’]\d{3})+)(?![\d,])")
_SPACED = re.compile(r"(?<![\d.,/*])([1-9]\d{0,2})((?: \d{3})+)(?![\d,])")
_POINTED = re.compile(r"(?<![\d.,])([1-9]\d{0,2})((?:\.\d{3})+)(?=,\d|(?<=\.\d{3})(?!\d))")
_COMMA = re.compile(r"(?<![\d,.])(\d+),(\d+)(?![\d,])")
_CLEAR_COMMA = re.compile(r"(?<![\d,.])(?:0,\d+|\d{1,3}(?:\.\d{3})+,\d+|\d+,(?:\d{1,2}|\d{4,}))(?![\d,.])")
_CLEAR_POINT = re.compile(r"(?<![\d,.])(?:0\.\d+|\d+\.(?:\d{1,2}|\d{4,}))(?![\d,.])")
_POWER = re.compile(r"\s*[*x×·]\s*10\s*(?:\^|\*\*)\s*([-+]?\d+)", re.IGNORECASE)
_WORKED = re.compile(r"^[\d\s.,*/x×·()+-]+=\s*(?=\d)", re.IGNORECASE)
"""What a figure is worked out from: `2 × 132 = 264`."""
_BETWEEN = re.compile(r"(?<=\d)\s*[x×·]\s*(?=\d)", re.IGNORECASE)
_AROUND = re.compile(
    r"^(?:[~≈*]+|up to|ca\.?)\s*|\s*\?+$|\*+(?!\s*[\d*])|[†‡§¹²³]+|\[\d\]$|\bpeak\b|\b(?:HBM|GDDR|LPDDR|DDR)\w*"
    r"|\b(?:NVLink|xGMI)(?:[ -]?\d(?:\.0)?)?\b:?",
    re.IGNORECASE,
)
_REMARK = re.compile(r"\((?!\s*\d+(?:[.]\d+)?\s*\))[^()]*\)")
_UNIT_IN_REMARK = re.compile(r"(?<![\w./-])(?<!\d )[A-Za-z]{2,}(?:/s(?:ec)?)?(?![\w/])")
_PER_PART = re.compile(r"([A-Za-z]{2,}(?:/s(?:ec)?)?) ?(?:/|per) ?(?:SMs?|CUs?|cores?)(?![A-Za-z])", re.IGNORECASE)
_SPARSITY = re.compile(r"\(?\b(?:(with(?:out)?|w/o?)\s+)?(sparse|sparsity|dense)\b\)?", re.IGNORECASE)
_NO_VALUE = frozenset(
    {
        *("", "-", "–", "—", "−", "--", "---", "/", "?", ".", "…", "x", "✗", "✘", "✕", "❌", "×", "✓", "✔", "✅"),
        *("n/a", "na", "n.a.", "n.a", "#n/a", "nan", "none", "null", "nil", "no", "yes", "tbd", "tba", "tbc"),
        *("unknown", "undisclosed", "not disclosed", "not available", "not supported", "unsupported", "not applicable"),
    }
)
TWICE = (1.9, 2.1)
"""Range of sparse over dense in a cell with both."""
_FACT = re.compile(rf"(?:up to )?({_NUMBER})[\s-]*([A-Za-z]+(?:/s)?)(?:\s+(?:of\s+)?[A-Za-z]\w*)*", re.IGNORECASE)
_STANDARD = re.compile(r"\b(?:PCIe?|PCI Express|NVLink|xGMI|Gen)[ -]?\d(?:\.\d)?(?:\s*[x*]\s*\d+)?", re.IGNORECASE)
_LISTED = ("capacity", "bandwidth", "bus", "tdp")
"""Quantities of the facts of one cell, which their units tell apart."""
_BASES = frozenset({"peak", "bandwidth", "capacity"})
_WHOLE = frozenset({"capacity", "tdp", "count", "bus"})
"""Quantities whose figures seldom have decimals."""
_RATED = frozenset({"peak", "bandwidth", "rate"})
"""Quantities that people halve in a cell: `1979 / 2`."""
SMALL = 64
"""Largest factor in a cell; a larger number is another figure."""
LONGEST = 24
"""Characters of a cell above which it is taken for prose."""
DIVISORS = (2, 4, 8)
"""What a figure is divided by in a cell, to make a sparse one dense or a node's one a device's."""
BASE = 1e9
"""A bare number from this on is in op/s, B/s or bytes, whatever its column says."""

#: (number, unit) by quantity: a bare number below the first is taken to be in that unit.
_BARE: dict[str, tuple[tuple[float, str], ...]] = {
    "peak": ((3e4, "TFLOP/s"), (1e8, "GFLOP/s"), (math.inf, "FLOP/s")),
    "link": ((20, "TB/s"), (1e8, "GB/s"), (math.inf, "B/s")),
    "bandwidth": ((20, "TB/s"), (1e8, "GB/s"), (math.inf, "B/s")),
    "capacity": ((4000, "GB"), (1e6, "MB"), (math.inf, "B")),
    "tdp": ((math.inf, "W"),),
    "clock": ((20, "GHz"), (1e5, "MHz"), (math.inf, "Hz")),
    "bus": ((math.inf, "bit"),),
    "rate": ((math.inf, "op"),),
    "count": ((math.inf, ""),),
    "memory_clock": ((64, "GHz"), (1e5, "MHz"), (1e8, "kHz"), (math.inf, "Hz")),
    "cache": ((1000, "MiB"), (1e6, "KiB"), (math.inf, "B")),
}
_MEANT: dict[str, dict[str, str]] = {
    "memory_clock": {
        **dict.fromkeys(("gbps", "gb/s", "gbit/s", "gbits/s", "gt/s", "gtps"), "GHz"),
        **dict.fromkeys(("mbps", "mt/s", "mtps"), "MHz"),
    },
    "cache": {"mb": "MiB", "kb": "KiB", "k": "KiB", "m": "MiB"},
}
"""Units of some quantities as they are meant: 19.5 Gbps of one pin, and sizes of caches, which are powers of two."""


class NumberError(ValueError):
    """A cell without a number of its column's quantity; the message is one sentence."""


def has_no_value(text: str) -> bool:
    """Whether a cell states that a figure is missing: `N/A`, `—`, `NaN`, `X`."""
    return _BLANKS.sub(" ", text).strip().casefold() in _NO_VALUE


def commas(texts: Iterable[str]) -> Commas:
    """What `1,979` means in a table: its other cells show decimal commas (`3,35`), decimal points, or both."""
    listed = [text for text in texts if len(text) <= LONGEST]
    if not any(map(_CLEAR_COMMA.search, listed)):
        return "thousands"
    return "unclear" if any(map(_CLEAR_POINT.search, listed)) else "decimal"


def parts(text: str, column: Column) -> list[tuple[str, bool | None]]:
    """The numbers of a cell, each with whether it is sparse: `989 / 1979` are a dense and a sparse peak."""
    bare = _AROUND.sub("", _SPARSITY.sub("", _joined(text, column))).strip()
    if column.role == "peak" and (pair := _PAIR.fullmatch(bare)):
        low, high = sorted((float(pair[1]), float(pair[3])))
        if low > 0 and TWICE[0] <= high / low <= TWICE[1] and high > SMALL:
            unit = pair[4] or pair[2]
            return [(f"{number} {unit}".strip(), float(number) == high) for number in (pair[1], pair[3])]
    twice = _TWICE.fullmatch(_joined(text, column))
    if twice and all(is_unit_of(twice[place], column.role) for place in (2, 4)):
        first, second = (float(twice[place]) * _factor(twice[place + 1], column.role, "") for place in (1, 3))
        if not math.isclose(first, second, rel_tol=COARSE):  # 9 TFLOPS (11,758 GFLOPS) are two claims
            return [(f"{twice[place]} {twice[place + 1]}", None) for place in (1, 3)]
    return [(text, _plain(text, column)[1])]


def claims(text: str, column: Column) -> list[tuple[str, Column]]:
    """The numbers of a cell, each with its column, which a peak completes by whether it is sparse."""
    return [
        (part, own if sparse is None or own.role != "peak" else replace(own, sparse=sparse))
        for fact, own in _facts(text, column)
        for part, sparse in parts(fact, own)
    ]


def _facts(text: str, column: Column) -> list[tuple[str, Column]]:
    """The facts of a cell, each with its column: `8 GB, GDDR6, 256 bit` is a memory and the width of its bus.

    Only those with a unit count, one of each quantity, and the one of the column must be among them; otherwise the
    cell is left as it is.
    """
    found: dict[str, str] = {}
    for piece in re.split(r"\s*[,;|+@]\s*|\s+/\s+|\s*[()]\s*", _joined(text, column)):
        fact = _FACT.fullmatch(piece)
        role = next((one for one in _LISTED if fact and is_unit_of(fact[2], one)), "")
        role = "bus" if fact and fact[2].lower() in ("bit", "bits") else role
        if role in found or not (role or _is_description(piece)):
            return [(text, column)]
        if fact and role:
            found[role] = f"{fact[1]} {fact[2]}"
    if len(found) < 2 and _CELL.fullmatch(_plain(text, column)[0]):
        return [(text, column)]
    if column.role not in found:
        return [(text, column)]
    other = {role: column if role == column.role else Column(column.name, role) for role in found}
    return [(found[role], own) for role, own in other.items()]


def _is_description(piece: str) -> bool:
    """Whether a piece of a cell says something without a figure: `GDDR6`, `ECC`, `PCIe 4.0 x16`."""
    return not re.search(r"(?<![A-Za-z0-9.])\d", _STANDARD.sub("", piece))


def _joined(text: str, column: Column) -> str:
    """A cell whose numbers have decimal points and no thousands separators: `1,979` → 1979, `3,35` → 3.35."""
    plain = _WORKED.sub("", _BLANKS.sub(" ", text).strip())
    if column.commas == "decimal":
        plain = _POINTED.sub(_digits, plain)
    if column.commas == "thousands":
        plain = _THOUSANDS.sub(_digits, plain)
    plain = _SPACED.sub(lambda match: _digits(match) if _is_one_number(match) else match[0], plain)
    plain = _COMMA.sub(lambda match: f"{match[1]}.{match[2]}" if _is_decimal(match, column) else match[0], plain)
    return _BETWEEN.sub(" * ", _POWER.sub(r"e\1", plain))


def _digits(match: re.Match[str]) -> str:
    return match[1] + re.sub(r"\D", "", match[2])


def _is_one_number(match: re.Match[str]) -> bool:
    """Whether `16 896` is one number; `80 160`, a size and its double, and `312 624` are two in one cell."""
    groups = match[2].split()
    is_double = TWICE[0] <= int(groups[0]) / int(match[1]) <= TWICE[1]
    return len(groups) > 1 or (not is_double and len(match[1]) < len(groups[0]))


def _is_decimal(match: re.Match[str], column: Column) -> bool:
    """Whether a comma is a decimal one; `40,80` GB are two sizes, and counts and watts have no decimals."""
    whole, decimals = match.groups()
    if column.role in _WHOLE and len(whole) > 1 and len(decimals) > 1 and column.commas != "decimal":
        return False
    return column.commas == "decimal" or len(decimals) != 3 or whole == "0"


def _plain(text: str, column: Column) -> tuple[str, bool | None]:
    """A cell without thousands separators, footnote marks and remarks, and whether it states sparsity."""
    plain = _joined(text, column)
    found = _SPARSITY.search(plain)
    sparse = None
    if found:
        without = (found[1] or "").lower() in ("without", "w/o")
        sparse = found[2].lower() != "dense" and not without
        plain = _SPARSITY.sub("", plain)
    plain = re.sub(r"(?<=\d)-(?=bits?\b)", " ", plain)
    return _AROUND.sub("", _REMARK.sub("", plain).strip()).strip(), sparse


def is_unit_of(text: str, quantity: str) -> bool:
    """Whether a text is a unit of a quantity, in any spelling that tables use."""
    try:
        return parse_unit(_spelt(text))[1] == QUANTITIES[quantity]
    except UnitError:
        return False


def unit_of_remark(remark: str, quantity: str) -> str | None:
    """The unit that a comment gives for a number: `GFLOP/s`, and not that of a number of its own: `24 GB`.

    What is per part of a device, `TFLOPS/SM`, is returned as it stands; it is no unit that can be read.
    """
    per_part = _PER_PART.search(remark)
    if per_part and is_unit_of(per_part[1], quantity):
        return per_part[0]
    named = {unit for word in _UNIT_IN_REMARK.findall(remark) if (unit := unit_spelt(word))}
    fitting = {unit for unit in named if is_unit_of(unit, quantity)} - {"FLOP/s"}  # what is counted, without a prefix
    return fitting.pop() if len(fitting) == 1 else None


def quantity_of(text: str) -> str:
    """The quantity of which a text has a unit, `24 GB` or `3.35 TB/s`; `value` where it has none."""
    match = _CELL.fullmatch(_BLANKS.sub(" ", text).strip())
    unit = match[3] if match else ""
    return next((name for name in ("peak", "bandwidth", "capacity", "tdp") if unit and is_unit_of(unit, name)), "value")


def noted_bits(text: str, column: Column, unit: str | None, value: float) -> list[str]:
    """`864 Gb/s is 108 GB/s`, for a bandwidth whose unit is in bits; `value` is the number in B/s."""
    plain, _ = _plain(text, column)
    match = _CELL.fullmatch(plain)
    own = match[3] if match else ""
    stated = own or column.unit or unit or ""
    if column.role != "bandwidth" or not _spelt(stated).endswith("bit/s"):
        return []
    return [f"{plain if own else f'{plain} {stated}'} is {show(column.role, value)}"]


def printed(text: str, column: Column, unit: str | None = None, times: int = 1) -> tuple[Printed, str | None]:
    """The number of a cell in base units, and the unit if it had to be assumed.

    `unit` is that of the row, for a cell and a column without one; `times` is the number of devices that the cell is
    of. Raises NumberError.
    """
    plain, _ = _plain(text, column)
    match = _CELL.fullmatch(plain)
    if not match:
        raise NumberError(f"'{text}' is not a number{_why(plain)}")
    number, more, own = match.groups()
    value, step = _worked_out(number, more, column.role, text)
    if not (math.isfinite(value) and value > 0):
        raise NumberError(f"'{text}' is not a positive finite number")
    own = f"{own}/s" if own and column.role == "bandwidth" and is_unit_of(own, "capacity") else own  # 2 TB
    stated = own or _stated(column, unit, value)
    likely = _likely(column, value, times)
    try:
        factor = _factor(stated or likely, column.role, likely)
    except NumberError as error:
        raise NumberError(f"'{text}': {error}") from error
    is_bare = bool(stated) or column.role == "count" or (column.role in _BASES and value >= BASE)
    assumed = None if is_bare else likely
    return Printed(value * factor, step * factor, plain), assumed


def _stated(column: Column, unit: str | None, value: float) -> str | None:
    """The unit that the column or the row states, as it is meant for a number."""
    is_nearer = unit and (column.unit == "FLOP/s" or not unit_spelt(unit))  # of a remark, which says more
    stated = unit if is_nearer else column.unit or unit
    if column.role in _BASES and value >= BASE:
        return None
    if stated == "FLOP/s" and value < _BARE["peak"][1][0]:  # `peak_flops: 989.5` says what is counted, and no prefix
        return None
    return _binary(stated, value) if stated and column.role == "capacity" else stated


def _binary(unit: str, value: float) -> str:
    """The unit of a number as it is meant: 32768 MB are 32 GiB."""
    return "MiB" if unit == "MB" and value % 1024 == 0 else unit


def _why(plain: str) -> str:
    """What keeps a cell from being one number, where it can be told."""
    if _RANGE.fullmatch(plain):
        return ", but a range; write one figure per cell"
    if re.fullmatch(r"\d+,\d{3}", plain):
        return "; the table has decimal commas and decimal points, so write it without a comma"
    return "; write one figure per cell" if len(re.findall(_NUMBER, plain)) > 1 else ""


def _worked_out(number: str, more: str, role: str, text: str) -> tuple[float, float]:
    """Value and last digit of a product or quotient, at most one of whose factors is a figure. Raises NumberError."""
    value, figures = float(number), [] if _is_factor(number) else [number]
    for sign, factor in re.findall(rf"([*/])\s*({_NUMBER})", more):
        figures += [] if sign == "/" or _is_factor(factor) else [factor]
        if len(figures) > 1 or (sign == "/" and not _divides(factor, value, role)):
            raise NumberError(f"'{text}' has more than one figure; write one per cell")
        value = value * float(factor) if sign == "*" else value / (float(factor) or math.nan)
    figure = figures[0] if figures else (re.findall(rf"\*\s*({_NUMBER})", more) or [number])[-1]
    return value, _step(figure) * (value / float(figure) if float(figure) else 1.0)


def _is_factor(number: str) -> bool:
    """Whether a number in a product is exact: a small count, or a power of ten."""
    mantissa, _, exponent = number.lower().partition("e")
    return (number.isdigit() and int(number) <= SMALL) or (bool(exponent) and float(mantissa) == 1)


def _divides(factor: str, value: float, role: str) -> bool:
    """Whether a quotient is meant as one: a rate halved, not two figures such as `56 / 60` and `16/32 GB`."""
    if "e" in factor.lower():
        return True
    if role == "rate" and value == 1:
        return factor.isdigit() and int(factor) <= SMALL  # 1/32 of a MAC
    return role in _RATED and factor.isdigit() and int(factor) in DIVISORS and value > SMALL


def _likely(column: Column, value: float, times: int) -> str:
    """The unit that a bare number is taken to be in; rates of integers are in OP/s."""
    likely = next(unit for largest, unit in _BARE[column.role] if value / times < largest)
    likely = _binary(likely, value)
    return likely.replace("FLOP/s", rate_unit(column.precision)) if column.precision in PRECISIONS else likely


def _step(number: str) -> float:
    """One unit of the last digit; `.0` after three digits is from a program and not counted: `989.0`, but `2.0`."""
    mantissa, exponent_sign, exponent = number.lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    kept = "" if len(whole) > 2 and not decimals.strip("0") else decimals
    return last_digit(f"{whole}.{kept}{exponent_sign}{exponent}" if kept else f"{whole}{exponent_sign}{exponent}")


def _spelt(text: str) -> str:
    """A unit as `rooflint.base.units` spells it, `TFOPS` with the letter that it lacks; other texts as they are."""
    return unit_spelt(text) or unit_mistyped(text) or text


def _factor(unit: str, quantity: str, likely: str) -> float:
    """Factor of a unit to base units; `likely` is the example of a unit that would be valid. Raises NumberError."""
    if not unit:
        return 1.0
    unit = _MEANT.get(quantity, {}).get(unit.lower(), unit)
    wish = f"want a unit such as {likely}" if likely else f"a {quantity} has none"
    try:
        factor, dimension = parse_unit(_spelt(unit))
    except UnitError as error:
        raise NumberError(f"{error}; {wish}") from error
    if dimension != QUANTITIES[quantity]:
        raise NumberError(f"'{unit}' is not a unit of a {quantity}; {wish}")
    return factor
