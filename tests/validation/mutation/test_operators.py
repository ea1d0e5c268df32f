"""Quantities: every figure of a small device by hand, and what facts move on every shipped one."""

import math

import pytest

from pytest_rooflint.mutation.operators import OPERATORS, mutations, quantities
from rooflint.hardware.registry import Registry

BODY = """\
process: [4 nm, wp, p]
launched: [2022, wp, p]
tdp: [300 W, wp, p]
powers: {idle: [20 W, wp, p]}
parts: {gcd: [2, wp, p]}
clocks: {base: [900 MHz, wp, p]}
launch_overhead: [5 µs, wp, p]
units:
  core:
    group: SM
    groups: [10, wp, p]
    per_group: [4, wp, p]
    clock: [1000 MHz, wp, p]
    macs_per_clock: {fp16: [256 MAC, wp, p]}
    sparsity: {fp16: [2, wp, p]}
memories:
  hbm: {capacity: [80 GB, wp, p], bus: [1024 bit, wp, p], pin_rate: [2 Gbit/s, wp, p]}
caches: {l2: {capacity: [50 MB, wp, p]}}
links: {ring: {count: [6, wp, p], rate: [25 GB/s, wp, p]}}
operating_points:
  low: {units.core.clock: [500 MHz, wp, p]}
"""


def test_every_figure_has_a_name_and_a_value(specs):
    device = {
        "core groups": 10,
        "core per_group": 4,
        "core clock": 1e9,
        "core macs_per_clock.fp16": 256,
        "core sparsity.fp16": 2,
        "peak core fp16": 10 * 4 * 256 * 2 * 1e9,
        "peak core fp16 sparse": 10 * 4 * 256 * 2 * 1e9 * 2,
        "capacity hbm": 80e9,
        "bandwidth hbm": 1024 / 8 * 2e9,
        "caches.l2.capacity": 50e6,
        "link ring": 6 * 25e9 * 2,
        "tdp": 300,
        "powers.idle": 20,
        "parts.gcd": 2,
        "clocks.base": 900e6,
        "launch_overhead": 5e-6,
        "process": 4e-9,
    }
    slow = {"core clock": 5e8, "peak core fp16": device["peak core fp16"] / 2}
    slow["peak core fp16 sparse"] = device["peak core fp16 sparse"] / 2
    low = {f"{name} @low": slow.get(name, value) for name, value in device.items()}
    assert quantities(specs.device(BODY)) == pytest.approx(device | low)


def test_what_a_vendor_does_not_disclose_is_no_figure(specs):
    hidden = BODY.replace("    groups: [10, wp, p]\n", "") + "undisclosed: {units.core.groups: nobody says it}\n"
    found = quantities(specs.device(hidden))
    assert "core clock" in found
    assert not any(name.startswith("peak") for name in found)


@pytest.mark.slow
def test_twice_a_fact_moves_some_figure_unless_it_is_the_year_or_error_correction():
    registry = Registry()
    for name in registry.ids():
        device = registry.get(name)
        before = quantities(device)
        for path, fact in device.facts.items():
            after = quantities(device.with_facts({path: fact.with_value(2 * fact.value)}))
            moved = {figure for figure, value in before.items() if after[figure] != pytest.approx(value, rel=1e-9)}
            assert bool(moved) is (path != "launched" and not path.endswith(".ecc")), f"{name} {path}"


@pytest.mark.slow
def test_a_fact_stands_in_a_figure_at_most_once():
    # what makes doubling a fact tell for every other value: each figure goes with it, against it, or not at all
    registry = Registry()
    for name in registry.ids():
        device = registry.get(name)
        before = quantities(device)
        for path, fact in device.facts.items():
            after = quantities(device.with_facts({path: fact.with_value(3 * fact.value)}))
            ratios = {round(after[figure] / value, 9) for figure, value in before.items()}
            assert ratios <= {1, 3}, f"{name} {path}"


# ---- Mutations: every class by hand on a small device, and what must be true of those of every shipped fact

REGISTRY = Registry()

