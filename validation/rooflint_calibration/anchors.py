"""Anchors: what a few products measured on one GPU say about its launches, its matrix units and its memory.

A product measures the GPU, but also its own shape: its tile, its kernel, and whether the library was tuned for it. So
each figure moves from the shared value only as far as its products can tell the GPU from their shapes. The benefit of
the three figures is how much the errors on published rows of a GPU fall.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rooflint.base.errors import InputError, RooflintError, shown
from rooflint.hardware.registry import Registry
from rooflint.hardware.spec_files import read_spec
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants, ConstantsFile
from rooflint.kernels.device_calibration import DeviceCalibrationSpec, Own
from rooflint.kernels.dispatch import kernel_for
from rooflint.kernels.gemm import launch_s
from rooflint.kernels.shapes import Numbers
from rooflint_calibration.evaluation import Score, score
from rooflint_calibration.package import family_of
from rooflint_calibration.rows import Rows
from rooflint_calibration.topics import TOPICS
from rooflint_measure.record import Gemm, Measurement
from rooflint_measure.recording import Recording
from rooflint_measure.stopwatches.anchors import ANCHORS, DTYPES, GRAPH, Kind

RECORD = "rooflint measure anchors --device cuda -o mine.json"
"""The command that measures anchors."""

COLUMNS = TOPICS["gemm"].columns
SHAPES = tuple(shape for of_kind in ANCHORS.values() for shape in of_kind)


class Deviation(NamedTuple):
    """Standard deviations of predicted over measured, as shares: between GPUs, and between shapes on one GPU."""

    machines: float
    shapes: float

    def weight(self, products: int) -> float:
        """Share of the mean error of so many products that is due to the GPU. [1]

        Shrinkage: the mean of n observations with noise σ of something that varies by τ is worth τ² / (τ² + σ² / n).
        """
        return self.machines**2 / (self.machines**2 + self.shapes**2 / products)


DEVIATIONS: Mapping[Kind, Deviation] = {
    "null": Deviation(0.071, 0.069),
    "peak": Deviation(0.037, 0.072),
    "streaming": Deviation(0.038, 0.040),
}
"""Deviations over the nine measured GPUs, each predicted by constants fitted without its family, to two digits.

Machines: of medians over products below 1 GFLOP (for the launch), above 20 GFLOP, and of m up to 16 with weights
larger than four times L2. Shapes: of the null anchors, and of the other two regimes.
"""

LEAST_LAUNCH_S = 1e-8
"""The shortest launch; anything less is noise of the anchors. [s]"""


# ---- Own figures of one GPU


def shapes_of(anchors: Rows) -> list[tuple[int, int, int]]:
    """m, n and k of each anchor."""
    return [(int(m), int(n), int(k)) for m, n, k, _ in anchors.sizes]


def of_kind(anchors: Rows, kind: Kind) -> Rows:
    """The products of a kind."""
    return anchors.only(np.array([shape in ANCHORS[kind] for shape in shapes_of(anchors)], bool))


@dataclass(frozen=True)
class Setting:
    """What anchors are predicted with."""

    chip: Chip
    constants: Constants
    precision: str

    def predicted_s(self, anchors: Rows) -> Numbers:
        """Time of each product. [s]"""
        model = kernel_for("gemm", self.precision, self.chip)
        return model.predict(model.work(**anchors.named), self.chip, self.constants)

    def with_(self, own: Own) -> "Setting":
        """This setting with a GPU's own figures."""
        chip, constants = own.of(self.chip, self.constants)
        return replace(self, chip=chip, constants=constants)


def own_figures(anchors: Rows, setting: Setting) -> Own:
    """The figures that the anchors give; None for a kind without anchors.

    Memory first, because large products wait for it a little; then the matrix units; then launches, whose products do
    some work of their own.
    """
    stream = _factor(anchors, "streaming", setting)
    dram = None if stream is None else min(setting.constants.products.dram_efficiency * stream, 1.0)
    matrix = _factor(anchors, "peak", setting.with_(Own(dram_efficiency=dram)))
    launch = _launch_s(of_kind(anchors, "null"), setting.with_(Own(dram_efficiency=dram, matrix_factor=matrix)))
    return Own(launch, matrix, dram)


