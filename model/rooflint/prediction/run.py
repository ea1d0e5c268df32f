"""Runs: what a language model reads and writes, in which passes, and the memory that it needs."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

from rooflint.base.precision import tensor_bytes
from rooflint.prediction.parallel import kept_wide
from rooflint.workloads.configuration import Transformer
from rooflint.workloads.footprint import Footprint, footprint
from rooflint.workloads.multimodal import VisionLanguage
from rooflint.workloads.networks import Network
from rooflint.workloads.parallelism import Parallelism, shard, stage
from rooflint.workloads.transformer import Step, decode_steps, table
from rooflint.workloads.workload import Workload, WorkloadError

PASS_TOKENS = 8192
"""New tokens of a pass over prompts: the default of max_num_tokens in TensorRT-LLM, and of max_num_batched_tokens where
vLLM serves on GPUs of 70 GiB and more but the A100. A prompt that is longer is read in a pass of its own."""

TABLES_KEPT = 256

ALONE = Parallelism()
"""One device."""


@lru_cache(maxsize=TABLES_KEPT)
def pass_table(net: Transformer, batch: int, new: int, steps: tuple[Step, ...] = (Step(0),)) -> Workload:
    """Runs of several batches have passes in common."""
    return table(net, batch, new, steps)


@lru_cache(maxsize=TABLES_KEPT)
def prompt_table(net: Transformer, sees: VisionLanguage | None, batch: int, new: int) -> Workload:
    """A pass over prompts; where they have images, these are encoded as well."""
    return sees.written_by(net).table(batch, new) if sees else pass_table(net, batch, new)


@dataclass(frozen=True)
class Run:
    """What is generated."""

    network: Network
    batch: int
    prompt: int
    """Tokens of each prompt."""
    generate: int
    """Tokens that are written for each."""

    def __post_init__(self) -> None:
        """Raises WorkloadError for less than one token or sequence, and for more tokens than the context."""
        for name in ("batch", "prompt", "generate"):
            if getattr(self, name) < 1:
                raise WorkloadError(f"{name}: want 1 or more, found {getattr(self, name)}")
        if self.network.writer.encoder:
            raise WorkloadError(
                f"{self.network.name}: is an encoder, which writes no tokens; "
                "want no --generate, --tp, --pp, --cp or --ep"
            )
        context, sees = self.network.writer.context, self.network.sees
        if sees and self.prompt <= sees.patches:
            raise WorkloadError(
                f"{self.network.name}: want a --prompt of more than the {sees.patches} tokens of its image, "
                f"found {self.prompt}"
            )
        if self.prompt + self.generate > context:
            raise WorkloadError(
                f"{self.network.name}: want a prompt and new tokens within its context of {context}, "
                f"found {self.prompt} + {self.generate}"
            )

    @property
    def together(self) -> int:
        """Most prompts of a pass."""
        return max(1, PASS_TOKENS // self.prompt)

    @property
    def steps(self) -> int:
        """Passes of decode."""
        return self.generate - 1

    @cached_property
    def prefill(self) -> tuple[tuple[float, Workload], ...]:
        """Passes over prompts: how often each runs, and its table."""
        whole, rest = divmod(self.batch, self.together)
        counts = ((whole, self.together), (1, rest))
        return tuple(
            (float(times), prompt_table(self.network.writer, self.network.sees, prompts, self.prompt))
            for times, prompts in counts
            if times * prompts
        )

    @property
    def lengths(self) -> tuple[Step, ...]:
        """Some lengths of the cache that stand for all steps of decode, each once."""
        return tuple(Step(step.past) for step in decode_steps(self.prompt, self.steps))

    @cached_property
    def decode(self) -> tuple[tuple[float, Workload], ...]:
        """Passes after the first token: a table of some lengths of the cache, and how often it runs."""
        if not self.steps:
            return ()
        times = self.steps / len(self.lengths)
        return ((times, pass_table(self.network.writer, self.batch, 1, self.lengths)),)

    def _footprints_of(self, net: Transformer, parts: int) -> tuple[Footprint, Footprint]:
        """Of a pass over a prompt and of the last pass of decode, each of one sequence, or of a part of it."""
        first = footprint(prompt_table(net, self.network.sees, 1, -(-self.prompt // parts)))
        last = Step(-(-(self.prompt + self.generate - 1) // parts) - 1)
        return first, footprint(pass_table(net, 1, 1, (last,))) if self.steps else first

    def memory(self, storage: str, how: Parallelism = ALONE) -> "Memory":
        """What must be there at once on each device, in a precision or under a policy."""
        net = self.network.writer
        if how.cp > 1:
            self._refuse_context(how.cp)
        own = net if how == ALONE else stage(shard(net, how), how)
        first, last = self._footprints_of(own, how.cp)
        weights = first.weight_bytes(storage)
        if how.pp > 1 and not net.tied:  # the first stage has the embedding, the last one the head
            weights -= float(tensor_bytes(-(-net.embedding_parameters // how.tp), kept_wide(storage)))
        return Memory(
            weight_bytes=weights,
            cache_of_one_bytes=last.cache_bytes(storage),
            prompt_of_one_bytes=first.peak_activation_bytes(storage) + self._gathered_bytes(own, storage, how),
            token_of_one_bytes=last.peak_activation_bytes(storage) if self.steps else 0.0,
            batch=-(-self.batch // how.groups),
            together=self.together,
            stages=how.pp,
            groups=how.groups,
            contexts=how.cp,
        )

    def _refuse_context(self, parts: int) -> None:
        """Raises WorkloadError for prompts that are not cut into so many parts."""
        if self.network.sees:
            raise WorkloadError(f"{self.network.name}: --cp is not modelled for prompts with images; want no --cp")
        if self.prompt < 2 * parts:
            raise WorkloadError(
                f"--cp: want a --prompt of at least {2 * parts} tokens, 2 for each part; found {self.prompt}"
            )

    def _gathered_bytes(self, net: Transformer, storage: str, how: Parallelism) -> float:
        """Keys and values of a whole prompt in one layer, while a part of it attends to them. [B]"""
        elements = 2 * net.kv_heads * net.head_size * self.prompt if how.cp > 1 else 0
        return float(tensor_bytes(elements, kept_wide(storage)))


@dataclass(frozen=True)
class Memory:
    """Bytes that a run needs on a device: weights once, cache for each sequence, activations for what runs together."""

    weight_bytes: float
    cache_of_one_bytes: float
    prompt_of_one_bytes: float
    """Activations while a prompt is read."""
    token_of_one_bytes: float
    """Activations of a sequence while tokens are written."""
    batch: int
    """Of the devices that have the same sequences."""
    together: int = 1
    """Most prompts of a pass."""
    stages: int = 1
    """Each works on a part of the batch."""
    groups: int = 1
    """Groups of devices, each with sequences of its own."""
    contexts: int = 1
    """Devices that each have a part of the tokens of a sequence; a token to write is on one of them."""

    @property
    def cache_bytes(self) -> float:
        """Keys and values of all tokens but the last one, of all sequences. [B]"""
        return self.batch * self.cache_of_one_bytes

    @property
    def activation_bytes(self) -> float:
        """The most activations at once. [B]"""
        return self._activations(self.batch)

    def _activations(self, batch: int) -> float:
        part = -(-batch // self.stages)
        own = -(-part // self.contexts)
        return max(min(part, self.together) * self.prompt_of_one_bytes, own * self.token_of_one_bytes)

    @property
    def total_bytes(self) -> float:
        """All of it. [B]"""
        return self.weight_bytes + self.cache_bytes + self.activation_bytes

    def largest_batch(self, capacity_bytes: float) -> int:
        """Sequences of all groups for which there is room; 0 where there is none for one."""
        room = capacity_bytes - self.weight_bytes
        fits, most = 0, max(int(room // self.cache_of_one_bytes), 0)
        while fits < most:  # more sequences never take less
            middle = (fits + most + 1) // 2
            if middle * self.cache_of_one_bytes + self._activations(middle) <= room:
                fits = middle
            else:
                most = middle - 1
        return self.groups * fits
