"""`power: tensor_core bf16`, `power: hbm3e`: what a device drew at a rate, against the interval that physics gives.

The interval is that of `rooflint tdp registry`, at the measured rate. A power within it agrees; of one outside, the
nearer end is what was obtained.
"""

from collections.abc import Iterator

from pytest_rooflint.claims.working import (
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
    """Refuse a subject that is no unit and precision and no memory, and a rate that is of something else."""
    check_device(claim)
    check_moved(claim)
    moves = is_memory(claim)
    if not moves:
        unit_precision(claim.subject)
    elif any(claim.option(name) is not None for name in MOVED):
        raise ClaimError(f"'{claim.subject}' is a memory, whose rate says what is moved; remove {' and '.join(MOVED)}")
    if quantity(claim, "rate", BYTES_PER_S if moves else OPS_PER_S) is None:
        raise ClaimError(
            f"want the rate that was measured with it, such as 'rate: {'1.2 TB/s' if moves else '620 TFLOP/s'}'"
        )


def is_memory(claim: Claim) -> bool:
    """Whether it speaks of a memory alone, and not of a unit in a precision."""
    return len(claim.subject.split()) == 1


def calculated(claim: Claim, context: Context) -> WorkPower:
    """What physics says of the work that was measured."""
    if not is_memory(claim):
        return drawn(claim, context, quantity(claim, "rate", OPS_PER_S) or 0.0)
    hardware = context.device(claim)
    fastest = hardware.main_memory().name
    if claim.subject != fastest:
        raise ClaimError(f"want the fastest memory of {hardware.id}, {fastest}; found '{claim.subject}'")
    moved = quantity(claim, "rate", BYTES_PER_S) or 0.0
    return of_work(hardware, Work(least_bytes_per_s=moved, most_bytes_per_s=moved), context)


def obtain(claim: Claim, context: Context) -> Obtained:
    """The power within the interval that is nearest to the measured one."""
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
    """Why a power may lie outside."""
    if measured_w < draw.low_w:
        yield f"{_watts(measured_w)} lies below the lowest: an energy is too high, or the rate"
    else:
        yield f"{_watts(measured_w)} lies above the highest: an energy or the rate is too low, or a part is missing"
    yield from draw.left_out


def _watts(value: float) -> str:
    return format_quantity(value, WATTS, digits=3)


KIND = Kind(
    "power",
    "what a device drew at a measured rate of a unit or of its memory, within what physics says of that rate",
    obtain,
    WATTS,
    scopes=(),
    inferred=True,
    check=check,
    slug=slug_of_work,
    options={
        **HARDWARE,
        **MOVED,
        "rate": {"type": "string", "description": "the rate that was measured with it: 620 TFLOP/s, 7.3 TB/s"},
        "ran": {"type": "string", "description": "what ran, in a few words"},
    },
)
