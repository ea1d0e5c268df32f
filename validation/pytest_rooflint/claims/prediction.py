"""`prediction: gemm hopper large`: kernel times beside measurements of a family that the constants were fitted without.

The measurements are in an optional package (rooflint[silicon]); without it, claims are not validated.
The subjects are listed in pytest_rooflint.claims.predictions.subjects.
"""

from typing import TYPE_CHECKING

from pytest_rooflint.claims.predictions.subject import ROWS
from pytest_rooflint.claims.predictions.subject import check as check_subject
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import ClaimError, Context, Kind, Obtained, UnavailableError

if TYPE_CHECKING:
    from pytest_rooflint.claims.predictions.subject import Subject


def check(claim: Claim) -> None:
    """Refuse unknown subjects and bounds. Raises ClaimError."""
    check_subject(*_subject(claim), claim)


def obtain(claim: Claim, context: Context) -> Obtained:
    """Predict the measured rows. Raises UnavailableError if the measurements are not installed."""
    from rooflint_calibration.package import NotInstalledError  # noqa: PLC0415

    try:
        return _subject(claim)[1].obtain(claim, context)
    except NotInstalledError as error:
        raise UnavailableError(str(error)) from error


def _subject(claim: Claim) -> "tuple[str, Subject]":
    """The subject with its name. Raises ClaimError."""
    from pytest_rooflint.claims.predictions.subjects import subjects  # noqa: PLC0415  # NumPy, which most kinds do without

    name = claim.subject.partition(" ")[0]
    if name not in subjects():
        raise ClaimError(f"want a subject that begins with one of {', '.join(subjects())}; found '{claim.subject}'")
    return name, subjects()[name]


_BOUND = {"type": "string", "pattern": r"^\d+(\.\d+)? %$"}

KIND = Kind(
    "prediction",
    "kernel times beside measurements: error and bias on a family that was left out or on a published table; order, "
    "peak, roofline",
    obtain,
    expects=lambda subject: False,
    options={
        "error": {**_BOUND, "description": "the largest mean error of predictions"},
        "bias": {**_BOUND, "description": "the largest bias to one side, as a geometric mean"},
        "right": {**_BOUND, "description": "the least share of shapes with the faster device predicted"},
        "rows": {"type": "integer", "minimum": 1, "description": f"shapes of each device; {ROWS} by default"},
    },
    check=check,
    modes=False,
    inferred=True,
    foreign=True,
    scopes=(),
)
