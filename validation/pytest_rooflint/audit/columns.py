"""Columns of a table: their meaning, from the name or from `--map`."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from pytest_rooflint.audit.spelling import (
    BITS_PER_SECOND,
    PRECISION_WORDS,
    UNIT_WORDS,
    devices_said,
    is_of_other_unit,
    is_per_second,
    is_quotient,
    unit_spelt,
    words_of,
)
from rooflint.base.errors import RooflintError
from rooflint.base.units import UnitError, parse_unit
from rooflint.diagnosis.figures import QUANTITIES, RATE, TRAINING

ROLES = ("device", "number", "precision", "sparsity", "unit", "ignore", *QUANTITIES, *TRAINING)

_DEVICE = {"device", "gpu", "name", "chip", "model", "accelerator", "hardware", "sku", "product", "card", "processor"}
OTHERWISE = "otherwise"
"""Name of what code has for all precisions but those that it asks for."""
_SPELT_OUT = frozenset({"id", "display", "full", "short", "marketing", "official", "type", "kind"})
"""Words beside that of a device in the name of a column: `display_name`, `gpu id`."""
_SEVERAL = frozenset({"gpus", "tpus", "npus", "accelerators", "devices", "cards", "chips"})
_NUMBERED = frozenset({"num", "number", "no", "nr", "n", "of", "count", "qty", "quantity"})
"""Words of a column that gives the number of devices: `Num GPUs`, `number of devices`, `gpus`."""
_COUNTED = {
    **dict.fromkeys(("cuda cores", "fp32 cores", "shading units", "shaders"), "cuda_core"),
    "stream processors": "stream_processor",
    "tensor cores": "tensor_core",
    "matrix cores": "matrix_core",
    **dict.fromkeys(("streaming multiprocessors", "multiprocessors", "sms", "sm"), "SM"),
    **dict.fromkeys(("compute units", "cus", "cu"), "CU"),
}
_BANDWIDTHS = frozenset({"GB/s", "TB/s", "MB/s", "GiB/s", "TiB/s", "Gbit/s", "Tbit/s", "B/s"})
_CAPACITIES = frozenset({"GB", "GiB", "TB"})
_RATES = frozenset({"TFLOP/s", "GFLOP/s", "PFLOP/s", "TOP/s", "GOP/s", "POP/s", "FLOP/s"})
_CACHES = frozenset(
    {"l1", "l2", "l3", "llc", "slc", "cache", "caches", "sram", "scratchpad"}
    | {"smem", "lds", "shared", "register", "registers"}
)
_LINKS = frozenset(
    {"nvlink", "pcie", "interconnect", "network", "networking", "net", "nic", "link", "ici", "fabric"}
    | {"infiniband", "ethernet", "ib", "egress", "ingress", "duplex", "bidirectional", "bidir"}
)
_LINK_WORDS = frozenset({"nvlink", "xgmi", "interconnect"})
_OTHER_LINKS = frozenset({"links", "lanes", "count", "pcie", "host", "network", "node", "internode"})
"""Words of numbers of links, and of links that are not between devices."""
_PEER = re.compile(r"(?<![a-z])gpu[ _-]*(?:to|2|<->|↔)?[ _-]*gpu(?![a-z])", re.IGNORECASE)
"""What is between devices: `GPU-GPU`, `gpu_to_gpu`."""
_SPEEDS = frozenset({"speed", "pin"})
"""Words of the rate of one pin of a memory: `Memory speed (Gbps)`."""
_MEMORY = frozenset({"memory", "mem", "vram", "dram", "hbm", "hbm2", "hbm2e", "hbm3", "hbm3e", "gddr6", "gddr6x"})
_ONE_WAY = frozenset({"unidirectional", "uni", "unidir", "oneway", "direction", "way"})
_PER = frozenset({"per", "efficiency", "w"})
_CAPABILITY = frozenset({"capability", "capabilities", "cap", "cc"})
"""Words of a version of what a device can do: `compute_cap`."""
_OPS = frozenset({"flop", "flops", "op", "ops", "mac", "macs", "fma"})
_OF_COMPUTE = frozenset(
    {"compute", "performance", "perf", "throughput", "rate", "speed", "power", "capacity", "ai", "dense", "sparse"}
)
"""Words beside `compute` in the name of a peak; beside others it is a time or a share: `t_compute_cycles`."""
_VECTOR = frozenset({"vector", "simd", "shader", "valu"})
_MATRIX = frozenset({"tensor", "matrix", "tc", "mma", "wmma", "mfma"})
_MEASURED = frozenset(
    {
        *("achieved", "measured", "actual", "mfu", "efficiency", "utilization", "utilisation", "util", "ratio"),
        *("factor", "speedup", "seconds", "ms", "us", "latency", "time", "throughput", "weights", "weight", "loss"),
        *("stream", "sustained", "effective", "observed", "empirical", "practical", "realistic", "attained"),
        *("idle", "avg", "average", "mean", "bench", "benchmark", "tokens", "score", "overhead"),
        *("flash", "attention", "attn", "flashattention", "flashattn", "fa1", "fa2", "fa3", "fa4", "sdpa"),
        *("gemm", "sgemm", "hgemm", "dgemm", "blas", "cublas", "cutlass", "triton", "hpl", "linpack", "mlperf"),
        *("tps", "tok", "exponent", "multiplier", "fraction", "achievable"),
        *("elbow", "knee", "expert", "ridge", "balance", "intensity"),
    }
)
"""Words of what is measured or of a share: figures that specs do not have."""
_DIMENSIONS = frozenset(
    {"size", "width", "height", "depth", "length", "count", "num", "number", "registers", "register", "lanes"}
    | {"grid", "block", "blocks", "tile", "batch", "threads", "warps"}
)
"""Words of how units are built and programs are cut, beside names of precisions as well: `fp16.vector_width`."""
_GENERIC = frozenset(
    {"value", "size", "peak", "max", "theoretical", "amount", "total", "spec", "nominal", "rated", "default"}
    | {"base", "boost", "turbo", "hbm", "vram", "device", "gpu"}
)
"""Words of a field that leaves to its record what it is: `memory.size`, `clock.boost`."""
_NESTED = re.compile(r"(?<=[A-Za-z0-9_)])\.(?=[A-Za-z_])")
_DESCRIBED = frozenset(
    {"generation", "gen", "version", "ver", "revision", "type", "vendor", "manufacturer", "support", "supported"}
)
"""Words of what describes a device without a figure: `tensor_cores_generation`, `memory_type`."""
_PARTS = frozenset(
    {part for one in ("controller", "slice", "stack", "channel", "bank", "partition") for part in (one, f"{one}s")}
)
"""Words of parts whose number specs do not have: `Memory controllers`, `L2 slices`."""
_OF_ONE = frozenset(
    {"warps", "threads", "blocks", "regs", "reg", "registers", "smem", "shmem", "shared", "l1", "size", "lanes"}
)
"""Words of what one multiprocessor holds: `max_warps_sm`, `reg_size_sm`."""
_UNRATED = frozenset({"salu", "scalar", "sfu", "rt", "raytracing", "texture", "texel", "pixel"})
"""Words of units whose rates specs do not have: `peak_salu_gops`, `RT Core TFLOPS`."""
_HOST = frozenset({"host", "system", "sys", "cpu", "storage", "nvme", "ssd", "disk"})
"""Words of the machine around a device: its memory is not the device's."""
_RUNNING = frozenset(
    {"train", "training", "inference", "load", "sleep", "min", "minimum", "supply", "psu", "recommended"}
)
"""Words of a power that is not the one that a device is rated at."""
_LEFT = frozenset(
    {"usable", "free", "available", "reserved", "used", "required", "requirement", "needed", "recommended"}
    | {"min", "minimum", "context", "ctx", "kv"}
)
"""Words of a part of the memory, or of what a program wants of it."""
_WHOLE = frozenset({"gpu", "device", "chip", "accelerator", "card", "board"})
"""Words of what a spec is about: a figure per GPU is one of the GPU."""
INSTANCES = frozenset({"instance", "vcpu", "vcpus", "cpus", "vm", "flavor", "flavour"})
"""Words of what a cloud rents: the memory beside them is that of the machine."""
_PER_PART = re.compile(r"/\s*(sms?|gpcs?|tpcs?|cus?|cores?|nodes?|servers?|racks?)\b", re.IGNORECASE)
_SIZE = re.compile(r"(?<![A-Za-z0-9.])\d+[ _-]?[GT]i?B(?![A-Za-z0-9/])", re.IGNORECASE)
"""A size that tells devices apart, and is no unit of the column: `H100 96GB`."""
_REPEATED = re.compile(r" \(column \d+\)$")


