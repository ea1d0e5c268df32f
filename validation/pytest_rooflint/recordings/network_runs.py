"""Runs of networks on one device: which cases, in which order, within which time, each beside the peak product."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from pytest_rooflint.recordings.runs import NO_TORCH, Request, Results, reference, reference_s, tried
from rooflint.base.errors import RooflintError
from rooflint.base.text import counted, some
from rooflint.base.units import SECONDS, format_quantity
from rooflint.workloads.configuration import Transformer
from rooflint.workloads.encoder_decoder import EncoderDecoder
from rooflint.workloads.load import Shapes, configured_network
from rooflint_measure.identity import last_level_bytes
from rooflint_measure.record import Measurement, Stream, Unavailable
from rooflint_measure.stopwatches import gemm, network, products, stream
from rooflint_measure.stopwatches.gemm import NotMeasuredError, Peak
from rooflint_measure.stopwatches.network import Model, Setting

LEAST_S = 1.0
"""A network is not timed for less. [s]"""
AROUND_S = 1.5
"""Building, moving and warming up a network takes about so long beside its samples. [s]"""
STREAM_S = 2.0
"""A pass through memory is timed no longer. [s]"""
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
    """In how many ways it is not the first choice; those of 0 come first, so that a short budget has every network."""

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
    return sorted(_cases(request.precisions or ("fp32",), modes, sweep), key=lambda one: one.rank)


def _modes(word: str, device: str) -> tuple[str, ...]:
    return network.modes(device) if word == ALL else (word,)


def _cases(precisions: tuple[str, ...], modes: list[str], sweep: Sweep) -> Iterator[Case]:
    for at, precision in enumerate(precisions):
        for name in sweep.names:
            for place, batch in enumerate(sweep.batches):
                for number, mode in enumerate(modes):
                    yield Case(name, precision, batch, mode, (at > 0) + (place > 0) + (number > 0))


@dataclass(frozen=True)
class Plan:
    """What fits a budget, with the search of the peak product in each precision and one pass through memory."""

    chosen: tuple[Case, ...]
    seconds: float
    """For each figure. [s]"""
    dropped: tuple[Case, ...] = ()


def plan(every: list[Case], request: Request, left_s: float) -> Plan:
    """As many cases as fit the time, each as long as was asked for, and shorter before one is dropped. [s]"""
    precisions = {_multiplied(one.precision) for one in every}
    around_s = AROUND_S + request.energy_s

    def fits(seconds: float, count: int) -> bool:
        peaks_s = sum(reference_s(replace(request, seconds=seconds), one) for one in precisions)
        return peaks_s + count * (seconds + around_s) + min(seconds, STREAM_S) <= PLANNED * left_s

    seconds, count = request.seconds, len(every)
    while seconds > LEAST_S and not fits(seconds, count):
        seconds = max(LEAST_S, SHORTER * seconds)
    while count > 1 and not fits(seconds, count):
        count -= 1
    return Plan(tuple(every[:count]), seconds, tuple(every[count:]))


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
    if results.counting:
        results.expected.update(one.label for one in cases(request, sweep))
        _stream_once(request, results)
        return
    flush = _flushed(request.device) if sweep.flush else 0
    found = plan(cases(request, sweep), request, results.budget_s - results.spent_s)
    if found.dropped:
        budget = format_quantity(results.budget_s, SECONDS, digits=3)
        what = f"{len(found.dropped)} of {counted(len(found.chosen) + len(found.dropped), 'network run')}"
        labels = [one.label for one in found.dropped]
        results.leave_out(labels, what, f"do not fit the budget of {budget}: {some(labels)}")
    lacks_stream = not any(isinstance(one.subject, Stream) for one in results.measurements)
    timed = replace(request, seconds=found.seconds)
    peaks = _Peaks(
        timed, results, {_multiplied(one.precision) for one in found.chosen if one.label not in results.done}
    )
    for case in found.chosen:
        if lacks_stream and case.rank > 0:  # what says most of a network comes before other ways to run it
            _stream_once(timed, results)
            lacks_stream = False
        setting = Setting(
            batch=case.batch,
            precision=case.precision,
            device=request.device,
            flush_bytes=flush,
            **network.mode(case.mode),
        )
        results.add(case.label, partial(_measured, timed, case, setting, sweep, peaks))
    if lacks_stream:
        _stream_once(timed, results)


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
            self.results.progress(f"reference product in {precision}")
            reasons: list[str] = []
            began_s = self.results.spent_s
            found = tried(reasons, partial(reference, self._request, precision))
            self.results.shared_s += self.results.spent_s - began_s
            self.results.ahead_s -= self._planned_s.pop(precision)
            self._found[precision] = found or reasons[0]
        peak = self._found[precision]
        if isinstance(peak, str):
            raise NotMeasuredError(peak)
        return peak


def _measured(request: Request, case: Case, setting: Setting, sweep: Sweep, peaks: _Peaks) -> Measurement:
    return network.measured(
        model(case.name, case.batch, sweep),
        setting,
        observer=peaks.results.observer,
        plan=gemm.plan_of(request.seconds),
        reference=peaks.of(_multiplied(case.precision)),
        energy_s=request.energy_s,
        left_s=peaks.results.budget_s - peaks.results.spent_s,
        counters=sweep.counters,
    )


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
    )


def _flushed(device: str) -> int:
    known = last_level_bytes() if device == "cpu" else stream.cache_bytes(device)
    if isinstance(known, Unavailable):
        raise RooflintError(f"--flush: the size of the last-level cache is {known}")
    return known
