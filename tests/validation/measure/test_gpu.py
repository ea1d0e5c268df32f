"""GPUs through fake drivers' libraries: identity without an owner, clocks, reasons, and a device that vanishes."""

import os
import sys
import threading
from types import SimpleNamespace

import pytest

from rooflint.base.errors import extra
from rooflint_measure.record import Unavailable
from rooflint_measure.sensors.amd import find_amd
from rooflint_measure.sensors.gpu import REASONS, driver_version, find_nvidia, old_driver
from rooflint_measure.sensors.observer import find_gpu
from rooflint_measure.sensors.power import CounterSource, SampledSource


@pytest.fixture
def gpu(fakes):
    """`gpu(reasons=4)` is a device whose fake state a test may still change at `.nvml.gpu`."""

    def build(*, devices=1, old=False, **state):
        return find_nvidia(0, fakes.FakeNvml(fakes.FakeGpu(**state), devices, old), {})

    return build


def test_the_identity_says_what_changes_a_figure_and_nothing_of_the_owner(gpu):
    device = gpu()  # the fake fails where its serial number is asked for
    assert device.name == "NVIDIA Fake 9000"
    assert device.facts() == {
        "board part": "900-FAKE-0000-000",
        "vbios": "96.00.FA.KE.01",
        "compute capability": "9.0",
        "memory MiB": 144384,  # 141 GiB
        "power limit W": 700.0,
        "default power limit W": 700.0,
        "max SM clock MHz": 1980,
        "max memory clock MHz": 3201,
        "ecc": True,
        "mig": False,
        "persistence": True,
    }
    assert device.software() == {"NVIDIA driver": "575.57.08", "CUDA of the driver": "12.9"}


def test_what_a_device_does_not_support_is_left_out_of_its_identity(gpu):
    assert "mig" not in gpu(mig=False).facts()


def test_the_state_is_in_si_units(gpu):
    state = gpu(sm_mhz=1755, reasons=0x4 | 0x20).state(0.5)
    assert (state.clock_hz, state.clock_source, state.memory_clock_hz) == (1755e6, "nvml", 3201e6)
    assert (state.power_w, state.power_limit_w, state.temperature_c, state.load) == (400.0, 700.0, 41.0, 0.5)
    assert state.throttle == ("sw_power_cap", "sw_thermal_slowdown")


def test_an_idle_gpu_is_held_back_by_nothing(gpu):
    assert gpu(reasons=0x1).state(0.0).throttle == ()


def test_a_clock_that_was_set_is_a_state_and_disturbs_no_sample(gpu):
    device = gpu(reasons=0x2 | 0x8)
    assert device.state(0.0).throttle == ("applications_clocks_setting", "hw_slowdown")
    assert device.reasons() == ("hw_slowdown",)


def test_a_driver_with_the_old_names_is_understood(gpu):
    assert gpu(old=True, reasons=0x40).reasons() == ("hw_thermal_slowdown",)


def test_a_device_that_vanishes_says_so_in_place_of_every_value(gpu):
    state = gpu(vanishes_at_s=0.0).state(0.0)
    assert state.clock_hz == Unavailable(reason="NVML: nvmlDeviceGetClockInfo: GPU is lost")
    assert isinstance(state.throttle, Unavailable)


def test_energy_comes_from_the_counter_where_there_is_one(gpu):
    assert isinstance(gpu().power(), CounterSource)
    assert isinstance(gpu(has_energy_counter=False).power(), SampledSource)
    assert isinstance(gpu(vanishes_at_s=0.0).power(), Unavailable)


def test_the_counter_reads_joules_from_millijoules(gpu):
    device = gpu()
    source = device.power()

    def run():
        device.nvml.gpu.clock.sleep(2.0)
        return 4

    # 400 W for 2 s of fake time
    assert source.metered(run, 90.0).joules == pytest.approx(800.0)


def test_power_is_read_in_watts_from_milliwatts(gpu):
    assert gpu(has_energy_counter=False).power().idle_w(0.01) == pytest.approx(400.0)


