"""Findings beyond the verdicts, as typed records: power, measurements, kernel times."""

from typing import Annotated, Literal

from pydantic import Field

from rooflint_report.verdicts import Outcome, Record, Why

# ---- power

Sustains = Literal["sustains", "cannot sustain", "undecided"]


class PowerLimit(Record):
    """What a device is rated for, with the fact that says it."""

    path: str
    value: float
    """[W]"""
    display: str


class PowerLoad(Record):
    """The load that is hardest to sustain, of those known for a device at a point."""

    device: str
    at: str | None
    """Operating point; null at the device's own."""
    unit: str
    precision: str
    limit: PowerLimit
    typical_display: str
    low_ratio: float
    """Power over its limit, lowest estimate."""
    ratio: float
    """Typical power over its limit."""
    high_ratio: float
    ratio_display: str
    ends_display: str
    verdict: Sustains
    left_out: list[str]
    exhausting_j_per_op: float | None
    """Energy of an op at which compute alone takes the limit."""
    exhausting_display: str
    fitting_clock_hz: float | None
    """The clock at which the typical power is at the limit."""
    fitting_clock_display: str
    known: int
    """Loads of the point that have an answer."""
    unknown: int
    """Loads of the point that have none."""


class PowerNotKnown(Record):
    """A device at a point of which no load has an answer."""

    device: str
    at: str | None
    reason: str


class Power(Record):
    """Whether devices sustain their printed peak within their printed power."""

    schema_: Literal["rooflint-power/2"] = "rooflint-power/2"
    sentences: list[str]
    """The counts, in sentences."""
    verdicts: dict[Sustains, int]
    """Points by the verdict on their load."""
    loads: list[PowerLoad]
    """Highest typical ratio first."""
    not_known: list[PowerNotKnown]
    caveats: list[str]
    """How to read it."""


# ---- measurements


class Named(Record):
    """A fact of a machine, or a library with its version."""

    name: str
    display: str


class TakenRecording(Record):
    """A recording: what was measured when, on which machine, under which conditions."""

    device: str
    at: str | None
    file: str
    machine: str
    taken: str
    command: str
    facts: list[Named]
    software: list[Named]
    left_out: list[Why]
    conditions: str


class MeasuredRow(Record):
    """One measurement beside its prediction by the roofline."""

    device: str
    at: str | None
    file: str
    line: int
    name: str
    kind: str
    """gemm, stream or network."""
    what: str
    precision: str | None
    library: str
    size: float | None
    """Edge of a cube with the MAC of the product."""
    best_s: float
    best_display: str
    median_s: float
    median_display: str
    spread_display: str
    samples: int
    disturbed: int
    """Samples that were disturbed."""
    conditions: str
    outcome: Literal["pass", "fail", "undecided"]
    """fail where a law is broken, pass where one of speed is kept."""
    why: str
    rate_display: str
    efficiency: float | None
    """Measured over peak rate."""
    efficiency_display: str
    predicted_s: float | None
    predicted_display: str
    bound: str | None
    ratio: float | None
    """Predicted over best measured time."""
    ratio_display: str
    power_w: float | None
    idle_w: float | None
    power_display: str
    idle_display: str
    energy_display: str
    per_w_display: str


class Measured(Record):
    """Every measurement of the recordings below golden/measured, beside what the model predicts."""

    schema_: Literal["rooflint-measured/2"] = "rooflint-measured/2"
    sentences: list[str]
    recordings: list[TakenRecording]
    rows: list[MeasuredRow]
    how: str
    """How to make a recording."""


# ---- kernel times


class SiliconClaim(Record):
    """A `prediction` claim, whether or not it could be decided."""

    subject: str
    about: str = ""
    """The subject without its regime."""
    regime: str | None = None
    bound: str
    file: str
    line: int


class SiliconErrors(Record):
    """Errors on the rows that a claim was decided on, beside those of the plain roofline."""

    regime: str
    rows: int
    error: float
    """Mean of |predicted / measured - 1|."""
    error_display: str
    bias_display: str
    """Bias: geometric mean of predicted / measured, less 1."""
    roofline_display: str
    """Error of the plain roofline."""
    roofline_bias_display: str
    bound_display: str
    """What the claim allows."""
    outcome: Outcome
    file: str
    line: int


class SiliconScore(SiliconErrors):
    """Errors on a family of devices that the constants were fitted without."""

    topic: str
    precision: str
    family: str
    devices: list[str]


class SiliconPublished(SiliconErrors):
    """Errors on a published table."""

    table: str
    title: str
    device: str
    op: str
    precision: str
    document: str
    timing: str
    """What the clock of the table saw: graph, kernel or host."""


