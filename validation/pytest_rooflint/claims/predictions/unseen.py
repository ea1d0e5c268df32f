"""Held-out scores: error and bias of constants fitted without a family, on measurements of that family."""

from collections.abc import Sequence

from pytest_rooflint.claims.predictions.subject import Subject, rows_of, share
from pytest_rooflint.claims.predictions.why import Reason, reason
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import Context, Obtained
from rooflint.base.units import DIMENSIONLESS
from rooflint_calibration.evaluation import baseline_of, held_out, score_of
from rooflint_calibration.topics import TOPICS, measured_devices
from rooflint_report.verdicts import Prediction

BOUNDS = ("error", "bias")


def subject(name: str) -> Subject:
    """A topic; its claims name a family and a regime."""
    return Subject(known(name), lambda words: needs(name, words), obtain)


def known(name: str) -> str:
    """`a family (ampere, hopper) and a regime (all, large: > 20 GFLOP)`."""
    topic = TOPICS[name]
    regimes = (word if word == said else f"{word}: {said}" for word, said in topic.regimes.items())
    return f"a family ({', '.join(measured_devices(name))}) and a regime ({', '.join(regimes)})"


def needs(name: str, words: Sequence[str]) -> Sequence[str] | None:
    """Both bounds, for a measured family and a known regime."""
    there = len(words) == 2 and words[0] in measured_devices(name) and words[1] in TOPICS[name].regimes
    return BOUNDS if there else None


def obtain(claim: Claim, context: Context) -> Obtained:
    """Predict the measured rows. Raises NotInstalledError if the measurements are not installed."""
    name, family, regime = claim.subject.split()
    ones = held_out(context.registry, name, family, regime, rows_of(claim))
    found, baseline = score_of(ones), baseline_of(ones)
    error, bias = share(claim, "error"), share(claim, "bias")
    devices = tuple(one.rows.device for one in ones)
    holds = found.mape <= error and abs(found.bias) <= bias
    why = Reason() if holds else reason(context.registry, family, regime, ones)
    return Obtained(
        value=found.mape,
        dimension=DIMENSIONLESS,
        formula=f"constants fitted without {family}, {found.rows} shapes of {', '.join(devices)}",
        display=f"error {found.mape:.1%}, bias {found.bias:+.1%}",
        holds=holds,
        expected=f"error up to {error:.1%}, bias up to {bias:.1%}",
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
            roofline_error=baseline.mape,
            roofline_bias=baseline.bias,
            error_bound=claim.option("error"),
            bias_bound=claim.option("bias"),
        ),
    )
