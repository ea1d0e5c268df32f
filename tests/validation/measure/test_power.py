"""Counters of energy: differences, wraps, steps, and runs that are too short or too long for them."""

import math
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint_measure.record import Unavailable
from rooflint_measure.sensors.power import CounterSource, PowerLost, SampledSource, Unwrapped, integral_j


@given(st.integers(2, 10**6), st.lists(st.integers(0, 10**9), max_size=30), st.integers(0, 10**6))
def test_a_counter_that_wraps_grows_all_the_same(values, steps, start):
    steps = [step % values for step in steps]  # less than one round between two looks
    raw = [start % values]
    for step in steps:
        raw.append((raw[-1] + step) % values)
    counter = Unwrapped(iter(raw).__next__, values)
    assert [counter() for _ in raw] == [sum(steps[:number]) for number in range(len(raw))]


def source(clock, curve, *, refresh_s=0.02, **settings):
    """A counter in mJ that is brought up to date every `refresh_s`."""

    def read_j():
        seen_s = clock.now_s // refresh_s * refresh_s
        return round(curve.energy_j(seen_s) * 1e3) / 1e3

    settings = {"unit_j": 1e-3, **settings}
    return CounterSource("a counter", read_j, clock=clock, sleep=clock.sleep, **settings)


def lasting(clock, seconds, calls=10):
    def run():
        clock.sleep(seconds)
        return calls

    return run


@pytest.mark.parametrize("shape", ["constant", "ramp", "sine"])
def test_energy_of_a_run_is_the_integral_of_its_power_within_a_step(fakes, shape):
    curve = {
        "constant": fakes.constant(400.0),
        "ramp": fakes.ramp(100.0, 150.0),
        "sine": fakes.sine(400.0, 100.0, 0.7),
    }[shape]
    clock = fakes.FakeClock()
    clock.sleep(1.0)
    power = source(clock, curve)
    idle_w = power.idle_w(0.5)
    begin_s = clock.now_s
    found = power.metered(lasting(clock, 2.0), idle_w)
    wanted = curve.energy_j(clock.now_s) - curve.energy_j(begin_s)
    assert found.seconds == pytest.approx(2.0, abs=1e-3)
    # the counter is up to 20 ms old at either end, which at 550 W is 11 J
    assert found.joules == pytest.approx(wanted, abs=0.021 * 550)
    assert found.resolution_j == pytest.approx(0.02 * found.mean_w, rel=0.1)


def test_idle_power_is_read_from_step_to_step_and_so_free_of_the_step(fakes):
    # 90 W exactly between two steps; between any two moments it would be off by up to 20 ms / 0.3 s = 7 %
    clock = fakes.FakeClock()
    assert source(clock, fakes.constant(90.0)).idle_w(0.3) == pytest.approx(90.0, rel=0.01)


def test_idle_energy_is_included_and_its_power_stands_beside(fakes):
    # 400 W for 2 s in 10 calls, whatever of it is idle: 400 × 2 / 10 = 80 J
    clock = fakes.FakeClock()
    found = source(clock, fakes.constant(400.0), refresh_s=1e-4).metered(lasting(clock, 2.0), 90.0)
    assert found.call_j == pytest.approx(80.0, rel=1e-3)
    assert found.idle_w == 90.0


def test_a_run_between_two_steps_has_no_energy_rather_than_zero(fakes):
    clock = fakes.FakeClock()
    found = source(clock, fakes.constant(400.0), refresh_s=1.0).metered(lasting(clock, 0.1), 90.0)
    assert isinstance(found, Unavailable)
    assert "did not move in a run of 0.1 s; run for longer" in found.reason


def test_a_run_that_may_wrap_twice_has_no_energy(fakes):
    clock = fakes.FakeClock()
    found = source(clock, fakes.constant(400.0), longest_s=60.0).metered(lasting(clock, 61.0), 90.0)
    assert isinstance(found, Unavailable)
    assert "may wrap twice" in found.reason


def test_a_counter_that_stands_still_has_no_idle_power(fakes):
    clock = fakes.FakeClock()
    with pytest.raises(PowerLost, match=r"did not move twice in 0\.2 s"):
        source(clock, fakes.constant(0.0)).idle_w(0.2)


# ---- The integral of power against what calculus says, whatever the moments of the samples

TIMES = st.lists(st.floats(0.0, 100.0), min_size=2, max_size=50, unique=True).map(sorted)
POWERS = st.floats(0.0, 1000.0)


@given(TIMES, POWERS, POWERS)
def test_a_ramp_is_integrated_exactly_whenever_it_is_sampled(times, begin_w, slope):
    # ∫(P₀ + s·t) dt = P₀·(t₁ − t₀) + s·(t₁² − t₀²)/2; a constant is the ramp with s = 0
    first, last = times[0], times[-1]
    wanted = begin_w * (last - first) + slope * (last**2 - first**2) / 2
    assert integral_j(times, [begin_w + slope * t for t in times]) == pytest.approx(wanted, rel=1e-9, abs=1e-6)


