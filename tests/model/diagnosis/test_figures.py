"""Figures: everything that a device can be quoted with, each the product of cited factors."""

import math

from hypothesis import given
from hypothesis import strategies as st

from rooflint.diagnosis.figures import QUANTITIES, figures, show
from rooflint.hardware.registry import Registry

REGISTRY = Registry()
H100, ORIN = REGISTRY.get("nvidia/h100-sxm5-80gb"), REGISTRY.get("nvidia/jetson-agx-orin-64gb")
MI250X, T256 = REGISTRY.get("amd/mi250x"), REGISTRY.get("stillwater/kpu-t256")


def one(hardware, says):
    """The figure of a device that says just that."""
    (found,) = [figure for figure in figures(hardware) if figure.says == says]
    return found


def test_a_peak_stands_dense_and_sparse():
    # 132 SM × 4 × 512 MAC × 2 op/MAC × 1830 MHz = 989.43 TFLOP/s, twice that with sparsity
    assert math.isclose(one(H100, "dense BF16 peak (tensor_core)").value, 989.43e12, rel_tol=1e-5)
    assert math.isclose(one(H100, "sparse BF16 peak (tensor_core)").value, 2 * 989.43e12, rel_tol=1e-5)


def test_a_rate_is_what_one_group_does_in_a_clock():
    # 4 tensor cores × 512 MAC × 2 op/MAC = 4096 op
    assert one(H100, "rate (tensor_core fp16)").value == 4096
    assert one(H100, "rate (tensor_core fp16)").shown() == "4096 op/clock"


def test_groups_and_units_are_counted():
    assert one(H100, "count (SM)").value == 132
    assert one(H100, "count (cuda_core)").value == 132 * 128


def test_units_that_work_side_by_side_have_a_sum():
    # 16 × 4 × 512 × 2 × 1.3005 GHz + 2 × 8192 × 2 × 1.6 GHz = 85.23 + 52.43 TOP/s
    total = one(ORIN, "dense INT8 peak (tensor_core + dla)")
    assert math.isclose(total.value, 137.66e12, rel_tol=1e-4)
    assert " + " in total.formula
    assert one(T256, "dense INT8 peak (int8_tile + matrix_tile)").is_matrix


def test_lanes_of_a_gpu_and_of_its_host_are_never_added():
    assert not [figure for figure in figures(ORIN) if "cpu_simd +" in figure.says or "+ cpu_simd" in figure.says]


def test_parts_and_operating_points_have_figures_of_their_own():
    whole, part = one(MI250X, "dense BF16 peak (matrix_core)"), one(MI250X, "dense BF16 peak (matrix_core) per gcd")
    assert whole.value == 2 * part.value
    assert one(ORIN, "dense INT8 peak (tensor_core) at 30w").value < one(ORIN, "dense INT8 peak (tensor_core)").value


def test_a_quantity_is_shown_as_people_write_it():
    assert show("bus", 640) == "5120 bit"
    assert show("count", 132.0) == "132"
    assert show("peak", 989.4e12, "bf16") == "989.4 TFLOP/s"
    assert show("peak", 85.2e12, "int8") == "85.2 TOP/s"


@given(st.sampled_from(REGISTRY.ids()))
def test_every_figure_is_a_positive_number_of_a_known_quantity(device):
    found = figures(REGISTRY.get(device))
    assert all(figure.value > 0 and math.isfinite(figure.value) and figure.quantity in QUANTITIES for figure in found)
    assert all(figure.facts or figure.quantity == "rate" for figure in found)
