"""Training: the question of `rooflint analyze --train` as a function."""

from dataclasses import dataclass
from pathlib import Path

from rooflint.answers.training import answer
from rooflint.api.devices import Specs
from rooflint.api.predictions import DEFAULT_LAUNCH, DEFAULT_PRECISION, context, setting
from rooflint.hardware.device import Hardware
from rooflint.hardware.names import select_device
from rooflint.output.answer import Answer
from rooflint.prediction import training
from rooflint.prediction.predict import ROOFLINE, Setting
from rooflint.workloads import load
from rooflint.workloads.networks import PROMPT, network_named


@dataclass(frozen=True)
class TrainingStep:
    """A training step on one device; `print(s)` is `rooflint analyze --train`."""

    found: training.Training
    """step_s, parts_s, tokens_per_s, mfu, hfu, memory, fits"""
    setting: Setting

    def answer(self) -> Answer:
        """What `rooflint analyze --train` prints of it."""
        return answer(self.found, self.setting)

    def __str__(self) -> str:
        return str(self.answer())

    def __repr__(self) -> str:
        return f"<TrainingStep of {self.found.run.network.name} on {self.found.forward.hardware.label}>"

    def _repr_html_(self) -> str:
        return self.answer()._repr_html_()


def train(
    source: str | Path,
    on: "str | Hardware",
    *,
    length: int | None = None,
    precision: str = DEFAULT_PRECISION,
    batch: int = 1,
    recompute: str = "selective",
    storage: str | None = None,
    launch: str = DEFAULT_LAUNCH,
    fidelity: str = ROOFLINE,
    fuse: bool = False,
    at: str = "",
    specs: Specs = None,
) -> TrainingStep:
    """A step of training with Adam on one device: time, bytes, memory, MFU and HFU, by the roofline.

    Args:
        source: a language model, such as `llama-3.1-8b`, or the path of a `config.json` of Hugging Face.
        on: the device, or its name.
        length: tokens of each sequence; 2048 by default, or fewer where the context is shorter.
        precision: of the arithmetic, the weights and the gradients.
        batch: sequences of the step.
        recompute: what the backward pass computes again: `none`, `selective` (attention) or `full`.
        storage: precision of what is moved and kept; that of the arithmetic if None.
        launch: how kernels are launched, as for `predict`.
        fidelity: `roofline`; no kernel of a backward pass was calibrated.
        fuse: run element-wise ops in the kernels of their producers; only False, as the backward pass needs them.
        at: operating point, such as `30w`.
        specs: folders of specs, in front of the packaged ones.

    Raises RooflintError for unknown names, and for more tokens than the network has a context for.
    """
    chosen = setting(precision, storage, fuse, launch, fidelity, cached=False)
    known, energies = context(specs)
    net = load.configured_network(str(source), known.roots) or network_named(str(source), known.roots)
    tokens = min(PROMPT, net.transformer.context) if length is None else length
    run = training.Run(net, batch, tokens, recompute)
    device = on if isinstance(on, Hardware) else select_device(known, on, at)
    return TrainingStep(training.train(device, run, energies, chosen), chosen)
