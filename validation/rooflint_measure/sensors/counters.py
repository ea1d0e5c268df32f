"""Hardware counters through perf_event_open(2): bytes that memory moved, and instructions that a program retired.

Most virtual machines have none, and containers forbid the call; then the reason says so. The counters of memory
controllers are Linux's: `uncore_imc*` describes its events below /sys/bus/event_source (Intel), `amd_umc*` counts CAS
commands of 64 B (tools/perf/pmu-events/arch/x86/amdzen4/memory-controller.json, umc_cas_cmd.all).
"""

import ctypes
import errno
import os
import platform
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rooflint_measure.identity import ROOT, cpu_numbers, read_int, read_text
from rooflint_measure.record import Unavailable

SYSCALLS = {"x86_64": 298, "aarch64": 241}
"""Number of perf_event_open, by machine."""

HARDWARE, INSTRUCTIONS, CACHE_MISSES = 0, 1, 3
"""PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CACHE_MISSES."""

DISABLED, INHERIT, EXCLUDE_KERNEL, EXCLUDE_HV, ENABLE_ON_EXEC = 1 << 0, 1 << 1, 1 << 5, 1 << 6, 1 << 12
"""Flags of perf_event_attr."""

LINE_BYTES = 64
"""Of a cache line, and of a burst of DDR. [B]"""

_SIZE, _TIMES = 112, 0b11
"""PERF_ATTR_SIZE_VER5; PERF_FORMAT_TOTAL_TIME_ENABLED and _RUNNING."""

_UNITS = {"MiB": 2**20, "Bytes": 1}
_UMC_CAS = 0x0A


class Event(NamedTuple):
    """What is counted: by a thread wherever it runs, or by all on one CPU."""

    kind: int
    config: int
    thread: int = 0
    """0 for this one; -1 for all."""
    cpu: int = -1
    flags: int = 0


class Perf:
    """The system call, and its file descriptors."""

    def open(self, event: Event) -> int:
        """A counter. Raises OSError."""
        number = SYSCALLS.get(platform.machine()) if os.name == "posix" and platform.system() == "Linux" else None
        if number is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        attributes = ctypes.create_string_buffer(_SIZE)
        struct.pack_into("IIQQQQQ", attributes, 0, event.kind, _SIZE, event.config, 0, 0, _TIMES, event.flags)
        libc = ctypes.CDLL(None, use_errno=True)
        opened = int(libc.syscall(number, attributes, event.thread, event.cpu, -1, 0))
        if opened < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return opened

    def read(self, opened: int) -> tuple[int, int, int]:
        """(count, time that it was enabled, time that it ran) of it and of what it was inherited by. [ns]"""
        count, enabled, running = struct.unpack("QQQ", os.read(opened, 24))
        return count, enabled, running

    def close(self, opened: int) -> None:
        """Give it back."""
        os.close(opened)


@dataclass
class Counter:
    """Several counters as one sum, each with what one count stands for."""

    source: str
    opened: Sequence[tuple[int, float]]
    perf: Perf

    def read(self) -> float:
        """The sum; counters that shared a register are scaled to all of the time. Raises OSError."""
        return sum(scale * _scaled(*self.perf.read(one)) for one, scale in self.opened)

    def close(self) -> None:
        """Give all of them back."""
        for one, _ in self.opened:
            with suppress(OSError):
                self.perf.close(one)


def _scaled(count: int, enabled: int, running: int) -> float:
    return count * enabled / running if running else 0.0


def memory_counter(root: Path = ROOT, perf: Perf | None = None) -> Counter | Unavailable:
    """Bytes of the memory controllers, of all that runs; else misses of the last cache, of the threads of now."""
    perf, why = perf or Perf(), []
    controllers = [*_controllers(root)]
    if controllers:
        found = _opened("memory controllers, other processes included", controllers, root, perf)
        if isinstance(found, Counter):
            return found
        why.append(found.reason)
    flags = EXCLUDE_KERNEL | EXCLUDE_HV
    misses = [(Event(HARDWARE, CACHE_MISSES, one, flags=flags), float(LINE_BYTES)) for one in _threads(root)]
    source = f"misses of the last cache, {LINE_BYTES} B each; what is fetched ahead or written back is not counted"
    found = _opened(source, misses, root, perf)
    return Unavailable(reason="; ".join([*why, found.reason])) if isinstance(found, Unavailable) else found


