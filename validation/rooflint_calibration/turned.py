"""Turned: measured rows that were predicted well by one state of the model and are predicted badly by another.

An average hides that: a change may win on many rows a little and lose a regime. So rows are counted, family by family.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rooflint.base.errors import RooflintError
from rooflint.base.text import counted
from rooflint.devices.registry import Registry
from rooflint.kernels.shapes import Numbers
from rooflint_calibration.base import Ask
from rooflint_calibration.foretell import asked
from rooflint_calibration.rows import Mask
from rooflint_calibration.topics import TOPICS, Rows, measured_devices

GOOD = 1.15
"""A prediction within this factor of its measurement is good: frameworks that call one library differ by as much."""
BAD = 1.25
"""Beyond this one it is bad; in between it is neither, so that a row has to move by 9 % to turn."""
TIMED = 40
"""Rows of a family whose terms are compared: those that moved the farthest."""


@dataclass(frozen=True)
class Family:
    """One topic on one family, by both states of the model."""

    topic: str
    family: str
    rows: tuple[Rows, ...]
    """By device."""
    old_s: Numbers
    new_s: Numbers
    """Of all devices, one after the other."""

    @property
    def seconds(self) -> Numbers:
        """As measured. [s]"""
        return np.concatenate([one.seconds for one in self.rows])

    @property
    def sizes(self) -> Numbers:
        """Of all devices."""
        return np.concatenate([one.sizes for one in self.rows])

    @property
    def devices(self) -> list[str]:
        """Of each row."""
        return [one.device for one in self.rows for _ in range(len(one))]

    def off(self, predicted_s: Numbers) -> Numbers:
        """The factor between a prediction and its measurement, 1 or more. [1]"""
        return np.exp(np.abs(np.log(predicted_s / self.seconds)))

    @property
    def went_bad(self) -> Mask:
        """Rows that were good and are bad."""
        return np.asarray((self.off(self.old_s) <= GOOD) & (self.off(self.new_s) > BAD))

    @property
    def went_good(self) -> Mask:
        """Rows that were bad and are good."""
        return np.asarray((self.off(self.old_s) > BAD) & (self.off(self.new_s) <= GOOD))

    def is_red(self, tolerance: float) -> bool:
        """Whether more went bad than is tolerated, and more than went good."""
        bad = int(self.went_bad.sum())
        return bad > tolerance * len(self.seconds) and bad > int(self.went_good.sum())

    @property
    def regime(self) -> str:
        """The part of the rows in which more of those went bad than its share, by the most; `all` if there is none."""
        inside = {name: TOPICS[self.topic].inside(name, self.sizes) for name in TOPICS[self.topic].regimes}
        return max(inside, key=lambda name: inside[name][self.went_bad].mean() - inside[name].mean())


@dataclass(frozen=True)
class Moved:
    """A row that went bad, and what each term of it did."""

    device: str
    sizes: tuple[float, ...]
    measured_s: float
    old_s: float
    new_s: float
    terms_s: Mapping[str, float]
    """New less old, by term; they add up to the whole change."""

    @property
    def share(self) -> Mapping[str, float]:
        """Part that each term has in the change. [1]"""
        return {name: seconds / (self.new_s - self.old_s) for name, seconds in self.terms_s.items()}

    @property
    def term(self) -> str:
        """The term that moved the most the way the row went."""
        return max(self.share, key=lambda name: self.share[name])


@dataclass(frozen=True)
class Turned:
    """What both states say of the same rows."""

    families: tuple[Family, ...]
    moved: Mapping[tuple[str, str], tuple[Moved, ...]]
    """Rows of a topic and family that went bad, those first that moved the farthest."""
    left_out: tuple[str, ...]
    """What the base could not say, in sentences."""


class MuteError(RooflintError):
    """This tree has no prediction of rows that were measured."""


def turned(registry: Registry, topics: Sequence[str], rows: int, old: Ask, new: Ask) -> Turned:
    """Ask both states of the same rows. Raises MuteError, NotInstalledError or RooflintError."""
    there = {
        (topic, family): tuple(_stratified(registry, topic, device, rows) for device in names)
        for topic in topics
        for family, names in measured_devices(topic).items()
    }
    request = asked([_group(family, one, terms=False) for (_, family), ones in there.items() for one in ones])
    answers = zip(old(request)["groups"], new(request)["groups"], strict=True)
    families, left_out = [], []
    for (topic, family), ones in there.items():
        pairs = [next(answers) for _ in ones]
        if why := _why_not(pairs, 1):  # whatever the base says, it is lost
            raise MuteError(f"{topic} on {family}: this tree cannot say: {why[0]}")
        if why := _why_not(pairs, 0):
            left_out.append(f"{topic} on {family}: the base cannot say: {why[0]}")
            continue
        sides = [np.concatenate([pair[side]["seconds"] for pair in pairs]) for side in (0, 1)]
        if lost := int((~np.isfinite(sides[1])).sum()):  # no comparison with them is true, so none would count as bad
            raise MuteError(f"{topic} on {family}: this tree predicts no number for {counted(lost, 'row')}")
        families.append(Family(topic, family, ones, *sides))
    return Turned(tuple(families), _moved([one for one in families if one.went_bad.any()], old, new), tuple(left_out))


def _why_not(pairs: Sequence[Sequence[Mapping[str, Any]]], side: int) -> list[str]:
    return [pair[side]["why_not"] for pair in pairs if "why_not" in pair[side]]


def _stratified(registry: Registry, topic: str, device: str, rows: int) -> Rows:
    """So many rows of each regime, each row once."""
    ones = [TOPICS[topic].rows(registry, device, regime, rows)[0] for regime in TOPICS[topic].regimes]
    sizes, first = np.unique(np.concatenate([one.sizes for one in ones]), axis=0, return_index=True)
    return Rows(topic, device, sizes, np.concatenate([one.seconds for one in ones])[first])


def _group(family: str, one: Rows, *, terms: bool) -> dict[str, Any]:
    precision = TOPICS[one.topic].precision
    return {
        "topic": one.topic,
        "precision": precision,
        "device": one.device,
        "family": family,
        "sizes": one.sizes.tolist(),
        "terms": terms,
    }


def _moved(families: Sequence[Family], old: Ask, new: Ask) -> dict[tuple[str, str], tuple[Moved, ...]]:
    few = [(family, _farthest(family)) for family in families]
    request = asked([_group(one.family, alone, terms=True) for one, rows in few for _, alone in rows])
    answers = zip(old(request)["groups"], new(request)["groups"], strict=True)
    return {
        (one.topic, one.family): tuple(_row(one, position, *next(answers)) for position, _ in rows) for one, rows in few
    }


def _farthest(family: Family) -> list[tuple[int, Rows]]:
    """Position and row of those that went bad, alone, those first that moved the farthest."""
    moved = np.abs(np.log(family.new_s / family.old_s)) * family.went_bad
    order = np.argsort(-moved, kind="stable")[: min(TIMED, int(family.went_bad.sum()))]
    names, sizes, seconds = family.devices, family.sizes, family.seconds
    return [(int(row), Rows(family.topic, names[row], sizes[[row]], seconds[[row]])) for row in order]


def _row(family: Family, row: int, old: Mapping[str, Any], new: Mapping[str, Any]) -> Moved:
    names = dict.fromkeys([*old["terms"], *new["terms"]])
    return Moved(
        device=family.devices[row],
        sizes=tuple(family.sizes[row]),
        measured_s=float(family.seconds[row]),
        old_s=float(family.old_s[row]),
        new_s=float(family.new_s[row]),
        terms_s={name: new["terms"].get(name, [0.0])[0] - old["terms"].get(name, [0.0])[0] for name in names},
    )


def terms(moved: Sequence[Moved]) -> dict[str, float]:
    """Part that each term has in the change of some rows, on average, the largest first. [1]"""
    names = dict.fromkeys(name for one in moved for name in one.terms_s)
    found = {name: float(np.mean([one.share.get(name, 0.0) for one in moved])) for name in names}
    return dict(sorted(found.items(), key=lambda one: -one[1]))
