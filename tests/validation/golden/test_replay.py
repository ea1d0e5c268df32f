"""Which op of a workload a figure means."""

import json
import shutil
from pathlib import Path

import pytest

from pytest_rooflint.claims.figure import sourced, sourced_order
from pytest_rooflint.evidence.replays import assumptions
from pytest_rooflint.evidence.verdicts import record
from pytest_rooflint.golden import replay
from pytest_rooflint.golden.replay import FIGURES, WhichOpError, fraction, op_of, uses
from pytest_rooflint.suite.judge import judge
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint.mapping.allocate import allocate
from rooflint.workloads.builders import mlp

H100 = Registry().get("nvidia/h100-sxm5-80gb")
#: 8 → 128 → 8: two tiles of 64 outputs, then one.
UNEQUAL = allocate(H100, mlp([8, 128, 8]), compute="fp16")
EQUAL = allocate(H100, mlp([128, 128, 128]), compute="fp16")


def test_any_op_stands_for_ops_that_are_alike():
    assert op_of(EQUAL, EQUAL.units) == 0


def test_a_named_op_is_found():
    assert op_of(UNEQUAL, UNEQUAL.units, "fc2") == 1


def test_ops_that_differ_are_both_shown():
    with pytest.raises(WhichOpError, match=r"fc1 2/132 SM, fc2 1/132 SM; add 'op:'"):
        op_of(UNEQUAL, UNEQUAL.units)


def test_a_name_that_no_op_has_is_said_with_those_that_are():
    with pytest.raises(WhichOpError, match=r"has no op 'fc3' \(has: fc1, fc2"):
        op_of(UNEQUAL, UNEQUAL.units, "fc3")


def test_every_figure_has_one_value_an_op():
    assert {name: len(figure(UNEQUAL)) for name, figure in FIGURES.items()} == dict.fromkeys(FIGURES, 2)


# ---- Replays: printed figures come out of the assumptions that made them, digit for digit, and of no others

SHIPPED = Path(__file__).parents[3] / "golden" / "replays"
LOG = "golden/001-latency-30w.yaml"


AFTER_THE_CLOCK = """\
, log, Tensor Core Calculation Methodology]
      memories.lpddr5.bandwidth: [204.8 GB/s, log, Roofline Analysis]
      launch_overhead: [10 us, log, 2 kernels of 10 us between 42.28"""


@pytest.fixture
def log(repository):
    """A copy of the shipped replays; its outcomes by claim id."""
    shutil.copytree(SHIPPED, repository.root / "golden")

    def outcomes(name=LOG):
        suite = Suite.of([repository.root / "golden"], [PACKAGED])
        return {claim.id: judge(claim, claim.id, suite) for claim in suite.read(repository.root / name).claims}

    repository.outcomes = outcomes
    return repository


def red(verdicts):
    return {id for id, verdict in verdicts.items() if verdict.outcome != "pass"}


