"""Design-space exploration: variants of a device, the best of them, and which fact buys most.

    explore(Design(h100, energies, runs, grid(axes), objectives)).front

Figures over several runs (networks, precisions, batches) are geometric means, memory is the most of any run, and a
requirement holds only if it holds in every run.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from rooflint.base import units
from rooflint.base.errors import RooflintError
from rooflint.base.shards import HERE, ClusterError, Workers, results
from rooflint.base.text import article
from rooflint.coefficients.library import FREE, launch_overhead
from rooflint.energy.model import Energies
from rooflint.hardware.device import Hardware
from rooflint.hardware.lookups import TrackedHardware
from rooflint.hardware.schema import kind_of
from rooflint.prediction.comparison import CRITERIA, HOLDS, Contender, Requirement, figure_text
from rooflint.prediction.cost import Tariff
from rooflint.prediction.pareto import non_dominated
from rooflint.prediction.predict import ROOFLINE, SILICON, Setting, predict
from rooflint.prediction.space import Axis, Parameter, Space, VaryError, parameter, significant
from rooflint.prediction.variants import Variants, predict_variants, with_values
from rooflint.workloads.workload import Workload

Numbers = NDArray[np.float64]

NUDGE = 0.01
"""Change of a fact on either side of the base, from which its elasticity follows. [1]"""

SAME = 12
"""Significant digits to which figures are compared: rounding errors make no variant better."""

SHARD_S = 0.5
"""Work of a shard. [s]"""

PREDICTION_S = {ROOFLINE: 3e-6, SILICON: 2e-3}
"""What predicting one run of one variant costs, roughly: the number of shards follows from it, and no result. [s]"""

BOUNDS = ("compute", "memory", "launch")

PRICE, LAUNCH = "price", "launch_overhead"
"""What varies though no spec of the device states it."""


@dataclass(frozen=True)
class Objective:
    """A figure that variants are judged by."""

    name: str
    dimension: units.Dimension
    less_is_better: bool = True
    parameter: Parameter | None = None
    """Where it is a fact that varies, and not a figure."""

    def shown(self, value: float) -> str:
        """For a reader."""
        if self.parameter:
            return self.parameter.show(value)
        if self.name == "balance":
            return units.format_quantity(value, self.dimension, unit="J·s")
        return figure_text(value, self.dimension)


OBJECTIVES: Mapping[str, Objective] = MappingProxyType(
    {
        one.name: one
        for one in (
            Objective("latency", units.SECONDS),
            Objective("energy", units.JOULES),
            Objective("cost", units.DOLLARS),
            Objective("memory", units.BYTES),
            Objective("power", units.WATTS),
            Objective("balance", units.JOULES),
            Objective("throughput", units.HERTZ, less_is_better=False),
            Objective("utilization", units.DIMENSIONLESS, less_is_better=False),
        )
    }
)
"""Energy and cost are of one and of 10⁶ inferences; balance is energy × latency."""


@dataclass(frozen=True)
class Run:
    """A network at a batch, in a setting."""

    work: Workload
    setting: Setting


@dataclass(frozen=True)
class Design:
    """What is explored."""

    base: Hardware
    energies: Energies
    runs: tuple[Run, ...]
    space: Space
    objectives: tuple[Objective, ...]
    wanted: tuple[Requirement, ...] = ()
    tariff: Tariff | None = None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What varies."""
        return tuple(axis.parameter for axis in self.space.axes)

    @property
    def figures(self) -> tuple[Objective, ...]:
        """The objectives that are predicted; the latency where all of them are facts."""
        return tuple(one for one in self.objectives if one.parameter is None) or (OBJECTIVES["latency"],)

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """Each setting of the runs, once."""
        return tuple(dict.fromkeys(run.setting for run in self.runs))

    @cached_property
    def read(self) -> Mapping[Setting, frozenset[str]]:
        """Paths of facts that predictions look up, by setting; a variant of any other fact is the base."""
        stated = with_values(self.base, {one.name: one.base for one in self.parameters if one.name == LAUNCH})
        found = {setting: set[str]() for setting in self.settings}
        for run in self.runs:
            noted = found[run.setting]
            tracked = TrackedHardware.of(stated, lambda fact, noted=noted: noted.add(fact.path))  # type: ignore[misc]
            predict(tracked, run.work, self.energies, run.setting)
        return {setting: frozenset(paths) for setting, paths in found.items()}

    @property
    def all_read(self) -> frozenset[str]:
        """Paths that a prediction in any setting looks up, and the capacity that decides what fits."""
        return frozenset[str]().union(*self.read.values(), [f"memories.{self.base.main_memory().name}.capacity"])

    @cached_property
    def predictions(self) -> tuple[Contender, ...]:
        """The base in each run."""
        return tuple(
            Contender(self.base, predict(self.base, run.work, self.energies, run.setting)) for run in self.runs
        )

    def facts(self, values: Numbers) -> dict[str, Numbers]:
        """Facts by path for columns of values of shape (axes, variants). Raises VaryError for one that varies twice."""
        found: dict[str, Numbers] = {}
        for one, row in zip(self.parameters, values, strict=True):
            for path, fact in one.facts(row).items():
                if path in found:
                    raise VaryError(f"{one.name} and another --vary both move {path}; vary it once")
                found[path] = fact
        return found

    def prices(self, values: Numbers) -> Numbers | float:
        """The price of each variant: that of the base unless it varies. In the unit of the tariff."""
        rows = [row for one, row in zip(self.parameters, values, strict=True) if one.name == PRICE]
        return rows[0] if rows else self.tariff.price if self.tariff else np.nan


