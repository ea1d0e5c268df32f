"""What commands cost as processes of their own, beside importing the libraries that they need.

`python benchmarks/compare.py` takes the committed table; `--fresh resnet34` adds a network that has to be captured
(needs rooflint[torch]), once without and then with a stored capture. `--before FOLDER` runs the commands of another
checkout, too. Times are CPU seconds of a process and its children, in turn, the least of the rounds.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

LIBRARIES = """
import numpy, rich.console, rich.table, typer, yaml
from pydantic import BaseModel
class Model(BaseModel):
    field: int
"""
"""What a command imports. `import pydantic` alone loads next to nothing: most of it is imported by the first model."""
SHALLOW = "import numpy, pydantic, typer, rich.console, rich.table"
"""What this benchmark took for the libraries until 2026-11-21."""
HELP = "import typer.rich_utils"
"""What Typer imports to print a help."""
TYPER = """
import typer
program = typer.Typer(no_args_is_help=True)
for number in range(20):
    program.command(f"command{number}", help="Derive the peaks and bandwidths of a device.")(lambda: None)
program()
"""
"""A program with about as many commands, and nothing in them."""
PROGRAM = ("-m", "rooflint")
PYTEST = ("-m", "pytest", "--collect-only", "-q")
NO_XDIST = ("-p", "no:xdist", "-p", "no:xdist.looponfail")


@dataclass
class Side:
    """A command, and what its time is divided by."""

    arguments: tuple[str, ...]
    reference: str = ""
    folder: Path | None = None
    """Where it runs; here if None."""
    environment: dict[str, str] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)


def sides(empty: Path, before: Path | None) -> dict[str, Side]:
    """All commands by name, references first."""
    found = {
        "imports of the libraries": Side(("-c", LIBRARIES)),
        "the same, no model built": Side(("-c", SHALLOW)),
        "imports of a help": Side(("-c", HELP)),
        "help of a bare program": Side(("-c", TYPER, "--help"), "imports of a help"),
        "pytest, neither plugin": Side((*PYTEST, "-p", "no:rooflint", *NO_XDIST), folder=empty),
        "pytest, xdist inactive": Side((*PYTEST, "-p", "no:rooflint"), "pytest, neither plugin", empty),
        "pytest, rooflint inactive": Side((*PYTEST, *NO_XDIST), "pytest, neither plugin", empty),
    }
    commands = {
        "--help": ((*PROGRAM, "--help"), "imports of a help"),
        "compare resnet18": ((*PROGRAM, "compare", "resnet18"), "imports of the libraries"),
        "tdp registry --modes": ((*PROGRAM, "tdp", "registry", "--modes"), "imports of the libraries"),
    }
    for name, (command, reference) in commands.items():
        found[name] = Side(command, reference)
        if before:
            paths = os.pathsep.join(str(before.resolve() / folder) for folder in ("model", "validation", "reports"))
            found[f"{name}, before"] = Side(command, reference, environment={"PYTHONPATH": paths})
    return found


def cpu_s(side: Side, environment: dict[str, str]) -> float:
    """CPU time of a command and its children. [s]"""
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    # pytest ends with 5 where it collects nothing
    subprocess.run(
        [sys.executable, *side.arguments],
        env=environment | side.environment,
        stdout=subprocess.DEVNULL,
        check="pytest" not in side.arguments,
        cwd=side.folder,
    )
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="a checkout of another revision")
    parser.add_argument("--fresh", metavar="NETWORK", help="a network without a committed table, such as resnet34")
    options = parser.parse_args()
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as name:
        found = sides(Path(name), options.before)
        for side in found.values():
            cpu_s(side, environment)  # compiles what has changed
        for _ in range(options.rounds):
            for side in found.values():
                side.seconds.append(cpu_s(side, environment))
    for name, side in found.items():
        least, middle = min(side.seconds), sorted(side.seconds)[len(side.seconds) // 2]
        ratio = f", {least / min(found[side.reference].seconds):.2f} × {side.reference}" if side.reference else ""
        print(f"{name:28} {least:.3f} s, median {middle:.3f}{ratio}")
    if options.fresh:
        with tempfile.TemporaryDirectory() as cache:
            side = Side((*PROGRAM, "compare", options.fresh), environment={"XDG_CACHE_HOME": cache})
            print(f"{options.fresh}, captured {cpu_s(side, environment):12.2f} s")
            print(f"{options.fresh}, stored   {min(cpu_s(side, environment) for _ in range(3)):12.3f} s")
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
