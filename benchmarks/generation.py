"""What a sweep of a language model costs: all devices × precisions × batches, beside a prediction of every run alone.

`python benchmarks/generation.py [--rounds 3]` prints CPU seconds, the two alternately in one run.
"""

import argparse
import time
from collections.abc import Callable

from rooflint.api.predictions import context
from rooflint.prediction.generation import generate, sweep
from rooflint.prediction.parallel import Place
from rooflint.prediction.predict import Setting
from rooflint.prediction.run import Run
from rooflint.workloads.networks import network_named

NETWORK, PROMPT, GENERATE = "llama-3.1-70b", 2048, 256
PRECISIONS = ("bf16", "fp8-kv8", "w4a16", "w8a8")
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
ALONE = 8
"""Devices of which every run is predicted alone."""


def seconds(run: Callable[[], object]) -> float:
    """CPU time of a call. [s]"""
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    start = time.process_time()
    registry, energies = context()
    devices = [Place(registry.get(name)) for name in registry.ids()]
    print(f"reading {len(devices)} devices: {time.process_time() - start:.2f} s")
    net, settings = network_named(NETWORK), [Setting(name) for name in PRECISIONS]
    runs = [Run(net, batch, PROMPT, GENERATE) for batch in BATCHES]
    found = sweep(devices, runs, energies, settings)
    points = sum(len(one.runs) for one in found)
    able = [one for one in devices if any(each.runs for each in found if each.label == one.label)]

    def whole() -> object:
        return sweep(devices, [Run(net, batch, PROMPT, GENERATE) for batch in BATCHES], energies, settings)

    def alone() -> object:
        return [generate(able[:ALONE], run, energies, setting) for run in runs for setting in settings]

    pairs = [(seconds(whole), seconds(alone)) for _ in range(rounds)]
    swept, single = (min(each) for each in zip(*pairs, strict=True))
    asked = len(devices) * len(settings) * len(runs)
    print(
        f"{NETWORK}: {len(devices)} devices × {len(settings)} precisions × {len(runs)} batches = {asked} runs, ", end=""
    )
    print(f"of which {points} are possible: {swept:.2f} s, {1e6 * swept / asked:.0f} µs a run")
    many = ALONE * len(settings) * len(runs)
    print(f"each run alone, on {ALONE} devices: {single:.2f} s, {1e6 * single / many:.0f} µs a run")


if __name__ == "__main__":
    main()
