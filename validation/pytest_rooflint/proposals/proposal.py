"""A proposal: one value of one file, old and new, with what speaks for it; or a refusal to propose."""

from dataclasses import dataclass
from pathlib import Path

from rooflint.errors import shown


class Refusal(Exception):  # noqa: N818  # it is an answer, not an error
    """Nothing is proposed, and why, in one sentence without the claim."""


def refuse_outside(file: Path, root: Path) -> None:
    """Leave alone what is not the project's own. Raises Refusal."""
    if not file.resolve().is_relative_to(root):
        raise Refusal(f"{shown(file)} is no file of this project")


@dataclass(frozen=True)
class Proposal:
    """One change of one file."""

    file: Path
    line: int
    what: str
    """The fact's path, or the claim's id."""
    old: str
    new: str
    before: str
    """The file's whole text without this proposal, but with those before it."""
    after: str
    mends: tuple[str, ...]
    """Ids of the red claims of this run that it turns green."""
    remarks: tuple[str, ...]
    """Factor, cause, what was tried, what the person has to decide; one sentence each."""


@dataclass(frozen=True)
class Plan:
    """What to do about the red claims of a run, and what all of it does."""

    proposals: tuple[Proposal, ...]
    refusals: tuple[tuple[str, str], ...]
    """(id, reason) of the red claims without a proposal."""
    mended: int
    """Red claims of the whole suite that turn green with all of it."""
    reds: int
    """Red claims of the run."""
