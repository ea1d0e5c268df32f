"""What exploring a design costs: the Pareto set beside its definition, and variants beside predictions one by one.

`python benchmarks/exploration.py [--rounds 3]` prints CPU seconds, the two of each row alternately in one run.
"""

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rooflint.api.exploration import explore
from rooflint.api.predictions import context, network
from rooflint.hardware.names import select_device
from rooflint.prediction.pareto import non_dominated
from rooflint.prediction.predict import Setting, predict
from rooflint.prediction.variants import with_values
from rooflint.workloads.tables import workload_ids

POINTS, FEW = 100_000, 4_000
VARIANTS, ONE_BY_ONE = 100_000, 20
VARY = {"memory.bandwidth": "2:8TB/s", "SM.groups": "64:256", "launch_overhead": "x0.2:x1"}


def by_definition(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Each point against all others."""
    beaten = [((values <= one).all(axis=1) & (values < one).any(axis=1)).any() for one in values]
    return ~np.array(beaten)


def seconds(run: Callable[[], object]) -> float:
    """CPU time of a call. [s]"""
    start = time.process_time()
    run()
    return time.process_time() - start


def pareto(rounds: int) -> None:
    """Points by lot, and points that none beats; the definition is asked for fewer, because it takes their square."""
    draw = np.random.default_rng(0)
    for quantities in (2, 3, 4):
        for name, values in (
            ("by lot", draw.random((POINTS, quantities))),
            ("none beaten", draw.dirichlet(np.ones(quantities), POINTS)),
        ):
            pairs = [
                (seconds(lambda v=values: non_dominated(v)), seconds(lambda v=values[:FEW]: by_definition(v)))  # type: ignore[misc]
                for _ in range(rounds)
            ]
            ours, theirs = (min(each) for each in zip(*pairs, strict=True))
            print(f"Pareto set of {POINTS} points, {quantities} quantities, {name}: {ours:.2f} s; ", end="")
            print(f"definition on {FEW}: {theirs:.2f} s, ratio a point {ours / POINTS / (theirs / FEW):.3f}")


def variants(rounds: int) -> None:
    """Ten networks on sampled variants with energy and cost, and as many predictions of one variant each."""
    _, energies = context()
    names = [name.rpartition("/")[2] for name in workload_ids()]
    works, setting = [network(name) for name in names], Setting("bf16")
    base = select_device(context()[0], "h100-sxm5")
    rates = iter(np.random.default_rng(0).uniform(4e8, 1.5e9, rounds * ONE_BY_ONE).tolist())

    def together() -> None:
        explore("h100-sxm5", VARY, works, minimise="latency,energy,cost,SM.groups", samples=VARIANTS)

    def one_by_one() -> None:
        for _ in range(ONE_BY_ONE):  # each another device, of which nothing is kept
            device = with_values(base, {"memories.hbm3.pin_rate": next(rates)})
            for work in works:
                predict(device, work, energies, setting)

    pairs = [(seconds(together), seconds(one_by_one)) for _ in range(rounds)]
    ours, theirs = (min(each) for each in zip(*pairs, strict=True))
    print(f"{VARIANTS} variants × {len(works)} networks with energy, cost and Pareto set: {ours:.1f} s; ", end="")
    print(f"{ONE_BY_ONE} one by one: {theirs:.2f} s, ratio a variant {ours / VARIANTS / (theirs / ONE_BY_ONE):.4f}")
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    variants(chosen.rounds)
    pareto(chosen.rounds)
