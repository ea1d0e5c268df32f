"""Claims about compute units: their peaks, numbers, rates per clock, sparsity, clocks and process node."""

import re

from pytest_rooflint.claims.obtained import of_system, one_fact, per_part, product, quotient, together
from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.kinds import Claim, ClaimError, Context, Kind, Obtained
from rooflint.base.facts import Fact, Factor, Ladder
from rooflint.base.units import DIMENSIONLESS, HERTZ, METRES, OPS_PER_S
from rooflint.diagnosis.candidate_causes import contradictions
from rooflint.hardware.device import ComputeUnit, Hardware, UnsupportedError
from rooflint.hardware.names import system_of

DEVICES = "devices"
"""What a system is counted in."""

# ---- `peak: tensor_core int8`, or of several units together: `tensor_core int8 + dla int8`


def check_peak(claim: Claim) -> None:
    """Refuse a subject other than `unit precision [+ unit precision …]`."""
    kinds.terms(claim.subject)
    kinds.check_flag(claim, "sparse")


def obtain_peak(claim: Claim, context: Context) -> Obtained:
    """Derive the peak of each unit and add them up, of all devices of a system. [op/s]"""
    hardware, system = of_system(claim, context)
    sparse = bool(claim.option("sparse"))
    named = kinds.terms(claim.subject)
    units = [(hardware.unit(unit), precision) for unit, precision in named]
    peaks = [unit.derivation(precision, sparse=sparse) for unit, precision in units]
    ladders = [together(peak, claim, hardware, system) for peak in peaks]
    single = len(ladders) == 1
    unit, precision = named[0]
    return Obtained(
        value=sum(ladder.result for ladder in ladders),
        dimension=OPS_PER_S,
        formula=" + ".join(ladder.formula for ladder in ladders),
        facts=tuple(fact for ladder in ladders for fact in ladder.facts),
        ladder=ladders[0] if single else None,
        terms=() if single else tuple((ladder, *term) for ladder, term in zip(ladders, named, strict=True)),
        hardware=hardware,
        unit=unit,
        precision=precision,
        sparse=sparse,
    )


PEAK = Kind(
    "peak",
    "the highest rate of a unit in a precision, dense unless `sparse`",
    obtain_peak,
    OPS_PER_S,
    options={**kinds.SPARSE, **kinds.PER},
    check=check_peak,
)

# ---- `count: SM` counts groups, `count: cuda_core` counts units (groups × units per group), `count: devices` a system


def obtain_count(claim: Claim, context: Context) -> Obtained:
    """The count, of one part where the claim says `per:`. [1]"""
    hardware = context.device(claim)
    if hardware.joined and claim.subject == DEVICES:
        return product(system_of(context.registry, hardware).devices(), DIMENSIONLESS, hardware)
    ladder = per_part(_count(hardware, claim.subject), claim, hardware)
    return product(ladder, DIMENSIONLESS, hardware, unit=claim.subject)


def _count(hardware: Hardware, name: str) -> Ladder:
    if name in hardware.units:
        return hardware.units[name].count_ladder()
    grouped = [unit for unit in hardware.units.values() if unit.group == name and "groups" in unit.facts]
    if not grouped:
        known = dict.fromkeys((*hardware.units, *(unit.group for unit in hardware.units.values())))
        raise UnsupportedError(f"{hardware.id} has no units or groups named '{name}' (has: {', '.join(known)})")
    if len({unit.groups for unit in grouped}) > 1:
        text = ", ".join(f"{unit.name} {unit.groups}" for unit in grouped)
        causes = [cause for unit in grouped for cause in contradictions(hardware, unit.fact("groups"))]
        raise kinds.ContradictionError(
            f"the units of {hardware.id} disagree on the number of '{name}': {text}; claim the count of a unit", causes
        )
    fact = grouped[0].fact("groups")
    return one_fact("groups", fact, f"{fact.display} {name}")


COUNT = Kind(
    "count",
    "how many groups or units of that name the device has, or how many `devices` a system",
    obtain_count,
    DIMENSIONLESS,
    options=kinds.PER,
)

# ---- `full_die: SM`


def obtain_full_die(claim: Claim, context: Context) -> Obtained:
    """Groups of one die × dies. [1]. Raises UnsupportedError where the spec does not give them."""
    hardware = context.device(claim)
    ladder = hardware.full_groups(claim.subject)
    if ladder is None:
        raise UnsupportedError(f"the spec of {hardware.id} does not give the number of '{claim.subject}' on the die")
    return product(ladder, DIMENSIONLESS, hardware)


FULL_DIE = Kind(
    "full_die",
    "number of groups with that name on the die, enabled or not",
    obtain_full_die,
    DIMENSIONLESS,
    modes=False,
    scopes=("hardware", "architecture"),
)

# ---- `resident_warps: SM`


def obtain_resident_warps(claim: Claim, context: Context) -> Obtained:
    """Look up the number. [1]. Raises UnsupportedError where the spec does not give it."""
    hardware = context.device(claim)
    fact = hardware.facts.get(f"resident_warps.{claim.subject}")
    if fact is None:
        raise UnsupportedError(f"the spec of {hardware.id} does not give the number of warps in a '{claim.subject}'")
    return product(one_fact("resident_warps", fact, f"{fact.display} warps"), DIMENSIONLESS, hardware)


RESIDENT_WARPS = Kind(
    "resident_warps",
    "number of warps that a group with that name holds at a time",
    obtain_resident_warps,
    DIMENSIONLESS,
    modes=False,
    scopes=("hardware", "architecture"),
)

# ---- `ratio: tensor_core int8 / tensor_core fp16`


