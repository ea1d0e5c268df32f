"""Observers: this very machine, a GPU that does not exist, and a fake one."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from rooflint.base.errors import RooflintError
from rooflint_measure.record import Unavailable
from rooflint_measure.recording import Machine
from rooflint_measure.sensors import cpu
from rooflint_measure.sensors.gpu import UnreadableGpu, find_nvidia
from rooflint_measure.sensors.host import Disturbance, HostWatch
from rooflint_measure.sensors.observer import CpuObserver, GpuObserver, find_gpu, observer
from rooflint_measure.stopwatches.timing import Plan, take_in_turn


def test_this_machine_has_the_same_fingerprint_twice():
    one, other = observer().machine({"numpy": "2.0"}), observer().machine({"numpy": "2.0"})
    assert one == other
    assert one.digest == other.digest
    assert (one.kind, one.software["numpy"]) == ("cpu", "2.0")
    assert one.count >= 1


def test_this_machine_has_a_state_and_conditions_that_survive_json():
    here = observer()
    before = here.state()
    found = here.conditions(before, here.state(), [before])
    assert type(found).model_validate_json(found.model_dump_json()) == found
    assert found.threads >= 1
    assert len(found.during) == 1


def test_a_cpu_without_counters_has_no_power_and_a_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(cpu.sys, "platform", "linux")
    assert "no RAPL counter" in CpuObserver(tmp_path).power().reason


def test_the_watch_of_an_observer_serves_the_loop_of_the_stopwatches():
    (samples,) = take_in_turn([lambda: sum(range(100))], plan=Plan(1e-4, 3, 1e-4), watch=observer().watch())
    assert len(samples.seconds) == 3


@pytest.fixture
def fake(fakes, tmp_path):
    return GpuObserver(find_nvidia(0, fakes.FakeNvml(), {}), tmp_path)


def test_a_gpu_is_recorded_with_its_driver_and_the_host_that_feeds_it(fake):
    machine = fake.machine({"torch": "2.13.0"})
    assert (machine.device, machine.kind, machine.count) == ("NVIDIA Fake 9000", "gpu", 1)
    assert {"power limit W", "ecc", "host", "host CPUs"} <= machine.facts.keys()
    assert machine.software["NVIDIA driver"] == "575.57.08"
    assert Machine.model_validate_json(machine.model_dump_json()) == machine


def test_another_power_limit_is_another_machine(fakes, tmp_path):
    ours, capped = (
        GpuObserver(find_nvidia(0, fakes.FakeNvml(fakes.FakeGpu(limit_w=limit_w)), {}), tmp_path).machine({})
        for limit_w in (700.0, 500.0)
    )
    assert ours.digest != capped.digest


def test_a_gpu_has_state_watch_and_energy(fake):
    state = fake.state()
    assert (state.clock_hz, state.clock_source) == (1.98e9, "nvml")
    fake.watch().start()
    assert fake.power().name == "nvml energy counter"
    assert fake.conditions(state, state).after == state


def test_a_gpu_without_a_drivers_library_says_why_in_place_of_every_value(monkeypatch):
    for name in ("pynvml", "amdsmi", "torch"):
        monkeypatch.setitem(sys.modules, name, None)
    mute = observer("cuda:1")
    assert mute.machine({}).device == "unknown GPU"
    assert isinstance(mute.power(), Unavailable)
    assert mute.state().clock_hz == mute.power()
    watch = mute.watch()
    watch.start()
    assert watch.stop().reasons == ()
    assert "not installed" in mute.machine({}).facts["driver library"]


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "cpu:0", "", "cuda:-1"])
def test_a_device_that_torch_does_not_name_so_is_refused(device):
    with pytest.raises(RooflintError, match=f"want cpu, cuda, cuda:N or mps, found '{device}'"):
        observer(device)


@pytest.mark.slow
def test_observers_are_imported_without_any_library_of_a_vendor():
    vendors = {"torch", "pynvml", "amdsmi", "threadpoolctl"}
    code = f"import sys, rooflint_measure.sensors.observer; print(*sorted({vendors} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == "\n"


def test_of_an_unreadable_gpu_nothing_is_known():
    unreadable = UnreadableGpu("a GPU", Unavailable(reason="no driver"))
    assert (unreadable.software(), unreadable.reasons(), unreadable.violations()) == ({}, (), {})


STAT = "cpu0 1 0 1 1 0 0 0 {} 0 0\n"


def test_a_device_is_held_back_by_what_held_at_either_end_or_was_counted_in_between(tmp_path):
    states = iter([("sw_power_cap",), ("hw_thermal_slowdown",)])
    counts = iter([{"power_violation": 5}, {"power_violation": 9}])
    watch = HostWatch(None, tmp_path, reasons=lambda: next(states), counts=lambda: next(counts))
    watch.start()
    assert watch.stop().reasons == ("sw_power_cap", "hw_thermal_slowdown", "power_violation")


def test_a_gpu_and_its_host_are_watched_together(fakes, tree):
    device = find_nvidia(0, fakes.FakeNvml(fakes.FakeGpu(reasons=0x20, violations_ns={1: 1})), {})
    root = tree({"proc/stat": STAT.format(5)})
    watch = HostWatch((0,), root, reasons=device.reasons, counts=device.violations)
    watch.start()
    device.nvml.gpu.violations_ns[1] = 1_000_000
    tree({"proc/stat": STAT.format(6)})
    assert watch.stop() == Disturbance(pytest.approx(0.01), None, ("sw_thermal_slowdown", "thermal_violation"))


@pytest.fixture
def gpu_machine(fakes, monkeypatch):
    """A machine with a fake NVIDIA GPU on which torch computes under the name that is given, or without torch."""

    def build(torch_says):
        monkeypatch.setitem(sys.modules, "pynvml", fakes.FakeNvml())
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        cuda = SimpleNamespace(is_available=lambda: True, get_device_name=lambda number: torch_says)
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda) if torch_says else None)

    return build


@pytest.mark.parametrize("torch_says", [None, "NVIDIA Fake 9000"])
def test_the_device_on_which_torch_computes_is_the_one_that_is_asked(gpu_machine, torch_says):
    gpu_machine(torch_says)
    assert find_gpu(0).power().name == "nvml energy counter"


def test_clocks_and_energy_of_another_device_are_not_taken(gpu_machine):
    gpu_machine("NVIDIA Other 1")
    found = find_gpu(0)
    assert found.name == "NVIDIA Other 1"
    assert "cuda:0 is 'NVIDIA Other 1' to torch and 'NVIDIA Fake 9000' to its driver's library" in found.power().reason


def test_a_gpu_without_a_drivers_library_has_the_name_that_torch_knows(gpu_machine, monkeypatch):
    gpu_machine("NVIDIA Other 1")
    for name in ("pynvml", "amdsmi"):
        monkeypatch.setitem(sys.modules, name, None)
    found = find_gpu(0)
    assert found.name == "NVIDIA Other 1"
    assert isinstance(found.power(), Unavailable)
