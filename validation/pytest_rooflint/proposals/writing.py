"""The end of a run that was asked for proposals: a patch, or no patch, and what the terminal says of it."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_rooflint.proposals.patch import TITLE, patch, totals
from pytest_rooflint.proposals.plan import plan
from pytest_rooflint.proposals.proposal import Plan
from pytest_rooflint.proposals.reds import Key
from pytest_rooflint.suite import Suite
from rooflint.errors import InputError, shown
from rooflint.whole_file import write_whole

DEFAULT = "rooflint.patch"
_MOST_LINES = 10


@dataclass(frozen=True)
class Place:
    """Where the run was started, the root of the project, and the file for the patch."""

    folder: Path
    root: Path
    file: Path

    @property
    def command(self) -> str:
        """How to apply the patch from where the run was started."""
        file, root = (Path(os.path.relpath(path, self.folder)).as_posix() for path in (self.file, self.root))
        if root == ".":
            return f"git apply {file}"
        return f"cd {root} && git apply {Path(os.path.relpath(self.file, self.root)).as_posix()}"


def write(suite: Suite, rows: Iterable[Mapping[str, Any]], place: Place, *, excuses: bool) -> list[str]:
    """Write the patch, if there is anything to propose, and say what was done. Raises OSError."""
    reds = [row for row in rows if row["outcome"] == "fail"]
    if not reds:
        _forget(place.file)
        return ["nothing to propose: no claim of this run is red"]
    found = plan(suite, _places(suite, reds, place.folder), place.root, excuses=excuses)
    if not found.proposals:
        _forget(place.file)
        return ["nothing to propose, so no patch was written", *_reasons(found)]
    write_whole(place.file, patch(found, place.root))
    return [f"{totals(found)} Read them, then: {place.command}", *_changes(found), *_reasons(found)]


def _places(suite: Suite, reds: Iterable[Mapping[str, Any]], folder: Path) -> dict[Key, str]:
    """Red claims by their places, whatever process judged them."""
    wanted = {(Path(folder, row["file"]).resolve(), row["id"]): row["nodeid"] for row in reds}
    found: dict[Key, str] = {}
    for file in suite.files:
        try:
            claims = suite.read(file).claims
        except InputError:
            continue
        for number, claim in enumerate(claims):
            if name := wanted.get((file.resolve(), claim.id)):
                found[file, number] = name
    return found


def _forget(file: Path) -> None:
    """A patch of an earlier run does not stay where this run found nothing; what others wrote does."""
    if file.is_file() and file.read_bytes().startswith(TITLE.encode()):
        file.unlink()


def _changes(found: Plan) -> Iterator[str]:
    """What is proposed, one line each."""
    for one in found.proposals[:_MOST_LINES]:
        yield f"  {shown(one.file)}:{one.line}  {one.what}: {one.old} → {one.new}"
    if len(found.proposals) > _MOST_LINES:
        yield f"  and {len(found.proposals) - _MOST_LINES} more"


def _reasons(found: Plan) -> Iterator[str]:
    """What is not proposed, by reason."""
    first: dict[str, str] = {}
    for name, reason in found.refusals:
        first.setdefault(reason, name)
    counted = Counter(reason for _, reason in found.refusals)
    for reason, number in counted.most_common(_MOST_LINES):
        more = f" and {number - 1} more" if number > 1 else ""
        yield f"no proposal for {first[reason]}{more}: {reason}"
    if len(counted) > _MOST_LINES:
        yield f"no proposal for others, for {len(counted) - _MOST_LINES} more reasons"
