"""Cores fit: the constants of CUDA cores that come nearest to published tables in FP32, leaving each family out.

Products decide how fast the lanes are and what an op costs; then convolutions that ran transforms decide those.
Deterministic: the solver starts from the constants that are there, and every comparable row counts, each table alike.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rooflint.base.errors import RooflintError
from rooflint.base.precision import bytes_per_element
from rooflint.devices.registry import Registry
from rooflint.kernels import winograd
from rooflint.kernels.constants import CoreConstants, constants_file
from rooflint.kernels.cuda_cores import constants_on
from rooflint.kernels.shapes import Numbers
from rooflint_calibration import against_published as against
from rooflint_calibration import published
from rooflint_calibration.against_published import RAN, Seen
from rooflint_calibration.fit import SOFT
from rooflint_calibration.package import PUBLISHED
from rooflint_calibration.published import Published
from rooflint_calibration.score import Score, score

PRECISION = "fp32"
PRODUCTS = ("fma_efficiency", "other_instructions", "energy_pj_per_nm")
TRANSFORMS = ("transform_efficiency",)
"""What each step of the fit finds."""

SHARES = ("fma_efficiency", "transform_efficiency")
"""Of those the ones that are at most 1."""

TRANSFORMED = 4
"""Outputs along a side of the tiles of the kernels with transforms of their own."""


@dataclass(frozen=True)
class Table:
    """A published table with what its device is."""

    rows: Published
    family: str
    given: Seen

    def on(self, cores: CoreConstants) -> "Table":
        """The same rows, predicted with other constants of CUDA cores."""
        products = constants_on(self.given.chip, self.given.products, cores)
        return replace(self, given=self.given._replace(products=products, cores=cores))

    @property
    def error(self) -> Score:
        """By the algorithm that takes least, of the rows that can be compared. Raises ValueError without one."""
        rows = self.rows.comparable
        return score(against.predicted_s(self.rows, self.given)[rows], self.rows.seconds[rows])


@dataclass(frozen=True)
class Fold:
    """One family left out."""

    constants: CoreConstants
    scores: Mapping[str, tuple[Score, Score]]
    """Of its tables by name: the model, and the plain roofline."""


@dataclass(frozen=True)
class Calibration:
    """The constants of all families, and each family's fold."""

    constants: CoreConstants
    folds: Mapping[str, Fold]


def load(roots: Sequence[Path], registry: Registry) -> list[Table]:
    """Tables of products and convolutions in FP32. Raises InputError, and RooflintError where there are none."""
    found = []
    for one in map(published.read, published.files(roots)):
        if one.spec.precision == PRECISION and one.spec.op in ("gemm", "convolution"):
            given = against.seen(one, registry)
            raw = given._replace(products=constants_file(registry).constants.products)
            found.append(Table(one, against.family_of(registry.get(one.spec.device)), raw))
    if not found:
        folders = ", ".join(str(root / PUBLISHED) for root in roots)
        raise RooflintError(f"no table of products or convolutions in {PRECISION} in {folders}")
    return found


def calibrate(tables: Sequence[Table], start: CoreConstants) -> Calibration:
    """Fit to all tables, then without each family, and score every fold on the family that it has not seen."""
    folds = {}
    for family in dict.fromkeys(table.family for table in tables):
        constants = fitted([table for table in tables if table.family != family], start)
        own = [table.on(constants) for table in tables if table.family == family]
        folds[family] = Fold(constants, {one.rows.slug: (one.error, _roofline(one)) for one in own})
    return Calibration(fitted(tables, start), folds)


def fitted(tables: Sequence[Table], start: CoreConstants) -> CoreConstants:
    """The constants that minimise the soft L1 loss of ln(predicted / measured), products first."""
    products = [table for table in tables if table.rows.spec.op == "gemm"]
    convolutions = [table for table in tables if table.rows.spec.op == "convolution"]
    found = _nearest(products, start, PRODUCTS, product_errors)
    return _nearest(convolutions, found, TRANSFORMS, transform_errors)


def product_errors(table: Table) -> Numbers:
    """ln(predicted / measured) of the rows of a table that can be compared."""
    rows = table.rows.comparable
    return np.asarray(np.log(against.predicted_s(table.rows, table.given) / table.rows.seconds)[rows])


def transform_errors(table: Table) -> Numbers:
    """The same of the rows that ran transforms, predicted as those whatever would take least."""
    given, ran = table.given, table.rows.sizes[RAN] == TRANSFORMED
    width = bytes_per_element(table.rows.spec.precision)
    ways = winograd.ways_s(
        against.convolutions(table.rows), given.chip, given.products, given.ops.stream, given.cores, element_bytes=width
    )
    predicted = ways["transformed"] - against.gap_s(given) + against.beside_s(table.rows, given)
    return np.asarray(np.log(predicted / table.rows.seconds)[ran & table.rows.comparable])


def _nearest(
    tables: Sequence[Table], start: CoreConstants, names: Sequence[str], errors: Callable[[Table], Numbers]
) -> CoreConstants:
    from scipy.optimize import least_squares  # noqa: PLC0415  # of an extra

    def at(steps: Numbers) -> CoreConstants:
        moved = {name: getattr(start, name) * np.exp(step) for name, step in zip(names, steps, strict=True)}
        return replace(start, **moved)

    def residuals(steps: Numbers) -> Numbers:
        return np.concatenate([_alike(errors(table.on(at(steps)))) for table in tables])

    if not tables:
        return start
    most = [-np.log(getattr(start, name)) if name in SHARES else np.inf for name in names]
    found = least_squares(
        residuals,
        np.zeros(len(names)),
        bounds=(-np.inf, most),
        loss="soft_l1",
        f_scale=SOFT,
        diff_step=1e-2,
        ftol=1e-5,
        max_nfev=60,
    )
    return at(found.x)


def _alike(errors: Numbers) -> Numbers:
    """As if each table had a hundred rows, so that long ones do not decide. Shape (rows,)"""
    return np.asarray(errors * np.sqrt(100 / max(len(errors), 1)))


def _roofline(table: Table) -> Score:
    rows = table.rows.comparable
    return score(against.roofline_s(table.rows, table.given)[rows], table.rows.seconds[rows])
