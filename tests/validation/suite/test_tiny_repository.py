"""Somebody else's repository: their specs, their golden files, their pyproject, and the installed distribution.

Each run is a process of its own in a copy of `tiny/`, started as a user starts it, with nothing on its path but that.
"""

import json
import re
import shutil
from importlib.metadata import distribution
from pathlib import Path

import pytest

TINY = Path(__file__).parents[1] / "tiny"
QUICK = ("-p", "no:hypothesispytest")  # Hypothesis is ours, not theirs

PEEK = """\
import sys


def pytest_unconfigure(config):
    ours = ("rooflint", "pytest_rooflint", "rooflint_measure", "rooflint_report", "numpy", "torch", "yaml")
    print("IMPORTED", *sorted(name for name in sys.modules if name.partition(".")[0] in ours))
"""


@pytest.fixture
def theirs(tmp_path, cold_script):
    """A copy of their repository, and a way to run a command in it."""
    shutil.copytree(TINY, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".pytest_cache", "reports"))
    return tmp_path, lambda *command: cold_script(tmp_path, *command)


def claims():
    text = (TINY / "golden" / "x1.yaml").read_text(encoding="utf-8")
    return len(re.findall(r"^  - \{", text, re.MULTILINE))


@pytest.mark.slow
def test_plain_pytest_judges_their_claims_against_their_specs(theirs):
    folder, run = theirs
    result = run("pytest", *QUICK)
    assert result.returncode == 0, result.stdout
    assert claims() >= 8
    assert f"{claims() + 1} passed" in result.stdout
    assert not list(folder.rglob("*.py"))  # they need no line of Python


@pytest.mark.slow
def test_one_wrong_number_of_theirs_is_red_with_their_file_and_line(theirs):
    folder, run = theirs
    spec = folder / "specs/hardware/acme/x1.yaml"
    text = spec.read_text(encoding="utf-8")
    # 4 × 4096 × 2 × 0.5 GHz: half of what the page prints, as at the low point
    spec.write_text(text.replace("clock: [1000 MHz", "clock: [500 MHz"), encoding="utf-8")
    line = text[: text.index("clock: [1000 MHz")].count("\n") + 1
    result = run("pytest", *QUICK)
    assert result.returncode == 1
    red = set(re.findall(r"^FAILED golden/x1.yaml::(\S+)", result.stdout, re.MULTILINE))
    assert red == {"peak-mac_array-int8", "peak-mac_array-fp16", "breakpoint-mac_array-int8-per-lpddr5"}
    assert re.search(r"^  ratio +1/2 ", result.stdout, re.MULTILINE)
    assert f"specs/hardware/acme/x1.yaml:{line}" in result.stdout


@pytest.mark.slow
def test_the_evidence_speaks_of_their_devices_and_no_others(theirs):
    folder, run = theirs
    result = run("rooflint", "check", "--", *QUICK)
    assert result.returncode == 0, result.stdout + result.stderr
    document = json.loads((folder / "reports/out/evidence.json").read_text(encoding="utf-8"))
    assert [device["id"] for device in document["devices"]] == ["acme/x1"]
    assert document["counts"]["claims"] == claims()


@pytest.mark.slow
def test_their_claims_may_speak_of_shipped_devices_and_workloads(theirs):
    folder, run = theirs
    text = (
        "workload: torchvision/resnet18\ncompute: int8\n"
        "source: {document: Acme X1 product page, where: p. 2, grade: read}\n"
        "claims:\n  - {latency: nvidia/h100-sxm5-80gb < acme/x1}\n"
    )
    (folder / "golden/order.yaml").write_text(text, encoding="utf-8")
    result = run("pytest", "golden/order.yaml", *QUICK)
    assert result.returncode == 0, result.stdout


@pytest.mark.slow
def test_without_the_option_it_collects_nothing_and_imports_next_to_nothing(theirs):
    folder, run = theirs
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\n", encoding="utf-8")
    (folder / "conftest.py").write_text(PEEK, encoding="utf-8")
    (folder / "test_own.py").write_text("def test_own():\n    pass\n", encoding="utf-8")
    result = run("pytest", *QUICK)
    assert result.returncode == 0
    assert "1 passed" in result.stdout
    assert "rooflint" in result.stdout  # it is installed and loaded
    (imported,) = re.findall(r"^IMPORTED ?(.*)$", result.stdout, re.MULTILINE)
    assert imported.split() == ["pytest_rooflint", "pytest_rooflint.plugin"]


@pytest.mark.slow
def test_with_the_option_it_wakes_and_still_imports_no_torch(theirs):
    folder, run = theirs
    (folder / "conftest.py").write_text(PEEK, encoding="utf-8")
    (imported,) = re.findall(r"^IMPORTED ?(.*)$", run("pytest", *QUICK).stdout, re.MULTILINE)
    assert {"pytest_rooflint.session.run", "rooflint.hardware.registry", "yaml"} <= set(imported.split())
    assert not {"torch", "rooflint_report"} & set(imported.split())


@pytest.mark.slow
def test_without_the_option_golden_folders_are_not_even_looked_at(theirs):
    folder, run = theirs
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\n", encoding="utf-8")
    (folder / "golden/broken.yaml").write_text("claims: [\n", encoding="utf-8")
    result = run("pytest", *QUICK)
    assert result.returncode == 5  # nothing was collected
    assert "rooflint" not in result.stdout.replace("rooflint-0", "").replace(str(folder), "")


def test_the_distribution_brings_plugin_formats_and_kinds():
    groups = {}
    for entry in distribution("rooflint").entry_points:
        groups.setdefault(entry.group, set()).add(entry.name)
    assert groups["pytest11"] == {"rooflint"}
    assert {"peak", "bandwidth", "breakpoint", "latency", "figure"} <= groups["rooflint.claims"]
    for entry in distribution("rooflint").entry_points:
        assert entry.load() is not None
