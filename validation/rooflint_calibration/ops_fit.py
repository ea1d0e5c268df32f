"""Ops fit: constants of streams, attention and FP8, fitted with all families and without each, and their errors.

A fold fits every group without its family: streams first, then attention with those streams, and takes the constants of
products that have not seen the family either. Deterministic.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rooflint.coefficients.library import Coefficients
from rooflint.devices.registry import Registry
from rooflint.kernels.chip import Chip, chip_of
from rooflint.kernels.constants import OPS_GROUPS, Constants, ConstantsFile
from rooflint.kernels.shapes import Numbers
from rooflint_calibration.fit import SOFT
from rooflint_calibration.ops import ABSENT, OPS
from rooflint_calibration.package import FAMILIES, devices
from rooflint_calibration.rows import Recorded
from rooflint_calibration.score import Score, score

Progress = Callable[[str], None]
Chips = Mapping[tuple[str, str], Chip]
"""By op and device, each in the precision of the op."""
OfOp = Mapping[str, Recorded]
"""By device."""


@dataclass(frozen=True)
class Fold:
    """One family left out."""

    constants: Constants
    scores: Mapping[tuple[str, str], tuple[Score, Score]]
    """By op and part, of every row: the model's and the plain roofline's."""


@dataclass(frozen=True)
class OpsCalibration:
    """The constants of all families, and each family's fold."""

    constants: Constants
    folds: Mapping[str, Fold]


def load(
    data: Path, registry: Registry, progress: Progress = lambda what: None
) -> tuple[dict[str, dict[str, Recorded]], dict[tuple[str, str], Chip]]:
    """What is measured of each op on each device, and the devices. Raises RooflintError."""
    launches = Coefficients(registry).launches()
    measured = [device for family in FAMILIES for device in devices(family)]
    chips: dict[tuple[str, str], Chip] = {}
    found: dict[str, dict[str, Recorded]] = {}
    for name, op in OPS.items():
        found[name] = {}
        for device in measured:
            if (device, name) not in ABSENT:
                chips[name, device] = chip_of(registry.get(device), op.precision, launches)
                found[name][device] = op.read(data, device, chips[name, device])
        progress(f"read {name}")
    return found, chips


def calibrate(
    data: Mapping[str, OfOp], chips: Chips, file: ConstantsFile, progress: Progress = lambda what: None
) -> OpsCalibration:
    """Fit with all families, then without each, and score every fold on the family that it has not seen."""
    names = {group: file.fitted(group) for group in OPS_GROUPS}
    rows = file.fit("stream").rows_per_family
    whole = fitted(data, chips, file.constants, names, rows, FAMILIES)
    progress("fitted all families")
    folds = {}
    for family in FAMILIES:
        others = [other for other in FAMILIES if other != family]
        start = file.without(family, ["products"])
        constants = fitted(data, chips, start, names, rows, others)
        folds[family] = Fold(constants, scores(data, chips, constants, family))
        progress(f"left out {family}")
    return OpsCalibration(whole, folds)


def fitted(
    data: Mapping[str, OfOp],
    chips: Chips,
    start: Constants,
    names: Mapping[str, Sequence[str]],
    rows_per_family: int,
    families: Iterable[str],
) -> Constants:
    """Group by group, the constants that minimise the soft L1 loss of ln(predicted / measured); others stay."""
    kept = list(families)
    for name, op in OPS.items():
        if op.fits:
            few = [one for family in kept for one in _thinned(data[name], family, rows_per_family)]
            start = _solved(name, few, chips, start, names[op.group])
    return start


def scores(
    data: Mapping[str, OfOp], chips: Chips, constants: Constants, family: str
) -> dict[tuple[str, str], tuple[Score, Score]]:
    """Of every op that was measured on a family, part by part, all of its rows together."""
    found = {}
    for name, op in OPS.items():
        ones = [data[name][device] for device in devices(family) if device in data[name]]
        if not ones:
            continue
        predicted = np.concatenate([op.predict(one, chips[name, one.device], constants) for one in ones])
        plain = np.concatenate([op.roofline(one, chips[name, one.device]) for one in ones])
        seconds = np.concatenate([one.seconds for one in ones])
        for part, inside in op.parts.items():
            rows = np.concatenate([inside(one) for one in ones])
            if rows.any():
                pair = score(predicted[rows], seconds[rows]), score(plain[rows], seconds[rows])
                found[name, part] = pair
    return found


def _thinned(data: OfOp, family: str, rows: int) -> list[Recorded]:
    ones = [data[device] for device in devices(family) if device in data]
    return [one.picked(rows // len(ones)) for one in ones]


def _solved(name: str, data: Sequence[Recorded], chips: Chips, start: Constants, fitted: Sequence[str]) -> Constants:
    from scipy.optimize import least_squares  # noqa: PLC0415  # of an extra

    op = OPS[name]
    group = getattr(start, op.group)

    def at(steps: Numbers) -> Constants:
        moved = {one: getattr(group, one) * np.exp(step) for one, step in zip(fitted, steps, strict=True)}
        changed: Constants = replace(start, **{op.group: replace(group, **moved)})
        return changed

    def log_ratios(steps: Numbers) -> Numbers:
        constants = at(steps)
        predicted = (op.predict(one, chips[name, one.device], constants) for one in data)
        return np.concatenate([np.log(seconds / one.seconds) for seconds, one in zip(predicted, data, strict=True)])

    found = least_squares(log_ratios, np.zeros(len(fitted)), loss="soft_l1", f_scale=SOFT, diff_step=1e-3, max_nfev=40)
    return at(found.x)
