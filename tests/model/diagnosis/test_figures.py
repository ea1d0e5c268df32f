"""Figures: everything that a device can be quoted with, each the product of cited factors."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.diagnosis.explanations import DISTORTIONS
from rooflint.diagnosis.figures import QUANTITIES, Printed, figures, show
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
    assert show("peak", 85.2e12) == "85.2 TOP/s"
    assert show("bandwidth", 320e9, "fp16") == "320 GB/s"


@given(st.sampled_from(REGISTRY.ids()))
def test_every_figure_is_a_positive_number_of_a_known_quantity(device):
    found = figures(REGISTRY.get(device))
    assert all(figure.value > 0 and math.isfinite(figure.value) and figure.quantity in QUANTITIES for figure in found)
    assert all(figure.facts or figure.quantity == "rate" for figure in found)


# ---- the largest of the family: 16 SM × 4 tensor cores at 1.5 GHz, 128 lanes at 1.6 GHz, 256 bit × 8 Gbit/s


def listed(hardware):
    return {figure.says: figure.shown() for figure in figures(hardware)}


def test_everything_a_device_can_be_quoted_with_is_listed(family):
    own = {says: shown for says, shown in listed(family.big).items() if " at " not in says}
    assert own == {
        "dense FP16 peak (tensor_core)": "49.15 TFLOP/s",  # 16 × 4 × 256 × 2 × 1.5 GHz
        "sparse FP16 peak (tensor_core)": "98.3 TFLOP/s",
        "dense INT8 peak (tensor_core)": "98.3 TOP/s",
        "sparse INT8 peak (tensor_core)": "196.6 TOP/s",
        "dense FP32 peak (cuda_core)": "6.554 TFLOP/s",  # 16 × 128 × 2 × 1.6 GHz
        "rate (tensor_core fp16)": "2048 op/clock",  # 4 × 256 × 2
        "rate (tensor_core int8)": "4096 op/clock",
        "rate (cuda_core fp32)": "256 op/clock",
        "count (SM)": "16",  # once, although both units have it
        "count (tensor_core)": "64",
        "count (cuda_core)": "2048",
        "bandwidth (hbm)": "256 GB/s",
        "bus (hbm)": "256 bit",
        "capacity (hbm)": "16 GB",
        "memory clock (hbm)": "8 GHz",  # the last of several: the rate of a pin
        "clock (tensor_core)": "1.5 GHz",
        "clock (cuda_core)": "1.6 GHz",
        "clock (base)": "1 GHz",
        "clock (boost)": "1.5 GHz",
    }


def test_an_operating_point_has_its_own_peaks_and_clocks_but_the_same_counts(family):
    slow = {says: shown for says, shown in listed(family.big).items() if " at slow" in says}
    assert slow["dense INT8 peak (tensor_core) at slow"] == "49.15 TOP/s"
    assert slow["clock (tensor_core) at slow"] == "750 MHz"
    assert {says.partition(" (")[0].rpartition(" ")[2] for says in slow} == {"peak", "clock", "bandwidth"}
    assert " at " not in "".join(listed(family.big.at("slow")))  # its own point needs no name


def test_only_units_that_multiply_matrices_are_matrix_units(family):
    matrix = {figure.says for figure in figures(family.big) if figure.is_matrix and not figure.mode}
    assert {says.partition("(")[2].split()[0].strip(")") for says in matrix} == {"tensor_core"}


SIDE_BY_SIDE = """\
name: Side
kind: npu
sources: {wp: {document: White paper, grade: quoted}}
tdp: [30 W, wp, p]
powers: {limit: [45 W, wp, p]}
parts: {die: [2, wp, p]}
units:
  array: {group: tile, groups: [4, wp, p], per_group: [1, wp, p], clock: [1 GHz, wp, p], circuit: systolic_mac,
          macs_per_clock: {int8: [1000 MAC, wp, p]}}
  engine: {group: engine, groups: [2, wp, p], per_group: [1, wp, p], clock: [2 GHz, wp, p], circuit: systolic_mac,
           macs_per_clock: {int8: [500 MAC, wp, p], fp16: [250 MAC, wp, p]}}
  lane: {group: tile, groups: [4, wp, p], per_group: [8, wp, p], clock: [1 GHz, wp, p], circuit: simd_packed,
         macs_per_clock: {int8: [1 MAC, wp, p]}}
