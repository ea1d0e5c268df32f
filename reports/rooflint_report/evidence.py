"""evidence.json: its shape, and the door through which it is read."""

from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

SCHEMA = "rooflint-evidence/1"

Outcome = Literal["pass", "fail", "xfail", "not validated here", "undecided"]


class EvidenceError(Exception):
    """The file cannot be rendered; the message is one sentence that begins with its path."""


class Commit(TypedDict):
    """The state of the repository that ran."""

    commit: str
    branch: str | None
    dirty: bool


class Run(TypedDict):
    """When, how and on which commit the suite ran; `duration_s` in seconds."""

    started: str
    duration_s: float
    command: str
    exit_status: int
    git: Commit | None
    versions: dict[str, str | None]
    ci: dict[str, Any] | None


Counts = TypedDict(
    "Counts",
    {
        "pass": int,
        "fail": int,
        "xfail": int,
        "not validated here": int,
        "undecided": int,
        "uncorroborated": int,
        "claims": int,
        "devices": int,
        "replays": NotRequired[int],
        "loose": NotRequired[int],
        "stale": NotRequired[int],
    },
)


class Problem(TypedDict):
    """A closed-world failure or a file that cannot be read."""

    what: str
    file: str | None
    line: int | None


class Source(TypedDict):
    """Who printed a figure, and where."""

    document: str
    where: str | None
    grade: str | None


class Expected(TypedDict):
    """What the source printed; `value`, `low`, `high` in SI, `display` with its unit."""

    text: str
    value: float | None
    low: float | None
    high: float | None
    display: str
    source: Source | None


class Stale(TypedDict):
    """Why a tolerance is wider than it has to be, and what to write; empty where it can go."""

    text: str
    write: str


class Tolerance(TypedDict):
    """How far from the printed figure still agrees; `printed` is what the digits alone allow."""

    kind: str
    text: str
    why: str | None
    printed: NotRequired[str]
    loose: NotRequired[bool]
    stale: NotRequired[Stale | None]


class Obtained(TypedDict):
    """What the model derives, with the product that yields it; `details` are lines of a red one."""

    value: float | None
    display: str
    formula: str | None
    details: NotRequired[list[str]]


class Involved(TypedDict):
    """A fact that a verdict rests on."""

    path: str
    display: str
    grade: str | None
    document: str | None
    where: str | None
    file: str | None
    line: int | None


class Cause(TypedDict):
    """A ranked explanation of a ratio; its repair, where it was tried out, mends reds and breaks greens."""

    text: str
    factor: float | None
    factor_text: str | None
    file: str | None
    line: int | None
    repair: str | None
    mends: NotRequired[int | None]
    breaks: NotRequired[int | None]


Place = TypedDict(
    "Place",
    {
        "file": str,
        "line": int | None,
        "path": str,
        "from": str,
        "to": str | None,
        "mends": int,
        "breaks": int,
        "reds": int,
        "ids": list[str],
    },
)


class Verdict(TypedDict):
    """One claim met by the model."""

    id: str
    nodeid: str
    outcome: Outcome
    kind: str
    subject: str
    hardware: str | None
    others: list[str]
    unit: str | None
    precision: str | None
    at: str | None
    file: str
    line: int
    note: str | None
    reason: str | None
    until: NotRequired[str | None]
    corroborated: bool
    replay: bool
    expected: Expected | None
    tolerance: Tolerance | None
    obtained: Obtained | None
    ratio: float | None
    ratio_text: str | None
    slack: float | None
    facts: list[Involved]
    causes: list[Cause]
    rerun: str
    headline: NotRequired[str]
    sparse: NotRequired[bool]


class Document(TypedDict):
    """A source as a device lists it."""

    document: str
    grade: str | None
    url: str | None


class Factor(TypedDict):
    """One rung of a ladder; a convention such as 2 op/MAC has no source."""

    name: str
    display: str
    path: str | None
    source: str | None
    grade: str | None
    where: str | None
    file: str | None
    line: int | None


class Published(TypedDict):
    """A figure that a golden file holds against a derived one."""

    display: str
    document: str | None
    grade: str | None
    where: str | None
    sparse: bool
    kind: NotRequired[str]
    outcome: Outcome
    corroborated: NotRequired[bool]
    ratio: float | None
    file: str
    line: int


class Peak(TypedDict):
    """Dense peak of one unit at one precision; `value` in op/s."""

    unit: str
    precision: str
    at: str | None
    value: float | None
    display: str
    sparse_display: str | None
    formula: str | None
    factors: list[Factor]
    weakest_grade: str | None
    published: list[Published]


