"""Devices that look a coefficient up: every device that it moves, and few others."""

import random

import pytest

from pytest_rooflint.history.comparison import Difference
from pytest_rooflint.history.readers import every_kind, readers
from pytest_rooflint.history.side import Specs
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint.prediction.ledger import record

DEVICES = (
    "amd/mi250x", "google/tpu-v4", "intel/xeon-8490h", "nvidia/h100-sxm5-80gb", "nvidia/jetson-agx-orin-64gb",
    "nvidia/t4", "stillwater/kpu-t256", "ti/tms320c6678",
)  # fmt: skip


@pytest.fixture(scope="module")
def shipped():
    return Specs("the shipped specs", (PACKAGED,), Registry())


def facts(side: Specs, name: str):
    return side.energies.coefficients.facts(PACKAGED / name)


def reading(side: Specs, name: str, path: str) -> set[str]:
    return set(readers(side, DEVICES, {facts(side, name)[path].place}))


def test_no_places_have_no_readers(shipped):
    assert list(readers(shipped, DEVICES, set())) == []


def test_a_fact_that_no_prediction_uses_has_no_readers(shipped):
    assert reading(shipped, "process/7nm.yaml", "readings.tpu.multiply.int32") == set()


def test_a_node_is_read_by_the_devices_made_in_it(shipped):
    path = "readings.base.op.fp32"
    made = {name for name in DEVICES if shipped.devices[name].facts["process"].display == "12 nm"}
    assert made == {"nvidia/t4"}
    assert reading(shipped, "process/12nm.yaml", path) == made


def test_events_are_read_by_their_kind_of_processor(shipped):
    path = next(iter(facts(shipped, "events/gpu.yaml")))
    gpus = {name for name in DEVICES if shipped.devices[name].kind == "gpu"}
    assert reading(shipped, "events/gpu.yaml", path) == gpus


def test_one_table_has_an_op_of_each_kind(shipped):
    table = every_kind(shipped.works)
    kinds = [op.kind for op in table.work.rows()]
    assert len(kinds) == len(set(kinds))
    assert set(kinds) == {op.kind for one in shipped.works for op in one.work.rows()}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_whatever_a_coefficient_moves_has_looked_it_up(shipped, seed):
    coefficients = shipped.energies.coefficients
    random_ = random.Random(seed)
    file = random_.choice(coefficients.files(PACKAGED))
    fact = random_.choice(list(coefficients.facts(file).values()))
    changed = Energies(coefficients.with_facts(file, {fact.path: fact.with_value(3 * fact.value)}))
    devices = [shipped.devices[name] for name in DEVICES]
    old, new = record(devices, shipped.works, shipped.energies), record(devices, shipped.works, changed)
    moved = {one.device for one in Difference.of(old, new).moves()}
    assert moved <= set(readers(shipped, DEVICES, {fact.place})), fact


def test_a_read_coefficient_is_tracked_in_a_twin_alone(shipped):
    coefficients = Coefficients(Registry())
    file = PACKAGED / "launches.yaml"
    own = coefficients.facts(file)
    twin = coefficients.through(lambda facts: {path: fact.with_value(2 * fact.value) for path, fact in facts.items()})
    path = next(iter(own))
    assert twin.facts(file)[path].value == pytest.approx(2 * own[path].value)
    assert coefficients.facts(file)[path].value == own[path].value
