"""Revisions side by side as git worktrees in a temporary folder, which is always removed."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rooflint.base.errors import RooflintError
from rooflint.base.git import RevisionError, commit_of, git, top_of

NAMES = ("base", "head")
"""Folder names of equal length: a longer path moves the stack of a process, which alone can change its time."""


class CheckoutError(RooflintError):
    """A revision without the folder that the command runs in."""


@dataclass(frozen=True)
class Checkout:
    """A revision as files."""

    revision: str
    commit: str
    folder: Path
    """The current folder, within the checkout."""


@contextmanager
def checkouts(here: Path, revisions: tuple[str, str]) -> Iterator[tuple[Checkout, Checkout]]:
    """Both revisions of the repository around a folder. Raises RooflintError."""
    top = top_of(here)
    commits = [commit_of(top, revision) for revision in revisions]
    within = here.resolve().relative_to(top)
    with TemporaryDirectory(prefix="rooflint-", ignore_cleanup_errors=True) as home:
        folders = [Path(home).resolve() / name for name in NAMES]
        try:
            for folder, commit in zip(folders, commits, strict=True):
                git(top, "worktree", "add", "--quiet", "--detach", str(folder), commit)
            places = [_place(folder, within, revision) for folder, revision in zip(folders, revisions, strict=True)]
            base, head = (Checkout(*found) for found in zip(revisions, commits, places, strict=True))
            yield base, head
        finally:
            for folder in folders:
                with suppress(RevisionError):  # one that was not added yet
                    git(top, "worktree", "remove", "--force", str(folder))


def _place(folder: Path, within: Path, revision: str) -> Path:
    place = folder / within
    if not place.is_dir():
        raise CheckoutError(f"{revision} has no folder {within.as_posix()}; run this from one that both revisions have")
    return place
