"""Hypothetical devices: a device with some facts varied over arrays, and what is predicted of each.

    bandwidths = np.linspace(2e12, 8e12, 1000)
    found = predict_variants(h100, {"memories.hbm3.bandwidth": bandwidths}, tables, energies, Setting("fp16"))
    found.latency_s                                                         # shape (tables, variants)

A prediction of a variant is that of the device with those facts, `with_values`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact, Source
from rooflint.base.units import BYTES_PER_S, SECONDS, WATTS, Dimension, Quantity, format_quantity
from rooflint.energy.model import Energies
from rooflint.hardware.device import Hardware, UndisclosedError, UnsupportedError
from rooflint.hardware.lookups import TrackedHardware
from rooflint.prediction.figures import QUANTITIES, predict_tables
from rooflint.prediction.predict import SILICON, Setting
from rooflint.workloads.stack import stacks
from rooflint.workloads.workload import Workload

Numbers = NDArray[np.float64]

Rows = NDArray[np.intp]
"""Positions of variants."""

Varied = Mapping[str, NDArray[np.float64]]
"""Values of facts by path, one of each for every variant, in SI base units; MAC counts in MAC."""

WHOLE = (".groups", ".per_group")
"""Ends of paths of facts that count parts."""

ADDED: Mapping[str, Dimension] = {"bandwidth": BYTES_PER_S, "launch_overhead": SECONDS, "tdp": WATTS}
"""Facts that a variant may have and its base not, by the end of their path: a stated bandwidth replaces bus × rate."""

RATES = (
    "units.*.clock",
    "units.*.clock_of.*",
    "memories.*.bandwidth",
    "memories.*.bus",
    "memories.*.pin_rate",
    "caches.*.capacity",
    "tdp",
    "powers.*",
    "launch_overhead",
)
"""Facts that figures are computed from and that decide nothing but which unit and which memory is the fastest."""

MOST_TIMES = 2**18
"""Times of ops on variants that are worked on together."""

VARIED = Source("varied", "varied", "estimate")


class VariationError(RooflintError):
    """Facts that cannot be varied in that way; the message says what was expected."""


@dataclass(frozen=True, eq=False)
class Variants:
    """Predictions of variants of a device; arrays have the shape (tables, variants), NaN where one is not known."""

    latency_s: Numbers
    compute_wait_s: Numbers
    memory_wait_s: Numbers
    launch_wait_s: Numbers
    energy_j: Numbers
    power_w: Numbers
    utilization: Numbers
    peak_memory_bytes: Numbers
    not_supported: tuple[str, ...]
    """Why a variant has no figures; empty where it has some. One for each variant."""
    not_known: tuple[str, ...]
    """Why some of its figures are not known. One for each variant."""


def predict_variants(
    base: Hardware,
    varied: Varied,
    tables: Sequence[Workload],
    energies: Energies,
    setting: Setting,
) -> Variants:
    """Predictions of tables on variants of a device; all tables run in the same setting.

    Raises VariationError for values that no device can have and for facts that no prediction of these looks up, and
    what `predict` raises for tables and settings, such as WorkloadError for a table that cannot be fused.
    """
    count = _checked(base, varied)
    works = list(stacks([table.fused() if setting.fuse else table for table in tables]))
    values = np.full((len(QUANTITIES), count, len(tables)), np.nan)
    not_supported, not_known, read = np.full(count, "", object), np.full(count, "", object), set[str]()
    for some in _alike(base, varied, setting, MOST_TIMES // max(len(stack.work) for stack in works)):
        hardware = TrackedHardware.of(_columns(base, varied, some, setting), lambda fact: read.add(fact.path))
        try:
            found = predict_tables(hardware, works, energies, setting)
        except (UnsupportedError, UndisclosedError) as error:
            not_supported[some] = str(error)
            continue
        values[:, some] = found.values.reshape(len(QUANTITIES), -1, len(tables))
        not_known[some] = "; ".join(dict.fromkeys(filter(None, found.missing)))
    unread = [path for path in varied if path not in read]
    if unread and not all(not_supported):
        raise VariationError(f"{base.label}: no prediction in {setting.compute} looks up {', '.join(unread)}")
    figures = dict(zip(QUANTITIES, values.swapaxes(1, 2), strict=True))
    return Variants(**figures, not_supported=tuple(not_supported), not_known=tuple(not_known))


def _alike(base: Hardware, varied: Varied, setting: Setting, most: int) -> Iterator[Rows]:
    """Variants that can be computed as columns of one device, at most so many at a time.

    They have the same facts of a kind that decides how ops lie on the device, and the same order of units and memories.
    """
    each = [values for path, values in varied.items() if not _is_rate(path, setting)]
    for some in _same(each, len(next(iter(varied.values())))):
        columns = _columns(base, varied, some, setting)
        orders = [order for form in set(setting.formats(columns)) for order in _orders(columns, form, len(some))]
        for order in _same(orders, len(some)):
            yield from np.array_split(some[order], -(-len(order) // max(1, most)))


def _same(each: Sequence[NDArray[Any]], count: int) -> list[Rows]:
    """Positions of variants that have the same of each of some quantities."""
    if not each:
        return [np.arange(count)]
    group = np.unique(np.stack(each), axis=1, return_inverse=True)[1].ravel()
    by_group = np.argsort(group, kind="stable")
    return np.split(by_group, np.flatnonzero(np.diff(group[by_group])) + 1)


def _orders(hardware: Hardware, compute: str, count: int) -> list[NDArray[Any]]:
    """The order of units by peak and of memories by bandwidth, as places of each. Shape (count,) each"""
    units = [unit for unit in hardware.units.values() if compute in unit.precisions]
    memories = [memory for memory in hardware.memories.values() if memory.has_bandwidth]
    try:
        peaks = [unit.peak_ops_per_s(compute) for unit in units]
    except UndisclosedError:  # which the prediction says, too
        peaks = []
    sizes = [peaks, [memory.bandwidth_bytes_per_s for memory in memories]]
    tables = [np.stack([np.broadcast_to(np.ravel(one), count) for one in some]) for some in sizes if len(some) > 1]
    return [row for table in tables for row in np.argsort(-table, axis=0, kind="stable")]


def _is_rate(path: str, setting: Setting) -> bool:
    """Whether predictions only multiply and divide by a fact. All times of silicon ask for one device after another."""
    return setting.fidelity != SILICON and any(fnmatch(path, rate) for rate in RATES)


def _columns(base: Hardware, varied: Varied, some: Rows, setting: Setting) -> Hardware:
    """Some variants as one device whose rates are columns of the shape (variants, 1)."""
    device = variant_of(base, varied, int(some[0]))
    rates = {path: values[some][:, None] for path, values in varied.items() if _is_rate(path, setting)}
    return device.with_facts({path: device.facts[path].as_column(values) for path, values in rates.items()})


def variant_of(base: Hardware, varied: Varied, variant: int) -> Hardware:
    """One variant as a device. Raises VariationError for a fact that the device lacks."""
    return with_values(base, {path: float(values[variant]) for path, values in varied.items()})


def with_values(base: Hardware, values: Mapping[str, float]) -> Hardware:
    """A device with other values of some facts, by path. Raises VariationError for a fact that the device lacks."""
    return base.with_facts({path: _fact(base, path, value) for path, value in values.items()})


def _fact(base: Hardware, path: str, value: float) -> Fact:
    if path in base.facts:
        return base.facts[path].with_value(value)
    dimension = ADDED.get(path.rpartition(".")[2])
    if dimension is None or not _has_place(base, path):
        raise VariationError(f"{base.id} has no fact '{path}' to vary")
    return Fact(path, Quantity(value, dimension, format_quantity(value, dimension)), VARIED, "varied", base.file, 0)


def _has_place(base: Hardware, path: str) -> bool:
    """Whether a device of its shape can have a fact: of the device itself, or of a memory that there is."""
    section, _, rest = path.partition(".")
    return not rest or (section == "memories" and rest.partition(".")[0] in base.memories)


def _checked(base: Hardware, varied: Varied) -> int:
    """How many variants there are. Raises VariationError."""
    for path, values in varied.items():
        _fact(base, path, 1.0)
        for wrong in _wrong(path, np.asarray(values)):
            raise VariationError(f"{path}: {wrong}")
    lengths = {len(values) for values in varied.values()}
    if len(lengths) != 1:
        raise VariationError(f"want facts with as many values each, found {', '.join(map(str, sorted(lengths))) or 0}")
    return lengths.pop()


def _wrong(path: str, values: Numbers) -> Iterator[str]:
    if values.ndim != 1 or not values.size:
        yield "want a column of values, one for each variant"
    elif not (np.isfinite(values) & (values > 0)).all():
        yield "want positive, finite values"
    elif path.endswith(WHOLE) and (values % 1).any():
        yield f"want whole numbers, found {values[values % 1 > 0][0]:g}"