@dataclass(frozen=True, slots=True)
class _Rule:
    """A role, the words and units that indicate it, and the words that rule it out."""

    role: str
    words: frozenset[str]
    units: frozenset[str]
    spoilt: Set[str]


#: The first rule that fits decides.
_RULES = (
    _Rule(
        "clock",
        frozenset({"clock", "freq", "frequency"}),
        frozenset({"MHz", "GHz", "Hz"}),
        {"memory", "mem"} | _PER | _HOST,
    ),
    _Rule("link", frozenset({"nvlink", "xgmi"}), frozenset(), _ONE_WAY | {"links", "lanes"}),
    _Rule("bandwidth", frozenset({"bw", "bandwidth", "bandwith"}), _BANDWIDTHS, _CACHES | _LINKS | _HOST | _SPEEDS),
    _Rule("bus", frozenset({"bus", "interface"}), frozenset({"bit"}), _LINKS),
    _Rule(
        "tdp",
        frozenset({"tdp", "tgp", "tbp", "power", "watt", "watts"}),
        frozenset({"W", "kW"}),
        _PER - {"w"} | _HOST | _RUNNING | {"cooling"},
    ),
    _Rule(
        "capacity",
        frozenset({"vram", "memory", "mem", "capacity", "hbm", "dram"}),
        _CAPACITIES,
        _CACHES | _HOST | _LEFT | _LINKS | _SPEEDS | {"clock", "type", "compute", "bw", "bandwidth"},
    ),
    _Rule("peak", frozenset({"peak", "peaks", "flops", "compute"}), _RATES, _PER | _HOST | _DIMENSIONS | _CAPABILITY),
)


