"""Observers: this very machine, a GPU that is not there, and a fake one."""

import subprocess
import sys

import pytest

from rooflint.base.errors import RooflintError
from rooflint_measure.record.measurement import Unavailable
from rooflint_measure.record.recording import Machine
from rooflint_measure.sensors import gpus, nvml
from rooflint_measure.stopwatches import conditions
from rooflint_measure.stopwatches.conditions import CpuObserver, DeviceWatch, GpuObserver, HostWatch, grown, observer
from rooflint_measure.stopwatches.timing import Plan, Seen, take


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
    monkeypatch.setattr(conditions.sys, "platform", "linux")
    assert "no RAPL counter" in CpuObserver(tmp_path).power().reason


def test_the_watch_of_an_observer_serves_the_loop_of_the_stopwatches():
    samples = take(lambda: sum(range(100)), plan=Plan(1e-4, 3, 1e-4), watch=observer().watch())
    assert len(samples.seconds) == 3


@pytest.fixture
def fake(fakes, tmp_path):
    return GpuObserver(nvml.find(0, fakes.FakeNvml(), {}), tmp_path)


def test_a_gpu_is_recorded_with_its_driver_and_the_host_that_feeds_it(fake):
    machine = fake.machine({"torch": "2.13.0"})
    assert (machine.device, machine.kind, machine.count) == ("NVIDIA Fake 9000", "gpu", 1)
    assert {"power limit W", "ecc", "host", "host CPUs"} <= machine.facts.keys()
    assert machine.software["NVIDIA driver"] == "575.57.08"
    assert Machine.model_validate_json(machine.model_dump_json()) == machine


def test_another_power_limit_is_another_machine(fakes, tmp_path):
    ours, capped = (
        GpuObserver(nvml.find(0, fakes.FakeNvml(fakes.FakeGpu(limit_w=limit_w)), {}), tmp_path).machine({})
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
    with pytest.raises(RooflintError, match=f"want cpu, cuda or cuda:N, found '{device}'"):
        observer(device)


def test_observers_are_imported_without_any_library_of_a_vendor():
    vendors = {"torch", "pynvml", "amdsmi", "threadpoolctl"}
    code = f"import sys, rooflint_measure.stopwatches.conditions; print(*sorted({vendors} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == "\n"


def test_a_mute_gpu_is_a_gpu():
    mute: gpus.Gpu = gpus.MuteGpu("a GPU", Unavailable(reason="no driver"))
    assert (mute.software(), mute.violations()) == ({}, {})


# ---- What disturbed a sample, from counters that move between its ends

CPUS = "sys/devices/system/cpu"
COUNT = f"{CPUS}/cpu0/thermal_throttle/core_throttle_count"


def machine(tree, *, steal, heat, held, queued=0):
    return tree(
        {
            "proc/stat": f"cpu0 1 0 1 1 0 0 0 {steal} 0 0\ncpu1 1 0 1 1 0 0 0 900 0 0\n",
            f"{CPUS}/online": "0-1",
            COUNT: str(heat),
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/cpu.stat": f"usage_usec 5\nnr_throttled {held}\n",
            "proc/self/task/7/schedstat": f"1 {queued} 1",
        }
    )


def test_a_quiet_sample_has_lost_nothing(tree):
    watch = HostWatch((0,), machine(tree, steal=5, heat=3, held=1))
    watch.start()
    assert watch.stop() == Seen(0.0, 0.0)


def test_steal_of_the_cpus_in_use_and_every_counter_that_moved_are_told(tree):
    watch = HostWatch((0,), machine(tree, steal=5, heat=3, held=1))
    watch.start()
    machine(tree, steal=12, heat=4, held=2, queued=30_000_000)
    seen = watch.stop()
    # seven ticks of 10 ms; 30 ms in nanoseconds
    assert (seen.stolen_s, seen.queued_s) == (pytest.approx(0.07), pytest.approx(0.03))
    assert seen.reasons == ("core_thermal", "cpu_quota")


def test_where_nobody_counts_what_was_lost_is_unknown_and_not_zero(tmp_path):
    watch = HostWatch((0,), tmp_path)
    watch.start()
    assert watch.stop() == Seen()


def test_a_device_is_held_back_by_what_held_at_either_end_or_was_counted_in_between(tmp_path):
    states = iter([("sw_power_cap",), ("hw_thermal_slowdown",)])
    counts = iter([{"power_violation": 5}, {"power_violation": 9}])
    watch = DeviceWatch(lambda: next(states), lambda: next(counts), HostWatch(None, tmp_path))
    watch.start()
    assert watch.stop().reasons == ("sw_power_cap", "hw_thermal_slowdown", "power_violation")


def test_a_counter_that_appears_has_not_moved():
    assert grown({"a": 1, "b": 1}, {"a": 2, "b": 1, "c": 7}) == ("a",)


def test_a_gpu_and_its_host_are_watched_together(fakes, tree):
    device = nvml.find(0, fakes.FakeNvml(fakes.FakeGpu(reasons=0x4, violations_ns={0: 1})), {})
    watch = DeviceWatch(device.reasons, device.violations, HostWatch((0,), machine(tree, steal=5, heat=3, held=1)))
    watch.start()
    device.nvml.gpu.violations_ns[0] = 1_000_000
    machine(tree, steal=6, heat=3, held=1)
    assert watch.stop() == Seen(pytest.approx(0.01), 0.0, ("sw_power_cap", "power_violation"))