@dataclass(frozen=True, eq=False)
class Figures:
    """What is predicted of variants; arrays have the shape (runs, variants), NaN where a figure is not known."""

    columns: Mapping[str, Numbers]
    """By the name of an objective."""
    waits_s: Numbers
    """(bounds, runs, variants)"""
    too_small: NDArray[np.bool_]
    """Which variants have a memory that is too small for a run: (variants,)."""
    not_known: tuple[str, ...]
    """Why a variant lacks figures, or has none; empty where it has all of them."""

    def of(self, name: str) -> Numbers:
        """A figure of all runs: the geometric mean, of memory the most. Shape (variants,)."""
        values = self.columns[name]
        if len(values) == 1 or name not in OBJECTIVES:
            return np.asarray(values[0])
        return np.asarray(values.max(axis=0) if name == "memory" else np.exp(np.log(values).mean(axis=0)))

    @cached_property
    def bounds(self) -> list[str]:
        """What most of the latency of all runs waits for, by variant."""
        return [BOUNDS[place] for place in np.nan_to_num(self.waits_s.sum(axis=1)).argmax(axis=0)]

    def at(self, places: NDArray[np.intp] | slice) -> "Figures":
        """Those of some variants."""
        reasons = np.array(self.not_known, dtype=object)[places]
        columns = {name: values[:, places] for name, values in self.columns.items()}
        return Figures(columns, self.waits_s[:, :, places], self.too_small[places], tuple(reasons))

    @classmethod
    def joined(cls, parts: "Sequence[Figures]") -> "Figures":
        """The variants of all parts, one after the other."""
        return cls(
            {name: np.concatenate([part.columns[name] for part in parts], axis=1) for name in parts[0].columns},
            np.concatenate([part.waits_s for part in parts], axis=2),
            np.concatenate([part.too_small for part in parts]),
            tuple(reason for part in parts for reason in part.not_known),
        )


@dataclass(frozen=True)
class Alone:
    """The best that an objective gets while one parameter moves and all others stay, where all objectives are known."""

    value: float
    """Of the parameter."""
    figure: float
    ratio: float
    """Over that of the base. [1]"""


@dataclass(frozen=True)
class Sensitivity:
    """What one parameter does at the base."""

    axis: Axis
    elasticities: Mapping[str, float]
    """d ln(figure) / d ln(parameter) by objective: change in per cent for each per cent. NaN where not known. [1]"""
    alone: Mapping[str, Alone]
    """By objective."""
    along: Mapping[str, Numbers]
    """By objective, over that of the base: at each value of the axis. [1]"""
    bounds: tuple[tuple[float, str], ...]
    """What the latency waits for at each value of the axis."""

    @property
    def turns(self) -> tuple[tuple[float, str], ...]:
        """The first value, and those from which on something else bounds."""
        return tuple(
            pair for place, pair in enumerate(self.bounds) if not place or pair[1] != self.bounds[place - 1][1]
        )


