"""Devices in the evidence: their sheets, the hardest load of each at each point, and why some have none."""

import pytest

from pytest_rooflint.evidence.devices import device, limit, power, system
from pytest_rooflint.evidence.verdicts import record
from rooflint.answers.tdp_registry import answer
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.energy.power import survey
from rooflint.hardware.names import system_of
from rooflint.hardware.registry import Registry


def power_of(repository):
    suite = repository.suite()
    return power([suite.registry.get(name) for name in suite.devices()], suite.registry).model_dump(by_alias=True)


def test_a_run_says_it_of_each_device_at_each_point(tiny):
    found = tiny.evidence("-k", "count")["power"]
    assert found["schema"] == "rooflint-power/2"
    assert [(load["device"], load["at"]) for load in found["loads"]] == [("acme/x1", "low"), ("acme/x1", None)]
    assert found["not_known"] == []
    assert sum(found["verdicts"].values()) == 2


def test_a_load_stands_beside_its_limit(small):
    low, own = power_of(small)["loads"]
    assert (own["unit"], own["precision"], own["known"], own["unknown"]) == ("mac_array", "int8", 2, 0)
    assert own["limit"] == {"path": "tdp", "value": 15.0, "display": "15 W"}
    # 15 W / (4 × 4096 MAC × 2 op/MAC × 1 GHz) = 0.4578 pJ/op
    assert own["exhausting_j_per_op"] == pytest.approx(0.4578e-12, rel=1e-4)
    assert own["exhausting_display"] == "0.458"
    # 7 W at half the clock
    assert low["exhausting_j_per_op"] / own["exhausting_j_per_op"] == pytest.approx(7 / 15 * 2)
    assert own["low_ratio"] <= own["ratio"] <= own["high_ratio"]
    assert own["ratio_display"] == f"{own['ratio']:.2f}"


def test_the_sentences_are_those_of_the_command(small):
    suite = small.suite()
    device, energies = suite.registry.get("acme/x1"), Energies(Coefficients(suite.registry))
    points = [device, *map(device.at, device.operating_points)]
    verdicts = answer([one for point in points for one in survey(point, energies)]).sections[0]
    found = power_of(small)
    assert found["sentences"] == list(verdicts.sentences)
    assert "undecided 2" in found["sentences"][0]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("process: [7 nm, brief, p. 1]\n", "no process node is known"),
        ("tdp: [15 W, brief, p. 1]\n", "no power limit is known"),
    ],
)
def test_a_point_without_an_answer_says_why(small, line, reason):
    small.edit("specs/hardware/acme/x1.yaml", line, "")
    found = power_of(small)
    assert found["not_known"][0] == {"device": "acme/x1", "at": None, "reason": reason}
    # the mode has a limit of its own, and no process of its own
    assert len(found["loads"]) + len(found["not_known"]) == 2
    assert len(found["loads"]) == (reason == "no power limit is known")


def test_a_file_of_energies_that_cannot_be_read_is_a_reason(small):
    small.write("specs/process/7nm.yaml", "mac: [\n")
    found = power_of(small)
    assert found["loads"] == found["sentences"] == []
    assert {row["at"] for row in found["not_known"]} == {None, "low"}
    assert all(row["reason"].startswith("specs/process/7nm.yaml:") for row in found["not_known"])


def test_a_repository_without_devices_has_no_loads(repository):
    suite = repository.suite()
    found = power([], suite.registry)
    assert (found.loads, found.not_known, found.sentences) == ([], [], [])


def test_every_shipped_device_has_a_load_or_a_reason_at_each_point(shipped_suite):
    registry = shipped_suite.registry
    devices = [registry.get(name) for name in shipped_suite.devices()]
    found = power(devices, registry)
    points = {(one.id, mode) for one in devices for mode in (None, *one.operating_points)}
    loads = [(load.device, load.at) for load in found.loads]
    missing = {(row.device, row.at) for row in found.not_known}
    assert len(loads) == len(set(loads))
    assert set(loads) | missing == points
    assert not set(loads) & missing
    ratios = [load.ratio for load in found.loads]
    assert ratios == sorted(ratios, reverse=True)


