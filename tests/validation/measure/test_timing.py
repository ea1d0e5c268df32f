"""The loop around stopwatches, and one measurement with its conditions and energy."""

import time
from itertools import count

import pytest

from rooflint.base.errors import RooflintError
from rooflint_measure.record import Energy, Gemm, Unavailable, Wait
from rooflint_measure.sensors.host import Disturbance, Watch
from rooflint_measure.sensors.power import PowerLost
from rooflint_measure.stopwatches import timing
from rooflint_measure.stopwatches.clocks import EventClock, HostClock
from rooflint_measure.stopwatches.timing import (
    STATES,
    BusyWait,
    Plan,
    bias,
    measure,
    measured_wait,
    take_in_turn,
)


class FakeClock:
    """Each call costs what a list says; the last repeats."""

    def __init__(self, *costs_s):
        self.costs_s, self.asked = list(costs_s), []

    def seconds(self, call, calls):
        self.asked.append((call, calls))
        cost = self.costs_s.pop(0) if len(self.costs_s) > 1 else self.costs_s[0]
        return cost * calls


class FakeWatch(Watch):
    """Says in turn what it was given."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def start(self):
        pass

    def stop(self):
        return self.answers.pop(0)


PLAN = Plan(sample_s=0.02, samples=4, warm_up_s=0.1, limit_s=100.0)


def test_a_short_call_is_repeated_until_it_fills_a_sample():
    (samples,) = take_in_turn([print], clock=FakeClock(1e-4), plan=PLAN)
    assert samples.calls * 1e-4 >= PLAN.sample_s
    assert samples.seconds == (1e-4,) * 4


def test_the_warm_up_is_kept_apart():
    # 1 s for the first call, then 0.05 s a call: two more until 0.1 s are full, none of them counts
    (samples,) = take_in_turn([print], clock=FakeClock(1.0, 0.05), plan=Plan(0.02, 3, 1.1, 100.0))
    assert samples.warm_up_s == (1.0, 0.05, 0.05)
    assert samples.seconds == (0.05,) * 3


def test_calls_are_taken_in_turn_and_the_turn_is_reversed():
    clock = FakeClock(0.05)
    one, other = object(), object()
    take_in_turn([one, other], clock=clock, plan=Plan(0.02, 4, 0.05, 100.0))
    assert [call for call, _ in clock.asked[2:]] == [one, other, other, one, one, other, other, one]


def test_what_the_watch_sees_stands_beside_the_sample():
    watch = FakeWatch(Disturbance(0.0), Disturbance(0.5, 0.25, ("hw_thermal",)), Disturbance(0.0), Disturbance(0.0))
    (samples,) = take_in_turn([print], clock=FakeClock(0.05), plan=PLAN, watch=watch)
    assert samples.stolen_s == (0.0, 0.5, 0.0, 0.0)
    assert samples.throttled == {1: ("hw_thermal",)}
    assert samples.disturbed == (1,)


def test_where_nobody_says_what_was_stolen_none_is_written():
    watch = FakeWatch(Disturbance(0.0, 0.1), Disturbance(None, 0.2), Disturbance(0.0, 0.3), Disturbance(0.0, 0.4))
    (samples,) = take_in_turn([print], clock=FakeClock(0.05), plan=PLAN, watch=watch)
    assert samples.stolen_s is None
    assert samples.queued_s == (0.1, 0.2, 0.3, 0.4)


def test_a_slow_call_ends_at_the_limit_but_not_before_the_least():
    # a limit that is over at once: five samples all the same
    (samples,) = take_in_turn([print], clock=FakeClock(0.05), plan=Plan(0.02, 50, 0.05, 0.0, 5))
    assert len(samples.seconds) == 5


# ---- samples as short as the load asks for


class SharedCore(HostClock):
    """A call takes 20 µs; a sample of more than `slice_s` loses the core, and gets it back 10 ms later."""

    def __init__(self, slice_s):
        self.slice_s, self.switches = slice_s, 0

    def seconds(self, call, calls):
        took_s = 20e-6 * calls
        lost = took_s > self.slice_s
        self.switches += lost
        return took_s + 0.01 * lost


def taken(monkeypatch, clock, plan=None, switches=True):
    monkeypatch.setattr(timing, "involuntary_switches", lambda: clock.switches if switches else None)
    monkeypatch.setattr(timing, "shortest_s", lambda: 1e-4)
    (samples,) = take_in_turn([print], clock=clock, plan=plan)
    return samples


def test_on_a_shared_core_samples_are_halved_until_they_fit_into_a_slice(monkeypatch):
    # 20 ms, 10, 5, 2.5: below 3 ms; 2.5 ms / 20 µs = 125 calls; 25 samples × 20 ms / 2.5 ms = 200
    samples = taken(monkeypatch, SharedCore(3e-3))
    assert (samples.sample_s, samples.calls, len(samples.seconds)) == (0.0025, 125, 200)
    assert set(samples.preempted) == {0}
    assert samples.best_s == pytest.approx(20e-6, rel=1e-12)


def test_samples_are_not_shorter_than_the_clock_can_tell_and_say_that_they_were_disturbed(monkeypatch):
    # half of 156 µs would be below 100 µs: 8 calls of 20 µs, which are still longer than the slice
    samples = taken(monkeypatch, SharedCore(30e-6))
    assert (samples.sample_s, samples.calls) == (0.02 / 128, 8)
    assert len(samples.seconds) == 25 * timing.MOST_TIMES
    assert samples.disturbed == tuple(range(len(samples.seconds)))


def test_on_a_quiet_machine_samples_take_20_ms(monkeypatch):
    samples = taken(monkeypatch, SharedCore(1.0))
    assert (samples.sample_s, len(samples.seconds)) == (0.02, 25)
    assert samples.calls * 20e-6 >= 0.02


def test_where_switches_are_not_counted_samples_take_20_ms_and_nothing_is_said_of_them(monkeypatch):
    samples = taken(monkeypatch, SharedCore(3e-3), switches=False)
    assert (samples.sample_s, len(samples.seconds), samples.preempted) == (0.02, 25, None)


def test_a_length_that_the_plan_gives_is_kept(monkeypatch):
    samples = taken(monkeypatch, SharedCore(3e-3), Plan(sample_s=0.005, samples=6))
    assert (samples.sample_s, len(samples.seconds)) == (0.005, 6)
    assert samples.preempted == (1,) * 6


def test_a_call_that_is_longer_than_a_slice_makes_a_sample_alone(monkeypatch):
    clock = SharedCore(1e-6)
    clock.seconds = lambda call, calls: (setattr(clock, "switches", clock.switches + 1), 0.05 * calls)[1]
    samples = taken(monkeypatch, clock)
    assert (samples.calls, len(samples.seconds)) == (1, 25)
    assert samples.preempted == (1,) * 25


def test_samples_of_a_device_do_not_depend_on_the_load_of_the_host(monkeypatch):
    monkeypatch.setattr(timing, "involuntary_switches", count().__next__)
    (samples,) = take_in_turn([print], clock=FakeClock(1e-4))
    assert (samples.sample_s, len(samples.seconds)) == (0.02, 25)


def test_calls_that_are_measured_in_turn_have_samples_of_one_length(monkeypatch):
    # the load begins after the first call has warmed up
    clock, seen = SharedCore(1.0), []

    def later(call, calls):
        seen.append(call)
        clock.slice_s = 1.0 if seen[-1] is print else 3e-3
        return SharedCore.seconds(clock, call, calls)

    monkeypatch.setattr(clock, "seconds", later)
    monkeypatch.setattr(timing, "involuntary_switches", lambda: clock.switches)
    monkeypatch.setattr(timing, "shortest_s", lambda: 1e-4)
    quiet, loaded = take_in_turn([print, repr], clock=clock)
    assert (quiet.sample_s, quiet.calls) == (loaded.sample_s, loaded.calls) == (0.0025, 125)
    assert len(quiet.seconds) == len(loaded.seconds) == 200


def test_a_clock_that_did_not_move_at_first_does_not_set_the_length(monkeypatch):
    clock, times = SharedCore(1.0), count()
    clock.seconds = lambda call, calls: 0.0 if next(times) < 2 else 5e-4 * calls
    samples = taken(monkeypatch, clock)
    assert samples.calls * 5e-4 == pytest.approx(0.02, rel=0.2)


def test_a_watch_is_told_how_many_samples_follow(monkeypatch):
    told = []

    class Told(Watch):
        def expect(self, samples):
            told.append(samples)

    clock = SharedCore(3e-3)
    monkeypatch.setattr(timing, "involuntary_switches", lambda: clock.switches)
    monkeypatch.setattr(timing, "shortest_s", lambda: 1e-4)
    take_in_turn([print, repr], clock=clock, watch=Told())
    assert told == [400]  # 200 of each


# ---- one measurement

LOOSE_PLAN = Plan(sample_s=0.02, samples=8, warm_up_s=0.02, limit_s=100.0)
PRODUCT = Gemm(precision="fp32", library="mkl", m=10, n=10, k=10)


class SteadyClock:
    """Every call costs the same; what was called is kept."""

    def __init__(self, cost_s=0.05):
        self.cost_s, self.asked = cost_s, []

    def seconds(self, call, calls):
        self.asked.append(call)
        for _ in range(calls):
            call()
        return self.cost_s * calls


class FakeMeter:
    """100 W while it runs, 40 W before."""

    name = "fake meter"

    def __init__(self, fails=False):
        self.fails, self.idle_s = fails, None

    def idle_w(self, seconds):
        self.idle_s = seconds
        return 40.0

    def metered(self, run, idle_w):
        calls = run()
        if self.fails:
            raise RooflintError("the meter fell off")
        return Energy(source=self.name, joules=100.0 * calls, seconds=calls, calls=calls, idle_w=idle_w)


def test_a_known_kernel_at_a_known_time_has_a_known_rate(stand_in):
    # 2 × 10³ op in 0.05 s are 40 000 op/s; 600 B in 0.05 s are 12 000 B/s
    found = measure(PRODUCT, lambda: None, observer=stand_in(), plan=LOOSE_PLAN, clock=SteadyClock(), bytes_moved=600.0)
    assert found.ops_per_s == pytest.approx(40_000, rel=1e-12, abs=0)
    assert found.bytes_per_s == pytest.approx(12_000, rel=1e-12, abs=0)


def test_the_machine_is_looked_at_before_between_and_after_the_samples(stand_in):
    observer = stand_in()
    found = measure(PRODUCT, lambda: None, observer=observer, plan=LOOSE_PLAN, clock=SteadyClock())
    states = [found.conditions.before, *found.conditions.during, found.conditions.after]
    assert [state.clock_hz - 1e9 for state in states] == [1, 2, 3, 4, 5]
    assert len(found.conditions.during) == STATES
    read_at_s = [state.read_at_s for state in states]
    assert 0 <= time.time() - read_at_s[-1] < 60  # s since 1970
    assert read_at_s == sorted(read_at_s)


def test_a_machine_is_looked_at_also_where_the_time_is_over_before_the_samples(stand_in):
    # five samples of 30 ms, which is more than a quarter of the limit each
    plan = Plan(sample_s=0.001, samples=400, warm_up_s=0.001, limit_s=0.1, least=5)
    found = measure(PRODUCT, lambda: time.sleep(0.03), observer=stand_in(), plan=plan)
    assert len(found.samples.seconds) < 10
    assert len(found.conditions.during) == STATES


def test_a_device_with_a_queue_is_looked_at_while_it_works(stand_in):
    happened = []

    class Queue(SteadyClock, EventClock):
        def __init__(self):
            SteadyClock.__init__(self)

        def __setattr__(self, name, value):  # EventClock is frozen
            object.__setattr__(self, name, value)

        def occupy(self, call, seconds):
            happened.append("at work")

    observer = stand_in()
    looked = observer.state
    observer.state = lambda: happened.append("looked at") or looked()
    measure(PRODUCT, lambda: None, observer=observer, plan=LOOSE_PLAN, clock=Queue())
    assert happened == ["looked at", *["at work", "looked at"] * STATES, "looked at"]


def test_a_reference_is_timed_in_turn_with_the_subject(stand_in):
    clock = SteadyClock()
    one, other = (lambda: "subject"), (lambda: "reference")
    found = measure(
        Wait(wanted_s=1), one, observer=stand_in(), plan=LOOSE_PLAN, clock=clock, reference=(PRODUCT, other)
    )
    assert [call() for call in clock.asked[2:6]] == ["subject", "reference", "reference", "subject"]
    assert found.reference.subject == PRODUCT
    assert len(found.reference.samples.seconds) == LOOSE_PLAN.samples


def test_energy_is_metered_only_where_it_is_asked_for(stand_in):
    made = []
    meter = FakeMeter()
    plain = measure(PRODUCT, lambda: None, observer=stand_in(meter), plan=LOOSE_PLAN, clock=SteadyClock())
    assert plain.energy == Unavailable(reason="not requested")
    found = measure(
        PRODUCT, lambda: made.append(1), observer=stand_in(meter), plan=LOOSE_PLAN, clock=SteadyClock(), energy_s=0.001
    )
    # 100 J a call of one second in the meter's own time, 40 W of them idle
    assert (found.energy.call_j, found.energy.idle_w) == (100.0, 40.0)
    assert meter.idle_s == 0.001
    assert found.energy.calls <= len(made)


def test_the_idle_power_after_a_run_stands_beside_that_before(stand_in):
    readings = iter([40.0, 55.0])
    meter = FakeMeter()
    meter.idle_w = lambda seconds: next(readings)
    found = measure(
        PRODUCT, lambda: None, observer=stand_in(meter), plan=LOOSE_PLAN, clock=SteadyClock(), energy_s=0.001
    )
    assert (found.energy.idle_w, found.energy.warm_idle_w) == (40.0, 55.0)


def test_a_meter_that_fails_after_the_run_costs_only_the_warm_idle_power(stand_in):
    readings = iter([40.0])

    def idle_w(seconds):
        for reading in readings:
            return reading
        raise PowerLost("the meter fell off")

    meter = FakeMeter()
    meter.idle_w = idle_w
    found = measure(
        PRODUCT, lambda: None, observer=stand_in(meter), plan=LOOSE_PLAN, clock=SteadyClock(), energy_s=0.001
    )
    assert (found.energy.call_j, found.energy.warm_idle_w) == (100.0, None)


def test_a_source_that_is_not_there_gives_its_reason_and_no_zero(stand_in):
    found = measure(PRODUCT, lambda: None, observer=stand_in(), plan=LOOSE_PLAN, clock=SteadyClock(), energy_s=0.001)
    assert found.energy == Unavailable(reason="a stand-in")


def test_a_meter_that_fails_costs_the_energy_and_no_time(stand_in):
    observer = stand_in(FakeMeter(fails=True))
    found = measure(PRODUCT, lambda: None, observer=observer, plan=LOOSE_PLAN, clock=SteadyClock(), energy_s=0.001)
    assert found.energy == Unavailable(reason="the meter fell off")
    assert len(found.samples.seconds) == LOOSE_PLAN.samples


# ---- A wait knows how long it waited, in a time that ticks by itself, so that no test times this machine

TICK_NS = 50
WAIT_PLAN = Plan(sample_s=0.0002, samples=4, warm_up_s=0.0002, limit_s=100.0)


@pytest.fixture
def ticking(monkeypatch):
    """Every look at the clock costs 50 ns, and nothing else costs anything."""
    now = iter(range(0, 10**12, TICK_NS))
    monkeypatch.setattr(time, "perf_counter_ns", lambda: next(now))


def test_a_wait_keeps_how_long_it_waited(ticking):
    one = BusyWait(20e-6)
    call = one.call()
    call()
    call()
    assert list(one.waited_ns) == [20_000, 20_000]
    assert one.since(1) == 20e-6


def test_only_the_call_lies_outside_of_the_stamps(ticking, stand_in):
    # 20 µs between the stamps; from the last look of one call to the first of the next is one tick of 50 ns: 0.25 %,
    # and one tick more for the whole sample
    found = measured_wait(20e-6, observer=stand_in(), plan=WAIT_PLAN)
    assert len(found.samples.seconds) == WAIT_PLAN.samples
    assert found.details["waited_s"] == 20e-6
    assert found.details["bias"] == pytest.approx(0.0025, rel=0.1)
    assert found.name == "wait-20us"


def test_each_sample_is_compared_with_its_own_wait():
    # a wait that was interrupted waited longer, and says so: 30 µs reported of 30 µs are no bias
    assert bias((20e-6, 30e-6, 20e-6), (20e-6, 30e-6, 20e-6)) == 0
    assert bias((21e-6,) * 3, (20e-6,) * 3) == pytest.approx(0.05, rel=1e-9)
