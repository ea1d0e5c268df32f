"""The GPU of a Jetson module, on planted files: no Jetson has run it."""

import pytest

from pytest_rooflint.recordings.files import identified
from rooflint.hardware.registry import Registry
from rooflint_measure.record import Unavailable
from rooflint_measure.recording import Machine
from rooflint_measure.sensors.jetson import MODULES, find_jetson, power_mode
from rooflint_measure.sensors.observer import GpuObserver

CONF = """\
# FORMAT: < POWER_MODEL ID=id_num NAME=mode_name >
< POWER_MODEL ID=0 NAME=MAXN >
CPU_ONLINE CORE_0 1
< POWER_MODEL ID=2 NAME=MODE_30W >
"""
AGX = {
    "proc/device-tree/compatible": "nvidia,p3737-0000+p3701-0005\0nvidia,p3701-0005\0nvidia,tegra234\0",
    "etc/nvpmodel.conf": CONF,
    "var/lib/nvpmodel/status": "pmode:0002 fmode:fanNull",
    "etc/nv_tegra_release": "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic",
    "sys/class/devfreq/17000000.gpu/cur_freq": "612000000",
    "sys/class/thermal/thermal_zone0/type": "cpu-thermal",
    "sys/class/thermal/thermal_zone0/temp": "50000",
    "sys/class/thermal/thermal_zone1/type": "gpu-thermal",
    "sys/class/thermal/thermal_zone1/temp": "47500",
    "sys/class/hwmon/hwmon1/name": "ina3221",
    "sys/class/hwmon/hwmon1/in1_label": "VDD_GPU_SOC",
    "sys/class/hwmon/hwmon1/in1_input": "19000",
    "sys/class/hwmon/hwmon1/curr1_input": "500",
    "sys/class/hwmon/hwmon1/in2_label": "VDD_CPU_CV",
    "sys/class/hwmon/hwmon1/in2_input": "19000",
    "sys/class/hwmon/hwmon1/curr2_input": "100",
    "sys/class/hwmon/hwmon1/in3_label": "NC",
    "sys/class/hwmon/hwmon2/name": "gpio_fan",
}
NX_POWER = {"sys/class/hwmon/hwmon1/in3_label": "VDD_IN"} | {
    f"sys/class/hwmon/hwmon1/{name}": value for name, value in (("in3_input", "5000"), ("curr3_input", "2000"))
}


@pytest.mark.parametrize("part", sorted(MODULES))
def test_each_module_is_identified_by_its_number_in_the_device_tree(tree, part):
    root = tree(AGX | {"proc/device-tree/compatible": f"nvidia,p1+{part}\0nvidia,{part}\0nvidia,tegra234\0"})
    machine = GpuObserver(find_jetson(root), root).machine({})
    device = identified(Machine(device=machine.device, kind="gpu", count=1), Registry.of(()))
    assert device.name == MODULES[part]


def test_a_module_is_compared_in_the_power_mode_that_it_runs_in(tree):
    root = tree(AGX)
    device = identified(GpuObserver(find_jetson(root), root).machine({}), Registry.of(()))
    assert (device.id, device.mode) == ("nvidia/jetson-agx-orin-64gb", "30w")
    # 8 of 16 SMs at 612 MHz: 8 × 4 × 512 MAC × 2 op/MAC × 612 MHz
    assert device.unit("tensor_core").peak_ops_per_s("int8") == pytest.approx(20.05e12, rel=1e-3)


def test_another_system_is_no_jetson(tree):
    assert find_jetson(tree({"proc/cpuinfo": ""})) is None
    assert find_jetson(tree({"proc/device-tree/compatible": "raspberrypi,4-model-b\0brcm,bcm2711\0"})) is None


def test_the_power_mode_is_a_fact(tree):
    assert find_jetson(tree(AGX)).facts() == {"module": "p3701-0005", "power mode": "MODE_30W"}
    assert power_mode(tree({"var/lib/nvpmodel/status": "pmode:0007"})) == ""


def test_the_state_is_in_si_units(tree):
    state = find_jetson(tree(AGX)).state(0.5)
    assert (state.clock_hz, state.clock_source, state.temperature_c) == (612e6, "devfreq", 47.5)
    # 19 V × 500 mA + 19 V × 100 mA
    assert state.power_w == pytest.approx(11.4)
    assert isinstance(state.throttle, Unavailable)


def test_rails_of_an_agx_add_up_and_the_input_of_an_nx_is_all_of_it(tree):
    assert find_jetson(tree(AGX)).power().name == "ina3221 VDD_GPU_SOC + VDD_CPU_CV"
    nx = find_jetson(tree(AGX | NX_POWER))
    assert nx.power().name == "ina3221 VDD_IN"
    assert nx.state(0.0).power_w == pytest.approx(10.0)


def test_without_the_driver_of_the_meter_there_is_no_power(tree):
    root = tree({name: text for name, text in AGX.items() if "hwmon1" not in name})
    assert "is the driver loaded" in find_jetson(root).power().reason


def test_the_release_of_the_system_is_its_driver(tree):
    assert find_jetson(tree(AGX)).software() == {"Jetson Linux": "R36 (release), REVISION: 4.3"}
