"""Where recordings lie and whose they are: what is of another device, malformed or without a claim is refused."""

import csv
import re
from pathlib import Path

import pytest

from pytest_rooflint.recordings.files import as_seen, identified, news, slice_of
from rooflint.hardware.registry import Registry
from rooflint_measure.recording import Machine, read, write

CLAIM = "measured: rate <= peak"
UNSAID = "hardware: acme/k1\nsource: {document: D, where: p. 1, grade: estimate}\nclaims:\n"
"""A golden file that does not say what the machine calls itself."""


@pytest.fixture
def honest(bench, make):
    """One recording with a claim over it."""
    bench.record(make.gemm(30e12))
    bench.claim(CLAIM)
    return bench


def test_a_world_with_a_claimed_recording_is_closed(honest):
    assert honest.problems() == []


def test_a_recording_without_any_claim_is_a_problem(bench, make):
    file = bench.record(make.gemm(30e12))
    bench.repository.write(
        "golden/k1.yaml",
        "hardware: acme/k1\nsource: {document: D, where: p. 1, grade: read}\nclaims:\n  - {count: tile, expect: 8}\n",
    )
    (problem,) = bench.problems()
    assert problem.startswith(
        f"golden/measured/acme/k1/{file.name}:1  no claim in golden/measured/acme/k1.yaml is about it"
    )


def test_a_recording_of_a_device_without_spec_is_a_problem(honest, make):
    honest.record(make.gemm(1e12), folder="golden/measured/acme/k9")
    (problem,) = honest.problems()
    assert "lies in the folder of a device without spec: unknown device 'acme/k9'" in problem


def test_a_recording_of_another_machine_is_refused_and_nobody_guesses(honest, make, message):
    honest.record(make.gemm(1e12), device="Synthetic Acme K1 Plus")
    (problem,) = honest.problems()
    assert "was made on 'Synthetic Acme K1 Plus', and the golden file is about 'Synthetic Acme K1'" in problem
    verdict = honest.verdict(CLAIM)
    assert verdict.outcome == "fail"
    assert "was made on 'Synthetic Acme K1 Plus'" in message(verdict)


def test_a_name_that_no_spec_has_must_be_said_by_the_golden_file(honest, message):
    text = message(honest.verdict(CLAIM, head=UNSAID))
    assert "was made on 'Synthetic Acme K1', which is not a name of acme/k1; if it is this device" in text
    assert "add 'machine: Synthetic Acme K1'" in text


@pytest.mark.parametrize("name", ["Acme K1", "acme  k1", "acme/k1"])
def test_the_name_of_the_spec_needs_no_word_in_the_golden_file(bench, make, name):
    bench.record(make.gemm(30e12), device=name)
    assert bench.verdict(CLAIM, head=UNSAID).outcome == "pass"
    assert bench.problems() == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", ":1  is not JSON: Expecting property name"),
        ('{"schema": "other"}', "want a recording (rooflint-recording/2); schema:"),
        ("[]", "want a recording (rooflint-recording/2)"),
    ],
)
def test_a_malformed_recording_is_one_sentence_with_its_place(honest, text, says):
    honest.repository.write("golden/measured/acme/k1/2026-11-21T0000-000000000000.json", text)
    (problem,) = honest.problems()
    assert problem.startswith("golden/measured/acme/k1/2026-11-21T0000-000000000000.json:1  ")
    assert says in problem
    assert honest.verdict(CLAIM).outcome == "fail"


def test_a_claim_over_recordings_stands_beside_their_folder(honest, message):
    honest.repository.write("golden/elsewhere.yaml", honest.repository.read("golden/measured/acme/k1.yaml"))
    (verdict,) = honest.repository.verdicts("golden/elsewhere.yaml").values()
    assert "a claim over recordings of acme/k1 stands in measured/acme/k1.yaml" in message(verdict)


