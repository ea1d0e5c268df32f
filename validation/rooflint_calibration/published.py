"""Published tables, golden/silicon/published/*.yaml: times of one op on one device, measured by others."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rooflint.base.errors import InputError, Problem, RooflintError
from rooflint.base.precision import PRECISIONS
from rooflint.base.strict_yaml import Document
from rooflint.hardware.schema import Id, Strict, Text, Word
from rooflint.hardware.spec_files import read_spec
from rooflint.kernels.shapes import Numbers
from rooflint_calibration.package import PUBLISHED

OpName = Literal["gemm", "convolution", "layernorm", "rmsnorm", "softmax", "gelu", "silu", "silu_mul", "add"]

SIZES: dict[OpName, tuple[str, ...]] = {
    "gemm": ("m", "n", "k"),
    "convolution": ("batch", "channels_in", "channels_out", "height", "width", "kernel_height", "kernel_width"),
    **dict.fromkeys(("layernorm", "rmsnorm", "softmax", "gelu", "silu", "silu_mul", "add"), ("m", "n")),
}
"""Columns that each op needs. Height and width are those of the output; a stream writes m rows of n elements."""

OPTIONAL: dict[OpName, tuple[str, ...]] = {"gemm": ("batch",), "convolution": ("stride", "groups", "winograd")}
"""Optional columns, 1 by default. `winograd` is not a size but the algorithm: outputs along a side of the transformed
tiles, and 1 for a direct kernel."""

TIME = "us"
"""The last column: the measured time."""


class PublishedSourceSpec(Strict):
    """The document that the rows were read in."""

    document: Text
    where: Text
    grade: Literal["read", "device", "quoted", "recalled", "estimate"]
    url: Text | None = None


class FloorSpec(Strict):
    """What a call takes besides its kernel, if the host measured the time; from the same source."""

    us: Annotated[float, Field(gt=0)]
    where: Text


class PublishedSpec(Strict):
    """One table: one op on one device, timed in one way."""

    title: Text
    device: Id
    op: OpName
    precision: Word
    source: PublishedSourceSpec
    why: Text
    """How it was timed, how the rows were picked, what was left out and why."""
    timing: Literal["graph", "kernel", "host"]
    """What was timed: successive kernels of a graph, a kernel alone, or a call and the wait for its end."""
    floor: FloorSpec | None = None
    """With `timing: host`."""
    warm: bool = False
    """Whether the same operands were touched just before, so that L2 may still hold them."""
    from_us: Annotated[float, Field(ge=0)] = 0.0
    """Shorter rows are kept but not compared; `why` gives the reason. [us]"""
    beats_peak: Text | None = None
    """Why rows may be faster than the dense peak of the spec; without it none may."""
    columns: Annotated[list[Word], Field(min_length=2)]
    rows: Annotated[list[list[Annotated[float, Field(gt=0)]]], Field(min_length=1)]


# ---- Tables


@dataclass(frozen=True)
class Published:
    """One table."""

    file: Path
    spec: PublishedSpec
    sizes: Mapping[str, Numbers]
    """Columns by name, with optional ones. Shape (rows,) each"""
    seconds: Numbers
    """[s]"""
    lines: tuple[int, ...]
    """Line of each row in the file."""
    device_line: int

    @property
    def slug(self) -> str:
        """Its name in claims."""
        return self.file.stem

    @property
    def comparable(self) -> NDArray[np.bool_]:
        """Rows that are compared. Shape (rows,)"""
        return np.asarray(self.seconds >= self.spec.from_us * 1e-6)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.seconds)


def files(roots: Iterable[Path]) -> Iterator[Path]:
    """All tables of some golden folders."""
    for root in roots:
        yield from sorted((root / PUBLISHED).glob("*.yaml"))


def find(slug: str, roots: Iterable[Path]) -> Published:
    """The table of that name. Raises RooflintError if there is none, InputError for an invalid one."""
    there = {file.stem: file for file in files(roots)}
    if slug not in there:
        raise RooflintError(f"no table {PUBLISHED}/{slug}.yaml (there are: {', '.join(there) or 'none'})")
    return read(there[slug])


def read(file: Path, text: str | None = None) -> Published:
    """A table, or a text in its place. Raises InputError with all its problems."""
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
    """Problems of the keys above the rows."""
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
        yield document.problem(("timing",), f"timing: {spec.timing} {says}: what a call takes besides its kernel")


def _rows(document: Document, spec: PublishedSpec) -> Iterator[Problem]:
    """Problems of the rows."""
    first: dict[tuple[float, ...], int] = {}
    for position, row in enumerate(spec.rows):
        path, sizes = ("rows", position), tuple(row[:-1])
        if len(row) != len(spec.columns):
            yield document.problem(path, f"row: want {len(spec.columns)} numbers, one a column; found {len(row)}")
        elif any(size != int(size) for size in sizes):
            yield document.problem(path, f"row: want whole sizes, found {', '.join(f'{size:g}' for size in sizes)}")
        elif sizes in first:
            yield document.problem(path, f"row: the same sizes are in line {first[sizes]}; keep one of the two")
        first.setdefault(sizes, document.line(path))
