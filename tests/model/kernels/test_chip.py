"""The inputs of a GPU, and what is said where one is missing."""

import pytest

from rooflint.coefficients.library import Coefficients
from rooflint.hardware.device import UnsupportedError
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import MissingFactError, chip_of

REGISTRY = Registry()
LAUNCHES = Coefficients(REGISTRY).launches()


def test_an_h100_is_what_its_data_sheet_says():
    chip = chip_of(REGISTRY.get("nvidia/h100-sxm5-80gb"), "bf16", LAUNCHES)
    # 132 SMs of 4 units with 512 MAC; 5120 bit × 5.238 Gbit/s / 8
    assert (chip.sms, chip.macs_per_clock, chip.clock_hz, chip.tdp_w) == (132, 2048, 1.83e9, 700)
    assert chip.l2_bytes == 50 * 2**20
    assert chip.bandwidth_bytes_per_s == pytest.approx(3.35232e12)
    assert chip.asynchronous
    assert chip.special_functions == 16
    assert {"units.tensor_core.issue_threads", "caches.l2.capacity", "tdp"} < {fact.path for fact in chip.facts}


@pytest.mark.parametrize(("device", "tma"), [("l40s", False), ("h100-sxm5-80gb", True), ("rtx-5090", True)])
def test_sms_copy_tiles_from_compute_capability_9_on(device, tma):
    assert chip_of(REGISTRY.get(f"nvidia/{device}"), "fp8", LAUNCHES).tma == tma


@pytest.mark.parametrize(
    ("device", "asynchronous"),
    [
        ("nvidia/t4", False),
        ("nvidia/a100-sxm4-80gb", False),
        ("nvidia/l40s", False),
        ("nvidia/h200-sxm-141gb", True),
        ("nvidia/b200-sxm", True),
        ("nvidia/rtx-5090", False),
    ],
)
def test_matrix_units_that_more_or_less_than_a_warp_starts_run_beside_it(device, asynchronous):
    assert chip_of(REGISTRY.get(device), "fp16", LAUNCHES).asynchronous == asynchronous


@pytest.mark.parametrize(
    ("device", "path"),
    [
        ("amd/mi300x", "units.matrix_core.issue_threads"),
        ("nvidia/gh200-144gb", "tdp"),
        ("nvidia/a800-pcie-80gb", "caches.l2.capacity"),
    ],
)
def test_a_device_without_an_input_is_told_which(device, path):
    with pytest.raises(
        MissingFactError, match=f"^{device} lacks the facts? '{path}': .*silicon latencies need (it|them), .*NVIDIA"
    ):
        chip_of(REGISTRY.get(device), "bf16", LAUNCHES)


def test_all_inputs_that_a_device_lacks_are_named_at_once():
    with pytest.raises(MissingFactError) as caught:
        chip_of(REGISTRY.get("amd/mi300x"), "bf16", LAUNCHES)
    for path in ("units.matrix_core.issue_threads", "special_function_units.CU", "caches.l2.capacity"):
        assert f"'{path}': " in str(caught.value)
    assert "'tdp'" not in str(caught.value)


def test_a_precision_that_a_device_lacks_is_refused_as_anywhere():
    with pytest.raises(UnsupportedError, match="nvidia/t4 does not support bf16"):
        chip_of(REGISTRY.get("nvidia/t4"), "bf16", LAUNCHES)


def test_a_launch_is_that_of_the_architecture_where_a_document_has_it():
    # Hazy Research: 1.3 µs on H100; Mirage: 0.2 ms for 293 launches on B200
    launch = {name: chip_of(REGISTRY.get(name), "bf16", LAUNCHES).graph_launch_s for name in PUBLISHED}
    assert launch == PUBLISHED


PUBLISHED = {
    "nvidia/h200-sxm-141gb": 1.3e-6,
    "nvidia/b200-sxm": 0.8e-6,
    "nvidia/gb300-gpu": 0.8e-6,
    "nvidia/l40s": None,
    "nvidia/rtx-5090": None,
}
