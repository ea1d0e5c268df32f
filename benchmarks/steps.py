"""Steps in series of measurements: false alarms and the smallest step found, beside apache-otava.

`python benchmarks/steps.py --otava VENV/bin/python` where that environment has apache-otava (it wants other versions of
NumPy and scipy than ours). The noise is recorded: least times of one call measured again and again with itself
(tests/validation/measure/equal_versions.json), and the samples of a recording below golden/measured, forty groups of
each; one is Gaussian, of 2 %. Commits are drawn from it, since they are hours apart and have no memory. A step has to
show within its first six commits, after sixty without. Otava is asked once, with all six; ours after each.
"""

import argparse
import json
import math
import subprocess
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rooflint_measure.compare.steps import AFTER, BEFORE, FOUND, is_found, steps

ROOT = Path(__file__).parents[1]
AA = ROOT / "tests/validation/measure/equal_versions.json"
SIZES = (0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3)
GROUPS = 40
NARROW = 0.02
"""Noise up to which a step of 5 % is to be found. [1]"""

Floats = NDArray[np.float64]

OTAVA = """
import json, sys, time
from otava.analysis import compute_change_points
began, found = time.process_time(), []
for series in json.load(sys.stdin):
    points, _ = compute_change_points(series, window_len=50, max_pvalue=0.001)
    found.append([int(one.index) for one in points])
json.dump({"found": found, "seconds": time.process_time() - began}, sys.stdout)
"""


def noises() -> Mapping[str, Floats]:
    """Logarithms of recorded times about their median, by what was timed."""
    calls = json.loads(AA.read_text(encoding="utf-8"))["calls"]
    found = {name: np.log(np.min(one["base_ns"], axis=0)) for name, one in calls.items()}
    for file in sorted((ROOT / "golden/measured").rglob("*.json")):
        for one in json.loads(file.read_text(encoding="utf-8"))["measurements"]:
            seconds, subject = np.log(one["samples"]["seconds"]), one["subject"]
            if len(seconds) >= 4 * GROUPS:
                words = (
                    str(subject[key]) for key in ("kind", "name", "kernel", "precision", "library") if key in subject
                )
                size = len(seconds) // GROUPS
                found.setdefault(" ".join(words), seconds[: size * GROUPS].reshape(GROUPS, size).min(axis=1))
    found["Gaussian, 2 %"] = np.random.default_rng(0).normal(0, 0.02, 2000)
    return {name: one - np.median(one) for name, one in found.items()}


def smallest(drawn: Floats, share: Callable[[Floats, float], float]) -> str:
    """The least of SIZES that is found often enough."""
    return next(
        (f"{100 * size:g} %" for size in SIZES if share(drawn, math.log1p(size)) >= FOUND),
        f"over {100 * SIZES[-1]:g} %",
    )


def ours(drawn: Floats, size: float) -> float:
    """Share of the series in which a step is found."""
    return float(is_found(drawn, size).mean())


def otavas(python: Path, series: Floats) -> tuple[list[list[int]], float]:
    """Change points that Otava finds in each series, and its CPU time. [s]"""
    answer = subprocess.run(
        [str(python), "-c", OTAVA],
        input=json.dumps(np.exp(series).tolist()),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    found = json.loads(answer.stdout)
    return found["found"], found["seconds"]


def otava_share(python: Path, drawn: Floats, size: float) -> float:
    """Share of the series in which Otava puts a change point within two commits of the step, or after it."""
    moved = drawn.copy()
    moved[:, BEFORE:] += size
    found, _ = otavas(python, moved)
    return sum(any(at >= BEFORE - 2 for at in one) for one in found) / len(found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--otava", type=Path, help="Python of an environment with apache-otava")
    parser.add_argument("--commits", type=int, default=20_000, help="for false alarms, of each noise")
    parser.add_argument("--series", type=int, default=400)
    options = parser.parse_args()
    random, length = np.random.default_rng(1), 500
    columns = ("false alarms in 1 000 commits", "smallest step", "5 % found", "CPU")
    print(f"| {' | '.join(('noise', 'of a commit', *columns, *(f'Otava: {one}' for one in columns)))} |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, noise in noises().items():
        quiet = random.choice(noise, (options.commits // length, length))
        drawn = random.choice(noise, (options.series, BEFORE + AFTER[-1]))
        began = time.process_time()
        alarms = sum(len(steps(np.exp(one).tolist())) for one in quiet)
        took = time.process_time() - began
        row = [f"{100 * noise.std():.1f} %", f"{1000 * alarms / quiet.size:.2f}", smallest(drawn, ours)]
        row += [f"{100 * ours(drawn, math.log1p(0.05)):.0f} %", f"{took:.1f} s"]
        if options.otava:
            python = options.otava
            found, took = otavas(python, quiet)
            row += [f"{1000 * sum(map(len, found)) / quiet.size:.2f}"]
            row += [smallest(drawn, partial(otava_share, python))]
            row += [f"{100 * otava_share(python, drawn, math.log1p(0.05)):.0f} %", f"{took:.1f} s"]
        print(f"| {name} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
