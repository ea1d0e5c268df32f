"""Measurements of a recording with their places, and selection by words."""

from pathlib import Path

import pytest

from pytest_rooflint.golden.kinds import ClaimError
from pytest_rooflint.recordings.row import RecordedFile, selected, words


@pytest.fixture
def rows(make):
    return list(RecordedFile(Path("k1.json"), make.recorded(make.gemm(1e9, "fp32"), make.stream(1e9)), (3, 7)).rows())


def test_a_row_has_the_line_of_its_measurement(rows):
    assert [row.line for row in rows] == [3, 7]
    assert rows[1].place == "k1.json:7"
    assert [row.precision for row in rows] == ["fp32", None]


def test_words_select_measurements_by_the_words_of_their_names(rows):
    assert selected(rows, "gemm fp32") == rows[:1]
    assert selected(rows, "stream") == rows[1:]
    with pytest.raises(
        ClaimError, match=rf"no measurement is called 'gemm fp16' \(recorded: {rows[0].measurement.name}, "
    ):
        selected(rows, "gemm fp16")
    with pytest.raises(ClaimError, match=r"\(recorded: none\)"):
        selected([], "gemm")
    with pytest.raises(ClaimError, match="want gemm, stream, network"):
        words("conv fp32")
