"""Claims about coefficients in documents: energies of an operation, a byte, a bit or an event, idle power, launches.

energy_per: 45nm multiply fp32                         a figure of a process node
energy_per: hbm2 device                                of an access to a kind of memory, by scope
energy_per: gpu event hmma                             of an event of a kind of processor
idle_share: gpu context                                idle power over TDP
launch_overhead: gpu nvidia stream                     time of a launch
energies: 3nm op fp32 <= 4nm op fp32                   an order of such figures
energies: gpu event hmma / 45nm mac fp16               how many times one is another, between `least` and `most`
"""

import math
import re
from dataclasses import dataclass, replace
from itertools import pairwise

from pytest_rooflint.golden.expect import WIDE
from pytest_rooflint.golden.kinds import Claim, ClaimError, Context, Kind, Obtained, compared, halves, slug_of
from rooflint.base import units
from rooflint.base.facts import Fact, Factor, Ladder
from rooflint.base.precision import precision
from rooflint.coefficients.library import Coefficients, mode_of, scope_of
from rooflint.coefficients.ranges import Range, Reading, UnknownCoefficientError
from rooflint.energy.model import Energies
from rooflint.hardware.device import KINDS

_NODE = re.compile(r"[1-9]\d*nm")
_ENDS = ("low", "typical", "high")

# ---- what a subject names: a range of a process node, a memory, an event, an idle share or a launch


@dataclass(frozen=True)
class _Shape:
    """How a coefficient is written: its dimension, its unit, and the size of that unit in base units."""

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
_EVENT = _Shape(units.JOULES, "pJ", 1e-12)
_SHARE = _Shape(units.DIMENSIONLESS, "of TDP", 1)
_LAUNCH = _Shape(units.SECONDS, "µs", 1e-6)
_OF_PROCESSORS = {"event": _EVENT, "idle": _SHARE, "launch": _LAUNCH}


def _shape(subject: str) -> _Shape:
    words = subject.split()
    if _NODE.fullmatch(words[0]):
        return _SHAPES[words[1]]
    return _OF_PROCESSORS.get(words[1], _ACCESS)


def _check(subject: str) -> None:
    """Refuse what names no coefficient. Raises ClaimError or UnknownCoefficientError."""
    words = subject.split()
    if words and _NODE.fullmatch(words[0]):
        _check_process(words)
    elif len(words) > 1 and words[0] in KINDS:
        _check_processor(words)
    elif len(words) != 2:
        raise ClaimError(f"want a memory and a scope such as 'hbm2 device', found '{subject}'")
    else:
        scope_of(words[1])


def _check_process(words: list[str]) -> None:
    if len(words) != 3 or words[1] not in _SHAPES:
        known = ", ".join(_SHAPES)
        found = " ".join(words)
        raise ClaimError(
            f"want a node, one of {known}, and a precision or size such as '45nm multiply fp32'; found '{found}'"
        )
    if words[1] not in ("sram", "wire"):
        precision(words[2])


def _check_processor(words: list[str]) -> None:
    count = {"event": 3, "idle": 3, "launch": 4}
    if len(words) != count.get(words[1]):
        found = " ".join(words)
        raise ClaimError(
            f"want 'gpu event hmma', 'gpu idle context' or 'gpu launch nvidia stream' with other names; found '{found}'"
        )
    if words[1] == "launch":
        mode_of(words[3])


def _ranges(subject: str, coefficients: Coefficients) -> list[Range]:
    name, kind, *of = subject.split()
    if kind == "event":
        return [coefficients.events(name).readings(of[0])]
    if kind == "idle":
        return [coefficients.events(name).idle_share(of[0])]
    if kind == "launch":
        found = coefficients.launches().overhead(name, of[0], of[1])
        if found is None:
            raise UnknownCoefficientError(f"no launch overhead of a {name} of {of[0]} in mode {of[1]} is known")
        return [found]
    if not _NODE.fullmatch(name):
        return [coefficients.memory(name).energy(kind)]
    kinds = ("multiply", "add") if kind == "mac" else (kind,)
    return [coefficients.process(name).energy(one, of[0]) for one in kinds]


