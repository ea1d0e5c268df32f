"""Two versions in turn: who is timed when, what is kept, and when it is measured again."""

import gc
import itertools
import sys
import time
from pathlib import Path

import pytest

from rooflint_measure.compare import ab
from rooflint_measure.compare.ab import (
    Command,
    Comparison,
    ProcessError,
    Sample,
    Side,
    Timing,
    Turns,
    compare,
    compare_calls,
    sides_of,
    take_blocks,
)
from rooflint_measure.compare.blocks import BLOCKS, Outcome
from rooflint_measure.sensors.host import Disturbance
from rooflint_measure.stopwatches import timing
from rooflint_measure.stopwatches.clocks import HostClock

PAIRS = 4


class Listed:
    """Sides that answer from lists, and who was asked in which order."""

    def __init__(self, base, head):
        self.order = ""
        self.base = Side(self._answering("A", base))
        self.head = Side(self._answering("B", head))

    def _answering(self, name, times_s):
        times_s = iter(times_s)

        def sample_s():
            self.order += name
            return next(times_s)

        return sample_s


class Watching:
    """Says of each sample what a list says."""

    def __init__(self, answers):
        self.answers = iter(answers)

    def start(self):
        pass

    def stop(self):
        return next(self.answers)


def steady(base_s=1.0, head_s=1.0) -> Listed:
    return Listed(itertools.repeat(base_s), itertools.repeat(head_s))


def test_versions_take_turns_and_every_other_block_begins_with_the_head():
    listed = steady()
    list(take_blocks(listed.base, listed.head, count=2, pairs=PAIRS))
    assert listed.order == "ABBAABBA" + "BAABBAAB"


def test_every_raw_value_is_kept_in_the_order_in_which_it_came():
    listed = Listed([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0])
    (block,) = take_blocks(listed.base, listed.head, count=1, pairs=PAIRS)
    assert block.base.seconds == (1.0, 2.0, 3.0, 4.0)
    assert block.head.seconds == (5.0, 6.0, 7.0, 8.0)


def test_what_disturbed_a_sample_stands_beside_it(monkeypatch):
    monkeypatch.setattr(timing, "involuntary_switches", lambda: 0)  # what this machine does is another matter
    listed = steady()
    watch = Watching([Disturbance(0.0), Disturbance(0.5), Disturbance(0.0, reasons=("hw_thermal",)), Disturbance(0.0)])
    (block,) = take_blocks(listed.base, listed.head, count=1, pairs=2, watch=watch)  # A B B A
    assert block.head.stolen_s == (0.5, 0.0)
    assert block.head.throttled == {1: ("hw_thermal",)}
    assert block.head.disturbed == (0, 1)
    assert block.base.disturbed == ()


def test_where_nobody_says_what_was_stolen_none_is_written():
    listed = steady()
    (block,) = take_blocks(listed.base, listed.head, count=1, pairs=2)
    assert block.base.stolen_s is None


def test_a_decided_comparison_is_measured_once():
    listed = steady(1.0, 1.1)
    found = compare(listed.base, listed.head, pairs=PAIRS)
    assert found.outcome is Outcome.SLOWER
    assert found.ratio == pytest.approx(1.1, rel=1e-12)
    assert found.reason == "6 of 6 blocks are slower by more than 2 %"
    assert len(found.attempts) == 1
    assert len(listed.order) == BLOCKS * 2 * PAIRS


@pytest.mark.parametrize(
    ("first", "attempts", "reason"),
    [
        (5, 2, "11 of 12 blocks are slower by more than 2 %; measured twice"),
        (3, 3, "15 of 18 blocks are slower by more than 2 %; measured three times"),
    ],
)
def test_an_undecided_comparison_is_measured_again_and_all_measurements_decide_together(first, attempts, reason):
    # so many of the first six blocks are slower; then all are
    begin = [1.1] * first * PAIRS + [1.0] * (BLOCKS - first) * PAIRS
    listed = Listed(itertools.repeat(1.0), itertools.chain(begin, itertools.repeat(1.1)))
    found = compare(listed.base, listed.head, pairs=PAIRS)
    assert found.outcome is Outcome.SLOWER
    assert (len(found.attempts), found.reason) == (attempts, reason)


def test_it_is_not_measured_a_fourth_time():
    listed = Listed(itertools.repeat(1.0), itertools.cycle([1.1] * 3 * PAIRS + [1.0] * 3 * PAIRS))
    heard = []
    found = compare(listed.base, listed.head, pairs=PAIRS, advance=lambda: heard.append(1))
    assert found.outcome is Outcome.SPLIT
    assert len(found.attempts) == 3
    assert len(heard) == 3 * BLOCKS


def test_stolen_time_in_too_many_blocks_leaves_it_undecided():
    listed = steady(1.0, 1.1)
    found = compare(listed.base, listed.head, pairs=PAIRS, watch=Watching(itertools.repeat(Disturbance(0.2))))
    assert found.outcome is Outcome.DISTURBED
    assert found.outcome.verdict == "undecided"


