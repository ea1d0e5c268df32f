"""Repositories of strangers: the built wheel, in environments with the plugins that people have."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from tests.validation.conftest import plain_environment, run_forked

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]

# the environment around has rooflint too, as our working tree; without --ignore-installed pip would be content with it
FROM_WHEEL = ("--no-deps", "--no-index", "--ignore-installed", "--no-warn-script-location")
OWN_TEST = "def test_own(tmp_path):\n    assert not list(tmp_path.iterdir())\n"
NPU = """\
name: Acme NPU-1
kind: npu
scope: chip
sources: {arch: {document: Acme NPU-1 architecture specification, grade: read}}
units:
  mac_array:
    group: tile
    groups: [16, arch, section 3.1]
    per_group: [1, arch, section 3.1]
    clock: [1000 MHz, arch, section 5]
    macs_per_clock: {int8: [1024 MAC, arch, section 3.2]}
    circuit: systolic_mac
memories: {lpddr5: {bus: [64 bit, arch, section 4], pin_rate: [6.4 Gbit/s, arch, section 4]}}
"""
# 16 × 1 × 1024 MAC × 2 op/MAC × 1 GHz = 32.8 TOP/s
NPU_CLAIM = """\
hardware: acme/npu-1
source: {document: "Acme NPU-1 product brief, 2026", where: p. 2, grade: read}
claims:
  - {peak: mac_array int8, expect: 32.8 TOP/s}
"""
# 132 SM × 4 × 512 MAC × 2 op/MAC × 1.83 GHz = 989.4 TFLOP/s
H100_CLAIM = """\
hardware: nvidia/h100-sxm5-80gb
source: {document: NVIDIA H100 Tensor Core GPU data sheet, where: p. 2, grade: read}
claims:
  - {peak: tensor_core bf16, expect: 989.4 TFLOP/s}
"""

GOLDEN, SPECS = 'rooflint_golden = ["golden"]\n', 'rooflint_specs = ["specs"]\n'
WORLDS = {
    "goldens only": (GOLDEN, {"golden/h100.yaml": H100_CLAIM}),
    "specs only": (SPECS, {"specs/hardware/acme/npu-1.yaml": NPU}),
    "both": (
        GOLDEN + SPECS,
        {"golden/h100.yaml": H100_CLAIM, "golden/npu-1.yaml": NPU_CLAIM, "specs/hardware/acme/npu-1.yaml": NPU},
    ),
}
PASSED = {"goldens only": 3, "specs only": 2, "both": 4}
"""The test, the claims, and the closed world where there is a golden folder; else the specs."""

PLUGINS = {
    "xdist": ("-n", "2"),
    "pytest_cov": ("--cov=tests",),
    "randomly": ("-p", "randomly"),
    "rerunfailures": ("--reruns", "1"),
    "all installed": (),
    "no cacheprovider": ("-p", "no:cacheprovider"),
}
OTHERS = ("anyio", "hypothesispytest")
"""Plugins that are installed with what tests need."""

ENV = plain_environment("PYTEST", "COV_", "COVERAGE_")


def run(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command as a user would start it: nothing of ours in the environment."""
    command = [str(python), "-m", *arguments]
    return subprocess.run(command, cwd=folder, env=ENV, capture_output=True, encoding="utf-8", check=False)


