"""powermetrics: the power of Apple silicon, estimated by the system, sampled by a program that only root may run."""

import os
import platform
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from rooflint_measure.record.measurement import Energy, Unavailable
from rooflint_measure.sensors.power import PowerLost

INTERVAL_MS = 100

COMMAND = ("powermetrics", "--samplers", "cpu_power,gpu_power", "--sample-rate", str(INTERVAL_MS))

_ELAPSED = re.compile(r"\((\d+(?:\.\d+)?)ms elapsed\)")
_COMBINED = re.compile(r"^Combined Power \(.*\): (\d+) mW")


@dataclass(frozen=True)
class Stretch:
    """Mean power of a piece of time that ended at a moment of the clock."""

    end_s: float
    seconds: float
    power_w: float

    def seconds_within(self, begin_s: float, end_s: float) -> float:
        """How much of it lies in a window. [s]"""
        return max(0.0, min(self.end_s, end_s) - max(self.end_s - self.seconds, begin_s))


def stretches(lines: Iterable[str], clock: Callable[[], float]) -> Iterator[Stretch]:
    """Samples as the program prints them, each dated when its power is read."""
    seconds = INTERVAL_MS / 1e3
    for line in lines:
        if found := _ELAPSED.search(line):
            seconds = float(found[1]) / 1e3
        elif found := _COMBINED.match(line):
            yield Stretch(clock(), seconds, int(found[1]) / 1e3)


class PowermetricsSource:
    """Energy of the processor, its GPU and its neural engine together."""

    name = "powermetrics"

    def __init__(self, command: tuple[str, ...] = COMMAND, clock: Callable[[], float] = time.perf_counter) -> None:
        self._command, self._clock = command, clock

    def idle_w(self, seconds: float) -> float:
        """Average over a while. [W]"""
        begin_s, end_s, joules, _ = self._watched(lambda: _rest(seconds))
        return joules / (end_s - begin_s)

    def metered(self, run: Callable[[], int], idle_w: float) -> Energy | Unavailable:
        """Sum over the samples that overlap the run, each by its share."""
        try:
            begin_s, end_s, joules, calls = self._watched(run)
        except PowerLost as error:
            return Unavailable(reason=str(error))
        seconds = end_s - begin_s
        step_j = INTERVAL_MS / 1e3 * joules / seconds
        return Energy(source=self.name, joules=joules, seconds=seconds, calls=calls, idle_w=idle_w, resolution_j=step_j)

    def _watched(self, run: Callable[[], int]) -> tuple[float, float, float, int]:
        found: list[Stretch] = []
        try:
            program = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
            )
        except OSError as error:
            raise PowerLost(f"powermetrics: cannot be started ({error.strerror})") from None
        with program:
            reader = threading.Thread(target=self._collect, args=(program.stdout, found), daemon=True)
            reader.start()
            _wait(lambda: bool(found))
            begin_s = self._clock()
            calls = run()
            end_s = self._clock()
            _wait(lambda: bool(found) and found[-1].end_s >= end_s)
            program.terminate()
            reader.join()
        covered_s = sum(one.seconds_within(begin_s, end_s) for one in found)
        if covered_s < 0.5 * (end_s - begin_s):
            raise PowerLost("powermetrics: its samples cover less than half of the run")
        joules = sum(one.power_w * one.seconds_within(begin_s, end_s) for one in found)
        return begin_s, end_s, joules, calls

    def _collect(self, lines: IO[str], found: list[Stretch]) -> None:
        for one in stretches(lines, self._clock):
            found.append(one)  # one at a time: somebody is waiting for the first


def source() -> PowermetricsSource | Unavailable:
    """The program, where it exists and this process may run it."""
    if platform.system() != "Darwin" or not shutil.which(COMMAND[0]):
        return Unavailable(reason="powermetrics is a program of macOS")
    if os.geteuid() != 0:
        return Unavailable(reason="powermetrics runs as root only: start the measurement with sudo")
    return PowermetricsSource()


def _rest(seconds: float) -> int:
    time.sleep(seconds)
    return 0


def _wait(until: Callable[[], bool], longest_s: float = 3.0) -> None:
    end_s = time.perf_counter() + longest_s
    while not until() and time.perf_counter() < end_s:
        time.sleep(INTERVAL_MS / 1e4)
