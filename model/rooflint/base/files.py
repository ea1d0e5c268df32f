"""Files: bounded reads, and writes that are whole or not at all."""

import hashlib
import os
import stat
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from rooflint.base.errors import refuse

MAX_BYTES = 256 * 1024
"""Of a file that people write, such as a spec or a golden file."""


def write_atomically(file: Path, text: str) -> None:
    """Write UTF-8 with plain newlines to a neighbouring file, then move it there; a missing folder is created.

    Readers see the old file or the new one. Raises OSError, or UnicodeEncodeError for text that UTF-8 cannot encode.
    """
    write_bytes_atomically(file, text.encode())


def write_bytes_atomically(file: Path, content: bytes) -> None:
    """The same for what is not text. Raises OSError."""
    write_pieces_atomically(file, [content])


def write_pieces_atomically(file: Path, pieces: Iterable[bytes]) -> None:
    """The same piece by piece, for what is too large to be held whole. Raises OSError, and what the pieces raise."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = _beside(file)
    try:
        with beside.open("wb") as stream:
            stream.writelines(pieces)
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def create(file: Path, text: str, mode: int = 0o666) -> None:
    """Write a new file with these permissions, less the umask, into a folder that is there, whole or not at all.

    Raises FileExistsError for a name that is taken, OSError otherwise.
    """
    beside = _beside(file)
    try:
        beside.touch(mode)
        beside.write_bytes(text.encode())
        _link(beside, file)
    finally:
        beside.unlink(missing_ok=True)


def _beside(file: Path) -> Path:
    """A name beside a file that no other process and no other thread takes."""
    return file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}")


def _link(written: Path, file: Path) -> None:
    """Give a written file its name, which only one of several writers gets."""
    try:
        os.link(written, file)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: the name is taken first, then filled
        with file.open("xb"):
            pass
        written.replace(file)


def read_bytes(file: Path, max_bytes: int) -> bytes:
    """The content of a regular file. Raises InputError for a larger one, for a pipe or a device, and on OSError."""
    try:
        if not stat.S_ISREG(file.stat().st_mode) and not file.is_dir():
            raise refuse(file, 1, "want a regular file, found a pipe or a device")
        with file.open("rb") as stream:
            raw = stream.read(max_bytes + 1)
    except OSError as error:
        raise refuse(file, 1, f"cannot be read: {error.strerror}") from error
    if len(raw) > max_bytes:
        raise refuse(file, 1, f"is larger than {max_bytes // 1024} KiB; split it")
    return raw


def read_text(file: Path, max_bytes: int = MAX_BYTES) -> str:
    """The text of a UTF-8 file. Raises InputError as `read_bytes` does, and for other encodings."""
    raw = read_bytes(file, max_bytes)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise refuse(file, line, f"want UTF-8, found byte 0x{raw[error.start]:02x}") from error


def is_replaceable(file: Path, mark: str) -> bool:
    """Whether a file may be written anew: there is none, it is empty, or the mark of our own files is in its head."""
    if not file.exists():
        return True
    if not file.is_file():
        return False
    try:
        with file.open("rb") as stream:
            head = stream.read(1000)
    except OSError:
        return False
    return not head.strip() or mark.encode() in head


def digest_of(lines: Iterable[str]) -> str:
    """Digest of several texts; file names that are not text are taken as they are."""
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def file_digest(file: Path) -> str:
    """Digest of a file's content. Raises OSError."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def folders_digest(folders: Iterable[Path], patterns: Sequence[str]) -> str:
    """Digest of the files below some folders that match one of the patterns, with their names. Raises OSError."""
    found = hashlib.sha256()
    for folder in folders:
        for file in sorted(file for pattern in patterns for file in folder.rglob(pattern)):
            found.update(f"{file.relative_to(folder).as_posix()} ".encode() + file.read_bytes())
    return found.hexdigest()