class SiliconWhole(Record):
    """A claim about all measured devices together."""

    subject: str
    outcome: Outcome
    obtained: str
    expected: str
    formula: str | None


_Fineness = Annotated[int, Field(gt=0, le=200)]
_Bin = Annotated[int, Field(ge=-10_000, le=10_000)]


class SiliconBins(Record):
    """How fine the bins are; ratios beyond `farthest` are counted at the edge."""

    per_decade: _Fineness
    """Of predicted and measured time."""
    ratio_per_decade: _Fineness
    """Of predicted over measured time."""
    under_per_decade: _Fineness
    """Of the measured time below the ratios."""
    farthest: Annotated[float, Field(gt=1, le=1e6)]
    near: Annotated[float, Field(gt=0, lt=1)]
    """The error that `near_display` is about."""


class SiliconColumn(Record):
    """Rows in bins above each other."""

    x: _Bin
    """Bin of the measured time."""
    y: _Bin
    """First bin of the predicted time, or of the ratio."""
    counts: Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=20_000)]
    """Rows in bin y, y + 1, …"""


class SiliconDensity(Record):
    """Matrix products of a device: predicted over measured time, and their ratio, as counts of bins."""

    device: str
    name: str
    family: str
    rows: int
    near_display: str
    """Share of rows with an error below `near`."""
    times: list[SiliconColumn]
    ratios: list[SiliconColumn]


class SiliconWorst(Record):
    """A matrix product with one of the largest errors of its family; no two of them are neighbours."""

    family: str
    device: str
    shape: str
    measured_display: str
    predicted_display: str
    ratio: float
    """Predicted over measured."""
    ratio_display: str
    bound: str
    kernel: str
    around: int
    """Measured shapes in its neighbourhood."""
    around_display: str
    """Their error."""
    like: str
    """The change of the model that would explain the time."""
    try_: str
    """A command to look into it."""


class SiliconMissing(Record):
    """Devices without a calibrated kernel time, by the reason."""

    why: str
    devices: list[str]


class SiliconNotKnown(Record):
    """Ops, devices and tables without a calibrated kernel time."""

    ops: list[Why]
    gpus: list[SiliconMissing]
    of: int
    """All GPUs."""
    others: int
    """Devices that are not GPUs."""
    tables: list[Why]


class Silicon(Record):
    """Calibrated kernel times beside measurements that their constants have not seen."""

    schema_: Literal["rooflint-silicon/2"] = "rooflint-silicon/2"
    sentences: list[str]
    how: str
    """How to have these claims decided."""
    why_not: list[str]
    """Why claims were not decided."""
    claimed: list[SiliconClaim]
    measurements: str | None
    """The package of measurements with its version; null if it was not read."""
    scores: list[SiliconScore]
    published: list[SiliconPublished]
    whole: list[SiliconWhole]
    bins: SiliconBins
    densities: list[SiliconDensity]
    worst: list[SiliconWorst]
    waits: dict[str, str]
    """Terms of a kernel time, with what each waits for."""
    left_out: list[Why]
    """Families of which the measurements could not be read."""
    not_known: SiliconNotKnown
    caveats: list[str]


# ---- benchmarks beside a committed baseline


class MeasuredTimes(Record):
    """Least times of benchmarks on one machine."""

    machine: str
    """Only times of one machine are compared."""
    canary: str | None
    """The name of what no commit changes, so that it tells a slower machine from a slower program."""
    seconds: dict[str, float]
    """By the name of the benchmark, the canary's among them. [s]"""


class BenchmarkRow(Record):
    """One benchmark, now and in the baseline."""

    name: str
    base_display: str | None
    """null for one that the baseline has not."""
    now_display: str
    factor: float | None
    """Least time now over that of the baseline, divided by the same of the canary."""
    factor_text: str
    outcome: Literal["faster", "same", "slower", "new"]


class Benchmarks(Record):
    """What `tox run -e measure` timed, beside the committed baseline of the same machine."""

    times: MeasuredTimes
    baseline: str | None
    """The file; null where the machine has none, so that nothing is validated here."""
    canary: float | None
    """By what factor the canary is slower than in the baseline."""
    threshold: float
    """Factor from which a benchmark is slower, or faster. [1]"""
    rows: list[BenchmarkRow]
    """Slower ones first."""
    gone: list[str]
    """What the baseline has and this run has not."""
    text: str

    @property
    def is_red(self) -> bool:
        """Whether something is slower, or was not timed any more."""
        return bool(self.gone) or any(one.outcome == "slower" for one in self.rows)
