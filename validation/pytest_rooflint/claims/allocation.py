"""`allocation: a` with an `expect` claims how a workload occupies a device's units, `allocation: a <= b` an order."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_rooflint.golden.kinds import WORKLOAD, Claim, ClaimError, Context, Kind, Obtained, check_precisions, slug_of
from pytest_rooflint.golden.replay import FIGURES, op_of
from rooflint.base.precision import precision
from rooflint.base.units import DIMENSIONLESS
from rooflint.mapping.allocate import LAYOUTS, allocate
from rooflint.mapping.allocation import Allocation

_SIGN = re.compile(r"\s*<=\s*")
_TILE = re.compile(r"([1-9]\d{0,5})x([1-9]\d{0,5})")


def check_allocation(claim: Claim) -> None:
    """Refuse a subject other than devices with '<=' between them, and invalid options."""
    if claim.given:
        raise ClaimError("under 'given:' write a figure instead: units, blocks or utilization of a label")
    names = _SIGN.split(claim.subject)
    if not all(names) or len(set(names)) < len(names):
        raise ClaimError(f"want devices with '<=' between them, each once; found '{claim.subject}'")
    if claim.option("compute") is None:
        raise ClaimError("an allocation needs 'compute:', the precision of the arithmetic")
    check_precisions(claim)
    for option, known in (("of", tuple(FIGURES)), ("layout", LAYOUTS)):
        if claim.option(option, known[0]) not in known:
            raise ClaimError(f"{option}: want one of {', '.join(known)}, found '{claim.option(option)}'")
    if claim.option("tile") is not None and not _TILE.fullmatch(str(claim.option("tile"))):
        raise ClaimError(f"tile: want rows x columns such as 256x128, found '{claim.option('tile')}'")


def obtain_allocation(claim: Claim, context: Context) -> Obtained:
    """Allocate the workload on each device; neighbours of an order are compared op by op."""
    names = _SIGN.split(claim.subject)
    allocations = [_allocation(claim, context, name) for name in names]
    figures = [FIGURES[str(claim.option("of", "utilization"))](one) for one in allocations]
    ordered = all(bool(np.all(low <= high)) for low, high in pairwise(figures))
    op = op_of(allocations[0], figures[0], claim.option("op")) if claim.expectation else 0
    return Obtained(
        value=float(figures[0][op]),
        dimension=DIMENSIONLESS,
        display="" if claim.expectation else _beside(names, allocations, figures),
        formula=f"{allocations[0].display(op)}: {allocations[0].reason(op)}",
        facts=tuple(fact for one in allocations for fact in one.facts),
        holds=None if claim.expectation else ordered,
        expected=claim.subject,
        others=tuple(names),
        precision=allocations[0].compute,
    )


def _beside(names: Sequence[str], allocations: Sequence[Allocation], figures: Sequence[NDArray[Any]]) -> str:
    """The devices of an order at the op that breaks it, or at the first: `jetson@15w 6/6 SM, jetson@30w 8/8 SM`."""
    falls = np.any([low > high for low, high in pairwise(figures)], axis=0)
    op = int(falls.argmax())
    shown = ", ".join(
        f"{name.rpartition('/')[2]} {one.display(op)}" for name, one in zip(names, allocations, strict=True)
    )
    return f"{allocations[0].op_names[op]}: {shown}"


def _allocation(claim: Claim, context: Context, name: str) -> Allocation:
    tile = _TILE.fullmatch(str(claim.option("tile")))
    return allocate(
        context.device(claim, name),
        context.workload(claim),
        compute=precision(str(claim.option("compute"))).name,
        layout=str(claim.option("layout", LAYOUTS[0])),
        tile=(int(tile[1]), int(tile[2])) if tile else None,
    )


ALLOCATION = Kind(
    "allocation",
    "share of a device's units that are active on the ops of a workload, or an order of devices by it",
    obtain_allocation,
    DIMENSIONLESS,
    expects=lambda subject: "<=" not in subject,
    scopes=(),
    inferred=True,
    check=check_allocation,
    slug=lambda claim: slug_of(claim, "of", "op", "layout", "tile"),
    options={
        **WORKLOAD,
        "compute": {"type": "string", "description": "precision of the arithmetic"},
        "of": {"enum": list(FIGURES), "description": "the figure; utilization by default"},
        "op": {"type": "string", "description": "the op, where the ops of a workload differ"},
        "layout": {"enum": list(LAYOUTS), "description": "packed: warps fill one group after the other"},
        "tile": {"type": "string", "description": "output tile of a GPU, rows x columns: 256x128"},
    },
)