def test_a_device_that_vanishes_during_the_run_leaves_no_energy(gpu):
    device = gpu(vanishes_at_s=1.0)
    source = device.power()

    def run():
        device.nvml.gpu.clock.sleep(2.0)
        return 4

    found = source.metered(run, 90.0)
    assert isinstance(found, Unavailable)
    assert found.reason.endswith("GPU is lost; the device answered before")


def test_violations_are_counters_of_what_the_driver_counts(gpu):
    assert gpu(violations_ns={0: 5, 1: 7}).violations() == {"thermal_violation": 7}  # 0 is the power limit
    # NVML_PERF_POLICY_BOARD_LIMIT is 3; 2 is the boost that GPUs of one board share
    assert gpu(violations_ns={2: 4, 3: 9}).violations() == {"board_limit_violation": 9}


@pytest.mark.parametrize(
    ("visible", "index", "handle"),
    [(None, 1, "handle 1"), ("1,0", 0, "handle 1"), ("GPU-8a3f", 0, "handle of GPU-8a3f"), ("0", 1, None)],
)
def test_the_number_of_a_gpu_is_that_of_cuda(fakes, visible, index, handle):
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    found = find_nvidia(index, fakes.FakeNvml(devices=2), environment)
    assert getattr(found, "handle", None) == handle
    if handle is None:
        assert found.reason == "NVML: CUDA_VISIBLE_DEVICES shows 1 devices, and number 1 was asked for"


def test_without_driver_or_library_there_is_a_reason(fakes, monkeypatch):
    assert find_nvidia(0, fakes.FakeNvml(devices=0), {}).reason == "NVML: Driver Not Loaded"
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert find_nvidia().reason == f"nvidia-ml-py is not installed; {extra('gpu')}"


def test_names_that_are_used_are_those_of_nvidia_ml_py(fakes):
    real = pytest.importorskip("pynvml")
    ours = [name for name in dir(fakes.FakeNvml) if name.startswith("nvml")]
    assert [name for name in ours if not hasattr(real, name)] == []
    bits = {value: name for name, value in vars(real).items() if name.startswith("nvmlClocksEventReason")}
    assert set(REASONS) <= set(bits)


# ---- AMD, through a fake amdsmi


class FakeError(Exception):
    """As amdsmi raises it."""


class FakeAmdSmi:
    """The module amdsmi, as far as it is used; not a GPU."""

    AmdSmiException = FakeError
    AmdSmiClkType = SimpleNamespace(GFX="gfx", MEM="mem")
    AmdSmiTemperatureType = SimpleNamespace(HOTSPOT="hotspot")
    AmdSmiTemperatureMetric = SimpleNamespace(CURRENT="current")

    def __init__(self):
        self.counts, self.energy, self.violated = 1000, True, ()
        self.power = {"current_socket_power": "N/A", "average_socket_power": 550}

    def amdsmi_init(self):
        pass

    def amdsmi_get_processor_handles(self):
        return ["handle 0"]

    def amdsmi_get_gpu_asic_info(self, handle):
        return {"market_name": "AMD Fake MI1", "asic_serial": "SECRET", "num_compute_units": 304,
                "target_graphics_version": "gfx942"}  # fmt: skip

    def amdsmi_get_gpu_vbios_info(self, handle):
        raise FakeError("not supported")

    def amdsmi_get_gpu_driver_info(self, handle):
        return {"driver_version": "6.12.12"}

    def amdsmi_get_clock_info(self, handle, kind):
        return {"clk": {"gfx": 2100, "mem": 1300}[kind]}

    def amdsmi_get_temp_metric(self, handle, sensor, metric):
        return 55

    def amdsmi_get_power_info(self, handle):
        return self.power

    def amdsmi_get_violation_status(self, handle):
        return {"active_ppt_pwr": "active_ppt_pwr" in self.violated, "active_vr_thrm": "N/A"}

    def amdsmi_get_energy_count(self, handle):
        if not self.energy:
            raise FakeError("not supported")
        return {"energy_accumulator": self.counts, "counter_resolution": 15.3, "timestamp": 0}


