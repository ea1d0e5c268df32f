"""The machine's fingerprint, and processors and caches from fake /proc and /sys trees."""

import getpass
import json
import os
import platform
import socket

import pytest

from rooflint_measure.identity import machine
from rooflint_measure.record.measurement import Unavailable


def test_the_fingerprint_is_plain_data_about_this_machine():
    found = machine.fingerprint()
    assert set(found) == {"system", "release", "machine", "cpu", "cores", "python"}
    assert json.loads(json.dumps(found)) == found
    assert found["system"] == platform.system()
    assert found["cores"] == os.cpu_count()
    assert platform.python_version() in found["python"]


def test_the_fingerprint_names_neither_host_nor_user(monkeypatch):
    text = json.dumps(machine.fingerprint())
    assert len(socket.gethostname()) < 4 or socket.gethostname() not in text
    assert getpass.getuser() not in text.split('"')


def test_the_processor_is_the_first_model_name_that_the_system_lists(tree):
    root = tree({"proc/cpuinfo": "processor\t: 0\nmodel name\t: Acme 9000: Turbo\nmodel name\t: another\n"})
    assert machine.cpu_name(root) == "Acme 9000: Turbo"


def test_a_system_that_does_not_say_has_an_unknown_processor(tree, tmp_path, monkeypatch):
    assert machine.cpu_name(tree({"proc/cpuinfo": "processor\t: 0\n"})) == "unknown"
    monkeypatch.setattr(platform, "processor", lambda: "")
    assert machine.cpu_name(tmp_path / "nowhere") == "unknown"
    monkeypatch.setattr(platform, "processor", lambda: "arm")
    assert machine.cpu_name(tmp_path / "nowhere") == "arm"


EPYC = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 26
model\t\t: 2
model name\t: AMD EPYC
stepping\t: 1
microcode\t: 0x1000065
cpu MHz\t\t: 2596.128
flags\t\t: fpu sse4_2 fma avx avx2 avx512f avx512_vnni avx512_bf16 hypervisor

processor\t: 1
vendor_id\t: AuthenticAMD
"""

NEOVERSE = """processor\t: 0
BogoMIPS\t: 50.00
Features\t: fp asimd evtstrm aes asimdhp asimddp sve sve2 i8mm bf16
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x0
CPU part\t: 0xd4f
CPU revision\t: 1
"""

CPUS = "sys/devices/system/cpu"


def place(number, *, package=0, siblings):
    folder = f"{CPUS}/cpu{number}/topology"
    return {f"{folder}/physical_package_id": str(package), f"{folder}/thread_siblings_list": siblings}


def cache(index, level, kind, size, shared):
    folder = f"{CPUS}/cpu0/cache/index{index}"
    texts = {"level": str(level), "type": kind, "size": size, "shared_cpu_list": shared}
    return {f"{folder}/{name}": text for name, text in texts.items()}


@pytest.fixture
def epyc(tree):
    return tree(
        {
            "proc/cpuinfo": EPYC,
            f"{CPUS}/online": "0-3",
            f"{CPUS}/cpu0/cpufreq/scaling_governor": "performance\n",
            **place(0, siblings="0,2"),
            **place(2, siblings="0,2"),
            **place(1, package=1, siblings="1,3"),
            **place(3, package=1, siblings="1,3"),
            **cache(0, 1, "Data", "48K", "0,2"),
            **cache(1, 1, "Instruction", "32K", "0"),
            **cache(3, 3, "Unified", "32768K", "0-3"),
        }
    )


def test_a_device_is_its_name_and_the_silicon_that_answers(epyc):
    assert machine.device(epyc) == "AMD EPYC, family 26 model 2 stepping 1"


def test_the_facts_are_those_that_change_a_figure_and_stay(epyc):
    assert machine.facts(epyc) == {
        "vendor": "AuthenticAMD",
        "microcode": "0x1000065",
        "extensions": "sse4_2 fma avx avx2 avx512f avx512_vnni avx512_bf16",
        "virtual": True,
        "governor": "performance",
        "sockets": 2,
        "cores": 2,
        "threads": 4,
        "cache L1d": "48 KiB, CPUs 0,2",
        "cache L1i": "32 KiB",
        "cache L3": "32768 KiB, CPUs 0-3",
    }


def test_a_core_of_arm_is_known_by_implementer_and_part(tree):
    root = tree({"proc/cpuinfo": NEOVERSE})
    assert machine.device(root) == "unknown, implementer 0x41 part 0xd4f variant 0x0 revision 1"
    assert machine.extensions(root) == ("asimd", "asimdhp", "asimddp", "bf16", "i8mm", "sve", "sve2")
    assert "virtual" not in machine.facts(root)  # the features of Arm do not tell


def test_a_system_that_says_nothing_is_unknown_and_no_error(tmp_path, monkeypatch):
    monkeypatch.setattr("platform.processor", lambda: "")
    assert machine.device(tmp_path) == "unknown"
    assert machine.facts(tmp_path) == {}


# ---- the last cache


def plant_cache(root, cpu, index, kind, level, shared, size):
    folder = root / CPUS / f"cpu{cpu}" / "cache" / f"index{index}"
    folder.mkdir(parents=True)
    for name, text in (("type", kind), ("level", level), ("shared_cpu_list", shared), ("size", size)):
        (folder / name).write_text(f"{text}\n", encoding="utf-8")


def test_a_cache_that_cpus_share_counts_once_and_two_of_them_twice(tmp_path):
    # two complexes of two cores, 32 MiB each: 2 × 32 × 2²⁰ B
    for cpu in range(4):
        plant_cache(tmp_path, cpu, 0, "Data", 1, cpu, "48K")
        plant_cache(tmp_path, cpu, 3, "Unified", 3, "0-1" if cpu < 2 else "2-3", "32768K")
    assert machine.last_level_bytes(tmp_path) == 2 * 32 * 2**20


def test_instructions_are_no_data(tmp_path):
    plant_cache(tmp_path, 0, 0, "Data", 1, 0, "32K")
    plant_cache(tmp_path, 0, 1, "Instruction", 2, 0, "1M")
    assert machine.last_level_bytes(tmp_path) == 32 * 2**10


def test_a_system_that_names_no_cache_says_so(tmp_path):
    assert isinstance(machine.last_level_bytes(tmp_path / "none"), Unavailable)
    plant_cache(tmp_path, 0, 0, "Data", "?", 0, "?")
    assert isinstance(machine.last_level_bytes(tmp_path), Unavailable)