def _end(found: Range, reading: str | None, end: str) -> Fact:
    """The fact that is meant. Raises UnknownCoefficientError where a range has no typical value."""
    chosen: Reading = (found.only(reading) if reading else found).best
    ends = {"low": chosen.low, "high": chosen.high, "typical": chosen.typical}
    fact = ends[end]
    if fact is None:
        raise UnknownCoefficientError(f"{found.what} is a range in '{chosen.name}'; add 'end: low' or 'end: high'")
    return fact


# ---- `energy_per`, `idle_share`, `launch_overhead`: one coefficient and what another document says of it


def check_energy_per(claim: Claim) -> None:
    """Refuse an invalid subject, and an expectation of another dimension."""
    _check(_subject(claim))
    if claim.option("end", "typical") not in _ENDS:
        raise ClaimError(f"end: want one of {', '.join(_ENDS)}, found '{claim.option('end')}'")
    wanted = _shape(_subject(claim))
    if claim.expectation and claim.expectation.dimension != wanted.dimension:
        found = units.measure(claim.expectation.dimension)
        raise ClaimError(f"expect: '{claim.subject}' is in {wanted.unit}, '{claim.expectation.text}' is {found}")


def _subject(claim: Claim) -> str:
    """The subject in full: `gpu context` of an idle share is `gpu idle context`. Raises ClaimError."""
    word = {"idle_share": "idle", "launch_overhead": "launch"}.get(claim.kind)
    if word is None:
        return claim.subject
    name, _, rest = claim.subject.partition(" ")
    if name not in KINDS:
        raise ClaimError(f"want a kind of processor such as 'gpu' first, found '{claim.subject}'")
    return f"{name} {word} {rest}"


def obtain_energy_per(claim: Claim, context: Context) -> Obtained:
    """Look up the coefficient; a MAC is a multiply and an add."""
    subject = _subject(claim)
    shape, ranges = _shape(subject), _ranges(subject, Energies.of(context.registry).coefficients)
    reading, end = claim.option("reading"), str(claim.option("end", "typical"))
    facts = {found.what: _end(found, str(reading) if reading else None, end) for found in ranges}
    ops = units.OPS_PER_MAC if subject.split()[1] == "mac" else 1
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


ENERGY_PER = Kind(
    "energy_per",
    "energy of an operation, an array or a wire of a process node, of an access to a memory, or of an event",
    obtain_energy_per,
    scopes=(),
    modes=False,
    check=check_energy_per,
    slug=lambda claim: slug_of(claim, "reading", "end"),
    about=compared,
    options={
        "reading": {"type": "string", "description": "which reading, where documents disagree"},
        "end": {"enum": list(_ENDS), "description": "which value of a range; typical by default"},
    },
)
IDLE_SHARE = replace(ENERGY_PER, name="idle_share", says="idle power of a kind of processor in a state, over its TDP")
LAUNCH_OVERHEAD = replace(
    ENERGY_PER, name="launch_overhead", says="time that a launch costs on a vendor's processors of a kind, in a mode"
)

# ---- `energies`: how coefficients compare with one another
#
# Where no second document prints a figure, it still stands in a known relation to others: a narrower format costs no
# more, nor does a newer node; one document says that an instruction is 64 of another's MACs.
#
# Each coefficient counts once: `op`, `add` and `multiply` are one operation, `mac` is one MAC, the sum of its multiply
# and its add (as `energy_per` prints it, in pJ/MAC), and an event is one event. So only what counts the same thing is
# added or compared, but an event may be divided by an operation or a MAC: how many of them it costs.

