"""Claims about training: the rate and the utilization that a document prints, from the throughput that it prints.

    mfu: palm-540b        with tokens_per_s and devices, or tokens and seconds; or with the rate of a device
    hfu: mpt-7b           the same, with what runs again in the backward pass

`expect` is a share of the dense peak, or a rate of one device such as 389 TFLOP/s.
"""

from collections.abc import Iterable, Iterator
from typing import Any, get_args

from pytest_rooflint.claims.power import quantity
from pytest_rooflint.golden.kinds import Claim, ClaimError, Context, Kind, Obtained, slug_of
from rooflint.base.facts import Factor, Ladder
from rooflint.base.precision import precision
from rooflint.base.units import DIMENSIONLESS, OPS_PER_S, format_number
from rooflint.diagnosis.causes import Cause
from rooflint.diagnosis.training import Chosen, ops_of, ways
from rooflint.hardware.device import Hardware, working_units
from rooflint.prediction.training_run import Attention, Counted, Recompute, parameters_counted, token_ops
from rooflint.workloads.networks import Network, network_in, network_named

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
    peaks = [unit.derivation(compute) for unit in working_units(hardware, compute)]
    rate = quantity(claim, "rate", OPS_PER_S)
    if rate is not None:
        above = Ladder((Factor("rate", rate, str(claim.option("rate"))),))
        return _share(above, hardware, compute, _of_peak(claim, rate, _sum(peaks)))
    registry = context.registry.source
    network = network_in(registry, claim.subject) or network_named(claim.subject, registry.roots)  # names near ones
    ops, per_s = _token_ops(claim, network), _tokens_per_s(claim)
    above = Ladder(
        (Factor("tokens", per_s, f"{format_number(per_s, 6)} tokens/s"), Factor("ops", ops, _ops_text(claim, network)))
    )
    causes = tuple(_causes(claim, network, _sum(peaks)))
    if claim.expectation and claim.expectation.dimension == OPS_PER_S:
        return Obtained(
            above.result, OPS_PER_S, above.formula, tuple(network.facts.values()), causes=causes, precision=compute
        )
    return _share(above, hardware, compute, causes)


def _sum(peaks: Iterable[Ladder]) -> float:
    """Of the units that work together. [op/s]"""
    return sum(peak.result for peak in peaks)


def _share(above: Ladder, hardware: Hardware, compute: str, causes: tuple[Cause, ...]) -> Obtained:
    """Of the peak of all units that work together, as a step of training has it; facts are accused where it is one."""
    units = working_units(hardware, compute)
    peaks = [unit.derivation(compute) for unit in units]
    single = peaks[0] if len(peaks) == 1 else None
    return Obtained(
        above.result / _sum(peaks),
        DIMENSIONLESS,
        f"{above.formula} / ({' + '.join(peak.formula for peak in peaks)})",
        tuple(fact for peak in peaks for fact in peak.facts),
        ladder=above if single else None,
        divisor=single,
        hardware=hardware,
        unit=units[0].name if single else None,
        precision=compute,
        causes=causes,
        written=lambda value: f"{100 * value:.2f} %",
    )


def _tokens_per_s(claim: Claim) -> float:
    """Of one device. [1/s]"""
    total = claim.option("tokens_per_s")
    of_all = claim.option("tokens") / claim.option("seconds") if total is None else total
    return float(of_all) / int(claim.option("devices", 1))


def _chosen(claim: Claim) -> Chosen:
    given = {name: claim.option(name) for name in ("attention", "counted", "recompute")}
    return Chosen(**{name: choice for name, choice in given.items() if choice is not None})


def _token_ops(claim: Claim, network: Network) -> float:
    """[op]"""
    return ops_of(network.transformer, int(claim.option("length")), claim.kind, _chosen(claim))


def _ops_text(claim: Claim, network: Network) -> str:
    """`(6 × 540.4e9 + 35.63e9 of attention) op`"""
    chosen = _chosen(claim)
    parameters = parameters_counted(network.transformer, chosen.counted)
    found = token_ops(
        network.transformer, int(claim.option("length")), attention=chosen.attention, counted=chosen.counted
    )
    text = f"(6 × {format_number(parameters / 1e9, 5)} G + {format_number(found.attention / 1e9, 4)} G of attention) op"
    return text if claim.kind == "mfu" else f"{text} and {chosen.recompute} recomputation"


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


def _of_peak(claim: Claim, rate: float, peak_ops_per_s: float) -> tuple[Cause, ...]:
    found = claim.expectation
    if found and found.holds(rate / peak_ops_per_s / 2):
        return (Cause(SPARSE, 2.0, 1.0, of_claim=True),)
    return ()


SPARSE = "the peak with structured sparsity was used; MFU is of the dense peak"


def _ways(claim: Claim, network: Network, ops: float, share: bool) -> Iterator[tuple[str, float]]:
    """(what was done, operations of a token that come to the same)."""
    if share:
        yield SPARSE, ops / 2
    for way in ways(network.transformer, int(claim.option("length")), claim.kind, _chosen(claim)):
        yield way.text, way.ops


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
