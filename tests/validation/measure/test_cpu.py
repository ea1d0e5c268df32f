"""The clock of a core and who is not believed about it; energy counters from a fake tree, and a fake powermetrics."""

import os
import platform
import statistics
import struct
import sys
import time

import pytest

from rooflint_measure.record import Unavailable
from rooflint_measure.sensors import cpu
from rooflint_measure.sensors.cpu import (
    ADDITIONS,
    PowermetricsSource,
    Stretch,
    callable_code,
    cycles_per_s,
    machine_code,
    stretches,
    timed_clock_hz,
)

REFUSED = Unavailable(reason="this system does not let generated code run (Permission denied)")
CPUFREQ = "sys/devices/system/cpu/cpu{}/cpufreq"


@pytest.fixture
def no_code(monkeypatch):
    monkeypatch.setattr(cpu, "timed_clock_hz", lambda: REFUSED)
    monkeypatch.setattr(cpu, "affinity", lambda: (0, 2))


def driver(number, name, khz):
    folder = CPUFREQ.format(number)
    return {f"{folder}/scaling_driver": name, f"{folder}/scaling_cur_freq": str(khz)}


def test_the_core_itself_is_asked_first(monkeypatch, tree):
    monkeypatch.setattr(cpu, "timed_clock_hz", lambda: 4.1e9)
    assert cpu.clock_hz(tree(driver(0, "amd-pstate", 1_500_000))) == (4.1e9, "dependent chain")


def test_where_no_code_runs_the_driver_answers_for_the_cpus_that_may_be_used(no_code, tree):
    files = {number: driver(number, "intel_pstate", khz) for number, khz in enumerate((800_000, 5_000_000, 3_400_000))}
    assert cpu.clock_hz(tree(files[0] | files[1] | files[2])) == (3.4e9, "cpufreq")


def test_a_driver_that_repeats_what_was_asked_for_is_not_believed(no_code, tree):
    assert cpu.clock_hz(tree(driver(0, "acpi-cpufreq", 2_600_000))) == (REFUSED, "")


# ---- The clock by a chain of additions: the code that runs, and what this very machine answers

HERE = not isinstance(timed_clock_hz(runs=1, turns=1), Unavailable)
needs_code = pytest.mark.skipif(not HERE, reason="no machine code of ours runs here")
needs_x86 = pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="latencies are x86-64's")


def test_the_loop_of_x86_64_is_a_chain_and_a_counter():
    code = machine_code("add", "x86_64")
    # add rax, rsi; dec rdi; jnz to the start, which lies before the end of the jump; ret
    assert code[: 3 * ADDITIONS] == b"\x48\x01\xf0" * ADDITIONS
    assert code[3 * ADDITIONS :][:3] == b"\x48\xff\xcf"
    (back,) = struct.unpack("<i", code[-5:-1])
    assert back == -(len(code) - 1)
    assert code[-1:] == b"\xc3"


def test_the_loop_of_aarch64_jumps_back_to_its_start():
    words = struct.unpack(f"<{ADDITIONS + 3}I", machine_code("add", "aarch64"))
    assert words[0] == 0x8B020021
    # b.ne: 19 bits of instructions, signed, from the branch at number 65 to number 0
    steps = (words[-2] >> 5) & 0x7FFFF
    assert steps - 0x80000 == -(ADDITIONS + 1)


@pytest.fixture
def timed(monkeypatch):
    """Runs that take as long as a list says, one after the other, whatever the load of this machine."""

    def take(*seconds):
        times = iter(seconds)
        monkeypatch.setattr(cpu, "_routine", lambda chain, machine: chain)
        monkeypatch.setattr(cpu, "_seconds", lambda routine, turns: next(times))

    return take


def test_a_clock_is_the_links_of_a_run_over_its_time(timed):
    # 64 additions × 16 000 turns in 256 µs
    timed(256e-6)
    assert timed_clock_hz(runs=1, turns=16_000) == pytest.approx(4e9)


def test_what_interrupts_a_run_does_not_lower_the_clock(timed):
    # a scheduler's slice of 4 ms falls into two of three runs
    timed(4.256e-3, 256e-6, 4.256e-3)
    assert timed_clock_hz(runs=3, turns=16_000) == pytest.approx(4e9)


def test_every_run_is_waited_for(timed):
    timed(300e-6, 280e-6, 256e-6)
    assert cycles_per_s("add", runs=2, turns=16_000) == pytest.approx(64 * 16_000 / 280e-6)


