"""Shared by claims about measured work (`sustained`, `power`): the device, the rate, the bytes and their power."""

from typing import Any

from pytest_rooflint.golden.claim import Claim, slug
from pytest_rooflint.golden.expect import ExpectationError, parse_expectation
from pytest_rooflint.golden.kinds import ClaimError, Context, unit_precision
from rooflint.base.precision import bytes_per_element
from rooflint.base.units import BYTES_PER_S, OPS_PER_MAC, Dimension, measure
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.energy.power import Work, WorkPower, power_of
from rooflint.hardware.device import Hardware

HARDWARE: dict[str, dict[str, Any]] = {
    "hardware": {"type": "string", "description": "the device, where a file is about several"}
}
MOVED: dict[str, dict[str, Any]] = {
    "product": {
        "type": "array",
        "items": {"type": "integer", "minimum": 1},
        "minItems": 3,
        "maxItems": 3,
        "description": "m, n and k of the product that ran; each of its matrices is moved at least once",
    },
    "traffic": {"type": "string", "description": "the memory traffic that the source gives, such as 1.2 TB/s"},
}


def check_device(claim: Claim) -> None:
    """Refuse a claim that names no device. Raises ClaimError."""
    if not isinstance(claim.hardware, str):
        raise ClaimError("want the device that was measured, such as 'hardware: nvidia/t4'")


def check_moved(claim: Claim) -> None:
    """Refuse invalid sizes and an invalid traffic. Raises ClaimError."""
    product = claim.option("product")
    if product is not None and not _is_product(product):
        raise ClaimError(f"product: want m, n and k such as [8192, 8192, 8192], found {product}")
    if product is not None and claim.option("traffic") is not None:
        raise ClaimError("'product' implies a least traffic and 'traffic' gives it; keep one of the two")
    quantity(claim, "traffic", BYTES_PER_S)


def _is_product(product: object) -> bool:
    sizes = product if isinstance(product, list) else []
    return len(sizes) == 3 and all(isinstance(size, int) and not isinstance(size, bool) and size > 0 for size in sizes)


def quantity(claim: Claim, option: str, *dimensions: Dimension) -> float | None:
    """The value of an option in base units; None where it is missing. Raises ClaimError."""
    if claim.option(option) is None:
        return None
    try:
        read = parse_expectation(claim.option(option))
    except ExpectationError as error:
        raise ClaimError(f"{option}: {error}") from error
    if read.dimension not in dimensions:
        wanted = " or ".join(map(measure, dimensions))
        raise ClaimError(f"{option}: want a value {wanted}, '{read.text}' is {measure(read.dimension)}")
    return read.value


def least_bytes_per_s(claim: Claim, precision: str, ops_per_s: float) -> float:
    """The least traffic of the claim's product, each matrix once; 0 without a product. [B/s]

    m · k + k · n + m · n elements for 2 · m · n · k ops.
    """
    if claim.option("product") is None:
        return 0.0
    m, n, k = map(int, claim.option("product"))
    elements = m * k + k * n + m * n
    return ops_per_s * elements * bytes_per_element(precision) / (OPS_PER_MAC * m * n * k)


def drawn(claim: Claim, context: Context, ops_per_s: float) -> WorkPower:
    """The calculated power of the claim's unit at a rate."""
    unit, precision = unit_precision(claim.subject)
    said = quantity(claim, "traffic", BYTES_PER_S)
    least = least_bytes_per_s(claim, precision, ops_per_s) if said is None else said
    return of_work(context.device(claim), Work(unit, precision, ops_per_s, least, said), context)


def of_work(hardware: Hardware, work: Work, context: Context) -> WorkPower:
    """The calculated power of some work."""
    return power_of(hardware, work, Energies(Coefficients(context.registry)))


def slug_of_work(claim: Claim) -> str:
    """The id of such a claim: device, subject, rate and limit."""
    said = (str(claim.option(name)) for name in ("rate", "within") if claim.option(name) is not None)
    return slug("-".join((str(claim.hardware), claim.subject, *said)))
