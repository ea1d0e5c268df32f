"""The first hour, rehearsed on a FAKE of NVML: no GPU takes part. Faults in the middle, and runs that go on later."""

import re
from pathlib import Path

import pytest
from tests.validation.recordings.rehearsal import ALL, Bench, install

from pytest_rooflint.recordings import first_hour, network_runs, runs
from pytest_rooflint.recordings.first_hour import checks, laws, lost, proposals, told
from pytest_rooflint.recordings.journal import Journal
from pytest_rooflint.recordings.row import RecordedFile, doubt
from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import Registry
from rooflint_measure.record import Gemm, Launch, State, Unavailable
from rooflint_measure.recording import Machine, Recording
from rooflint_measure.stopwatches import gemm, products
from rooflint_measure.stopwatches.gemm import NoTimeError, NotMeasuredError
from rooflint_measure.stopwatches.products import Kernel

T4 = "nvidia/t4"


@pytest.fixture
def bench(fakes, monkeypatch, tmp_path):
    found = Bench(fakes, tmp_path / "no proc")
    install(found, monkeypatch)
    return found


@pytest.fixture
def file(tmp_path):
    return tmp_path / "hour.jsonl"


# ---- the whole hour


def test_everything_is_measured_and_is_in_the_journal_at_once(bench, file):
    lines = []
    results = bench.run(file, lines=lines)
    assert (len(results.measurements), results.stopped) == (ALL, "")
    assert [one.name for one in Journal.read(file).measurements.values()] == [one.name for one in results.measurements]
    assert bench.taken[:3] == ["wait", "wait", "gemm"]
    assert lines[-1].startswith(f"[{ALL}/{ALL}] network alexnet fp16 b32 compile: 1 ms, 64 TFLOP/s")
    assert "left" in lines[-2]


def test_a_driver_that_fails_costs_what_follows_and_nothing_of_what_was_measured(bench, file):
    bench.faults["resnet18 b32"] = bench.driver
    first = bench.run(file)
    kept = len(first.measurements)
    assert 0 < kept < ALL
    assert first.stopped == "the device no longer answers: CUDA error"
    assert first.left_out["network resnet18 fp16 b32"] == "RuntimeError: CUDA error: unspecified launch failure"
    assert first.left_out["network alexnet fp16 b32 compile"] == first.stopped
    assert f"{kept} figures are kept in" in lost(first, Journal.read(file))
    # the driver is loaded again, and the same command goes on
    bench.gpu.vanishes_at_s, bench.faults, bench.taken = float("inf"), {}, []
    second = bench.run(file)
    assert (len(second.measurements), second.left_out, lost(second, Journal.read(file))) == (ALL, {}, "")
    assert len(bench.taken) == ALL - kept


def test_a_network_that_does_not_fit_the_memory_costs_itself_alone(bench, file):
    bench.faults["alexnet b32"] = bench.memory
    found = bench.run(file)
    assert found.left_out == {
        "network alexnet fp16 b32": "RuntimeError: CUDA out of memory. Tried to allocate 20.00 GiB"
    }
    assert (len(found.measurements), found.stopped) == (ALL - 1, "")
    # it would not fit a second time
    bench.taken = []
    assert bench.run(file).left_out == found.left_out
    assert bench.taken == []


def test_samples_that_were_throttled_are_kept_and_marked(bench, file):
    bench.faults["gemm"] = bench.heat
    found = {one.subject.kind: one for one in bench.run(file).measurements}
    assert found["gemm"].samples.throttled == dict.fromkeys(range(3), ("hw_thermal_slowdown",))
    assert found["wait"].samples.throttled == {}


def test_a_power_cap_is_a_check_that_fails_and_disturbs_no_sample(bench, file):
    bench.gpu.limit_w, bench.gpu.reasons = 350.0, 0x4
    (limit,) = [one for one in checked(bench) if one.name == "power limit"]
    assert (limit.is_good, limit.text) == (False, "350 W are set, and 700 W are the default: rates will be lower")
    assert all(not one.samples.throttled for one in bench.run(file).measurements)


