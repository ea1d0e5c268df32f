"""Files written whole or not at all: a reader sees the old one or the new one, never half of it."""

import os
from pathlib import Path


def write_whole(file: Path, text: str) -> None:
    """Write UTF-8 with plain newlines beside the place, then move it there; the folder is made where it is missing.

    Raises OSError where the place cannot be written, UnicodeEncodeError for text that is none; neither leaves a trace.
    """
    write_whole_bytes(file, text.encode())


def write_whole_bytes(file: Path, content: bytes) -> None:
    """The same for what is not text. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)
