"""The answers to `sweep`, `models` and `analyze`: what they show is what the predictions hold."""

import pytest

from rooflint.answers.analyze import answer as analysis
from rooflint.answers.sweep import models_answer, sweep_answer
from rooflint.base.units import SECONDS, format_quantity
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.prediction.comparison import contend, requirements, shown
from rooflint.prediction.predict import Setting, predict
from rooflint.prediction.sweep import crossovers, sweep
from rooflint.workloads.builders import mlp
from rooflint.workloads.tables import load_workload

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
RESNET = load_workload("torchvision/resnet18")


def swept(*devices, batches=(1, 4, 16, 64), compute=("bf16",)):
    settings = [Setting(name, fuse=True, cached=False) for name in compute]
    return sweep([REGISTRY.get(device) for device in devices], RESNET, ENERGIES, settings, batches)


def section(found, heading):
    return next(one for one in found.sections if one.heading == heading)


def test_the_best_batch_keeps_the_requirements():
    found = swept("nvidia/h100-sxm5-80gb")
    free = section(sweep_answer(RESNET, found, ()), "Best batch").table.rows[0]
    bound = section(sweep_answer(RESNET, found, requirements("latency<100us")), "Best batch").table.rows[0]
    assert free[1] == "64 or more"
    assert bound[1] == str(found[0].best(requirements("latency<100us")).batch) == "4"
    none = section(sweep_answer(RESNET, found, requirements("latency<1ns")), "Best batch").table.rows[0]
    assert none[1] == "none"


def test_an_overtaking_names_who_overtakes_whom_with_both_figures():
    found = swept("nvidia/h100-sxm5-80gb", "google/tpu-v4")
    (cross,) = crossovers(found, "latency")
    assert cross.winner_after is found[0]
    told = section(sweep_answer(RESNET, found, ()), "Insights").sentences
    (message,) = [one for one in told if "overtakes" in one and "in latency" in one]
    mine, theirs = (shown(one.at(cross.after), "latency") for one in found)
    assert message.startswith("h100-sxm5-80gb overtakes tpu-v4 in latency")
    assert message.index(mine) < message.index(theirs)


def test_where_tensors_outgrow_a_cache_the_fall_of_the_throughput_is_told():
    def told(batches, *, cached):
        settings = [Setting("fp16", cached=cached)]
        found = sweep([REGISTRY.get("nvidia/l4")], RESNET, ENERGIES, settings, batches)
        answer = sweep_answer(RESNET, found, ())
        return found[0].predictions, [one for one in answer.record.insights if "falls" in one]

    (fitting, outgrown), (sentence,) = told((16, 32), cached=True)
    assert outgrown.throughput_per_s < fitting.throughput_per_s
    assert sentence.startswith(
        "l4: throughput falls at batch 32, where tensors no longer fit the 50.33 MB of its largest cache"
    )
    assert told((1, 4, 16), cached=True)[1] == told((16, 32), cached=False)[1] == []


def test_a_pair_leads_by_the_factor_to_the_next():
    found = swept("nvidia/h100-sxm5-80gb", "google/tpu-v4")
    rows = {row[0]: row for row in section(sweep_answer(RESNET, found, ()), "Best device by batch").table.rows}
    fast, slow = found[0].at(64), found[1].at(64)
    assert rows["64"][1] == f"h100-sxm5-80gb {slow.latency_s / fast.latency_s:.3g}×"


def test_what_does_not_fit_is_marked_and_said():
    found = swept("nvidia/jetson-orin-nano-4gb", batches=(1, 8192), compute=("int8",))
    grid = next(one for one in sweep_answer(RESNET, found, ()).sections if one.heading == "jetson-orin-nano-4gb")
    assert [row[0] for row in grid.table.rows] == ["1", "8192 ✗"]
    assert "does not fit in memory: batch 8192" in grid.note


def test_a_device_that_cannot_run_it_has_a_row_with_its_precision():
    found = sweep_answer(RESNET, swept("nvidia/t4", compute=("bf16", "int8")), ())
    rows = [dict(zip(found.listing.columns, row, strict=True)) for row in found.listing.rows]
    assert {(row["compute"], bool(row["not_supported"])) for row in rows} == {("bf16", True), ("int8", False)}


