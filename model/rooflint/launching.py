"""Launching: what a launch is taken to cost a device, where its own vendor published it and where only others did."""

from rooflint.coefficient import Coefficient, of_spread
from rooflint.coefficients import Coefficients
from rooflint.hardware import Hardware

FREE = "free"
"""A way of launching that costs nothing: the plain roofline."""


def overhead(hardware: Hardware, coefficients: Coefficients, launch: str) -> Coefficient | None:
    """Time that a launch costs: the device's own, else its vendor's, else another vendor's of its kind. [s]

    None where it is free, and where nobody published one. Raises UnknownCoefficientError for a mode that there is not.
    """
    if launch == FREE:
        return None
    found = coefficients.launch_overhead(hardware, launch)
    found = found or coefficients.launches().of_kind(hardware.kind, launch)
    return of_spread(found) if found else None
