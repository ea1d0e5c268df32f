"""Processors from fake /proc/cpuinfo and /sys trees: which silicon, which extensions, which caches."""

import pytest

from rooflint_measure.identity import processor

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
    assert processor.device(epyc) == "AMD EPYC, family 26 model 2 stepping 1"


def test_the_facts_are_those_that_change_a_figure_and_stay(epyc):
    assert processor.facts(epyc) == {
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
    assert processor.device(root) == "unknown, implementer 0x41 part 0xd4f variant 0x0 revision 1"
    assert processor.extensions(root) == ("asimd", "asimdhp", "asimddp", "bf16", "i8mm", "sve", "sve2")
    assert "virtual" not in processor.facts(root)  # the features of Arm do not tell


def test_a_system_that_says_nothing_is_unknown_and_no_error(tmp_path, monkeypatch):
    monkeypatch.setattr("platform.processor", lambda: "")
    assert processor.device(tmp_path) == "unknown"
    assert processor.facts(tmp_path) == {}
