"""EnergyModel: of each device its node, of each memory the fullest figure without the way over the chip."""

from dataclasses import replace
from pathlib import Path

import pytest

from rooflint.coefficients.library import Coefficients
from rooflint.coefficients.ranges import UnknownCoefficientError
from rooflint.energy.model import SCOPES, Energies, EnergyError, EnergyModel, idle_w, power_limit
from rooflint.hardware.registry import PACKAGED, Registry


def near(value):
    """Energies of single events are far below the absolute tolerance that approx has by default."""
    return pytest.approx(value, rel=1e-9, abs=0)


REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))


def test_an_access_is_that_of_the_device():
    # HBM2: 3.97 pJ/bit, 3.92 by another section; 13.11 of the path and 3.9 to 7.0 of nobody knows what are left
    found = ENERGIES.access("hbm2")
    assert found.basis == "hbm2 device"
    assert found.typical == near(3.97 * 8e-12)
    assert found.low == near(3.92 * 8e-12)
    assert found.high == near(3.97 * 8e-12)


@pytest.mark.parametrize(("memory", "scope"), [("ddr3", "core"), ("ddr4", "unstated"), ("hbm", "unstated")])
def test_where_no_document_has_the_device_the_next_best_is_taken_and_said(memory, scope):
    assert ENERGIES.access(memory).basis == f"{memory} {scope}"


def test_a_whole_access_goes_before_its_device(energies):
    energies.edit("memory/hbm9", "io: {scope: io, typical: [0.5", "io: {scope: access, typical: [4.5")
    assert Energies(energies.read()).access("hbm9").basis == "hbm9 access"


def test_the_way_over_the_chip_is_never_in_an_access():
    assert "path" not in SCOPES


@pytest.mark.parametrize("memory", ENERGIES.coefficients.ids("memory"))
def test_every_memory_that_we_ship_has_an_access(memory):
    found = ENERGIES.access(memory)
    assert 0 < found.low <= found.typical <= found.high
    # 1.8 to 21 pJ/bit, not per byte
    assert 1.8 * 8e-12 < found.typical < 21 * 8e-12


def test_a_memory_that_nobody_knows_is_said_to_be_unknown():
    with pytest.raises(
        UnknownCoefficientError,
        match=r"unknown memory 'lpddr4x'; nearest: .*; its energies go into specs/memory/lpddr4x",
    ):
        ENERGIES.access("lpddr4x")


def test_a_memory_of_which_only_a_part_is_known_is_none(energies):
    energies.edit("memory/hbm9", "guess: {scope: device", "guess: {scope: interface")
    energies.edit("memory/hbm9", "paper: {scope: device", "paper: {scope: interface")
    energies.edit("memory/hbm9", "table: {scope: unstated", "table: {scope: interface")
    with pytest.raises(UnknownCoefficientError, match="hbm9: no document gives the energy of an access"):
        Energies(energies.read()).access("hbm9")


def test_devices_of_one_node_share_what_was_worked_out_for_it():
    a100, v100 = REGISTRY.get("nvidia/a100-sxm4-80gb"), REGISTRY.get("nvidia/v100-sxm2-16gb")
    assert ENERGIES.node(a100) is ENERGIES.node(REGISTRY.get("nvidia/a100-pcie-40gb"))
    assert ENERGIES.node(a100).node == "7nm"
    assert ENERGIES.node(v100).node == "12nm"
    assert ENERGIES.events("gpu") is ENERGIES.events("gpu")
    assert ENERGIES.access("hbm2") is ENERGIES.access("hbm2")


def test_a_device_without_a_process_has_no_node_and_says_so():
    with pytest.raises(EnergyError, match="google/tpu-v5e: no process node is known, so no energy"):
        ENERGIES.node(REGISTRY.get("google/tpu-v5e"))
    mine = replace(REGISTRY.get("google/tpu-v5e"), file=Path("/mine/v5e.yaml"))
    with pytest.raises(EnergyError, match=r"so no energy; /mine/v5e.yaml may say 'process: \[7 nm, source, where\]'$"):
        ENERGIES.node(mine)


