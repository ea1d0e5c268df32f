"""What a claim costs, side by side with the barest YAML collector; and the start-up, side by side with bare imports.

Run `python benchmarks/claim_cost.py` where rooflint is installed. Both sides of a ratio are measured in the
same run, in turn and back; a side's time is the minimum over rounds, because noise on a shared machine only adds.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
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


def timed(command: list[str], folder: Path) -> float:
    """Seconds of a whole process. It must succeed. Bytecode is kept, as Python does unless told otherwise."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    subprocess.run(
        command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env={**environment, "PYTHONHASHSEED": "0"}
    )
    return time.perf_counter() - started


def minima(sides: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The least time of each side, measured in turn: forward, then backward, so that drift meets all alike."""
    best = dict.fromkeys(sides, float("inf"))
    for round_number in range(rounds):
        order = list(sides) if round_number % 2 == 0 else list(reversed(sides))
        for name in order:
            best[name] = min(best[name], sides[name]())
    return best


def marginal(what: str, best: dict[str, float], base: str, claims: int) -> str:
    """What one more costs on each side, as the slope between two repositories of different size."""
    plugin = (best["plugin many"] - best[f"plugin {base}"]) / claims
    bare = (best["bare many"] - best[f"bare {base}"]) / claims
    return f"{what}: plugin {plugin * 1e3:.3f} ms, bare collector {bare * 1e3:.3f} ms, ratio {plugin / bare:.2f}"


def main() -> None:
    """Measure and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "golden"]
    imports = [sys.executable, "-c", "import yaml, numpy, pytest"]
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        many = repository(base / "many", devices=DEVICES, claims=CLAIMS_PER_DEVICE, bare=False)
        few = repository(base / "few", devices=DEVICES, claims=1, bare=False)
        bare_few = repository(base / "bare_few", devices=DEVICES, claims=1, bare=True)
        one = repository(base / "one", devices=1, claims=1, bare=False)
        bare_many = repository(base / "bare_many", devices=DEVICES, claims=CLAIMS_PER_DEVICE, bare=True)
        bare_one = repository(base / "bare_one", devices=1, claims=1, bare=True)
        best = minima(
            {
                "plugin few": lambda: timed(run, few),
                "bare few": lambda: timed(run, bare_few),
                "plugin many": lambda: timed(run, many),
                "bare many": lambda: timed(run, bare_many),
                "plugin one": lambda: timed(run, one),
                "bare one": lambda: timed(run, bare_one),
                "collect one": lambda: timed([*run, "--collect-only"], one),
                "imports": lambda: timed(imports, base),
            },
            rounds,
        )
    for side, seconds in best.items():
        print(f"{side:<12} {seconds:7.3f} s")
    print(marginal("a claim", best, "few", DEVICES * (CLAIMS_PER_DEVICE - 1)))
    print(marginal("a claim and the spec facts it rests on", best, "one", DEVICES * CLAIMS_PER_DEVICE - 1))
    print(f"collecting one claim over bare imports: ratio {best['collect one'] / best['imports']:.2f}")


if __name__ == "__main__":
    main()
