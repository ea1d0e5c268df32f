"""Runs of networks on one device: which cases, in which order, within which time, each beside the peak product."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib.util import find_spec

from pytest_rooflint.recordings.runs import (
    NO_TORCH,
    Request,
    Results,
    budget_text,
    fp32_ops_per_s,
    minutes,
    reference,
    reference_s,
    tried,
)
from rooflint.base.errors import MissingTorchError, RooflintError
from rooflint.base.text import counted
from rooflint.base.units import OPS_PER_MAC
from rooflint.workloads import load
from rooflint.workloads.configuration import Transformer
from rooflint.workloads.encoder_decoder import EncoderDecoder
from rooflint.workloads.load import Shapes, configured_network
from rooflint.workloads.tables import UnknownNetworkError
from rooflint.workloads.workload import Workload
from rooflint_measure.identity import last_level_bytes
from rooflint_measure.record import Measurement, Stream, Unavailable
from rooflint_measure.stopwatches import gemm, network, products, stream
from rooflint_measure.stopwatches.gemm import NoTimeError, NotMeasuredError, Peak
from rooflint_measure.stopwatches.network import FEWEST, Model, Setting

LEAST_S = 1.0
"""A network is not timed for less. [s]"""
AROUND_S = 1.5
"""Moving and warming up a network takes about so long beside its samples. [s]"""
WEIGHT_S = 40e-9
"""Drawing one weight takes about so long: 20 to 115 ns, BERT to ResNet-50 on two cores of Emerald Rapids. [s]"""
COMPILE_S = 15.0
"""Compiling a network takes about so long: 12 to 16 s of CPU time, ResNet-18 to ViT-B/16 on the same cores. [s]"""
NETWORK_SHARE = 0.25
"""Of the rate of a small product in fp32 that a plan expects of a network. [1]"""
STREAM_S = 2.0
"""A pass through memory is timed no longer, and takes about so long with its arrays. [s]"""
PLANNED = 0.8
"""Share of the time left that a plan fills: on a shared machine, all takes longer."""
SHORTER = 0.95
"""Share of the time for a figure that is tried next, where too few fit."""
STORED = {"int8": ("fp32", 8 / 32), "int4": ("bf16", (4 + 2 * 16 / 128) / 16)}
"""What is stored where linear layers were quantized: the precision of all else, and the share that their weights keep.

torch has a scale for a tensor; torchao a scale and a zero of 16 bit for each 128 weights.
"""
ALL = "all"
"""Every mode that the device has."""


@dataclass(frozen=True)
class Sweep:
    """Networks, and how each is run."""

    names: tuple[str, ...]
    batches: tuple[int, ...] = (1,)
    modes: tuple[str, ...] = ("eager",)
    """Words of `network.mode`, or `all`."""
    flush: bool = False
    prompt: int | None = None
    """New tokens of each sequence, of language models."""
    past: int = 0
    counters: bool = False
    """Ask a GPU's hardware counters, too; those of a CPU always are."""
    shapes: Shapes = ()
    """Of the inputs of the others, batch first."""


@dataclass(frozen=True)
class Case:
    """One network in one setting."""

    name: str
    precision: str
    batch: int
    mode: str
    rank: int
    """In how many ways it is not the first choice; those of 0 come first, so that a short budget has every network.

    Of the same rank, another precision comes before another batch, and that before another mode.
    """

    @property
    def label(self) -> str:
        """`network resnet18 fp32 b8 compile`."""
        words = [
            "network",
            short(self.name),
            self.precision,
            f"b{self.batch}",
            *([] if self.mode == "eager" else [self.mode]),
        ]
        return " ".join(words)


def cases(request: Request, sweep: Sweep) -> list[Case]:
    """All of them, in the order in which they are measured."""
    modes = [*dict.fromkeys(one for word in sweep.modes for one in _modes(word, request.device))]
    every = _cases(request.precisions or ("fp32",), modes, sweep)
    return sorted(every, key=lambda one: (one.rank, one.mode != modes[0], one.batch != sweep.batches[0]))


