"""Claims about the terms of the roofline: ops and intensity of a workload, breakpoint, attainable rate."""

from pytest_rooflint.claims.obtained import quotient
from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.kinds import Claim, ClaimError, Context, Kind, Obtained
from rooflint.base.facts import Factor, Ladder
from rooflint.base.precision import POLICIES, named
from rooflint.base.units import BYTES, DIMENSIONLESS, OPS, OPS_PER_BYTE, OPS_PER_MAC, OPS_PER_S, format_number
from rooflint.hardware.device import Hardware
from rooflint.roofline import attainable_ops_per_s, breakpoint_ops_per_byte
from rooflint.workloads.footprint import footprint
from rooflint.workloads.networks import network_in

# ---- `flops: conv2d + linear`: of all kernels or of some kinds; `flops: macs` counts MACs only


def obtain_flops(claim: Claim, context: Context) -> Obtained:
    """Sum of the ops. [op]"""
    workload = context.workload(claim)
    if claim.subject == "macs":
        ops = OPS_PER_MAC * float(workload.macs.sum())
        return Obtained(ops, OPS, f"{OPS_PER_MAC} × {workload.total_macs} MAC of {workload.name}")
    wanted = claim.subject.split(" + ")
    unknown = [kind for kind in wanted if kind != "all" and kind not in set(workload.kinds)]
    if unknown:
        having = ", ".join(dict.fromkeys(map(str, workload.kinds)))
        raise ClaimError(f"{workload.name} has no ops of kind {', '.join(unknown)} (has: {having})")
    chosen = [wanted == ["all"] or str(kind) in wanted for kind in workload.kinds]
    ops = float(workload.ops[chosen].sum())
    return Obtained(ops, OPS, f"2 × MACs + other ops of {sum(chosen)} kernels of {workload.name}")


FLOPS = Kind(
    "flops",
    "ops of a workload: `all`, `macs` at 2 op each, or kinds of kernels joined by '+'",
    obtain_flops,
    OPS,
    scopes=(),
    modes=False,
    options=kinds.WORKLOAD,
)

# ---- `parameters: total`, of a network that is given by its configuration

PARAMETERS_OF = {
    "total": lambda net: net.parameters,
    "active": lambda net: net.active_parameters,
    "active with embedding": lambda net: net.active_parameters + net.embedding_parameters * (not net.tied),
    "without embeddings": lambda net: net.parameters - net.embedding_parameters * (1 if net.tied else 2),
}


def check_parameters(claim: Claim) -> None:
    """Refuse another way of counting."""
    if claim.subject not in PARAMETERS_OF:
        raise ClaimError(f"parameters: want one of {', '.join(PARAMETERS_OF)}, found '{claim.subject}'")


def obtain_parameters(claim: Claim, context: Context) -> Obtained:
    """Weights, biases and norms that follow from the configuration. [1]"""
    name = context.workload(claim).name
    network = network_in(context.registry.source, name)
    if network is None:
        raise ClaimError(f"{name} is not a network that is given by its configuration")
    count = PARAMETERS_OF[claim.subject](network.configuration)
    facts = tuple(network.facts.values())
    return Obtained(float(count), DIMENSIONLESS, f"{count:,} by the configuration of {network.id}", facts)


PARAMETERS = Kind(
    "parameters",
    f"parameters of a network that is given by its configuration: {', '.join(PARAMETERS_OF)}",
    obtain_parameters,
    DIMENSIONLESS,
    scopes=(),
    modes=False,
    check=check_parameters,
    options=kinds.WORKLOAD,
)

# ---- `weights: mxfp4`, of the same network in a precision or under a policy


def check_weights(claim: Claim) -> None:
    """Refuse what is neither a precision nor a policy. Raises UnknownPrecisionError."""
    named(claim.subject)


def obtain_weights(claim: Claim, context: Context) -> Obtained:
    """Storage of all weights. [B]"""
    workload = context.workload(claim)
    network = network_in(context.registry.source, workload.name)
    if workload.roles is None or network is None:
        raise ClaimError(f"{workload.name} is not a network that is given by its configuration")
    found, form = footprint(workload), named(claim.subject)
    ladder = f"{found.weight_elements:,} weights"
    if policy := POLICIES.get(form):
        parts = policy.parts(workload.roles.has_experts)
        narrow = sum(one.elements for one in workload.roles.constant if one.part in parts)
        ladder += f", {narrow:,} of them in {policy.weights.stored_bits:.5g} bit, the others in 16 bit"
    return Obtained(found.weight_bytes(form), BYTES, ladder, tuple(network.facts.values()))


