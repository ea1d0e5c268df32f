"""Energies at a node: what is printed there, what is carried there, and that logic and SRAM are carried apart."""

import math
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.precision import PRECISIONS
from rooflint.coefficients.checks import size_of
from rooflint.coefficients.library import Coefficients
from rooflint.coefficients.nodes import NodeEnergies, _multiply_add
from rooflint.coefficients.ranges import UnknownCoefficientError
from rooflint.hardware.registry import Registry
from rooflint.hardware.schema import CIRCUITS


def near(value):
    """Energies of single events are far below the absolute tolerance that approx has by default."""
    return pytest.approx(value, rel=1e-9, abs=0)


SHIPPED = Coefficients(Registry())
KNOWN = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "int4")
CIRCUIT = sorted(CIRCUITS.__args__)
ARRAYS = ("kib32", "mib1")
#: Nodes that have an FP32 op, largest first: those that devices are built in.
NODES = sorted(
    (node for node in SHIPPED.ids("process") if "op fp32" in SHIPPED.process(node).energies()),
    key=lambda node: -(size_of(node) or 0),
)


def at(node):
    return NodeEnergies(SHIPPED, node)


def pj(coefficient):
    return [end * 1e12 for end in (coefficient.low, coefficient.typical, coefficient.high)]


# ---- arithmetic


@pytest.mark.parametrize(
    ("node", "precision", "energy"),
    [
        ("7nm", "fp16", (0.34 + 0.16) / 2),
        ("7nm", "bf16", (0.21 + 0.11) / 2),
        ("7nm", "fp32", (1.31 + 0.38) / 2),
        ("7nm", "int8", (0.07 + 0.007) / 2),
        ("45nm", "fp16", (1.1 + 0.4) / 2),
        ("45nm", "int8", (0.2 + 0.03) / 2),
    ],
)
def test_an_op_is_half_of_a_multiply_and_an_add_where_both_are_printed(node, precision, energy):
    assert pj(at(node).arithmetic(precision)) == near([energy] * 3)


def test_elsewhere_it_is_that_of_7_nm_times_the_ratio_of_logic():
    # FP32 op of 1.3 pJ at 4 nm and 1.8 at 7: 0.25 × 1.3 / 1.8; the foundry says 0.65 at equal speed
    assert pj(at("4nm").arithmetic("fp16")) == near([0.25 * 0.65, 0.25 * 1.3 / 1.8, 0.25 * 1.3 / 1.8])
    # 2.7 pJ at 16 nm
    assert at("16nm").arithmetic("fp32").typical == near(0.845e-12 * 2.7 / 1.8)


@pytest.mark.parametrize(
    ("precision", "factor", "relative"),
    [("fp64", 2, "fp32"), ("tf32", 0.6, "fp32"), ("fp8", 0.25 / 0.5, "fp16"), ("int4", 0.125 / 0.25, "int8")],
)
def test_a_format_without_a_figure_follows_the_one_that_it_is_made_of(precision, factor, relative):
    for node in NODES:
        one = at(node)
        assert one.arithmetic(precision).typical == near(factor * one.arithmetic(relative).typical)
        assert one.arithmetic(precision).grade == "estimate"


def test_a_format_that_nobody_knows_is_said_to_be_unknown():
    for precision in set(PRECISIONS) - set(KNOWN):
        with pytest.raises(UnknownCoefficientError, match=f"no energy of {precision} arithmetic is known at any node"):
            at("7nm").datapath(precision, "tensor_core")
    # INT32 is printed, but no factor of a datapath is
    assert at("7nm").arithmetic("int32").typical == near((1.48e-12 + 0.03e-12) / 2)


def test_a_node_that_nobody_knows_is_said_to_be_unknown():
    with pytest.raises(UnknownCoefficientError, match="unknown process '9nm'; nearest: 8nm, 10nm"):
        at("9nm").arithmetic("fp16")


def test_a_node_whose_logic_compares_with_nothing_is_said_so():
    with pytest.raises(UnknownCoefficientError, match="40nm: no document says how its logic compares with 7nm"):
        at("40nm").arithmetic("fp16")


# ---- datapath


def test_a_datapath_is_what_the_power_estimate_has_beyond_arithmetic_or_nothing():
    # 1.8 × 0.5 × 0.85 × 1.4 = 1.071; less 0.25
    seven = at("7nm")
    assert pj(seven.operation("fp16", "tensor_core")) == near([1.071] * 3)
    assert pj(seven.datapath("fp16", "tensor_core")) == near([0, 0.821, 0.821])
    # an array at 0.80: 1.8 × 0.5 × 0.8 × 1.4 = 1.008; less 0.16 of BF16
    assert pj(seven.datapath("bf16", "systolic_mac")) == near([0, 0.848, 0.848])


