"""What a claim costs, side by side with the barest YAML collector; and the start-up, side by side with bare imports.

Run `python benchmarks/claim_cost.py` where rooflint is installed; `--claims 10000` for a large repository. Both sides
of a ratio are measured in the same run, in turn and back; a side's time is the minimum over rounds of the CPU time of
the process and its children, because noise on a shared machine only adds. Memory is the peak of the largest process.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

DEVICES, CLAIMS_PER_DEVICE = 50, 20

BARE_CONFTEST = """
import pytest, yaml

def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".yaml" and "golden" in file_path.parts:
        return YamlFile.from_parent(parent, path=file_path)

class YamlFile(pytest.File):
    def collect(self):
        for position, claim in enumerate(yaml.load(self.path.read_text(), yaml.CSafeLoader)["claims"]):
            item = YamlItem.from_parent(self, name=f"claim-{position}")
            item.claim = claim
            yield item

class YamlItem(pytest.Item):
    def runtest(self):
        assert self.claim["expect"]

    def reportinfo(self):
        return self.path, 0, self.name
"""


def spec(device: int) -> str:
    """A device with enough units that every claim has its own subject."""
    units = "\n".join(
        f"  u{unit}: {{group: core, groups: [{device + 1}, s, p], per_group: [1, s, p], clock: [1000 MHz, s, p], "
        f"macs_per_clock: {{int8: [{unit + 1} MAC, s, p]}}}}"
        for unit in range(CLAIMS_PER_DEVICE)
    )
    return f"name: Device {device}\nkind: npu\nsources:\n  s: {{document: Brief, grade: read}}\nunits:\n{units}\n"


def golden(device: int, claims: int) -> str:
    """As many peak claims."""
    lines = "\n".join(
        f"  - {{peak: u{unit} int8, expect: {2 * (device + 1) * (unit + 1)}.00 GOP/s}}" for unit in range(claims)
    )
    return f"hardware: bench/d{device}\nsource: {{document: Page, where: table, grade: read}}\nclaims:\n{lines}\n"


def repository(folder: Path, *, devices: int, claims: int, bare: bool) -> Path:
    """A repository with that many claims, for the plugin or for the bare collector."""
    specs, goldens = folder / "specs" / "hardware" / "bench", folder / "golden"
    specs.mkdir(parents=True)
    goldens.mkdir()
    for device in range(devices):
        (specs / f"d{device}.yaml").write_text(spec(device))
        (goldens / f"d{device}.yaml").write_text(golden(device, claims))
    options = "" if bare else 'rooflint_golden = ["golden"]\nrooflint_specs = ["specs"]\n'
    (folder / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{options}")
    if bare:
        (folder / "conftest.py").write_text(BARE_CONFTEST)
    return folder


OTHERS = ("html", "metadata", "xdist", "rerunfailures", "pytest_cov")
"""Plugins that pytest loads where they are installed, and that one file does not need."""

CHILD = """
import resource, subprocess, sys, time
started = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss, time.perf_counter() - started)
"""


def measured(command: list[str], folder: Path) -> tuple[float, float, float]:
    """CPU seconds of a whole process with its children, peak memory of the largest, time by the clock. [s], [kB], [s]

    It must succeed. Bytecode is kept, as Python does unless told otherwise.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONHASHSEED": "0"}
    child = [sys.executable, "-c", CHILD, *command]
    result = subprocess.run(child, cwd=folder, check=True, capture_output=True, encoding="utf-8", env=environment)
    seconds, kilobytes, by_clock = map(float, result.stdout.split())
    return seconds, kilobytes, by_clock


def timed(command: list[str], folder: Path) -> float:
    """CPU seconds of a whole process with its children."""
    return measured(command, folder)[0]


