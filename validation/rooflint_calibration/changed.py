"""Changed: constants that two states of the files say differently, each with its line."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rooflint.base import strict_yaml
from rooflint.base.errors import InputError, shown
from rooflint.devices.registry import PACKAGED
from rooflint.kernels import constants, op_constants

FILES = (constants.FILE, op_constants.FILE)


@dataclass(frozen=True)
class Changed:
    """One constant."""

    name: str
    """`start_clocks`, `stream.launch_clocks`."""
    old: float | None
    new: float | None
    """None where one side does not have it."""
    folds: int
    """Values with a family left out that changed."""
    place: str
    """`model/rooflint/specs/silicon.yaml:41`; of what is gone the name of its file."""

    def __str__(self) -> str:
        """`start_clocks 2213 → 4426, and 5 of its folds (model/rooflint/specs/silicon.yaml:41)`."""
        old, new = (f"{value:g}" if value is not None else "nothing" for value in (self.old, self.new))
        value = f"{old} → {new}" if old != new else f"stays {new}"
        folds = f", and {self.folds} of its folds" if self.folds else ""
        return f"{self.name} {value}{folds} ({self.place})"


def changed(old: Path, new: Path = PACKAGED) -> list[Changed]:
    """Between two folders of specs; nothing of a file that cannot be read, which its own side says when it is asked."""
    return [one for name in FILES for one in _of_file(old / name, new / name)]


def _of_file(old: Path, new: Path) -> Iterator[Changed]:
    before, after = _read(old), _read(new)
    for path in dict.fromkeys([*before, *after]):
        one, other = before.get(path), after.get(path)
        if one is None or other is None or one[:2] != other[:2]:
            was, folds = (one or (None, {}, 0))[:2]
            now, unseen = (other or (None, {}, 0))[:2]
            place = f"{shown(new)}:{other[2]}" if other else f"{old.name} of the base"
            count = sum(folds.get(family) != value for family, value in unseen.items())
            yield Changed(".".join(part for part in path if part != "constants"), was, now, count, place)


def _read(file: Path) -> dict[tuple[str, str], tuple[float, dict[str, float], int]]:
    """Value, folds and line by group and name; whatever has a value is a constant, in this version and in others."""
    try:
        document = strict_yaml.load(file)
    except InputError:
        return {}
    groups: dict[str, Any] = document.data if isinstance(document.data, dict) else {}
    return {
        (group, name): (one["value"][0], one.get("folds", {}), document.line((group, name, "value")))
        for group, members in groups.items()
        if isinstance(members, dict)
        for name, one in members.items()
        if isinstance(one, dict) and isinstance(one.get("value"), list)
    }
