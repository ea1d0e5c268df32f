"""What the project around us configures: its golden and specs folders, under pytest's own table of pyproject.toml."""

import shlex
import tomllib
from pathlib import Path

from rooflint.errors import refuse


def configured(option: str, project: Path = Path("pyproject.toml")) -> list[Path]:
    """Folders of `rooflint_golden` or `rooflint_specs`; none where there is no project or it names none.

    Raises InputError for a project file that cannot be read and for a folder that does not exist.
    """
    if not project.is_file():
        return []
    try:
        document = tomllib.loads(project.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise refuse(project, 1, f"is not TOML: {error}") from error
    named = document.get("tool", {}).get("pytest", {}).get("ini_options", {}).get(option, [])
    folders = [project.parent / name for name in (shlex.split(named) if isinstance(named, str) else named)]
    for folder in folders:
        if not folder.is_dir():
            raise refuse(project, _line(project, option), f"{option}: want a folder, found nothing at {folder}")
    return folders


def _line(project: Path, option: str) -> int:
    lines = project.read_text(encoding="utf-8").splitlines()
    return next((number for number, line in enumerate(lines, start=1) if line.strip().startswith(option)), 1)
