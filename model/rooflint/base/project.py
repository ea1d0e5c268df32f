"""The project that a command is run in: what its pytest configuration says of rooflint.

The golden and specs folders stand among pytest's own settings, in the file where pytest looks for them: the nearest one
that configures pytest, in the working directory or above it.
"""

import configparser
import os
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from rooflint.base.errors import InputError, refuse

_TABLES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "pytest.toml": (("pytest",),),
    ".pytest.toml": (("pytest",),),
    "pytest.ini": (("pytest",),),
    ".pytest.ini": (("pytest",),),
    "pyproject.toml": (("tool", "pytest", "ini_options"), ("tool", "pytest")),
    "tox.ini": (("pytest",),),
    "setup.cfg": (("tool:pytest",),),
}
"""Files with settings of pytest, in the order in which pytest takes the first, and the tables that hold them."""
_ALWAYS = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")
"""Files that are the project's even without such a table."""


def project(folder: Path | None = None) -> Path:
    """The file that configures pytest for a folder, by default the working directory; it may not be there.

    Raises InputError for one in the folder that cannot be read; those above it are passed over.
    """
    here = (folder or Path()).resolve()
    for place in (here, *here.parents):
        for name in _TABLES:
            file = (folder or Path()) / name if place == here else place / name
            if os.path.isfile(file) and _configures_pytest(file, strict=place == here):  # noqa: PTH113  # never raises
                return file
    return (folder or Path()) / "pyproject.toml"


def _configures_pytest(file: Path, *, strict: bool) -> bool:
    try:
        return _settings(file) is not None or file.name in _ALWAYS
    except InputError:
        if strict:
            raise
        return False


def project_root() -> Path:
    """The folder of the project, by which its results lie; the working directory where there is none."""
    return project().parent


def configured(option: str, file: Path | None = None) -> list[Path]:
    """Folders of `rooflint_golden` or `rooflint_specs`; none where there is no project or it names none.

    Raises InputError for a project file that cannot be read and for what is not a list of folders.
    """
    file = file or project()
    folders, line = _named(option, file)
    for folder in folders:
        if not folder.is_dir():
            raise refuse(file, line, f"{option}: want a folder, found nothing at {folder}")
    return folders


def named(option: str, file: Path) -> list[Path]:
    """The same folders, whether they are there or not. Raises InputError."""
    return _named(option, file)[0]


def _named(option: str, file: Path) -> tuple[list[Path], int]:
    value, line = _setting(option, file)
    names = _names([] if value is None else value)
    if names is None:
        raise refuse(file, line, f'{option}: want a list of folders such as ["golden"]')
    return [file.parent / name for name in names], line


NO_GOLDEN = (
    'no golden folder: write rooflint_golden = ["golden"] below [tool.pytest.ini_options] of pyproject.toml, '
    "or pass --golden DIR"
)


def golden_folders(given: Sequence[Path], named: Sequence[Path]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Golden folders, and the part of them that is judged: the given ones, or those that the project names.

    Folders within those of the project are a part of it, which is judged in its place. Paths are resolved.
    """
    inside = all(any(root in folder.parents for root in named) for folder in given)
    if given and inside:
        return tuple(named), tuple(given)
    return tuple(given or named), ()


def share(option: str, file: Path | None = None) -> float | None:
    """A share that is written in per cent, such as `rooflint_mutation_floor = 95`; None where it is not set. [1]

    Raises InputError for a project file that cannot be read and for what is not between 0 and 100.
    """
    file = file or project()
    written, line = _setting(option, file)
    if written is None:
        return None
    try:
        percent = float("nan") if isinstance(written, bool) else float(written)
    except (TypeError, ValueError):
        percent = float("nan")
    if not 0 <= percent <= 100:
        raise refuse(file, line, f"{option}: want per cent between 0 and 100, found '{written}'")
    return percent / 100


def limit(option: str, file: Path | None = None) -> int | None:
    """A whole number such as `rooflint_unguarded_ceiling = 20`; None where it is not set.

    Raises InputError for a project file that cannot be read and for what is no whole number from 0 on.
    """
    file = file or project()
    written, line = _setting(option, file)
    if written is None:
        return None
    if isinstance(written, bool) or not str(written).isdecimal():
        raise refuse(file, line, f"{option}: want a whole number, found '{written}'")
    return int(str(written))


def texts(option: str, file: Path | None = None) -> list[tuple[str, int]]:
    """A list of texts such as `rooflint_watch`, each with its line; in an INI file one a line.

    Raises InputError for a project file that cannot be read and for what is not a list of texts.
    """
    file = file or project()
    written, line = _setting(option, file)
    found = written.splitlines() if isinstance(written, str) and file.suffix != ".toml" else written or []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise refuse(file, line, f"{option}: want a list of texts, found '{written}'")
    lines = file.read_text(encoding="utf-8").splitlines()[line - 1 :] if found else []
    return [
        (one.strip(), next((number for number, text in enumerate(lines, line) if one.strip() in text), line))
        for one in found
        if one.strip()
    ]


def _setting(option: str, file: Path) -> tuple[Any, int]:
    """An option among pytest's settings and its line; None where there is no project or it does not set the option."""
    settings = _settings(file) if file.is_file() else None
    if not settings or option not in settings:
        return None, 1
    lines = file.read_text(encoding="utf-8").splitlines()
    return settings[option], next(
        (number for number, line in enumerate(lines, 1) if line.strip().startswith(option)), 1
    )


def _settings(file: Path) -> Mapping[str, Any] | None:
    """Pytest's settings in a file; None where it has none. Raises InputError for one that cannot be read."""
    try:
        content = _parsed(file.read_text(encoding="utf-8"), is_toml=file.suffix == ".toml")
    except (OSError, UnicodeDecodeError) as error:
        raise refuse(file, 1, f"cannot be read as UTF-8: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise refuse(file, 1, f"is not TOML: {error}") from error
    except configparser.Error as error:
        raise refuse(file, 1, f"is not an INI file: {' '.join(str(error).split())}") from error
    for path in _TABLES.get(file.name, _TABLES["pyproject.toml"]):
        here: Any = content
        for name in path:
            here = here.get(name) if isinstance(here, dict) else None
        if isinstance(here, dict):
            return here
    return None


@lru_cache(maxsize=4)
def _parsed(text: str, *, is_toml: bool) -> dict[str, Any]:
    if is_toml:
        return tomllib.loads(text)
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def _names(value: Any) -> list[str] | None:
    """Names of folders, written as a list or as one text; None for anything else."""
    if isinstance(value, str):
        try:
            return shlex.split(value)
        except ValueError:
            return None
    return value if isinstance(value, list) and all(isinstance(name, str) for name in value) else None
