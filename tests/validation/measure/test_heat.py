"""Temperatures and throttling from a fake /sys."""

from rooflint_measure.record.measurement import Unavailable
from rooflint_measure.sensors.heat import temperature_c, throttle_files


def test_the_hottest_sensor_of_the_processor_counts_and_a_disk_does_not(tree):
    root = tree(
        {
            "sys/class/hwmon/hwmon0/name": "nvme",
            "sys/class/hwmon/hwmon0/temp1_input": "91000",
            "sys/class/hwmon/hwmon1/name": "k10temp",
            "sys/class/hwmon/hwmon1/temp1_input": "61500",
            "sys/class/hwmon/hwmon1/temp3_input": "64250",
            "sys/class/thermal/thermal_zone0/type": "cpu-thermal",
            "sys/class/thermal/thermal_zone0/temp": "50000",
            "sys/class/thermal/thermal_zone1/type": "battery",
            "sys/class/thermal/thermal_zone1/temp": "99000",
        }
    )
    assert temperature_c(root) == 64.25


def test_a_system_without_sensors_says_so(tmp_path):
    assert temperature_c(tmp_path) == Unavailable(reason="the system shows no temperature of the processor")


def test_counters_of_throttling_are_found_for_every_cpu_that_is_on(tree):
    cpus = "sys/devices/system/cpu"
    counts = {f"{cpus}/cpu{number}/thermal_throttle/core_throttle_count": "3" for number in (0, 1, 2)}
    root = tree({f"{cpus}/online": "0-1", **counts})
    assert {reason: len(files) for reason, files in throttle_files(root).items()} == {"core_thermal": 2}
    assert throttle_files(root / "nowhere") == {}