# ---- the sheet of a device

GOLDEN = """\
hardware: acme/k1
source: {document: Acme data sheet, where: p. 1, grade: read}
claims:
  - {peak: mac_array int8, expect: 32.77 TOP/s}
  - {peak: mac_array int8, at: low, expect: 16.38 TOP/s}
  - {peak: mac_array int8, per: gcd, expect: 16.38 TOP/s}
  - {peak: mac_array fp16, expect: 14.75 TFLOP/s}
  - {bandwidth: hbm, expect: 256 GB/s}
  - {capacity: hbm, expect: 17.18 GB}
  - {count: vector, expect: 128}
"""


@pytest.fixture
def sheet(acme):
    """The sheet of acme/k1, with verdicts on what its data sheet prints."""
    acme.write("golden/k1.yaml", GOLDEN)
    found = [record(verdict, 0.1) for verdict in acme.verdicts("golden/k1.yaml").values()]
    return device(acme.suite().registry.get("acme/k1"), found)


def test_a_peak_is_beside_what_was_published_of_it_at_the_device_s_own_point(sheet):
    peaks = {(one.unit, one.precision): one for one in sheet.peaks}
    assert list(peaks) == [("mac_array", "int8"), ("mac_array", "fp16"), ("vector", "fp32"), ("vector", "int8")]
    # 8 × 2 × 1024 MAC × 2 op/MAC × 1 GHz, and twice that with sparsity
    int8 = peaks["mac_array", "int8"]
    assert (int8.value, int8.display, int8.sparse_display) == (32.768e12, "32.77 TOP/s", "65.54 TOP/s")
    assert int8.formula == "8 tile × 2 mac_array × 1024 MAC/clock × 2 op/MAC × 1000 MHz"
    assert [(one.display, one.document, one.where) for one in int8.published] == [
        ("32.77 TOP/s", "Acme data sheet", "p. 1"),
        ("16.38 TOP/s per gcd", "Acme data sheet", "p. 1"),
    ]
    # FP16 has a clock of its own: 8 × 2 × 512 × 2 × 900 MHz; it has no sparsity
    fp16 = peaks["mac_array", "fp16"]
    assert (fp16.display, fp16.sparse_display, len(fp16.published)) == ("14.75 TFLOP/s", None, 1)
    assert (fp16.weakest_grade, peaks["vector", "int8"].weakest_grade) == ("read", "estimate")
    assert peaks["vector", "fp32"].published == []


def test_a_factor_is_cited_unless_it_is_a_convention(sheet):
    factors = {one.name: one for one in sheet.peaks[0].factors}
    rate = factors["macs_per_clock"]
    assert (rate.path, rate.source, rate.grade, rate.where, rate.line) == (
        *("units.mac_array.macs_per_clock.int8", "arch", "read", "p. 3"),
        8,
    )
    assert rate.file.endswith("acme/a1.yaml")
    assert [(one.display, one.path, one.line) for one in factors.values() if one.source is None] == [
        ("2 op/MAC", None, None)
    ]


def test_a_memory_is_beside_its_bandwidth_and_capacity(sheet):
    hbm, ddr = sheet.memories
    # 1024 bit × 2 Gbit/s
    assert (hbm.name, hbm.bandwidth_display, hbm.capacity_display) == ("hbm", "256 GB/s", "16 GiB")
    assert [one.display for one in hbm.published] == ["256 GB/s", "17.18 GB"]
    assert (ddr.name, ddr.bandwidth_display, ddr.formula, ddr.published) == ("ddr", "25.6 GB/s", "25.6 GB/s", [])


