"""Caches: how large the last one is, and how to empty it before a call."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np

from rooflint_measure.record.measurement import Unavailable
from rooflint_measure.stopwatches.timing import Call

CPUS = Path("/sys/devices/system/cpu")
_SUFFIXES = {"K": 2**10, "M": 2**20, "G": 2**30}


def last_level_bytes(cpus: Path = CPUS) -> int | Unavailable:
    """All caches of the highest level together, as the system names them. [B]

    A virtual machine may be told of less, or of more, than its share of the host's.
    """
    found = [*_caches(cpus)]
    if not found:
        return Unavailable(reason=f"{cpus} names no cache")
    highest = max(level for level, _, _ in found)
    shared = {sharing: size for level, sharing, size in found if level == highest}
    return sum(shared.values())


def _caches(cpus: Path) -> Iterator[tuple[int, str, int]]:
    """(level, CPUs that share it, size [B]) of every data cache of every CPU."""
    for folder in sorted(cpus.glob("cpu[0-9]*/cache/index[0-9]*")):
        try:
            kind, level, sharing, size = (
                (folder / name).read_text(encoding="utf-8").strip()
                for name in ("type", "level", "shared_cpu_list", "size")
            )
            if kind != "Instruction":
                yield int(level), sharing, _bytes(size)
        except (OSError, ValueError):
            continue


def _bytes(size: str) -> int:
    """`32768K` in bytes."""
    return int(size[:-1]) * _SUFFIXES[size[-1]] if size[-1] in _SUFFIXES else int(size)


def flusher(cache_bytes: int) -> Callable[[], object]:
    """Reads and writes twice as much as the cache holds, so that nothing else stays in it."""
    much = np.ones(2 * cache_bytes // 8)
    return lambda: np.add(much, 1.0, out=much)


@dataclass(frozen=True)
class FlushedHostClock:
    """For what has finished when it returns and must find its operands in memory: each call after a flush."""

    flush: Callable[[], object]

    def seconds(self, call: Call, calls: int) -> float:
        """Of the calls alone. [s]"""
        return sum(self._one(call) for _ in repeat(None, calls))

    def _one(self, call: Call) -> float:
        self.flush()
        begin = time.perf_counter_ns()
        call()
        return (time.perf_counter_ns() - begin) / 1e9
