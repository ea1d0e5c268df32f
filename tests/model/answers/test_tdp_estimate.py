"""Power of ALUs: the energy of a MAC factor by factor, watts, comparisons and curves over ranges."""

import math

import pytest

from rooflint.answers.tdp_estimate import CAVEATS, LISTING, MOST_CURVES, WIDTH, answer
from rooflint.coefficients.library import Coefficients
from rooflint.energy.tdp import Case, Factors, Hold, estimate, over
from rooflint.hardware.registry import Registry

FACTORS = Factors(Coefficients(Registry()))
GHZ = 1e9


def asked(*wanted, alus=(1024,), clocks_hz=(GHZ,), precision="fp16", circuit="tensor_core", macs=1.0, hold=Hold.alus):
    first = estimate(FACTORS, Case(precision, circuit, "4nm", alus[0], clocks_hz[0], macs, hold))
    return answer(over(first, list(alus), list(clocks_hz)), wanted)


def h100(*wanted):
    """528 tensor cores of 256 MAC at 1.98 GHz, as the document computes them."""
    return asked(*wanted, alus=(528,), clocks_hz=(1.98 * GHZ,), circuit="systolic_mac", macs=256.0)


def section(found, heading):
    (one,) = [one for one in found.sections if one.heading == heading]
    return one


def headings(found):
    return [one.heading for one in found.sections]


# ---- one estimate


def test_an_estimate_is_headed_by_what_was_asked():
    assert (h100().title, h100().subtitle) == ("Power of 528 ALUs at 1.98 GHz", "fp16, systolic_mac, 4nm")
    assert headings(h100()) == ["Energy of a MAC", "Power", "Limitations"]


def test_the_energy_of_a_mac_is_a_product_that_a_reader_can_multiply():
    # 1.3 pJ/op × 0.8 × 0.5 × 2 op × 1.4 = 1.456 pJ/MAC
    grid, log = section(h100(), "Energy of a MAC"), "TDP estimation log of 2025-12-04"
    assert grid.table.columns == ("factor", "grade", "source")
    assert grid.table.rows[:-1] == (
        ("  1.3 pJ/op at 4nm", "estimate", f"{log}, Process Node Base Energy"),
        ("× 0.8 systolic_mac", "estimate", f"{log}, Circuit Type Multipliers"),
        ("× 0.5 fp16", "estimate",
         "branes-ai/graphs at b6c5e82, hardware/technology_profile.py, precision scale"),
        ("× 2 op/MAC", "", "convention"),
        ("× 1.4 datapath", "estimate", f"{log}, Datapath Overhead, 40 %"),
        ("= 1.456 pJ/MAC", "estimate", "the document's estimate"),
    )  # fmt: skip
    assert grid.note == "≥ the arithmetic alone: circuits without registers, wires and clocks"


def test_the_arithmetic_alone_is_a_lower_bound_with_both_ends():
    arithmetic = h100().record.ladder.arithmetic
    least, typical, most = (
        f"{1e12 * value:.4g} pJ/MAC"
        for value in (arithmetic.low_j_per_mac, arithmetic.typical_j_per_mac, arithmetic.high_j_per_mac)
    )
    assert arithmetic.low_j_per_mac < arithmetic.typical_j_per_mac <= arithmetic.high_j_per_mac
    assert section(h100(), "Energy of a MAC").table.rows[-1] == (
        f"≥ {typical}", arithmetic.grade, f"2 × {arithmetic.basis}; from {least} to {most}",
    )  # fmt: skip


def test_power_and_peak_follow_from_it():
    # 528 × 256 MAC × 1.98 GHz = 267.6e12 MAC/s; × 1.456 pJ = 389.7 W; × 2 op = 535.3 TFLOP/s; 2 / 1.456 = 1.374 op/pJ
    found, macs = h100(), "528 ALU × 256 MAC/clock × 1.98 GHz"
    (one,) = found.record.estimates
    assert section(found, "Power").table.rows == (
        ("power", "389.7 W", f"1.456 pJ/MAC × {macs}"),
        ("peak", "535.3 TFLOP/s", f"2 op/MAC × {macs}"),
        ("peak per watt", "1.374 TFLOP/s/W", "2 op/MAC / 1.456 pJ/MAC"),
        ("arithmetic alone", f"{one.arithmetic_w:.4g} W", f"{100 * one.arithmetic_w / one.power_w:.3g} % of the power"),
    )
    assert one.power_w == pytest.approx(528 * 256 * 1.98e9 * 1.456e-12)
    assert one.ops_per_s == pytest.approx(528 * 256 * 1.98e9 * 2)
    assert one.energy_j_per_mac == pytest.approx(1.456e-12, rel=1e-9, abs=0)
    assert one.ops_per_j == pytest.approx(2 / 1.456e-12)
    assert (one.precision, one.circuit, one.process, one.alus) == ("fp16", "systolic_mac", "4nm", 528)
    assert (one.macs_per_clock, one.clock_hz) == (256.0, 1.98e9)


