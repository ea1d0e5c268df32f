"""Claims about training: the rate and the utilization that a document prints, from the throughput that it prints.

    mfu: palm-540b        with tokens_per_s and devices, or tokens and seconds; or with the rate of a device
    hfu: mpt-7b           the same, with what runs again in the backward pass

`expect` is a share of the dense peak, or a rate of one device such as 389 TFLOP/s.
"""

from collections.abc import Iterator
from typing import Any, get_args

from pytest_rooflint.claims.power import quantity
from pytest_rooflint.golden.kinds import Claim, ClaimError, Context, Kind, Obtained, slug_of
from rooflint.base.facts import Factor, Ladder
from rooflint.base.precision import precision
from rooflint.base.units import DIMENSIONLESS, OPS_PER_S, format_number
from rooflint.diagnosis.causes import Cause
from rooflint.hardware.device import Hardware, working_units
from rooflint.hardware.registry import PACKAGED
from rooflint.prediction.training import Attention, Counted, Recompute, TokenOps, parameters_counted, token_ops
from rooflint.workloads.networks import Network, network_named

NODE = 8
"""Devices of a node, whose rate is taken for that of a device."""

_NUMBER = {"type": "number", "exclusiveMinimum": 0}
OPTIONS: dict[str, dict[str, Any]] = {
    "tokens_per_s": {**_NUMBER, "description": "tokens a second, of all devices"},
    "tokens": {**_NUMBER, "description": "tokens of a step or of a run, of all devices; with seconds"},
    "seconds": {**_NUMBER, "description": "time of these tokens"},
    "rate": {"type": "string", "description": "the printed rate of one device, instead of tokens"},
    "devices": {"type": "integer", "minimum": 1, "description": "how many devices; 1 by default"},
    "length": {"type": "integer", "minimum": 1, "description": "tokens of a sequence"},
    "precision": {"type": "string", "description": "precision of the peak; bf16 by default"},
    "attention": {"enum": [*get_args(Attention)], "description": "keys that count for a token; full by default"},
    "counted": {"enum": [*get_args(Counted)], "description": "parameters of 6 N; all that a token meets by default"},
    "recompute": {"enum": [*get_args(Recompute)], "description": "of an hfu: what runs again; full by default"},
}


def check_training(claim: Claim) -> None:
    """Refuse missing and superfluous inputs, and an expectation of another dimension. Raises ClaimError."""
    given = [name for name in ("tokens_per_s", "tokens", "rate") if claim.option(name) is not None]
    if len(given) != 1:
        raise ClaimError(
            f"want one of tokens_per_s, tokens (with seconds) and rate; found {', '.join(given) or 'none'}"
        )
    if ("tokens" in given) != (claim.option("seconds") is not None):
        raise ClaimError("want tokens and seconds together")
    if "rate" in given:
        for name in OPTIONS.keys() - {"rate", "precision"}:
            if claim.option(name) is not None:
                raise ClaimError(f"{name}: unknown option beside rate, which needs no network")
    if "rate" not in given and claim.option("length") is None:
        raise ClaimError("length: is missing; want the tokens of a sequence")
    if claim.kind == "mfu" and claim.option("recompute") is not None:
        raise ClaimError("recompute: unknown option for 'mfu', which leaves out what runs again; want 'hfu'")
    quantity(claim, "rate", OPS_PER_S)
    precision(str(claim.option("precision", "bf16")))
    found = claim.expectation
    if found and found.dimension not in (DIMENSIONLESS, OPS_PER_S):
        raise ClaimError(f"expect: want a share such as 46.2 % or a rate such as 389 TFLOP/s, found '{found.text}'")
    if found and found.dimension == OPS_PER_S and "rate" in given:
        raise ClaimError("expect: want a share beside rate")


def obtain_training(claim: Claim, context: Context) -> Obtained:
    """Operations of the model over time, and over the dense peak. [1], or op/s of a device.

    Raises WorkloadError for an unknown network and for more tokens than its context.
    """
    hardware = context.device(claim)
    compute = precision(str(claim.option("precision", "bf16"))).name
    unit = working_units(hardware, compute)[0]
    rate = quantity(claim, "rate", OPS_PER_S)
    if rate is not None:
        above = Ladder((Factor("rate", rate, str(claim.option("rate"))),))
        return _share(above, hardware, unit.name, compute, _of_peak(claim, rate, unit.derivation(compute)))
    network = network_named(claim.subject, (*context.registry.roots, PACKAGED))
    ops, per_s = _token_ops(claim, network), _tokens_per_s(claim)
    above = Ladder(
        (Factor("tokens", per_s, f"{format_number(per_s, 6)} tokens/s"), Factor("ops", ops, _ops_text(claim, network)))
    )
    causes = tuple(_causes(claim, network, unit.derivation(compute).result))
    if claim.expectation and claim.expectation.dimension == OPS_PER_S:
        return Obtained(
            above.result, OPS_PER_S, above.formula, tuple(network.facts.values()), causes=causes, precision=compute
        )
    return _share(above, hardware, unit.name, compute, causes)


