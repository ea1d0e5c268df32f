"""Coefficients of several roots by exact names, energies, launch overheads, and the laws that those we ship keep."""

from itertools import pairwise

import pytest

from rooflint.base.errors import InputError
from rooflint.base.precision import PRECISIONS
from rooflint.base.units import DIMENSIONLESS, JOULES, JOULES_PER_BYTE, JOULES_PER_BYTE_M, JOULES_PER_OP, SECONDS
from rooflint.coefficients.checks import size_of
from rooflint.coefficients.library import FREE, MODES, Coefficients, launch_overhead
from rooflint.coefficients.ranges import UnknownCoefficientError
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint.hardware.schema import CIRCUITS

SHIPPED = Coefficients(Registry())
NODES, MEMORIES = SHIPPED.ids("process"), SHIPPED.ids("memory")
ORDERED = sorted(NODES, key=lambda node: size_of(node) or 0)


# ---- doors


@pytest.mark.parametrize("name", ["45nm", "45 nm", " 45  nm "])
def test_a_node_is_found_by_its_exact_size(energies, name):
    assert energies.read().process(name).id == "45nm"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("9 nm", "unknown process '9nm'; nearest: 8nm, 10nm"),
        ("100nm", "unknown process '100nm'; nearest: 40nm, 45nm"),
        ("hopper", "unknown process 'hopper' (known: "),
    ],
)
def test_an_unknown_node_is_told_the_nearest_ones_and_nothing_is_interpolated(name, message):
    with pytest.raises(UnknownCoefficientError) as caught:
        SHIPPED.process(name)
    assert str(caught.value).startswith(message)


def test_an_unknown_memory_is_told_those_that_are_spelt_like_it():
    with pytest.raises(UnknownCoefficientError, match=r"unknown memory 'hbm2d'; nearest: .*\bhbm2\b"):
        SHIPPED.memory("hbm2d")
    with pytest.raises(UnknownCoefficientError, match=r"unknown memory 'sram' \(known: ddr3, ddr4, "):
        SHIPPED.memory("sram")


def test_a_root_before_the_packaged_one_wins_and_the_rest_is_still_there(energies):
    energies.edit("process/45nm", "[1.1 pJ/op", "[1.3 pJ/op")
    root = energies.read().registry.roots[0]
    layered = Coefficients(Registry((root, PACKAGED)))
    assert layered.process("45nm").energy("multiply", "fp16").typical == pytest.approx(1.3e-12, rel=1e-9, abs=0)
    assert layered.memory("hbm2").id == "hbm2"
    assert layered.circuits()["overhead"].file == root / "circuits.yaml"


def test_the_files_of_a_root_are_its_own(energies):
    root = energies.read().registry.roots[0]
    names = {file.name for file in Coefficients(Registry((root, PACKAGED))).files(root)}
    assert names == {"45nm.yaml", "hbm9.yaml", "gpu.yaml", "circuits.yaml", "launches.yaml"}


def test_a_root_without_factors_says_so(specs):
    with pytest.raises(UnknownCoefficientError, match=r"no circuits\.yaml in "):
        Coefficients(specs.registry()).circuits()


def test_a_text_stands_in_for_its_file(energies):
    registry = energies.read().registry
    file = registry.files_of("memory")["hbm9"]
    other = registry.with_texts({file: energies.texts["memory/hbm9"].replace("typical: [4 ", "typical: [4.5 ")})
    assert Coefficients(other).memory("hbm9").energy("device").typical == pytest.approx(4.5 * 8e-12, rel=1e-9, abs=0)


def test_a_file_that_is_no_mapping_is_refused(energies):
    energies.texts["memory/hbm9"] = "- a\n"
    with pytest.raises(InputError):
        energies.read().memory("hbm9")


# ---- what we ship


def test_every_process_of_a_shipped_device_has_its_node():
    registry = SHIPPED.registry
    used = {
        fact.display.replace(" ", "") for one in map(registry.get, registry.ids()) if (fact := one.facts.get("process"))
    }
    assert len(used) > 8
    assert used - set(NODES) == set()


@pytest.mark.parametrize("node", NODES)
def test_a_multiply_costs_more_than_an_add_and_wide_formats_more_than_narrow_ones(node):
    process = SHIPPED.process(node)
    found = {name: process.energy(*name.split()).typical for name in process.energies()}
    for name, value in found.items():
        kind, _, of = name.partition(" ")
        assert kind != "multiply" or value > found[f"add {of}"]
    for kind in ("add", "multiply"):
        wide = [found[f"{kind} {name}"] for name in ("int8", "bf16", "fp16", "fp32") if f"{kind} {name}" in found]
        assert all(low < high for low, high in pairwise(wide))


