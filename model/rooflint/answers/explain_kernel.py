"""What every answer of `rooflint explain` says of a kernel: its time, the error to expect, and what would change it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from rooflint.base.facts import Fact, Grade
from rooflint.base.precision import rate_unit
from rooflint.base.units import OPS_PER_MAC, OPS_PER_S, SECONDS, format_quantity
from rooflint.hardware.schema import Strict
from rooflint.kernels.collectives import link_of
from rooflint.kernels.dispatch import RESOURCES, DeviceKernel, family_title, with_more
from rooflint.output.answer import Record
from rooflint.output.sections import Bar, Bars, Grid, Part, Prose, Section, Table

Positive = Annotated[float, Field(gt=0)]


class MoreRecord(Strict):
    """Twice as much of one resource."""

    resource: str
    latency_s: Positive


class FactRecord(Strict):
    """One fact that it follows from."""

    path: str
    value: float
    shown: str
    document: str
    where: str
    grade: Grade


class KernelRecord(Record):
    """A kernel on a GPU, explained."""

    hardware: str
    precision: str
    sustained: bool
    """Whether it runs for minutes, with its power held, and not in a short burst."""
    latency_s: Positive
    latency_low_s: Positive
    """With the constants of any family left out."""
    latency_high_s: Positive
    roofline_s: Positive
    errors: dict[str, float]
    """Mean error of such kernels on each family of GPUs, by constants that were fitted without it. [%]"""
    regime: list[str]
    """What is known of the error of kernels that are limited like this one and have about as many rows or tokens."""
    twice: list[MoreRecord]
    facts: list[FactRecord]
    caveats: list[str]


MORE = 2.0
"""Factor by which each resource is increased."""
SAME = 0.005
"""Relative change of a latency below which a resource is reported as "no change"."""

TITLES = {
    "gemm": "bf16 products",
    "fp32": "fp32 products on CUDA cores",
    "fp8_tensor": "fp8 products with one scale per tensor, quantise kernel included,",
    "fp8_block": "fp8 products with one scale per block, quantise kernel included,",
    "prefill": "bf16 prefill kernels",
    "encoder": "bf16 encoder kernels",
    "decode": "bf16 decode kernels",
    "decode_fp8": "decode kernels with an fp8 cache",
    "all_reduce": "all-reduce of serving frameworks",
    "nccl_all_reduce": "all-reduce by NCCL",
    "nccl_all_gather": "all-gather by NCCL",
    "nccl_reduce_scatter": "reduce-scatter by NCCL",
    "nccl_all_to_all": "all-to-all by NCCL",
    "moe_balanced": "balanced layers of experts in bf16",
    "moe_skewed": "layers of experts in bf16 whose loads follow a power law of 1.01",
    "moe_very_skewed": "layers of experts in bf16 whose loads follow a power law of 1.2",
    "mla_prefill": "bf16 prefill of latent attention",
    "mla_decode": "bf16 decode of latent attention",
    "mla_decode_whole": "bf16 decode of latent attention by TensorRT-LLM",
    "mla_decode_parts": "bf16 decode of latent attention by SGLang",
    "mla_decode_fp8": "decode of latent attention with an fp8 cache",
    "dispatch_normal": "dispatch in fp8 by normal kernels",
    "combine_normal": "combine in bf16 by normal kernels",
    "dispatch_low_latency": "dispatch in fp8 by low-latency kernels",
    "combine_low_latency": "combine in bf16 by low-latency kernels",
}
"""What was measured, by topic."""

EXPONENTIALS = "special_functions"
LABELS = {**RESOURCES, EXPONENTIALS: "exponentials/clock of an SM", "link_bytes_per_s": "bandwidth of the links"}
"""Inputs of a chip by what a reader calls them."""


def shared_fields(question: DeviceKernel, latency_s: float, twice: Mapping[str, float]) -> dict[str, Any]:
    """Values of a KernelRecord."""
    ends = _ends(question)
    return {
        "hardware": question.hardware.label,
        "precision": question.kernel.precision,
        "sustained": question.chip.sustained,
        "latency_s": latency_s,
        "latency_low_s": min(ends),
        "latency_high_s": max(ends),
        "roofline_s": question.floor_s.item(),
        "errors": dict(question.errors),
        "regime": list(question.regime_notes),
        "twice": [MoreRecord(resource=name, latency_s=seconds) for name, seconds in twice.items()],
        "facts": [_fact(fact) for fact in question.facts],
        "caveats": list(question.caveats),
    }


def sizes_of(question: DeviceKernel) -> tuple[int, ...]:
    """The sizes of the one op, in the order of its columns."""
    return tuple(int(column.item()) for column in question.work.sizes)


def conditions(question: DeviceKernel) -> str:
    """The end of a subtitle: a run of minutes, and the machine whose owner has calibrated it."""
    minutes = ", in a run of minutes" if question.chip.sustained else ""
    return f"{minutes}, calibrated on {question.own.spec.name}" if question.own else minutes


def summary(question: DeviceKernel, latency_s: float, waits: str, kind: str) -> Section:
    """Time, rate, the roofline, what limits it, and the error to expect; `kind` is what was not measured if so."""
    ops_per_s = OPS_PER_MAC * np.sum(question.kernel.macs(question.work)) / latency_s
    rate = format_quantity(ops_per_s, OPS_PER_S, unit=rate_unit(question.kernel.precision))
    floor_s = question.floor_s.item()
    return Prose(
        "Latency",
        (
            f"{time_text(latency_s)}, {rate}",
            f"{latency_s / floor_s:.3g} times the {time_text(floor_s)} of the plain roofline",
            f"mostly limited by {waits}",
            error_text(question, kind),
            range_text(question),
        ),
    )


def range_text(question: DeviceKernel) -> str:
    """The least and the longest time by constants that have not seen a family."""
    ends = _ends(question)
    return (
        f"{time_text(min(ends))} to {time_text(max(ends))} by constants fitted without one of the GPU families; "
        "a range of fits, not a confidence interval"
    )


def _ends(question: DeviceKernel) -> list[float]:
    """By the constants of each family left out. [s]"""
    return [seconds.item() for seconds in question.over_folds]


def error_text(question: DeviceKernel, kind: str) -> str:
    """The error of such predictions on families that the fit had not seen; `kind` is what was not measured if so."""
    errors = question.errors.values()
    if not errors:
        return f"error not known: no {kind} was measured"
    text = TITLES[question.kernel.topic or ""]
    own = question.own_error
    here = f"{own[1]:g} % on {family_title(own[0])}" if own else "not measured on its architecture"
    return (
        f"mean error of {text} on GPU families left out of the fit: "
        f"{here} ({min(errors):g} to {max(errors):g} % on all); {'; '.join(question.regime_notes)}"
    )


def bars(parts: Sequence[tuple[str, float]], latency_s: float) -> Section:
    """Terms that add up to the latency."""
    shown = tuple(Part(name, seconds, time_text(seconds)) for name, seconds in parts if seconds)
    return Bars("Latency by term", (Bar("latency", shown, time_text(latency_s)),))


def sensitivity(latency_s: float, twice: Mapping[str, float], note: str = "") -> Section:
    """What twice as much of each resource would change, the one that helps most first."""
    rows = sorted(((seconds / latency_s, name) for name, seconds in twice.items()))
    cells = tuple(
        (LABELS[name], time_text(twice[name]), f"{ratio - 1:+.0%}" if ratio < 1 - SAME else "no change")
        for ratio, name in rows
    )
    return Grid("Sensitivity to resources", Table(("twice the", "latency", ""), cells), note)


def links_and(question: DeviceKernel, *names: str) -> Iterator[tuple[str, float]]:
    """(resource, time) with so much more of the links, and of other inputs of the chip, one at a time. [s]"""
    link = link_of(question.chip)
    faster = link._replace(bandwidth_bytes_per_s=MORE * link.bandwidth_bytes_per_s)
    yield "link_bytes_per_s", replace(question, chip=replace(question.chip, link=faster)).seconds.item()
    yield from with_more(question, MORE, names)


def with_facts_of_links(question: DeviceKernel) -> DeviceKernel:
    """With the facts that an exchange follows from: the links of the device, and the clock of its SMs."""
    own = tuple(fact for path, fact in question.hardware.facts.items() if path.startswith("links."))
    clock = tuple(fact for fact in question.facts if fact.path.endswith(".clock"))
    return replace(question, chip=replace(question.chip, facts=(*own, *clock)))


def facts(question: DeviceKernel, *groups: str) -> Section:
    """All facts, and what the constants of some groups were fitted on."""
    rows = tuple((fact.path, fact.display, fact.source.grade) for fact in question.facts)
    packages = "; ".join(dict.fromkeys(question.file.fit(group).package for group in groups))
    return Grid("Facts", Table(("fact", "value", "grade"), rows), f"constants: {packages}")


def limitations(question: DeviceKernel) -> Section:
    """All caveats."""
    return Prose("Limitations", question.caveats)


def _fact(fact: Fact) -> FactRecord:
    document, grade = fact.source.document, fact.source.grade
    return FactRecord.from_object(fact, shown=fact.display, document=document, grade=grade)


def time_text(seconds: float) -> str:
    """`27.2 µs`."""
    return format_quantity(seconds, SECONDS)
