"""Claims about acme/k1 of the parent's conftest.py, one at a time."""

import pytest

from rooflint.base.errors import InputError


@pytest.fixture
def one(claims):
    """The verdict on a single claim."""
    return lambda line, **head: claims(line, **head)[0]


@pytest.fixture
def refusal(claims):
    """Why a file with that claim is refused."""

    def message(line, **head):
        with pytest.raises(InputError) as caught:
            claims(line, **head)
        return caught.value.problems[0].message

    return message


@pytest.fixture
def paths():
    """The paths of the facts behind a verdict."""
    return lambda verdict: {fact.path for fact in verdict.facts}
