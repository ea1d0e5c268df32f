"""Control: which events an architecture has, how often, and that none is counted in two terms."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.coefficients.library import Coefficients
from rooflint.coefficients.ranges import Coefficient, UnknownCoefficientError, of_fact
from rooflint.energy.model import Energies, EnergyError, EnergyModel
from rooflint.energy.terms import GROUPS, Energy, Term, control_terms, energy_of
from rooflint.hardware.registry import Registry
from rooflint.mapping.allocate import allocate, chip_bytes
from rooflint.workloads.builders import gemm, matrix_op, mlp
from rooflint.workloads.ops import Op
from rooflint.workloads.workload import Workload


def near(value):
    """Energies of single events are far below the absolute tolerance that approx has by default."""
    return pytest.approx(value, rel=1e-9, abs=0)


REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
sizes = st.integers(1, 600)


def terms(device, work, compute):
    """By name; what is computed in is stored in, too."""
    hardware = REGISTRY.get(device)
    allocation = allocate(hardware, work, compute=compute)
    inside = chip_bytes(allocation, work, compute)
    found = control_terms(EnergyModel(hardware, ENERGIES, compute, compute), work, allocation, inside)
    return {one.name: one for one in found}


def counts(device, work, compute):
    return {name: one.counts.tolist() for name, one in terms(device, work, compute).items()}


def elementwise(ops):
    return Workload.from_ops("one", [Op("relu", "relu", 0, ops, ops, 0, ops)])


# ---- GPUs


def test_a_tensor_core_takes_an_instruction_for_what_it_does_in_a_clock_and_a_warp_for_four():
    # A100: 256 MAC of FP16 a clock: 4096³ / 256 = 268 435 456 steps, a quarter of that in warps
    found = counts("nvidia/a100-sxm4-80gb", gemm(4096, 4096, 4096), "fp16")
    assert found["instructions"] == [4096**3 / 256]
    assert found["warp scheduling"] == [4096**3 / 256 / 4]


def test_the_energy_of_a_gpu_whose_spec_does_not_say_the_threads_of_a_warp_is_not_known():
    hardware = REGISTRY.get("nvidia/t4")
    work = gemm(64, 64, 64)
    allocation = allocate(hardware, work, compute="fp16")
    facts = {path: fact for path, fact in hardware.facts.items() if path != "warp_threads.SM"}
    model = EnergyModel(replace(hardware, facts=facts), ENERGIES, "fp16", "fp16")
    with pytest.raises(EnergyError, match=r"t4\.yaml:\d+  nvidia/t4: want 'warp_threads: \{SM: .*found none"):
        control_terms(model, work, allocation, np.zeros(1))


@pytest.mark.parametrize(("device", "compute", "macs"), [("nvidia/t4", "fp16", 64), ("nvidia/t4", "int8", 512)])
def test_a_step_is_never_smaller_than_the_one_whose_energy_was_printed(device, compute, macs):
    # T4: 64 MAC of FP16 a clock, and 128 of INT8
    assert counts(device, gemm(1024, 1024, 1024), compute)["instructions"] == [1024**3 / macs]


def test_a_cuda_core_takes_an_instruction_for_each_mac_and_a_warp_for_32():
    found = counts("nvidia/a100-sxm4-80gb", gemm(256, 256, 256), "fp32")
    assert found["instructions"] == [256**3]
    assert found["warp scheduling"] == [256**3 / 32]


def test_a_slow_rate_makes_no_more_instructions():
    # GTX 1070: a CUDA core does an FP16 MAC in 64 clocks, and it is one instruction
    assert counts("nvidia/gtx-1070", gemm(64, 64, 64), "fp16")["instructions"] == [64**3]


def test_what_is_no_mac_takes_an_instruction_of_a_lane_on_a_tensor_core_device_too():
    # 1 000 000 lanes, 31 250 warps
    found = counts("nvidia/a100-sxm4-80gb", elementwise(1_000_000), "fp16")
    assert found["instructions"] == [1_000_000]
    assert found["warp scheduling"] == [31_250]


def test_coherence_is_of_requests_of_128_bytes_on_the_chip():
    # 1 000 000 elements in and out, 2 B each: 4 000 000 / 128 = 31 250
    assert counts("nvidia/a100-sxm4-80gb", elementwise(1_000_000), "fp16")["coherence"] == [31_250]


def test_an_instruction_of_a_gpu_is_carried_to_its_node():
    # 30 pJ at 45 nm over 4.6 / 1.69 at 7 nm; on a GH100 of 4 nm times 1.3 / 1.8, too
    a100 = terms("nvidia/a100-sxm4-80gb", gemm(64, 64, 64), "fp16")["instructions"]
    h100 = terms("nvidia/h100-sxm5-80gb", gemm(64, 64, 64), "fp16")["instructions"]
    assert a100.each.typical == near(30e-12 * 1.69 / 4.6)
    assert h100.each.typical == near(30e-12 * 1.69 / 4.6 * 1.3 / 1.8)


def test_of_a_warp_only_its_scheduling_is_added():
    # 0.5 for the scheduler and 0.3 pJ for the scoreboard at 4 nm; addresses and operands are in the instruction
    found = terms("nvidia/h100-sxm5-80gb", gemm(64, 64, 64), "fp16")["warp scheduling"]
    assert found.each.typical == near(0.8e-12)


def test_events_of_a_gpu_that_are_counted_together_cover_nothing_twice():
    covers = [ENERGIES.events("gpu").spec.events[name].covers for name in ("instruction", "schedule", "coherence")]
    assert len(set().union(*covers)) == sum(map(len, covers))


# ---- CPUs


def test_a_core_takes_an_instruction_for_the_macs_of_a_port():
    # Xeon 8490H: 16 MAC of FP32 a port and clock
    assert counts("intel/xeon-8490h", gemm(256, 256, 256), "fp32") == {"instructions": [256**3 / 16]}


def test_an_instruction_of_a_core_is_as_measured_and_at_the_least_that_of_a_simple_core():
    # 148 to 286 pJ, middle 217, at no node; 70 pJ at 45 nm, at 7 nm 70 × 1.69 / 4.6
    for device in ("ampere/altra-max-m128-30", "intel/i7-12700k"):
        each = terms(device, gemm(8, 8, 8), "fp32")["instructions"].each
        assert each.typical == near(217e-12)
        assert each.high == near(286e-12)
        assert each.low == near(70e-12 * 1.69 / 4.6)


# ---- systolic arrays and tiles


def test_a_systolic_array_has_no_instruction_no_scheduling_and_no_coherence():
    for device, compute in (("google/tpu-v1", "int8"), ("google/tpu-v3", "bf16"), ("google/tpu-v4", "bf16")):
        found = terms(device, gemm(1024, 1024, 1024), compute)
        assert set(found) == {"weights into the array", "rows into the array", "accumulators"}
        assert {one.group for one in found.values()} == {"memory"}


def test_what_an_array_is_fed_is_counted_by_its_side():
    # TPU v4, 128 × 128, (300 × 200) · (200 × 500): 200 × 500 weights; rows 300 × 200 for each of ⌈500 / 128⌉ = 4
    # arrays across; 300 × 500 sums for each of ⌈200 / 128⌉ = 2 along the sum
    assert counts("google/tpu-v4", gemm(300, 500, 200), "bf16") == {
        "weights into the array": [200 * 500],
        "rows into the array": [300 * 200 * 4],
        "accumulators": [300 * 500 * 2],
    }


def test_what_is_no_product_never_enters_an_array():
    assert set(map(tuple, counts("google/tpu-v4", elementwise(1000), "bf16").values())) == {(0.0,)}


@given(st.lists(st.tuples(sizes, sizes, sizes, st.integers(1, 3)), min_size=1, max_size=4))
def test_the_feed_of_arrays_is_that_of_a_walk_over_them(shapes):
    side = 128
    rows = [
        matrix_op(f"{place}", "matmul", (m, n, k, groups), (groups * m * k, groups * n * k, groups * m * n))
        for place, (m, n, k, groups) in enumerate(shapes)
    ]
    work = Workload.from_ops("one", [Op("relu", "relu", 0, 5, 5, 0, 5), *rows])
    slow = [(0, 0, 0)]
    for m, n, k, groups in shapes:
        weights = streamed = sums = 0
        for left in range(0, n, side):
            for top in range(0, k, side):
                wide, deep = min(side, n - left), min(side, k - top)
                weights, streamed, sums = weights + wide * deep, streamed + m * deep, sums + m * wide
        slow.append((groups * weights, groups * streamed, groups * sums))
    assert list(zip(*counts("google/tpu-v4", work, "bf16").values(), strict=True)) == slow


def test_what_a_tile_reads_enters_it_as_often_as_it_is_read():
    # KPU-T256: tiles of 16 × 16 outputs; 64 × 64 × 64 has 4 down and 4 across: 2 × 4 × 64² elements, 64² leave
    found = counts("stillwater/kpu-t256", gemm(64, 64, 64), "int8")
    assert found["domain tracking"] == [2 * 64**3]
    assert found["injection"] == [2 * 4 * 64**2]
    assert found["extraction"] == [64**2]


@given(sizes, sizes, sizes)
def test_no_less_enters_a_tile_than_there_is(m, n, k):
    work = gemm(m, n, k)
    (injected,) = counts("stillwater/kpu-t256", work, "int8")["injection"]
    assert injected >= m * k + n * k


# ---- what nobody knows


def test_a_kind_without_events_says_so():
    with pytest.raises(UnknownCoefficientError, match="no control events are known of devices of kind npu"):
        terms("intel/gaudi-2", gemm(8, 8, 8), "bf16")


# ---- laws


@given(sizes, sizes, sizes, st.sampled_from((("nvidia/a100-sxm4-80gb", "fp16"), ("intel/xeon-8490h", "bf16"))))
def test_no_op_is_done_without_an_instruction(m, n, k, where):
    device, compute = where
    work = gemm(m, n, k)
    (found,) = counts(device, work, compute)["instructions"]
    assert 1 <= found <= math.prod((m, n, k))


@given(sizes, sizes, sizes)
def test_counts_are_those_of_each_op_whatever_stands_beside_it(m, n, k):
    alone = [gemm(m, n, k), gemm(n, k, m)]
    rows = [op._replace(name=str(place)) for place, work in enumerate(alone) for op in work.rows()]
    for device, compute in (("nvidia/t4", "fp16"), ("google/tpu-v4", "bf16"), ("stillwater/kpu-t64", "int8")):
        both = counts(device, Workload.from_ops("both", rows), compute)
        each = [counts(device, work, compute) for work in alone]
        assert both == {name: each[0][name] + each[1][name] for name in both}


# ---- Terms: what is said of an energy is said of its terms, and they add up to it


(QUOTED,) = Coefficients(Registry()).memory("hbm2").energy("device").best.facts
(ESTIMATE,) = Coefficients(Registry()).process("7nm").energy("op", "fp32").best.facts


def term(name, group, counts, *ends, facts=()):
    low, typical, high = ends if len(ends) == 3 else ends * 3
    return Term(name, group, np.array(counts, dtype=np.float64), "op", Coefficient(low, typical, high, name, facts))


ENERGY = Energy(
    (
        term("arithmetic", "compute", [10, 20], 1, 2, 3, facts=(QUOTED,)),
        term("datapath", "compute", [10, 20], 0, 1, 2, facts=(ESTIMATE, QUOTED)),
        term("idle power", "static", [5, 0], 4),
    )
)


@st.composite
def energies(draw):
    ops = draw(st.integers(1, 5))
    counts = st.lists(st.floats(0, 1e15), min_size=ops, max_size=ops)
    ends = st.lists(st.floats(1e-15, 1e3), min_size=3, max_size=3).map(sorted)
    group = st.sampled_from(GROUPS)
    chosen = draw(st.lists(st.tuples(group, counts, ends), min_size=1, max_size=6))
    return Energy(tuple(term(str(place), *one[:2], *one[2]) for place, one in enumerate(chosen)))


def test_a_term_is_its_count_times_what_one_costs():
    (arithmetic, _, _) = ENERGY.terms
    assert arithmetic.energy_j.tolist() == [20, 40]
    assert arithmetic.total_j == 60


def test_terms_add_up_per_op_per_group_and_in_all():
    # first op: 10 × 2 + 10 × 1 + 5 × 4 = 50; second: 20 × 2 + 20 × 1 = 60
    assert ENERGY.energy_j.tolist() == [50, 60]
    assert ENERGY.total_j == 110
    assert ENERGY.groups() == {"compute": 90, "static": 20}
    assert ENERGY.of_group("control") == 0


def test_its_ends_are_all_terms_at_one_end():
    # 30 × 1 + 30 × 0 + 20 and 30 × 3 + 30 × 2 + 20
    assert ENERGY.ends_j == (50, 170)


def test_it_rests_on_each_fact_once_and_is_as_good_as_the_weakest():
    assert ENERGY.facts == (QUOTED, ESTIMATE)
    assert ENERGY.grade == "estimate"
    assert Energy((Term("one", "memory", np.ones(1), "B", of_fact(QUOTED, "one")),)).grade == "quoted"


@given(energies())
def test_parts_sum_to_the_whole_however_one_adds(energy):
    slow = sum(count * one.each.typical for one in energy.terms for count in one.counts.tolist())
    assert energy.total_j == near(slow)
    assert energy.energy_j.sum() == near(slow)
    assert sum(energy.groups().values()) == near(slow)
    assert sum(map(energy.of_group, GROUPS)) == near(slow)


@given(energies())
def test_the_whole_lies_between_its_ends(energy):
    low, high = energy.ends_j
    assert 0 <= low <= energy.total_j * (1 + 1e-12)
    assert energy.total_j <= high * (1 + 1e-12)


# ---- the energy of a workload: one product of 256 × 1024 × 1024 with a bias


def spent(device, compute):
    hardware, work = REGISTRY.get(device), mlp([1024, 1024]).at_batch(256)
    allocation = allocate(hardware, work, compute=compute)
    return energy_of(hardware, work, allocation, np.full(1, 1e-5), ENERGIES, storage=compute)


def test_the_energy_of_a_gpu_is_of_arithmetic_datapath_memories_control_and_time():
    terms = {one.name: one for one in spent("nvidia/t4", "fp16").terms}
    assert [(name, one.group) for name, one in terms.items()] == [
        ("arithmetic", "compute"),
        ("datapath", "compute"),
        ("off-chip memory", "memory"),
        ("on-chip memory", "memory"),
        ("instructions", "control"),
        ("warp scheduling", "control"),
        ("coherence", "control"),
        ("idle power", "static"),
    ]
    # half of (0.34 + 0.16) pJ at 7 nm × 2.5 / 1.8, and what is left of 2.5 pJ × 0.5 × 0.85 × 1.4
    assert terms["arithmetic"].total_j == near(2 * 256 * 1024**2 * 0.25e-12 * 2.5 / 1.8)
    whole = terms["arithmetic"].total_j + terms["datapath"].total_j
    assert whole == near(2 * 256 * 1024**2 * 2.5e-12 * 0.5 * 0.85 * 1.4)
    # weights, bias, input and output once, at 60 pJ/B; 36 W for 10 µs
    assert terms["off-chip memory"].total_j == near(2 * (1024**2 + 1024 + 2 * 256 * 1024) * 60e-12)
    assert terms["idle power"].total_j == near(36e-5)


def test_cores_read_the_operands_of_each_lane_from_l1():
    terms = {one.name: one for one in spent("intel/xeon-8490h", "int8").terms}
    assert list(terms)[3:5] == ["on-chip memory", "L1"]
    assert terms["L1"].counts.tolist() == [2**24]  # 256 × 1024² MAC, a byte for 16 of them
    assert "warp scheduling" not in terms


def test_what_nobody_knows_of_a_kind_is_left_out_in_words():
    found = spent("intel/gaudi-2", "bf16")
    assert {one.group for one in found.terms} == {"compute", "memory"}
    assert found.left_out == (
        "control of the architecture is not counted: no control events are known of devices of kind npu",
        "idle power is not counted: no idle power of the kind npu is known in any state",
    )


def test_a_device_with_an_unknown_memory_has_no_energy_and_is_named():
    with pytest.raises(UnknownCoefficientError, match="apple/m1: unknown memory 'lpddr4x'"):
        spent("apple/m1", "fp32")
