"""Generation: a language model that reads prompts and then writes tokens, on one device or several.

All prompts of a batch are read first (prefill), which gives the first token of each; then every pass writes one more
token of each (decode), on a cache that grows. docs/method-networks.md has the definitions.

    runs = [Run(llama, batch, 2048, 256) for batch in (1, 8, 64)]
    sweep([Place(h100), Place(mi300x)], runs, energies, [Setting("w4a16")])
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rooflint.base import units
from rooflint.base.memo import memoised
from rooflint.base.text import counted
from rooflint.cost.tables import NoPriceError
from rooflint.energy.model import Energies
from rooflint.prediction.comparison import Contender, Criterion, Requirement, contend
from rooflint.prediction.cost import CostTables, Tariff, tariff
from rooflint.prediction.cost import Place as Site
from rooflint.prediction.parallel import NETWORK, Pass, Place, Split
from rooflint.prediction.pareto import non_dominated
from rooflint.prediction.predict import NotKnownError, Prediction, Setting
from rooflint.prediction.run import ALONE, Memory, Run
from rooflint.workloads.parallelism import Parallelism
from rooflint.workloads.stack import Stack, stacked
from rooflint.workloads.transformer import Step
from rooflint.workloads.workload import Workload


@dataclass(frozen=True)
class Phase:
    """Prefill or decode: all of its passes."""

    latency_s: float
    waits_s: Mapping[str, float]
    """What the latency waits for; the parts add up to it."""
    energy_j: float | None
    """None where it is not known, or a term is missing."""
    ops: float
    """Of all devices, and so are bytes and energy."""
    bytes_moved: float
    compute_efficiency: float
    bandwidth_efficiency: float

    @classmethod
    def of(cls, found: Pass, times: float = 1.0) -> Self:
        """Of passes on several devices, so many times."""
        return cls(
            times * found.latency_s,
            {name: times * seconds for name, seconds in found.shares.items()},
            times * found.energy_j if found.complete else None,
            times * found.ops,
            times * found.bytes_moved,
            found.compute_efficiency,
            found.bandwidth_efficiency,
        )

    @property
    def bound(self) -> str:
        """What most of the latency waits for."""
        return max(self.waits_s, key=lambda name: self.waits_s[name])


@dataclass(frozen=True, repr=False)
class Generation:
    """A run on one device, or on several that share the network."""

    run: Run
    setting: Setting
    place: Place
    """Where it runs."""
    prefill: Phase
    decode: Phase | None
    memory: Memory
    """Of each device."""
    capacity_bytes: float | None
    """Of each device, as far as the run may use it; None where it is not known."""
    tariff: Tariff | None = None
    """Of one device; None where no price is known."""
    is_floor: bool = False
    """Whether its times are the roofline's, a lower bound, although calibrated ones were asked for."""
    borrows_launch: bool = False
    """Whether its launches cost what is published of another mode or vendor."""

    def __repr__(self) -> str:
        return f"<Generation on {self.name}, batch {self.run.batch}: {self.tokens_per_s:.4g} tokens/s>"

    @property
    def short(self) -> str:
        """The device without its vendor, and how many there are."""
        return self.place.short

    @property
    def label(self) -> str:
        """`nvidia/t4`, `8 × nvidia/h100-sxm5-80gb`"""
        return self.place.label

    @property
    def name(self) -> str:
        """`h100-sxm5-80gb w4a16`"""
        return f"{self.short} {self.setting.compute}"

    @property
    def phases(self) -> tuple[tuple[str, Phase], ...]:
        """Those that there are, by name."""
        found = (("prefill", self.prefill), ("decode", self.decode))
        return tuple((name, phase) for name, phase in found if phase)

    @property
    def first_token_s(self) -> float:
        """Time to first token: all prompts are read. [s]"""
        return self.prefill.latency_s

    @property
    def token_s(self) -> float | None:
        """Time per output token: the mean pass of decode; None where there is none. [s]"""
        return self.decode.latency_s / self.run.steps if self.decode else None

    @property
    def total_s(self) -> float:
        """Until the last token. [s]"""
        return self.first_token_s + (self.decode.latency_s if self.decode else 0.0)

    @property
    def tokens(self) -> int:
        """Written, of all sequences."""
        return self.run.batch * self.run.generate

    @property
    def tokens_per_s(self) -> float:
        """Tokens written over the whole time, of all sequences. [1/s]"""
        return self.tokens / self.total_s

    @property
    def tokens_per_s_of_device(self) -> float:
        """The same over the number of devices. [1/s]"""
        return self.tokens_per_s / self.place.how.devices

    @property
    def tokens_per_s_of_user(self) -> float | None:
        """Tokens that a sequence gets once the first is there; None where no other is written. [1/s]"""
        return 1 / self.token_s if self.token_s else None

    @property
    def waits_s(self) -> Mapping[str, float]:
        """What the whole run waits for. [s]"""
        names = dict.fromkeys(name for _, phase in self.phases for name in phase.waits_s)
        return {name: sum(phase.waits_s.get(name, 0.0) for _, phase in self.phases) for name in names}

    @property
    def bound(self) -> str:
        """What most of the whole run waits for."""
        return max(self.waits_s, key=lambda name: self.waits_s[name])

    @property
    def energy_j(self) -> float | None:
        """Of the whole run; None where it is not known of a phase, or a term is missing. [J]"""
        known = [phase.energy_j for _, phase in self.phases]
        return None if None in known else sum(energy for energy in known if energy is not None)

    @property
    def token_j(self) -> float | None:
        """Energy of a token that is written, its share of the prompt included; also MJ of a million. [J]"""
        return None if self.energy_j is None else self.energy_j / self.tokens

    @property
    def usd_per_million(self) -> float | None:
        """Cost of a million tokens that are written; None without a price, or a power where that is paid. [USD]"""
        if self.tariff is None or (self.tariff.pays_power and self.energy_j is None):
            return None
        power_w = (self.energy_j or 0.0) / self.total_s / self.place.how.devices
        return float(self.tariff.usd_per_million(self.tariff.price, self.tokens_per_s_of_device, power_w))

    @property
    def fits(self) -> bool | None:
        """Whether the memory has room for weights, cache and activations; None where its capacity is not known."""
        return None if self.capacity_bytes is None else self.memory.total_bytes <= self.capacity_bytes

    @property
    def largest_batch(self) -> int | None:
        """The most sequences for which there is room; None where the capacity is not known."""
        return None if self.capacity_bytes is None else self.memory.largest_batch(self.capacity_bytes)


