"""The machine's fingerprint, processors and caches from fake /proc and /sys trees, and the libraries that compute."""

import getpass
import json
import os
import platform
import socket
import sys
from pathlib import PurePosixPath
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from rooflint_measure import identity
from rooflint_measure.record import Unavailable


def test_the_fingerprint_is_plain_data_about_this_machine():
    found = identity.fingerprint()
    assert set(found) == {"system", "release", "machine", "cpu", "cores", "python"}
    assert json.loads(json.dumps(found)) == found
    assert found["system"] == platform.system()
    assert found["cores"] == os.cpu_count()
    assert platform.python_version() in found["python"]


def test_the_fingerprint_names_neither_host_nor_user(monkeypatch):
    text = json.dumps(identity.fingerprint())
    assert len(socket.gethostname()) < 4 or socket.gethostname() not in text
    assert getpass.getuser() not in text.split('"')


def test_the_processor_is_the_first_model_name_that_the_system_lists(tree):
    root = tree({"proc/cpuinfo": "processor\t: 0\nmodel name\t: Acme 9000: Turbo\nmodel name\t: another\n"})
    assert identity.cpu_name(root) == "Acme 9000: Turbo"


def test_a_system_that_does_not_say_has_an_unknown_processor(tree, tmp_path, monkeypatch):
    assert identity.cpu_name(tree({"proc/cpuinfo": "processor\t: 0\n"})) == "unknown"
    monkeypatch.setattr(platform, "processor", lambda: "")
    assert identity.cpu_name(tmp_path / "nowhere") == "unknown"
    monkeypatch.setattr(platform, "processor", lambda: "arm")
    assert identity.cpu_name(tmp_path / "nowhere") == "arm"


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
    assert identity.device(epyc) == "AMD EPYC, family 26 model 2 stepping 1"


def test_the_facts_are_those_that_change_a_figure_and_stay(epyc):
    assert identity.facts(epyc) == {
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
    assert identity.device(root) == "unknown, implementer 0x41 part 0xd4f variant 0x0 revision 1"
    assert identity.extensions(root) == ("asimd", "asimdhp", "asimddp", "bf16", "i8mm", "sve", "sve2")
    assert "virtual" not in identity.facts(root)  # the features of Arm do not tell


def test_a_system_that_says_nothing_is_unknown_and_no_error(tmp_path, monkeypatch):
    monkeypatch.setattr("platform.processor", lambda: "")
    assert identity.device(tmp_path) == "unknown"
    assert identity.facts(tmp_path) == {}


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
    assert identity.last_level_bytes(tmp_path) == 2 * 32 * 2**20


def test_instructions_are_no_data(tmp_path):
    plant_cache(tmp_path, 0, 0, "Data", 1, 0, "32K")
    plant_cache(tmp_path, 0, 1, "Instruction", 2, 0, "1M")
    assert identity.last_level_bytes(tmp_path) == 32 * 2**10


def test_a_system_that_names_no_cache_says_so(tmp_path):
    assert isinstance(identity.last_level_bytes(tmp_path / "none"), Unavailable)
    plant_cache(tmp_path, 0, 0, "Data", "?", 0, "?")
    assert isinstance(identity.last_level_bytes(tmp_path), Unavailable)


# ---- Which code computes, without a word about who owns the machine

OPENBLAS = {
    "user_api": "blas",
    "internal_api": "openblas",
    "filepath": "/home/somebody/venv/lib/python3.11/site-packages/numpy.libs/libscipy_openblas64_-1.so",
    "version": "0.3.30",
    "architecture": "Haswell",
    "threading_layer": "pthreads",
    "num_threads": 2,
}


@pytest.fixture
def pools(monkeypatch):
    module = ModuleType("threadpoolctl")
    module.threadpool_info = lambda: [OPENBLAS]
    monkeypatch.setitem(sys.modules, "threadpoolctl", module)
    monkeypatch.delitem(sys.modules, "torch", raising=False)


def test_the_blas_of_a_library_is_named_with_the_kernels_that_it_chose(pools):
    assert identity.blas()["openblas of numpy"] == "0.3.30 Haswell pthreads"
    assert identity.threads() == 2


def test_what_is_linked_into_torch_is_asked_of_torch(pools, monkeypatch):
    message = "Math Kernel Library Version 2024.2-Product\n - MKL-DNN v3.12.0 (Git)\n - CPU capability usage: AVX512\n"
    torch = SimpleNamespace(__config__=SimpleNamespace(show=lambda: message), get_num_threads=lambda: 5)
    monkeypatch.setitem(sys.modules, "torch", torch)
    found = identity.blas()
    assert (found["mkl of torch"], found["onednn of torch"], found["kernels of torch"]) == (
        "2024.2",
        "3.12.0",
        "AVX512",
    )
    assert identity.threads() == 5


def test_without_threadpoolctl_numpy_says_what_it_was_built_with(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    wanted = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]
    assert identity.blas()["blas of numpy"].startswith(wanted)
    assert identity.threads() is None


def test_a_library_outside_of_any_package_is_the_systems():
    assert identity._package(PurePosixPath("/usr/lib/libgomp.so.1")) == "the system"


def test_the_environment_tells_what_changes_the_kernels_and_no_path():
    variables = {
        "OPENBLAS_CORETYPE": "Haswell",
        "OMP_NUM_THREADS": "4",
        "MKL_CONFIG": "/home/somebody/mkl.cfg",
        "KMP_DUPLICATE_LIB_OK": "True",  # threadpoolctl sets it when it is imported
        "HOME": "somebody",
        "SECRET": "OMP_",
    }
    assert identity.environment(variables) == {"OMP_NUM_THREADS": "4", "OPENBLAS_CORETYPE": "Haswell"}


def test_software_names_versions_and_neither_user_nor_who_built_the_kernel(monkeypatch):
    monkeypatch.setattr(platform, "release", lambda: "6.18.44-somebodys-cloud")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    found = identity.software({"torch": "2.13.0"})
    assert (found["Linux"], found["torch"], found["CPython"]) == ("6.18.44", "2.13.0", platform.python_version())
    assert getpass.getuser() not in " ".join(found.values()).split()
