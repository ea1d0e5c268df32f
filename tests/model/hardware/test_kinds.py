"""Kinds of devices: each row is used by a device, and what it names is there."""

import pytest

from rooflint.energy.terms import CONTROL_TERMS
from rooflint.hardware.device import KINDS
from rooflint.hardware.registry import Registry

REGISTRY = Registry()


@pytest.mark.parametrize("kind", [name for name, row in KINDS.items() if row.example])
def test_an_example_is_a_device_of_its_kind(kind):
    assert REGISTRY.get(KINDS[kind].example).kind == kind


def test_every_kind_has_devices_and_every_device_a_kind():
    assert {REGISTRY.get(name).kind for name in REGISTRY.ids()} == set(KINDS)


def test_the_control_energy_of_a_kind_is_modelled():
    assert {row.control for row in KINDS.values()} - {""} == set(CONTROL_TERMS)


def test_traits_are_those_of_the_kind():
    gpu, cpu, npu = (REGISTRY.get(name) for name in ("nvidia/t4", "intel/xeon-8490h", "hailo/hailo-8"))
    assert (gpu.traits.is_threaded, gpu.traits.is_cores, gpu.traits.has_kernel_models) == (True, False, True)
    assert (cpu.traits.is_threaded, cpu.traits.is_cores, cpu.traits.has_kernel_models) == (False, True, False)
    assert (npu.traits.control, npu.traits.example) == ("", "")


def test_a_default_is_an_example_and_a_new_kind_is_none():
    assert [name for name, row in KINDS.items() if row.is_default] == ["cpu", "gpu", "tpu", "kpu"]
    assert all(row.example for row in KINDS.values() if row.is_default)