def test_a_golden_file_about_another_device_than_its_path_is_red(honest, make, message):
    specs = honest.repository.read("specs/hardware/acme/k1.yaml")
    honest.repository.write("specs/hardware/acme/k2.yaml", specs)
    honest.record(make.gemm(30e12), folder="golden/measured/acme/k2")
    text = honest.repository.read("golden/measured/acme/k1.yaml")
    honest.repository.write("golden/measured/acme/k2.yaml", text)
    assert any(
        "lies in the folder of acme/k2" in problem and "is about acme/k1" in problem for problem in honest.problems()
    )


def test_a_claim_without_recordings_says_how_to_make_one(bench, message):
    text = message(bench.verdict(CLAIM))
    assert "no recording in golden/measured/acme/k1; rooflint measure record writes one" in text


def test_json_elsewhere_in_a_golden_folder_is_still_nobody_s(honest):
    honest.repository.write("golden/measured/stray.json", "{}")
    (problem, *rest) = honest.problems()
    assert "not a .yaml file" in problem or "device without spec" in problem
    assert all("stray.json" in one for one in rest)


# ---- operating points


def test_each_operating_point_has_recordings_of_its_own(bench, make):
    # at low the INT8 peak is half of 32.768 TOP/s
    bench.record(make.gemm(30e12))
    bench.record(make.gemm(15e12), power_mode="low")
    assert bench.verdict(CLAIM).outcome == "pass"
    assert bench.verdict(f"{CLAIM}, at: low").outcome == "pass"
    bench.record(make.gemm(20e12), power_mode="low")
    assert bench.verdict(CLAIM).outcome == "pass"
    assert bench.verdict(f"{CLAIM}, at: low").outcome == "fail"


def test_a_mode_without_a_claim_of_its_own_is_a_problem(honest, make):
    file = honest.record(make.gemm(15e12), power_mode="low")
    (problem,) = honest.problems()
    assert problem.startswith(f"golden/measured/acme/k1/{file.name}:1  no claim at low in golden")


def test_a_mode_that_nobody_recorded_is_red(honest, message):
    text = message(honest.verdict(f"{CLAIM}, at: low"))
    assert "no recording is of the operating point low (recorded: none)" in text


def test_a_mode_that_the_device_has_not_is_a_problem(honest, make):
    honest.record(make.gemm(1e12), power_mode="MAXN")
    assert any(
        "was made in the mode 'maxn', which acme/k1 does not have (has: low)" in one for one in honest.problems()
    )


# ---- a run of pytest


def test_claims_over_recordings_run_like_any_other(tiny, make):
    bench = make.Bench(tiny)
    head = (
        "hardware: acme/x1\nmachine: Synthetic Acme K1\n"
        "source: {document: a synthetic recording, where: measurements, grade: estimate}\nclaims:\n"
    )
    bench.record(make.gemm(30e12), folder="golden/measured/acme/x1")
    bench.record(make.gemm(29e12, throttled=5), folder="golden/measured/acme/x1", power_mode="low")
    tiny.write(
        "golden/measured/acme/x1.yaml",
        f"{head}  - {{{CLAIM}}}\n  - {{efficiency: gemm int8, at: low, expect: 190 % ± 20 %, why: x}}\n",
    )
    result = tiny.run("golden", "-q")
    result.assert_outcomes(passed=10, skipped=1)


# ---- which device a machine is


def gpu(name) -> Machine:
    return Machine(device=name, kind="gpu", count=1)


@pytest.mark.parametrize("name", ["Tesla T4", "nvidia/t4", "TESLA  T4", "NVIDIA T4 PCIe 16GB"])
def test_a_device_is_known_by_exactly_its_names(name):
    assert identified(gpu(name), Registry.of(())).id == "nvidia/t4"


