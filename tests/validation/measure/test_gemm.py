"""Peaks of matrix products: real work, a probe that refuses what is emulated, a search on kernels of known speed."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint_measure.stopwatches import gemm
from rooflint_measure.stopwatches.gemm import NotMeasuredError, measured, peak, plan_of, probe, refuse_emulated, search
from rooflint_measure.stopwatches.products import Kernel
from rooflint_measure.stopwatches.timing import Plan

PLAN = Plan(sample_s=0.0, samples=3, warm_up_s=0.0, limit_s=0.0, least=3)


class Product:
    """A product of that shape, which costs what the fake clock says."""

    def __init__(self, shape):
        self.shape = shape

    def __call__(self):
        return self.shape


class ModelClock:
    """So many op/s, with so many seconds for every call beside."""

    def __init__(self, ops_per_s=1e12, launch_s=0.0):
        self.ops_per_s, self.launch_s = ops_per_s, launch_s

    def seconds(self, call, calls):
        m, n, k = call.shape
        return calls * (2 * m * n * k / self.ops_per_s + self.launch_s)


def kernel(precision="fp32", device="cpu", **ways) -> Kernel:
    return Kernel(precision, "fake", device, ways or {"fake.mm": Product})


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Looks of no length: one call, as the fake clock is exact; a search ends by its own rule."""
    monkeypatch.setattr(gemm, "PROBE_S", 0.001)
    monkeypatch.setattr(gemm, "TRIAL_LIMIT_S", 0.0005)


def test_the_peak_of_a_kernel_of_known_speed_is_that_speed():
    # 1e12 op/s and 10 µs a call: at 4096³ the 10 µs are 0.007 % of 137 ms
    clock = ModelClock(1e12, 10e-6)
    found = peak(kernel(), clock, search_s=60.0)
    m, n, k = found.call.shape
    assert (found.subject.m, found.subject.n, found.subject.k) == (m, n, k)
    assert 2 * found.subject.macs / clock.seconds(found.call, 1) >= 0.99e12


def test_the_fastest_of_the_finalists_is_taken():
    # with 1 ms beside 1e12 op/s the largest product is the fastest, and the finalists differ by per cents
    assert peak(kernel(), ModelClock(1e12, 1e-3), search_s=60.0).call.shape == (4096, 4096, 4096)


def test_the_faster_of_two_ways_is_taken():
    class Slow(Product):
        pass

    class Clock(ModelClock):
        def seconds(self, call, calls):
            return super().seconds(call, calls) * (3 if isinstance(call, Slow) else 1)

    assert peak(kernel(slow=Slow, fast=Product), Clock(), search_s=60.0).call_name == "fast"


def test_shapes_that_do_not_fit_are_passed_over_and_none_is_an_error():
    def small(shape):
        if max(shape) > 512:
            raise RuntimeError("CUDA out of memory")
        return Product(shape)

    assert max(peak(kernel(mm=small), ModelClock(1e12, 1e-5), search_s=60.0).call.shape) <= 512
    with pytest.raises(NotMeasuredError, match="no size from 256 on"):
        peak(kernel(), ModelClock(ops_per_s=1e6), search_s=60.0)


def test_finalists_that_do_not_fit_beside_each_other_are_fewer():
    made = []

    def make(shape):
        made.append(shape)
        if len(made) > found:
            raise RuntimeError("CUDA out of memory")
        return Product(shape)

    found = 10**9
    peak(kernel(mm=make), ModelClock(), search_s=60.0)
    found, made = len(made) - 4, []  # the last five are the finalists: one of them fits
    assert peak(kernel(mm=make), ModelClock(), search_s=60.0).call.shape == made[found - 1]


def test_a_measured_peak_says_how_it_was_called(stand_in):
    found = peak(kernel(), ModelClock(), search_s=60.0)
    row = measured(kernel(), observer=stand_in(), plan=PLAN, found=found)
    assert row.details["call"] == "fake.mm"
    assert row.details["shapes_looked_at"] > 5
    assert row.ops_per_s == pytest.approx(1e12, rel=1e-9)


