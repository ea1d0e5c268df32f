"""What people count as the operations of a token in training: by definition, and otherwise.

for way in ways(llama, 8192, "mfu"):
    way.ops, way.error, way.text            # 6 N and attention first; 8 N, 2 N, all experts after it
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from rooflint.diagnosis.explanations import NODE
from rooflint.prediction.training_run import Attention, Counted, Recompute, TokenOps, token_ops
from rooflint.workloads.configuration import Transformer


@dataclass(frozen=True)
class Way:
    """One way to count."""

    ops: float
    """Of a token."""
    text: str
    """What was done, as against 6 N and attention in full."""
    error: str = ""
    """The class of error, one of `rooflint.diagnosis.explanations.ERRORS`; none where definitions differ."""


@dataclass(frozen=True)
class Chosen:
    """How a document says that it counts."""

    attention: Attention = "full"
    counted: Counted = "all"
    recompute: Recompute = "full"
    """Of an hfu."""


def ops_of(net: Transformer, length: int, kind: str, chosen: Chosen) -> float:
    """Operations of a token, of an `mfu` or an `hfu`. [op]. Raises WorkloadError for more than the context."""
    found = _counted(net, length, chosen)
    return found.hardware(chosen.recompute) if kind == "hfu" else found.model


def _counted(net: Transformer, length: int, chosen: Chosen) -> TokenOps:
    return token_ops(net, length, attention=chosen.attention, counted=chosen.counted)


def ways(net: Transformer, length: int, kind: str, chosen: Chosen | None = None) -> Iterator[Way]:
    """Other ways to count than the chosen one, simplest first. Raises WorkloadError for more than the context."""
    chosen = chosen or Chosen()
    found, ops = _counted(net, length, chosen), ops_of(net, length, kind, chosen)
    if kind == "mfu":
        yield Way(
            found.hardware("full"), "what runs again was counted (8 N for 6 N): that is HFU", "recomputation counted"
        )
        yield Way(
            found.hardware("selective"), "what of attention runs again was counted: that is HFU",
            "recomputation counted",
        )  # fmt: skip
    else:
        yield Way(found.model, "what runs again was left out: that is MFU", "recomputation left out")
    said = {"none": "was left out", "causal": "was counted for half of the keys", "full": "was counted in full"}
    for attention in get_args(Attention):
        other = Chosen(attention, chosen.counted, chosen.recompute)
        yield Way(ops_of(net, length, kind, other), f"attention {said[attention]}; write 'attention: {attention}'")
    of = {"all": "with the embedding", "products": "without the embedding", "experts": "of all experts"}
    for counted in get_args(Counted):
        other = Chosen(chosen.attention, counted, chosen.recompute)
        error = "all experts" if counted == "experts" and net.experts else ""
        yield Way(
            ops_of(net, length, kind, other),
            f"parameters were counted {of[counted]}; write 'counted: {counted}'",
            error,
        )
    yield Way(ops / 3, "2 N was counted, which is a forward pass alone", "forward alone")
    yield Way(ops * NODE, f"the rate is of a node of {NODE} devices, not of one", "several devices")
    yield Way(ops / NODE, f"the rate of a device was divided by the {NODE} of a node", "several devices")
