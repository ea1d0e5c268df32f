"""More inputs than the tests take, of one reader, of all of them, or of the command line."""

import argparse
import contextlib
import os
import tempfile
import time
from pathlib import Path

from .commands import fill, run_lines
from .generator import SEED
from .readers import NAMES, run_reader, targets


def main() -> None:
    """Print the inputs, CPU seconds, slowest input and faults of each."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("name", choices=[*NAMES, "all", "commands"])
    parser.add_argument("number", type=int, help="inputs of each reader, or command lines")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    os.environ["XDG_CACHE_HOME"] = os.devnull  # nothing is kept
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        every = targets(Path(folder) / "fuzz")
        fill(Path(folder))
        for name in NAMES if given.name == "all" else (given.name,):
            began = time.process_time()
            of = every.get(name)
            found = run_reader(of, given.number, given.seed) if of else run_lines(given.number, given.seed)
            took = f"{time.process_time() - began:.1f} CPU s, slowest {found.slowest_s:.2f} s"
            print(f"{name}: {given.number} inputs, {took}, {len(found.faults)} kinds of faults", flush=True)
            for what, shown in found.faults.items():
                print(f"  {what}\n    {str(shown[:300] if of else shown)!r}", flush=True)


if __name__ == "__main__":
    main()