def test_a_memory_without_bandwidth_has_none_and_no_derivation(acme):
    acme.edit("specs/hardware/acme/k1.yaml", ", bandwidth: [25.6 GB/s, brief, p. 5]", "")
    found = device(acme.suite().registry.get("acme/k1"), [])
    ddr = found.memories[1]
    assert (ddr.bandwidth_display, ddr.formula, ddr.factors, ddr.capacity_display) == (None, "", [], "32 GB")


def test_every_fact_is_listed_once_beside_the_derivations_or_among_the_rest(sheet, acme):
    derived = {factor.path for one in (*sheet.peaks, *sheet.memories) for factor in one.factors if factor.path}
    rest = {one.path for one in sheet.facts}
    assert not derived & rest
    assert derived | rest == set(acme.suite().registry.get("acme/k1").facts)
    assert {"tdp", "launch_overhead", "caches.l2.capacity", "units.mac_array.sparsity.int8"} <= rest
    assert (sheet.tdp, sheet.process, sheet.launched) == ("20 W", None, None)
    assert [(one.path, one.reason) for one in sheet.undisclosed] == [
        ("units.secret.macs_per_clock", "Acme does not publish it")
    ]


def test_an_operating_point_has_its_overrides_and_its_peaks(sheet):
    (low,) = sheet.operating_points
    assert (low.name, [one.path for one in low.overrides]) == (
        "low",
        ["tdp", "units.mac_array.clock", "units.mac_array.clock_of.fp16"],
    )
    peaks = {(one.unit, one.precision): one.display for one in low.peaks}
    assert peaks["mac_array", "int8"] == "16.38 TOP/s"
    assert peaks["mac_array", "fp16"] == "7.373 TFLOP/s"
    assert peaks["vector", "fp32"] == "614.4 GFLOP/s"  # its clock stays


def test_documents_of_two_files_with_the_same_key_are_told_apart(acme):
    # the architecture calls its manual `brief`, and the device its brief
    text = acme.read("specs/architectures/acme/a1.yaml")
    acme.write("specs/architectures/acme/a1.yaml", text.replace("arch:", "brief:").replace("arch,", "brief,"))
    found = device(acme.suite().registry.get("acme/k1"), [])
    titles = {key: document.document for key, document in found.sources.items()}
    assert {titles[key] for key in ("brief", "brief2")} == {"Acme A1 architecture manual", "Acme K1 brief"}
    cited = {factor.name: titles[factor.source] for factor in found.peaks[0].factors if factor.source}
    assert cited["macs_per_clock"] == "Acme A1 architecture manual"
    assert cited["clock"] == "Acme K1 brief"


def test_a_limit_says_which_fact_it_is(small):
    registry = small.suite().registry
    checked = survey(registry.get("acme/x1"), Energies(Coefficients(registry)))[0]
    assert limit(checked).model_dump() == {"path": "tdp", "value": 15.0, "display": "15 W"}


@pytest.fixture
def hgx(claims):
    registry = Registry()
    (verdict,) = claims("link: nvlink, per: device, expect: 900 GB/s", head="hardware: nvidia/hgx-h100\n")
    return system_of(registry, registry.get("nvidia/hgx-h100")), [record(verdict, 0.1)]


def test_a_system_has_each_bandwidth_that_can_be_claimed_and_the_claims_on_it(hgx):
    found = system(*hgx)
    assert (found.device, found.count, found.topology, found.link) == ("nvidia/h100-sxm5-80gb", 8, "switch", "nvlink")
    shown = {one.name: one for one in found.bandwidths}
    # 18 links × 25 GB/s × 2 directions; half of eight of them
    assert (shown["nvlink, per device"].display, shown["nvlink bisection"].display) == ("900 GB/s", "3.6 TB/s")
    assert [one.outcome for one in shown["nvlink, per device"].published] == ["pass"]
    assert [one.published for one in shown.values() if one.name != "nvlink, per device"] == [[]] * (len(shown) - 1)
    assert all(one.source in found.sources for row in found.bandwidths for one in row.factors if one.source)
