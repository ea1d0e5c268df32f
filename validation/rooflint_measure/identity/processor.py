"""The processor as it identifies itself: family, model, stepping, vector extensions, caches, topology."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from rooflint_measure.identity.machine import cpu_name
from rooflint_measure.identity.system_files import ROOT, cpu, number, numbers, text

#: Extensions that decide which kernel a library picks, in the order in which they appeared; x86 names, then Arm's.
EXTENSIONS = (
    *("sse4_2", "fma", "avx", "avx2", "avx_vnni", "avx_vnni_int8", "avx_ne_convert", "avx_ifma"),
    *("avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx10"),
    *("amx_tile", "amx_int8", "amx_bf16", "amx_fp16", "amx_complex"),
    *("asimd", "asimdhp", "asimddp", "fphp", "bf16", "i8mm", "sve", "sve2", "svebf16", "svei8mm", "sme", "sme2"),
)

Facts = dict[str, str | int | float | bool]


def device(root: Path = ROOT) -> str:
    """`AMD EPYC, family 26 model 2 stepping 1`: the name that the system shows, and which silicon answers to it."""
    said = _first_processor(root)
    name = cpu_name(root / "proc/cpuinfo")
    if "cpu family" in said:
        return f"{name}, family {said['cpu family']} model {said.get('model')} stepping {said.get('stepping')}"
    if "CPU part" in said:
        whose = f"implementer {said.get('CPU implementer')} part {said['CPU part']}"
        return f"{name}, {whose} variant {said.get('CPU variant')} revision {said.get('CPU revision')}"
    return name


def facts(root: Path = ROOT) -> Facts:
    """What of the processor can change a figure and stays from run to run."""
    said = _first_processor(root)
    found: dict[str, str | int | float | bool | None] = {
        "vendor": said.get("vendor_id") or said.get("CPU implementer"),
        "microcode": said.get("microcode"),
        "extensions": " ".join(extensions(root)),
        "virtual": virtual(root),
        "governor": text(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "boost": text(root / "sys/devices/system/cpu/cpufreq/boost"),
        **topology(root),
        **{f"cache {name}": size for name, size in caches(root).items()},
    }
    return {name: value for name, value in found.items() if value is not None and value != ""}


def extensions(root: Path = ROOT) -> tuple[str, ...]:
    """Vector extensions that the system offers to programs."""
    said = _first_processor(root)
    offered = set((said.get("flags") or said.get("Features") or "").split())
    return tuple(name for name in EXTENSIONS if name in offered)


def virtual(root: Path = ROOT) -> bool | None:
    """Whether a hypervisor stands below; None where the processor does not tell."""
    flags = _first_processor(root).get("flags")
    if flags is not None:
        return "hypervisor" in flags.split()
    return True if text(root / "sys/hypervisor/type") else None


def topology(root: Path = ROOT) -> dict[str, int]:
    """Sockets, cores and threads that are switched on."""
    online = numbers(text(root / "sys/devices/system/cpu/online") or "")
    places = [cpu(root, thread) / "topology" for thread in online]
    sockets = {number(place / "physical_package_id") for place in places} - {None}
    cores = {(number(place / "physical_package_id"), text(place / "thread_siblings_list")) for place in places}
    counts = {"sockets": len(sockets), "cores": len(cores), "threads": len(online)}
    return {name: count for name, count in counts.items() if count}


def caches(root: Path = ROOT) -> dict[str, str]:
    """`L1d: 48 KiB`, `L3: 32768 KiB, CPUs 0-1`: of the first CPU, with who shares them."""
    found = {}
    for folder in sorted((cpu(root, 0) / "cache").glob("index*")):
        size, kind = text(folder / "size"), text(folder / "type") or ""
        shared = text(folder / "shared_cpu_list") or ""
        if size and size.endswith("K"):
            name = f"L{text(folder / 'level')}{ {'Data': 'd', 'Instruction': 'i'}.get(kind, '') }"
            found[name] = f"{size[:-1]} KiB" + (f", CPUs {shared}" if len(numbers(shared)) > 1 else "")
    return found


def _first_processor(root: Path) -> Mapping[str, str]:
    return dict(_entries((text(root / "proc/cpuinfo") or "").partition("\n\n")[0]))


def _entries(block: str) -> Iterator[tuple[str, str]]:
    for line in block.splitlines():
        key, _, value = line.partition(":")
        yield key.strip(), value.strip()
