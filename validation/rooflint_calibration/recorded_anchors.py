"""Where anchors come from: a recording of the user's own, or the rows of a published device."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rooflint.base.errors import RooflintError, shown
from rooflint.kernels.shapes import Numbers, Shapes, shapes
from rooflint_calibration.anchored import Anchors
from rooflint_calibration.products import Measured
from rooflint_measure.record.measurement import Gemm, Measurement
from rooflint_measure.record.recording import Recording
from rooflint_measure.stopwatches.anchors import ANCHORS, DTYPES, GRAPH, Kind

HOW = "rooflint measure anchors --device cuda -o mine.json"

EVERY = tuple(shape for of_kind in ANCHORS.values() for shape in of_kind)


def recorded(recording: Recording, precision: str) -> tuple[Measurement, ...]:
    """The anchors of a recording in a precision.

    A product that was launched by itself is none: the host may have been late.
    """
    return tuple(row for row in recording.measurements if _is_anchor(row, precision))


def _is_anchor(row: Measurement, precision: str) -> bool:
    subject = row.subject
    return (
        isinstance(subject, Gemm)
        and GRAPH in row.details
        and subject.precision == precision
        and subject.batch == 1
        and (subject.m, subject.n, subject.k) in EVERY
    )


def of_recording(recording: Recording, precision: str) -> Anchors:
    """The least time of each: noise only ever adds."""
    rows = [(row.subject, row.samples.best_s) for row in recorded(recording, precision)]
    products = [(one, seconds) for one, seconds in rows if isinstance(one, Gemm)]
    sizes = np.array([(one.m, one.n, one.k) for one, _ in products], float).reshape(-1, 3)
    return Anchors(
        _shapes(sizes),
        np.array([seconds for _, seconds in products]),
        np.array([float(one.weight_copies) for one, _ in products]),
    )


def of_published(measured: Measured) -> Anchors:
    """The rows of these shapes, as if a user had taken them."""
    sizes = zip(measured.shapes.m, measured.shapes.n, measured.shapes.k, strict=True)
    few = measured.rows(np.array([one in EVERY for one in sizes], bool))
    return Anchors(few.shapes, few.seconds, few.copies)


def precision_of(file: Path, recording: Recording, asked: str) -> str:
    """The precision that was asked for, else the first in which there are anchors. Raises RooflintError."""
    names = [asked] if asked else list(DTYPES)
    for name in names:
        if recorded(recording, name):
            return name
    raise RooflintError(
        f"{shown(file)}: want {', '.join(ANCHORS)} products in {' or '.join(names)}, each a kernel of a graph, "
        f"found none; {HOW}"
    )


def missing(recording: Recording, precision: str) -> Iterator[tuple[Kind, str]]:
    """Kinds of which a recording has nothing, each with what the recording says of it."""
    there = of_recording(recording, precision).sizes
    for kind, sizes in ANCHORS.items():
        if not set(sizes) & set(there):
            reasons = {why for what, why in recording.left_out.items() if what.startswith(f"{kind} {precision} ")}
            yield kind, "; ".join(sorted(reasons)) or "not recorded"


def _shapes(sizes: Numbers) -> Shapes:
    return shapes(*sizes.T) if len(sizes) else Shapes(*(np.empty(0) for _ in range(4)))
