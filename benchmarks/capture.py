"""What a capture costs, beside a bare torch.export of the same network; and what a kept one costs to read again.

Run `python benchmarks/capture.py` where rooflint[torch] is installed. Both sides of a ratio are measured in the same
run, in turn and back; a side's time is the minimum over the rounds, because noise on a shared machine only adds.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from rooflint.workloads.capture.torchvision_networks import capture_torchvision, import_torchvision
from rooflint.workloads.load import network

NAME = "resnet18"
SIZE = (1, 3, 224, 224)
KEPT = """
from pathlib import Path
from rooflint.workloads.load import network
assert network("{name}", [{size}], Path(r"{folder}")).total_macs > 0
"""
TORCH = "from rooflint.workloads.capture.torchvision_networks import import_torchvision; import_torchvision()"


def bare() -> None:
    """Build and export, and nothing else."""
    with torch.device("meta"):
        module = import_torchvision().models.get_model(NAME, weights=None).eval()
        example = torch.empty(SIZE)
    with torch.no_grad():
        torch.export.export(module, (example,), strict=False)


def captured() -> None:
    capture_torchvision(NAME, SIZE)


def kept(folder: Path) -> None:
    network(NAME, [SIZE], folder)


def process(code: str) -> Callable[[], None]:
    def run() -> None:
        subprocess.run([sys.executable, "-c", code], check=True)

    return run


def fastest(rounds: int, *sides: Callable[[], None]) -> list[float]:
    """Seconds of each side: the minimum over rounds that take the sides in turn and back."""
    best = [float("inf")] * len(sides)
    for turn in range(rounds):
        order = list(enumerate(sides))
        for position, side in order if turn % 2 == 0 else reversed(order):
            start = time.perf_counter()
            side()
            best[position] = min(best[position], time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    fastest(1, captured, bare)  # torch's own first-time work
    capture_s, export_s = fastest(rounds, captured, bare)
    print(f"capture of {NAME} {capture_s:.3f} s : bare torch.export {export_s:.3f} s = {capture_s / export_s:.2f}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network(NAME, [SIZE], folder)
        code = KEPT.format(name=NAME, size=list(SIZE), folder=folder)
        kept_s, numpy_s, torch_s = fastest(rounds, process(code), process("import numpy"), process(TORCH))
        (read_s,) = fastest(rounds, lambda: kept(folder))
    print(f"reading a kept {NAME} {1000 * read_s:.1f} ms; as a process {kept_s:.3f} s", end="")
    print(f" : import numpy {numpy_s:.3f} s = {kept_s / numpy_s:.2f}; import torch, torchvision {torch_s:.3f} s")


if __name__ == "__main__":
    main()
