"""`prediction: gemm hopper large`: kernel times beside measurements that the constants were not fitted to.

A subject is a topic of the calibration (`held_out`) or a published table (`published`). Measurements of topics are in
an optional package (rooflint[silicon]); without it, their claims are not validated.
"""

from collections.abc import Mapping
from functools import cache

from pytest_rooflint.claims import held_out, published
from pytest_rooflint.claims.held_out import ROWS, Subject, rows_of, share
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import ClaimError, Context, Kind, Obtained, UnavailableError
from rooflint_calibration.package import NotInstalledError
from rooflint_calibration.topics import TOPICS

BOUNDS = ("error", "bias", "right")
"""Bounds of a claim; each subject needs some of them."""


@cache
def subjects() -> Mapping[str, Subject]:
    """Every subject by the first word of its claims."""
    return {name: held_out.subject(name) for name in TOPICS} | {published.NAME: published.SUBJECT}


def parts(claim: Claim) -> tuple[str, str | None]:
    """What a claim is about and its regime: `gemm hopper` and `large`; None where it names no regime."""
    about, _, last = claim.subject.rpartition(" ")
    return (about, last) if " " in about else (claim.subject, None)


def check_prediction(claim: Claim) -> None:
    """Refuse unknown words, and missing or unknown bounds. Raises ClaimError."""
    name, _, words = claim.subject.partition(" ")
    if name not in subjects():
        raise ClaimError(f"want a subject that begins with one of {', '.join(subjects())}; found '{claim.subject}'")
    subject = subjects()[name]
    needed = subject.needs(words.split())
    if needed is None:
        raise ClaimError(f"want {name} and {subject.known}; found '{claim.subject}'")
    for option in BOUNDS:
        if option in needed and claim.option(option) is None:
            raise ClaimError(f"{option}: is missing; want a share such as 12 %")
        if option not in needed and claim.option(option) is not None:
            raise ClaimError(f"{option}: unknown option for '{claim.subject}'")
        if option in needed:
            share(claim, option)
    if claim.option("rows") is not None:
        if not (needed and subject.sampled):
            raise ClaimError(f"rows: unknown option for '{claim.subject}', which uses all rows")
        rows_of(claim)


def obtain_prediction(claim: Claim, context: Context) -> Obtained:
    """Predict the measured rows. Raises UnavailableError if the measurements are not installed."""
    try:
        return subjects()[claim.subject.split()[0]].obtain(claim, context)
    except NotInstalledError as error:
        raise UnavailableError(str(error)) from error


_BOUND = {"type": "string", "pattern": r"^\d+(\.\d+)? %$"}

PREDICTION = Kind(
    "prediction",
    "kernel times beside measurements: error and bias on a family that was left out or on a published table; order, "
    "peak, roofline",
    obtain_prediction,
    expects=lambda subject: False,
    options={
        "error": {**_BOUND, "description": "the largest mean error of predictions"},
        "bias": {**_BOUND, "description": "the largest bias to one side, as a geometric mean"},
        "right": {**_BOUND, "description": "the least share of shapes with the faster device predicted"},
        "rows": {"type": "integer", "minimum": 1, "description": f"shapes of each device; {ROWS} by default"},
    },
    check=check_prediction,
    modes=False,
    inferred=True,
    foreign=True,
    scopes=(),
)
