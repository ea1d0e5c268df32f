"""Which code computes, without a word about who owns the machine."""

import getpass
import platform
import sys
from pathlib import PurePosixPath
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from rooflint_measure.identity import libraries

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
    assert libraries.blas()["openblas of numpy"] == "0.3.30 Haswell pthreads"
    assert libraries.threads() == 2


def test_what_is_linked_into_torch_is_asked_of_torch(pools, monkeypatch):
    said = "Math Kernel Library Version 2024.2-Product\n - MKL-DNN v3.12.0 (Git)\n - CPU capability usage: AVX512\n"
    torch = SimpleNamespace(__config__=SimpleNamespace(show=lambda: said), get_num_threads=lambda: 5)
    monkeypatch.setitem(sys.modules, "torch", torch)
    found = libraries.blas()
    assert (found["mkl of torch"], found["onednn of torch"], found["kernels of torch"]) == (
        "2024.2",
        "3.12.0",
        "AVX512",
    )
    assert libraries.threads() == 5


def test_without_threadpoolctl_numpy_says_what_it_was_built_with(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    wanted = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]
    assert libraries.blas()["blas of numpy"].startswith(wanted)
    assert libraries.threads() is None


def test_a_library_outside_of_any_package_is_the_systems():
    assert libraries._package(PurePosixPath("/usr/lib/libgomp.so.1")) == "the system"


def test_the_environment_tells_what_changes_the_kernels_and_no_path():
    variables = {
        "OPENBLAS_CORETYPE": "Haswell",
        "OMP_NUM_THREADS": "4",
        "MKL_CONFIG": "/home/somebody/mkl.cfg",
        "KMP_DUPLICATE_LIB_OK": "True",  # threadpoolctl sets it when it is imported
        "HOME": "somebody",
        "SECRET": "OMP_",
    }
    assert libraries.environment(variables) == {"OMP_NUM_THREADS": "4", "OPENBLAS_CORETYPE": "Haswell"}


def test_software_names_versions_and_neither_user_nor_who_built_the_kernel(monkeypatch):
    monkeypatch.setattr(platform, "release", lambda: "6.18.44-somebodys-cloud")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    found = libraries.software({"torch": "2.13.0"})
    assert (found["Linux"], found["torch"], found["CPython"]) == ("6.18.44", "2.13.0", platform.python_version())
    assert getpass.getuser() not in " ".join(found.values()).split()
