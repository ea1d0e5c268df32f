"""Laws that hold on every device, because of the roofline's arithmetic or the way units are built.

A broken law shows that facts or formulas contradict themselves. A law that holds does not show that they are right.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise, permutations

import numpy as np

from rooflint.base.errors import RooflintError, shown
from rooflint.base.facts import Fact
from rooflint.base.precision import bytes_per_element, format_rate
from rooflint.base.units import SECONDS, format_number, format_quantity
from rooflint.hardware.device import Hardware, working_peak_ops_per_s
from rooflint.roofline import Estimate, breakpoint_ops_per_byte, estimate
from rooflint.workloads.workload import Workload

ROUNDING = 1e-9
"""Relative error that sums of many floats may have."""

_CLOCK = re.compile(r"units\.[^.]+\.clock(_of\..+)?")


@dataclass(frozen=True)
class Setting:
    """The networks and precisions that a law is tested with."""

    workloads: Mapping[int, Workload] = field(hash=False)
    """The same network by batch, smallest first; empty for a law of units alone."""
    compute: str | None = None
    """The only precision to test; None for each that a device has."""
    storage: str | None = None
    """Precision of the data; that of the arithmetic if None."""

    @property
    def workload(self) -> Workload:
        """The network at its smallest batch."""
        return self.workloads[min(self.workloads)]

    def estimate(self, hardware: Hardware, precision: str, batch: int | None = None) -> Estimate:
        """The roofline estimate of one device, at one batch or the smallest."""
        workload = self.workload if batch is None else self.workloads[batch]
        return estimate(hardware, workload, compute=precision, storage=self.storage)


@dataclass(frozen=True)
class Law:
    """A statement about every device, and the function that finds its breaches."""

    promise: str
    breaches: Callable[[Hardware, Setting], Iterator[str]]
    """The breaches on one device, one sentence each; empty where the law holds."""
    of_networks: bool = True
    """Whether it needs a network."""
    over_batches: bool = False
    """Whether it compares several batches."""
    of_modes: bool = False
    """Whether it compares operating points, and so does not apply to a device without any."""

    tests: Callable[[Hardware, Setting], bool] = lambda hardware, setting: bool(precisions(hardware, setting))
    """Whether it can be tested on a device."""
    lacking: str = "too little is disclosed"
    """Why it cannot."""

    def concerns(self, hardware: Hardware) -> bool:
        """Whether it applies to a device."""
        return bool(hardware.operating_points) or not self.of_modes


def precisions(hardware: Hardware, setting: Setting) -> list[str]:
    """Precisions of a setting in which a device can be estimated; empty where too little is disclosed."""
    having = dict.fromkeys(name for unit in hardware.units.values() for name in unit.precisions)
    return [name for name in having if setting.compute in (None, name) and _is_known(hardware, setting, name)]


def _is_known(hardware: Hardware, setting: Setting, precision: str) -> bool:
    try:
        working_peak_ops_per_s(hardware, precision)
        return not setting.workloads or hardware.main_memory().bandwidth_bytes_per_s > 0
    except RooflintError:
        return False


# ---- over batches


def _latency_batch(hardware: Hardware, setting: Setting) -> Iterator[str]:
    for name in precisions(hardware, setting):
        times = {batch: setting.estimate(hardware, name, batch).latency_s for batch in setting.workloads}
        for (few, short), (many, long) in pairwise(times.items()):
            text = f"{name}: {_time(short)} at batch {few}, {_time(long)} at batch {many}"
            if long < short * (1 - ROUNDING):
                yield f"{text}: less time for more samples"
            if long / many > short / few * (1 + ROUNDING):
                yield f"{text}: more time per sample"


def _bound_batch(hardware: Hardware, setting: Setting) -> Iterator[str]:
    for name in precisions(hardware, setting):
        bounds = {batch: setting.estimate(hardware, name, batch).bound for batch in setting.workloads}
        for (few, before), (many, after) in pairwise(bounds.items()):
            if before == "compute" != after:
                yield f"{name}: compute-bound at batch {few}, {after}-bound at batch {many}"


# ---- over precisions


def _latency_precision(hardware: Hardware, setting: Setting) -> Iterator[str]:
    found = {name: setting.estimate(hardware, name) for name in precisions(hardware, setting)}
    for (slow, one), (fast, other) in permutations(found.items(), 2):
        leads = other.peak_ops_per_s >= one.peak_ops_per_s and other.bytes_moved.sum() <= one.bytes_moved.sum()
        if leads and other.latency_s > one.latency_s * (1 + ROUNDING):
            yield f"{fast} {_time(other.latency_s)}, {slow} {_time(one.latency_s)}: the faster precision takes longer"


def _peak_width(hardware: Hardware, setting: Setting) -> Iterator[str]:
    known = precisions(hardware, setting)
    for unit in hardware.units.values():
        for wide, narrow in permutations([name for name in unit.precisions if name in known], 2):
            peaks = unit.peak_ops_per_s(narrow), unit.peak_ops_per_s(wide)
            if bytes_per_element(narrow) < bytes_per_element(wide) and peaks[0] < peaks[1] * (1 - ROUNDING):
                rate = unit.fact(f"macs_per_clock.{narrow}")
                text = f"{unit.name}: {narrow} {format_rate(peaks[0], narrow)}, {wide} {format_rate(peaks[1], wide)}"
                yield f"{text}  {shown(rate.file)}:{rate.line}"


# ---- over operating points


def _peak_mode(hardware: Hardware, setting: Setting) -> Iterator[str]:
    known = precisions(hardware, setting)
    for less, more in permutations(_powered(hardware), 2):
        if less.facts["tdp"].value >= more.facts["tdp"].value:
            continue
        for unit, name in ((unit, name) for unit in less.units for name in known):
            peaks = _peak(less, unit, name), _peak(more, unit, name)
            if peaks[1] < peaks[0] * (1 - ROUNDING):
                yield f"{unit} {name}: {_in_mode(less, peaks[0], name)}, {_in_mode(more, peaks[1], name)}"


def _powered(hardware: Hardware) -> list[Hardware]:
    """The device as rated and at each operating point, where its power is known."""
    return [mode for mode in hardware.points() if "tdp" in mode.facts]


def _peak(hardware: Hardware, unit: str, precision: str) -> float:
    """Peak of a unit, 0 where it does not support the precision or the rate is undisclosed. [op/s]"""
    try:
        return hardware.unit(unit).peak_ops_per_s(precision)
    except RooflintError:
        return 0.0


def _in_mode(hardware: Hardware, ops_per_s: float, precision: str) -> str:
    return f"{format_rate(ops_per_s, precision)} {hardware.mode or 'as rated'} with {hardware.facts['tdp'].display}"


# ---- over clocks and bandwidths


def _memory_time_bandwidth(hardware: Hardware, setting: Setting) -> Iterator[str]:
    memory = f"memories.{hardware.main_memory().name}."
    faster = _doubled(hardware, lambda path: path in (f"{memory}bandwidth", f"{memory}pin_rate"))
    return _only_one_time_halves("memory", hardware, faster, setting)


def _compute_time_clock(hardware: Hardware, setting: Setting) -> Iterator[str]:
    faster = _doubled(hardware, lambda path: bool(_CLOCK.fullmatch(path)))
    return _only_one_time_halves("compute", hardware, faster, setting)


def _doubled(hardware: Hardware, which: Callable[[str], bool]) -> Hardware:
    facts = {path: fact.with_value(2 * fact.value) for path, fact in hardware.facts.items() if which(path)}
    return hardware.with_facts(facts)


def _only_one_time_halves(which: str, hardware: Hardware, faster: Hardware, setting: Setting) -> Iterator[str]:
    """Breaches where the memory or the compute time does not halve, or the other one or the latency gets worse."""
    for name in precisions(hardware, setting):
        before, after = setting.estimate(hardware, name), setting.estimate(faster, name)
        memory = (before.memory_s.sum(), after.memory_s.sum())
        compute = (before.compute_s.sum(), after.compute_s.sum())
        other = "compute" if which == "memory" else "memory"
        halved, kept = (memory, compute) if which == "memory" else (compute, memory)
        if not np.isclose(2 * halved[1], halved[0], rtol=ROUNDING, atol=0):
            yield f"{name}: {which} time {_time(halved[0])} becomes {_time(halved[1])} instead of half"
        if not np.isclose(kept[1], kept[0], rtol=ROUNDING, atol=0):
            yield f"{name}: {other} time {_time(kept[0])} becomes {_time(kept[1])} and should not change"
        if after.latency_s > before.latency_s * (1 + ROUNDING):
            yield f"{name}: latency grows from {_time(before.latency_s)} to {_time(after.latency_s)} with faster parts"


# ---- intensity


def _bound_intensity(hardware: Hardware, setting: Setting) -> Iterator[str]:
    for name in precisions(hardware, setting):
        one = setting.estimate(hardware, name)
        peak, memory = working_peak_ops_per_s(hardware, name), hardware.main_memory()
        bend = breakpoint_ops_per_byte(peak, memory.bandwidth_bytes_per_s)
        at_bend = bend * one.bytes_moved
        computes = one.compute_s >= one.memory_s
        wrong = (computes != (one.ops >= at_bend)) & (abs(one.ops - at_bend) > ROUNDING * at_bend)
        if wrong.any():
            op = int(wrong.argmax())
            bound, intensity = "compute" if computes[op] else "memory", one.ops[op] / one.bytes_moved[op]
            yield (
                f"{name}: {setting.workload.op_names[op]} is {bound}-bound at {format_number(intensity)} op/B, "
                f"but the breakpoint is {format_number(bend)} op/B"
            )


# ---- powers

_POWERS = (
    ("powers.idle", "powers.measured_mean"),
    ("powers.measured_mean", "powers.measured_max"),
    ("powers.measured_max", "powers.limit"),
    ("powers.idle", "tdp"),
    ("powers.typical", "tdp"),
    ("powers.measured_max", "tdp"),
    ("tdp", "powers.limit"),
    ("tdp", "powers.peak"),
)
"""Two powers of a device of which the second is not below the first."""

_AT_EVERY_POINT = ("powers.idle", "powers.limit", "powers.peak")
"""Powers of a device that bound those of its operating points, too."""


def _power_order(hardware: Hardware, _: Setting) -> Iterator[str]:
    for at, low, high in _powers(hardware):
        if low.value > high.value:
            yield f"{low.path} {low.display} is above {high.path} {high.display}{at}"


def _powers(hardware: Hardware) -> Iterator[tuple[str, Fact, Fact]]:
    """Each two powers that the law compares, as rated and at each operating point, with the point in words.

    A point's own powers are compared with each other, with what the device draws idle and with its limits. What the
    device was measured at as rated says nothing of a point with less power.
    """
    for low, high in _POWERS:
        if low in hardware.facts and high in hardware.facts:
            yield "", hardware.facts[low], hardware.facts[high]
    for name, own in hardware.operating_points.items():
        facts = {path: hardware.facts[path] for path in _AT_EVERY_POINT if path in hardware.facts} | dict(own)
        for low, high in _POWERS:
            if (low in own or high in own) and low in facts and high in facts:
                yield f" at {name}", facts[low], facts[high]


def _time(seconds: float) -> str:
    return format_quantity(float(seconds), SECONDS, digits=6)


#: Laws by quantity and variable.
LAWS: dict[str, Law] = {
    "latency batch": Law(
        "a larger batch does not take less time, nor more time per sample", _latency_batch, over_batches=True
    ),
    "bound batch": Law("what is compute-bound stays so at larger batches", _bound_batch, over_batches=True),
    "bound intensity": Law("an op is compute-bound exactly from the breakpoint on", _bound_intensity),
    "latency precision": Law(
        "a precision with a higher peak and no more bytes does not take more time", _latency_precision
    ),
    "memory_time bandwidth": Law(
        "twice the bandwidth halves the memory time and does not change the compute time", _memory_time_bandwidth
    ),
    "compute_time clock": Law(
        "twice the clock halves the compute time and does not change the memory time", _compute_time_clock
    ),
    "peak width": Law("a unit is not slower in a narrower format than in a wider one", _peak_width, of_networks=False),
    "power order": Law(
        "a device idles below what it was measured at, and neither that nor its rated power is above its limits",
        _power_order,
        of_networks=False,
        tests=lambda hardware, _: any(_powers(hardware)),
        lacking="no two powers to compare",
    ),
    "peak mode": Law(
        "an operating point with more power does not have a lower peak, in any unit and precision",
        _peak_mode,
        of_networks=False,
        of_modes=True,
    ),
}
