"""Rows: measured times of one op on one device, as the tables of the package of measurements have them.

Frameworks call the same libraries and differ in how they measure, so the best time of a shape is that of the device.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint.base.errors import RooflintError
from rooflint.kernels.attention import Sequences
from rooflint.kernels.chip import Chip
from rooflint.kernels.products import Scale
from rooflint.kernels.shapes import Numbers
from rooflint_calibration.package import SUPERSEDED, folder_of

Mask = NDArray[np.bool_]

COPIES = "copies"
"""The column with the sets of weights in rotation; not part of the shape."""

_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True)
class Rows:
    """One op on one device."""

    device: str
    columns: tuple[str, ...]
    """Names of the sizes: m, n, k, …"""
    sizes: Numbers
    """Shape (rows, columns)."""
    seconds: Numbers
    """Best of the frameworks. [s]"""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rows of tables that were left out, by reason."""

    def __getitem__(self, column: str) -> Numbers:
        """One size of all rows. Shape (rows,)"""
        return np.asarray(self.sizes[:, self.columns.index(column)])

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def named(self) -> dict[str, Numbers]:
        """Sizes by column."""
        return {column: self[column] for column in self.columns}

    def only(self, which: NDArray[Any]) -> "Rows":
        """Some of the rows, by position or by a mask."""
        return replace(self, sizes=self.sizes[which], seconds=self.seconds[which])

    def picked(self, count: int) -> "Rows":
        """`count` rows that a hash of their sizes picks, the same on every machine; all of them if there are fewer."""
        return self.only(np.sort(np.argsort(self.hashes(), kind="stable")[:count]))

    def hashes(self) -> NDArray[np.uint64]:
        """A pseudorandom number for each row: of m, n and k of products, else of the sizes in pairs."""
        if COPIES in self.columns:
            return hashed(*self.sizes.T[: self.columns.index(COPIES)])
        columns = np.concatenate([self.sizes.T, np.zeros((6 - self.sizes.shape[1], len(self)))])
        return hashed(*(columns[::2] * 2.0**20 + columns[1::2]))

    def without(self, wrong: Mapping[str, Mask | bool]) -> "Rows":
        """The rows that no reason applies to; each row is counted under its first. True applies to all."""
        left, dropped = np.ones(len(self), bool), dict(self.dropped)
        for why, rows in wrong.items():
            dropped[why] = dropped.get(why, 0) + int((rows & left).sum())
            left &= np.logical_not(rows)
        return replace(self.only(left), dropped=dropped)

    def label(self, row: int) -> str:
        """`m 16, n 4096, k 4096, copies 6`."""
        return ", ".join(f"{name} {size:g}" for name, size in zip(self.columns, self.sizes[row], strict=True))


def hashed(*columns: Numbers) -> NDArray[np.uint64]:
    """A pseudorandom number for each row of whole numbers: the finaliser of SplitMix64 over its columns."""
    found = np.zeros(len(columns[0]), np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            found = found + np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64)
            found = (found ^ (found >> np.uint64(30))) * _MIX[0]
            found = (found ^ (found >> np.uint64(27))) * _MIX[1]
            found = found ^ (found >> np.uint64(31))
    return found