def check_ratio(claim: Claim) -> None:
    """Refuse a subject other than two different `unit precision` with '/' between them."""
    above, below = kinds.halves(claim.subject)
    if kinds.unit_precision(above) == kinds.unit_precision(below):
        raise ClaimError(f"'{claim.subject}' compares a rate with itself")


def obtain_ratio(claim: Claim, context: Context) -> Obtained:
    """MAC/clock over MAC/clock; of all units of a group, where the units differ. [1]"""
    hardware = context.device(claim)
    (unit, precision), (other, second) = map(kinds.unit_precision, kinds.halves(claim.subject))
    one, two = hardware.unit(unit), hardware.unit(other)
    above, below = _rate(one, precision), _rate(two, second)
    if unit != other:
        above, below = _in_a_group(one, above), _in_a_group(two, below)
    return quotient(above.result / below.result, above, below, DIMENSIONLESS, hardware, unit, precision)


def _rate(unit: ComputeUnit, precision: str) -> Ladder:
    fact = unit.fact(f"macs_per_clock.{precision}")
    return one_fact("rate", fact, f"{fact.display}/clock")


def _in_a_group(unit: ComputeUnit, rate: Ladder) -> Ladder:
    fact = unit.fact("per_group")
    return rate.times(Factor("per_group", fact.value, f"{fact.display} {unit.name}", fact))


RATIO = Kind(
    "ratio",
    "rate per clock of a unit and precision over that of another",
    obtain_ratio,
    DIMENSIONLESS,
    check=check_ratio,
    scopes=("hardware", "architecture"),
)

# ---- `sparsity: tensor_core int8`


def check_sparsity(claim: Claim) -> None:
    """Refuse a subject other than `unit precision`."""
    kinds.unit_precision(claim.subject)


def obtain_sparsity(claim: Claim, context: Context) -> Obtained:
    """Look up the factor. [1]"""
    hardware = context.device(claim)
    unit, precision = kinds.unit_precision(claim.subject)
    fact = hardware.unit(unit).fact(f"sparsity.{precision}")
    return product(one_fact("sparsity", fact), DIMENSIONLESS, hardware, unit, precision)


SPARSITY = Kind(
    "sparsity",
    "the factor by which structured sparsity raises the dense peak",
    obtain_sparsity,
    DIMENSIONLESS,
    check=check_sparsity,
    scopes=("hardware", "architecture"),
)

# ---- `clocks: base <= tensor_core <= boost`

_SIGN = re.compile(r"\s*(<=|<)\s*")


def check_clocks(claim: Claim) -> None:
    """Refuse a subject other than `a <= b [<= c …]`."""
    if len(_SIGN.split(claim.subject)) < 3:
        raise ClaimError(f"want clocks with '<=' or '<' between them, found '{claim.subject}'")
    if not all(_SIGN.split(claim.subject)):
        raise ClaimError(f"want a clock on each side of '<=' or '<', found '{claim.subject}'")


def obtain_clocks(claim: Claim, context: Context) -> Obtained:
    """Compare each clock with the next. [Hz]"""
    hardware = context.device(claim)
    words = _SIGN.split(claim.subject)
    facts = [_clock(hardware, name) for name in words[::2]]
    if len({fact.path for fact in facts}) < len(facts):
        raise ClaimError(f"'{claim.subject}' compares a clock with itself")
    pairs = zip(facts, facts[1:], words[1::2], strict=False)
    return Obtained(
        value=facts[-1].value,
        dimension=HERTZ,
        display=", ".join(f"{name} {fact.display}" for name, fact in zip(words[::2], facts, strict=True)),
        formula="",
        facts=tuple(facts),
        holds=all(low.value <= high.value if sign == "<=" else low.value < high.value for low, high, sign in pairs),
        expected=claim.subject,
        hardware=hardware,
    )


def _clock(hardware: Hardware, name: str) -> Fact:
    unit, _, precision = name.partition(" ")
    if f"clocks.{name}" in hardware.facts:
        return hardware.facts[f"clocks.{name}"]
    if unit in hardware.units:
        own = hardware.facts.get(f"units.{unit}.clock_of.{precision.lower()}")
        return own or hardware.units[unit].fact("clock")
    having = [path.removeprefix("clocks.") for path in hardware.facts if path.startswith("clocks.")]
    raise UnsupportedError(f"{hardware.id} has no clock '{name}' (has: {', '.join((*having, *hardware.units))})")


CLOCKS = Kind(
    "clocks",
    "an order of clocks: base, boost, a unit, or a unit and a precision",
    obtain_clocks,
    expects=lambda subject: False,
    inferred=True,
    check=check_clocks,
)

# ---- `clock: base`


def obtain_clock(claim: Claim, context: Context) -> Obtained:
    """Look up the clock. [Hz]. Raises UnsupportedError for one that the spec does not give."""
    hardware = context.device(claim)
    return product(one_fact("clock", _clock(hardware, claim.subject)), HERTZ, hardware)


CLOCK = Kind("clock", "one clock: base, boost, that of a unit, or of a unit in a precision", obtain_clock, HERTZ)

# ---- `process: node`


def check_process(claim: Claim) -> None:
    """Refuse a subject other than `node`: a device has one."""
    if claim.subject != "node":
        raise ClaimError(f"want 'process: node', found '{claim.subject}'")


def obtain_process(claim: Claim, context: Context) -> Obtained:
    """Look up the node. [m]. Raises UnsupportedError where the spec does not give it."""
    hardware = context.device(claim)
    fact = hardware.facts.get("process")
    if fact is None:
        raise UnsupportedError(f"the spec of {hardware.id} does not give the process node")
    return product(one_fact("process", fact), METRES, hardware)


PROCESS = Kind(
    "process", "the process node of the compute dies", obtain_process, METRES, check=check_process, modes=False
)
