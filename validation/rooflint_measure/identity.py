"""What machine this is, and which code computes on it: what a figure must carry to be compared with another one.

Nothing here tells who owns the machine. On Linux the facts come from /proc and /sys, read below a root, so that tests
can bring a machine of their own.
"""

import importlib
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from rooflint_measure.record import Unavailable

ROOT = Path("/")

#: Extensions that decide which kernel a library picks, in the order in which they appeared; x86 names, then Arm's.
EXTENSIONS = (
    *("sse4_2", "fma", "avx", "avx2", "avx_vnni", "avx_vnni_int8", "avx_ne_convert", "avx_ifma"),
    *("avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx10"),
    *("amx_tile", "amx_int8", "amx_bf16", "amx_fp16", "amx_complex"),
    *("asimd", "asimdhp", "asimddp", "fphp", "bf16", "i8mm", "sve", "sve2", "svebf16", "svei8mm", "sme", "sme2"),
)

Facts = dict[str, str | int | float | bool]

_SUFFIXES = {"K": 2**10, "M": 2**20, "G": 2**30}


def fingerprint() -> dict[str, Any]:
    """System, processor, cores and interpreter of this machine."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


# ---- files of the kernel


def read_text(file: Path) -> str | None:
    """A file without the white space around it; None where it does not exist or may not be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def read_int(file: Path) -> int | None:
    """A file that holds one whole number; None for anything else."""
    found = read_text(file)
    try:
        return None if found is None else int(found)
    except ValueError:
        return None


def cpu_numbers(ranges: str) -> tuple[int, ...]:
    """`0-3,8` is 0 1 2 3 8, as the kernel lists CPUs."""
    found: list[int] = []
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return tuple(found)


def cpu_folder(root: Path, number: int) -> Path:
    """The folder of one CPU."""
    return root / f"sys/devices/system/cpu/cpu{number}"


def online_cpus(root: Path) -> tuple[int, ...]:
    """CPUs that are switched on."""
    return cpu_numbers(read_text(root / "sys/devices/system/cpu/online") or "")


# ---- the processor


def cpu_name(root: Path = ROOT) -> str:
    """The processor as its vendor names it; `unknown` where the system does not tell."""
    listed = read_text(root / "proc/cpuinfo")
    if listed is None:
        return platform.processor() or "unknown"
    names = (line.partition(":")[2].strip() for line in listed.splitlines() if line.startswith("model name"))
    return next(names, "unknown")


def device(root: Path = ROOT) -> str:
    """`AMD EPYC, family 26 model 2 stepping 1`: the name that the system shows, and the silicon behind it."""
    listed = _first_processor(root)
    name = cpu_name(root)
    if "cpu family" in listed:
        return f"{name}, family {listed['cpu family']} model {listed.get('model')} stepping {listed.get('stepping')}"
    if "CPU part" in listed:
        part = f"implementer {listed.get('CPU implementer')} part {listed['CPU part']}"
        return f"{name}, {part} variant {listed.get('CPU variant')} revision {listed.get('CPU revision')}"
    return name


