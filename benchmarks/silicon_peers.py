"""One matrix product on an A100 or H100 by other analytic models beside ours: how long it takes to ask, what they say.

`python benchmarks/silicon_peers.py` where the peers are installed (genz-llm 0.0.16; zigzag-dse 3.9.1, which also needs
six); one that is missing is said to be. With rooflint[silicon] each answer is held against a measured time, too.

All get the same facts of our specs: MACs, clock, bandwidth, L2. What a fact does not say is set in favour of the peer:
GenZ's efficiencies are 1, as they come; ZigZag's GPU is one array of all MACs, whose bits between L2 and array are
enough for it, with the spatial mapping that fills it, and it picks the order of loops itself.
"""

import argparse
import importlib.util
import logging
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import yaml

from rooflint.base.units import OPS_PER_MAC
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import Chip, chip_of
from rooflint.kernels.constants import Constants, constants_file
from rooflint.kernels.products import Gemm
from rooflint.kernels.shapes import COLD, Shapes, shapes, touched_bytes

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # read when NumPy is imported


DEVICES = ("nvidia/a100-sxm4-80gb", "nvidia/h100-sxm5-80gb")
PRODUCTS = ((4096, 4096, 4096), (256, 4096, 4096), (8, 16384, 16384), (64, 1024, 1024))
ELEMENT_BYTES = 2.0
STEP_K = 16
"""Of k that an array takes at once, as one instruction of matrix units does."""
MEMORY_BYTES = 80e9
"""Room for any of the products; no peer's time depends on it."""

MANY = 200_000
"""Products that ours is asked of at once."""

Product = tuple[int, int, int]
Model = Callable[[Product], float]
"""Latency of a product. [s]"""


@dataclass(frozen=True)
class Asked:
    """What one model said of one product."""

    spent_s: float
    """The least time of a call. [s]"""
    latency_s: float


# ---- ours


def ours(chip: Chip, constants: Constants, copies: dict[Product, float]) -> Model:
    """The latency on silicon, of one product at a time."""

    def model(product: Product) -> float:
        some = shapes(*product)
        return float(Gemm().predict(Gemm().work(*some, copies=copies[product]), chip, constants).item())

    return model


def drawn(count: int) -> Shapes:
    """Sizes from 1 to 32768, evenly over their logarithms."""
    return shapes(*np.round(2 ** np.random.default_rng(0).uniform(0, 15, (3, count))))


def many_a_second(chip: Chip, constants: Constants, rounds: int) -> float:
    """Products that ours tells of in a second, where many are asked of at once. [1/s]"""
    some, spent = drawn(MANY), []
    for _ in range(rounds):
        began = time.perf_counter()
        Gemm().predict(Gemm().work(*some), chip, constants)
        spent.append(time.perf_counter() - began)
    return len(some) / min(spent)


def roofline(chip: Chip) -> Model:
    """The longer of compute and memory."""

    def model(product: Product) -> float:
        some = shapes(*product)
        compute = some.macs / (chip.sms * chip.macs_per_clock * chip.clock_hz)
        return float(np.maximum(compute, touched_bytes(some, ELEMENT_BYTES) / chip.bandwidth_bytes_per_s).item())

    return model


# ---- GenZ


def genz(chip: Chip) -> Model:
    """GenZ's roofline of a fully connected layer; its GB is 2³⁰ B."""
    from GenZ.operators import FC  # noqa: PLC0415
    from GenZ.system import System  # noqa: PLC0415
    from GenZ.unit import Unit  # noqa: PLC0415

    unit = Unit()
    peak = OPS_PER_MAC * chip.sms * chip.macs_per_clock * chip.clock_hz
    system = System(unit=unit, flops=peak / 1e12, offchip_mem_bw=chip.bandwidth_bytes_per_s / 2**30, bits="bf16")

    def model(product: Product) -> float:
        m, n, k = product
        layer = FC(["product", m, n, k, 1, 1, 1, 0], (1.0, 1.0, 1.0))
        return float(layer.get_roofline(system, unit)["Latency (msec)"]) / 1e3

    return model


