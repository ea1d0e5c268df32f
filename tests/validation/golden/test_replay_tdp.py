"""The five-GPU table: a slip of node, factor, rate or TDP turns exactly its figures red, and facts give others."""

import shutil
from pathlib import Path

import pytest

from pytest_rooflint.claims import figure
from pytest_rooflint.claims.figure import sourced
from pytest_rooflint.evidence.replays import assumptions
from pytest_rooflint.golden import replay
from pytest_rooflint.golden.replay import NotGivenError
from pytest_rooflint.suite.judge import judge
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import PACKAGED, Registry

SHIPPED = Path(__file__).parents[3] / "golden" / "replays" / "004-tdp-five-gpus.yaml"
TABLE = "golden/004-tdp-five-gpus.yaml"
ENERGIES = Energies(Coefficients(Registry()))
T4_TENSOR = {"tensor_power-T4", "combined_power-T4", "tdp_ratio-T4"}
ORDER = "tdp_ratio-V100-lt-H100-lt-B100-lt-A100-lt-T4"


@pytest.fixture
def table(repository):
    """A copy of the shipped replay."""
    (repository.root / "golden").mkdir()
    shutil.copy(SHIPPED, repository.root / TABLE)
    return repository


def read(table):
    suite = Suite.of([table.root / "golden"], [PACKAGED])
    return suite, suite.read(table.root / TABLE).claims


def assumed(table):
    suite, claims = read(table)
    return replay.assumed(claims[0], suite)


def red(table):
    suite, claims = read(table)
    verdicts = {claim.id: judge(claim, claim.id, suite) for claim in claims}
    wrong = [id for id, verdict in verdicts.items() if verdict.outcome != "pass"]
    return {id.removeprefix("figure-").removesuffix("-by-findings") for id in wrong}


def in_label(table, label, old, new):
    """Replace a text in the assumptions of one label."""
    text = table.read(TABLE)
    begin = text.index(f"\n  {label}:\n")
    at = text.index(old, begin)
    table.write(TABLE, text[:at] + new + text[at + len(old) :])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "old", "new", "changed"),
    [
        # the node that the chip is made in: 1.3 instead of 1.2 pJ/op
        ("B100", "process: [3 nm", "process: [4 nm", {
            "vector_power-B100", "tensor_power-B100", "combined_power-B100", "tdp_ratio-B100", "tdp_margin-B100",
            ORDER}),
        # 2.4 instead of 2.5 pJ/op
        ("T4", "2.5 pJ/op at 12 nm", "2.4 pJ/op at 12 nm", {"vector_power-T4", *T4_TENSOR}),
        # the circuit of the log's text
        ("H100", "circuit: [0.80", "circuit: [0.85", {
            "tensor_power-H100", "combined_power-H100", "tdp_ratio-H100", "tdp_margin-H100"}),
        ("T4", "format: [0.5", "format: [0.25", {*T4_TENSOR, ORDER}),
        ("T4", "overhead: [1.4", "overhead: [1.5", T4_TENSOR),
        # 0.3 × 20.4 W are 2 W more
        ("T4", "vector_share: [0.2", "vector_share: [0.3", {"combined_power-T4", "tdp_ratio-T4"}),
        # the documented rate
        ("H100", "fp16: [256 MAC", "fp16: [512 MAC", {
            "tensor_power-H100", "combined_power-H100", "tdp_ratio-H100", "tdp_margin-H100", ORDER,
            "macs_per_clock-H100-by-accounting"}),
        # the documented lanes: 35 W of CUDA cores, of which a fifth counts
        ("A100", "per_group: [128", "per_group: [64", {"vector_power-A100", "combined_power-A100", "tdp_ratio-A100"}),
        # the TDP of the SXM2 module
        ("V100", "tdp: [350 W", "tdp: [300 W", {"tdp_ratio-V100", "tdp_margin-V100", ORDER}),
    ],
    ids=["node", "per_op", "circuit", "format", "overhead", "vector_share", "rate", "lanes", "tdp"],
)  # fmt: skip
def test_one_other_assumption_turns_exactly_its_figures_red(table, label, old, new, changed):
    assert red(table) == set()
    in_label(table, label, old, new)
    assert red(table) == changed


