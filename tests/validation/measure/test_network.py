"""Networks as subjects; what torch runs of them is in tests/torch."""

import pytest

from rooflint_measure.stopwatches.clocks import FlushedHostClock, HostClock
from rooflint_measure.stopwatches.gemm import NotMeasuredError
from rooflint_measure.stopwatches.network import Setting, _clock, _first_line, prepared, subject


def test_a_subject_says_how_the_network_was_run():
    plain = subject("resnet18", 5, Setting(batch=4))
    assert (plain.name, plain.batch, plain.macs, plain.layout, plain.settings) == ("resnet18", 4, 5, "contiguous", ())
    tuned = subject("resnet18", 5, Setting(precision="fp16", channels_last=True, compiled=True, graph=True))
    assert (tuned.precision, tuned.settings) == ("fp16", ("channels_last", "compiled", "graph"))


def test_a_clock_flushes_where_a_cache_is_to_be_empty():
    assert isinstance(_clock(Setting()), HostClock)
    assert isinstance(_clock(Setting(flush_bytes=4096)), FlushedHostClock)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        (Setting(precision="int8"), "int8 would be another network"),
        (Setting(graph=True), "graphs are replayed on CUDA devices only"),
        (Setting(precision="tf32"), "a CPU has no tf32"),
    ],
)
def test_what_a_cpu_cannot_run_is_refused_with_the_reason(setting, reason):
    pytest.importorskip("torch")
    with pytest.raises(NotMeasuredError, match=reason):
        prepared(lambda: None, (1,), setting)


def test_an_error_is_its_type_and_first_line():
    assert _first_line(RuntimeError("out of memory.\nmore")) == "RuntimeError: out of memory"
    assert _first_line(KeyError()) == "KeyError: KeyError"
    assert len(_first_line(ValueError("x" * 500))) == len("ValueError: ") + 160