@given(TIMES, st.data())
def test_energies_of_two_parts_add_up(times, data):
    powers = data.draw(st.lists(POWERS, min_size=len(times), max_size=len(times)))
    cut = data.draw(st.integers(0, len(times) - 1))
    if 0 < cut < len(times) - 1:
        parts = integral_j(times[: cut + 1], powers[: cut + 1]) + integral_j(times[cut:], powers[cut:])
        assert integral_j(times, powers) == pytest.approx(parts, rel=1e-9, abs=1e-9)


def test_a_sine_is_integrated_to_the_square_of_the_step():
    # 400 W + 100 W · sin(2πt) over half a second: 200 J + 100/π J = 231.8 J; trapezoids miss (Δt·ω)²/12 of the latter
    times = [number / 200 for number in range(101)]
    powers = [400 + 100 * math.sin(2 * math.pi * t) for t in times]
    wanted = 200 + 100 / math.pi
    assert integral_j(times, powers) == pytest.approx(wanted, abs=(2 * math.pi / 200) ** 2 / 12 * 100 / math.pi * 1.01)


def test_one_sample_is_no_integral():
    with pytest.raises(PowerLost, match="at least two samples"):
        integral_j([1.0], [400.0])


# ---- Power sampled beside a run: both ends included, integrated, and honest about a meter that goes away


def metered(fakes, curve, seconds=0.05):
    """A run of some real time, so that the thread samples; what is integrated is the fake time."""
    clock = fakes.FakeClock(step_s=0.25)
    power = SampledSource("a meter", lambda: curve.power_w(clock.now_s + clock.step_s), interval_s=0.001, clock=clock)
    begin_s = clock.now_s + clock.step_s
    found = power.metered(lambda: time.sleep(seconds) or 7, 20.0)
    return found, curve.energy_j(clock.now_s) - curve.energy_j(begin_s), clock.now_s - begin_s


@pytest.mark.parametrize("shape", ["constant", "ramp"])
def test_what_changes_evenly_is_integrated_exactly(fakes, shape):
    curve = {"constant": fakes.constant(400.0), "ramp": fakes.ramp(50.0, 10.0)}[shape]
    found, wanted_j, wanted_s = metered(fakes, curve)
    assert found.seconds == wanted_s
    assert found.joules == pytest.approx(wanted_j)
    assert (found.calls, found.idle_w, found.source) == (7, 20.0, "a meter")


def test_a_wave_is_integrated_as_well_as_it_is_sampled(fakes):
    # eight samples a period: trapezoids are off by (ω·Δt)²/12 = 5 % of the swing's part at the most
    found, wanted_j, _ = metered(fakes, fakes.sine(400.0, 100.0, 2.0))
    assert found.joules == pytest.approx(wanted_j, abs=0.06 * 100.0 * 2.0)


def test_a_run_of_no_time_has_a_sample_at_either_end(fakes):
    found, wanted_j, _ = metered(fakes, fakes.constant(400.0), seconds=0.0)
    assert found.joules == pytest.approx(wanted_j)


def test_a_meter_that_goes_away_leaves_no_energy_and_the_run_goes_on():
    readings = iter([400.0])

    def read_w():
        try:
            return next(readings)
        except StopIteration:
            raise PowerLost("NVML: GPU is lost") from None

    found = SampledSource("a meter", read_w, interval_s=0.001).metered(lambda: time.sleep(0.02) or 3, 20.0)
    assert found == Unavailable(reason="NVML: GPU is lost")


def test_a_meter_that_is_gone_from_the_start_has_no_idle_power():
    def read_w():
        raise PowerLost("NVML: GPU is lost")

    with pytest.raises(PowerLost, match="GPU is lost"):
        SampledSource("a meter", read_w).idle_w(0.001)


def test_an_error_of_the_run_is_the_runs_own():
    with pytest.raises(ZeroDivisionError):
        SampledSource("a meter", lambda: 1.0).metered(lambda: 1 // 0, 0.0)


def test_idle_power_is_the_average():
    assert SampledSource("a meter", lambda: 90.0, interval_s=0.001).idle_w(0.01) == pytest.approx(90.0)


def test_samples_that_come_unevenly_weigh_by_the_time_between_them():
    # 100 W, after 1 s 300 W, after 9 more 300 W: 200 × 1 + 300 × 9 = 2900 J; the mean of three samples has 2333
    times, powers, seen = iter([0.0, 1.0, 10.0]), iter([100.0, 300.0, 300.0]), threading.Event()

    def clock():
        now_s = next(times)
        if now_s == 1.0:
            seen.set()
        return now_s

    source = SampledSource("a meter", lambda: next(powers), interval_s=0.5, clock=clock)
    found = source.metered(lambda: seen.wait(5) and 3, 20.0)
    assert (found.joules, found.seconds) == (pytest.approx(2900.0), 10.0)
