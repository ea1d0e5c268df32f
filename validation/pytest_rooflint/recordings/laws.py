"""Laws of measurements: what no stopwatch can contradict, whatever a device is good for.

Each law looks at one measurement of a recording and says what it found; a claim speaks of all that it looks at.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_rooflint.golden.kinds import ClaimError
from pytest_rooflint.recordings import power_laws, speed_laws
from pytest_rooflint.recordings.finding import Asked, Finding, Look
from pytest_rooflint.recordings.row import Row
from rooflint.base.errors import RooflintError


@dataclass(frozen=True)
class Law:
    """One law."""

    promise: str
    look: Look
    compares: bool = False
    """Whether it compares two figures, so that a person must say how near is near."""


LAWS: Mapping[str, Law] = {
    "rate <= peak": Law(
        "no product computes faster than the peak of its precision at the recorded clock", speed_laws.rate
    ),
    "bandwidth <= peak": Law(
        "no stream moves more than the memory can, beyond what caches hold", speed_laws.bandwidth_of_stream
    ),
    "latency >= roofline": Law(
        "nothing takes less than the roofline, beyond what caches and algorithms spare", speed_laws.latency
    ),
    "macs = op table": Law("a network's work is counted as its op table has it", speed_laws.macs),
    "rate = intensity * bandwidth": Law(
        "a product that waits for memory keeps up with the best stream beside it",
        speed_laws.memory_bound_rate,
        compares=True,
    ),
    "energy = power * time": Law(
        "the energy counter agrees with the power that was read of the same work", power_laws.energy, compares=True
    ),
    "power <= limit": Law("the mean power stays within the limits of driver and spec", power_laws.power),
}


def findings(rows: tuple[Row, ...], law: Law, asked: Asked) -> Iterator[Finding]:
    """Of every measurement that a law speaks of; what the device does not say enough for is silent, with the reason."""
    for row in rows:
        try:
            found = law.look(row, asked)
        except (RooflintError, ClaimError) as error:
            found = Finding(row, "silent", str(error))
        if found is not None:
            yield found
