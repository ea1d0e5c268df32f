"""Layers: measured times of what layers of large models run beside products and attention.

Collectives between devices, as serving frameworks and NCCL run them.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from rooflint.kernels.chip import Chip
from rooflint.kernels.collectives import Kind, Library, Messages, bound_s, link_of
from rooflint_calibration.rows import Rows, Table, read, word

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
