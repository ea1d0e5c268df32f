"""Insights, explanations, overview, kernel map and breakdown: what they say is what the predictions hold."""

import re
from dataclasses import replace

import numpy as np
import pytest

from rooflint.answers.compare import breakdown, kernel_listing, kernel_map, overview, required, winners, wins
from rooflint.answers.insights import METRICS, caveats, explain, insights
from rooflint.base.units import JOULES, SECONDS, format_quantity
from rooflint.coefficients.library import FREE, Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.prediction.comparison import BALANCE, compare, contend, requirements, shown
from rooflint.prediction.predict import Setting
from rooflint.roofline import kernel_time_s
from rooflint.workloads.tables import load_workload

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
RESNET = load_workload("torchvision/resnet18")
FOUR = ("intel/xeon-8490h", "nvidia/h100-sxm5-80gb", "google/tpu-v4", "stillwater/kpu-t256")


def comparison(*devices, batch=1, compute="bf16", work=RESNET, **setting):
    chosen = Setting(compute, **setting)
    return compare([REGISTRY.get(device) for device in devices], work.at_batch(batch), ENERGIES, chosen)


def cells(grid):
    return {row[0].removeprefix("≈ "): dict(zip(grid.table.columns, row, strict=False)) for row in grid.table.rows}


# ---- overview


def test_a_winner_stands_with_its_own_figure():
    found = comparison(*FOUR)
    rows = cells(winners(found))
    fast, frugal = (found.winner(by) for by in ("latency", "energy"))
    assert (rows["best for latency"]["device"], rows["best for latency"]["figure"]) == (
        fast.short,
        shown(fast.prediction, "latency"),
    )
    assert rows["best for energy"]["figure"] == shown(frugal.prediction, "energy")
    assert rows["best for memory"]["device"] == "all"


def test_a_tie_names_all_that_lead():
    rows = cells(winners(comparison("nvidia/a100-sxm4-80gb", "nvidia/a800-sxm4-80gb")))
    assert rows["best for latency"]["device"] == "tie of 2"
    assert "a100-sxm4-80gb, a800-sxm4-80gb" in rows["best for latency"]["figure"]


def test_multiples_are_of_the_baseline():
    found = comparison(*FOUR)
    base, other = found.able[1], found.able[2]
    row = next(row for row in overview(found, base).table.rows if row[0] == other.short)
    mine, theirs = other.prediction, base.prediction
    assert row[2] == f"{mine.energy_per_sample_j / theirs.energy_per_sample_j:.3g}"
    assert row[4] == f"{mine.latency_s / theirs.latency_s:.3g}"


def test_a_figure_that_lacks_a_term_or_room_is_marked():
    gaudi = cells(overview(comparison("intel/gaudi-2", "nvidia/h100-sxm5-80gb"), None))
    assert gaudi["gaudi-2"]["energy"].startswith("≥ ")
    assert not gaudi["h100-sxm5-80gb"]["energy"].startswith("≥")
    small = comparison(
        "nvidia/l4", "nvidia/h200-sxm-141gb", batch=4096, compute="fp32", work=load_workload("torchvision/vgg16")
    )
    memory = {name: row["memory"] for name, row in cells(overview(small, None)).items()}
    assert memory["l4"].endswith("✗")
    assert not memory["h200-sxm-141gb"].endswith("✗")


def test_a_design_without_silicon_is_marked():
    rows = [row[0] for row in overview(comparison(*FOUR), None).table.rows]
    assert rows == ["xeon-8490h", "h100-sxm5-80gb", "tpu-v4", "≈ kpu-t256"]


def test_the_balanced_device_stands_out():
    found = comparison(*FOUR)
    (place,) = overview(found, None).strong
    assert found.able[place] is found.winner(BALANCE)


def test_requirements_are_shown_met_missed_or_unknown():
    found = comparison("nvidia/h100-sxm5-80gb", "google/tpu-v5p")
    fast = found.able[0].prediction
    wanted = requirements(f"latency<{2e6 * fast.latency_s}us,energy<1J,power<1W")
    rows = cells(required(found, wanted))
    assert list(rows["h100-sxm5-80gb"].values())[1:] == [
        f"✓ {shown(fast, 'latency')}",
        f"✓ {shown(fast, 'energy')}",
        f"✗ {shown(fast, 'power')}",
        "no",
    ]
    assert rows["tpu-v5p"]["energy<1J"] == "? —"
    assert found.meets(requirements("energy<1J")) == (found.able[0],)


# ---- insights


def test_leads_are_ratios_to_the_next():
    found = comparison(*FOUR)
    fast = found.winner("latency")
    second = min(one.prediction.latency_s for one in found.able if one is not fast)
    lead = second / fast.prediction.latency_s
    assert any(
        f"{fast.short} leads" in message and f"by {lead:.3g} × in latency" in message for message in insights(found)
    )


