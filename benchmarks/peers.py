"""Tools that do part of what rooflint does, beside it in one run: claims, counting a network, rendering verdicts.

`python benchmarks/peers.py` where rooflint[torch] and its peers are installed; a missing one is named. Allure 3 is an
npm package: `--allure node_modules/.bin/allure`. Stopwatches have their own benchmark, `benchmarks/stopwatches.py`.
"""

import argparse
import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
FEW, MANY = 5, 55
"""Devices of the repositories, with CLAIMS claims each; a claim costs the slope between them."""
CLAIMS = 20
VERDICTS = 10_000
SIZE = (1, 3, 224, 224)

BARE = """
import pytest, yaml

def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".yaml" and "golden" in file_path.parts:
        return File.from_parent(parent, path=file_path)

class File(pytest.File):
    def collect(self):
        for position, claim in enumerate(yaml.load(self.path.read_text(), yaml.CSafeLoader)["claims"]):
            item = Item.from_parent(self, name=f"claim-{position}")
            item.claim = claim
            yield item

class Item(pytest.Item):
    def runtest(self):
        assert self.claim["expect"]
"""
SYRUPY = """
import pytest

@pytest.mark.parametrize("number", range({number}))
def test_peak(number, snapshot):
    assert f"{{2 * number}}.00 GOP/s" == snapshot
"""
PANDERA = """
import numpy as np, pandas as pd
import pandera.pandas as pa
found = pd.DataFrame({{"value": np.arange({number}) * 1.001, "expect": np.arange({number}) * 1.0}})
near = pa.Check(lambda table: (table["value"] - table["expect"]).abs() <= 0.01 * table["expect"])
pa.DataFrameSchema({{"value": pa.Column(float), "expect": pa.Column(float)}}, checks=near).validate(found, lazy=True)
"""
PASSING = """
import pytest

@pytest.mark.parametrize("number", range({number}))
def test_peak(number):
    assert 2 * number == number + number
"""

PAGE = ("--html", "page/report.html", "--summary", "page/summary.md")

Side = Callable[[], float]


def cpu_s(command: tuple[str, ...], folder: Path) -> float:
    """CPU time of a command and its children. [s]"""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False, text=True)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {(done.stdout + done.stderr)[-2000:]}")
    return ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime


def least(sides: Mapping[str, Side], rounds: int) -> dict[str, float]:
    """The least time of each side, taken in turn, forward and backward. [s]"""
    found = dict.fromkeys(sides, float("inf"))
    for number in range(rounds):
        for name in list(sides) if number % 2 == 0 else reversed(list(sides)):
            found[name] = min(found[name], sides[name]())
    return found


