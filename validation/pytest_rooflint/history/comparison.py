"""What moved between two sides: predictions and powers that differ, and what each change does alone."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, isclose, log

import numpy as np
from numpy.typing import NDArray

from pytest_rooflint.history import changes
from pytest_rooflint.history.changes import Change, FileChange
from pytest_rooflint.history.readers import readers
from pytest_rooflint.history.side import Side, Specs
from rooflint.answers.tdp_registry import hardest
from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact
from rooflint.energy.model import Energies
from rooflint.energy.power import PowerCheck, survey
from rooflint.hardware.device import Hardware
from rooflint.prediction.figures import QUANTITIES
from rooflint.prediction.ledger import PRECISIONS, RUNS, Key, Ledger, Table, record, tables
from rooflint_report.differences import SAME, Share

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Rows = NDArray[np.intp]


WHOLE = ("latency_s", "energy_j", "peak_memory_bytes")
"""What a reader asks for first; the other quantities are parts of these, or follow from them."""


@dataclass(frozen=True)
class Move:
    """How much one quantity of one device moved."""

    device: str
    quantity: str
    rows: int
    """Predictions that moved."""
    of: int
    """Predictions that both ledgers have figures for, or one of them."""
    low: float | None
    """Least factor, new over old; None where no prediction that moved is positive in both. [1]"""
    high: float | None
    """Greatest factor. [1]"""
    known: int = 0
    """Predictions that only the new ledger knows."""
    unknown: int = 0
    """Predictions that only the old ledger knows."""

    @property
    def distance(self) -> float:
        """Largest change of a prediction, in octaves; infinite for predictions that only one side knows."""
        if self.unknown or self.known:
            return float("inf")
        return max((abs(float(np.log2(end))) for end in (self.low, self.high) if end), default=0.0)


def _order(move: Move) -> tuple[int, float, str, int]:
    rank = 0 if move.quantity == WHOLE[0] else 1 if move.quantity in WHOLE else 2
    return rank, -move.distance, move.device, QUANTITIES.index(move.quantity)


@dataclass(frozen=True, eq=False)
class Difference:
    """The predictions that two ledgers have in common, side by side; arrays have the shape (rows, quantities)."""

    keys: tuple[Key, ...]
    old: Floats
    new: Floats

    @classmethod
    def of(cls, old: Ledger, new: Ledger) -> "Difference":
        """The difference over keys that both ledgers have."""
        keys = tuple(key for key in old.keys if key in new.places)
        return cls(
            keys,
            old.values[[old.places[key] for key in keys]],
            new.values[[new.places[key] for key in keys]],
        )

    def on(self, devices: Collection[str]) -> "Difference":
        """The same of some devices."""
        rows = [row for row, key in enumerate(self.keys) if key.device in devices]
        return Difference(tuple(self.keys[row] for row in rows), self.old[rows], self.new[rows])

    @cached_property
    def moved(self) -> Flags:
        """Which predictions differ."""
        near = np.abs(self.new - self.old) <= SAME * np.maximum(np.abs(self.new), np.abs(self.old))
        unknown = np.isnan(self.new) & np.isnan(self.old)
        return np.asarray(~(near | unknown))

    @cached_property
    def factors(self) -> Floats:
        """New over old, exactly 1 where nothing moved; NaN where one of them is not known or zero. [1]"""
        both = (self.old > 0) & (self.new > 0)
        ratio = np.divide(self.new, self.old, out=np.full_like(self.old, np.nan), where=both)
        return np.where(self.moved, ratio, 1.0)

    @property
    def predictions(self) -> int:
        """Number of rows with a changed prediction."""
        return int(self.moved.any(axis=1).sum())

    @cached_property
    def devices(self) -> dict[str, Rows]:
        """Numbers of the rows of each device, in order."""
        names, which = np.unique(np.array([key.device for key in self.keys], dtype=np.str_), return_inverse=True)
        return {str(name): np.flatnonzero(which == number) for number, name in enumerate(names)}

    def moves(self) -> list[Move]:
        """By device and quantity: latencies, then energies and memory, then what they are made of; farthest first."""
        moved = {device: np.asarray(self.moved[rows].any(axis=0)) for device, rows in self.devices.items()}
        found = [
            self._move(device, quantity, rows, column)
            for device, rows in self.devices.items()
            for column, quantity in enumerate(QUANTITIES)
            if moved[device][column]
        ]
        return sorted(found, key=_order)

    def _move(self, device: str, quantity: str, rows: Rows, column: int) -> Move:
        old, new = self.old[rows, column], self.new[rows, column]
        moved = self.moved[rows, column]
        low, high = ends(self.factors[rows, column][moved])
        return Move(
            device,
            quantity,
            rows=int(moved.sum()),
            of=int((~np.isnan(old) | ~np.isnan(new)).sum()),
            low=low,
            high=high,
            known=int((np.isnan(old) & ~np.isnan(new)).sum()),
            unknown=int((~np.isnan(old) & np.isnan(new)).sum()),
        )


def ends(factors: Floats) -> tuple[float | None, float | None]:
    """Least and greatest of the factors that are known."""
    known = factors[~np.isnan(factors)]
    return (float(known.min()), float(known.max())) if len(known) else (None, None)


# ---- Power on two sides: points whose hardest load has another ratio to its limit, another limit or another verdict

Point = tuple[str, str]
"""A device and its operating point, the device's own as an empty text."""

