"""Options that several commands share."""

from pathlib import Path

import pytest

from rooflint.base.errors import RooflintError
from rooflint.cli.options import batch_of, batches_of, repeated, shapes_of


@pytest.mark.parametrize(
    ("texts", "sizes"), [(["1,3,224,224"], [[1, 3, 224, 224]]), (["8", "1,2"], [[8], [1, 2]]), (None, []), ([], [])]
)
def test_a_shape_is_sizes_with_commas_for_each_input(texts, sizes):
    assert shapes_of(texts) == sizes


def test_a_command_that_asks_again_has_the_shapes_and_the_specs_as_they_were_typed():
    assert repeated(["8,3,64,64", "8,2"], [Path("my specs")]) == " --input 8,3,64,64 --input 8,2 --specs 'my specs'"
    assert repeated(None, None) == ""


@pytest.mark.parametrize("text", ["1,3,x", "1x3", "1,,3", "1.5", ""])
def test_another_shape_is_refused_with_an_example(text):
    with pytest.raises(RooflintError) as refused:
        shapes_of([text])
    assert str(refused.value) == f"--input: want sizes with commas, such as 1,3,224,224, found '{text}'"


@pytest.mark.parametrize(
    ("batch", "shape", "together"),
    [(None, [], 1), (None, [[8, 3, 64, 64]], 8), (4, [], 4), (8, [[8, 3, 64, 64]], 8), (4, [[1, 3, 64, 64]], 4)],
)
def test_the_batch_is_that_of_the_input_unless_one_is_given(batch, shape, together):
    assert batch_of(batch, shape) == together


def test_a_network_runs_with_the_batch_that_it_was_made_for_unless_another_is_asked_for():
    assert (batch_of(None, [], own=2), batch_of(8, [], own=2), batch_of(1, [], own=2)) == (2, 8, 1)


@pytest.mark.parametrize("batch", [1, 4])
def test_an_input_of_another_batch_is_refused(batch):
    with pytest.raises(RooflintError) as refused:
        batch_of(batch, [[8, 3, 64, 64]])
    assert str(refused.value) == f"--input: want a first size of 1 or of the batch, {batch}, found 8"


@pytest.mark.parametrize(
    ("text", "batches"),
    [
        ("1,8,64", [1, 8, 64]),
        ("1:8", [1, 2, 4, 8]),
        ("4:24", [4, 8, 16, 24]),
        ("3:3", [3]),
        ("1:4,100", [1, 2, 4, 100]),
    ],
)
def test_batches_are_listed_or_doubled(text, batches):
    assert batches_of(text, "--batches") == batches


@pytest.mark.parametrize("text", ["8:1", "1:2:3", "0:4", "1:x", ":", ""])
def test_other_batches_are_refused(text):
    with pytest.raises(RooflintError, match="--batches: want whole numbers with commas, such as 1,8,64, or 1:64"):
        batches_of(text, "--batches")
