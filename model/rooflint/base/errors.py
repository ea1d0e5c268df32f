"""Errors that a user can repair, each with its place and what was expected."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path


class RooflintError(Exception):
    """Anything that a user can repair; commands print it without a traceback."""


class ExpandedNameWarning(UserWarning):
    """An abbreviation was taken for the one thing that it may mean; the message says which."""


class MissingTorchError(RooflintError):
    """A network that needs torch or what belongs to it; the message says what to install."""


def extra(name: str) -> str:
    """How to install what an extra brings, for the end of a message: the project is on no index."""
    return f"in the clone of rooflint: python -m pip install '.[{name}]'"


LONGEST = 2000
"""Characters of a message."""


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong at one place of one file."""

    file: Path
    line: int
    message: str

    def __post_init__(self) -> None:
        """One line of limited length, whatever value is quoted."""
        line = self.message.replace("\r", "\\r").replace("\n", "\\n")
        if len(line) > LONGEST:
            line = f"{line[: LONGEST // 2]} … {line[-LONGEST // 2 :]}"
        object.__setattr__(self, "message", line)

    def __str__(self) -> str:
        """`file:line  message`, the file relative to the working directory where it lies below it."""
        return f"{shown(self.file)}:{self.line}  {self.message}"


MOST_LINES = 20
"""Problems that a message lists."""


def listed(problems: Sequence[Problem]) -> str:
    """A line for each problem, and how many more there are beyond MOST_LINES."""
    more = f"\nand {len(problems) - MOST_LINES} more problems" if len(problems) > MOST_LINES else ""
    return "\n".join(map(str, problems[:MOST_LINES])) + more


class InputError(RooflintError):
    """A file that cannot be used, with every problem found in it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__(listed(self.problems))

    def __reduce__(self) -> tuple[type["InputError"], tuple[tuple[Problem, ...]]]:
        """From a worker process, with its problems."""
        return type(self), (self.problems,)


def refuse(file: Path, line: int, message: str) -> InputError:
    """The error for a single problem."""
    return InputError([Problem(file, line, message)])


def shown(path: Path) -> str:
    """A path for a reader: relative to the working directory if it is below it."""
    return _relative(path, os.getcwd())  # noqa: PTH109  # a key of the cache, read once per printed line


_PACKAGE = Path(__file__).resolve().parents[1]


def shown_short(path: Path) -> str:
    """The same, but what the package holds from the package on: `rooflint/specs/hardware/nvidia/t4.yaml`."""
    text = shown(path)
    within = path.is_absolute() and text.startswith("/") and path.is_relative_to(_PACKAGE)
    return path.relative_to(_PACKAGE.parent).as_posix() if within else text


@cache
def _relative(path: Path, folder: str) -> str:
    try:
        return path.resolve().relative_to(folder).as_posix()
    except (ValueError, RuntimeError):  # elsewhere, or a loop of symbolic links
        return path.as_posix()
