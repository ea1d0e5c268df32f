"""The first hour, rehearsed on a FAKE of NVML: no GPU takes part. Faults in the middle, and runs that go on later."""

import json

import pytest

from pytest_rooflint.recordings import first_hour, network_runs, runs
from pytest_rooflint.recordings.first_hour import (
    Journal,
    checks,
    everything,
    laws,
    lost,
    proposals,
    resumed,
    told,
    watched,
)
from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import Registry
from rooflint_measure.record import Gemm, Launch, Machine, Network, Recording, State, Stream, Unavailable, Wait
from rooflint_measure.sensors.gpu import NvidiaGpu
from rooflint_measure.sensors.observer import GpuObserver
from rooflint_measure.stopwatches import anchors, gemm, network, products, stream, timing
from rooflint_measure.stopwatches.gemm import NoTimeError, Peak
from rooflint_measure.stopwatches.network import Model
from rooflint_measure.stopwatches.products import Kernel
from rooflint_measure.stopwatches.timing import Plan, measure

PLAN = Plan(sample_s=0.02, samples=3, warm_up_s=0.02, limit_s=100.0)
HEAD = {"device": "cuda", "software": {"torch": "fake"}}
T4 = "nvidia/t4"


class Bench:
    """Stopwatches that measure nothing: each returns a time of the fake GPU, and faults happen at the figures named."""

    def __init__(self, fakes, root):
        self.fakes, self.gpu, self.faults, self.taken = fakes, fakes.FakeGpu(), {}, []
        self.observer = GpuObserver(NvidiaGpu(fakes.FakeNvml(self.gpu), "handle 0"), root)

    def measured(self, name, subject, **more):
        self.taken.append(name)
        if name in self.faults:
            self.faults[name]()

        class Clock:
            def seconds(clock, call, calls):  # noqa: N805
                self.gpu.clock.sleep(1e-3 * calls)
                return 1e-3 * calls

        return measure(subject, lambda: None, observer=self.observer, plan=PLAN, clock=Clock(), **more)

    def run(self, journal, names=("resnet18", "alexnet"), budget_s=3600.0, lines=None):
        """All steps, as the command runs them."""
        lines = [] if lines is None else lines
        results = runs.Results(self.observer, tell=lines.append, failing=self.failing, budget_s=budget_s)
        resumed(results, journal)
        results.progress = watched(self.observer, lines.append)
        everything(runs.Request("cuda", seconds=1.0), results, names)
        return results

    def failing(self):
        return "the device no longer answers: CUDA error" if self.gpu.clock.now_s >= self.gpu.vanishes_at_s else ""


@pytest.fixture
def bench(fakes, monkeypatch, tmp_path):
    # what else runs on the machine of the tests disturbs nothing
    monkeypatch.setattr(timing, "involuntary_switches", lambda: None)
    found = Bench(fakes, tmp_path / "no proc")
    product = Gemm(precision="fp16", library="cublas", m=512, n=512, k=512)
    kernel = Kernel("fp16", "cublas", "cuda", {"torch.mm": None})
    monkeypatch.setattr(products, "has_torch", lambda: True)
    monkeypatch.setattr(products, "kernels", lambda device: [kernel])
    monkeypatch.setattr(gemm, "probe", lambda kernel: 1e12)
    monkeypatch.setattr(gemm, "peak", lambda kernel, search_s: Peak(product, lambda: None, None, "torch.mm", 1))
    monkeypatch.setattr(gemm, "measured", lambda *_, **how: found.measured("gemm", product))
    monkeypatch.setattr(network_runs, "reference", lambda request, name: Peak(product, lambda: None, None, "mm", 1))
    monkeypatch.setattr(network_runs, "model", lambda name, batch, sweep: Model(name, None, (), batch * 10**9))
    monkeypatch.setattr(stream, "passes", lambda device: [stream.Pass("triad", "torch", device, None)])
    triad = Stream(kernel="triad", library="torch", array_bytes=10**8)
    monkeypatch.setattr(stream, "measured", lambda one, **_: found.measured("stream", triad, bytes_moved=1e8))
    monkeypatch.setattr(anchors, "native", lambda device: "fp16")
    monkeypatch.setattr(anchors, "measured", lambda shape, *_, **more: found.measured(f"anchor {shape}", product))
    monkeypatch.setattr(
        anchors, "launches", lambda way, *_, **more: found.measured(way, Launch(way=way, library="torch"))
    )
    monkeypatch.setattr(timing, "measured_wait", lambda s, **_: found.measured("wait", Wait(wanted_s=s)))

    def of_network(model, setting, **_):
        one = Network(name=model.name, batch=setting.batch, precision="fp16", library="torch", macs=model.macs)
        words = [
            model.name,
            f"b{setting.batch}",
            *[word for word in ("compiled", "graph", "channels_last") if getattr(setting, word)],
        ]
        return found.measured(" ".join(words), one)

    monkeypatch.setattr(network, "measured", of_network)
    return found


