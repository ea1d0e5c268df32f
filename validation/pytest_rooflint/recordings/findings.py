"""What the figures of recordings say, in words: one sentence a topic, however many networks it is about."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pytest_rooflint.recordings.charts import Shown, networks, of_product, other_precision, points, series
from rooflint.base.text import counted
from rooflint.base.units import JOULES, format_quantity, percent
from rooflint.output.sections import Prose, Section
from rooflint_measure.record import Network

TAIL = 1.2
"""A run whose 99th percentile is so many times its median has a tail that is worth a sentence. [1]"""

NAMED = 6
"""So many of a ranking are named, from both ends. [1]"""


def findings(shown: Sequence[Shown]) -> Iterator[Section]:
    """The findings of each machine on its own, then those between machines."""
    machines = [*dict.fromkeys(one.where for one in shown)]
    lines = []
    for where in machines:
        mine = [replace(one, where="") for one in shown if one.where == where]
        prefix = f"{where}: " if where else ""
        lines += [f"{prefix}{line}" for each in (_spans, _batches, _ways, _bounds, _tails) for line in each(mine)]
    lines += [*_devices(shown), *_energies(shown)]
    if lines:
        yield Prose("Findings", tuple(lines))


def ranking(factors: Mapping[str, float]) -> str:
    """`2.78 (bert), 1.8 (clip), …, 0.8 (mobilenet_v2)`: the largest first, and the middle of a long one left out."""
    ordered = sorted(factors.items(), key=lambda pair: -pair[1])
    words = [f"{factor:.3g} ({name})" for name, factor in ordered]
    if (hidden := len(words) - NAMED) > 1:
        words[NAMED // 2 : -(NAMED // 2)] = [f"{hidden} more"]
    return ", ".join(words)


def _spans(shown: Sequence[Shown]) -> Iterator[str]:
    same = [one for one, _ in networks(shown) if not other_precision(one.row)]
    known = sorted((share, one.name) for one in same if (share := of_product(one.row)))
    if len(known) > 1:
        (low, worst), (high, best) = known[0], known[-1]
        yield f"networks reach {percent(low)} ({worst}) to {percent(high)} ({best}) of the product timed beside them"


def _batches(shown: Sequence[Shown]) -> Iterator[str]:
    """How throughput grows with the batch."""
    gains: dict[tuple[int, int], dict[str, float]] = {}
    for label, pairs in series(shown).items():
        (one, first), (other, last) = pairs[0], pairs[-1]
        if len(pairs) > 1:
            gain = (one.row.samples.best_s / first.batch) / (other.row.samples.best_s / last.batch)
            gains.setdefault((first.batch, last.batch), {})[label] = gain
    for (small, large), found in gains.items():
        yield f"from batch {small} to {large}, throughput grows by a factor of: {ranking(found)}"


def _ways(shown: Sequence[Shown]) -> Iterator[str]:
    """The fastest precision and mode of each network at a batch, over the slowest."""
    groups: dict[int, dict[tuple[object, ...], list[Shown]]] = {}
    for one, net in networks(shown):
        groups.setdefault(net.batch, {}).setdefault((net.name, net.tokens, net.past), []).append(one)
    for batch, rows in groups.items():
        pairs = [(min(ways, key=_median_s), max(ways, key=_median_s)) for ways in rows.values() if len(ways) > 1]
        slowest = {_way(slow) for _, slow in pairs}
        fastest: dict[str, list[str]] = {}
        for fast, slow in pairs:
            over = f" over {_way(slow)}" if len(slowest) > 1 else ""
            text = f"{_network(fast).name} ({_median_s(slow) / _median_s(fast):.3g} ×{over})"
            fastest.setdefault(_way(fast), []).append(text)
        if fastest:
            than = f", over {slowest.pop()}" if len(slowest) == 1 else ""
            ways_ = "; ".join(f"{way} for {', '.join(names)}" for way, names in fastest.items())
            yield f"fastest precision and mode at batch {batch}{than}: {ways_}"


def _median_s(one: Shown) -> float:
    return one.row.samples.median_s


def _network(one: Shown) -> Network:
    assert isinstance(one.row.subject, Network)
    return one.row.subject


def _way(one: Shown) -> str:
    """`bf16 compiled`."""
    return " ".join((_network(one).precision, *_network(one).settings))


def _bounds(shown: Sequence[Shown]) -> Iterator[str]:
    """Which networks memory limits at best, and in which precisions and batches, where not in all."""
    sides: dict[str, dict[str, bool]] = {}
    for one, at, roof in points(shown):
        if isinstance(one.row.subject, Network):
            where = f"{one.row.subject.precision} b{one.row.subject.batch}"
            sides.setdefault(one.row.subject.name, {})[where] = at < roof.breakpoint_ops_per_byte
    memory = {name: [where for where, left in found.items() if left] for name, found in sides.items()}
    words = [f"{name} in {_every(where, len(sides[name]))}" for name, where in memory.items() if where]
    if words:
        count = sum(map(len, sides.values())) - sum(map(len, memory.values()))
        rest = f"; compute-bound at best: the other {counted(count, 'run')}" if count else ""
        yield f"memory-bound at best: {'; '.join(words)}{rest}"


def _every(where: Sequence[str], of: int) -> str:
    return f"all {of} runs" if len(where) == of > 2 else ", ".join(where)


def _tails(shown: Sequence[Shown]) -> Iterator[str]:
    """Runs whose slowest calls are far from their median."""
    late = {}
    for one, _ in networks(shown):
        median, slow = np.quantile(one.row.samples.seconds, (0.5, 0.99))
        if slow > TAIL * median:
            late[one.name] = float(slow / median)
    if late:
        yield f"slow calls in {counted(len(late), 'run')}, 99th percentile over median: {ranking(late)}"


# ---- between machines


def _devices(shown: Sequence[Shown]) -> Iterator[str]:
    """Which machine is the fastest in how many of the networks that all of them ran."""
    machines = dict.fromkeys(one.where for one, _ in networks(shown))
    times: dict[str, dict[str, float]] = {}
    for one, _ in networks(shown):
        times.setdefault(one.row.name, {})[one.where] = one.row.samples.median_s
    common = [each for each in times.values() if len(each) == len(machines)]
    if len(machines) > 1 and common:
        first = [min(each, key=each.__getitem__) for each in common]
        for machine in dict.fromkeys(first):
            yield f"{machine} is the fastest in {first.count(machine)} of {counted(len(common), 'run')} that all made"


def _energies(shown: Sequence[Shown]) -> Iterator[str]:
    """What takes the least energy for an item, and the most, on any machine."""
    known = sorted((one.row.item_j, one.name) for one, _ in networks(shown) if one.row.item_j)
    if len(known) > 1:
        (low, best), (high, worst) = known[0], known[-1]
        least, most = (format_quantity(each, JOULES, digits=3) for each in (low, high))
        yield f"{best} takes the least energy for an item, {least}; {worst} takes {most}"
