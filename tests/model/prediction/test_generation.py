"""Generation: time to first token, time per output token, and the memory of a run."""

import numpy as np
import pytest

from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.prediction.generation import Memory, Run, generate
from rooflint.prediction.parallel import Place
from rooflint.prediction.predict import Setting, predict
from rooflint.workloads.networks import network_named
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
    assert Memory(10.0, 1.0, 1.0, 1).largest_batch(5.0) == 0


def test_a_device_without_the_precision_stays_with_its_reason():
    (one,) = generate([Place(REGISTRY.get("nvidia/t4"))], Run(LLAMA, 1, 8, 2), ENERGIES, Setting("bf16"))
    assert one.found is None
    assert "does not support bf16" in one.prefill.refused


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
