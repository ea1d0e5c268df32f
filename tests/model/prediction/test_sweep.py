"""Batch sweeps: the best batch, where the bound turns, and where one device overtakes another."""

import pytest

from rooflint.coefficients.library import FREE, Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.prediction.comparison import requirements
from rooflint.prediction.predict import Setting
from rooflint.prediction.sweep import BATCHES, ENOUGH, crossovers, leader, sweep
from rooflint.workloads.tables import load_workload

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
RESNET = load_workload("torchvision/resnet18")


def swept(*devices, compute="bf16", batches=BATCHES, launch="stream", fuse=True):
    settings = [Setting(compute, fuse=fuse, launch=launch)]
    return sweep([REGISTRY.get(device) for device in devices], RESNET, ENERGIES, settings, batches)


(H100,) = swept("nvidia/h100-sxm5-80gb")


def test_batches_ascend_and_come_once():
    (found,) = swept("nvidia/h100-sxm5-80gb", batches=[8, 1, 8, 2])
    assert [one.batch for one in found.predictions] == [1, 2, 8]


def test_the_first_batch_has_an_efficiency_of_one_and_none_exceeds_it():
    efficiencies = [H100.efficiency(one) for one in H100.predictions]
    assert efficiencies[0] == 1
    assert all(0 < one <= 1 + 1e-12 for one in efficiencies)


def test_batch_efficiency_is_against_one_sample_whatever_was_asked_for():
    (late,) = swept("nvidia/h100-sxm5-80gb", batches=[8, 64])
    assert late.efficiency(late.at(64)) == H100.efficiency(H100.at(64))


def test_what_does_not_fit_is_no_best_batch():
    (found,) = swept("nvidia/jetson-orin-nano-4gb", compute="int8", batches=[1, 16, 4096])
    assert found.at(4096).fits is False
    assert found.best().batch == 16


def test_equal_devices_have_no_leader():
    found = swept("nvidia/a100-sxm4-80gb", "nvidia/a800-sxm4-80gb")
    assert leader(found, 1, "latency") is None


def test_the_best_batch_is_the_smallest_with_nearly_all_of_the_throughput():
    best, most = H100.best(), max(one.throughput_per_s for one in H100.predictions)
    assert best.throughput_per_s >= ENOUGH * most
    smaller = [one for one in H100.predictions if one.batch < best.batch]
    assert all(one.throughput_per_s < ENOUGH * most for one in smaller)


def test_a_bound_on_latency_makes_the_best_batch_smaller():
    free, bound = H100.best(), H100.best(requirements("latency<150us"))
    assert bound.batch < free.batch
    assert bound.latency_s < 150e-6
    assert H100.best(requirements("latency<1ns")) is None


def test_the_most_frugal_batch_has_the_least_energy():
    frugal = H100.most_frugal()
    assert frugal.energy_per_sample_j <= 1.01 * min(one.energy_per_sample_j for one in H100.predictions)


def test_a_turn_of_the_bound_has_both_sides():
    (one, two), *_ = H100.turns()
    assert one.bound != two.bound
    assert one.batch < two.batch


def test_a_device_that_cannot_run_it_has_a_reason_and_no_predictions():
    found = swept("nvidia/t4", "nvidia/h100-sxm5-80gb")
    assert found[0].predictions == ()
    assert "does not support bf16" in found[0].contender.refused
    assert found[0].best() is None
    assert found[1].predictions


def test_a_crossover_names_both_and_lies_between_neighbours():
    found = swept("nvidia/h100-sxm5-80gb", "google/tpu-v4")
    for cross in crossovers(found, "latency"):
        before = [one.at(cross.before).latency_s for one in found]
        after = [one.at(cross.after).latency_s for one in found]
        assert (before[0] < before[1]) != (after[0] < after[1])
    assert len(crossovers(found, "latency")) == 1


def test_a_device_that_is_better_in_everything_is_never_overtaken():
    assert crossovers(swept("nvidia/h100-sxm5-80gb", "nvidia/l4", launch=FREE), "latency") == ()


@pytest.mark.parametrize("by", ["latency", "energy", "throughput"])
def test_one_device_has_no_crossover(by):
    assert crossovers((H100,), by) == ()


def test_nearly_all_of_the_throughput_is_enough():
    (tpu,) = swept("google/tpu-v4")
    most = max(one.throughput_per_s for one in tpu.predictions)
    assert ENOUGH * most <= tpu.best().throughput_per_s < most