class Memory(TypedDict):
    """One memory of a device."""

    name: str
    bandwidth_display: str | None
    capacity_display: str | None
    formula: str | None
    factors: list[Factor]
    published: list[Published]


class Fact(TypedDict):
    """Any other fact of a device."""

    path: str
    display: str
    source: str | None
    grade: str | None
    where: str | None
    file: str | None
    line: int | None


class Override(TypedDict):
    """A fact that an operating point changes."""

    path: str
    display: str
    source: str | None
    grade: str | None
    where: str | None


class PointPeak(TypedDict):
    """A peak at an operating point."""

    unit: str
    precision: str
    display: str


class OperatingPoint(TypedDict):
    """A power mode or the like."""

    name: str
    overrides: list[Override]
    peaks: list[PointPeak]


class Undisclosed(TypedDict):
    """What the vendor does not say."""

    path: str
    reason: str


class Device(TypedDict):
    """One device with all its facts and what follows from them."""

    id: str
    name: str
    kind: str
    architecture: str | None
    scope: str | None
    die: str | None
    process: str | None
    tdp: str | None
    launched: int | None
    notes: str | None
    file: str
    sources: dict[str, Document]
    peaks: list[Peak]
    memories: list[Memory]
    facts: list[Fact]
    operating_points: list[OperatingPoint]
    undisclosed: list[Undisclosed]


class Cell(TypedDict):
    """Claims of one kind on one precision of one device; `none` is a blind spot."""

    hardware: str
    precision: str
    kind: str
    claims: int
    corroborated: int
    outcome: Outcome | Literal["none"]


class Assumption(TypedDict):
    """What a replayed document assumes, beside the sourced fact."""

    what: str
    assumed: str
    sourced: str | None
    factor: float | None
    factor_text: str | None
    parts: list[str]
    source: Source | None
    why: str | None


class Figure(TypedDict):
    """A printed figure, replayed under the document's assumptions and derived from sourced facts."""

    what: str
    printed: str
    replayed: str | None
    sourced: str | None
    factor_text: str | None
    outcome: Outcome


class Replay(TypedDict):
    """A device as a document assumed it, with the figures that follow; devices of one document share a `group`."""

    id: str
    title: str
    label: NotRequired[str]
    group: NotRequired[str]
    file: str
    line: int
    document: str | None
    hardware: str | None
    at: NotRequired[str | None]
    assumptions: list[Assumption]
    figures: list[Figure]


class MutantCounts(TypedDict):
    """Mutants by what became of them."""

    mutants: int
    killable: int
    killed: int
    survived: int
    within_digits: int
    uncorroborated: int
    equivalent: int
    killed_besides: int
    unseen: int


class MutantClass(MutantCounts):
    """A class of slips."""

    name: str
    says: str
    refused: int


class MutatedSubject(MutantCounts):
    """A spec file whose facts were set wrong; `score` is a share."""

    id: str
    file: str
    score: float | None


class MutatedFact(MutantCounts):
    """A fact that was set wrong."""

    subject: str
    at: str | None
    path: str
    file: str
    line: int
    display: str
    would_kill: str | None


Survivor = TypedDict(
    "Survivor",
    {
        "subject": str,
        "at": str | None,
        "path": str,
        "file": str,
        "line": int,
        "display": str,
        "class": str,
        "text": str,
        "mutated": str,
        "ratio": float,
        "would_kill": str,
    },
)


class Gross(TypedDict):
    """Errors of two and more on what corroborated peaks and bandwidths rest on."""

    mutants: int
    killed: int


class Mutation(TypedDict):
    """How much of the specs could be wrong without a red claim; `score` and `floor` are shares."""

    score: float | None
    floor: float | None
    holds: bool | None
    definitions: dict[str, str]
    counts: MutantCounts
    gross: Gross
    classes: list[MutantClass]
    subjects: list[MutatedSubject]
    facts: list[MutatedFact]
    survivors: list[Survivor]


class Shift(TypedDict):
    """By what factor a quantity moved, of how many predictions; no ends where one side knows nothing or zero."""

    word: str
    rows: int
    low: float | None
    high: float | None
    factor: str


class Moved(Shift):
    """What one quantity of one device did; `together` says how several changes act."""

    device: str
    of: int
    knowledge: list[str]
    together: str


class Changed(TypedDict):
    """A fact, a trait or a file that is another on the new side, and what it moves alone."""

    what: str
    text: str
    file: str | None
    line: int | None
    source: str
    alone: str
    devices: list[str]
    moves: list[Shift]


