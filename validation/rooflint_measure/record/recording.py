"""A recording: measurements of one machine in one session, in a file that never changes."""

import datetime
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from rooflint.base.errors import RooflintError, shown
from rooflint.base.files import write_whole
from rooflint_measure.record.measurement import Measurement

SCHEMA: Literal["rooflint-recording/1"] = "rooflint-recording/1"

MAX_BYTES = 4_000_000
"""Of a file. A recording is read at every run of the suite."""


#: What Python's JSON reader takes for numbers, outside of strings.
_NOT_FINITE = re.compile(r'"(?:[^"\\]|\\.)*"|(-?\b(?:NaN|Infinity)\b)')


class RecordingError(RooflintError):
    """A file that is not a recording, or a recording that may not be changed."""


class Machine(BaseModel):
    """What must be equal for two recordings to be of the same thing. Nothing that tells who owns it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    device: str
    """As the system or the driver names it: `AMD EPYC, family 26 model 2 stepping 1`, `NVIDIA H200`."""
    kind: Literal["cpu", "gpu"]
    count: int
    """Cores or devices that were used."""
    facts: Mapping[str, str | int | float | bool] = {}
    """SKU, caches, vector extensions, virtual or not, power limit, power mode, governor, thread limits."""
    software: Mapping[str, str] = {}
    """Driver, operating system, interpreter and libraries, each with its version."""

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that differ where anything of the fingerprint does."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


class Recording(BaseModel):
    """Immutable; from another machine, another driver or another library there is another recording."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Annotated[Literal["rooflint-recording/1"], Field(alias="schema")] = SCHEMA
    taken: AwareDatetime
    """When the first measurement began, in UTC."""
    command: str
    """What was typed."""
    rooflint: str
    """Version of the stopwatches."""
    commit: str | None = None
    machine: Machine
    measurements: Annotated[tuple[Measurement, ...], Field(min_length=1)]
    left_out: Mapping[str, str] = {}
    """What was asked for and could not be measured, with the reason."""

    @property
    def file_name(self) -> str:
        """`2026-11-20T1432-3fa94c0d1b22.json`: when, and on what."""
        return f"{self.taken.astimezone(datetime.UTC):%Y-%m-%dT%H%M}-{self.machine.digest}.json"


def read(file: Path) -> Recording:
    """A recording as it was written. Raises RecordingError with file, line and what was expected."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise RecordingError(f"{shown(file)}: want at most {MAX_BYTES} bytes, found {file.stat().st_size}")
        text = file.read_text(encoding="utf-8")
        if found := next((one for one in _NOT_FINITE.finditer(text) if one[1]), None):
            line = text.count("\n", 0, found.start(1)) + 1
            raise RecordingError(f"{shown(file)}:{line}: want finite numbers, found {found[1]}")
        return Recording.model_validate(json.loads(text))
    except OSError as error:
        raise RecordingError(f"{shown(file)}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise RecordingError(f"{shown(file)}: want UTF-8, found byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise RecordingError(f"{shown(file)}:{error.lineno}: want a recording in JSON, found {error.msg}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        message = re.sub(r"^Value error, ", "", first["msg"])
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise RecordingError(f"{shown(file)}: want a recording ({SCHEMA}); {place or 'it'}: {message}{more}") from None


def write(folder: Path, recording: Recording) -> Path:
    """Add a recording to a folder, whole or not at all; returns the new file.

    Raises RecordingError where a file of that name exists: recordings are append-only.
    """
    file = folder / recording.file_name
    if file.exists():
        raise RecordingError(f"{shown(file)}: exists already; recordings are append-only")
    write_whole(file, as_json(recording))
    return file


def as_json(recording: Recording) -> str:
    """One line a measurement, so that a review shows which were added."""
    document = recording.model_dump(mode="json", by_alias=True, exclude_none=True)
    rows = [json.dumps(row, ensure_ascii=False, allow_nan=False) for row in document.pop("measurements")]
    head = json.dumps({"schema": SCHEMA, **document}, ensure_ascii=False, indent=1, allow_nan=False)
    return head.removesuffix("\n}") + ',\n "measurements": [\n  ' + ",\n  ".join(rows) + "\n ]\n}\n"


def merged(recordings: Iterable[Recording]) -> Recording:
    """One recording with all measurements, of equal machines only; the earliest gives the time.

    Raises RecordingError for different machines, naming what differs, and for none.
    """
    ordered = sorted(recordings, key=lambda recording: recording.taken)
    if not ordered:
        raise RecordingError("want at least one recording to merge")
    first = ordered[0]
    for other in ordered[1:]:
        if differs := [*_differences(first.machine, other.machine)]:
            raise RecordingError(f"want recordings of one machine; they differ in {', '.join(differs)}")
    rows = tuple(row for recording in ordered for row in recording.measurements)
    left_out = {what: why for recording in ordered for what, why in recording.left_out.items()}
    return first.model_copy(update={"measurements": rows, "left_out": left_out})


def _differences(one: Machine, other: Machine) -> Iterable[str]:
    ours, theirs = _flat(one), _flat(other)
    for key in sorted(ours.keys() | theirs.keys()):
        if ours.get(key) != theirs.get(key):
            yield f"{key} {ours.get(key, 'not known')} or {theirs.get(key, 'not known')}"


def _flat(machine: Machine) -> dict[str, object]:
    return {
        "device": machine.device,
        "kind": machine.kind,
        "count": machine.count,
        **machine.facts,
        **machine.software,
    }
