"""Capture against its oracles: the committed tables, torchvision's own figures, torch's counter, and hand counts."""

import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from rooflint.workloads.capture import torchvision_networks
from rooflint.workloads.capture import write as module_under_test
from rooflint.workloads.capture.graph import CaptureError
from rooflint.workloads.capture.torchvision_networks import capture_torchvision, import_torchvision
from rooflint.workloads.capture.trace import capture
from rooflint.workloads.capture.write import main, write_torchvision
from rooflint.workloads.ops import UnknownOpError
from rooflint.workloads.tables import ROOT, load_workload, read_table, workload_ids
from rooflint.workloads.workload import Workload, conv2d, mlp

INPUT_SHAPE = (1, 3, 224, 224)
COMMITTED = [name.removeprefix("torchvision/") for name in workload_ids() if name.startswith("torchvision/")]


# ----------------------------------------------------------------------------------------------------- committed tables


@pytest.mark.parametrize("network", COMMITTED)
def test_a_fresh_capture_equals_the_committed_table_row_by_row(network):
    assert list(capture_torchvision(network).rows()) == list(load_workload(f"torchvision/{network}").rows())


@pytest.mark.parametrize("network", COMMITTED)
def test_a_capture_at_another_batch_is_the_table_scaled_to_it(network):
    fresh = capture_torchvision(network, (3, *INPUT_SHAPE[1:]))
    assert list(fresh.rows()) == list(load_workload(f"torchvision/{network}").at_batch(3).rows())


@pytest.mark.parametrize("network", COMMITTED)
def test_multiply_accumulates_agree_with_torchvisions_own_figure(network):
    # weights.meta["_ops"] is printed in GMAC with three decimals, for the crop that the weights were trained on
    printed = {
        weights.meta["_ops"]
        for weights in import_torchvision().models.get_model_weights(network)
        if weights.transforms.keywords["crop_size"] == INPUT_SHAPE[-1]
    }
    assert printed == {round(load_workload(f"torchvision/{network}").total_macs / 1e9, 3)}


@pytest.mark.parametrize("network", COMMITTED)
def test_twice_the_multiply_accumulates_is_what_torch_counts_on_the_meta_device(network):
    with torch.device("meta"):
        module = import_torchvision().models.get_model(network, weights=None).eval()
    assert 2 * load_workload(f"torchvision/{network}").total_macs == flops(module, INPUT_SHAPE)


def test_writing_a_table_again_changes_nothing_but_versions(tmp_path):
    write_torchvision("resnet18", tmp_path)
    fresh, committed = (_without_versions(root / "torchvision/resnet18.yaml") for root in (tmp_path, ROOT))
    assert fresh == committed
    assert read_table(tmp_path / "torchvision/resnet18.yaml")[1].input == INPUT_SHAPE


