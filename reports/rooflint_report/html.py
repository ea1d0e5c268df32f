"""Anchors: readable, safe in an attribute and in an address, and never twice on one page."""

import math
import re
from collections.abc import Iterable

from markupsafe import Markup, escape

_LONGEST = 100


class Anchors:
    """Hands out anchors and remembers them."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, prefix: str, name: str) -> str:
        """`device`, `nvidia/h100` as device-nvidia-h100; a second one gets -2."""
        wanted = f"{prefix}-{re.sub(r'[^A-Za-z0-9._-]+', '-', name).strip('-')[:_LONGEST]}"
        anchor, number = wanted, 1
        while anchor in self._taken:
            number += 1
            anchor = f"{wanted}-{number}"
        self._taken.add(anchor)
        return anchor


# ---- Cells of tables: where they may wrap, and which of them are figures

_FIGURE = re.compile(r"[≈~<>≤≥±+−-]*\s?[.\d]")
_LONGEST_FIGURE = 24


def breakable(cell: str | float | bool | None) -> Markup:
    """A cell that may wrap inside words, behind slashes, hyphens and dots: paths, ids and names of ops are long."""
    text = "" if cell is None else str(cell)
    return Markup("<wbr>").join(
        escape(piece) for piece in re.split(r"(?<=\w[/-])(?=\w{2})|(?<=\w[.])(?=[A-Za-z]{2})", text)
    )


def are_figures(cells: Iterable[object]) -> bool:
    """Numbers, with or without a unit, so that their column stands right and does not wrap."""
    known = [str(cell) for cell in cells if cell not in (None, "", "—")]
    return bool(known) and all(_FIGURE.match(cell) and len(cell) <= _LONGEST_FIGURE for cell in known)


# ---- Figures that only a drawing has, such as those of its axes; all others come formatted

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


# ---- Text as Markdown: what the evidence says stays text, whatever characters it is made of

_LONGEST_RUN = 300


def escaped(value: object) -> Markup:
    """Text on one line, its Markdown and HTML defused, cut to a length that a summary can bear."""
    if isinstance(value, Markup):
        return value
    text = re.sub(r"([\\`*_{}\[\]()#+|~$-])", r"\\\1", _line(value))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Markup(re.sub(r"@(?=\w)", "@\u200b", text))


def code(value: object) -> Markup:
    """Make a code span; its fence is one backtick longer than any run of them inside."""
    text = _line(value)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return Markup(f"{fence}{pad}{text}{pad}{fence}")


def _line(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST_RUN else f"{text[: _LONGEST_RUN - 1]}…"
