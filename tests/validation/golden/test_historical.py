"""Power as a log counted it: by node, with factors, and linear in the rate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rooflint.golden.historical import (
    CountedEnergy,
    CountedPower,
    Formulas,
    SmallKernels,
    nodes_quantity,
    read_nodes,
    read_steps,
)
from rooflint.base.facts import Fact, Source
from rooflint.base.units import DIMENSIONLESS, JOULES_PER_OP, Quantity
from rooflint.roofline import Estimate

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


# ---- Historical formulas: read strictly, and what they do to an estimate

STEPS = "10 below 10 MFLOP, 4 below 100 MFLOP, 2 below 500 MFLOP"


def test_energy_is_ops_and_bytes_and_idling():
    # 1e9 op × 2 pJ + 1e6 B × 10 pJ + 0.3 × 100 W × 1 ms = 2 mJ + 0.01 mJ + 30 mJ
    energy = CountedEnergy(per_op_j=2e-12, per_byte_j=10e-12, idle_share=0.3)
    assert energy.energy_j(1e9, 1e6, 100.0, 1e-3) == pytest.approx(32.01e-3)


def test_steps_are_read_as_limits_in_ops():
    assert read_steps(STEPS) == ((10e6, 10.0), (100e6, 4.0), (500e6, 2.0))
    assert read_steps("1.5 below 2 GMAC") == ((4e9, 1.5),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "10",
        "10 below",
        "10 below 10",
        "10 below 10 MB",
        "0 below 10 MFLOP",
        "ten below 10 MFLOP",
        "10 below 10 MFLOP; 4 below 100 MFLOP",
        "4 below 100 MFLOP, 10 below 10 MFLOP",
        "10 below 0 MFLOP",
    ],
)
def test_what_is_no_step_is_refused(text):
    with pytest.raises(ValueError, match="want"):
        read_steps(text)


def test_a_limit_belongs_to_the_step_above_it():
    ops = np.array([0.0, 9.999e6, 10e6, 99e6, 100e6, 499e6, 500e6, 1e12])
    assert SmallKernels(read_steps(STEPS)).slowdown(ops).tolist() == [10, 10, 4, 4, 2, 2, 1, 1]


def slowed(ops, moved):
    quantity = Quantity(10, DIMENSIONLESS, STEPS)
    source = Source("log", "An old log", "read")
    fact = Fact("small_kernels.times", quantity, source, "p. 1", None, 1)
    plain = Estimate(
        "acme/k1", "net", "fp32", "fp32", 1e12, 1e11, np.array(ops), np.array(moved), 1e-6, np.ones(len(ops))
    )
    return plain, Formulas({fact.path: fact}).applied(plain)


def test_both_terms_of_a_small_kernel_are_slowed_but_not_its_launch():
    # 1 Mop / 1 TOP/s = 1 µs, 1 MB / 100 GB/s = 10 µs: 10 × max + 1 µs
    _, estimate = slowed([1e6], [1e6])
    assert estimate.latency_s == pytest.approx(101e-6)
    assert estimate.compute_s.tolist() == pytest.approx([10e-6])
    assert estimate.memory_s.tolist() == pytest.approx([100e-6])


def test_what_is_attained_counts_the_ops_that_there_are():
    _, estimate = slowed([1e6], [1e6])
    assert estimate.efficiency == pytest.approx(1e-6 / 101e-6)
    assert estimate.intensity_ops_per_byte == 1


def test_without_a_formula_the_estimate_is_the_plain_one():
    plain, _ = slowed([1e6], [1e6])
    assert Formulas().applied(plain) is plain
    assert Formulas().energy is None


@given(st.lists(st.floats(1, 1e12), min_size=1, max_size=9), st.floats(1, 1e9))
def test_slowing_never_makes_faster_and_never_more_than_its_largest_factor(ops, moved):
    plain, estimate = slowed(ops, [moved] * len(ops))
    assert plain.latency_s <= estimate.latency_s <= 10 * plain.latency_s
