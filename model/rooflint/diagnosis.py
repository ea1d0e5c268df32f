"""Why a derived figure is off: from the ratio of obtained to expected to the fact or convention that explains it.

Pure: ladders, facts and the registry in, ranked causes out. A cause is a factor with a sentence; the ratio may be one
factor or a product of two. Simplest first, several where the figures do not decide, "unexplained" rather than a guess.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from rooflint.errors import InputError
from rooflint.facts import Fact, Factor, Ladder, leading_number
from rooflint.hardware import Facts, Hardware
from rooflint.specs import Registry
from rooflint.units import DIMENSIONLESS, HERTZ, OPS_PER_MAC, format_number

MAX_CAUSES = 3
CANDIDATES = 16
FEWEST_PEERS = 4
FASTER = 1.25  # a clock that is needed is not much above those that the device has
_ROUND = 1e-9

#: Precisions whose rates are taken for one another: matrix rates of 16 bit and less, and the wide ones.
_FAMILIES = (
    {"bf16", "fp16", "fp16_acc16", "fp8", "fp8_acc16", "fp6", "fp4", "int8", "int4", "int1"},
    {"fp64", "fp32", "tf32", "int32", "int16"},
)


@dataclass(frozen=True, slots=True)
class Span:
    """The ratios obtained / expected that the tolerance of the expectation allows for."""

    low: float
    high: float

    def holds(self, factor: float) -> bool:
        """Whether a factor explains the ratio within the tolerance."""
        return self.low * (1 - _ROUND) <= factor <= self.high * (1 + _ROUND)

    @property
    def middle(self) -> float:
        """The ratio itself, as a single number."""
        return math.sqrt(self.low * self.high)

    @property
    def factor(self) -> float:
        """The small fraction that the ratio is within its tolerance, or the ratio itself."""
        near = _small_fraction(self.middle, self)
        return self.middle if near is None else float(near)

    def inverted(self) -> "Span":
        """The span of 1 / ratio."""
        return Span(1 / self.high, 1 / self.low)

    def without(self, factor: float) -> "Span":
        """What is left to explain once a factor is."""
        return Span(self.low / factor, self.high / factor)


@dataclass(frozen=True, slots=True)
class Cause:
    """One explanation of a ratio."""

    text: str
    factor: float
    cost: float
    """Lower is simpler; causes are ranked by it."""
    fact: Fact | None = None
    """The fact that would repair it."""
    repaired: Fact | None = None
    """That fact with the value that it should have."""
    parts: tuple["Cause", ...] = ()
    carried: bool = False
    """Whether the convention was broken where the rate was written down, so that another rate mends it."""

    mends: int | None = None
    """Red claims that the repair turns green, where somebody tried it."""
    breaks: int | None = None
    """Green claims that it turns red."""

    @property
    def repair(self) -> str | None:
        """The value that the fact should have, as it would be written."""
        return self.repaired.display if self.repaired else None

    @property
    def factor_text(self) -> str:
        """`1/8`, or `1/16 = 1/8 × 1/2` for a product."""
        if not self.parts:
            return ratio_text(self.factor)
        return f"{ratio_text(self.factor)} = {' × '.join(ratio_text(part.factor) for part in self.parts)}"


@dataclass(frozen=True, slots=True)
class Case:
    """What is known about a figure that is off."""

    ladder: Ladder
    span: Span
    hardware: Hardware | None = None
    registry: Registry | None = None
    unit: str | None = None
    precision: str | None = None
    sparse: bool = False


def ratio_text(ratio: float, span: Span | None = None) -> str:
    """A ratio as a small fraction where it is one within its tolerance: `1/8`, `2`, `3/4`; otherwise `1.082`."""
    if not math.isfinite(ratio) or ratio <= 0:
        return str(ratio)
    small = _small_fraction(ratio, span or Span(ratio * (1 - 1e-6), ratio * (1 + 1e-6)))
    return format_number(ratio, 4) if small is None else str(small)


def _small_fraction(ratio: float, span: Span) -> Fraction | None:
    """`n` or `1/n`, or a fraction of numbers up to 8, that lies in the span."""
    for bottom in (*range(1, 9), 16, 32, 64, 128, 256):
        top = round(ratio * bottom)
        small = max(top, bottom) <= 8 or min(top, bottom) == 1
        if 0 < top <= 4096 and small and span.holds(top / bottom):
            return Fraction(top, bottom)
    return None


def diagnose(case: Case) -> list[Cause]:
    """The simplest causes of the ratio of a case, ranked; empty where nothing explains it."""
    return shortlist(candidates(case))


def candidates(case: Case) -> list[Cause]:
    """Every cause that explains the ratio of a case, simplest first, for somebody who can try them out."""
    if not 0 < case.span.low <= case.span.high < math.inf:
        return []
    atoms = list(_atoms(case))
    singles = [atom for atom in atoms if case.span.holds(atom.factor)]
    singles += _open(case, case.span)
    pairs = [_pair(one, two) for one, two in combinations(atoms, 2) if case.span.holds(one.factor * two.factor)]
    for atom in _conventions(case):
        pairs += [_pair(rate, atom) for rate in _rates(case, case.span, atom.factor)]
    found = _distinct(_weighed(case, _mended(case, cause)) for cause in (*singles, *pairs))
    return sorted(found, key=lambda cause: cause.cost)[:CANDIDATES]


def shortlist(causes: Iterable[Cause], most: int = MAX_CAUSES, within: float = 0.6) -> list[Cause]:
    """The causes worth showing: those whose repair was seen to mend most and break nothing, then the simplest.

    A cause that is much less simple than the best of its kind is left out.
    """
    ranked = sorted(causes, key=lambda cause: (bool(cause.breaks), -(cause.mends or 0), cause.cost))
    if not ranked:
        return []
    best = ranked[0]
    alike = [cause for cause in ranked if bool(cause.breaks) == bool(best.breaks)]
    if best.mends is None:
        return [cause for cause in alike if cause.cost <= best.cost + within][:most]
    simplest = min(cause.cost for cause in alike if cause.mends == best.mends)
    alike = [cause for cause in alike if cause.cost <= simplest + within]
    settled = best.mends > 1 and not best.breaks  # a repair that mends several claims leaves little to guess
    return [cause for cause in alike if not (settled if cause.mends is None else 2 * cause.mends < best.mends)][:most]


def _weighed(case: Case, cause: Cause) -> Cause:
    """A repair that no other device has the like of costs more; a fact that stands alone today costs less."""
    if cause.fact is None or cause.repaired is None:
        return cause
    peers = [facts[cause.fact.path].value for facts in _devices(case) if cause.fact.path in facts]
    if len(peers) < FEWEST_PEERS:
        return cause
    low, high = min(peers) / 1.25, max(peers) * 1.25
    odd_now, odd_then = (not low <= fact.value <= high for fact in (cause.fact, cause.repaired))
    return replace(cause, cost=cause.cost + (1.0 if odd_then else 0.0) - (0.4 if odd_now and not odd_then else 0.0))


def _devices(case: Case) -> Iterator[Facts]:
    """Facts of every other device that can be read."""
    if case.registry is None or case.hardware is None:
        return
    for device in _readable(lambda: case.registry.ids() if case.registry else []):
        try:
            if device != case.hardware.id:
                yield case.registry.get(device).facts
        except InputError:
            continue


def _readable(names: Callable[[], Iterable[str]]) -> list[str]:
    """Names of a registry; none where a file of it has a name that is no id."""
    try:
        return list(names())
    except InputError:
        return []


def _mended(case: Case, cause: Cause) -> Cause:
    """A convention is mended in the fact that carries it: the rate in MAC, the rate per pin."""
    carrier = next((factor for factor in case.ladder.factors if factor.name in ("macs_per_clock", "pin_rate")), None)
    if cause.fact or carrier is None or carrier.fact is None or not cause.carried:
        return cause
    factor = 1 / cause.factor if carrier.inverse else cause.factor
    repaired = carrier.fact.with_value(carrier.fact.value / factor)
    text = cause.text
    if carrier.name == "macs_per_clock":
        text = f"{_short(carrier.fact)} {carrier.fact.display} is {ratio_text(factor)} of {repaired.display}: {text}"
    return replace(cause, text=text, fact=carrier.fact, repaired=repaired)


def _pair(one: Cause, two: Cause) -> Cause:
    mend = one if one.fact else two
    carried = one.carried and two.carried
    text = f"{one.text}; and {two.text}"
    return Cause(text, one.factor * two.factor, one.cost + two.cost, mend.fact, mend.repaired, (one, two), carried)


def _distinct(causes: Iterable[Cause]) -> Iterator[Cause]:
    """Each explanation once; of those that ask for the same repair the simplest, with what the next one adds."""
    found: dict[object, Cause] = {}
    for cause in sorted(causes, key=lambda cause: cause.cost):
        trivial = any(abs(part.factor - 1) < 1e-6 for part in cause.parts)
        cancels = len(cause.parts) == 2 and abs(cause.parts[0].factor * cause.parts[1].factor - 1) < 1e-6
        mend = (cause.fact.path, cause.repair) if cause.fact and cause.repair else cause.text
        if trivial or cancels:
            continue
        first = found.setdefault(mend, cause)
        reason = cause.text.partition(_REASON)[2]
        if reason and _REASON not in first.text and not first.parts and not cause.parts:
            found[mend] = replace(first, text=f"{first.text}{_REASON}{reason}")
    yield from found.values()


_REASON = "; it is the "


# ---- causes of a known factor


def _atoms(case: Case) -> Iterator[Cause]:
    yield from _conventions(case)
    for factor in case.ladder.factors:
        if factor.fact is None or factor.inverse:
            continue
        if factor.name in ("groups", "per_group"):
            yield from _counts(factor)
        if factor.name == "clock" and case.hardware:
            yield from _other_clocks(case, factor)
        if factor.name == "macs_per_clock" and case.hardware:
            yield from _other_precisions(case, factor)


def _conventions(case: Case) -> list[Cause]:
    names = {factor.name for factor in case.ladder.factors}
    causes: list[Cause] = []
    if "macs_per_clock" in names:
        causes += [
            Cause("a MAC is counted as one op", 1 / OPS_PER_MAC, 1.0, carried=True),
            Cause("the rate is in op already, and counted × 2 again as if it were MAC", OPS_PER_MAC, 1.2, carried=True),
            *_sparsities(case),
            Cause("tera is taken as 2⁴⁰ by one side", 1e12 / 2**40, 2.5),
            Cause("tera is taken as 2⁴⁰ by one side", 2**40 / 1e12, 2.5),
            Cause("a prefix is off by a thousand", 1e3, 2.0),
            Cause("a prefix is off by a thousand", 1e-3, 2.0),
        ]
    memory = [factor for factor in case.ladder.factors if factor.name in ("bus", "bandwidth", "capacity")]
    if memory:
        of_bytes = _byte_conventions(case.ladder.result, double_rate="pin_rate" in names)
        causes += of_bytes
    return causes


def _sparsities(case: Case) -> Iterator[Cause]:
    if case.unit is None or case.hardware is None or case.unit not in case.hardware.units:
        return
    fact = case.hardware.units[case.unit].facts.get(f"sparsity.{case.precision}")
    if fact is None:
        return
    if case.sparse:
        yield Cause("the expectation is a dense figure taken for a sparse one", fact.value, 1.1)
    else:
        yield Cause("the expectation is a figure with structured sparsity, the peak is dense", 1 / fact.value, 1.1)
        yield Cause("structured sparsity is in the rate already", fact.value, 1.1, carried=True)


def _byte_conventions(size: float, *, double_rate: bool) -> Iterator[Cause]:
    """Prefixes of the figure's own size, bits and bytes, and the double in double data rate."""
    power = max(1, min(4, int(math.log10(max(size, 1e3)) / 3)))
    binary, decimal = ("KiB", "MiB", "GiB", "TiB")[power - 1], ("kB", "MB", "GB", "TB")[power - 1]
    factor = 10 ** (3 * power) / 2 ** (10 * power)
    why = f"10^{3 * power} / 2^{10 * power}"
    yield Cause(f"the expectation counts in {binary}, the figure is in {decimal} ({why})", factor, 1.0)
    yield Cause(f"the expectation counts in {decimal}, the figure is in {binary} (1 / ({why}))", 1 / factor, 1.0)
    yield Cause("bits are taken for bytes", 8, 1.0)
    yield Cause("bytes are taken for bits", 1 / 8, 1.0)
    yield Cause("a prefix is off by a thousand", 1e3, 2.0)
    yield Cause("a prefix is off by a thousand", 1e-3, 2.0)
    if double_rate:
        yield Cause("the memory clock is used as the data rate: double data rate is missing", 1 / 2, 1.3, carried=True)
        yield Cause("double data rate is applied twice", 2, 1.3, carried=True)


