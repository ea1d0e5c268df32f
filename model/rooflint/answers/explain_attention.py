"""The answer to `rooflint explain attention`: attention of sequences on a GPU, in prefill, an encoder or decode."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from rooflint.answers.explain_kernel import (
    EXPONENTIALS,
    MORE,
    KernelRecord,
    bars,
    conditions,
    facts,
    limitations,
    sensitivity,
    shared_fields,
    sizes_of,
    summary,
    time_text,
)
from rooflint.base.precision import bytes_per_element
from rooflint.base.units import BYTES, BYTES_PER_S, format_number, format_quantity
from rooflint.hardware.schema import Strict
from rooflint.kernels import attention, decode
from rooflint.kernels.attention import Attention
from rooflint.kernels.decode import Decode
from rooflint.kernels.dispatch import RESOURCES, DeviceKernel, with_more
from rooflint.output.answer import Answer
from rooflint.output.sections import Cell, Grid, Prose, Section, Table

Phase = Literal["prefill", "encoder", "decode"]
Term = Literal["main loop", "softmax", "fill", "power", "memory", "reduction", "launch"]

WAITS: Mapping[str, str] = {
    "main loop": "the matrix units: more of them would help, or heads whose elements are a multiple of 16",
    "softmax": "the exponentials of the softmax: more special function units would help",
    "fill": "filling and emptying blocks: longer sequences share that among more steps",
    "power": "the power limit: at the full rate of the units the ops would draw more",
    "memory": "the bytes moved: heads that share keys, a narrower cache, or more bandwidth would help",
    "reduction": "combining the parts of the caches: more sequences at once need fewer parts",
    "launch": "the launch overhead: more sequences at once share it",
}
"""What limits a latency, by its largest term."""


class TermRecord(Strict):
    """One term; all of them add up to the latency."""

    term: Term
    seconds: float


class AttentionRecord(KernelRecord):
    """Attention on a GPU, explained."""

    schema_: Annotated[Literal["rooflint.explain.attention/1"], Field(alias="schema")]
    phase: Phase
    cache_bytes: float
    """Of an element of the cache; 0 in an encoder, which has none. [B]"""
    batch: int
    heads: int
    kv_heads: int
    tokens: int
    """Of each sequence; in decode of its cache, the new token included."""
    width: int
    """Elements of a head."""
    bound: Term
    """The largest term."""
    terms: list[TermRecord]
    assumptions: list[str]
    """How the model takes the kernel to work."""


OF_DECODE = (
    "one new token per sequence; keys and values are read once, from memory",
    f"each cache is worked on in as many parts as take least ({', '.join(map(str, decode.SPLITS))}); a second pass "
    "combines them, as in Flash-Decoding",
    f"heads that share keys are padded to {decode.ROWS} rows of a matrix instruction; steps of {decode.KEYS} keys",
)
"""How a kernel of decode is taken to work."""

LISTING = ("hardware", "precision", "phase", "batch", "heads", "kv_heads", "tokens", "width", "term", "seconds")


def options_of(phase: str, cache: str, precision: str) -> tuple[str, dict[str, Any]]:
    """The op of a phase and its options, with a cache in some precision, by default that of the arithmetic."""
    width = bytes_per_element(cache or precision)
    if phase == "decode":
        return "decode", {"cache_bytes": width}
    causal = phase == "prefill"
    return "attention", {"causal": causal, "append_bytes": width if causal else 0.0}


def answer(question: DeviceKernel) -> Answer:
    """Attention, explained."""
    terms = {name: seconds.item() for name, seconds in question.terms.items()}
    latency_s, bound = sum(terms.values()), max(terms, key=lambda name: terms[name])
    twice = dict(with_more(question, MORE, (*RESOURCES, EXPONENTIALS)))
    batch, heads, kv_heads, tokens, width = sizes_of(question)
    shared = f" on {kv_heads} of keys" if kv_heads != heads else ""
    return Answer(
        title=f"{_phase(question).title()}: {batch} × {tokens} tokens, {heads} heads of {width}{shared}, "
        f"on {question.hardware.name}",
        subtitle=f"{question.hardware.label}, {question.kernel.precision}{_cache(question)}{conditions(question)}",
        sections=(
            summary(question, latency_s, WAITS[bound], f"{KINDS[_phase(question)]} in {_stored(question)}"),
            _ladder(question, terms, bound),
            bars(list(terms.items()), latency_s),
            sensitivity(latency_s, twice),
            Prose("Assumptions", assumptions(question)),
            facts(question, "prefill", "products", *(["cores"] if question.chip.cores else [])),
            limitations(question),
        ),
        record=_record(question, terms, twice),
        listing=_listing(question, terms),
    )


KINDS: Mapping[Phase, str] = {"prefill": "prefill", "encoder": "attention of an encoder", "decode": "decode"}


def _phase(question: DeviceKernel) -> Phase:
    kernel = question.kernel
    if isinstance(kernel, Decode):
        return "decode"
    assert isinstance(kernel, Attention)
    return "prefill" if kernel.causal else "encoder"


def _cache_bytes(question: DeviceKernel) -> float:
    """Of an element. [B]"""
    kernel = question.kernel
    if isinstance(kernel, Decode):
        return kernel.cache_bytes
    assert isinstance(kernel, Attention)
    return kernel.append_bytes


def _cache(question: DeviceKernel) -> str:
    width = _cache_bytes(question)
    return f", {width:g} B per element of the cache" if width else ", no cache"


def _stored(question: DeviceKernel) -> str:
    """`bf16 with 1 B per element of the cache`."""
    width, precision = _cache_bytes(question), question.kernel.precision
    plain = width in (0.0, bytes_per_element(precision))
    return precision if plain else f"{precision} with {width:g} B per element of the cache"


def _ladder(question: DeviceKernel, terms: Mapping[str, float], bound: str) -> Section:
    rows = [(name, time_text(seconds), _how(question, name)) for name, seconds in terms.items() if seconds]
    rows.append(("= latency", time_text(sum(terms.values())), f"most of it: {bound}"))
    note = "of terms that overlap, the longest is whole and the others are what they add to it"
    return Grid("Terms", Table(("term", "time", "how"), tuple(rows)), note, strong=(len(rows) - 1,))


def _how(question: DeviceKernel, term: str) -> str:
    """What a term is of."""
    moved = question.kernel.bytes_moved(question.work).item()
    chip = question.chip
    if term == "memory":
        alone_s = question.kernel.time(question.work, chip, question.constants).memory_s.item()
        return f"{format_quantity(moved, BYTES)} at {format_quantity(moved / alone_s, BYTES_PER_S)}"
    return {
        "main loop": _blocks(question),
        "softmax": f"{chip.special_functions:g} exponentials a clock and SM",
        "fill": "first operands of a block in, its output out",
        "power": f"all ops at {format_number(chip.tdp_w)} W",
        "reduction": "a second pass over the parts",
        "launch": "in a graph (fitted; includes the start and end of each kernel)",
    }[term]


def _blocks(question: DeviceKernel) -> str:
    sizes, kernel, chip = question.work.sizes, question.kernel, question.chip
    if isinstance(kernel, Decode):
        split = kernel.parts(question.work, chip, question.constants).item()
        each = kernel.caches(sizes, chip, question.constants).caches.item() * split / chip.sms
        return f"each cache in {split} part{'s' if split > 1 else ''}, {each:.3g} for each SM"
    queries = _queries(question)
    each = (sizes.batch * sizes.kv_heads * attention.blocks(sizes, queries)).item() / chip.sms
    return f"blocks of {queries} queries, {each:.3g} for each SM"


def _queries(question: DeviceKernel) -> int:
    assert isinstance(question.kernel, Attention)
    constants, causal = question.constants.prefill, question.kernel.causal
    return int(attention.block_queries(question.work.sizes, question.chip, constants, causal=causal).item())


def assumptions(question: DeviceKernel) -> tuple[str, ...]:
    """How the model takes the kernel to work, in sentences."""
    kernel, width = question.kernel, int(question.work.sizes.width.item())
    padded = -(-width // attention.DEPTH) * attention.DEPTH
    said = OF_DECODE if isinstance(kernel, Decode) else _of_blocks(question)
    pads = [f"heads of {width} elements are padded to {padded}"] if padded > width else []
    beside = "beside the matrix instructions" if question.chip.asynchronous else "before or after matrix instructions"
    return (*said, *pads, f"each score takes an exponential of the softmax, {beside}", f"constants: {kernel.rests_on}")


def _of_blocks(question: DeviceKernel) -> tuple[str, ...]:
    sizes = " or ".join(map(str, attention.QUERIES))
    appended = _cache_bytes(question)
    half = "half of the scores are computed (causal)" if appended else "all scores are computed"
    again = f"; K and V are also appended to a cache of {appended:g} B per element" if appended else ""
    return (
        "one kernel that never writes scores to memory, as in FlashAttention",
        f"Q, K, V and the output are moved once, from memory{again}",
        f"blocks of {sizes} queries of the heads that share keys, whichever takes less; each walks along the keys in "
        f"steps of {attention.KEYS}; {half}",
    )


def _record(question: DeviceKernel, terms: Mapping[str, float], twice: Mapping[str, float]) -> AttentionRecord:
    return AttentionRecord.build(
        **shared_fields(question, sum(terms.values()), twice),
        **dict(zip(question.kernel.columns, sizes_of(question), strict=True)),
        phase=_phase(question),
        cache_bytes=_cache_bytes(question),
        bound=max(terms, key=lambda name: terms[name]),
        terms=[TermRecord.model_validate({"term": name, "seconds": seconds}) for name, seconds in terms.items()],
        assumptions=list(assumptions(question)),
    )


def _listing(question: DeviceKernel, terms: Mapping[str, float]) -> Table:
    asked: tuple[Cell, ...] = (
        *(question.hardware.label, question.kernel.precision, _phase(question)),
        *sizes_of(question),
    )
    return Table(LISTING, tuple((*asked, name, seconds) for name, seconds in terms.items()))