@dataclass(frozen=True, eq=False)
class Exploration:
    """What was found."""

    design: Design
    base: Figures
    """Of the device as it is: one column."""
    figures: Figures
    """Of all variants."""
    front: NDArray[np.intp]
    """The Pareto set by the first objective, best first; of equal variants the one that differs least from the base."""
    alike: tuple[int, ...]
    """How many variants have the figures of each of them, itself counted."""
    excluded: Mapping[str, int]
    """Why variants cannot be in the Pareto set → how many."""
    sensitivities: tuple[Sensitivity, ...]
    """Of the parameters, the one with the largest elasticity of the first objective first."""
    eligible: NDArray[np.bool_]


def parameters(
    base: Hardware, names: Sequence[str], energies: Energies, launch: str, tariff: Tariff | None
) -> Iterator[Parameter]:
    """The parameters of some names; `price` and `launch_overhead` as well. Raises VaryError."""
    for name in names:
        if name == PRICE:
            if tariff is None:
                raise VaryError(f"price: no price of {base.id} is known to vary; give the base's with --price")
            yield Parameter(PRICE, tariff.kind, tariff.price, {}, "")
        elif name == LAUNCH and LAUNCH not in base.facts:
            yield _launches(base, energies, launch)
        else:
            yield parameter(base, name)


def _launches(base: Hardware, energies: Energies, launch: str) -> Parameter:
    """The launch overhead that a device states nowhere and predictions take from others of its kind."""
    overhead, kind = launch_overhead(base, energies.coefficients, launch), kind_of(LAUNCH)
    if overhead is None or kind is None:
        why = "launches are free" if launch == FREE else f"none of {article(base.kind)} is known"
        raise VaryError(f"{LAUNCH}: there is none to vary: {why}")
    return Parameter(LAUNCH, kind, overhead.typical, {LAUNCH: 1.0}, f"{LAUNCH} of the base: {overhead.basis}")


def quantities(varied: Sequence[Parameter], *, less_is_better: bool = True) -> dict[str, Objective]:
    """All that variants can be judged by: figures, and facts that vary, of which less or more is better as asked."""
    return dict(OBJECTIVES) | {one.name: Objective(one.name, one.kind.dimension, less_is_better, one) for one in varied}


def objectives(
    names: Sequence[str], varied: Sequence[Parameter] = (), *, less_is_better: bool = True
) -> tuple[Objective, ...]:
    """Objectives by name: figures, and facts that vary.

    Raises RooflintError for an unknown one, and for a figure of which more is better or less.
    """
    known = quantities(varied, less_is_better=less_is_better)
    for name in names:
        if name not in known:
            able = [one.name for one in known.values() if one.less_is_better is less_is_better]
            raise RooflintError(f"'{name}': want {', '.join(able)}")
        if known[name].less_is_better is not less_is_better:
            better, option = ("more", "maximise") if less_is_better else ("less", "minimise")
            raise RooflintError(f"{name}: {better} is better; {option} it")
    return tuple(known[name] for name in dict.fromkeys(names))


def explore(asked: Design, workers: Workers = HERE) -> Exploration:
    """All variants of a design, their Pareto set, and the sensitivities at the base.

    Variants are predicted in shards by `workers`.

    Raises VaryError for facts that no prediction depends on, what `predict` raises where the base cannot run a network,
    RooflintError for an objective that is not known of the base, and ClusterError where workers cannot be used.
    """
    _check(asked)
    base = np.array([[one.base] for one in asked.parameters])
    probes = [probe for place, axis in enumerate(asked.space.axes) for probe in _probes(base, place, axis)]
    blocks = [base, *probes, asked.space.values]
    everything = _in_shards(asked, np.concatenate(blocks, axis=1), workers)
    ends = np.cumsum([block.shape[1] for block in blocks])
    parts = [everything.at(slice(end - block.shape[1], end)) for end, block in zip(ends, blocks, strict=True)]
    _refuse_unknown(asked, parts[0])
    found = parts[-1]
    excluded, eligible = _excluded(asked, found)
    front, alike = _front(asked, found, eligible)
    felt = [
        _sensitivity(asked, axis, parts[0], *parts[1 + 2 * place : 3 + 2 * place])
        for place, axis in enumerate(asked.space.axes)
    ]
    first = asked.figures[0].name
    felt.sort(key=lambda one: -abs(np.nan_to_num(one.elasticities[first])))
    return Exploration(asked, parts[0], found, front, alike, excluded, tuple(felt), eligible)