def test_the_record_has_each_factor_with_its_source_and_grade():
    ladder = h100().record.ladder
    factors = (*ladder.energy_per_mac, *ladder.macs_per_s)
    assert math.prod(factor.value for factor in factors) == pytest.approx(h100().record.estimates[0].power_w, rel=1e-12)
    assert [factor.grade for factor in ladder.energy_per_mac] == [*["estimate"] * 3, None, "estimate"]
    base, convention = ladder.energy_per_mac[0], ladder.energy_per_mac[3]
    assert (base.name, base.shown, base.document, base.where) == (
        "base", "1.3 pJ/op at 4nm", "TDP estimation log of 2025-12-04", "Process Node Base Energy",
    )  # fmt: skip
    assert (convention.shown, convention.document, convention.where) == ("2 op/MAC", None, None)
    assert ladder.grade == "estimate"
    assert h100().record.hold == "alus"


# ---- comparisons


def test_precisions_are_compared_from_the_widest_with_the_one_asked_for_standing_out():
    found = h100("precisions")
    grid = section(found, "All precisions")
    assert grid.table.columns == ("precisions", "per MAC", "power", "relative", "peak", "per watt")
    rows = {row[0]: row[1:] for row in grid.table.rows}
    assert list(rows) == ["fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "int4"]
    assert rows["fp64"] == ("5.824 pJ", "1559 W", "4×", "535.3 TFLOP/s", "343.4 GFLOP/s/W")
    assert rows["int8"] == ("0.728 pJ", "194.8 W", "0.5×", "535.3 TOP/s", "2.747 TOP/s/W")
    assert [list(rows)[place] for place in grid.strong] == ["fp16"]
    assert grid.note == "relative: power relative to the requested case"
    assert headings(found) == ["Energy of a MAC", "Power", "All precisions", "Power of precisions", "Limitations"]


def test_comparisons_stand_in_the_order_in_which_they_were_asked_for():
    found = h100("processes", "circuits")
    assert [one.by for one in found.record.comparisons] == ["processes", "circuits"]
    assert headings(found)[2:6] == ["All processes", "Power of processes", "All circuits", "Power of circuits"]
    processes = {row[0]: row[3] for row in section(found, "All processes").table.rows}
    assert (processes["3nm"], processes["4nm"], processes["7nm"]) == ("0.923×", "1×", "1.38×")  # 1.2, 1.3, 1.8 pJ/op
    assert "systolic_mac" in [row[0] for row in section(found, "All circuits").table.rows]


def test_a_bar_is_the_arithmetic_and_the_rest_of_the_estimate():
    found = h100("precisions")
    wide = found.record.comparisons[0].estimates[0]
    bar = section(found, "Power of precisions").bars[0]
    assert (bar.label, bar.shown) == ("fp64", "1559 W")
    assert [(part.name, part.value, part.shown) for part in bar.parts] == [
        ("arithmetic", wide.arithmetic_w, f"{wide.arithmetic_w:.4g} W"),
        ("the rest of the estimate", wide.power_w - wide.arithmetic_w, f"{wide.power_w - wide.arithmetic_w:.4g} W"),
    ]


def test_an_alu_of_a_held_width_does_as_many_macs_as_fit():
    found = asked("precisions", precision="int8", hold=Hold.width)
    grid = section(found, "All precisions")
    assert grid.table.columns == ("precisions", "MAC/clock", "per MAC", "power", "relative", "peak", "per watt")
    # 64 bit / 8 bit
    assert {row[0]: row[1] for row in grid.table.rows} == {
        "fp64": "1", "fp32": "2", "tf32": "2", "bf16": "4", "fp16": "4", "fp8": "8", "int8": "8", "int4": "16",
    }  # fmt: skip
    assert {row[3] for row in grid.table.rows if row[0] != "tf32"} == {"6.337 W"}  # 1024 × 8 × 1 GHz × 0.7735 pJ
    assert grid.note == "relative: power relative to the requested case; MAC/clock of one ALU of 64 bit"
    assert found.record.estimates[0].macs_per_clock == 8.0
    assert found.record.hold == "width"


def test_a_held_width_says_that_power_is_the_same_by_construction():
    assert asked("precisions", hold=Hold.width).record.caveats == [*CAVEATS, WIDTH]
    assert asked("circuits", hold=Hold.width).record.caveats == list(CAVEATS)
    assert asked("precisions").record.caveats == list(CAVEATS)
    assert section(asked(), "Limitations").sentences == CAVEATS


# ---- ranges


def test_a_range_is_headed_by_both_ends_and_says_of_which_point_a_ladder_is():
    found = asked("precisions", alus=(1024, 2048), clocks_hz=(GHZ, 2 * GHZ))
    assert found.title == "Power of 1024 to 2048 ALUs at 1 GHz to 2 GHz"
    assert headings(found) == [
        "Energy of a MAC", "Power at 1024 ALUs, 1 GHz", "Over the range", "Power over the range",
        "All precisions at 1024 ALUs, 1 GHz", "Power of precisions at 1024 ALUs, 1 GHz",
        "Power of precisions over the range", "Limitations",
    ]  # fmt: skip
    assert asked(clocks_hz=(GHZ, 2 * GHZ)).title == "Power of 1024 ALUs at 1 GHz to 2 GHz"


def test_every_count_stands_with_every_clock():
    # 1024 × 1 GHz × 1.547 pJ/MAC = 1.584 W
    found = asked("precisions", alus=(1024, 2048), clocks_hz=(GHZ, 2 * GHZ))
    table = section(found, "Over the range").table
    assert table.columns == ("ALUs", "clock", "power", "peak")
    assert table.rows == (
        ("1024", "1 GHz", "1.584 W", "2.048 TFLOP/s"),
        ("1024", "2 GHz", "3.168 W", "4.096 TFLOP/s"),
        ("2048", "1 GHz", "3.168 W", "4.096 TFLOP/s"),
        ("2048", "2 GHz", "6.337 W", "8.192 TFLOP/s"),
    )
    assert len(found.record.comparisons[0].estimates) == 8 * 4


def test_a_line_over_alus_is_drawn_for_each_clock():
    drawn = section(asked(alus=(1024, 2048), clocks_hz=(GHZ, 2 * GHZ)), "Power over the range")
    assert (drawn.x_label, drawn.y_label, drawn.x_unit, drawn.y_unit) == ("ALUs", "power", "", "W")
    assert [(one.name, one.x, one.y) for one in drawn.curves] == [
        ("1 GHz", (1024.0, 2048.0), pytest.approx((1.584128, 3.168256))),
        ("2 GHz", (1024.0, 2048.0), pytest.approx((3.168256, 6.336512))),
    ]


def test_a_line_over_clocks_is_drawn_where_there_is_one_count_of_alus():
    drawn = section(asked(clocks_hz=(GHZ, 2 * GHZ)), "Power over the range")
    assert (drawn.x_label, drawn.x_unit, drawn.y_unit) == ("clock", "Hz", "W")
    assert [(one.name, one.x, one.y) for one in drawn.curves] == [
        ("1024 ALUs", (1e9, 2e9), pytest.approx((1.584128, 3.168256)))
    ]


def test_lines_of_a_comparison_are_named_and_have_their_clock_where_there_are_several():
    over_clocks = section(asked("precisions", clocks_hz=(GHZ, 2 * GHZ)), "Power of precisions over the range")
    assert [one.name for one in over_clocks.curves] == [
        "fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "int4",
    ]  # fmt: skip
    over_alus = section(asked("precisions", alus=(1, 2)), "Power of precisions over the range")
    assert [one.name for one in over_alus.curves] == [one.name for one in over_clocks.curves]
    assert section(asked(alus=(1, 2)), "Power over the range").curves[0].name == "1 GHz"


def test_more_lines_than_a_drawing_holds_are_left_to_tables():
    clocks = tuple(GHZ * (1 + number / 100) for number in range(MOST_CURVES))
    assert len(section(asked(alus=(1, 2), clocks_hz=clocks), "Power over the range").curves) == MOST_CURVES == 12
    both = section(asked(alus=(1, 2), clocks_hz=(*clocks, 2 * GHZ)), "Power over the range")
    assert both.sentences == ("13 lines are too many to draw; all figures are in -f csv and -f json",)
    compared = asked("precisions", alus=(1, 2), clocks_hz=(GHZ, 2 * GHZ))  # 8 precisions × 2 clocks
    assert section(compared, "Power of precisions over the range").sentences[0].startswith("16 lines are too many")


# ---- rows


def test_the_listing_has_what_was_asked_for_first_and_then_each_comparison():
    table = asked("precisions", "circuits", clocks_hz=(GHZ, 2 * GHZ)).listing
    assert table.columns == LISTING
    first = dict(zip(table.columns, table.rows[0], strict=True))
    assert (first["compared"], first["precision"], first["clock_hz"], first["power_w"]) == (
        "", "fp16", 1e9, pytest.approx(1.584128),
    )  # fmt: skip
    compared = [row[0] for row in table.rows]
    assert list(dict.fromkeys(compared)) == ["", "precisions", "circuits"]
    assert (compared.count(""), compared.count("precisions")) == (2, 16)