# ---- ZigZag


def zigzag(chip: Chip) -> Model:
    """ZigZag's search for the order of loops with the least latency, with the limits that it comes with."""
    from zigzag.api import get_hardware_performance_zigzag  # noqa: PLC0415

    logging.disable(logging.CRITICAL)
    sides = array_sides(chip)

    def model(product: Product) -> float:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            # memories stand in order, the nearest first
            for file, said in (("gpu.yaml", accelerator(chip, sides)), ("mapping.yaml", [mapping(sides)])):
                (folder / file).write_text(yaml.safe_dump(said, sort_keys=False), encoding="utf-8")
            _, clocks, _ = get_hardware_performance_zigzag(
                [layer(product)],
                str(folder / "gpu.yaml"),
                str(folder / "mapping.yaml"),
                opt="latency",
                dump_folder=str(folder / "out"),
                loma_show_progress_bar=False,
            )
        return float(clocks) * chip.clock_s

    return model


def array_sides(chip: Chip) -> tuple[int, int, int]:
    """m, n and k of an array with all MACs of a chip, as near to a square in m and n as whole numbers allow."""
    outputs = round(chip.sms * chip.macs_per_clock) // STEP_K
    m = max(side for side in range(1, math.isqrt(outputs) + 1) if outputs % side == 0)
    return m, outputs // m, STEP_K


def accelerator(chip: Chip, sides: tuple[int, int, int]) -> dict[str, Any]:
    """The array with a register for each output, L2 and memory. Energies are all 1: latency is asked for."""
    m, n, k = sides
    of_memory = int(8 * chip.bandwidth_bytes_per_s / chip.clock_hz)
    down, up = ["I1, fh", "I2, fh", "O, fh"], ["O, th"]
    sums = [
        _port("r_port_1", 32, ["O, tl"]),
        _port("r_port_2", 32, ["O, th"]),
        _port("w_port_1", 32, ["O, fh"]),
        _port("w_port_2", 32, ["O, fl"]),
    ]
    near = [
        _port("r_port_1", 16 * m * k, ["I1, tl"]),
        _port("r_port_2", 16 * n * k, ["I2, tl"]),
        _port("rw_port_3", 32 * m * n, ["O, tl", "O, fl"]),
        _port("rw_port_4", of_memory, [*down, *up]),
    ]
    far = [_port("rw_port_1", of_memory, [*down, *up, "I1, tl", "I2, tl", "O, tl", "O, fl"])]
    every, sizes = ["D1", "D2", "D3"], ["I1", "I2", "O"]
    return {
        "name": "gpu",
        "memories": {
            "sums": _memory(32, ["O"], sums, ["D3"]),
            "l2": _memory(8 * int(chip.l2_bytes), sizes, near, every),
            "dram": _memory(8 * int(MEMORY_BYTES), sizes, far, every),
        },
        "operational_array": {
            "input_precision": [16, 16],
            "unit_energy": 1,
            "unit_area": 1,
            "dimensions": every,
            "sizes": list(sides),
        },
    }


def _memory(bits: int, operands: list[str], ports: list[dict[str, Any]], served: list[str]) -> dict[str, Any]:
    costs = {"r_cost": 1, "w_cost": 1, "area": 0, "latency": 1}
    return {"size": bits, **costs, "operands": operands, "ports": ports, "served_dimensions": served}


def _port(name: str, bits: int, allocation: list[str]) -> dict[str, Any]:
    kind = {"r": "read", "w": "write", "rw": "read_write"}[name.partition("_")[0]]
    widths = {"bandwidth_min": bits, "bandwidth_max": bits}
    return {"name": name, "type": kind, **widths, "allocation": allocation}


def mapping(sides: tuple[int, int, int]) -> dict[str, Any]:
    """m, n and k of the product along those of the array."""
    spatial = {f"D{number}": [f"{name}, {side}"] for number, name, side in zip((1, 2, 3), "MNK", sides, strict=True)}
    links = {"O": "O", "W": "I2", "I": "I1"}
    return {"name": "default", "spatial_mapping": spatial, "memory_operand_links": links}