@pytest.mark.parametrize(
    ("message", "device"),
    [
        ("NVIDIA H200", "nvidia/h200-sxm-141gb"),
        ("NVIDIA H200 NVL", "nvidia/h200-nvl-141gb"),
        ("NVIDIA H100 80GB HBM3", "nvidia/h100-sxm5-80gb"),
        ("NVIDIA A100-SXM4-80GB", "nvidia/a100-sxm4-80gb"),
    ],
)
def test_what_drivers_print_of_server_boards_is_their_name(message, device):
    assert identified(gpu(message), Registry.of(())).id == device


@pytest.mark.parametrize("name", ["Tesla T40", "Tesla", "T4", "NVIDIA H100", "AMD EPYC", "", "nvidia/*"])
def test_a_name_that_is_only_near_is_no_device(name):
    assert identified(gpu(name), Registry.of(())) is None


def test_a_slice_of_a_cpu_is_not_the_cpu():
    # an EPYC 9654 has 96 cores; two of them reach a forty-eighth of its peak
    def cpu(count, **facts):
        return identified(Machine(device="EPYC 9654", kind="cpu", count=count, facts=facts), Registry.of(()))

    assert cpu(96).id == cpu(192, cores=96).id == "amd/epyc-9654"
    assert cpu(2) is None
    assert cpu(2, cores=2) is None


def test_a_part_of_a_cpu_has_the_peak_of_its_cores_and_the_memory_of_the_whole():
    whole = Registry.of(()).get("amd/epyc-9654")
    part = as_seen(whole, Machine(device="a virtual CPU", kind="cpu", count=2))
    assert slice_of(whole, Machine(device="a virtual CPU", kind="cpu", count=2)) == (2, 96)
    ratio = part.unit("simd").peak_ops_per_s("fp32") / whole.unit("simd").peak_ops_per_s("fp32")
    assert ratio == pytest.approx(2 / 96)
    assert part.main_memory().bandwidth_bytes_per_s == whole.main_memory().bandwidth_bytes_per_s
    # two threads of one core are one core, and two CPUs of a container on the whole host are two
    assert slice_of(whole, Machine(device="x", kind="cpu", count=2, facts={"cores": 1})) == (1, 96)
    assert slice_of(whole, Machine(device="x", kind="cpu", count=2, facts={"cores": 96})) == (2, 96)


@pytest.mark.parametrize(
    ("device", "machine"),
    [
        ("amd/epyc-9654", Machine(device="x", kind="cpu", count=192, facts={"cores": 96})),
        ("amd/epyc-9654", Machine(device="two sockets", kind="cpu", count=192, facts={"cores": 192})),
        ("nvidia/t4", Machine(device="Tesla T4", kind="gpu", count=1)),
    ],
)
def test_what_has_all_cores_is_no_slice(device, machine):
    whole = Registry.of(()).get(device)
    assert slice_of(whole, machine) is None
    assert as_seen(whole, machine) is whole


def test_a_slice_is_known_by_its_count_and_name(small):
    text = re.sub(r"^name: .*$", 'name: "2 × Acme X"', small.read("specs/hardware/acme/x1.yaml"), flags=re.M)
    small.write("specs/hardware/acme/slice.yaml", text)
    registry = Registry.of((small.root / "specs",))
    assert identified(Machine(device="Acme X", kind="cpu", count=2), registry).id == "acme/slice"
    assert identified(Machine(device="Acme X", kind="cpu", count=4), registry) is None


def test_a_name_that_two_devices_answer_to_is_none_of_them(small):
    text = small.read("specs/hardware/acme/x1.yaml")
    for name in ("y1", "y2"):
        small.write(f"specs/hardware/acme/{name}.yaml", re.sub(r"^name: .*$", "name: Acme Twin", text, flags=re.M))
    assert identified(gpu("Acme Twin"), Registry.of((small.root / "specs",))) is None


# ---- the driver's name of every registered GPU


