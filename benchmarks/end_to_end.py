"""Published rates of whole networks beside predictions, the bound, and two trivial baselines, in one run.

`python benchmarks/end_to_end.py [slug …]` prints a table for each golden/silicon/published/networks/*.yaml: the kernel
models, the bound by the roofline with caches and without, and the datasheet's peak and bandwidth, each times a constant
that is fitted to all other rows. It names each row where a baseline is nearer. Tables of language models that write
tokens, golden/silicon/published/generations/*.yaml, follow, those of training, trainings/*.yaml, by the roofline, and
powers of whole systems, powers/*.yaml.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from pytest_rooflint.golden.workloads import build
from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import Registry
from rooflint.kernels.shapes import Numbers
from rooflint_calibration import generations, powers, trainings
from rooflint_calibration.evaluation import score
from rooflint_calibration.networks import (
    NetworkTable,
    baselines_s,
    bound_s,
    files,
    nearer,
    nearer_line,
    order,
    predicted_s,
    read,
)

GOLDEN = Path(__file__).parents[1] / "golden"


def show(table: NetworkTable, registry: Registry) -> None:
    """One table."""
    work, measured = build(table.spec.workload), table.seconds
    kernels = predicted_s(table, work, registry, "silicon")
    uncached = predicted_s(table, work, registry, "silicon", cached=False)
    baselines = baselines_s(table, registry)
    found = {"kernel models": kernels, "without caches": uncached, **baselines}
    bound = bound_s(table, work, registry)
    print(f"\n{table.spec.title}, {table.spec.precision}: {len(table.spec.rows)} accelerators\n")
    scores(found, measured)
    centred = kernels / np.exp(np.log(kernels / measured).mean())
    print(f"\nwithout the common factor: {100 * score(centred, measured).mape:.1f} %")
    for name, least in (("", bound), (" without caches", bound_s(table, work, registry, cached=False))):
        attained = least / measured
        beaten = int((attained > 1).sum())
        median, most = np.median(attained), attained.max()
        print(f"measured over bound{name}: median {median:.3f}, most {most:.3f}, {beaten} beat it")
    print(f"\nnearer by a baseline:\n\n{nearer_line(table, nearer(table, kernels, baselines.values()))}\n")
    rows(table, found, bound)


def scores(found: dict[str, Numbers], measured: Numbers) -> None:
    print("| | error | bias | Spearman | pairs ordered right |\n|---|--:|--:|--:|--:|")
    for name, seconds in found.items():
        one, ranks = score(seconds, measured), order(seconds, measured)
        share = f"{100 * ranks.right / ranks.pairs:.1f} % of {ranks.pairs}"
        print(f"| {name} | {100 * one.mape:.1f} % | {100 * one.bias:+.1f} % | {ranks.spearman:.3f} | {share} |")


def written(table: generations.GenerationTable, registry: Registry) -> None:
    """A table of tokens a second; kernel models are scored on the rows that they cover."""
    bound, reason = generations.bound_s(table, registry), ""
    roofline = generations.predicted_s(table, registry, "roofline")
    found = {"roofline": roofline, "bound": bound, **generations.baselines_s(table, registry)}
    kernels = np.array([kernel_s(table, row, registry) for row in range(len(table.seconds))])
    known = np.isfinite(kernels)
    if known.all():
        found = {"kernel models": kernels, **found}
    else:
        near = score(kernels[known], table.seconds[known])
        reason = f"\nkernel models of {known.sum()} rows: {100 * near.mape:.1f} % off, bias {100 * near.bias:+.1f} %\n"
    print(f"\n{table.spec.title}, {table.spec.precision}: {len(table.spec.rows)} rows\n")
    scores(found, table.seconds)
    found = {"kernel models": kernels, **found}
    attained = bound / table.seconds
    beaten = int((attained > 1).sum())
    within = f"median {np.median(attained):.3f}, most {attained.max():.3f}, {beaten} beat it"
    print(f"{reason}\nmeasured over bound: {within}\n")
    print(f"| row | tokens/s | {' | '.join(found)} |\n|---|--:|{'--:|' * len(found)}")
    for place in range(len(table.seconds)):
        ratios = " | ".join(f"{seconds[place] / table.seconds[place]:.2f}" for seconds in found.values())
        print(f"| {table.label(place)} | {1 / table.seconds[place]:.0f} | {ratios} |")


def trained(table: trainings.TrainingTable, registry: Registry) -> None:
    """A table of training."""
    bound, roofline = trainings.bound_s(table, registry), trainings.predicted_s(table, registry)
    print(f"\n{table.spec.title}: {len(table.spec.rows)} rows\n")
    scores({"roofline": roofline, "bound": bound, **trainings.baselines_s(table, registry)}, table.seconds)
    attained = bound / table.seconds
    print(f"\nmeasured over bound: median {np.median(attained):.3f}, most {attained.max():.3f}")


def powered(table: powers.PowerTable, registry: Registry) -> None:
    """A table of powers."""
    found = powers.drawn(table, build(table.spec.workload), registry)
    print(f"\n{table.spec.title}\n", *powers.header(), *powers.lines(table, found), sep="\n")


def kernel_s(table: generations.GenerationTable, row: int, registry: Registry) -> float:
    """Of one row; not a number where no kernel models cover its device. [s]"""
    alone = replace(table, spec=table.spec.model_copy(update={"rows": [table.spec.rows[row]]}))
    try:
        return float(generations.predicted_s(alone, registry, "silicon")[0])
    except RooflintError:
        return float("nan")


def rows(table: NetworkTable, found: dict[str, Numbers], bound: Numbers) -> None:
    """Each row: time predicted over measured, and which baseline is nearer."""
    print(f"| device | batch | measured, 1/s | over bound | {' | '.join(found)} | nearer |")
    print(f"|---|--:|--:|--:|{'--:|' * len(found)}---|")
    off = {name: np.abs(np.log(seconds / table.seconds)) for name, seconds in found.items()}
    for place, row in enumerate(table.spec.rows):
        nearer = ", ".join(name for name in found if "×" in name and off[name][place] < off["kernel models"][place])
        ratios = " | ".join(f"{seconds[place] / table.seconds[place]:.2f}" for seconds in found.values())
        share = bound[place] / table.seconds[place]
        rate = 1 / table.seconds[place]
        print(f"| {row.device} | {row.batch} | {rate:.0f} | {share:.2f} | {ratios} | {nearer} |")


def main(slugs: list[str]) -> None:
    registry = Registry()
    for file in files([GOLDEN]):
        if not slugs or file.stem in slugs:
            show(read(file), registry)
    for file in generations.files([GOLDEN]):
        if not slugs or file.stem in slugs:
            written(generations.read(file), registry)
    for file in trainings.files([GOLDEN]):
        if not slugs or file.stem in slugs:
            trained(trainings.read(file), registry)
    for file in powers.files([GOLDEN]):
        if not slugs or f"{powers.TOPIC}/{file.stem}" in slugs:
            powered(powers.read(file), registry)


if __name__ == "__main__":
    main(sys.argv[1:])