HEAD = """\
name: One
kind: gpu
architecture: acme/die
sources: {wp: {document: White paper, grade: quoted}}
"""
DIE = """\
name: Die
kind: gpu
sources: {wp: {document: White paper, grade: quoted}}
units:
  core:
    group: SM
    per_group: [4, wp, p]
    macs_per_clock: {fp16: [256 MAC, wp, p], int8: [512 MAC, wp, p], tf32: [96 MAC, wp, p]}
    sparsity: {fp16: [2, wp, p]}
"""
OTHER = """\
name: Other
kind: gpu
sources: {wp: {document: White paper, grade: quoted}}
units:
  core: {group: SM, per_group: [7, wp, p], macs_per_clock: {fp16: [11 MAC, wp, p]}}
"""
ONE = """\
tdp: [300 W, wp, p]
powers: {typical: [210 W, wp, p]}
clocks: {base: [1095 MHz, wp, p], boost: [1755 MHz, wp, p]}
units:
  core: {groups: [114, wp, p], clock: [1620 MHz, wp, p]}
  lane:
    group: SM
    groups: [57, wp, p]
    per_group: [64, wp, p]
    clock: [1700 MHz, wp, p]
    macs_per_clock: {fp16: [3 MAC, wp, p], fp32: [1 MAC, wp, p]}
memories:
  hbm: {capacity: [80 GB, wp, p], bus: [5120 bit, wp, p], pin_rate: [3.2 Gbit/s, wp, p]}
  ddr: {bandwidth: [204.8 GB/s, wp, p]}
caches: {l2: {capacity: [50 MiB, wp, p]}}
links: {ring: {count: [6, wp, p], rate: [25 GB/s, wp, p]}}
operating_points:
  low: {tdp: [150 W, wp, p], units.core.clock: [810.5 MHz, wp, p]}
  high: {tdp: [350 W, wp, p]}
"""
TWO = """\
tdp: [700 W, wp, p]
units:
  core: {groups: [132, wp, p], clock: [1830 MHz, wp, p]}
"""


@pytest.fixture
def shelf(specs):
    """One architecture with two devices, and another architecture."""
    specs.write("acme/die", DIE, section="architectures")
    specs.write("acme/other", OTHER, section="architectures")
    specs.write("acme/one", HEAD + ONE)
    specs.write("acme/two", HEAD + TWO)
    return specs.registry()


@pytest.fixture
def message(shelf):
    """`message(path, class)`: what that operator makes of a fact of acme/one, at an operating point if one is named.

    A class counts where it is the first that gives a value, and where it is a further one.
    """

    def find(path, name, mode=None):
        device = shelf.get("acme/one")
        fact = device.operating_points[mode][path] if mode else device.facts[path]
        return {
            mutation.fact.display
            for mutation in mutations(fact, device, shelf).accepted
            if name in (mutation.operator, *mutation.also)
        }

    return find


FP16, CLOCK, GROUPS = "units.core.macs_per_clock.fp16", "units.core.clock", "units.core.groups"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "path", "values"),
    [
        ("sparse-for-dense", FP16, {"512 MAC"}),  # × 2
        ("sparse-for-dense", "units.core.macs_per_clock.int8", set()),  # no sparsity there
        ("mac-op", FP16, {"512 MAC", "128 MAC"}),
        ("mac-op", CLOCK, set()),
        ("memory-clock", "memories.hbm.pin_rate", {"1.6 Gbit/s"}),
        ("memory-clock", "memories.hbm.bus", set()),
        ("bits-bytes", "memories.hbm.pin_rate", {"25.6 Gbit/s", "0.4 Gbit/s"}),
        ("bits-bytes", "memories.hbm.bus", {"40960 bit", "640 bit"}),
        ("bits-bytes", "memories.ddr.bandwidth", {"1638.4 GB/s", "25.6 GB/s"}),
        ("bits-bytes", CLOCK, set()),
        ("direction", "links.ring.rate", {"50 GB/s", "12.5 GB/s"}),
        ("direction", "memories.ddr.bandwidth", set()),
        ("si-iec", "memories.hbm.capacity", {"80 GiB"}),
        ("si-iec", "caches.l2.capacity", {"50 MB"}),
        ("si-iec", "memories.hbm.pin_rate", {"3.2 Gibit/s"}),
        ("si-iec", "memories.ddr.bandwidth", {"204.8 GiB/s"}),
        ("si-iec", "memories.hbm.bus", set()),  # no prefix
        ("other-precision", FP16, {"512 MAC", "96 MAC"}),
        ("counted-twice", FP16, {"1024 MAC"}),  # × 4
        ("counted-twice", "units.lane.macs_per_clock.fp32", {"64 MAC"}),
        ("fuller-die", GROUPS, {"132"}),
        ("fuller-die", "tdp", set()),
        ("other-sku", GROUPS, {"132"}),
        ("other-sku", CLOCK, {"1830 MHz"}),
        ("other-sku", "tdp", {"700 W"}),
        ("other-mode", "tdp", {"150 W", "350 W"}),
        ("other-mode", CLOCK, {"810.5 MHz"}),
        ("other-clock", CLOCK, {"1095 MHz", "1755 MHz", "1700 MHz"}),
        ("other-clock", "clocks.base", {"1620 MHz", "1755 MHz", "1700 MHz"}),
        ("other-clock", "memories.hbm.pin_rate", set()),
        ("other-field", GROUPS, {"57", "4"}),  # another unit's count, its own units per group
        ("other-field", "units.lane.per_group", {"57", "4"}),
        ("other-field", FP16, {"3 MAC"}),  # another unit's rate in that precision
        ("other-field", "memories.hbm.capacity", {"50 MiB"}),
        ("other-field", "tdp", {"210 W"}),
        ("other-field", CLOCK, set()),  # clocks have a class of their own
        ("other-architecture", FP16, {"11 MAC"}),
        ("other-architecture", "units.core.per_group", {"7"}),
        ("other-architecture", CLOCK, set()),
        ("prefix", "memories.hbm.capacity", {"80000 GB", "0.08 GB"}),
        ("prefix", GROUPS, set()),  # a count has no unit
        ("factor-2", "tdp", {"600 W", "150 W"}),
        ("factor-4", CLOCK, {"6480 MHz", "405 MHz"}),
        ("factor-16", "tdp", {"4800 W", "18.75 W"}),
        ("factor-2", GROUPS, {"228", "57"}),
        ("factor-4", GROUPS, {"456"}),  # 28.5 SM do not exist
        ("digit", GROUPS, {"115", "113", "14", "11", "141"}),
        ("digit", "tdp", {"301 W", "299 W", "30 W"}),  # 00 W and 030 W nobody writes
        ("digit", "memories.hbm.pin_rate", {"3.3 Gbit/s", "3.1 Gbit/s", "3 Gbit/s"}),  # and not .2
    ],
)
def test_a_class_of_slips_makes_these_values_of_a_fact(message, name, path, values):
    assert message(path, name) == values