Powers = Mapping[Point, PowerCheck]
"""The hardest load of each point that has an answer."""


@dataclass(frozen=True, eq=False)
class PowerMove:
    """An operating point whose power changed; a side is None if its power is not known."""

    point: Point
    old: PowerCheck | None
    new: PowerCheck | None

    @property
    def far(self) -> tuple[bool, float]:
        """Sort key: a changed verdict first, then the larger change of the ratio."""
        if self.old is None or self.new is None:
            return True, inf
        known = self.old.ratio > 0 and self.new.ratio > 0
        return self.old.verdict != self.new.verdict, abs(log(self.new.ratio / self.old.ratio)) if known else inf


def powers_of(devices: Iterable[Hardware], energies: Energies) -> dict[Point, PowerCheck]:
    """The hardest load of each point. Raises InputError for a file of energies that cannot be read."""
    found = {}
    for point in (point for device in devices for point in device.points()):
        able = [one for one in survey(point, energies) if isinstance(one, PowerCheck)]
        if able:
            found[point.id, point.mode or ""] = hardest(able)
    return found


def power_moves(old: Powers, new: Powers, among: Collection[Point]) -> list[PowerMove]:
    """Changed powers of some points, largest change first."""
    both = (PowerMove(point, old.get(point), new.get(point)) for point in sorted({*old, *new} & set(among)))
    return sorted((one for one in both if not _same(one.old, one.new)), key=lambda one: one.far, reverse=True)


def _same(one: PowerCheck | None, other: PowerCheck | None) -> bool:
    if one is None or other is None:
        return one is other
    near = (isclose(*pair, rel_tol=SAME) for pair in zip(_figures(one), _figures(other), strict=True))
    return _words(one) == _words(other) and all(near)


def _words(one: PowerCheck) -> tuple[str, ...]:
    return one.load.unit, one.load.precision, one.limit.path, one.verdict


def _figures(one: PowerCheck) -> tuple[float, ...]:
    return one.limit_w, one.low_ratio, one.ratio, one.high_ratio


# ---- Two sides compared: what moved, and what each change moves alone

MOST_TRIALS = 500
"""Devices that are predicted again for single changes; beyond that, changes are listed and not tried."""

CLOSE = 1e-6
"""Relative tolerance for single factors to multiply to the joint factor."""