@pytest.mark.parametrize("file", sorted(file.name for file in SHIPPED.glob("*.yaml")))
def test_every_printed_figure_comes_out_under_its_assumptions(log, file):
    verdicts = log.outcomes(f"golden/{file}")
    assert len(verdicts) > 0
    assert red(verdicts) == set()
    assert not any(verdict.corroborated for verdict in verdicts.values())
    assert all(record(verdict).replay for verdict in verdicts.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        # 16 × 4 × 64 × 612 MHz = 2.51 T instead of 2.66; all four wait for memory, so the latency stays
        (
            f"[650 MHz{AFTER_THE_CLOCK}",
            f"[612 MHz{AFTER_THE_CLOCK}",
            {"figure-peak-GPU", "figure-efficiency-GPU", "figure-tops_per_w-GPU", "figure-unattained-GPU",
             "figure-compute_time-GPU", "figure-slowdown-GPU"},
        ),
        # 8 658 944 B / 204.8 GB/s = 42.3 µs instead of 67.6: the TPU overtakes the GPU
        (
            "memories.lpddr5.bandwidth: [128 GB/s",
            "memories.lpddr5.bandwidth: [204.8 GB/s",
            {
                "figure-latency-TPU",
                "figure-throughput-TPU",
                "figure-efficiency-TPU",
                "latency-KPU-lt-GPU-lt-TPU-lt-CPU",
                "figure-slowdown-TPU",
                "figure-latency-CPU-per-TPU",
                "figure-latency-TPU-before-per-TPU",
                "figure-bandwidth-TPU-per-TPU-before",
            },
        ),
        # a MAC is two ops: twice the peak, half the computing time
        (
            "conventions: {ops_per_mac: 1, storage: fp32}\n    why:\n      units.cpu_simd",
            "conventions: {ops_per_mac: 2, storage: fp32}\n    why:\n      units.cpu_simd",
            {"figure-peak-CPU", "figure-efficiency-CPU", "figure-tops_per_w-CPU", "figure-compute_time-CPU",
             "figure-slowdown-CPU", "figure-peak-TPU-per-CPU"},
        ),
        # a quarter of the bytes
        (
            "conventions: {storage: fp32}\n    why:\n      peak",
            "conventions: {storage: int8}\n    why:\n      peak",
            {"figure-latency-KPU", "figure-throughput-KPU", "figure-efficiency-KPU", "figure-memory_time-KPU",
             "figure-slowdown-KPU"},
        ),
        ("1, bandwidth_share: 8/16,", "1, bandwidth_share: 16/16,", {"figure-latency-GPU-before"}),
        ("peak: [33.8 TOP/s, log", "peak: [33.9 TOP/s, log", {
            "figure-peak-KPU", "figure-compute_time-KPU", "figure-tops_per_w-KPU", "figure-slowdown-KPU"}),
        # 10.7 instead of 10 µs a kernel
        ("launch_overhead: [10 us, log, 2 kernels of 10 us between 42.28",
         "launch_overhead: [10.7 us, log, 2 kernels of 10 us between 42.28",
         {"figure-latency-GPU", "figure-throughput-GPU", "figure-efficiency-GPU"}),
    ],
    ids=["clock", "bandwidth", "ops_per_mac", "storage", "bandwidth_share", "peak", "overhead"],
)  # fmt: skip
def test_one_other_assumption_turns_exactly_its_figures_red(log, old, new, changed):
    log.edit(LOG, old, new)
    assert red(log.outcomes()) == changed


ENERGIES = Energies(Coefficients(Registry()))
RESNET = "golden/000-resnet18.yaml"
OF_CPU = {"attained", "efficiency", "bandwidth_efficiency", "latency", "throughput"}


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        # both FMA ports: twice the peak
        (
            "units.simd.per_group: [1, models",
            "units.simd.per_group: [2, models",
            {f"figure-{name}-CPU" for name in OF_CPU - {"latency", "throughput"}}
            | {"figure-energy-CPU", "figure-energy-CPU-by-edition"}
            | {"figure-latency-CPU-by-edition", "figure-throughput-CPU-by-edition"},
        ),
        # 270 W / 2.784 TOP/s is 96.98 pJ: 0.01 mJ less, which only the print in full tells
        ("270 W / 2.784 TOP/s", "96.98 pJ/op", {"figure-energy-CPU-by-edition"}),
        # 3.6436 Gop × 0.81 pJ more
        ("[0.09 pJ/op", "[0.9 pJ/op", {"figure-energy-KPU"}),
        # 116.95 MB × 1 pJ more are 0.117 mJ
        ("[15 pJ/B", "[16 pJ/B", {"figure-energy-GPU-by-comparison"}),
        (
            "[64 ns, analysis",
            "[128 ns, analysis",
            {"figure-latency-TPU-by-edition", "figure-throughput-TPU-by-edition", "figure-energy-TPU-by-edition"}
            | {"figure-attained-TPU", "figure-efficiency-TPU", "figure-bandwidth_efficiency-TPU"}
            | {"figure-unattained-TPU"},
        ),
    ],
    ids=["port", "digits", "per_op", "per_byte", "overhead"],
)
def test_one_other_assumption_of_the_comparison_turns_exactly_its_figures_red(log, old, new, changed):
    log.edit(RESNET, old, new)
    assert red(log.outcomes(RESNET)) == changed


