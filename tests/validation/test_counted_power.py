"""Power as a log counted it: by node, with factors, and linear in the rate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rooflint.counted_power import CountedPower, nodes_quantity, read_nodes
from rooflint.units import JOULES_PER_OP

LOG = CountedPower({"4nm": 1.3e-12, "7nm": 1.8e-12}, circuit=0.8, format=0.5, overhead=1.4, vector_share=0.2)


def test_a_tensor_unit_takes_all_factors():
    # 528 × 256 MAC × 2 op/MAC × 1.98 GHz × 1.3 pJ × 0.8 × 0.5 × 1.4 = 389.7 W
    assert LOG.tensor_w(528 * 256 * 2 * 1.98e9, "4nm") == pytest.approx(389.7, abs=0.05)


def test_a_vector_unit_takes_none():
    # 16 896 lanes × 2 op × 1.98 GHz × 1.3 pJ = 87.0 W
    assert LOG.vector_w(16_896 * 2 * 1.98e9, "4nm") == pytest.approx(87.0, abs=0.05)


def test_the_vector_unit_counts_with_its_share():
    # 0.728 pJ × 1 Top/s + 0.2 × 1.3 pJ × 1 Top/s = 0.988 W
    assert LOG.combined_w(1e12, 1e12, "4nm") == pytest.approx(0.988)


@given(st.floats(1e6, 1e18), st.sampled_from(["4nm", "7nm"]))
def test_twice_the_rate_takes_twice_the_power(rate, node):
    assert LOG.combined_w(2 * rate, 2 * rate, node) == pytest.approx(2 * LOG.combined_w(rate, rate, node))


def test_an_energy_is_read_for_each_node():
    assert read_nodes("1.2 pJ/op at 3 nm, 1.3 pJ/op at 4nm") == pytest.approx({"3nm": 1.2e-12, "4nm": 1.3e-12})


def test_the_first_node_stands_for_all_where_one_value_is_wanted():
    quantity = nodes_quantity("1.2 pJ/op at 3 nm, 1.3 pJ/op at 4 nm")
    assert (quantity.value, quantity.dimension) == (pytest.approx(1.2e-12), JOULES_PER_OP)


@pytest.mark.parametrize(
    "text",
    ["", "1.2 pJ/op", "1.2 pJ at 3 nm", "1.2 at 3 nm", "x pJ/op at 3 nm", "1.2 pJ/op at 3 nm, 1.3 pJ/op at 3 nm"],
)
def test_what_is_no_energy_of_a_node_is_refused(text):
    with pytest.raises(ValueError, match=r"want|cannot read"):
        read_nodes(text)