def together(dropped: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Rows left out of several devices, by reason."""
    found: Counter[str] = Counter()
    for one in dropped:
        found.update(one)
    return {why: rows for why, rows in found.items() if rows}


# ---- Tables of the package: which of their rows are the op, and what is left out

Columns = Mapping[str, Any]
"""Columns of a table as arrays."""

TOO_FAST = "faster than the dense peak"


@dataclass(frozen=True)
class Table:
    """A file of the package, and which of its rows are the op."""

    pattern: str
    """`attention/*/*/context_attention_perf.parquet`, below the folder of a device."""
    sizes: Sequence[str]
    """Its columns that are the sizes of the op."""
    columns: tuple[str, ...]
    """Their names as the op has them."""
    others: Mapping[str, Callable[[Any], Any]]
    """Further columns, with a conversion for missing columns and values."""
    why_not: Callable[[Columns, Path], Mapping[str, Any]]
    """Rows of other ops, and impossible ones, by reason."""
    time: str = "latency"
    """The column of its times."""
    time_s: float = 1e-3
    """What they are counted in. [s]"""


def read(data: Path, device: str, table: Table) -> Rows:
    """The best time of each row of the op. Raises RooflintError if there is none."""
    folder, dropped = data / folder_of(device), Counter[str]()
    found = [_of_file(file, device, table) for file in sorted(folder.glob(table.pattern))]
    if not any(map(len, found)):
        raise RooflintError(f"{folder}: want rows in {table.pattern}, found none")
    for one in found:
        dropped.update(one.dropped)
    kept, which = np.unique(np.concatenate([one.sizes for one in found]), axis=0, return_inverse=True)
    best = np.full(len(kept), np.inf)
    np.minimum.at(best, which.ravel(), np.concatenate([one.seconds for one in found]))
    return Rows(device, table.columns, kept, best, dict(dropped))


def _of_file(file: Path, device: str, table: Table) -> Rows:
    """The rows of a file that are the op."""
    columns = _columns(file, table)
    sizes = np.stack([np.asarray(columns[name], float) for name in table.sizes], axis=1)
    return Rows(device, table.columns, sizes, columns[table.time] * table.time_s).without(table.why_not(columns, file))


def _columns(file: Path, table: Table) -> dict[str, Any]:
    wanted = [*table.sizes, *table.others, table.time]
    read = _read_parquet(file, wanted)
    there = set(read.column_names)
    found = {name: read[name].to_numpy() if name in there else np.full(len(read), None) for name in wanted}
    return found | {name: of(found[name]) for name, of in table.others.items()}


def _read_parquet(file: Path, columns: Sequence[str], filters: Sequence[tuple[str, str, str]] | None = None) -> Any:
    """Those of the columns that the file has, as a pyarrow table."""
    import pyarrow.parquet as pq  # noqa: PLC0415  # of an extra

    there = set(pq.read_schema(file).names)
    return pq.read_table(file, columns=[name for name in columns if name in there], filters=filters)


def _number(values: Any) -> Numbers:
    """A missing value is 0."""
    return np.asarray(np.nan_to_num(np.array([np.nan if value is None else value for value in values], float)))


def word(values: Any) -> Any:
    """A column of words."""
    return np.array([str(value) for value in values])


def whole(values: Any) -> Any:
    """A column of whole numbers."""
    return np.asarray(values, int)


# ---- Products in bf16

SPELT = "bfloat16"

MOST_L2_BYTES = 64.0
"""The most that an SM takes in: two sectors of 32 B. [B/clock]"""

SETS = 6.0
"""Sets of weights that vLLM and SGLang rotate."""

ELEMENT_BYTES = 2.0

NONE: Mapping[str, str] = MappingProxyType({})


def products(
    data: Path,
    device: str,
    chip: Chip,
    *,
    spelt: str = SPELT,
    element_bytes: float = ELEMENT_BYTES,
    left_out: Mapping[str, str] = NONE,
) -> Rows:
    """m, n, k and the sets of weights of the framework with the best time; why some frameworks are left out, by name.

    Raises RooflintError if there is none.
    """
    folder = data / folder_of(device) / "gemm"
    every = [one for one in _tables(folder, spelt) if len(one[1])]
    found = [one for one in every if one[0] not in left_out]
    if not found:
        raise RooflintError(f"{folder}: want tables gemm_perf.parquet with {spelt} rows, found none")
    sizes, which = np.unique(np.concatenate([one for _, one, _ in found]), axis=0, return_inverse=True)
    sets = np.concatenate([sets_of_weights(framework, own, chip, element_bytes) for framework, own, _ in found])
    seconds = np.concatenate([one for _, _, one in found])
    first = _first_of_each(which.ravel(), seconds, sets)
    twice = sum(len(own) - len(np.unique(own, axis=0)) for _, own, _ in found)
    rows = Rows(device, ("m", "n", "k", COPIES), np.column_stack([sizes.astype(float), sets[first]]), seconds[first])
    wrong = implausible(rows, chip, element_bytes)
    dropped = {"the same shape twice in one table": twice} | {why: int(mask.sum()) for why, mask in wrong.items()}
    dropped |= {
        why: sum(len(own) for name, own, _ in every if name == framework) for framework, why in left_out.items()
    }
    return replace(rows.only(~np.any(list(wrong.values()), axis=0)), dropped=dropped)


def _first_of_each(which: NDArray[Any], seconds: Numbers, sets: Numbers) -> NDArray[np.int_]:
    """Position of the least time of each shape, of equal ones the one with the fewest sets of weights."""
    order = np.lexsort((sets, seconds, which))
    return np.asarray(order[np.flatnonzero(np.diff(which[order], prepend=-1))])


def sets_of_weights(framework: str, sizes: NDArray[Any], chip: Chip, element_bytes: float = ELEMENT_BYTES) -> Numbers:
    """How many sets of weights a framework's benchmark rotates; sizes are m, n, k.

    TensorRT-LLM: as many as fill L2, from 1 to 5; vLLM and SGLang: 6. aiconfigurator, collector/*/collect_gemm.py.
    """
    if framework != "trtllm":
        return np.full(len(sizes), SETS)
    weights_bytes = element_bytes * sizes[:, 1] * sizes[:, 2]
    return np.asarray(np.clip(np.ceil(chip.l2_bytes / weights_bytes), 1, 5), float)


def implausible(rows: Rows, chip: Chip, element_bytes: float = ELEMENT_BYTES) -> dict[str, Mask]:
    """Products that are impossible on a device with these facts, by reason."""
    m, n, k, _ = rows.sizes.T
    read_s = element_bytes * (m * k + n * k) / (MOST_L2_BYTES * chip.sms * chip.clock_hz)
    return {
        "no time above zero": ~(np.isfinite(rows.seconds) & (rows.seconds > 0)),
        TOO_FAST: rows.seconds < m * n * k / chip.macs_per_s,
        f"operands faster than {MOST_L2_BYTES:g} B a clock and SM": rows.seconds < read_s,
    }


def _tables(folder: Path, spelt: str) -> Iterator[tuple[str, NDArray[Any], Numbers]]:
    """Framework, sizes and seconds of every table that is not superseded."""
    for file in sorted(folder.glob("*/*/gemm_perf.parquet")):
        framework, version = file.parts[-3:-1]
        if (folder.parent.name, framework, version) in SUPERSEDED:
            continue
        columns = ["gemm_dtype", "m", "n", "k", "latency"]
        table = _read_parquet(file, columns, [("gemm_dtype", "==", spelt)])
        sizes = np.stack([table[name].to_numpy() for name in ("m", "n", "k")], axis=1)
        yield framework, sizes, table["latency"].to_numpy() * 1e-3


# ---- Products in FP8, and quantise kernels

SPELT_FP8: Mapping[Scale, str] = {"tensor": "fp8", "block": "fp8_block"}
"""Names in the tables, by what shares a scale."""

HOST_BOUND = "vLLM by block: 60 to 500 µs whatever the size, which is not a kernel time"


def fp8_products(data: Path, device: str, chip: Chip, *, scale: Scale) -> Rows:
    """As products in bf16, with one scale per tensor or per block of 128. Raises RooflintError if there is none."""
    left_out = {"vllm": HOST_BOUND} if scale == "block" else NONE
    return products(data, device, chip, spelt=SPELT_FP8[scale], element_bytes=1.0, left_out=left_out)


QUANTISE = Table(
    "quantize/*/*/scale_matrix_perf.parquet",
    ("m", "k"),
    ("m", "k"),
    {"kernel_source": word},
    lambda row, _: {
        "SGLang: 3 to 13 times as long as vLLM for the same bytes, another algorithm": row["kernel_source"] == "sglang",
        "TensorRT-LLM: operators that the table does not name": row["kernel_source"] == "torch_ops",
    },
)
"""What is left is `static_scaled_fp8_quant`, the only kernel that the tables name."""


def quantise(data: Path, device: str, chip: Chip) -> Rows:  # noqa: ARG001  # all readers are called alike
    """bf16 activations converted to FP8 with a known scale. Raises RooflintError, also for a device without FP8."""
    return read(data, device, QUANTISE)


NO_DIFFERENCE = "no longer than with a known scale, so that their difference says nothing"


def quantise_with(data: Path, device: str, chip: Chip, *, framework: str) -> Rows:  # noqa: ARG001
    """The same with a scale that is found: of each row by vLLM, of the whole tensor by TensorRT-LLM.

    Tables have the time with a known scale, and what finding one adds to it. Raises RooflintError.
    """
    told, added = (
        read(
            data,
            device,
            Table(
                f"quantize/{framework}/*/{name}_perf.parquet",
                ("m", "k"),
                ("m", "k"),
                {},
                lambda row, _: {NO_DIFFERENCE: row["latency"] == 0},
            ),
        )
        for name in ("scale_matrix", "computescale")
    )
    known = dict(zip(map(tuple, told.sizes), told.seconds, strict=True))
    return replace(added, seconds=added.seconds + np.array([known[tuple(row)] for row in added.sizes]))


# ---- Attention

WRONG_TABLES: Mapping[tuple[str, str, str], str] = {
    ("a100_sxm", "trtllm", "generation_attention_perf.parquet"): "decode by TensorRT-LLM on A100, where rows of shared "
    "keys are up to 1.7 times faster than memory",
}
"""(folder, framework, file) of tables that contradict the device, and how."""

EARLIER: Mapping[tuple[str, str, str], str] = {
    ("b200_sxm", "vllm", "0.22.0"): "vLLM 0.22 on B200, which was measured again with 0.24 as all other GPUs were",
}
"""(folder, framework, version) of tables that were measured again, and with what."""

STREAMS_OVER_L2 = 2.0
"""A cache of so many times L2 comes from memory."""

_PRECISIONS: Mapping[str, Callable[[Any], Any]] = {
    "attn_dtype": word,
    "kv_cache_dtype": word,
    "window_size": _number,
}


def _other_ops(cache: str) -> Callable[[Columns, Path], Mapping[str, Any]]:
    """Rows that are not attention in bf16 over all tokens with a cache in that precision."""

    def why_not(row: Columns, file: Path) -> Mapping[str, Any]:
        folder, framework, version = file.parents[3].name, file.parents[1].name, file.parent.name
        whole = (WRONG_TABLES.get((folder, framework, file.name)), EARLIER.get((folder, framework, version)))
        return {
            "a sliding window": row["window_size"] > 0,
            "another precision": (row["attn_dtype"] != "bfloat16") | (row["kv_cache_dtype"] != cache),
            **{why: True for why in whole if why},
            "heads of 192: V is narrower than K in some frameworks": row["head_dim"] == 192,
            "heads of 512: on some GPUs only a fallback kernel": row["head_dim"] == 512,
        }

    return why_not


_SIZES = ("batch_size", "num_heads", "num_key_value_heads")
_COLUMNS = Sequences._fields
PREFILL = Table(
    "attention/*/*/context_attention_perf.parquet",
    (*_SIZES, "isl", "head_dim"),
    _COLUMNS,
    _PRECISIONS,
    _other_ops("bfloat16"),
)
ENCODER = Table(
    "encoder_attention/*/*/encoder_attention_perf.parquet",
    ("batch_size", "num_heads", "isl", "head_dim"),
    ("batch", "heads", "tokens", "width"),
    {"attn_dtype": word},
    lambda row, _: {"another precision": row["attn_dtype"] != "bfloat16"},
)


def prefill(data: Path, device: str, chip: Chip) -> Rows:
    """Causal attention of whole sequences in bf16. Raises RooflintError."""
    return _possible(read(data, device, PREFILL), chip, causal=True)


def encoder(data: Path, device: str, chip: Chip) -> Rows:
    """Attention of whole sequences to all of their tokens, in bf16; every head has keys. Raises RooflintError."""
    found = read(data, device, ENCODER)
    batch, heads, tokens, width = found.sizes.T
    sizes = np.stack([batch, heads, heads, tokens, width], axis=1)
    return _possible(replace(found, columns=_COLUMNS, sizes=sizes), chip, causal=False)


def decode(data: Path, device: str, chip: Chip, *, cache: str = "bfloat16") -> Rows:
    """Attention of one token to a cache in bf16 or fp8. Raises RooflintError."""
    table = Table(
        "attention/*/*/generation_attention_perf.parquet",
        (*_SIZES, "step", "head_dim"),
        _COLUMNS,
        _PRECISIONS,
        _other_ops(cache),
    )
    found = read(data, device, table)
    rows = replace(found, sizes=found.sizes + np.array([0, 0, 0, 1, 0]))  # `step` tokens before the new one
    cache_bytes = 2 * Sequences(*rows.sizes.T).key_elements * (2.0 if cache == "bfloat16" else 1.0)
    streams = cache_bytes > STREAMS_OVER_L2 * chip.l2_bytes
    return rows.without({"faster than memory": streams & (rows.seconds < cache_bytes / chip.bandwidth_bytes_per_s)})


def _possible(rows: Rows, chip: Chip, *, causal: bool) -> Rows:
    shapes = Sequences(*rows.sizes.T)
    pairs = shapes.tokens**2 * (0.5 if causal else 1.0)
    macs = 2 * shapes.batch * shapes.heads * shapes.width * pairs
    return rows.without({TOO_FAST: rows.seconds < macs / chip.macs_per_s})
