"""Claims about a workload's time on devices: `latency`, what bounds it, and from which batch on that changes.

By the plain roofline, or with `fidelity: silicon` by the calibrated kernel models.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, pairwise

from pytest_rooflint.claims.obtained import REFUTED, check_refuted, order
from pytest_rooflint.golden import kinds, replay
from pytest_rooflint.golden.kinds import Claim, ClaimError, Context, Kind, Obtained
from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact
from rooflint.base.memo import known
from rooflint.base.units import (
    DIMENSIONLESS,
    OPS_PER_BYTE,
    SECONDS,
    format_number,
    format_quantity,
)
from rooflint.coefficients.library import FREE, MODES
from rooflint.diagnosis.causes import Cause
from rooflint.diagnosis.figures import show
from rooflint.energy.model import Energies
from rooflint.hardware.device import Hardware, working_units
from rooflint.kernels.network import SiliconEstimate
from rooflint.prediction.predict import Setting, silicon_times
from rooflint.roofline import Estimate, estimate
from rooflint.workloads.workload import Workload

BOUNDS = ("compute", "memory", "launch")


def estimated(claim: Claim, context: Context, name: str) -> Estimate:
    """The estimate of the claim's workload on one device, documented or assumed, with the claim's fidelity.

    Raises MissingFactError where the kernel models do not cover the device; the roofline is no substitute.
    """
    compute = str(claim.option("compute"))
    storage = str(claim.option("storage", compute))
    workload = context.workload(claim)
    if claim.option("fidelity") == "silicon":
        setting = Setting(compute, storage, launch=str(claim.option("launch", "stream")))
        return _silicon_times(context.device(claim, name), workload, Energies.of(context.registry), setting)
    if claim.given:
        if name not in claim.given:
            raise ClaimError(f"unknown label '{name}' (given: {', '.join(claim.given)})")
        return replay.assumed(claim, context)[name].estimate(workload, compute, storage)
    return estimate(context.device(claim, name), workload, compute=compute, storage=storage)


def _silicon_times(hardware: Hardware, workload: Workload, energies: Energies, setting: Setting) -> SiliconEstimate:
    """The estimate, once for each device: where one device of an order changes, the others stay as they are."""
    found = known(hardware, "silicon_times")
    key = (id(workload), id(energies), setting)
    if key not in found:
        found[key] = silicon_times(hardware, workload, energies, setting), workload, energies  # which keep their ids
    estimate: SiliconEstimate = found[key][0]
    return estimate


def facts_of(claim: Claim, context: Context, name: str, one: Estimate) -> tuple[Fact, ...]:
    """The facts behind an estimate; none of a replay. Calibrated constants are not facts of a device."""
    if claim.given:
        return ()
    if isinstance(one, SiliconEstimate):
        return one.chip.facts
    return roofline_facts(context.device(claim, name), one.compute)


def roofline_facts(hardware: Hardware, precision: str) -> tuple[Fact, ...]:
    """Facts of the peak and the bandwidth that a roofline estimate uses."""
    peaks = (unit.derivation(precision).facts for unit in working_units(hardware, precision))
    return (*chain.from_iterable(peaks), *hardware.main_memory().derivation().facts)


# ---- `latency: a < b < c` orders devices, `latency: a` with an `expect` claims a time

FORMULAS = {
    "roofline": "Σ max(ops / peak, bytes / bandwidth) + launches",
    "silicon": "Σ work of each kernel + launches, docs/method-silicon-ops.md",
}

_SIGN = re.compile(r"\s*<\s*")


def _check_fidelity(claim: Claim) -> None:
    """Refuse an unknown fidelity, and options that do not go with it. Raises ClaimError."""
    fidelity = claim.option("fidelity", "roofline")
    if fidelity not in kinds.FIDELITY["fidelity"]["enum"]:
        raise ClaimError(f"fidelity: want roofline or silicon, found '{fidelity}'")
    if fidelity == "silicon" and claim.given:
        raise ClaimError("fidelity: silicon needs a documented device; a replay under 'given:' uses the roofline")
    if fidelity != "silicon" and claim.option("launch") is not None:
        raise ClaimError("launch: the roofline takes its launch overhead from the device; add 'fidelity: silicon'")
    modes = (*MODES, FREE)
    if claim.option("launch", FREE) not in modes:
        raise ClaimError(f"launch: want one of {', '.join(modes)}; found '{claim.option('launch')}'")


def check_latency(claim: Claim) -> None:
    """Refuse a subject other than devices with '<' between them, and invalid options."""
    check_refuted(claim)
    names = _SIGN.split(claim.subject)
    if not all(names) or len(set(names)) < len(names):
        raise ClaimError(f"want devices with '<' between them, each once; found '{claim.subject}'")
    kinds.check_precisions(claim)
    _check_fidelity(claim)
    if claim.option("compute") is None:
        raise ClaimError("a latency needs 'compute:', the precision of the arithmetic")


def obtain_latency(claim: Claim, context: Context) -> Obtained:
    """Estimate each device and compare each with the next. [s]"""
    found = {name: estimated(claim, context, name) for name in _SIGN.split(claim.subject)}
    times = [one.latency_s for one in found.values()]
    rising = all(low < high for low, high in pairwise(times))
    holds, expected = order(claim, rising)
    return Obtained(
        value=times[0],
        dimension=SECONDS,
        display=(" < " if rising else ", ").join(
            f"{name.rpartition('/')[2]} {format_quantity(one.latency_s, SECONDS)} ({one.bound})"
            for name, one in found.items()
        ),
        formula="" if len(found) > 1 else FORMULAS[str(claim.option("fidelity", "roofline"))],
        facts=tuple(fact for name, one in found.items() for fact in facts_of(claim, context, name, one)),
        holds=holds,
        expected=expected,
        others=tuple(found),
        precision=str(claim.option("compute")),
        causes=() if holds else tuple(_causes_of_order(found)),
    )


def _causes_of_order(found: Mapping[str, Estimate]) -> Iterator[Cause]:
    """What makes a device slower than the next one, which an order has behind it: less of what both wait for."""
    for (slow, one), (fast, other) in pairwise(found.items()):
        if one.latency_s < other.latency_s or one.is_calibrated or other.is_calibrated:
            continue
        ratio = one.latency_s / other.latency_s
        what = f"{slow} takes {format_number(ratio)} times as long as {fast} and is {one.bound}-bound"
        limits = {
            "compute": ("peak", one.peak_ops_per_s, other.peak_ops_per_s),
            "memory": ("bandwidth", one.bandwidth_bytes_per_s, other.bandwidth_bytes_per_s),
        }
        if one.bound in limits:
            name, *both = limits[one.bound]
            own, its = (show(name, value, one.compute) for value in both)
            what += f": its {name} is {own}, that of {fast} {its}"
        yield Cause(what, ratio, 1.0)


LATENCY = Kind(
    "latency",
    "time of a workload on a device by the plain roofline or on silicon, or the order of several devices",
    obtain_latency,
    SECONDS,
    expects=lambda subject: "<" not in subject,
    scopes=(),
    inferred=True,
    check=check_latency,
    about=kinds.compared,
    options={**kinds.STORAGE, **kinds.FIDELITY, **kinds.WORKLOAD, **REFUTED},
)

# ---- `bound: a` with `is: memory`: what limits most of the latency


def check_bound(claim: Claim) -> None:
    """Refuse what a latency claim refuses, and an unknown bound."""
    check_latency(claim)
    if claim.option("is") not in BOUNDS:
        raise ClaimError(f"is: want one of {', '.join(BOUNDS)}, found '{claim.option('is')}'")


def obtain_bound(claim: Claim, context: Context) -> Obtained:
    """The bound of the estimate, with its intensity as the value. [op/B]"""
    one = estimated(claim, context, claim.subject)
    return Obtained(
        value=one.intensity_ops_per_byte,
        dimension=OPS_PER_BYTE,
        display=f"{one.bound}-bound: {format_number(one.intensity_ops_per_byte)} op/B, breakpoint "
        f"{format_number(one.breakpoint_ops_per_byte)} op/B",
        formula="",
        facts=facts_of(claim, context, claim.subject, one),
        holds=one.bound == claim.option("is"),
        expected=f"{claim.option('is')}-bound",
        precision=one.compute,
        others=(claim.subject,),
    )


BOUND = Kind(
    "bound",
    "what limits most of a workload's latency on a device",
    obtain_bound,
    expects=lambda subject: False,
    scopes=(),
    inferred=True,
    check=check_bound,
    options={**kinds.STORAGE, **kinds.FIDELITY, **kinds.WORKLOAD, "is": {"enum": list(BOUNDS)}},
)

# ---- `crossover: A overtakes B`, `crossover: A turns compute`: what begins at some batch, and the bound there
#
# One device is ahead while memory is the bound, another once compute is. The verdict names the batch; a claim does not,
# because no source prints one.

LARGEST = 2**16
"""The largest batch that is tried."""

_CROSSING = re.compile(r"(?P<one>\S+) (?P<verb>overtakes|turns) (?P<other>\S+)")


class NoCrossingError(RooflintError):
    """What is claimed to begin at some batch already holds at batch 1, never holds, or ends again."""


@dataclass(frozen=True)
class Runner:
    """A device running a network at any batch."""

    name: str
    hardware: Hardware
    workload: Workload
    compute: str
    storage: str

    def at(self, batch: int) -> Estimate:
        """The roofline estimate at a batch."""
        scaled = self.workload.at_batch(batch)
        return estimate(self.hardware, scaled, compute=self.compute, storage=self.storage)

    def text(self, batch: int) -> str:
        """Time, bound and intensity at a batch as text."""
        one = self.at(batch)
        return (
            f"{self.name.rpartition('/')[2]} {format_quantity(one.latency_s, SECONDS)} ({one.bound}, "
            f"{format_number(one.intensity_ops_per_byte)} of {format_number(one.breakpoint_ops_per_byte)} op/B)"
        )

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts behind its estimates."""
        return roofline_facts(self.hardware, self.compute)


