"""Prediction: the identities that its figures obey on every device, and what it says where something is not known."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact
from rooflint.coefficients.library import FREE, Coefficients
from rooflint.coefficients.ranges import UnknownCoefficientError
from rooflint.energy.model import Energies
from rooflint.hardware.device import UnsupportedError
from rooflint.hardware.registry import Registry
from rooflint.prediction.predict import NotKnownError, Setting, predict
from rooflint.workloads.builders import mlp
from rooflint.workloads.networks import network_named
from rooflint.workloads.ops import Op
from rooflint.workloads.tables import load_workload
from rooflint.workloads.workload import Workload, WorkloadError

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
RESNET = load_workload("torchvision/resnet18")
PRECISIONS = ("fp32", "bf16", "fp16", "int8")


def prediction(device="nvidia/t4", work=RESNET, batch=1, mode=None, **setting):
    hardware = REGISTRY.get(device)
    chosen = Setting(**{"compute": "fp16", **setting})
    return predict(hardware.at(mode) if mode else hardware, work.at_batch(batch), ENERGIES, chosen)


def runs(device, compute):
    try:
        prediction(device, compute=compute)
    except RooflintError:
        return False
    return True


ABLE = [(device, compute) for device in REGISTRY.ids() for compute in PRECISIONS if runs(device, compute)]
questions = st.tuples(
    st.sampled_from(ABLE), st.sampled_from([1, 3, 16]), st.booleans(), st.sampled_from(["stream", FREE])
)


def asked(question):
    (device, compute), batch, fuse, launch = question
    return prediction(device, batch=batch, compute=compute, fuse=fuse, launch=launch)


def with_fact(hardware, path, factor):
    fact: Fact = hardware.facts[path]
    return hardware.with_facts({path: fact.with_value(fact.value * factor)})


# ---- by hand


def test_a_kernel_takes_the_longer_of_two_times_and_its_launch():
    # T4: 65.13 TFLOP/s FP16, 320 GB/s; one product 1024 × 1024 × 1024: 2.147 Gop → 33.0 µs; 3 × 2 MiB → 19.7 µs
    found = prediction(work=mlp([1024, 1024], batch=1024, bias=False), batch=1024, launch=FREE)
    assert found.latency_s == pytest.approx(2 * 1024**3 / found.peak_ops_per_s, rel=1e-12, abs=0)
    assert found.bound == "compute"
    launched = prediction(work=mlp([1024, 1024], batch=1024, bias=False), batch=1024)
    assert launched.latency_s - found.latency_s == pytest.approx(2.1e-6, rel=1e-9, abs=0)


def test_fusion_removes_traffic_and_launches_but_no_arithmetic():
    plain, fused = (prediction(fuse=fuse, cached=False) for fuse in (False, True))
    assert (len(plain.run), len(fused.run)) == (68, 23)
    assert fused.times.ops.sum() == plain.times.ops.sum()
    assert fused.times.bytes_moved.sum() < plain.times.bytes_moved.sum()
    assert fused.latency_s < plain.latency_s
    assert fused.network is plain.network or fused.network == plain.network


def test_energy_per_inference_and_per_batch_are_kept_apart():
    found = prediction(batch=8)
    assert found.energy_per_sample_j == pytest.approx(found.energy_j / 8, rel=1e-12, abs=0)
    assert found.power_w == pytest.approx(found.energy_j / found.latency_s, rel=1e-12, abs=0)


def test_storage_and_arithmetic_are_two_choices():
    wide = prediction(compute="int8", storage="fp32")
    narrow = prediction(compute="int8")
    assert wide.times.bytes_moved.sum() == 4 * narrow.times.bytes_moved.sum()
    assert wide.times.ops.sum() == narrow.times.ops.sum()


def test_an_operating_point_is_another_device():
    full, gated = (prediction("nvidia/jetson-agx-orin-64gb", compute="int8", mode=mode) for mode in (None, "30w"))
    assert gated.hardware.mode == "30w"
    assert gated.peak_ops_per_s < full.peak_ops_per_s
    assert gated.times.compute_s.sum() > full.times.compute_s.sum()


def test_weights_and_activations_are_apart():
    # 11.69 M weights with the batch norms' 2 × 4800 running values, 2 B each in FP16
    found = prediction()
    assert found.weight_bytes == 2 * int(RESNET.elements_weight.sum())
    assert found.peak_bytes == found.weight_bytes + found.activation_bytes


# ---- what is not known


def test_an_unsupported_precision_is_never_replaced():
    with pytest.raises(UnsupportedError, match=r"nvidia/t4 does not support bf16 \(has: "):
        prediction(compute="bf16")


def test_a_device_without_process_has_time_but_no_energy():
    unknown = next(device for device, compute in ABLE if "process" not in REGISTRY.get(device).facts)
    compute = next(compute for device, compute in ABLE if device == unknown)
    found = prediction(unknown, compute=compute)
    assert found.latency_s > 0
    assert not found.has("energy")
    with pytest.raises(NotKnownError, match="no process node is known, so no energy"):
        _ = found.energy_j


def test_a_table_without_data_flow_has_no_footprint_and_cannot_be_fused():
    bare = Workload.from_ops("bare", [Op("a", "relu", 0, 8, 8, 0, 8)])
    found = predict(REGISTRY.get("nvidia/t4"), bare, ENERGIES, Setting("fp16"))
    with pytest.raises(NotKnownError, match="does not say which op reads which result"):
        _ = found.peak_bytes
    with pytest.raises(WorkloadError, match="cannot be fused"):
        predict(REGISTRY.get("nvidia/t4"), bare, ENERGIES, Setting("fp16", fuse=True))


def test_a_launch_overhead_that_nobody_published_is_none_and_said():
    found = prediction("intel/xeon-8490h", compute="bf16")
    assert found.launch is None
    assert found.shares["launch"] == 0
    assert "counted as none" in found.reasons["launch"]
    assert "launch" not in prediction("intel/xeon-8490h", compute="bf16", launch=FREE).reasons


def test_a_launch_of_another_vendor_of_the_kind_is_taken_and_said():
    # nobody printed what a stream costs on an AMD GPU; a graph, which saves launches, costs more than NVIDIA's stream
    found = prediction("amd/mi300x", compute="bf16")
    assert found.launch.typical == prediction("amd/mi300x", compute="bf16", launch="graph").launch.typical
    assert found.launch.typical > prediction("nvidia/h100-sxm5-80gb", compute="bf16").launch.typical
    assert "3.865 µs (amd gpu graph launch, Radeon Pro W7900) is used instead" in found.reasons["launch"]
    synchronous = prediction("amd/mi300x", compute="bf16", launch="synchronous")
    assert "6.7 µs (nvidia gpu synchronous launch) is used instead" in synchronous.reasons["launch"]


def test_a_mode_of_launching_that_there_is_not_is_refused():
    with pytest.raises(UnknownCoefficientError, match="unknown launch mode 'psychic'"):
        prediction(launch="psychic")


# ---- identities, on all devices


@given(questions)
def test_attained_is_intensity_times_attained_bandwidth(question):
    found = asked(question)
    product = found.intensity_ops_per_byte * found.attained_bytes_per_s
    assert found.attained_ops_per_s == pytest.approx(product, rel=1e-9, abs=0)


@given(questions)
def test_the_waits_add_up_to_the_latency(question):
    found = asked(question)
    assert sum(found.shares.values()) == pytest.approx(found.latency_s, rel=1e-9, abs=0)


@given(questions)
def test_no_share_exceeds_the_whole(question):
    found = asked(question)
    assert 0 < found.compute_efficiency <= 1 + 1e-9
    assert 0 < found.bandwidth_efficiency <= 1 + 1e-9
    if found.has("allocation"):
        assert 0 < found.utilization <= 1


@given(questions)
def test_ops_per_joule_times_watts_is_the_attained_rate(question):
    found = asked(question)
    assume(found.has("energy"))
    assert found.ops_per_j * found.power_w == pytest.approx(found.attained_ops_per_s, rel=1e-9, abs=0)


@given(questions, st.sampled_from([1.5, 4.0]))
def test_more_bandwidth_never_hurts(question, factor):
    found = asked(question)
    memory = found.hardware.main_memory()
    rate = "bandwidth" if "bandwidth" in memory.facts else "pin_rate"
    better = with_fact(found.hardware, f"memories.{memory.name}.{rate}", factor)
    assert better.main_memory().bandwidth_bytes_per_s == pytest.approx(factor * memory.bandwidth_bytes_per_s)
    (_, compute), _, fuse, launch = question
    again = predict(better, found.network, ENERGIES, Setting(compute, None, fuse, launch))
    assert again.latency_s <= found.latency_s * (1 + 1e-12)


@given(st.sampled_from(ABLE), st.booleans(), st.booleans())
def test_a_larger_batch_takes_longer_and_without_caches_no_longer_than_as_many_single_ones(able, fuse, cached):
    device, compute = able
    one, many = (prediction(device, batch=batch, compute=compute, fuse=fuse, cached=cached) for batch in (1, 5))
    assert one.latency_s <= many.latency_s * (1 + 1e-12)
    if not cached:  # the results of one sample may fit into a cache that those of five leave
        assert many.latency_s <= 5 * one.latency_s * (1 + 1e-12)


@given(st.sampled_from(ABLE))
def test_fusion_never_costs_time_or_energy_outside_of_the_units(able):
    device, compute = able
    plain, fused = (prediction(device, compute=compute, fuse=fuse) for fuse in (False, True))
    assert fused.latency_s <= plain.latency_s * (1 + 1e-12)
    if plain.has("energy"):
        assert fused.energy_j <= plain.energy_j * (1 + 1e-12)


@given(questions)
def test_active_units_take_at_least_the_roofline_and_what_their_slots_and_padding_say(question):
    # the slow twin: one kernel after the other
    found = asked(question)
    assume(found.has("allocation"))
    laid, times = found.allocation, found.times
    total = 0.0
    for op in range(len(found.run)):
        idle = 1 - laid.blocks[op] / (laid.waves[op] * laid.slots[op])
        useful = (1 - idle) * (1 - laid.padding[op])
        compute = times.compute_s[op] / useful if useful else 0.0
        total += max(compute, times.memory_s[op]) + times.overhead_s
    assert found.latency_of_active_units_s == pytest.approx(total, rel=1e-9, abs=0)
    assert total >= found.latency_s * (1 - 1e-9)


# ---- policies

LLAMA = network_named("llama-3.1-8b")
PROMPT, STEP = LLAMA.workload(2, 512), LLAMA.workload(2, 1, 512)


def under(policy, device="nvidia/h100-sxm5-80gb", work=PROMPT, **setting):
    return predict(REGISTRY.get(device), work, ENERGIES, Setting(policy, **setting))


def test_weights_of_four_bits_are_computed_in_what_the_device_has_of_sixteen():
    assert under("w4a16").compute == "bf16"
    assert under("w4a16", "nvidia/t4").compute == "fp16"
    wide = under("bf16", cached=False)
    assert (under("w4a16", cached=False).times.compute_s == wide.times.compute_s).all()


def test_products_of_the_blocks_compute_narrow_and_attention_wide():
    narrow, wide = under("w8a8", cached=False), under("bf16", cached=False)
    h100 = REGISTRY.get("nvidia/h100-sxm5-80gb").units["tensor_core"]
    ratio = h100.peak_ops_per_s("int8") / h100.peak_ops_per_s("bf16")
    names, computes = PROMPT.op_names.tolist(), wide.times.compute_s > 0
    each = np.divide(wide.times.compute_s, narrow.times.compute_s, out=np.ones(len(names)), where=computes)
    faster = dict(zip(names, each.tolist(), strict=True))
    assert faster["gate_up"] == faster["qkv"] == pytest.approx(ratio, rel=1e-12)
    assert faster["attention"] == faster["head"] == 1
    # over the peak of each op, so that a prompt which keeps both busy is as efficient as before
    assert narrow.compute_efficiency == pytest.approx(narrow.times.compute_s.sum() / narrow.latency_s, rel=1e-12)
    assert narrow.compute_efficiency < 1


def test_energy_of_arithmetic_is_by_its_precision():
    terms = {term.name: term.counts.sum() for term in under("w8a8").energy.terms}
    whole = {term.name: term.counts.sum() for term in under("int8").energy.terms}
    assert terms["arithmetic"] + terms["arithmetic in bf16"] == whole["arithmetic"]
    assert 0 < terms["arithmetic in bf16"] < terms["arithmetic"]
    assert under("int8").energy_j < under("w8a8").energy_j < under("bf16").energy_j


def test_a_step_of_decode_is_as_fast_as_its_bytes_are_few():
    waits = [
        under(name, work=STEP, cached=False, launch=FREE).shares["memory"] for name in ("bf16", "fp8-kv8", "w4a16")
    ]
    read = [STEP.total_bytes(name) for name in ("bf16", "fp8-kv8", "w4a16")]
    assert [one / waits[0] for one in waits] == pytest.approx([one / read[0] for one in read], rel=1e-3)


def test_a_policy_of_a_capture_is_refused_in_a_sentence():
    with pytest.raises(WorkloadError) as refused:
        under("w8a8", work=RESNET)
    assert str(refused.value) == (
        "torchvision/resnet18: its table does not say which weights w8a8 makes narrow; want a precision, such as int8"
    )


def test_a_device_without_the_arithmetic_of_a_policy_is_refused():
    with pytest.raises(UnsupportedError, match="does not support fp8"):
        under("fp8-kv8", "nvidia/a100-sxm4-80gb")


def test_kernel_times_of_a_policy_are_the_roofline_and_said_to_be():
    found = under("w4a16", fidelity="silicon")
    assert found.fidelity == "roofline"
    assert found.reasons["fidelity"] == (
        "kernels of w4a16 are not among the measurements of nvidia/h100-sxm5-80gb; its latency is that of the "
        "roofline, a lower bound"
    )


@pytest.mark.parametrize("device", ["nvidia/h100-sxm5-80gb", "google/tpu-v5e", "amd/mi300x", "intel/xeon-8490h"])
def test_a_policy_never_costs_more_time_or_memory_than_bf16(device):
    wide = under("bf16", device, STEP)
    for policy in ("w4a16", "w4a16-kv8", "w8a8", "mxfp4"):
        found = under(policy, device, STEP)
        assert found.latency_s <= wide.latency_s
        assert found.peak_bytes < wide.peak_bytes
