"""A comparison told: overview, winners, breakdown, kernel map, requirements, next steps and the record of them."""

import numpy as np
import pytest

from rooflint.answers.compare import (
    Question,
    answer,
    breakdown,
    kernel_listing,
    kernel_map,
    overview,
    required,
    winners,
    wins,
)
from rooflint.base.units import BYTES, JOULES, SECONDS, format_quantity
from rooflint.coefficients.library import FREE
from rooflint.output.sections import Grid, Heat, Table
from rooflint.prediction.comparison import BALANCE, requirements, shown
from rooflint.workloads.tables import load_workload

RESNET = load_workload("torchvision/resnet18")
FOUR = ("intel/xeon-8490h", "nvidia/h100-sxm5-80gb", "google/tpu-v4", "stillwater/kpu-t256")


def cells(grid):
    return {row[0].removeprefix("≈ "): dict(zip(grid.table.columns, row, strict=False)) for row in grid.table.rows}


# ---- overview


def test_a_winner_stands_with_its_own_figure(comparison):
    found = comparison(*FOUR)
    rows = cells(winners(found))
    fast, frugal = (found.winner(by) for by in ("latency", "energy"))
    assert (rows["best for latency"]["device"], rows["best for latency"]["figure"]) == (
        fast.short,
        shown(fast.prediction, "latency"),
    )
    assert rows["best for energy"]["figure"] == shown(frugal.prediction, "energy")
    assert rows["best for memory"]["device"] == "all"


def test_a_tie_names_all_that_lead(comparison):
    rows = cells(winners(comparison("nvidia/a100-sxm4-80gb", "nvidia/a800-sxm4-80gb")))
    assert rows["best for latency"]["device"] == "tie of 2"
    assert "a100-sxm4-80gb, a800-sxm4-80gb" in rows["best for latency"]["figure"]


def test_multiples_are_of_the_baseline(comparison):
    found = comparison(*FOUR)
    base, other = found.able[1], found.able[2]
    row = next(row for row in overview(found, base).table.rows if row[0] == other.short)
    mine, theirs = other.prediction, base.prediction
    assert row[2] == f"{mine.energy_per_sample_j / theirs.energy_per_sample_j:.3g}"
    assert row[4] == f"{mine.latency_s / theirs.latency_s:.3g}"


def test_a_figure_that_lacks_a_term_or_room_is_marked(comparison):
    gaudi = cells(overview(comparison("intel/gaudi-2", "nvidia/h100-sxm5-80gb"), None))
    assert gaudi["gaudi-2"]["energy"].startswith("≥ ")
    assert not gaudi["h100-sxm5-80gb"]["energy"].startswith("≥")
    small = comparison("nvidia/l4", "nvidia/h200-sxm-141gb", batch=4096, compute="fp32", work="vgg16")
    memory = {name: row["memory"] for name, row in cells(overview(small, None)).items()}
    assert memory["l4"].endswith("✗")
    assert not memory["h200-sxm-141gb"].endswith("✗")


def test_a_design_without_silicon_is_marked(comparison):
    rows = [row[0] for row in overview(comparison(*FOUR), None).table.rows]
    assert rows == ["xeon-8490h", "h100-sxm5-80gb", "tpu-v4", "≈ kpu-t256"]


def test_the_balanced_device_stands_out(comparison):
    found = comparison(*FOUR)
    (place,) = overview(found, None).strong
    assert found.able[place] is found.winner(BALANCE)


def test_requirements_are_shown_met_missed_or_unknown(comparison):
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


# ---- kernels


@pytest.mark.parametrize("batch", [1, 8])
def test_the_kernel_map_adds_up_to_the_whole(comparison, batch):
    found = comparison(*FOUR[:3], batch=batch, fuse=True)
    for metric, whole in (("energy", "energy_per_sample_j"), ("latency", "latency_s")):
        heat = kernel_map(found.able, metric)
        for column, one in enumerate(found.able):
            total = sum(row[column] for row in heat.values)
            assert total == pytest.approx(getattr(one.prediction, whole), rel=1e-9, abs=0)


def test_kernels_are_won_alone_or_tied(comparison):
    heat = kernel_map(comparison("nvidia/a100-sxm4-80gb", "nvidia/a800-sxm4-80gb").able, "latency")
    kinds = RESNET.kinds.tolist()
    assert list(wins(heat, kinds)) == ["a100-sxm4-80gb: 0 of 68", "a800-sxm4-80gb: 0 of 68", "tie: 68 of 68"]


