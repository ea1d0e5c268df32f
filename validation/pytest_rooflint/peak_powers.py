"""Powers at the peak under the assumptions of a replay, by the formula that its author counted them with."""

from pytest_rooflint.counted_power import CountedPower
from pytest_rooflint.replay import Assumed, NotGivenError


def tensor_w(assumed: Assumed, precision: str) -> float:
    """Of the assumed units. [W]"""
    return _formula(assumed).tensor_w(assumed.peak_ops_per_s(precision), _node(assumed))


def vector_w(assumed: Assumed, _precision: str) -> float:
    """Of the unit beside them that computes FP32, whatever the precision of the others. [W]"""
    return _formula(assumed).vector_w(_vector_ops_per_s(assumed), _node(assumed))


def combined_w(assumed: Assumed, precision: str) -> float:
    """Of both, the vector unit with its share. [W]"""
    rates = assumed.peak_ops_per_s(precision), _vector_ops_per_s(assumed)
    return _formula(assumed).combined_w(*rates, _node(assumed))


def tdp_ratio(assumed: Assumed, precision: str) -> float:
    """Both over the TDP; above 1 the chip cannot sustain its peak. [1]"""
    return combined_w(assumed, precision) / assumed.tdp_w


def tdp_margin(assumed: Assumed, precision: str) -> float:
    """The TDP over the power of the assumed units alone. [1]"""
    return assumed.tdp_w / tensor_w(assumed, precision)


def _formula(assumed: Assumed) -> CountedPower:
    if assumed.formulas.power is None:
        raise NotGivenError(f"{assumed.label} says no powers; give 'counted_power' under 'formula'")
    return assumed.formulas.power


def _node(assumed: Assumed) -> str:
    process, known = assumed.hardware.facts.get("process"), _formula(assumed).per_op_j
    if process is None:
        raise NotGivenError(f"{assumed.label} has no process; give it under 'facts'")
    node = "".join(process.display.split())
    if node not in known:
        raise NotGivenError(f"{assumed.label} says no energy of an op at {node} (it does at: {', '.join(known)})")
    return node


def _vector_ops_per_s(assumed: Assumed) -> float:
    beside = [unit for name, unit in assumed.hardware.units.items() if name not in assumed.units]
    able = [unit.peak_ops_per_s("fp32") for unit in beside if "fp32" in unit.precisions]
    if not able:
        raise NotGivenError(f"{assumed.label} has no unit beside {assumed.spec.unit} that computes fp32")
    return max(able)
