"""Who is asked for the clock of a core, and who is not believed."""

import platform
import statistics
import struct

import pytest

from rooflint_measure.record import Unavailable
from rooflint_measure.sensors import core_clock
from rooflint_measure.sensors.core_clock import ADDITIONS, callable_code, cycles_per_s, machine_code, timed_clock_hz

REFUSED = Unavailable(reason="this system does not let generated code run (Permission denied)")
CPUFREQ = "sys/devices/system/cpu/cpu{}/cpufreq"


@pytest.fixture
def no_code(monkeypatch):
    monkeypatch.setattr(core_clock, "timed_clock_hz", lambda: REFUSED)
    monkeypatch.setattr(core_clock, "affinity", lambda: (0, 2))


def driver(number, name, khz):
    folder = CPUFREQ.format(number)
    return {f"{folder}/scaling_driver": name, f"{folder}/scaling_cur_freq": str(khz)}


def test_the_core_itself_is_asked_first(monkeypatch, tree):
    monkeypatch.setattr(core_clock, "timed_clock_hz", lambda: 4.1e9)
    assert core_clock.clock_hz(tree(driver(0, "amd-pstate", 1_500_000))) == (4.1e9, "dependent chain")


def test_where_no_code_runs_the_driver_answers_for_the_cpus_that_may_be_used(no_code, tree):
    files = {number: driver(number, "intel_pstate", khz) for number, khz in enumerate((800_000, 5_000_000, 3_400_000))}
    assert core_clock.clock_hz(tree(files[0] | files[1] | files[2])) == (3.4e9, "cpufreq")


def test_a_driver_that_repeats_what_was_asked_for_is_not_believed(no_code, tree):
    assert core_clock.clock_hz(tree(driver(0, "acpi-cpufreq", 2_600_000))) == (REFUSED, "")


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


@needs_code
def test_a_core_of_today_runs_between_half_and_seven_gigahertz():
    assert 0.5e9 < timed_clock_hz() < 7e9


@needs_code
@needs_x86
def test_multiplications_take_three_additions_which_makes_an_addition_one_cycle():
    # a busy neighbour lengthens either and the clock wanders, so they take turns and the median of the ratios counts
    ratios = [timed_clock_hz() / cycles_per_s("multiply", turns=5_000) for _ in range(15)]
    assert statistics.median(ratios) == pytest.approx(3.0, rel=0.05)


@needs_code
def test_twice_the_turns_take_twice_as_long():
    routine = core_clock._routine("add", platform.machine().lower())
    pairs = [(_best_s(routine, 40_000), _best_s(routine, 20_000)) for _ in range(15)]
    assert statistics.median(twice / once for twice, once in pairs) == pytest.approx(2.0, rel=0.05)


def _best_s(routine, turns):
    return min(core_clock._seconds(routine, turns) for _ in range(5))


def test_a_machine_without_a_chain_says_so(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert timed_clock_hz() == Unavailable(reason="no chain of additions is available for riscv64")


def test_a_system_that_makes_no_page_executable_says_so(monkeypatch):
    def refuse(address, size):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("rooflint_measure.sensors.core_clock._make_executable", refuse)
    found = callable_code(b"\xc3")
    assert found == Unavailable(reason="this system does not let generated code run (Permission denied)")
