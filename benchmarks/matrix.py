"""What predictions cost: a matrix of networks × devices × precisions × batches in full (time, units, energy, memory,
cost), the same by kernel models, hypothetical devices, and one prediction after another.

`python benchmarks/matrix.py` takes all classification networks of torchvision (needs rooflint[torch]; captures are
kept, so the second run is warm), `--committed` the ten networks whose tables are in the package, eight times each.
Each part runs in a process of its own, so that its memory is its own.
"""

import argparse
import os
import pickle
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import Coefficients
from rooflint.cost.tables import NoPriceError, Prices
from rooflint.energy.model import Energies
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Registry
from rooflint.prediction.cost import cost_per_million_usd
from rooflint.prediction.figures import predict_tables
from rooflint.prediction.predict import ROOFLINE, SILICON, Setting, predict
from rooflint.prediction.variants import predict_variants
from rooflint.workloads.load import network
from rooflint.workloads.stack import stacks
from rooflint.workloads.tables import load_workload, workload_ids
from rooflint.workloads.workload import Workload

PRECISIONS = ("fp32", "fp16", "bf16", "int8")
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
SAMPLE = 200
VARIANTS = 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--committed", action="store_true")
    parser.add_argument("--part", choices=PARTS, help="one part in this process, of the networks in FILE")
    parser.add_argument("--file", type=Path)
    options = parser.parse_args()
    if options.part:
        works = pickle.loads(options.file.read_bytes())  # written by the lines below
        PARTS[options.part](works)
        return
    committed = [load_workload(name) for name in workload_ids()]
    works = 8 * committed if options.committed else [network(name) for name in _names()]
    with TemporaryDirectory() as folder:
        for part in PARTS:
            file = Path(folder) / part
            file.write_bytes(pickle.dumps(works if part in (ROOFLINE, SILICON) else committed))
            subprocess.run([sys.executable, __file__, "--part", part, "--file", str(file)], check=True)


def matrix(fidelity: str, works: Sequence[Workload]) -> None:
    """All tables on all devices in all precisions, and the rent of a million inferences where it is known."""
    registry = Registry()
    energies, devices, prices = Energies(Coefficients(registry)), list(registry.readable()), Prices(registry)
    begun = time.process_time()
    tables = [work.at_batch(batch) for work in works for batch in BATCHES]
    every, batches = list(stacks(tables)), np.array([table.batch for table in tables])
    count = 0
    for device, precision in ((device, precision) for device in devices for precision in PRECISIONS):
        try:
            found = predict_tables(device, every, energies, Setting(precision, fidelity=fidelity))
        except RooflintError:
            continue
        _ = cost_per_million_usd(_rent(prices, device), batches / found.values[0])
        count += len(tables)
    spent = time.process_time() - begun
    asked = len(tables) * len(devices) * len(PRECISIONS)
    print(f"{fidelity}: {len(works)} networks, {sum(map(len, works)):,} ops × {len(BATCHES)} batches × ", end="")
    print(f"{len(devices)} devices × {len(PRECISIONS)} precisions = {asked:,}, of which {count:,} are supported")
    _report(spent, f"{1e6 * spent / count:.1f} µs each")


def _rent(prices: Prices, device: Hardware) -> float:
    try:
        return prices.rents(device.id)[0].usd_per_h
    except NoPriceError:
        return np.nan


def variants(works: Sequence[Workload]) -> None:
    """An H100 with other bandwidths, clocks and numbers of SMs, drawn at random, with energy."""
    registry, draw = Registry(), np.random.default_rng(0)
    varied = {
        "memories.hbm3.bandwidth": draw.uniform(2e12, 8e12, VARIANTS),
        "units.tensor_core.clock": draw.uniform(1e9, 2e9, VARIANTS),
        "units.tensor_core.groups": draw.integers(64, 257, VARIANTS).astype(np.float64),
        "powers.idle": draw.uniform(50, 150, VARIANTS),
    }
    base, energies = registry.get("nvidia/h100-sxm5-80gb"), Energies(Coefficients(registry))
    begun = time.process_time()
    found = predict_variants(base, varied, works, energies, Setting("fp16"))
    spent = time.process_time() - begun
    print(f"variants: {VARIANTS:,} of {base.id} × {len(works)} networks, {sum(map(len, works)):,} ops")
    _report(spent, f"{1e6 * spent / found.energy_j.size:.2f} µs each")


def single(works: Sequence[Workload]) -> None:
    """A sample one after another: tables that were asked before on another device, and new ones."""
    registry, draw = Registry(), random.Random(0)
    energies, devices = Energies(Coefficients(registry)), list(registry.readable())
    sample = list(_drawn(works, devices, energies, draw))
    new = [(device, replace(work), setting) for device, work, setting in sample]
    for name, questions in (("known", sample), ("new", new)):
        begun = time.process_time()
        for question in questions:
            _ask(*question, energies)
        _report(time.process_time() - begun, f"{SAMPLE} predictions one after another, {name} tables", of=SAMPLE)
    begun = time.process_time()
    for batch in BATCHES:
        _ = [work.at_batch(batch) for work in works]
    _report(time.process_time() - begun, "a table at another batch", of=len(works) * len(BATCHES))


def _drawn(
    works: Sequence[Workload], devices: Sequence[Hardware], energies: Energies, draw: random.Random
) -> Iterator[tuple[Hardware, Workload, Setting]]:
    """A network at a batch on a device in a precision; the same ones in every run."""
    found = 0
    while found < SAMPLE:
        device, setting = draw.choice(devices), Setting(draw.choice(PRECISIONS))
        work = draw.choice(works).at_batch(draw.choice(BATCHES))
        try:
            _ask(device, work, setting, energies)
        except RooflintError:
            continue
        found += 1
        yield device, work, setting


def _ask(device: Hardware, work: Workload, setting: Setting, energies: Energies) -> None:
    """All figures that the matrix has."""
    found = predict(device, work, energies, setting)
    _ = found.latency_s, found.shares
    _ = found.energy_j if found.has("energy") else None
    _ = found.utilization if found.has("allocation") else None
    _ = found.peak_bytes


def _names() -> list[str]:
    from rooflint.workloads.capture.torchvision_networks import import_torchvision  # noqa: PLC0415  # torch only where it is needed

    models = import_torchvision().models
    return list(models.list_models(module=models))


def _report(spent_s: float, what: str, of: int = 1) -> None:
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    shown = f"{spent_s:.2f} s" if of == 1 else f"{1e6 * spent_s / of:.0f} µs"
    print(f"  {shown} of CPU, {what}; {peak_mb:.0f} MB at most, load {os.getloadavg()[0]:.1f}")


PARTS: Mapping[str, Callable[[Sequence[Workload]], None]] = {
    "roofline": partial(matrix, ROOFLINE),
    "silicon": partial(matrix, SILICON),
    "variants": variants,
    "single": single,
}

if __name__ == "__main__":
    main()
