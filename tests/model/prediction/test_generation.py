"""Generation: time to first token, time per output token, and the memory of a run."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.coefficients.library import Coefficients
from rooflint.cost.schema import PURCHASE
from rooflint.energy.model import Energies
from rooflint.hardware.names import system_named
from rooflint.hardware.registry import Registry
from rooflint.prediction.comparison import CriterionError, requirements
from rooflint.prediction.cost import CostTables, Tariff
from rooflint.prediction.generation import (
    RUN_CRITERIA,
    RUN_EXAMPLE,
    generate,
    kernel_times,
    pareto,
    sweep,
)
from rooflint.prediction.parallel import Place
from rooflint.prediction.predict import Setting, predict
from rooflint.prediction.run import Memory, Run
from rooflint.workloads.networks import network_named
from rooflint.workloads.parallelism import Parallelism
from rooflint.workloads.transformer import Step, table
from rooflint.workloads.workload import WorkloadError

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
LLAMA = network_named("llama-3.1-8b")
H100 = REGISTRY.get("nvidia/h100-sxm5-80gb")


def found(batch=2, prompt=64, tokens=8, net=LLAMA, device=H100, **setting):
    (one,) = generate([Place(device)], Run(net, batch, prompt, tokens), ENERGIES, Setting("bf16", **setting))
    return one.found


def test_the_first_token_takes_a_prompt_and_the_others_a_mean_step():
    run = found(cached=False)
    prompt = predict(H100, table(LLAMA.transformer, 2, 64), ENERGIES, Setting("bf16", cached=False)).latency_s
    steps = [
        predict(H100, table(LLAMA.transformer, 2, 1, [Step(past)]), ENERGIES, Setting("bf16", cached=False)).latency_s
        for past in range(64, 64 + 7)
    ]
    assert run.first_token_s == pytest.approx(prompt, rel=1e-12)
    assert run.token_s == pytest.approx(np.mean(steps), rel=1e-12)
    assert run.total_s == pytest.approx(prompt + sum(steps), rel=1e-12)
    assert run.tokens_per_s == pytest.approx(2 * 8 / run.total_s, rel=1e-12)


@pytest.mark.parametrize("fidelity", ["roofline", "silicon"])
def test_a_run_is_the_sum_of_its_steps_at_both_fidelities(fidelity):
    run = found(fidelity=fidelity, launch="graph", cached=False)
    steps = [
        predict(
            H100, table(LLAMA.transformer, 2, 1, [Step(past)]), ENERGIES,
            Setting("bf16", fidelity=fidelity, launch="graph", cached=False),
        )
        for past in range(64, 64 + 7)
    ]  # fmt: skip
    assert all(step.fidelity == fidelity for step in steps)
    assert run.decode.latency_s == pytest.approx(sum(step.latency_s for step in steps), rel=1e-9)
    assert run.decode.energy_j == pytest.approx(sum(step.energy_j for step in steps), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("device", ["nvidia/h100-sxm5-80gb", "amd/mi300x"])
def test_a_cache_of_keys_is_not_taken_for_results_that_the_device_has_kept(device):
    run = found(batch=32, prompt=2048, tokens=65, device=REGISTRY.get(device))
    steps = [table(LLAMA.transformer, 32, 1, [Step(past)]) for past in range(2048, 2048 + 64)]
    alone = [predict(REGISTRY.get(device), step, ENERGIES, Setting("bf16")).latency_s for step in steps]
    # only results of attention that the next op finds are counted in single steps alone
    assert run.token_s == pytest.approx(np.mean(alone), rel=5e-3)
    assert run.token_s >= np.mean(alone) * (1 - 1e-9)


def test_one_token_needs_no_decode():
    run = found(tokens=1)
    assert (run.decode, run.token_s) == (None, None)
    assert run.total_s == run.first_token_s


def test_memory_by_hand():
    memory = found(batch=3, prompt=100, tokens=11).memory
    assert memory.weight_bytes == 2 * 8_030_261_248
    # the last step has 110 tokens: 32 layers × 2 × 8 heads × 128 × 2 B = 131 072 B a token
    assert memory.cache_bytes == 3 * 110 * 131_072
    # 100 tokens of gate and up (2 × 14336), their product (14336) and the residual stream (4096)
    assert memory.activation_bytes == 3 * 100 * 2 * (3 * 14_336 + 4_096)


def test_the_largest_batch_is_the_last_that_fits():
    memory = found(batch=1).memory
    capacity = H100.main_memory().capacity_bytes
    largest = memory.largest_batch(capacity)
    for batch, fits in ((largest, True), (largest + 1, False)):
        assert (found(batch=batch).memory.total_bytes <= capacity) is fits
        assert found(batch=batch).fits is fits
    assert Memory(10.0, 1.0, 1.0, 1.0, 1).largest_batch(5.0) == 0


def test_a_device_without_the_precision_stays_with_its_reason():
    (one,) = generate([Place(REGISTRY.get("nvidia/t4"))], Run(LLAMA, 1, 8, 2), ENERGIES, Setting("bf16"))
    assert one.found is None
    assert "does not support bf16" in one.contender.refused


def test_a_device_without_a_known_memory_bandwidth_stays_with_its_reason():
    (one,) = generate([Place(REGISTRY.get("amd/epyc-zen5-2vcpu"))], Run(LLAMA, 1, 8, 2), ENERGIES, Setting("bf16"))
    assert one.found is None
    assert one.contender.refused == "amd/epyc-zen5-2vcpu has no memory with a known bandwidth"


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"prompt": 0}, {"generate": 0}])
def test_a_run_has_at_least_one_of_each(wrong):
    with pytest.raises(WorkloadError, match="want 1 or more, found 0"):
        Run(LLAMA, **{"batch": 1, "prompt": 1, "generate": 1} | wrong)


def test_a_run_stays_within_the_context():
    with pytest.raises(WorkloadError, match=r"within its context of 2048, found 2000 \+ 49"):
        Run(network_named("gpt-j-6b"), 1, 2000, 49)


def test_an_encoder_writes_nothing():
    with pytest.raises(WorkloadError, match="bert-base: is an encoder, which writes no tokens; want no --generate"):
        Run(network_named("bert-base"), 1, 8, 8)


# ---- passes


def test_prompts_are_read_in_passes_of_whole_prompts():
    # 8192 / 2048 = 4 prompts a pass: 10 prompts are two passes of 4 and one of 2
    passes = Run(LLAMA, 10, 2048, 1).prefill
    assert [(times, work.batch) for times, work in passes] == [(2, 4), (1, 2)]
    assert [(times, work.batch) for times, work in Run(LLAMA, 3, 9000, 1).prefill] == [(3, 1)]
    latency = sum(times * predict(H100, work, ENERGIES, Setting("bf16")).latency_s for times, work in passes)
    assert found(batch=10, prompt=2048, tokens=1).first_token_s == pytest.approx(latency, rel=1e-12)


def test_activations_are_those_of_a_pass_and_not_of_all_prompts():
    small, large = (found(batch=batch, prompt=2048).memory for batch in (4, 64))
    assert small.activation_bytes == large.activation_bytes == 4 * small.prompt_of_one_bytes
    # until so many sequences write that their logits and activations need more
    assert found(batch=100_000, prompt=8).memory.activation_bytes > found(batch=1024, prompt=8).memory.activation_bytes


@pytest.mark.slow
def test_a_run_of_many_steps_is_the_mean_of_some_lengths():
    # 255 steps on 32 lengths of the cache, beside a prediction of each step
    run = found(batch=4, prompt=512, tokens=256, cached=False)
    steps = [
        predict(H100, table(LLAMA.transformer, 4, 1, [Step(past)]), ENERGIES, Setting("bf16", cached=False)).latency_s
        for past in range(512, 512 + 255)
    ]
    assert run.token_s == pytest.approx(np.mean(steps), rel=1e-4)


def test_runs_beyond_what_one_table_counts_are_predicted():
    # 405e9 × 256 sequences × 255 steps pass 2^53
    run = found(batch=256, prompt=2048, tokens=256, net=network_named("llama-3.1-405b"))
    assert run.token_s > found(batch=1, prompt=2048, tokens=256, net=network_named("llama-3.1-405b")).token_s


@given(
    st.integers(1, 4096), st.floats(1e9, 1e12), st.floats(0, 1e12), st.floats(1, 1e9), st.floats(0, 1e9),
    st.floats(0, 1e9), st.integers(1, 64),
)  # fmt: skip
def test_the_largest_batch_fits_and_the_next_does_not(batch, capacity, weights, cache, prompt, token, together):
    memory = Memory(weights, cache, prompt, token, batch, together)
    largest = memory.largest_batch(capacity)
    if largest:
        assert replace(memory, batch=largest).total_bytes <= capacity * (1 + 1e-12)
    assert replace(memory, batch=largest + 1).total_bytes > capacity * (1 - 1e-12)


# ---- sweeps

DEVICES = [Place(REGISTRY.get(name)) for name in ("nvidia/h100-sxm5-80gb", "nvidia/t4", "amd/mi300x", "google/tpu-v5e")]


@pytest.mark.slow
@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("fidelity", ["roofline", "silicon"])
def test_a_sweep_equals_a_prediction_of_each_pass(fuse, fidelity):
    # the slow twin: every pass of every run by itself
    settings = [Setting(name, fuse=fuse, fidelity=fidelity) for name in ("bf16", "w4a16", "w8a8-kv8")]
    runs = [Run(LLAMA, batch, 1024, 40) for batch in (1, 12)]
    seen = 0
    for candidate in sweep(DEVICES, runs, ENERGIES, settings):
        for one in candidate.runs:
            for phase, passes in ((one.prefill, one.run.prefill), (one.decode, one.run.decode)):
                alone = [
                    (times, predict(REGISTRY.get(one.label), work, ENERGIES, one.setting)) for times, work in passes
                ]
                assert phase.latency_s == pytest.approx(sum(n * p.latency_s for n, p in alone), rel=1e-9)
                assert phase.ops == pytest.approx(sum(n * p.times.ops.sum() for n, p in alone), rel=1e-12)
                assert sum(phase.waits_s.values()) == pytest.approx(phase.latency_s, rel=1e-9)
                if phase.energy_j is not None:
                    assert phase.energy_j == pytest.approx(sum(n * p.energy_j for n, p in alone), rel=1e-9)
                seen += 1
    assert seen > 2 * 2 * len(DEVICES)


def test_a_rent_is_paid_for_time_and_a_purchase_for_time_and_power():
    costs = CostTables.of(REGISTRY)
    (one,) = generate([Place(H100)], Run(LLAMA, 8, 512, 64), ENERGIES, Setting("bf16"), costs)
    rent = costs.prices.rents(H100.id)[0].usd_per_h
    assert one.found.usd_per_million == pytest.approx(rent / 3600 / one.found.tokens_per_s * 1e6, rel=1e-12)
    bought = replace(one.found, tariff=Tariff(PURCHASE, 30_000.0, "as given", 0.1, 1.5, 4.0))
    power = one.found.energy_j / one.found.total_s
    usd_per_s = 30_000 / (4 * 365.25 * 24 * 3600) + power / 3.6e6 * 0.1 * 1.5
    assert bought.usd_per_million == pytest.approx(usd_per_s / one.found.tokens_per_s * 1e6, rel=1e-12)
    # two devices that share the work of one cost twice as much
    both = Place(H100, Parallelism(2), system_named(REGISTRY, "hgx-h100"))
    assert replace(bought, place=both).tokens_per_s_of_device == bought.tokens_per_s / 2
    assert replace(one.found, place=both).usd_per_million == pytest.approx(2 * one.found.usd_per_million, rel=1e-12)


def test_without_a_price_there_is_no_cost():
    assert found().usd_per_million is None


def test_requirements_of_a_generation():
    run = found(batch=2)
    for text, met in (
        (f"first-token<{run.first_token_s * 1.01}s", True), (f"per-token<{run.token_s * 0.99}s", False),
        (f"user>={run.tokens_per_s_of_user * 0.99}/s", True), ("memory<1GB", False), ("energy>1nJ", True),
        (f"throughput>{run.tokens_per_s_of_device * 1.01}", False),
    ):  # fmt: skip
        (one,) = requirements(text, RUN_CRITERIA, RUN_EXAMPLE)
        assert one.met(run) is met
    (per_token,) = requirements("per-token<1s", RUN_CRITERIA, RUN_EXAMPLE)
    assert per_token.met(found(tokens=1)) is None
    with pytest.raises(
        CriterionError, match=r"'per-token<20GB': '20GB' is not a bound on per-token; want one as in first"
    ):
        requirements("per-token<20GB", RUN_CRITERIA, RUN_EXAMPLE)


def test_the_pareto_line_of_no_runs_is_empty():
    assert pareto([]) == ()


def test_kernels_of_a_run_add_up_to_its_phases():
    (one,) = generate([Place(H100)], Run(LLAMA, 10, 2048, 40), ENERGIES, Setting("w4a16"))
    kernels = kernel_times(one, one.found.run)
    assert sum(kernels["prefill"].values()) == pytest.approx(one.found.prefill.latency_s, rel=1e-9)
    assert sum(kernels["decode"].values()) == pytest.approx(one.found.decode.latency_s, rel=1e-9)
    assert {"attention", "gate_up", "head"} <= set(kernels["decode"])


def test_kernels_and_collectives_of_several_devices_add_up_to_their_phases():
    # two stages on two servers: the batch is cut in two, and a stage waits for the one before it
    system = system_named(REGISTRY, "hgx-h100")
    place = Place(system.device, Parallelism(8, 2), system)
    (one,) = generate([place], Run(network_named("llama-3.1-70b"), 4, 2048, 40), ENERGIES, Setting("bf16"))
    kernels = kernel_times(one, one.found.run)
    for phase, latency_s in (("prefill", one.found.prefill.latency_s), ("decode", one.found.decode.latency_s)):
        assert sum(kernels[phase].values()) == pytest.approx(latency_s, rel=1e-9)
        assert {"all-reduce, attention", "point-to-point, next stage", "gate_up"} <= set(kernels[phase])


# ---- A decoder that reads an image among its tokens

LLAVA = network_named("llava-1.5-7b")


def test_a_prompt_with_an_image_takes_its_encoder_too_and_tokens_take_the_decoder_alone():
    run = found(2, 600, 8, LLAVA, cached=False)
    plain = Setting("bf16", cached=False)
    # 2 × 600 tokens of one pass, and 7 steps of the decoder, whose vocabulary has the tokens that stand for images
    assert run.first_token_s == pytest.approx(predict(H100, LLAVA.workload(2, 600), ENERGIES, plain).latency_s)
    decoder = replace(LLAVA, configuration=LLAVA.writer)
    alone = found(2, 600, 8, decoder, cached=False)
    assert run.token_s == pytest.approx(alone.token_s)
    assert run.first_token_s > alone.first_token_s
    # the tower and the projector stay beside the decoder: 7 063 427 072 parameters of 2 B
    assert run.memory.weight_bytes == 2 * 7_063_427_072


@pytest.mark.parametrize("how", [Parallelism(tp=4), Parallelism(pp=2)])
def test_each_of_several_devices_encodes_the_images(how):
    system = system_named(REGISTRY, "hgx-h100")
    runs = [
        generate([Place(system.device, how, system)], Run(net, 4, 600, 8), ENERGIES, Setting("bf16"))[0].found
        for net in (LLAVA, replace(LLAVA, configuration=LLAVA.writer))
    ]
    seen, blind = runs
    tower = LLAVA.configuration.parameters - LLAVA.writer.parameters
    assert seen.memory.weight_bytes - blind.memory.weight_bytes == pytest.approx(2 * tower)
    assert seen.token_s == pytest.approx(blind.token_s)
    assert seen.first_token_s > blind.first_token_s


def test_a_prompt_has_room_for_its_image():
    with pytest.raises(WorkloadError, match="more than the 576 tokens of its image, found 576"):
        Run(LLAVA, 1, 576, 8)
    with pytest.raises(WorkloadError, match="want a single decoder or encoder, not one that sees images"):
        LLAVA.transformer  # noqa: B018
