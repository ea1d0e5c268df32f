"""Claims about energies in documents: of an operation, a byte or a bit.

energy_per: 45nm multiply fp32        at a process node
energy_per: hbm2 device               of an access to a kind of memory, by scope
"""

import re
from dataclasses import dataclass

from pytest_rooflint.golden.kinds import Claim, ClaimError, Context, Kind, Obtained, slug_of
from rooflint.base import units
from rooflint.base.facts import Fact, Factor, Ladder
from rooflint.base.precision import precision
from rooflint.coefficients.library import Coefficients, scope_of
from rooflint.coefficients.ranges import Range, Reading, UnknownCoefficientError
from rooflint.energy.model import Energies

_NODE = re.compile(r"[1-9]\d*nm")
_ENDS = ("low", "typical", "high")


@dataclass(frozen=True)
class _Shape:
    """How an energy is written: its dimension, its unit, and the size of that unit in base units."""

    dimension: units.Dimension
    unit: str
    size: float


_OP = _Shape(units.JOULES_PER_OP, "pJ/op", 1e-12)
_SHAPES = {
    "op": _OP,
    "add": _OP,
    "multiply": _OP,
    "mac": _Shape(units.JOULES_PER_OP, "pJ/MAC", 1e-12 / units.OPS_PER_MAC),
    "sram": _Shape(units.JOULES_PER_BYTE, "pJ/B", 1e-12),
    "wire": _Shape(units.JOULES_PER_BYTE_M, "pJ/bit/mm", 8e-9),
}
_ACCESS = _Shape(units.JOULES_PER_BYTE, "pJ/bit", 8e-12)


def _shape(claim: Claim) -> _Shape:
    words = claim.subject.split()
    return _SHAPES[words[1]] if _NODE.fullmatch(words[0]) else _ACCESS


def check_energy_per(claim: Claim) -> None:
    """Refuse an invalid subject, and an expectation of another dimension."""
    words = claim.subject.split()
    if _NODE.fullmatch(words[0]):
        _check_process(words)
    elif len(words) != 2:
        raise ClaimError(f"want a memory and a scope such as 'hbm2 device', found '{claim.subject}'")
    else:
        scope_of(words[1])
    if claim.option("end", "typical") not in _ENDS:
        raise ClaimError(f"end: want one of {', '.join(_ENDS)}, found '{claim.option('end')}'")
    wanted = _shape(claim)
    if claim.expectation and claim.expectation.dimension != wanted.dimension:
        found = units.measure(claim.expectation.dimension)
        raise ClaimError(f"expect: '{claim.subject}' is in {wanted.unit}, '{claim.expectation.text}' is {found}")


def _check_process(words: list[str]) -> None:
    if len(words) != 3 or words[1] not in _SHAPES:
        known = ", ".join(_SHAPES)
        found = " ".join(words)
        raise ClaimError(
            f"want a node, one of {known}, and a precision or size such as '45nm multiply fp32'; found '{found}'"
        )
    if words[1] not in ("sram", "wire"):
        precision(words[2])


def obtain_energy_per(claim: Claim, context: Context) -> Obtained:
    """Look up the energy; a MAC is a multiply and an add."""
    shape, ranges = _shape(claim), _ranges(claim, Energies.of(context.registry).coefficients)
    facts = {found.what: _end(claim, found) for found in ranges}
    ops = units.OPS_PER_MAC if claim.subject.split()[1] == "mac" else 1
    ladders = [Ladder((Factor("energy", fact.value / ops, fact.display, fact),)) for fact in facts.values()]
    return Obtained(
        value=sum(ladder.result for ladder in ladders),
        dimension=shape.dimension,
        formula=" + ".join(ladder.formula for ladder in ladders),
        facts=tuple(facts.values()),
        ladder=ladders[0] if len(ladders) == 1 else None,
        terms=() if len(ladders) == 1 else tuple(map(_term, ladders, facts)),
        written=lambda value: f"{units.format_number(value / shape.size)} {shape.unit}",
    )


def _term(ladder: Ladder, what: str) -> tuple[Ladder, str, str]:
    """A term of the sum with its operation and precision, which a cause names."""
    _, operation, name = what.split()
    return ladder, operation, name


def _ranges(claim: Claim, coefficients: Coefficients) -> list[Range]:
    name, kind, *of = claim.subject.split()
    if not _NODE.fullmatch(name):
        return [coefficients.memory(name).energy(kind)]
    kinds = ("multiply", "add") if kind == "mac" else (kind,)
    return [coefficients.process(name).energy(one, of[0]) for one in kinds]


def _end(claim: Claim, found: Range) -> Fact:
    """The fact that the claim is about. Raises UnknownCoefficientError where a range has no typical value."""
    reading = claim.option("reading")
    chosen: Reading = (found.only(str(reading)) if reading else found).best
    ends = {"low": chosen.low, "high": chosen.high, "typical": chosen.typical}
    fact = ends[str(claim.option("end", "typical"))]
    if fact is None:
        raise UnknownCoefficientError(f"{found.what} is a range in '{chosen.name}'; add 'end: low' or 'end: high'")
    return fact


ENERGY_PER = Kind(
    "energy_per",
    "energy of an operation, an array or a wire of a process node, or of an access to a kind of memory",
    obtain_energy_per,
    scopes=(),
    modes=False,
    check=check_energy_per,
    slug=lambda claim: slug_of(claim, "reading", "end"),
    options={
        "reading": {"type": "string", "description": "which reading, where documents disagree"},
        "end": {"enum": list(_ENDS), "description": "which value of a range; typical by default"},
    },
)
