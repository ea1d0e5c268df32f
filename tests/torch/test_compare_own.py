"""The commands on a user's own networks, in a process of their own, as a user starts them."""

import json
import os
import subprocess
import sys

import pytest
import torch
from torch import nn

NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.norm(self.conv(x)).relu().mean((2, 3)))

def make():
    return Net().eval(), torch.empty(1, 3, 32, 32)
"""


@pytest.fixture
def asked(tmp_path):
    """`asked("compare", "nets.mine:make")` is the record that the command prints."""
    package = tmp_path / "nets"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "mine.py").write_text(NET, encoding="utf-8")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run(*arguments):
        command = [sys.executable, "-m", "rooflint", *map(str, arguments), "-f", "json"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, check=False, encoding="utf-8"
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_a_factory_is_compared_at_any_batch_and_fused(asked):
    found = asked("compare", "nets.mine:make", "-d", "gpu,tpu", "-b", "8", "--fuse")
    gpu, tpu = found["devices"]
    # conv + norm + relu, mean, linear
    assert gpu["kernels"] == tpu["kernels"] == 3
    # 8 × (2 × 32² × 16 × 27 MAC ops + norm, relu, mean) + the linear layer's 2 × 160
    assert gpu["ops"] == tpu["ops"] > 8 * 2 * (32 * 32 * 16 * 27 + 160)
    assert gpu["energy"]["batch_j"] > 0


@pytest.mark.slow
def test_a_saved_program_is_analyzed(asked, tmp_path):
    module = nn.Sequential(nn.Linear(64, 64), nn.ReLU()).eval()
    torch.export.save(torch.export.export(module, (torch.empty(4, 64),)), tmp_path / "net.pt2")
    found = asked("analyze", "net.pt2", "nvidia/l4", "-b", "4", "-p", "fp16")
    assert [kernel["kind"] for kernel in found["per_kernel"]] == ["linear", "relu"]
    assert found["per_kernel"][0]["ops"] == 2 * 4 * 64 * 64


@pytest.mark.slow
def test_a_network_of_torchvision_without_a_committed_table_is_captured_once(asked):
    one, two = (asked("models", "nvidia/l4", "squeezenet1_1", "-p", "fp16") for _ in range(2))
    assert one == two
    assert one["networks"][0]["network"] == "squeezenet1_1"