SAID = frozenset(word for rule in _RULES for word in rule.words if len(word) > 2) - {"dram"}
"""Words of names that say what a figure is."""

Commas = Literal["thousands", "decimal", "unclear"]


class ColumnError(RooflintError):
    """An invalid `--map`; the message says what would be valid."""


@dataclass(frozen=True, slots=True)
class Column:
    """The meaning of a column."""

    name: str
    role: str
    """One of ROLES."""
    precision: str | None = None
    either: str | None = None
    """A second precision of the same column: `FP16/BF16`."""
    subject: str | None = None
    vector: bool | None = None
    beside: tuple[str, ...] = ()
    """Columns of tensor cores in the same precision; in a row that has one of them, this one is of vector lanes.

    Of a column of precisions, those that some of its rows give of tensor cores. Of a plain bandwidth, columns that
    say that they are of memory: it is of something else, such as links. Of a plain memory, columns that name instances.
    """
    sparse: bool | None = None
    presumed: tuple[str, ...] = ()
    """Precisions of a peak where neither the name nor the row gives one."""
    commas: Commas = "thousands"
    """What a comma before three digits means in the table."""
    unit: str | None = None
    """As `rooflint.base.units` spells it; None where the name gives no unit."""
    times: int = 1
    """How many devices its figures are of."""


def columns(names: Iterable[str], mapping: Mapping[str, str], counted: Set[str] = frozenset()) -> dict[str, Column]:
    """Columns by name, as mapped or guessed; unknown and ignored ones are left out.

    `counted` are the units, groups and clocks that a mapping may name. Raises ColumnError for a mapping of a column
    that the table does not have, and for an invalid one.
    """
    known = list(dict.fromkeys(names))
    spelt = {name.casefold(): name for name in known}
    roles = {spelt.get(name.casefold(), name): text for name, text in mapping.items()}
    for name in roles:
        if name not in known:
            raise ColumnError(f"--map {name}: the table has no such column (has: {', '.join(known)})")
    found = {name: mapped(name, roles[name], counted) if name in roles else guessed(name) for name in known}
    found |= {column.name: column for column in _beside(found.values())}
    machines = tuple(name for name in known if (INSTANCES | _HOST) & set(words_of(name)))
    for name, column in found.items():
        if machines and column and column.role == "capacity" and name not in roles and not is_of_device(name):
            found[name] = replace(column, beside=machines)
    return {name: column for name, column in found.items() if column and column.role != "ignore"}


def is_of_device(name: str) -> bool:
    """Whether the name of a capacity says that it is a device's: `vram_gb`, `gpu_memory`."""
    return bool((_WHOLE | _MEMORY - {"memory", "mem"}) & set(words_of(name)))


