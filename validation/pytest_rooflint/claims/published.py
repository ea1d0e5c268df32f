"""Published tables of others, beside predictions by constants that were not fitted to them.

    prediction: published vidur-a40-llama2-7b        the whole table; with a regime only its rows

The tables are files of the goldens, so these claims need no package of measurements.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pytest_rooflint.claims.held_out import SCORES, Subject, scored
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import ClaimError, Context, Obtained
from rooflint.base.errors import shown
from rooflint.base.units import SECONDS, format_quantity
from rooflint.kernels.shapes import Numbers
from rooflint_calibration import published
from rooflint_calibration.evaluation import score
from rooflint_calibration.package import PUBLISHED
from rooflint_calibration.published import Given, Published
from rooflint_calibration.rows import Mask
from rooflint_calibration.topics import PRODUCT

NAME = "published"

WORST = 3
"""Rows that a failed verdict lists."""


def needs(words: Sequence[str]) -> Sequence[str] | None:
    """Both bounds, of a table and perhaps a regime of it."""
    there = len(words) == 1 or (len(words) == 2 and words[1] in PRODUCT)
    return SCORES if there else None


def obtain(claim: Claim, context: Context) -> Obtained:
    """Error and bias on the table; no row may be faster than the dense peak.

    Raises RooflintError, InputError or ClaimError.
    """
    slug, regime = (*claim.subject.split()[1:], "all")[:2]
    table = published.find(slug, context.golden_roots)
    given = published.given_of(table, context.registry)
    rows = _rows(table, regime)
    predicted_s = published.predicted_s(table, given)
    found = score(predicted_s[rows], table.seconds[rows])
    baseline = score(published.roofline_s(table, given)[rows], table.seconds[rows])
    impossible = np.flatnonzero(rows & _too_fast(table, given)).tolist()
    obtained = scored(
        claim,
        found,
        baseline,
        f"{found.rows} rows of {shown(table.file)}; "
        f"the plain roofline: error {baseline.mape:.1%}, bias {baseline.bias:+.1%}",
        topic=table.spec.op,
        regime=regime,
        precision=table.spec.precision,
        devices=[table.spec.device],
        table=table.slug,
    )
    details = ["            the plain roofline is nearer to these rows"] if baseline.mape < found.mape else []
    details += [f"{_place(table, row)} is faster than the dense peak" for row in impossible[:WORST]]
    details += _worst(table, predicted_s, rows)
    return replace(obtained, holds=bool(obtained.holds) and not impossible, details="\n".join(details))


def _too_fast(table: Published, given: Given) -> Mask:
    """Rows faster than the dense peak, unless the table says why. Shape (rows,)"""
    least = published.peak_s(table, given.chip)
    return np.asarray((table.seconds < least) & (table.spec.beats_peak is None))


def _rows(table: Published, regime: str) -> Mask:
    """The rows that a claim is about. Raises ClaimError if there are none."""
    parts = published.regimes(table)
    if regime not in parts:
        raise ClaimError(f"{table.spec.op} has the regimes {', '.join(parts)}; found '{regime}'")
    rows = parts[regime] & table.comparable
    if not rows.any():
        raise ClaimError(f"{shown(table.file)} has no row to compare that is '{regime}'")
    return rows


def _worst(table: Published, predicted_s: Numbers, rows: Mask) -> list[str]:
    """The rows with the largest errors, with their lines."""
    ratio = predicted_s / table.seconds
    off = np.where(rows, np.abs(np.log(ratio)), -1.0)
    farthest = np.argsort(-off, kind="stable")[: min(WORST, int(rows.sum()))].tolist()
    return [
        f"{_place(table, row)} is predicted at {ratio[row]:.2f} of its time: {_us(predicted_s, row)}, "
        f"measured {_us(table.seconds, row)}"
        for row in farthest
    ]


def _us(seconds: Numbers, row: int) -> str:
    return format_quantity(float(seconds[row]), SECONDS)


def _place(table: Published, row: int) -> str:
    return f"            {shown(table.file)}:{table.lines[row]}  {published.label(table, row)}"


SUBJECT = Subject(f"a table of {PUBLISHED} and perhaps a regime ({', '.join(PRODUCT)})", needs, obtain, sampled=False)