def facts(root: Path = ROOT) -> Facts:
    """What of the processor can change a figure and stays from run to run."""
    listed = _first_processor(root)
    found: dict[str, str | int | float | bool | None] = {
        "vendor": listed.get("vendor_id") or listed.get("CPU implementer"),
        "microcode": listed.get("microcode"),
        "extensions": " ".join(extensions(root)),
        "virtual": is_virtual(root),
        "governor": read_text(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "boost": read_text(root / "sys/devices/system/cpu/cpufreq/boost"),
        **topology(root),
        **{f"cache {name}": size for name, size in caches(root).items()},
    }
    return {name: value for name, value in found.items() if value is not None and value != ""}


def extensions(root: Path = ROOT) -> tuple[str, ...]:
    """Vector extensions that the system offers to programs."""
    listed = _first_processor(root)
    offered = set((listed.get("flags") or listed.get("Features") or "").split())
    return tuple(name for name in EXTENSIONS if name in offered)


def is_virtual(root: Path = ROOT) -> bool | None:
    """Whether a hypervisor runs below; None where the processor does not tell."""
    flags = _first_processor(root).get("flags")
    if flags is not None:
        return "hypervisor" in flags.split()
    return True if read_text(root / "sys/hypervisor/type") else None


def topology(root: Path = ROOT) -> dict[str, int]:
    """Sockets, cores and threads that are switched on."""
    online = online_cpus(root)
    places = [cpu_folder(root, thread) / "topology" for thread in online]
    sockets = {read_int(place / "physical_package_id") for place in places} - {None}
    cores = {(read_int(place / "physical_package_id"), read_text(place / "thread_siblings_list")) for place in places}
    counts = {"sockets": len(sockets), "cores": len(cores), "threads": len(online)}
    return {name: count for name, count in counts.items() if count}


def caches(root: Path = ROOT) -> dict[str, str]:
    """`L1d: 48 KiB`, `L3: 32768 KiB, CPUs 0-1`: of the first CPU, with the CPUs that share them."""
    found = {}
    for folder in sorted((cpu_folder(root, 0) / "cache").glob("index*")):
        size, kind = read_text(folder / "size"), read_text(folder / "type") or ""
        shared = read_text(folder / "shared_cpu_list") or ""
        if size and size.endswith("K"):
            name = f"L{read_text(folder / 'level')}{ {'Data': 'd', 'Instruction': 'i'}.get(kind, '') }"
            found[name] = f"{size[:-1]} KiB" + (f", CPUs {shared}" if len(cpu_numbers(shared)) > 1 else "")
    return found


def last_level_bytes(root: Path = ROOT) -> int | Unavailable:
    """All caches of the highest level together, as the system names them. [B]

    A virtual machine may see less, or more, than its share of the host's.
    """
    found = [*_data_caches(root)]
    if not found:
        return Unavailable(reason=f"{root / 'sys/devices/system/cpu'} names no cache")
    highest = max(level for level, _, _ in found)
    shared = {sharing: size for level, sharing, size in found if level == highest}
    return sum(shared.values())


def _data_caches(root: Path) -> Iterator[tuple[int, str, int]]:
    """(level, CPUs that share it, size [B]) of every data cache of every CPU."""
    for folder in sorted((root / "sys/devices/system/cpu").glob("cpu[0-9]*/cache/index[0-9]*")):
        kind, level, sharing, size = (read_text(folder / name) for name in ("type", "level", "shared_cpu_list", "size"))
        if kind and kind != "Instruction" and sharing and level and level.isdecimal() and size and _bytes(size):
            yield int(level), sharing, _bytes(size)


def _bytes(size: str) -> int:
    """`32768K` in bytes; 0 for what does not name a size."""
    number = size[:-1] if size[-1] in _SUFFIXES else size
    return int(number) * _SUFFIXES.get(size[-1], 1) if number.isdecimal() else 0


def _first_processor(root: Path) -> Mapping[str, str]:
    block = (read_text(root / "proc/cpuinfo") or "").partition("\n\n")[0]
    pairs = (line.partition(":") for line in block.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


# ---- libraries: versions, the BLAS of each, and the environment variables that steer them

#: Variables that change which kernel runs, or on how many threads.
PREFIXES = (
    *("OMP_", "KMP_", "GOMP_", "MKL_", "OPENBLAS_", "BLIS_", "VECLIB_"),
    *("DNNL_", "ONEDNN_", "ATEN_", "NVIDIA_TF32_"),
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


def numpy_blas() -> dict[str, str]:
    """Name and version of the BLAS that NumPy was built with, as far as NumPy says."""
    built: Any = np.show_config(mode="dicts")
    return dict(built.get("Build Dependencies", {}).get("blas", {}))


def _numpy() -> Iterator[tuple[str, str]]:
    built = numpy_blas()
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
