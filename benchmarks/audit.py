"""What an audit of a long table costs: rows that repeat, rows that are all different, and names of no device.

Run `python benchmarks/audit.py` where rooflint is installed. Each table is audited in a process of its own, in turn
with the others; its time is the minimum of the CPU seconds over the rounds. `--keep FOLDER` writes the tables there,
to compare the findings of two versions.
"""

import argparse
import csv
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rooflint.hardware.registry import Registry

ROWS = 10_000
HEADER = ("device", "bf16_tflops", "mem_bw_gbps", "tdp_w")
REPEATED = 10
"""Number of different rows in the table whose rows repeat."""


def devices() -> list[str]:
    """Names of GPUs as their specs have them."""
    return [hardware.name for hardware in Registry().readable() if hardware.kind == "gpu"]


def row(name: str, chance: random.Random) -> tuple[str, ...]:
    """A row with one figure that hardly any device has: a peak, a bandwidth or a power, in five digits or so."""
    figures = (f"{chance.uniform(10, 2500):.2f}", f"{chance.uniform(200, 8000):.1f}", f"{chance.uniform(50, 1000):.2f}")
    filled = chance.randrange(len(figures))
    return name, *(figure if place == filled else "" for place, figure in enumerate(figures))


def tables(rows: int) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Tables with their names; the same ones in every run."""
    chance, names = random.Random(1), devices()
    few = [row(name, chance) for name in names[:REPEATED]]
    yield "repeated", [few[number % REPEATED] for number in range(rows)]
    yield "distinct", [row(names[number % len(names)], chance) for number in range(rows)]
    unknown = [f"{chance.choice(names)} {chance.choice('QVWYZ')}{number}" for number in range(rows)]
    yield "unknown", [row(name, chance) for name in unknown]


def cpu_s(*command: str) -> float:
    """CPU time of a command, its output thrown away. [s]"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the CPU time of each table and its ratio to that of repeated rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--keep", type=Path, help="folder for the tables")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        files = {}
        for name, content in tables(options.rows):
            files[name] = folder / f"{name}.csv"
            with files[name].open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([HEADER, *content])
        command = (sys.executable, "-m", "rooflint", "audit")
        times: dict[str, list[float]] = {name: [] for name in files}
        for _ in range(options.rounds):
            for name, path in files.items():
                times[name].append(cpu_s(*command, str(path)))
    least = {name: min(values) for name, values in times.items()}
    for name, seconds in least.items():
        print(f"{name:9} {seconds:6.2f} s  {seconds / least['repeated']:5.2f} × repeated")


if __name__ == "__main__":
    main()