def _known(value: float | None) -> float:
    if value is None:
        raise NotKnownError("it is not known")
    return value


RUN_CRITERIA: Mapping[str, Criterion] = MappingProxyType(
    {
        one.name: one
        for one in (
            Criterion("first-token", units.SECONDS, lambda found: found.first_token_s),
            Criterion("per-token", units.SECONDS, lambda found: _known(found.token_s)),
            Criterion("throughput", units.HERTZ, lambda found: found.tokens_per_s_of_device, less_is_better=False),
            Criterion("user", units.HERTZ, lambda found: _known(found.tokens_per_s_of_user), less_is_better=False),
            Criterion("energy", units.JOULES, lambda found: _known(found.token_j)),
            Criterion("memory", units.BYTES, lambda found: found.memory.total_bytes),
        )
    }
)
"""Throughput of a device and of a user in tokens; energy of a token."""

RUN_EXAMPLE = "first-token<500ms,per-token<20ms"


@dataclass(frozen=True, repr=False)
class Candidate:
    """A target with its runs, or with the reason why it cannot run them."""

    contender: Contender
    """One of the devices with a prediction of passes, or with the reason why there is none."""
    setting: Setting
    place: Place
    runs: tuple[Generation, ...] = ()
    split: Split | None = None
    """The network on several devices; None on one."""

    def __repr__(self) -> str:
        return f"<Candidate {self.label} {self.setting.compute}: {counted(len(self.runs), 'run')}>"

    @property
    def label(self) -> str:
        """`nvidia/t4`, `8 × nvidia/h100-sxm5-80gb`"""
        return self.place.label

    @property
    def short(self) -> str:
        """The label without its vendor."""
        return self.place.short

    @property
    def found(self) -> Generation | None:
        """The only run, or the first."""
        return self.runs[0] if self.runs else None

    def able(self, wanted: Sequence[Requirement] = ()) -> tuple[Generation, ...]:
        """Runs that are not known to lack room and that keep all requirements."""
        return tuple(one for one in self.runs if one.fits is not False and all(each.met(one) for each in wanted))

    def best(self, wanted: Sequence[Requirement] = ()) -> Generation | None:
        """Of these, the one with the most tokens/s for each device."""
        return max(self.able(wanted), key=lambda one: one.tokens_per_s_of_device, default=None)


