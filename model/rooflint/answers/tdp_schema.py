"""The shape of what `rooflint tdp estimate --format json` writes. SI base units are in the names."""

from typing import Annotated, Literal

from pydantic import Field

from rooflint.answers.schema import GradeName
from rooflint.schema import Strict

Positive = Annotated[float, Field(gt=0)]


class FactorRecord(Strict):
    """One factor of a ladder, in base units; without a document where it is a convention or was asked for."""

    name: str
    value: float
    shown: str
    document: str | None
    where: str | None
    grade: GradeName | None


class ArithmeticRecord(Strict):
    """A multiply and an add as published, or carried to the node."""

    low_j_per_mac: float
    typical_j_per_mac: float
    high_j_per_mac: float
    said: str
    grade: GradeName


class TdpCaseRecord(Strict):
    """One estimate."""

    precision: str
    circuit: str
    process: str
    alus: int
    macs_per_clock: Positive
    """Of one ALU in this precision."""
    clock_hz: Positive
    energy_j_per_mac: Positive
    power_w: Positive
    ops_per_s: Positive
    ops_per_j: Positive
    arithmetic_w: Positive


class TdpLadderRecord(Strict):
    """The first estimate, factor by factor."""

    energy_per_mac: list[FactorRecord]
    macs_per_s: list[FactorRecord]
    grade: GradeName
    arithmetic: ArithmeticRecord


class TdpComparisonRecord(Strict):
    """The estimates of one comparison, at every count of ALUs and every clock."""

    by: Literal["precisions", "circuits", "processes"]
    estimates: list[TdpCaseRecord]


class TdpEstimateRecord(Strict):
    """`rooflint tdp estimate -f json`."""

    schema_: Annotated[Literal["rooflint.tdp.estimate/1"], Field(alias="schema")]
    hold: Literal["alus", "width"]
    estimates: list[TdpCaseRecord]
    """What was asked for, at every count of ALUs and every clock."""
    ladder: TdpLadderRecord
    comparisons: list[TdpComparisonRecord]
    caveats: list[str]
