"""One measurement around a call: looks before, during and after, a reference in turn, energy where it is metered."""

import time

import pytest

from rooflint.base.errors import RooflintError
from rooflint_measure.record.measurement import Energy, Gemm, Unavailable, Wait
from rooflint_measure.stopwatches.cuda import EventClock
from rooflint_measure.stopwatches.session import LOOKS, measure
from rooflint_measure.stopwatches.timing import Plan

PLAN = Plan(sample_s=0.02, samples=8, warm_up_s=0.02, limit_s=100.0)
PRODUCT = Gemm(precision="fp32", library="mkl", m=10, n=10, k=10)


class FakeClock:
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
    found = measure(PRODUCT, lambda: None, observer=stand_in(), plan=PLAN, clock=FakeClock(), bytes_moved=600.0)
    assert found.ops_per_s == pytest.approx(40_000, rel=1e-12, abs=0)
    assert found.bytes_per_s == pytest.approx(12_000, rel=1e-12, abs=0)


def test_the_machine_is_looked_at_before_between_and_after_the_samples(stand_in):
    observer = stand_in()
    found = measure(PRODUCT, lambda: None, observer=observer, plan=PLAN, clock=FakeClock())
    states = [found.conditions.before, *found.conditions.during, found.conditions.after]
    assert [state.clock_hz - 1e9 for state in states] == [1, 2, 3, 4, 5]
    assert len(found.conditions.during) == LOOKS


def test_a_machine_is_looked_at_also_where_the_time_is_over_before_the_samples(stand_in):
    # five samples of 30 ms, which is more than a quarter of the limit each
    plan = Plan(sample_s=0.001, samples=400, warm_up_s=0.001, limit_s=0.1, least=5)
    found = measure(PRODUCT, lambda: time.sleep(0.03), observer=stand_in(), plan=plan)
    assert len(found.samples.seconds) < 10
    assert len(found.conditions.during) == LOOKS


def test_a_device_with_a_queue_is_looked_at_while_it_works(stand_in):
    happened = []

    class Queue(FakeClock, EventClock):
        def __init__(self):
            FakeClock.__init__(self)

        def __setattr__(self, name, value):  # EventClock is frozen
            object.__setattr__(self, name, value)

        def occupy(self, call, seconds):
            happened.append("at work")

    observer = stand_in()
    looked = observer.state
    observer.state = lambda: happened.append("looked at") or looked()
    measure(PRODUCT, lambda: None, observer=observer, plan=PLAN, clock=Queue())
    assert happened == ["looked at", *["at work", "looked at"] * LOOKS, "looked at"]


def test_a_reference_is_timed_in_turn_with_the_subject(stand_in):
    clock = FakeClock()
    one, other = (lambda: "subject"), (lambda: "reference")
    found = measure(Wait(wanted_s=1), one, observer=stand_in(), plan=PLAN, clock=clock, reference=(PRODUCT, other))
    assert [call() for call in clock.asked[2:6]] == ["subject", "reference", "reference", "subject"]
    assert found.reference.subject == PRODUCT
    assert len(found.reference.samples.seconds) == PLAN.samples


def test_energy_is_metered_only_where_it_is_asked_for(stand_in):
    made = []
    meter = FakeMeter()
    plain = measure(PRODUCT, lambda: None, observer=stand_in(meter), plan=PLAN, clock=FakeClock())
    assert plain.energy == Unavailable(reason="nobody asked for energy")
    found = measure(
        PRODUCT, lambda: made.append(1), observer=stand_in(meter), plan=PLAN, clock=FakeClock(), energy_s=0.001
    )
    # 100 J a call of one second in the meter's own time, 40 W of them idle
    assert (found.energy.call_j, found.energy.dynamic_call_j) == (100.0, 60.0)
    assert meter.idle_s == 0.001
    assert found.energy.calls <= len(made)


def test_a_source_that_is_not_there_gives_its_reason_and_no_zero(stand_in):
    found = measure(PRODUCT, lambda: None, observer=stand_in(), plan=PLAN, clock=FakeClock(), energy_s=0.001)
    assert found.energy == Unavailable(reason="a stand-in")


def test_a_meter_that_fails_costs_the_energy_and_no_time(stand_in):
    observer = stand_in(FakeMeter(fails=True))
    found = measure(PRODUCT, lambda: None, observer=observer, plan=PLAN, clock=FakeClock(), energy_s=0.001)
    assert found.energy == Unavailable(reason="the meter fell off")
    assert len(found.samples.seconds) == PLAN.samples
