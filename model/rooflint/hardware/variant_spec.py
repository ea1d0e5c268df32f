"""Hypothetical devices as spec files: the file of a device with some facts changed, which the registry reads back."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from rooflint.base import strict_yaml
from rooflint.base.errors import InputError, RooflintError, shown
from rooflint.base.facts import leading_number
from rooflint.base.files import write_atomically
from rooflint.base.units import format_number, format_quantity
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Registry
from rooflint.hardware.schema import kind_of

SECTION = "hardware"

KEY = "hypothetical"
"""Of the source that changed facts cite."""

DIGITS = 10
CLOSE = 1e-8
"""Relative difference between a fact and what is read back of it. [1]"""

LEFT_OUT = ("aliases", "operating_points", "notes")
"""Keys of a device that do not hold for a hypothetical one."""


_ADDRESS = re.compile(r"https?://[^\s,#\[\]{}]+")


class _Dumper(yaml.SafeDumper):
    """Writes the form of the repository: indented sequences, double quotes where there must be some."""

    def choose_scalar_style(self) -> Any:
        style = super().choose_scalar_style()
        if style == "'" and _ADDRESS.fullmatch(getattr(self.event, "value", "")):
            return ""  # a colon that no blank follows needs no quotes
        return '"' if style == "'" else style

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)


def save_variant(base: Hardware, values: Mapping[str, float], what: str, file: Path, roots: tuple[Path, ...]) -> str:
    """Write a device with other values of some facts below a folder `hardware`; its id.

    Args:
        base: the device; at an operating point its facts there.
        values: by path, in SI base units.
        what: how it differs, for its name.
        file: `specs/hardware/acme/one.yaml`, which must not exist.
        roots: where its architecture is.

    Raises RooflintError for another place, and where the registry would refuse the file, which is then removed.
    """
    place = file.resolve()
    root, name = place_of(file)
    try:
        write_atomically(place, spec_text(base, values, what))
    except OSError as error:
        raise RooflintError(f"{file}: cannot be written ({error.strerror})") from error
    try:
        found = Registry.of([root, *roots]).get(name)
    except InputError:
        place.unlink()
        raise
    wrong = [path for path, value in values.items() if not math.isclose(found.facts[path].value, value, rel_tol=CLOSE)]
    if wrong:
        place.unlink()
        raise RooflintError(f"{shown(place)}: {', '.join(wrong)} would be read as another value")
    return name


def place_of(file: Path) -> tuple[Path, str]:
    """The root of specs in which a new file stands, and its id there. Raises RooflintError for another place."""
    place = file.resolve()
    if SECTION not in place.parts[:-1] or place.suffix != ".yaml":
        raise RooflintError(f"{file}: want a file below a folder {SECTION}, such as specs/{SECTION}/acme/one.yaml")
    if place.exists():
        raise RooflintError(f"{file}: is there already; choose another name")
    root = Path(*place.parts[: len(place.parts) - 1 - place.parts[::-1].index(SECTION)])
    return root, place.relative_to(root / SECTION).with_suffix("").as_posix()


def spec_text(base: Hardware, values: Mapping[str, float], what: str) -> str:
    """The spec of a device with other values of some facts, each of which cites that it is hypothetical."""
    document = strict_yaml.load(base.file)
    data = {key: value for key, value in _as_written(document.data, document).items() if key not in LEFT_OUT}
    key = KEY if KEY not in data.get("sources", {}) else f"{KEY}_{len(data['sources'])}"
    data["name"] = f"{base.name}, hypothetical: {what}"
    about = {"document": f"rooflint explore, from {base.label}: {what}", "grade": "estimate"}
    data["sources"] = {**data.get("sources", {}), key: about}
    for path, fact in (base.operating_points[base.mode] if base.mode else {}).items():
        _put(data, path, [_plain(fact.display), fact.source.key, fact.where])
    for path, value in {**values, **_more_silicon(base, values)}.items():
        said = f"base {base.facts[path].display}" if path in base.facts else "not stated by the base"
        _put(data, path, [_written(base, path, value), key, said])
    text = yaml.dump(data, Dumper=_Dumper, default_flow_style=None, sort_keys=False, allow_unicode=True, width=200)
    return f"# A hypothetical device: facts that cite '{key}' differ from {base.label}.\n{text}"


def _as_written(value: Any, document: strict_yaml.Document, path: strict_yaml.Path = ()) -> Any:
    """Numbers as the file has them: 1.10 is a text that is not 1.1."""
    if isinstance(value, dict):
        return {key: _as_written(child, document, (*path, key)) for key, child in value.items()}
    if isinstance(value, list):
        return [_as_written(child, document, (*path, place)) for place, child in enumerate(value)]
    text = document.texts.get(path)
    return value if text is None else _plain(text)


def _plain(text: str) -> str | int:
    return int(text) if text.isdigit() and str(int(text)) == text else text


def _put(data: dict[str, Any], path: str, fact: list[Any]) -> None:
    *above, last = path.split(".")
    here = data
    for word in above:
        here = here.setdefault(word, {})
    here[last] = fact


def _written(base: Hardware, path: str, value: float) -> str | int:
    """A value in the unit in which the base states the fact."""
    kind, fact = kind_of(path), base.facts.get(path)
    if kind and kind.whole:
        return round(value)
    if fact is None:
        return format_quantity(value, kind.dimension, digits=DIGITS) if kind else format_number(value, DIGITS)
    number = leading_number(fact.display) * value / fact.value
    return f"{format_number(number, DIGITS)} {fact.display.partition(' ')[2]}".strip()


def _more_silicon(base: Hardware, values: Mapping[str, float]) -> dict[str, float]:
    """Groups of a full die, where a unit has more than there are: a larger die is hypothetical, too."""
    found: dict[str, float] = {}
    for name, unit in base.units.items():
        groups, full = values.get(f"units.{name}.groups", 0.0), base.full_groups(unit.group)
        if full and groups > full.result:
            path, dies = f"full_die.{unit.group}", full.result / base.facts[f"full_die.{unit.group}"].value
            found[path] = max(found.get(path, 0.0), math.ceil(groups / dies))
    return found
