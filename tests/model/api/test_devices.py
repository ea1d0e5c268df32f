"""Devices of the Python API: peaks and bandwidths by hand, names, and what a device is good for in a program."""

import copy
import pickle

import pytest

import rooflint as rl

UNITS = """\
name: One <b>
kind: gpu
scope: chip
sources: {wp: {document: White paper, grade: quoted}}
units:
  tensor_core:
    group: SM
    groups: [10, wp, p. 1]
    per_group: [4, wp, p. 1]
    clock: [1 GHz, wp, p. 2]
    macs_per_clock: {fp16: [100 MAC, wp, p. 3]}
    sparsity: {fp16: [2, wp, p. 3]}
  cuda_core:
    group: SM
    groups: [10, wp, p. 1]
    per_group: [32, wp, p. 1]
    clock: [1 GHz, wp, p. 2]
    macs_per_clock: {fp16: [2 MAC, wp, p. 3], fp32: [1 MAC, wp, p. 3]}
memories:
  hbm: {capacity: [8 GB, wp, p. 4], bus: [1024 bit, wp, p. 4], pin_rate: [2 Gbit/s, wp, p. 4]}
"""


@pytest.fixture
def one(specs):
    specs.write("acme/one", UNITS)
    return rl.device("acme/one", specs=[specs.root])


def test_the_peak_is_that_of_the_fastest_unit(one):
    # 10 SM × 4 × 100 MAC × 2 op/MAC × 1 GHz = 8 TFLOP/s; CUDA cores have 10 × 32 × 2 × 2 × 1 GHz = 1.28 TFLOP/s
    peak = one.peak("FP16")
    assert (float(peak), peak.unit, str(peak), peak.subject) == (8e12, "op/s", "8 TFLOP/s", "tensor_core fp16")
    assert float(one.peak("fp16", unit="cuda_core")) == 1.28e12
    assert repr(peak) == "tensor_core fp16: 8 TFLOP/s = 10 SM × 4 tensor_core × 100 MAC/clock × 2 op/MAC × 1 GHz"


def test_sparsity_is_told_apart(one):
    assert float(one.peak("fp16").sparse) == 16e12
    assert one.peak("fp32").sparse is None


def test_peaks_are_those_of_all_units_or_of_one_precision(one):
    assert [(peak.subject, peak.value) for peak in one.peaks()] == [
        ("tensor_core fp16", 8e12),
        ("cuda_core fp16", 1.28e12),
        ("cuda_core fp32", 0.64e12),
    ]
    assert [peak.subject for peak in one.peaks("FP32")] == ["cuda_core fp32"]


def test_bandwidth_and_capacity(one):
    # 1024 bit × 2 Gbit/s / 8 = 256 GB/s
    found = one.bandwidth()
    assert (float(found), found.unit, str(found), found.subject) == (256e9, "B/s", "256 GB/s", "hbm")
    assert [float(each) for each in one.bandwidths()] == [256e9]
    assert one.capacity_bytes() == one.capacity_bytes("hbm") == 8e9


def test_links_are_beside_the_bandwidths_of_memories():
    # 18 × 25 GB/s × 2 directions
    h100, card = rl.device("h100-sxm5"), rl.device("t4")
    (found,) = h100.link_bandwidths()
    assert (found.subject, found.value, str(found)) == ("nvlink", 900e9, "900 GB/s")
    assert "nvlink" not in [each.subject for each in h100.bandwidths()]
    assert card.link_bandwidths() == []


def test_sources_name_document_place_grade_and_line(one):
    first, *_, last = one.peak("fp16").sources
    assert first.startswith("10 SM: White paper, p. 1 (quoted), ")
    assert first.endswith("acme/one.yaml:8")
    assert last.startswith("1 GHz: White paper, p. 2 (quoted), ")


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        (lambda one: one.peak("bf17"), "unknown precision 'bf17'"),
        (lambda one: one.peak("int8"), "acme/one does not support int8"),
        (lambda one: one.peak("fp16", "mxu"), "acme/one has no unit 'mxu'"),
        (lambda one: one.bandwidth("l2"), "acme/one has no memory 'l2'"),
        (lambda one: one.capacity_bytes("l2"), "acme/one has no memory 'l2'"),
        (lambda one: one.at("30w"), "acme/one has no operating point '30w'"),
    ],
)
def test_what_a_device_lacks_is_a_sentence(one, ask, problem):
    with pytest.raises(rl.RooflintError, match=problem):
        ask(one)


def test_a_notebook_shows_text_as_text(one):
    shown = one._repr_html_()
    assert "<h3>One &lt;b&gt;</h3>" in shown
    assert "<td>tensor_core fp16</td><td>8 TFLOP/s</td>" in shown
    assert "<td>hbm</td><td>256 GB/s</td>" in shown
    assert "<h4></h4>" not in shown


def test_an_operating_point_is_a_device_of_its_own():
    orin, slow = rl.device("agx-orin-64"), rl.device("agx-orin-64@30w")
    assert "30w" in orin.modes
    assert (type(slow), repr(slow)) == (rl.Device, f"<Device {slow}: {slow.name}>")
    assert str(slow) == "nvidia/jetson-agx-orin-64gb at 30w"
    assert slow == rl.device("agx-orin-64", "30w") == orin.at("30w") != orin
    assert len({orin, slow, orin.at("30w")}) == 2


def test_a_device_survives_copies(one):
    for twin in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert twin == one
        assert float(twin.peak("fp16")) == 8e12


def test_devices_by_globs_and_kinds_come_once():
    assert [each.id for each in rl.devices("nvidia/l4*", "l40s")] == ["nvidia/l4", "nvidia/l40", "nvidia/l40s"]
    assert [each.kind for each in rl.devices("gpu", "dsp")] == ["gpu", "dsp"]
    assert len(rl.devices()) == len({each.id for each in rl.devices()}) > 100
    assert {type(each) for each in rl.devices("nvidia/l4*")} == {rl.Device}
    with pytest.raises(rl.RooflintError, match="unknown device 'nope'"):
        rl.devices("nope")
