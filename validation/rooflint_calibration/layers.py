"""Layers: measured times of what layers of large models run beside products and attention.

Collectives between devices, as serving frameworks and NCCL run them, and latent attention.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from rooflint.kernels.chip import Chip
from rooflint.kernels.collectives import Kind, Library, Messages, bound_s, link_of
from rooflint.kernels.latent import LatentAttention, LatentDecode, Latents
from rooflint_calibration.rows import STREAMS_OVER_L2, Rows, Table, read, word

HALF = 2.0
"""Bytes of an element of a message in half precision; the tables count elements. [B]"""

SPELT: dict[Kind, str] = {"all_to_all": "alltoall"}
"""Names of collectives in the tables, where they differ."""

TOO_FAST = "faster than the links"


def _framework(kind: Kind) -> Table:
    return Table(
        "comm/*/*/custom_allreduce_perf.parquet",
        ("message_size", "num_gpus"),
        Messages._fields,
        {"op_name": word, "kernel_source": word},
        lambda row, _: {
            "another collective": row["op_name"] != SPELT.get(kind, kind),
            "launched one by one from the host": np.char.find(row["kernel_source"], "eager") >= 0,
        },
    )


def _nccl(kind: Kind) -> Table:
    return Table(
        "comm/*/*/nccl_perf.parquet",
        ("message_size", "num_gpus"),
        Messages._fields,
        {"op_name": word, "nccl_dtype": word},
        lambda row, _: {
            "another collective": row["op_name"] != SPELT.get(kind, kind),
            "elements of one byte": row["nccl_dtype"] != "half",
        },
    )


def collective(data: Path, device: str, chip: Chip, *, kind: Kind, library: Library) -> Rows:
    """Bytes of messages and devices that take part. Raises RooflintError."""
    found = read(data, device, _framework(kind) if library == "framework" else _nccl(kind))
    rows = replace(found, sizes=found.sizes * np.array([HALF, 1.0]))
    return rows.without({TOO_FAST: rows.seconds < bound_s(kind, rows["message_bytes"], rows["members"], link_of(chip))})


# ---- Latent attention

EXPANDED = ("default", "trtllm_mla")
"""Kernels of prefill that expand the latents: TensorRT-LLM's."""

_CACHE = {"bfloat16": 2.0, "fp8": 1.0}


def latent_prefill(data: Path, device: str, chip: Chip) -> Rows:
    """Samples, heads and tokens of causal sequences in bf16. Raises RooflintError."""
    table = Table(
        "mla/*/*/context_mla_perf.parquet",
        ("batch_size", "num_heads", "isl"),
        Latents._fields,
        {"kernel_source": word, "mla_dtype": word, "kv_cache_dtype": word},
        lambda row, _: {
            "another precision": (row["mla_dtype"] != "bfloat16") | (row["kv_cache_dtype"] != "bfloat16"),
            "SGLang without TensorRT-LLM's kernels: the latents are not expanded, for 3.4 times the work": ~np.isin(
                row["kernel_source"], EXPANDED
            ),
        },
    )
    found = read(data, device, table)
    kernel = LatentAttention()
    least = kernel.macs(kernel.work(*found.sizes.T)) / chip.macs_per_s
    return found.without({"faster than the dense peak": found.seconds < least})


def latent_decode(data: Path, device: str, chip: Chip, *, cache: str = "bfloat16") -> Rows:
    """Samples, heads and tokens of caches in bf16 or fp8. Raises RooflintError."""
    table = Table(
        "mla/*/*/generation_mla_perf.parquet",
        ("batch_size", "num_heads", "step"),
        Latents._fields,
        {"mla_dtype": word, "kv_cache_dtype": word},
        lambda row, _: {
            "another precision": (row["mla_dtype"] != "bfloat16") | (row["kv_cache_dtype"] != cache),
        },
    )
    found = read(data, device, table)
    rows = replace(found, sizes=found.sizes + np.array([0, 0, 1]))  # `step` tokens before the new one
    kernel = LatentDecode(cache_bytes=_CACHE[cache])
    moved = kernel.tensor_bytes(kernel.work(*rows.sizes.T))
    streams = moved > STREAMS_OVER_L2 * chip.l2_bytes
    return rows.without({"faster than memory": streams & (rows.seconds < moved / chip.bandwidth_bytes_per_s)})