_NAMED = re.compile(r"(?P<subject>[^()]+?)(?: \((?P<reading>[^\s()]+)(?: (?P<end>low|typical|high))?\))?")
_WHOLE_MAC = _Shape(units.JOULES_PER_OP, "pJ/MAC", 1e-12)
"""Shows the sum of a multiply and an add of one MAC, each in J/op."""
_ROUNDING = 1e-9
"""Relative error that a quotient of two floats may have."""
_WIDE, _WIDEST = (1 + WIDE) / (1 - WIDE), 16.0
"""`most` over `least`: above the first, a quotient needs a reason; above the second, a factor of four either way, no
comparison tells an error of 16 in both directions."""


@dataclass(frozen=True)
class _Term:
    """One side of a comparison: a coefficient, or a sum of some that happen together."""

    text: str
    facts: tuple[Fact, ...]
    shape: _Shape

    @property
    def value(self) -> float:
        """In base units; a MAC has both of its operations."""
        return sum(fact.value for fact in self.facts)

    @property
    def shown(self) -> str:
        """The term with its value."""
        return f"{self.text} {units.format_number(self.value / self.shape.size)} {self.shape.unit}"


def _terms(claim: Claim) -> list[str]:
    """What is compared, the smaller before the larger; of a quotient the divisor first. Raises ClaimError."""
    if _is_quotient(claim):
        above, below = halves(claim.subject)
        return [below, above]
    return [term.strip() for term in claim.subject.split(" <= ")]


def _is_quotient(claim: Claim) -> bool:
    return " / " in claim.subject


def _parts(term: str) -> list[re.Match[str]]:
    """The coefficients of a term, each with a reading where it names one. Raises ClaimError."""
    parts = [_NAMED.fullmatch(part.strip()) for part in term.split(" + ")]
    found = [part for part in parts if part]
    if len(found) < len(parts):
        raise ClaimError(f"want a coefficient such as '10nm sram kib8 (fast)', found '{term}'")
    return found


def check_energies(claim: Claim) -> None:
    """Refuse what is neither an order nor a quotient of comparable figures, and bounds that test nothing."""
    terms = _terms(claim)
    if len(terms) < 2:
        raise ClaimError(f"want coefficients with ' <= ' or ' / ' between them, found '{claim.subject}'")
    for part in (part for term in terms for part in _parts(term)):
        _check(part["subject"])
    _check_comparable(claim, [_per(term) for term in terms])
    _check_bounds(claim)


def _per(term: str) -> str:
    """What a term is counted in, such as `J/B`. Raises ClaimError for a sum of unlike coefficients."""
    found = dict.fromkeys(map(_per_one, _parts(term)))
    if len(found) > 1:
        raise ClaimError(f"'{term}' adds {' and '.join(found)}; add figures of one unit")
    return next(iter(found))


def _per_one(part: re.Match[str]) -> str:
    """`J/op` and `J/MAC` are told apart, though their dimension is the same."""
    shape = _shape(part["subject"])
    return "J/MAC" if shape is _SHAPES["mac"] else units.measure(shape.dimension).removeprefix("in ")


def _check_comparable(claim: Claim, per: list[str]) -> None:
    """Refuse an order of unlike figures, and a quotient of some other than an event and an operation."""
    if len(set(per)) == 1:
        return
    if not _is_quotient(claim):
        raise ClaimError(f"'{claim.subject}' orders {' and '.join(dict.fromkeys(per))}; order figures of one unit")
    below, above = per
    if above != "J" or below not in ("J/op", "J/MAC"):
        raise ClaimError(
            f"'{claim.subject}' divides {above} by {below}; divide figures of one unit, or an event by an operation"
        )


