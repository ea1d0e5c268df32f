"""Typed records of networks on devices: every figure is the model's, and rows of a spreadsheet hold the same."""

import pytest

from rooflint.answers.record import (
    LISTING,
    DeviceRecord,
    RefusedRecord,
    device_record,
    listing,
    run_fields,
    run_text,
    settings_text,
)
from rooflint.answers.record import RunRecord as Run
from rooflint.coefficients.library import FREE
from rooflint.prediction.metrics import red_flags
from rooflint.prediction.predict import Setting


def contender(comparison, device, **setting):
    (one,) = comparison(device, **setting).contenders
    return one


def recorded(comparison, device, **setting):
    one = contender(comparison, device, **setting)
    return one.prediction, device_record(one.label, one.prediction, "")


# ---- how a network was asked to run


@pytest.mark.parametrize(
    ("batch", "setting", "said"),
    [
        (8, Setting("int8", storage="fp32", fuse=True),
         "batch 8, int8 compute, fp32 storage, fused, stream launches"),
        (1, Setting("bf16", launch=FREE), "batch 1, bf16, not fused, no launch overhead"),
        (None, Setting("bf16", launch="graph", fidelity="silicon"),
         "bf16, not fused, graph launches, calibrated kernel times where available"),
    ],
)  # fmt: skip
def test_a_setting_is_said_in_words(batch, setting, said):
    assert run_text(batch, setting) == said


def test_a_setting_is_recorded_with_the_storage_that_follows_from_it():
    assert run_fields(8, Setting("int8", fuse=True)) == {
        "batch": 8, "compute": "int8", "storage": "int8", "fused": True, "launch": "stream", "fidelity": "roofline",
        "cached": True,
    }  # fmt: skip
    assert run_fields(1, Setting("int8", storage="fp32"))["storage"] == "fp32"


# ---- a device


def test_the_figures_of_a_record_are_those_of_the_model(comparison):
    found, one = recorded(comparison, "nvidia/t4", compute="fp16", batch=4)
    for name in ("latency_s", "throughput_per_s", "compute_efficiency", "bandwidth_efficiency", "fits", "bound"):
        assert getattr(one, name) == getattr(found, name)
    assert (one.device, one.name, one.kind, one.operating_point) == ("nvidia/t4", "NVIDIA T4", "gpu", None)
    assert (one.kernels, one.fidelity, one.not_known) == (68, "roofline", {})
    assert one.ops == found.times.ops.sum()
    assert one.bytes_moved == found.times.bytes_moved.sum()
    assert one.intensity_ops_per_byte == pytest.approx(one.ops / one.bytes_moved)
    assert dict(one.waits_s) == pytest.approx(found.shares)
    assert (one.memory.peak_bytes, one.memory.peak_at) == (found.peak_bytes, found.footprint.peak_op)
    assert one.units[0].model_dump() == {
        "kind": found.unit_shares[0].kind,
        "active": found.unit_shares[0].active,
        "total": found.unit_shares[0].total,
        "share_of_latency": found.unit_shares[0].of_latency,
    }
    assert one.utilization == found.utilization
    assert one.latency_of_active_units_s == found.latency_of_active_units_s
    assert [flag.message for flag in one.red_flags] == [flag.message for flag in red_flags(found)]


def test_the_terms_of_an_energy_add_up_to_it(comparison):
    found, one = recorded(comparison, "nvidia/t4", compute="fp16", batch=4)
    energy = one.energy
    assert energy.batch_j == found.energy_j == pytest.approx(4 * energy.per_inference_j)
    assert sum(term.energy_j for term in energy.terms) == pytest.approx(energy.batch_j, rel=1e-12, abs=0)
    assert energy.batch_low_j <= energy.batch_j <= energy.batch_high_j
    assert (energy.batch_low_j, energy.batch_high_j) == found.energy.ends_j
    assert energy.left_out == []
    for term, own in zip(energy.terms, found.energy.terms, strict=True):
        assert term.events * term.each_j == pytest.approx(term.energy_j)
        assert (term.each_low_j, term.each_high_j, term.basis) == (own.each.low, own.each.high, own.each.basis)


def test_what_is_not_known_is_null_with_its_reason(comparison):
    found, one = recorded(comparison, "intel/gaudi-2")
    assert one.not_known == dict(found.reasons) != {}
    for part, value in (("energy", one.energy), ("allocation", one.units), ("footprint", one.memory)):
        assert (value is not None) == found.has(part)
    assert (one.utilization is None) == (one.latency_of_active_units_s is None) == (not found.has("allocation"))


def test_a_device_that_cannot_run_the_network_has_a_reason():
    assert device_record("nvidia/t4", None, "no bf16") == RefusedRecord(device="nvidia/t4", not_supported="no bf16")


# ---- rows


def test_a_row_has_the_run_and_the_figures_of_its_device(comparison):
    _, one = recorded(comparison, "nvidia/t4", compute="fp16", batch=4)
    run = Run(**run_fields(4, Setting("fp16")))
    table = listing([(run, one), (run, RefusedRecord(device="x", not_supported="why"))], network=["a", "b"])
    assert table.columns == ("network", *LISTING)
    first, second = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert first == {
        **{"network": "a", "device": "nvidia/t4", **run.model_dump(exclude={"policy"}), "not_supported": None},
        **{name: getattr(one, name) for name in LISTING if name in DeviceRecord.model_fields},
        "energy_per_inference_j": one.energy.per_inference_j, "power_w": one.energy.power_w, "energy_complete": True,
        "peak_memory_bytes": one.memory.peak_bytes,
    }  # fmt: skip
    assert {name: value for name, value in second.items() if value is not None} == {
        "network": "b", "device": "x", **run.model_dump(exclude={"policy"}), "not_supported": "why",
    }  # fmt: skip


def test_an_energy_that_lacks_a_term_is_not_complete(comparison):
    run = Run(**run_fields(1, Setting("bf16")))
    for device, complete in (("intel/gaudi-2", False), ("nvidia/h100-sxm5-80gb", True)):
        (row,) = listing([(run, recorded(comparison, device)[1])]).rows
        assert dict(zip(LISTING, row, strict=True))["energy_complete"] is complete


def test_settings_that_differ_in_precision_are_told_once():
    settings = [Setting(name, fuse=True) for name in ("w4a16", "bf16", "w4a16")]
    assert settings_text(settings) == "w4a16, bf16, fused, stream launches"
    assert settings_text(settings[:1]) == "w4a16 (weights 4.125 bit, cache bf16), fused, stream launches"
