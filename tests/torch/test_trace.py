"""Captures against hand counts and torch's counter."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from rooflint.workloads.builders import conv2d, mlp
from rooflint.workloads.capture.graph import CaptureError
from rooflint.workloads.capture.trace import capture


class Functional(nn.Module):
    """A module that is one function of its inputs and of a weight."""

    def __init__(self, function, *shape):
        super().__init__()
        self.function = function
        self.weight = nn.Parameter(torch.empty(shape))

    def forward(self, *x):
        return self.function(*x, self.weight)


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