def minima(sides: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The least time of each side, measured in turn: forward, then backward, so that drift meets all alike."""
    best = dict.fromkeys(sides, float("inf"))
    for round_number in range(rounds):
        order = list(sides) if round_number % 2 == 0 else list(reversed(sides))
        for name in order:
            best[name] = min(best[name], sides[name]())
    return best


def marginal(what: str, best: dict[str, float], base: str, claims: int, side: str = "plugin") -> str:
    """What one more costs on each side, as the slope between two repositories of different size."""
    plugin = (best[f"{side} many"] - best[f"{side} {base}"]) / claims
    bare = (best["bare many"] - best[f"bare {base}"]) / claims
    return f"{what}: {side} {plugin * 1e3:.3f} ms, bare collector {bare * 1e3:.3f} ms, ratio {plugin / bare:.2f}"


def large(base: Path, run: list[str], claims: int) -> None:
    """A repository of so many claims: linear growth, memory with and without evidence, and two workers of xdist."""
    devices = claims // CLAIMS_PER_DEVICE
    sides = {
        "plugin, first run": (repository(base / "large", devices=devices, claims=CLAIMS_PER_DEVICE, bare=False), []),
        "plugin": (base / "large", []),
        "bare": (repository(base / "bare_large", devices=devices, claims=CLAIMS_PER_DEVICE, bare=True), []),
        "plugin, evidence": (base / "large", ["--rooflint-evidence=e.json"]),
        "plugin, -n 2": (base / "large", ["-n", "2"]),
        "bare, -n 2": (base / "bare_large", ["-n", "2"]),
    }
    empty = measured(run, base / "one")[1]
    for side, (folder, options) in sides.items():
        seconds, kilobytes, by_clock = measured([*run, *options], folder)
        each, memory = seconds / claims * 1e3, (kilobytes - empty) / claims
        cost = f"{seconds:7.2f} s, {by_clock:6.2f} s by the clock, {each:.2f} ms and {memory:.1f} kB a claim"
        print(f"{claims} claims, {side:<17} {cost}")


def main() -> None:
    """Measure and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--claims", type=int, default=0, help="also a repository of so many claims, once")
    options = parser.parse_args()
    quiet = ["-q", "-p", "no:hypothesispytest", "-p", "no:anyio"]
    run = [sys.executable, "-m", "pytest", *quiet, "golden"]
    first = [*run, "-p", "no:cacheprovider"]
    file = [sys.executable, "-m", "pytest", *quiet, "golden/d0.yaml"]
    alone = [*file, *(option for name in OTHERS for option in ("-p", f"no:{name}"))]
    imports = [sys.executable, "-c", "import yaml, numpy, pytest"]
    model = [sys.executable, "-c", "import pytest, rooflint.hardware.registry, rooflint.diagnosis.diagnose"]
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        many = repository(base / "many", devices=DEVICES, claims=CLAIMS_PER_DEVICE, bare=False)
        few = repository(base / "few", devices=DEVICES, claims=1, bare=False)
        bare_few = repository(base / "bare_few", devices=DEVICES, claims=1, bare=True)
        one = repository(base / "one", devices=1, claims=1, bare=False)
        bare_many = repository(base / "bare_many", devices=DEVICES, claims=CLAIMS_PER_DEVICE, bare=True)
        bare_one = repository(base / "bare_one", devices=1, claims=1, bare=True)
        for folder in (many, few, one):
            timed(run, folder)  # it keeps what it parsed
        best = minima(
            {
                "first few": lambda: timed(first, few),
                "first many": lambda: timed(first, many),
                "first one": lambda: timed(first, one),
                "plugin few": lambda: timed(run, few),
                "bare few": lambda: timed(run, bare_few),
                "plugin many": lambda: timed(run, many),
                "bare many": lambda: timed(run, bare_many),
                "plugin one": lambda: timed(run, one),
                "bare one": lambda: timed(run, bare_one),
                "collect one": lambda: timed([*run, "--collect-only"], one),
                "one file": lambda: timed(file, one),
                "file alone": lambda: timed(alone, one),
                "imports": lambda: timed(imports, base),
                "model": lambda: timed(model, base),
            },
            options.rounds,
        )
        if options.claims:
            large(base, run, options.claims)
    for side, seconds in best.items():
        print(f"{side:<12} {seconds:7.3f} s")
    print(marginal("a claim", best, "few", DEVICES * (CLAIMS_PER_DEVICE - 1)))
    print(marginal("a claim and the spec facts it rests on", best, "one", DEVICES * CLAIMS_PER_DEVICE - 1))
    print(marginal("a claim, nothing kept", best, "few", DEVICES * (CLAIMS_PER_DEVICE - 1), "first"))
    print(marginal("a claim and its facts, nothing kept", best, "one", DEVICES * CLAIMS_PER_DEVICE - 1, "first"))
    print(f"collecting one claim over bare imports: ratio {best['collect one'] / best['imports']:.2f}")
    print(f"pytest on one file over importing pytest and the model: ratio {best['one file'] / best['model']:.2f}")
    print(f"the same without the plugins of others: ratio {best['file alone'] / best['model']:.2f}")


if __name__ == "__main__":
    main()
