"""Options that several commands share."""

import pytest

from rooflint.base.errors import RooflintError
from rooflint.cli.options import shape_of


@pytest.mark.parametrize(("text", "sizes"), [("1,3,224,224", [1, 3, 224, 224]), ("8", [8]), ("", [])])
def test_a_shape_is_sizes_with_commas_or_nothing(text, sizes):
    assert shape_of(text) == sizes


@pytest.mark.parametrize("text", ["1,3,x", "1x3", "1,,3", "1.5"])
def test_another_shape_is_refused_with_an_example(text):
    with pytest.raises(RooflintError) as refused:
        shape_of(text)
    assert str(refused.value) == f"--input: want sizes with commas, such as 1,3,224,224, found '{text}'"