def test_a_probe_says_what_the_library_said():
    def refused(shape):
        raise RuntimeError("_scaled_mm is only supported on devices with capability 8.9\n and a screenful more")

    with pytest.raises(NotMeasuredError, match=r"^_scaled_mm is only supported on devices with capability 8\.9$"):
        probe(kernel(mm=refused), ModelClock())


def test_a_precision_without_instructions_is_refused_on_a_cpu_with_both_rates():
    # 6.4 of 410 GOP/s is 1.6 %: computed by conversion; 360 of 410 is not
    with pytest.raises(NotMeasuredError, match=r"6\.4 GOP/s, in fp32 at 410"):
        refuse_emulated(kernel("fp16"), 6.4e9, 410e9)
    refuse_emulated(kernel("bf16"), 360e9, 410e9)
    refuse_emulated(kernel("fp64"), 6.4e9, 410e9)  # wide and slow is how some devices are
    refuse_emulated(kernel("fp16", device="cuda"), 6.4e9, 410e9)  # and so is a GPU of 2016 in fp16
    with pytest.raises(NotMeasuredError, match=r"native from 8\.0"):  # fast as it may be
        refuse_emulated(replace(kernel("bf16", device="cuda"), lacks="native from 8.0 on"), 410e9, 410e9)


def test_a_plan_ends_in_its_seconds_and_keeps_samples_shorter_than_a_slice_of_time():
    plan = plan_of(2.0)
    assert plan.limit_s == 2.0
    assert plan.sample_s <= 0.004  # a scheduler's slice on a busy machine


# ---- The search for the best size: it ends on the plateau, and a slow moment does not hide it

SIZES = (256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)


def hill(top: float, width: float):
    """Rates that rise to a plateau around a size, and fall slowly beyond it, alike in all three sides."""

    def rate(shape):
        m, n, k = shape
        far = [abs(side - top) / (width * max(side, top)) for side in (m, n, k)]
        return 1e12 / (1 + sum(far))

    return rate


@given(top=st.sampled_from(SIZES), width=st.floats(1, 30))
def test_the_best_of_all_shapes_is_found_within_two_per_cent(top, width):
    rate = hill(top, width)
    slow_twin = max(rate(shape) for shape in itertools.product(SIZES, repeat=3))
    assert rate(search(rate, 256, 4096).best) >= 0.98 * slow_twin


def test_a_shape_that_is_not_square_is_found():
    # fastest where m is twice as long as n and k
    def rate(shape):
        m, n, k = shape
        return 1e12 / (1 + abs(m / n - 2) + abs(n / k - 1) + abs(n - 1024) / 4096)

    assert search(rate, 256, 4096).best == (2048, 1024, 1024)


def test_all_sides_are_multiples_of_the_tile_and_none_is_larger_than_the_last():
    found = search(hill(1000, 2), 256, 2048, multiple=128)
    assert all(side % 128 == 0 and side <= 2048 for shape in found.rates for side in shape)


def test_what_does_not_fit_is_no_candidate():
    # everything above 512 is out of memory
    found = search(lambda shape: None if max(shape) > 512 else float(shape[0]), 256, 4096)
    assert max(found.best) <= 512
    assert all(max(shape) <= 512 for shape in found.fastest(100))


def test_where_nothing_runs_the_search_ends_with_nothing():
    found = search(lambda _: None, 256, 4096)
    assert found.fastest(3) == []


def test_a_slow_moment_at_the_best_size_is_looked_at_again():
    # the first look at 1024 falls into a slow moment: a tenth; the plateau is flat otherwise beyond it
    looks = {}

    def rate(shape):
        looks[shape] = looks.get(shape, 0) + 1
        slow = shape == (1024, 1024, 1024) and looks[shape] == 1
        return hill(1024, 3)(shape) * (0.8 if slow else 1.0)

    assert rate(search(rate, 256, 4096).best) == pytest.approx(1e12, rel=0.02)
