"""Schemas of the files about money and carbon: what devices cost, and what electricity costs where.

Every row carries its date or year, because prices age. Units are demanded as they are spelt, and windows are narrow
enough that a price per node of eight, cents, or kilograms where grams are wanted fall outside.
"""

import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from rooflint.base import units
from rooflint.hardware.schema import FactKind, SourcedSpec, Strict, Text, fact_of

GRAMS_PER_KG = 1000

#: The most expensive hour of one device that was found is 12.29 USD; the cheapest one 0.06.
RENT = FactKind(
    "a price per hour of one device",
    units.DOLLARS_PER_S,
    0.005 / units.SECONDS_PER_HOUR,
    20 / units.SECONDS_PER_HOUR,
    "3.22 USD/h",
    unit="USD/h",
    shown=1 / units.SECONDS_PER_HOUR,
)
Rent = fact_of(RENT)
PURCHASE = FactKind("a price of one device", units.DOLLARS, 10, 60_000, "12500 USD", unit="USD", shown=1)
Purchase = fact_of(PURCHASE)
Embodied = fact_of(
    FactKind(
        "the carbon of making one device", units.GRAMS, 50, 1000 * GRAMS_PER_KG, "164 kg", unit="kg", shown=GRAMS_PER_KG
    )
)
Carbon = fact_of(
    FactKind(
        "a carbon intensity",
        units.GRAMS_PER_J,
        0.5 / units.JOULES_PER_KWH,
        1500 / units.JOULES_PER_KWH,
        "380.9 g/kWh",
        unit="g/kWh",
        shown=1 / units.JOULES_PER_KWH,
    )
)
Electricity = fact_of(
    FactKind(
        "a price of electricity",
        units.DOLLARS_PER_J,
        0.01 / units.JOULES_PER_KWH,
        1 / units.JOULES_PER_KWH,
        "0.0892 USD/kWh",
        unit="USD/kWh",
        shown=1 / units.JOULES_PER_KWH,
    )
)
Pue = fact_of(FactKind("a PUE", units.DIMENSIONLESS, 1, 3, "1.11"))


def _date(text: str) -> str:
    try:
        date = datetime.date.fromisoformat(text)
    except ValueError:
        date = None
    if date is None or date.isoformat() != text or not 2010 <= date.year <= 2100:
        raise PydanticCustomError("fact", "{message}", {"message": f"want a date such as 2025-03-03, found '{text}'"})
    return text


Date = Annotated[str, AfterValidator(_date), WithJsonSchema({"type": "string", "format": "date"})]
Year = Annotated[int, Field(ge=2000, le=2100)]
PlaceId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)*$")]

Terms = Literal["on_demand", "reserved_1y", "reserved_3y", "marketplace"]
Scope = Literal["device", "kit", "server_share"]
Sector = Literal["commercial", "industrial"]
Accounting = Literal["average_mix", "marginal"]


class RentSpec(Strict):
    """What one hour of one device costs at a provider, on one day."""

    price: Rent  # type: ignore[valid-type]
    provider: Text
    date: Date
    region: Text | None = None
    instance: Text | None = None
    terms: Terms = "on_demand"


class PurchaseSpec(Strict):
    """What one device costs to buy: alone, in a kit, or as its share of a server."""

    price: Purchase  # type: ignore[valid-type]
    date: Date
    includes: Scope = "device"


class EmbodiedSpec(Strict):
    """What making one device emits, as CO2 equivalent: alone, or as its share of a server."""

    carbon: Embodied  # type: ignore[valid-type]
    year: Year
    includes: Scope = "device"


class CostSpec(Strict):
    """Everything that is known of one device."""

    rent: list[RentSpec] = Field(default_factory=list)
    purchase: list[PurchaseSpec] = Field(default_factory=list)
    embodied: list[EmbodiedSpec] = Field(default_factory=list)
    unsold: Text | None = None
    """Why there is no price to buy it; shown where one is asked for."""


class PricesSpec(SourcedSpec):
    """specs/prices/<any name>.yaml: what devices cost, by device id; products that are no one device apart."""

    devices: dict[Text, CostSpec] = Field(default_factory=dict)
    products: dict[Text, CostSpec] = Field(default_factory=dict)


class CarbonSpec(Strict):
    """What a kilowatt-hour emits, as CO2 equivalent, over a year."""

    intensity: Carbon  # type: ignore[valid-type]
    year: Year
    accounting: Accounting = "average_mix"


class ElectricitySpec(Strict):
    """What a kilowatt-hour costs a kind of customer, over a year."""

    price: Electricity  # type: ignore[valid-type]
    year: Year
    sector: Sector


class PueSpec(Strict):
    """Power of a data centre over that of its computers, over a year."""

    factor: Pue  # type: ignore[valid-type]
    year: Year


class PlaceSpec(Strict):
    """A country, a state, a cloud region, or a provider's fleet; `within` names the place that it lies in."""

    name: Text
    within: PlaceId | None = None
    carbon: list[CarbonSpec] = Field(default_factory=list)
    electricity: list[ElectricitySpec] = Field(default_factory=list)
    pue: list[PueSpec] = Field(default_factory=list)


class GridSpec(SourcedSpec):
    """specs/grid/<any name>.yaml: carbon intensity, price of electricity and PUE of places."""

    places: Annotated[dict[PlaceId, PlaceSpec], Field(min_length=1)]