def check_crossover(claim: Claim) -> None:
    """Refuse a subject of another form, and an unknown bound."""
    match = _CROSSING.fullmatch(claim.subject)
    if not match or match["one"] == match["other"]:
        raise ClaimError(f"want 'A overtakes B' or 'A turns compute', found '{claim.subject}'")
    if match["verb"] == "turns" and match["other"] not in BOUNDS:
        raise ClaimError(f"want a device that turns {', '.join(BOUNDS)}, found '{match['other']}'")
    if match["verb"] == "overtakes" and claim.option("is") not in BOUNDS:
        raise ClaimError(f"is: want the bound of the overtaken device, one of {', '.join(BOUNDS)}")
    if match["verb"] == "turns" and claim.option("is") is not None:
        raise ClaimError("is: the subject already names the bound; remove it")
    kinds.check_precisions(claim)
    if claim.option("compute") is None:
        raise ClaimError("a crossover needs 'compute:', the precision of the arithmetic")


def obtain_crossover(claim: Claim, context: Context) -> Obtained:
    """Find the batch, and the bound at it. [1]"""
    match = _CROSSING.fullmatch(claim.subject)
    assert match  # checked when the file was read
    one, other = _runner(claim, context, match["one"]), match["other"]
    if match["verb"] == "turns":
        return _turning(one, other)
    return _overtaking(one, _runner(claim, context, other), str(claim.option("is")))


