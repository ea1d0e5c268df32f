"""Records from objects: which fields are copied, and which are given."""

from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from rooflint.base.records import FromObject


class Pair(FromObject):
    one: int
    two: str


def test_what_is_given_goes_before_what_is_copied():
    assert Pair.from_object(SimpleNamespace(one=1, two="b", three=3)) == Pair(one=1, two="b")
    assert Pair.from_object(SimpleNamespace(one=1), two="given") == Pair(one=1, two="given")


def test_a_field_that_is_neither_is_an_error():
    with pytest.raises(AttributeError, match="two"):
        Pair.from_object(SimpleNamespace(one=1))


def test_an_attribute_of_another_type_is_refused():
    with pytest.raises(ValidationError, match="two"):
        Pair.from_object(SimpleNamespace(one=1, two=[]))
