"""Energy of a MAC and power of a chip: the document's figures by hand, and the laws that its formula has."""

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.precision import precision as precision_named
from rooflint.coefficients.library import Coefficients
from rooflint.energy.tdp import (
    MOST,
    Case,
    Factors,
    Hold,
    RangeError,
    UnknownFactorError,
    alus_of,
    clocks_of,
    compared,
    estimate,
    over,
    packed_macs,
)
from rooflint.hardware.registry import Registry

FACTORS = Factors(Coefficients(Registry()))
NODES, CIRCUITS, PRECISIONS = list(FACTORS.bases), list(FACTORS.circuits), list(FACTORS.precisions)

nodes, circuits, precisions = map(st.sampled_from, (NODES, CIRCUITS, PRECISIONS))
counts = st.integers(1, 10**6)
clocks_hz = st.floats(1e6, 2e10)


def near(value):
    return pytest.approx(value, rel=1e-9, abs=0)


def made(precision="fp16", circuit="systolic_mac", node="4nm", alus=1024, clock_hz=1e9, macs=1.0, hold=Hold.alus):
    return estimate(FACTORS, Case(precision, circuit, node, alus, clock_hz, macs, hold))


# ---- by hand


def test_the_document_has_twelve_nodes_ten_circuits_eight_precisions():
    assert (NODES[0], NODES[-1], len(NODES)) == ("3nm", "28nm", 12)
    assert len(CIRCUITS) == 10
    assert PRECISIONS == ["fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "int4"]


@pytest.mark.parametrize(
    ("node", "cores", "macs", "clock_hz", "printed_w"),
    [
        ("3nm", 528, 512, 2.10e9, 763.0),
        ("4nm", 528, 256, 1.98e9, 389.7),  # 1.3 × 0.8 × 0.5 × 2 × 1.4 = 1.456 pJ/MAC × 528 × 256 × 1.98 GHz
        ("7nm", 432, 256, 1.41e9, 314.4),
        ("12nm", 640, 64, 1.53e9, 175.5),
        ("12nm", 320, 64, 1.59e9, 91.2),
    ],
    ids=["B100", "H100", "A100", "V100", "T4"],
)
def test_tensor_cores_draw_what_the_document_printed(node, cores, macs, clock_hz, printed_w):
    found = made(node=node, alus=cores, macs=macs, clock_hz=clock_hz)
    assert found.power_w == pytest.approx(printed_w, abs=0.05)


def test_a_mac_of_an_h100_by_hand():
    # 1.3 pJ/op × 0.8 × 0.5 × 2 op/MAC × 1.4 = 1.456 pJ/MAC; 2 op / 1.456 pJ = 1.374 TOP/s/W
    found = made()
    assert found.energy_j_per_mac == near(1.456e-12)
    assert found.ops_per_j == near(2 / 1.456e-12)
    assert found.mac.formula == "1.3 pJ/op at 4nm × 0.8 systolic_mac × 0.5 fp16 × 2 op/MAC × 1.4 datapath"


def test_a_large_core_counts_with_its_whole_factor():
    # 1.8 pJ/op × 2.5 × 1 × 2 op/MAC × 1.4 = 12.6 pJ/MAC
    assert made("fp32", "x86_performance", "7nm").energy_j_per_mac == near(12.6e-12)


def test_the_arithmetic_is_a_multiply_and_an_add():
    # 7 nm: 0.34 + 0.16 pJ
    assert made(node="7nm").arithmetic.typical == near(0.5e-12)


@pytest.mark.parametrize(
    ("precision", "macs"),
    [("fp64", 1), ("fp32", 2), ("tf32", 2), ("bf16", 4), ("fp16", 4), ("fp8", 8), ("int8", 8), ("int4", 16)],
)
def test_a_datapath_of_64_bits_holds_as_many_macs_as_fit(precision, macs):
    assert packed_macs(precision, Hold.width) == macs
    assert packed_macs(precision, Hold.alus) == 1
    assert made(precision, hold=Hold.width).ops_per_s == near(2 * macs * 1024 * 1e9)


# ---- every node × circuit × precision


@pytest.mark.slow
@pytest.mark.parametrize("node", NODES)
def test_every_combination_has_a_graded_ladder_above_the_arithmetic(node):
    for circuit, precision in product(CIRCUITS, PRECISIONS):
        found = made(precision, circuit, node)
        product_of_facts = 1.0
        for factor in found.mac.factors:
            product_of_facts *= factor.fact.value if factor.fact else 2  # op/MAC
        assert found.energy_j_per_mac == near(product_of_facts)
        assert {fact.source.grade for fact in found.mac.facts} == {"estimate"}
        assert 0 < found.arithmetic.typical < found.energy_j_per_mac


# ---- laws


@given(counts, clocks_hz, st.integers(1, 100), nodes, circuits, precisions)
def test_power_is_linear_in_alus_and_in_clock(alus, clock_hz, times, node, circuit, precision):
    one = made(precision, circuit, node, alus, clock_hz)
    assert made(precision, circuit, node, alus * times, clock_hz).power_w == near(one.power_w * times)
    assert made(precision, circuit, node, alus, clock_hz * times).power_w == near(one.power_w * times)
    assert one.power_w * one.ops_per_j == near(one.ops_per_s)


@given(circuits, precisions, st.sampled_from(list(pairwise(NODES))))
def test_a_smaller_node_never_takes_more(circuit, precision, pair):
    small, large = (made(precision, circuit, node) for node in pair)
    assert small.power_w <= large.power_w


@given(circuits, nodes, counts)
def test_a_held_width_draws_the_same_in_all_precisions_but_tf32(circuit, node, alus):
    found = compared(made("int8", circuit, node, alus, hold=Hold.width), "precisions")
    powers = {one.case.precision: one.power_w for one in found}
    # tf32: 0.6 of fp32's energy in as many bits
    assert powers.pop("tf32") == near(0.6 * powers["fp32"])
    assert list(powers.values()) == near([powers["fp32"]] * len(powers))


@given(circuits, nodes)
def test_held_alus_draw_less_the_narrower_they_are(circuit, node):
    found = compared(made("fp16", circuit, node), "precisions")
    ordered = sorted(found, key=lambda one: -precision_named(one.case.precision).bits)
    assert all(wide.power_w >= narrow.power_w for wide, narrow in pairwise(ordered) if wide.case.precision != "tf32")


# ---- comparisons and ranges


@pytest.mark.parametrize(
    ("by", "names"), [("precisions", PRECISIONS), ("circuits", CIRCUITS), ("processes", NODES)], ids=str
)
def test_a_comparison_has_all_and_what_was_asked_for(by, names):
    asked = made()
    found = compared(asked, by)
    assert len(found) == len(names)
    assert asked.case in [one.case for one in found]


def test_a_range_has_every_count_at_every_clock():
    found = over(made(), [1, 2, 4], [1e9, 2e9])
    assert [(one.case.alus, one.case.clock_hz) for one in found] == list(product([1, 2, 4], [1e9, 2e9]))


# ---- names


@pytest.mark.parametrize("text", ["4nm", "4 nm", "4NM", " 4nm "])
def test_a_node_is_read_in_any_spelling(text):
    assert FACTORS.node(text) == "4nm"


def test_names_are_read_in_any_case():
    assert FACTORS.circuit("Tensor-Core") == "tensor_core"
    assert FACTORS.precision("FP16") == "fp16"


@pytest.mark.parametrize(
    ("thing", "text", "message"),
    [
        ("node", "9nm", "no energy of an op is known at process '9nm'; nearest: 8nm, 10nm"),
        ("node", "45nm", "nearest: 22nm, 28nm"),
        ("node", "small", "unknown process 'small'; want one of 3nm, 4nm"),
        ("circuit", "tensorcore", "unknown circuit 'tensorcore'; did you mean tensor_core? known: x86_performance"),
        ("circuit", "wafer", "unknown circuit 'wafer'; known: x86_performance"),
        ("precision", "fp6", "no factor of precision 'fp6' is known; want one of fp64, fp32"),
    ],
)
def test_what_is_not_known_is_told_the_nearest(thing, text, message):
    with pytest.raises(UnknownFactorError) as caught:
        getattr(FACTORS, thing)(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


# ---- Ranges that people type: single values, doubling, steps, and what is refused


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1024", [1024]),
        ("1024:1024", [1024]),
        ("1024:65536", [1024, 2048, 4096, 8192, 16384, 32768, 65536]),
        ("1000:5000", [1000, 2000, 4000]),
        ("1000:2000:500", [1000, 1500, 2000]),
        (" 1 : 8 ", [1, 2, 4, 8]),
    ],
)
def test_alus_double_or_take_steps(text, found):
    assert alus_of(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1.83GHz", [1.83e9]),
        ("1.83 GHz", [1.83e9]),
        ("612 MHz", [612e6]),
        ("1GHz:2GHz:0.25GHz", [1e9, 1.25e9, 1.5e9, 1.75e9, 2e9]),
        ("1GHz:1.3GHz:100MHz", [1e9, 1.1e9, 1.2e9, 1.3e9]),
        ("500MHz:2GHz", [0.5e9, 1e9, 2e9]),
    ],
)
def test_clocks_double_or_take_steps(text, found):
    assert clocks_of(text) == pytest.approx(found, rel=1e-12, abs=0)