def _share(above: Ladder, hardware: Hardware, unit: str, compute: str, causes: tuple[Cause, ...]) -> Obtained:
    peak = hardware.unit(unit).derivation(compute)
    return Obtained(
        above.result / peak.result,
        DIMENSIONLESS,
        f"{above.formula} / ({peak.formula})",
        peak.facts,
        ladder=above,
        divisor=peak,
        hardware=hardware,
        unit=unit,
        precision=compute,
        causes=causes,
        written=lambda value: f"{100 * value:.2f} %",
    )


def _tokens_per_s(claim: Claim) -> float:
    """Of one device. [1/s]"""
    total = claim.option("tokens_per_s")
    of_all = claim.option("tokens") / claim.option("seconds") if total is None else total
    return float(of_all) / int(claim.option("devices", 1))


def _counted(claim: Claim, network: Network, **changed: str) -> TokenOps:
    chosen: dict[str, Any] = {"attention": "full", "counted": "all"}
    chosen |= {name: claim.option(name) for name in chosen if claim.option(name) is not None}
    return token_ops(network.transformer, int(claim.option("length")), **chosen | changed)


def _token_ops(claim: Claim, network: Network, **changed: str) -> float:
    """[op]"""
    found = _counted(claim, network, **changed)
    return found.hardware(claim.option("recompute", "full")) if claim.kind == "hfu" else found.model


def _ops_text(claim: Claim, network: Network) -> str:
    """`(6 × 540.4e9 + 35.63e9 of attention) op`"""
    found, parameters = (
        _counted(claim, network),
        parameters_counted(network.transformer, claim.option("counted", "all")),
    )
    text = f"(6 × {format_number(parameters / 1e9, 5)} G + {format_number(found.attention / 1e9, 4)} G of attention) op"
    return text if claim.kind == "mfu" else f"{text} and {claim.option('recompute', 'full')} recomputation"


# ---- What people count differently


def _causes(claim: Claim, network: Network, peak_ops_per_s: float) -> Iterator[Cause]:
    """Each other way to count that gives the printed figure, simplest first."""
    expected = claim.expectation
    if expected is None:
        return
    one, per_s = _token_ops(claim, network), _tokens_per_s(claim)
    below = peak_ops_per_s if expected.dimension == DIMENSIONLESS else 1.0
    for cost, (text, ops) in enumerate(_ways(claim, network, one, expected.dimension == DIMENSIONLESS)):
        if expected.holds(per_s * ops / below):
            yield Cause(text, one / ops, 1 + cost / 10, of_claim=True)


def _of_peak(claim: Claim, rate: float, peak: Ladder) -> tuple[Cause, ...]:
    found = claim.expectation
    if found and found.holds(rate / peak.result / 2):
        return (Cause(SPARSE, 2.0, 1.0, of_claim=True),)
    return ()


SPARSE = "the peak with structured sparsity was used; MFU is of the dense peak"


def _ways(claim: Claim, network: Network, ops: float, share: bool) -> Iterator[tuple[str, float]]:
    """(what was done, operations of a token that come to the same)."""
    found = _counted(claim, network)
    if share:
        yield SPARSE, ops / 2
    if claim.kind == "mfu":
        yield "what runs again was counted (8 N for 6 N): that is HFU", found.hardware("full")
        yield "what of attention runs again was counted: that is HFU", found.hardware("selective")
    else:
        yield "what runs again was left out: that is MFU", found.model
    for attention in get_args(Attention):
        other = {"none": "was left out", "causal": "was counted for half of the keys", "full": "was counted in full"}
        yield (
            f"attention {other[attention]}; write 'attention: {attention}'",
            _token_ops(claim, network, attention=attention),
        )
    for counted in get_args(Counted):
        of = {"all": "with the embedding", "products": "without the embedding", "experts": "of all experts"}
        yield (
            f"parameters were counted {of[counted]}; write 'counted: {counted}'",
            _token_ops(claim, network, counted=counted),
        )
    yield "2 N was counted, which is a forward pass alone", ops / 3
    yield f"the rate is of a node of {NODE} devices, not of one", ops * NODE
    yield f"the rate of a device was divided by the {NODE} of a node", ops / NODE


def _kind(name: str, says: str) -> Kind:
    return Kind(
        name,
        says,
        obtain_training,
        options=OPTIONS,
        check=check_training,
        modes=False,
        slug=lambda claim: slug_of(claim, *(name for name in OPTIONS if name != "precision")),
    )


MFU = _kind("mfu", "model FLOPs utilization of training, or the rate of a device, from the throughput that is printed")
HFU = _kind("hfu", "hardware FLOPs utilization: the same, with what runs again in the backward pass")
