"""A table of latencies against its slow twins: kernel by kernel, and one prediction for each machine and batch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflint.basis import Energies
from rooflint.coefficients import Coefficients
from rooflint.errors import RooflintError
from rooflint.latency_table import Machines, latencies_s
from rooflint.launching import overhead
from rooflint.prediction import FREE, Setting, predict
from rooflint.processor import working_peak_ops_per_s
from rooflint.roofline import kernel_time_s
from rooflint.specs import Registry
from rooflint.spread import UnknownCoefficientError
from rooflint.workload import Op, Workload, gemm
from rooflint.workload_tables import load_workload

REGISTRY = Registry()
COEFFICIENTS = Coefficients(REGISTRY)
ENERGIES = Energies(COEFFICIENTS)

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
        [predict(device, work.at_batch(batch), ENERGIES, setting).latency_s for device in able] for batch in (1, 8)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)


def able_in(compute):
    """A dozen devices of all kinds, so that nobody waits for all of them."""
    found = []
    for device in REGISTRY.readable():
        try:
            working_peak_ops_per_s(device, compute)
            device.main_memory()
        except RooflintError:
            continue
        found.append(device)
    kinds = {device.kind for device in found}
    some = found[:: max(1, len(found) // 8)] + [next(one for one in found if one.kind == kind) for kind in kinds]
    assert {overhead(one, COEFFICIENTS, "stream") is None for one in some} == {True, False}
    return some


def test_a_fused_network_has_the_latency_of_its_prediction():
    t4, work = REGISTRY.get("nvidia/t4"), load_workload("torchvision/resnet18")
    setting = Setting("fp16", "fp32", fuse=True)
    found = latencies_s(Machines.of([t4], setting, COEFFICIENTS), work.fused(), [1, 8], "fp32")
    expected = [predict(t4, work.at_batch(batch), ENERGIES, setting).latency_s for batch in (1, 8)]
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12, atol=0)


def test_every_kernel_pays_for_its_launch():
    t4, work = REGISTRY.get("nvidia/t4"), gemm(64, 64, 64)
    free, paid = (
        latencies_s(Machines.of([t4], Setting("fp16", launch=launch), COEFFICIENTS), work, [1], "fp16")[0, 0]
        for launch in (FREE, "stream")
    )
    each = COEFFICIENTS.launch_overhead(t4, "stream").typical
    assert each > 0
    assert paid - free == pytest.approx(each, rel=1e-9, abs=0)


def test_a_way_of_launching_that_there_is_not_is_refused():
    with pytest.raises(UnknownCoefficientError, match="unknown way of launching 'rocket'"):
        Machines.of([REGISTRY.get("nvidia/t4")], Setting("fp16", launch="rocket"), COEFFICIENTS)


def test_a_machine_that_cannot_is_refused():
    with pytest.raises(RooflintError, match="does not support fp8"):
        Machines.of([REGISTRY.get("nvidia/t4")], Setting("fp8"), COEFFICIENTS)