def _counts(factor: Factor) -> Iterator[Cause]:
    """The rate holds a whole group, or the whole device, and is multiplied by their number again."""
    if factor.value > 1:
        text = f"{factor.display} are multiplied in twice: the rate holds them already"
        yield Cause(text, factor.value, 1.4, carried=True)


def _other_clocks(case: Case, factor: Factor) -> Iterator[Cause]:
    """The clock that is there is wrong, and the right one stands elsewhere in the same device."""
    assert factor.fact and case.hardware
    for other in _clock_facts(case.hardware):
        if other.path != factor.fact.path and not math.isclose(other.value, factor.value):
            text = (
                f"{_short(factor.fact)} {factor.fact.display} is taken where {_owner(other)} {other.display} is meant"
            )
            yield Cause(text, factor.value / other.value, 1.5, factor.fact, factor.fact.with_value(other.value))


def _clock_facts(hardware: Hardware) -> list[Fact]:
    points = [fact for overlay in hardware.operating_points.values() for fact in overlay.values()]
    return [
        fact
        for fact in (*hardware.facts.values(), *points)
        if "clock" in fact.path.split(".")[-1] or ".clock_of." in fact.path or fact.path.startswith("clocks.")
    ]


def _other_precisions(case: Case, factor: Factor) -> Iterator[Cause]:
    """The rate of another precision of the same unit is the right one."""
    assert factor.fact and case.hardware
    unit = case.hardware.units.get(case.unit or "")
    for precision in unit.precisions if unit else ():
        other = unit.facts[f"macs_per_clock.{precision}"] if unit else factor.fact
        if precision != case.precision and not math.isclose(other.value, factor.value):
            text = f"the expectation is the {precision} figure ({other.display}/clock)"
            yield Cause(text, factor.value / other.value, 1.8, factor.fact)


