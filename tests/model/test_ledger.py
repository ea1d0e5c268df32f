"""The ledger: what stands in it, that it is the same each time, and that it is what predict says."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflint.basis import Energies
from rooflint.coefficients import Coefficients
from rooflint.hardware import UndisclosedError, UnsupportedError
from rooflint.ledger import PRECISIONS, QUANTITIES, RUNS, Key, Ledger, points, record, tables
from rooflint.ledger_file import as_bytes
from rooflint.prediction import NotKnownError, Setting, predict
from rooflint.specs import Registry
from rooflint.workload import Op, Workload
from rooflint.workload_tables import load_workload

DEVICES = (
    "google/tpu-v4",
    "hailo/hailo-8",
    "intel/xeon-8490h",
    "nvidia/jetson-agx-orin-64gb",
    "nvidia/t4",
    "stillwater/kpu-t64",
)
NETWORKS = ("torchvision/resnet18", "torchvision/vit_b_16")


def ledger() -> Ledger:
    registry = Registry()
    works = tables(map(load_workload, NETWORKS))
    return record(map(registry.get, DEVICES), works, Energies(Coefficients(registry)))


LEDGER = ledger()
ROWS = {row.key: row for row in LEDGER.rows()}

# ---- the matrix


def test_every_device_stands_in_it_at_its_own_and_at_every_operating_point():
    orin = Registry().get("nvidia/jetson-agx-orin-64gb")
    found = {key.at for key in LEDGER.keys if key.device == orin.id}
    assert found == {"", *orin.operating_points}
    assert len(list(points(orin))) == len(found)


def test_every_combination_has_a_row_supported_or_not():
    places = {(key.device, key.at) for key in LEDGER.keys}
    assert len(LEDGER) == len(places) * len(NETWORKS) * len(PRECISIONS) * len(RUNS)
    assert len(set(LEDGER.keys)) == len(LEDGER)


def test_what_a_device_does_not_support_is_counted_with_its_reason():
    refused = [one for one in ROWS.values() if one.not_supported]
    assert len(refused) == len(LEDGER) - LEDGER.supported > 0
    assert all(all(map(math.isnan, one.values)) for one in refused)
    tpu = ROWS[Key("google/tpu-v4", "", NETWORKS[0], "fp16", 1, False)]
    assert tpu.not_supported.startswith("google/tpu-v4 does not support fp16")
    hailo = ROWS[Key("hailo/hailo-8", "", NETWORKS[0], "int8", 1, False)]
    assert hailo.not_supported


def test_what_is_not_known_is_nan_and_has_its_reason():
    for one in ROWS.values():
        unknown = any(map(math.isnan, one.values)) and not one.not_supported
        assert not unknown or one.not_known


def test_a_network_that_cannot_be_fused_is_counted_with_its_reason():
    lonely = Workload.from_ops("lonely", [Op("fc", "linear", 4, 0, 2, 4, 2, 1, 2, 2, 1)])
    assert lonely.flow is None
    works = tables([lonely])
    assert [bool(work.refused) for work in works] == [fused for _, fused in RUNS]
    registry = Registry()
    found = record([registry.get("nvidia/t4")], works, Energies(Coefficients(registry)), ["fp32"])
    assert [reason.startswith("lonely cannot be fused") for reason in found.not_supported] == [
        key.fused for key in found.keys
    ]


def test_waits_add_up_to_the_latency_and_power_is_energy_over_it():
    latency = LEDGER.column("latency_s")
    waits = sum(LEDGER.column(f"{cause}_wait_s") for cause in ("compute", "memory", "launch"))
    np.testing.assert_allclose(waits, latency, rtol=1e-12)
    np.testing.assert_allclose(LEDGER.column("power_w") * latency, LEDGER.column("energy_j"), rtol=1e-12)


def test_the_same_specs_give_the_same_bytes():
    assert as_bytes(ledger()) == as_bytes(LEDGER)


# ---- the slow twin: read everything anew, ask for one prediction as a user does


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(LEDGER.keys))
def test_a_row_is_what_predict_says_when_everything_is_read_anew(key):
    registry = Registry()
    device = registry.get(key.device)
    network = load_workload(key.network).at_batch(key.batch)
    setting = Setting(key.precision, fuse=key.fused)
    said = ROWS[key]
    try:
        found = predict(device.at(key.at) if key.at else device, network, Energies(Coefficients(registry)), setting)
    except (UnsupportedError, UndisclosedError) as error:
        assert (said.not_supported, all(map(math.isnan, said.values))) == (str(error), True)
        return
    figures = dict(zip(QUANTITIES, said.values, strict=True))
    assert figures["latency_s"] == found.latency_s
    assert [figures[f"{cause}_wait_s"] for cause in ("compute", "memory", "launch")] == list(found.shares.values())
    for quantity, name in (
        ("energy_j", "energy_j"),
        ("utilization", "utilization"),
        ("peak_memory_bytes", "peak_bytes"),
    ):
        try:
            assert figures[quantity] == getattr(found, name)
        except NotKnownError as error:
            assert math.isnan(figures[quantity])
            assert str(error) in said.not_known