def _runner(claim: Claim, context: Context, name: str) -> Runner:
    compute = str(claim.option("compute"))
    storage = str(claim.option("storage", compute))
    return Runner(name, context.device(claim, name), context.workload(claim), compute, storage)


def _overtaking(one: Runner, other: Runner, term: str) -> Obtained:
    batch = first_batch(lambda n: one.at(n).latency_s < other.at(n).latency_s, f"{one.name} ahead of {other.name}")
    bound = other.at(batch).bound
    return Obtained(
        value=float(batch),
        dimension=DIMENSIONLESS,
        display=f"from batch {batch} on, where {other.name} is {bound}-bound",
        formula=f"{one.text(batch)} < {other.text(batch)}; at batch 1 {other.text(1)} <= {one.text(1)}",
        facts=(*one.facts, *other.facts),
        holds=bound == term,
        expected=f"from some batch on, where {other.name} is {term}-bound",
        precision=one.compute,
        others=(one.name, other.name),
    )


def _turning(one: Runner, term: str) -> Obtained:
    batch = first_batch(lambda n: one.at(n).bound == term, f"{one.name} {term}-bound")
    return Obtained(
        value=float(batch),
        dimension=DIMENSIONLESS,
        display=f"from batch {batch} on",
        formula=f"{one.text(batch - 1)}, then {one.text(batch)}",
        facts=one.facts,
        holds=True,
        expected=f"{term}-bound from some batch on",
        precision=one.compute,
        others=(one.name,),
    )


def first_batch(holds: Callable[[int], bool], what: str) -> int:
    """The smallest batch from which on `holds` is true.

    Tries powers of two, then bisects. Raises NoCrossingError if no batch above 1 does.
    """
    powers = [1 << power for power in range(LARGEST.bit_length())]
    seen = [holds(batch) for batch in powers]
    if seen[0]:
        raise NoCrossingError(f"{what} already at batch 1")
    if not any(seen):
        raise NoCrossingError(f"{what} at no batch up to {LARGEST}")
    begin = seen.index(True)
    if not all(seen[begin:]):
        raise NoCrossingError(f"{what} at batch {powers[begin]}, but no longer at {powers[seen.index(False, begin)]}")
    below, above = 1 << begin - 1, 1 << begin
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above


CROSSOVER = Kind(
    "crossover",
    "at some batch one device overtakes another, or its bound changes",
    obtain_crossover,
    expects=lambda subject: False,
    scopes=(),
    inferred=True,
    check=check_crossover,
    options={
        **kinds.STORAGE,
        **kinds.WORKLOAD,
        "is": {"enum": list(BOUNDS), "description": "bound of the overtaken device"},
    },
)
