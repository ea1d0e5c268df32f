"""Calibration benefit: errors on the published rows of a device, before and after its own figures, and a summary."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import ConstantsFile
from rooflint_calibration.anchors import Setting, of_kind, of_published, own_figures
from rooflint_calibration.evaluation import Score, score
from rooflint_calibration.package import FAMILIES, devices, family_of
from rooflint_calibration.rows import Rows
from rooflint_calibration.topics import TOPICS
from rooflint_measure.stopwatches.anchors import Kind

Benefit = Mapping[str, tuple[Score, Score]]
"""Scores before and after, by regime."""

REGIME_LABELS: Mapping[str, str] = {
    "all": "on all rows",
    "large": "above 20 GFLOP",
    "small": "below 1 GFLOP",
    "narrow": "for m up to 16",
}
"""Regimes in a sentence."""


def is_published(device: str) -> bool:
    """Whether rows of a device are published."""
    return any(device in devices(family) for family in FAMILIES)


def benefit(device: str, anchors: Rows, data: Path, registry: Registry, file: ConstantsFile) -> Benefit:
    """On all rows of a published device, by constants fitted without its family. Raises RooflintError."""
    return _benefit(device, lambda rows: anchors, data, registry, file)


def simulated(device: str, data: Path, registry: Registry, file: ConstantsFile, kind: Kind | None = None) -> Benefit:
    """The same with anchors, or those of a kind, taken from the published rows themselves. Raises RooflintError."""

    def anchors(measured: Rows) -> Rows:
        every = of_published(measured)
        return of_kind(every, kind) if kind else every

    return _benefit(device, anchors, data, registry, file)


def _benefit(
    device: str, anchors: Callable[[Rows], Rows], data: Path, registry: Registry, file: ConstantsFile
) -> Benefit:
    topic = TOPICS["gemm"]
    chip = topic.chip(registry, device)
    measured = topic.read(data, device, chip)
    before = Setting(chip, file.without(family_of(device)), topic.precision)
    times = [one.predicted_s(measured) for one in (before, before.with_(own_figures(anchors(measured), before)))]
    found = {}
    for regime in topic.regimes:
        rows = topic.inside(regime, measured.sizes)
        old, new = (score(one[rows], measured.seconds[rows]) for one in times)
        found[regime] = (old, new)
    return found


# ---- Summary


def summary(found: Benefit) -> Iterator[str]:
    """Of one GPU: in which regimes the error falls and rises, and whether the calibration is worth it."""
    change = {regime: _points(old.mape, new.mape) for regime, (old, new) in found.items()}
    better, worse = ({regime: points for regime, points in change.items() if sign * points > 0} for sign in (1, -1))
    yield f"error falls: {_listed(better) or 'nowhere'}; rises: {_listed(worse) or 'nowhere'}"
    if change["all"] <= 0:
        yield "no benefit over all rows: predictions without the calibration are no worse"


def summary_of_many(found: Mapping[str, Benefit]) -> Iterator[str]:
    """Of several GPUs of known families: the mean of the families, and the GPUs with larger errors."""
    before, after = zip(*mean_of_families(found).values(), strict=True)
    yield f"mean of the families, by regime: {_percents(before)} % before, {_percents(after)} % after"
    for regime, label in REGIME_LABELS.items():
        worse = [device.rpartition("/")[2] for device, one in found.items() if _rises(one, regime)]
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


def _rises(found: Benefit, regime: str) -> bool:
    old, new = found[regime]
    return _points(old.mape, new.mape) < 0


def _points(before: float, after: float) -> float:
    """How far the error falls, in percentage points as printed."""
    return round(round(100 * before, 1) - round(100 * after, 1), 1)


def _listed(change: Mapping[str, float]) -> str:
    return ", ".join(f"{REGIME_LABELS[regime]} by {abs(points):.1f} points" for regime, points in change.items())


def _percents(shares: tuple[float, ...]) -> str:
    return ", ".join(f"{100 * share:.1f}" for share in shares)
