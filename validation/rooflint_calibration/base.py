"""Base: the model as it was at a revision, read out of git into a folder of its own and asked in a process of its own.

Nothing is checked out, and nothing of the working tree is touched.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import rooflint
import rooflint_calibration
from rooflint.base import git
from rooflint.base.errors import RooflintError
from rooflint_calibration.foretell import SCHEMA

Ask = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""From a request of `foretell` to its answer."""


@dataclass(frozen=True)
class Base:
    """A revision that can be asked."""

    label: str
    """`HEAD^1 (0123456789ab)`."""
    ask: Ask
    specs: Path
    """What its specs said, while it can be asked."""


class BaseError(RooflintError):
    """A revision that cannot be asked."""


class NoSiliconError(RooflintError):
    """A revision from before the calibration package."""


def folders() -> tuple[Path, Path]:
    """The folders that the model and the calibration are imported from."""
    found = [Path(str(package.__file__)).resolve().parents[1] for package in (rooflint, rooflint_calibration)]
    return found[0], found[1]


@contextmanager
def model_at(asked: str | None, here: Path) -> Iterator[Base]:
    """The model as it was at a revision; None means where HEAD left the default branch.

    Raises RevisionError or BaseError, and NoSiliconError for one from before the model.
    """
    top = git.top_of(here)
    commit = _commit(top, asked or git.base_of(top))
    label = f"revision {commit[:12]}" if asked is None or commit.startswith(asked) else f"{asked} ({commit[:12]})"
    with TemporaryDirectory(prefix="rooflint-") as home:
        roots = [_export(top, commit, folder, Path(home).resolve()) for folder in folders()]
        if not (roots[1] / "rooflint_calibration" / "foretell.py").is_file():
            raise NoSiliconError(f"{label} has no rooflint_calibration package, so its predictions cannot be compared")
        yield Base(label, lambda request: _answer(roots, label, request), roots[0] / "rooflint" / "specs")


def _commit(top: Path, asked: str) -> str:
    try:
        return git.commit_of(top, asked)
    except git.RevisionError:
        raise BaseError(f"'{asked}' is no revision of {top.name}") from None


def _export(top: Path, commit: str, folder: Path, into: Path) -> Path:
    if not folder.is_relative_to(top):
        raise BaseError(
            f"rooflint is imported from {folder}, which is not of the repository {top}; install it from there: "
            "pip install -e ."
        )
    return git.export(top, commit, folder, into)


def _answer(roots: list[Path], label: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
    path = os.pathsep.join(map(str, roots))
    done = subprocess.run(
        [sys.executable, "-P", "-m", "rooflint_calibration.foretell"],
        input=json.dumps(request),
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"},
        cwd=roots[0],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise BaseError(f"{label} cannot be asked: {said[-1] if said else f'status {done.returncode}'}")
    answer: Mapping[str, Any] = json.loads(done.stdout)
    if answer["schema"] != SCHEMA:
        raise BaseError(f"{label} answers in {answer['schema']}, want {SCHEMA}")
    return answer
