"""What one `estimate` and one `predict` cost, for a sample of networks × devices × precisions × batches, and what
the calibrated kernel times of GPUs add.

`python benchmarks/matrix.py` takes all classification networks of torchvision (needs rooflint[torch]; captures are
kept, so the second run is warm), `--committed` the networks whose tables are in the package.
"""

import argparse
import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import Coefficients, launch_overhead
from rooflint.energy.model import Energies
from rooflint.hardware.device import Hardware, working_peak_ops_per_s
from rooflint.hardware.registry import Registry
from rooflint.prediction.predict import ROOFLINE, SILICON, Setting, predict
from rooflint.roofline import estimate
from rooflint.workloads.load import network
from rooflint.workloads.tables import load_workload, workload_ids
from rooflint.workloads.workload import Workload

PRECISIONS = ("fp32", "fp16", "bf16", "int8")
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
SAMPLE = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--committed", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    begun = time.perf_counter()
    registry = Registry()
    devices = list(registry.readable())
    read_s = time.perf_counter() - begun
    begun = time.perf_counter()
    works = [load_workload(name) for name in workload_ids()] if options.committed else [network(n) for n in _names()]
    print(f"{len(works)} networks in {time.perf_counter() - begun:.2f} s, {len(devices)} devices in {read_s:.2f} s")
    able = {precision: _able(devices, precision) for precision in PRECISIONS}
    refused = sum(len(devices) - len(found) for found in able.values())
    estimates = sum(map(len, able.values())) * len(works) * len(BATCHES)
    kernels = sum(map(len, works)) * sum(map(len, able.values())) * len(BATCHES)
    print(f"{estimates:,} network estimates, {kernels:,} op estimates; unsupported: {refused} of ", end="")
    print(f"{len(devices) * len(PRECISIONS)} device × precision, {refused * len(works) * len(BATCHES):,} estimates")
    energies, questions = Energies(Coefficients(registry)), _drawn(works, able)
    _predicted(questions, energies)  # reads what energies and launches rest on
    slow = min(_timed(lambda: _estimated(questions, energies)) for _ in range(options.rounds)) / SAMPLE
    kernels_drawn, silicon = _on_silicon(questions, energies, options.rounds)
    whole = min(_timed(lambda: _predicted(questions, energies)) for _ in range(options.rounds)) / SAMPLE
    print(f"one estimate    {1e6 * slow:.0f} us, load {os.getloadavg()[0]:.1f}")
    print(f"one prediction  {1e6 * whole:.0f} us, with units, energy and memory")
    rate = f"{kernels_drawn / silicon / 1e3:.0f} thousand op estimates/s"
    print(f"on silicon      {1e6 * silicon / SAMPLE:.0f} us more, {rate}")


def _names() -> list[str]:
    from rooflint.workloads.capture.torchvision_networks import import_torchvision  # noqa: PLC0415  # torch only where it is needed

    models = import_torchvision().models
    return list(models.list_models(module=models))


def _able(devices: Sequence[Hardware], precision: str) -> list[Hardware]:
    found = []
    for device in devices:
        try:
            working_peak_ops_per_s(device, precision)
            device.main_memory()
        except RooflintError:
            continue
        found.append(device)
    return found


Question = tuple[Hardware, Workload, Setting]


def _drawn(works: Sequence[Workload], able: dict[str, list[Hardware]]) -> list[Question]:
    """A network at a batch on a device in a precision; the same ones in every run."""
    draw = random.Random(0)
    pairs = [(device, Setting(precision)) for precision, devices in able.items() for device in devices]
    return [
        (device, draw.choice(works).at_batch(draw.choice(BATCHES)), setting)
        for device, setting in draw.choices(pairs, k=SAMPLE)
    ]


def _estimated(questions: Sequence[Question], energies: Energies) -> None:
    for device, work, setting in questions:
        paid = launch_overhead(device, energies.coefficients, setting.launch)
        _ = estimate(device, work, compute=setting.compute, overhead_s=paid.typical if paid else 0.0).latency_s


def _predicted(questions: Sequence[Question], energies: Energies) -> None:
    for device, work, setting in questions:
        found = predict(device, work, energies, setting)
        _ = found.energy_j if found.has("energy") else found.latency_s


def _on_silicon(questions: Sequence[Question], energies: Energies, rounds: int) -> tuple[int, float]:
    """Ops of as many questions that are asked of GPUs on silicon, and how much longer all take so. [s]"""
    known: list[Question] = []
    while len(known) < SAMPLE:
        known += [one for one in map(_of_silicon, questions) if predict(*one[:2], energies, one[2]).silicon]
    silicon = known[:SAMPLE]
    plain = [(device, work, replace(setting, fidelity=ROOFLINE)) for device, work, setting in silicon]
    longer = min(_timed(lambda: _predicted(silicon, energies)) for _ in range(rounds))
    shorter = min(_timed(lambda: _predicted(plain, energies)) for _ in range(rounds))
    return sum(len(work) for _, work, _ in silicon), longer - shorter


def _of_silicon(one: Question) -> Question:
    device, work, setting = one
    return device, work, replace(setting, fidelity=SILICON)


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
