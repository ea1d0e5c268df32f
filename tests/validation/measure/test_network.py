"""Networks as subjects; what torch runs of them is in tests/torch."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from rooflint_measure.record import Memory
from rooflint_measure.stopwatches import network
from rooflint_measure.stopwatches.clocks import FlushedHostClock, HostClock
from rooflint_measure.stopwatches.gemm import NotMeasuredError
from rooflint_measure.stopwatches.network import (
    Model,
    Setting,
    _clock,
    _first_line,
    mode,
    modes,
    peak_memory,
    prepared,
    subject,
    transfers,
)

RESNET = Model("resnet18", lambda: None, (), 5)


def test_a_subject_says_how_the_network_was_run():
    plain = subject(RESNET, Setting(batch=4))
    assert (plain.name, plain.batch, plain.macs, plain.layout, plain.settings) == ("resnet18", 4, 5, "contiguous", ())
    tuned = subject(RESNET, Setting(precision="fp16", channels_last=True, compiled=True, graph=True))
    assert (tuned.precision, tuned.settings) == ("fp16", ("channels_last", "compiled", "graph"))
    more = Setting(cudnn_benchmark=True, no_grad=True, high_priority=True, attention="flash")
    assert subject(RESNET, more).settings == ("cudnn_benchmark", "no_grad", "high_priority", "flash_attention")


def test_a_language_model_is_named_with_its_tokens():
    llama = Model("llama", lambda: None, (), 5, tokens=1, past=127)
    assert subject(llama, Setting()).settings == ("t1", "p127")


def test_linear_layers_in_int8_are_another_network_than_one_that_was_quantized_whole():
    assert subject(RESNET, Setting(precision="int8")).settings == ("dynamic",)
    assert (
        subject(Model("quantized_resnet18", lambda: None, (), 5, is_quantized=True), Setting(precision="int8")).settings
        == ()
    )


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ("eager", {}),
        ("compile", {"compiled": True}),
        ("graph+channels_last", {"graph": True, "channels_last": True}),
        ("attention=flash+no_grad", {"attention": "flash", "no_grad": True}),
    ],
)
def test_a_mode_is_words_joined_by_plus(words, settings):
    assert mode(words) == settings
    Setting(**mode(words))


@pytest.mark.parametrize("words", ["fast", "eager+fast", "attention=quick", ""])
def test_another_word_is_no_mode_and_all_are_named(words):
    with pytest.raises(NotMeasuredError, match=r"want eager, compile, graph.*attention=math\|flash"):
        mode(words)


def test_every_mode_that_a_device_has_is_one_that_can_be_asked_for():
    assert {word for word in modes("cuda:1") if mode(word) or word == "eager"} == set(modes("cuda:1"))
    assert set(modes("cpu")) < set(modes("cuda"))


def test_a_clock_flushes_where_a_cache_is_to_be_empty():
    assert isinstance(_clock(Setting()), HostClock)
    assert isinstance(_clock(Setting(flush_bytes=4096)), FlushedHostClock)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        (Setting(precision="fp4"), "want one of fp64, fp32, tf32, bf16, fp16, int8, int4, found fp4"),
        (Setting(graph=True), "graphs are replayed on CUDA devices only"),
        (Setting(high_priority=True), "streams have a priority on CUDA devices only"),
        (Setting(cudnn_benchmark=True), "cuDNN computes on CUDA devices only"),
        (Setting(precision="tf32"), "a CPU has no tf32"),
    ],
)
def test_what_a_cpu_cannot_run_is_refused_with_the_reason(setting, reason):
    pytest.importorskip("torch")
    with pytest.raises(NotMeasuredError, match=reason):
        prepared(RESNET, setting)


def test_a_network_that_does_not_fit_the_memory_is_refused_before_the_system_ends_the_process(monkeypatch):
    # 70 G weights of 4 B in fp32 are 280 GB
    monkeypatch.setattr(network, "available_bytes", lambda: 16 * 10**9)
    with pytest.raises(NotMeasuredError, match=r"its weights take 280 GB while it is built, and 16 GB of memory are"):
        network._refuse(replace(RESNET, weights=70e9), Setting())
    monkeypatch.setattr(network, "available_bytes", lambda: None)
    network._refuse(replace(RESNET, weights=70e9), Setting())


def test_memory_of_a_gpu_is_the_peak_of_its_allocator_since_a_reset():
    told = []
    cuda = SimpleNamespace(
        synchronize=lambda device: told.append("wait"),
        reset_peak_memory_stats=lambda device: told.append(f"reset {device}"),
        max_memory_allocated=lambda device: 3 << 30,
    )
    found = peak_memory(lambda: told.append("call"), "cuda:1", SimpleNamespace(cuda=cuda))
    assert found == Memory(peak_bytes=3 << 30, source="torch allocator")
    assert told == ["wait", "reset cuda:1", "call", "wait"]


def test_memory_of_a_metal_device_is_what_its_driver_holds_after_a_call():
    metal = SimpleNamespace(synchronize=lambda: None, driver_allocated_memory=lambda: 5 << 20)
    assert peak_memory(lambda: None, "mps", SimpleNamespace(mps=metal)).peak_bytes == 5 << 20


class FakeTensor:
    """Of a library without a device: knows its size, and tells where it goes."""

    def __init__(self, nbytes, told, *, is_floating=True):
        self.nbytes, self.told, self.is_floating = nbytes, told, is_floating

    def is_floating_point(self):
        return self.is_floating

    def dim(self):
        return 2

    def to(self, device, dtype=None, **_):
        self.told.append((device, dtype))
        return FakeTensor(self.nbytes // 2 if dtype == "half" else self.nbytes, self.told, is_floating=self.is_floating)


def test_copies_are_those_of_the_inputs_in_their_precision_and_of_the_outputs_each_waited_for():
    told = []
    library = SimpleNamespace(
        Tensor=FakeTensor,
        utils=SimpleNamespace(_pytree=SimpleNamespace(tree_leaves=lambda tree: [*tree[0], *tree[1].values()])),
        cuda=SimpleNamespace(synchronize=lambda device: told.append(f"wait {device}")),
        contiguous_format=0,
        channels_last=1,
        preserve_format=2,
        float16="half",
    )
    ids, picture = FakeTensor(80, told, is_floating=False), FakeTensor(4000, told)
    model = replace(RESNET, inputs=(picture, 7), named={"ids": ids})
    outputs = [FakeTensor(600, told), "a cache"], {}
    found = transfers(model, Setting(precision="fp16", device="cuda:1"), lambda: outputs, library)
    assert (found.inputs_bytes, found.outputs_bytes) == (2080, 600)
    assert found.inputs_s > 0
    assert found.outputs_s > 0
    assert told[:2] == [("cpu", "half"), ("cpu", None)]  # not timed
    assert told[2:6] == ["wait cuda:1", ("cuda:1", None), ("cuda:1", None), "wait cuda:1"]
    assert told[-3:] == ["wait cuda:1", ("cpu", None), "wait cuda:1"]


def test_a_cpu_copies_nothing():
    assert (
        str(transfers(RESNET, Setting(), lambda: None))
        == "not available: inputs and outputs of a CPU stay where they are"
    )


def test_an_error_is_its_type_and_first_line():
    assert _first_line(RuntimeError("out of memory.\nmore")) == "RuntimeError: out of memory"
    assert _first_line(KeyError()) == "KeyError: KeyError"
    assert len(_first_line(ValueError("x" * 500))) == len("ValueError: ") + 160
