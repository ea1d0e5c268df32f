"""Power in the evidence: the hardest load of each device at each point, and why some have none."""

import pytest

from pytest_rooflint.evidence.devices import power
from rooflint.answers.tdp_registry import answer
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.energy.power import survey


def power_of(repository):
    suite = repository.suite()
    return power([suite.registry.get(name) for name in suite.devices()], suite.registry).model_dump(by_alias=True)


def test_a_run_says_it_of_each_device_at_each_point(tiny):
    found = tiny.evidence("-k", "count")["power"]
    assert found["schema"] == "rooflint-power/2"
    assert [(load["device"], load["at"]) for load in found["loads"]] == [("acme/x1", "low"), ("acme/x1", None)]
    assert found["not_known"] == []
    assert sum(found["verdicts"].values()) == 2


def test_a_load_stands_beside_its_limit(small):
    low, own = power_of(small)["loads"]
    assert (own["unit"], own["precision"], own["known"], own["unknown"]) == ("mac_array", "int8", 2, 0)
    assert own["limit"] == {"path": "tdp", "value": 15.0, "display": "15 W"}
    # 15 W / (4 × 4096 MAC × 2 op/MAC × 1 GHz) = 0.4578 pJ/op
    assert own["exhausting_j_per_op"] == pytest.approx(0.4578e-12, rel=1e-4)
    assert own["exhausting_display"] == "0.458"
    # 7 W at half the clock
    assert low["exhausting_j_per_op"] / own["exhausting_j_per_op"] == pytest.approx(7 / 15 * 2)
    assert own["low_ratio"] <= own["ratio"] <= own["high_ratio"]
    assert own["ratio_display"] == f"{own['ratio']:.2f}"


def test_the_sentences_are_those_of_the_command(small):
    suite = small.suite()
    device, energies = suite.registry.get("acme/x1"), Energies(Coefficients(suite.registry))
    points = [device, *map(device.at, device.operating_points)]
    verdicts = answer([one for point in points for one in survey(point, energies)]).sections[0]
    found = power_of(small)
    assert found["sentences"] == list(verdicts.sentences)
    assert "undecided 2" in found["sentences"][0]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("process: [7 nm, brief, p. 1]\n", "no process node is known"),
        ("tdp: [15 W, brief, p. 1]\n", "no power limit is known"),
    ],
)
def test_a_point_without_an_answer_says_why(small, line, reason):
    small.edit("specs/hardware/acme/x1.yaml", line, "")
    found = power_of(small)
    assert found["not_known"][0] == {"device": "acme/x1", "at": None, "reason": reason}
    # the mode has a limit of its own, and no process of its own
    assert len(found["loads"]) + len(found["not_known"]) == 2
    assert len(found["loads"]) == (reason == "no power limit is known")


def test_a_file_of_energies_that_cannot_be_read_is_a_reason(small):
    small.write("specs/process/7nm.yaml", "mac: [\n")
    found = power_of(small)
    assert found["loads"] == found["sentences"] == []
    assert {row["at"] for row in found["not_known"]} == {None, "low"}
    assert all(row["reason"].startswith("specs/process/7nm.yaml:") for row in found["not_known"])


def test_a_repository_without_devices_has_no_loads(repository):
    suite = repository.suite()
    found = power([], suite.registry)
    assert (found.loads, found.not_known, found.sentences) == ([], [], [])


def test_every_shipped_device_has_a_load_or_a_reason_at_each_point(shipped_suite):
    registry = shipped_suite.registry
    devices = [registry.get(name) for name in shipped_suite.devices()]
    found = power(devices, registry)
    points = {(one.id, mode) for one in devices for mode in (None, *one.operating_points)}
    loads = [(load.device, load.at) for load in found.loads]
    missing = {(row.device, row.at) for row in found.not_known}
    assert len(loads) == len(set(loads))
    assert set(loads) | missing == points
    assert not set(loads) & missing
    ratios = [load.ratio for load in found.loads]
    assert ratios == sorted(ratios, reverse=True)