@pytest.fixture
def journal(tmp_path):
    return lambda: Journal.of(tmp_path / "hour.jsonl", HEAD)


ALL = 2 + 1 + 1 + 2 + 6 + 2 * 2 * 4
"""Waits, product, pass, launches, anchors, and two networks at two batches in four modes."""


# ---- the whole hour


def test_everything_is_measured_and_is_in_the_journal_at_once(bench, journal):
    lines = []
    results = bench.run(journal(), lines=lines)
    assert (len(results.measurements), results.stopped) == (ALL, "")
    assert [one.name for one in journal().measurements.values()] == [one.name for one in results.measurements]
    assert bench.taken[:3] == ["wait", "wait", "gemm"]
    assert lines[-1].startswith(f"[{ALL}/{ALL}] network alexnet fp16 b32 compile: 1 ms, 64 TFLOP/s")
    assert "left" in lines[-2]


def test_a_driver_that_fails_costs_what_follows_and_nothing_of_what_was_measured(bench, journal):
    def vanish():
        bench.gpu.vanishes_at_s = bench.gpu.clock.now_s
        raise RuntimeError("CUDA error: unspecified launch failure\nmore")

    bench.faults["resnet18 b32"] = vanish
    first = bench.run(journal())
    kept = len(first.measurements)
    assert 0 < kept < ALL
    assert first.stopped == "the device no longer answers: CUDA error"
    assert first.left_out["network resnet18 fp16 b32"] == "RuntimeError: CUDA error: unspecified launch failure"
    assert first.left_out["network alexnet fp16 b32 compile"] == first.stopped
    assert f"{kept} figures kept in" in lost(first, journal())
    # the driver is loaded again, and the same command goes on
    bench.gpu.vanishes_at_s, bench.faults, bench.taken = float("inf"), {}, []
    second = bench.run(journal())
    assert (len(second.measurements), second.left_out, lost(second, journal())) == (ALL, {}, "")
    assert len(bench.taken) == ALL - kept


def test_a_network_that_does_not_fit_the_memory_costs_itself_alone(bench, journal):
    def full():
        raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB.\nmore")

    bench.faults["alexnet b32"] = full
    found = bench.run(journal())
    assert found.left_out == {
        "network alexnet fp16 b32": "RuntimeError: CUDA out of memory. Tried to allocate 20.00 GiB"
    }
    assert (len(found.measurements), found.stopped) == (ALL - 1, "")
    # it would not fit a second time
    bench.taken = []
    assert bench.run(journal()).left_out == found.left_out
    assert bench.taken == []


def test_samples_that_were_throttled_are_kept_and_marked(bench, journal):
    def hot():
        bench.gpu.reasons = 0x40

    bench.faults["gemm"] = hot
    found = {one.subject.kind: one for one in bench.run(journal()).measurements}
    assert found["gemm"].samples.throttled == dict.fromkeys(range(3), ("hw_thermal_slowdown",))
    assert found["wait"].samples.throttled == {}


def test_a_power_cap_is_a_check_that_fails_and_disturbs_no_sample(bench, journal):
    bench.gpu.limit_w, bench.gpu.reasons = 350.0, 0x4
    (limit,) = [one for one in checked(bench) if one.name == "power limit"]
    assert (limit.is_good, limit.text) == (False, "350 W are set, and 700 W are the default: rates will be lower")
    assert all(not one.samples.throttled for one in bench.run(journal()).measurements)


