"""The text of specs/silicon_ops.yaml with other values: everything that people wrote in it stays."""

from collections.abc import Mapping, Sequence

from rooflint.base.strict_yaml import with_value
from rooflint.kernels.constants import Constants
from rooflint_calibration.constants_text import shown
from rooflint_calibration.ops_fit import OpsCalibration


def value(constants: Constants, group: str, name: str) -> float:
    """One constant of a group."""
    return float(getattr(getattr(constants, group), name))


def rewritten(text: str, found: OpsCalibration, names: Mapping[str, Sequence[str]], fit: Mapping[str, str]) -> str:
    """The file with the values and folds of a calibration, and what it was fitted on."""
    for key, said in fit.items():
        text = with_value(text, ("fit", key), said)
    for group, name in [(group, name) for group, ones in names.items() for name in ones]:
        text = with_value(text, (group, name, "value", 0), shown(value(found.constants, group, name)))
        for family, fold in found.folds.items():
            text = with_value(text, (group, name, "folds", family), shown(value(fold.constants, group, name)))
    return text


def moved(one: Constants, other: Constants, names: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """How far each constant is from the other's, as a share of it, by `group.name`. [1]"""
    return {
        f"{group}.{name}": value(one, group, name) / value(other, group, name) - 1
        for group, ones in names.items()
        for name in ones
    }
