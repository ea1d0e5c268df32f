"""Errors on whole public files of kernel times, by what limits a prediction and by rows.

`python benchmarks/whole_files.py --vidur DIR --llmservingsim DIR --neusight DIR --deepbench DIR --fluidx3d DIR` reads
checkouts of microsoft/vidur, casys-kaist/LLMServingSim, trsharm25/NeuSight, baidu-research/DeepBench and
ProjectPhysX/FluidX3D (any of them), and prints Markdown tables. Every row of a file that is one product, one
convolution or a large sum of two tensors is read, on every GPU of the registry; a GPU of a fitted family is predicted
without that family.
"""

import argparse
import csv
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import openpyxl

from rooflint.base.errors import ExpandedNameWarning, RooflintError
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.device import Hardware
from rooflint.hardware.names import select_device
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import Chip, chip_of
from rooflint.kernels.constants import BANDS, LEAST_ROWS, LIMITS, Constants, constants_file
from rooflint.kernels.dispatch import family_of, kernel_for
from rooflint.kernels.gemm import launch_s
from rooflint.kernels.shapes import COLD, Numbers
from rooflint.kernels.stream import QUANTISE, Stream, corrected
from rooflint_calibration import package, rows
from rooflint_calibration.evaluation import score
from rooflint_calibration.topics import NO_FP8

VIDUR = {"a40": "nvidia/a40", "a100": "nvidia/a100-sxm4-80gb", "h100": "nvidia/h100-sxm5-80gb"}
SERVED = {
    "RTX3090": "nvidia/rtx-3090",
    "A6000": "nvidia/rtx-a6000",
    "H100": "nvidia/h100-sxm5-80gb",
    "RTX4090": "nvidia/rtx-4090",
    "RTXPRO6000": "nvidia/rtx-pro-6000-blackwell-server",
}
NEUSIGHT = {
    "Tesla P4": "nvidia/p4",
    "Tesla P100-PCIE-16GB": "nvidia/p100-pcie-16gb",
    "Tesla V100-PCIE-32GB": "nvidia/v100-pcie-32gb",
    "Tesla T4": "nvidia/t4",
    "NVIDIA A100-PCIE-40GB": "nvidia/a100-pcie-40gb",
    "NVIDIA A100 80GB PCIe": "nvidia/a100-pcie-80gb",
    "NVIDIA L4": "nvidia/l4",
    "NVIDIA H100 80GB HBM3": "nvidia/h100-sxm5-80gb",
}

DEEPBENCH = {
    "P100": "nvidia/p100-pcie-16gb",
    "TitanX_Pascal": "nvidia/titan-x-pascal",
    "TitanXp": "nvidia/titan-xp",
    "1080Ti": "nvidia/gtx-1080-ti",
    "V100": "nvidia/v100-sxm2-32gb",
    "T4": "nvidia/t4",
}

VIDUR_FROM_S = 10e-6
"""Vidur prints whole us, so shorter kernels say little. [s]"""

NEUSIGHT_FROM_S = 500e-6
"""NeuSight's clock includes what the host does; that is a tenth of this. [s]"""

CONVOLUTION_FROM_S = 300e-6
"""The same of convolutions, as in golden/silicon/published. [s]"""

DEEPBENCH_FROM_S = 30e-6
"""DeepBench prints whole us of calls in a row, which the host may not keep up with below. [s]"""

FLOOR_S = 53.3e-6
"""That of an A100 and its host, where a file has no small product of a GPU. [s]"""


LARGE_BYTES, OVER_L2 = 100e6, 4
"""Streams of so many bytes and so many times L2 come from memory."""

LATTICE_BYTES = 153
"""Of a cell in FP32, 19 directions read and written, as FluidX3D counts them. [B]"""

LATTICE = re.compile(r"\| 🟢 (?P<name>[^|]+?)\s*\|[^|]+\|[^|]+\|\s*(?P<bandwidth>\d+)\s*\|\s*(?P<cells>\d+) ")
"""A row of its table, of one NVIDIA GPU: bandwidth in GB/s, and millions of cells a second in FP32."""


SAME_BANDWIDTH = 0.07
"""A T4 is printed with 300 GB/s, where its pins give 320."""


@dataclass(frozen=True)
class Model:
    """The sizes of a language model that its products follow from."""

    width: int
    heads: int
    kv_heads: int
    hidden: int
    words: int
    head_width: int = 128


