"""Figures: of many tables at once they are those of each alone, and those of a plain loop over ops."""

import random
from dataclasses import replace

import numpy as np
import pytest

from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.prediction.figures import QUANTITIES, predict_tables
from rooflint.prediction.predict import SILICON, Setting, predict
from rooflint.workloads.stack import stacked, stacks
from rooflint.workloads.tables import load_workload, workload_ids
from rooflint.workloads.workload import Workload

from .slow_figures import plain

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
NETWORKS = {name: load_workload(name) for name in workload_ids()}
SMALL = ("torchvision/resnet18", "torchvision/mobilenet_v2", "torchvision/vit_b_16", "torchvision/vgg16")
KINDS = ("gpu", "cpu", "tpu", "kpu", "npu", "dsp")
close = {"rel": 1e-12, "abs": 0, "nan_ok": True}


def drawn(seed, count):
    """Devices of all kinds, each with a setting that it supports, and three tables."""
    draw, found = random.Random(seed), []
    devices = {kind: [one for one in REGISTRY.readable() if one.kind == kind] for kind in KINDS}
    while len(found) < count:
        device = draw.choice(devices[KINDS[len(found) % len(KINDS)]])
        point = draw.choice(list(device.points()))
        setting = Setting(draw.choice(["fp32", "bf16", "fp16", "int8"]), draw.choice([None, "fp16", "mxfp6"]))
        setting = replace(setting, launch=draw.choice(["stream", "graph", "free"]), cached=draw.random() < 0.7)
        tables = [NETWORKS[draw.choice(SMALL)].at_batch(draw.choice([1, 3, 32])) for _ in range(3)]
        tables = [table.fused() if draw.random() < 0.5 else table for table in tables]
        try:
            predict(point, tables[0], ENERGIES, setting)
        except RooflintError:
            continue
        found.append((point, setting, tables))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hardware", "setting", "tables"), drawn(seed=15, count=36), ids=lambda one: getattr(one, "label", "")
)
def test_tables_at_once_say_what_a_loop_over_their_ops_says(hardware, setting, tables):
    found = predict_tables(hardware, stacks(tables), ENERGIES, setting)
    for column, table in zip(found.values.T, tables, strict=True):
        one = predict(hardware, table, ENERGIES, setting)
        each = {term.name: term.each.typical for term in one.energy.terms} if one.has("energy") else {}
        figures = dict(zip(QUANTITIES, column, strict=True))
        if one.has("allocation"):
            overhead_s = one.launch.typical if one.launch else 0.0
            expected = plain(hardware, table, one.compute, one.storage, overhead_s, each, cached=setting.cached)
            for name in ("latency_s", "compute_wait_s", "memory_wait_s", "launch_wait_s"):
                assert figures[name] == pytest.approx(expected[name], rel=1e-11, abs=1e-18), name
            assert figures["utilization"] == pytest.approx(expected["busy_s"] / expected["latency_s"], rel=1e-11)
            if each:
                assert figures["energy_j"] == pytest.approx(expected["energy_j"], rel=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("fidelity", ["roofline", SILICON])
def test_each_table_of_a_stack_has_the_figures_that_it_has_alone(fidelity):
    tables = [NETWORKS[name].at_batch(batch) for name in SMALL for batch in (1, 8)]
    for device in ("nvidia/h100-sxm5-80gb", "nvidia/v100-sxm2-16gb", "google/tpu-v4", "intel/xeon-8490h"):
        hardware, setting = REGISTRY.get(device), Setting("fp32", fidelity=fidelity)
        if device == "google/tpu-v4":
            setting = Setting("bf16", fidelity=fidelity)
        found = predict_tables(hardware, [stacked(tables)], ENERGIES, setting)
        for column, table in zip(found.values.T.tolist(), tables, strict=True):
            one = predict(hardware, table, ENERGIES, setting)
            shares = one.shares
            alone = (one.latency_s, *shares.values(), one.energy_j, one.power_w, one.utilization, one.peak_bytes)
            assert column == pytest.approx(list(alone), **close)
            assert list(shares) == ["compute", "memory", "launch"]
            if fidelity != SILICON:
                assert column == list(alone)  # to the bit


def test_how_tables_are_stacked_changes_no_figure():
    tables = [NETWORKS[name].at_batch(batch) for name in SMALL for batch in (1, 8)]
    device, setting = REGISTRY.get("nvidia/t4"), Setting("int8")
    together, apart = (predict_tables(device, stacks(tables, most), ENERGIES, setting) for most in (2**20, 1))
    assert np.array_equal(together.values, apart.values)
    assert together.not_known == apart.not_known == ("",) * 8


def test_a_table_without_data_flow_alone_lacks_its_footprint():
    one, other = NETWORKS[SMALL[0]], NETWORKS[SMALL[1]]
    unknown = Workload.from_ops("no flow", list(other.rows()))
    found = predict_tables(REGISTRY.get("nvidia/t4"), stacks([one, unknown]), ENERGIES, Setting("fp16"))
    assert np.isnan(found.values[-1]).tolist() == [False, True]
    assert found.not_known == ("", "no flow has no footprint: its table does not say which op reads which result")


def test_what_a_device_lacks_is_said_of_each_table():
    energyless = REGISTRY.get("nvidia/t4")
    facts = {path: fact for path, fact in energyless.facts.items() if path != "process"}
    device = replace(energyless, facts=facts)
    found = predict_tables(device, stacks([NETWORKS[SMALL[0]]] * 2), ENERGIES, Setting("fp16"))
    assert np.isnan(found.values[QUANTITIES.index("energy_j")]).all()
    assert found.not_known == ("nvidia/t4: no process node is known, so no energy",) * 2


def test_tables_are_predicted_as_they_are_whatever_the_setting_fuses():
    table, t4 = NETWORKS[SMALL[0]], REGISTRY.get("nvidia/t4")
    fusing, unfusing = (
        predict_tables(t4, [stacked([table])], ENERGIES, Setting("fp16", fuse=fuse)) for fuse in (True, False)
    )
    assert np.array_equal(fusing.values, unfusing.values)
    fused = predict_tables(t4, [stacked([table.fused()])], ENERGIES, Setting("fp16", fuse=True))
    assert fused.values[0, 0] == predict(t4, table, ENERGIES, Setting("fp16", fuse=True)).latency_s


def test_notes_on_launches_and_fidelity_are_no_reason_why_a_figure_is_missing():
    setting = Setting("fp32", fidelity=SILICON)
    m1 = predict_tables(REGISTRY.get("apple/m1"), stacks([NETWORKS[SMALL[0]]]), ENERGIES, setting)
    assert "is that of the roofline" in m1.not_known[0]
    assert "no stream launch overhead of a gpu like apple/m1 is known" in m1.not_known[0]
    assert m1.missing[0].startswith("apple/m1: unknown memory 'lpddr4x'")
    assert "launch" not in m1.missing[0]
    assert "roofline" not in m1.missing[0]