def test_a_trade_off_names_both_and_both_factors():
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
    found = compare(devices, work, ENERGIES, Setting("int8", fuse=True))
    full, gated = (one.prediction.latency_s for one in found.able)
    assert 1 < gated / full < 1.05
    assert any(f"by {100 * (gated / full - 1):.2g} % in latency" in message for message in insights(found))


def test_launches_are_uneven_only_where_some_are_known():
    assert any("launch overhead is not known" in message for message in insights(comparison(*FOUR)))
    assert not any("no launch overhead" in message for message in insights(comparison(*FOUR, launch=FREE)))
    assert not any("no launch overhead" in message for message in insights(comparison(FOUR[0], FOUR[3])))


def test_the_largest_term_is_the_largest():
    found = comparison(*FOUR[:3])
    for one in found.able:
        terms = {term.name: term.total_j for term in one.prediction.energy.terms}
        largest = max(terms, key=terms.get)
        share = terms[largest] / one.prediction.energy_j
        assert any(
            f"{one.short}: {100 * share:.3g} % of its energy is {largest}" in message for message in insights(found)
        )


def test_one_device_has_insights_too():
    assert any("of the peak is attained" in message for message in insights(comparison("nvidia/h100-sxm5-80gb")))


def test_caveats_name_their_device_once():
    found = comparison("nvidia/t4", "intel/gaudi-2", *FOUR)
    told = caveats(found.contenders)
    assert len(told) == len(set(told))
    assert any(message.startswith("nvidia/t4 does not support bf16") for message in told)
    assert any(message.startswith("gaudi-2: energy is a lower bound") for message in told)
    assert any(message.startswith("kpu-t256: its peak is an estimate") for message in told)
    assert all(re.search(r"t4|gaudi-2|xeon-8490h|kpu-t256", message) for message in told)


# ---- kernels


@pytest.mark.parametrize("batch", [1, 8])
def test_the_kernel_map_adds_up_to_the_whole(batch):
    found = comparison(*FOUR[:3], batch=batch, fuse=True)
    for metric, whole in (("energy", "energy_per_sample_j"), ("latency", "latency_s")):
        heat = kernel_map(found.able, metric)
        for column, one in enumerate(found.able):
            total = sum(row[column] for row in heat.values)
            assert total == pytest.approx(getattr(one.prediction, whole), rel=1e-9, abs=0)


def test_kernels_are_won_alone_or_tied():
    heat = kernel_map(comparison("nvidia/a100-sxm4-80gb", "nvidia/a800-sxm4-80gb").able, "latency")
    kinds = RESNET.kinds.tolist()
    assert list(wins(heat, kinds)) == ["a100-sxm4-80gb: 0 of 68", "a800-sxm4-80gb: 0 of 68", "tie: 68 of 68"]


def test_the_map_is_listed_in_base_units():
    heat = kernel_map(comparison(*FOUR[:2]).able, "energy")
    table = kernel_listing(heat, "energy")
    assert table.columns == ("kernel", "xeon-8490h energy_j_per_inference", "h100-sxm5-80gb energy_j_per_inference")
    assert table.rows[0][1:] == heat.values[0]
    assert heat.shown[0][0] == format_quantity(heat.values[0][0], JOULES)


# ---- breakdown


def test_the_bars_of_a_breakdown_add_up():
    found = comparison(*FOUR[:3], batch=4)
    energy, latency, memory, bottlenecks, roofs = breakdown(found.able)
    for bar, one in zip(energy.bars, found.able, strict=True):
        assert bar.value == pytest.approx(one.prediction.energy_per_sample_j, rel=1e-9, abs=0)
    for bar, one in zip(latency.bars, found.able, strict=True):
        assert bar.value == pytest.approx(one.prediction.latency_s, rel=1e-9, abs=0)
    # the CPU's spec does not say how much memory is plugged in
    assert [row[-1] for row in memory.table.rows] == ["capacity not known", "fits", "fits"]
    assert len(roofs.roofs) == len(roofs.points) == 3
    for row, one in zip(bottlenecks.table.rows, found.able, strict=True):
        counts = [int(cell.split()[0]) for cell in row[1:4]]
        assert sum(counts) == int(row[4]) == len(one.prediction.run)


def test_what_does_not_fit_is_said_in_the_breakdown():
    found = comparison("nvidia/t4", batch=100_000, compute="fp16")
    memory = next(section for section in breakdown(found.able) if section.heading == "Memory")
    assert memory.table.rows[0][-1] == "does NOT fit"


def test_each_kernel_is_bound_by_the_longest_of_its_times():
    found = comparison("nvidia/h100-sxm5-80gb", batch=64).able[0].prediction
    times = found.times
    for bound, compute, memory in zip(found.bounds, times.compute_s, times.memory_s, strict=True):
        longest = max(compute, memory, times.overhead_s)
        assert {"compute": compute, "memory": memory, "launch": times.overhead_s}[bound] == longest
    assert {"compute", "memory"} <= set(
        comparison("nvidia/h100-sxm5-80gb", batch=64, launch=FREE).able[0].prediction.bounds
    )


