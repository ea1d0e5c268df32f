"""Somebody's repository for every test: a copy of the tiny one, edited line by line, and pytest run in it."""

import atexit
import datetime
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from pytest_rooflint.evidence import build  # noqa: F401  # nested runs in this process find them loaded
from pytest_rooflint.golden import kinds, read  # nested runs in this process find them loaded
from pytest_rooflint.session import run  # noqa: F401  # nested runs in this process find them loaded
from pytest_rooflint.suite import suite, world
from pytest_rooflint.suite.judge import judge
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Verdict
from rooflint_measure.record import (
    Conditions,
    Energy,
    Gemm,
    Measurement,
    Network,
    Samples,
    State,
    Stream,
    Unavailable,
)
from rooflint_measure.recording import Machine, Recording, write

TINY = Path(__file__).parent / "tiny"
ROOT = Path(__file__).parents[2]
SCRIPTS = Path(sys.executable).parent

for name in kinds.names():
    kinds.kind(name)


OWN_ORDER = "-p no:randomly -p no:hypothesispytest -p no:anyio"
"""Tests in their order, and no plugin that takes long to start."""


def run_script(root: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A console script in a process of its own, as a user starts it: no PYTHONPATH, nothing from GitHub."""
    words = [str(SCRIPTS / command[0]), *command[1:]]
    return run_forked(words, root, plain_environment("PYTEST", PYTEST_ADDOPTS=OWN_ORDER, **environment))


def run_cold(root: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """The same in a process that starts from nothing."""
    words, env = [str(SCRIPTS / command[0]), *command[1:]], plain_environment("PYTEST", PYTEST_ADDOPTS=OWN_ORDER)
    return subprocess.run(words, cwd=root, env=env, capture_output=True, encoding="utf-8", check=False)


def plain_environment(*foreign: str, **more: str) -> dict[str, str]:
    """That of a user, and none of these variables."""
    strange = ("PYTHONPATH", "GITHUB_", "ROOFLINT", *foreign)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(strange) and key != "CI"}
    return {**kept, "COLUMNS": "200", **more}


def run_forked(
    command: list[str], root: Path, env: dict[str, str], python: str = sys.executable
) -> subprocess.CompletedProcess[str]:
    """A script, or a module behind `-m`, in a process of its own, forked off one of that Python: see forked.py.

    It saves a second of imports. tests/test_foreign_repositories.py also starts processes from nothing.
    """
    if sys.platform != "linux":
        words = [python, *command] if command[0] == "-m" else command
        return subprocess.run(words, cwd=root, env=env, capture_output=True, encoding="utf-8", check=False)
    with TemporaryDirectory() as folder:
        out, err = (Path(folder) / name for name in ("out", "err"))
        asked = {"command": command, "cwd": str(root), "env": env, "out": str(out), "err": str(err)}
        forking = _forking(python)
        print(json.dumps(asked), file=forking.stdin, flush=True)
        status = int(forking.stdout.readline())
        printed = (file.read_text(encoding="utf-8", errors="replace") for file in (out, err))
        return subprocess.CompletedProcess(command, status, *printed)


@cache
def _forking(python: str) -> subprocess.Popen[str]:
    """The process that scripts fork off; it ends before this one."""
    command = [python, "-P", str(Path(__file__).with_name("forked.py"))]
    pipe = subprocess.PIPE
    forking = subprocess.Popen(command, env=plain_environment("PYTEST"), stdin=pipe, stdout=pipe, encoding="utf-8")
    atexit.register(forking.communicate)
    return forking


class Repository:
    """A folder with specs, golden files and a pyproject."""

    def __init__(self, root: Path, pytester: pytest.Pytester | None = None) -> None:
        self.root = root
        self.pytester = pytester

    def write(self, name: str, text: str) -> Path:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def read(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8")

    def edit(self, name: str, old: str, new: str) -> int:
        """Replace a text that the file has exactly once; its line."""
        text = self.read(name)
        assert text.count(old) == 1, f"'{old}' is {text.count(old)} times in {name}"
        self.write(name, text.replace(old, new))
        return text[: text.index(old)].count("\n") + 1

    def line(self, name: str, part: str) -> int:
        """The line of the only line with that text."""
        (found,) = [number for number, line in enumerate(self.read(name).splitlines(), 1) if part in line]
        return found

    # ---- run

    def run(self, *arguments: str) -> pytest.RunResult:
        """`pytest …` in this process, in order; Hypothesis' plugin would be imported anew each time."""
        assert self.pytester
        return self.pytester.runpytest_inprocess("-rf", "-p", "no:hypothesispytest", "-p", "no:randomly", *arguments)

    def script(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """A console script in a process of its own, here."""
        return run_script(self.root, *command, **environment)

    def evidence(self, *arguments: str) -> dict[str, Any]:
        """The evidence of a run in this process."""
        self.run("--rooflint-evidence=evidence.json", *arguments)
        return json.loads(self.read("evidence.json"))

    # ---- without pytest

    def suite(self) -> Suite:
        return Suite.of([self.root / "golden"], [self.root / "specs"])

    def verdicts(self, name: str = "golden/x1.yaml") -> dict[str, Verdict]:
        """Verdicts of one golden file by claim id."""
        suite = self.suite()
        return {claim.id: judge(claim, f"{name}::{claim.id}", suite) for claim in suite.read(self.root / name).claims}


@pytest.fixture(scope="session", autouse=True)
def _shipped_golden_files_are_read_once() -> Iterator[None]:
    """Suites share what one of them read of them."""
    shared = cache(read.load)

    def load(file: Path, text: str | None = None) -> kinds.Golden:
        return shared(file) if text is None and file.is_relative_to(ROOT / "golden") else read.load(file, text)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(suite, "load", load)
        yield


@pytest.fixture(autouse=True)
def _no_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests mean the same on a laptop and on GitHub."""
    for key in [key for key in os.environ if key == "CI" or key.startswith("GITHUB_")]:
        monkeypatch.delenv(key)


@pytest.fixture(scope="session")
def cold_script() -> Callable[..., subprocess.CompletedProcess[str]]:
    """The same from nothing, where it matters what is imported."""
    return run_cold


@pytest.fixture(scope="session")
def script() -> Callable[..., subprocess.CompletedProcess[str]]:
    """`script(folder, "pytest", …)`."""
    return run_script


@pytest.fixture
def tiny(pytester: pytest.Pytester) -> Repository:
    """A copy of the tiny repository; the working directory is its root."""
    shutil.copytree(TINY, pytester.path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".pytest_cache"))
    return Repository(pytester.path, pytester)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """An empty one, where pytest is not needed; the working directory is its root."""
    monkeypatch.chdir(tmp_path)
    return Repository(tmp_path)


@pytest.fixture
def red() -> Callable[[pytest.RunResult | subprocess.CompletedProcess[str]], set[str]]:
    """Ids of what a run printed as failed, without their files; a spec has no id but its file."""

    def found(result: pytest.RunResult | subprocess.CompletedProcess[str]) -> set[str]:
        text = result.stdout if isinstance(result.stdout, str) else result.stdout.str()
        return {match[1] for match in re.finditer(r"^FAILED (?:\S+?::)?(\S+)", text, re.MULTILINE)}

    return found


A1 = """\
name: Acme A1
kind: npu
sources: {arch: {document: Acme A1 architecture manual, grade: read}}
units:
  mac_array:
    group: tile
    per_group: [2, arch, p. 2]
    macs_per_clock: {int8: [1024 MAC, arch, p. 3], fp16: [512 MAC, arch, p. 3]}
    sparsity: {int8: [2, arch, p. 4]}
    circuit: systolic_mac
"""

K1 = """\
name: Acme K1
kind: npu
architecture: acme/a1
scope: package
parts: {gcd: [2, brief, p. 1]}
sources:
  brief: {document: Acme K1 brief, grade: read}
  guess: {document: a colleague's judgement, grade: estimate}
tdp: [20 W, brief, p. 1]
powers: {typical: [12 W, brief, p. 1]}
clocks: {base: [800 MHz, brief, p. 2], boost: [1200 MHz, brief, p. 2]}
units:
  mac_array: {groups: [8, brief, p. 2], clock: [1000 MHz, brief, p. 2], clock_of: {fp16: [900 MHz, brief, p. 2]}}
  vector:
    group: tile
    groups: [8, brief, p. 2]
    per_group: [16, brief, p. 2]
    clock: [1200 MHz, brief, p. 2]
    macs_per_clock: {fp32: [2 MAC, brief, p. 3], int8: [8 MAC, guess, from the fp32 rate]}
    circuit: simd_packed
  secret: {group: island, groups: [1, brief, p. 2], per_group: [1, brief, p. 2], clock: [1000 MHz, brief, p. 2]}
memories:
  hbm: {capacity: [16 GiB, brief, p. 5], bus: [1024 bit, brief, p. 5], pin_rate: [2 Gbit/s, brief, p. 5]}
  ddr: {capacity: [32 GB, brief, p. 5], bandwidth: [25.6 GB/s, brief, p. 5]}
caches: {l2: {capacity: [4 MiB, brief, p. 5]}}
launch_overhead: [1 µs, brief, p. 6]
operating_points:
  low:
    tdp: [10 W, brief, p. 7]
    units.mac_array.clock: [500 MHz, brief, p. 7]
    units.mac_array.clock_of.fp16: [450 MHz, brief, p. 7]
undisclosed: {units.secret.macs_per_clock: Acme does not publish it}
"""


@pytest.fixture
def acme(repository: Repository) -> Repository:
    """A repository with one device that has a bit of everything; no golden file yet."""
    repository.write("specs/architectures/acme/a1.yaml", A1)
    repository.write("specs/hardware/acme/k1.yaml", K1)
    return repository


@pytest.fixture
def claims(acme: Repository) -> Callable[..., list[Verdict]]:
    """Verdicts on claims about acme/k1, written as in a golden file."""

    def judged(*lines: str, head: str = "hardware: acme/k1\n") -> list[Verdict]:
        source = "source: {document: Acme data sheet, where: p. 1, grade: read}\n"
        text = "".join(f"  - {{{line}}}\n" for line in lines)
        acme.write("golden/k1.yaml", f"{head}{source}claims:\n{text}")
        return list(acme.verdicts("golden/k1.yaml").values())

    return judged


@pytest.fixture
def small(repository: Repository) -> Repository:
    """The tiny repository where pytest is not needed; the working directory is its root."""
    shutil.copytree(TINY, repository.root, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".pytest_cache"))
    return repository


@pytest.fixture(scope="session")
def shipped_suite() -> Suite:
    """The suite on the shipped specs."""
    return Suite.of([ROOT / "golden"], [ROOT / "model/rooflint/specs"])


@pytest.fixture(scope="session")
def auditor():
    """`auditor(mapping)`: of the shipped specs, the same for the same `--map` pairs, because it remembers figures."""
    from pytest_rooflint.audit.auditor import Auditor  # noqa: PLC0415
    from rooflint.hardware.registry import Registry  # noqa: PLC0415

    plain = Auditor(Registry())

    def of(mapping):
        return Auditor(plain.registry, mapping=mapping) if mapping else plain

    return of


@pytest.fixture
def audited(tmp_path, auditor):
    """Findings of a table of published figures, written under a name; further words are `--map` pairs."""

    def found(text, name="gpus.csv", **mapping):
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        return auditor(mapping).audit(file)

    return found


@pytest.fixture(scope="session")
def fakes() -> Any:
    """The module fake_nvml: `FakeNvml`, `FakeGpu`, `FakeClock` and the curves of power."""
    spec = importlib.util.spec_from_file_location("fake_nvml", Path(__file__).parent / "measure" / "fake_nvml.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def stand_in():
    """A machine of which nobody knows anything: `stand_in(power)` observes it for a stopwatch, and counts its looks."""
    from rooflint_measure.sensors.host import Watch  # noqa: PLC0415

    class StandIn:
        def __init__(self, power=None, device="a CPU"):
            self.looks, self.device = 0, device
            self.source = power or Unavailable(reason="a stand-in")

        def machine(self, libraries):
            kind, count = ("gpu", 1) if self.device.startswith("Tesla") else ("cpu", 2)
            return Machine(device=self.device, kind=kind, count=count, software=dict(libraries))

        def state(self):
            self.looks += 1
            return State(clock_hz=1e9 + self.looks, clock_source="a stand-in")

        def watch(self):
            return Watch()

        def power(self):
            return self.source

        def conditions(self, before, after, during=()):
            return Conditions(before=before, after=after, during=tuple(during), threads=1, affinity=(0,))

    return StandIn


# ---- synthetic recordings of acme/k1, which never existed

SYNTHETIC = "Synthetic Acme K1"
NOWHERE = Unavailable(reason="a synthetic recording")
FOLDER = "golden/measured/acme/k1"
HEAD = f"""\
hardware: acme/k1
machine: {SYNTHETIC}
source: {{document: a synthetic recording of the tests, where: measurements, grade: estimate}}
claims:
"""

INT8_PEAK, FP32_PEAK = 32.768e12, 614.4e9
"""8 × 2 × 1024 MAC × 2 × 1 GHz and 8 × 16 × 2 MAC × 2 × 1.2 GHz. [op/s]"""
BANDWIDTH, CACHE = 256e9, 4 * 2**20
"""1024 bit × 2 Gbit/s [B/s], and the L2 [B]."""


def conditions(clock_hz=1e9, power_w=NOWHERE, limit_w=NOWHERE, load=NOWHERE) -> Conditions:
    def state(power):
        return State(clock_hz=clock_hz, clock_source="synthetic", power_w=power, power_limit_w=limit_w, load=load)

    around = state(NOWHERE)
    during = tuple(map(state, power_w)) if isinstance(power_w, tuple) else ()
    return Conditions(before=around, after=around, during=during, threads=1, affinity=(0,))


def timed(subject: Any, best_s: float, **more: Any) -> Measurement:
    """Five samples, the best of them so long; `stolen` and `throttled` disturb as many of the first."""
    stolen, throttled = more.pop("stolen", 0), more.pop("throttled", 0)
    seconds = tuple(best_s * (1 + number / 100) for number in range(5))
    asked = {key: more.pop(key) for key in ("clock_hz", "power_w", "limit_w", "load") if key in more}
    return Measurement(
        subject=subject,
        samples=Samples(
            seconds=seconds,
            calls=10,
            stolen_s=tuple(best_s if number < stolen else 0.0 for number in range(5)),
            throttled=dict.fromkeys(range(throttled), ("power cap",)),
        ),
        conditions=conditions(**asked),
        energy=more.pop("energy", NOWHERE),
        **more,
    )


def gemm(rate: float, precision="int8", shape=(4096, 4096, 4096), **more: Any) -> Measurement:
    """A product at a rate in op/s."""
    m, n, k = shape
    subject = Gemm(precision=precision, library="synthetic", m=m, n=n, k=k)
    return timed(subject, 2 * subject.macs / rate, **more)


def stream(rate: float, array_bytes=100_000_000, **more: Any) -> Measurement:
    """A copy at a rate in B/s."""
    subject = Stream(kernel="copy", library="synthetic", array_bytes=array_bytes)
    return timed(subject, 2 * array_bytes / rate, bytes_moved=2 * array_bytes, **more)


def network(best_s: float, name="resnet18", batch=1, macs=1_814_073_344, **more: Any) -> Measurement:
    """A network, with the MAC that its op table has unless said."""
    subject = Network(name=name, batch=batch, precision="fp32", library="synthetic", macs=macs * batch)
    return timed(subject, best_s, **more)


def energy(mean_w: float, seconds=2.0, idle_w=5.0, **more: Any) -> Energy:
    return Energy(source="synthetic", joules=mean_w * seconds, seconds=seconds, calls=100, idle_w=idle_w, **more)


def recorded(*rows: Measurement, hour=0, device=SYNTHETIC, kind="gpu", **facts: Any) -> Recording:
    """A recording of a machine that never was."""
    return Recording(
        taken=datetime.datetime(2026, 11, 20, hour, tzinfo=datetime.UTC),
        command="a synthetic recording",
        rooflint="0.1.0",
        machine=Machine(device=device, kind=kind, count=1, facts=facts),
        measurements=rows,
    )


@dataclass
class Bench:
    """A repository in which acme/k1 is described, with synthetic recordings of it."""

    repository: Any
    taken: list[Path] = field(default_factory=list)

    def record(self, *rows: Measurement, folder=FOLDER, device=SYNTHETIC, **facts: Any) -> Path:
        """Add a recording; each is an hour later than the one before."""
        one = recorded(*rows, hour=len(self.taken), device=device, **facts)
        self.taken.append(write(self.repository.root / folder, one))
        return self.taken[-1]

    def claim(self, *lines: str, head: str = HEAD) -> Path:
        """Write claims over the recordings of acme/k1."""
        text = "".join(f"  - {{{line}}}\n" for line in lines)
        return self.repository.write(f"{FOLDER}.yaml", head + text)

    def verdict(self, line: str, head: str = HEAD) -> Verdict:
        """On one claim over them."""
        self.claim(line, head=head)
        (found,) = self.repository.verdicts(f"{FOLDER}.yaml").values()
        return found

    def problems(self) -> list[str]:
        """What is wrong with the world."""
        return [str(problem) for problem in world.problems(self.repository.suite())]


@pytest.fixture
def bench(acme) -> Bench:
    """No recording and no claim yet but that of the rated power, which the closed world wants."""
    source = "{document: Another brief, where: p. 2, grade: read}"
    acme.write("golden/power.yaml", f"hardware: acme/k1\nsource: {source}\nclaims:\n  - {{tdp: rated, expect: 20 W}}\n")
    return Bench(acme)


@pytest.fixture
def message() -> Callable[[Verdict], str]:
    """The text of a verdict in one line, so that wrapping does not matter."""
    return lambda verdict: " ".join(verdict.text().split())


@pytest.fixture
def make() -> Any:
    """The builders of measurements: `make.gemm(…)`."""

    class Make:
        pass

    for builder in (gemm, stream, network, energy, timed, recorded, Bench):
        setattr(Make, builder.__name__, staticmethod(builder))
    return Make