def test_without_the_factor_on_small_kernels_the_tpu_overtakes_all(log):
    text = log.read(RESNET)
    begin, end = text.index("      small_kernels:"), text.index("    why:\n      peak: half")
    log.write(RESNET, text[:begin] + text[end:])
    verdicts = log.outcomes(RESNET)
    # max(ops / peak, bytes / bandwidth) + 68 × 64 ns = 99.90 + 4.35 µs
    assert verdicts["figure-latency-TPU-by-edition"].obtained.value == pytest.approx(104.26e-6, rel=1e-4)
    assert {"latency-GPU-lt-KPU-lt-TPU-lt-CPU", "figure-energy-KPU-lt-GPU-lt-TPU-lt-CPU"} <= red(verdicts)


def test_an_order_that_was_refuted_turns_red_when_it_holds(log):
    # the TPU at 128 instead of 32 GB/s before the fix
    log.edit(LOG, "memories.lpddr5.bandwidth: [32 GB/s", "memories.lpddr5.bandwidth: [128 GB/s")
    assert {
        "latency-KPU-lt-GPU-lt-TPU-before-lt-CPU-refuted",
        "latency-TPU-before-lt-CPU-refuted",
    } <= red(log.outcomes())


def test_a_fact_of_the_device_that_the_assumptions_replace_does_not_matter(log):
    # CPU and GPU type their bandwidth; only what is not assumed may change a replay
    specs = log.root / "specs"
    shutil.copytree(PACKAGED, specs, ignore=shutil.ignore_patterns("workloads"))
    log.edit("specs/architectures/nvidia/ampere-ga10b.yaml", "int8: [512 MAC", "int8: [64 MAC")
    suite = Suite.of([log.root / "golden"], [specs])
    claims = suite.read(log.root / LOG).claims
    assert {judge(claim, claim.id, suite).outcome for claim in claims} == {"pass"}


# ---- beside the sourced facts


def test_each_assumption_stands_beside_the_sourced_fact_with_the_factor(log):
    suite = Suite.of([log.root / "golden"], [PACKAGED])
    claims = suite.read(log.root / LOG).claims
    rows = {row.what: row for row in assumptions(replay.assumed(claims[0], suite)["GPU"], "int8", "fp32")}
    rate = rows["units.tensor_core.macs_per_clock.int8"]
    assert (rate.assumed, rate.sourced) == ("64 MAC", "512 MAC")
    assert (rate.factor, rate.factor_text) == (0.125, "1/8")
    assert rate.source.grade == "estimate"
    assert "Volta" in rate.why
    assert (rows["ops_per_mac"].factor_text, rows["storage"].factor_text) == ("1/2", "4")
    # 16 of 8 SMs × 64 of 512 MAC × 650 of 612 MHz × 1 of 2 op
    peak = rows["peak tensor_core int8"]
    assert peak.factor == pytest.approx(2 / 8 * 650 / 612 / 2)
    assert peak.parts == [
        "2 (groups)",
        "1/8 (macs_per_clock.int8)",
        f"{650 / 612:.4g} (clock)",
        "1/2 (a MAC counted as one op)",
    ]


