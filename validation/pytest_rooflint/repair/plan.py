"""Plan repairs for the failing claims of a run: first specs, then golden files, then refusals."""

import difflib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_rooflint.repair import golden_repair
from pytest_rooflint.repair.proposal import Key, Plan, Proposal, Refusal, State
from pytest_rooflint.repair.spec_repair import Repairs
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError, shown
from rooflint.base.files import write_whole

if TYPE_CHECKING:
    from rooflint_report.verdicts import Verdict


def plan(suite: Suite, ids: Mapping[Key, str], root: Path, *, excuses: bool = True) -> Plan:
    """Plan repairs for failing claims, given by their places with their pytest ids.

    Only files below the root of the project are touched.
    """
    before = State.of(suite, excuses=excuses)
    wanted = {key: name for key, name in ids.items() if key in before.failures}
    repairs = Repairs(suite, before, wanted, root.resolve(), excuses=excuses)
    of_specs = tuple(repairs.proposals())
    quotes = _Quotes(repairs)
    quotes.propose()
    after = State.of(quotes.suite, excuses=excuses)
    if quotes.proposals and (objection := after.objection(repairs.state)):
        quotes.refuse_all(objection)
        after = repairs.state
    mended = sum(key not in after.failures for key in before.failures)
    return Plan((*of_specs, *quotes.proposals), tuple(quotes.refusals.items()), mended, len(wanted))


@dataclass
class _Quotes:
    """Proposes repairs of golden files, one after the other, on top of the repaired specs."""

    repairs: Repairs
    proposals: list[Proposal] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.suite = self.repairs.suite

    def propose(self) -> None:
        """Propose a new quote for each claim that still fails, or note why there is none."""
        for key, name in self.repairs.wanted.items():
            if key not in self.repairs.state.failures:
                continue
            try:
                found, self.suite = golden_repair.proposal(self.suite, key, name, self.repairs)
                self.proposals.append(found)
            except Refusal as refusal:
                tried = self.repairs.objections.get(name)
                self.refusals[name] = f"{refusal}; {tried}" if tried else str(refusal)

    def refuse_all(self, objection: str) -> None:
        """Withdraw all proposals, because together they break a claim that passes with each of them."""
        self.refusals |= {name: objection for found in self.proposals for name in found.mends}
        self.proposals.clear()
        self.suite = self.repairs.suite


# ---- A plan as a patch: unified hunks that `git apply` takes from the root of the project, each below its reasons

TITLE = "# Proposed by rooflint; nothing has been changed yet."
_MOST_IDS = 20


def patch(plan: Plan, root: Path) -> str:
    """The text of the patch; git and patch ignore the lines that begin with #."""
    lines = [TITLE, f"# {totals(plan)}", "# Read each, then apply from the root of the project: git apply <this file>"]
    lines += [f"# No proposal for {name}: {reason}" for name, reason in plan.refusals]
    text = "".join(f"{_one_line(line)}\n" for line in lines)
    for number, one in enumerate(plan.proposals, 1):
        place = one.file.resolve().relative_to(root.resolve()).as_posix()
        text += "\n" + "".join(f"# {_one_line(line)}\n" for line in _reasons(number, place, one)) + _hunk(place, one)
    return text


def totals(plan: Plan) -> str:
    """The effect of all proposals together."""
    proposals = "1 proposal" if len(plan.proposals) == 1 else f"{len(plan.proposals)} proposals"
    turn = "1 red claim turns" if plan.mended == 1 else f"{plan.mended} red claims turn"
    return f"{proposals}; {turn} green with all of it, none turns red."


def _reasons(number: int, place: str, one: Proposal) -> Iterator[str]:
    yield f"{number}. {place}:{one.line}  {one.what}: {one.old} → {one.new}"
    yield from (f"   {remark}" for remark in one.remarks)
    yield from (f"   fixes {name}" for name in one.mends[:_MOST_IDS])
    if len(one.mends) > _MOST_IDS:
        yield f"   fixes {len(one.mends) - _MOST_IDS} more"


def _hunk(place: str, one: Proposal) -> str:
    """The file's difference; a name with spaces ends in a tab, as git writes it."""
    tab = "\t" if " " in place else ""
    before, after = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (one.before, one.after))
    lines = list(difflib.unified_diff(before, after, n=3))[2:]
    ended = (line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return f"--- a/{place}{tab}\n+++ b/{place}{tab}\n" + "".join(ended)


def _one_line(text: str) -> str:
    return " ".join(text.split()) if not text.startswith("   ") else "   " + " ".join(text.split())


# ---- The end of a run that was asked for proposals: a patch, or no patch, and what the terminal says of it

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


def write(suite: Suite, verdicts: "Iterable[Verdict]", place: Place, *, excuses: bool) -> list[str]:
    """Write the patch, if there is anything to propose, and say what was done. Raises OSError."""
    failures = [one for one in verdicts if one.outcome == "fail"]
    if not failures:
        _forget(place.file)
        return ["nothing to propose: no claim of this run is red"]
    found = plan(suite, _places(suite, failures, place.folder), place.root, excuses=excuses)
    if not found.proposals:
        _forget(place.file)
        return ["nothing to propose, so no patch was written", *_writing_reasons(found)]
    write_whole(place.file, patch(found, place.root))
    return [f"{totals(found)} Read them, then: {place.command}", *_changes(found), *_writing_reasons(found)]


def _places(suite: Suite, failures: "Iterable[Verdict]", folder: Path) -> dict[Key, str]:
    """Failing claims by their places in the suite, also those judged by other processes."""
    wanted = {(Path(folder, one.file).resolve(), one.id): one.nodeid for one in failures}
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
    """Delete the patch of an earlier run; other files of that name are left alone."""
    if file.is_file() and file.read_bytes().startswith(TITLE.encode()):
        file.unlink()


def _changes(found: Plan) -> Iterator[str]:
    """One line per proposal."""
    for one in found.proposals[:_MOST_LINES]:
        yield f"  {shown(one.file)}:{one.line}  {one.what}: {one.old} → {one.new}"
    if len(found.proposals) > _MOST_LINES:
        yield f"  and {len(found.proposals) - _MOST_LINES} more"


def _writing_reasons(found: Plan) -> Iterator[str]:
    """Claims without a proposal, by reason."""
    first: dict[str, str] = {}
    for name, reason in found.refusals:
        first.setdefault(reason, name)
    counted = Counter(reason for _, reason in found.refusals)
    for reason, number in counted.most_common(_MOST_LINES):
        more = f" and {number - 1} more" if number > 1 else ""
        yield f"no proposal for {first[reason]}{more}: {reason}"
    if len(counted) > _MOST_LINES:
        yield f"no proposal for others, for {len(counted) - _MOST_LINES} more reasons"