def test_a_comparison_survives_being_written_down():
    listed = steady(1.0, 1.1)
    found = compare(listed.base, listed.head, pairs=PAIRS)
    assert Comparison.model_validate_json(found.model_dump_json()) == found


class Ticking:
    """A clock under which each call takes as long as the call says."""

    def seconds(self, call, calls):
        return call() * calls


def test_both_calls_are_made_equally_often_in_a_sample():
    # 10 µs and 20 µs to fill 1 ms: 100 calls of the faster one, and as many of the other
    turns = Turns(sample_s=1e-3, warm_up_s=0.01)
    base, head = sides_of(lambda: 1e-5, lambda: 2e-5, turns, Ticking())
    assert base.calls == head.calls >= 100
    assert base.sample() == pytest.approx(1e-5, rel=1e-12)


def test_calls_are_compared_by_their_own_times():
    found = compare_calls(lambda: 1.00e-3, lambda: 1.05e-3, turns=Turns(pairs=4, warm_up_s=0.0), clock=Ticking())
    assert found.outcome is Outcome.SLOWER
    assert found.ratio == pytest.approx(1.05, rel=1e-12)


def test_a_clock_that_stands_still_ends_all_the_same():
    found = compare_calls(lambda: 0.0, lambda: 0.0, turns=Turns(pairs=2, sample_s=1e-8, warm_up_s=0.0), clock=Ticking())
    assert found.outcome is Outcome.SAME
    assert found.attempts[0][0].base.calls == 1_000_000


def test_calls_are_doubled_until_they_fill_a_sample_even_without_a_warm_up():
    asked = []

    class Asked(Ticking):
        def seconds(self, call, calls):
            asked.append(calls)
            return super().seconds(call, calls)

    base, _ = sides_of(lambda: 1e-4, lambda: 1e-4, Turns(sample_s=1e-3, warm_up_s=0.0), Asked())
    assert asked[:5] == [1, 2, 4, 8, 10]
    assert base.calls == 10


# ---- Commands as something to time: which time is meant, and what is refused


def python(code: str, timing: Timing = Timing.WALL, folder: Path = Path()) -> Command:
    return Command("HEAD", (sys.executable, "-c", code), folder, timing)


def test_a_sleep_takes_time_from_start_to_end_and_hardly_any_of_the_processor():
    code = "import time; time.sleep(0.2)"
    assert python(code).sample().seconds >= 0.2
    assert 0 < python(code, Timing.CPU).sample().seconds < 0.2 + python(code).sample().seconds


@pytest.mark.parametrize(
    ("printed", "seconds"),
    [("0.25", 0.25), ("[0.5, 0.25, 1]", 0.25), ('{\\"seconds\\": 0.5, \\"n\\": 3}', 0.5), ("words\\n2", 2.0)],
)
def test_printed_seconds_are_the_last_line_and_of_several_the_least(printed, seconds):
    assert python(f'print("{printed}")', Timing.PRINTED).sample().seconds == seconds


@pytest.mark.parametrize("printed", ["", "fast", "[]", "[1, true]", "-1", "0", "NaN", '{\\"times\\": 1}', '\\"1\\"'])
def test_whatever_is_no_time_is_refused(printed):
    with pytest.raises(ProcessError, match="HEAD: want seconds on the last line of what it prints, as JSON, found"):
        python(f'print("{printed}")', Timing.PRINTED).sample()


def test_a_command_that_fails_says_how_and_why():
    with pytest.raises(ProcessError, match=r"HEAD: .* ended with status 3: too bad"):
        python("import sys; print('too bad', file=sys.stderr); sys.exit(3)").sample()


def test_a_command_that_there_is_not_is_one_sentence(tmp_path):
    with pytest.raises(ProcessError, match=r"HEAD: no-such-program cannot be run \(No such file or directory\)"):
        Command("HEAD", ("no-such-program",), tmp_path).sample()


def test_a_command_runs_in_its_folder(tmp_path):
    (tmp_path / "here").write_text("0.5", encoding="utf-8")
    code = "print(open('here', encoding='utf-8').read())"
    assert python(code, Timing.PRINTED, tmp_path).sample() == Sample(0.5)


# ---- CPU time beside wall time


class Both:
    """A side whose samples have a wall time and more, each from a list that is gone through again and again."""

    def __init__(self, wall_s, cpu_s, counted=(None,)):
        self.wall_s, self.cpu_s = itertools.cycle(wall_s), itertools.cycle(cpu_s)
        self.counted = itertools.cycle(counted)
        self.side = Side(lambda: Sample(next(self.wall_s), next(self.cpu_s), next(self.counted)))


NOISE = [1.0, 1.9, 1.4, 2.7, 1.2, 3.1, 1.7, 1.1, 2.2, 1.3, 2.9]
"""Seconds of eleven samples that agree in nothing; blocks have four, so that none begins as another."""


