"""Op: one row of a workload's table. Its fields are the columns, in the order of the committed files."""

from typing import NamedTuple


class Op(NamedTuple):
    """One row of the table; its fields are the columns. Counts are for the whole batch."""

    name: str
    """Where it is: the module path (`layer1.0.conv1`)."""
    kind: str
    """What it is: conv2d, linear, attention, batch_norm, relu, add, …"""
    macs: int = 0
    """Multiply-accumulates = m·n·k·groups. [MAC]"""
    other_ops: int = 0
    """Arithmetic that is not part of a multiply-accumulate. [op]"""
    elements_in: int = 0
    """Activations read."""
    elements_weight: int = 0
    """Parameters and other constants read: they do not grow with the batch."""
    elements_out: int = 0
    """Activations written."""
    m: int = 0
    """As a matrix product: rows of the result, that is positions (times batch where weights are shared)."""
    n: int = 0
    """Columns of the result, that is output channels of one group."""
    k: int = 0
    """Length of the sum of products."""
    groups: int = 0
    """Independent products of that shape; 0 where the op is no matrix product."""


COLUMNS = Op._fields
QUANTITIES = COLUMNS[2:]
TABLE = ("op_names", "kinds", *QUANTITIES)
"""The same as they are called in a Workload."""
