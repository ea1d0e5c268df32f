"""Files of facts of one section over all roots: the first root that speaks of a thing wins, however files are named.

A file here holds many things, so a file of one's own hides no other file: it hides, thing by thing, what it speaks of.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from rooflint.errors import InputError, Problem
from rooflint.hardware import Facts
from rooflint.schema import SourcedSpec
from rooflint.spec_files import flatten, read_spec
from rooflint.specs import Registry
from rooflint.strict_yaml import Document

S = TypeVar("S", bound=SourcedSpec)


@dataclass(frozen=True)
class FactFile(Generic[S]):
    """One file, read and checked."""

    spec: S
    document: Document
    facts: Facts


@dataclass(frozen=True)
class LayeredFiles(Generic[S]):
    """`specs/<section>/` of every root of a registry."""

    registry: Registry
    section: str
    model: type[S]
    problems: Callable[[FactFile[S]], Iterator[Problem]]
    """What a file says that cannot be true, beyond its shape."""
    _read: dict[Path, FactFile[S]] = field(default_factory=dict, repr=False, compare=False)

    def files(self, root: Path) -> list[Path]:
        """Files of one root. Raises InputError for a file whose name is no id."""
        return [file.resolve() for file in Registry((root,)).files_of(self.section).values()]

    def read(self, file: Path) -> FactFile[S]:
        """A file with its facts. Raises InputError with everything that is wrong with it."""
        if file not in self._read:
            document, spec = read_spec(file, self.model, self._texts.get(file.resolve()))
            found = FactFile(spec, document, flatten(spec, document))
            if wrong := list(self.problems(found)):
                raise InputError(wrong)
            self._read[file] = found
        return self._read[file]

    def layers(self) -> Iterator[list[FactFile[S]]]:
        """The files of each root, first root first. Raises InputError."""
        for root in self.registry.roots:
            yield [self.read(file) for file in self.files(root)]

    @property
    def _texts(self) -> dict[Path, str]:
        return {file.resolve(): text for file, text in self.registry.texts.items()}
