"""Processor: which units of a device a network's arithmetic runs on."""

import pytest

from rooflint.hardware import UndisclosedError, UnsupportedError
from rooflint.processor import working_peak_ops_per_s, working_units
from rooflint.specs import Registry

REGISTRY = Registry()


def names(device, compute):
    return [unit.name for unit in working_units(REGISTRY.get(device), compute)]


def test_a_gpu_works_with_its_matrix_units_where_they_compute_in_the_precision():
    assert names("nvidia/a100-sxm4-80gb", "fp16") == ["tensor_core"]
    assert names("nvidia/a100-sxm4-80gb", "fp32") == ["cuda_core"]


def test_the_accelerators_of_a_module_are_other_processors():
    # at 30 W the two DLAs have the higher INT8 peak, but the device of that name is its GPU
    orin = REGISTRY.get("nvidia/jetson-agx-orin-64gb").at("30w")
    assert orin.best_unit("int8").name == "dla"
    assert [unit.name for unit in working_units(orin, "int8")] == ["tensor_core"]


def test_the_tiles_of_an_array_work_together():
    # KPU-T256 at 1.4 GHz: (26 × 4096 + 179 × 256) MAC × 2 × 1.4 GHz = 426.5 TOP/s
    kpu = REGISTRY.get("stillwater/kpu-t256")
    assert [unit.name for unit in working_units(kpu, "int8")] == ["matrix_tile", "int8_tile"]
    assert working_peak_ops_per_s(kpu, "int8") == pytest.approx((26 * 4096 + 179 * 256) * 2 * 1.4e9, rel=1e-12, abs=0)


def test_the_peak_of_one_kind_of_unit_is_its_own():
    t4 = REGISTRY.get("nvidia/t4")
    assert working_peak_ops_per_s(t4, "int8") == t4.unit("tensor_core").peak_ops_per_s("int8")


def test_what_the_device_cannot_is_refused_with_what_it_can():
    with pytest.raises(
        UnsupportedError, match=r"^nvidia/t4 does not support fp8 \(has: fp16, fp32, fp64, int4, int8\)$"
    ):
        working_units(REGISTRY.get("nvidia/t4"), "fp8")


def test_what_another_processor_of_the_module_can_is_refused_with_its_place():
    orin = REGISTRY.get("nvidia/jetson-agx-orin-64gb")
    others = {name for unit in orin.units.values() for name in unit.precisions}
    own = {name for unit in orin.units.values() if unit.group == "SM" for name in unit.precisions}
    for precision in others - own:
        with pytest.raises(UnsupportedError, match=f"does not support {precision} on its SM"):
            working_units(orin, precision)


def test_what_nobody_can_know_is_said():
    with pytest.raises(UndisclosedError):
        working_units(REGISTRY.get("hailo/hailo-8"), "int8")


@pytest.mark.parametrize("device", REGISTRY.ids())
def test_working_units_compute_in_the_precision_on_every_device(device):
    hardware = REGISTRY.get(device)
    for precision in {name for unit in hardware.units.values() for name in unit.precisions}:
        try:
            found = working_units(hardware, precision)
        except (UnsupportedError, UndisclosedError):
            continue
        assert all(precision in unit.precisions for unit in found)
        assert max(found, key=lambda unit: unit.peak_ops_per_s(precision)) is found[0]
