"""Figures that only a drawing has, such as those of its axes; all others come formatted."""

import math

_PREFIXES = {-12: "p", -9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}
_DIGITS = 4


def engineering(value: float, unit: str, prefixed: bool = True) -> str:
    """`1.5 ms`, `124.6 op/B` where the unit takes no prefix, `0.25` without a unit."""
    if not unit or not prefixed or value == 0 or not math.isfinite(value):
        return f"{_number(value)} {unit}".strip()
    exponent = 3 * math.floor(math.log10(float(f"{abs(value):.{_DIGITS - 1}e}")) / 3)
    exponent = min(max(exponent, min(_PREFIXES)), max(_PREFIXES))
    return f"{_number(value / float(f'1e{exponent}'))} {_PREFIXES[exponent]}{unit}"


def _number(value: float) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if value == int(value) and abs(value) < 1e7:
        return str(int(value))
    text = f"{value:.{_DIGITS}g}"
    if "e" in text and 1e-3 <= abs(value) < 1e7:
        text = f"{float(text):.0f}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