@pytest.fixture
def smi():
    return FakeAmdSmi()


def test_the_identity_has_no_serial_number(smi):
    device = find_amd(0, smi)
    assert device.name == "AMD Fake MI1"
    assert device.facts() == {"graphics version": "gfx942", "compute units": 304}
    assert device.software() == {"amdgpu driver": "6.12.12"}


def test_the_state_is_in_si_units_and_takes_the_power_that_is_there(smi):
    smi.violated = ("active_ppt_pwr",)
    state = find_amd(0, smi).state(0.0)
    assert (state.clock_hz, state.memory_clock_hz, state.temperature_c, state.power_w) == (2.1e9, 1.3e9, 55.0, 550.0)
    assert state.throttle == ("power_limit",)
    assert isinstance(state.power_limit_w, Unavailable)


def test_energy_is_counts_times_what_one_stands_for(smi):
    source = find_amd(0, smi).power()
    assert isinstance(source, CounterSource)

    def run():
        smi.counts += 10**6
        return 1

    # 10⁶ counts of 15.3 µJ
    assert source.metered(run, 0.0).joules == pytest.approx(15.3)


@pytest.mark.parametrize("message", [{"power": 5, "counter_resolution": 15.3}, {"energy_accumulator": "N/A"}])
def test_a_counter_in_the_words_of_another_version_gives_way_to_sampled_power(smi, message):
    smi.amdsmi_get_energy_count = lambda handle: message
    assert isinstance(find_amd(0, smi).power(), SampledSource)


def test_without_a_counter_power_is_sampled(smi):
    smi.energy = False
    source = find_amd(0, smi).power()
    assert isinstance(source, SampledSource)
    assert source.idle_w(0.01) == pytest.approx(550.0)


def test_without_either_there_is_a_reason(smi):
    smi.energy, smi.power = False, {}
    assert find_amd(0, smi).power().reason == "AMD SMI: amdsmi_get_power_info returned no current_socket_power"


def test_a_number_beyond_the_last_gpu_is_said(smi):
    assert find_amd(3, smi).reason.startswith("AMD SMI: no GPU number 3")


def test_without_rocm_there_is_a_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    assert find_amd().reason == "amdsmi, which comes with ROCm, is not installed"