def _check(asked: Design) -> None:
    for each in asked.wanted:
        if each.criterion.name not in OBJECTIVES:
            able = ", ".join(name for name in OBJECTIVES if name in CRITERIA)
            raise RooflintError(f"'{each.text}': variants have no {each.criterion.name}; want {able}")
    names = [one.name for one in asked.objectives]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise RooflintError(f"{twice}: minimise or maximise it, and not both")
    read = asked.all_read
    for one in asked.parameters:
        if one.shares and not read & set(one.shares):
            compute = ", ".join(dict.fromkeys(setting.compute for setting in asked.settings))
            raise VaryError(f"{one.name}: nothing that is predicted in {compute} depends on {', '.join(one.shares)}")


def _probes(base: Numbers, place: int, axis: Axis) -> Iterator[Numbers]:
    """The base with one parameter nudged down and up; then with all values of its axis."""
    for values in (np.array(axis.parameter.around(NUDGE)), axis.values):
        probe = np.repeat(base, len(values), axis=1)
        probe[place] = values
        yield probe


def _in_shards(asked: Design, values: Numbers, workers: Workers) -> Figures:
    if workers == HERE:
        return figures(asked, values)
    counts = [row for one, row in zip(asked.parameters, values, strict=True) if one.kind.whole]
    order = np.lexsort(counts) if counts else np.arange(values.shape[1])  # variants of equal counts are one computation
    shards = np.array_split(values[:, order], _shard_count(asked, values.shape[1], workers), axis=1)
    function = partial(_with_same_specs, asked, asked.energies.coefficients.registry.digest)
    return Figures.joined(list(results(function, shards, workers))).at(np.argsort(order))


def _shard_count(asked: Design, variants: int, workers: Workers) -> int:
    seconds = variants * sum(PREDICTION_S[run.setting.fidelity] for run in asked.runs)
    return min(variants, max(workers.count, math.ceil(seconds / SHARD_S)))


def _with_same_specs(asked: Design, digest: str, values: Numbers) -> Figures:
    """In a worker, which reads coefficients that it was not sent. Raises ClusterError where it has other files."""
    if asked.energies.coefficients.registry.digest != digest:
        raise ClusterError("a worker has other specs; give it the same files below the same folders as here")
    return figures(asked, values)


def figures(asked: Design, values: Numbers) -> Figures:
    """Predictions for columns of parameter values, shape (axes, variants)."""
    facts, shape = asked.facts(values), (len(asked.runs), values.shape[1])
    predicted = {setting: _predicted(asked, setting, facts) for setting in asked.settings}
    rows = [predicted[run.setting] for run in asked.runs]
    places = [sum(earlier.setting == run.setting for earlier in asked.runs[:at]) for at, run in enumerate(asked.runs)]

    def column(name: str) -> Numbers:
        found = [getattr(row, name)[place] for row, place in zip(rows, places, strict=True)]
        return np.stack([np.broadcast_to(row, shape[1]) for row in found])

    batches = np.array([[run.work.batch] for run in asked.runs])
    latency_s, energy_j = column("latency_s"), column("energy_j") / batches
    columns = {
        "latency": latency_s,
        "energy": energy_j,
        "power": column("power_w"),
        "memory": column("peak_memory_bytes"),
        "utilization": column("utilization"),
        "throughput": batches / latency_s,
        "balance": energy_j * latency_s,
    }
    columns["cost"] = np.broadcast_to(_cost(asked, values, columns), shape)
    columns |= {one.name: row[None] for one, row in zip(asked.parameters, values, strict=True)}
    waits_s = np.stack([column(f"{bound}_wait_s") for bound in BOUNDS])
    reasons = [_reasons(asked.base, found, shape[1]) for found in predicted.values()]
    not_known = tuple("; ".join(filter(None, dict.fromkeys(each))) for each in zip(*reasons, strict=True))
    return Figures(columns, waits_s, _too_small(asked, facts, columns["memory"]), not_known)


def _predicted(asked: Design, setting: Setting, facts: Mapping[str, Numbers]) -> Variants:
    """Of the networks that run in a setting; one variant, the base, where no fact that varies is looked up in it."""
    works = [run.work for run in asked.runs if run.setting == setting]
    varied = {path: fact for path, fact in facts.items() if path in asked.read[setting]}
    if not varied:
        path = next(path for path in asked.base.facts if path in asked.read[setting])
        varied = {path: np.array([asked.base.facts[path].value])}
    return predict_variants(asked.base, varied, works, asked.energies, setting)