def test_models_count_what_is_flagged():
    device = REGISTRY.get("google/tpu-v4")
    names = ("mobilenet_v2", "resnet50", "vgg16")
    setting = Setting("bf16", fuse=True, cached=False)
    works = [load_workload(f"torchvision/{name}").at_batch(64) for name in names]
    pairs = [(name, contend(device, work, ENERGIES, setting)) for name, work in zip(names, works, strict=True)]
    found = models_answer(pairs, setting, 64, ("nosuch is unknown",))
    padded = [message for message in found.record.insights if "padding" in message]
    assert len(padded) == 1
    assert "mobilenet_v2" in padded[0]
    assert found.record.not_captured == ["nosuch is unknown"]
    assert [row.network for row in found.record.networks] == list(names)


# ---- analysis


def analyzed(device, compute="fp16", batch=8, work=RESNET):
    setting = Setting(compute, fuse=True, cached=False)
    one = contend(REGISTRY.get(device), work.at_batch(batch), ENERGIES, setting)
    single = predict(REGISTRY.get(device), work.at_batch(1), ENERGIES, setting)
    return one.prediction, analysis(one, setting, single, ())


def rows(found, heading):
    return {row[0]: row for row in section(found, heading).table.rows}


def test_the_two_bounds_of_a_latency_stand_beside_each_other():
    prediction, found = analyzed("google/tpu-v4", "bf16", work=load_workload("torchvision/mobilenet_v2"))
    slower = prediction.latency_of_active_units_s
    assert slower > prediction.latency_s
    assert rows(found, "Time")["with active units only"][1] == format_quantity(slower, SECONDS)


def test_padding_is_weighted_by_time():
    prediction, found = analyzed("nvidia/t4")
    weighted = (prediction.allocation.padding * prediction.times.kernel_s).sum() / prediction.latency_s
    assert rows(found, "Units")["padding"][1] == f"{100 * weighted:.3g} %"


@pytest.mark.parametrize(("batch", "message"), [(8, "used"), (100_000, "does NOT fit")])
def test_the_memory_says_whether_it_fits(batch, message):
    _, found = analyzed("nvidia/t4", batch=batch)
    assert message in rows(found, "Memory")["gddr6"][2]


def test_alike_kernels_stand_together_and_their_shares_add_up():
    prediction, found = analyzed("nvidia/h100-sxm5-80gb")
    table = section(found, "Where the time goes").table
    assert any(" identical" in row[0] for row in table.rows)
    assert sum(float(row[2].split()[0]) for row in table.rows) <= 100.5
    longest = format_quantity(float(prediction.times.kernel_s.max()), SECONDS)
    assert table.rows[0][1] == longest


def test_the_ends_of_an_energy_are_around_it():
    _, found = analyzed("nvidia/h100-sxm5-80gb")
    energy = found.record.energy
    assert energy.batch_low_j < energy.batch_j <= energy.batch_high_j
    for term in energy.terms:
        assert term.each_low_j <= term.each_j <= term.each_high_j


def test_fusion_is_said_as_it_was_asked_for():
    _, found = analyzed("nvidia/t4")
    assert "fused" in found.subtitle
    assert "not fused" not in found.subtitle
    assert found.record.fused is True


# ---- one product of 1024 × 1024 in FP16, worked out by hand: 2 × 1024² op and 2 B × (1024² + 1024 + 2048) at batch 1

PRODUCT = mlp([1024, 1024])


def product_on(*devices, batches=(1, 64, 1024), wanted=""):
    found = sweep(
        [REGISTRY.get(device) for device in devices], PRODUCT, ENERGIES, [Setting("fp16", cached=False)], batches
    )
    return sweep_answer(PRODUCT, found, requirements(wanted) if wanted else ())


def test_each_batch_has_a_row_with_its_share_of_the_peak_and_of_perfect_batching():
    # T4: 6.573 µs at 320 GB/s and 2.1 µs a launch; at batch 1024 32.97 µs at 65.13 TFLOP/s;
    # 115 303/s × 1024 would be 118.1 million a second, of which 29.2 are 24.7 %
    grid = section(product_on("nvidia/t4"), "t4")
    assert grid.table.rows == (
        ("1", "8.673 µs", "115,303/s", "448.5 µJ", "100 %", "0.371", "memory"),
        ("64", "9.479 µs", "6,751,625/s", "11.13 µJ", "91.5 %", "21.7", "memory"),
        ("1024", "35.07 µs", "29,195,342/s", "5.19 µJ", "24.7 %", "94", "compute"),
    )
    power, batches = grid.note.split("; ")
    assert power == "power exceeds its limit from batch 64 on, up to 2.16 × the limit"
    assert batches == "batch eff.: throughput over batch × that of batch 1"