def _factor(anchors: Rows, kind: Kind, setting: Setting) -> float | None:
    """How many times as fast as predicted the products of a kind are, weighted. [1]"""
    few = of_kind(anchors, kind)
    if not len(few):
        return None
    bias = float(np.log(setting.predicted_s(few) / few.seconds).mean())
    return float(np.exp(bias * DEVIATIONS[kind].weight(len(few))))


def _launch_s(few: Rows, setting: Setting) -> float | None:
    """The shared launch, plus what null products take longer than predicted, weighted. [s]"""
    if not len(few):
        return None
    shared = launch_s(setting.chip, setting.constants.products)
    beyond = float(np.mean(few.seconds - setting.predicted_s(few)))
    return max(shared + beyond * DEVIATIONS["null"].weight(len(few)), LEAST_LAUNCH_S)


# ---- Anchors of a recording, or among the published rows of a device


def recorded(recording: Recording, precision: str) -> tuple[Measurement, ...]:
    """The anchors of a recording in a precision. Products launched one by one do not count: the host may be late."""
    return tuple(
        row
        for row in recording.measurements
        if isinstance(row.subject, Gemm)
        and GRAPH in row.details
        and (row.subject.precision, row.subject.batch) == (precision, 1)
        and (row.subject.m, row.subject.n, row.subject.k) in SHAPES
    )


def of_recording(recording: Recording, precision: str) -> Rows:
    """The least time of each anchor, because noise only adds."""
    products = [(row.subject, row.samples.best_s) for row in recorded(recording, precision)]
    sizes = [(one.m, one.n, one.k, one.weight_copies) for one, _ in products if isinstance(one, Gemm)]
    seconds = np.array([seconds for _, seconds in products])
    return Rows(recording.machine.device, COLUMNS, np.array(sizes, float).reshape(-1, 4), seconds)


def of_published(measured: Rows) -> Rows:
    """The published rows of these shapes, as if a user had measured them."""
    return measured.only(np.array([shape in SHAPES for shape in shapes_of(measured)], bool))


def precision_of(file: Path, recording: Recording, asked: str) -> str:
    """The precision asked for, else the first with anchors. Raises RooflintError."""
    names = [asked] if asked else list(DTYPES)
    for name in names:
        if recorded(recording, name):
            return name
    raise RooflintError(
        f"{shown(file)}: want {', '.join(ANCHORS)} products in {' or '.join(names)}, each a kernel of a graph, "
        f"found none; {RECORD}"
    )


def missing(recording: Recording, precision: str) -> Iterator[tuple[Kind, str]]:
    """Kinds that a recording lacks, each with the reason in the recording."""
    there = shapes_of(of_recording(recording, precision))
    for kind, sizes in ANCHORS.items():
        if not set(sizes) & set(there):
            reasons = {why for what, why in recording.left_out.items() if what.startswith(f"{kind} {precision} ")}
            yield kind, "; ".join(sorted(reasons)) or "not recorded"


# ---- The file that `rooflint explain gemm --calibration` reads

FIGURES: Mapping[str, Kind] = {"launch": "null", "matrix_factor": "peak", "dram_efficiency": "streaming"}
"""Keys of the file, and the anchors that each is found from."""


def calibration_text(
    own: Own, anchors: Rows, hardware: str, precision: str, recording: Recording, constants: ConstantsFile
) -> str:
    """The whole file. Texts are quoted, because a driver may name a device as it likes."""
    fit, machine = constants.fit(), recording.machine.device.replace('"', "'")
    values = {
        "launch": None if own.launch_s is None else f"{own.launch_s * 1e6:.4g} µs",
        "matrix_factor": None if own.matrix_factor is None else f"{own.matrix_factor:.4g}",
        "dram_efficiency": None if own.dram_efficiency is None else f"{own.dram_efficiency:.4g}",
    }
    lines = [
        "# Written by rooflint calibrate device for rooflint explain gemm --calibration: not a spec.",
        f'name: "{machine}"',
        f"hardware: {hardware}",
        f"precision: {precision}",
        "sources:",
        f'  recording: {{document: "recording of {machine}, {recording.file_name}", grade: device}}',
        f'corrects: {{package: "{fit.package}", day: "{fit.day}"}}',
    ]
    for key, value in values.items():
        if value is not None:
            few = of_kind(anchors, FIGURES[key])
            products = ", ".join("×".join(map(str, size)) for size in shapes_of(few))
            weight = DEVIATIONS[FIGURES[key]].weight(len(few))
            lines.append(f'{key}: [{value}, recording, "{products}; weight {weight:.0%}"]')
    return "\n".join(lines) + "\n"