# ---- causes whose factor is the ratio itself


def _open(case: Case, span: Span) -> list[Cause]:
    """Facts that would have to be another value, named where that value or the present one is known from elsewhere."""
    causes = _rates(case, span, 1.0)
    for factor in case.ladder.factors:
        if factor.fact and factor.name != "macs_per_clock":
            own = span.inverted() if factor.inverse else span
            causes += [replace(cause, factor=span.factor) for cause in _needed(case, own, factor.fact)]
    return causes


def _needed(case: Case, span: Span, fact: Fact) -> Iterator[Cause]:
    """This fact alone is wrong; the value that it needs is known from elsewhere, or the one it has is."""
    wanted = _round_value(fact, span)
    if wanted is None or not _plausible(case, fact, wanted):
        return
    needed = fact.with_value(wanted)
    inherited = _inherited(case, fact)
    if inherited and math.isclose(inherited.value, wanted, rel_tol=1e-6):
        text = f"{_short(fact)} {fact.display} is {_times(span.factor)} the {inherited.display} of {_stem(inherited)}"
        yield Cause(text, span.factor, 0.8, fact, inherited)
        return
    text = f"{_short(fact)} {fact.display} would have to be {needed.display}"
    others = _like(case, fact)
    taken_from = _names(_owner(other) for other in others if math.isclose(other.value, fact.value, rel_tol=1e-6))
    borne_out = _usual(fact, wanted) or any(math.isclose(other.value, wanted, rel_tol=1e-6) for other in others)
    if _is_clock(fact) and not (taken_from or borne_out):
        return  # a clock is read, never worked back
    if taken_from and (borne_out or _is_clock(fact)):
        yield Cause(f"{text}; {fact.display} is that of {taken_from}", span.factor, 1.2, fact, needed)
    else:
        yield Cause(text, span.factor, 1.7 if borne_out else 3.2, fact, needed)


