"""Training: the operations of a token by definition, MFU and HFU, and one step on a device or several.

    token_ops(llama, 8192).model                        # 6 N and attention
    train(Place(h100), Run(network, batch=1, length=4096), energies, Setting("bf16")).mfu

docs/method-networks.md has the definitions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from rooflint.base.precision import precision
from rooflint.base.units import OPS_PER_MAC
from rooflint.energy.model import Energies
from rooflint.hardware.device import working_peak_ops_per_s
from rooflint.kernels.collectives import bound_s
from rooflint.prediction.gradients import STAGES, Sent, Shared, Zero, sums
from rooflint.prediction.parallel import NETWORK, Place, message_bytes, sent_bytes
from rooflint.prediction.predict import ROOFLINE, Prediction, Setting, predict
from rooflint.prediction.training_memory import MASTER_BYTES, Memory
from rooflint.workloads.configuration import Transformer, keys_seen
from rooflint.workloads.multimodal import PROJECTOR, TOWER, VisionLanguage
from rooflint.workloads.networks import Network
from rooflint.workloads.ops import Op
from rooflint.workloads.parallelism import Parallelism, shard
from rooflint.workloads.transformer import table
from rooflint.workloads.workload import Workload, WorkloadError

Attention = Literal["full", "causal", "none"]
"""Which keys count for a token: all of its sequence, as in PaLM; those before it and itself; or none of them."""
Counted = Literal["all", "products", "experts"]
"""Which parameters N is: all that a token meets; without an embedding that is only looked up; or with all experts."""
Recompute = Literal["none", "selective", "full"]
"""What the backward pass computes again: nothing, attention, or all layers."""
Tower = Literal["frozen", "trained"]

PASSES = 3
"""Forward, and backward for inputs and for weights."""


# ---- Operations by definition


@dataclass(frozen=True)
class TokenOps:
    """Operations that training needs for a token. [op]"""

    parameters: float
    """6 N."""
    attention: float

    @property
    def model(self) -> float:
        """What MFU counts, whatever is computed again. [op]"""
        return self.parameters + self.attention

    def hardware(self, recompute: str) -> float:
        """What HFU counts: another forward pass of attention, or of everything. [op]"""
        again = {"none": 0.0, "selective": self.attention, "full": self.model}[recompute]
        return self.model + again / PASSES


def token_ops(net: Transformer, length: int, *, attention: Attention = "full", counted: Counted = "all") -> TokenOps:
    """6 N + 12 layers × heads × head size × keys, of a sequence of `length` tokens.

    Chowdhery et al., "PaLM", 2022, appendix B. arXiv:2204.02311. Raises WorkloadError for more than the context.
    """
    if not 1 <= length <= net.context:
        raise WorkloadError(f"{net.name}: want 1 to {net.context} tokens, its context; found {length}")
    latent = net.latent
    both = latent.nope_size + latent.rope_size + latent.value_size if latent else 2 * net.head_size
    keys = (net.layers - net.window_layers) * _keys(length, 0, attention)
    keys += net.window_layers * _keys(length, net.window, attention)
    return TokenOps(
        PASSES * OPS_PER_MAC * parameters_counted(net, counted), PASSES * OPS_PER_MAC * net.heads * both * keys
    )


def _keys(length: int, window: int, attention: Attention) -> float:
    """Keys of a token in a layer, on average."""
    if attention == "none":
        return 0.0
    if attention == "causal":
        return keys_seen(length, 0, window) / length
    return float(min(length, window) if window else length)


def parameters_counted(net: Transformer, counted: Counted) -> int:
    """N of 6 N."""
    if counted == "experts":
        return net.parameters
    if net.encoder:
        return net.parameters - (net.embedding_parameters if counted == "products" else 0)
    looked_up = 0 if net.tied else net.embedding_parameters
    return net.active_parameters + (looked_up if counted == "all" else 0)


# ---- A step


@dataclass(frozen=True)
class Run:
    """What is trained."""

    network: Network
    batch: int
    """Sequences of a step, on all devices."""
    length: int
    """Tokens of each sequence."""
    recompute: str = "selective"
    """`none`, `selective` or `full`."""
    how: Parallelism = field(default_factory=Parallelism)
    """Of it `tp` and `dp`."""
    zero: Zero = 0
    """What data-parallel devices share, as a stage of ZeRO."""
    micro: int = 0
    """Sequences that a device computes at once, whose gradients it adds up; all of its own if 0."""
    tower: Tower = "frozen"
    """Whether the encoder of a network that sees images is trained, too."""

    def __post_init__(self) -> None:
        """Raises WorkloadError for less than one sequence or token of a device, and for unknown ways to train."""
        for name in ("batch", "length"):
            if getattr(self, name) < 1:
                raise WorkloadError(f"{name}: want 1 or more, found {getattr(self, name)}")
        if self.recompute not in get_args(Recompute):
            raise WorkloadError(f"recompute: want one of {', '.join(get_args(Recompute))}, found '{self.recompute}'")
        if self.batch % self.how.dp:
            raise WorkloadError(f"batch: want a multiple of --dp, {self.how.dp}, found {self.batch}")
        if self.micro < 0 or self.own_batch % (self.micro or 1):
            found = f"a divisor of the {self.own_batch} sequences of a device, found {self.micro}"
            raise WorkloadError(f"--micro-batch: want {found}")
        if self.zero not in STAGES or (self.zero and self.how.dp == 1):
            stages = f"one of {', '.join(map(str, STAGES))}, and --dp of 2 or more beside all but 0"
            raise WorkloadError(f"--zero: want {stages}; found {self.zero}")
        if self.tower not in get_args(Tower):
            raise WorkloadError(f"--tower: want one of {', '.join(get_args(Tower))}, found '{self.tower}'")
        if self.tower == "trained" and not self.network.sees:
            raise WorkloadError(
                f"--tower: want a network that sees images, such as llava-1.5-7b; {self.network.name} does not"
            )

    @property
    def tokens(self) -> int:
        """Of all sequences."""
        return self.batch * self.length

    @property
    def own_batch(self) -> int:
        """Sequences of a device."""
        return self.batch // self.how.dp

    @property
    def at_once(self) -> int:
        """Sequences of a micro-batch."""
        return self.micro or self.own_batch

    @property
    def micro_batches(self) -> int:
        """Of a step."""
        return self.own_batch // self.at_once

    @cached_property
    def own(self) -> Transformer:
        """What a device has of the network, or of its decoder beside its encoder of images, which it has whole."""
        net = self.network.writer
        return shard(net, self.how) if self.how.tp > 1 else net

    @property
    def _sees(self) -> VisionLanguage | None:
        return self.network.sees and self.network.sees.written_by(self.own)

    def trains(self, name: str) -> bool:
        """Whether the weights of a row change."""
        return self.tower == "trained" or not name.startswith(TOWER)

    @cached_property
    def forward(self) -> Workload:
        """All layers on a device, and logits of every token, of a micro-batch."""
        if self._sees:
            return self._sees.table(self.at_once, self.length, every=True)
        return table(self.own, self.at_once, self.length, every=True)

    @cached_property
    def backward(self) -> Workload:
        """Gradients of inputs and of weights."""
        rows = [part for op in self.forward.rows() if self.trains(op.name) for part in _backward(op)]
        if self.network.sees and self.tower == "frozen":  # whose results need no gradient
            rows = [part for part in rows if part.name != f"d({PROJECTOR}1).input"]
        return Workload.from_ops(
            f"{self.network.name} backward", rows, self.at_once, fixed_batch="it is a training step"
        )

    @cached_property
    def again(self) -> Workload | None:
        """What of the forward pass runs a second time."""
        if self.recompute == "none":
            return None
        rows = [op for op in self.forward.rows() if self.trains(op.name) and _runs_again(op, self.recompute)]
        return Workload.from_ops(f"{self.network.name} again", rows, self.at_once, fixed_batch="it is a training step")

    def token_ops(self) -> TokenOps:
        """By definition, with the keys that causal attention needs; an encoder needs all of them."""
        net = self.network.writer
        found = token_ops(net, self.length, attention="full" if net.encoder else "causal", counted="products")
        return replace(found, parameters=found.parameters + self._image_ops / (self.at_once * self.length))

    @property
    def _image_ops(self) -> float:
        """Of the images of a micro-batch: their encoder, and what makes tokens of its patches. [op]"""
        if not self.network.sees:
            return 0.0
        rows = [*self.forward.rows(), *self.backward.rows()]
        return OPS_PER_MAC * float(sum(op.macs for op in rows if _plain(op.name).startswith((TOWER, PROJECTOR))))

    def memory(self, compute: str) -> Memory:
        """What a device must have room for at once."""
        width = precision(compute).stored_bits / 8
        shares = [self.how.dp if self.zero >= stage else 1 for stage in STAGES[1:]]
        parameters = self._sees.parameters if self._sees else self.own.parameters
        frozen = self._sees.tower.parameters if self._sees and self.tower == "frozen" else 0
        return Memory(parameters, width, _kept_bytes(self, width), frozen, *shares)


OUTSIDE_LAYERS = frozenset(
    {"embedding", "positions", "positions_add", "norm", "head"}
    | {"token_types", "token_types_add", "patches", "class_token", "embedding_norm", "head_activation"}  # of encoders
)
"""Rows before and after the layers."""


def _runs_again(op: Op, recompute: str) -> bool:
    if recompute == "selective":
        return op.kind in ATTENTION
    return op.name.removeprefix(TOWER) not in OUTSIDE_LAYERS and not op.name.startswith(PROJECTOR)


def _plain(name: str) -> str:
    """Of a row of the backward pass that of the forward pass."""
    return name.removeprefix("d(")


ATTENTION = ("attention", "causal_attention")
FREE_BACKWARD = ("copy", "cat")
"""Their gradient is a view of the gradient of what was made."""


def _backward(op: Op) -> Iterator[Op]:
    """The rows that follow from a row of the forward pass; amounts are of all repeats.

    A product y = x · W has two of the same size: dx = dy · Wᵀ and dW = xᵀ · dy. Attention has two for each of its own.
    Anything else reads what it read and the gradient of its result, and writes that of its input.
    """
    if op.kind in FREE_BACKWARD:
        return
    read, weights, written = op.elements_in, op.elements_weight, op.elements_out
    if op.kind in ATTENTION:
        yield op._replace(
            name=f"d({op.name})", macs=2 * op.macs, other_ops=2 * op.other_ops, k=2 * op.k,
            elements_in=read + 2 * written, elements_out=read,
        )  # fmt: skip
    elif op.groups and weights:
        inputs = op._replace(name=f"d({op.name}).input", n=op.k, k=op.n, elements_in=written, elements_out=read)
        outer = inputs._replace(n=op.n, m=op.k, k=op.m, elements_in=read + written, elements_weight=0)
        yield inputs._replace(other_ops=0, window=())
        yield outer._replace(name=f"d({op.name}).weight", elements_out=weights, other_ops=0, window=())
    elif op.kind == "embedding":  # the gradient of the rows that were looked up is added to the table's
        yield op._replace(name=f"d({op.name})", kind="add", other_ops=written, elements_in=2 * written)
    elif op.kind == "add":  # both summands have the gradient of the sum
        return
    else:
        yield op._replace(
            name=f"d({op.name})", macs=2 * op.macs, other_ops=2 * op.other_ops, k=2 * op.k,
            elements_in=read + written, elements_out=read,
        )  # fmt: skip


# ---- Memory

KEEPS_INPUT = ("linear", "matmul", "rms_norm", "layer_norm", "glu", "silu", "gelu", "relu", "softmax", *ATTENTION)
"""Kinds whose gradient needs what they read; that of a sum, of rope and of a copy does not."""


def _kept_bytes(run: Run, width: float) -> float:
    """Each tensor once, however many rows read it; scores of attention only where nothing runs again. [B]

    Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022, section 4: without
    dropout and with GeLU that is 32 s·b·h + 2 a·s²·b bytes a layer in 16 bits. arXiv:2205.05198
    """
    forward, net = run.forward, run.own
    rows = [op for op in forward.rows() if op.kind in KEEPS_INPUT and run.trains(op.name)]
    kept = _kept(run, net, run.length, [op for op in rows if not op.name.startswith(TOWER)])
    if run.network.sees and run.tower == "trained":
        tower = run.network.sees.tower
        kept += _kept(run, tower, tower.context, [op for op in rows if op.name.startswith(TOWER)])
    return float(kept * width + forward.elements_out[-1] * MASTER_BYTES)  # and the logits


def _kept(run: Run, net: Transformer, length: int, rows: Sequence[Op]) -> float:
    """Elements that these rows of layers keep, of sequences of that length."""
    kept = float(sum(_tensors(run.forward, rows)))
    if run.recompute == "full":
        of_one = kept / net.layers  # of the layer that runs again, beside the inputs of all
        return net.layers * run.at_once * length * net.hidden + of_one
    return kept + (net.layers * run.at_once * net.heads * length**2 if run.recompute == "none" else 0)


def _tensors(forward: Workload, rows: Sequence[Op]) -> Iterator[int]:
    assert forward.flow is not None
    reads = dict(zip(forward.op_names.tolist(), forward.flow.reads, strict=True))
    largest: dict[tuple[int, ...], int] = {}
    for op in rows:
        largest[reads[op.name]] = max(op.elements_in, largest.get(reads[op.name], 0))
    yield from largest.values()


# ---- On a device


@dataclass(frozen=True)
class Training:
    """A step."""

    run: Run
    place: Place
    forward: Prediction
    backward: Prediction
    again: Prediction | None
    memory: Memory
    optimizer_s: float
    """Of Adam, which is memory-bound. [s]"""
    sent: tuple[Sent, ...] = ()
    """What devices exchange."""

    @property
    def step_s(self) -> float:
        """Forward, backward, what runs again, the optimizer, and what waits for other devices. [s]"""
        return sum(self.parts_s.values())

    @property
    def network_s(self) -> float:
        """What waits for other devices. [s]"""
        return sum(one.waited_s for one in self.sent)

    @property
    def parts_s(self) -> dict[str, float]:
        """Time of each part. [s]"""
        times = self.run.micro_batches
        again = {"recompute": times * self.again.latency_s} if self.again else {}
        return {
            "forward": times * self.forward.latency_s,
            **again,
            "backward": times * self.backward.latency_s,
            "optimizer": self.optimizer_s,
            **({NETWORK: self.network_s} if self.sent else {}),
        }

    @property
    def tokens_per_s(self) -> float:
        """Of all sequences. [1/s]"""
        return self.run.tokens / self.step_s

    @property
    def peak_ops_per_s(self) -> float:
        """Dense peak. [op/s]"""
        return working_peak_ops_per_s(self.forward.hardware, self.forward.compute)

    @property
    def _tokens_of_peak(self) -> float:
        """Tokens of a device a second, over its peak. [1/op]"""
        return self.tokens_per_s / self.place.how.devices / self.peak_ops_per_s

    @property
    def mfu(self) -> float:
        """Operations of the model over those of the peak of all devices in that time. [1]"""
        return self._tokens_of_peak * self.run.token_ops().model

    @property
    def hfu(self) -> float:
        """The same with the operations of the products that run again, which are not those of the head. [1]"""
        again = OPS_PER_MAC * float(self.run.again.macs.sum()) if self.run.again else 0.0
        of_token = again * self.place.how.tp / (self.run.at_once * self.run.length)
        return self._tokens_of_peak * (self.run.token_ops().model + of_token)

    @property
    def passes(self) -> tuple[Prediction, ...]:
        """Forward, what runs again, and backward."""
        return tuple(one for one in (self.forward, self.again, self.backward) if one)

    @property
    def bytes_moved(self) -> float:
        """To and from the memory of a device. [B]"""
        of_one = sum(float(one.times.bytes_moved.sum()) for one in self.passes)
        return self.run.micro_batches * of_one + self.memory.moved_by_optimizer_bytes

    @property
    def capacity_bytes(self) -> float | None:
        """Of the main memory; None where it is not known. [B]"""
        memory = self.forward.hardware.main_memory()
        return memory.capacity_bytes if "capacity" in memory.facts else None

    @property
    def fits(self) -> bool | None:
        """Whether a device has room for all of it; None where its capacity is not known."""
        return None if self.capacity_bytes is None else self.memory.total_bytes <= self.capacity_bytes


def train(place: Place, run: Run, energies: Energies, setting: Setting) -> Training:
    """One step by the roofline: no kernel of a backward pass was calibrated.

    Every byte comes from memory, because the backward pass needs the activations of all layers. Raises WorkloadError
    for a policy, for whole numbers, which have no gradients, for calibrated times, and for what cannot be divided.
    Raises UnsupportedError where the device does not compute in that precision.
    """
    named = [setting.compute, *([setting.storage] if setting.storage else [])]
    refused = [name for name in named if setting.policy or not precision(name).floating]
    refused += [setting.fidelity] if setting.fidelity != ROOFLINE else []
    if refused:
        raise WorkloadError(f"training: want a precision such as bf16 and the fidelity roofline, found {refused[0]}")
    plain = replace(setting, cached=False)
    memory = run.memory(setting.storage or setting.compute)
    device = place.hardware
    found = Training(
        run,
        place,
        predict(device, run.forward, energies, plain),
        predict(device, run.backward, energies, plain),
        predict(device, run.again, energies, plain) if run.again else None,
        memory,
        memory.moved_by_optimizer_bytes / device.main_memory().bandwidth_bytes_per_s,
    )
    return replace(found, sent=tuple(_sent(found, plain)))


def _sent(found: Training, setting: Setting) -> Iterator[Sent]:
    run, how, overhead = found.run, found.place.how, found.forward.times.overhead_s
    again, many = run.recompute == "full", run.micro_batches
    for one in sums(run.network.writer, run.own, how, run.at_once, run.length, again=again):
        size, times = message_bytes(one, setting), one.times * many
        seconds = times * (float(np.sum(bound_s(one.kind, size, how.tp, found.place.link(how.tp)))) + overhead)
        yield Sent(one.title, times, times * sent_bytes(one, setting), seconds, seconds)
    if how.dp > 1:
        backward = found.backward.latency_s + (found.again.latency_s if found.again else 0.0)
        memory = found.memory
        weights = memory.parameters * memory.width_bytes if run.zero == STAGES[-1] else memory.whole_bytes
        shared = Shared(found.place, run.zero, weights, memory.whole_bytes, run.own.layers, many, overhead)
        yield from shared.all(found.forward.latency_s, backward)