def check_calibration(file: Path, text: str) -> None:
    """Refuse figures outside the range of any GPU, because the file could not be read again. Raises RooflintError."""
    try:
        read_spec(file, DeviceCalibrationSpec, text)
    except InputError as error:
        problems = "; ".join(problem.message for problem in error.problems)
        raise RooflintError(f"{file}: not written, because the figures are impossible for a GPU: {problems}") from None


# ---- Benefit: errors on the published rows of a device, before and after its own figures

Benefit = Mapping[str, tuple[Score, Score]]
"""Scores before and after, by regime."""

REGIME_LABELS: Mapping[str, str] = {
    "all": "on all rows",
    "large": "above 20 GFLOP",
    "small": "below 1 GFLOP",
    "narrow": "for m up to 16",
}
"""Regimes in a sentence."""


def benefit(device: str, data: Path, registry: Registry, file: ConstantsFile, anchors: Rows | None = None) -> Benefit:
    """On all rows of a published device, by constants fitted without its family. Raises RooflintError.

    The anchors are those among the published rows unless others are given.
    """
    topic = TOPICS["gemm"]
    chip = topic.chip(registry, device)
    measured = topic.read(data, device, chip)
    before = Setting(chip, file.without(family_of(device)), topic.precision)
    own = own_figures(of_published(measured) if anchors is None else anchors, before)
    times = [one.predicted_s(measured) for one in (before, before.with_(own))]
    found = {}
    for regime in topic.regimes:
        rows = topic.inside(regime, measured.sizes)
        old, new = (score(one[rows], measured.seconds[rows]) for one in times)
        found[regime] = (old, new)
    return found


def summary(found: Benefit) -> Iterator[str]:
    """Summary of one GPU: in which regimes the error falls and rises, and whether the calibration is worth it."""
    change = {regime: _points(*pair) for regime, pair in found.items()}
    better, worse = ({regime: points for regime, points in change.items() if sign * points > 0} for sign in (1, -1))
    yield f"error falls: {_listed(better) or 'nowhere'}; rises: {_listed(worse) or 'nowhere'}"
    if change["all"] <= 0:
        yield "no benefit over all rows: predictions without the calibration are no worse"


def summary_of_many(found: Mapping[str, Benefit]) -> Iterator[str]:
    """Summary of several GPUs of known families: the mean of the families, and the GPUs with larger errors."""
    before, after = zip(*mean_of_families(found).values(), strict=True)
    yield f"mean of the families, by regime: {_percents(before)} % before, {_percents(after)} % after"
    for regime, label in REGIME_LABELS.items():
        worse = [device.rpartition("/")[2] for device, one in found.items() if _points(*one[regime]) < 0]
        yield f"error rises {label}: {', '.join(worse) or 'nowhere'}"


def mean_of_families(found: Mapping[str, Benefit]) -> Mapping[str, tuple[float, float]]:
    """Mean error of each regime before and after, families weighted alike. [1]"""
    means = {}
    for regime in REGIME_LABELS:
        by_family: dict[str, list[tuple[float, float]]] = {}
        for device, one in found.items():
            old, new = one[regime]
            by_family.setdefault(family_of(device), []).append((old.mape, new.mape))
        old_mape, new_mape = np.mean([np.mean(some, axis=0) for some in by_family.values()], axis=0)
        means[regime] = float(old_mape), float(new_mape)
    return means


def _points(before: Score, after: Score) -> float:
    """How far the error falls, in percentage points as printed."""
    return round(round(100 * before.mape, 1) - round(100 * after.mape, 1), 1)


def _listed(change: Mapping[str, float]) -> str:
    return ", ".join(f"{REGIME_LABELS[regime]} by {abs(points):.1f} points" for regime, points in change.items())


def _percents(shares: tuple[float, ...]) -> str:
    return ", ".join(f"{100 * share:.1f}" for share in shares)
