"""How many of torchvision's networks can be captured, how near their MACs are to torchvision's, and whether they scale.

`python benchmarks/networks.py [name …]` prints a line a network and a table by family. Needs rooflint[torch]. All
networks take some minutes, because each is traced again at batch 2.
"""

import sys
import time
from collections import Counter, defaultdict
from typing import NamedTuple

from rooflint.base.errors import RooflintError
from rooflint.workloads.capture.torchvision_networks import (
    capture_torchvision,
    family,
    import_torchvision,
    input_shape,
    networks,
    trace_torchvision,
)
from rooflint.workloads.ops import QUANTITIES
from rooflint.workloads.workload import Workload


class Line(NamedTuple):
    """What is said of one network."""

    name: str
    family: str
    shape: tuple[int, ...]
    ops: int
    gmac: float
    printed: float | None
    scales: str
    seconds: float

    @property
    def agrees(self) -> bool:
        return self.printed is not None and round(self.gmac, 3) == self.printed


def line(name: str) -> Line:
    shape, start = input_shape(name), time.perf_counter()
    workload = capture_torchvision(name)
    seconds = time.perf_counter() - start
    return Line(
        name,
        family(name),
        shape,
        len(workload),
        workload.total_macs / 1e9,
        printed(name),
        scales(name, workload),
        seconds,
    )


def printed(name: str) -> float | None:
    """What torchvision prints for the first weights. [GMAC]"""
    figure: float | None = next(iter(import_torchvision().models.get_model_weights(name))).meta.get("_ops")
    return figure


def scales(name: str, workload: Workload) -> str:
    """Whether a trace at batch 2 is the table at batch 2."""
    scaled = workload.at_batch(2)
    traced = trace_torchvision(name, (2, *input_shape(name)[1:]), "traced")
    if list(scaled.rows()) == list(traced.rows()):
        return "row by row"
    want, got = totals(scaled), totals(traced)
    if want == got:
        return "in total"
    return f"no: {', '.join(quantity for quantity in want if want[quantity] != got[quantity])}"


def totals(workload: Workload) -> dict[str, int]:
    """Sums over the network; a constant that grows with the batch is read like any activation."""
    sums = {quantity: int(getattr(workload, quantity).sum()) for quantity in QUANTITIES[:5]}
    sums["elements_in"] += sums.pop("elements_weight")
    return sums


def show(one: Line) -> None:
    ratio = f"{one.gmac / one.printed:.4f}" if one.printed else "-"
    size = "x".join(map(str, one.shape))
    print(
        f"{one.name:40} {one.family:15} {size:17} {one.ops:5} {one.gmac:10.3f} {one.printed!s:>9} {ratio:>7}", end="  "
    )
    print(f"{one.seconds:5.2f} s  {one.scales}", flush=True)


def main(names: list[str]) -> None:
    lines, failed = [], []
    for name in names or networks():
        try:
            lines.append(line(name))
            show(lines[-1])
        except RooflintError as error:
            failed.append((family(name), name))
            print(f"{name:40} {family(name):15} {error}", flush=True)
    by_family: dict[str, list[Line]] = defaultdict(list)
    for one in lines:
        by_family[one.family].append(one)
    asked = Counter([one.family for one in lines] + [kind for kind, _ in failed])
    print("\n| family | captured | of | MACs as printed |\n|---|---|---|---|")
    for kind, count in asked.items():
        got = by_family[kind]
        print(f"| {kind} | {len(got)} | {count} | {sum(one.agrees for one in got)} |")
    print(f"| all | {len(lines)} | {len(lines) + len(failed)} | {sum(one.agrees for one in lines)} |")


if __name__ == "__main__":
    main(sys.argv[1:])