def _usual(fact: Fact, wanted: float) -> bool:
    """Buses come in multiples of 32 bit."""
    return fact.path.endswith(".bus") and wanted * 8 % 32 == 0


def _is_clock(fact: Fact) -> bool:
    return fact.quantity.dimension == HERTZ


def _plausible(case: Case, fact: Fact, wanted: float) -> bool:
    """Clocks are confused with one another, not with something of another size; a bus is a multiple of 32 bit."""
    if fact.path.endswith(".bus"):
        return wanted * 8 % 32 == 0
    if not _is_clock(fact) or case.hardware is None:
        return True
    others = _clock_facts(case.hardware)
    slow = [other for other in others if other is not fact and other.path in (fact.path, "clocks.base")]
    taken = any(math.isclose(other.value, fact.value) for other in slow)  # a slow clock stands for a fast one
    fastest = 3 * fact.value if taken else FASTER * max(other.value for other in others)
    return fact.value / 3 <= wanted <= fastest


def _round_value(fact: Fact, span: Span) -> float | None:
    """The value a fact would need, where a plausible one lies within the tolerance: whole counts, few digits."""
    low, high = fact.value / span.high, fact.value / span.low
    unit = fact.value / leading_number(fact.quantity.text)
    whole = fact.quantity.dimension == DIMENSIONLESS
    for digits in range(1, 8 if whole else 5 if _is_clock(fact) else 4):
        wanted = float(f"{math.sqrt(low * high) / unit:.{digits - 1}e}") * unit
        if low <= wanted <= high and (not whole or wanted == int(wanted)):
            return wanted
    return None


