"""What commands cost as processes of their own, beside importing the libraries that they need.

`python benchmarks/compare.py` takes the committed table; `--fresh` also a network that has to be captured (needs
rooflint[torch]), once without and then with a kept capture.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

IMPORTS = [sys.executable, "-c", "import numpy, pydantic, typer, rich.console, rich.table"]
PROGRAM = [sys.executable, "-m", "rooflint"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--fresh", metavar="NETWORK", help="a network without a committed table, such as resnet34")
    options = parser.parse_args()
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    sides = {"imports of the libraries": IMPORTS, "compare resnet18": [*PROGRAM, "compare", "resnet18"]}
    sides |= {"tdp registry --modes": [*PROGRAM, "tdp", "registry", "--modes"], "--help": [*PROGRAM, "--help"]}
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(options.rounds):
        for name, command in sides.items():
            times[name].append(_seconds(command, environment))
    base = min(times["imports of the libraries"])
    for name, found in times.items():
        middle = sorted(found)[len(found) // 2]
        print(f"{name:28} {min(found):.3f} s, median {middle:.3f}, {min(found) / base:.2f} × imports")
    if options.fresh:
        with tempfile.TemporaryDirectory() as cache:
            home = {**environment, "XDG_CACHE_HOME": cache}
            command = [*PROGRAM, "compare", options.fresh]
            print(f"{options.fresh}, captured {_seconds(command, home):12.2f} s")
            print(f"{options.fresh}, kept     {min(_seconds(command, home) for _ in range(3)):12.3f} s")
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")


def _seconds(command: list[str], environment: dict[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, cwd=Path.cwd())
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
