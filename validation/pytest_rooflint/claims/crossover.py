"""`crossover: A overtakes B`, `crossover: A turns compute`: what begins at some batch, and the bound there.

One device is ahead while memory is the bound, another once compute is. The verdict names the batch; a claim does not,
because no source prints one.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from pytest_rooflint.claims import latency
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import STORAGE, WORKLOAD, ClaimError, Context, Kind, Obtained, check_precisions
from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact
from rooflint.base.units import DIMENSIONLESS, SECONDS, format_number, format_quantity
from rooflint.hardware.device import Hardware
from rooflint.roofline import Estimate, estimate
from rooflint.workloads.workload import Workload

LARGEST = 2**16
"""The largest batch that is tried."""

BOUNDS = ("compute", "memory", "launch")

_SUBJECT = re.compile(r"(?P<one>\S+) (?P<verb>overtakes|turns) (?P<other>\S+)")


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

    def said(self, batch: int) -> str:
        """Time, bound and intensity at a batch as text."""
        one = self.at(batch)
        return (
            f"{self.name.rpartition('/')[2]} {format_quantity(one.latency_s, SECONDS)} ({one.bound}, "
            f"{format_number(one.intensity_ops_per_byte)} of {format_number(one.breakpoint_ops_per_byte)} op/B)"
        )


def check(claim: Claim) -> None:
    """Refuse a subject of another form, and an unknown bound."""
    match = _SUBJECT.fullmatch(claim.subject)
    if not match or match["one"] == match["other"]:
        raise ClaimError(f"want 'A overtakes B' or 'A turns compute', found '{claim.subject}'")
    if match["verb"] == "turns" and match["other"] not in BOUNDS:
        raise ClaimError(f"want a device that turns {', '.join(BOUNDS)}, found '{match['other']}'")
    if match["verb"] == "overtakes" and claim.option("is") not in BOUNDS:
        raise ClaimError(f"is: want the bound of the overtaken device, one of {', '.join(BOUNDS)}")
    if match["verb"] == "turns" and claim.option("is") is not None:
        raise ClaimError("is: the subject already names the bound; remove it")
    check_precisions(claim)
    if claim.option("compute") is None:
        raise ClaimError("a crossover needs 'compute:', the precision of the arithmetic")


def obtain(claim: Claim, context: Context) -> Obtained:
    """Find the batch, and the bound at it."""
    match = _SUBJECT.fullmatch(claim.subject)
    assert match  # checked when the file was read
    one, other = _runner(claim, context, match["one"]), match["other"]
    if match["verb"] == "turns":
        return _turning(one, other)
    return _overtaking(one, _runner(claim, context, other), str(claim.option("is")))


def _runner(claim: Claim, context: Context, name: str) -> Runner:
    compute = str(claim.option("compute"))
    return Runner(
        name, context.device(claim, name), context.workload(claim), compute, str(claim.option("storage", compute))
    )


def _overtaking(one: Runner, other: Runner, term: str) -> Obtained:
    batch = first_batch(lambda n: one.at(n).latency_s < other.at(n).latency_s, f"{one.name} ahead of {other.name}")
    bound = other.at(batch).bound
    return Obtained(
        value=float(batch),
        dimension=DIMENSIONLESS,
        display=f"from batch {batch} on, where {other.name} is {bound}-bound",
        formula=f"{one.said(batch)} < {other.said(batch)}; at batch 1 {other.said(1)} <= {one.said(1)}",
        facts=(*_facts(one), *_facts(other)),
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
        formula=f"{one.said(batch - 1)}, then {one.said(batch)}",
        facts=_facts(one),
        holds=True,
        expected=f"{term}-bound from some batch on",
        precision=one.compute,
        others=(one.name,),
    )


def first_batch(holds: Callable[[int], bool], what: str) -> int:
    """The smallest batch from which on `holds` is true.

    Tries powers of two, then bisects. Raises NoCrossingError where there is no such batch above 1.
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


def _facts(one: Runner) -> tuple[Fact, ...]:
    return latency.rests_on(one.hardware, one.compute)


KIND = Kind(
    "crossover",
    "at some batch one device overtakes another, or its bound changes",
    obtain,
    expects=lambda subject: False,
    scopes=(),
    inferred=True,
    check=check,
    options={**STORAGE, **WORKLOAD, "is": {"enum": list(BOUNDS), "description": "bound of the overtaken device"}},
)
