"""What the registry of powers says of loads: ratios beside the limit, the clock that fits, and whose turn is first."""

from dataclasses import replace

import pytest

from rooflint.answers import tdp_registry
from rooflint.answers.tdp_registry import fitting_clock, hardest, hardest_loads, ratio_shown, told
from rooflint.coefficients.ranges import Coefficient
from rooflint.energy.power import Load, PowerCheck, PowerTerm, UnknownPower
from rooflint.hardware.registry import Registry

ACME = """\
name: Acme One
kind: gpu
sources: {wp: {document: White paper, grade: quoted}}
tdp: [20 W, wp, p. 1]
units:
  tensor_core:
    {group: SM, groups: [10, wp, p. 2], per_group: [1, wp, p. 2], clock: [1 GHz, wp, p. 2], circuit: tensor_core,
     macs_per_clock: {fp16: [500 MAC, wp, p. 3], int8: [1000 MAC, wp, p. 3]}}
  helper:
    {group: core, groups: [1, wp, p. 2], per_group: [1, wp, p. 2], clock: [2 GHz, wp, p. 2], circuit: simd_packed,
     macs_per_clock: {int8: [1 MAC, wp, p. 3]}}
memories: {hbm: {bandwidth: [1 TB/s, wp, p. 4]}}
operating_points: {slow: {tdp: [10 W, wp, p. 5]}}
"""


@pytest.fixture
def acme(specs):
    """10 SM × 500 MAC × 2 op/MAC × 1 GHz = 10 TOP/s in FP16, rated for 20 W."""
    specs.write("acme/one", ACME)
    return Registry((specs.root,)).get("acme/one")


def pj(low, typical, high):
    return Coefficient(low * 1e-12, typical * 1e-12, high * 1e-12, "a guess")


def check(hardware, *, each=(0.5, 1, 2), idle=(2, 3, 4), unit="tensor_core", precision="fp16", left_out=()):
    """A load that takes 5, 10 or 20 W in its 10 TOP/s of arithmetic, 4 W of HBM at 1 TB/s, and 2, 3 or 4 W idle."""
    load = Load(hardware, (hardware.unit(unit),), precision)
    limit = hardware.facts["tdp"]
    low, typical, high = idle
    powers = (
        PowerTerm("arithmetic", "compute", load.peak_ops_per_s, "op", pj(*each)),
        PowerTerm("hbm", "memory", 1e12, "B", pj(4, 4, 4)),
        PowerTerm("idle power", "static", 1.0, "s", Coefficient(low, typical, high, "idle", (limit,))),
    )
    return PowerCheck(load=load, limit=limit, powers=powers, left_out=left_out)


def section(answer, heading):
    (found,) = [one for one in answer.sections if one.heading == heading]
    return found


def test_a_ratio_beside_the_limit_shows_its_side():
    ratios = (0.85, 1, 1.003, 0.9968, 1.46, 0.994)
    assert [ratio_shown(ratio) for ratio in ratios] == ["0.85", "1.00", "1.003", "0.9968", "1.46", "0.99"]


def test_a_load_that_fits_keeps_its_clock_and_another_gets_the_one_that_would(acme):
    # 20 W less 7 W of memory and idle power leave 13 W: 13/26 of 1 GHz for 2.6 pJ/op, and nothing where 16 W are idle
    assert fitting_clock(check(acme)) == "nominal"
    assert fitting_clock(check(acme, each=(0.5, 1.3, 2))) == "nominal"  # 13 + 4 + 3 W, the limit itself
    assert fitting_clock(check(acme, each=(0.5, 2.6, 3))) == "500 MHz"
    assert fitting_clock(check(acme, idle=(2, 16, 17))) == "—"


def test_the_hardest_load_cannot_be_sustained_else_takes_the_most(acme):
    # lows of 11, 21 and 6.5 W against 20 W, with ratios of 0.85, 1.1 and 1.35
    usual, refuted = check(acme), check(acme, each=(1.5, 1.5, 1.5))
    high = check(acme, each=(0.05, 2, 3))
    assert (refuted.verdict, high.verdict) == ("cannot sustain", "undecided")
    assert hardest([usual, high, refuted]) is refuted
    assert hardest([usual, high]) is high
    lower = check(acme, each=(0.4, 1, 2))
    assert hardest([lower, usual]) is hardest([usual, lower]) is usual  # equal but for the lowest