def test_who_leads_at_a_batch_leads_by_its_factor_to_the_other():
    # 9.111 / 8.673 = 1.05; 448.5 / 265.5 = 1.69, over 1.05 is 1.61; 35.07 / 23.08 = 1.52, × 5.19 / 2.769 is 2.85
    found = product_on("nvidia/t4", "nvidia/l4")
    assert section(found, "Best device by batch").table.rows == (
        ("1", "t4 1.05×", "l4 1.69×", "l4 1.61×"),
        ("64", "t4 1.05×", "l4 1.7×", "l4 1.61×"),
        ("1024", "l4 1.52×", "l4 1.87×", "l4 2.85×"),
    )
    assert [(one.batch, one.latency.device, one.energy.device) for one in found.record.pairing] == [
        (1, "nvidia/t4", "nvidia/l4"),
        (64, "nvidia/t4", "nvidia/l4"),
        (1024, "nvidia/l4", "nvidia/l4"),
    ]
    assert section(found, "Insights").sentences == (
        "t4: memory-bound up to batch 64, compute-bound from batch 1024 on (56.8 → 341 op/B, breakpoint 204)",
        "l4 overtakes t4 in latency between batch 64 and 1024: 23.08 µs (90.9 % memory) vs 35.07 µs (94 % compute) "
        "at 1024",
    )


def test_equal_devices_are_a_tie():
    found = product_on("nvidia/t4", "nvidia/t4", batches=(1,))
    assert section(found, "Best device by batch").table.rows == (("1", "tie", "tie", "tie"),)
    assert found.record.pairing[0].latency is None


def test_the_best_batch_of_one_is_no_lower_bound():
    assert section(product_on("nvidia/t4", batches=(64,)), "Best batch").table.rows == (
        ("t4", "64", "6,751,625/s", "9.479 µs", "64 (11.13 µJ)"),
    )
    found = product_on("nvidia/t4", "nvidia/l4", wanted="latency<9us")
    grid = section(found, "Best batch")
    assert [row[1:4] for row in grid.table.rows] == [("1", "115,303/s", "8.673 µs"), ("none", "—", "—")]
    assert grid.note.endswith(" within latency<9us")
    assert [(one.best_batch, one.least_energy_batch) for one in found.record.sweeps] == [(1, 1024), (None, 1024)]


def test_curves_have_a_point_for_each_batch():
    found = product_on("nvidia/t4")
    throughput, latency = (section(found, name) for name in ("Throughput", "Latency of a batch"))
    assert throughput.curves[0].x == latency.curves[0].x == (1.0, 64.0, 1024.0)
    assert latency.curves[0].y == pytest.approx((8.6728e-6, 9.4792e-6, 35.0741e-6), rel=1e-5)
    assert throughput.curves[0].y == pytest.approx((115_303, 6_751_625, 29_195_342))
    assert (throughput.y_unit, latency.y_unit) == ("", "s")


def test_networks_on_a_device_are_listed_fastest_first_with_what_is_wrong_with_each():
    # 64² weights wait for their launch; 2 × 2048 × 4096² op take 1.055 ms; 2 × 2^34 B of weights do not fit 16 GB
    t4, setting = REGISTRY.get("nvidia/t4"), Setting("fp16", cached=False)
    works = {"huge": mlp([2**17, 2**17]), "large": mlp([4096, 4096]).at_batch(2048), "small": mlp([64, 64])}
    found = models_answer(
        [(name, contend(t4, work, ENERGIES, setting)) for name, work in works.items()], setting, 1, ()
    )
    assert found.title == "3 networks on nvidia/t4"
    assert section(found, "Networks").table.rows == (
        ("small", "8.192e-06", "2.127 µs", "77.12 µJ", "8.576 kB", "1/40 SM", "0.00591", "launch"),
        ("large", "0.03355", "1.057 ms", "76.24 µJ", "67.12 MB", "40/40 SM", "99.8", "compute"),
        ("huge", "34.36", "107.4 ms", "6.091 J", "34.36 GB ✗", "40/40 SM", "0.491", "memory"),
    )
    assert found.record.insights == [
        "large attains the highest share of the peak: 99.8 %",
        "small attains the lowest: 0.00591 %; it is launch-bound",
        "2 of 3 attain less than 20 % of the peak: huge, small",
        "1 of 3 do not fit the memory: huge",
        "1 of 3 would exceed the power limit: large",
    ]
    alone = models_answer([("small", contend(t4, works["small"], ENERGIES, setting))], setting, 1, ())
    assert len(alone.record.insights) == 2
