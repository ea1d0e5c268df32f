"""Comparison: who wins, and that one device never stops the others."""

import pytest

from rooflint.basis import Energies
from rooflint.coefficients import Coefficients
from rooflint.comparison import WINS, compare, score_of
from rooflint.criteria import requirements
from rooflint.errors import RooflintError
from rooflint.hardware import Hardware
from rooflint.prediction import Setting
from rooflint.specs import Registry
from rooflint.workload_tables import load_workload

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
RESNET = load_workload("torchvision/resnet18")
FOUR = ("intel/xeon-8490h", "nvidia/h100-sxm5-80gb", "google/tpu-v4", "stillwater/kpu-t256")


def comparison(*devices, compute="bf16", **setting):
    return compare([REGISTRY.get(device) for device in devices], RESNET, ENERGIES, Setting(compute, **setting))


def test_contenders_keep_the_order_in_which_they_were_asked_for():
    assert [one.label for one in comparison(*FOUR).contenders] == list(FOUR)


def test_a_winner_has_the_least_of_all():
    found = comparison(*FOUR)
    for by in WINS:
        winner = found.winner(by)
        assert winner is not None
        assert score_of(winner.prediction, by) == min(score_of(one.prediction, by) for one in found.able)


def test_most_throughput_wins():
    found = comparison(*FOUR)
    most = max(found.able, key=lambda one: one.prediction.throughput_per_s)
    assert found.winner("throughput") is most


def test_balance_is_the_energy_delay_product():
    found = comparison(*FOUR).able[0].prediction
    assert score_of(found, "balance") == found.energy_per_sample_j * found.latency_s


def test_memory_is_a_tie_because_the_network_decides():
    found = comparison(*FOUR)
    assert found.tied("memory")
    assert not found.tied("latency")


def test_a_device_that_cannot_run_it_keeps_its_reason_and_stops_nobody():
    found = comparison("nvidia/t4", *FOUR)
    assert [one.label for one in found.able] == list(FOUR)
    refused = found.contenders[0]
    assert refused.refused.startswith("nvidia/t4 does not support bf16 (has: ")
    with pytest.raises(RooflintError, match="does not support bf16"):
        _ = refused.prediction


def test_nobody_wins_where_nobody_runs():
    found = comparison("nvidia/t4")
    assert found.able == ()
    assert set(found.winners().values()) == {None}


def test_every_device_of_the_registry_is_compared_or_has_a_reason():
    found = compare(list(REGISTRY.readable()), RESNET, ENERGIES, Setting("fp8"))
    assert len(found.contenders) == len(REGISTRY.ids())
    assert found.able
    for one in found.contenders:
        assert one.found or one.refused


def test_requirements_leave_those_that_meet_all():
    found = comparison(*FOUR)
    fastest = found.winner("latency")
    limit = fastest.prediction.latency_s * 1.001e6
    assert found.meets(requirements(f"latency<{limit}us")) == (fastest,)
    assert found.meets(requirements(f"latency<{limit}us,power<1W")) == ()


def test_an_operating_point_is_in_the_label():
    orin: Hardware = REGISTRY.get("nvidia/jetson-agx-orin-64gb")
    (one,) = compare([orin.at("30w")], RESNET, ENERGIES, Setting("int8")).contenders
    assert one.label == "nvidia/jetson-agx-orin-64gb at 30w"
    assert one.short == "jetson-agx-orin-64gb at 30w"
