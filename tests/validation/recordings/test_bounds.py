"""Bounds of a measured time, by hand and as laws over the shipped devices."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_rooflint.golden import workloads
from pytest_rooflint.recordings.bounds import WINOGRAD, bounds, gemm_bytes
from pytest_rooflint.recordings.row import RecordedFile, Row
from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import Registry

REGISTRY = Registry()
DEVICES = ("nvidia/t4", "nvidia/h100-sxm5-80gb", "intel/xeon-8490h", "amd/mi300x", "google/tpu-v4", "apple/m2")
SIZES = st.integers(1, 8192)
IN_PROCESS = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def networks(name, batch):
    return workloads.build({"network": f"torchvision/{name}", "batch": batch})


def of(make, measurement, device):
    row = Row(RecordedFile(Path("synthetic.json"), make.recorded(measurement), (1,)), 0)
    return bounds(row, REGISTRY.get(device), networks)


@IN_PROCESS
@given(
    device=st.sampled_from(DEVICES),
    precision=st.sampled_from(["fp32", "fp16", "bf16", "int8"]),
    shape=st.tuples(SIZES, SIZES, SIZES),
)
def test_the_floor_of_a_product_is_never_above_its_roofline(make, device, precision, shape):
    try:
        found = of(make, make.gemm(1e9, precision, shape), device)
    except RooflintError:
        return  # it does not compute in that precision
    assert 0 < found.floor_s <= found.roofline_s * (1 + 1e-12)
    assert found.allowances or found.floor_s == found.roofline_s


@IN_PROCESS
@given(device=st.sampled_from(DEVICES), array_bytes=st.integers(1, 10**10))
def test_the_floor_of_a_stream_is_never_above_its_roofline(make, device, array_bytes):
    found = of(make, make.stream(1e9, array_bytes), device)
    assert 0 <= found.floor_s <= found.roofline_s


@pytest.mark.parametrize("name", ["resnet18", "resnet50", "mobilenet_v2", "vit_b_16", "vgg16", "swin_t"])
@pytest.mark.parametrize("batch", [1, 64])
def test_the_floor_of_a_network_is_never_above_its_roofline(make, name, batch):
    found = of(make, make.network(1.0, name=name, batch=batch), "nvidia/h100-sxm5-80gb")
    assert 0 < found.floor_s <= found.roofline_s


def test_winograd_takes_a_quarter_where_all_convolutions_are_of_nine_taps(make):
    # VGG-16 is 3 × 3 but for its three linear layers: 123.6 of 15 470 MMAC; k of the linear layers is 25088 and 4096
    table = networks("vgg16", 64)
    linear = int(table.macs[table.kinds == "linear"].sum())
    least = (table.total_macs - linear) / WINOGRAD + linear
    found = of(make, make.network(1.0, name="vgg16", batch=64), "intel/xeon-8490h")
    peak = REGISTRY.get("intel/xeon-8490h").best_unit("fp32").peak_ops_per_s("fp32")
    assert found.floor_s == pytest.approx(2 * least / peak)


def test_a_product_moves_each_of_its_three_matrices_once(make):
    # 100 × 10 + 10 × 1000 + 100 × 1000 = 111 000 elements of 4 B
    row = Row(RecordedFile(Path("synthetic.json"), make.recorded(make.gemm(1e9, "fp32", (100, 1000, 10))), (1,)), 0)
    assert gemm_bytes(row) == 444_000


def test_a_wait_has_no_bounds(make):
    from rooflint_measure.record import Wait  # noqa: PLC0415

    assert of(make, make.timed(Wait(wanted_s=1e-3), 1e-3), "nvidia/t4") is None


def test_every_law_is_written_down():
    from pytest_rooflint.recordings.laws import LAWS  # noqa: PLC0415

    text = (Path(__file__).parents[3] / "docs" / "recordings.md").read_text(encoding="utf-8")
    assert [law for law in LAWS if f"| `{law}` |" not in text] == []


def test_a_network_on_a_device_whose_memory_nobody_tells_is_bound_by_its_arithmetic(make):
    found = of(make, make.network(0.1), "amd/epyc-zen5-2vcpu")
    # 2 × 1 814 073 344 op over (2 cores × 64 FLOP/clock × 4.18 GHz = 535.04 GFLOP/s)
    assert found.roofline_s == pytest.approx(2 * 1_814_073_344 / (2 * 64 * 4.18e9))
    assert found.bound == "compute"
    assert found.floor_s < found.roofline_s  # Winograd
