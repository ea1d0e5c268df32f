"""Files that every device may rest on: energies, launches, op tables; compared by what they say, tried one by one."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from pytest_rooflint.delta.side import Specs
from rooflint import strict_yaml
from rooflint.basis import Energies
from rooflint.coefficients import SECTIONS, SINGLES, Coefficients
from rooflint.facts import Fact
from rooflint.specs import Registry

WORKLOADS = "workloads/"

Fate = Literal["appeared", "vanished", "changed"]


@dataclass(frozen=True)
class FileChange:
    """A file that says something else on the new side, or that only one side has."""

    name: str
    """As its root calls it: `process/4nm.yaml`, `launches.yaml`, `workloads/torchvision/resnet50.yaml`."""
    fate: Fate
    old: Path | None
    new: Path | None

    @property
    def network(self) -> str | None:
        """The network whose op table this is."""
        return self.name.removeprefix(WORKLOADS).removesuffix(".yaml") if self.name.startswith(WORKLOADS) else None


def file_changes(old: Specs, new: Specs) -> list[FileChange]:
    """What differs; comments and blank lines do not."""
    before, after = _files(old), _files(new)
    return [
        FileChange(name, fate, before.get(name), after.get(name))
        for name in sorted({*before, *after})
        if (fate := _fate(before.get(name), after.get(name)))
    ]


def _fate(old: Path | None, new: Path | None) -> Fate | None:
    if old is None or new is None:
        return "appeared" if old is None else "vanished"
    same = old.read_bytes() == new.read_bytes() or strict_yaml.load(old).data == strict_yaml.load(new).data
    return None if same else "changed"


def _files(side: Specs) -> dict[str, Path]:
    """The file of each name that counts: that of the first root which has it."""
    found = {f"{section}/{name}.yaml": file for section in SECTIONS for name, file in _of_section(side, section)}
    for single in SINGLES:
        files = [root / f"{single}.yaml" for root in side.registry.roots]
        found |= {file.name: file for file in reversed(files) if file.is_file()}
    return found | {f"{WORKLOADS}{name}.yaml": side.tables / f"{name}.yaml" for name in side.networks}


def _of_section(side: Specs, section: str) -> Iterator[tuple[str, Path]]:
    yield from side.registry.files_of(section).items()


def changed_facts(change: FileChange, old: Specs, new: Specs) -> list[tuple[Fact, Fact]]:
    """The facts of which a file says another value or grade; none where it says other things differently, too."""
    if change.network is not None or change.old is None or change.new is None:
        return []
    if _blank(strict_yaml.load(change.old).data) != _blank(strict_yaml.load(change.new).data):
        return []
    before, after = old.energies.coefficients.facts(change.old), new.energies.coefficients.facts(change.new)
    return [
        (fact, after[path])
        for path, fact in before.items()
        if (fact.quantity, fact.source.grade) != (after[path].quantity, after[path].source.grade)
    ]


def _blank(value: Any) -> Any:
    """What a file says beside its facts and their sources."""
    if isinstance(value, dict):
        return {key: _blank(child) for key, child in value.items() if key != "sources"}
    return "fact" if isinstance(value, list) and len(value) == 3 else value


@contextmanager
def with_file(side: Specs, change: FileChange) -> Iterator[Energies]:
    """The coefficients of a side, had it that one file of the other side. Raises InputError where they do not fit."""
    files: Mapping[str, Path] = {**_files(side), change.name: change.new} if change.new else _without(side, change)
    with TemporaryDirectory(prefix="rooflint-") as folder:
        for name, file in files.items():
            if not name.startswith(WORKLOADS):
                (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, Path(folder) / name)
        yield Energies(Coefficients(Registry((Path(folder),))))


def _without(side: Specs, change: FileChange) -> dict[str, Path]:
    return {name: file for name, file in _files(side).items() if name != change.name}
