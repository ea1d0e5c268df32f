"""evidence.json as typed records: the harness writes them, the report reads them.

JSON Schema (`rooflint schema`) and the key listing of docs/evidence.md are generated from these classes and from those
of `verdicts`, `findings` and `differences`. Every `display` is formatted text; values are in SI base units.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError
from pydantic.fields import FieldInfo

from rooflint.base import strict_json
from rooflint.base.errors import InputError, RooflintError
from rooflint.base.files import read_bytes, read_text, write_atomically
from rooflint_report.claim_changes import ClaimChanges
from rooflint_report.differences import Delta, Mutation, Watched
from rooflint_report.findings import Benchmarks, Measured, Power, Silicon
from rooflint_report.hosting import Hosting
from rooflint_report.verdicts import Each, Outcome, Place, Record, Source, Verdict

SCHEMA: Literal["rooflint-evidence/3"] = "rooflint-evidence/3"


MAX_BYTES = 1024**3
"""Of evidence: a run of 10 000 claims writes some 40 MB."""


class EvidenceError(RooflintError):
    """The file cannot be rendered; the message is one sentence that begins with its path."""


# ---- the run


class Commit(Record):
    """The state of the repository that ran."""

    commit: str
    branch: str | None
    dirty: bool
    """Whether there were uncommitted changes."""


class Run(Record):
    """When, how and on which commit the suite ran."""

    started: str
    """ISO 8601, in UTC."""
    duration_s: float
    command: str
    exit_status: int
    """pytest's."""
    git: Commit | None
    versions: dict[str, str | None]
    """Of rooflint, Python, pytest and NumPy."""
    ci: dict[str, Any] | None
    """GITHUB_* variables; null outside CI."""
    hosting: Hosting | None = None
    """Where the repository and the run are; null outside CI."""


class Counts(Record):
    """Claims by outcome, and what else the run counted."""

    pass_: int
    fail: int
    xfail: int
    not_validated_here: int = Field(validation_alias="not validated here", serialization_alias="not validated here")
    undecided: int
    uncorroborated: int
    """Claims that pass without a second document that agrees."""
    loose: int = 0
    """Tolerances wider than printed digits justify."""
    stale: int = 0
    """Loose tolerances that are wider than the figure needs."""
    replays: int = 0
    problems: int = 0
    claims: int
    devices: int
    deselected: int = 0
    """Claims and checks that a selection left out; a run with any is not a full check."""

    def of(self, outcome: str) -> int:
        """Claims with an outcome."""
        return int(getattr(self, {"pass": "pass_"}.get(outcome, outcome.replace(" ", "_"))))


class Problem(Record):
    """A file that cannot be read, or something that the suite as a whole lacks."""

    what: str
    file: str | None
    line: int | None


# ---- devices


class Document(Record):
    """A source as a device lists it."""

    document: str
    grade: str | None
    url: str | None


class Factor(Record):
    """One factor of a derivation; a convention such as 2 op/MAC has no source."""

    name: str
    display: str
    path: str | None
    source: str | None
    """Key of a document of the device."""
    grade: str | None
    where: str | None
    file: str | None
    line: int | None


class Published(Record):
    """A figure that a golden file compares with a derived one."""

    display: str
    document: str | None
    grade: str | None
    where: str | None
    sparse: bool
    kind: str
    """Kind of the claim."""
    outcome: Outcome
    corroborated: bool
    ratio: float | None
    file: str
    line: int


class Peak(Record):
    """Dense peak of one unit at one precision."""

    unit: str
    precision: str
    at: str | None
    value: float | None
    """[op/s]"""
    display: str
    sparse_display: str | None
    formula: str | None
    factors: list[Factor]
    weakest_grade: str | None
    published: list[Published]


class Memory(Record):
    """One memory of a device."""

    name: str
    bandwidth: float | None = None
    """[B/s]"""
    bandwidth_display: str | None
    capacity_display: str | None
    formula: str | None
    factors: list[Factor]
    weakest_grade: str | None = None
    published: list[Published]


class Fact(Record):
    """A fact of a device that no derivation shows, or one that an operating point changes."""

    path: str
    display: str
    source: str | None
    """Key of a document of the device."""
    grade: str | None
    where: str | None
    file: str | None = None
    line: int | None = None


class PointPeak(Record):
    """A peak at an operating point."""

    unit: str
    precision: str
    display: str


class OperatingPoint(Record):
    """A power mode or the like."""

    name: str
    overrides: list[Fact]
    peaks: list[PointPeak]


class Undisclosed(Record):
    """What the vendor does not say."""

    path: str
    reason: str


class Device(Record):
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
    """Documents by their short keys."""
    peaks: list[Peak]
    memories: list[Memory]
    main_memory: str | None = None
    """Name of the memory that networks stream from; null where no bandwidth is known."""
    facts: list[Fact]
    operating_points: list[OperatingPoint]
    undisclosed: list[Undisclosed]


class SystemBandwidth(Record):
    """A bandwidth that follows from the links of a system's devices, or from its network cards; both directions."""

    name: str
    """`nvlink, per device`, `nvlink bisection`."""
    value: float
    """[B/s]"""
    display: str
    formula: str
    factors: list[Factor]
    published: list[Published]


class System(Record):
    """Devices of one kind, how they are joined, and the bandwidths that follow."""

    id: str
    name: str
    device: str
    count: int
    """Devices."""
    topology: str
    link: str
    """Which links of the device join it to the others."""
    notes: str | None
    file: str
    sources: dict[str, Document]
    """Documents by their short keys."""
    bandwidths: list[SystemBandwidth]
    facts: list[Fact]