def program_instructions(root: Path = ROOT, perf: Perf | None = None) -> Counter | Unavailable:
    """Instructions in user mode of the programs that this thread will start, and of all that they start."""
    flags = DISABLED | INHERIT | ENABLE_ON_EXEC | EXCLUDE_KERNEL | EXCLUDE_HV
    return _opened("instructions", [(Event(HARDWARE, INSTRUCTIONS, flags=flags), 1.0)], root, perf or Perf())


def own_instructions(root: Path = ROOT, perf: Perf | None = None) -> Counter | Unavailable:
    """Instructions in user mode of the threads that this process has now."""
    events = [(Event(HARDWARE, INSTRUCTIONS, one, flags=EXCLUDE_KERNEL | EXCLUDE_HV), 1.0) for one in _threads(root)]
    return _opened("instructions", events, root, perf or Perf())


def _threads(root: Path) -> list[int]:
    return [int(one.name) for one in (root / "proc/self/task").glob("[0-9]*")] or [0]


def _opened(source: str, events: Sequence[tuple[Event, float]], root: Path, perf: Perf) -> Counter | Unavailable:
    found: list[tuple[int, float]] = []
    try:
        for event, scale in events:
            found.append((perf.open(event), scale))
    except OSError as error:
        Counter(source, found, perf).close()
        return Unavailable(reason=_reason(error, root))
    return Counter(source, found, perf)


def _reason(error: OSError, root: Path) -> str:
    if error.errno in (errno.EACCES, errno.EPERM):
        level = read_int(root / "proc/sys/kernel/perf_event_paranoid")
        setting = "" if level is None else f" (kernel.perf_event_paranoid is {level})"
        return f"perf may not count here{setting}: lower it, or run with CAP_PERFMON"
    if error.errno in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP):
        return "perf finds no hardware counters on this processor, as in most virtual machines"
    return f"perf cannot count here ({error.strerror})"


# ---- Counters of memory controllers, as the kernel describes them


def _controllers(root: Path) -> Iterator[tuple[Event, float]]:
    """Reads and writes of every controller, once for each socket, with the bytes of a count."""
    folders = sorted((root / "sys/bus/event_source/devices").glob("*_[iu]mc*"))
    for folder in folders:
        kind, cpus = read_int(folder / "type"), cpu_numbers(read_text(folder / "cpumask") or "")
        if kind is None:
            continue
        for config, size in [*_described(folder), *_umc(folder)]:
            yield from ((Event(kind, config, -1, cpu), size) for cpu in cpus)


def _described(folder: Path) -> Iterator[tuple[int, float]]:
    """Events of servers (`cas_count_read`) and of clients (`data_reads`)."""
    for name in ("cas_count_read", "cas_count_write", "data_reads", "data_writes"):
        text, scale = read_text(folder / "events" / name), read_text(folder / "events" / f"{name}.scale")
        unit = _UNITS.get(read_text(folder / "events" / f"{name}.unit") or "")
        if text and scale and unit:
            words = dict(word.partition("=")[::2] for word in text.split(","))
            yield _config(folder, {key: int(value, 0) for key, value in words.items()}), float(scale) * unit


def _umc(folder: Path) -> Iterator[tuple[int, float]]:
    if folder.name.startswith("amd_umc"):
        yield _UMC_CAS, float(LINE_BYTES)


def _config(folder: Path, values: Mapping[str, int]) -> int:
    """`event=0x04,umask=0x03` in the bits that the format names: `config:0-7`."""
    config = 0
    for key, value in values.items():
        found = re.match(r"config:(\d+)", read_text(folder / "format" / key) or "")
        config |= value << int(found[1]) if found else 0
    return config
