"""NumPy's product in a process of its own, whose BLAS may choose its own kernels.

OpenBLAS decides when it is loaded, by OPENBLAS_CORETYPE among others, which kernels it will use. A variable that was
set for another reason (equal results on every machine, say) would slow it down: here one core type less halves the
rate. The details hold what was set, and what was used in the end.
"""

import ctypes
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from rooflint_measure.record import Frozen, Measurement
from rooflint_measure.sensors.observer import Observer, observer
from rooflint_measure.stopwatches import gemm
from rooflint_measure.stopwatches.gemm import SEARCH_S, NotMeasuredError
from rooflint_measure.stopwatches.products import kernels, numpy_library
from rooflint_measure.stopwatches.timing import Plan

OVERRIDES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "MKL_ENABLE_INSTRUCTIONS")
"""Variables that make a BLAS use other kernels than it would choose."""
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
SPARE_S = 120.0
"""For the start of a process, the looks at finalists and a slow machine, besides what it is asked to take. [s]"""
_NAMES = ("scipy_openblas_get_corename64_", "openblas_get_corename64_", "openblas_get_corename")


class Request(Frozen):
    """The input of the process."""

    precision: str
    plan: Plan
    search_s: float
    energy_s: float
    unset: dict[str, str]
    """Variables that the process does not get, with their values."""


def measured(
    precision: str, *, plan: Plan | None = None, search_s: float = SEARCH_S, energy_s: float = 0.0, threads: int = 0
) -> Measurement:
    """NumPy's peak in that precision. Raises NotMeasuredError with the last line of the process."""
    unset = {name: os.environ[name] for name in OVERRIDES if name in os.environ}
    request = Request(precision=precision, plan=plan or Plan(), search_s=search_s, energy_s=energy_s, unset=unset)
    longest_s = SPARE_S + 2 * (search_s + request.plan.limit_s + energy_s)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "rooflint_measure.stopwatches.numpy_process"],
            input=request.model_dump_json(),
            env=environment(os.environ, threads),
            capture_output=True,
            encoding="utf-8",
            timeout=longest_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotMeasuredError(f"the process that loads it took more than {longest_s:g} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise NotMeasuredError(f"the process that loads it ended with: {lines[-1]}")
    try:
        return Measurement.model_validate_json(done.stdout)
    except ValueError:
        raise NotMeasuredError("the process that loads it printed something besides its measurement") from None


def environment(given: Mapping[str, str], threads: int = 0) -> dict[str, str]:
    """The variables of such a process: none of OVERRIDES, our folders, and threads if they are set."""
    free = {name: value for name, value in given.items() if name not in OVERRIDES}
    counts = dict.fromkeys(THREADS, str(threads)) if threads else {}
    return {**free, **counts, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}


def corename(maps: Path = Path("/proc/self/maps")) -> str:
    """The processor whose kernels the OpenBLAS of this process runs; empty where there is none or it is not known."""
    try:
        files = {line.split()[-1] for line in maps.read_text(encoding="utf-8").splitlines() if "openblas" in line}
    except OSError:
        return ""
    for file in sorted(files):
        library = ctypes.CDLL(file)
        for name in _NAMES:
            if function := getattr(library, name, None):
                function.restype = ctypes.c_char_p
                return (function() or b"").decode()
    return ""


def answer(request: Request, watching: Observer) -> Measurement:
    """The output of the process. Raises NotMeasuredError."""
    (kernel,) = [one for one in kernels() if (one.precision, one.library) == (request.precision, numpy_library())]
    best = gemm.peak(kernel, search_s=request.search_s)
    found = gemm.measured(kernel, observer=watching, plan=request.plan, energy_s=request.energy_s, found=best)
    unset = {f"unset {name}": value for name, value in request.unset.items()}
    return found.model_copy(update={"details": {**found.details, "core": corename() or "not known", **unset}})


if __name__ == "__main__":
    sys.stdout.write(answer(Request.model_validate_json(sys.stdin.read()), observer("cpu")).model_dump_json())
