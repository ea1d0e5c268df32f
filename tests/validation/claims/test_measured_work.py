"""Measured work: sizes, traffic and the bytes that a product moves at least."""

from types import SimpleNamespace

import pytest

from pytest_rooflint.claims.measured_work import check_device, check_moved, least_bytes_per_s, quantity, slug_of_work
from pytest_rooflint.golden.kinds import ClaimError
from rooflint.base.units import BYTES_PER_S, OPS_PER_S


def claim(hardware="nvidia/t4", subject="tensor_core fp16", **options):
    return SimpleNamespace(hardware=hardware, subject=subject, option=options.get)


def test_a_product_moves_each_matrix_once():
    # m·k = 2·5, k·n = 5·3, m·n = 2·3: 31 elements of 2 B for 2·2·3·5 = 60 op
    assert least_bytes_per_s(claim(product=[2, 3, 5]), "fp16", 120.0) == pytest.approx(120 * 31 * 2 / 60)
    assert least_bytes_per_s(claim(), "fp16", 120.0) == 0


def test_a_quantity_is_read_in_base_units_and_of_the_wanted_dimension():
    assert quantity(claim(traffic="1.2 TB/s"), "traffic", BYTES_PER_S) == 1.2e12
    assert quantity(claim(), "traffic", BYTES_PER_S) is None
    with pytest.raises(ClaimError, match="traffic: want a value in B/s or in op/s, '3 W' is in W"):
        quantity(claim(traffic="3 W"), "traffic", BYTES_PER_S, OPS_PER_S)
    with pytest.raises(ClaimError, match="traffic: "):
        quantity(claim(traffic="much"), "traffic", BYTES_PER_S)


@pytest.mark.parametrize("product", [[1, 2], [1, 2, 0], [1, 2, True], [1, 2, 3.0], "8192", [1, 2, 3, 4]])
def test_sizes_are_three_positive_integers(product):
    with pytest.raises(ClaimError, match="product: want m, n and k"):
        check_moved(claim(product=product))


def test_a_product_or_a_traffic_but_not_both():
    check_moved(claim(product=[1, 1, 1]))
    check_moved(claim(traffic="1 GB/s"))
    with pytest.raises(ClaimError, match="keep one of the two"):
        check_moved(claim(product=[1, 1, 1], traffic="1 GB/s"))


def test_one_device_was_measured():
    check_device(claim())
    for hardware in (None, ["nvidia/t4"]):
        with pytest.raises(ClaimError, match="want the device that was measured"):
            check_device(claim(hardware=hardware))


def test_an_id_has_device_subject_rate_and_limit():
    assert slug_of_work(claim()) == "nvidia/t4-tensor_core-fp16"
    assert slug_of_work(claim(rate="24 TFLOP/s", within="50 W")) == "nvidia/t4-tensor_core-fp16-24-TFLOP/s-50-W"