def test_energies_fall_with_the_node_each_kind_in_its_own_way():
    # the same figures at 45 and 7 nm: FP32 multiply 3.7 / 1.31 = 2.8, 8 KiB 10 / 7.5 = 1.33, 1 MiB 100 / 14 = 7.1
    old, new = SHIPPED.process("45nm"), SHIPPED.process("7nm")
    common = old.energies() & new.energies()
    falls = {name: old.energy(*name.split()).typical / new.energy(*name.split()).typical for name in common}
    assert min(falls.values()) > 1
    assert falls["multiply fp32"] == pytest.approx(2.82, abs=0.01)
    assert falls["sram kib8"] == pytest.approx(1.33, abs=0.01)
    assert falls["sram mib1"] == pytest.approx(7.14, abs=0.01)


def test_the_estimates_of_an_op_fall_with_every_node():
    having = [SHIPPED.process(node) for node in ORDERED if "op fp32" in SHIPPED.process(node).energies()]
    values = [process.energy("op", "fp32").typical for process in having]
    assert len(values) == 12
    assert all(low < high for low, high in pairwise(values))


def test_the_parts_of_hbm2_add_up_to_its_device_but_for_ecc():
    # 1.21 + 2.24 + 0.30 = 3.75; the paper's 3.92 has ECC in it, 3.97 is its round figure
    hbm2 = SHIPPED.memory("hbm2")
    parts = [hbm2.energy(part) for part in ("activation", "movement", "io")]
    total = sum(part.low for part in parts)
    assert total == sum(part.high for part in parts) == pytest.approx(3.75 * 8e-12, rel=1e-9, abs=0)
    assert total < hbm2.energy("device").low
    assert hbm2.energy("device").high < hbm2.energy("path").low


@pytest.mark.parametrize("kind", MEMORIES)
def test_a_word_of_memory_costs_far_more_than_a_multiply(kind):
    # 32 bit against an FP32 multiply of 7 nm: 2.5 × 32 = 80 pJ against 1.31
    memory = SHIPPED.memory(kind)
    low = min(memory.energy(one.scope).low for one in memory.spec.readings.values() if one.scope != "io")
    assert 4 * low > 10 * SHIPPED.process("7nm").energy("multiply", "fp32").typical


def test_every_circuit_of_the_specs_has_its_factor():
    factors = SHIPPED.circuits()
    circuits = {path.removeprefix("factors.") for path in factors if path.startswith("factors.")}
    precisions = {path.removeprefix("precisions.") for path in factors if path.startswith("precisions.")}
    assert circuits == set(CIRCUITS.__args__)
    assert precisions <= set(PRECISIONS)
    assert {fact.source.grade for fact in factors.values()} == {"estimate"}


DEVICE = """name: Acme One
kind: gpu
sources: {a: {document: Paper A, grade: quoted}}
tdp: [15 W, a, t. 1]
"""


@pytest.fixture
def asked(energies):
    """A device of a vendor, asked for its launch overhead."""

    def ask(mode, vendor="acme", extra=""):
        coefficients = energies.read()
        energies.specs.write(f"{vendor}/one", DEVICE + extra)
        return coefficients.launch_overhead(energies.specs.registry().get(f"{vendor}/one"), mode)

    return ask


def test_what_is_published_of_a_vendor_goes_before_what_is_of_any(asked):
    spread = asked("stream")
    assert (spread.low, spread.typical, spread.high) == pytest.approx((1e-6, 2.5e-6, 4e-6))
    assert spread.dimension == SECONDS
    assert asked("graph").typical == pytest.approx(0.5e-6)
    assert asked("graph", vendor="other").best.facts[0].where == "p. 2"


def test_the_fact_of_a_device_goes_before_all(asked):
    spread = asked("stream", extra="launch_overhead: [7 µs, a, p. 9]\n")
    assert spread.low == spread.typical == spread.high == pytest.approx(7e-6)
    assert spread.best.facts[0].where == "p. 9"


def test_nothing_is_made_up_where_nothing_is_published(asked):
    assert asked("synchronous") is None
    assert asked("stream", vendor="other") is None