class Cell(Record):
    """Claims of one kind on one precision of one device."""

    hardware: str
    precision: str
    kind: str
    claims: int
    corroborated: int
    outcome: Outcome | Literal["none"]
    """The worst of the cell; `none` is a blind spot."""


# ---- replays


class Assumption(Record):
    """What a replayed document assumes, beside the sourced fact."""

    what: str
    assumed: str
    sourced: str | None
    factor: float | None
    """Assumed over sourced."""
    factor_text: str | None
    parts: list[str]
    """Factors that the factor is the product of."""
    source: Source | None
    why: str | None


class Figure(Record):
    """A printed figure, replayed under the document's assumptions and derived from sourced facts."""

    what: str
    kind: str = ""
    printed: str
    replayed: str | None
    sourced: str | None
    factor_text: str | None
    """Replayed over sourced."""
    outcome: Outcome
    file: str | None = None
    line: int | None = None


class Replay(Record):
    """A device as a document assumed it, with the figures that follow."""

    id: str
    title: str
    label: str
    group: str
    """Devices of one document share it."""
    file: str
    line: int
    document: str | None
    hardware: str | None
    at: str | None
    assumptions: list[Assumption]
    figures: list[Figure]


class Underived(Record):
    """A figure that a replayed document prints and that its assumptions do not give."""

    group: str
    """Title of the replay that lists it."""
    printed: str
    document: str | None
    where: str | None
    why: str
    file: str
    line: int


# ---- the whole


class Evidence(Record):
    """Everything about a run."""

    schema_: Literal["rooflint-evidence/3"]
    run: Run
    machine: dict[str, str | int | None]
    """system, release, machine, cpu, cores, python."""
    counts: Counts
    problems: list[Problem]
    places: list[Place] = Field(default_factory=list)
    """Repairs that were tried, best first."""
    verdicts: list[Verdict]
    devices: list[Device]
    systems: list[System] = Field(default_factory=list)
    coverage: list[Cell]
    replays: list[Replay]
    underived: list[Underived] = Field(default_factory=list)
    """Figures of the replayed documents that have no claim, each with the reason."""
    power: Power | None = None
    measured: Measured | None = None
    silicon: Silicon | None = None
    benchmarks: Benchmarks | None = None
    """Only after `rooflint measure baseline --evidence FILE`."""
    watched: list[Watched] = Field(default_factory=list)
    """Predictions of `rooflint_watch`; those of a base only after `rooflint check --against REVISION`."""
    mutation: Mutation | None = None
    """Only after `rooflint check --mutate` or `rooflint mutate --evidence FILE`."""
    delta: Delta | None = None
    """Only after `rooflint check --against REVISION` or `rooflint diff --evidence FILE`."""
    claim_changes: ClaimChanges | None = None
    """Only after `rooflint check --against REVISION` or `rooflint diff --claims --evidence FILE`."""


LATER = ("benchmarks", "mutation", "delta", "claim_changes")
"""Sections that other commands add; a run without them does not have the key."""


def plain(found: Record) -> dict[str, Any]:
    """A record as JSON data, without sections that the run has not."""
    absent = {name for name in LATER if getattr(found, name, ...) is None}
    return found.model_dump(mode="json", by_alias=True, exclude=absent)


def as_json(found: Record) -> str:
    """A record as a JSON document. Raises ValueError for a number that JSON does not have."""
    return "".join(pieces(found))


def pieces(found: Record) -> Iterator[str]:
    """The same piece by piece: the whole text of a long run takes much memory. Raises ValueError."""
    type(found).model_rebuild()  # a deferred record has no aliases before it is built
    before = "{\n "
    for name, info in _present(found):
        yield f"{before}{_text(info.serialization_alias or name)}: "
        yield from _section(found, name)
        before = ",\n "
    yield "\n}\n"


def _present(found: Record) -> Iterator[tuple[str, FieldInfo]]:
    """Fields of a record, without sections that the run has not."""
    for name, info in type(found).model_fields.items():
        if name not in LATER or getattr(found, name) is not None:
            yield name, info


def _section(found: Record, name: str) -> Iterator[str]:
    """A field as JSON; long lists record by record, because all of them as plain data take several times the memory."""
    value = getattr(found, name)
    if isinstance(value, Each) or (isinstance(value, list) and value and isinstance(value[0], Record)):
        yield "["
        for number, one in enumerate(value):
            yield f"{',' if number else ''}\n  {_text(plain(one), 2)}"
        yield "\n ]" if value else "]"
    else:
        (written,) = found.model_dump(mode="json", by_alias=True, include={name}).values()
        yield _text(written, 1)


def _text(value: Any, depth: int = 0) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False).replace("\n", "\n" + " " * depth)


def add(file: Path, **found: Record | Sequence[Record]) -> None:
    """Put what was found later into the evidence of a run. Raises RooflintError for a file that is not evidence."""
    try:
        document = strict_json.parse(read_text(file, MAX_BYTES), file)
        for key, one in found.items():
            document[key] = plain(one) if isinstance(one, Record) else [plain(each) for each in one]
    except (RooflintError, TypeError) as error:
        raise RooflintError(f"{file}: want the evidence of a run to add to: {error}") from error
    write_atomically(file, json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def load_evidence(path: Path) -> Evidence:
    """Read an evidence file; refuse another schema, malformed JSON, missing keys, wrong types and infinite numbers."""
    try:
        content = read_bytes(path, MAX_BYTES)
    except InputError as error:
        raise EvidenceError(f"{path}: {error.problems[0].message}; the golden suite writes it") from None
    try:
        found = Evidence.model_validate_json(content, strict=True)
        strict_json.parse(content.decode(), path)
        return found  # noqa: TRY300  # its numbers are finite
    except InputError as error:
        (problem,) = error.problems
        raise EvidenceError(f"{path}: line {problem.line}: {problem.message}") from None
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