def _beside(found: Iterable[Column | None]) -> Iterator[Column]:
    """Plain peaks that the table has beside those of tensor cores, and plain bandwidths beside those of memory."""
    found = list(found)
    rates = [column for column in found if column and column.role == "bandwidth"]
    of_memory = tuple(column.name for column in rates if _MEMORY & set(words_of(column.name)))
    if of_memory:
        yield from (replace(one, beside=of_memory) for one in rates if one.name not in of_memory)
    peaks = [column for column in found if column and column.role == "peak"]
    for one in peaks:
        tensor = (other.name for other in peaks if other.vector is False and other.precision == one.precision)
        if one.vector is None and (beside := tuple(tensor)):
            yield replace(one, beside=beside)


def mapped(name: str, text: str, counted: Set[str] = frozenset()) -> Column:
    """Parse a mapping such as `peak bf16 sparse TFLOP/s`. Raises ColumnError."""
    role, *words = text.split() or [""]
    if role not in ROLES:
        raise ColumnError(f"--map {name}={text}: want one of {', '.join(ROLES)}, found '{role}'")
    column = Column(name, role)
    for word in words:
        column = _said(column, word, text, counted)
    return column


def _said(column: Column, word: str, text: str, counted: Set[str]) -> Column:
    if (precision := PRECISION_WORDS.get(re.sub(r"[^a-z0-9_]", "", word.lower()))) is not None:
        return replace(column, precision=precision)
    if word in ("sparse", "dense"):
        return replace(column, sparse=word == "sparse")
    if word in ("vector", "matrix"):
        return replace(column, vector=word == "vector")
    if column.role in ("count", "clock", "rate", "peak") and word in counted:
        return replace(column, subject=word)
    unit = unit_spelt(word) or word
    try:
        parse_unit(unit)
    except UnitError:
        wish = "a precision or a unit such as bf16 or TFLOP/s"
        wish = "a group or unit that specs have, such as SM or cuda_core" if column.role == "count" else wish
        raise ColumnError(f"--map {column.name}={text}: want {wish}, found '{word}'") from None
    if parse_unit(unit)[1] != {**QUANTITIES, RATE: QUANTITIES["peak"]}.get(column.role):
        raise ColumnError(f"--map {column.name}={text}: '{word}' is not a unit of a {column.role}")
    return replace(column, unit=unit)


def guessed(name: str) -> Column | None:
    """The meaning of a column by its name alone; None where it is unknown."""
    plain = _PEER.sub(" interconnect ", _SIZE.sub(" ", name))
    words = [word for part in _NESTED.split(plain) for word in _of_values(words_of(part))]
    title = " ".join(words)
    unit = _unit(plain, words) or next((UNIT_WORDS.get(word) for word in words[-1:] if words != words_of(plain)), None)
    counted = {"stream"} if "stream processors" in title else set()  # not the benchmark
    is_elsewhere = (_MEASURED | _DESCRIBED | _PARTS | _UNRATED) & set(words) - counted or _PER_PART.search(name)
    if (is_elsewhere and not _names_devices(words)) or _is_ratio(name, words) or any(map(is_of_other_unit, words)):
        return None
    if re.search(r"/\s*(w|watts?|\$|usd)\b", name.lower()) or ("per" in words and not {"clk", "cycle"} & set(words)):
        return None  # an efficiency or a price
    repeated = _REPEATED.search(name)
    if about_row := _about_row(words_of(name[: repeated.start()]) if repeated else words, unit):
        return Column(name, about_row)
    role = _role(words, title, unit) if _is_said_by_itself(name) else None
    if role is None or repeated or ("per" in words and role != "rate"):  # it may be of any of several columns
        return None
    is_generation = role == "link" and not (unit or {"bw", "bandwidth"} & set(words))  # NVLink 4
    is_of_host = role == "capacity" and "ram" in words and not is_of_device(name)  # as often as of the device
    if is_generation or is_of_host:
        return None
    if role == "capacity" and unit and is_per_second(name):  # hbm_bytes_per_s
        role, unit = "bandwidth", f"{unit}/s"
    if own := _said_below(name, role):  # the memory in `bandwidth.vram_gb`
        role, unit = own.role, own.unit
    unit = f"{unit}/s" if role == "bandwidth" and unit in _CAPACITIES else unit  # memory_bandwidth_tb
    precision = None if role == "count" else _precision(words)  # FP32 cores
    column = Column(name, role, precision, subject=_subject(role, title), unit=unit, times=devices_said(name))
    column = replace(column, vector=_vector(words), sparse=_sparse(words), either=_either(name, column.precision))
    if (column.precision, column.vector) == ("fp32", False):  # of units without FP32, it is what they round FP32 to
        column = replace(column, either="tf32")
    return column if role != "count" or column.subject else None


