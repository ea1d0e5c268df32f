"""Plans of repairs for the failing claims of a run: first specs, then golden files, then refusals; and their patch."""

import difflib
import errno
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_rooflint.golden.kinds import Claim
from pytest_rooflint.repair.proposal import Key, Plan, Proposal, Refusal, Reprint, State, refuse_outside, reprint
from pytest_rooflint.repair.spec_repair import Repairs
from pytest_rooflint.suite.judge import judge
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Verdict
from rooflint.base import strict_yaml
from rooflint.base.errors import InputError, shown
from rooflint.base.files import is_replaceable, write_atomically
from rooflint.base.strict_yaml import PlaceError
from rooflint.diagnosis.causes import UNKNOWN
from rooflint_report import verdicts


def plan(suite: Suite, names: Mapping[tuple[Path, str], str], root: Path, *, excuses: bool = True) -> Plan:
    """Plan repairs for failing claims, given by file and claim id with their pytest ids.

    Only files below the root of the project are touched.
    """
    before = State.of(suite, excuses=excuses)
    places = {key: (key[0].resolve(), claim) for key, claim in before.failures.items()}
    wanted = {key: names[place] for key, place in places.items() if place in names}
    repairs = Repairs(suite, before, wanted, root.resolve(), excuses=excuses)
    of_specs = tuple(repairs.proposals())
    quotes, refusals, changed = _quotes(repairs)
    after = State.of(changed, excuses=excuses) if quotes else repairs.state
    if quotes and (objection := after.objection(repairs.state)):
        # together they break a claim that passes with each of them
        refusals |= {name: objection for found in quotes for name in found.fixes}
        quotes, after = [], repairs.state
    fixed = sum(key not in after.failures for key in before.failures)
    return Plan((*of_specs, *quotes), tuple(refusals.items()), fixed, len(wanted))


def _quotes(repairs: Repairs) -> tuple[list[Proposal], dict[str, str], Suite]:
    """New quotes for the claims that still fail, one on top of the other; the reasons for none; the changed suite."""
    suite, found, refusals = repairs.suite, list[Proposal](), dict[str, str]()
    for key, name in repairs.wanted.items():
        if key not in repairs.state.failures:
            continue
        try:
            proposal, suite = quote(suite, key, name, repairs)
            found.append(proposal)
        except Refusal as refusal:
            tried = repairs.objections.get(name)
            refusals[name] = f"{refusal}; {tried}" if tried else str(refusal)
    return found, refusals, suite


# ---- Repairs of golden files: what to quote instead, where no change of a fact fixes a claim without breaking others


def quote(suite: Suite, key: Key, name: str, repairs: Repairs) -> tuple[Proposal, Suite]:
    """The change of the golden file for a failing claim, and the changed suite. Raises Refusal."""
    (file, place), excuses = key, repairs.excuses
    refuse_outside(file, repairs.root)
    claim = suite.read(file).claims[place]
    verdict = repairs.verdicts[key]
    before, path = suite.text(file), ("claims", place, "expect")
    written = _tried(lambda: strict_yaml.value_at(before, path)) if claim.expectation else ""
    _refuse_shared(verdict, (other for place, other in repairs.verdicts.items() if place != key))
    change = reprint(claim, verdict, suite, written, excuses=excuses)
    after = _tried(lambda: _changed(before, path, change))
    changed = suite.with_text(file, after)
    _refuse_red(changed, key, excuses=excuses)
    old, new = (written, change.expect) if change.expect else ("dense", change.entry or "")
    tried = f"tried before, and refused: {repairs.objections[name]}" if name in repairs.objections else ""
    remarks = (*_remarks(claim, verdict), *change.remarks, *filter(None, (tried,)))
    return Proposal(file, claim.line, claim.id, old, str(new), before, after, (name,), remarks), changed


def _tried(change: Callable[[], str]) -> str:
    try:
        return change()
    except PlaceError as error:
        raise Refusal(f"its 'expect' {error}; change it by hand") from error


def _changed(text: str, path: tuple[str | int, ...], change: Reprint) -> str:
    if change.entry:
        return strict_yaml.with_entry_before(text, path, change.entry)
    return strict_yaml.with_value(text, path, str(change.expect))


def _refuse_shared(verdict: Verdict, others: Iterable[Verdict]) -> None:
    """Refuse if another claim on the same facts is off by the same factor, because then the fact is wrong.

    A figure that the same document repeats, for example in a quotient, counts once.
    """
    for other in others:
        if set(verdict.facts) & set(other.facts) and _same_factor(verdict, other) and not _repeats(verdict, other):
            raise Refusal(
                f"is off by the same factor as {other.claim.id}, which rests on the same facts; correct the fact"
            )


