"""Which code computes: versions, the BLAS of each library, and the environment variables that steer them."""

import importlib
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

#: Variables that change which kernel runs, or on how many threads.
PREFIXES = (
    "OMP_",
    "KMP_",
    "GOMP_",
    "MKL_",
    "OPENBLAS_",
    "BLIS_",
    "VECLIB_",
    "DNNL_",
    "ONEDNN_",
    "ATEN_",
    "NVIDIA_TF32_",
)
NAMES = ("GOTO_NUM_THREADS", "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING", "CUBLAS_WORKSPACE_CONFIG", "MALLOC_CONF")

#: Set by libraries when they are imported (threadpoolctl, scikit-learn), so they say nothing about the machine.
SET_BY_LIBRARIES = ("KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK")


def software(libraries: Mapping[str, str]) -> dict[str, str]:
    """System, interpreter, the libraries of a measurement, and the BLAS and thread pools that are loaded."""
    libc, version = platform.libc_ver()
    return {
        # a kernel's suffix names who built it, which is private
        platform.system(): re.match(r"[\d.]*", platform.release()).group().rstrip("."),  # type: ignore[union-attr]
        **({libc: version} if libc else {}),
        platform.python_implementation(): platform.python_version(),
        **libraries,
        **blas(),
    }


def environment(variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables such as `OPENBLAS_CORETYPE: Haswell`, as they were set."""
    relevant = (name for name in variables if name.startswith(PREFIXES) or name in NAMES)
    chosen = {name: variables[name] for name in relevant if name not in SET_BY_LIBRARIES}
    # a path changes no kernel, and may name the machine's owner
    return {name: value for name, value in sorted(chosen.items()) if "/" not in value and "\\" not in value}


def blas() -> dict[str, str]:
    """`openblas of numpy: 0.3.30 Haswell`: of libraries that are loaded, so call it after the first product."""
    return dict(sorted({**dict(_numpy()), **dict(_pools()), **dict(_torch())}.items()))


def threads() -> int | None:
    """Threads of torch where it is loaded, else of the largest pool; None where neither is known."""
    if torch := sys.modules.get("torch"):
        return int(torch.get_num_threads())
    return max((int(pool["num_threads"]) for pool in _threadpools()), default=None)


def _numpy() -> Iterator[tuple[str, str]]:
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        built = numpy.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
        if built.get("name"):
            yield "blas of numpy", f"{built['name']} {built.get('version', '')}".strip()


def _pools() -> Iterator[tuple[str, str]]:
    for pool in _threadpools():
        package = _package(PurePath(pool["filepath"]))
        what = [pool.get("version"), pool.get("architecture"), pool.get("threading_layer")]
        yield f"{pool['internal_api']} of {package}", " ".join(filter(None, what)) or "version not known"


def _threadpools() -> list[dict[str, Any]]:
    try:
        return list(importlib.import_module("threadpoolctl").threadpool_info())
    except ImportError:
        return []


def _package(file: PurePath) -> str:
    """The Python package that a shared library belongs to; never a path, which may name the machine's owner."""
    parts = file.parts
    below = parts.index("site-packages") + 1 if "site-packages" in parts else len(parts)
    return parts[below].removesuffix(".libs") if below < len(parts) else "the system"


def _torch() -> Iterator[tuple[str, str]]:
    """MKL and oneDNN are linked into torch, where no list of loaded files shows them."""
    if torch := sys.modules.get("torch"):
        listed = torch.__config__.show()
        patterns = {
            "mkl": r"Math Kernel Library Version ([\d.]+)",
            "onednn": r"MKL-DNN v([\d.]+)",
            "cuda": r"CUDA Runtime ([\d.]+)",
            "kernels": r"CPU capability usage: (\S+)",
        }
        for name, pattern in patterns.items():
            if found := re.search(pattern, listed):
                yield f"{name} of torch", found[1]
