"""What laying ops out on a device costs, side by side with doing it for one op after the other.

Run `python benchmarks/allocation.py`. Both sides are measured in one run, in turn; a side's time is the minimum over
rounds, because noise on a shared machine only adds.
"""

import argparse
import time

from rooflint.base.errors import RooflintError
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Registry
from rooflint.mapping.allocate import allocate
from rooflint.workloads.tables import load_workload, workload_ids
from rooflint.workloads.workload import Workload

DEVICES = (
    ("nvidia/h100-sxm5-80gb", "fp16"),
    ("google/tpu-v4", "bf16"),
    ("stillwater/kpu-t256", "int8"),
    ("intel/xeon-8490h", "fp32"),
)
PRECISIONS = ("fp32", "fp16", "bf16", "int8")


def stacked(ops: int) -> Workload:
    """All committed networks one below the other, again and again."""
    rows = [row for name in workload_ids() for row in load_workload(name).rows()]
    return Workload.from_ops("stack", (rows[place % len(rows)]._replace(name=str(place)) for place in range(ops)))


def seconds(hardware: Hardware, work: Workload, compute: str) -> float:
    """Time to lay a workload out and to ask for what a table shows. [s]"""
    start = time.perf_counter()
    laid = allocate(hardware, work, compute=compute)
    _ = laid.utilization, laid.waves, laid.padding
    return time.perf_counter() - start


def one_by_one(hardware: Hardware, work: Workload, compute: str) -> float:
    """The same, op after op. [s]"""
    single = [Workload.from_ops(row.name, [row]) for row in work.rows()]
    return sum(seconds(hardware, one, compute) for one in single)


def matrix(registry: Registry, work: Workload) -> tuple[int, float]:
    """Op allocations on all devices in four precisions, and their time. [s]"""
    devices = [registry.get(name) for name in registry.ids()]
    done, start = 0, time.perf_counter()
    for hardware in devices:
        for compute in PRECISIONS:
            try:
                seconds(hardware, work, compute)
            except RooflintError:
                continue
            done += len(work)
    return done, time.perf_counter() - start


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--ops", type=int, default=10_000)
    options = parser.parse_args()
    registry, work = Registry(), stacked(options.ops)
    few = stacked(500)
    for name, compute in DEVICES:
        hardware = registry.get(name)
        table = min(seconds(hardware, work, compute) for _ in range(options.rounds)) / len(work)
        single = min(one_by_one(hardware, few, compute) for _ in range(options.rounds)) / len(few)
        print(f"{name} {compute}: {table * 1e7:.2f} ms for 10 000 ops; one by one {single / table:.0f} times as long")
    done, taken = matrix(registry, work)
    print(f"{done} op allocations on {len(registry.ids())} devices in {taken:.2f} s: {done / taken:.3g} a second")


if __name__ == "__main__":
    main()
