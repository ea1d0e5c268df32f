"""GPUs of any maker behind one interface."""

import sys
from types import SimpleNamespace

import pytest

from rooflint_measure.record.measurement import Unavailable
from rooflint_measure.sensors import gpus


@pytest.fixture
def machine(fakes, monkeypatch):
    """A machine with a fake NVIDIA GPU on which torch computes under the name that is given, or without torch."""

    def build(torch_says):
        monkeypatch.setitem(sys.modules, "pynvml", fakes.FakeNvml())
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        cuda = SimpleNamespace(is_available=lambda: True, get_device_name=lambda number: torch_says)
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda) if torch_says else None)

    return build


@pytest.mark.parametrize("torch_says", [None, "NVIDIA Fake 9000"])
def test_the_device_on_which_torch_computes_is_the_one_that_is_asked(machine, torch_says):
    machine(torch_says)
    assert gpus.find(0).power().name == "nvml energy counter"


def test_clocks_and_energy_of_another_device_are_nobodys(machine):
    machine("NVIDIA Other 1")
    found = gpus.find(0)
    assert found.name == "NVIDIA Other 1"
    assert "cuda:0 is 'NVIDIA Other 1' to torch and 'NVIDIA Fake 9000' to its driver's library" in found.power().reason


def test_a_gpu_without_a_drivers_library_has_the_name_that_torch_knows(machine, monkeypatch):
    machine("NVIDIA Other 1")
    for name in ("pynvml", "amdsmi"):
        monkeypatch.setitem(sys.modules, name, None)
    found = gpus.find(0)
    assert found.name == "NVIDIA Other 1"
    assert isinstance(found.power(), Unavailable)
