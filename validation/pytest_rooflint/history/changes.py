"""Changes: what two specs say differently, each with the devices that hold it and with what it makes of them alone."""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeVar

from pytest_rooflint.history.side import Specs
from rooflint.base import strict_yaml
from rooflint.base.errors import InputError
from rooflint.base.facts import Fact
from rooflint.coefficients.library import SECTIONS, SINGLES, Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.device import Facts, Hardware
from rooflint.hardware.registry import Registry
from rooflint_report.differences import StatedValue

T = TypeVar("T")

TRAITS = ("kind", "circuits", "unit_groups", "undisclosed")
"""Properties of a device that are not facts but affect predictions."""


@dataclass(frozen=True)
class Change:
    """A value that differs between the sides; `old` or `new` is None if only one side states it."""

    path: str
    at: str | None
    """The operating point; None for the device's own."""
    old: StatedValue | None
    new: StatedValue | None
    trait: str | None = None
    """Which of TRAITS; None for a fact."""

    def alone(self, old: Hardware, new: Hardware) -> Hardware:
        """The old device with only this change applied."""
        if self.trait:
            taken: dict[str, Any] = {self.trait: self._trait(old, new)}
            return replace(old, **taken)
        if self.at is None:
            return replace(old, facts=_taken(old.facts, new.facts, self.path))
        point = _taken(old.operating_points[self.at], new.operating_points[self.at], self.path)
        return replace(old, operating_points={**old.operating_points, self.at: point})

    def _trait(self, old: Hardware, new: Hardware) -> object:
        before, after = getattr(old, str(self.trait)), getattr(new, str(self.trait))
        return after if isinstance(after, str) else _taken(before, after, self.path)


def _taken(old: Mapping[str, T], new: Mapping[str, T], path: str) -> dict[str, T]:
    """The old mapping with one entry taken from the new one, or removed."""
    kept = {name: value for name, value in old.items() if name != path or path in new}
    return {**kept, path: new[path]} if path in new else kept


def changes(old: Specs, new: Specs) -> dict[Change, tuple[str, ...]]:
    """Differences in devices that both sides have, with the devices that they affect.

    A fact of an architecture that many devices inherit is one change. Another source of the same value is not
    a change, because it moves nothing.
    """
    names = sorted(set(old.devices) & set(new.devices))
    return _holders(old, new, ((name, old.devices[name], new.devices[name]) for name in names))


def architecture_changes(old: Specs, new: Specs) -> dict[Change, tuple[str, ...]]:
    """Differences in architectures that both sides have and can read, with the architectures."""
    return _holders(old, new, _architectures(old, new))


def _architectures(old: Specs, new: Specs) -> Iterator[tuple[str, Hardware, Hardware]]:
    for name in new.registry.architecture_files:
        if name in old.registry.architecture_files:
            with suppress(InputError):
                before, after = (side.registry.architecture(name).as_hardware() for side in (old, new))
                yield name, before, after


def system_changes(old: Specs, new: Specs) -> dict[Change, tuple[str, ...]]:
    """Differences in systems that both sides have and can read, with the systems."""
    before, after = ({one.id: one for one in side.registry.readable_systems()} for side in (old, new))
    return _holders(old, new, ((name, before[name], after[name]) for name in sorted(before.keys() & after.keys())))


def _holders(old: Specs, new: Specs, pairs: Iterable[tuple[str, Hardware, Hardware]]) -> dict[Change, tuple[str, ...]]:
    """The changes of some devices or architectures, with the names of those that have each."""
    found: dict[Change, list[str]] = {}
    for name, before, after in pairs:
        for change in _of_device(old, new, before, after):
            found.setdefault(change, []).append(name)
    return {change: tuple(names) for change, names in found.items()}


def _of_device(old: Specs, new: Specs, before: Hardware, after: Hardware) -> Iterator[Change]:
    yield from _of_facts(old, new, None, before.facts, after.facts)
    for mode in before.operating_points:
        if mode in after.operating_points:
            yield from _of_facts(old, new, mode, before.operating_points[mode], after.operating_points[mode])
    for trait in TRAITS:
        yield from _of_trait(old, new, trait, before, after)


def _of_facts(old: Specs, new: Specs, mode: str | None, before: Facts, after: Facts) -> Iterator[Change]:
    for path in _names(before, after):
        one, other = before.get(path), after.get(path)
        if one is None or other is None or one.quantity != other.quantity:
            yield Change(path, mode, _fact(old, one), _fact(new, other))


def of_pair(old: Specs, new: Specs, one: Fact, other: Fact) -> Change:
    """The change of one fact, if there is one."""
    return Change(one.path, None, _fact(old, one), _fact(new, other))


def _fact(side: Specs, fact: Fact | None) -> StatedValue | None:
    if fact is None:
        return None
    source = fact.source
    return StatedValue.from_object(
        fact, text=fact.display, file=side.shown(fact.file), document=source.document, grade=source.grade
    )


