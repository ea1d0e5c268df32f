"""Error rates of comparisons: equal versions compared many times by `rooflint_measure`.

`python benchmarks/versions.py` takes 600 comparisons of each of three calls that stress different parts of a machine,
one after the other, and prints the false positives, and the detections of a slowdown of 5 %. `--record FILE`
keeps the least times of both halves of all blocks, in ns; tests/validation/measure/equal_versions.json is such a file,
cut to the first 200 comparisons of each call.
"""

import argparse
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from rooflint_measure.compare.ab import BESIDE, Block, Turns, as_blocks, beside, sides_of, take_blocks
from rooflint_measure.compare.blocks import BLOCKS, Blocks, Floats, calibrate
from rooflint_measure.identity import fingerprint
from rooflint_measure.stopwatches.clocks import HostClock

RANDOM = np.random.default_rng(0)
MESSAGE = RANDOM.bytes(1 << 14)
NUMBERS = RANDOM.random(20_000)
LARGE = RANDOM.random(4_000_000)
OUT = np.empty_like(LARGE)

CALLS: dict[str, Callable[[], object]] = {
    "hash of 16 KiB": lambda: hashlib.sha256(MESSAGE).digest(),
    "sort of 20 000 numbers": lambda: np.sort(NUMBERS),
    "scale of 32 MB": lambda: np.multiply(LARGE, 3.0, out=OUT),
}


def measured(call: Callable[[], object], comparisons: int) -> tuple[Blocks, list[Blocks]]:
    """Blocks of a call compared with itself, by its time and by what was counted beside it; no more is kept."""
    sides = sides_of(call, call, Turns(), HostClock())
    found: list[list[Blocks]] = []
    several: list[Block] = []
    for block in take_blocks(*sides, count=BLOCKS * comparisons, pairs=Turns().pairs):
        several.append(block)
        if len(several) == BLOCKS:
            found.append([as_blocks(several), *beside(several)])
            several.clear()
    times, *others = (_joined(kind) for kind in zip(*found, strict=True))
    return times, others


def _joined(several: Iterable[Blocks]) -> Blocks:
    parts = list(several)
    base_s, head_s = (np.concatenate([getattr(one, side) for one in parts], axis=-1) for side in ("base_s", "head_s"))
    return Blocks(base_s, head_s, np.concatenate([one.disturbed for one in parts]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=600)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    kept: dict[str, object] = {}
    record = {"taken": time.strftime("%Y-%m-%d", time.gmtime()), "machine": fingerprint(), "calls": kept}
    for name, call in CALLS.items():
        began = time.perf_counter()
        found, others = measured(call, options.comparisons)
        took_s = (time.perf_counter() - began) / options.comparisons
        print(f"{name}: {took_s:.2f} s a comparison, load {os.getloadavg()[0]:.1f}", flush=True)
        for number in range(len(others) + 1):
            by = ", then ".join(["time", *list(BESIDE.values())[:number]])
            print(f"  by {by}: {calibrate(found, beside=others[:number])}", flush=True)
        kept[name] = {"load": os.getloadavg()[0], "base_ns": _ns(found.base_s), "head_ns": _ns(found.head_s)}
        if options.record:
            options.record.write_text(json.dumps(record) + "\n", encoding="utf-8")


def _ns(times_s: Floats) -> list[list[int]]:
    """Whole ones, of calls of 60 µs and more. [ns]"""
    return [[round(value * 1e9) for value in half] for half in times_s]


if __name__ == "__main__":
    main()
