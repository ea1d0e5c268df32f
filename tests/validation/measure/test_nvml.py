"""An NVIDIA GPU through a fake NVML: identity without an owner, clocks, reasons, energy, and a device that vanishes."""

import pytest

from rooflint_measure.record import Unavailable
from rooflint_measure.sensors import nvml
from rooflint_measure.sensors.power import CounterSource, SampledSource


@pytest.fixture
def gpu(fakes):
    """`gpu(reasons=4)` is a device whose fake state a test may still change at `.nvml.gpu`."""

    def build(*, devices=1, old=False, **state):
        return nvml.find(0, fakes.FakeNvml(fakes.FakeGpu(**state), devices, old), {})

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
    assert gpu(violations_ns={0: 5, 1: 7}).violations() == {"power_violation": 5, "thermal_violation": 7}
    # NVML_PERF_POLICY_BOARD_LIMIT is 3; 2 is the boost that GPUs of one board share
    assert gpu(violations_ns={2: 4, 3: 9}).violations() == {"board_limit_violation": 9}


@pytest.mark.parametrize(
    ("visible", "index", "handle"),
    [(None, 1, "handle 1"), ("1,0", 0, "handle 1"), ("GPU-8a3f", 0, "handle of GPU-8a3f"), ("0", 1, None)],
)
def test_the_number_of_a_gpu_is_that_of_cuda(fakes, visible, index, handle):
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    found = nvml.find(index, fakes.FakeNvml(devices=2), environment)
    assert getattr(found, "handle", None) == handle
    if handle is None:
        assert found.reason == "NVML: CUDA_VISIBLE_DEVICES shows 1 devices, and number 1 was asked for"


def test_without_driver_or_library_there_is_a_reason(fakes, monkeypatch):
    assert nvml.find(0, fakes.FakeNvml(devices=0), {}).reason == "NVML: Driver Not Loaded"
    monkeypatch.setitem(nvml.importlib.sys.modules, "pynvml", None)
    assert nvml.find().reason == "nvidia-ml-py is not installed; pip install 'rooflint[gpu]'"


def test_names_that_are_used_are_those_of_nvidia_ml_py(fakes):
    real = pytest.importorskip("pynvml")
    ours = [name for name in dir(fakes.FakeNvml) if name.startswith("nvml")]
    assert [name for name in ours if not hasattr(real, name)] == []
    bits = {value: name for name, value in vars(real).items() if name.startswith("nvmlClocksEventReason")}
    assert set(nvml.REASONS) <= set(bits)
