"""`bits: mxfp6`: what an element of a precision takes in storage, with its share of the scale of a block."""

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import ClaimError, Context, Kind, Obtained
from rooflint.base.precision import UnknownPrecisionError, precision
from rooflint.base.units import BYTES, format_number


def check(claim: Claim) -> None:
    """Refuse what is not a precision."""
    try:
        precision(claim.subject)
    except UnknownPrecisionError as error:
        raise ClaimError(str(error)) from error


def obtain(claim: Claim, context: Context) -> Obtained:  # noqa: ARG001
    """Add the bits of an element to its share of the scale; no spec is asked, the table of precisions has both."""
    form = precision(claim.subject)
    share = f" + {form.scale_bits} bit / {form.block}" if form.scale_bits else ""
    return Obtained(
        form.stored_bits / 8,
        BYTES,
        f"{form.bits} bit{share}",
        precision=form.name,
        written=lambda value: f"{format_number(8 * value)} bit",
    )


KIND = Kind(
    "bits",
    "storage of an element of a precision, its share of a block's scale included",
    obtain,
    BYTES,
    check=check,
    modes=False,
    foreign=True,
    scopes=(),
)