def test_one_load_of_each_device_and_point_is_listed_highest_ratio_first(acme):
    slow = acme.at("slow")  # rated for 10 W
    loads = [check(acme), check(acme, each=(0.5, 1.2, 2)), check(slow)]
    assert hardest_loads(loads) == [loads[2], loads[1]]


def test_verdicts_are_counted_and_the_undecided_above_the_limit_are_told(acme):
    sustained, above = check(acme, each=(0.5, 0.6, 0.7)), check(acme, each=(0.5, 2, 3))
    at_the_limit = check(acme, each=(0.5, 1.3, 2))
    refuted = check(acme, each=(2, 2, 2))
    assert list(told([sustained, check(acme), above, at_the_limit, refuted])) == [
        "Most demanding loads of 5 devices and modes: sustains 1, cannot sustain 1, undecided 3",
        "1 of the 3 undecided have a typical power above the limit",
    ]
    assert len(list(told([sustained, refuted]))) == 1


# ---- the answer for one device


def test_one_device_is_taken_apart_by_its_hardest_load(acme):
    found = tdp_registry.answer([check(acme), check(acme, each=(0.5, 2.6, 3))], "fp16")
    assert (found.title, found.subtitle) == ("Power of acme/one", "the printed peak within the printed power, fp16")
    assert section(found, "Verdict").sentences == (
        "tensor_core fp16 of acme/one: undecided at its peak; typically 33 W of 20 W, 1.65 of the limit (0.55 … 1.90)",
        "Lowest power 11 W: arithmetic 5 W (read), hbm 4 W (read), idle power 2 W (quoted)",
    )
    # 20 W / 10 TOP/s = 2 pJ/op
    assert section(found, "Loads").table.rows == (
        ("tensor_core", "fp16", "33 W", "1.65", "0.55 … 1.90", "undecided", "2", "500 MHz"),
        ("tensor_core", "fp16", "17 W", "0.85", "0.55 … 1.40", "undecided", "2", "nominal"),
    )
    assert section(found, "Parts, tensor_core fp16").table.rows == (
        ("arithmetic", "10 TOP/s", "2.6 pJ/op", "5 W", "26 W", "30 W"),
        ("hbm", "1 TB/s", "4 pJ/B", "4 W", "4 W", "4 W"),
        ("idle power", "", "3 W", "2 W", "3 W", "4 W"),
        ("all", "", "", "11 W", "33 W", "38 W"),
    )
    limit = ("limit", "20 W", "quoted", "White paper, p. 1")
    assert section(found, "Sources, tensor_core fp16").table.rows == (("idle power", *limit[1:]), limit)
    assert section(found, "Sensitivity, tensor_core fp16").sentences == (
        "Compute alone reaches 20 W at 2 pJ/op, 4 pJ/MAC; typical: 2.6 pJ/op, 5.2 pJ/MAC",
        "The typical power equals the limit at 500 MHz, 0.50 of its clock of 1 GHz; power scales with the clock here; "
        "a lower voltage would save more",
    )


def test_a_device_whose_memory_and_idle_power_reach_the_limit_fits_at_no_clock(acme):
    found = tdp_registry.answer([check(acme, idle=(2, 16, 17))])
    assert section(found, "Sensitivity, tensor_core fp16").sentences[1].startswith("The typical power fits at no clock")


def test_bars_show_the_interval_over_the_limit_and_the_causes_of_the_typical_power(acme):
    found = tdp_registry.answer([check(acme)])
    (interval,) = section(found, "Power relative to the limit").bars
    assert [(part.name, pytest.approx(part.value), part.shown) for part in interval.parts] == [
        ("lowest", 0.55, "0.55"),
        ("to typical", 0.30, "0.30"),
        ("to highest", 0.55, "0.55"),
    ]
    (causes,) = section(found, "Typical power by cause, tensor_core fp16").bars
    assert [(part.name, part.shown) for part in causes.parts] == [
        ("arithmetic", "10 W"),
        ("hbm", "4 W"),
        ("idle power", "3 W"),
    ]


