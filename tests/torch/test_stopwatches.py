"""Stopwatches on what torch computes: real products, passes and networks, and what is refused with a reason."""

import copy
import itertools
import sys
import time

import numpy as np
import pytest
import torch

from rooflint_measure.record import Unavailable
from rooflint_measure.sensors.observer import observer
from rooflint_measure.stopwatches import network, products, stream
from rooflint_measure.stopwatches.gemm import NotMeasuredError
from rooflint_measure.stopwatches.network import Model, Setting, prepared
from rooflint_measure.stopwatches.products import kernels
from rooflint_measure.stopwatches.timing import Plan

KERNELS = {f"{one.name} {call}": make for one in kernels() if not one.own_process for call, make in one.calls.items()}


def dense(result):
    return (result.to_dense() if result.layout == torch._mkldnn else result).double().numpy()


@pytest.mark.parametrize("name", KERNELS)
def test_every_call_sums_k_random_products(name):
    # operands of standard deviation 1 (32 for int8, clamped at ±127): √k of a sum of k = 256 products is 16
    c = dense(KERNELS[name]((128, 64, 256))())
    assert c.size == 128 * 64
    one = 32**2 if name.startswith("int8") else 1
    assert np.std(c) == pytest.approx(16 * one, rel=0.06)


def test_every_precision_that_a_cpu_may_have_is_offered():
    offered = {(one.precision, one.library) for one in kernels() if not one.own_process}
    assert {precision for precision, _ in offered} == {"fp64", "fp32", "bf16", "fp16", "int8"}
    assert ("fp32", "onednn") in offered


GPU_CALLS = {f"{one.name} {call}": make for one in kernels("cuda") for call, make in one.calls.items()}


def test_fp8_has_a_call_that_sums_in_fewer_bits_for_the_full_rate():
    assert sorted(name for name in GPU_CALLS if name.startswith("fp8")) == [
        "fp8 cublas torch._scaled_mm e4m3",
        "fp8 cublas torch._scaled_mm e4m3 use_fast_accum",
    ]


@pytest.mark.parametrize("fast", [False, True])
def test_operands_of_fp8_lie_as_cublas_wants_them_and_sum_like_the_others(fast):
    # on the CPU, where torch computes the same call: √256 products of standard deviation 1
    c = dense(products._fp8_product("cpu", fast_sums=fast)((128, 64, 256))())
    assert c.shape == (128, 64)
    assert np.std(c) == pytest.approx(16, rel=0.06)


def test_int8_by_columns_is_the_product_of_the_same_numbers():
    c = dense(products._int8_product("cpu", columns=True)((128, 64, 256))())
    a, b = ((32 * products.normal(size, "float64", "cpu", turn)).round().clamp(-127, 127).numpy()
            for turn, size in enumerate(((128, 256), (64, 256))))  # fmt: skip
    assert np.array_equal(c, a @ b.T)


def test_both_ways_through_onednn_multiply():
    (kernel,) = [one for one in kernels() if one.name == "fp32 onednn"]
    linear, conv = (dense(make((64, 128, 256))()) for make in kernel.calls.values())

    def operand(shape, turn):
        return products.normal(shape, "float64", "cpu", turn).numpy()

    # a layer multiplies 64 rows of 256 by the transposed weight; a picture of one row has its 256 channels first
    weight = operand((128, 256), 1)
    assert np.allclose(linear, operand((64, 256), 0) @ weight.T, atol=1e-3)
    assert np.allclose(conv.reshape(128, 64), weight @ operand((256, 64), 0), atol=1e-3)


@pytest.mark.parametrize(("kernel", "expected"), [("copy", 2.0), ("scale", 3.0), ("triad", 6.5)])
def test_a_pass_writes_what_its_name_says(kernel, expected):
    # b = 2, c = 3, s = 1.5: 2, 1.5 × 2, 2 + 1.5 × 3
    a, b, c = (torch.full((8,), float(value)) for value in (0, 2, 3))
    stream._torch(kernel)((a, b, c))()
    assert set(a.tolist()) == {expected}