NAMES = Path(__file__).with_name("driver_names.csv")
"""Names of registered GPUs, each with one of its PCI ids: NVIDIA/open-gpu-kernel-modules at df1c9a3de2be (595.45.04),
README.md, "Compatible GPUs"; RTX 3050 at 015742d32fa6. RTX 5050, RTX 5060, GB10 and Tesla P4: as public logs of lspci
and nvidia-smi have them. Before Turing: the driver's `supported-gpus.json`,
alex-tu-cc/get-nvidia-supported-gpus-json at a564d0c5266f (gh-pages at b9c1aa1a24f3 for the GeForce GTX 10)."""

LISTED = {row["device"]: row["name"] for row in csv.DictReader(NAMES.read_text(encoding="utf-8").splitlines())}


def driver_name(device):
    """What the driver prints; the registered name where it is not listed."""
    return LISTED.get(device.id, device.name)


GPUS = [device for device in Registry.of(()).readable() if device.kind == "gpu"]


@pytest.mark.slow
@pytest.mark.parametrize("device", GPUS, ids=lambda device: device.id)
def test_the_drivers_name_with_its_memory_identifies_every_registered_gpu(device):
    capacity = next(memory.capacity_bytes for memory in device.memories.values() if "capacity" in memory.facts)
    # a driver reports a little less than is soldered on
    machine = Machine(device=driver_name(device), kind="gpu", count=1, facts={"memory MiB": int(0.97 * capacity) >> 20})
    assert identified(machine, Registry.of(())).id == device.id


UNLISTED = {"nvidia/b100-sxm", "nvidia/v100-dgxs-16gb"}
"""Announced, or never sold alone: neither is in the driver's lists."""


def test_nvidias_lists_name_every_registered_gpu():
    modules = re.compile(r"nvidia/jetson-")  # their driver is another one
    cards = {one.id for one in GPUS if one.id.startswith("nvidia/") and not modules.match(one.id)}
    assert len(cards) > 110
    assert cards - set(LISTED) == UNLISTED


@pytest.mark.parametrize(
    ("memory_mib", "device"),
    [(16380, "nvidia/rtx-4060-ti-16gb"), (8188, "nvidia/rtx-4060-ti-8gb"), (12288, None), (None, None)],
)
def test_of_cards_with_one_name_the_memory_decides(memory_mib, device):
    facts = {} if memory_mib is None else {"memory MiB": memory_mib}
    found = identified(Machine(device="NVIDIA GeForce RTX 4060 Ti", kind="gpu", count=1, facts=facts), Registry.of(()))
    assert (found.id if found else None) == device


def test_a_slice_of_a_gpu_is_another_device():
    assert identified(gpu("NVIDIA H200 MIG 1g.18gb"), Registry.of(())) is None


# ---- what a recording says that an earlier one does not


@pytest.fixture
def recorded():
    file = next((Path(__file__).parents[3] / "golden/measured").rglob("*.json"))
    return read(file)


def slower(recording, factor):
    first, *others = recording.measurements
    samples = first.samples.model_copy(update={"seconds": tuple(factor * one for one in first.samples.seconds)})
    return recording.model_copy(update={"measurements": (first.model_copy(update={"samples": samples}), *others)})


def test_the_first_recording_of_a_machine_is_news(recorded, tmp_path):
    assert news(recorded, tmp_path) == "the first recording of this machine with this software"


def test_the_same_figures_within_what_a_day_changes_are_no_news(recorded, tmp_path):
    write(tmp_path, recorded)
    assert news(recorded, tmp_path) == ""
    assert news(slower(recorded, 1.04), tmp_path) == ""


def test_a_figure_that_moved_or_appeared_is_news(recorded, tmp_path):
    write(tmp_path, recorded)
    name = recorded.measurements[0].name
    assert news(slower(recorded, 1.2), tmp_path) == f"{name} takes 1.2 times as long"
    fewer = recorded.model_copy(update={"measurements": recorded.measurements[1:]})
    assert news(fewer, tmp_path) == f"measured in one of both alone: {name}"
