"""Layers: measured times of what layers of large models run beside products and attention.

Collectives between devices, as serving frameworks and NCCL run them, latent attention, and experts.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rooflint.kernels.chip import Chip
from rooflint.kernels.collectives import Kind, Library, Messages, bound_s, link_of
from rooflint.kernels.experts import Layers
from rooflint.kernels.latent import LatentAttention, LatentDecode, Latents
from rooflint.kernels.routing import SMS, ExpertExchange, Kernels, Tokens
from rooflint.workloads.parallelism import Way
from rooflint_calibration.rows import STREAMS_OVER_L2, Rows, Table, read, whole, word

HALF = 2.0
"""Bytes of an element of a message in half precision; the tables count elements. [B]"""

SPELT: dict[Kind, str] = {"all_to_all": "alltoall"}
"""Names of collectives in the tables, where they differ."""

TOO_FAST = "faster than the links"


def _table(file: str, word_of: str, left_out: str, is_left_out: Callable[[Any], Any], kind: Kind) -> Table:
    """All rows of a collective but those whose word in a column says that they are left out."""
    return Table(
        f"comm/*/*/{file}.parquet",
        ("message_size", "num_gpus"),
        Messages._fields,
        {"op_name": word, word_of: word},
        lambda row, _: {
            "another collective": row["op_name"] != SPELT.get(kind, kind),
            left_out: is_left_out(row[word_of]),
        },
    )


def _framework(kind: Kind) -> Table:
    host = "launched one by one from the host"
    return _table("custom_allreduce_perf", "kernel_source", host, lambda of: np.char.find(of, "eager") >= 0, kind)


def _nccl(kind: Kind) -> Table:
    return _table("nccl_perf", "nccl_dtype", "elements of one byte", lambda of: of != "half", kind)


def collective(data: Path, device: str, chip: Chip, *, kind: Kind, library: Library) -> Rows:
    """Bytes of messages and devices that take part. Raises RooflintError."""
    found = read(data, device, _framework(kind) if library == "framework" else _nccl(kind))
    rows = replace(found, sizes=found.sizes * np.array([HALF, 1.0]))
    return rows.without({TOO_FAST: rows.seconds < bound_s(kind, rows["message_bytes"], rows["members"], link_of(chip))})


# ---- Tokens to their experts and back

OF_A_NODE = {"nvidia/gb200-gpu": 4, "nvidia/gb300-gpu": 4}
"""GPUs of a node, all of which SGLang's benchmarks of DeepEP take; of others 8. aiconfigurator, collector/wideep."""


def routed(data: Path, device: str, chip: Chip, *, way: Way, kernels: Kernels) -> Rows:  # noqa: ARG001  # all are called alike
    """Tokens by kernels of DeepEP that are timed alone, in SGLang's benchmark. Raises RooflintError."""
    normal = kernels == "normal"
    table = Table(
        f"comm/*/*/wideep_deepep_{'normal' if normal else 'll'}_perf.parquet",
        ("num_token", "hidden_size", "num_topk", "num_experts", *([f"{way}_sms"] if normal else [])),
        (*Tokens._fields[:4], *(["sms"] if normal else [])),
        {"node_num": whole},
        lambda row, _: {"several nodes": row["node_num"] > 1},
        time=f"{way}_transmit_us" if normal else f"{way}_avg_t_us",
        time_s=1e-6,
    )
    found = read(data, device, table)
    columns = {"members": np.full(len(found), OF_A_NODE.get(device, 8)), "sms": np.full(len(found), SMS), **found.named}
    return replace(found, columns=Tokens._fields, sizes=np.column_stack([columns[name] for name in Tokens._fields]))


FROM_HOST = ("trtllm_deepep_ht", "trtllm_deepep_ll")
"""Kernels of DeepEP in TensorRT-LLM, called one by one between two events."""


