"""A small repository with a history, and the difference of two of its states."""

import subprocess
from pathlib import Path

import pytest

from pytest_rooflint.history.changes import changes
from pytest_rooflint.history.claim_changes import claim_changes
from pytest_rooflint.history.claim_sides import sides
from pytest_rooflint.history.comparison import compare
from pytest_rooflint.history.side import opened
from pytest_rooflint.history.summary import summary
from rooflint.hardware.registry import PACKAGED
from rooflint.workloads.builders import mlp
from rooflint.workloads.tables import Captured, write_table
from rooflint.workloads.workload import Workload
from rooflint_report.evidence import plain

X1 = "specs/hardware/acme/x1.yaml"
X2 = "specs/hardware/acme/x2.yaml"
A1 = "specs/architectures/acme/a1.yaml"
LAYER = "specs/workloads/layer.yaml"

CAPTURED = Captured(torch="2.0.0", torchvision="0.15.0", method="by hand", input=(1, 1024))


@pytest.fixture
def git():
    """`git(root, "commit", …)`: what it prints."""

    def run(root: Path, *arguments: str) -> str:
        command = ["git", "-C", str(root), "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
        return subprocess.run([*command, *arguments], capture_output=True, encoding="utf-8", check=True).stdout.strip()

    return run


@pytest.fixture
def write_layer():
    """`write_layer(repository, [1024, 1024])`: the op table of an MLP."""

    def write(repository, widths: list[int]) -> None:
        layers = mlp(widths)
        write_table(Workload.from_ops("layer", layers.rows(), flow=layers.flow), CAPTURED, repository.root / LAYER)

    return write


@pytest.fixture
def diffed():
    """`diffed(repository, "HEAD")`: the difference from there to the working tree, as JSON values."""

    def diff(repository, old: str | None = "HEAD", new: str | None = None):
        roots = [(repository.root / "specs").resolve()]
        with opened(old, roots, repository.root) as before, opened(new, roots, repository.root) as after:
            return plain(summary(compare(before, after)))

    return diff


@pytest.fixture
def of():
    """`of(found, "energy_j")`: the one move of a quantity of a device."""

    def move_of(found, quantity="latency_s", device="acme/x1"):
        (move,) = [one for one in found["moves"] if (one["device"], one["quantity"]) == (device, quantity)]
        return move

    return move_of


@pytest.fixture
def acme(small, git, write_layer):
    """A repository with one device and one layer, 1024 × 1024: 2 op/B, at batch 32 up to 64.

    With 64 times the cores of the tiny device its breakpoints are 64 times 320 in int8, 80 in fp16 and half of that at
    the point `low`. So latency is memory time alone, and nothing is launched.
    """
    small.edit(X1, "groups: [4,", "groups: [256,")
    write_layer(small, [1024, 1024])
    git(small.root, "init", "-q", "-b", "main")
    git(small.root, "add", "-A")
    git(small.root, "commit", "-q", "-m", "Acme X1")
    return small


@pytest.fixture
def family(acme, git):
    """Two devices of one architecture."""
    text = acme.read(X1)
    rates = "macs_per_clock: {int8: [4096 MAC, brief, p. 2], fp16: [1024 MAC, brief, p. 2]}"
    pins = "pin_rate: [6.4 Gbit/s, brief, p. 3]"
    assert rates in text and pins in text
    acme.write(
        A1,
        "name: A1\nkind: npu\nsources: {arch: {document: Acme A1 manual, grade: read}}\n"
        "units:\n  mac_array:\n    group: core\n    circuit: systolic_mac\n"
        "    macs_per_clock: {int8: [4096 MAC, arch, p. 2], fp16: [1024 MAC, arch, p. 2]}\n"
        "memories:\n  lpddr5: {pin_rate: [6.4 Gbit/s, arch, p. 3]}\n",
    )
    own = text.replace("kind: npu\n", "kind: npu\narchitecture: acme/a1\n").replace(f"    {rates}\n", "")
    own = own.replace(f", {pins}", "")
    acme.write(X1, own)
    acme.write(X2, own.replace("name: Acme X1", "name: Acme X2"))
    git(acme.root, "add", "-A")
    git(acme.root, "commit", "-q", "-m", "The family")
    return acme


@pytest.fixture
def keep(acme, git, diffed):
    """`keep("process/7nm.yaml")`: a packaged file, copied into the specs and committed, which changes nothing."""

    def copied(name: str) -> str:
        acme.write(f"specs/{name}", (PACKAGED / name).read_text(encoding="utf-8"))
        assert diffed(acme)["changes"] == []
        git(acme.root, "add", "-A")
        git(acme.root, "commit", "-q", "-m", "Energies")
        return f"specs/{name}"

    return copied


MORE = """\
hardware: acme/x1
source: {document: "Acme X1 review, 2025", where: p. 3, grade: read}
claims:
  - {bandwidth: lpddr5, expect: 102 GB/s ± 3 %, why: measured}
  - {capacity: lpddr5, expect: 8.0 GB}
"""
RECORDING = "golden/measured/acme/x1/2026-01-01T0000-0.json"


@pytest.fixture
def guarded(small, git):
    """The tiny repository at its first commit, with a second golden file and a file that stands for a recording."""
    small.write("golden/more.yaml", MORE)
    small.write(RECORDING, "{}\n")
    git(small.root, "init", "-q", "-b", "main")
    git(small.root, "add", "-A")
    git(small.root, "commit", "-q", "-m", "Acme X1")
    return small


@pytest.fixture
def against():
    """`against(repository, "HEAD")`: what became of the claims since then."""

    def counted(repository, old: str = "HEAD", golden=()):
        roots = [(repository.root / "specs").resolve()]
        with opened(old, roots, repository.root) as before, opened(None, roots, repository.root) as after:
            both = sides(before, after, golden, repository.root)
            return claim_changes(*both, changes(before, after))

    return counted
