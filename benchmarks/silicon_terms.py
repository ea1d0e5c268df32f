"""What each term of the latency of a product is worth: the rest fitted again without it, scored on families left out.

Run `python benchmarks/silicon_terms.py` where rooflint[silicon] is installed; it writes the table of
docs/method-silicon.md. Nothing here is a time, so a loaded machine only takes longer.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np

from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import ConstantsFile, constants_file
from rooflint.kernels.tile import SIZES, Tile
from rooflint_calibration.fits import Calibration, calibrate, gemm_fit, measured
from rooflint_calibration.package import data_folder, devices, family_of
from rooflint_calibration.rows import Rows

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # read when NumPy is imported


TO_FIT, TO_SCORE = 3000, 12_000
"""Rows of a family."""

FREE = 1e9
"""A rate at which something takes no time."""

ONE_TILE, NO_FEW_ROWS = (Tile(128, 128),), tuple(Tile(*size) for size in SIZES if size != (32, 64))


@dataclass(frozen=True)
class Without:
    """A model without a term."""

    name: str
    fixed: tuple[tuple[str, float], ...] = ()
    """Constants that are set, and not fitted."""
    patches: tuple[tuple[str, object], ...] = ()
    """Names in modules, and what stands there."""
    chip: Callable[[Chip], Chip] = lambda chip: chip


def _of(module: str, name: str, what: object) -> tuple[str, object]:
    return f"rooflint.kernels.{module}.{name}", what


NARROW = 32.0
"""√1024, the width of an SM of an A100, where it is the same on all."""

VARIANTS = (
    Without("nothing"),
    Without("splits of k", patches=(_of("tile", "splits", lambda chip: (1,)),)),
    Without("tiles but 128×128", patches=(_of("tile", "TILES", ONE_TILE),)),
    Without("tile 32×64", patches=(_of("tile", "TILES", NO_FEW_ROWS),)),
    Without("async: all sync", chip=lambda chip: replace(chip, asynchronous=False)),
    Without("L2", fixed=(("l2_reach", 1e-3),)),
    Without("L2: no bound by slices", fixed=(("l2_ratio", FREE),)),
    Without("L2: no bound by SMs", fixed=(("l2_bytes", FREE),)),
    Without("feed", fixed=(("sync_feed_bytes", FREE), ("async_feed_bytes", FREE))),
    Without("sync feed", fixed=(("sync_feed_bytes", FREE),)),
    Without("async feed", fixed=(("async_feed_bytes", FREE),)),
    Without("width: the same on all", patches=(_of("tile", "path_width", lambda element_bytes, chip: NARROW),)),
    Without("step latency", fixed=(("step_clocks", 1e-6),)),
    Without("async step latency", fixed=(("async_step_bytes", FREE),)),
    Without("store", fixed=(("store_bytes", FREE),)),
    Without("power", fixed=(("energy_pj", 1e-6),)),
    Without("bytes of the reduction", fixed=(("reduction_bytes", FREE),)),
    Without(
        "overlap: memory after compute",
        patches=(_of("gemm", "overlapped_s", lambda compute_s, memory_s, constants: compute_s + memory_s),),
    ),
    Without(
        "overlap: memory wholly beside compute",
        patches=(_of("gemm", "overlapped_s", lambda compute_s, memory_s, constants: np.maximum(compute_s, memory_s)),),
    ),
    Without(
        "overlap: the longer of arithmetic and feed",
        patches=(_of("tile", "overlapped", lambda one, other, exponent: max(one, other)),),
    ),
    Without(
        "launches of the architecture: 1.3 µs for all",
        chip=lambda chip: replace(chip, graph_launch_s=None),
    ),
)


def calibrated(variant: Without, products: Mapping[str, tuple[Rows, Chip]], file: ConstantsFile) -> Calibration:
    """The model without a term, fitted and scored."""
    fixed = dict(variant.fixed)
    names = [
        name for name, constant in file.specs("products").items() if constant.found == "fitted" and name not in fixed
    ]
    others = {name: (rows, variant.chip(chip)) for name, (rows, chip) in products.items()}
    start = replace(file.constants, products=replace(file.constants.products, **fixed))
    with ExitStack() as stack:
        for target, what in variant.patches:
            stack.enter_context(patch(target, what))
        return calibrate(gemm_fit({"gemm": others}, start, names, TO_FIT))


def mean(found: Calibration, regime: str) -> float:
    """Over the families. [%]"""
    return 100 * float(np.mean([fold.scores["gemm", regime][0].mape for fold in found.folds.values()]))


def row(name: str, found: Calibration) -> str:
    """A line of the table."""
    each = " / ".join(f"{100 * fold.scores['gemm', 'all'][0].mape:.1f}" for fold in found.folds.values())
    return f"| {name} | {mean(found, 'all'):.1f} ({each}) | " + " | ".join(
        f"{mean(found, regime):.1f}" for regime in ("large", "small", "narrow")
    )


def table(rows: Sequence[tuple[str, Calibration]]) -> str:
    """The whole model first, then the term that is worth most."""
    whole, *others = rows
    ranked = [whole, *sorted(others, key=lambda one: -mean(one[1], "all"))]
    return "\n".join(
        (
            "| without | all (Ampere / Hopper / Ada / Blackwell / RTX PRO) | > 20 GFLOP | < 1 GFLOP | m ≤ 16 |",
            "|---|---|---|---|---|",
            *(f"{row(name, found)} |" for name, found in ranked),
        )
    )


def main() -> None:
    """Fit and score every variant."""
    registry = Registry()
    file = constants_file(registry)
    products = {
        name: (rows.picked(TO_SCORE // len(devices(family_of(name)))), chip)
        for name, (rows, chip) in measured(["gemm"], data_folder(), registry)["gemm"].items()
    }
    print(table([(variant.name, calibrated(variant, products, file)) for variant in VARIANTS]))


if __name__ == "__main__":
    main()
