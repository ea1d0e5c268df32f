"""What a process may use of a machine: affinity, and the shares of control groups of both versions."""

import os

import pytest

from rooflint_measure.record.measurement import Unavailable
from rooflint_measure.sensors import allowance
from rooflint_measure.sensors.allowance import affinity, quota_cpus, quota_files, throttled_periods


def test_the_affinity_is_the_systems(monkeypatch):
    if hasattr(os, "sched_getaffinity"):
        assert affinity() == tuple(sorted(os.sched_getaffinity(0)))
    monkeypatch.delattr(allowance.os, "sched_getaffinity", raising=False)
    assert affinity() == Unavailable(reason="this system binds no process to CPUs")


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
