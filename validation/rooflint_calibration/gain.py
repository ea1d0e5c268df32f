"""Gain: how far predictions are from the published rows of a device, before and after its own figures."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from rooflint.coefficients.library import Coefficients
from rooflint.devices.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import ConstantsFile
from rooflint_calibration.anchored import Anchors, Setting, own_of
from rooflint_calibration.package import FAMILIES, devices, family_of
from rooflint_calibration.products import ELEMENT_BYTES, PRECISION, Measured, read
from rooflint_calibration.recorded_anchors import of_published
from rooflint_calibration.sample import REGIMES
from rooflint_calibration.score import Score, predicted_s, score
from rooflint_measure.stopwatches.anchors import Kind

Gains = Mapping[str, tuple[Score, Score]]
"""Before and after, by regime."""


def is_published(device: str) -> bool:
    """Whether a device is one of those whose rows are published."""
    return any(device in devices(family) for family in FAMILIES)


def gain(device: str, anchors: Anchors, data: Path, registry: Registry, file: ConstantsFile) -> Gains:
    """On all rows of a published device, with constants that have not seen its family. Raises RooflintError."""
    return _gain(device, lambda measured: anchors, data, registry, file)


def simulated(device: str, data: Path, registry: Registry, file: ConstantsFile, kind: Kind | None = None) -> Gains:
    """The same where the anchors, or those of a kind, are rows of the device itself. Raises RooflintError."""

    def anchors(measured: Measured) -> Anchors:
        every = of_published(measured)
        return every.of(kind) if kind else every

    return _gain(device, anchors, data, registry, file)


def _gain(
    device: str, anchors: Callable[[Measured], Anchors], data: Path, registry: Registry, file: ConstantsFile
) -> Gains:
    chip = chip_of(registry.get(device), PRECISION, Coefficients(registry).launches())
    measured = read(data, device, chip)
    before = Setting(chip, file.without(family_of(device)).products, ELEMENT_BYTES)
    after = before.with_(own_of(anchors(measured), before))
    times = [predicted_s(measured, one.chip, one.constants) for one in (before, after)]
    found = {}
    for name, inside in REGIMES.items():
        rows = inside(measured.shapes)
        old, new = (score(one[rows], measured.seconds[rows]) for one in times)
        found[name] = (old, new)
    return found


# ---- What a gain comes to, in sentences: where a machine's own figures better predictions, and where they do not

WHERE: Mapping[str, str] = {
    "all": "on all rows",
    "large": "above 20 GFLOP",
    "small": "below 1 GFLOP",
    "narrow": "for m up to 16",
}
"""Regimes, as a sentence has them."""


def of_one(gains: Gains) -> Iterator[str]:
    """One machine: what is better, what is worse, and what follows."""
    moved = {regime: _points(old.mape, new.mape) for regime, (old, new) in gains.items()}
    better, worse = ({regime: points for regime, points in moved.items() if sign * points > 0} for sign in (1, -1))
    yield "; ".join(
        f"{name}: {_listed(some) or 'nowhere'}" for name, some in (("errors are less", better), ("more", worse))
    )
    if moved["all"] <= 0:
        yield "on the whole its own figures buy nothing here: predictions without the calibration are no worse"


def of_many(gains: Mapping[str, Gains]) -> Iterator[str]:
    """Several machines of known families: the mean of the families, and whose predictions get worse."""
    before, after = zip(*mean_of_families(gains).values(), strict=True)
    yield f"mean of the families, by regime: {_percents(before)} % before, {_percents(after)} % after"
    for regime, where in WHERE.items():
        worse = [device.rpartition("/")[2] for device, one in gains.items() if _grew(one, regime)]
        yield f"errors are more {where} on: {', '.join(worse) or 'none'}"


def mean_of_families(gains: Mapping[str, Gains]) -> Mapping[str, tuple[float, float]]:
    """Mean error of each regime before and after, families weighted alike. [1]"""
    found = {}
    for regime in WHERE:
        by_family: dict[str, list[tuple[float, float]]] = {}
        for device, one in gains.items():
            old, new = one[regime]
            by_family.setdefault(family_of(device), []).append((old.mape, new.mape))
        means = [np.mean(some, axis=0) for some in by_family.values()]
        old_mape, new_mape = np.mean(means, axis=0)
        found[regime] = float(old_mape), float(new_mape)
    return found


def _grew(gains: Gains, regime: str) -> bool:
    old, new = gains[regime]
    return _points(old.mape, new.mape) < 0


def _points(before: float, after: float) -> float:
    """How much less the error is, in percent as it is shown. [1]"""
    return round(round(100 * before, 1) - round(100 * after, 1), 1)


def _listed(moved: Mapping[str, float]) -> str:
    return ", ".join(f"{WHERE[regime]} by {abs(points):.1f} points" for regime, points in moved.items())


def _percents(shares: tuple[float, ...]) -> str:
    return ", ".join(f"{100 * share:.1f}" for share in shares)
