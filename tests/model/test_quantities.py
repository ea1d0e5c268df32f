"""Quantities: every figure of a small device by hand, and what facts move on every shipped one."""

import pytest

from rooflint.quantities import quantities
from rooflint.specs import Registry

BODY = """\
process: [4 nm, wp, p]
launched: [2022, wp, p]
tdp: [300 W, wp, p]
powers: {idle: [20 W, wp, p]}
parts: {gcd: [2, wp, p]}
clocks: {base: [900 MHz, wp, p]}
launch_overhead: [5 us, wp, p]
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
        "tdp": 300,
        "powers.idle": 20,
        "parts.gcd": 2,
        "clocks.base": 900e6,
        "launch_overhead": 5e-6,
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


def test_twice_a_fact_moves_some_figure_unless_it_is_the_process_or_the_year():
    registry = Registry()
    for name in registry.ids():
        device = registry.get(name)
        before = quantities(device)
        for path, fact in device.facts.items():
            after = quantities(device.with_facts({path: fact.with_value(2 * fact.value)}))
            moved = {figure for figure, value in before.items() if after[figure] != pytest.approx(value, rel=1e-9)}
            assert bool(moved) is (path not in ("process", "launched")), f"{name} {path}"


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
