"""A run on several devices: laws of what they compute, exchange, keep and take."""

from dataclasses import replace

import pytest

from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies, idle_w
from rooflint.hardware.names import system_named
from rooflint.hardware.registry import Registry
from rooflint.hardware.system import System
from rooflint.prediction.generation import generate
from rooflint.prediction.parallel import Place, Split, place
from rooflint.prediction.predict import Setting, predict
from rooflint.prediction.run import Run
from rooflint.workloads.networks import network_named
from rooflint.workloads.parallelism import Parallelism, shard
from rooflint.workloads.transformer import Step, table

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
LLAMA, DEEPSEEK = network_named("llama-3.1-70b"), network_named("deepseek-v3")
HGX = system_named(REGISTRY, "hgx-h100")
H100 = HGX.device
BF16 = Setting("bf16")


def ran(how, net=LLAMA, system=HGX, setting=BF16, batch=8, prompt=256, tokens=16):
    where = Place(system.device, how, system if how.devices > 1 else None)
    (one,) = generate([where], Run(net, batch, prompt, tokens), ENERGIES, setting)
    return one.found


@pytest.mark.parametrize("fidelity", ["roofline", "silicon"])
def test_one_device_is_exactly_its_prediction(fidelity):
    setting = Setting("bf16", fidelity=fidelity)
    found = ran(Parallelism(), setting=setting)
    alone = predict(H100, table(LLAMA.transformer, 8, 256), ENERGIES, setting)
    assert found.first_token_s == alone.latency_s
    assert found.prefill.energy_j == alone.energy_j
    assert found.prefill.waits_s == {**alone.shares, "network": 0.0}
    assert found.prefill.ops == alone.times.ops.sum()
    assert found.prefill.compute_efficiency == pytest.approx(alone.compute_efficiency, rel=1e-12)


@pytest.mark.parametrize("how", [Parallelism(4), Parallelism(8), Parallelism(4, 2), Parallelism(1, 4)])
def test_shares_add_up_and_all_devices_do_what_one_would(how):
    one, many = ran(Parallelism()), ran(how)
    for phase in (many.prefill, many.decode):
        assert sum(phase.waits_s.values()) == pytest.approx(phase.latency_s, rel=1e-12)
    # norms and additions are done by each device of a product again
    assert one.prefill.ops <= many.prefill.ops <= one.prefill.ops * 1.01


@pytest.mark.parametrize("how", [Parallelism(2), Parallelism(8), Parallelism(16), Parallelism(4, 2), Parallelism(2, 3)])
def test_devices_together_have_at_least_the_memory_of_one(how):
    one, each = Run(LLAMA, 8, 256, 16).memory("bf16"), Run(LLAMA, 8, 256, 16).memory("bf16", how)
    assert each.weight_bytes * how.devices >= one.weight_bytes
    assert each.cache_bytes * how.devices >= one.cache_bytes
    assert each.total_bytes < one.total_bytes


def test_two_stages_without_a_tied_embedding_hold_each_weight_once():
    one, each = (Run(LLAMA, 1, 16, 2).memory("bf16", how).weight_bytes for how in (Parallelism(), Parallelism(1, 2)))
    assert 2 * each == pytest.approx(one, rel=1e-6)  # but for the last norm


def test_what_waits_for_the_network_is_bytes_over_the_bandwidth_of_links():
    found = ran(Parallelism(8), setting=Setting("bf16", launch="free"), system=system_named(REGISTRY, "hgx-a100"))
    tokens = 8 * 256
    reduced, gathered = tokens * 8192 * 2, 8 * 128256 * 2
    # 2 (n − 1) / n of a sum, (n − 1) / n of a gathering, at 12 × 25 GB/s
    wanted = (161 * reduced * 2 + gathered) * 7 / 8 / 300e9
    assert found.prefill.waits_s["network"] == pytest.approx(wanted, rel=1e-9)
    own = predict(
        found.place.hardware, table(shard(LLAMA.transformer, Parallelism(8)), 8, 256), ENERGIES, found.setting
    )
    assert found.first_token_s == pytest.approx(own.latency_s + wanted, rel=1e-12)


def with_links(factor):
    """HGX H100 with so many times the links."""
    fact = H100.facts["links.nvlink.count"]
    device = H100.with_facts({"links.nvlink.count": fact.with_value(factor * fact.value)})
    return System(HGX.hardware, device)


@pytest.mark.slow
@pytest.mark.parametrize("fidelity", ["roofline", "silicon"])
@pytest.mark.parametrize("how", [Parallelism(8), Parallelism(2, 4), Parallelism(4, 4)])
def test_more_links_are_never_slower(fidelity, how):
    runs = [ran(how, system=with_links(factor), setting=Setting("bf16", fidelity=fidelity)) for factor in (1, 2, 4)]
    assert [one.total_s for one in runs] == sorted((one.total_s for one in runs), reverse=True)
    assert runs[0].total_s > runs[-1].total_s


