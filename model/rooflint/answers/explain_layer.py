"""The answers to `rooflint explain moe`, `mla` and `routing`: what layers of large models run beside products."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from rooflint.answers.explain_kernel import (
    EXPONENTIALS,
    MORE,
    KernelRecord,
    bars,
    conditions,
    error_text,
    facts,
    limitations,
    links_and,
    range_text,
    sensitivity,
    shared_fields,
    sizes_of,
    summary,
    time_text,
    with_facts_of_links,
)
from rooflint.base.units import BYTES, BYTES_PER_S, format_quantity
from rooflint.hardware.schema import Strict
from rooflint.kernels.dispatch import RESOURCES, DeviceKernel, with_more
from rooflint.kernels.experts import ExpertLayer, Experts, load
from rooflint.kernels.latent import LatentAttention, LatentDecode
from rooflint.kernels.routing import ExpertExchange
from rooflint.output.answer import Answer
from rooflint.output.sections import Grid, Prose, Section, Table

Kind = Literal["moe", "mla prefill", "mla decode", "dispatch", "combine"]

HOW: Mapping[str, str] = {
    "up": "grouped product of gate and up",
    "activation": "both halves in, one out",
    "down": "grouped product of down",
    "sum": "rows in, a sum for each token out",
    "other ranks": "SMs find places for the rows of all ranks",
    "SMs": "SMs find out where tokens go, and copy them",
    "wire": "what leaves a device",
    "main loop": "matrix units",
    "softmax": "exponentials",
    "fill": "first operands of a block in, its output out",
    "power": "all ops at the rated power",
    "memory": "latents, queries and output",
    "reduction": "a second pass over the parts of caches",
    "work": "blocks that walk through the caches, and their bytes",
    "launch": "in a graph",
}
"""What a term is of."""

WAITS: Mapping[str, str] = {
    "up": "the product of gate and up: at few tokens the weights of the experts that are hit, at many the matrix units",
    "activation": "the bytes of the activation: more bandwidth would help",
    "down": "the product of down: at few tokens the weights of the experts that are hit, at many the matrix units",
    "sum": "the bytes of the sum: more bandwidth would help",
    "other ranks": "the rows of other ranks: fewer ranks would help",
    "SMs": "the SMs that carry tokens: more of them (--sms) would help",
    "wire": "the bytes on the links: more or faster links would help",
    "main loop": "the matrix units: more of them would help",
    "softmax": "the exponentials of the softmax: more special function units would help",
    "fill": "filling and emptying blocks: longer sequences share that among more steps",
    "power": "the power limit: at the full rate of the units the ops would draw more",
    "memory": "the bytes moved: a narrower cache or more bandwidth would help",
    "reduction": "combining the parts of the caches: more sequences at once need fewer parts",
    "work": "walking through the caches: more sequences at once, or a library that splits caches, would help",
    "launch": "launches and latencies: more tokens share them",
}
"""What limits a time, by its largest term."""


class LayerTermRecord(Strict):
    """One term; all of them add up to the time."""

    term: str
    seconds: float


class LayerRecord(KernelRecord):
    """A layer of experts, latent attention, or the exchange of tokens, explained."""

    schema_: Annotated[Literal["rooflint.explain.layer/1"], Field(alias="schema")]
    kind: Kind
    sizes: dict[str, int]
    """By name, as `rooflint.kernel` takes them."""
    way: str
    """The kernels that take least."""
    alpha_beta_s: float | None
    """Latencies, and what must be sent at the bandwidth of the data sheet; null where nothing is sent. [s]"""
    bound: str
    """The largest term."""
    terms: list[LayerTermRecord]


LISTING = ("hardware", "precision", "kind", "sizes", "way", "term", "seconds")


def answer(question: DeviceKernel) -> Answer:
    """One of them, explained."""
    question = _taken(question)
    terms = {name: seconds.item() for name, seconds in question.terms.items()}
    latency_s, bound = sum(terms.values()), max(terms, key=lambda name: terms[name])
    routed = isinstance(question.kernel, ExpertExchange)
    twice = dict(links_and(question, "clock_hz") if routed else with_more(question, MORE, _resources(question)))
    kind, way, title = _kind(question), _way(question), _title(question)
    sizes = dict(zip(question.kernel.columns, sizes_of(question), strict=True))
    return Answer(
        title=f"{title}, on {question.hardware.name}",
        subtitle=f"{question.hardware.label}, {question.kernel.precision}, {way}{conditions(question)}",
        sections=(
            _sent(question, latency_s, bound) if routed else summary(question, latency_s, WAITS[bound], f"such {kind}"),
            _ladder(question, terms, bound),
            bars(list(terms.items()), latency_s),
            sensitivity(latency_s, twice),
            facts(question, *_groups(question)),
            limitations(question),
        ),
        record=LayerRecord.build(
            **shared_fields(question, latency_s, twice),
            kind=kind,
            sizes=sizes,
            way=way,
            alpha_beta_s=_alpha_beta_s(question),
            bound=bound,
            terms=[LayerTermRecord(term=name, seconds=seconds) for name, seconds in terms.items()],
        ),
        listing=Table(
            LISTING,
            tuple(
                (question.hardware.label, question.kernel.precision, kind, _text(sizes), way, name, seconds)
                for name, seconds in terms.items()
            ),
        ),
    )


def _taken(question: DeviceKernel) -> DeviceKernel:
    """With the kernels that are taken, whose errors are known, and the facts that it follows from."""
    if not isinstance(question.kernel, ExpertExchange):
        return question
    (taken,) = question.kernel.taken(question.work, question.chip, question.constants)
    return with_facts_of_links(replace(question, kernel=replace(question.kernel, kernels=taken)))


def _kind(question: DeviceKernel) -> Kind:
    kernel = question.kernel
    if isinstance(kernel, ExpertExchange):
        return kernel.way
    if isinstance(kernel, ExpertLayer):
        return "moe"
    return "mla prefill" if isinstance(kernel, LatentAttention) else "mla decode"


def _way(question: DeviceKernel) -> str:
    """Which kernels."""
    kernel, chip = question.kernel, question.chip
    if isinstance(kernel, ExpertExchange):
        return f"{kernel.kernels} kernels of DeepEP".replace("_", "-")
    if isinstance(kernel, ExpertLayer):
        _, product, up = kernel.parts(question.work, chip, question.constants)[0]
        assert isinstance(product, Experts)
        in_place = product.reads_in_place(up, chip, question.constants).item()
        return "rows where they lie" if in_place else "rows in the order of experts"
    if isinstance(kernel, LatentDecode):
        split = chip.asynchronous or kernel.split
        return f"{kernel.cache_bytes:g} B per element of the cache, {'split' if split else 'whole'} caches"
    return "latents expanded to keys and values"


def _title(question: DeviceKernel) -> str:
    sizes, kernel = dict(zip(question.kernel.columns, sizes_of(question), strict=True)), question.kernel
    if isinstance(kernel, ExpertLayer):
        spread = f"power law {kernel.skew:g}" if kernel.skew else "balanced"
        return (
            f"MoE: {sizes['tokens']} tokens, {sizes['top_k']} of {sizes['experts']} experts, {sizes['hidden']} × "
            f"{sizes['width']}, {spread}, {sizes['ranks']} rank{'s' if sizes['ranks'] > 1 else ''}"
        )
    if isinstance(kernel, ExpertExchange):
        return (
            f"{kernel.way.title()} of {sizes['tokens']} tokens of {sizes['hidden']} elements to {sizes['top_k']} of "
            f"{sizes['experts']} experts on {sizes['members']} devices"
        )
    phase = "prefill" if isinstance(kernel, LatentAttention) else "decode"
    return f"MLA {phase}: {sizes['batch']} × {sizes['tokens']} tokens, {sizes['heads']} heads"


def _resources(question: DeviceKernel) -> tuple[str, ...]:
    return (*RESOURCES, *([] if isinstance(question.kernel, ExpertLayer) else [EXPONENTIALS]))


def _groups(question: DeviceKernel) -> tuple[str, ...]:
    """Of constants."""
    if isinstance(question.kernel, ExpertExchange):
        return ("routing",)
    return ("experts", "products") if isinstance(question.kernel, ExpertLayer) else ("latent", "prefill")


def _alpha_beta_s(question: DeviceKernel) -> float | None:
    found = question.kernel.alpha_beta_s(question.work, question.chip, question.constants)
    return None if found is None else float(found.item())


def _sent(question: DeviceKernel, latency_s: float, bound: str) -> Section:
    """Time, both baselines, what limits it, and the error to expect."""
    moved, floor_s, plain_s = (
        question.kernel.bytes_moved(question.work).item(),
        question.floor_s.item(),
        _alpha_beta_s(question),
    )
    assert plain_s is not None
    return Prose(
        "Latency",
        (
            f"{time_text(latency_s)}, {format_quantity(moved / latency_s, BYTES_PER_S)} of the "
            f"{format_quantity(moved, BYTES)} that must leave a device",
            f"{latency_s / plain_s:.3g} times the {time_text(plain_s)} of latency and bandwidth alone (α–β)",
            f"{latency_s / floor_s:.3g} times the {time_text(floor_s)} of the plain roofline",
            f"mostly limited by {WAITS[bound]}",
            error_text(question, f"{_kind(question)} in {question.kernel.precision}"),
            range_text(question),
        ),
    )


def _ladder(question: DeviceKernel, terms: Mapping[str, float], bound: str) -> Section:
    rows = [(name, time_text(seconds), _how(question, name)) for name, seconds in terms.items() if seconds]
    rows.append(("= latency", time_text(sum(terms.values())), f"most of it: {bound}"))
    return Grid("Terms", Table(("term", "time", "how"), tuple(rows)), strong=(len(rows) - 1,))


def _how(question: DeviceKernel, term: str) -> str:
    kernel = question.kernel
    if isinstance(kernel, ExpertLayer) and term == "up":
        hit, rows = (one.item() for one in load(question.work.sizes, kernel.skew))
        return f"{HOW[term]}: {hit:g} experts of {rows / hit:.4g} rows"
    return HOW[term]


def _text(sizes: Mapping[str, int]) -> str:
    """`tokens 1, hidden 7168`."""
    return ", ".join(f"{name} {size}" for name, size in sizes.items())
