"""Anchors: readable, safe in an attribute and in an address, and never twice on one page."""

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
