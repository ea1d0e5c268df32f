"""Gain: how far predictions are from the published rows of a device, before and after its own figures."""

from collections.abc import Callable, Mapping
from pathlib import Path

from pytest_rooflint.silicon.anchored import Anchors, Setting, own_of
from pytest_rooflint.silicon.measured import ELEMENT_BYTES, PRECISION, Measured, read
from pytest_rooflint.silicon.recorded_anchors import of_published
from pytest_rooflint.silicon.sample import REGIMES
from pytest_rooflint.silicon.score import Score, predicted_s, score
from pytest_rooflint.silicon.systems import FAMILIES, devices, family_of
from rooflint.coefficients import Coefficients
from rooflint.silicon.chip import chip_of
from rooflint.silicon.constants import SiliconFile
from rooflint.specs import Registry
from rooflint_measure.anchors import Kind

Gains = Mapping[str, tuple[Score, Score]]
"""Before and after, by regime."""


def is_published(device: str) -> bool:
    """Whether a device is one of those whose rows are published."""
    return any(device in devices(family) for family in FAMILIES)


def gain(device: str, anchors: Anchors, data: Path, registry: Registry, file: SiliconFile) -> Gains:
    """On all rows of a published device, with constants that have not seen its family. Raises RooflintError."""
    return _gain(device, lambda measured: anchors, data, registry, file)


def simulated(device: str, data: Path, registry: Registry, file: SiliconFile, kind: Kind | None = None) -> Gains:
    """The same where the anchors, or those of a kind, are rows of the device itself. Raises RooflintError."""

    def anchors(measured: Measured) -> Anchors:
        every = of_published(measured)
        return every.of(kind) if kind else every

    return _gain(device, anchors, data, registry, file)


def _gain(
    device: str, anchors: Callable[[Measured], Anchors], data: Path, registry: Registry, file: SiliconFile
) -> Gains:
    chip = chip_of(registry.get(device), PRECISION, Coefficients(registry).launches())
    measured = read(data, device, chip)
    before = Setting(chip, file.without(family_of(device)), ELEMENT_BYTES)
    after = before.with_(own_of(anchors(measured), before))
    times = [predicted_s(measured, one.chip, one.constants) for one in (before, after)]
    found = {}
    for name, inside in REGIMES.items():
        rows = inside(measured.shapes)
        old, new = (score(one[rows], measured.seconds[rows]) for one in times)
        found[name] = (old, new)
    return found
