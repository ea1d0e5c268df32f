"""Metrics of a prediction and its red flags, each with its number. docs/method-metrics.md has the formulas.

Utilization is the share of units that hold work, efficiency is attained over peak. What other tools call compute or
bandwidth utilization is an efficiency here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rooflint.base.facts import Fact
from rooflint.base.units import BYTES, SECONDS, format_quantity, percent
from rooflint.prediction.predict import Prediction

LEAST_COMPUTE_EFFICIENCY = 0.20
MOST_BANDWIDTH_EFFICIENCY = 0.90
MOST_IDLE_UNITS = 0.80
MOST_PADDING = 1.5
"""Latency with idle slots and padding over that of the roofline."""

ZONE_BEGINS, ZONE_ENDS = 0.40, 0.80
"""Between them lies the zone in which a device earns its power; below it idle silicon is fed, above it little is left
for peaks of load. Limits of the hardware utilization metrics guide, which are not measured."""

Zone = Literal["idle silicon", "sweet spot", "near its limit"]


@dataclass(frozen=True)
class Flag:
    """A figure of a prediction that calls for attention."""

    name: Literal["compute", "bandwidth", "idle units", "padding", "memory", "power"]
    value: float
    message: str


def red_flags(prediction: Prediction) -> Iterator[Flag]:
    """Too little of the peak, nearly all of the bandwidth, idle or padded units, too much power, too little memory."""
    compute, bandwidth = prediction.compute_efficiency, prediction.bandwidth_efficiency
    if compute < LEAST_COMPUTE_EFFICIENCY:
        yield Flag("compute", compute, _little_compute(prediction))
    if bandwidth > MOST_BANDWIDTH_EFFICIENCY:
        message = (
            f"{percent(bandwidth)} of the bandwidth is taken: a larger batch helps only as far as it reuses weights"
        )
        yield Flag("bandwidth", bandwidth, message)
    if prediction.has("allocation"):
        yield from _of_units(prediction)
    if prediction.fits is False:
        yield Flag("memory", prediction.peak_bytes, _too_large(prediction))
    if prediction.over_limit and prediction.over_limit > 1:
        yield Flag("power", prediction.over_limit, _too_hot(prediction))


def _of_units(prediction: Prediction) -> Iterator[Flag]:
    idle = 1 - prediction.utilization
    if idle > MOST_IDLE_UNITS:
        yield Flag("idle units", idle, f"{percent(idle)} of the units hold no work ({prediction.units} do)")
    slower = prediction.latency_of_active_units_s / prediction.latency_s
    if slower > MOST_PADDING:
        seconds = format_quantity(prediction.latency_of_active_units_s, SECONDS)
        message = (
            f"with idle slots and padding counted it would take {seconds}, {slower:.3g} times the roofline latency"
        )
        yield Flag("padding", slower, message)


def _too_large(prediction: Prediction) -> str:
    memory = prediction.hardware.main_memory()
    return f"{format_quantity(prediction.peak_bytes, BYTES)} do not fit its {memory.fact('capacity').display}"


def _too_hot(prediction: Prediction) -> str:
    limit = prediction.power_limit
    named = f"its {limit.display} ({limit_name(limit)})" if limit else ""
    times = f"{prediction.over_limit:.3g} times {named}"
    return f"{prediction.power_w:.4g} W by these terms is {times}; it could not hold this rate"


def limit_name(limit: Fact) -> str:
    """`TDP`, `power limit`, `measured max`."""
    return {"tdp": "TDP", "powers.limit": "power limit"}.get(
        limit.path, limit.path.rpartition(".")[2].replace("_", " ")
    )


def _little_compute(prediction: Prediction) -> str:
    share = prediction.shares[prediction.bound] / prediction.latency_s
    arithmetic = "arithmetic with its tiles, waves and steps" if prediction.silicon else "arithmetic"
    waits = {"compute": arithmetic, "memory": "memory", "launch": "kernel launches"}[prediction.bound]
    attained = percent(prediction.compute_efficiency)
    return f"{attained} of the peak is attained; {percent(share)} of the time goes to {waits}"


def batch_efficiency(one: Prediction, many: Prediction) -> float:
    """Throughput of a batch over that of as many single samples at once: throughput(N) / (N × throughput(1)). [1]

    1 where a batch takes as long as one sample, 1/N where it takes as long as N of them one after the other.
    """
    return many.throughput_per_s / (many.batch / one.batch * one.throughput_per_s)


def zone(efficiency: float) -> Zone:
    """Where an efficiency lies: below 40 %, up to 80 %, above."""
    if efficiency < ZONE_BEGINS:
        return "idle silicon"
    return "sweet spot" if efficiency <= ZONE_ENDS else "near its limit"


def power_efficiency_ops_per_j(prediction: Prediction) -> float:
    """Compute efficiency × attained ops per joule: the figure that a zone is read of. [op/J]. Raises NotKnownError."""
    return prediction.compute_efficiency * prediction.ops_per_j