def test_an_unknown_way_of_launching_is_refused_even_where_the_device_has_its_own(asked):
    for extra in ("", "launch_overhead: [7 µs, a, p. 9]\n"):
        with pytest.raises(UnknownCoefficientError, match=rf"unknown launch mode 'lazy' \(known: {', '.join(MODES)}\)"):
            asked("lazy", extra=extra)


def test_a_root_without_launches_says_so(specs):
    with pytest.raises(UnknownCoefficientError, match=r"no launches\.yaml in "):
        Coefficients(specs.registry()).launches()


def test_what_is_asked_of_one_architecture_is_not_answered_with_its_vendors(energies):
    launches = energies.read().launches()
    energies.specs.write("acme/one", DEVICE.replace("kind: gpu\n", "kind: gpu\narchitecture: acme/a1\n"))
    energies.specs.write("acme/a1", "name: A1\nkind: gpu\n", section="architectures")
    assert launches.taken_for(energies.specs.registry().get("acme/one"), "graph") is None
    shipped = Coefficients(Registry()).launches()
    found = shipped.taken_for(Registry().get("nvidia/h200-sxm-141gb"), "graph")
    assert (found.name, found.value) == ("bubbles", pytest.approx(1.3e-6))
    assert shipped.taken_for(Registry().get("nvidia/h200-sxm-141gb"), "stream") is None
    assert shipped.taken_for(Registry().get("google/tpu-v4"), "graph") is None


def test_architectures_that_a_launch_is_taken_for_exist():
    registry = Registry()
    spec = Coefficients(registry).launches().spec
    named = {
        architecture
        for owners in spec.launches.values()
        for modes in owners.values()
        for launch in modes.values()
        for reading in launch.readings.values()
        for architecture in reading.architectures
    }
    assert named
    assert named <= set(registry.architecture_files)


@pytest.fixture
def node(energies):
    return energies.read().process("45 nm")


@pytest.mark.parametrize(
    ("kind", "of", "value", "dimension"),
    [
        ("multiply", "fp16", 1.1e-12, JOULES_PER_OP),
        ("add", "int8", 0.03e-12, JOULES_PER_OP),
        ("sram", "kib8", 1.25e-12, JOULES_PER_BYTE),  # 10 pJ for 64 bit
        ("wire", "transition", 1.92e-9, JOULES_PER_BYTE_M),  # 0.24 pJ × 8 bit/B × 1000 mm/m
    ],
)
def test_an_energy_is_in_base_units(node, kind, of, value, dimension):
    found = node.energy(kind, of)
    assert found.typical == pytest.approx(value)
    assert found.dimension == dimension
    (fact,) = found.best.facts
    assert fact.source.document == "Paper A"


def test_a_node_says_what_it_has(node):
    assert node.energies() == {
        "add fp16",
        "add int8",
        "multiply fp16",
        "sram kib8",
        "wire random_bit",
        "wire transition",
    }
    with pytest.raises(UnknownCoefficientError, match=r"45nm has no energy 'multiply fp32' \(has: add fp16, add int8,"):
        node.energy("multiply", "fp32")
    with pytest.raises(UnknownCoefficientError):
        node.energy("relative_power", "fp16")


def test_a_memory_says_which_scopes_it_has(energies):
    memory = energies.read().memory("hbm9")
    with pytest.raises(UnknownCoefficientError, match=r"no energy of scope 'path' \(has: device, activation, movement"):
        memory.energy("path")
    with pytest.raises(UnknownCoefficientError, match=r"unknown scope 'devices' \(known: activation, movement, core"):
        memory.energy("devices")


# ---- Energies of events and shares of idle power, asked for by exact names, one node and one state at a time


@pytest.fixture
def events(energies):
    return energies.read().events("gpu")


def test_an_event_is_in_joules_at_the_node_of_its_best_reading(events):
    spread = events.energy("instruction")
    assert (spread.low, spread.typical, spread.high) == pytest.approx((20e-12, 30e-12, 40e-12), rel=1e-9, abs=0)
    assert spread.dimension == JOULES
    assert events.node("instruction") == "45nm"


def test_figures_of_several_nodes_are_never_in_one_spread(events):
    assert {one.node for one in events.spec.events["instruction"].readings.values()} == {"45nm", "7nm", None}
    names = {one.name for one in events.energy("instruction").readings}
    assert {events.spec.events["instruction"].readings[name].node for name in names} == {"45nm"}


