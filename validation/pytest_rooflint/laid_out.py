"""Figures of how a workload is laid out on a device, op by op, and which op a claim means."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint.allocation import Allocation
from rooflint.errors import RooflintError

#: Figures of each op by name.
FIGURES: dict[str, Callable[[Allocation], NDArray[Any]]] = {
    "utilization": lambda allocation: allocation.utilization,
    "units": lambda allocation: allocation.units,
    "blocks": lambda allocation: allocation.blocks,
    "waves": lambda allocation: allocation.waves,
    "last_units": lambda allocation: allocation.last_units,
}


class WhichOpError(RooflintError):
    """A figure of one op, where the claim does not say of which, or of one that its workload does not have."""


def op_of(allocation: Allocation, figure: NDArray[Any], wanted: str | None = None) -> int:
    """Row of the op that is meant: the one of that name, or any one where all have the same figure.

    Raises WhichOpError where they differ, and for a name that no op has.
    """
    names = allocation.op_names.tolist()
    if wanted is not None:
        if wanted not in names:
            raise WhichOpError(f"{allocation.workload} has no op '{wanted}' (has: {', '.join(names[:6])}, …)")
        return int(names.index(wanted))
    differs = np.asarray(figure != figure[0])
    if differs.any():
        other = int(differs.argmax())
        raise WhichOpError(
            f"the ops of {allocation.workload} differ: {names[0]} {allocation.display(0)}, "
            f"{names[other]} {allocation.display(other)}; say 'op:'"
        )
    return 0
