"""Matrix products in bf16: held-out scores of a family, and claims about all measured devices together."""

from collections.abc import Callable, Mapping, Sequence

from pytest_rooflint.claims.predictions import unseen
from pytest_rooflint.claims.predictions.subject import Subject, rows_of, share
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import Context, Obtained
from rooflint.base.units import DIMENSIONLESS
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import Chip
from rooflint_calibration import evaluation
from rooflint_calibration.evaluation import HeldOut
from rooflint_calibration.package import FAMILIES, devices, family_of
from rooflint_calibration.rows import TOO_FAST, Rows
from rooflint_calibration.topics import sample
from rooflint_calibration.topics import unseen as constants_without

NAME = "gemm"

WHOLE: Mapping[str, Sequence[str]] = {"order": ("right",), "peak": (), "roofline": ()}
"""Subjects about all measured devices together, with the bounds that they need."""


def needs(words: Sequence[str]) -> Sequence[str] | None:
    """Bounds of a claim with these words; None if they are unknown."""
    return WHOLE[words[0]] if len(words) == 1 and words[0] in WHOLE else unseen.needs(NAME, words)


def obtain(claim: Claim, context: Context) -> Obtained:
    """Predict the measured rows. Raises NotInstalledError if the measurements are not installed."""
    return _OBTAIN.get(claim.subject.split()[1], unseen.obtain)(claim, context)


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
    return HeldOut(NAME, *sample(registry, NAME, device), constants_without(registry, family_of(device)))


def _peak(claim: Claim, context: Context) -> Obtained:  # noqa: ARG001  # the subject says all
    """No measurement is faster than the dense peak."""

    def beaten(measured: Rows, chip: Chip) -> int:  # noqa: ARG001  # counted while reading
        return measured.dropped[TOO_FAST]

    return _broken(context, beaten, "no shape faster than the dense peak", "of all measured")


def _roofline(claim: Claim, context: Context) -> Obtained:  # noqa: ARG001  # the subject says all
    """No measurement is faster than the roofline unless L2 may hold what it reads."""
    return _broken(
        context,
        lambda measured, chip: len(evaluation.below_roofline(measured, chip)),
        "no shape faster than the roofline",
        f"exempt: working sets up to {evaluation.RESIDENT:g} times L2",
    )


def _broken(context: Context, beaten: Callable[[Rows, Chip], int], expected: str, exempt: str) -> Obtained:
    found: dict[str, int] = {}
    rows = 0
    for device in (name for family in FAMILIES for name in devices(family)):
        measured, chip = sample(context.registry, NAME, device)
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

SUBJECT = Subject(f"one of {', '.join(WHOLE)}, or {unseen.known(NAME)}", needs, obtain)