def _is_said_by_itself(name: str) -> bool:
    """Whether a nested name ends in what the figure is; `compute.core.width` is no peak for being below `compute`."""
    *around, own = _NESTED.split(name)
    leaves_it_open = set(words_of(own)) - set(UNIT_WORDS) <= _GENERIC or is_mere_precision(own)
    return not around or leaves_it_open or guessed(own) is not None


def _said_below(name: str, role: str) -> Column | None:
    """What the last part of a nested name says by its words, where that is another quantity than the whole says."""
    own = _NESTED.split(name)[-1]
    known = guessed(own) if own != name else None
    is_said = known and any(set(words_of(own)) & rule.words for rule in _RULES if rule.role == known.role)
    return known if known and is_said and role not in (known.role, "rate") else None


def is_about_links(name: str) -> bool:
    """Whether a name is about what connects devices, or about caches: a bandwidth below it is not the memory's."""
    return bool((_LINKS | _CACHES) & set(words_of(name)))


def is_of_links(name: str) -> bool:
    """Whether a name may be of bandwidths of links where its cells are: `NVLink`, `Interconnect`, `GPU-GPU`."""
    words = set(words_of(_PEER.sub(" interconnect ", name)))
    return bool(words & _LINK_WORDS) and not words & (_ONE_WAY | _DESCRIBED | _MEASURED | _OTHER_LINKS)


def bandwidth_unit(name: str) -> str | None:
    """The unit of a bandwidth that a name says: `Interconnect (GB/s)`."""
    unit = _unit(name, words_of(name))
    return unit if unit in _BANDWIDTHS else None


def says_which_links(name: str) -> bool:
    """Whether a name says whose links it is of: NVLink, xGMI."""
    return bool((_LINK_WORDS - {"interconnect"}) & set(words_of(name)))


def is_total(name: str) -> bool:
    """Whether a column may hold what several devices have together: `total_vram_gb`."""
    return bool({"total", "aggregate", "aggregated", "combined", "cluster", "node"} & set(words_of(name)))


def _of_values(words: list[str]) -> list[str]:
    """The words that say what the values are: `memory gb` of `gpu type to memory gb`, `peak` of `peak by sm`."""
    if "by" in words[1:-1]:
        words = words[: words.index("by", 1)]
    if "to" in words[1:-1]:
        words = words[words.index("to", 1) + 1 :]
    ends = [place for place in range(len(words) - 1) if words[place] == "per" and words[place + 1] in _WHOLE]
    return words[: ends[0]] + words[ends[0] + 2 :] if ends else words


def _is_ratio(name: str, words: list[str]) -> bool:
    """Whether a name has two quantities, as a quotient or one of them a bandwidth: `MemSize MemBW`, `Compute MemBW`."""
    if is_quotient(name):
        return True
    bandwidths = sum(word in ("bw", "bandwidth") for word in words)
    return bandwidths > 1 or bool(bandwidths and {"compute", "flops", "size"} & set(words))


def is_device_word(name: str) -> bool:
    """Whether a name is one under which records give their device: `gpu`, `device_name`."""
    return _about_row(words_of(name), None) == "device"


def is_mere_precision(name: str) -> bool:
    """Whether a name says a precision, lanes or sparsity and not what the figure is: `bf16`, `amp_bf16`, `dense`."""
    words = set(words_of(name))
    if words == {OTHERWISE}:
        return True
    said = {word for word in words if word in PRECISION_WORDS} | words & (
        _VECTOR | _MATRIX | {"cuda", "sparse", "dense"}
    )
    return bool(said) and words - said <= {"amp", "torch", "sparsity", "with", "without", "core", "cores", "dtype"}


def _about_row(words: list[str], unit: str | None) -> str | None:
    """The role of a column that says something about its row: device, their number, precision, unit or sparsity."""
    if _names_devices(words):
        return "device"
    if _is_number(set(words)) and not unit:
        return "number"
    if words and words[-1] in ("precision", "dtype", "datatype", "format"):
        return "precision"
    if words == ["unit"]:
        return "unit"
    if (
        {"sparsity", "sparse"} & set(words)
        and not unit
        and not _precision(words)
        and not {"peak", "peaks"} & set(words)
    ):
        return "sparsity"
    return None


def _names_devices(words: Sequence[str]) -> bool:
    """Whether a column holds the names of devices: `GPU`, `display_name`, `GPU Type`."""
    return 0 < len(words) <= 3 and set(words) <= _DEVICE | _SPELT_OUT and bool(set(words) & _DEVICE)


