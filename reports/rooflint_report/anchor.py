"""Anchors: readable, safe in an attribute and in an address, and never twice on one page."""

import re

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
