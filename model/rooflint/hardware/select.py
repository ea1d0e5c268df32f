"""Devices by the names that people type: an id, an alias, a unique part, a glob or a kind, and `@` an operating point.

The command line and the Python API both ask here.
"""

from collections.abc import Iterable, Iterator

from rooflint.base.errors import RooflintError
from rooflint.hardware.device import Hardware
from rooflint.hardware.kinds import KINDS
from rooflint.hardware.registry import Registry

EXAMPLES = {name: kind.example for name, kind in KINDS.items() if kind.example}
"""The device that stands for a kind."""

DEFAULTS = [name for name, kind in KINDS.items() if kind.is_default]
"""Kinds that are compared where no device is named."""


def select_devices(registry: Registry, names: Iterable[str] | None, at: str = "") -> list[Hardware]:
    """Devices in the order of their names, each once; those of the default kinds where no name is given.

    Args:
        registry: the devices there are.
        names: `t4`, `nvidia/l*`, `gpu`, `agx-orin-64@30w`; one text may hold several, with commas.
        at: operating point of all devices whose name says none.

    Raises RooflintError for a name that no device has, and for a part that is not unique.
    """
    words = [word.strip() for text in names or () for word in text.split(",") if word.strip()] or DEFAULTS
    found: dict[tuple[str, str | None], Hardware] = {}
    for word in words:
        name, _, mode = word.partition("@")
        for hardware in _named(registry, name):
            placed = hardware.at(mode or at) if mode or at else hardware
            found.setdefault((placed.id, placed.mode), placed)
    return list(found.values())


def select_device(registry: Registry, name: str, at: str = "") -> Hardware:
    """The one device of a name. Raises RooflintError where there is none or several."""
    found = select_devices(registry, [name], at)
    if len(found) != 1:
        raise RooflintError(f"'{name}' names {len(found)} devices; want one")
    return found[0]


def _named(registry: Registry, name: str) -> Iterator[Hardware]:
    if name.lower() in EXAMPLES:
        yield registry.get(EXAMPLES[name.lower()])
    elif any(sign in name for sign in "*?["):
        matches = registry.match(name)
        if not matches:
            raise RooflintError(f"no device matches '{name}' ({len(registry.ids())} are known)")
        yield from map(registry.get, matches)
    else:
        yield registry.find(name)
