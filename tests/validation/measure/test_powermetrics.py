"""powermetrics of macOS, played by a small program that prints what it prints; no Mac was at hand."""

import sys
import time

import pytest

from rooflint_measure.record.measurement import Unavailable
from rooflint_measure.sensors import powermetrics
from rooflint_measure.sensors.powermetrics import PowermetricsSource, Stretch, stretches

SAMPLE = """
*** Sampled system activity (Fri Nov 20 12:00:00 2026 +0000) (103.57ms elapsed) ***

CPU Power: 4231 mW
GPU Power: 45 mW
ANE Power: 0 mW
Combined Power (CPU + GPU + ANE): 4276 mW
"""


def test_a_sample_is_its_power_over_the_time_since_the_one_before():
    (found,) = stretches(SAMPLE.splitlines(), lambda: 7.0)
    assert found == Stretch(7.0, 0.10357, 4.276)


@pytest.mark.parametrize(
    ("begin_s", "end_s", "seconds"),
    [(0.0, 10.0, 1.0), (2.5, 10.0, 0.5), (0.0, 2.25, 0.25), (2.25, 2.75, 0.5), (3.0, 9.0, 0.0), (0.0, 2.0, 0.0)],
)
def test_only_the_part_within_the_run_counts(begin_s, end_s, seconds):
    # from 2 s to 3 s
    assert Stretch(3.0, 1.0, 5.0).seconds_within(begin_s, end_s) == pytest.approx(seconds)


#: Prints 5 W a hundred times a second, each sample with the time that it really took.
PROGRAM = """
import time
last = time.perf_counter()
while True:
    time.sleep(0.01)
    now = time.perf_counter()
    print(f"*** ({1e3 * (now - last)}ms elapsed) ***\\nCombined Power (CPU + GPU + ANE): 5000 mW", flush=True)
    last = now
"""


def test_energy_is_the_power_that_the_program_prints_over_the_time_of_the_run():
    found = PowermetricsSource((sys.executable, "-c", PROGRAM)).metered(lambda: time.sleep(0.3) or 3, 1.0)
    assert found.seconds >= 0.3
    # samples are dated when they arrive, which on a busy machine is late
    assert found.mean_w == pytest.approx(5.0, rel=0.3)
    assert (found.calls, found.source) == (3, "powermetrics")


def test_a_program_that_does_not_start_leaves_no_energy():
    found = PowermetricsSource(("no-such-program",)).metered(lambda: 1, 0.0)
    assert isinstance(found, Unavailable)
    assert "cannot be started" in found.reason


def test_a_program_that_says_nothing_leaves_no_energy(monkeypatch):
    monkeypatch.setattr(powermetrics, "_wait", lambda until: None)
    found = PowermetricsSource((sys.executable, "-c", "pass")).metered(lambda: 1, 0.0)
    assert found == Unavailable(reason="powermetrics: its samples cover less than half of the run")


def test_other_systems_have_none_and_a_reason(monkeypatch):
    monkeypatch.setattr(powermetrics.platform, "system", lambda: "Linux")
    assert powermetrics.source().reason == "powermetrics is a program of macOS"


def test_who_is_not_root_is_told_to_use_sudo(monkeypatch):
    monkeypatch.setattr(powermetrics.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(powermetrics.shutil, "which", lambda name: name)
    monkeypatch.setattr(powermetrics.os, "geteuid", lambda: 501, raising=False)
    assert "sudo" in powermetrics.source().reason
    monkeypatch.setattr(powermetrics.os, "geteuid", lambda: 0, raising=False)
    assert isinstance(powermetrics.source(), PowermetricsSource)