def test_the_map_is_listed_in_base_units(comparison):
    heat = kernel_map(comparison(*FOUR[:2]).able, "energy")
    table = kernel_listing(heat, "energy")
    assert table.columns == ("kernel", "xeon-8490h energy_j_per_inference", "h100-sxm5-80gb energy_j_per_inference")
    assert table.rows[0][1:] == heat.values[0]
    assert heat.shown[0][0] == format_quantity(heat.values[0][0], JOULES)


# ---- breakdown


def test_the_bars_of_a_breakdown_add_up(comparison):
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


def test_what_does_not_fit_is_said_in_the_breakdown(comparison):
    found = comparison("nvidia/t4", batch=100_000, compute="fp16")
    memory = next(section for section in breakdown(found.able) if section.heading == "Memory")
    assert memory.table.rows[0][-1] == "does NOT fit"


def test_each_kernel_is_bound_by_the_longest_of_its_times(comparison):
    found = comparison("nvidia/h100-sxm5-80gb", batch=64).able[0].prediction
    times = found.times
    for bound, compute, memory in zip(found.bounds, times.compute_s, times.memory_s, strict=True):
        longest = max(compute, memory, times.overhead_s)
        assert {"compute": compute, "memory": memory, "launch": times.overhead_s}[bound] == longest
    assert {"compute", "memory"} <= set(
        comparison("nvidia/h100-sxm5-80gb", batch=64, launch=FREE).able[0].prediction.bounds
    )


def test_units_and_their_utilization_are_of_the_same_kernels(comparison):
    found = comparison("google/tpu-v4").able[0].prediction
    laid, seconds = found.allocation, found.times.kernel_s
    assert sum(share.of_latency for share in found.unit_shares) == pytest.approx(1)
    for share in found.unit_shares:
        same = laid.unit_names == share.kind
        assert share.active == pytest.approx(np.average(laid.units[same], weights=seconds[same]))
        assert share.utilization == pytest.approx(share.active / share.total)
    whole = sum(share.utilization * share.of_latency for share in found.unit_shares)
    assert whole == pytest.approx(found.utilization)


def test_a_latency_that_stayed_at_the_roofline_is_shown_as_the_least(comparison):
    grid = overview(comparison(*FOUR, fidelity="silicon"), None)
    shown_ = {name: row["latency"].startswith("≥ ") for name, row in cells(grid).items()}
    assert shown_ == {"xeon-8490h": True, "h100-sxm5-80gb": False, "tpu-v4": True, "kpu-t256": True}
    assert "≥ roofline latency" in grid.note
    assert "≥" not in overview(comparison(*FOUR), None).note


# ---- details of the overview, worked out from the predictions


def test_each_criterion_has_a_row_with_its_figure(comparison):
    found = comparison(*FOUR)
    tpu = found.able[2].prediction
    figures = {by: shown(tpu, by) for by in ("energy", "latency", "throughput", "memory")}
    assert winners(found, "a note") == Grid(
        "Winners",
        Table(
            ("", "device", "figure"),
            (
                ("best for energy", "tpu-v4", figures["energy"]),
                ("best for latency", "tpu-v4", figures["latency"]),
                ("best for throughput", "tpu-v4", figures["throughput"]),
                ("best for memory", "all",
                 f"{figures['memory']}: depends on the network and its storage precision only"),
                ("best for balance", "tpu-v4", f"{figures['energy']} × {figures['latency']}"),
            ),
        ),
        "a note; with free launches: latency h100-sxm5-80gb, energy h100-sxm5-80gb",
    )  # fmt: skip


def test_what_is_not_known_for_any_device_has_no_winner(comparison):
    rows = cells(winners(comparison("intel/gaudi-2")))
    assert rows["best for energy"]["device"] == "—"
    assert rows["best for energy"]["figure"] == "energy is not known for any device that fits the network"
    assert rows["best for latency"]["device"] == "gaudi-2"
    assert rows["best for memory"]["device"] == "gaudi-2"  # one device is not all of them


def test_the_figures_of_a_device_stand_in_a_row(comparison):
    found = comparison(*FOUR)
    grid, one = overview(found, None), found.able[1].prediction
    assert grid.table.columns == ("device", "energy", "latency", "memory", "power", "units", "peak %")
    assert grid.table.rows[1] == (
        "h100-sxm5-80gb", *(shown(one, by) for by in ("energy", "latency", "memory", "power")), one.units,
        f"{100 * one.compute_efficiency:.3g}",
    )  # fmt: skip
    assert grid.note == (
        "energy per inference; units: time-averaged active units; ▸ least energy × latency; power: the sum of the "
        "terms, which for some is above their rated power (see Insights); ≈ peak is an estimate; "
        "peak %: attained over dense peak"
    )