MODELS = {
    "Llama-3.1-8B": Model(4096, 32, 8, 14336, 128256),
    "Llama-3.1-70B": Model(8192, 64, 8, 28672, 128256),
    "Mixtral-8x7B-v0.1": Model(4096, 32, 8, 14336, 32000),
    "Qwen3-32B": Model(5120, 64, 8, 25600, 151936),
    "Qwen3-30B-A3B-Instruct-2507": Model(2048, 32, 4, 768, 151936),
}
"""From the configuration of each model; feed-forward layers of Mixtral and Qwen3-30B-A3B are experts, and not read."""

EXPERTS = ("Mixtral-8x7B-v0.1", "Qwen3-30B-A3B-Instruct-2507")


@dataclass(frozen=True)
class Measured:
    """Products of one file on one GPU."""

    source: str
    device: str
    precision: str
    rows: Numbers
    """Sizes as the kernel model of the op takes them, and the measured time in seconds. Shape (rows, sizes + 1)"""
    beside_s: float | None
    """Measured besides the kernel; None: nothing, and not the gap to the next kernel either. [s]"""
    copies: float = COLD
    op: str = "gemm"
    in_row: bool = False
    """Whether kernels were timed one after the other, each with the gap to the next."""


# ---- Files


def vidur(root: Path) -> Iterator[Measured]:
    """The four products of a layer, medians of a profiler's kernel times."""
    for folder, device in VIDUR.items():
        rows = [
            row for file in sorted((root / "data/profiling/compute" / folder).rglob("mlp.csv")) for row in _of(file)
        ]
        found = [one for row in rows for one in _layer(row)]
        yield Measured("Vidur", device, "fp16", np.array(found), None)


def _layer(row: dict[str, str]) -> Iterator[tuple[float, ...]]:
    ranks, width, hidden = (float(row[name]) for name in ("num_tensor_parallel_workers", "n_embd", "n_expanded_embd"))
    heads, kv_heads = float(row["n_head"]), max(float(row["n_kv_head"]), ranks)
    gates = 2 if row["use_gated_mlp"] == "True" else 1
    sizes = {
        "attn_pre_proj": ((heads + 2 * kv_heads) * width / heads / ranks, width),
        "attn_post_proj": (width, width / ranks),
        "mlp_up_proj": (gates * hidden / ranks, width),
        "mlp_down_proj": (width, hidden / ranks),
    }
    for name, (n, k) in sizes.items():
        seconds = float(row[f"time_stats.{name}.median"] or 0) * 1e-3
        if seconds >= VIDUR_FROM_S:
            yield float(row["num_tokens"]), n, k, 1.0, seconds


def llmservingsim(root: Path) -> Iterator[Measured]:
    """Products of a layer and of the head, medians of a profiler's kernel times."""
    for version, pattern in (("v0/perf_models", "layers.csv"), ("perf", "dense.csv")):
        for folder, device in SERVED.items():
            found: list[tuple[float, ...]] = []
            for file in sorted((root / "profiler" / version / folder).rglob(pattern)):
                name = next((part for part in file.parts if part in MODELS), None)
                if name:
                    found += _served(file, name)
            if found:
                title = "LLMServingSim 2.0" if pattern == "layers.csv" else "LLMServingSim, vLLM"
                yield Measured(title, device, "fp16" if pattern == "layers.csv" else "bf16", np.array(found), None)


def _served(file: Path, name: str) -> Iterator[tuple[float, ...]]:
    model, ranks = MODELS[name], int(file.parent.name.removeprefix("tp"))
    queries, keys = model.heads * model.head_width, max(model.kv_heads, ranks) * model.head_width
    sizes = {
        **{"q_proj": (queries, model.width), "k_proj": (keys, model.width)},
        **{"qkv_proj": (queries + 2 * keys, model.width), "lm_head": (model.words, model.width)},
    }
    if name not in EXPERTS:
        sizes |= {"gate_proj": (model.hidden, model.width), "gate_up_proj": (2 * model.hidden, model.width)}
    split = {"o_proj": (model.width, queries)} | ({} if name in EXPERTS else {"down_proj": (model.width, model.hidden)})
    for row in _of(file):
        layer = row.get("layer") or row["layer_name"]
        tokens = float(row.get("tokens") or row["input"])
        seconds = float(row["time_us"]) * 1e-6 if "time_us" in row else float(row["latency(ns)"]) * 1e-9
        if layer in sizes:
            yield tokens, sizes[layer][0] / ranks, sizes[layer][1], 1.0, seconds
        elif layer in split:
            yield tokens, split[layer][0], split[layer][1] / ranks, 1.0, seconds


