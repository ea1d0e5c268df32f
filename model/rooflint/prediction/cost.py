"""Cost of a prediction in money and carbon, where a price or a carbon intensity is published.

Prices are in USD/h and USD/kWh, as people print them, and carbon intensity in g/kWh; energies are in J, times in s.
docs/method-economics.md lists what is left out (people, networks, discounts, interest, making the device).
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rooflint.base.errors import RooflintError
from rooflint.base.units import JOULES_PER_KWH, SECONDS_PER_HOUR
from rooflint.cost.schema import PURCHASE, RENT
from rooflint.cost.tables import Grid, NoPriceError, NoReadingError, Price, Prices, Reading
from rooflint.hardware.registry import Registry
from rooflint.hardware.schema import FactKind
from rooflint.prediction.predict import NotKnownError, Prediction

HOURS_PER_YEAR = 365.25 * 24
MILLION = 1e6


class PriceError(RooflintError):
    """A text that is no price; the message says what was expected."""


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
    basis: str


@dataclass(frozen=True)
class CostTables:
    """Prices and grids of a registry."""

    prices: Prices
    grid: Grid

    @classmethod
    def of(cls, registry: Registry) -> "CostTables":
        """The prices and grids of its roots."""
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
        value, basis = cited()
    except (NotKnownError, NoPriceError, NoReadingError) as error:
        return Amount(name, None, unit, str(error))
    return Amount(name, value, unit, basis)


def _rent(found: Prediction, tables: CostTables) -> Cited:
    price = tables.prices.rents(found.hardware.id)[0]
    return cost_per_million_usd(price.usd_per_h, found.throughput_per_s), price.citation


def _owned(found: Prediction, tables: CostTables, place: Place) -> Cited:
    price = tables.prices.purchases(found.hardware.id)[0]
    running, electricity, pue = _running(found, tables, place)
    total = total_cost_usd(price.usd, running, place.years)
    each = total_cost_per_inference_usd(total, found.throughput_per_s, place.years, place.load_share)
    lasting = f"{place.years:g} years at {100 * place.load_share:g} % load"
    basis = "; ".join((price.citation, lasting, electricity.citation, f"PUE {pue.pue:g}", *found.energy.left_out))
    return each * MILLION, basis


def _running(found: Prediction, tables: CostTables, place: Place) -> tuple[float, Reading, Reading]:
    """Electricity of an hour, working and idle. [USD/h]"""
    electricity, pue = tables.grid.electricity(place.electricity)[0], tables.grid.pue(place.pue)[0]
    return running_cost_usd_per_h(_mean_w(found, place), electricity.usd_per_kwh, pue.pue), electricity, pue


def _mean_w(found: Prediction, place: Place) -> float:
    """Power over work and waiting, which takes the idle power that the energy counts. [W]"""
    idle_w = sum(term.each.typical for term in found.energy.terms if term.group == "static")
    return float(mean_power_w(found.power_w, place.load_share, idle_w))


def _break_even(found: Prediction, tables: CostTables, place: Place) -> Cited:
    device = found.hardware.id
    bought, rented = tables.prices.purchases(device)[0], tables.prices.rents(device)[0]
    running, _, _ = _running(found, tables, place)
    hours = float(break_even_hours(bought.usd, rented.usd_per_h, running))
    basis = "; ".join((f"electricity {running:.3g} USD/h", *found.energy.left_out))
    if math.isinf(hours):
        never = "buying never repays: an hour's electricity costs more than the rent"
        raise NotKnownError(f"{never} of {rented.citation}; {basis}")
    return hours, "; ".join((bought.citation, rented.citation, basis))


def _carbon(found: Prediction, tables: CostTables, place: Place) -> Cited:
    """Carbon of the energy of an inference, with its part of what is drawn while nothing runs."""
    intensity, pue = tables.grid.carbon(place.carbon)[0], tables.grid.pue(place.pue)[0]
    energy_j = _mean_w(found, place) / (found.throughput_per_s * place.load_share)
    each = carbon_g_per_inference(energy_j, intensity.g_per_kwh, pue.pue)
    load = [f"{100 * place.load_share:g} % load"] if place.load_share < 1 else []
    basis = "; ".join((intensity.citation, f"PUE {pue.pue:g}, {pue.place}", *load, *found.energy.left_out))
    return each * MILLION, basis


Numbers = Any
"""A scalar or an array of them."""


@dataclass(frozen=True)
class Tariff:
    """What a million inferences cost at some price: the rent of a device, or its ownership at full load."""

    kind: FactKind
    """RENT or PURCHASE."""
    price: float
    """[USD/s] of a rent, [USD] of a purchase"""
    basis: str
    """Where the price is from."""
    electricity_usd_per_kwh: float
    pue: float
    years: float
    date: str = ""
    """When the price was printed, 2025-03-03; empty for one that was given."""

    @property
    def says(self) -> str:
        """What its amounts are: `rent of 10⁶ inferences at 2.5 USD/h; as given`."""
        return f"{self._amount} at {self.kind.show(self.price)}; {self.basis}"

    @property
    def says_of_variants(self) -> str:
        """What amounts are at other prices than its own, which is that of the base."""
        own = self.kind.show(self.price)
        return f"{self._amount} at the price of each variant; that of the base is {own}; {self.basis}"

    @property
    def _amount(self) -> str:
        what = "rent" if self.kind == RENT else f"ownership over {self.years:g} years at full load"
        return f"{what} of 10⁶ inferences"

    @property
    def pays_power(self) -> bool:
        """Whether electricity is paid beside the price, as by an owner."""
        return self.kind != RENT

    def usd_per_million(self, price: Numbers, throughput_per_s: Numbers, power_w: Numbers) -> Numbers:
        """Cost of a million inferences at a price in the unit of this tariff's. [USD]"""
        if self.kind == RENT:
            return cost_per_million_usd(price * SECONDS_PER_HOUR, throughput_per_s)
        running = running_cost_usd_per_h(power_w, self.electricity_usd_per_kwh, self.pue)
        total = total_cost_usd(price, running, self.years)
        return MILLION * total_cost_per_inference_usd(total, throughput_per_s, self.years)


