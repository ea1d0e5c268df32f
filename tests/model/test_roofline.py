"""The roofline: by hand on real devices, then its laws on all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from rooflint.hardware.device import UndisclosedError, UnsupportedError, working_units
from rooflint.hardware.registry import Registry
from rooflint.roofline import (
    Estimate,
    attainable_ops_per_s,
    breakpoint_ops_per_byte,
    compute_time_s,
    estimate,
    kernel_time_s,
    memory_time_s,
)
from rooflint.workloads.builders import conv2d, gemm, mlp

REGISTRY = Registry()
#: (device, precision) of everything that can be estimated.
PAIRS = [
    (device, precision)
    for device, hardware in ((device, REGISTRY.get(device)) for device in REGISTRY.ids())
    if any(memory.has_bandwidth for memory in hardware.memories.values())
    for precision in sorted({name for unit in hardware.units.values() for name in unit.precisions})
]
T4, H100 = REGISTRY.get("nvidia/t4"), REGISTRY.get("nvidia/h100-sxm5-80gb")
MLP = mlp([1024, 1024, 1024], batch=16)

positive = st.floats(1e-3, 1e15)


def about(value, rel=1e-12):
    return pytest.approx(value, rel=rel, abs=0)


# -------------------------------------------------------------------------------------------------------------- by hand


def test_the_breakpoint_is_peak_over_bandwidth():
    # T4, INT8: 130.2528e12 op/s / 320e9 B/s = 407.04 op/B
    assert breakpoint_ops_per_byte(130.2528e12, 320e9) == about(407.04)
    assert estimate(T4, MLP, compute="int8").breakpoint_ops_per_byte == about(407.04)


def test_left_of_the_breakpoint_memory_is_the_roof_and_right_of_it_the_peak():
    # 31 op/B × 320e9 B/s = 9.92e12 op/s; 1000 op/B would be 320e12, the peak is 130.25e12
    assert attainable_ops_per_s(31, 130.2528e12, 320e9) == about(9.92e12)
    assert attainable_ops_per_s(1000, 130.2528e12, 320e9) == 130.2528e12


def test_a_small_mlp_streams_its_weights():
    # 2 164 736 B / 320e9 B/s = 6.7648 µs; 67 108 864 op / 130.2528e12 op/s = 0.51522 µs
    t4 = estimate(T4, MLP, compute="int8")
    assert t4.memory_s.sum() == about(6.7648e-6)
    assert t4.compute_s.sum() == about(67_108_864 / 130.2528e12)
    assert t4.latency_s == about(6.7648e-6)
    assert t4.bound == "memory"
    # 67 108 864 op / 2 164 736 B = 31.0 op/B, far left of 407
    assert t4.intensity_ops_per_byte == about(67_108_864 / 2_164_736)
    # 0.51522 / 6.7648 = 7.6 %
    assert t4.efficiency == about(0.0761617, rel=1e-5)


def test_a_large_product_computes():
    # 2 × 8192³ op / 989.42976e12 op/s = 1.11126 ms; 3 × 8192² × 2 B / 3352.32e9 B/s = 0.12011 ms
    h100 = estimate(H100, gemm(8192, 8192, 8192), compute="fp16")
    assert h100.latency_s == about(2 * 8192**3 / 989.42976e12)
    assert h100.memory_s.sum() == about(3 * 8192**2 * 2 / 3352.32e9)
    assert h100.bound == "compute"
    assert h100.efficiency == about(1)


def test_storage_is_another_choice_than_compute():
    # FP16 weights take two bytes: 2 × 2 164 736 B / 320e9 B/s = 13.5296 µs, while INT8 computes
    t4 = estimate(T4, MLP, compute="int8", storage="fp16")
    assert (t4.compute, t4.storage) == ("int8", "fp16")
    assert t4.latency_s == about(13.5296e-6)
    assert t4.peak_ops_per_s == about(130.2528e12)


def test_storage_is_the_compute_precision_unless_said():
    assert estimate(T4, MLP, compute="fp16").storage == "fp16"


def test_a_launch_costs_its_overhead_once_a_kernel(specs):
    # two kernels, 5 µs each, over nothing else to speak of: 128e9 op/s and 1e12 B/s
    device = specs.device(
        "launch_overhead: [5 µs, wp, p]\n"
        "units: {tc: {group: SM, groups: [2, wp, p], per_group: [4, wp, p], clock: [1 GHz, wp, p],"
        " macs_per_clock: {fp16: [8 MAC, wp, p]}}}\n"
        "memories: {m: {bandwidth: [1 TB/s, wp, p]}}\n"
    )
    small = estimate(device, mlp([16, 16, 16], batch=1), compute="fp16")
    assert small.overhead_s == about(5e-6)
    assert small.latency_s == about(10e-6 + np.maximum(small.compute_s, small.memory_s).sum())
    assert small.bound == "launch"


def test_a_device_without_that_fact_launches_for_nothing():
    assert estimate(T4, MLP, compute="int8").overhead_s == 0


def test_unit_and_memory_can_be_chosen():
    # H100's CUDA cores in FP16: 132 × 128 × 2 × 2 × 1.98 GHz = 133.8 TFLOP/s
    chosen = estimate(H100, MLP, compute="fp16", unit=H100.unit("cuda_core"), memory=T4.memory("gddr6"))
    assert chosen.peak_ops_per_s == about(133.81632e12)
    assert chosen.bandwidth_bytes_per_s == about(320e9)


def test_what_cannot_be_estimated_is_refused():
    with pytest.raises(UnsupportedError, match="nvidia/t4 does not support fp8"):
        estimate(T4, MLP, compute="fp8")
    with pytest.raises(UndisclosedError, match="is undisclosed"):
        estimate(REGISTRY.get("hailo/hailo-8"), MLP, compute="int8")
    with pytest.raises(UnsupportedError, match="google/coral-edge-tpu has no memory with a known bandwidth"):
        estimate(REGISTRY.get("google/coral-edge-tpu"), MLP, compute="int8")


def test_what_waits_longest_is_what_bounds():
    def made(ops, moved, overhead):
        arrays = {"ops": np.array(ops, float), "bytes_moved": np.array(moved, float), "launches": np.ones(len(ops))}
        return Estimate("h", "w", "fp16", "fp16", 1.0, 1.0, overhead_s=overhead, **arrays)

    # three seconds of compute in one kernel against two of memory in another
    assert made([3, 1], [1, 2], 0).bound == "compute"
    # … and against five of memory
    assert made([3, 1], [1, 5], 0).bound == "memory"
    # two launches of four seconds are eight
    assert made([3, 1], [1, 5], 4).bound == "launch"
    assert made([3, 1], [1, 5], 4).kernel_s.tolist() == [7, 9]


# ----------------------------------------------------------------------------------------------------- laws of formulas


@given(positive, positive, positive)
def test_the_roof_is_never_above_the_peak_nor_above_the_bandwidth_line(intensity, peak, bandwidth):
    roof = attainable_ops_per_s(intensity, peak, bandwidth)
    assert roof <= peak
    assert roof <= intensity * bandwidth
    assert roof in (peak, intensity * bandwidth)


@given(positive, positive)
def test_at_the_breakpoint_both_roofs_meet(peak, bandwidth):
    breakpoint = breakpoint_ops_per_byte(peak, bandwidth)
    assert attainable_ops_per_s(breakpoint, peak, bandwidth) == about(peak)
    assert attainable_ops_per_s(breakpoint / 2, peak, bandwidth) == about(peak / 2)
    assert attainable_ops_per_s(breakpoint * 2, peak, bandwidth) == peak


@given(positive, positive, positive, st.floats(1, 1e3), st.sampled_from([0, 1, 2]))
def test_the_roof_never_falls_where_intensity_peak_or_bandwidth_grow(intensity, peak, bandwidth, factor, which):
    arguments = [intensity, peak, bandwidth]
    before = attainable_ops_per_s(*arguments)
    arguments[which] *= factor
    assert attainable_ops_per_s(*arguments) >= before


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 1e6))
def test_compute_and_memory_overlap_and_the_launch_does_not(compute, memory, overhead):
    kernel = kernel_time_s(compute, memory, overhead)
    assert max(compute, memory) <= kernel <= compute + memory + overhead
    assert kernel == max(compute, memory) + overhead


SOME = arrays.arrays(np.float64, 5, elements=positive)


@given(SOME, SOME, SOME)
def test_every_formula_works_on_arrays_as_on_their_elements(one, two, three):
    def each(formula, *columns):
        return [formula(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]

    for formula in (breakpoint_ops_per_byte, compute_time_s, memory_time_s):
        assert formula(one, two).tolist() == each(formula, one, two)
    for formula in (attainable_ops_per_s, kernel_time_s):
        assert formula(one, two, three).tolist() == each(formula, one, two, three)


# ------------------------------------------------------------------------------------------------ laws on every device

WORKLOADS = st.one_of(
    st.builds(gemm, *(st.integers(1, 4096) for _ in range(3))),
    st.builds(mlp, st.lists(st.integers(1, 4096), min_size=2, max_size=5), batch=st.integers(1, 256)),
    st.builds(
        lambda c_in, c_out, size: conv2d(c_in=c_in, h=size, w=size, c_out=c_out, kernel=3, padding=1),
        *(st.integers(1, 256), st.integers(1, 256), st.integers(3, 128)),
    ),
)


def faster(device, paths, factor=2.0):
    """The device with some facts multiplied."""
    return device.with_facts({path: device.facts[path].with_value(device.facts[path].value * factor) for path in paths})


def clocks_of(device, precision):
    """Paths of the clocks that the working units run a precision at."""
    return {unit.derivation(precision).facts[-1].path for unit in working_units(device, precision)}


@pytest.mark.slow
@given(st.sampled_from(PAIRS), WORKLOADS)
def test_attained_is_at_most_peak_and_at_most_what_memory_feeds(pair, workload):
    device, precision = REGISTRY.get(pair[0]), pair[1]
    found = estimate(device, workload, compute=precision)
    attained = found.ops.sum() / found.latency_s
    assert attained <= found.peak_ops_per_s * (1 + 1e-12)
    assert attained <= found.intensity_ops_per_byte * found.bandwidth_bytes_per_s * (1 + 1e-12)
    assert found.efficiency == about(attained / found.peak_ops_per_s)
    assert 0 < found.efficiency <= 1 + 1e-12


@given(st.sampled_from(PAIRS), WORKLOADS)
def test_latency_lies_between_the_larger_part_and_the_sum_of_the_parts(pair, workload):
    device, precision = REGISTRY.get(pair[0]), pair[1]
    found = estimate(device, workload, compute=precision)
    compute, memory = found.compute_s.sum(), found.memory_s.sum()
    overhead = found.overhead_s * len(workload.ops)
    assert max(compute, memory) * (1 - 1e-12) <= found.latency_s - overhead <= (compute + memory) * (1 + 1e-12)
    assert found.latency_s == about(found.kernel_s.sum())


@given(st.sampled_from(PAIRS), WORKLOADS, st.floats(1, 16))
def test_more_bandwidth_never_hurts(pair, workload, factor):
    device, precision = REGISTRY.get(pair[0]), pair[1]
    memory = device.main_memory()
    (path, *_) = [
        fact.path for fact in memory.derivation().facts if fact.path.rsplit(".", 1)[-1] in ("pin_rate", "bandwidth")
    ]
    before, after = (estimate(d, workload, compute=precision) for d in (device, faster(device, [path], factor)))
    assert after.bandwidth_bytes_per_s == about(before.bandwidth_bytes_per_s * factor)
    assert after.latency_s <= before.latency_s * (1 + 1e-12)
    assert after.compute_s.tolist() == before.compute_s.tolist()


@given(st.sampled_from(PAIRS), WORKLOADS)
def test_twice_the_clock_halves_compute_time_and_leaves_memory_time(pair, workload):
    device, precision = REGISTRY.get(pair[0]), pair[1]
    doubled = faster(device, clocks_of(device, precision))
    before, after = (estimate(d, workload, compute=precision) for d in (device, doubled))
    np.testing.assert_allclose(after.compute_s, before.compute_s / 2, rtol=1e-12)
    assert after.memory_s.tolist() == before.memory_s.tolist()
    assert after.latency_s <= before.latency_s * (1 + 1e-12)


@given(st.sampled_from(PAIRS), st.integers(1, 64), st.integers(1, 64))
def test_a_larger_batch_takes_no_less_time_and_no_more_per_sample(pair, one, other):
    device, precision = REGISTRY.get(pair[0]), pair[1]
    small, large = sorted((one, other))
    first, second = (estimate(device, MLP.at_batch(batch), compute=precision).latency_s for batch in (small, large))
    assert first <= second * (1 + 1e-12)
    assert second / large <= first / small * (1 + 1e-12)


@given(st.sampled_from(PAIRS), WORKLOADS)
def test_the_bound_is_the_larger_share_of_what_kernels_wait_for(pair, workload):
    # a kernel waits for the longer of its two halves; summed over the kernels, the larger share names the bound
    device, precision = REGISTRY.get(pair[0]), pair[1]
    found = estimate(device, workload, compute=precision)
    compute = found.compute_s[found.compute_s >= found.memory_s].sum()
    memory = found.memory_s[found.compute_s < found.memory_s].sum()
    if found.overhead_s == 0:
        assert found.bound == ("compute" if compute >= memory else "memory")


def test_a_kernel_at_the_breakpoint_counts_as_bound_by_compute():
    # 8 op / 2 op/s = 4 B / 1 B/s = 4 s
    one = Estimate("one", "one", "int8", "int8", 2.0, 1.0, np.array([8.0]), np.array([4.0]), 0.5, np.ones(1))
    assert one.waits_s == {"compute": 4.0, "memory": 0.0, "launch": 0.5}


@given(st.sampled_from(PAIRS), WORKLOADS)
def test_narrower_storage_never_hurts(pair, workload):
    device, precision = REGISTRY.get(pair[0]), pair[1]
    times = [
        estimate(device, workload, compute=precision, storage=s).latency_s for s in ("int4", "int8", "fp16", "fp32")
    ]
    assert times == sorted(times)


@given(WORKLOADS, st.sampled_from(PAIRS))
def test_an_estimate_is_the_slow_sum_over_its_ops(workload, pair):
    # the slow twin: one op after the other, in Python floats
    device, precision = REGISTRY.get(pair[0]), pair[1]
    found = estimate(device, workload, compute=precision)
    peak = sum(unit.peak_ops_per_s(precision) for unit in working_units(device, precision))
    bandwidth = device.main_memory().bandwidth_bytes_per_s
    total = 0.0
    for ops, moved in zip(workload.ops.tolist(), workload.bytes_moved(precision).tolist(), strict=True):
        total += max(ops / peak, moved / bandwidth) + found.overhead_s
    assert found.latency_s == about(total)