def _like(case: Case, fact: Fact) -> list[Fact]:
    """Facts that this one may have been taken from: clocks of the device, the same path of other architectures."""
    last = fact.path.split(".")[-1]
    if "clock" in fact.path and case.hardware:
        return [other for other in _clock_facts(case.hardware) if (other.file, other.line) != (fact.file, fact.line)]
    if case.registry is None or last in ("groups", "capacity"):
        return []
    own = (case.hardware.architecture, case.hardware.id) if case.hardware else ()
    return [facts[fact.path] for name, facts in _architectures(case.registry) if name not in own and fact.path in facts]


def _architectures(registry: Registry) -> Iterator[tuple[str, Facts]]:
    """Facts of every architecture that can be read; a broken one is somebody else's red."""
    for name in _readable(lambda: registry.architecture_files):
        try:
            yield name, registry.architecture(name).facts
        except InputError:
            continue


def _inherited(case: Case, fact: Fact) -> Fact | None:
    if case.registry is None or case.hardware is None or case.hardware.architecture is None:
        return None
    above = case.registry.architecture(case.hardware.architecture).facts.get(fact.path)
    return above if above and above.file != fact.file else None


def _rates(case: Case, span: Span, convention: float) -> list[Cause]:
    """MAC/clock is another rate: of another architecture, of another precision, once the convention is taken out."""
    factor = next((factor for factor in case.ladder.factors if factor.name == "macs_per_clock"), None)
    if factor is None or factor.fact is None:
        return []
    fact, taken = factor.fact, factor.value / convention
    needed = _needed_rate(case, fact, span)
    if needed is None or math.isclose(needed, taken, rel_tol=1e-6):
        return []
    share = taken / needed
    what = f"macs_per_clock {format_number(taken)}" if convention == 1.0 else f"{format_number(taken)} MAC/clock"
    text = f"{what} is {_times(share)} {_whose(case, fact, needed)}"
    known = _known_rates(case, taken)
    nearest = min((cost for cost, _, _ in known), default=2.2)
    said = f"{text}{_REASON}{_listed(known, nearest)}" if known else text
    if not known and convention != 1.0:
        return []
    inherited = _inherited(case, fact)
    if inherited and math.isclose(inherited.value, needed):  # the device contradicts its architecture, which is right
        return [Cause(said, share, min(nearest, 2.2) - 0.6, fact, inherited)]
    return [Cause(said, share, nearest, fact, fact.with_value(needed))]


