"""What git knows of a folder: its top, commits, state and files, and worktrees for revisions side by side."""

import io
import re
import subprocess
import zipfile
from pathlib import Path
from typing import Any

from rooflint.base.errors import RooflintError

BRANCHES = ("main", "master")
"""Names of a default branch, where no remote tells."""


_ANCESTOR = re.compile(r"(?P<tip>[^~^]+)(?P<steps>([~^]\d*)+)")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_TAG = re.compile(r"v?\d[\w.+-]*")


class RevisionError(RooflintError):
    """A revision that git does not have, or a folder that git does not know."""


def top_of(folder: Path) -> Path:
    """The top of the working tree around a folder. Raises RevisionError."""
    return Path(git(folder, "rev-parse", "--show-toplevel")).resolve()


def commit_of(top: Path, revision: str) -> str:
    """The commit that a revision names. Raises RevisionError for one that does not exist."""
    try:
        return git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except RevisionError:
        raise RevisionError(f"'{revision}' is not a revision of {top.name}") from None


def revision(here: Path, name: str, what: str = "a revision") -> tuple[Path, str]:
    """The top of the repository around a folder, and the commit that a revision names.

    Raises RevisionError, with the command that fetches a revision which may not be in this clone.
    """
    top = top_of(here)
    try:
        return top, commit_of(top, name)
    except RevisionError:
        fetch = to_fetch(top, name)
        more = f"; if it is a revision that is not in this clone, type: {fetch}" if fetch else ""
        raise RevisionError(f"'{name}' is not {what}{more}") from None


def to_fetch(top: Path, revision: str) -> str:
    """The command that brings a revision which is not here; empty where the repository has no remote to ask."""
    try:
        remotes = git(top, "remote").split()
        shallow = git(top, "rev-parse", "--is-shallow-repository") == "true"
    except RevisionError:
        return ""
    if not remotes:
        return ""
    remote = "origin" if "origin" in remotes else remotes[0]
    if found := _ANCESTOR.fullmatch(revision):
        return _deeper(top, remote, found, shallow=shallow)
    depth = "--depth=1 " if shallow else ""
    name = revision.removeprefix(f"{remote}/")
    if name != revision:
        return f"git fetch {depth}{remote} {name}:refs/remotes/{remote}/{name}"
    if _COMMIT.fullmatch(revision):
        return f"git fetch {depth}{remote} {revision}"
    return f"git fetch {depth}{remote} {'tag ' if _TAG.fullmatch(name) else f'{name}:'}{name}"


def _deeper(top: Path, remote: str, found: "re.Match[str]", *, shallow: bool) -> str:
    """The command that fetches a missing ancestor of a local commit; empty where the history holds none."""
    back = sum(int(step[1:] or 1) if step[0] == "~" else 1 for step in re.findall(r"[~^]\d*", found["steps"]))
    try:
        tip = commit_of(top, found["tip"])
    except RevisionError:
        return to_fetch(top, found["tip"])
    return f"git fetch --depth={back + 1} {remote} {tip}" if shallow else ""


def state_of(folder: Path) -> dict[str, Any] | None:
    """Commit, branch and whether files are changed, of the checkout around a folder; None outside of one."""
    try:
        return {
            "commit": git(folder, "rev-parse", "HEAD"),
            "branch": git(folder, "rev-parse", "--abbrev-ref", "HEAD"),
            "dirty": bool(git(folder, "status", "--porcelain")),
        }
    except RevisionError:
        return None


def base_of(top: Path) -> str:
    """The commit at which the working tree left the default branch; HEAD where there is none.

    Raises RevisionError, also in a shallow clone whose history does not reach that commit.
    """
    for branch in _default_branches(top):
        try:
            return git(top, "merge-base", "HEAD", branch)
        except RevisionError:
            continue
    if git(top, "rev-parse", "--is-shallow-repository") == "true":
        raise RevisionError(
            "this shallow clone does not reach the default branch; type: git fetch --unshallow, or name a revision"
        )
    return commit_of(top, "HEAD")


def _default_branches(top: Path) -> list[str]:
    try:
        return [git(top, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"), *BRANCHES]
    except RevisionError:
        return list(BRANCHES)


def knows(top: Path, commit: str, folder: Path) -> bool:
    """Whether the repository has a folder, now or at a commit. Raises RevisionError."""
    if not folder.is_relative_to(top):
        return False
    name = folder.relative_to(top).as_posix()
    return bool(git(top, "ls-files", "--", name) or git(top, "ls-tree", commit, "--", name))


def export(top: Path, commit: str, folder: Path, into: Path) -> Path:
    """What a folder below `top` held at a commit, below `into`; an empty folder where it did not exist.

    Raises RevisionError.
    """
    name = folder.relative_to(top).as_posix()
    if name == "." or git(top, "ls-tree", commit, "--", name):
        archive = _run(top, "archive", "--format=zip", commit, "--", name)
        with zipfile.ZipFile(io.BytesIO(archive)) as found:
            found.extractall(into)
    (into / name).mkdir(parents=True, exist_ok=True)
    return into / name


def git(folder: Path, *arguments: str) -> str:
    """The output of a git command in a folder. Raises RevisionError."""
    return _run(folder, *arguments).decode("utf-8", "replace").strip()


def _run(folder: Path, *arguments: str) -> bytes:
    try:
        result = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False)
    except OSError as error:
        raise RevisionError(f"git cannot be run: {error.strerror}") from error
    if result.returncode:
        lines = result.stderr.decode("utf-8", "replace").strip().splitlines()
        raise RevisionError(f"{folder}: git {arguments[0]}: {lines[-1] if lines else 'found nothing'}")
    return result.stdout
