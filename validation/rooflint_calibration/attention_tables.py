"""Sequences tables: prefill, decode and encoders of one device, read where the package lies, and what is left out."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rooflint.kernels.attention import Sequences
from rooflint.kernels.chip import Chip
from rooflint.kernels.shapes import Numbers
from rooflint_calibration.package import folder_of
from rooflint_calibration.rows import Recorded, Row, Table, read, without

WIDTHS = (64, 128, 256)
"""Heads of these have a kernel in every framework."""

WRONG_TABLES: Mapping[tuple[str, str, str], str] = {
    ("a100_sxm", "trtllm", "generation_attention_perf.parquet"): "decode by TensorRT-LLM on A100, where rows of shared "
    "keys are up to 1.7 times faster than memory",
}
"""(folder, framework, file) of tables that contradict the machine, and how."""

EARLIER: Mapping[tuple[str, str, str], str] = {
    ("b200_sxm", "vllm", "0.22.0"): "vLLM 0.22 on B200, which was measured again with 0.24 as all other GPUs were",
}
"""(folder, framework, version) of tables that were measured again, and with what."""

MANY = 2.0
"""Times the L2 capacity beyond which nothing of a cache is found again."""


def _number(values: Any) -> Numbers:
    """Nothing is 0."""
    return np.asarray(np.nan_to_num(np.array([np.nan if value is None else value for value in values], float)))


def _word(values: Any) -> Any:
    return np.array([str(value) for value in values])


_PRECISIONS: Mapping[str, Callable[[Any], Any]] = {
    "attn_dtype": _word,
    "kv_cache_dtype": _word,
    "window_size": _number,
}


def _other_ops(cache: str) -> Callable[[Row, Path], Mapping[str, Any]]:
    """Rows that are not attention in bf16 over all tokens, with a cache of that precision."""

    def why_not(row: Row, file: Path) -> Mapping[str, Any]:
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
PREFILL = Table(
    "attention/*/*/context_attention_perf.parquet", (*_SIZES, "isl", "head_dim"), _PRECISIONS, _other_ops("bfloat16")
)
_DECODE = "attention/*/*/generation_attention_perf.parquet"
DECODE = Table(_DECODE, (*_SIZES, "step", "head_dim"), _PRECISIONS, _other_ops("bfloat16"))
DECODE_FP8 = Table(_DECODE, DECODE.sizes, _PRECISIONS, _other_ops("fp8"))
ENCODER = Table(
    "encoder_attention/*/*/encoder_attention_perf.parquet",
    ("batch_size", "num_heads", "isl", "head_dim"),
    {"attn_dtype": _word},
    lambda row, _: {"another precision": row["attn_dtype"] != "bfloat16"},
)


def shapes_of(recorded: Recorded) -> Sequences:
    """The sizes as shapes."""
    return Sequences(*np.ascontiguousarray(recorded.sizes.T))


def prefill(data: Path, device: str, chip: Chip) -> Recorded:
    """Causal attention of whole sequences in bf16. Raises RooflintError."""
    return _possible(read(data / folder_of(device), device, PREFILL), chip, causal=True)


def encoder(data: Path, device: str, chip: Chip) -> Recorded:
    """Sequences of whole sequences on all of their tokens, in bf16; every head has keys. Raises RooflintError."""
    found = read(data / folder_of(device), device, ENCODER)
    batch, heads, tokens, width = found.sizes.T
    whole = Recorded(device, np.stack([batch, heads, heads, tokens, width], axis=1), found.seconds, found.dropped)
    return _possible(whole, chip, causal=False)


def decode(data: Path, device: str, chip: Chip, *, cache: str = "bfloat16") -> Recorded:
    """Sequences of one token on a cache in bf16 or fp8. Raises RooflintError."""
    found = read(data / folder_of(device), device, DECODE if cache == "bfloat16" else DECODE_FP8)
    sizes = found.sizes + np.array([0, 0, 0, 1, 0])  # `step` tokens are in the cache before the new one
    shapes = Sequences(*sizes.T)
    cache_bytes = 2 * shapes.key_elements * (2.0 if cache == "bfloat16" else 1.0)
    streams = cache_bytes > MANY * chip.l2_bytes
    too_fast = streams & (found.seconds < cache_bytes / chip.bandwidth_bytes_per_s)
    return without(Recorded(device, sizes, found.seconds, found.dropped), {"faster than memory": too_fast})


def _possible(recorded: Recorded, chip: Chip, *, causal: bool) -> Recorded:
    shapes = shapes_of(recorded)
    pairs = shapes.tokens**2 * (0.5 if causal else 1.0)
    macs = 2 * shapes.batch * shapes.heads * shapes.width * pairs
    least_s = macs / (chip.sms * chip.macs_per_clock * chip.clock_hz)
    return without(recorded, {"faster than the dense peak": recorded.seconds < least_s})