@pytest.mark.parametrize("tp", [2, 4, 8])
def test_tensor_parallel_is_never_faster_than_a_device_of_as_many(tp):
    one, many = ran(Parallelism()), ran(Parallelism(tp))
    assert one.first_token_s / tp < many.first_token_s < one.first_token_s
    assert one.token_s / tp < many.token_s < one.token_s
    assert many.tokens_per_s_of_device < one.tokens_per_s_of_device


def test_a_pipeline_does_not_hasten_a_single_sequence():
    one, many = ran(Parallelism(), batch=1), ran(Parallelism(1, 4), batch=1)
    assert many.token_s == pytest.approx(one.token_s, rel=0.01)
    assert many.token_s > one.token_s  # three hops
    assert ran(Parallelism(1, 4), batch=64).tokens_per_s > 1.5 * ran(Parallelism(), batch=64).tokens_per_s


def test_prompts_fill_a_pipeline_and_tokens_keep_it_full():
    split = Split(LLAMA.transformer, Place(H100, Parallelism(1, 4), HGX), ENERGIES, Setting("bf16", launch="free"))
    prompts, tokens = split.phase(8, 256, [Step(0)]), split.phase(8, 1, [Step(256)])
    assert (prompts.parts, tokens.parts) == (4, 4)
    once = prompts.prediction.latency_s + prompts.network_s
    assert prompts.latency_s == pytest.approx(once + 3 * prompts.slowest_s, rel=1e-12)
    assert tokens.latency_s == pytest.approx(4 * tokens.slowest_s, rel=1e-12)
    # two sequences a part: 3 hops of 2 × 256 × 8192 × 2 B at 450 GB/s
    assert prompts.network_s == pytest.approx(3 * 2 * 256 * 8192 * 2 / 450e9, rel=1e-9)


def test_energy_is_that_of_all_devices_and_of_their_waiting():
    found = ran(Parallelism(8))
    own = predict(H100, table(shard(LLAMA.transformer, Parallelism(8)), 8, 256), ENERGIES, BF16)
    idle = idle_w(H100, ENERGIES.coefficients).typical
    waited = found.first_token_s - own.latency_s
    assert found.prefill.energy_j == pytest.approx(8 * (own.energy_j + waited * idle), rel=1e-12)


def test_groups_with_sequences_of_their_own_share_the_experts():
    h200 = system_named(REGISTRY, "hgx-h200")
    spread = ran(Parallelism(1, 1, 8), net=DEEPSEEK, system=h200, setting=Setting("fp8"), batch=64)
    assert spread.memory.batch == 8  # sequences of a device
    assert spread.largest_batch % 8 == 0
    assert spread.prefill.waits_s["network"] > 0
    one = shard(DEEPSEEK.transformer, Parallelism(1, 1, 8))
    assert spread.memory.weight_bytes == one.parameters


def test_larger_ones_take_several_systems_over_their_cards():
    near, far = ran(Parallelism(4, 2)), ran(Parallelism(8, 2))
    assert (near.place.boxes, far.place.boxes) == (1, 2)
    assert far.place.next_stage.bandwidth_bytes_per_s == pytest.approx(400e9 / 8)  # one card for each GPU
    assert near.place.next_stage.bandwidth_bytes_per_s == pytest.approx(450e9)


def test_in_a_mesh_two_devices_have_one_link():
    mi300x = system_named(REGISTRY, "mi300x-platform")
    two, eight = (Place(mi300x.device, Parallelism(tp), mi300x).link(tp) for tp in (2, 8))
    assert (two.bandwidth_bytes_per_s, eight.bandwidth_bytes_per_s) == (64e9, 448e9)
    assert not two.reduces and Place(H100, Parallelism(8), HGX).link(8).reduces


def test_a_device_is_placed_in_the_one_system_that_has_it(tmp_path):
    assert place(H100, Parallelism(8), REGISTRY).system.id == "nvidia/hgx-h100"
    assert place(H100, Parallelism(), REGISTRY).system is None
    with pytest.raises(RooflintError, match="nvidia/t4: tp 2: want a system of such devices, found none"):
        place(REGISTRY.get("nvidia/t4"), Parallelism(2), REGISTRY)
    file = tmp_path / "systems/acme/box.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(HGX.hardware.file.read_text(encoding="utf-8"), encoding="utf-8")
    two = Registry.of([tmp_path])
    with pytest.raises(RooflintError, match="is in several systems; want one of them instead: box, hgx-h100"):
        place(two.get(H100.id), Parallelism(8), two)


