"""Fits of constants to all families of GPUs and to all but one, scored on the family left out, and written to YAML.

There are three: matrix products, all other topics of the package of measurements, and FP32 on CUDA cores. Each is
deterministic: rows are picked by a hash, the solver starts from the committed constants, and nothing is random.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint.base.errors import RooflintError
from rooflint.base.shards import HERE, Workers, results
from rooflint.base.strict_yaml import keys_at, with_value
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import (
    BANDS,
    GROUPS,
    LEAST_ROWS,
    LIMITS,
    OPS_GROUPS,
    UNKNOWN,
    Constants,
    ConstantsFile,
    constants_file,
)
from rooflint.kernels.convolution import WinogradConvolution
from rooflint.kernels.kernel import Regimes
from rooflint.kernels.shapes import Numbers
from rooflint_calibration import published
from rooflint_calibration.evaluation import Score, score
from rooflint_calibration.package import FAMILIES, PUBLISHED, devices, family_of, require
from rooflint_calibration.published import RAN, Given, Published
from rooflint_calibration.rows import Mask, Rows, together
from rooflint_calibration.topics import TOPICS, measured_devices

SOFT = 0.1
"""Logarithmic error from which the loss grows linearly, so that a few rows do not decide."""

DIGITS = 4
"""Significant digits of a constant in a file; folds already differ in the second."""

GEMM = "gemm"

GEMM_SOLVER = {"diff_step": 1e-3, "ftol": 1e-4, "max_nfev": 40}
OPS_SOLVER = {"diff_step": 1e-3, "max_nfev": 40}
CORES_SOLVER = {"diff_step": 1e-2, "ftol": 1e-5, "max_nfev": 60}

CORES_PRECISION = "fp32"
CORES_PRODUCTS = ("other_instructions", "energy_pj")
CORES_TRANSFORMS = ("transform_bytes",)
"""Products give the speed of the lanes and the energy of an op; then convolutions give that of transforms."""

TRANSFORMED = 4
"""Outputs along a side of the tiles of kernels with separate transforms."""

RegimeErrors = Mapping[str, Sequence[float | None]]
"""Mean absolute errors by limit, one for each band of rows; None where there are too few rows. [%]"""

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
    parts: Mapping[str, Mask] = field(default_factory=dict)
    """Rows of each part that is scored."""
    weight: float = 1.0
    topic: str = ""
    """Its errors by regime are written under this name."""
    regimes: Callable[[Constants], Regimes] | None = None
    """Of all rows; None where errors by regime are not wanted."""
    alpha_beta: Callable[[Constants], Numbers | None] | None = None
    """Latency and bandwidth alone, of what is sent to other devices. [s]"""

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

    def without(self, family: str) -> "Step":
        """This step without the samples of a family."""
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
    regimes: Mapping[str, RegimeErrors] = field(default_factory=dict)
    """Errors on all rows of that family by regime, by topic."""
    alpha_beta: Mapping[tuple[str, str], Score] = field(default_factory=dict)
    """Scores of latency and bandwidth alone, by subject and part, of what is sent to other devices."""
    errors: Mapping[str, float] = field(default_factory=dict)
    """Mean absolute errors on all published tables of that family, by topic. [%]"""


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

    @property
    def alpha_beta(self) -> dict[tuple[str, str, str], Score]:
        """Held-out scores of latency and bandwidth alone by subject, family and part."""
        return {
            (subject, family, part): one
            for family, fold in self.folds.items()
            for (subject, part), one in fold.alpha_beta.items()
        }


def calibrate(fit: Fit, progress: Progress = lambda what: None, workers: Workers = HERE) -> Calibration:
    """Fit to all families, and without each; score each fold on the family left out. Every fit is a shard of its own.

    Raises NotInstalledError, and ClusterError where workers cannot be used.
    """
    shards = ["", *fit.starts]
    folds = {}
    for family, fold in zip(shards, results(partial(fold_of, fit), shards, workers), strict=True):
        folds[family] = fold
        progress(f"left out {family}" if family else "fitted all families")
    return Calibration(folds.pop("").constants, folds)


def fold_of(fit: Fit, family: str) -> Fold:
    """The fit without a family, scored on it; for an empty name, the fit to all families, without scores."""
    if not family:
        return Fold(fitted(fit.steps, fit.start), {})
    constants = fitted([step.without(family) for step in fit.steps], fit.starts[family])
    unseen = [one for one in fit.scored if one.family == family]
    return Fold(
        constants,
        scores(unseen, constants),
        regime_errors(unseen, constants),
        alpha_beta_scores(unseen, constants),
        published_errors(unseen, constants),
    )


def fitted(steps: Sequence[Step], start: Constants) -> Constants:
    """Step by step, the constants that minimise the soft L1 loss of ln(predicted / measured); all others stay.

    Raises NotInstalledError.
    """
    for step in steps:
        if step.samples:
            start = _solved(step, start)
    return start


def _solved(step: Step, start: Constants) -> Constants:
    require("scipy")
    from scipy.optimize import least_squares  # noqa: PLC0415  # of an extra

    group = getattr(start, step.group)

    def at(logs: Numbers) -> Constants:
        values = {name: getattr(group, name) * np.exp(log) for name, log in zip(step.names, logs, strict=True)}
        changed: dict[str, Any] = {step.group: replace(group, **values)}
        return replace(start, **changed)

    def residuals(logs: Numbers) -> Numbers:
        constants = at(logs)
        return np.concatenate([one.log_ratios(constants) for one in step.samples])

    found = least_squares(residuals, np.zeros(len(step.names)), loss="soft_l1", f_scale=SOFT, **step.solver)
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
                found[subject, part] = score(predicted[rows], seconds[rows]), score(roofline[rows], seconds[rows])
    return found


def alpha_beta_scores(samples: Sequence[Sample], constants: Constants) -> dict[tuple[str, str], Score]:
    """Scores of latency and bandwidth alone by subject and part, of samples that are sent to other devices."""
    found: dict[tuple[str, str], list[tuple[Numbers, Numbers]]] = {}
    for one in samples:
        if one.alpha_beta and (predicted := one.alpha_beta(constants)) is not None:
            for part, rows in one.parts.items():
                found.setdefault((one.subject, part), []).append((predicted[rows], one.seconds[rows]))
    together = {key: [np.concatenate(parts) for parts in zip(*ones, strict=True)] for key, ones in found.items()}
    return {key: score(*pair) for key, pair in together.items() if len(pair[0])}


def regime_errors(samples: Sequence[Sample], constants: Constants) -> dict[str, RegimeErrors]:
    """Mean absolute errors by topic, limit and band of rows, over the rows of the part "all". [%]"""
    found = {}
    for topic in dict.fromkeys(one.topic for one in samples if one.regimes):
        off, limit, band = [], [], []
        for one in samples:
            if one.topic == topic and one.regimes:
                rows, regimes = one.parts["all"], one.regimes(constants)
                off.append(100 * np.abs(one.predict(constants) / one.seconds - 1)[rows])
                limit.append(regimes.limit[rows])
                band.append(regimes.band[rows])
        found[topic] = _by_regime(np.concatenate(off), np.concatenate(limit), np.concatenate(band))
    return found


def published_errors(samples: Sequence[Sample], constants: Constants) -> dict[str, float]:
    """Mean absolute errors by topic, over all tables of it; topics of the package are subjects themselves. [%]"""
    off: dict[str, list[Numbers]] = {}
    for one in samples:
        if one.topic and one.topic not in TOPICS:
            rows = one.parts["all"]
            off.setdefault(one.topic, []).append(np.abs(one.predict(constants) / one.seconds - 1)[rows])
    return {topic: 100 * float(np.concatenate(ones).mean()) for topic, ones in off.items()}


def _by_regime(off: Numbers, limit: NDArray[np.int_], band: NDArray[np.int_]) -> RegimeErrors:
    inside = [[off[(limit == one) & (band == other)] for other in range(len(BANDS) + 1)] for one in range(len(LIMITS))]
    return {
        name: [float(cell.mean()) if len(cell) >= LEAST_ROWS else None for cell in cells]
        for name, cells in zip(LIMITS, inside, strict=True)
    }


# ---- Fits to the package of measurements

Measured = Mapping[str, Mapping[str, tuple[Rows, Chip]]]
"""Rows and chips by topic and device."""


def measured(
    topics: Sequence[str], data: Path, registry: Registry, progress: Progress = lambda what: None
) -> dict[str, dict[str, tuple[Rows, Chip]]]:
    """All rows of some topics on all measured devices, from a folder. Raises RooflintError."""
    found: dict[str, dict[str, tuple[Rows, Chip]]] = {}
    for name in topics:
        found[name] = {}
        for device in (device for members in measured_devices(name).values() for device in members):
            chip = TOPICS[name].chip(registry, device)
            found[name][device] = TOPICS[name].read(data, device, chip), chip
            progress(f"read {name} of {device}")
    return found


def gemm_fit(rows: Measured, start: Constants, names: Sequence[str], rows_per_family: int) -> Fit:
    """Constants of products on matrix units."""
    steps, scored, notes = _steps(rows, {"products": names}, rows_per_family, GEMM_SOLVER)
    return Fit(steps, scored, start, dict.fromkeys(FAMILIES, start), notes)


def ops_fit(rows: Measured, file: ConstantsFile) -> Fit:
    """Constants of streams, attention and FP8; without a family, the constants of products are without it as well."""
    names = {group: file.fitted(group) for group in OPS_GROUPS}
    steps, scored, notes = _steps(rows, names, file.fit(OPS_GROUPS[0]).rows_per_family, OPS_SOLVER)
    starts = {family: file.without(family, ["products"]) for family in FAMILIES}
    return Fit(steps, scored, file.constants, starts, notes)


def _steps(
    rows: Measured, names: Mapping[str, Sequence[str]], rows_per_family: int, solver: Mapping[str, Any]
) -> tuple[list[Step], list[Sample], list[str]]:
    """Steps, scored samples and notes; families weigh alike, however many devices and rows they have."""
    fitted_to: dict[str, list[Sample]] = {}
    scored, notes = [], []
    for name, ones in rows.items():
        topic, samples = TOPICS[name], []
        for family in FAMILIES:
            here = [ones[device] for device in devices(family) if device in ones]
            scored += [_sample(name, *one) for one in here]
            if topic.fits and family not in topic.only_scored:
                samples.append(
                    [_sample(name, every.picked(rows_per_family // len(here)), chip) for every, chip in here]
                )
        if topic.fits:
            fitted_to.setdefault(topic.group, []).extend(_balanced(samples))
        left_out = together(every.dropped for every, _ in ones.values())
        count = sum(len(every) for every, _ in ones.values())
        notes.append(f"{topic.title}: {count} rows; left out: {left_out or 'none'}")
    steps = [Step(group, names[group], samples, solver) for group, samples in fitted_to.items()]
    return steps, scored, notes


def _balanced(families: Sequence[Sequence[Sample]]) -> list[Sample]:
    """The samples of some families, each weighted as if all families had as many rows as the smallest."""
    counts = [sum(len(one.seconds) for one in samples) for samples in families]
    least = min(filter(None, counts), default=0)
    return [
        replace(one, weight=float(np.sqrt(least / max(count, 1))))
        for samples, count in zip(families, counts, strict=True)
        for one in samples
    ]


def _sample(name: str, rows: Rows, chip: Chip) -> Sample:
    topic = TOPICS[name]
    return Sample(
        topic.title,
        family_of(rows.device),
        rows.seconds,
        lambda constants: topic.predict(rows.sizes, chip, constants),
        topic.roofline(rows.sizes, chip),
        {
            regime if name == GEMM else label: topic.inside(regime, rows.sizes)  # as their tables have it
            for regime, label in topic.regimes.items()
        },
        topic=name,
        alpha_beta=lambda constants: topic.alpha_beta(rows.sizes, chip, constants),
        regimes=lambda constants: topic.kernel(chip).regimes(topic.work(rows.sizes, chip), chip, constants),
    )


# ---- FP32 on CUDA cores


def cores_fit(roots: Sequence[Path], registry: Registry) -> Fit:
    """Constants of CUDA cores, from published tables in FP32; every table weighs alike.

    Raises InputError, and RooflintError if there are no tables.
    """
    tables = [
        one
        for one in map(published.read, published.files(roots))
        if one.spec.precision == CORES_PRECISION and one.spec.op in ("gemm", "convolution")
    ]
    if not tables:
        folders = ", ".join(str(root / PUBLISHED) for root in roots)
        raise RooflintError(f"no table of products or convolutions in {CORES_PRECISION} in {folders}")
    scored, products, transforms = [], [], []
    for one in tables:
        given, family = published.given_of(one, registry), published.family_of(registry.get(one.spec.device))
        scored.append(_table_sample(one, given, family))
        if one.spec.op == "gemm" and "batch" not in one.spec.columns:  # batched products are a check
            products.append(_fitted_rows(scored[-1], one.comparable))
        elif one.spec.op == "convolution":
            transforms.append(_transform_sample(one, given, family))
    start = constants_file(registry).constants
    steps = [
        Step("cores", names, samples, CORES_SOLVER)
        for names, samples in ((CORES_PRODUCTS, products), (CORES_TRANSFORMS, transforms))
    ]
    return Fit(steps, scored, start, dict.fromkeys((one.family for one in scored), start))


def _table_sample(table: Published, given: Given, family: str) -> Sample:
    """All rows by the algorithm that takes least; the comparable ones are scored."""
    model = published.kernel_of(table, given.chip)
    return Sample(
        table.slug,
        family,
        table.seconds,
        lambda constants: published.predicted_s(table, given._replace(constants=constants)),
        published.roofline_s(table, given),
        {"all": table.comparable},
        topic=model.topic or "",
        regimes=lambda constants: model.regimes(published.work_of(table, given.chip), given.chip, constants),
    )


def _transform_sample(table: Published, given: Given, family: str) -> Sample:
    """The comparable rows that ran transforms, predicted as such even where another algorithm would take less."""

    def predict(constants: Constants) -> Numbers:
        on = given._replace(constants=constants)
        model = published.kernel_of(table, on.chip)
        assert isinstance(model, WinogradConvolution)
        found = model.algorithms(published.work_of(table, on.chip), on.chip, constants)
        return published.timed_s(found["transformed"], table, on)

    rows = (table.sizes[RAN] == TRANSFORMED) & table.comparable
    return _fitted_rows(Sample(table.slug, family, table.seconds, predict), rows)


def _fitted_rows(one: Sample, rows: Mask) -> Sample:
    """Some rows of a sample, weighted as if there were a hundred, so that long tables do not decide."""
    weight = float(np.sqrt(100 / max(int(rows.sum()), 1)))
    return Sample(
        one.subject, one.family, one.seconds[rows], lambda constants: one.predict(constants)[rows], weight=weight
    )


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
            fold = found.folds.get(family)
            error = fold.errors.get(topic) if fold else None
            if fold and topic in TOPICS and (pair := fold.scores.get((TOPICS[topic].title, "all"))):
                error = 100 * pair[0].mape
            if error is not None:
                text = with_value(text, ("fit", "errors", topic, family), f"{error:.1f}")
    text = _with_regimes(text, {family: fold.regimes for family, fold in found.folds.items()})
    for group, name in ((group, name) for group, ones in names.items() for name in ones):
        at = (GROUPS[group].key, name)
        text = with_value(text, (*at, "value", 0), format_constant(getattr(getattr(found.constants, group), name)))
        for family in keys_at(text, (*at, "folds")):
            if family in found.folds:
                value = getattr(getattr(found.folds[family].constants, group), name)
                text = with_value(text, (*at, "folds", family), format_constant(value))
    return text


def _with_regimes(text: str, found: Mapping[str, Mapping[str, RegimeErrors]]) -> str:
    """The file with errors by regime of each family and topic; each limit of a family has a line in the file."""
    for topic in keys_at(text, ("fit", "regimes")):
        for family in keys_at(text, ("fit", "regimes", topic)):
            for limit, errors in found.get(family, {}).get(topic, {}).items():
                for band, error in enumerate(errors):
                    at = ("fit", "regimes", topic, family, limit, band)
                    text = with_value(text, at, UNKNOWN if error is None else f"{error:.1f}")
    return text


def format_constant(value: float) -> str:
    """As the files have it: `0.8531`, `3912`."""
    return f"{value:.{DIGITS}g}" if value < 10**DIGITS else f"{value:.0f}"
