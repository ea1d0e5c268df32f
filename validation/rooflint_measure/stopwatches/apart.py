"""NumPy's product in a process of its own, whose BLAS may choose its own kernels.

OpenBLAS decides when it is loaded, by OPENBLAS_CORETYPE among others, which kernels it will use. A variable that was
set for another reason (equal results on every machine, say) would make a slow library of a fast one: here one core
type less means half of the rate. What was set, and what was used in the end, stands in the details.
"""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from rooflint_measure.record.measurement import Measurement
from rooflint_measure.stopwatches.gemm import SEARCH_S, NotMeasuredError, measured, peak
from rooflint_measure.stopwatches.products import kernels, numpy_library
from rooflint_measure.stopwatches.session import Observer
from rooflint_measure.stopwatches.timing import Plan

HOLDS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "MKL_ENABLE_INSTRUCTIONS")
"""Variables that hold a BLAS to other kernels than it would choose."""
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
SPARE_S = 120.0
"""For the start of a process, the looks at finalists and a slow machine, besides what it is asked to take. [s]"""
_NAMES = ("scipy_openblas_get_corename64_", "openblas_get_corename64_", "openblas_get_corename")


class Request(BaseModel):
    """What the process is asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    precision: str
    plan: Plan
    search_s: float
    energy_s: float
    held: dict[str, str]


def measured_apart(
    precision: str, *, plan: Plan | None = None, search_s: float = SEARCH_S, energy_s: float = 0.0, threads: int = 0
) -> Measurement:
    """NumPy's peak in that precision. Raises NotMeasuredError with what the process said last."""
    held = {name: os.environ[name] for name in HOLDS if name in os.environ}
    asked = Request(precision=precision, plan=plan or Plan(), search_s=search_s, energy_s=energy_s, held=held)
    command, limit_s = [sys.executable, "-m", "rooflint_measure.stopwatches.apart"], limit(asked)
    try:
        done = subprocess.run(
            command,
            input=asked.model_dump_json(),
            env=environment(os.environ, threads),
            capture_output=True,
            encoding="utf-8",
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotMeasuredError(f"the process that loads it took more than {limit_s:g} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise NotMeasuredError(f"the process that loads it ended with: {said[-1]}")
    try:
        return Measurement.model_validate_json(done.stdout)
    except ValueError:
        raise NotMeasuredError("the process that loads it printed something besides its measurement") from None


def limit(asked: Request) -> float:
    """Longest time that such a process may take. [s]"""
    return SPARE_S + 2 * (asked.search_s + asked.plan.limit_s + asked.energy_s)


def environment(given: Mapping[str, str], threads: int = 0) -> dict[str, str]:
    """The variables of such a process: none that holds a library, the folders of ours, threads where they are asked."""
    free = {name: value for name, value in given.items() if name not in HOLDS}
    counts = dict.fromkeys(THREADS, str(threads)) if threads else {}
    return {**free, **counts, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}


def corename(maps: Path = Path("/proc/self/maps")) -> str:
    """The processor whose kernels the OpenBLAS of this process runs; empty where there is none or it does not say."""
    try:
        files = {line.split()[-1] for line in maps.read_text(encoding="utf-8").splitlines() if "openblas" in line}
    except OSError:
        return ""
    for file in sorted(files):
        library = ctypes.CDLL(file)
        for name in _NAMES:
            if ask := getattr(library, name, None):
                ask.restype = ctypes.c_char_p
                return (ask() or b"").decode()
    return ""


def answer(asked: Request, observer: Callable[[str], Observer]) -> Measurement:
    """What the process answers. Raises NotMeasuredError."""
    (kernel,) = [one for one in kernels() if (one.precision, one.library) == (asked.precision, numpy_library())]
    best = peak(kernel, search_s=asked.search_s)
    found = measured(kernel, observer=observer("cpu"), plan=asked.plan, energy_s=asked.energy_s, found=best)
    held = {f"unset {name}": value for name, value in asked.held.items()}
    return found.model_copy(update={"details": {**found.details, "core": corename() or "not said", **held}})


def main() -> None:
    """Read a request, write a measurement."""
    from rooflint_measure.stopwatches.conditions import observer  # noqa: PLC0415  # asked for when it is needed

    asked = Request.model_validate_json(sys.stdin.read())
    sys.stdout.write(answer(asked, observer).model_dump_json())


if __name__ == "__main__":
    main()
