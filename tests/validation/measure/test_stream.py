"""Passes through memory: what they compute, and what bytes are counted."""

from types import SimpleNamespace

import numpy as np
import pytest

from rooflint_measure.record import Unavailable
from rooflint_measure.stopwatches import stream
from rooflint_measure.stopwatches.stream import ARRAYS, SCALE, array_bytes, measured
from rooflint_measure.stopwatches.timing import Plan

PLAN = Plan(sample_s=0.0, samples=2, warm_up_s=0.0, limit_s=0.0, least=2)


@pytest.fixture
def arrays():
    return tuple(np.full(8, value, np.float32) for value in (0, 2, 3))


@pytest.mark.parametrize(("kernel", "expected"), [("copy", 2.0), ("scale", 2.0 * SCALE)])
def test_a_pass_writes_what_its_name_says(arrays, kernel, expected):
    stream._numpy()[kernel](arrays)()
    assert set(arrays[0]) == {expected}


def test_a_read_is_a_sum_of_every_element(arrays):
    assert stream._numpy()["read"](arrays)() == 16.0


def test_arrays_are_four_times_the_last_cache_and_whole_pages():
    # 4 × 32 MiB; never less than 64 MiB, also where nobody knows the cache
    assert array_bytes(32 * 2**20) == 128 * 2**20
    assert array_bytes(1000) == array_bytes(Unavailable(reason="none")) == 64 * 2**20
    assert array_bytes(100_000_001) % 4096 == 0
    assert array_bytes(1000, "cuda") == 256 * 2**20


def test_operands_are_random():
    _, b, c = stream._numpy_arrays(10_000)
    assert 0.9 < np.std(b) < 1.1
    assert not np.array_equal(b, c)


@pytest.mark.parametrize(("kernel", "times"), [("copy", 2), ("scale", 2), ("read", 1), ("triad", 3)])
def test_bytes_are_counted_once_for_each_array_that_is_named(monkeypatch, stand_in, kernel, times):
    # arrays of 4096 B, without a write-allocate
    monkeypatch.setitem(stream.LEAST_BYTES, "cpu", 4096)
    one = stream.Pass(kernel, "fake", "cpu", lambda size: lambda: size)
    found = measured(one, observer=stand_in(), plan=PLAN, cache=1024)
    assert found.bytes_moved == times * 4096 == ARRAYS[kernel] * found.subject.array_bytes
    assert "write-allocate is not counted" in found.details["bytes"]


def test_a_cache_that_nobody_knows_is_no_number(monkeypatch, stand_in):
    monkeypatch.setitem(stream.LEAST_BYTES, "cpu", 4096)
    monkeypatch.setattr(stream, "cache_bytes", lambda device: Unavailable(reason="no sysfs"))
    found = measured(stream.Pass("copy", "fake", "cpu", lambda size: lambda: size), observer=stand_in(), plan=PLAN)
    assert found.subject.cache_bytes is None
    assert found.details["cache"] == "not available: no sysfs"


def test_arrays_exceed_the_infinity_cache_that_rocm_does_not_report():
    # an MI300X reports 4 MiB of L2; 256 MiB of Infinity Cache lie behind it: four times that are 1 GiB
    def torch(**properties):
        return SimpleNamespace(cuda=SimpleNamespace(get_device_properties=lambda device: SimpleNamespace(**properties)))

    mi300x = torch(L2_cache_size=4 * 2**20, gcnArchName="gfx942:sramecc+:xnack-")
    assert stream.cache_bytes("cuda", mi300x) == 256 * 2**20
    assert array_bytes(stream.cache_bytes("cuda", mi300x), "cuda") == 2**30
    assert stream.cache_bytes("cuda", torch(L2_cache_size=50 * 2**20)) == 50 * 2**20  # NVIDIA's have no such name