def _modes(word: str, device: str) -> tuple[str, ...]:
    return network.modes(device) if word == ALL else (word,)


def _cases(precisions: tuple[str, ...], modes: list[str], sweep: Sweep) -> Iterator[Case]:
    for at, precision in enumerate(precisions):
        for name in sweep.names:
            for place, batch in enumerate(sweep.batches):
                for number, mode in enumerate(modes):
                    yield Case(name, precision, batch, mode, (at > 0) + (place > 0) + (number > 0))


@dataclass(frozen=True)
class Work:
    """What a network is made of, by its table."""

    macs: float = 0.0
    """Of one sample. [MAC]"""
    weights: float = 0.0
    """Numbers that are drawn at random. [1]"""


@dataclass(frozen=True)
class Costs:
    """How long cases take, estimated before any is measured."""

    works: Mapping[str, Work] = field(default_factory=dict)
    """By name of the network; what is not there takes no time of its own."""
    ops_per_s: float = math.inf
    """That networks are expected to reach. [op/s]"""
    energy_s: float = 0.0
    """Of each metered run. [s]"""

    def of(self, case: Case, seconds: float) -> float:
        """Building it, its samples of so many seconds, and all that is beside them. [s]"""
        work = self.works.get(case.name, Work())
        built_s = WEIGHT_S * work.weights + COMPILE_S * ("compile" in case.mode.split("+"))
        call_s = OPS_PER_MAC * work.macs * case.batch / self.ops_per_s
        return AROUND_S + built_s + max(seconds, FEWEST * call_s) + self.energy_s


@dataclass(frozen=True)
class Plan:
    """What fits a budget, with the search of the peak product in each precision and one pass through memory."""

    chosen: tuple[Case, ...]
    seconds: float
    """For each figure. [s]"""
    takes_s: float
    """For all of them, about. [s]"""
    dropped: Mapping[Case, float] = field(default_factory=dict)
    """What does not fit, with the budget that has room for it and for all before it. [s]"""


def plan(every: Sequence[Case], request: Request, left_s: float, costs: Costs, spent_s: float = 0.0) -> Plan:
    """As many cases as fit the time, each as long as was asked for, and shorter before one is dropped. [s]

    A slow one that does not fit makes room for those behind it.
    """
    precisions = {_multiplied(one.precision) for one in every}

    def takes_s(seconds: float, cases_: Sequence[Case]) -> float:
        peaks_s = sum(reference_s(replace(request, seconds=seconds), one) for one in precisions)
        return peaks_s + sum(costs.of(one, seconds) for one in cases_) + min(seconds, STREAM_S)

    seconds, room_s = request.seconds, PLANNED * left_s
    while seconds > LEAST_S and takes_s(seconds, every) > room_s:
        seconds = max(LEAST_S, SHORTER * seconds)
    if takes_s(seconds, every) <= room_s:
        return Plan(tuple(every), seconds, takes_s(seconds, every))
    chosen: list[Case] = []
    dropped: dict[Case, float] = {}
    for number, case in enumerate(every, 1):
        if takes_s(seconds, [*chosen, case]) <= room_s:
            chosen.append(case)
        else:
            dropped[case] = spent_s + takes_s(seconds, every[:number]) / PLANNED
    if not chosen:  # one is tried, whatever is expected
        chosen = [min(every, key=lambda one: costs.of(one, seconds))]
        del dropped[chosen[0]]
    return Plan(tuple(chosen), seconds, takes_s(seconds, chosen), dropped)


def _multiplied(precision: str) -> str:
    """The precision of the products: weights of 4 bit are multiplied in bf16."""
    return "bf16" if precision == "int4" else precision


