"""Language models that write tokens: the question of `rooflint compare --generate` as a function."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rooflint.answers.generation import answer
from rooflint.api.devices import Specs
from rooflint.api.predictions import DEFAULT_LAUNCH, DEFAULT_PRECISION, Columns, all_hardware, context, setting
from rooflint.hardware.device import Hardware
from rooflint.hardware.names import system_named
from rooflint.hardware.registry import Registry
from rooflint.output.answer import Answer
from rooflint.prediction import generation, parallel
from rooflint.prediction.predict import ROOFLINE, Setting
from rooflint.workloads import load
from rooflint.workloads.networks import PROMPT, network_named
from rooflint.workloads.parallelism import Parallelism


@dataclass(frozen=True)
class Generations:
    """A run of a language model on several devices; `print(g)` is `rooflint compare --generate`."""

    run: generation.Run
    setting: Setting
    candidates: tuple[generation.Candidate, ...]

    @property
    def found(self) -> tuple[generation.Generation, ...]:
        """Of the devices that can compute in that precision: first_token_s, token_s, tokens_per_s, memory, fits."""
        return tuple(one.found for one in self.candidates if one.found)

    @property
    def columns(self) -> Columns:
        """One row a device, in SI base units."""
        return Columns.of(self.answer().listing)

    def answer(self) -> Answer:
        """What `rooflint compare --generate` prints of it."""
        return answer(self.run, self.candidates, self.setting)

    def __str__(self) -> str:
        return str(self.answer())

    def __repr__(self) -> str:
        names = ", ".join(one.label for one in self.candidates)
        return f"<Generations of {self.run.network.name} on {names}>"

    def _repr_html_(self) -> str:
        return self.answer()._repr_html_()


def generate(
    source: str | Path,
    on: "Iterable[str | Hardware] | None" = None,
    *,
    prompt: int | None = None,
    generate: int = 256,
    precision: str = DEFAULT_PRECISION,
    batch: int = 1,
    storage: str | None = None,
    fuse: bool = False,
    launch: str = DEFAULT_LAUNCH,
    fidelity: str = ROOFLINE,
    cached: bool = True,
    at: str = "",
    tp: int = 1,
    pp: int = 1,
    ep: int = 1,
    specs: Specs = None,
) -> Generations:
    """A language model that reads prompts and writes tokens, on several devices, by default one of each kind.

    Args:
        source: a language model, such as `llama-3.1-8b`, or the path of a `config.json` of Hugging Face.
        on: devices, or their names.
        prompt: tokens of each prompt; 2048 by default, or fewer where the context is shorter.
        generate: tokens to write for each sequence.
        precision: of the arithmetic, or a policy such as `w4a16`.
        batch: sequences that run together.
        storage: precision of what is moved and kept; that of the arithmetic if None.
        fuse: run element-wise ops in the kernels of their producers.
        launch: how kernels are launched, as for `predict`.
        fidelity: whose times, as for `predict`.
        cached: as for `predict`.
        at: operating point, such as `30w`.
        tp: devices that share each product; `on` then names systems (`hgx-h100`), or devices of which one system is
            known.
        pp: stages, each with some of the layers; they may be in several systems.
        ep: devices that share the experts, a multiple of `tp`.
        specs: folders of specs, in front of the packaged ones.

    A device that cannot compute in that precision stays, with the reason.
    Raises RooflintError for unknown names, and for more tokens than the network has a context for.
    """
    chosen = setting(precision, storage, fuse, launch, fidelity, cached)
    known, energies = context(specs)
    net = load.configured_network(str(source), known.roots) or network_named(str(source), known.roots)
    tokens = prompt or min(PROMPT, max(net.transformer.context - generate, 1))
    run = generation.Run(net, batch, tokens, generate)
    places = list(_places(known, on, at, Parallelism(tp, pp, ep)))
    return Generations(run, chosen, generation.generate(places, run, energies, chosen))


def _places(
    among: Registry, on: "Iterable[str | Hardware] | None", at: str, how: Parallelism
) -> Iterator[parallel.Place]:
    """Each device with what it is part of: a system by its name, or the one that has such devices."""
    listed = [on] if isinstance(on, str | Hardware) else [*(on or ())]
    words = [word for one in listed for word in (one.split(",") if isinstance(one, str) else [one])]
    systems = {word: found for word in words if isinstance(word, str) and (found := system_named(among, word))}
    if not systems:
        yield from (parallel.place(one, how, among) for one in all_hardware(among, on, at))
        return
    for word in words:
        if isinstance(word, str) and word in systems:
            yield parallel.place(systems[word].device, how, among, systems[word])
        else:
            yield from (parallel.place(one, how, among) for one in all_hardware(among, [word], at))
