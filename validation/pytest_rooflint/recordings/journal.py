"""The journal of a long run: each figure is a line on the disk as soon as it is there, so that nothing is lost.

A run that was cut (a driver that failed, `kill -9`, a full disk) is resumed from its journal and measures what is
missing. What was being measured when it ended is known, too: a figure that ends the run each time is left out.
"""

import contextlib
import datetime
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rooflint.base.errors import RooflintError, shown
from rooflint.base.files import read_text
from rooflint_measure.record import Measurement
from rooflint_measure.recording import Machine

SCHEMA = "rooflint-journal/2"

MAX_BYTES = 64_000_000
"""Of a file. [B]"""

TRIES = 2
"""A figure during which so many runs ended, by a driver or by a kill, is not tried again."""


@dataclass
class Journal:
    """One line a figure, in the order of measuring, after a line that says of what."""

    file: Path
    device: str
    """As torch names it: `cuda:1`."""
    machine: Machine
    taken: datetime.datetime
    """When its first run began."""
    measurements: dict[str, Measurement] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    """What changed on the machine meanwhile, in order."""
    begun: Counter[str] = field(default_factory=Counter)
    """How often a figure was begun, unless it is to be tried again."""
    now: str = ""
    """The figure that was begun last."""

    @classmethod
    def of(cls, file: Path, device: str, machine: Machine) -> "Journal":
        """A new journal, or the one that is there. Raises RooflintError where that is of something else."""
        if file.exists():
            found = cls.read(file)
            if changed := _change(found, device, machine):
                raise RooflintError(f"{shown(file)}: {changed}; name another --journal, or delete this file")
            return found
        found = cls(file, device, machine, datetime.datetime.now(datetime.UTC).replace(microsecond=0))
        file.parent.mkdir(parents=True, exist_ok=True)
        found._append(
            {
                "schema": SCHEMA,
                "device": device,
                "taken": found.taken.isoformat(),
                "machine": machine.model_dump(mode="json"),
            }
        )
        return found

    @classmethod
    def read(cls, file: Path) -> "Journal":
        """The journal of a run that ended early. Raises RooflintError."""
        whole, _, torn = read_text(file, MAX_BYTES).rpartition("\n")
        head, *rows = whole.split("\n")
        found = cls(file, *_head(file, head))
        for number, line in enumerate(rows, 2):
            try:
                found._take(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError, ValidationError):
                raise RooflintError(f"{shown(file)}:{number}: want a figure of a journal; remove the line") from None
        if torn:  # the last line of a run that was killed; nothing before it is written again
            with file.open("r+b") as stream:
                stream.truncate(len(whole.encode()) + 1)
        return found

    @property
    def ended(self) -> dict[str, str]:
        """Figures during which several runs ended, with the reason why they are not tried again."""
        return {
            name: f"{count} runs ended while it was measured"
            for name, count in self.begun.items()
            if count >= TRIES and name not in self.measurements and name not in self.left_out
        }

    def begin(self, name: str) -> None:
        """Say what is measured now, in case that the run does not live to say how it ended."""
        self._add({"begun": name})

    def keep(self, name: str, found: Measurement | str | None) -> None:
        """Add a figure, or the reason why there is none; None where it is to be tried again."""
        if found is None:
            self._add({"name": name, "again": True})
        elif isinstance(found, str):
            self._add({"name": name, "left_out": found})
        else:
            self.measurements[name] = found
            self._append({"name": name, "measurement": found.model_dump(mode="json", exclude_none=True)})

    def tell(self, event: str) -> None:
        """Add what changed on the machine."""
        self._add({"event": event})

    def remove(self) -> None:
        """Once its recording is written."""
        with contextlib.suppress(OSError):
            self.file.unlink()

    def _add(self, row: Mapping[str, Any]) -> None:
        self._take(row)
        self._append(row)

    def _take(self, row: Mapping[str, Any]) -> None:
        if "event" in row:
            self.events.append(row["event"])
        elif "begun" in row:
            self.now = row["begun"]
            self.begun[self.now] += 1
        elif "again" in row:
            self.begun[row["name"]] = 0
        elif "left_out" in row:
            self.left_out[row["name"]] = row["left_out"]
        else:
            self.measurements[row["name"]] = Measurement.model_validate(row["measurement"])

    def _append(self, row: Mapping[str, Any]) -> None:
        """Write a line, and see that it is on the disk."""
        with self.file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row, allow_nan=False) + "\n")
            stream.flush()
            os.fsync(stream.fileno())


def _head(file: Path, line: str) -> tuple[str, Machine, datetime.datetime]:
    """Device, machine and beginning. Raises RooflintError."""
    try:
        row = json.loads(line)
        if row["schema"] == SCHEMA:
            return row["device"], Machine.model_validate(row["machine"]), datetime.datetime.fromisoformat(row["taken"])
    except (ValueError, KeyError, TypeError, ValidationError):
        pass
    raise RooflintError(f"{shown(file)}: want the journal of a first hour ({SCHEMA}); name another file")


def _change(found: Journal, device: str, machine: Machine) -> str:
    """The first thing that is otherwise than when the journal was begun; empty where nothing is."""
    pairs = [
        ("--device", found.device, device),
        ("device", found.machine.device, machine.device),
        ("CPUs or devices", found.machine.count, machine.count),
        *_pairs(found.machine.facts, machine.facts),
        *_pairs(found.machine.software, machine.software),
    ]
    return next((f"begun with {name} {old}, now {new}" for name, old, new in pairs if old != new), "")


def _pairs(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name in {**old, **new}:
        yield name, old.get(name, "none"), new.get(name, "none")
