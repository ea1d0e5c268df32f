"""`figure`: printed figures under assumptions, by hand; what is refused."""

import pytest

from pytest_rooflint.claims.figure import sourced, sourced_order
from pytest_rooflint.golden import read
from pytest_rooflint.golden.replay import assumed
from rooflint.base.errors import InputError
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.prediction.predict import Setting, predict
from rooflint.workloads.builders import gemm

#: 8 × 2 × 1024 MAC at 0.5 GHz: 16.384 TOP/s; 64³: 524 288 op, 12 288 B; 256 GB/s; a launch of 1 µs.
HEAD = """\
source: {document: An old log, where: table 1, grade: read}
sources: {log: {document: An old log, grade: read}}
workload: {gemm: [64, 64, 64]}
compute: int8
given:
  OLD:
    hardware: acme/k1
    unit: mac_array
    facts: {tdp: [20 W, log, p], units.mac_array.clock: [500 MHz, log, p], process: [4 nm, log, p]}
    formula:
      counted_energy: {per_op: [1 pJ/op, log, p], per_byte: [10 pJ/B, log, p], idle_share: [50 %, log, p]}
      counted_power:
        {per_op: [1.3 pJ/op at 4 nm, log, p], circuit: [0.5, log, p], format: [0.8, log, p], overhead: [1.5, log, p],
         vector_share: [0.25, log, p]}
  NEW: {hardware: acme/k1, unit: mac_array}
claims:
"""


@pytest.fixture
def replay(acme):
    """The verdict on one figure of OLD or NEW."""

    def verdict(line):
        acme.write("golden/old.yaml", f"{HEAD}  - {{{line}}}\n")
        (found,) = acme.verdicts("golden/old.yaml").values()
        return found

    return verdict