def test_power_above_the_rated_power_is_explained_below_the_table(comparison):
    # the terms of ResNet-18 in bf16 are less than an H100's 700 W; a T4's in fp16 at batch 16 are more than its 70 W
    cool, hot = comparison(FOUR[1]), comparison("nvidia/t4", batch=16, compute="fp16")
    assert cool.able[0].prediction.over_limit < 1 < hot.able[0].prediction.over_limit
    said = "power: the sum of the terms, which for some is above their rated power (see Insights)"
    assert said in overview(hot, None).note and said not in overview(cool, None).note


def test_a_missing_energy_term_is_explained_below_the_table(comparison):
    assert "≥ an energy term is missing" in overview(comparison("intel/gaudi-2", FOUR[1]), None).note
    assert "≥" not in overview(comparison(FOUR[1]), None).note
    assert "≈" not in overview(comparison(FOUR[1]), None).note


def test_beside_a_baseline_each_figure_has_its_multiple(comparison):
    found = comparison(*FOUR)
    grid, base = overview(found, found.able[1]), found.able[1].prediction
    assert grid.table.columns == ("device", "energy", "×", "latency", "×", "memory", "×", "units")
    assert grid.note.endswith("; ×: relative to h100-sxm5-80gb")
    assert grid.table.rows[1] == (
        "h100-sxm5-80gb", shown(base, "energy"), "1", shown(base, "latency"), "1", shown(base, "memory"), "1",
        base.units,
    )  # fmt: skip
    assert [row[0] for row in grid.table.rows] == ["xeon-8490h", "h100-sxm5-80gb", "tpu-v4", "≈ kpu-t256"]
    assert [found.able[place].short for place in grid.strong] == ["tpu-v4"]


def test_a_baseline_that_cannot_run_the_network_or_lacks_a_figure_has_no_multiple(comparison):
    refused = comparison("nvidia/t4", FOUR[1])
    assert refused.contenders[0].found is None
    (row,) = overview(refused, refused.contenders[0]).table.rows
    assert (row[2], row[4], row[6]) == ("—", "—", "—")


def test_the_note_of_requirements_counts_who_meets_them(comparison):
    found = comparison(*FOUR)
    grid = required(found, requirements("energy<50mJ,latency<200us"))
    assert grid.table.columns == ("device", "energy<50mJ", "latency<200us", "all")
    assert grid.note == "xeon-8490h, h100-sxm5-80gb, tpu-v4 meet all of them"
    assert grid.strong == (0, 1, 2)
    assert [row[-1] for row in grid.table.rows] == ["yes", "yes", "yes", "no"]
    assert required(found, requirements("latency<100us")).note == "tpu-v4 meets all of them"
    assert required(found, requirements("latency<1us")).note == "no device meets all of them"


# ---- details of the breakdown and of the kernel map


def test_sections_of_a_breakdown_say_what_they_show(comparison):
    found = comparison(*FOUR[:3], batch=4)
    energy, latency, memory, bottlenecks, roofs = breakdown(found.able)
    assert (energy.heading, energy.note) == ("Energy by cause", "per inference; the parts add up to the whole")
    assert latency.heading == "Latency by bottleneck"
    assert memory.table.columns == ("device", "peak", "activations", "weights", "at", "")
    one = found.able[1].prediction
    sizes = [format_quantity(size, BYTES) for size in (one.peak_bytes, one.activation_bytes, one.weight_bytes)]
    assert memory.table.rows[1] == ("h100-sxm5-80gb", *sizes, one.footprint.peak_op, "fits")
    assert bottlenecks.table.columns == ("device", "compute-bound", "memory-bound", "launch-bound", "kernels")
    assert bottlenecks.note == "each kernel is bound by the longest of its three times"
    assert (roofs.heading, [roof.name for roof in roofs.roofs]) == ("Roofline", [one.short for one in found.able])
    assert roofs.note == "the whole network; launch overhead and mixed bounds keep it below its roof"


def test_bottlenecks_are_counted_with_their_share_of_the_kernels(comparison):
    (row,) = list(breakdown(comparison(FOUR[1]).able))[3].table.rows
    assert row == ("h100-sxm5-80gb", "0 (0 %)", "0 (0 %)", "68 (100 %)", "68")