@pytest.mark.parametrize(
    ("machine", "addition", "multiplication"),
    [
        ("x86_64", b"\x48\x01\xf0", b"\x48\x0f\xaf\xc6"),
        ("aarch64", struct.pack("<I", 0x8B020021), struct.pack("<I", 0x9B027C21)),
    ],
)
def test_the_chain_of_multiplications_has_as_many_links(machine, addition, multiplication):
    assert machine_code("add", machine).count(addition) == ADDITIONS
    assert machine_code("multiply", machine).count(multiplication) == ADDITIONS


# What the processor itself answers. A loaded machine may spoil a time once, not four times

spoilt_by_load = pytest.mark.flaky(reruns=3, only_rerun=["AssertionError"])


@pytest.mark.slow
@spoilt_by_load
@needs_code
def test_a_core_of_today_runs_between_half_and_seven_gigahertz():
    assert 0.5e9 < timed_clock_hz() < 7e9


@pytest.mark.slow
@spoilt_by_load
@needs_code
@needs_x86
def test_multiplications_take_three_additions_which_makes_an_addition_one_cycle():
    # a busy neighbour lengthens either and the clock wanders, so they take turns and the median of the ratios counts
    ratios = [timed_clock_hz() / cycles_per_s("multiply", turns=5_000) for _ in range(15)]
    assert statistics.median(ratios) == pytest.approx(3.0, rel=0.05)


@pytest.mark.slow
@spoilt_by_load
@needs_code
def test_twice_the_turns_take_twice_as_long():
    routine = cpu._routine("add", platform.machine().lower())
    pairs = [(_best_s(routine, 40_000), _best_s(routine, 20_000)) for _ in range(15)]
    assert statistics.median(twice / once for twice, once in pairs) == pytest.approx(2.0, rel=0.05)


def _best_s(routine, turns):
    return min(cpu._seconds(routine, turns) for _ in range(5))


