"""What the op table of a new shape costs, beside the same table made row by row.

`python benchmarks/tables.py [--rounds 5]` prints µs of CPU time, the two alternately in one run.
"""

import argparse
import time
from collections.abc import Callable, Iterator

from rooflint.workloads.encoder_decoder import EncoderDecoder
from rooflint.workloads.families import Family
from rooflint.workloads.layers import Architecture
from rooflint.workloads.multimodal import VisionLanguage
from rooflint.workloads.networks import network_named
from rooflint.workloads.transformer import Step, table
from rooflint.workloads.workload import Workload

DECODERS = ("llama-3.1-70b", "qwen3-8b", "mixtral-8x7b", "gpt-oss-120b", "deepseek-v3")
OTHERS = ("sdxl-unet", "dit-xl-2", "whisper-large-v3", "llava-1.5-7b")
SHAPES = 400
"""New shapes of each network in a round."""

Make = Callable[[int], Workload]


def microseconds(run: Make, first: int, shapes: int) -> float:
    """CPU time of a call, each on a shape of its own. [µs]"""
    start = time.process_time()
    for place in range(first, first + shapes):
        run(place)
    return 1e6 * (time.process_time() - start) / shapes


def row_by_row(make: Make) -> Make:
    """The same table without what is known of its family."""

    def slow(place: int) -> Workload:
        known = Family.table
        Family.table = lambda *asked, **more: None  # type: ignore[method-assign]
        try:
            return make(place)
        finally:
            Family.table = known  # type: ignore[method-assign]

    return slow


def tables(name: str) -> Iterator[tuple[str, Make, Make]]:
    """(what, the table of a new shape, the same made from the start)"""
    net = network_named(name)
    facts = net.configuration
    if isinstance(facts, Architecture):
        one = net.workload(1)
        yield "another batch", lambda batch: one.at_batch(batch + 2), row_by_row(lambda batch: facts.table(batch + 2))
        kinds: dict[str, Make] = {}
        if isinstance(facts, VisionLanguage):
            kinds["prompt"] = lambda new: facts.table(8, facts.patches + 1 + new)
        if isinstance(facts, EncoderDecoder):
            kinds["step of decode"] = lambda past: facts.table(8, 1, 1 + past % (facts.context - 1))
    else:
        kinds = {
            "prompt": lambda new: table(facts, 8, new + 2),
            "step of decode": lambda past: table(facts, 8, 1, [Step(past)]),
        }
    for what, make in kinds.items():
        yield what, make, row_by_row(make)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print("| network | shape | new shape | row by row | ratio |\n|---|---|--:|--:|--:|")
    for name in (*DECODERS, *OTHERS):
        for what, fast, slow in tables(name):
            assert fast(5) == slow(5), name
            both = []
            for turn in range(rounds):
                first = turn * SHAPES
                both.append((microseconds(fast, first, SHAPES), microseconds(slow, first, SHAPES // 10)))
            new, old = (min(each) for each in zip(*both, strict=True))
            print(f"| {name} | {what} | {new:.0f} µs | {old:.0f} µs | {new / old:.3f} |")


if __name__ == "__main__":
    main()
