"""The model at a revision: exported from git into a temporary folder, and asked for predictions in its own process.

    python -m rooflint_calibration.base < request > answer

Nothing is checked out, and the working tree is left alone. A request holds groups of rows of one topic and device; the
answer has, in the same order, their predicted seconds, by term on request, or why there are none. Both are JSON
with a version, because the two sides are two revisions of this file.
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

import numpy as np

import rooflint
import rooflint_calibration
from rooflint.base import git
from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint_calibration.topics import TOPICS, unseen

SCHEMA = "rooflint-predictions/1"

Ask = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""From a request to its answer."""


@dataclass(frozen=True)
class Base:
    """A revision that answers requests."""

    label: str
    """`HEAD^1 (0123456789ab)`."""
    ask: Ask
    specs: Path
    """Its spec files; they exist as long as the revision can be asked."""


class BaseError(RooflintError):
    """A revision that cannot answer."""


class NoCalibrationError(RooflintError):
    """A revision from before this module."""


# ---- Both sides: a request and its answer


def make_request(groups: list[dict[str, Any]]) -> dict[str, Any]:
    """Each group has topic, precision, device, family, sizes, and whether terms are wanted."""
    return {"schema": SCHEMA, "groups": groups}


def answer_request(request: Mapping[str, Any], registry: Registry) -> dict[str, Any]:
    """The predictions of the installed model. Raises RooflintError for a request of another version."""
    if request["schema"] != SCHEMA:
        raise RooflintError(f"want a request {SCHEMA}, found {request['schema']}")
    return {"schema": SCHEMA, "groups": [_group(group, registry) for group in request["groups"]]}


def _group(group: Mapping[str, Any], registry: Registry) -> dict[str, Any]:
    try:
        constants = unseen(registry, group["family"])
        device = registry.get(group["device"])
        chip = chip_of(device, group["precision"], Coefficients.of(registry).launches())
        sizes = np.asarray(group["sizes"], float)
        topic = TOPICS[group["topic"]]
        found = {"seconds": topic.predict(sizes, chip, constants).tolist()}
        terms = topic.terms(sizes, chip, constants) if group["terms"] else {}
    except KeyError as error:
        return {"error": f"unknown {error.args[0]}"}
    except RooflintError as error:
        return {"error": str(error)}
    return {**found, "terms": {name: seconds.tolist() for name, seconds in terms.items()}}


# ---- The side that asks


def folders() -> tuple[Path, Path]:
    """The folders that the model and the calibration are imported from."""
    found = [Path(str(package.__file__)).resolve().parents[1] for package in (rooflint, rooflint_calibration)]
    return found[0], found[1]


@contextmanager
def model_at(asked: str | None, here: Path) -> Iterator[Base]:
    """The model at a revision; None means where HEAD left the default branch.

    Raises RevisionError, BaseError, or NoCalibrationError for a revision from before this module.
    """
    top = git.top_of(here)
    commit = _commit(top, asked or git.base_of(top))
    label = f"revision {commit[:12]}" if asked is None or commit.startswith(asked) else f"{asked} ({commit[:12]})"
    with TemporaryDirectory(prefix="rooflint-") as home:
        roots = [_export(top, commit, folder, Path(home).resolve()) for folder in folders()]
        module = roots[1] / "rooflint_calibration" / "base.py"
        if not module.is_file() or "make_request" not in module.read_text(encoding="utf-8"):
            raise NoCalibrationError(f"{label} is too old to answer, so its predictions cannot be compared")
        yield Base(label, lambda request: _ask(roots, label, request), roots[0] / "rooflint" / "specs")


def _commit(top: Path, asked: str) -> str:
    try:
        return git.commit_of(top, asked)
    except git.RevisionError:
        raise BaseError(f"'{asked}' is not a revision of {top.name}") from None


def _export(top: Path, commit: str, folder: Path, into: Path) -> Path:
    if not folder.is_relative_to(top):
        raise BaseError(
            f"rooflint is imported from {folder}, which is outside the repository {top}; install it from there: "
            "pip install -e ."
        )
    return git.export(top, commit, folder, into)


def _ask(roots: list[Path], label: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
    path = os.pathsep.join(map(str, roots))
    done = subprocess.run(
        [sys.executable, "-P", "-m", "rooflint_calibration.base"],
        input=json.dumps(request),
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"},
        cwd=roots[0],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise BaseError(f"{label} does not answer: {lines[-1] if lines else f'status {done.returncode}'}")
    answer: Mapping[str, Any] = json.loads(done.stdout)
    if answer["schema"] != SCHEMA:
        raise BaseError(f"{label} answers in {answer['schema']}, want {SCHEMA}")
    return answer


if __name__ == "__main__":
    json.dump(answer_request(json.load(sys.stdin), Registry()), sys.stdout, allow_nan=False)
