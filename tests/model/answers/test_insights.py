"""Insights, caveats and explanations: what they say is what the predictions hold."""

import re
from dataclasses import replace

import pytest

from rooflint.answers.insights import METRICS, _many, caveats, explain, insights
from rooflint.base.units import JOULES, SECONDS, format_quantity
from rooflint.coefficients.library import FREE, Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.prediction.comparison import compare, contend, shown
from rooflint.prediction.predict import Setting
from rooflint.roofline import kernel_time_s
from rooflint.workloads.builders import mlp
from rooflint.workloads.tables import load_workload

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
RESNET = load_workload("torchvision/resnet18")
FOUR = ("intel/xeon-8490h", "nvidia/h100-sxm5-80gb", "google/tpu-v4", "stillwater/kpu-t256")


# ---- insights


def test_leads_are_ratios_to_the_next(comparison):
    found = comparison(*FOUR)
    fast = found.winner("latency")
    second = min(one.prediction.latency_s for one in found.able if one is not fast)
    lead = second / fast.prediction.latency_s
    assert any(
        f"{fast.short} leads" in message and f"by {lead:.3g} × in latency" in message for message in insights(found)
    )


def test_a_trade_off_names_both_and_both_factors(comparison):
    found = comparison("nvidia/l4", "nvidia/h100-sxm5-80gb")
    frugal, fast = found.winner("energy"), found.winner("latency")
    assert frugal is not fast
    less = fast.prediction.energy_per_sample_j / frugal.prediction.energy_per_sample_j
    faster = frugal.prediction.latency_s / fast.prediction.latency_s
    (told,) = [message for message in insights(found) if message.startswith("trade-off")]
    assert told.endswith(
        f"{frugal.short} takes 1/{less:.3g} of the energy of {fast.short}, which is {faster:.3g} × as fast"
    )


def test_a_lead_of_nearly_nothing_is_told_in_percent():
    devices = [REGISTRY.get("nvidia/jetson-agx-orin-64gb"), REGISTRY.get("nvidia/jetson-agx-orin-64gb").at("30w")]
    work = load_workload("torchvision/mobilenet_v2")
    found = compare(devices, work, ENERGIES, Setting("int8", fuse=True, cached=False))
    full, gated = (one.prediction.latency_s for one in found.able)
    assert 1 < gated / full < 1.05
    assert any(f"by {100 * (gated / full - 1):.2g} % in latency" in message for message in insights(found))


def test_launches_are_uneven_only_where_some_are_known(comparison):
    assert any("launch overhead is not known" in message for message in insights(comparison(*FOUR)))
    assert not any("no launch overhead" in message for message in insights(comparison(*FOUR, launch=FREE)))
    assert not any("no launch overhead" in message for message in insights(comparison(FOUR[0], FOUR[3])))


def test_the_largest_term_is_the_largest(comparison):
    found = comparison(*FOUR[:3])
    for one in found.able:
        terms = {term.name: term.total_j for term in one.prediction.energy.terms}
        largest = max(terms, key=terms.get)
        share = terms[largest] / one.prediction.energy_j
        assert any(
            f"{one.short}: {100 * share:.3g} % of its energy is {largest}" in message for message in insights(found)
        )


def test_one_device_has_insights_too(comparison):
    assert any("of the peak is attained" in message for message in insights(comparison("nvidia/h100-sxm5-80gb")))


def test_caveats_name_their_device_once(comparison):
    found = comparison("nvidia/t4", "intel/gaudi-2", *FOUR)
    told = caveats(found.contenders)
    assert len(told) == len(set(told))
    assert any(message.startswith("nvidia/t4 does not support bf16") for message in told)
    assert any(message.startswith("gaudi-2: energy is a lower bound") for message in told)
    assert any(message.startswith("kpu-t256: its peak is an estimate") for message in told)
    assert all(re.search(r"t4|gaudi-2|xeon-8490h|kpu-t256", message) for message in told)


# ---- silicon


def test_a_race_of_two_fidelities_is_told(comparison):
    found = comparison(*FOUR, fidelity="silicon")
    (told,) = [message for message in insights(found) if "roofline latency, a lower bound" in message]
    assert told.startswith("xeon-8490h, tpu-v4, kpu-t256: roofline latency, a lower bound")
    assert "calibrated latency of h100-sxm5-80gb" in told
    assert not any("calibrated" in message for message in insights(comparison(*FOUR)))