def generate(
    places: Iterable[Place],
    run: Run,
    energies: Energies,
    setting: Setting,
    costs: CostTables | None = None,
    site: Site | None = None,
    memory_share: float = 1.0,
) -> tuple[Candidate, ...]:
    """The run on each place. A device that cannot compute in that precision is kept with its reason.

    Raises WorkloadError for what cannot be divided.
    """
    return sweep(places, [run], energies, [setting], costs, site, memory_share)


def sweep(
    places: Iterable[Place],
    runs: Sequence[Run],
    energies: Energies,
    settings: Sequence[Setting],
    costs: CostTables | None = None,
    site: Site | None = None,
    memory_share: float = 1.0,
) -> tuple[Candidate, ...]:
    """All runs on each place in each setting; `memory_share` of a memory may be used.

    Passes that runs have in common are predicted once, and all passes on a device together. Raises as `generate`.
    """
    asked = _Asked(runs, energies, costs, site, memory_share)
    return tuple(asked.on(place, setting) for place in places for setting in settings)


@dataclass(frozen=True, eq=False)
class _Plan:
    """Runs, all their passes in one stack, and how often each run has each pass."""

    runs: Sequence[Run]
    stack: Stack
    prefill: NDArray[np.float64]
    """Shape (runs, tables)"""
    decode: NDArray[np.float64]

    @classmethod
    def of(cls, runs: Sequence[Run], fuse: bool) -> "_Plan":
        tables = {id(work): work for run in runs for _, work in (*run.prefill, *run.decode)}
        places = {each: place for place, each in enumerate(tables)}

        def counts(passes: Sequence[tuple[tuple[float, Workload], ...]]) -> NDArray[np.float64]:
            found = np.zeros((len(runs), len(tables)))
            for row, some in enumerate(passes):
                for times, work in some:
                    found[row, places[id(work)]] += times
            return found

        stack = stacked([work.fused() if fuse else work for work in tables.values()])
        return cls(runs, stack, counts([run.prefill for run in runs]), counts([run.decode for run in runs]))


@dataclass(frozen=True, eq=False)
class _Asked:
    """Runs, and all that is the same on every place."""

    runs: Sequence[Run]
    energies: Energies
    costs: CostTables | None
    site: Site | None
    memory_share: float

    @memoised
    def plan(self, fuse: bool) -> _Plan:
        return _Plan.of(self.runs, fuse)

    @memoised
    def memories(self, storage: str, how: Parallelism) -> tuple[Memory, ...]:
        return tuple(run.memory(storage, how) for run in self.runs)

    @memoised
    def tariff(self, device: str) -> Tariff | None:
        try:
            return tariff(device, self.costs, place=self.site) if self.costs else None
        except NoPriceError:
            return None

    def on(self, place: Place, setting: Setting) -> Candidate:
        """All runs on a place in a setting."""
        needed = self.memories(setting.storage or setting.compute, place.how)
        split = None if place.how == ALONE else self._split(place, setting)
        contender, phases = self._together(split) if split else self._alone(place, setting)
        if contender.found is None:
            return Candidate(contender, setting, place, (), split)
        main = place.hardware.main_memory()
        capacity = main.capacity_bytes * self.memory_share if "capacity" in main.facts else None
        price = self.tariff(place.hardware.id)
        reasons = contender.found.reasons
        is_floor, borrows_launch = "fidelity" in reasons, "launch" in reasons
        runs = (
            Generation(run, setting, place, prefill, decode, memory, capacity, price, is_floor, borrows_launch)
            for run, (prefill, decode), memory in zip(self.runs, phases, needed, strict=True)
        )
        return Candidate(contender, setting, place, tuple(runs), split)

    def _alone(self, place: Place, setting: Setting) -> tuple[Contender, list[tuple[Phase, Phase | None]]]:
        """On one device: all passes at once."""
        plan = self.plan(setting.fuse)
        contender = contend(place.hardware, plan.stack.work, self.energies, replace(setting, fuse=False))
        if contender.found is None:
            return contender, []
        # a stack has no footprint, and needs none: that of each run is known
        reasons = {what: why for what, why in contender.found.reasons.items() if what != "footprint"}
        found = replace(contender.found, reasons=reasons)
        prefill, decode = (_phases(found, plan.stack, counts) for counts in (plan.prefill, plan.decode))
        phases = [(one, two if run.steps else None) for run, one, two in zip(self.runs, prefill, decode, strict=True)]
        return replace(contender, found=found), phases

    def _split(self, place: Place, setting: Setting) -> Split:
        network = self.runs[0].network
        return Split(network.writer, place, self.energies, setting, network.sees)

    def _together(self, split: Split) -> tuple[Contender, list[tuple[Phase, Phase | None]]]:
        """On several devices that share the network."""
        contender = contend(split.place.hardware, split.step, self.energies, split.setting)
        if contender.found is None:
            return contender, []
        return contender, [self._shared(split, run) for run in self.runs]

    def _shared(self, split: Split, run: Run) -> tuple[Phase, Phase | None]:
        first, *more = _passes(split, run)
        return Phase.of(*first), Phase.of(*more[0]) if more else None