def run_pytest(python: Path, folder: Path, plugin: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """pytest with one plugin in a process that forks off one of the environment; from nothing with all plugins."""
    if plugin == "all installed":
        return run(python, folder, "pytest", "-p", "no:randomly", *arguments)
    blocked = sorted({*OTHERS, *(name for name in PLUGINS if " " not in name)} - {plugin})
    words = [*(f"-pno:{name}" for name in blocked), *PLUGINS[plugin], *arguments]
    return run_forked(["-m", "pytest", *words], folder, ENV, str(python))


@pytest.fixture(scope="session")
def python(tmp_path_factory) -> Path:
    """Python of an environment that has the built wheel, and around it what this environment has installed."""
    home = tmp_path_factory.mktemp("foreign")
    built = run(Path(sys.executable), ROOT, "hatchling", "build", "-t", "wheel", "-d", str(home / "dist"))
    assert built.returncode == 0, built.stderr
    made = run(Path(sys.executable), home, "venv", "venv")
    assert made.returncode == 0, made.stderr
    found = home / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    scheme = {"base": str(home / "venv"), "platbase": str(home / "venv")}
    there = Path(sysconfig.get_path("purelib", "venv", scheme))
    # a plain line in a .pth file adds the folder, and not what its own .pth files add, such as our working tree
    (there / "around.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    (wheel,) = (home / "dist").glob("*.whl")
    installed = run(found, home, "pip", "install", *FROM_WHEEL, str(wheel))
    assert installed.returncode == 0, installed.stderr
    return found


@pytest.fixture
def world(tmp_path):
    """`world(name)` writes a repository, with a test of its own; the folder."""

    def written(name: str) -> Path:
        settings, files = WORLDS[name]
        project = {"pyproject.toml": f"[tool.pytest.ini_options]\n{settings}", "tests/test_own.py": OWN_TEST}
        for file, text in {**project, **files}.items():
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text(text, encoding="utf-8")
        return tmp_path

    return written


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_the_environment_has_the_wheel_and_every_plugin(python, tmp_path):
    found = run(python, tmp_path, "pytest", "--version", "--version").stdout
    for name in ("rooflint", "pytest-xdist", "pytest-cov", "pytest-randomly", "pytest-rerunfailures"):
        assert f"{name}-" in found
    assert f"{python.parents[1]}" in run(python, tmp_path, "pip", "show", "-f", "rooflint").stdout


@pytest.mark.parametrize("plugin", PLUGINS)
@pytest.mark.parametrize("below", [".", "tests"])
@pytest.mark.parametrize("name", WORLDS)
def test_a_right_repository_is_green(python, world, name, below, plugin):
    root = world(name)
    found = run_pytest(python, root / below, plugin, str(root))
    assert found.returncode == 0, found.stdout + found.stderr
    assert f"{PASSED[name]} passed" in found.stdout


@pytest.mark.parametrize("plugin", PLUGINS)
@pytest.mark.parametrize("name", ["goldens only", "both"])
def test_a_wrong_claim_is_red_and_the_file_of_the_user_is_named_first(python, world, name, plugin):
    root = world(name)
    edit(root / "golden/h100.yaml", "bf16, expect: 989.4", "fp8, expect: 3958")
    found = run_pytest(python, root, plugin)
    assert found.returncode == 1, found.stdout + found.stderr
    assert f"1 failed, {PASSED[name] - 1} passed" in found.stdout
    cause = found.stdout.partition("  ratio ")[2].partition("  facts ")[0]
    assert "structured sparsity" in cause
    assert "golden/h100.yaml:4  expect; add 'sparse: true'" in cause
    assert "site-packages" not in cause


def test_no_document_is_claimed_to_print_a_sparse_figure_twice(python, world):
    root = world("goldens only")
    sparse = "sparse: true, expect: 3958 TFLOP/s}"
    edit(root / "golden/h100.yaml", "bf16, expect: 989.4", f"fp8, {sparse}\n  - {{peak: tensor_core fp8, expect: 3958")
    found = run_pytest(python, root, "no cacheprovider")
    assert found.returncode == 1, found.stdout + found.stderr
    cause = " ".join(found.stdout.partition("  ratio ")[2].partition("  facts ")[0].split())
    assert "golden/h100.yaml:5 expect; line 4 quotes the sparse figure; quote the dense one here" in cause


def test_a_device_of_the_user_without_a_claim_is_red(python, world):
    root = world("both")
    (root / "golden/npu-1.yaml").unlink()
    found = run_pytest(python, root, "no cacheprovider")
    assert found.returncode == 1
    assert "specs/hardware/acme/npu-1.yaml:1  acme/npu-1 has no claim in any golden file" in found.stdout
    assert "nvidia/t4 has no claim" not in found.stdout


@pytest.mark.parametrize("below", [".", "tests"])
def test_commands_find_the_project_also_from_a_folder_below(python, world, below):
    root = world("both")
    peaks = run(python, root / below, "rooflint", "peaks", "npu-1")
    assert (peaks.returncode, "32.77 TOP/s" in peaks.stdout) == (0, True), peaks.stdout + peaks.stderr
    check = run(python, root / below, "rooflint", "check", "--report")
    assert check.returncode == 0, check.stdout + check.stderr
    evidence = root / "reports/out/evidence.json"
    assert (evidence.is_file(), evidence.with_name("report.html").is_file()) == (True, True)


@pytest.mark.parametrize("name", ["goldens only", "both"])
def test_one_folder_is_judged_alone(python, world, name):
    root = world(name)
    (root / "golden/nvidia").mkdir()
    (root / "golden/h100.yaml").rename(root / "golden/nvidia/h100.yaml")
    found = run(python, root, "rooflint", "check", "--golden", "golden/nvidia")
    assert found.returncode == 0, found.stdout + found.stderr
    assert "1 passed" in found.stdout


def test_without_own_specs_there_is_nothing_to_mutate(python, world):
    root = world("goldens only")
    edit(root / "pyproject.toml", GOLDEN, f"{GOLDEN}rooflint_mutation_floor = 90\n")
    alone = run(python, root, "rooflint", "mutate")
    sentence = "no specs of your own to mutate: set rooflint_specs in pyproject.toml, or pass --specs DIR"
    assert (alone.returncode, sentence in alone.stderr) == (2, True), alone.stderr
    check = run(python, root, "rooflint", "check", "--mutate")
    assert check.returncode == 0, check.stdout + check.stderr
    assert "mutation testing skipped: the project has no specs of its own" in check.stdout