def _of_trait(old: Specs, new: Specs, trait: str, before: Hardware, after: Hardware) -> Iterator[Change]:
    one, other = _entries(before, trait), _entries(after, trait)
    for path in _names(one, other):
        if one.get(path) != other.get(path):
            text = _trait(old, before, one.get(path)), _trait(new, after, other.get(path))
            yield Change(path, None, *text, trait=trait)


def _entries(hardware: Hardware, trait: str) -> Mapping[str, str]:
    value = getattr(hardware, trait)
    return {trait: value} if isinstance(value, str) else value


def _trait(side: Specs, hardware: Hardware, text: str | None) -> StatedValue | None:
    unsourced = dict.fromkeys(("line", "document", "where", "grade"))
    return None if text is None else StatedValue(text=text, file=side.shown(hardware.file), **unsourced)


def _names(one: Iterable[str], other: Iterable[str]) -> list[str]:
    return list(dict.fromkeys((*one, *other)))


def citations_changed(old: Specs, new: Specs) -> int:
    """Facts that have the same value from another document or place; they move nothing."""
    found = {
        (new.within(other.file), other.line, path)
        for name in set(old.devices) & set(new.devices)
        for path, other in new.devices[name].facts.items()
        if (one := old.devices[name].facts.get(path))
        and one.quantity == other.quantity
        and _cites(one) != _cites(other)
    }
    return len(found)


def _cites(fact: Fact) -> tuple[str, str, str]:
    return fact.source.document, fact.source.grade, fact.where


# ---- Files that every device may rest on: energies, launches, op tables; compared by what they say, tried one by one

WORKLOADS = "workloads/"

FileStatus = Literal["appeared", "vanished", "changed"]


@dataclass(frozen=True)
class FileChange:
    """A file that differs between the sides, or that only one side has."""

    name: str
    """Path below the root: `process/4nm.yaml`, `launches.yaml`, `workloads/torchvision/resnet50.yaml`."""
    status: FileStatus
    old: Path | None
    new: Path | None

    @property
    def network(self) -> str | None:
        """The network whose op table this is."""
        return self.name.removeprefix(WORKLOADS).removesuffix(".yaml") if self.name.startswith(WORKLOADS) else None


def file_changes(old: Specs, new: Specs) -> list[FileChange]:
    """Files that differ in more than comments and blank lines."""
    before, after = _files(old), _files(new)
    return [
        FileChange(name, status, before.get(name), after.get(name))
        for name in sorted({*before, *after})
        if (status := _status(before.get(name), after.get(name)))
    ]


def _status(old: Path | None, new: Path | None) -> FileStatus | None:
    if old is None or new is None:
        return "appeared" if old is None else "vanished"
    same = old.read_bytes() == new.read_bytes() or strict_yaml.load(old).data == strict_yaml.load(new).data
    return None if same else "changed"


def _files(side: Specs) -> dict[str, Path]:
    """Files by name, each from the first root that has it."""
    sections = ((section, side.registry.files_of(section)) for section in SECTIONS)
    found = {f"{section}/{name}.yaml": file for section, files in sections for name, file in files.items()}
    for single in SINGLES:
        files = [root / f"{single}.yaml" for root in side.registry.roots]
        found |= {file.name: file for file in reversed(files) if file.is_file()}
    return found | {f"{WORKLOADS}{name}.yaml": side.tables / f"{name}.yaml" for name in side.networks}


def changes_facts_alone(change: FileChange) -> bool:
    """Whether a file of coefficients differs in its facts and sources, and in no other respect."""
    if change.network is not None or change.old is None or change.new is None:
        return False
    return bool(_blank(strict_yaml.load(change.old).data) == _blank(strict_yaml.load(change.new).data))


def changed_facts(change: FileChange, old: Specs, new: Specs) -> list[tuple[Fact, Fact]]:
    """Facts whose value or grade differs in a file; none if the file also differs in other respects."""
    if change.old is None or change.new is None or not changes_facts_alone(change):
        return []
    before, after = old.energies.coefficients.facts(change.old), new.energies.coefficients.facts(change.new)
    return [
        (fact, after[path])
        for path, fact in before.items()
        if (fact.quantity, fact.source.grade) != (after[path].quantity, after[path].source.grade)
    ]


def _blank(value: Any) -> Any:
    """The content of a file without its facts and their sources."""
    if isinstance(value, dict):
        return {key: _blank(child) for key, child in value.items() if key != "sources"}
    return "fact" if isinstance(value, list) and len(value) == 3 else value


@contextmanager
def with_file(side: Specs, change: FileChange) -> Iterator[Energies]:
    """The coefficients of a side with one file taken from the other side. Raises InputError if they do not fit."""
    files = {name: file for name, file in _files(side).items() if name != change.name}
    if change.new:
        files[change.name] = change.new
    with TemporaryDirectory(prefix="rooflint-") as folder:
        for name, file in files.items():
            if not name.startswith(WORKLOADS):
                (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, Path(folder) / name)
        yield Energies(Coefficients(Registry((Path(folder),))))
