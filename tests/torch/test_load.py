"""What was captured is kept: the second time neither torch nor the user's module is imported."""

import subprocess
import sys

import pytest

from rooflint.workloads.capture.torchvision_networks import capture_torchvision
from rooflint.workloads.load import network

LOADED = """
import sys
from pathlib import Path
from rooflint.workloads.load import network
table = network(sys.argv[1], folder=Path("kept"))
print(table.total_macs, *sorted({"torch", "torchvision", "layers", "nets"} & set(sys.modules)))
"""
NETS = "import layers\n\ndef make():\n    import torch\n    return layers.layer(), torch.empty(1, 4)\n"
LAYERS = "import torch\n\ndef layer():\n    return torch.nn.Linear(4, 5)\n"


def loaded(name, folder):
    command = [sys.executable, "-c", LOADED, name]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, cwd=folder)
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


@pytest.mark.slow
def test_a_network_of_torchvision_is_captured_once(tmp_path):
    assert loaded("alexnet", tmp_path) == ["714188480", "torch", "torchvision"]
    assert loaded("torchvision/alexnet", tmp_path) == ["714188480"]


def test_what_is_kept_is_what_was_captured(tmp_path):
    assert network("alexnet", folder=tmp_path) == network("alexnet", folder=tmp_path) == capture_torchvision("alexnet")
    (kept,) = tmp_path.iterdir()
    assert kept.name.startswith("torchvision-alexnet-")


@pytest.mark.slow
def test_a_users_module_is_imported_only_where_nothing_of_it_is_kept(tmp_path):
    (tmp_path / "nets.py").write_text(NETS, encoding="utf-8")
    (tmp_path / "layers.py").write_text(LAYERS, encoding="utf-8")
    assert loaded("nets:make", tmp_path) == ["20", "layers", "nets", "torch"]
    assert loaded("nets:make", tmp_path) == ["20"]


@pytest.mark.slow
def test_a_change_of_what_the_module_imports_is_a_change_of_the_module(tmp_path):
    (tmp_path / "nets.py").write_text(NETS, encoding="utf-8")
    (tmp_path / "layers.py").write_text(LAYERS, encoding="utf-8")
    loaded("nets:make", tmp_path)
    (tmp_path / "layers.py").write_text(LAYERS.replace("5", "6"), encoding="utf-8")
    assert loaded("nets:make", tmp_path) == ["24", "layers", "nets", "torch"]


@pytest.mark.parametrize("shapes", [[], [(1, 3, 224, 224)]])
def test_a_committed_network_needs_no_capture_unless_it_is_asked_for_with_a_shape(tmp_path, shapes):
    assert network("resnet18", shapes, tmp_path).total_macs == 1_814_073_344
    assert len(list(tmp_path.iterdir())) == len(shapes)