def test_the_record_has_every_load_in_base_units(acme):
    nothing = UnknownPower(acme, "no datapath is known", Load(acme, (acme.unit("helper"),), "int8"))
    found = tdp_registry.answer([check(acme, each=(0.5, 2.6, 3), left_out=("a term",)), nothing], unit="tensor_core")
    record = found.record
    assert (record.precision, record.unit) == (None, "tensor_core")
    assert record.verdicts == {"sustains": 0, "cannot sustain": 0, "undecided": 1}
    (load,) = record.loads
    assert (load.device, load.name, load.kind, load.operating_point) == ("acme/one", "Acme One", "gpu", None)
    assert (load.peak_ops_per_s, load.limit_w, load.limit) == (10e12, 20.0, "tdp")
    assert (load.clock_hz, load.fitting_clock_hz) == (1e9, pytest.approx(0.5e9))
    arithmetic, _, idle = load.powers
    assert (arithmetic.low_w, arithmetic.typical_w, arithmetic.high_w) == pytest.approx((5, 26, 30))
    assert (arithmetic.each_low_j, arithmetic.each_j, arithmetic.each_high_j) == pytest.approx((5e-13, 2.6e-12, 3e-12))
    assert idle.sources[0].model_dump() == {
        "fact": "tdp", "value": "20 W", "document": "White paper", "where": "p. 1", "grade": "quoted",
    }  # fmt: skip
    (unknown,) = record.not_known
    assert (unknown.unit, unknown.precision, unknown.reason) == ("helper", "int8", "no datapath is known")
    rows = found.listing.records()
    assert [(row["left_out"], row["not_known"]) for row in rows] == [("a term", None), (None, "no datapath is known")]


# ---- the answer for many devices


def test_many_devices_are_a_table_of_their_hardest_loads(acme):
    slow, silent = acme.at("slow"), UnknownPower(acme.at("slow"), "no rate of a unit is known")
    found = tdp_registry.answer([check(acme), check(slow, each=(0.3, 0.3, 0.3)), silent])
    assert found.title == "Power of 2 of 2 devices"
    assert section(found, "Verdicts").sentences[0].startswith("Most demanding loads of 2 devices and modes")
    # 3 + 4 + 3 W of 10 W are the limit itself
    assert section(found, "Devices").table.rows == (
        ("acme/one at slow", "fp16", "10 W", "10 W", "1.00", "0.90 … 1.10", "undecided"),
        ("acme/one", "fp16", "20 W", "17 W", "0.85", "0.55 … 1.40", "undecided"),
    )
    assert [bar.label for bar in section(found, "Power relative to the limit").bars] == ["acme/one at slow", "acme/one"]
    assert section(found, "Not known").sentences == ("no rate of a unit is known: acme/one at slow",)


def test_devices_of_which_nothing_is_known_are_still_counted(acme):
    found = tdp_registry.answer([UnknownPower(acme, "no process node is known")])
    assert found.title == "Power of 0 of 1 device"
    assert [one.heading for one in found.sections] == ["Not known", "How to read it"]
    assert found.record.not_known[0].unit is None


def test_a_unit_that_a_network_would_not_run_on_is_named(acme):
    found = tdp_registry.answer(
        [check(acme, unit="helper", precision="int8"), check(acme.at("slow"), precision="int8")]
    )
    assert {row[1] for row in section(found, "Devices").table.rows} == {"int8", "int8 helper"}


def test_terms_that_are_not_counted_are_said_once_with_their_devices(acme):
    term, slow = "idle power is not counted", acme.at("slow")
    found = tdp_registry.answer([check(acme, left_out=(term,)), check(slow, left_out=(term, "another"))])
    assert section(found, "Not known").sentences == (f"{term}: acme/one at slow, acme/one", "another: acme/one at slow")


@pytest.mark.parametrize("number", [8, 9])
def test_more_than_eight_devices_with_an_unknown_load_are_only_counted(acme, number):
    devices = [replace(acme, id=f"acme/n{place}") for place in range(number)]
    load = Load(acme, (acme.unit("helper"),), "int8")
    found = tdp_registry.answer([UnknownPower(one, "no datapath", load) for one in devices])
    listed = ", ".join(f"acme/n{place}" for place in range(number))
    assert section(found, "Not known").sentences == (f"no datapath: {listed if number == 8 else '9 devices'}",)
    whole = tdp_registry.answer([UnknownPower(one, "no power limit is known") for one in devices])
    assert section(whole, "Not known").sentences == (f"no power limit is known: {listed}",)