def test_a_bandwidth_that_was_typed_stands_beside_the_derived_one(log):
    suite = Suite.of([log.root / "golden"], [PACKAGED])
    one = replay.assumed(suite.read(log.root / LOG).claims[0], suite)["CPU"]
    (row,) = [row for row in assumptions(one, "int8", "fp32") if row.what == "memories.lpddr5.bandwidth"]
    # 51.2 of 256 bit × 6.398 Gbit/s / 8 = 204.7 GB/s at 30 W
    assert row.assumed == "51.2 GB/s"
    assert row.factor == pytest.approx(51.2 / (256 * 6.398 / 8))


def test_what_has_no_counterpart_has_no_factor(log):
    suite = Suite.of([log.root / "golden"], [PACKAGED])
    one = replay.assumed(suite.read(log.root / LOG).claims[0], suite)["GPU"]
    (row,) = [row for row in assumptions(one, "int8", "fp32") if row.what == "launch_overhead"]
    assert row.assumed == "10 us"
    assert (row.sourced, row.factor, row.factor_text, row.source) == (None, None, None, None)


@pytest.mark.parametrize(("batch", "printed", "computed"), [(8, 0.25, 0.061), (16, 0.50, 0.073), (64, 0.80, 0.100)])
def test_the_guides_efficiencies_of_larger_batches_do_not_follow_from_its_formulas(log, batch, printed, computed):
    suite = Suite.of([log.root / "golden"], [PACKAGED])
    claim = suite.read(log.root / RESNET).claims[0]
    larger = suite.workload(claim).at_batch(batch)
    efficiency = replay.assumed(claim, suite)["TPU"].estimate(larger, "fp32", "fp32").efficiency
    assert efficiency == pytest.approx(computed, abs=0.0005)
    assert efficiency < printed / 4


def test_the_order_by_the_documented_facts_stands_beside_the_replayed_one(log):
    suite = Suite.of([log.root / "golden"], [PACKAGED])
    claim = suite.read(log.root / RESNET).claims[0]
    labels = ["GPU", "KPU", "TPU", "CPU"]
    order = sourced_order(
        "latency", labels, replay.assumed(claim, suite), "fp32", lambda: suite.workload(claim), ENERGIES
    )
    # BF16 on the whole TPU, no launches on the GPU, twice the ports of the CPU
    assert [part.split()[0] for part in order.split(" < ")] == ["TPU", "GPU", "KPU", "CPU"]
    # by our own terms, which have idle power as measured and no launches either
    order = sourced_order(
        "energy", labels, replay.assumed(claim, suite), "fp32", lambda: suite.workload(claim), ENERGIES
    )
    assert {part.split()[0] for part in order.split(" < ")} == set(labels)
    assert " mJ" in order


def test_a_precision_that_was_taken_for_another_is_said(log):
    suite = Suite.of([log.root / "golden"], [PACKAGED])
    one = replay.assumed(suite.read(log.root / RESNET).claims[0], suite)["KPU"]
    rows = {row.what: row for row in assumptions(one, "fp32", "fp32")}
    assert (rows["compute"].assumed, rows["compute"].sourced) == ("fp32 at the rate of int8", "int8")
    assert rows["storage"].factor_text == "4"  # their 4 bytes beside the one of an INT8 network
    assert "peak int8_tile + matrix_tile int8" in rows
    assert rows["counted_energy.per_op"].assumed == "0.09 pJ/op"
    assert "slip of ten" in rows["counted_energy.per_op"].why


@pytest.mark.parametrize(("text", "value"), [("8/16", 0.5), (1, 1.0), ("0.75", 0.75)])
def test_a_share_is_a_fraction_or_a_number(text, value):
    assert fraction(text) == value


# ---- what cannot be assumed

REPLAY = """\
title: An old log
source: {document: An old log, where: table 1, grade: read}
sources: {log: {document: An old log, grade: read}}
workload: {mlp: [64, 64], batch: 2}
compute: int8
given:
  OLD:
    hardware: acme/k1
    unit: mac_array
    facts:
      units.mac_array.clock: [500 MHz, log, table 2]
claims:
  - {figure: peak OLD, expect: 16.38 TOP/s}
  - {figure: latency OLD, expect: 1.017 µs}
"""


