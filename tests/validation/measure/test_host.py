"""What a host gives to a process and takes away, from fake /proc and /sys trees."""

import os
import subprocess
import sys
import time

import pytest

from rooflint_measure.record import Memory, Unavailable
from rooflint_measure.sensors import host
from rooflint_measure.sensors.host import (
    Disturbance,
    HostWatch,
    affinity,
    available_bytes,
    grown,
    held_bytes,
    queued_s,
    quota_cpus,
    quota_files,
    resident_peak,
    stolen_s,
    temperature_c,
    throttle_files,
    throttled_periods,
)


def test_the_affinity_is_the_systems(monkeypatch):
    if hasattr(os, "sched_getaffinity"):
        assert affinity() == tuple(sorted(os.sched_getaffinity(0)))
    monkeypatch.delattr(host.os, "sched_getaffinity", raising=False)
    assert affinity() == Unavailable(reason="this system cannot bind a process to CPUs")


SECOND = {"proc/self/cgroup": "0::/a/b\n"}
FIRST = {"proc/self/cgroup": "4:memory:/x\n1:cpu,cpuacct:/x\n0::/\n"}


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({}, None),
        ({**SECOND, "sys/fs/cgroup/a/b/cpu.max": "max 100000\n"}, None),
        ({**SECOND, "sys/fs/cgroup/a/b/cpu.max": "150000 100000\n"}, 1.5),
        # the group above sets the lower limit
        ({**SECOND, "sys/fs/cgroup/a/b/cpu.max": "400000 100000\n", "sys/fs/cgroup/a/cpu.max": "50000 100000\n"}, 0.5),
        # in a container the path is the host's, and only the base is there
        ({**SECOND, "sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2.0),
        (
            {**FIRST, "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000"},
            None,
        ),
        (
            {
                **FIRST,
                "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "75000",
                "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "25000",
            },
            3.0,
        ),
    ],
)
def test_the_lowest_share_of_all_groups_holds(tree, files, cpus):
    assert quota_cpus(tree({"etc/hostname": "", **files})) == cpus


def test_periods_in_which_the_share_was_used_up_are_counted(tree):
    stat = "usage_usec 12\nnr_periods 9\nnr_throttled 4\n"
    root = tree({**SECOND, "sys/fs/cgroup/a/b/cpu.max": "1 2", "sys/fs/cgroup/a/b/cpu.stat": stat})
    assert throttled_periods(quota_files(root)) == 4


def test_without_a_share_nobody_counts(tree):
    assert quota_files(tree({**SECOND, "sys/fs/cgroup/a/b/cpu.stat": "nr_throttled 4\n"})) == ()


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
    assert temperature_c(tmp_path) == Unavailable(reason="the system does not report the temperature of the processor")


def test_counters_of_throttling_are_found_for_every_cpu_that_is_on(tree):
    cpus = "sys/devices/system/cpu"
    counts = {f"{cpus}/cpu{number}/thermal_throttle/core_throttle_count": "3" for number in (0, 1, 2)}
    root = tree({f"{cpus}/online": "0-1", **counts})
    assert {reason: len(files) for reason, files in throttle_files(root).items()} == {"core_thermal": 2}
    assert throttle_files(root / "nowhere") == {}


def test_the_waits_of_all_threads_are_added_up(tree):
    # 2 s + 0.5 s, in nanoseconds; the first column is time on a core
    root = tree({"proc/self/task/1/schedstat": "9 2000000000 3", "proc/self/task/2/schedstat": "9 500000000 3"})
    assert queued_s(root) == pytest.approx(2.5)


def test_a_kernel_that_does_not_count_says_nothing(tmp_path):
    assert queued_s(tmp_path) is None


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes cannot be held to a core here")
def test_two_busy_processes_on_one_core_wait_for_each_other():
    before, ours = queued_s(), os.sched_getaffinity(0)
    if before is None:
        pytest.skip("this kernel counts no waits")
    os.sched_setaffinity(0, {min(ours)})
    try:
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"])  # inherits the core
        spun = time.process_time()
        while time.process_time() < spun + 0.5:  # of our own CPU time, so that the other one had its turns, too
            pass
    finally:
        os.sched_setaffinity(0, ours)
        other.kill()
        other.wait()
    assert queued_s() > before


