"""Metrics: what an architect reads off a prediction, each with its number. docs/method-metrics.md has the formulas.

Utilization is the share of units that hold work, efficiency is attained over peak. What other tools call compute or
bandwidth utilization is an efficiency here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rooflint.prediction import Prediction

LEAST_COMPUTE_EFFICIENCY = 0.20
MOST_BANDWIDTH_EFFICIENCY = 0.90
MOST_IDLE_UNITS = 0.80

ZONE_BEGINS, ZONE_ENDS = 0.40, 0.80
"""Between them lies the zone in which a device earns its power; below it idle silicon is fed, above it little is left
for peaks of load. Limits of the hardware utilization metrics guide; nobody measured them."""

Zone = Literal["idle silicon", "sweet spot", "near its limit"]


@dataclass(frozen=True)
class Flag:
    """Something that should make a reader stop."""

    name: str
    value: float
    limit: float
    said: str


def red_flags(prediction: Prediction) -> Iterator[Flag]:
    """Less than 20 % compute efficiency, more than 90 % bandwidth efficiency, more than 80 % idle units."""
    compute, bandwidth = prediction.compute_efficiency, prediction.bandwidth_efficiency
    if compute < LEAST_COMPUTE_EFFICIENCY:
        yield Flag("compute", compute, LEAST_COMPUTE_EFFICIENCY, _little_compute(prediction))
    if bandwidth > MOST_BANDWIDTH_EFFICIENCY:
        said = f"{_percent(bandwidth)} of the bandwidth is taken: a larger batch helps only as far as it reuses weights"
        yield Flag("bandwidth", bandwidth, MOST_BANDWIDTH_EFFICIENCY, said)
    if prediction.has("allocation") and (idle := 1 - prediction.utilization) > MOST_IDLE_UNITS:
        said = f"{_percent(idle)} of the units hold no work ({prediction.units} do)"
        yield Flag("idle units", idle, MOST_IDLE_UNITS, said)


def _little_compute(prediction: Prediction) -> str:
    share = prediction.shares[prediction.bound] / prediction.latency_s
    waits = {"compute": "arithmetic", "memory": "memory", "launch": "kernel launches"}[prediction.bound]
    attained = _percent(prediction.compute_efficiency)
    return f"{attained} of the peak is attained; {_percent(share)} of the time goes to {waits}"


def batch_efficiency(one: Prediction, many: Prediction) -> float:
    """Throughput of a batch over that of as many single samples at once: throughput(N) / (N × throughput(1)). [1]

    1 where a batch takes as long as one sample, 1/N where it takes as long as N of them one after the other.
    """
    return many.throughput_per_s / (many.batch / one.batch * one.throughput_per_s)


def speedup_of_batch(one: Prediction, many: Prediction) -> float:
    """Samples per second over those at the other batch. [1]"""
    return many.throughput_per_s / one.throughput_per_s


def zone(efficiency: float) -> Zone:
    """Where an efficiency lies: below 40 %, up to 80 %, above."""
    if efficiency < ZONE_BEGINS:
        return "idle silicon"
    return "sweet spot" if efficiency <= ZONE_ENDS else "near its limit"


def power_efficiency_ops_per_j(prediction: Prediction) -> float:
    """Compute efficiency × attained ops per joule: the figure that a zone is read of. [op/J]. Raises NotKnownError."""
    return prediction.compute_efficiency * prediction.ops_per_j


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