def layer(product: Product) -> dict[str, Any]:
    """The product, summed in 32 bits."""
    return {
        "id": 0,
        "name": "product",
        "operator_type": "Gemm",
        "equation": "O[m][n]+=I[m][k]*W[k][n]",
        "loop_dims": ["M", "N", "K"],
        "loop_sizes": list(product),
        "operand_precision": {"I": 16, "W": 16, "O": 32, "O_final": 16},
        "operand_source": {},
    }


# ---- measured


def measured(device: str, chip: Chip) -> Callable[[Product], tuple[float, float]]:
    """(Seconds, sets of weights in turn) of a product, by the published measurements; NaN where there are none."""
    from rooflint_calibration import package  # noqa: PLC0415
    from rooflint_calibration.rows import products  # noqa: PLC0415

    try:
        found = products(package.data_folder(), device, chip)
    except package.NotInstalledError as error:
        print(f"measured times: {error}")
        return lambda product: (math.nan, COLD)

    def row(product: Product) -> tuple[float, float]:
        sizes = found.sizes[:, :3]
        rows = np.flatnonzero((sizes == product).all(axis=1))
        return (float(found.seconds[rows[0]]), float(found["copies"][rows[0]])) if len(rows) else (math.nan, COLD)

    return row


# ---- all of them


PEERS = {"genz-llm": ("GenZ", genz), "zigzag-dse": ("zigzag", zigzag)}


def models(chip: Chip, constants: Constants, copies: dict[Product, float]) -> Iterator[tuple[str, Model]]:
    """Ours, the roofline, and the peers that are installed."""
    yield "silicon", ours(chip, constants, copies)
    yield "roofline", roofline(chip)
    for name, (module, make) in PEERS.items():
        if importlib.util.find_spec(module):
            yield name, make(chip)
        else:
            print(f"{name}: not installed")


def in_turn(able: dict[str, Model], product: Product, rounds: int) -> dict[str, Asked]:
    """Each model in every round, forward and backward."""
    spent: dict[str, list[float]] = {name: [] for name in able}
    said: dict[str, float] = {}
    for number in range(rounds):
        for name in list(able) if number % 2 == 0 else reversed(able):
            began = time.perf_counter()
            said[name] = able[name](product)
            spent[name].append(time.perf_counter() - began)
    return {name: Asked(min(spent[name]), said[name]) for name in able}


def compare(device: str, rounds: int) -> None:
    """Print a device's products by all models; ours by constants that have not seen the device's family."""
    from rooflint_calibration.package import family_of  # noqa: PLC0415

    registry = Registry()
    chip = chip_of(registry.get(device), "bf16", Coefficients(registry).launches())
    constants, row = constants_file(registry).without(family_of(device)), measured(device, chip)
    rows = {product: row(product) for product in PRODUCTS}
    able = dict(models(chip, constants, {product: copies for product, (_, copies) in rows.items()}))
    errors: dict[str, list[float]] = {name: [] for name in able}
    for product, (truth_s, _) in rows.items():
        asked = in_turn(able, product, rounds)
        print(f"{device} {' × '.join(map(str, product))}: measured {truth_s * 1e6:.1f} µs")
        for name, one in asked.items():
            off = one.latency_s / truth_s - 1
            errors[name].append(abs(off))
            ratio = one.spent_s / asked["silicon"].spent_s
            print(
                f"  {name:10} {one.latency_s * 1e6:9.1f} µs {off:+7.1%}; "
                f"asked in {one.spent_s * 1e3:8.3f} ms, {ratio:7.3g} × ours"
            )
    print(f"  silicon, {MANY} at once: {many_a_second(chip, constants, rounds) / 1e6:.2f} million products a second")
    off_by = ", ".join(f"{name} {median(some):.0%}" for name, some in errors.items())
    print(f"  median of |error|: {off_by}", flush=True)


def main() -> None:
    """Print both devices."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for device in DEVICES:
        compare(device, options.rounds)


if __name__ == "__main__":
    main()
