"""Revisions: what a folder said at a commit, read out of git into a folder of its own; nothing is checked out."""

import io
import subprocess
import zipfile
from pathlib import Path

from rooflint.base.errors import RooflintError

BRANCHES = ("main", "master")
"""What a default branch is called where no remote says it."""


class RevisionError(RooflintError):
    """A revision that git does not have, or a folder that git does not know."""


def top_of(folder: Path) -> Path:
    """The top of the working tree around a folder. Raises RevisionError."""
    try:
        return Path(_asked(folder, "rev-parse", "--show-toplevel")).resolve()
    except RevisionError as error:
        raise RevisionError(f"{error}; without git, name two folders of specs or ledgers") from error


def commit_of(top: Path, revision: str) -> str:
    """The commit that a revision names. Raises RevisionError for one that there is not."""
    try:
        return _asked(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except RevisionError:
        raise RevisionError(f"'{revision}' is no revision, no folder of specs and no ledger") from None


def base_of(top: Path) -> str:
    """Where the working tree left the default branch; HEAD where there is none. Raises RevisionError."""
    for branch in _default_branches(top):
        try:
            return _asked(top, "merge-base", "HEAD", branch)
        except RevisionError:
            continue
    return commit_of(top, "HEAD")


def _default_branches(top: Path) -> list[str]:
    try:
        return [_asked(top, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"), *BRANCHES]
    except RevisionError:
        return list(BRANCHES)


def knows(top: Path, commit: str, folder: Path) -> bool:
    """Whether a folder is of the repository, now or at a commit. Raises RevisionError."""
    if not folder.is_relative_to(top):
        return False
    name = folder.relative_to(top).as_posix()
    return bool(_asked(top, "ls-files", "--", name) or _asked(top, "ls-tree", commit, "--", name))


def export(top: Path, commit: str, folder: Path, into: Path) -> Path:
    """What a folder below `top` held at a commit, below `into`; an empty folder where it did not exist.

    Raises RevisionError.
    """
    name = folder.relative_to(top).as_posix()
    if name == "." or _asked(top, "ls-tree", commit, "--", name):
        archive = _run(top, "archive", "--format=zip", commit, "--", name)
        with zipfile.ZipFile(io.BytesIO(archive)) as found:
            found.extractall(into)
    (into / name).mkdir(parents=True, exist_ok=True)
    return into / name


def _asked(folder: Path, *arguments: str) -> str:
    """What git answers, on one line or several."""
    return _run(folder, *arguments).decode("utf-8", "replace").strip()


def _run(folder: Path, *arguments: str) -> bytes:
    try:
        result = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False)
    except OSError as error:
        raise RevisionError(f"git cannot be run: {error.strerror}") from error
    if result.returncode:
        said = result.stderr.decode("utf-8", "replace").strip().splitlines()
        raise RevisionError(f"{folder}: git {arguments[0]}: {said[-1] if said else 'found nothing'}")
    return result.stdout
