"""Energy: hand calculations, published power beside it, and its laws on every device of the registry."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.errors import RooflintError
from rooflint.base.precision import PRECISIONS
from rooflint.coefficients.library import Coefficients
from rooflint.coefficients.ranges import UnknownCoefficientError
from rooflint.energy.model import Energies, idle_w
from rooflint.energy.terms import GROUPS, energy_of
from rooflint.hardware.device import working_units
from rooflint.hardware.registry import Registry
from rooflint.mapping.allocate import allocate
from rooflint.prediction.predict import NotKnownError, Setting, predict
from rooflint.roofline import estimate
from rooflint.workloads.builders import gemm, matrix_op
from rooflint.workloads.ops import Op
from rooflint.workloads.tables import load_workload, workload_ids
from rooflint.workloads.workload import Workload


def near(value):
    """Energies of single events are far below the absolute tolerance that approx has by default."""
    return pytest.approx(value, rel=1e-9, abs=0)


REGISTRY = Registry()
COEFFICIENTS = Coefficients(REGISTRY)
ENERGIES = Energies(COEFFICIENTS)
GEMM = gemm(8192, 8192, 8192)
OPS = 2 * 8192**3
DEVICES = [
    REGISTRY.get(name).at(mode) if mode else REGISTRY.get(name)
    for name in REGISTRY.ids()
    for mode in (None, *REGISTRY.get(name).operating_points)
]


def supported(hardware, compute):
    try:
        return bool(working_units(hardware, compute)[0])
    except RooflintError:
        return False


PAIRS = [(hardware, compute) for hardware in DEVICES for compute in PRECISIONS if supported(hardware, compute)]


def predicted(device, work, compute, storage=None):
    return predict(REGISTRY.get(device), work, ENERGIES, Setting(compute, storage, launch="free"))


def watts(prediction):
    """Power of each term. [W]"""
    return {term.name: term.total_j / prediction.latency_s for term in prediction.energy.terms}


# ---- hand calculations


def test_arithmetic_and_datapath_of_an_a100_at_its_peak():
    # 0.25 pJ/op × 311.9 TFLOP/s = 78 W; 0.821 pJ/op × 311.9 = 256 W
    found = watts(predicted("nvidia/a100-sxm4-80gb", GEMM, "fp16"))
    peak = 108 * 4 * 256 * 2 * 1.41e9
    assert found["arithmetic"] == near(0.25e-12 * peak)
    assert found["datapath"] == near(0.821e-12 * peak)


def test_the_memory_of_an_a100():
    # each operand and the result once: 3 × 8192² × 2 B × 4.3 pJ/bit; on the chip 97 × 8192² × 2 B × 1.75 pJ/B
    found = predicted("nvidia/a100-sxm4-80gb", GEMM, "fp16").energy
    by_name = {term.name: term.total_j for term in found.terms}
    assert by_name["off-chip memory"] == near(3 * 8192**2 * 2 * 4.3 * 8e-12)
    assert by_name["on-chip memory"] == near(97 * 8192**2 * 2 * 1.75e-12)


def test_a_core_reads_an_operand_from_l1_for_each_mac():
    # 64³ MAC × 4 B × 8.5 pJ / 8 B
    prediction = predicted("intel/i7-12700k", gemm(64, 64, 64), "fp32")
    assert watts(prediction)["L1"] * prediction.latency_s == near(64**3 * 4 * 8.5e-12 / 8)
    assert "L1" not in watts(predicted("nvidia/t4", GEMM, "fp16"))


def test_idle_power_is_that_of_the_device_or_a_share_of_what_it_is_rated_for():
    # H100 SXM5: 145 W with a context; A100: 142.5 of 700 W of an H100 is the typical share, of 400 W 81.4
    measured = idle_w(REGISTRY.get("nvidia/h100-sxm5-80gb"), COEFFICIENTS)
    assert (measured.low, measured.typical, measured.high) == (145, 145, 145)
    share = COEFFICIENTS.events("gpu").idle_share("context")
    shared = idle_w(REGISTRY.get("nvidia/a100-sxm4-80gb"), COEFFICIENTS)
    assert shared.typical == near(400 * share.typical)
    assert (shared.low, shared.high) == (near(400 * share.low), near(400 * share.high))


def test_a_device_without_a_tdp_takes_its_share_of_another_rating():
    # GH200: no TDP of the GPU alone, a limit of 1000 W; 142.5 of 700 W is the share of a GPU with a context
    gh200 = REGISTRY.get("nvidia/gh200-144gb")
    assert gh200.tdp_w is None
    assert idle_w(gh200, COEFFICIENTS).typical == near(1000 * 142.5 / 700)


def test_a_share_of_a_rating_is_an_estimate_however_well_both_were_read():
    assert idle_w(REGISTRY.get("nvidia/gh200-144gb"), COEFFICIENTS).grade == "estimate"
    assert idle_w(REGISTRY.get("nvidia/h100-sxm5-80gb"), COEFFICIENTS).grade == "device"


# ---- published power beside it


def power_at(prediction, ops_per_s):
    """Power at another rate: what is spent for each op, and the idle power. [W]"""
    energy = prediction.energy
    each = (energy.total_j - energy.of_group("static")) / OPS
    return each * ops_per_s + energy.of_group("static") / prediction.latency_s


def test_an_a100_at_its_peak_draws_about_its_tdp():
    # 433 of 400 W
    assert predicted("nvidia/a100-sxm4-80gb", GEMM, "fp16").over_limit == pytest.approx(1.08, abs=0.02)


def test_an_h200_cannot_hold_its_peak_within_its_tdp_and_arithmetic_is_a_quarter_of_that():
    # 0.18 pJ/op × 989 TFLOP/s = 179 W of multiplies and adds; with all other terms 981 of 700 W
    prediction = predicted("nvidia/h200-sxm-141gb", GEMM, "fp16")
    assert prediction.over_limit == pytest.approx(1.40, abs=0.02)
    assert prediction.energy.terms[0].total_j / prediction.latency_s == pytest.approx(179, abs=1)
    low, high = (end / prediction.latency_s for end in prediction.energy.ends_j)
    assert low < 700 < high


def test_a_tpu_v4_at_its_peak_would_draw_twice_what_was_measured_on_average():
    # measured 170 W on average and 192 at most; 376 W, of which the datapath is 233
    prediction = predicted("google/tpu-v4", GEMM, "bf16")
    assert prediction.power_w / 170 == pytest.approx(2.21, abs=0.02)
    low, high = (end / prediction.latency_s for end in prediction.energy.ends_j)
    assert low < 170
    assert high > 192


# ---- what is not known


def test_without_a_process_there_is_no_energy_but_a_reason():
    prediction = predicted("google/tpu-v5e", GEMM, "bf16")
    assert prediction.reasons["energy"] == "google/tpu-v5e: no process node is known, so no energy"
    with pytest.raises(NotKnownError, match="no process node is known"):
        _ = prediction.energy_j
    assert prediction.latency_s > 0


def test_without_a_known_memory_there_is_no_energy_but_a_reason():
    reason = predicted("apple/m1", GEMM, "fp32").reasons["energy"]
    assert reason.startswith("apple/m1: unknown memory 'lpddr4x'; nearest: ")


def test_a_precision_whose_arithmetic_nobody_knows_gives_a_reason():
    rtx = [one.id for one, compute in PAIRS if compute == "fp16_acc16"]
    found = predicted(rtx[0], GEMM, "fp16_acc16")
    assert found.reasons["energy"] == f"{rtx[0]}: no energy of fp16_acc16 arithmetic is known at any node"


@pytest.mark.slow
def test_every_reason_names_its_device():
    fed = [(one.id, compute) for one, compute in PAIRS if any(memory.has_bandwidth for memory in one.memories.values())]
    reasons = {(device, predicted(device, GEMM, compute).reasons.get("energy")) for device, compute in fed}
    unnamed = [reason for device, reason in reasons if reason and not reason.startswith(f"{device}: ")]
    assert unnamed == []
    assert len({reason for _, reason in reasons}) > 4


def test_without_a_rating_idle_power_is_left_out_and_said():
    energy = predicted("apple/m2", GEMM, "fp32").energy
    assert energy.left_out == (
        "idle power is not counted: apple/m2 has no rated power, so its idle power is not known",
    )
    assert "static" not in energy.groups()


def test_without_events_control_is_left_out_and_said():
    energy = predicted("intel/gaudi-2", GEMM, "bf16").energy
    assert [sentence.partition(":")[0] for sentence in energy.left_out] == [
        "control of the architecture is not counted",
        "idle power is not counted",
    ]
    assert "control" not in energy.groups()


def test_an_unknown_memory_and_an_unknown_precision_are_typed(energies):
    hardware = REGISTRY.get("nvidia/a100-sxm4-80gb")
    laid, times = allocate(hardware, GEMM, compute="fp16"), estimate(hardware, GEMM, compute="fp16").kernel_s
    with pytest.raises(UnknownCoefficientError, match="unknown process '7nm'"):
        energy_of(hardware, GEMM, laid, times, Energies(energies.read()), storage="fp16")


# ---- laws, on every device


def whole(hardware, compute, work, storage=None, latency=1.0):
    """The energy, or None where the model says why there is none."""
    storage = storage or compute
    try:
        laid = allocate(hardware, work, compute=compute)
        times = estimate(hardware, work, compute=compute, storage=storage).kernel_s * latency
        return energy_of(hardware, work, laid, times, ENERGIES, storage=storage)
    except RooflintError:
        return None


KNOWN = [(hardware, compute) for hardware, compute in PAIRS if whole(hardware, compute, GEMM)]
pairs = st.sampled_from(KNOWN)
sizes = st.integers(1, 3000)


@st.composite
def workloads(draw):
    rows = []
    for place in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            m, n, k, groups = draw(sizes), draw(sizes), draw(sizes), draw(st.integers(1, 8))
            elements = (groups * m * k, groups * n * k, groups * m * n)
            rows.append(matrix_op(f"{place}", "matmul", (m, n, k, groups), elements))
        else:
            outputs = draw(st.integers(1, 10**7))
            rows.append(Op(f"{place}", "relu", 0, outputs, outputs, 0, outputs))
    return Workload.from_ops("one", rows)


committed = st.sampled_from([load_workload(name) for name in workload_ids()])
works = st.one_of(workloads(), committed)


def test_there_are_enough_of_them():
    assert len({hardware.id for hardware, _ in KNOWN}) > 100
    assert {hardware.kind for hardware, _ in KNOWN} == {"cpu", "gpu", "kpu", "npu", "tpu"}


@pytest.mark.slow
@pytest.mark.parametrize("hardware", DEVICES, ids=lambda hardware: hardware.id)
def test_no_device_is_silently_without_energy_and_none_stops_the_others(hardware):
    for compute in PRECISIONS:
        try:
            prediction = predict(hardware, GEMM, ENERGIES, Setting(compute))
        except RooflintError as error:
            assert str(error)
            continue
        if not prediction.has("energy"):
            assert prediction.reasons["energy"]
            continue
        energy, left = prediction.energy, " ".join(prediction.energy.left_out)
        assert energy.of_group("compute") > 0
        assert energy.of_group("memory") > 0
        assert energy.of_group("static") > 0 or "idle power is not counted" in left
        assert energy.of_group("control") > 0 or "control" in left or hardware.kind == "tpu"
        assert energy.total_j > 0


@given(pairs, works)
def test_terms_are_none_below_zero_and_lie_between_their_ends(pair, work):
    energy = whole(*pair, work)
    for term in energy.terms:
        assert (term.counts >= 0).all(), term.name
        assert np.isfinite(term.counts).all()
        assert term.counts.shape == (len(work),)
        assert 0 <= term.each.low <= term.each.typical <= term.each.high, term.name
    low, high = energy.ends_j
    assert low <= energy.total_j <= high * (1 + 1e-12)


@given(pairs, works)
def test_parts_sum_to_the_whole(pair, work):
    energy = whole(*pair, work)
    slow = sum(count * term.each.typical for term in energy.terms for count in term.counts.tolist())
    assert energy.total_j == near(slow)
    assert energy.energy_j.sum() == near(slow)
    assert sum(map(energy.of_group, GROUPS)) == near(slow)
    assert len({term.name for term in energy.terms}) == len(energy.terms)


@given(pairs, works, st.sampled_from(("other_ops", "elements_in", "elements_weight", "elements_out")))
def test_more_ops_and_more_bytes_never_take_less(pair, work, column):
    hardware, compute = pair
    more = replace(work, **{column: getattr(work, column) * 2 + work.batch}, flow=None)
    laid, times = allocate(hardware, work, compute=compute), estimate(hardware, work, compute=compute).kernel_s
    less, richer = (energy_of(hardware, one, laid, times, ENERGIES, storage=compute) for one in (work, more))
    assert all((two.counts >= one.counts).all() for one, two in zip(less.terms, richer.terms, strict=True))
    assert richer.total_j > less.total_j


@given(pairs, works)
def test_half_the_latency_halves_the_static_term_and_touches_no_other(pair, work):
    slow, fast = whole(*pair, work), whole(*pair, work, latency=0.5)
    for one, two in zip(slow.terms, fast.terms, strict=True):
        assert two.total_j == near(one.total_j / 2 if one.group == "static" else one.total_j)


@given(pairs, works)
def test_storage_in_twice_the_bytes_doubles_what_is_counted_in_bytes_and_touches_no_arithmetic(pair, work):
    narrow, wide = whole(*pair, work, storage="int8"), whole(*pair, work, storage="fp16")
    for one, two in zip(narrow.terms, wide.terms, strict=True):
        if one.unit == "B":
            assert two.total_j == near(2 * one.total_j)
        elif one.group == "compute" or one.unit == "element":
            assert two.total_j == near(one.total_j)


@given(pairs, works)
def test_arithmetic_is_two_ops_for_a_mac_and_one_for_any_other(pair, work):
    hardware, compute = pair
    arithmetic, *_ = whole(hardware, compute, work).terms
    assert arithmetic.name == "arithmetic"
    slow = sum(2 * op.macs + op.other_ops for op in work.rows()) * ENERGIES.node(hardware).arithmetic(compute).typical
    assert arithmetic.total_j == near(slow)


@given(pairs, works, st.integers(2, 5))
def test_a_network_after_itself_takes_twice_as_much(pair, work, times):
    rows = [op._replace(name=f"{turn} {op.name}") for turn in range(times) for op in work.rows()]
    again = replace(Workload.from_ops("again", rows, work.batch, "repeated"), stacks_rows=None)
    assert whole(*pair, again).total_j == near(times * whole(*pair, work).total_j)


@pytest.mark.slow
def test_what_an_energy_rests_on_has_a_source_each():
    for hardware, compute in KNOWN:
        energy = whole(hardware, compute, GEMM)
        assert energy.facts
        assert energy.grade == "estimate"
        assert all(term.each.facts for term in energy.terms)