def test_a_neighbour_that_comes_and_goes_is_told_when_it_does(bench, file):
    bench.faults["gemm"] = bench.neighbour
    bench.faults["graph"] = bench.gpu.processes.clear
    lines = []
    found = bench.run(file, lines=lines)
    events = [
        "neighbours: 1 other process on the GPU, with 5120 MiB (before stream triad torch)",
        "neighbours: gone (before null fp16 256x256x256)",
    ]
    assert [line for line in lines if line.startswith("neighbours")] == events
    assert Journal.read(file).events == events
    # and the figures that it may have slowed down say so
    recording = of_t4(bench, *found.measurements)
    rows = RecordedFile(Path("a"), recording, (1,) * ALL).rows()
    doubts = {one.measurement.name: doubt(one) for one in rows if doubt(one)}
    assert set(doubts) == {"gemm-fp16-cublas-512x512x512", "stream-triad-torch-100000000", "launch-stream-torch"}
    assert set(doubts.values()) == {"1 other process on the GPU, with 5120 MiB (neighbours)"}


def test_a_power_limit_that_is_changed_meanwhile_is_told_and_such_a_run_does_not_go_on(bench, file):
    bench.faults["resnet18 b1"], bench.faults["resnet18 b32"] = bench.cap, bench.driver
    lines = []
    bench.run(file, lines=lines)
    assert "power limit: 350 W (before network alexnet fp16 b1)" in lines
    bench.gpu.vanishes_at_s = float("inf")
    with pytest.raises(RooflintError, match=r"begun with power limit W 700\.0, now 350\.0; name another"):
        bench.run(file)


def test_a_driver_that_fails_in_a_first_call_ends_the_run_and_is_no_property_of_the_network(bench, file):
    def vanish():
        bench.gpu.vanishes_at_s = bench.gpu.clock.now_s
        raise NotMeasuredError("AcceleratorError: CUDA error: device-side assert triggered")

    bench.faults["resnet18 b32"] = vanish
    first = bench.run(file)
    assert first.stopped == "the device no longer answers: CUDA error"
    assert Journal.read(file).left_out == {}
    bench.gpu.vanishes_at_s, bench.faults = float("inf"), {}
    assert len(bench.run(file).measurements) == ALL


def test_a_figure_that_ends_every_run_is_left_out_after_the_second(bench, file):
    bench.faults["resnet18 b32"] = bench.driver
    for _ in range(2):
        assert bench.run(file).stopped.startswith("the device")
        bench.gpu.vanishes_at_s = float("inf")
    third = bench.run(file)
    assert (len(third.measurements), third.stopped) == (ALL - 1, "")
    assert third.left_out == {"network resnet18 fp16 b32": "2 runs ended while it was measured"}


def test_an_error_outside_of_a_figure_ends_its_step_and_loses_none(bench, file, monkeypatch):
    def fails(*_):
        raise RuntimeError("CUDA error: out of memory\nmore")

    monkeypatch.setattr(network_runs, "cases", fails)
    found = bench.run(file)
    assert found.stopped == ""
    (step,) = (name for name, why in found.left_out.items() if why == "RuntimeError: CUDA error: out of memory")
    assert re.fullmatch("a step after [0-9]+ figures", step)
    assert len(found.measurements) >= 12
    assert not lost(found, Journal.read(file))


def test_a_figure_that_takes_longer_than_the_time_is_cut_and_tried_again(bench, file):
    bench.faults["gemm"] = bench.slow
    with runs.deadline(2.0):
        found = bench.run(file, budget_s=2.0)
    assert found.left_out["gemm fp16 cublas"] == "the 2 s for measuring were spent"
    assert len(found.measurements) in (1, 2)  # the waits, as far as the load lets them
    assert lost(found, Journal.read(file)) == ""
    bench.faults = {}
    assert len(bench.run(file).measurements) == ALL


