"""`figure: latency GPU`: a figure that a document prints, recomputed under its assumptions (only with `given:`).

The tables OF_DEVICE, OF_ESTIMATE and OF_POWER define the figures. `sourced` computes the same figures by the
documented facts, for comparison.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from pytest_rooflint.claims.obtained import REFUTED, check_refuted, order
from pytest_rooflint.golden import replay
from pytest_rooflint.golden.historical import CountedPower
from pytest_rooflint.golden.kinds import STORAGE, WORKLOAD, Claim, ClaimError, Context, Kind, Obtained
from pytest_rooflint.golden.replay import Assumed, NotGivenError, is_ratio, subject_of
from rooflint.base import units
from rooflint.base.precision import rate_unit
from rooflint.base.text import article
from rooflint.base.units import Dimension, format_quantity
from rooflint.coefficients.library import FREE
from rooflint.energy.model import Energies
from rooflint.prediction.predict import Setting, predict
from rooflint.roofline import Estimate, breakpoint_ops_per_byte, memory_time_s
from rooflint.workloads.workload import Workload


def tensor_w(assumed: Assumed, precision: str) -> float:
    """Power of the assumed units at their peak. [W]"""
    return _formula(assumed).tensor_w(assumed.peak_ops_per_s(precision), _node(assumed))


def vector_w(assumed: Assumed, _precision: str) -> float:
    """Power of the FP32 unit beside them, whatever the precision of the assumed ones. [W]"""
    return _formula(assumed).vector_w(_vector_ops_per_s(assumed), _node(assumed))


def combined_w(assumed: Assumed, precision: str) -> float:
    """Power of both, the vector unit weighted with its share. [W]"""
    rates = assumed.peak_ops_per_s(precision), _vector_ops_per_s(assumed)
    return _formula(assumed).combined_w(*rates, _node(assumed))


def tdp_ratio(assumed: Assumed, precision: str) -> float:
    """Combined power over the TDP; above 1 the chip cannot sustain its peak. [1]"""
    return combined_w(assumed, precision) / assumed.tdp_w


def tdp_margin(assumed: Assumed, precision: str) -> float:
    """TDP over the power of the assumed units alone. [1]"""
    return assumed.tdp_w / tensor_w(assumed, precision)


def _formula(assumed: Assumed) -> CountedPower:
    if assumed.formulas.power is None:
        raise NotGivenError(f"{assumed.label} has no powers; give 'counted_power' under 'formula'")
    return assumed.formulas.power


def _node(assumed: Assumed) -> str:
    process, known = assumed.hardware.facts.get("process"), _formula(assumed).per_op_j
    if process is None:
        raise NotGivenError(f"{assumed.label} has no process; give it under 'facts'")
    node = "".join(process.display.split())
    if node not in known:
        raise NotGivenError(f"{assumed.label} has no energy per op at {node} (has: {', '.join(known)})")
    return node


def _vector_ops_per_s(assumed: Assumed) -> float:
    beside = [unit for name, unit in assumed.hardware.units.items() if name not in assumed.units]
    able = [unit.peak_ops_per_s("fp32") for unit in beside if "fp32" in unit.precisions]
    if not able:
        raise NotGivenError(f"{assumed.label} has no fp32 unit beside {assumed.spec.unit}")
    return max(able)


# ---- the claim

_SUBJECT = re.compile(r"\S+ \S+(( < \S+)*| / \S+)")

#: Figures of a device alone.
OF_DEVICE: dict[str, tuple[Dimension, Callable[[Assumed, str], float]]] = {
    "peak": (units.OPS_PER_S, lambda assumed, precision: assumed.peak_ops_per_s(precision)),
    "bandwidth": (units.BYTES_PER_S, lambda assumed, precision: assumed.bandwidth_bytes_per_s),
    "breakpoint": (
        units.OPS_PER_BYTE,
        lambda assumed, precision: breakpoint_ops_per_byte(
            assumed.peak_ops_per_s(precision), assumed.bandwidth_bytes_per_s
        ),
    ),
    "tops_per_w": (units.OPS_PER_J, lambda assumed, precision: assumed.peak_ops_per_s(precision) / assumed.tdp_w),
    "macs_per_clock": (units.DIMENSIONLESS, lambda assumed, precision: assumed.macs_per_clock(precision)),
    "tensor_power": (units.WATTS, tensor_w),
    "vector_power": (units.WATTS, vector_w),
    "combined_power": (units.WATTS, combined_w),
    "tdp_ratio": (units.DIMENSIONLESS, tdp_ratio),
    "tdp_margin": (units.DIMENSIONLESS, tdp_margin),
}

#: Figures that need a workload.
OF_ESTIMATE: dict[str, tuple[Dimension, Callable[[Estimate], float]]] = {
    "latency": (units.SECONDS, lambda estimate: estimate.latency_s),
    "ops": (units.OPS, lambda estimate: float(estimate.ops.sum())),
    "throughput": (units.HERTZ, lambda estimate: 1 / estimate.latency_s),
    "efficiency": (units.DIMENSIONLESS, lambda estimate: estimate.efficiency),
    "unattained": (units.DIMENSIONLESS, lambda estimate: 1 - estimate.efficiency),
    "intensity": (units.OPS_PER_BYTE, lambda estimate: estimate.intensity_ops_per_byte),
    "memory_time": (units.SECONDS, lambda estimate: float(estimate.memory_s.sum())),
    "compute_time": (units.SECONDS, lambda estimate: float(estimate.compute_s.sum())),
    "slowdown": (
        units.DIMENSIONLESS,
        lambda estimate: float(estimate.memory_s.sum() / estimate.compute_s.sum()),
    ),
    "attained": (units.OPS_PER_S, lambda estimate: estimate.efficiency * estimate.peak_ops_per_s),
    "bandwidth_efficiency": (
        units.DIMENSIONLESS,
        lambda estimate: (
            float(memory_time_s(estimate.bytes_moved.sum(), estimate.bandwidth_bytes_per_s)) / estimate.latency_s
        ),
    ),
}

#: Figures that need a workload and a power.
OF_POWER: dict[str, tuple[Dimension, Callable[[Assumed, Estimate], float]]] = {
    "energy": (units.JOULES, lambda assumed, estimate: assumed.energy_j(estimate)),
    "power": (units.WATTS, lambda assumed, estimate: assumed.energy_j(estimate) / estimate.latency_s),
    "tops_per_w_attained": (
        units.OPS_PER_J,
        lambda assumed, estimate: estimate.efficiency * estimate.peak_ops_per_s / assumed.tdp_w,
    ),
}

#: Figures of each op of a workload.
OF_ALLOCATION = ("utilization", "units", "blocks")


def _dimensions() -> dict[str, Dimension]:
    of_workload = (*OF_ESTIMATE.items(), *OF_POWER.items())
    known = {name: dimension for name, (dimension, _) in (*OF_DEVICE.items(), *of_workload)}
    return known | dict.fromkeys(OF_ALLOCATION, units.DIMENSIONLESS)


def check_figure(claim: Claim) -> None:
    """Refuse an unknown figure or label, and invalid options."""
    if not claim.given:
        raise ClaimError("a figure needs assumptions under 'given:'; this file has none")
    known, (name, labels) = _dimensions(), subject_of(claim)
    readable = _SUBJECT.fullmatch(claim.subject) and len(set(labels)) == len(labels)
    if not readable or name not in known or not set(labels) <= set(claim.given):
        raise ClaimError(
            f"want one of {', '.join(known)}, then one of the labels {', '.join(claim.given)} or several with '<' "
            f"between them, or two with '/'; found '{claim.subject}'"
        )
    check_refuted(claim)
    if claim.option("compute") is None:
        raise ClaimError("a figure needs 'compute:', the precision that it was printed for")
    wanted = units.DIMENSIONLESS if is_ratio(claim) else known[name]
    if claim.expectation and claim.expectation.dimension != wanted:
        raise ClaimError(f"expect: '{claim.expectation.text}' is not {article('ratio' if is_ratio(claim) else name)}")


def obtain_figure(claim: Claim, context: Context) -> Obtained:
    """Compute it under the assumptions; of several labels, compare neighbours, or divide the first by the second."""
    name, labels = subject_of(claim)
    assumed, precision = replay.assumed(claim, context), str(claim.option("compute"))
    found = [_value(name, assumed[label], claim, context) for label in labels]
    values = [value for value, _ in found]
    dimension, first = _dimensions()[name], assumed[labels[0]]
    if is_ratio(claim):
        formula = " / ".join(_shown(name, value, precision) for value in values)
        return Obtained(
            values[0] / values[1],
            units.DIMENSIONLESS,
            formula,
            written=_times,
            hardware=first.hardware,
            precision=precision,
        )
    rising = all(low < high for low, high in pairwise(values))
    holds, expected = order(claim, rising)
    shown = [f"{label} {_shown(name, value, precision)}" for label, value in zip(labels, values, strict=True)]
    return Obtained(
        value=values[0],
        dimension=dimension,
        display=(" < " if rising else ", ").join(shown) if len(labels) > 1 else "",
        formula=found[0][1] if len(labels) == 1 else "",
        facts=(*(first.hardware.facts[path] for path in first.spec.facts), *first.formulas.facts.values())
        if len(labels) == 1
        else (),
        holds=holds,
        expected=expected,
        written=lambda shown: _shown(name, shown, precision),
        hardware=first.hardware,
        precision=precision,
    )


def _value(name: str, assumed: Assumed, claim: Claim, context: Context) -> tuple[float, str]:
    """The figure of one label in base units, and its formula."""
    precision = str(claim.option("compute"))
    if name in OF_DEVICE:
        return OF_DEVICE[name][1](assumed, precision), ""
    if name in OF_ALLOCATION:
        return assumed.laid_out(name, context.workload(claim), precision)
    estimate = assumed.estimate(context.workload(claim), precision, str(claim.option("storage", precision)))
    if name in OF_POWER:
        return OF_POWER[name][1](assumed, estimate), ""
    return OF_ESTIMATE[name][1](estimate), _said(estimate)


def _times(value: float) -> str:
    return f"{value:.2f}×"


def _shown(name: str, value: float, precision: str) -> str:
    dimension = _dimensions()[name]
    if name in ("units", "blocks", "macs_per_clock"):
        return f"{value:.0f}"
    if name in ("tdp_ratio", "tdp_margin", "slowdown"):
        return _times(value)
    if dimension == units.HERTZ:
        return f"{value:.1f} inferences/s"
    if dimension == units.DIMENSIONLESS:
        return f"{100 * value:.2f} %"
    return format_quantity(value, dimension, unit=rate_unit(precision) if dimension == units.OPS_PER_S else None)


def _said(estimate: Estimate) -> str:
    peak = format_quantity(estimate.peak_ops_per_s, units.OPS_PER_S)
    return (
        f"Σ max(ops / {peak}, bytes / {format_quantity(estimate.bandwidth_bytes_per_s, units.BYTES_PER_S)})"
        f" + {len(estimate.ops)} × {format_quantity(estimate.overhead_s, units.SECONDS)}"
    )


def sourced(
    name: str, assumed: Assumed, precision: str, workload: Callable[[], Workload], energies: Energies
) -> tuple[str | None, float | None]:
    """The same figure by the documented facts, as text and in base units; None for claims of other kinds.

    An energy is predicted by the model's own terms, not by the replayed formula. A power at the peak keeps the formula
    with its factors; only the device is the documented one. Raises RooflintError where the facts do not suffice.
    """
    meant = assumed.precision(precision)
    documented = Assumed(
        assumed.label,
        assumed.spec.model_copy(update={"conventions": {}}),
        assumed.sourced,
        assumed.sourced,
        formulas=assumed.formulas,
    )
    if name in OF_DEVICE:
        value = OF_DEVICE[name][1](documented, meant)
    elif name in OF_ESTIMATE:
        one = documented if assumed.formulas.measured_s is None else assumed  # whose peak was measured, too
        value = OF_ESTIMATE[name][1](one.sourced_estimate(workload(), meant))
    elif name in OF_ALLOCATION:
        value, _ = documented.laid_out(name, workload(), meant)
    elif name == "tops_per_w_attained":
        value = OF_POWER[name][1](documented, documented.sourced_estimate(workload(), meant))
    elif name not in OF_POWER:
        return None, None  # a claim of another kind that is replayed, too
    else:
        found = predict(assumed.sourced, workload(), energies, Setting(meant, launch=FREE))
        value = found.energy_j if name == "energy" else found.power_w
    return _shown(name, value, meant), value


def sourced_ratio(
    name: str,
    labels: Sequence[str],
    assumed: Mapping[str, Assumed],
    precision: str,
    workload: Callable[[], Workload],
    energies: Energies,
) -> tuple[str | None, float | None]:
    """The figure of the first label over that of the second by the documented facts; None where one is unknown."""
    above, below = (sourced(name, assumed[label], precision, workload, energies)[1] for label in labels)
    return (_times(above / below), above / below) if above and below else (None, None)


def sourced_order(
    name: str,
    labels: Iterable[str],
    assumed: Mapping[str, Assumed],
    precision: str,
    workload: Callable[[], Workload],
    energies: Energies,
) -> str | None:
    """The order of the labels by the documented facts, smallest first; None where a figure of one is unknown."""
    found = [(label, *sourced(name, assumed[label], precision, workload, energies)) for label in labels]
    known = [(value, f"{label} {text}") for label, text, value in found if value is not None]
    return " < ".join(text for _, text in sorted(known)) if len(known) == len(found) else None


FIGURE = Kind(
    "figure",
    "a figure that a document prints, recomputed under its assumptions; the order or the ratio of labels by it",
    obtain_figure,
    expects=lambda subject: "<" not in subject,
    scopes=(),
    modes=False,
    check=check_figure,
    options={**STORAGE, **WORKLOAD, **REFUTED},
)
