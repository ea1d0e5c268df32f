"""Columns of a table: their meaning, from the name or from `--map`."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from pytest_rooflint.audit.column_words import (
    BANDWIDTHS,
    CACHES,
    CAPACITIES,
    COUNTED,
    DESCRIBED,
    DEVICE,
    DIMENSIONS,
    GENERIC,
    HOST,
    INSTANCES,
    LEVELS,
    LINK_WORDS,
    LINKS,
    MATRIX,
    MAY_BE_CACHE,
    MAY_BE_CLOCK,
    MEASURED,
    MEMORY,
    NESTED,
    NUMBERED,
    OF_CLOCK,
    OF_COMPUTE,
    OF_ONE,
    ONE_WAY,
    OPS,
    OTHER_LINKS,
    OTHERWISE,
    PARTS,
    PEER,
    PER_PART,
    REPEATED,
    RULES,
    SEVERAL,
    SIZE,
    SPELT_OUT,
    UNRATED,
    VECTOR,
    WHOLE,
)
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
    machines = tuple(name for name in known if (INSTANCES | HOST) & set(words_of(name)))
    for name, column in found.items():
        if machines and column and column.role == "capacity" and name not in roles and not is_of_device(name):
            found[name] = replace(column, beside=machines)
    return {name: column for name, column in found.items() if column and column.role != "ignore"}


def is_of_device(name: str) -> bool:
    """Whether the name of a capacity says that it is a device's: `vram_gb`, `gpu_memory`."""
    return bool((WHOLE | MEMORY - {"memory", "mem"}) & set(words_of(name)))


def _beside(found: Iterable[Column | None]) -> Iterator[Column]:
    """Plain peaks that the table has beside those of tensor cores, and plain bandwidths beside those of memory."""
    found = list(found)
    rates = [column for column in found if column and column.role == "bandwidth"]
    of_memory = tuple(column.name for column in rates if MEMORY & set(words_of(column.name)))
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
    return _of_memory_clock(name) or _of_cache(name) or _of_device(name)


def _of_device(name: str) -> Column | None:
    plain = PEER.sub(" interconnect ", SIZE.sub(" ", name))
    words = [word for part in NESTED.split(plain) for word in _of_values(words_of(part))]
    title = " ".join(words)
    unit = _unit(plain, words) or next((UNIT_WORDS.get(word) for word in words[-1:] if words != words_of(plain)), None)
    counted = {"stream"} if "stream processors" in title else set()  # not the benchmark
    is_elsewhere = (MEASURED | DESCRIBED | PARTS | UNRATED) & set(words) - counted or PER_PART.search(name)
    if (is_elsewhere and not _names_devices(words)) or _is_ratio(name, words) or any(map(is_of_other_unit, words)):
        return None
    if re.search(r"/\s*(w|watts?|\$|usd)\b", name.lower()) or ("per" in words and not {"clk", "cycle"} & set(words)):
        return None  # an efficiency or a price
    repeated = REPEATED.search(name)
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
    unit = f"{unit}/s" if role == "bandwidth" and unit in CAPACITIES else unit  # memory_bandwidth_tb
    precision = None if role == "count" else _precision(words)  # FP32 cores
    column = Column(name, role, precision, subject=_subject(role, title), unit=unit, times=devices_said(name))
    column = replace(column, vector=_vector(words), sparse=_sparse(words), either=_either(name, column.precision))
    if (column.precision, column.vector) == ("fp32", False):  # of units without FP32, it is what they round FP32 to
        column = replace(column, either="tf32")
    return column if role != "count" or column.subject else None


def _of_memory_clock(name: str) -> Column | None:
    """The column of a clock or data rate of the memory: `mem_clock_mhz`, `memory.speed_gbps`, `pin_rate`."""
    words, unit = set(words_of(name)), _unit(name, words_of(name))
    is_clock = OF_CLOCK & words or {"data", "rate"} <= words or {"pin", "rate"} <= words
    of_memory = words & (MEMORY | {"pin", "mclk", "memclk", "gddr5", "gddr7"})
    if not (is_clock and of_memory) or not words <= MAY_BE_CLOCK or REPEATED.search(name):
        return None
    if unit in BANDWIDTHS - {"GB/s", "Gbit/s"} or (unit == "GB/s" and "gbps" not in words):
        return None
    return Column(name, "memory_clock", unit="GHz" if unit in ("GB/s", "Gbit/s") else unit)


def _of_cache(name: str) -> Column | None:
    """The column of the size of one cache: `L2 Cache (MB)`, `l2_size_kb`, `cache.l2`."""
    own = name if set(words_of(name)) <= MAY_BE_CACHE else NESTED.split(name)[-1]
    words = words_of(own)
    levels = LEVELS.keys() & set(words)
    if len(levels) != 1 or not set(words) <= MAY_BE_CACHE or REPEATED.search(name):
        return None
    unit = {"mb": "MiB", "mib": "MiB", "kb": "KiB", "kib": "KiB", "bytes": "B"}.get(words[-1])
    return Column(name, "cache", subject=LEVELS[levels.pop()], unit=unit)


