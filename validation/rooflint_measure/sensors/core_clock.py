"""The clock of a core, timed by a chain of additions in machine code, or read from the frequency driver."""

import ctypes
import mmap
import os
import platform
import struct
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

from rooflint_measure.identity import ROOT, cpu_folder, read_int, read_text
from rooflint_measure.record import Unavailable
from rooflint_measure.sensors.host import affinity

Routine = Callable[[int], Any]


def callable_code(code: bytes) -> Routine | Unavailable:
    """Code that takes one integer in the first argument register of the C convention and whose result is ignored.

    The page is written first and made executable afterwards, never both at once, as hardened systems demand; some
    refuse even that.
    """
    if os.name != "posix":
        return Unavailable(reason="machine code is written for the calling convention of Linux and macOS")
    try:
        kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        page = mmap.mmap(-1, max(mmap.PAGESIZE, len(code)), kind, mmap.PROT_READ | mmap.PROT_WRITE)
        page.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        _make_executable(address, len(page))
    except OSError as error:
        return Unavailable(reason=f"this system does not let generated code run ({error.strerror})")
    routine = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(address)
    routine.page = page  # type: ignore[attr-defined]  # lives as long as what runs in it
    return routine


def _make_executable(address: int, size: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (ctypes.c_void_p(address), ctypes.c_size_t(size), ctypes.c_int(mmap.PROT_READ | mmap.PROT_EXEC))
    if libc.mprotect(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


# ---- A chain of additions, each waiting for the one before: one cycle each

ADDITIONS = 64
"""In a turn of the loop; its counter is another chain, which runs beside them."""

TURNS = 16_000
"""Of the loop in a run: a million cycles, a quarter of a millisecond at 4 GHz, so that many runs meet no interrupt."""

RUNS = 20

Chain = Literal["add", "multiply"]


def timed_clock_hz(runs: int = RUNS, turns: int = TURNS) -> float | Unavailable:
    """Of the core that this thread runs on, busy: the fastest of the runs. [Hz]"""
    return cycles_per_s("add", runs, turns)


def cycles_per_s(chain: Chain, runs: int = RUNS, turns: int = TURNS) -> float | Unavailable:
    """Links of a chain in a second, at the most. [1/s]

    One addition is one cycle; a multiplication takes a whole number of them (three on x86-64 since 2019), which lets
    the additions be checked: the ratio of the two chains must come out whole.
    """
    routine = _routine(chain, platform.machine().lower())
    if isinstance(routine, Unavailable):
        return routine
    return ADDITIONS * turns / min(_seconds(routine, turns) for _ in range(runs))


def _seconds(routine: Routine, turns: int) -> float:
    begin = time.perf_counter_ns()
    routine(turns)
    return (time.perf_counter_ns() - begin) / 1e9


@cache
def _routine(chain: Chain, machine: str) -> Routine | Unavailable:
    try:
        code = machine_code(chain, machine)
    except KeyError:
        return Unavailable(reason=f"no chain of additions is available for {machine or 'this machine'}")
    return callable_code(code)


def machine_code(chain: Chain, machine: str) -> bytes:
    """A loop that runs as often as its argument says. Raises KeyError for a machine that is not known."""
    return {"x86_64": _x86_64, "amd64": _x86_64, "aarch64": _aarch64, "arm64": _aarch64}[machine](chain)


def _x86_64(chain: Chain) -> bytes:
    link = {"add": b"\x48\x01\xf0", "multiply": b"\x48\x0f\xaf\xc6"}[chain]  # add rax, rsi; imul rax, rsi
    body = ADDITIONS * link + b"\x48\xff\xcf"  # dec rdi
    back = -(len(body) + 6)
    return body + b"\x0f\x85" + struct.pack("<i", back) + b"\xc3"  # jnz to the start; ret


def _aarch64(chain: Chain) -> bytes:
    link = {"add": 0x8B020021, "multiply": 0x9B027C21}[chain]  # add x1, x1, x2; mul x1, x1, x2
    back = (-(ADDITIONS + 1) & 0x7FFFF) << 5
    words = [*[link] * ADDITIONS, 0xF1000400, 0x54000001 | back, 0xD65F03C0]  # subs x0, x0, #1; b.ne to the start; ret
    return struct.pack(f"<{len(words)}I", *words)


# ---- The clock of the core that this thread runs on: timed, else from the frequency driver

#: Drivers that report what the hardware counted; others repeat the requested frequency, and /proc/cpuinfo of a
#: virtual machine shows the speed of the time stamp counter.
COUNTING = ("intel_pstate", "intel_cpufreq", "amd-pstate", "amd-pstate-epp", "cppc_cpufreq")


def clock_hz(root: Path = ROOT) -> tuple[float | Unavailable, str]:
    """(clock [Hz], its source: `dependent chain` or `cpufreq`).

    The chain comes first: it is the core itself, now and busy, while a driver averages over a past that may have been
    idle. Where our code may not run, the driver answers.
    """
    timed = timed_clock_hz()
    if not isinstance(timed, Unavailable):
        return timed, "dependent chain"
    reported = cpufreq_hz(root)
    return (timed, "") if reported is None else (reported, "cpufreq")


def cpufreq_hz(root: Path = ROOT) -> float | None:
    """The fastest of the CPUs that this process may use, from a driver that counts; None without one. [Hz]"""
    allowed = affinity()
    numbers = range(os.cpu_count() or 1) if isinstance(allowed, Unavailable) else allowed
    folders = [cpu_folder(root, one) / "cpufreq" for one in numbers]
    found = [read_int(f / "scaling_cur_freq") for f in folders if read_text(f / "scaling_driver") in COUNTING]
    known = [value for value in found if value is not None]
    return max(known) * 1e3 if known else None
