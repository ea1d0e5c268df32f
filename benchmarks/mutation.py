"""What the mutation score costs: in one process and in two, from its store, and beside asking every claim.

Run `python benchmarks/mutation.py` in the project's root, where rooflint is installed. The whole command is measured as
a process of its own, in turn and back: its CPU time with that of its workers, the least of the rounds. The plain way
judges every claim on a copy of the registry for each mutant of a sample, in this process, beside the engine on the
same sample.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from pytest_rooflint.mutation.baseline import Baseline
from pytest_rooflint.mutation.engine import baseline_of
from pytest_rooflint.mutation.outcome import Group, Mutant, groups, outcomes
from pytest_rooflint.suite.judge import outcome_of
from pytest_rooflint.suite.suite import Suite

SAMPLE = 30
CHANGED = ("google/tpu-v4", "amd/mi250x", "nvidia/t4")


def timed(*arguments: str, folder: Path) -> float:
    """CPU seconds of `rooflint mutate` and its workers, which must succeed. Bytecode is kept, as Python does."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "rooflint", "mutate", "--floor=0", *arguments]
    started = os.times()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=kept)
    ended = os.times()
    return ended.children_user + ended.children_system - started.children_user - started.children_system


def changed(device: str, folder: Path) -> float:
    """CPU seconds from the store after one line more at the top of the spec of a device."""
    file = folder / "specs" / "hardware" / f"{device}.yaml"
    file.write_text(f"# a line more\n{file.read_text(encoding='utf-8')}", encoding="utf-8")
    return timed("--jobs=1", folder=folder)


def minima(sides: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The least time of each side, measured in turn: forward, then backward, so that drift meets all alike."""
    best = dict.fromkeys(sides, float("inf"))
    for round_number in range(rounds):
        for name in list(sides) if round_number % 2 == 0 else list(reversed(sides)):
            best[name] = min(best[name], sides[name]())
    return best


def plain(mutants: list[Mutant], baseline: Baseline) -> float:
    """Seconds a mutant when every claim is asked."""
    started = time.process_time()
    for mutant in mutants:
        registry = baseline.suite.registry.with_fact(mutant.fact, mutant.mutation.fact)
        suite = replace(baseline.suite, registry=registry)
        for judged in baseline.claims:
            outcome_of(judged.claim, suite)
    return (time.process_time() - started) / len(mutants)


def ours(sample: list[Group], baseline: Baseline) -> float:
    """Seconds a mutant of the engine."""
    started = time.process_time()
    count = sum(len(list(outcomes(group, baseline))) for group in sample)
    return (time.process_time() - started) / count


def project(folder: Path) -> Path:
    """The project's specs and golden files, without any store."""
    root = Path(__file__).parents[1]
    shutil.copytree(root / "golden", folder / "golden")
    shutil.copytree(root / "model" / "rooflint" / "specs", folder / "specs")
    options = 'rooflint_golden = ["golden"]\nrooflint_specs = ["specs"]\n'
    (folder / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{options}")
    return folder


def sampled(all_groups: list[Group]) -> list[Group]:
    """The same number of mutants in each run, chosen by chance."""
    chance = random.Random(0)
    chosen = chance.sample(all_groups, SAMPLE // 2)
    return [replace(group, mutants=tuple(chance.sample(group.mutants, 2))) for group in chosen]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = project(Path(name))
        timed(folder=folder)  # fills the store
        whole = minima(
            {
                "one process": lambda: timed("--no-cache", "--jobs=1", folder=folder),
                "two processes": lambda: timed("--no-cache", "--jobs=2", folder=folder),
                "from the store": lambda: timed("--jobs=1", folder=folder),
                **{f"after {one}": partial(changed, one, folder) for one in CHANGED},
            },
            rounds,
        )
        suite = Suite.of([folder / "golden"], [folder / "specs"])
        baseline, all_groups = baseline_of(suite), list(groups(suite))
        sample = sampled(all_groups)
        mutants = [mutant for group in sample for mutant in group.mutants]
        each = minima({"plain": lambda: plain(mutants, baseline), "ours": lambda: ours(sample, baseline)}, rounds)
    count = sum(len(group.mutants) for group in all_groups)
    print(f"load {load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end")
    for side, seconds in whole.items():
        print(f"{side:<20} {seconds:6.2f} s for {count} mutants, {seconds / count * 1e4:6.2f} s for 10 000")
    print(
        f"every claim : those that asked, a mutant: {each['plain'] * 1e3:.1f} ms : {each['ours'] * 1e3:.2f} ms", end=""
    )
    print(f", ratio {each['plain'] / each['ours']:.0f}")


if __name__ == "__main__":
    main()
