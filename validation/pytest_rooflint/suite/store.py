"""What one run keeps for the next: files in a folder that git ignores, and digests of the files that claims read."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from rooflint.base.errors import shown
from rooflint.base.files import file_digest, write_atomically

EVIDENCE = '"rooflint-evidence/'
"""In the head of each file of evidence: the name of its schema, whatever its version."""

FOLDER = Path(".rooflint")
READ = (".yaml", ".yml", ".json")
"""Suffixes of files that claims read below golden and specs folders."""


def digests(roots: Iterable[Path]) -> Mapping[str, str]:
    """Digests of all files below some folders that claims may read, by their names."""
    found: dict[str, str] = {}
    for file in sorted({file for root in roots for file in root.rglob("*") if file.suffix in READ and file.is_file()}):
        with suppress(OSError):  # gone meanwhile, or a folder
            found[shown(file)] = file_digest(file)
    return found


def hide(folder: Path) -> None:
    """Make git ignore a folder, unless it has a .gitignore. Raises OSError."""
    if not (ignored := folder / ".gitignore").exists():
        write_atomically(ignored, "*\n")


def keep(file: Path, text: str, folder: Path | None = None) -> None:
    """Write a file into a folder that git ignores, by default the file's own. Raises OSError."""
    hide(folder or file.parent)
    write_atomically(file, text)


def kept(file: Path) -> str:
    """What was kept in a file; an empty text where there is none."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