def _is_said_by_itself(name: str) -> bool:
    """Whether a nested name ends in what the figure is; `compute.core.width` is no peak for being below `compute`."""
    *around, own = NESTED.split(name)
    leaves_it_open = set(words_of(own)) - set(UNIT_WORDS) <= GENERIC or is_mere_precision(own)
    return not around or leaves_it_open or guessed(own) is not None


def _said_below(name: str, role: str) -> Column | None:
    """What the last part of a nested name says by its words, where that is another quantity than the whole says."""
    own = NESTED.split(name)[-1]
    known = guessed(own) if own != name else None
    is_said = known and any(set(words_of(own)) & rule.words for rule in RULES if rule.role == known.role)
    return known if known and is_said and role not in (known.role, "rate") else None


def is_about_links(name: str) -> bool:
    """Whether a name is about what connects devices, or about caches: a bandwidth below it is not the memory's."""
    return bool((LINKS | CACHES) & set(words_of(name)))


def is_of_links(name: str) -> bool:
    """Whether a name may be of bandwidths of links where its cells are: `NVLink`, `Interconnect`, `GPU-GPU`."""
    words = set(words_of(PEER.sub(" interconnect ", name)))
    return bool(words & LINK_WORDS) and not words & (ONE_WAY | DESCRIBED | MEASURED | OTHER_LINKS)


def bandwidth_unit(name: str) -> str | None:
    """The unit of a bandwidth that a name says, `Interconnect (GB/s)`; empty where it only says that it is one."""
    words = words_of(name)
    unit = _unit(name, words)
    return unit if unit in BANDWIDTHS else "" if {"bw", "bandwidth"} & set(words) else None


def says_which_links(name: str) -> bool:
    """Whether a name says whose links it is of: NVLink, xGMI."""
    return bool({"nvlink", "xgmi"} & set(words_of(name)))


def is_of_tpus(name: str) -> bool:
    """Whether a name says that it is of the links between TPUs, of which documents print one, all, and either way."""
    return "ici" in words_of(name)


def is_total(name: str) -> bool:
    """Whether a column may hold what several devices have together: `total_vram_gb`."""
    return bool({"total", "aggregate", "aggregated", "combined", "cluster", "node"} & set(words_of(name)))


def _of_values(words: list[str]) -> list[str]:
    """The words that say what the values are: `memory gb` of `gpu type to memory gb`, `peak` of `peak by sm`."""
    if "by" in words[1:-1]:
        words = words[: words.index("by", 1)]
    if "to" in words[1:-1]:
        words = words[words.index("to", 1) + 1 :]
    ends = [place for place in range(len(words) - 1) if words[place] == "per" and words[place + 1] in WHOLE]
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
    said = {word for word in words if word in PRECISION_WORDS} | words & (VECTOR | MATRIX | {"cuda", "sparse", "dense"})
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
    return 0 < len(words) <= 3 and set(words) <= DEVICE | SPELT_OUT and bool(set(words) & DEVICE)


def _is_number(words: Set[str]) -> bool:
    """Whether a column gives the number of devices of its row: `Num GPUs`, `device_count`, `gpus`."""
    several = SEVERAL & words or (WHOLE & words and {"count", "num", "qty", "quantity"} & words)
    return bool(several) and words <= SEVERAL | WHOLE | NUMBERED


def _role(words: list[str], title: str, unit: str | None) -> str | None:
    has = set(words)
    if has & {"clk", "cycle"} and has & OPS:
        return "rate"
    if any(f" {counted} " in f" {title} " for counted in COUNTED) and not unit:
        is_of_rate = _precision(words) and MATRIX & has  # FP16 Tensor Cores: how many, or how fast
        return None if (OF_ONE | CACHES) & has or is_of_rate else "count"
    if "cores" in has and _precision(words) and not (unit or (VECTOR | MATRIX | {"cuda"}) & has):  # INT32 cores
        return None
    if not unit and has == {"compute", "capacity"}:  # a compute capability
        return None
    for rule in RULES:
        if (rule.words & has or unit in rule.units) and not rule.spoilt & has:
            said = rule.words & has <= {"compute", "computing"} and not unit and not _precision(words)
            return None if said and not has <= OF_COMPUTE | GENERIC | WHOLE | MATRIX | VECTOR else rule.role
    return "peak" if _precision(words) and not (DIMENSIONS | HOST) & has else None


def _subject(role: str, title: str) -> str | None:
    if role == "count":
        return next((unit for words, unit in COUNTED.items() if f" {words} " in f" {title} "), None)
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
    if VECTOR & set(words) or ("cuda" in words and "cuda flops" not in " ".join(words)):
        return True
    return False if MATRIX & set(words) else None


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