@pytest.fixture
def replayed(acme):
    """Verdicts of REPLAY with one text replaced."""

    def verdicts(old="OLD:", new="OLD:"):
        assert old in REPLAY
        acme.write("golden/old.yaml", REPLAY.replace(old, new, 1))
        return acme.verdicts("golden/old.yaml")

    return verdicts


def test_a_replay_starts_from_the_documented_device(replayed):
    # half the clock: 8 × 2 × 1024 × 2 × 0.5 GHz; 4416 B / 256 GB/s + 1 µs
    assert {verdict.outcome for verdict in replayed().values()} == {"pass"}


def test_the_labels_of_a_claim_are_found_in_its_subject(acme, replayed):
    replayed()
    claims = acme.suite().read(acme.root / "golden/old.yaml").claims
    assert [uses(claim) for claim in claims] == [["OLD"], ["OLD"]]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("hardware: acme/k1", "hardware: acme/k9", "unknown device 'acme/k9'"),
        ("unit: mac_array", "unit: tensor_core", "has no unit 'tensor_core'"),
        ("unit: mac_array", "unit: mac_array\n    memory: hbm9", "has no memory 'hbm9'"),
        ("unit: mac_array", "unit: mac_array\n    at: turbo", "no operating point 'turbo'"),
        ("units.mac_array.clock:", "units.mac_array.clok:", "is not the path of a fact"),
        ("[500 MHz, log", "[500 W, log", "want a clock"),
        ("[500 MHz, log", "[500 MHz, ds", "unknown source 'ds'"),
        ("unit: mac_array", "unit: mac_array\n    conventions: {op_per_mac: 1}", "op_per_mac"),
        ("unit: mac_array", "unit: mac_array\n    peak: [5 GB/s, log, x]", "peak"),
        ("unit: mac_array", "unit: mac_array\n    peak: [5 TOP/s, ds, x]", "unknown source 'ds'"),
        ("compute: int8", "compute: int4", "does not support int4"),
    ],
)
def test_what_cannot_be_assumed_is_red_with_a_reason(replayed, old, new, says):
    verdicts = replayed(old, new)
    assert says in verdicts["figure-latency-OLD"].reason
    assert verdicts["figure-latency-OLD"].outcome == "fail"


@pytest.mark.parametrize(
    "conventions",
    [
        "{ops_per_mac: two}",
        "{ops_per_mac: 0}",
        "{bandwidth_share: half}",
        "{bandwidth_share: 8/0}",
        "{bandwidth_share: 0}",
        "{bandwidth_share: [1, 2]}",
        "{storage: fp99}",
        "{storage: 4}",
        "{layout: dense}",
        "{layout: 1}",
    ],
)
def test_a_convention_that_cannot_be_is_red_and_never_a_traceback(replayed, conventions):
    verdict = replayed("unit: mac_array", f"unit: mac_array\n    conventions: {conventions}")["figure-latency-OLD"]
    assert verdict.outcome == "fail"
    assert verdict.reason
    json.dumps(record(verdict).model_dump(mode="json"), allow_nan=False)


@pytest.mark.parametrize("key", ["compute", "storage"])
def test_a_precision_that_does_not_exist_is_named(acme, key):
    text = REPLAY.replace("compute: int8", "compute: int8\nstorage: int8").replace(f"{key}: int8", f"{key}: int9")
    acme.write("golden/old.yaml", text)
    try:
        message = acme.verdicts("golden/old.yaml")["figure-latency-OLD"].reason
    except InputError as error:
        message = str(error)
    assert "int9" in message


def test_a_figure_per_watt_needs_a_power(acme, replayed):
    acme.edit("specs/hardware/acme/k1.yaml", "tdp: [20 W, brief, p. 1]\n", "")
    verdicts = replayed("{figure: latency OLD, expect: 1.017 µs}", "{figure: tops_per_w OLD, expect: 1.00 TOP/s/W}")
    assert "has no tdp" in verdicts["figure-tops_per_w-OLD"].reason