@dataclass(frozen=True, eq=False)
class Effect:
    """The effect of one change alone, applied to the old side."""

    change: Change | FileChange
    holders: tuple[str, ...]
    """Devices that it may move."""
    alone: Difference | None
    """None where it was not tried."""
    untried: str = ""
    """Why not."""
    power: tuple[PowerMove, ...] = ()
    """Points whose power over the limit it moves by itself."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """What moved between two sides."""

    old: Side
    new: Side
    difference: Difference
    effects: tuple[Effect, ...]
    citations_changed: int = 0
    """Facts with the same value from another place."""
    power: tuple[PowerMove, ...] = ()
    """Points of which the hardest load has another power over its limit; the farthest first."""

    @cached_property
    def moves(self) -> list[Move]:
        """By device and quantity, the farthest first."""
        return self.difference.moves()

    @property
    def cells(self) -> int:
        """Combinations of the matrix that both sides have, supported or not."""
        if not isinstance(self.old, Specs) or not isinstance(self.new, Specs):
            return len(self.difference.keys)
        networks = frozenset(self.old.networks) & frozenset(self.new.networks)
        return len(self.old.points & self.new.points) * len(networks) * len(PRECISIONS) * len(RUNS)

    def shares(self, move: Move) -> list[Share]:
        """The changes that move this alone."""
        column, found = QUANTITIES.index(move.quantity), []
        for position, effect in enumerate(self.effects):
            if effect.alone is None or move.device not in effect.alone.devices:
                continue
            rows = effect.alone.devices[move.device]
            moved = effect.alone.moved[rows, column]
            if moved.any():
                low, high = ends(effect.alone.factors[rows, column][moved])
                found.append(Share(change=position, low=low, high=high))
        return found

    def multiplies(self, move: Move) -> bool:
        """Whether the factors of the changes alone multiply, row by row, to the factor together."""
        column = QUANTITIES.index(move.quantity)
        rows = self.difference.devices[move.device]
        product = self._product[rows, column]
        together = self.difference.factors[rows, column]
        known = ~np.isnan(product) & ~np.isnan(together)
        return bool(np.allclose(product[known], together[known], rtol=CLOSE, atol=0))

    @cached_property
    def _product(self) -> Floats:
        """Product of all factors alone, row by row."""
        product = np.ones_like(self.difference.factors)
        places = {key: row for row, key in enumerate(self.difference.keys)}
        for effect in self.effects:
            if effect.alone is not None:
                product[[places[key] for key in effect.alone.keys]] *= effect.alone.factors
        return product


def compare(old: Side, new: Side) -> Comparison:
    """What moved between two sides. Raises RooflintError for files that cannot be read."""
    if not isinstance(old, Specs) or not isinstance(new, Specs):
        return Comparison(old, new, Difference.of(old.ledger(), new.ledger()), ())
    old.check()
    new.take_tables(old)
    new.check()
    old.take_devices(new)
    found, files = changes.changes(old, new), changes.file_changes(old, new)
    extent = _Extent.of(old, new, {name for holders in found.values() for name in holders}, files)
    before = extent.predicted(old)
    difference = Difference.of(before, extent.predicted(new))
    powers = powers_of((old.devices[name] for name in extent.devices), old.energies)
    power = power_moves(
        powers, powers_of((new.devices[name] for name in extent.devices), new.energies), old.points & new.points
    )
    trial = _Trial(old, new, before, set(difference.keys), powers)
    if len(found) + sum(len(changes.changed_facts(file, old, new)) or 1 for file in files) == 1:
        trial.alone = difference, power
    effects = [trial.of_change(change, holders) for change, holders in found.items()]
    moved = (name for name, rows in difference.devices.items() if difference.moved[rows].any())
    holders = tuple(sorted({*moved, *(one.point[0] for one in power)}))
    effects += [effect for change in files for effect in trial.of_file(change, holders)]
    return Comparison(old, new, difference, tuple(effects), changes.citations_changed(old, new), tuple(power))


@dataclass(frozen=True)
class _Extent:
    """What changes can move: all predictions of some devices, and those of some networks on the others."""

    devices: Sequence[str]
    others: Sequence[str]
    networks: frozenset[str]

    @classmethod
    def of(cls, old: Specs, new: Specs, changed: Collection[str], files: Sequence[FileChange]) -> "_Extent":
        """The extent of changes in devices and in files that any device may read."""
        common = sorted(set(old.devices) & set(new.devices))
        networks = frozenset(file.network for file in files if file.network)
        shared = [file.name for file in files if not file.network]
        touched = sorted({*changed, *readers(old, common, shared), *readers(new, common, shared)})
        return cls(touched, [name for name in common if name not in touched] if networks else [], networks)

    def predicted(self, side: Specs) -> Ledger:
        """The predictions of a side within it. Raises RooflintError."""
        if not self.others:
            return side.ledger(self.devices)
        works = [work for work in side.works if work.network in self.networks]
        others = record((side.devices[name] for name in self.others), works, side.energies)
        return Ledger.of((*side.ledger(self.devices).rows(), *others.rows()))


@dataclass(frozen=True)
class _State:
    """The inputs of predictions: the old side with one change."""

    devices: Sequence[Hardware]
    works: Sequence[Table]
    energies: Energies


@dataclass
class _Trial:
    """Applies single changes to the old side and predicts again."""

    old: Specs
    new: Specs
    before: Ledger
    keys: set[Key]
    """Keys of predictions that both sides have."""
    powers: Powers = field(repr=False)
    alone: tuple[Difference, Sequence[PowerMove]] | None = None
    """What moved, where one fact changed: it does all of that alone, and nothing is predicted again."""
    tried: int = 0

    def of_change(self, change: Change, holders: tuple[str, ...]) -> Effect:
        """The effect of a fact alone."""
        return self._effect(change, holders, self._changed(change, holders))

    def of_file(self, change: FileChange, holders: tuple[str, ...]) -> Iterator[Effect]:
        """The effect of a file alone on the devices that moved; fact by fact if only facts changed in it."""
        pairs = changes.changed_facts(change, self.old, self.new)
        for one, other in pairs:
            text = changes.of_pair(self.old, self.new, one, other)
            yield self._effect(text, holders, self._with_fact(one, other, holders))
        if not pairs:
            yield self._effect(change, holders, self._with_file(change, holders))

    @contextmanager
    def _changed(self, change: Change, holders: Sequence[str]) -> Iterator[_State]:
        devices = [change.alone(self.old.devices[name], self.new.devices[name]) for name in holders]
        yield _State(devices, self.old.works, self.old.energies)

    @contextmanager
    def _with_fact(self, one: Fact, other: Fact, holders: Sequence[str]) -> Iterator[_State]:
        coefficients = self.old.energies.coefficients.with_facts(one.file, {one.path: other})
        yield _State(self._devices(holders), self.old.works, Energies(coefficients))

    @contextmanager
    def _with_file(self, change: FileChange, holders: Sequence[str]) -> Iterator[_State]:
        if change.network is None:
            with changes.with_file(self.old, change) as energies:
                yield _State(self._devices(holders), self.old.works, energies)
        else:  # the rows of one that appeared or vanished have nothing to be compared with
            works = tables([self.new.networks[change.network]]) if change.status == "changed" else ()
            yield _State(self._devices(holders), works, self.old.energies)

    def _devices(self, holders: Sequence[str]) -> list[Hardware]:
        return [self.old.devices[name] for name in holders]

    def _effect(
        self, change: Change | FileChange, holders: tuple[str, ...], trial: AbstractContextManager[_State]
    ) -> Effect:
        if self.alone and not (isinstance(change, FileChange) and change.network):
            difference, power = self.alone
            return Effect(change, holders, difference.on(holders), power=tuple(power))
        self.tried += len(holders)
        if self.tried > MOST_TRIALS:
            return Effect(change, holders, None, f"more than {MOST_TRIALS} devices would be predicted again")
        try:
            with trial as state:
                rows = record(state.devices, state.works, state.energies).rows()
                alone = Difference.of(self.before, Ledger.of(row for row in rows if row.key in self.keys))
                points = {point for point in self.old.points & self.new.points if point[0] in holders}
                power = power_moves(self.powers, powers_of(state.devices, state.energies), points)
        except RooflintError as error:
            return Effect(change, holders, None, str(error))
        return Effect(change, holders, alone, power=tuple(power))
