"""`figure: latency GPU`: a figure that somebody printed, replayed under their assumptions (only with `given:`)."""

from collections.abc import Callable

from pytest_rooflint.claim import Claim
from pytest_rooflint.claims.subjects import STORAGE, WORKLOAD
from pytest_rooflint.kinds import ClaimError, Context, Kind, Obtained
from pytest_rooflint.replay import Assumed
from rooflint.errors import RooflintError
from rooflint.precision import rate_unit
from rooflint.roofline import Estimate, breakpoint_ops_per_byte
from rooflint.units import (
    BYTES_PER_S,
    DIMENSIONLESS,
    HERTZ,
    OPS_PER_BYTE,
    OPS_PER_J,
    OPS_PER_S,
    SECONDS,
    Dimension,
    format_quantity,
)
from rooflint.workload import Workload


class NoPowerError(RooflintError):
    """A figure per watt of a device whose assumed power is not given."""


def _power_w(assumed: Assumed) -> float:
    if "tdp" not in assumed.hardware.facts:
        raise NoPowerError(f"{assumed.label} has no tdp; give it under 'facts'")
    return assumed.hardware.facts["tdp"].value


#: What can be said of a device alone.
OF_DEVICE: dict[str, tuple[Dimension, Callable[[Assumed, str], float]]] = {
    "peak": (OPS_PER_S, lambda assumed, precision: assumed.peak_ops_per_s(precision)),
    "bandwidth": (BYTES_PER_S, lambda assumed, precision: assumed.bandwidth_bytes_per_s),
    "breakpoint": (
        OPS_PER_BYTE,
        lambda assumed, precision: breakpoint_ops_per_byte(
            assumed.peak_ops_per_s(precision), assumed.bandwidth_bytes_per_s
        ),
    ),
    "tops_per_w": (OPS_PER_J, lambda assumed, precision: assumed.peak_ops_per_s(precision) / _power_w(assumed)),
}

#: What needs a workload, too.
OF_ESTIMATE: dict[str, tuple[Dimension, Callable[[Estimate], float]]] = {
    "latency": (SECONDS, lambda estimate: estimate.latency_s),
    "throughput": (HERTZ, lambda estimate: 1 / estimate.latency_s),
    "efficiency": (DIMENSIONLESS, lambda estimate: estimate.efficiency),
    "intensity": (OPS_PER_BYTE, lambda estimate: estimate.intensity_ops_per_byte),
    "memory_time": (SECONDS, lambda estimate: float(estimate.memory_s.sum())),
    "compute_time": (SECONDS, lambda estimate: float(estimate.compute_s.sum())),
}


#: What is said of each op of a workload.
OF_ALLOCATION = ("utilization", "units", "blocks")


def check(claim: Claim) -> None:
    """Refuse a figure that cannot be replayed."""
    words = claim.subject.split()
    known = {name: dimension for name, (dimension, _) in (*OF_DEVICE.items(), *OF_ESTIMATE.items())}
    known |= dict.fromkeys(OF_ALLOCATION, DIMENSIONLESS)
    if not claim.given:
        raise ClaimError("a figure is replayed under 'given:' assumptions; this file has none")
    if len(words) != 2 or words[0] not in known or words[1] not in claim.given:
        raise ClaimError(
            f"want one of {', '.join(known)} and one of the labels {', '.join(claim.given)}; found '{claim.subject}'"
        )
    if claim.option("compute") is None:
        raise ClaimError("a figure needs 'compute:', the precision that it was printed for")
    wanted = known[words[0]]
    if claim.expectation and claim.expectation.dimension != wanted:
        raise ClaimError(f"expect: '{claim.expectation.text}' is not a {words[0]}")


def obtain(claim: Claim, context: Context) -> Obtained:
    """Compute it under the assumptions, and name what the documented facts give instead."""
    name, label = claim.subject.split()
    assumed, precision = context.assumed(claim)[label], str(claim.option("compute"))
    if name in OF_DEVICE:
        dimension, formula = OF_DEVICE[name]
        value, text = formula(assumed, precision), ""
    elif name in OF_ALLOCATION:
        dimension, (value, text) = DIMENSIONLESS, assumed.laid_out(name, context.workload(claim), precision)
    else:
        dimension, of_estimate = OF_ESTIMATE[name]
        estimate = assumed.estimate(context.workload(claim), precision, str(claim.option("storage", precision)))
        value, text = of_estimate(estimate), _said(estimate)
    return Obtained(
        value,
        dimension,
        text,
        tuple(assumed.hardware.facts[path] for path in assumed.spec.facts),
        written=lambda shown: _shown(name, shown, dimension, precision),
        hardware=assumed.hardware,
        precision=precision,
    )


def _shown(name: str, value: float, dimension: Dimension, precision: str) -> str:
    if name in ("units", "blocks"):
        return f"{value:g}"
    if dimension == HERTZ:
        return f"{value:.1f} inferences/s"
    if dimension == DIMENSIONLESS:
        return f"{100 * value:.2f} %"
    return format_quantity(value, dimension, unit=rate_unit(precision) if dimension == OPS_PER_S else None)


def _said(estimate: Estimate) -> str:
    peak = format_quantity(estimate.peak_ops_per_s, OPS_PER_S)
    return (
        f"Σ max(ops / {peak}, bytes / {format_quantity(estimate.bandwidth_bytes_per_s, BYTES_PER_S)})"
        f" + {len(estimate.ops)} × {format_quantity(estimate.overhead_s, SECONDS)}"
    )


def sourced(
    name: str, assumed: Assumed, precision: str, workload: Callable[[], Workload]
) -> tuple[str | None, float | None]:
    """The same figure by the documented facts, for a reader and in base units; None where it is no figure of ours."""
    documented = Assumed(
        assumed.label,
        assumed.spec.model_copy(update={"conventions": {}}),
        assumed.sourced,
        assumed.sourced,
        conventions={},
    )
    if name in OF_DEVICE:
        dimension, formula = OF_DEVICE[name]
        value = formula(documented, precision)
    elif name in OF_ESTIMATE:
        dimension, of_estimate = OF_ESTIMATE[name]
        value = of_estimate(documented.sourced_estimate(workload(), precision))
    elif name in OF_ALLOCATION:
        dimension, (value, _) = DIMENSIONLESS, documented.laid_out(name, workload(), precision)
    else:
        return None, None
    return _shown(name, value, dimension, precision), value


KIND = Kind(
    "figure",
    "a figure that somebody printed, replayed under their assumptions",
    obtain,
    scopes=(),
    modes=False,
    check=check,
    options={**STORAGE, **WORKLOAD},
)