def small():
    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Dropout(0.9))


def model(*shape, name="small", make=small):
    return Model(name, make, (torch.randn(shape),), 100)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp64"])
def test_a_network_runs_in_its_precision_without_training(precision, channels_last):
    call = prepared(model(2, 3, 8, 8), Setting(2, precision, channels_last=channels_last))
    first, second = call(), call()
    assert first.shape == (2, 4, 6, 6)
    assert first.dtype == getattr(torch, network.DTYPES[precision])
    assert first.is_inference()
    assert torch.equal(first, second)  # no dropout


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (Setting(precision="int8"), "has no linear layer, which is what torch quantizes dynamically"),
        (Setting(precision="int4"), "weights of 4 bit need torchao"),
        (Setting(graph=True), "graphs are replayed on CUDA devices only"),
        (Setting(precision="tf32"), "a CPU has no tf32"),
    ],
)
def test_what_a_cpu_cannot_is_refused_with_the_reason(setting, message):
    with pytest.raises(NotMeasuredError, match=f"^{message}"):
        prepared(model(1, 3, 8, 8), setting)


def ids(count=5):
    """A network of ids and of a mask, as a language model has them."""
    return torch.nn.Embedding(count, 4)


def test_ids_stay_whole_numbers_and_named_inputs_get_there():
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = ids()

        def forward(self, tokens, *, by):
            return self.table(tokens) * by

    given = Model("ids", Scaled, (torch.tensor([[0, 4]]),), 1, {"by": torch.tensor([2.0])})
    found = prepared(given, Setting(precision="bf16"))()
    assert (found.shape, found.dtype) == ((1, 2, 4), torch.bfloat16)
    assert network._shapes(given) == "1x2, 1"


def test_channels_last_is_refused_for_what_is_no_picture():
    with pytest.raises(NotMeasuredError, match="want an input of four axes"):
        prepared(Model("ids", ids, (torch.tensor([[0]]),), 1), Setting(channels_last=True))


def test_linear_layers_are_quantized_to_int8():
    made = []

    def linear():
        made.append(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()))
        return made[-1]

    given = torch.randn(3, 64)
    found = prepared(Model("linear", linear, (given,), 1), Setting(precision="int8"))()
    exact = made[0](given)
    assert found.dtype == torch.float32
    error = (found - exact).abs().max() / exact.abs().max()
    assert 0 < error < 0.05  # 8 bit on both sides


def four_bit(*sizes):
    layers = [torch.nn.Linear(n, m) for n, m in itertools.pairwise(sizes)]
    return prepared(
        Model("linear", lambda: torch.nn.Sequential(*layers), (torch.randn(3, sizes[0]),), 1), Setting(precision="int4")
    )