def test_units_and_their_utilization_are_of_the_same_kernels():
    found = comparison("google/tpu-v4").able[0].prediction
    laid, seconds = found.allocation, found.times.kernel_s
    assert sum(share.of_latency for share in found.unit_shares) == pytest.approx(1)
    for share in found.unit_shares:
        same = laid.unit_names == share.kind
        assert share.active == pytest.approx(np.average(laid.units[same], weights=seconds[same]))
        assert share.utilization == pytest.approx(share.active / share.total)
    whole = sum(share.utilization * share.of_latency for share in found.unit_shares)
    assert whole == pytest.approx(found.utilization)


# ---- silicon


def test_a_race_of_two_fidelities_is_told():
    found = comparison(*FOUR, fidelity="silicon")
    (told,) = [message for message in insights(found) if "roofline latency, a lower bound" in message]
    assert told.startswith("xeon-8490h, tpu-v4, kpu-t256: roofline latency, a lower bound")
    assert "calibrated latency of h100-sxm5-80gb" in told
    assert not any("calibrated" in message for message in insights(comparison(*FOUR)))


def test_a_latency_that_stayed_at_the_roofline_is_shown_as_the_least():
    grid = overview(comparison(*FOUR, fidelity="silicon"), None)
    shown_ = {name: row["latency"].startswith("≥ ") for name, row in cells(grid).items()}
    assert shown_ == {"xeon-8490h": True, "h100-sxm5-80gb": False, "tpu-v4": True, "kpu-t256": True}
    assert "≥ roofline latency" in grid.note
    assert "≥" not in overview(comparison(*FOUR), None).note


def test_what_silicon_adds_to_a_roofline_is_told_with_its_parts():
    found = comparison("nvidia/h100-sxm5-80gb", "nvidia/l40s", batch=8, fidelity="silicon")
    (plain,) = comparison("nvidia/l40s", batch=8).able
    times = found.able[1].prediction.latency_s / plain.prediction.latency_s
    assert any(message.startswith(f"l40s takes {times:.3g} × the roofline latency: ") for message in insights(found))


def test_silicon_that_decides_is_told_with_who_would_win_by_the_roofline():
    # small kernels wait for steps and fills, which take clocks: 2.52 GHz against 1.41; the roofline sees the bandwidth
    found = comparison("nvidia/l40s", "nvidia/a100-sxm4-80gb", fuse=True, fidelity="silicon")
    assert found.winner("latency").short == "l40s"
    value = shown(found.at_roofline.winner("latency").prediction, "latency")
    told = f"calibration decides latency: at the roofline a100-sxm4-80gb wins ({value}; --fidelity roofline)"
    assert told in insights(found)


def test_what_is_not_calibrated_is_told_with_its_share():
    found = comparison("nvidia/h100-sxm5-80gb", fidelity="silicon", compute="fp16")
    times = found.able[0].prediction.times
    share = times.kernel_s[times.kernel_models != "product"].sum() / times.latency_s
    (first, second) = caveats(found.contenders)
    assert first.startswith(f"h100-sxm5-80gb: {100 * share:.3g} % of its latency is not calibrated (convolution takes ")
    assert second == "h100-sxm5-80gb: kernel times are calibrated in bf16; in fp16 they use the same constants"


COUNTED = (
    "t4: operations are counted as in a direct convolution: Winograd needs 2.25 to 4 times fewer, so the attained rate "
    "may exceed the peak, and the energy is too high"
)


def test_winograd_is_told_with_what_it_does_to_counted_operations():
    measured = comparison("nvidia/t4", fidelity="silicon", compute="fp32")
    assert COUNTED in caveats(measured.contenders)
    times = measured.able[0].prediction.times
    square = [window[:3] == (3, 3, 1) for window in times.run.windows]
    share = times.kernel_s[(times.kernel_models != "product") & ~np.array(square)].sum() / times.latency_s
    assert caveats(measured.contenders)[0].startswith(f"t4: {100 * share:.3g} % of its latency is not calibrated (")


def test_winograd_on_a_gpu_without_measured_convolutions_is_told():
    told = caveats(comparison("nvidia/l40s", fidelity="silicon", compute="fp32", batch=32).contenders)
    assert "l40s: Winograd was not measured on nvidia/ada-ad102: its error is not known" in told


def test_an_old_op_table_is_told_to_be_timed_without_winograd():
    older = replace(RESNET, windows=())
    told = caveats(comparison("nvidia/t4", work=older, fidelity="silicon", compute="fp32").contenders)
    assert told[-1] == (
        "t4: the op table has no window for 20 convolutions, so they are timed without Winograd; "
        "capture the network again"
    )
    assert COUNTED not in told


# ---- explanations: why two devices differ


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
