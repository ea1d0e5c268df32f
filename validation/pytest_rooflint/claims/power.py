"""`power: tensor_core bf16`, `power: hbm3e`: a measured power must lie within the calculated range at its rate.

The range is that of `rooflint tdp registry` at the measured rate. Outside of it, the obtained value is the nearer end.
"""

from collections.abc import Iterator

from pytest_rooflint.claims.measured_work import (
    HARDWARE,
    MOVED,
    check_device,
    check_moved,
    drawn,
    of_work,
    quantity,
    slug_of_work,
)
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import ClaimError, Context, Kind, Obtained, unit_precision
from rooflint.base.text import row
from rooflint.base.units import BYTES_PER_S, OPS_PER_S, WATTS, format_quantity
from rooflint.energy.power import Work, WorkPower


def check(claim: Claim) -> None:
    """Refuse a subject other than a unit with a precision or a memory, and a rate of another dimension."""
    check_device(claim)
    check_moved(claim)
    moves = is_memory(claim)
    if not moves:
        unit_precision(claim.subject)
    elif any(claim.option(name) is not None for name in MOVED):
        raise ClaimError(f"'{claim.subject}' is a memory, so its rate is the traffic; remove {' and '.join(MOVED)}")
    if quantity(claim, "rate", BYTES_PER_S if moves else OPS_PER_S) is None:
        raise ClaimError(
            f"want the rate at which the power was measured, such as 'rate: {'1.2 TB/s' if moves else '620 TFLOP/s'}'"
        )


def is_memory(claim: Claim) -> bool:
    """Whether the subject is a memory, not a unit with a precision."""
    return len(claim.subject.split()) == 1


def calculated(claim: Claim, context: Context) -> WorkPower:
    """The calculated power at the measured rate."""
    if not is_memory(claim):
        return drawn(claim, context, quantity(claim, "rate", OPS_PER_S) or 0.0)
    hardware = context.device(claim)
    fastest = hardware.main_memory().name
    if claim.subject != fastest:
        raise ClaimError(f"want the fastest memory of {hardware.id}, {fastest}; found '{claim.subject}'")
    moved = quantity(claim, "rate", BYTES_PER_S) or 0.0
    return of_work(hardware, Work(least_bytes_per_s=moved, most_bytes_per_s=moved), context)


def obtain(claim: Claim, context: Context) -> Obtained:
    """The power within the calculated range that is nearest to the measured one."""
    draw = calculated(claim, context)
    measured = claim.expectation.value if claim.expectation else 0.0
    value = min(max(measured, draw.low_w), draw.high_w)
    ends = " … ".join(_watts(end) for end in (draw.low_w, draw.high_w))
    return Obtained(
        value=value,
        dimension=WATTS,
        formula=f"{ends}, typically {_watts(draw.typical_w)}",
        facts=draw.facts,
        hardware=draw.hardware,
        unit=draw.work.unit or None,
        precision=draw.work.precision or None,
        details="" if value == measured else "\n".join(row("", "", said) for said in _outside(draw, measured)),
    )


def _outside(draw: WorkPower, measured_w: float) -> Iterator[str]:
    """Why a power may lie outside its range."""
    if measured_w < draw.low_w:
        yield f"{_watts(measured_w)} is below the range: an energy or the rate is too high"
    else:
        yield f"{_watts(measured_w)} is above the range: an energy or the rate is too low, or a part is missing"
    yield from draw.left_out


def _watts(value: float) -> str:
    return format_quantity(value, WATTS, digits=3)


KIND = Kind(
    "power",
    "the measured power of a device at a rate of a unit or its memory, within the calculated range",
    obtain,
    WATTS,
    scopes=(),
    inferred=True,
    check=check,
    slug=slug_of_work,
    options={
        **HARDWARE,
        **MOVED,
        "rate": {"type": "string", "description": "the rate at which it was measured: 620 TFLOP/s, 7.3 TB/s"},
        "ran": {"type": "string", "description": "the workload, in a few words"},
    },
)
