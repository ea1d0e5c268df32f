"""Spending: what a prediction costs in money and carbon, where somebody printed a price or a carbon intensity."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rooflint.economics import (
    break_even_hours,
    carbon_g_per_inference,
    cost_per_million_usd,
    mean_power_w,
    running_cost_usd_per_h,
    total_cost_per_inference_usd,
    total_cost_usd,
)
from rooflint.errors import RooflintError
from rooflint.grid import Grid, Reading
from rooflint.prediction import NotKnownError, Prediction
from rooflint.prices import Prices, PurchasePrice, RentPrice
from rooflint.specs import Registry

MILLION = 1e6


@dataclass(frozen=True)
class Place:
    """Where and for how long a device runs."""

    carbon: str = "world"
    """Place of the grid: a country, `gcp/us-central1`, `world`."""
    electricity: str = "usa/virginia"
    """Place of the price of electricity; only those of the USA are known."""
    pue: str = "fleet/industry"
    years: float = 4.0
    load_share: float = 1.0
    """Share of the time that it works."""


@dataclass(frozen=True)
class Figure:
    """One amount, with what it rests on; or why there is none."""

    name: str
    value: float | None
    unit: str
    said: str


@dataclass(frozen=True)
class Ledgers:
    """Prices and grids of a registry."""

    prices: Prices
    grid: Grid

    @classmethod
    def of(cls, registry: Registry) -> "Ledgers":
        """Those of its roots."""
        return cls(Prices(registry), Grid(registry))


def spending(found: Prediction, books: Ledgers, place: Place) -> tuple[Figure, ...]:
    """Rent, ownership, break-even and carbon of the inferences of one device that does nothing else."""
    return (
        _figure("rent of 10⁶ inferences", "USD", lambda: _rent(found, books)),
        _figure("ownership of 10⁶ inferences", "USD", lambda: _owned(found, books, place)),
        _figure("buying repays renting after", "h", lambda: _break_even(found, books, place)),
        _figure("carbon of 10⁶ inferences", "g CO₂e", lambda: _carbon(found, books, place)),
    )


Amount = tuple[float, str]


def _figure(name: str, unit: str, amount: Callable[[], Amount]) -> Figure:
    try:
        value, said = amount()
    except (NotKnownError, RooflintError) as error:
        return Figure(name, None, unit, str(error))
    return Figure(name, value, unit, said)


def _rent(found: Prediction, books: Ledgers) -> Amount:
    price = _newest_rent(found, books)
    return cost_per_million_usd(price.usd_per_h, found.throughput_per_s), price.citation


def _newest_rent(found: Prediction, books: Ledgers) -> RentPrice:
    return books.prices.of(found.hardware.id)[0]


def _newest_purchase(found: Prediction, books: Ledgers) -> PurchasePrice:
    return books.prices.purchases(found.hardware.id)[0]


def _owned(found: Prediction, books: Ledgers, place: Place) -> Amount:
    price = _newest_purchase(found, books)
    running, electricity, pue = _running(found, books, place)
    total = total_cost_usd(price.usd, running, place.years)
    each = total_cost_per_inference_usd(total, found.throughput_per_s, place.years, place.load_share)
    said = f"{price.citation}; {place.years:g} years at {100 * place.load_share:g} % load; {electricity.citation}"
    return each * MILLION, f"{said}; PUE {pue.pue:g}"


def _running(found: Prediction, books: Ledgers, place: Place) -> tuple[float, Reading, Reading]:
    """Electricity of an hour, working and idle. [USD/h]"""
    electricity, pue = books.grid.electricity(place.electricity)[0], books.grid.pue(place.pue)[0]
    power = mean_power_w(found.power_w, place.load_share, _idle_w(found))
    return running_cost_usd_per_h(power, electricity.usd_per_kwh, pue.pue), electricity, pue


def _idle_w(found: Prediction) -> float:
    """Power while nothing runs, as its energy counts it. [W]"""
    return sum(term.each.typical for term in found.energy.terms if term.group == "static")


def _break_even(found: Prediction, books: Ledgers, place: Place) -> Amount:
    bought, rented = _newest_purchase(found, books), _newest_rent(found, books)
    running, _, _ = _running(found, books, place)
    hours = float(break_even_hours(bought.usd, rented.usd_per_h, running))
    return hours, f"{bought.citation}; {rented.citation}; electricity {running:.3g} USD/h"


def _carbon(found: Prediction, books: Ledgers, place: Place) -> Amount:
    intensity, pue = books.grid.carbon(place.carbon)[0], books.grid.pue(place.pue)[0]
    each = carbon_g_per_inference(found.energy_per_sample_j, intensity.g_per_kwh, pue.pue)
    return each * MILLION, f"{intensity.citation}; PUE {pue.pue:g}, {pue.place}"


def recorded(figures: tuple[Figure, ...]) -> list[dict[str, Any]]:
    """For programs."""
    return [{"name": one.name, "value": one.value, "unit": one.unit, "said": one.said} for one in figures]