def networks(request: Request, sweep: Sweep, results: Results) -> None:
    """Networks at every batch, in every precision and mode that fits the budget, each beside the peak product."""
    if not products.has_torch():
        results.left_out |= {f"network {name}": NO_TORCH for name in sweep.names}
        return
    for word in sweep.modes:
        if word != ALL:
            network.mode(word)  # raises for a wrong word before anything is measured
    if (sweep.prompt is not None or sweep.past) and not any(map(is_text, sweep.names)):
        raise RooflintError(f"--prompt and --past are for language models, which {', '.join(sweep.names)} is not")
    with results.during("the op tables of networks"):
        works = _works(sweep)
    if results.counting:
        results.expected.update(one.label for one in cases(request, sweep))
        _stream_once(request, results)
        return
    flush_bytes = _flushed(request.device) if sweep.flush else 0
    every = cases(request, sweep)
    results.settled.update(one.label for one in every if one.label in results.done)
    with results.during("the import of what networks are built with"):
        _import_libraries(works)
    if open_ := [one for one in every if one.label not in results.done]:
        costs = Costs(works, energy_s=request.energy_s * (not isinstance(results.observer.power(), Unavailable)))
        if results.budget_s < math.inf:
            costs = replace(costs, ops_per_s=NETWORK_SHARE * fp32_ops_per_s(request, results.measurements))
        spent_s = results.spent_s
        found = plan(open_, request, results.budget_s - spent_s, costs, spent_s)
        _tell(found, results)
        _run(found, request, sweep, results, costs, flush_bytes)
    elif _lacks_stream(results):
        _stream_once(request, results)


def _run(found: Plan, request: Request, sweep: Sweep, results: Results, costs: Costs, flush_bytes: int) -> None:
    """Each case of a plan while there is time, one pass through memory, and more cases if there is time left."""
    timed = replace(request, seconds=found.seconds)
    peaks = _Peaks(timed, results, {_multiplied(one.precision) for one in found.chosen})
    pace = _Pace()
    lacks_stream = _lacks_stream(results)

    def run(case: Case) -> None:
        same = {"device": request.device, "flush_bytes": flush_bytes, **network.mode(case.mode)}
        setting = Setting(batch=case.batch, precision=case.precision, **same)
        with pace.of(costs.of(case, found.seconds), results):
            results.add(case.label, partial(_measured, timed, case, setting, sweep, peaks))

    for case in found.chosen:
        if lacks_stream and case.rank > 0:  # what says most of a network comes before other ways to run it
            _stream_once(timed, results)
            lacks_stream = False
        needs_s = costs.of(case, found.seconds) * max(1.0, pace.factor) * (pace.factor > 0)
        left_s = results.budget_s - results.spent_s - STREAM_S * lacks_stream
        if not results.stopped and 0 < left_s < needs_s:
            why = f"does not fit the {minutes(left_s)} that are left"
            results.leave_out([case.label], _room(why, results, needs_s))
        else:
            run(case)
    if lacks_stream:
        _stream_once(timed, results)
    unfit = dict(found.dropped)
    for case in found.dropped:
        needs_s = costs.of(case, found.seconds) * pace.factor + peaks.missing_s(case.precision)
        if not results.stopped and 0 < needs_s < PLANNED * (results.budget_s - results.spent_s):
            del unfit[case], results.left_out[case.label]
            run(case)
    _tell_unfit(unfit, results)


def _lacks_stream(results: Results) -> bool:
    return not any(isinstance(one.subject, Stream) for one in results.measurements)


def _tell(found: Plan, results: Results) -> None:
    """Say what is planned within a budget. What is not is left out, unless the time has room for it in the end."""
    if results.budget_s == math.inf:
        return
    count = len(found.chosen) + len(found.dropped)
    if results.tell:
        took = f"{found.seconds:.2g} s of samples each, about {minutes(found.takes_s)}"
        more = "; more if they are faster" if found.dropped else ""
        results.tell(f"plan: {len(found.chosen)} of {counted(count, 'network run')}, {took}{more}")
    results.left_out |= {case.label: _no_room(needs_s) for case, needs_s in found.dropped.items()}