def neusight(root: Path) -> Iterator[Measured]:
    """Products and convolutions in FP32, calls that the host timed.

    Linear layers and batches of the test, batches of collected sizes, and all convolutions.
    """
    data = root / "scripts/asplos/data/dataset"
    collect = data / "train/collect"
    tests = {op: list(_of(data / "test" / f"{op}.csv")) for op in ("linear", "bmm")}
    for what, op in (("linear", "linear"), ("bmm", "bmm"), ("bmm, collected", "bmm"), ("convolutions", "conv")):
        for name, device in NEUSIGHT.items():
            small, collected = (collect / kind / "p2.1.0" / f"{name}.csv" for kind in ("linear", op))
            floor = min(float(row["Latency"]) for row in _of(small)) * 1e-3 if small.exists() else FLOOR_S
            if what in tests:
                rows = [_product(row) for row in tests[op] if row["Device"] == name]
            elif collected.exists():
                rows = [(_convolution if op == "conv" else _product)(row) for row in _of(collected)]
            else:
                continue
            least = CONVOLUTION_FROM_S if op == "conv" else NEUSIGHT_FROM_S
            long = np.array([row for row in rows if row[-1] >= least])
            of = "convolution" if op == "conv" else "gemm"
            yield Measured(f"NeuSight, {what}", device, "fp32", long, floor, copies=1.0, op=of)


def _product(row: dict[str, str]) -> tuple[float, ...]:
    """Its M, N, K are our m, k, n."""
    return (*(float(row[name]) for name in ("M", "K", "N", "B")), float(row["Latency"]) * 1e-3)


def _convolution(row: dict[str, str]) -> tuple[float, ...]:
    batch, inputs, outputs, window, size, stride, margin = (
        float(row[name])
        for name in ("B", "Input_Channel", "Output_Channel", "Kernel_Szie", "Input_Size", "Stride", "Padding")
    )
    side = (size + 2 * margin - window) // stride + 1
    return (batch, inputs, outputs, side, side, window, window, stride, 1.0, float(row["Latency"]) * 1e-3)


def deepbench(root: Path) -> Iterator[Measured]:
    """Products and forward convolutions in FP32, the mean of calls in a row; where rows repeat a size, the first."""
    for name, device in DEEPBENCH.items():
        book = openpyxl.load_workbook(root / f"results/train/DeepBench_NV_{name}.xlsx", data_only=True)
        rows = list(book.worksheets[0].iter_rows(values_only=True))
        sections = [position for position, row in enumerate(rows) if isinstance(row[0], str)][1:4]
        products, convolutions, end = sections
        found: dict[str, dict[tuple[float, ...], float]] = {"gemm": {}, "convolution": {}}
        for row in rows[products + 1 : convolutions]:
            if row[2]:
                found["gemm"].setdefault((*row[2:5], 1.0), row[8] * 1e-3)
        height_first = rows[convolutions + 1][7] == "R"
        for row in rows[convolutions + 2 : end]:
            if row[2]:
                found["convolution"].setdefault(_forward(row, height_first), row[13] * 1e-3)
        for op, every in found.items():
            long = np.array([(*sizes, seconds) for sizes, seconds in every.items() if seconds >= DEEPBENCH_FROM_S])
            yield Measured(f"DeepBench, {op}", device, "fp32", long, 0.0, copies=1.0, op=op, in_row=True)


def _forward(row: Sequence[float], height_first: bool) -> tuple[float, ...]:
    """W, H, C, N, K, then window, margin and stride along both sides, whose order differs between sheets."""
    width, height, inputs, batch, outputs, *sides = row[2:13]
    high, wide = (sides[0::2], sides[1::2]) if height_first else (sides[1::2], sides[0::2])
    (window_high, margin_high, stride), (window_wide, margin_wide, _) = high, wide
    rows, columns = (
        (size + 2 * margin - window) // stride + 1
        for size, margin, window in ((height, margin_high, window_high), (width, margin_wide, window_wide))
    )
    return (batch, inputs, outputs, rows, columns, window_high, window_wide, stride, 1.0)


def _of(file: Path) -> Iterator[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines)


# ---- Scores


