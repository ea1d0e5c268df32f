"""Devices that read a file of coefficients: every device that it moves, and no others where that can be told."""

import random

import pytest

from pytest_rooflint.history.comparison import Difference
from pytest_rooflint.history.readers import readers
from pytest_rooflint.history.side import Specs
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


def reading(side: Specs, *files: str) -> set[str]:
    return set(readers(side, DEVICES, files))


def test_no_files_have_no_readers(shipped):
    assert reading(shipped) == set()


def test_a_node_is_read_by_the_devices_made_in_it(shipped):
    made = {name for name in DEVICES if shipped.devices[name].facts["process"].display == "12 nm"}
    assert made == {"nvidia/t4"}
    assert reading(shipped, "process/12nm.yaml") == made


@pytest.mark.parametrize("node", ["7nm", "45nm"])
def test_a_node_that_others_are_carried_over_from_is_read_by_all(shipped, node):
    assert reading(shipped, f"process/{node}.yaml") == set(DEVICES)


def test_a_node_for_which_events_are_printed_is_read_by_that_kind_of_processor(shipped):
    events = shipped.energies.coefficients.events("cpu").spec.events
    nodes = {one.node for event in events.values() for one in event.readings.values() if one.node}
    others = nodes - {"7nm", "45nm"}
    for node in others:
        assert "intel/xeon-8490h" in reading(shipped, f"process/{node}.yaml")


def test_events_are_read_by_their_kind_of_processor(shipped):
    gpus = {name for name in DEVICES if shipped.devices[name].kind == "gpu"}
    assert 0 < len(gpus) < len(DEVICES)
    assert reading(shipped, "events/gpu.yaml") == gpus


def test_a_memory_is_read_by_the_devices_that_have_it(shipped):
    assert reading(shipped, "memory/hbm3.yaml") == {"nvidia/h100-sxm5-80gb"}
    assert reading(shipped, "memory/hbm3.yaml", "process/12nm.yaml") == {"nvidia/h100-sxm5-80gb", "nvidia/t4"}


@pytest.mark.parametrize("file", ["launches.yaml", "circuits.yaml"])
def test_what_is_in_no_folder_is_read_by_all(shipped, file):
    assert reading(shipped, file) == set(DEVICES)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_whatever_a_coefficient_moves_reads_its_file(shipped, seed):
    coefficients = shipped.energies.coefficients
    random_ = random.Random(seed)
    file = random_.choice(coefficients.files(PACKAGED))
    fact = random_.choice(list(coefficients.facts(file).values()))
    changed = Energies(coefficients.with_facts(file, {fact.path: fact.with_value(3 * fact.value)}))
    devices = [shipped.devices[name] for name in DEVICES]
    old, new = record(devices, shipped.works, shipped.energies), record(devices, shipped.works, changed)
    moved = {one.device for one in Difference.of(old, new).moves()}
    assert moved <= reading(shipped, file.relative_to(PACKAGED.resolve()).as_posix()), fact