def against(cpu_s, head_cpu_s, counted=(None,), head_counted=(None,)):
    """Two versions whose wall times agree in nothing."""
    base, head = Both(NOISE, cpu_s, counted), Both(NOISE[3:] + NOISE[:3], head_cpu_s, head_counted)
    return compare(base.side, head.side, pairs=PAIRS)


def test_cpu_time_decides_what_wall_time_leaves_undecided():
    found = against([1.0], [1.1])
    assert (found.outcome, found.beside, len(found.attempts)) == (Outcome.SLOWER, "cpu", 3)
    assert found.ratio == pytest.approx(1.1)
    assert found.reason.endswith("by CPU time, where the time is undecided; measured three times")


def test_wall_time_decides_where_it_can_whatever_the_cpu_time_says():
    # twice the CPU time on two cores takes no longer
    found = compare(Both([1.0], [1.0]).side, Both([1.0], [2.0]).side, pairs=PAIRS)
    assert (found.outcome, found.beside, len(found.attempts)) == (Outcome.SAME, "", 1)
    assert "CPU" not in found.reason


def test_a_difference_by_cpu_time_needs_all_six_blocks_of_the_least_of_all_measurements():
    # the first block of each measurement is as fast as the base, the other five are 10 % slower
    once = [1.0] * PAIRS + [1.1] * (BLOCKS - 1) * PAIRS
    found = against([1.0], once)
    assert (found.outcome >= Outcome.NOISY, found.beside) == (True, "")
    # where the second measurement alone has such a block, the least of both is as fast there, too
    found = against([1.0], [1.1] * BLOCKS * PAIRS + once)
    assert (found.outcome >= Outcome.NOISY, found.beside) == (True, "")
    # a disturbance of the second measurement is not in the least of both
    found = against([1.0], [1.1] * BLOCKS * PAIRS + [1.9] * BLOCKS * PAIRS)
    assert (found.outcome, found.ratio) == (Outcome.SLOWER, pytest.approx(1.1))


def test_where_cpu_times_agree_in_nothing_either_it_stays_undecided():
    found = against(NOISE[5:] + NOISE[:5], NOISE)
    assert (found.outcome >= Outcome.NOISY, found.beside) == (True, "")


def test_instructions_decide_what_cpu_time_does_not_and_the_verdict_says_so():
    found = against(NOISE[5:] + NOISE[:5], NOISE, [1e9], [1.1e9])
    assert (found.outcome, found.beside, found.ratio) == (Outcome.SLOWER, "instructions", pytest.approx(1.1))
    assert found.reason.endswith("by instructions, where the time is undecided; measured three times")
    assert against([1.0], [1.0], [1e9], [1.1e9]).beside == "cpu"
    assert Comparison.model_validate_json(found.model_dump_json()) == found


def test_samples_without_a_cpu_time_leave_it_to_wall_time():
    found = against([None], [None])
    assert (found.outcome >= Outcome.NOISY, found.attempts[0][0].cpu_s) == (True, None)
    assert against([1.0, None], [1.1]).attempts[0][0].cpu_s is None


class Counting:
    """A counter that has counted a million more at each look."""

    def __init__(self):
        self.looks = 0

    def read(self):
        self.looks += 1
        return 1e6 * self.looks

    def close(self):
        self.looks = None


def test_instructions_of_a_process_are_counted_beside_its_wall_time_where_they_can_be(monkeypatch):
    words = (sys.executable, "-S", "-c", "")
    monkeypatch.setattr(ab, "instructions", lambda: counter)
    counter = Counting()
    assert Command("x", words, Path.cwd()).sample().instructions == 1e6
    assert Command("x", words, Path.cwd(), Timing.CPU).sample().instructions is None
    counter = None
    assert Command("x", words, Path.cwd()).sample().instructions is None


def test_a_process_has_its_cpu_time_beside_its_wall_time():
    words = (sys.executable, "-S", "-c", "import time; time.sleep(0.2); sum(range(200000))")
    wall_s, cpu_s, _ = Command("x", words, Path.cwd()).sample()
    assert wall_s > 0.2
    assert 0 < cpu_s < wall_s - 0.15  # which sleep is no part of
    printed = Command("x", (sys.executable, "-S", "-c", "print(0.5)"), Path.cwd(), Timing.PRINTED)
    assert printed.sample() == (0.5, None, None)


def test_calls_have_their_cpu_time_and_instructions_beside_their_time(monkeypatch):
    opened = []
    monkeypatch.setattr(ab, "own_instructions", lambda: opened.append(Counting()) or opened[-1])
    base, head = sides_of(*[lambda: time.sleep(2e-3)] * 2, Turns(sample_s=1e-3, warm_up_s=0.0), HostClock())
    found = base.sample()
    assert found.seconds > 2e-3
    assert found.cpu_s < found.seconds / 2  # sleep is no part of it
    assert found.instructions == 1e6 / base.calls
    del base, head
    gc.collect()
    assert [one.looks for one in opened] == [None, None]  # given back
