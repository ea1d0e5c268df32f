"""Training: the question of `rooflint analyze --train` as a function, of one device or several."""

from dataclasses import dataclass
from pathlib import Path

from rooflint.answers.training import answer
from rooflint.api.devices import Specs
from rooflint.api.generation import places_of
from rooflint.api.predictions import DEFAULT_LAUNCH, DEFAULT_PRECISION, context, setting
from rooflint.base.errors import RooflintError
from rooflint.hardware.device import Hardware
from rooflint.hardware.names import select_device, system_named
from rooflint.hardware.registry import Registry
from rooflint.output.answer import Answer
from rooflint.prediction import training, training_run
from rooflint.prediction.parallel import Place
from rooflint.prediction.predict import ROOFLINE, Setting
from rooflint.workloads import load
from rooflint.workloads.networks import PROMPT
from rooflint.workloads.parallelism import Parallelism


@dataclass(frozen=True)
class TrainingStep:
    """A training step; `print(s)` is `rooflint analyze --train`."""

    found: training.Training
    """step_s, parts_s, tokens_per_s, mfu, hfu, memory, fits, sent"""
    setting: Setting

    def answer(self) -> Answer:
        """What `rooflint analyze --train` prints of it."""
        return answer(self.found, self.setting)

    def __str__(self) -> str:
        return str(self.answer())

    def __repr__(self) -> str:
        return f"<TrainingStep of {self.found.run.network.name} on {self.found.place.label}>"

    def _repr_html_(self) -> str:
        return self.answer()._repr_html_()


def train(
    source: str | Path,
    on: "str | Hardware",
    *,
    length: int | None = None,
    precision: str = DEFAULT_PRECISION,
    batch: int | None = None,
    recompute: str = "selective",
    tp: int = 1,
    pp: int = 1,
    ep: int = 1,
    dp: int = 1,
    virtual_stages: int = 1,
    sp: bool = False,
    zero: int = 0,
    micro_batch: int | None = None,
    tower: training_run.Tower = "frozen",
    lora: int = 0,
    storage: str | None = None,
    launch: str = DEFAULT_LAUNCH,
    fidelity: str = ROOFLINE,
    fuse: bool = False,
    at: str = "",
    specs: Specs = None,
) -> TrainingStep:
    """A step of training with Adam: time, bytes, memory of a device, MFU and HFU, by the roofline.

    Args:
        source: a language model, such as `llama-3.1-8b`, or the path of a `config.json` of Hugging Face.
        on: the device, or its name; of several devices a system, or a device of one system.
        length: tokens of each sequence; 2048 by default, or fewer where the context is shorter.
        precision: of the arithmetic, the weights and the gradients.
        batch: sequences of the step, of all devices; if None, one for each copy and, in a pipeline, each stage.
        recompute: what the backward pass computes again: `none`, `selective` (attention) or `full`.
        tp: devices that share each product.
        pp: stages of a pipeline, each with some of the layers; they may be in several systems.
        ep: devices that share the experts, a multiple of `tp`; each `tp` of them have sequences of their own.
        dp: copies of the network, each with sequences of its own; they may be in several systems.
        virtual_stages: parts of the layers that each stage has, which take turns.
        sp: whether devices of a `tp` divide tokens where they do not divide products.
        zero: stage of ZeRO; copies share nothing (0), states of Adam (1), gradients (2) or weights (3), too.
        micro_batch: sequences that a device computes at once; if None, one in a pipeline, else all of its own.
        tower: whether the encoder of a network that sees images is `frozen` or `trained`.
        lora: rank of adapters of the products of attention, which are trained alone; all is trained if 0.
        storage: precision of what is moved and kept; that of the arithmetic if None.
        launch: as for `predict`.
        fidelity: `roofline`; no kernel of a backward pass was calibrated.
        fuse: only False, as the backward pass needs what element-wise ops read.
        at: as for `predict`.
        specs: folders of specs, in front of the packaged ones.

    Raises RooflintError for unknown names, and for more tokens than the context of the network.
    """
    chosen, (known, energies) = setting(precision, storage, fuse, launch, fidelity, cached=False), context(specs)
    net = load.language_model(str(source), "training needs", known.roots)
    length = min(PROMPT, net.writer.context) if length is None else length
    how = Parallelism(tp, pp, ep, dp, virtual_stages, sp)
    batch = how.copies * how.pp if batch is None else batch
    run = training_run.Run(net, batch, length, recompute, how, zero, micro_batch or 0, tower, lora)
    return TrainingStep(training.train(_place(known, on, at, how), run, energies, chosen), chosen)


def _place(known: Registry, on: "str | Hardware", at: str, how: Parallelism) -> Place:
    """Raises RooflintError for several devices where one is to be named."""
    if how.devices == 1:
        if isinstance(on, str) and (system := system_named(known, on)):
            raise RooflintError(f"'{on}' is {system.count} devices; add --tp, --pp or --dp, or name {system.device.id}")
        return Place(on if isinstance(on, Hardware) else select_device(known, on, at))
    first, *others = places_of(known, [on], at, how, shared=True)
    if others:
        raise RooflintError(f"--train: want one device or system, found '{on}'")
    return first