def test_what_silicon_adds_to_a_roofline_is_told_with_its_parts(comparison):
    found = comparison("nvidia/h100-sxm5-80gb", "nvidia/l40s", batch=8, fidelity="silicon")
    (plain,) = comparison("nvidia/l40s", batch=8).able
    times = found.able[1].prediction.latency_s / plain.prediction.latency_s
    assert any(message.startswith(f"l40s takes {times:.3g} × the roofline latency: ") for message in insights(found))


def test_silicon_that_decides_is_told_with_who_would_win_by_the_roofline(comparison):
    # small kernels wait for steps and fills, which take clocks: 2.52 GHz against 1.41; the roofline sees the bandwidth
    found = comparison("nvidia/l40s", "nvidia/a100-sxm4-80gb", fuse=True, fidelity="silicon")
    assert found.winner("latency").short == "l40s"
    value = shown(found.at_roofline.winner("latency").prediction, "latency")
    told = f"calibration decides latency: at the roofline a100-sxm4-80gb wins ({value}; --fidelity roofline)"
    assert told in insights(found)


# ---- explanations: why two devices differ


def contender(device, batch=1, **setting):
    return contend(
        REGISTRY.get(device),
        RESNET.at_batch(batch),
        ENERGIES,
        Setting(**{"compute": "bf16", "cached": False, **setting}),
    )


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
    assert any("launch overhead" in message and message.endswith("more than closes the gap") for message in told)
    assert any("with the bandwidth" in message and "widens the gap by" in message for message in told)


def test_an_explanation_says_whether_each_has_room():
    small, large = (
        contender("nvidia/t4", 100_000, compute="fp16"),
        contender("nvidia/h200-sxm-141gb", 1, compute="fp16"),
    )
    t4 = next(message for message in explain(small, large, "memory").sentences if message.startswith("t4 has"))
    h200 = next(message for message in explain(small, large, "memory").sentences if message.startswith("h200"))
    assert "does NOT fit" in t4
    assert "% of it is used" in h200


# ---- two products of 1024 × 1024 at batch 256, worked out by hand: 2 × 256 × 1024² op over 3.148 MB each

PRODUCTS = mlp([1024, 1024, 1024]).at_batch(256)


def small(device, compute="fp16", **setting):
    return contend(REGISTRY.get(device), PRODUCTS, ENERGIES, Setting(compute, **{"cached": False, **setting}))


def test_a_latency_is_explained_by_the_bandwidth_where_both_wait_for_memory():
    # 2 × 3.148 MB at 320 and 300 GB/s are 19.67 and 20.99 µs; both launch twice in 2.1 µs
    assert explain(small("nvidia/t4"), small("nvidia/l4"), "latency").sentences == (
        "l4 takes 1.05 × the time of t4: 25.19 µs vs 23.87 µs",
        "t4: memory 19.67 µs, launch 4.2 µs; 2 of 2 kernels are memory-bound (171 op/B, breakpoint 204)",
        "l4: memory 20.99 µs, launch 4.2 µs; 2 of 2 kernels are memory-bound (171 op/B, breakpoint 404)",
        "with the bandwidth of t4 (320 GB/s) l4 would take 23.87 µs: that alone closes 100 % of the gap",
    )


def test_an_energy_is_explained_term_by_term_and_small_ones_are_summed_up():
    told = explain(small("nvidia/t4"), small("nvidia/l4"), "energy").sentences
    # 36 W × 23.87 µs / 256 and 14.66 W × 25.19 µs / 256; (3.357 − 1.442) of (12.01 − 7.057) uJ
    idle = "idle power: t4 3.357 µJ (36 W × 93.26 ns), l4 1.442 µJ (14.66 W × 98.38 ns); 38.7 % of the difference"
    assert told[:2] == ("l4 takes 1/1.7 of the energy of t4: 7.057 µJ vs 12.01 µJ", idle)
    assert told[2].startswith("datapath: t4 4.783 µJ (4.194 Mop × 1.14 pJ), l4 2.87 µJ (4.194 Mop × 0.6842 pJ)")
    assert "t4 501.6 nJ (32.77 k instructions × 15.31 pJ)" in told[4]
    assert told[6:] == (
        "all other terms: 0.178 % of the difference",
        "t4: 128.8 W by these terms is 1.84 times its 70 W (TDP); it could not hold this rate",
    )


def test_equal_figures_are_said_to_be_equal():
    assert explain(small("nvidia/t4"), small("nvidia/t4"), "energy").sentences[0] == (
        "t4 takes as much energy as t4: 12.01 µJ"
    )


