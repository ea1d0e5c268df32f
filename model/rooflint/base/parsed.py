"""Objects that were parsed from files, kept on disk for the next process, which reads them in a tenth of the time.

What is kept of a file is used only by the same code and libraries, and for the same text. It is pickled, and signed
with a key that only the user can read: an entry that a checkout or a restored cache brought along is not unpickled.
"""

import os
import pickle
import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from hmac import compare_digest
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar, cast

import pydantic.version
import yaml
from platformdirs import user_cache_path

from rooflint.base.files import create, digest_of, write_bytes_atomically

T = TypeVar("T")


@dataclass(frozen=True)
class Parsed:
    """A folder with one file for each file that was parsed."""

    folder: Path
    packages: tuple[str, ...]
    """Packages and modules with the code that parses."""

    def of(self, file: Path, text: str, parse: Callable[[], T], holds: Callable[[T], bool] = lambda found: True) -> T:
        """What `parse` makes of a file with this text: the kept object if `holds` accepts it, else parsed now.

        Nothing is kept of what cannot be pickled or written, nor for a user without a home. Raises what `parse` raises.
        """
        if (secret := _secret()) is None:
            return parse()
        kept = self.folder / f"{digest_of([file.as_posix()])}.pickle"
        key = bytes.fromhex(digest_of([self._code, file.as_posix(), text]))
        with suppress(Exception):  # whatever a damaged file makes of unpickling
            raw = kept.read_bytes()
            signature, signed = raw[:SIGNATURE_BYTES], raw[SIGNATURE_BYTES:]
            if signed.startswith(key) and compare_digest(signature, _signature(signed, secret)):
                found = cast("T", _Unpickler(BytesIO(signed[len(key) :])).load())
                if holds(found):
                    return found
        parsed = parse()
        with suppress(OSError, pickle.PickleError, TypeError, AttributeError):
            signed = key + pickle.dumps(parsed, pickle.HIGHEST_PROTOCOL)
            write_bytes_atomically(kept, _signature(signed, secret) + signed)
        return parsed

    @cached_property
    def _code(self) -> str:
        """What changes with any module of the packages, and with the libraries that read files."""
        libraries = [platform.python_version(), pydantic.version.VERSION, yaml.__version__]
        return digest_of([*libraries, *map(str, sorted(stamp for name in self.packages for stamp in _stamps(name)))])


one_path = cache(Path)
"""One object for each path, by its parts; two that are one object compare without being taken apart."""


class _Unpickler(pickle.Unpickler):
    """Makes each path once, however many files name it: places of facts are keys, and are compared very often."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return one_path if found is type(Path()) else found


SIGNATURE_BYTES = 32


def _signature(signed: bytes, secret: bytes) -> bytes:
    return blake2b(signed, key=secret, digest_size=SIGNATURE_BYTES).digest()


def _home() -> Path | None:
    """The user's cache folder; None for a user without a home."""
    try:
        home = Path(user_cache_path("rooflint"))
    except RuntimeError:
        return None
    return home if home.is_absolute() else None


@cache
def _secret() -> bytes | None:
    """The key of this user's entries, made when it is first asked for; None where it cannot be kept from others."""
    home = _home()
    if home is None:
        return None
    file = home / "key"
    with suppress(OSError):
        if not file.exists():
            home.mkdir(parents=True, exist_ok=True)
            create(file, token_hex(SIGNATURE_BYTES), mode=0o600)
    with suppress(OSError, ValueError):
        status = file.stat()
        is_own = os.name != "posix" or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)
        found = bytes.fromhex(file.read_text(encoding="ascii"))
        return found if is_own and len(found) == SIGNATURE_BYTES else None
    return None


NAMED_BY = 3
"""Last parts of a path that name what is kept for the user: a file has the same ones in every revision."""


def kept(reader: str, file: Path, text: str, parse: Callable[[], T]) -> T:
    """What a reader of our model makes of a text, as it was kept in the user's cache folder; else parsed now.

    `parse` depends on nothing but the text. Raises what it raises.
    """
    home = _home()
    return parse() if home is None else _below(home).of(Path(reader, *file.parts[-NAMED_BY:]), text, parse)


@cache
def _below(home: Path) -> Parsed:
    package = Path(__file__).parents[1]  # two checkouts would replace each other's entries
    folder = home / "parsed" / digest_of([package.as_posix()])[:16]
    if not folder.exists():
        _forget(folder.parent)
    return Parsed(folder, (__name__.partition(".")[0],))


MOST_CHECKOUTS = 20
"""Whose entries are kept besides those of this one; of more, those that were written longest ago are removed."""


def _forget(folder: Path) -> None:
    """Remove what checkouts kept that are most likely gone, such as those of tests."""
    with suppress(OSError):
        for old in sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime, reverse=True)[MOST_CHECKOUTS:]:
            shutil.rmtree(old, ignore_errors=True)


def _stamps(name: str) -> Iterator[tuple[str, int, int, int]]:
    """Path, times of change and size of each module of a package, or of the one module of that name."""
    spec = find_spec(name)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield from _stamps_below(folder)
    if spec and spec.origin and not spec.submodule_search_locations:
        yield _stamp(spec.origin, Path(spec.origin).stat())


def _stamps_below(folder: str) -> Iterator[tuple[str, int, int, int]]:
    for one in os.scandir(folder):
        if one.is_dir():
            yield from _stamps_below(one.path)
        elif one.name.endswith(".py"):
            yield _stamp(one.path, one.stat())


def _stamp(file: str, status: os.stat_result) -> tuple[str, int, int, int]:
    return file, status.st_mtime_ns, status.st_ctime_ns, status.st_size
