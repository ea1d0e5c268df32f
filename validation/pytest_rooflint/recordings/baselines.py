"""Benchmarks beside the committed baseline of the same machine: both are what pytest-benchmark writes.

A baseline was taken on another day, so that only coarse changes can be told from the machine's own: `rooflint history`
has the statistics for smaller ones.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from rooflint.base import strict_json
from rooflint.base.errors import refuse, shown
from rooflint.base.files import read_text, write_atomically
from rooflint.base.text import counted, some
from rooflint.base.units import SECONDS, format_quantity
from rooflint_report.findings import BenchmarkRow, Benchmarks, MeasuredTimes
from rooflint_report.history import MAX_BYTES, times_of

CANARY = "canary"
THRESHOLD = 1.25
"""Factor from which a benchmark is slower. Recordings of one day on a shared host differ by up to 8 %, and two figures
with a canary each differ by more. [1]"""
_ORDER = ("slower", "new", "faster", "same")
_KEPT = ("min", "median", "iqr", "rounds")
_MACHINE = ("machine", "system", "python_version")


def compared(file: Path, folder: Path, threshold: float = THRESHOLD) -> Benchmarks:
    """What pytest-benchmark wrote beside the baseline of the machine. Raises InputError for another file."""
    now = times_of(file, CANARY)
    found = baseline_of(now.machine, folder)
    if found is None:
        text = f"not validated here: no baseline of this machine ({now.machine})"
        rows = [_row(name, seconds, None, 1.0, threshold) for name, seconds in now.seconds.items()]
        return Benchmarks(times=now, baseline=None, canary=None, threshold=threshold, rows=rows, gone=[], text=text)
    base = times_of(found, CANARY)
    canary = _canary(now, base)
    rows = [
        _row(name, seconds, base.seconds.get(name), canary or 1.0, threshold)
        for name, seconds in now.seconds.items()
        if name != now.canary
    ]
    rows.sort(key=lambda one: (_ORDER.index(one.outcome), -(one.factor or 0.0)))
    gone = [name for name in base.seconds if name not in now.seconds]
    text = "; ".join(_sentences(rows, gone, canary, now.machine))
    return Benchmarks(
        times=now, baseline=shown(found), canary=canary, threshold=threshold, rows=rows, gone=gone, text=text
    )


def baseline_of(machine: str, folder: Path) -> Path | None:
    """The file of a machine; None where there is none. Raises InputError for a file that is no baseline."""
    files = sorted(folder.glob("*.json"))
    return next((file for file in files if times_of(file, CANARY).machine == machine), None)


def save(file: Path, folder: Path) -> Path:
    """Keep what was measured as the baseline of its machine, without single samples and the name of the host."""
    machine = times_of(file, CANARY).machine
    name = "".join(letter if letter.isalnum() else "-" for letter in machine.lower())
    target = baseline_of(machine, folder) or folder / f"{'-'.join(filter(None, name.split('-')))}.json"
    content = strict_json.parse(read_text(file, MAX_BYTES), file)
    info = content["machine_info"]
    try:
        kept = {
            "machine_info": {key: info[key] for key in _MACHINE if key in info}
            | {"cpu": {key: info.get("cpu", {}).get(key) for key in ("brand_raw", "count")}},
            "commit_info": {"id": (content.get("commit_info") or {}).get("id")},
            "datetime": content.get("datetime"),
            "benchmarks": [
                {"name": one["name"], "stats": {key: one["stats"][key] for key in _KEPT if key in one["stats"]}}
                for one in content["benchmarks"]
            ],
        }
    except (AttributeError, TypeError) as error:
        raise refuse(file, 1, f"want what --benchmark-json writes ({error!r})") from error
    write_atomically(target, json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    return target


def _canary(now: MeasuredTimes, base: MeasuredTimes) -> float | None:
    """By what factor the machine is slower now; None where one of them has no canary."""
    if now.canary is None or now.canary not in base.seconds:
        return None
    return now.seconds[now.canary] / base.seconds[now.canary]


def _row(name: str, now_s: float, base_s: float | None, canary: float, threshold: float) -> BenchmarkRow:
    factor = now_s / base_s / canary if base_s else None
    return BenchmarkRow(
        name=name,
        base_display=format_quantity(base_s, SECONDS) if base_s else None,
        now_display=format_quantity(now_s, SECONDS),
        factor=factor,
        factor_text=f"×{factor:.3g}" if factor else "",
        outcome="new"
        if factor is None
        else "slower"
        if factor >= threshold
        else "faster"
        if factor <= 1 / threshold
        else "same",
    )


def _sentences(rows: list[BenchmarkRow], gone: list[str], canary: float | None, machine: str) -> Iterator[str]:
    slower = [one for one in rows if one.outcome == "slower"]
    known = [one for one in rows if one.factor is not None]
    names = some(f"{one.name} {one.factor_text}" for one in slower)
    yield f"{len(slower)} of {counted(len(known), 'benchmark')} slower than the baseline of {machine}" + (
        f": {names}" if slower else ""
    )
    if canary is not None:
        yield f"the canary takes ×{canary:.3g}, which is divided by"
    if gone:
        yield f"not timed any more: {some(gone)}"
