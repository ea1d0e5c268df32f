"""A wait knows how long it waited, in a time that ticks by itself, so that no test times this machine."""

import pytest

from rooflint_measure.stopwatches import timing, wait
from rooflint_measure.stopwatches.timing import Plan
from rooflint_measure.stopwatches.wait import BusyWait, Waited, check, measured

TICK_NS = 50
PLAN = Plan(sample_s=0.0002, samples=4, warm_up_s=0.0002, limit_s=100.0)


@pytest.fixture(autouse=True)
def ticking(monkeypatch):
    """Every look at the clock costs 50 ns, and nothing else costs anything."""
    now = iter(range(0, 10**12, TICK_NS))
    for module in (wait, timing):
        monkeypatch.setattr(module.time, "perf_counter_ns", lambda: next(now))


def test_a_wait_keeps_how_long_it_waited():
    one = BusyWait(20e-6)
    call = one.call()
    call()
    call()
    assert list(one.waited_ns) == [20_000, 20_000]
    assert one.since(1) == 20e-6


def test_only_the_call_lies_outside_of_the_stamps():
    # 20 µs between the stamps; from the last look of one call to the first of the next is one tick of 50 ns: 0.25 %,
    # and one tick more for the whole sample
    found = check(20e-6, plan=PLAN)
    assert set(found.waited_s) == {20e-6}
    assert len(found.waited_s) == len(found.reported_s) == PLAN.samples
    assert found.bias == pytest.approx(0.0025, rel=0.1)


def test_each_sample_is_check_its_own_wait():
    # a wait that was interrupted waited longer, and says so: 30 µs reported of 30 µs are no bias
    assert Waited((20e-6, 30e-6, 20e-6), (20e-6, 30e-6, 20e-6)).bias == 0
    assert Waited((21e-6,) * 3, (20e-6,) * 3).bias == pytest.approx(0.05, rel=1e-9)


def test_a_measured_wait_carries_its_own_word(stand_in):
    found = measured(20e-6, observer=stand_in(), plan=PLAN)
    assert found.name == "wait-20us"
    assert found.details["waited_s"] == 20e-6
    assert 0 < found.details["bias"] < 0.01
