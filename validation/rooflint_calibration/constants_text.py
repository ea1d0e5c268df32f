"""The text of specs/silicon.yaml with other values: everything that people wrote in it stays."""

from collections.abc import Sequence

from rooflint.base.strict_yaml import with_value
from rooflint.kernels.constants import Products
from rooflint_calibration.leave_out import Calibration

DIGITS = 4
"""Significant digits that are kept; the folds differ in the second."""


def shown(value: float) -> str:
    """A value as the file writes it: `0.8531`, `3912`."""
    return f"{value:.{DIGITS}g}" if value < 10**DIGITS else f"{value:.0f}"


def rewritten(text: str, found: Calibration, names: Sequence[str], fit: dict[str, str]) -> str:
    """The file with the values and folds of a calibration, and what it was fitted on."""
    for key, value in fit.items():
        text = with_value(text, ("fit", key), value)
    for family, fold in found.folds.items():
        if "all" in fold.scores:
            text = with_value(text, ("fit", "errors", family), f"{100 * fold.scores['all'].mape:.1f}")
    for name in names:
        text = with_value(text, ("constants", name, "value", 0), shown(getattr(found.constants, name)))
        for family, fold in found.folds.items():
            text = with_value(text, ("constants", name, "folds", family), shown(getattr(fold.constants, name)))
    return text


def moved(one: Products, other: Products, names: Sequence[str]) -> dict[str, float]:
    """How far each constant is from the other's, as a share of it. [1]"""
    return {name: getattr(one, name) / getattr(other, name) - 1 for name in names}
