"""What is trained: operations of a token by definition, the ops of a step on a device, and what it keeps.

    token_ops(llama, 8192).model                        # 6 N and attention
    Run(network, batch=1, length=4096).backward         # a table

docs/method-networks.md has the definitions.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal, get_args

from rooflint.base.precision import precision
from rooflint.base.units import OPS_PER_MAC
from rooflint.prediction.gradients import STAGES, Zero
from rooflint.prediction.training_memory import MASTER_BYTES, Memory, in_flight
from rooflint.workloads.configuration import Transformer, keys_seen
from rooflint.workloads.multimodal import PROJECTOR, TOWER, VisionLanguage
from rooflint.workloads.networks import Network
from rooflint.workloads.ops import Op
from rooflint.workloads.parallelism import Parallelism, shard, stage
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
    zero: Zero = 0
    """What data-parallel devices share, as a stage of ZeRO."""
    micro: int = 0
    """Sequences that a device computes at once, whose gradients it adds up; if 0, one in a pipeline, else all."""
    tower: Tower = "frozen"
    """Whether the encoder of a network that sees images is trained, too."""
    lora: int = 0
    """Rank of the adapters beside the products of attention, which are trained alone; all is trained if 0."""

    def __post_init__(self) -> None:
        """Raises WorkloadError for less than one sequence or token of a device, and for unknown ways to train."""
        for name in ("batch", "length"):
            if getattr(self, name) < 1:
                raise WorkloadError(f"{name}: want 1 or more, found {getattr(self, name)}")
        if self.recompute not in get_args(Recompute):
            raise WorkloadError(f"recompute: want one of {', '.join(get_args(Recompute))}, found '{self.recompute}'")
        if self.batch % self.how.copies:
            by = f"--dp, {self.how.dp}" if self.how.groups == 1 else f"the {self.how.copies} groups of --ep and --dp"
            raise WorkloadError(f"batch: want a multiple of {by}, found {self.batch}")
        if self.micro < 0 or self.own_batch % (self.micro or 1):
            found = f"a divisor of the {self.own_batch} sequences of a device, found {self.micro}"
            raise WorkloadError(f"--micro-batch: want {found}")
        if self.how.virtual > 1 and self.micro_batches % self.how.pp:  # Narayanan et al., section 2.2.2
            wanted = f"the number of micro-batches must be a multiple of --pp, {self.how.pp}"
            raise WorkloadError(f"--virtual-stages: {wanted}; found {self.micro_batches}")
        if self.zero not in STAGES or (self.zero and self.how.copies == 1):
            stages = f"one of {', '.join(map(str, STAGES))}, and --dp of 2 or more beside all but 0"
            raise WorkloadError(f"--zero: want {stages}; found {self.zero}")
        if self.tower not in get_args(Tower):
            raise WorkloadError(f"--tower: want one of {', '.join(get_args(Tower))}, found '{self.tower}'")
        if self.tower == "trained" and not self.network.sees:
            raise WorkloadError(
                f"--tower: want a network that sees images, such as llava-1.5-7b; {self.network.name} does not"
            )
        if self.lora < 0 or (self.lora and (self.network.sees or self.network.writer.latent)):
            wanted = "want 1 or more, and a network without images or latent attention"
            raise WorkloadError(f"--lora: {wanted}; found {self.lora} and {self.network.name}")
        if self.network.sees and self.how.pp > 1:
            wanted = "a network with an image encoder cannot be trained in a pipeline"
            raise WorkloadError(f"--pp: {wanted}, found {self.network.name}")

    @property
    def tokens(self) -> int:
        """Of all sequences."""
        return self.batch * self.length

    @property
    def own_batch(self) -> int:
        """Sequences of a device."""
        return self.batch // self.how.copies

    @property
    def at_once(self) -> int:
        """Sequences of a micro-batch."""
        return self.micro or (1 if self.how.pp > 1 else self.own_batch)

    @property
    def micro_batches(self) -> int:
        """Of a step."""
        return self.own_batch // self.at_once

    @cached_property
    def own(self) -> Transformer:
        """What a device has of the network, or of its decoder beside its encoder of images, which it has whole."""
        net = self.network.writer
        return shard(net, self.how) if self.how.of_stage > 1 else net

    @cached_property
    def in_stage(self) -> "Run":
        """That of a stage alone, the one that takes longest; all of it without a pipeline."""
        if self.how.pp == 1:
            return self
        layers = replace(self.network, configuration=stage(self.network.writer, self.how))
        return replace(self, network=layers, how=replace(self.how, pp=1, virtual=1), micro=self.at_once)

    @property
    def _sees(self) -> VisionLanguage | None:
        return self.network.sees and self.network.sees.written_by(self.own)

    def trains(self, name: str) -> bool:
        """Whether the weights of a row change."""
        return self.tower == "trained" or not name.startswith(TOWER)

    @cached_property
    def base(self) -> Workload:
        """All layers on a device, and logits of every token, of a micro-batch; without adapters."""
        if self._sees:
            whole = self._sees.table(self.at_once, self.length, every=True)
        else:
            whole = table(self.own, self.at_once, self.length, every=True)
        if not self.how.sequence:
            return whole
        rows = [_of_some_tokens(op, self.how.tp) for op in whole.rows()]
        return Workload.from_ops(whole.name, rows, whole.batch, flow=whole.flow, fixed_batch="it is a training step")

    @cached_property
    def forward(self) -> Workload:
        """All layers on a device, and logits of every token, of a micro-batch."""
        if not self.lora:
            return self.base
        rows = [part for op in self.base.rows() for part in (op, *_adapted(op, self.lora))]
        return Workload.from_ops(self.base.name, rows, self.at_once, fixed_batch="it is a training step")

    @property
    def adapters(self) -> int:
        """Parameters of the adapters on a device, with the layers of all stages."""
        return (
            sum(op.elements_weight for row in self.base.rows() for op in _adapted(row, self.lora)) if self.lora else 0
        )

    @cached_property
    def backward(self) -> Workload:
        """Gradients of inputs and of weights."""
        rows = [part for op in self.forward.rows() if self.trains(op.name) for part in _backward(op)]
        if self.lora:  # weights of the network have no gradients, and its words need none
            rows = [one for one in rows if ADAPTER in one.name or not one.name.endswith((".weight", "d(embedding)"))]
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
        if self.lora:  # Hu et al.: forward and for inputs, and three passes of the adapters
            alone = replace(self, batch=1, how=Parallelism(), zero=0, micro=0)
            passes = found.parameters * (PASSES - 1) / PASSES + PASSES * OPS_PER_MAC * alone.adapters
            return replace(found, parameters=passes)
        return replace(found, parameters=found.parameters + self._image_ops / (self.at_once * self.length))

    @property
    def _image_ops(self) -> float:
        """Of the images of a micro-batch: their encoder, and what makes tokens of its patches. [op]"""
        if not self.network.sees:
            return 0.0
        rows = [*self.forward.rows(), *self.backward.rows()]
        return OPS_PER_MAC * float(sum(op.macs for op in rows if _plain(op.name).startswith((TOWER, PROJECTOR))))

    def memory(self, compute: str) -> Memory:
        """What a device must have room for at once: of a pipeline, the first or the last one."""
        width = precision(compute).stored_bits / 8
        if self.how.pp == 1:
            parameters = self._sees.parameters if self._sees else self.own.parameters
            return self._memory(parameters, width, _outside_bytes(self, width) + _layers_bytes(self, width))
        end, flying = self.in_stage, partial(in_flight, self.how, self.micro_batches)
        first = _layers_bytes(end, width, flying())
        last = _layers_bytes(end, width, flying(last=True)) + _outside_bytes(end, width)
        found = (
            self._memory(end.own.parameters - end.own.last_parameters, width, first),
            self._memory(end.own.parameters - end.own.first_parameters, width, last),
        )
        return max(found, key=lambda one: one.total_bytes)

    def _memory(self, parameters: int, width: float, activation_bytes: float) -> Memory:
        frozen = self._sees.tower.parameters if self._sees and self.tower == "frozen" else 0
        if self.lora:
            frozen, parameters = parameters, parameters + self.in_stage.adapters
        experts = self.in_stage.own.expert_parameters if self.how.groups > 1 else 0
        shares = [self.how.copies if self.zero >= stage else 1 for stage in STAGES[1:]]
        return Memory(parameters, width, activation_bytes, frozen, experts, self.how.groups, *shares)


SPREAD = frozenset(
    {"attention_norm", "attention_post_norm", "attention_add", "parallel_add", "residual_add", "norm", "positions_add"}
    | {"feed_forward_norm", "feed_forward_post_norm", "feed_forward_add", "embedding_norm", "token_types_add"}
)
"""Rows of which sequence-parallel devices have a part of the tokens each: norms and sums between products."""


def _of_some_tokens(op: Op, ways: int) -> Op:
    if op.name not in SPREAD:
        return op
    return op._replace(**{name: -(-getattr(op, name) // ways) for name in ("other_ops", "elements_in", "elements_out")})


ADAPTER = "lora_"
"""In the names of rows of adapters."""
ADAPTED = ("qkv", "attention_out")
"""Products with adapters."""


def _adapted(op: Op, rank: int) -> Iterator[Op]:
    """The adapter of a product: what it reads times two narrow weights, added to its result.

    Hu et al., "LoRA", 2021. arXiv:2106.09685
    """
    if op.name not in ADAPTED:
        return
    runs, m, n, k = op.repeats, op.m, op.n, op.k
    plain = op._replace(kind="linear", other_ops=0, window=())
    for name, width, depth in (("down", rank, k), ("up", n, rank)):
        yield plain._replace(
            name=f"{ADAPTER}{op.name}_{name}", macs=runs * m * width * depth, n=width, k=depth,
            elements_in=runs * m * depth, elements_weight=runs * width * depth, elements_out=runs * m * width,
        )  # fmt: skip
    count = runs * m * n
    yield Op(f"{ADAPTER}{op.name}_add", "add", 0, count, 2 * count, 0, count, repeats=runs)


OUTSIDE_LAYERS = frozenset(
    {"embedding", "positions", "positions_add", "norm", "head"}
    | {"token_types", "token_types_add", "patches", "class_token", "embedding_norm", "head_activation"}  # of encoders
)
"""Rows before and after the layers."""


def _runs_again(op: Op, recompute: str) -> bool:
    return op.kind in ATTENTION if recompute == "selective" else not _outside(op)


def _outside(op: Op) -> bool:
    return op.name.removeprefix(TOWER) in OUTSIDE_LAYERS or op.name.startswith(PROJECTOR)


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

KEEPS_INPUT = (
    *("linear", "matmul", "experts", "rms_norm", "layer_norm", "glu", "silu", "gelu", "relu", "softmax"),
    *ATTENTION,
)
"""Kinds whose gradient needs what they read; that of a sum, of rope and of a copy does not."""


def _outside_bytes(run: Run, width: float) -> float:
    """What rows behind the layers keep, and the logits. [B]"""
    kept = sum(_tensors(run, [op for op in _keepers(run) if _outside(op)]))
    return float(kept * width + run.base.elements_out[-1] * MASTER_BYTES)


def _layers_bytes(run: Run, width: float, micro_batches: float = 1) -> float:
    """What the layers keep of so many micro-batches. [B]

    Each tensor once, however many rows read it; scores of attention only where nothing runs again. Korthikanti et al.,
    "Reducing Activation Recomputation in Large Transformer Models", 2022, section 4: without dropout and with GeLU that
    is 32 s·b·h + 2 a·s²·b bytes a layer in 16 bits. arXiv:2205.05198
    """
    rows = [op for op in _keepers(run) if not _outside(op)]
    kept = _kept(run, run.own, run.length, [op for op in rows if not op.name.startswith(TOWER)], micro_batches)
    if run.network.sees and run.tower == "trained":
        tower = run.network.sees.tower
        kept += _kept(run, tower, tower.context, [op for op in rows if op.name.startswith(TOWER)], micro_batches)
    return kept * width


def _keepers(run: Run) -> Iterator[Op]:
    """Of a product whose weights are frozen nothing is kept."""
    kept = (op for op in run.base.rows() if op.kind in KEEPS_INPUT and run.trains(op.name))
    return (op for op in kept if not run.lora or op.name in ADAPTED or not op.elements_weight or "norm" in op.kind)


def _kept(run: Run, net: Transformer, length: int, rows: Sequence[Op], micro_batches: float) -> float:
    """Elements that these rows of layers keep, of sequences of that length."""
    kept = float(sum(_tensors(run, rows)))
    kept += run.lora * sum(op.repeats * op.m for op in rows if op.name in ADAPTED)
    if run.recompute == "full":  # one layer runs again at a time, beside the inputs of all
        ways = run.how.tp if run.how.sequence else 1
        return micro_batches * net.layers * run.at_once * length * net.hidden / ways + kept / net.layers
    scores = net.layers * run.at_once * net.heads * length**2 if run.recompute == "none" else 0
    return micro_batches * (kept + scores)


def _tensors(run: Run, rows: Iterable[Op]) -> Iterator[int]:
    """Elements of each tensor that some rows read; of what is gathered for a product, those of a device."""
    flow, names = run.base.flow, run.base.op_names.tolist()
    assert flow is not None
    reads = dict(zip(names, flow.reads, strict=True))
    largest: dict[tuple[int, ...], int] = {}
    for op in rows:
        read = reads[op.name]
        gathered = run.how.sequence and op.kind == "linear" and names[read[0]] in SPREAD
        size = -(-op.elements_in // run.how.tp) if gathered else op.elements_in
        largest[read] = max(size, largest.get(read, 0))
    yield from largest.values()