def _times(share: float) -> str:
    return f"{ratio_text(share)} of" if share < 1 else f"{ratio_text(share)} ×"


def _listed(known: list[tuple[float, str, str]], cost: float) -> str:
    """`FP16 rate of turing-tu104, volta-gv100; INT8 rate of …`: those of the least cost."""
    by_precision: dict[str, list[str]] = {}
    for price, name, precision in known:
        if price == cost:
            by_precision.setdefault(precision, []).append(name)
    return " or the ".join(f"{precision.upper()} rate of {_names(names)}" for precision, names in by_precision.items())


def _needed_rate(case: Case, fact: Fact, span: Span) -> float | None:
    """The rate that this peak needs: the architecture's own, or the power of two that fits."""
    inherited = _inherited(case, fact)
    if inherited and span.holds(fact.value / inherited.value):
        return inherited.value
    power = 2.0 ** round(math.log2(fact.value / span.middle))
    return power if span.holds(fact.value / power) else None


def _whose(case: Case, fact: Fact, needed: float) -> str:
    inherited = _inherited(case, fact)
    if inherited and math.isclose(inherited.value, needed):
        return f"{_stem(inherited)}'s {format_number(needed)}"
    return f"the {format_number(needed)} that this peak needs"


def _known_rates(case: Case, value: float) -> list[tuple[float, str, str]]:
    """(cost, architecture, precision) of every rate of that size of such a unit; near precisions cost less."""
    if case.registry is None or case.unit is None or case.precision is None:
        return []
    own = case.hardware.architecture if case.hardware else None
    found = []
    for name, facts in _architectures(case.registry):
        prefix = f"units.{case.unit}.macs_per_clock."
        for path, fact in facts.items():
            precision = path.removeprefix(prefix)
            if (
                path.startswith(prefix)
                and math.isclose(fact.value, value)
                and (name, precision) != (own, case.precision)
            ):
                distance = _distance(precision, case.precision, same=name == own)
                found.append((distance, name.rpartition("/")[2], precision))
    return found


def _distance(precision: str, wanted: str, *, same: bool) -> float:
    if precision == wanted or same:
        return 1.0
    return 1.1 if any({precision, wanted} <= family for family in _FAMILIES) else 4.0


def _names(names: Iterable[str]) -> str:
    listed: Sequence[str] = list(dict.fromkeys(names))
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")


def _owner(fact: Fact) -> str:
    parts = fact.path.split(".")
    if parts[0] == "clocks":
        return f"the {parts[1]} clock"
    if parts[0] in ("units", "memories") and "clock" in fact.path:
        return f"the clock of {' '.join(part for part in parts[1:] if part not in ('clock', 'clock_of'))}"
    return _stem(fact)


def _stem(fact: Fact) -> str:
    return fact.file.stem


def _short(fact: Fact) -> str:
    return ".".join(fact.path.split(".")[2:]) or fact.path
