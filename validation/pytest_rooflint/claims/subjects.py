"""What several kinds have in common: reading `unit precision`, summing ladders, options."""

from typing import Any

from pytest_rooflint.claim import Claim
from pytest_rooflint.kinds import ClaimError
from rooflint.launches import MODES
from rooflint.launching import FREE
from rooflint.precision import UnknownPrecisionError, precision

SPARSE = {"sparse": {"type": "boolean", "description": "with structured sparsity: the dense figure times its factor"}}
PER = {"per": {"type": "string", "description": "of one of the equal parts of the device: gcd, core"}}
STORED = {"storage": {"type": "string", "description": "precision of what is moved; by default the same"}}
STORAGE = {"compute": {"type": "string", "description": "precision of the arithmetic"}, **STORED}
FIDELITY: dict[str, dict[str, Any]] = {
    "fidelity": {"enum": ["roofline", "silicon"], "description": "whose times: the plain roofline's unless said"},
    "launch": {
        "type": "string",
        "description": "with fidelity: silicon; stream unless said, or graph, free, framework",
    },
}
WORKLOAD = {
    "workload": {"type": ["string", "object"], "description": "a network, or gemm / conv2d / mlp with parameters"}
}


def unit_precision(text: str) -> tuple[str, str]:
    """`tensor_core int8` → unit and precision. Raises ClaimError."""
    words = text.split()
    if len(words) != 2:
        raise ClaimError(f"want a unit and a precision such as 'tensor_core int8', found '{text}'")
    try:
        return words[0], precision(words[1]).name
    except UnknownPrecisionError as error:
        raise ClaimError(str(error)) from error


def terms(text: str) -> list[tuple[str, str]]:
    """`tensor_core int8 + dla int8` → its terms. Raises ClaimError."""
    return [unit_precision(term) for term in text.split(" + ")]


def halves(text: str, sign: str = " / ") -> tuple[str, str]:
    """`a / b` → a and b. Raises ClaimError."""
    parts = text.split(sign)
    if len(parts) != 2:
        raise ClaimError(f"want two things with '{sign.strip()}' between them, found '{text}'")
    return parts[0].strip(), parts[1].strip()


def check_flag(claim: Claim, name: str) -> None:
    """An option that is yes or no. Raises ClaimError."""
    if not isinstance(claim.option(name, False), bool):
        raise ClaimError(f"{name}: want true or false, found '{claim.option(name)}'")


def check_fidelity(claim: Claim) -> None:
    """Silicon is of devices as they are documented, and a way of launching is silicon's. Raises ClaimError."""
    fidelity = claim.option("fidelity", "roofline")
    if fidelity not in FIDELITY["fidelity"]["enum"]:
        raise ClaimError(f"fidelity: want roofline or silicon, found '{fidelity}'")
    if fidelity == "silicon" and claim.given:
        raise ClaimError("fidelity: silicon is of documented devices; what is replayed under 'given:' is a roofline")
    if fidelity != "silicon" and claim.option("launch") is not None:
        raise ClaimError("launch: the plain roofline has its launches from the device; say fidelity: silicon")
    ways = (*MODES, FREE)
    if claim.option("launch", FREE) not in ways:
        raise ClaimError(f"launch: want one of {', '.join(ways)}; found '{claim.option('launch')}'")


def check_precisions(claim: Claim) -> None:
    """Options that name a precision name one that exists. Raises ClaimError."""
    for option in ("compute", "storage"):
        try:
            precision(str(claim.option(option, "int8")))
        except UnknownPrecisionError as error:
            raise ClaimError(f"{option}: {error}") from error