def test_an_order_of_labels_names_only_labels(replayed):
    verdicts = replayed("{figure: latency OLD, expect: 1.017 µs}", "{latency: OLD < acme/k1}")
    assert "unknown label 'acme/k1' (given: OLD)" in next(
        verdict.reason for verdict in verdicts.values() if verdict.reason
    )


def test_figures_are_shown_in_the_unit_that_they_were_printed_in(replayed):
    claim = "{figure: throughput OLD, expect: 900000 inferences/s}"
    verdicts = replayed("{figure: latency OLD, expect: 1.017 µs}", claim)
    verdict = verdicts["figure-throughput-OLD"]
    assert verdict.outcome == "fail"
    assert verdict.expected_display.rpartition(" ")[2] == verdict.obtained.shown().rpartition(" ")[2] == "inferences/s"


# ---- energies and orders


COUNTED = "{counted_energy: {per_op: [1 pJ/op, log, table 3], per_byte: [10 pJ/B, log, p], idle_share: [50 %, log, p]}}"

ENERGY = """\
title: An old log
source: {document: An old log, where: table 1, grade: read}
sources: {log: {document: An old log, grade: read}}
workload: {gemm: [64, 64, 64]}
compute: int8
given:
  OLD:
    hardware: acme/k1
    unit: mac_array
    facts: {tdp: [20 W, log, table 2]}
    formula: COUNTED
  NEW:
    hardware: acme/k1
    unit: mac_array
    facts: {tdp: [10 W, log, table 2]}
    formula: COUNTED
claims:
  - {figure: latency OLD, expect: 1.048 µs}
  - {figure: energy OLD, expect: 11.13 µJ}
  - {figure: power OLD, expect: 10.62 W}
  - {figure: attained OLD, expect: 500 GOP/s}
  - {figure: tops_per_w_attained OLD, expect: 25.0 GOP/s/W}
  - {figure: bandwidth_efficiency OLD, expect: 4.58 %}
  - {figure: energy NEW < OLD}
  - {figure: energy OLD < NEW, refuted: true}
""".replace("COUNTED", COUNTED)


@pytest.fixture
def energy(acme):
    """Verdicts of ENERGY with one text replaced."""

    def verdicts(old="OLD:", new="OLD:"):
        assert old in ENERGY
        acme.write("golden/old.yaml", ENERGY.replace(old, new, 1))
        return acme.verdicts("golden/old.yaml")

    return verdicts


def test_energy_is_counted_by_op_by_byte_and_by_time(energy):
    # 2 · 64³ = 524 288 op, 3 · 64² = 12 288 B / 256 GB/s + 1 µs = 1.048 µs;
    # 0.524 µJ + 0.123 µJ + 50 % × 20 W × 1.048 µs = 11.13 µJ
    assert red(energy()) == set()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("per_op: [1 pJ/op", "per_op: [1 pJ/B", "per_op: want a value in J/op, found '1 pJ/B'"),
        ("per_op: [1 pJ/op", "per_op: [cheap", "per_op: "),
        ("per_op: [1 pJ/op, log, table 3]", "per_op: [1 pJ/op]", "per_op: want [value, source, where], found ["),
        ("per_op: [1 pJ/op, log", "per_op: [1 pJ/op, ds", "per_op: unknown source 'ds' (listed: log)"),
        ("{per_op: [1 pJ/op, log, table 3], ", "{", "counted_energy: 'per_op' is missing"),
        (
            "{per_op:",
            "{per_mac: [1 pJ/op, log, x], per_op:",
            "counted_energy has no parameter 'per_mac' (has: per_op",
        ),
        (
            "counted_energy:",
            "guessed_energy:",
            "unknown formula 'guessed_energy' (known: counted_energy, ",
        ),
    ],
)
def test_a_formula_that_cannot_be_read_is_red_with_its_line(acme, energy, old, new, says):
    verdict = energy(old, new)["figure-energy-OLD"]
    assert verdict.outcome == "fail"
    assert says in verdict.reason
    assert "golden/old.yaml:11" in verdict.reason