WEIGHTS = Kind(
    "weights",
    "storage of all weights of a network that is given by its configuration, in a precision or under a policy",
    obtain_weights,
    BYTES,
    scopes=(),
    modes=False,
    check=check_weights,
    options=kinds.WORKLOAD,
)

# ---- `cache: fp8-kv8`, of keys and values of all tokens that the workload ends with


def obtain_cache(claim: Claim, context: Context) -> Obtained:
    """Storage of keys and values. [B]"""
    workload = context.workload(claim)
    network = network_in(context.registry.source, workload.name)
    if workload.roles is None or network is None:
        raise ClaimError(f"{workload.name} is not a network that is given by its configuration")
    found = footprint(workload)
    text = f"{found.cache_elements:,} elements of keys and values"
    return Obtained(found.cache_bytes(named(claim.subject)), BYTES, text, tuple(network.facts.values()))


CACHE = Kind(
    "cache",
    "storage of keys and values of a network that is given by its configuration, after so many tokens",
    obtain_cache,
    BYTES,
    scopes=(),
    modes=False,
    check=check_weights,
    options=kinds.WORKLOAD,
)

# ---- `intensity: fp32`: of a workload that is stored in that precision


def obtain_intensity(claim: Claim, context: Context) -> Obtained:
    """Ops over bytes. [op/B]"""
    workload = context.workload(claim)
    return Obtained(
        workload.intensity_ops_per_byte(claim.subject),
        OPS_PER_BYTE,
        f"{workload.total_ops} op / {workload.total_bytes(claim.subject):.0f} B",
    )


INTENSITY = Kind(
    "intensity",
    "arithmetic intensity of a workload stored in a precision",
    obtain_intensity,
    OPS_PER_BYTE,
    scopes=(),
    modes=False,
    check=kinds.check_precision,
    options=kinds.WORKLOAD,
)

# ---- `breakpoint: tensor_core int8 / lpddr5`


def check_roofs(claim: Claim) -> None:
    """Refuse a subject other than `unit precision / memory`, and an unknown storage precision."""
    kinds.unit_precision(kinds.halves(claim.subject)[0])
    kinds.check_precisions(claim)


def _roofs(claim: Claim, hardware: Hardware) -> tuple[str, str, Ladder, Ladder]:
    """(unit, precision, peak, bandwidth)"""
    left, memory = kinds.halves(claim.subject)
    unit, compute = kinds.unit_precision(left)
    computing, moving = hardware.unit(unit), hardware.memory(memory)
    return unit, compute, computing.derivation(compute), moving.derivation()


def obtain_breakpoint(claim: Claim, context: Context) -> Obtained:
    """Peak over bandwidth. [op/B]"""
    hardware = context.device(claim)
    unit, compute, peak, bandwidth = _roofs(claim, hardware)
    value = breakpoint_ops_per_byte(peak.result, bandwidth.result)
    return quotient(value, peak, bandwidth, OPS_PER_BYTE, hardware, unit, compute)


BREAKPOINT = Kind(
    "breakpoint",
    "the arithmetic intensity above which compute is the limit: peak / bandwidth",
    obtain_breakpoint,
    OPS_PER_BYTE,
    check=check_roofs,
)

# ---- `attainable: tensor_core fp16 / hbm2`


def obtain_attainable(claim: Claim, context: Context) -> Obtained:
    """The lower of the peak and of intensity × bandwidth. [op/s]

    A diagnosis examines the lower one, and where the value is too high, the higher one, too.
    """
    hardware = context.device(claim)
    unit, compute, peak, bandwidth = _roofs(claim, hardware)
    intensity = context.workload(claim).intensity_ops_per_byte(str(claim.option("storage", compute)))
    slope = bandwidth.times(Factor("intensity", intensity, f"{format_number(intensity)} op/B"))
    lower, higher = sorted((peak, slope), key=lambda ladder: ladder.result)
    return Obtained(
        value=float(attainable_ops_per_s(intensity, peak.result, bandwidth.result)),
        dimension=OPS_PER_S,
        formula=f"min({peak.formula}, {slope.formula})",
        facts=(*peak.facts, *bandwidth.facts),
        ladder=lower,
        higher=higher,
        hardware=hardware,
        unit=unit,
        precision=compute,
    )


ATTAINABLE = Kind(
    "attainable",
    "the rate that the roofline allows at a workload's arithmetic intensity: min(peak, intensity × bandwidth)",
    obtain_attainable,
    OPS_PER_S,
    check=check_roofs,
    options={**kinds.STORED, **kinds.WORKLOAD},
)