@pytest.mark.parametrize(
    ("how", "system", "problem"),
    [
        (
            Parallelism(16),
            "hgx-h100",
            "--tp: want at most the 8 devices of nvidia/hgx-h100, found 16; --pp takes several",
        ),
        (Parallelism(1, 1, 16), "hgx-h200", "--ep: want at most the 8 devices of nvidia/hgx-h200, found 16"),
        (Parallelism(8, 2), "pcie-l40s-8", "nvidia/pcie-l40s-8 has no network cards, which join it to others"),
    ],
)
def test_what_does_not_fit_a_system_is_refused(how, system, problem):
    there = system_named(REGISTRY, system)
    with pytest.raises(RooflintError) as caught:
        Place(there.device, how, there)
    assert str(caught.value).startswith(problem)


def test_a_device_that_cannot_compute_stays_with_its_reason():
    v100 = REGISTRY.get("nvidia/v100-sxm2-16gb")
    there = Place(v100, Parallelism(8), replace(HGX, device=v100))
    (one,) = generate([there], Run(LLAMA, 8, 256, 16), ENERGIES, Setting("fp8"))
    assert one.found is None and "does not support fp8" in one.contender.refused


# ---- Context


def test_parts_of_a_sequence_share_its_cache_and_its_prompt():
    how, run = Parallelism(cp=4), Run(LLAMA, 4, 8000, 193)
    each = run.memory("bf16", how)
    # 80 layers of 8 heads of keys and of values of 128, 2 B each, of (8000 + 193 − 1) / 4 tokens of 4 sequences
    assert each.cache_bytes == 80 * 2 * 8 * 128 * 2 * 2048 * 4
    assert each.weight_bytes == run.memory("bf16").weight_bytes
    # activations of 2000 tokens, and the keys and values of all 8000 in a layer
    alone = Run(LLAMA, 4, 2000, 193).memory("bf16")
    assert each.prompt_of_one_bytes == alone.prompt_of_one_bytes + 2 * 8 * 128 * 2 * 8000
    assert each.token_of_one_bytes == alone.token_of_one_bytes
    assert each.activation_bytes == each.prompt_of_one_bytes  # a pass reads one such prompt
    assert each.largest_batch(200e9) > run.memory("bf16").largest_batch(200e9)


def test_parts_of_a_prompt_wait_for_keys_and_values_at_the_bandwidth_of_links():
    found = ran(Parallelism(cp=8), setting=Setting("bf16", launch="free"), batch=1, prompt=4096)
    # 7/8 of 80 layers of 2 × 8 × 128 × 2 B of 4096 tokens, at 18 × 25 GB/s
    assert found.prefill.waits_s["network"] == pytest.approx(80 * 2 * 8 * 128 * 2 * 4096 * 7 / 8 / 450e9, rel=1e-9)
    # queries of 8 padded sequences of 64 heads of 128, and their results with a sum
    sent = 80 * 8 * 64 * (128 + 129) * 2 * 7 / 8
    assert found.decode.waits_s["network"] / 15 == pytest.approx(sent / 450e9, rel=1e-9)


@pytest.mark.parametrize("fidelity", ["roofline", "silicon"])
def test_parts_of_a_long_prompt_are_read_nearly_as_fast_as_there_are_devices(fidelity):
    setting = Setting("bf16", fidelity=fidelity)
    one, many = (ran(how, setting=setting, batch=1, prompt=65536) for how in (Parallelism(), Parallelism(cp=8)))
    assert 0.7 * one.first_token_s / 8 < many.first_token_s < 1.3 * one.first_token_s / 8
    assert one.first_token_s / 8 < many.first_token_s or fidelity == "silicon"
    # of one sequence all devices read all weights, but a part of the cache
    assert one.token_s / 8 < many.token_s < one.token_s
    assert sum(many.prefill.waits_s.values()) == pytest.approx(many.first_token_s, rel=1e-12)


def test_energy_and_ops_of_parts_of_sequences_are_those_of_all_devices():
    one, many = ran(Parallelism(), batch=8, prompt=4096), ran(Parallelism(cp=8), batch=8, prompt=4096)
    assert one.prefill.ops <= many.prefill.ops <= one.prefill.ops * 1.02  # but for a head on each device
    assert many.decode.ops == pytest.approx(one.decode.ops, rel=1e-3)
    assert many.prefill.energy_j > one.prefill.energy_j


@pytest.mark.parametrize(
    ("name", "how", "prompt", "problem"),
    [
        ("llama-3.1-70b", Parallelism(4, cp=4), 256, "--cp: want at most the 8 devices of nvidia/hgx-h100, found 16"),
        (
            "llama-3.1-70b",
            Parallelism(cp=8),
            15,
            "--cp: want a --prompt of at least 16 tokens, 2 for each part; found 15",
        ),
        ("llava-1.5-7b", Parallelism(cp=2), 2048, "--cp is not modelled for prompts with images; want no --cp"),
    ],
)
def test_parts_of_sequences_that_are_not_modelled_are_refused(name, how, prompt, problem):
    with pytest.raises(RooflintError, match=problem):
        ran(how, net=network_named(name), prompt=prompt)