def test_the_command_writes_what_it_is_asked_for(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(module_under_test, "write_torchvision", lambda name: asked.append(name) or mlp([2, 2]))
    main(["resnet18", "vgg16"])
    assert asked == ["resnet18", "vgg16"]
    asked.clear()
    main([])
    assert asked == COMMITTED
    assert "1 ops, 4 MAC" in capsys.readouterr().out


def test_the_command_says_in_one_line_what_it_cannot_capture(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["nonesuch"])
    assert exit_.value.code == 1
    assert capsys.readouterr().err == "nonesuch: torchvision has no network 'nonesuch'\n"


# ---------------------------------------------------------------------------------------------------------- hand counts


class Functional(nn.Module):
    """A module that is one function."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.weight = nn.Parameter(torch.empty(6, 4))

    def forward(self, x):
        return self.function(x, self.weight)


def captured(function, *shape: int) -> Workload:
    return capture(Functional(function).eval(), shape)


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
def test_products_in_any_form_count_as_torch_counts_them(function):
    module = Functional(function).to("meta").eval()
    assert 2 * capture(module, (2, 8, 4)).total_macs == flops(module, (2, 8, 4)) > 0


def test_what_does_not_depend_on_the_input_is_a_constant_that_is_read():
    # w·wᵀ + 1 is computed once; adding it reads its 6 × 6 elements, whatever the batch
    (row,) = captured(lambda x, w: x + (w @ w.T + 1), 5, 6, 6).rows()
    assert (row.kind, row.elements_in, row.elements_weight, row.elements_out) == ("add", 180, 36, 180)


def test_an_expanded_constant_is_read_once():
    # the class token of a vision transformer: 4 elements, expanded over the batch
    (row,) = captured(lambda x, w: torch.cat([w[:1].expand(5, 1, 4), x], dim=1), 5, 7, 4).rows()
    assert (row.kind, row.elements_in, row.elements_weight, row.elements_out) == ("cat", 140, 4, 160)


def test_a_tensor_that_is_used_twice_is_read_once():
    (row,) = captured(lambda x, w: x * x, 2, 5).rows()
    assert (row.other_ops, row.elements_in, row.elements_out) == (10, 10, 10)


def test_views_reshapes_and_dropout_cost_nothing():
    def function(x, w):
        y = x.flatten(1).view(2, 5, 4).permute(0, 2, 1).contiguous().reshape(2, 20)[:, :10].chunk(2, 1)[0]
        return functional.dropout(y, 0.5, training=False).relu()

    assert captured(function, 2, 20).kinds.tolist() == ["relu"]


def test_a_module_that_is_called_again_gets_a_number():
    class Twice(nn.Sequential):
        def forward(self, x):
            return self[0](self[0](x))

    assert capture(Twice(nn.ReLU()).eval(), (1, 4)).op_names.tolist() == ["0", "0@2"]


def test_a_module_on_the_meta_device_costs_what_it_costs_anywhere():
    real, meta = (nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()).to(device).eval() for device in ("cpu", "meta"))
    assert capture(real, (1, 3, 9, 9)) == capture(meta, (1, 3, 9, 9))


# ------------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("function", "op"),
    [
        (lambda x, w: x.cumsum(-1), "cumsum"),
        (lambda x, w: torch.fft.rfft(x).real, "fft_rfft"),
        (lambda x, w: torch.einsum("ij,jk,kl->il", x, w, w.T), "einsum"),
    ],
)
def test_an_unknown_op_is_named_and_never_counted_as_zero(function, op):
    with pytest.raises(UnknownOpError, match=op):
        captured(function, 2, 6)


def test_an_unknown_op_is_told_with_its_module():
    with pytest.raises(UnknownOpError, match=r"^1: unknown op celu: .*\(aten\.celu\.default\)$"):
        capture(nn.Sequential(nn.Linear(4, 4), nn.CELU()).eval(), (1, 4))


def test_data_written_into_a_constant_makes_it_data_with_every_view_of_it():
    # 6 elements are read and written; both views of the cache, 12 elements each, are activations from then on
    def function(x, w):
        cache = x.new_zeros(2, 6)
        early = cache.view(12)
        cache[:, :3] = x[:, :3]
        return cache + 1, early + 1

    rows = list(captured(function, 2, 6).rows())
    assert [(row.kind, row.elements_in, row.elements_weight, row.elements_out) for row in rows] == [
        ("copy", 6, 0, 6),
        ("add", 12, 0, 12),
        ("add", 12, 0, 12),
    ]


def test_data_written_into_a_parameter_is_refused():
    def function(x, w):
        w[:, :3].copy_(x[:, :3])
        return x + 1

    with pytest.raises(CaptureError, match="writes data into a parameter or buffer"):
        captured(function, 6, 4)


def test_a_number_taken_out_of_the_data_is_refused():
    with pytest.raises(CaptureError, match="which ops run depends on the data"):
        captured(lambda x, w: x * 2 if x.sum() > 0 else x, 2, 6)


def test_a_module_in_training_is_refused():
    with pytest.raises(CaptureError, match=r"call module\.eval\(\) first"):
        capture(nn.Linear(4, 4), (1, 4))


def test_what_torch_cannot_export_is_told_in_one_line():
    with pytest.raises(CaptureError, match=r"^torch\.export cannot follow Functional: .*$"):
        captured(lambda x, w: x @ w, 3, 5)


# --------------------------------------------------------------------------------------------------- torchvision import


def test_another_error_of_the_import_is_not_hidden(monkeypatch):
    def broken(name):
        raise RuntimeError("operator torchvision::other does not exist")

    monkeypatch.setattr(torchvision_networks.importlib, "import_module", broken)
    with pytest.raises(RuntimeError, match="torchvision::other"):
        import_torchvision.__wrapped__()


def test_where_torchvision_imports_nothing_is_defined(monkeypatch):
    monkeypatch.setattr(torchvision_networks, "_definitions", lambda: pytest.fail("defined a schema"))
    assert import_torchvision.__wrapped__() is import_torchvision()


# -------------------------------------------------------------------------------------------------------------- helpers


def flops(module: nn.Module, shape: tuple[int, ...]) -> int:
    """torch's own count; on the meta device, because on the CPU it misses attention."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad(), warnings.catch_warnings(), FlopCounterMode(display=False) as counter:
            warnings.simplefilter("ignore")
            module(torch.empty(shape, device="meta"))
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
    return counter.get_total_flops()


def _without_versions(file):
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith(("  torch:", "  torchvision:"))]
