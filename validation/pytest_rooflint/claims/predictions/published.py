"""Published tables of others, beside predictions by constants that were not fitted to them.

    prediction: published vidur-a40-llama2-7b        the whole table; with a regime only its rows

The tables are files of the goldens, so these claims need no package of measurements.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pytest_rooflint.claims.predictions.subject import Subject, share
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import ClaimError, Context, Obtained
from rooflint.base.errors import shown
from rooflint.base.units import DIMENSIONLESS, SECONDS, format_quantity
from rooflint.hardware.registry import Registry
from rooflint.kernels.shapes import Numbers
from rooflint_calibration import published
from rooflint_calibration.evaluation import Score, score
from rooflint_calibration.package import PUBLISHED
from rooflint_calibration.published import Given, Published
from rooflint_calibration.rows import Mask
from rooflint_calibration.topics import PRODUCT
from rooflint_report.verdicts import Prediction

NAME = "published"

BOUNDS = ("error", "bias")

WORST = 3
"""Rows that a failed verdict lists."""


def needs(words: Sequence[str]) -> Sequence[str] | None:
    """Both bounds, of a table and perhaps a regime of it."""
    there = len(words) == 1 or (len(words) == 2 and words[1] in PRODUCT)
    return BOUNDS if there else None


@dataclass(frozen=True)
class Evaluation:
    """The rows that a claim is about, and their scores."""

    table: Published
    regime: str
    rows: Mask
    predicted_s: Numbers
    """Of every row of the table. [s]"""
    found: Score
    baseline: Score
    """Of the roofline baseline."""
    impossible: Sequence[int]
    """Rows faster than the dense peak."""


def evaluate(claim: Claim, registry: Registry, golden_roots: Iterable[Path]) -> Evaluation:
    """Predict the rows of a table. Raises RooflintError, InputError or ClaimError."""
    slug, regime = (*claim.subject.split()[1:], "all")[:2]
    table = published.find(slug, golden_roots)
    given = published.given_of(table, registry)
    rows = _rows(table, regime)
    predicted = published.predicted_s(table, given)
    found = score(predicted[rows], table.seconds[rows])
    baseline = score(published.roofline_s(table, given)[rows], table.seconds[rows])
    impossible = np.flatnonzero(rows & too_fast(table, given)).tolist()
    return Evaluation(table, regime, rows, predicted, found, baseline, impossible)


def obtain(claim: Claim, context: Context) -> Obtained:
    """Error and bias on the table. Raises RooflintError, InputError or ClaimError."""
    one = evaluate(claim, context.registry, context.golden_roots)
    return Obtained(
        value=one.found.mape,
        dimension=DIMENSIONLESS,
        formula=f"{one.found.rows} rows of {shown(one.table.file)}; the plain roofline: {_shown(one.baseline)}",
        display=_shown(one.found),
        holds=_within(claim, one.found) and not one.impossible,
        expected=f"error up to {share(claim, 'error'):.1%}, bias up to {share(claim, 'bias'):.1%}",
        precision=one.table.spec.precision,
        others=(one.table.spec.device,),
        details="\n".join(
            (*_nearer(one), *_beaten(one.table, one.impossible), *_worst(one.table, one.predicted_s, one.rows))
        ),
        prediction=Prediction(
            topic=one.table.spec.op,
            family=None,
            table=one.table.slug,
            regime=one.regime,
            devices=[one.table.spec.device],
            rows=one.found.rows,
            error=one.found.mape,
            bias=one.found.bias,
            roofline_error=one.baseline.mape,
            roofline_bias=one.baseline.bias,
            error_bound=claim.option("error"),
            bias_bound=claim.option("bias"),
        ),
    )


def too_fast(table: Published, given: Given) -> Mask:
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


def _within(claim: Claim, found: Score) -> bool:
    return found.mape <= share(claim, "error") and abs(found.bias) <= share(claim, "bias")


def _shown(found: Score) -> str:
    return f"error {found.mape:.1%}, bias {found.bias:+.1%}"


def _nearer(one: Evaluation) -> list[str]:
    """A better roofline baseline is the first thing to report."""
    return ["            the plain roofline is nearer to these rows"] if one.baseline.mape < one.found.mape else []


def _beaten(table: Published, impossible: Sequence[int]) -> list[str]:
    return [f"{_place(table, row)} is faster than the dense peak" for row in impossible[:WORST]]


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