class Compared(TypedDict):
    """One side of the comparison."""

    label: str
    commit: str | None


class MovedCounts(TypedDict):
    """How much moved."""

    predictions: int
    devices: int


class PowerLimit(TypedDict):
    """What a device is rated for, by the fact that says it; `value` in W."""

    path: str
    value: float
    display: str


class PowerThen(TypedDict):
    """The load of a point that is hardest to sustain, on one side."""

    unit: str
    precision: str
    limit: PowerLimit
    verdict: Literal["sustains", "cannot sustain", "undecided"]
    ratio: float
    ratio_display: str
    ends_display: str


class PowerAlone(TypedDict):
    """What a change, by its position among all of them, makes of that load alone."""

    change: int
    new: PowerThen | None


class PowerMoved(TypedDict):
    """A point of which the power over its limit is another; null where a side cannot tell."""

    device: str
    at: str | None
    old: PowerThen | None
    new: PowerThen | None
    alone: list[PowerAlone]
    said: str


class Delta(TypedDict):
    """What moved between two states of the specs."""

    schema: Literal["rooflint-delta/1"]
    old: Compared
    new: Compared
    said: str
    also: list[str]
    moved: MovedCounts
    changes: list[Changed]
    moves: list[Moved]
    power: NotRequired[list[PowerMoved]]


class PowerLoad(TypedDict):
    """The load of a device at a point that is hardest to sustain; ratios of its power to the limit."""

    device: str
    at: str | None
    unit: str
    precision: str
    limit: PowerLimit
    low_ratio: float
    ratio: float
    high_ratio: float
    ratio_display: str
    ends_display: str
    verdict: Literal["sustains", "cannot sustain", "undecided"]
    left_out: list[str]
    exhausting_display: str
    fitting_clock_display: str
    unknown: int


class PowerNotKnown(TypedDict):
    """A device at a point of which nobody can tell, and why."""

    device: str
    at: str | None
    reason: str


class Power(TypedDict):
    """Whether devices hold their printed peak within their printed power."""

    schema: Literal["rooflint-power/1"]
    said: list[str]
    loads: list[PowerLoad]
    not_known: list[PowerNotKnown]
    caveats: list[str]


class Named(TypedDict):
    """A fact of a machine, or a library with its version."""

    name: str
    display: str


class LeftOut(TypedDict):
    """What was asked for and could not be measured."""

    what: str
    why: str


class TakenRecording(TypedDict):
    """A recording: what was measured when, on which machine, under which conditions."""

    device: str
    at: str | None
    file: str
    machine: str
    taken: str
    command: str
    facts: list[Named]
    software: list[Named]
    left_out: list[LeftOut]
    conditions: str


class MeasuredRow(TypedDict):
    """One measurement beside its prediction; `size` is the edge of a cube with as many MAC."""

    device: str
    at: str | None
    file: str
    line: int
    name: str
    what: str
    precision: str | None
    library: str
    size: float | None
    best_s: float
    best_display: str
    median_display: str
    spread_display: str
    samples: int
    disturbed: int
    conditions: str
    outcome: Literal["pass", "fail", "undecided"]
    why: str
    rate_display: str
    efficiency: float | None
    efficiency_display: str
    predicted_s: float | None
    predicted_display: str
    bound: str | None
    ratio_display: str
    power_w: float | None
    idle_w: float | None
    power_display: str
    idle_display: str
    energy_display: str
    per_w_display: str


class Measured(TypedDict):
    """What stopwatches recorded, held against the model."""

    schema: Literal["rooflint-measured/1"]
    said: list[str]
    recordings: list[TakenRecording]
    rows: list[MeasuredRow]
    how: str


class SiliconClaim(TypedDict):
    """What is claimed of latencies on silicon, whether or not it could be decided."""

    subject: str
    bound: str
    file: str
    line: int


class SiliconErrors(TypedDict):
    """How far latencies are off on the rows of a claim, beside the plain roofline."""

    regime: str
    rows: int
    error: float
    error_display: str
    lean_display: str
    roofline_display: str
    roofline_lean_display: str
    bound_display: str
    outcome: Outcome
    file: str
    line: int


class SiliconScore(SiliconErrors):
    """Of a family that the constants have not seen."""

    topic: str
    precision: str
    family: str
    devices: list[str]


class SiliconPublished(SiliconErrors):
    """Of a table that others published."""

    table: str
    title: str
    device: str
    op: str
    precision: str
    document: str
    timing: str


