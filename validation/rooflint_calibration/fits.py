"""The three fits: matrix products, all other topics of the package of measurements, and FP32 on CUDA cores."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import Chip, chip_of
from rooflint.kernels.constants import OPS_GROUPS, Constants, ConstantsFile, constants_file
from rooflint.kernels.convolution import WinogradConvolution
from rooflint.kernels.shapes import Numbers
from rooflint_calibration import against_published as against
from rooflint_calibration import published
from rooflint_calibration.against_published import RAN, Given
from rooflint_calibration.fit import Fit, Progress, Sample, Step
from rooflint_calibration.package import FAMILIES, PUBLISHED, devices, family_of
from rooflint_calibration.products import PRECISION, REGIMES, Measured, picked, predicted_s, read, roofline_s
from rooflint_calibration.published import Published
from rooflint_calibration.rows import Recorded, together
from rooflint_calibration.topics import BESIDE_PRODUCTS, TOPICS

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


# ---- Matrix products


def measured_products(
    data: Path, registry: Registry, progress: Progress = lambda what: None
) -> dict[str, tuple[Measured, Chip]]:
    """The products of every measured device. Raises RooflintError."""
    found, launches = {}, Coefficients(registry).launches()
    for device in (name for family in FAMILIES for name in devices(family)):
        chip = chip_of(registry.get(device), PRECISION, launches)
        found[device] = read(data, device, chip), chip
        progress(f"read {device}")
    return found


def gemm_fit(
    products: Mapping[str, tuple[Measured, Chip]], start: Constants, names: Sequence[str], rows_per_family: int
) -> Fit:
    """Constants of products on matrix units; families weigh alike, however many devices they have."""
    samples, scored, notes = [], [], []
    for device, (measured, chip) in products.items():
        few = picked(measured, rows_per_family // len(devices(family_of(device))))
        samples.append(_product_sample(few, chip))
        scored.append(_product_sample(measured, chip))
        left_out = {why: rows for why, rows in measured.dropped.items() if rows}
        notes.append(f"{device}: {len(measured)} shapes; left out: {left_out or 'none'}")
    step = Step("products", names, samples, GEMM_SOLVER)
    return Fit([step], scored, start, dict.fromkeys(FAMILIES, start), notes)


def _product_sample(measured: Measured, chip: Chip) -> Sample:
    return Sample(
        GEMM,
        family_of(measured.device),
        measured.seconds,
        lambda constants: predicted_s(measured, chip, constants),
        roofline_s(measured, chip),
        {name: inside(measured.shapes) for name, inside in REGIMES.items()},
    )


# ---- Streams, attention and FP8


def measured_ops(
    data: Path, registry: Registry, progress: Progress = lambda what: None
) -> dict[str, dict[str, tuple[Recorded, Chip]]]:
    """The rows of every other op on every device, by op. Raises RooflintError."""
    launches = Coefficients(registry).launches()
    found: dict[str, dict[str, tuple[Recorded, Chip]]] = {}
    for name in BESIDE_PRODUCTS:
        topic, found[name] = TOPICS[name], {}
        assert topic.read is not None
        for device in (name for family in FAMILIES for name in devices(family)):
            if device not in topic.absent:
                chip = chip_of(registry.get(device), topic.precision, launches)
                found[name][device] = topic.read(data, device, chip), chip
        progress(f"read {topic.title}")
    return found


def ops_fit(recorded: Mapping[str, Mapping[str, tuple[Recorded, Chip]]], file: ConstantsFile) -> Fit:
    """Constants of each group; streams come first, because attention reads its bytes as quantise kernels do.

    Without a family, a fit also takes the constants of products without it.
    """
    rows_per_family, steps, scored, notes = file.fit(OPS_GROUPS[0]).rows_per_family, [], [], []
    for name in BESIDE_PRODUCTS:
        topic = TOPICS[name]
        ones, samples = recorded[name], []
        for family in FAMILIES:
            here = [ones[device] for device in devices(family) if device in ones]
            scored += [_op_sample(name, *one) for one in here]
            samples += [_op_sample(name, rows.picked(rows_per_family // len(here)), chip) for rows, chip in here]
        if topic.fits:
            steps.append(Step(topic.group, file.fitted(topic.group), samples, OPS_SOLVER))
        left_out = together(rows.dropped for rows, _ in ones.values())
        notes.append(
            f"{topic.title}: {sum(len(rows) for rows, _ in ones.values())} rows; left out: {left_out or 'none'}"
        )
    starts = {family: file.without(family, ["products"]) for family in FAMILIES}
    return Fit(steps, scored, file.constants, starts, notes)


def _op_sample(name: str, rows: Recorded, chip: Chip) -> Sample:
    topic = TOPICS[name]
    return Sample(
        topic.title,
        family_of(rows.device),
        rows.seconds,
        lambda constants: topic.predict(rows.sizes, chip, constants),
        topic.roofline(rows.sizes, chip),
        {part: topic.inside(regime, rows.sizes) for regime, part in topic.regimes.items()},
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
