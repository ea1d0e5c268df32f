"""An AMD GPU through a fake amdsmi."""

from types import SimpleNamespace

import pytest

from rooflint_measure.record import Unavailable
from rooflint_measure.sensors import amd_smi
from rooflint_measure.sensors.power import CounterSource, SampledSource


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
    device = amd_smi.find(0, smi)
    assert device.name == "AMD Fake MI1"
    assert device.facts() == {"graphics version": "gfx942", "compute units": 304}
    assert device.software() == {"amdgpu driver": "6.12.12"}


def test_the_state_is_in_si_units_and_takes_the_power_that_is_there(smi):
    smi.violated = ("active_ppt_pwr",)
    state = amd_smi.find(0, smi).state(0.0)
    assert (state.clock_hz, state.memory_clock_hz, state.temperature_c, state.power_w) == (2.1e9, 1.3e9, 55.0, 550.0)
    assert state.throttle == ("power_limit",)
    assert isinstance(state.power_limit_w, Unavailable)


def test_energy_is_counts_times_what_one_stands_for(smi):
    source = amd_smi.find(0, smi).power()
    assert isinstance(source, CounterSource)

    def run():
        smi.counts += 10**6
        return 1

    # 10⁶ counts of 15.3 µJ
    assert source.metered(run, 0.0).joules == pytest.approx(15.3)


@pytest.mark.parametrize("said", [{"power": 5, "counter_resolution": 15.3}, {"energy_accumulator": "N/A"}])
def test_a_counter_in_the_words_of_another_version_gives_way_to_sampled_power(smi, said):
    smi.amdsmi_get_energy_count = lambda handle: said
    assert isinstance(amd_smi.find(0, smi).power(), SampledSource)


def test_without_a_counter_power_is_sampled(smi):
    smi.energy = False
    source = amd_smi.find(0, smi).power()
    assert isinstance(source, SampledSource)
    assert source.idle_w(0.01) == pytest.approx(550.0)


def test_without_either_there_is_a_reason(smi):
    smi.energy, smi.power = False, {}
    assert amd_smi.find(0, smi).power().reason == "AMD SMI: amdsmi_get_power_info returned no current_socket_power"


def test_a_number_beyond_the_last_gpu_is_said(smi):
    assert amd_smi.find(3, smi).reason.startswith("AMD SMI: no GPU number 3")


def test_without_rocm_there_is_a_reason(monkeypatch):
    monkeypatch.setitem(amd_smi.importlib.sys.modules, "amdsmi", None)
    assert amd_smi.find().reason == "amdsmi, which comes with ROCm, is not installed"


def test_a_package_without_its_shared_library_says_so_and_prints_nothing(tmp_path, monkeypatch, capsys):
    text = "print('Unable to find libamd_smi.so')\nraise KeyError('ROCM_PATH')\n"
    tmp_path.joinpath("amdsmi.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(amd_smi.importlib.sys.modules, "amdsmi", raising=False)
    assert amd_smi.find().reason == "amdsmi, which comes with ROCm, is not installed"
    assert capsys.readouterr().out == ""
