"""The shape of what `rooflint tdp registry -f json` writes, exported as JSON Schema for other programs.

SI base units are in the names; null is what nobody knows.
"""

from typing import Annotated, Literal

from pydantic import Field

from rooflint.schema import Strict

Amount = Annotated[float, Field(ge=0)]
GradeName = Literal["read", "device", "quoted", "recalled", "estimate"]
VerdictName = Literal["sustains", "cannot sustain", "undecided"]


class PowerSourceRecord(Strict):
    """A fact that a part of the power rests on."""

    fact: str
    value: str
    document: str
    where: str
    grade: GradeName


class PowerRecord(Strict):
    """One cause of power: events a second × what one costs."""

    name: str
    cause: Literal["compute", "memory", "static"]
    rate_per_s: Amount
    unit: str
    each_low_j: Amount
    each_j: Amount
    each_high_j: Amount
    low_w: Amount
    typical_w: Amount
    high_w: Amount
    said: str
    grade: GradeName
    sources: list[PowerSourceRecord]


class SustainedRecord(Strict):
    """Units of a device at their dense peak, beside the power that it is rated for."""

    device: str
    name: str
    kind: str
    operating_point: str | None
    unit: str
    precision: str
    peak_ops_per_s: Amount
    limit_w: Amount
    limit: Literal["tdp", "powers.limit", "powers.measured_max"]
    low_w: Amount
    typical_w: Amount
    high_w: Amount
    low_ratio: Amount
    ratio: Amount
    high_ratio: Amount
    verdict: VerdictName
    grade: GradeName
    left_out: list[str]
    j_per_op: Amount
    exhausting_j_per_op: Amount
    exhausting_j_per_mac: Amount
    clock_hz: Amount
    fitting_clock_hz: Amount | None
    powers: list[PowerRecord]


class NotKnownRecord(Strict):
    """A device, or a load of it, of which nobody can tell; unit and precision are null where it is so of the device."""

    device: str
    unit: str | None
    precision: str | None
    reason: str


class TdpRegistryRecord(Strict):
    """`rooflint tdp registry -f json`."""

    schema_: Annotated[Literal["rooflint.tdp.registry/1"], Field(alias="schema")]
    precision: str | None
    unit: str | None
    verdicts: dict[VerdictName, int]
    loads: list[SustainedRecord]
    not_known: list[NotKnownRecord]
    caveats: list[str]
