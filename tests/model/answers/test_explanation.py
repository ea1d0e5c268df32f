"""Explanations: that every number in them is one of the estimates', and that what decides is told."""

import re

import pytest

from rooflint.answers.explanation import METRICS, explain
from rooflint.base.units import JOULES, SECONDS, format_quantity
from rooflint.coefficients.library import FREE, Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.prediction.comparison import contend
from rooflint.prediction.predict import Setting
from rooflint.roofline import kernel_time_s
from rooflint.workloads.tables import load_workload

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
RESNET = load_workload("torchvision/resnet18")


def contender(device, batch=1, **setting):
    return contend(REGISTRY.get(device), RESNET.at_batch(batch), ENERGIES, Setting(**{"compute": "bf16", **setting}))


GPU, TPU = contender("nvidia/h100-sxm5-80gb"), contender("google/tpu-v4")


def test_an_energy_begins_with_both_totals_and_their_ratio():
    told = explain(GPU, TPU, "energy")
    mine, theirs = GPU.prediction.energy_per_sample_j, TPU.prediction.energy_per_sample_j
    assert told.sentences[0] == (
        f"tpu-v4 takes 1/{mine / theirs:.3g} of the energy of h100-sxm5-80gb: "
        f"{format_quantity(theirs, JOULES)} vs {format_quantity(mine, JOULES)}"
    )


def test_the_largest_difference_is_told_first():
    told = explain(GPU, TPU, "energy").sentences
    idle = [sentence.startswith("idle power") for sentence in told]
    assert idle.index(True) == 1  # 145 W × 160 µs against 60 W × 54 µs
    assert "145 W" in told[1]


def test_shares_of_the_difference_add_up_to_all_of_it():
    told = explain(GPU, TPU, "energy").sentences
    shares = [float(share) for sentence in told for share in re.findall(r"(-?[\d.]+) % of the difference", sentence)]
    assert len(shares) > 1
    assert sum(shares) == pytest.approx(100, abs=1)


def test_a_term_that_the_other_has_not_is_said():
    told = explain(contender("intel/xeon-8490h", 64), contender("google/tpu-v4", 64), "energy").sentences
    (instructions,) = [sentence for sentence in told if sentence.startswith("instructions")]
    assert "tpu-v4 has no such term" in instructions


def test_the_bars_are_the_terms_of_the_estimates():
    told = explain(GPU, TPU, "energy")
    for bar, one in zip(told.bars, (GPU, TPU), strict=True):
        assert bar.value == pytest.approx(one.prediction.energy_per_sample_j, rel=1e-9, abs=0)
        assert [part.name for part in bar.parts] == [term.name for term in one.prediction.energy.terms]


def test_a_latency_is_told_by_what_each_waits_for_and_what_would_change_it():
    told = explain(GPU, TPU, "latency").sentences
    assert "h100-sxm5-80gb: compute" in told[1]
    assert format_quantity(GPU.prediction.shares["launch"], SECONDS) in told[1]
    assert told[3].startswith("with the launch overhead of h100-sxm5-80gb")


def test_what_if_asks_the_model_again():
    one, two = contender("nvidia/a100-sxm4-80gb", launch=FREE), contender("nvidia/l4", launch=FREE)
    told = [sentence for sentence in explain(one, two, "latency").sentences if "with the bandwidth" in sentence]
    times, bandwidth = two.prediction.times, one.prediction.bandwidth_bytes_per_s
    expected = kernel_time_s(times.compute_s, times.bytes_moved / bandwidth).sum()
    assert f"would take {format_quantity(float(expected), SECONDS)}" in told[0]


def test_memory_is_the_networks_own():
    told = explain(GPU, TPU, "memory").sentences
    assert "network and its storage precision alone" in told[0]
    assert any("80 GB of hbm3" in sentence for sentence in told)


def test_utilization_names_units_and_the_kernels_that_decide():
    told = explain(GPU, TPU, "utilization").sentences
    assert GPU.prediction.units in told[0]
    assert any("output tile" in sentence for sentence in told)


@pytest.mark.parametrize("metric", METRICS)
def test_a_device_does_not_differ_from_itself(metric):
    told = explain(GPU, GPU, metric).sentences
    assert told
    assert not any("% of the gap" in sentence or "% of the difference" in sentence for sentence in told)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("other", ["intel/xeon-8490h", "stillwater/kpu-t256", "nvidia/l4"])
def test_every_sentence_carries_a_number(metric, other):
    for sentence in explain(GPU, contender(other), metric).sentences:
        assert re.search(r"\d", sentence), sentence


def test_a_figure_that_helps_closes_the_gap_and_one_that_hurts_widens_it():
    slow, fast = contender("nvidia/l4", launch=FREE), contender("nvidia/h100-sxm5-80gb", launch=FREE)
    # with the L4's bandwidth the H100 is slower, nearer to the L4
    told = " ".join(explain(slow, fast, "latency").sentences)
    assert "with the bandwidth of l4" in told
    assert "closes" in told
    assert "widens" not in told
    # with the H100's launches the TPU is slower, and more than closes the gap; with its bandwidth it is faster still
    told = explain(GPU, TPU, "latency").sentences
    assert any("launch overhead" in said and said.endswith("more than closes the gap") for said in told)
    assert any("with the bandwidth" in said and "widens the gap by" in said for said in told)


def test_an_explanation_says_whether_each_has_room():
    small, large = (
        contender("nvidia/t4", 100_000, compute="fp16"),
        contender("nvidia/h200-sxm-141gb", 1, compute="fp16"),
    )
    t4 = next(said for said in explain(small, large, "memory").sentences if said.startswith("t4 has"))
    h200 = next(said for said in explain(small, large, "memory").sentences if said.startswith("h200"))
    assert "does NOT fit" in t4
    assert "% of it is used" in h200
