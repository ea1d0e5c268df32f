"""Hardware counters on a FAKE of perf, which counts as its manual says; what this machine has is another matter."""

import errno
import os
import subprocess
import sys

import pytest

from rooflint_measure.record import Unavailable
from rooflint_measure.sensors import counters
from rooflint_measure.sensors.counters import (
    Counter,
    Event,
    Perf,
    memory_counter,
    own_instructions,
    program_instructions,
)


class FakePerf(Perf):
    """Counts what a test says: `refused` by kind of counter, a count for each that was opened."""

    def __init__(self, refused=(), counts=None):
        self.refused, self.counts, self.events, self.closed = dict(refused), counts or {}, [], []

    def open(self, event):
        if event.kind in self.refused:
            raise OSError(self.refused[event.kind], os.strerror(self.refused[event.kind]))
        self.events.append(event)
        return len(self.events) - 1

    def read(self, opened):
        return self.counts.get(opened, (1000, 10, 10))

    def close(self, opened):
        self.closed.append(opened)


DEVICES = "sys/bus/event_source/devices"
SERVER = {
    f"{DEVICES}/uncore_imc_{number}/{name}": text
    for number in (0, 1)
    for name, text in {
        "type": str(20 + number),
        "cpumask": "0,28",
        "format/event": "config:0-7",
        "format/umask": "config:8-15",
        "events/cas_count_read": "event=0x05,umask=0xcf",
        "events/cas_count_read.scale": "6.103515625e-5",
        "events/cas_count_read.unit": "MiB",
        "events/cas_count_write": "event=0x05,umask=0xf0",
        "events/cas_count_write.scale": "6.103515625e-5",
        "events/cas_count_write.unit": "MiB",
    }.items()
}
THREADS = {"proc/self/task/17/stat": "", "proc/self/task/4/stat": ""}


def test_memory_controllers_count_reads_and_writes_of_every_channel_and_socket(tree):
    perf = FakePerf()
    found = memory_counter(tree(SERVER | THREADS), perf)
    assert found.source == "memory controllers, other processes included"
    # 2 controllers × read and write × 2 sockets; a count is 6.103515625e-5 MiB, a line of 64 B
    assert found.read() == 2 * 2 * 2 * 1000 * 64
    assert {(one.kind, one.config, one.thread, one.cpu) for one in perf.events} == {
        (kind, config, -1, cpu) for kind in (20, 21) for config in (0xCF05, 0xF005) for cpu in (0, 28)
    }


def test_amds_controllers_count_commands_of_a_line(tree):
    files = {"type": "30", "cpumask": "0", "format/event": "config:0-7"}
    perf = FakePerf()
    found = memory_counter(tree({f"{DEVICES}/amd_umc_3/{name}": text for name, text in files.items()} | THREADS), perf)
    assert found.read() == 1000 * 64
    assert perf.events == [Event(30, 0x0A, -1, 0)]


def test_where_controllers_are_for_root_the_misses_of_all_threads_are_counted(tree):
    perf = FakePerf({20: errno.EACCES})
    found = memory_counter(tree(SERVER | THREADS), perf)
    assert found.source.startswith("misses of the last cache, 64 B each")
    assert found.read() == 2 * 1000 * 64
    assert {(one.kind, one.config, one.thread) for one in perf.events} == {(0, 3, 17), (0, 3, 4)}


def test_a_counter_that_shared_a_register_is_scaled_to_all_of_the_time(tree):
    perf = FakePerf(counts={0: (300, 30, 10), 1: (5, 0, 0)})
    assert memory_counter(tree(THREADS), perf).read() == 300 * 3 * 64


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.EACCES, "perf may not count here (kernel.perf_event_paranoid is 4): lower it, or run with CAP_PERFMON"),
        (errno.ENOENT, "perf finds no hardware counters on this processor, as in most virtual machines"),
        (errno.EOPNOTSUPP, "perf finds no hardware counters on this processor, as in most virtual machines"),
        (errno.ENOSYS, f"perf cannot count here ({os.strerror(errno.ENOSYS)})"),
    ],
)
def test_what_is_refused_is_one_sentence(tree, number, reason):
    root = tree(THREADS | {"proc/sys/kernel/perf_event_paranoid": "4"})
    assert memory_counter(root, FakePerf({0: number})) == Unavailable(reason=reason)
    assert program_instructions(root, FakePerf({0: number})) == Unavailable(reason=reason)


def test_both_refusals_are_told_and_what_was_opened_is_given_back(tree):
    perf = FakePerf({21: errno.EPERM, 0: errno.ENOENT})
    found = memory_counter(tree(SERVER | THREADS), perf)
    assert found.reason.startswith("perf may not count here: lower it, or run with CAP_PERFMON; perf finds")
    assert perf.closed == [0, 1, 2, 3]


def test_instructions_are_those_of_programs_that_will_be_started(tree):
    perf = FakePerf()
    assert program_instructions(tree({}), perf).source == "instructions"
    # disabled, inherited, enabled by exec, without kernel and hypervisor: bits 0, 1, 12, 5, 6 of perf_event_attr
    assert perf.events == [Event(0, 1, 0, -1, 0b1_0000_0110_0011)]


def test_own_instructions_are_those_of_all_threads_without_the_kernel(tree):
    perf = FakePerf()
    assert own_instructions(tree(THREADS), perf).read() == 2000
    assert {(one.config, one.thread, one.flags) for one in perf.events} == {(1, 17, 0b110_0000), (1, 4, 0b110_0000)}


def test_a_counter_that_waits_for_exec_counts_children_and_nothing_of_this_process():
    """The kernel's own clock of a task stands in for the instructions, which few virtual machines have."""
    perf = Perf()
    try:
        opened = perf.open(Event(1, 1, flags=counters.DISABLED | counters.INHERIT | counters.ENABLE_ON_EXEC))
    except OSError as error:
        pytest.skip(f"perf is not allowed here: {error.strerror}")
    counter = Counter("task clock", [(opened, 1.0)], perf)
    sum(range(1_000_000))
    assert counter.read() == 0
    subprocess.run([sys.executable, "-S", "-c", "sum(range(1000000))"], check=True)
    assert counter.read() > 1e6  # a millisecond of a task, in ns
    counter.close()


def test_this_machine_says_what_it_has():
    found = memory_counter()
    assert isinstance(found, Counter) or found.reason
