"""Variants of a device: the question of `rooflint explore` as a function."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint.answers.explore import explore_answer
from rooflint.api.devices import Specs, hardware_of
from rooflint.api.predictions import DEFAULT_LAUNCH, DEFAULT_PRECISION, Columns, context, network, setting
from rooflint.base.errors import RooflintError
from rooflint.base.shards import HERE, Workers
from rooflint.base.text import counted
from rooflint.base.units import DIMENSIONLESS, NAMES
from rooflint.cost.tables import NoPriceError
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Registry
from rooflint.hardware.variant_spec import save_variant
from rooflint.output.answer import Answer
from rooflint.output.sections import Table
from rooflint.prediction import explore as exploration
from rooflint.prediction.comparison import requirements
from rooflint.prediction.cost import CostTables, Tariff, tariff
from rooflint.prediction.explore import LAUNCH, Design, Objective, Run, objectives, parameters, quantities
from rooflint.prediction.predict import ROOFLINE, Setting
from rooflint.prediction.space import Parameter, Space, axis, grid, latin_hypercube

Values = str | float | Sequence[str | float] | NDArray[Any]
"""Values of a fact: a text with units, or numbers in SI."""

Names = str | Iterable[str]
"""Names with commas, or a list of them."""

DEFAULTS = ("latency", "energy")
"""What is minimised where nothing is named, as far as it is known."""


@dataclass(frozen=True, eq=False)
class Exploration(exploration.Exploration):
    """Variants of a device, their Pareto set and the sensitivities; `print(e)` is `rooflint explore`."""

    roots: tuple[Path, ...] = ()
    """Folders of specs."""

    @property
    def columns(self) -> Columns:
        """One row a variant, the base first: its facts and figures, in SI base units."""
        return Columns.of(self.answer().listing)

    @property
    def pareto(self) -> Columns:
        """The rows of the Pareto set."""
        listing = self.answer().listing
        return Columns.of(Table(listing.columns, tuple(row for row in listing.rows if row[-1])))

    def answer(self, plot: Names = ()) -> Answer:
        """What `rooflint explore` prints of it; `plot` names the two quantities of the chart."""
        return explore_answer(self, self._plotted(_listed(plot)))

    def _plotted(self, names: Sequence[str]) -> tuple[Objective, ...]:
        if names and len(names) != 2:
            raise RooflintError(f"plot: want two quantities, such as latency,energy, found '{','.join(names)}'")
        known = quantities(self.design.parameters)
        for name in names:
            if name not in known:
                raise RooflintError(f"plot: '{name}': want {', '.join(known)}")
            if np.isnan(self.figures.of(name)).all():
                having = [other for other in known if not np.isnan(self.figures.of(other)).all()]
                raise RooflintError(f"plot: {name} is not known for any variant: want {', '.join(having)}")
        return tuple(known[name] for name in names)

    def save(self, variant: int | str, file: Path | str) -> str:
        """Write a variant as a spec file, which must not exist; its id.

        Args:
            variant: its number in `columns`, or an objective, of which the best variant of the Pareto set is taken.
            file: below a folder `hardware`, such as `specs/hardware/acme/one.yaml`.

        Raises RooflintError for another variant or place.
        """
        at = self._place(variant)
        values = self.design.space.values[:, at : at + 1]
        pairs = zip(self.design.parameters, values[:, 0].tolist(), strict=True)
        what = ", ".join(f"{one.name} {one.show(value)}" for one, value in pairs)
        facts = {path: float(fact[0]) for path, fact in self.design.facts(values).items()}
        modes = sorted({setting.launch for setting in self.design.settings} - {DEFAULT_LAUNCH})
        if not facts:
            raise RooflintError(f"variant {variant}: only its price differs, and a spec of a device has no price")
        if LAUNCH in facts and LAUNCH not in self.design.base.facts and modes:
            raise RooflintError(
                f"variant {variant}: a spec states one {LAUNCH} for all launch modes, and this one is that of "
                f"{', '.join(modes)}; explore with --launch {DEFAULT_LAUNCH}, or leave it out"
            )
        return save_variant(self.design.base, facts, what, Path(file), self.roots)

    def _place(self, variant: int | str) -> int:
        """The column of a variant."""
        by = {one.name: one for one in self.design.objectives}
        if str(variant).isdecimal() and 1 <= int(variant) <= len(self.design.space):
            return int(variant) - 1
        if variant not in by or not len(self.front):
            wanted = f"a number from 1 to {len(self.design.space)} or the best by {', '.join(by)}"
            raise RooflintError(f"variant '{variant}': want {wanted}")
        values = self.figures.of(str(variant))[self.front]
        return int(self.front[values.argmin() if by[str(variant)].less_is_better else values.argmax()])

    def __str__(self) -> str:
        return str(self.answer())

    def __repr__(self) -> str:
        variants = f"{len(self.design.space)} variants of {self.design.base.label}"
        return f"<Exploration of {variants}: {len(self.front)} in the Pareto set>"

    def _repr_html_(self) -> str:
        return self.answer()._repr_html_()


def explore(
    on: str | Hardware,
    vary: Mapping[str, Values],
    networks: Any,
    *,
    minimise: Names = (),
    maximise: Names = (),
    require: str = "",
    precision: Names = DEFAULT_PRECISION,
    batch: int | Sequence[int] | NDArray[np.integer[Any]] = 1,
    storage: str | None = None,
    fuse: bool = False,
    launch: str = DEFAULT_LAUNCH,
    fidelity: str = ROOFLINE,
    cached: bool = True,
    price: str = "",
    samples: int | None = None,
    seed: int = 0,
    at: str = "",
    specs: Specs = None,
    announce: Callable[[str], None] | None = None,
    workers: Workers = HERE,
) -> Exploration:
    """Hypothetical variants of a device: the best of them, and which fact buys most.

    Args:
        on: the device that varies, or its name.
        vary: values of facts by path, `{"memory.bandwidth": "2:8TB/s"}`: also `2:8TB/s:13`, `64,128`, `x0.5:x2`, or
            numbers in SI (B/s, B, Hz, W, s, counts); bits, MAC and prices want a text.
        networks: a network, or several; what `network` takes.
        minimise: latency, energy, cost, memory, power, balance, or facts that vary; by default latency and energy.
        maximise: throughput, utilization, or facts that vary.
        require: bounds that hold in every run, such as `latency<1ms,power<300W`.
        precision: of the arithmetic; several are several runs.
        batch: samples that run together; several are several runs.
        storage: as in `predict`.
        fuse: as in `predict`.
        launch: as in `predict`.
        fidelity: as in `predict`.
        cached: as in `predict`.
        price: of the base, `2.5 USD/h` or `1500 USD`; by default the newest rent, else the newest purchase.
        samples: as many variants of a Latin hypercube instead of the grid.
        seed: of the samples.
        at: operating point of the base, such as `30w`.
        specs: folders of specs, in front of the packaged ones.
        announce: is told how many variants there are before they are predicted.
        workers: where variants are predicted: this process, several on this machine, or a cluster.

    Raises RooflintError for unknown names, facts without effect, values that a fact or the base cannot take.
    """
    known, energies = context(specs)
    base = hardware_of(known, on, at)
    settings = [setting(name, storage, fuse, launch, fidelity, cached) for name in _listed(precision)]
    runs = _runs(networks, batch, settings, vary, specs)
    rate = _tariff(known, base, price)
    space = _space(tuple(parameters(base, list(vary), energies, launch, rate)), vary, samples, seed)
    _announced(space, runs, announce)
    design = Design(base, energies, runs, space, (), requirements(require), rate)
    found = exploration.explore(_judged(design, _listed(minimise), _listed(maximise)), workers)
    return Exploration(**{one.name: getattr(found, one.name) for one in fields(found)}, roots=known.roots)


def _announced(space: Space, runs: Sequence[Run], announce: Callable[[str], None] | None) -> None:
    if announce:
        announce(f"{counted(len(space), 'variant')} ({space.how}) × {counted(len(runs), 'run')}")


def _runs(
    networks: Any,
    batch: int | Sequence[int] | NDArray[np.integer[Any]],
    settings: Sequence[Setting],
    vary: Mapping[str, Values],
    specs: Specs,
) -> tuple[Run, ...]:
    works = [network(one, specs=specs) for one in (networks if isinstance(networks, list | tuple) else [networks])]
    sizes = [batch] if isinstance(batch, int) else np.ravel(batch).tolist() if _is_array(batch) else batch
    sizes = [int(size) if isinstance(size, np.integer) else size for size in sizes]
    runs = tuple(Run(work.at_batch(size), each) for work in works for each in settings for size in sizes)
    if not runs or not vary:
        raise RooflintError("want at least one fact to vary, one network, one precision and one batch")
    return runs


def _listed(names: Names) -> list[str]:
    """`a, b` as a list."""
    words = names.split(",") if isinstance(names, str) else names
    return [word.strip() for word in words if word.strip()]


def _tariff(known: Registry, base: Hardware, price: str) -> Tariff | None:
    """What inferences cost; None where no price is given or known."""
    try:
        return tariff(base.id, CostTables.of(known), price)
    except NoPriceError:
        return None


def _space(
    varied: Sequence[Parameter],
    values: Mapping[str, Values],
    samples: int | None,
    seed: int,
) -> Space:
    axes = [axis(one, _text(one, values[one.name])) for one in varied]
    return grid(axes) if samples is None else latin_hypercube(axes, samples, seed)


def _text(of: Parameter, values: Values) -> str:
    """Values as the command takes them; a number has the unit of its fact in SI."""
    if _is_array(values):
        values = np.ravel(values).tolist()
    listed: Sequence[Any] = values if isinstance(values, Sequence) and not isinstance(values, str) else [values]
    return ",".join(_written(of, one) for one in listed)


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray | np.generic)


def _written(of: Parameter, value: str | float) -> str:
    if isinstance(value, str | bool) or not isinstance(value, int | float | np.integer | np.floating):
        return str(value)
    number = np.format_float_positional(float(value), trim="-")
    if of.kind.dimension == DIMENSIONLESS or of.kind.unit:  # bits, pJ and MAC are not what SI would say
        return number
    return f"{number} {NAMES[of.kind.dimension]}"


def _judged(design: Design, minimise: Sequence[str], maximise: Sequence[str]) -> Design:
    """With the objectives that are named; by default latency, and energy where it is known."""
    if not minimise and not maximise:
        known = all(one.prediction.has("energy") for one in design.predictions)
        minimise = DEFAULTS if known else DEFAULTS[:1]
    varied = design.parameters
    judged = (*objectives(minimise, varied), *objectives(maximise, varied, less_is_better=False))
    return replace(design, objectives=judged)
