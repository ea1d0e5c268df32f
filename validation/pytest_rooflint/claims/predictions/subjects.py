"""All subjects by the first word of a claim. A new one is a module with a `Subject`, and a line here."""

from collections.abc import Mapping
from functools import cache

from pytest_rooflint.claims.predictions import products, published, unseen
from pytest_rooflint.claims.predictions.subject import Subject
from pytest_rooflint.golden.claim import Claim
from rooflint_calibration.topics import TOPICS


@cache
def subjects() -> Mapping[str, Subject]:
    """All of them."""
    others = {name: unseen.subject(name) for name in TOPICS if name != products.NAME}
    return {products.NAME: products.SUBJECT, **others, published.NAME: published.SUBJECT}


def parts(claim: Claim) -> tuple[str, str | None]:
    """What a claim is about and its regime: `gemm hopper` and `large`; None where it names no regime."""
    about, _, last = claim.subject.rpartition(" ")
    return (about, last) if " " in about else (claim.subject, None)
