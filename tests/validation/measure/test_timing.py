"""The loop around stopwatches: known clocks in, raw values out, none lost."""

from rooflint_measure.stopwatches.timing import Plan, Seen, take, take_in_turn


class FakeClock:
    """Each call costs what a list says; the last repeats."""

    def __init__(self, *costs_s):
        self.costs_s, self.asked = list(costs_s), []

    def seconds(self, call, calls):
        self.asked.append((call, calls))
        cost = self.costs_s.pop(0) if len(self.costs_s) > 1 else self.costs_s[0]
        return cost * calls


class FakeWatch:
    """Says in turn what it was given."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def start(self):
        pass

    def stop(self):
        return self.answers.pop(0)


PLAN = Plan(sample_s=0.02, samples=4, warm_up_s=0.1, limit_s=100.0)


def test_a_short_call_is_repeated_until_it_fills_a_sample():
    samples = take(print, clock=FakeClock(1e-4), plan=PLAN)
    assert samples.calls * 1e-4 >= PLAN.sample_s
    assert samples.seconds == (1e-4,) * 4


def test_the_warm_up_is_kept_apart():
    # 1 s for the first call, then 0.05 s a call: two more until 0.1 s are full, none of them counts
    samples = take(print, clock=FakeClock(1.0, 0.05), plan=Plan(0.02, 3, 1.1, 100.0))
    assert samples.warm_up_s == (1.0, 0.05, 0.05)
    assert samples.seconds == (0.05,) * 3


def test_calls_are_taken_in_turn_and_the_turn_is_reversed():
    clock = FakeClock(0.05)
    one, other = object(), object()
    take_in_turn([one, other], clock=clock, plan=Plan(0.02, 4, 0.05, 100.0))
    assert [call for call, _ in clock.asked[2:]] == [one, other, other, one, one, other, other, one]


def test_what_the_watch_sees_stands_beside_the_sample():
    watch = FakeWatch(Seen(0.0), Seen(0.5, 0.25, ("hw_thermal",)), Seen(0.0), Seen(0.0))
    samples = take(print, clock=FakeClock(0.05), plan=PLAN, watch=watch)
    assert samples.stolen_s == (0.0, 0.5, 0.0, 0.0)
    assert samples.throttled == {1: ("hw_thermal",)}
    assert samples.disturbed == (1,)


def test_where_nobody_says_what_was_stolen_none_is_written():
    watch = FakeWatch(Seen(0.0, 0.1), Seen(None, 0.2), Seen(0.0, 0.3), Seen(0.0, 0.4))
    samples = take(print, clock=FakeClock(0.05), plan=PLAN, watch=watch)
    assert samples.stolen_s is None
    assert samples.queued_s == (0.1, 0.2, 0.3, 0.4)


def test_a_slow_call_ends_at_the_limit_but_not_before_the_least():
    # a limit that is over at once: five samples all the same
    samples = take(print, clock=FakeClock(0.05), plan=Plan(0.02, 50, 0.05, 0.0, 5))
    assert len(samples.seconds) == 5
