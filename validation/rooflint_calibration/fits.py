"""The three fits: matrix products, all other topics of the package of measurements, and FP32 on CUDA cores."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import OPS_GROUPS, Constants, ConstantsFile, constants_file
from rooflint.kernels.convolution import WinogradConvolution
from rooflint.kernels.shapes import Numbers
from rooflint_calibration import against_published as against
from rooflint_calibration import published
from rooflint_calibration.against_published import RAN, Given
from rooflint_calibration.fit import Fit, Progress, Sample, Step
from rooflint_calibration.package import FAMILIES, PUBLISHED, devices, family_of
from rooflint_calibration.published import Published
from rooflint_calibration.rows import Rows, together
from rooflint_calibration.topics import TOPICS, measured_devices

GEMM = "gemm"

GEMM_SOLVER = {"diff_step": 1e-3, "ftol": 1e-4, "max_nfev": 40}
OPS_SOLVER = {"diff_step": 1e-3, "max_nfev": 40}
CORES_SOLVER = {"diff_step": 1e-2, "ftol": 1e-5, "max_nfev": 60}

CORES_PRECISION = "fp32"
CORES_PRODUCTS = ("fma_efficiency", "other_instructions", "energy_pj_per_nm")
CORES_TRANSFORMS = ("transform_efficiency",)
"""Products give the speed of the lanes and the energy of an op; then convolutions give that of transforms."""

CORES_SHARES = ("fma_efficiency", "transform_efficiency")
"""Those that are at most 1."""

TRANSFORMED = 4
"""Outputs along a side of the tiles of kernels with separate transforms."""


# ---- Topics of the package

Measured = Mapping[str, Mapping[str, tuple[Rows, Chip]]]
"""Rows and chips by topic and device."""


def measured(
    topics: Sequence[str], data: Path, registry: Registry, progress: Progress = lambda what: None
) -> dict[str, dict[str, tuple[Rows, Chip]]]:
    """All rows of some topics on all measured devices, from a folder. Raises RooflintError."""
    found: dict[str, dict[str, tuple[Rows, Chip]]] = {}
    for name in topics:
        found[name] = {}
        for device in (device for members in measured_devices(name).values() for device in members):
            chip = TOPICS[name].chip(registry, device)
            found[name][device] = TOPICS[name].read(data, device, chip), chip
            progress(f"read {name} of {device}")
    return found


def gemm_fit(rows: Measured, start: Constants, names: Sequence[str], rows_per_family: int) -> Fit:
    """Constants of products on matrix units."""
    steps, scored, notes = _steps(rows, {"products": names}, rows_per_family, GEMM_SOLVER)
    return Fit(steps, scored, start, dict.fromkeys(FAMILIES, start), notes)


def ops_fit(rows: Measured, file: ConstantsFile) -> Fit:
    """Constants of streams, attention and FP8; without a family, the constants of products are without it as well."""
    names = {group: file.fitted(group) for group in OPS_GROUPS}
    steps, scored, notes = _steps(rows, names, file.fit(OPS_GROUPS[0]).rows_per_family, OPS_SOLVER)
    starts = {family: file.without(family, ["products"]) for family in FAMILIES}
    return Fit(steps, scored, file.constants, starts, notes)


def _steps(
    rows: Measured, names: Mapping[str, Sequence[str]], rows_per_family: int, solver: Mapping[str, Any]
) -> tuple[list[Step], list[Sample], list[str]]:
    """Steps, scored samples and notes; families weigh alike, however many devices they have."""
    steps, scored, notes = [], [], []
    for name, ones in rows.items():
        topic, samples = TOPICS[name], []
        for family in FAMILIES:
            here = [ones[device] for device in devices(family) if device in ones]
            scored += [_sample(name, *one) for one in here]
            samples += [_sample(name, every.picked(rows_per_family // len(here)), chip) for every, chip in here]
        if topic.fits:
            steps.append(Step(topic.group, names[topic.group], samples, solver))
        left_out = together(every.dropped for every, _ in ones.values())
        count = sum(len(every) for every, _ in ones.values())
        notes.append(f"{topic.title}: {count} rows; left out: {left_out or 'none'}")
    return steps, scored, notes


def _sample(name: str, rows: Rows, chip: Chip) -> Sample:
    topic = TOPICS[name]
    return Sample(
        topic.title,
        family_of(rows.device),
        rows.seconds,
        lambda constants: topic.predict(rows.sizes, chip, constants),
        topic.roofline(rows.sizes, chip),
        {
            regime if name == GEMM else label: topic.inside(regime, rows.sizes)  # as their tables have it
            for regime, label in topic.regimes.items()
        },
    )


# ---- FP32 on CUDA cores


def cores_fit(roots: Sequence[Path], registry: Registry) -> Fit:
    """Constants of CUDA cores, from published tables in FP32; every table weighs alike.

    Raises InputError, and RooflintError if there are no tables.
    """
    tables = [one for one in map(published.read, published.files(roots)) if _is_on_cores(one)]
    if not tables:
        folders = ", ".join(str(root / PUBLISHED) for root in roots)
        raise RooflintError(f"no table of products or convolutions in {CORES_PRECISION} in {folders}")
    scored, products, transforms = [], [], []
    for one in tables:
        given, family = against.given_of(one, registry), against.family_of(registry.get(one.spec.device))
        scored.append(_table_sample(one, given, family))
        if one.spec.op == "gemm":
            products.append(_fitted_rows(scored[-1], one.comparable))
        else:
            transforms.append(_transform_sample(one, given, family))
    start = constants_file(registry).constants
    steps = [
        Step("cores", names, samples, CORES_SOLVER, CORES_SHARES)
        for names, samples in ((CORES_PRODUCTS, products), (CORES_TRANSFORMS, transforms))
    ]
    return Fit(steps, scored, start, dict.fromkeys((one.family for one in scored), start))


def _is_on_cores(table: Published) -> bool:
    return table.spec.precision == CORES_PRECISION and table.spec.op in ("gemm", "convolution")


def _with(given: Given, constants: Constants) -> Given:
    return given._replace(constants=constants)


def _table_sample(table: Published, given: Given, family: str) -> Sample:
    """All rows by the algorithm that takes least; the comparable ones are scored."""
    return Sample(
        table.slug,
        family,
        table.seconds,
        lambda constants: against.predicted_s(table, _with(given, constants)),
        against.roofline_s(table, given),
        {"all": table.comparable},
    )


def _transform_sample(table: Published, given: Given, family: str) -> Sample:
    """The comparable rows that ran transforms, predicted as such even where another algorithm would take less."""

    def predict(constants: Constants) -> Numbers:
        on = _with(given, constants)
        model = against.kernel_of(table, on.chip)
        assert isinstance(model, WinogradConvolution)
        found = model.algorithms(against.work_of(table, on.chip), on.chip, constants)
        return found["transformed"].seconds - against.gap_s(on) + against.beside_s(table, on)

    rows = (table.sizes[RAN] == TRANSFORMED) & table.comparable
    return _fitted_rows(Sample(table.slug, family, table.seconds, predict), rows)


def _fitted_rows(one: Sample, rows: against.Mask) -> Sample:
    """Some rows of a sample, weighted as if there were a hundred, so that long tables do not decide."""
    weight = float(np.sqrt(100 / max(int(rows.sum()), 1)))
    return Sample(
        one.subject, one.family, one.seconds[rows], lambda constants: one.predict(constants)[rows], weight=weight
    )