def test_the_unit_of_a_basis_is_the_one_that_does_most_of_the_work():
    assert EnergyModel(REGISTRY.get("nvidia/a100-sxm4-80gb"), ENERGIES, "fp16", "fp16").unit.name == "tensor_core"
    assert EnergyModel(REGISTRY.get("stillwater/kpu-t256"), ENERGIES, "int8", "int8").unit.name == "matrix_tile"


# ---- power at rest, and the limit


def test_what_was_measured_idle_goes_before_a_share_of_the_rated_power(energies):
    coefficients = energies.read()
    measured = energies.specs.device("tdp: [300 W, wp, p]\npowers: {idle: [20 W, wp, p]}\n")
    found = idle_w(measured, coefficients)
    assert (found.low, found.typical, found.high, found.basis) == (20, 20, 20, "idle power of the device")
    assert found.grade == "quoted"


def test_idle_power_is_else_the_share_of_devices_with_a_context(energies):
    # 50 to 60 W of 300; 30 W are without a context. Of 600 W these are 100 to 120 W
    coefficients = energies.read()
    found = idle_w(energies.specs.device("tdp: [600 W, wp, p]\n"), coefficients)
    assert (found.low, found.typical, found.high) == pytest.approx((100, 110, 120))
    assert found.basis == "gpu idle context, of 600 W rated power"
    assert found.grade == "estimate"  # of another device


def test_without_devices_that_have_a_context_any_share_will_do(energies):
    energies.edit("events/gpu", "busy: {state: context", "busy: {state: no_load")
    found = idle_w(energies.specs.device("tdp: [600 W, wp, p]\n"), energies.read())
    assert (found.low, found.high) == pytest.approx((60, 120))


@pytest.mark.parametrize(
    ("body", "watts"),
    [
        ("tdp: [100 W, wp, p]\npowers: {limit: [90 W, wp, p], measured_max: [120 W, wp, p]}\n", 100),
        ("powers: {measured_max: [120 W, wp, p], limit: [90 W, wp, p]}\n", 90),
        ("powers: {measured_max: [120 W, wp, p]}\n", 120),
        ("powers: {typical: [60 W, wp, p]}\n", None),
    ],
)
def test_the_limit_is_the_tdp_else_what_is_set_else_the_highest_that_was_measured(energies, body, watts):
    limit = power_limit(energies.specs.device(body))
    assert (limit and limit.value) == watts


def test_a_device_without_rated_power_has_no_idle_power(energies):
    device = energies.specs.device("clocks: {boost: [1 GHz, wp, p]}\n")
    with pytest.raises(EnergyError, match="acme/one has no rated power, so its idle power is not known"):
        idle_w(device, energies.read())


# ---- once for a registry


def test_energies_are_those_of_the_registry_that_reads_the_files():
    registry = Registry()
    fact = registry.get("nvidia/t4").facts["tdp"]
    planted = registry.with_fact(fact, fact.with_value(2 * fact.value))
    assert Energies.of(planted.with_fact(fact, fact)) is Energies.of(planted) is Energies.of(registry)
    assert Energies.of(Registry()) is not Energies.of(registry)


def test_energies_are_read_again_with_any_other_file_than_a_device(tmp_path):
    for name in ("silicon.yaml", "silicon_cores.yaml", "silicon_ops.yaml"):
        (tmp_path / name).write_text((PACKAGED / name).read_text(encoding="utf-8"), encoding="utf-8")
    registry = Registry.of((tmp_path,))
    first = Energies.of(registry)
    products = tmp_path / "silicon.yaml"
    text = products.read_text(encoding="utf-8").replace("value: [1.3, choice", "value: [2.6, choice")
    tried = Energies.of(registry.with_texts({products: text}))
    assert tried.silicon.products.graph_launch_us == 2 * first.silicon.products.graph_launch_us
    products.write_text(text, encoding="utf-8")
    again = Energies.of(registry.reread({products}))
    assert again.silicon.products.graph_launch_us == 2 * first.silicon.products.graph_launch_us
    assert Energies.of(registry.reread({registry.files["nvidia/t4"]})) is first