def routed_from_host(data: Path, device: str, chip: Chip, *, way: Way) -> Rows:
    """Tokens in bf16 as TensorRT-LLM calls DeepEP, with all kernels of a call. Raises RooflintError."""
    table = Table(
        "comm/*/*/moe_a2a_perf.parquet",
        ("num_tokens", "hidden_size", "topk", "num_experts", "ep_size"),
        Tokens._fields[:5],
        {"comm_backend": word, "phase": word, "comm_dtype": word, "node_num": whole},
        lambda row, _: {
            "the other way": row["phase"] != way,
            "several nodes": row["node_num"] > 1,
            "vLLM, which does not say in what precision": ~np.isin(row["comm_backend"], FROM_HOST),
            "another precision": row["comm_dtype"] != "bfloat16",
        },
        time_s=1e-6,
    )
    found = read(data, device, table)
    rows = replace(found, columns=Tokens._fields, sizes=np.column_stack([found.sizes, np.full(len(found), SMS)]))
    kernel = ExpertExchange(way=way)
    return rows.without({TOO_FAST: rows.seconds < kernel.floor_s(kernel.work(*rows.sizes.T), chip)})


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


def latent_decode(data: Path, device: str, chip: Chip, *, cache: str = "bfloat16", library: str = "*") -> Rows:
    """Samples, heads and tokens of caches in bf16 or fp8, by one library or the best of all. Raises RooflintError."""
    table = Table(
        f"mla/{library}/*/generation_mla_perf.parquet",
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


# ---- Experts

SPREAD = {0.0: "balanced", 1.01: "power_law_1.01", 1.2: "power_law_1.2"}
"""Names in the tables, by the exponent of the power law."""

NOT_GATED = {(4096, 2688), (2048, 5120), (8192, 5120), (1024, 2688), (2688, 1856)}
"""Hidden size and width of layers that TensorRT-LLM's tables say have no gate, and so two weights instead of three."""

ALL_ROWS = ("vllm_fused_moe", "moe_triton", "fused_moe_triton", "triton_tritonexperts")
"""Kernels whose benchmark gives a rank the rows of all ranks."""


def experts(data: Path, device: str, chip: Chip, *, skew: float) -> Rows:  # noqa: ARG001  # all are called alike
    """Layers of experts in bf16, as a rank of several or one device runs them. Raises RooflintError."""
    table = Table(
        "moe/*/*/moe_perf.parquet",
        ("num_tokens", "hidden_size", "inter_size", "num_experts", "topk", "moe_ep_size", "moe_tp_size"),
        (*Layers._fields, "parts"),
        {"moe_dtype": word, "distribution": word, "kernel_source": word},
        lambda row, _: {
            "another precision": row["moe_dtype"] != "bfloat16",
            "another distribution": row["distribution"] != SPREAD[skew],
            "no gate": np.array([one in NOT_GATED for one in zip(row["hidden_size"], row["inter_size"], strict=True)]),
            "several ranks with the rows of all of them": (row["moe_ep_size"] > 1)
            & np.array([any(name in one for name in ALL_ROWS) for one in row["kernel_source"]]),
            "several ranks whose loads were drawn and are not stated": (row["moe_ep_size"] > 1) & (skew > 0),
        },
    )
    found = read(data, device, table)
    parts = found["parts"]
    sizes = found.sizes[:, :-1].copy()
    sizes[:, Layers._fields.index("width")] /= parts
    even = (sizes == np.floor(sizes)).all(axis=1)
    rows = replace(found, columns=Layers._fields, sizes=sizes).without({"a width that ranks cannot share": ~even})
    return _best_of_equals(rows)


def _best_of_equals(rows: Rows) -> Rows:
    """Layers that differ only in what they were a part of are one."""
    kept, which = np.unique(rows.sizes, axis=0, return_inverse=True)
    best = np.full(len(kept), np.inf)
    np.minimum.at(best, which.ravel(), rows.seconds)
    return replace(rows, sizes=kept, seconds=best)
