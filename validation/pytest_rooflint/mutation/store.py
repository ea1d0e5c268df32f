"""What a run has found out already: one file a group, valid as long as nothing changed that it depends on.

A group depends on our code and the kinds of claims, on the op tables, on its own slips (which hold the values that they
were taken from), on the specs of every device that its claims ask for, and on the golden files of those claims.
"""

import hashlib
import importlib.util
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path

import pytest_rooflint
import rooflint
from pytest_rooflint.mutation.baseline import Baseline
from pytest_rooflint.mutation.fate import Fate
from pytest_rooflint.mutation.mutants import Group
from pytest_rooflint.mutation.watched import Name
from rooflint.errors import RooflintError, shown
from rooflint.specs import Registry
from rooflint.whole_file import write_whole

FOLDER = Path(".rooflint/mutation")


class StoreError(RooflintError):
    """A folder that results cannot be kept in."""


@dataclass(frozen=True)
class Store:
    """A folder of results."""

    folder: Path
    baseline: Baseline
    _digests: dict[Path, str] = field(default_factory=dict, repr=False)

    def get(self, group: Group) -> tuple[Fate, ...] | None:
        """What is known of a group; None where nothing is, or something changed since."""
        try:
            found = json.loads(self._file(group).read_text(encoding="utf-8"))
            fates = tuple(Fate(**row) for row in found["fates"])
        except (OSError, ValueError, TypeError, KeyError):  # absent, or not ours: found out anew
            return None
        return fates if found["key"] == self._key(group) and len(fates) == len(group.mutants) else None

    def put(self, group: Group, fates: Sequence[Fate]) -> None:
        """Keep it. Raises StoreError where the folder cannot be written."""
        rows = [asdict(fate) for fate in fates]
        text = json.dumps({"key": self._key(group), "fates": rows}, ensure_ascii=False)
        try:
            if not (ignored := self.folder / ".gitignore").exists():
                write_whole(ignored, "*\n")
            write_whole(self._file(group), f"{text}\n")
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot keep results: {error.strerror}; run with --no-cache") from error

    def _file(self, group: Group) -> Path:
        return self.folder / group.subject.key[0] / f"{group.subject.id}.json"

    def _key(self, group: Group) -> str:
        parts = hashlib.sha256(self._common.encode())
        for file in sorted(self._files(group)):
            parts.update(f"{shown(file)} {self._digest(file)}\n".encode())
        for mutant in group.mutants:
            fact, slip = mutant.fact, mutant.slip
            parts.update(f"{fact.path} {fact.line} {slip.name} {slip.fact.display}\n".encode())
        return parts.hexdigest()

    def _files(self, group: Group) -> set[Path]:
        registry = self.baseline.suite.registry
        names = {group.subject.key, *_heirs(group, registry)}
        stands = self.baseline.concerning(names)
        asked = names.union(*(stand.asked for stand in stands))
        return {stand.claim.file for stand in stands} | {file for name in asked for file in _of(name, registry)}

    @cached_property
    def _common(self) -> str:
        """What every group depends on."""
        tables = (file for root in self.baseline.suite.spec_roots for file in (root / "workloads").rglob("*.yaml"))
        return "\n".join(self._digest(file) for file in sorted({*_code(), *tables}))

    def _digest(self, file: Path) -> str:
        if file not in self._digests:
            self._digests[file] = hashlib.sha256(file.read_bytes()).hexdigest()
        return self._digests[file]


def _heirs(group: Group, registry: Registry) -> Iterator[Name]:
    """Devices that inherit from an architecture."""
    if group.subject.is_architecture:
        for device in registry.ids():
            if registry.get(device).architecture == group.subject.id:
                yield "device", device


def _of(name: Name, registry: Registry) -> Iterator[Path]:
    """The file of a device and of its architecture; none where a claim asked in vain."""
    section, named = name
    if section == "device" and named in registry.files:
        yield registry.files[named]
        section, named = "architecture", registry.get(named).architecture or ""
    if section == "architecture" and named in registry.architecture_files:
        yield registry.architecture_files[named]


def _code() -> tuple[Path, ...]:
    """Our own modules, and those of the kinds of claims that other packages add."""
    packages = [Path(str(package.__file__)).parent for package in (rooflint, pytest_rooflint)]
    kinds = (importlib.util.find_spec(entry.module) for entry in entry_points(group="rooflint.claims"))
    origins = (Path(kind.origin) for kind in kinds if kind and kind.origin)
    return tuple(sorted({*_modules(packages), *origins}))


def _modules(packages: Iterable[Path]) -> Iterator[Path]:
    for package in packages:
        yield from package.rglob("*.py")