def line(one: Measured, registry: Registry) -> str:
    """Its row of the table."""
    hardware, file = registry.get(one.device), constants_file(registry)
    chip = chip_of(hardware, one.precision, Coefficients.of(registry).launches())
    group, family = ("cores" if chip.cores else "products"), family_of(hardware.architecture or "")
    seen = family in file.families(group)
    constants = file.without(family, [group]) if seen else file.constants
    kernel = kernel_for(one.op, one.precision, chip)
    *sizes, seconds = one.rows.T
    work = kernel.work(*sizes, copies=one.copies)
    gap = 0.0 if one.in_row else launch_s(chip, constants.products) - constants.products.start_clocks * chip.clock_s
    predicted = kernel.predict(work, chip, constants) - gap + (one.beside_s or 0.0)
    limit, band = kernel.regimes(work, chip, constants)
    cells = []
    for position in range(len(LIMITS)):
        inside = [(limit == position) & (band == rows) for rows in range(len(BANDS) + 1)]
        cells.append(" / ".join(_percent(predicted[rows], seconds[rows]) for rows in inside))
    all_rows, roofline = score(predicted, seconds), score(kernel.floor_s(work, chip), seconds)
    name = hardware.name if seen else f"**{hardware.name}**"
    return f"| {one.source} | {name} | {all_rows.rows} | {_pair(all_rows.mape, all_rows.bias)} | " + (
        f"{100 * roofline.mape:.1f} | {' | '.join(cells)} |"
    )


def _pair(error: float, bias: float) -> str:
    return f"{100 * error:.1f} ({100 * bias:+.1f})".replace("-", "−")


def _percent(predicted: Numbers, seconds: Numbers) -> str:
    return f"{100 * score(predicted, seconds).mape:.1f}" if len(seconds) >= LEAST_ROWS else "–"


# ---- Streams


class Streamed(NamedTuple):
    """Streams of one file on one GPU."""

    source: str
    device: str
    kernel: Stream
    elements: Numbers
    seconds: Numbers
    beside_s: float | None
    """Measured beside the kernel; None: nothing, and not the gap to the next kernel either. [s]"""


def neusight_sums(root: Path) -> Iterator[Streamed]:
    """Sums and products of two tensors in FP32, calls that the host timed."""
    data, found = root / "scripts/asplos/data/dataset", defaultdict(list)
    collected = [file for name in ("add", "mul") for file in sorted((data / "train/collect" / name).glob("*/*.csv"))]
    for file in [*(data / "test" / f"{name}.csv" for name in ("vec", "elem")), *collected]:
        for row in _of(file):
            if row["OPName"] in {"add", "mul"} and row["Device"] in NEUSIGHT:
                found[row["Device"]].append((float(row["B"]) * float(row["H"]), float(row["Latency"]) * 1e-3))
    kernel = Stream(precision="fp32", reads=2, bytes_in=4.0, bytes_out=4.0)
    for name, pairs in found.items():
        elements, seconds = np.array(pairs).T
        long, floor = seconds >= NEUSIGHT_FROM_S, min(seconds.min(), FLOOR_S)  # small ones of most GPUs
        yield Streamed("NeuSight", NEUSIGHT[name], kernel, elements[long], seconds[long], floor)


def vidur_sums(root: Path) -> Iterator[Streamed]:
    """Sums of two tensors in FP16, medians of a profiler's kernel times."""
    for folder, device in VIDUR.items():
        pairs = [
            (float(row["num_tokens"]) * float(row["n_embd"]), float(row["time_stats.add.median"]) * 1e-3)
            for file in sorted((root / "data/profiling/compute" / folder).rglob("mlp.csv"))
            for row in _of(file)
            if row["time_stats.add.median"]
        ]
        elements, seconds = np.array(pairs).T
        yield Streamed("Vidur", device, Stream(precision="fp16", reads=2), elements, seconds, None)


def quantised(registry: Registry) -> Iterator[Streamed]:
    """Quantise kernels of the package of measurements, in a graph."""
    for device in package.FAMILY_OF:
        if device not in NO_FP8:
            chip = _chip(registry, registry.get(device), QUANTISE.precision)
            found = rows.quantise(package.data_folder(), device, chip)
            yield Streamed("aiconfigurator", device, QUANTISE, found["m"] * found["k"], found.seconds, 0.0)


def _chip(registry: Registry, hardware: Hardware, precision: str) -> Chip:
    return chip_of(hardware, precision, Coefficients.of(registry).launches())


def _unseen(registry: Registry, hardware: Hardware) -> Constants:
    """Constants whose streams have not seen the family of a GPU."""
    file, family = constants_file(registry), family_of(hardware.architecture or "")
    return file.without(family, ["stream"]) if family in file.families("stream") else file.constants


