"""Cells of tables: where they may wrap, and which of them are figures."""

import re
from collections.abc import Iterable

from markupsafe import Markup, escape

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