def of_documents(table, name, label):
    return sourced(name, assumed(table)[label], "fp16", lambda: pytest.fail("needs no workload"), ENERGIES)


def test_by_documented_facts_the_h100_cannot_sustain_its_peak(table):
    # 989.4 TFLOP/s × 1.3 pJ × 0.8 × 0.5 × 1.4 = 720 W; + 0.2 × 87.0 W = 737.7 W of 700 W
    assert of_documents(table, "tensor_power", "H100")[0] == "720.3 W"
    assert of_documents(table, "combined_power", "H100")[0] == "737.7 W"
    assert of_documents(table, "tdp_ratio", "H100")[0] == "1.05×"


def test_with_the_factor_of_the_text_it_is_further_above(table):
    # 720.3 W × 0.85 / 0.80 + 17.4 W = 782.7 W of 700 W
    in_label(table, "H100", "circuit: [0.80", "circuit: [0.85")
    assert of_documents(table, "tdp_ratio", "H100")[0] == "1.12×"


def test_the_node_of_the_documented_device_has_its_own_energy(table):
    # 4NP: 16 896 became 18 944 lanes × 2 op × 1.6 GHz × 1.3 pJ = 78.8 W
    assert of_documents(table, "vector_power", "B100")[0] == "78.81 W"


def test_the_factor_of_the_table_stands_beside_that_of_the_text(table):
    circuits = Coefficients(Registry()).circuits()
    rows = {row.what: row for row in assumptions(assumed(table)["H100"], "fp16", "fp16", circuits)}
    circuit = rows["counted_power.circuit"]
    assert (circuit.assumed, circuit.sourced) == ("0.80", "0.85")
    assert circuit.factor == pytest.approx(0.80 / 0.85)
    assert rows["counted_power.overhead"].factor == 1
    assert rows["counted_power.vector_share"].sourced is None
    assert rows["units.tensor_core.macs_per_clock.fp16"].factor_text == "1/2"


def test_the_tables_own_tensor_rate_is_half_of_what_the_vendor_prints(table):
    label = assumed(table)["H100"]
    assert label.peak_ops_per_s("fp16") / label.sourced_peak("fp16") == pytest.approx(0.541, abs=5e-4)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("process: [12 nm", "process: [16 nm", "T4 has no energy per op at 16nm (has: 12nm)"),
        (
            "unit: tensor_core",
            "unit: tensor_core + cuda_core",
            "no fp32 unit beside tensor_core + cuda_core",
        ),
    ],
)
def test_a_power_that_rests_on_nothing_is_told(table, old, new, says):
    in_label(table, "T4", old, new)
    with pytest.raises(NotGivenError) as refused:
        figure.combined_w(assumed(table)["T4"], "fp16")
    assert says in str(refused.value)


def test_a_label_without_the_formula_has_no_powers(table):
    text = table.read(TABLE)
    begin, end = text.rindex("    formula:\n"), text.rindex("    why:\n")
    table.write(TABLE, text[:begin] + text[end:])
    with pytest.raises(NotGivenError, match="T4 has no powers; give 'counted_power' under 'formula'"):
        figure.tensor_w(assumed(table)["T4"], "fp16")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("2.5 pJ/op at 12 nm", "2.5 pJ/op", "per_op: want each node once, such as"),
        ("2.5 pJ/op at 12 nm", "2.5 W at 12 nm", "per_op: want a value in J/op, found '2.5 W'"),
        ("overhead: [1.4", "overhead: [1.4 W", "overhead: want a value a bare number"),
        ("        overhead: [1.4, log, \"Datapath Overhead, 40 %\"]\n", "", "counted_power: 'overhead' is missing"),
    ],
)  # fmt: skip
def test_a_formula_that_cannot_be_read_is_refused_with_its_line(table, old, new, says):
    in_label(table, "T4", old, new)
    with pytest.raises(InputError, match=r"004-tdp-five-gpus\.yaml:\d+") as refused:
        assumed(table)
    assert says in str(refused.value)
