"""What files were read as, kept between processes: pickles in the user's cache folder.

    data = kept("table", text, lambda: checked(parse(text, file)))

An entry is named by the text, by what reads it, and by the code and the libraries that do, so it cannot be out of date.
A text that cannot be read leaves none. Unpickling may run code, as importing a compiled module may: entries are as
trusted as `__pycache__`, which the same user writes.
"""

import hashlib
import pickle
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

import pydantic
import yaml
from platformdirs import user_cache_path

from rooflint.base.files import write_bytes_atomically
from rooflint.base.shards import code

T = TypeVar("T")

VERSIONS_KEPT = 4
"""Folders of other versions of the code that stay when the first entry of a new one is written."""

_BROKEN = (pickle.UnpicklingError, EOFError, AttributeError, ImportError, LookupError, TypeError, ValueError)
"""What unpickling raises for an entry that something else wrote."""


def kept(reader: str, text: str, read: Callable[[], T]) -> T:
    """What a reader made of a text in another process, or what it makes now, which is then kept where that is possible.

    `read` depends on nothing but the text. Raises what it raises.
    """
    file = folder() / hashlib.sha256(f"{reader}\0{text}".encode()).hexdigest()
    try:
        found: T = pickle.loads(file.read_bytes())  # written below
    except (OSError, *_BROKEN):
        found = read()
        with suppress(OSError):  # a home that is read-only costs time, nothing else
            _make_room(file.parent)
            write_bytes_atomically(file, pickle.dumps(found, pickle.HIGHEST_PROTOCOL))
    return found


def folder() -> Path:
    """Where the entries of this version of the code are."""
    return Path(user_cache_path("rooflint")) / "parsed" / _version()


@cache
def _version() -> str:
    """Digest of our code, and the versions of what parses for it."""
    parts = (code(), sys.implementation.cache_tag or "", sys.version, pydantic.VERSION, yaml.__version__)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _make_room(own: Path) -> None:
    """Remove the oldest folders of other versions before the first entry of this one."""
    if own.is_dir() or not own.parent.is_dir():
        return
    others = sorted(own.parent.iterdir(), key=lambda one: one.stat().st_mtime, reverse=True)
    for old in others[VERSIONS_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