@given(st.integers(1, 10**6), st.integers(1, 1000), st.integers(0, MOST - 1))
def test_steps_end_where_they_are_told_to(low, step, steps):
    high = low + step * steps
    assert alus_of(f"{low}:{high}:{step}") == list(range(low, high + 1, step))


@given(st.integers(1, 1000), st.integers(0, 19))
def test_doublings_end_where_they_are_told_to(low, doublings):
    assert alus_of(f"{low}:{low * 2**doublings}") == [low * 2**number for number in range(doublings + 1)]


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (alus_of, "65536:1024", "--alus: want a range from low to high, found '65536:1024'"),
        (alus_of, "0", "--alus: want a whole number from 1 to 1000000000"),
        (alus_of, "1.5", "found '1.5'"),
        (alus_of, "", "found ''"),
        (alus_of, "1:10:0", "found '0'"),
        (alus_of, "1:2:3:4", "--alus: want low:high or low:high:step, found '1:2:3:4'"),
        (alus_of, "1:1000000:1", "--alus: want at most 64 values, found '1:1000000:1', which has 1000000"),
        (clocks_of, "1.83", "--clock: want a clock with its unit, such as 1.83GHz"),
        (clocks_of, "1.83ghz", "write GHz"),
        (clocks_of, "5 W", "found '5 W'"),
        (clocks_of, "0 GHz", "found '0 GHz'"),
        (clocks_of, "2GHz:1GHz", "--clock: want a range from low to high, found '2GHz:1GHz'"),
        (clocks_of, "1 THz", "--clock: 1 THz is outside 1 MHz … 20 GHz; wrong unit or prefix?"),
        (clocks_of, "nanGHz", "--clock: want a clock"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(read, text, message):
    with pytest.raises(RangeError) as caught:
        read(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