def test_ctrl_c_keeps_what_was_measured_and_the_run_goes_on_later(bench, file):
    def stop():
        raise KeyboardInterrupt

    bench.faults["resnet18 b1"] = stop
    first = bench.run(file)
    assert first.stopped == "interrupted"
    bench.faults = {}
    assert len(bench.run(file).measurements) == ALL


def test_a_spent_budget_ends_the_hour_and_is_no_failure(bench, file):
    found = bench.run(file, budget_s=0.0)
    assert found.measurements == []
    assert "0 s for measuring were spent" in found.stopped
    assert lost(found, Journal.read(file)) == ""
    assert len(bench.run(file).measurements) == ALL  # with more time


def test_what_did_not_fit_the_time_is_tried_again_by_a_run_with_more_of_it(bench, file):
    def slow():
        raise NoTimeError("a call takes 13.5 s, and 9 do not fit the 40 s that are left")

    bench.faults["alexnet b32"] = slow
    assert "13.5 s" in bench.run(file).left_out["network alexnet fp16 b32"]
    bench.faults = {}
    assert len(bench.run(file).measurements) == ALL


# ---- checks


def checked(bench, old=""):
    return checks(bench.observer.machine({}), bench.observer.state(), bench.observer.others(), old)


def states(found):
    return {one.name: one.is_good for one in found}


def test_a_gpu_that_is_as_sold_passes_every_check(bench):
    found = checked(bench)
    assert set(states(found).values()) == {True}
    assert {"driver", "clock", "ECC", "MIG", "neighbours", "power limit", "throttling"} <= set(states(found))
    assert {one.name: one.text for one in found}["clock"] == "1.98 GHz of at most 1980 MHz (nvml)"


def test_what_spoils_figures_is_found_before_anything_runs(bench):
    bench.gpu.reasons, bench.gpu.temperature_c = 0x8, 91
    bench.gpu.processes.append((1, 1 << 20))
    found = states(checked(bench, "driver 470 is older than 525"))
    assert [name for name, is_good in found.items() if is_good is False] == [
        "neighbours",
        "driver",
        "throttling",
        "temperature",
    ]


def test_a_driver_that_answers_nothing_leaves_every_check_open(bench):
    bench.gpu.vanishes_at_s = 0.0
    assert {name: is_good for name, is_good in states(checked(bench)).items() if name != "driver"} == dict.fromkeys(
        ("neighbours", "power limit", "ECC", "MIG", "persistence", "throttling", "clock", "temperature")
    )


def test_a_slice_is_told_before_its_rates_are_compared(bench):
    machine = Machine(device="NVIDIA H200 MIG 1g.18gb", kind="gpu", count=1, facts={"mig slice": "1g.18gb"})
    found = checks(machine, State(clock_hz=1e9), Unavailable(reason="not asked"))
    assert [one.is_good for one in found if one.name == "MIG"] == [False]


# ---- facts and claims


def of_t4(bench, *rows):
    machine = Machine(device="Tesla T4", kind="gpu", count=1, software={})
    return Recording(
        taken="2026-11-24T01:00:00Z", command="rooflint measure first-hour", rooflint="0", machine=machine,
        measurements=rows,
    )  # fmt: skip


@pytest.fixture
def t4():
    return Registry().get(T4)


def test_facts_that_agree_are_not_proposed_and_others_are(bench, t4):
    # the spec has 16 GB, 40 multiprocessors and 70 W; not the L2 of this fake
    told_ = {"memory": 15.8e9, "groups": 40.0, "limit": 35.0, "l2": 123e6}
    found = {one.path: one for one in proposals(of_t4(bench, bench.measured("gemm", GEMM)), told_, t4)}
    assert set(found) == {"tdp", "caches.l2.capacity"}
    assert found["tdp"].ratio == pytest.approx(0.5)
    assert found["tdp"].line == 'tdp: [35 W, device, "default power limit, as the driver reports it"]'


