"""The text of specs/silicon_cores.yaml with other values: everything that people wrote in it stays."""

from rooflint.base.strict_yaml import keys_at, with_value
from rooflint.kernels.constants import CoreConstants, names
from rooflint_calibration.constants_text import shown
from rooflint_calibration.cores_fit import Calibration


def rewritten(text: str, found: Calibration, day: str) -> str:
    """The file with the values and folds of a calibration, and its day; a fold that it does not have is not added."""
    text = with_value(text, ("fit", "day"), day)
    for name in names("cores"):
        text = with_value(text, ("constants", name, "value", 0), shown(getattr(found.constants, name)))
        for family in keys_at(text, ("constants", name, "folds")):
            if family in found.folds:
                value = getattr(found.folds[family].constants, name)
                text = with_value(text, ("constants", name, "folds", family), shown(value))
    return text


def moved(one: CoreConstants, other: CoreConstants) -> dict[str, float]:
    """How far each constant is from the other's, as a share of it. [1]"""
    return {name: getattr(one, name) / getattr(other, name) - 1 for name in names("cores")}