# ---- Stolen time from a fake /proc/stat

STAT = """cpu  100 0 50 1000 5 0 1 40 0 0
cpu0 50 0 25 500 2 0 1 10 0 0
cpu1 50 0 25 500 3 0 0 30 0 0
intr 12345
"""
TICK_S = 1 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01


@pytest.mark.parametrize(("cpus", "ticks"), [(None, 40), ((0,), 10), ((1,), 30), ((0, 1), 40)])
def test_the_time_of_the_cpus_that_are_named_adds_up(tree, cpus, ticks):
    assert stolen_s(cpus, tree({"proc/stat": STAT})) == pytest.approx(ticks * TICK_S)


def test_a_system_that_does_not_count_says_nothing(tree, tmp_path):
    assert stolen_s(None, tmp_path) is None
    assert stolen_s((7,), tree({"proc/stat": STAT})) is None
    assert stolen_s(None, tree({"proc/stat": "cpu 100 0 50\n"})) is None  # kernels of before 2004 had three columns


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
    assert watch.stop() == Disturbance(0.0, 0.0)


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
    assert watch.stop() == Disturbance()


def test_a_counter_that_appears_has_not_moved():
    assert grown({"a": 1, "b": 1}, {"a": 2, "b": 1, "c": 7}) == ("a",)


# ---- memory


def test_available_memory_is_what_the_kernel_says_in_kilobytes(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text(
        "MemTotal: 9 kB\nMemFree: 1 kB\nMemAvailable:    2048 kB\n", encoding="utf-8"
    )
    assert available_bytes(tmp_path) == 2048 * 1024
    assert available_bytes(tmp_path / "elsewhere") is None


def test_the_peak_of_resident_memory_begins_anew_before_the_call(tmp_path):
    process = tmp_path / "proc/self"
    process.mkdir(parents=True)
    for name in ("clear_refs", "status"):
        (process / name).write_text("VmPeak:\t 9 kB\nVmHWM:\t    2048 kB\n", encoding="utf-8")
    seen = []
    found = resident_peak(lambda: seen.append((process / "clear_refs").read_text(encoding="utf-8")), tmp_path)
    assert seen == ["5"]
    assert found == Memory(peak_bytes=2048 * 1024, source="resident memory of the process")


@pytest.mark.parametrize(
    ("before", "found"),
    [(1024 * 1024, 1024 * 1024), (2048 * 1024, None), (4096 * 1024, None)],
)
def test_what_the_process_held_before_is_not_memory_of_a_call(tmp_path, before, found):
    process = tmp_path / "proc/self"
    process.mkdir(parents=True)
    (process / "status").write_text("VmHWM:\t    2048 kB\nVmRSS:\t 1000 kB\n", encoding="utf-8")
    (process / "clear_refs").write_text("", encoding="utf-8")
    assert held_bytes(tmp_path) == 1000 * 1024
    memory = resident_peak(lambda: None, tmp_path, before)
    if found is None:
        assert "held as much memory before" in str(memory)
    else:
        assert (memory.peak_bytes, memory.source.partition(",")[2]) == (found, " less that before it was built")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_of_a_call_is_that_of_what_it_holds_also_after_others_were_freed():
    # 64 MB in pieces that the C library keeps for itself when they are freed
    kept = [bytearray(1 << 16) for _ in range(1000)]
    del kept
    before = held_bytes()
    memory = resident_peak(lambda: bytearray(b"1") * (40 << 20), before=before)
    assert 39 << 20 < memory.peak_bytes < 60 << 20


def test_a_system_that_cannot_reset_the_peak_says_so(tmp_path):
    found = resident_peak(lambda: None, tmp_path)
    assert "the peak of resident memory cannot be reset" in str(found)