def _check_bounds(claim: Claim) -> None:
    """Refuse bounds that are missing, run backwards, or lie so far apart that they test nothing."""
    bounds = [claim.option(name) for name in ("least", "most") if claim.option(name) is not None]
    if not all(type(bound) in (int, float) and 0 < bound < math.inf for bound in bounds):
        raise ClaimError(f"least, most: want numbers above zero, found {', '.join(map(str, bounds))}")
    if _is_quotient(claim) and len(bounds) < 2:
        raise ClaimError("a quotient needs 'least:' and 'most:', the ends that the source leaves")
    least, most = _bounds(claim)
    if least < 1 and not _is_quotient(claim):
        raise ClaimError(f"least: want 1 or more for an order, found {least:g}, which would reverse it")
    if least > most:
        raise ClaimError(f"least: {least:g} is above most: {most:g}")
    if _WIDEST * (1 + _ROUNDING) < most / least < math.inf:
        raise ClaimError(
            f"most: {most:g} is {most / least:.4g} times least: {least:g}; want at most {_WIDEST:g} times, "
            "a factor of four either way"
        )
    if _is_quotient(claim) and most / least > _WIDE * (1 + _ROUNDING) and not claim.why:
        raise ClaimError(f"least: {least:g} to most: {most:g} is wider than ±{WIDE:.0%}; add 'why:'")


def _bounds(claim: Claim) -> tuple[float, float]:
    return float(claim.option("least", 1)), float(claim.option("most", math.inf))


def obtain_energies(claim: Claim, context: Context) -> Obtained:
    """Compare each coefficient with the next. [1]"""
    coefficients = Energies.of(context.registry).coefficients
    terms = [_term_of(text, coefficients) for text in _terms(claim)]
    _check_distinct(terms)
    steps = [above.value / below.value for below, above in pairwise(terms)]
    least, most = _bounds(claim)
    return Obtained(
        value=max(steps),
        dimension=units.DIMENSIONLESS,
        display=f"{', '.join(f'{step:.3g}' for step in steps)} times",
        formula=", ".join(term.shown for term in terms),
        facts=tuple(dict.fromkeys(fact for term in terms for fact in term.facts)),
        holds=all(least * (1 - _ROUNDING) <= step <= most * (1 + _ROUNDING) for step in steps),
        expected=f"{claim.subject}, {_limits(claim)}",
    )


def _check_distinct(terms: list[_Term]) -> None:
    """Refuse two terms of the same facts, by whatever names: such a comparison cannot fail. Raises ClaimError."""
    seen: dict[tuple[str, ...], str] = {}
    for term in terms:
        key = tuple(sorted(str(fact.place) for fact in term.facts))
        if key in seen:
            raise ClaimError(f"'{seen[key]}' and '{term.text}' are the same figures; compare different ones")
        seen[key] = term.text


def _limits(claim: Claim) -> str:
    """The bounds in words: `in this order, each at most 4 times the one before`."""
    least, most = _bounds(claim)
    if _is_quotient(claim):
        return f"at least {least:g} and at most {most:g} times"
    if least == 1:
        return "in this order" + (f", each at most {most:g} times the one before" if most < math.inf else "")
    bounds = f"at least {least:g}" + (f" and at most {most:g}" if most < math.inf else "")
    return f"in this order, each {bounds} times the one before"


def _term_of(text: str, coefficients: Coefficients) -> _Term:
    parts = _parts(text)
    facts = [
        _end(one, part["reading"], part["end"] or "typical")
        for part in parts
        for one in _ranges(part["subject"], coefficients)
    ]
    shape = _shape(parts[0]["subject"])
    return _Term(text, tuple(facts), _WHOLE_MAC if shape is _SHAPES["mac"] else shape)


ENERGIES = Kind(
    "energies",
    "an order of coefficients, or how many times one is another",
    obtain_energies,
    expects=lambda subject: False,
    scopes=(),
    modes=False,
    check=check_energies,
    about=compared,
    options={
        "least": {"type": "number", "description": "each is at least that many times the one before; 1 by default"},
        "most": {"type": "number", "description": "each is at most that many times the one before"},
    },
)