def test_weights_of_4_bit_name_the_library_that_they_need(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchao", None)
    monkeypatch.setitem(sys.modules, "torchao.quantization", None)
    with pytest.raises(NotMeasuredError, match=r"weights of 4 bit need torchao 0.18 or later \(pip install torchao\)"):
        four_bit(128, 16)


def test_weights_of_4_bit_are_multiplied_in_bf16():
    pytest.importorskip("torchao")
    torch.manual_seed(0)
    given = torch.randn(3, 256)
    layers = torch.nn.Sequential(torch.nn.Linear(256, 64), torch.nn.Linear(64, 10))  # the second stays in bf16
    exact = layers(given)
    found = prepared(Model("linear", lambda: copy.deepcopy(layers), (given,), 1), Setting(precision="int4"))()
    assert found.dtype == torch.bfloat16
    error = (found.float() - exact).abs().max() / exact.abs().max()
    assert 0.005 < error < 0.3  # 16 steps between the least and the largest of 128 weights
    with pytest.raises(NotMeasuredError, match="from a multiple of 128 to a multiple of 16; found 100 to 16"):
        four_bit(100, 16)


def test_attention_runs_in_the_backend_that_was_asked_for():
    class Attention(torch.nn.Module):
        def forward(self, x):
            self.seen = (torch.backends.cuda.math_sdp_enabled(), torch.backends.cuda.flash_sdp_enabled())
            return torch.nn.functional.scaled_dot_product_attention(x, x, x)

    module = Attention()
    given = Model("attention", lambda: module, (torch.randn(1, 2, 8, 4),), 1)
    plan = Plan(sample_s=0.0, samples=2, warm_up_s=0.0, limit_s=0.1, least=1)
    network.measured(given, Setting(attention="math"), observer=observer(), plan=plan)
    assert module.seen == (True, False)
    assert torch.backends.cuda.flash_sdp_enabled()  # switched back


def test_a_network_whose_calls_do_not_fit_the_time_that_is_left_is_refused_after_one_of_them():
    def slow():
        time.sleep(0.02)
        return torch.zeros(1)

    class Slow(torch.nn.Module):
        def forward(self, x):
            return x + slow()

    given = Model("slow", Slow, (torch.zeros(1),), 1)
    with pytest.raises(NotMeasuredError, match=r"a call takes 0.02\d* s, and 9 do not fit the 0 s that are left"):
        network.measured(given, Setting(), observer=observer(), left_s=0.1)


def test_a_measurement_has_bytes_memory_and_items():
    given = Model("small", small, (torch.randn(2, 3, 8, 8),), 100, bytes_of=lambda precision: 1e6)
    plan = Plan(sample_s=0.0, samples=2, warm_up_s=0.0, limit_s=0.1, least=1)
    found = network.measured(given, Setting(batch=2), observer=observer(), plan=plan)
    assert found.bytes_per_s == pytest.approx(1e6 / found.samples.best_s)
    assert found.items_per_s == pytest.approx(2 / found.samples.median_s)
    if not isinstance(found.memory, Unavailable):
        assert 0 <= found.memory.peak_bytes < 50e6  # torch, which the process holds before, is larger


@pytest.mark.parametrize(("precision", "rounded"), [("tf32", True), ("fp32", False)])
def test_products_and_convolutions_of_a_gpu_are_rounded_to_tf32_where_that_is_asked_for(
    monkeypatch, precision, rounded
):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", not rounded)
    before = torch.get_float32_matmul_precision()
    try:
        network._fix_math(Setting(precision=precision, device="cuda"))
        assert torch.backends.cudnn.allow_tf32 is rounded
        assert torch.get_float32_matmul_precision() == ("high" if rounded else "highest")
    finally:
        torch.set_float32_matmul_precision(before)


def test_products_of_a_gpu_in_fp32_and_tf32_differ_by_what_torch_is_told():
    told = {one.precision: one.details for one in kernels("cuda") if one.details}
    assert told == {"fp32": {"float32_matmul_precision": "highest"}, "tf32": {"float32_matmul_precision": "high"}}


def test_a_flush_writes_twice_the_cache():
    much = network._flusher(2**20, "cpu")()
    assert much.nbytes == 2 * 2**20
    assert set(much.tolist()) == {2.0}


def test_a_meter_is_not_asked_where_it_would_count_the_flushes():
    setting = Setting(flush_bytes=2**20)
    plan = Plan(sample_s=0.0, samples=2, warm_up_s=0.0, limit_s=0.1, least=1)
    found = network.measured(model(1, 3, 8, 8), setting, observer=observer(), plan=plan, energy_s=1)
    assert found.energy == network.FLUSHED


def test_what_torch_says_is_the_reason_in_one_line():
    with pytest.raises(NotMeasuredError, match=r"^RuntimeError: .*channels"):
        prepared(model(1, 5, 8, 8), Setting())