def test_a_fact_of_an_operating_point_is_confused_with_what_holds_there(message):
    assert message(CLOCK, "other-mode", mode="low") == {"1620 MHz"}
    assert message("tdp", "other-mode", mode="low") == {"300 W", "350 W"}
    assert message(CLOCK, "other-clock", mode="low") == {"1095 MHz", "1755 MHz", "1700 MHz"}
    assert message(CLOCK, "digit", mode="low") >= {"810.6 MHz", "810.4 MHz", "180.5 MHz", "810 MHz"}


def test_a_value_is_planted_once_under_its_most_telling_class(shelf):
    device = shelf.get("acme/one")
    (double,) = [
        mutation
        for mutation in mutations(device.facts[FP16], device, shelf).accepted
        if mutation.fact.display == "512 MAC"
    ]
    # × 2 is also what a MAC for an op makes, and the INT8 rate
    assert double.operator == "sparse-for-dense"
    assert double.also == ("mac-op", "other-precision", "factor-2")
    assert double.fact.value == 512


def test_what_the_schema_refuses_is_counted_and_not_planted(shelf):
    device = shelf.get("acme/one")
    found = mutations(device.facts[GROUPS], device, shelf)
    assert found.refused == ("factor-4", "factor-16", "removed")  # 28.5 and 7.125 SM, and a unit in no group
    assert all(mutation.fact.value == int(mutation.fact.value) for mutation in found.accepted)


def test_an_architecture_is_asked_like_a_device(shelf):
    die = shelf.architecture("acme/die").as_hardware()
    found = {mutation.fact.display: mutation.operator for mutation in mutations(die.facts[FP16], die, shelf).accepted}
    assert found["11 MAC"] == "other-architecture"
    assert found["96 MAC"] == "other-precision"


def test_a_slipped_fact_stays_where_it_was_and_says_what_a_file_would_say(shelf):
    device = shelf.get("acme/one")
    fact = device.facts["memories.hbm.capacity"]
    (mutation,) = [mutation for mutation in mutations(fact, device, shelf).accepted if mutation.operator == "si-iec"]
    assert (mutation.fact.path, mutation.fact.file, mutation.fact.line) == (fact.path, fact.file, fact.line)
    assert mutation.fact.source == fact.source
    assert mutation.fact.value == 80 * 2**30
    assert mutation.text == "GiB is read as GB"


def shipped():
    for name in (*REGISTRY.ids(), *REGISTRY.system_files):
        device = REGISTRY.get(name)
        points = (fact for overlay in device.operating_points.values() for fact in overlay.values())
        yield from ((fact, device) for fact in (*device.facts.values(), *points) if fact.file == device.file)
    for name in REGISTRY.architecture_files:
        die = REGISTRY.architecture(name).as_hardware()
        yield from ((fact, die) for fact in die.facts.values())


@pytest.mark.slow
def test_slips_of_shipped_facts_are_other_values_each_once_in_the_same_order_each_time():
    count = 0
    for fact, hardware in shipped():
        found = mutations(fact, hardware, REGISTRY)
        values = [mutation.fact.value for mutation in found.accepted if mutation.fact]
        assert len(found.accepted) - len(values) == sum(one.operator == "removed" for one in found.accepted) <= 1
        assert not any(math.isclose(value, fact.value, rel_tol=1e-9) for value in values)
        assert len({f"{value:.12g}" for value in values}) == len(values)
        assert {mutation.operator for mutation in found.accepted} | set(found.refused) <= set(OPERATORS)
        count += len(values)
    assert count > 10_000
    fact, hardware = next(iter(shipped()))
    assert mutations(fact, hardware, REGISTRY) == mutations(fact, hardware, Registry())


@pytest.mark.slow
def test_every_class_occurs_among_the_shipped_facts():
    found = {
        mutation.operator for fact, hardware in shipped() for mutation in mutations(fact, hardware, REGISTRY).accepted
    }
    assert found == set(OPERATORS)
