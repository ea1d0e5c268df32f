"""A plan as a patch: unified hunks that `git apply` takes from the root of the project, each below its reasons."""

import difflib
import re
from collections.abc import Iterator
from pathlib import Path

from pytest_rooflint.proposals.proposal import Plan, Proposal

TITLE = "# Proposed by rooflint; nothing was changed yet."
_MOST_IDS = 20


def patch(plan: Plan, root: Path) -> str:
    """The text of the patch; lines that begin with # are for people, git and patch pass them by."""
    lines = [TITLE, f"# {totals(plan)}", "# Read each, then apply from the root of the project: git apply <this file>"]
    lines += [f"# No proposal for {name}: {reason}" for name, reason in plan.refusals]
    text = "".join(f"{_one_line(line)}\n" for line in lines)
    for number, one in enumerate(plan.proposals, 1):
        place = one.file.resolve().relative_to(root.resolve()).as_posix()
        text += "\n" + "".join(f"# {_one_line(line)}\n" for line in _reasons(number, place, one)) + _hunk(place, one)
    return text


def totals(plan: Plan) -> str:
    """What all of it does together."""
    proposals = "1 proposal" if len(plan.proposals) == 1 else f"{len(plan.proposals)} proposals"
    turn = "1 red claim turns" if plan.mended == 1 else f"{plan.mended} red claims turn"
    return f"{proposals}; {turn} green with all of it, none turns red."


def _reasons(number: int, place: str, one: Proposal) -> Iterator[str]:
    yield f"{number}. {place}:{one.line}  {one.what}: {one.old} → {one.new}"
    yield from (f"   {remark}" for remark in one.remarks)
    yield from (f"   mends {name}" for name in one.mends[:_MOST_IDS])
    if len(one.mends) > _MOST_IDS:
        yield f"   mends {len(one.mends) - _MOST_IDS} more"


def _hunk(place: str, one: Proposal) -> str:
    """The file's difference; a name with spaces ends in a tab, as git writes it."""
    tab = "\t" if " " in place else ""
    before, after = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (one.before, one.after))
    lines = list(difflib.unified_diff(before, after, n=3))[2:]
    ended = (line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return f"--- a/{place}{tab}\n+++ b/{place}{tab}\n" + "".join(ended)


def _one_line(text: str) -> str:
    return " ".join(text.split()) if not text.startswith("   ") else "   " + " ".join(text.split())
