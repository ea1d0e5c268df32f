"""Revisions side by side as git worktrees in a temporary folder, which are gone afterwards, whatever happens."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rooflint.base.errors import RooflintError
from rooflint.base.git import top_of

NAMES = ("base", "head")
"""Folders of equal length: a longer path moves the stack of a process, which alone can change its time."""


class CheckoutError(RooflintError):
    """A revision that cannot be checked out."""


@dataclass(frozen=True)
class Checkout:
    """A revision as files."""

    revision: str
    commit: str
    folder: Path
    """Within it where the user stands within the repository."""


@contextmanager
def checkouts(here: Path, revisions: tuple[str, str]) -> Iterator[tuple[Checkout, Checkout]]:
    """Both revisions of the repository around a folder. Raises RooflintError."""
    top = top_of(here)
    commits = [_commit(top, revision) for revision in revisions]
    within = here.resolve().relative_to(top)
    with TemporaryDirectory(prefix="rooflint-", ignore_cleanup_errors=True) as home:
        folders = [Path(home).resolve() / name for name in NAMES]
        try:
            for folder, commit in zip(folders, commits, strict=True):
                _git(top, "worktree", "add", "--quiet", "--detach", str(folder), commit)
            places = [_place(folder, within, revision) for folder, revision in zip(folders, revisions, strict=True)]
            base, head = (Checkout(*found) for found in zip(revisions, commits, places, strict=True))
            yield base, head
        finally:
            for folder in folders:
                with suppress(CheckoutError):  # one that was not added yet
                    _git(top, "worktree", "remove", "--force", str(folder))


def _place(folder: Path, within: Path, revision: str) -> Path:
    place = folder / within
    if not place.is_dir():
        raise CheckoutError(f"{revision} has no folder {within.as_posix()}; run this from one that both revisions have")
    return place


def _commit(top: Path, revision: str) -> str:
    try:
        return _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except CheckoutError:
        raise CheckoutError(f"'{revision}' is no revision of {top.name}") from None


def _git(top: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(top), *arguments], capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise CheckoutError(f"git {' '.join(arguments[:2])}: {said[-1] if said else 'found nothing'}")
    return done.stdout.decode("utf-8", "replace").strip()
