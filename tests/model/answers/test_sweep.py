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
from rooflint.workloads.tables import load_workload

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
RESNET = load_workload("torchvision/resnet18")


def swept(*devices, batches=(1, 4, 16, 64), compute=("bf16",)):
    settings = [Setting(name, fuse=True) for name in compute]
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
    setting = Setting("bf16", fuse=True)
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
    setting = Setting(compute, fuse=True)
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