def test_an_event_of_no_stated_node_says_so(events):
    assert events.node("hop") is None
    assert events.energy("hop").typical == pytest.approx(3e-12, rel=1e-9, abs=0)


def test_the_facts_of_an_event_are_in_reach(events):
    (fact,) = events.energy("fetch").best.facts
    assert (fact.source.document, fact.where, fact.display) == ("Paper A", "p. 1", "12 pJ")
    assert fact.path == "events.fetch.readings.paper.typical"


def test_idle_power_is_a_share_of_tdp_in_a_state(events, energies):
    # 50 and 60 W of 300 with a context, 30 W without
    spread = energies.read().events("gpu").idle_share("context")
    assert (spread.low, spread.typical, spread.high) == pytest.approx((1 / 6, 11 / 60, 0.2))
    assert spread.dimension == DIMENSIONLESS
    assert events.idle_share().low == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda events: events.energy("fetsch"),
            r"gpu has no event 'fetsch' \(has: instruction, fetch, operands, hop\)",
        ),
        (
            lambda events: events.idle_share("no_load"),
            r"no idle power of the kind gpu is known in state 'no_load' \(has: context, no_context\)",
        ),
        (lambda events: events.node("hup"), "gpu has no event 'hup'"),
    ],
)
def test_what_there_is_not_is_refused_with_what_there_is(events, ask, message):
    with pytest.raises(UnknownCoefficientError, match=message):
        ask(events)


def test_an_unknown_kind_of_processor_is_told_those_that_there_are(energies):
    with pytest.raises(UnknownCoefficientError, match="unknown kind of processor 'dpu'; nearest: gpu"):
        energies.read().events("dpu")


def test_a_kind_of_processor_without_idle_power_has_none_in_any_state(energies):
    start = energies.texts["events/gpu"].index("idle:\n")
    energies.texts["events/gpu"] = energies.texts["events/gpu"][:start]
    events = energies.read().events("gpu")
    with pytest.raises(UnknownCoefficientError, match=r"no idle power of the kind gpu is known in any state$"):
        events.idle_share()
    with pytest.raises(UnknownCoefficientError, match=r"no idle power of the kind gpu is known in state 'context'$"):
        events.idle_share("context")


# ---- Launches of other vendors, and files


def test_where_a_vendor_publishes_no_launch_that_of_another_of_the_kind_is_taken(energies):
    coefficients = energies.read()
    energies.specs.write("other/one", DEVICE)
    other = energies.specs.registry().get("other/one")
    assert coefficients.launch_overhead(other, "stream") is None
    found = launch_overhead(other, coefficients, "stream")
    assert (found.low, found.typical, found.high) == pytest.approx((1e-6, 2.5e-6, 4e-6))
    assert found.basis == "acme gpu stream launch"
    assert launch_overhead(other, coefficients, "graph").typical == pytest.approx(0.5e-6)
    assert launch_overhead(other, coefficients, FREE) is None
    assert launch_overhead(other, coefficients, "synchronous") is None


def test_a_kind_of_which_no_launch_is_published_has_none(energies):
    launches = energies.read().launches()
    assert launches.of_kind("npu", "stream") is None
    assert launches.of_kind("gpu", "synchronous") is None
    assert launches.of_kind("gpu", "stream").what == "acme gpu stream launch"


def test_the_files_of_a_root_are_those_of_sections_and_single_ones(energies):
    coefficients = energies.read()
    found = coefficients.files(energies.specs.root)
    names = {str(file.relative_to(energies.specs.root.resolve())) for file in found}
    assert names == {"process/45nm.yaml", "memory/hbm9.yaml", "events/gpu.yaml", "circuits.yaml", "launches.yaml"}


def test_other_facts_of_a_file_are_read_in_place_of_its_own(energies):
    coefficients = energies.read()
    file = energies.specs.root / "memory/hbm9.yaml"
    path = "readings.paper.typical"
    fact = coefficients.facts(file)[path]
    other = coefficients.with_facts(file, {path: fact.with_value(2 * fact.value)})
    paper = [one.memory("hbm9").energy("device").only("paper").typical for one in (coefficients, other)]
    assert paper == pytest.approx([4 * 8e-12, 8 * 8e-12], rel=1e-9, abs=0)
    assert other.facts(file)["readings.io.typical"] == coefficients.facts(file)["readings.io.typical"]