def stream_line(one: Streamed, registry: Registry) -> str:
    """The row of its large streams; empty where it has none."""
    hardware = registry.get(one.device)
    chip, constants = _chip(registry, hardware, one.kernel.precision), _unseen(registry, hardware)
    work = one.kernel.work(one.elements, np.ones(len(one.elements)))
    moved = one.kernel.bytes_moved(work)
    large = (moved > LARGE_BYTES) & (moved > OVER_L2 * chip.l2_bytes)
    if not large.any():
        return ""
    gap = launch_s(chip, constants.products) - constants.products.start_clocks * chip.clock_s
    beside = (one.beside_s or 0.0) - (0.0 if one.source == "aiconfigurator" else gap)
    predicted = one.kernel.predict(work, chip, constants) + beside
    alone = one.seconds - (predicted - moved / _streamed_per_s(chip, constants))
    found = score(predicted[large], one.seconds[large])
    share = float(np.median(moved[large] / alone[large])) / chip.bandwidth_bytes_per_s
    memory = hardware.main_memory().name + (", ECC inside" if chip.ecc else "")
    cells = (memory, hardware.name, one.source, large.sum(), f"{share:.2f}")
    return f"| {' | '.join(map(str, cells))} | {100 * found.mape:.1f} ({100 * found.bias:+.1f}) |".replace("-", "−")


def _streamed_per_s(chip: Chip, constants: Constants) -> float:
    """What a stream from memory is predicted to attain. [B/s]"""
    return constants.stream.dram_efficiency * corrected(chip, constants.stream).bandwidth_bytes_per_s


def lattice(root: Path, registry: Registry) -> Iterator[str]:
    """Rows of FluidX3D, by whether the memory holds its own error correction."""
    found: dict[bool, list[tuple[float, float, float]]] = defaultdict(list)
    for hardware, bytes_per_s in _lattices(root, registry):
        memory, stream = hardware.main_memory(), _unseen(registry, hardware).stream
        ecc = "ecc" in memory.facts
        share = bytes_per_s / memory.bandwidth_bytes_per_s
        found[ecc].append((share, stream.dram_efficiency * (stream.ecc_left if ecc else 1.0), stream.dram_efficiency))
    for ecc in (True, False):
        share, predicted, without = np.array(found[ecc]).T
        errors = " | ".join(f"{100 * score(one, share).mape:.1f}" for one in (predicted, without))
        yield f"| {'inside' if ecc else 'none, or beside'} | {len(share)} | {np.median(share):.2f} | {errors} |"


def _lattices(root: Path, registry: Registry) -> Iterator[tuple[Hardware, float]]:
    """GPUs of its table that the registry has with the same bandwidth, and what each attains in B/s."""
    seen = set()
    for row in LATTICE.finditer((root / "README.md").read_text(encoding="utf-8").replace("&nbsp;", " ")):
        try:
            with warnings.catch_warnings(action="ignore", category=ExpandedNameWarning):
                hardware = select_device(registry, row["name"])
        except RooflintError:
            continue
        known = hardware.main_memory().bandwidth_bytes_per_s / (float(row["bandwidth"]) * 1e9)
        if hardware.id not in seen and abs(known - 1) < SAME_BANDWIDTH:
            seen.add(hardware.id)
            yield hardware, float(row["cells"]) * 1e6 * LATTICE_BYTES


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    readers = {"vidur": vidur, "llmservingsim": llmservingsim, "neusight": neusight, "deepbench": deepbench}
    for name in (*readers, "fluidx3d"):
        parser.add_argument(f"--{name}", type=Path, metavar="DIR")
    options, registry = parser.parse_args(), Registry()
    print("| files | GPU | rows | all | roofline | " + " | ".join(f"{limit}-bound" for limit in LIMITS) + " |")
    print("|---|---|--:|---|--:|---|---|---|")
    for name, read in readers.items():
        if root := getattr(options, name):
            for one in read(root):
                print(line(one, registry))
    sums = {"vidur": vidur_sums, "neusight": neusight_sums}
    streams = [one for name, read in sums.items() if (root := getattr(options, name)) for one in read(root)]
    print("\n| memory | GPU | source | rows | share | error |\n|---|---|---|--:|--:|---|")
    lines = (stream_line(one, registry) for one in (*streams, *quantised(registry)))
    print("\n".join(sorted(filter(None, lines))))
    if options.fluidx3d:
        print("\n| ECC | GPUs | median share | error, predicted | without what ECC costs |\n|---|--:|--:|--:|--:|")
        print("\n".join(lattice(options.fluidx3d, registry)))


if __name__ == "__main__":
    main()