class SiliconWhole(TypedDict):
    """A claim of all devices together."""

    subject: str
    outcome: Outcome
    obtained: str
    expected: str
    formula: str


_Fineness = Annotated[int, Field(gt=0, le=200)]
"""Bins a decade."""

_Place = Annotated[int, Field(ge=-10_000, le=10_000)]
"""Number of a bin; what lies farther out is no time."""


class SiliconBins(TypedDict):
    """Bins: how many a decade of time, of ratio, and of the time that ratios lie over; the farthest ratio."""

    per_decade: _Fineness
    ratio_per_decade: _Fineness
    under_per_decade: _Fineness
    farthest: Annotated[float, Field(gt=1, le=1e6)]
    near: Annotated[float, Field(gt=0, lt=1)]


class SiliconColumn(TypedDict):
    """Counts of bins above each other; `y` is the number of the first."""

    x: _Place
    y: _Place
    counts: Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=20_000)]


class SiliconDensity(TypedDict):
    """Predicted over measured times of a device, and their ratio, as counts of bins."""

    device: str
    name: str
    family: str
    rows: int
    near_display: str
    times: list[SiliconColumn]
    ratios: list[SiliconColumn]


SiliconWorst = TypedDict(
    "SiliconWorst",
    {
        "family": str,
        "device": str,
        "shape": str,
        "measured_display": str,
        "predicted_display": str,
        "ratio": float,
        "ratio_display": str,
        "bound": str,
        "kernel": str,
        "around": int,
        "around_display": str,
        "like": str,
        "try": str,
    },
)


class Why(TypedDict):
    """Something, and a reason."""

    what: str
    why: str


class SiliconMissing(TypedDict):
    """Devices without a latency on silicon, by the reason."""

    why: str
    devices: list[str]


class SiliconNotKnown(TypedDict):
    """Of which ops, devices and tables nothing is said."""

    ops: list[Why]
    gpus: list[SiliconMissing]
    of: int
    others: int
    tables: list[Why]


class Silicon(TypedDict):
    """Latencies on silicon, held against measurements that their constants have not seen."""

    schema: Literal["rooflint-silicon/1"]
    said: list[str]
    how: str
    why_not: list[str]
    claimed: list[SiliconClaim]
    measurements: str | None
    scores: list[SiliconScore]
    published: list[SiliconPublished]
    whole: list[SiliconWhole]
    bins: SiliconBins
    densities: list[SiliconDensity]
    worst: list[SiliconWorst]
    waits: dict[str, str]
    left_out: list[Why]
    not_known: SiliconNotKnown
    caveats: list[str]


class Evidence(TypedDict):
    """All that a report knows."""

    schema: Literal["rooflint-evidence/1"]
    run: Run
    machine: dict[str, Any]
    counts: Counts
    problems: list[Problem]
    places: NotRequired[list[Place]]
    verdicts: list[Verdict]
    devices: list[Device]
    coverage: list[Cell]
    replays: list[Replay]
    power: NotRequired[Power]
    measured: NotRequired[Measured]
    silicon: NotRequired[Silicon]
    mutation: NotRequired[Mutation]
    delta: NotRequired[Delta]


_ADAPTER = TypeAdapter(Evidence)


def load_evidence(path: Path) -> Evidence:
    """Read an evidence file; refuse another schema, malformed JSON, missing keys and wrong types."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise EvidenceError(f"{path}: cannot be read ({error.strerror}); the golden suite writes it") from None
    try:
        return _ADAPTER.validate_json(content, strict=True)
    except ValidationError as error:
        raise EvidenceError(f"{path}: {_sentence(error)}") from None


def _sentence(error: ValidationError) -> str:
    """Put the first error in words; a wrong schema version goes before all that follows from it."""
    errors = error.errors(include_url=False)
    first = next((e for e in errors if e["loc"] == ("schema",)), errors[0])
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    if first["type"] == "json_invalid":
        return f"not JSON: {first['ctx']['error']}"
    if first["loc"] == ("schema",) and first["type"] != "missing":
        return f"schema {_shown(first['input'])} cannot be read here, want {SCHEMA!r}"
    if first["type"] == "missing":
        return f"{_place(first['loc'])} is missing{more}"
    found = _shown(first["input"])
    return f"{_place(first['loc'])}: {first['msg'][0].lower()}{first['msg'][1:]}, found {found}{more}"


def _place(location: tuple[int | str, ...]) -> str:
    """('verdicts', 3, 'file') as verdicts[3].file."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.lstrip(".") or "the file"


def _shown(value: object) -> str:
    """Cut a found value to a length that fits into a sentence."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