def test_the_factor_of_a_large_core_is_its_control_and_not_its_datapath():
    # 2.5 counts as 1: 1.8 × 1 × 1 × 1.4
    assert pj(at("7nm").operation("fp32", "x86_performance")) == near([2.52] * 3)


def test_it_is_no_more_than_an_estimate():
    assert at("7nm").arithmetic("fp16").grade == "recalled"
    assert at("7nm").datapath("fp16", "tensor_core").grade == "estimate"


# ---- arrays


def test_an_array_is_as_printed_where_it_is_printed():
    # 14 pJ for 64 bits of 1 MiB, 8.5 of 32 KiB
    assert pj(at("7nm").sram("mib1")) == near([14 / 8] * 3)
    assert pj(at("7nm").sram("kib32")) == near([8.5 / 8] * 3)


def test_below_7_nm_cells_stay_and_at_the_most_shrink_like_logic():
    assert pj(at("4nm").sram("mib1")) == near([14 / 8 * 0.65, 14 / 8, 14 / 8])


def test_between_45_and_7_nm_it_is_on_a_power_law_through_both():
    # exponent ln(100 / 14) / ln(45 / 7) = 1.057 of 1 MiB, ln(20 / 8.5) / ln(45 / 7) = 0.460 of 32 KiB
    for array, old, new in (("mib1", 100, 14), ("kib32", 20, 8.5)):
        exponent = math.log(old / new) / math.log(45 / 7)
        typical = new / 8 * (16 / 7) ** exponent
        assert pj(at("16nm").sram(array)) == near([new / 8, typical, old / 8])


# ---- logic and control


@pytest.mark.parametrize(("node", "other"), list(product(NODES, ("7nm", "45nm", "16nm"))))
def test_there_and_back_is_where_one_was(node, other):
    assert at(node).logic(other).typical * at(other).logic(node).typical == near(1)
    assert at(node).logic(node).typical == 1


def test_an_event_is_carried_as_logic():
    # 30 pJ at 45 nm, whose multiply and add of FP32 are (3.7 + 0.9) / (1.31 + 0.38) = 2.722 times those of 7 nm
    seven, older = at("7nm"), at("45nm")
    event = older.arithmetic("fp16").times(40)
    assert seven.control(event, "45nm").typical == near(30e-12 / (4.6 / 1.69))
    assert older.control(event, "45nm") is event


# ---- laws


def every():
    for node in NODES:
        one = at(node)
        yield from (one.arithmetic(precision) for precision in KNOWN)
        yield from (one.datapath(precision, circuit) for precision in KNOWN for circuit in CIRCUIT)
        yield from (one.sram(array) for array in ARRAYS)
        yield from (one.logic(other) for other in NODES)


def test_every_coefficient_lies_between_its_ends():
    for one in every():
        assert 0 <= one.low <= one.typical <= one.high < math.inf, one.basis
        assert one.basis


@pytest.mark.parametrize("precision", KNOWN)
def test_a_smaller_node_never_costs_more_arithmetic(precision):
    energies = [at(node).arithmetic(precision).typical for node in ("45nm", *NODES)]
    assert all(larger > smaller for larger, smaller in pairwise(energies))


@pytest.mark.parametrize("array", ARRAYS)
def test_a_smaller_node_never_costs_more_for_an_array(array):
    energies = [at(node).sram(array).typical for node in ("45nm", *NODES)]
    assert all(larger >= smaller for larger, smaller in pairwise(energies))


def test_a_wider_format_never_costs_less():
    for node in NODES:
        energies = [at(node).arithmetic(precision).typical for precision in ("int4", "int8", "fp8", "fp16", "fp32")]
        assert all(narrow < wide for narrow, wide in pairwise(energies))


def test_what_is_carried_is_marked_as_an_estimate():
    carried = [node for node in NODES if node not in ("7nm", "45nm")]
    assert {at(node).arithmetic(precision).grade for node in carried for precision in KNOWN} == {"estimate"}


@given(st.permutations([(precision, circuit) for precision in KNOWN[:4] for circuit in CIRCUIT[:3]]))
def test_what_is_kept_is_what_would_be_worked_out_again(order):
    kept = at("5nm")
    for precision, circuit in order:
        assert kept.datapath(precision, circuit) == at("5nm").datapath(precision, circuit)
        assert kept.datapath(precision, circuit) is kept.datapath(precision, circuit)


def test_an_add_without_a_multiply_is_no_multiply_add(energies):
    # 45 nm: half of 1.1 + 0.4 pJ in FP16; in INT8 it has the add alone, and in FP32 nothing
    process = energies.read().process("45nm")
    assert pj(_multiply_add(process, "fp16")) == near([0.75, 0.75, 0.75])
    assert [_multiply_add(process, precision) for precision in ("int8", "fp32")] == [None, None]