def test_the_kernel_map_names_kernels_and_writes_each_figure_in_its_unit(comparison):
    able = comparison(*FOUR[:2]).able
    for metric, dimension in (("latency", SECONDS), ("energy", JOULES)):
        heat = kernel_map(able, metric)
        assert (heat.heading, heat.note) == (f"Kernels by {metric}", "lower is better")
        assert heat.rows[0] == f"{RESNET.op_names[0]} (conv2d)"
        assert heat.columns == ("xeon-8490h", "h100-sxm5-80gb")
        assert heat.shown[0] == tuple(format_quantity(value, dimension) for value in heat.values[0])
    assert kernel_listing(kernel_map(able, "latency"), "latency").columns[1] == "xeon-8490h latency_s"


def test_kinds_of_kernels_that_a_device_wins_are_listed_from_the_most():
    values = ((1.0, 2.0), (1.0, 3.0), (2.0, 1.0), (1.0, None), (1.0, 1.0), (None, None), (1.0, 9.0))
    heat = Heat("", tuple("abcdefg"), ("one", "two"), values, ())
    assert list(wins(heat, ["relu", "conv", "conv", "conv", "relu", "relu", "add"])) == [
        "one: 4 of 7 (2 conv, 1 add, 1 relu)",
        "two: 1 of 7 (1 conv)",
        "tie: 2 of 7",
    ]
    alone = Heat("", ("a",), ("one",), ((1.0,),), ())
    assert list(wins(alone, ["relu"])) == ["one: 1 of 1 (1 relu)"]


# ---- the answer


def headings(found):
    return [one.heading for one in found.sections]


def section(found, heading):
    (one,) = [one for one in found.sections if one.heading == heading]
    return one


def test_an_answer_is_headed_by_the_network_the_devices_and_the_setting(comparison):
    told = answer(comparison(*FOUR), Question())
    assert told.title == "torchvision/resnet18 on 4 devices"
    assert told.subtitle == "batch 1, bf16, not fused, stream launches, every byte from memory; roofline latency"
    single = answer(comparison(FOUR[1], batch=8, fidelity="silicon"), Question())
    assert single.title == "torchvision/resnet18 on 1 device"
    assert single.subtitle.endswith("; calibrated latency where available")


def test_devices_that_were_cut_are_counted(comparison):
    assert answer(comparison(*FOUR).sorted_by("latency", 2), Question()).title.endswith(" on 2 of 4 devices")


@pytest.mark.parametrize(
    ("level", "more"),
    [
        ("summary", ["Next steps"]),
        ("detailed", ["Energy by cause", "Latency by bottleneck", "Memory", "Bottlenecks", "Roofline"]),
        ("subgraph", ["Kernels by energy", "Kernel wins by device"]),
    ],
)
def test_each_level_of_detail_has_its_own_sections(comparison, level, more):
    found = answer(comparison(*FOUR), Question(level=level))
    assert [one.heading for one in found.written] == ["Winners", "Comparison", "Limitations", "Insights", *more]
    assert section(found, "Winners").note == "with free launches: latency h100-sxm5-80gb, energy h100-sxm5-80gb"
    assert section(found, "Limitations").sentences == tuple(found.record.caveats)
    assert section(found, "Insights").sentences == tuple(found.record.insights)


def test_a_summary_has_charts_where_they_can_be_drawn(comparison):
    found = answer(comparison(*FOUR), Question())
    charts = [one for one in found.sections if one not in [*found.written]]
    assert [one.heading for one in charts] == ["Latency by bottleneck", "Roofline"]
    assert (
        [bar.label for bar in charts[0].bars]
        == [roof.name for roof in charts[1].roofs]
        == [one.short for one in comparison(*FOUR).able]
    )
    assert "Latency by bottleneck" not in str(found)


def test_winners_are_of_those_that_meet_the_requirements(comparison):
    found = comparison(*FOUR)
    told = answer(found, Question(wanted=tuple(requirements("latency>170us"))))
    assert section(told, "Winners").note == "among devices that meet all requirements"
    assert told.record.requirements == ["latency>170us"]
    slow = [one.label for one in found.able if one.prediction.latency_s > 170e-6]
    assert told.record.meeting_all == slow == ["intel/xeon-8490h", "stillwater/kpu-t256"]
    assert told.record.winners["latency"] == ["intel/xeon-8490h"]
    none = answer(found, Question(wanted=tuple(requirements("latency<1us"))))
    assert "Winners" not in headings(none)
    assert "Requirements" in headings(none)