def _no_room(needs_s: float) -> str:
    return f"does not fit the budget; want --budget {budget_text(needs_s)}"


def _tell_unfit(unfit: Mapping[Case, float], results: Results) -> None:
    """What neither the plan nor the time that was left in the end had room for, by the budget that would have."""
    budgets: dict[str, list[str]] = {}
    for case, needs_s in unfit.items():
        budgets.setdefault(_no_room(needs_s), []).append(case.label)
    for why, labels in budgets.items():
        results.leave_out(labels, why)


def _room(why: str, results: Results, needs_s: float) -> str:
    """A reason, with the budget that would have had room."""
    return f"{why}; want --budget {budget_text((results.spent_s + needs_s) / PLANNED)}"


class _Pace:
    """How much longer runs take than was expected of them, so far."""

    def __init__(self) -> None:
        self._expected_s = self._took_s = 0.0

    @property
    def factor(self) -> float:
        """0 before any run has ended: the first is tried, whatever is expected of it."""
        return self._took_s / self._expected_s if self._expected_s else 0.0

    @contextmanager
    def of(self, expected_s: float, results: Results) -> Iterator[None]:
        """Around a run; what it shares with others, such as the search of a product, does not count."""
        began_s, shared_s, count = results.spent_s, results.shared_s, len(results.measurements)
        yield
        if len(results.measurements) > count:
            self._expected_s += expected_s
            self._took_s += results.spent_s - began_s - (results.shared_s - shared_s)


def _stream_once(request: Request, results: Results) -> None:
    """One pass through memory: the other roof that networks stand under."""
    plan_ = gemm.plan_of(min(request.seconds, STREAM_S))
    for one in stream.passes(request.device):
        if one.name == "triad torch":
            results.add(f"stream {one.name}", partial(stream.measured, one, observer=results.observer, plan=plan_))


class _Peaks:
    """The peak product of each precision, searched for when the first network needs it."""

    def __init__(self, request: Request, results: Results, precisions: Collection[str]) -> None:
        self._request, self.results = request, results
        self._planned_s = {one: reference_s(request, one) for one in precisions}
        self._found: dict[str, Peak | str] = {}
        results.ahead_s += sum(self._planned_s.values())

    def of(self, precision: str) -> Peak:
        """Raises NotMeasuredError where there is none, with the reason each time."""
        if precision not in self._found:
            reasons: list[str] = []
            began_s = self.results.spent_s
            with self.results.during(f"the fastest product in {precision}"):
                found = tried(reasons, partial(reference, self._request, precision))
            self.results.shared_s += self.results.spent_s - began_s
            self.results.ahead_s -= self._planned_s.pop(precision, 0.0)
            self._found[precision] = found or reasons[0]
        peak = self._found[precision]
        if isinstance(peak, str):
            raise NotMeasuredError(peak)
        return peak

    def missing_s(self, precision: str) -> float:
        """About how long the search of a peak takes that was neither made nor planned. [s]"""
        product = _multiplied(precision)
        return 0.0 if product in {*self._found, *self._planned_s} else reference_s(self._request, product)

    def beside(self, precision: str) -> Peak:
        """The same; on a CPU without products of quantized numbers the one in fp32. Raises NotMeasuredError.

        Networks that are quantized run there nevertheless, by other instructions.
        """
        try:
            return self.of(_multiplied(precision))
        except NotMeasuredError:
            if precision not in network.QUANTIZED or self._request.device != "cpu":
                raise
            return self.of("fp32")


def _measured(request: Request, case: Case, setting: Setting, sweep: Sweep, peaks: _Peaks) -> Measurement:
    results = peaks.results
    try:
        return network.measured(
            model(case.name, case.batch, sweep),
            setting,
            observer=results.observer,
            plan=gemm.plan_of(request.seconds),
            reference=peaks.beside(case.precision),
            energy_s=request.energy_s,
            left_s=results.budget_s - results.spent_s,
            counters=sweep.counters,
        )
    except NoTimeError as error:
        raise NoTimeError(_room(str(error), results, error.needs_s)) from error


