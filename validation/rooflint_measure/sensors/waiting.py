"""Time that threads of this process were ready to run and had no core: other processes of the same system had them.

Steal does not see these; the scheduler counts them for every thread.
"""

import os
from collections.abc import Collection
from pathlib import Path

from rooflint_measure.identity.system_files import ROOT, text

_DELAY = 1
"""Column of schedstat: time on a core, time that it waited for one, turns. [ns]"""


def queued_s(root: Path = ROOT) -> float | None:
    """Of all threads of this process so far, one after another; None where the kernel does not count. [s]

    Linux, Documentation/scheduler/sched-stats.rst, "/proc/<pid>/schedstat". A thread that ends takes its time with it.
    """
    found = [text(file) for file in (root / "proc/self/task").glob("*/schedstat")]
    waits_ns = [int(line.split()[_DELAY]) for line in found if line]
    return sum(waits_ns) / 1e9 if waits_ns else None


# ---- CPU time that a hypervisor gave to other guests while this one wanted to run

_STEAL = 8
"""Column of /proc/stat behind the name: user nice system idle iowait irq softirq steal."""


def stolen_s(cpus: Collection[int] | None = None, root: Path = ROOT) -> float | None:
    """Since the system started, of the CPUs that are named, or of all; None where the system does not count. [s]

    The kernel counts in ticks of 10 ms: less than one in a sample cannot be seen.
    """
    rows = [line.split() for line in (text(root / "proc/stat") or "").splitlines() if line.startswith("cpu")]
    wanted = {"cpu"} if cpus is None else {f"cpu{number}" for number in cpus}
    ticks = [int(row[_STEAL]) for row in rows if row[0] in wanted and len(row) > _STEAL]
    return sum(ticks) / _ticks_per_s() if ticks else None


def _ticks_per_s() -> int:
    return os.sysconf("SC_CLK_TCK")
