"""What a batch multiplies, proved on two tables of one network."""

from dataclasses import replace

import pytest

from rooflint.workloads.builders import mlp
from rooflint.workloads.flow import INPUT, Flow
from rooflint.workloads.ops import Op
from rooflint.workloads.scaling import fitted, sample_by_sample
from rooflint.workloads.workload import Workload, WorkloadError


def table(batch, *rows, fixed=""):
    return Workload.from_ops("net", rows, batch, fixed)


def test_a_table_that_scales_is_left_as_it_is():
    assert fitted(mlp([8, 4, 2], batch=2), mlp([8, 4, 2], batch=6)) == mlp([8, 4, 2], batch=2)


@pytest.mark.parametrize(
    "other", [None, Flow.chain(2, 47, 46), Flow(((INPUT,), (INPUT, 0)), (1,), 48, 46), Flow.chain(2, 16, 46)]
)
def test_a_data_flow_that_another_batch_has_not_is_not_known(other):
    small, large = mlp([8, 4, 2], batch=2), mlp([8, 4, 2], batch=6)
    assert fitted(small, replace(large, flow=other, fixed_batch="traced")).flow is None
    assert fitted(replace(small, flow=None), large).flow is None


def test_constants_that_grow_with_the_batch_are_none_of_the_networks():
    # 46 weights and 10 positions for each of 2, and of 6, samples; or an unknown number
    small, large = mlp([8, 4, 2], batch=2), mlp([8, 4, 2], batch=6)
    few, many, unknown = (Flow.chain(2, elements, count) for elements, count in ((16, 66), (48, 106), (48, None)))
    assert fitted(replace(small, flow=few), replace(large, flow=many)).flow == Flow.chain(2, 16, 46)
    assert fitted(replace(small, flow=few), replace(large, flow=unknown)).flow == Flow.chain(2, 16)


def test_constants_as_long_as_the_batch_stand_among_the_activations():
    # 3 weights are read once; a grid of 10 positions is read for each of 2, and of 4, samples
    small = Op("add", "add", other_ops=20, elements_in=20, elements_weight=23, elements_out=20)
    large = Op("add", "add", other_ops=40, elements_in=40, elements_weight=43, elements_out=40)
    (row,) = fitted(table(2, small), table(4, large)).rows()
    assert (row.elements_in, row.elements_weight) == (40, 3)


@pytest.mark.parametrize(
    ("large", "why"),
    [
        (Op("add", "add", other_ops=44, elements_in=40, elements_out=40), "add: batch 4 is not batch 2 scaled"),
        (Op("add", "add", other_ops=40, elements_in=40, elements_weight=1, elements_out=40), "do not grow .* evenly"),
        (Op("mul", "mul", other_ops=40, elements_in=40, elements_out=40), "other ops run at batch 4 than at batch 2"),
    ],
)
def test_what_does_not_scale_is_named(large, why):
    small = Op("add", "add", other_ops=20, elements_in=20, elements_out=20)
    with pytest.raises(WorkloadError, match=why):
        fitted(table(2, small), table(4, large, fixed="traced"))


HEAD = Op("head", "relu", other_ops=8, elements_in=8, elements_out=8)
BOXES = Op("boxes", "add", other_ops=3, elements_in=3, elements_weight=2, elements_out=3)
HEADS = Op("head", "relu", other_ops=16, elements_in=16, elements_out=16)


def test_rows_that_repeat_for_each_sample_grow_with_their_constants():
    # batch 2 runs the head once for both samples, and the boxes twice: 2 constants are read for each
    several = table(2, HEADS, BOXES, BOXES._replace(name="boxes@2"), fixed="traced")
    fit = sample_by_sample(table(1, HEAD, BOXES), several)
    assert [(row.elements_in, row.elements_weight) for row in fit.rows()] == [(8, 0), (5, 0)]
    assert fit.flow is None
    assert fit.at_batch(2).total_bytes("int8") == several.total_bytes("int8")


def test_sample_by_sample_the_data_flow_is_that_of_one():
    one = replace(table(1, HEAD, BOXES), flow=Flow.chain(2, 8))
    several = table(2, HEADS, BOXES, BOXES._replace(name="boxes@2"), fixed="traced")
    assert sample_by_sample(one, several).at_batch(2).flow == Flow.chain(2, 16)


@pytest.mark.parametrize(
    "rows",
    [
        (HEADS, BOXES),  # neither repeated nor scaled
        (HEADS, BOXES, BOXES._replace(name="boxes@2"), HEAD._replace(name="more", elements_in=16)),  # one too many
    ],
)
def test_what_neither_repeats_nor_grows_is_refused(rows):
    with pytest.raises(WorkloadError):
        sample_by_sample(table(1, HEAD, BOXES), table(2, *rows, fixed="traced"))
