"""Unseen: the error and the lean of constants that were fitted without a family, on that family's measurements."""

from collections.abc import Sequence

import numpy as np

from pytest_rooflint.claims.predictions.subject import Subject, rows_of, share
from pytest_rooflint.claims.predictions.why import Reason, reason
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import Context, Obtained
from rooflint.base.units import DIMENSIONLESS
from rooflint_calibration.plain import roofline_s
from rooflint_calibration.score import Score, score
from rooflint_calibration.tested import Tested, of_family
from rooflint_calibration.topics import TOPICS, measured_devices
from rooflint_report.verdicts import Prediction

BOUNDS = ("error", "bias")


def subject(name: str) -> Subject:
    """A topic whose claims all name a family and a regime."""
    return Subject(known(name), lambda words: needs(name, words), obtain)


def known(name: str) -> str:
    """`a family (ampere, hopper) and a regime (all, large: > 20 GFLOP)`."""
    topic = TOPICS[name]
    regimes = (word if word == said else f"{word}: {said}" for word, said in topic.regimes.items())
    return f"a family ({', '.join(measured_devices(name))}) and a regime ({', '.join(regimes)})"


def needs(name: str, words: Sequence[str]) -> Sequence[str] | None:
    """Both bounds, of a family that was measured and a regime that there is."""
    there = len(words) == 2 and words[0] in measured_devices(name) and words[1] in TOPICS[name].regimes
    return BOUNDS if there else None


def obtain(claim: Claim, context: Context) -> Obtained:
    """Predict what was measured. Raises NotInstalledError where the measurements are not installed."""
    name, family, regime = claim.subject.split()
    ones = of_family(context.registry, name, family, regime, rows_of(claim))
    found, plain = scored(ones), roofline(ones)
    error, bias = share(claim, "error"), share(claim, "bias")
    devices = tuple(one.rows.device for one in ones)
    holds = found.mape <= error and abs(found.bias) <= bias
    why = Reason() if holds else reason(context.registry, family, regime, ones)
    return Obtained(
        value=found.mape,
        dimension=DIMENSIONLESS,
        formula=f"constants fitted without {family}, {found.rows} shapes of {', '.join(devices)}",
        display=f"error {found.mape:.1%}, leaning by {found.bias:+.1%}",
        holds=holds,
        expected=f"error up to {error:.1%}, leaning by up to {bias:.1%}",
        precision=TOPICS[name].precision,
        others=devices,
        details=why.details,
        causes=why.causes,
        prediction=Prediction(
            topic=name,
            family=family,
            table=None,
            regime=regime,
            devices=list(devices),
            rows=found.rows,
            error=found.mape,
            bias=found.bias,
            roofline_error=plain.mape,
            roofline_bias=plain.bias,
            error_bound=claim.option("error"),
            bias_bound=claim.option("bias"),
        ),
    )


def scored(ones: Sequence[Tested]) -> Score:
    """Of all devices together."""
    return score(
        np.concatenate([one.predicted_s() for one in ones]), np.concatenate([one.rows.seconds for one in ones])
    )


def roofline(ones: Sequence[Tested]) -> Score:
    """Errors of the plain roofline on the same rows."""
    return score(
        np.concatenate([roofline_s(one.rows.topic, one.rows.sizes, one.chip) for one in ones]),
        np.concatenate([one.rows.seconds for one in ones]),
    )
