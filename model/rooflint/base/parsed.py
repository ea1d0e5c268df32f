"""Objects that were parsed from files, kept on disk for the next process, which reads them in a tenth of the time.

What is kept of a file is used only by the same code and libraries, and for the same text. It is pickled, so the folder
has to be as trustworthy as the code: a cache of the project, such as that of pytest, or of the user.
"""

import os
import pickle
import platform
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar, cast

import pydantic.version
import yaml
from platformdirs import user_cache_path

from rooflint.base.files import digest_of, write_bytes_atomically

T = TypeVar("T")


@dataclass(frozen=True)
class Parsed:
    """A folder with one file for each that was parsed."""

    folder: Path
    packages: tuple[str, ...]
    """Packages and modules with the code that parses."""

    def of(self, file: Path, text: str, parse: Callable[[], T], holds: Callable[[T], bool] = lambda found: True) -> T:
        """What `parse` makes of a file with this text: as it was kept, unless `holds` denies that; else parsed now.

        Nothing is kept of what cannot be pickled or written. Raises what `parse` raises.
        """
        kept = self.folder / f"{digest_of([file.as_posix()])}.pickle"
        key = bytes.fromhex(digest_of([self._code, file.as_posix(), text]))
        with suppress(Exception):  # whatever a damaged file makes of unpickling
            raw = kept.read_bytes()
            if raw.startswith(key) and holds(found := cast("T", pickle.loads(raw[len(key) :]))):
                return found
        parsed = parse()
        with suppress(OSError, pickle.PickleError, TypeError, AttributeError):
            write_bytes_atomically(kept, key + pickle.dumps(parsed, pickle.HIGHEST_PROTOCOL))
        return parsed

    @cached_property
    def _code(self) -> str:
        """What changes with any module of the packages, and with the libraries that read files."""
        libraries = [platform.python_version(), pydantic.version.VERSION, yaml.__version__]
        return digest_of([*libraries, *map(str, sorted(stamp for name in self.packages for stamp in _stamps(name)))])


NAMED_BY = 3
"""Last parts of a path that name what is kept for the user: a file has the same ones in every revision."""


def kept(reader: str, file: Path, text: str, parse: Callable[[], T]) -> T:
    """What a reader of our model makes of a text, as it was kept in the user's cache folder; else parsed now.

    `parse` depends on nothing but the text. Raises what it raises.
    """
    return _below(Path(user_cache_path("rooflint"))).of(Path(reader, *file.parts[-NAMED_BY:]), text, parse)


@cache
def _below(home: Path) -> Parsed:
    package = Path(__file__).parents[1]  # two checkouts would replace each other's entries
    return Parsed(home / "parsed" / digest_of([package.as_posix()])[:16], (__name__.partition(".")[0],))


def _stamps(name: str) -> Iterator[tuple[str, int, int]]:
    """Path, time of change and size of each module of a package, or of the one module of that name."""
    spec = find_spec(name)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield from _stamps_below(folder)
    if spec and spec.origin and not spec.submodule_search_locations:
        yield _stamp(spec.origin, Path(spec.origin).stat())


def _stamps_below(folder: str) -> Iterator[tuple[str, int, int]]:
    for one in os.scandir(folder):
        if one.is_dir():
            yield from _stamps_below(one.path)
        elif one.name.endswith(".py"):
            yield _stamp(one.path, one.stat())


def _stamp(file: str, status: os.stat_result) -> tuple[str, int, int]:
    return file, status.st_mtime_ns, status.st_size