def test_an_energy_needs_a_formula_and_a_power(acme, energy):
    missing = energy(f"    formula: {COUNTED}\n  NEW", "  NEW")
    assert "OLD has no energies; give 'counted_energy' under 'formula'" in missing["figure-energy-OLD"].reason
    acme.edit("specs/hardware/acme/k1.yaml", "tdp: [20 W, brief, p. 1]\n", "")
    assert "OLD has no tdp" in energy("facts: {tdp: [20 W, log, table 2]}", "facts: {}")["figure-energy-OLD"].reason


@pytest.mark.parametrize(
    "claim",
    [
        "{figure: energy OLD < OLD}",
        "{figure: energy OLD < OTHER}",
        "{figure: energy OLD <}",
        "{figure: energy < OLD}",
        "{figure: OLD}",
        "{figure: energy OLD NEW, expect: 1 J}",
        "{figure: energy OLD < NEW, expect: 1 J}",
        "{figure: energy OLD, expect: 11.13 µJ, refuted: true}",
        "{figure: energy OLD < NEW, refuted: maybe}",
        "{figure: energy OLD, expect: 11.13 W}",
    ],
)
def test_an_order_or_figure_that_means_nothing_is_refused(energy, claim):
    with pytest.raises(InputError):
        energy("{figure: latency OLD, expect: 1.048 µs}", claim)


# ---- layouts


PACKED = """\
title: An old log
source: {document: An old log, where: table 1, grade: read}
sources: {log: {document: An old log, grade: read}}
workload: {mlp: [64, 64], batch: 2}
compute: int8
given:
  OLD:
    hardware: acme/k1
    unit: vector
    conventions: {layout: LAYOUT}
    facts: {resident_warps.tile: [2, log, p], warp_threads.tile: [4, log, p]}
claims:
  - {figure: blocks OLD, expect: 32}
  - {figure: units OLD, expect: UNITS}
  - {figure: utilization OLD, expect: SHARE}
"""


@pytest.mark.parametrize(
    ("layout", "outputs", "units", "share"),
    [
        # 2 × 64 = 128 outputs in warps of 4 are 32; a tile holds 2: 16 tiles, but there are 8
        ("packed", 128, 8, "100 %"),
        # 2 × 20 = 40 outputs are 10 warps on 5 of 8 tiles
        ("packed", 40, 5, "62.5 %"),
        # whatever the workload, all 8
        ("full", 2, 8, "100 %"),
    ],
)
def test_a_layout_is_replayed_as_it_was_assumed(acme, layout, outputs, units, share):
    text = PACKED.replace("LAYOUT", layout).replace("UNITS", str(units)).replace("SHARE", share)
    acme.write("golden/old.yaml", text.replace("mlp: [64, 64]", f"mlp: [64, {outputs // 2}]"))
    verdicts = acme.verdicts("golden/old.yaml")
    assert verdicts["figure-units-OLD"].outcome == verdicts["figure-utilization-OLD"].outcome == "pass"
    assert verdicts["figure-units-OLD"].obtained.shown() == str(units)


def test_a_layout_is_set_beside_that_of_the_hardware(acme):
    acme.write("golden/old.yaml", PACKED.replace("LAYOUT", "packed").replace("UNITS", "8").replace("SHARE", "100 %"))
    suite = acme.suite()
    assumed = replay.assumed(suite.read(acme.root / "golden/old.yaml").claims[0], suite)["OLD"]
    (row,) = [row for row in assumptions(assumed, "int8", "int8") if row.what == "layout"]
    assert (row.assumed, row.sourced, row.factor) == ("packed", "spread", None)


