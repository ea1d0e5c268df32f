"""Recordings: measurements of one machine in one session, in a file that never changes."""

import contextlib
import datetime
import hashlib
import itertools
import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, ConfigDict, Field, ValidationError

from rooflint.base import strict_json
from rooflint.base.errors import RooflintError, refuse, shown
from rooflint.base.files import create, read_text
from rooflint_measure.record import Frozen, Measurement

SCHEMA: Literal["rooflint-recording/2"] = "rooflint-recording/2"

MAX_BYTES = 4_000_000
"""Of a file. A recording is read at every run of the suite."""


SEVERAL = "recordings"
"""Key of a file that has those of several devices."""


class RecordingError(RooflintError):
    """A recording that could not be written where it belongs."""


class Machine(Frozen):
    """What must be equal for two recordings to be of the same thing. Nothing that tells who owns it."""

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


class Recording(Frozen):
    """Immutable; from another machine, another driver or another library there is another recording."""

    model_config = ConfigDict(populate_by_name=True)

    schema_: Annotated[Literal["rooflint-recording/2"], Field(alias="schema")] = SCHEMA
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
        """`2026-11-20T143207-3fa94c0d1b22.json`: when, and on what."""
        return f"{self.taken.astimezone(datetime.UTC):%Y-%m-%dT%H%M%S}-{self.machine.digest}.json"


def read(file: Path) -> Recording:
    """A recording as it was written. Raises InputError with file, line and what was expected."""
    return _checked(strict_json.parse(read_text(file, MAX_BYTES), file), file)


def read_all(file: Path) -> list[Recording]:
    """The recording of a file, or those of several devices that one command measured. Raises InputError."""
    document = strict_json.parse(read_text(file, MAX_BYTES), file)
    if isinstance(document, dict) and isinstance(several := document.get(SEVERAL), list) and several:
        return [_checked(one, file) for one in several]
    return [_checked(document, file)]


def _checked(document: Any, file: Path) -> Recording:
    stated = document.pop("digest", None) if isinstance(document, dict) else None
    try:
        found = Recording.model_validate(document)
    except ValidationError as error:
        raise refuse(file, 1, _sentence(error)) from None
    if stated is None:
        raise refuse(file, 1, "want the digest of its content as 'digest', found none")
    if stated != content_digest(document):
        raise refuse(file, 1, "was edited after it was written: its content has another digest; restore the file")
    return found


def _sentence(error: ValidationError) -> str:
    """The first of the errors, and how many more there are."""
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    message = re.sub(r"^Value error, ", "", first["msg"])
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"want a recording ({SCHEMA}); {place or 'it'}: {message}{more}"


def content_digest(document: Mapping[str, Any]) -> str:
    """SHA-256 of a recording's content, however it is spaced and its keys are ordered."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def write(folder: Path, recording: Recording) -> Path:
    """Add a recording to a folder as a new file, whole or not at all; returns the file.

    Where another recording has the name, `_2` and so on is added. Raises RecordingError where the folder cannot be
    written; the recording is then kept elsewhere, and the message tells where.
    """
    text = as_json(recording)
    try:
        return _created(folder / recording.file_name, text)
    except OSError as error:
        reason = f"{shown(folder)}: cannot be written ({error.strerror})"
    for other in (Path(tempfile.gettempdir()), Path.home()):
        with contextlib.suppress(OSError):
            kept = _created(other / recording.file_name, text)
            raise RecordingError(f"{reason}; the recording is kept as {kept}")
    raise RecordingError(f"{reason}, nor can {tempfile.gettempdir()} and {Path.home()}; this is the recording:\n{text}")


def _created(file: Path, text: str) -> Path:
    """A new file, with the first free number behind its name where others have it. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        name = file if number == 1 else file.with_stem(f"{file.stem}_{number}")
        with contextlib.suppress(FileExistsError):
            create(name, text)
            return name
    raise AssertionError


def as_json(recording: Recording) -> str:
    """One line a measurement, so that a review shows which were added."""
    document = recording.model_dump(mode="json", by_alias=True, exclude_none=True)
    digest = content_digest(json.loads(json.dumps(document, allow_nan=False)))
    rows = [json.dumps(row, ensure_ascii=False, allow_nan=False) for row in document.pop("measurements")]
    head = json.dumps({"schema": SCHEMA, "digest": digest, **document}, ensure_ascii=False, indent=1, allow_nan=False)
    return head.removesuffix("\n}") + ',\n "measurements": [\n  ' + ",\n  ".join(rows) + "\n ]\n}\n"
