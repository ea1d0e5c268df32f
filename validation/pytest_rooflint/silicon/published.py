"""Published: times that others measured on devices that the constants may never have seen, as files of the goldens.

    golden/silicon/published/<slug>.yaml    one op on one device, timed in one way; claims name it by its slug

They are no golden files: nothing in them is claimed, `prediction: published <slug>` is.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pytest_rooflint.silicon.published_schema import OPTIONAL, SIZES, TIME, PublishedSpec
from pytest_rooflint.suite import PUBLISHED
from rooflint.errors import InputError, Problem, RooflintError
from rooflint.precision import PRECISIONS
from rooflint.silicon.shapes import Numbers
from rooflint.spec_files import read_spec
from rooflint.strict_yaml import Document


@dataclass(frozen=True)
class Published:
    """One table."""

    file: Path
    spec: PublishedSpec
    sizes: Mapping[str, Numbers]
    """Columns by name, also those that are 1 as the file does not say them. Shape (rows,) each"""
    seconds: Numbers
    """[s]"""
    lines: tuple[int, ...]
    """Of each row in the file."""
    device_line: int

    @property
    def slug(self) -> str:
        """What claims call it."""
        return self.file.stem

    @property
    def comparable(self) -> NDArray[np.bool_]:
        """Rows that claims are about. Shape (rows,)"""
        return np.asarray(self.seconds >= self.spec.from_us * 1e-6)

    def __len__(self) -> int:
        """Rows."""
        return len(self.seconds)


def files(roots: Iterable[Path]) -> Iterator[Path]:
    """Every table of some golden folders."""
    for root in roots:
        yield from sorted((root / PUBLISHED).glob("*.yaml"))


def find(slug: str, roots: Iterable[Path]) -> Published:
    """The table of that name. Raises RooflintError where there is none, InputError for one that is wrong."""
    there = {file.stem: file for file in files(roots)}
    if slug not in there:
        raise RooflintError(f"no table {PUBLISHED}/{slug}.yaml (there are: {', '.join(there) or 'none'})")
    return read(there[slug])


def read(file: Path, text: str | None = None) -> Published:
    """A table, or a text in its place. Raises InputError with every problem in it."""
    document, spec = read_spec(file, PublishedSpec, text)
    problems = list(_head(document, spec)) or list(_rows(document, spec))
    if problems:
        raise InputError(problems)
    columns = dict(zip(spec.columns, np.array(spec.rows, float).T, strict=True))
    seconds = columns.pop(TIME) * 1e-6
    ones = {name: np.ones(len(seconds)) for name in OPTIONAL.get(spec.op, ())}
    lines = tuple(document.line(("rows", position)) for position in range(len(seconds)))
    return Published(file, spec, ones | columns, seconds, lines, document.line(("device",)))


def _head(document: Document, spec: PublishedSpec) -> Iterator[Problem]:
    """What is wrong with the keys above the rows."""
    wanted, optional = SIZES[spec.op], OPTIONAL.get(spec.op, ())
    named = [name for name in spec.columns if name not in optional]
    if named != [*wanted, TIME] or spec.columns[-1] != TIME or len(set(spec.columns)) < len(spec.columns):
        perhaps = f", and {' and '.join(optional)} before the last where needed" if optional else ""
        found = ", ".join(spec.columns)
        yield document.problem(("columns",), f"columns: want {', '.join((*wanted, TIME))}{perhaps}; found {found}")
    if spec.precision not in PRECISIONS:
        yield document.problem(("precision",), f"precision: want one of {', '.join(PRECISIONS)}")
    if (spec.timing == "host") != (spec.floor is not None):
        says = "needs 'floor: {us, where}'" if spec.timing == "host" else "has no floor"
        yield document.problem(("timing",), f"timing: {spec.timing} {says}: what a call takes beside its kernel")


def _rows(document: Document, spec: PublishedSpec) -> Iterator[Problem]:
    """What is wrong with the rows."""
    first: dict[tuple[float, ...], int] = {}
    for position, row in enumerate(spec.rows):
        path, sizes = ("rows", position), tuple(row[:-1])
        if len(row) != len(spec.columns):
            yield document.problem(path, f"row: want {len(spec.columns)} numbers, one a column; found {len(row)}")
        elif any(size != int(size) for size in sizes):
            yield document.problem(path, f"row: want whole sizes, found {', '.join(f'{size:g}' for size in sizes)}")
        elif sizes in first:
            yield document.problem(path, f"row: these sizes stand in line {first[sizes]}, too; keep one time of them")
        first.setdefault(sizes, document.line(path))