def installed(*modules: str) -> bool:
    """Whether all are there; those that are missing are named."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    for module in missing:
        print(f"{module:32} not installed")
    return not missing


def repository(folder: Path, devices: int, *, bare: bool) -> Path:
    """Devices with 20 units and a claim for each, for the plugin or for a bare collector."""
    for part in ("specs/hardware/bench", "golden"):
        (folder / part).mkdir(parents=True)
    for device in range(1, devices + 1):
        units = "".join(
            f"  u{unit}: {{group: core, groups: [{device}, s, p], per_group: [1, s, p], clock: [1000 MHz, s, p], "
            f"macs_per_clock: {{int8: [{unit} MAC, s, p]}}}}\n"
            for unit in range(1, CLAIMS + 1)
        )
        spec = f"name: Device {device}\nkind: npu\nsources:\n  s: {{document: Brief, grade: read}}\nunits:\n{units}"
        lines = "".join(
            f"  - {{peak: u{unit} int8, expect: {2 * device * unit}.00 GOP/s}}\n" for unit in range(1, CLAIMS + 1)
        )
        golden = f"hardware: bench/d{device}\nsource: {{document: Page, where: table, grade: read}}\nclaims:\n{lines}"
        (folder / f"specs/hardware/bench/d{device}.yaml").write_text(spec, encoding="utf-8")
        (folder / f"golden/d{device}.yaml").write_text(golden, encoding="utf-8")
    options = "" if bare else 'rooflint_golden = ["golden"]\nrooflint_specs = ["specs"]\n'
    (folder / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{options}", encoding="utf-8")
    if bare:
        (folder / "conftest.py").write_text(BARE, encoding="utf-8")
    return folder


def module(folder: Path, name: str, text: str) -> Path:
    """A folder with one file, and with settings of its own."""
    place = folder / name
    place.mkdir()
    (place / "test_it.py").write_text(text, encoding="utf-8")
    (place / "pyproject.toml").write_text("[tool.pytest.ini_options]\n", encoding="utf-8")
    return place


# ---- claims


def claims(folder: Path, rounds: int) -> None:
    """What a claim costs, as the slope between 100 and 1100 of them."""
    sides: dict[str, Side] = {}

    def add(name: str, devices: int, command: tuple[str, ...], place: Path) -> None:
        sides[f"{name} {devices}"] = lambda: cpu_s(command, place)

    known = ["a claim of rooflint", "item of a bare collector"]
    for devices in (FEW, MANY):
        for name, bare in zip(known, (False, True), strict=True):
            place = repository(folder / f"{devices}{bare}", devices, bare=bare)
            add(name, devices, (*PYTEST, "golden"), place)
    if installed("syrupy"):
        known.append("snapshot of syrupy")
        for devices in (FEW, MANY):
            place = module(folder, f"syrupy{devices}", SYRUPY.format(number=CLAIMS * devices))
            cpu_s((*PYTEST, "--snapshot-update"), place)
            add(known[-1], devices, PYTEST, place)
    if installed("pandera", "pandas"):
        known.append("row of pandera")
        for devices in (FEW, MANY):
            place = module(folder, f"pandera{devices}", PANDERA.format(number=CLAIMS * devices))
            add(known[-1], devices, (sys.executable, "test_it.py"), place)
    found = least(sides, rounds)
    for name in known:
        few_s, many_s = found[f"{name} {FEW}"], found[f"{name} {MANY}"]
        each_ms = 1e3 * (many_s - few_s) / (CLAIMS * (MANY - FEW))
        print(f"{name:32} {each_ms:6.3f} ms each; {CLAIMS * MANY} of them {many_s:.2f} s")


# ---- counting


def counting(rounds: int) -> None:
    """ResNet-18 built and counted, after imports; and its stored capture read."""
    if not installed("torch", "torchvision"):
        return
    import torch  # noqa: PLC0415

    from rooflint.workloads import tables  # noqa: PLC0415
    from rooflint.workloads.capture.torchvision_networks import (  # noqa: PLC0415
        capture_torchvision,
        import_torchvision,
    )

    models = import_torchvision().models
    said: dict[str, str] = {}

    def ours() -> None:
        said["capture of rooflint"] = f"{capture_torchvision('resnet18', SIZE).total_macs / 1e9:.4f} GMAC"

    def stored() -> None:
        tables._parsed.cache_clear()  # as in a new process
        said["committed table of rooflint"] = (
            f"{tables.load_workload('torchvision/resnet18').total_macs / 1e9:.4f} GMAC"
        )

    def fvcore() -> None:
        from fvcore.nn import FlopCountAnalysis  # noqa: PLC0415

        counted = FlopCountAnalysis(models.get_model("resnet18", weights=None).eval(), torch.empty(SIZE))
        said["fvcore"] = f"{counted.unsupported_ops_warnings(False).total() / 1e9:.4f} GMAC"

    def torchinfo() -> None:
        from torchinfo import summary  # noqa: PLC0415

        counted = summary(models.get_model("resnet18", weights=None), SIZE, verbose=0)
        said["torchinfo"] = f"{counted.total_mult_adds / 1e9:.4f} GMAC, {counted.total_params} parameters"

    calls: dict[str, Callable[[], None]] = {"capture of rooflint": ours, "committed table of rooflint": stored}
    calls |= {name: call for name, call in (("fvcore", fvcore), ("torchinfo", torchinfo)) if installed(name)}
    for call in calls.values():
        call()  # imports
    for name, seconds in least({name: spent(call) for name, call in calls.items()}, rounds).items():
        print(f"{name:32} {1e3 * seconds:8.1f} ms; {said[name]}")


def spent(call: Callable[[], None]) -> Side:
    """CPU time of a call, of all threads."""

    def seconds() -> float:
        begun = time.process_time()
        call()
        return time.process_time() - begun

    return seconds


# ---- verdicts


def verdicts(folder: Path, rounds: int, allure: str) -> None:
    """10 000 verdicts as a page: the run that found them does not count."""
    place = repository(folder / "many", VERDICTS // CLAIMS, bare=False)
    (place / "page").mkdir()
    cpu_s((*PYTEST, "golden", "--rooflint-evidence=evidence.json"), place)
    report = (sys.executable, "-m", "rooflint", "report", "evidence.json", *PAGE)
    sides: dict[str, Side] = {"report of rooflint": lambda: cpu_s(report, place)}
    pages = {"report of rooflint": place / "page"}
    passing = module(folder, "passing", PASSING.format(number=VERDICTS))
    if installed("pytest_html"):
        sides["a run without a page"] = lambda: cpu_s(PYTEST, passing)
        html = (*PYTEST, "--html=html/page.html", "--self-contained-html")
        sides["a run with pytest-html"] = lambda: cpu_s(html, passing)
        pages["a run with pytest-html"] = passing / "html"
    if not allure:
        print(f"{'Allure 3':32} not installed; name it by --allure")
    elif installed("allure_pytest"):
        cpu_s((*PYTEST, "--alluredir=results"), passing)
        sides["Allure 3"] = lambda: cpu_s((allure, "generate", "results", "-o", "allure"), passing)
        pages["Allure 3"] = passing / "allure"
    for name, seconds in least(sides, rounds).items():
        print(f"{name:32} {seconds:6.2f} s{''.join(sizes(pages.get(name)))}")


def sizes(page: Path | None) -> Iterator[str]:
    """Files and bytes of a page."""
    if page:
        files = [file for file in page.rglob("*") if file.is_file()]
        yield f"; {sum(file.stat().st_size for file in files) / 1e6:.1f} MB in {len(files)} files"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--allure", default="", metavar="PROGRAM", help="Allure 3, from `npm install allure`")
    parser.add_argument("--only", choices=("claims", "counting", "verdicts"))
    options = parser.parse_args()
    allure = str(Path(options.allure).resolve()) if options.allure else ""
    with tempfile.TemporaryDirectory() as name:
        parts: dict[str, Callable[[], None]] = {
            "claims": lambda: claims(Path(name), options.rounds),
            "counting": lambda: counting(options.rounds),
            "verdicts": lambda: verdicts(Path(name), options.rounds, allure),
        }
        for part, run in parts.items():
            if options.only in (None, part):
                print(f"\n{part}, load {os.getloadavg()[0]:.1f}")
                run()


if __name__ == "__main__":
    main()