def _is_number(words: Set[str]) -> bool:
    """Whether a column gives the number of devices of its row: `Num GPUs`, `device_count`, `gpus`."""
    several = _SEVERAL & words or (_WHOLE & words and {"count", "num", "qty", "quantity"} & words)
    return bool(several) and words <= _SEVERAL | _WHOLE | _NUMBERED


def _role(words: list[str], title: str, unit: str | None) -> str | None:
    has = set(words)
    if has & {"clk", "cycle"} and has & _OPS:
        return "rate"
    if any(f" {counted} " in f" {title} " for counted in _COUNTED) and not unit:
        is_of_rate = _precision(words) and _MATRIX & has  # FP16 Tensor Cores: how many, or how fast
        return None if (_OF_ONE | _CACHES) & has or is_of_rate else "count"
    if "cores" in has and _precision(words) and not (unit or (_VECTOR | _MATRIX | {"cuda"}) & has):  # INT32 cores
        return None
    if not unit and has == {"compute", "capacity"}:  # a compute capability
        return None
    for rule in _RULES:
        if (rule.words & has or unit in rule.units) and not rule.spoilt & has:
            said = rule.words & has == {"compute"} and not unit and not _precision(words)
            return None if said and not has <= _OF_COMPUTE | _GENERIC | _WHOLE | _MATRIX | _VECTOR else rule.role
    return "peak" if _precision(words) and not (_DIMENSIONS | _HOST) & has else None


def _subject(role: str, title: str) -> str | None:
    if role == "count":
        return next((unit for words, unit in _COUNTED.items() if f" {words} " in f" {title} "), None)
    if role == "clock":
        said = {"base": "base", "boost": "boost", "max": "boost", "turbo": "boost"}
        return next((clock for word, clock in said.items() if word in title.split()), None)
    return None


def said_precision(text: str) -> tuple[str | None, bool | None, bool | None]:
    """Parse `fp16_vector` into precision, whether of vector lanes, whether sparse; None for what is missing."""
    words = words_of(text)
    return _precision(words), _vector(words), _sparse(words)


def is_one_precision(text: str) -> bool:
    """Whether a text is a precision and nothing else: `FP16`, unlike `FP16 Tensor` and `FP16/FP32`."""
    return re.sub(r"[^a-z0-9]", "", text.lower()) in PRECISION_WORDS


def said_sparsity(text: str) -> bool | None:
    """Whether a cell states structured sparsity for its row; None where it states neither."""
    first = words_of(text)[:1]
    if first in (["sparse"], ["with"], ["true"], ["yes"]):
        return True
    return False if first in (["dense"], ["without"], ["false"], ["no"]) else None


def _precision(words: list[str]) -> str | None:
    return next((PRECISION_WORDS[word] for word in words if word in PRECISION_WORDS), None)


def _either(name: str, precision: str | None) -> str | None:
    """The second of two precisions: `FP16/BF16`, `BF/FP16`, `INT/FP4`."""
    pair = re.search(r"([a-z]+)(\d*)\s*/\s*([a-z]+)(\d+)", name.lower())
    both = [f"{pair[1]}{pair[2] or pair[4]}", f"{pair[3]}{pair[4]}"] if pair else []
    named = [PRECISION_WORDS[word] for word in both if word in PRECISION_WORDS]
    return next((other for other in named if other != precision), None) if len(named) > 1 else None


def _vector(words: list[str]) -> bool | None:
    if _VECTOR & set(words) or ("cuda" in words and "cuda flops" not in " ".join(words)):
        return True
    return False if _MATRIX & set(words) else None


def _sparse(words: list[str]) -> bool | None:
    if {"sparse", "sparsity"} & set(words):
        return not {"without", "no", "non"} & set(words)
    return False if "dense" in words else None


def _unit(name: str, words: list[str]) -> str | None:
    if bits := BITS_PER_SECOND.search(name):
        return unit_spelt(bits[0])
    bracket = re.search(r"[(\[]\s*([A-Za-z/]+)\s*[)\]]", name)
    for text in ([bracket[1].lower()] if bracket else []) + [re.sub(r"_s$", "/s", name.lower()).split("_")[-1]]:
        if text in UNIT_WORDS:
            return UNIT_WORDS[text]
    pairs = [f"{one}/{two}" for one, two in pairwise(words)]
    return next((UNIT_WORDS[word] for word in (*pairs, *words[1:]) if word in UNIT_WORDS), None)
