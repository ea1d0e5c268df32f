"""Published tables, golden/silicon/published/*.yaml: times of an op that others measured, and predictions of them.

A prediction is timed as its table was: with the gap between kernels, without it, or with what a call of the host takes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from rooflint.base.errors import InputError, Problem, RooflintError, refuse
from rooflint.base.precision import PRECISIONS, bytes_per_element
from rooflint.base.strict_yaml import Document
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.device import Hardware, UndisclosedError, UnsupportedError
from rooflint.hardware.registry import Registry, UnknownDeviceError
from rooflint.hardware.schema import Id, Strict, Text, Word
from rooflint.hardware.spec_files import read_spec
from rooflint.kernels import convolution, dispatch, gemm
from rooflint.kernels.chip import Chip, chip_of
from rooflint.kernels.constants import Constants, constants_file
from rooflint.kernels.dispatch import kernel_for
from rooflint.kernels.kernel import Kernel, Times, Work
from rooflint.kernels.shapes import COLD, Numbers, Shapes, shapes
from rooflint_calibration.package import PUBLISHED, tables_in
from rooflint_calibration.rows import Mask
from rooflint_calibration.topics import PRODUCT, product_regime

OpName = Literal["gemm", "convolution", "layernorm", "rmsnorm", "softmax", "gelu", "silu", "silu_mul", "add"]

STREAMS: Mapping[OpName, int] = MappingProxyType(
    {"layernorm": 1, "rmsnorm": 1, "softmax": 1, "gelu": 1, "silu": 1, "silu_mul": 2, "add": 2}
)
"""Number of tensors that an op reads to write one; `silu_mul` reads a gate and a value."""

SIZES: dict[OpName, tuple[str, ...]] = {
    "gemm": ("m", "n", "k"),
    "convolution": ("batch", "channels_in", "channels_out", "height", "width", "kernel_height", "kernel_width"),
    **dict.fromkeys(STREAMS, ("m", "n")),
}
"""Columns that each op needs. Height and width are those of the output; a stream writes m rows of n elements."""

OPTIONAL: dict[OpName, tuple[str, ...]] = {"gemm": ("batch",), "convolution": ("stride", "groups", "winograd")}
"""Optional columns, 1 by default. `winograd` is not a size but the algorithm: outputs along a side of the transformed
tiles, and 1 for a direct kernel."""

TIME = "us"
"""The last column: the measured time."""

RAN = "winograd"
"""The column that says which algorithm was run."""

LARGE_BYTES, SMALL_BYTES = 100e6, 1e6
"""Bytes of large and small streams: no measured L2 holds the first, all hold the second. [B]"""


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
    def comparable(self) -> Mask:
        """Rows that are compared. Shape (rows,)"""
        return np.asarray(self.seconds >= self.spec.from_us * 1e-6)

    def __len__(self) -> int:
        return len(self.seconds)


def files(roots: Iterable[Path]) -> Iterator[Path]:
    """All tables of some golden folders."""
    return tables_in(PUBLISHED, roots)


def find(slug: str, roots: Iterable[Path]) -> Published:
    """The table of that name. Raises RooflintError if there is none, InputError for an invalid one."""
    return read(file_of(slug, PUBLISHED, files(roots)))


def file_of(slug: str, folder: str, files: Iterable[Path]) -> Path:
    """The file of a table, of those in a folder. Raises RooflintError if there is none."""
    there = {file.stem: file for file in files}
    if slug not in there:
        raise RooflintError(f"no table {folder}/{slug}.yaml (there are: {', '.join(there) or 'none'})")
    return there[slug]


def lines_of(document: Document, subjects: Iterable[str]) -> tuple[int, ...]:
    """Line of each row in the file. Raises InputError where two rows are about the same."""
    seen: dict[str, int] = {}
    for place, subject in enumerate(subjects):
        line = document.line(("rows", place))
        if subject in seen:
            raise refuse(document.file, line, f"{subject} stands twice, also in line {seen[subject]}")
        seen[subject] = line
    return tuple(seen.values())


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


# ---- Predictions


class Given(NamedTuple):
    """What a prediction needs besides the table."""

    chip: Chip
    constants: Constants
    """Constants of CUDA cores fitted without the family of the chip."""


def given_of(table: Published, registry: Registry) -> Given:
    """The device of a table as a chip, and all constants.

    Raises InputError for a device that is not known or has no latency in the precision, and RooflintError.
    """
    spec = table.spec
    try:
        device = registry.get(spec.device)
        chip = chip_of(device, spec.precision, Coefficients.of(registry).launches())
    except (UnknownDeviceError, UnsupportedError, UndisclosedError) as error:
        raise refuse(table.file, table.device_line, f"device: {error}") from None
    return Given(chip, constants_file(registry).without(family_of(device), ["cores"]))


def family_of(device: Hardware) -> str:
    """`volta` of nvidia/volta-gv100; empty where the architecture is not said."""
    return dispatch.family_of(device.architecture or "")


def predicted_s(table: Published, given: Given) -> Numbers:
    """Predicted time of each row, including what the clock measured besides the kernel. [s]"""
    return timed_s(
        kernel_of(table, given.chip).time(work_of(table, given.chip), given.chip, given.constants), table, given
    )


def timed_s(times: Times, table: Published, given: Given) -> Numbers:
    """Of kernels of a graph, what the clock of a table measures. [s]

    A kernel takes no less than its work, also where a wrong clock makes its launch shorter than the gap.
    """
    return np.maximum(times.seconds - gap_s(given), times.together_s) + beside_s(table, given)


def kernel_of(table: Published, chip: Chip) -> Kernel:
    """The shipped kernel model for the op of a table."""
    op, precision = table.spec.op, table.spec.precision
    if op not in STREAMS:
        return kernel_for(op, precision, chip)
    width = bytes_per_element(precision)
    return kernel_for("stream", precision, chip, reads=STREAMS[op], bytes_in=width, bytes_out=width)


def work_of(table: Published, chip: Chip) -> Work:
    """The rows of a table as input of their kernel model."""
    return kernel_of(table, chip).work(copies=1.0 if table.spec.warm else COLD, **_sizes(table))


def beside_s(table: Published, given: Given) -> float:
    """Time measured besides the kernel: the gap to the next one in a graph, nothing, or the floor of a call. [s]"""
    floor = table.spec.floor
    return {"graph": gap_s(given), "kernel": 0.0, "host": floor.us * 1e-6 if floor else 0.0}[table.spec.timing]


def gap_s(given: Given) -> float:
    """From the end of one kernel of a graph to the start of the next; formulas have it in their launch. [s]"""
    products = given.constants.products
    return gemm.launch_s(given.chip, products) - products.start_clocks * given.chip.clock_s


def roofline_s(table: Published, given: Given) -> Numbers:
    """The plain roofline: dense peak or bandwidth. [s]"""
    return kernel_of(table, given.chip).floor_s(work_of(table, given.chip), given.chip)


def peak_s(table: Published, chip: Chip) -> Numbers:
    """Lower bound on the time of each row: its multiplications at the dense peak, of which Winograd saves some. [s]"""
    macs = kernel_of(table, chip).macs(work_of(table, chip))
    return np.broadcast_to(macs / chip.macs_per_s, len(table))


def regimes(table: Published) -> Mapping[str, Mask]:
    """Parts of a table by name: by work where there is a product, by bytes of streams. Shape (rows,) each"""
    if table.spec.op in STREAMS:
        tensors = STREAMS[table.spec.op] + 1
        moved = tensors * table.sizes["m"] * table.sizes["n"] * bytes_per_element(table.spec.precision)
        return {"all": np.ones(len(table), bool), "large": moved > LARGE_BYTES, "small": moved < SMALL_BYTES}
    return {regime: product_regime(regime, _products(table)) for regime in PRODUCT}


def label(table: Published, row: int) -> str:
    """`m 896, n 22016, k 4096`, without a batch, stride or groups of 1."""
    sizes = {name: column[row] for name, column in table.sizes.items()}
    shown = {name: size for name, size in sizes.items() if size > 1 or name not in OPTIONAL.get(table.spec.op, ())}
    return ", ".join(f"{name} {size:g}" for name, size in shown.items())


def _products(table: Published) -> Shapes:
    sizes = _sizes(table)
    return (
        convolution.as_product(convolution.convolution(**sizes)) if table.spec.op == "convolution" else shapes(**sizes)
    )


def _sizes(table: Published) -> dict[str, Numbers]:
    return {name: column for name, column in table.sizes.items() if name != RAN}
