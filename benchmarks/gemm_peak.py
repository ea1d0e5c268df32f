"""Does the search find the peak? Held against a dense sweep that knows nothing of it.

`python benchmarks/gemm_peak.py` where torch is installed: for every precision of the CPU, the search of
`rooflint measure gemm` over all libraries of this process, then a sweep of all libraries over squares and oblongs.
The finalists of both are timed in turn; printed is the ratio of their best rates, 1 where the search missed nothing.
"""

import argparse
from collections.abc import Iterator
from itertools import product

from rooflint_measure.stopwatches import gemm
from rooflint_measure.stopwatches.clocks import Call, HostClock
from rooflint_measure.stopwatches.gemm import NotMeasuredError
from rooflint_measure.stopwatches.products import Kernel, Shape, kernels
from rooflint_measure.stopwatches.timing import Plan, take_in_turn

LOOK = Plan(sample_s=0.003, samples=12, warm_up_s=0.003, limit_s=0.3, least=3)
FINAL = Plan(sample_s=0.003, samples=150, warm_up_s=0.05, limit_s=20.0, least=20)
KEPT = 4
"""Of the sweep, for the final."""
SQUARES = range(256, 3072 + 1, 128)
SIDES = (512, 1024, 2048, 4096)


def shapes() -> Iterator[Shape]:
    """Squares, then every oblong of the sides with no more work than 2048³."""
    yield from ((size, size, size) for size in SQUARES)
    for m, n, k in product(SIDES, repeat=3):
        if not m == n == k and m * n * k <= 2048**3:
            yield m, n, k


def _work(shape: Shape) -> int:
    m, n, k = shape
    return m * n * k


def swept(some: list[Kernel]) -> list[tuple[str, Shape, Call]]:
    """The fastest of a sweep over all calls of all libraries."""
    found = []
    for kernel in some:
        for name, make in kernel.calls.items():
            for shape in shapes():
                rate = _work(shape) / take_in_turn([make(shape)], plan=LOOK)[0].best_s
                found.append((rate, f"{kernel.library} {name}", shape, make))
    found.sort(key=lambda one: -one[0])
    return [(name, shape, make(shape)) for _, name, shape, make in found[:KEPT]]


def native(precision: str) -> list[Kernel]:
    """Kernels of a precision that this CPU has instructions for."""
    every = [one for one in kernels() if not one.own_process]
    fp32 = max(gemm.probe(one) for one in every if one.precision == "fp32")
    able = []
    for kernel in (one for one in every if one.precision == precision):
        try:
            gemm.refuse_emulated(kernel, gemm.probe(kernel), fp32)
        except NotMeasuredError as error:
            print(f"{kernel.name}: {error}")
            continue
        able.append(kernel)
    return able


def main() -> None:
    """Print a row for every precision."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each search")
    parser.add_argument("--precision", nargs="*", default=["fp64", "fp32", "bf16", "int8"])
    asked = parser.parse_args()
    print(f"{'precision':10} {'search':42} {'sweep':42} ratio")
    for precision in asked.precision:
        able = native(precision)
        ours = [gemm.peak(one, HostClock(), search_s=asked.seconds) for one in able]
        theirs = swept(able)
        turns = take_in_turn([*(one.call for one in ours), *(call for _, _, call in theirs)], plan=FINAL)
        work = [*(one.subject.macs for one in ours), *(_work(shape) for _, shape, _ in theirs)]
        rates = [2 * macs / samples.best_s for macs, samples in zip(work, turns, strict=True)]
        best = max(range(len(ours)), key=rates.__getitem__)
        other = max(range(len(ours), len(rates)), key=rates.__getitem__)
        subject, (way, (m, n, k), _) = ours[best].subject, theirs[other - len(ours)]
        left = f"{subject.library} {subject.m}x{subject.n}x{subject.k} {rates[best] / 1e9:.0f} GOP/s"
        right = f"{way} {m}x{n}x{k} {rates[other] / 1e9:.0f} GOP/s"
        print(f"{precision:10} {left:42} {right:42} {rates[best] / rates[other]:.3f}", flush=True)


if __name__ == "__main__":
    main()