def test_a_package_without_its_shared_library_says_so_and_prints_nothing(tmp_path, monkeypatch, capsys):
    text = "print('Unable to find libamd_smi.so')\nraise KeyError('ROCM_PATH')\n"
    tmp_path.joinpath("amdsmi.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "amdsmi", raising=False)
    assert find_amd().reason == "amdsmi, which comes with ROCm, is not installed"
    assert capsys.readouterr().out == ""


# ---- power of this moment, and power that is an average over a second


def stepping(fakes, at_s, before_w=100.0, after_w=500.0):
    """Power that rises at once, and its integral."""
    return fakes.Curve(
        lambda t: before_w if t < at_s else after_w,
        lambda t: before_w * min(t, at_s) + after_w * max(0.0, t - at_s),
    )


def metered(device, clock, seconds):
    """A run of so many seconds of fake time, sampled by the source of a device without an energy counter."""
    source = device.power()
    source._clock, source._interval_s = clock, 1e-4

    def run():
        end_s = clock.now_s + seconds
        while clock.now_s < end_s:
            source_samples.wait(2e-4)
        return 1

    source_samples = threading.Event()
    return source, source.metered(run, 100.0)


def test_the_power_is_that_of_this_moment_where_the_driver_has_it(gpu, fakes):
    # 0.1 s after the step from 100 to 500 W the average of a second is 140 W
    late = {"curve": stepping(fakes, 10.0), "clock": fakes.FakeClock()}
    late["clock"].now_s = 10.1
    assert gpu(**late).state(0.0).power_w == 500.0
    assert gpu(**late, has_instant=False).state(0.0).power_w == pytest.approx(140.0)
    # GA100 and older return what they draw now, also without the field
    assert gpu(**late, has_instant=False, capability=(8, 0)).state(0.0).power_w == 500.0


def test_only_an_average_is_named_as_one(gpu):
    assert gpu(has_energy_counter=False).power().name == "nvml power"
    assert gpu(has_energy_counter=False, has_instant=False).power().name == "nvml power, averaged over 1 s"
    assert gpu(has_energy_counter=False, has_instant=False, capability=(7, 0)).power().name == "nvml power"


@pytest.mark.slow
def test_a_run_that_is_shorter_than_what_a_reading_averages_over_has_no_energy(gpu, fakes):
    clock = fakes.FakeClock()
    device = gpu(has_energy_counter=False, has_instant=False, clock=clock, curve=stepping(fakes, 0.0))
    _, energy = metered(device, clock, 1.5)
    assert isinstance(energy, Unavailable)
    assert "is too short; run for 3 s" in energy.reason


def test_an_average_of_before_the_run_is_left_out(gpu, fakes):
    # idle until 5 s, then 500 W: samples of the first second are averages of both
    clock = fakes.FakeClock(step_s=2e-3)
    clock.now_s = 5.0
    device = gpu(has_energy_counter=False, has_instant=False, clock=clock, curve=stepping(fakes, 5.0))
    _, energy = metered(device, clock, 4.0)
    assert energy.mean_w == pytest.approx(500.0, rel=0.01)


# ---- a power limit is a condition; a slice of a GPU is another device


def test_a_run_at_its_power_limit_is_one_state(gpu):
    device = gpu(reasons=0x4, violations_ns={0: 5, 1: 7})
    assert device.state(0.0).throttle == ("sw_power_cap",)
    assert device.reasons() == ()
    assert device.violations() == {"thermal_violation": 7}


def test_a_mig_slice_has_a_name_and_a_fact_of_its_own_and_no_meter(fakes, monkeypatch):
    nvml = fakes.FakeNvml(fakes.FakeGpu())
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    named = SimpleNamespace(is_available=lambda: True, get_device_name=lambda number: "NVIDIA Fake 9000 MIG 1g.18gb")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=named))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-41b2")
    found = find_gpu(0)
    assert found.handle == "parent of handle of MIG-41b2"
    assert found.name == "NVIDIA Fake 9000 MIG 1g.18gb"
    assert found.facts()["mig slice"] == "1g.18gb"
    assert "includes its neighbours" in found.power().reason


# ---- a driver that is too old


def test_a_driver_below_the_least_of_its_cuda_is_told_what_to_do():
    assert old_driver("470.82.01", "12.8") == (
        "driver 470.82.01 is older than 525, which CUDA 12.8 of this torch needs: update the driver "
        "(nvidia-smi prints its version), or install a torch for CUDA 11"
    )


@pytest.mark.parametrize(
    ("version", "cuda"), [("525.60.13", "12.9"), ("580.65.06", "13.0"), ("", "12.8"), ("1.0", None)]
)
def test_a_driver_that_is_new_enough_or_unknown_is_not_blamed(version, cuda):
    assert old_driver(version, cuda) == ""


def test_the_version_of_the_driver_is_empty_without_one(fakes):
    assert driver_version(fakes.FakeNvml()) == "575.57.08"
    assert driver_version(fakes.FakeNvml(devices=0)) == ""


def test_other_processes_are_counted_with_their_memory_and_our_own_is_not(gpu):
    assert gpu(processes=[(os.getpid(), 1 << 30)]).others() == ""
    assert gpu(processes=[(1, 2 << 20)]).others() == "1 other process on the GPU, with 2 MiB"
    both = [(os.getpid(), 1 << 30), (1, 2 << 20), (2, None)]
    assert gpu(processes=both).others() == "2 other processes on the GPU, with 2 MiB"
    assert "GPU is lost" in str(gpu(vanishes_at_s=0.0).others())
