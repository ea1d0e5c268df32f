"""Claims about money and carbon: one row of a file of prices or of places, and what another document says of it.

price: nvidia/rtx-5090 purchase          with `date`, and for a rent `provider` and what else tells rows apart
grid: deu carbon                         with `year`, and for electricity `sector`
"""

from collections.abc import Mapping
from typing import Any

from pytest_rooflint.claims.obtained import one_fact
from pytest_rooflint.golden.kinds import Claim, ClaimError, Context, Kind, Obtained, compared, slug_of
from rooflint.base import units
from rooflint.base.facts import Fact
from rooflint.cost.rows import PRICES, READINGS, Rows
from rooflint.hardware.device import UnsupportedError

_DIMENSIONS = {
    "rent": units.DOLLARS_PER_S,
    "purchase": units.DOLLARS,
    "embodied": units.GRAMS,
    "carbon": units.GRAMS_PER_J,
    "electricity": units.DOLLARS_PER_J,
    "pue": units.DIMENSIONLESS,
}


def _text(says: str) -> dict[str, Any]:
    return {"type": "string", "description": says}


_PRICE_OPTIONS: dict[str, dict[str, Any]] = {
    "date": {"type": "string", "format": "date", "description": "the day of the row"},
    "provider": _text("who rents it out"),
    "region": _text("region of the provider"),
    "instance": _text("instance of the provider"),
    "terms": {"enum": ["on_demand", "reserved_1y", "reserved_3y", "marketplace"], "description": "terms of the rent"},
    "includes": {"enum": ["device", "kit", "server_share"], "description": "what is bought"},
    "year": {"type": "integer", "description": "the year of a row of embodied carbon"},
}
_GRID_OPTIONS: dict[str, dict[str, Any]] = {
    "year": {"type": "integer", "description": "the year of the row"},
    "sector": {"enum": ["commercial", "industrial"], "description": "who pays for the electricity"},
}


def _words(claim: Claim, kinds: Mapping[str, str]) -> tuple[str, str]:
    """Device or place, and the kind of row. Raises ClaimError."""
    words = claim.subject.split()
    if len(words) != 2 or words[1] not in kinds:
        known = ", ".join(kinds)
        raise ClaimError(f"want a name and one of {known}, found '{claim.subject}'")
    return words[0], words[1]


def _check(claim: Claim, kinds: Mapping[str, str], needed: str) -> None:
    _, kind = _words(claim, kinds)
    if claim.option(needed) is None:
        raise ClaimError(f"want '{needed}:', because prices and places have a row for each")
    wanted = _DIMENSIONS[kind]
    if claim.expectation and claim.expectation.dimension != wanted:
        found = units.measure(claim.expectation.dimension)
        raise ClaimError(f"expect: '{claim.subject}' is {units.measure(wanted)}, '{claim.expectation.text}' is {found}")


def _obtained(fact: Fact, kind: str) -> Obtained:
    ladder = one_fact(kind, fact)
    return Obtained(ladder.result, _DIMENSIONS[kind], ladder.formula, ladder.facts, ladder=ladder)


# ---- `price: nvidia/rtx-5090 purchase`


def check_price(claim: Claim) -> None:
    """Refuse an invalid subject, a row without its day, and an expectation of another dimension."""
    _check(claim, PRICES, "year" if claim.subject.endswith(" embodied") else "date")


def obtain_price(claim: Claim, context: Context) -> Obtained:
    """Look up the row. [USD/s, USD or g]. Raises NoRowError, or UnsupportedError for an unknown device."""
    device, kind = _words(claim, PRICES)
    if device not in context.registry.files:
        raise UnsupportedError(f"unknown device '{device}'")
    return _obtained(Rows.of(context.registry).price(device, kind, **claim.options), kind)


PRICE = Kind(
    "price",
    "what a device costs: one row of rent, purchase or embodied carbon",
    obtain_price,
    options=_PRICE_OPTIONS,
    check=check_price,
    modes=False,
    scopes=(),
    slug=lambda claim: slug_of(claim, *_PRICE_OPTIONS),
    about=compared,
)

# ---- `grid: deu carbon`


def check_grid(claim: Claim) -> None:
    """Refuse an invalid subject, a row without its year, and an expectation of another dimension."""
    _check(claim, READINGS, "year")


def obtain_grid(claim: Claim, context: Context) -> Obtained:
    """Look up the row. [g/J, USD/J or 1]. Raises NoRowError."""
    place, kind = _words(claim, READINGS)
    return _obtained(Rows.of(context.registry).reading(place, kind, **claim.options), kind)


GRID = Kind(
    "grid",
    "a figure of a place: one row of carbon intensity, price of electricity or PUE",
    obtain_grid,
    options=_GRID_OPTIONS,
    check=check_grid,
    modes=False,
    scopes=(),
    slug=lambda claim: slug_of(claim, *_GRID_OPTIONS),
)
