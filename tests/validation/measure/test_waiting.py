"""Time without a core, as the scheduler counts it."""

import os
import subprocess
import sys
import time

import pytest

from rooflint_measure.sensors.waiting import queued_s, stolen_s


def test_the_waits_of_all_threads_are_added_up(tree):
    # 2 s + 0.5 s, in nanoseconds; the first column is time on a core
    root = tree({"proc/self/task/1/schedstat": "9 2000000000 3", "proc/self/task/2/schedstat": "9 500000000 3"})
    assert queued_s(root) == pytest.approx(2.5)


def test_a_kernel_that_does_not_count_says_nothing(tmp_path):
    assert queued_s(tmp_path) is None


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes cannot be held to a core here")
def test_two_busy_processes_on_one_core_wait_for_each_other():
    before, ours = queued_s(), os.sched_getaffinity(0)
    if before is None:
        pytest.skip("this kernel counts no waits")
    os.sched_setaffinity(0, {min(ours)})
    try:
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"])  # inherits the core
        spun = time.process_time()
        while time.process_time() < spun + 0.5:  # of our own CPU time, so that the other one had its turns, too
            pass
    finally:
        os.sched_setaffinity(0, ours)
        other.kill()
        other.wait()
    assert queued_s() > before


# ---- Stolen time from a fake /proc/stat

STAT = """cpu  100 0 50 1000 5 0 1 40 0 0
cpu0 50 0 25 500 2 0 1 10 0 0
cpu1 50 0 25 500 3 0 0 30 0 0
intr 12345
"""
TICK_S = 1 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01


@pytest.mark.parametrize(("cpus", "ticks"), [(None, 40), ((0,), 10), ((1,), 30), ((0, 1), 40)])
def test_the_time_of_the_cpus_that_are_named_adds_up(tree, cpus, ticks):
    assert stolen_s(cpus, tree({"proc/stat": STAT})) == pytest.approx(ticks * TICK_S)


def test_a_system_that_does_not_count_says_nothing(tree, tmp_path):
    assert stolen_s(None, tmp_path) is None
    assert stolen_s((7,), tree({"proc/stat": STAT})) is None
    assert stolen_s(None, tree({"proc/stat": "cpu 100 0 50\n"})) is None  # kernels of before 2004 had three columns