def test_an_unknown_device_gets_every_fact(bench):
    recording = of_t4(bench, bench.measured("stream", Launch(way="stream", library="torch")))
    found = proposals(recording, {"memory": 16e9}, None)
    assert [one.path for one in found] == ["memories.*.capacity", "launch_overhead"]
    assert found[1].value == "1 ms"


GEMM = Gemm(precision="fp16", library="cublas", m=4096, n=4096, k=4096)


def test_laws_say_which_hold_and_which_measurement_breaks_them(bench, t4):
    # 2 × 4096³ in 1 ms are 137 TFLOP/s, of 65
    recording = of_t4(bench, bench.measured("gemm", GEMM))
    held = {one.law: one for one in laws(recording, t4, Registry())}
    assert held["rate <= peak"].cells[1] == "fails"
    assert held["rate <= peak"].broken[0].startswith("gemm-fp16-cublas-4096x4096x4096: 137.4 TFLOP/s of a peak of 65.")
    slow = of_t4(bench, bench.measured("gemm", GEMM.model_copy(update={"m": 1024})))
    assert {one.law: one.cells[1] for one in laws(slow, t4, Registry())}["rate <= peak"] == "holds"


def test_the_account_says_checks_claims_and_facts_in_eighty_columns(bench, t4, capsys):
    recording = of_t4(bench, bench.measured("gemm", GEMM))
    found = told(recording, t4, Registry(), checked(bench), [], events=["neighbours: gone (before x)"])
    headings = [section.heading for section in found.sections]
    assert headings[:5] == ["Checks", "Meanwhile", "Claims", "Why they fail", "Claims to propose"]
    lines = [line for one in found.sections if one.heading == "Claims to propose" for line in one.sentences]
    assert "{efficiency: gemm fp16, expect: 211 %}" in lines
    disturbed = recording.measurements[0].samples.model_copy(update={"throttled": dict.fromkeys(range(3), ("hot",))})
    hot = of_t4(bench, recording.measurements[0].model_copy(update={"samples": disturbed}))
    assert first_hour.claims(hot, t4)[-1] == "no efficiency: every product and pass was disturbed; measure again"
    unknown = told(recording, None, Registry(), checked(bench), [])
    assert "no claim can be judged" in next(one for one in unknown.sections if one.heading == "Claims").sentences[0]


def test_a_slice_of_a_socket_gets_no_claims_about_the_whole(bench):
    machine = Machine(device="a virtual CPU", kind="cpu", count=2, software={})
    product = bench.measured("gemm", GEMM.model_copy(update={"precision": "fp32"}))
    recording = of_t4(bench, product).model_copy(update={"machine": machine})
    found = told(recording, Registry().get("amd/epyc-9654"), Registry(), [], [])
    sections = {one.heading: one for one in found.sections}
    # 137 TFLOP/s are 22 times the peak of the whole and more of two cores
    assert sections["Claims"].table.rows[0][:2] == ("rate <= peak", "fails")
    assert sections["Claims to propose"].sentences[0].startswith("These are 2 of its 96 cores: describe them")


def test_networks_of_a_precision_without_a_measured_product_are_left_out_in_words(bench, file, monkeypatch):
    kernels = [Kernel(name, "cublas", "cuda", {"torch.mm": None}) for name in ("fp16", "bf16")]
    monkeypatch.setattr(products, "kernels", lambda device: kernels)
    real = gemm.probe

    def probe(kernel):
        if kernel.precision == "bf16":
            raise NotMeasuredError("no bf16 here")
        return real(kernel)

    monkeypatch.setattr(gemm, "probe", probe)
    found = bench.run(file)
    assert found.left_out["networks in bf16"] == "no product in bf16 was measured"
    assert found.expected == found.settled
    assert len(found.expected) == ALL + 1 + 2 * 2 * 4


def test_ten_networks_of_every_kind_are_the_default():
    assert len(set(first_hour.NETWORKS)) == 10
    assert {network_runs.is_text(name) for name in first_hour.NETWORKS} == {True, False}