def test_the_documented_device_is_laid_out_as_hardware_deals_it(acme):
    # 10 warps packed on 5 of 8 tiles; K1's spec says no warps, and a tile's vector unit has 16 · 8 = 128 lanes: 1 of 8
    text = PACKED.replace("LAYOUT", "packed").replace("UNITS", "5").replace("SHARE", "62.5 %")
    acme.write("golden/old.yaml", text.replace("mlp: [64, 64]", "mlp: [64, 20]"))
    suite = acme.suite()
    claim = suite.read(acme.root / "golden/old.yaml").claims[0]
    assumed = replay.assumed(claim, suite)["OLD"]
    assert sourced("units", assumed, "int8", lambda: suite.workload(claim), ENERGIES) == ("1", 1.0)
    assert sourced("utilization", assumed, "int8", lambda: suite.workload(claim), ENERGIES) == ("12.50 %", 0.125)


# ---- counted work, measured latencies, units by FLOPs, ratios

EFFICIENCY = "golden/004-model-efficiency.yaml"


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        # a MAC is two ops: 8.23 G, 0.32 TFLOP/s, 37.7 %, and the table's ResNet-50 row is wrong by two
        (
            "per_mac: [1,",
            "per_mac: [2,",
            {
                f"figure-{name}-ResNet50-1-of-network-torchvision/resnet50-batch-1"
                for name in ("ops", "attained", "efficiency")
            },
        ),
        ("[25.38 ms", "[26.38 ms", {"figure-efficiency-ResNet50-1-of-network-torchvision/resnet50-batch-1"}),
        # without norms 4.089 G, which still prints as 4.1, but 18.7 %
        (
            'kinds: ["conv2d, linear, batch_norm, layer_norm"',
            'kinds: ["conv2d, linear"',
            {"figure-efficiency-ResNet50-1-of-network-torchvision/resnet50-batch-1"},
        ),
    ],
    ids=["mac", "latency", "norms"],
)
def test_one_other_assumption_of_a_measured_efficiency_turns_its_row_red(log, old, new, changed):
    text = (log.root / EFFICIENCY).read_text(encoding="utf-8")
    log.write(EFFICIENCY, text.replace(old, new, 1))  # of the first label, ResNet50-1
    assert red(log.outcomes(EFFICIENCY)) == changed


def test_a_measured_efficiency_counts_all_ops_where_it_is_sourced(log):
    # 2 × 4.089 GMAC + 0.071 Gop over 25.38 ms and 0.8594 TFLOP/s: 37.8 %, twice the printed 19.0 %
    suite = Suite.of([log.root / "golden"], [PACKAGED])
    claim = next(one for one in suite.read(log.root / EFFICIENCY).claims if one.subject == "efficiency ResNet50-1")
    one, net = replay.assumed(claim, suite)["ResNet50-1"], suite.workload(claim)
    shown, value = sourced("efficiency", one, "fp32", lambda: net, ENERGIES)
    assert value == pytest.approx(float(net.ops.sum()) / 25.38e-3 / 0.8594e12)
    assert shown == "37.82 %"


def test_units_by_flops_ignore_the_outputs(log):
    log.edit(LOG, "8 below 50 MFLOP, 24", "12 below 50 MFLOP, 24")
    assert red(log.outcomes()) == {"figure-units-GPU-typed", "figure-utilization-GPU-typed"}


def test_a_ratio_is_of_the_first_label_over_the_second(log):
    suite = Suite.of([log.root / "golden"], [PACKAGED])
    claims = {claim.subject: claim for claim in suite.read(log.root / LOG).claims}
    obtained = judge(claims["latency CPU / TPU"], "", suite).obtained
    assert obtained.value == pytest.approx(169.12 / 67.78, rel=1e-3)
    assert obtained.formula == "169.1 µs / 67.78 µs"
