"""Cost of a prediction in money and carbon, where a price or a carbon intensity is published."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from rooflint.cost.economics import (
    break_even_hours,
    carbon_g_per_inference,
    cost_per_million_usd,
    mean_power_w,
    running_cost_usd_per_h,
    total_cost_per_inference_usd,
    total_cost_usd,
)
from rooflint.cost.grid import Grid, NoReadingError, Reading
from rooflint.cost.prices import NoPriceError, Prices, PurchasePrice, RentPrice
from rooflint.hardware.registry import Registry
from rooflint.prediction.predict import NotKnownError, Prediction

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
    """Share of the time that the device is busy."""


@dataclass(frozen=True)
class Amount:
    """An amount of money, time or carbon with its source, or why it is not known."""

    name: str
    value: float | None
    unit: str
    said: str


@dataclass(frozen=True)
class CostTables:
    """Prices and grids of a registry."""

    prices: Prices
    grid: Grid

    @classmethod
    def of(cls, registry: Registry) -> "CostTables":
        """Those of its roots."""
        return cls(Prices(registry), Grid(registry))


def cost_of(found: Prediction, tables: CostTables, place: Place) -> tuple[Amount, ...]:
    """Rent, ownership, break-even and carbon of the inferences of one device that does nothing else.

    A missing price or reading is a reason. Raises UnknownPlaceError or InputError.
    """
    for name in (place.carbon, place.electricity, place.pue):
        tables.grid.around(name)
    return (
        _amount("rent of 10⁶ inferences", "USD", lambda: _rent(found, tables)),
        _amount("ownership of 10⁶ inferences", "USD", lambda: _owned(found, tables, place)),
        _amount("buying repays renting after", "h", lambda: _break_even(found, tables, place)),
        _amount("carbon of 10⁶ inferences", "g CO₂e", lambda: _carbon(found, tables, place)),
    )


Cited = tuple[float, str]
"""A value, and what it rests on."""


def _amount(name: str, unit: str, cited: Callable[[], Cited]) -> Amount:
    try:
        value, said = cited()
    except (NotKnownError, NoPriceError, NoReadingError) as error:
        return Amount(name, None, unit, str(error))
    return Amount(name, value, unit, said)


def _rent(found: Prediction, tables: CostTables) -> Cited:
    price = _newest_rent(found, tables)
    return cost_per_million_usd(price.usd_per_h, found.throughput_per_s), price.citation


def _newest_rent(found: Prediction, tables: CostTables) -> RentPrice:
    return tables.prices.of(found.hardware.id)[0]


def _newest_purchase(found: Prediction, tables: CostTables) -> PurchasePrice:
    return tables.prices.purchases(found.hardware.id)[0]


def _owned(found: Prediction, tables: CostTables, place: Place) -> Cited:
    price = _newest_purchase(found, tables)
    running, electricity, pue = _running(found, tables, place)
    total = total_cost_usd(price.usd, running, place.years)
    each = total_cost_per_inference_usd(total, found.throughput_per_s, place.years, place.load_share)
    lasting = f"{place.years:g} years at {100 * place.load_share:g} % load"
    said = _sentence(price.citation, lasting, electricity.citation, f"PUE {pue.pue:g}", *found.energy.left_out)
    return each * MILLION, said


def _running(found: Prediction, tables: CostTables, place: Place) -> tuple[float, Reading, Reading]:
    """Electricity of an hour, working and idle. [USD/h]"""
    electricity, pue = tables.grid.electricity(place.electricity)[0], tables.grid.pue(place.pue)[0]
    return running_cost_usd_per_h(_mean_w(found, place), electricity.usd_per_kwh, pue.pue), electricity, pue


def _mean_w(found: Prediction, place: Place) -> float:
    """Power over work and waiting. [W]"""
    return float(mean_power_w(found.power_w, place.load_share, _idle_w(found)))


def _idle_w(found: Prediction) -> float:
    """Power while nothing runs, as its energy counts it. [W]"""
    return sum(term.each.typical for term in found.energy.terms if term.group == "static")


def _break_even(found: Prediction, tables: CostTables, place: Place) -> Cited:
    bought, rented = _newest_purchase(found, tables), _newest_rent(found, tables)
    running, _, _ = _running(found, tables, place)
    hours = float(break_even_hours(bought.usd, rented.usd_per_h, running))
    said = _sentence(f"electricity {running:.3g} USD/h", *found.energy.left_out)
    if math.isinf(hours):
        never = "buying never repays: an hour's electricity costs more than the rent"
        raise NotKnownError(f"{never} of {rented.citation}; {said}")
    return hours, _sentence(bought.citation, rented.citation, said)


def _carbon(found: Prediction, tables: CostTables, place: Place) -> Cited:
    """Of the energy of an inference, with its part of what is drawn while nothing runs."""
    intensity, pue = tables.grid.carbon(place.carbon)[0], tables.grid.pue(place.pue)[0]
    energy_j = _mean_w(found, place) / (found.throughput_per_s * place.load_share)
    each = carbon_g_per_inference(energy_j, intensity.g_per_kwh, pue.pue)
    load = [f"{100 * place.load_share:g} % load"] if place.load_share < 1 else []
    said = _sentence(intensity.citation, f"PUE {pue.pue:g}, {pue.place}", *load, *found.energy.left_out)
    return each * MILLION, said


def _sentence(*parts: str) -> str:
    return "; ".join(parts)
