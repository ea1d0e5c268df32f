"""What the op table of a new shape costs, beside the same table made row by row.

`python benchmarks/tables.py [--rounds 5]` prints µs of CPU time, the two alternately in one run.
"""

import argparse
import time
from collections.abc import Callable, Iterator

from rooflint.workloads import transformer
from rooflint.workloads.layers import Architecture
from rooflint.workloads.networks import network_named
from rooflint.workloads.transformer import Step, table
from rooflint.workloads.workload import Workload

DECODERS = ("llama-3.1-70b", "qwen3-8b", "mixtral-8x7b", "gpt-oss-120b", "deepseek-v3")
SCALED = ("sdxl-unet", "dit-xl-2", "whisper-large-v3", "llava-1.5-7b")
SHAPES = 400
"""New shapes of each network in a round."""


def microseconds(run: Callable[[int], object], first: int, shapes: int) -> float:
    """CPU time of a call, each on a shape of its own. [µs]"""
    start = time.process_time()
    for place in range(first, first + shapes):
        run(place)
    return 1e6 * (time.process_time() - start) / shapes


def row_by_row(make: Callable[[int], Workload]) -> Callable[[int], Workload]:
    """The same table without what is known of its family."""

    def slow(place: int) -> Workload:
        known, transformer._of_family = transformer._of_family, lambda run: False
        try:
            return make(place)
        finally:
            transformer._of_family = known

    return slow


def pairs(name: str) -> Iterator[tuple[str, Callable[[int], Workload], Callable[[int], Workload]]]:
    """(what, the table of a new shape, the same made from the start)"""
    net = network_named(name)
    if name in SCALED:
        one, facts = net.workload(1), net.configuration
        assert isinstance(facts, Architecture)
        yield "another batch", lambda batch: one.at_batch(batch + 2), row_by_row(lambda batch: facts.table(batch + 2))
        return
    for what, make in (
        ("prompt", lambda new: table(net.transformer, 8, new + 2)),
        ("step of decode", lambda past: table(net.transformer, 8, 1, [Step(past)])),
    ):
        yield what, make, row_by_row(make)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print("| network | shape | new shape | made from the start | ratio |\n|---|---|--:|--:|--:|")
    for name in (*DECODERS, *SCALED):
        for what, fast, slow in pairs(name):
            assert fast(5) == slow(5), name
            both = []
            for turn in range(rounds):
                first = turn * SHAPES
                both.append((microseconds(fast, first, SHAPES), microseconds(slow, first, SHAPES // 10)))
            new, old = (min(each) for each in zip(*both, strict=True))
            print(f"| {name} | {what} | {new:.0f} µs | {old:.0f} µs | {new / old:.2f} |")


if __name__ == "__main__":
    main()
