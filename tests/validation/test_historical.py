"""Historical formulas: read strictly, and what they do to an estimate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rooflint.historical import CountedEnergy, Formulas, SmallKernels, read_steps
from rooflint.facts import Fact, Source
from rooflint.roofline import Estimate
from rooflint.units import DIMENSIONLESS, Quantity

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
    plain = Estimate("acme/k1", "net", "fp32", "fp32", 1e12, 1e11, np.array(ops), np.array(moved), 1e-6)
    return plain, Formulas({fact.path: fact}).applied(plain)


def test_both_terms_of_a_small_kernel_are_slowed_but_not_its_launch():
    # 1 Mop / 1 TOP/s = 1 us, 1 MB / 100 GB/s = 10 us: 10 × max + 1 us
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