def test_a_term_that_nobody_knows_is_not_called_absent():
    (idle,) = [
        one
        for one in explain(small("intel/gaudi-2", "bf16"), small("nvidia/l4", "bf16"), "energy").sentences
        if one.startswith("idle power")
    ]
    assert idle.startswith("idle power: not known for gaudi-2, l4 1.442 µJ")


def test_a_memory_whose_size_nobody_knows_is_said_to_be_unknown():
    told = explain(small("amd/epyc-9654", "fp32"), small("nvidia/t4", "fp32"), "memory").sentences
    # 4 B × 2 × (1024² + 1024) of weights and 4 B × 256 × 2048 of activations
    assert told == (
        "both need 10.49 MB, which depends on the network and its storage precision alone",
        "weights 8.397 MB, activations at most 2.097 MB (at fc1); activations grow with the batch, weights do not",
        "epyc-9654 has an unknown memory capacity",
        "t4 has 16 GB of gddr6: 0.0656 % of it is used",
    )


def test_utilization_is_told_of_the_units_and_of_the_three_longest_kernels():
    told = explain(small("nvidia/t4"), small("nvidia/l4"), "utilization").sentences
    assert told[:2] == ("t4: 40/40 SM active, time-averaged (100 %)", "l4: 58/58 SM active, time-averaged (100 %)")
    tiles = "40/40 SM, 64 output tiles of 64 × 64 in 2 waves of 40, 24 SM in the last"
    assert told[2:4] == (f"t4, fc1 (50 % of the time): {tiles}", f"t4, fc2 (50 % of the time): {tiles}")
    assert len(explain(GPU, TPU, "utilization").sentences) == 2 + 3 + 3


def test_on_silicon_the_chips_are_exchanged_figure_by_figure():
    gpu = small("nvidia/l40s", "bf16", fidelity="silicon")
    other = small("nvidia/h100-sxm5-80gb", "bf16", fidelity="silicon")
    told = explain(other, gpu, "latency").sentences
    asked = [re.match(r"with the (.*) of (\S+) \((.*)\) l40s would take", one) for one in told[3:]]
    assert {one[1] for one in asked} <= {"bandwidth", "SMs", "rated power"}
    assert [one.groups() for one in asked[:2]] == [
        ("bandwidth", "h100-sxm5-80gb", "3.352 TB/s"),
        ("SMs", "h100-sxm5-80gb", "132 × 2048 MAC at 1.83 GHz"),
    ]
    # a device at the roofline has no SMs to give
    told = explain(small("google/tpu-v4", "bf16"), gpu, "latency").sentences
    assert [one.partition(" of ")[0] for one in told[3:]] == ["with the bandwidth"]


def test_two_devices_whose_published_ranges_overlap_are_told_so():
    told = insights(
        compare(
            [REGISTRY.get(f"nvidia/{one}") for one in ("t4", "l4")], PRODUCTS, ENERGIES, Setting("fp16", cached=False)
        )
    )
    assert told[:4] == (
        "trade-off: l4 takes 1/1.7 of the energy of t4, which is 1.05 × as fast",
        "l4 leads t4 by 1.7 × in energy, but their published ranges overlap (3.741 µJ … 8.352 µJ and "
        "7.045 µJ … 13.28 µJ)",
        "t4 leads l4 by 1.05 × in latency",
        "t4: 128.8 W by these terms is 1.84 times its 70 W (TDP); it could not hold this rate",
    )
    assert "t4: 39.8 % of its energy is datapath (estimate)" in told


@pytest.mark.parametrize("number", [12, 13])
def test_flags_of_more_than_twelve_devices_are_counted(number):
    t4 = REGISTRY.get("nvidia/t4")
    devices = [replace(t4, id=f"nvidia/t4-{place}") for place in range(number)]
    told = insights(compare(devices, PRODUCTS, ENERGIES, Setting("fp16", cached=False)))
    counted = "13 of 13 devices have the red flag 'power'; see rooflint analyze"
    assert (counted in told) is (number == 13)
    assert any("it could not hold this rate" in one for one in told) is (number == 12)


@pytest.mark.parametrize(
    ("count", "unit", "shown_"),
    [
        (1.8e9, "op", "1.8 Gop"),
        (1e6, "B", "1 MB"),
        (999, "B", "999 B"),
        (2000, "instruction", "2 k instructions"),
        (12.5, "request", "12.5 requests"),
    ],
)
def test_long_units_are_written_in_the_plural(count, unit, shown_):
    assert _many(count, unit) == shown_
