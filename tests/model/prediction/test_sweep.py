"""Batch sweeps: the best batch, where the bound turns, and where one device overtakes another."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflint.base.errors import RooflintError
from rooflint.coefficients.launch_overheads import FREE
from rooflint.coefficients.library import Coefficients, launch_overhead
from rooflint.coefficients.ranges import UnknownCoefficientError
from rooflint.devices.hardware import working_peak_ops_per_s
from rooflint.devices.registry import Registry
from rooflint.energy.model import Energies
from rooflint.networks.ops import Op
from rooflint.networks.tables import load_workload
from rooflint.networks.workload import Workload, gemm
from rooflint.prediction.comparison import requirements
from rooflint.prediction.predict import Setting, predict
from rooflint.prediction.sweep import BATCHES, ENOUGH, Machines, crossovers, latencies_s, leader, sweep
from rooflint.roofline import kernel_time_s

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


# ---- A table of latencies against its slow twins: kernel by kernel, and one prediction for each machine and batch

REGISTRY_LATENCY_TABLE = Registry()
COEFFICIENTS = Coefficients(REGISTRY_LATENCY_TABLE)
ENERGIES_LATENCY_TABLE = Energies(COEFFICIENTS)

machines = st.lists(
    st.tuples(st.floats(1e9, 1e15), st.floats(1e9, 1e13), st.sampled_from([0.0, 1e-6, 5e-6])), min_size=1, max_size=6
).map(lambda rows: Machines(*(np.array(column) for column in zip(*rows, strict=True))))

rows = st.lists(
    st.tuples(*(st.integers(0, 10**6) for _ in range(4))).map(lambda sizes: [3 * size for size in sizes]),
    min_size=1,
    max_size=12,
)


def table(sizes):
    ops = [Op(f"op{place}", "relu", 0, *row) for place, row in enumerate(sizes)]
    return Workload.from_ops("random", ops, batch=3)


def slow(found, work, storage):
    """Kernel by kernel, machine by machine."""
    moved = work.bytes_moved(storage)
    return [
        sum(
            kernel_time_s(ops / peak, size / bandwidth, overhead)
            for ops, size in zip(work.ops.tolist(), moved.tolist(), strict=True)
        )
        for peak, bandwidth, overhead in zip(
            found.peak_ops_per_s, found.bandwidth_bytes_per_s, found.overhead_s, strict=True
        )
    ]


@given(machines, rows, st.sampled_from(["fp32", "int8", "int4"]))
@settings(max_examples=200, deadline=None)
def test_a_table_equals_its_slow_twin(found, sizes, storage):
    work = table(sizes)
    batches = [1, 3, 12]
    fast = latencies_s(found, work, batches, storage)
    assert fast.shape == (3, len(found))
    for row, batch in zip(fast, batches, strict=True):
        np.testing.assert_allclose(row, slow(found, work.at_batch(batch), storage), rtol=1e-12, atol=0)


def test_a_kernel_at_the_breakpoint_takes_both_times_once():
    # 8 op over 4 B on a machine of 2 op/s and 1 B/s: 4 s either way, not 8
    one = Machines(np.array([2.0]), np.array([1.0]), np.array([0.5]))
    work = Workload.from_ops("ridge", [Op("a", "relu", 0, 8, 2, 0, 2)])
    assert latencies_s(one, work, [1], "int8").tolist() == [[4.5]]


@pytest.mark.parametrize("name", ["torchvision/resnet18", "torchvision/vit_b_16"])
@pytest.mark.parametrize("compute", ["fp32", "int8"])
@pytest.mark.parametrize("launch", ["stream", "graph", FREE])
def test_devices_have_the_latency_of_their_predictions(name, compute, launch):
    setting, work = Setting(compute, launch=launch), load_workload(name)
    able = able_in(compute)
    found = latencies_s(Machines.of(able, setting, COEFFICIENTS), work, [1, 8], compute)
    expected = [
        [predict(device, work.at_batch(batch), ENERGIES_LATENCY_TABLE, setting).latency_s for device in able]
        for batch in (1, 8)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)


def able_in(compute):
    """A dozen devices of all kinds, so that nobody waits for all of them."""
    found = []
    for device in REGISTRY_LATENCY_TABLE.readable():
        try:
            working_peak_ops_per_s(device, compute)
            device.main_memory()
        except RooflintError:
            continue
        found.append(device)
    kinds = {device.kind for device in found}
    some = found[:: max(1, len(found) // 8)] + [next(one for one in found if one.kind == kind) for kind in kinds]
    assert {launch_overhead(one, COEFFICIENTS, "stream") is None for one in some} == {True, False}
    return some


def test_a_fused_network_has_the_latency_of_its_prediction():
    t4, work = REGISTRY_LATENCY_TABLE.get("nvidia/t4"), load_workload("torchvision/resnet18")
    setting = Setting("fp16", "fp32", fuse=True)
    found = latencies_s(Machines.of([t4], setting, COEFFICIENTS), work.fused(), [1, 8], "fp32")
    expected = [predict(t4, work.at_batch(batch), ENERGIES_LATENCY_TABLE, setting).latency_s for batch in (1, 8)]
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12, atol=0)


def test_every_kernel_pays_for_its_launch():
    t4, work = REGISTRY_LATENCY_TABLE.get("nvidia/t4"), gemm(64, 64, 64)
    free, paid = (
        latencies_s(Machines.of([t4], Setting("fp16", launch=launch), COEFFICIENTS), work, [1], "fp16")[0, 0]
        for launch in (FREE, "stream")
    )
    each = COEFFICIENTS.launch_overhead(t4, "stream").typical
    assert each > 0
    assert paid - free == pytest.approx(each, rel=1e-9, abs=0)


def test_a_way_of_launching_that_there_is_not_is_refused():
    with pytest.raises(UnknownCoefficientError, match="unknown launch mode 'rocket'"):
        Machines.of([REGISTRY_LATENCY_TABLE.get("nvidia/t4")], Setting("fp16", launch="rocket"), COEFFICIENTS)


def test_a_machine_that_cannot_is_refused():
    with pytest.raises(RooflintError, match="does not support fp8"):
        Machines.of([REGISTRY_LATENCY_TABLE.get("nvidia/t4")], Setting("fp8"), COEFFICIENTS)
