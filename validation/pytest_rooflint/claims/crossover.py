"""`crossover: A overtakes B`, `crossover: A turns compute`: from some batch on, and which term makes it so.

Of two devices the one is ahead while memory is waited for, the other once arithmetic is. The verdict names the batch; a
claim gives none, because no source prints one.
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
from rooflint.devices.hardware import Hardware
from rooflint.networks.workload import Workload
from rooflint.roofline import Estimate, estimate

LARGEST = 2**16
"""Batches beyond it are not looked at."""

BOUNDS = ("compute", "memory", "launch")

_SUBJECT = re.compile(r"(?P<one>\S+) (?P<verb>overtakes|turns) (?P<other>\S+)")


class NoCrossingError(RooflintError):
    """What is claimed to begin at some batch is so from the first one on, never is, or ends again."""


@dataclass(frozen=True)
class Runner:
    """A device on a network that may have any batch."""

    name: str
    hardware: Hardware
    workload: Workload
    compute: str
    storage: str

    def at(self, batch: int) -> Estimate:
        """The plain roofline at a batch."""
        scaled = self.workload.at_batch(batch)
        return estimate(self.hardware, scaled, compute=self.compute, storage=self.storage)

    def said(self, batch: int) -> str:
        """Time, term and intensity at a batch, for a reader."""
        one = self.at(batch)
        return (
            f"{self.name.rpartition('/')[2]} {format_quantity(one.latency_s, SECONDS)} ({one.bound}, "
            f"{format_number(one.intensity_ops_per_byte)} of {format_number(one.breakpoint_ops_per_byte)} op/B)"
        )


def check(claim: Claim) -> None:
    """Refuse what is neither an overtaking nor a turning, and a term that does not exist."""
    match = _SUBJECT.fullmatch(claim.subject)
    if not match or match["one"] == match["other"]:
        raise ClaimError(f"want 'A overtakes B' or 'A turns compute', found '{claim.subject}'")
    if match["verb"] == "turns" and match["other"] not in BOUNDS:
        raise ClaimError(f"want a device that turns {', '.join(BOUNDS)}, found '{match['other']}'")
    if match["verb"] == "overtakes" and claim.option("is") not in BOUNDS:
        raise ClaimError(f"is: want what the overtaken waits for, one of {', '.join(BOUNDS)}")
    if match["verb"] == "turns" and claim.option("is") is not None:
        raise ClaimError("is: the subject says what the device turns; remove it")
    check_precisions(claim)
    if claim.option("compute") is None:
        raise ClaimError("a crossover needs 'compute:', the precision of the arithmetic")


def obtain(claim: Claim, context: Context) -> Obtained:
    """Find the batch, and the term that is waited for there."""
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
    waits = other.at(batch).bound
    return Obtained(
        value=float(batch),
        dimension=DIMENSIONLESS,
        display=f"from batch {batch} on, where {other.name} waits for {waits}",
        formula=f"{one.said(batch)} < {other.said(batch)}; at batch 1 {other.said(1)} <= {one.said(1)}",
        facts=(*_facts(one), *_facts(other)),
        holds=waits == term,
        expected=f"from some batch on, where {other.name} waits for {term}",
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
    """The batch from which on something holds, that does not at the first.

    Looks at powers of two, then between two of them. Raises NoCrossingError where there is no such batch.
    """
    powers = [1 << power for power in range(LARGEST.bit_length())]
    seen = [holds(batch) for batch in powers]
    if seen[0]:
        raise NoCrossingError(f"{what} at batch 1 already")
    if not any(seen):
        raise NoCrossingError(f"{what} at no batch up to {LARGEST}")
    begin = seen.index(True)
    if not all(seen[begin:]):
        raise NoCrossingError(
            f"{what} at batch {powers[begin]}, and not at {powers[seen.index(False, begin)]} any more"
        )
    below, above = 1 << begin - 1, 1 << begin
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above


def _facts(one: Runner) -> tuple[Fact, ...]:
    return latency.rests_on(one.hardware, one.compute)


KIND = Kind(
    "crossover",
    "a batch from which on one device is ahead of another, or waits for another term than before",
    obtain,
    expects=lambda subject: False,
    scopes=(),
    inferred=True,
    check=check,
    options={**STORAGE, **WORKLOAD, "is": {"enum": list(BOUNDS), "description": "what the overtaken waits for there"}},
)
