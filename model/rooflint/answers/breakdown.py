"""The breakdown of a comparison: energy by cause, what latencies wait for, memory, bottlenecks, rooflines."""

from collections.abc import Iterator, Sequence

from rooflint.answer import Bars, Grid, Point, Roof, Rooflines, Section
from rooflint.answers.explanation import energy_bar, latency_bar
from rooflint.comparison import Contender
from rooflint.table import Table
from rooflint.units import BYTES, format_quantity, percent


def breakdown(able: Sequence[Contender]) -> Iterator[Section]:
    """Of all devices that can run the network."""
    known = tuple(one for one in able if one.prediction.has("energy"))
    if known:
        note = "per inference; the parts add up to the whole"
        yield Bars("Energy by cause", tuple(energy_bar(one) for one in known), note)
    yield Bars("What the latency waits for", tuple(latency_bar(one) for one in able))
    yield _memory(able)
    yield _bottlenecks(able)
    yield _rooflines(able)


def _memory(able: Sequence[Contender]) -> Grid:
    rows = []
    for one in able:
        found = one.prediction
        if found.has("footprint"):
            sizes = (found.peak_bytes, found.activation_bytes, found.weight_bytes)
            fits = {True: "fits", False: "does NOT fit", None: "capacity not known"}[found.fits]
            rows.append((one.short, *(format_quantity(size, BYTES) for size in sizes), found.footprint.peak_op, fits))
    return Grid("Memory", Table(("device", "peak", "activations", "weights", "at", ""), tuple(rows)))


def _bottlenecks(able: Sequence[Contender]) -> Grid:
    rows = []
    for one in able:
        bounds = one.prediction.bounds
        counts = (bounds.count(name) for name in ("compute", "memory", "launch"))
        said = [f"{count} ({percent(count / len(bounds))})" for count in counts]
        rows.append((one.short, *said, str(len(bounds))))
    columns = ("device", "compute-bound", "memory-bound", "launch-bound", "kernels")
    return Grid("Bottlenecks", Table(columns, tuple(rows)), "each kernel is bound by the longest of its three times")


def _rooflines(able: Sequence[Contender]) -> Rooflines:
    """Each device's roof, and the network below it."""
    roofs = tuple(Roof(one.short, one.prediction.peak_ops_per_s, one.prediction.bandwidth_bytes_per_s) for one in able)
    points = tuple(
        Point(one.short, one.short, one.prediction.intensity_ops_per_byte, one.prediction.attained_ops_per_s)
        for one in able
    )
    return Rooflines("Roofline", roofs, points, "the network as a whole; below its roof by launches and mixed bounds")