memories: {ddr: {capacity: [8 GB, wp, p]}}
"""


def test_matrix_units_of_different_groups_have_a_sum_and_lanes_are_not_in_it(specs):
    # 4 × 1000 × 2 × 1 GHz + 2 × 500 × 2 × 2 GHz = 8 + 4 TOP/s; half of that on each die
    specs.write("acme/side", SIDE_BY_SIDE)
    side = specs.registry().get("acme/side")
    peaks = {says: shown for says, shown in listed(side).items() if "peak" in says}
    assert peaks == {
        "dense INT8 peak (array)": "8 TOP/s",
        "dense INT8 peak (engine)": "4 TOP/s",
        "dense FP16 peak (engine)": "2 TFLOP/s",
        "dense INT8 peak (lane)": "64 GOP/s",
        "dense INT8 peak (array + engine)": "12 TOP/s",
        "dense INT8 peak (array) per die": "4 TOP/s",
        "dense INT8 peak (engine) per die": "2 TOP/s",
        "dense FP16 peak (engine) per die": "1 TFLOP/s",
        "dense INT8 peak (lane) per die": "32 GOP/s",
        "dense INT8 peak (array + engine) per die": "6 TOP/s",
    }
    on_a_die = one(side, "dense INT8 peak (engine) per die")
    assert on_a_die.formula.endswith(" × 1/2 (die)")
    assert [factor.name for factor in on_a_die.ladders[0].factors if factor.inverse] == ["parts"]
    one_sum = one(side, "dense INT8 peak (array + engine)")
    assert one_sum.formula == (
        "4 tile × 1 array × 1000 MAC/clock × 2 op/MAC × 1 GHz + 2 engine × 1 engine × 500 MAC/clock × 2 op/MAC × 2 GHz"
    )


def test_power_and_clocks_are_of_the_whole_and_a_memory_without_bandwidth_has_none(specs):
    specs.write("acme/side", SIDE_BY_SIDE)
    says = listed(specs.registry().get("acme/side"))
    assert {name: shown for name, shown in says.items() if name.startswith("tdp")} == {
        "tdp": "30 W",
        "tdp (limit)": "45 W",
    }
    assert {name for name in says if name.startswith(("bandwidth", "capacity"))} == {
        "capacity (ddr)",
        "capacity (ddr) per die",
    }
    assert says["capacity (ddr) per die"] == "4 GB"


def test_a_unit_whose_rate_or_number_is_not_disclosed_has_no_peak(specs):
    hidden = SIDE_BY_SIDE.replace("int8: [500 MAC, wp, p], ", "").replace("groups: [2, wp, p], ", "")
    specs.write("acme/side", f"{hidden}undisclosed: {{units.engine.groups: not published}}\n")
    says = listed(specs.registry().get("acme/side"))
    assert not [name for name in says if "engine" in name]
    assert "dense INT8 peak (array)" in says


# ---- numbers as they are printed


def printed(value, step):
    return Printed(value, step, f"{value:g}")


@pytest.mark.parametrize(
    ("number", "target", "near"),
    [
        (printed(100, 1), 100.3, True),  # within 3 per mille, whatever the digits
        (printed(100, 0.01), 100.29, True),
        (printed(101.2, 0.01), 101.52, False),
        (printed(100, 1), 100.5, True),  # rounded: half a step
        (printed(100, 1), 99.5, True),
        (printed(100, 1), 99.4, False),  # not cut: the figure is below
        (printed(100, 1), 100.99, True),  # cut
        (printed(100, 1), 101.01, False),
        (printed(100, 10), 104.9, True),
        (printed(100, 20), 110.5, False),  # cut, but more than a twentieth
        (printed(3, 1), 3.45, True),  # a single digit rounded hides 15 % at most
        (printed(3, 1), 2.6, False),
        (printed(1310, 1), 1305.5, True),  # in three digits: zeros are no digits
        (printed(1310, 1), 1304.5, False),
        (printed(0.3, 0.01), 0.309, True),
        (printed(0.131, 0.0001), 0.13055, True),
    ],
)
def test_a_number_is_near_a_figure_that_it_may_round_or_cut(number, target, near):
    assert number.is_near(target) is near


def test_two_significant_digits_are_a_round_number():
    assert printed(2000, 1).is_rounded(2039)
    assert not printed(2100, 1).is_rounded(2039)
    assert not printed(2039, 1).is_rounded(2039)
    assert not printed(0, 1).is_rounded(0)


def test_a_difference_is_relative_to_the_figure():
    assert printed(90, 1).off_by(100) == pytest.approx(0.1)
    assert printed(110, 1).off_by(100) == pytest.approx(0.1)


# ---- errors of known factor


def test_binary_prefixes_are_tried_both_ways_with_the_powers_of_the_quantity():
    def factors(quantity):
        found = [one for one in DISTORTIONS[quantity] if one.name == "tebi for tera"]
        assert all(after.cost > before.cost for before, after in zip(found[::2], found[1::2], strict=True))
        return [one.factor for one in found]

    assert factors("peak") == pytest.approx([1.099511627776, 1 / 1.099511627776])
    assert factors("capacity") == pytest.approx([1.073741824, 1 / 1.073741824, 1.024, 1 / 1.024])
    assert len(factors("bandwidth")) == 6
    texts = {one.text for one in DISTORTIONS["peak"] if one.name == "tebi for tera"}
    assert texts == {"takes 2^40 for 10^12", "takes 10^12 for 2^40"}


@given(st.floats(1, 1e15), st.floats(1e-6, 2), st.floats(0.3, 3), st.sampled_from([3e-3, 0.012, 0.05]))
def test_whatever_a_number_may_be_lies_in_its_span(value, share, factor, floor):
    printed, target = Printed(value, share * value, ""), value * factor
    low, high = printed.span(floor)
    assert low <= target <= high or not printed.is_near(target, floor)
    assert low <= target <= high or printed.off_by(target) > max(share, floor)