LATENCY_S = 1e-6 + 12288 / 256e9
ENERGY_J = 524288e-12 + 12288 * 10e-12 + 0.5 * 20 * LATENCY_S
TENSOR_W, VECTOR_W = 1.3 * 0.5 * 0.8 * 1.5 * 16.384, 1.3 * 0.6144
"""1.3 pJ × factors × 16.384 TOP/s; 1.3 pJ × the vector unit's 8 · 16 · 2 MAC · 2 · 1.2 GHz = 614.4 GFLOP/s."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("figure", "unit", "value"),
    [
        ("peak", "TOP/s", 16.384e12),
        ("bandwidth", "GB/s", 256e9),
        ("breakpoint", "op/B", 64),
        ("tops_per_w", "TOP/s/W", 16.384e12 / 20),
        ("tensor_power", "W", TENSOR_W),
        ("vector_power", "W", VECTOR_W),
        ("combined_power", "W", TENSOR_W + 0.25 * VECTOR_W),
        ("tdp_ratio", "", (TENSOR_W + 0.25 * VECTOR_W) / 20),
        ("tdp_margin", "", 20 / TENSOR_W),
        ("macs_per_clock", "", 8 * 2 * 1024),
        ("ops", "op", 524288),
        ("unattained", "", 1 - 524288 / LATENCY_S / 16.384e12),
        ("slowdown", "", (12288 / 256e9) / (524288 / 16.384e12)),
        ("latency", "us", LATENCY_S),
        ("throughput", "inferences/s", 1 / LATENCY_S),
        ("efficiency", "", 524288 / LATENCY_S / 16.384e12),
        ("attained", "TOP/s", 524288 / LATENCY_S),
        ("intensity", "op/B", 524288 / 12288),
        ("memory_time", "ns", 12288 / 256e9),
        ("compute_time", "ns", 524288 / 16.384e12),
        ("bandwidth_efficiency", "", 12288 / 256e9 / LATENCY_S),
        ("energy", "uJ", ENERGY_J),
        ("power", "W", ENERGY_J / LATENCY_S),
        ("tops_per_w_attained", "TOP/s/W", 524288 / LATENCY_S / 20),
    ],
)
def test_a_figure_is_that_of_the_assumptions(replay, figure, unit, value):
    verdict = replay(f"figure: {figure} OLD, expect: 1.00 {unit}")
    assert verdict.obtained.value == pytest.approx(value, rel=1e-9)
    assert not verdict.corroborated


def test_a_figure_has_the_assumed_facts_and_formulas(replay, paths):
    verdict = replay("figure: latency OLD, expect: 1.048 µs")
    assert verdict.outcome == "pass"
    assert {"units.mac_array.clock", "counted_energy.per_op", "counted_power.circuit"} <= paths(verdict)
    assert verdict.obtained.formula == "Σ max(ops / 16.38 TOP/s, bytes / 256 GB/s) + 1 × 1 µs"


@pytest.mark.parametrize(
    ("figure", "unit", "shown"),
    [
        ("tdp_ratio", "", "0.65×"),  # 12.98 / 20 W
        ("tdp_margin", "", "1.57×"),  # 20 / 12.7795 W = 1.565006
        ("efficiency", "", "3.05 %"),  # 500.3 GOP/s / 16.384 TOP/s
        ("throughput", "inferences/s", "954198.5 inferences/s"),
    ],
)
def test_a_figure_is_shown_in_its_own_unit(replay, figure, unit, shown):
    verdict = replay(f"figure: {figure} OLD, expect: 1.00 {unit}")
    assert verdict.obtained.shown() == shown


@pytest.mark.parametrize(
    ("order", "outcome"),
    [
        ("figure: peak OLD < NEW", "pass"),
        ("figure: peak NEW < OLD", "fail"),
        ("figure: peak NEW < OLD, refuted: true", "pass"),
        ("figure: peak OLD < NEW, refuted: true", "fail"),
    ],
)
def test_labels_are_ordered_by_a_figure(replay, order, outcome):
    assert replay(order).outcome == outcome


def test_an_order_shows_each_label(replay):
    assert replay("figure: peak OLD < NEW").obtained.shown() == "OLD 16.38 TOP/s < NEW 32.77 TOP/s"
    assert replay("figure: peak NEW < OLD").obtained.shown() == "NEW 32.77 TOP/s, OLD 16.38 TOP/s"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("figure: energy NEW, expect: 1.00 µJ", "NEW has no energies; give 'counted_energy' under 'formula'"),
        ("figure: tensor_power NEW, expect: 1.00 W", "NEW has no powers; give 'counted_power' under 'formula'"),
    ],
)
def test_a_figure_without_its_formula_fails(replay, line, says):
    assert replay(line).reason == says


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("figure: speed OLD, expect: 1.00 W", "want one of peak, bandwidth"),
        ("figure: peak OTHER, expect: 1.00 TOP/s", "one of the labels OLD, NEW"),
        ("figure: peak OLD < OLD", "want one of peak"),
        ("figure: peak OLD, expect: 1.00 W", "expect: '1.00 W' is not a peak"),
        ("figure: peak OLD, expect: 1.00 TOP/s, refuted: true", "only an order can be refuted"),
        ("figure: peak OLD < NEW, refuted: maybe", "refuted: want true or false"),
        ("figure: peak OLD, at: low, expect: 1.00 TOP/s", "takes no operating point here"),
    ],
)
def test_an_invalid_figure_is_refused(replay, line, says):
    with pytest.raises(InputError, match=says):
        replay(line)


# ---- the same figure by the documented facts


@pytest.fixture
def documented(acme):
    """`documented(name, *labels)`: figures of the labels by the documented facts, as text and in base units."""
    acme.write("golden/old.yaml", f"{HEAD}  - {{figure: peak OLD, expect: 16.4 TOP/s}}\n")
    acme.edit("golden/old.yaml", "claims:", "  LANES: {hardware: acme/k1, unit: vector}\nclaims:")
    suite = acme.suite()
    (claim,) = suite.claims()
    known = assumed(claim, suite)
    energies = Energies(Coefficients(suite.registry))

    def figures(name, *labels):
        if len(labels) > 1:
            return sourced_order(name, labels, known, "int8", lambda: gemm(64, 64, 64), energies)
        return sourced(name, known[labels[0]], "int8", lambda: gemm(64, 64, 64), energies)

    return figures


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("peak", "32.77 TOP/s", 32.768e12),  # 1 GHz, not the assumed half
        ("bandwidth", "256 GB/s", 256e9),
        ("breakpoint", "128 op/B", 128.0),
        ("tops_per_w", "1.638 TOP/s/W", 32.768e12 / 20),
        ("latency", "1.048 µs", LATENCY_S),
        ("efficiency", "1.53 %", 524288 / LATENCY_S / 32.768e12),
        ("tops_per_w_attained", "25.01 GOP/s/W", 524288 / LATENCY_S / 20),
        ("weight", None, None),
    ],
)
def test_the_documented_figure_stands_beside_the_assumed_one(documented, name, text, value):
    shown, found = documented(name, "OLD")
    assert shown == text
    assert found == (value and pytest.approx(value, rel=1e-9))


def test_an_energy_and_a_power_are_predicted_by_the_models_own_terms(tmp_path, shipped_suite):
    file = tmp_path / "old.yaml"
    head = HEAD.partition("given:")[0].replace("int8", "fp16")
    given = "given: {T4: {hardware: nvidia/t4, unit: tensor_core}}"
    file.write_text(f"{head}{given}\nclaims: [{{figure: peak T4, expect: 65.1 TFLOP/s}}]\n", encoding="utf-8")
    (claim,) = read.load(file).claims
    (t4,) = assumed(claim, shipped_suite).values()
    energies = Energies(Coefficients(shipped_suite.registry))
    work = gemm(1024, 1024, 1024)
    found = predict(t4.sourced, work, energies, Setting("fp16", launch="free"))
    assert sourced("energy", t4, "fp16", lambda: work, energies)[1] == pytest.approx(found.energy_j, abs=0)
    assert sourced("power", t4, "fp16", lambda: work, energies)[1] == pytest.approx(found.power_w)
    assert found.power_w == pytest.approx(found.energy_j / found.latency_s)


def test_labels_are_ordered_by_their_documented_facts(documented):
    # 8 × 16 × 8 MAC × 2 × 1.2 GHz
    assert documented("peak", "NEW", "LANES") == "LANES 2.458 TOP/s < NEW 32.77 TOP/s"
    assert documented("weight", "NEW", "LANES") is None
