"""Captures against hand counts and torch's counter; what a batch multiplies, proved on two tables."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from rooflint.workloads.capture.graph import CaptureError
from rooflint.workloads.capture.trace import capture, fitted, sample_by_sample
from rooflint.workloads.flow import INPUT, Flow
from rooflint.workloads.ops import Op
from rooflint.workloads.workload import Workload, WorkloadError, conv2d, mlp


class Functional(nn.Module):
    """A module that is one function of its inputs and of a weight."""

    def __init__(self, function, *shape):
        super().__init__()
        self.function = function
        self.weight = nn.Parameter(torch.empty(shape))

    def forward(self, *x):
        return self.function(*x, self.weight)


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
    # 46 weights and 10 positions for each of 2, and of 6, samples; or nobody knows how many
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


# ------------------------------------------------------------------------------------------------------------ captures


def test_the_captured_mlp_is_the_built_one():
    layers = nn.Sequential(nn.Linear(1024, 1024), nn.Linear(1024, 1024)).eval()
    fresh = capture(layers, (16, 1024))
    assert [row[1:] for row in fresh.rows()] == [row[1:] for row in mlp([1024, 1024, 1024], batch=16).rows()]
    assert fresh.op_names.tolist() == ["0", "1"]


@st.composite
def convolutions(draw):
    """Parameters of a convolution that fits its input, as the builder takes them."""
    groups = draw(st.integers(1, 3))
    bounds = {"n": 3, "kernel": 3, "stride": 2, "dilation": 2}
    drawn = {name: draw(st.integers(1, most)) for name, most in bounds.items()}
    size = {"h": draw(st.integers(6, 9)), "w": draw(st.integers(6, 9)), "padding": draw(st.integers(0, 2))}
    return {**drawn, **size, "c_in": 2 * groups, "c_out": 3 * groups, "groups": groups, "bias": draw(st.booleans())}


@given(convolutions())
@settings(max_examples=30, deadline=None)
def test_a_captured_convolution_is_the_built_one(parameters):
    shape = [parameters[name] for name in ("n", "c_in", "h", "w")]
    options = {name: parameters[name] for name in ("stride", "padding", "dilation", "groups", "bias")}
    layer = nn.Conv2d(parameters["c_in"], parameters["c_out"], parameters["kernel"], **options, device="meta")
    (fresh,) = capture(layer.eval(), shape).rows()
    (built,) = conv2d(**parameters).rows()
    assert fresh[1:] == built[1:]


def test_multi_head_attention_keeps_its_products_although_the_fast_path_is_on():
    # batch 2, 7 tokens, 16 wide, 4 heads: 14 × 16 × 48 in, 14 × 16 × 16 out, 8 heads × 7² × (4 + 4)
    attention = nn.MultiheadAttention(16, 4, batch_first=True).eval()

    class SelfAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = attention

        def forward(self, x):
            return self.inner(x, x, x, need_weights=False)[0]

    before = torch.backends.mha.get_fastpath_enabled()
    rows = list(capture(SelfAttention().eval(), (2, 7, 16)).rows())
    assert [(row.name, row.macs) for row in rows] == [
        ("inner.linear", 10_752),
        ("inner.attention", 3_136),
        ("inner.linear@2", 3_584),
    ]
    assert torch.backends.mha.get_fastpath_enabled() == before


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: x @ w.T,
        lambda x, w: torch.einsum("bld,od->blo", x, w),
        lambda x, w: torch.einsum("bid,bjd->bij", x, x),
        lambda x, w: torch.bmm(x, x.transpose(1, 2)),
        lambda x, w: functional.linear(x, w).softmax(-1) @ x[:, :6],
        lambda x, w: functional.scaled_dot_product_attention(x, x, x, is_causal=True),
        lambda x, w: functional.conv_transpose1d(x.transpose(1, 2), w[:4, :, None]),
        lambda x, w: functional.conv1d(x.transpose(1, 2), w[:, :, None]),
    ],
)
def test_products_in_any_form_count_as_torch_counts_them(function, flops):
    module = Functional(function, 6, 4).to("meta").eval()
    assert 2 * capture(module, (2, 8, 4)).total_macs == flops(module, (2, 8, 4)) > 0


def test_a_module_on_the_meta_device_costs_what_it_costs_anywhere():
    real, meta = (nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()).to(device).eval() for device in ("cpu", "meta"))
    assert capture(real, (1, 3, 9, 9)) == capture(meta, (1, 3, 9, 9))


def test_a_module_in_training_is_refused():
    with pytest.raises(CaptureError, match=r"call module\.eval\(\) first"):
        capture(nn.Linear(4, 4), (1, 4))


def test_what_torch_cannot_export_is_told_in_one_line():
    with pytest.raises(CaptureError, match=r"^torch\.export cannot follow Functional: .*$"):
        capture(Functional(lambda x, w: x @ w, 6, 4).eval(), (3, 5))