def _passes(split: Split, run: Run) -> Iterator[tuple[Pass, float]]:
    """Of prefill, and of decode where there is one, and how often each runs."""
    yield split.phase(run.batch, run.prompt, [Step(0)], run.together), 1.0
    if run.steps:
        lengths = run.lengths
        yield split.phase(run.batch, 1, lengths), run.steps / len(lengths)


def _phases(found: Prediction, stack: Stack, counts: NDArray[np.float64]) -> list[Phase]:
    """A phase of each run, which has so many of each pass: counts of the shape (runs, tables)."""
    times = found.times
    waits = {name: counts @ seconds for name, seconds in times.waits_of(stack.sums).items()}
    waits[NETWORK] = np.zeros(len(counts))
    latency_s = counts @ times.latencies_s(stack.sums)
    busy_s, ops, moved = (counts @ stack.sums(one) for one in (times.peak_s, times.ops, times.bytes_moved))
    energy_j = counts @ found.energy.totals_j(stack.sums) if found.complete else None
    divisor = np.where(latency_s > 0, latency_s, 1.0)
    bandwidth = moved / divisor / found.bandwidth_bytes_per_s
    return [
        Phase(
            float(latency_s[row]),
            {name: float(seconds[row]) for name, seconds in waits.items()},
            None if energy_j is None else float(energy_j[row]),
            float(ops[row]),
            float(moved[row]),
            float((busy_s / divisor)[row]),
            float(bandwidth[row]),
        )
        for row in range(len(counts))
    ]


def kernel_times(found: Candidate, run: Run) -> Mapping[str, Mapping[str, float]]:
    """Seconds of the kernels of each phase by name, of a candidate with this run alone; all steps of decode as one.

    Of several devices with what they wait for others, by collective.
    """
    if found.split:
        passes = zip(("prefill", "decode"), _passes(found.split, run), strict=False)
        return {phase: {name: times * each for name, each in one.kernels_s.items()} for phase, (one, times) in passes}
    plan, prediction = _Plan.of([run], found.setting.fuse), found.contender.prediction
    lengths = [len(work) for work in plan.stack.tables]
    names = [str(name).partition("@")[0] for name in prediction.run.op_names]
    kernel_s = prediction.times.kernel_s
    phases: dict[str, dict[str, float]] = {}
    for phase, counts in (("prefill", plan.prefill[0]), ("decode", plan.decode[0])):
        seconds = np.repeat(counts, lengths) * kernel_s
        rows = phases.setdefault(phase, {})
        for name, each in zip(names, seconds.tolist(), strict=True):
            if each:
                rows[name] = rows.get(name, 0.0) + each
    return {phase: rows for phase, rows in phases.items() if rows}


def competing(found: Iterable[Generation]) -> list[Generation]:
    """Runs that may win: no lower bound of the time competes with calibrated times."""
    runs = list(found)
    return [one for one in runs if not one.is_floor] or runs


def pareto(found: Iterable[Generation]) -> tuple[Generation, ...]:
    """Runs that may win, and that no other beats in tokens/s for each device with as many for a user, or reversed.

    The one with the most tokens for a user first.
    """
    runs = competing(found)
    if not runs:
        return ()
    figures = np.array([(-one.tokens_per_s_of_device, -(one.tokens_per_s_of_user or np.nan)) for one in runs])
    kept = [one for one, best in zip(runs, non_dominated(figures), strict=True) if best]
    return tuple(sorted(kept, key=lambda one: one.token_s or 0.0))
