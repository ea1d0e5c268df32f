"""The registry of subjects, by the first word of a claim. A new one is a module with a `Subject`, and a line here."""

from collections.abc import Mapping
from functools import cache

from pytest_rooflint.claims.predictions import products, published, unseen
from pytest_rooflint.claims.predictions.subject import Subject
from rooflint_calibration.topics import TOPICS


@cache
def subjects() -> Mapping[str, Subject]:
    """All of them."""
    others = {name: unseen.subject(name) for name in TOPICS if name != products.NAME}
    return {products.NAME: products.SUBJECT, **others, published.NAME: published.SUBJECT}