def _same_factor(one: Verdict, two: Verdict) -> bool:
    expected = (one.claim.expectation, two.claim.expectation)
    if not (one.ratio and two.ratio and expected[0] and expected[1]):
        return False
    return abs(one.ratio / two.ratio - 1) <= expected[0].width + expected[1].width


def _repeats(one: Verdict, two: Verdict) -> bool:
    sources = (one.claim.source, two.claim.source)
    texts = [verdict.claim.expectation.text for verdict in (one, two) if verdict.claim.expectation]
    same = sources[0] is not None and sources[1] is not None and sources[0].document == sources[1].document
    return same and len(texts) == 2 and (texts[0] in texts[1] or texts[1] in texts[0])


def _refuse_red(suite: Suite, key: Key, *, excuses: bool) -> None:
    """Read and judge the changed file. Raises Refusal if the claim does not pass."""
    try:
        claim = suite.read(key[0]).claims[key[1]]
    except InputError as error:
        raise Refusal(f"would be refused: {error.problems[0].message}") from error
    verdict = judge(claim, "", suite, excuses=excuses)
    if verdict.outcome != "pass":
        raise Refusal(f"would still fail: {verdict.reason or verdict.ratio_text}")


def _remarks(claim: Claim, verdict: Verdict) -> Iterator[str]:
    yield f"only if the source really prints this: {claim.source}"
    yield f"factor {verdict.ratio_text}: {_because(verdict)}"
    if verdict.obtained:
        yield f"obtained {verdict.obtained_display}: {verdict.obtained.formula}"


def _because(verdict: Verdict) -> str:
    if not verdict.causes:
        return UNKNOWN
    first = verdict.causes[0]
    breaks = f", which would turn {first.breaks} green {'claim' if first.breaks == 1 else 'claims'} red"
    return first.text + (breaks if first.breaks else "")


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
    turn = "1 red claim turns" if plan.fixed == 1 else f"{plan.fixed} red claims turn"
    return f"{proposals}; {turn} green with all of it, none turns red."


def _reasons(number: int, place: str, one: Proposal) -> Iterator[str]:
    yield f"{number}. {place}:{one.line}  {one.what}: {one.old} → {one.new}"
    yield from (f"   {remark}" for remark in one.remarks)
    yield from (f"   fixes {name}" for name in one.fixes[:_MOST_IDS])
    if len(one.fixes) > _MOST_IDS:
        yield f"   fixes {len(one.fixes) - _MOST_IDS} more"


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


def write(suite: Suite, judged: Iterable[verdicts.Verdict], place: Place, *, excuses: bool) -> list[str]:
    """Write the patch, if there is anything to propose, and say what was done.

    Raises OSError, FileExistsError for a file that is no patch of ours.
    """
    failures = [one for one in judged if one.outcome == "fail"]
    if not failures:
        _forget(place.file)
        return ["nothing to propose: no claim of this run is red"]
    names = {(Path(place.folder, one.file).resolve(), one.id): one.nodeid for one in failures}
    found = plan(suite, names, place.root, excuses=excuses)
    if not found.proposals:
        _forget(place.file)
        return ["nothing to propose, so no patch was written", *_writing_reasons(found)]
    if not is_replaceable(place.file, TITLE):
        raise FileExistsError(errno.EEXIST, "is not a patch of rooflint and is not replaced; name another file")
    write_atomically(place.file, patch(found, place.root))
    return [f"{totals(found)} Read them, then: {place.command}", *_changes(found), *_writing_reasons(found)]


def _forget(file: Path) -> None:
    """Delete the patch of an earlier run; other files of that name are left alone."""
    if file.is_file() and is_replaceable(file, TITLE):
        file.unlink()


def _changes(found: Plan) -> Iterator[str]:
    for one in found.proposals[:_MOST_LINES]:
        yield f"  {shown(one.file)}:{one.line}  {one.what}: {one.old} → {one.new}"
    if len(found.proposals) > _MOST_LINES:
        yield f"  and {len(found.proposals) - _MOST_LINES} more"


def _writing_reasons(found: Plan) -> Iterator[str]:
    first: dict[str, str] = {}
    for name, reason in found.refusals:
        first.setdefault(reason, name)
    counted = Counter(reason for _, reason in found.refusals)
    for reason, number in counted.most_common(_MOST_LINES):
        more = f" and {number - 1} more" if number > 1 else ""
        yield f"no proposal for {first[reason]}{more}: {reason}"
    if len(counted) > _MOST_LINES:
        yield f"no proposal for others, for {len(counted) - _MOST_LINES} more reasons"
