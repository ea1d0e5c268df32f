"""Bytes that a call moved to and from memory, as hardware counted them: perf on a CPU, CUPTI on an NVIDIA GPU.

CUPTI is asked through torch's profiler, whose trace then has events of the category `cuda_profiler_range` with counters
among their arguments: HolisticTraceAnalysis, docs/source/features/cupti_counter_analysis.rst. No GPU has run it yet.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rooflint_measure.record import Traffic, Unavailable
from rooflint_measure.sensors.counters import Counter, memory_counter
from rooflint_measure.stopwatches.clocks import Call, Clock
from rooflint_measure.stopwatches.products import import_torch

COUNTED_S = 0.5
"""Calls are made for about so long while perf counts. [s]"""
COUNTED_CALLS = 3
"""Calls within a range of CUPTI. [1]"""
METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum")
RANGE = "cuda_profiler_range"


def counted(
    call: Call,
    clock: Clock,
    device: str,
    find: Callable[[], Counter | Unavailable] = memory_counter,
    torch: Any = None,
) -> Traffic | Unavailable:
    """Bytes of one call by hardware counters, or why there are none."""
    kind = device.partition(":")[0]
    if kind == "cpu":
        return _by_perf(call, clock, find())
    if kind == "cuda":
        return _by_cupti(call, torch or import_torch())
    return Unavailable(reason="Metal shows no memory counters to user processes")


def _by_perf(call: Call, clock: Clock, counter: Counter | Unavailable) -> Traffic | Unavailable:
    if isinstance(counter, Unavailable):
        return counter
    calls = max(1, round(COUNTED_S / max(clock.seconds(call, 1), 1e-9)))
    try:
        before = counter.read()
        clock.seconds(call, calls)
        moved = counter.read() - before
    except OSError as error:
        return Unavailable(reason=f"perf stopped counting ({error.strerror})")
    finally:
        counter.close()
    return Traffic(bytes=moved / calls, calls=calls, source=counter.source)


def _by_cupti(call: Call, torch: Any) -> Traffic | Unavailable:
    profiler = torch.profiler
    try:
        config = profiler._ExperimentalConfig(profiler_metrics=list(METRICS), profiler_measure_per_kernel=False)
        activities = [profiler.ProfilerActivity.CUDA]
        with profiler.profile(activities=activities, experimental_config=config) as found:
            for _ in range(COUNTED_CALLS):
                call()
            torch.cuda.synchronize()
        with TemporaryDirectory() as folder:
            file = Path(folder) / "trace.json"
            found.export_chrome_trace(str(file))
            moved = sum(_values(json.loads(file.read_text(encoding="utf-8"))))
    except (RuntimeError, AttributeError, TypeError, ValueError, OSError) as error:
        return Unavailable(reason=f"CUPTI: {str(error).strip().partition(chr(10))[0][:160]}")
    if not moved:
        return Unavailable(
            reason="CUPTI counted nothing: that needs NVreg_RestrictProfilingToAdminUsers=0 or administrator's rights, "
            "and a torch whose profiler was built with CUPTI's ranges"
        )
    return Traffic(bytes=moved / COUNTED_CALLS, calls=COUNTED_CALLS, source="CUPTI, dram__bytes")


def _values(trace: Any) -> Iterator[float]:
    """Counters of the ranges of a trace."""
    for event in trace.get("traceEvents", []):
        if event.get("cat") == RANGE:
            yield from (float(event["args"][name]) for name in METRICS if name in event.get("args", {}))
