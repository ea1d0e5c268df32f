"""Held-out scores: kernel times by constants fitted without a family, beside measurements of that family.

prediction: gemm hopper large      error and bias on rows of a family
prediction: gemm order             one of WHOLE: matrix products on all measured devices together
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_rooflint.claims.prediction_causes import reason
from pytest_rooflint.golden.kinds import Claim, ClaimError, Context, Obtained
from rooflint.base.units import DIMENSIONLESS
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import Chip
from rooflint_calibration import evaluation, topics
from rooflint_calibration.evaluation import HeldOut, Score
from rooflint_calibration.package import FAMILIES, devices, family_of
from rooflint_calibration.rows import TOO_FAST, Rows
from rooflint_calibration.topics import TOPICS, measured_devices, sample
from rooflint_report.verdicts import Prediction

ROWS = 1000
"""Rows of each device, or of each pair of devices, by default."""

SCORES = ("error", "bias")
"""Bounds of a claim about scores."""

PRODUCTS = "gemm"

WHOLE: Mapping[str, Sequence[str]] = {"order": ("right",), "peak": (), "roofline": ()}
"""Subjects about all measured devices of matrix products together, with the bounds that they need."""

_PERCENT = re.compile(r"(\d+(?:\.\d+)?) %")


@dataclass(frozen=True)
class Subject:
    """What a prediction claim is about, by its first word: matrix products, prefill, …, or a published table."""

    known: str
    """What may follow it, for an error message."""
    needs: Callable[[Sequence[str]], Sequence[str] | None]
    """Bounds that a claim with these further words needs; None if the words are unknown."""
    obtain: Callable[[Claim, Context], Obtained]
    sampled: bool = True
    """Whether claims with bounds are decided on a sample of rows; otherwise on all."""


def share(claim: Claim, option: str) -> float:
    """A bound as a share. Raises ClaimError."""
    found = _PERCENT.fullmatch(str(claim.option(option)))
    if not found:
        raise ClaimError(f"{option}: want a share such as 12 %, found '{claim.option(option)}'")
    return float(found[1]) / 100


def rows_of(claim: Claim) -> int:
    """Rows of each device that a claim is decided on. Raises ClaimError."""
    found = claim.option("rows", ROWS)
    if type(found) is not int or found < 1:
        raise ClaimError(f"rows: want a whole number of at least 1, found '{found}'")
    return found


def scored(
    claim: Claim,
    found: Score,
    baseline: Score,
    formula: str,
    *,
    topic: str,
    regime: str,
    precision: str,
    devices: Sequence[str],
    family: str | None = None,
    table: str | None = None,
) -> Obtained:
    """The scores of some rows beside those of the plain roofline; the claim holds if both are within its bounds."""
    error, bias = share(claim, "error"), share(claim, "bias")
    return Obtained(
        value=found.mape,
        dimension=DIMENSIONLESS,
        formula=formula,
        display=f"error {found.mape:.1%}, bias {found.bias:+.1%}",
        holds=found.mape <= error and abs(found.bias) <= bias,
        expected=f"error up to {error:.1%}, bias up to {bias:.1%}",
        precision=precision,
        others=tuple(devices),
        prediction=Prediction(
            topic=topic,
            family=family,
            table=table,
            regime=regime,
            devices=list(devices),
            rows=found.rows,
            error=found.mape,
            bias=found.bias,
            roofline_error=baseline.mape,
            roofline_bias=baseline.bias,
            error_bound=claim.option("error"),
            bias_bound=claim.option("bias"),
        ),
    )


# ---- a family that the constants were fitted without


def subject(name: str) -> Subject:
    """A topic; its claims name a family and a regime, or one of WHOLE."""
    topic = TOPICS[name]
    whole = WHOLE if name == PRODUCTS else {}

    def needs(words: Sequence[str]) -> Sequence[str] | None:
        if len(words) == 1:
            return whole.get(words[0])
        there = len(words) == 2 and words[0] in measured_devices(name) and words[1] in topic.regimes
        return SCORES if there else None

    regimes = (word if word == text else f"{word}: {text}" for word, text in topic.regimes.items())
    known = f"a family ({', '.join(measured_devices(name))}) and a regime ({', '.join(regimes)})"
    return Subject(f"one of {', '.join(whole)}, or {known}" if whole else known, needs, obtain)


def obtain(claim: Claim, context: Context) -> Obtained:
    """Predict the measured rows. Raises NotInstalledError if the measurements are not installed."""
    name, family, *regime = claim.subject.split()
    return _scores(claim, context, name, family, *regime) if regime else _OBTAIN[family](claim, context)


def _scores(claim: Claim, context: Context, name: str, family: str, regime: str) -> Obtained:
    """Error and bias of constants fitted without the family."""
    ones = evaluation.held_out(context.registry, name, family, regime, rows_of(claim))
    found = evaluation.score_of(ones)
    tried = [one.rows.device for one in ones]
    obtained = scored(
        claim,
        found,
        evaluation.baseline_of(ones),
        f"constants fitted without {family}, {found.rows} shapes of {', '.join(tried)}",
        topic=name,
        regime=regime,
        precision=TOPICS[name].precision,
        devices=tried,
        family=family,
    )
    if obtained.holds:
        return obtained
    details, causes = reason(context.registry, family, regime, ones)
    return replace(obtained, details=details, causes=causes)


# ---- all measured devices of matrix products together


def _order(claim: Claim, context: Context) -> Obtained:
    """Which of two devices of different families is faster on a shape, each by constants fitted without its family."""
    right, shapes = 0, 0
    for pair in evaluation.pairs():
        one, two = (_held_out(context.registry, device) for device in pair)
        good, tried = evaluation.ordered(one, two, rows_of(claim))
        right, shapes = right + good, shapes + tried
    wanted = share(claim, "right")
    return Obtained(
        value=right / shapes,
        dimension=DIMENSIONLESS,
        formula=f"{shapes} shapes on {len(evaluation.pairs())} pairs of devices of different families",
        display=f"{right / shapes:.1%} of the faster devices predicted",
        holds=right / shapes >= wanted,
        expected=f"{wanted:.1%} or more of the faster devices predicted",
        precision="bf16",
    )


def _held_out(registry: Registry, device: str) -> HeldOut:
    rows, chip = sample(registry, PRODUCTS, device)
    return HeldOut(PRODUCTS, rows, chip, topics.unseen(registry, family_of(device)))


def _peak(claim: Claim, context: Context) -> Obtained:  # noqa: ARG001  # the subject says all
    """No measurement is faster than the dense peak; such rows are counted while reading."""
    return _broken(
        context, lambda rows, chip: rows.dropped[TOO_FAST], "no shape faster than the dense peak", "of all measured"
    )


def _roofline(claim: Claim, context: Context) -> Obtained:  # noqa: ARG001  # the subject says all
    """No measurement is faster than the roofline unless L2 may hold what it reads."""
    return _broken(
        context,
        lambda rows, chip: len(evaluation.below_roofline(rows, chip)),
        "no shape faster than the roofline",
        f"exempt: working sets up to {evaluation.RESIDENT:g} times L2",
    )


def _broken(context: Context, beaten: Callable[[Rows, Chip], int], expected: str, exempt: str) -> Obtained:
    found: dict[str, int] = {}
    rows = 0
    for device in (name for family in FAMILIES for name in devices(family)):
        measured, chip = sample(context.registry, PRODUCTS, device)
        rows += len(measured)
        if count := beaten(measured, chip):
            found[device] = count
    return Obtained(
        value=float(sum(found.values())),
        dimension=DIMENSIONLESS,
        formula=f"{rows} shapes; {exempt}",
        display=f"{sum(found.values())} shapes are faster",
        holds=not found,
        expected=expected,
        precision="bf16",
        details="\n".join(f"  {device}  {count} shapes" for device, count in found.items()),
    )


_OBTAIN: Mapping[str, Callable[[Claim, Context], Obtained]] = {"order": _order, "peak": _peak, "roofline": _roofline}