def short(name: str) -> str:
    """A name without its folders, which may tell the owner of the machine."""
    return name.rpartition("/")[2] if ":" in name or name.endswith((".json", ".pt2")) else name


def is_text(name: str) -> bool:
    """Whether a network takes tokens. Raises RooflintError for a configuration that cannot be read."""
    found = configured_network(name)
    net = found.configuration if found else None
    if isinstance(net, EncoderDecoder):
        return not net.mels
    return isinstance(net, Transformer) and not (net.encoder and net.encoder.image)


@lru_cache
def _works(sweep: Sweep) -> Mapping[str, Work]:
    """Of each network that has a table.

    Raises RooflintError for a name that means none and for a file that is not run, before all the others, and where
    none of the networks can be captured as it was asked for.
    """
    found, refused = {}, []
    for name in sweep.names:
        load.want_module(name)
        try:
            table = _table(name, sweep)
        except MissingTorchError:
            continue  # a library that is not installed: the run says so in its place
        except RooflintError as error:
            if _is_unknown(error):
                raise
            refused.append(error)  # such as an input without its shape; the run says so in its place, too
            continue
        weights = float(table.weight_bytes("int8").sum())
        if not network.lacking_memory(weights):  # else the run says so, and takes no time
            found[name] = Work(table.total_macs / table.batch, weights)
    if len(refused) == len(sweep.names):
        raise refused[0]
    return found


def _table(name: str, sweep: Sweep) -> Workload:
    """Of its own batch. Raises RooflintError."""
    if is_text(name):
        return load.network(name, prompt=sweep.prompt, past=sweep.past)
    return load.network(name, () if configured_network(name) else sweep.shapes)


def _import_libraries(names: Collection[str]) -> None:
    """Import what networks are built with: that takes seconds, which are none of the first network's."""
    if find_spec("torchvision"):
        from rooflint.workloads.capture.libraries import imported  # noqa: PLC0415  # it needs torch

        imported("torchvision")
        if find_spec("transformers") and any(map(configured_network, names)):
            imported("transformers")


def _is_unknown(error: BaseException | None) -> bool:
    """Whether it stems from a name that no network has."""
    return error is not None and (isinstance(error, UnknownNetworkError) or _is_unknown(error.__cause__))


@lru_cache(maxsize=1)
def model(name: str, batch: int, sweep: Sweep) -> Model:
    """A network of random weights with its inputs and its work, by the names that `rooflint compare` takes.

    Raises NotMeasuredError for one that is unknown, cannot be captured, or needs a library that is not installed.
    """
    from rooflint.workloads.capture.runnable import runnable  # noqa: PLC0415  # it needs torch

    try:
        if is_text(name):
            found = runnable(name, batch, prompt=sweep.prompt, past=sweep.past)
        else:
            found = runnable(name, batch, shapes=() if configured_network(name) else sweep.shapes)
    except RooflintError as error:
        raise NotMeasuredError(str(error).replace(name, short(name))) from error
    quantized = found.family == "quantization"

    def bytes_of(precision: str) -> float:
        if quantized or precision not in STORED:
            return found.table.total_bytes(precision)
        storage, share = STORED[precision]
        linear = found.table.weight_bytes(storage)[found.table.kinds == "linear"].sum()
        return found.table.total_bytes(storage) - (1 - share) * float(linear)

    return Model(
        name=found.name,
        make=found.make,
        inputs=found.example.arguments,
        named=found.example.named,
        macs=found.table.total_macs,
        bytes_of=bytes_of,
        tokens=found.tokens,
        past=found.past,
        is_quantized=quantized,
        weights=found.table.weight_bytes("int8").sum(),
    )


def _flushed(device: str) -> int:
    known = last_level_bytes() if device == "cpu" else stream.cache_bytes(device)
    if isinstance(known, Unavailable):
        raise RooflintError(f"--flush: the size of the last-level cache is {known}")
    return known