def tariff(device: str, tables: CostTables, text: str = "", place: Place | None = None) -> Tariff:
    """The tariff of a price, `2.5 USD/h` or `1500 USD`; of the newest rent of a device, else of its purchase.

    Raises NoPriceError for a device without a price, and PriceError for a text that is none.
    """
    where = place or Place()
    electricity, pue = tables.grid.electricity(where.electricity)[0], tables.grid.pue(where.pue)[0]
    around = (electricity.usd_per_kwh, pue.pue, where.years)
    if text:
        kind = RENT if text.strip().endswith("/h") else PURCHASE
        try:
            return Tariff(kind, kind.quantity(re.sub(r"(?<=[0-9.])(?=[A-Z])", " ", text)).value, "as given", *around)
        except ValueError as error:
            raise PriceError(f"price: {error}; a rent is in USD/h, a purchase in USD") from error
    try:
        rent = tables.prices.rents(device)[0]
        return Tariff(RENT, rent.fact.value, _origin(rent), *around, rent.date)
    except NoPriceError:
        bought = tables.prices.purchases(device)[0]
        return Tariff(PURCHASE, bought.fact.value, _origin(bought), *around, bought.date)


def _origin(price: Price) -> str:
    """Where a price is from, without the price."""
    return price.citation.partition(", ")[2]


# ---- Formulas; each works on scalars and on arrays


def cost_per_inference_usd(price_usd_per_h: Numbers, throughput_per_s: Numbers) -> Numbers:
    """Rent of the time that one inference takes. [USD]"""
    return price_usd_per_h / SECONDS_PER_HOUR / throughput_per_s


def cost_per_million_usd(price_usd_per_h: Numbers, throughput_per_s: Numbers) -> Numbers:
    """Rent of the time that a million inferences take. [USD]"""
    return MILLION * cost_per_inference_usd(price_usd_per_h, throughput_per_s)


def facility_energy_kwh(energy_j: Numbers, pue: Numbers = 1.0) -> Numbers:
    """Energy at the meter of the building, for energy at the plug of the computer. [kWh]

    PUE is the first over the second, ISO/IEC 30134-2.
    """
    return energy_j * pue / JOULES_PER_KWH


def energy_cost_usd(energy_j: Numbers, electricity_usd_per_kwh: Numbers, pue: Numbers = 1.0) -> Numbers:
    """What energy at the plug costs at the meter. [USD]"""
    return facility_energy_kwh(energy_j, pue) * electricity_usd_per_kwh


def mean_power_w(power_w: Numbers, load_share: Numbers = 1.0, idle_power_w: Numbers = 0.0) -> Numbers:
    """Power over a time of which a share is work and the rest is waiting. [W]"""
    return power_w * load_share + idle_power_w * (1 - load_share)


def running_cost_usd_per_h(power_w: Numbers, electricity_usd_per_kwh: Numbers, pue: Numbers = 1.0) -> Numbers:
    """Electricity of an hour at a mean power. [USD/h]"""
    return energy_cost_usd(power_w * SECONDS_PER_HOUR, electricity_usd_per_kwh, pue)


def total_cost_usd(purchase_usd: Numbers, running_usd_per_h: Numbers, years: Numbers) -> Numbers:
    """Total cost of ownership: purchase and electricity over some years. [USD]"""
    return purchase_usd + running_usd_per_h * years * HOURS_PER_YEAR


def lifetime_inferences(throughput_per_s: Numbers, years: Numbers, load_share: Numbers = 1.0) -> Numbers:
    """Inferences of a device that works a share of some years. [1]"""
    return throughput_per_s * load_share * years * HOURS_PER_YEAR * SECONDS_PER_HOUR


def total_cost_per_inference_usd(
    total_usd: Numbers, throughput_per_s: Numbers, years: Numbers, load_share: Numbers = 1.0
) -> Numbers:
    """Total cost of ownership over the inferences of those years. [USD]"""
    return total_usd / lifetime_inferences(throughput_per_s, years, load_share)


def break_even_hours(purchase_usd: Numbers, rent_usd_per_h: Numbers, running_usd_per_h: Numbers = 0.0) -> Numbers:
    """Hours of use after which buying costs less than renting; infinite where an hour's power costs the rent. [h]"""
    purchase, saving = np.broadcast_arrays(
        np.asarray(purchase_usd, dtype=float), np.asarray(rent_usd_per_h - running_usd_per_h, dtype=float)
    )
    return np.divide(purchase, saving, out=np.full(purchase.shape, np.inf), where=saving > 0)[()]


def carbon_g_per_inference(energy_j: Numbers, grid_g_per_kwh: Numbers, pue: Numbers = 1.0) -> Numbers:
    """Carbon of the electricity of one inference. [g CO2e]

    ISO/IEC 21031, Software Carbon Intensity: E × I, with the building's share in E, and without M, making the device.
    """
    return facility_energy_kwh(energy_j, pue) * grid_g_per_kwh
