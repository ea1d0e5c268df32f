"""The answer to `rooflint explain collective`: a message among devices of a box, by the algorithm that takes least."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from rooflint.answers.explain_kernel import (
    KernelRecord,
    bars,
    error_text,
    facts,
    limitations,
    links_and,
    range_text,
    sensitivity,
    shared_fields,
    sizes_of,
    time_text,
    with_facts_of_links,
)
from rooflint.base.units import BYTES, BYTES_PER_S, format_quantity
from rooflint.hardware.schema import Strict
from rooflint.kernels.collectives import Collective, Kind, Library, link_of
from rooflint.kernels.dispatch import DeviceKernel
from rooflint.output.answer import Answer
from rooflint.output.sections import Grid, Prose, Section, Table

Term = Literal["wire", "pipeline", "steps", "launch"]

WAITS: Mapping[str, str] = {
    "wire": "the bytes on the links: more or faster links would help",
    "pipeline": "the chunks of the message, which fill and empty a pipeline: longer messages share that",
    "steps": "steps that wait for each other: fewer devices or longer messages would help",
    "launch": "the launch overhead: longer messages share it",
}
"""What limits a time, by its largest term."""


class CollectiveTermRecord(Strict):
    """One term; all of them add up to the time."""

    term: Term
    seconds: float


class CollectiveRecord(KernelRecord):
    """A collective among devices of a box, explained."""

    schema_: Annotated[Literal["rooflint.explain.collective/1"], Field(alias="schema")]
    kind: Kind
    library: Library
    message_bytes: int
    members: int
    algorithm: str
    """That takes least."""
    alpha_beta_s: float
    """Latencies, and what must be sent at the bandwidth of the data sheet. [s]"""
    bound: Term
    """The largest term."""
    terms: list[CollectiveTermRecord]


LISTING = ("hardware", "library", "kind", "message_bytes", "members", "algorithm", "term", "seconds")


def answer(question: DeviceKernel) -> Answer:
    """A collective, explained."""
    kernel, question = _kernel(question), with_facts_of_links(question)
    terms = {name: seconds.item() for name, seconds in question.terms.items()}
    latency_s, bound = sum(terms.values()), max(terms, key=lambda name: terms[name])
    size, members = sizes_of(question)
    (algorithm,) = kernel.algorithms(question.work, question.chip, question.constants)
    twice = dict(links_and(question, "clock_hz"))
    return Answer(
        title=f"{_title(kernel)} of {format_quantity(size, BYTES)} among {members} × {question.hardware.name}",
        subtitle=f"{question.hardware.label}, {'NCCL' if kernel.library == 'nccl' else 'a serving framework'}",
        sections=(
            Prose("Latency", _latency(question, latency_s, bound)),
            _ladder(question, terms, algorithm),
            bars(list(terms.items()), latency_s),
            sensitivity(latency_s, twice),
            facts(question, "collectives"),
            limitations(question),
        ),
        record=CollectiveRecord.build(
            **shared_fields(question, latency_s, twice),
            kind=kernel.kind,
            library=kernel.library,
            message_bytes=size,
            members=members,
            algorithm=algorithm,
            alpha_beta_s=_alpha_beta_s(question),
            bound=bound,
            terms=[CollectiveTermRecord.model_validate({"term": name, "seconds": one}) for name, one in terms.items()],
        ),
        listing=Table(
            LISTING,
            tuple(
                (question.hardware.label, kernel.library, kernel.kind, size, members, algorithm, name, seconds)
                for name, seconds in terms.items()
            ),
        ),
    )


def _kernel(question: DeviceKernel) -> Collective:
    assert isinstance(question.kernel, Collective)
    return question.kernel


def _title(kernel: Collective) -> str:
    """`All-reduce`."""
    return kernel.kind.replace("_", "-").capitalize()


def _alpha_beta_s(question: DeviceKernel) -> float:
    return _kernel(question).alpha_beta_s(question.work, question.chip, question.constants).item()


def _latency(question: DeviceKernel, latency_s: float, bound: str) -> tuple[str, ...]:
    """Time, the bandwidth that it is worth, both baselines, what limits it, and the error to expect."""
    size, _ = sizes_of(question)
    plain_s, floor_s = _alpha_beta_s(question), question.floor_s.item()
    return (
        f"{time_text(latency_s)}, {format_quantity(size / latency_s, BYTES_PER_S)} of the message",
        f"{latency_s / plain_s:.3g} times the {time_text(plain_s)} of latency and bandwidth alone (α–β)",
        f"{latency_s / floor_s:.3g} times the {time_text(floor_s)} of the plain roofline",
        f"mostly limited by {WAITS[bound]}",
        error_text(question, f"{_title(_kernel(question)).lower()} of serving frameworks"),
        range_text(question),
    )


def _ladder(question: DeviceKernel, terms: Mapping[str, float], algorithm: str) -> Section:
    link = link_of(question.chip)
    how = {
        "wire": f"by {algorithm}; NCCL counts on {format_quantity(link.attained_bytes_per_s, BYTES_PER_S)} "
        f"of {format_quantity(link.bandwidth_bytes_per_s, BYTES_PER_S)}",
        "pipeline": "chunks of the best size",
        "steps": "devices wait for each other",
        "launch": "from the host" if _kernel(question).library == "nccl" else "in a graph",
    }
    rows = [(name, time_text(seconds), how[name]) for name, seconds in terms.items() if seconds]
    rows.append(("= latency", time_text(sum(terms.values())), ""))
    return Grid("Terms", Table(("term", "time", "how"), tuple(rows)), strong=(len(rows) - 1,))
