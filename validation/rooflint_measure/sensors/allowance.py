"""How much of the machine this process may use: the CPUs of its affinity, and a share that a container sets."""

import os
from collections.abc import Iterable
from pathlib import Path

from rooflint_measure.identity.system_files import ROOT, number, text
from rooflint_measure.record.measurement import Unavailable


def affinity() -> tuple[int, ...] | Unavailable:
    """CPUs that the process may run on, in order."""
    if not hasattr(os, "sched_getaffinity"):
        return Unavailable(reason="this system binds no process to CPUs")
    return tuple(sorted(os.sched_getaffinity(0)))


def quota_cpus(root: Path = ROOT) -> float | None:
    """CPU time per time that the control group may use, `1.5` for one and a half CPUs; None without a limit."""
    found = [*_second_version(root), *_first_version(root)]
    return min(found, default=None)


def throttled_periods(files: Iterable[Path]) -> int:
    """How often a control group was held back because its share was used up, by its `quota_files`."""
    pairs = (line.split() for file in files for line in (text(file) or "").splitlines())
    return sum(int(value) for key, value in pairs if key == "nr_throttled")


def quota_files(root: Path = ROOT) -> tuple[Path, ...]:
    """Where the control groups that set this process a share count; empty where none does."""
    if quota_cpus(root) is None:
        return ()
    folders = (*_folders(root, ""), *_folders(root, "cpu"))
    return tuple(file for folder in folders if (file := folder / "cpu.stat").is_file())


def _second_version(root: Path) -> list[float]:
    limits = [(text(folder / "cpu.max") or "max").split() for folder in _folders(root, "")]
    return [int(limit[0]) / int(limit[1]) for limit in limits if limit[0] != "max" and len(limit) > 1]


def _first_version(root: Path) -> list[float]:
    pairs = [(number(f / "cpu.cfs_quota_us"), number(f / "cpu.cfs_period_us")) for f in _folders(root, "cpu")]
    return [quota / period for quota, period in pairs if quota and quota > 0 and period]


def _folders(root: Path, controller: str) -> list[Path]:
    """The group's folder and those above it, of the second version ("") or of a controller of the first."""
    lines = [line.split(":", 2) for line in (text(root / "proc/self/cgroup") or "").splitlines()]
    path = next((line[2] for line in lines if len(line) == 3 and controller in line[1].split(",")), None)
    if path is None:
        return []
    base = root / "sys/fs/cgroup" / controller
    inner = base / path.strip("/")
    # in a container, the path is the host's and only the base is there
    return [folder for folder in (inner, *inner.parents) if folder == base or base in folder.parents]
