"""Language models that write tokens: the questions of `--generate` as a function."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from rooflint.answers import generation as generation_answer
from rooflint.answers import generation_sweep
from rooflint.api.devices import Specs
from rooflint.api.predictions import DEFAULT_LAUNCH, DEFAULT_PRECISION, Columns, all_hardware, context, setting
from rooflint.base.errors import RooflintError
from rooflint.hardware.device import Hardware
from rooflint.hardware.names import system_named, system_of
from rooflint.hardware.registry import Registry
from rooflint.output.answer import Answer
from rooflint.prediction import comparison, generation, parallel
from rooflint.prediction.cost import CostTables
from rooflint.prediction.cost import Place as Site
from rooflint.prediction.predict import ROOFLINE, Setting
from rooflint.prediction.run import Run
from rooflint.workloads import load
from rooflint.workloads.networks import PROMPT
from rooflint.workloads.parallelism import Parallelism

T = TypeVar("T", str, int)


@dataclass(frozen=True)
class Generations:
    """Runs of a language model on several devices; `print(g)` is `rooflint compare --generate`, or `sweep`."""

    runs: tuple[Run, ...]
    """One for each batch."""
    settings: tuple[Setting, ...]
    """One for each precision."""
    candidates: tuple[generation.Candidate, ...]
    """Each device in each precision, with all runs, or with the reason why there are none."""
    wanted: tuple[comparison.Requirement, ...] = ()

    @property
    def found(self) -> tuple[generation.Generation, ...]:
        """All that can run: first_token_s, token_s, tokens_per_s_of_device, usd_per_million, memory, fits and more."""
        return tuple(run for one in self.candidates for run in one.runs)

    @property
    def pareto(self) -> tuple[generation.Generation, ...]:
        """Of those that fit and keep what is required, the best in tokens/s of a device and of a user."""
        return generation.pareto(run for one in self.candidates for run in one.able(self.wanted))

    @property
    def columns(self) -> Columns:
        """One row a device, precision and batch, in SI base units."""
        return Columns.of(self.answer().listing)

    def answer(self, *, kernels: bool = False, phase: str = "") -> Answer:
        """What `rooflint compare --generate` prints of one run, and `rooflint sweep --generate` of several.

        With kernels it is what `rooflint analyze` prints; `phase` keeps to `prefill` or `decode`.
        """
        if len(self.runs) == len(self.settings) == len({one.place.how for one in self.candidates}) == 1:
            return generation_answer.answer(
                self.runs[0], self.candidates, self.settings[0], self.wanted, kernels=kernels, phase=phase
            )
        return generation_sweep.answer(self.runs, self.candidates, self.wanted)

    def __str__(self) -> str:
        return str(self.answer())

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(one.label for one in self.candidates))
        return f"<Generations of {self.runs[0].network.name} on {names}>"

    def _repr_html_(self) -> str:
        return self.answer()._repr_html_()


def generate(
    source: str | Path,
    on: "Iterable[str | Hardware] | None" = None,
    *,
    prompt: int | None = None,
    generate: int = 256,
    precision: str | Sequence[str] = DEFAULT_PRECISION,
    batch: int | Sequence[int] = 1,
    storage: str | None = None,
    fuse: bool = False,
    launch: str = DEFAULT_LAUNCH,
    fidelity: str = ROOFLINE,
    cached: bool = True,
    at: str = "",
    tp: int | Sequence[int] = 1,
    pp: int = 1,
    ep: int = 1,
    cp: int = 1,
    require: str = "",
    memory_share: float = 1.0,
    site: Site | None = None,
    specs: Specs = None,
) -> Generations:
    """A language model that reads prompts and writes tokens, on several devices.

    Args:
        source: a language model, such as `llama-3.1-8b`, or the path of a `config.json` of Hugging Face.
        on: devices, or their names; by default one of each kind, or all systems with enough devices.
        prompt: tokens of each prompt; 2048 by default, or fewer where the context is shorter.
        generate: tokens to write for each sequence.
        precision: of the arithmetic, or a policy such as `w4a16`; or several.
        batch: sequences that run together, or several numbers of them.
        storage: precision of what is moved and kept; that of the arithmetic if None.
        fuse: run element-wise ops in the kernels of their producers.
        launch: how kernels are launched, as for `predict`.
        fidelity: as for `predict`.
        cached: as for `predict`.
        at: as for `predict`.
        tp: devices that share each product, or several numbers; `on` then names systems, or devices of one system.
        pp: stages, each with some of the layers; they may be in several systems.
        ep: devices that share the experts, a multiple of `tp`.
        cp: parts of each sequence and of its cache, each on devices of its own; not beside `ep`.
        require: bounds such as `first-token<500ms,per-token<20ms`; also throughput, user, energy, memory.
        memory_share: of the memory, that may be used.
        site: whose electricity and PUE, and for how many years, of a device that is bought.
        specs: folders of specs, in front of the packaged ones.

    A device that lacks a precision stays, with the reason. Raises RooflintError for unknown names and too many tokens.
    """
    settings = tuple(setting(name, storage, fuse, launch, fidelity, cached) for name in _each(precision))
    if not settings or not (batches := sorted(_each(batch))):
        raise RooflintError("want at least one precision and one batch, found none")
    known, energies = context(specs)
    net = load.language_model(str(source), "--generate, --tp, --pp, --cp and --ep need", known.roots)
    tokens = min(PROMPT, max(net.writer.context - generate, 1)) if prompt is None else prompt
    runs = tuple(Run(net, size, tokens, generate) for size in batches)
    wanted = comparison.requirements(require, generation.RUN_CRITERIA, generation.RUN_EXAMPLE)
    hows = [Parallelism(size, pp, ep, cp=cp) for size in sorted(_each(tp))]
    shared = any(how.devices > 1 for how in hows)
    places = [one for how in hows for one in places_of(known, on, at, how, shared=shared)]
    found = generation.sweep(places, runs, energies, settings, CostTables.of(known), site, memory_share)
    return Generations(runs, settings, found, wanted)


def _each(given: T | Sequence[T]) -> list[T]:
    """One, or several without those that stand twice."""
    return [given] if isinstance(given, str | int) else list(dict.fromkeys(given))


def _able(among: Registry, how: Parallelism) -> Iterator[parallel.Place]:
    """The systems that are large enough, or that can be joined to others of their kind."""
    for one in map(partial(system_of, among), among.readable_systems()):
        if how.of_stage <= one.count and (how.devices <= one.count or one.cards):
            yield parallel.place(one.device, how, among, one)


def places_of(
    among: Registry, on: "Iterable[str | Hardware] | None", at: str, how: Parallelism, *, shared: bool
) -> Iterator[parallel.Place]:
    """Each device with what it is part of: a system by its name, or the one that has such devices.

    Raises RooflintError for a system where one device is to run all.
    """
    if on is None and how.devices > 1:
        yield from _able(among, how)
        return
    listed = [on] if isinstance(on, str | Hardware) else [*(on or ())]
    words = [word for one in listed for word in (one.split(",") if isinstance(one, str) else [one])]
    systems = {word: found for word in words if isinstance(word, str) and (found := system_named(among, word))}
    if not systems:
        yield from (parallel.place(one, how, among) for one in all_hardware(among, on, at))
        return
    for word in words:
        if isinstance(word, str) and word in systems:
            if not shared:
                count, one = systems[word].count, systems[word].device.id
                raise RooflintError(f"'{word}' is {count} devices; add --tp, --pp, --cp or --ep, or name {one}")
            yield parallel.place(systems[word].device, how, among, systems[word])
        else:
            yield from (parallel.place(one, how, among) for one in all_hardware(among, [word], at))