def test_a_machine_without_a_chain_says_so(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert timed_clock_hz() == Unavailable(reason="no chain of additions is available for riscv64")


def test_a_system_that_makes_no_page_executable_says_so(monkeypatch):
    def refuse(address, size):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("rooflint_measure.sensors.cpu._make_executable", refuse)
    found = callable_code(b"\xc3")
    assert found == Unavailable(reason="this system does not let generated code run (Permission denied)")


# ---- Power

ZONES = "sys/class/powercap"


def zone(path, name, microjoules, range_uj=262_143_328_850):
    return {
        f"{ZONES}/{path}/name": f"{name}\n",
        f"{ZONES}/{path}/energy_uj": f"{microjoules}\n",
        f"{ZONES}/{path}/max_energy_range_uj": f"{range_uj}\n",
    }


def test_packages_and_their_memory_add_up_and_parts_of_a_package_are_not_counted_again(tree):
    root = tree(
        {
            **zone("intel-rapl:0", "package-0", 1_000_000),
            **zone("intel-rapl:0:0", "core", 5_000),
            **zone("intel-rapl:0:1", "dram", 2_000_000),
            **zone("intel-rapl:1", "package-1", 3_000_000),
            **zone("intel-rapl:2", "psys", 9_000_000),
        }
    )
    source = cpu.rapl_source(root)
    assert source.name == "rapl package + dram"

    def run():
        tree({f"{ZONES}/intel-rapl:0/energy_uj": "11000000", f"{ZONES}/intel-rapl:0:1/energy_uj": "3000000"})
        tree({f"{ZONES}/intel-rapl:1/energy_uj": "5500000", f"{ZONES}/intel-rapl:0:0/energy_uj": "9999999"})
        return 1

    # 10 J of one package, 2.5 of the other and 1 of DRAM
    assert source.metered(run, 0.0).joules == pytest.approx(13.5)


def test_a_counter_that_wraps_during_the_run_loses_nothing(tree):
    # counts 0 … 65 532 610 µJ; from 10 µJ below the end to 5 µJ: 10 + 1 + 5 = 16 µJ
    root = tree(zone("intel-rapl:0", "package-0", 65_532_600, range_uj=65_532_610))
    source = cpu.rapl_source(root)

    def run():
        tree({f"{ZONES}/intel-rapl:0/energy_uj": "5"})
        return 1

    assert source.metered(run, 0.0).joules == pytest.approx(16e-6)


def test_a_counter_without_a_range_is_not_trusted(tree):
    # whoever guesses the range is off by the rest of it at the first wrap
    root = tree(zone("intel-rapl:0", "package-0", 5))
    (root / ZONES / "intel-rapl:0/max_energy_range_uj").unlink()
    found = cpu.rapl_source(root)
    assert found == Unavailable(reason="RAPL counter package-0 does not say where it wraps around")


def test_a_counter_that_goes_away_is_said(tree):
    root = tree(zone("intel-rapl:0", "package-0", 5))
    source = cpu.rapl_source(root)

    def run():
        (root / ZONES / "intel-rapl:0/energy_uj").unlink()
        return 1

    found = source.metered(run, 0.0)
    assert isinstance(found, Unavailable)
    assert found.reason.startswith("rapl: package-0 cannot be read any more (No such file")


def test_without_powercap_there_is_no_energy_and_a_reason(tmp_path):
    assert "no RAPL counter below /sys/class/powercap" in cpu.rapl_source(tmp_path).reason


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_counter_for_root_only_says_how_to_open_it(tree):
    root = tree(zone("intel-rapl:0", "package-0", 5))
    (root / ZONES / "intel-rapl:0/energy_uj").chmod(0)
    assert "readable by root only" in cpu.rapl_source(root).reason


def test_a_refused_counter_says_how_to_open_it(tree, monkeypatch):
    root = tree(zone("intel-rapl:0", "package-0", 5))
    monkeypatch.setattr(cpu.Path, "read_text", refuse_energy(cpu.Path.read_text))
    assert "readable by root only" in cpu.rapl_source(root).reason


def refuse_energy(read_text):
    def refusing(file, **settings):
        if file.name == "energy_uj":
            raise PermissionError(13, "Permission denied")
        return read_text(file, **settings)

    return refusing


SAMPLE = """
*** Sampled system activity (Fri Nov 20 12:00:00 2026 +0000) (103.57ms elapsed) ***

CPU Power: 4231 mW
GPU Power: 45 mW
ANE Power: 0 mW
Combined Power (CPU + GPU + ANE): 4276 mW
"""


def test_a_sample_is_its_power_over_the_time_since_the_one_before():
    (found,) = stretches(SAMPLE.splitlines(), lambda: 7.0)
    assert found == Stretch(7.0, 0.10357, 4.276)


@pytest.mark.parametrize(
    ("begin_s", "end_s", "seconds"),
    [(0.0, 10.0, 1.0), (2.5, 10.0, 0.5), (0.0, 2.25, 0.25), (2.25, 2.75, 0.5), (3.0, 9.0, 0.0), (0.0, 2.0, 0.0)],
)
def test_only_the_part_within_the_run_counts(begin_s, end_s, seconds):
    # from 2 s to 3 s
    assert Stretch(3.0, 1.0, 5.0).seconds_within(begin_s, end_s) == pytest.approx(seconds)


#: Prints 5 W a hundred times a second, each sample with the time that it really took.
PROGRAM = """
import time
last = time.perf_counter()
while True:
    time.sleep(0.01)
    now = time.perf_counter()
    print(f"*** ({1e3 * (now - last)}ms elapsed) ***\\nCombined Power (CPU + GPU + ANE): 5000 mW", flush=True)
    last = now
"""


def test_energy_is_the_power_that_the_program_prints_over_the_time_of_the_run():
    found = PowermetricsSource((sys.executable, "-c", PROGRAM)).metered(lambda: time.sleep(0.3) or 3, 1.0)
    assert found.seconds >= 0.3
    # samples are dated when they arrive, which on a busy machine is late
    assert found.mean_w == pytest.approx(5.0, rel=0.3)
    assert (found.calls, found.source) == (3, "powermetrics")


def test_a_program_that_does_not_start_leaves_no_energy():
    found = PowermetricsSource(("no-such-program",)).metered(lambda: 1, 0.0)
    assert isinstance(found, Unavailable)
    assert "cannot be started" in found.reason


def test_a_program_that_says_nothing_leaves_no_energy(monkeypatch):
    monkeypatch.setattr(cpu, "_wait_until", lambda condition: None)
    found = PowermetricsSource((sys.executable, "-c", "pass")).metered(lambda: 1, 0.0)
    assert found == Unavailable(reason="powermetrics: its samples cover less than half of the run")


def test_other_systems_have_none_and_a_reason(monkeypatch):
    monkeypatch.setattr(cpu.platform, "system", lambda: "Linux")
    assert cpu.powermetrics_source().reason == "powermetrics is a program of macOS"


def test_who_is_not_root_is_told_to_use_sudo(monkeypatch):
    monkeypatch.setattr(cpu.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(cpu.shutil, "which", lambda name: name)
    monkeypatch.setattr(cpu.os, "geteuid", lambda: 501, raising=False)
    assert "sudo" in cpu.powermetrics_source().reason
    monkeypatch.setattr(cpu.os, "geteuid", lambda: 0, raising=False)
    assert isinstance(cpu.powermetrics_source(), PowermetricsSource)
