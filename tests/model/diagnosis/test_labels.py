"""Labels: the figures that one asks for, and the error by which another figure stands for it."""

import pytest

from rooflint.diagnosis.figures import figures
from rooflint.diagnosis.labels import Asked, of_main_memory, peaks, relation

DENSE, SPARSE, LANES = "dense INT8 peak (tensor_core)", "sparse INT8 peak (tensor_core)", "dense FP32 peak (cuda_core)"


@pytest.fixture
def by_name(family):
    return {figure.says: figure for figure in figures(family.big)}


def test_a_peak_is_the_dense_one_of_the_matrix_units_unless_the_label_says_otherwise(family):
    known = [figure for figure in figures(family.big) if figure.quantity == "peak" and not (figure.mode or figure.part)]
    assert [one.says for one in peaks(Asked("peak", "int8"), known)] == [DENSE]
    assert [one.says for one in peaks(Asked("peak", "int8", sparse=True), known)] == [SPARSE]
    assert [one.says for one in peaks(Asked("peak", "fp32", vector=True), known)] == [LANES]
    assert peaks(Asked("peak", "int8", vector=True), known) == []


def test_a_bandwidth_is_that_of_the_main_memory(family):
    known = [figure for figure in figures(family.big) if figure.quantity == "bandwidth" and not figure.mode]
    assert [one.value for one in of_main_memory(known, family.big)] == [256e9]


def test_another_figure_of_the_device_costs_more_the_less_it_has_in_common(by_name):
    assert relation(Asked("peak", "int8"), by_name[SPARSE]) == ("sparse for dense", 1.0)
    assert relation(Asked("peak", "int8", sparse=False), by_name[SPARSE]) == ("sparse for dense", 1.25)
    assert relation(Asked("peak", "fp16"), by_name[DENSE]) == ("another precision", 1.5)
    assert relation(Asked("peak", "fp16"), by_name[SPARSE]) == ("another precision", 1.9)
    assert relation(Asked("peak", "fp16"), by_name[LANES]) == ("another precision", 1.6)
    assert relation(Asked("clock", subject="boost"), by_name["clock (base)"]) == ("another clock", 1.2)
    assert relation(Asked("tdp"), by_name[DENSE]) is None