def test_a_neighbour_that_comes_and_goes_is_told_when_it_does(bench, journal):
    bench.faults["gemm"] = lambda: bench.gpu.processes.append((1, 5 << 30))
    bench.faults["graph"] = bench.gpu.processes.clear
    lines = []
    bench.run(journal(), lines=lines)
    assert [line for line in lines if line.startswith("neighbours")] == [
        "neighbours: 1 other process on the GPU, with 5120 MiB",
        "neighbours: gone",
    ]


def test_ctrl_c_keeps_what_was_measured_and_the_run_goes_on_later(bench, journal):
    def stop():
        raise KeyboardInterrupt

    bench.faults["resnet18 b1"] = stop
    first = bench.run(journal())
    assert first.stopped == "interrupted"
    bench.faults = {}
    assert len(bench.run(journal()).measurements) == ALL


def test_a_spent_budget_ends_the_hour_and_is_no_failure(bench, journal):
    found = bench.run(journal(), budget_s=0.0)
    assert found.measurements == []
    assert "0 s for measuring were spent" in found.stopped
    assert lost(found, journal()) == ""
    assert len(bench.run(journal()).measurements) == ALL  # with more time


def test_what_did_not_fit_the_time_is_tried_again_by_a_run_with_more_of_it(bench, journal):
    def slow():
        raise NoTimeError("a call takes 13.5 s, and 9 do not fit the 40 s that are left")

    bench.faults["alexnet b32"] = slow
    assert "13.5 s" in bench.run(journal()).left_out["network alexnet fp16 b32"]
    bench.faults = {}
    assert len(bench.run(journal()).measurements) == ALL


# ---- the journal


def test_a_line_that_was_being_written_when_the_machine_went_down_is_measured_again(bench, journal, tmp_path):
    bench.run(journal())
    file = tmp_path / "hour.jsonl"
    file.write_bytes(file.read_bytes()[:-200])
    assert len(journal().measurements) == ALL - 1
    assert len(bench.run(journal()).measurements) == ALL
    assert len(journal().measurements) == ALL


def test_a_journal_of_other_software_is_refused(bench, journal, tmp_path):
    bench.run(journal())
    with pytest.raises(
        RooflintError, match=r"hour.jsonl: was begun with device cuda, and this is cuda:1; name another"
    ):
        Journal.of(tmp_path / "hour.jsonl", HEAD | {"device": "cuda:1"})


@pytest.mark.parametrize("text", ["", "no json\n", '{"schema": "rooflint-recording/2"}\n', "[]\n"])
def test_another_file_is_no_journal(tmp_path, text):
    file = tmp_path / "hour.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(RooflintError, match=r"hour\.jsonl"):
        Journal.of(file, HEAD)
    assert file.read_text(encoding="utf-8") == text


def test_a_figure_that_was_edited_is_refused_with_its_line(bench, journal, tmp_path):
    bench.run(journal())
    file = tmp_path / "hour.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines()
    row = json.loads(lines[2])
    row["measurement"]["samples"]["seconds"] = [-1.0]
    lines[2] = json.dumps(row)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(RooflintError, match=r"hour.jsonl:3: want a figure of a journal; remove the line"):
        journal()


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
    found = told(recording, t4, Registry(), checked(bench), [], rehearsed=True)
    headings = [section.heading for section in found.sections]
    assert headings[:4] == ["Checks", "Claims", "Why they fail", "Claims to propose"]
    assert "(a rehearsal on a CPU)" in found.title
    lines = [line for one in found.sections if one.heading == "Claims to propose" for line in one.sentences]
    assert "{efficiency: gemm fp16, expect: 211 %}" in lines
    disturbed = recording.measurements[0].samples.model_copy(update={"throttled": dict.fromkeys(range(3), ("hot",))})
    hot = of_t4(bench, recording.measurements[0].model_copy(update={"samples": disturbed}))
    assert first_hour.claims(hot, t4)[-1] == "no efficiency: every product and pass was disturbed; measure again"
    unknown = told(recording, None, Registry(), checked(bench), [], rehearsed=False)
    assert "no claim can be judged" in next(one for one in unknown.sections if one.heading == "Claims").sentences[0]


def test_ten_networks_of_every_kind_are_the_default():
    assert len(set(first_hour.NETWORKS)) == 10
    assert {network_runs.is_text(name) for name in first_hour.NETWORKS} == {True, False}
