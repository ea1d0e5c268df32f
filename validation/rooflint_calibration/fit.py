"""Fits of constants to all families of GPUs and to all but one, scored on the family left out, and written to YAML.

Deterministic: rows are picked by a hash, the solver starts from the committed constants, and nothing is random.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint.base.strict_yaml import keys_at, with_value
from rooflint.kernels.constants import GROUPS, Constants
from rooflint.kernels.shapes import Numbers
from rooflint_calibration.evaluation import Score, score

SOFT = 0.1
"""Logarithmic error from which the loss grows linearly, so that a few rows do not decide."""

DIGITS = 4
"""Significant digits of a constant in a file; folds already differ in the second."""

Progress = Callable[[str], None]
Scores = Mapping[tuple[str, str], tuple[Score, Score]]
"""Scores of the model and of the roofline baseline, by subject and part."""


@dataclass(frozen=True)
class Sample:
    """Measured rows of one subject on one device, and how they are predicted."""

    subject: str
    """A topic, or a published table."""
    family: str
    seconds: Numbers
    predict: Callable[[Constants], Numbers]
    roofline_s: Numbers | None = None
    """The roofline baseline; None for samples that are only fitted to. [s]"""
    parts: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    """Rows of each part that is scored."""
    weight: float = 1.0

    def log_ratios(self, constants: Constants) -> Numbers:
        """ln(predicted / measured) of each row, weighted. [1]"""
        return np.asarray(self.weight * np.log(self.predict(constants) / self.seconds))


@dataclass(frozen=True)
class Step:
    """Constants of one group that are fitted together."""

    group: str
    names: Sequence[str]
    samples: Sequence[Sample]
    solver: Mapping[str, Any]
    """Options of scipy.optimize.least_squares."""
    shares: Collection[str] = ()
    """Names of constants that are at most 1."""

    def without(self, family: str) -> "Step":
        """The same without the samples of a family."""
        return replace(self, samples=[one for one in self.samples if one.family != family])


@dataclass(frozen=True)
class Fit:
    """What is fitted to what, and scored on what."""

    steps: Sequence[Step]
    """In this order; each starts with the constants of the one before."""
    scored: Sequence[Sample]
    start: Constants
    starts: Mapping[str, Constants]
    """Where the fit without a family starts, by family."""
    notes: Sequence[str] = ()
    """What was read and left out, in sentences."""

    @property
    def names(self) -> dict[str, list[str]]:
        """Names of the fitted constants by group."""
        found: dict[str, list[str]] = {}
        for step in self.steps:
            found.setdefault(step.group, []).extend(step.names)
        return found


@dataclass(frozen=True)
class Fold:
    """The fit without one family."""

    constants: Constants
    scores: Scores
    """Scores on all rows of that family."""


@dataclass(frozen=True)
class Calibration:
    """The constants of all families, and the folds by family."""

    constants: Constants
    folds: Mapping[str, Fold]

    @property
    def scores(self) -> dict[tuple[str, str, str], tuple[Score, Score]]:
        """Held-out scores by subject, family and part."""
        return {
            (subject, family, part): pair
            for family, fold in self.folds.items()
            for (subject, part), pair in fold.scores.items()
        }


def calibrate(fit: Fit, progress: Progress = lambda what: None) -> Calibration:
    """Fit to all families, then without each, and score each fold on the family left out."""
    whole = fitted(fit.steps, fit.start)
    progress("fitted all families")
    folds = {}
    for family, start in fit.starts.items():
        constants = fitted([step.without(family) for step in fit.steps], start)
        folds[family] = Fold(constants, scores([one for one in fit.scored if one.family == family], constants))
        progress(f"left out {family}")
    return Calibration(whole, folds)


def fitted(steps: Sequence[Step], start: Constants) -> Constants:
    """Step by step, the constants that minimise the soft L1 loss of ln(predicted / measured); all others stay."""
    for step in steps:
        if step.samples:
            start = _solved(step, start)
    return start


def _solved(step: Step, start: Constants) -> Constants:
    from scipy.optimize import least_squares  # noqa: PLC0415  # of an extra

    group = getattr(start, step.group)

    def at(logs: Numbers) -> Constants:
        values = {name: getattr(group, name) * np.exp(log) for name, log in zip(step.names, logs, strict=True)}
        changed: dict[str, Any] = {step.group: replace(group, **values)}
        return replace(start, **changed)

    def residuals(logs: Numbers) -> Numbers:
        constants = at(logs)
        return np.concatenate([one.log_ratios(constants) for one in step.samples])

    most = [-np.log(getattr(group, name)) if name in step.shares else np.inf for name in step.names]
    found = least_squares(
        residuals, np.zeros(len(step.names)), bounds=(-np.inf, most), loss="soft_l1", f_scale=SOFT, **step.solver
    )
    return at(found.x)


def scores(samples: Sequence[Sample], constants: Constants) -> Scores:
    """Scores by subject and part, over all of its samples."""
    found = {}
    for subject in dict.fromkeys(one.subject for one in samples):
        ones = [one for one in samples if one.subject == subject]
        predicted = np.concatenate([one.predict(constants) for one in ones])
        roofline = np.concatenate([one.roofline_s for one in ones if one.roofline_s is not None])
        seconds = np.concatenate([one.seconds for one in ones])
        for part in ones[0].parts:
            rows = np.concatenate([one.parts[part] for one in ones])
            if rows.any():
                pair = score(predicted[rows], seconds[rows]), score(roofline[rows], seconds[rows])
                found[subject, part] = pair
    return found


# ---- Writing


def relative_changes(one: Constants, other: Constants, names: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """How far each constant is from the other's, as a share of it, by `group.name`. [1]"""
    return {
        f"{group}.{name}": getattr(getattr(one, group), name) / getattr(getattr(other, group), name) - 1
        for group, ones in names.items()
        for name in ones
    }


def rewritten(text: str, found: Calibration, names: Mapping[str, Sequence[str]], fit: Mapping[str, str]) -> str:
    """A file of constants with new values and folds and new facts about the fit; everything else stays as it is."""
    for key, value in fit.items():
        text = with_value(text, ("fit", key), value)
    for topic in keys_at(text, ("fit", "errors")):
        for family in keys_at(text, ("fit", "errors", topic)):
            scores = found.folds[family].scores if family in found.folds else {}
            if pair := scores.get((topic, "all")):
                text = with_value(text, ("fit", "errors", topic, family), f"{100 * pair[0].mape:.1f}")
    for group, name in ((group, name) for group, ones in names.items() for name in ones):
        at = (GROUPS[group].key, name)
        text = with_value(text, (*at, "value", 0), format_constant(getattr(getattr(found.constants, group), name)))
        for family in keys_at(text, (*at, "folds")):
            if family in found.folds:
                value = getattr(getattr(found.folds[family].constants, group), name)
                text = with_value(text, (*at, "folds", family), format_constant(value))
    return text


def format_constant(value: float) -> str:
    """As the files have it: `0.8531`, `3912`."""
    return f"{value:.{DIGITS}g}" if value < 10**DIGITS else f"{value:.0f}"