def _cost(asked: Design, values: Numbers, columns: Mapping[str, Numbers]) -> Numbers | float:
    if asked.tariff is None:
        return np.nan
    cost: Numbers = asked.tariff.usd_per_million(asked.prices(values), columns["throughput"], columns["power"])
    return cost


def _reasons(base: Hardware, found: Variants, count: int) -> list[str]:
    """Why figures are missing, by variant; without the name of the base, which is that of all."""
    texts = [refused or unknown for refused, unknown in zip(found.not_supported, found.not_known, strict=True)]
    each = [text.replace(f"{base.label}: ", "").replace(f"{base.id}: ", "") for text in texts]
    return each * count if len(each) == 1 else each


def _too_small(asked: Design, facts: Mapping[str, Numbers], memory: Numbers) -> NDArray[np.bool_]:
    """Variants without room for a run, as far as is known."""
    name = f"memories.{asked.base.main_memory().name}.capacity"
    stated = asked.base.facts[name].value if name in asked.base.facts else np.inf
    return np.asarray((memory > facts.get(name, stated)).any(axis=0))


def _refuse_unknown(asked: Design, base: Figures) -> None:
    for one in asked.objectives:
        if np.isnan(base.of(one.name)[0]):
            no_price = one.name == "cost" and asked.tariff is None
            why = "no price of the device is known; give one with --price" if no_price else base.not_known[0]
            raise RooflintError(f"{one.name} of {asked.base.label} is not known: {why}")


def _excluded(asked: Design, found: Figures) -> tuple[dict[str, int], NDArray[np.bool_]]:
    """Why variants are left out → how many, each counted for its first reason; and those that are left."""
    left, counts = np.ones(len(found.too_small), dtype=bool), dict[str, int]()

    def leave_out(these: NDArray[np.bool_], why: str) -> None:
        if count := int((left & these).sum()):
            counts[why] = counts.get(why, 0) + count
        left[these] = False

    def leave_unknown(values: Numbers, lead: str) -> None:
        these = np.asarray(np.isnan(values).any(axis=0))
        for why in dict.fromkeys(found.not_known[place] for place in np.flatnonzero(these)):
            leave_out(these & np.array([reason == why for reason in found.not_known]), lead + why)

    leave_unknown(np.stack([found.of(one.name) for one in asked.objectives]), "")
    leave_out(found.too_small, "the memory is too small")
    for each in asked.wanted:
        values = found.columns[each.criterion.name]
        held = HOLDS[each.sign](values, each.limit) | np.isnan(values)
        leave_out(~held.all(axis=0), f"{each.text} does not hold")
        leave_unknown(values, f"whether {each.text} holds is not known: ")
    return counts, left


def _front(asked: Design, found: Figures, eligible: NDArray[np.bool_]) -> tuple[NDArray[np.intp], tuple[int, ...]]:
    """The Pareto set of what is eligible, each figure once, and how many variants have it."""
    signs = np.array([1.0 if one.less_is_better else -1.0 for one in asked.objectives])
    scores = np.stack([found.of(one.name) for one in asked.objectives], axis=1) * signs
    scores = significant(np.where(eligible[:, None], scores, np.nan), SAME)
    best = np.flatnonzero(non_dominated(scores))
    base = np.array([[one.base] for one in asked.parameters])
    far = np.abs(np.log(asked.space.values[:, best] / base)).sum(axis=0)
    best = best[np.lexsort((best, far))]
    _, nearest, counts = np.unique(scores[best], axis=0, return_index=True, return_counts=True)
    return best[nearest], tuple(counts.tolist())


def _sensitivity(asked: Design, axis: Axis, base: Figures, nudged: Figures, along: Figures) -> Sensitivity:
    low, high = axis.parameter.around(NUDGE)
    slopes, alone, ratios = {}, {}, {}
    unknown = np.isnan(np.stack([along.of(one.name) for one in asked.figures])).any(axis=0)
    for one in asked.figures:
        below, above = nudged.of(one.name)
        slopes[one.name] = float(np.log(above / below) / np.log(high / low))
        values = along.of(one.name)
        ratios[one.name] = values / base.of(one.name)[0]
        if not unknown.all():
            able = np.where(unknown, np.nan, values)
            best = int(np.nanargmin(able) if one.less_is_better else np.nanargmax(able))
            alone[one.name] = Alone(float(axis.values[best]), float(values[best]), float(ratios[one.name][best]))
    return Sensitivity(axis, slopes, alone, ratios, tuple(zip(axis.values.tolist(), along.bounds, strict=True)))