def test_next_steps_look_at_the_fastest_and_another(comparison):
    told = answer(comparison(*FOUR), Question(options=" -p int8"))
    assert section(told, "Next steps").sentences == (
        "rooflint compare resnet18 --explain tpu-v4 xeon-8490h -p int8",
        "rooflint analyze resnet18 tpu-v4 -p int8",
        "rooflint compare resnet18 -d xeon-8490h,h100-sxm5-80gb,tpu-v4,kpu-t256 --level subgraph -p int8",
    )
    timed = answer(comparison(*FOUR), Question(metric="latency"))
    first = section(timed, "Next steps").sentences[0]
    assert first == "rooflint compare resnet18 --explain tpu-v4 xeon-8490h --metric latency"
    single = answer(comparison(FOUR[1]), Question())
    assert section(single, "Next steps").sentences == ("rooflint analyze resnet18 h100-sxm5-80gb",)


def test_next_steps_take_the_fastest_before_the_most_frugal_and_name_up_to_six_devices(comparison):
    pair = comparison("nvidia/l4", FOUR[1])
    fast, frugal = (pair.winner(by).typed for by in ("latency", "energy"))
    told = section(answer(pair, Question()), "Next steps").sentences
    assert fast != frugal
    assert told[0] == f"rooflint compare resnet18 --explain {fast} {frugal}"
    seven = comparison(*FOUR, "nvidia/l4", "nvidia/l40s", "nvidia/a10")
    last = section(answer(seven, Question()), "Next steps").sentences[-1]
    assert last == "rooflint compare resnet18 --level subgraph"
    six = comparison(*FOUR, "nvidia/l4", "nvidia/l40s")
    assert ",l40s --level subgraph" in section(answer(six, Question()), "Next steps").sentences[-1]


def test_an_explanation_stands_alone_with_the_bars_side_by_side(comparison):
    found = comparison(*FOUR)
    pair = (found.able[1], found.able[2])
    told = answer(found, Question(explained=pair, metric="energy"))
    assert headings(told) == ["Why tpu-v4 differs from h100-sxm5-80gb in energy", "Side by side"]
    bars = section(told, "Side by side").bars
    assert told.sections[0].sentences == tuple(told.record.explanation.sentences)
    assert told.record.explanation.of == ["nvidia/h100-sxm5-80gb", "google/tpu-v4"]
    assert told.record.explanation.metric == "energy"
    assert told.listing.columns == ("device", "part", "j_per_inference")
    assert told.listing.rows == tuple((bar.label, part.name, part.value) for bar in bars for part in bar.parts)
    in_time = answer(found, Question(explained=(found.able[1], found.able[3]), metric="latency"))
    assert in_time.listing.columns == ("device", "part", "s")
    assert headings(in_time)[-1] == "Limitations"  # kpu-t256 is an estimate


def test_the_record_has_only_what_was_asked_for(comparison):
    found = comparison(*FOUR)
    plain = answer(found, Question()).record
    assert (plain.baseline, plain.requirements, plain.meeting_all, plain.explanation, plain.kernels) == (None,) * 5
    assert [one.device for one in plain.devices] == list(FOUR)
    assert plain.winners["energy"] == ["google/tpu-v4"]
    assert plain.winners["memory"] == list(FOUR)
    free = found.without_launches
    assert plain.winners_without_launches == {by: free.winner(by).label for by in ("energy", "latency")}
    assert plain.winners_without_launches["latency"] == "nvidia/h100-sxm5-80gb"
    assert plain.winners_at_roofline == {}
    assert answer(found, Question(baseline=found.able[0])).record.baseline == "intel/xeon-8490h"


def test_calibration_that_decides_is_recorded(comparison):
    found = comparison("nvidia/l40s", "nvidia/a100-sxm4-80gb", fuse=True, fidelity="silicon")
    assert answer(found, Question()).record.winners_at_roofline["latency"] == "nvidia/a100-sxm4-80gb"


def test_the_listing_is_of_devices_or_of_kernels(comparison):
    found = comparison(*FOUR[:2])
    devices = answer(found, Question()).listing
    assert [row[0] for row in devices.rows] == list(FOUR[:2])
    kernels = answer(found, Question(level="subgraph", metric="latency"))
    heat = section(kernels, "Kernels by latency")
    assert kernels.listing == kernel_listing(heat, "latency")
    first = kernels.record.kernels[0]
    assert (first.kernel, first.values) == (heat.rows[0], dict(zip(heat.columns, heat.values[0], strict=True)))


def test_where_no_device_can_run_the_network_its_reason_is_all(comparison):
    told = answer(comparison("nvidia/t4"), Question())
    assert headings(told) == ["Limitations"]
    assert told.record.insights == []
    assert told.record.caveats[0].startswith("nvidia/t4 does not support bf16")
